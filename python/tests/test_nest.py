"""Nests, and what parts are given as."""

from __future__ import annotations

import copy
import csv
import json
import pickle
import runpy
import sys
import xml.etree.ElementTree as xml
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_pack import depth
from test_work import ends_soon

from warpsmith.overlap import Left, Nested, Overlap, Shape, nest, pack

try:
    import shapely
except ImportError:
    shapely = None

EXAMPLES = Path(__file__).parents[1] / "examples"
SQUARE = [(0, 0), (10, 0), (10, 10), (0, 10)]
TRIANGLE = [(0, 0), (40, 0), (0, 30)]
FRAME = Shape([(0, 0), (60, 0), (60, 60), (0, 60)], "frame", holes=[[(8, 8), (52, 8), (52, 52), (8, 52)]])


def placed(nested: Nested, sheet: int) -> list[list[np.ndarray[Any, Any]]]:
    """Where the pieces of each part on a sheet lie."""
    found = []
    for at in nested.sheets[sheet].placements:
        cosine, sine = np.cos(at.theta), np.sin(at.theta)
        turn = np.array([[cosine, sine], [-sine, cosine]])
        found.append([piece @ turn + (at.x, at.y) for piece in nested.parts[at.part].shape.pieces])
    return found


def check(nested: Nested, spacing: float, margin: float) -> None:
    """That parts are apart and on their sheets, by the separating axes of convex pieces, and that each is there."""
    for index, sheet in enumerate(nested.sheets):
        parts = placed(nested, index)
        vertices = np.concatenate([piece for part in parts for piece in part])
        assert vertices.min() >= margin - 1e-6 and np.all(
            vertices.max(axis=0) <= (sheet.width - margin, sheet.height - margin) + np.array(1e-6)
        )
        assert sheet.used == pytest.approx(vertices[:, 1].max() + margin)
        area = sum(nested.parts[at.part].shape.area for at in sheet.placements)
        assert sheet.density == pytest.approx(area / (sheet.width * sheet.height))
        for first in range(len(parts)):
            for second in range(first):
                # Along the axes of edges, two are no farther apart than they are.
                assert all(depth(a, b) <= 1e-9 for a in parts[first] for b in parts[second])
    places = [at for sheet in nested.sheets for at in sheet.placements]
    for index, part in enumerate(nested.parts):
        own = [at.copy for at in places if at.part == index]
        left = sum(left.count for left in nested.left if left.part == index)
        assert own == list(range(1, len(own) + 1)) and len(own) + left == part.count
    for index in range(len(nested.sheets) if shapely else 0):
        polygons = nested.polygons(index)
        for first, polygon in enumerate(polygons):
            assert all(polygon.distance(other) >= spacing - 1e-6 for other in polygons[:first])


def test_nests_are_valid() -> None:
    nested = nest({"triangle": (TRIANGLE, 8), "square": (SQUARE, 6)}, (100, 60), spacing=1, margin=2, time=3)
    check(nested, 1, 2)
    assert [(part.name, part.count) for part in nested.parts] == [("triangle", 8), ("square", 6)]
    assert nested.left == [] and 0 < nested.seconds


def test_mirrored_parts(tmp_path: Path) -> None:
    """A key fits into a frame's hole only if it is mirrored, and so both need as much of a roll as the frame."""
    hole = [(14, 14), (36, 14), (36, 46), (24, 46), (24, 26), (14, 26)]
    parts = {
        "frame": Shape([(0, 0), (60, 0), (60, 60), (0, 60)], holes=[hole]),
        "key": [(0, 0), (20, 0), (20, 10), (10, 10), (10, 30), (0, 30)],
    }
    nested = nest(parts, (np.inf, 60.01), turns=90, mirror=["key"], time=4)
    assert nested.sheets[0].used < 60.02
    assert {at.name: at.mirrored for at in nested.sheets[0].placements} == {"frame": False, "key": True}
    assert pickle.loads(pickle.dumps(nested)).mirror == [False, True]
    nested.write(tmp_path / "p.csv")
    rows = list(csv.DictReader((tmp_path / "p.csv").open()))
    assert {row["part"]: row["mirrored"] for row in rows} == {"frame": "false", "key": "true"}
    if shapely:
        frame, key = nested.polygons(0)
        assert frame.intersection(key).area < 1e-9 and key.area == pytest.approx(400)
    packed = pack(parts, mirror="key", turns=90, steps=8000, starts=4)
    assert packed.side < 60.01 and packed.mirrored.tolist() == [False, True] and packed.shapes.tolist() == [0, 3]
    both = [part.shape for part in packed.parts]
    overlap = Overlap([*both, *(shape.mirrored() for shape in both)])
    assert overlap.evaluate(packed.poses, shapes=packed.shapes).totals == 0
    again = packed.resume(steps=1)
    assert again.side <= packed.side and again.mirrored.tolist() == [False, True]
    with pytest.raises(ValueError, match=r"mirror\['k'\]: no part is called so; the parts are frame, key"):
        nest(parts, (100, 100), mirror="k")


def test_irregular_sheets(tmp_path: Path) -> None:
    form = Shape([(10, 5), (110, 5), (110, 65), (60, 85), (10, 65)], "hide", [[(50, 30), (70, 30), (70, 45), (50, 45)]])
    nested = nest([(SQUARE, 12), (TRIANGLE, 2)], form, spacing=1, margin=2, turns=90, time=12)
    assert not nested.left
    sheet = nested.sheets[0]
    assert (sheet.width, sheet.height) == (100, 80) and sheet.form is not None
    assert sheet.form.outlines[0].min(axis=0).tolist() == [0, 0]
    covered = sum(nested.parts[at.part].shape.area for at in sheet.placements)
    assert sheet.density == pytest.approx(covered / sheet.form.area)
    nested.write(tmp_path / "cut.svg")
    assert '<path id="sheet-1-outline"' in (tmp_path / "cut.svg").read_text()
    (tmp_path / "hide.wkt").write_text("POLYGON ((10 5, 110 5, 110 65, 60 85, 10 65), (50 30, 70 30, 70 45, 50 45))")
    loaded = Shape.load_sheet(tmp_path / "hide.wkt")
    assert all(np.array_equal(a, b) for a, b in zip(loaded.outlines, sheet.form.outlines))
    assert nest(SQUARE, [(tmp_path / "hide.wkt", 1)], time=2).sheets[0].width == 100
    with pytest.raises(ValueError, match="the number of sheets is 0"):
        nest(SQUARE, (form, 0))
    if shapely:
        room = shapely.Polygon(sheet.form.outlines[0], sheet.form.outlines[1:]).buffer(-2 + 1e-6)
        assert all(room.contains(polygon) for polygon in nested.polygons(0))
        polygon = shapely.Polygon(form.outlines[0], form.outlines[1:])
        assert nest(SQUARE, polygon, time=2).sheets[0].form is not None
        # A polygon beside the largest one is no defect.
        beside = nest(SQUARE, shapely.MultiPolygon([shapely.box(50, 9, 52, 14), shapely.box(0, 0, 40, 30)]), time=2).sheets[0]
        assert (beside.width, beside.height) == (40, 30) and (beside.form is None or len(beside.form.outlines) == 1)
        # Defects meet each other and the edge.
        boxes = [(5, 5, 10, 10), (8, 8, 14, 14), (38, 0, 50, 4), (0, 0, 40, 30)]
        meeting = nest(SQUARE, (shapely.MultiPolygon([shapely.box(*corners) for corners in boxes]), 1), time=2).sheets[0]
        assert meeting.width == 40 and meeting.form is not None and meeting.form.area == pytest.approx(1200 - 25 - 36 + 4 - 8)
        assert np.array_equal(pickle.loads(pickle.dumps(meeting.form)).outlines[3], meeting.form.outlines[3])


def test_shapely() -> None:
    pytest.importorskip("shapely")
    ring = shapely.Point(5, 5).buffer(20).difference(shapely.Point(5, 5).buffer(14))
    two = shapely.MultiPolygon([shapely.box(0, 0, 4, 4), shapely.box(9, 9, 12, 14)])
    nested = nest([(ring, 2), two, (shapely.Point(0, 0).buffer(9), 2)], [(90, 45)], spacing=0.5, time=3)
    check(nested, 0.5, 0)
    # Polygons of a MultiPolygon are parts of their own.
    assert [part.count for part in nested.parts] == [2, 1, 1, 2] and nested.left == []
    for at, polygon in zip(nested.sheets[0].placements, nested.polygons(0), strict=True):
        assert polygon.area == pytest.approx([ring.area, 16, 15, shapely.Point(0, 0).buffer(9).area][at.part])
        assert len(polygon.interiors) == (at.part == 0)
    packed = pack(
        {"ring": (ring, 2), "dot": (shapely.Point(0, 0).buffer(4), 3)}, container=shapely.box(3, 3, 5, 4), steps=600
    )
    copies = packed.geometries()
    assert len(copies) == 5 and all(a.intersection(b).area < 1e-9 for k, a in enumerate(copies) for b in copies[:k])
    outline = shapely.Polygon(packed.outline)
    assert all(outline.buffer(1e-9).contains(copy) for copy in copies) and outline.area == pytest.approx(
        2 * packed.side**2
    )
    assert packed.density == pytest.approx(sum(copy.area for copy in copies) / outline.area)
    pieces = Shape.from_pieces([[(0, 0), (1, 0), (0, 1)], [(2, 0), (3, 0), (2, 1)]])
    assert nest([pieces], (5, 5), time=1).polygons(0)[0].geom_type == "MultiPolygon"
    assert Overlap([ring]).evaluate([[0, 0, 0], [0, 0, 0]]).totals == pytest.approx(ring.area)
    for geometry, error, text in (
        (shapely.LineString([(0, 0), (1, 1)]), TypeError, "a LineString is no shape"),
        (shapely.Polygon(), ValueError, "the Polygon is empty"),
        (shapely.Polygon([(0, 0), (1, 1), (1, 0), (0, 1)]), ValueError, r"parts\[1\]: .* cross or touch"),
        (
            shapely.Polygon([(0, 0, 1), (1, 0, 1), (1, 1, 1)]),
            ValueError,
            r"parts\[1\]: an outline has the shape \(4, 3\)",
        ),
    ):
        with pytest.raises(error, match=text):
            nest([SQUARE, geometry], (60, 40))


def test_example(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Four drawings on two sheets, cut files out."""
    files = [tmp_path / f"cut.{extension}" for extension in ("svg", "csv", "json")]
    monkeypatch.setattr(sys, "argv", ["nest_parts.py", *map(str, files)])
    nested = runpy.run_path(str(EXAMPLES / "nest_parts.py"))["nested"]
    assert isinstance(nested, Nested) and nested.left == [] and len(nested.sheets) <= 2
    assert "Nested 16 parts on" in capsys.readouterr().out
    check(nested, 3, 5)
    drawing = xml.parse(files[0]).getroot()
    paths = [path for path in drawing.iter() if path.tag.endswith("}path")]
    assert len(paths) == len({path.get("id") for path in paths}) == 16
    # Curves are cut as they were drawn.
    flanges = [path.get("d", "") for path in paths if path.get("id", "").startswith("flange-")]
    assert len(flanges) == 4 and all("C" in path and "L" not in path for path in flanges)
    rows = list(csv.DictReader(files[1].read_text().splitlines()))
    places = json.loads(files[2].read_text())
    assert [{key: str(value) for key, value in place.items()} for place in places] == rows
    first = nested.sheets[0].placements[0]
    assert places[0] == {"part": first.name, "copy": 1, "sheet": 1, "x": first.x, "y": first.y, "theta": first.theta}
    with pytest.raises(ValueError, match="must end in .svg, .dxf, .csv or .json"):
        nested.write(tmp_path / "cut.png")
    again = pickle.loads(pickle.dumps(nested))
    assert again._repr_svg_() == files[0].read_text() == copy.deepcopy(nested)._repr_svg_() and repr(again) == repr(
        nested
    )


@pytest.mark.parametrize(
    "shape", [Shape(TRIANGLE, "a"), Shape.tree(), FRAME, Shape.from_pieces([TRIANGLE, [(50, 0), (60, 0), (50, 9)]])]
)
def test_shapes_pickle(shape: Shape) -> None:
    again = pickle.loads(pickle.dumps(shape))
    assert (again.name, again.area, repr(again)) == (shape.name, shape.area, repr(shape))
    for ours, theirs in ((shape.outlines, again.outlines), (shape.pieces, again.pieces)):
        assert len(ours) == len(theirs) and all(np.array_equal(a, b) for a, b in zip(ours, theirs))
    assert copy.deepcopy(shape) is shape


def test_names_and_files(tmp_path: Path) -> None:
    path = tmp_path / "two.wkt"
    path.write_text("MULTIPOLYGON (((0 0, 4 0, 4 4, 0 4, 0 0)), ((9 9, 12 9, 12 14, 9 9)))")
    nested = nest([path, (str(path), 2), FRAME, SQUARE], (100, 100), time=1)
    assert [part.name for part in nested.parts] == ["two 1", "two 2", "two 1 2", "two 2 2", "frame", "part 5"]
    assert [part.count for part in nested.parts] == [1, 1, 2, 2, 1, 1]
    assert [part.name for part in nest({"plate": path}, (100, 100), time=1).parts] == ["plate 1", "plate 2"]
    same = [Shape([(0, 0), (4, 0), (0, 4)], name) for name in ("plate", "plate", "plate 2", "plate")]
    assert [part.name for part in nest(same, (100, 100), time=1).parts] == ["plate", "plate 3", "plate 2", "plate 4"]
    path.write_text("POLYGON ((0 0, 4 0, 4 4, 0 4, 0 0))")
    assert Shape.load(path).name == "two" and [shape.area for shape in Shape.load_all(path)] == [16]
    # An instance of sparrow has demands.
    items = [{"id": 0, "demand": 3, "shape": {"type": "simple_polygon", "data": [[0, 0], [4, 0], [4, 4]]}}]
    (tmp_path / "some.json").write_text(json.dumps({"name": "some", "items": items, "strip_height": 9}))
    assert [part.count for part in nest([(tmp_path / "some.json", 2)], (100, 100), time=1).parts] == [6]
    # One shape needs no list.
    for single in (SQUARE, np.array(SQUARE), Shape(SQUARE), (SQUARE, 1)):
        assert [at.part for at in nest(single, (100, 100), time=1).sheets[0].placements] == [0]


def test_what_has_no_place(tmp_path: Path) -> None:
    nested = nest({"long": [(0, 0), (50, 0), (0, 1)], "square": (SQUARE, 5)}, (25, 14, 1), margin=1, turns=90, time=1)
    long, squares = nested.left
    assert isinstance(long, Left) and (long.name, long.count) == ("long", 1)
    assert (
        long.reason
        == "larger than every sheet at the angles that are allowed: 50 x 1, but sheets have 23 x 12 within the margins"
    )
    assert (squares.name, squares.count, squares.reason) == ("square", 3, "no room was found")
    assert all(at.theta % (np.pi / 2) == pytest.approx(0) for at in nested.sheets[0].placements)
    nothing = nest([(0, 0), (50, 0), (0, 40)], (10, 10), time=1)
    assert nothing.sheets == [] and "left: 1 of part 0" in repr(nothing)
    with pytest.raises(ValueError, match="no part has a place"):
        nothing.write(tmp_path / "cut.svg")


def test_angles_of_parts(tmp_path: Path) -> None:
    def angles(parts: Any, **options: Any) -> dict[str, set[float]]:
        nested = nest(parts, (40, 40, 1), time=1, **options)
        assert not nested.left
        return {
            part.name: {round(np.degrees(at.theta), 6) for at in nested.sheets[0].placements if at.part == index}
            for index, part in enumerate(nested.parts)
        }

    def item(index: int, turns: list[float] | None) -> dict[str, Any]:
        bar = {"type": "rectangle", "data": {"x_min": 0, "y_min": 0, "width": 9, "height": 2}}
        return {"id": index, "demand": 2, "allowed_orientations": turns, "shape": bar}

    path = tmp_path / "i.json"
    path.write_text(json.dumps({"name": "i", "items": [item(0, [90]), item(1, [0, 45])], "strip_height": 9}))
    first, second = Shape.load_all(path)
    assert (first.turns, second.turns, Shape(SQUARE).turns) == ([90], [0, 45], None)
    for shape in (first, second):
        assert pickle.loads(pickle.dumps(shape)).turns == shape.turns
    own = angles(path)
    assert own["i 0"] == {90} and own["i 1"] <= {0, 45}
    assert angles(path, turns={"i 1": [30]}) == {"i 0": {90}, "i 1": {30}}
    assert angles([first, second], turns="none") == {"i 0": {0}, "i 1": {0}}
    assert angles([first, second], turns=[15, 375.0]) == {"i 0": {15}, "i 1": {15}}
    wrong: list[tuple[Any, type[Exception], str]] = [
        (7, ValueError, "turns: 7 does not divide 360"),
        ([0, np.nan], ValueError, "an angle is NaN, but it must be finite"),
        (["x"], TypeError, "turns are .*, but they must be"),
        ({"j": 0}, ValueError, r"turns\['j'\]: no part is called so; the parts are i 0, i 1"),
        ([], ValueError, "`` is not an angle"),
    ]
    for turns, error, text in wrong:
        with pytest.raises(error, match=text):
            nest(path, (40, 40), turns=turns, time=1)


def test_rolls(tmp_path: Path) -> None:
    bar = {"bar": ([(0, 0), (5, 0), (5, 1), (0, 1)], 3)}
    nested = nest(bar, (np.inf, 1.5), turns="none", time=1)
    (roll,) = nested.sheets
    assert roll.width == pytest.approx(15) and (roll.height, roll.used) == (1.5, roll.width) and not nested.left
    nested.write(tmp_path / "roll.sparrow.json")
    strip = json.loads((tmp_path / "roll.sparrow.json").read_text())
    assert (strip["strip_height"], strip["solution"]["strip_width"]) == (1.5, roll.width)
    assert len(strip["solution"]["layout"]["placed_items"]) == strip["items"][0]["demand"] == 3
    nested.write(tmp_path / "roll.dxf")
    # Three parts and the outline.
    assert (tmp_path / "roll.dxf").read_text().count("LWPOLYLINE") == 4
    assert nest(bar, (1.5, np.inf), turns="none", time=1).left[0].count == 3
    with pytest.raises(ValueError, match="a roll must be the only sheet"):
        nest(bar, [(9, 9), (np.inf, 9)])
    with pytest.raises(ValueError, match="positive numbers below 1e6, or one infinite"):
        nest(bar, (np.inf, np.inf))


def test_values_and_priorities() -> None:
    parts = {"a": [(0, 0), (6, 0), (6, 10), (0, 10)], "b": ([(0, 0), (5, 0), (5, 10), (0, 10)], 2)}

    def names(**options: Any) -> list[str]:
        return [at.name for at in nest(parts, (10, 10, 1), turns="none", time=1, **options).sheets[0].placements]

    assert names(values={"b": 45}) == ["b", "b"] and names(values={"a": 91.0, "b": 45}) == ["a"]
    assert names(priorities={"a": 1}) == ["a"] and names(priorities={"a": -1}) == ["b", "b"]
    nested = nest(parts, (10, 10, 1), turns="none", time=1, values=1)
    assert nested.value == (2, 3) and "value 2 of 3" in repr(nested) and [left.name for left in nested.left] == ["a"]
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"values": {"a": 0}}, "the value of a is 0, but it must be positive and finite"),
        ({"values": {"c": 1}}, r"values\['c'\]: no part is called so"),
        ({"priorities": {"c": 1}}, r"priorities\['c'\]: no part is called so"),
    ]
    for options, text in wrong:
        with pytest.raises(ValueError, match=text):
            nest(parts, (10, 10), **options)


def test_without_shapely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shapely", None)
    with pytest.raises(ImportError, match="pip install shapely"):
        nest(SQUARE, (10, 10), time=1).polygons(0)
    with pytest.raises(ImportError, match="pip install shapely"):
        pack(SQUARE, 1, steps=1).geometries()


def test_ctrl_c_and_progress() -> None:
    parts = [(Shape.tree(), 60), (np.array(SQUARE) / 20, 30)]
    assert ends_soon(lambda: [nest(parts, (5, 5, 1), time=60) for _ in range(100)], 1)
    calls: list[tuple[int, int]] = []
    nest((SQUARE, 4), (21, 11), time=1, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (1000, 1000) and calls == sorted(calls)


def test_what_cannot_be_nested() -> None:
    nan = [(0, 0), (np.nan, 1), (1, 0)]
    calls: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
        ([], {}, ValueError, "parts are empty"),
        (None, {}, TypeError, "parts is of the type NoneType"),
        ([SQUARE, 3], {}, TypeError, r"parts\[1\]: 3 is no shape, which is a Shape, an array"),
        ([SQUARE, (SQUARE, 0)], {}, ValueError, r"parts\[1\]: the count is 0"),
        ([SQUARE, nan], {}, ValueError, r"parts\[1\]: .*vertex 1: x = NaN"),
        (
            {"a": SQUARE, "b": [(0, 0), (1, 1), (1, 0), (0, 1)]},
            {},
            ValueError,
            r"parts\['b'\]: shape b: edges 0 and 2 cross",
        ),
        ([(0, 0, 1), (1, 0, 1), (1, 1, 1)], {}, ValueError, r"parts: an outline has the shape \(3, 3\)"),
        ([SQUARE, [(0, 0), (1, 0, 2)]], {}, TypeError, r"parts\[1\]: .* is no shape"),
        (["no.svg"], {}, FileNotFoundError, "no.svg"),
        (["part.docx"], {}, ValueError, "part.docx"),
        ((SQUARE, 2**40), {}, ValueError, "too many"),
        (SQUARE, {"sheets": []}, ValueError, r"sheets are \[\]"),
        (SQUARE, {"sheets": "A4"}, ValueError, "sheets are 'A4', but they must be"),
        (SQUARE, {"sheets": [(60, 40), (60,)]}, ValueError, r"sheets\[1\] is \(60,\)"),
        (SQUARE, {"sheets": (60, -40)}, ValueError, "positive numbers below 1e6"),
        (SQUARE, {"sheets": (60, 40, 0)}, ValueError, "number of sheets"),
        (SQUARE, {"sheets": (60, 40, 1.5)}, ValueError, "number of sheets"),
        (SQUARE, {"margin": 20}, ValueError, "margins of 20"),
        (SQUARE, {"spacing": -1}, ValueError, "spacing is -1"),
        (SQUARE, {"spacing": np.nan}, ValueError, "spacing is nan"),
        (SQUARE, {"turns": np.pi / 2}, ValueError, "does not divide 360"),
        (SQUARE, {"time": 0}, ValueError, "time is 0"),
        (SQUARE, {"seed": -1}, ValueError, "seed is -1, but it must be at least 0"),
        (SQUARE, {"seed": 1.5}, TypeError, "seed is 1.5, but it must be a whole number"),
        (SQUARE, {"time": "1"}, TypeError, "time is '1'"),
        ({"a": SQUARE}, {"priorities": {"a": 1.5}}, TypeError, r"priorities\['a'\] is 1.5, but it must be a whole number"),
    ]
    for parts, arguments, error, text in calls:
        with pytest.raises(error, match=text):
            nest(parts, **{"sheets": (60, 40), **arguments})

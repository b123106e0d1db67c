"""The packer."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from warpsmith.overlap import Overlap, Packed, Shape, pack

Array = npt.NDArray[np.float64]

SQUARE = Shape([(0, 0), (1, 0), (1, 1), (0, 1)])
TRIANGLE = Shape([(-1, 0), (1, 0), (0, 2)])


def depth(a: Array, b: Array) -> float:
    """How deep two convex polygons are in each other: the least over all directions of edges; negative where apart."""
    least = np.inf
    for polygon in (a, b):
        edges = np.roll(polygon, -1, axis=0) - polygon
        normals = np.stack([-edges[:, 1], edges[:, 0]], axis=1) / np.linalg.norm(edges, axis=1, keepdims=True)
        of_a, of_b = a @ normals.T, b @ normals.T
        least = min(least, (np.minimum(of_a.max(0), of_b.max(0)) - np.maximum(of_a.min(0), of_b.min(0))).min())
    return float(least)


def check(packed: Packed, shape: Shape, count: int) -> None:
    """That it is a packing, and that what is said of it is so."""
    polygons = packed.polygons()
    assert packed.poses.shape == (count, 3) and len(polygons) == count
    for first in range(count):
        for second in range(first):
            assert depth(polygons[first], polygons[second]) < 1e-12
    vertices = np.concatenate(polygons)
    np.testing.assert_allclose(vertices.min(axis=0), -vertices.max(axis=0), atol=1e-9)
    assert 2 * abs(vertices).max() == pytest.approx(packed.side, rel=1e-12)
    assert packed.density == pytest.approx(count * shape.area / packed.side**2, rel=1e-12)
    assert packed.density <= 1 and packed.history[-1, 2] == packed.side and packed.history[-1, 0] == packed.steps
    assert np.all(np.diff(packed.history[:, :2], axis=0) >= 0) and 0 < packed.history[-1, 1] <= packed.seconds + 1e-9


@pytest.mark.parametrize(("shape", "count"), [(SQUARE, 1), (SQUARE, 2), (SQUARE, 5), (TRIANGLE, 4)])
def test_packings_are_valid(shape: Shape, count: int) -> None:
    packed = pack(shape, count, steps=1500, starts=3, seed=1)
    check(packed, shape, count)
    assert (packed.starts, packed.steps, packed.shape) == (3, 1500, shape)
    assert count * shape.area <= packed.side**2 <= 2.5 * count * shape.area


def test_one_square_fills_its_square() -> None:
    # Whatever it starts from, nothing is smaller than the square itself; 4 fit into one of twice its side.
    assert pack(SQUARE, 1, steps=4000, seed=3).side == pytest.approx(1, rel=1e-4)
    grid = [(x, y, 0.0) for x in (-1.0, 0.0) for y in (-1.0, 0.0)]
    assert pack(SQUARE, 4, initial=grid, steps=600).side <= 2


def test_seeds_and_starts() -> None:
    one, same, other = (pack(TRIANGLE, 3, steps=700, seed=seed) for seed in (7, 7, 8))
    np.testing.assert_array_equal(one.poses, same.poses)
    assert one.side == same.side != other.side
    again = pack(TRIANGLE, 3, initial=one.poses, steps=700)
    check(again, TRIANGLE, 3)
    assert again.side <= one.side
    # The evaluator finds no overlap either.
    trees = pack(Shape.tree(), 3, steps=600)
    assert Overlap([Shape.tree()]).evaluate(trees.poses).totals < 1e-12


def test_time_and_progress() -> None:
    calls: list[tuple[int, int]] = []
    pack(SQUARE, 3, steps=1300, starts=2, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (1300, 1300) and calls == sorted(calls)
    calls.clear()
    packed = pack(SQUARE, 3, seconds=0.5, starts=2, progress=lambda done, total: calls.append((done, total)))
    check(packed, SQUARE, 3)
    assert calls and all(total == 500 for _, total in calls)

    def stop(done: int, total: int) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        pack(SQUARE, 3, steps=10**9, progress=stop)


def test_pictures() -> None:
    packed = pack(Shape.from_pieces([[(0, 0), (1, 0), (0, 1)], [(2, 0), (3, 0), (2, 1)]]), 2, steps=600)
    # A polygon for each piece.
    assert len(packed.polygons()) == 4
    # A path for each copy, and the container's.
    page = packed._repr_html_()
    assert page.count("<path") == 3 and page.count("M") == 5 and f"side {packed.side:.6f}" in page
    matplotlib: Any = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, ax = pyplot.subplots()
    packed.plot(ax, facecolor="red")
    drawn: Any = ax.collections[0]
    rings = [ring for path in drawn.get_paths() for ring in path.to_polygons(closed_only=False)]
    for ring, polygon in zip(rings, packed.polygons(), strict=True):
        np.testing.assert_array_equal(ring[: len(polygon)], polygon)
    assert ax.get_xlim()[0] <= -packed.side / 2 < packed.side / 2 <= ax.get_xlim()[1]
    pyplot.close(figure)
    # A shape's colour depends on the names alone.
    colours = []
    for names in ("ab", "ba"):
        figure, ax = pyplot.subplots()
        pack({name: {"a": SQUARE, "b": TRIANGLE}[name] for name in names}, steps=100).plot(ax)
        legend: Any = ax.get_legend()
        labels = [text.get_text() for text in legend.get_texts()]
        colours.append({label: str(drawn.get_facecolor()) for label, drawn in zip(labels, ax.collections)})
        pyplot.close(figure)
    assert colours[0] == colours[1] and set(colours[0]) == {"a (1)", "b (1)"} and len(set(colours[0].values())) == 2


def test_what_cannot_be_packed() -> None:
    calls: list[tuple[dict[str, Any], type[Exception], str | None]] = [
        ({"count": 0}, ValueError, "count is 0, but it must be at least 1"),
        ({"count": -1}, ValueError, "count is -1"),
        ({"count": 1.5}, TypeError, None),
        ({"steps": 0}, ValueError, "steps is 0"),
        ({"starts": 0}, ValueError, "starts is 0"),
        ({"seed": -1}, ValueError, "seed is -1"),
        ({"seconds": 0.0}, ValueError, "seconds is 0.0"),
        ({"seconds": np.nan}, ValueError, "seconds is nan"),
        ({"count": 2**40}, ValueError, "are too many"),
        ({"initial": [[0, 0, 0]]}, ValueError, "has 1 copies, and not 2"),
        ({"initial": [0, 0, 0]}, ValueError, r"initial has the shape \(3,\)"),
        ({"initial": [[0, 0, 0], [0.5, 0, 0]]}, ValueError, "copies 0 and 1 of the packing to start from overlap"),
        ({"initial": [[0, 0, 0], [np.nan, 0, 0]]}, ValueError, r"initial\[1\] has nan, but it must be finite"),
        ({"initial": [[0, 0, 0], [np.inf, 0, 0]]}, ValueError, r"initial\[1\] has inf"),
        ({"initial": [[0, 0, 0], [1e300, 0, 0]]}, ValueError, "too large"),
        ({"device": "gpu"}, ValueError, "is not a device"),
    ]
    for arguments, error, text in calls:
        with pytest.raises(error, match=text):
            pack(SQUARE, **{"count": 2, "steps": 100, **arguments})
    others: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"shapes": []}, ValueError, "shapes are empty"),
        ({"shapes": [SQUARE, 3]}, TypeError, r"shapes\[1\]: 3 is no shape"),
        ({"shapes": [(SQUARE, 3)]}, ValueError, "count is 2, but shapes have counts of their own"),
        ({"container": "box"}, ValueError, "it must be `square`, `strip:WIDTH`, `circle`"),
        ({"container": [(0, 0), (2, 0), (1, 0.5), (1, 2)]}, ValueError, "it must be convex"),
        ({"container": "strip:0.5"}, ValueError, "the strip is too narrow"),
        ({"container": Shape([(0, 0), (9, 0), (0, 9)], holes=[[(1, 1), (2, 1), (1, 2)]])}, ValueError, "without holes"),
        ({"turns": 7}, ValueError, "turns: 7 does not divide 360"),
        ({"spacing": -1}, ValueError, "spacing is -1"),
        ({"turns": "none", "initial": [[0, 0, 0], [1, 0, 0.5]]}, ValueError, "copy 1 .* is turned by 0.5"),
        ({"initial": [[0, 0, 0], [0.9, 0, 90]]}, ValueError, "they are radians, and not degrees"),
    ]
    for arguments, error, text in others:
        with pytest.raises(error, match=text):
            pack(**{"shapes": SQUARE, "count": 2, "steps": 100, **arguments})


@pytest.mark.parametrize(
    ("container", "area"), [("square", 1.0), ("circle", np.pi), ("strip:3", 0), ([(5, 5), (9, 5), (9, 7), (5, 7)], 8)]
)
def test_containers_and_mixtures(container: Any, area: float) -> None:
    packed = pack(
        {"square": (SQUARE, 2), "triangle": (TRIANGLE, 3)}, container=container, turns=180, spacing=0.1, steps=400
    )
    assert packed.shapes.tolist() == [0, 0, 1, 1, 1] and packed.shape is SQUARE
    assert np.allclose(np.sin(packed.poses[:, 2]), 0)
    polygons = packed.polygons()
    for first in range(5):
        # The axes of edges give at most the distance.
        assert all(depth(polygons[first], polygons[second]) < 0 for second in range(first))
    of_container = area * packed.side**2 if area else 3 * packed.side
    assert packed.density == pytest.approx((2 * 1 + 3 * 2) / of_container)
    # Within the container by half of the spacing: along the normals of its edges, which are counter-clockwise.
    edges = np.roll(packed.outline, -1, axis=0) - packed.outline
    normals = np.stack([-edges[:, 1], edges[:, 0]], axis=1) / np.linalg.norm(edges, axis=1, keepdims=True)
    inside = (np.concatenate(polygons)[:, None] - packed.outline) @ normals.T
    least = np.diagonal(inside, axis1=1, axis2=2).min()
    assert 0.05 - (2e-4 * packed.side if container == "circle" else 1e-9) <= least
    again = pickle.loads(pickle.dumps(packed))
    for resumed in (again.resume(steps=50), copy.deepcopy(packed).resume(steps=50, spacing=0.05)):
        assert resumed.side <= packed.side and [part.name for part in resumed.parts] == ["square", "triangle"]
        assert resumed.options == {**packed.options, "spacing": resumed.options["spacing"]}


def test_demands_count_once(tmp_path: Path) -> None:
    items = [{"id": 0, "demand": 3, "shape": {"type": "simple_polygon", "data": [[0, 0], [4, 0], [4, 4]]}}]
    (tmp_path / "some.json").write_text(json.dumps({"name": "some", "items": items, "strip_height": 9}))
    packed = pack([(tmp_path / "some.json", 2)], steps=50)
    assert [part.count for part in packed.parts] == [part.count for part in packed.resume(steps=50).parts] == [6]

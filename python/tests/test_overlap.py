"""Overlaps of polygons."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warpsmith.overlap import Overlap, Shape

DATA = Path(__file__).parents[2] / "tests" / "data"
UNIT = [(0, 0), (1, 0), (1, 1), (0, 1)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_answers_of_shapely(dtype: str) -> None:
    """tests/data/overlap.npz: areas by Shapely, derivatives by central differences of these."""
    data = np.load(DATA / "overlap.npz")
    trees = Overlap([Shape(data["outline"])], dtype=dtype)
    found = trees.evaluate(data["poses"], per_pose=True, gradient=True)
    close: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-5} if dtype == "float32" else {"rtol": 1e-12, "atol": 1e-12}
    assert trees.dtype == found.gradient.dtype == found.per_pose.dtype == found.totals.dtype == dtype
    np.testing.assert_allclose(found.totals, data["total"], **close)
    np.testing.assert_allclose(found.per_pose, data["pair_area"].sum(axis=1), **close)
    np.testing.assert_allclose(found.gradient, data["gradient"], rtol=1e-4, atol=1e-4 if dtype == "float32" else 1e-5)
    pairs = trees.pairs(data["poses"])
    areas = np.zeros((40, 40))
    areas[pairs.first, pairs.second] = pairs.area
    np.testing.assert_allclose(areas + areas.T, data["pair_area"], **close)
    assert np.all(pairs.packing == 0) and pairs.shift.shape == (len(pairs.area), 2)


def test_many_packings() -> None:
    data = np.load(DATA / "overlap.npz")
    trees = Overlap([Shape.tree()], deterministic=True)
    packings = data["poses"].reshape(8, 5, 3)
    all_in_one = trees.evaluate(packings, per_pose=True, gradient=True)
    assert (all_in_one.totals.shape, all_in_one.per_pose.shape, all_in_one.gradient.shape) == ((8,), (8, 5), (8, 5, 3))
    for index, packing in enumerate(packings):
        single = trees.evaluate(packing, per_pose=True, gradient=True)
        assert single.totals == all_in_one.totals[index]
        np.testing.assert_array_equal(single.gradient, all_in_one.gradient[index])
    plain = trees.evaluate(packings[:, ::-1])
    assert plain.per_pose is None and plain.gradient is None and plain.outside is None
    np.testing.assert_allclose(plain.totals, all_in_one.totals, rtol=1e-13, atol=1e-15)
    assert set(trees.pairs(packings).packing) <= set(range(8))


def test_copies() -> None:
    given: dict[str, Any] = {"dtype": "float32", "boundary": [(-1, -1), (1, -1), (0, 1)], "deterministic": True, "device": "cpu"}
    triangles = Overlap([[(0, 0), (1, 0), (0, 1)], Shape.tree()], **given)
    poses, chosen = [[0, 0, 0], [0.25, 0.5, 0.3], [0, 0.1, 0]], [0, 0, 1]
    expected = triangles.evaluate(poses, shapes=chosen, scales=1.5)
    assert expected.outside is not None
    for again in (pickle.loads(pickle.dumps(triangles)), copy.copy(triangles), copy.deepcopy(triangles)):
        found = again.evaluate(poses, shapes=chosen, scales=1.5)
        assert again.dtype == np.float32 and found.totals == expected.totals > 0
        assert found.outside is not None and found.outside.totals == expected.outside.totals > 0
    cells = pickle.loads(pickle.dumps(Overlap([UNIT], lattice=[(0.75, 0), (0, 0.75)])))
    assert cells.evaluate([[0, 0, 0]]).totals == pytest.approx(2 * 0.25 + 2 * 0.25**2)


def test_nothing_to_overlap() -> None:
    trees = Overlap([Shape.tree()])
    for poses in (np.empty((0, 3)), np.zeros((1, 3))):
        found = trees.evaluate(poses, per_pose=True, gradient=True)
        assert found.totals == 0 and found.gradient.shape == poses.shape
        assert len(trees.pairs(poses).area) == 0
    assert trees.evaluate(np.empty((0, 4, 3))).totals.shape == (0,)
    np.testing.assert_array_equal(trees.evaluate(np.empty((4, 0, 3))).totals, np.zeros(4))
    assert trees.evaluate(np.zeros((2, 3), int)).totals == pytest.approx(Shape.tree().area)


def test_several_shapes() -> None:
    shapes = Overlap([Shape(UNIT), Shape([(0, 0), (2, 0), (2, 2), (0, 2)])])
    poses: Any = [[0, 0, 0], [0.5, 0.5, 0], [0, 0, 0]]
    assert shapes.evaluate(poses, shapes=[0, 0, 1]).totals == pytest.approx(0.25 + 1 + 1)
    assert shapes.evaluate([poses], shapes=np.array([[0, 0, 1]], np.uint8)).totals == pytest.approx([2.25])
    wrong: list[tuple[Any, type[Exception], str]] = [
        ([0, 1], ValueError, r"shapes have the shape \(2,\)"),
        ([0, 1, 2], ValueError, "pose 2: shape = 2, but the shapes are 0 to 1"),
        ([0, 1, -1], ValueError, r"shapes\[2\] is -1"),
        ([0.0, 1.0, 1.0], TypeError, "whole numbers"),
    ]
    for indices, error, text in wrong:
        with pytest.raises(error, match=text):
            shapes.evaluate(poses, shapes=indices)


def test_boundaries() -> None:
    squares = Overlap([Shape(UNIT)], boundary="square")
    poses: Any = [[[0.0, 0, 0]], [[-0.5, -0.5, 0]], [[9, 9, 0]]]
    outside = squares.evaluate(poses, scales=1.5, gradient=True).outside
    assert outside is not None
    # The squares reach from 0 to 1, the boundary to 0.75.
    np.testing.assert_allclose(outside.totals, [1 - 0.75**2, 0, 1])
    np.testing.assert_allclose(outside.per_pose, np.reshape([1 - 0.75**2, 0, 1], (3, 1)))
    np.testing.assert_allclose(outside.gradient[:, 0, :2], np.array([[0.75, 0.75], [0, 0], [0, 0]]), atol=1e-15)
    np.testing.assert_allclose(outside.by_scale, [-0.75, 0, 0])
    single = squares.evaluate(poses[0], scales=[1.5]).outside
    assert single is not None and single.totals == outside.totals[0]
    polygon = Overlap([Shape(UNIT)], boundary=[(-1, -1), (1, -1), (1, 1), (-1, 1)])
    found = polygon.evaluate(poses, scales=[0.75, 0.75, 0.75]).outside
    assert found is not None
    np.testing.assert_allclose(found.totals, outside.totals)
    assert squares.evaluate(poses).outside is None
    scales: list[tuple[Any, str]] = [
        (0, "the boundary's scale is 0"),
        ([1, 2], "2 scales of the boundary, but 3 packings"),
        (np.nan, "must be a positive number"),
    ]
    for scale, text in scales:
        with pytest.raises(ValueError, match=text):
            squares.evaluate(poses, scales=scale)
    with pytest.raises(ValueError, match="there is no boundary"):
        Overlap([Shape(UNIT)]).evaluate(poses, scales=1)
    for boundary, text in (("circle", 'boundary is "circle"'), ([(1, 1), (2, 1), (2, 2)], "must contain it")):
        with pytest.raises(ValueError, match=text):
            Overlap([Shape(UNIT)], boundary=boundary)


def test_lattices() -> None:
    # A unit square in cells of 0.75 overlaps its image on each side by 0.25, and the diagonal ones by 0.25².
    squares = Overlap([Shape(UNIT)], lattice=[(0.75, 0), (0, 0.75)])
    assert squares.evaluate([[0, 0, 0]]).totals == pytest.approx(2 * 0.25 + 2 * 0.25**2)
    assert {tuple(shift) for shift in squares.pairs([[0, 0, 0]]).shift.tolist()} == {(0, 1), (1, -1), (1, 0), (1, 1)}
    with pytest.raises(ValueError, match="parallel"):
        Overlap([Shape(UNIT)], lattice=[(1, 0), (2, 0)])
    with pytest.raises(ValueError, match="exclude each other"):
        Overlap([Shape(UNIT)], lattice=[(1, 0), (0, 1)], boundary="square")
    with pytest.raises(ValueError, match=r"lattice has the shape \(2,\)"):
        Overlap([Shape(UNIT)], lattice=[1, 2])


def test_shapes(tmp_path: Path) -> None:
    square = Shape(np.array(UNIT), name="unit")
    assert (square.name, square.area, repr(square)) == ("unit", 1.0, "Shape \"unit\" of 1 pieces, area 1.000000")
    np.testing.assert_array_equal(square.outlines[0], UNIT)
    assert sum(len(piece) for piece in Shape.tree().pieces) == 15
    path = tmp_path / "square.wkt"
    path.write_text("POLYGON ((0 0, 2 0, 2 2, 0 2, 0 0))")
    assert Shape.load(path).area == Shape.load(str(path)).area == 4
    with pytest.raises(FileNotFoundError, match="no.svg"):
        Shape.load(tmp_path / "no.svg")
    path.write_text("POINT (1 2)")
    with pytest.raises(ValueError, match="square.wkt"):
        Shape.load(path)
    wrong: list[tuple[Any, str]] = [
        (UNIT[:2], "needs at least 3"),
        ([(0, 0), (1, 1), (1, 0), (0, 1)], "cross or touch"),
        ([(0, 0), (np.nan, 1), (1, 0)], "vertex 1: x = NaN, but it must be a finite number"),
        (np.zeros((4, 3)), r"outline has the shape \(4, 3\), but it must be \(n, 2\)"),
        ([1, 2, 3], r"outline has the shape \(3,\)"),
    ]
    for outline, text in wrong:
        with pytest.raises(ValueError, match=text):
            Shape(outline)
    with pytest.raises(ValueError, match="there are no pieces"):
        Shape.from_pieces([])
    with pytest.raises(ValueError, match="pieces 0 and 1 overlap"):
        Shape.from_pieces([UNIT, UNIT])


def test_what_is_no_pose() -> None:
    trees = Overlap([Shape.tree()])
    wrong: list[tuple[Any, type[Exception], str]] = [
        (np.zeros((3, 2)), ValueError, r"poses have the shape \(3, 2\)"),
        (np.zeros(3), ValueError, r"poses have the shape \(3,\)"),
        (np.zeros((1, 1, 1, 3)), ValueError, "poses have the shape"),
        ([[0, np.nan, 0]], ValueError, "packing 0, pose 0: y = NaN, but it must be a finite number"),
        ([[[0, 0, 0]], [[1e300, 0, 0]]], ValueError, "packing 1, pose 0: x = .* is too large"),
        ([[0, 0, 1j]], TypeError, "real numbers"),
    ]
    for poses, error, text in wrong:
        with pytest.raises(error, match=text):
            trees.evaluate(poses)
    with pytest.raises(TypeError, match=r"shapes\[0\]: 3 is no shape"):
        Overlap([3])
    with pytest.raises(TypeError, match=r"shapes\[0\]: .* is no shape"):
        Overlap([(Shape.tree(), 2)])
    with pytest.raises(TypeError, match="float32 or float64"):
        Overlap([Shape.tree()], dtype=int)
    with pytest.raises(ValueError, match="there are no shapes"):
        Overlap([]).evaluate([[0, 0, 0]])

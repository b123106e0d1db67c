"""The packer."""

from __future__ import annotations

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
    page = packed._repr_html_()
    assert page.count("<path") == 4 and f"side {packed.side:.6f}" in page
    matplotlib: Any = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, ax = pyplot.subplots()
    packed.plot(ax, facecolor="red")
    drawn: Any = ax.collections[0]
    for path, polygon in zip(drawn.get_paths(), packed.polygons(), strict=True):
        np.testing.assert_array_equal(path.vertices[: len(polygon)], polygon)
    assert ax.get_xlim()[0] <= -packed.side / 2 < packed.side / 2 <= ax.get_xlim()[1]
    pyplot.close(figure)


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
    with pytest.raises(TypeError):
        pack([(0, 0), (1, 0), (0, 1)], 2)  # type: ignore[arg-type]

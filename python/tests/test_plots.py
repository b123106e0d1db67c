"""Plots."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from integrals import random_arrays, value

from warpsmith.homology import rips
from warpsmith.overlap import Overlap, Shape
from warpsmith.pcf import PcfSet

matplotlib: Any = pytest.importorskip("matplotlib")


@pytest.fixture
def ax() -> Iterator[Any]:
    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots()
    yield axes
    pyplot.close(figure)


def test_steps_are_continuous_from_the_right(ax: Any) -> None:
    arrays = random_arrays(1, 6)
    fs = PcfSet(arrays).reshape(2, 3)
    fs.plot(ax)
    assert len(ax.lines) == 6
    end = 1.05 * max(array[-1, 0] for array in arrays)
    for line, array in zip(ax.lines, arrays):
        # A vertex at each end of a step: at its start the new value, at its end the old one.
        x, y = np.asarray(line.get_path().vertices).T
        assert line.get_drawstyle() == "steps-post" and (x[0], x[-1]) == (0, end)
        np.testing.assert_array_equal(y[::2], value(array, x[::2]))
        np.testing.assert_array_equal(y[1:-1:2], y[:-2:2])
        assert y[-1] == array[-1, 1]


def test_ends_labels_and_styles(ax: Any) -> None:
    fs = PcfSet([[(0, 3), (1, 1), (3, 5)], [(0, 2)]], dtype="float32")
    fs.plot(ax, end=2, color="red", label="both")
    assert ax.get_xlabel() == "t"
    ax.set_xlabel("time, s")
    assert [line.get_xdata().tolist() for line in ax.lines] == [[0, 1, 2], [0, 2]]
    assert [line.get_ydata().tolist() for line in ax.lines] == [[3, 1, 1], [2, 2]]
    assert {line.get_color() for line in ax.lines} == {"red"}
    assert ax.get_legend_handles_labels()[1] == ["both"]
    fs.plot(ax, end=9, label=["f", "g"])
    assert ax.get_legend_handles_labels()[1] == ["both", "f", "g"] and ax.lines[2].get_ydata()[-1] == 5
    # Where none is given, it is drawn on the current axes.
    fs[0].plot()
    assert len(ax.lines) == 5 and ax.get_xlabel() == "time, s"
    # Functions that never change, and none at all.
    fs[1].plot(ax)
    assert ax.lines[-1].get_xdata().tolist() == [0, 1]
    fs[:0].plot(ax, label="none")
    assert len(ax.lines) == 6
    assert fs[:0].plot() is ax
    for end in (-1, np.nan, np.inf):
        with pytest.raises(ValueError, match="it must be a finite time from 0 on"):
            fs.plot(ax, end=end)
    with pytest.raises(ValueError, match="there are 1 labels, but 2 functions"):
        fs.plot(ax, label=["f"])


def test_diagrams(ax: Any) -> None:
    diagrams = rips([[[0.0, 0.0]], [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]])
    diagrams.plot(1, ax, markersize=3)
    drawn = [np.column_stack(line.get_data()).tolist() for line in ax.lines]
    end = 1.05 * 2**0.5
    assert drawn == [[[0, 0], [end, end]], [[0, 1]] * 3, [[0, end]], [[1, 2**0.5]], []]
    assert ax.get_legend_handles_labels()[1] == ["H0", "H1"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("birth", "death")
    diagrams.plot(-1, ax, kind="barcode", color="red")
    of_degrees = [collection.get_segments() for collection in ax.collections]
    lines = [[[0, row], [1, row]] for row in range(3)] + [[[0, 3], [end, 3]]]
    assert [[line.tolist() for line in segments] for segments in of_degrees] == [lines, [[[1, 4], [2**0.5, 4]]]]
    # A point alone has one bar, without end. It goes on the current axes.
    diagrams.plot(kind="barcode")
    assert ax.collections[2].get_segments()[0].tolist() == [[0, 0], [1, 0]]
    with pytest.raises(ValueError, match="kind is 'bars'"):
        diagrams.plot(kind="bars")  # type: ignore[arg-type]
    with pytest.raises(IndexError):
        diagrams.plot(2)


SQUARE = Shape([(0, 0), (1, 0), (1, 1), (0, 1)], name="square")
FRAME = Shape([(0, 0), (4, 0), (4, 4), (0, 4)], name="frame", holes=[[(1, 1), (3, 1), (3, 3), (1, 3)]])


def legend(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def area(path: Any) -> float:
    """Area of a path by the shoelace formula; holes run the other way."""
    rings = [ring[:-1] for ring in path.to_polygons(closed_only=True)]
    return float(sum(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)) for x, y in (ring.T for ring in rings)) / 2)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_overlaps(ax: Any, dtype: str) -> None:
    poses = np.array([[0, 0, 0], [0.5, 0.25, 0], [0.5, 0.25, np.pi / 2], [9, 9, 0]])
    kinds = [0, 1, 0, 1]
    overlap = Overlap([FRAME, SQUARE], boundary="square", dtype=dtype)
    assert overlap.plot(poses, ax, shapes=kinds, scale=12, alpha=0.25) is ax
    frames, squares, common, boundary = list[Any](ax.collections)
    assert [len(collection.get_paths()) for collection in (frames, squares)] == [2, 2]
    assert [area(path) for path in frames.get_paths()] == pytest.approx([12, 12])
    assert frames.get_alpha() == 0.25 and (frames.get_facecolor() != squares.get_facecolor()).any()
    # Red areas add up to those of the pairs, and each lies within its two copies.
    pairs = overlap.pairs(poses, shapes=kinds)
    assert len(pairs.area) == 2 and sum(map(area, common.get_paths())) == pytest.approx(pairs.area.sum(), rel=1e-5)
    np.testing.assert_array_equal(np.asarray(common.get_facecolor()), [[1, 0, 0, 1]])
    assert boundary.get_paths()[0].get_extents().bounds == (-6, -6, 12, 12)
    assert legend(ax) == ["frame (2)", "square (2)"]
    # Nothing in common, no boundary, one shape: copies alone.
    ax.clear()
    overlap = Overlap([SQUARE])
    overlap.plot([[0, 0, 0]], ax)
    assert len(ax.collections) == 1 and ax.get_legend() is None
    ax.clear()
    overlap.plot(np.empty((0, 3)), ax)
    assert len(ax.collections[0].get_paths()) == 0
    # Shapes of one name are numbered.
    Overlap([SQUARE, SQUARE]).plot([[0, 0, 0]], ax)
    assert legend(ax) == ["square 0 (1)", "square 1 (0)"]


def test_overlaps_of_a_lattice(ax: Any) -> None:
    # Images to the right and left overlap by a quarter of the square.
    overlap = Overlap([SQUARE], lattice=[[0.75, 0.0], [0.0, 2.0]])
    overlap.plot([[0, 0, 0]], ax)
    _, common, cell = ax.collections
    bounds = sorted(path.get_extents().bounds for path in common.get_paths())
    assert bounds == [(0, 0, 0.25, 1), (0.75, 0, 0.25, 1)]
    assert cell.get_paths()[0].get_extents().bounds == (0, 0, 0.75, 2)


def test_what_is_no_plot_of_overlaps(ax: Any) -> None:
    overlap = Overlap([SQUARE])
    with pytest.raises(ValueError, match="one packing is drawn"):
        overlap.plot([[[0, 0, 0]]], ax)
    with pytest.raises(ValueError, match="scale is for a boundary"):
        overlap.plot([[0, 0, 0]], ax, scale=3)
    with pytest.raises(TypeError, match="scale is 'x'"):
        Overlap([SQUARE], boundary="square").plot([[0, 0, 0]], ax, scale="x")  # type: ignore[arg-type]
    with pytest.raises(ValueError):
        overlap.plot([[0, 0, 0]], ax, shapes=[1])
    with pytest.raises(ValueError, match="shape"):
        overlap.plot([0, 0, 0], ax)
    assert not ax.collections


def test_no_matplotlib() -> None:
    code = "import sys; sys.modules['matplotlib'] = None; from warpsmith import pcf; pcf.PcfSet([[(0, 1)]]).plot()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ImportError: plots need matplotlib: pip install matplotlib" in done.stderr

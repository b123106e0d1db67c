"""Arrays of other libraries, and buffers, for functions, bars and results."""

from __future__ import annotations

import array
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from integrals import random_arrays

from warpsmith import DeviceArray, graph, list_rank, pcf, trees
from warpsmith.overlap import Shape
from warpsmith.pcf import PcfSet

# Three functions of equal lengths.
VALUES = np.stack([np.tile([0.0, 1.0, 3.0], (3, 1)), np.arange(9.0).reshape(3, 3)], axis=-1)


class Dlpack:
    """An array that shows DLPack alone."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.values.__dlpack_device__()


def of_torch(values: Any) -> Any:
    return pytest.importorskip("torch").from_numpy(np.array(values))


def of_xarray(values: Any) -> Any:
    return pytest.importorskip("xarray").DataArray(values)


def of_strict(values: Any) -> Any:
    return pytest.importorskip("array_api_strict").asarray(values)


LIBRARIES: list[Callable[[Any], Any]] = [
    np.asarray,
    memoryview,
    Dlpack,
    of_torch,
    of_xarray,
    of_strict,
    lambda values: values.astype(object),
    lambda values: values.astype(">f4"),
]


@pytest.mark.parametrize("library", LIBRARIES)
def test_functions_and_bars(library: Any) -> None:
    expected, t = PcfSet(VALUES), np.array([0.5, 1, 4])
    for fs in (
        PcfSet(library(VALUES)),
        PcfSet([library(values) for values in VALUES]),
        PcfSet.from_parts([0, 3, 6, 9], library(VALUES.reshape(9, 2))),
        PcfSet(library(VALUES.reshape(3, 1, 3, 2))).squeeze(),
    ):
        assert fs.shape == (3,) and fs.equals(expected)
    assert PcfSet(library(VALUES[0])).shape == ()
    np.testing.assert_array_equal(expected(library(t)), expected(t))
    np.testing.assert_array_equal((expected * library(t))(0), expected(0) * t)
    bars = np.array([[[0.0, 2.0], [1.0, 3.0]], [[0.0, 1.0], [0.0, 5.0]]])
    curves = pcf.betti_curves(list(bars))
    assert pcf.betti_curves([library(one) for one in bars]).equals(curves)
    assert pcf.betti_curves(library(np.concatenate([bars, np.zeros((2, 2, 1))], axis=2))).equals(curves)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i4", "?", "f2"])
def test_integers(dtype: str) -> None:
    points = np.array([[0, 1], [1, 0]]).astype(dtype)
    fs = PcfSet([points, points])
    assert fs.dtype == (np.float32 if dtype == "f2" else np.float64)
    np.testing.assert_array_equal(fs.points, [[0, 1], [1, 0]] * 2)
    np.testing.assert_array_equal(pcf.betti_curves([points[::-1, :1] * np.ones(2)])(0), [0])


def test_frames_and_columns() -> None:
    pandas: Any = pytest.importorskip("pandas")
    frame = pandas.DataFrame(VALUES[0], columns=["t", "v"])
    for one in (frame, frame.convert_dtypes(), frame.astype("float32"), frame.astype(int)):
        assert PcfSet(one).equals(PcfSet(VALUES[0]))
        assert PcfSet([one, VALUES[1]]).equals(PcfSet(VALUES[:2]))
    assert PcfSet(pandas.Series(list(VALUES))).equals(PcfSet(VALUES))
    for series in (pandas.Series([1, 2]), pandas.Series({"t": 1, "v": 2})):
        with pytest.raises(TypeError, match="frame is of the type Series, but it must be a data frame"):
            PcfSet.from_frame(series)
    ends = pandas.DataFrame({"u": [0, 1], "v": [2, 3]})
    assert graph.components((ends.u, ends.v)).labels.tolist() == [0, 1, 0, 1]
    bars = pandas.DataFrame({"birth": [0, 1], "death": [2.0, np.inf]})
    assert pcf.betti_curves([bars]).equals(pcf.betti_curves([[(0, 2), (1, np.inf)]]))


def test_objects() -> None:
    arrays = np.empty(3, object)
    arrays[:] = list(VALUES)
    assert PcfSet(arrays).equals(PcfSet(VALUES))
    uneven = np.empty((1, 2), object)
    uneven[0, 0], uneven[0, 1] = VALUES[0], VALUES[1, :2]
    assert PcfSet(uneven).shape == (1, 2)
    sets = np.empty(2, object)
    sets[0], sets[1] = PcfSet(VALUES[0]), PcfSet(VALUES[1])
    assert PcfSet(sets).equals(PcfSet(VALUES[:2]))
    assert PcfSet(np.empty((0, 3, 2), object)).shape == PcfSet(np.empty(0, object)).shape == (0,)
    wrong: list[Any] = [VALUES.astype(object) * 1j, [[(0, None)]], [[(0, "1")]]]
    for given in wrong:
        with pytest.raises(TypeError, match="real numbers"):
            PcfSet(given)


@pytest.mark.parametrize("half", [Decimal("0.5"), Fraction(1, 2)])
def test_numbers_of_python(half: Any) -> None:
    assert PcfSet([[(0, 1), (half, 2)]]).equals(PcfSet([[(0, 1), (0.5, 2)]]))
    assert PcfSet(np.array([[[0, half]]])).equals(PcfSet([[(0, 0.5)]]))
    single = PcfSet([[(0, 1)]], dtype="float32") * half
    assert single.dtype == np.float32 and single.points.tolist() == [[0, 0.5]]
    np.testing.assert_array_equal(list_rank.prefix_sums([1, 2, -1], [half, 1, 2]), [0, 0.5, 1.5])
    assert DeviceArray([half]).numpy() == [0.5]
    assert Shape([(0, 0), (half, 0), (0, half)]).area == 0.125
    forest = graph.minimum_spanning_forest([[0, 1]], [half])
    assert forest.total == 0.5
    with pytest.raises(TypeError, match=r"edges: element \[0, 1\] is .*, but whole numbers are needed"):
        graph.components([[0, half]])


@pytest.mark.parametrize("library", LIBRARIES[:-1])
def test_weights(library: Any) -> None:
    weights = np.array([1.0, 2.0, 4.0])
    np.testing.assert_array_equal(list_rank.prefix_sums([1, 2, -1], library(weights)), [0, 1, 3])
    tree = trees.root([(0, 1), (1, 2)])
    np.testing.assert_array_equal(trees.sums(tree, library(weights)).subtrees, [7, 6, 4])
    np.testing.assert_array_equal(list_rank.rank(library(np.array([1, 2, -1]))), [0, 1, 2])


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i4", "?", "f2", ">f8"])
def test_weights_of_other_types(dtype: str) -> None:
    weights = np.array([1, 0, 1]).astype(dtype)
    sums = list_rank.prefix_sums([1, 2, -1], weights)
    assert sums.dtype == {"u4": "i8", "i8": "i8", "u8": "i8", "f2": "f4", ">f8": "f8"}.get(dtype, "i4")
    np.testing.assert_array_equal(sums, [0, 1, 1])
    large = np.array([1, 2**63, 1], np.uint64)
    wrong_types: list[Any] = [complex, np.longdouble, "U1"]
    for wrong in (large, *(weights.astype(wrong) for wrong in wrong_types)):
        with pytest.raises(TypeError, match="weights are int32, int64, float32 or float64"):
            list_rank.prefix_sums([1, 2, -1], wrong)


OUTS: list[Callable[[Any], Any]] = [
    lambda values: Dlpack(values),
    memoryview,
    lambda values: of_torch(values) if values.flags.writeable else Dlpack(values),
    lambda values: pytest.importorskip("array_api_strict").asarray(values, copy=False),
    lambda values: memoryview(array.array("d", values)),
]


@pytest.mark.parametrize("make", OUTS)
def test_results(make: Any) -> None:
    fs = PcfSet(random_arrays(5, 4))
    out = make(np.full(6, np.nan))
    assert pcf.pdist(fs, 2, out=out) is out
    shown = np.from_dlpack(out) if hasattr(out, "__dlpack__") else np.asarray(out)
    np.testing.assert_array_equal(shown, pcf.pdist(fs, 2))
    with pytest.raises(ValueError, match="out has the shape"):
        pcf.pdist(fs[:2], out=out)
    with pytest.raises(TypeError, match="out is an array of float64, but it must be an array of float32"):
        pcf.pdist(fs, dtype="float32", out=out)


def test_series_hold_no_results() -> None:
    pandas: Any = pytest.importorskip("pandas")
    with pytest.raises(TypeError, match="out is of the type Series, but it must be an array of float64"):
        pcf.pdist(PcfSet(VALUES), out=pandas.Series(np.zeros(3)))


def test_results_that_can_not_be_written() -> None:
    fs = PcfSet(random_arrays(5, 4))
    fixed: Any = np.zeros(6)
    fixed.flags.writeable = False
    outs: list[tuple[Any, type[Exception], str]] = [
        (memoryview(fixed), ValueError, "read-only"),
        (memoryview(bytes(48)).cast("d"), ValueError, "read-only"),
        (Dlpack(fixed), ValueError, "out"),
        (pytest.importorskip("array_api_strict").asarray(np.zeros((6, 2))[:, 0], copy=False), ValueError, "contiguous"),
    ]
    for out, error, text in outs:
        with pytest.raises(error, match=text):
            pcf.pdist(fs, out=out)

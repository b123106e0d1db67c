"""Sets of functions: how they are made, what is refused, parts of them, values, arithmetic, files."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from integrals import merged, random_arrays, value

from warpsmith import pcf
from warpsmith.pcf import PcfSet

F = np.array([[0.0, 3.0], [1.0, 1.0], [3.0, 0.0]])
G = np.array([[0.0, 2.0], [2.0, 0.0]])


def same(f: PcfSet, points: npt.ArrayLike) -> None:
    assert f.shape == ()
    np.testing.assert_array_equal(f.points, points)


def test_arrays_of_any_kind_are_functions() -> None:
    fs = PcfSet([F, G])
    assert (fs.shape, fs.ndim, fs.size, len(fs), str(fs.dtype)) == ((2,), 1, 2, 2, "float64")
    np.testing.assert_array_equal(fs.offsets, [0, 3, 5])
    np.testing.assert_array_equal(fs.points, np.concatenate([F, G]))
    np.testing.assert_array_equal(fs.lengths, [3, 2])
    for others in (
        [F.tolist(), G.tolist()],
        [F.astype(int), G.astype(np.int8)],
        [np.asfortranarray(F), G[::-1][::-1]],
        [np.concatenate([F, F], axis=1)[:, ::3], G],
        (F, G),
        iter([F, G]),
        [fs[0], fs[1]],
        fs,
    ):
        made = PcfSet(others)
        np.testing.assert_array_equal(made.points[made.offsets[-2] :], G)
        assert made.dtype == np.float64


def test_types() -> None:
    single = [F.astype(np.float32), G.astype(np.float32)]
    assert PcfSet(single).dtype == np.float32
    assert PcfSet([single[0], G]).dtype == np.float64
    assert PcfSet([F.astype(np.float16)]).dtype == np.float32
    assert PcfSet([F], dtype="float32").dtype == np.float32
    assert PcfSet(single, dtype=float).dtype == np.float64
    assert PcfSet([F.astype(">f8")]).points.tolist() == F.tolist()
    wrong: list[Any] = [F.astype(complex), F.astype(str), F.astype(np.longdouble), F.astype("M8[s]"), [[None, 1]]]
    for array in wrong:
        with pytest.raises(TypeError, match="real numbers"):
            PcfSet([array])
    for dtype in ("int32", "float16", "complex128"):
        with pytest.raises(TypeError, match="not a type of functions: float32 or float64"):
            PcfSet([F], dtype=dtype)


def test_shapes() -> None:
    array = np.stack([np.tile([0.0, 1.0, 2.0], (4, 5, 1)), np.arange(60.0).reshape(4, 5, 3)], axis=-1)
    fs = PcfSet(array)
    assert fs.shape == (4, 5)
    same(fs[2, 3], array[2, 3])
    same(PcfSet(F), F)
    assert fs.reshape(2, -1).shape == (2, 10)
    assert fs.reshape((20,))[7](0) == array[1, 2, 0, 1]
    np.testing.assert_array_equal(fs(0), array[..., 0, 1])
    for shape in ((3, 5), (-1, 3)):
        with pytest.raises(ValueError):
            fs.reshape(shape)
    with pytest.raises(ValueError, match="holds 6, but there are 20 functions"):
        PcfSet.from_parts(fs.offsets, fs.points, shape=(2, 3))
    with pytest.raises(TypeError, match="has no length"):
        len(fs[0, 0])


@pytest.mark.parametrize(
    "key",
    [
        0,
        -1,
        np.int64(2),
        (1, 2),
        (slice(1, 3), slice(None, None, -2)),
        (..., 0),
        [3, 1, 1],
        np.array([True, False, False, True]),
        np.arange(20).reshape(4, 5) % 3 == 0,
        (slice(None), np.newaxis, 1),
        slice(4, 2),
    ],
)
def test_parts_are_those_of_numpy(key: Any) -> None:
    values = np.arange(20.0).reshape(4, 5)
    fs = PcfSet(np.stack([np.zeros((4, 5, 1)), values[..., np.newaxis]], axis=-1))
    part = fs[key]
    np.testing.assert_array_equal(part(1), values[key])
    assert part.shape == np.shape(values[key])


def test_no_part() -> None:
    fs = PcfSet([F, G])
    keys: list[Any] = [2, -3, (0, 0), "a", 1.0, [0, 5]]
    for key in keys:
        with pytest.raises(IndexError):
            fs[key]
    assert [len(f.points) for f in fs] == [3, 2]


def test_nothing_at_all() -> None:
    for fs in (PcfSet([]), PcfSet([F])[:0], PcfSet(np.empty((0, 4, 2))), PcfSet.from_parts([0], np.empty((0, 2)))):
        assert (fs.shape, fs.size, len(fs.points)) == ((0,), 0, 0)
        assert fs([1, 2]).shape == (0, 2)
        assert (fs + 1).shape == fs.norm().shape == fs.integral().shape == pcf.pdist(fs).shape == (0,)
        with pytest.raises(ValueError, match="no functions has no mean"):
            fs.mean()
        with pytest.raises(ValueError):
            fs.max_time()
    assert PcfSet(np.empty((3, 0, 1, 2))).shape == (3, 0)


@pytest.mark.parametrize(
    ("functions", "text"),
    [
        ([F, [(1, 1)]], "function 1, breakpoint 0: t = 1, but the first breakpoint must be at t = 0"),
        ([[(0, 1), (2, 1), (1, 0)]], "function 0, breakpoint 2: t = 1 comes after t = 2"),
        ([[(0, 1), (2, 1), (2, 0)]], "function 0, breakpoint 2: t = 2 repeats"),
        ([[(0, np.nan)]], "function 0, breakpoint 0: v = NaN, but it must be a finite number"),
        ([[(0, 1), (np.inf, 0)]], "function 0, breakpoint 1: t = inf, but it must be a finite number"),
        ([F, []], "function 1 has no breakpoints"),
        ([F, np.empty((0, 2))], "function 1 has no breakpoints"),
        ([[(0, 1e300)]], "too large for float64"),
        ([F, F.T], r"function 1 has the shape \(2, 3\)"),
        ([1.0], r"function 0 has the shape \(\)"),
        ([[[(0, 1)]]], r"function 0 has the shape \(1, 1, 2\)"),
        ([[(0, 1), (2,)]], "function 0 is no array"),
        (np.zeros((3, 4, 3)), r"functions of the shape \(3, 4, 3\)"),
        (np.zeros(2), r"functions of the shape \(2,\)"),
    ],
)
def test_what_is_no_function(functions: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        PcfSet(functions)


@pytest.mark.parametrize(
    ("offsets", "text"),
    [
        ([], "offsets is empty"),
        ([1, 3], r"offsets\[0\] is 1, but the first must be 0"),
        ([0, 2, 1, 3], r"offsets\[2\] is 1, but it must not be below the one before, 2"),
        ([0, 9], r"offsets\[1\] is 9, but there are only 3 points"),
        ([0, 2], r"offsets\[1\] is 2, but the last must be the number of points, 3"),
        ([0, -1, 3], r"offsets\[1\] is -1, but it must not be negative"),
        ([0, 0, 3], "function 0 has no breakpoints"),
        ([[0, 3]], r"offsets have the shape \(1, 2\)"),
    ],
)
def test_offsets_that_divide_nothing(offsets: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        PcfSet.from_parts(offsets, F)


def test_offsets_and_points_of_other_kinds() -> None:
    fs = PcfSet.from_parts(np.array([0, 3], np.uint8), F.astype(int), shape=(1, 1))
    assert (fs.shape, str(fs.dtype)) == ((1, 1), "float64")
    with pytest.raises(TypeError, match="whole numbers"):
        PcfSet.from_parts([0.0, 3.0], F)
    with pytest.raises(ValueError, match=r"points have the shape \(2, 3\)"):
        PcfSet.from_parts([0, 3], F.T)
    with pytest.raises(ValueError, match=r"shape\[0\] is -1"):
        PcfSet.from_parts([0, 3], F, shape=(-1, -1))


def test_other_precision() -> None:
    fs = PcfSet([F, G])
    assert fs.astype("float64") is fs
    np.testing.assert_array_equal(fs.astype("float32").points, fs.points.astype(np.float32))
    with pytest.raises(ValueError, match="are the same in float32; keep the functions in a wider type"):
        PcfSet([[(0, 1), (1, 2), (1 + 1e-12, 3)]]).astype("float32")


def test_arrays_show_the_set_itself() -> None:
    fs = PcfSet([F, G])
    assert np.shares_memory(fs.points, fs.points) and np.shares_memory(fs.offsets, fs.offsets)
    for array in (fs.points, fs.offsets):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 9
        with pytest.raises(ValueError):
            array.flags.writeable = True
    points = fs.points
    del fs
    np.testing.assert_array_equal(points, np.concatenate([F, G]))
    # A set has breakpoints of its own.
    array = F.copy()
    fs = PcfSet([array])
    array[:] = 0
    np.testing.assert_array_equal(fs.points, F)


def test_values() -> None:
    arrays = random_arrays(1, 30)
    fs = PcfSet(arrays)
    t = np.concatenate([np.linspace(0, 7, 50), [0, 0.125, 1e300, np.inf]]).reshape(2, 27)
    np.testing.assert_array_equal(fs(t), [value(array, t) for array in arrays])
    np.testing.assert_array_equal(fs[4](t.T), value(arrays[4], t.T))
    assert isinstance(fs[4](1), np.float64)
    assert fs[4]([]).shape == (0,)
    # Times are not rounded to the functions' type.
    step = PcfSet([[(0, 1), (1, 2)]], dtype="float32")
    np.testing.assert_array_equal(step([1 - 1e-12, 1]), [[1, 2]])
    assert step(0).dtype == np.float32
    times: list[Any] = [-1, np.nan, [0, -np.inf]]
    for time in times:
        with pytest.raises(ValueError, match="defined from t = 0 on"):
            fs(time)
    with pytest.raises(TypeError, match="real numbers"):
        fs(1j)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_arithmetic(dtype: str) -> None:
    arrays = random_arrays(2, 12, dtype=dtype)
    f, g = PcfSet(arrays[:6]), PcfSet(arrays[6:])
    t = np.arange(0, 8, 1 / 16)
    a, b = f(t), g(t)
    for found, expected in (
        (f + g, a + b),
        (f - g, a - b),
        (f * g, a * b),
        (f / (g * g + 1), a / (b * b + 1)),
        (f + 2, a + 2),
        (2 - f, 2 - a),
        (f * 0.5, a * 0.5),
        (1 / (f * f + 1), 1 / (a * a + 1)),
        (-f, -a),
        (abs(f), abs(a)),
        (abs(f) ** 1.5, abs(a) ** 1.5),
        (2.0 ** f, 2.0**a),
        (f.minimum(g), np.minimum(a, b)),
        (f.maximum(0), np.maximum(a, 0)),
        (f * np.arange(6, dtype=dtype), a * np.arange(6)[:, np.newaxis]),
        (np.arange(6, dtype=dtype) - f, np.arange(6)[:, np.newaxis] - a),
    ):
        assert found.dtype == dtype
        np.testing.assert_allclose(found(t), expected, rtol=1e-6 if dtype == "float32" else 1e-14)
    # No breakpoints at which nothing changes.
    same((f - f)[0], [[0, 0]])


def test_arithmetic_broadcasts() -> None:
    arrays = random_arrays(3, 7)
    f, g = PcfSet(arrays[:3]), PcfSet(arrays[3:])
    table = f.reshape(3, 1) + g
    assert table.shape == (3, 4)
    t = np.arange(0, 8, 1 / 16)
    np.testing.assert_array_equal(table(t), f(t)[:, np.newaxis] + g(t))
    assert (f[0] * g).shape == (4,)
    assert (f[0] + f[1]).shape == ()
    with pytest.raises(ValueError, match="broadcast"):
        f + g
    assert (f.astype("float32") + g[0]).dtype == np.float64
    assert (f.astype("float32") + np.float64(1)).dtype == (np.float64(1) + f.astype("float32")).dtype == np.float32


def test_arithmetic_that_ends_nowhere() -> None:
    f = PcfSet([F])
    calls: list[Callable[[], PcfSet]] = [
        lambda: f / 0,
        lambda: 1 / f,
        lambda: (-f) ** 0.5,
        lambda: f + np.nan,
        lambda: f * 1e300,
    ]
    for wrong in calls:
        with pytest.raises(ValueError, match="function 0, breakpoint"):
            wrong()
    operands: list[Any] = ["a", None, [1j], object()]
    for operand in operands:
        with pytest.raises(TypeError):
            f + operand


def test_integrals_and_norms() -> None:
    arrays = random_arrays(4, 25)
    fs = PcfSet(arrays).reshape(5, 5)
    zero = np.array([[0.0, 0.0]])
    parts = [merged(array, zero) for array in arrays]
    np.testing.assert_allclose(fs.integral().ravel(), [np.sum(d * a) for d, a, _ in parts], rtol=1e-13, atol=1e-14)
    for p in (1, 2, 3.5):
        expected = [np.sum(d * abs(a) ** p) ** (1 / p) for d, a, _ in parts]
        np.testing.assert_allclose(fs.norm(p).ravel(), expected, rtol=1e-13)
    # On a grid of which no breakpoint is inside a cell.
    grid = np.arange(0.5, 3.25, 1 / 8)
    np.testing.assert_allclose(fs.integral(0.5, 3.25), fs(grid).sum(axis=-1) / 8, rtol=1e-13, atol=1e-14)
    f = PcfSet(F)
    assert f.integral(0.5, 2) == 2.5
    assert f.integral(1, 1) == 0
    assert f.integral(7, np.inf) == f.integral(np.inf, np.inf) == 0
    assert (f + 1).integral(0, 4) == 9
    assert (f + 1).integral() == np.inf
    assert (f - 1).integral(2) == -np.inf
    assert (f + 1).norm() == np.inf
    bounds: list[tuple[float, float]] = [(1, 0), (-1, 2), (np.nan, 1), (0, np.nan)]
    for start, end in bounds:
        with pytest.raises(ValueError, match="bounds must be"):
            f.integral(start, end)
    np.testing.assert_array_equal(fs.norm(np.inf).ravel(), [abs(array[:, 1]).max() for array in arrays])
    assert (f - 4).norm(np.inf) == 4 and PcfSet([]).norm(np.inf).shape == (0,)
    for p in (0.5, np.nan, -np.inf, -1):
        with pytest.raises(ValueError, match="it must be a number of at least 1"):
            f.norm(p)


def test_means() -> None:
    arrays = random_arrays(5, 24)
    fs = PcfSet(arrays).reshape(2, 3, 4)
    t = np.arange(0, 8, 1 / 16)
    values = fs(t)
    axes: list[Any] = [None, 0, np.int64(1), -1, (0, 2), (2, 1), (0, 1, 2), ()]
    for axis in axes:
        expected = values.mean(axis=tuple(range(3)) if axis is None else axis % 3 if np.ndim(axis) == 0 else axis)
        mean = fs.mean(axis)
        assert mean.shape == expected.shape[:-1]
        np.testing.assert_allclose(mean(t), expected, rtol=1e-13, atol=1e-14)
    assert fs.max_time() == max(array[-1, 0] for array in arrays)
    np.testing.assert_array_equal(fs.max_time(axis=(0, 1)).shape, (4,))
    for axis in (3, -4, (0, 0)):
        with pytest.raises(ValueError):
            fs.mean(axis)
    same(fs[0, 0, 0].mean(), (fs[0, 0, 0] + 0).points)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_standard_deviations(dtype: str) -> None:
    fs = PcfSet(random_arrays(6, 24, dtype=dtype)).reshape(2, 3, 4)
    # All times at which any changes, and between them.
    t = np.arange(0, 8, 1 / 16)
    values = fs(t).astype(np.float64)
    rtol = 1e-6 if dtype == "float32" else 1e-13
    axes: list[Any] = [None, 0, np.int64(1), -1, (0, 2), (2, 1), (0, 1, 2)]
    for axis in axes:
        numpy_axis = tuple(range(3)) if axis is None else axis % 3 if np.ndim(axis) == 0 else axis
        for ddof in (0, 1):
            std = fs.std(axis, ddof=ddof)
            expected = values.std(axis=numpy_axis, ddof=ddof)
            assert (std.shape, str(std.dtype)) == (expected.shape[:-1], dtype)
            np.testing.assert_allclose(std(t), expected, rtol=rtol, atol=1e-14)
    assert np.all(np.diff(fs.std().points[:, 1]) != 0)
    np.testing.assert_array_equal(fs.std(())(t), np.zeros_like(values))
    same(PcfSet([F, F, F]).std(), [[0, 0]])
    same(PcfSet([F]).std(), [[0, 0]])
    # Where the mean is large, no digits are lost.
    far = PcfSet([F + [0, 1e8], F + [0, 1e8 + 1], F + [0, 1e8 + 2]]).std()
    np.testing.assert_allclose(far(0), np.sqrt(2 / 3), rtol=1e-15)
    for axis in (3, -4, (0, 0)):
        with pytest.raises(ValueError):
            fs.std(axis)
    for ddof in (24, 99):
        with pytest.raises(ValueError, match=f"ddof is {ddof}, but it must be below the number of functions, 24"):
            fs.std(ddof=ddof)
    with pytest.raises(TypeError):
        fs.std(ddof=0.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no functions has no standard deviation"):
        PcfSet([]).std()
    assert PcfSet([F])[:0].reshape(0, 1).std(axis=1).shape == (0,)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_and_quantiles(dtype: str) -> None:
    # Few values, so that many are equal.
    arrays = [np.round(array * [1, 2]).astype(dtype) if seed % 2 else array
              for seed, array in enumerate(random_arrays(16, 24, dtype=dtype))]
    fs = PcfSet([np.stack([np.arange(len(array)) / 8, array[:, 1]], axis=1).astype(dtype) for array in arrays])
    fs = fs.reshape(2, 3, 4)
    t = np.arange(0, 8, 1 / 16)
    values = fs(t).astype(np.float64)
    axes: list[Any] = [None, 0, np.int64(1), -1, (0, 2), (2, 1), (0, 1, 2)]
    for axis in axes:
        where = tuple(range(3)) if axis is None else axis % 3 if np.ndim(axis) == 0 else axis
        np.testing.assert_allclose(fs.sum(axis)(t), values.sum(axis=where), rtol=1e-6 if dtype == "float32" else 1e-13,
                                   atol=1e-6 if dtype == "float32" else 1e-13)
        answers: list[tuple[PcfSet, Any]] = [
            (fs.min(axis), values.min(axis=where)),
            (fs.max(axis), values.max(axis=where)),
            (fs.median(axis), np.quantile(values, 0.5, axis=where)),
            (fs.quantile(0.3, axis), np.quantile(values, 0.3, axis=where)),
            (fs.quantile([[0, 0.75], [1, 1 / 3]], axis), np.quantile(values, [[0, 0.75], [1, 1 / 3]], axis=where)),
        ]
        for found, expected in answers:
            assert (found.shape, str(found.dtype)) == (expected.shape[:-1], dtype)
            np.testing.assert_array_equal(found(t), expected.astype(dtype))
            inside = np.setdiff1d(np.arange(1, len(found.points)), found.offsets)
            assert np.all(found.points[inside, 1] != found.points[inside - 1, 1])
    one = fs[0, 0, 0]
    for found in (one.sum(), one.min(), one.max(), one.median(), one.quantile(0.2)):
        assert found.equals(one)
    assert fs.quantile([], axis=0).shape == (0, 3, 4)
    same(PcfSet([]).sum(), [[0, 0]])
    assert PcfSet([F])[:0].reshape(0, 3).max(axis=1).shape == (0,)
    with pytest.raises(ValueError, match="no functions has no maximum"):
        PcfSet([]).max()
    with pytest.raises(ValueError, match="no functions has no median"):
        PcfSet([F])[:0].median(axis=0)
    for q in (-0.1, 1.5, np.nan):
        with pytest.raises(ValueError, match=f"q = {q}, but it must be a number from 0 to 1".replace("nan", "NaN")):
            fs.quantile(q)
    with pytest.raises(ValueError, match="too large"):
        (PcfSet([[(0, 1e154)]] * 2) * np.array([1.3, 1.3])).sum()


def test_functions_are_compared() -> None:
    fs = PcfSet([F, G, F])
    other = PcfSet([[(0, 3), (0.5, 3), (1, 1), (3, 0)], [(0, 2), (2, 1)], G], dtype="float32")
    np.testing.assert_array_equal(fs == other, [True, False, False])
    np.testing.assert_array_equal(fs != other, [False, True, True])
    np.testing.assert_array_equal(fs.reshape(3, 1) == fs[:2], [[True, False], [False, True], [True, False]])
    np.testing.assert_array_equal(PcfSet([[(0, 1)], F]) == 1, [True, False])
    assert (fs[0] == fs[2]) is np.True_ and (PcfSet([]) == PcfSet([])).shape == (0,)
    assert fs.equals([F, G, F]) and not fs.equals(fs[:2]) and not fs.equals(other)
    assert (fs == "a") is False and (fs != None) is True  # noqa: E711
    with pytest.raises(ValueError, match="broadcast"):
        fs == fs[:2]
    with pytest.raises(TypeError, match="unhashable"):
        hash(fs)
    close = PcfSet([F * [1, 1 + 1e-9], G, F])
    assert fs.allclose(close) and not fs.allclose(close, rtol=0, atol=1e-12) and not fs.equals(close)
    assert fs.allclose(fs + 1, rtol=0, atol=1) and not fs.allclose(fs + 1.1, rtol=0, atol=1)
    assert fs[0].allclose(close) is False and PcfSet([[(0, 1)]]).allclose(1)


def test_parts_of_time() -> None:
    arrays = random_arrays(17, 12)
    fs = PcfSet(arrays, names=[f"f{k}" for k in range(12)]).reshape(3, 4)
    t = np.arange(0, 8, 1 / 16)
    bounds: list[tuple[float, float]] = [(0, 2), (0.3, 1), (1, np.inf), (-1, 2), (5, 5.5)]
    for start, until in bounds:
        part = fs.restrict(start, until)
        inside = (start + t >= 0) & (start + t < until)
        expected = np.where(inside, fs(np.maximum(start + t, 0)), 0)
        np.testing.assert_array_equal(part(t), expected)
        assert (part.shape, part.names) == (fs.shape, fs.names)
    for step in (0.25, 0.7, 100.0):
        sampled = fs.resample(step)
        np.testing.assert_array_equal(sampled(t), fs(np.floor(t / step) * step))
        assert sampled.names == fs.names and np.all(sampled.lengths == sampled.lengths[0, 0])
    assert PcfSet([]).restrict(0, 1).shape == PcfSet([]).resample(1).shape == (0,)
    for start, until, text in ((1, 1, "ends at t = 1"), (np.nan, 1, "none of finite"), (np.inf, np.inf, "none of")):
        with pytest.raises(ValueError, match=text):
            fs.restrict(start, until)
    for step in (0, -1, np.nan, np.inf):
        with pytest.raises(ValueError, match="the step is .*, but it must be above 0"):
            fs.resample(step)
    with pytest.raises(ValueError, match="too many"):
        fs.resample(1e-12)


def test_axes_are_moved() -> None:
    values = np.arange(24.0).reshape(2, 3, 1, 4)
    fs = PcfSet(np.stack([np.zeros((*values.shape, 1)), values[..., np.newaxis]], axis=-1))
    pairs: list[tuple[PcfSet, Any]] = [
        (fs.T, values.T),
        (fs.transpose(), values.T),
        (fs.transpose(1, 0, 3, 2), values.transpose(1, 0, 3, 2)),
        (fs.transpose((3, 2, 1, 0)), values.T),
        (fs.squeeze(), values.squeeze()),
        (fs.squeeze(2), values.squeeze(2)),
        (fs[:1].squeeze((0, 2)), values[:1].squeeze((0, 2))),
        (fs.ravel(), values.ravel()),
        (fs.flatten(), values.ravel()),
    ]
    for found, expected in pairs:
        np.testing.assert_array_equal(found(0), expected)
    calls: list[Callable[[], PcfSet]] = [lambda: fs.transpose(0, 1), lambda: fs.squeeze(0)]
    for call in calls:
        with pytest.raises(ValueError):
            call()


def test_repairs() -> None:
    mixed: list[Any] = [[(0, 1), (2, 3), (1, 4)], [], F, [(2, 1), (0, 5)]]
    fs = PcfSet(mixed, repair="sort")
    np.testing.assert_array_equal(fs.points, [(0, 1), (1, 4), (2, 3), (0, 0), *F, (0, 5), (2, 1)])
    np.testing.assert_array_equal(fs.lengths, [3, 1, 3, 2])
    repeated = np.array([[0, 1], [0, 2], [2, 4], [1, 1], [2, 3]])
    same(PcfSet(repeated, repair="last"), [[0, 2], [1, 1], [2, 3]])
    assert PcfSet(np.stack([repeated, repeated]), repair="last").shape == (2,)
    assert PcfSet([], repair="last").shape == (0,)
    again = PcfSet.from_parts([0, 5, 5], repeated, repair="last")
    np.testing.assert_array_equal(again.lengths, [3, 1])
    for repair in ("raise", "sort"):
        with pytest.raises(ValueError, match=r'repeats .* repair="last"\) sorts them, and keeps the last'):
            PcfSet([repeated], repair=repair)
    with pytest.raises(ValueError, match=r'repair="last"\) sorts them'):
        PcfSet([[(0, 1), (2, 1), (1, 0)]])
    # Whole numbers, too, and one time at all breakpoints.
    same(PcfSet(repeated.astype(np.int8), repair="last"), [[0, 2], [1, 1], [2, 3]])
    same(PcfSet(np.array([(0, value) for value in range(100)]), repair="last"), [[0, 99]])
    with pytest.raises(ValueError, match="must be at t = 0"):
        PcfSet([[(2, 1), (1, 0)]], repair="last")
    with pytest.raises(ValueError, match="finite"):
        PcfSet([[(np.nan, 1), (0, 0)]], repair="last")
    with pytest.raises(ValueError, match="offsets"):
        PcfSet.from_parts([0, 4, 1], repeated, repair="last")
    with pytest.raises(ValueError, match="repair is 'first'"):
        PcfSet([F], repair="first")  # type: ignore[arg-type]


def test_repairs_as_of_masspcf() -> None:
    masspcf: Any = pytest.importorskip("masspcf")
    rng = np.random.default_rng(5)
    t = np.arange(0, 5, 1 / 4)
    for _ in range(20):
        points = np.stack([rng.integers(0, 8, 9) / 2, rng.normal(size=9)], axis=1)
        points[0, 0] = 0
        theirs = masspcf.Pcf(points)
        np.testing.assert_array_equal(PcfSet(points, repair="last")(t), [theirs(time) for time in t])
    # From 17 breakpoints on, masspcf's order of those at one time is the given one only if times ascend.
    ascending = np.stack([np.sort(rng.integers(0, 8, 99) / 2), rng.normal(size=99)], axis=1)
    ascending[0, 0] = 0
    whole = [[0, 1], [2, 3], [2, 7], [1, 4]]
    for given in (ascending, np.array(whole)):
        theirs = masspcf.Pcf(given)
        np.testing.assert_array_equal(PcfSet(given, repair="last")(t), [theirs(time) for time in t])


def test_names() -> None:
    fs = PcfSet([F, G, F], names=["a", "b", "c"])
    names: list[tuple[PcfSet, Any]] = [
        (fs, ("a", "b", "c")),
        (fs[1], ("b",)),
        (fs[::-2], ("c", "a")),
        (fs[[2, 0, 0]], ("c", "a", "a")),
        (fs[np.array([True, False, True])], ("a", "c")),
        (fs[:0], ()),
        (fs.reshape(3, 1).T, ("a", "b", "c")),
        (fs.astype("float32"), ("a", "b", "c")),
        (pickle.loads(pickle.dumps(fs)), ("a", "b", "c")),
        (copy.deepcopy(fs), ("a", "b", "c")),
        (pcf.concatenate([fs, fs[:1]]), ("a", "b", "c", "a")),
        (pcf.concatenate([fs, PcfSet([F])]), None),
        (PcfSet([fs[2], fs[0]]), ("c", "a")),
        (2 * fs + 1, ("a", "b", "c")),
        (fs - fs, ("a", "b", "c")),
        (fs - fs[::-1], None),
        (fs.mean(), None),
        (PcfSet(fs, names=["x", "y", "z"]), ("x", "y", "z")),
        (PcfSet([F]), None),
        (PcfSet([], names=[]), ()),
        (PcfSet.from_parts([0, 3], F, names=["f"]), ("f",)),
    ]
    for found, expected in names:
        assert found.names == expected
    with pytest.raises(ValueError, match="there are 2 names, but 3 functions"):
        PcfSet([F, G, F], names=["a", "b"])
    wrong: list[Any] = ["ab", 3]
    for given in wrong:
        with pytest.raises(TypeError, match="names is of the type"):
            PcfSet([F, G], names=given)
    with pytest.raises(TypeError, match=r"names\[1\] is 1, but it must be a string"):
        PcfSet([F, G], names=["a", 1])  # type: ignore[list-item]


def test_what_is_taken_along_axes() -> None:
    arrays = random_arrays(8, 12)
    fs = PcfSet(arrays).reshape(3, 4)
    ends = np.array([array[-1, 0] for array in arrays]).reshape(3, 4)
    axes: list[Any] = [None, 0, 1, (0, 1)]
    for axis in axes:
        np.testing.assert_array_equal(fs.max_time(axis=axis), ends.max(axis=axis))
        # The integral of a mean is the mean of integrals.
        np.testing.assert_allclose(fs.mean(axis).integral(), fs.integral().mean(axis=axis), rtol=1e-13, atol=1e-14)
        # That of a variance is the mean of squared L^2 norms, less that of the mean.
        spread = (fs.norm(2) ** 2).mean(axis=axis) - fs.mean(axis).norm(2) ** 2
        np.testing.assert_allclose(fs.std(axis).norm(2) ** 2, spread, rtol=1e-12)


def test_sets_are_joined() -> None:
    f, g = PcfSet([F, G]), PcfSet([G, F], dtype="float32")
    both = pcf.concatenate([f, g])
    assert (both.shape, str(both.dtype)) == ((4,), "float64")
    same(both[3], F)
    stacked = PcfSet([f, g])
    assert stacked.shape == (2, 2)
    same(stacked[1, 0], G)
    columns = pcf.concatenate([stacked, stacked[:, :1]], axis=1)
    assert columns.shape == (2, 3)
    same(columns[1, 2], G)
    with pytest.raises(ValueError, match="can't be stacked"):
        PcfSet([f, f[:1]])
    with pytest.raises(ValueError, match="no sets"):
        pcf.concatenate([])
    with pytest.raises(ValueError):
        pcf.concatenate([stacked, f])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sets_are_kept(tmp_path: Path, dtype: str) -> None:
    fs = PcfSet(random_arrays(6, 12, dtype=dtype)).reshape(3, 4)
    copies = [pickle.loads(pickle.dumps(fs)), copy.deepcopy(fs), copy.copy(fs)]
    fs.save(tmp_path / "set.npz")
    copies.append(pcf.load(tmp_path / "set.npz"))
    copies.append(pcf.load(str(tmp_path / "set.npz"), dtype=dtype))
    for other in copies:
        assert (other.shape, other.dtype) == (fs.shape, fs.dtype)
        np.testing.assert_array_equal(other.offsets, fs.offsets)
        np.testing.assert_array_equal(other.points, fs.points)
    # NumPy reads it, too.
    arrays = np.load(tmp_path / "set.npz")
    np.testing.assert_array_equal(arrays["points"], fs.points)
    fs.reshape(-1).save(tmp_path / "set.csv")
    np.testing.assert_array_equal(pcf.load(tmp_path / "set.csv", dtype=dtype).points, fs.points)
    even = PcfSet(np.stack([F, 2 * F]))
    even.save(tmp_path / "set.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "set.npy"), [F, [[0, 6], [2, 2], [6, 0]]])


def test_files_that_are_none(tmp_path: Path) -> None:
    fs = PcfSet([F, G])
    with pytest.raises(FileNotFoundError, match="set.npz: can't be read: no such file"):
        pcf.load(tmp_path / "set.npz")
    with pytest.raises(OSError, match="there is no directory"):
        fs.save(tmp_path / "no" / "set.npz")
    with pytest.raises(OSError, match="it is a directory"):
        (tmp_path / "folder.npz").mkdir()
        fs.save(tmp_path / "folder.npz")
    with pytest.raises(ValueError, match="set.txt"):
        fs.save(tmp_path / "set.txt")
    with pytest.raises(ValueError, match="set.npy"):
        fs.save(tmp_path / "set.npy")
    (tmp_path / "bad.npz").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="bad.npz"):
        pcf.load(tmp_path / "bad.npz")
    (tmp_path / "bad.csv").write_text("function,t,v\n0,1,2\n")
    with pytest.raises(ValueError, match="bad.csv: line 2"):
        pcf.load(tmp_path / "bad.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.csv", "bad.npz", "folder.npz"]


def test_what_is_shown() -> None:
    fs = PcfSet([F, G])
    assert repr(fs) == "PcfSet of shape (2,), float64, 5 breakpoints"
    page = fs._repr_html_()
    assert page.count("<path") == 2 and "(2,), float64" in page
    assert "the first 8 of 9" in PcfSet([F] * 9)._repr_html_()
    for edge in (PcfSet([]), PcfSet(F), PcfSet([[(0, 0)]])):
        assert "nan" not in edge._repr_html_()


def test_functions_of_masspcf() -> None:
    masspcf: Any = pytest.importorskip("masspcf")
    arrays = random_arrays(7, 6)
    functions = [masspcf.Pcf(array) for array in arrays]
    expected = PcfSet(arrays)
    tensor = masspcf.PcfTensor(functions)
    for fs in (PcfSet(functions), PcfSet(tensor), PcfSet(tensor.reshape((2, 3)))):
        np.testing.assert_array_equal(fs.points, expected.points)
    assert PcfSet(tensor.reshape((2, 3))).shape == (2, 3)
    assert PcfSet(masspcf.Pcf(arrays[0])).shape == ()
    bars = [[0.0, np.inf], [0.5, 2.0], [1.0, 1.5]]
    barcode = masspcf.persistence.Barcode(np.array(bars))
    np.testing.assert_array_equal(pcf.betti_curves([barcode]).points, pcf.betti_curves([bars]).points)


def test_arrays_of_objects() -> None:
    array = np.empty((1, 2), object)
    array[0, 0], array[0, 1] = F, G
    fs = PcfSet(array)
    assert fs.shape == (1, 2)
    same(fs[0, 1], G)

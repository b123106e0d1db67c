"""What is kept of matrices of distances, and matrices in files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from integrals import random_arrays

from warpsmith import pcf
from warpsmith.pcf import PcfSet


def brute(fs: PcfSet, others: PcfSet | None, p: float) -> Any:
    """All distances, those of functions from themselves infinite."""
    if others is not None:
        return pcf.cdist(fs.ravel(), others.ravel(), p)
    matrix = pcf.pdist(fs.ravel(), p, layout="dense")
    np.fill_diagonal(matrix, np.inf)
    return matrix


def entries(found: Any) -> tuple[Any, Any, Any]:
    """Rows, columns and values of what `below` returns, with SciPy or without."""
    data, columns, ends = found if isinstance(found, tuple) else (found.data, found.indices, found.indptr)
    return np.repeat(np.arange(len(ends) - 1), np.diff(ends)), columns, data


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("p", [1, 2, 3.5])
@pytest.mark.parametrize("two", [False, True])
def test_kept(dtype: Any, p: float, two: bool) -> None:
    # Equal functions, and ties.
    arrays = random_arrays(1, 40)
    fs = PcfSet([*arrays, *arrays[:5]], dtype=dtype)
    others = PcfSet(random_arrays(2, 30), dtype=dtype) if two else None
    matrix = brute(fs, others, p)
    order = np.argsort(matrix, axis=1, kind="stable")
    for k in (0, 1, 7, matrix.shape[1] - (0 if two else 1)):
        found = pcf.nearest(fs, k, others, p=p)
        assert found.indices.dtype == np.int64 and found.distances.dtype == dtype
        np.testing.assert_array_equal(found.indices, order[:, :k])
        np.testing.assert_array_equal(found.distances, np.take_along_axis(matrix, order[:, :k], axis=1))
    for bound in (0, 0.5, float(np.median(matrix)), np.inf):
        rows, columns, values = entries(pcf.below(fs, bound, others, p=p))
        assert values.dtype == dtype
        np.testing.assert_array_equal([rows, columns], np.nonzero(matrix < bound))
        np.testing.assert_array_equal(values, matrix[rows, columns])
    sums = pcf.row_sums(fs, others, p=p)
    assert sums.dtype == np.float64
    np.testing.assert_allclose(sums, np.where(np.isinf(matrix), 0, matrix).sum(axis=1, dtype=np.float64), rtol=1e-5)


def test_shapes() -> None:
    arrays = random_arrays(3, 12)
    fs, flat = PcfSet(arrays).reshape(3, 4), PcfSet(arrays)
    found = pcf.nearest(fs, 2)
    assert found.indices.shape == found.distances.shape == (3, 4, 2)
    np.testing.assert_array_equal(found.indices.reshape(12, 2), pcf.nearest(flat, 2).indices)
    np.testing.assert_array_equal(entries(pcf.below(fs, 1, fs[0]))[2], entries(pcf.below(flat, 1, flat[:4]))[2])
    np.testing.assert_array_equal(pcf.row_sums(fs, fs[0]).ravel(), pcf.row_sums(flat, flat[:4]))
    assert pcf.nearest(fs[0, 0], 3, fs).indices.shape == (3,)
    none = fs[:0]
    assert pcf.nearest(none, 0).indices.shape == (0, 4, 0)
    assert len(entries(pcf.below(none, 1))[0]) == 0 and pcf.row_sums(none).shape == (0, 4)
    np.testing.assert_array_equal(pcf.row_sums(flat[:1]), [0])
    assert pcf.nearest(arrays, 1, dtype="float32").distances.dtype == np.float32
    assert pcf.row_sums(flat.astype("float32"), flat).shape == (12,)


def test_functions_that_differ_for_ever() -> None:
    fs = [[(0, 1)], [(0, 2)], [(0, 2), (1, 1)]]
    found = pcf.nearest(fs, 2)
    np.testing.assert_array_equal(found.distances, [[1, np.inf], [np.inf, np.inf], [1, np.inf]])
    np.testing.assert_array_equal(found.indices, [[2, 1], [0, 2], [0, 1]])
    np.testing.assert_array_equal(entries(pcf.below(fs, np.inf))[:2], [[0, 2], [2, 0]])
    np.testing.assert_array_equal(pcf.row_sums(fs), [np.inf] * 3)
    np.testing.assert_array_equal(pcf.row_sums(fs, p=np.inf), [2, 2, 2])


def test_what_can_not_be_kept() -> None:
    fs = PcfSet(random_arrays(4, 5))
    calls: list[tuple[Any, type[Exception], str]] = [
        (lambda: pcf.nearest(fs, 5), ValueError, "the 5 nearest functions of each were asked for, but each has 4 others"),
        (lambda: pcf.nearest(fs, -1), ValueError, "k is -1"),
        (lambda: pcf.nearest(fs, 1.5), TypeError, "k is 1.5"),  # type: ignore[arg-type]
        (lambda: pcf.below(fs, np.nan), ValueError, "bound is NaN"),
        (lambda: pcf.below(fs, "a"), TypeError, "bound is 'a'"),  # type: ignore[arg-type]
        (lambda: pcf.nearest(fs, 1, p=0.5), ValueError, "p = 0.5"),
        (lambda: pcf.row_sums(fs, device="gpu"), ValueError, "is not a device"),
    ]
    for call, error, text in calls:
        with pytest.raises(error, match=text):
            call()


def test_sparse_arrays() -> None:
    sparse: Any = pytest.importorskip("scipy.sparse")
    fs = PcfSet(random_arrays(3, 12))
    found, matrix = pcf.below(fs, 1, fs[:4]), pcf.cdist(fs, fs[:4])
    assert isinstance(found, sparse.csr_array) and found.shape == (12, 4)
    np.testing.assert_array_equal(found.toarray(), np.where(matrix < 1, matrix, 0))
    assert pcf.below(fs[:0], 1).shape == (0, 0)


def test_no_scipy() -> None:
    code = (
        "import sys; sys.modules['scipy.sparse'] = None; from warpsmith import pcf; "
        "print([array.tolist() for array in pcf.below([[(0, 1), (1, 0)], [(0, 0)]], 2)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[[1.0, 1.0], [1, 0], [0, 1, 2]]"


def test_progress() -> None:
    calls: list[tuple[int, int]] = []
    pcf.nearest(pcf.random(60, 20, seed=1), 2, progress=lambda done, total: calls.append((done, total)))
    assert calls and calls[-1][0] == calls[-1][1]


def test_random_functions() -> None:
    fs = pcf.random(50, 8, seed=3)
    assert fs.shape == (50,) and np.all(fs.lengths == 8) and fs.equals(pcf.random(50, 8, seed=3))
    assert not fs.equals(pcf.random(50, 8, seed=4)) and not pcf.random(9, 8).equals(pcf.random(9, 8))
    assert np.all((fs.points >= 0) & (fs.points < 1)) and np.all(fs(1) == 0)
    uneven = pcf.random(200, 100, seed=2, uneven=True, dtype="float32")
    assert uneven.dtype == np.float32 and uneven.lengths.min() == 1 and 10 < np.mean(uneven.lengths) < 40
    assert pcf.random(0, 5).shape == (0,)
    calls: list[tuple[Any, str]] = [
        (lambda: pcf.random(3, 0), "0 breakpoints per function can't be drawn"),
        (lambda: pcf.random(-1, 3), "count is -1"),
        (lambda: pcf.random(3, 3, seed=2**64), "seed is"),
    ]
    for call, text in calls:
        with pytest.raises(ValueError, match=text):
            call()
    with pytest.raises(TypeError, match="float32 or float64"):
        pcf.random(3, 3, dtype=int)


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_matrices_in_files(tmp_path: Path, dtype: Any, resume: bool) -> None:
    fs = PcfSet(random_arrays(5, 20), dtype=dtype).reshape(4, 5)
    path = tmp_path / "d.npy"
    calls: list[Any] = [
        lambda **options: pcf.pdist(fs, 2, **options),
        lambda **options: pcf.pdist(fs, layout="packed", **options),
        lambda **options: pcf.pdist(fs, layout="dense", **options),
        lambda **options: pcf.cdist(fs[:1], fs, **options),
        lambda **options: pcf.l2_kernel(fs, **options),
        lambda **options: pcf.l2_kernel(fs, layout="packed", **options),
        lambda **options: pcf.pdist(fs[0, 0], **options),
    ]
    for call in calls:
        # The file is replaced.
        found, expected = call(out=path, resume=resume), call()
        assert isinstance(found, np.memmap) and found.dtype == dtype and not found.flags.writeable
        np.testing.assert_array_equal(found, expected)
        assert [entry.name for entry in tmp_path.iterdir()] == ["d.npy"]
    pcf.pdist(fs, out=str(path))
    np.testing.assert_array_equal(np.load(path), pcf.pdist(fs))


def test_matrices_that_are_gone_on_with(tmp_path: Path) -> None:
    # Enough for the CPU that there is progress to be told of.
    fs, cpu = pcf.random(1500, 60, seed=1), "cpu"
    path, partial = tmp_path / "d.npy", tmp_path / "d.npy.partial"

    def stop(done: int, total: int) -> None:
        if 0 < done < total:
            raise KeyError("enough")

    with pytest.raises(KeyError):
        pcf.pdist(fs, 3.5, out=path, resume=True, device=cpu, progress=stop)
    assert partial.exists() and not path.exists()
    with pytest.raises(ValueError, match="d.npy.partial"):
        pcf.pdist(fs[::-1], 3.5, out=path, resume=True, device=cpu)
    first: list[int] = []
    pcf.pdist(fs, 3.5, out=path, resume=True, device=cpu, progress=lambda done, total: first.append(done))
    assert first[0] > 0 and path.exists() and not partial.exists()
    np.testing.assert_array_equal(np.load(path), pcf.pdist(fs, 3.5, device=cpu))
    with pytest.raises(KeyError):
        pcf.pdist(fs, 3.5, out=tmp_path / "other.npy", device=cpu, progress=stop)
    assert [entry.name for entry in tmp_path.iterdir()] == ["d.npy"]


def test_files_that_can_not_be_written(tmp_path: Path) -> None:
    fs = PcfSet(random_arrays(6, 5))
    with pytest.raises(OSError, match="there is no directory"):
        pcf.pdist(fs, out=tmp_path / "no" / "d.npy")
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"resume": True}, "resume is for results in files"),
        ({"resume": True, "out": np.empty(10)}, "resume is for results in files"),
        ({"out": tmp_path / "d.npy", "on_device": True}, "on_device is for new results"),
        ({"out": tmp_path / "d.npy", "layout": "square"}, "layout is 'square'"),
    ]
    for options, text in wrong:
        with pytest.raises(ValueError, match=text):
            pcf.pdist(fs, **options)
    assert not list(tmp_path.iterdir())


def test_ctrl_c_ends_it(tmp_path: Path) -> None:
    fs = pcf.random(4000, 100, seed=1)
    calls: list[Any] = [
        lambda: pcf.nearest(fs, 3, p=3.5, device="cpu"),
        lambda: pcf.pdist(fs, 3.5, out=tmp_path / "d.npy", device="cpu"),
    ]
    for call in calls:
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            call()
        timer.join()
    assert not list(tmp_path.iterdir())

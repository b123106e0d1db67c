"""Matrices over all pairs of functions."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from integrals import distance, inner, random_arrays

import warpsmith
from warpsmith import pcf
from warpsmith.pcf import PcfSet

DATA = Path(__file__).parents[2] / "tests" / "data"


def condensed(matrix: Any) -> Any:
    return matrix[np.triu_indices(len(matrix), 1)]


def packed(matrix: Any) -> Any:
    return matrix[np.tril_indices(len(matrix))]


@pytest.mark.parametrize("p", [1, 2, 3.5, np.inf])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_distances(p: float, dtype: str) -> None:
    arrays = random_arrays(1, 40)
    fs = PcfSet(arrays)
    expected = np.array([[distance(f, g, p) for g in arrays] for f in arrays])
    close: dict[str, Any] = {"rtol": 2e-5 if dtype == "float32" else 1e-12, "atol": 1e-14}
    dense = pcf.pdist(fs, p, layout="dense", dtype=dtype)
    assert dense.dtype == dtype and dense.flags.c_contiguous and dense.flags.writeable
    np.testing.assert_allclose(dense, expected, **close)
    np.testing.assert_array_equal(pcf.pdist(fs, p, dtype=dtype), condensed(dense))
    np.testing.assert_array_equal(pcf.pdist(fs, p, layout="packed", dtype=dtype), packed(dense))
    between = pcf.cdist(fs[:15], fs[15:], p, dtype=dtype)
    np.testing.assert_array_equal(between, dense[:15, 15:])


def test_inner_products() -> None:
    arrays = random_arrays(2, 30)
    fs = PcfSet(arrays)
    expected = [[inner(f, g) for g in arrays] for f in arrays]
    kernel = pcf.l2_kernel(fs)
    np.testing.assert_allclose(kernel, expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(pcf.l2_kernel(fs, layout="packed"), packed(kernel))
    np.testing.assert_array_equal(pcf.l2_kernel(fs[:10], fs[10:]), kernel[:10, 10:])
    np.testing.assert_allclose(np.diag(kernel), fs.norm(2) ** 2, rtol=1e-12)


def test_answers_of_masspcf() -> None:
    """tests/data/pcf.npz holds sets, and what masspcf 0.4.1 computes of them."""
    data = np.load(DATA / "pcf.npz")
    a = PcfSet.from_parts(data["a_offsets"], data["a_points"])
    b = PcfSet.from_parts(data["b_offsets"], data["b_points"])
    for p in ("1", "2", "3.5"):
        np.testing.assert_allclose(pcf.pdist(a, float(p), layout="dense"), data[f"pdist_p{p}"], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(pcf.cdist(a, b, float(p)), data[f"cdist_p{p}"], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(pcf.l2_kernel(a), data["l2_kernel"], rtol=1e-12, atol=1e-12)


def test_shapes_are_joined() -> None:
    fs = PcfSet(random_arrays(3, 12)).reshape(3, 4)
    assert pcf.pdist(fs).shape == (66,)
    assert pcf.pdist(fs, layout="dense").shape == (3, 4, 3, 4)
    assert pcf.cdist(fs, fs[0, :2]).shape == (3, 4, 2)
    assert pcf.cdist(fs[0, 0], fs[0, 1]).shape == ()
    assert pcf.pdist(fs[0, 0]).shape == pcf.pdist(fs[0, :1]).shape == (0,)
    np.testing.assert_array_equal(pcf.pdist(fs[0, :1], layout="dense"), [[0]])
    assert pcf.cdist(fs[:0], fs).shape == (0, 4, 3, 4)


def test_arrays_are_taken_as_they_are() -> None:
    arrays = random_arrays(4, 8)
    fs = PcfSet(arrays)
    np.testing.assert_array_equal(pcf.pdist(arrays), pcf.pdist(fs))
    np.testing.assert_array_equal(pcf.cdist(arrays, fs), pcf.pdist(fs, layout="dense"))
    assert pcf.cdist(fs.astype("float32"), fs).dtype == np.float64
    assert pcf.pdist([array.astype(np.float32) for array in arrays]).dtype == np.float32


def test_functions_that_differ_for_ever() -> None:
    fs = PcfSet([[(0, 1)], [(0, 2)], [(0, 2), (1, 1)]])
    np.testing.assert_array_equal(pcf.pdist(fs), [np.inf, 1, np.inf])
    np.testing.assert_array_equal(pcf.pdist(fs, np.inf), [1, 1, 1])
    assert np.all(np.isinf(pcf.l2_kernel(fs)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("layout", ["condensed", "packed", "dense"])
def test_results_go_where_they_should(layout: Any, dtype: str) -> None:
    fs = PcfSet(random_arrays(5, 20), dtype=dtype)
    expected = pcf.pdist(fs, 2, layout=layout)
    out = np.full_like(expected, np.nan)
    assert pcf.pdist(fs, 2, layout=layout, out=out) is out
    np.testing.assert_array_equal(out, expected)
    parts = np.full((3, *expected.shape), np.nan, dtype)
    pcf.pdist(fs, 2, layout=layout, out=parts[1])
    np.testing.assert_array_equal(parts[1], expected)
    assert np.isnan(parts[[0, 2]]).all()


def test_outputs_that_do_not_fit() -> None:
    fs = PcfSet(random_arrays(6, 5))
    outs: list[tuple[Any, type[Exception], str]] = [
        (np.empty(9), ValueError, r"out has the shape \(9\), but the result has \(10\)"),
        (np.empty((5, 5)), ValueError, "shape"),
        (np.empty(20)[::2], ValueError, "out is not contiguous in C order"),
        (np.empty(10, np.float32), TypeError, "out is an array of float32, but it must be an array of float64"),
        (np.empty(10, ">f8"), TypeError, "float64"),
        ([0.0] * 10, TypeError, "out is of the type list, but it must be an array of float64"),
        (np.float64(1), TypeError, "out is of the type float64, but"),
        (np.zeros(81, np.uint8)[1:].view(np.float64), ValueError, "out is not aligned for float64"),
    ]
    for out, error, text in outs:
        with pytest.raises(error, match=text):
            pcf.pdist(fs, out=out)
    fixed = np.zeros(10)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        pcf.pdist(fs, out=fixed)
    for shape in ((5, 5), (2, 5)):
        with pytest.raises(ValueError, match="C order"):
            pcf.cdist(fs[: shape[0]], fs, out=np.empty(shape, order="F"))


def test_numbers_that_are_too_large() -> None:
    fs = [[(0, 9e18), (100, 0)], [(0, 0)], [(0, 1), (100, 0)]]
    # 8.1e39 is above float32's largest number.
    with pytest.warns(RuntimeWarning, match="1 of 9 results are infinite: their numbers are too large for float32"):
        found = pcf.l2_kernel(fs, dtype=np.float32)
    np.testing.assert_allclose(found, np.array([[np.inf, 0, 9e20], [0, 0, 0], [9e20, 0, 100]]), rtol=1e-6)
    with pytest.warns(RuntimeWarning, match="1 of 9 results are infinite"):
        pcf.l2_kernel(fs, dtype=np.float32, out=np.empty((3, 3), np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(pcf.l2_kernel(fs, dtype=np.float64)[0], [8.1e39, 0, 9e20])
        # Infinite for another reason, which is documented.
        pcf.l2_kernel([*fs, [(0, 1)]], dtype=np.float32)


def test_what_can_not_be_asked_for() -> None:
    fs = PcfSet(random_arrays(7, 5))
    for p in (0.5, 0, -1, np.nan):
        with pytest.raises(ValueError, match=f"p = {p}".replace("nan", "NaN")):
            pcf.pdist(fs, p)
    calls: list[tuple[Any, str]] = [
        (lambda: pcf.l2_kernel(fs, layout="condensed"), "condensed matrix has no diagonal"),  # type: ignore[call-overload]
        (lambda: pcf.l2_kernel(fs, fs, layout="packed"), "not symmetric"),
        (lambda: pcf.pdist(fs, device="gpu"), "\"gpu\" is not a device"),
        (lambda: pcf.pdist(fs, device=[]), "at least one device"),
        (lambda: pcf.pdist([[(1, 1)]]), "must be at t = 0"),
    ]
    for call, text in calls:
        with pytest.raises(ValueError, match=text):
            call()
    with pytest.raises(TypeError, match="a device is a Device or its name"):
        pcf.pdist(fs, device=3)  # type: ignore[call-overload]


def test_matrices_that_no_memory_holds() -> None:
    constant = PcfSet(np.zeros((4_000_000, 1, 2), np.float32))
    with pytest.raises(MemoryError, match="out of memory"):
        pcf.pdist(constant, layout="dense")


@pytest.mark.parametrize("layout", ["condensed", "packed", "dense"])
def test_devices(layout: Any) -> None:
    fs = PcfSet(random_arrays(8, 300))
    expected = pcf.pdist(fs, layout=layout, device="cpu")
    cpu = warpsmith.Device("cpu")
    for device in (cpu, ["cpu", "cpu"], (cpu, "cpu")):
        np.testing.assert_array_equal(pcf.pdist(fs, layout=layout, device=device), expected)
    for device in warpsmith.devices():
        np.testing.assert_allclose(pcf.pdist(fs, layout=layout, device=device), expected, rtol=1e-12)


def test_progress() -> None:
    fs = PcfSet(random_arrays(9, 200))
    seen: list[tuple[int, int]] = []
    pcf.pdist(fs, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1] > 0
    assert sorted(seen) == seen
    with pytest.raises(ZeroDivisionError):
        pcf.pdist(fs, progress=lambda done, total: done / 0)


def test_progress_is_a_line_in_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    pcf.pdist(PcfSet(random_arrays(9, 200)), progress=True)
    text = capsys.readouterr().err
    assert text.startswith("pdist: 100 %, ") and text.count("\n") == 1


def test_progress_is_a_bar_at_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    pcf.cdist(PcfSet(random_arrays(9, 200)), [[(0, 0)]], progress=True)
    text = capsys.readouterr().err
    assert text.startswith("\rcdist [") and f"[{'#' * 30}] 100 %, " in text and text.endswith("\n")


def test_progress_is_an_element_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for IPython, which has what is used of it."""
    shown: list[str] = []

    class Place:
        def update(self, text: str) -> None:
            shown.append(text)

    def display(text: str, display_id: bool) -> Place:
        shown.append(text)
        return Place()

    ipython: Any = ModuleType("IPython")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=None)
    ipython.display = SimpleNamespace(HTML=str, display=display)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    pcf.l2_kernel(PcfSet(random_arrays(9, 200)), progress=True)
    assert shown[0] == "l2_kernel"
    assert shown[-1].startswith('l2_kernel <progress value="20100" max="20100"></progress> 100 %, ')

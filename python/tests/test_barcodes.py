"""Functions of barcodes, in the forms in which other programs give these."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from integrals import Array

from warpsmith import pcf

CURVES = [pcf.betti_curves, pcf.stable_ranks, pcf.accumulated_persistence]
T = np.arange(0, 12, 1 / 16)


def random_bars(seed: int, count: int, endless: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    births = rng.integers(0, 40, count + endless) / 8
    deaths = births + np.concatenate([rng.integers(0, 40, count) / 8, np.full(endless, np.inf)])
    return np.stack([births, deaths], axis=1)


def answers(bars: Array) -> list[Array]:
    """Betti curve, stable rank and accumulated persistence at the times T, bar by bar."""
    births, deaths = bars.T[:, :, np.newaxis] if len(bars) else np.empty((2, 0, 1))
    lengths = deaths - births
    finite = np.isfinite(lengths)
    middles = np.where(finite, births + np.where(finite, lengths, 0) / 2, np.inf)
    return [
        ((births <= T) & (T < deaths)).sum(axis=0),
        (lengths > T).sum(axis=0),
        (np.where(finite, lengths, 0) * (middles <= T)).sum(axis=0),
    ]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bars_are_counted(dtype: str) -> None:
    barcodes = [random_bars(seed, 3 * seed, seed % 3) for seed in range(8)]
    for curve, index in zip(CURVES, range(3)):
        fs = curve(barcodes, dtype=dtype)
        assert (fs.shape, str(fs.dtype)) == ((8,), dtype)
        np.testing.assert_allclose(fs(T), [answers(bars)[index] for bars in barcodes], rtol=1e-6)


def test_superlevel_filtrations() -> None:
    bars = random_bars(1, 20)
    for curve, index in zip(CURVES, range(3)):
        np.testing.assert_array_equal(curve([bars[:, ::-1]], superlevel=True)(T)[0], answers(bars)[index])
        with pytest.raises(ValueError, match="as in superlevel filtrations alone"):
            curve([bars[:, ::-1]])


@pytest.mark.parametrize("curve", CURVES)
def test_forms_of_other_programs(curve: Any) -> None:
    degrees = [random_bars(1, 9, 1), random_bars(2, 5), np.empty((0, 2))]
    # ripser: a dictionary with an array for each dimension.
    ripser = {"dgms": degrees, "num_edges": 12}
    # gudhi: pairs of a dimension and a bar; or arrays of one dimension, as persistence_intervals_in_dimension gives.
    gudhi = [(degree, (birth, death)) for degree, bars in enumerate(degrees) for birth, death in bars.tolist()]
    # giotto-tda: rows of birth, death and dimension, filled up with bars of no length.
    rows = np.concatenate([np.column_stack([bars, np.full(len(bars), degree)]) for degree, bars in enumerate(degrees)])
    giotto = np.stack([rows, np.concatenate([rows[:-1], [[1.0, 1.0, 1.0]]])])
    for degree, bars in enumerate(degrees):
        expected = curve([bars])
        for barcodes in ([ripser], [degrees], [tuple(degrees)], [gudhi]):
            found = curve(barcodes, dimension=degree)
            np.testing.assert_array_equal(found.points, expected.points)
        np.testing.assert_array_equal(curve(giotto, dimension=degree)[0].points, expected.points)
        for form in (bars.tolist(), [tuple(bar) for bar in bars.tolist()], bars.astype(np.float32), bars[::-1]):
            np.testing.assert_array_equal(curve([form]).points, expected.points)
    assert curve(giotto, dimension=0).shape == (2,)
    np.testing.assert_array_equal(curve([np.empty(0)]).points, [[0, 0]])
    assert curve([]).shape == (0,)


def test_dimensions_must_be_clear() -> None:
    bars = random_bars(1, 4)
    several: list[Any] = [
        {"dgms": [bars, bars]},
        [bars, bars],
        [(0, (0.0, 1.0)), (1, (0.0, 1.0))],
        np.array([[0, 1, 0], [0, 1, 1]]),
    ]
    for barcode in several:
        with pytest.raises(ValueError, match=r"barcode 0 has bars of 2 dimensions: choose one \(dimension=\)"):
            pcf.betti_curves([barcode])
    for wrong in (np.nan, 0.5, -1):
        for chosen in (None, 0):
            with pytest.raises(ValueError, match="barcode 0, bar 1: its dimension is .*, but it must be a whole number"):
                pcf.betti_curves([np.array([[0, 1, 0], [0, 2, wrong]])], dimension=chosen)
    with pytest.raises(ValueError, match="barcode 0 has no dimensions to choose from"):
        pcf.betti_curves([bars], dimension=1)
    with pytest.raises(ValueError, match="barcode 0 has bars of the dimensions 0 to 1, not of 2"):
        pcf.betti_curves([[bars, bars]], dimension=2)
    np.testing.assert_array_equal(pcf.betti_curves([[bars]]).points, pcf.betti_curves([bars]).points)


@pytest.mark.parametrize(
    ("barcodes", "text"),
    [
        ([[(0, 1)], [(0, 1), (2, 1)]], "barcode 1, bar 1: death = 1 comes before birth = 2"),
        ([[(np.nan, 1)]], "bar 0: birth = NaN"),
        ([[(0, np.nan)]], "bar 0: death = NaN"),
        ([[(np.inf, np.inf)]], "bar 0: birth = inf"),
        ([[(-1, 1)]], "bar 0: birth = -1, but the function starts at t = 0"),
        ([np.zeros((2, 4))], r"barcode 0 has the shape \(2, 4\)"),
        (np.array([[0.0, 1.0]]), r"barcode 0 has the shape \(2,\).* a single barcode is given as \[barcode\]"),
        ([[(0, 1), (1,)]], "barcode 0 is no array"),
    ],
)
def test_what_is_no_barcode(barcodes: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        pcf.betti_curves(barcodes)


def test_bars_of_other_kinds() -> None:
    with pytest.raises(TypeError, match="barcode 0: an array of complex128"):
        pcf.betti_curves([np.zeros((2, 2), complex)])
    with pytest.raises(TypeError, match="float32 or float64"):
        pcf.betti_curves([[(0, 1)]], dtype=int)
    # Lengths may start anywhere.
    np.testing.assert_array_equal(pcf.stable_ranks([[(-3, 1), (-2, 0)]]).points, [[0, 2], [2, 1], [4, 0]])
    with pytest.raises(ValueError, match=r"\(birth \+ death\) / 2 = -1"):
        pcf.accumulated_persistence([[(-3, 1)]])

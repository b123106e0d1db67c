"""Bad input is the exception that is documented, and its text names the argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from warpsmith import overlap, pcf, rules
from warpsmith.overlap import Overlap, Shape
from warpsmith.pcf import PcfSet

SET = PcfSet([[(0, 3), (1, 0)], [(0, 2), (2, 0)]])
RUNS = rules.Runs(["a;b", "b;a"] * 10, [1.0, 2.0] * 10)
DAG = rules.Dag({"a": "gpu", "b": "cpu"})
SQUARE = Shape([(0, 0), (1, 0), (1, 1), (0, 1)])
BARS = [[0.0, 1.0, 0.0], [0.0, 2.0, 1.0]]
anything: Any = None

CALLS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: rules.learn(RUNS, labels="paper", radius=-1), ValueError, "radius is -1, but it must be at least 1"),
    (lambda: rules.learn(RUNS, labels="paper", radius=2**70), ValueError, "radius is"),
    (lambda: rules.learn(RUNS, labels="paper", radius=1.5), TypeError, "radius is 1.5"),  # type: ignore[arg-type]
    (lambda: pcf.concatenate([np.zeros(3)]), TypeError, r"sets\[0\] is of the type ndarray"),  # type: ignore[list-item]
    (lambda: pcf.concatenate([SET, SET], axis=5), ValueError, "axis is 5"),
    (lambda: pcf.concatenate(np.zeros(3)), TypeError, r"sets\[0\] is of the type float64"),  # type: ignore[arg-type]
    (lambda: rules.Dag(["a", "b"]), TypeError, "operations is of the type list"),  # type: ignore[arg-type]
    (lambda: rules.Dag({"a": "tpu"}), ValueError, '"tpu"'),  # type: ignore[dict-item]
    (lambda: rules.Dag({"a": 3}), TypeError, "operations"),  # type: ignore[dict-item]
    (lambda: rules.Dag({3: "cpu"}), TypeError, "operations"),  # type: ignore[dict-item]
    (lambda: rules.Dag({"a": "cpu"}, [3]), TypeError, "edges"),  # type: ignore[list-item]
    (lambda: rules.Dag({"a": "cpu"}, 3), TypeError, "edges"),  # type: ignore[arg-type]
    (lambda: rules.Dag({"a": "cpu"}, [("a",)]), ValueError, "edges"),  # type: ignore[list-item]
    (lambda: rules.Dag({"a": "cpu"}, name=3), TypeError, "name"),  # type: ignore[arg-type]
    (lambda: DAG.count(0), ValueError, "0 streams are not possible: it takes 1 to 8"),
    (lambda: DAG.count(2**70), ValueError, "streams are not possible"),
    (lambda: pcf.betti_curves([{}]), ValueError, 'barcode 0 is a dictionary without "dgms"'),
    (lambda: pcf.betti_curves({"dgms": [BARS]}), TypeError, "barcodes is of the type dict"),
    (lambda: pcf.betti_curves(3), TypeError, "barcodes is of the type int"),  # type: ignore[arg-type]
    (lambda: pcf.betti_curves([[[1j, 2]]]), TypeError, "barcode 0: an array of complex128"),
    *(
        (lambda curve=curve, given=dimension: curve([BARS], dimension=given), error, f"dimension is {dimension!r}")
        for curve in (pcf.betti_curves, pcf.stable_ranks, pcf.accumulated_persistence)
        for dimension, error in ((-1, ValueError), (1.5, TypeError), ("0", TypeError))
    ),
    (lambda: SET.mean(axis=5), ValueError, "axis is 5, but it must be at most 0"),
    (lambda: SET.std(axis=-2), ValueError, "axis is -2, but it must be at least -1"),
    (lambda: SET.max_time(axis=1), ValueError, "axis is 1"),
    (lambda: SET.mean(axis=0.5), TypeError, "axis is 0.5"),  # type: ignore[arg-type]
    (lambda: SET.mean(axis=(0, 0)), ValueError, "repeats an axis"),
    (lambda: SET.std(ddof=0.5), TypeError, "ddof is 0.5"),  # type: ignore[arg-type]
    (lambda: SET([1j]), TypeError, "t: an array of complex128"),
    (lambda: SET.norm(1j), TypeError, "p is 1j"),  # type: ignore[arg-type]
    (lambda: SET.integral(0, 1j), TypeError, "end is 1j"),  # type: ignore[arg-type]
    (lambda: pcf.pdist(SET, p=1j), TypeError, "p is 1j"),  # type: ignore[call-overload]
    (lambda: pcf.pdist(SET, p="a"), TypeError, "p is 'a'"),  # type: ignore[call-overload]
    (lambda: pcf.pdist([[(0, 1j)]]), TypeError, "complex128"),
    (lambda: pcf.pdist(SET, dtype="complex64"), TypeError, "complex64"),
    *(
        (lambda value=value: rules.Explorer(DAG, exploration=value), ValueError, f"exploration is {value}")
        for value in (np.nan, np.inf, -1.0)
    ),
    (lambda: rules.Explorer(DAG, exploration=anything), TypeError, "exploration is None"),
    (lambda: rules.Explorer(DAG, seed=-1), ValueError, "seed is -1"),
    (lambda: rules.Explorer(DAG, seed=2**64), ValueError, "seed is"),
    (lambda: rules.Explorer("dag"), TypeError, "dag is of the type str"),  # type: ignore[arg-type]
    (lambda: rules.Runs("ab", [1, 2]), TypeError, "schedules is of the type str"),
    (lambda: rules.Runs(3, [1]), TypeError, "schedules is of the type int"),  # type: ignore[arg-type]
    (lambda: rules.Runs(["a;b"], [1j]), TypeError, "seconds: an array of complex128"),
    (lambda: rules.Runs(["a;b"], ["x"]), TypeError, "seconds"),
    (lambda: Overlap([]), ValueError, "there are no shapes"),
    (lambda: Overlap(3), TypeError, "shapes is of the type int"),  # type: ignore[arg-type]
    (lambda: Overlap([SQUARE], boundary=np.array([[1j, 0], [0, 1], [1, 1]])), TypeError, "boundary: .* complex128"),
    (lambda: Overlap([SQUARE], lattice=np.array([[1j, 0], [0, 1]])), TypeError, "lattice: an array of complex128"),
    (lambda: Overlap([SQUARE], dtype="complex64"), TypeError, "complex64"),
    (lambda: Overlap([SQUARE]).evaluate([[1j, 0, 0]]), TypeError, "poses are an array of complex128"),
    (lambda: Overlap([SQUARE], boundary="square").evaluate([[0, 0, 0]], scales=1j), TypeError, "scales: .* complex128"),
    (lambda: Shape(np.array([(0, 0), (1j, 0), (1, 1)])), TypeError, "complex"),
    (lambda: overlap.pack(SQUARE, 1, initial=[[1j, 0, 0]]), TypeError, "initial: an array of complex128"),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("index", range(len(CALLS)))
def test_bad_input(index: int) -> None:
    call, error, text = CALLS[index]
    with pytest.raises(error, match=text) as raised:
        call()
    assert not isinstance(raised.value, (OverflowError, AttributeError, KeyError))

"""Bad input is the exception that is documented, and its text names the argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from warpsmith import DeviceArray, concurrency, graph, homology, list_rank, overlap, pcf, rules, spmv, trees
from warpsmith.overlap import Overlap, Shape
from warpsmith.pcf import PcfSet

SET = PcfSet([[(0, 3), (1, 0)], [(0, 2), (2, 0)]])
RUNS = rules.Runs(["a;b", "b;a"] * 10, [1.0, 2.0] * 10)
DAG = rules.Dag({"a": "gpu", "b": "cpu"})
SQUARE = Shape([(0, 0), (1, 0), (1, 1), (0, 1)])
BARS = [[0.0, 1.0, 0.0], [0.0, 2.0, 1.0]]
# Beyond float64, and beyond 64 bits.
HUGE, LONG = 10**400, 2**70
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
    (lambda: Overlap([SQUARE]).evaluate([[1j, 0, 0]]), TypeError, "poses: an array of complex128"),
    (lambda: Overlap([SQUARE], boundary="square").evaluate([[0, 0, 0]], scales=1j), TypeError, "scales: .* complex128"),
    (lambda: Shape(np.array([(0, 0), (1j, 0), (1, 1)])), TypeError, "complex"),
    (lambda: overlap.pack(SQUARE, 1, initial=[[1j, 0, 0]]), TypeError, "initial: an array of complex128"),
    *(
        (call, ValueError, f"{what} is out of the range of float64")
        for what, call in (
            (r"function 1: element \[1, 0\]", lambda: PcfSet([[(0, 1)], [(0, 1), (HUGE, 2)]])),
            (r"function 0: element \[1, 0\]", lambda: PcfSet([[(0, 0.5), (HUGE, 2)]])),
            ("column 't', row 1", lambda: PcfSet.from_frame({"t": [0.5, HUGE], "v": [1, 2]})),
            (r"column 'v': element \[1\]", lambda: PcfSet.from_frame({"t": [0, 1], "v": [1, HUGE]})),
            (r"barcode 0: element \[0, 1\]", lambda: pcf.betti_curves([[(0, HUGE)]])),
            ("the operand", lambda: SET + HUGE),
            (r"the operand: element \[1\]", lambda: SET * [1, HUGE]),
            ("p", lambda: pcf.pdist(SET, HUGE)),
            ("end", lambda: SET.integral(0, HUGE)),
            (r"outline: element \[2, 0\]", lambda: Shape([(0, 0), (1, 0), (HUGE, 1)])),
            (r"holes\[0\]: element \[2, 1\]", lambda: Shape(9 * SQUARE.outlines[0], holes=[[(1, 1), (2, 1), (2, HUGE)]])),
            (r"shapes\[1\]: an outline: element \[2, 0\]", lambda: Overlap([SQUARE, [(0, 0), (1, 0), (HUGE, 1)]])),
            (r"poses: element \[0, 0\]", lambda: Overlap([SQUARE]).evaluate([[HUGE, 0, 0]])),
            (r"x: element \[1\]", lambda: spmv.Matrix(([1], [0], [0, 1]), shape=(1, 2)) @ [1, HUGE]),
            (r"clouds: element \[0, 1\]", lambda: homology.rips([(0, HUGE)])),
            ("seconds", lambda: overlap.pack(SQUARE, 1, seconds=HUGE)),
            (r"values\['b'\]", lambda: overlap.nest({"a": SQUARE, "b": SQUARE}, (9, 9), values={"b": HUGE})),
            ("resolution", lambda: rules.learn(RUNS, resolution=HUGE)),
            ("seconds", lambda: rules.Explorer(DAG).tell("a@0;b", HUGE)),
            (r"array: element \[1\]", lambda: DeviceArray([0.5, HUGE])),
        )
    ),
    *(
        (call, ValueError, f"{what} is out of the range of int64")
        for what, call in (
            (r"offsets: element \[1\]", lambda: PcfSet.from_parts([0, LONG], [(0, 1)])),
            (r"edges: element \[1, 1\]", lambda: graph.components([[0, 1], [1, LONG]])),
            (r"next: element \[0\]", lambda: list_rank.rank([LONG, -1])),
            (r"weights: element \[1\]", lambda: list_rank.prefix_sums([1, -1], [1, LONG])),
            (r"parents: element \[1\]", lambda: trees.root(parents=[-1, LONG])),
            (r"indices: element \[0\]", lambda: spmv.Matrix(([1], [LONG], [0, 1]), shape=(1, 1))),
            (r"shapes: element \[0\]", lambda: Overlap([SQUARE]).evaluate([[0, 0, 0]], shapes=[LONG])),
        )
    ),
    *(
        (call, ValueError, f"{what} is {LONG}, but it must be at most")
        for what, call in (
            (r"shape\[0\]", lambda: PcfSet.from_parts([0, 1], [(0, 1)], shape=[LONG])),
            ("degree", lambda: homology.rips([(0, 1)], degree=LONG)),
            ("count", lambda: overlap.pack(SQUARE, LONG)),
            ("steps", lambda: overlap.pack(SQUARE, 1, steps=LONG)),
            (r"shapes\[1\]: the count", lambda: overlap.pack([SQUARE, (SQUARE, LONG)])),
            (r"priorities\['b'\]", lambda: overlap.nest({"a": SQUARE, "b": SQUARE}, (9, 9), priorities={"b": LONG})),
            ("poses", lambda: concurrency.study(poses=LONG)),
            ("iterations", lambda: rules.study(RUNS, iterations=[LONG])),
        )
    ),
    (lambda: overlap.nest(SQUARE, (9, 9, LONG)), ValueError, rf"sheets\[0\]: the number of sheets is {LONG}"),
    (lambda: Overlap([SQUARE]).evaluate(np.zeros((2, 3)), shapes=[0, -1]), ValueError, r"shapes\[1\] is -1"),
    (lambda: overlap.nest(SQUARE, (9, 9), priorities=[1]), TypeError, "priorities is of the type list"),  # type: ignore
    (lambda: overlap.nest({"a": SQUARE}, (9, 9), values={"a": "1"}), TypeError, r"values\['a'\] is '1'"),  # type: ignore
    *(
        (lambda given=given: Shape(9 * SQUARE.outlines[0], holes=given), error, text)
        for given, error, text in (
            ([SQUARE.outlines[0], None], TypeError, r"holes\[1\] is None"),
            ([SQUARE.outlines[0], [(1, 1, 1)]], ValueError, r"holes\[1\] has the shape \(1, 3\), but it must be \(n, 2\)"),
            ([SQUARE.outlines[0], [(1, 1), (1,)]], ValueError, r"holes\[1\] is no array"),
            ([SQUARE.outlines[0], "ab"], TypeError, r"holes\[1\]: 'ab' is in the place of an array"),
            (3, TypeError, "holes is of the type int"),
        )
    ),
    *(
        (lambda call=call, given=given: call(SET, layout=given), ValueError, 'must be "condensed", "packed" or "dense"')
        for call in (pcf.pdist, pcf.l2_kernel)
        for given in (3, None, "square")
    ),
    (lambda: PcfSet([[(0, 1), (1, None)]]), TypeError, r"function 0: element \[1, 1\] is None"),
    (lambda: spmv.Matrix((["a"], [0], [0, 1]), shape=(1, 1)), TypeError, r"data: element \[0\] is 'a'"),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("index", range(len(CALLS)))
def test_bad_input(index: int) -> None:
    call, error, text = CALLS[index]
    with pytest.raises(error, match=text) as raised:
        call()
    assert not isinstance(raised.value, (OverflowError, AttributeError, KeyError))

"""Arguments of all kinds: whatever comes, it is a result or an exception that a caller expects."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import warpsmith
from warpsmith import concurrency, graph, list_rank, overlap, pcf, rules, spmv, trees

SET = pcf.PcfSet([[(0, 3), (1, 1), (3, 0)], [(0, 2), (2, 0)], [(0, 0)]])
TREES = overlap.Overlap([overlap.Shape.tree()], boundary="square")
NESTED = overlap.nest(overlap.Shape.tree(), (2, 2), time=0.01)
RUNS = rules.Runs(["a;b", "b;a"] * 10, [1.0, 2.0] * 10)
MODEL = rules.learn(RUNS)
DAG = rules.Dag({"a": "gpu", "b": "cpu"})
EXPLORER = rules.Explorer(DAG)
TREE = trees.root(parents=[-1, 0])
MATRIX = spmv.Matrix(([1.0, 2.0], [0, 1], [0, 1, 2]), shape=(2, 2))

VALUES: list[Any] = [
    None, True, -1, 0, 1, 3, 2**40, 2**70, -(2**70), 1.5, np.nan, np.inf, -0.0, 1e-310, "", "cpu", "cuda", "dense", "\0",
    "a;b", "é" * 99, b"x", [], [[]], [[[]]], [None], (), {}, {"dgms": []}, {"dgms": 3}, object(), len, lambda *_: None, int,
    range(3), slice(1), ..., [1, -1], [1, [2]], [(0, 1), (1, 0)], [(0, (0.0, 1.0))], [(0, (0.0,))], ["a;b"], [1j],
    np.array(3), np.array(3.5), np.zeros(0), np.zeros(3), np.zeros(3, int), np.zeros((2, 2)), np.zeros((2, 3)),
    np.zeros((0, 2)), np.zeros((0, 3)), np.zeros((2, 0, 3)), np.zeros((1, 1, 2)), np.full((2, 3), np.nan),
    np.full((3, 3), np.inf), np.full((4, 3), 1e300), np.array(["a"]), np.array([1j]), np.array([None]),
    np.zeros(2, "M8[s]"), np.zeros(2, "f4,i4"), np.zeros((2, 2), np.float16), np.zeros((2, 2), ">f4"),
    np.zeros((2, 2), np.longdouble), np.array([1, 255], np.uint8), np.array([2**63], np.uint64), np.array([1, -1], np.int8),
    np.zeros((4, 4))[::2, ::2], np.zeros((4, 2), order="F"), np.ma.zeros(3), memoryview(b"abc"), np.float32, "float16",
    SET, SET[0], SET[:0], SET.astype("float32"), warpsmith.Device("cpu"), overlap.Shape.tree(), [overlap.Shape.tree()], RUNS,
]  # fmt: skip

CALLS: list[tuple[Callable[..., Any], int, list[str]]] = [
    (warpsmith.Device, 1, []),
    (pcf.PcfSet, 1, ["dtype"]),
    (pcf.PcfSet.from_parts, 2, ["shape", "dtype"]),
    (pcf.concatenate, 1, ["axis"]),
    (pcf.load, 1, ["dtype"]),
    (pcf.pdist, 2, ["dtype", "layout", "out", "device", "progress"]),
    (pcf.cdist, 3, ["dtype", "out", "device", "progress"]),
    (pcf.l2_kernel, 2, ["dtype", "layout", "out", "device", "progress"]),
    (pcf.betti_curves, 1, ["dimension", "superlevel", "dtype"]),
    (pcf.stable_ranks, 1, ["dimension", "superlevel", "dtype"]),
    (pcf.accumulated_persistence, 1, ["dimension", "superlevel", "dtype"]),
    (SET, 1, []),
    (SET.__getitem__, 1, []),
    (SET.reshape, 2, []),
    (SET.astype, 1, []),
    (SET.integral, 2, []),
    (SET.norm, 1, []),
    (SET.mean, 1, []),
    (SET.std, 1, ["ddof"]),
    (SET.max_time, 1, []),
    (SET.save, 1, []),
    (lambda value: warpsmith.DeviceArray(value), 1, []),
    (lambda value: list_rank.rank(value, device=warpsmith.Device("cpu")), 1, []),
    (lambda value: SET + value, 1, []),
    (lambda value: value / SET, 1, []),
    (lambda value: SET**value, 1, []),
    (lambda value: value**SET, 1, []),
    (SET.minimum, 1, []),
    (list_rank.rank, 2, ["device"]),
    (list_rank.prefix_sums, 3, ["device"]),
    (list_rank.forest, 1, ["device"]),
    (list_rank.order, 2, ["device"]),
    (graph.components, 2, ["device"]),
    (graph.spanning_forest, 2, ["device"]),
    (graph.bridges, 2, ["double", "device"]),
    (graph.biconnected, 2, ["device"]),
    (lambda value: graph.components([[0, 1]], value), 1, []),
    (trees.root, 1, ["parents", "root", "n", "device"]),
    (lambda value: trees.root(parents=[-1, 0], root=value), 1, []),
    (lambda value: trees.lca(TREE, value), 1, []),
    (lambda value: trees.sums(TREE, value), 1, []),
    (spmv.Matrix, 1, ["shape", "dtype", "device"]),
    (lambda value: spmv.Matrix(([1.0], [0], [0, 1]), shape=value), 1, []),
    (lambda value: spmv.Matrix((value, [0], [0, 1]), shape=(1, 1)), 1, []),
    (lambda value: spmv.Matrix(([1.0], value, [0, 1]), shape=(1, 1)), 1, []),
    (lambda value: spmv.Matrix(([1.0], [0], value), shape=(1, 1)), 1, []),
    (MATRIX.matvec, 1, []),
    (spmv.multiply, 2, ["device"]),
    (overlap.Shape, 1, ["name"]),
    (overlap.Shape.from_pieces, 1, ["name"]),
    (overlap.Shape.load, 1, []),
    (overlap.Overlap, 1, ["dtype", "boundary", "lattice", "deterministic", "device"]),
    (TREES.evaluate, 1, ["shapes", "scales", "per_pose", "gradient"]),
    (TREES.pairs, 1, ["shapes"]),
    (rules.Runs, 2, []),
    (rules.Runs.load, 1, []),
    (RUNS.save, 1, []),
    (rules.learn, 1, ["labels", "resolution", "radius", "percentile", "criterion"]),
    (MODEL.classify, 1, []),
    (rules.Dag, 2, ["name"]),
    (DAG.count, 1, []),
    (rules.Explorer, 2, ["strategy", "exploration", "seed", "platform"]),
    (lambda value: rules.Explorer(DAG, strategy=value), 1, []),
    (lambda value: EXPLORER.tell(value, 1.0), 1, []),
    (lambda value: EXPLORER.tell("a@0;b;CER-after-a;CES-b4-end", value), 1, []),
    (lambda value: overlap.pack(value, 1, steps=1), 1, []),
    (lambda value: overlap.pack(overlap.Shape.tree(), 1, initial=value, steps=1, starts=1), 1, []),
    (lambda value: overlap.pack(overlap.Shape.tree(), 2, steps=1, starts=1, seed=value), 1, []),
    (lambda value: overlap.pack(overlap.Shape.tree(), 2, steps=1, device=value), 1, []),
    *((lambda value, name=name: overlap.pack(overlap.Shape.tree(), 1, steps=1, starts=1, **{name: value}), 1, [])
      for name in ("container", "turns", "spacing")),
    *((lambda value, name=name: overlap.nest(**{"parts": overlap.Shape.tree(), "sheets": (2, 2, 1), "time": 0.01, name: value}), 1, [])
      for name in ("parts", "sheets", "spacing", "margin", "turns", "seed", "device")),
    (lambda value: overlap.nest((overlap.Shape.tree(), value), (2, 2, 1), time=0.01), 1, []),
    (lambda value: NESTED.write(value), 1, []),
    (lambda value: concurrency.study(streams=value, batch=[1], fixed=[], poses=1, runs=1, iterations=1), 1, []),
    (lambda value: concurrency.study(streams=[1], batch=value, fixed=[], poses=1, runs=1, iterations=1), 1, []),
    (lambda value: concurrency.study(streams=[1], batch=[1], fixed=[], poses=1, runs=1, iterations=1, seed=value), 1, []),
    (concurrency.columns, 1, []),
]

EXPECTED = (ValueError, TypeError, IndexError, MemoryError, OSError)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("index", range(len(CALLS)))
def test_garbage(index: int, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    function, positional, keywords = CALLS[index]
    rng = random.Random(index)
    trials: list[tuple[list[Any], dict[str, Any]]] = []
    for value in VALUES:
        # One odd argument among good ones, as far as the first is good; then odd ones alone.
        trials.append(([value] + [SET] * (positional - 1), {}))
        trials.extend(([SET] * positional, {keyword: value}) for keyword in keywords)
        trials.append((rng.choices(VALUES, k=positional), {word: rng.choice(VALUES) for word in keywords if rng.random() < 0.4}))
    for arguments, named in trials:
        try:
            function(*arguments, **named)
        except EXPECTED:
            pass
        except RuntimeError as error:
            assert "no CUDA device" in str(error), (arguments, named)
        except BaseException as error:
            raise AssertionError(f"{type(error)}: {error} of {arguments}, {named}") from error

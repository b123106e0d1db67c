"""Connectivity of graphs, against NetworkX and SciPy."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import warpsmith
from warpsmith import graph

nx: Any = pytest.importorskip("networkx")
sp: Any = pytest.importorskip("scipy.sparse")
connected_components: Any = pytest.importorskip("scipy.sparse.csgraph").connected_components


def random_edges(seed: int) -> tuple[npt.NDArray[np.int64], int]:
    """Edges with loops and double edges, and the number of vertices."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    edges = rng.integers(0, n, (int(rng.integers(0, 2 * n)), 2))
    return np.concatenate([edges, edges[:: int(rng.integers(2, 9))]]), n


def multigraph(edges: npt.NDArray[np.int64], n: int) -> Any:
    result = nx.MultiGraph()
    result.add_nodes_from(range(n))
    result.add_edges_from((int(u), int(v), number) for number, (u, v) in enumerate(edges))
    return result


def least(groups: Any) -> dict[Any, Any]:
    return {vertex: min(group) for group in groups for vertex in group}


@pytest.mark.parametrize("seed", range(30))
def test_as_networkx(seed: int) -> None:
    edges, n = random_edges(seed)
    expected = multigraph(edges, n)
    found = graph.components(edges, n)
    assert dict(enumerate(found.labels.tolist())) == least(nx.connected_components(expected))
    assert found.component_count == nx.number_connected_components(expected)
    matrix = sp.coo_array((np.ones(len(edges)), edges.T), (n, n))
    assert found.component_count == connected_components(matrix, directed=False)[0]

    forest = graph.spanning_forest(edges, n)
    assert len(forest.edges) == n - found.component_count and forest.component_count == found.component_count
    assert graph.components(edges[forest.edges], n).component_count == found.component_count

    bridges = graph.bridges(edges, n)
    assert sorted(bridges.bridges) == list(bridges.bridges)
    assert sorted(map(sorted, edges[bridges.bridges].tolist())) == sorted(map(sorted, nx.bridges(expected)))
    rest = expected.copy()
    rest.remove_edges_from(nx.bridges(expected))
    assert dict(enumerate(bridges.labels.tolist())) == least(nx.connected_components(rest))
    assert bridges.component_count == len(set(bridges.labels.tolist()))

    parts = graph.biconnected(edges, n)
    assert parts.points.tolist() == sorted(nx.articulation_points(expected))
    blocks: dict[int, set[int]] = {}
    for (u, v), label in zip(edges.tolist(), parts.labels.tolist()):
        assert (label == -1) == (u == v)
        if u != v:
            blocks.setdefault(label, set()).update((u, v))
    assert sorted(map(sorted, blocks.values())) == sorted(map(sorted, nx.biconnected_components(expected)))
    assert parts.component_count == len(blocks)


@pytest.mark.parametrize("seed", range(6))
def test_small_graphs_beside_large_ones(seed: int) -> None:
    """A device computes as one thread does for small graphs: with so many vertices more, the graph is none."""
    edges, n = random_edges(seed)
    for size in (4096 - len(edges), 4097 - len(edges), 32_768 - len(edges), 32_769 - len(edges)):
        for double in ("apart", "one"):
            small, large = graph.bridges(edges, n, double=double), graph.bridges(edges, size, double=double)
            assert large.bridges.tolist() == small.bridges.tolist()
            assert large.labels.tolist() == [*small.labels.tolist(), *range(n, size)]
            assert large.component_count == small.component_count + size - n
        parts, large_parts = graph.biconnected(edges, n), graph.biconnected(edges, size)
        assert large_parts.labels.tolist() == parts.labels.tolist() and large_parts.points.tolist() == parts.points.tolist()
        assert large_parts.component_count == parts.component_count
        labels = graph.components(edges, n).labels.tolist()
        assert graph.components(edges, size).labels.tolist() == [*labels, *range(n, size)]
        for few in (graph.components, graph.bridges, graph.biconnected):
            with pytest.raises(ValueError, match=rf"edge {len(edges)} is \({size}, 0\), but there are {size} vertices"):
                few(np.concatenate([edges, [[size, 0]]]), size)


@pytest.mark.parametrize("kind", "csr_array csc_matrix coo_array lil_array dok_matrix dia_array bsr_array".split())
def test_matrices(kind: str) -> None:
    edges, n = random_edges(7)
    dense = np.zeros((n, n))
    dense[tuple(edges.T)] = dense.T[tuple(edges.T)] = 2.5
    matrix = getattr(sp, kind)(dense)
    simple = nx.Graph(multigraph(edges, n))
    assert graph.components(matrix).labels.tolist() == graph.components(edges, n).labels.tolist()
    entries = matrix.tocoo()
    found = graph.bridges(matrix).bridges
    # Both directions of each bridge.
    pairs = {(int(entries.row[number]), int(entries.col[number])) for number in found}
    assert pairs == {pair for u, v in nx.bridges(simple) for pair in ((u, v), (v, u))}
    assert graph.bridges(matrix, double="apart").bridges.size == 0
    assert graph.biconnected(matrix).points.tolist() == sorted(nx.articulation_points(simple))
    with pytest.raises(ValueError, match=r"a matrix of the shape \(2, 3\), but an adjacency matrix is square"):
        graph.components(sp.csr_array((2, 3)))


def test_forms() -> None:
    pairs = [[0, 1], [1, 2], [4, 3]]
    expected = [0, 0, 0, 3, 3]
    forms: list[Any] = [
        pairs,
        [(u, v) for u, v in pairs],
        tuple(map(tuple, pairs)),
        np.array(pairs, np.uint8),
        np.array(pairs, np.int64, order="F"),
        np.repeat(pairs, 2, axis=0)[::2],
        (np.array([0, 1, 4]), np.array([1, 2, 3], np.int16)),
        warpsmith.DeviceArray(np.array(pairs, np.int32), "cpu"),
    ]
    for form in forms:
        found = graph.components(form)
        assert np.asarray(found.labels).tolist() == expected and found.component_count == 2
        assert np.asarray(graph.bridges(form).bridges).tolist() == [0, 1, 2]
        assert np.asarray(graph.spanning_forest(form).edges).tolist() == [0, 1, 2]
        assert np.asarray(graph.biconnected(form, device="cpu").points).tolist() == [1]
    there = warpsmith.DeviceArray(np.array(pairs, np.int32), "cpu")
    for function in (graph.components, graph.bridges, graph.biconnected, graph.spanning_forest):
        assert all(isinstance(array, warpsmith.DeviceArray) for array in function(there)[:-1])


def test_networkx_graphs() -> None:
    given = nx.Graph([("a", "b"), ("b", "c"), ("c", "a"), ("c", 7), (7, 7)])
    given.add_node(0)
    given.add_node((1, 2))
    found = graph.components(given)
    assert found.labels == {"a": "a", "b": "a", "c": "a", 7: "a", 0: 0, (1, 2): (1, 2)} and found.component_count == 3
    assert graph.bridges(given).bridges == [("c", 7)]
    assert graph.bridges(given).labels[7] == 7
    parts = graph.biconnected(given)
    assert parts.points == ["c"] and parts.component_count == 2
    assert parts.labels == {("a", "b"): "b", ("a", "c"): "b", ("b", "c"): "b", ("c", 7): 7}
    double = nx.MultiGraph([("a", "b"), ("a", "b"), ("b", "c")])
    assert graph.bridges(double).bridges == [("b", "c", 0)]
    assert graph.bridges(double, double="one").bridges == [("a", "b", 0), ("a", "b", 1), ("b", "c", 0)]
    assert len(graph.spanning_forest(double).edges) == 2
    with pytest.raises(ValueError, match="directed graph"):
        graph.components(nx.DiGraph([(0, 1)]))
    with pytest.raises(ValueError, match="n is given"):
        graph.components(given, 9)


def test_nothing() -> None:
    ends = np.empty(0, int)
    empty: list[Any] = [[], np.empty((0, 2)), np.empty((0, 2), np.int32), (ends, ends), nx.Graph()]
    for nothing in empty:
        assert len(graph.components(nothing).labels) == 0 and graph.components(nothing).component_count == 0
        assert len(graph.bridges(nothing).bridges) == 0
        assert graph.biconnected(nothing).component_count == 0
        assert len(graph.spanning_forest(nothing).edges) == 0
    assert graph.components([], 3).labels.tolist() == [0, 1, 2]
    assert graph.components([[0, 0]]).labels.tolist() == [0]
    assert graph.biconnected([[0, 0]]).labels.tolist() == [-1]
    assert graph.bridges([[0, 0], [0, 0]]).bridges.size == 0


def test_a_long_path() -> None:
    n = 50_000
    order = list(range(n))
    random.Random(1).shuffle(order)
    path = np.column_stack([order[:-1], order[1:]])
    assert graph.components(path).component_count == 1
    assert graph.bridges(path).bridges.size == n - 1
    assert graph.biconnected(path).points.size == n - 2


@pytest.mark.parametrize(
    ("edges", "n", "error", "text"),
    [
        ([[0, 1], [1, 5]], 3, ValueError, r"edge 1 is \(1, 5\), but there are 3 vertices"),
        ([[0, -1]], None, ValueError, r"edge 0 is \(0, -1\)|edges\[0\] is \(0, -1\)"),
        (np.array([[0, -1]], np.int32), None, ValueError, r"edge 0 is \(0, -1\)"),
        ([[0, 2**40]], None, ValueError, rf"edges\[0\] is \(0, {2**40}\)"),
        (np.array([[0, 2**63]], np.uint64), None, ValueError, r"edges\[0\]"),
        ([0, 1], None, ValueError, r"edges has the shape \(2,\), but it must be \(n, 2\)"),
        ([[0, 1, 2]], None, ValueError, r"edges has the shape \(1, 3\)"),
        ([[0, 1], [2]], None, ValueError, "edges is no array"),
        ([[0.0, 1.0]], None, TypeError, "edges is an array of float64"),
        ([[1j, 1]], None, TypeError, "edges is an array of complex128"),
        ([["a", "b"]], None, TypeError, r"edges: element \[0, 0\] is 'a', but whole numbers are needed; numpy.unique\(..., return_inverse=True\) numbers names"),
        ("roads.csv", None, TypeError, "'roads.csv' is in the place of an array"),
        (None, None, TypeError, "edges"),
        ((np.arange(2), np.arange(3)), None, ValueError, "edges are arrays of 2 and 3 ends"),
        ([[0, 1]], -1, ValueError, "n is -1, but it must be at least 0"),
        ([[0, 1]], 2**70, ValueError, f"n is {2**70}, but it must be at most"),
        ([[0, 1]], 1.5, TypeError, "n is 1.5, but it must be a whole number"),
    ],
)
def test_what_are_no_edges(edges: Any, n: Any, error: type[Exception], text: str) -> None:
    for function in (graph.components, graph.bridges, graph.biconnected, graph.spanning_forest):
        with pytest.raises(error, match=text):
            function(edges, n)


def test_other_arguments() -> None:
    wrong: Any = "twice"
    with pytest.raises(ValueError, match="double is 'twice'"):
        graph.bridges([[0, 1]], double=wrong)
    with pytest.raises(ValueError, match="not a device"):
        graph.components([[0, 1]], device="tpu")
    with pytest.raises(ValueError, match=r"edges has the shape \(4\), but it must be \(n, 2\)"):
        graph.components(warpsmith.DeviceArray(np.zeros(4, np.int32), "cpu"))
    with pytest.raises(TypeError, match="edges is an array of int64, but it must be one of int32"):
        graph.components(warpsmith.DeviceArray(np.zeros((4, 2), np.int64), "cpu"))


def kruskal(edges: Any, weights: Any, n: int) -> list[int]:
    """The edges of the minimum spanning forest, by weight and number."""
    label = list(range(n))
    found = []
    for edge in sorted(range(len(edges)), key=lambda edge: weights[edge]):
        u, v = (label[end] for end in edges[edge])
        if u != v:
            label = [u if other == v else other for other in label]
            found.append(edge)
    return sorted(found)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64", "uint8", "bool"])
@pytest.mark.parametrize("seed", range(5))
def test_minimum_spanning_forests(dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    edges = rng.integers(0, n, (int(rng.integers(0, 100)), 2))
    weights = rng.integers(0, 2 if dtype == "bool" else 20, len(edges)).astype(dtype)
    for maximum in (False, True):
        found = graph.minimum_spanning_forest(edges, weights, n, maximum=maximum)
        signed = [-int(weight) if maximum else int(weight) for weight in weights.tolist()]
        assert found.edges.tolist() == kruskal(edges.tolist(), signed, n)
        assert found.total == sum(weights[found.edges].tolist())
        assert found.component_count == n - len(found.edges)
        assert found.labels.tolist() == graph.components(edges, n).labels.tolist()


def test_weights_of_matrices_and_graphs() -> None:
    spanning_tree = pytest.importorskip("scipy.sparse.csgraph").minimum_spanning_tree
    rng = np.random.default_rng(1)
    matrix = sp.random(50, 50, 0.1, rng=rng)
    matrix = sp.coo_array(matrix + matrix.T)
    found = graph.minimum_spanning_forest(matrix)
    assert found.total == pytest.approx(spanning_tree(matrix).sum())
    named = nx.Graph([("a", "b", {"w": 2}), ("b", "c", {"w": 1}), ("c", "a", {"w": 3}), ("c", "d")])
    assert graph.minimum_spanning_forest(named, "w")[:2] == ([("a", "b"), ("b", "c"), ("c", "d")], 4)
    assert graph.minimum_spanning_forest(named).total == 3


def test_weights_that_are_none() -> None:
    edges = [[0, 1], [1, 2]]
    assert graph.minimum_spanning_forest(edges, [2**63 - 1, 2**63 - 1]).total == 2**64 - 2
    for weights, error, text in [
        ([1.0, np.nan], ValueError, "the weight of edge 1 is NaN"),
        ([1.0], ValueError, "weights has 1 elements, but there are 2 edges"),
        (None, ValueError, "weights are missing"),
        ([1j, 2], TypeError, "weights are int32, int64, float32 or float64"),
        ([[1, 2]], ValueError, "weights have the shape"),
    ]:
        with pytest.raises(error, match=text):
            graph.minimum_spanning_forest(edges, weights)


@pytest.mark.parametrize(
    ("weight", "error"),
    [("1", TypeError), (None, TypeError), (1j, TypeError), ([1, 2], TypeError), (float("nan"), ValueError), (2**70, ValueError)],
)
def test_weights_of_networkx(weight: Any, error: type[Exception]) -> None:
    given = nx.Graph([("a", "b", {"weight": 1}), ("b", "c", {"weight": weight})])
    for weights in (None, [1, weight]):
        with pytest.raises(error, match=r"the weight of edge \('b', 'c'\) is .*, but it must be a number of 64 bits"):
            graph.minimum_spanning_forest(given, weights)

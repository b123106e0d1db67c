"""The backend of NetworkX, against NetworkX. NetworkX's own tests take it by NETWORKX_TEST_BACKEND=warpsmith."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from warpsmith._networkx_info import FUNCTIONS, get_info

nx: Any = pytest.importorskip("networkx")
backend: Any = pytest.importorskip("warpsmith.networkx")

nx.config.warnings_to_ignore.add("cache")


def random_graph(seed: int, kind: Any) -> Any:
    rng = random.Random(seed)
    n = rng.choice([1, 2, 5, 30])
    # Nodes that are no numbers, and in another order.
    nodes: list[Any] = [str(i) if seed % 3 else i for i in range(n)]
    rng.shuffle(nodes)
    graph = kind()
    graph.add_nodes_from(nodes)
    graph.add_edges_from((rng.choice(nodes), rng.choice(nodes)) for _ in range(rng.randrange(2 * n)))
    return graph


def sets(found: Any) -> Any:
    return sorted((sorted(group, key=str) for group in found), key=str)


def pairs(found: Any) -> Any:
    return sets(frozenset(edge) for edge in found)


def outcome(function: Callable[[], Any]) -> Any:
    """The result, or the type and the text of the exception."""
    try:
        return function()
    except nx.NetworkXException as error:
        return type(error), str(error)


UNDIRECTED: list[tuple[Callable[..., Any], Callable[[Any], Any]]] = [
    (nx.connected_components, list),
    (nx.number_connected_components, int),
    (nx.is_connected, bool),
    (nx.bridges, list),
    (nx.has_bridges, bool),
    (nx.biconnected_components, sets),
    (nx.biconnected_component_edges, lambda found: sorted(map(pairs, found))),
    (nx.is_biconnected, bool),
    (nx.articulation_points, lambda found: sorted(found, key=str)),
]


@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiGraph])
@pytest.mark.parametrize("seed", range(25))
def test_undirected(seed: int, kind: Any) -> None:
    graph = random_graph(seed, kind)
    graphs = [graph, nx.subgraph_view(graph, filter_node=lambda node: str(node) != "1")]
    if kind is nx.MultiGraph:
        graphs.append(nx.subgraph_view(graph, filter_edge=lambda u, v, key: key == 0 and "2" not in (str(u), str(v))))
    for given in graphs:
        for function, form in UNDIRECTED:
            # NetworkX itself finds bridges of a multigraph in another order.
            form = pairs if function is nx.bridges and kind is nx.MultiGraph else form
            expected = outcome(lambda: form(function(given)))
            try:
                found = outcome(lambda: form(function(given, backend="warpsmith")))
            except NotImplementedError:
                assert function is nx.biconnected_component_edges and nx.number_of_selfloops(given)
                continue
            assert found == expected and type(found) is type(expected), function
        for node in list(given)[:3]:
            expected = nx.node_connected_component(given, node)
            assert nx.node_connected_component(given, node, backend="warpsmith") == expected
            assert pairs(nx.bridges(given, node, backend="warpsmith")) == pairs(nx.bridges(given, node))
            assert nx.has_bridges(given, node, backend="warpsmith") == nx.has_bridges(given, node)
    if kind is nx.Graph:
        parts = nx.algorithms.connectivity.bridge_components
        assert sets(parts(graph, backend="warpsmith")) == sets(parts(graph))


@pytest.mark.parametrize("kind", [nx.DiGraph, nx.MultiDiGraph])
@pytest.mark.parametrize("seed", range(15))
def test_directed(seed: int, kind: Any) -> None:
    graph = random_graph(seed, kind)
    expected = sets(nx.weakly_connected_components(graph))
    assert sets(nx.weakly_connected_components(graph, backend="warpsmith")) == expected
    for function in (nx.number_weakly_connected_components, nx.is_weakly_connected):
        assert function(graph, backend="warpsmith") == function(graph)
    # Not many are trees.
    assert ancestors(graph, backend="warpsmith") == ancestors(graph)


def ancestors(graph: Any, *args: Any, **kwargs: Any) -> Any:
    found = outcome(lambda: list(nx.tree_all_pairs_lowest_common_ancestor(graph, *args, **kwargs)))
    return found if isinstance(found, tuple) else {frozenset(pair): ancestor for pair, ancestor in found}


@pytest.mark.parametrize("seed", range(10))
def test_ancestors(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "_PAIRS", 100)
    rng = random.Random(seed)
    nodes = [str(i) for i in range(rng.choice([1, 2, 40]))]
    tree = nx.DiGraph((nodes[rng.randrange(i)], nodes[i]) for i in range(1, len(nodes)))
    tree.add_nodes_from(nodes)
    expected = ancestors(tree)
    assert len(expected) == len(nodes) * (len(nodes) + 1) // 2
    assert ancestors(tree, backend="warpsmith") == expected
    some = [(rng.choice(nodes), rng.choice(nodes)) for _ in range(30)]
    assert dict(nx.tree_all_pairs_lowest_common_ancestor(tree, pairs=some, backend="warpsmith")) == dict(
        nx.tree_all_pairs_lowest_common_ancestor(tree, pairs=some)
    )
    # A cycle that is no part of the tree.
    tree.add_edges_from([("x", "y"), ("y", "x"), ("y", "z")])
    assert ancestors(tree, backend="warpsmith") == ancestors(tree) == expected
    assert ancestors(tree, pairs=[("0", "x"), ("0", "0")], backend="warpsmith") == {frozenset("0"): "0"}
    assert ancestors(tree, pairs=[("0", "none")], backend="warpsmith") == ancestors(tree, pairs=[("0", "none")])


def test_what_networkx_refuses() -> None:
    directed, empty = nx.DiGraph([(0, 1)]), nx.Graph()
    for function in (nx.connected_components, nx.bridges, nx.articulation_points, nx.is_biconnected):
        with pytest.raises(nx.NetworkXNotImplemented):
            function(directed, backend="warpsmith")
    for tree in (nx.minimum_spanning_tree, nx.maximum_spanning_tree):
        with pytest.raises(nx.NetworkXNotImplemented):
            tree(nx.DiGraph([(0, 1), (1, 0), (1, 2)]), backend="warpsmith")
    with pytest.raises(nx.NetworkXPointlessConcept):
        nx.is_connected(empty, backend="warpsmith")
    assert not list(nx.connected_components(empty, backend="warpsmith"))
    assert not list(nx.bridges(empty, backend="warpsmith"))
    with pytest.raises(nx.NodeNotFound, match="Root node 7"):
        nx.has_bridges(nx.path_graph(3), 7, backend="warpsmith")
    with pytest.raises(KeyError):
        nx.node_connected_component(nx.path_graph(3), 7, backend="warpsmith")


def test_when_it_runs() -> None:
    assert set(get_info()["functions"]) == set(FUNCTIONS)
    assert all(callable(getattr(backend, name)) for name in FUNCTIONS)
    small, large = nx.path_graph(5), nx.path_graph(20_000)
    assert backend.should_run("bridges", (small,), {}) == "the graph has fewer than 10,000 nodes"
    assert backend.should_run("biconnected_components", (large,), {}) == "the graph has fewer than 100,000 nodes"
    assert backend.should_run("bridges", (), {"G": large}) is True
    assert isinstance(backend.should_run("connected_components", (large,), {}), str)
    converted = backend.convert_from_nx(large)
    assert backend.should_run("connected_components", (converted,), {}) is True
    assert backend.convert_to_nx(converted) is large and backend.convert_from_nx(converted) is converted
    with nx.config.backend_priority(algos=["warpsmith"]):
        assert len(list(nx.bridges(large))) == 19_999
        # Converted by now.
        assert backend.should_run("connected_components", (large,), {}) is True
        assert nx.number_connected_components(large) == 1
    large.add_edge(0, 19_999)
    assert not nx.has_bridges(large, backend="warpsmith")


@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiGraph])
@pytest.mark.parametrize("seed", range(20))
def test_spanning_forests(seed: int, kind: Any) -> None:
    graph = random_graph(seed, kind)
    rng = random.Random(seed)
    values: list[Any] = [0, 1, 2, -1, 2**60] if seed % 2 else [0.5, 1, -0.0, 0, float("inf"), -3.25]
    for *_, attributes in graph.edges(data=True):
        if rng.randrange(5):
            attributes["cost"] = rng.choice(values)
    for function in (nx.minimum_spanning_edges, nx.maximum_spanning_edges):
        for keys, data in [(True, True), (True, False), (False, True), (False, False)]:
            arguments = {"weight": "cost", "keys": keys, "data": data}
            assert list(function(graph, backend="warpsmith", **arguments)) == list(function(graph, **arguments))
    for function in (nx.minimum_spanning_tree, nx.maximum_spanning_tree):
        graph.graph["name"] = "some"
        expected, found = function(graph, "cost"), function(graph, "cost", backend="warpsmith")
        assert list(found.nodes(data=True)) == list(expected.nodes(data=True)) and found.graph == expected.graph
        assert list(found.edges(data=True)) == list(expected.edges(data=True)) and type(found) is type(expected)


def test_weights_of_spanning_forests() -> None:
    graph = nx.Graph([(0, 1, {"weight": float("nan")}), (1, 2, {"weight": 1})])
    with pytest.raises(ValueError, match=r"NaN found as an edge weight. Edge \(0, 1"):
        list(nx.minimum_spanning_edges(graph, backend="warpsmith"))
    assert list(nx.minimum_spanning_edges(graph, ignore_nan=True, data=False, backend="warpsmith")) == [(1, 2)]
    for weight in (2**70 + 1, 2**53 + 1, 10**400, "1", None, [1, 2]):
        with pytest.raises(NotImplementedError, match=r"the weight of edge \(0, 1\)"):
            backend.minimum_spanning_edges(backend.Graph(nx.Graph([(0, 1, {"weight": weight}), (1, 2, {"weight": 0.5})])))
    assert backend.can_run("minimum_spanning_tree", (graph,), {"algorithm": "prim"}) == "the algorithm is prim"
    assert backend.can_run("minimum_spanning_edges", (graph, "kruskal"), {}) is True

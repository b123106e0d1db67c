"""The backend ``warpsmith`` of NetworkX: connectivity, minimum spanning forests and lowest common ancestors on a GPU, or on
all cores of the CPU.

NetworkX finds it by itself where both are installed. A call takes it as ``nx.bridges(G, backend="warpsmith")``. With
``nx.config.backend_priority.algos = ["warpsmith"]``, or ``NETWORKX_BACKEND_PRIORITY_ALGOS=warpsmith`` in the
environment, all calls take it where it is quicker: for graphs that were converted before, for bridges from 10,000 nodes
on, for biconnected components from 100,000 nodes on.

Results are those of NetworkX, in another order where NetworkX's is that of its search: biconnected components, their
edges' directions, articulation points, pairs. NetworkX keeps the converted graph with the graph, so that further calls
don't convert it again.

Examples
--------
>>> import networkx as nx
>>> G = nx.barbell_graph(3, 0)
>>> list(nx.bridges(G, backend="warpsmith"))
[(2, 3)]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from functools import cached_property
from itertools import chain, pairwise
from numbers import Integral
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from . import graph as _graph, trees as _trees
from ._arrays import NUMBERS
from ._networkx_info import FUNCTIONS

# Functions that are so quick in NetworkX that they don't repay the conversion of the graph.
_QUICK = frozenset(name for name in FUNCTIONS if "connected_component" in name and "biconnected" not in name) | {
    "is_connected",
    "is_weakly_connected",
}

# Pairs of which lowest common ancestors are found at a time.
_PAIRS = 1_000_000


class Graph:
    """A graph of NetworkX as arrays, and what was found out about it."""

    __networkx_backend__ = "warpsmith"

    def __init__(self, graph: Any) -> None:
        self.origin = graph
        self.nodes = list(graph)
        numbers = range(len(self.nodes))
        self.index = dict(zip(self.nodes, numbers))
        adjacent = [of_node for _, of_node in graph.adjacency()]
        # Lengths of views count neighbours that these leave out.
        neighbours = list(map(list, adjacent))
        sizes = np.fromiter(map(len, neighbours), np.int64, len(neighbours))
        heads = np.repeat(np.arange(len(neighbours), dtype=np.int32), sizes)
        ends = chain.from_iterable(neighbours)
        # Most graphs have their numbers for nodes.
        numbered = ends if self.nodes == list(numbers) else map(self.index.__getitem__, ends)
        tails = np.fromiter(numbered, np.int32, len(heads))
        # Undirected edges are there in both directions: once each they are in the order of NetworkX's edges.
        kept = np.full(len(heads), True) if graph.is_directed() else heads <= tails
        self.edges = np.column_stack([heads[kept], tails[kept]])
        self.is_multiple = np.zeros(len(self.edges), bool)
        if graph.is_multigraph():
            counts = (len(keys) > 1 for of_node in adjacent for keys in of_node.values())
            self.is_multiple = np.fromiter(counts, bool, len(heads))[kept]

    def is_directed(self) -> bool:
        return bool(self.origin.is_directed())

    def is_multigraph(self) -> bool:
        return bool(self.origin.is_multigraph())

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.nodes)

    def __contains__(self, node: Any) -> bool:
        return node in self.index

    @cached_property
    def components(self) -> _graph.Components:
        return _graph.components(self.edges, len(self))

    @cached_property
    def bridges(self) -> _graph.Bridges:
        return _graph.bridges(self.edges, len(self))

    @cached_property
    def biconnected(self) -> _graph.Biconnected:
        return _graph.biconnected(self.edges, len(self))

    def named(self, edges: npt.NDArray[Any]) -> list[tuple[Any, Any]]:
        """Edges of the nodes."""
        return [(self.nodes[u], self.nodes[v]) for u, v in edges.tolist()]


def convert_from_nx(graph: Any, **_: Any) -> Graph:
    """The graph for the backend's functions, which take weights and attributes from the graph itself."""
    return graph if isinstance(graph, Graph) else Graph(graph)


def convert_to_nx(result: Any, **_: Any) -> Any:
    """The graph of NetworkX; other results are NetworkX's."""
    return result.origin if isinstance(result, Graph) else result


def _argument(args: tuple[Any, ...], kwargs: Mapping[str, Any], place: int, name: str) -> Any:
    return args[place] if len(args) > place else kwargs.get(name)


def can_run(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool | str:
    """Whether the backend has this function for such arguments."""
    if name == "tree_all_pairs_lowest_common_ancestor" and _argument(args, kwargs, 1, "root") is not None:
        return "a subtree's root is given"
    if "spanning" in name:
        algorithm = _argument(args, kwargs, 2 if "tree" in name else 1, "algorithm")
        return algorithm in (None, "kruskal") or f"the algorithm is {algorithm}"
    return True


def should_run(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool | str:
    """Whether the backend is quicker than NetworkX."""
    graph = _argument(args, kwargs, 0, "G")
    cache = getattr(graph, "__networkx_cache__", None) or {}
    if isinstance(graph, Graph) or "warpsmith" in cache.get("backends", ()):
        return True
    if name in _QUICK:
        return "the graph's conversion would take longer than NetworkX"
    least = 1000 if "ancestor" in name else 10_000 if "bridge" in name else 100_000
    return len(graph) >= least or f"the graph has fewer than {least:,} nodes"


def _groups(things: npt.NDArray[Any], labels: npt.NDArray[Any]) -> Iterator[list[int]]:
    """The things of each label, by ascending labels."""
    order = np.argsort(labels, kind="stable")
    ends = np.flatnonzero(np.diff(labels[order], append=-2)) + 1
    sorted_things = things[order].tolist()
    return (sorted_things[start:end] for start, end in pairwise([0, *ends.tolist()]))


def _sets(graph: Graph, labels: npt.NDArray[Any]) -> Iterator[set[Any]]:
    """The nodes of each label."""
    return ({graph.nodes[node] for node in group} for group in _groups(np.arange(len(graph)), labels))


def connected_components(G: Any) -> Iterator[set[Any]]:
    return _sets(G, G.components.labels)


def number_connected_components(G: Any) -> int:
    return int(G.components.component_count)


def is_connected(G: Any) -> bool:
    return _is_one(G, "Connectivity is undefined for the null graph.")


def node_connected_component(G: Any, n: Any) -> set[Any]:
    return _component(G, n)


def weakly_connected_components(G: Any) -> Iterator[set[Any]]:
    return _sets(G, G.components.labels)


def number_weakly_connected_components(G: Any) -> int:
    return int(G.components.component_count)


def is_weakly_connected(G: Any) -> bool:
    return _is_one(G, "Connectivity is undefined for the null graph.")


def _is_one(graph: Graph, text: str) -> bool:
    if not len(graph):
        raise nx.NetworkXPointlessConcept(text)
    return graph.components.component_count == 1


def _component(graph: Graph, node: Any) -> set[Any]:
    labels = graph.components.labels
    return {graph.nodes[other] for other in np.flatnonzero(labels == labels[graph.index[node]]).tolist()}


def bridges(G: Any, root: Any = None) -> Iterator[tuple[Any, Any]]:
    yield from G.named(G.edges[_bridges(G, root)])


def has_bridges(G: Any, root: Any = None) -> bool:
    return _bridges(G, root).size > 0


def _bridges(graph: Graph, root: Any) -> npt.NDArray[Any]:
    if root is not None and root not in graph:
        raise nx.NodeNotFound(f"Root node {root} is not in graph")
    found = graph.bridges.bridges
    found = found[~graph.is_multiple[found]]
    if root is None:
        return np.asarray(found)
    labels = graph.components.labels
    return np.asarray(found[labels[graph.edges[found, 0]] == labels[graph.index[root]]])


def bridge_components(G: Any) -> Iterator[set[Any]]:
    return _sets(G, G.bridges.labels)


def biconnected_components(G: Any) -> Iterator[set[Any]]:
    labels = G.biconnected.labels
    kept = labels >= 0
    groups = _groups(G.edges[kept].reshape(-1), np.repeat(labels[kept], 2))
    return ({G.nodes[node] for node in group} for group in groups)


def biconnected_component_edges(G: Any) -> Iterator[list[tuple[Any, Any]]]:
    if (G.edges[:, 0] == G.edges[:, 1]).any():
        # NetworkX has some of them in components, others not.
        raise NotImplementedError("the graph has self-loops")
    return (G.named(G.edges[group]) for group in _groups(np.arange(len(G.edges)), G.biconnected.labels))


def is_biconnected(G: Any) -> bool:
    ends = G.edges[G.biconnected.labels >= 0]
    return G.biconnected.component_count == 1 and np.unique(ends).size == len(G)


def articulation_points(G: Any) -> Iterator[Any]:
    return iter([G.nodes[point] for point in G.biconnected.points.tolist()])


def minimum_spanning_edges(
    G: Any,
    algorithm: str = "kruskal",
    weight: str = "weight",
    keys: bool = True,
    data: bool = True,
    ignore_nan: bool = False,
) -> Iterator[tuple[Any, ...]]:
    return _spanning_edges(G.origin, weight, keys, data, ignore_nan, maximum=False)


def maximum_spanning_edges(
    G: Any,
    algorithm: str = "kruskal",
    weight: str = "weight",
    keys: bool = True,
    data: bool = True,
    ignore_nan: bool = False,
) -> Iterator[tuple[Any, ...]]:
    return _spanning_edges(G.origin, weight, keys, data, ignore_nan, maximum=True)


def minimum_spanning_tree(G: Any, weight: str = "weight", algorithm: str = "kruskal", ignore_nan: bool = False) -> Any:
    return _spanning_tree(G.origin, weight, ignore_nan, maximum=False)


def maximum_spanning_tree(G: Any, weight: str = "weight", algorithm: str = "kruskal", ignore_nan: bool = False) -> Any:
    return _spanning_tree(G.origin, weight, ignore_nan, maximum=True)


def _spanning_tree(graph: Any, weight: str, ignore_nan: bool, *, maximum: bool) -> Any:
    if graph.is_directed():
        raise nx.NetworkXNotImplemented("not implemented for directed type")
    tree = graph.__class__()
    tree.graph.update(graph.graph)
    tree.add_nodes_from(graph.nodes.items())
    tree.add_edges_from(_spanning_edges(graph, weight, True, True, ignore_nan, maximum=maximum))
    return tree


def _spanning_edges(
    graph: Any, weight: str, keys: bool, data: bool, ignore_nan: bool, *, maximum: bool
) -> Iterator[tuple[Any, ...]]:
    """The forest's edges as Kruskal's algorithm finds them: by weight, and in the order of the graph's edges."""
    numbered = graph.is_multigraph()
    edges = list(graph.edges(keys=True, data=True) if numbered else graph.edges(data=True))
    return _ordered(graph, edges, _weights(edges, weight), keys, data, ignore_nan, maximum)


def _ordered(
    graph: Any,
    edges: list[Any],
    values: npt.NDArray[Any],
    keys: bool,
    data: bool,
    ignore_nan: bool,
    maximum: bool,
) -> Iterator[tuple[Any, ...]]:
    # A NaN is found at the first edge that is asked for, as in NetworkX.
    nan = np.flatnonzero(np.isnan(values))
    if nan.size:
        if not ignore_nan:
            raise ValueError(f"NaN found as an edge weight. Edge {edges[nan[0]]}")
        kept = np.flatnonzero(~np.isnan(values))
        edges, values = [edges[edge] for edge in kept.tolist()], values[kept]
    index = {node: number for number, node in enumerate(graph)}
    ends = np.array([(index[edge[0]], index[edge[1]]) for edge in edges], np.int32).reshape(-1, 2)
    found = _graph.minimum_spanning_forest(ends, values, len(index), maximum=maximum).edges
    order = values[found]
    if maximum:
        order = ~order if order.dtype.kind == "i" else -order
    for edge in found[np.argsort(order, kind="stable")].tolist():
        u, v, *key, attributes = edges[edge]
        yield (u, v, *(key if keys else ()), *((attributes,) if data else ()))


def _weights(edges: list[Any], name: str) -> npt.NDArray[Any]:
    """Weights as an array that orders them as Python does."""
    weights = [edge[-1].get(name, 1) for edge in edges]
    if all(isinstance(weight, Integral) and -(2**63) <= int(weight) < 2**63 for weight in weights):
        return np.array(weights, np.int64)
    for edge, weight in zip(edges, weights):
        if not _is_exact(weight):
            raise NotImplementedError(f"the weight of edge {edge[:-1]} is no number of 64 bits")
    return np.array(weights, np.float64)


def _is_exact(weight: Any) -> bool:
    """Whether this is a number that a float can hold."""
    try:
        return isinstance(weight, NUMBERS) and bool(weight != weight or float(weight) == weight)
    except OverflowError:
        return False


def tree_all_pairs_lowest_common_ancestor(
    G: Any, root: Any = None, pairs: Iterable[tuple[Any, Any]] | None = None
) -> Iterator[tuple[tuple[Any, Any], Any]]:
    if not len(G):
        raise nx.NetworkXPointlessConcept("LCA meaningless on null graphs.")
    if pairs is not None and not isinstance(pairs, (Mapping, Set)):
        pairs = set(pairs)
    for node in chain.from_iterable(pairs or ()):
        if node not in G:
            raise nx.NodeNotFound(f"The node {node} is not in the digraph.")
    parents, of_tree = _parents(G)
    yield from _ancestors(G, parents, of_tree, pairs)


def _parents(graph: Graph) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The parents of the tree's nodes, -1 for its root and all other nodes, and which nodes are the tree's."""
    degrees = np.bincount(graph.edges[:, 1], minlength=len(graph))
    sources = np.flatnonzero(degrees == 0)
    # NetworkX comes by the nodes in their order.
    second = sources[1] if sources.size > 1 else len(graph)
    if (degrees[:second] > 1).any():
        raise nx.NetworkXError("Tree LCA only defined on trees; use DAG routine.")
    if sources.size > 1:
        raise nx.NetworkXError("No root specified and tree has multiple sources.")
    if sources.size == 0:
        raise nx.NetworkXError("Graph contains a cycle.")
    parents = np.full(len(graph), -1, np.int32)
    parents[graph.edges[:, 1]] = graph.edges[:, 0]
    # All others are on cycles, or below them.
    labels = graph.components.labels
    of_tree = labels == labels[sources[0]]
    parents[~of_tree] = -1
    return parents, of_tree


def _ancestors(
    graph: Graph,
    parents: npt.NDArray[Any],
    of_tree: npt.NDArray[Any],
    pairs: Iterable[tuple[Any, Any]] | None,
) -> Iterator[tuple[tuple[Any, Any], Any]]:
    tree = _trees.root(parents=parents)
    if pairs is None:
        # Each node in postorder, with all before it.
        nodes = np.argsort(tree.postorder)
        nodes = nodes[of_tree[nodes]]
        rows = max(_PAIRS // len(nodes), 1)
        for first in range(0, len(nodes), rows):
            later = np.arange(first, min(first + rows, len(nodes)))
            counts = later + 1
            ends = np.repeat(later, counts)
            starts = np.arange(len(ends)) - np.repeat(np.cumsum(counts) - counts, counts)
            yield from _found(graph, tree, nodes[np.column_stack([starts, ends])])
    else:
        flat = chain.from_iterable((graph.index[u], graph.index[v]) for u, v in pairs)
        given = np.fromiter(flat, np.int32).reshape(-1, 2)
        yield from _found(graph, tree, given[of_tree[given].all(axis=1)])


def _found(graph: Graph, tree: _trees.Tree, pairs: npt.NDArray[Any]) -> Iterator[tuple[tuple[Any, Any], Any]]:
    names = graph.named(pairs)
    return zip(names, (graph.nodes[ancestor] for ancestor in _trees.lca(tree, pairs).tolist()))

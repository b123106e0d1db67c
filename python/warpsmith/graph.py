"""Undirected graphs: components, bridges, biconnected components, articulation points and minimum spanning forests.

Edges are given as one of these:

- an array_like of int of shape (m, 2): the two ends of each edge, in any order. Vertices are numbered from 0;
- a tuple of two one-dimensional arrays of NumPy: the first and the second end of each edge;
- a sparse matrix or array of SciPy, in any format: entry (i, j) joins i and j, whatever its value. Edges are numbered
  as the entries of ``matrix.tocoo()``;
- an array of int32 of shape (m, 2) on a GPU. Results are then on that GPU;
- an undirected graph of NetworkX. Results are then by its nodes and edges.

Loops, edges from a vertex to itself, and double edges are allowed.

Examples
--------
>>> from warpsmith import graph
>>> edges = [[0, 1], [1, 2], [2, 0], [1, 3], [3, 4]]
>>> graph.bridges(edges).bridges
array([3, 4], dtype=int32)
>>> graph.biconnected(edges).points
array([1, 3], dtype=int32)
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np

from . import _warpsmith
from ._arrays import NUMBERS, brief, on_gpu, weights_of
from ._edges import Edges, edges_of, is_sparse
from ._warpsmith import Device

__all__ = [
    "Biconnected",
    "Bridges",
    "Components",
    "MinimumSpanningForest",
    "SpanningForest",
    "biconnected",
    "bridges",
    "components",
    "minimum_spanning_forest",
    "spanning_forest",
]


class Components(NamedTuple):
    """The result of `components`."""

    labels: Any
    """For each vertex the smallest vertex of its component; of NetworkX a dictionary with the first node of it."""
    component_count: int
    """The number of components."""


class SpanningForest(NamedTuple):
    """The result of `spanning_forest`."""

    edges: Any
    """The numbers of the forest's edges, ascending; of NetworkX a list of edges."""
    labels: Any
    """As those of `Components`."""
    component_count: int
    """The number of components."""


class MinimumSpanningForest(NamedTuple):
    """The result of `minimum_spanning_forest`."""

    edges: Any
    """The numbers of the forest's edges, ascending; of NetworkX a list of edges."""
    total: float
    """The sum of their weights: an exact int if weights are whole numbers."""
    labels: Any
    """As those of `Components`."""
    component_count: int
    """The number of components."""


class Bridges(NamedTuple):
    """The result of `bridges`."""

    bridges: Any
    """The numbers of the edges that are bridges, ascending; of NetworkX a list of edges."""
    labels: Any
    """For each vertex the smallest vertex of its 2-edge-connected component; of NetworkX a dictionary."""
    component_count: int
    """The number of 2-edge-connected components."""


class Biconnected(NamedTuple):
    """The result of `biconnected`."""

    labels: Any
    """For each edge the number of its biconnected component, -1 for loops; of NetworkX a dictionary without loops."""
    points: Any
    """The articulation points, ascending; of NetworkX a list of nodes."""
    component_count: int
    """The number of biconnected components that have edges."""


def _by_node(edges: Edges, labels: Any) -> Any:
    """Labels of vertices by vertices that are theirs."""
    if edges.nodes is None:
        return labels
    return dict(zip(edges.nodes, (edges.nodes[label] for label in labels.tolist())))


def _of(things: list[Any] | None, numbers: Any) -> Any:
    """The things of these numbers, where they have names."""
    return numbers if things is None else [things[number] for number in numbers.tolist()]


def components(edges: Any, n: int | None = None, *, device: Device | str | None = None) -> Components:
    """The connected components.

    Parameters
    ----------
    edges : array_like, sparse matrix or graph
        The edges, in any of the module's forms.
    n : int, optional
        The number of vertices. By default that of the matrix or graph; of an array one more than its greatest element.
    device : Device or str, optional
        The device that computes; by default the edges' own, or the best device.

    Returns
    -------
    Components
        `labels` of shape (n,) and type int32, and the number of components.

    Raises
    ------
    ValueError
        If an end is not a vertex (the text names the first such edge), the shape is wrong, or a graph is directed.
    TypeError
        If the ends are not whole numbers.
    MemoryError
        If the device or the host has too little memory.

    Examples
    --------
    >>> components([[0, 3], [3, 1]], n=5)
    Components(labels=array([0, 0, 2, 0, 4], dtype=int32), component_count=3)
    """
    given = edges_of(edges, n)
    (labels,), count = _warpsmith.components(given.pairs, given.n, False, device)
    return Components(_by_node(given, labels), count)


def spanning_forest(edges: Any, n: int | None = None, *, device: Device | str | None = None) -> SpanningForest:
    """A spanning forest: for each component the edges of a tree that connects it.

    Parameters
    ----------
    edges, n, device
        As in `components`.

    Returns
    -------
    SpanningForest
        The numbers of the forest's edges, which are n less the number of components, and the components. Which forest
        is found may differ from call to call.

    Raises
    ------
    ValueError, TypeError, MemoryError
        As `components`.

    Examples
    --------
    >>> spanning_forest([[0, 1], [2, 2], [1, 2]]).edges
    array([0, 2], dtype=int32)
    """
    given = edges_of(edges, n)
    (labels, forest), count = _warpsmith.components(given.pairs, given.n, True, device)
    return SpanningForest(_of(given.names, forest), _by_node(given, labels), count)


def minimum_spanning_forest(
    edges: Any,
    weights: Any = None,
    n: int | None = None,
    *,
    maximum: bool = False,
    device: Device | str | None = None,
) -> MinimumSpanningForest:
    """The minimum spanning forest: for each component the edges of least total weight that connect it.

    Of edges of equal weight, those that come first count as lighter, so that there is one result.

    Parameters
    ----------
    edges, n, device
        As in `components`.
    weights : array_like, optional
        A real number for each edge; on a GPU if the edges are. By default the values of a sparse matrix, or the
        attribute ``"weight"`` of a graph of NetworkX, of which another name may be given. An edge without it weighs 1.
    maximum : bool, optional
        Whether the forest's weight is the greatest, and not the least. Weights on a GPU have to be negated instead.

    Returns
    -------
    MinimumSpanningForest
        The numbers of the forest's edges, their total weight, and the components.

    Raises
    ------
    ValueError
        As `components`; or if a weight is NaN (the text names the first such edge), or there isn't one for each edge.
    TypeError, MemoryError
        As `components`.

    Examples
    --------
    >>> forest = minimum_spanning_forest([[0, 1], [1, 2], [2, 0]], [2.5, 2.0, 1.0])
    >>> forest.edges, forest.total
    (array([1, 2], dtype=int32), 3.0)
    """
    given = edges_of(edges, n)
    if given.names is not None and (weights is None or isinstance(weights, str)):
        name = "weight" if weights is None else weights
        weights = [weight for *_, weight in edges.edges(data=name, default=1)]
    elif weights is None and is_sparse(edges):
        weights = edges.tocoo().data
    elif weights is None:
        raise ValueError("weights are missing: edges have none of their own")
    there = on_gpu(weights)
    if there is not None and maximum:
        raise ValueError("maximum takes weights in host memory: negate those on a GPU")
    if given.names is not None and there is None:
        weights = list(weights)
        _check_weights(weights, given.names)
    values: Any = weights_of(weights) if there is None else there
    is_whole = np.dtype(values.dtype).kind == "i"
    if maximum:
        # The complement has no overflow.
        values = ~values if is_whole else -values
    (labels, forest), total, count = _warpsmith.minimum_spanning_forest(given.pairs, values, given.n, device)
    if maximum:
        total = -total - len(forest) if is_whole else -total
    return MinimumSpanningForest(_of(given.names, forest), total, _by_node(given, labels), count)


def _check_weights(weights: list[Any], names: list[Any]) -> None:
    """Refuses the first weight that is none, with the name of its edge."""
    most = 2**63 if all(isinstance(weight, Integral) for weight in weights) else 2**1024
    for weight, name in zip(weights, names):
        is_real = isinstance(weight, NUMBERS)
        if not is_real or weight != weight or (isinstance(weight, Integral) and not -most <= int(weight) < most):
            error = ValueError if is_real else TypeError
            raise error(f"the weight of edge {name} is {brief(weight)}, but it must be a number of 64 bits")


def bridges(
    edges: Any,
    n: int | None = None,
    *,
    double: Literal["apart", "one"] | None = None,
    device: Device | str | None = None,
) -> Bridges:
    """The bridges, and the 2-edge-connected components that remain without them.

    A bridge is an edge whose removal adds a component.

    Parameters
    ----------
    edges, n, device
        As in `components`.
    double : {"apart", "one"}, optional
        Whether several edges between the same two vertices are edges of their own, of which none is a bridge, or one
        edge: then all are bridges or none is. By default ``"one"`` for a sparse matrix, which has both (i, j) and
        (j, i), and otherwise ``"apart"``.

    Returns
    -------
    Bridges
        The numbers of the bridges, `labels` of shape (n,), and the number of 2-edge-connected components.

    Raises
    ------
    ValueError, TypeError, MemoryError
        As `components`.

    Examples
    --------
    >>> bridges([[0, 1], [1, 2], [1, 2]])
    Bridges(bridges=array([0], dtype=int32), labels=array([0, 1, 1], dtype=int32), component_count=2)
    """
    if double not in ("apart", "one", None):
        raise ValueError(f'double is {double!r}: "apart" or "one"')
    given = edges_of(edges, n)
    arcs = given.arcs if double is None else double == "one"
    (labels, found), count = _warpsmith.bridges(given.pairs, given.n, arcs, device)
    return Bridges(_of(given.names, found), _by_node(given, labels), count)


def biconnected(edges: Any, n: int | None = None, *, device: Device | str | None = None) -> Biconnected:
    """The biconnected components of the edges, and the articulation points.

    Two edges are in the same biconnected component if a cycle without repeated vertices contains both. An articulation
    point is a vertex whose removal adds components.

    Parameters
    ----------
    edges, n, device
        As in `components`.

    Returns
    -------
    Biconnected
        `labels` of shape (m,), the articulation points, and the number of biconnected components. A label is the
        component's smallest vertex, not counting the vertex nearest to the smallest vertex of the connected component.

    Raises
    ------
    ValueError, TypeError, MemoryError
        As `components`.

    Examples
    --------
    >>> biconnected([[0, 1], [1, 2], [2, 0], [1, 3]])
    Biconnected(labels=array([1, 1, 1, 3], dtype=int32), points=array([1], dtype=int32), component_count=2)
    """
    given = edges_of(edges, n)
    (labels, points), count = _warpsmith.biconnected(given.pairs, given.n, device)
    if given.names is not None and given.nodes is not None:
        named = zip(given.names, labels.tolist())
        labels = {name: given.nodes[label] for name, label in named if label >= 0}
    return Biconnected(labels, _of(given.nodes, points), count)

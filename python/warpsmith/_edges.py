"""Readers of edges: arrays, sparse matrices, graphs of NetworkX."""

from __future__ import annotations

import sys
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._arrays import as_array, on_gpu, whole, wholes
from ._warpsmith import DeviceArray

# The most vertices, and the most edges.
MOST = 2**31 - 2


class Edges(NamedTuple):
    """Edges between numbered vertices."""

    pairs: npt.NDArray[np.int32] | DeviceArray
    """Two elements for each edge; of a DeviceArray, a row."""
    n: int | None
    """The number of vertices; None if it is one more than the greatest."""
    arcs: bool = False
    """Whether edges between the same vertices are one."""
    nodes: list[Any] | None = None
    """The vertices' names, of a graph of NetworkX."""
    names: list[Any] | None = None
    """The edges' names."""


def edges_of(given: Any, n: Any) -> Edges:
    """The edges of an argument ``edges``."""
    count = None if n is None else whole(n, "n", 0, MOST)
    there = on_gpu(given)
    if there is not None:
        return Edges(there, count)
    if is_sparse(given):
        if len(given.shape) != 2 or given.shape[0] != given.shape[1]:
            raise ValueError(f"edges is a matrix of the shape {given.shape}, but an adjacency matrix is square")
        matrix = given.tocoo()
        ends = as_pairs(np.column_stack([matrix.row, matrix.col]), "edges")
        return Edges(ends, given.shape[0] if count is None else count, arcs=True)
    networkx = sys.modules.get("networkx")
    if networkx is not None and isinstance(given, networkx.Graph):
        if given.is_directed():
            raise ValueError("edges is a directed graph: pass edges.to_undirected()")
        if n is not None:
            raise ValueError("n is given, but a graph of NetworkX has its own vertices")
        nodes = list(given)
        index = dict(zip(nodes, range(len(nodes))))
        names = list(given.edges(keys=True)) if given.is_multigraph() else list(given.edges())
        flat = chain.from_iterable((index[name[0]], index[name[1]]) for name in names)
        return Edges(np.fromiter(flat, np.int32, 2 * len(names)), len(nodes), False, nodes, names)
    if (
        isinstance(given, tuple)
        and len(given) == 2
        and all(hasattr(ends, "__array__") and getattr(ends, "ndim", 0) == 1 for ends in given)
    ):
        if len(given[0]) != len(given[1]):
            raise ValueError(f"edges are arrays of {len(given[0])} and {len(given[1])} ends, but edges have two")
        given = np.column_stack([as_array(ends) for ends in given])
    return Edges(as_pairs(given, "edges"), count)


def is_sparse(given: Any) -> bool:
    """Whether this is a sparse matrix or array of SciPy, which isn't imported for it."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(given))


def as_pairs(given: Any, what: str) -> npt.NDArray[np.int32] | DeviceArray:
    """Pairs of vertices: of the host, two elements for each."""
    there = on_gpu(given)
    if there is not None:
        return there
    array = wholes(given, what, "; numpy.unique(..., return_inverse=True) numbers names")
    if array.size == 0 and array.ndim <= 2:
        return np.empty(0, np.int32)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"{what} has the shape {array.shape}, but it must be (n, 2)")
    if array.dtype.itemsize >= 4 and array.dtype != np.int32:
        wrong = np.flatnonzero((array < 0) | (array > MOST))
        if wrong.size:
            row = int(wrong[0]) // 2
            found = ", ".join(map(str, array[row].tolist()))
            raise ValueError(f"{what}[{row}] is ({found}), but vertices are numbered from 0, and at most to 2^31 - 2")
    return np.ascontiguousarray(array, np.int32).reshape(-1)

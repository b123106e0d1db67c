"""Trees and forests: rooting, orders, lowest common ancestors, and sums along paths and over subtrees.

Examples
--------
>>> from warpsmith import trees
>>> tree = trees.root([[1, 0], [1, 4], [0, 3], [2, 1]], root=0)
>>> tree.parent, tree.size
(array([-1,  0,  1,  0,  1], dtype=int32), array([5, 3, 1, 1, 1], dtype=int32))
>>> trees.lca(tree, [[4, 2], [3, 2]])
array([1, 0], dtype=int32)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _warpsmith
from ._arrays import on_gpu, weights_of, whole, wholes
from ._edges import as_pairs, edges_of
from ._warpsmith import Device

__all__ = ["Sums", "Tree", "lca", "root", "sums"]


class _Numbers(NamedTuple):
    parent: Any
    """The parent of each vertex, -1 for roots."""
    depth: Any
    """The number of edges between each vertex and its root."""
    size: Any
    """The number of vertices of each vertex's subtree, including itself."""
    preorder: Any
    """The number of vertices that a depth-first search enters before each vertex."""
    postorder: Any
    """The number of vertices that it leaves before each vertex."""
    first: Any
    """The position at which the Euler tour, of two positions per vertex, enters each vertex."""
    last: Any
    """The position at which it leaves each vertex."""
    tree_count: int
    """The number of trees."""


class Tree(_Numbers):
    """A rooted tree or forest: a named tuple of arrays of int32 of shape (n,), and the number of trees.

    `root` makes it. It keeps 16 bytes per vertex on the device for `lca` and `sums`. A copy or an unpickled one doesn't
    have them, and is rooted again at the first question.
    """

    _rooted: _warpsmith.Rooted | None = None

    # The arrays are all that is copied and pickled.
    def __getstate__(self) -> None:
        return None


class Sums(NamedTuple):
    """The result of `sums`."""

    paths: Any
    """For each vertex the sum over all vertices from its root to it."""
    subtrees: Any
    """For each vertex the sum over it and all vertices below it."""


def _vertex(root: Any) -> int | None:
    return None if root is None else whole(root, "root", 0, 2**31 - 1)


def root(
    edges: Any = None,
    *,
    parents: Any = None,
    root: int | None = None,
    n: int | None = None,
    device: Device | str | None = None,
) -> Tree:
    """Roots a tree or a forest.

    Parameters
    ----------
    edges : array_like or sparse matrix, optional
        The edges, in any form that `warpsmith.graph` takes except for graphs of NetworkX: in any order and direction,
        each once or all of them in both directions.
    parents : (n,) array_like of int, or array of int32 on a GPU, optional
        Instead of edges, the parent of each vertex, -1 for roots.
    root : int, optional
        The root of the only tree. By default each tree's root is its least vertex; with `parents`, the vertex without
        one.
    n : int, optional
        The number of vertices, for edges; by default as in `warpsmith.graph.components`.
    device : Device or str, optional
        The device that computes; by default the input's own, or the best device.

    Returns
    -------
    Tree
        Trees are in the order of their roots. Children are in the order of their edges, or with `parents` of their own
        numbers.

    Raises
    ------
    ValueError
        If that is not a forest with such a root: the text names the first vertex or edge that offends.
    TypeError
        If the elements are not whole numbers, or edges and parents are both given or both missing.
    MemoryError
        If the device or the host has too little memory.

    Examples
    --------
    >>> root(parents=[-1, 0, 0]).preorder
    array([0, 1, 2], dtype=int32)
    """
    if (edges is None) == (parents is None):
        raise TypeError("either edges or parents are needed")
    if edges is None:
        if n is not None:
            raise ValueError("n is given, but there are as many vertices as parents")
        made = _warpsmith.root(_parents(parents), True, None, _vertex(root), device)
    else:
        given = edges_of(edges, n)
        if given.nodes is not None:
            raise TypeError("edges is a graph of NetworkX: pass an array of numbered vertices")
        made = _warpsmith.root(given.pairs, False, given.n, _vertex(root), device)
    rooted, numbers, count = made
    tree = Tree._make([*numbers, count])
    tree._rooted = rooted
    return tree


def _parents(parents: Any) -> Any:
    there = on_gpu(parents)
    if there is not None:
        return there
    array = wholes(parents, "parents")
    if array.ndim != 1:
        raise ValueError(f"parents has the shape {array.shape}, but it must have one dimension")
    if array.dtype.itemsize >= 4 and array.dtype != np.int32:
        wrong = np.flatnonzero((array < -1) | (array >= array.size))
        if wrong.size:
            vertex = wrong[0]
            found = f"the parent of vertex {vertex} is {array[vertex]}"
            raise ValueError(f"{found}, which is neither a vertex (there are {array.size}, from 0) nor -1")
    return array.astype(np.int32, copy=False)


def _rooted(tree: Any) -> _warpsmith.Rooted:
    """The tree on its device."""
    if not isinstance(tree, Tree):
        raise TypeError(f"tree is of the type {type(tree).__name__}, but it must be a Tree: root() makes one")
    if tree._rooted is None:
        tree._rooted = root(parents=tree.parent)._rooted
    assert tree._rooted is not None
    return tree._rooted


def lca(tree: Tree, pairs: Any) -> Any:
    """The lowest common ancestors of pairs of vertices. A vertex is an ancestor of itself.

    The first call for a tree prepares a table of it on the device.

    Parameters
    ----------
    tree : Tree
        The result of `root`.
    pairs : (k, 2) array_like of int, or array of int32 on the tree's GPU
        The pairs.

    Returns
    -------
    (k,) ndarray of int32, or DeviceArray
        The ancestors; -1 for vertices of different trees.

    Raises
    ------
    ValueError
        If a pair is not of vertices: the text names the first such pair.
    TypeError
        If the pairs are not whole numbers, or the tree is not a `Tree`.
    MemoryError
        If the device or the host has too little memory.

    Examples
    --------
    >>> lca(root(parents=[-1, 0, 1, 1]), [[2, 3], [2, 1]])
    array([1, 1], dtype=int32)
    """
    return _rooted(tree).lca(as_pairs(pairs, "pairs"))


def sums(tree: Tree, weights: Any) -> Sums:
    """Sums of weights along the paths from the roots, and over subtrees.

    Parameters
    ----------
    tree : Tree
        The result of `root`.
    weights : (n,) array_like, or array on the tree's GPU
        The weight of each vertex: int32, int64, float32 or float64. Integers wrap. On a GPU, floats are not checked to
        be finite; with others, sums of other vertices may be NaN.

    Returns
    -------
    Sums
        Arrays of the weights' type. Floats are added in double precision as differences of sums over the whole forest:
        the error is at most a few dozen times 2^-53 of the sum of all magnitudes.

    Raises
    ------
    ValueError
        If there are not as many weights as vertices, or the sum of their magnitudes is not finite.
    TypeError
        If the weights are of another type, or the tree is not a `Tree`.
    MemoryError
        If the device or the host has too little memory.

    Examples
    --------
    >>> sums(root(parents=[-1, 0, 0]), [1.0, 2.0, 4.0])
    Sums(paths=array([1., 3., 5.]), subtrees=array([7., 2., 4.]))
    """
    rooted, there = _rooted(tree), on_gpu(weights)
    if there is not None:
        return Sums(*rooted.sums(there))
    array = weights_of(weights)
    with np.errstate(over="ignore"):
        is_finite = array.dtype.kind != "f" or np.isfinite(np.abs(array).sum(dtype=np.float64))
    if not is_finite:
        wrong = np.flatnonzero(~np.isfinite(array))
        found = "the sum of the weights' magnitudes is infinite"
        if wrong.size:
            found = f"weights[{wrong[0]}] is {array[wrong[0]]}"
        raise ValueError(f"{found}, but sums in trees are of finite numbers")
    return Sums(*rooted.sums(array))

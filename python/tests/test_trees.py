"""Trees, against walks of their own."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import warpsmith
from warpsmith import trees


def random_parents(seed: int, n: int, roots: int = 1) -> npt.NDArray[np.int64]:
    """Parents of a forest with names at random."""
    rng = np.random.default_rng(seed)
    parents = np.array([-1 if i < roots else rng.integers(0, i) for i in range(n)])
    name = rng.permutation(n)
    renamed = np.full(n, -1)
    renamed[name] = np.where(parents < 0, -1, name[parents])
    return renamed


def walked(parents: npt.NDArray[np.int64]) -> dict[str, list[int]]:
    """All numbers, by a depth-first search in which children ascend."""
    n = len(parents)
    children: list[list[int]] = [[] for _ in range(n)]
    for vertex, parent in enumerate(parents.tolist()):
        if parent >= 0:
            children[parent].append(vertex)
    numbers = {name: [0] * n for name in ("depth", "size", "preorder", "postorder", "first", "last")}
    entered = left = 0
    stack = [(root, False) for root in range(n - 1, -1, -1) if parents[root] < 0]
    while stack:
        vertex, done = stack.pop()
        if done:
            numbers["postorder"][vertex], numbers["last"][vertex] = left, entered + left
            numbers["size"][vertex] = 1 + sum(numbers["size"][child] for child in children[vertex])
            left += 1
            continue
        numbers["preorder"][vertex], numbers["first"][vertex] = entered, entered + left
        numbers["depth"][vertex] = 0 if parents[vertex] < 0 else numbers["depth"][parents[vertex]] + 1
        entered += 1
        stack.append((vertex, True))
        stack.extend((child, False) for child in reversed(children[vertex]))
    return numbers


def ancestors(parents: Any, vertex: int) -> list[int]:
    path = [vertex]
    while parents[path[-1]] >= 0:
        path.append(int(parents[path[-1]]))
    return path


@pytest.mark.parametrize(("n", "roots"), [(1, 1), (2, 1), (2, 2), (7, 3), (100, 1), (100, 5), (4096, 40), (4097, 40), (32_768, 40), (32_769, 40)])
def test_numbers(n: int, roots: int) -> None:
    parents = random_parents(n, n, roots)
    tree = trees.root(parents=parents)
    assert tree.tree_count == roots
    assert tree.parent.tolist() == parents.tolist()
    for name, expected in walked(parents).items():
        assert getattr(tree, name).tolist() == expected, name
        assert getattr(tree, name).dtype == np.int32


@pytest.mark.parametrize("seed", range(8))
def test_edges(seed: int) -> None:
    sp = pytest.importorskip("scipy.sparse")
    n = 50
    parents = random_parents(seed, n)
    root = int(np.flatnonzero(parents < 0)[0])
    below = np.flatnonzero(parents >= 0)
    edges = np.random.default_rng(seed).permuted(np.column_stack([below, parents[below]]), axis=1)
    both = np.concatenate([edges, edges[:, ::-1]])
    matrix = sp.coo_array((np.ones(len(edges)), tuple(edges.T)), (n, n)).tocsr()
    for form in (edges, both, matrix, (edges[:, 0].copy(), edges[:, 1].copy())):
        tree = trees.root(form, root=root)
        assert tree.parent.tolist() == parents.tolist()
        assert tree.depth.tolist() == walked(parents)["depth"] and tree.size.tolist() == walked(parents)["size"]
    least = trees.root(edges)
    assert least.tree_count == 1 and least.parent[0] == -1
    assert trees.root([], n=3).tree_count == 3 and trees.root([[1, 2]], n=4).parent.tolist() == [-1, -1, 1, -1]


@pytest.mark.parametrize("roots", [1, 4])
@pytest.mark.parametrize("copies", [1, 10])
def test_ancestors(roots: int, copies: int) -> None:
    parents = random_parents(roots, 90, roots)
    tree = trees.root(parents=parents)
    pairs = np.random.default_rng(0).integers(0, 90, (500, 2))
    # One thread answers few questions, a device many.
    found = trees.lca(tree, np.tile(pairs, (copies, 1)))[-500:]
    for (u, v), ancestor in zip(pairs.tolist(), found.tolist()):
        above = set(ancestors(parents, u))
        assert ancestor == next((vertex for vertex in ancestors(parents, v) if vertex in above), -1)
    assert found.dtype == np.int32 and trees.lca(tree, []).shape == (0,)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_sums(dtype: str) -> None:
    parents = random_parents(3, 400, 2)
    weights = np.random.default_rng(1).integers(-9, 9, 400).astype(dtype)
    paths, subtrees = trees.sums(trees.root(parents=parents), weights)
    expected = np.zeros(400)
    for vertex in range(400):
        path = ancestors(parents, vertex)
        assert paths[vertex] == weights[path].sum()
        expected[path] += weights[vertex]
    np.testing.assert_array_equal(subtrees, expected)
    assert paths.dtype == subtrees.dtype == dtype


def test_copies() -> None:
    tree = trees.root([[0, 2], [2, 1]], root=1)
    for again in (pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree), copy.copy(tree)):
        assert isinstance(again, trees.Tree)
        for own, other in zip(tree, again):
            np.testing.assert_array_equal(own, other)
        assert trees.lca(again, [[0, 1]]).tolist() == [1]
        assert trees.sums(again, [1, 2, 4]).paths.tolist() == [7, 2, 6]


def test_device_arrays() -> None:
    def there(values: Any, dtype: Any = np.int32) -> warpsmith.DeviceArray:
        return warpsmith.DeviceArray(np.array(values, dtype), "cpu")

    for tree in (trees.root(there([[0, 1], [1, 2]]), root=1), trees.root(parents=there([1, -1, 1]))):
        assert all(isinstance(array, warpsmith.DeviceArray) for array in tree[:-1])
        assert tree.parent.numpy().tolist() == [1, -1, 1] and tree.preorder.numpy().tolist() == [1, 0, 2]
        assert trees.lca(tree, there([[0, 2], [1, 1]])).numpy().tolist() == [1, 1]
        sums = trees.sums(tree, there([1, 2, 4], np.float32))
        assert (sums.paths.numpy().tolist(), sums.subtrees.numpy().tolist()) == ([3, 2, 6], [1, 7, 4])


def test_nothing() -> None:
    for tree in (trees.root([]), trees.root(parents=[]), trees.root(parents=np.empty(0))):
        assert tree.tree_count == 0 and tree.parent.shape == (0,)
        assert trees.lca(tree, []).shape == (0,)
        assert trees.sums(tree, []).paths.shape == (0,)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"edges": [[0, 1], [1, 1]]}, ValueError, "edge 1 joins vertex 1 with itself"),
        ({"edges": [[0, 1], [0, 1]]}, ValueError, r"edge 1, \(0, 1\), repeats edge 0"),
        ({"edges": [[0, 1], [1, 2], [2, 0]]}, ValueError, r"edge 2, \(2, 0\), closes a circle"),
        ({"edges": [[0, 1]], "n": 3, "root": 0}, ValueError, "vertex 2 is not connected with root 0"),
        ({"edges": [[0, 1]], "root": 2}, ValueError, "root 2 is not a vertex"),
        ({"edges": [[0, 1]], "root": -1}, ValueError, "root is -1"),
        ({"edges": [[0, 1]], "root": 2**70}, ValueError, "root is"),
        ({"edges": [[0, 1]], "root": 0.5}, TypeError, "root is 0.5"),
        ({"edges": [[0, 1]], "n": -2}, ValueError, "n is -2"),
        ({"parents": [1, 0]}, ValueError, "vertex 0 is its own ancestor"),
        ({"parents": [0]}, ValueError, "vertex 0 is its own parent"),
        ({"parents": [-1, 5]}, ValueError, "the parent of vertex 1 is 5"),
        ({"parents": [-1, 2**40]}, ValueError, f"the parent of vertex 1 is {2**40}"),
        ({"parents": [-1, -1], "root": 0}, ValueError, "vertex 1 has no parent, though the root is 0"),
        ({"parents": [[-1]]}, ValueError, r"parents has the shape \(1, 1\)"),
        ({"parents": [0.5]}, TypeError, "parents is an array of float64"),
        ({"parents": [-1], "n": 1}, ValueError, "n is given"),
        ({}, TypeError, "either edges or parents"),
        ({"edges": [], "parents": []}, TypeError, "either edges or parents"),
    ],
)
def test_what_is_no_tree(arguments: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        trees.root(**arguments)


def test_other_arguments() -> None:
    tree = trees.root(parents=[-1, 0])
    other: Any = [-1, 0]
    with pytest.raises(TypeError, match="tree is of the type list"):
        trees.lca(other, [[0, 1]])
    with pytest.raises(ValueError, match=r"pair 0 is \(0, 2\), but there are 2 vertices"):
        trees.lca(tree, [[0, 2]])
    with pytest.raises(ValueError, match=r"pairs has the shape \(2,\)"):
        trees.lca(tree, [0, 1])
    with pytest.raises(TypeError, match="pairs is an array of float64"):
        trees.lca(tree, [[0.0, 1.0]])
    with pytest.raises(ValueError, match="weights has 3 elements, but 2 are needed"):
        trees.sums(tree, [1, 2, 3])
    with pytest.raises(TypeError, match="weights are int32, int64, float32 or float64"):
        trees.sums(tree, [1j, 2])
    with pytest.raises(ValueError, match=r"weights\[1\] is nan"):
        trees.sums(tree, [1.0, np.nan])
    with pytest.raises(ValueError, match="magnitudes is infinite"):
        trees.sums(tree, [1e308, -1e308])

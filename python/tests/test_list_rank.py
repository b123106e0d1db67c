"""Linked lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from warpsmith import list_rank


def random_list(seed: int, n: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """A list, and its elements in order."""
    order = np.random.default_rng(seed).permutation(n)
    successors = np.full(n, -1)
    successors[order[:-1]] = order[1:]
    return successors, order


@pytest.mark.parametrize("n", [1, 2, 3, 31, 1000, 100_000])
@pytest.mark.parametrize("dtype", ["int16", "int32", "int64"])
def test_ranks(n: int, dtype: str) -> None:
    if n > np.iinfo(dtype).max:
        pytest.skip("no such list")
    successors, order = random_list(n, n)
    given = successors.astype(dtype)
    ranks = list_rank.rank(given)
    assert ranks.dtype == np.int32
    np.testing.assert_array_equal(ranks[order], np.arange(n))
    np.testing.assert_array_equal(list_rank.rank(given, int(order[0]), device="cpu"), ranks)
    np.testing.assert_array_equal(list_rank.rank(np.repeat(given, 3)[::3]), ranks)
    np.testing.assert_array_equal(list_rank.order(given), order)
    np.testing.assert_array_equal(list_rank.order(given, int(order[0]), device="cpu"), order)


def test_no_elements() -> None:
    empty: list[Any] = [[], np.empty(0), np.empty(0, np.int64)]
    for nothing in empty:
        assert list_rank.rank(nothing).shape == (0,)
        assert list_rank.order(nothing).shape == (0,)
        assert list_rank.forest(nothing).list_count == 0
        assert list_rank.prefix_sums(nothing, []).shape == (0,)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("n", [1, 2, 5000, 50_000])
def test_sums(n: int, dtype: str) -> None:
    successors, order = random_list(1, n)
    weights = np.random.default_rng(2).integers(-9, 9, n).astype(dtype)
    sums = list_rank.prefix_sums(successors, weights)
    assert sums.dtype == dtype
    np.testing.assert_array_equal(sums[order], np.append(0, np.cumsum(weights[order])[:-1]))


@pytest.mark.parametrize("largest", [2000, 40_000])
def test_forests(largest: int) -> None:
    sizes = [1, 7, 300, 1, largest]
    lists = [random_list(seed, size) for seed, size in enumerate(sizes)]
    starts = np.cumsum([0, *sizes[:-1]])
    parts = [np.where(successors < 0, -1, successors + start) for (successors, _), start in zip(lists, starts)]
    forest = list_rank.forest(np.concatenate(parts))
    assert forest.list_count == 5
    for number, ((_, order), start) in enumerate(zip(lists, starts)):
        np.testing.assert_array_equal(forest.ranks[order + start], np.arange(len(order)))
        np.testing.assert_array_equal(forest.lists[order + start], number)


@pytest.mark.parametrize(
    ("successors", "text"),
    [
        ([1, 1, -1], "element 1 has two predecessors"),
        ([1, 2, 0], "the list has no end"),
        ([1, -1, 2], "element 2 is not reached"),
        ([1, 5, -1], r"next\[1\] is 5, which is neither an element"),
        ([1, -2, -1], r"next\[1\] is -2, which is neither an element"),
        ([1, 2**32, -1], r"next\[1\] is 4294967296, which is neither an element \(there are 3, from 0\) nor -1"),
        ([1, -(2**32), -1], r"next\[1\] is -4294967296"),
        ([[1, -1]], r"next has the shape \(1, 2\)"),
        (3, r"next has the shape \(\)"),
    ],
)
def test_what_is_no_list(successors: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        list_rank.rank(successors)


def test_other_arguments() -> None:
    kinds: list[Any] = [[0.0, -1.0], ["a"], [1j]]
    for successors in kinds:
        with pytest.raises(TypeError, match="whole numbers"):
            list_rank.rank(successors)
    with pytest.raises(ValueError, match="0 is not the head|head 7 is not an element"):
        list_rank.rank([1, -1], 7)
    with pytest.raises(ValueError, match="weights has 3 elements, but next has 2"):
        list_rank.prefix_sums([1, -1], [1, 2, 3])
    with pytest.raises(TypeError, match="weights are int32, int64, float32 or float64"):
        list_rank.prefix_sums([1, -1], [1j, 2])
    for head in (2, -1, 2**40, 2**70, -(2**70)):
        for function in (list_rank.rank, list_rank.order, lambda next, head: list_rank.prefix_sums(next, [1, 2], head)):
            with pytest.raises(ValueError, match=f"head {head} is not an element: there are 2, from 0"):
                function([1, -1], head)
    with pytest.raises(TypeError, match="head is 1.5, but it must be a whole number"):
        list_rank.rank([1, -1], 1.5)  # type: ignore[call-overload]
    wrong: list[tuple[Any, str]] = [
        ([1, 0, -1], "on a cycle"),
        ([0], "on a cycle"),
        ([2, 2, -1], "element 2 has two predecessors"),
        ([7, -1], r"next\[0\] is 7"),
        (np.array([-2, -1], np.int32), r"next\[0\] is -2"),
    ]
    for successors, text in wrong:
        with pytest.raises(ValueError, match=text):
            list_rank.forest(successors)

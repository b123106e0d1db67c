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


def test_no_elements() -> None:
    empty: list[Any] = [[], np.empty(0), np.empty(0, np.int64)]
    for nothing in empty:
        assert list_rank.rank(nothing).shape == (0,)
        assert list_rank.forest(nothing).list_count == 0
        assert list_rank.prefix_sums(nothing, []).shape == (0,)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_sums(dtype: str) -> None:
    successors, order = random_list(1, 5000)
    weights = np.random.default_rng(2).integers(-9, 9, 5000).astype(dtype)
    sums = list_rank.prefix_sums(successors, weights)
    assert sums.dtype == dtype
    np.testing.assert_array_equal(sums[order], np.append(0, np.cumsum(weights[order])[:-1]))


def test_forests() -> None:
    sizes = [1, 7, 300, 1, 2000]
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
    with pytest.raises(OverflowError):
        list_rank.rank([1, -1], 2**40)
    with pytest.raises(ValueError, match="on a cycle"):
        list_rank.forest([1, 0, -1])

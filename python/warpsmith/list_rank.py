"""Linked lists: the position of every element, the elements in order, and sums of weights along the list.

A list is an array `next` of n whole numbers: ``next[i]`` is the element after i, -1 after the last. Every element is on
the list, which has one head.

Examples
--------
>>> from warpsmith import list_rank
>>> list_rank.rank([3, -1, 0, 1])  # 2 -> 0 -> 3 -> 1
array([1, 3, 0, 2], dtype=int32)
"""

from __future__ import annotations

from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from . import _warpsmith
from ._arrays import on_gpu, weights_of, whole, wholes
from ._warpsmith import Device, DeviceArray

__all__ = ["Forest", "forest", "order", "prefix_sums", "rank"]


class Forest(NamedTuple):
    """The result of `forest`."""

    ranks: Any
    """For each element the number of elements of its list before it."""
    lists: Any
    """The number of each element's list. Lists are numbered by their heads' indices, ascending."""
    list_count: int
    """The number of lists."""


def _successors(next: Any) -> npt.NDArray[np.int32] | DeviceArray:
    there = on_gpu(next)
    if there is not None:
        return there
    array = wholes(next, "next")
    if array.ndim != 1:
        raise ValueError(f"next has the shape {array.shape}, but it must have one dimension")
    if array.dtype.itemsize >= 4 and array.dtype != np.int32:
        # Numbers beyond 32 bits are no elements either.
        wrong = np.flatnonzero((array < -1) | (array >= array.size))
        if wrong.size:
            found = f"next[{wrong[0]}] is {array[wrong[0]]}"
            raise ValueError(f"{found}, which is neither an element (there are {array.size}, from 0) nor -1")
    return array.astype(np.int32, copy=False)


def _head(head: Any, next: npt.NDArray[np.int32] | DeviceArray) -> int | None:
    if head is None:
        return None
    number = whole(head, "head", None, None)
    if not 0 <= number < len(next):
        raise ValueError(f"head {number} is not an element: there are {len(next)}, from 0")
    return number


@overload
def rank(next: DeviceArray, head: int | None = None, *, device: Device | str | None = None) -> DeviceArray: ...
@overload
def rank(
    next: npt.ArrayLike, head: int | None = None, *, device: Device | str | None = None
) -> npt.NDArray[np.int32]: ...
def rank(next: Any, head: int | None = None, *, device: Device | str | None = None) -> Any:
    """Return for each element the number of elements before it.

    Parameters
    ----------
    next : (n,) array_like of int, or array of int32 on a GPU
        The element after each, -1 after the last. The result is where this is.
    head : int, optional
        The first element; found, if it isn't given.
    device : Device or str, optional
        What to compute on; by default where `next` is, or the best device there is.

    Returns
    -------
    (n,) ndarray of int32, or DeviceArray
        Ranks, from 0.

    Raises
    ------
    ValueError
        Where it is no list: the first offending element is named.
    TypeError
        Where the array isn't one of whole numbers.
    MemoryError
        Where the memory of the device or the host doesn't suffice.

    Examples
    --------
    >>> rank([1, 2, -1])
    array([0, 1, 2], dtype=int32)
    """
    successors = _successors(next)
    return _warpsmith.rank(successors, _head(head, successors), False, device)


@overload
def order(next: DeviceArray, head: int | None = None, *, device: Device | str | None = None) -> DeviceArray: ...
@overload
def order(
    next: npt.ArrayLike, head: int | None = None, *, device: Device | str | None = None
) -> npt.NDArray[np.int32]: ...
def order(next: Any, head: int | None = None, *, device: Device | str | None = None) -> Any:
    """The elements in their order.

    Parameters
    ----------
    next, head, device
        As in `rank`.

    Returns
    -------
    (n,) ndarray of int32, or DeviceArray
        The element of each rank: ``order(next)[rank(next)[i]]`` is i.

    Raises
    ------
    ValueError, TypeError, MemoryError
        As `rank`.

    Examples
    --------
    >>> order([3, -1, 0, 1])
    array([2, 0, 3, 1], dtype=int32)
    """
    successors = _successors(next)
    return _warpsmith.rank(successors, _head(head, successors), True, device)


def prefix_sums(
    next: Any,
    weights: Any,
    head: int | None = None,
    *,
    device: Device | str | None = None,
) -> Any:
    """The sum of the weights of all elements before each.

    Parameters
    ----------
    next : (n,) array_like of int
        The element after each, -1 after the last.
    weights : (n,) array_like
        int32, int64, float32 or float64, on the same device as `next`. Sums of integers wrap.
    head : int, optional
        The first element; found, if it isn't given.
    device : Device or str, optional
        What to compute on; by default where `next` is, or the best device there is.

    Returns
    -------
    (n,) ndarray or DeviceArray
        Sums, of the weights' type.

    Raises
    ------
    ValueError, TypeError, MemoryError
        As `rank`, and where lengths or the weights' type are wrong.

    Examples
    --------
    >>> prefix_sums([3, -1, 0, 1], [0.5, 1.0, 2.0, 4.0])
    array([2. , 6.5, 0. , 2.5])
    """
    there = on_gpu(weights)
    array = weights_of(weights) if there is None else there
    if array.ndim != 1:
        raise ValueError(f"weights have the shape {array.shape}, but they must have one dimension")
    successors = _successors(next)
    return _warpsmith.prefix_sums(successors, array, _head(head, successors), device)


def forest(next: Any, *, device: Device | str | None = None) -> Forest:
    """Ranks in several lists at once.

    Parameters
    ----------
    next : (n,) array_like of int, or array of int32 on a GPU
        The element after each, -1 after the last of each list. The results are where this is.
    device : Device or str, optional
        What to compute on; by default where `next` is, or the best device there is.

    Returns
    -------
    Forest
        The elements' `ranks` on their lists, which `lists` they are on, and the number of lists.

    Raises
    ------
    ValueError, TypeError, MemoryError
        As `rank`, where an element has two predecessors or is on a cycle.

    Examples
    --------
    >>> forest([2, -1, -1, 1])  # 0 -> 2 and 3 -> 1
    Forest(ranks=array([0, 1, 1, 0], dtype=int32), lists=array([0, 1, 0, 1], dtype=int32), list_count=2)
    """
    return Forest(*_warpsmith.forest(_successors(next), device))

"""A study of what limits a kernel that adds up overlaps: experiments with streams, graphs, numbers of threads, and more.

The command ``warpsmith concurrency`` shows the same study as tables and plots.

Examples
--------
>>> from warpsmith import concurrency
>>> study = concurrency.study(streams=[1, 2], batch=[4, 8], poses=40, fixed=[], runs=1, device="cpu")
>>> study["batch"][1]["work"]["comparisons"]
320
>>> concurrency.columns(study["streams"])["streams"]
array([1, 2])
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _warpsmith
from ._arrays import items, whole
from ._progress import Progress, shown
from ._warpsmith import Device

__all__ = ["columns", "study"]


def study(
    *,
    streams: Iterable[int] | None = None,
    batch: Iterable[int] | None = None,
    fixed: Iterable[int] | None = None,
    poses: int | None = None,
    iterations: int | None = None,
    runs: int | None = None,
    seed: int | None = None,
    device: Device | str | None = None,
    progress: bool | Progress = False,
) -> dict[str, Any]:
    """Carries out all experiments, some seconds to minutes long.

    Parameters
    ----------
    streams : iterable of int, optional
        Numbers of streams, 1 to 1,024; by default 1, 2, 4 ... 32.
    batch : iterable of int, optional
        Numbers of poses, a thread each, that are compared with all; by default 4, 8, 16 ... 256. Those above `poses`
        are left out.
    fixed : iterable of int, optional
        Numbers of comparisons that are shared out over ever more threads; by default 2,000 and 128,000.
    poses : int, optional
        How many poses there are; by default 500.
    iterations : int, optional
        How many launches there are on each stream; by default 20 on a GPU, and 1 on the CPU.
    runs : int, optional
        How many measurements a median is of; by default 7 on a GPU, and 3 on the CPU.
    seed : int, optional
        The seed of the poses; by default 123.
    device : Device or str, optional
        What to measure; by default the best device there is.
    progress : bool or callable
        Whether to show how far the study is; or what to call with the number of steps that are done, and of all.

    Returns
    -------
    dict
        ``device``, what is known of it; ``options``; ``streams``, ``batch`` and ``fixed``, a list of rows each;
        and more. Each time has a ``median``, a ``min`` and a ``max``, in ms.
        The figures are those of ``warpsmith concurrency --json``.

    Raises
    ------
    ValueError
        Where a number is out of range.
    RuntimeError
        Where two kernels find different totals, or the device fails.
    """
    with shown(progress, "study") as tell:
        made = _warpsmith.study(
            _list(streams, "streams"),
            _list(batch, "batch"),
            _list(fixed, "fixed"),
            _number(poses, "poses"),
            _number(iterations, "iterations"),
            _number(runs, "runs"),
            _number(seed, "seed", 2**32 - 1),
            device,
            tell,
        )
    figures: dict[str, Any] = json.loads(made)
    return figures


def columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, npt.NDArray[Any]]:
    """Rows of a study as columns, which `pandas.DataFrame` takes.

    Parameters
    ----------
    rows : sequence of dict
        Such as ``study["batch"]``.

    Returns
    -------
    dict of (n,) ndarray
        What is within a row's values has names with dots: ``two_phase.median``, ``reductions.0.median``.

    Raises
    ------
    ValueError
        Where rows have other names than the first.

    Examples
    --------
    >>> columns([{"n": 1, "ms": {"median": 2.5}}, {"n": 2, "ms": {"median": 3.5}}])
    {'n': array([1, 2]), 'ms.median': array([2.5, 3.5])}
    """
    flat = [dict(_leaves("", row)) for row in rows]
    if any(row.keys() != flat[0].keys() for row in flat):
        raise ValueError("the rows don't have the same names")
    return {name: np.array([row[name] for row in flat]) for name in (flat[0] if flat else {})}


def _leaves(name: str, value: Any) -> list[tuple[str, Any]]:
    """All that is within a value and has nothing within."""
    if isinstance(value, Mapping):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    else:
        return [(name, value)]
    return [leaf for key, part in inner for leaf in _leaves(f"{name}.{key}" if name else f"{key}", part)]


def _number(value: int | None, name: str, most: int = 2**64 - 1) -> int | None:
    return None if value is None else whole(value, name, 0, most)


def _list(numbers: Iterable[int] | None, name: str) -> list[int] | None:
    return None if numbers is None else [whole(number, name) for number in items(numbers, name)]

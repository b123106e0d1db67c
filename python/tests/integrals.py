"""What functions and their integrals are, by NumPy: all breakpoints of both functions, one value for each interval."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def random_arrays(seed: int, count: int, most: int = 12, dtype: npt.DTypeLike = np.float64) -> list[Array]:
    """Functions of 1 to `most` breakpoints that end on 0, with times on a grid, so that some are shared."""
    rng = np.random.default_rng(seed)
    arrays = []
    for _ in range(count):
        m = int(rng.integers(1, most + 1))
        t = np.concatenate([[0], np.sort(rng.choice(np.arange(1, 4 * most), m - 1, replace=False)) / 8])
        v = rng.normal(size=m)
        v[-1] = 0
        arrays.append(np.stack([t, v], axis=1).astype(dtype))
    return arrays


def value(points: Array, t: npt.ArrayLike) -> Array:
    """The function's values."""
    return np.asarray(points[np.searchsorted(points[:, 0], t, side="right") - 1, 1])


def merged(f: Array, g: Array) -> tuple[Array, Array, Array]:
    """Lengths of the intervals between breakpoints of either function, without the last, and both values there."""
    t = np.union1d(f[:, 0], g[:, 0])
    return np.diff(t), value(f, t)[:-1], value(g, t)[:-1]


def distance(f: Array, g: Array, p: float) -> float:
    """The L^p distance of two functions that end on the same value."""
    lengths, a, b = merged(f, g)
    if p == np.inf:
        return float(np.abs(a - b).max(initial=0))
    return float(np.sum(lengths * np.abs(a - b) ** p) ** (1 / p))


def inner(f: Array, g: Array) -> float:
    """The inner product of two functions that end on 0."""
    lengths, a, b = merged(f, g)
    return float(np.sum(lengths * a * b))

"""What arguments are: arrays on devices, and numbers that are too large."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from . import _warpsmith
from ._warpsmith import DeviceArray


def on_gpu(array: Any) -> DeviceArray | None:
    """An array that lies on a GPU, or is a DeviceArray; None of all others."""
    if isinstance(array, (np.ndarray, list, tuple)):
        return None
    return _warpsmith.on_gpu(array)


@contextmanager
def numbers_in_range() -> Iterator[None]:
    """A number that the extension has no type for is bad input like any other."""
    try:
        yield
    except OverflowError as error:
        raise ValueError(f"a number is out of range: {error}") from None

"""Arrays on devices among arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _warpsmith
from ._warpsmith import DeviceArray


def on_gpu(array: Any) -> DeviceArray | None:
    """An array that lies on a GPU, or is a DeviceArray; None of all others."""
    if isinstance(array, (np.ndarray, list, tuple)):
        return None
    return _warpsmith.on_gpu(array)

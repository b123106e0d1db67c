"""Readers of arguments: arrays on devices, real and whole numbers."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Mapping
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _warpsmith
from ._warpsmith import DeviceArray

# Real numbers of Python. A Decimal doesn't count as a Real there.
NUMBERS = (Real, Decimal, np.bool_)


def on_gpu(array: Any) -> DeviceArray | None:
    """An array that lies on a GPU, or is a DeviceArray; None of all others."""
    if isinstance(array, (np.ndarray, list, tuple)):
        return None
    return _warpsmith.on_gpu(array)


def array_of(values: Any) -> npt.NDArray[Any] | None:
    """An array of NumPy or of another library in host memory, or a buffer; None of what is none."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError("an array has masked values, but all values are needed: fill them, or leave them out")
    if isinstance(values, (np.ndarray, memoryview)):
        return np.asarray(values)
    if isinstance(values, (list, tuple)):
        return None
    try:
        if any(hasattr(values, protocol) for protocol in ("__array__", "__array_interface__")):
            return np.asarray(values)
        return np.from_dlpack(values) if hasattr(values, "__dlpack__") else None
    except TypeError:
        return None


def writable(out: Any) -> Any:
    """An array of another library in host memory as one of NumPy on the same memory; anything else as it is."""
    if isinstance(out, memoryview):
        return np.asarray(out)
    if isinstance(out, np.ma.MaskedArray):
        raise TypeError("out is a masked array, whose mask would hide results: pass out.data")
    device = getattr(out, "__dlpack_device__", None)
    if isinstance(out, (np.ndarray, DeviceArray)) or device is None or device()[0] != 1:
        return out
    try:
        view = np.from_dlpack(out)
    except (BufferError, RuntimeError) as error:
        raise ValueError(f"out can't be written: {error}") from None
    if not view.flags.writeable and hasattr(out, "__array__"):
        # Older versions of DLPack don't tell whether an array may be written.
        other = np.asarray(out)
        view = other if np.may_share_memory(view, other) else view
    return view


def whole(value: Any, name: str, least: int | None = 0, most: int | None = 2**64 - 1) -> int:
    """An argument that is a whole number from `least` to `most`, by default one that 64 bits hold."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}, but it must be a whole number") from None
    if least is not None and number < least:
        raise ValueError(f"{name} is {number}, but it must be at least {least}")
    if most is not None and number > most:
        raise ValueError(f"{name} is {number}, but it must be at most {most}")
    return number


def real(value: Any, name: str) -> float:
    """An argument that is a real number."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {value!r}, but it must be a real number") from None
    except OverflowError:
        raise ValueError(f"{name} is out of the range of float64") from None


def items(values: Any, name: str, hint: str = "") -> list[Any]:
    """The items of an argument that is a sequence, or anything else to iterate over but a string or a mapping."""
    array = array_of(values)
    if array is not None and array.ndim:
        return list(array)
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise TypeError(f"{name} is of the type {type(values).__name__}, but it must be a sequence{hint}")
    return list(values)


def as_array(values: Any) -> npt.NDArray[Any]:
    """The values as an array of numbers, if they are any, whatever library's array or sequences they are."""
    if isinstance(values, (str, os.PathLike)):
        raise TypeError(f"{str(values)!r} is in the place of an array; only functions with a parameter `path` read files")
    array = array_of(values)
    try:
        if array is None:
            array = np.asarray(values)
        return np.asarray(array.tolist()) if array.dtype == np.object_ and array.size else array
    except OverflowError:
        # A whole number that no float can hold is among floats.
        return np.asarray(values, object)


def numbers(
    values: Any, what: str, dtype: type[np.int64 | np.float64] | None = None, hint: str = ""
) -> npt.NDArray[Any]:
    """The values as an array, in which numbers of Python are of the type: by default int64 if all are whole."""
    try:
        array = as_array(values)
    except ValueError as error:
        raise ValueError(f"{what} is no array: {error}") from None
    except TypeError as error:
        raise TypeError(f"{what}: {error}") from None
    is_text = array.dtype.kind in "SU" and array_of(values) is None
    if not array.size or not (is_text or array.dtype == np.object_):
        return array
    objects = np.asarray(values, object)
    if dtype is None:
        dtype = np.int64 if all(isinstance(one, Integral) for one in objects.flat) else np.float64
    made = np.empty(objects.shape, dtype)
    kinds: Any = Integral if dtype is np.int64 else NUMBERS
    wanted = "whole numbers" if dtype is np.int64 else "real numbers of up to 64 bits"
    for place, one in np.ndenumerate(objects):
        where = f"{what}: element {list(place)}" if place else what
        if not isinstance(one, kinds):
            raise TypeError(f"{where} is {brief(one)}, but {wanted} are needed{hint}")
        try:
            made[place] = one
        except OverflowError:
            raise ValueError(f"{where} is out of the range of {made.dtype}") from None
    return made


def brief(given: Any) -> str:
    """What stands for a value in a message."""
    text = repr(given)
    return text if len(text) <= 60 else f"a {type(given).__name__}"


def wholes(values: Any, what: str, hint: str = "") -> npt.NDArray[Any]:
    """The values as an array of whole numbers."""
    array = numbers(values, what, np.int64, hint)
    if not array.size:
        return np.zeros(array.shape, np.int64)
    if array.dtype.kind not in "iu":
        hint = hint if array.dtype.kind in "OSUT" else ""
        raise TypeError(f"{what} is an array of {array.dtype}, but it must be one of whole numbers{hint}")
    return array


def weights_of(values: Any) -> npt.NDArray[Any]:
    """Weights along lists or trees. Short types become those of 32 or 64 bits that hold them."""
    array = numbers(values, "weights")
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "u" and size == 8 and (array.size == 0 or array.max() < 2**63):
        array = array.astype(np.int64)
    elif kind in "bi" or (kind == "u" and size < 8):
        array = array.astype(np.result_type(array.dtype, np.int32), copy=False)
    elif kind == "f" and size <= 8:
        array = array.astype(np.result_type(array.dtype.newbyteorder("="), np.float32), copy=False)
    if array.ndim != 1:
        raise ValueError(f"weights have the shape {array.shape}, but they must have one dimension")
    return array


def flag(value: Any, name: str) -> bool:
    """A bool, for an argument whose other values would count as true."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise TypeError(f"{name} is {value!r}, but it must be True or False")


def reals(values: Any, what: str) -> npt.NDArray[Any]:
    """The values as an array of float32 or float64."""
    array = numbers(values, what, np.float64)
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind in "iub" or (kind == "f" and size == 8) or (kind == "O" and array.size == 0):
        return array.astype(np.float64, copy=False)
    if kind == "f" and size < 8:
        return array.astype(np.float32, copy=False)
    raise TypeError(f"{what}: an array of {array.dtype}, but real numbers of up to 64 bits are needed")

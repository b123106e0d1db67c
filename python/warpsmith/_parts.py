"""Readers of parts and copies: shapes, arrays, Shapely's polygons, files; part of `warpsmith.overlap`."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ._arrays import NUMBERS, as_array, brief, real, reals, whole
from ._warpsmith import Shape

Value = TypeVar("Value")
Array = npt.NDArray[np.float64]
Angles = str | float | Iterable[float]
Turns = Angles | Mapping[str, Angles]

_KINDS = "a Shape, an array of shape (n, 2), a Shapely Polygon or MultiPolygon, or the name of a file"


@dataclass(frozen=True)
class Part:
    """A shape in some number of copies."""

    name: str
    """Its name, which no other part has."""
    shape: Shape
    """The shape."""
    count: int
    """Number of copies."""


def parts(given: Any, what: str = "parts") -> list[Part]:
    """The parts of an argument: one shape, a sequence of shapes or of (shape, count), such by name, or parts."""
    if isinstance(given, list) and given and all(isinstance(item, Part) for item in given):
        return list(given)
    items: Iterable[tuple[str, str | None, Any]]
    if isinstance(given, Mapping) and "type" not in given:
        items = ((f"{what}[{name!r}]", str(name), item) for name, item in given.items())
    elif _is_single(given):
        items = [(what, None, given)]
    elif isinstance(given, Iterable):
        items = ((f"{what}[{index}]", None, item) for index, item in enumerate(given))
    else:
        raise TypeError(f"{what} is of the type {type(given).__name__}, but each part must be {_KINDS}")
    found: list[tuple[str, Shape, int]] = []
    for where, name, item in items:
        shape, count = item if _is_counted(item) else (item, 1)
        count = whole(count, f"{where}: the count", 1, 2**63 - 1)
        for one, own in _named(shape, where, name, len(found)):
            found.append((own, one, count * one.demand))
    if not found:
        raise ValueError(f"{what} are empty: there must be at least one shape")
    # The second part of a name becomes `name 2`, unless another one is called so.
    taken = {own for own, _, _ in found}
    numbers: dict[str, Iterator[int]] = {}
    distinct = []
    for own, one, count in found:
        unique = own
        if own in numbers:
            unique = next(name for name in (f"{own} {number}" for number in numbers[own]) if name not in taken)
            taken.add(unique)
        numbers.setdefault(own, itertools.count(2))
        distinct.append(Part(unique, one, count))
    return distinct


def turns(given: Turns | None, parts: list[Part]) -> list[str | None]:
    """The text of each part's allowed angles; None for those of its file."""
    if not isinstance(given, Mapping):
        return [None if given is None else _angles(given)] * len(parts)
    return [None if angles is None else _angles(angles) for angles in by_part(given, "turns", parts)]


def mirrors(given: bool | str | Iterable[str], parts: list[Part]) -> list[bool]:
    """For each part, whether it may be mirrored."""
    if isinstance(given, bool):
        return [given] * len(parts)
    names = dict.fromkeys([given] if isinstance(given, str) else given, True)
    return [bool(mirrors) for mirrors in by_part(names, "mirror", parts)]


def by_part(given: Mapping[str, Value], what: str, parts: list[Part]) -> list[Value | None]:
    """The value of each part in a dict by name."""
    if not isinstance(given, Mapping):
        raise TypeError(f"{what} is of the type {type(given).__name__}, but it must be a dict by part")
    names = [part.name for part in parts]
    for name in given:
        if name not in names:
            raise ValueError(f"{what}[{name!r}]: no part is called so; the parts are {', '.join(names[:20])}")
    return [given.get(name) for name in names]


def _angles(given: Angles) -> str:
    """The text of angles: a number with its multiples, or a list."""
    if isinstance(given, str):
        return given
    try:
        if isinstance(given, NUMBERS) and not isinstance(given, bool):
            return repr(real(given, "turns"))
        return "".join(f"{real(angle, f'turns[{index}]')!r}," for index, angle in enumerate(given))  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(
            f'turns are {brief(given)}, but they must be "any", "none", a number of degrees that divides 360, '
            "a list of degrees, or a dict of these by part"
        ) from None


def shapes(given: Any, where: str, name: str | None = None, first: int = 0) -> list[Shape]:
    """The shapes of anything that may be given as one, in its order. Without a name, polygons have numbers from `first`."""
    if isinstance(given, Shape):
        return [given]
    with _about(where):
        if isinstance(given, (str, os.PathLike)):
            return Shape.load_all(given)
        return [
            Shape(outline, name or f"part {index}", holes)
            for index, (outline, *holes) in enumerate(_rings(given), first)
        ]


def rings(given: Any) -> list[Any]:
    """The vertices of all rings of a shape or of polygons."""
    if not isinstance(given, Shape):
        return [ring for polygon in _rings(given) for ring in polygon]
    if not all(_twice_area(ring) < 0 for ring in given.outlines[1:]):
        raise ValueError("a sheet is one polygon, whose holes are defects, but this shape has pieces")
    return given.outlines


def geometries(shape: Shape, poses: Iterable[Any]) -> list[Any]:
    """Shapely's polygon of a shape at each pose."""
    try:
        from shapely import MultiPolygon, Polygon, affinity
    except ImportError as error:
        raise ImportError("geometries need Shapely: pip install shapely") from error
    outline, *others = shape.outlines
    # Holes are clockwise, pieces are not.
    if all(_twice_area(ring) < 0 for ring in others):
        flat = Polygon(outline, others)
    else:
        flat = MultiPolygon([Polygon(ring) for ring in shape.outlines])
    return [
        affinity.affine_transform(flat, [math.cos(t), -math.sin(t), math.sin(t), math.cos(t), x, y])
        for x, y, t in poses
    ]


def _twice_area(ring: Array) -> float:
    x, y = (ring - ring[0]).T
    return float(x @ np.roll(y, -1) - y @ np.roll(x, -1))


def _named(shape: Any, where: str, name: str | None, index: int) -> list[tuple[Shape, str]]:
    """The shapes of a part with their names: the dictionary's, or their own."""
    found = shapes(shape, where, name, index)
    if name is None:
        return [(one, one.name) for one in found]
    return [(one, name if len(found) == 1 else f"{name} {k + 1}") for k, one in enumerate(found)]


def _is_counted(item: Any) -> bool:
    """Whether this is (shape, count)."""
    return (
        isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], Integral) and not isinstance(item[0], Real)
    )


def _is_single(given: Any) -> bool:
    """Whether this is one part, and not a sequence."""
    if isinstance(given, (Shape, str, os.PathLike)) or _is_counted(given) or _interface(given) is not None:
        return True
    try:
        return np.asarray(given, np.float64).ndim == 2
    except (TypeError, ValueError):
        return False
    except OverflowError:
        return True


def _interface(given: Any) -> Mapping[str, Any] | None:
    """What a geometry of Shapely, or another library, says of itself in GeoJSON's terms."""
    found = given if isinstance(given, Mapping) else getattr(given, "__geo_interface__", None)
    return found if isinstance(found, Mapping) and "type" in found else None


def _rings(given: Any) -> Iterator[list[Any]]:
    """Each polygon's outline and holes."""
    geometry = _interface(given)
    if geometry is None:
        yield [_vertices(given)]
        return
    kind, polygons = geometry["type"], geometry.get("coordinates", ())
    if kind == "Polygon":
        polygons = [polygons]
    elif kind != "MultiPolygon":
        raise TypeError(
            f"a {kind} is no shape: it must be a Polygon or a MultiPolygon, such as buffer() makes of lines"
        )
    polygons = [polygon for polygon in polygons if len(polygon)]
    if not polygons:
        raise ValueError(f"the {kind} is empty")
    for polygon in polygons:
        yield [_vertices(ring) for ring in polygon]


def _vertices(given: Any) -> Array:
    try:
        array = as_array(given)
        is_array = array.ndim > 1 or array.ndim == 1 and array.dtype != np.object_
    except (TypeError, ValueError):
        is_array = False
    if not is_array:
        raise TypeError(f"{brief(given)} is no shape, which is {_KINDS}")
    array = reals(given, "an outline").astype(np.float64, copy=False)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"an outline has the shape {array.shape}, but it must be (n, 2): x and y of each vertex")
    return array


@contextmanager
def _about(where: str) -> Iterator[None]:
    """Names the argument in the message of an error."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(f"{where}: {error}") from None

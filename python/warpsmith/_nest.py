"""Nests; part of `warpsmith.overlap`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

import numpy as np

from . import _warpsmith
from ._arrays import NUMBERS, real, whole
from ._parts import Part, Turns, by_part, geometries, mirrors, parts as parts_of, rings as rings_of, turns as turns_of
from ._progress import Progress, shown
from ._warpsmith import Device, Shape


_FILES = (".svg", ".dxf", ".json", ".geojson", ".wkt")


class Placement(NamedTuple):
    """A part on a sheet."""

    part: int
    """Its index in `Nested.parts`."""
    name: str
    """The part's name."""
    copy: int
    """Number of this copy, from 1 among all of the part."""
    x: float
    """Where the origin of the part's frame is. The sheet's lower left corner is (0, 0), and y points upwards."""
    y: float
    """As `x`."""
    theta: float
    """The angle by which it is turned about that origin, in radians, counter-clockwise."""
    mirrored: bool = False
    """Whether x of the part changes its sign before it is turned."""


class Sheet(NamedTuple):
    """A sheet with parts."""

    width: float
    """Extent in x."""
    height: float
    """Extent in y."""
    density: float
    """Fraction of the sheet that parts cover."""
    used: float
    """Extent in y up to which there are parts, with the margin; of a roll, the length of its piece."""
    placements: list[Placement]
    """The parts."""
    form: Shape | None = None
    """An irregular sheet. Its frame is the sheet's."""


@dataclass(frozen=True)
class Left:
    """Copies of a part that no sheet has."""

    part: int
    """Its index in `Nested.parts`."""
    name: str
    """The part's name."""
    count: int
    """Number of copies."""
    reason: str
    """Why, such as "no room was found"."""


class Nested(NamedTuple):
    """The result of `nest`. It pickles. In a notebook it shows itself as a drawing."""

    sheets: list[Sheet]
    """The sheets that were used, in the order in which they were filled."""
    left: list[Left]
    """Copies without a place; empty if all have one."""
    seconds: float
    """Duration of the search, in seconds."""
    parts: list[Part]
    """The parts, as they were given: name, shape and count."""
    value: tuple[float, float] | None = None
    """Value of the copies on sheets, and of all, if `nest` was given values."""
    roll: bool = False
    """Whether the sheet is a piece of a roll, with its length in x."""
    mirror: list[bool] = []
    """For each part, whether it may be mirrored; empty if none may."""
    history: list[tuple[float, float]] = []
    """Shorter pieces of a roll as they were found: the seconds since the start, and the density."""

    def polygons(self, sheet: int) -> list[Any]:
        """The parts on a sheet where they lie, as Shapely's polygons.

        Parameters
        ----------
        sheet : int
            The sheet's index.

        Returns
        -------
        list of shapely.Polygon or shapely.MultiPolygon
            A geometry for each of `sheets[sheet].placements`, with its holes.

        Raises
        ------
        ImportError
            If Shapely is not installed.
        """
        shapes = [(part.shape, part.shape.mirrored()) for part in self.parts]
        return [
            geometries(shapes[at.part][at.mirrored], [(at.x, at.y, at.theta)])[0]
            for at in self.sheets[sheet].placements
        ]

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes a drawing to cut from, or a table of the places.

        Parameters
        ----------
        path : path_like
            A name that ends in `.svg` or `.dxf` for a drawing in mm: a layer for each sheet with its outline, and a path
            for each part, with the curves that it has in its file; in `.csv` or `.json` for part, copy, sheet (from 1), x,
            y, theta (radians) of each part, and mirrored if some may be; in `.sparrow.json` for an instance of jagua-rs with its solution.

        Raises
        ------
        ValueError
            If the name ends otherwise, or no sheet has parts.
        OSError
            If the file can't be written.
        """
        if not self.sheets:
            raise ValueError(f"{os.fspath(path)}: there is nothing to write, because no part has a place on a sheet")
        _warpsmith.write_text(path, self._text(os.fspath(path)))

    def _text(self, name: str) -> str:
        sheets = [
            (
                sheet.width,
                sheet.height,
                [(at.part, (at.x, at.y, at.theta), at.mirrored) for at in sheet.placements],
                sheet.form,
            )
            for sheet in self.sheets
        ]
        parts = [(part.name, part.shape, part.count) for part in self.parts]
        mirror = self.mirror or [False] * len(parts)
        return _warpsmith.nest_text(parts, sheets, mirror, self.roll, self.seconds, name)

    def _repr_svg_(self) -> str:
        return self._text(".svg")

    def __repr__(self) -> str:
        rows = [
            f"  sheet {index}: {sheet.width:g} x {sheet.height:g}, {_counted(len(sheet.placements))}, density {sheet.density:.1%}"
            for index, sheet in enumerate(self.sheets)
        ]
        if self.value:
            rows.append(f"  value {self.value[0]:g} of {self.value[1]:g}")
        rows += [f"  left: {left.count} of {left.name} ({left.reason})" for left in self.left]
        placed = sum(len(sheet.placements) for sheet in self.sheets)
        head = f"Nested {_counted(placed)} on {len(self.sheets)} sheet{'s' * (len(self.sheets) != 1)} in {self.seconds:.1f} s"
        return "\n".join([head, *rows])


def _counted(count: int) -> str:
    return f"{count} part{'s' * (count != 1)}"


def nest(
    parts: Any,
    sheets: Any,
    *,
    spacing: float = 0,
    margin: float = 0,
    turns: Turns | None = None,
    mirror: bool | str | Iterable[str] = False,
    values: float | Mapping[str, float] | None = None,
    priorities: Mapping[str, int] | None = None,
    time: float = 30,
    seed: int = 0,
    device: Device | str | None = None,
    progress: bool | Progress = False,
) -> Nested:
    """Nests parts on sheets: on as few as it finds in the time.

    Parts lie together at one end of a sheet, so that the rest is in one piece, and in holes of others.

    Parameters
    ----------
    parts : sequence of shapes or of (shape, count), or dict of these by name
        What to place, and how many copies of each; 1 by default. A shape is a `Shape`; an array of shape (n, 2); a
        Polygon of Shapely, whose holes are kept; or the name of a file, `.svg`, `.dxf`, `.json` (also of an instance of
        jagua-rs), `.geojson` or `.wkt`. A MultiPolygon, or a file of several shapes, is several parts: the count is that
        of each.
    sheets : (width, height), (width, height, count), shape or (shape, count), or list of these
        Sizes of sheets, used in this order; without a count, as many as needed. Lengths are in the parts' unit, which is
        mm for drawings that tell their size. If one extent is infinite, it is a roll, of which parts get as short a piece
        as is found; it must be the only sheet. A shape as above is an irregular sheet: the largest of its rings is the
        outline, all others are defects, which may meet each other and the outline. It is moved so that the lower left
        corner of its box is the origin. Its margin is at least half of the spacing. Of a file it is what `Shape.load_sheet`
        reads.
    spacing : float
        Least distance of two parts.
    margin : float
        Least distance of a part from a sheet's edge.
    turns : "any", "none", float, sequence of float, or dict of these by part, optional
        Angles that parts may have, in degrees: any, none but 0, multiples of a number that divides 360, or those of a
        sequence. A dict is of some parts by name. By default any, or those that a file allows.
    mirror : bool, str or sequence of str
        Whether parts may be mirrored, or the names of those that may.
    values : float or dict of float by part, optional
        Value of a copy of each part; parts without one have their area's. Sheets then get as much value as is found. By
        default they get as much of the parts as is found.
    priorities : dict of int by part, optional
        Priority of each part; 0 by default. Parts of higher priority come before all others.
    time : float
        Approximate duration of the search, in seconds. The result changes from run to run.
    seed : int
        Seed of all random numbers, from 0 to 2^64 - 1.
    device : Device or str, optional
        The device; by default the best one.
    progress : bool or callable
        Whether to show a progress bar, or a function of two numbers: thousandths of the parts' area that are on sheets,
        and 1000.

    Returns
    -------
    Nested
        The sheets with their parts, and what is left without a place, which is no error. Ctrl-C ends the search without
        a result.

    Raises
    ------
    TypeError, ValueError
        If a part is no shape or an invalid one, or a number is out of range.
    OSError
        If a file can't be read.
    MemoryError
        If the memory of the device or the host doesn't suffice.

    Examples
    --------
    >>> triangle = [(0, 0), (40, 0), (0, 30)]
    >>> nested = nest({"triangle": (triangle, 4)}, (100, 60, 2), spacing=1, time=2)
    >>> len(nested.sheets), nested.left, nested.sheets[0].placements[0].name
    (1, [], 'triangle')
    """
    wanted, sizes = parts_of(parts), _sizes(sheets)
    may_be_mirrored = mirrors(mirror, wanted)
    for name, number in (("spacing", spacing), ("margin", margin)):
        if not (0 <= real(number, name) < 1e6):
            raise ValueError(f"{name} is {number}, but it must be a length from 0 to below 1e6")
    if not real(time, "time") > 0:
        raise ValueError(f"time is {time}, but it must be a positive number of seconds")
    whole(seed, "seed")
    given = [] if priorities is None else by_part(priorities, "priorities", wanted)
    levels = [
        0 if level is None else whole(level, f"priorities[{part.name!r}]", -(2**63), 2**63 - 1)
        for part, level in zip(wanted, given)
    ]
    with shown(progress, "nest") as tell:
        filled, left, value, history, seconds = _warpsmith.nest(
            [(part.shape, part.count) for part in wanted],
            sizes,
            spacing,
            margin,
            turns_of(turns, wanted),
            may_be_mirrored,
            _values(values, wanted),
            levels,
            time,
            seed,
            device,
            tell,
        )
    copies = [0] * len(wanted)
    found = []
    for size, (width, height), density, used, places in filled:
        placements = []
        for part, (x, y, theta), mirrored in places:
            copies[part] += 1
            placements.append(Placement(part, wanted[part].name, copies[part], x, y, theta, mirrored))
        found.append(Sheet(width, height, density, used, placements, sizes[size][3]))
    without = [
        Left(part, wanted[part].name, count, _too_large(wanted[part], sizes, margin, spacing) if large else "no room was found")
        for part, count, large in left
    ]
    both = None if value is None else (value[0], value[1])
    own = may_be_mirrored if any(may_be_mirrored) else []
    return Nested(found, without, seconds, wanted, both, sizes[0][0] == inf, own, history)


def _values(values: float | Mapping[str, float] | None, parts: list[Part]) -> list[float] | None:
    """The value of a copy of each part."""
    if values is None:
        return None
    if not isinstance(values, Mapping):
        return [real(values, "values")] * len(parts)
    given = by_part(values, "values", parts)
    return [
        part.shape.area if value is None else real(value, f"values[{part.name!r}]") for part, value in zip(parts, given)
    ]


def _count(count: Any, where: str) -> int | None:
    """A number of sheets."""
    if count is None:
        return None
    if not 1 <= count < 2**63 or count != int(count):
        raise ValueError(f"{where}: the number of sheets is {count}, but it must be whole, at least 1 and below 2^63")
    return int(count)


def _form(given: Any, where: str) -> Shape:
    """An irregular sheet, with the lower left corner of its box at the origin."""
    if isinstance(given, (str, os.PathLike)):
        return Shape.load_sheet(given)
    try:
        return Shape._sheet(rings_of(given), given.name if isinstance(given, Shape) else "sheet")
    except (TypeError, ValueError) as error:
        raise type(error)(f"{where}: {error}") from None


def _is_form(given: Any) -> bool:
    """Whether this is an irregular sheet, and neither a size nor several sheets."""
    if isinstance(given, str):
        return os.path.splitext(given)[1].lower() in _FILES
    return isinstance(given, (os.PathLike, Shape)) or hasattr(given, "__geo_interface__")


def _sizes(sheets: Any) -> list[tuple[float, float, int | None, Shape | None]]:
    """The sizes with their counts and forms."""
    is_counted = isinstance(sheets, tuple) and len(sheets) == 2 and _is_form(sheets[0]) and isinstance(sheets[1], NUMBERS)
    if _is_form(sheets) or is_counted:
        sheets = [sheets]
    given = list(sheets) if isinstance(sheets, Iterable) and not isinstance(sheets, (str, Mapping)) else []
    if not given:
        raise ValueError(
            f"sheets are {sheets!r}, but they must be (width, height) or (width, height, count), or several of these"
        )
    if isinstance(given[0], NUMBERS):
        given = [given]
    sizes: list[tuple[float, float, int | None, Shape | None]] = []
    for index, sheet in enumerate(given):
        form, count = sheet if isinstance(sheet, tuple) and len(sheet) == 2 else (sheet, None)
        if _is_form(form):
            number = _count(count, f"sheets[{index}]")
            shape = _form(form, f"sheets[{index}]")
            high = shape.outlines[0].max(axis=0)
            sizes.append((float(high[0]), float(high[1]), number, shape))
            continue
        numbers = list(sheet) if isinstance(sheet, Iterable) and not isinstance(sheet, str) else []
        if len(numbers) not in (2, 3) or not all(isinstance(number, NUMBERS) for number in numbers):
            raise ValueError(f"sheets[{index}] is {sheet!r}, but it must be (width, height) or (width, height, count)")
        width, height, *rest = numbers
        if not (0 < min(width, height) < 1e6 and (0 < max(width, height) < 1e6 or max(width, height) == inf)):
            raise ValueError(f"sheets[{index}] is {sheet!r}, but its extents must be positive numbers below 1e6, or one infinite")
        if max(width, height) == inf and len(given) > 1:
            raise ValueError(f"sheets[{index}] is {sheet!r}, but a roll must be the only sheet")
        sizes.append((float(width), float(height), _count(rest[0] if rest else None, f"sheets[{index}]"), None))
    return sizes


def _too_large(part: Part, sizes: list[tuple[float, float, int | None, Shape | None]], margin: float, spacing: float) -> str:
    """The reason with the sizes, which may show wrong units."""
    extents = np.ptp(np.concatenate(part.shape.outlines), axis=0)
    edges = [margin if form is None else max(margin, spacing / 2) for *_, form in sizes]
    rooms = ", ".join(f"{width - 2 * edge:g} x {height - 2 * edge:g}" for (width, height, *_), edge in zip(sizes, edges))
    within = " within the margins" if any(edges) else ""
    return f"larger than every sheet at the angles that are allowed: {extents[0]:g} x {extents[1]:g}, but sheets have {rooms}{within}"

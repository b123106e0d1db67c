"""The packer; part of `warpsmith.overlap`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _warpsmith
from ._arrays import real, reals, whole
from ._parts import Array, Part, Turns, geometries, mirrors, parts as parts_of, shapes as shapes_of, turns as turns_of
from ._plot import drawn, placed
from ._progress import Progress, shown
from ._warpsmith import Device, Shape

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Packed(NamedTuple):
    """The result of `pack`. It pickles. In a notebook it shows itself as a picture."""

    poses: Array
    """x, y and theta of each copy, ordered by shape: (copies, 3). No two copies overlap, and the container around all is
    about the origin."""
    side: float
    """The container's scale: the side of a square, the radius of a circle, the height of a strip, or the factor of a
    polygon."""
    density: float
    """Fraction of the container that the copies cover."""
    starts: int
    """Number of candidates that were improved."""
    steps: int
    """Number of steps that each candidate took."""
    seconds: float
    """Duration of the search, in seconds."""
    history: Array
    """Improvements of the best packing: rows of steps, seconds and side. The last one is the result. Sides before it are
    estimates, because copies overlap during the search."""
    parts: list[Part]
    """The packed shapes, each with its name and number of copies."""
    outline: Array
    """The container's corners, counter-clockwise; points of a circle: (n, 2)."""
    options: dict[str, Any]
    """The container, turns, mirror and spacing that `pack` was given."""
    mirrored: npt.NDArray[np.bool_]
    """Whether each copy is mirrored: x of the shape changes its sign before it is turned. (copies,)"""

    @property
    def shape(self) -> Shape:
        """The first shape."""
        return self.parts[0].shape

    @property
    def shapes(self) -> npt.NDArray[np.int64]:
        """The index of each copy's shape, which `Overlap.evaluate` takes: (copies,).

        It is that in `parts`. Of mirrored copies it is larger by the number of parts, as mirror images follow all shapes:
        `Overlap(shapes + [shape.mirrored() for shape in shapes])`.
        """
        return self._kinds() + len(self.parts) * self.mirrored

    def _kinds(self) -> npt.NDArray[np.int64]:
        return np.repeat(np.arange(len(self.parts)), [part.count for part in self.parts])

    def _images(self) -> list[Shape]:
        """The shapes, and their mirror images."""
        shapes = [part.shape for part in self.parts]
        return shapes + [shape.mirrored() for shape in shapes]

    def resume(self, **options: Any) -> Packed:
        """Goes on from this packing. The result is never larger.

        Parameters
        ----------
        **options
            Arguments of `pack` but for `initial`. Container, turns, mirror and spacing are this packing's by default.

        Returns
        -------
        Packed
            The new packing.
        """
        return pack(list(self.parts), initial=self, **{**self.options, **options})

    def polygons(self) -> list[Array]:
        """The outlines of all copies where they lie, as arrays of shape (n, 2). Those of holes are clockwise."""
        return [ring for copy in self._copies() for ring in copy]

    def _copies(self) -> list[list[Array]]:
        """The outlines of each copy."""
        return placed([shape.outlines for shape in self._images()], self.shapes, self.poses)

    def geometries(self) -> list[Any]:
        """The copies where they lie, as Shapely's polygons, in the order of the poses.

        Raises
        ------
        ImportError
            If Shapely is not installed.
        """
        shapes = self._images()
        return [geometries(shapes[shape], [pose])[0] for shape, pose in zip(self.shapes, self.poses)]

    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Draws the copies and their container with matplotlib; several shapes with a legend.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes; by default the current ones.
        **style
            Arguments of `matplotlib.collections.PathCollection`, for the copies.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        return drawn(ax, self._copies(), self._kinds(), [part.name for part in self.parts], self.outline, style)

    def _repr_html_(self, width: int = 300) -> str:
        low, extent = self.outline.min(axis=0), np.ptp(self.outline, axis=0)
        scale = (width - 4) / extent.max()
        across, down = 4 + extent * scale

        def path(rings: list[Array], style: str = "") -> str:
            xy = [
                np.stack([2 + (ring[:, 0] - low[0]) * scale, down - 2 - (ring[:, 1] - low[1]) * scale], axis=1)
                for ring in rings
            ]
            text = "".join(f"M{'L'.join(f'{a:.2f} {b:.2f}' for a, b in ring)}Z" for ring in xy)
            return f'<path d="{text}"{style}/>'

        names = sorted(part.name for part in self.parts)
        hues = [210 + 360 * names.index(part.name) / len(names) for part in self.parts]
        copies = (
            path(copy, f' fill="hsl({hues[shape] % 360:.0f},60%,75%)"')
            for copy, shape in zip(self._copies(), self._kinds())
        )
        text = f"{len(self.poses):,} copies in a container of side {self.side:.6f}, density {self.density:.4f}"
        return (
            f'<div>{text}</div><svg width="{across:.0f}" height="{down:.0f}" xmlns="http://www.w3.org/2000/svg">'
            f'<g stroke="gray" fill="none">{path([self.outline])}</g>'
            f'<g stroke="black" stroke-width="0.5">{"".join(copies)}</g></svg>'
        )


def pack(
    shapes: Any,
    count: int | None = None,
    *,
    container: Any = "square",
    turns: Turns | None = None,
    mirror: bool | str | Iterable[str] = False,
    spacing: float = 0,
    steps: int = 20_000,
    seconds: float | None = None,
    starts: int | None = None,
    initial: npt.ArrayLike | Packed | None = None,
    seed: int = 0,
    device: Device | str | None = None,
    progress: bool | Progress = False,
) -> Packed:
    """Packs copies of shapes into as small a container as it can: a square, a circle, a strip or a polygon.

    Many candidates are improved at once. The best one is settled until no two copies overlap.

    Parameters
    ----------
    shapes : shape, sequence of shapes or of (shape, count), or dict of these by name
        What to pack. A shape is a `Shape`; an array of shape (n, 2); a Polygon of Shapely, whose holes are kept; or the
        name of a file. A MultiPolygon, or a file of several shapes, is several shapes.
    count : int, optional
        Number of copies of the shape, or of each.
    container : "square", "circle", "strip:WIDTH", or a convex polygon
        What to pack into. A polygon is a shape as above; it is moved so that its centroid is the origin, and its scale
        is a factor.
    turns : "any", "none", float, sequence of float, or dict of these by part, optional
        Angles that copies may have, in degrees: any, none but 0, multiples of a number that divides 360, or those of a
        sequence. A dict is of some parts by name. By default any, or those that a file allows.
    mirror : bool, str or sequence of str
        Whether copies may be mirrored, or the names of the shapes whose copies may.
    spacing : float
        Least distance of two copies. Half of it remains to the container.
    steps : int
        Number of steps of each candidate. The same seed gives the same bits on the same kind of device.
    seconds : float, optional
        Approximate duration of the search, instead of steps. The result changes from run to run.
    starts : int, optional
        Number of candidates that are improved at once. By default 8 to 256 on a GPU, the fewer the more copies; 4 on
        the CPU, with `seconds` up to one per thread.
    initial : (copies, 3) array_like or Packed, optional
        A packing without overlaps to go on from, ordered by shape: the result is never larger. `Packed.resume` goes on
        from a result. By default the search starts anew.
    seed : int
        Seed of all random numbers, from 0 to 2^64 - 1.
    device : Device or str, optional
        The device; by default the best one.
    progress : bool or callable
        Whether to show a progress bar, or a function of two numbers: the steps that are done and all steps, or
        milliseconds.

    Returns
    -------
    Packed

    Raises
    ------
    ValueError
        If a number is out of range, or `initial` has overlaps.
    MemoryError
        If the memory of the device or the host doesn't suffice.

    Examples
    --------
    >>> square = Shape([(0, 0), (1, 0), (1, 1), (0, 1)])
    >>> packed = pack(square, 4, steps=3000)
    >>> packed.poses.shape, bool(2 <= packed.side < 2.2)
    ((4, 3), True)
    """
    numbers = (("count", count, 1), ("steps", steps, 1), ("starts", starts, 1), ("seed", seed, 0))
    for name, number, least in numbers:
        if number is not None:
            whole(number, name, least)
    if seconds is not None and not real(seconds, "seconds") > 0:
        raise ValueError(f"seconds is {seconds}, but it must be a positive number")
    if not 0 <= real(spacing, "spacing") < 1e6:
        raise ValueError(f"spacing is {spacing}, but it must be a length from 0 to below 1e6")
    parts = parts_of(shapes, "shapes")
    if count is not None:
        if any(part.count != 1 for part in parts):
            raise ValueError(f"count is {count}, but shapes have counts of their own: only one of both may be given")
        parts = [replace(part, count=int(count)) for part in parts]
    from_poses = initial.poses if isinstance(initial, Packed) else initial
    from_mirrored = initial.mirrored.tolist() if isinstance(initial, Packed) else []
    poses = None if from_poses is None else _poses(from_poses, sum(part.count for part in parts))
    mirror = mirror if isinstance(mirror, (bool, str)) else list(mirror)
    options = {"container": container, "turns": turns, "mirror": mirror, "spacing": spacing}
    counted = [(part.shape, part.count) for part in parts]
    try:
        with shown(progress, "pack") as tell:
            found, mirrored, side, density, starts, steps, took, history, outline = _warpsmith.pack(
                counted,
                _container(container),
                turns_of(turns, parts),
                mirrors(mirror, parts),
                spacing,
                seed,
                starts,
                poses,
                from_mirrored,
                steps,
                seconds,
                device,
                tell,
            )
    except ValueError as error:
        if poses is not None and np.abs(poses[:, 2]).max() > 2 * np.pi:
            raise ValueError(
                f"{error}; initial has angles beyond a full turn: they are radians, and not degrees"
            ) from None
        raise
    flags = np.array(mirrored or [False] * len(found), bool)
    return Packed(found, side, density, starts, steps, took, history, parts, outline, options, flags)


def _poses(initial: npt.ArrayLike, count: int) -> Array:
    poses = reals(initial, "initial").astype(np.float64, copy=False)
    if poses.ndim != 2 or poses.shape[1] != 3:
        raise ValueError(f"initial has the shape {poses.shape}, but it must be ({count}, 3): x, y and theta")
    wrong = np.argwhere(~np.isfinite(poses))
    if wrong.size:
        raise ValueError(f"initial[{wrong[0, 0]}] has {poses[tuple(wrong[0])]}, but it must be finite")
    return poses


def _container(container: Any) -> str:
    """The text of a container: a polygon as WKT."""
    if isinstance(container, str):
        return container
    polygons = shapes_of(container, "container")
    if len(polygons) > 1 or len(polygons[0].outlines) > 1:
        raise ValueError("container: it must be one convex polygon without holes")
    ring = polygons[0].outlines[0].tolist()
    return f"POLYGON (({', '.join(f'{x!r} {y!r}' for x, y in [*ring, ring[0]])}))"

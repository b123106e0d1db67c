"""The packer; part of `warpsmith.overlap`."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _warpsmith
from ._arrays import numbers_in_range
from ._progress import Progress, shown
from ._warpsmith import Device, Shape

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = npt.NDArray[np.float64]


class Packed(NamedTuple):
    """The result of `pack`. In a notebook it shows itself as a picture."""

    poses: Array
    """x, y and theta of each copy: (count, 3). No two copies overlap, and the square around all is about the origin."""
    side: float
    """The side of that square."""
    density: float
    """Fraction of the square that the copies cover."""
    starts: int
    """Number of candidates that were improved."""
    steps: int
    """Number of steps that each candidate took."""
    seconds: float
    """Duration of the search, in seconds."""
    history: Array
    """Improvements of the best packing: rows of steps, seconds and side. The last one is the result. Sides before it are
    estimates, because copies overlap during the search."""
    shape: Shape
    """The packed shape."""

    def polygons(self) -> list[Array]:
        """The outlines of all copies where they lie, as arrays of shape (n, 2)."""
        cosine, sine = np.cos(self.poses[:, 2]), np.sin(self.poses[:, 2])
        turns = np.stack([np.stack([cosine, sine], axis=-1), np.stack([-sine, cosine], axis=-1)], axis=1)
        return [
            outline @ turn + place for turn, place in zip(turns, self.poses[:, :2]) for outline in self.shape.outlines
        ]

    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Draws the copies and the square around them with matplotlib.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes; by default the current ones.
        **style
            Arguments of `matplotlib.collections.PolyCollection`, for the copies.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        try:
            from matplotlib import pyplot
            from matplotlib.collections import PolyCollection
            from matplotlib.patches import Rectangle
        except ImportError as error:
            raise ImportError("plots need matplotlib: pip install matplotlib") from error
        where = pyplot.gca() if ax is None else ax
        where.add_collection(PolyCollection(self.polygons(), **{"facecolor": "C0", "edgecolor": "black", "alpha": 0.6, **style}))
        where.add_patch(Rectangle((-self.side / 2, -self.side / 2), self.side, self.side, fill=False))
        where.set_aspect("equal")
        where.autoscale_view()
        return where

    def _repr_html_(self, width: int = 300) -> str:
        scale = (width - 4) / self.side

        def path(polygon: Array) -> str:
            x, y = width / 2 + polygon[:, 0] * scale, width / 2 - polygon[:, 1] * scale
            return f'<path d="M{"L".join(f"{a:.2f} {b:.2f}" for a, b in zip(x, y))}Z"/>'

        copies = "".join(map(path, self.polygons()))
        text = f"{len(self.poses):,} copies in a square of side {self.side:.6f}, density {self.density:.4f}"
        return (
            f'<div>{text}</div><svg width="{width}" height="{width}" xmlns="http://www.w3.org/2000/svg">'
            f'<rect x="2" y="2" width="{width - 4}" height="{width - 4}" fill="none" stroke="gray"/>'
            f'<g fill="hsl(210 60% 75%)" stroke="black" stroke-width="0.5">{copies}</g></svg>'
        )


def pack(
    shape: Shape,
    count: int,
    *,
    steps: int = 20_000,
    seconds: float | None = None,
    starts: int | None = None,
    initial: npt.ArrayLike | None = None,
    seed: int = 0,
    device: Device | str | None = None,
    progress: bool | Progress = False,
) -> Packed:
    """Packs copies of a shape into as small a square as it can.

    Many candidates are improved at once. The best one is settled until no two copies overlap.

    Parameters
    ----------
    shape : Shape
        The shape.
    count : int
        Number of copies.
    steps : int
        Number of steps of each candidate. The same seed gives the same bits on the same kind of device.
    seconds : float, optional
        Approximate duration of the search, instead of steps. The result changes from run to run.
    starts : int, optional
        Number of candidates that are improved at once. By default 8 to 256 on a GPU, the fewer the more copies; 4 on
        the CPU, with `seconds` up to one per thread.
    initial : (count, 3) array_like, optional
        A packing without overlaps to go on from: the result is never larger. By default the search starts anew.
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
    for name, number, least in (("count", count, 1), ("steps", steps, 1), ("starts", starts, 1), ("seed", seed, 0)):
        if number is not None and operator.index(number) < least:
            raise ValueError(f"{name} is {number}, but it must be at least {least}")
    if seconds is not None and not seconds > 0:
        raise ValueError(f"seconds is {seconds}, but it must be a positive number")
    poses = None
    if initial is not None:
        poses = np.asarray(initial, np.float64)
        if poses.ndim != 2 or poses.shape[1] != 3:
            raise ValueError(f"initial has the shape {poses.shape}, but it must be ({count}, 3): x, y and theta")
        wrong = np.argwhere(~np.isfinite(poses))
        if wrong.size:
            raise ValueError(f"initial[{wrong[0, 0]}] has {poses[tuple(wrong[0])]}, but it must be finite")
    with numbers_in_range(), shown(progress, "pack") as tell:
        found, side, density, starts, steps, took, history = _warpsmith.pack(
            shape, count, seed, starts, poses, steps, seconds, device, tell
        )
    return Packed(found.reshape(-1, 3), side, density, starts, steps, took, history.reshape(-1, 3), shape)

"""Plots of copies; part of `warpsmith.overlap`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = npt.NDArray[np.float64]


def placed(outlines: Sequence[list[Array]], kinds: npt.NDArray[Any], poses: Array) -> list[list[Array]]:
    """The outlines of each copy where it lies. Copies have the outlines of their kind."""
    cosine, sine = np.cos(poses[:, 2]), np.sin(poses[:, 2])
    turns = np.stack([np.stack([cosine, sine], axis=-1), np.stack([-sine, cosine], axis=-1)], axis=1)
    return [[ring @ turn + place for ring in outlines[kind]] for kind, turn, place in zip(kinds, turns, poses[:, :2])]


def drawn(
    ax: Axes | None,
    copies: list[list[Array]],
    kinds: npt.NDArray[Any],
    names: list[str],
    outline: Array | None,
    style: dict[str, Any],
    common: Iterable[Array] = (),
) -> Axes:
    """Draws copies of kinds with these names, the areas that they have in common in red, and an outline around them."""
    try:
        from matplotlib import pyplot
        from matplotlib.collections import PathCollection
        from matplotlib.patches import Patch
        from matplotlib.path import Path
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install matplotlib") from error
    where = pyplot.gca() if ax is None else ax

    def path(rings: list[Array]) -> Any:
        return Path.make_compound_path(*(Path(np.concatenate([ring, ring[:1]]), closed=True) for ring in rings))

    paths = [path(copy) for copy in copies]
    # The order of names gives a shape its colour, whatever the order of the shapes is.
    ordered = sorted(names)
    marks = []
    for index, name in enumerate(names):
        own = [path for path, kind in zip(paths, kinds) if kind == index]
        look = {"facecolor": f"C{ordered.index(name) % 10}", "edgecolor": "black", "alpha": 0.6, **style}
        where.add_collection(PathCollection(own, **look))
        marks.append(Patch(**{"label": f"{name} ({len(own):,})", **look}))
    if shared := [path([ring]) for ring in common]:
        where.add_collection(PathCollection(shared, facecolor="red", edgecolor="none"))
    if outline is not None:
        where.add_collection(PathCollection([path([outline])], facecolor="none", edgecolor="black"))
    where.set_aspect("equal")
    where.autoscale_view()
    if len(names) > 1:
        where.legend(handles=marks, loc="upper left", bbox_to_anchor=(1, 1))
    return where

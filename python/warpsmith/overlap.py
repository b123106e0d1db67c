"""Copies of polygons: the areas in which they overlap, exact derivatives by every pose, packing and nesting.

A pose is x, y and theta: it turns its shape by theta (radians, counter-clockwise) about the origin of the shape's
frame, and then moves that origin to (x, y).

Examples
--------
>>> import numpy as np
>>> from warpsmith.overlap import Overlap, Shape
>>> square = Shape([(0, 0), (1, 0), (1, 1), (0, 1)])
>>> result = Overlap([square]).evaluate([[0.0, 0.0, 0.0], [0.75, 0.5, 0.0]], gradient=True)
>>> round(float(result.totals), 12)
0.125
>>> np.round(result.gradient[:, :2], 12)
array([[ 0.5 ,  0.25],
       [-0.5 , -0.25]])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _warpsmith
from ._arrays import items, on_gpu, real, reals, wholes
from ._nest import Left, Nested, Placement, Sheet, nest
from ._pack import Packed, pack
from ._parts import Part, shapes as shapes_of
from ._plot import drawn, placed
from ._warpsmith import Device, Shape

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "Evaluation",
    "Left",
    "Nested",
    "Outside",
    "Overlap",
    "Packed",
    "Pairs",
    "Part",
    "Placement",
    "Shape",
    "Sheet",
    "nest",
    "pack",
]

Array = npt.NDArray[Any]

# At scale 1, so that the scale is the square's side.
_SQUARE = ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5))


class Outside(NamedTuple):
    """Areas outside a boundary."""

    totals: Any
    """For each packing the area of all its poses outside."""
    by_scale: Any
    """The totals' derivatives by the boundary's scale."""
    per_pose: Any
    """For each pose its area outside."""
    gradient: Any
    """For each pose the derivatives of its area outside by x, y and theta."""


class Evaluation(NamedTuple):
    """The result of `Overlap.evaluate`. Without an axis of packings, totals are numbers."""

    totals: Any
    """For each packing the sum of the areas that two poses have in common, each pair counted once."""
    per_pose: Any
    """For each pose the area that it has in common with all others; None unless it was requested."""
    gradient: Any
    """The totals' derivatives by x, y and theta of each pose; None unless they were requested."""
    outside: Outside | None
    """Areas outside the boundary, if scales were given."""


class Pairs(NamedTuple):
    """The result of `Overlap.pairs`: an element, or a row, for each pair of poses that overlap."""

    packing: npt.NDArray[np.int64]
    """The poses' packing."""
    first: npt.NDArray[np.int64]
    """The first pose's index in the packing."""
    second: npt.NDArray[np.int64]
    """The second pose's index in the packing."""
    shift: npt.NDArray[np.int32]
    """Shift of the second one's image, in multiples of the lattice vectors: (0, 0) without a lattice."""
    area: Array
    """The area that they have in common."""


class Overlap:
    """Overlaps of copies of some shapes.

    It keeps its arrays on the device, so that evaluating as many poses again allocates nothing there. Threads that
    share one wait for each other. It pickles, without those arrays.

    Parameters
    ----------
    shapes : sequence of shapes
        The shapes: each a `Shape`, an array of shape (n, 2), or a Polygon of Shapely.
    dtype : {"float64", "float32"}
        The precision.
    boundary : "square" or (n, 2) array_like, optional
        A convex polygon around the origin, by its vertices at scale 1. The square's scale is its side. `evaluate`
        measures areas outside if it gets scales.
    lattice : (2, 2) array_like, optional
        Two vectors, by which everything repeats; not together with a boundary.
    deterministic : bool
        Whether results are bit-for-bit reproducible.
    device : Device or str, optional
        The device; by default the best one.

    Raises
    ------
    ValueError
        If the boundary or the lattice is invalid.

    Examples
    --------
    >>> print(Overlap([Shape.tree()]).evaluate([[0, 0, 0], [2, 0, 0]]).totals)
    0.0
    """

    __slots__ = ("_dtype", "_given", "_overlap")

    def __init__(
        self,
        shapes: Sequence[Any],
        *,
        dtype: npt.DTypeLike = np.float64,
        boundary: Literal["square"] | npt.ArrayLike | None = None,
        lattice: npt.ArrayLike | None = None,
        deterministic: bool = False,
        device: Device | str | None = None,
    ) -> None:
        self._dtype = np.dtype(dtype)
        own = [shape for index, item in enumerate(items(shapes, "shapes")) for shape in shapes_of(item, f"shapes[{index}]", first=index)]
        if not own:
            raise ValueError("there are no shapes: shapes is empty")
        self._given = (own, self._dtype, boundary, lattice, deterministic, device)
        if isinstance(boundary, str):
            if boundary != "square":
                raise ValueError(f'boundary is "{boundary}": "square", or the vertices of a polygon')
            boundary = _SQUARE
        vectors = None
        if lattice is not None:
            vectors = reals(lattice, "lattice").astype(np.float64, copy=False)
            if vectors.shape != (2, 2):
                raise ValueError(f"lattice has the shape {vectors.shape}, but it must be (2, 2): two vectors")
        self._overlap = _warpsmith.Overlap(
            own,
            self._dtype.name,
            None if boundary is None else reals(boundary, "boundary").astype(np.float64, copy=False),
            None if vectors is None else vectors.tolist(),
            deterministic,
            device,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _overlap, self._given

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision: float32 or float64."""
        return self._dtype

    def evaluate(
        self,
        poses: Any,
        *,
        shapes: npt.ArrayLike | None = None,
        scales: npt.ArrayLike | None = None,
        per_pose: bool = False,
        gradient: Any = False,
    ) -> Evaluation:
        """The overlaps within each packing.

        Parameters
        ----------
        poses : (n, 3) or (packings, n, 3) array_like, or array on the GPU that computes
            x, y and theta of each copy. Results are where this is. On a GPU the type is the evaluator's, and nobody
            looks at the numbers: with magnitudes of 1e9 (1e18 in double precision) or angles of 2^20 and more, results
            mean nothing.
        shapes : array_like of int, optional
            The index of each pose's shape, of the poses' shape but for the last axis; by default all are the first's.
        scales : float or (packings,) array_like, optional
            The boundary's scale, for all packings or each.
        per_pose : bool
            Whether areas by pose are wanted.
        gradient : bool or array on the GPU that computes
            Whether derivatives are wanted; for poses on a GPU also an array of their shape that they go to.

        Returns
        -------
        Evaluation
            `totals` of shape () or (packings,), and what was asked for: `per_pose` of shape ([packings,] n), `gradient`
            of the poses' shape, `outside`.

        Raises
        ------
        ValueError
            If a number is not finite or too large, or shapes or scales don't fit.
        MemoryError
            If the memory of the device or the host doesn't suffice.

        Examples
        --------
        >>> square = Shape([(0, 0), (1, 0), (1, 1), (0, 1)])
        >>> packings = [[[0, 0, 0], [0.5, 0, 0]], [[0, 0, 0], [0.5, 0.5, 0]]]
        >>> Overlap([square]).evaluate(packings).totals
        array([0.5 , 0.25])
        """
        found = None if scales is None else np.atleast_1d(reals(scales, "scales")).ravel().tolist()
        there = on_gpu(poses)
        results: tuple[Any, Any, Any, Any]
        into = None if isinstance(gradient, (bool, np.bool_)) else on_gpu(gradient)
        if not isinstance(gradient, (bool, np.bool_)) and (into is None or there is None):
            raise TypeError("gradient is True or False; or, for poses on a device, an array on the same device")
        if there is not None:
            offsets = _offsets(there.shape)
            chosen = _shapes(shapes, there.shape[:-1])
            wanted = into is not None or bool(gradient)
            results = self._overlap.evaluate_on_device(there, offsets, chosen, found, per_pose, wanted, into)
        else:
            array, offsets, flat = _packings(poses)
            chosen = _shapes(shapes, array.shape[:-1])
            results = self._overlap.evaluate(
                flat, list(array.shape), offsets, chosen, found, per_pose, bool(gradient)
            )
        totals, areas, derivatives, outside = results
        if into is not None:
            derivatives = gradient
        return Evaluation(_number(totals), areas, derivatives, None if outside is None else Outside(_number(outside[0]), _number(outside[1]), *outside[2:]))

    def pairs(self, poses: npt.ArrayLike, *, shapes: npt.ArrayLike | None = None) -> Pairs:
        """The pairs of poses that overlap.

        Parameters
        ----------
        poses, shapes
            As in `evaluate`.

        Returns
        -------
        Pairs
            In order of packing, first and second pose.

        Raises
        ------
        ValueError, MemoryError
            As `evaluate`.

        Examples
        --------
        >>> square = Shape([(0, 0), (1, 0), (1, 1), (0, 1)])
        >>> pairs = Overlap([square]).pairs([[0, 0, 0], [0.5, 0, 0], [9, 9, 0]])
        >>> pairs.first, pairs.second, pairs.area
        (array([0]), array([1]), array([0.5]))
        """
        array, offsets, flat = _packings(poses)
        (packing, first, second), shifts, areas = self._overlap.pairs(flat, offsets, _shapes(shapes, array.shape[:-1]))
        return Pairs(packing, first, second, shifts.reshape(-1, 2), areas)


    def plot(
        self,
        poses: Any,
        ax: Axes | None = None,
        *,
        shapes: npt.ArrayLike | None = None,
        scale: float | None = None,
        **style: Any,
    ) -> Axes:
        """Draws the copies of a packing with matplotlib, and the areas that they have in common in red.

        Several shapes have a legend. A lattice's cell is drawn at the origin. Of its images only what they have in
        common with the copies is drawn.

        Parameters
        ----------
        poses : (n, 3) array_like
            x, y and theta of each copy.
        ax : matplotlib.axes.Axes, optional
            The axes; by default the current ones.
        shapes
            As in `evaluate`.
        scale : float, optional
            The boundary's scale, to draw it.
        **style
            Arguments of `matplotlib.collections.PathCollection`, for the copies.

        Returns
        -------
        matplotlib.axes.Axes
            The axes. Their figure's ``savefig`` writes SVG, PNG or PDF.

        Raises
        ------
        ValueError
            As `evaluate`, and if there are several packings.
        ImportError
            If matplotlib is not installed.
        """
        there = on_gpu(poses)
        array, offsets, flat = _packings(poses if there is None else there.numpy())
        if array.ndim != 2:
            raise ValueError(f"poses have the shape {array.shape}, but one packing is drawn: (poses, 3)")
        chosen = _shapes(shapes, array.shape[:-1])
        own, boundary, vectors = self._given[0], self._given[2], self._given[3]
        outline = None
        if scale is not None:
            if boundary is None:
                raise ValueError("scale is for a boundary, which the evaluator doesn't have")
            outline = real(scale, "scale") * reals(_SQUARE if isinstance(boundary, str) else boundary, "boundary").astype(np.float64)
        elif vectors is not None:
            a, b = reals(vectors, "lattice").astype(np.float64)
            outline = np.stack([np.zeros(2), a, a + b, b])
        common = self._overlap.common(flat, offsets, chosen)
        kinds = np.zeros(len(flat), np.int64) if chosen is None else chosen
        names = [shape.name for shape in own]
        if len(set(names)) < len(names):
            names = [f"{name} {index}".lstrip() for index, name in enumerate(names)]
        return drawn(ax, placed([shape.outlines for shape in own], kinds, flat), kinds, names, outline, style, common)


def _overlap(shapes: Any, dtype: Any, boundary: Any, lattice: Any, deterministic: bool, device: Any) -> Overlap:
    """Return the evaluator of a pickle."""
    return Overlap(shapes, dtype=dtype, boundary=boundary, lattice=lattice, deterministic=deterministic, device=device)


def _packings(poses: npt.ArrayLike) -> tuple[Array, npt.NDArray[np.int64], Array]:
    """The poses as an array, the index of each packing's first pose, and the poses' rows as float64."""
    array = reals(poses, "poses")
    return array, _offsets(array.shape), array.astype(np.float64, copy=False).reshape(-1, 3)


def _offsets(shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """The index of each packing's first pose."""
    if len(shape) not in (2, 3) or shape[-1] != 3:
        raise ValueError(f"poses have the shape {shape}, but it must be (poses, 3) or (packings, poses, 3)")
    return np.arange((1 if len(shape) == 2 else shape[0]) + 1, dtype=np.int64) * shape[-2]


def _number(values: Any) -> Any:
    """An array without directions as NumPy's number."""
    return values[()] if isinstance(values, np.ndarray) else values


def _shapes(shapes: npt.ArrayLike | None, shape: tuple[int, ...]) -> npt.NDArray[np.uint32] | None:
    if shapes is None:
        return None
    indices = wholes(shapes, "shapes")
    if indices.shape != shape:
        raise ValueError(f"shapes have the shape {indices.shape}, but there are poses of the shape {shape}")
    wrong = np.argwhere((indices < 0) | (indices > np.iinfo(np.uint32).max))
    if wrong.size:
        raise ValueError(f"shapes{wrong[0].tolist()} is {indices[tuple(wrong[0])]}, which is no index")
    return indices.astype(np.uint32).ravel()

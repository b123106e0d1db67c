"""Piecewise constant functions of time: sets of them, and distances and inner products of all pairs.

A function has the value v[k] from time t[k] on to the next breakpoint, and the last value for ever. The first
breakpoint is at t = 0, times ascend strictly, and all numbers are finite.

Examples
--------
>>> from warpsmith import pcf
>>> fs = pcf.PcfSet([[(0, 3), (1, 1), (3, 0)], [(0, 2), (2, 0)], [(0, 0)]])
>>> fs
PcfSet of shape (3,), float64, 6 breakpoints
>>> pcf.pdist(fs, p=1)
array([3., 5., 4.])
>>> fs.mean().points
array([[0.        , 1.66666667],
       [1.        , 1.        ],
       [2.        , 0.33333333],
       [3.        , 0.        ]])
"""

from __future__ import annotations

import html
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union, overload

import numpy as np
import numpy.typing as npt

from . import _warpsmith
from ._arrays import items, real, reals, whole
from ._progress import Progress, shown
from ._warpsmith import Device, DeviceArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "PcfSet",
    "accumulated_persistence",
    "betti_curves",
    "cdist",
    "concatenate",
    "l2_kernel",
    "load",
    "pdist",
    "stable_ranks",
]

Array: TypeAlias = npt.NDArray[Any]
Devices: TypeAlias = Union[Device, str, Sequence[Union[Device, str]], None]
Functions: TypeAlias = Union["PcfSet", npt.ArrayLike, Iterable[Any]]
Layout: TypeAlias = Literal["condensed", "packed", "dense"]


class PcfSet:
    """Piecewise constant functions, in an array of any shape. They never change.

    A set of shape () is a single function. Indexing gives functions and parts of the set as NumPy does: ``fs[3]``,
    ``fs[2:5]``, ``fs[mask]``, ``fs[[4, 0]]``, ``fs[..., 0]``. ``f(t)`` gives values; ``+ - * / **`` take sets and
    numbers, arrays of numbers among them, and broadcast as NumPy does.

    Parameters
    ----------
    functions : sequence of (m, 2) array_like, or (..., m, 2) array_like, or sequence of PcfSet
        The functions' breakpoints: rows of t and v. Numbers of breakpoints may differ from one array to the next; so a
        sequence of arrays makes a set of one dimension. An array of more than two dimensions makes one of all but the
        last two. Sets of one shape are stacked along a new first axis. Functions of masspcf are arrays, too.
    dtype : dtype_like, optional
        float32 or float64. By default the type of the arrays; integers become float64.

    Raises
    ------
    ValueError
        Where breakpoints don't start at t = 0, don't ascend strictly, are not finite, or are too large for the type.
    TypeError
        Where they are no real numbers.

    Notes
    -----
    The breakpoints are copied once, when the set is made, and checked. Computations then use them where they are, and
    `points` and `offsets` show them without a copy.

    Examples
    --------
    >>> import numpy as np
    >>> fs = PcfSet([np.array([[0.0, 3.0], [1.0, 1.0], [3.0, 0.0]]), np.array([[0.0, 2.0], [2.0, 0.0]])])
    >>> fs([0, 1.5, 9])
    array([[3., 1., 0.],
           [2., 2., 0.]])
    >>> (fs[0] - 2 * fs[1]).points
    array([[ 0., -1.],
           [ 1., -3.],
           [ 2.,  1.],
           [ 3.,  0.]])
    """

    __slots__ = ("_cached", "_set")

    # So that arrays leave operators to the set.
    __array_ufunc__ = None

    _set: _warpsmith.PcfSet
    _cached: npt.NDArray[np.int64] | None

    def __init__(self, functions: Functions, *, dtype: npt.DTypeLike | None = None) -> None:
        if isinstance(functions, PcfSet):
            made = functions
        elif isinstance(functions, np.ndarray) and functions.dtype != np.object_:
            made = _of_array(functions)
        elif len(shape := getattr(functions, "shape", ())) > 1:
            tensor: Any = functions
            made = _of_sequence(list(tensor.reshape((int(np.prod(shape)),)))).reshape(shape)
        elif isinstance(functions, Iterable):
            made = _of_sequence(list(functions))
        else:
            made = _of_array(np.asarray(functions))
        self._set = made._set if dtype is None else made.astype(dtype)._set
        self._cached = None

    @classmethod
    def from_parts(
        cls,
        offsets: npt.ArrayLike,
        points: npt.ArrayLike,
        *,
        shape: Sequence[int] | None = None,
        dtype: npt.DTypeLike | None = None,
    ) -> PcfSet:
        """The functions whose breakpoints are ``points[offsets[i]:offsets[i + 1]]``.

        Parameters
        ----------
        offsets : (n + 1,) array_like of int
            Where functions start, from 0 to the number of points.
        points : (m, 2) array_like
            Breakpoints of all functions: t and v.
        shape : sequence of int, optional
            The functions' shape, in C order; by default (n,).
        dtype : dtype_like, optional
            float32 or float64; by default that of the points.

        Raises
        ------
        ValueError
            Where offsets don't divide the points so, or the shape holds another number of functions; and as `PcfSet`.

        Examples
        --------
        >>> PcfSet.from_parts([0, 3, 5], [(0, 3), (1, 1), (3, 0), (0, 2), (2, 0)])
        PcfSet of shape (2,), float64, 5 breakpoints
        """
        points = reals(points, "points")
        if points.ndim != 2 or points.shape[1] != 2:
            raise ValueError(f"points have the shape {points.shape}, but it must be (breakpoints, 2): t and v")
        starts = np.asarray(offsets)
        if starts.dtype.kind not in "iu" and starts.size:
            raise TypeError(f"offsets are {starts.dtype}, but they must be whole numbers")
        if starts.ndim != 1:
            raise ValueError(f"offsets have the shape {starts.shape}, but it must be (functions + 1,)")
        made = _wrap(_warpsmith.PcfSet(starts.astype(np.int64), points, None if shape is None else list(_shape(shape))))
        return made if dtype is None else made.astype(dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """The functions' shape; () of a single function."""
        return tuple(self._set.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._set.shape)

    @property
    def size(self) -> int:
        """The number of functions."""
        return len(self._set)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of times and values: float32 or float64."""
        return np.dtype(self._set.dtype)

    @property
    def points(self) -> Array:
        """Breakpoints of all functions, rows of t and v: a read-only array of shape (m, 2) without a copy."""
        return self._set.points

    @property
    def offsets(self) -> npt.NDArray[np.int64]:
        """Where each function starts in `points`, and the end of the last: a read-only array without a copy."""
        return self._set.offsets

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """The number of breakpoints of each function."""
        return np.diff(self.offsets).reshape(self.shape)

    @property
    def nbytes(self) -> int:
        """The memory that the set takes, in bytes."""
        return self.points.nbytes + self.offsets.nbytes

    @property
    def _indices(self) -> npt.NDArray[np.int64]:
        """The functions' indices, in their shape."""
        if self._cached is None:
            self._cached = np.arange(self.size, dtype=np.int64).reshape(self.shape)
        return self._cached

    def _take(self, indices: npt.NDArray[np.int64]) -> PcfSet:
        flat = np.ascontiguousarray(indices, np.int64).ravel()
        return _wrap(self._set.take(flat, list(indices.shape)))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a set of shape () is one function, and has no length")
        return self.shape[0]

    def __getitem__(self, key: Any) -> PcfSet:
        return self._take(np.asarray(self._indices[key]))

    def __iter__(self) -> Iterator[PcfSet]:
        return (self[index] for index in range(len(self)))

    def reshape(self, *shape: int | Sequence[int]) -> PcfSet:
        """The same functions in another shape, in C order.

        Parameters
        ----------
        *shape : int, or sequence of int
            One extent may be -1: whatever is left.

        Raises
        ------
        ValueError
            Where it holds another number of functions.

        Examples
        --------
        >>> PcfSet([[(0, 1)], [(0, 2)], [(0, 3)], [(0, 4)]]).reshape(2, -1)(0)
        array([[1., 2.],
               [3., 4.]])
        """
        indices = self._indices.reshape(*shape)  # type: ignore[arg-type]
        return _wrap(self._set.with_shape(list(indices.shape)))

    def astype(self, dtype: npt.DTypeLike) -> PcfSet:
        """The same functions in another type.

        Parameters
        ----------
        dtype : dtype_like
            float32 or float64.

        Raises
        ------
        ValueError
            Where a number is too large for it, or two breakpoints would become one.

        Examples
        --------
        >>> PcfSet([[(0, 1)]]).astype("float32").dtype
        dtype('float32')
        """
        wanted = np.dtype(dtype)
        return self if wanted == self.dtype else _wrap(self._set.astype(wanted.name))

    def __call__(self, t: npt.ArrayLike) -> Any:
        """The values at times.

        Parameters
        ----------
        t : array_like
            Times from 0 on; infinity for the last value.

        Returns
        -------
        ndarray or scalar
            Of the set's shape, followed by that of `t`.

        Raises
        ------
        ValueError
            Where a time is negative or NaN.
        """
        times = reals(t, "t")
        flat = np.ascontiguousarray(times, np.float64).ravel()
        wrong = np.flatnonzero(~(flat >= 0))
        if wrong.size:
            raise ValueError(f"t = {flat[wrong[0]]}, but functions are defined from t = 0 on")
        return self._set.values_at(flat).reshape(self.shape + times.shape)[()]

    def _combine(self, operation: str, other: Any, reflected: bool = False) -> PcfSet:
        if isinstance(other, PcfSet):
            operand = other
        else:
            # A number takes the set's type, as with arrays.
            weak = isinstance(other, (bool, int, float))
            try:
                values = np.asarray(other, self.dtype) if weak else reals(other, "the operand")
            except TypeError:
                return NotImplemented  # type: ignore[no-any-return]
            operand = _constants(values)
        dtype = np.promote_types(self.dtype, operand.dtype)
        f, g = self.astype(dtype), operand.astype(dtype)
        if reflected:
            f, g = g, f
        rows, columns = np.broadcast_arrays(f._indices, g._indices)
        made = f._set.combine(
            operation, g._set, np.ascontiguousarray(rows).ravel(), np.ascontiguousarray(columns).ravel()
        )
        return _wrap(made.with_shape(list(rows.shape)))

    def __add__(self, other: Any) -> PcfSet:
        return self._combine("add", other)

    def __radd__(self, other: Any) -> PcfSet:
        return self._combine("add", other, True)

    def __sub__(self, other: Any) -> PcfSet:
        return self._combine("subtract", other)

    def __rsub__(self, other: Any) -> PcfSet:
        return self._combine("subtract", other, True)

    def __mul__(self, other: Any) -> PcfSet:
        return self._combine("multiply", other)

    def __rmul__(self, other: Any) -> PcfSet:
        return self._combine("multiply", other, True)

    def __truediv__(self, other: Any) -> PcfSet:
        return self._combine("divide", other)

    def __rtruediv__(self, other: Any) -> PcfSet:
        return self._combine("divide", other, True)

    def __pow__(self, other: Any) -> PcfSet:
        return self._combine("power", other)

    def __rpow__(self, other: Any) -> PcfSet:
        return self._combine("power", other, True)

    def __neg__(self) -> PcfSet:
        return 0 - self

    def __abs__(self) -> PcfSet:
        return self.maximum(-self)

    def minimum(self, other: Any) -> PcfSet:
        """The lower of two functions at every time.

        Parameters
        ----------
        other : PcfSet or array_like
            Functions or numbers, which are broadcast.

        Examples
        --------
        >>> PcfSet([[(0, 3), (1, 1)]]).minimum(2).points
        array([[0., 2.],
               [1., 1.]])
        """
        return self._combine("minimum", other)

    def maximum(self, other: Any) -> PcfSet:
        """The higher of two functions at every time.

        Parameters
        ----------
        other : PcfSet or array_like
            Functions or numbers, which are broadcast.

        Examples
        --------
        >>> PcfSet([[(0, 3), (1, 1)]]).maximum(2).points
        array([[0., 3.],
               [1., 2.]])
        """
        return self._combine("maximum", other)

    def integral(self, start: float = 0.0, end: float = np.inf) -> Any:
        """The integrals from `start` to `end`.

        Parameters
        ----------
        start, end : float
            0 <= start <= end, which may be infinite. Where a function doesn't end on 0, its integral then is, too.

        Returns
        -------
        ndarray or scalar
            Of the set's shape.

        Raises
        ------
        ValueError
            Where the bounds are not in order.

        Examples
        --------
        >>> PcfSet([[(0, 3), (1, 1), (3, 0)]]).integral()
        array([5.])
        """
        start, end = real(start, "start"), real(end, "end")
        if not 0 <= start <= end:
            raise ValueError(f"start = {start} and end = {end}, but bounds must be 0 <= start <= end")
        return self._set.integrals(start, end).reshape(self.shape)[()]

    def norm(self, p: float = 1.0) -> Any:
        """The L^p norms: the p-th roots of the integrals of |f|^p.

        Parameters
        ----------
        p : float
            A finite number of at least 1.

        Returns
        -------
        ndarray or scalar
            Of the set's shape; infinite where a function doesn't end on 0.

        Raises
        ------
        ValueError
            Where `p` is no such number.

        Examples
        --------
        >>> PcfSet([[(0, 3), (1, 1), (3, 0)]]).norm(2) ** 2
        array([11.])
        """
        return self._set.norms(real(p, "p")).reshape(self.shape)[()]

    def mean(self, axis: int | Sequence[int] | None = None) -> PcfSet:
        """The pointwise mean.

        Parameters
        ----------
        axis : int or sequence of int, optional
            The axes along which the mean is taken; by default all.

        Returns
        -------
        PcfSet
            Of the shape without these axes. It has no breakpoints at which it doesn't change.

        Raises
        ------
        ValueError
            Where it is a mean of no functions.

        Examples
        --------
        >>> PcfSet([[(0, 3), (1, 1), (3, 0)], [(0, 2), (2, 0)]]).mean().points
        array([[0. , 2.5],
               [1. , 1.5],
               [2. , 0.5],
               [3. , 0. ]])
        """
        shape, groups = self._groups(axis)
        return _wrap(self._set.summaries(groups, False).with_shape(shape))

    def std(self, axis: int | Sequence[int] | None = None, *, ddof: int = 0) -> PcfSet:
        """The pointwise standard deviation.

        Parameters
        ----------
        axis : int or sequence of int, optional
            The axes along which it is taken; by default all.
        ddof : int
            As NumPy's: the squared distances from the mean of n functions are summed up and divided by n - ddof.

        Returns
        -------
        PcfSet
            Of the shape without these axes. It has no breakpoints at which it doesn't change.

        Raises
        ------
        ValueError
            Where there are no functions, or no more than `ddof`.

        Notes
        -----
        A band around the mean is ``mean - std`` and ``mean + std``, which are functions, too.

        Examples
        --------
        >>> PcfSet([[(0, 3), (1, 1), (3, 0)], [(0, 1), (2, 0)]]).std().points
        array([[0. , 1. ],
               [1. , 0. ],
               [2. , 0.5],
               [3. , 0. ]])
        """
        shape, groups = self._groups(axis)
        count, ddof = groups.shape[1], whole(ddof, "ddof", None)
        if ddof and not ddof < count:
            raise ValueError(f"ddof is {ddof}, but it must be below the number of functions, {count}")
        made = _wrap(self._set.summaries(groups, True).with_shape(shape))
        return made * math.sqrt(count / (count - ddof)) if ddof else made

    def _groups(self, axis: int | Sequence[int] | None) -> tuple[list[int], npt.NDArray[np.int64]]:
        """The shape without these axes, and a row with the functions along them for each place in it."""
        axes = self._axes(axis)
        last = np.moveaxis(self._indices, axes, tuple(range(-len(axes), 0)))
        shape = last.shape[: self.ndim - len(axes)]
        width = int(np.prod(last.shape[len(shape) :]))
        return list(shape), np.ascontiguousarray(last).reshape(int(np.prod(shape)), width)

    def _axes(self, axis: int | Sequence[int] | None) -> tuple[int, ...]:
        """The axes of an argument, from 0."""
        if axis is None:
            return tuple(range(self.ndim))
        given = axis if isinstance(axis, Sequence) else [axis]
        axes = tuple(whole(one, "axis", -self.ndim, self.ndim - 1) % self.ndim for one in given)
        if len(set(axes)) < len(axes):
            raise ValueError(f"axis is {axis}, which repeats an axis")
        return axes

    def max_time(self, axis: int | tuple[int, ...] | None = None) -> Any:
        """The time of the last breakpoint.

        Parameters
        ----------
        axis : int or tuple of int, optional
            The axes along which the largest is taken; by default all.

        Returns
        -------
        ndarray or scalar

        Raises
        ------
        ValueError
            Where it is that of no functions.

        Examples
        --------
        >>> print(PcfSet([[(0, 3), (1, 0)], [(0, 2), (2, 0)]]).max_time())
        2.0
        """
        return self._set.max_times().reshape(self.shape).max(axis=self._axes(axis))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Saves the set, for `load` and the command ``warpsmith pcf``.

        The file is there as a whole or not at all.

        Parameters
        ----------
        path : path_like
            The extension tells the format: ``.npz``; ``.npy`` where all functions have equally many breakpoints;
            ``.csv`` where the set has one dimension.

        Raises
        ------
        OSError
            Where the file can't be written.
        ValueError
            Where the format can't hold the set.
        """
        self._set.save(os.fspath(path))

    def plot(self, ax: Axes | None = None, *, end: float | None = None, **style: Any) -> Axes:
        """Draws the functions with matplotlib, each as a line of its own.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default the current axes.
        end : float, optional
            The time up to which the last values are drawn on; by default a little beyond the last breakpoint of all.
        **style
            What `matplotlib.axes.Axes.step` takes: ``color``, ``alpha``, ``linewidth``, ... As ``label``, a string is
            for all functions together, and a sequence has one for each.

        Returns
        -------
        matplotlib.axes.Axes
            Where they were drawn.

        Raises
        ------
        ImportError
            Where there is no matplotlib.
        ValueError
            Where `end` is before 0 or not finite, or there are not as many labels as functions.

        Examples
        --------
        >>> fs = PcfSet([[(0, 3), (1, 1), (3, 0)], [(0, 2), (2, 0)]])
        >>> ax = fs.plot(alpha=0.3)  # doctest: +SKIP
        >>> fs.mean().plot(ax, color="black", label="mean").legend()  # doctest: +SKIP
        """
        try:
            from matplotlib import pyplot
        except ImportError as error:
            raise ImportError("plots need matplotlib: pip install matplotlib") from error
        last = _end(self.points) if end is None else real(end, "end")
        if not 0 <= last < np.inf:
            raise ValueError(f"end = {end}, but it must be a finite time from 0 on")
        label = style.pop("label", None)
        # A legend then has one line for all.
        together = label is None or isinstance(label, str)
        labels = ([label] + [None] * self.size)[: self.size] if together else list(label)
        if len(labels) != self.size:
            raise ValueError(f"there are {len(labels)} labels, but {self.size} functions")
        where = pyplot.gca() if ax is None else ax
        for function, name in zip(self.reshape(-1), labels):
            t, v = function.points.astype(np.float64).T
            drawn = t <= last
            t, v = np.append(t[drawn], last), np.append(v[drawn], v[drawn][-1])
            where.step(t, v, where="post", label=name, **style)
        return where

    def __reduce__(self) -> tuple[Any, ...]:
        return _of_state, (np.array(self.offsets), np.array(self.points), self.shape)

    def __repr__(self) -> str:
        count = self.points.shape[0]
        return f"PcfSet of shape {self.shape}, {self.dtype}, {count:,} breakpoint{'' if count == 1 else 's'}"

    def _repr_html_(self) -> str:
        """The first functions as a drawing, for notebooks."""
        return f"<div>{html.escape(repr(self))}</div>{_drawing(self)}"


def _wrap(made: _warpsmith.PcfSet) -> PcfSet:
    self = object.__new__(PcfSet)
    self._set = made
    self._cached = None
    return self


def _of_state(offsets: Array, points: Array, shape: tuple[int, ...]) -> PcfSet:
    return PcfSet.from_parts(offsets, points, shape=shape)


def _shape(shape: Sequence[int]) -> tuple[int, ...]:
    shape = tuple(int(extent) for extent in shape)
    if any(extent < 0 for extent in shape):
        raise ValueError(f"the shape {shape} has a negative extent")
    return shape


def _of_array(array: Array) -> PcfSet:
    points = reals(array, "functions")
    if points.ndim < 2 or points.shape[-1] != 2:
        raise ValueError(f"functions of the shape {points.shape}: it must be (..., breakpoints, 2), t and v at the end")
    shape, length = points.shape[:-2], points.shape[-2]
    offsets = np.arange(int(np.prod(shape)) + 1, dtype=np.int64) * length
    return _wrap(_warpsmith.PcfSet(offsets, points.reshape(-1, 2), list(shape)))


def _of_sequence(functions: list[Any]) -> PcfSet:
    if functions and all(isinstance(function, PcfSet) for function in functions):
        shapes = sorted({function.shape for function in functions})
        if len(shapes) > 1:
            raise ValueError(f"sets of the shapes {shapes[0]} and {shapes[1]} can't be stacked")
        return _join(functions, np.stack)
    arrays = []
    for index, function in enumerate(functions):
        array = function.points if isinstance(function, PcfSet) and not function.shape else _array(function, index)
        if array.shape == (0,):
            array = array.reshape(0, 2)
        if array.ndim != 2 or array.shape[1] != 2:
            raise ValueError(
                f"function {index} has the shape {array.shape}, but it must be (breakpoints, 2): t and v"
            )
        arrays.append(array)
    points = np.concatenate(arrays) if arrays else np.empty((0, 2))
    return _wrap(_warpsmith.PcfSet(_offsets(arrays), points, None))


def _offsets(arrays: list[Array]) -> npt.NDArray[np.int64]:
    """Where each array starts in all of them together, and the end of the last."""
    return np.cumsum([0, *map(len, arrays)], dtype=np.int64)


def _array(function: Any, index: int) -> Array:
    try:
        return reals(function, f"function {index}")
    except ValueError as error:
        raise ValueError(f"function {index} is no array of (t, v): {error}") from None


def _constants(values: Array) -> PcfSet:
    """Functions that never change."""
    points = np.stack([np.zeros_like(values), values], axis=-1)
    return _of_array(points[..., np.newaxis, :])


def _join(sets: Sequence[PcfSet], join: Any) -> PcfSet:
    """The sets' functions in the shape in which `join` puts arrays together."""
    dtype = np.result_type(*{one.dtype for one in sets})
    sets = [one.astype(dtype) for one in sets]
    starts = np.cumsum([0] + [one.size for one in sets])
    points = np.cumsum([0] + [len(one.points) for one in sets])
    offsets = [one.offsets[1:] + start for one, start in zip(sets, points)]
    everything = PcfSet.from_parts(np.concatenate([[0], *offsets]), np.concatenate([one.points for one in sets]))
    return everything._take(join([one._indices + start for one, start in zip(sets, starts)]))


def concatenate(sets: Sequence[PcfSet], axis: int = 0) -> PcfSet:
    """Sets one after the other, along an axis that they have.

    ``PcfSet([a, b])`` stacks sets along a new one.

    Parameters
    ----------
    sets : sequence of PcfSet
        Of equal shapes but for this axis.
    axis : int
        The axis.

    Raises
    ------
    ValueError
        Where the shapes differ otherwise, or there are no sets.

    Examples
    --------
    >>> fs = PcfSet([[(0, 1)], [(0, 2)]])
    >>> concatenate([fs, fs[:1]]).shape
    (3,)
    """
    sets = items(sets, "sets")
    if not sets:
        raise ValueError("there are no sets to put together")
    for index, one in enumerate(sets):
        if not isinstance(one, PcfSet):
            raise TypeError(f"sets[{index}] is of the type {type(one).__name__}, but it must be a PcfSet")
    ndim = min(one.ndim for one in sets)
    whole(axis, "axis", -ndim, ndim - 1)
    return _join(sets, lambda indices: np.concatenate(indices, axis=axis))


def load(path: str | os.PathLike[str], *, dtype: npt.DTypeLike | None = None) -> PcfSet:
    """Loads a set from a file of `PcfSet.save` or of the command ``warpsmith pcf``.

    Parameters
    ----------
    path : path_like
        ``.npz`` with the arrays ``offsets`` and ``points``; ``.npy`` of shape (..., breakpoints, 2); ``.csv`` with the
        header ``function,t,v``.
    dtype : dtype_like, optional
        float32 or float64; by default that of the file.

    Raises
    ------
    OSError
        Where the file can't be read.
    ValueError
        Where it holds something else, or invalid functions.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "set.npz")
    ...     PcfSet([[(0, 1), (2, 0)]]).save(path)
    ...     load(path)
    PcfSet of shape (1,), float64, 2 breakpoints
    """
    made = _wrap(_warpsmith.PcfSet.load(os.fspath(path)))
    return made if dtype is None else made.astype(dtype)


def _set(functions: Functions, dtype: npt.DTypeLike | None) -> PcfSet:
    made = functions if isinstance(functions, PcfSet) else PcfSet(functions)
    return made if dtype is None else made.astype(dtype)


def _pairwise(
    what: str,
    X: Functions,
    Y: Functions | None,
    p: float | None,
    dtype: npt.DTypeLike | None,
    layout: str,
    out: Any,
    on_device: bool,
    device: Devices,
    progress: bool | Progress,
) -> Any:
    rows = _set(X, dtype)
    columns = None if Y is None else _set(Y, dtype)
    if columns is not None:
        common = np.promote_types(rows.dtype, columns.dtype)
        rows, columns = rows.astype(common), columns.astype(common)
    others = None if columns is None else columns._set
    with shown(progress, what) as tell:
        return _warpsmith.pairwise(rows._set, others, p, layout, out, on_device, device, tell)


@overload
def pdist(
    X: Functions,
    p: float = 1.0,
    *,
    dtype: npt.DTypeLike | None = None,
    layout: Layout = "condensed",
    out: Any = None,
    on_device: Literal[False] = False,
    device: Devices = None,
    progress: bool | Progress = False,
) -> Array: ...
@overload
def pdist(
    X: Functions,
    p: float = 1.0,
    *,
    dtype: npt.DTypeLike | None = None,
    layout: Layout = "condensed",
    out: Any = None,
    on_device: Literal[True],
    device: Devices = None,
    progress: bool | Progress = False,
) -> DeviceArray: ...
def pdist(
    X: Functions,
    p: float = 1.0,
    *,
    dtype: npt.DTypeLike | None = None,
    layout: Layout = "condensed",
    out: Any = None,
    on_device: bool = False,
    device: Devices = None,
    progress: bool | Progress = False,
) -> Any:
    """The L^p distances of all pairs of functions: p-th roots of the integrals of |f - g|^p from 0 to infinity.

    Parameters
    ----------
    X : PcfSet or array_like
        n functions, or what `PcfSet` makes them of.
    p : float
        A finite number of at least 1; 1 and 2 are fastest. Large powers of small differences may come to 0, and those
        of large ones to infinity.
    dtype : dtype_like, optional
        The precision, float32 or float64; by default that of the functions.
    layout : {"condensed", "packed", "dense"}
        How the entries lie: the n (n - 1) / 2 above the diagonal, as `scipy.spatial.distance.squareform` reads them;
        the n (n + 1) / 2 on and below the diagonal, by rows; or all, with the functions' shape twice.
    out : ndarray or array on a GPU, optional
        Where the result goes: an array of its shape and type, contiguous in C order; of NumPy, or of another library
        (CuPy, PyTorch) on the GPU that computes. After an exception it holds anything.
    on_device : bool
        Whether a new result stays where it was computed, as a `DeviceArray`. Takes one device.
    device : Device, str or sequence of these, optional
        What to compute on; by default that of `out`, or the best device there is. The result is the same bits on any
        number of GPUs.
    progress : bool or callable
        Whether to show how far the work is; or what to call with the amount of work that is done, and of all.

    Returns
    -------
    ndarray or DeviceArray
        Distances, infinite of functions that differ for ever; `out`, where it is given.

    Raises
    ------
    ValueError
        Where the functions, `p`, the layout or the shape of `out` are no good.
    TypeError
        Where `out` is of another type.
    MemoryError
        Where the memory of the device or the host doesn't suffice.

    Warns
    -----
    RuntimeWarning
        Where a result on the host is infinite because numbers are too large for the precision.

    Examples
    --------
    >>> fs = PcfSet([[(0, 3), (1, 1), (3, 0)], [(0, 2), (2, 0)], [(0, 0)]])
    >>> pdist(fs, layout="dense")
    array([[0., 3., 5.],
           [3., 0., 4.],
           [5., 4., 0.]])
    """
    return _pairwise("pdist", X, None, real(p, "p"), dtype, layout, out, on_device, device, progress)


@overload
def cdist(
    X: Functions,
    Y: Functions,
    p: float = 1.0,
    *,
    dtype: npt.DTypeLike | None = None,
    out: Any = None,
    on_device: Literal[False] = False,
    device: Devices = None,
    progress: bool | Progress = False,
) -> Array: ...
@overload
def cdist(
    X: Functions,
    Y: Functions,
    p: float = 1.0,
    *,
    dtype: npt.DTypeLike | None = None,
    out: Any = None,
    on_device: Literal[True],
    device: Devices = None,
    progress: bool | Progress = False,
) -> DeviceArray: ...
def cdist(
    X: Functions,
    Y: Functions,
    p: float = 1.0,
    *,
    dtype: npt.DTypeLike | None = None,
    out: Any = None,
    on_device: bool = False,
    device: Devices = None,
    progress: bool | Progress = False,
) -> Any:
    """The L^p distances of the functions of one set from those of another.

    Parameters
    ----------
    X, Y : PcfSet or array_like
        Functions, or what `PcfSet` makes them of.
    p, dtype, out, on_device, device, progress
        As in `pdist`.

    Returns
    -------
    ndarray or DeviceArray
        Of the shape of `X` followed by that of `Y`.

    Raises
    ------
    ValueError, TypeError, MemoryError
        As `pdist`.

    Examples
    --------
    >>> cdist([[(0, 3), (1, 1), (3, 0)]], [[(0, 2), (2, 0)], [(0, 0)]])
    array([[3., 5.]])
    """
    return _pairwise("cdist", X, Y, real(p, "p"), dtype, "dense", out, on_device, device, progress)


@overload
def l2_kernel(
    X: Functions,
    Y: Functions | None = None,
    *,
    dtype: npt.DTypeLike | None = None,
    layout: Literal["packed", "dense"] = "dense",
    out: Any = None,
    on_device: Literal[False] = False,
    device: Devices = None,
    progress: bool | Progress = False,
) -> Array: ...
@overload
def l2_kernel(
    X: Functions,
    Y: Functions | None = None,
    *,
    dtype: npt.DTypeLike | None = None,
    layout: Literal["packed", "dense"] = "dense",
    out: Any = None,
    on_device: Literal[True],
    device: Devices = None,
    progress: bool | Progress = False,
) -> DeviceArray: ...
def l2_kernel(
    X: Functions,
    Y: Functions | None = None,
    *,
    dtype: npt.DTypeLike | None = None,
    layout: Literal["packed", "dense"] = "dense",
    out: Any = None,
    on_device: bool = False,
    device: Devices = None,
    progress: bool | Progress = False,
) -> Any:
    """The L^2 inner products of all pairs of functions: integrals of f g from 0 to infinity.

    Parameters
    ----------
    X : PcfSet or array_like
        Functions, or what `PcfSet` makes them of.
    Y : PcfSet or array_like, optional
        Others, of which each is paired with each of `X`; by default those of `X`.
    layout : {"packed", "dense"}
        As in `pdist`; dense where there is a `Y`.
    dtype, out, on_device, device, progress
        As in `pdist`.

    Returns
    -------
    ndarray or DeviceArray
        Inner products, infinite of two functions of which neither ends on 0.

    Raises
    ------
    ValueError, TypeError, MemoryError
        As `pdist`.

    Examples
    --------
    >>> l2_kernel([[(0, 3), (1, 1), (3, 0)], [(0, 2), (2, 0)]])
    array([[11.,  8.],
           [ 8.,  8.]])
    """
    return _pairwise("l2_kernel", X, Y, None, dtype, layout, out, on_device, device, progress)


def _bars(barcode: Any, dimension: int | None, index: int) -> Array:
    """The bars of one barcode, of the dimension that is wanted, as an array of births and deaths."""
    if isinstance(barcode, Mapping):
        if "dgms" not in barcode:
            raise ValueError(f'barcode {index} is a dictionary without "dgms", which ripser\'s have')
        barcode = barcode["dgms"]
    if not isinstance(barcode, np.ndarray) and isinstance(barcode, (list, tuple)) and len(barcode):
        first = barcode[0]
        if isinstance(first, tuple) and len(first) == 2 and np.ndim(first[1]) == 1:
            rows = [(birth, death, degree) for degree, (birth, death) in barcode]
            return _of_dimension(reals(rows, f"barcode {index}"), dimension, index)
        if np.ndim(first) == 2 or np.shape(first) == (0,):
            return _of_degrees(barcode, dimension, index)
    try:
        bars = reals(barcode, f"barcode {index}")
    except ValueError as error:
        raise ValueError(f"barcode {index} is no array of bars: {error}") from None
    if bars.shape == (0,):
        bars = bars.reshape(0, 2)
    if bars.ndim == 2 and bars.shape[1] == 3:
        return _of_dimension(bars, dimension, index)
    if bars.ndim != 2 or bars.shape[1] != 2:
        raise ValueError(
            f"barcode {index} has the shape {bars.shape}, but it must be (bars, 2), births and deaths, or (bars, 3) "
            "with dimensions; a single barcode is given as [barcode]"
        )
    if dimension is not None:
        raise ValueError(f"barcode {index} has no dimensions to choose from: its shape is {bars.shape}")
    return bars


def _of_degrees(barcode: Sequence[Any], dimension: int | None, index: int) -> Array:
    if dimension is None:
        if len(barcode) > 1:
            raise ValueError(f"barcode {index} has bars of {len(barcode)} dimensions: choose one (dimension=)")
        dimension = 0
    if not 0 <= dimension < len(barcode):
        raise ValueError(f"barcode {index} has bars of the dimensions 0 to {len(barcode) - 1}, not of {dimension}")
    return _bars(np.asarray(barcode[dimension]), None, index)


def _of_dimension(bars: Array, dimension: int | None, index: int) -> Array:
    if dimension is None:
        found = np.unique(bars[:, 2])
        if found.size > 1:
            raise ValueError(f"barcode {index} has bars of {found.size} dimensions: choose one (dimension=)")
        return bars[:, :2]
    return bars[bars[:, 2] == dimension, :2]


def _curves(
    curve: str, barcodes: Iterable[Any], dimension: int | None, superlevel: bool, dtype: npt.DTypeLike
) -> PcfSet:
    given = items(barcodes, "barcodes", "; a single barcode is given as [barcode]")
    if dimension is not None:
        dimension = whole(dimension, "dimension")
    arrays = [_bars(barcode, dimension, index) for index, barcode in enumerate(given)]
    bars = np.concatenate([*arrays, np.empty((0, 2))]).astype(np.float64, copy=False)
    return _wrap(_warpsmith.PcfSet.of_barcodes(curve, _offsets(arrays), bars, superlevel, np.dtype(dtype).name))


def betti_curves(
    barcodes: Iterable[Any],
    *,
    dimension: int | None = None,
    superlevel: bool = False,
    dtype: npt.DTypeLike = np.float64,
) -> PcfSet:
    """The Betti curves of barcodes: at t, the number of bars with birth <= t < death.

    Parameters
    ----------
    barcodes : sequence
        For each barcode one of these, whichever a program gives:

        - an array of shape (bars, 2), births and deaths (infinite of a bar without end);
        - an array of shape (bars, 3), births, deaths and dimensions, as in giotto-tda's arrays of diagrams;
        - a list of (dimension, (birth, death)), as of gudhi's ``persistence``;
        - a list with such an array (bars, 2) for each dimension, or ripser's dictionary with it.
    dimension : int, optional
        The bars of this dimension alone. Needed where there are several.
    superlevel : bool
        Whether deaths are below births, as in superlevel filtrations.
    dtype : dtype_like
        float32 or float64.

    Returns
    -------
    PcfSet
        A function for each barcode.

    Raises
    ------
    ValueError
        Where a bar is invalid, starts before 0, or dimensions are missing or not chosen from.

    Examples
    --------
    >>> import numpy as np
    >>> betti_curves([np.array([[0.0, np.inf], [0.0, 2.0], [1.0, 4.0]])])[0].points
    array([[0., 2.],
           [1., 3.],
           [2., 2.],
           [4., 1.]])
    """
    return _curves("betti", barcodes, dimension, superlevel, dtype)


def stable_ranks(
    barcodes: Iterable[Any],
    *,
    dimension: int | None = None,
    superlevel: bool = False,
    dtype: npt.DTypeLike = np.float64,
) -> PcfSet:
    """The stable ranks of barcodes: at t, the number of bars that are longer than t.

    Parameters
    ----------
    barcodes, dimension, superlevel, dtype
        As in `betti_curves`.

    Returns
    -------
    PcfSet
        A function for each barcode.

    Raises
    ------
    ValueError
        As `betti_curves`; bars may start before 0.

    Examples
    --------
    >>> stable_ranks([[(0.0, 2.0), (1.0, 4.0)]])[0].points
    array([[0., 2.],
           [2., 1.],
           [3., 0.]])
    """
    return _curves("stable_rank", barcodes, dimension, superlevel, dtype)


def accumulated_persistence(
    barcodes: Iterable[Any],
    *,
    dimension: int | None = None,
    superlevel: bool = False,
    dtype: npt.DTypeLike = np.float64,
) -> PcfSet:
    """The accumulated persistence of barcodes: at t, the sum of the lengths of the bars whose middle is at t or before.

    Parameters
    ----------
    barcodes, dimension, superlevel, dtype
        As in `betti_curves`. Bars without end count for nothing.

    Returns
    -------
    PcfSet
        A function for each barcode.

    Raises
    ------
    ValueError
        As `betti_curves`, where a bar's middle is before 0.

    Examples
    --------
    >>> accumulated_persistence([[(0.0, 2.0), (1.0, 4.0)]])[0].points
    array([[0. , 0. ],
           [1. , 2. ],
           [2.5, 5. ]])
    """
    return _curves("accumulated", barcodes, dimension, superlevel, dtype)


def _end(points: Array) -> float:
    """Until when functions of these breakpoints are drawn, so that their last values are seen."""
    return 1.05 * float(points[:, 0].max(initial=0)) or 1.0


def _drawing(functions: PcfSet, most: int = 8, width: int = 400, height: int = 160) -> str:
    """The first functions as an SVG picture."""
    flat = functions.reshape(-1)[:most]
    if not flat.size:
        return ""
    points = flat.points.astype(np.float64)
    last = _end(points)
    low, high = min(float(points[:, 1].min()), 0.0), max(float(points[:, 1].max()), 0.0)
    scale = (height - 10) / (high - low or 1.0)
    lines = []
    for index, function in enumerate(flat):
        t, v = function.points.astype(np.float64).T
        x = np.append(t, last) * (width - 10) / last + 5
        y = (high - v) * scale + 5
        steps = " ".join(f"H{end:.1f}V{to:.1f}" for end, to in zip(x[1:-1], y[1:]))
        path = f"M{x[0]:.1f} {y[0]:.1f}{steps}H{x[-1]:.1f}"
        hue = 360 * index // flat.size
        lines.append(f'<path d="{path}" fill="none" stroke="hsl({hue} 60% 45%)" stroke-width="1.5"/>')
    more = f"<div>the first {flat.size} of {functions.size:,}</div>" if functions.size > flat.size else ""
    return f'<svg width="{width}" height="{height}" xmlns="http://www.w3.org/2000/svg">{"".join(lines)}</svg>{more}'

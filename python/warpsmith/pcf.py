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

import datetime
import html
import math
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, Union, overload

import numpy as np
import numpy.typing as npt

from . import _warpsmith
from ._arrays import NUMBERS, array_of, as_array, flag, items, real, reals, whole, wholes, writable
from ._progress import Progress, shown
from ._warpsmith import Device, DeviceArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .homology import Diagrams

__all__ = [
    "Barcodes",
    "Nearest",
    "PcfSet",
    "accumulated_persistence",
    "below",
    "betti_curves",
    "cdist",
    "concatenate",
    "l2_kernel",
    "load",
    "load_barcodes",
    "nearest",
    "pdist",
    "random",
    "row_sums",
    "stable_ranks",
]

Array: TypeAlias = npt.NDArray[Any]
Devices: TypeAlias = Union[Device, str, Sequence[Union[Device, str]], None]
Functions: TypeAlias = Union["PcfSet", npt.ArrayLike, Iterable[Any]]
Layout: TypeAlias = Literal["condensed", "packed", "dense"]
PathLike: TypeAlias = Union[str, "os.PathLike[str]"]
Repair: TypeAlias = Literal["raise", "sort", "last"]
Time: TypeAlias = Union[float, str, datetime.date, np.datetime64]
Step: TypeAlias = Union[float, datetime.timedelta, np.timedelta64]
Axis: TypeAlias = Union[int, Sequence[int], None]


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
        last two. Sets of one shape are stacked along a new first axis. Arrays may be of any library in host memory,
        such as PyTorch, xarray, pandas and masspcf.
    dtype : dtype_like, optional
        float32 or float64. By default the type of the arrays; integers become float64.
    names : sequence of str, optional
        A name for each function, in C order.
    repair : {"raise", "sort", "last"}
        What to do with breakpoints that don't ascend strictly: raise an error; sort them, which leaves repeated times
        an error, since either value may be meant; or sort them and keep the last of those at one time, in the order
        given, as masspcf does. With the latter two, a function without breakpoints is zero.

    Raises
    ------
    ValueError
        Where breakpoints don't start at t = 0, don't ascend strictly, are not finite, or are too large for the type; or
        there are not as many names as functions.
    TypeError
        Where breakpoints are no real numbers, or a name is no string.

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
    >>> PcfSet([[(0, 1)], [(0, 2)], [(0, 3)]], names=["a", "b", "c"])[1:].names
    ('b', 'c')
    """

    __slots__ = ("_cached", "_set")

    # So that arrays leave operators to the set.
    __array_ufunc__ = None

    _set: _warpsmith.PcfSet
    _cached: npt.NDArray[np.int64] | None

    def __init__(
        self,
        functions: Functions,
        *,
        dtype: npt.DTypeLike | None = None,
        names: Iterable[str] | None = None,
        repair: Repair = "raise",
    ) -> None:
        made = functions if isinstance(functions, PcfSet) else _of_any(functions, repair)
        made = made if dtype is None else made.astype(dtype)
        self._set = made._set if names is None else _named(made, names)._set
        self._cached = None

    @classmethod
    def from_parts(
        cls,
        offsets: npt.ArrayLike,
        points: npt.ArrayLike,
        *,
        shape: Sequence[int] | None = None,
        dtype: npt.DTypeLike | None = None,
        names: Iterable[str] | None = None,
        repair: Repair = "raise",
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
        names, repair
            As of `PcfSet`.

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
        starts = wholes(offsets, "offsets")
        if starts.ndim != 1:
            raise ValueError(f"offsets have the shape {starts.shape}, but it must be (functions + 1,)")
        made = _make(starts.astype(np.int64), points, None if shape is None else list(_shape(shape)), repair)
        made = made if dtype is None else made.astype(dtype)
        return made if names is None else _named(made, names)

    @staticmethod
    def from_frame(
        frame: Any,
        *,
        id: Any = None,
        t: Any = "t",
        v: Any = "v",
        start: Time | None = None,
        until: Time | None = None,
        align: bool = False,
        step: Step | None = None,
        repair: bool = False,
        dtype: npt.DTypeLike | None = None,
    ) -> PcfSet:
        """The functions of a table with a row for each breakpoint, in any order.

        Parameters
        ----------
        frame : DataFrame of pandas or polars, or mapping of column names to arrays
            The table.
        id, t, v : column names
            The columns of the functions' names, the times and the values. Without `id` there is one function; then no
            other column may tell rows apart by text, or by whole numbers that change where the time goes back or stays.
            Times are numbers, or times as `start`.
        start, until, align, step
            As in `load`.
        repair : bool
            Whether of several rows at one time the last counts. By default they are refused.
        dtype : dtype_like, optional
            float32 or float64; by default that of the values.

        Returns
        -------
        PcfSet
            Of one dimension, with the ids as names, in the order in which they appear.

        Raises
        ------
        KeyError
            Where a column is missing.
        ValueError
            Where a time or a name is missing, a time or a value isn't finite, or columns have different lengths; and as
            `load`.

        Examples
        --------
        >>> table = {"who": ["a", "b", "a"], "t": [0, 0, 2], "v": [1, 4, 0]}
        >>> fs = PcfSet.from_frame(table, id="who")
        >>> fs.names, fs[0].points.tolist()
        (('a', 'b'), [[0.0, 1.0], [2.0, 0.0]])
        """
        values = reals(_column(frame, v), f"column {v!r}")
        times, base, of_calendar = _times(_column(frame, t), f"column {t!r}")
        named = None if id is None else _column(frame, id)
        found = array_of(named)
        ids = np.zeros(len(times), int) if named is None else np.asarray(named) if found is None else found
        for name, column in ((v, values), (id, ids)):
            if times.ndim != 1 or column.shape != times.shape:
                raise ValueError(f"column {name!r} has the shape {column.shape}, and column {t!r} {times.shape}")
        for name, column in ((t, times), (v, values)):
            wrong = np.flatnonzero(~np.isfinite(column))
            if wrong.size:
                raise ValueError(f"column {name!r}, row {wrong[0]} is {column[wrong[0]]}, but it must be finite")
        if id is None:
            _check_one(frame, (t, v), times)
        owners, names = _owners(ids, f"column {id!r}")
        order = np.lexsort((times, owners))
        times, points_v, owners = times[order], values[order].astype(np.float64), owners[order]
        again = (times[1:] == times[:-1]) & (owners[1:] == owners[:-1])

        def whose(row: int) -> str:
            return "" if id is None else f"of {names[owners[row]]!r}, "

        if again.any() and not flag(repair, "repair"):
            row = int(np.flatnonzero(again)[0])
            raise ValueError(f"{whose(row)}t = {float(times[row] + base)} repeats; with repair=True the last row of a time counts")
        last = np.append(~again, True)[: times.size]
        times, points_v, owners = times[last], points_v[last], owners[last]
        lengths = np.bincount(owners, minlength=len(names))
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        first, end, aligns, step = window = _window(start, until, align, step, of_calendar)
        if window == (None, None, False, None):
            late = np.flatnonzero(times[offsets[:-1]] + base != 0)
            if late.size:
                row = offsets[late[0]]
                raise ValueError(
                    f"{whose(row)}t = {float(times[row] + base)}, but the first breakpoint must be at t = 0: "
                    "choose a window (start=) or shift functions (align=True)"
                )
        elif not aligns:
            first, end = (
                time if time is None
                # A time of the window has microseconds at most.
                else round((time - base) * 1e6) / 1e6 if of_calendar
                # A whole number may have more digits than a float.
                else float((given if isinstance(given, (int, np.integer)) else time) - base)
                for given, time in ((start, first or 0.0), (until, end))
            )
        points = np.stack([times, points_v], axis=1)
        made = _wrap(_warpsmith.PcfSet.of_series(offsets, points, (first, end, aligns, False, step)))
        made = made if id is None else _named(made, names)
        return made.astype(values.dtype if dtype is None else dtype)

    @staticmethod
    def load(
        path: PathLike | Iterable[PathLike],
        *,
        columns: Mapping[str, str | int] | None = None,
        header: bool | None = None,
        separator: str | None = None,
        decimal: Literal[".", ","] = ".",
        start: Time | None = None,
        until: Time | None = None,
        align: bool = False,
        step: Step | None = None,
        repair: bool = False,
        dtype: npt.DTypeLike | None = None,
    ) -> PcfSet:
        """Loads functions from files, as the command ``warpsmith pcf`` does.

        Parameters
        ----------
        path : path_like, or sequence of path_like
            ``.npz`` with the arrays ``offsets`` and ``points``; ``.npy`` of shape (..., breakpoints, 2); otherwise a
            table with a row for each breakpoint, also compressed by gzip or Zstandard. Several files make one set of
            one dimension, whose functions have the files' names.
        columns : mapping, optional
            The names of a table's columns for ``"id"``, ``"t"`` and ``"v"``, or their numbers from 1. By default common
            names are found. A column of different texts that could be the ids must be chosen, or ``{"id": ""}``: none.
        header : bool, optional
            Whether a table's first row names its columns; by default that is detected.
        separator : str, optional
            The character between a table's fields; by default it is detected.
        decimal : {".", ","}
            The decimal separator of a table's numbers.
        start, until : float, str, datetime or numpy.datetime64, optional
            The window of time: a number, or a time, which counts in seconds since 1970; as text in RFC 3339, UTC unless
            it has an offset. `start` becomes t = 0. Functions are zero before their first breakpoint and from `until`
            on.
        align : bool
            Whether each function is shifted first, so that it starts at 0. Then `start` and `until` are numbers.
        step : float or timedelta, optional
            Samples functions at the multiples of this time.
        repair : bool
            Whether functions are repaired: breakpoints are sorted, of those at one time the last counts, and functions
            are shifted so that they start at 0.
        dtype : dtype_like, optional
            float32 or float64; by default that of the file.

        Returns
        -------
        PcfSet
            With the ids of a table as names, unless they are the numbers from 0 on.

        Raises
        ------
        OSError
            Where a file can't be read.
        ValueError
            Where it holds something else, or invalid functions, or the window is empty.

        Examples
        --------
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "set.npz")
        ...     PcfSet([[(0, 1), (2, 0)]]).save(path)
        ...     PcfSet.load(path)
        PcfSet of shape (1,), float64, 2 breakpoints
        """
        paths = _paths(path)
        table = _table(columns, header, separator, decimal, paths)
        first, end, aligns, each = _window(start, until, align, step)
        window = first, end, aligns, _is_of_calendar(start) or _is_of_calendar(until), each
        repair = flag(repair, "repair")
        with _options_of_python():
            sets = [_wrap(_warpsmith.PcfSet.load(one, table, window, repair)) for one in paths]
        if len(sets) == 1:
            made = sets[0]
        else:
            made = concatenate([one.reshape(-1) for one in sets])
            made = _named(made, _names_of_files(paths, [one.size for one in sets], [one.names for one in sets]))
        return made if dtype is None else made.astype(dtype)

    @property
    def names(self) -> tuple[str, ...] | None:
        """The functions' names, in C order; None where they have none."""
        names = self._set.names
        return None if names is None else tuple(names)

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
        return 2 * self.dtype.itemsize * int(self.offsets[-1]) + self.offsets.nbytes

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

    def ravel(self) -> PcfSet:
        """The same functions in one dimension, in C order; also `flatten`."""
        return self.reshape(-1)

    flatten = ravel

    def transpose(self, *axes: Any) -> PcfSet:
        """The same functions with axes in another order, by default the reverse; as `numpy.ndarray.transpose`."""
        return self._take(self._indices.transpose(*axes))

    @property
    def T(self) -> PcfSet:
        """The set with its axes in reverse order."""
        return self.transpose()

    def squeeze(self, axis: int | tuple[int, ...] | None = None) -> PcfSet:
        """The same functions without axes of length 1; as `numpy.squeeze`."""
        return _wrap(self._set.with_shape(list(self._indices.squeeze(axis).shape)))

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
            weak = isinstance(other, (int, float, Fraction, Decimal))
            try:
                values = np.asarray(real(other, "the operand"), self.dtype) if weak else reals(other, "the operand")
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
        ).with_shape(list(rows.shape))
        names = {one.names for one in (f, g) if one.shape == rows.shape} - {None}
        return _wrap(made.with_names(list(*names)) if len(names) == 1 else made)

    def __eq__(self, other: object) -> Any:
        """Whether functions are equal at all times: an array of bool, broadcast as NumPy does."""
        differ = self._combine("differ", other)
        if differ is NotImplemented:
            return NotImplemented
        zero = (differ.points[differ.offsets[:-1], 1] == 0) & (np.diff(differ.offsets) == 1)
        return zero.reshape(differ.shape)[()]

    def __ne__(self, other: object) -> Any:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else ~equal

    # As arrays: what is compared item by item can't be looked up.
    __hash__ = None  # type: ignore[assignment]

    def equals(self, other: Functions) -> bool:
        """Whether another set has this shape, and functions that are equal at all times, of either type.

        Examples
        --------
        >>> PcfSet([[(0, 1), (1, 1)]]).equals(PcfSet([[(0, 1)]]))
        True
        """
        others = _set(other, None)
        return self.shape == others.shape and bool(np.all(self == others))

    def allclose(self, other: Any, rtol: float = 1e-5, atol: float = 1e-8) -> bool:
        """Whether all values f and g of this set and another are close at all times: |f - g| <= atol + rtol |g|.

        Times are not rounded: functions that jump at slightly different times differ between these. Norms of
        differences compare such functions.

        Parameters
        ----------
        other : PcfSet, or array_like of numbers
            Functions or numbers, which are broadcast.
        rtol, atol : float
            The tolerances.

        Examples
        --------
        >>> PcfSet([[(0, 1), (1, 0)]]).allclose(PcfSet([[(0, 1 + 1e-9), (1, 0)]]))
        True
        """
        g = other if isinstance(other, PcfSet) else _constants(reals(other, "other"))
        return bool(np.all((abs(self - g) - real(rtol, "rtol") * abs(g)).points[:, 1] <= real(atol, "atol")))

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
            A number of at least 1; infinite for the largest magnitude.

        Returns
        -------
        ndarray or scalar
            Of the set's shape; infinite where a function doesn't end on 0 and `p` is finite.

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

    def restrict(self, start: float, until: float = np.inf) -> PcfSet:
        """The functions f(start + t) for t from 0 to until - start, which are zero afterwards.

        Parameters
        ----------
        start, until : float
            The window; `until` may be infinite. Before t = 0, functions are zero.

        Returns
        -------
        PcfSet
            Of the set's shape and names.

        Raises
        ------
        ValueError
            Where the window is empty, or `start` is not finite.

        Examples
        --------
        >>> PcfSet([[(0, 3), (1, 1), (3, 0)]]).restrict(0.5, 2).points
        array([[0. , 3. ],
               [0.5, 1. ],
               [1.5, 0. ]])
        """
        return _wrap(self._set.windowed(real(start, "start"), real(until, "until"), None))

    def resample(self, step: float) -> PcfSet:
        """The functions' values at 0, step, 2 step ..., each of which holds until the next.

        Parameters
        ----------
        step : float
            A positive number.

        Returns
        -------
        PcfSet
            Of the set's shape and names. All functions have breakpoints at the multiples of `step`, up to the first one
            at or after the last breakpoint of all.

        Raises
        ------
        ValueError
            Where `step` is no such number, or so small that there are too many steps.

        Examples
        --------
        >>> PcfSet([[(0, 3), (1, 1), (2.5, 0)]]).resample(2).points
        array([[0., 3.],
               [2., 1.],
               [4., 0.]])
        """
        return _wrap(self._set.windowed(None, None, real(step, "step")))

    def mean(self, axis: Axis = None) -> PcfSet:
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
        return self._summary(axis, "mean")

    def std(self, axis: Axis = None, *, ddof: int = 0) -> PcfSet:
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
        made = _wrap(self._set.summaries(groups, "std", 0.0).with_shape(shape))
        return made * math.sqrt(count / (count - ddof)) if ddof else made

    def sum(self, axis: Axis = None) -> PcfSet:
        """The pointwise sum, which is zero of no functions.

        Parameters
        ----------
        axis : int or sequence of int, optional
            The axes along which functions are added; by default all.

        Returns
        -------
        PcfSet
            Of the shape without these axes. It has no breakpoints at which it doesn't change.

        Raises
        ------
        ValueError
            Where a sum is too large for the type.

        Examples
        --------
        >>> PcfSet([[(0, 3), (1, 1), (3, 0)], [(0, 2), (2, 0)]]).sum().points
        array([[0., 5.],
               [1., 3.],
               [2., 1.],
               [3., 0.]])
        """
        return self._summary(axis, "sum")

    def min(self, axis: Axis = None) -> PcfSet:
        """The pointwise minimum. Arguments, result and errors are those of `mean`."""
        return self._summary(axis, "minimum", 0.0)

    def max(self, axis: Axis = None) -> PcfSet:
        """The pointwise maximum. Arguments, result and errors are those of `mean`."""
        return self._summary(axis, "maximum", 1.0)

    def median(self, axis: Axis = None) -> PcfSet:
        """The pointwise median. Arguments, result and errors are those of `mean`."""
        return self._summary(axis, "median", 0.5)

    def quantile(self, q: npt.ArrayLike, axis: Axis = None) -> PcfSet:
        """Pointwise quantiles, interpolated linearly as `numpy.quantile` does.

        Parameters
        ----------
        q : array_like
            Numbers from 0, for the minimum, to 1, for the maximum.
        axis : int or sequence of int, optional
            The axes along which they are taken; by default all.

        Returns
        -------
        PcfSet
            Of the shape of `q`, followed by that of the set without these axes. It has no breakpoints at which it
            doesn't change.

        Raises
        ------
        ValueError
            Where there are no functions, or a `q` is not from 0 to 1.

        Examples
        --------
        >>> PcfSet([[(0, 3), (1, 1), (3, 0)], [(0, 2), (2, 0)], [(0, 0)]]).quantile([0.5, 1])([0, 1, 2])
        array([[2., 1., 0.],
               [3., 2., 1.]])
        """
        given = reals(q, "q").astype(np.float64)
        made = [self._summary(axis, "quantile", one) for one in given.ravel().tolist()]
        if not made:
            return self.ravel()[:0].reshape((*given.shape, *self._groups(axis)[0]))
        return PcfSet(made).reshape((*given.shape, *made[0].shape))

    def _summary(self, axis: Axis, what: str, q: float | None = None) -> PcfSet:
        """The sum, the mean or a quantile along these axes."""
        shape, groups = self._groups(axis)
        if q is not None and groups.shape[0] and not groups.shape[1]:
            raise ValueError(f"a set of no functions has no {what}")
        return _wrap(self._set.summaries(groups, what if q is None else "quantile", q or 0.0).with_shape(shape))

    def _groups(self, axis: Axis) -> tuple[list[int], npt.NDArray[np.int64]]:
        """The shape without these axes, and a row with the functions along them for each place in it."""
        axes = self._axes(axis)
        last = np.moveaxis(self._indices, axes, tuple(range(-len(axes), 0)))
        shape = last.shape[: self.ndim - len(axes)]
        width = int(np.prod(last.shape[len(shape) :]))
        return list(shape), np.ascontiguousarray(last).reshape(int(np.prod(shape)), width)

    def _axes(self, axis: Axis) -> tuple[int, ...]:
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
            for all functions together, and a sequence has one for each; by default these are the functions' names.

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
        where = _axes(ax)
        last = _end(self.points) if end is None else real(end, "end")
        if not 0 <= last < np.inf:
            raise ValueError(f"end = {end}, but it must be a finite time from 0 on")
        label = style.pop("label", self.names)
        # A legend then has one line for all.
        together = label is None or isinstance(label, str)
        labels = ([label] + [None] * self.size)[: self.size] if together else list(label)
        if len(labels) != self.size:
            raise ValueError(f"there are {len(labels)} labels, but {self.size} functions")
        for function, name in zip(self.reshape(-1), labels):
            t, v = function.points.astype(np.float64).T
            drawn = t <= last
            t, v = np.append(t[drawn], last), np.append(v[drawn], v[drawn][-1])
            where.step(t, v, where="post", label=name, **style)
        where.set_xlabel(where.get_xlabel() or "t")
        return where

    def __reduce__(self) -> tuple[Any, ...]:
        return _of_state, (np.array(self.offsets), np.array(self.points), self.shape, self.names)

    def __repr__(self) -> str:
        count = self.offsets[-1]
        return f"PcfSet of shape {self.shape}, {self.dtype}, {count:,} breakpoint{'' if count == 1 else 's'}"

    def _repr_html_(self) -> str:
        """The first functions as a drawing, for notebooks."""
        return f"<div>{html.escape(repr(self))}</div>{_drawing(self)}"


def _wrap(made: _warpsmith.PcfSet) -> PcfSet:
    self = object.__new__(PcfSet)
    self._set = made
    self._cached = None
    return self


def _of_state(
    offsets: Array, points: Array, shape: tuple[int, ...], names: tuple[str, ...] | None = None
) -> PcfSet:
    return PcfSet.from_parts(offsets, points, shape=shape, names=names)


def _make(offsets: npt.NDArray[np.int64], points: Array, shape: list[int] | None, repair: Repair) -> PcfSet:
    if repair not in ("raise", "sort", "last"):
        raise ValueError(f'repair is {repair!r}, but it must be "raise", "sort" or "last"')
    if repair != "raise":
        offsets, points = _repaired(offsets, points, repair == "last")
    try:
        return _wrap(_warpsmith.PcfSet(offsets, points, shape))
    except ValueError as error:
        if "strictly ascending" not in str(error):
            raise
        text = f'{error}; PcfSet(..., repair="last") sorts them, and keeps the last of those at one time'
        raise ValueError(text) from None


def _column(frame: Any, name: Any) -> Any:
    try:
        if len(getattr(frame, "shape", (0, 0))) == 1 and not isinstance(frame, np.ndarray):
            # The items of a series are no columns.
            raise TypeError
        return frame[name]
    except KeyError:
        raise KeyError(f"there is no column {name!r}: they are {', '.join(map(repr, frame.keys()))}") from None
    except (IndexError, TypeError):
        text = f"frame is of the type {type(frame).__name__}, but it must be a data frame or a mapping of columns"
        raise TypeError(text) from None


def _repaired(
    offsets: npt.NDArray[np.int64], points: Array, merge: bool
) -> tuple[npt.NDArray[np.int64], Array]:
    lengths = np.diff(offsets)
    if not offsets.size or offsets[0] or offsets[-1] != len(points) or (lengths < 0).any():
        # They are refused as they are.
        return offsets, points
    points = np.insert(points, offsets[:-1][lengths == 0], 0, axis=0)
    owners = np.repeat(np.arange(lengths.size), np.maximum(lengths, 1))
    points = points[np.lexsort((points[:, 0], owners))]
    if merge:
        last = np.append((points[1:, 0] != points[:-1, 0]) | (owners[1:] != owners[:-1]), True)[: owners.size]
        points, owners = points[last], owners[last]
    counts = np.bincount(owners, minlength=lengths.size)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), points


def _named(made: PcfSet, names: Iterable[str]) -> PcfSet:
    given = items(names, "names")
    for index, name in enumerate(given):
        if not isinstance(name, str):
            raise TypeError(f"names[{index}] is {name!r}, but it must be a string")
    return _wrap(made._set.with_names(given))


def _shape(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(whole(extent, f"shape[{index}]", 0, 2**63 - 1) for index, extent in enumerate(items(shape, "shape")))


def _of_any(functions: Any, repair: Repair) -> PcfSet:
    array = array_of(functions)
    if array is None and len(shape := getattr(functions, "shape", ())) > 1:
        return _of_sequence(list(functions.reshape((int(np.prod(shape)),))), repair).reshape(shape)
    if array is None and isinstance(functions, Iterable):
        return _of_sequence(list(functions), repair)
    if array is not None and array.dtype == np.object_:
        # An array of numbers, or one of functions.
        flat = array.ravel().tolist()
        if not (isinstance(flat[0], NUMBERS) if flat else array.ndim > 1):
            return _of_sequence(flat, repair).reshape(array.shape)
    return _of_array(np.asarray(functions) if array is None else array, repair)


def _of_array(array: Array, repair: Repair = "raise") -> PcfSet:
    points = reals(array, "functions")
    if points.ndim < 2 or points.shape[-1] != 2:
        raise ValueError(f"functions of the shape {points.shape}: it must be (..., breakpoints, 2), t and v at the end")
    shape, length = points.shape[:-2], points.shape[-2]
    offsets = np.arange(int(np.prod(shape)) + 1, dtype=np.int64) * length
    return _make(offsets, points.reshape(-1, 2), list(shape), repair)


def _of_sequence(functions: list[Any], repair: Repair) -> PcfSet:
    if functions and all(isinstance(function, PcfSet) for function in functions):
        shapes = sorted({function.shape for function in functions})
        if len(shapes) > 1:
            raise ValueError(f"sets of the shapes {shapes[0]} and {shapes[1]} can't be stacked")
        return _join(functions, np.stack)
    arrays = []
    for index, function in enumerate(functions):
        array = function.points if isinstance(function, PcfSet) and not function.shape else reals(function, f"function {index}")
        if array.shape == (0,):
            array = array.reshape(0, 2)
        if array.ndim != 2 or array.shape[1] != 2:
            raise ValueError(
                f"function {index} has the shape {array.shape}, but it must be (breakpoints, 2): t and v"
            )
        arrays.append(array)
    points = np.concatenate(arrays) if arrays else np.empty((0, 2))
    return _make(_offsets(arrays), points, None, repair)


def _offsets(arrays: list[Array]) -> npt.NDArray[np.int64]:
    """Where each array starts in all of them together, and the end of the last."""
    return np.cumsum([0, *map(len, arrays)], dtype=np.int64)


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
    all_names = [one.names for one in sets]
    everything = PcfSet.from_parts(
        np.concatenate([[0], *offsets]),
        np.concatenate([one.points for one in sets]),
        names=None if None in all_names else [name for names in all_names for name in names or ()],
    )
    return everything._take(join([one._indices + start for one, start in zip(sets, starts)]))


def concatenate(sets: Sequence[PcfSet], axis: int = 0) -> PcfSet:
    """Sets one after the other, along an axis that they have.

    ``PcfSet([a, b])`` stacks sets along a new one. If all sets have names, the result has them.

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


load = PcfSet.load


def _table(
    columns: Mapping[str, str | int] | None, header: bool | None, separator: str | None, decimal: str, files: Sequence[Any]
) -> tuple[list[tuple[str, str]], bool | None, int | None, bool]:
    """The layout of a table."""
    if columns is not None and not isinstance(columns, Mapping):
        found = type(columns).__name__
        raise TypeError(f'columns is of the type {found}, but it must be a dictionary, such as {{"t": "time"}}')
    if separator is not None and not (isinstance(separator, str) and len(separator) == 1 and ord(separator) < 128):
        raise ValueError(f"separator is {separator!r}, but it must be one ASCII character")
    if decimal not in (".", ","):
        raise ValueError(f'decimal is {decimal!r}, but it must be "." or ","')
    given = {"columns": columns, "header": header is not None, "separator": separator, "decimal": decimal == ","}
    option = next((name for name, value in given.items() if value), None)
    if option and all(str(file).lower().endswith((".npy", ".npz")) for file in files):
        raise ValueError(f"{files[0]}: {option}= is for tables, but this is a file of NumPy")
    pairs = [(str(role), str(column)) for role, column in (columns or {}).items()]
    code = None if separator is None else ord(separator)
    return pairs, None if header is None else flag(header, "header"), code, decimal == ","


def _seconds(time: Any, name: str) -> float:
    """A time or a span of time as a number: seconds, since 1970 where it is a date."""
    number: float | None
    if isinstance(time, str):
        number = _warpsmith.time(time)
    elif isinstance(time, datetime.datetime):
        number = (time if time.tzinfo else time.replace(tzinfo=datetime.timezone.utc)).timestamp()
    elif isinstance(time, datetime.timedelta):
        number = time.total_seconds()
    elif isinstance(time, (datetime.date, np.datetime64)):
        number = float((np.datetime64(time) - np.datetime64(0, "s")) / np.timedelta64(1, "s"))
    elif isinstance(time, np.timedelta64):
        number = float(time / np.timedelta64(1, "s"))
    else:
        number = real(time, name)
    if number is None or math.isnan(number):
        raise ValueError(f"{name} is {time!r}, but it must be a number, or a time as 2024-05-01T12:00Z")
    return number


def _is_of_calendar(time: Any) -> bool:
    if isinstance(time, str):
        try:
            float(time)
        except ValueError:
            return True
        return False
    return isinstance(time, (datetime.date, np.datetime64))


def _window(
    start: Any, until: Any, align: Any, step: Any, of_calendar: bool | None = None
) -> tuple[float | None, float | None, bool, float | None]:
    """A window of time in numbers, for functions whose times are numbers or those of a calendar."""
    align = flag(align, "align")
    for name, time in (("start", start), ("until", until)):
        if align and _is_of_calendar(time):
            raise ValueError(f"{name} is {time!r}, but with align=True all functions start at 0: it must be a number")
        if of_calendar is False and _is_of_calendar(time):
            raise ValueError(f"{name} is {time!r}, but the times of the functions are numbers")
    first, last, each = (
        None if time is None else _seconds(time, name)
        for time, name in ((start, "start"), (until, "until"), (step, "step"))
    )
    return first, last, align, each


def _times(column: Any, what: str) -> tuple[npt.NDArray[np.float64], int, bool]:
    """Times as numbers to which a whole number must be added, and whether they are seconds since 1970."""
    if getattr(getattr(column, "dt", None), "tz", None) is not None:
        column = column.dt.tz_convert(None)
    times = as_array(column)
    of_calendar = times.dtype.kind == "M"
    if times.dtype.kind in "OUT":
        given = times.tolist()
        seconds = [_seconds(time, f"{what}, row {row}") for row, time in enumerate(given)]
        kinds = {_is_of_calendar(time) for time in given}
        if len(kinds) > 1:
            raise ValueError(f"{what} has numbers as well as times of a calendar")
        of_calendar = True in kinds
        times = np.array(seconds, np.float64)
        if of_calendar:
            times = np.array([round(1e6 * second) for second in seconds], "datetime64[us]")
    if of_calendar:
        if np.isnat(times).any():
            raise ValueError(f"{what}, row {int(np.flatnonzero(np.isnat(times))[0])}: a time is missing")
        # Whole numbers until the first second is subtracted, as a number of seconds since 1970 has few digits to spare.
        unit, per = ("ns", 10**9) if times.dtype == np.dtype("M8[ns]") else ("us", 10**6)
        numbers = times.astype(f"datetime64[{unit}]").astype(np.int64)
        base = int(numbers.min(initial=np.iinfo(np.int64).max)) // per if numbers.size else 0
        return (numbers - base * per) / per, base, True
    if times.dtype.kind == "m":
        times = times / np.timedelta64(1, "s")
    if times.dtype.kind in "iu" and times.size and np.abs(times.astype(np.float64)).max() >= 2**53:
        base = int(times.min())
        return (times - times.min()).astype(np.float64), base, False
    return reals(times, what).astype(np.float64), 0, False


def _owners(ids: npt.NDArray[Any], what: str) -> tuple[npt.NDArray[np.int64], list[str]]:
    """The number of each row's function, and the functions' names in the order in which they appear."""
    numbers: dict[str, tuple[int, Any]] = {}
    owners = np.empty(len(ids), np.int64)
    given = ids.astype(str) if ids.dtype.kind in "Mm" else ids
    for row, one in enumerate(given.tolist()):
        if one is None or type(one).__name__ == "NAType" or one != one or one == "NaT":
            raise ValueError(f"{what}, row {row}: a name is missing")
        name = one.decode() if isinstance(one, bytes) else str(one)
        owners[row], first = numbers.setdefault(name, (len(numbers), one))
        if type(first) is not type(one):
            raise ValueError(f"{what}, row {row}: {one!r} has the name of {first!r}")
    return owners, list(numbers)


def _check_one(frame: Any, used: tuple[Any, ...], times: npt.NDArray[np.float64]) -> None:
    """Refuses rows of several functions that would become one, because the column that tells them apart has no use."""
    columns = frame.keys() if hasattr(frame, "keys") else getattr(frame, "columns", ())
    for name in (name for name in columns if isinstance(name, (str, int)) and name not in used):
        column, where = np.asarray(frame[name]).ravel(), ""
        texts = [one for one in column.tolist() if isinstance(one, str) and _warpsmith.time(one) is None]
        found: list[tuple[Any, Any]] = [(texts[0], one) for one in texts if one != texts[0]]
        if column.dtype.kind in "iu" and column.shape == times.shape:
            rows = np.flatnonzero((column[1:] != column[:-1]) & (times[1:] <= times[:-1]))
            found, where = [(int(column[row]), int(column[row + 1])) for row in rows[:1]], " where the time goes back or stays"
        for first, other in found[:1]:
            raise ValueError(
                f"column {name!r} has {other!r} after {first!r}{where}, and no column tells what a row belongs to: "
                f"choose one (id={name!r}), or give a frame without it"
            )


def _paths(path: PathLike | Iterable[PathLike]) -> list[str]:
    paths = [path] if isinstance(path, (str, os.PathLike)) else items(path, "path")
    if not paths:
        raise ValueError("path is an empty sequence, but there must be a file to load")
    return [os.fspath(one) for one in paths]


def _names_of_files(
    paths: list[str], counts: list[int], names: Sequence[Sequence[str] | None]
) -> list[str]:
    """Names of what is in several files: those of the file, after the file's own name, with folders if two would be the same."""
    found: list[str] = []
    stems = [Path(path).stem for path in paths]
    if len({*stems}) < len(stems):
        stems = [str(Path(path).with_suffix("")) for path in paths]
    for stem, count, own in zip(stems, counts, names):
        found += [stem] if count == 1 else [f"{stem}/{name}" for name in own or range(count)]
    return found


@contextmanager
def _options_of_python() -> Iterator[None]:
    """Errors of readers, which name options of the command, with the arguments that these are here."""
    try:
        yield
    except ValueError as error:
        text = re.sub(r"--columns (\w+)=(\w+)", r'columns={"\1": \2}', str(error))
        text = re.sub(r"--columns (\w+)=", r'columns={"\1": ""}', text)
        options = {
            "--dimension": "dimension=",
            "--from T": "start=",
            "--align": "align=True",
            "--decimal-comma": 'decimal=","',
        }
        for option, argument in options.items():
            text = text.replace(option, argument)
        raise ValueError(text) from None


def random(
    count: int,
    points: int,
    *,
    seed: int | None = None,
    uneven: bool = False,
    dtype: npt.DTypeLike = np.float64,
) -> PcfSet:
    """Random functions, for tests and measurements, as of the command ``warpsmith pcf random``.

    Times are 0 and numbers from (0, 1), values are from [0, 1), and the last is 0. All are drawn uniformly.

    Parameters
    ----------
    count : int
        The number of functions.
    points : int
        The number of breakpoints of each function.
    seed : int, optional
        A number from 0 to 2^64 - 1, which gives the same functions on every machine; by default a random one.
    uneven : bool
        Whether the numbers of breakpoints are drawn from 1 to `points`, with uniform logarithms.
    dtype : dtype_like
        float32 or float64.

    Raises
    ------
    ValueError
        Where `points` is 0, or too large for the type.

    Examples
    --------
    >>> random(100, 20, seed=1)
    PcfSet of shape (100,), float64, 2,000 breakpoints
    """
    number = secrets.randbits(64) if seed is None else whole(seed, "seed", 0, 2**64 - 1)
    sizes = whole(count, "count", 0, 2**63 - 1), whole(points, "points", 0, 2**63 - 1)
    return _wrap(_warpsmith.PcfSet.random(*sizes, number, bool(uneven), np.dtype(dtype).name))


def _set(functions: Functions, dtype: npt.DTypeLike | None) -> PcfSet:
    made = functions if isinstance(functions, PcfSet) else PcfSet(functions)
    return made if dtype is None else made.astype(dtype)


def _sets(X: Functions, Y: Functions | None, dtype: npt.DTypeLike | None) -> tuple[PcfSet, PcfSet | None]:
    """Both sets in one type."""
    rows = _set(X, dtype)
    if Y is None:
        return rows, None
    columns = _set(Y, dtype)
    common = np.promote_types(rows.dtype, columns.dtype)
    return rows.astype(common), columns.astype(common)


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
    resume: bool,
) -> Any:
    rows, columns = _sets(X, Y, dtype)
    others = None if columns is None else columns._set
    if layout not in ("condensed", "packed", "dense"):
        raise ValueError(f'layout is {layout!r}, but it must be "condensed", "packed" or "dense"')
    to_file = isinstance(out, (str, os.PathLike))
    if resume and not to_file:
        raise ValueError("resume is for results in files, but out is not the name of one")
    with shown(progress, what) as tell:
        if not to_file:
            made = _warpsmith.pairwise(rows._set, others, p, layout, writable(out), on_device, device, tell)
            return made if out is None else out
        if on_device:
            raise ValueError("on_device is for new results, but out is given")
        path = os.fspath(out)
        if not path.lower().endswith(".npy"):
            raise ValueError(f"{path}: the name of an array's file ends in .npy")
        _warpsmith.pairwise_file(rows._set, others, p, layout, path, bool(resume), device, tell)
    matrix = np.load(path, mmap_mode="r")
    # Files tell packed matrices by a field.
    return matrix[matrix.dtype.names[0]] if matrix.dtype.names else matrix


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
    resume: bool = False,
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
    resume: bool = False,
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
    resume: bool = False,
) -> Any:
    """The L^p distances of all pairs of functions: p-th roots of the integrals of |f - g|^p from 0 to infinity.

    For infinite p they are the largest |f - g|.

    Parameters
    ----------
    X : PcfSet or array_like
        n functions, or what `PcfSet` makes them of.
    p : float
        A number of at least 1, or infinity; multiples of 1/2 up to 32 are fastest.
    dtype : dtype_like, optional
        The precision, float32 or float64; by default that of the functions.
    layout : {"condensed", "packed", "dense"}
        How the entries lie: the n (n - 1) / 2 above the diagonal, as `scipy.spatial.distance.squareform` reads them;
        the n (n + 1) / 2 on and below the diagonal, by rows; or all, with the functions' shape twice.
    out : ndarray, other array or path_like, optional
        Where the result goes: an array of its shape and type, contiguous in C order, of NumPy or of another library
        (CuPy, PyTorch) in host memory or on the GPU that computes; after an exception it holds anything. Or the name of
        a ``.npy`` file, which is there as a whole or not at all, and may be larger than the memory.
    on_device : bool
        Whether a new result stays where it was computed, as a `DeviceArray`. Takes one device.
    device : Device, str or sequence of these, optional
        What to compute on; by default that of `out`, or the best device there is. The result is the same bits on any
        number of GPUs.
    progress : bool or callable
        Whether to show how far the work is; or what to call with the amount of work that is done, and of all.
    resume : bool
        Whether a computation into a file goes on where an earlier one was ended, and leaves a partial file if it is
        ended itself.

    Returns
    -------
    ndarray or DeviceArray
        Distances, infinite of functions that differ for ever; `out`, where it is an array; of a file, a read-only
        `numpy.memmap`.

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
    return _pairwise("pdist", X, None, real(p, "p"), dtype, layout, out, on_device, device, progress, resume)


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
    resume: bool = False,
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
    resume: bool = False,
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
    resume: bool = False,
) -> Any:
    """The L^p distances of the functions of one set from those of another.

    Parameters
    ----------
    X, Y : PcfSet or array_like
        Functions, or what `PcfSet` makes them of.
    p, dtype, out, on_device, device, progress, resume
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
    return _pairwise("cdist", X, Y, real(p, "p"), dtype, "dense", out, on_device, device, progress, resume)


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
    resume: bool = False,
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
    resume: bool = False,
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
    resume: bool = False,
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
    dtype, out, on_device, device, progress, resume
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
    return _pairwise("l2_kernel", X, Y, None, dtype, layout, out, on_device, device, progress, resume)


class Nearest(NamedTuple):
    """The result of `nearest`."""

    indices: npt.NDArray[np.int64]
    """The indices of each function's nearest ones, in ascending order of their distances."""
    distances: Array
    """Their distances."""


def _reduced(
    what: str,
    kept: str,
    limit: float,
    X: Functions,
    Y: Functions | None,
    p: float,
    dtype: npt.DTypeLike | None,
    device: Devices,
    progress: bool | Progress,
) -> tuple[PcfSet, PcfSet, list[Array]]:
    """Both sets, and what is kept of their distances."""
    rows, columns = _sets(X, Y, dtype)
    others = None if columns is None else columns._set
    with shown(progress, what) as tell:
        found = _warpsmith.reduced(rows._set, others, real(p, "p"), kept, limit, device, tell)
    return rows, rows if columns is None else columns, found


def nearest(
    X: Functions,
    k: int,
    Y: Functions | None = None,
    *,
    p: float = 1.0,
    dtype: npt.DTypeLike | None = None,
    device: Devices = None,
    progress: bool | Progress = False,
) -> Nearest:
    """The k nearest functions of each by L^p distance. The matrix of distances isn't stored.

    Parameters
    ----------
    X : PcfSet or array_like
        Functions, or what `PcfSet` makes them of.
    k : int
        The number of nearest functions.
    Y : PcfSet or array_like, optional
        The functions among which they are; by default those of `X`, of which none is its own neighbour.
    p, dtype, device, progress
        As in `pdist`.

    Returns
    -------
    Nearest
        Arrays `indices` and `distances`, both of the shape of `X` followed by k. Indices are in C order. Of equally
        near functions, the one with the smaller index is first.

    Raises
    ------
    ValueError, TypeError, MemoryError
        As `pdist`; and where there are fewer than k other functions.

    Examples
    --------
    >>> nearest([[(0, 3), (1, 1), (3, 0)], [(0, 2), (2, 0)], [(0, 0)]], 1)
    Nearest(indices=array([[1], [0], [1]]), distances=array([[3.], [3.], [4.]]))
    """
    number = whole(k, "k", 0, 2**53)
    rows, _, (indices, distances) = _reduced("nearest", "nearest", number, X, Y, p, dtype, device, progress)
    return Nearest(*(array.reshape(*rows.shape, number) for array in (indices, distances)))


def below(
    X: Functions,
    bound: float,
    Y: Functions | None = None,
    *,
    p: float = 1.0,
    dtype: npt.DTypeLike | None = None,
    device: Devices = None,
    progress: bool | Progress = False,
) -> Any:
    """The L^p distances that are less than a bound, as a sparse matrix. The other distances aren't stored.

    Parameters
    ----------
    X : PcfSet or array_like
        Functions, or what `PcfSet` makes them of.
    bound : float
        The bound.
    Y : PcfSet or array_like, optional
        Others, of which each is paired with each of `X`; by default those of `X`. The matrix is then symmetric, and has
        no entries on its diagonal.
    p, dtype, device, progress
        As in `pdist`.

    Returns
    -------
    scipy.sparse.csr_array, or tuple
        Of shape (functions of X, functions of Y). Distances of 0 are stored, too. Without SciPy it is a tuple (data,
        indices, indptr) of arrays, as that class takes them.

    Raises
    ------
    ValueError, TypeError
        As `pdist`; and where the bound is NaN.
    MemoryError
        Where the distances take more than half of the free memory.

    Examples
    --------
    >>> below([[(0, 3), (1, 1), (3, 0)], [(0, 2), (2, 0)], [(0, 0)]], 4).toarray()  # doctest: +SKIP
    array([[0., 3., 0.],
           [3., 0., 0.],
           [0., 0., 0.]])
    """
    bound = real(bound, "bound")
    if math.isnan(bound):
        raise ValueError("bound is NaN, but it must be a number")
    rows, columns, (indptr, indices, data) = _reduced("below", "below", bound, X, Y, p, dtype, device, progress)
    try:
        from scipy.sparse import csr_array
    except ImportError:
        return data, indices, indptr
    return csr_array((data, indices, indptr), shape=(rows.size, columns.size))


def row_sums(
    X: Functions,
    Y: Functions | None = None,
    *,
    p: float = 1.0,
    dtype: npt.DTypeLike | None = None,
    device: Devices = None,
    progress: bool | Progress = False,
) -> npt.NDArray[np.float64]:
    """The sum of each function's L^p distances from all others. The matrix of distances isn't stored.

    Parameters
    ----------
    X : PcfSet or array_like
        Functions, or what `PcfSet` makes them of.
    Y : PcfSet or array_like, optional
        The others; by default those of `X`.
    p, dtype, device, progress
        As in `pdist`.

    Returns
    -------
    ndarray of float64
        Of the shape of `X`. The sums of the rounded distances are exact, and thus the same bits on any devices.

    Raises
    ------
    ValueError, TypeError, MemoryError
        As `pdist`.

    Examples
    --------
    >>> row_sums([[(0, 3), (1, 1), (3, 0)], [(0, 2), (2, 0)], [(0, 0)]])
    array([8., 7., 9.])
    """
    rows, _, (sums,) = _reduced("row_sums", "sums", 0.0, X, Y, p, dtype, device, progress)
    return sums.reshape(rows.shape)


class Barcodes(Sequence[Array]):
    """Barcodes of files, as `load_barcodes` returns them: a sequence of arrays (bars, 2) of births and deaths.

    `betti_curves`, `stable_ranks` and `accumulated_persistence` take them, and give the functions their names. An index
    gives an array; a slice, a mask or an array of indices gives barcodes.

    Attributes
    ----------
    names : tuple of str or None
        The barcodes' names.
    superlevel : bool
        Whether deaths are below births.
    """

    def __init__(
        self, barcodes: Iterable[npt.ArrayLike], *, names: Iterable[str] | None = None, superlevel: bool = False
    ) -> None:
        self._barcodes = [reals(bars, f"barcode {index}") for index, bars in enumerate(barcodes)]
        self.names = None if names is None else tuple(names)
        self.superlevel = superlevel
        if self.names is not None and len(self.names) != len(self):
            raise ValueError(f"there are {len(self.names)} names, but {len(self)} barcodes")

    @property
    def shape(self) -> tuple[int]:
        """The number of barcodes, as of an array."""
        return (len(self),)

    def __len__(self) -> int:
        return len(self._barcodes)

    def __getitem__(self, key: Any) -> Any:
        chosen = np.arange(len(self))[key]
        if np.ndim(chosen) == 0:
            return self._barcodes[chosen]
        names = None if self.names is None else [self.names[index] for index in chosen]
        return Barcodes([self._barcodes[index] for index in chosen], names=names, superlevel=self.superlevel)

    def __repr__(self) -> str:
        bars = sum(map(len, self._barcodes))
        return f"Barcodes of shape {self.shape}, {bars:,} bar{'' if bars == 1 else 's'}"


def load_barcodes(
    paths: PathLike | Iterable[PathLike],
    dimension: int | None = None,
    *,
    superlevel: bool = False,
    infinite: Literal["keep", "drop"] | float = "keep",
    columns: Mapping[str, str | int] | None = None,
    header: bool | None = None,
    separator: str | None = None,
    decimal: Literal[".", ","] = ".",
) -> Barcodes:
    """Loads barcodes from one or many files.

    Parameters
    ----------
    paths : path_like, or sequence of path_like
        What ripser prints, GUDHI's persistence files, JSON of ripser.py or GUDHI, ``.npy`` of shape (bars, 2),
        (bars, 3) with dimensions last, or (barcodes, bars, 3) of giotto-tda, ``.npz``, or tables with the columns
        ``birth`` and ``death``, optionally ``dimension`` and ``barcode``.
    dimension : int, optional
        The bars of this dimension alone. Needed where there are several.
    superlevel : bool
        Whether deaths are below births, as in superlevel filtrations.
    infinite : {"keep", "drop"} or float
        Bars without end: they are kept or dropped, or end at this time.
    columns, header, separator, decimal
        As in `load`, for tables.

    Returns
    -------
    Barcodes
        With the names of the file, if it has any; of several files with the files' names, and their folders if two
        would be the same.

    Raises
    ------
    OSError
        Where a file can't be read.
    ValueError
        Where it holds something else, a bar is invalid, or dimensions are missing or not chosen from.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = [os.path.join(folder, name) for name in ("cloud.txt", "noise.txt")]
    ...     for path in paths:
    ...         with open(path, "w") as file:
    ...             print("persistence intervals in dim 0:", " [0,1.5)", " [0, )", sep="\\n", file=file)
    ...     load_barcodes(paths).names
    ('cloud', 'noise')
    """
    if isinstance(infinite, str) and infinite not in ("keep", "drop"):
        raise ValueError(f'infinite is {infinite!r}, but it must be "keep", "drop" or a number')
    end = {"keep": None, "drop": math.nan}[infinite] if isinstance(infinite, str) else real(infinite, "infinite")
    if end is not None and not isinstance(infinite, str) and not math.isfinite(end):
        raise ValueError(f"infinite is {infinite}, but the end of bars must be finite")
    if dimension is not None:
        dimension = whole(dimension, "dimension", 0, 2**32 - 1)
    files = _paths(paths)
    table = _table(columns, header, separator, decimal, files)
    with _options_of_python():
        read = _warpsmith.load_barcodes(files, dimension, bool(superlevel), end, table)
    found = [bars[a:b] for offsets, bars, _ in read for a, b in zip(offsets[:-1], offsets[1:])]
    names: Sequence[str] | None = read[0][2]
    if len(files) > 1:
        names = _names_of_files(files, [len(one[0]) - 1 for one in read], [one[2] for one in read])
    return Barcodes(found, names=names, superlevel=bool(superlevel))


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
    bars = reals(barcode, f"barcode {index}")
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
    wrong = np.flatnonzero((bars[:, 2] < 0) | (bars[:, 2] % 1 != 0))
    if wrong.size:
        found, row = bars[wrong[0], 2], wrong[0]
        raise ValueError(f"barcode {index}, bar {row}: its dimension is {found}, but it must be a whole number from 0 on")
    if dimension is None:
        found = np.unique(bars[:, 2])
        if found.size > 1:
            raise ValueError(f"barcode {index} has bars of {found.size} dimensions: choose one (dimension=)")
        return bars[:, :2]
    return bars[bars[:, 2] == dimension, :2]


def _diagrams(barcodes: Iterable[Any], dimension: int | None, superlevel: bool) -> tuple[Diagrams, int] | None:
    """Barcodes that are diagrams, and the degree that is wanted."""
    # That module imports this one.
    from .homology import Diagrams

    if not isinstance(barcodes, Diagrams):
        return None
    if superlevel:
        raise ValueError("diagrams are of sublevel filtrations, but superlevel is true")
    if dimension is None and barcodes.degrees > 1:
        raise ValueError(f"diagrams have bars of {barcodes.degrees} dimensions: choose one (dimension=)")
    return barcodes, dimension or 0


def _all_bars(
    barcodes: Iterable[Any], dimension: int | None, superlevel: bool
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], bool, tuple[str, ...] | None]:
    """Where each barcode's bars start, all bars, whether deaths are below births, and names."""
    if dimension is not None:
        dimension = whole(dimension, "dimension")
    diagrams = _diagrams(barcodes, dimension, superlevel)
    if diagrams is not None:
        return *diagrams[0]._finite(diagrams[1], None), False, None
    given = items(barcodes, "barcodes", "; a single barcode is given as [barcode]")
    names = None
    if isinstance(barcodes, Barcodes):
        names, superlevel = barcodes.names, superlevel or barcodes.superlevel
    arrays = [_bars(barcode, dimension, index) for index, barcode in enumerate(given)]
    bars = np.concatenate([*arrays, np.empty((0, 2))]).astype(np.float64, copy=False)
    return _offsets(arrays), bars, superlevel, names


def _of_bars(
    curve: str, offsets: npt.NDArray[np.int64], bars: npt.NDArray[np.float64], superlevel: bool, dtype: npt.DTypeLike
) -> PcfSet:
    return _wrap(_warpsmith.PcfSet.of_barcodes(curve, offsets, bars, superlevel, np.dtype(dtype).name))


def _curves(
    curve: str, barcodes: Iterable[Any], dimension: int | None, superlevel: bool, dtype: npt.DTypeLike
) -> PcfSet:
    diagrams = _diagrams(barcodes, dimension, superlevel)
    if diagrams is not None:
        return diagrams[0]._curves(curve, diagrams[1], None, dtype)
    offsets, bars, superlevel, names = _all_bars(barcodes, dimension, superlevel)
    made = _of_bars(curve, offsets, bars, superlevel, dtype)
    return made if names is None else _named(made, names)


def _grid(times: Any) -> npt.NDArray[np.float64]:
    """Finite times."""
    grid = reals(times, "times").ravel().astype(np.float64)
    if not np.isfinite(grid).all():
        raise ValueError(f"times has {grid[~np.isfinite(grid)][0]}, but times must be finite")
    return grid


def _landscapes(
    offsets: npt.NDArray[np.int64],
    bars: Array,
    times: npt.NDArray[np.float64],
    layers: int,
    dtype: npt.DTypeLike = np.float64,
) -> Array:
    """The landscapes of barcodes at times: an array (barcodes, layers, times)."""
    values = np.zeros((len(offsets) - 1, layers, times.size), dtype)
    for index, (start, end) in enumerate(zip(offsets[:-1], offsets[1:])):
        births, deaths = bars[start:end].T[:, :, np.newaxis]
        heights = np.maximum(np.minimum(times - births, deaths - times), 0)
        found = -np.sort(-heights, axis=0)[:layers]
        values[index, : len(found)] = found
    return values


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

        `Barcodes` of `load_barcodes` give the functions their names. Or `Diagrams` of `warpsmith.homology.rips`, whose
        bars without end are left out.
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


def _axes(ax: Axes | None) -> Axes:
    """Where to draw: the given axes, or the current ones."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install matplotlib") from error
    return pyplot.gca() if ax is None else ax


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

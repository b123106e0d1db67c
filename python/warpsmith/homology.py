"""Persistent homology: the persistence diagrams of Vietoris-Rips filtrations, of many point clouds at once.

Examples
--------
>>> from warpsmith import homology
>>> square = [(0, 0), (1, 0), (1, 1), (0, 1)]
>>> diagrams = homology.rips(square)
>>> diagrams
Diagrams of 1 cloud, float64: 4 bars of degree 0, 1 of degree 1
>>> diagrams[0][1]
array([[1.        , 1.41421356]])
>>> diagrams.betti_curves(1)[0].points
array([[0.        , 0.        ],
       [1.        , 1.        ],
       [1.41421356, 0.        ]])
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _warpsmith, pcf
from ._arrays import array_of, items, on_gpu, real, reals, whole
from ._progress import Progress, shown
from ._warpsmith import DeviceArray
from .pcf import Array, Devices, PcfSet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Diagrams", "rips"]

# The index of each cloud's first bar, births and deaths, and the ends of edges.
_Part: TypeAlias = tuple[npt.NDArray[np.int64], Array, npt.NDArray[np.uint16]]


class Diagrams(Sequence[list[Array]]):
    """The persistence diagrams of clouds, as `rips` returns them.

    It is a sequence with an item for each cloud: a list with an array (bars, 2) of births and deaths for each degree,
    as ripser's ``dgms``. A slice, a mask or an array of indices gives the diagrams of some clouds. Deaths of bars without
    end are infinite.

    The functions of `warpsmith.pcf` that take barcodes, and the estimators of `warpsmith.sklearn`, take diagrams, too.
    They leave out bars without end, as the methods here do: in degree 0 every cloud has such a bar, and functions that
    differ for ever are infinitely far apart.

    Bars stay on the device that has computed them, and so do their functions (`betti_curves`, `stable_ranks`,
    `accumulated_persistence`, `landscape_curves` and `silhouette_curves`), which `warpsmith.pcf.pdist` uses there. The
    bars of a degree are copied to host memory when they are first asked for.
    """

    def __init__(self, parts: Sequence[_Part]) -> None:
        # Offsets, bars and edges of each degree.
        self._set = _warpsmith.Diagrams(list(parts))

    @property
    def degrees(self) -> int:
        """The number of degrees: one more than the highest."""
        return self._set.degrees

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of births and deaths: float32 or float64."""
        return np.dtype(self._set.dtype)

    @property
    def shape(self) -> tuple[int]:
        """The number of clouds, as of an array."""
        return (len(self),)

    def bars(self, degree: int) -> Array:
        """The births and deaths of all clouds' bars of a degree, cloud by cloud.

        Parameters
        ----------
        degree : int
            The degree.

        Returns
        -------
        (bars, 2) ndarray
            Read-only. In each cloud by ascending death in degree 0, otherwise by ascending birth. All bars are longer than
            0.

        Raises
        ------
        ValueError
            If there is no such degree.
        """
        return self._set.bars(self._degree(degree))

    def offsets(self, degree: int) -> npt.NDArray[np.int64]:
        """The index of each cloud's first bar.

        Cloud i has the rows ``offsets[i]:offsets[i + 1]`` of `bars` and `edges`.

        Parameters
        ----------
        degree : int
            The degree.

        Returns
        -------
        (clouds + 1,) ndarray of int64

        Raises
        ------
        ValueError
            If there is no such degree.
        """
        return self._set.offsets(self._degree(degree))

    def edges(self, degree: int) -> npt.NDArray[np.int64]:
        """The edges that start and end the bars: their lengths are births and deaths.

        Parameters
        ----------
        degree : int
            The degree.

        Returns
        -------
        (bars, 4) ndarray of int64
            For each row of `bars` the two points of the edge that starts the bar, and those of the edge that ends it.
            -1 if there is no edge: bars of degree 0 start with points, and some bars don't end.

        Raises
        ------
        ValueError
            If there is no such degree.

        Examples
        --------
        >>> rips([(0, 0), (1, 0), (1, 1), (0, 1)], edges=True).edges(1).shape
        (1, 4)
        """
        given, count = self._set.edges(self._degree(degree)), self.offsets(degree)[-1]
        if len(given) != count:
            raise ValueError("there are no edges: rips(..., edges=True) asks for them")
        edges = given.astype(np.int64).reshape(-1, 2, 2)
        edges[edges[..., 0] == edges[..., 1]] = -1
        return edges.reshape(-1, 4)

    def betti_curves(self, degree: int, cap: float | None = None, *, dtype: npt.DTypeLike | None = None) -> PcfSet:
        """The Betti curves: at t, the number of bars with birth <= t < death.

        Parameters
        ----------
        degree : int
            The degree.
        cap : float, optional
            The end of bars without end. By default these are left out.
        dtype : dtype_like, optional
            float32 or float64; by default that of the bars.

        Returns
        -------
        PcfSet
            A function for each cloud, for `warpsmith.pcf.pdist` and others.

        Raises
        ------
        ValueError
            If there is no such degree, or the cap isn't finite.

        Examples
        --------
        >>> from warpsmith import pcf
        >>> diagrams = rips([[(0, 0), (1, 0)], [(0, 0), (3, 0)]])
        >>> pcf.pdist(diagrams.betti_curves(0))
        array([2.])
        >>> diagrams.betti_curves(0, cap=5)[0].points
        array([[0., 2.],
               [1., 1.],
               [5., 0.]])
        """
        return self._curves("betti", degree, cap, dtype)

    def stable_ranks(self, degree: int, cap: float | None = None, *, dtype: npt.DTypeLike | None = None) -> PcfSet:
        """The stable ranks: at t, the number of bars that are longer than t.

        Parameters
        ----------
        degree, cap, dtype
            As in `betti_curves`.

        Returns
        -------
        PcfSet
            A function for each cloud.

        Raises
        ------
        ValueError
            As `betti_curves`.
        """
        return self._curves("stable_rank", degree, cap, dtype)

    def accumulated_persistence(
        self, degree: int, cap: float | None = None, *, dtype: npt.DTypeLike | None = None
    ) -> PcfSet:
        """The accumulated persistence: at t, the sum of the lengths of the bars whose middle is at t or before.

        Parameters
        ----------
        degree, cap, dtype
            As in `betti_curves`.

        Returns
        -------
        PcfSet
            A function for each cloud. They don't end on 0: the distance of two is infinite unless the sums are equal.

        Raises
        ------
        ValueError
            As `betti_curves`.
        """
        return self._curves("accumulated", degree, cap, dtype)

    def landscapes(
        self, degree: int, times: npt.ArrayLike, layers: int = 1, *, cap: float | None = None
    ) -> npt.NDArray[np.float64]:
        """The persistence landscapes, sampled at some times.

        Layer k at t is the k-th largest of all bars' min(t - birth, death - t), and 0 if fewer bars are alive.

        Parameters
        ----------
        degree, cap
            As in `betti_curves`.
        times : (m,) array_like
            Finite times.
        layers : int
            The number of layers, from the largest on.

        Returns
        -------
        (clouds, layers, m) ndarray

        Raises
        ------
        ValueError
            As `betti_curves`, and if a time isn't finite.

        Examples
        --------
        >>> rips([(0, 0), (1, 0)]).landscapes(0, [0, 0.5, 0.75])
        array([[[0.  , 0.5 , 0.25]]])
        """
        return self._samples(degree, _layers(layers), 0.0, times, cap)

    def silhouettes(
        self, degree: int, times: npt.ArrayLike, power: float = 1.0, *, cap: float | None = None
    ) -> npt.NDArray[np.float64]:
        """The silhouettes, sampled at some times.

        A silhouette at t is the weighted mean of all bars' max(min(t - birth, death - t), 0), and 0 if there are no
        bars. A bar's weight is a power of its length.

        Parameters
        ----------
        degree, cap
            As in `betti_curves`.
        times : (m,) array_like
            Finite times.
        power : float
            The exponent of the weights.

        Returns
        -------
        (clouds, m) ndarray

        Raises
        ------
        ValueError
            As `landscapes`.

        Examples
        --------
        >>> rips([(0, 0), (1, 0)]).silhouettes(0, [0, 0.5, 0.75])
        array([[0.  , 0.5 , 0.25]])
        """
        values: npt.NDArray[np.float64] = self._samples(degree, None, real(power, "power"), times, cap)[:, 0]
        return values

    def landscape_curves(
        self,
        degree: int,
        times: npt.ArrayLike,
        layers: int = 1,
        *,
        cap: float | None = None,
        dtype: npt.DTypeLike | None = None,
    ) -> PcfSet:
        """Step functions of the persistence landscapes.

        Each holds a sample of `landscapes` until the next time, and is 0 before the first time and from the last one
        on. The finer the grid, the closer their distances are to those of the landscapes. They stay on the device.

        Parameters
        ----------
        degree, cap, dtype
            As in `betti_curves`.
        times : (m,) array_like
            Times from 0 on, in ascending order.
        layers : int
            The number of layers, from the largest on.

        Returns
        -------
        PcfSet
            Of shape (clouds, layers).

        Raises
        ------
        ValueError
            As `betti_curves`, and if times aren't in strictly ascending order, or are below 0.

        Examples
        --------
        >>> from warpsmith import pcf
        >>> curves = rips([[(0, 0), (1, 0)], [(0, 0), (3, 0)]]).landscape_curves(0, [0, 0.5, 1, 3])
        >>> curves[0, 0].points
        array([[0. , 0. ],
               [0.5, 0.5],
               [1. , 0. ],
               [3. , 0. ]])
        >>> pcf.pdist(curves.squeeze(1))
        array([2.])
        """
        return self._sampled_curves(degree, _layers(layers), 0.0, times, cap, dtype)

    def silhouette_curves(
        self,
        degree: int,
        times: npt.ArrayLike,
        power: float = 1.0,
        *,
        cap: float | None = None,
        dtype: npt.DTypeLike | None = None,
    ) -> PcfSet:
        """Step functions of the silhouettes, as `landscape_curves` makes them of landscapes.

        Parameters
        ----------
        degree, times, cap, dtype
            As in `landscape_curves`.
        power : float
            The exponent of the weights.

        Returns
        -------
        PcfSet
            A function for each cloud.

        Raises
        ------
        ValueError
            As `landscape_curves`.
        """
        return self._sampled_curves(degree, None, real(power, "power"), times, cap, dtype)

    def plot(
        self, cloud: int = 0, ax: Axes | None = None, *, kind: Literal["diagram", "barcode"] = "diagram", **style: Any
    ) -> Axes:
        """Draws the bars of a cloud with matplotlib, with a colour and a label for each degree.

        Parameters
        ----------
        cloud : int
            The cloud.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default the current axes.
        kind : {"diagram", "barcode"}
            Points of births and deaths with the diagonal, or lines from birth to death. Bars without end reach a little
            beyond all others. In a diagram they are triangles.
        **style
            What `matplotlib.axes.Axes.plot`, or `hlines` for barcodes, takes: ``alpha``, ``markersize``, ...

        Returns
        -------
        matplotlib.axes.Axes
            Where they were drawn.

        Raises
        ------
        ImportError
            If there is no matplotlib.
        IndexError, ValueError
            If there is no such cloud or kind.

        Examples
        --------
        >>> ax = rips([(0, 0), (1, 0), (1, 1), (0, 1)]).plot(kind="barcode")  # doctest: +SKIP
        """
        if kind not in ("diagram", "barcode"):
            raise ValueError(f'kind is {kind!r}, but it must be "diagram" or "barcode"')
        where, found = pcf._axes(ax), self[whole(cloud, "cloud", None)]
        numbers = np.concatenate([bars.ravel() for bars in found])
        end = 1.05 * float(numbers[np.isfinite(numbers)].max(initial=0)) or 1.0
        if kind == "diagram":
            where.plot([0, end], [0, end], color="grey", linewidth=0.5)
        row = 0
        for degree, bars in enumerate(found):
            births, deaths = bars.astype(np.float64).T
            endless, own = np.isinf(deaths), {"color": f"C{degree}", "label": f"H{degree}", **style}
            if kind == "barcode":
                where.hlines(row + np.arange(len(bars)), births, np.where(endless, end, deaths), **own)
                row += len(bars)
            else:
                where.plot(births[~endless], deaths[~endless], **{"linestyle": "", "marker": ".", **own})
                endless_ones = {"linestyle": "", **own, "marker": "^", "label": None}
                where.plot(births[endless], np.full(endless.sum(), end), **endless_ones)
        x, y = ("birth", "death") if kind == "diagram" else ("length of edges", "bar")
        where.set(xlabel=where.get_xlabel() or x, ylabel=where.get_ylabel() or y)
        return where

    def save(self, path: str | os.PathLike[str], names: Iterable[str] | None = None) -> None:
        """Saves the diagrams in the format that the name ends in. `warpsmith.pcf.load_barcodes` reads each.

        Parameters
        ----------
        path : path_like
            One of these:

            - ``.npz``: ``bars``, rows of birth, death and dimension, ``offsets`` of the clouds, ``edges`` if
              ``rips(..., edges=True)`` asked for them, and ``names``;
            - ``.npy``: the array (clouds, bars, 3) of giotto-tda, filled up with bars of length 0;
            - ``.csv``: a table with the columns ``barcode``, ``dimension``, ``birth`` and ``death``;
            - ``.json``: ripser.py's ``{"dgms": ...}``, or an object of these by names;
            - ``.txt``, for one cloud: the text that ripser prints;
            - ``.pers``, for one cloud: GUDHI's persistence file.
        names : iterable of str, optional
            The clouds' names; by default they are numbered from 0. ``.npy``, ``.txt`` and ``.pers`` have none.

        Raises
        ------
        OSError
            If the file can't be written.
        ValueError
            If the name ends in something else, the format is for one cloud, or there are more or fewer names than clouds.

        Examples
        --------
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "bars.csv")
        ...     rips([(0, 0), (1, 0)]).save(path, names=["pair"])
        ...     print(open(path).read(), end="")
        barcode,dimension,birth,death
        pair,0,0,1
        pair,0,0,inf
        pair,1,,
        """
        given = None if names is None else [str(name) for name in items(names, "names")]
        if given is not None and len(given) != len(self):
            raise ValueError(f"there are {len(given)} names, but {len(self)} clouds")
        self._set.save(os.fspath(path), given)

    def __len__(self) -> int:
        return len(self._set)

    def __getitem__(self, key: Any) -> Any:
        chosen = np.arange(len(self))[key]
        if np.ndim(chosen) == 0:
            return [bars[offsets[chosen] : offsets[chosen + 1]] for offsets, bars, _ in self._parts()]
        parts = []
        for offsets, bars, edges in self._parts():
            counts = np.diff(offsets)[chosen]
            ends = np.concatenate([[0], np.cumsum(counts)])
            rows = np.arange(ends[-1]) + np.repeat(offsets[:-1][chosen] - ends[:-1], counts)
            parts.append((ends, bars[rows], edges[rows] if len(edges) == len(bars) else edges))
        return Diagrams(parts)

    def __reduce__(self) -> tuple[Any, ...]:
        return Diagrams, ([tuple(map(np.array, part)) for part in self._parts()],)

    def __repr__(self) -> str:
        counts = [f"{self.offsets(degree)[-1]:,}" for degree in range(self.degrees)]
        first = f"{counts[0]} bar{'' if counts[0] == '1' else 's'} of degree 0"
        more = [f"{count} of degree {degree}" for degree, count in enumerate(counts) if degree]
        clouds = f"{len(self):,} cloud{'' if len(self) == 1 else 's'}"
        return f"Diagrams of {clouds}, {self.dtype}: {', '.join([first, *more])}"

    def _degree(self, degree: int) -> int:
        return whole(degree, "degree", 0, self.degrees - 1)

    def _parts(self) -> list[_Part]:
        made = self._set
        return [(made.offsets(degree), made.bars(degree), made.edges(degree)) for degree in range(made.degrees)]

    def _finite(self, degree: int, cap: float | None) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Offsets and bars without those that don't end, or with an end."""
        offsets, bars = self.offsets(degree), self.bars(degree).astype(np.float64)
        endless, end = np.isinf(bars[:, 1]), _cap(cap)
        if end is None:
            return np.concatenate([[0], np.cumsum(~endless)])[offsets], bars[~endless]
        bars[endless, 1] = np.maximum(bars[endless, 0], end)
        return offsets, bars

    def _curves(self, curve: str, degree: int, cap: float | None, dtype: npt.DTypeLike | None) -> PcfSet:
        name = np.dtype(self.dtype if dtype is None else dtype).name
        return pcf._wrap(self._set.curves(curve, self._degree(degree), _cap(cap), name))

    def _samples(
        self, degree: int, layers: int | None, power: float, times: npt.ArrayLike, cap: float | None
    ) -> npt.NDArray[np.float64]:
        return self._set.samples(self._degree(degree), layers, power, pcf._grid(times).tolist(), _cap(cap))

    def _sampled_curves(
        self,
        degree: int,
        layers: int | None,
        power: float,
        times: npt.ArrayLike,
        cap: float | None,
        dtype: npt.DTypeLike | None,
    ) -> PcfSet:
        name = np.dtype(self.dtype if dtype is None else dtype).name
        grid = pcf._grid(times).tolist()
        return pcf._wrap(self._set.sampled_curves(self._degree(degree), layers, power, grid, _cap(cap), name))


def _layers(layers: int) -> int:
    """Number of layers of landscapes."""
    return whole(layers, "layers", 1, 2**31 - 1)


def _cap(cap: float | None) -> float | None:
    """The end of bars without end."""
    end = None if cap is None else real(cap, "cap")
    if end is not None and not math.isfinite(end):
        raise ValueError(f"cap is {end}, but it must be finite")
    return end


def rips(
    clouds: Any,
    *,
    distances: bool = False,
    threshold: float | None = None,
    degree: int = 1,
    edges: bool = False,
    device: Devices = None,
    progress: bool | Progress = False,
) -> Diagrams:
    """The persistence diagrams of Vietoris-Rips filtrations over Z/2. Bars are those of Ripser.

    Parameters
    ----------
    clouds : array_like, or sequence of array_like
        One of these:

        - an array (points, coordinates), one cloud;
        - an array (clouds, points, coordinates);
        - a sequence of arrays (points, coordinates), of any numbers of points.

        Lists of lists of numbers are the array that they make. float32 is kept, and everything else becomes float64.
        Arrays on a GPU (``__dlpack__`` or ``__cuda_array_interface__``) must be float32 or float64, and are used where
        they are.
    distances : bool
        If true, `clouds` are distances: a square matrix (n, n), an array (clouds, n, n), a vector of all pairs as of
        SciPy's `pdist`, or a sequence of matrices and vectors. On a GPU they must be square.
    threshold : float, optional
        The largest value of the filtration. By default it is each cloud's enclosing radius, beyond which nothing
        changes.
    degree : int
        The highest degree: 0, 1, or 2 for clouds of at most 256 points.
    edges : bool
        Whether the result has the edges that start and end bars (`Diagrams.edges`).
    device : Device, str or sequence of these, optional
        The device that computes, or several if the clouds are in host memory. By default it is the clouds' GPU, or the
        best device.
    progress : bool or callable
        As in `warpsmith.pcf.pdist`, for the number of clouds.

    Returns
    -------
    Diagrams
        With an item for each cloud.

    Raises
    ------
    ValueError
        If a coordinate isn't finite, distances aren't symmetric numbers from 0 on with 0 on the diagonal, a shape is
        wrong, the threshold is negative, the degree is above 2, or a cloud is too large for it. The text names the cloud
        and the points.
    TypeError
        If coordinates or distances are no real numbers.
    MemoryError
        If the device has too little memory for the largest cloud.

    Examples
    --------
    >>> import numpy as np
    >>> diagrams = rips(np.random.default_rng(1).normal(size=(20, 50, 3)).astype(np.float32))
    >>> diagrams.betti_curves(1)
    PcfSet of shape (20,), float32, 566 breakpoints
    >>> rips([1, 1, 2**0.5, 2**0.5, 1, 1], distances=True)[0][1]
    array([[1.        , 1.41421356]])
    """
    numbers, dimension, sizes = _numbers(clouds, distances)
    limit = math.inf if threshold is None else real(threshold, "threshold")
    with shown(progress, "rips") as tell:
        found = _warpsmith.rips(numbers, dimension, sizes, limit, whole(degree, "degree"), edges, device, tell)
    self = object.__new__(Diagrams)
    self._set = found
    return self


def _numbers(clouds: Any, distances: bool) -> tuple[Array | list[DeviceArray], int | None, list[int]]:
    """All numbers, the number of a point's coordinates (None for distances), and each cloud's number of points."""
    given, several = _given(clouds, distances)
    there = [isinstance(array, DeviceArray) for _, array in given]
    if any(there) and not all(there):
        raise ValueError(f"{given[there.index(False)][0]} is in host memory, but others are on a device")
    wanted = "(n, n)" if distances else "(points, coordinates)"
    wanted = wanted if several else f"{wanted} or (clouds, {wanted[1:]}"
    dimension: int | None = None
    arrays: list[Any] = []
    sizes: list[int] = []
    for name, array in given:
        if distances and array.ndim == 1 and not isinstance(array, DeviceArray):
            array = _square(array, name)
        if not 2 <= array.ndim <= (2 if several else 3) or (distances and array.shape[-1] != array.shape[-2]):
            raise ValueError(f"{name} has the shape {tuple(array.shape)}, but it must be {wanted}")
        count, (points, columns) = 1 if array.ndim == 2 else array.shape[0], array.shape[-2:]
        if not distances and count * points:
            if dimension is not None and columns != dimension:
                raise ValueError(f"{name} has points of {columns} coordinates, but those before have {dimension}")
            dimension = columns
        sizes += [points] * count
        arrays.append(array)
    if not distances:
        dimension = dimension or 0
    if any(there):
        return arrays, dimension, sizes
    flat = [np.ascontiguousarray(array).ravel() for array in arrays] or [np.empty(0)]
    return flat[0] if len(flat) == 1 else np.concatenate(flat), dimension, sizes


def _given(clouds: Any, distances: bool) -> tuple[list[tuple[str, Any]], bool]:
    """Arrays, with their names in errors, and whether each is a cloud."""
    array = on_gpu(clouds)
    if array is not None:
        return [("clouds", array)], False
    made = array_of(clouds)
    if made is not None and made.dtype != np.object_:
        return [("clouds", reals(made, "clouds"))], False
    found = items(clouds, "clouds")
    if not found:
        return [], True
    first = on_gpu(found[0])
    ndim = np.ndim(found[0]) if first is None else first.ndim
    is_array = first is not None or array_of(found[0]) is not None
    if ndim >= 2 or (distances and ndim == 1 and is_array):
        arrays = [on_gpu(cloud) for cloud in found]
        names = [f"cloud {index}" for index in range(len(found))]
        return [
            (name, reals(cloud, name) if there is None else there) for name, cloud, there in zip(names, found, arrays)
        ], True
    return [("clouds", reals(found, "clouds"))], False


def _square(condensed: Array, name: str) -> Array:
    """The matrix of a vector of the distances of all pairs."""
    n = (1 + math.isqrt(1 + 8 * condensed.size)) // 2
    if n * (n - 1) // 2 != condensed.size:
        raise ValueError(f"{name} has {condensed.size} distances, but all pairs of points are 1, 3, 6, 10, 15, ...")
    matrix = np.zeros((n, n), condensed.dtype)
    rows, columns = np.triu_indices(n, 1)
    matrix[rows, columns] = matrix[columns, rows] = condensed
    return matrix

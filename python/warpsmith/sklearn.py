"""Estimators for scikit-learn: point clouds to barcodes to functions to kernels, distances and graphs of neighbours.

A sample is a cloud, a barcode or a function, not a row of numbers: where scikit-learn says ``X``, these take what
`warpsmith.homology.rips`, `warpsmith.pcf.stable_ranks` and `warpsmith.pcf.PcfSet` take. They go into pipelines, and
before estimators with ``kernel="precomputed"`` or ``metric="precomputed"``. Cross-validation and grid search divide lists and sets.

This module needs scikit-learn, which the rest of the package doesn't.

Examples
--------
>>> import numpy as np
>>> from sklearn.pipeline import make_pipeline
>>> from sklearn.svm import SVC
>>> from warpsmith.sklearn import PcfKernel, StableRank
>>> rng = np.random.default_rng(1)
>>> barcodes = [[(0.0, death) for death in rng.uniform(0, longest, 20)] for longest in [1.0, 3.0] * 10]
>>> model = make_pipeline(StableRank(), PcfKernel(), SVC(kernel="precomputed")).fit(barcodes, [0, 1] * 10)
>>> model.predict([[(0.0, 0.9), (0.0, 0.2)] * 10, [(0.0, 2.9), (0.0, 1.2)] * 10])
array([0, 1])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

try:
    from scipy.sparse import coo_array, csr_array
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.neighbors import sort_graph_by_row_values
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.validation import check_is_fitted
except ImportError as error:
    raise ImportError("warpsmith.sklearn needs scikit-learn: pip install scikit-learn") from error

from . import pcf
from ._arrays import real, reals, whole
from .homology import Diagrams, rips
from .pcf import Devices, Functions, PcfSet

__all__ = [
    "AccumulatedPersistence",
    "BettiCurve",
    "PcfDistance",
    "PcfKernel",
    "PcfNeighbors",
    "PersistenceLandscape",
    "RipsPersistence",
    "StableRank",
]

Array = npt.NDArray[Any]


class _OfBarcodes(TransformerMixin, BaseEstimator):
    """Base of the estimators that transform each barcode alone."""

    times: npt.ArrayLike | None

    def fit(self, X: Iterable[Any], y: Any = None) -> Any:
        """Does nothing: there is nothing to learn.

        Parameters
        ----------
        X : sequence
            Barcodes.
        y : ignored

        Returns
        -------
        estimator
            This one.
        """
        return self

    def _times(self) -> Array:
        return reals(self.times, "times").ravel()

    def _prefixes(self) -> list[str]:
        return [type(self).__name__.lower()]

    def set_output(self, *, transform: Any = None) -> Any:
        """Makes data frames, if there are times; functions are no table.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            What the result is.

        Returns
        -------
        estimator
            This one.
        """
        return self if self.times is None else super().set_output(transform=transform)

    @available_if(lambda self: self.times is not None)
    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The names of the columns: the estimator's name and the time. There are none without times.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str
        """
        names = [f"{prefix}_{time:g}" for prefix in self._prefixes() for time in self._times().tolist()]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        return _stateless(super().__sklearn_tags__())


class RipsPersistence(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """The persistence diagrams of point clouds: the first step of a pipeline, before `BettiCurve` and others.

    Parameters
    ----------
    threshold, degree, distances
        As in `warpsmith.homology.rips`. The steps that follow choose a degree by their parameter `dimension`.
    device : Device, str or sequence of these, optional
        The devices that compute; by default the best device.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> rng = np.random.default_rng(1)
    >>> make_pipeline(RipsPersistence(), BettiCurve(1), PcfDistance()).fit_transform(rng.normal(size=(5, 30, 2))).shape
    (5, 5)
    """

    def __init__(
        self, threshold: float | None = None, degree: int = 1, *, distances: bool = False, device: Devices = None
    ) -> None:
        self.threshold = threshold
        self.degree = degree
        self.distances = distances
        self.device = device

    def set_output(self, *, transform: Any = None) -> Any:
        """Does nothing: diagrams are no table. So a pipeline's other steps can be asked for data frames.

        Parameters
        ----------
        transform : ignored

        Returns
        -------
        estimator
            This one.
        """
        return self

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The names of the columns, of which there are none.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str
        """
        return np.empty(0, dtype=object)

    def fit(self, X: Any, y: Any = None) -> Any:
        """Does nothing: there is nothing to learn.

        Parameters
        ----------
        X : sequence
            Point clouds.
        y : ignored

        Returns
        -------
        estimator
            This one.
        """
        return self

    def transform(self, X: Any) -> Diagrams:
        """The diagrams of clouds.

        Parameters
        ----------
        X : array_like, or sequence of array_like
            Point clouds or distances, as `warpsmith.homology.rips` takes them.

        Returns
        -------
        Diagrams
            With an item for each cloud.

        Raises
        ------
        ValueError, TypeError, MemoryError
            As `warpsmith.homology.rips`.
        """
        return rips(X, distances=self.distances, threshold=self.threshold, degree=self.degree, device=self.device)

    def __sklearn_tags__(self) -> Any:
        return _stateless(super().__sklearn_tags__())


class _Curve(_OfBarcodes):
    """The functions of barcodes, or their values."""

    _make: ClassVar[Callable[..., PcfSet]]

    def __init__(
        self,
        dimension: int | None = None,
        *,
        superlevel: bool = False,
        times: npt.ArrayLike | None = None,
        dtype: npt.DTypeLike = "float64",
    ) -> None:
        self.dimension = dimension
        self.superlevel = superlevel
        self.times = times
        self.dtype = dtype

    def transform(self, X: Iterable[Any]) -> Any:
        """The functions of the barcodes, or their values.

        Parameters
        ----------
        X : sequence
            Barcodes, as `warpsmith.pcf.betti_curves` takes them.

        Returns
        -------
        PcfSet of shape (n,), or (n, m) ndarray
            Functions; or their values, where there are times.

        Raises
        ------
        ValueError, TypeError
            As the function of `warpsmith.pcf`; and where a time is before 0.
        """
        made = type(self)._make(X, dimension=self.dimension, superlevel=self.superlevel, dtype=self.dtype)
        return made if self.times is None else made(self._times())


class BettiCurve(_Curve):
    """The Betti curves of barcodes, as functions, or as their values at some times.

    Parameters
    ----------
    dimension, superlevel, dtype
        As in `warpsmith.pcf.betti_curves`.
    times : (m,) array_like, optional
        Times from 0 on. With them the result is an array of the functions' values there, which any estimator takes, or
        a data frame after `set_output`; without them it is a `PcfSet`.

    Examples
    --------
    >>> BettiCurve().fit_transform([[(0.0, 2.0), (1.0, 4.0)], [(0.0, 1.0)]])
    PcfSet of shape (2,), float64, 6 breakpoints
    >>> BettiCurve(times=[0, 1, 2]).fit_transform([[(0.0, 2.0), (1.0, 4.0)], [(0.0, 1.0)]])
    array([[1., 2., 1.],
           [1., 0., 0.]])
    """

    _make = staticmethod(pcf.betti_curves)


class StableRank(_Curve):
    """The stable ranks of barcodes, as functions, or as their values at some times.

    Parameters
    ----------
    dimension, superlevel, dtype
        As in `warpsmith.pcf.stable_ranks`.
    times : (m,) array_like, optional
        As of `BettiCurve`.

    Examples
    --------
    >>> StableRank().fit_transform([[(0.0, 2.0), (1.0, 4.0)], [(0.0, 1.0)]])
    PcfSet of shape (2,), float64, 5 breakpoints
    >>> StableRank(times=[0, 1, 2]).fit_transform([[(0.0, 2.0), (1.0, 4.0)], [(0.0, 1.0)]])
    array([[2., 2., 1.],
           [1., 0., 0.]])
    """

    _make = staticmethod(pcf.stable_ranks)


class AccumulatedPersistence(_Curve):
    """The accumulated persistence of barcodes, as functions, or as their values at some times.

    Parameters
    ----------
    dimension, superlevel, dtype
        As in `warpsmith.pcf.accumulated_persistence`.
    times : (m,) array_like, optional
        As of `BettiCurve`.

    Examples
    --------
    >>> AccumulatedPersistence(times=[0, 1, 3]).fit_transform([[(0.0, 2.0), (1.0, 4.0)], [(0.0, 1.0)]])
    array([[0., 2., 5.],
           [0., 1., 1.]])
    """

    _make = staticmethod(pcf.accumulated_persistence)


class PersistenceLandscape(_OfBarcodes):
    """The persistence landscapes of barcodes at some times.

    Layer k at t is the k-th largest of all bars' min(t - birth, death - t), and 0 where fewer bars are alive.
    Landscapes are not piecewise constant, so that there are only their values.

    Parameters
    ----------
    times : (m,) array_like
        Finite times.
    layers : int
        The number of layers, from the largest on.
    dimension, superlevel, dtype
        As in `warpsmith.pcf.betti_curves`.

    Examples
    --------
    >>> PersistenceLandscape([1, 2, 3], layers=2).fit_transform([[(0.0, 4.0), (1.0, 4.0)]])
    array([[1., 2., 1., 0., 1., 1.]])
    """

    def __init__(
        self,
        times: npt.ArrayLike,
        layers: int = 1,
        *,
        dimension: int | None = None,
        superlevel: bool = False,
        dtype: npt.DTypeLike = "float64",
    ) -> None:
        self.times = times
        self.layers = layers
        self.dimension = dimension
        self.superlevel = superlevel
        self.dtype = dtype

    def transform(self, X: Iterable[Any]) -> Any:
        """The landscapes.

        Parameters
        ----------
        X : sequence
            Barcodes, as `warpsmith.pcf.betti_curves` takes them.

        Returns
        -------
        (n, layers * m) ndarray
            The values of the first layer, then those of the second, and so on.

        Raises
        ------
        ValueError, TypeError
            As `warpsmith.pcf.stable_ranks`, and where times or layers are none.
        """
        layers, times = whole(self.layers, "layers", 1), pcf._grid(self.times)
        diagrams = pcf._diagrams(X, self.dimension, self.superlevel)
        if diagrams is not None:
            found, degree = diagrams
            values: Any = found.landscapes(degree, times, layers).astype(self.dtype, copy=False)
            return values.reshape(len(values), layers * times.size)
        offsets, bars, superlevel, _ = pcf._all_bars(X, self.dimension, self.superlevel)
        # It refuses what is no barcode.
        pcf._of_bars("stable_rank", offsets, bars, superlevel, np.float64)
        values = pcf._landscapes(offsets, bars[:, ::-1] if superlevel else bars, times, layers, self.dtype)
        return values.reshape(len(values), layers * times.size)

    def _prefixes(self) -> list[str]:
        return [f"{type(self).__name__.lower()}{layer}" for layer in range(1, self.layers + 1)]


class _Pairs(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A matrix of functions by those that were there when it was fitted."""

    dtype: npt.DTypeLike | None
    device: Devices

    def fit(self, X: Functions, y: Any = None) -> Any:
        """Keeps the functions that others are paired with.

        Parameters
        ----------
        X : PcfSet of shape (n,), or what `PcfSet` makes one of
            Functions.
        y : ignored

        Returns
        -------
        estimator
            This one, with the functions as ``functions_``.

        Raises
        ------
        ValueError, TypeError
            As `PcfSet`, and where the set is empty or hasn't one dimension.
        """
        self.functions_ = self._samples(X)
        if not self.functions_.size:
            raise ValueError("there are no functions: 0 samples, and a minimum of 1 is required")
        self._n_features_out = self.functions_.size
        return self

    def fit_transform(self, X: Functions, y: Any = None) -> Any:
        """As `fit` and then `transform`, with half the work, and distances that are symmetric to the bit.

        Parameters
        ----------
        X, y
            As in `fit`.

        Returns
        -------
        (n, n) ndarray or sparse array
        """
        self.fit(X, y)
        return self._matrix(self.functions_, None)

    def transform(self, X: Functions) -> Any:
        """Pairs functions with those of `fit`.

        Parameters
        ----------
        X : PcfSet of shape (m,), or what `PcfSet` makes one of
            Functions.

        Returns
        -------
        (m, n) ndarray or sparse array
            A row for each of them, and a column for each of the functions of `fit`.

        Raises
        ------
        ValueError, TypeError
            As `fit`; `sklearn.exceptions.NotFittedError` where that wasn't called.
        """
        check_is_fitted(self)
        return self._matrix(self._samples(X), self.functions_)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The names of the columns: those of the functions of `fit`, or else numbers after the estimator's name.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        names = self.functions_.names
        made: Array = super().get_feature_names_out() if names is None else np.array(names, dtype=object)
        return made

    def _samples(self, X: Functions) -> PcfSet:
        made = PcfSet(X, dtype=self.dtype)
        if made.ndim != 1:
            raise ValueError(f"a set of the shape {made.shape}, but it must have one dimension: a sample is a function")
        return made

    def _distances(self, X: PcfSet, Y: PcfSet | None, p: float) -> Array:
        if Y is None:
            return pcf.pdist(X, p, layout="dense", device=self.device)
        return pcf.cdist(X, Y, p, device=self.device)

    def _matrix(self, X: PcfSet, Y: PcfSet | None) -> Any:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        return _of_other_things(super().__sklearn_tags__())


class PcfDistance(_Pairs):
    """The L^p distances of functions from those that it was fitted with: for ``metric="precomputed"``.

    Parameters
    ----------
    p : float
        A number of at least 1, or infinity; multiples of 1/2 up to 32 are fastest.
    dtype : dtype_like, optional
        The precision, float32 or float64; by default that of the functions.
    device : Device, str or sequence of these, optional
        What to compute on; by default the best device there is.

    Attributes
    ----------
    functions_ : PcfSet
        The functions of `fit`.

    Examples
    --------
    >>> PcfDistance().fit_transform([[(0, 3), (1, 1), (3, 0)], [(0, 2), (2, 0)]])
    array([[0., 3.],
           [3., 0.]])
    """

    def __init__(self, p: float = 1.0, *, dtype: npt.DTypeLike | None = None, device: Devices = None) -> None:
        self.p = p
        self.dtype = dtype
        self.device = device

    def _matrix(self, X: PcfSet, Y: PcfSet | None) -> Array:
        return self._distances(X, Y, self.p)


class PcfKernel(_Pairs):
    """Kernels of functions with those that it was fitted with: for ``kernel="precomputed"``.

    Parameters
    ----------
    kernel : {"linear", "laplacian", "rbf"}
        The L^2 inner product of two functions, exp(-gamma d) of their L^1 distance d, or exp(-gamma d^2) of their L^2
        distance d. All are positive semidefinite.
    gamma : float
        A positive number. The linear kernel has no use for it.
    dtype, device
        As of `PcfDistance`.

    Attributes
    ----------
    functions_ : PcfSet
        The functions of `fit`.

    Examples
    --------
    >>> PcfKernel().fit_transform([[(0, 3), (1, 1), (3, 0)], [(0, 2), (2, 0)]])
    array([[11.,  8.],
           [ 8.,  8.]])
    """

    def __init__(
        self,
        kernel: Literal["linear", "laplacian", "rbf"] = "linear",
        *,
        gamma: float = 1.0,
        dtype: npt.DTypeLike | None = None,
        device: Devices = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.dtype = dtype
        self.device = device

    def _matrix(self, X: PcfSet, Y: PcfSet | None) -> Array:
        if self.kernel == "linear":
            return pcf.l2_kernel(X, Y, device=self.device)
        if self.kernel not in ("laplacian", "rbf"):
            raise ValueError(f'kernel is {self.kernel!r}: "linear", "laplacian" or "rbf"')
        if not 0 < self.gamma < np.inf:
            raise ValueError(f"gamma = {self.gamma}, but it must be a positive number")
        p = 1 if self.kernel == "laplacian" else 2
        matrix = self._distances(X, Y, p)
        # In place: such a matrix may be large. What is too far apart for a number has a kernel of 0.
        with np.errstate(over="ignore"):
            np.power(matrix, p, out=matrix)
            matrix *= -self.gamma
        return np.exp(matrix, out=matrix)


class PcfNeighbors(_Pairs):
    """Sparse graphs of functions' neighbours among those that it was fitted with.

    They are for ``metric="precomputed"``, as of `sklearn.neighbors.KNeighborsClassifier` and `sklearn.cluster.DBSCAN`,
    and for UMAP. The matrix of distances isn't stored.

    Parameters
    ----------
    n_neighbors : int
        The number of neighbours of each function. As with `sklearn.neighbors.KNeighborsTransformer`, in the mode
        ``"distance"`` each function of `fit` is its own neighbour in addition to these.
    radius : float, optional
        The neighbours are all functions at most this far away, in place of `n_neighbors`.
    mode : {"distance", "connectivity"}
        Whether entries are distances, or ones.
    p, dtype, device
        As of `PcfDistance`.

    Attributes
    ----------
    functions_ : PcfSet
        The functions of `fit`.

    Examples
    --------
    >>> functions = [[(0, 3), (1, 1), (3, 0)], [(0, 2), (2, 0)], [(0, 0)]]
    >>> PcfNeighbors(1).fit_transform(functions).toarray()
    array([[0., 3., 0.],
           [3., 0., 0.],
           [0., 4., 0.]])
    >>> PcfNeighbors(radius=3, mode="connectivity").fit_transform(functions).toarray()
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]])
    """

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        radius: float | None = None,
        mode: Literal["distance", "connectivity"] = "distance",
        p: float = 1.0,
        dtype: npt.DTypeLike | None = None,
        device: Devices = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.mode = mode
        self.p = p
        self.dtype = dtype
        self.device = device

    def _matrix(self, X: PcfSet, Y: PcfSet | None) -> Any:
        if self.mode not in ("distance", "connectivity"):
            raise ValueError(f'mode is {self.mode!r}, but it must be "distance" or "connectivity"')
        own = np.arange(X.size if Y is None else 0)
        if self.radius is None:
            count = whole(self.n_neighbors, "n_neighbors", 1) + (self.mode == "distance") - (Y is None)
            found = pcf.nearest(X, count, Y, p=self.p, device=self.device)
            rows, columns = np.repeat(np.arange(X.size), count), found.indices.ravel()
            values = found.distances.ravel()
        else:
            radius = real(self.radius, "radius")
            if not 0 <= radius < np.inf:
                raise ValueError(f"radius is {self.radius}, but it must be at least 0 and finite")
            common = np.promote_types(X.dtype, X.dtype if Y is None else Y.dtype).type
            # A radius that is too large for the type is above all of its numbers.
            bound = common(min(radius, float(np.finfo(common).max)))
            near = pcf.below(X, np.nextafter(bound, common(np.inf)), Y, p=self.p, device=self.device).tocoo()
            (rows, columns), values = near.coords, near.data
        entries = np.concatenate([np.zeros(own.size, values.dtype), values])
        places = np.concatenate([own, rows]), np.concatenate([own, columns])
        graph = coo_array((entries, places), shape=(X.size, (X if Y is None else Y).size)).tocsr()
        if self.mode == "connectivity":
            graph.data[:] = 1
        # Estimators need each row's nearest first. Its order is new to SciPy.
        graph = sort_graph_by_row_values(graph, warn_when_not_sorted=False)
        return csr_array((graph.data, graph.indices, graph.indptr), shape=graph.shape)


def _stateless(tags: Any) -> Any:
    """The tags of an estimator that learns nothing."""
    tags.requires_fit = False
    return _of_other_things(tags)


def _of_other_things(tags: Any) -> Any:
    """The tags of an estimator whose samples are not rows of an array."""
    tags.input_tags.two_d_array = False
    return tags

"""Estimators for scikit-learn: barcodes to functions, and functions to kernels and distances.

A sample is a barcode or a function, not a row of numbers: where scikit-learn says ``X``, these take what
`warpsmith.pcf.stable_ranks` and `warpsmith.pcf.PcfSet` take. They go into pipelines, and before estimators with
``kernel="precomputed"`` or ``metric="precomputed"``. Cross-validation and grid search divide lists and sets.

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

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.utils.validation import check_is_fitted
except ImportError as error:
    raise ImportError("warpsmith.sklearn needs scikit-learn: pip install scikit-learn") from error

from . import pcf
from .pcf import Devices, Functions, PcfSet

__all__ = ["PcfDistance", "PcfKernel", "StableRank"]

Array = npt.NDArray[Any]


class StableRank(TransformerMixin, BaseEstimator):
    """The stable ranks of barcodes, as functions, or as their values at some times.

    Parameters
    ----------
    dimension, superlevel, dtype
        As in `warpsmith.pcf.stable_ranks`.
    times : (m,) array_like, optional
        Times from 0 on. With them the result is an array of the functions' values there, which any estimator takes;
        without them it is a `PcfSet`.

    Examples
    --------
    >>> StableRank().fit_transform([[(0.0, 2.0), (1.0, 4.0)], [(0.0, 1.0)]])
    PcfSet of shape (2,), float64, 5 breakpoints
    >>> StableRank(times=[0, 1, 2]).fit_transform([[(0.0, 2.0), (1.0, 4.0)], [(0.0, 1.0)]])
    array([[2., 2., 1.],
           [1., 0., 0.]])
    """

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

    def fit(self, X: Iterable[Any], y: Any = None) -> StableRank:
        """Does nothing: there is nothing to learn.

        Parameters
        ----------
        X : sequence
            Barcodes.
        y : ignored

        Returns
        -------
        StableRank
            This one.
        """
        return self

    def transform(self, X: Iterable[Any]) -> Any:
        """The stable ranks.

        Parameters
        ----------
        X : sequence
            Barcodes, as `warpsmith.pcf.stable_ranks` takes them.

        Returns
        -------
        PcfSet of shape (n,), or (n, m) ndarray
            Functions; or their values, where there are times.

        Raises
        ------
        ValueError, TypeError
            As `warpsmith.pcf.stable_ranks`.
        """
        ranks = pcf.stable_ranks(X, dimension=self.dimension, superlevel=self.superlevel, dtype=self.dtype)
        return ranks if self.times is None else ranks(np.ravel(self.times))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return _of_other_things(tags)


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

    def fit_transform(self, X: Functions, y: Any = None) -> Array:
        """As `fit` and then `transform`, with half the work, and a matrix that is symmetric to the bit.

        Parameters
        ----------
        X, y
            As in `fit`.

        Returns
        -------
        (n, n) ndarray
        """
        self.fit(X, y)
        return self._matrix(self.functions_, None)

    def transform(self, X: Functions) -> Array:
        """Pairs functions with those of `fit`.

        Parameters
        ----------
        X : PcfSet of shape (m,), or what `PcfSet` makes one of
            Functions.

        Returns
        -------
        (m, n) ndarray
            A row for each of them, and a column for each of the functions of `fit`.

        Raises
        ------
        ValueError, TypeError
            As `fit`; `sklearn.exceptions.NotFittedError` where that wasn't called.
        """
        check_is_fitted(self)
        return self._matrix(self._samples(X), self.functions_)

    def _samples(self, X: Functions) -> PcfSet:
        made = PcfSet(X, dtype=self.dtype)
        if made.ndim != 1:
            raise ValueError(f"a set of the shape {made.shape}, but it must have one dimension: a sample is a function")
        return made

    def _distances(self, X: PcfSet, Y: PcfSet | None, p: float) -> Array:
        if Y is None:
            return pcf.pdist(X, p, layout="dense", device=self.device)
        return pcf.cdist(X, Y, p, device=self.device)

    def _matrix(self, X: PcfSet, Y: PcfSet | None) -> Array:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        return _of_other_things(super().__sklearn_tags__())


class PcfDistance(_Pairs):
    """The L^p distances of functions from those that it was fitted with: for ``metric="precomputed"``.

    Parameters
    ----------
    p : float
        A finite number of at least 1; 1 and 2 are fastest.
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


def _of_other_things(tags: Any) -> Any:
    """The tags of an estimator whose samples are not rows of an array."""
    tags.input_tags.two_d_array = False
    return tags

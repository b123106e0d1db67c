"""Products of a sparse matrix and vectors, y = A x.

Examples
--------
>>> import numpy as np
>>> from warpsmith import spmv
>>> data, indices, indptr = [1.0, 2.0, 3.0], [0, 1, 2], [0, 2, 3]  # 1 2 0, 0 0 3
>>> A = spmv.Matrix((data, indices, indptr), shape=(2, 3))
>>> A @ [1, 10, 100]
array([ 21., 300.])
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from . import _warpsmith
from ._arrays import on_gpu, reals, whole, wholes
from ._edges import is_sparse
from ._warpsmith import Device

__all__ = ["Matrix", "multiply"]


class Matrix:
    """A sparse matrix on a device, to be multiplied with any number of vectors. It never changes.

    It pickles. Solvers such as `scipy.sparse.linalg.cg` take it, as it has what
    `scipy.sparse.linalg.aslinearoperator` asks for.

    Parameters
    ----------
    matrix : sparse matrix or array of SciPy, in any format, or tuple of three arrays
        The matrix. A tuple has ``data``, ``indices`` and ``indptr`` of compressed sparse rows, in any order within a
        row. Values at the same place add up.
    shape : (int, int), optional
        The numbers of rows and columns, needed for a tuple.
    dtype : {"float64", "float32"}, optional
        The precision; by default that of the values, float64 for whole numbers.
    device : Device or str, optional
        The device that multiplies; by default the best one.

    Raises
    ------
    ValueError
        If the arrays are not those of such a matrix: the text names the first element that offends.
    TypeError
        If the values are not real numbers.
    MemoryError
        If the device or the host has too little memory.
    """

    __slots__ = ("_device", "_dtype", "_matrix", "_nnz", "_shape", "_transposed")

    # So that arrays leave operators to the matrix.
    __array_ufunc__ = None

    def __init__(
        self,
        matrix: Any,
        *,
        shape: tuple[int, int] | None = None,
        dtype: npt.DTypeLike | None = None,
        device: Device | str | None = None,
    ) -> None:
        if is_sparse(matrix):
            if len(matrix.shape) != 2:
                raise ValueError(f"matrix has the shape {matrix.shape}, but it must have two dimensions")
            if shape is not None and shape != matrix.shape:
                raise ValueError(f"shape is {shape}, but the matrix has the shape {matrix.shape}")
            rows = matrix.tocsr()
            shape, parts = matrix.shape, (rows.data, rows.indices, rows.indptr)
        elif isinstance(matrix, tuple) and len(matrix) == 3:
            parts = matrix
        else:
            found = type(matrix).__name__
            wanted = "sparse: SciPy's, or (data, indices, indptr)"
            raise TypeError(f"matrix is of the type {found}, but it must be {wanted}")
        if shape is None:
            raise ValueError("shape is needed for a tuple of arrays")
        if not isinstance(shape, tuple) or len(shape) != 2:
            raise TypeError(f"shape is {shape!r}, but it must be a tuple of two: the numbers of rows and columns")
        extents = whole(shape[0], "shape[0]", 0, 2**32 - 1), whole(shape[1], "shape[1]", 0, 2**32 - 1)
        data = reals(parts[0], "data")
        if dtype is not None:
            if np.dtype(dtype) not in (np.float32, np.float64):
                raise TypeError(f"dtype is {np.dtype(dtype)}, but it must be float32 or float64")
            data = data.astype(dtype, copy=False)
        if data.ndim != 1:
            raise ValueError(f"data has the shape {data.shape}, but it must have one dimension")
        self._shape, self._dtype, self._device, self._nnz = extents, data.dtype, device, data.size
        self._transposed: Matrix | None = None
        self._matrix = _warpsmith.Matrix(
            extents, _unsigned(parts[2], "indptr"), _unsigned(parts[1], "indices"), data, device
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _matrix, (self._matrix.parts(), self._shape, self._device)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision: float32 or float64."""
        return self._dtype

    @property
    def nnz(self) -> int:
        """The number of stored values."""
        return self._nnz

    @property
    def device(self) -> Device:
        """The device that multiplies."""
        return self._matrix.device

    def matvec(self, x: Any) -> Any:
        """The product with a vector; ``A @ x`` is the same.

        Parameters
        ----------
        x : (columns,) or (columns, 1) array_like, or array on the matrix's GPU
            The vector. One of the host is converted to the matrix's type.

        Returns
        -------
        (rows,) or (rows, 1) ndarray or DeviceArray
            The product, of the matrix's type, in the same kind of memory as `x`. It is the same bits each time.

        Raises
        ------
        ValueError
            If there are not as many elements as columns.
        TypeError
            If the elements are not real numbers; on a GPU, if they are of another type than the matrix.
        """
        there = on_gpu(x)
        if there is not None:
            return self._matrix.multiply(there)
        vector = reals(x, "x")
        if vector.ndim != 1 and vector.shape[1:] != (1,):
            raise ValueError(f"x has the shape {vector.shape}, but it must have one dimension")
        product: npt.NDArray[Any] = self._matrix.multiply(np.ascontiguousarray(vector.ravel(), self._dtype))
        return product.reshape(-1, *vector.shape[1:])

    def matmat(self, x: Any) -> npt.NDArray[Any]:
        """The product with a matrix, column by column; ``A @ x`` is the same.

        Parameters
        ----------
        x : (columns, n) array_like
            The matrix.

        Returns
        -------
        (rows, n) ndarray
            The product, of the matrix's type.
        """
        columns = reals(x, "x")
        if columns.ndim != 2:
            raise ValueError(f"x has the shape {columns.shape}, but it must have two dimensions")
        products = [self.matvec(column) for column in columns.T]
        return np.stack(products, axis=1) if products else np.empty((self._shape[0], 0), self._dtype)

    @property
    def T(self) -> Matrix:
        """The transposed matrix."""
        if self._transposed is None:
            data, indices, indptr = self._matrix.parts()
            order = np.argsort(indices, kind="stable")
            rows = np.repeat(np.arange(self._shape[0], dtype=np.uint32), np.diff(indptr))
            starts = np.concatenate([[0], np.cumsum(np.bincount(indices, minlength=self._shape[1]))])
            self._transposed = Matrix((data[order], rows[order], starts), shape=self._shape[::-1], device=self._device)
        return self._transposed

    def rmatvec(self, x: Any) -> Any:
        """The product of the transposed matrix with a vector, as `matvec`."""
        return self.T.matvec(x)

    def __matmul__(self, x: Any) -> Any:
        return self.matmat(x) if on_gpu(x) is None and np.ndim(x) == 2 else self.matvec(x)

    def __repr__(self) -> str:
        return f"Matrix of {self._shape[0]} x {self._shape[1]}, {self._dtype}, {self._nnz:,} values"


def _matrix(parts: tuple[Any, Any, Any], shape: tuple[int, int], device: Any) -> Matrix:
    return Matrix(parts, shape=shape, device=device)


def _unsigned(values: Any, name: str) -> npt.NDArray[np.uint32]:
    array = wholes(values, name)
    if array.ndim != 1:
        raise ValueError(f"{name} has the shape {array.shape}, but it must have one dimension")
    if array.dtype.kind == "i" or array.dtype.itemsize > 4:
        wrong = np.flatnonzero((array < 0) | (array > 2**32 - 1))
        if wrong.size:
            raise ValueError(f"{name}[{wrong[0]}] is {array[wrong[0]]}, but it must be from 0 to 2^32 - 1")
    return array.astype(np.uint32, copy=False)


def multiply(matrix: Any, x: Any, *, device: Device | str | None = None) -> Any:
    """The product of a sparse matrix and a vector. `Matrix` is for more than one vector.

    Parameters
    ----------
    matrix : Matrix, or sparse matrix or array of SciPy
        The matrix.
    x : (columns,) array_like, or array on the device that multiplies
        The vector.
    device : Device or str, optional
        The device that multiplies; by default the vector's own, or the best one.

    Returns
    -------
    (rows,) ndarray or DeviceArray
        The product.

    Raises
    ------
    ValueError, TypeError, MemoryError
        As `Matrix` and `Matrix.matvec`.

    Examples
    --------
    >>> multiply(Matrix(([1.0, 2.0], [1, 0], [0, 1, 2]), shape=(2, 2)), [1, 10])
    array([10.,  2.])
    """
    if isinstance(matrix, Matrix):
        return matrix.matvec(x)
    there = on_gpu(x)
    on = there.device if device is None and there is not None else device
    return Matrix(matrix, device=on).matvec(x)

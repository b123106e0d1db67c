"""Products of sparse matrices, against SciPy."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import warpsmith
from warpsmith import spmv
from warpsmith.spmv import Matrix

sp: Any = pytest.importorskip("scipy.sparse")
linalg: Any = pytest.importorskip("scipy.sparse.linalg")

SHAPES = [(0, 0), (0, 3), (3, 0), (1, 1), (1, 500), (500, 1), (40, 70), (3000, 2000)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products(shape: tuple[int, int], dtype: str) -> None:
    rng = np.random.default_rng(shape)
    given = sp.random_array(shape, density=0.1, rng=rng).astype(dtype)
    x = rng.normal(size=shape[1]).astype(dtype)
    for kind in ("csr", "csc", "coo", "lil", "dok", "bsr"):
        matrix = Matrix(given.asformat(kind))
        assert (matrix.shape, matrix.dtype, matrix.nnz) == (shape, np.dtype(dtype), given.nnz)
        y = matrix @ x
        assert y.dtype == dtype and y.shape == shape[:1]
        # Of sums in any order.
        bound = shape[1] * np.finfo(dtype).eps * (abs(given) @ abs(x))
        assert (abs(y - given.astype("float64") @ x.astype("float64")) <= bound).all()
    np.testing.assert_array_equal(spmv.multiply(given, x), matrix.matvec(x))
    np.testing.assert_array_equal(spmv.multiply(matrix, x.tolist()), matrix @ x)


def test_forms() -> None:
    # Values at the same place add up; columns in any order.
    matrix = Matrix(([1, 2, 3, 4], [1, 0, 1, 2], [0, 3, 4]), shape=(2, 3))
    assert matrix.dtype == np.float64 and (matrix @ np.array([1, 10, 100], np.int8)).tolist() == [42, 400]
    assert repr(matrix) == "Matrix of 2 x 3, float64, 4 values"
    assert Matrix(sp.eye_array(3, dtype=bool), dtype="float32").dtype == np.float32
    assert Matrix((np.ones(1, np.float16), [0], [0, 1]), shape=(1, 1)).dtype == np.float32
    there = warpsmith.DeviceArray(np.array([1.0, 10.0, 100.0]), "cpu")
    y = Matrix(matrix._matrix.parts(), shape=(2, 3), device="cpu") @ there
    assert isinstance(y, warpsmith.DeviceArray) and y.numpy().tolist() == [42, 400]
    assert spmv.multiply(sp.eye_array(3), there).numpy().tolist() == [1, 10, 100]


def test_copies() -> None:
    given = sp.random_array((50, 60), density=0.2, rng=np.random.default_rng(0))
    x = np.arange(60.0)
    matrix = Matrix(given)
    for again in (pickle.loads(pickle.dumps(matrix)), copy.deepcopy(matrix)):
        assert (again.shape, again.dtype, again.nnz) == (matrix.shape, matrix.dtype, matrix.nnz)
        assert again.device == matrix.device
        np.testing.assert_array_equal(again @ x, matrix @ x)


def test_a_solver() -> None:
    n = 200
    laplacian = sp.diags_array([-1.0, 2.1, -1.0], offsets=[-1, 0, 1], shape=(n, n)).tocsr()
    b = np.sin(np.arange(n))
    x, failed = linalg.cg(Matrix(laplacian), b, rtol=1e-10)
    assert not failed
    np.testing.assert_allclose(laplacian @ x, b, atol=1e-8)


def test_a_linear_operator() -> None:
    dense = np.random.default_rng(5).normal(size=(7, 4))
    dense[2:5, 1] = 0
    matrix, x, y = Matrix(sp.csr_array(dense)), np.arange(4.0), np.arange(7.0)
    operator = linalg.aslinearoperator(matrix)
    for product, expected in [
        (operator.matvec(x[:, None]), dense @ x[:, None]),
        (operator.rmatvec(y), dense.T @ y),
        (operator.matmat(dense.T), dense @ dense.T),
        (matrix @ dense.T, dense @ dense.T),
        (matrix @ np.empty((4, 0)), np.empty((7, 0))),
        (matrix.T.T @ x, dense @ x),
        (linalg.lsqr(operator, dense @ x)[0], x),
    ]:
        assert product.shape == expected.shape
        np.testing.assert_allclose(product, expected, atol=1e-9)


wrong: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    (np.eye(2), {}, TypeError, "matrix is of the type ndarray, but it must be sparse"),
    (([1.0], [0], [0, 1]), {}, ValueError, "shape is needed"),
    (([1.0], [0], [0, 1]), {"shape": 3}, TypeError, "shape is 3"),
    (([1.0], [0], [0, 1]), {"shape": (-1, 1)}, ValueError, r"shape\[0\] is -1"),
    (([1.0], [0], [0, 1]), {"shape": (1, 2**70)}, ValueError, r"shape\[1\] is"),
    (([1.0], [0], [0, 1]), {"shape": (2, 1)}, ValueError, "row_ptr has 2 elements, but it must have 3"),
    (([1.0], [1], [0, 1]), {"shape": (1, 1)}, ValueError, r"columns\[0\], in row 0, is 1"),
    (([1.0], [-1], [0, 1]), {"shape": (1, 1)}, ValueError, r"indices\[0\] is -1"),
    (([1.0], [0], [0, 2**40]), {"shape": (1, 1)}, ValueError, rf"indptr\[1\] is {2**40}"),
    (([1.0], [0.5], [0, 1]), {"shape": (1, 1)}, TypeError, "indices is an array of float64"),
    (([1j], [0], [0, 1]), {"shape": (1, 1)}, TypeError, "data: an array of complex128"),
    (([[1.0]], [0], [0, 1]), {"shape": (1, 1)}, ValueError, r"data has the shape \(1, 1\)"),
    (sp.eye_array(2), {"shape": (3, 3)}, ValueError, r"shape is \(3, 3\), but the matrix has the shape \(2, 2\)"),
    (sp.eye_array(2), {"dtype": "int32"}, TypeError, "dtype is int32"),
    (sp.coo_array(np.ones(3)), {}, ValueError, r"matrix has the shape \(3,\)"),
]


@pytest.mark.parametrize("index", range(len(wrong)))
def test_what_is_no_matrix(index: int) -> None:
    matrix, options, error, text = wrong[index]
    with pytest.raises(error, match=text):
        Matrix(matrix, **options)


def test_what_is_no_vector() -> None:
    matrix = Matrix(sp.eye_array(2))
    with pytest.raises(ValueError, match="x has 3 elements, but it must have 2: as many as the matrix has columns"):
        matrix @ [1, 2, 3]
    with pytest.raises(ValueError, match=r"x has the shape \(2, 2\)"):
        matrix.matvec([[1, 2], [3, 4]])
    with pytest.raises(ValueError, match=r"x has the shape \(2,\)"):
        matrix.matmat([1, 2])
    with pytest.raises(TypeError, match="x: an array of complex128"):
        matrix @ [1j, 2]
    with pytest.raises(TypeError, match="x is an array of float32, but it must be one of float64"):
        Matrix(sp.eye_array(2), device="cpu") @ warpsmith.DeviceArray(np.zeros(2, np.float32), "cpu")

"""Estimators for scikit-learn."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from integrals import Array, distance, inner, random_arrays

from warpsmith import Device, homology, pcf
from warpsmith.pcf import Barcodes, PcfSet

sklearn: Any = pytest.importorskip("sklearn")

from sklearn.base import BaseEstimator, clone  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.cluster import DBSCAN  # noqa: E402
from sklearn.manifold import Isomap  # noqa: E402
from sklearn.neighbors import KNeighborsClassifier, KNeighborsTransformer, RadiusNeighborsTransformer  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.svm import SVC  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

from warpsmith.sklearn import (  # noqa: E402
    AccumulatedPersistence,
    BettiCurve,
    PcfDistance,
    PcfKernel,
    PcfNeighbors,
    PersistenceLandscape,
    RipsPersistence,
    StableRank,
)

ARRAYS = random_arrays(1, 12)
BARS = [np.array([[0.0, 2.0], [1.0, 4.0]]), np.array([[0.5, 1.0]]), np.array([[0.0, np.inf], [0.0, 3.0]])]


def classes(count: int = 40) -> tuple[list[Array], Array]:
    """Functions of two kinds, which differ in their length."""
    rng = np.random.default_rng(3)
    kinds = np.arange(count) % 2
    return [np.array([[0.0, 1.0], [rng.uniform(0.5, 1.5) + 2 * kind, 0.0]]) for kind in kinds], kinds


@pytest.mark.parametrize("p", [1, 2, 3.5])
def test_distances(p: float) -> None:
    estimator = PcfDistance(p)
    expected = [[distance(f, g, p) for g in ARRAYS] for f in ARRAYS]
    matrix = estimator.fit_transform(ARRAYS)
    np.testing.assert_allclose(matrix, expected, rtol=1e-12)
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_allclose(estimator.fit(ARRAYS[:5]).transform(PcfSet(ARRAYS)), np.array(expected)[:, :5], rtol=1e-12)
    assert estimator.functions_.shape == (5,)


def test_kernels() -> None:
    inners = np.array([[inner(f, g) for g in ARRAYS] for f in ARRAYS])
    by_p = {p: np.array([[distance(f, g, p) for g in ARRAYS] for f in ARRAYS]) for p in (1, 2)}
    for estimator, expected in (
        (PcfKernel(), inners),
        (PcfKernel("laplacian", gamma=0.3), np.exp(-0.3 * by_p[1])),
        (PcfKernel("rbf", gamma=0.7), np.exp(-0.7 * by_p[2] ** 2)),
    ):
        matrix = estimator.fit_transform(ARRAYS)
        np.testing.assert_allclose(matrix, expected, rtol=1e-11, atol=1e-12)
        assert np.linalg.eigvalsh(matrix).min() > -1e-9
        np.testing.assert_allclose(estimator.fit(ARRAYS[3:]).transform(ARRAYS), expected[:, 3:], rtol=1e-11, atol=1e-12)
    # Functions that differ for ever are infinitely far apart.
    np.testing.assert_array_equal(PcfKernel("rbf").fit_transform([[(0, 1)], [(0, 2)]]), np.eye(2))
    single = PcfKernel("laplacian", dtype="float32").fit_transform(ARRAYS)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, np.exp(-by_p[1]), rtol=1e-5)


def test_stable_ranks() -> None:
    ranks = StableRank().fit_transform(BARS)
    assert isinstance(ranks, PcfSet)
    t = np.linspace(0, 5, 11)
    counts = [[np.sum(bars[:, 1] - bars[:, 0] > time) for time in t] for bars in BARS]
    np.testing.assert_array_equal(ranks(t), counts)
    values = StableRank(times=t.tolist(), dtype="float32").transform(BARS)
    assert values.dtype == np.float32
    np.testing.assert_array_equal(values, counts)
    of_dimension = StableRank(1).transform([[np.empty((0, 2)), bars] for bars in BARS])
    np.testing.assert_array_equal(of_dimension.points, ranks.points)
    np.testing.assert_array_equal(StableRank(superlevel=True).transform([[(4.0, 1.0)]])(2), [1])


@pytest.mark.parametrize(
    ("estimator", "curve"),
    [(BettiCurve, pcf.betti_curves), (AccumulatedPersistence, pcf.accumulated_persistence)],
)
def test_other_curves(estimator: Any, curve: Any) -> None:
    t = np.linspace(0, 5, 11)
    assert estimator().fit_transform(BARS).equals(curve(BARS))
    np.testing.assert_array_equal(estimator(times=t).fit_transform(BARS), curve(BARS)(t))
    of_dimension = estimator(1, dtype="float32").transform([[np.empty((0, 2)), bars] for bars in BARS])
    assert of_dimension.dtype == np.float32 and of_dimension.equals(curve(BARS))
    assert estimator(superlevel=True).transform([[(4.0, 1.0)]]).equals(curve([[(1.0, 4.0)]]))
    named = estimator().transform(Barcodes(BARS, names=["a", "b", "c"]))
    assert named.names == ("a", "b", "c")


def test_landscapes() -> None:
    t = np.linspace(-1, 5, 25)
    found = PersistenceLandscape(t, 3).fit_transform([*BARS, np.empty((0, 2))]).reshape(4, 3, 25)
    for bars, layers in zip([*BARS, np.empty((0, 2))], found):
        for time, column in zip(t, layers.T):
            heights = sorted((max(min(time - birth, death - time), 0) for birth, death in bars), reverse=True)
            assert column.tolist() == [*heights, 0, 0, 0][:3]
    turned = [bars[:, ::-1] for bars in BARS[:2]]
    superlevel = PersistenceLandscape(t, 3, superlevel=True, dtype="float32").transform(turned)
    assert superlevel.dtype == np.float32
    np.testing.assert_array_equal(superlevel, found[:2].reshape(2, -1).astype("f4"))
    np.testing.assert_array_equal(PersistenceLandscape(t).transform(Barcodes(turned, superlevel=True)), found[:2, 0])
    assert PersistenceLandscape([0, 1]).transform([]).shape == (0, 2)
    rows = PersistenceLandscape(t, 2, dimension=1).transform([[np.empty((0, 2)), bars] for bars in BARS])
    np.testing.assert_array_equal(rows, found[:3, :2].reshape(3, -1))


def clouds(count: int) -> tuple[list[Array], Array]:
    """Clouds of several sizes, all over a square or on a circle."""
    rng, kinds = np.random.default_rng(6), np.arange(count) % 2
    angles = [rng.uniform(0, 2 * np.pi, 20 + index) for index in range(count)]
    circles = [np.stack([np.cos(angle), np.sin(angle)], axis=1) for angle in angles]
    return [circle if kind else rng.uniform(-1, 1, circle.shape) for kind, circle in zip(kinds, circles)], kinds


def test_diagrams_of_clouds() -> None:
    X, y = clouds(30)
    diagrams = RipsPersistence().fit_transform(X)
    t = np.linspace(0, 2, 9)
    for estimator, expected in (
        (BettiCurve, diagrams.betti_curves(1)),
        (StableRank, diagrams.stable_ranks(1)),
        (AccumulatedPersistence, diagrams.accumulated_persistence(1)),
    ):
        assert make_pipeline(RipsPersistence(), estimator(1)).fit_transform(X).equals(expected)
    landscapes = make_pipeline(RipsPersistence(), PersistenceLandscape(t, 2, dimension=0)).fit_transform(X)
    np.testing.assert_array_equal(landscapes, diagrams.landscapes(0, t, 2).reshape(30, -1))
    assert np.isfinite(landscapes).all()
    for model in (
        make_pipeline(RipsPersistence(), BettiCurve(1), PcfKernel(), SVC(kernel="precomputed")),
        make_pipeline(RipsPersistence(2.0, device="cpu"), StableRank(1, times=t), KNeighborsClassifier(3)),
    ):
        assert cross_val_score(model, X, y, cv=3).mean() > 0.9
    search = GridSearchCV(
        make_pipeline(RipsPersistence(), StableRank(times=t), KNeighborsClassifier(3)), {"stablerank__dimension": [0, 1]}
    )
    assert search.fit(X, y).best_score_ > 0.9
    matrices = [np.linalg.norm(cloud[:, None] - cloud[None], axis=-1) for cloud in X]
    of_distances = RipsPersistence(distances=True).fit_transform(matrices)
    np.testing.assert_allclose(of_distances.bars(1), diagrams.bars(1), rtol=1e-12)
    assert RipsPersistence(degree=0).transform(X).degrees == 1
    assert isinstance(diagrams, homology.Diagrams) and not len(RipsPersistence().get_feature_names_out())
    assert clone(RipsPersistence(0.5)).get_params()["threshold"] == 0.5
    pickle.loads(pickle.dumps(RipsPersistence().fit(X))).transform(X[:2])


def test_names_of_columns() -> None:
    pandas: Any = pytest.importorskip("pandas")
    for estimator, columns in (
        (StableRank(times=[0, 0.5]), ["stablerank_0", "stablerank_0.5"]),
        (BettiCurve(times=(1,)), ["betticurve_1"]),
        (PersistenceLandscape([0, 1.5], 2), [f"persistencelandscape{k}_{t}" for k in (1, 2) for t in ("0", "1.5")]),
    ):
        assert list(estimator.get_feature_names_out()) == columns
        plain = estimator.fit_transform(BARS)
        frame = estimator.set_output(transform="pandas").fit_transform(BARS)
        assert isinstance(frame, pandas.DataFrame) and list(frame.columns) == columns
        np.testing.assert_array_equal(frame, plain)
    # Functions are no columns.
    assert not hasattr(StableRank(), "get_feature_names_out")
    assert isinstance(StableRank().set_output(transform="pandas").fit_transform(BARS), PcfSet)
    clouds = np.random.default_rng(3).normal(size=(4, 12, 2))
    steps = make_pipeline(RipsPersistence(), BettiCurve(1, times=[0, 0.5, 1]))
    frame = steps.set_output(transform="pandas").fit_transform(clouds)
    assert list(frame.columns) == list(steps.get_feature_names_out()) and frame.shape == (4, 3)
    functions = make_pipeline(RipsPersistence(), BettiCurve(1)).set_output(transform="pandas").fit_transform(clouds)
    assert isinstance(functions, PcfSet)
    named = PcfSet(ARRAYS[:3], names=["a", "b", "c"])
    frame = PcfDistance().set_output(transform="pandas").fit(named).transform(ARRAYS)
    assert list(frame.columns) == ["a", "b", "c"] and frame.shape == (12, 3)
    with pytest.raises(NotFittedError):
        PcfDistance().get_feature_names_out()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", ["distance", "connectivity"])
def test_neighbours(mode: Any, dtype: Any) -> None:
    fs = PcfSet([*random_arrays(4, 25), *random_arrays(4, 3)], dtype=dtype)
    fitted, others = fs[:20], fs[15:]
    distances = PcfDistance(2).fit(fitted)
    square, wide = distances.transform(fitted), distances.transform(others)
    radius = float(np.sort(square[3])[6])
    pairs = [
        (PcfNeighbors(4, mode=mode, p=2), KNeighborsTransformer(n_neighbors=4, mode=mode, metric="precomputed")),
        (
            PcfNeighbors(radius=radius, mode=mode, p=2),
            RadiusNeighborsTransformer(radius=radius, mode=mode, metric="precomputed"),
        ),
    ]
    for own, theirs in pairs:
        graph, expected = own.fit_transform(fitted), theirs.fit_transform(square)
        assert graph.dtype == dtype and graph.format == "csr"
        np.testing.assert_allclose(graph.toarray(), expected.toarray(), rtol=1e-6)
        assert graph.nnz == expected.nnz
        other = own.transform(others)
        assert other.shape == (13, 20) and other.nnz == theirs.transform(wide).nnz
        # Of equally near functions, scikit-learn may choose others.
        entries = [np.sort(row.data) for row in (other[[k]] for k in range(13))]
        wanted = [np.sort(row.data) for row in (theirs.transform(wide)[[k]] for k in range(13))]
        for found, right in zip(entries, wanted):
            np.testing.assert_allclose(found, right, rtol=1e-6)
    assert PcfNeighbors(radius=0).fit_transform(fitted[:1]).nnz == 1


@pytest.mark.filterwarnings("error")
def test_graphs_in_estimators() -> None:
    functions, kinds = classes()
    labels = make_pipeline(PcfNeighbors(radius=0.6), DBSCAN(eps=0.6, metric="precomputed")).fit_predict(functions)
    np.testing.assert_array_equal(labels, kinds)
    neighbours = make_pipeline(PcfNeighbors(6), KNeighborsClassifier(5, metric="precomputed"))
    assert cross_val_score(neighbours, PcfSet(functions), kinds, cv=4).mean() > 0.95
    embedded = make_pipeline(PcfNeighbors(25), Isomap(n_neighbors=25, metric="precomputed")).fit_transform(functions)
    assert embedded.shape == (40, 2)


def test_pipelines() -> None:
    functions, kinds = classes()
    for X in (functions, PcfSet(functions)):
        kernel = make_pipeline(PcfKernel(), SVC(kernel="precomputed"))
        grid = {"pcfkernel__kernel": ["linear", "rbf", "laplacian"], "svc__C": [1, 10]}
        search = GridSearchCV(kernel, grid, cv=4).fit(X, kinds)
        assert search.best_score_ > 0.95
        neighbours = make_pipeline(PcfDistance(), KNeighborsClassifier(3, metric="precomputed"))
        assert cross_val_score(neighbours, X, kinds, cv=4).mean() > 0.95
    # In processes of their own.
    search = GridSearchCV(neighbours, {"pcfdistance__p": [1, 2]}, cv=4, n_jobs=2).fit(X, kinds)
    assert search.best_score_ > 0.95 and list(search.predict(X[:4])) == [0, 1, 0, 1]
    barcodes = [np.column_stack([np.zeros(3), function[1, 0] * np.ones(3)]) for function in functions]
    ranks = make_pipeline(StableRank(), PcfKernel("rbf"), SVC(kernel="precomputed"))
    assert cross_val_score(ranks, barcodes, kinds, cv=4).mean() > 0.95
    values = make_pipeline(StableRank(times=np.linspace(0, 4, 20)), SVC())
    assert cross_val_score(values, barcodes, kinds, cv=4).mean() > 0.95


def test_estimators_are_copied_and_kept() -> None:
    for estimator in (PcfKernel("rbf", gamma=2.0, device=Device("cpu")), PcfDistance(2, dtype="float32")):
        fitted = estimator.fit(ARRAYS[:6])
        again = pickle.loads(pickle.dumps(fitted))
        np.testing.assert_array_equal(again.transform(ARRAYS), fitted.transform(ARRAYS))
        copied = clone(fitted)
        assert copied.get_params() == estimator.get_params() and not hasattr(copied, "functions_")
        with pytest.raises(NotFittedError):
            copied.transform(ARRAYS)
        assert repr(estimator).startswith(type(estimator).__name__ + "(")
        assert list(fitted.get_feature_names_out()) == [f"{type(estimator).__name__.lower()}{k}" for k in range(6)]
    assert PcfDistance().set_params(p=3).p == 3
    times = np.arange(3.0)
    assert clone(StableRank(2, times=times)).get_params()["times"].tolist() == times.tolist()


def test_what_cannot_be_fitted() -> None:
    wrong: list[tuple[Any, Any, type[Exception], str]] = [
        (PcfKernel(), [], ValueError, "0 samples"),
        (PcfKernel(), PcfSet(ARRAYS).reshape(3, 4), ValueError, "a sample is a function"),
        (PcfKernel(), PcfSet(ARRAYS[0]), ValueError, "a sample is a function"),
        (PcfKernel("cubic"), ARRAYS, ValueError, "kernel is 'cubic'"),  # type: ignore[arg-type]
        (PcfKernel("rbf", gamma=0), ARRAYS, ValueError, "gamma = 0"),
        (PcfKernel("rbf", gamma=np.nan), ARRAYS, ValueError, "gamma = nan"),
        (PcfDistance(0.5), ARRAYS, ValueError, "p = 0.5"),
        (PcfDistance(dtype="int32"), ARRAYS, TypeError, "float32 or float64"),
        (PcfDistance(device="gpu"), ARRAYS, ValueError, "is not a device"),
        (PcfDistance(), [[(0, np.nan)]], ValueError, "NaN"),
        (StableRank(), [[(2.0, 1.0)]], ValueError, "bar 0"),
        (StableRank(times=-1), BARS, ValueError, "defined from t = 0 on"),
        (StableRank(times=["a"]), BARS, TypeError, r"times: element \[0\] is 'a'"),
        (BettiCurve("one"), BARS, TypeError, "dimension is 'one'"),  # type: ignore[arg-type]
        (BettiCurve(1), BARS, ValueError, "barcode 0 has no dimensions to choose from"),
        (PcfDistance(-np.inf), ARRAYS, ValueError, "p = -inf"),
        (PcfDistance("one"), ARRAYS, TypeError, "p is 'one'"),  # type: ignore[arg-type]
        (PersistenceLandscape([0], 0), BARS, ValueError, "layers is 0, but it must be at least 1"),
        (PersistenceLandscape([0, np.inf]), BARS, ValueError, "times has inf, but times must be finite"),
        (PersistenceLandscape([0]), [[(2.0, 1.0)]], ValueError, "bar 0"),
        (PcfNeighbors(0), ARRAYS, ValueError, "n_neighbors is 0, but it must be at least 1"),
        (PcfNeighbors(2.5), ARRAYS, TypeError, "n_neighbors is 2.5"),  # type: ignore[arg-type]
        (PcfNeighbors(12), ARRAYS, ValueError, "the 12 nearest functions of each were asked for, but each has 11 others"),
        (PcfNeighbors(radius=-1), ARRAYS, ValueError, "radius is -1, but it must be at least 0"),
        (PcfNeighbors(radius=np.nan), ARRAYS, ValueError, "radius is nan"),
        (PcfNeighbors(radius=np.inf), ARRAYS, ValueError, "radius is inf, but it must be at least 0 and finite"),
        (PcfNeighbors(mode="both"), ARRAYS, ValueError, "mode is 'both'"),  # type: ignore[arg-type]
    ]
    for estimator, X, error, text in wrong:
        with pytest.raises(error, match=text):
            estimator.fit_transform(X)


def test_no_scikit_learn() -> None:
    code = "import sys; sys.modules['sklearn.base'] = None; import warpsmith.sklearn"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ImportError: warpsmith.sklearn needs scikit-learn: pip install scikit-learn" in done.stderr


# scikit-learn's own checks give matrices. With these in front, a row of one is a function, or a barcode.


class Rows(BaseEstimator):
    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        return tags


def functions_of_rows(X: Any) -> PcfSet:
    """Each row as the values of a function from the times 0, 1, 2 ... on, which ends on 0."""
    rows = np.asarray(X)
    values = np.concatenate([rows, np.zeros_like(rows[:, :1])], axis=1)
    times = np.broadcast_to(np.arange(values.shape[1]), values.shape)
    return PcfSet(np.stack([times.astype(values.dtype), values], axis=-1))


class RowsDistance(Rows, PcfDistance):
    def fit(self, X: Any, y: Any = None) -> Any:
        return super().fit(functions_of_rows(X), y)

    def transform(self, X: Any) -> Any:
        return super().transform(functions_of_rows(X))


class RowsKernel(Rows, PcfKernel):
    def fit(self, X: Any, y: Any = None) -> Any:
        return super().fit(functions_of_rows(X), y)

    def transform(self, X: Any) -> Any:
        return super().transform(functions_of_rows(X))


class RowsNeighbors(Rows, PcfNeighbors):
    def fit(self, X: Any, y: Any = None) -> Any:
        return super().fit(functions_of_rows(X), y)

    def transform(self, X: Any) -> Any:
        return super().transform(functions_of_rows(X))


def barcodes_of_rows(X: Any) -> list[Array]:
    return [np.stack([0 * row, abs(row)], axis=1) for row in np.asarray(X)]


class RowsRank(Rows, StableRank):
    def transform(self, X: Any) -> Any:
        return StableRank(times=[0, 1, 2]).transform(barcodes_of_rows(X))


class RowsBetti(Rows, BettiCurve):
    def transform(self, X: Any) -> Any:
        return BettiCurve(times=[0, 1, 2]).transform(barcodes_of_rows(X))


class RowsLandscape(Rows, PersistenceLandscape):
    def __init__(self, layers: int = 2) -> None:
        super().__init__([0, 1, 2], layers)

    def transform(self, X: Any) -> Any:
        return super().transform(barcodes_of_rows(X))


class RowsRips(Rows, RipsPersistence):
    def transform(self, X: Any) -> Any:
        diagrams = super().transform([row[:, np.newaxis] for row in np.asarray(X)])
        return diagrams.betti_curves(0)([0, 1, 2])


COLUMNS = "samples are functions or barcodes of any length: there are no columns to count"
SHAPE = "samples are no rows of a matrix; what is of the wrong shape is refused in other words"
TYPES = "what is no real number is a TypeError here, and strings of digits and objects aren't converted"
SPARSE = "there are no sparse functions; SciPy's matrices are refused in other words"
STATELESS = "fit does nothing: transform refuses what is no barcode"

FAIL = {
    "check_n_features_in": COLUMNS,
    "check_n_features_in_after_fitting": COLUMNS,
    "check_estimators_empty_data_messages": COLUMNS,
    "check_fit1d": SHAPE,
    "check_fit2d_predict1d": SHAPE,
    "check_complex_data": TYPES,
    "check_dtype_object": TYPES,
    "check_estimator_sparse_tag": SPARSE,
}
PAIRS_FAIL = {
    **FAIL,
    "check_transformer_general": COLUMNS,
    "check_estimator_sparse_array": SPARSE,
    "check_estimator_sparse_matrix": SPARSE,
}
RANK_FAIL = {**FAIL, "check_estimators_nan_inf": STATELESS, "check_complex_data": STATELESS, "check_fit1d": STATELESS}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("estimator", "fail"),
    [
        (RowsDistance(), PAIRS_FAIL),
        (RowsKernel(), PAIRS_FAIL),
        (RowsKernel("rbf"), PAIRS_FAIL),
        (RowsNeighbors(radius=1.0), PAIRS_FAIL),
        (RowsRank(), RANK_FAIL),
        (RowsBetti(), RANK_FAIL),
        (RowsLandscape(), RANK_FAIL),
        (RowsRips(), RANK_FAIL),
    ],
)
def test_checks_of_scikit_learn(estimator: Any, fail: dict[str, str]) -> None:
    results = check_estimator(estimator, expected_failed_checks=fail, on_skip=None, on_fail=None)
    by_status: dict[str, set[str]] = {}
    for result in results:
        by_status.setdefault(result["status"], set()).add(result["check_name"])
    assert not by_status.get("failed")
    # None passes that is expected to fail.
    assert by_status["xfail"] == set(fail)
    assert by_status.get("skipped", set()) <= {"check_array_api_input"}
    assert len(by_status["passed"]) >= 25

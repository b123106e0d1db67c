"""Persistence diagrams of point clouds."""

from __future__ import annotations

import itertools
import math
import pickle
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from integrals import Array

from warpsmith import DeviceArray, devices, homology, pcf
from warpsmith.homology import rips

SQUARE = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], float)


def lengths_of(points: Array) -> Array:
    """A matrix of distances, in the points' precision, symmetric to the bit."""
    differences = points[:, None] - points[None]
    lengths: Array = np.sqrt((differences * differences).sum(axis=-1, dtype=points.dtype))
    return lengths


def random_cloud(seed: int, most: int = 24, dimension: int = 2) -> Array:
    """A random or degenerate cloud: on a grid, with points twice, on a line or a circle, or all in one place."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, most + 1))
    kind = seed % 6
    if kind == 0:
        cloud = rng.normal(size=(n, dimension))
    elif kind == 1:
        cloud = rng.integers(0, 4, (n, dimension)).astype(float)
    elif kind == 2:
        half = rng.normal(size=((n + 1) // 2, dimension))
        cloud = np.concatenate([half, half])[:n]
    elif kind == 3:
        cloud = np.outer(rng.integers(0, 9, n), rng.integers(-2, 3, dimension)).astype(float)
    elif kind == 4:
        angles = 2 * np.pi * np.arange(n) / max(n, 1)
        cloud = np.stack([np.cos(angles), np.sin(angles), 0 * angles, 0 * angles], axis=1)[:, :dimension]
    else:
        cloud = np.zeros((n, dimension))
    return cloud.astype(np.float32)


def sorted_bars(bars: Array) -> list[tuple[float, float]]:
    """The bars of positive length as a sorted multiset."""
    return sorted((birth, death) for birth, death in np.asarray(bars).tolist() if death > birth)


def reference(distances: Array, threshold: float = math.inf) -> list[list[tuple[float, float]]]:
    """The bars of degrees 0 to 2, by reducing the boundary matrix of all simplices column by column."""
    n = len(distances)
    simplices = [simplex for size in range(1, 5) for simplex in itertools.combinations(range(n), size)]

    def value(simplex: tuple[int, ...]) -> float:
        return max((float(distances[pair]) for pair in itertools.combinations(simplex, 2)), default=0.0)

    simplices = sorted((s for s in simplices if value(s) <= threshold), key=lambda s: (value(s), len(s), s))
    places = {simplex: place for place, simplex in enumerate(simplices)}
    columns: dict[int, set[int]] = {}
    bars: list[list[tuple[float, float]]] = [[], [], [], []]
    open_places: set[int] = set()
    for place, simplex in enumerate(simplices):
        column = {places[face] for face in itertools.combinations(simplex, len(simplex) - 1) if face}
        while column and max(column) in columns:
            column ^= columns[max(column)]
        if column:
            born = max(column)
            columns[born] = column
            open_places.remove(born)
            bars[len(simplex) - 2].append((value(simplices[born]), value(simplex)))
        else:
            open_places.add(place)
    for place in open_places:
        bars[len(simplices[place]) - 1].append((value(simplices[place]), math.inf))
    return [sorted(bar for bar in of_degree if bar[1] > bar[0]) for of_degree in bars[:3]]


def test_bars_are_those_of_the_boundary_matrix() -> None:
    matrices = [lengths_of(random_cloud(seed, 9, 1 + seed % 4)) for seed in range(60)]
    for threshold in (None, 0.0, 1.0, 1.5):
        diagrams = rips(matrices, distances=True, threshold=threshold, degree=2)
        for matrix, found in zip(matrices, diagrams):
            radius = matrix.max(axis=1).min(initial=math.inf) if len(matrix) else 0.0
            expected = reference(matrix, min(threshold if threshold is not None else math.inf, float(radius)))
            assert [sorted_bars(bars) for bars in found] == expected


def test_bars_are_those_of_ripser() -> None:
    ripser: Any = pytest.importorskip("ripser")
    matrices = [lengths_of(random_cloud(seed, 40, 1 + seed % 4)) for seed in range(360)]
    matrices = [matrix for matrix in matrices if len(matrix) > 1]
    for threshold, degree, some in ((None, 1, matrices), (0.8, 1, matrices[::4]), (None, 2, matrices[::3])):
        diagrams = rips(some, distances=True, threshold=threshold, degree=degree)
        assert diagrams.dtype == np.float32
        for matrix, found in zip(some, diagrams):
            more = {} if threshold is None else {"thresh": threshold}
            theirs = ripser.ripser(matrix, distance_matrix=True, maxdim=degree, **more)["dgms"]
            assert [sorted_bars(bars) for bars in found] == [sorted_bars(bars.astype("f4")) for bars in theirs]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_forms_of_clouds(dtype: str) -> None:
    batch = np.random.default_rng(1).normal(size=(5, 14, 3)).astype(dtype)
    expected = rips(batch)
    assert expected.dtype == dtype and len(expected) == 5 and expected.degrees == 2
    for form in (list(batch), tuple(batch), np.asfortranarray(batch), [memoryview(cloud) for cloud in batch]):
        same(rips(form), expected)
    same(rips(batch[2]), expected[2:3])
    same(rips(batch[::-1])[::-1], expected)
    mixed = rips([batch[0], batch[1].astype("float64")])
    assert mixed.dtype == np.float64
    # Lists become float64; those of lists of numbers are a cloud.
    same(rips(batch.astype("float64").tolist()), rips(batch.astype("float64")))
    same(rips(batch[0].astype("float64").tolist()), rips(batch[:1].astype("float64")))
    assert rips(SQUARE.astype(int))[0][1].tolist() == [[1, math.sqrt(2)]]
    assert rips(SQUARE.astype("float16")).dtype == np.float32
    # Sizes differ.
    ragged = [batch[0], batch[1][:5], batch[2][:0], batch[3][:1]]
    found = rips(ragged)
    assert [len(bars) for bars, _ in found] == [14, 5, 0, 1]
    assert found.offsets(0).tolist() == [0, 14, 19, 19, 20]
    same(found[1:2], rips(ragged[1]))


def test_clouds_of_masspcf() -> None:
    masspcf: Any = pytest.importorskip("masspcf")
    clouds = [random_cloud(seed, 12) for seed in (0, 6, 7)]
    tensor = masspcf.zeros((3,), dtype=masspcf.pcloud32)
    for index, cloud in enumerate(clouds):
        tensor[index] = cloud
    same(rips(tensor), rips(clouds))


def test_forms_of_distances() -> None:
    spatial: Any = pytest.importorskip("scipy.spatial.distance")
    clouds = [np.random.default_rng(seed).normal(size=(8 + seed, 2)) for seed in range(3)]
    condensed = [spatial.pdist(cloud) for cloud in clouds]
    matrices = [spatial.squareform(vector) for vector in condensed]
    expected = rips(matrices, distances=True)
    same(rips(condensed, distances=True), expected)
    same(rips([condensed[0], matrices[1], condensed[2]], distances=True), expected)
    for one in (matrices[0], matrices[0].tolist(), condensed[0], condensed[0].tolist(), matrices[0][None]):
        same(rips(one, distances=True), expected[:1])
    assert rips(condensed[0].astype("f4"), distances=True).dtype == np.float32
    for bars, of_points in zip(expected, rips(clouds)):
        for one, other in zip(bars, of_points):
            np.testing.assert_allclose(one, other, rtol=1e-14)


def same(found: homology.Diagrams, expected: homology.Diagrams) -> None:
    assert (found.dtype, found.degrees, len(found)) == (expected.dtype, expected.degrees, len(expected))
    for of_degree, others in zip(found._parts(), expected._parts()):
        for array, other in zip(of_degree, others):
            np.testing.assert_array_equal(array, other)


def test_few_points() -> None:
    assert len(rips([])) == 0 and rips([]).bars(1).shape == (0, 2)
    assert len(rips(np.empty((0, 5, 2)))) == 0
    assert [bars.tolist() for bars in rips(np.empty((0, 3)))[0]] == [[], []]
    assert [bars.tolist() for bars in rips([[1.0, 2.0]])[0]] == [[[0, math.inf]], []]
    assert [bars.tolist() for bars in rips([[0.0], [2.5]])[0]] == [[[0, 2.5], [0, math.inf]], []]
    # Points without coordinates are all in one place.
    assert [bars.tolist() for bars in rips(np.empty((3, 0)))[0]] == [[[0, math.inf]], []]
    assert rips(SQUARE, degree=0).degrees == 1


def test_edges_have_the_lengths() -> None:
    clouds = [random_cloud(seed, dimension=3) for seed in range(30)]
    diagrams = rips(clouds, degree=2, edges=True)
    assert len(diagrams.bars(2))
    for degree in (0, 1, 2):
        bars, edges, offsets = diagrams.bars(degree), diagrams.edges(degree), diagrams.offsets(degree)
        assert edges.dtype == np.int64 and edges.shape == (len(bars), 4)
        for cloud, start, end in zip(clouds, offsets[:-1], offsets[1:]):
            for (birth, death), (a, b, u, v) in zip(bars[start:end], edges[start:end]):
                assert (a == b == -1 and birth == 0) if degree == 0 else a != b
                assert (u == v == -1) == (death == math.inf)
                for value, one, other in ((birth, a, b), (death, u, v)):
                    if one != other:
                        assert value == pytest.approx(math.dist(cloud[one], cloud[other]), rel=1e-6)


def test_edges_are_asked_for() -> None:
    diagrams = rips([SQUARE, SQUARE])
    with pytest.raises(ValueError, match="edges=True"):
        diagrams.edges(1)
    assert len(diagrams[1:].bars(1)) == 1


def test_edges_differentiate_bars() -> None:
    # The derivative of an edge's length by its ends, beside central differences.
    points, step = np.random.default_rng(8).normal(size=(20, 3)), 1e-6
    diagrams = rips(points, degree=2, edges=True)
    assert len(diagrams.bars(2))
    for degree in (0, 1, 2):
        bars, edges = diagrams.bars(degree), diagrams.edges(degree).reshape(-1, 2)
        present = edges[:, 0] >= 0
        u, v = edges[present].T
        gradient = np.zeros((len(edges), *points.shape))
        unit = (points[u] - points[v]) / np.linalg.norm(points[u] - points[v], axis=1)[:, None]
        gradient[present.nonzero()[0], u], gradient[present.nonzero()[0], v] = unit, -unit
        for place in np.ndindex(points.shape):
            moved = [points.copy(), points.copy()]
            moved[0][place] += step
            moved[1][place] -= step
            ahead, behind = (found[degree] for found in rips(moved, degree=2))
            finite = np.isfinite(bars)
            differences = (ahead[finite] - behind[finite]) / (2 * step)
            expected = gradient[(slice(None), *place)].reshape(-1, 2)[finite]
            np.testing.assert_allclose(differences, expected, atol=1e-8)


def test_thresholds_and_infinite_bars() -> None:
    # The square's cycle lives from 1 to the diagonal.
    for threshold, h0, h1 in ((0.5, [math.inf] * 4, []), (1.0, [1, 1, 1, math.inf], [[1, math.inf]])):
        bars = rips(SQUARE, threshold=threshold)[0]
        assert bars[0][:, 1].tolist() == h0 and bars[1].tolist() == h1
    diagrams = rips([SQUARE, 3 * SQUARE], threshold=3.0)
    assert diagrams.bars(1).tolist() == [[1, math.sqrt(2)], [3, math.inf]]
    curves = diagrams.betti_curves(1)
    assert curves([1.2, 3.5]).tolist() == [[1, 0], [0, 0]]
    assert diagrams.betti_curves(1, cap=4)([1.2, 3.5, 4]).tolist() == [[1, 0, 0], [0, 1, 0]]
    # A cap before a birth gives a bar of no length.
    assert diagrams.betti_curves(1, cap=2)([2.5, 3.5]).tolist() == [[0, 0], [0, 0]]
    assert diagrams.stable_ranks(0)(0.5).tolist() == [3, 3]
    assert diagrams.stable_ranks(0, cap=9)([0.5, 8]).tolist() == [[4, 1], [4, 1]]
    assert diagrams.accumulated_persistence(0)(9).tolist() == [3, 9]
    # Distances are finite, and those of the module's functions.
    for degree in (0, 1):
        assert np.isfinite(pcf.pdist(diagrams.betti_curves(degree))).all()
        assert pcf.betti_curves(diagrams, dimension=degree).equals(diagrams.betti_curves(degree))
        assert pcf.stable_ranks(diagrams, dimension=degree).equals(diagrams.stable_ranks(degree))
        accumulated = pcf.accumulated_persistence(diagrams, dimension=degree)
        assert accumulated.equals(diagrams.accumulated_persistence(degree))
    with pytest.raises(ValueError, match=r"diagrams have bars of 2 dimensions: choose one \(dimension=\)"):
        pcf.betti_curves(diagrams)
    assert pcf.betti_curves(rips(SQUARE, degree=0))(0.5).tolist() == [3]
    for cap in (math.inf, math.nan):
        with pytest.raises(ValueError, match="cap is"):
            diagrams.betti_curves(0, cap)
    assert str(rips(SQUARE.astype("f4")).betti_curves(0).dtype) == "float32"
    assert str(rips(SQUARE.astype("f4")).betti_curves(0, dtype="float64").dtype) == "float64"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_are_those_of_bars_in_host_memory(dtype: str) -> None:
    batch = [random_cloud(seed, dimension=3).astype(dtype) for seed in range(40)]
    diagrams = rips(batch, threshold=1.5)
    for degree, to in itertools.product((0, 1), ("float32", "float64")):
        finite = [bars[np.isfinite(bars[:, 1])] for bars in (found[degree] for found in diagrams)]
        capped = [np.minimum(bars, 2.0) for bars in (found[degree] for found in diagrams)]
        for name, function in (
            ("betti_curves", pcf.betti_curves),
            ("stable_ranks", pcf.stable_ranks),
            ("accumulated_persistence", pcf.accumulated_persistence),
        ):
            for some in (diagrams, diagrams[:], pickle.loads(pickle.dumps(diagrams))):
                found = getattr(some, name)(degree, dtype=to)
                assert found.dtype == to and found.equals(function(finite, dtype=to))
                assert getattr(some, name)(degree, 2.0, dtype=to).equals(function(capped, dtype=to))
                assert function(some, dimension=degree, dtype=to).equals(found)
    # Matrices of functions on the device are those of copies.
    curves = diagrams.betti_curves(1)
    copied = pcf.PcfSet.from_parts(np.array(curves.offsets), np.array(curves.points))
    distances = pcf.pdist(diagrams.betti_curves(1))
    np.testing.assert_array_equal(distances, pcf.pdist(copied))
    np.testing.assert_array_equal(pcf.l2_kernel(diagrams.betti_curves(1)), pcf.l2_kernel(copied))
    np.testing.assert_array_equal(pcf.cdist(diagrams.betti_curves(1), copied), pcf.cdist(copied, copied))
    with pytest.raises(ValueError, match="superlevel is true"):
        pcf.betti_curves(diagrams, dimension=1, superlevel=True)
    with pytest.raises(ValueError, match="barcode 1, bar 0: death = 1e\\+?20 is too large for float32"):
        rips([[[0.0], [1.0]], [[0.0], [1e20]]]).betti_curves(0, dtype="float32")


def test_bars_are_read_only() -> None:
    diagrams = rips(SQUARE)
    for array in (diagrams.bars(0), diagrams.offsets(0), diagrams[0][1]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize("edges", [False, True])
def test_files(edges: bool, tmp_path: Path) -> None:
    diagrams = rips([SQUARE, random_cloud(6, dimension=2), SQUARE[:0]], edges=edges)
    for extension in ("npz", "npy", "csv", "json"):
        path = tmp_path / f"bars.{extension}"
        diagrams.save(path, names=["a", "b", "c"])
        for degree in (0, 1):
            found = pcf.load_barcodes(path, degree)
            assert len(found) == 3
            assert found.names == (None if extension == "npy" else ("a", "b", "c"))
            for bars, expected in zip(found, diagrams):
                assert sorted_bars(bars) == sorted_bars(expected[degree])
    with np.load(tmp_path / "bars.npz") as archive:
        assert ("edges" in archive) == edges
    for extension in ("txt", "pers"):
        path = tmp_path / f"bars.{extension}"
        diagrams[:1].save(path)
        assert sorted_bars(pcf.load_barcodes(path, 1)[0]) == sorted_bars(diagrams[0][1])
        with pytest.raises(ValueError, match="can hold the bars of one cloud, but there are 3"):
            diagrams.save(path)
    with pytest.raises(ValueError, match="the name must end in .npz"):
        diagrams.save(tmp_path / "bars.xyz")
    with pytest.raises(ValueError, match="there are 1 names, but 3 clouds"):
        diagrams.save(tmp_path / "bars.npz", names=["a"])
    with pytest.raises(OSError, match="no directory"):
        diagrams.save(tmp_path / "none" / "bars.npz")


def test_landscapes_and_silhouettes() -> None:
    diagrams = rips([random_cloud(seed) for seed in (0, 1, 6, 5, 12)], threshold=2.0)
    times = np.linspace(0, 3, 13)
    for degree, cap in itertools.product((0, 1), (None, 2.5)):
        landscapes = diagrams.landscapes(degree, times, 3, cap=cap)
        silhouettes = diagrams.silhouettes(degree, times, 2, cap=cap)
        assert landscapes.shape == (5, 3, 13) and silhouettes.shape == (5, 13)
        for index, found in enumerate(diagrams):
            bars = [(b, cap if d == math.inf else d) for b, d in found[degree].tolist() if d < math.inf or cap]
            for time, layers, silhouette in zip(times, landscapes[index].T, silhouettes[index]):
                heights = [max(min(time - birth, death - time), 0) for birth, death in bars]
                assert layers.tolist() == [*sorted(heights, reverse=True), 0, 0, 0][:3]
                weights = [(death - birth) ** 2 for birth, death in bars]
                total = sum(w * h for w, h in zip(weights, heights)) / sum(weights) if weights else 0
                assert silhouette == pytest.approx(total, rel=1e-12)
    with pytest.raises(ValueError, match="times has inf"):
        diagrams.landscapes(0, [0, math.inf])
    with pytest.raises(ValueError, match="layers is 0"):
        diagrams.landscapes(0, [0], 0)
    # Bars of host memory, unsorted times, no times, and no clouds.
    copied = pickle.loads(pickle.dumps(diagrams))
    backwards = [2.0, 0.5, -1.0]
    np.testing.assert_array_equal(copied.landscapes(1, backwards, 2), diagrams.landscapes(1, backwards[::-1], 2)[..., ::-1])
    assert diagrams.landscapes(1, [], 2).shape == (5, 2, 0) and rips([]).silhouettes(0, [1]).shape == (0, 1)
    # Powers whose weights would be out of range: of the longest bar alone, and of the shortest.
    spread = rips([(0, 0), (0.1, 0), (0, 3)])
    assert spread.silhouettes(0, [0.02, 2], power=400).tolist() == [[0.02, 1]]
    assert spread.silhouettes(0, [0.02, 2], power=-400).tolist() == [[0.02, 0]]
    with pytest.raises(ValueError, match="the power of bars' lengths is NaN"):
        spread.silhouettes(0, [1], power=np.nan)
    with pytest.raises(ValueError, match="masked values"):
        rips(np.ma.masked_array([[0.0, 0], [1, 0]], mask=[[False, False], [False, True]]))


def test_step_functions_of_samples() -> None:
    diagrams = rips([random_cloud(seed) for seed in (0, 1, 6, 5, 12)])
    times = np.linspace(0, 3, 25)
    for degree, cap in itertools.product((0, 1), (None, 2.5)):
        for curves, values in (
            (diagrams.landscape_curves(degree, times, 2, cap=cap), diagrams.landscapes(degree, times, 2, cap=cap)),
            (diagrams.silhouette_curves(degree, times, 2, cap=cap), diagrams.silhouettes(degree, times, 2, cap=cap)),
        ):
            assert curves.dtype == np.float32 and curves.shape == values.shape[:-1]
            held = values.copy()
            held[..., -1] = 0
            np.testing.assert_array_equal(curves(times), held.astype("f4"))
            flat = held[..., :-1].reshape(-1, 24)
            expected = np.abs(flat[:, None] - flat[None]).sum(axis=-1) / 8
            matrix = pcf.pdist(curves.ravel(), layout="dense")
            np.testing.assert_allclose(matrix, expected, rtol=1e-5, atol=1e-6)
            kernel = pcf.l2_kernel(curves.ravel(), layout="dense")
            np.testing.assert_allclose(kernel, flat @ flat.T / 8, rtol=1e-5, atol=1e-6)
    late = diagrams.silhouette_curves(0, [0.5, 1.0], dtype="float64")
    assert late.dtype == np.float64 and late[0].points[:, 0].tolist() == [0, 0.5, 1]
    for bad in ([0, 1, 1], [-1, 0], []):
        with pytest.raises(ValueError, match="times"):
            diagrams.landscape_curves(0, bad)


def test_parts_and_copies() -> None:
    diagrams = rips([random_cloud(seed) for seed in range(8)], edges=True)
    same(pickle.loads(pickle.dumps(diagrams)), diagrams)
    for key in (slice(1, 6, 2), slice(None, None, -1), [3, 3, -1], np.arange(8) % 3 == 0, slice(0, 0)):
        part = diagrams[key]
        chosen = np.arange(8)[key]
        assert isinstance(part, homology.Diagrams) and part.shape == (len(chosen),)
        for index, found in zip(chosen, part):
            for one, other in zip(found, diagrams[index]):
                np.testing.assert_array_equal(one, other)
        assert part.edges(1).shape == (len(part.bars(1)), 4)
    with pytest.raises(IndexError):
        diagrams[8]
    with pytest.raises(ValueError, match="degree is 2, but it must be at most 1"):
        diagrams.bars(2)
    assert repr(rips(SQUARE)) == "Diagrams of 1 cloud, float64: 4 bars of degree 0, 1 of degree 1"
    assert repr(rips([[[0.0]], [[1.0]]], degree=0)) == "Diagrams of 2 clouds, float64: 2 bars of degree 0"


@pytest.mark.parametrize(
    ("clouds", "more", "text"),
    [
        ([SQUARE, [[0, 1], [math.nan, 2]]], {}, "cloud 1: coordinate 0 of point 1 is NaN"),
        (np.full((2, 3, 1), np.inf), {}, "cloud 0: coordinate 0 of point 0 is inf"),
        ([SQUARE, np.zeros((2, 3))], {}, "cloud 1 has points of 3 coordinates, but those before have 2"),
        ([1.0, 2.0], {}, r"clouds has the shape \(2,\), but it must be \(points, coordinates\) or \(clouds, points,"),
        ([SQUARE, np.zeros(3)], {}, r"cloud 1 has the shape \(3,\), but it must be \(points, coordinates\)"),
        ([SQUARE, SQUARE[None]], {}, r"cloud 1 has the shape \(1, 4, 2\)"),
        ([[0, 1], [2]], {}, "clouds is no array"),
        (np.zeros((2, 3)), {"distances": True}, r"the shape \(2, 3\), but it must be \(n, n\) or \(clouds, n, n\)"),
        (np.ones(4), {"distances": True}, "clouds has 4 distances, but all pairs of points are 1, 3, 6"),
        ([[0, 1], [2, 0]], {"distances": True}, "cloud 0: the distance from point 0 to point 1 is 1 and back 2"),
        ([[0, -1], [-1, 0]], {"distances": True}, "cloud 0: the distance from point 0 to point 1 is -1"),
        ([[0, math.nan], [math.nan, 0]], {"distances": True}, "cloud 0: the distance from point 0 to point 1 is NaN"),
        ([np.zeros((2, 2)), np.eye(2)], {"distances": True}, "cloud 1: the distance of point 0 from itself is 1"),
        (SQUARE, {"threshold": -1}, "threshold is -1"),
        (SQUARE, {"threshold": math.nan}, "threshold is NaN"),
        (SQUARE, {"degree": 3}, "degree 3"),
        ([SQUARE, np.zeros((257, 2))], {"degree": 2}, "cloud 1 has 257 points, but bars of degree 2"),
        (SQUARE, {"degree": -1}, "degree is -1"),
        (SQUARE, {"device": []}, "no devices"),
        (SQUARE, {"device": "gpu"}, "is not a device"),
    ],
)
def test_invalid_clouds(clouds: Any, more: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        rips(clouds, **more)


@pytest.mark.parametrize("clouds", ["points", 3.0, {"a": 1}, np.zeros((2, 2), complex), np.array([["a", "b"]])])
def test_what_is_no_cloud(clouds: Any) -> None:
    with pytest.raises(TypeError):
        rips(clouds)


def test_infinite_distances() -> None:
    matrix = np.array([[0, 1, np.inf], [1, 0, np.inf], [np.inf, np.inf, 0]])
    assert rips(matrix, distances=True)[0][0].tolist() == [[0, 1], [0, math.inf], [0, math.inf]]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_arrays_on_a_device(dtype: str) -> None:
    batch = np.random.default_rng(2).normal(size=(6, 20, 2)).astype(dtype)
    expected = rips(batch)
    same(rips(DeviceArray(batch)), expected)
    same(rips([DeviceArray(cloud) for cloud in batch]), expected)
    ragged = [batch[0], batch[1][:7], batch[2][:0], batch[3][:1]]
    same(rips([DeviceArray(cloud) for cloud in ragged]), rips(ragged))
    matrices = np.stack([lengths_of(cloud) for cloud in batch])
    same(rips(DeviceArray(matrices), distances=True), rips(matrices, distances=True))
    with pytest.raises(ValueError, match="cloud 1 is in host memory, but others are on a device"):
        rips([DeviceArray(batch[0]), batch[1]])
    with pytest.raises(TypeError, match="int64"):
        rips(DeviceArray(np.zeros((3, 2), int)))
    with pytest.raises(TypeError, match="float32"):
        rips([DeviceArray(batch[0].astype("f4")), DeviceArray(batch[1].astype("f8"))])
    with pytest.raises(ValueError, match=r"clouds has the shape \(3,\)"):
        rips(DeviceArray(np.zeros(3, dtype)), distances=True)


def test_progress_and_devices() -> None:
    calls: list[tuple[int, int]] = []
    batch = np.random.default_rng(3).normal(size=(7, 10, 2))
    same(rips(batch, progress=lambda done, all: calls.append((done, all)), device=devices()[-1]), rips(batch, device="cpu"))
    assert calls[-1] == (7, 7)
    same(rips(batch, device=["cpu", "cpu"]), rips(batch, device="cpu"))


def test_several_threads() -> None:
    batch = np.random.default_rng(4).normal(size=(20, 40, 3))
    expected, wrong = rips(batch), []

    def work() -> None:
        for _ in range(3):
            found = rips(batch)
            if not np.array_equal(found.bars(1), expected.bars(1)):
                wrong.append(found)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_ctrl_c_ends_it() -> None:
    batch = np.random.default_rng(5).normal(size=(4000, 150, 3)).astype(np.float32)
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(0.3, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(1000):
            rips(batch)
    assert time.monotonic() - start < 30
    same(rips(batch[:1]), rips(batch[0]))

"""Arrays of CuPy's on GPUs, which are used where they are. Where there is no GPU, or no CuPy, nothing is tested here."""

# Other libraries' arrays have no types.
# mypy: disable-error-code="arg-type, assignment, attr-defined, comparison-overlap, no-untyped-call, union-attr"

import ctypes
import gc
import os
import threading
from typing import Any

import numpy as np
import pytest
from integrals import random_arrays
from warpsmith import Device, DeviceArray, devices, graph, homology, list_rank, overlap, pcf, spmv, trees

cupy: Any = pytest.importorskip("cupy")

if devices()[0].backend != "cuda":
    assert "gpu" not in os.environ.get("WARPSMITH_REQUIRE", "").split(","), "no GPU"
    pytest.skip("no GPU", allow_module_level=True)


def random_list(n: int) -> tuple[Any, Any]:
    order = np.random.default_rng(n).permutation(n)
    next = np.full(n, -1, np.int32)
    next[order[:-1]] = order[1:]
    ranks = np.empty(n, np.int32)
    ranks[order] = np.arange(n)
    return next, ranks


class Interface:
    """An array that knows `__cuda_array_interface__` alone."""

    def __init__(self, array: Any, stream: int | None = None) -> None:
        self.array, self.__cuda_array_interface__ = array, dict(array.__cuda_array_interface__)
        if stream is not None:
            self.__cuda_array_interface__ |= {"version": 3, "stream": stream}


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("wrap", [lambda array: array, Interface])
def test_shared_both_ways(dtype: str, wrap: Any) -> None:
    theirs = cupy.arange(24, dtype=dtype).reshape(4, 6)
    ours = DeviceArray(wrap(theirs))
    assert ours.shape == (4, 6) and ours.dtype == dtype and ours.device == Device("cuda:0")
    assert ours.__cuda_array_interface__["data"][0] == theirs.data.ptr
    # By either protocol.
    for back in (cupy.from_dlpack(ours), cupy.asarray(Interface(ours))):
        assert back.data.ptr == theirs.data.ptr and back.dtype == dtype and back.shape == (4, 6)
    theirs[1, 2] = 77
    cupy.cuda.Device().synchronize()
    assert ours.numpy()[1, 2] == 77
    # A copy has its own memory.
    copy = DeviceArray(ours.numpy())
    assert copy.__cuda_array_interface__["data"][0] != theirs.data.ptr


def functions(n: int, dtype: str) -> pcf.PcfSet:
    return pcf.PcfSet(random_arrays(n, n), dtype=dtype)


def test_pytorch() -> None:
    torch: Any = pytest.importorskip("torch")
    theirs = torch.arange(24, dtype=torch.float64, device="cuda").reshape(4, 6)
    ours = DeviceArray(theirs)
    back = torch.from_dlpack(ours)
    assert back.data_ptr() == theirs.data_ptr() and torch.equal(back, theirs)
    out = torch.empty(300 * 299 // 2, dtype=torch.float32, device="cuda")
    with torch.cuda.stream(torch.cuda.Stream()):
        out.fill_(torch.nan)
        assert pcf.pdist(functions(300, "float32"), out=out) is out
    assert np.array_equal(out.cpu().numpy(), pcf.pdist(functions(300, "float32")))


def test_jax() -> None:
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    jax: Any = pytest.importorskip("jax")
    theirs = jax.numpy.arange(24, dtype="float32").reshape(4, 6)
    ours = DeviceArray(theirs)
    assert np.array_equal(ours.numpy(), np.asarray(theirs))
    back = jax.dlpack.from_dlpack(pcf.pdist(functions(30, "float32"), on_device=True))
    assert np.array_equal(np.asarray(back), pcf.pdist(functions(30, "float32")))


def test_numba() -> None:
    cuda: Any = pytest.importorskip("numba.cuda")
    theirs = cuda.to_device(np.arange(24.0).reshape(4, 6))
    ours = DeviceArray(theirs)
    assert ours.__cuda_array_interface__["data"][0] == theirs.__cuda_array_interface__["data"][0]
    assert np.array_equal(cuda.as_cuda_array(ours).copy_to_host(), theirs.copy_to_host())


def test_parts_and_what_is_not_contiguous() -> None:
    theirs = cupy.arange(1000, dtype=cupy.float64)
    # A part that begins anywhere is copied.
    assert np.array_equal(DeviceArray(theirs[3:500]).numpy(), np.arange(3.0, 500.0))
    assert DeviceArray(theirs[:0]).shape == (0,)
    for wrong in (theirs[::2], theirs[:600].reshape(20, 30).T):
        with pytest.raises(ValueError, match="contiguous"):
            DeviceArray(wrong)
        with pytest.raises(ValueError, match="contiguous"):
            DeviceArray(Interface(wrong))
    with pytest.raises(TypeError):
        DeviceArray(theirs.astype(cupy.complex64))
    with pytest.raises(TypeError):
        DeviceArray(Interface(theirs.astype(cupy.uint8)))
    with pytest.raises(ValueError, match="lies on"):
        DeviceArray(theirs, device="cpu")


def test_memory_lives_as_long_as_anybody_needs_it() -> None:
    theirs = cupy.arange(1 << 20, dtype=cupy.float64)
    ours = DeviceArray(theirs)
    del theirs
    gc.collect()
    # What would get the memory, had it been freed.
    others = [cupy.full(1 << 20, -1.0) for _ in range(8)]
    assert np.array_equal(ours.numpy(), np.arange(1 << 20))
    back = cupy.from_dlpack(ours)
    del ours, others
    gc.collect()
    others = [cupy.full(1 << 20, -1.0) for _ in range(8)]
    assert np.array_equal(back.get(), np.arange(1 << 20))
    # Ours outlives the engine that made it, and ends on another thread.
    result = pcf.pdist(functions(50, "float64"), on_device=True)
    expected, found = result.numpy(), []
    shared = cupy.from_dlpack(result)
    del result
    thread = threading.Thread(target=lambda: found.append(shared.get()))
    thread.start()
    thread.join()
    assert np.array_equal(found[0], expected)
    holder = [shared]
    del shared
    thread = threading.Thread(target=holder.clear)
    thread.start()
    thread.join()
    gc.collect()
    del others


@pytest.mark.parametrize("how", ["dlpack", "interface", "default"])
def test_comes_after_the_other_librarys_work(how: str) -> None:
    n = 1 << 20
    next, ranks = random_list(n)
    good, a = cupy.asarray(next), cupy.ones((4096, 4096), dtype=cupy.float32)
    for _ in range(5):
        stream = cupy.cuda.Stream(non_blocking=True) if how != "default" else cupy.cuda.Stream.null
        late = cupy.full(n, -1, dtype=cupy.int32)
        cupy.cuda.Device().synchronize()
        with stream:
            # Some ms of work, and only then the list.
            for _ in range(6):
                a = a @ a * cupy.float32(1e-4)
            late[:] = good
            given = Interface(late, stream.ptr or 1) if how == "interface" else late
            found = list_rank.rank(given)
            # What CuPy then does on any stream comes after ours.
            assert int((cupy.from_dlpack(found) != cupy.asarray(ranks)).sum()) == 0


def test_another_librarys_context_stays() -> None:
    driver = ctypes.CDLL("libcuda.so.1")

    def current() -> int | None:
        context = ctypes.c_void_p()
        assert driver.cuCtxGetCurrent(ctypes.byref(context)) == 0
        return context.value

    cupy.cuda.Device(0).use()
    cupy.zeros(1)
    before = current()
    last = devices()[-2]
    array = DeviceArray(np.arange(100.0), device=last)
    assert current() == before
    result = pcf.pdist(functions(40, "float32"), device=last, on_device=True)
    assert current() == before
    result.numpy(), array.numpy()
    del array, result
    gc.collect()
    assert current() == before


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_matrices_into_cupys_arrays(dtype: str) -> None:
    fs, gs = functions(300, dtype), functions(70, dtype)
    for call in (
        lambda **more: pcf.pdist(fs, **more),
        lambda **more: pcf.pdist(fs, layout="dense", **more),
        lambda **more: pcf.cdist(fs, gs, p=2, **more),
        lambda **more: pcf.l2_kernel(fs, layout="packed", **more),
    ):
        expected = call()
        out = cupy.full(expected.shape, cupy.nan, dtype=dtype)
        assert call(out=out) is out and np.array_equal(out.get(), expected)
        assert np.array_equal(cupy.asarray(call(on_device=True)).get(), expected)
        with pytest.raises(ValueError, match="contiguous"):
            call(out=cupy.full((2, *expected.shape), 0, dtype=dtype).T)
        # A part of an array can't be a result: it would be a copy's.
        odd = cupy.zeros(expected.size + 1, dtype=dtype)[1:].reshape(expected.shape)
        with pytest.raises(ValueError, match="256 bytes"):
            call(out=odd)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_poses_of_cupys(dtype: str) -> None:
    poses = np.random.default_rng(2).uniform(0, 2, (5, 30, 3)).astype(dtype)
    evaluator = overlap.Overlap([overlap.Shape.tree()], dtype=dtype, deterministic=True)
    expected = evaluator.evaluate(poses, gradient=True, per_pose=True)
    theirs, into = cupy.asarray(poses), cupy.zeros_like(cupy.asarray(poses))
    found = evaluator.evaluate(theirs, gradient=into, per_pose=True)
    assert found.gradient is into and np.array_equal(into.get(), expected.gradient)
    assert np.array_equal(cupy.asarray(found.totals).get(), expected.totals)
    assert np.array_equal(found.per_pose.numpy(), expected.per_pose)
    with pytest.raises(ValueError, match="lie on"):
        overlap.Overlap([overlap.Shape.tree()], dtype=dtype, device="cpu").evaluate(theirs)


def test_lists_of_cupys() -> None:
    for n in (1, 5, 100_000, 9_000_000):
        next, ranks = random_list(n)
        theirs = cupy.asarray(next)
        assert np.array_equal(cupy.asarray(list_rank.rank(theirs)).get(), ranks)
        weights = cupy.ones(n, dtype=cupy.int64)
        assert np.array_equal(list_rank.prefix_sums(theirs, weights).numpy(), ranks)
        forest = list_rank.forest(theirs)
        assert np.array_equal(forest.ranks.numpy(), ranks) and forest.list_count == 1
    with pytest.raises(ValueError, match="next"):
        list_rank.rank(cupy.asarray([7, -1], dtype=cupy.int32))


def test_threads() -> None:
    fs = functions(200, "float32")
    expected = pcf.pdist(fs)
    wrong = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        with cupy.cuda.Stream(non_blocking=True):
            for _ in range(20):
                out = cupy.empty(expected.shape, dtype=cupy.float32)
                pcf.pdist(fs, out=out)
                if not np.array_equal(out.get(), expected):
                    wrong.append("matrix")
                n = int(rng.integers(20_000, 50_000))
                next, ranks = random_list(n)
                if not np.array_equal(list_rank.rank(cupy.asarray(next)).numpy(), ranks):
                    wrong.append("ranks")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(len(devices()) < 3, reason="takes two GPUs")
def test_two_gpus() -> None:
    with cupy.cuda.Device(1):
        next, ranks = random_list(50_000)
        theirs = cupy.asarray(next)
        found = list_rank.rank(theirs)
        assert found.device == Device("cuda:1") and np.array_equal(found.numpy(), ranks)
        out = cupy.empty(300 * 299 // 2, dtype=cupy.float32)
        pcf.pdist(functions(300, "float32"), out=out)
        assert np.array_equal(out.get(), pcf.pdist(functions(300, "float32"), device="cuda:0"))
        with pytest.raises(ValueError, match="lies on cuda:1"):
            pcf.pdist(functions(300, "float32"), out=out, device="cuda:0")


def test_edges_and_trees() -> None:
    n = 20_000
    rng = np.random.default_rng(4)
    edges = rng.integers(0, n, (n, 2)).astype(np.int32)
    theirs = cupy.asarray(edges)
    for function in (graph.components, graph.bridges, graph.biconnected):
        for given, count in ((theirs, None), (theirs, n + 5), (Interface(theirs), n)):
            there, here = function(given, count), function(edges, count, device="cpu")
            assert all(isinstance(array, DeviceArray) for array in there[:-1])
            assert all(np.array_equal(a.numpy(), b) for a, b in zip(there[:-1], here[:-1])) and there[-1] == here[-1]
    forest = graph.spanning_forest(theirs, n)
    assert graph.components(edges[forest.edges.numpy()], n).component_count == forest.component_count

    parents = np.append(-1, [rng.integers(0, i) for i in range(1, n)]).astype(np.int32)
    below = np.column_stack([np.arange(1, n), parents[1:]]).astype(np.int32)
    pairs, weights = rng.integers(0, n, (5000, 2)).astype(np.int32), rng.normal(size=n)
    for there, here in (
        (trees.root(parents=cupy.asarray(parents)), trees.root(parents=parents, device="cpu")),
        (trees.root(cupy.asarray(below), root=0), trees.root(below, root=0, device="cpu")),
    ):
        assert all(np.array_equal(a.numpy(), b) for a, b in zip(there[:-1], here[:-1]))
        assert np.array_equal(trees.lca(there, cupy.asarray(pairs)).numpy(), trees.lca(here, pairs))
        assert np.array_equal(trees.lca(there, pairs), trees.lca(here, pairs))
        for a, b in zip(trees.sums(there, cupy.asarray(weights)), trees.sums(here, weights)):
            assert np.array_equal(a.numpy(), b)
    with pytest.raises(ValueError, match="pairs lies on cuda:0, but the tree is on cpu"):
        trees.lca(trees.root(parents=parents, device="cpu"), cupy.asarray(pairs))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products(dtype: str) -> None:
    rng = np.random.default_rng(5)
    indptr = np.append(0, np.cumsum(rng.integers(0, 40, 5000)))
    parts = (rng.normal(size=indptr[-1]).astype(dtype), rng.integers(0, 3000, indptr[-1]), indptr)
    x = rng.normal(size=3000).astype(dtype)
    there, here = (spmv.Matrix(parts, shape=(5000, 3000), device=device) for device in ("cuda", "cpu"))
    y = there @ cupy.asarray(x)
    assert isinstance(y, DeviceArray) and np.array_equal(y.numpy(), there @ x)
    assert np.allclose(there @ x, here @ x, rtol=1e-3, atol=1e-4 if dtype == "float32" else 1e-10)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("wrap", [lambda array: array, Interface])
def test_clouds_of_cupys(dtype: str, wrap: Any) -> None:
    rng = np.random.default_rng(6)
    # Coordinates whose distances have no rounding errors to differ in.
    batch = rng.integers(0, 50, (40, 30, 3)).astype(dtype)
    ragged = [cloud[:size] for cloud, size in zip(batch, rng.integers(0, 31, 40))]
    there = homology.rips(wrap(cupy.asarray(batch)))
    for found, expected in (
        (there, homology.rips(batch)),
        (there, homology.rips(batch, device="cpu")),
        (homology.rips([wrap(cupy.asarray(cloud)) for cloud in ragged]), homology.rips(ragged)),
    ):
        assert found.dtype == dtype
        for degree in (0, 1):
            assert np.array_equal(found.bars(degree), expected.bars(degree))
            assert np.array_equal(found.offsets(degree), expected.offsets(degree))
    points = cupy.asarray(batch)
    distances = cupy.sqrt(((points[:, :, None] - points[:, None]) ** 2).sum(axis=-1))
    of_distances = homology.rips(wrap(distances), distances=True)
    assert np.array_equal(of_distances.bars(1), homology.rips(distances.get(), distances=True).bars(1))
    with pytest.raises(ValueError, match="lies on cuda:0"):
        homology.rips(points, device="cpu")
    with pytest.raises(ValueError, match="cloud 0: the distance from point 0 to point 1"):
        homology.rips(cupy.asarray([[0, 1], [2, 0]], dtype=dtype), distances=True)


def test_clouds_of_jaxs() -> None:
    jax: Any = pytest.importorskip("jax")
    batch = np.random.default_rng(8).integers(0, 50, (10, 25, 2)).astype("float32")
    there = jax.device_put(batch, jax.devices("gpu")[0])
    for found in (homology.rips(there), homology.rips(list(there))):
        assert np.array_equal(found.bars(1), homology.rips(batch, device="cpu").bars(1))
    assert there.unsafe_buffer_pointer() == DeviceArray(there).__cuda_array_interface__["data"][0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_of_bars(dtype: str) -> None:
    # Distances without rounding errors to differ in.
    batch = np.random.default_rng(9).integers(0, 50, (60, 40, 3)).astype(dtype)
    there, here = homology.rips(cupy.asarray(batch)), homology.rips(batch, device="cpu")
    for degree, name in ((0, "stable_ranks"), (1, "betti_curves"), (1, "accumulated_persistence")):
        functions, expected = getattr(there, name)(degree), getattr(here, name)(degree)
        norms = pcf.l2_kernel(functions, device="cuda", on_device=True)
        assert np.allclose(norms.numpy(), pcf.l2_kernel(expected, device="cpu"), rtol=1e-5)
        assert np.allclose(pcf.cdist(functions, expected), pcf.cdist(expected, functions).T, rtol=1e-5)
        assert functions.equals(expected)


@pytest.mark.skipif(len(devices()) < 3, reason="takes two GPUs")
def test_clouds_on_two_gpus() -> None:
    batch = np.random.default_rng(7).normal(size=(30, 40, 3))
    expected = homology.rips(batch, device="cuda:0")
    divided = homology.rips(batch, device=["cuda:0", "cuda:1"])
    assert divided.betti_curves(1).equals(expected.betti_curves(1))
    assert np.array_equal(divided.bars(1), expected.bars(1))
    with cupy.cuda.Device(1):
        there = cupy.asarray(batch)
    assert np.array_equal(homology.rips(there).bars(1), expected.bars(1))
    with pytest.raises(ValueError, match="several devices"):
        homology.rips([there[0], cupy.asarray(batch[1])])

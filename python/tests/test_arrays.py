"""Arrays on devices. Without a GPU they are in the CPU's memory, and go to NumPy by DLPack."""

# Other libraries' arrays have no types.
# mypy: disable-error-code="arg-type, assignment, attr-defined, comparison-overlap, no-untyped-call, union-attr"

import ctypes
import gc
import pickle
import threading
from typing import Any

import numpy as np
import pytest
from integrals import random_arrays
from warpsmith import Device, DeviceArray, devices, free_memory, list_rank, overlap, pcf

TYPES = ["int32", "int64", "float32", "float64"]


def home() -> Device:
    return devices()[0]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(0,), (1,), (7,), (2, 3), (3, 0, 2), (2, 3, 4), ()])
def test_there_and_back(dtype: str, shape: tuple[int, ...]) -> None:
    values = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    array = DeviceArray(values)
    assert (array.shape, array.dtype, array.ndim, array.size) == (shape, values.dtype, len(shape), values.size)
    assert array.device == home()
    back = array.numpy()
    assert back.dtype == values.dtype and back.shape == shape and np.array_equal(back, values)
    assert np.array_equal(np.asarray(array), values)
    again = pickle.loads(pickle.dumps(array))
    assert again.device == array.device and np.array_equal(again.numpy(), values) and again.dtype == values.dtype
    if shape:
        assert len(array) == shape[0]
    else:
        with pytest.raises(TypeError):
            len(array)
    words = " x ".join(map(str, shape))
    assert repr(array) == f"DeviceArray of {words} {dtype} on {array.device}"


def test_what_is_copied() -> None:
    values = np.arange(12.0).reshape(3, 4)
    for array in (values.T, values[:, ::2], values.tolist(), values[::-1]):
        assert np.array_equal(DeviceArray(array).numpy(), array)
    array = DeviceArray(values)
    values[0, 0] = 100
    assert array.numpy()[0, 0] == 0
    assert DeviceArray(array).numpy()[2, 3] == 11
    assert np.asarray(array, dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="without a copy"):
        np.asarray(array, copy=False)


@pytest.mark.parametrize("values", ["text", [object()], [True], np.arange(3, dtype=np.uint8), None, [1j]])
def test_what_is_no_array(values: Any) -> None:
    with pytest.raises(TypeError):
        DeviceArray(values)


cpu_only = pytest.mark.skipif(home().backend != "cpu", reason="NumPy can't take arrays on GPUs")


@cpu_only
@pytest.mark.parametrize("dtype", TYPES)
def test_dlpack_shares(dtype: str) -> None:
    array = DeviceArray(np.arange(6).reshape(2, 3).astype(dtype))
    assert array.__dlpack_device__() == (1, 0)
    assert not hasattr(array, "__cuda_array_interface__")
    first, second = np.from_dlpack(array), np.from_dlpack(array)
    assert np.array_equal(first, [[0, 1, 2], [3, 4, 5]]) and first.dtype == dtype
    assert first.ctypes.data == second.ctypes.data
    # The memory outlives the array that it came from.
    address = first.ctypes.data
    del array, second
    gc.collect()
    assert np.array_equal(first, [[0, 1, 2], [3, 4, 5]]) and first.ctypes.data == address


@cpu_only
def test_dlpack_in_words() -> None:
    array = DeviceArray(np.zeros(3))
    with pytest.raises(BufferError):
        array.__dlpack__(dl_device=(2, 0))
    copied = np.from_dlpack(Capsule(array.__dlpack__(copy=True), (1, 0)))
    assert copied.ctypes.data != np.from_dlpack(array).ctypes.data
    # A capsule that nobody takes frees what it has.
    for version in (None, (0, 8), (1, 0), (1, 1)):
        capsule = array.__dlpack__(max_version=version)
        name = "dltensor_versioned" if version is not None and version[0] else "dltensor"
        assert f'"{name}"' in repr(capsule)
        del capsule
    gc.collect()
    assert np.array_equal(array.numpy(), np.zeros(3))


class Capsule:
    """Something that has a capsule and nothing else."""

    def __init__(self, capsule: Any, device: Any) -> None:
        self.capsule, self.device = capsule, device

    def __dlpack__(self, **arguments: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> Any:
        return self.device


def test_lies_about_devices() -> None:
    # What claims to be on a GPU that isn't there is no panic, and its capsule is not looked into.
    for device in [(2, 77), (2, -1), (13, 1 << 20)]:
        with pytest.raises((RuntimeError, OverflowError, ValueError)):
            DeviceArray(Capsule(object(), device))
    with pytest.raises(TypeError):
        DeviceArray(Capsule(object(), "gpu"))


def test_interfaces_that_are_none() -> None:
    class Interface:
        def __init__(self, **interface: Any) -> None:
            self.__cuda_array_interface__ = interface

    good = {"shape": (2,), "typestr": "<f8", "data": (256, False), "version": 3}
    for wrong in ({"shape": None}, {"data": None}, {"typestr": None}, {"data": 3}, {"shape": (-1,)}, {"shape": 7}):
        with pytest.raises((ValueError, TypeError, OverflowError, RuntimeError)):
            DeviceArray(Interface(**(good | wrong)))
    # An address that is no GPU's.
    with pytest.raises((RuntimeError, ValueError)):
        DeviceArray(Interface(**good))


def random_list(n: int, seed: int) -> tuple[np.ndarray[Any, np.dtype[np.int32]], Any]:
    order = np.random.default_rng(seed).permutation(n)
    next = np.full(n, -1, np.int32)
    next[order[:-1]] = order[1:]
    return next, order


@pytest.mark.parametrize("n", [1, 2, 31, 16_384, 16_385, 60_000])
def test_lists(n: int) -> None:
    next, order = random_list(n, n)
    expected = np.empty(n, np.int32)
    expected[order] = np.arange(n)
    ranks = list_rank.rank(DeviceArray(next))
    assert isinstance(ranks, DeviceArray) and np.array_equal(ranks.numpy(), expected)
    assert np.array_equal(list_rank.rank(next), expected)
    for dtype in TYPES:
        weights = np.arange(n).astype(dtype) % 7
        sums = list_rank.prefix_sums(DeviceArray(next), DeviceArray(weights))
        before = np.concatenate([[0], np.cumsum(weights[order])[:-1]])
        assert isinstance(sums, DeviceArray) and np.array_equal(sums.numpy()[order], before)
    forest = list_rank.forest(DeviceArray(next))
    assert np.array_equal(forest.ranks.numpy(), expected) and forest.list_count == 1
    assert not forest.lists.numpy().any()


def test_lists_in_words() -> None:
    next = DeviceArray(np.array([1, -1], np.int32))
    with pytest.raises(TypeError, match="next is an array of int64, but it must be one of int32"):
        list_rank.rank(DeviceArray(np.array([1, -1])))
    with pytest.raises(ValueError, match="dimensions"):
        list_rank.rank(DeviceArray(np.zeros((2, 2), np.int32)))
    with pytest.raises(ValueError, match="both"):
        list_rank.prefix_sums(next, np.zeros(2))
    with pytest.raises(ValueError, match=r"next\[0\] is 2"):
        list_rank.rank(DeviceArray(np.array([2, -1], np.int32)))
    if len(devices()) > 1:
        with pytest.raises(ValueError, match="lies on"):
            list_rank.rank(next, device="cpu")


def functions(n: int, dtype: str) -> pcf.PcfSet:
    return pcf.PcfSet(random_arrays(n, n), dtype=dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [0, 1, 2, 40])
def test_matrices_stay_on_the_device(n: int, dtype: str) -> None:
    fs, gs = functions(n, dtype), functions(3, dtype)
    for call in (
        lambda **more: pcf.pdist(fs, p=1, **more),
        lambda **more: pcf.pdist(fs, p=2.5, layout="packed", **more),
        lambda **more: pcf.pdist(fs, layout="dense", **more),
        lambda **more: pcf.cdist(fs, gs, **more),
        lambda **more: pcf.l2_kernel(fs, **more),
    ):
        expected = call()
        found = call(on_device=True)
        assert isinstance(found, DeviceArray) and found.shape == expected.shape
        assert found.dtype == dtype and np.array_equal(found.numpy(), expected)
        out = DeviceArray(np.full(expected.shape, np.nan, dtype))
        assert call(out=out) is out
        assert np.array_equal(out.numpy(), expected)


def test_matrices_in_words() -> None:
    fs = functions(4, "float64")
    with pytest.raises(TypeError, match="out is an array of float32"):
        pcf.pdist(fs, out=DeviceArray(np.zeros(6, np.float32)))
    with pytest.raises(ValueError, match=r"out has the shape \(5\), but the result has \(6\)"):
        pcf.pdist(fs, out=DeviceArray(np.zeros(5)))
    with pytest.raises(ValueError, match="on_device is for new results"):
        pcf.pdist(fs, on_device=True, out=np.zeros(6))
    out = DeviceArray(np.zeros(6))
    assert pcf.pdist(fs, out=out, device=[str(home())]) is out
    with pytest.raises(ValueError, match="lies on"):
        pcf.pdist(fs, out=out, device=[str(home()), "cpu"])
    with pytest.raises(ValueError, match="not by 2 devices"):
        pcf.pdist(fs, on_device=True, device=["cpu", "cpu"])


def test_results_are_used_again() -> None:
    fs = functions(600, "float64")
    first = pcf.pdist(fs)
    kept, address = first.copy(), first.ctypes.data
    view = first[10:20]
    del first
    gc.collect()
    # A view keeps the memory.
    second = pcf.pdist(fs)
    assert second.ctypes.data != address and np.array_equal(view, kept[10:20])
    del view, second
    gc.collect()
    third = pcf.pdist(fs)
    assert np.array_equal(third, kept)
    third[:] = 0
    free_memory()
    assert not third.any()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_poses_on_a_device(dtype: str) -> None:
    rng = np.random.default_rng(5)
    poses = rng.uniform(0, 2, (3, 20, 3)).astype(dtype)
    evaluator = overlap.Overlap([overlap.Shape.tree()], dtype=dtype, boundary="square", deterministic=True)
    for poses in (poses, poses[0], poses[:, :1]):
        for scales in (None, 1.5):
            expected = evaluator.evaluate(poses, scales=scales, per_pose=True, gradient=True)
            found = evaluator.evaluate(DeviceArray(poses), scales=scales, per_pose=True, gradient=True)
            assert np.array_equal(found.totals.numpy(), expected.totals)
            assert np.array_equal(found.per_pose.numpy(), expected.per_pose)
            assert np.array_equal(found.gradient.numpy(), expected.gradient)
            assert (found.outside is None) == (scales is None)
            if found.outside is not None and expected.outside is not None:
                for one, other in zip(found.outside, expected.outside, strict=True):
                    assert np.array_equal(one.numpy(), other)
            into = DeviceArray(np.zeros_like(poses))
            assert evaluator.evaluate(DeviceArray(poses), scales=scales, gradient=into).gradient is into
            assert np.array_equal(into.numpy(), expected.gradient)
            plain = evaluator.evaluate(DeviceArray(poses))
            assert plain.gradient is None and plain.per_pose is None and plain.outside is None
            assert np.array_equal(plain.totals.numpy(), evaluator.evaluate(poses, scales=scales).totals)


def test_poses_in_words() -> None:
    evaluator = overlap.Overlap([overlap.Shape.tree()])
    poses = DeviceArray(np.zeros((2, 3)))
    with pytest.raises(TypeError, match="poses is an array of float32"):
        evaluator.evaluate(DeviceArray(np.zeros((2, 3), np.float32)))
    with pytest.raises(ValueError, match="poses have the shape"):
        evaluator.evaluate(DeviceArray(np.zeros((2, 2))))
    with pytest.raises(ValueError, match="another shape"):
        evaluator.evaluate(poses, gradient=DeviceArray(np.zeros((3, 3))))
    with pytest.raises(ValueError, match="own memory"):
        evaluator.evaluate(poses, gradient=poses)
    with pytest.raises(ValueError, match="boundary"):
        evaluator.evaluate(poses, scales=1.0)
    with pytest.raises(ValueError):
        evaluator.evaluate(poses, shapes=[0, 1])


def test_derivatives_into_arrays_elsewhere() -> None:
    evaluator = overlap.Overlap([overlap.Shape.tree()])
    poses = np.zeros((2, 3))
    for where, into in ((DeviceArray(poses), np.zeros((2, 3))), (poses, DeviceArray(poses)), (poses, [[1.0]])):
        with pytest.raises(TypeError, match="on the same device"):
            evaluator.evaluate(where, gradient=into)
    assert evaluator.evaluate(DeviceArray(poses), gradient=np.True_).gradient.shape == (2, 3)


def test_arrays_that_lie_oddly() -> None:
    odd = np.zeros(41, np.uint8)[1:].view(np.float64)
    odd[:] = np.arange(5)
    assert DeviceArray(odd).numpy().tolist() == [0, 1, 2, 3, 4]
    busy = np.zeros(6)
    seen: list[str] = []

    def look(done: int, total: int) -> None:
        try:
            DeviceArray(busy)
        except ValueError as error:
            seen.append(str(error))

    pcf.pdist(functions(4, "float64"), out=busy, progress=look)
    assert set(seen) == {"the array is being written by another call"}


def test_an_empty_array_is_nowhere() -> None:
    empty = pcf.pdist(functions(1, "float32"), on_device=True)
    assert empty.shape == (0,)
    if home().backend == "cuda":
        assert empty.__cuda_array_interface__["data"][0] == 0


def test_threads_share_arrays() -> None:
    fs = functions(300, "float64")
    expected = pcf.pdist(fs)
    out = DeviceArray(np.zeros(expected.shape))
    wrong: list[str] = []

    def work() -> None:
        for _ in range(10):
            pcf.pdist(fs, out=out)
            if not np.array_equal(out.numpy(), expected):
                wrong.append("another result")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@cpu_only
def test_the_deleter_runs_once() -> None:
    array = DeviceArray(np.arange(4.0))
    api = ctypes.pythonapi
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    for _ in range(1000):
        capsule = array.__dlpack__()
        assert api.PyCapsule_GetPointer(capsule, b"dltensor")
        taken = np.from_dlpack(Capsule(capsule, (1, 0)))
        del capsule, taken
    assert np.array_equal(array.numpy(), np.arange(4.0))

"""What all functions have in common: devices, threads, Ctrl-C, processes."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from integrals import random_arrays

import warpsmith
from warpsmith import concurrency, list_rank, overlap, pcf
from warpsmith.pcf import PcfSet


def test_version() -> None:
    from importlib import metadata

    assert warpsmith.__version__ == metadata.version("warpsmith")


def test_devices() -> None:
    devices = warpsmith.devices()
    assert str(devices[-1]) == "cpu" and [str(device) for device in devices[:-1]] == [
        f"cuda:{ordinal}" for ordinal in range(len(devices) - 1)
    ]
    for device in devices:
        assert device == warpsmith.Device(str(device)) == pickle.loads(pickle.dumps(device)) == copy.copy(device)
        assert repr(device) == f"Device('{device}')" and device.name and device.multiprocessors > 0
        free, total = device.memory
        assert 0 < free <= total
    assert len(set(devices)) == len(devices)
    cpu = warpsmith.Device("cpu")
    assert (cpu.backend, cpu.ordinal, cpu.compute_capability) == ("cpu", None, None)
    assert warpsmith.Device() in devices
    assert warpsmith.Device(cpu) == cpu
    assert cpu != "cpu"
    for name in ("gpu", "", "cuda:", "cuda:-1", "cuda:+1", "cuda:1x", "CPU", "cuda:99999999999"):
        with pytest.raises(ValueError, match="is not a device: they are called"):
            warpsmith.Device(name)
    with pytest.raises(RuntimeError, match="no CUDA device"):
        warpsmith.Device("cuda:63")
    with pytest.raises(TypeError, match="a device is a Device or its name"):
        warpsmith.Device(0)  # type: ignore[arg-type]


def run(code: str, **environment: str) -> str:
    """What a process prints, with stderr."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    return done.stdout


def test_environment() -> None:
    code = "import warpsmith; print(warpsmith.Device(), warpsmith.Device('cpu').multiprocessors)"
    assert run(code, WARPSMITH_BACKEND="cpu", WARPSMITH_THREADS="3") == "cpu 3\n"
    assert "ValueError: WARPSMITH_BACKEND is \"tpu\"" in run(code, WARPSMITH_BACKEND="tpu")
    assert "ValueError: WARPSMITH_THREADS is \"x\"; it is a number of threads" in run(code, WARPSMITH_THREADS="x")


def test_import_starts_nothing() -> None:
    code = """
        import os, warpsmith
        print(len(os.listdir("/proc/self/task")))
    """
    # NumPy's own threads are not started either.
    assert run(code, OPENBLAS_NUM_THREADS="1") == "1\n"


def long_functions(count: int, points: int) -> PcfSet:
    t = np.tile(np.arange(points, dtype=float), (count, 1))
    v = np.random.default_rng(1).normal(size=(count, points))
    v[:, -1] = 0
    return PcfSet(np.stack([t, v], axis=-1))


def interrupted(work: Callable[[], object], after: float = 0.3) -> float:
    """How long after Ctrl-C the work raises."""
    pressed = 0.0

    def press() -> None:
        nonlocal pressed
        time.sleep(after)
        pressed = time.monotonic()
        signal.raise_signal(signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        work()
        thread.join()
    ended = time.monotonic()
    thread.join()
    return ended - pressed


def ends_soon(work: Callable[[], object], seconds: float = 0.2) -> bool:
    """Whether Ctrl-C ends the work within this time, or as many times that as other processes have taken of the cores."""
    crowded = max(os.getloadavg()[0] / (os.cpu_count() or 1), 1)
    return any(interrupted(work) < seconds * crowded for _ in range(3))


@pytest.mark.parametrize(("p", "points"), [(1, 1000), (2.5, 300)])
def test_ctrl_c_ends_matrices(p: float, points: int) -> None:
    fs = long_functions(3000, points)
    pcf.pdist(fs[:10], p)
    assert ends_soon(lambda: pcf.pdist(fs, p))
    out = np.empty(3000 * 2999 // 2)
    assert ends_soon(lambda: pcf.pdist(fs, p, out=out))
    # Nobody writes there any more.
    before = out.copy()
    time.sleep(0.1)
    np.testing.assert_array_equal(out, before)
    np.testing.assert_allclose(pcf.pdist(fs[:3], p)[2], pcf.cdist(fs[1], fs[2], p))


def test_ctrl_c_ends_the_rest() -> None:
    fs = long_functions(400, 20_000)
    assert ends_soon(lambda: [fs.mean() for _ in range(100)])
    assert ends_soon(lambda: [(fs + fs).size for _ in range(100)])
    order = np.random.default_rng(1).permutation(5_000_000)
    successors = np.full(len(order), -1, np.int32)
    successors[order[:-1]] = order[1:]
    assert ends_soon(lambda: [list_rank.rank(successors) for _ in range(100)])
    poses = np.random.default_rng(1).uniform(0, 30, (2000, 3))
    trees = overlap.Overlap([overlap.Shape.tree()])
    assert ends_soon(lambda: [trees.evaluate(poses, gradient=True) for _ in range(10_000)])
    # The evaluator goes on as if nothing had been.
    assert trees.evaluate([[0, 0, 0], [9, 9, 0]]).totals == 0


def test_ctrl_c_ends_searches_and_studies() -> None:
    trees = overlap.Shape.tree()
    assert ends_soon(lambda: overlap.pack(trees, 20, steps=10**9))
    assert ends_soon(lambda: overlap.pack(trees, 20, seconds=1e300))
    # While the best packing is being made valid.
    assert ends_soon(lambda: [overlap.pack(trees, 100, steps=1, seed=seed) for seed in range(10**6)])
    assert ends_soon(lambda: [concurrency.study(device="cpu", runs=1000) for _ in range(100)])


def test_other_handlers_of_signals() -> None:
    class Alarm(Exception):
        pass

    def handler(number: int, frame: Any) -> None:
        raise Alarm

    fs = long_functions(3000, 1000)
    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(Alarm):
            for _ in range(1000):
                pcf.pdist(fs)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_other_threads_go_on() -> None:
    ticks: list[float] = []
    stop = threading.Event()

    def tick() -> None:
        while not stop.wait(0.01):
            ticks.append(time.monotonic())

    thread = threading.Thread(target=tick)
    thread.start()
    count, start, end = 500, 0.0, 0.0
    while end - start < 0.3:
        fs = long_functions(count, 400)
        count *= 2
        start = time.monotonic()
        pcf.pdist(fs)
        end = time.monotonic()
    stop.set()
    thread.join()
    # Were the lock held, there would be none at all between.
    assert sum(start + 0.05 < time < end - 0.05 for time in ticks) >= 3


def test_threads_share_everything() -> None:
    arrays = random_arrays(3, 150)
    fs = PcfSet(arrays)
    expected = pcf.pdist(fs)
    shape = overlap.Overlap([overlap.Shape.tree()], deterministic=True)
    poses = np.random.default_rng(2).uniform(0, 3, (40, 3))
    total = shape.evaluate(poses).totals
    successors = np.append(np.arange(1, 3000), -1)

    def work(index: int) -> None:
        np.testing.assert_array_equal(pcf.pdist(fs), expected)
        np.testing.assert_array_equal(pcf.cdist(fs[index : index + 1], fs)[0, index], 0)
        np.testing.assert_array_equal(list_rank.rank(successors), np.arange(3000))
        assert shape.evaluate(poses).totals == total

    with ThreadPoolExecutor(8) as pool:
        for _ in pool.map(work, range(64)):
            pass


def test_one_output_for_two_threads() -> None:
    fs = PcfSet(random_arrays(5, 30))
    out = np.empty(30 * 29 // 2)
    told, refused = threading.Event(), threading.Event()

    def hold(done: int, total: int) -> None:
        told.set()
        refused.wait(60)

    first = threading.Thread(target=lambda: pcf.pdist(fs, out=out, progress=hold))
    first.start()
    assert told.wait(60)
    try:
        with pytest.raises(ValueError, match="being used by another call"):
            pcf.pdist(fs, out=out)
    finally:
        refused.set()
        first.join()
    np.testing.assert_array_equal(pcf.pdist(fs), out)


def child(queue: Any) -> None:
    try:
        fs = PcfSet(random_arrays(4, 60))
        queue.put(float(pcf.pdist(fs).sum()))
    except RuntimeError as error:
        queue.put(str(error))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_processes(method: str) -> None:
    expected = float(pcf.pdist(PcfSet(random_arrays(4, 60))).sum())
    context: Any = multiprocessing.get_context(method)
    queue = context.Queue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    found = queue.get(timeout=60)
    process.join()
    if method == "spawn":
        assert found == expected
    else:
        assert "was forked from one that had used warpsmith" in found


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
@pytest.mark.parametrize(
    ("call", "mebibytes"),
    [
        ("pcf.nearest(functions, 9, device='cpu')", 2),
        ("list_rank.rank(next, device='cpu')", 30),
        ("pcf.load(path)", 20),
    ],
)
def test_too_little_memory(call: str, mebibytes: int, tmp_path: Path) -> None:
    code = f"""
        import resource
        import numpy as np
        from warpsmith import list_rank, pcf
        path, next = {os.fspath(tmp_path / "set.npz")!r}, np.roll(np.arange(10**6, dtype=np.int32), -1)
        next[-1] = -1
        functions = pcf.random(2000, 1000, seed=1)
        functions.save(path)
        with open("/proc/self/statm") as file:
            limit = resource.getpagesize() * int(file.read().split()[0]) + {mebibytes << 20}
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        try:
            {call}
        except MemoryError:
            print("MemoryError")
    """
    assert run(code) == "MemoryError\n"

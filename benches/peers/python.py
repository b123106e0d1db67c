"""warpsmith from Python: beside masspcf 0.4.1 and the Rust program, in turns, medians of seven; and what a call costs.

    pip install masspcf==0.4.1 ./python
    cargo bench --no-run --bench figures          # prints the program's path
    python3 benches/peers/python.py PATH/TO/figures [--quick]

"new" is into new NumPy arrays, each dropped before the next; "out" into the same one again; "on device" leaves the
result on the GPU. "from arrays" makes the set of NumPy's breakpoints in the same time; elsewhere it is there.
"""

import statistics
import subprocess
import sys
import tempfile
import time
import types

import numpy as np

# masspcf looks for a GPU in /sys/class/drm, which virtual machines often lack.
gpu = types.ModuleType("masspcf.gpu")
gpu.has_nvidia_gpu = lambda: True
sys.modules["masspcf.gpu"] = gpu

try:
    import masspcf
except ImportError:
    masspcf = None

from warpsmith import devices, list_rank, overlap, pcf

RUNS = 7
program, quick = sys.argv[1], "--quick" in sys.argv


def functions(n, length):
    rng = np.random.default_rng(1)
    points = np.empty((n, length, 2), np.float32)
    points[:, :, 0] = np.sort(rng.random((n, length), dtype=np.float32), axis=1)
    points[:, :, 0] += np.arange(length, dtype=np.float32) * np.float32(1e-5)
    points[:, 0, 0] = 0
    points[:, :, 1] = rng.random((n, length), dtype=np.float32)
    points[:, -1, 1] = 0
    return np.arange(n + 1) * length, points.reshape(-1, 2)


def case(n, length, runs=RUNS):
    offsets, points = functions(n, length)
    fs = pcf.PcfSet.from_parts(offsets, points)
    out = np.empty(n * (n - 1) // 2, np.float32)
    ways = {
        "new": lambda: pcf.pdist(fs),
        "from arrays, new": lambda: pcf.pdist(pcf.PcfSet.from_parts(offsets, points)),
        "out": lambda: pcf.pdist(fs, out=out),
        "on device": lambda: pcf.pdist(fs, on_device=True),
        "from arrays, on device": lambda: pcf.pdist(pcf.PcfSet.from_parts(offsets, points), on_device=True),
    }
    if masspcf:
        theirs = masspcf.from_serial_content(points, np.stack([offsets[:-1], offsets[1:]], axis=1))
        ways["masspcf"] = lambda: masspcf.pdist(theirs, p=1.0, verbose=False)
    times = {name: [] for name in [*ways, "Rust, new"]}
    with tempfile.TemporaryDirectory() as folder:
        np.savez(f"{folder}/set.npz", offsets=offsets, points=points)
        rust = subprocess.Popen(
            [program, "pcf", "--serve", f"{folder}/set.npz"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(runs + 1):
            for name, way in ways.items():
                start = time.perf_counter()
                result = way()
                times[name].append(1e3 * (time.perf_counter() - start))
                del result
            rust.stdin.write("pdist 1\n")
            rust.stdin.flush()
            times["Rust, new"].append(float(rust.stdout.readline()))
        rust.stdin.close()
        rust.wait()
    for name, of in times.items():
        del of[0]
        spread = 100 * (max(of) - min(of)) / statistics.median(of)
        print(f"{n:,} x {length}, f32, pdist p = 1: {name:24} {statistics.median(of):9.2f} ms ({spread:.0f} %)", flush=True)


def cost(name, call):
    for _ in range(20):
        call()
    times = []
    for _ in range(300):
        start = time.perf_counter()
        call()
        times.append(1e6 * (time.perf_counter() - start))
    print(f"{name:50} {statistics.median(times):9.1f} µs", flush=True)


print(*devices())
few = pcf.PcfSet.from_parts(*functions(10, 10))
evaluator = overlap.Overlap([overlap.Shape.tree()])
poses = np.array([[0.0, 0.0, 0.0], [0.3, 0.2, 1.0]])
chain = np.append(np.arange(1, 100), -1).astype(np.int32)
cost("pdist of 10 functions of 10 breakpoints", lambda: pcf.pdist(few))
cost("Overlap.evaluate of a pair of poses, gradient", lambda: evaluator.evaluate(poses, gradient=True))
cost("rank of 100 elements", lambda: list_rank.rank(chain))
if devices()[0].backend == "cuda":
    from warpsmith import DeviceArray

    there, chain = DeviceArray(poses), DeviceArray(chain)
    cost("the pair of poses on the GPU", lambda: evaluator.evaluate(there, gradient=True))
    cost("the 100 elements on the GPU", lambda: list_rank.rank(chain))
if quick:
    case(1000, 100, 3)
else:
    case(10_000, 100)
    case(40_000, 100, 3)

"""masspcf 0.4.1 beside warpsmith: the same sets, in turns, medians of seven.

    pip install masspcf==0.4.1 ./python
    python3 benches/peers/pcf.py [--cpu] [--quick]

Both start from functions in host memory and end with a new matrix in host memory; one warm-up each.
"""

import statistics
import sys
import time
import types

# masspcf looks for a GPU in /sys/class/drm, which virtual machines often lack.
gpu = types.ModuleType("masspcf.gpu")
gpu.has_nvidia_gpu = lambda: "--cpu" not in sys.argv
sys.modules["masspcf.gpu"] = gpu

import masspcf
import numpy as np
from warpsmith import pcf

RUNS = 7
cpu, quick = "--cpu" in sys.argv, "--quick" in sys.argv
if cpu:
    masspcf.system.force_cpu(True)


def functions(n, lengths, dtype, seed=1):
    rng = np.random.default_rng(seed)
    offsets = np.zeros(n + 1, dtype=np.int64)
    offsets[1:] = np.cumsum(lengths)
    t, v = rng.random(offsets[-1]).astype(dtype), rng.random(offsets[-1]).astype(dtype)
    for a, b in zip(offsets[:-1], offsets[1:]):
        part = np.unique(t[a:b])
        while len(part) < b - a:
            part = np.unique(np.concatenate([part, rng.random(b - a - len(part)).astype(dtype)]))
        t[a:b] = part
    t[offsets[:-1]] = 0
    v[offsets[1:] - 1] = 0
    return offsets, np.stack([t, v], axis=1)


def peer(offsets, points):
    return masspcf.from_serial_content(points, np.stack([offsets[:-1], offsets[1:]], axis=1))


def spread(times):
    return f"{statistics.median(times):9.2f} ms ({100 * (max(times) - min(times)) / statistics.median(times):5.1f} %)"


def case(name, n, lengths, dtype, requests, runs=RUNS):
    offsets, points = functions(n, lengths, dtype)
    theirs = peer(offsets, points)
    ours = pcf.PcfSet([points[a:b] for a, b in zip(offsets[:-1], offsets[1:])])
    device = "cpu" if cpu else None
    for request in requests:
        kind, *p = request.split()
        p = float(p[0]) if p else None
        calls = {
            "pdist": (lambda: masspcf.pdist(theirs, p=p, verbose=False), lambda: pcf.pdist(ours, p, device=device)),
            "cdist": (lambda: masspcf.cdist(theirs, theirs, p=p, verbose=False), lambda: pcf.cdist(ours, ours, p, device=device)),
            "l2_kernel": (
                lambda: masspcf.l2_kernel(theirs, verbose=False),
                lambda: pcf.l2_kernel(ours, layout="packed", device=device),
            ),
        }[kind]
        results, times = [None, None], ([], [])
        for run in range(runs + 1):
            for which, call in enumerate(calls):
                results[which] = None
                start = time.perf_counter()
                results[which] = call()
                times[which].append(1e3 * (time.perf_counter() - start))
        for of in times:
            del of[0]
        # A sample of entries, side by side.
        result, mine = results
        rng, worst = np.random.default_rng(2), 0.0
        result = np.asarray(result) if kind == "cdist" else result
        for _ in range(2000):
            i, j = sorted(rng.choice(n, 2, replace=False).tolist())
            other = float(result[i, j])
            at = {"pdist": n * i - i * (i + 1) // 2 + j - i - 1, "l2_kernel": j * (j + 1) // 2 + i, "cdist": i * n + j}[kind]
            worst = max(worst, abs(float(mine.ravel()[at]) - other) / max(abs(other), 1e-30))
        print(
            f"{name:<28} {request:<10} masspcf {spread(times[0])}  warpsmith {spread(times[1])}  "
            f"ratio {statistics.median(times[0]) / statistics.median(times[1]):6.1f}  largest relative difference {worst:.1e}",
            flush=True,
        )


def even(n, length):
    return np.full(n, length, dtype=np.int64)


def uneven(n, longest):
    rng = np.random.default_rng(3)
    return np.maximum(1, np.round(np.exp(rng.random(n) * np.log(longest)))).astype(np.int64)


if cpu or quick:
    case("1,000 x 100, f64", 1000, even(1000, 100), np.float64, ["pdist 1", "pdist 2", "l2_kernel", "cdist 1"])
    case("1,000 x 100, f32", 1000, even(1000, 100), np.float32, ["pdist 1"])
    case("300 x 1,000, f64", 300, even(300, 1000), np.float64, ["pdist 1"])
    case("1,000 x 1..5,000, f64", 1000, uneven(1000, 5000), np.float64, ["pdist 1"])
else:
    case("10,000 x 100, f32", 10000, even(10000, 100), np.float32, ["pdist 1", "pdist 2", "pdist 3.5", "l2_kernel", "cdist 1"])
    case("10,000 x 100, f64", 10000, even(10000, 100), np.float64, ["pdist 1", "l2_kernel"])
    case("5,000 x 1,000, f32", 5000, even(5000, 1000), np.float32, ["pdist 1"])
    case("5,000 x 1..5,000, f32", 5000, uneven(5000, 5000), np.float32, ["pdist 1"])
    case("40,000 x 100, f32", 40000, even(40000, 100), np.float32, ["pdist 1"], runs=3)

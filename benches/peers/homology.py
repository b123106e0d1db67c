"""Persistence diagrams beside ripser.py and masspcf 0.4.1, in turns in one process: medians of five, and spreads.

    pip install ripser masspcf==0.4.1 ./python
    python3 benches/peers/homology.py 400x100 20x300

A case is COUNTxPOINTS, clouds of points in R^3 in float32. "points to bars" is from NumPy's array to bars of degrees 0 and
1 in host memory; "points to matrix" goes on to the L1 distances of all pairs of Betti curves of degree 1. ripser.py works
in a process for each core, which have been started before, and masspcf in a thread for each core.
"""

import multiprocessing
import os
import statistics
import sys
import time

import numpy as np

try:
    import masspcf
    from masspcf.persistence import barcode_to_betti_curve, compute_persistent_homology
except ImportError:
    masspcf = None
try:
    from ripser import ripser
except ImportError:
    ripser = None

from warpsmith import devices, homology, pcf

RUNS = 5


def ripsers_bars(cloud):
    return [bars.astype(np.float32) for bars in ripser(cloud, maxdim=1)["dgms"]]


def masspcfs_bars(clouds):
    tensor = masspcf.zeros((len(clouds),), dtype=masspcf.pcloud32)
    for index, cloud in enumerate(clouds):
        tensor[index] = cloud
    return compute_persistent_homology(tensor, max_dim=1)


def case(count, points, pool):
    clouds = np.random.default_rng(1).normal(size=(count, points, 3)).astype(np.float32)
    to_bars = {"warpsmith": lambda: homology.rips(clouds)}
    to_matrix = {"warpsmith": lambda: pcf.pdist(homology.rips(clouds).betti_curves(1))}
    found = {"warpsmith": len(to_bars["warpsmith"]().bars(1))}
    if pool:
        share = max(1, count // (4 * os.cpu_count()))
        to_bars["ripser.py"] = lambda: pool.map(ripsers_bars, clouds, share)
        to_matrix["ripser.py, warpsmith.pcf"] = lambda: pcf.pdist(
            pcf.betti_curves(to_bars["ripser.py"](), dimension=1, dtype="float32")
        )
        found["ripser.py"] = sum(len(bars[1]) for bars in to_bars["ripser.py"]())
    if masspcf:
        to_bars["masspcf"] = lambda: masspcfs_bars(clouds)
        to_matrix["masspcf"] = lambda: masspcf.pdist(
            barcode_to_betti_curve(masspcfs_bars(clouds)[:, 1]), p=1.0, verbose=False
        )
        found["masspcf"] = sum(len(bars) for bars in masspcfs_bars(clouds)[:, 1])
    print(f"{count:,} x {points}: bars of degree 1:", *(f"{name} {bars:,}" for name, bars in found.items()), sep="  ")
    for what, ways in (("points to bars", to_bars), ("points to matrix", to_matrix)):
        times = {name: [] for name in ways}
        for run in range(RUNS + 1):
            for name, way in ways.items():
                start = time.perf_counter()
                way()
                times[name] += [1e3 * (time.perf_counter() - start)] if run else []
        own = statistics.median(times["warpsmith"])
        for name, of in times.items():
            median, spread = statistics.median(of), 100 * (max(of) - min(of)) / statistics.median(of)
            print(f"  {what:18}{name:26}{median:11.2f} ms  ({spread:3.0f} %){median / own:8.2f} x", flush=True)


if __name__ == "__main__":
    print(*devices(), f"{os.cpu_count()} cores")
    # A forked process can't use the devices.
    pool = multiprocessing.get_context("spawn").Pool() if ripser else None
    for arg in sys.argv[1:] or ["400x100", "20x300"]:
        case(*map(int, arg.lower().split("x")), pool)
    if pool:
        pool.close()

"""Persistence diagrams beside ripser.py and masspcf 0.4.1, in turns in one process: medians of five, and spreads.

    pip install ripser masspcf==0.4.1 ./python
    python3 benches/peers/homology.py 400x100 20x300
    python3 benches/peers/homology.py --csv points.csv 1x25 1x100 1x1000

A case is COUNTxPOINTS, clouds of points in R^3 in float32. "points to bars" is from NumPy's array to bars of degrees 0 and
1 in host memory; "points to matrix" goes on to the L1 distances of all pairs of Betti curves of degree 1. ripser.py works
in a process for each core, which have been started before, and masspcf in a thread for each core. A peer that takes more
than two seconds is run once, and ripser.py not for clouds of more than 2,000 points. With --csv, the medians of "points to
bars" go into a file, which `figures homology --plot` draws.
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


def bars_of(diagrams):
    return [diagrams.bars(degree) for degree in range(diagrams.degrees)]


def case(count, points, pool):
    clouds = np.random.default_rng(1).normal(size=(count, points, 3)).astype(np.float32)
    to_bars = {"warpsmith": lambda: bars_of(homology.rips(clouds))}
    to_matrix = {"warpsmith": lambda: pcf.pdist(homology.rips(clouds).betti_curves(1))}
    found = {"warpsmith": len(to_bars["warpsmith"]()[1])}
    if pool and points <= 2000:
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
    medians = {}
    for what, ways in (("points to matrix", to_matrix), ("points to bars", to_bars)):
        times = {name: [] for name in ways}
        for run in range(RUNS + 1):
            for name, way in ways.items():
                if times[name][:1] > [2000]:
                    continue
                start = time.perf_counter()
                way()
                times[name].append(1e3 * (time.perf_counter() - start))
        # The first run of several warms up.
        times = {name: of[1:] or of for name, of in times.items()}
        medians = {name: statistics.median(of) for name, of in times.items()}
        for name, of in times.items():
            spread = 100 * (max(of) - min(of)) / medians[name]
            ratio = medians[name] / medians["warpsmith"]
            print(f"  {what:18}{name:26}{medians[name]:11.2f} ms  ({spread:3.0f} %){ratio:8.2f} x", flush=True)
    return medians


if __name__ == "__main__":
    print(*devices(), f"{os.cpu_count()} cores")
    # A forked process can't use the devices.
    pool = multiprocessing.get_context("spawn").Pool() if ripser else None
    given = sys.argv[1:]
    path = given[1] if given[:1] == ["--csv"] else None
    given = given[2:] if path else given
    names, lines = [], []
    for arg in given or ["400x100", "20x300"]:
        count, points = map(int, arg.lower().split("x"))
        medians = case(count, points, pool)
        names = names or list(medians)
        lines.append([count, points, *(round(medians[name], 4) if name in medians else "" for name in names)])
    if path:
        with open(path, "w") as file:
            for line in [["clouds", "points", *names], *lines]:
                print(*line, sep=",", file=file)
    if pool:
        pool.close()

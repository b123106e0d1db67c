"""Shapely on one CPU core: the total overlap of one packing of trees.

    pip install numpy shapely
    python3 benches/peers/overlap_cpu.py [--poses 500] [--rounds 7] [--json FILE]

From poses in an array to the sum of the areas: place the outlines, make polygons of them, find the pairs that meet with a
tree of boxes (STRtree), intersect those pairs, add their areas. Every step is one call over whole arrays; without the
predicate "intersects" the query is quicker but the whole is a little slower, as more pairs are intersected.
benches/peers/overlap.py takes the shapes, poses and sums from here, too.
"""

import argparse
import json
import statistics
import time

import numpy as np
import shapely

# The tree of Kaggle's Santa 2025: half of the outline, from the tip down the right-hand side; the other half mirrors it.
RIGHT = np.array([(0.125, 0.5), (0.0625, 0.5), (0.2, 0.25), (0.1, 0.25), (0.35, 0.0), (0.075, 0.0), (0.075, -0.2)])
OUTLINE = np.concatenate([[(0.0, 0.8)], RIGHT, (RIGHT * (-1.0, 1.0))[::-1]])
# Convex pieces of it: the tip, two tiers and the trunk.
PIECES = [
    np.array([(0.0, 0.8), (-0.125, 0.5), (0.125, 0.5)]),
    np.array([(0.2, 0.25), (0.0625, 0.5), (-0.0625, 0.5), (-0.2, 0.25)]),
    np.array([(0.35, 0.0), (0.1, 0.25), (-0.1, 0.25), (-0.35, 0.0)]),
    np.array([(0.075, -0.2), (0.075, 0.0), (-0.075, 0.0), (-0.075, -0.2)]),
]


def random_poses(packings, n, seed=1):
    """float64 (packings, n, 3): x, y uniform in a square of side 0.65 sqrt(n) about the origin, theta in (-pi, pi)."""
    half = 0.325 * np.sqrt(n)
    rng = np.random.default_rng(seed)
    return rng.uniform((-half, -half, -np.pi), (half, half, np.pi), (packings, n, 3))


def place(poses):
    """Outlines (n, 15, 2) of trees at poses (n, 3): turned about the origin of their frame, then moved."""
    sine, cosine = np.sin(poses[:, 2, None]), np.cos(poses[:, 2, None])
    u, v = OUTLINE.T
    return np.stack([cosine * u - sine * v + poses[:, 0, None], sine * u + cosine * v + poses[:, 1, None]], axis=2)


def overlap(poses):
    """The sum over unordered pairs of the area of their intersection."""
    trees = shapely.polygons(place(poses))
    first, second = shapely.STRtree(trees).query(trees, predicate="intersects")
    once = first < second
    return shapely.area(shapely.intersection(trees[first[once]], trees[second[once]])).sum()


def spread(times):
    """The median, and the range in per cent of it."""
    median = statistics.median(times)
    return median, 100 * (max(times) - min(times)) / median


def measure(poses, rounds=7):
    """Times in ms of `rounds` evaluations after one to warm up, and the total."""
    times, total = [], overlap(poses)
    for _ in range(rounds):
        start = time.perf_counter()
        overlap(poses)
        times.append(1e3 * (time.perf_counter() - start))
    return times, total


def main():
    parser = argparse.ArgumentParser(description="The time that Shapely takes for the overlap of one packing.")
    parser.add_argument("--poses", type=int, default=500, help="trees in the packing (default: 500)")
    parser.add_argument("--rounds", type=int, default=7, help="timed evaluations (default: 7)")
    parser.add_argument("--json", metavar="FILE", help="write the figures there, too")
    arguments = parser.parse_args()
    times, total = measure(random_poses(1, arguments.poses)[0], arguments.rounds)
    median, range_ = spread(times)
    print(f"Shapely {shapely.__version__}, one core, {arguments.poses} trees: {median:.2f} ms ({range_:.1f} %), total {total:.12f}")
    if arguments.json:
        figures = {"shapely": shapely.__version__, "poses": arguments.poses, "total": float(total), "milliseconds": times}
        with open(arguments.json, "w") as file:
            json.dump(figures, file, indent=2)


if __name__ == "__main__":
    main()

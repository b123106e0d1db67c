"""Packs the trees of Kaggle's Santa 2025 into small squares, and scores them as the contest does.

Where a file is named, the largest packing becomes a picture there, which takes matplotlib:

    python packing.py [trees.png]
"""

import sys

import numpy as np

from warpsmith.overlap import Overlap, Shape, pack

tree = Shape.tree()
score = 0.0
for count in range(1, 7):
    packed = pack(tree, count, steps=1200, seed=count)
    score += packed.side**2 / count
    print(f"{count} trees: side {packed.side:.4f}, {packed.density:.0%} of the square is covered")
print(f"score {score:.4f}")

# Longer searches find smaller squares, and can go on from what is there.
better = pack(tree, packed.poses.shape[0], initial=packed.poses, seconds=2)
print(f"2 s more: side {better.side:.4f}, {100 * (1 - better.side / packed.side):.1f} % less")

# No two overlap, which the evaluator can say, too; and how much they would in a square that is 1 % smaller.
trees = Overlap([tree], boundary="square")
poses = better.poses * [0.99, 0.99, 1]
found = trees.evaluate(np.stack([better.poses, poses]), scales=[better.side, 0.99 * better.side])
print(f"overlap {found.totals[0]:.1e}; squeezed by 1 %, {found.totals[1]:.1e} and {found.outside.totals[1]:.1e} outside")

if len(sys.argv) > 1:
    better.plot(facecolor="tab:green").figure.savefig(sys.argv[1])

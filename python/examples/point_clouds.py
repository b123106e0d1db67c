"""Groups 120 point clouds by the number of their loops, without a file in between.

Ripser computes the barcodes of dimension 1, warpsmith their stable ranks and the distances of these, SciPy the groups:

    pip install ripser scipy
    python point_clouds.py
"""

import numpy as np
from ripser import ripser
from scipy.cluster.hierarchy import fcluster, linkage

from warpsmith import pcf

rng = np.random.default_rng(7)


def cloud(loops: int) -> np.ndarray:
    """120 points on so many circles side by side, or all over a square."""
    if loops == 0:
        return rng.uniform(-1, 1, (120, 2))
    angles = rng.uniform(0, 2 * np.pi, 120)
    circles = np.stack([np.cos(angles) + 3 * (np.arange(120) % loops), np.sin(angles)], axis=1)
    return circles + rng.normal(scale=0.05, size=(120, 2))


kinds = np.repeat([0, 1, 2, 3], 30)
ranks = pcf.stable_ranks([ripser(cloud(loops)) for loops in kinds], dimension=1)
groups = fcluster(linkage(pcf.pdist(ranks, p=1), "average"), 4, "maxclust")

print(ranks)
for loops in range(4):
    mean, own = ranks[kinds == loops].mean(), groups[kinds == loops]
    print(f"{loops} loops: groups {np.unique(own)}; on average {mean(0.5):.2f} bars are longer than 0.5")

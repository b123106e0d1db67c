"""Groups 120 point clouds by the number of their loops: from points to clusters. Takes `pip install scipy`."""

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from warpsmith import pcf
from warpsmith.homology import rips

# 120 points on so many circles side by side, or all over a square.
rng, kinds = np.random.default_rng(7), np.repeat([0, 1, 2, 3], 30)
angles, circle = rng.uniform(0, 2 * np.pi, (120, 120)), np.arange(120) % np.maximum(kinds, 1)[:, None]
clouds = np.stack([np.cos(angles) + 3 * circle, np.sin(angles)], axis=-1) + rng.normal(scale=0.05, size=(120, 120, 2))
clouds[kinds == 0] = rng.uniform(-1, 1, (30, 120, 2))

ranks = rips(clouds).stable_ranks(1)
groups = fcluster(linkage(pcf.pdist(ranks), "average"), 4, "maxclust")
for loops in range(4):
    mean = ranks[kinds == loops].mean()
    print(f"{loops} loops: groups {np.unique(groups[kinds == loops])}, {mean(0.5):.2f} bars longer than 0.5 on average")

"""Groups 300 point clouds by the Betti curves of their barcodes, which ripser, GUDHI or another program has written. Bars
without end end at 3.

    pip install scipy
    python clouds.py [barcodes ...]
"""

import sys
from pathlib import Path

from scipy.cluster.hierarchy import fcluster, linkage

from warpsmith import pcf

files = sys.argv[1:] or [Path(__file__).parents[2] / "examples/data/clouds.json.gz"]
curves = pcf.betti_curves(pcf.load_barcodes(files, dimension=1, infinite=3.0))
groups = fcluster(linkage(pcf.pdist(curves), "average"), 3, "maxclust")
for name, group in zip(curves.names, groups):
    print(name, group)

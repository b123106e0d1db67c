"""Groups point clouds by the Betti curves of their barcodes, which ripser, GUDHI or another program has written.

    pip install scipy
    python clouds.py [barcodes ...]
"""

import sys
from pathlib import Path

from scipy.cluster.hierarchy import fcluster, linkage

from warpsmith import pcf

files = sys.argv[1:] or sorted(Path(__file__).with_name("clouds").iterdir())
curves = pcf.betti_curves(pcf.load_barcodes(files, dimension=1))
groups = fcluster(linkage(pcf.pdist(curves), "average"), 3, "maxclust")
for name, group in zip(curves.names, groups):
    print(name, group)

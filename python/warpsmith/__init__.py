"""GPU algorithms whose kernels are written in Rust.

They run on an NVIDIA GPU, and where there is none on the CPU.

Modules
-------
- ``pcf``: piecewise constant functions: sets, barcodes, distances and inner products of all pairs.
- ``homology``: persistence diagrams of point clouds.
- ``overlap``: copies of polygons: the areas in which they overlap, their derivatives, packing and nesting.
- ``list_rank``: the position of every element of a linked list.
- ``graph``: components, bridges and biconnected components of undirected graphs.
- ``trees``: rooting, lowest common ancestors, sums along paths and over subtrees.
- ``spmv``: products of sparse matrices and vectors.
- ``rules``: searches among a program's schedules, and what tells the fast ones from the slow ones.
- ``concurrency``: what limits a kernel: a study of streams, graphs and numbers of threads.
- ``sklearn``: estimators for scikit-learn, which this module alone needs; not imported with the package.
- ``networkx``: the backend ``warpsmith`` of NetworkX, which finds it by itself; not imported with the package.

Notes
-----
Bad input is a `ValueError`, or a `TypeError` where it is of the wrong type; a lack of memory a `MemoryError`; a
failure of a device a `RuntimeError`; a file that can't be read or written an `OSError`, and one with bad contents a
`ValueError`. The interpreter's lock is released during work, and Ctrl-C ends it. The environment variables
``WARPSMITH_BACKEND`` (``cuda`` or ``cpu``) and ``WARPSMITH_THREADS`` set the default device and the number of the
CPU's threads.

Examples
--------
>>> import numpy as np
>>> from warpsmith import pcf
>>> curves = pcf.betti_curves([np.array([[0.0, 2.0], [1.0, 4.0]]), np.array([[0.0, 3.0]])])
>>> pcf.pdist(curves, p=1)
array([2.])
"""

from . import concurrency, graph, homology, list_rank, overlap, pcf, rules, spmv, trees
from ._warpsmith import Device, DeviceArray, __version__, devices, free_memory

__all__ = [
    "Device",
    "DeviceArray",
    "__version__",
    "concurrency",
    "devices",
    "free_memory",
    "graph",
    "homology",
    "list_rank",
    "overlap",
    "pcf",
    "rules",
    "spmv",
    "trees",
]

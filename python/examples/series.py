"""Prints a table of the distances of series, with their names: by how many degrees thermostats differ on average.

    python series.py [table]
"""

import sys
from pathlib import Path

from warpsmith import pcf

table = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_name("series.csv")
series = pcf.PcfSet.load(table, start="2024-05-01", until="2024-05-08")
distances = pcf.pdist(series, p=1, layout="dense") / (7 * 24 * 3600)
print("", *series.names, sep="\t")
for name, row in zip(series.names, distances):
    print(name, *row.round(2), sep="\t")

"""Finds the bridges of a road network: the roads without which a part of it can't be reached.

    python roads.py [roads.geojson] > bridges.geojson
"""

import json
import sys
from pathlib import Path

from warpsmith import graph

roads = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[2] / "examples/data/roads.geojson"
lines = [road["geometry"]["coordinates"] for road in json.loads(Path(roads).read_text())["features"]]
segments = [(tuple(a), tuple(b)) for line in lines for a, b in zip(line, line[1:])]
number = {point: i for i, point in enumerate(dict.fromkeys(end for ends in segments for end in ends))}
found = graph.bridges([[number[a], number[b]] for a, b in segments])
json.dump({"type": "MultiLineString", "coordinates": [segments[bridge] for bridge in found.bridges]}, sys.stdout)

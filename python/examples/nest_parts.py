"""Nests the parts of four drawings on sheets of 600 x 400 mm, 3 mm apart.

Where a file is named, the sheets become a drawing to cut from there, or a table:

    python nest_parts.py [cut.svg]
"""

import sys
from pathlib import Path

from warpsmith.overlap import nest

folder = Path(__file__).parent / "parts"
counts = {"bracket": 4, "flange": 4, "lever": 4, "gusset": 4}
nested = nest([(folder / f"{name}.svg", count) for name, count in counts.items()], (600, 400, 2), spacing=3, margin=5, time=4)
print(nested)
for path in sys.argv[1:]:
    nested.write(path)

"""Finds out what makes the schedules of a program fast, from a table of those that the program has measured.

    python program.py [runs.csv]
"""

import sys
from pathlib import Path

from warpsmith import rules

model = rules.learn(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_name("runs.csv"))
for number, (least, most) in enumerate(model.ranges, 1):
    print(f"class {number}: {1e6 * least:.0f} to {1e6 * most:.0f} µs")
    for ruleset in [ruleset for ruleset in model.rulesets if ruleset.class_ == number][:2]:
        print(f"  {ruleset.right} of {ruleset.samples} runs with:", "; ".join(ruleset.rules))

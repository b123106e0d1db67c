"""Finds out what makes the schedules of a halo exchange fast: in which order its steps are best done, and in how many
streams.

A rank packs what its neighbours need, sends it, and receives theirs; meanwhile it computes what needs nothing of others
(`inner`), and in the end the rest (`outer`). The explorer proposes schedules, a machine measures them, and rules say what
the fast ones have in common. The machine is simulated here, in a few lines; `measure` is where yours goes.

    python schedules.py [report.html]
"""

import sys
from pathlib import Path

import numpy as np

from warpsmith import rules

dag = rules.Dag(
    {"pack": "gpu", "inner": "gpu", "outer": "gpu", "send": "cpu", "receive": "cpu"},
    [("pack", "send"), ("send", "receive"), ("receive", "outer")],
    name="halo",
)

MICROSECOND = 1e-6
GPU = {"pack": 20, "inner": 150, "outer": 40}
MESSAGE = 120
CALL = 4

rng = np.random.default_rng(1)


def measure(schedule: str) -> float:
    """How long the simulated machine takes, in seconds.

    The host does one step after another. Each stream does what it is given in order, and streams are independent.
    """
    host = arrived = 0.0
    streams: dict[str, float] = {}
    done: dict[str, float] = {}
    recorded: dict[str, float] = {}
    for step in schedule.split(";"):
        name, _, stream = step.partition("@")
        host += CALL
        if name in GPU:
            done[name] = streams[stream] = max(host, streams.get(stream, 0.0)) + GPU[name]
        elif name == "send":
            arrived = host + MESSAGE
        elif name == "receive":
            host = max(host, arrived)
        elif name.startswith("CER-after-"):
            operation = name.removeprefix("CER-after-")
            recorded[operation] = done[operation]
        else:
            # The host waits: CES-b4-send for `pack`, CES-b4-end-after-u for u.
            host = max(host, recorded[name.partition("-after-")[2] or "pack"])
    return float(host * rng.normal(1, 0.005)) * MICROSECOND


print(f"{dag}: {dag.count(streams=2):,} schedules on 2 streams")
explorer = rules.Explorer(dag, streams=2, platform="a simulated machine")
while len(explorer.runs) < 300 and (schedule := explorer.ask()) is not None:
    explorer.tell(schedule, measure(schedule))

runs = explorer.runs
seconds = runs.seconds
print(f"{runs}: {1e6 * seconds.min():.0f} to {1e6 * seconds.max():.0f} µs")
print("the fastest:", runs.schedules[int(seconds.argmin())])

model = rules.learn(runs)
for number, (least, most) in enumerate(model.ranges, 1):
    print(f"class {number}: {1e6 * least:.0f} to {1e6 * most:.0f} µs")
    for ruleset in [ruleset for ruleset in model.rulesets if ruleset.class_ == number][:2]:
        print(f"  {ruleset.right} of {ruleset.samples} runs with:", "; ".join(ruleset.rules))

if len(sys.argv) > 1:
    Path(sys.argv[1]).write_text(model.page())

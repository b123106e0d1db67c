"""Strip packing of piece sets from the nesting literature: the density that `warpsmith nest` reaches.

    cargo build --release
    python3 benches/peers/nesting.py --ours target/release/warpsmith [--sparrow PATH] [--instances albano,swim,shirts] [--time 60]
        [--plot curves.png]

The instances are those that jagua-rs (github.com/JeroenGar/jagua-rs) has converted to JSON; they are fetched from there, or
read from --folder, and aren't part of this project. With --sparrow, sparrow (github.com/JeroenGar/sparrow) has the same time
for each, after ours. With --plot, densities are drawn against time (needs Matplotlib).

PUBLISHED is of sparrow: the mean density of its runs of 20 minutes each (data/experiments/benchmark_runs there), and the
shortest strip that it comes with (data/records), for some.
"""

import argparse
import json
import pathlib
import re
import subprocess
import tempfile
import urllib.request

ASSETS = "https://raw.githubusercontent.com/JeroenGar/jagua-rs/76aab0fa70688ee50d1809f5376f71c758ea0b7c/assets"
NAN = float("nan")
PUBLISHED = {
    "albano": (0.89461, 9692.056),
    "swim": (0.78302, 5541.653),
    "shirts": (0.89720, 59.392952),
    "trousers": (0.917, NAN),
    "marques": (0.909, NAN),
    "fu": (0.922, NAN),
    "jakobs1": (0.891, NAN),
    "jakobs2": (0.848, NAN),
    "mao": (0.861, NAN),
    "dagli": (0.893, NAN),
    "shapes0": (0.686, NAN),
    "shapes1": (0.757, NAN),
    "blaz1": (0.847, NAN),
}


def read(name, folder):
    """The instance: a dictionary."""
    if folder:
        return json.loads((folder / f"{name}.json").read_text())
    with urllib.request.urlopen(f"{ASSETS}/{name}.json", timeout=60) as answer:
        return json.load(answer)


def area(points):
    """The area of a polygon."""
    following = points[1:] + points[:1]
    return abs(sum(a[0] * b[1] - a[1] * b[0] for a, b in zip(points, following))) / 2


def nested(arguments, path, height, output):
    """The density that `nest --json` prints of an instance, and its history: pairs of seconds and density."""
    command = [arguments.ours, "nest", str(path), "--roll", str(height), "--time", f"{arguments.time}s"]
    command += ["--seed", str(arguments.seed), "--json", "--output", str(output)]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    result = json.loads(answer)
    return result["sheets"][0]["density"], result["history"]


def peer(arguments, path, folder):
    """The density that sparrow reaches, and its history, which is in its log."""
    command = [pathlib.Path(arguments.sparrow).resolve(), "-i", path.resolve()]
    command += ["-t", str(arguments.time), "-s", str(arguments.seed)]
    found = subprocess.run(command, check=True, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    times = re.findall(r"\[(\d+):(\d+):(\d+)\].*dens: ([\d.]+)%", found.stdout)
    history = [(3600 * int(h) + 60 * int(m) + int(s), float(density) / 100) for h, m, s, density in times]
    density = json.loads((folder / "output" / f"final_{path.stem}.json").read_text())["solution"]["density"]
    return density, [*history, (arguments.time, density)]


def plot(curves, path):
    """Draws curves: for each instance, those of ours and of sparrow, each a list of pairs of seconds and density."""
    from matplotlib import pyplot

    columns = min(len(curves), 4)
    rows = -(-len(curves) // columns)
    figure, axes = pyplot.subplots(rows, columns, figsize=(3 * columns, 2.2 * rows), squeeze=False)
    for place, (name, both) in zip(axes.flat, curves.items()):
        for label, color, several in zip(("warpsmith", "sparrow"), ("C0", "C1"), both):
            for number, curve in enumerate(several):
                best, steps = 0.0, []
                for seconds, density in curve:
                    best = max(best, 100 * density)
                    steps.append((max(seconds, 0.5), best))
                place.step(*zip(*steps), where="post", color=color, linewidth=1, label=None if number else label)
        mean = PUBLISHED.get(name, (NAN, NAN))[0]
        place.axhline(100 * mean, color="gray", linewidth=0.7, linestyle="--", label="sparrow, mean of 20 min")
        place.set(title=name, xscale="log")
        low = max(max(density for _, density in curve) for several in both for curve in several)
        place.set_ylim(100 * low - 8, 100 * low + 0.7)
    for place in axes.flat[len(curves) :]:
        place.axis("off")
    figure.supxlabel("seconds")
    figure.supylabel("density (%)")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="lower right")
    figure.tight_layout()
    figure.savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", required=True, help="the program")
    parser.add_argument("--sparrow", help="sparrow's program")
    parser.add_argument("--instances", default=",".join(PUBLISHED))
    parser.add_argument("--folder", type=pathlib.Path, help="where the instances lie")
    parser.add_argument("--drawings", type=pathlib.Path, help="where drawings go")
    parser.add_argument("--time", type=int, default=60, help="seconds per instance")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plot", type=pathlib.Path, help="where curves of density against time go")
    arguments = parser.parse_args()
    print(f"{'':8} {'pieces':>6} {'density':>9} {'sparrow':>9} {'20 min':>9} {'its best':>9}")
    curves = {}
    for name in arguments.instances.split(","):
        instance = read(name, arguments.folder)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, f"{name}.json")
            path.write_text(json.dumps(instance))
            output = (arguments.drawings or pathlib.Path(folder)) / f"{name}.svg"
            ours, history = nested(arguments, path, instance["strip_height"], output)
            theirs, their_history = peer(arguments, path, pathlib.Path(folder)) if arguments.sparrow else (NAN, [])
            curves[name] = [[history], [their_history] if their_history else []]
        count = sum(item["demand"] for item in instance["items"])
        pieces = sum(item["demand"] * area(item["shape"]["data"]) for item in instance["items"])
        mean, shortest = PUBLISHED.get(name, (NAN, NAN))
        best = pieces / (instance["strip_height"] * shortest)
        print(f"{name:8} {count:6} {ours:9.2%} {theirs:9.2%} {mean:9.2%} {best:9.2%}")
    if arguments.plot:
        plot(curves, arguments.plot)


if __name__ == "__main__":
    main()

"""Strip packing of piece sets from the nesting literature: the density that `warpsmith overlap pack` reaches.

    cargo build --release
    python3 benches/peers/nesting.py --ours target/release/warpsmith [--instances albano,swim,shirts] [--time 60s] [--seed 0]

The instances are those that jagua-rs (github.com/JeroenGar/jagua-rs) has converted to JSON; they are fetched from there, or
read from --folder, and aren't part of this project. An instance has the strip's height and asks for the least length: it is
turned by a quarter, so that the height is the strip's width. All pieces may be turned by the same angles.

PUBLISHED is of sparrow, by the same author (github.com/JeroenGar/sparrow): the mean density of its runs of 20 minutes each
(data/experiments/benchmark_runs there), and the shortest strip that it comes with (data/records), for some.
"""

import argparse
import json
import pathlib
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


def pack(instance, folder, arguments):
    """What `overlap pack --json` prints of an instance."""
    command = [arguments.ours, "overlap", "pack", "--container", f"strip:{instance['strip_height']}"]
    for number, item in enumerate(instance["items"]):
        path = folder / f"piece{number}.json"
        path.write_text(json.dumps({"outline": [(-y, x) for x, y in item["shape"]["data"]]}))
        angles = "".join(f"{angle}," for angle in item.get("allowed_orientations", [0.0]))
        command += ["--shape", f"{path}:{item['demand']}", "--turns", f"piece{number}={angles}"]
    output = arguments.plots / f"{instance['name']}.csv" if arguments.plots else folder / "poses.csv"
    command += ["--time", arguments.time, "--seed", str(arguments.seed), "--json", "--output", str(output)]
    if arguments.plots:
        command += ["--plot", str(output.with_suffix(".svg"))]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", required=True, help="the program")
    parser.add_argument("--instances", default=",".join(PUBLISHED))
    parser.add_argument("--folder", type=pathlib.Path, help="where the instances lie")
    parser.add_argument("--plots", type=pathlib.Path, help="where packings and pictures go")
    parser.add_argument("--time", default="60s")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print(f"{'':8} {'pieces':>6} {'length':>12} {'density':>9} {'sparrow':>9} {'its best':>9}")
    for name in arguments.instances.split(","):
        instance = read(name, arguments.folder)
        with tempfile.TemporaryDirectory() as folder:
            packed = pack(instance, pathlib.Path(folder), arguments)
        pieces = sum(item["demand"] * area(item["shape"]["data"]) for item in instance["items"])
        mean, shortest = PUBLISHED.get(name, (NAN, NAN))
        best = pieces / (instance["strip_height"] * shortest)
        print(f"{name:8} {packed['count']:6} {packed['height']:12.3f} {packed['density']:9.2%} {mean:9.2%} {best:9.2%}")


if __name__ == "__main__":
    main()

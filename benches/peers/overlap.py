"""The GPU overlap of jcottaar/packing beside warpsmith: the same trees, in turns, medians of seven.

    pip install cupy-cuda13x numpy shapely            # CuPy for the CUDA at hand; nvcc has to be there, too
    git clone https://github.com/jcottaar/packing     # and a version as below
    cargo bench --no-run --bench figures      # prints the program's path
    python3 benches/peers/overlap.py --anchor packing/core --ours PATH/TO/figures [--json FILE]

Of the other program ("the anchor") this uses pack_cuda.py and pack_cuda_primitives.py as they are, in float64; what they
want of kaggle_support.py comes from `stand_in` below, because the original imports a notebook's worth of packages and makes
folders in the root of the file system. It is called as its own optimiser calls it: all packings in one call of
`overlap_multi_ensemble`, poses and outputs in device memory that was allocated before. That takes a version whose function
has out_cost and out_grads and computes areas, such as pack_cuda.py of commit a588ea4 with pack_cuda_primitives.py of
286b9ec; in some commits the areas are missing, which the comparison of totals finds.

Cases: 1,024 packings of 120 trees and one packing of 120 trees, each for the totals only and with gradients; one packing of
500, which the anchor can't launch (four threads a tree, one block a packing), so that Shapely on a CPU stands in its place.

Times. For each case the programs take turns: anchor, ours, anchor, ours. In a turn the case is evaluated several times, one
after another; the table has the median of the turns' medians and their spread (largest less smallest, over the median). One
turn each warms up and doesn't count. Both programs measure two times, in separate evaluations:
    host    the host's clock from just before the call until the device has finished what the call started: launches
            included, allocations and transfers not
    device  CUDA events around the same call

Before a case is timed, totals and gradients of both are compared, and the first totals with Shapely's; a relative
difference above 1e-9 in a total ends the script. Trees lie in the same places for both, but the anchor turns a tree about
its centroid and warpsmith about the origin of its frame, so that poses are converted for the anchor, and its gradients back.


THE PROTOCOL with `PATH overlap --serve`: the program reads one request a line from its standard input until that ends, and writes
one answer a line to its standard output, flushed; both are JSON objects. Nothing else goes to standard output.

    request  {"poses": "/tmp/x/120.npy", "gradient": true, "evaluations": 20}
    answer   {"host": [0.052, ...], "device": [0.031, ...]}

    poses        path of a .npy file: float64, C order, (packings, n, 3): x, y, theta in radians, of the built-in tree. At
                 the first request that names the path the program loads it into device memory and allocates what it
                 needs, which is not timed; it keeps that for later requests, as the file doesn't change.
    gradient     whether each evaluation computes the gradients besides the totals.
    evaluations  how many to time of each kind; 0: none, and both lists are empty.
    host         that many times in ms: for each evaluation alone, from just before the first launch until the device is
                 idle again.
    device       that many times in ms: events around each of as many further evaluations.

    A request may also have
    "totals": PATH      evaluate once more and write the totals there: .npy, float64, (packings,)
    "gradients": PATH   with "gradient": true, write the gradients there: .npy, float64, (packings, n, 3): d total / d (x, y,
                        theta) of the pose's own packing, theta about the origin of the tree's frame
    for which the answer has no further fields; the files are complete once it comes.

    What can't be done is answered with {"error": "the reason"}.
"""

import argparse
import hashlib
import inspect
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import types

import cupy
import numpy as np
import overlap_cpu
import shapely

# Name, packings, trees in each, evaluations a turn.
CASES = [("1,024 x 120", 1024, 120, 10), ("1 x 120", 1, 120, 50), ("1 x 500", 1, 500, 50)]
TOLERANCE = 1e-9


def stand_in(folder):
    """The parts of the anchor's kaggle_support that pack_cuda reads: the tree in its four pieces, about its centroid."""
    outline = shapely.Polygon(overlap_cpu.OUTLINE)
    centroid = np.array([outline.centroid.x, outline.centroid.y])
    module = types.ModuleType("kaggle_support")
    module.convex_breakdown = [shapely.Polygon(piece - centroid) for piece in overlap_cpu.PIECES]
    module.tree_max_radius = float(np.linalg.norm(overlap_cpu.OUTLINE - centroid, axis=1).max())
    module.tree_centroid_offset = tuple(centroid.tolist())
    # Earlier versions of pack_cuda read the first of these names, later ones the second.
    module.tree_vertices = module.tree_vertices64 = cupy.asarray(overlap_cpu.OUTLINE - centroid)
    module.USE_FLOAT32, module.dtype_cp, module.dtype_np = False, cupy.float64, np.float64
    # Its checks of arguments begin at 2.
    module.debugging_mode = 1
    # The CUDA source and the PTX go there.
    module.temp_dir = folder
    return module


class Anchor:
    """jcottaar/packing."""

    def __init__(self, folder, temporary):
        sys.modules["kaggle_support"] = self.support = stand_in(temporary)
        sys.path.insert(0, str(folder))
        import pack_cuda

        # It builds PTX for sm_89, and the driver of a later GPU compiles it to too many registers for blocks of 480
        # threads: they can't be launched. Therefore it is built for the GPU there is, with as many registers as such blocks may have.
        run = subprocess.run

        def build(command, **options):
            replace = {"-ptx": "-cubin", "-arch=sm_89": "-arch=native"}
            if "-ptx" in command:
                command = [replace.get(word, word) for word in command] + ["-maxrregcount=128"]
            return run(command, **options)

        subprocess.run = build

        self.function = pack_cuda.overlap_multi_ensemble
        parameters = inspect.signature(self.function).parameters
        if not {"out_cost", "out_grads"} <= set(parameters):
            sys.exit(f"{folder}/pack_cuda.py: overlap_multi_ensemble has no out_cost and out_grads; take another version")
        # Versions that can compute something other than areas are told.
        self.extra = [False] if "use_separation" in parameters else []
        # Versions before kaggle_support knew the precision have their own switch.
        if hasattr(pack_cuda, "USE_FLOAT32"):
            pack_cuda.USE_FLOAT32 = False

    def hashes(self, folder):
        files = ["pack_cuda.py", "pack_cuda_primitives.py"]
        return {file: hashlib.sha256((folder / file).read_bytes()).hexdigest() for file in files}

    def load(self, poses):
        """Poses about the centroid, in device memory, with the outputs."""
        _, v = self.support.tree_centroid_offset
        theta = poses[:, :, 2]
        moved = poses + np.stack([-np.sin(theta) * v, np.cos(theta) * v, np.zeros_like(theta)], axis=2)
        return cupy.asarray(moved), cupy.empty(len(poses)), cupy.empty(poses.shape)

    def evaluate(self, memory, gradient):
        poses, totals, gradients = memory
        self.function(poses, poses, *self.extra, out_cost=totals, out_grads=gradients if gradient else None)

    def turn(self, memory, gradient, evaluations):
        stream = cupy.cuda.get_current_stream()
        host, device = [], []
        stream.synchronize()
        for _ in range(evaluations):
            start = time.perf_counter()
            self.evaluate(memory, gradient)
            stream.synchronize()
            host.append(1e3 * (time.perf_counter() - start))
        for _ in range(evaluations):
            start, end = cupy.cuda.Event(), cupy.cuda.Event()
            start.record(stream)
            self.evaluate(memory, gradient)
            end.record(stream)
            end.synchronize()
            device.append(cupy.cuda.get_elapsed_time(start, end))
        return {"host": host, "device": device}

    def results(self, memory, poses):
        """Totals and gradients by the poses' own turning point."""
        self.evaluate(memory, True)
        totals, gradient = memory[1].get(), memory[2].get()
        _, v = self.support.tree_centroid_offset
        theta = poses[:, :, 2]
        gradient[:, :, 2] -= v * (np.cos(theta) * gradient[:, :, 0] + np.sin(theta) * gradient[:, :, 1])
        return totals, gradient


class Ours:
    """The project's own program, by the protocol above."""

    def __init__(self, path):
        self.process = subprocess.Popen([path, "overlap", "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.process.args[0]} ended with status {self.process.wait()} at {json.dumps(request)}")
        answer = json.loads(line)
        if "error" in answer:
            sys.exit(f"{self.process.args[0]}: {answer['error']} at {json.dumps(request)}")
        return answer

    def turn(self, path, gradient, evaluations):
        answer = self.ask(poses=str(path), gradient=gradient, evaluations=evaluations)
        for clock in ("host", "device"):
            if len(answer[clock]) != evaluations:
                sys.exit(f"{self.process.args[0]}: {len(answer[clock])} times by {clock} where {evaluations} were asked for")
        return answer

    def results(self, path, folder):
        totals, gradients = folder / "totals.npy", folder / "gradients.npy"
        self.ask(poses=str(path), gradient=True, evaluations=0, totals=str(totals), gradients=str(gradients))
        return np.load(totals), np.load(gradients)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def relative(a, b):
    return float(np.max(np.abs(a - b) / np.maximum(np.abs(b), 1e-300)))


def agreement(poses, ours, theirs):
    """Largest differences; ends the script where a total is wrong. `theirs` is None where there is no anchor."""
    few = poses[:8]
    by_shapely = np.array([overlap_cpu.overlap(packing) for packing in few])
    differences = {"ours_shapely_totals": relative(ours[0][: len(few)], by_shapely)}
    if theirs is not None:
        differences["anchor_shapely_totals"] = relative(theirs[0][: len(few)], by_shapely)
        differences["ours_anchor_totals"] = relative(ours[0], theirs[0])
        away = np.abs(ours[1] - theirs[1])
        differences["ours_anchor_gradient_largest"] = float(away.max())
        differences["ours_anchor_gradient_median"] = float(np.median(away))
    for name, difference in differences.items():
        # Not a number is no agreement.
        if name.endswith("totals") and not difference <= TOLERANCE:
            sys.exit(f"totals disagree for {poses.shape[0]} x {poses.shape[1]}: {name} {difference:.1e}")
    return differences


def figures(turns, clock):
    """The median over turns of a turn's median in ms, and the spread."""
    median, percent = overlap_cpu.spread([statistics.median(turn[clock]) for turn in turns])
    return {"milliseconds": median, "spread_percent": percent}


def cell(value):
    return f"{value['milliseconds']:9.4f} ms ({value['spread_percent']:5.1f} %)"


def main():
    parser = argparse.ArgumentParser(description="Measures jcottaar/packing and warpsmith in turns.")
    parser.add_argument("--anchor", metavar="DIR", type=pathlib.Path, required=True, help="the folder with pack_cuda.py")
    parser.add_argument("--ours", metavar="PATH", required=True, help="the program of benches/figures/overlap.rs")
    parser.add_argument("--rounds", type=int, default=7, help="turns of each program (default: 7)")
    parser.add_argument("--json", metavar="FILE", help="write the figures there, too")
    arguments = parser.parse_args()

    device = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"].decode()
    with tempfile.TemporaryDirectory() as folder:
        temporary = pathlib.Path(folder)
        anchor, ours = Anchor(arguments.anchor.resolve(), folder), Ours(arguments.ours)
        print(f"{device}, CuPy {cupy.__version__}, Shapely {shapely.__version__}; medians of {arguments.rounds} turns (spread)")
        rows, checks = [], {}
        for name, packings, n, evaluations in CASES:
            poses = overlap_cpu.random_poses(packings, n)
            path = temporary / f"{packings}x{n}.npy"
            np.save(path, poses)
            memory, reason = anchor.load(poses), None
            try:
                theirs = anchor.results(memory, poses)
            except RuntimeError as error:
                # CuPy raises this when the driver refuses a launch. If nothing has worked, the reason is another one.
                if not checks:
                    raise
                theirs, reason = None, str(error)
            checks[name] = agreement(poses, ours.results(path, temporary), theirs)
            if theirs is None:
                print(f"{name:<12} the anchor can't launch this: {reason}")
                times, _ = overlap_cpu.measure(poses[0], arguments.rounds)
                by_shapely = dict(zip(("milliseconds", "spread_percent"), overlap_cpu.spread(times)))
            for gradient in (False, True):
                turns = {"anchor": [], "ours": []}
                for _ in range(arguments.rounds + 1):
                    if theirs is not None:
                        turns["anchor"].append(anchor.turn(memory, gradient, evaluations))
                    turns["ours"].append(ours.turn(path, gradient, evaluations))
                for clock in ("host", "device"):
                    row = {"case": name, "packings": packings, "poses": n, "gradient": gradient, "clock": clock}
                    row["ours"] = figures(turns["ours"][1:], clock)
                    peer, label = None, "anchor"
                    if theirs is not None:
                        peer = figures(turns["anchor"][1:], clock)
                    elif not gradient and clock == "host":
                        peer, label = by_shapely, "shapely"
                    what = "gradients" if gradient else "totals"
                    line = f"{name:<12} {what:<9} {clock:<6}  "
                    if peer is None:
                        line += f"{'':<37}  warpsmith {cell(row['ours'])}"
                    else:
                        row[label] = peer
                        row["ratio"] = peer["milliseconds"] / row["ours"]["milliseconds"]
                        line += f"{label:<8} {cell(peer):<28}  warpsmith {cell(row['ours'])}  ratio {row['ratio']:7.1f}"
                    print(line, flush=True)
                    rows.append(row)
            print(f"{name:<12} largest differences: " + ", ".join(f"{k} {v:.1e}" for k, v in checks[name].items()), flush=True)
        ours.close()
        if arguments.json:
            report = {
                "device": device,
                "cupy": cupy.__version__,
                "shapely": shapely.__version__,
                "anchor_sha256": anchor.hashes(arguments.anchor.resolve()),
                "rounds": arguments.rounds,
                "rows": rows,
                "agreement": checks,
            }
            pathlib.Path(arguments.json).write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()

"""Trees and graphs: two GPU programs beside warpsmith, in turns, and a table of medians.

    git clone https://github.com/stobis/euler-meets-cuda && git -C euler-meets-cuda checkout 4c3bdc6
    git clone https://github.com/Abhijeetkumar96/FAST-BCC-on-GPUs && git -C FAST-BCC-on-GPUs checkout 147db59
    git clone https://github.com/moderngpu/moderngpu && git -C moderngpu checkout 267cc8d
    pip install numpy scipy
    cargo bench --no-run --bench figures          # prints the program's path
    python3 benches/peers/trees.py --euler euler-meets-cuda --bcc FAST-BCC-on-GPUs --moderngpu moderngpu \\
        [--ours PATH/TO/figures]... [--n 1e7] [--input NAME]... [--quick] [--rounds 3] [--work FOLDER] [--json FILE]

It needs nvcc (CUDA 13.0 was tried, on an H200), 16 GiB of memory, and 5 GiB in the folder for temporary files.
moderngpu is newer than the one that euler-meets-cuda names, which CUDA 13's headers refuse.

Inputs. Trees of n vertices with random labels: the parent of each is any one before it (attachment), the one before it
(path), or that for the first half and the middle one for the others (broom). A grid of 3,000 x 3,000 crossings, of
whose streets a tenth is missing, and R-MAT with 2^22 vertices and 16 edges for each (0.57, 0.19, 0.19, 0.05). Neither
peer takes graphs of several components or with double edges, so it's the largest component as a simple graph, for
warpsmith, too. Of trees, warpsmith's program makes its own of these shapes; as for the peers, edges are in random order
and of random directions.

Times are of work on the device, with its input there: medians after a first one to warm up. `trees.cu` repeats the
peers' functions within a process. What is timed:

    rooting     from edges. euler-meets-cuda: a whole call, from which come the arcs' ranks in the tour alone. FAST-BCC:
                its timer "Eulerian Tour" (parents, levels, first and last visits). warpsmith: parents, preorder, depths
                and sizes, and the check of its input.
    prepare     for lowest common ancestors, from parents. euler-meets-cuda's timer "Preprocessing"; warpsmith's rooting
                from parents and its preparation.
    ancestors   of 10^6 random pairs. euler-meets-cuda's timer "Queries", which frees memory, too; warpsmith checks the
                pairs.
    forest      a spanning forest. FAST-BCC's timer "AST Construction": unions alone, without setting up. warpsmith: the
                forest's edges one after the other, and the components' labels.
    bridges     euler-meets-cuda's timer "Overall" of its algorithms tarjan and naive (breadth first). They take CSR,
                the others edges.
    blocks      biconnected components. FAST-BCC with its filter: the sum of its timers, which leave out setting up and
                most allocations; and the whole call. warpsmith: articulation points, too.

euler-meets-cuda allocates and frees memory within its timers, and warpsmith keeps its own. So there are two columns:
the peer as it is, and with CUDA's pool in place of cudaMalloc (no line of it changes). The ratio is of the latter.

Results are checked: parents, common ancestors, numbers of bridges and of blocks. (FAST-BCC's own program prints one
block more than there are.)
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

HERE = pathlib.Path(__file__).resolve().parent
RUNS = 6
PAIRS = 1_000_000
LIMIT = 60

SHAPES = {"attachment": "random attachment", "path": "path", "broom": "broom"}
GRAPHS = ["grid", "rmat"]
LCA = "lowest common ancestors"
# The task, the peer, what trees.cu is told, the peer's timer, warpsmith's lines.
TREE_ROWS = [
    ("rooting", "euler-meets-cuda", "tour", "wall", ["rooting, from edges"]),
    ("rooting", "FAST-BCC", "tour", "Eulerian Tour", ["rooting, from edges"]),
    ("prepare", "euler-meets-cuda", "lca", "Preprocessing", ["rooting, from parents", f"{LCA}, preparation"]),
    ("ancestors", "euler-meets-cuda", "lca", "Queries", [f"{LCA}, 10^6 pairs"]),
]
GRAPH_ROWS = [
    ("forest", "FAST-BCC", "bcc", "AST Construction", ["forest"]),
    ("bridges, tarjan", "euler-meets-cuda", "tarjan", "Overall", ["bridges"]),
    ("bridges, naive", "euler-meets-cuda", "naive", "Overall", ["bridges"]),
    ("blocks", "FAST-BCC", "bcc", "Total execution time for bcc", ["biconnected"]),
    ("blocks, whole call", "FAST-BCC", "bcc", "wall", ["biconnected"]),
]


def make_tree(folder, shape, n):
    """The peers' files, and the right answers."""
    random = np.random.default_rng(1)
    before = np.arange(n, dtype=np.int64)
    if shape == "attachment":
        parent = (random.random(n) * before).astype(np.int64)
    else:
        parent = before - 1 if shape == "path" else np.minimum(before - 1, n // 2)
    parent[0] = 0
    labels = random.permutation(n).astype(np.int32)
    root = labels[0]
    parents = np.empty(n, np.int32)
    parents[labels] = labels[parent]
    parents[root] = -1
    a, b = random.integers(0, n, (2, PAIRS))
    pairs = labels[np.stack([a, b], axis=1)]
    if shape == "attachment":
        # Parents have smaller numbers.
        while (a != b).any():
            a, b = np.maximum(a, b), np.minimum(a, b)
            a = np.where(a == b, a, parent[a])
        common = a
    else:
        middle = n - 1 if shape == "path" else n // 2
        common = np.where(a == b, a, np.minimum(np.minimum(a, b), middle))
    with open(folder / f"{shape}.lca", "wb") as file:
        for part in [n, root], parents, [PAIRS], pairs:
            np.asarray(part, np.int32).tofile(file)
    # An edge in any place but that with the root's number.
    places = random.permutation(n)
    there = np.flatnonzero(places == root)[0]
    places[[0, there]] = places[[there, 0]]
    u, v = labels[parent].astype(np.uint64), labels.astype(np.uint64)
    swapped = random.integers(0, 2, n, dtype=np.uint8) == 1
    edges = np.empty(n, np.uint64)
    edges[places] = np.where(swapped, v << np.uint64(32) | u, u << np.uint64(32) | v)
    with open(folder / f"{shape}.tour", "wb") as file:
        np.array([n, root], np.int32).tofile(file)
        edges.tofile(file)
    np.save(folder / f"{shape}.parents.npy", parents)
    np.save(folder / f"{shape}.common.npy", labels[common])
    return {"n": n, "m": n - 1}


def grid_edges(side):
    vertices = np.arange(side * side, dtype=np.int32).reshape(side, side)
    u = np.concatenate([vertices[:, :-1].ravel(), vertices[:-1].ravel()])
    v = np.concatenate([vertices[:, 1:].ravel(), vertices[1:].ravel()])
    there = np.random.default_rng(2).random(len(u)) >= 0.1
    return u[there], v[there]


def rmat_edges(scale, degree):
    random = np.random.default_rng(3)
    u, v = np.zeros((2, degree << scale), np.int32)
    for _ in range(scale):
        # 0.57, 0.76 and 0.95 of 2^16.
        bits = random.integers(0, 1 << 16, len(u), dtype=np.uint16)
        u += u + (bits >= 49_808)
        v += v + ((bits >= 37_356) & (bits < 49_808) | (bits >= 62_260))
    return u, v


def make_graph(folder, name, quick):
    """The largest component as a simple graph: CSR for the peers, edges for warpsmith."""
    if name == "grid":
        side = 300 if quick else 3000
        n, (u, v) = side * side, grid_edges(side)
    else:
        scale = 15 if quick else 22
        n, (u, v) = 1 << scale, rmat_edges(scale, 16)
    u, v = np.minimum(u, v)[u != v], np.maximum(u, v)[u != v]
    upper = sparse.coo_matrix((np.ones(len(u), np.int8), (u, v)), shape=(n, n)).tocsr()
    upper.data[:] = 1
    label = csgraph.connected_components(upper, directed=False)[1]
    kept = np.flatnonzero(label == np.bincount(label).argmax())
    upper = upper[kept][:, kept]
    both = (upper + upper.T).tocsr()
    both.sort_indices()
    with open(folder / f"{name}.egr", "wb") as file:
        for part in [len(kept), both.nnz], both.indptr, both.indices:
            np.asarray(part, np.int32).tofile(file)
    upper = upper.tocoo()
    np.save(folder / f"{name}.npy", np.stack([upper.row, upper.col], axis=1).astype(np.int32))
    return {"n": len(kept), "m": upper.nnz}


def build(arguments, folder):
    """Both programs of trees.cu, by their peer's name."""
    euler, bcc = folder / "euler", folder / "bcc"
    shutil.copytree(arguments.euler / "src", euler / "src", dirs_exist_ok=True)
    # The one edit. Since CUDA 9 a shuffle takes the lanes that take part.
    file = euler / "src" / "ecl_cc.cu"
    file.write_text(file.read_text().replace("__shfl(", "__shfl_sync(~0u, "))
    algorithm = arguments.bcc / "gpu" / "with_filter"
    peers = {
        "euler-meets-cuda": (
            euler.with_suffix(".program"),
            [file.parent / name for name in ("bfs.cu", "bridges.cu", "euler.cu", "lca.cu", "spanning_tree.cu", "timer.cpp")],
            ["-DEULER", f"-I{arguments.euler / 'include'}", f"-I{arguments.moderngpu / 'src'}"],
        ),
        "FAST-BCC": (
            bcc.with_suffix(".program"),
            [algorithm / name for name in ("euler.cu", "tags.cu", "sparse_table_min.cu", "sparse_table_max.cu")],
            [f"-I{algorithm}"],
        ),
    }
    programs, running = {}, {}
    for name, (program, sources, flags) in peers.items():
        command = ["nvcc", "-O3", "-std=c++17", "-arch=native", "--expt-extended-lambda", "-w", "-t0", *flags]
        command += ["-Xlinker", "--wrap=cudaMalloc", "-Xlinker", "--wrap=cudaFree"]
        command += ["-o", program, HERE / "trees.cu", *sources]
        log = open(program.with_suffix(".log"), "w")
        running[name] = subprocess.Popen(list(map(str, command)), stdout=log, stderr=subprocess.STDOUT)
        programs[name] = program
    for name, process in running.items():
        if process.wait():
            sys.exit(f"{name} doesn't build:\n{programs[name].with_suffix('.log').read_text()}")
    return programs


class Peers:
    """Their programs, what they have printed, and what was wrong."""

    def __init__(self, programs, folder, inputs):
        self.programs, self.folder, self.inputs = programs, folder, inputs
        self.times, self.wrong = {}, {}

    def run(self, peer, what, name, pool):
        suffix = what if what in ("tour", "lca") else "egr"
        output = self.folder / "output"
        output.unlink(missing_ok=True)
        command = [self.programs[peer], what, self.folder / f"{name}.{suffix}", str(RUNS), output]
        environment = {**os.environ, "POOL": "1"} if pool else os.environ
        try:
            done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=LIMIT, check=True)
        except subprocess.CalledProcessError as error:
            reason = error.stderr.strip() or f"status {error.returncode}"
            self.wrong[peer, what, name] = reason.splitlines()[-1].strip()
            return
        except subprocess.TimeoutExpired:
            self.wrong[peer, what, name] = f"not done after {LIMIT} s"
            return
        # "tarjan: Overall: 1.2 ms.", "Time of Tags : 1.2 ms", "wall: 1.2 ms"
        for timer, value in re.findall(r"^(?:Time of |.*: )?([^:\n]+?) ?: ([\d.e+-]+) ms", done.stdout, re.MULTILINE):
            self.times.setdefault((peer, what, name, pool, timer), []).append(float(value))
        self.check(peer, what, name, np.fromfile(output, np.int32))

    def check(self, peer, what, name, found):
        facts = self.inputs[name]
        if what in ("tour", "lca"):
            right = np.load(self.folder / f"{name}.{'parents' if what == 'tour' else 'common'}.npy")
            if not np.array_equal(found, right):
                self.wrong[peer, what, name] = f"wrong for {np.count_nonzero(found != right)} vertices or pairs"
            return
        kind = "blocks" if what == "bcc" else "bridges"
        if facts.setdefault(kind, int(found[0])) != found[0]:
            self.wrong[peer, what, name] = f"{found[0]} {kind}, not {facts[kind]} as another"

    def median(self, peer, what, name, pool, timer):
        runs = self.times.get((peer, what, name, pool, timer), [])
        # The first of each process warms up.
        runs = [time for i, time in enumerate(runs) if i % RUNS]
        return statistics.median(runs) if runs else None


class Ours:
    def __init__(self, path, folder, inputs):
        self.path, self.folder, self.inputs, self.times = path, folder, inputs, {}

    def lines(self, *arguments):
        done = subprocess.run([self.path, *map(str, arguments)], stdout=subprocess.PIPE, text=True)
        if done.returncode:
            print(f"{' '.join(map(str, done.args))} ended with status {done.returncode}", file=sys.stderr, flush=True)
        return done.stdout.splitlines()

    def keep(self, name, line):
        found = re.match(r" +(\S.*?) +([\d.]+) ms", line)
        if found:
            self.times.setdefault((name, found[1]), []).append(float(found[2]))

    def run(self, n, trees, graphs):
        name = None
        for line in self.lines("trees", "--n", n) if trees else []:
            name = next((shape for shape in SHAPES if SHAPES[shape] == line), name)
            if name:
                self.keep(name, line)
        for name in graphs:
            facts = self.inputs[name]
            for line in self.lines("graph", self.folder / f"{name}.npy"):
                self.keep(name, line)
                for kind, pattern in ("bridges", r" +(\d+) bridges"), ("blocks", r" +(\d+) biconnected"):
                    found = re.match(pattern, line)
                    if found and facts.setdefault(kind, int(found[1])) != int(found[1]):
                        sys.exit(f"{name}: warpsmith finds {found[1]} {kind}, and before {facts[kind]} were found")

    def median(self, name, lines):
        found = [self.times.get((name, line)) for line in lines]
        return sum(map(statistics.median, found)) if found and all(found) else None


def main():
    parser = argparse.ArgumentParser(description="Measures euler-meets-cuda, FAST-BCC and warpsmith in turns.")
    for name in "euler", "bcc", "moderngpu":
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True, metavar="FOLDER", help="its clone")
    ours = "warpsmith's program of benches/figures; again for a newer one, which the ratio is of"
    parser.add_argument("--ours", action="append", default=[], metavar="PATH", help=ours)
    parser.add_argument("--n", type=float, default=1e7, help="vertices of a tree (default: 1e7)")
    parser.add_argument("--input", action="append", choices=[*SHAPES, *GRAPHS], help="one to measure with (default: all)")
    parser.add_argument("--quick", action="store_true", help="small graphs")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each program (default: 3)")
    parser.add_argument("--work", type=pathlib.Path, metavar="FOLDER", help="keeps inputs and programs")
    parser.add_argument("--json", metavar="FILE", help="write the figures there, too")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        measure(arguments, arguments.work or pathlib.Path(temporary))


def measure(arguments, folder):
    folder.mkdir(parents=True, exist_ok=True)
    n, chosen = int(arguments.n), arguments.input or [*SHAPES, *GRAPHS]
    trees, graphs = [shape for shape in SHAPES if shape in chosen], [name for name in GRAPHS if name in chosen]
    with concurrent.futures.ProcessPoolExecutor() as pool:
        made = {name: pool.submit(make_graph, folder, name, arguments.quick) for name in graphs}
        made |= {shape: pool.submit(make_tree, folder, shape, n) for shape in trees}
        programs = build(arguments, folder)
        inputs = {name: of.result() for name, of in made.items()}

    peers = Peers(programs, folder, inputs)
    ours = [Ours(path, folder, inputs) for path in arguments.ours]
    todo = [(name, *row) for name in trees for row in TREE_ROWS] + [(name, *row) for name in graphs for row in GRAPH_ROWS]
    for turn in range(arguments.rounds):
        for version in ours:
            version.run(n, trees, graphs)
        for name, peer, what in dict.fromkeys((name, peer, what) for name, _, peer, what, *_ in todo):
            if (peer, what, name) in peers.wrong:
                continue
            print(f"turn {turn + 1}: {name}, {peer}, {what}", file=sys.stderr, flush=True)
            # As it is, in the first turn alone.
            for pooled in (True, False) if turn == 0 else (True,):
                peers.run(peer, what, name, pooled)

    query = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    device = subprocess.run(query, capture_output=True, text=True).stdout.strip()
    print(f"{device}, ms, medians of {arguments.rounds} turns\n")
    print("| input | n | m | task | peer | as it is | of a pool |" + " warpsmith |" * len(ours), "ratio |")
    print("| --- | ---: | ---: | --- | --- | ---: | ---: |" + " ---: |" * len(ours), "---: |")
    rows = []
    for name, task, peer, what, timer, lines in todo:
        facts = inputs[name]
        times = [peers.median(peer, what, name, pooled, timer) for pooled in (False, True)]
        times += [version.median(name, lines) for version in ours]
        wrong = peers.wrong.get((peer, what, name))
        ratio = times[1] / times[-1] if times[1] and ours and times[-1] and not wrong else None
        cells = [f"{time:.2f}" if time else "" for time in times] + [f"{ratio:.2f}" if ratio else ""]
        if wrong:
            cells[:2] = wrong, ""
        print(f"| {name} | {facts['n']:,} | {facts['m']:,} | {task} | {peer} |", " | ".join(cells), "|")
        row = {"input": name, "task": task, "peer": peer, "as_it_is": times[0], "pool": times[1], "ours": times[2:]}
        rows.append({**row, "wrong": wrong})
    for name in graphs:
        print(f"\n{name}: {inputs[name].get('bridges')} bridges, {inputs[name].get('blocks')} blocks")
    if arguments.json:
        timers = [[*map(str, key), *times] for key, times in peers.times.items()]
        of_ours = [[version.path, *key, *times] for version in ours for key, times in version.times.items()]
        report = {"inputs": inputs, "rows": rows, "timers": timers, "ours": of_ours}
        pathlib.Path(arguments.json).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()

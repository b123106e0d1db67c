"""cuSPARSE's sparse matrix times vector beside warpsmith's: the same matrices, in turns, medians of seven.

    pip install cupy-cuda13x numpy                   # CuPy for the CUDA at hand; cuSPARSE has to be there, too
    cargo bench --no-run --bench figures        # prints the program's path
    python3 benches/peers/spmv.py PATH/TO/figures [--case NAME]... [--type float64]... [--quick] [--json FILE]

Of cuSPARSE this measures cusparseSpMV for CSR with indices of 32 bits, by its default algorithm and by CUSPARSE_SPMV_CSR_ALG2
(which gives the same bits each time, as warpsmith does), each after cusparseSpMV_preprocess where the library has it; and
CuPy's own `A @ x`, which makes descriptors, a buffer and a result at every call.

Times. For each matrix the programs take turns, seven rounds after one to warm up; the table has medians of the rounds and
their spread (largest less smallest, over the median). A turn is one CUDA graph of so many multiplications, one after the
other with the same x and y, between two events, over their number: neither program's launches count, and matrices that fit in
the L2 cache are there. `A @ x` can't be captured, and is the time between events around as many calls. Uploads, the
preprocessing and the choice of a kernel are not timed.

Before a matrix is timed, the products of all are compared: of each entry, by how much it may be off is computed from its row's
length and magnitudes; more than that ends the script.


THE PROTOCOL with `PATH spmv --serve`: the program reads one request a line from its standard input until that ends, and writes
one answer a line to its standard output, flushed; both are JSON objects. Nothing else goes to standard output.

    request  {"case": "paper", "type": "float64", "repeats": 100, "export": "/tmp/x"}
    answer   {"times": [0.0061], "kernel": "tiles/256", "shape": [150000, 150000], "nnz": 1500000, "floor_bytes": 21000000}

    case         one of those that `PATH nothing` lists. The program makes the matrix at the first request that names it,
                 uploads it, and keeps it until another one is named.
    type         float32 or float64.
    repeats      how many multiplications to time, together; 0: none, and `times` is empty. Else it has the time of one in ms.
    export       may be left out. A folder for indptr.npy, indices.npy (uint32), data.npy, x.npy and y.npy, which are complete
                 once the answer comes.
    floor_bytes  what has to be moved at least: indices, values, row starts, x and y once each.

    What can't be done is answered with {"error": "the reason"}.
"""

import argparse
import ctypes
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import cupy
import numpy as np
from cupy_backends.cuda.libs import cusparse as backend
from cupyx import cusparse
from cupyx.scipy import sparse

CASES = ["paper", "local", "remote", "band-15m", "band-80m", "skewed", "long"]
# Of cuSPARSE's enumerations.
ALGORITHMS = {"default": 0, "alg2": 3}
TYPES = {"float32": 0, "float64": 1}
NON_TRANSPOSE = 0


class Library:
    """cuSPARSE itself, as CuPy has loaded it: CuPy doesn't know of the preprocessing."""

    def __init__(self):
        if not cusparse.check_availability("spmv"):
            sys.exit("cuSPARSE has no cusparseSpMV, or CuPy doesn't find it")
        self.handle = cupy.cuda.device.get_cusparse_handle()
        paths = {line.split()[-1] for line in open("/proc/self/maps") if "libcusparse" in line}
        if not paths:
            sys.exit("CuPy has loaded no libcusparse")
        self.path = min(paths)
        self.library = ctypes.CDLL(self.path)
        version = ctypes.c_int()
        self.call("cusparseGetVersion", ctypes.byref(version))
        self.version = version.value

    def has(self, name):
        return hasattr(self.library, name)

    def call(self, name, *arguments):
        status = getattr(self.library, name)(ctypes.c_void_p(self.handle), *arguments)
        if status != 0:
            sys.exit(f"{name} failed with status {status}")


class Peer:
    """A matrix in device memory, for cuSPARSE."""

    def __init__(self, library, folder, shape):
        def load(name):
            return np.load(folder / name)

        # CuPy's indices are signed.
        arrays = load("data.npy"), load("indices.npy").view(np.int32), load("indptr.npy").view(np.int32)
        self.matrix = sparse.csr_matrix(tuple(map(cupy.asarray, arrays)), shape=shape)
        # `A @ x` may sort what it is given.
        self.sorted = self.matrix.copy()
        self.x, self.y = cupy.asarray(load("x.npy")), cupy.zeros(shape[0], arrays[0].dtype)
        self.library, self.stream = library, cupy.cuda.Stream(non_blocking=True)
        self.numbers = np.array([1, 0], arrays[0].dtype)
        self.descriptors = [
            cusparse.SpMatDescriptor.create(self.matrix),
            cusparse.DnVecDescriptor.create(self.x),
            cusparse.DnVecDescriptor.create(self.y),
        ]
        backend.setStream(library.handle, self.stream.ptr)
        self.buffers = {}
        for algorithm in ALGORITHMS:
            size = ctypes.c_size_t()
            library.call("cusparseSpMV_bufferSize", *self.arguments(algorithm), ctypes.byref(size))
            # A buffer for each, as the preprocessing leaves there what it found.
            self.buffers[algorithm] = cupy.empty(max(size.value, 1), np.int8)
            if library.has("cusparseSpMV_preprocess"):
                library.call("cusparseSpMV_preprocess", *self.arguments(algorithm), self.buffer(algorithm))
        self.stream.synchronize()
        self.graphs = {}

    def buffer(self, algorithm):
        return ctypes.c_void_p(self.buffers[algorithm].data.ptr)

    def arguments(self, algorithm):
        matrix, x, y = (ctypes.c_void_p(descriptor.desc) for descriptor in self.descriptors)
        one, zero = (ctypes.c_void_p(self.numbers.ctypes.data + i * self.numbers.itemsize) for i in range(2))
        kind, number = TYPES[self.numbers.dtype.name], ALGORITHMS[algorithm]
        return [NON_TRANSPOSE, one, matrix, x, zero, y, kind, number]

    def multiply(self, algorithm):
        self.library.call("cusparseSpMV", *self.arguments(algorithm), self.buffer(algorithm))

    def product(self, algorithm):
        self.y.fill(cupy.nan)
        cupy.cuda.Device().synchronize()
        self.multiply(algorithm)
        self.stream.synchronize()
        return self.y.get()

    def time(self, work):
        """Of what is enqueued, in ms."""
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record(self.stream)
        work()
        end.record(self.stream)
        end.synchronize()
        return cupy.cuda.get_elapsed_time(start, end)

    def turn(self, algorithm, repeats):
        if algorithm not in self.graphs:
            self.multiply(algorithm)
            self.stream.synchronize()
            with self.stream:
                self.stream.begin_capture()
                for _ in range(repeats):
                    self.multiply(algorithm)
                self.graphs[algorithm] = self.stream.end_capture()
            self.graphs[algorithm].launch(self.stream)
            self.stream.synchronize()
        return self.time(lambda: self.graphs[algorithm].launch(self.stream)) / repeats

    def operator(self, repeats):
        """A @ x"""
        with self.stream:
            # CuPy has set the stream of its handle to the current one, which is this one again afterwards.
            self.sorted @ self.x
            result = self.time(lambda: [self.sorted @ self.x for _ in range(repeats)]) / repeats
        backend.setStream(self.library.handle, self.stream.ptr)
        return result

    def bound(self):
        """By how much two products may differ in each entry: k u / (1 - k u) of the magnitudes for either, k nonzeros a row."""
        columns, starts = self.matrix.indices.get(), self.matrix.indptr.get().astype(np.int64)
        terms = np.abs(self.matrix.data.get().astype(np.float64) * self.x.get().astype(np.float64)[columns])
        # Differences of running sums would round; rows without nonzeros are left out, as they would get the next row's first.
        some = np.diff(starts) > 0
        sums = np.zeros(len(starts) - 1)
        sums[some] = np.add.reduceat(terms, starts[:-1][some]) if some.any() else 0
        roundings = np.diff(starts) * np.finfo(self.numbers.dtype).eps / 2
        return 2 * roundings / (1 - roundings) * sums * (1 + 1e-6)


class Ours:
    """The project's own program, by the protocol above."""

    def __init__(self, path, quick):
        command = [path, "spmv", "--serve"] + ["--quick"] * quick
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

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

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def figures(times):
    """The median in ms, and the spread."""
    median = statistics.median(times)
    return {"milliseconds": median, "spread_percent": 100 * (max(times) - min(times)) / median}


def agreement(peer, ours):
    """The largest difference over what is allowed; ends the script where it is more than that."""
    bound = peer.bound()
    worst = 0.0
    for algorithm in ALGORITHMS:
        away = np.abs(peer.product(algorithm).astype(np.float64) - ours)
        # Not a number is no agreement.
        if not np.all(away <= bound):
            row = int(np.argmax(~(away <= bound)))
            sys.exit(f"products disagree in row {row} by {away[row]:e}, of {bound[row]:e} allowed")
        worst = max(worst, float(np.max(away / np.maximum(bound, 1e-300), initial=0.0)))
    return worst


def main():
    parser = argparse.ArgumentParser(description="Measures cuSPARSE and warpsmith in turns.")
    parser.add_argument("ours", metavar="PATH", help="the program of benches/figures/spmv.rs")
    parser.add_argument("--case", action="append", choices=CASES, help="a matrix to measure (default: all)")
    parser.add_argument("--type", action="append", choices=list(TYPES), help="float32 or float64 (default: both)")
    parser.add_argument("--rounds", type=int, default=7, help="turns of each program (default: 7)")
    parser.add_argument("--quick", action="store_true", help="small matrices")
    parser.add_argument("--json", metavar="FILE", help="write the figures there, too")
    arguments = parser.parse_args()

    device = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"].decode()
    library, ours = Library(), Ours(arguments.ours, arguments.quick)
    prepared = "" if library.has("cusparseSpMV_preprocess") else ", without preprocessing"
    print(f"{device}, cuSPARSE {library.version}{prepared}, CuPy {cupy.__version__}; medians of {arguments.rounds} turns (spread)")
    rows = []
    for case in arguments.case or CASES:
        for kind in arguments.type or TYPES:
            with tempfile.TemporaryDirectory() as folder:
                facts = ours.ask(case=case, type=kind, repeats=0, export=folder)
                peer = Peer(library, pathlib.Path(folder), tuple(facts["shape"]))
                worst = agreement(peer, np.load(pathlib.Path(folder) / "y.npy").astype(np.float64))
            repeats = min(max(200_000_000 // max(facts["nnz"], 1), 5), 200)
            times = {"ours": [], **{algorithm: [] for algorithm in ALGORITHMS}, "A @ x": []}
            for _ in range(arguments.rounds + 1):
                for algorithm in ALGORITHMS:
                    times[algorithm].append(peer.turn(algorithm, repeats))
                times["A @ x"].append(peer.operator(repeats))
                times["ours"] += ours.ask(case=case, type=kind, repeats=repeats)["times"]
            row = {"case": case, "type": kind, **{key: facts[key] for key in ("shape", "nnz", "floor_bytes", "kernel")}}
            row["agreement"] = worst
            row["times"] = {name: figures(of[1:]) for name, of in times.items()}
            best = min(row["times"][algorithm]["milliseconds"] for algorithm in ALGORITHMS)
            row["ratio"] = best / row["times"]["ours"]["milliseconds"]
            rows.append(row)
            cells = [
                f"{name} {1e3 * of['milliseconds']:9.2f} us ({of['spread_percent']:4.1f} %)" for name, of in row["times"].items()
            ]
            bandwidth = facts["floor_bytes"] / row["times"]["ours"]["milliseconds"] / 1e6
            print(f"{case:<9} {kind} {facts['kernel']:<9} " + "  ".join(cells), end="  ")
            print(f"{bandwidth:5.0f} GB/s  ratio {row['ratio']:5.2f}  off by {worst:.2f} of the bound", flush=True)
            del peer
            cupy.get_default_memory_pool().free_all_blocks()
    ours.close()
    if arguments.json:
        report = {
            "device": device,
            "cusparse": library.version,
            "preprocessed": library.has("cusparseSpMV_preprocess"),
            "cupy": cupy.__version__,
            "rounds": arguments.rounds,
            "rows": rows,
        }
        pathlib.Path(arguments.json).write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()

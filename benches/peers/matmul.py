#!/usr/bin/env python3
"""A product of matrices of halves, `samples::matmul` beside cuBLAS, on one GPU.

Needs Python 3, NumPy and CuPy with cuBLAS (`pip install numpy cupy-cuda12x[ctk]`), and the kernel's PTX:

    cargo run --release -p warpsmith-cuda-builder --example ptx -- gpu-kernels /tmp/ptx
    python3 benches/peers/matmul.py /tmp/ptx/gpu_kernels.sm_80.ptx [--peak 989]

With `--wgmma PATH`, the program of `cargo build --release -p outside --example matmul_wgmma`, on a GPU of compute
capability 9.0: its products of small integers, then cuBLAS's of the same, medians of 21 launches each.

The two take turns. Times are of CUDA events around ten launches; the table has medians, and the share of `--peak`, the
GPU's dense FP16 peak in TFLOP/s (H100 SXM: 989). Products are compared before anything is timed.
"""

import argparse
import statistics
import subprocess

import cupy
import numpy
from cupy_backends.cuda.libs import cublas

TILE, THREADS, SHARED = 128, 128, 65536


def multiply(of_a, n, a, b, d):
    """Halves in, float out, sums in float (CUBLAS_COMPUTE_32F, on tensor cores)."""
    one, zero = numpy.array(1, dtype=numpy.float32), numpy.array(0, dtype=numpy.float32)
    cublas.gemmEx(
        cupy.cuda.device.get_cublas_handle(), of_a, cublas.CUBLAS_OP_N, n, n, n, one.ctypes.data, a.data.ptr, 2, n,
        b.data.ptr, 2, n, zero.ctypes.data, d.data.ptr, 0, n, 68, -1,
    )


def milliseconds(work, launches):
    start, end = cupy.cuda.Event(), cupy.cuda.Event()
    start.record()
    for _ in range(launches):
        work()
    end.record()
    end.synchronize()
    return cupy.cuda.get_elapsed_time(start, end) / launches


def beside_wgmma(path, sizes, rounds=2):
    for _ in range(rounds):
        for n in sizes:
            print(subprocess.run([path, str(n)], check=True, capture_output=True, text=True).stdout.strip())
            a = cupy.asarray((numpy.arange(n * n) % 13 - 6).astype(numpy.float16).reshape(n, n))
            d = cupy.empty((n, n), dtype=cupy.float32)
            # The second is given transposed.
            times = [milliseconds(lambda: multiply(cublas.CUBLAS_OP_T, n, a, a, d), 1) for _ in range(22)]
            print(f"cuBLAS: {n} x {n}: {2 * n**3 / statistics.median(times[1:]) / 1e9:.1f} TFLOP/s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ptx", nargs="?")
    parser.add_argument("--wgmma", metavar="PATH")
    parser.add_argument("--peak", type=float, default=989.0)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1024, 2048, 4096, 8192])
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()

    if options.wgmma:
        beside_wgmma(options.wgmma, options.sizes)
    if not options.ptx:
        return
    kernel = cupy.RawModule(path=options.ptx).get_function("samples_matmul_matmul_f16")
    kernel.max_dynamic_shared_size_bytes = SHARED
    print(f"| n | cuBLAS TFLOP/s | ours TFLOP/s | of cuBLAS | of {options.peak:.0f} TFLOP/s |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for n in options.sizes:
        random = numpy.random.default_rng(n)
        a, b = (cupy.asarray(random.standard_normal((n, n), dtype=numpy.float32).astype(numpy.float16)) for _ in range(2))
        c = cupy.empty((n, n), dtype=cupy.float32)
        d = cupy.empty((n, n), dtype=cupy.float32)
        def ours():
            grid = (n // TILE, n // TILE)
            kernel(grid, (THREADS,), (a, b, c, numpy.uint32(n), numpy.uint32(n)), shared_mem=SHARED)

        def theirs():
            # By columns, cuBLAS's order, the product of the transposed matrices.
            multiply(cublas.CUBLAS_OP_N, n, b, a, d)

        ours()
        theirs()
        difference = float(cupy.abs(c - d).max() / cupy.abs(d).max())
        assert difference < 1e-5, difference

        times = {ours: [], theirs: []}
        for _ in range(options.rounds):
            for work in times:
                times[work].append(milliseconds(work, 10))
        rate = {work: 2 * n**3 / statistics.median(times[work]) / 1e9 for work in times}
        share, peak = rate[ours] / rate[theirs], rate[ours] / options.peak
        print(f"| {n} | {rate[theirs]:.0f} | {rate[ours]:.0f} | {share:.2f} | {peak:.2f} |")


if __name__ == "__main__":
    main()

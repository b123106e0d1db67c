#!/usr/bin/env python3
"""A product of matrices of halves, `samples::matmul` beside cuBLAS, on one GPU.

Needs Python 3, NumPy and CuPy with cuBLAS (`pip install numpy cupy-cuda12x[ctk]`), and the kernel's PTX:

    cargo run --release -p warpsmith-cuda-builder --example ptx -- gpu-kernels /tmp/ptx
    python3 benches/peers/matmul.py /tmp/ptx/gpu_kernels.sm_80.ptx [--peak 989]

The two take turns. Times are of CUDA events around ten launches; the table has medians, and the share of `--peak`, the
GPU's dense FP16 peak in TFLOP/s (H100 SXM: 989). Products are compared before anything is timed.
"""

import argparse
import statistics

import cupy
import numpy
from cupy_backends.cuda.libs import cublas

TILE, THREADS, SHARED = 128, 128, 65536


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ptx")
    parser.add_argument("--peak", type=float, default=989.0)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1024, 2048, 4096, 8192])
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()

    kernel = cupy.RawModule(path=options.ptx).get_function("samples_matmul_matmul_f16")
    kernel.max_dynamic_shared_size_bytes = SHARED
    print(f"| n | cuBLAS TFLOP/s | ours TFLOP/s | of cuBLAS | of {options.peak:.0f} TFLOP/s |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for n in options.sizes:
        random = numpy.random.default_rng(n)
        a, b = (cupy.asarray(random.standard_normal((n, n), dtype=numpy.float32).astype(numpy.float16)) for _ in range(2))
        c = cupy.empty((n, n), dtype=cupy.float32)
        d = cupy.empty((n, n), dtype=cupy.float32)
        handle = cupy.cuda.device.get_cublas_handle()
        one, zero = numpy.array(1, dtype=numpy.float32), numpy.array(0, dtype=numpy.float32)

        def ours():
            grid = (n // TILE, n // TILE)
            kernel(grid, (THREADS,), (a, b, c, numpy.uint32(n), numpy.uint32(n)), shared_mem=SHARED)

        def theirs():
            # By columns, cuBLAS's order, the product of the transposed matrices. Half in, float out, sums in float
            # (CUBLAS_COMPUTE_32F, on tensor cores).
            cublas.gemmEx(
                handle, cublas.CUBLAS_OP_N, cublas.CUBLAS_OP_N, n, n, n, one.ctypes.data, b.data.ptr, 2, n, a.data.ptr, 2, n,
                zero.ctypes.data, d.data.ptr, 0, n, 68, -1,
            )

        ours()
        theirs()
        difference = float(cupy.abs(c - d).max() / cupy.abs(d).max())
        assert difference < 1e-5, difference

        def time(work):
            start, end = cupy.cuda.Event(), cupy.cuda.Event()
            start.record()
            for _ in range(10):
                work()
            end.record()
            end.synchronize()
            return cupy.cuda.get_elapsed_time(start, end) / 10

        times = {ours: [], theirs: []}
        for _ in range(options.rounds):
            for work in times:
                times[work].append(time(work))
        rate = {work: 2 * n**3 / statistics.median(times[work]) / 1e9 for work in times}
        share, peak = rate[ours] / rate[theirs], rate[ours] / options.peak
        print(f"| {n} | {rate[theirs]:.0f} | {rate[ours]:.0f} | {share:.2f} | {peak:.2f} |")


if __name__ == "__main__":
    main()

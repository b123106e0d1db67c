// The step of the inner cells of a brick with ghost cells, as `halo::stencil::interior` has it, in CUDA C++: planes that a thread goes
// through, and tiles, by turns, beside a copy of the array.
//
//     nvcc -O3 -arch=sm_90 -o stencil benches/peers/stencil.cu && ./stencil

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

static void check(cudaError_t error) {
    if (error != cudaSuccess) {
        std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
        std::exit(1);
    }
}

template <int PLANES>
__global__ void __launch_bounds__(256) interior(const double *__restrict__ cells, double *__restrict__ next, int n, double rate) {
    const int x = 1 + blockIdx.x * blockDim.x + threadIdx.x, y = 1 + blockIdx.y * blockDim.y + threadIdx.y, z = 1 + blockIdx.z * PLANES;
    if (x + 1 >= n || y + 1 >= n) return;
    const size_t row = n + 2, plane = row * row;
    size_t at = (z + 1) * plane + (y + 1) * row + x + 1;
    double below = cells[at - plane], here = cells[at];
    for (int left = min(PLANES, n - 1 - z); left > 0; --left) {
        const double above = cells[at + plane];
        const double sum = (cells[at - 1] + cells[at + 1]) + (cells[at - row] + cells[at + row]) + (below + above);
        next[at] = here + rate * (sum - 6.0 * here);
        below = here;
        here = above;
        at += plane;
    }
}

using Kernel = void (*)(const double *, double *, int, double);

int main() {
    cudaEvent_t start, end;
    check(cudaEventCreate(&start));
    check(cudaEventCreate(&end));
    for (int n : {128, 256, 512}) {
        const size_t bytes = sizeof(double) * size_t(n + 2) * (n + 2) * (n + 2);
        double *cells, *next;
        check(cudaMalloc(&cells, bytes));
        check(cudaMalloc(&next, bytes));
        check(cudaMemset(cells, 0, bytes));
        struct Variant {
            const char *name;
            Kernel kernel;
            int planes, x, y;
        };
        const std::vector<Variant> variants = {
            {"copy", nullptr, 1, 0, 0},          {"4 planes, 32 x 8", interior<4>, 4, 32, 8},   {"8 planes, 32 x 8", interior<8>, 8, 32, 8},
            {"16 planes, 32 x 8", interior<16>, 16, 32, 8}, {"32 planes, 32 x 8", interior<32>, 32, 32, 8},
            {"1 plane, 64 x 4", interior<1>, 1, 64, 4},     {"4 planes, 64 x 4", interior<4>, 4, 64, 4},
            {"8 planes, 64 x 4", interior<8>, 8, 64, 4},    {"16 planes, 64 x 4", interior<16>, 16, 64, 4},
            {"8 planes, 128 x 2", interior<8>, 8, 128, 2},  {"16 planes, 128 x 2", interior<16>, 16, 128, 2},
            {"1 plane, 32 x 8", interior<1>, 1, 32, 8},     {"2 planes, 32 x 8", interior<2>, 2, 32, 8},
        };
        std::vector<std::vector<float>> times(variants.size());
        for (int round = 0; round < 25; ++round) {
            for (size_t v = 0; v < variants.size(); ++v) {
                const Variant &variant = variants[v];
                check(cudaEventRecord(start));
                if (variant.kernel == nullptr) {
                    check(cudaMemcpyAsync(next, cells, bytes, cudaMemcpyDeviceToDevice));
                } else {
                    const auto blocks = [n](int block) { return unsigned((n - 2 + block - 1) / block); };
                    const dim3 grid(blocks(variant.x), blocks(variant.y), blocks(variant.planes));
                    variant.kernel<<<grid, dim3(variant.x, variant.y)>>>(cells, next, n, 0.125);
                }
                check(cudaEventRecord(end));
                check(cudaEventSynchronize(end));
                float ms;
                check(cudaEventElapsedTime(&ms, start, end));
                if (round > 3) times[v].push_back(ms);
            }
        }
        for (size_t v = 0; v < variants.size(); ++v) {
            std::sort(times[v].begin(), times[v].end());
            std::printf("%d^3, %-20s %8.2f us\n", n, variants[v].name, 1e3 * times[v][times[v].size() / 2]);
        }
        check(cudaFree(cells));
        check(cudaFree(next));
    }
}

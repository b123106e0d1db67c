// Two small kernels that depend on each other: in one stream, or the second in another stream behind an event; with and without a copy to
// the GPU in front of both. See "What a copy does" in docs/design-rules.md.
//
//     nvcc -O3 -arch=sm_90 -o behind_copy benches/peers/behind_copy.cu && ./behind_copy
//
// A time is from the first call to the return of cudaEventSynchronize, in microseconds.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

constexpr int N = 75000;      // floats: 300 kB
constexpr int ROUNDS = 3000;
constexpr int WARM_UP = 200;

static void check(cudaError_t error) {
    if (error != cudaSuccess) {
        std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
        std::exit(1);
    }
}

__global__ void gather(const float *in, float *out, int terms) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) {
        float sum = 0;
        for (int k = 0; k < terms; ++k) sum += in[(i * 7 + k * 131) % N];
        out[i] = sum;
    }
}

int main() {
    float *in, *middle, *out, *host;
    for (float **array : {&in, &middle, &out}) check(cudaMalloc(array, N * sizeof(float)));
    check(cudaMallocHost(&host, N * sizeof(float)));
    std::fill(host, host + N, 1.0f);
    check(cudaMemset(in, 0, N * sizeof(float)));
    cudaStream_t streams[2];
    for (cudaStream_t &stream : streams) check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaEvent_t between, end;
    for (cudaEvent_t *event : {&between, &end}) check(cudaEventCreateWithFlags(event, cudaEventDisableTiming));

    const int blocks = (N + 255) / 256;
    std::vector<double> times[4];
    // In turns, so that what disturbs the machine falls on all.
    for (int round = 0; round < ROUNDS; ++round) {
        for (int variant = 0; variant < 4; ++variant) {
            const bool copy = variant >= 2, two = variant % 2 == 1;
            check(cudaDeviceSynchronize());
            const auto start = std::chrono::steady_clock::now();
            if (copy) check(cudaMemcpyAsync(in, host, N * sizeof(float), cudaMemcpyHostToDevice, streams[0]));
            gather<<<blocks, 256, 0, streams[0]>>>(in, middle, 20);
            if (two) {
                check(cudaEventRecord(between, streams[0]));
                check(cudaStreamWaitEvent(streams[1], between, 0));
            }
            gather<<<blocks, 256, 0, streams[two]>>>(middle, out, 2);
            check(cudaEventRecord(end, streams[two]));
            check(cudaEventSynchronize(end));
            const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
            if (round >= WARM_UP) times[variant].push_back(time.count());
        }
    }
    check(cudaGetLastError());
    const char *names[] = {"one stream", "two streams", "copy, one stream", "copy, two streams"};
    for (int variant = 0; variant < 4; ++variant) {
        std::sort(times[variant].begin(), times[variant].end());
        const size_t n = times[variant].size();
        std::printf("%-18s 10th percentile %6.2f us, median %6.2f us\n", names[variant], times[variant][n / 10], times[variant][n / 2]);
    }
}

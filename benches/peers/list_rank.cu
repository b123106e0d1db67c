// The walk of the sublists in CUDA C++, as a peer for the Rust kernels: the same algorithm with the document's splitters (the first k - 1
// elements and the head). Build it as a library that the figures program loads:
//
//   nvcc -O3 -arch=sm_90 -shared -Xcompiler -fPIC -o libpeer.so benches/peers/list_rank.cu
#include <cstdint>
#include <cuda_runtime.h>

constexpr int THREADS = 128;

template <int LISTS>
__device__ __forceinline__ bool ends(int32_t head, int32_t element) {
    return element < LISTS - 1 || element == head;
}

template <int LISTS>
__global__ void walk_packed(int32_t head, int2* __restrict__ packed, int2* __restrict__ sublists) {
    const int id = blockIdx.x * THREADS + threadIdx.x;
    if (id >= LISTS) return;
    int32_t element = id == LISTS - 1 ? head : id;
    int32_t offset = 0;
    do {
        const int2 seen = packed[element];
        packed[element] = make_int2(id, offset++);
        element = seen.x;
    } while (!ends<LISTS>(head, element));
    sublists[id] = make_int2(element == head ? LISTS - 1 : element, offset);
}

template <int LISTS>
__global__ void walk_split(int32_t head, const int32_t* __restrict__ next, int2* __restrict__ packed, int2* __restrict__ sublists) {
    const int id = blockIdx.x * THREADS + threadIdx.x;
    if (id >= LISTS) return;
    int32_t element = id == LISTS - 1 ? head : id;
    int32_t offset = 0;
    do {
        const int32_t successor = next[element];
        packed[element] = make_int2(id, offset++);
        element = successor;
    } while (!ends<LISTS>(head, element));
    sublists[id] = make_int2(element == head ? LISTS - 1 : element, offset);
}

__global__ void copy_next(const int32_t* __restrict__ next, int2* __restrict__ packed, int64_t n) {
    const int64_t i = blockIdx.x * 256ll + threadIdx.x;
    if (i < n) packed[i] = make_int2(next[i], 0);
}

namespace {
constexpr int LISTS = 196608;

template <class Work>
float timed(Work work) {
    cudaEvent_t start, end;
    cudaEventCreate(&start);
    cudaEventCreate(&end);
    cudaEventRecord(start);
    work();
    cudaEventRecord(end);
    cudaEventSynchronize(end);
    float ms = -1;
    cudaEventElapsedTime(&ms, start, end);
    cudaEventDestroy(start);
    cudaEventDestroy(end);
    return cudaGetLastError() == cudaSuccess ? ms : -1;
}
}  // namespace

// Each returns the milliseconds of one run, or -1. `packed` holds n pairs, `sublists` 196,608.
extern "C" float peer_split(int32_t head, const int32_t* next, void* packed, void* sublists) {
    return timed([&] {
        walk_split<LISTS><<<LISTS / THREADS, THREADS>>>(head, next, static_cast<int2*>(packed), static_cast<int2*>(sublists));
    });
}

extern "C" float peer_packed(int32_t head, const int32_t* next, void* packed, void* sublists, int64_t n) {
    return timed([&] {
        copy_next<<<(n + 255) / 256, 256>>>(next, static_cast<int2*>(packed), n);
        walk_packed<LISTS><<<LISTS / THREADS, THREADS>>>(head, static_cast<int2*>(packed), static_cast<int2*>(sublists));
    });
}

// Streams, events and launches of CUDA's runtime on the CPU, for tests of code that is written for it where there is no
// CUDA: as much as warpsmith.hpp, its example and emitted schedules need. A stream is a thread that works off a queue,
// so that what is not synchronised runs at the same time here, too.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

enum cudaError_t { cudaSuccess = 0, cudaErrorMemoryAllocation = 2, cudaErrorInvalidResourceHandle = 400 };
enum { cudaEventDisableTiming = 2, cudaStreamNonBlocking = 1, cudaHostAllocMapped = 2 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDefault = 4 };

#define __global__
#define __device__

struct dim3 {
    unsigned x = 1, y = 1, z = 1;
};

inline thread_local dim3 gridDim, blockDim, blockIdx, threadIdx;

struct cudaDeviceProp {
    char name[256];
};

namespace cuda_stub {

struct Stream {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> queue;
    bool busy = false, done = false;
    std::thread worker{[this] { work(); }};

    void work() {
        std::unique_lock lock(mutex);
        while (true) {
            changed.wait(lock, [&] { return done || !queue.empty(); });
            if (queue.empty()) return;
            auto next = std::move(queue.front());
            queue.pop_front();
            busy = true;
            lock.unlock();
            next();
            lock.lock();
            busy = false;
            changed.notify_all();
        }
    }

    void push(std::function<void()> what) {
        std::lock_guard lock(mutex);
        queue.push_back(std::move(what));
        changed.notify_all();
    }

    void wait() {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return queue.empty() && !busy; });
    }

    ~Stream() {
        {
            std::lock_guard lock(mutex);
            done = true;
            changed.notify_all();
        }
        worker.join();
    }
};

// A point in a stream's work.
struct Point {
    std::mutex mutex;
    std::condition_variable changed;
    bool reached = false;

    void reach() {
        std::lock_guard lock(mutex);
        reached = true;
        changed.notify_all();
    }

    void wait() {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return reached; });
    }
};

struct Event {
    std::shared_ptr<Point> point;
};

// A kernel's threads one after the other.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), unsigned grid, unsigned block, Stream* stream, Arguments... arguments) {
    stream->push([=] {
        gridDim.x = grid;
        blockDim.x = block;
        for (blockIdx.x = 0; blockIdx.x < grid; ++blockIdx.x)
            for (threadIdx.x = 0; threadIdx.x < block; ++threadIdx.x) kernel(arguments...);
    });
}

}  // namespace cuda_stub

using cudaStream_t = cuda_stub::Stream*;
using cudaEvent_t = cuda_stub::Event*;

inline const char* cudaGetErrorString(cudaError_t error) { return error == cudaSuccess ? "no error" : "an error"; }
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
// What is enqueued without a stream is done at once.
inline cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
inline cudaError_t cudaSetDevice(int) { return cudaSuccess; }
inline cudaError_t cudaGetDeviceCount(int* count) { return *count = 1, cudaSuccess; }
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
    return std::strcpy(properties->name, "threads in the place of CUDA"), cudaSuccess;
}

inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
    return *stream = new cuda_stub::Stream, cudaSuccess;
}
inline cudaError_t cudaStreamDestroy(cudaStream_t stream) { return delete stream, cudaSuccess; }
inline cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return stream->wait(), cudaSuccess; }

inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
    return *event = new cuda_stub::Event, cudaSuccess;
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event) { return delete event, cudaSuccess; }
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    auto point = event->point = std::make_shared<cuda_stub::Point>();
    return stream->push([point] { point->reach(); }), cudaSuccess;
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    if (event->point) event->point->wait();
    return cudaSuccess;
}
inline cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    if (auto point = event->point) stream->push([point] { point->wait(); });
    return cudaSuccess;
}

template <class T>
cudaError_t cudaMalloc(T** memory, std::size_t bytes) {
    *memory = static_cast<T*>(std::malloc(bytes));
    return *memory || !bytes ? cudaSuccess : cudaErrorMemoryAllocation;
}
template <class T>
cudaError_t cudaHostAlloc(T** memory, std::size_t bytes, unsigned) {
    return cudaMalloc(memory, bytes);
}
inline cudaError_t cudaFree(void* memory) { return std::free(memory), cudaSuccess; }
inline cudaError_t cudaFreeHost(void* memory) { return std::free(memory), cudaSuccess; }
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
    return std::memcpy(to, from, bytes), cudaSuccess;
}
inline cudaError_t cudaMemset(void* to, int value, std::size_t bytes) { return std::memset(to, value, bytes), cudaSuccess; }
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
    return stream->push([=] { std::memcpy(to, from, bytes); }), cudaSuccess;
}

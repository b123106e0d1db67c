// Repeats what trees.py measures of its peers, on input that is on the device before: with EULER defined the functions
// of euler-meets-cuda, otherwise those of FAST-BCC-on-GPUs. Their own timers print to standard output; "wall" is one
// whole call, of FAST-BCC's last one with the download of its result. To be linked with --wrap=cudaMalloc and
// --wrap=cudaFree: with POOL in the environment memory is of CUDA's pool, which keeps it from call to call.
//
//   PROGRAM tour|lca|naive|tarjan|bcc INPUT RUNS OUTPUT
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>
#include <cuda_runtime.h>

#ifdef EULER
#include "bridges.h"
#include "euler.h"
#include "lca.h"
#else
#include "common.hxx"
#include "euler.hxx"
#include "rst.hxx"
#include "tags.hxx"
#include "cc.hxx"
#endif

extern "C" {
cudaError_t __real_cudaMalloc(void** memory, size_t bytes);
cudaError_t __real_cudaFree(void* memory);

static bool pooled() {
    static const bool pooled = getenv("POOL") != nullptr;
    return pooled;
}

cudaError_t __wrap_cudaMalloc(void** memory, size_t bytes) {
    return pooled() ? cudaMallocAsync(memory, bytes, 0) : __real_cudaMalloc(memory, bytes);
}

cudaError_t __wrap_cudaFree(void* memory) { return pooled() ? cudaFreeAsync(memory, 0) : __real_cudaFree(memory); }
}

static void ok(bool right, const char* what) {
    if (right) return;
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static void ok(cudaError_t error) { ok(error == cudaSuccess, cudaGetErrorString(error)); }

template <typename T> static std::vector<T> get(FILE* file, size_t count) {
    std::vector<T> values(count);
    ok(fread(values.data(), sizeof(T), count, file) == count, "the input ends early");
    return values;
}

template <typename T> static T* upload(const std::vector<T>& values) {
    T* device;
    ok(cudaMalloc(&device, values.size() * sizeof(T)));
    ok(cudaMemcpy(device, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    return device;
}

template <typename T> static std::vector<T> download(const T* device, size_t count) {
    std::vector<T> values(count);
    ok(cudaMemcpy(values.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
}

static void write(const char* path, const std::vector<int>& values) {
    FILE* file = fopen(path, "wb");
    ok(file && fwrite(values.data(), sizeof(int), values.size(), file) == values.size() && fclose(file) == 0, path);
}

template <typename F> static void repeat(int runs, F call) {
    for (int run = 0; run < runs; run++) {
        ok(cudaDeviceSynchronize());
        const auto start = std::chrono::steady_clock::now();
        call(run + 1 == runs);
        ok(cudaDeviceSynchronize());
        const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
        std::cout << std::fixed << "wall: " << time.count() << " ms" << std::endl;
    }
}

int main(int argc, char** argv) {
    ok(argc == 5, "takes what to do, the input, the number of runs and the output");
    const std::string what = argv[1];
    FILE* file = fopen(argv[2], "rb");
    ok(file, argv[2]);
    const int runs = atoi(argv[3]);
    if (pooled()) {
        cudaMemPool_t pool;
        uint64_t most = UINT64_MAX;
        ok(cudaDeviceGetDefaultMemPool(&pool, 0));
        ok(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &most));
    }
    const int n = get<int>(file, 1)[0], second = get<int>(file, 1)[0];
    std::vector<int> result;
#ifdef EULER
    mgpu::standard_context_t context(false);
#endif
    if (what == "tour") {
        // Edges, of which the one with the root's number is no edge.
        const int root = second;
        const auto edges = get<uint64_t>(file, n);
#ifdef EULER
        std::vector<int> from, to;
        for (int i = 0; i < n; i++) {
            if (i == root) continue;
            from.push_back(edges[i] >> 32);
            to.push_back(edges[i] & 0xffffffff);
        }
        const int *there_from = upload(from), *there_to = upload(to);
        int* rank = upload(std::vector<int>(2 * size_t(n) - 2));
        repeat(runs, [&](bool) { cuda_euler_tour(n, root, there_from, there_to, rank, context); });
        const auto ranks = download(rank, 2 * size_t(n) - 2);
        result.assign(n, -1);
        for (int i = 0; i < n - 1; i++) {
            const bool down = ranks[i] < ranks[i + n - 1];
            result[down ? to[i] : from[i]] = down ? from[i] : to[i];
        }
#else
        uint64_t* there = upload(edges);
        repeat(runs, [&](bool last) {
            graph_data graph;
            graph.V = n;
            cuda_euler_tour(there, n, root, graph);
            print_total_function_time(what);
            function_times().clear();
            if (last) result = download(graph.parent, n);
        });
        result[root] = -1;
#endif
    }
#ifdef EULER
    else if (what == "lca") {
        const int* parents = upload(get<int>(file, n));
        const int count = get<int>(file, 1)[0];
        const int* pairs = upload(get<int>(file, 2 * size_t(count)));
        int* answers = upload(std::vector<int>(count));
        repeat(runs, [&](bool) { emc::cuda_lca_inlabel(n, parents, count, pairs, answers, count, context); });
        result = download(answers, count);
    } else {
        const int m = second;
        const int *offsets = upload(get<int>(file, n + 1)), *others = upload(get<int>(file, m));
        bool* bridges;
        ok(cudaMalloc(&bridges, m));
        const auto find = what == "naive" ? emc::cuda_bridges_naive : emc::cuda_bridges_tarjan;
        repeat(runs, [&](bool) { find(n, m, offsets, others, bridges, context); });
        std::vector<char> marks(m);
        ok(cudaMemcpy(marks.data(), bridges, m, cudaMemcpyDeviceToHost));
        int count = 0;
        for (const char mark : marks) count += mark != 0;
        // Each has two directions.
        result = {count / 2};
    }
#else
    else {
        const auto offsets = get<int>(file, n + 1), others = get<int>(file, second);
        std::vector<uint64_t> edges;
        for (int u = 0; u < n; u++) {
            for (int i = offsets[u]; i < offsets[u + 1]; i++) {
                if (u < others[i]) edges.push_back(uint64_t(u) << 32 | others[i]);
            }
        }
        uint64_t* there = upload(edges);
        repeat(runs, [&](bool last) {
            graph_data graph;
            graph.V = n;
            graph.E = edges.size();
            graph.edgelist = there;
            construct_st(graph);
            assign_tags(graph);
            CC(graph);
            print_total_function_time(what);
            function_times().clear();
            if (last) {
                const auto labels = download(graph.label, n);
                int count = 0;
                for (int v = 0; v < n; v++) count += labels[v] == v;
                result = {count};
            }
            // It would be freed.
            graph.edgelist = nullptr;
        });
    }
#endif
    write(argv[4], result);
}

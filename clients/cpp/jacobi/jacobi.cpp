// NVIDIA's Jacobi solver (https://github.com/NVIDIA/multi-gpu-programming-models) as a program whose iterations
// `warpsmith rules explore` schedules. It is linked with that project's kernels: see the Makefile.
//
// An iteration does what the project's variants `mpi` and `mpi_overlap` do: it computes a rank's rows, sends the first
// and the last one to the neighbours, and sums the squares of all changes. jacobi.json has what the variants differ in.
#define WARPSMITH_MPI
#include "../warpsmith.hpp"

using real = float;

// The project's, in mpi/jacobi_kernels.cu.
void launch_jacobi_kernel(real* a_new, const real* a, real* l2_norm, int iy_start, int iy_end, int nx, bool calculate_norm,
                          cudaStream_t stream);

// Enqueues work on a stream of the greatest priority, between what a stream had before and what it gets later.
class Urgent {
public:
    Urgent() {
        int least = 0, greatest = 0;
        warpsmith::check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
        warpsmith::check(cudaStreamCreateWithPriority(&own, cudaStreamNonBlocking, greatest), "cudaStreamCreateWithPriority");
        for (auto event : {&before, &after})
            warpsmith::check(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    }

    template <class Launch>
    void operator()(cudaStream_t stream, Launch launch) {
        cudaEventRecord(before, stream);
        cudaStreamWaitEvent(own, before, 0);
        launch(own);
        cudaEventRecord(after, own);
        cudaStreamWaitEvent(stream, after, 0);
    }

private:
    cudaStream_t own;
    cudaEvent_t before, after;
};

// A CUDA graph of what `capture` enqueues; another one for each state of the arrays, which `key` tells apart.
class Graphs {
public:
    template <class Capture>
    void operator()(cudaStream_t stream, const void* key, Capture capture) {
        auto& graph = graphs[key];
        if (!graph) {
            cudaGraph_t captured;
            warpsmith::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
            capture(stream);
            warpsmith::check(cudaStreamEndCapture(stream, &captured), "cudaStreamEndCapture");
            warpsmith::check(cudaGraphInstantiate(&graph, captured, 0), "cudaGraphInstantiate");
        }
        cudaGraphLaunch(graph, stream);
    }

private:
    std::map<const void*, cudaGraphExec_t> graphs;
};

// The value of a row of the whole grid, which is periodic, before an iteration.
real value(long row, long rows, int column) {
    long at = ((row + rows) % rows * 13 + column * 7L) % 101;
    return static_cast<real>(at) / 101;
}

int run(int rank, int ranks, int nx, int ny, const warpsmith::Options& options) {
    const int rows = ny / ranks;
    const long all = static_cast<long>(rows) * ranks, first = static_cast<long>(rows) * rank;
    const int top = (rank + ranks - 1) % ranks, bottom = (rank + 1) % ranks;
    const auto bytes = static_cast<std::size_t>(rows + 2) * nx * sizeof(real);
    std::vector<real> start(static_cast<std::size_t>(rows + 2) * nx), found(start.size());
    for (int row = 0; row < rows + 2; ++row)
        for (int column = 0; column < nx; ++column)
            start[static_cast<std::size_t>(row) * nx + column] = value(first + row - 1, all, column);
    real *a, *a_new, *norm, *copied, *staged, total = 0;
    warpsmith::check(cudaMalloc(&a, bytes), "cudaMalloc");
    warpsmith::check(cudaMalloc(&a_new, bytes), "cudaMalloc");
    warpsmith::check(cudaMalloc(&norm, sizeof(real)), "cudaMalloc");
    warpsmith::check(cudaMallocHost(&copied, sizeof(real)), "cudaMallocHost");
    // The rows sent to the top and the bottom, and those received from there.
    warpsmith::check(cudaMallocHost(&staged, 4 * nx * sizeof(real)), "cudaMallocHost");
    // Handles of all ranks' arrays: a rank maps those of its neighbours when it first writes there.
    real* const own[] = {a, a_new};
    cudaIpcMemHandle_t handles[2];
    for (int index : {0, 1}) warpsmith::check(cudaIpcGetMemHandle(&handles[index], own[index]), "cudaIpcGetMemHandle");
    std::vector<cudaIpcMemHandle_t> all_handles(2 * ranks);
    MPI_Allgather(handles, sizeof handles, MPI_BYTE, all_handles.data(), sizeof handles, MPI_BYTE, MPI_COMM_WORLD);
    std::map<int, real*> mapped;
    auto row_of = [&](int owner, int index) {
        const int array = 2 * owner + (a_new == own[1]);
        auto& start = mapped[array];
        if (!start && owner == rank) start = a_new;
        if (!start) {
            auto address = reinterpret_cast<void**>(&start);
            warpsmith::check(cudaIpcOpenMemHandle(address, all_handles[array], cudaIpcMemLazyEnablePeerAccess),
                             "cudaIpcOpenMemHandle");
        }
        return start + static_cast<std::size_t>(index) * nx;
    };
    MPI_Request requests[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    auto row = [&](int index) { return a_new + static_cast<std::size_t>(index) * nx; };
    auto stage = [&](int index) { return staged + static_cast<std::size_t>(index) * nx; };
    auto reset = [&](cudaStream_t stream) { cudaMemsetAsync(norm, 0, sizeof(real), stream); };
    auto compute = [&](int from, int to) {
        return [&, from, to](cudaStream_t stream) { launch_jacobi_kernel(a_new, a, norm, from, to, nx, true, stream); };
    };
    auto copy = [&](real* to, const real* from, cudaStream_t stream) {
        cudaMemcpyAsync(to, from, nx * sizeof(real), cudaMemcpyDefault, stream);
    };
    auto receive = [&](real* from_top, real* from_bottom) {
        MPI_Irecv(from_bottom, nx, MPI_FLOAT, bottom, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(from_top, nx, MPI_FLOAT, top, 1, MPI_COMM_WORLD, &requests[1]);
    };
    auto send_top = [&](const real* from) { MPI_Isend(from, nx, MPI_FLOAT, top, 0, MPI_COMM_WORLD, &requests[2]); };
    auto send_bottom = [&](const real* from) { MPI_Isend(from, nx, MPI_FLOAT, bottom, 1, MPI_COMM_WORLD, &requests[3]); };
    auto wait = [&] { MPI_Waitall(4, requests, MPI_STATUSES_IGNORE); };

    warpsmith::Program program;
    Urgent urgent_top, urgent_bottom;
    Graphs edges;
    program.gpu("Reset", "whole", reset);
    program.gpu("All", "whole", compute(1, rows + 1));
    for (const char* alternative : {"split", "urgent"}) {
        program.gpu("Reset", alternative, reset);
        program.gpu("Inner", alternative, compute(2, rows));
    }
    program.gpu("Top", "split", compute(1, 2));
    program.gpu("Top", "urgent", [&](cudaStream_t stream) { urgent_top(stream, compute(1, 2)); });
    program.gpu("Bottom", "split", compute(rows, rows + 1));
    program.gpu("Bottom", "urgent", [&](cudaStream_t stream) { urgent_bottom(stream, compute(rows, rows + 1)); });
    program.gpu("Edges", "graph", [&](cudaStream_t stream) {
        edges(stream, a, [&](cudaStream_t stream) {
            reset(stream);
            compute(1, 2)(stream);
            compute(rows, rows + 1)(stream);
        });
    });
    program.gpu("Inner", "graph", compute(2, rows));
    program.cpu("Receive", "direct", [&] { receive(row(0), row(rows + 1)); });
    program.cpu("SendTop", "direct", [&] { send_top(row(1)); });
    program.cpu("SendBottom", "direct", [&] { send_bottom(row(rows)); });
    program.cpu("Wait", "direct", wait);
    program.gpu("FetchTop", "staged", [&](cudaStream_t stream) { copy(stage(0), row(1), stream); });
    program.gpu("FetchBottom", "staged", [&](cudaStream_t stream) { copy(stage(1), row(rows), stream); });
    program.cpu("Receive", "staged", [&] { receive(stage(2), stage(3)); });
    program.cpu("SendTop", "staged", [&] { send_top(stage(0)); });
    program.cpu("SendBottom", "staged", [&] { send_bottom(stage(1)); });
    program.cpu("Wait", "staged", wait);
    program.gpu("Store", "staged", [&](cudaStream_t stream) {
        copy(row(0), stage(2), stream);
        copy(row(rows + 1), stage(3), stream);
    });
    program.gpu("PutTop", "put", [&](cudaStream_t stream) { copy(row_of(top, rows + 1), row(1), stream); });
    program.gpu("PutBottom", "put", [&](cudaStream_t stream) { copy(row_of(bottom, 0), row(rows), stream); });
    program.gpu("Copy", [&](cudaStream_t stream) {
        cudaMemcpyAsync(copied, norm, sizeof(real), cudaMemcpyDeviceToHost, stream);
    });
    program.cpu("Reduce", [&] { MPI_Allreduce(copied, &total, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); });
    program.cpu("Swap", [&] { std::swap(a, a_new); });

    auto wanted_at = [&](long at, int column) {
        return 0.25 * (double(value(at, all, column - 1)) + value(at, all, column + 1) + value(at - 1, all, column) +
                       value(at + 1, all, column));
    };
    double squares = 0, sum = 0;
    for (long at = first; at < first + rows; ++at)
        for (int column = 1; column < nx - 1; ++column) squares += std::pow(wanted_at(at, column) - value(at, all, column), 2);
    MPI_Allreduce(&squares, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    program.reset([&] {
        for (real* array : {a, a_new})
            warpsmith::check(cudaMemcpy(array, start.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
        total = 0;
    });
    program.check([&]() -> std::string {
        // After the swap, the result is in a. Rows at the ends and some between are enough.
        warpsmith::check(cudaMemcpy(found.data(), a, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
        for (int index = 0; index < rows + 2; ++index) {
            if (index > 2 && index < rows - 1 && index % 61 != 0) continue;
            for (int column = 1; column < nx - 1; ++column) {
                const double wanted = wanted_at(first + index - 1, column);
                const double here = found[static_cast<std::size_t>(index) * nx + column];
                if (!(std::abs(here - wanted) <= 1e-5))
                    return "row " + std::to_string(index) + ", column " + std::to_string(column) + ": " +
                           std::to_string(here) + " is not " + std::to_string(wanted);
            }
        }
        if (!(std::abs(total - sum) <= 1e-2 * sum))
            return "the norm is " + std::to_string(total) + ", not " + std::to_string(sum);
        return "";
    });
    return program.serve(options);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank, ranks, devices = 1, status = 2;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int nx = argc > 1 ? std::atoi(argv[1]) : 16384, ny = argc > 2 ? std::atoi(argv[2]) : 16384;
    warpsmith::Options options;
    options.statistic = warpsmith::Statistic::mean;
    if (argc > 3) options.seconds = std::atof(argv[3]);
    if (nx < 3 || ny / ranks < 3 || options.seconds <= 0) {
        if (rank == 0)
            std::cerr << "usage: jacobi [NX [NY [SECONDS]]], with at least 3 columns, and 3 rows for each rank" << std::endl;
    } else {
        warpsmith::check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
        warpsmith::check(cudaSetDevice(rank % devices), "cudaSetDevice");
        status = run(rank, ranks, nx, ny, options);
    }
    MPI_Finalize();
    return status;
}

// y = A x over ranks, with a sparse A whose rows are divided among them: the program of Pearson, Javeed and Devine,
// Machine Learning for CUDA+MPI Design Rules (2022), for warpsmith's explorer.
//
// Each rank has `rows` rows and as many entries of x. A row has entries in the rank's own columns (y_L) and one in the
// first `halo` columns of the next rank, whose entries of x are sent in each invocation (y_R). Two operations can be
// done in two ways each: Pack writes into the host's memory itself (`mapped`) or has its results copied there
// (`copied`), and y_L works on compressed rows (`csr`) or on columns of equal length (`ell`).
//
//     make && warpsmith rules explore spmv.json --output runs.csv -- mpirun -n 2 ./spmv 150000
#ifdef USE_MPI
#define WARPSMITH_MPI
#endif
#include "../warpsmith.hpp"

#ifdef __CUDACC__
#define LAUNCH(kernel, grid, block, stream, ...) kernel<<<grid, block, 0, stream>>>(__VA_ARGS__)
#else  // on the stub
#define LAUNCH(kernel, grid, block, stream, ...) cuda_stub::launch(kernel, grid, block, stream, __VA_ARGS__)
#endif

constexpr int width = 10;  // entries of a row in the rank's own columns
constexpr unsigned block = 256;

__global__ void gather(int n, const float* x, float* to) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = x[i];
}

__global__ void multiply_csr(int rows, const int* starts, const int* columns, const float* values, const float* x, float* y) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0;
    for (int at = starts[row]; at < starts[row + 1]; ++at) sum += values[at] * x[columns[at]];
    y[row] = sum;
}

// Entry k of all rows lies together, so that neighbouring threads read neighbouring words.
__global__ void multiply_ell(int rows, const int* columns, const float* values, const float* x, float* y) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0;
    for (int k = 0; k < width; ++k) sum += values[k * rows + row] * x[columns[k * rows + row]];
    y[row] = sum;
}

// Row i has column i % halo of the next rank.
__global__ void multiply_remote(int rows, int halo, const float* values, const float* received, float* y) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) y[row] = values[row] * received[row % halo];
}

__global__ void add_both(int rows, const float* a, const float* b, float* y) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) y[row] = a[row] + b[row];
}

template <class T>
T* on_device(const std::vector<T>& values) {
    T* memory = nullptr;
    warpsmith::check(cudaMalloc(&memory, values.size() * sizeof(T)), "cudaMalloc");
    warpsmith::check(cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
    return memory;
}

template <class T>
T* on_host(int count) {
    T* memory = nullptr;
    // With unified addressing, kernels use the same pointer.
    warpsmith::check(cudaHostAlloc(&memory, static_cast<std::size_t>(count) * sizeof(T), cudaHostAllocMapped), "cudaHostAlloc");
    return memory;
}

// x[i] of a rank, and entries of its matrix, as anybody can compute them.
float x_of(int rank, int i) { return 1 + static_cast<float>((i * 7 + rank * 3) % 11) / 8; }
int column_of(int rows, int row, int k) { return static_cast<int>((row + 1LL * k * k * 37 + k * 11) % rows); }
float value_of(int row, int k) { return static_cast<float>((row + k) % 5 + 1) / 4; }

int run(int rank, int ranks, int rows) {
    const int halo = std::min(rows, 1 + rows / 8);
    const unsigned grid = (static_cast<unsigned>(rows) + block - 1) / block;
    std::vector<int> starts(static_cast<std::size_t>(rows) + 1), csr_columns, ell_columns(static_cast<std::size_t>(rows) * width);
    std::vector<float> csr_values, ell_values(ell_columns.size()), own(static_cast<std::size_t>(rows)), remote(own.size()), y(own.size());
    std::vector<double> expected(own.size());
    const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
    for (int row = 0; row < rows; ++row) {
        own[row] = x_of(rank, row);
        remote[row] = value_of(row, width);
        expected[row] = static_cast<double>(remote[row]) * x_of(next, row % halo);
        for (int k = 0; k < width; ++k) {
            int column = column_of(rows, row, k);
            csr_columns.push_back(column);
            csr_values.push_back(value_of(row, k));
            ell_columns[static_cast<std::size_t>(k) * rows + row] = column;
            ell_values[static_cast<std::size_t>(k) * rows + row] = value_of(row, k);
            expected[row] += static_cast<double>(value_of(row, k)) * x_of(rank, column);
        }
        starts[row + 1] = static_cast<int>(csr_columns.size());
    }
    int *d_starts = on_device(starts), *d_csr_columns = on_device(csr_columns), *d_ell_columns = on_device(ell_columns);
    float *d_csr = on_device(csr_values), *d_ell = on_device(ell_values), *d_remote = on_device(remote), *x = on_device(own);
    float *packed = on_device(own), *y_l = on_device(y), *y_r = on_device(y), *sum = on_device(y);
    float *sent = on_host<float>(halo), *received = on_host<float>(halo);

    warpsmith::Program program;
    program.gpu("Pack", "mapped", [&](cudaStream_t stream) { LAUNCH(gather, grid, block, stream, halo, x, sent); });
    program.gpu("Pack", "copied", [&](cudaStream_t stream) {
        LAUNCH(gather, grid, block, stream, halo, x, packed);
        auto bytes = static_cast<std::size_t>(halo) * sizeof(float);
        warpsmith::check(cudaMemcpyAsync(sent, packed, bytes, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
    });
#ifdef USE_MPI
    MPI_Request sending, receiving;
    program.cpu("PostSend", [&] { MPI_Isend(sent, halo, MPI_FLOAT, previous, 0, MPI_COMM_WORLD, &sending); });
    program.cpu("PostRecv", [&] { MPI_Irecv(received, halo, MPI_FLOAT, next, 0, MPI_COMM_WORLD, &receiving); });
    program.cpu("WaitSend", [&] { MPI_Wait(&sending, MPI_STATUS_IGNORE); });
    program.cpu("WaitRecv", [&] { MPI_Wait(&receiving, MPI_STATUS_IGNORE); });
#else
    // One rank is its own neighbour.
    (void)previous;
    program.cpu("PostSend", [] {});
    program.cpu("PostRecv", [] {});
    program.cpu("WaitSend", [] {});
    program.cpu("WaitRecv", [&] { std::copy(sent, sent + halo, received); });
#endif
    program.gpu("y_L", "csr", [&](cudaStream_t stream) {
        LAUNCH(multiply_csr, grid, block, stream, rows, d_starts, d_csr_columns, d_csr, x, y_l);
    });
    program.gpu("y_L", "ell", [&](cudaStream_t stream) {
        LAUNCH(multiply_ell, grid, block, stream, rows, d_ell_columns, d_ell, x, y_l);
    });
    program.gpu("y_R", [&](cudaStream_t stream) { LAUNCH(multiply_remote, grid, block, stream, rows, halo, d_remote, received, y_r); });
    program.gpu("add", [&](cudaStream_t stream) { LAUNCH(add_both, grid, block, stream, rows, y_l, y_r, sum); });

    // Not a number, whatever is read too early.
    program.reset([&] {
        for (float* array : {y_l, y_r, sum, packed}) {
            auto count = static_cast<std::size_t>(rows) * sizeof(float);
            warpsmith::check(cudaMemset(array, 0xff, count), "cudaMemset");
        }
        std::fill(sent, sent + halo, NAN);
        std::fill(received, received + halo, NAN);
    });
    program.check([&]() -> std::string {
        warpsmith::check(cudaMemcpy(y.data(), sum, y.size() * sizeof(float), cudaMemcpyDeviceToHost), "cudaMemcpy");
        for (std::size_t row = 0; row < y.size(); ++row)
            if (!(std::abs(y[row] - expected[row]) <= 1e-4 * std::abs(expected[row])))
                return "y[" + std::to_string(row) + "] is " + std::to_string(y[row]) + ", not " + std::to_string(expected[row]);
        return "";
    });
    return program.serve();
}

int main(int argc, char** argv) {
    int rank = 0, ranks = 1;
#ifdef USE_MPI
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
#endif
    int rows = argc > 1 ? std::atoi(argv[1]) : 150000, devices = 1, status = 2;
    if (rows < 1 || rows > 100000000) {
        std::cerr << "usage: spmv [ROWS], with 1 to 100,000,000 rows for each rank" << std::endl;
    } else {
        // The ranks of a node take its devices in turns.
        warpsmith::check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
        warpsmith::check(cudaSetDevice(rank % devices), "cudaSetDevice");
        status = run(rank, ranks, rows);
    }
#ifdef USE_MPI
    MPI_Finalize();
#endif
    return status;
}

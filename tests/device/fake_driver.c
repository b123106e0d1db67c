// A libcuda.so.1 with two GPUs, for tests/device/driver.rs. They have contexts, streams and memory (the host's, at
// addresses that say which GPU's it is: the first's from 2^40 on, the second's from 2^41 on); kernels do nothing. What
// belongs to another context than the current one is refused, as by a real driver; a module has the entries and constants of
// its PTX.
//
// FAKE_CUDA_FAIL=function:code lets that function (or with * each) return this code instead; function#n:code only from its
// nth call on.
// FAKE_CUDA_VERSION is the version of the driver, as a number.
// FAKE_CUDA_TOGETHER=n lets the first libraries be loaded once n threads load one.

#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_DEVICE = 101, INVALID_CONTEXT = 201, INVALID_HANDLE = 400, NOT_FOUND = 500 };
enum { GPUS = 2, POOL = 64 << 20 };

typedef struct Context { int gpu; } Context;
typedef struct Owned { Context *context; } Owned;
typedef struct Module { Context *context; const char *ptx; } Module;

static Context primary[GPUS] = {{0}, {1}};
static __thread Context *current;
static uint64_t used[GPUS];

static int failure(const char *name) {
    const char *fail = getenv("FAKE_CUDA_FAIL");
    if (!fail) return 0;
    static int calls;
    size_t length = strcspn(fail, "#:");
    int meant = (length == 1 && fail[0] == '*') || (length == strlen(name) && !strncmp(fail, name, length));
    if (meant && fail[length] == '#' && __sync_add_and_fetch(&calls, 1) < atoi(fail + length + 1)) return 0;
    return meant ? atoi(strchr(fail, ':') + 1) : 0;
}

#define ENTRY \
    { int code = failure(__func__); if (code) return code; }
#define NEEDS(condition, code) \
    if (!(condition)) return code;
#define IN_CONTEXT ENTRY NEEDS(current, INVALID_CONTEXT)
#define MINE(owned) NEEDS((owned) && (owned)->context == current, INVALID_HANDLE)

static int make(Owned **out) {
    *out = malloc(sizeof **out);
    (*out)->context = current;
    return 0;
}

// The GPU whose memory an address is in, or -1 for the host's.
static int gpu_of(uint64_t address) {
    uint64_t place = address >> 40;
    return place == 1 || place == 2 ? (int)place - 1 : -1;
}

int cuInit(unsigned flags) { ENTRY return flags == 0 ? 0 : INVALID_VALUE; }
int cuDriverGetVersion(int *version) {
    const char *number = getenv("FAKE_CUDA_VERSION");
    return *version = number ? atoi(number) : 13000, 0;
}
int cuGetErrorName(int code, const char **name) { return *name = 0, code ? INVALID_VALUE : 0; }
int cuGetErrorString(int code, const char **text) { return *text = 0, code ? INVALID_VALUE : 0; }

int cuDeviceGetCount(int *count) { ENTRY return *count = GPUS, 0; }
int cuDeviceGet(int *device, int ordinal) {
    ENTRY NEEDS(ordinal >= 0 && ordinal < GPUS, INVALID_DEVICE)
    // A handle needn't be the ordinal.
    return *device = 70 + ordinal, 0;
}
int cuDeviceGetName(char *name, int bytes, int device) {
    ENTRY strncpy(name, "Fake GPU", bytes);
    return 0;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device) { ENTRY return *bytes = POOL, 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    ENTRY NEEDS(device == 70 || device == 71, INVALID_DEVICE)
    switch (attribute) {
    case 1: case 2: case 3: *value = 1024; break;          // threads of a block
    case 4: *value = 64; break;
    case 5: *value = 0x7fffffff; break;                     // blocks of a grid
    case 6: case 7: *value = 65535; break;
    case 8: *value = 48 << 10; break;                       // shared memory
    case 97: *value = 227 << 10; break;
    case 10: *value = 32; break;                            // lanes of a warp
    case 16: *value = 4; break;                             // multiprocessors
    case 39: *value = 2048; break;
    case 75: *value = 9; break;                             // capability
    case 76: *value = 0; break;
    default: *value = 1 << 20;
    }
    return 0;
}
int cuDevicePrimaryCtxRetain(Context **context, int device) {
    // Of one GPU alone it may fail, too.
    char name[64];
    snprintf(name, sizeof name, "%s %d", __func__, device - 70);
    int code = failure(name);
    ENTRY NEEDS(!code, code)
    return *context = &primary[device - 70], 0;
}
int cuDeviceCanAccessPeer(int *can, int device, int peer) { ENTRY return *can = 1, 0; }

int cuCtxGetCurrent(Context **context) { ENTRY return *context = current, 0; }
int cuCtxSetCurrent(Context *context) { ENTRY return current = context, 0; }
int cuCtxCreate_v2(Context **context, unsigned flags, int device) {
    *context = current = malloc(sizeof **context);
    current->gpu = device - 70;
    return 0;
}
int cuCtxSynchronize(void) { IN_CONTEXT return 0; }
int cuCtxGetLimit(size_t *value, int limit) { IN_CONTEXT return *value = 1024, 0; }
int cuCtxSetLimit(int limit, size_t value) { IN_CONTEXT return 0; }
int cuCtxEnablePeerAccess(Context *peer, unsigned flags) { IN_CONTEXT return peer == current ? INVALID_VALUE : 0; }

int cuMemGetInfo_v2(size_t *free, size_t *total) { IN_CONTEXT return *free = POOL - used[current->gpu], *total = POOL, 0; }
int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
    IN_CONTEXT
    uint64_t base = 1ull << (40 + current->gpu);
    if (!used[current->gpu]) {
        void *pool = mmap((void *)base, POOL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        NEEDS(pool == (void *)base, OUT_OF_MEMORY)
    }
    bytes = (bytes + 255) / 256 * 256;
    NEEDS(bytes <= POOL - used[current->gpu], OUT_OF_MEMORY)
    *address = base + used[current->gpu];
    used[current->gpu] += bytes;
    return 0;
}
int cuMemFree_v2(uint64_t address) { IN_CONTEXT return gpu_of(address) == current->gpu ? 0 : INVALID_VALUE; }
int cuMemHostAlloc(void **address, size_t bytes, unsigned flags) {
    IN_CONTEXT return *address = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096), 0;
}
int cuMemFreeHost(void *address) { IN_CONTEXT return free(address), 0; }

static int copy(uint64_t to, uint64_t from, size_t bytes) { return memcpy((void *)to, (void *)from, bytes), 0; }
#define LOCAL(address) NEEDS(gpu_of(address) == current->gpu, INVALID_VALUE)
int cuMemcpyHtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, Owned *stream) {
    IN_CONTEXT MINE(stream) LOCAL(to) return copy(to, from, bytes);
}
int cuMemcpyDtoHAsync_v2(uint64_t to, uint64_t from, size_t bytes, Owned *stream) {
    IN_CONTEXT MINE(stream) LOCAL(from) return copy(to, from, bytes);
}
int cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes, Owned *stream) { IN_CONTEXT MINE(stream) return copy(to, from, bytes); }
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t n, Owned *stream) {
    IN_CONTEXT MINE(stream) LOCAL(to) return memset((void *)to, value, n), 0;
}
int cuMemsetD16Async(uint64_t to, unsigned short value, size_t n, Owned *stream) {
    IN_CONTEXT MINE(stream) LOCAL(to)
    for (size_t i = 0; i < n; i++) ((unsigned short *)to)[i] = value;
    return 0;
}
int cuMemsetD32Async(uint64_t to, unsigned value, size_t n, Owned *stream) {
    IN_CONTEXT MINE(stream) LOCAL(to)
    for (size_t i = 0; i < n; i++) ((unsigned *)to)[i] = value;
    return 0;
}

int cuStreamCreate(Owned **stream, unsigned flags) { IN_CONTEXT return make(stream); }
int cuStreamDestroy_v2(Owned *stream) { IN_CONTEXT MINE(stream) return 0; }
int cuStreamSynchronize(Owned *stream) { IN_CONTEXT MINE(stream) return 0; }
int cuStreamQuery(Owned *stream) { IN_CONTEXT MINE(stream) return 0; }
int cuStreamWaitEvent(Owned *stream, Owned *event, unsigned flags) { IN_CONTEXT MINE(stream) return 0; }
int cuStreamBeginCapture_v2(Owned *stream, unsigned mode) { IN_CONTEXT MINE(stream) return 0; }
int cuStreamEndCapture(Owned *stream, Owned **graph) { IN_CONTEXT MINE(stream) return make(graph); }

int cuGraphInstantiateWithFlags(Owned **exec, Owned *graph, unsigned long long flags) { IN_CONTEXT MINE(graph) return make(exec); }
int cuGraphUpload(Owned *exec, Owned *stream) { IN_CONTEXT MINE(exec) MINE(stream) return 0; }
int cuGraphLaunch(Owned *exec, Owned *stream) { IN_CONTEXT MINE(exec) MINE(stream) return 0; }
int cuGraphExecDestroy(Owned *exec) { IN_CONTEXT MINE(exec) return 0; }
int cuGraphDestroy(Owned *graph) { IN_CONTEXT MINE(graph) return 0; }

int cuEventCreate(Owned **event, unsigned flags) { IN_CONTEXT return make(event); }
int cuEventDestroy_v2(Owned *event) { IN_CONTEXT MINE(event) return 0; }
int cuEventRecord(Owned *event, Owned *stream) { IN_CONTEXT MINE(event) MINE(stream) return 0; }
int cuEventQuery(Owned *event) { IN_CONTEXT MINE(event) return 0; }
int cuEventSynchronize(Owned *event) { IN_CONTEXT MINE(event) return 0; }
int cuEventElapsedTime(float *milliseconds, Owned *start, Owned *end) { IN_CONTEXT MINE(start) MINE(end) return *milliseconds = 1, 0; }

int cuModuleLoadDataEx(Module **module, const char *image, unsigned options, int *keys, void **values) {
    IN_CONTEXT
    *module = malloc(sizeof **module);
    **module = (Module){current, strdup(image)};
    return 0;
}
static int loading, most_loading;
// 1 is eager, 2 lazy.
int cuModuleGetLoadingMode(int *mode) {
    const char *wish = getenv("CUDA_MODULE_LOADING");
    ENTRY return *mode = wish && !strcmp(wish, "EAGER") ? 1 : 2, 0;
}
static int has_libraries(void) {
    int version;
    return cuDriverGetVersion(&version), version >= 12000;
}
int cuLibraryLoadData(char **library, const char *image, int *keys, void **values, unsigned options, int *own_keys, void **own_values,
                      unsigned own_options) {
    IN_CONTEXT NEEDS(has_libraries(), NOT_FOUND) NEEDS(options == 3 && keys && values && !own_options, INVALID_VALUE)
    const char *together = getenv("FAKE_CUDA_TOGETHER");
    int now = __sync_add_and_fetch(&loading, 1);
    if (together) {
        if (now >= atoi(together)) most_loading = now;
        // Ten seconds at most.
        for (int i = 0; i < 10000 && *(volatile int *)&most_loading < atoi(together); i++) usleep(1000);
    }
    __sync_sub_and_fetch(&loading, 1);
    NEEDS(!together || most_loading >= atoi(together), NOT_FOUND)
    return *library = strdup(image), 0;
}
int cuLibraryGetModule(Module **module, char *library) {
    IN_CONTEXT
    *module = malloc(sizeof **module);
    **module = (Module){current, library};
    return 0;
}
// The linker joins the texts.
int cuLinkCreate_v2(unsigned options, int *keys, void **values, char **state) { IN_CONTEXT return *state = calloc(1, 1 << 22), 0; }
int cuLinkAddData_v2(char *state, int kind, const char *ptx, size_t bytes, const char *name, unsigned options, int *keys, void **values) {
    IN_CONTEXT NEEDS(kind == 1 && bytes == strlen(ptx) + 1 && strlen(state) + bytes < 1 << 22, INVALID_VALUE)
    strcat(state, ptx);
    return 0;
}
int cuLinkComplete(char *state, char **image, size_t *bytes) { IN_CONTEXT return *image = state, *bytes = strlen(state), 0; }
int cuLinkDestroy(char *state) { IN_CONTEXT return free(state), 0; }
// What follows `before`, `name` and `after` in the PTX.
static const char *find(Module *module, const char *before, const char *name, const char *after) {
    char text[256];
    snprintf(text, sizeof text, "%s%s%s", before, name, after);
    const char *found = strstr(module->ptx, text);
    return found ? found + strlen(text) : 0;
}
int cuModuleGetFunction(Owned **function, Module *module, const char *name) {
    IN_CONTEXT MINE(module) NEEDS(find(module, ".entry ", name, "("), NOT_FOUND)
    return make(function);
}
int cuModuleGetGlobal_v2(uint64_t *address, size_t *bytes, Module *module, const char *name) {
    IN_CONTEXT MINE(module)
    const char *size = find(module, " ", name, "[");
    NEEDS(size, NOT_FOUND)
    return cuMemAlloc_v2(address, *bytes = atoi(size));
}
int cuFuncGetAttribute(int *value, int attribute, Owned *function) {
    IN_CONTEXT MINE(function)
    *value = attribute == 0 ? 1024 : attribute == 8 ? 48 << 10 : 0;
    return 0;
}
int cuFuncSetAttribute(Owned *function, int attribute, int value) { IN_CONTEXT MINE(function) return 0; }
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Owned *function, int threads, size_t shared) {
    IN_CONTEXT MINE(function) return *blocks = 2, 0;
}
int cuLaunchKernel(Owned *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   Owned *stream, void **parameters, void **extra) {
    IN_CONTEXT MINE(function) MINE(stream) return 0;
}

// A libcuda.so.1 with a handful of functions, for tests/loader.rs. One of these is defined: DRIVER, STUB, NOT_A_DRIVER.

#ifdef DRIVER
int cuInit(unsigned flags) { return flags == 0 ? 0 : 1; }

int cuDriverGetVersion(int *version) {
    *version = 13000;
    return 0;
}

int cuDeviceGetCount(int *count) {
    *count = 3;
    return 0;
}

// Stands in for a function with more arguments than there are registers, of both kinds.
int cuLaunchKernel(int a, long b, int c, long d, int e, long f, int g, long h, int i, long j, double p, float q, double r,
                   float s, double t, float u, double v, float w, double x, double y, double *out) {
    long integers[] = {a, b, c, d, e, f, g, h, i, j};
    double numbers[] = {p, q, r, s, t, u, v, w, x, y};
    for (int n = 0; n < 10; n++) {
        out[n] = (double)integers[n];
        out[10 + n] = numbers[n];
    }
    return 77;
}
#endif

#ifdef STUB
int cuInit(unsigned flags) { return 34; }
int cuDriverGetVersion(int *version) { return 34; }
#endif

#ifdef NOT_A_DRIVER
int cuInit(unsigned flags) { return 0; }
#endif

//! Items that nearly every kernel uses: `use cuda_std::prelude::*;`.

pub use crate::{
    Bf16x2, DeviceCopy, DisjointMatrix, DisjointSlice, F16x2, F32x2, F32x4, F64x2, Function, GpuFloat, I32x2, I32x4, KernelParam,
    SharedArray, TensorMap, TensorMapMut, U32x2, U32x4, U64x2, ValueParam, arch, atomic, bf16, cluster, constant, dynamic_shared,
    dynamic_shared_size, f16, function, is_gpu, kernel, math, mem, mma, ptx_asm, shared_array, thread, warp,
};

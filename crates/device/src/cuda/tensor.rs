//! Descriptions of tensors, by a function of the driver that came with CUDA 12.0.

use super::{Code, Cuda};
use cuda_std::tensor::{Descriptor, Layout};
use std::ffi::{c_int, c_void};
use std::{mem, ptr};

impl Cuda {
    /// Has the driver describe the tensor. The error is a clause.
    pub(in super::super) fn encode(&self, layout: &Layout, rank: u32) -> Result<Descriptor, String> {
        type Encode = unsafe extern "C" fn(
            *mut Descriptor,
            c_int,
            u32,
            *mut c_void,
            *const u64,
            *const u64,
            *const u32,
            *const u32,
            c_int,
            c_int,
            c_int,
            c_int,
        ) -> Code;
        if let Some((major @ ..9, minor)) = self.info.compute_capability {
            return Err(format!("GPUs copy boxes of tensors from compute capability 9.0 on, and this one has {major}.{minor}"));
        }
        let function = cuda_loader::load().ok().and_then(|driver| driver.symbol(c"cuTensorMapEncodeTiled"));
        let Some(function) = function else {
            return Err("the driver has no cuTensorMapEncodeTiled, which came with CUDA 12.0".to_owned());
        };
        // SAFETY: it is the driver's function of this name, which has this signature since CUDA 12.0.
        let function: Encode = unsafe { mem::transmute(function.as_ptr()) };
        // The driver's numbers of unsigned integers: nothing but copies is done with the elements.
        let element = [(1, 0), (2, 1), (4, 2), (8, 4)].into_iter().find(|(bytes, _)| *bytes == layout.element);
        let (extents, strides) = (layout.extents.map(|n| n as u64), layout.strides.map(|n| n as u64));
        let mut descriptor = Descriptor([0; 16]);
        // SAFETY: the arrays have as many elements as the rank says, or more; strides begin with the second dimension's. The
        // last four: no interleaving, the swizzle, whole sectors of 128 bytes into the L2 cache, zeroes out of bounds.
        let code = unsafe {
            function(
                &mut descriptor,
                element.map_or(0, |(_, number)| number),
                rank,
                ptr::with_exposed_provenance_mut(layout.address),
                extents.as_ptr(),
                strides[1..].as_ptr(),
                layout.tile.as_ptr(),
                [1; 3].as_ptr(),
                0,
                layout.swizzle as c_int,
                2,
                0,
            )
        };
        if code == Code::SUCCESS { Ok(descriptor) } else { Err(format!("the driver says: {}", code.text())) }
    }
}

//! A heap for kernels: [`device_heap!`](crate::device_heap!).

/// Gives the crates of a kernel crate a heap on the device, so that they may use the crate `alloc`: `Vec`, `Box`,
/// `String`, `BTreeMap`, ... It stands once, at the root of the kernel crate, beside `extern crate alloc;`.
///
/// GPU: the driver's `malloc` and `free`, from any thread. Another thread, or a later launch, may
/// free an allocation. They are slow, some microseconds for each call, as all threads share one
/// heap. It has 8 MiB unless the host asks for more before it uses a kernel that allocates
/// (`warpsmith_device::Device::set_heap_size`). If it is exhausted, `alloc` panics, as allocations
/// in Rust do; `try_reserve` gives an error instead. CPU: the program's allocator.
///
/// ```
/// extern crate alloc;
///
/// use alloc::vec::Vec;
/// use cuda_std::prelude::*;
///
/// cuda_std::device_heap!();
///
/// /// `out[i]` is the median of the values from `i` on.
/// #[kernel]
/// pub fn medians(values: &[f32], mut out: DisjointSlice<f32>) {
///     for (i, out) in out.grid_stride_mut() {
///         let mut sorted: Vec<f32> = values[i..].to_vec();
///         sorted.sort_unstable_by(f32::total_cmp);
///         *out = sorted[sorted.len() / 2];
///     }
/// }
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! device_heap {
    () => {
        $crate::__device! {
            #[global_allocator]
            static DEVICE_HEAP: $crate::heap::DeviceHeap = $crate::heap::DeviceHeap;
        }
    };
}

/// The driver's heap, as Rust's allocator (device only).
#[cfg(cuda_device)]
#[derive(Debug, Clone, Copy)]
pub struct DeviceHeap;

#[cfg(cuda_device)]
mod device {
    use super::DeviceHeap;
    use core::{
        alloc::{GlobalAlloc, Layout},
        ptr,
    };

    unsafe extern "C" {
        /// The driver's. Null where the heap is exhausted.
        fn malloc(bytes: usize) -> *mut u8;
        /// The driver's.
        fn free(memory: *mut u8);
    }

    /// Alignment of `malloc`, in bytes.
    const ALIGN: usize = 16;

    // SAFETY: memory is the driver's, which gives it to nobody else before it is freed; it is as large and as aligned as
    // asked for. Nothing here unwinds.
    unsafe impl GlobalAlloc for DeviceHeap {
        #[inline]
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            if layout.align() <= ALIGN {
                // SAFETY: any size may be asked for.
                return unsafe { malloc(layout.size()) };
            }
            // The address that was given stands before the aligned one.
            let Some(bytes) = layout.size().checked_add(layout.align()) else {
                return ptr::null_mut();
            };
            // SAFETY: any size may be asked for. The address is a multiple of 16, so the distance
            // to the next address of the larger alignment is at least 16 bytes and at most the
            // bytes added.
            unsafe {
                let base = malloc(bytes);
                if base.is_null() {
                    return base;
                }
                let aligned = base.add(layout.align() - (base.addr() & (layout.align() - 1)));
                aligned.cast::<*mut u8>().sub(1).write(base);
                aligned
            }
        }

        #[inline]
        unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
            // SAFETY: the memory is of `alloc` with this layout, as the caller has promised, which wrote the address that it
            // was given before one of a larger alignment.
            unsafe { free(if layout.align() <= ALIGN { memory } else { memory.cast::<*mut u8>().sub(1).read() }) }
        }
    }
}

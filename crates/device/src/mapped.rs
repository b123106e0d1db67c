//! Memory of the host that a device accesses in place.

use super::buffer::{View, ViewMut, page};
use super::cuda::CudaStream;
use super::order::Page;
use super::pinned::PinnedBuffer;
use super::{Device, DeviceError};
use bytemuck::Zeroable;
use cuda_std::DeviceCopy;
use std::fmt;

/// An array of `T` in page-locked memory of the host that kernels of a device read and write in place: what a kernel
/// writes there is on its way to the host at once, without a copy behind it.
///
/// Made by [`Device::mapped`]. On CUDA each access crosses the bus, so that kernels should touch each element once and
/// in order. On the CPU it is ordinary memory.
///
/// As with a [`Buffer`](super::Buffer), work on streams is asynchronous, and work on several streams is kept in order;
/// but the host may look at the elements only while no work that uses them is under way.
pub struct MappedBuffer<T: DeviceCopy> {
    device: Device,
    memory: PinnedBuffer<T>,
    page: Option<Page<CudaStream>>,
}

impl<T: DeviceCopy> MappedBuffer<T> {
    pub(super) fn new(device: &Device, len: usize) -> Result<Self, DeviceError>
    where
        T: Zeroable,
    {
        Ok(MappedBuffer { device: device.clone(), memory: PinnedBuffer::new(device, len)?, page: page(device) })
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.memory.len()
    }

    /// Returns true if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.memory.is_empty()
    }

    /// The device that sees it.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// All elements, for streams and kernels.
    pub fn as_view(&self) -> View<'_, T> {
        // SAFETY: as many elements are there as long as the buffer, and memory that the driver locked has the same
        // address on its devices as on the host (unified addressing).
        unsafe { View::from_raw(&self.device, self.page.as_ref().map(Page::number), self.host_ptr(), self.len()) }
    }

    /// All elements, for streams and kernels to write.
    pub fn as_view_mut(&mut self) -> ViewMut<'_, T> {
        // SAFETY: as many elements are there as long as the buffer, which is borrowed mutably, at the same address on
        // the device as on the host (unified addressing).
        unsafe { ViewMut::from_raw(&self.device, self.page.as_ref().map(Page::number), self.host_ptr(), self.len()) }
    }

    /// The address of the first element on the host, which stays the same. Not null, even where there are no elements.
    pub fn host_ptr(&self) -> *mut T {
        self.memory.first().as_ptr()
    }

    /// The elements, for the host.
    ///
    /// # Safety
    /// While the slice is used, nothing on a stream writes them. No work that wrote them has failed halfway, unless any
    /// bytes are a value of `T`.
    pub unsafe fn as_slice(&self) -> &[T] {
        &self.memory
    }

    /// The elements, for the host to write.
    ///
    /// # Safety
    /// While the slice is used, nothing on a stream reads or writes them. No work that wrote them has failed halfway,
    /// unless any bytes are a value of `T`.
    pub unsafe fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.memory
    }
}

impl<T: DeviceCopy> Drop for MappedBuffer<T> {
    fn drop(&mut self) {
        // The driver does not promise to wait for kernels that use it. After a fault they are over.
        _ = self.device.synchronize();
    }
}

impl<T: DeviceCopy> fmt::Debug for MappedBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MappedBuffer<{}>({:p}; {})", std::any::type_name::<T>(), self.host_ptr(), self.len())
    }
}

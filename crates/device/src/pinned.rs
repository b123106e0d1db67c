//! Page-locked memory of the host, and transfers that go on while the host does something else.

use super::buffer::byte_size;
use super::cpu::Allocation;
use super::cuda::HostMemory;
use super::event::Event;
use super::{Backend, Device, DeviceError, Inner};
use bytemuck::Zeroable;
use cuda_std::DeviceCopy;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// An array of `T` in page-locked memory of the host, which a GPU reads and writes at full speed while the host goes
/// on.
///
/// Made by [`Device::pinned`]. On the CPU it is ordinary memory. Locked memory is taken from the whole system and slow
/// to allocate, so keep what is needed again.
pub struct PinnedBuffer<T: DeviceCopy> {
    memory: Memory,
    len: usize,
    element: PhantomData<T>,
}

#[derive(Debug)]
enum Memory {
    Empty,
    Cuda(HostMemory),
    Cpu(Allocation),
}

impl<T: DeviceCopy> PinnedBuffer<T> {
    /// Zeroes.
    pub(super) fn new(device: &Device, len: usize) -> Result<Self, DeviceError>
    where
        T: Zeroable,
    {
        let bytes = byte_size::<T>(device, len)?;
        let memory = match &device.inner {
            _ if bytes == 0 => Memory::Empty,
            Inner::Cuda(cuda) => Memory::Cuda(HostMemory::new(cuda, bytes)?),
            Inner::Cpu(_) => Memory::Cpu(Allocation::new(bytes)?),
        };
        Ok(PinnedBuffer { memory, len, element: PhantomData })
    }

    pub(super) fn first(&self) -> NonNull<T> {
        match &self.memory {
            Memory::Empty => NonNull::dangling(),
            Memory::Cuda(memory) => memory.address().cast(),
            Memory::Cpu(memory) => memory.address().cast(),
        }
    }

    /// Returns true if transfers on `device` can run asynchronously: memory locked for CUDA serves
    /// all CUDA devices.
    pub(super) fn suits(&self, device: &Device) -> bool {
        match self.memory {
            Memory::Empty => true,
            Memory::Cuda(_) => device.backend() == Backend::Cuda,
            Memory::Cpu(_) => device.backend() == Backend::Cpu,
        }
    }
}

impl<T: DeviceCopy> Deref for PinnedBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: that many elements are there, zeroed at first, which is a value of `T` (`new` demands it), and
        // nobody else has a reference to them: while the driver writes them, a `Pending` has this buffer, which it
        // gives back only when all are written.
        unsafe { std::slice::from_raw_parts(self.first().as_ptr(), self.len) }
    }
}

impl<T: DeviceCopy> DerefMut for PinnedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: that many initialised elements are there, and this is the only reference to them: while the driver
        // reads or writes them, a `Pending` has this buffer.
        unsafe { std::slice::from_raw_parts_mut(self.first().as_ptr(), self.len) }
    }
}

impl<T: DeviceCopy> fmt::Debug for PinnedBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PinnedBuffer<{}>({:p}; {})", std::any::type_name::<T>(), self.first(), self.len)
    }
}

/// A transfer under way, and the memory that it needs until it is done.
///
/// Made by [`Stream::upload_async`](super::Stream::upload_async) and
/// [`Stream::download_async`](super::Stream::download_async). Dropping it waits, too.
#[derive(Debug)]
#[must_use = "dropping it waits for the transfer and frees the buffer"]
pub struct Pending<B> {
    /// `None` only after `wait`.
    buffer: Option<B>,
    event: Event,
}

impl<B> Pending<B> {
    /// `event` has been recorded behind the transfer.
    pub(super) fn new(buffer: B, event: Event) -> Self {
        Pending { buffer: Some(buffer), event }
    }

    /// Returns true if the transfer is done, so [`wait`](Self::wait) returns at once.
    ///
    /// # Errors
    /// [`DeviceError::Fault`] where something went wrong on the device.
    pub fn is_done(&self) -> Result<bool, DeviceError> {
        self.event.is_done()
    }

    /// Waits until the transfer is done, and gives the buffer back.
    ///
    /// # Errors
    /// [`DeviceError::Fault`] where something went wrong on the device, now or before.
    pub fn wait(mut self) -> Result<B, DeviceError> {
        self.event.synchronize()?;
        Ok(self.buffer.take().expect("only this method takes the buffer, and self with it"))
    }
}

impl<B> Drop for Pending<B> {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take()
            && self.event.synchronize().is_err()
        {
            // Nobody knows whether the transfer is over.
            std::mem::forget(buffer);
        }
    }
}

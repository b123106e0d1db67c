//! Memory of a device.

use super::cpu::{ALIGN, Allocation};
use super::cuda::{CudaStream, DeviceMemory};
use super::order::{Access, Page};
use super::{Device, DeviceError, Inner};
use bytemuck::{AnyBitPattern, NoUninit};
use cuda_std::{DeviceCopy, launch};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, Range, RangeBounds};

/// An array of `T` in a device's memory, aligned to 256 bytes.
///
/// Elements are numbers and other types of which any bytes are a value (`bytemuck::Pod`), and structures and enums that
/// derive [`DeviceCopy`]. A type with an alignment of more than 256 doesn't compile:
/// ```compile_fail,E0080
/// #[derive(Clone, Copy, bytemuck::Zeroable, bytemuck::Pod)]
/// #[repr(C, align(512))]
/// struct Page([u8; 512]);
/// warpsmith::device::Device::cpu().alloc::<Page>(1)?;
/// # Ok::<(), warpsmith::device::DeviceError>(())
/// ```
///
/// Made by [`Device::alloc`], [`Device::alloc_zeroed`] and [`Device::upload`]; filled, copied and read through a
/// [`Stream`](super::Stream); passed to kernels by [`launch!`](crate::launch!): as `&buffer` for `&[T]`, `&T` and
/// `*const T`, as `&mut buffer` for `*mut T`, `DisjointSlice<T>` and `*const T`.
///
/// Work on a stream is asynchronous, and only borrows a buffer while it is enqueued. Work on another stream that uses
/// the same elements, where one of the two writes, waits on the device for all that the first stream had been given by
/// then, unless the two are in order already: by [`Stream::wait`](super::Stream::wait), or because the host has waited.
/// An [`Event`](super::Event) recorded right behind the first keeps the wait as short as can be.
///
/// Dropping it is safe: the driver waits for all work on the device before it frees memory. That also makes it slow, so
/// buffers that are needed again are better kept ([`ensure`](Self::ensure)). Memory of something else
/// ([`Device::from_raw_parts`]) isn't freed, nor is anything waited for.
pub struct Buffer<T: DeviceCopy> {
    device: Device,
    memory: Memory,
    /// For the memory's uses.
    page: Option<Page<CudaStream>>,
    /// In elements.
    capacity: usize,
    len: usize,
    element: PhantomData<T>,
}

/// A place for the uses of a device's memory. On the CPU work is done when it has been enqueued.
pub(super) fn page(device: &Device) -> Option<Page<CudaStream>> {
    if let Inner::Cuda(cuda) = &device.inner { Some(cuda.ledger.page()) } else { None }
}

#[derive(Debug)]
enum Memory {
    /// No bytes, and nothing to free.
    Empty,
    Cuda(DeviceMemory),
    Cpu(Allocation),
    /// Something else's, by its address.
    Borrowed(usize),
}

impl Memory {
    fn new(device: &Device, bytes: usize) -> Result<Self, DeviceError> {
        Ok(match &device.inner {
            _ if bytes == 0 => Memory::Empty,
            Inner::Cuda(cuda) => Memory::Cuda(DeviceMemory::new(cuda, bytes)?),
            Inner::Cpu(_) => {
                let memory = Allocation::new(bytes)?;
                let first = memory.address().addr().get();
                simt::memory::allocated(first..first + bytes);
                Memory::Cpu(memory)
            }
        })
    }

    fn address(&self) -> *mut u8 {
        match self {
            // Not null: on the CPU a slice of no elements has to be somewhere, too.
            Memory::Empty => std::ptr::without_provenance_mut(ALIGN),
            Memory::Cuda(memory) => std::ptr::with_exposed_provenance_mut(memory.address() as usize),
            Memory::Cpu(memory) => memory.address().as_ptr(),
            Memory::Borrowed(address) => std::ptr::with_exposed_provenance_mut(*address),
        }
    }
}

/// The size in bytes of `len` elements; the error where there is no such number.
pub(super) fn byte_size<T>(device: &Device, len: usize) -> Result<usize, DeviceError> {
    check_alignment::<T>();
    if let Some(bytes) = len.checked_mul(size_of::<T>()) {
        return Ok(bytes);
    }
    let memory = device.memory()?;
    Err(DeviceError::OutOfMemory { requested: usize::MAX, free: memory.free, total: memory.total, device: device.to_string() })
}

/// Refuses, at compile time, types that memory isn't aligned for.
const fn check_alignment<T>() {
    const { assert!(align_of::<T>() <= ALIGN, "the elements of buffers are aligned to 256 bytes at most") };
}

impl<T: DeviceCopy> Buffer<T> {
    /// Zeroes on the CPU, unspecified contents on CUDA: nobody reads them unless any bytes are a value of `T`.
    pub(super) fn new(device: &Device, len: usize) -> Result<Self, DeviceError> {
        let memory = Memory::new(device, byte_size::<T>(device, len)?)?;
        Ok(Buffer { device: device.clone(), memory, page: page(device), capacity: len, len, element: PhantomData })
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The size in bytes.
    pub fn byte_len(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// The number of elements that there is memory for: see [`ensure`](Self::ensure).
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The device whose memory it is.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The address of the first element, in the device's memory. Not null, even where there are no elements.
    pub fn as_device_ptr(&self) -> u64 {
        self.memory.address().expose_provenance() as u64
    }

    /// Makes it `len` elements long, of unspecified contents. Memory is allocated only where it was never as long
    /// before, and is never given back before the drop. Any bytes have to be a value of the elements' type.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`]; the buffer then is empty, as the old memory is freed first.
    pub fn ensure(&mut self, len: usize) -> Result<(), DeviceError>
    where
        T: AnyBitPattern,
    {
        if len > self.capacity {
            let bytes = byte_size::<T>(&self.device, len)?;
            (self.memory, self.capacity, self.len) = (Memory::Empty, 0, 0);
            self.memory = Memory::new(&self.device, bytes)?;
            self.page = page(&self.device);
            self.capacity = len;
        }
        self.len = len;
        Ok(())
    }

    /// Uses the memory for elements of another type, as many as fit. Their contents are the same bytes.
    ///
    /// So `T` has no padding, and any bytes are a value of `U`.
    pub fn cast<U: DeviceCopy + AnyBitPattern>(self) -> Buffer<U>
    where
        T: NoUninit,
    {
        check_alignment::<U>();
        let fit = |elements: usize| (elements * size_of::<T>()).checked_div(size_of::<U>()).unwrap_or(0);
        let Buffer { device, memory, page, capacity, len, .. } = self;
        Buffer { device, memory, page, capacity: fit(capacity), len: fit(len), element: PhantomData }
    }

    /// All elements.
    pub fn as_view(&self) -> View<'_, T> {
        let page = self.page.as_ref().map(Page::number);
        View { device: &self.device, page, first: self.memory.address().cast(), len: self.len, element: PhantomData }
    }

    /// All elements, to write.
    pub fn as_view_mut(&mut self) -> ViewMut<'_, T> {
        let page = self.page.as_ref().map(Page::number);
        ViewMut { device: &self.device, page, first: self.memory.address().cast(), len: self.len, element: PhantomData }
    }

    /// The elements of `range`.
    ///
    /// # Errors
    /// [`DeviceError::OutOfRange`] where they are not all in the buffer.
    pub fn view(&self, range: impl RangeBounds<usize>) -> Result<View<'_, T>, DeviceError> {
        self.as_view().view(range)
    }

    /// The elements of `range`, to write.
    ///
    /// # Errors
    /// [`DeviceError::OutOfRange`] where they are not all in the buffer.
    pub fn view_mut(&mut self, range: impl RangeBounds<usize>) -> Result<ViewMut<'_, T>, DeviceError> {
        self.as_view_mut().into_view_mut(range)
    }

    /// The first `mid` elements and the others, to write.
    ///
    /// # Errors
    /// [`DeviceError::OutOfRange`] where there are fewer than `mid`.
    pub fn split_at_mut(&mut self, mid: usize) -> Result<(ViewMut<'_, T>, ViewMut<'_, T>), DeviceError> {
        self.as_view_mut().into_split_at_mut(mid)
    }
}

impl Device {
    /// A buffer of no elements, which takes no memory: [`Buffer::ensure`] lets it grow.
    pub fn empty<T: DeviceCopy>(&self) -> Buffer<T> {
        check_alignment::<T>();
        Buffer { device: self.clone(), memory: Memory::Empty, page: None, capacity: 0, len: 0, element: PhantomData }
    }

    /// A buffer over `len` elements that something else has allocated at this address of the
    /// device's memory, and that nobody frees when it is dropped: this uses other libraries' arrays
    /// in place.
    ///
    /// Work on streams of this process that uses the buffer is ordered as for any other. The other
    /// library's own work is not ordered: see
    /// [`Stream::wait_for_handle`](super::Stream::wait_for_handle).
    ///
    /// # Safety
    /// There are as many elements at the address, values of `T`, in memory of this device (of this process, on the CPU),
    /// and stay until the buffer is dropped and its last use is done. The address is a multiple of 256. Nobody else
    /// writes to the memory while work that uses the buffer may be running, nor reads what that work writes.
    pub unsafe fn from_raw_parts<T: DeviceCopy>(&self, address: u64, len: usize) -> Buffer<T> {
        check_alignment::<T>();
        let memory = if len * size_of::<T>() == 0 { Memory::Empty } else { Memory::Borrowed(address as usize) };
        Buffer { device: self.clone(), memory, page: page(self), capacity: len, len, element: PhantomData }
    }
}

impl<T: DeviceCopy> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = std::any::type_name::<T>();
        write!(f, "Buffer<{name}>({:#x}; {}, {})", self.as_device_ptr(), self.len, self.device)
    }
}

/// Elements of a [`Buffer`], to read. As cheap to copy as a slice.
pub struct View<'a, T: DeviceCopy> {
    device: &'a Device,
    page: Option<usize>,
    first: *mut T,
    len: usize,
    element: PhantomData<&'a [T]>,
}

/// Elements of a [`Buffer`], to write.
pub struct ViewMut<'a, T: DeviceCopy> {
    device: &'a Device,
    page: Option<usize>,
    first: *mut T,
    len: usize,
    element: PhantomData<&'a mut [T]>,
}

// SAFETY: a view is a shared reference to a buffer, and a buffer may be shared by threads (its parts are `Sync`) as its
// elements may.
unsafe impl<T: DeviceCopy + Sync> Send for View<'_, T> {}
// SAFETY: a shared reference to a view gives no more than the view, which is a shared reference to a buffer.
unsafe impl<T: DeviceCopy + Sync> Sync for View<'_, T> {}
// SAFETY: it is the only reference to its part of a buffer, whose elements may change threads.
unsafe impl<T: DeviceCopy + Send> Send for ViewMut<'_, T> {}
// SAFETY: a shared reference to it only lets elements be read.
unsafe impl<T: DeviceCopy + Sync> Sync for ViewMut<'_, T> {}

impl<T: DeviceCopy> Clone for View<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: DeviceCopy> Copy for View<'_, T> {}

macro_rules! common {
    ($view:ident) => {
        impl<T: DeviceCopy> $view<'_, T> {
            /// The number of elements.
            pub fn len(&self) -> usize {
                self.len
            }

            /// Returns true if there are no elements.
            pub fn is_empty(&self) -> bool {
                self.len == 0
            }

            /// The size in bytes.
            pub fn byte_len(&self) -> usize {
                self.len * size_of::<T>()
            }

            /// The device whose memory it is.
            pub fn device(&self) -> &Device {
                self.device
            }

            /// The address of the first element, in the device's memory. Not null, even where there are no elements.
            pub fn as_device_ptr(&self) -> u64 {
                self.first.expose_provenance() as u64
            }

            /// The address as the host sees it: on CUDA not to be followed.
            pub(super) fn first(&self) -> *mut T {
                self.first
            }

            fn bytes(&self) -> Range<usize> {
                let start = self.first.addr();
                start..start + self.byte_len()
            }

            /// A use of all elements, for work on a stream.
            pub(super) fn access(&self, writes: bool) -> Option<Access> {
                Some(Access { page: self.page?, bytes: self.bytes(), writes })
            }
        }

        impl<T: DeviceCopy> fmt::Debug for $view<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let name = std::any::type_name::<T>();
                write!(f, "{}<{name}>({:#x}; {}, {})", stringify!($view), self.as_device_ptr(), self.len, self.device)
            }
        }
    };
}
common!(View);
common!(ViewMut);

impl<'a, T: DeviceCopy> View<'a, T> {
    /// # Safety
    /// `first` is the address of as many elements, in memory that `device` accesses and that lives for `'a`, and `page`
    /// is its page in the device's ledger.
    pub(super) unsafe fn from_raw(device: &'a Device, page: Option<usize>, first: *mut T, len: usize) -> Self {
        View { device, page, first, len, element: PhantomData }
    }

    /// Returns the memory that a kernel argument made of it points to.
    pub(super) fn memory(&self) -> launch::Memory {
        launch::Memory { location: self.device.location(), bytes: self.bytes(), page: self.page, layout: T::LAYOUT }
    }

    /// Tells checked runs that the elements, of the CPU, have values now.
    pub(super) fn note_written(&self) {
        simt::memory::written(self.bytes());
    }

    /// The same elements, as of a [`Buffer`].
    pub fn as_view(&self) -> View<'a, T> {
        *self
    }

    /// The elements of `range`.
    ///
    /// # Errors
    /// [`DeviceError::OutOfRange`] where they are not all in the view.
    pub fn view(self, range: impl RangeBounds<usize>) -> Result<View<'a, T>, DeviceError> {
        let (start, len) = within(self.len, range)?;
        Ok(View { first: self.first.wrapping_add(start), len, ..self })
    }

    /// The first `mid` elements and the others.
    ///
    /// # Errors
    /// [`DeviceError::OutOfRange`] where there are fewer than `mid`.
    pub fn split_at(self, mid: usize) -> Result<(View<'a, T>, View<'a, T>), DeviceError> {
        Ok((self.view(..mid)?, self.view(mid..)?))
    }
}

impl<'a, T: DeviceCopy> ViewMut<'a, T> {
    /// # Safety
    /// `first` is the address of as many elements, in memory that `device` accesses and that lives for `'a`, and `page`
    /// is its page in the device's ledger. No other reference to the elements is used for `'a`.
    pub(super) unsafe fn from_raw(device: &'a Device, page: Option<usize>, first: *mut T, len: usize) -> Self {
        ViewMut { device, page, first, len, element: PhantomData }
    }

    /// The same elements, to read.
    pub fn as_view(&self) -> View<'_, T> {
        View { device: self.device, page: self.page, first: self.first, len: self.len, element: PhantomData }
    }

    /// The same elements, to write, for a shorter time.
    pub fn reborrow(&mut self) -> ViewMut<'_, T> {
        ViewMut { device: self.device, page: self.page, first: self.first, len: self.len, element: PhantomData }
    }

    /// The elements of `range`, to write.
    ///
    /// # Errors
    /// [`DeviceError::OutOfRange`] where they are not all in the view.
    pub fn view_mut(&mut self, range: impl RangeBounds<usize>) -> Result<ViewMut<'_, T>, DeviceError> {
        self.reborrow().into_view_mut(range)
    }

    /// The elements of `range`, to write, for as long as the view would have lived.
    ///
    /// # Errors
    /// [`DeviceError::OutOfRange`] where they are not all in the view.
    pub fn into_view_mut(self, range: impl RangeBounds<usize>) -> Result<ViewMut<'a, T>, DeviceError> {
        let (start, len) = within(self.len, range)?;
        Ok(ViewMut { first: self.first.wrapping_add(start), len, ..self })
    }

    /// The first `mid` elements and the others, to write.
    ///
    /// # Errors
    /// [`DeviceError::OutOfRange`] where there are fewer than `mid`.
    pub fn split_at_mut(&mut self, mid: usize) -> Result<(ViewMut<'_, T>, ViewMut<'_, T>), DeviceError> {
        self.reborrow().into_split_at_mut(mid)
    }

    /// The first `mid` elements and the others, to write, for as long as the view would have lived.
    ///
    /// # Errors
    /// [`DeviceError::OutOfRange`] where there are fewer than `mid`.
    pub fn into_split_at_mut(self, mid: usize) -> Result<(ViewMut<'a, T>, ViewMut<'a, T>), DeviceError> {
        let (_, rest) = within(self.len, mid..)?;
        // The two share no element.
        let tail = ViewMut { first: self.first.wrapping_add(mid), len: rest, ..self };
        Ok((ViewMut { len: mid, ..self }, tail))
    }
}

/// Start and length of a range of `len` elements.
fn within(len: usize, range: impl RangeBounds<usize>) -> Result<(usize, usize), DeviceError> {
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.saturating_add(1),
        Bound::Excluded(&end) => end,
        Bound::Unbounded => len,
    };
    if start <= end && end <= len { Ok((start, end - start)) } else { Err(DeviceError::OutOfRange { start, end, len }) }
}

macro_rules! views {
    ($($source:ty => $view:ident by $method:ident;)*) => {$(
        impl<'a, T: DeviceCopy> From<$source> for $view<'a, T> {
            fn from(source: $source) -> Self {
                source.$method()
            }
        }
    )*};
}
views! {
    &'a Buffer<T> => View by as_view;
    &View<'a, T> => View by as_view;
    &'a ViewMut<'_, T> => View by as_view;
    &'a mut Buffer<T> => ViewMut by as_view_mut;
    &'a mut ViewMut<'_, T> => ViewMut by reborrow;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        assert_eq!(within(10, ..), Ok((0, 10)));
        assert_eq!(within(10, 3..=9), Ok((3, 7)));
        assert_eq!(within(10, 10..), Ok((10, 0)));
        assert_eq!(within(0, 0..0), Ok((0, 0)));
        let out = |start, end| Err(DeviceError::OutOfRange { start, end, len: 10 });
        assert_eq!(within(10, 3..11), out(3, 11));
        assert_eq!(within(10, 11..), out(11, 10));
        #[allow(clippy::reversed_empty_ranges)]
        let reversed = 5..4;
        assert_eq!(within(10, reversed), out(5, 4));
        assert_eq!(within(10, ..=usize::MAX), out(0, usize::MAX));
    }
}

//! Tensor descriptors, with which kernels copy boxes: see [`cuda_std::tensor`].

use super::buffer::{Buffer, View, ViewMut};
use super::{Device, DeviceError, Inner};
use bytemuck::Pod;
use cuda_std::launch::{Arguments, IntoParam, RawPtr};
use cuda_std::tensor::{self, Descriptor, Layout, Swizzle};

/// Layout of an array of `RANK` dimensions (1 to 3) and of the boxes copied from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorLayout<const RANK: usize> {
    /// Number of elements in each dimension; the first is contiguous.
    pub extents: [usize; RANK],
    /// From one element to the next in each dimension, in elements: 1 in the first.
    pub strides: [usize; RANK],
    /// The extents of a box.
    pub tile: [u32; RANK],
    /// In which order shared memory has the elements of a box.
    pub swizzle: Swizzle,
}

impl<const RANK: usize> TensorLayout<RANK> {
    /// Describes an array without gaps, with boxes that aren't swizzled.
    pub fn dense(extents: [usize; RANK], tile: [u32; RANK]) -> Self {
        let mut strides = [1; RANK];
        for i in 1..RANK {
            strides[i] = extents[i - 1].saturating_mul(strides[i - 1]);
        }
        TensorLayout { extents, strides, tile, swizzle: Swizzle::None }
    }

    /// The layout as the driver and the CPU's copies take it, or a clause that says what is wrong.
    fn check(&self, address: usize, elements: usize, element: usize) -> Result<Layout, String> {
        const { assert!(1 <= RANK && RANK <= 3, "tensors have one to three dimensions here") };
        if ![1, 2, 4, 8].contains(&element) {
            return Err(format!("its elements have {element} bytes, and they have to have 1, 2, 4 or 8"));
        }
        if !address.is_multiple_of(16) {
            return Err(format!("its first element is at {address:#x}, which isn't a multiple of 16"));
        }
        let (mut extents, mut strides, mut tile, mut last) = ([1; 3], [0; 3], [1; 3], 0usize);
        for i in 0..RANK {
            let (extent, stride, side) = (self.extents[i], self.strides[i], self.tile[i]);
            if extent == 0 || extent as u64 > 1 << 32 {
                return Err(format!("dimension {i} has {extent} elements, and from 1 to 2^32 are possible"));
            }
            if !(1..=256).contains(&side) {
                return Err(format!("its box has {side} elements in dimension {i}, and from 1 to 256 are possible"));
            }
            let bytes = stride.saturating_mul(element);
            if i == 0 && stride != 1 {
                return Err(format!("its elements are {stride} apart in dimension 0, where they have to follow each other"));
            }
            if i > 0 && (!bytes.is_multiple_of(16) || bytes == 0 || bytes as u64 >= 1 << 40) {
                return Err(format!(
                    "its elements are {bytes} bytes apart in dimension {i}, which has to be a multiple of 16 below 2^40"
                ));
            }
            last = last.saturating_add((extent - 1).saturating_mul(stride));
            (extents[i], strides[i], tile[i]) = (extent, bytes, side);
        }
        if last >= elements {
            return Err(format!("its last element is number {last} of a view that has {elements}"));
        }
        let row = tile[0] as usize * element;
        if !row.is_multiple_of(16) {
            return Err(format!("a row of its box has {row} bytes, which isn't a multiple of 16"));
        }
        let width = 16 << self.swizzle as u32;
        if self.swizzle != Swizzle::None && row > width {
            return Err(format!("a row of its box has {row} bytes, and is swizzled over {width}"));
        }
        Ok(Layout { address, element, extents, strides, tile, swizzle: self.swizzle })
    }
}

/// A tensor as kernels take it: `&map` of a [`View`] for [`cuda_std::TensorMap`], to load boxes of, and `&mut map` of a
/// [`ViewMut`] for [`cuda_std::TensorMapMut`], to store boxes to.
///
/// ```no_run
/// use warpsmith_device::{Device, TensorLayout, TensorMap, View, ViewMut};
///
/// let device = Device::best()?;
/// let (x, mut y) = (device.upload(&vec![1.0f32; 320 * 80])?, device.alloc_zeroed::<f32>(320 * 80)?);
/// let layout = TensorLayout::dense([320, 80], [32, 8]);
/// let from = TensorMap::new(View::from(&x), layout)?;
/// let mut to = TensorMap::new(ViewMut::from(&mut y), layout)?;
/// // launch!(stream, kernels::copy<<<(10, 10), 32>>>(&from, &mut to))?;
/// # Ok::<(), warpsmith_device::DeviceError>(())
/// ```
#[derive(Debug)]
pub struct TensorMap<V, const RANK: usize> {
    elements: V,
    descriptor: Buffer<[u64; 16]>,
}

/// A view of elements: [`View`] or [`ViewMut`].
pub trait Elements {
    /// The elements' size, in bytes.
    #[doc(hidden)]
    const ELEMENT: usize;
    /// True if kernels store boxes to it.
    #[doc(hidden)]
    const STORED: bool;
    /// Their device, the address of the first, and their number.
    #[doc(hidden)]
    fn place(&self) -> (&Device, usize, usize);
}

macro_rules! elements {
    ($($view:ident $stored:literal)*) => {$(
        impl<T: Pod> Elements for $view<'_, T> {
            const ELEMENT: usize = size_of::<T>();
            const STORED: bool = $stored;
            fn place(&self) -> (&Device, usize, usize) {
                (self.device(), self.as_device_ptr() as usize, self.len())
            }
        }
    )*};
}
elements!(View false ViewMut true);

impl<V: Elements, const RANK: usize> TensorMap<V, RANK> {
    /// Describes elements, on their device.
    ///
    /// # Errors
    /// [`DeviceError::TensorMap`] where the layout isn't possible (rows that are stored to have whole chunks of 16 bytes,
    /// as the hardware writes no less), goes beyond the elements, or the device has no such
    /// copies (GPUs have them from compute capability 9.0 on); [`DeviceError::OutOfMemory`].
    pub fn new(elements: V, layout: TensorLayout<RANK>) -> Result<Self, DeviceError> {
        let (device, address, len) = elements.place();
        let error = |reason| DeviceError::TensorMap { reason };
        let row = layout.extents[0].saturating_mul(V::ELEMENT);
        if V::STORED && !row.is_multiple_of(16) {
            let reason = format!("a row has {row} bytes, which isn't a multiple of 16: boxes would be stored beyond its end");
            return Err(error(reason));
        }
        let layout = layout.check(address, len, V::ELEMENT).map_err(error)?;
        let descriptor = match &device.inner {
            Inner::Cpu(_) => layout.encode(),
            Inner::Cuda(cuda) => cuda.encode(&layout, RANK as u32).map_err(error)?,
        };
        let descriptor = device.upload(&[descriptor.0])?;
        Ok(TensorMap { elements, descriptor })
    }
}

impl<V, const RANK: usize> TensorMap<V, RANK> {
    fn pointer(&self) -> RawPtr<Descriptor> {
        RawPtr::new(self.descriptor.as_view().first().cast())
    }
}

// SAFETY: the description is that of elements which are borrowed as long as the map, and is a buffer, as they are.
unsafe impl<T: Pod, const RANK: usize> IntoParam<tensor::TensorMap<'static, T, RANK>> for &TensorMap<View<'_, T>, RANK> {
    fn raw(&self) -> RawPtr<Descriptor> {
        self.pointer()
    }
    fn memory(&self, arguments: &mut Arguments) {
        arguments.note::<*const T>(self.elements.memory());
        arguments.note::<*const u64>(self.descriptor.as_view().memory());
    }
}

// SAFETY: as above; the elements are borrowed exclusively.
unsafe impl<T: Pod, const RANK: usize> IntoParam<tensor::TensorMapMut<'static, T, RANK>>
    for &mut TensorMap<ViewMut<'_, T>, RANK>
{
    fn raw(&self) -> RawPtr<Descriptor> {
        self.pointer()
    }
    fn memory(&self, arguments: &mut Arguments) {
        arguments.note::<*mut T>(self.elements.as_view().memory());
        arguments.note::<*const u64>(self.descriptor.as_view().memory());
    }
}

//! Copies of boxes of tensors, row by row.

use super::mbarrier::change;
use crate::tensor::{Descriptor, Swizzle};
use core::mem;
use simt::current::fault;

/// Contents of a [`Descriptor`]. Unused dimensions have an extent of 1.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Layout {
    /// The first element.
    pub address: usize,
    /// In bytes.
    pub element: usize,
    /// In elements.
    pub extents: [usize; 3],
    /// From one element to the next in each dimension, in bytes.
    pub strides: [usize; 3],
    /// In elements.
    pub tile: [u32; 3],
    /// The order in shared memory.
    pub swizzle: Swizzle,
}

const _: () = assert!(size_of::<Layout>() <= size_of::<Descriptor>());

impl Layout {
    /// As a kernel gets it.
    pub fn encode(self) -> Descriptor {
        let mut descriptor = Descriptor([0; 16]);
        // SAFETY: the descriptor is larger, and aligned for it.
        unsafe { (&raw mut descriptor.0).cast::<Layout>().write(self) };
        descriptor
    }

    /// Calls `copy` for each row of the box at `at` with the row's place in the box, in bytes, the address of its first
    /// element within the array, and how many bytes lie before the array, within and behind it.
    #[inline(always)]
    fn rows(&self, at: [i64; 3], mut copy: impl FnMut(usize, usize, [usize; 3])) {
        let (element, width) = (self.element, i64::from(self.tile[0]));
        let first = (-at[0]).clamp(0, width);
        let end = (self.extents[0] as i64 - at[0]).clamp(first, width);
        for plane in 0..i64::from(self.tile[2]) {
            for row in 0..i64::from(self.tile[1]) {
                let place = ((plane * i64::from(self.tile[1]) + row) * width) as usize * element;
                let (y, z) = (at[1] + row, at[2] + plane);
                let within = (0..self.extents[1] as i64).contains(&y) && (0..self.extents[2] as i64).contains(&z);
                let (address, parts) = if within && first < end {
                    let offset = y as usize * self.strides[1] + z as usize * self.strides[2];
                    let row = self.address + offset + (at[0] + first) as usize * element;
                    (row, [first, end - first, width - end])
                } else {
                    (0, [width, 0, 0])
                };
                copy(place, address, parts.map(|part| part as usize * element));
            }
        }
    }

    /// Calls `copy` for each piece of a row that is contiguous in shared memory, with its place
    /// there and its offset in the row.
    #[inline(always)]
    fn pieces(&self, shared: usize, bytes: usize, mut copy: impl FnMut(usize, usize, usize)) {
        let mut offset = 0;
        while offset < bytes {
            let address = shared + offset;
            let count = if self.swizzle == Swizzle::None { bytes } else { (16 - address % 16).min(bytes - offset) };
            copy(self.swizzle.place(address), offset, count);
            offset += count;
        }
    }
}

/// The layout, and the coordinates in all dimensions.
///
/// # Safety
/// The descriptor is one of the host's for the CPU.
unsafe fn open<const RANK: usize>(descriptor: *const Descriptor, shared: *const u8, at: [i32; RANK]) -> (Layout, [i64; 3]) {
    // SAFETY: the caller has promised a live descriptor, made by `encode`.
    let layout = unsafe { descriptor.cast::<Layout>().read() };
    let alignment = layout.swizzle.alignment();
    if !shared.addr().is_multiple_of(alignment) {
        fault(format!(
            "a box of a tensor is copied from or to {shared:p} in shared memory, which isn't a multiple of {alignment}"
        ));
    }
    if i64::from(at[0]) * layout.element as i64 % 16 != 0 {
        fault(format!(
            "a box of a tensor starts at {at:?}: its first element is {} bytes from the first one of its row, which isn't a multiple of 16",
            i64::from(at[0]) * layout.element as i64
        ));
    }
    let mut all = [0; 3];
    all.iter_mut().zip(at).for_each(|(to, coordinate)| *to = i64::from(coordinate));
    (layout, all)
}

pub unsafe fn load<const RANK: usize>(descriptor: *const Descriptor, barrier: *mut u64, shared: *mut u8, at: [i32; RANK]) {
    // SAFETY: the caller has promised what the function demands.
    let (layout, at) = unsafe { open(descriptor, shared, at) };
    layout.rows(at, |place, source, [before, within, behind]| {
        let source = core::ptr::with_exposed_provenance::<u8>(source);
        layout.pieces(shared.addr() + place, before + within + behind, |to, offset, count| {
            // The piece's part of the array.
            let (start, end) = (offset.max(before), (offset + count).min(before + within));
            let to = shared.with_addr(to);
            // SAFETY: the caller has promised room for the box, and this is a piece of it that lies
            // within the array.
            unsafe {
                if start >= end {
                    to.write_bytes(0, count);
                } else {
                    to.write_bytes(0, start - offset);
                    source.add(start - before).copy_to_nonoverlapping(to.add(start - offset), end - start);
                    to.add(end - offset).write_bytes(0, offset + count - end);
                }
            }
        });
    });
    let bytes = layout.element * layout.tile.iter().map(|&extent| extent as usize).product::<usize>();
    // SAFETY: the caller has promised a live barrier.
    unsafe { change(barrier, |state| state.bring(bytes)) }
}

pub unsafe fn store<const RANK: usize>(descriptor: *const Descriptor, shared: *const u8, at: [i32; RANK]) {
    // SAFETY: the caller has promised what the function demands.
    let (layout, at) = unsafe { open(descriptor, shared, at) };
    if at.iter().any(|&coordinate| coordinate < 0) {
        fault(format!("a box of a tensor is to be stored at {:?}, and no coordinate may be negative", &at[..RANK]));
    }
    layout.rows(at, |place, target, [before, within, behind]| {
        let target = core::ptr::with_exposed_provenance_mut::<u8>(target);
        layout.pieces(shared.addr() + place, before + within + behind, |from, offset, count| {
            let (start, end) = (offset.max(before), (offset + count).min(before + within));
            if start < end {
                // SAFETY: the caller has promised the box in shared memory; the array has what is within.
                unsafe {
                    shared.with_addr(from + start - offset).copy_to_nonoverlapping(target.add(start - before), end - start);
                }
            }
        });
    });
}

const _: () = assert!(mem::align_of::<Layout>() <= mem::align_of::<Descriptor>());

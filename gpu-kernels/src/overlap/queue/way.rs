//! A warp's way through a tree: all lanes go together, from leaf to leaf, each with a row of its
//! own.

use super::WARPS;
use crate::{
    collectives::warp::{Lanes, reduce},
    overlap::{
        Scalar,
        boxes::FAN,
        clip::Point,
        layout::{Extent, Tree, Way},
    },
};
use cuda_std::prelude::*;
use warp::FULL_MASK;

impl Way {
    /// Starts above the root.
    #[inline(always)]
    pub fn new(depth: u32) -> Self {
        Way { image: 0, level: depth + 1, index: 0, rest: 1 }
    }

    /// Returns the next of `leaves` that meets the `own` box of a lane, and whether it meets this
    /// lane's; or `None` at the end of the image's leaves. `extent` is the box around all lanes'
    /// boxes.
    ///
    /// # Safety
    /// All lanes come here, with the same arguments except `own`. The tree's boxes are valid.
    #[inline(always)]
    pub unsafe fn next<T: Scalar>(
        &mut self,
        tree: Tree<T>,
        leaves: (u32, u32),
        extent: &Extent<T>,
        own: &Extent<T>,
    ) -> Option<(u32, bool)> {
        loop {
            if self.rest == 0 {
                if self.level > tree.depth {
                    return None;
                }
                // Back to the box that this one is in, and on from there.
                let child = self.index % FAN;
                self.level += 1;
                self.index /= FAN;
                // SAFETY: as below.
                let meet = unsafe { self.children(tree, leaves, extent) };
                self.rest = meet & (u32::MAX << child << 1);
                continue;
            }
            let child = self.index * FAN + self.rest.trailing_zeros();
            self.rest &= self.rest - 1;
            // Rows may be far apart if the curve that orders them leaps. Then most of the box
            // around them is near no row.
            // SAFETY: the boxes are valid (this function's contract), and this level is above the
            // leaves'.
            let meets = unsafe { tree.meets(self.level - 1, child, leaves, own) };
            if warp::ballot(FULL_MASK, meets) == 0 {
                continue;
            }
            if self.level == 1 {
                return Some((child, meets));
            }
            (self.level, self.index) = (self.level - 1, child);
            // SAFETY: all lanes are here, and the boxes are valid (this function's contract).
            self.rest = unsafe { self.children(tree, leaves, extent) };
        }
    }

    /// Returns the mask of the boxes in this one that meet `extent`.
    ///
    /// # Safety
    /// As for [`next`](Self::next).
    #[inline(always)]
    unsafe fn children<T: Scalar>(&self, tree: Tree<T>, leaves: (u32, u32), extent: &Extent<T>) -> u32 {
        let child = self.index * FAN + warp::lane_id();
        // SAFETY: the boxes are valid, and this level is above the leaves'.
        warp::ballot(FULL_MASK, unsafe { tree.meets(self.level - 1, child, leaves, extent) })
    }
}

/// Returns the box around all lanes' boxes.
#[inline(always)]
pub fn extent_of_warp<T: Scalar>(extent: Extent<T>) -> Extent<T> {
    let (low, high) = (extent.low, extent.high);
    Extent {
        low: Point::new(reduce(Lanes::FULL, low.x, math::min), reduce(Lanes::FULL, low.y, math::min)),
        high: Point::new(reduce(Lanes::FULL, high.x, math::max), reduce(Lanes::FULL, high.y, math::max)),
    }
}

/// A warp's position on its way through a tree. It is in shared memory, as registers are scarce.
#[derive(Clone, Copy)]
pub struct Walk<T> {
    /// The box around the tile.
    pub extent: *mut Extent<T>,
    /// The position.
    pub way: *mut Way,
    /// Number of near pairs found.
    pub met: *mut u32,
}

impl<T: Scalar> Walk<T> {
    /// The running warp's.
    #[inline(always)]
    pub fn of_warp() -> Self {
        let warp = warp::warp_id() as usize;
        // SAFETY: a block has that many warps.
        unsafe {
            Walk {
                extent: shared_array![Extent<T>; WARPS as usize].at(warp),
                way: shared_array![Way; WARPS as usize].at(warp),
                met: shared_array![u32; WARPS as usize].at(warp),
            }
        }
    }
}

//! Boxes, and the tree of boxes over ordered poses: their layout in memory, and the search for
//! leaves that meet a box.

use super::{
    Scalar,
    clip::Point,
    layout::{Cells, Circle, Extent, Tree},
};
use cuda_std::math;

/// Rows of a leaf.
pub const LEAF: u32 = 8;
/// Boxes of one level in one of the next: a lane for each.
pub const FAN: u32 = 1 << FAN_BITS;
const FAN_BITS: u32 = 5;

impl<T: Scalar> Extent<T> {
    /// The box around nothing.
    #[inline(always)]
    pub fn empty() -> Self {
        Extent { low: Point::new(T::INFINITY, T::INFINITY), high: Point::new(-T::INFINITY, -T::INFINITY) }
    }

    /// The box around a circle.
    #[inline(always)]
    pub fn around(circle: &Circle<T>) -> Self {
        let size = Point::new(circle.radius, circle.radius);
        Extent { low: circle.center.minus(size), high: circle.center.plus(size) }
    }

    /// The same box moved back by `shift`, enlarged by a bound on the rounding of that.
    #[inline(always)]
    pub fn moved_back(&self, shift: Point<T>) -> Self {
        let slack = T::from_f64(4.0) * T::EPSILON * (math::abs(shift.x) + math::abs(shift.y));
        let slack = Point::new(slack, slack);
        Extent { low: self.low.minus(shift).minus(slack), high: self.high.minus(shift).plus(slack) }
    }

    /// The box around both.
    #[inline(always)]
    pub fn with(&self, other: &Self) -> Self {
        let (low, high) = (other.low, other.high);
        Extent {
            low: Point::new(math::min(self.low.x, low.x), math::min(self.low.y, low.y)),
            high: Point::new(math::max(self.high.x, high.x), math::max(self.high.y, high.y)),
        }
    }

    /// Returns whether the boxes have a point in common.
    #[inline(always)]
    pub fn meets(&self, other: &Self) -> bool {
        (self.low.x <= other.high.x) & (self.low.y <= other.high.y) & (other.low.x <= self.high.x) & (other.low.y <= self.high.y)
    }
}

/// Level of the root above `leaves` leaves, which are level 0.
pub const fn depth(leaves: u32) -> u32 {
    let mut depth = 0;
    while (leaves as u64) > 1 << (FAN_BITS * depth) {
        depth += 1;
    }
    depth
}

/// Index of a box in memory. Levels follow one another from the root's; each has room for the
/// largest number of boxes that it can have.
#[inline(always)]
pub const fn place(depth: u32, level: u32, index: u32) -> u32 {
    ((1 << (FAN_BITS * (depth - level))) - 1) / (FAN - 1) + index
}

/// Number of boxes in a level.
#[inline(always)]
pub const fn count(leaves: u32, level: u32) -> u32 {
    ((leaves - 1) >> (FAN_BITS * level)) + 1
}

impl<T: Scalar> Tree<T> {
    /// Returns whether the tree is empty, so that candidates are found by cells.
    #[inline(always)]
    pub fn is_none(&self) -> bool {
        self.leaves == 0
    }

    /// Returns whether a box has leaves from `first` to `end`, and meets `extent`.
    ///
    /// # Safety
    /// The tree's boxes are valid, and it has this level.
    #[inline(always)]
    pub unsafe fn meets(&self, level: u32, index: u32, (first, end): (u32, u32), extent: &Extent<T>) -> bool {
        let bits = FAN_BITS * level;
        index < count(self.leaves, level)
            && (index + 1) << bits > first
            && index << bits < end
            // SAFETY: the level has this box.
            && unsafe { (*self.boxes.add(place(self.depth, level, index) as usize)).meets(extent) }
    }

    /// Returns the next of `leaves`, from the first to the end, that meets `extent`, in depth-first
    /// order. `at` is the level and index of the box to look at next; it starts at the root.
    ///
    /// # Safety
    /// The tree's boxes are valid.
    #[inline(always)]
    pub unsafe fn next_leaf(&self, at: &mut (u32, u32), leaves: (u32, u32), extent: &Extent<T>) -> Option<u32> {
        let (mut level, mut index) = *at;
        let mut found = None;
        while found.is_none() && index < count(self.leaves, level) {
            // SAFETY: the boxes are valid, and the level is at most the root's.
            if unsafe { self.meets(level, index, leaves, extent) } {
                if level > 0 {
                    level -= 1;
                    index *= FAN;
                    continue;
                }
                found = Some(index);
            }
            index += 1;
            while index.is_multiple_of(FAN) {
                index /= FAN;
                level += 1;
            }
        }
        *at = (level, index);
        found
    }
}

impl<T> Cells<'_, T> {
    /// The tree.
    #[inline(always)]
    pub fn tree(&self) -> Tree<T> {
        Tree { boxes: self.boxes, leaves: self.leaves, depth: depth(self.leaves) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::{vec, vec::Vec};

    /// Levels neither overlap nor leave each other's room.
    #[test]
    fn boxes_have_places_of_their_own() {
        for leaves in [1, 2, 31, 32, 33, 1024, 1025, 40_000, 1 << 28] {
            let depth = depth(leaves);
            assert_eq!(count(leaves, depth), 1);
            for level in 1..=depth {
                assert!(place(depth, level, count(leaves, level)) <= place(depth, level - 1, 0));
                assert!(count(leaves, level) <= 1 << (FAN_BITS * (depth - level)));
            }
        }
    }

    /// The leaves that meet a box are those that looking at all finds, in order.
    #[test]
    fn leaves_in_order() {
        for n in [1u32, 2, 31, 32, 33, 500, 1024, 1025, 3000] {
            let depth = depth(n);
            let mut boxes = vec![Extent::<f64>::empty(); place(depth, 0, n) as usize];
            let at = |leaf: u32| Point::new(f64::from(leaf.wrapping_mul(0x9e37_79b9) % 100), f64::from(leaf % 7));
            for leaf in 0..n {
                boxes[place(depth, 0, leaf) as usize] = Extent { low: at(leaf), high: at(leaf) };
            }
            for level in 1..=depth {
                for index in 0..count(n, level) {
                    let children = index * FAN..(index * FAN + FAN).min(count(n, level - 1));
                    let extent = children
                        .fold(Extent::empty(), |extent, child| extent.with(&boxes[place(depth, level - 1, child) as usize]));
                    boxes[place(depth, level, index) as usize] = extent;
                }
            }
            let tree = Tree { boxes: boxes.as_ptr(), leaves: n, depth };
            for (range, low, high) in
                [((0, n), 20.0, 50.0), ((n / 3, n / 2), 0.0, 90.0), ((0, n), 200.0, 300.0), ((0, n), 0.0, 100.0)]
            {
                let extent = Extent { low: Point::new(low, 2.0), high: Point::new(high, 5.0) };
                let mut next = (depth, 0);
                let mut found = Vec::new();
                // SAFETY: the boxes are there.
                while let Some(leaf) = unsafe { tree.next_leaf(&mut next, range, &extent) } {
                    found.push(leaf);
                }
                let inside =
                    |leaf: &u32| (range.0..range.1).contains(leaf) && Extent { low: at(*leaf), high: at(*leaf) }.meets(&extent);
                assert_eq!(found, (0..n).filter(inside).collect::<Vec<_>>(), "{n} leaves, {range:?}");
            }
        }
    }
}

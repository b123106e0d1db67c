//! Functions in memory, and the pairs of them that are computed.

use super::power;
use crate::number::Number;
use cuda_std::{KernelParam, ValueParam, math, prelude::*};

/// Functions of the first set in a tile of [`tiled`](super::tiled): one for each lane of a warp.
pub const LANES: u32 = 32;

/// The type of times and values: `f32` or `f64`.
pub trait Scalar: Number + ValueParam {
    /// A segment in memory: value, then end. One load.
    type Segment: Copy + bytemuck::Pod + Send + Sync;
    /// A segment of this value and end.
    fn segment(value: Self, end: Self) -> Self::Segment;
    /// A power of a number from 0 to 1 with an exponent of at least 1, for GPUs. In single precision, it comes from the
    /// special function units, which lose `4 p + 8` units in the last place, and more of tiny numbers.
    fn power(number: Self, p: Self) -> Self;
    /// The same by [`power`], also for exponents from 0 to 1 and normal numbers of any size. The exponent is the sum of two
    /// numbers.
    #[inline(always)]
    fn accurate_power(number: Self, p: [Self; 2]) -> Self {
        let [power] = Self::accurate_powers([number], p);
        power
    }
    /// The same for several numbers.
    fn accurate_powers<const K: usize>(numbers: [Self; K], p: [Self; 2]) -> [Self; K];
    /// The square root, in single precision of the special function units.
    fn root(number: Self) -> Self;
    /// Value and end.
    fn parts(segment: Self::Segment) -> (Self, Self);
    /// Value and end, by a load each, which a CPU does faster than to take a vector apart.
    ///
    /// # Safety
    /// `segment` is valid for reads.
    unsafe fn read_parts(segment: *const Self::Segment) -> (Self, Self);
}

macro_rules! scalar {
    ($($t:ty, $segment:ty, $power:expr, $accurate:path, $root:path;)*) => {$(
        impl Scalar for $t {
            type Segment = $segment;
            #[inline(always)]
            fn segment(value: $t, end: $t) -> $segment {
                <$segment>::new(value, end)
            }
            #[inline(always)]
            fn power(number: $t, p: $t) -> $t {
                $power(number, p)
            }
            #[inline(always)]
            fn accurate_powers<const K: usize>(numbers: [$t; K], p: [$t; 2]) -> [$t; K] {
                $accurate(numbers, p)
            }
            #[inline(always)]
            fn root(number: $t) -> $t {
                $root(number)
            }
            #[inline(always)]
            fn parts(segment: $segment) -> ($t, $t) {
                (segment.x, segment.y)
            }
            #[inline(always)]
            unsafe fn read_parts(segment: *const $segment) -> ($t, $t) {
                // SAFETY: the segment is valid for reads (this function's contract).
                unsafe { ((&raw const (*segment).x).read(), (&raw const (*segment).y).read()) }
            }
        }
    )*};
}
scalar! {
    f32, F32x2, math::fast::powf, power::single, math::fast::sqrt;
    f64, F64x2, |x, p| Self::accurate_power(x, [p, 0.0]), power::double, math::sqrt;
}

/// Selects the pairs of a block that are computed, and the places of their results, in bits.
///
/// In a block on the diagonal both sets are the same functions in the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Triangle(pub u32);

impl Triangle {
    /// All pairs.
    pub const NONE: Triangle = Triangle(0);
    /// Each unordered pair of different functions once.
    pub const STRICT: Triangle = Triangle(1);
    /// Each unordered pair once, and each function with itself.
    pub const WITH_DIAGONAL: Triangle = Triangle(1 | 2);

    /// The same, but the first set's function is the one of greater place in a pair's result;
    /// otherwise the one of lesser place.
    pub const fn first_is_greater(self, greater: bool) -> Triangle {
        if greater { Triangle(self.0 | 4) } else { self }
    }

    /// The same for a kernel that has the two sets swapped.
    pub const fn swapped(self) -> Triangle {
        Triangle(self.0 | 8)
    }

    /// True if pairs are unordered.
    pub const fn is_half(self) -> bool {
        self.0 & 1 != 0
    }

    /// The first set's item and the second's, from the kernel's two, which may be swapped.
    #[inline(always)]
    const fn in_order(self, first: u32, second: u32) -> (u32, u32) {
        if self.0 & 8 != 0 { (second, first) } else { (first, second) }
    }

    /// True if the pair at these positions is computed.
    #[inline(always)]
    pub const fn wants(self, first: u32, second: u32) -> bool {
        let (first, second) = self.in_order(first, second);
        self.0 & 1 == 0 || first < second || (self.0 & 2 != 0 && first == second)
    }

    /// True if some pair of these positions may be computed.
    #[inline(always)]
    pub const fn wants_any(self, first: u32, firsts: u32, second: u32, seconds: u32) -> bool {
        // The pair whose positions lie the right way, if any of them does.
        if self.0 & 8 != 0 { self.wants(first + firsts - 1, second) } else { self.wants(first, second + seconds - 1) }
    }

    /// The places in the order of the result's strides.
    #[inline(always)]
    pub const fn places(self, first: u32, second: u32) -> (u32, u32) {
        let (first, second) = self.in_order(first, second);
        let swap = self.0 & 1 != 0 && ((first > second) != (self.0 & 4 != 0));
        if swap { (second, first) } else { (first, second) }
    }
}

/// Selects the pairs that are computed, and the places of their results: places i and j have their
/// result at `i * first_stride + j * second_stride`.
#[derive(Debug, Clone, Copy, KernelParam)]
pub struct Placement {
    /// The bits of a [`Triangle`].
    pub triangle: u32,
    /// The distance between the results of neighbours in the first band.
    pub first_stride: u64,
    /// The distance between the results of neighbours in the second band.
    pub second_stride: u64,
}

impl Placement {
    /// True if the pair at these positions is computed.
    #[inline(always)]
    pub const fn wants(self, first: u32, second: u32) -> bool {
        Triangle(self.triangle).wants(first, second)
    }

    /// As [`Triangle::wants_any`].
    #[inline(always)]
    pub const fn wants_any(self, first: u32, firsts: u32, second: u32, seconds: u32) -> bool {
        Triangle(self.triangle).wants_any(first, firsts, second, seconds)
    }

    /// The index of the result of this pair of functions.
    #[inline(always)]
    pub const fn index(self, first: u32, second: u32) -> usize {
        let (first, second) = Triangle(self.triangle).places(first, second);
        (first as u64 * self.first_stride + second as u64 * self.second_stride) as usize
    }
}

/// Selects pairs of parts of two bands, by the starts of the parts and the lengths of the
/// functions.
#[derive(Debug, Clone, Copy, KernelParam)]
pub struct Pairs {
    /// The position of the first part in its band's order.
    pub first_start: u32,
    /// The position of the second part in its band's order.
    pub second_start: u32,
    /// Least number of segments of the first part's functions.
    pub first_least: u32,
    /// Greatest number of segments of the first part's functions.
    pub first_most: u32,
    /// Least number of segments of the second part's functions.
    pub second_least: u32,
    /// Greatest number of segments of the second part's functions.
    pub second_most: u32,
    /// Number of positions of the second part, from its start on.
    pub seconds: u32,
}

impl Pairs {
    /// Pairs of functions with at most so many segments.
    pub const fn of_at_most(segments: u32) -> Self {
        Pairs {
            first_start: 0,
            second_start: 0,
            first_least: 1,
            first_most: segments,
            second_least: 1,
            second_most: segments,
            seconds: u32::MAX,
        }
    }

    /// True if both functions exist, and pairs of functions of these lengths are computed.
    #[inline(always)]
    pub fn wants(self, first: u32, second: u32) -> bool {
        let within = |length, least, most| length >= least && length <= most;
        within(first, self.first_least, self.first_most) && within(second, self.second_least, self.second_most)
    }

    /// The place of a pair of positions among the sums over a piece, of `firsts` positions of the first part.
    #[inline(always)]
    pub const fn partial(self, firsts: usize, piece: usize, first: u32, second: u32) -> usize {
        (piece * self.seconds as usize + second as usize) * firsts + first as usize
    }
}

/// The most segments of a function: 32 bits hold the number of steps of a merge.
pub const MOST_SEGMENTS: usize = 1 << 31;

/// Marks a position of [`Functions::order`] without a function.
pub const NO_FUNCTION: u32 = u32::MAX;

/// A band of functions, as the kernels get it.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Functions<'a, T: Scalar> {
    /// All segments, of this band and others.
    pub segments: *const T::Segment,
    /// Starts of the functions' segments, and in a last element the end of the last function's. A function has from 1
    /// to [`MOST_SEGMENTS`].
    pub offsets: &'a [u64],
    /// The functions by falling length, and then [`NO_FUNCTION`] up to a multiple of [`LANES`].
    pub order: &'a [u32],
}

impl<T: Scalar> Functions<'_, T> {
    /// The function at a position of the order: its number, its first segment, and its number of
    /// segments, which is 0 if the position has no function.
    ///
    /// # Safety
    /// The position is below the order's length, and the band is as the fields say.
    #[inline(always)]
    pub unsafe fn at(self, position: u32) -> (u32, *const T::Segment, u32) {
        // SAFETY: the position is in the order, and the functions in it are there (this function's contract).
        unsafe {
            let function = *self.order.get_unchecked(position as usize);
            let (segments, length) = if function == NO_FUNCTION { (self.segments, 0) } else { self.segments_of(function) };
            (function, segments, length)
        }
    }

    /// As [`at`](Self::at), for any position: those from the order's length on have no function.
    ///
    /// # Safety
    /// The band is as the fields say.
    #[inline(always)]
    pub unsafe fn at_or_none(self, position: u32) -> (u32, *const T::Segment, u32) {
        // SAFETY: the position is below the order's length, and the band is as the fields say (this function's contract).
        if position as usize >= self.order.len() { (NO_FUNCTION, self.segments, 0) } else { unsafe { self.at(position) } }
    }

    /// A function's first segment, and its number of segments.
    ///
    /// # Safety
    /// There is such a function, and the band is as the fields say.
    #[inline(always)]
    pub unsafe fn segments_of(self, function: u32) -> (*const T::Segment, u32) {
        // SAFETY: each function has an offset, and one more offset follows the last.
        unsafe {
            let start = *self.offsets.get_unchecked(function as usize);
            let end = *self.offsets.get_unchecked(function as usize + 1);
            (self.segments.add(start as usize), (end - start) as u32)
        }
    }
}

//! List ranking: the four steps of a Helman-JáJá variant, and what surrounds them.
//!
//! A list is an array `next` of `n` elements; `next[i]` is the element after `i`, or -1 after the last. Some elements
//! are *splitters* ([`splitters`]); with the head they start *sublists*. One thread walks each sublist up to the next
//! splitter ([`walk`]) and leaves, for every element on its way, the sublist and the offset within it. The sublists
//! themselves form a list of *nodes*, each with a length; ranking that list (the same walk again on ever fewer nodes,
//! then one block: [`nodes`]) gives each sublist its base, and base plus offset is the element's rank ([`finish`]).
//!
//! The same steps serve weighted ranks, the exclusive prefix sums of weights along the list: [`Value`] is what they add
//! up.
//!
//! Source: Helman and JáJá, "Designing practical efficient algorithms for symmetric multiprocessors" (ALENEX 1999),
//! with the load/store separation of "CUDA List Ranking Micro-Optimization" as the strategy `split`.

use cuda_std::{U32x2, U64x2, mem};

pub mod binned;
pub mod finish;
pub mod nodes;
pub mod prepare;
pub mod splitters;
pub mod walk;

/// What ranks add up: `i32` (also for plain ranks), `i64`, `f32`, `f64`. Integers wrap.
pub trait Value: mem::Word + Copy + Send + Sync + 'static {
    /// The sum of nothing.
    const ZERO: Self;
    /// What a walk leaves for an element: where its sublist's base is found, and what to add to it.
    type Placed: bytemuck::Pod + Send + Sync;
    /// The same as a word, which is stored by one instruction.
    type Word: mem::Word;
    /// The sum.
    fn plus(self, other: Self) -> Self;
    /// A record of the sublist's number and the sum over the elements before the own one in it.
    fn place(sublist: i32, offset: Self) -> Self::Word;
    /// The record's sublist and offset.
    fn placed(record: Self::Placed) -> (i32, Self);
}

/// An element's sublist and offset, for values of four bytes. Aligned so that it is stored by one instruction.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Placed4<V> {
    /// The number of the element's sublist. (The strategy `packed` keeps `next` here until the element is visited.)
    pub sublist: i32,
    /// The sum over the elements before it in its sublist; for plain ranks how many they are.
    pub offset: V,
}

/// An element's sublist and offset, for values of eight bytes. Aligned so that it is stored by one instruction.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Placed8<V> {
    /// The number of the element's sublist.
    pub sublist: i32,
    /// Always 0: pads the structure.
    pub reserved: i32,
    /// The sum over the elements before it in its sublist.
    pub offset: V,
}

/// What the walk of a plain ranking leaves for an element.
pub type Offset = Placed4<i32>;

macro_rules! values {
    ($($t:ty: $zero:expr, $plus:expr, $placed:ident, $word:ident($bits:expr);)*) => {$(
        // SAFETY: `repr(C)`, of fields without padding between or after them, which take any bits.
        unsafe impl bytemuck::Zeroable for $placed<$t> {}
        // SAFETY: `repr(C)`, of fields without padding between or after them, which take any bits.
        unsafe impl bytemuck::Pod for $placed<$t> {}

        impl Value for $t {
            const ZERO: Self = $zero;
            type Placed = $placed<$t>;
            type Word = $word;
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                let plus: fn($t, $t) -> $t = $plus;
                plus(self, other)
            }
            #[inline(always)]
            fn place(sublist: i32, offset: Self) -> Self::Word {
                // The sublist, and in a record of 16 bytes four zeroes behind it, then the offset: GPUs and the host's
                // are little-endian.
                $word::new((sublist as u32).into(), $bits(offset))
            }
            #[inline(always)]
            fn placed(record: Self::Placed) -> (i32, Self) {
                (record.sublist, record.offset)
            }
        }
    )*};
}
values! {
    i32: 0, i32::wrapping_add, Placed4, U32x2(i32::cast_unsigned);
    i64: 0, i64::wrapping_add, Placed8, U64x2(i64::cast_unsigned);
    f32: 0.0, |a, b| a + b, Placed4, U32x2(f32::to_bits);
    f64: 0.0, |a, b| a + b, Placed8, U64x2(f64::to_bits);
}

/// The end of a list, in `next` and among nodes.
pub const TAIL: i32 = -1;
/// In place of a node's successor: its walk met an index out of range or ran in a circle.
pub const BROKEN: i32 = -2;
/// In place of a node's successor: no sublist starts there (the splitter's index is past the end, or a head is a
/// splitter anyway).
pub const ABSENT: i32 = -3;

/// What a ranking finds out about the list on its way.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Status {
    /// Elements on the lists that start at the given heads, together.
    pub ranked: u64,
    /// Walks that met an index out of range.
    pub out_of_range: u32,
    /// Walks that ran in a circle.
    pub circles: u32,
    /// The head: the one given, or the one found.
    pub head: i32,
    /// Walks that found no more room for their chunks.
    pub overflows: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_records() {
        let of_4 = |word: U32x2| bytemuck::cast::<U32x2, Placed4<i32>>(word);
        assert_eq!(of_4(i32::place(-1, -5)), Placed4 { sublist: -1, offset: -5 });
        assert_eq!(f32::placed(bytemuck::cast(f32::place(7, -1.5))), (7, -1.5));
        let of_8 = |word: U64x2| bytemuck::cast::<U64x2, Placed8<i64>>(word);
        assert_eq!(of_8(i64::place(-1, -5)), Placed8 { sublist: -1, reserved: 0, offset: -5 });
        assert_eq!(f64::placed(bytemuck::cast(f64::place(7, -1.5))), (7, -1.5));
    }
}

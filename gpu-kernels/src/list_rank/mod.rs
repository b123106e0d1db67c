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

use cuda_std::{KernelParam, U32x2, U64x2, atomic, is_gpu, mem, warp};

pub mod binned;
pub mod distributed;
pub mod finish;
pub mod generate;
pub mod grid;
pub mod nodes;
pub mod prepare;
pub mod runs;
pub mod short;
pub mod splitters;
pub mod walk;

/// The type of the sums: `i32` (plain ranks, and weights), `i64` (the same, and ranks in forests),
/// `f32`, `f64`. Integers wrap.
pub trait Value: mem::Word + atomic::Value + warp::Shuffle + bytemuck::Pod + Send + Sync + 'static {
    /// The sum of nothing.
    const ZERO: Self;
    /// An index and a value, which one instruction loads or stores.
    type Record: mem::Word + bytemuck::Pod + Send + Sync;
    /// The sum.
    fn plus(self, other: Self) -> Self;
    /// The sum over so many elements where each counts for one.
    fn count(elements: i32) -> Self;
    /// Returns the sum before the head of list number `list`: zero. An `i64` holds the list's
    /// number in its upper half, so that the ranks in a forest are `i64`s.
    fn head(list: u32) -> Self;
    /// The record of an index and a value.
    fn record(index: i32, value: Self) -> Self::Record;
    /// The record's index and value.
    fn parts(record: Self::Record) -> (i32, Self);
}

macro_rules! values {
    ($($t:ty: $zero:expr, $plus:expr, $count:expr, $head:expr, $record:ident($to_bits:expr, $from_bits:expr);)*) => {$(
        impl Value for $t {
            const ZERO: Self = $zero;
            type Record = $record;
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                let plus: fn($t, $t) -> $t = $plus;
                plus(self, other)
            }
            #[inline(always)]
            fn count(elements: i32) -> Self {
                let count: fn(i32) -> $t = $count;
                count(elements)
            }
            #[inline(always)]
            fn head(list: u32) -> Self {
                let head: fn(u32) -> $t = $head;
                head(list)
            }
            #[inline(always)]
            fn record(index: i32, value: Self) -> Self::Record {
                $record::new((index as u32).into(), $to_bits(value))
            }
            #[inline(always)]
            fn parts(record: Self::Record) -> (i32, Self) {
                (record.x as i32, $from_bits(record.y))
            }
        }
    )*};
}
values! {
    i32: 0, i32::wrapping_add, |n| n, |_| 0, U32x2(i32::cast_unsigned, u32::cast_signed);
    i64: 0, i64::wrapping_add, |n| n as i64, |list| (list as i64) << 32, U64x2(i64::cast_unsigned, u64::cast_signed);
    f32: 0.0, |a, b| a + b, |n| n as f32, |_| 0.0, U32x2(f32::to_bits, f32::from_bits);
    f64: 0.0, |a, b| a + b, |n| n as f64, |_| 0.0, U64x2(f64::to_bits, f64::from_bits);
}

/// The rank and the list's number that an `i64` holds in a forest.
#[inline(always)]
pub fn rank_and_list(value: i64) -> (i32, i32) {
    (value as i32, (value >> 32) as i32)
}

/// The value of an element by its record of a sublist and an offset: the sublist's base, and the offset. Sublists
/// beyond `bases` are those of heads.
#[inline(always)]
fn based<V: Value>(bases: &[V::Record], sublist: i32, offset: V) -> V {
    let sublist = sublist as u32 as usize;
    let base = if sublist < bases.len() {
        // SAFETY: compared with the length. The load goes through the read-only cache, like all loads of slices.
        V::parts(unsafe { *bases.get_unchecked(sublist) }).1
    } else {
        V::head((sublist - bases.len()) as u32)
    };
    base.plus(offset)
}

/// The end of a list, in `next` and among nodes.
pub const TAIL: i32 = -1;
/// In place of a node's successor: its walk met an index out of range or ran in a circle.
pub const BROKEN: i32 = -2;
/// In place of a node's successor: no sublist starts there (the splitter's index is past the end, or a head is a
/// splitter anyway).
pub const ABSENT: i32 = -3;

/// In a record in place of a sublist: nothing was recorded.
pub const NONE: i32 = -1;

/// Findings of a ranking about the list.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Status {
    /// Elements on the lists that start at the given heads, together.
    pub ranked: u64,
    /// Number of these lists that were followed to their end.
    pub ends: u32,
    /// Walks that met an index out of range.
    pub out_of_range: u32,
    /// Walks that ran in a circle.
    pub circles: u32,
    /// The head: the one given, or the one found.
    pub head: i32,
    /// Walks that found no more room for their chunks.
    pub overflows: u32,
    /// Elements of a forest whose place stayed empty, where these are counted.
    pub missing: u32,
}

/// Counts of a valid list or forest. Steps that read what walks have left do nothing where it comes
/// to anything else: a bad list leaves memory that nobody has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, KernelParam)]
pub struct Expected {
    /// The elements; 0 for no such check.
    pub ranked: u64,
    /// The lists.
    pub ends: u32,
}

impl Expected {
    #[inline(always)]
    fn is_met(self, status: &Status) -> bool {
        self.ranked == 0 || (status.ranked == self.ranked && status.ends == self.ends)
    }
}

/// Adds each thread's elements and ends to the status: on a GPU once a warp.
///
/// # Safety
/// `status` is valid for atomic access. On a GPU all lanes of the warp are here.
#[inline(always)]
unsafe fn add_up(status: *mut Status, mut ranked: i64, mut ends: u32) {
    if is_gpu() {
        ends = warp::reduce_add(warp::FULL_MASK, ends);
        let mut distance = 16;
        while distance > 0 {
            ranked += warp::shuffle_down(warp::FULL_MASK, ranked, distance);
            distance /= 2;
        }
    }
    if ranked != 0 && (!is_gpu() || warp::lane_id() == 0) {
        // SAFETY: the status is valid for atomic access (this function's contract).
        unsafe {
            atomic::device::fetch_add(&raw mut (*status).ranked, ranked as u64);
            if ends != 0 {
                atomic::device::fetch_add(&raw mut (*status).ends, ends);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_hold_an_index_and_a_value() {
        assert_eq!(i32::parts(i32::record(-1, -5)), (-1, -5));
        assert_eq!(f32::parts(f32::record(7, -1.5)), (7, -1.5));
        assert_eq!(i64::parts(i64::record(-1, i64::MIN)), (-1, i64::MIN));
        assert_eq!(f64::parts(f64::record(i32::MAX, -1.5)), (i32::MAX, -1.5));
    }

    #[test]
    fn ranks_in_forests_hold_their_list() {
        let last = i64::head(i32::MAX as u32 - 1).plus(i64::count(i32::MAX - 1));
        assert_eq!(rank_and_list(last), (i32::MAX - 1, i32::MAX - 1));
        assert_eq!(based::<i64>(&[i64::record(0, i64::head(3).plus(5))], 0, 2), i64::head(3).plus(7));
        assert_eq!(based::<i64>(&[i64::record(0, 9)], 3, 2), i64::head(2).plus(2));
    }
}

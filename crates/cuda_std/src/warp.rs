//! The 32 threads of a warp: masks, shuffles, votes, matches, reductions.
//!
//! Each operation over several lanes takes a `mask` of the lanes that take part, bit `i` for lane `i`. The rules are
//! CUDA's: the caller's own bit is set, every lane of the mask that hasn't returned calls the same operation with the
//! same mask, and none of them has returned. A GPU answers with garbage or hangs where they are broken; the CPU's
//! executor says so. A warp is 32 threads with consecutive [`linear_thread`] numbers; the last of a block may be short,
//! and then a mask names only the lanes that exist.

use crate::{
    arch,
    half::{Bf16x2, F16x2, bf16, f16},
    is_gpu,
    ptx::Register,
    ptx_asm,
    sys::warp as sys,
    thread::linear_thread,
};

/// Lanes of a warp.
pub const WARP_SIZE: u32 = 32;

/// The mask of all 32 lanes.
pub const FULL_MASK: u32 = u32::MAX;

forward! {
    warp:
    /// The thread's lane in its warp, `0..32`.
    ///
    /// GPU: `%laneid`. CPU: the executor's.
    fn lane_id() -> u32;
}

/// The warp's number in its block: [`linear_thread`] ` / 32`.
///
/// (Not the register `%warpid`, which names a hardware slot and may change while the thread runs.)
#[inline(always)]
pub fn warp_id() -> u32 {
    linear_thread() / WARP_SIZE
}

forward! {
    warp:
    /// The lanes below this one. GPU: `%lanemask_lt`.
    fn lane_mask_lt() -> u32;

    /// This lane and those below. GPU: `%lanemask_le`.
    fn lane_mask_le() -> u32;

    /// The lanes above this one. GPU: `%lanemask_gt`.
    fn lane_mask_gt() -> u32;

    /// This lane and those above. GPU: `%lanemask_ge`.
    fn lane_mask_ge() -> u32;

    /// This lane alone. GPU: `%lanemask_eq`.
    fn lane_mask_eq() -> u32;

    /// Some lanes that run this instruction together with the caller, the caller among them.
    ///
    /// The hardware chooses the other lanes: code has to be right for any answer that holds the
    /// caller's own bit. Use it to aggregate (one atomic for all lanes that happen to be together),
    /// never to learn which lanes took a branch; [`ballot`] tells that.
    ///
    /// GPU: `activemask.b32`. CPU: the caller's bit alone, the least that the rule allows.
    fn active_mask() -> u32;

    /// Waits for the lanes of `mask`, and makes what each wrote before visible to them.
    ///
    /// GPU: `bar.warp.sync`. CPU: the lanes meet in the executor.
    fn sync_warp(mask: u32);
}

mod sealed {
    /// A value in the low bits of 64.
    pub trait Bits: Copy {
        const WIDE: bool;
        fn to_bits64(self) -> u64;
        fn from_bits64(bits: u64) -> Self;
    }
}
use sealed::Bits;

macro_rules! bits {
    ($($t:ty, $wide:literal: |$value:ident| $to:expr, |$bits:ident| $from:expr;)*) => {$(
        impl Bits for $t {
            const WIDE: bool = $wide;
            #[inline(always)]
            fn to_bits64(self) -> u64 { let $value = self; $to }
            #[inline(always)]
            fn from_bits64($bits: u64) -> Self { $from }
        }
        impl Shuffle for $t {}
    )*};
}
bits! {
    bool, false: |v| v as u64, |b| b != 0;
    u8, false: |v| v as u64, |b| b as u8;
    i8, false: |v| v as u8 as u64, |b| b as i8;
    u16, false: |v| v as u64, |b| b as u16;
    i16, false: |v| v as u16 as u64, |b| b as i16;
    u32, false: |v| v as u64, |b| b as u32;
    i32, false: |v| v as u32 as u64, |b| b as i32;
    f32, false: |v| v.to_bits() as u64, |b| f32::from_bits(b as u32);
    u64, true: |v| v, |b| b;
    i64, true: |v| v as u64, |b| b as i64;
    usize, true: |v| v as u64, |b| b as usize;
    isize, true: |v| v as u64, |b| b as isize;
    f64, true: |v| v.to_bits(), |b| f64::from_bits(b);
    f16, false: |v| v.to_bits() as u64, |b| f16::from_bits(b as u16);
    bf16, false: |v| v.to_bits() as u64, |b| bf16::from_bits(b as u16);
    F16x2, false: |v| v.to_register() as u64, |b| F16x2::from_register(b as u32);
    Bf16x2, false: |v| v.to_register() as u64, |b| Bf16x2::from_register(b as u32);
}

/// A value that lanes can pass to each other: `bool`, the integers of up to 64 bits, floats, pairs of 16 bits.
pub trait Shuffle: Bits {}

macro_rules! shuffles {
    ($($(#[$doc:meta])* $name:ident($argument:ident), $(#[$within:meta])* $of_width:ident;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[cfg_attr(not(cuda_device), track_caller)]
        pub fn $name<T: Shuffle>(mask: u32, value: T, $argument: u32) -> T {
            $of_width(mask, value, $argument, WARP_SIZE)
        }

        $(#[$within])*
        ///
        /// `width` is 2, 4, 8, 16 or 32: the warp is taken for as many parts of so many lanes, each by itself. The mask
        /// is still that of the whole warp's lanes.
        ///
        /// GPU: the same instruction. CPU: the lanes meet in the executor.
        #[inline(always)]
        #[cfg_attr(not(cuda_device), track_caller)]
        pub fn $of_width<T: Shuffle>(mask: u32, value: T, $argument: u32, width: u32) -> T {
            debug_assert!(matches!(width, 2 | 4 | 8 | 16 | 32), "a shuffle's width is 2, 4, 8, 16 or 32");
            let bits = value.to_bits64();
            T::from_bits64(match T::WIDE {
                true => sys::wide::$name(mask, bits, $argument, width),
                false => sys::$name(mask, bits as u32, $argument, width).into(),
            })
        }
    )*};
}
shuffles! {
    /// The value of lane `lane % 32`, which has to be in the mask.
    ///
    /// GPU: `shfl.sync.idx.b32`, twice for 64-bit values. CPU: the lanes meet in the executor.
    shuffle_idx(lane),
    /// [`shuffle_idx`] within `width` lanes: the value of the `lane % width`-th of these.
    shuffle_idx_width;
    /// The value of the lane `delta % 32` below; the own value if there is no such lane.
    ///
    /// GPU: `shfl.sync.up.b32`, twice for 64-bit values. CPU: the lanes meet in the executor.
    shuffle_up(delta),
    /// [`shuffle_up`] within `width` lanes.
    shuffle_up_width;
    /// The value of the lane `delta % 32` above; the own value if there is no such lane.
    ///
    /// GPU: `shfl.sync.down.b32`, twice for 64-bit values. CPU: the lanes meet in the executor.
    shuffle_down(delta),
    /// [`shuffle_down`] within `width` lanes.
    shuffle_down_width;
    /// The value of the lane whose number differs in the bits of `lanes % 32`.
    ///
    /// GPU: `shfl.sync.bfly.b32`, twice for 64-bit values. CPU: the lanes meet in the executor.
    shuffle_xor(lanes),
    /// [`shuffle_xor`] within `width` lanes; the own value where `lanes` leads to lanes above these.
    shuffle_xor_width;
}

/// Returns true in one elected lane of `mask`, the same for all of its lanes.
///
/// GPU: `elect.sync` from `sm_90` on, the lowest lane before. CPU: the lanes meet in the executor; the lowest lane.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub fn elect(mask: u32) -> bool {
    if is_gpu() && arch() < 900 {
        return mask & mask.wrapping_neg() == lane_mask_eq();
    }
    let elected: u32;
    // SAFETY: the lanes of the mask meet, and touch no memory. The architecture has the instruction.
    unsafe {
        ptx_asm!(
            "{{ .reg .pred p; elect.sync _|p, {1}; selp.u32 {0}, 1, 0, p; }}",
            out(b32) elected,
            in(b32) mask,
            options(nomem);
            cpu => {
                sys::sync_warp(mask);
                elected = u32::from(mask & mask.wrapping_neg() == lane_mask_eq());
            }
        );
    }
    elected != 0
}

forward! {
    warp:
    /// Returns true if `predicate` holds for every lane of `mask`. GPU: `vote.sync.all.pred`.
    fn all(mask: u32, predicate: bool) -> bool;

    /// Returns true if `predicate` holds for some lane of `mask`. GPU: `vote.sync.any.pred`.
    fn any(mask: u32, predicate: bool) -> bool;

    /// Returns the lanes of `mask` whose `predicate` holds. GPU: `vote.sync.ballot.b32`.
    fn ballot(mask: u32, predicate: bool) -> u32;
}

/// The lanes of `mask` that hold the same bits as this one (so a NaN matches itself, and `-0.0` doesn't match `0.0`).
///
/// GPU: `match.any.sync.b32` or `.b64`. CPU: the lanes meet in the executor.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub fn match_any<T: Shuffle>(mask: u32, value: T) -> u32 {
    let bits = value.to_bits64();
    if T::WIDE { sys::match_any_u64(mask, bits) } else { sys::match_any_u32(mask, bits as u32) }
}

/// `(mask, true)` if all lanes of `mask` hold the same bits, `(0, false)` otherwise.
///
/// GPU: `match.all.sync.b32` or `.b64`. CPU: the lanes meet in the executor.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub fn match_all<T: Shuffle>(mask: u32, value: T) -> (u32, bool) {
    let bits = value.to_bits64();
    let same = if T::WIDE { sys::match_all_u64(mask, bits) } else { sys::match_all_u32(mask, bits as u32) };
    (same, same != 0)
}

/// Returns true if one operation reduces over a warp: on `sm_80` and later, and on the CPU.
#[inline(always)]
fn has_redux() -> bool {
    !is_gpu() || arch() >= 800
}

/// Folds the values of the mask's lanes with an associative and commutative `op`: five exchanges over a full warp,
/// otherwise one shuffle a lane.
#[inline(always)]
fn fold<T: Shuffle>(mask: u32, mut value: T, op: impl Fn(T, T) -> T) -> T {
    if mask == FULL_MASK {
        let mut distance = WARP_SIZE / 2;
        while distance > 0 {
            value = op(value, shuffle_xor(mask, value, distance));
            distance /= 2;
        }
        return value;
    }
    let mut result = shuffle_idx(mask, value, mask.trailing_zeros());
    let mut rest = mask & mask.wrapping_sub(1);
    while rest != 0 {
        result = op(result, shuffle_idx(mask, value, rest.trailing_zeros()));
        rest &= rest - 1;
    }
    result
}

macro_rules! reductions {
    ($($name:ident $what:literal $ptx:literal: $of_u32:ident $of_i32:ident, $fold:expr;)*) => {
        /// A value that the hardware reduces over a warp: `u32` and `i32`.
        pub trait Reduce: Shuffle {
            $(
                #[doc(hidden)]
                #[cfg_attr(not(cuda_device), track_caller)]
                fn $name(mask: u32, value: Self) -> Self;
            )*
        }
        reductions!(@of u32: $($name $of_u32 $fold;)*);
        reductions!(@of i32: $($name $of_i32 $fold;)*);
        $(
            #[doc = concat!($what, " of the values of the mask's lanes, for each of them.\n\nGPU: `", $ptx, "` from `sm_80` on, before that shuffles: five over a full warp, one per lane otherwise. CPU: the lanes meet in the executor.")]
            #[inline(always)]
            #[cfg_attr(not(cuda_device), track_caller)]
            pub fn $name<T: Reduce>(mask: u32, value: T) -> T {
                T::$name(mask, value)
            }
        )*
    };
    (@of $t:ty: $($name:ident $redux:ident $fold:expr;)*) => {
        impl Reduce for $t {$(
            #[inline(always)]
            #[cfg_attr(not(cuda_device), track_caller)]
            fn $name(mask: u32, value: Self) -> Self {
                if has_redux() { sys::$redux(mask, value as _) as Self } else { fold(mask, value, $fold) }
            }
        )*}
    };
}
reductions! {
    reduce_add "The sum (it wraps)" "redux.sync.add": redux_add redux_add, |a, b| a.wrapping_add(b);
    reduce_min "The least" "redux.sync.min": redux_min_u32 redux_min_i32, |a, b| a.min(b);
    reduce_max "The greatest" "redux.sync.max": redux_max_u32 redux_max_i32, |a, b| a.max(b);
    reduce_and "The bitwise and" "redux.sync.and": redux_and redux_and, |a, b| a & b;
    reduce_or "The bitwise or" "redux.sync.or": redux_or redux_or, |a, b| a | b;
    reduce_xor "The bitwise exclusive or" "redux.sync.xor": redux_xor redux_xor, |a, b| a ^ b;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `fold` is what `sm_75` runs; the CPU's reductions don't come by it.
    #[test]
    fn folds_by_shuffles_agree_with_reductions() {
        let launch = simt::Launch { kernel: "fold", grid: 1.into(), block: 32.into(), dynamic_shared: 0 };
        for mask in [FULL_MASK, 1, 0x8000_0000, 0x0ff0_0001, 0xffff_fffe] {
            simt::Executor::new(1)
                .run(&launch, &|| {
                    let lane = lane_id();
                    if mask >> lane & 1 == 0 {
                        return;
                    }
                    let value = (lane + 3).wrapping_mul(0x9e37_79b9);
                    assert_eq!(fold(mask, value, u32::wrapping_add), reduce_add(mask, value));
                    assert_eq!(fold(mask, value as i32, Ord::min), reduce_min(mask, value as i32));
                    assert_eq!(fold(mask, value, Ord::max), reduce_max(mask, value));
                    assert_eq!(fold(mask, value, |a, b| a ^ b), reduce_xor(mask, value));
                })
                .unwrap();
        }
    }
}

//! Warp operations: the lanes of a mask meet in the executor, and each takes its result from the
//! values of all.

use simt::current::{self, exchange, exchange_one, fault};

pub use current::lane_id;

macro_rules! masks {
    ($($name:ident(|$own:ident| $mask:expr);)*) => {$(
        #[inline(always)]
        pub fn $name() -> u32 {
            let $own = 1u32 << lane_id();
            $mask
        }
    )*};
}
masks! {
    lane_mask_eq(|own| own);
    lane_mask_lt(|own| own - 1);
    lane_mask_le(|own| own | (own - 1));
    lane_mask_gt(|own| !(own | (own - 1)));
    lane_mask_ge(|own| !(own - 1));
    active_mask(|own| own);
}

#[inline]
#[track_caller]
pub fn sync_warp(mask: u32) {
    exchange_one(mask, "sync_warp", 0, 0);
}

/// The lanes of `mask`, in order.
fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |lane| mask >> lane & 1 == 1)
}

#[inline]
#[track_caller]
fn shuffle(op: &'static str, mask: u32, value: u64, source: u32) -> u64 {
    let (read, _) = exchange_one(mask, op, value, source);
    if mask >> source & 1 == 0 {
        fault(format!("{op}: lane {} reads lane {source}, which isn't in the mask {mask:#010x}", lane_id()));
    }
    read
}

/// Source lanes of shuffles within each `width` lanes: `first` is the first of the caller's.
macro_rules! shuffles {
    ($($name:ident(|$own:ident, $argument:ident, $first:ident, $width:ident| $source:expr);)*) => {
        /// Shuffles of 64 bits.
        pub mod wide {
            use super::{lane_id, shuffle};

            $(
                #[inline]
                #[track_caller]
                pub fn $name(mask: u32, value: u64, argument: u32, $width: u32) -> u64 {
                    let ($own, $argument) = (lane_id(), argument % 32);
                    let $first = $own & !($width - 1);
                    shuffle(stringify!($name), mask, value, $source)
                }
            )*
        }

        $(
            #[inline]
            #[track_caller]
            pub fn $name(mask: u32, value: u32, argument: u32, width: u32) -> u32 {
                wide::$name(mask, value.into(), argument, width) as u32
            }
        )*
    };
}
shuffles! {
    shuffle_idx(|own, lane, first, width| first + lane % width);
    shuffle_up(|own, delta, first, width| if own >= first + delta { own - delta } else { own });
    shuffle_down(|own, delta, first, width| if own + delta < first + width { own + delta } else { own });
    shuffle_xor(|own, lanes, first, width| if (own ^ lanes) < first + width { own ^ lanes } else { own });
}

#[track_caller]
fn vote(op: &'static str, mask: u32, predicate: bool) -> u32 {
    exchange_one(mask, op, predicate.into(), 0).1
}

#[track_caller]
pub fn all(mask: u32, predicate: bool) -> bool {
    vote("all", mask, predicate) == mask
}

#[track_caller]
pub fn any(mask: u32, predicate: bool) -> bool {
    vote("any", mask, predicate) != 0
}

#[track_caller]
pub fn ballot(mask: u32, predicate: bool) -> u32 {
    vote("ballot", mask, predicate)
}

#[track_caller]
pub fn match_any_u64(mask: u32, value: u64) -> u32 {
    let values = exchange(mask, "match_any", value);
    lanes(mask).filter(|&lane| values[lane] == value).fold(0, |set, lane| set | 1 << lane)
}

#[track_caller]
pub fn match_any_u32(mask: u32, value: u32) -> u32 {
    match_any_u64(mask, value.into())
}

#[track_caller]
pub fn match_all_u64(mask: u32, value: u64) -> u32 {
    let values = exchange(mask, "match_all", value);
    if lanes(mask).all(|lane| values[lane] == value) { mask } else { 0 }
}

#[track_caller]
pub fn match_all_u32(mask: u32, value: u32) -> u32 {
    match_all_u64(mask, value.into())
}

macro_rules! redux {
    ($($name:ident: $t:ty, |$a:ident, $b:ident| $fold:expr;)*) => {$(
        #[track_caller]
        pub fn $name(mask: u32, value: $t) -> $t {
            let values = exchange(mask, "reduce", value as u32 as u64);
            lanes(mask).map(|lane| values[lane] as $t).reduce(|$a, $b| $fold).unwrap_or(value)
        }
    )*};
}
redux! {
    redux_add: u32, |a, b| a.wrapping_add(b);
    redux_min_u32: u32, |a, b| a.min(b);
    redux_max_u32: u32, |a, b| a.max(b);
    redux_min_i32: i32, |a, b| a.min(b);
    redux_max_i32: i32, |a, b| a.max(b);
    redux_and: u32, |a, b| a & b;
    redux_or: u32, |a, b| a | b;
    redux_xor: u32, |a, b| a ^ b;
}

//! Reductions and scans over a warp, by shuffles.
//!
//! Each function is called by all of its [`Lanes`] together, with the same lanes, and by no other. Nothing here touches
//! memory, and nothing needs a barrier before or after.

use super::{Identity, Op, Scan};
use cuda_std::warp::{FULL_MASK, WARP_SIZE, lane_id, shuffle_idx, shuffle_up, shuffle_xor, warp_id};

pub use cuda_std::warp::Shuffle;

/// The lanes that take part: the first few of a warp, or all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lanes {
    count: u32,
}

impl Lanes {
    /// All 32 lanes.
    pub const FULL: Lanes = Lanes { count: WARP_SIZE };

    /// The first `count` lanes.
    ///
    /// # Panics
    /// Unless `count` is from 1 to 32.
    #[inline(always)]
    #[cfg_attr(not(cuda_device), track_caller)]
    pub const fn first(count: u32) -> Self {
        assert!(count >= 1 && count <= WARP_SIZE, "a warp has 1 to 32 lanes");
        Lanes { count }
    }

    /// The lanes that exist of the calling thread's warp, in a block of `threads` threads: fewer
    /// than 32 in the last warp of a block whose size isn't a multiple of 32. If `threads` is a
    /// constant multiple of 32, the compiler knows that all lanes exist.
    #[inline(always)]
    pub fn of_block(threads: u32) -> Self {
        if threads.is_multiple_of(WARP_SIZE) {
            return Lanes::FULL;
        }
        let left = threads.saturating_sub(warp_id() * WARP_SIZE);
        Lanes { count: left.clamp(1, WARP_SIZE) }
    }

    /// Returns the number of lanes.
    #[inline(always)]
    pub const fn count(self) -> u32 {
        self.count
    }

    /// The mask that names them.
    #[inline(always)]
    pub const fn mask(self) -> u32 {
        FULL_MASK >> (WARP_SIZE - self.count)
    }

    /// Returns true if they are all 32.
    #[inline(always)]
    pub const fn is_full(self) -> bool {
        self.count == WARP_SIZE
    }
}

/// The value of lane `lane` (one of `lanes`), for each lane. One shuffle.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub fn broadcast<T: Shuffle>(lanes: Lanes, value: T, lane: u32) -> T {
    shuffle_idx(lanes.mask(), value, lane)
}

/// The values of all lanes together, in order, for each lane.
///
/// Five shuffles, one more for part of a warp; one `redux.sync` for [`Sum`](super::Sum), [`Min`](super::Min) and
/// [`Max`](super::Max) of `u32` and `i32` from `sm_80` on.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub fn reduce<T: Shuffle, O: Op<T>>(lanes: Lanes, value: T, op: O) -> T {
    if let Some(result) = op.reduce_by_hardware(lanes.mask(), value) {
        return result;
    }
    let lane = lane_id();
    let mut result = value;
    let mut distance = 1;
    if lanes.is_full() {
        while distance < WARP_SIZE {
            let other = shuffle_xor(FULL_MASK, result, distance);
            // If the operator commutes, the compiler sees that both are the same.
            result = if lane & distance == 0 { op.apply(result, other) } else { op.apply(other, result) };
            distance *= 2;
        }
        return result;
    }
    while distance < WARP_SIZE {
        // No lane may ask one that isn't there, so those without a partner ask themselves.
        let partner = lane + distance;
        let has_partner = partner < lanes.count();
        let other = shuffle_idx(lanes.mask(), result, if has_partner { partner } else { lane });
        if has_partner {
            result = op.apply(result, other);
        }
        distance *= 2;
    }
    broadcast(lanes, result, 0)
}

/// The values of the lanes up to and with this one, together. Five shuffles (Hillis and Steele).
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub fn inclusive_scan<T: Shuffle, O: Op<T>>(lanes: Lanes, value: T, op: O) -> T {
    let lane = lane_id();
    let mut result = value;
    let mut distance = 1;
    while distance < WARP_SIZE {
        let other = shuffle_up(lanes.mask(), result, distance);
        if lane >= distance {
            result = op.apply(other, result);
        }
        distance *= 2;
    }
    result
}

/// The values of the lanes below this one, together, and those of all. Seven shuffles.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub fn exclusive_scan<T: Shuffle, O: Identity<T>>(lanes: Lanes, value: T, op: O) -> Scan<T> {
    let inclusive = inclusive_scan(lanes, value, op);
    let below = shuffle_up(lanes.mask(), inclusive, 1);
    Scan { prefix: if lane_id() == 0 { op.identity() } else { below }, total: broadcast(lanes, inclusive, lanes.count() - 1) }
}

//! `src/ir/warp.ll`.

// The functions read registers or exchange values of registers, which touches no memory.
ir! {
    "__cuda_std_lane_id" fn lane_id() -> u32;
    "__cuda_std_lane_mask_lt" fn lane_mask_lt() -> u32;
    "__cuda_std_lane_mask_le" fn lane_mask_le() -> u32;
    "__cuda_std_lane_mask_eq" fn lane_mask_eq() -> u32;
    "__cuda_std_lane_mask_ge" fn lane_mask_ge() -> u32;
    "__cuda_std_lane_mask_gt" fn lane_mask_gt() -> u32;
    "__cuda_std_active_mask" fn active_mask() -> u32;
    "__cuda_std_sync_warp" fn sync_warp(mask: u32);
    "__cuda_std_shuffle_idx" fn shfl_idx(mask: u32, value: u32, lane: u32, clamp: u32) -> u32;
    "__cuda_std_shuffle_up" fn shfl_up(mask: u32, value: u32, delta: u32, clamp: u32) -> u32;
    "__cuda_std_shuffle_down" fn shfl_down(mask: u32, value: u32, delta: u32, clamp: u32) -> u32;
    "__cuda_std_shuffle_xor" fn shfl_xor(mask: u32, value: u32, lanes: u32, clamp: u32) -> u32;
    "__cuda_std_vote_all" fn vote_all(mask: u32, predicate: u32) -> u32;
    "__cuda_std_vote_any" fn vote_any(mask: u32, predicate: u32) -> u32;
    "__cuda_std_vote_ballot" fn vote_ballot(mask: u32, predicate: u32) -> u32;
    "__cuda_std_match_any_u32" fn match_any_u32(mask: u32, value: u32) -> u32;
    "__cuda_std_match_any_u64" fn match_any_u64(mask: u32, value: u64) -> u32;
    "__cuda_std_match_all_u32" fn match_all_u32(mask: u32, value: u32) -> u32;
    "__cuda_std_match_all_u64" fn match_all_u64(mask: u32, value: u64) -> u32;
    "__cuda_std_redux_add" fn redux_add(mask: u32, value: u32) -> u32;
    "__cuda_std_redux_min_u32" fn redux_min_u32(mask: u32, value: u32) -> u32;
    "__cuda_std_redux_max_u32" fn redux_max_u32(mask: u32, value: u32) -> u32;
    "__cuda_std_redux_min_i32" fn redux_min_i32(mask: u32, value: i32) -> i32;
    "__cuda_std_redux_max_i32" fn redux_max_i32(mask: u32, value: i32) -> i32;
    "__cuda_std_redux_and" fn redux_and(mask: u32, value: u32) -> u32;
    "__cuda_std_redux_or" fn redux_or(mask: u32, value: u32) -> u32;
    "__cuda_std_redux_xor" fn redux_xor(mask: u32, value: u32) -> u32;
}

#[inline(always)]
pub fn all(mask: u32, predicate: bool) -> bool {
    vote_all(mask, predicate.into()) != 0
}

#[inline(always)]
pub fn any(mask: u32, predicate: bool) -> bool {
    vote_any(mask, predicate.into()) != 0
}

#[inline(always)]
pub fn ballot(mask: u32, predicate: bool) -> u32 {
    vote_ballot(mask, predicate.into())
}

/// Shuffles within each `width` lanes. PTX has that as the bits of a lane's number that stay, and the last lane that a
/// shuffle may read, by the number within these lanes.
macro_rules! shuffles {
    ($($name:ident $shfl:ident $last:literal;)*) => {
        $(
            #[inline(always)]
            pub fn $name(mask: u32, value: u32, argument: u32, width: u32) -> u32 {
                $shfl(mask, value, argument, (32 - width) << 8 | $last)
            }
        )*

        /// Shuffles of 64 bits: two of 32.
        pub mod wide {
            $(
                #[inline(always)]
                pub fn $name(mask: u32, value: u64, argument: u32, width: u32) -> u64 {
                    let low = super::$name(mask, value as u32, argument, width);
                    let high = super::$name(mask, (value >> 32) as u32, argument, width);
                    u64::from(high) << 32 | u64::from(low)
                }
            )*
        }
    };
}
shuffles! {
    shuffle_idx shfl_idx 31;
    shuffle_up shfl_up 0;
    shuffle_down shfl_down 31;
    shuffle_xor shfl_xor 31;
}

//! `warp`.

use crate::{Bits, Out, items};
use cuda_std::{
    prelude::*,
    warp::{FULL_MASK, Reduce, Shuffle},
};

#[inline(always)]
fn shuffle<T: Shuffle + Bits>(out: &mut Out, value: T) {
    for i in [0, 1, 7, 31, 33] {
        out.put(warp::shuffle_idx(FULL_MASK, value, warp::lane_id() + i));
        out.put(warp::shuffle_up(FULL_MASK, value, i));
        out.put(warp::shuffle_down(FULL_MASK, value, i));
        out.put(warp::shuffle_xor(FULL_MASK, value, i));
    }
}

#[inline(always)]
fn reduce<T: Reduce + Bits>(out: &mut Out, mask: u32, value: T) {
    out.put(warp::reduce_add(mask, value));
    out.put(warp::reduce_min(mask, value));
    out.put(warp::reduce_max(mask, value));
    out.put(warp::reduce_and(mask, value));
    out.put(warp::reduce_or(mask, value));
    out.put(warp::reduce_xor(mask, value));
}

items! {
    "warps";

    /// Lane masks.
    fn masks(_input, out) {
        out.put(warp::lane_id());
        out.put(warp::warp_id());
        out.put(warp::lane_mask_lt());
        out.put(warp::lane_mask_le());
        out.put(warp::lane_mask_eq());
        out.put(warp::lane_mask_ge());
        out.put(warp::lane_mask_gt());
        warp::sync_warp(FULL_MASK);
    }

    /// Shuffles of words.
    fn shuffles_32(input, out) {
        let value = input[thread::index_1d() as usize];
        shuffle(&mut out, value as u32);
        shuffle(&mut out, value as i32);
        shuffle(&mut out, f32::from_bits(value as u32));
    }

    /// Shuffles of double words.
    fn shuffles_64(input, out) {
        let value = input[thread::index_1d() as usize];
        shuffle(&mut out, value);
        shuffle(&mut out, value as i64);
        shuffle(&mut out, f64::from_bits(value));
        shuffle(&mut out, value as usize);
        shuffle(&mut out, value as isize);
    }

    /// Shuffles of less than a word.
    fn shuffles_small(input, out) {
        let value = input[thread::index_1d() as usize];
        shuffle(&mut out, value & 1 == 1);
        shuffle(&mut out, value as u8);
        shuffle(&mut out, value as i8);
        shuffle(&mut out, value as u16);
        shuffle(&mut out, value as i16);
    }

    /// Shuffles within parts of a warp, and the elected lane.
    fn widths(input, out) {
        let value = input[thread::index_1d() as usize];
        for width in [2, 4, 8, 16, 32] {
            for i in [1, 3, 9] {
                out.put(warp::shuffle_idx_width(FULL_MASK, value as u32, i, width));
                out.put(warp::shuffle_up_width(FULL_MASK, value as u32, i, width));
                out.put(warp::shuffle_down_width(FULL_MASK, value, i, width));
                out.put(warp::shuffle_xor_width(FULL_MASK, value, i, width));
            }
        }
        let elected = warp::ballot(FULL_MASK, warp::elect(FULL_MASK));
        out.put(elected.count_ones());
    }

    /// Votes.
    fn votes(input, out) {
        let value = input[thread::index_1d() as usize];
        for bit in 0..4 {
            let set = value >> bit & 1 == 1;
            out.put(warp::ballot(FULL_MASK, set));
            out.put(warp::all(FULL_MASK, set));
            out.put(warp::any(FULL_MASK, set));
        }
        // Half of the warp by itself.
        if warp::lane_id() < 16 {
            out.put(warp::ballot(0xffff, value & 2 != 0));
        }
    }

    /// Matches.
    fn matches(input, out) {
        let value = input[thread::index_1d() as usize];
        out.put(warp::match_any(FULL_MASK, value as u32 % 4));
        out.put(warp::match_any(FULL_MASK, (value % 3) << 35));
        for same in [value, 7] {
            let (mask, all) = warp::match_all(FULL_MASK, same as u32);
            out.put(mask);
            out.put(all);
            let (mask, all) = warp::match_all(FULL_MASK, same << 33);
            out.put(mask);
            out.put(all);
        }
    }

    /// Reductions over full warps.
    fn reductions(input, out) {
        let value = input[thread::index_1d() as usize];
        reduce(&mut out, FULL_MASK, value as u32);
        reduce(&mut out, FULL_MASK, value as i32);
    }

    /// Reductions over some lanes.
    fn partial_reductions(input, out) {
        let value = input[thread::index_1d() as usize];
        let mask = 0x1248_8421;
        if mask & warp::lane_mask_eq() != 0 {
            reduce(&mut out, mask, value as u32);
            reduce(&mut out, mask, value as i32);
        }
    }
}

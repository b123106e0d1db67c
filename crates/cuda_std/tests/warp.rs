//! Warp operations against index arithmetic over the lanes' values.

mod common;
use common::{run, run_error};
use cuda_std::{
    prelude::*,
    warp::{FULL_MASK, Shuffle},
};
use simt::SimtError;
use std::fmt::Debug;

/// A value that tells lanes apart in all its bits.
fn bits(lane: u32) -> u64 {
    (u64::from(lane) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn lanes(mask: u32) -> impl Iterator<Item = u32> {
    (0..32).filter(move |lane| mask >> lane & 1 == 1)
}

#[test]
fn lane_masks_split_the_warp() {
    run(1, 96, || {
        let (lane, t) = (warp::lane_id(), thread::thread_idx_x());
        assert_eq!((lane, warp::warp_id()), (t % 32, t / 32));
        let below = lanes(FULL_MASK).filter(|&l| l < lane).fold(0, |set, l| set | 1 << l);
        assert_eq!(warp::lane_mask_lt(), below);
        assert_eq!(warp::lane_mask_eq(), 1 << lane);
        assert_eq!(warp::lane_mask_le(), below | 1 << lane);
        assert_eq!(warp::lane_mask_ge(), !below);
        assert_eq!(warp::lane_mask_gt(), !below & !(1 << lane));
        assert_eq!(warp::active_mask() & warp::lane_mask_eq(), warp::lane_mask_eq());
        warp::sync_warp(FULL_MASK);
    });
}

fn shuffles<T: Shuffle + PartialEq + Debug>(value: impl Fn(u32) -> T + Sync) {
    run(2, 64, || {
        let lane = warp::lane_id();
        let own = value(lane);
        for i in [0, 1, 2, 5, 16, 31, 32, 33, 63] {
            let step = i % 32;
            assert_eq!(warp::shuffle_idx(FULL_MASK, own, i), value(step));
            assert_eq!(warp::shuffle_idx(FULL_MASK, own, lane + i), value((lane + i) % 32));
            assert_eq!(warp::shuffle_up(FULL_MASK, own, i), value(if lane < step { lane } else { lane - step }));
            assert_eq!(warp::shuffle_down(FULL_MASK, own, i), value(if lane + step > 31 { lane } else { lane + step }));
            assert_eq!(warp::shuffle_xor(FULL_MASK, own, i), value(lane ^ step));
        }
    });
}

#[test]
fn shuffles_move_every_type() {
    shuffles(|l| bits(l) as u32);
    shuffles(|l| bits(l) as i32);
    shuffles(|l| l as f32 - 7.5);
    shuffles(bits);
    shuffles(|l| bits(l) as i64);
    shuffles(|l| bits(l) as usize);
    shuffles(|l| bits(l) as isize);
    shuffles(|l| f64::from(l) * -1e100);
    shuffles(|l| bits(l) as u8);
    shuffles(|l| bits(l) as i8);
    shuffles(|l| bits(l) as u16);
    shuffles(|l| bits(l) as i16);
    shuffles(|l| bits(l) >> 40 & 1 == 1);
    shuffles(|l| f16::from_f32(l as f32 - 7.5));
    shuffles(|l| Bf16x2::new(bf16::from_f32(l as f32), bf16::from_f32(-0.5)));
}

/// Within each `width` lanes, as if these were all.
#[test]
fn shuffles_within_parts() {
    run(1, 32, || {
        let lane = warp::lane_id();
        for width in [2, 4, 8, 16, 32] {
            let (first, own) = (lane / width * width, lane % width);
            for i in 0..32 {
                assert_eq!(warp::shuffle_idx_width(FULL_MASK, lane, i, width), first + i % width);
                assert_eq!(warp::shuffle_up_width(FULL_MASK, lane, i, width), if own < i { lane } else { lane - i });
                let above = if own + i < width { lane + i } else { lane };
                assert_eq!(warp::shuffle_down_width(FULL_MASK, u64::from(lane) << 40, i, width), u64::from(above) << 40);
                // To lanes of parts below, but not above.
                let other = if (lane ^ i) / width > lane / width { lane } else { lane ^ i };
                assert_eq!(warp::shuffle_xor_width(FULL_MASK, lane, i, width), other);
            }
        }
        for mask in [FULL_MASK, 0xff00, 0x8000_0001] {
            if mask >> lane & 1 == 1 {
                assert_eq!(warp::ballot(mask, warp::elect(mask)), mask & mask.wrapping_neg());
            }
        }
    });
}

#[test]
fn part_of_a_warp_works_by_itself() {
    run(1, 32, || {
        let lane = warp::lane_id();
        // Odd and even lanes go different ways.
        let even = lane & 1 == 0;
        let (mask, first) = if even { (0x5555_5555, 0) } else { (0xaaaa_aaaa, 1) };
        if even {
            assert_eq!(warp::shuffle_xor(mask, lane, 2), lane ^ 2);
            assert_eq!(warp::reduce_add(mask, lane), 240);
        } else {
            assert_eq!(warp::shuffle_idx(mask, lane, 33), first);
            assert_eq!(warp::reduce_max(mask, lane), 31);
        }
        assert_eq!(warp::ballot(mask, lane < 4), mask & 0b1111);
        warp::sync_warp(FULL_MASK);
        assert_eq!(warp::reduce_add(FULL_MASK, 1u32), 32);
    });
    // The last warp of a block may be short.
    run(1, 42, || {
        let mask = if warp::warp_id() == 0 { FULL_MASK } else { 0x3ff };
        assert_eq!(warp::reduce_add(mask, 1u32), mask.count_ones());
        assert!(warp::all(mask, true));
    });
}

#[test]
fn votes_and_ballots() {
    run(1, 32, || {
        let lane = warp::lane_id();
        for mask in [FULL_MASK, 0x8000_0001, 0x00ff_ff00] {
            if mask >> lane & 1 == 0 {
                continue;
            }
            for limit in [0, 1, 16, 31, 32] {
                let set = lanes(mask).filter(|&l| l < limit).fold(0, |set, l| set | 1 << l);
                assert_eq!(warp::ballot(mask, lane < limit), set);
                assert_eq!(warp::any(mask, lane < limit), set != 0);
                assert_eq!(warp::all(mask, lane < limit), set == mask);
            }
        }
    });
}

fn matches<T: Shuffle>(mask: u32, value: impl Fn(u32) -> T + Sync, same: impl Fn(T, T) -> bool + Sync) {
    run(1, 32, || {
        let lane = warp::lane_id();
        if mask >> lane & 1 == 0 {
            return;
        }
        let equal = lanes(mask).filter(|&l| same(value(l), value(lane))).fold(0, |set, l| set | 1 << l);
        assert_eq!(warp::match_any(mask, value(lane)), equal);
        let all = lanes(mask).all(|l| same(value(l), value(mask.trailing_zeros())));
        assert_eq!(warp::match_all(mask, value(lane)), if all { (mask, true) } else { (0, false) });
    });
}

#[test]
fn matches_against_brute_force() {
    for mask in [FULL_MASK, 0x0f0f_0f0f, 0x0000_8001] {
        for modulus in [1, 2, 5, 32] {
            matches(mask, |l| l % modulus, |a, b| a == b);
            matches(mask, |l| -((l % modulus) as i32), |a, b| a == b);
            matches(mask, |l| bits(l % modulus), |a, b| a == b);
            matches(mask, |l| u64::from(l % modulus) << 32, |a, b| a == b);
            matches(mask, |l| l % modulus == 0, |a, b| a == b);
            matches(mask, |l| f64::from(l % modulus), |a, b| a == b);
        }
        let special = [0.0, -0.0, f32::NAN, 1.0];
        matches(mask, |l| special[l as usize % 4], |a, b| a.to_bits() == b.to_bits());
        matches(mask, |_| f32::NAN, |_, _| true);
    }
}

#[test]
fn reductions_against_folds() {
    for mask in [FULL_MASK, 0x8000_0000, 0x1248_8421, 0x7fff_fffe] {
        run(1, 32, || {
            let lane = warp::lane_id();
            if mask >> lane & 1 == 0 {
                return;
            }
            let u = |l| bits(l) as u32;
            let i = |l| bits(l) as i32;
            assert_eq!(warp::reduce_add(mask, u(lane)), lanes(mask).map(u).fold(0, u32::wrapping_add));
            assert_eq!(warp::reduce_min(mask, u(lane)), lanes(mask).map(u).min().unwrap());
            assert_eq!(warp::reduce_max(mask, u(lane)), lanes(mask).map(u).max().unwrap());
            assert_eq!(warp::reduce_and(mask, u(lane)), lanes(mask).map(u).fold(!0, |a, b| a & b));
            assert_eq!(warp::reduce_or(mask, u(lane)), lanes(mask).map(u).fold(0, |a, b| a | b));
            assert_eq!(warp::reduce_xor(mask, u(lane)), lanes(mask).map(u).fold(0, |a, b| a ^ b));
            assert_eq!(warp::reduce_add(mask, i(lane)), lanes(mask).map(i).fold(0, i32::wrapping_add));
            assert_eq!(warp::reduce_min(mask, i(lane)), lanes(mask).map(i).min().unwrap());
            assert_eq!(warp::reduce_max(mask, i(lane)), lanes(mask).map(i).max().unwrap());
            assert_eq!(warp::reduce_and(mask, i(lane)), lanes(mask).map(i).fold(!0, |a, b| a & b));
            assert_eq!(warp::reduce_or(mask, i(lane)), lanes(mask).map(i).fold(0, |a, b| a | b));
            assert_eq!(warp::reduce_xor(mask, i(lane)), lanes(mask).map(i).fold(0, |a, b| a ^ b));
        });
    }
}

#[test]
fn reading_a_lane_outside_the_mask_is_an_error() {
    let error = run_error(32, || {
        if warp::lane_id() < 4 {
            warp::shuffle_idx(0b1111, 1u32, 4);
        }
    });
    assert!(matches!(error, SimtError::Fault { .. }), "{error}");
    assert!(error.to_string().contains("reads lane 4, which isn't in the mask 0x0000000f"), "{error}");
}

#[test]
fn errors_name_the_line_that_called() {
    let error = run_error(32, || {
        if warp::lane_id() < 31 {
            warp::ballot(FULL_MASK, true);
        }
    });
    assert!(error.to_string().contains(file!()), "{error}");
    let error = run_error(32, || {
        if warp::lane_id() < 31 {
            thread::sync_threads();
        } else {
            warp::sync_warp(FULL_MASK);
        }
    });
    assert!(error.to_string().contains(file!()), "{error}");
}

//! Atomics from many threads of many blocks, against closed forms; single-threaded ones against the definition.
#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "one for all: the word that `many` hands to a thread is live and aligned, and only atomics access it"
)]

mod common;
use common::Output;
use cuda_std::{atomic::Value, prelude::*};
use std::fmt::Debug;

/// A checked run takes it amiss that blocks share a word by atomics in the scope of a block: it has one block.
const GRID: u32 = if cfg!(simt_check) { 1 } else { 5 };
const BLOCK: u32 = 335 / GRID;
const THREADS: u64 = (GRID * BLOCK) as u64;

/// Runs `body` for each thread number on a fresh `start`, and checks what is in memory afterwards.
fn many<T: Copy + PartialEq + Debug + Send>(start: T, body: impl Fn(*mut T, u64) + Sync, check: impl Fn(T) + Sync) {
    let mut memory = [start];
    let out = Output::new(&mut memory);
    let launch = simt::Launch { kernel: "atomic", grid: GRID.into(), block: BLOCK.into(), dynamic_shared: 0 };
    for schedule in [simt::Schedule::InOrder, simt::Schedule::Random { seed: 7 }] {
        out.set(0, start);
        simt::Executor::new(2).with_schedule(schedule).run(&launch, &|| body(out.at(0), u64::from(thread::index_1d()))).unwrap();
        // SAFETY: the launch is over.
        check(unsafe { out.at(0).read() });
    }
}

/// The three scopes have the same functions.
macro_rules! in_each_scope {
    ($($test:ident => |$scope:ident| $body:block)*) => {$(
        #[test]
        fn $test() {
            { use atomic::block as $scope; $body }
            { use atomic::device as $scope; $body }
            { use atomic::system as $scope; $body }
        }
    )*};
}

in_each_scope! {
    sums_of_all_types => |scope| {
        many(5u32, |p, i| unsafe { scope::fetch_add(p, i as u32); }, |v| assert_eq!(v, 5 + (THREADS * (THREADS - 1) / 2) as u32));
        many(-5i32, |p, i| unsafe { scope::fetch_add(p, -(i as i32)); }, |v| assert_eq!(v, -5 - (THREADS * (THREADS - 1) / 2) as i32));
        many(u64::MAX, |p, i| unsafe { scope::fetch_add(p, i << 33); }, |v| assert_eq!(v, ((THREADS * (THREADS - 1) / 2) << 33) - 1));
        many(0i64, |p, i| unsafe { scope::fetch_sub(p, i as i64); }, |v| assert_eq!(v, -((THREADS * (THREADS - 1) / 2) as i64)));
        many(0u32, |p, i| unsafe { scope::fetch_sub(p, i as u32); }, |v| assert_eq!(v, (0u32).wrapping_sub((THREADS * (THREADS - 1) / 2) as u32)));
        many(0.5f32, |p, i| unsafe { scope::fetch_add(p, i as f32); }, |v| assert_eq!(v, 0.5 + (THREADS * (THREADS - 1) / 2) as f32));
        many(0.5f64, |p, i| unsafe { scope::fetch_sub(p, i as f64); }, |v| assert_eq!(v, 0.5 - (THREADS * (THREADS - 1) / 2) as f64));
        many(0u64, |p, _| unsafe { scope::fetch_add_acq_rel(p, 1); }, |v| assert_eq!(v, THREADS));
        many(0f32, |p, _| unsafe { scope::fetch_add_acq_rel(p, 0.25); }, |v| assert_eq!(v, THREADS as f32 / 4.0));
        many(0f64, |p, _| unsafe { scope::fetch_add_acq_rel(p, 0.25); }, |v| assert_eq!(v, THREADS as f64 / 4.0));
    }

    tickets_are_given_out_once => |scope| {
        let mut tickets = vec![u32::MAX; THREADS as usize];
        let out = Output::new(&mut tickets);
        // Each ticket is a different element.
        many(0u32, |p, i| unsafe { out.set(scope::fetch_add(p, 1) as usize, i as u32); }, |v| assert_eq!(u64::from(v), THREADS));
        tickets.sort_unstable();
        assert!(tickets.iter().copied().eq(0..THREADS as u32));
    }

    extremes => |scope| {
        let spread = |i: u64| (i * 7919 % THREADS) as i64 - 100;
        many(0u32, |p, i| unsafe { scope::fetch_max(p, spread(i).unsigned_abs() as u32); }, |v| assert_eq!(u64::from(v), THREADS - 101));
        many(u64::MAX, |p, i| unsafe { scope::fetch_min(p, i + 3); }, |v| assert_eq!(v, 3));
        many(0i32, |p, i| unsafe { scope::fetch_min(p, spread(i) as i32); }, |v| assert_eq!(v, -100));
        many(i64::MIN, |p, i| unsafe { scope::fetch_max(p, spread(i)); }, |v| assert_eq!(v, THREADS as i64 - 101));
        many(f32::NEG_INFINITY, |p, i| unsafe { scope::fetch_max(p, spread(i) as f32 - 1000.0); }, |v| assert_eq!(v, THREADS as f32 - 1101.0));
        many(f64::INFINITY, |p, i| unsafe { scope::fetch_min(p, spread(i) as f64); }, |v| assert_eq!(v, -100.0));
    }

    bits_of_integers => |scope| {
        many(0u32, |p, i| unsafe { scope::fetch_or(p, 1 << (i % 31)); }, |v| assert_eq!(v, u32::MAX >> 1));
        many(-1i64, |p, i| unsafe { scope::fetch_and(p, !(1 << (i % 63))); }, |v| assert_eq!(v, i64::MIN));
        many(0u64, |p, i| unsafe { scope::fetch_xor(p, 1 << (i % 64)); }, |v| {
            let expected = (0..THREADS).fold(0, |set, i| set ^ 1u64 << (i % 64));
            assert_eq!(v, expected);
        });
        many(0i32, |p, i| unsafe { scope::fetch_xor(p, i as i32); }, |v| assert_eq!(v, (0..THREADS as i32).fold(0, |a, b| a ^ b)));
    }

    exchanges_lose_nothing => |scope| {
        // Each thread takes what another left: at the end each number is in one hand or in memory.
        let mut taken = vec![u32::MAX; THREADS as usize];
        let out = Output::new(&mut taken);
        let mut last = [0u32];
        let end = Output::new(&mut last);
        many(u32::MAX - 1, |p, i| unsafe { out.set(i as usize, scope::exchange(p, i as u32)); }, |v| end.set(0, v));
        taken.push(last[0]);
        taken.sort_unstable();
        assert!(taken.iter().copied().eq((0..THREADS as u32).chain([u32::MAX - 1])));
        many(1i64, |p, _| unsafe { scope::exchange_acq_rel(p, -9); }, |v| assert_eq!(v, -9));
    }

    compare_exchange_loops_count => |scope| {
        fn count<T: Value + PartialEq>(load: impl Fn() -> T, cas: impl Fn(T, T) -> T, next: impl Fn(T) -> T) {
            let mut old = load();
            loop {
                let seen = cas(old, next(old));
                if seen == old {
                    return;
                }
                old = seen;
            }
        }
        many(0u32, |p, _| unsafe { count(|| scope::load(p), |e, n| scope::compare_exchange(p, e, n), |v| v + 3) }, |v| assert_eq!(u64::from(v), 3 * THREADS));
        many(0i64, |p, _| unsafe { count(|| scope::load_acquire(p), |e, n| scope::compare_exchange_acq_rel(p, e, n), |v| v - 1) }, |v| assert_eq!(v, -(THREADS as i64)));
        many(1f64, |p, _| unsafe { count(|| scope::load(p), |e, n| scope::compare_exchange(p, e, n), |v| v + 0.5) }, |v| assert_eq!(v, 1.0 + THREADS as f64 / 2.0));
    }

    loads_and_stores => |scope| {
        many(0f32, |p, i| unsafe {
            scope::store(p, i as f32);
            let v = scope::load(p);
            assert!(v >= 0.0 && v < THREADS as f32);
            scope::fence_acq_rel();
            scope::store_release(p, 1.5);
        }, |v| assert!((0.0..THREADS as f32).contains(&v)));
        many(0u64, |p, _| unsafe { scope::store_release(p, 1 << 40); }, |v| assert_eq!(v, 1 << 40));
    }

    float_extremes_follow_the_total_order => |scope| {
        macro_rules! check {
            ($t:ty) => {
                let values: [$t; 14] = [
                    0.0, -0.0, 1.0, -1.0, 1.5, -1.5, <$t>::MIN_POSITIVE, -<$t>::MIN_POSITIVE, <$t>::from_bits(1), -<$t>::from_bits(1),
                    <$t>::INFINITY, <$t>::NEG_INFINITY, <$t>::NAN.copysign(1.0), <$t>::NAN.copysign(-1.0),
                ];
                for a in values {
                    for b in values {
                        let (mut least, mut greatest) = (a, a);
                        // SAFETY: a live, aligned word of this thread's own.
                        unsafe {
                            assert_eq!(scope::fetch_min(&raw mut least, b).to_bits(), a.to_bits());
                            assert_eq!(scope::fetch_max(&raw mut greatest, b).to_bits(), a.to_bits());
                        }
                        let (low, high) = if a.total_cmp(&b).is_le() { (a, b) } else { (b, a) };
                        assert_eq!(least.to_bits(), low.to_bits(), "min of {a} and {b}");
                        assert_eq!(greatest.to_bits(), high.to_bits(), "max of {a} and {b}");
                    }
                }
            };
        }
        check!(f32);
        check!(f64);
    }

    compare_exchange_gives_the_old_value => |scope| {
        let mut v = 3.0f32;
        // SAFETY: a live, aligned word of this thread's own.
        unsafe {
            assert_eq!(scope::compare_exchange(&raw mut v, 2.0, 9.0), 3.0);
            assert_eq!(v, 3.0);
            assert_eq!(scope::compare_exchange(&raw mut v, 3.0, -0.0), 3.0);
            assert!(scope::compare_exchange(&raw mut v, 0.0, 1.0).to_bits() == (-0.0f32).to_bits());
            assert!(v.to_bits() == (-0.0f32).to_bits());
        }
    }
}

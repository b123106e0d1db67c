//! `atomic`: each operation on a word of the thread's own, then sums over all threads in shared memory.

use crate::{Out, list};
use cuda_std::prelude::*;

macro_rules! values {
    ($scope:ident, $out:ident, $bits:ident; $($t:ty),*) => {$(
        let p = $out.next().cast::<$t>();
        let a = $bits as $t;
        let b = ($bits >> 7) as $t;
        // SAFETY: the thread's next slot, which is written again only after its last use.
        let got = unsafe {
            $scope::store(p, a);
            [
                $scope::fetch_add(p, b),
                $scope::fetch_sub(p, a),
                $scope::fetch_min(p, a),
                $scope::fetch_max(p, b),
                $scope::exchange(p, a),
                $scope::compare_exchange(p, a, b),
                $scope::compare_exchange(p, a, a),
                $scope::load(p),
                $scope::fetch_add_acq_rel(p, a),
                $scope::exchange_acq_rel(p, b),
                $scope::compare_exchange_acq_rel(p, b, a),
                $scope::load_acquire(p),
            ]
        };
        for value in got {
            $out.put(value);
        }
    )*};
}

macro_rules! integers {
    ($scope:ident, $out:ident, $bits:ident; $($t:ty),*) => {$(
        let p = $out.next().cast::<$t>();
        // SAFETY: the thread's next slot, which is written again only after its last use.
        let got = unsafe {
            $scope::store_release(p, $bits as $t);
            [
                $scope::fetch_and(p, ($bits >> 3) as $t),
                $scope::fetch_or(p, ($bits >> 5) as $t),
                $scope::fetch_xor(p, ($bits >> 9) as $t),
                $scope::load(p),
            ]
        };
        $scope::fence_acq_rel();
        for value in got {
            $out.put(value);
        }
    )*};
}

macro_rules! scope {
    ($scope:ident) => {
        /// Atomics of one scope.
        pub mod $scope {
            use crate::{Out, list};
            use cuda_std::{atomic::$scope, prelude::*};

            list!(concat!("atomics_", stringify!($scope)) => values integers sums);

            /// Operations on all types.
            #[kernel]
            pub unsafe fn values(input: &[u64], out: *mut u64) {
                // SAFETY: `out` points to the launch's output.
                let mut out = unsafe { Out::new(out) };
                // Few bits, so that sums of floats are exact.
                let bits = input[thread::index_1d() as usize] & 0xf_ffff;
                values!($scope, out, bits; u32, i32, u64, i64, f32, f64);
            }

            /// Operations on integers.
            #[kernel]
            pub unsafe fn integers(input: &[u64], out: *mut u64) {
                // SAFETY: `out` points to the launch's output.
                let mut out = unsafe { Out::new(out) };
                let bits = input[thread::index_1d() as usize];
                integers!($scope, out, bits; u32, i32, u64, i64);
            }

            /// Sums over the block in shared memory, results unused.
            #[kernel]
            pub unsafe fn sums(input: &[u64], out: *mut u64) {
                // SAFETY: `out` points to the launch's output.
                let mut out = unsafe { Out::new(out) };
                let bits = input[thread::index_1d() as usize] & 0xffff;
                let counts = shared_array![u32; 2];
                let reals = shared_array![f64; 1];
                // SAFETY: thread 0 alone before the first barrier, atomics up to the second, and reads after it.
                unsafe {
                    if thread::thread_idx_x() == 0 {
                        counts.write(0, 0);
                        counts.write(1, 0);
                        reals.write(0, 0.0);
                    }
                    thread::sync_threads();
                    $scope::fetch_add(counts.at(0), bits as u32);
                    $scope::fetch_max(counts.at(1), bits as u32);
                    $scope::fetch_add(reals.at(0), bits as f64);
                    thread::sync_threads();
                    out.put(counts.read(0));
                    out.put(counts.read(1));
                    out.put(reals.read(0));
                }
            }
        }
    };
}
scope!(block);
scope!(device);
scope!(system);

list!("atomics" => float_extremes);

/// Extremes of floats of all kinds, as bits.
#[kernel]
pub unsafe fn float_extremes(input: &[u64], out: *mut u64) {
    // SAFETY: `out` points to the launch's output.
    let mut out = unsafe { Out::new(out) };
    let own = input[thread::index_1d() as usize];
    for &other in &input[..16] {
        let p = out.next().cast::<f32>();
        // SAFETY: the thread's next slot.
        unsafe {
            p.write(f32::from_bits(own as u32));
            atomic::device::fetch_min(p, f32::from_bits(other as u32));
            out.put(p.read());
            let p = out.next().cast::<f64>();
            p.write(f64::from_bits(own));
            atomic::device::fetch_max(p, f64::from_bits(other));
            out.put(p.read());
        }
    }
}

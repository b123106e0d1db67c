//! Loads, stores and copies of each word.

mod common;
use common::run;
use cuda_std::{mem::Word, prelude::*};
use std::fmt::Debug;

fn round_trip<T: Word + PartialEq + Debug + Send + Sync>(values: [T; 2]) {
    let [old, new] = values;
    assert_eq!(size_of::<T>(), align_of::<T>());
    run(1, 1, || {
        let (mut a, b) = (old, new);
        let (p, q) = (&raw mut a, &raw const b);
        // SAFETY: live, aligned and this thread's own.
        unsafe {
            let loads = [
                mem::load_nc,
                mem::load_nc_no_allocate,
                mem::load_streaming,
                mem::load_cg,
                mem::load_last_use,
                mem::load_volatile,
                mem::load_relaxed,
                mem::load_relaxed_shared,
            ];
            for load in loads {
                assert_eq!(load(q), new);
            }
            for store in [mem::store_streaming, mem::store_cg, mem::store_wt, mem::store_volatile, mem::store_relaxed] {
                p.write(old);
                store(p, new);
                assert_eq!(p.read(), new);
            }
            p.write(old);
            mem::prefetch_l2(q);
            mem::copy_async(p, q);
            mem::copy_async_commit();
            mem::copy_async_wait::<0>();
            assert_eq!(p.read(), new);
        }
    });
}

#[test]
fn every_word_survives_a_round_trip() {
    round_trip([1u32, 0xdead_beef]);
    round_trip([1i32, -2]);
    round_trip([1.0f32, -2.5]);
    round_trip([1u64, 0xdead_beef_0bad_cafe]);
    round_trip([1i64, i64::MIN]);
    round_trip([1.0f64, -2.5e300]);
    round_trip([U32x2::splat(0), U32x2::new(1, 2)]);
    round_trip([I32x2::splat(0), I32x2::new(-1, 2)]);
    round_trip([F32x2::splat(0.0), F32x2::new(1.5, -2.0)]);
    round_trip([U32x4::splat(0), U32x4::new(1, 2, 3, 4)]);
    round_trip([I32x4::splat(0), I32x4::new(-1, 2, -3, 4)]);
    round_trip([F32x4::splat(0.0), F32x4::new(1.5, -2.0, 3.0, 4.0)]);
    round_trip([U64x2::splat(0), U64x2::new(1 << 40, 2)]);
    round_trip([F64x2::splat(0.0), F64x2::new(1.5, -2e200)]);
}

#[test]
fn vectors_are_their_arrays() {
    let v = F32x4::from([1.0, 2.0, 3.0, 4.0]);
    assert_eq!((v.x, v.y, v.z, v.w), (1.0, 2.0, 3.0, 4.0));
    assert_eq!(<[f32; 4]>::from(v), v.to_array());
    assert_eq!((align_of::<F32x4>(), align_of::<U32x2>(), align_of::<F64x2>()), (16, 8, 16));
    // One behind the other, as the host sees a buffer of them.
    assert_eq!(bytemuck::cast_slice::<U32x2, u32>(&[U32x2::new(1, 2), U32x2::new(3, 4)]), [1, 2, 3, 4]);
}

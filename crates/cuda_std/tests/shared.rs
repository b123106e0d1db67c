//! Shared memory, static and dynamic.

mod common;
use common::{Output, run, run_shared};
use cuda_std::prelude::*;

/// Reverses the block's values through shared memory.
fn reverse(value: u32) -> u32 {
    let array = shared_array![u32; 64];
    let (t, n) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    // SAFETY: each thread writes its own element; reads follow a barrier, and later writes another.
    unsafe {
        array.write(t, value);
        thread::sync_threads();
        let mirrored = array.read(n - 1 - t);
        thread::sync_threads();
        mirrored
    }
}

#[test]
fn a_block_shares_an_array_and_blocks_do_not() {
    let mut values = vec![0; 6 * 64];
    let out = Output::new(&mut values);
    run(6, 64, || {
        let index = thread::index_1d();
        let mirrored = reverse(index);
        out.set(index as usize, mirrored);
        // The same array again, from another place.
        assert_eq!(reverse(mirrored), index);
    });
    for (i, value) in values.iter().enumerate() {
        assert_eq!(*value as usize, i / 64 * 64 + 63 - i % 64);
    }
}

#[test]
fn each_declaration_is_an_array_of_its_own() {
    const N: usize = 3;
    run(2, 4, || {
        let (a, b) = (shared_array![u32; N], shared_array![u32; N]);
        let wide = shared_array![F32x4; 2 * N];
        assert_ne!(a.as_mut_ptr(), b.as_mut_ptr());
        assert_eq!((a.len(), wide.len()), (3, 6));
        assert_eq!(wide.as_mut_ptr().addr() % 16, 0);
        let copy = a;
        if thread::thread_idx_x() == 0 {
            // SAFETY: this thread alone writes, and the others read after the barrier.
            unsafe {
                (0..N).for_each(|i| a.write(i, i as u32));
                (0..N).for_each(|i| b.write(i, 10 + i as u32));
                wide.at(5).write(F32x4::splat(2.0));
            }
        }
        thread::sync_threads();
        // SAFETY: thread 0 wrote before the barrier, and nobody writes after it.
        unsafe {
            assert_eq!(copy.as_slice(), [0, 1, 2]);
            assert_eq!(b.as_slice(), [10, 11, 12]);
            assert_eq!(wide.get(5).w, 2.0);
        }
    });
}

#[test]
fn dynamic_shared_memory_has_the_size_that_the_launch_asks_for() {
    run_shared(2, 32, 32 * 8, || {
        assert_eq!(dynamic_shared_size(), 256);
        let (values, bytes) = (dynamic_shared::<u64>(), dynamic_shared::<u8>());
        assert_eq!(values.cast(), bytes);
        assert_eq!(values.addr() % 16, 0);
        let t = thread::thread_idx_x() as usize;
        // SAFETY: 32 words, one for each thread, and a barrier before the reads.
        unsafe {
            values.add(t).write(t as u64);
            thread::sync_threads();
            assert_eq!(values.add(31 - t).read(), 31 - t as u64);
        }
    });
    run(1, 1, || assert_eq!(dynamic_shared_size(), 0));
}

#[test]
#[cfg(debug_assertions)]
fn debug_builds_check_bounds() {
    let error = common::run_error(1, || {
        let array = shared_array![u32; 4];
        // SAFETY: the index is refused before memory is touched.
        unsafe { array.write(4, 0) };
    });
    let said = error.to_string();
    // The caller's line, not the library's.
    assert!(said.contains("index 4 is outside a shared array of length 4") && said.contains("tests/shared.rs"), "{said}");
}

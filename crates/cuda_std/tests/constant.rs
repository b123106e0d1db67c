//! Constant memory.

mod common;
use common::run;
use cuda_std::prelude::*;

constant! {
    /// With a doc comment, and private.
    static WEIGHTS: [f32; 4];
    static PAIRS: [U32x2; 2 + 1];
}

#[test]
fn kernels_read_what_the_host_stored() {
    assert_eq!((WEIGHTS.name(), WEIGHTS.len(), WEIGHTS.byte_len()), ("WEIGHTS", 4, 16));
    assert_eq!((PAIRS.name(), PAIRS.len(), PAIRS.byte_len()), ("PAIRS", 3, 24));
    run(1, 2, || {
        assert_eq!(WEIGHTS.as_slice(), [0.0; 4]);
        assert_eq!(PAIRS.get(2), U32x2::splat(0));
    });
    // SAFETY: no kernel runs, and this test alone uses the constants.
    unsafe {
        WEIGHTS.store(&[1.0, 2.0, 3.0, 4.0]);
        PAIRS.store(&[U32x2::new(1, 2), U32x2::new(3, 4), U32x2::new(5, 6)]);
    }
    run(2, 32, || {
        let i = thread::thread_idx_x() as usize % 4;
        assert_eq!(WEIGHTS.get(i), i as f32 + 1.0);
        assert_eq!(PAIRS.get(1).y, 4);
    });
}

#[test]
fn an_index_outside_is_a_panic() {
    let error = common::run_error(1, || {
        PAIRS.get(std::hint::black_box(3));
    });
    assert!(error.to_string().contains("out of bounds"), "{error}");
}

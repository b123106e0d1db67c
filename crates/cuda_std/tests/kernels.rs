//! The kernels of `all_items` on the CPU: the same output under every schedule.

use all_items::{BLOCK, DYNAMIC_SHARED, GRID, OUTPUT, memory};
use cuda_std::F32x2;
use simt::{Executor, Launch, Schedule};

/// Words aligned like a GPU buffer; the first are special floats.
fn input() -> Vec<u64> {
    let mut state = 1u64;
    let mut words: Vec<u64> = (0..256)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state ^ state >> 29
        })
        .collect();
    let special = [0.0, -0.0, 1.5, -1.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -f64::NAN];
    for (i, value) in special.into_iter().enumerate() {
        words[2 * i] = value.to_bits();
        words[2 * i + 1] = (value as f32).to_bits().into();
    }
    words
}

#[repr(align(16))]
struct Aligned([u64; 256]);

#[test]
fn outputs_do_not_depend_on_the_schedule() {
    let input = Aligned(input().try_into().unwrap());
    // SAFETY: no kernel runs yet, and no other test of this binary uses the constants.
    unsafe {
        memory::ALL_ITEMS_TABLE.store(&std::array::from_fn(|i| input.0[100 + i]));
        memory::ALL_ITEMS_PAIRS.store(&std::array::from_fn(|i| F32x2::new(i as f32, -(i as f32))));
    }
    let launch = |kernel| Launch { kernel, grid: GRID.into(), block: BLOCK.into(), dynamic_shared: DYNAMIC_SHARED };
    let mut names = 0;
    for (name, kernel) in all_items::kernels() {
        let run = |schedule| {
            // Two words each, so that it is aligned to 16 bytes.
            let mut output = vec![0u128; OUTPUT / 2];
            let first = output.as_mut_ptr().expose_provenance();
            let body = || {
                // SAFETY: the kernel writes the thread's own words of `output`.
                unsafe { kernel(&input.0, std::ptr::with_exposed_provenance_mut(first)) }
            };
            Executor::new(2).with_schedule(schedule).run(&launch(name), &body).unwrap_or_else(|error| panic!("{error}"));
            bytemuck::cast_slice::<u128, u64>(&output).to_vec()
        };
        let output = run(Schedule::InOrder);
        for seed in 0..4 {
            assert!(output == run(Schedule::Random { seed }), "{name} with seed {seed}");
        }
        assert!(output.iter().any(|&word| word != 0), "{name} writes nothing");
        names += 1;
    }
    assert_eq!(names, 60);
}

//! Structures by value and generic kernels, as the host launches them.

use all_items::params::{
    ArraysArgs, Count, Larger, Length, Line, Nothing, Number, Rest, SeveralArgs, Times, applied, constant, line, mapped, nested,
    of_points, reverse,
};
use cuda_std::{
    DisjointSlice, F32x4,
    launch::{Arguments, Contract, IntoParam, LaunchConfig, Location, Memory, RawPtr, RawSlice},
};
use simt::{Executor, Launch};

/// Memory that kernels may write, for as long as it is borrowed.
struct Slice<'a, T>(&'a mut [T]);

fn memory<T>(values: &[T]) -> Memory {
    let first = values.as_ptr().addr();
    Memory { location: Location::Cpu, bytes: first..first + size_of_val(values), page: None, layout: 0 }
}

// SAFETY: the slice is initialised, and borrowed exclusively.
unsafe impl<T: Send + 'static> IntoParam<DisjointSlice<'static, T>> for Slice<'_, T> {
    fn raw(&self) -> RawSlice<T> {
        RawSlice::new(self.0.as_ptr().cast_mut(), self.0.len())
    }
    fn memory(&self, arguments: &mut Arguments) {
        arguments.note::<DisjointSlice<'static, T>>(memory(self.0));
    }
}
// SAFETY: the slice is initialised, and borrowed exclusively.
unsafe impl<T: 'static> IntoParam<*mut T> for Slice<'_, T> {
    fn raw(&self) -> RawPtr<T> {
        RawPtr::new(self.0.as_ptr().cast_mut())
    }
    fn memory(&self, arguments: &mut Arguments) {
        arguments.note::<*mut T>(memory(self.0));
    }
}

/// Memory that kernels read.
struct Shared<'a, T>(&'a [T]);
// SAFETY: the slice is initialised, and nobody writes it while it is borrowed.
unsafe impl<T: 'static> IntoParam<&'static [T]> for Shared<'_, T> {
    fn raw(&self) -> RawSlice<T> {
        RawSlice::new(self.0.as_ptr().cast_mut(), self.0.len())
    }
    fn memory(&self, arguments: &mut Arguments) {
        arguments.note::<&'static [T]>(memory(self.0));
    }
}

fn run(kernel: &str, grid: u32, body: impl Fn() + Sync) {
    let launch = Launch { kernel, grid: grid.into(), block: 64.into(), dynamic_shared: 0 };
    Executor::new(2).run(&launch, &body).unwrap();
}

/// Generic over the kernel's types.
fn lines<T: Number + line::Instance + Default + From<u8>>(symbol: &str, max_threads: u32) -> Vec<T> {
    let (input, mut out) = ([T::from(1), T::from(2), T::from(3)], [T::default(); 3]);
    let (first, last) = (input.as_ptr().addr() as u64, out.as_ptr().addr() as u64);
    let arrays = ArraysArgs { input: Shared(&input), out: Slice(&mut out) };
    let of = Line { factor: T::from(10), offset: T::from(5) };
    let bound = line::bind::<T>(LaunchConfig::new(1, 64), arrays, of, Nothing, Count(2), T::from(1));
    assert_eq!((bound.kernel().symbol(), bound.kernel().name()), (symbol, symbol.replacen('_', "::", 1).as_str()));
    let contract = bound.kernel().contract;
    assert!(contract.dimensions == 1 && contract.max_threads == Some(max_threads));
    assert!(std::ptr::eq(bound.kernel(), line::kernel::<T>()));
    let words = bound.arguments().words();
    assert_eq!((words.len(), &words[..4], words[6]), (8, &[first, 3, last, 3][..], 2));
    let memory = bound.arguments().memory();
    let starts: Vec<_> = memory.iter().map(|(memory, writes)| (memory.bytes.start as u64, *writes)).collect();
    assert_eq!(starts, [(first, false), (last, true)]);
    // SAFETY: all memory is of this process, and the launch is the one that was bound.
    run("line", 1, unsafe { bound.into_body() });
    out.into()
}

#[test]
fn structures_reach_the_kernel() {
    assert_eq!(lines::<f32>("params_line_f32", 64), [16.0, 26.0, 0.0]);
    assert_eq!(lines::<f64>("params_line_f64", 128), [16.0, 26.0, 0.0]);
}

#[test]
fn parameters_within_each_other() {
    let inputs: [Vec<f32>; 3] = [20, 22, 24].map(|from| vec![from as f32, from as f32 + 1.0]);
    let mut found = [0.0f32; 26];
    let value = Rest {
        lines: [Line { factor: 0.0, offset: 1.0 }, Line { factor: 2.0, offset: 3.0 }],
        vector: F32x4::new(4.0, 5.0, 6.0, 7.0),
        matrix: [[8, 9], [10, 11], [12, 13]],
        wide: (14 << 64) + 15,
    };
    let [first, second, third] = [0, 1, 2].map(|i| Shared(&inputs[i]));
    let several = SeveralArgs { inputs: [first, second], part: ArraysArgs { input: third, out: Slice(&mut found) } };
    let bound = nested::bind(LaunchConfig::new(1, 64), value, several, [16u8, 17, 18], [-19i128]);
    // 4 + 4 + 6 + 2 words, 4 slices, 3 bytes, and 2 words.
    assert_eq!(bound.arguments().words().len(), 16 + 8 + 3 + 2);
    assert_eq!(bound.arguments().words()[14..16], [15, 14]);
    assert_eq!(bound.arguments().memory().iter().map(|(_, writes)| *writes).collect::<Vec<_>>(), [false, false, false, true]);
    // SAFETY: all memory is of this process, and the launch is the one that was bound.
    run("nested", 1, unsafe { bound.into_body() });
    assert_eq!(found.map(f32::abs), std::array::from_fn(|i| i as f32));
    assert_eq!(found[19], -19.0);
}

#[test]
fn several_generic_parameters() {
    let mut found = [0.0f32; 3];
    let bound = mapped::bind::<1, f32, Times<3>>(LaunchConfig::new(1, 64), Shared(&[1.0, 2.0, 4.0]), [8.0f32], Slice(&mut found));
    assert_eq!((bound.kernel().symbol(), bound.kernel().contract.max_threads), ("params_mapped_1_f32_times_3", Some(64)));
    // SAFETY: all memory is of this process, and the launch is the one that was bound.
    run("mapped", 1, unsafe { bound.into_body() });
    assert_eq!(found, [5.0, 10.0, 20.0]);
    let mut found = [0u64; 3];
    let bound = mapped::bind::<2, _, Times<2>>(LaunchConfig::new(1, 64), Shared(&[1u64, 2, 4]), [8u64, 16], Slice(&mut found));
    assert_eq!(bound.kernel().symbol(), "params_mapped_2_u64_times_2");
    // SAFETY: as above.
    run("mapped", 1, unsafe { bound.into_body() });
    assert_eq!(found, [6, 12, 24]);
    let mut found = [0.0f32; 2];
    let bound = of_points::bind::<Length>(LaunchConfig::new(1, 64), Shared(&[3.0, -5.0]), 4.0, Slice(&mut found));
    assert_eq!(bound.kernel().symbol(), "params_of_points_length");
    // SAFETY: as above.
    run("of_points", 1, unsafe { bound.into_body() });
    assert_eq!(found, [5.0, 41.0f32.sqrt()]);
    assert_eq!(of_points::kernel::<Larger>().symbol(), "params_of_points_larger");
    let line = Line { factor: 2.0f32, offset: 0.5 };
    let bound = applied::bind(LaunchConfig::new(1, 64), Shared(&[3.0, -5.0]), Slice(&mut found), line);
    assert_eq!((bound.kernel().symbol(), bound.arguments().words().len()), ("params_applied_line_f32", 6));
    // SAFETY: as above.
    run("applied", 1, unsafe { bound.into_body() });
    assert_eq!(found, [6.5, -9.5]);
    assert_eq!(applied::kernel::<Count>().symbol(), "params_applied_count");
    assert_eq!(
        [constant::kernel::<-1>(), constant::kernel::<1>()].map(|kernel| kernel.symbol()),
        ["params_constant_minus_1", "params_constant_1"]
    );
}

#[test]
fn shared_arrays_of_a_type() {
    fn reversed<T: Number + reverse::Instance + From<u8> + PartialEq + std::fmt::Debug>() {
        let mut values: Vec<T> = (0..128).map(T::from).collect();
        // SAFETY: two blocks of 64 threads, and a value for each.
        let bound = unsafe { reverse::bind::<T>(LaunchConfig::new(2, 64), Slice(&mut values)) };
        // SAFETY: all memory is of this process, and the launch is the one that was bound.
        run("reverse", 2, unsafe { bound.into_body() });
        let expected: Vec<T> = (0..64).rev().chain((64..128).rev()).map(T::from).collect();
        assert_eq!(values, expected);
    }
    reversed::<f32>();
    reversed::<f64>();
}

#[test]
fn contracts_are_facts() {
    let contract = all_items::inline::by_value::kernel().contract;
    assert_eq!(contract, Contract { block: Some((32, 2).into()), ..Contract::default() });
    let together = all_items::inline::together::kernel().contract;
    assert_eq!(together, Contract { carveout: Some(50), cooperative: true, ..Contract::default() });
}

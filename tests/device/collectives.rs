//! Collectives of a warp, a block and a device against plain loops: on the best device there is, and on the CPU with
//! threads in random orders, which shows a missing barrier as a wrong answer.

use gpu_kernels::collectives::block::{Block, STORAGE};
use gpu_kernels::collectives::histogram::NO_BIN;
use gpu_kernels::collectives::look_back::{Decoupled, Hierarchical, LookBack, State, StateValue, state_words};
use gpu_kernels::collectives::probe::{self, Compose, SAME, compose};
use gpu_kernels::collectives::{Identity, Sum};
use proptest::prelude::*;
use proptest::sample::select;
use simt::{Executor, Launch, Schedule};
use std::fmt::Debug;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use warpsmith::collectives::{self, Operator, ReduceWorkspace, ScanWorkspace, Value};
use warpsmith::device::{Buffer, Device, DeviceError, Stream};
use warpsmith::launch;

/// Sizes of blocks: around a warp, no multiple of one, many.
const BLOCKS: [u32; 8] = [1, 31, 32, 33, 100, 256, 1000, 1024];

/// Lengths around a tile, and beyond the blocks of a reduction.
const LENGTHS: [usize; 11] = [0, 1, 2, 31, 32, 33, 4095, 4096, 4097, 50_000, 1_000_000];

fn random_order(seed: u64) -> Executor {
    Executor::new(3).with_schedule(Schedule::Random { seed })
}

/// The best device, and the CPU in two random orders.
fn streams() -> Vec<Stream> {
    [Device::best().unwrap(), Device::cpu_with(random_order(1)), Device::cpu_with(random_order(2))]
        .iter()
        .map(|device| device.stream().unwrap())
        .collect()
}

/// Sequential inclusive and exclusive scans and the total.
fn sequential<T: Copy>(values: &[T], identity: T, op: impl Fn(T, T) -> T) -> (Vec<T>, Vec<T>, T) {
    let mut total = identity;
    let (mut inclusive, mut exclusive) = (Vec::new(), Vec::new());
    for &value in values {
        exclusive.push(total);
        total = op(total, value);
        inclusive.push(total);
    }
    (inclusive, exclusive, total)
}

/// Compares what the first `active` threads of each group of threads (a warp or a block) have left, the reduction, the
/// exclusive scan, its total and maybe the inclusive scan, with sequential results.
fn check<T: Copy + PartialEq + Debug>(
    found: &[&[T]],
    values: &[T],
    (group, active): (usize, usize),
    identity: T,
    op: impl Fn(T, T) -> T + Copy,
) {
    for (number, values) in values.chunks(group).enumerate() {
        let n = active.min(values.len());
        let (inclusive, exclusive, total) = sequential(&values[..n], identity, op);
        let all = vec![total; n];
        let expected = [(&all, "reduction"), (&exclusive, "exclusive scan"), (&all, "total"), (&inclusive, "inclusive scan")];
        for (found, (expected, what)) in found.iter().zip(expected) {
            assert_eq!(found[number * group..][..n], *expected, "{what} of group {number}");
        }
    }
}

macro_rules! probes {
    ($($module:ident: $t:ty, $values:expr, $identity:expr, $op:expr, $warp:ident $block:ident;)*) => {$(
        mod $module {
            use super::*;

            /// Threads of a block, and the values of two blocks.
            fn values() -> impl Strategy<Value = (u32, Vec<$t>)> {
                select(&BLOCKS[..]).prop_flat_map(|n| (Just(n), proptest::collection::vec($values, 2 * n as usize)))
            }

            proptest! {
                #![proptest_config(ProptestConfig::with_cases(12))]

                #[test]
                fn warp((threads, values) in values(), lanes in 1u32..=32) {
                    for stream in streams() {
                        let input = stream.device().upload(&values).unwrap();
                        let mut out = [(); 4].map(|()| stream.device().alloc_zeroed::<$t>(values.len()).unwrap());
                        let [reduced, exclusive, total, inclusive] = &mut out;
                        // SAFETY: an element for every thread.
                        unsafe {
                            launch!(stream, probe::$warp<<<2, threads>>>(&input, lanes, reduced, inclusive, exclusive, total))
                        }.unwrap();
                        let out = out.map(|buffer| stream.download_vec(&buffer).unwrap());
                        // Warps begin anew in each block.
                        for block in 0..2 {
                            let range = block * threads as usize..(block + 1) * threads as usize;
                            let of_block = out.each_ref().map(|all| &all[range.clone()]);
                            check(&of_block, &values[range.clone()], (32, lanes as usize), $identity, $op);
                        }
                    }
                }

                #[test]
                fn block((threads, values) in values()) {
                    for stream in streams() {
                        let input = stream.device().upload(&values).unwrap();
                        let mut out = [(); 3].map(|()| stream.device().alloc_zeroed::<$t>(values.len()).unwrap());
                        let [reduced, exclusive, total] = &mut out;
                        // SAFETY: an element for every thread.
                        unsafe { launch!(stream, probe::$block<<<2, threads>>>(&input, reduced, exclusive, total)) }.unwrap();
                        let out = out.map(|buffer| stream.download_vec(&buffer).unwrap());
                        let size = threads as usize;
                        check(&out.each_ref().map(|all| &all[..]), &values, (size, size), $identity, $op);
                    }
                }
            }
        }
    )*};
}
probes! {
    sum_u32: u32, any::<u32>(), 0, u32::wrapping_add, warp_sum_u32 block_sum_u32;
    min_i32: i32, any::<i32>(), i32::MAX, i32::min, warp_min_i32 block_min_i32;
    max_u64: u64, any::<u64>(), 0, u64::max, warp_max_u64 block_max_u64;
    // Whole numbers, whose sums are exact.
    sum_f64: f64, (-1_000_000i32..1_000_000).prop_map(f64::from), 0.0, |a, b| a + b, warp_sum_f64 block_sum_f64;
    affine_u32: u32, any::<u32>(), SAME, compose, warp_affine_u32 block_affine_u32;
}

/// Bins of items, skewed by `shift`, some without one.
fn bins_of(items: &[u32], bins: u32, shift: u32) -> Vec<u32> {
    items.iter().map(|&item| if item % 7 == 3 { NO_BIN } else { (item >> shift).wrapping_mul(0x9e37_79b9) % bins }).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn histograms(
        (threads, items) in select(&BLOCKS[..]).prop_flat_map(|n| (Just(n), proptest::collection::vec(any::<u32>(), 2 * n as usize))),
        bins in select(&[1u32, 2, 31, 32, 33, 256, 2048][..]),
        shift in select(&[0, 20, 30][..]),
    ) {
        let of_threads = bins_of(&items, bins, shift);
        for stream in streams() {
            let input = stream.device().upload(&of_threads).unwrap();
            let mut counts = stream.device().alloc_zeroed::<u32>(2 * bins as usize).unwrap();
            // SAFETY: as many elements as the kernel wants for every thread and every block.
            unsafe {
                launch!(stream, probe::histogram<<<2, threads, 4 * bins as usize>>>(&input, bins, &mut counts))
            }.unwrap();
            let counts = stream.download_vec(&counts).unwrap();
            for (block, of_threads) in of_threads.chunks(threads as usize).enumerate() {
                for bin in 0..bins {
                    let expected = of_threads.iter().filter(|&&other| other == bin).count();
                    prop_assert_eq!(counts[block * bins as usize + bin as usize] as usize, expected);
                }
            }
        }
    }
}

/// Test values for a type: sums of the floats are exact, for they are small whole numbers.
trait Sample: Value + PartialEq + Debug {
    const ZERO: Self;
    fn sample(bits: u64) -> Self;
    fn add(self, other: Self) -> Self;
    /// `self` is the least or the greatest (whatever `total_cmp` says) of the items.
    fn least(items: &[Self]) -> Self;
    fn greatest(items: &[Self]) -> Self;
}

macro_rules! integer_samples {
    ($($t:ty)*) => {$(
        impl Sample for $t {
            const ZERO: Self = 0;
            fn sample(bits: u64) -> Self { bits as $t }
            fn add(self, other: Self) -> Self { self.wrapping_add(other) }
            fn least(items: &[Self]) -> Self { items.iter().copied().min().unwrap_or(Self::MAX) }
            fn greatest(items: &[Self]) -> Self { items.iter().copied().max().unwrap_or(Self::MIN) }
        }
    )*};
}
integer_samples!(u32 i32 u64 i64);

macro_rules! float_samples {
    ($($t:ty)*) => {$(
        impl Sample for $t {
            const ZERO: Self = 0.0;
            fn sample(bits: u64) -> Self { (bits % 15) as $t - 7.0 }
            fn add(self, other: Self) -> Self { self + other }
            fn least(items: &[Self]) -> Self { items.iter().copied().min_by(|a, b| a.total_cmp(b)).unwrap_or(Self::INFINITY) }
            fn greatest(items: &[Self]) -> Self {
                items.iter().copied().max_by(|a, b| a.total_cmp(b)).unwrap_or(Self::NEG_INFINITY)
            }
        }
    )*};
}
float_samples!(f32 f64);

fn samples<T: Sample>(n: usize, seed: u64) -> Vec<T> {
    (0..n as u64)
        .map(|i| T::sample((i ^ seed << 32).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)))
        .collect()
}

fn check_scan<T: Sample>(stream: &Stream, workspace: &mut ScanWorkspace<T>, n: usize, seed: u64) {
    let values = samples::<T>(n, seed);
    let (_, expected, total) = sequential(&values, T::ZERO, T::add);
    let input = stream.device().upload(&values).unwrap();
    let mut output = stream.device().alloc_zeroed(n).unwrap();
    collectives::exclusive_scan(stream, &input, &mut output, workspace).unwrap();
    assert!(stream.download_vec(&output).unwrap() == expected, "scan of {n}");
    assert_eq!(stream.download_vec(workspace.total()).unwrap(), [total], "total of {n}");

    let mut data = input;
    collectives::exclusive_scan_in_place(stream, &mut data, workspace).unwrap();
    assert!(stream.download_vec(&data).unwrap() == expected, "scan in place of {n}");
    assert_eq!(stream.download_vec(workspace.total()).unwrap(), [total], "total in place of {n}");
}

fn check_reduce<T: Sample>(stream: &Stream, workspace: &mut ReduceWorkspace<T>, n: usize, seed: u64) {
    let values = samples::<T>(n, seed);
    let input = stream.device().upload(&values).unwrap();
    let sum = values.iter().copied().fold(T::ZERO, T::add);
    for (operator, expected) in [(Operator::Sum, sum), (Operator::Min, T::least(&values)), (Operator::Max, T::greatest(&values))]
    {
        collectives::reduce(stream, &input, operator, workspace).unwrap();
        assert_eq!(stream.download_vec(workspace.result()).unwrap(), [expected], "{operator:?} of {n}");
    }
}

/// All lengths one after another with one workspace; a million on the best device only.
fn check_lengths<T: Sample>() {
    for (device, stream) in streams().iter().enumerate() {
        let mut scan = ScanWorkspace::new(stream.device()).unwrap();
        let mut reduce = ReduceWorkspace::new(stream.device()).unwrap();
        for n in LENGTHS.into_iter().chain([3, 8192, 4095]).filter(|&n| device == 0 || n <= 10_000) {
            check_scan::<T>(stream, &mut scan, n, n as u64);
            check_reduce::<T>(stream, &mut reduce, n, n as u64);
        }
    }
}

macro_rules! lengths {
    ($($name:ident: $t:ty;)*) => {$(
        #[test]
        fn $name() {
            check_lengths::<$t>();
        }
    )*};
}
lengths!(lengths_u32: u32; lengths_i32: i32; lengths_u64: u64; lengths_i64: i64; lengths_f32: f32; lengths_f64: f64;);

/// More tiles than a reduction has blocks.
#[test]
fn reductions_of_many_tiles() {
    let stream = Device::best().unwrap().stream().unwrap();
    check_reduce::<u32>(&stream, &mut ReduceWorkspace::new(stream.device()).unwrap(), 1025 * 4096 + 7, 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn any_lengths(lengths in proptest::collection::vec(0usize..30_000, 3), seed in any::<u64>()) {
        let executors = [Executor::new(1), Executor::new(4), random_order(seed)];
        let devices = executors.map(Device::cpu_with).into_iter().chain([Device::best().unwrap()]);
        for device in devices {
            let stream = device.stream().unwrap();
            let mut narrow = ScanWorkspace::with_capacity(&device, 20_000).unwrap();
            let mut wide = ScanWorkspace::new(&device).unwrap();
            for &n in &lengths {
                check_scan::<u32>(&stream, &mut narrow, n, seed);
                check_scan::<i64>(&stream, &mut wide, n, seed);
                check_reduce::<i32>(&stream, &mut ReduceWorkspace::new(&device).unwrap(), n, seed);
            }
        }
    }
}

/// Views that begin anywhere, so that nothing can be loaded 16 bytes at a time; what surrounds them stays.
#[test]
fn views_without_alignment() {
    for stream in streams() {
        let device = stream.device();
        let values = samples::<u32>(9000, 5);
        let input = device.upload(&values).unwrap();
        let mut workspace = ScanWorkspace::new(device).unwrap();
        let mut reduce = ReduceWorkspace::new(device).unwrap();
        for (from, to) in [(0, 1), (1, 0), (1, 1), (3, 2)] {
            let n = 8500;
            let mut output = device.upload(&vec![7u32; 9000]).unwrap();
            let part = input.view(from..from + n).unwrap();
            collectives::exclusive_scan(&stream, part, output.view_mut(to..to + n).unwrap(), &mut workspace).unwrap();
            let (_, mut expected, _) = sequential(&values[from..from + n], 0, u32::wrapping_add);
            expected.splice(0..0, vec![7; to]);
            expected.resize(9000, 7);
            assert!(stream.download_vec(&output).unwrap() == expected, "from {from} to {to}");

            collectives::reduce(&stream, part, Operator::Max, &mut reduce).unwrap();
            assert_eq!(stream.download_vec(reduce.result()).unwrap(), [u32::greatest(&values[from..from + n])]);
        }
    }
}

/// Sums of floats don't depend on which thread or block comes first, nor on the backend, and are good.
#[test]
fn float_sums_are_the_same_bits_each_time() {
    fn run(device: &Device, values: &[f32]) -> (Vec<u32>, u32) {
        let stream = device.stream().unwrap();
        let mut data = device.upload(values).unwrap();
        let (mut scan, mut reduce) = (ScanWorkspace::new(device).unwrap(), ReduceWorkspace::new(device).unwrap());
        collectives::reduce(&stream, &data, Operator::Sum, &mut reduce).unwrap();
        collectives::exclusive_scan_in_place(&stream, &mut data, &mut scan).unwrap();
        let scanned = stream.download_vec(&data).unwrap().into_iter().map(f32::to_bits).collect();
        (scanned, stream.download_vec(reduce.result()).unwrap()[0].to_bits())
    }
    // Sixteen orders of magnitude, both signs.
    let values: Vec<f32> =
        samples::<u32>(40_000, 9).into_iter().map(|bits| ((bits % 53) as f32 - 26.5).exp2() * (bits % 3) as f32 - 0.3).collect();
    let expected = run(&Device::cpu_with(Executor::new(1)), &values);
    for device in [Device::cpu_with(Executor::new(4)), Device::cpu_with(random_order(3)), Device::best().unwrap()] {
        assert!(run(&device, &values) == expected, "{device}");
    }
    let exact = |values: &[f32]| values.iter().copied().map(f64::from).sum::<f64>();
    let magnitude: f64 = values.iter().copied().map(f64::from).map(f64::abs).sum();
    for (i, &bits) in expected.0.iter().enumerate().step_by(997).chain([(values.len(), &expected.1)]) {
        let error = (f64::from(f32::from_bits(bits)) - exact(&values[..i])).abs();
        assert!(error < 1e-6 * magnitude, "{error} at {i}");
    }
}

#[test]
fn minima_and_maxima_of_odd_floats() {
    let stream = Device::best().unwrap().stream().unwrap();
    let mut workspace = ReduceWorkspace::<f32>::new(stream.device()).unwrap();
    let mut reduce = |values: &[f32], operator| {
        let input = stream.device().upload(values).unwrap();
        collectives::reduce(&stream, &input, operator, &mut workspace).unwrap();
        stream.download_vec(workspace.result()).unwrap()[0].to_bits()
    };
    assert_eq!(reduce(&[f32::NAN, 2.0, f32::NAN, 1.0], Operator::Min), 1.0f32.to_bits());
    assert_eq!(reduce(&[f32::NAN, 2.0, f32::NAN, 1.0], Operator::Max), 2.0f32.to_bits());
    assert_eq!(reduce(&[0.0, -0.0, 0.0], Operator::Min), (-0.0f32).to_bits());
    assert_eq!(reduce(&[-0.0, 0.0, -0.0], Operator::Max), 0.0f32.to_bits());
}

/// One workspace, two streams, nobody waits: the scans follow each other.
#[test]
fn a_workspace_may_change_streams() {
    let device = Device::best().unwrap();
    let streams = [device.stream().unwrap(), device.stream().unwrap()];
    let values = samples::<u64>(100_000, 2);
    let input = device.upload(&values).unwrap();
    let mut outputs: Vec<Buffer<u64>> = (0..6).map(|_| device.alloc_zeroed(values.len()).unwrap()).collect();
    let mut workspace = ScanWorkspace::new(&device).unwrap();
    for (i, output) in outputs.iter_mut().enumerate() {
        collectives::exclusive_scan(&streams[i % 2], &input, output, &mut workspace).unwrap();
    }
    device.synchronize().unwrap();
    let (_, expected, _) = sequential(&values, 0, u64::wrapping_add);
    for output in &outputs {
        assert!(streams[0].download_vec(output).unwrap() == expected);
    }
}

#[test]
fn lengths_that_differ_are_refused() {
    let stream = Device::best().unwrap().stream().unwrap();
    let input = stream.device().upload(&[1u32, 2, 3]).unwrap();
    let mut output = stream.device().alloc::<u32>(2).unwrap();
    let mut workspace = ScanWorkspace::new(stream.device()).unwrap();
    let error = collectives::exclusive_scan(&stream, &input, &mut output, &mut workspace).unwrap_err();
    assert!(matches!(error, DeviceError::LengthMismatch { found: 2, expected: 3, .. }), "{error}");
}

/// Looks back from every tile, with `aggregate(tile)` as its sum. The first tile waits until `started` others have
/// begun, so that these have to look far.
fn look_back<T, B, O>(executor: &Executor, tiles: u32, started: u32, op: O, aggregate: impl Fn(usize) -> T + Sync)
where
    T: StateValue + Debug + PartialEq + Send + Sync + Into<u64>,
    B: LookBack<T>,
    O: Identity<T> + Sync,
{
    let state: Vec<AtomicU64> = (0..state_words(tiles as usize)).map(|_| AtomicU64::new(0)).collect();
    let prefixes: Vec<AtomicU64> = (0..tiles).map(|_| AtomicU64::new(u64::MAX)).collect();
    let (tickets, others) = (AtomicU32::new(0), AtomicU32::new(0));
    for epoch in [1, 2, 700] {
        tickets.store(0, Ordering::Relaxed);
        others.store(0, Ordering::Relaxed);
        let launch = Launch { kernel: "look_back", grid: tiles.into(), block: 32.into(), dynamic_shared: 0 };
        executor
            .run(&launch, &|| {
                let lane = cuda_std::thread::thread_idx_x();
                let ticket = if lane == 0 { tickets.fetch_add(1, Ordering::Relaxed) } else { 0 };
                let tile = cuda_std::warp::shuffle_idx(cuda_std::warp::FULL_MASK, ticket, 0) as usize;
                others.fetch_add(1, Ordering::Relaxed);
                while tile == 0 && others.load(Ordering::Relaxed) < 32 * started {
                    simt::current::yield_now();
                }
                // SAFETY: the words are as many as the tiles want, and these epochs' alone; all lanes of one warp come
                // here.
                let prefix = unsafe {
                    let state = State::new(state.as_ptr().cast_mut().cast(), epoch);
                    B::exclusive_prefix(state, tile, tiles as usize, aggregate(tile), op)
                };
                prefixes[tile].store(prefix.into(), Ordering::Relaxed);
            })
            .unwrap();
        let mut expected = op.identity();
        for (tile, prefix) in prefixes.iter().enumerate() {
            assert_eq!(prefix.load(Ordering::Relaxed), expected.into(), "tile {tile}, epoch {epoch}");
            expected = op.apply(expected, aggregate(tile));
        }
    }
}

#[test]
fn look_back_goes_far() {
    // An operator that doesn't commute, so that the order counts, too.
    const MAPS: Compose = Compose;
    let mixed = |tile: usize| (tile as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    // More workers than windows of 32 are long, so that some tile looks over three windows.
    let many = Executor::new(72);
    look_back::<u32, Decoupled, _>(&many, 200, 70, MAPS, |tile| mixed(tile) as u32);
    look_back::<u64, Decoupled, _>(&many, 200, 70, Sum, mixed);
    look_back::<u32, Hierarchical, _>(&many, 200, 70, MAPS, |tile| mixed(tile) as u32);
    // Three levels of groups, the last of each incomplete.
    for executor in [Executor::new(2), random_order(4)] {
        for tiles in [1, 2, 32, 33, 1024, 1025, 2100] {
            look_back::<u32, Decoupled, _>(&executor, tiles, 1, MAPS, |tile| mixed(tile) as u32);
            look_back::<u32, Hierarchical, _>(&executor, tiles, 1, MAPS, |tile| mixed(tile) as u32);
            look_back::<u64, Hierarchical, _>(&executor, tiles, 1, Sum, mixed);
        }
    }
}

/// Returns true if two broadcasts through the same storage, with or without a barrier between them,
/// are right under each of some orders.
fn broadcasts_are_right(barrier: bool, seeds: std::ops::Range<u64>) -> bool {
    seeds.into_iter().all(|seed| {
        let wrong = AtomicU32::new(0);
        let launch = Launch { kernel: "broadcasts", grid: 1.into(), block: 128.into(), dynamic_shared: 0 };
        random_order(seed)
            .run(&launch, &|| {
                // SAFETY: one-dimensional blocks, of which all threads come here. Without the barrier the second breaks
                // the rule, which is what this is about: on the CPU the threads of a block take turns, and the element
                // just has another value.
                let received = unsafe {
                    let block = Block::new(cuda_std::shared_array![u32; STORAGE]);
                    let thread = cuda_std::thread::thread_idx_x();
                    let first = block.broadcast(thread, 7);
                    if barrier {
                        cuda_std::thread::sync_threads();
                    }
                    (first, block.broadcast(thread, 99))
                };
                wrong.fetch_add(u32::from(received != (7, 99)), Ordering::Relaxed);
            })
            .unwrap();
        wrong.into_inner() == 0
    })
}

/// The rule of the storage, and that this file's random orders see where it is broken.
#[test]
fn a_barrier_left_out_shows() {
    assert!(broadcasts_are_right(true, 0..20));
    assert!(!broadcasts_are_right(false, 0..20));
}

//! Kernels with one bug each: who finds it. The table in docs/checking.md says the same.
//!
//! - Under `cargo test`, on the CPU and with debug assertions, a bug is found where the answer is wrong or the launch fails.
//! - Under `cargo check-kernels` every bug is, and the kernel without it passes.
//! - On a GPU (`WARPSMITH_BACKEND=cuda`) a test launches both and looks at the right one's answer; what
//!   `compute-sanitizer` says of the other is for the reader. A fault ends the process's use of the GPU, so run one test
//!   at a time.

use bugs::kernels::{atomics, block, clusters, global, memory};
use cuda_std::U32x4;
use simt::{Executor, Schedule};
use warpsmith_device::{Backend, Buffer, Device, DeviceError, launch};

/// Whether the answer is right.
type Answer = Result<bool, DeviceError>;

/// Where a bug shows.
struct Seen {
    /// In a run on the CPU in order; `None` where it isn't tried, since it may end the process.
    plain: Option<bool>,
    /// In one of twenty runs in random orders.
    random: Option<bool>,
    /// What a checked run says of it, in order or at random.
    checked: &'static [&'static str],
}

const NEVER: Seen = Seen { plain: Some(false), random: Some(false), checked: &[] };
const ALWAYS: Seen = Seen { plain: Some(true), random: Some(true), ..NEVER };
/// In order in debug builds, which fill shared memory with a pattern first. In others it depends on what was there.
const DEBUG: Seen = Seen { plain: if cfg!(debug_assertions) { Some(true) } else { None }, ..ALWAYS };
const NOT_TRIED: Seen = Seen { plain: None, random: None, ..NEVER };

impl Seen {
    const fn checked(self, checked: &'static [&'static str]) -> Self {
        Seen { checked, ..self }
    }
}

const RUNS: u64 = 20;

/// `run` launches the kernel, with the bug where it gets false.
#[track_caller]
fn bug(seen: Seen, run: impl Fn(&Device, bool) -> Answer) {
    let best = Device::best().unwrap();
    if best.backend() == Backend::Cuda {
        assert_eq!(run(&best, true), Ok(true), "without the bug");
        println!("with the bug: {:?}", run(&best, false));
        return;
    }
    let found = |schedule| {
        let device = Device::cpu_with(Executor::new(1).with_schedule(schedule));
        assert_eq!(run(&device, true), Ok(true), "without the bug, {schedule:?}");
        if cfg!(simt_check) {
            let error = run(&device, false).expect_err("the bug is there").to_string();
            assert!(seen.checked.iter().any(|said| error.contains(said)), "{schedule:?}: {error}");
            println!("{error}");
            return true;
        }
        run(&device, false) != Ok(true)
    };
    let random = || (0..RUNS).any(|seed| found(Schedule::Random { seed }));
    if cfg!(simt_check) {
        found(Schedule::InOrder);
        random();
    } else {
        let plain = seen.plain.map(|_| found(Schedule::InOrder));
        assert_eq!((plain, seen.random.map(|_| random())), (seen.plain, seen.random));
    }
}

/// A kernel that makes `out` of `values`, both of as many elements: its answer is to be `expected`.
fn map(
    device: &Device,
    values: &[u32],
    expected: &[u32],
    launch: impl FnOnce(&warpsmith_device::Stream, &Buffer<u32>, &mut Buffer<u32>) -> Result<(), DeviceError>,
) -> Answer {
    let stream = device.stream()?;
    let (values, mut out) = (device.upload(values)?, device.alloc_zeroed(expected.len())?);
    launch(&stream, &values, &mut out)?;
    Ok(stream.download_vec(&out)? == expected)
}

fn numbers(n: u32) -> Vec<u32> {
    (1..=n).collect()
}

/// Returns the sums over threads of equal number, in two blocks of 32.
fn sums_of_a_cluster() -> Vec<u32> {
    (1..=32).chain(1..=32).map(|i| 2 * i + 32).collect()
}

/// The test of a bug whose kernel takes its values, its output, and whether it is to be right.
macro_rules! maps {
    ($($name:ident: $seen:expr, $kernel:path, $grid:literal, $block:literal, $values:expr => $expected:expr;)*) => {$(
        #[test]
        fn $name() {
            use $kernel as kernel;
            bug($seen, |device, right| {
                map(device, &$values, &$expected, |stream, values, out| {
                    // SAFETY: where it is to be right, the kernel gets what it asks for: blocks of as many values.
                    unsafe { launch!(stream, kernel<<<$grid, $block>>>(values, out, right)) }
                })
            });
        }
    )*};
}
const UNWRITTEN: &str = "which nobody has written yet: a barrier may be missing before the read";
const NO_BARRIER: &[&str] = &["no barrier between", UNWRITTEN];
const NO_SYNC_WARP: &[&str] = &["nor a `sync_warp`", UNWRITTEN];
const NO_ORDER: &[&str] = &["blocks are in no order"];
const NARROW: &[&str] = &["in the scope of a block"];
maps! {
    missing_barrier_in_a_loop: ALWAYS.checked(NO_BARRIER), block::missing_barrier_in_a_loop, 1, 256,
        numbers(256) => [256 * 257 / 2];
    reused_too_early: ALWAYS.checked(NO_BARRIER), block::reused_too_early, 1, 64,
        numbers(192) => (0..64).map(|i| (0..3).map(|tile| 64 * tile + (i + 1) % 64 + 1).sum()).collect::<Vec<u32>>();
    reset_without_barrier: ALWAYS.checked(NO_BARRIER), block::reset_without_barrier, 1, 64, numbers(64) => [64];
    read_without_barrier: ALWAYS.checked(NO_BARRIER), block::read_without_barrier, 1, 64, numbers(64) => [64];
    missing_sync_warp: DEBUG.checked(NO_SYNC_WARP), block::missing_sync_warp, 1, 32,
        numbers(32) => (0..32).map(|i| (i ^ 1) + 1).collect::<Vec<u32>>();
    vote_for_a_sync_warp: NEVER.checked(NO_SYNC_WARP), block::vote_for_a_sync_warp, 1, 32,
        numbers(32) => (0..32).map(|i| (i ^ 1) + 1).collect::<Vec<u32>>();
    halves_of_a_warp: DEBUG.checked(NO_SYNC_WARP), block::halves_of_a_warp, 1, 32,
        numbers(32) => (0..32).map(|i| (i ^ 16) + 1).collect::<Vec<u32>>();
    sync_warp_for_a_block: DEBUG.checked(NO_BARRIER), block::sync_warp_for_a_block, 1, 64,
        numbers(64) => (0..64).map(|i| (i ^ 32) + 1).collect::<Vec<u32>>();
    mask_with_absent_lanes: ALWAYS.checked(&["lane"]), block::mask_with_absent_lanes, 1, 32, numbers(32) => [1; 16];
    beyond_a_shared_array: NEVER.checked(&["behind the end of an array of 128 bytes"]), memory::beyond_a_shared_array, 1, 32,
        numbers(32) => numbers(32);
    unwritten_shared_memory: ALWAYS.checked(&["of the 16 of a shared array ("]), memory::unwritten_shared_memory, 1, 32,
        numbers(32) => [8; 4];
    // Two blocks of a cluster. Their threads' order isn't drawn from a seed alone, nor would a plain run show a bug each time.
    missing_barrier_of_the_cluster: NOT_TRIED.checked(&["that may not have started"]),
        clusters::missing_barrier_of_the_cluster, 2, 32, numbers(64) => sums_of_a_cluster();
    returns_too_early: NOT_TRIED.checked(&["returns, and with it goes byte", "that has returned"]),
        clusters::returns_too_early, 2, 32, numbers(64) => sums_of_a_cluster();
    beyond_another_block_s_array: NOT_TRIED.checked(&["behind the end of an array of 256 bytes"]),
        clusters::beyond_another_block_s_array, 2, 32, numbers(64) => sums_of_a_cluster();
}

#[test]
fn missing_barrier() {
    bug(DEBUG.checked(NO_BARRIER), |device, right| {
        let stream = device.stream()?;
        let mut values = device.upload(&numbers(64))?;
        // SAFETY: where it is to be right, the kernel gets what it asks for: one block of 64 threads, as many values.
        unsafe { launch!(stream, block::missing_barrier<<<1, 64>>>(&mut values, right))? };
        Ok(stream.download_vec(&values)?.into_iter().rev().eq(1..=64))
    });
}

/// The test of a bug whose kernel takes its output, zero at first, and whether it is to be right.
macro_rules! fills {
    ($($name:ident: $seen:expr, $kernel:path, $grid:literal, $block:literal => $expected:expr;)*) => {$(
        #[test]
        fn $name() {
            use $kernel as kernel;
            bug($seen, |device, right| {
                map(device, &[], &$expected, |stream, _, out| {
                    // SAFETY: where it is to be right, the kernel gets what it asks for.
                    unsafe { launch!(stream, kernel<<<$grid, $block>>>(out, right)) }
                })
            });
        }
    )*};
}
fills! {
    barrier_in_a_branch: ALWAYS.checked(&["nobody can go on"]), block::barrier_in_a_branch, 1, 64 => [1; 64];
    half_a_warp: ALWAYS.checked(&["by whole warps"]), block::half_a_warp, 1, 64 => [1; 64];
    lost_update: NEVER.checked(NO_ORDER), global::lost_update, 64, 1 => [64];
    lost_update_in_a_block: NEVER.checked(NO_SYNC_WARP), global::lost_update, 1, 64 => [64];
    stride_too_short: ALWAYS.checked(NO_SYNC_WARP), global::stride_too_short, 1, 32 => [1; 64];
    scope_of_a_block: NEVER.checked(NARROW), atomics::scope_of_a_block, 4, 64 => [256];
    null: NOT_TRIED.checked(&["which is null"]), memory::null, 1, 1 => [1];
}

#[test]
fn misaligned() {
    const NOT_ALIGNED: &[&str] = &["isn't aligned", "misaligned pointer"];
    for way in 0..8 {
        // A debug build ends the process at plain accesses, and others don't look at any.
        let seen = if way < 3 || !cfg!(debug_assertions) { NOT_TRIED } else { ALWAYS };
        bug(seen.checked(NOT_ALIGNED), |device, right| {
            let stream = device.stream()?;
            let (mut rows, mut out) = (device.upload(&[U32x4::splat(0x0101_0101); 33])?, device.upload(&[0x0101_0101u32; 32])?);
            // SAFETY: there is a row and a word for each lane, and where it is to be right, rows are accessed as they are.
            unsafe { launch!(stream, memory::misaligned<<<1, 32>>>(&mut rows, &mut out, way, right))? };
            Ok(stream.download_vec(&out)? == [0x0101_0101; 32])
        });
    }
}

#[test]
fn bits_of_a_byte() {
    bug(NEVER.checked(NO_SYNC_WARP), |device, right| {
        let stream = device.stream()?;
        let mut bits = device.alloc_zeroed::<u8>(8)?;
        // SAFETY: there is a byte for each eight threads.
        unsafe { launch!(stream, global::bits_of_a_byte<<<2, 32>>>(&mut bits, right))? };
        Ok(stream.download_vec(&bits)? == [0xFF; 8])
    });
}

#[test]
fn in_place() {
    // In order a block is done with its elements before the next one reads the first of its own.
    bug(NEVER.checked(NO_ORDER), |device, right| {
        let stream = device.stream()?;
        let (mut values, mut out) = (device.upload(&numbers(64))?, device.upload(&numbers(64))?);
        // SAFETY: there is an element for each thread.
        unsafe { launch!(stream, global::in_place<<<2, 32>>>(&mut values, &mut out, 64, right))? };
        let sums = stream.download_vec(if right { &out } else { &values })?;
        Ok((0..63).all(|i| sums[i] == 2 * i as u32 + 3))
    });
}

#[test]
fn barrier_for_all_blocks() {
    bug(NEVER.checked(NO_ORDER), |device, right| {
        let stream = device.stream()?;
        let mut values = device.upload(&[1u32, 0])?;
        for step in 0..if right { 2 } else { 1 } {
            // SAFETY: there are two elements.
            unsafe { launch!(stream, global::barrier_for_all_blocks<<<2, 32>>>(&mut values, step, right))? };
        }
        Ok(stream.download_vec(&values)? == [2, 2])
    });
}

/// The test of a flag's bug with this number.
#[track_caller]
fn flag(number: u32, checked: &'static [&'static str]) {
    bug(NEVER.checked(checked), |device, right| {
        let stream = device.stream()?;
        let (mut flag, mut value, mut out) = (device.alloc_zeroed(1)?, device.alloc_zeroed(1)?, device.alloc_zeroed(1)?);
        let number = if right { 0 } else { number };
        // SAFETY: each has the one element, and of two blocks both are resident.
        unsafe { launch!(stream, atomics::flag<<<2, 1>>>(&mut flag, &mut value, &mut out, number))? };
        Ok(stream.download_vec(&out)? == [7])
    });
}

/// The test of a fence's bug with this number.
fn last_block(number: u32) {
    bug(NEVER.checked(NO_ORDER), |device, right| {
        let stream = device.stream()?;
        let (mut partial, mut ticket, mut sum) = (device.alloc_zeroed(8)?, device.alloc_zeroed(1)?, device.alloc_zeroed(1)?);
        let number = if right { 0 } else { number };
        // SAFETY: there is a partial sum for each block.
        unsafe { launch!(stream, atomics::last_block<<<8, 1>>>(&mut partial, &mut ticket, &mut sum, number))? };
        Ok(stream.download_vec(&sum)? == [36])
    });
}

macro_rules! numbered {
    ($($name:ident: $test:ident($($argument:expr),*);)*) => {$(
        #[test]
        fn $name() {
            $test($($argument),*);
        }
    )*};
}
numbered! {
    relaxed_store: flag(1, NO_ORDER);
    relaxed_load: flag(2, NO_ORDER);
    release_to_a_block: flag(3, NARROW);
    acquire_from_a_block: flag(4, NARROW);
    plain_store_of_a_flag: flag(5, NO_ORDER);
    missing_fence: last_block(1);
    fence_of_a_block: last_block(2);
}

#[test]
fn reads_beyond() {
    bug(NEVER.checked(&["ends 4 bytes behind the nearest one"]), |device, right| {
        let stream = device.stream()?;
        let (values, mut out) = (device.upload(&numbers(64))?, device.alloc_zeroed(64)?);
        // SAFETY: where it is to be right, no thread reads beyond the last element.
        unsafe { launch!(stream, memory::reads_beyond<<<1, 64>>>(&values, &mut out, 64, right))? };
        Ok(stream.download_vec(&out)?[..63] == [1; 63])
    });
}

#[test]
fn writes_beyond() {
    bug(NEVER.checked(&["ends 4 bytes behind the nearest one"]), |device, right| {
        map(device, &[], &[1; 63], |stream, _, out| {
            // SAFETY: where it is to be right, no thread writes beyond the last element.
            unsafe { launch!(stream, memory::writes_beyond<<<1, 64>>>(out, 63, right)) }
        })
    });
}

#[test]
fn writes_beyond_a_view() {
    bug(ALWAYS.checked(&["ends 4 bytes behind the nearest one"]), |device, right| {
        let stream = device.stream()?;
        let mut out = device.alloc_zeroed::<u32>(64)?;
        let first = out.view_mut(..32)?;
        // SAFETY: where it is to be right, no thread writes beyond the view's elements.
        unsafe { launch!(stream, memory::writes_beyond<<<1, 33>>>(first, 32, right))? };
        Ok(stream.download_vec(&out)?[32..] == [0; 32])
    });
}

#[test]
fn unwritten_buffer() {
    bug(NEVER.checked(&["of the 256 of an argument ("]), |device, right| {
        let stream = device.stream()?;
        let values = device.upload(&numbers(64))?;
        let mut out = if right { device.alloc_zeroed(64)? } else { device.alloc(64)? };
        launch!(stream, memory::adds<<<1, 64>>>(&values, &mut out))?;
        Ok(stream.download_vec(&out)? == numbers(64))
    });
}

#[test]
fn freed_buffer() {
    bug(NOT_TRIED.checked(&["that has been freed"]), |device, right| {
        let stream = device.stream()?;
        let (values, mut out) = (device.upload(&numbers(64))?, device.alloc_zeroed(64)?);
        let graph = device.capture(|stream| {
            // SAFETY: there is an element for each thread; that the graph is launched while they are there is the
            // contract of the graph's launch.
            unsafe { launch!(stream, memory::copies<<<1, 64>>>(&values, &mut out)) }
        })?;
        if !right {
            drop(values);
            // SAFETY: not so: the values are gone. A checked run gets no further than this, and no other is tried.
            unsafe { graph.launch(&stream)? };
            return Ok(false);
        }
        // SAFETY: both buffers are there, and nothing else uses them.
        unsafe { graph.launch(&stream)? };
        Ok(stream.download_vec(&out)? == numbers(64))
    });
}

#[test]
fn writes_to_an_input() {
    bug(ALWAYS.checked(&["must not write to"]), |device, right| {
        let stream = device.stream()?;
        let (input, mut out) = (device.upload(&[0u32])?, device.alloc_zeroed::<u32>(1)?);
        // SAFETY: where it is to be right, the kernel writes its output alone.
        unsafe { launch!(stream, memory::writes_to_an_input<<<1, 1>>>(&input, &mut out, right))? };
        Ok(stream.download_vec(&input)? == [0])
    });
}

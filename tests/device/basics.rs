//! The device layer, on whatever `Device::best` gives: the CPU, or with a GPU (or WARPSMITH_BACKEND=cuda) that.

use cuda_std::prelude::*;
use gpu_kernels::samples;
use std::process::Command;
use std::sync::Mutex;
use std::thread::scope;
use warpsmith::device::{
    Backend, Buffer, Device, DeviceError, Event, LaunchConfig, Pending, PinnedBuffer, Stream, View, ViewMut, no_cuda_reason,
};
use warpsmith::launch;

type Result<T = (), E = DeviceError> = std::result::Result<T, E>;

fn device() -> Device {
    Device::best().unwrap()
}

#[track_caller]
fn error<T>(result: Result<T>) -> DeviceError {
    match result {
        Ok(_) => panic!("this must fail"),
        Err(error) => error,
    }
}

// Memory.

#[test]
fn what_goes_up_comes_down() -> Result {
    let device = device();
    let stream = device.stream()?;
    let values: Vec<u64> = (0..10_000).map(|i| i * i).collect();
    let mut buffer = device.alloc::<u64>(values.len())?;
    assert_eq!(buffer.as_device_ptr() % 256, 0);
    assert_eq!((buffer.len(), buffer.byte_len(), buffer.is_empty()), (10_000, 80_000, false));
    stream.upload(&mut buffer, &values)?;
    assert_eq!(stream.download_vec(&buffer)?, values);
    let mut some = [0; 10];
    stream.download(buffer.view(100..110)?, &mut some)?;
    assert_eq!(some, values[100..110]);

    assert_eq!(stream.download_vec(&device.upload(&values)?)?, values);
    assert_eq!(stream.download_vec(&device.alloc_zeroed::<u64>(1000)?)?, [0; 1000]);
    Ok(())
}

#[test]
fn memory_of_something_else() -> Result {
    let device = device();
    let (stream, other) = (device.stream()?, device.stream()?);
    let owner = device.upload(&[1f32, 2.0, 3.0])?;
    // SAFETY: the elements are the owner's, which lives longer, and isn't used before the stream has waited.
    let mut borrowed = unsafe { device.from_raw_parts::<f32>(owner.as_device_ptr(), 3) };
    launch!(other, samples::saxpy<<<1, 32>>>(10.0, &device.upload(&[1f32; 3])?, &mut borrowed))?;
    assert_eq!(other.handle().is_some(), device.backend() == Backend::Cuda);
    if let Some(handle) = other.handle() {
        // SAFETY: it is a stream of this device, which lives.
        unsafe { stream.wait_for_handle(handle)? };
    }
    assert_eq!(stream.download_vec(&owner)?, [11.0, 12.0, 13.0]);
    // It grows into memory of its own.
    borrowed.ensure(1000)?;
    assert_ne!(borrowed.as_device_ptr(), owner.as_device_ptr());
    drop(borrowed);
    assert_eq!(stream.download_vec(&owner)?, [11.0, 12.0, 13.0]);
    Ok(())
}

#[test]
fn nothing_is_fine_too() -> Result {
    let device = device();
    let stream = device.stream()?;
    let mut empty = device.alloc::<f32>(0)?;
    let also = device.upload::<f32>(&[])?;
    assert!(empty.is_empty() && empty.as_device_ptr() != 0);
    stream.upload(&mut empty, &[])?;
    stream.copy(&also, &mut empty)?;
    stream.fill(&mut empty, 1.0)?;
    stream.fill_zero(&mut empty)?;
    assert_eq!(stream.download_vec(&empty)?, [0f32; 0]);
    launch!(stream, samples::saxpy<<<1, 32>>>(1.0, &also, &mut empty))?;
    let pinned = stream.upload_async(device.pinned(0)?, &mut empty)?.wait()?;
    assert!(stream.download_async(&empty, pinned)?.wait()?.is_empty());
    stream.synchronize()
}

#[test]
fn copies_and_fills() -> Result {
    let device = device();
    let stream = device.stream()?;
    let source = device.upload(&[1u16, 2, 3, 4, 5, 6])?;
    let mut target = device.alloc_zeroed::<u16>(6)?;
    stream.copy(source.view(1..4)?, target.view_mut(2..5)?)?;
    assert_eq!(stream.download_vec(&target)?, [0, 0, 2, 3, 4, 0]);
    stream.fill(target.view_mut(..3)?, 0x1234)?;
    assert_eq!(stream.download_vec(&target)?, [0x1234, 0x1234, 0x1234, 3, 4, 0]);
    stream.fill_zero(target.view_mut(1..)?)?;
    assert_eq!(stream.download_vec(&target)?, [0x1234, 0, 0, 0, 0, 0]);

    let mut bytes = device.alloc::<u8>(5)?;
    stream.fill(&mut bytes, 0xab)?;
    assert_eq!(stream.download_vec(&bytes)?, [0xab; 5]);
    let mut floats = device.alloc::<f32>(1000)?;
    stream.fill(&mut floats, -1.25)?;
    assert_eq!(stream.download_vec(&floats)?, [-1.25; 1000]);
    let mut wide = device.alloc::<u64>(3)?;
    stream.fill(&mut wide, u64::MAX)?;
    assert_eq!(stream.download_vec(&wide)?, [u64::MAX; 3]);
    stream.fill(&mut wide, 0x0123_4567_0123_4567)?;
    assert_eq!(stream.download_vec(&wide)?, [0x0123_4567_0123_4567; 3]);
    assert_eq!(error(stream.fill(&mut wide, 1)), DeviceError::NotAPattern { size: 8 });
    Ok(())
}

#[test]
fn views_split_and_nest() -> Result {
    let device = device();
    let stream = device.stream()?;
    let mut buffer = device.upload(&(0..100u32).collect::<Vec<_>>())?;
    let (mut low, mut high) = buffer.split_at_mut(40)?;
    assert_eq!((low.len(), high.len()), (40, 60));
    stream.copy(high.as_view().view(10..20)?, low.view_mut(..10)?)?;
    stream.fill(high.view_mut(59..)?, 7)?;
    let (first, mut rest) = high.split_at_mut(1)?;
    assert_eq!(first.len(), 1);
    stream.fill(&mut rest.view_mut(0..1)?, 8)?;
    let all = stream.download_vec(&buffer)?;
    assert_eq!(all[..10], (50..60).collect::<Vec<_>>());
    assert_eq!((all[40], all[41], all[99]), (40, 8, 7));

    let view = buffer.view(10..=19)?;
    assert_eq!(stream.download_vec(view.view(5..)?)?, [15, 16, 17, 18, 19]);
    let (a, b) = view.split_at(3)?;
    assert_eq!((a.len(), b.len(), b.as_device_ptr() - a.as_device_ptr()), (3, 7, 12));
    assert_eq!(error(buffer.view(50..101)), DeviceError::OutOfRange { start: 50, end: 101, len: 100 });
    assert!(matches!(error(view.view(11..)), DeviceError::OutOfRange { .. }));
    assert!(matches!(error(buffer.split_at_mut(101)), DeviceError::OutOfRange { .. }));
    Ok(())
}

#[test]
fn a_workspace_grows_only() -> Result {
    let device = device();
    let mut buffer = device.alloc::<u32>(100)?;
    let address = buffer.as_device_ptr();
    buffer.ensure(60)?;
    assert_eq!((buffer.len(), buffer.capacity(), buffer.as_device_ptr()), (60, 100, address));
    buffer.ensure(100)?;
    assert_eq!((buffer.len(), buffer.as_device_ptr()), (100, address));
    buffer.ensure(5000)?;
    assert_eq!((buffer.len(), buffer.capacity()), (5000, 5000));
    assert!(matches!(error(buffer.ensure(1 << 48)), DeviceError::OutOfMemory { .. }));
    assert_eq!((buffer.len(), buffer.capacity()), (0, 0));
    buffer.ensure(10)?;
    device.stream()?.fill(&mut buffer, 3)
}

#[test]
fn large_buffers_cost_nothing_until_touched() -> Result {
    // Eight times 4 GiB is more than most machines have; a GPU may have less.
    let device = Device::cpu();
    let buffers: Vec<_> = (0..8).map_while(|_| device.alloc::<u8>(4 << 30).ok()).collect();
    for buffer in &buffers {
        assert_eq!(device.stream()?.download_vec(buffer.view((1 << 31)..(1 << 31) + 4)?)?, [0; 4]);
    }
    Ok(())
}

#[test]
fn too_much_memory_is_an_error() {
    let device = device();
    for result in [device.alloc::<u8>(1 << 50), device.alloc_zeroed(1 << 50)] {
        let error = error(result);
        assert!(matches!(error, DeviceError::OutOfMemory { requested, .. } if requested == 1 << 50), "{error}");
        assert!(error.to_string().contains("1.0 PiB asked for"), "{error}");
    }
    assert!(matches!(error(device.alloc::<u64>(usize::MAX)), DeviceError::OutOfMemory { .. }));
    assert!(matches!(error(device.pinned::<u64>(1 << 47)), DeviceError::OutOfMemory { .. }));
    // And the device is still of use.
    device.upload(&[1, 2, 3]).unwrap();
}

#[test]
fn lengths_have_to_agree() -> Result {
    let device = device();
    let stream = device.stream()?;
    let mut buffer = device.alloc::<u32>(10)?;
    let other = device.alloc::<u32>(11)?;
    assert!(matches!(error(stream.upload(&mut buffer, &[0; 9])), DeviceError::LengthMismatch { found: 9, expected: 10, .. }));
    assert!(matches!(error(stream.download(&buffer, &mut [0; 11])), DeviceError::LengthMismatch { found: 11, expected: 10, .. }));
    assert!(matches!(error(stream.copy(&other, &mut buffer)), DeviceError::LengthMismatch { .. }));
    let short = device.pinned(9)?;
    assert!(matches!(error(stream.upload_async(short, &mut buffer)), DeviceError::LengthMismatch { .. }));
    let short = device.pinned(9)?;
    assert!(matches!(error(stream.download_async(&buffer, short)), DeviceError::LengthMismatch { .. }));
    Ok(())
}

// Asynchronous transfers, events, time.

#[test]
fn pinned_transfers() -> Result {
    const CHUNK: usize = 1 << 16;
    let device = device();
    let stream = device.stream()?;
    let mut buffer = device.alloc::<u32>(3 * CHUNK + 5)?;
    // Two buffers in turn, the last chunk shorter.
    let mut pool = vec![device.pinned::<u32>(CHUNK)?, device.pinned(CHUNK)?];
    assert!(pool[0].iter().all(|&value| value == 0));
    let mut pending = std::collections::VecDeque::new();
    let len = buffer.len();
    for start in (0..len).step_by(CHUNK) {
        let mut pinned = match pool.pop() {
            Some(pinned) => pinned,
            None => pending.pop_front().map_or_else(|| device.pinned(CHUNK), Pending::wait)?,
        };
        for (i, value) in pinned.iter_mut().enumerate() {
            *value = (start + i) as u32;
        }
        pending.push_back(stream.upload_async(pinned, buffer.view_mut(start..len.min(start + CHUNK))?)?);
    }
    drop(pending);
    assert!(stream.is_done()?);
    assert_eq!(stream.download_vec(&buffer)?, (0..len as u32).collect::<Vec<_>>());

    let pinned = device.pinned::<u32>(CHUNK)?;
    let pending = stream.download_async(buffer.view(CHUNK..CHUNK + 7)?, pinned)?;
    let pinned = pending.wait()?;
    assert_eq!(pinned[..8], [65536, 65537, 65538, 65539, 65540, 65541, 65542, 0]);
    Ok(())
}

#[test]
fn events_are_reached_in_order() -> Result {
    let device = device();
    let stream = device.stream()?;
    let mut buffer = device.alloc::<u32>(1 << 20)?;
    let start = stream.record()?;
    stream.fill(&mut buffer, 1)?;
    let end = stream.record()?;
    end.synchronize()?;
    assert!(start.is_done()? && end.is_done()?);
    assert!(end.elapsed_ms(&start)? >= 0.0);
    assert!(start.elapsed_ms(&end)? <= 0.0);

    let never = device.event()?;
    assert!(never.is_done()?);
    never.synchronize()?;
    assert_eq!(error(end.elapsed_ms(&never)), DeviceError::NotRecorded);
    stream.record_into(&never)?;
    assert!(never.elapsed_ms(&start)? >= end.elapsed_ms(&start)?);

    let ms = stream.time(|stream| {
        stream.fill(&mut buffer, 2)?;
        stream.fill(&mut buffer, 3)
    })?;
    assert!(ms > 0.0 && ms < 10_000.0, "{ms}");
    Ok(())
}

#[test]
fn streams_wait_for_each_other() -> Result {
    let device = device();
    let (first, second) = (device.stream()?, device.stream()?);
    let n = 1 << 20;
    let x = device.upload(&vec![1.0f32; n])?;
    let mut y = device.alloc_zeroed::<f32>(n)?;
    let mut z = device.alloc_zeroed::<f32>(n)?;
    for round in 0..20 {
        for _ in 0..5 {
            launch!(first, samples::saxpy<<<64, 256>>>(1.0, &x, &mut y))?;
        }
        let ready = first.record()?;
        second.wait(&ready)?;
        second.copy(&y, &mut z)?;
        let copied = second.record()?;
        first.wait(&copied)?;
        let last = second.download_vec(z.view(n - 1..)?)?;
        assert_eq!(last, [5.0 * (round + 1) as f32]);
    }
    Ok(())
}

#[test]
fn buffers_may_go_while_work_is_enqueued() -> Result {
    let device = device();
    let stream = device.stream()?;
    let n = 1 << 20;
    let mut y = device.alloc_zeroed::<f32>(n)?;
    for _ in 0..5 {
        let x = device.upload(&vec![1.0f32; n])?;
        launch!(stream, samples::saxpy<<<16, 64>>>(1.0, &x, &mut y))?;
        drop(x);
        // Were the memory free already, this would be in it.
        let mut other = device.alloc::<f32>(n)?;
        device.stream()?.fill(&mut other, 100.0)?;
    }
    assert!(stream.download_vec(&y)?.iter().all(|&y| y == 5.0));
    Ok(())
}

// Launches.

#[test]
fn kernels_of_each_parameter_kind() -> Result {
    let device = device();
    let stream = device.stream()?;
    let n = 10_001;
    let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let x = device.upload(&x)?;
    let mut y = device.upload(&vec![1.0f32; n])?;
    // Fewer threads than elements, and more.
    launch!(stream, samples::saxpy<<<3, 32>>>(2.0, &x, &mut y))?;
    launch!(stream, samples::saxpy<<<n.div_ceil(128) as u32, 128u32>>>(2.0, &x, &mut y))?;
    let y = stream.download_vec(&y)?;
    assert!(y.iter().enumerate().all(|(i, &y)| y == 1.0 + 4.0 * i as f32));

    let values = device.upload(&[5u32, 6, 7])?;
    let indices = device.upload(&[2u32, 0, 0, 1])?;
    let mut out = device.alloc_zeroed::<u32>(6)?;
    // Views for all.
    launch!(stream, samples::gather<<<1, 32>>>(values.as_view(), indices.view(1..)?, out.view_mut(2..5)?))?;
    assert_eq!(stream.download_vec(&out)?, [0, 0, 5, 5, 6, 0]);

    let value = device.upload(&[3u64, 4])?;
    let mut all = device.alloc::<u64>(77)?;
    launch!(stream, samples::broadcast<<<2, 16>>>(value.view(1..)?, &mut all))?;
    assert_eq!(stream.download_vec(&all)?, [4; 77]);
    let nothing = value.view(2..)?;
    let error = error(launch!(stream, samples::broadcast<<<2, 16>>>(&nothing, &mut all)));
    assert!(error.to_string().contains("one element was asked of an empty buffer"), "{error}");
    launch!(stream, samples::broadcast<<<0, 16>>>(&nothing, &mut all))?;
    Ok(())
}

#[test]
fn shared_memory_and_barriers() -> Result {
    let device = device();
    let stream = device.stream()?;
    let n = 1000u32;
    let input: Vec<u32> = (0..n).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let device_input = device.upload(&input)?;
    for block in [1u32, 32, 128, 256] {
        let blocks = n.div_ceil(block);
        let mut sums = device.alloc::<u32>(blocks as usize)?;
        // SAFETY: there is a sum for each block, and its size is a power of two.
        unsafe { launch!(stream, samples::block_sum<<<blocks, block>>>(&device_input, &mut sums))? };
        let expected: Vec<u32> =
            input.chunks(block as usize).map(|chunk| chunk.iter().fold(0u32, |sum, x| sum.wrapping_add(*x))).collect();
        assert_eq!(stream.download_vec(&sums)?, expected, "{block}");
    }

    // Up to 48 KiB is there for the asking; 1024 threads want 4 KiB, the rest is not used.
    let most = device.info().max_shared_per_block;
    for shared in [4096, 48 << 10, (48 << 10) + 4, most] {
        let values: Vec<u32> = (0..2048).collect();
        let mut buffer = device.upload(&values)?;
        // SAFETY: as many elements as threads, and at least 4 bytes for each thread of a block.
        unsafe { launch!(stream, samples::reverse_blocks<<<2, 1024, shared>>>(&mut buffer))? };
        let expected: Vec<u32> = (0..1024).rev().chain((1024..2048).rev()).collect();
        assert_eq!(stream.download_vec(&buffer)?, expected, "{shared}");
    }
    Ok(())
}

#[test]
fn a_random_schedule_changes_nothing() -> Result {
    for seed in 0..5 {
        let executor = simt::Executor::new(3).with_schedule(simt::Schedule::Random { seed });
        let device = Device::cpu_with(executor);
        let stream = device.stream()?;
        let input = device.upload(&[1u32; 512])?;
        let mut sums = device.alloc::<u32>(4)?;
        // SAFETY: there is a sum for each block, and its size is a power of two.
        unsafe { launch!(stream, samples::block_sum<<<4, 128>>>(&input, &mut sums))? };
        assert_eq!(stream.download_vec(&sums)?, [128; 4]);
    }
    Ok(())
}

#[test]
fn constants_are_what_the_host_sets() -> Result {
    let device = device();
    let stream = device.stream()?;
    let x = device.upload(&[0.0f32, 1.0, 2.0, -1.0])?;
    let mut y = device.alloc::<f32>(4)?;
    // SAFETY: this test alone uses the constant, and waits for its kernels.
    unsafe { device.set_constant(&samples::COEFFICIENTS, &[1.0, 2.0, 3.0, 4.0])? };
    launch!(stream, samples::polynomial<<<1, 32>>>(&x, &mut y))?;
    assert_eq!(stream.download_vec(&y)?, [1.0, 10.0, 49.0, -2.0]);
    // SAFETY: this test alone uses the constant, and waits for its kernels.
    unsafe { device.set_constant(&samples::COEFFICIENTS, &[0.0, 0.0, 1.0, 0.0])? };
    launch!(stream, samples::polynomial<<<1, 32>>>(&x, &mut y))?;
    assert_eq!(stream.download_vec(&y)?, [0.0, 1.0, 4.0, 1.0]);
    // SAFETY: this test alone uses the constant, and waits for its kernels.
    let short = unsafe { device.set_constant(&samples::COEFFICIENTS, &[1.0]) };
    assert!(matches!(error(short), DeviceError::LengthMismatch { found: 1, expected: 4, .. }));
    Ok(())
}

#[test]
fn wrong_launches_are_sentences() -> Result {
    let device = device();
    let stream = device.stream()?;
    let x = device.upload(&[1.0f32; 64])?;
    let mut y = device.upload(&[2.0f32; 64])?;
    let mut check = |config: LaunchConfig, what: &str| {
        let error = error(stream.launch(samples::saxpy::bind(config, 1.0, &x, &mut y)));
        assert!(matches!(error, DeviceError::LaunchFailed { kernel: "samples::saxpy", .. }), "{error}");
        assert!(error.to_string().contains(what), "{error}");
    };
    check(LaunchConfig::new((2, 2), 16), "DisjointSlice");
    check(LaunchConfig::new(2, (4, 4)), "DisjointSlice");
    check(LaunchConfig::new(1, 2048), "2048 threads");
    check(LaunchConfig::new(1, 0), "extent of zero");
    check(LaunchConfig::new(1, (1, 1, 65)), "(1, 1, 65)");
    check(LaunchConfig::new((1, 65_536), 1), "grid (1, 65536, 1)");
    check(LaunchConfig::new(1, 32).shared(1 << 20), "1.0 MiB of dynamic shared memory");

    let mut sums = device.alloc::<u32>(1)?;
    let input = device.alloc_zeroed::<u32>(512)?;
    // SAFETY: it isn't launched: the kernel declares at most 256 threads.
    let result = unsafe { launch!(stream, samples::block_sum<<<1, 512>>>(&input, &mut sums)) };
    let text = error(result).to_string();
    assert!(text.contains("`samples::block_sum`") && text.contains("at most 256"), "{text}");

    // No blocks are no error, and no launch.
    launch!(stream, samples::saxpy<<<0, 32>>>(1.0, &x, &mut y))?;
    launch!(stream, samples::saxpy<<<(5, 0), 32>>>(1.0, &x, &mut y))?;
    stream.launch(samples::saxpy::bind(LaunchConfig::for_elements(0, 32), 1.0, &x, &mut y))?;
    assert_eq!(stream.download_vec(&y)?, [2.0; 64]);
    Ok(())
}

#[test]
fn large_grids_of_small_blocks() -> Result {
    let device = device();
    let stream = device.stream()?;
    let mut out = device.alloc::<u64>(100_000)?;
    let value = device.upload(&[9u64])?;
    stream.launch(samples::broadcast::bind(LaunchConfig::for_elements(100_000, 1), &value, &mut out))?;
    assert!(stream.download_vec(&out)?.iter().all(|&x| x == 9));
    Ok(())
}

/// Names that are also those of the generated code, and outputs by other names.
#[allow(unused_parens)]
mod names {
    use super::*;
    use cuda_std::DisjointSlice as Renamed;

    type Out<'a> = DisjointSlice<'a, u32>;

    #[kernel]
    #[allow(clippy::too_many_arguments)]
    pub fn kernel(
        args: u32,
        kernel: u32,
        config: u32,
        arguments: u32,
        body: u32,
        run: u32,
        raw_0: u32,
        _: u32,
        mut bind: Out<'_>,
    ) {
        for (i, out) in bind.grid_stride_mut() {
            *out = [args, kernel, config, arguments, body, run, raw_0][i];
        }
    }

    #[kernel]
    pub fn bind(argument_1: u32, _: u32, mut out: (Renamed<'_, u32>)) {
        out.set(argument_1);
    }
}

#[test]
fn parameters_may_have_any_name() -> Result {
    // The CPU, as their PTX isn't loaded.
    let device = Device::cpu();
    let stream = device.stream()?;
    let mut out = device.alloc::<u32>(7)?;
    launch!(stream, names::kernel<<<1, 32>>>(1, 2, 3, 4, 5, 6, 7, 8, &mut out))?;
    assert_eq!(stream.download_vec(&out)?, [1, 2, 3, 4, 5, 6, 7]);
    launch!(stream, names::bind<<<1, 32>>>(9, 10, &mut out))?;
    assert_eq!(stream.download_vec(&out)?, [9; 7]);
    Ok(())
}

#[test]
fn outputs_of_threads_are_known_by_their_type() -> Result {
    let device = Device::cpu();
    let stream = device.stream()?;
    let mut out = device.alloc::<u32>(7)?;
    assert!(names::kernel::kernel().contract.dimensions == 1 && names::bind::kernel().contract.dimensions == 1);
    assert!(samples::saxpy::kernel().contract.dimensions == 1 && samples::reverse_blocks::kernel().contract.dimensions == 3);
    for result in [
        launch!(stream, names::kernel<<<1, (4, 8)>>>(1, 2, 3, 4, 5, 6, 7, 8, &mut out)),
        launch!(stream, names::kernel<<<(1, 2), 4>>>(1, 2, 3, 4, 5, 6, 7, 8, &mut out)),
        launch!(stream, names::bind<<<(1, 1, 2), 4>>>(9, 10, &mut out)),
    ] {
        let text = error(result).to_string();
        assert!(text.contains("DisjointSlice"), "{text}");
    }
    assert_eq!(stream.download_vec(&out)?, [0; 7]);
    Ok(())
}

/// Work on two streams that nobody puts in order by hand.
#[test]
fn streams_that_share_buffers_take_turns() -> Result {
    let device = device();
    let (first, second) = (device.stream()?, device.stream()?);
    let n = 1 << 22;
    let x = device.upload(&vec![1.0f32; n])?;
    let mut y = device.alloc_zeroed::<f32>(n)?;
    let mut z = device.alloc_zeroed::<f32>(n)?;
    let mut mapped = device.mapped::<f32>(n)?;
    for round in 1..=20 {
        // Long on few multiprocessors; then a copy, which would overtake it.
        first.fill(&mut y, 0.0)?;
        for _ in 0..5 {
            launch!(first, samples::saxpy<<<4, 256>>>(round as f32, &x, &mut y))?;
        }
        second.copy(&y, &mut z)?;
        second.copy(&y, mapped.as_view_mut())?;
        // Neither may this overtake the copies.
        first.fill(&mut y, -1.0)?;
        // Nor may the next round's fill overtake this, on a stream that is gone.
        let third = device.stream()?;
        third.copy(&z, &mut y)?;
        drop(third);
        assert_eq!(first.download_vec(mapped.as_view().view(n - 1..)?)?, [5.0 * round as f32]);
    }
    assert!(second.download_vec(&y)?.iter().all(|&y| y == 5.0 * 20.0));
    Ok(())
}

#[test]
fn attributes_and_occupancy() -> Result {
    let device = device();
    let attributes = device.kernel_attributes(samples::block_sum::kernel())?;
    let occupancy = device.occupancy(samples::block_sum::kernel(), 256, 0)?;
    match device.backend() {
        Backend::Cpu => assert_eq!((attributes.registers, occupancy), (0, 1)),
        Backend::Cuda => {
            assert!(attributes.registers > 0 && attributes.static_shared == 1024, "{attributes:?}");
            assert!((1..=8).contains(&occupancy), "{occupancy}");
            let most = device.info().max_shared_per_block;
            assert_eq!(device.occupancy(samples::reverse_blocks::kernel(), 32, most)?, 1);
            assert!(device.occupancy(samples::reverse_blocks::kernel(), 32, most + 1).is_err());
        }
    }
    Ok(())
}

// Devices.

#[test]
fn devices_describe_themselves() -> Result {
    let device = device();
    let info = device.info();
    assert_eq!(info.backend, device.backend());
    assert!(!info.name.is_empty() && info.name == device.name());
    assert!(info.multiprocessors > 0 && info.warp_size == 32 && info.max_threads_per_block == 1024, "{info:?}");
    assert!(info.max_shared_per_block >= 48 << 10 && info.total_memory > 1 << 28, "{info:?}");
    let memory = device.memory()?;
    assert!(memory.free <= memory.total, "{memory:?}");
    match device.backend() {
        Backend::Cpu => {
            assert_eq!((info.compute_capability, info.driver_version, device.image()), (None, None, None));
            assert_eq!(device.to_string(), "the CPU");
        }
        Backend::Cuda => {
            assert!(info.driver_version >= Some((11, 0)), "{info:?}");
            let (major, minor) = info.compute_capability.expect("GPUs have one");
            let image = device.image().expect("there are images for GPUs");
            assert!([75, 80, 90].contains(&image) && image <= 10 * major + minor, "{image} {info:?}");
            assert!(device.to_string().ends_with(" (CUDA device 0)"), "{device}");
        }
    }
    Ok(())
}

#[test]
fn without_a_gpu_there_is_a_reason() {
    match no_cuda_reason() {
        Some(reason) => {
            assert!(!reason.is_empty());
            assert_eq!(Device::best().unwrap().backend(), Backend::Cpu);
            let error = error(Device::cuda(0));
            assert!(matches!(error, DeviceError::NoDevice { .. }) && error.to_string().contains(&reason), "{error}");
            assert!(Device::all_cuda().is_err());
        }
        None => {
            let all = Device::all_cuda().unwrap();
            assert!(!all.is_empty());
            let beyond = error(Device::cuda(all.len() as u32));
            assert!(beyond.to_string().contains("numbered from 0"), "{beyond}");
        }
    }
}

#[test]
fn buffers_stay_on_their_device() -> Result {
    let Ok(gpu) = Device::cuda(0) else { return Ok(()) };
    let cpu = Device::cpu();
    let (here, there) = (cpu.stream()?, gpu.stream()?);
    let x = cpu.upload(&[1.0f32; 8])?;
    let mut y = gpu.upload(&[1.0f32; 8])?;
    let text = error(launch!(there, samples::saxpy<<<1, 8>>>(1.0, &x, &mut y))).to_string();
    assert!(text.contains("`samples::saxpy`") && text.contains("the CPU") && text.contains("CUDA device 0"), "{text}");
    let text = error(launch!(here, samples::saxpy<<<1, 8>>>(1.0, &x, &mut y))).to_string();
    assert!(text.contains("in the memory of CUDA device 0, and the stream belongs to the CPU"), "{text}");
    assert!(matches!(error(there.copy(&x, &mut y)), DeviceError::WrongDevice { .. }));
    assert!(matches!(error(here.download_vec(&y)), DeviceError::WrongDevice { .. }));
    assert!(matches!(error(there.upload_async(cpu.pinned(8)?, &mut y)), DeviceError::WrongDevice { .. }));
    let (a, b) = (here.record()?, there.record()?);
    assert!(matches!(error(a.elapsed_ms(&b)), DeviceError::WrongDevice { .. }));
    assert!(matches!(error(here.record_into(&b)), DeviceError::WrongDevice { .. }));
    here.wait(&b)?;
    there.wait(&a)
}

#[test]
fn all_types_go_from_thread_to_thread() {
    fn check<T: Send + Sync>() {}
    check::<Device>();
    check::<Stream>();
    check::<Event>();
    check::<Buffer<u32>>();
    check::<View<'_, u32>>();
    check::<ViewMut<'_, u32>>();
    check::<PinnedBuffer<u32>>();
    check::<Pending<PinnedBuffer<u32>>>();
    check::<DeviceError>();
}

#[test]
fn threads_share_a_device() -> Result {
    let device = device();
    let sums = Mutex::new(Vec::new());
    scope(|scope| {
        for thread in 0..8u32 {
            let (device, sums) = (&device, &sums);
            scope.spawn(move || {
                let stream = device.stream().unwrap();
                for round in 0..20 {
                    let n = 1000 + round;
                    let x = device.upload(&vec![thread as f32; n]).unwrap();
                    let mut y = device.alloc_zeroed::<f32>(n).unwrap();
                    launch!(stream, samples::saxpy<<<4, 64>>>(2.0, &x, &mut y)).unwrap();
                    let sum: f32 = stream.download_vec(&y).unwrap().iter().sum();
                    assert_eq!(sum, (2 * thread * n as u32) as f32);
                }
                sums.lock().unwrap().push(thread);
            });
        }
    });
    assert_eq!(sums.into_inner().unwrap().len(), 8);
    Ok(())
}

#[test]
fn threads_share_a_stream_and_drive_several_devices() -> Result {
    let devices = Device::all_cuda().unwrap_or_else(|_| vec![Device::cpu(), Device::cpu_with(simt::Executor::new(1))]);
    let streams = devices.iter().map(Device::stream).collect::<Result<Vec<_>>>()?;
    scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10 {
                    // Each thread goes from device to device.
                    for (device, stream) in devices.iter().zip(&streams) {
                        let x = device.upload(&[1.0f32; 100]).unwrap();
                        let mut y = device.alloc_zeroed::<f32>(100).unwrap();
                        launch!(stream, samples::saxpy<<<1, 32>>>(3.0, &x, &mut y)).unwrap();
                        assert_eq!(stream.download_vec(&y).unwrap(), [3.0; 100]);
                    }
                }
            });
        }
    });
    Ok(())
}

#[test]
fn bytes_go_from_device_to_device() -> Result {
    let devices = Device::all_cuda().unwrap_or_else(|_| vec![Device::cpu(), Device::cpu_with(simt::Executor::new(1))]);
    for from in &devices {
        for to in &devices {
            // Where one can't, the driver finds a way.
            let direct = to.enable_peer_access(from)?;
            assert!(direct || from.backend() == Backend::Cuda);
            assert_eq!(to.enable_peer_access(from)?, direct, "twice is as once");
            let values: Vec<u32> = (0..1000).collect();
            let (source, target, stream) = (from.upload(&values)?, to.upload(&[7u32; 1000])?, to.stream()?);
            // SAFETY: as many bytes are in both buffers, which live to the end of this block and aren't used meanwhile.
            unsafe {
                stream.copy_bytes(target.as_device_ptr() + 4 * 100, source.as_device_ptr() + 4 * 250, 4 * 500)?;
                stream.copy_bytes(target.as_device_ptr(), source.as_device_ptr(), 0)?;
            }
            let found = stream.download_vec(&target)?;
            assert!((0..1000).all(|at| found[at] == if (100..600).contains(&at) { at as u32 + 150 } else { 7 }));
        }
    }
    let device = device();
    let buffer = device.upload(&[1u8; 16])?;
    // SAFETY: both halves are the buffer's; nothing is copied.
    let captured = device.capture(|stream| unsafe { stream.copy_bytes(buffer.as_device_ptr(), buffer.as_device_ptr() + 8, 8) });
    assert!(matches!(captured, Err(DeviceError::InCapture { .. })));
    Ok(())
}

// What ends a process's use of its GPU, or depends on the environment, happens in a child process: this program again,
// told to run one test.

const CHILD: &str = "WARPSMITH_TEST_CHILD";

/// Runs a test, by its whole name, in a process of its own, in which `is_child()`.
pub fn run_child(name: &str, environment: &[(&str, &str)]) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture"]).env(CHILD, "1").envs(environment.iter().copied());
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let status = output.status;
    assert!(status.success() && text.contains("1 passed"), "{name}, {environment:?}: {status}\n{text}\n{errors}");
}

pub fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

#[test]
fn a_fault_names_the_kernels() {
    run_child("basics::child_fault", &[("WARPSMITH_SYNC", "0")]);
}

#[test]
fn child_fault() -> Result {
    if !is_child() {
        return Ok(());
    }
    let device = device();
    let (stream, other) = (device.stream()?, device.stream()?);
    let x = device.upload(&[1.0f32; 8])?;
    let mut y = device.alloc_zeroed::<f32>(8)?;
    let values = device.upload(&[1u32, 2, 3])?;
    let indices = device.upload(&[0u32, 3])?;
    let mut out = device.alloc_zeroed::<u32>(2)?;
    let mut sums = device.alloc::<u32>(1)?;
    // SAFETY: one block, one sum.
    unsafe { launch!(stream, samples::block_sum<<<1, 32>>>(&values, &mut sums))? };
    stream.synchronize()?;
    launch!(stream, samples::saxpy<<<1, 8>>>(1.0, &x, &mut y))?;
    let launched = launch!(stream, samples::gather<<<1, 32>>>(&values, &indices, &mut out));
    if device.backend() == Backend::Cpu {
        let text = error(launched).to_string();
        assert!(text.contains("`samples::gather`") && text.contains("thread (1, 0, 0)") && text.contains("samples.rs"), "{text}");
        return Ok(());
    }
    launched?;
    let fault = error(stream.synchronize());
    let DeviceError::Fault { kernels, .. } = &fault else { panic!("{fault}") };
    assert_eq!(*kernels, ["samples::saxpy", "samples::gather"]);
    assert!(fault.to_string().contains("one of the kernels `samples::saxpy`, `samples::gather` failed on"), "{fault}");
    // From now on everything says the same.
    assert_eq!(error(other.synchronize()), fault);
    assert_eq!(error(device.upload(&[1])), fault);
    assert_eq!(error(launch!(other, samples::saxpy<<<1, 8>>>(1.0, &x, &mut y))), fault);
    Ok(())
}

#[test]
fn a_synchronous_fault_names_the_kernel() {
    run_child("basics::child_synchronous_fault", &[("WARPSMITH_SYNC", "1")]);
}

#[test]
fn child_synchronous_fault() -> Result {
    let device = device();
    if !is_child() || device.backend() == Backend::Cpu {
        return Ok(());
    }
    let stream = device.stream()?;
    let values = device.upload(&[1u32, 2, 3])?;
    let (good, bad) = (device.upload(&[0u32, 2])?, device.upload(&[0u32, 3])?);
    let mut out = device.alloc_zeroed::<u32>(2)?;
    let x = device.upload(&[1.0f32; 8])?;
    let mut y = device.alloc_zeroed::<f32>(8)?;
    launch!(stream, samples::saxpy<<<1, 8>>>(1.0, &x, &mut y))?;
    launch!(stream, samples::gather<<<1, 32>>>(&values, &good, &mut out))?;
    let fault = error(launch!(stream, samples::gather<<<1, 32>>>(&values, &bad, &mut out)));
    assert!(fault.to_string().starts_with("kernel `samples::gather` failed on"), "{fault}");
    Ok(())
}

#[test]
fn the_environment_chooses_the_backend() {
    run_child("basics::child_backend", &[("WARPSMITH_BACKEND", "cpu")]);
    run_child("basics::child_backend", &[("WARPSMITH_BACKEND", "cuda")]);
    run_child("basics::child_backend", &[("WARPSMITH_BACKEND", "gpu")]);
    // Where no device is visible, the CPU is chosen.
    run_child("basics::child_backend", &[("WARPSMITH_BACKEND", ""), ("CUDA_VISIBLE_DEVICES", "-1")]);
}

#[test]
fn child_backend() {
    if !is_child() {
        return;
    }
    let best = Device::best();
    match std::env::var("WARPSMITH_BACKEND").as_deref() {
        Ok("cuda") => match no_cuda_reason() {
            None => assert_eq!(best.unwrap().backend(), Backend::Cuda),
            Some(reason) => assert!(error(best).to_string().contains(&reason)),
        },
        Ok("gpu") => assert_eq!(error(best), DeviceError::InvalidBackend { value: "gpu".to_owned() }),
        _ => assert_eq!(best.unwrap().backend(), Backend::Cpu),
    }
}

//! Graphs, on whatever `Device::best` gives: the CPU, or with a GPU (or WARPSMITH_BACKEND=cuda) that.

use std::{cell::Cell, panic};

use cuda_std::launch::{Arguments, Bound};
use gpu_kernels::samples;
use warpsmith::{
    collectives::{self, Operator, ReduceWorkspace, ScanWorkspace, SortWorkspace},
    device::{Device, DeviceError, LaunchConfig, Stream},
    launch,
};

type Result<T = (), E = DeviceError> = std::result::Result<T, E>;

#[track_caller]
fn in_capture<T>(result: Result<T>) {
    match result {
        Err(error @ DeviceError::InCapture { .. }) => assert!(error.to_string().contains("can't be part of a graph"), "{error}"),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("this must fail"),
    }
}

#[test]
fn nothing_is_done_before_the_launch_and_all_of_it_at_each() -> Result {
    let device = Device::best()?;
    let stream = device.stream()?;
    let x = device.upload(&[1.0f32, 2.0, 3.0])?;
    let mut y = device.upload(&[10.0f32, 20.0, 30.0])?;
    let graph = device.capture(|stream| {
        launch!(stream, samples::saxpy<<<1, 32>>>(2.0, &x, &mut y))?;
        launch!(stream, samples::saxpy<<<1, 32>>>(-1.0, &x, &mut y))
    })?;
    assert_eq!(stream.download_vec(&y)?, [10.0, 20.0, 30.0]);
    for times in 1..=3 {
        // SAFETY: x and y are there, and used on this stream alone.
        unsafe { graph.launch(&stream)? };
        let times = times as f32;
        assert_eq!(stream.download_vec(&y)?, [10.0 + times, 20.0 + 2.0 * times, 30.0 + 3.0 * times]);
    }
    // On another stream, after this one.
    let other = device.stream()?;
    graph.prepare(&other)?;
    // SAFETY: x and y are there, and nothing else uses them: `download_vec` has waited.
    unsafe { graph.launch(&other)? };
    assert_eq!(other.download_vec(&y)?, [14.0, 28.0, 42.0]);
    Ok(())
}

#[test]
fn copies_and_fills() -> Result {
    let device = Device::best()?;
    let stream = device.stream()?;
    let mut words = device.alloc_zeroed::<u32>(5)?;
    let mut wide = device.alloc_zeroed::<u64>(3)?;
    let mut copy = device.alloc_zeroed::<u32>(3)?;
    let graph = device.capture(|stream| {
        stream.fill(words.view_mut(1..4)?, 0x0102_0304)?;
        stream.fill(&mut wide, u64::MAX)?;
        stream.fill(&mut device.alloc::<u8>(0)?, 1)?;
        stream.copy(words.view(..3)?, &mut copy)?;
        stream.fill_zero(words.view_mut(2..3)?)
    })?;
    // SAFETY: the buffers are there, and used on this stream alone.
    unsafe { graph.launch(&stream)? };
    assert_eq!(stream.download_vec(&words)?, [0, 0x0102_0304, 0, 0x0102_0304, 0]);
    assert_eq!(stream.download_vec(&wide)?, [u64::MAX; 3]);
    assert_eq!(stream.download_vec(&copy)?, [0, 0x0102_0304, 0x0102_0304]);
    Ok(())
}

/// Each launch computes anew, between others that share the workspaces, and whatever is in their memory.
#[test]
fn collectives_in_a_graph() -> Result {
    let device = Device::best()?;
    let stream = device.stream()?;
    for n in [0, 1, 4096, 4097, 50_000u64] {
        let input: Vec<u64> = (0..n).map(|k| k * k % 1000).collect();
        let ones = device.upload(&vec![1u64; n as usize])?;
        let mut data = device.upload(&input)?;
        let (mut scan, mut reduce, mut sort) =
            (ScanWorkspace::with_capacity(&device, n as usize)?, ReduceWorkspace::new(&device)?, SortWorkspace::new(&device)?);
        let mut sums = device.alloc(n as usize)?;
        let keys = device.upload(&(0..n as u32).map(|k| k.wrapping_mul(0x9e37_79b9) >> 8).collect::<Vec<_>>())?;
        // As much memory as the graph will use.
        collectives::sort(&stream, &keys, 24, &mut sort)?;
        let graph = device.capture(|stream| {
            collectives::exclusive_scan_in_place(stream, &mut data, &mut scan)?;
            collectives::exclusive_scan(stream, &data, &mut sums, &mut scan)?;
            collectives::reduce(stream, &sums, Operator::Max, &mut reduce)?;
            collectives::sort(stream, &keys, 24, &mut sort)
        })?;
        let mut expected = input;
        for round in 0..4 {
            if round > 0 {
                collectives::exclusive_scan(&stream, &ones, &mut sums, &mut scan)?;
                assert!(stream.download_vec(&sums)?.into_iter().eq(0..n), "{n}, {round}");
                collectives::reduce(&stream, &ones, Operator::Sum, &mut reduce)?;
                assert_eq!(stream.download_vec(reduce.result())?, [n]);
            }
            // SAFETY: the buffers are there, and used on this stream alone.
            unsafe { graph.launch(&stream)? };
            let exclusive = |values: &[u64]| {
                let before = values.iter().scan(0u64, |sum, &value| Some(std::mem::replace(sum, sum.wrapping_add(value))));
                before.collect::<Vec<_>>()
            };
            expected = exclusive(&expected);
            let twice = exclusive(&expected);
            assert!(stream.download_vec(&data)? == expected && stream.download_vec(&sums)? == twice, "{n}, {round}");
            assert_eq!(stream.download_vec(reduce.result())?, [twice.into_iter().max().unwrap_or(0)]);
            assert!(stream.download_vec(sort.keys())?.is_sorted());
        }
    }
    Ok(())
}

#[test]
fn branches_are_all_done() -> Result {
    let device = Device::best()?;
    let stream = device.stream()?;
    let x = device.upload(&[1.0f32; 100])?;
    let mut sums: Vec<_> = (0..7).map(|_| device.alloc_zeroed::<f32>(100)).collect::<Result<_>>()?;
    let graph = device.capture_branches(7, |streams| {
        assert_eq!(streams.len(), 7);
        for (index, (stream, sum)) in streams.iter().zip(&mut sums).enumerate() {
            for _ in 0..=index {
                launch!(stream, samples::saxpy<<<4, 32>>>(1.0, &x, &mut *sum))?;
            }
        }
        Ok::<_, DeviceError>(())
    })?;
    for _ in 0..2 {
        // SAFETY: the buffers are there, a branch has its own, and all are used on this stream alone.
        unsafe { graph.launch(&stream)? };
    }
    for (index, sum) in sums.iter().enumerate() {
        assert_eq!(stream.download_vec(sum)?, [2.0 * (index + 1) as f32; 100]);
    }
    // Without branches there is one all the same.
    let mut word = device.alloc::<u32>(1)?;
    let graph = device.capture_branches(0, |streams| streams[0].fill(&mut word, 7))?;
    // SAFETY: the word is there, and used on this stream alone.
    unsafe { graph.launch(&stream)? };
    assert_eq!(stream.download_vec(&word)?, [7]);
    Ok(())
}

#[test]
fn branches_wait_for_each_other() -> Result {
    let device = Device::best()?;
    let stream = device.stream()?;
    // Long enough for a branch that doesn't wait to be seen.
    let n = 1 << 22;
    let grid = n as u32 / 256;
    let x = device.upload(&vec![1.0f32; n])?;
    let (mut y, mut z) = (device.alloc_zeroed::<f32>(n)?, device.alloc_zeroed::<f32>(n)?);
    let graph = device.capture_branches(2, |streams| {
        let [first, second] = [&streams[0], &streams[1]];
        launch!(first, samples::saxpy<<<grid, 256>>>(1.0, &x, &mut y))?;
        second.wait_for(first)?;
        launch!(second, samples::saxpy<<<grid, 256>>>(2.0, &y, &mut z))?;
        first.wait_for(second)?;
        launch!(first, samples::saxpy<<<grid, 256>>>(3.0, &z, &mut y))?;
        // What isn't captured can't be waited for, nor the other way round.
        assert!(matches!(first.wait_for(&stream), Err(DeviceError::InCapture { .. })));
        assert!(matches!(stream.wait_for(first), Err(DeviceError::InCapture { .. })));
        Ok::<_, DeviceError>(())
    })?;
    // y = 1, z = 2, y = 7; y = 8, z = 18, y = 62.
    for expected in [7.0, 62.0] {
        // SAFETY: the buffers are there, and all are used on this stream alone.
        unsafe { graph.launch(&stream)? };
        assert!(stream.download_vec(&y)?.iter().all(|&value| value == expected));
    }
    Ok(())
}

#[test]
fn an_empty_graph_does_nothing() -> Result {
    let device = Device::best()?;
    let stream = device.stream()?;
    let graph = device.capture(|_| Ok::<_, DeviceError>(()))?;
    assert_eq!(graph.device().backend(), device.backend());
    assert!(format!("{graph:?}").starts_with("Graph("));
    // SAFETY: it uses nothing.
    unsafe { graph.launch(&stream)? };
    stream.synchronize()
}

#[test]
fn what_waits_is_refused() -> Result {
    let device = Device::best()?;
    let stream = device.stream()?;
    let mut buffer = device.upload(&[1u32, 2, 3])?;
    let event = stream.record()?;
    let inner = device.capture(|_| Ok::<_, DeviceError>(()))?;
    let graph = device.capture(|captured| {
        in_capture(captured.synchronize());
        in_capture(captured.is_done());
        in_capture(captured.record());
        in_capture(captured.record_into(&event));
        in_capture(captured.wait(&event));
        in_capture(captured.upload(&mut buffer, &[4, 5, 6]));
        in_capture(captured.download(&buffer, &mut [0; 3]));
        in_capture(captured.download_vec(&buffer));
        in_capture(captured.upload_async(device.pinned(3)?, &mut buffer));
        in_capture(captured.download_async(&buffer, device.pinned(3)?));
        in_capture(captured.time(|_| Ok::<_, DeviceError>(())));
        in_capture(inner.prepare(captured));
        // SAFETY: it does nothing.
        in_capture(unsafe { inner.launch(captured) });
        // The capture goes on.
        captured.fill(&mut buffer, 9)
    })?;
    assert_eq!(stream.download_vec(&buffer)?, [1, 2, 3]);
    // SAFETY: the buffer is there, and used on this stream alone.
    unsafe { graph.launch(&stream)? };
    assert_eq!(stream.download_vec(&buffer)?, [9, 9, 9]);
    Ok(())
}

#[test]
fn an_error_or_a_panic_ends_the_capture() -> Result {
    let device = Device::best()?;
    let stream = device.stream()?;
    let x = device.upload(&[1.0f32])?;
    let mut y = device.upload(&[1.0f32])?;
    let result = device.capture(|stream| {
        launch!(stream, samples::saxpy<<<1, 32>>>(1.0, &x, &mut y))?;
        // The kernel doesn't take a grid of two dimensions.
        launch!(stream, samples::saxpy<<<(1, 2), 32>>>(1.0, &x, &mut y))
    });
    assert!(matches!(result, Err(DeviceError::LaunchFailed { .. })), "{result:?}");
    let panicked = panic::catch_unwind(panic::AssertUnwindSafe(|| {
        device.capture_branches::<DeviceError>(3, |_| panic::resume_unwind(Box::new("on purpose")))
    }));
    assert!(panicked.is_err());
    // The device is as good as before.
    assert_eq!(stream.download_vec(&y)?, [1.0]);
    let graph = device.capture(|stream| launch!(stream, samples::saxpy<<<1, 32>>>(1.0, &x, &mut y)))?;
    // SAFETY: the buffers are there, and used on this stream alone.
    unsafe { graph.launch(&stream)? };
    assert_eq!(stream.download_vec(&y)?, [2.0]);
    Ok(())
}

#[test]
fn a_kernel_that_fails_on_the_cpu_fails_the_launch() -> Result {
    let device = Device::cpu();
    let stream = device.stream()?;
    let values = device.upload(&[1u32])?;
    let indices = device.upload(&[1u32])?;
    let mut out = device.alloc::<u32>(1)?;
    let graph = device.capture(|stream| launch!(stream, samples::gather<<<1, 32>>>(&values, &indices, &mut out)))?;
    // SAFETY: the buffers are there, and used on this stream alone.
    let error = unsafe { graph.launch(&stream) }.unwrap_err();
    assert!(matches!(error, DeviceError::Simt(_)) && error.to_string().contains("gather"), "{error}");
    Ok(())
}

/// What a body owns is neither dropped by the capture nor by the graph: it may have borrowed what is gone by then.
#[test]
fn a_body_is_never_dropped() -> Result {
    struct Witness<'a>(&'a Cell<bool>);
    impl Drop for Witness<'_> {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }
    // SAFETY: this test's thread alone has it.
    unsafe impl Sync for Witness<'_> {}

    let device = Device::cpu();
    let dropped = Cell::new(false);
    let witness = Witness(&dropped);
    let kernel = samples::saxpy::kernel();
    let body = move || {
        let _ = &witness;
    };
    // SAFETY: a body that does nothing goes with any arguments.
    let bound = unsafe { Bound::new(kernel, LaunchConfig::new(1, 32), Arguments::default(), body) };
    let graph = device.capture(|stream: &Stream| stream.launch(bound))?;
    drop(graph);
    assert!(!dropped.get());
    Ok(())
}

//! The measurements of each experiment.

use std::env;

use super::kernels::{Kernels, Lists, Placement, Reduction, Variant};
use super::measure::{Piece, Spread, in_turns, on_the_host};
use super::options::Options;
use super::poses::{Pose, poses};
use super::rows::{Agreement, BatchRow, Facts, Fixed, FixedRow, StreamsRow};
use super::work::Work;
use super::{ConcurrencyError, MAX_THREADS};
use crate::common::Cancel;
use crate::device::{Backend, Device, DeviceError, Graph, Stream};
use crate::overlap::{Overlap, Packings, Scene, Shape, Wanted};

/// Largest relative difference between equal totals: they are sums of some thousand areas with
/// rounding errors of 1e-16.
const TOLERANCE: f64 = 1e-11;

/// The device, kernels and options of all experiments.
pub(super) struct Bench<'a> {
    pub device: &'a Device,
    pub stream: Stream,
    pub kernels: Kernels,
    pub options: &'a Options,
    pub cancel: &'a Cancel,
}

/// The library's evaluator on two lists.
struct Engine {
    overlap: Overlap<f64>,
    scenes: [Scene<f64>; 2],
    /// Overlap of poses in both lists with themselves, which the study leaves out.
    own: f64,
}

impl Engine {
    fn new(device: &Device, first: &[Pose], second: &[Pose]) -> Result<Self, ConcurrencyError> {
        let shape = Shape::tree();
        let both = first.iter().filter(|pose| second.contains(pose)).count();
        let own = both as f64 * shape.area();
        let overlap = Overlap::new(device, &[shape])?;
        let load = |poses: &[Pose]| overlap.load(&Packings::one(poses.to_vec())?);
        let scenes = [load(first)?, load(second)?];
        Ok(Engine { overlap, scenes, own })
    }

    fn enqueue(&mut self, stream: &Stream) -> Result<(), ConcurrencyError> {
        let [first, second] = &mut self.scenes;
        Ok(self.overlap.enqueue_between(stream, first, second, Wanted::TOTALS)?)
    }

    /// Returns an error unless the evaluator finds the same total as the study's kernels.
    fn check(&mut self, stream: &Stream, expected: f64) -> Result<(), ConcurrencyError> {
        self.enqueue(stream)?;
        let found = self.overlap.read(stream, &self.scenes[0], Wanted::TOTALS)?.totals[0] - self.own;
        if (found - expected).abs() <= TOLERANCE * expected.abs().max(1.0).max(self.own) {
            return Ok(());
        }
        let [threads, poses] = [0, 1].map(|index: usize| self.scenes[index].len());
        let [kernel, reference] = ["the library", "the study"].map(str::to_owned);
        Err(ConcurrencyError::Disagreement { kernel, found, reference, expected, threads, poses })
    }
}

/// Returns the block size for a launch of `threads` threads.
pub(super) fn block_of(threads: usize) -> usize {
    threads.min(MAX_THREADS)
}

impl Bench<'_> {
    pub fn facts(&self, stream_threads: usize) -> Result<Facts, DeviceError> {
        let info = self.device.info();
        let kernel = gpu_kernels::concurrency::global::interleaved::kernel();
        let queues = || env::var("CUDA_DEVICE_MAX_CONNECTIONS").ok().and_then(|text| text.trim().parse().ok()).unwrap_or(8);
        Ok(Facts {
            name: info.name.clone(),
            backend: info.backend.to_string(),
            multiprocessors: info.multiprocessors,
            clock_mhz: (info.clock_khz > 0).then(|| f64::from(info.clock_khz) / 1e3),
            fp64_lanes: info.compute_capability.and_then(fp64_lanes),
            queues: (info.backend == Backend::Cuda).then(queues),
            registers: self.device.kernel_attributes(kernel)?.registers,
            blocks_per_multiprocessor: self.device.occupancy(kernel, stream_threads as u32, 0)?,
            l2_bytes: info.l2_bytes,
        })
    }

    /// Measures all kernels on one pair of lists, and compares their totals.
    pub fn batch(&self, first: &[Pose], second: &[Pose], agreement: &mut Agreement) -> Result<BatchRow, ConcurrencyError> {
        let Bench { device, stream, kernels, options, cancel } = self;
        let block = block_of(first.len());
        let mut lists = kernels.lists(first, second, block)?;

        let expected = kernels.total(stream, Variant::NOTEBOOK, &mut lists)?;
        for variant in Variant::all() {
            cancel.check()?;
            let found = kernels.total(stream, variant, &mut lists)?;
            let difference = (found - expected).abs() / expected.abs().max(1.0);
            if difference.is_nan() || difference > TOLERANCE {
                let (threads, poses) = (first.len(), second.len());
                let [kernel, reference] = [variant, Variant::NOTEBOOK].map(|variant| variant.to_string());
                return Err(ConcurrencyError::Disagreement { kernel, found, reference, expected, threads, poses });
            }
            agreement.largest_difference = agreement.largest_difference.max(difference);
        }

        let mut engine = Engine::new(device, first, second)?;
        engine.check(stream, expected)?;
        let one_phase = |reduction| Variant::OnePhase(Placement::Global, reduction);
        let others = |placement| Variant::OnePhase(placement, Reduction::Interleaved);
        let variants = Reduction::ALL.map(one_phase).into_iter().chain([others(Placement::Constant), others(Placement::Shared)]);
        let lists = std::cell::RefCell::new(lists);
        let launch = |variant| -> Piece<'_> {
            let lists = &lists;
            Box::new(move |stream| Ok(kernels.launch(stream, variant, &mut lists.borrow_mut())?))
        };
        let mut pieces: Vec<Piece<'_>> = variants.map(launch).collect();
        const TWO_PHASE: Variant = Variant::TwoPhase(Reduction::Interleaved);
        pieces.push(Box::new(|stream| Ok(kernels.transform(stream, &mut lists.borrow_mut())?)));
        pieces.push(launch(TWO_PHASE));
        pieces.push(Box::new(|stream| {
            let mut lists = lists.borrow_mut();
            kernels.transform(stream, &mut lists)?;
            Ok(kernels.launch(stream, TWO_PHASE, &mut lists)?)
        }));
        pieces.push(Box::new(|stream| engine.enqueue(stream)));
        let times = in_turns(stream, cancel, options.runs, options.iterations, &mut pieces)?;
        drop(pieces);

        let elapsed = on_the_host(cancel, options.runs, || {
            let mut lists = lists.borrow_mut();
            (0..options.iterations).try_for_each(|_| kernels.launch(stream, Variant::NOTEBOOK, &mut lists))?;
            stream.synchronize()
        })?;
        let blocks = lists.borrow().config().grid.x as usize;
        Ok(BatchRow {
            threads: first.len(),
            blocks,
            work: Work::count(first, second, kernels.pieces(), kernels.reach(), block),
            kernels_per_s: elapsed.map(|ms| 1e3 * options.iterations as f64 / ms),
            reductions: times[..5].to_vec(),
            placements: vec![times[0], times[5], times[6]],
            transform: times[7],
            turned: times[8],
            two_phase: times[9],
            engine: times[10],
            total: expected,
        })
    }

    /// Measures about `total` comparisons with each number of threads of the batches.
    pub fn fixed(&self, total: usize) -> Result<Fixed, ConcurrencyError> {
        let Bench { stream, kernels, options, cancel, .. } = self;
        let mut rows = Vec::new();
        let mut all_lists = Vec::new();
        for &threads in options.batch.iter().filter(|&&threads| threads <= total) {
            // Each size has its own lists, as in the notebook.
            let (first, second) = (poses(threads, options.seed), poses(total / threads, options.seed));
            let block = block_of(threads);
            let work = Work::count(&first, &second, kernels.pieces(), kernels.reach(), block);
            rows.push(FixedRow { threads, poses: second.len(), work, ms: Spread::default() });
            all_lists.push(kernels.lists(&first, &second, block)?);
        }
        let mut pieces: Vec<Piece<'_>> = Vec::new();
        for lists in &mut all_lists {
            pieces.push(Box::new(|stream| Ok(kernels.launch(stream, Variant::NOTEBOOK, lists)?)));
        }
        let times = in_turns(stream, cancel, options.runs, options.iterations, &mut pieces)?;
        rows.iter_mut().zip(times).for_each(|(row, ms)| row.ms = ms);
        Ok(Fixed { total, rows })
    }

    /// Measures the same launch on `count` streams.
    pub fn streams(&self, count: usize, first: &[Pose], second: &[Pose]) -> Result<StreamsRow, ConcurrencyError> {
        let Bench { device, stream, kernels, options, cancel } = self;
        let (runs, iterations) = (options.runs, options.iterations);
        let streams = (0..count).map(|_| device.stream()).collect::<Result<Vec<_>, _>>()?;
        let wait = || streams.iter().try_for_each(Stream::synchronize);
        let lists = || kernels.lists(first, second, block_of(first.len()));
        let mut each = streams.iter().map(|_| lists()).collect::<Result<Vec<_>, _>>()?;

        let plain_ms = on_the_host(cancel, runs, || {
            for _ in 0..iterations {
                for (stream, lists) in streams.iter().zip(&mut each) {
                    kernels.launch(stream, Variant::NOTEBOOK, lists)?;
                }
            }
            wait()
        })?;
        let empty_ms = on_the_host(cancel, runs, || {
            for _ in 0..iterations {
                for (stream, lists) in streams.iter().zip(&each) {
                    kernels.nothing(stream, lists)?;
                }
            }
            wait()
        })?;

        let all_of = |stream: &Stream, lists: &mut Lists| {
            (0..iterations).try_for_each(|_| kernels.launch(stream, Variant::NOTEBOOK, lists))
        };
        let graphs = streams
            .iter()
            .zip(&mut each)
            .map(|(stream, lists)| {
                let graph = device.capture(|stream| all_of(stream, lists))?;
                graph.prepare(stream).map(|()| graph)
            })
            .collect::<Result<Vec<Graph>, _>>()?;
        let graphs_ms = on_the_host(cancel, runs, || {
            for (stream, graph) in streams.iter().zip(&graphs) {
                // SAFETY: a graph has a stream and lists of its own, which live as long as this
                // function.
                unsafe { graph.launch(stream)? };
            }
            wait()
        })?;

        let branches = device.capture_branches(count, |streams| {
            streams.iter().zip(&mut each).try_for_each(|(stream, lists)| all_of(stream, lists))
        })?;
        branches.prepare(stream)?;
        let branches_ms = on_the_host(cancel, runs, || {
            // SAFETY: a branch has lists of its own, which live as long as this function; `wait`
            // was before.
            unsafe { branches.launch(stream)? };
            stream.synchronize()
        })?;

        let repeated: Vec<Pose> = first.iter().copied().cycle().take(first.len() * count).collect();
        let mut joined = kernels.lists(&repeated, second, block_of(first.len()))?;
        let blocks_ms = on_the_host(cancel, runs, || {
            (0..iterations).try_for_each(|_| kernels.launch(stream, Variant::NOTEBOOK, &mut joined))?;
            stream.synchronize()
        })?;
        Ok(StreamsRow { streams: count, plain_ms, graphs_ms, branches_ms, blocks_ms, empty_ms })
    }
}

/// Returns the double-precision instructions that a multiprocessor starts per clock, from the
/// throughput table of NVIDIA's *CUDA C++ Programming Guide*.
fn fp64_lanes(capability: (u32, u32)) -> Option<u32> {
    match capability {
        (7, 0) | (8, 0) => Some(32),
        (9, 0) | (10, 0) => Some(64),
        (7, 5) | (8, 6 | 9) | (10, 3) | (12, _) => Some(2),
        _ => None,
    }
}

//! The experiments.

use std::env;

use serde::Serialize;

use crate::device::{Backend, Device, DeviceError, Graph, Stream};
use crate::overlap::{Overlap, Packings, Scene, Shape, Wanted};

use super::kernels::{Kernels, Lists, Placement, Reduction, Variant};
use super::measure::{Piece, Spread, in_turns, on_the_host};
use super::notebook;
use super::poses::{Pose, poses};
use super::work::Work;
use super::{ConcurrencyError, MAX_THREADS};

/// Totals that differ by more than this share are not the same: they are sums of some thousand areas with rounding errors of 1e-16.
const TOLERANCE: f64 = 1e-11;

/// The most poses of a study, in either list.
pub const MOST_POSES: usize = 1 << 20;
/// The most launches on each stream.
pub const MOST_ITERATIONS: usize = 10_000;
/// The most measurements of each time.
pub const MOST_RUNS: usize = 1000;

/// The most poses of all streams' lists together.
const MOST_OF_STREAMS: usize = 1 << 24;

/// What is measured, and how often.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Options {
    /// Numbers of streams, from 1 to 1,024.
    pub streams: Vec<usize>,
    /// Numbers of poses in the first list, a thread each, at least 1. Those above `poses` are left out.
    pub batch: Vec<usize>,
    /// Poses in the second list, at least 1.
    pub poses: usize,
    /// Launches on each stream, and at most in a row for one time, from 1 to 10,000.
    pub iterations: usize,
    /// Measurements that a median is of, from 1 to 1,000.
    pub runs: usize,
    /// The seed of the poses.
    pub seed: u32,
    /// Numbers of comparisons that are shared out over ever more threads.
    pub fixed: Vec<usize>,
}

impl Options {
    /// The notebook's, with medians of 7; on the CPU of 3, of single launches.
    pub fn of(device: &Device) -> Self {
        let gpu = device.backend() == Backend::Cuda;
        Options {
            streams: vec![1, 2, 4, 8, 16, 32],
            batch: vec![4, 8, 16, 32, 64, 128, 256],
            poses: 500,
            iterations: if gpu { notebook::ITERATIONS } else { 1 },
            runs: if gpu { 7 } else { 3 },
            seed: 123,
            fixed: vec![notebook::FIXED_TOTAL, 128_000],
        }
    }

    /// In ascending order without repetitions, and checked.
    fn checked(&self) -> Result<Self, ConcurrencyError> {
        let mut options = self.clone();
        let lists = [
            ("streams", &mut options.streams, 1..=1024, "a number of streams is from 1 to 1,024"),
            ("batch", &mut options.batch, 1..=MOST_POSES, "a batch has from 1 to 1,048,576 poses"),
        ];
        for (option, list, range, expected) in lists {
            list.sort_unstable();
            list.dedup();
            let wrong = list.iter().copied().find(|entry| !range.contains(entry));
            if wrong.is_some() || list.is_empty() {
                return Err(ConcurrencyError::Option { option, found: wrong, expected });
            }
        }
        let numbers = [
            ("poses", options.poses, 1..=MOST_POSES, "there are from 1 to 1,048,576"),
            ("iterations", options.iterations, 1..=MOST_ITERATIONS, "there are from 1 to 10,000"),
            ("runs", options.runs, 1..=MOST_RUNS, "there are from 1 to 1,000"),
        ];
        for (option, number, range, expected) in numbers {
            if !range.contains(&number) {
                return Err(ConcurrencyError::Option { option, found: Some(number), expected });
            }
        }
        // Each stream has lists of its own, of about 300 bytes for each pose.
        if let Some(&streams) = options.streams.last()
            && streams * options.poses > MOST_OF_STREAMS
        {
            let expected = "that many streams have no room for lists of so many poses: together they may have 2^24";
            return Err(ConcurrencyError::Option { option: "streams", found: Some(streams), expected });
        }
        if options.batch[0] > options.poses {
            let expected = "it is taken from the poses, of which there are fewer";
            return Err(ConcurrencyError::Option { option: "batch", found: Some(options.batch[0]), expected });
        }
        options.batch.retain(|&threads| threads <= options.poses);
        Ok(options)
    }
}

/// What is known of the device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Facts {
    /// Its name.
    pub name: String,
    /// `cuda` or `cpu`.
    pub backend: String,
    /// Multiprocessors; of the CPU worker threads.
    pub multiprocessors: u32,
    /// The highest clock's rate in MHz; none where that is unknown.
    pub clock_mhz: Option<f64>,
    /// Double-precision instructions that a multiprocessor starts a clock; none where that is unknown.
    pub fp64_lanes: Option<u32>,
    /// Hardware queues between the host and the device, which streams share: `CUDA_DEVICE_MAX_CONNECTIONS`, 8 unless it is set. None
    /// on the CPU.
    pub queues: Option<u32>,
    /// Registers of a thread of the notebook's kernel; 0 on the CPU.
    pub registers: u32,
    /// How many blocks of the experiment with streams a multiprocessor holds.
    pub blocks_per_multiprocessor: u32,
    /// The second-level cache, in bytes; 0 where that is unknown.
    pub l2_bytes: usize,
}

/// The times of one number of streams, by the host's clock: on each as many launches, of 64 poses against all, as there are
/// iterations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StreamsRow {
    /// How many.
    pub streams: usize,
    /// All launches one by one, in turns over the streams: milliseconds until all are done.
    pub plain_ms: Spread,
    /// A graph a stream, with all of its launches.
    pub graphs_ms: Spread,
    /// One graph, with a branch for each stream.
    pub branches_ms: Spread,
    /// One stream, with the launches of all at once as one of so many blocks.
    pub blocks_ms: Spread,
    /// As `plain_ms`, of a kernel that does nothing.
    pub empty_ms: Spread,
}

/// The times of one number of threads, in milliseconds on the device, a launch.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BatchRow {
    /// Poses of the first list, and threads.
    pub threads: usize,
    /// Blocks.
    pub blocks: usize,
    /// What there is to do.
    pub work: Work,
    /// Of the notebook's kernel, back to back on one stream by the host's clock.
    pub kernels_per_s: Spread,
    /// One phase from global memory, with each reduction in the order of [`Reduction::ALL`].
    pub reductions: Vec<Spread>,
    /// One phase with the notebook's reduction, with the pieces in each of [`Placement::ALL`].
    pub placements: Vec<Spread>,
    /// Turning the pieces of both lists.
    pub transform: Spread,
    /// Intersecting turned pieces.
    pub turned: Spread,
    /// Both.
    pub two_phase: Spread,
    /// The library's evaluator ([`Overlap`]), from the poses to the total.
    pub engine: Spread,
    /// The total overlap, a pair that is in both lists counting twice.
    pub total: f64,
}

impl BatchRow {
    /// The notebook's kernel: one phase, global memory, interleaved tree.
    pub fn one_phase(&self) -> Spread {
        self.reductions.first().copied().unwrap_or_default()
    }
}

impl StreamsRow {
    /// Launches per second, where `ms` is one of its times.
    pub fn rate(&self, ms: Spread, iterations: usize) -> Spread {
        ms.map(|ms| 1e3 * (self.streams * iterations) as f64 / ms)
    }
}

/// A number of comparisons, shared out over ever more threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Fixed {
    /// Comparisons, at most: lists are whole.
    pub total: usize,
    /// By threads.
    pub rows: Vec<FixedRow>,
}

/// One way to share them out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FixedRow {
    /// Poses of the first list, and threads.
    pub threads: usize,
    /// Poses of the second.
    pub poses: usize,
    /// What there is to do.
    pub work: Work,
    /// The notebook's kernel, on the device.
    pub ms: Spread,
}

/// Whether all kernels found the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Agreement {
    /// How many kernels.
    pub variants: usize,
    /// The largest difference of two totals, as a share of them.
    pub largest_difference: f64,
}

/// All that was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Study {
    /// The device.
    pub device: Facts,
    /// What was asked for, as it was carried out.
    pub options: Options,
    /// Pieces of the shape.
    pub pieces: usize,
    /// Threads of a launch of the experiment with streams.
    pub stream_threads: usize,
    /// What such a launch has to do.
    pub stream_work: Work,
    /// By number of streams.
    pub streams: Vec<StreamsRow>,
    /// By number of threads.
    pub batch: Vec<BatchRow>,
    /// Fixed work.
    pub fixed: Vec<Fixed>,
    /// The check of all kernels against each other.
    pub agreement: Agreement,
}

/// How far a study is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Steps that are done.
    pub done: usize,
    /// Steps in all.
    pub steps: usize,
    /// What is being done.
    pub what: &'static str,
}

impl Study {
    /// Carries out all experiments.
    ///
    /// `progress` is called before each step and at the end.
    ///
    /// # Errors
    /// [`ConcurrencyError::Option`] for options out of range, [`ConcurrencyError::Disagreement`] where two kernels find different
    /// totals, and what the device has against it.
    pub fn run(device: &Device, options: &Options, mut progress: impl FnMut(Step)) -> Result<Self, ConcurrencyError> {
        let options = options.checked()?;
        let steps = options.streams.len() + options.batch.len() + options.fixed.len();
        let mut done = 0;
        let mut step = |what| {
            progress(Step { done, steps, what });
            done += 1;
        };
        let bench = Bench { device, stream: device.stream()?, kernels: Kernels::new(device)?, options: &options };
        let all = poses(options.poses, options.seed);

        let mut batch = Vec::new();
        let mut agreement = Agreement { variants: Variant::all().count(), largest_difference: 0.0 };
        for &threads in &options.batch {
            step("by threads");
            batch.push(bench.batch(&all[..threads], &all, &mut agreement)?);
        }
        let mut fixed = Vec::new();
        for &total in &options.fixed {
            step("fixed work");
            fixed.push(bench.fixed(total)?);
        }
        let stream_threads = notebook::STREAM_THREADS.min(all.len());
        let mut streams = Vec::new();
        for &count in &options.streams {
            step("by streams");
            streams.push(bench.streams(count, &all[..stream_threads], &all)?);
        }
        step("done");
        let device = bench.facts(stream_threads)?;
        let pieces = bench.kernels.pieces();
        let stream_work = Work::count(&all[..stream_threads], &all, pieces, bench.kernels.reach(), block_of(stream_threads));
        let options = options.clone();
        Ok(Study { device, options, pieces, stream_threads, stream_work, streams, batch, fixed, agreement })
    }
}

/// What all experiments need.
struct Bench<'a> {
    device: &'a Device,
    stream: Stream,
    kernels: Kernels,
    options: &'a Options,
}

/// The library's evaluator on two lists.
struct Engine {
    overlap: Overlap<f64>,
    scenes: [Scene<f64>; 2],
    /// What poses that are in both lists have in common with themselves, which the study leaves out.
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

    /// Sees to it that it finds as much as the study's kernels.
    fn check(&mut self, stream: &Stream, expected: f64) -> Result<(), ConcurrencyError> {
        self.enqueue(stream)?;
        let found = self.overlap.read(stream, &self.scenes[0], Wanted::TOTALS)?.totals[0] - self.own;
        if (found - expected).abs() <= TOLERANCE * expected.abs().max(1.0).max(self.own) {
            return Ok(());
        }
        let [threads, poses] = [0, 1].map(|index: usize| self.scenes[index].len());
        Err(ConcurrencyError::Engine { found, expected, threads, poses })
    }
}

/// Threads of a block for so many poses.
fn block_of(threads: usize) -> usize {
    threads.min(MAX_THREADS)
}

impl Bench<'_> {
    fn facts(&self, stream_threads: usize) -> Result<Facts, DeviceError> {
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

    /// All kernels on one pair of lists.
    fn batch(&self, first: &[Pose], second: &[Pose], agreement: &mut Agreement) -> Result<BatchRow, ConcurrencyError> {
        let Bench { device, stream, kernels, options } = self;
        let block = block_of(first.len());
        let mut lists = kernels.lists(first, second, block)?;

        let expected = kernels.total(stream, Variant::NOTEBOOK, &mut lists)?;
        for variant in Variant::all() {
            let found = kernels.total(stream, variant, &mut lists)?;
            let difference = (found - expected).abs() / expected.abs().max(1.0);
            if difference.is_nan() || difference > TOLERANCE {
                let (threads, poses) = (first.len(), second.len());
                let reference = Variant::NOTEBOOK;
                return Err(ConcurrencyError::Disagreement { variant, found, reference, expected, threads, poses });
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
        let times = in_turns(stream, options.runs, options.iterations, &mut pieces)?;
        drop(pieces);

        let elapsed = on_the_host(options.runs, || {
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

    /// About `total` comparisons by each number of threads of the batches.
    fn fixed(&self, total: usize) -> Result<Fixed, ConcurrencyError> {
        let Bench { stream, kernels, options, .. } = self;
        let mut rows = Vec::new();
        let mut all_lists = Vec::new();
        for &threads in options.batch.iter().filter(|&&threads| threads <= total) {
            // Lists of their own, as in the notebook.
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
        let times = in_turns(stream, options.runs, options.iterations, &mut pieces)?;
        rows.iter_mut().zip(times).for_each(|(row, ms)| row.ms = ms);
        Ok(Fixed { total, rows })
    }

    /// The same launch on so many streams.
    fn streams(&self, count: usize, first: &[Pose], second: &[Pose]) -> Result<StreamsRow, ConcurrencyError> {
        let Bench { device, stream, kernels, options } = self;
        let (runs, iterations) = (options.runs, options.iterations);
        let streams = (0..count).map(|_| device.stream()).collect::<Result<Vec<_>, _>>()?;
        let wait = || streams.iter().try_for_each(Stream::synchronize);
        let lists = || kernels.lists(first, second, block_of(first.len()));
        let mut each = streams.iter().map(|_| lists()).collect::<Result<Vec<_>, _>>()?;

        let plain_ms = on_the_host(runs, || {
            for _ in 0..iterations {
                for (stream, lists) in streams.iter().zip(&mut each) {
                    kernels.launch(stream, Variant::NOTEBOOK, lists)?;
                }
            }
            wait()
        })?;
        let empty_ms = on_the_host(runs, || {
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
        let graphs_ms = on_the_host(runs, || {
            for (stream, graph) in streams.iter().zip(&graphs) {
                // SAFETY: a graph has a stream and lists of its own, which live as long as this function.
                unsafe { graph.launch(stream)? };
            }
            wait()
        })?;

        let branches = device.capture_branches(count, |streams| {
            streams.iter().zip(&mut each).try_for_each(|(stream, lists)| all_of(stream, lists))
        })?;
        branches.prepare(stream)?;
        let branches_ms = on_the_host(runs, || {
            // SAFETY: a branch has lists of its own, which live as long as this function; `wait` was before.
            unsafe { branches.launch(stream)? };
            stream.synchronize()
        })?;

        let repeated: Vec<Pose> = first.iter().copied().cycle().take(first.len() * count).collect();
        let mut joined = kernels.lists(&repeated, second, block_of(first.len()))?;
        let blocks_ms = on_the_host(runs, || {
            (0..iterations).try_for_each(|_| kernels.launch(stream, Variant::NOTEBOOK, &mut joined))?;
            stream.synchronize()
        })?;
        Ok(StreamsRow { streams: count, plain_ms, graphs_ms, branches_ms, blocks_ms, empty_ms })
    }
}

/// Double-precision instructions that a multiprocessor of a compute capability starts a clock, by the throughput table of NVIDIA's
/// *CUDA C++ Programming Guide*.
fn fp64_lanes(capability: (u32, u32)) -> Option<u32> {
    match capability {
        (7, 0) | (8, 0) => Some(32),
        (9, 0) | (10, 0) => Some(64),
        (7, 5) | (8, 6 | 9) | (10, 3) | (12, _) => Some(2),
        _ => None,
    }
}

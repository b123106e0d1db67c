//! Connected components of undirected graphs, and spanning forests, on a device.
//!
//! ```
//! use warpsmith::{components::Components, device::Device};
//!
//! let device = Device::best()?;
//! let stream = device.stream()?;
//! //  0 - 3 - 1    2    4 - 5, where one edge is there twice
//! let edges = device.upload(&[[3, 1], [0, 3], [5, 4], [4, 5]].map(Into::into))?;
//! let mut labels = device.alloc(6)?;
//! let mut components = Components::new(&device)?;
//! let found = components.label(&stream, &edges, &mut labels)?;
//! assert_eq!((found.count, found.loops), (3, 0));
//! assert_eq!(stream.download_vec(&labels)?, [0, 0, 2, 0, 4, 4]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use cuda_std::{I32x2, launch::KernelInfo};
use gpu_kernels::components::{self as kernels, BATCH, ForestArgs, LargestArgs, NONE, Sample, Status, WINDOW, WINDOW_THREADS};

use crate::{
    device::{Backend, Buffer, Device, DeviceError, LaunchConfig, Stream},
    launch,
};

/// The most vertices, and the most edges: an i32 numbers them, and one value more stands for none.
pub const MOST: usize = i32::MAX as usize - 1;

/// Threads of a block.
pub(crate) const THREADS: u32 = 256;

/// Least number of edges per vertex of a dense graph. There, a sample of one edge per vertex unites sets first, and most edges
/// are within a set afterwards.
const DENSE: usize = 4;
/// Least number of edges per vertex for a first part of that sample, and the sample's divisor for it.
const PARTED: usize = 8;
const SMALLER: u32 = 8;

/// Why there are no components.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "a message says what its fields are")]
pub enum EdgeError {
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// More than 32 bits can number.
    #[error("{count} {what} are too many: at most 2^31 - 2 can be numbered")]
    TooMany { what: &'static str, count: usize },
    /// An end is no vertex: the first such edge.
    #[error("edge {edge} is ({u}, {v}), but there are {vertices} vertices, from 0")]
    OutOfRange { edge: usize, u: i32, v: i32, vertices: usize },
}

/// Counts of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The number of components.
    pub count: usize,
    /// The number of edges from a vertex to itself.
    pub loops: usize,
}

/// Finds components on one device, and keeps its arrays from call to call: graphs of one size allocate nothing again.
///
/// It takes a bit for each vertex beside the labels. All arrays and streams must be of its device.
#[derive(Debug)]
pub struct Components {
    /// A bit for each vertex of the largest set.
    largest: Buffer<u32>,
    status: Buffer<Status>,
    /// The forest of calls without one.
    none: (Buffer<I32x2>, Buffer<u32>),
    windows: bool,
}

impl Components {
    /// For graphs on `device`.
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        let windows = device.backend() == Backend::Cuda;
        Ok(Components { largest: device.empty(), status: device.alloc(1)?, none: (device.empty(), device.empty()), windows })
    }

    /// Chooses if sets are first united within windows of neighbouring vertices, unless there are many edges per vertex. GPUs
    /// do so by default. On the CPU, it costs more time than it saves, and a stack for each of a block's 1,024 threads.
    pub fn with_windows(self, windows: bool) -> Self {
        Components { windows, ..self }
    }

    /// Labels each vertex with the smallest vertex of its component. There are as many vertices as `labels`.
    ///
    /// # Errors
    /// [`EdgeError`]: an edge's end is no vertex, or the device fails. The labels are garbage then.
    pub fn label(&mut self, stream: &Stream, edges: &Buffer<I32x2>, labels: &mut Buffer<i32>) -> Result<Found, EdgeError> {
        let Components { largest, status, none, windows } = self;
        find(stream, edges, labels, largest, status, (&mut none.0, &mut none.1), *windows)
    }

    /// [`label`](Self::label), and a spanning forest: `forest` gets the edges of one, as many as
    /// there are vertices less components, and `indices` their numbers in `edges`. The forest may
    /// differ from call to call.
    pub fn forest(
        &mut self,
        stream: &Stream,
        edges: &Buffer<I32x2>,
        labels: &mut Buffer<i32>,
        forest: &mut Buffer<I32x2>,
        indices: &mut Buffer<u32>,
    ) -> Result<Found, EdgeError> {
        let n = labels.len();
        forest.ensure(n)?;
        indices.ensure(n)?;
        let found = find(stream, edges, labels, &mut self.largest, &mut self.status, (forest, indices), self.windows)?;
        forest.ensure(n - found.count)?;
        indices.ensure(n - found.count)?;
        Ok(found)
    }
}

/// Finds components, and a spanning forest if there is room for one edge per vertex.
fn find(
    stream: &Stream,
    edges: &Buffer<I32x2>,
    labels: &mut Buffer<i32>,
    largest: &mut Buffer<u32>,
    status: &mut Buffer<Status>,
    forest: (&mut Buffer<I32x2>, &mut Buffer<u32>),
    windows: bool,
) -> Result<Found, EdgeError> {
    let (n, m) = (labels.len(), edges.len());
    for (what, count) in [("vertices", n), ("edges", m)] {
        if count > MOST {
            return Err(EdgeError::TooMany { what, count });
        }
    }
    let mut samples = samples(n, m);
    if m >= PARTED.saturating_mul(n) && samples.len() > 1 {
        // If few vertices have most edges, a smaller sample will do. Otherwise it is a part of the second one.
        samples.insert(0, Sample { count: samples[0].count / SMALLER, step: samples[0].step.saturating_mul(SMALLER) });
    }
    // Graphs that are dense are hardly local.
    let in_windows = windows && samples.len() == 1;
    if in_windows {
        stream.device().preload(&self::kernels());
    }
    // SAFETY: the status is one element.
    unsafe {
        let labels = labels.view_mut(..if in_windows { 0 } else { n })?;
        launch!(stream, kernels::start<<<grid(stream, n), THREADS>>>(labels, &mut *status))?;
    }
    let (edges_of_forest, indices) = forest;
    let together = match samples.len() {
        _ if n == 0 || edges_of_forest.len() != n => 0,
        1 => 128,
        // Most edges are passed over by the L1 cache, whose size counts more than few additions to one counter.
        _ => 64,
    };
    macro_rules! forest {
        () => {
            ForestArgs { together, edges: &mut *edges_of_forest, indices: &mut *indices, status: &mut *status }
        };
    }
    if in_windows && n > 0 {
        let windows = n.div_ceil(WINDOW) as u32;
        // SAFETY: there is a block for each window, and room for an edge per vertex, if any.
        unsafe {
            launch!(stream, kernels::start_windows<<<windows, WINDOW_THREADS as u32>>>(
                edges, n as u32, &mut *labels, forest!()
            ))?;
        }
    }
    for (i, &sample) in samples.iter().enumerate() {
        largest.ensure(if i + 1 == samples.len() && i > 0 { n.div_ceil(32) } else { 0 })?;
        let batches = (sample.count as usize).div_ceil(BATCH);
        let (kernel, shared) = (kernels::hook::kernel(), kernels::shared(together));
        let blocks = resident(stream, kernel, shared, batches)?;
        // SAFETY: there are `n` labels, which have been started, and room for an edge per vertex, if any.
        unsafe {
            launch!(stream, kernels::hook<<<blocks, THREADS, shared>>>(
                edges, sample, LargestArgs { count: largest.len() as u32, words: &mut *largest }, n as u32, &mut *labels, forest!()
            ))?;
        }
        if i + 1 < samples.len() {
            largest.ensure(n.div_ceil(32))?;
            // SAFETY: there are `n` labels, all of them vertices, and a bit for each; there are more edges than vertices.
            unsafe {
                launch!(stream, kernels::flatten_largest<<<grid(stream, n), THREADS>>>(
                    edges, i + 2 < samples.len(), &mut *labels, n as u32, &mut *largest, &mut *status
                ))?;
            }
        } else {
            flatten(stream, labels)?;
        }
    }
    let Status { outside, loops, hooked, .. } = stream.download_vec(&*status)?[0];
    if outside != NONE {
        let edge = outside as usize;
        let I32x2 { x: u, y: v } = stream.download_vec(edges.view(edge..=edge)?)?[0];
        return Err(EdgeError::OutOfRange { edge, u, v, vertices: n });
    }
    Ok(Found { count: n - hooked as usize, loops: loops as usize })
}

/// Returns the number of edges that repeat others, in either direction: all but one of the edges
/// between the same two vertices. Loops don't count. Takes 16 to 32 bytes per edge while it works.
pub fn repeats(stream: &Stream, edges: &Buffer<I32x2>) -> Result<usize, DeviceError> {
    let device = stream.device();
    let places = (2 * edges.len()).max(1).next_power_of_two();
    let (mut table, mut repeats) = (device.alloc::<u64>(places)?, device.alloc::<u32>(1)?);
    stream.fill_zero(&mut table)?;
    stream.fill_zero(&mut repeats)?;
    let mask = places as u64 - 1;
    // SAFETY: the table has so many places, more than there are edges.
    unsafe {
        launch!(stream, kernels::count_repeats<<<grid(stream, edges.len()), THREADS>>>(edges, &mut table, mask, &mut repeats))?;
    }
    Ok(stream.download_vec(&repeats)?[0] as usize)
}

/// Returns which edges to unite by: with many edges first a sample, one per vertex, then all. By then most edges need
/// little more than a look.
fn samples(n: usize, m: usize) -> Vec<Sample> {
    let step = m.checked_div(n).unwrap_or(0);
    let samples = [Sample { count: n as u32, step: step as u32 }, Sample { count: m as u32, step: 1 }];
    samples[usize::from(step < DENSE)..].to_vec()
}

/// Unites by a sample of the edges, if there are many, then by all. `hook` gets which edges to unite by, and the labels.
/// After each time the labels are roots.
#[cfg(feature = "graph")]
pub(crate) fn in_parts(
    stream: &Stream,
    m: usize,
    labels: &mut Buffer<i32>,
    mut hook: impl FnMut(Sample, &mut Buffer<i32>) -> Result<(), DeviceError>,
) -> Result<(), DeviceError> {
    for sample in samples(labels.len(), m) {
        hook(sample, labels)?;
        flatten(stream, labels)?;
    }
    Ok(())
}

/// Makes each vertex its own label.
#[cfg(feature = "graph")]
pub(crate) fn start(stream: &Stream, labels: &mut Buffer<i32>, status: &mut Buffer<Status>) -> Result<(), DeviceError> {
    status.ensure(1)?;
    // SAFETY: the status is one element.
    unsafe { launch!(stream, kernels::start<<<grid(stream, labels.len()), THREADS>>>(labels, status)) }
}

/// Makes each vertex's root its label.
pub(crate) fn flatten(stream: &Stream, labels: &mut Buffer<i32>) -> Result<(), DeviceError> {
    let n = labels.len();
    // SAFETY: there are `n` labels, all of them vertices.
    unsafe { launch!(stream, kernels::flatten<<<grid(stream, n), THREADS>>>(labels, n as u32)) }
}

/// Kernels that label sparse graphs in windows.
pub(crate) fn kernels() -> Vec<&'static KernelInfo> {
    vec![kernels::start::kernel(), kernels::start_windows::kernel(), kernels::hook::kernel(), kernels::flatten::kernel()]
}

/// Blocks for a kernel that takes any grid: no more than run at once, but one at least.
pub(crate) fn grid(stream: &Stream, n: usize) -> u32 {
    let info = stream.device().info();
    let most = match info.backend {
        Backend::Cuda => info.multiprocessors * (info.max_threads_per_multiprocessor / THREADS),
        Backend::Cpu => 4 * info.multiprocessors,
    };
    LaunchConfig::for_elements(n, THREADS).grid.x.clamp(1, most)
}

/// [`grid()`] for a kernel whose registers or `shared` bytes let fewer blocks run at once. More than those would start when
/// others end, and run with much of the device idle.
pub(crate) fn resident(stream: &Stream, kernel: &'static KernelInfo, shared: usize, n: usize) -> Result<u32, DeviceError> {
    let (device, most) = (stream.device(), grid(stream, n));
    Ok(match device.backend() {
        Backend::Cuda => most.min(device.occupancy(kernel, THREADS, shared)? * device.info().multiprocessors),
        Backend::Cpu => most,
    })
}

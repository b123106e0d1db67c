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

use cuda_std::I32x2;
use gpu_kernels::components::{self as kernels, NONE, Sample, Status};

use crate::{
    collectives::{ScanWorkspace, exclusive_scan_in_place},
    device::{Backend, Buffer, Device, DeviceError, LaunchConfig, Stream},
    launch,
};

/// The most vertices, and the most edges: an i32 numbers them, and one value more stands for none.
pub const MOST: usize = i32::MAX as usize - 1;

/// Threads of a block.
pub(crate) const THREADS: u32 = 256;

/// Size of the sample of edges that unite sets before all others, per vertex. Most edges are within
/// a set afterwards.
const FIRST: usize = 2;

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
/// It takes 8 bytes for each vertex beside the labels. All arrays and streams must be of its device.
#[derive(Debug)]
pub struct Components {
    hooks: Buffer<u32>,
    /// Index in the forest of each vertex's edge.
    places: Buffer<i32>,
    status: Buffer<Status>,
    scan: ScanWorkspace<i32>,
}

impl Components {
    /// For graphs on `device`.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`], and errors of earlier work on the device.
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        let scan = ScanWorkspace::new(device)?;
        Ok(Components { hooks: device.empty(), places: device.empty(), status: device.alloc(1)?, scan })
    }

    /// Labels each vertex with the smallest vertex of its component. There are as many vertices as `labels`.
    ///
    /// # Errors
    /// [`EdgeError`]: an edge's end is no vertex, or the device fails. The labels are garbage then.
    pub fn label(&mut self, stream: &Stream, edges: &Buffer<I32x2>, labels: &mut Buffer<i32>) -> Result<Found, EdgeError> {
        let (n, m) = (labels.len(), edges.len());
        for (what, count) in [("vertices", n), ("edges", m)] {
            if count > MOST {
                return Err(EdgeError::TooMany { what, count });
            }
        }
        self.hooks.ensure(n)?;
        start(stream, labels, &mut self.status)?;
        self.places.ensure(n)?;
        let Components { hooks, status, .. } = self;
        in_parts(stream, m, labels, |sample, labels| {
            let grid = grid(stream, sample.count as usize);
            // SAFETY: labels and hooks have `n` elements, and the labels have been started.
            unsafe {
                launch!(stream, kernels::hook<<<grid, THREADS>>>(edges, sample, n as u32, labels, &mut *hooks, &mut *status))
            }
        })?;
        launch!(stream, kernels::mark_hooked<<<grid(stream, n), THREADS>>>(&*labels, &mut self.places))?;
        exclusive_scan_in_place(stream, &mut self.places, &mut self.scan)?;
        let hooked = stream.download_vec(self.scan.total())?[0];
        let Status { outside, loops } = stream.download_vec(&self.status)?[0];
        if outside != NONE {
            let edge = outside as usize;
            let I32x2 { x: u, y: v } = stream.download_vec(edges.view(edge..=edge)?)?[0];
            return Err(EdgeError::OutOfRange { edge, u, v, vertices: n });
        }
        Ok(Found { count: n - hooked as usize, loops: loops as usize })
    }

    /// [`label`](Self::label), and a spanning forest: `forest` gets the edges of one, as many as
    /// there are vertices less components, and `indices` their numbers in `edges`. The forest may
    /// differ from call to call.
    ///
    /// # Errors
    /// As [`label`](Self::label).
    pub fn forest(
        &mut self,
        stream: &Stream,
        edges: &Buffer<I32x2>,
        labels: &mut Buffer<i32>,
        forest: &mut Buffer<I32x2>,
        indices: &mut Buffer<u32>,
    ) -> Result<Found, EdgeError> {
        let found = self.label(stream, edges, labels)?;
        let n = labels.len();
        forest.ensure(n - found.count)?;
        indices.ensure(n - found.count)?;
        // SAFETY: the arrays are those of `label`, and the forest has an edge for each vertex that was hooked.
        unsafe {
            launch!(stream, kernels::collect<<<grid(stream, n), THREADS>>>(
                edges, &*labels, &self.places, &self.hooks, forest, indices
            ))?;
        }
        Ok(found)
    }
}

/// Returns the number of edges that repeat others, in either direction: all but one of the edges
/// between the same two vertices. Loops don't count. Takes 16 to 32 bytes per edge while it works.
///
/// # Errors
/// [`DeviceError::OutOfMemory`], and errors of earlier work on the device.
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

/// Unites by a sample of the edges, a few for each vertex, then by all: by then most edges need little more than a look.
/// `hook` gets which edges to unite by, and the labels. After each time the labels are roots. With few edges, there is no
/// sample.
pub(crate) fn in_parts(
    stream: &Stream,
    m: usize,
    labels: &mut Buffer<i32>,
    mut hook: impl FnMut(Sample, &mut Buffer<i32>) -> Result<(), DeviceError>,
) -> Result<(), DeviceError> {
    let most = FIRST * labels.len();
    let step = m.checked_div(most).map_or(1, |step| step.max(1));
    let samples = [Sample { count: most as u32, step: step as u32 }, Sample { count: m as u32, step: 1 }];
    for sample in &samples[(step == 1) as usize..] {
        hook(*sample, labels)?;
        flatten(stream, labels)?;
    }
    Ok(())
}

/// Makes each vertex its own label.
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

/// Blocks for a kernel that takes any grid: no more than run at once, but one at least.
pub(crate) fn grid(stream: &Stream, n: usize) -> u32 {
    let info = stream.device().info();
    let most = match info.backend {
        Backend::Cuda => info.multiprocessors * (info.max_threads_per_multiprocessor / THREADS),
        Backend::Cpu => 4 * info.multiprocessors,
    };
    LaunchConfig::for_elements(n, THREADS).grid.x.clamp(1, most)
}

//! Minimum spanning forests on a device.

use bytemuck::Zeroable;
use cuda_std::{I32x2, U64x2};
use gpu_kernels::{
    collectives::scan,
    components::{self, BATCH, NONE, Status},
    spanning::{self as kernels, Extent, ListsArgs, Progress, ROUNDS, SAMPLE},
};

use super::{EdgeError, Found, GraphError, connectivity::same_length, edges::check_numbers};
use crate::{
    collectives::{ScanWorkspace, SortWorkspace, exclusive_scan_in_place, sort, sort_further},
    common::{Clock, StepTime},
    components::{THREADS, flatten, grid, resident},
    device::{Backend, Buffer, Device, DeviceError, Stream},
    launch,
};

/// Number of edges per vertex that come first, about.
const LIGHTEST: f64 = 1.5;

/// The fewest edges that are divided into the lightest and the others.
const FEWEST: usize = 4096;

/// Least place of the threshold in the sample. A smaller one would be too uncertain.
const LEAST_PLACE: usize = 4;

/// Rounds of the lightest edges on a GPU, whether edges remain or not.
const FIRST_ROUNDS: usize = 4;

/// Rounds on a GPU between two downloads of the number of remaining edges.
const MORE_ROUNDS: usize = 4;

/// Number of sums of floats that the host adds up.
const PARTS: usize = 1024;

/// Number of floats in a sum, at most.
const FOLD: usize = 64;

/// Report of a search for a minimum spanning forest.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MinimumForest<T> {
    /// The graph's components, which are the forest's trees, and loops.
    pub found: Found,
    /// The sum of the forest's weights.
    pub total: T,
    /// The steps in order.
    pub steps: Vec<StepTime>,
}

/// A type of weights: `f32`, `f64`, `i32` or `i64`. Implemented for these types only.
pub trait Weight: sealed::Weight {}

mod sealed {
    use super::{Grow, Sum};

    pub trait Weight: bytemuck::Pod {
        /// The type of sums.
        type Total;
        const GROW: Grow<Self>;
        const SUM: Sum<Self, Self::Total>;
    }
}

/// Finds the forest's edges, as bits, and the components.
type Grow<W> = fn(
    &mut MinimumForests,
    &Stream,
    &Buffer<I32x2>,
    &Buffer<W>,
    &mut Buffer<i32>,
    &mut Clock<'_>,
) -> Result<Progress, GraphError>;

/// Adds up the weights of edges.
type Sum<W, T> = fn(&mut MinimumForests, &Stream, &Buffer<W>, &Buffer<u32>) -> Result<T, GraphError>;

macro_rules! weights {
    ($($type:ident $total:ident $grow:ident $sum:ident;)*) => {$(
        impl Weight for $type {}
        impl sealed::Weight for $type {
            type Total = $total;
            const GROW: Grow<Self> = MinimumForests::$grow;
            const SUM: Sum<Self, $total> = MinimumForests::$sum;
        }
    )*};
}
weights! {
    f32 f64 grow sum_of_floats;
    f64 f64 grow_wide sum_of_floats;
    i32 i128 grow sum_of_integers;
    i64 i128 grow_wide sum_of_integers;
}

/// Finds minimum spanning forests on one device, and keeps its arrays from call to call: graphs of one size allocate
/// nothing again. All arrays and streams must be of its device.
///
/// ```
/// use warpsmith::{device::Device, graph::MinimumForests};
///
/// let device = Device::best()?;
/// let stream = device.stream()?;
/// //  0 -2.5- 1
/// //   1 \   / 2
/// //       2     3
/// let edges = device.upload(&[[0, 1], [1, 2], [2, 0]].map(Into::into))?;
/// let weights = device.upload(&[2.5, 2.0, 1.0])?;
/// let (mut labels, mut indices) = (device.alloc(4)?, device.empty());
/// let mut forests = MinimumForests::new(&device, false)?;
/// let forest = forests.find(&stream, &edges, &weights, &mut labels, &mut indices)?;
/// assert_eq!((forest.found.count, forest.total), (2, 3.0));
/// assert_eq!(stream.download_vec(&indices)?, [1, 2]);
/// assert_eq!(stream.download_vec(&labels)?, [0, 0, 0, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MinimumForests {
    timed: bool,
    lightest: f64,
    least: Buffer<u64>,
    /// The edges of this round and of the next one.
    lists: [Buffer<U64x2>; 2],
    roots: Buffer<i32>,
    counters: Buffer<u32>,
    progress: Buffer<Progress>,
    /// A bit for each edge.
    forest: Buffer<u32>,
    places: Buffer<u32>,
    scan: ScanWorkspace,
    /// Numbers that replace weights of 64 bits.
    words: Buffer<u32>,
    extent: Buffer<Extent>,
    sorted: Option<SortWorkspace>,
    values: [Buffer<f64>; 2],
    halves: Buffer<i64>,
}

impl MinimumForests {
    /// For graphs on `device`. With `timed`, steps are measured by events on the stream.
    pub fn new(device: &Device, timed: bool) -> Result<Self, DeviceError> {
        Ok(MinimumForests {
            timed,
            lightest: LIGHTEST,
            least: device.empty(),
            lists: [device.empty(), device.empty()],
            roots: device.empty(),
            counters: device.alloc(2 * ROUNDS)?,
            progress: device.alloc(1)?,
            forest: device.empty(),
            places: device.empty(),
            scan: ScanWorkspace::new(device)?,
            words: device.empty(),
            extent: device.alloc(1)?,
            sorted: None,
            values: [device.empty(), device.empty()],
            halves: device.alloc(2)?,
        })
    }

    /// Takes about this number of edges per vertex first, and of the others only those that still connect two trees. The
    /// default is 1.5; with infinity all edges are taken at once. The result is the same.
    pub fn with_lightest(self, per_vertex: f64) -> Self {
        MinimumForests { lightest: per_vertex, ..self }
    }

    /// Finds the minimum spanning forest. `labels` has one element per vertex, and gets the smallest vertex of each
    /// vertex's component. `indices` gets the numbers of the forest's edges, ascending: as many as there are vertices less
    /// components.
    ///
    /// Of edges of equal weight, those with smaller numbers count as lighter, so that the forest depends on the graph
    /// alone. `-0.0` equals `0.0`, and weights may be infinite. The total of integers is exact; that of floats is a sum in
    /// `f64` whose order depends on the number of edges alone.
    ///
    /// # Errors
    /// [`GraphError`]: an edge's end is no vertex, a weight is NaN, there isn't one weight per edge, or the device fails.
    pub fn find<W: Weight>(
        &mut self,
        stream: &Stream,
        edges: &Buffer<I32x2>,
        weights: &Buffer<W>,
        labels: &mut Buffer<i32>,
        indices: &mut Buffer<u32>,
    ) -> Result<MinimumForest<W::Total>, GraphError> {
        let (n, m) = (labels.len(), edges.len());
        check_numbers(n, m)?;
        same_length("weights", weights.len(), m, "edges")?;
        let mut clock = Clock::start(stream, self.timed)?;
        let Progress { status, unordered, joined, .. } = W::GROW(self, stream, edges, weights, labels, &mut clock)?;
        if unordered != NONE {
            return Err(GraphError::Unordered { edge: unordered as usize });
        }
        if status.outside != NONE {
            let edge = status.outside as usize;
            let I32x2 { x: u, y: v } = stream.download_vec(edges.view(edge..=edge)?)?[0];
            return Err(EdgeError::OutOfRange { edge, u, v, vertices: n }.into());
        }
        indices.ensure(joined as usize)?;
        self.places.ensure(self.forest.len())?;
        let grid = grid(stream, self.forest.len());
        launch!(stream, kernels::count_bits<<<grid, THREADS>>>(&self.forest, &mut self.places))?;
        exclusive_scan_in_place(stream, &mut self.places, &mut self.scan)?;
        // SAFETY: there are so many bits.
        unsafe { launch!(stream, kernels::collect_bits<<<grid, THREADS>>>(&self.forest, &self.places, &mut *indices))? };
        let total = W::SUM(self, stream, weights, indices)?;
        clock.end("collect", (m / 4 + 16 * joined as usize) as u64)?;
        let found = Found { count: n - joined as usize, loops: status.loops as usize };
        Ok(MinimumForest { found, total, steps: clock.steps()? })
    }

    fn grow<W>(
        &mut self,
        stream: &Stream,
        edges: &Buffer<I32x2>,
        weights: &Buffer<W>,
        labels: &mut Buffer<i32>,
        clock: &mut Clock<'_>,
    ) -> Result<Progress, GraphError>
    where
        W: bytemuck::Pod + kernels::Weight + kernels::choose::Instance + kernels::seed::Instance + kernels::gather::Instance,
    {
        let (n, m) = (labels.len(), edges.len());
        stream.device().preload(&[
            kernels::start::kernel(),
            kernels::seed::kernel::<W>(),
            kernels::gather::kernel::<W>(),
            kernels::join::kernel(),
            kernels::advance::kernel(),
            components::flatten::kernel(),
            kernels::count_bits::kernel(),
            scan::exclusive_in_place::kernel::<u32>(),
            kernels::collect_bits::kernel(),
        ]);
        self.least.ensure(n)?;
        self.roots.ensure(n)?;
        self.forest.ensure(m.div_ceil(32))?;
        for list in &mut self.lists {
            list.ensure(m)?;
        }
        stream.fill_zero(&mut self.forest)?;
        let MinimumForests { least, counters, progress, .. } = self;
        // SAFETY: least and counters are as long as the kernel wants.
        unsafe { launch!(stream, kernels::start<<<grid(stream, n), THREADS>>>(&mut *labels, least, counters, &mut *progress))? };
        if n == 0 && m == 0 {
            return Ok(stream.download_vec(&self.progress)?[0]);
        }
        let lightest = self.lightest * n as f64;
        let is_divided = m >= FEWEST && m as f64 >= lightest * (4.0 / 3.0);
        if is_divided {
            let place = (lightest * SAMPLE as f64 / m as f64) as usize;
            let place = place.clamp(LEAST_PLACE, SAMPLE - 1) as u32;
            // SAFETY: there are weights, and the state is one element.
            unsafe { launch!(stream, kernels::choose::<W><<<1, SAMPLE as u32>>>(weights, place, progress))? };
        }
        let of_edges = resident(stream, kernels::seed::kernel::<W>(), 0, m.div_ceil(BATCH))?;
        // SAFETY: there are keys for all vertices.
        unsafe {
            launch!(stream, kernels::seed::<W><<<of_edges, THREADS>>>(
                edges, weights, n as u32, &mut self.least, &mut self.progress
            ))?;
        }
        self.join(stream, edges, n, labels, 0)?;
        self.gather(stream, edges, weights, false, labels, 1)?;
        self.join(stream, edges, 0, labels, 1)?;
        clock.end("first rounds", (24 * m + 40 * n) as u64)?;

        let asks = stream.device().backend() == Backend::Cpu;
        let mut round = 2;
        if is_divided {
            while round < 2 + FIRST_ROUNDS && !(asks && self.pending(stream)?.pending == 0) {
                self.advance(stream, labels, round)?;
                self.join(stream, edges, 0, labels, round)?;
                round += 1;
            }
            clock.end("lightest", 0)?;
            self.advance(stream, labels, round)?;
            self.gather(stream, edges, weights, true, labels, round)?;
            self.join(stream, edges, 0, labels, round)?;
            round += 1;
        }
        loop {
            for _ in 0..if asks { 1 } else { MORE_ROUNDS } {
                self.advance(stream, labels, round)?;
                self.join(stream, edges, 0, labels, round)?;
                round += 1;
            }
            let progress = self.pending(stream)?;
            if progress.pending == 0 {
                flatten(stream, labels)?;
                clock.end("others", (12 * m + 8 * n) as u64)?;
                return Ok(progress);
            }
        }
    }

    fn pending(&self, stream: &Stream) -> Result<Progress, DeviceError> {
        Ok(stream.download_vec(&self.progress)?[0])
    }

    /// Lists the edges of all that connect two sets.
    fn gather<W>(
        &mut self,
        stream: &Stream,
        edges: &Buffer<I32x2>,
        weights: &Buffer<W>,
        heavy: bool,
        labels: &mut Buffer<i32>,
        round: usize,
    ) -> Result<(), DeviceError>
    where
        W: bytemuck::Pod + kernels::Weight + kernels::gather::Instance,
    {
        flatten(stream, labels)?;
        let MinimumForests { least, lists: [even, odd], roots, counters, progress, .. } = self;
        let next = if round.is_multiple_of(2) { odd } else { even };
        let lists = ListsArgs { least, next, roots, counters, round: round as u32 };
        let grid = resident(stream, kernels::gather::kernel::<W>(), 0, edges.len().div_ceil(BATCH))?;
        // SAFETY: labels are roots after `flatten`, and there is room for all edges and roots.
        unsafe { launch!(stream, kernels::gather::<W><<<grid, THREADS>>>(edges, weights, heavy, &*labels, lists, progress)) }
    }

    /// Lists the edges of this round's list that still connect two sets.
    fn advance(&mut self, stream: &Stream, labels: &mut Buffer<i32>, round: usize) -> Result<(), DeviceError> {
        let MinimumForests { least, lists: [even, odd], roots, counters, .. } = self;
        let (list, next) = if round.is_multiple_of(2) { (even, odd) } else { (odd, even) };
        let grid = resident(stream, kernels::advance::kernel(), 0, list.len().div_ceil(BATCH))?;
        let lists = ListsArgs { least, next, roots, counters, round: round as u32 };
        // SAFETY: the round's list has as many edges between vertices as its counter says, and there is room for all edges
        // and roots.
        unsafe { launch!(stream, kernels::advance<<<grid, THREADS>>>(&*list, labels, lists)) }
    }

    /// Unites the ends of the least edges: those of the listed roots, or of `all` vertices.
    fn join(
        &mut self,
        stream: &Stream,
        edges: &Buffer<I32x2>,
        all: usize,
        labels: &mut Buffer<i32>,
        round: usize,
    ) -> Result<(), DeviceError> {
        let grid = grid(stream, labels.len());
        let MinimumForests { least, lists: [next, _], roots, counters, forest, progress, .. } = self;
        let lists = ListsArgs { least, next, roots, counters, round: round as u32 };
        // SAFETY: the keys are those of this round, of edges between vertices, and there is a bit for each edge.
        unsafe { launch!(stream, kernels::join<<<grid, THREADS>>>(edges, all as u32, labels, lists, forest, progress)) }
    }

    /// [`grow`](Self::grow) with numbers of 32 bits in the place of weights.
    fn grow_wide<W>(
        &mut self,
        stream: &Stream,
        edges: &Buffer<I32x2>,
        weights: &Buffer<W>,
        labels: &mut Buffer<i32>,
        clock: &mut Clock<'_>,
    ) -> Result<Progress, GraphError>
    where
        W: bytemuck::Pod + kernels::WideWeight + kernels::measure::Instance + kernels::narrow::Instance + kernels::pick::Instance,
    {
        let (m, device) = (weights.len(), stream.device());
        let grid = grid(stream, m);
        stream.upload(&mut self.extent, &[Extent::EMPTY])?;
        // SAFETY: the range is one element.
        unsafe { launch!(stream, kernels::measure::<W><<<grid, THREADS>>>(weights, &mut self.extent))? };
        let Extent { least, greatest, unordered } = stream.download_vec(&self.extent)?[0];
        if unordered != u64::MAX {
            let status = Status { outside: NONE, loops: 0, hooked: 0, skewed: 0 };
            return Ok(Progress { status, unordered: unordered as u32, ..Progress::zeroed() });
        }
        self.words.ensure(m)?;
        launch!(stream, kernels::narrow::<W><<<grid, THREADS>>>(weights, least, &mut self.words))?;
        let upper = greatest.saturating_sub(least) >> 32;
        if upper > 0 {
            let sorted = match &mut self.sorted {
                Some(sorted) => sorted,
                none => none.insert(SortWorkspace::new(device)?),
            };
            sort(stream, &self.words, u32::BITS, sorted)?;
            launch!(stream, kernels::pick::<W><<<grid, THREADS>>>(weights, least, sorted.order(), &mut self.words))?;
            sort_further(stream, &self.words, u64::BITS - upper.leading_zeros(), sorted)?;
            // SAFETY: the order is a permutation of the edges.
            unsafe { launch!(stream, kernels::rank<<<grid, THREADS>>>(sorted.order(), &mut self.words))? };
        }
        clock.end("words", 20 * m as u64)?;
        let words = std::mem::replace(&mut self.words, device.empty());
        let grown = self.grow(stream, edges, &words, labels, clock);
        self.words = words;
        grown
    }

    fn sum_of_floats<W>(&mut self, stream: &Stream, weights: &Buffer<W>, indices: &Buffer<u32>) -> Result<f64, GraphError>
    where
        W: bytemuck::Pod + Into<f64> + kernels::values::Instance,
    {
        let [values, spare] = &mut self.values;
        values.ensure(indices.len())?;
        let grid_of_values = grid(stream, indices.len());
        launch!(stream, kernels::values::<W><<<grid_of_values, THREADS>>>(weights, indices, &mut *values))?;
        while values.len() > PARTS {
            spare.ensure(values.len().div_ceil(FOLD).max(PARTS))?;
            launch!(stream, kernels::fold<<<grid(stream, spare.len()), THREADS>>>(&*values, &mut *spare))?;
            std::mem::swap(values, spare);
        }
        Ok(stream.download_vec(&*values)?.into_iter().sum())
    }

    fn sum_of_integers<W>(&mut self, stream: &Stream, weights: &Buffer<W>, indices: &Buffer<u32>) -> Result<i128, GraphError>
    where
        W: bytemuck::Pod + Into<i64> + kernels::add_integers::Instance,
    {
        stream.fill_zero(&mut self.halves)?;
        let grid = grid(stream, indices.len());
        // SAFETY: there are two sums, which are 0.
        unsafe { launch!(stream, kernels::add_integers::<W><<<grid, THREADS>>>(weights, indices, &mut self.halves))? };
        let halves = stream.download_vec(&self.halves)?;
        Ok((i128::from(halves[0]) << 32) + i128::from(halves[1]))
    }
}

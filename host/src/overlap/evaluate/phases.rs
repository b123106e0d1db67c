//! Both phases of an evaluation, as launches: phase one turns and bounds the pieces of each pose,
//! and phase two intersects those of near poses.

use cuda_std::launch::KernelInfo;
use gpu_kernels::overlap::{
    boundary, direct, grid,
    layout::{CellsArgs, Extent, Frame, Mode, Tile},
    queue, sums,
    transform::{self, OutputsArgs, SourceArgs},
};

use super::{
    Boundary, Wanted,
    buffers::{ByPose, List, Region, Rest},
    scene::{GridBuffers, Scene},
    shapes::Shapes,
    tree::TreeBuffers,
};
use crate::{
    collectives,
    device::{Buffer, Device, DeviceError, Stream},
    launch,
    overlap::{Lattice, OverlapError, OverlapReal},
};

/// Block size of the kernels with one thread per pose.
pub const THREADS: u32 = 128;

/// Blocks per multiprocessor for remaining rows of tiles: the number that run at a time.
const BLOCKS_OF_REST: u32 = 4;

pub fn blocks(n: usize) -> u32 {
    n.div_ceil(THREADS as usize) as u32
}

/// The kernels of phase two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverlapKernel {
    /// One warp per tile of poses, with queues in shared memory: the default on GPUs.
    Queue,
    /// One thread per pose: the default on the CPU.
    Direct,
}

impl OverlapKernel {
    /// These kernels, or for shapes of more pieces than warps can number pairs of, the others.
    pub(super) fn of_pieces(self, pieces: &[usize]) -> Self {
        if pieces.iter().all(|&pieces| pieces <= queue::MOST_PIECES as usize) { self } else { OverlapKernel::Direct }
    }
}

/// The shapes, their surroundings and the settings of an evaluator, with the launches of both
/// phases.
#[derive(Debug)]
pub struct Phases<T: OverlapReal> {
    pub device: Device,
    pub shapes: Shapes<T>,
    pub region: Option<(Boundary, Region<T>)>,
    pub lattice: Option<Lattice>,
    pub deterministic: bool,
    pub kernel: OverlapKernel,
    /// Number by which scenes recognize their evaluator. It changes with the lattice.
    pub id: u64,
}

/// Poses whose results a pass computes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// The rows, and by atomics the candidates.
    Both,
    /// The rows only.
    Rows,
}

impl<T: OverlapReal> Phases<T> {
    /// Enqueues the order of poses, if there is a grid or a tree, and phase one. Makes room for the
    /// results by pose, and clears them.
    pub fn prepare(&self, stream: &Stream, scene: &mut Scene<T>, wanted: Wanted) -> Result<(), OverlapError> {
        if scene.owner != self.id {
            return Err(OverlapError::ForeignScene);
        }
        scene.ensure_by_pose(wanted)?;
        let reach = T::from_f64(self.shapes.reach);
        let Scene { poses, shape_of, first_piece, packing_of, offsets, frames, list, wraps, grid, tree, by_pose, .. } = scene;
        let (poses, shape_of, shapes, quads) = (&*poses, &*shape_of, &self.shapes.spans, &self.shapes.quads);
        let none = self.device.empty();
        // The order of poses doesn't need pieces.
        let source = SourceArgs { poses, shapes, quads, shape_of, first_piece: &none };
        let (rows, packings) = (list.order.len(), frames.len() as u32);
        // SAFETY: the scene was loaded for these shapes and this lattice, so that its arrays have
        // the right lengths, and its shapes and packings exist. A frame has at most the number of
        // cells that `capacity` has for its packing, for which `starts` has room. Every pose, row
        // and piece has a thread.
        unsafe {
            if let Some(grid) = grid {
                if self.lattice.is_none() {
                    let GridBuffers { extents, parts, threads, capacity, .. } = &mut *grid;
                    let (extent, of_parts) = ((packings, *parts), parts.next_multiple_of(32));
                    launch!(stream, grid::extent::<T><<<extent, *threads>>>(source, &*offsets, &mut *extents))?;
                    launch!(
                        stream,
                        grid::frame::<T><<<packings, of_parts>>>(&*extents, *parts, reach, &*capacity, &mut *frames)
                    )?;
                }
                stream.fill_zero(&mut grid.starts)?;
                let (n, blocks) = (rows as u32, blocks(rows));
                launch!(
                    stream,
                    grid::bin::<T><<<blocks, THREADS>>>(
                        n, source, &*packing_of, &*frames, &mut grid.starts, &mut grid.cell_of, &mut grid.number_in_cell
                    )
                )?;
                collectives::exclusive_scan_in_place(stream, &mut grid.starts, &mut grid.scan)?;
                let (cell_of, numbers, starts) = (&grid.cell_of, &grid.number_in_cell, &grid.starts);
                launch!(stream, grid::scatter<<<blocks, THREADS>>>(cell_of, numbers, starts, &mut grid.unordered))?;
                launch!(stream, grid::rank<<<blocks, THREADS>>>(cell_of, starts, &grid.unordered, &mut list.order))?;
            }
            if let Some(tree) = tree.as_mut() {
                tree.order(stream, source, (packing_of, offsets), frames, &mut list.order)?;
            }
            if let Some(scan) = &mut scene.piece_scan {
                let grid = blocks(rows);
                launch!(
                    stream,
                    transform::piece_counts::<T><<<grid, THREADS>>>(&list.order, shape_of, shapes, &mut *first_piece)
                )?;
                collectives::exclusive_scan_in_place(stream, &mut *first_piece, scan)?;
            }
            let source = SourceArgs { poses, shapes, quads, shape_of, first_piece: &*first_piece };
            let packing_of = if self.lattice.is_some() { &*packing_of } else { &none };
            let threads = if first_piece.is_empty() { rows.max(list.pieces.len()) } else { rows };
            let List { circles, places, nudges, pieces, order } = list;
            let ByPose { areas, gradients } = by_pose;
            let out = OutputsArgs { circles, places, nudges, pieces, wraps, areas, gradients };
            launch!(
                stream,
                transform::transform::<T><<<blocks(threads), transform::THREADS>>>(
                    source, &*order, packing_of, &*frames, with_wanted(Mode(0), wanted), out
                )
            )?;
            if let Some(tree) = tree {
                tree.build(stream, &list.circles)?;
            }
        }
        scene.sizes.prepared = true;
        Ok(())
    }

    /// Kernels of an evaluation without a grid, with a tree or without one, and of poses in a boundary that is scaled.
    pub fn kernels(&self, gradient: bool, tree: bool, scaled: bool) -> Vec<&'static KernelInfo> {
        let mut kernels = match (self.kernel, tree, gradient) {
            (OverlapKernel::Queue, false, false) => vec![queue::area::kernel::<T>()],
            (OverlapKernel::Queue, false, true) => vec![queue::gradient::kernel::<T>()],
            (OverlapKernel::Queue, true, false) => vec![queue::tree_area::kernel::<T>(), queue::add_rest::kernel::<T>()],
            (OverlapKernel::Queue, true, true) => vec![queue::tree_gradient::kernel::<T>(), queue::add_rest::kernel::<T>()],
            (OverlapKernel::Direct, ..) => vec![direct::direct::kernel::<T>()],
        };
        kernels.extend([transform::transform::kernel::<T>(), sums::sums::kernel::<T>()]);
        kernels.extend(self.region.as_ref().filter(|_| scaled).map(|(boundary, _)| match boundary.is_disk() {
            true => boundary::outside_disk::kernel::<T>(),
            false => boundary::outside::kernel::<T>(),
        }));
        kernels
    }

    /// Preloads the kernels of the evaluation of a scene.
    pub fn preload(&self, scene: &Scene<T>, wanted: Wanted) {
        self.device.preload(&self.kernels(wanted.gradient, scene.tree.is_some(), scene.sizes.scaled));
    }

    /// Returns the structure by which candidates are found: a grid, a tree, or one cell per
    /// packing.
    pub fn cells<'a>(
        &'a self,
        frames: &'a Buffer<Frame<T>>,
        offsets: &'a Buffer<u32>,
        grid: Option<&'a GridBuffers<T>>,
        tree: Option<&'a TreeBuffers<T>>,
    ) -> Cells<'a, T> {
        CellsArgs {
            frames,
            starts: grid.map_or(offsets, |grid| &grid.starts),
            boxes: tree.map_or(&self.shapes.no_boxes, |tree| &tree.boxes),
            leaves: tree.map_or(0, |tree| tree.leaves),
            parallels: &self.shapes.parallels,
        }
    }

    /// Enqueues phase two: rows against the candidates of `cells`, of the same or another scene.
    /// `candidates_out` gets the results of candidates that aren't the rows.
    ///
    /// # Safety
    /// The arrays fit each other: tiles are of rows and packings that exist, and both lists are of
    /// scenes that were prepared by this evaluator, with equally many packings. Results that `mode`
    /// asks for have room; those that are added to are zero.
    unsafe fn intersect(
        &self,
        stream: &Stream,
        rows: Rows<'_, T>,
        candidates: &List<T>,
        cells: Cells<'_, T>,
        mode: Mode,
        candidates_out: &mut ByPose<T>,
    ) -> Result<(), DeviceError> {
        if self.kernel == OverlapKernel::Queue && cells.leaves > 0 {
            // SAFETY: this function's contract, and there is a tree.
            return unsafe { self.intersect_by_tree(stream, rows, candidates, cells, mode, candidates_out) };
        }
        let Rows { list, tiles, packing_of, partial, by_pose, .. } = rows;
        let (n, out) = (list.order.len(), by_pose.sums(partial, candidates_out));
        let (list, candidates) = (list.argument(), candidates.argument());
        let warps = (tiles.len() as u32).div_ceil(queue::WARPS);
        // SAFETY: the arrays fit each other (this function's contract), and there is a warp for each tile, or a thread
        // for each row.
        unsafe {
            match self.kernel {
                OverlapKernel::Queue if mode.has(Mode::GRADIENT) => launch!(
                    stream,
                    queue::gradient::<T><<<warps, queue::WARPS * 32>>>(tiles, list, candidates, cells, mode, out)
                ),
                OverlapKernel::Queue => launch!(
                    stream,
                    queue::area::<T><<<warps, queue::WARPS * 32>>>(tiles, list, candidates, cells, mode, out)
                ),
                OverlapKernel::Direct => launch!(
                    stream,
                    direct::direct::<T><<<blocks(n), THREADS>>>(n as u32, list, candidates, packing_of, cells, mode, out)
                ),
            }
        }
    }

    /// Enqueues phase two by warps and a tree: first one warp per tile, then warps for the
    /// remaining rows.
    ///
    /// # Safety
    /// The same as for [`intersect`](Self::intersect); there is a tree.
    unsafe fn intersect_by_tree(
        &self,
        stream: &Stream,
        rows: Rows<'_, T>,
        candidates: &List<T>,
        cells: Cells<'_, T>,
        mode: Mode,
        candidates_out: &mut ByPose<T>,
    ) -> Result<(), DeviceError> {
        let Rows { list, tiles, partial, rest, by_pose, .. } = rows;
        rest.ensure(stream, tiles.len(), list.order.len())?;
        let for_tiles = (tiles.len() as u32).div_ceil(queue::WARPS);
        let for_rest = BLOCKS_OF_REST * self.device.info().multiprocessors.max(1);
        let threads = queue::WARPS * 32;
        // SAFETY: the arrays fit each other (this function's contract), and there is a warp for
        // each tile. There is room for all tiles in `rest`.
        unsafe {
            for (taken, blocks) in [(false, for_tiles), (true, for_rest)] {
                let (list, candidates) = (list.argument(), candidates.argument());
                let (out, rest) = (by_pose.sums(partial, candidates_out), rest.argument(taken));
                if mode.has(Mode::GRADIENT) {
                    launch!(
                        stream,
                        queue::tree_gradient::<T><<<blocks, threads>>>(tiles, list, candidates, cells, mode, out, rest)
                    )?;
                } else {
                    launch!(
                        stream,
                        queue::tree_area::<T><<<blocks, threads>>>(tiles, list, candidates, cells, mode, out, rest)
                    )?;
                }
            }
            launch!(stream, queue::add_rest::<T><<<1, 1024>>>(tiles, rest.argument(false), partial))
        }
    }

    /// Returns whether each pair is intersected twice, once for each pose.
    pub fn is_full(&self, wanted: Wanted) -> bool {
        self.deterministic && wanted != Wanted::TOTALS
    }

    /// Enqueues the overlaps within each packing of a prepared scene, by pose and by tile.
    pub fn overlaps(&self, stream: &Stream, scene: &mut Scene<T>, wanted: Wanted) -> Result<(), DeviceError> {
        let mode = if self.is_full(wanted) { Mode::FULL } else { Mode::HALF.with(Mode::CANDIDATES) };
        let Scene { list, frames, offsets, grid, tree, by_pose, nothing, partial, rest, tiles, packing_of, .. } = scene;
        let cells = self.cells(frames, offsets, grid.as_ref(), tree.as_ref());
        let mode = with_wanted(mode, wanted);
        let rows = Rows { list, tiles, packing_of, partial, rest, by_pose };
        // SAFETY: `prepare` has checked that the scene was loaded by this evaluator, for its shapes
        // and lattice, so that its arrays fit each other. Tiles are of rows and packings that
        // exist. Results by pose have room, and are zero if they are added to.
        unsafe { self.intersect(stream, rows, list, cells, mode, nothing) }
    }

    /// Enqueues phase two with the rows of one scene and the candidates of another.
    pub fn rows_of(
        &self,
        stream: &Stream,
        rows: &mut Scene<T>,
        candidates: &mut Scene<T>,
        wanted: Wanted,
        pass: Pass,
    ) -> Result<(), DeviceError> {
        let mode = if pass == Pass::Both { Mode::BETWEEN.with(Mode::CANDIDATES) } else { Mode::BETWEEN };
        let mode = with_wanted(mode, wanted);
        let Scene { frames, offsets, grid, tree, list: others, by_pose: out, .. } = candidates;
        let cells = self.cells(frames, offsets, grid.as_ref(), tree.as_ref());
        let Scene { list, tiles, packing_of, partial, rest, by_pose, .. } = &mut *rows;
        let own = Rows { list, tiles, packing_of, partial, rest, by_pose };
        // SAFETY: both scenes were prepared by this evaluator, for its shapes and lattice, and have
        // equally many packings, so that their arrays fit each other. Results by pose have room,
        // and are zero if they are added to.
        unsafe { self.intersect(stream, own, others, cells, mode, out) }
    }

    /// Enqueues the sums of the overlaps, by packing.
    pub fn total(&self, stream: &Stream, scene: &mut Scene<T>, factor: f64) -> Result<(), DeviceError> {
        let Scene { sizes, partial, offsets, tile_offsets, totals, .. } = scene;
        let (offsets, longest) = match self.kernel {
            OverlapKernel::Queue => (tile_offsets, sizes.most_tiles),
            OverlapKernel::Direct => (offsets, sizes.longest),
        };
        // SAFETY: there are as many partial sums as the offsets say.
        unsafe { sum_ranges(stream, partial, offsets, longest, T::from_f64(factor), totals) }
    }

    /// Enqueues the areas outside the boundary, by pose.
    pub fn outside(&self, stream: &Stream, scene: &mut Scene<T>) -> Result<(), DeviceError> {
        let Some((boundary, region)) = self.region.as_ref().filter(|_| scene.sizes.scaled) else { return Ok(()) };
        let n = scene.len();
        scene.outside.areas.ensure(n)?;
        scene.outside.gradients.ensure(3 * n)?;
        scene.outside.by_scale.ensure(n)?;
        let Scene { poses, scales, shape_of, first_piece, packing_of, list, outside, .. } = scene;
        let (poses, shape_of, first_piece) = (&*poses, &*shape_of, &*first_piece);
        let source = SourceArgs { poses, shapes: &self.shapes.spans, quads: &self.shapes.quads, shape_of, first_piece };
        let (order, grid) = (&list.order, blocks(list.order.len()));
        // SAFETY: the scene was prepared by this evaluator, for its shapes, so that its arrays fit each other; the
        // results have room for all poses. There is one scale, or one for each packing.
        unsafe {
            if boundary.is_disk() {
                launch!(
                    stream,
                    boundary::outside_disk::<T><<<grid, THREADS>>>(
                        order, source, list.argument(), &*packing_of, &*scales, outside.argument()
                    )
                )
            } else {
                launch!(
                    stream,
                    boundary::outside::<T><<<grid, THREADS>>>(
                        order, source, list.argument(), &*packing_of, &*scales, region.argument(), outside.argument()
                    )
                )
            }
        }
    }

    /// Enqueues the sums of the areas outside, by packing.
    pub fn total_outside(&self, stream: &Stream, scene: &mut Scene<T>) -> Result<(), DeviceError> {
        if self.region.is_none() || !scene.sizes.scaled {
            return Ok(());
        }
        let packings = scene.packings();
        scene.outside_totals.ensure(packings)?;
        scene.by_scale_totals.ensure(packings)?;
        let Scene { offsets, outside, sizes, .. } = scene;
        // SAFETY: `outside` has made room for a number for each pose, which are as many as the offsets say.
        unsafe {
            sum_ranges(stream, &outside.areas, offsets, sizes.longest, T::ONE, &mut scene.outside_totals)?;
            sum_ranges(stream, &outside.by_scale, offsets, sizes.longest, T::ONE, &mut scene.by_scale_totals)
        }
    }
}

/// The structure by which candidates are found.
type Cells<'a, T> = CellsArgs<&'a Buffer<Frame<T>>, &'a Buffer<u32>, &'a Buffer<Extent<T>>, u32, &'a Buffer<u32>>;

/// The rows of phase two.
struct Rows<'a, T: OverlapReal> {
    list: &'a List<T>,
    tiles: &'a Buffer<Tile>,
    packing_of: &'a Buffer<u32>,
    /// The sums of tiles or rows.
    partial: &'a mut Buffer<T>,
    rest: &'a mut Rest<T>,
    by_pose: &'a mut ByPose<T>,
}

/// Sets `out[i]` to `factor` times the sum of the values from `offsets[i]` to `offsets[i + 1]`.
///
/// # Safety
/// There are as many values, and one offset more than results.
unsafe fn sum_ranges<T: OverlapReal>(
    stream: &Stream,
    values: &Buffer<T>,
    offsets: &Buffer<u32>,
    longest: usize,
    factor: T,
    out: &mut Buffer<T>,
) -> Result<(), DeviceError> {
    let ranges = out.len() as u32;
    let threads = (longest.div_ceil(8).next_multiple_of(32) as u32).clamp(32, 1024);
    // SAFETY: the offsets are of the values, one more than results (this function's contract), and blocks are of whole
    // warps.
    unsafe { launch!(stream, sums::sums::<T><<<ranges, threads>>>(values, offsets, factor, out)) }
}

fn with_wanted(mode: Mode, wanted: Wanted) -> Mode {
    let mode = if wanted.per_pose { mode.with(Mode::PER_POSE) } else { mode };
    if wanted.gradient { mode.with(Mode::GRADIENT) } else { mode }
}

#[cfg(test)]
mod tests {
    use super::OverlapKernel::{self, Direct, Queue};

    #[test]
    fn pieces_that_warps_can_number() {
        let kernel = |pieces: [usize; 2]| OverlapKernel::of_pieces(Queue, &pieces);
        assert_eq!([[3, 131_000], [131_000, 131_001], [131_001, 3]].map(kernel), [Queue, Direct, Direct]);
    }
}

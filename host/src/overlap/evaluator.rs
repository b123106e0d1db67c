//! The evaluation of packings.

use std::{
    f64::consts::PI,
    sync::atomic::{AtomicU64, Ordering},
};

use cuda_std::I32x2;
use gpu_kernels::overlap::{
    boundary, clip, direct, grid,
    layout::{ANGLES, CellsArgs, Extent, Frame, MAX_SHIFT, Mode, ShapeSpan, Tile},
    queue, separate, sums,
    transform::{self, OutputsArgs, SourceArgs},
};

use super::{
    Boundary, Evaluation, Lattice, Outside, OverlapError, OverlapPair, OverlapReal, Packings, Point, Scene, Search, Shape,
    Wanted,
    buffers::{ByPose, List, Pairs, Region, Rest},
    lattice::length,
    pack::Separation,
    scene::{GridBuffers, check_count},
    search::{self, Around},
    tree::TreeBuffers,
};
use crate::{
    collectives,
    device::{Backend, Buffer, Device, DeviceError, Stream},
    launch,
};

/// From this many poses per packing on, candidates are found by a grid or a tree, unless [`Overlap::grid_from`] says
/// otherwise.
const GRID_FROM: usize = 4096;

/// Threads of a block of the kernels with a thread for each pose.
const THREADS: u32 = 128;

/// Blocks per multiprocessor for the rows that tiles leave: as many as run at a time.
const BLOCKS_OF_REST: u32 = 4;

fn blocks(n: usize) -> u32 {
    n.div_ceil(THREADS as usize) as u32
}

/// The kernels of phase two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverlapKernel {
    /// A warp for a tile of poses, with queues in shared memory: the GPUs' default.
    Queue,
    /// A thread for each pose: the CPU's default.
    Direct,
}

/// Overlaps of copies of shapes, on one device.
///
/// ```
/// use warpsmith::{device::Device, overlap::{Overlap, Packings, Shape, Wanted}};
///
/// let square = Shape::polygon("square", &[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])?;
/// let mut overlap = Overlap::<f64>::new(&Device::best()?, &[square])?;
/// // The second is half a length to the right of the first, and a quarter up; the third is far away.
/// let packings = Packings::one(vec![[0.0, 0.0, 0.0], [0.5, 0.25, 0.0], [7.0, 0.0, 0.3]])?;
/// let result = overlap.evaluate(&packings, Wanted::GRADIENT)?;
/// assert!((result.totals[0] - 0.5 * 0.75).abs() < 1e-15);
/// let [x, y, _] = result.gradient[1];
/// assert!((x + 0.75).abs() < 1e-15 && (y + 0.5).abs() < 1e-15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Accuracy
/// Areas are off by rounding alone: some ten units in the last place of the shape's squared extent for each pair of
/// pieces, however edges touch, and however far from the origin the poses are.
///
/// Derivatives are right to rounding, too. Where edges lie on one another, an area has two, to either side: both copies
/// get those to the same side. Where an edge comes within about 1e-9 of another or of a cut between pieces (1e-3 in
/// single precision; in units of the largest shape's extent) and is parallel to it, derivatives are those of poses
/// 1e-12 (1e-6) away.
///
/// # Order of sums
/// By default a pair of poses is intersected once, and what comes of it is added to either pose by atomics, in an order
/// that changes from run to run: gradients and sums by pose differ in the last bits (totals don't). With
/// [`deterministic`](Self::deterministic) each pose sums up its own, at the price of taking each pair twice.
#[derive(Debug)]
pub struct Overlap<T: OverlapReal> {
    device: Device,
    stream: Stream,
    shapes: Shapes<T>,
    region: Option<(Boundary, Region<T>)>,
    lattice: Option<Lattice>,
    deterministic: bool,
    kernel: OverlapKernel,
    grid_from: usize,
    search: Option<Search>,
    /// Which scenes are its own: those loaded since shapes and lattice are what they are.
    id: u64,
    /// What the last call of [`evaluate`](Self::evaluate) left.
    scene: Option<Scene<T>>,
}

/// The shapes on a device.
#[derive(Debug)]
pub(super) struct Shapes<T: OverlapReal> {
    spans: Buffer<ShapeSpan<T>>,
    quads: Buffer<clip::Point<T>>,
    /// The angles between copies at which sides may be parallel.
    parallels: Buffer<u32>,
    /// How many quads each has.
    pub counts: Vec<usize>,
    /// In place of a tree's boxes.
    no_boxes: Buffer<Extent<T>>,
    /// Their enclosing circles.
    pub around: Vec<Around>,
    /// The largest enclosing circle's diameter.
    reach: f64,
}

/// The angles of the sides of the shape's quads, from 0 to π.
fn angles(shape: &Shape) -> impl Iterator<Item = f64> + '_ {
    let sides = shape.quads().iter().flat_map(|quad| (0..4).map(|k| (quad[k], quad[(k + 1) % 4])));
    let sides = sides.filter(|(from, to)| from != to);
    sides.map(|(from, to)| (to[1] - from[1]).atan2(to[0] - from[0]).rem_euclid(PI))
}

/// [`parallel`](gpu_kernels::overlap::layout::parallel)'s bits: of the ranges that have an angle between any two sides.
/// All of them, where sides have so many directions that most would be set.
fn parallels<T: OverlapReal>(shapes: &[Shape]) -> Vec<u32> {
    let mut directions: Vec<f64> = shapes.iter().flat_map(angles).map(|angle| angle / PI).collect();
    directions.sort_by(f64::total_cmp);
    directions.dedup_by(|second, first| *second - *first < 1e-12);
    if directions.len() > 500 {
        return vec![u32::MAX; ANGLES as usize / 32];
    }
    // How far, in ranges, rounding may bring an angle of up to ten turns.
    let slack = f64::from(ANGLES) * (2f64.powi(-22) + 80.0 * T::UNIT_ROUNDOFF);
    let mut bits = vec![0; ANGLES as usize / 32];
    for first in &directions {
        for second in &directions {
            let between = (first - second) * f64::from(ANGLES);
            for range in (between - slack).floor() as i64..=(between + slack).floor() as i64 {
                let range = range.rem_euclid(i64::from(ANGLES));
                bits[range as usize / 32] |= 1 << (range % 32);
            }
        }
    }
    bits
}

/// The shortest vector whose part across each side of the shape's quads is at least 1.
fn across_sides(shape: &Shape) -> Point {
    let mut angles: Vec<f64> = angles(shape).collect();
    angles.sort_by(f64::total_cmp);
    // In the middle of the widest gap between directions, of which the first comes again after half a turn.
    angles.push(angles[0] + PI);
    let gaps = angles.windows(2).map(|pair| (pair[1] - pair[0], (pair[0] + pair[1]) / 2.0));
    let (gap, middle) = gaps.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((PI, 0.0));
    let length = 1.0 / (gap / 2.0).sin();
    [length * middle.cos(), length * middle.sin()]
}

fn points<T: OverlapReal>(points: impl IntoIterator<Item = Point>) -> Vec<clip::Point<T>> {
    points.into_iter().map(|[x, y]| clip::Point { x: T::from_f64(x), y: T::from_f64(y) }).collect()
}

impl<T: OverlapReal> Shapes<T> {
    /// Where the pieces of each of these shapes start, if they stand one after the other, and how many there are.
    pub fn first_pieces(&self, of_poses: &[u32]) -> (Vec<u32>, usize) {
        let mut next = 0;
        let first = of_poses.iter().map(|&shape| {
            let first = next as u32;
            next += self.counts[shape as usize];
            first
        });
        (first.collect(), next)
    }

    fn new(device: &Device, shapes: &[Shape]) -> Result<Self, OverlapError> {
        let mut first = 0;
        let extent = shapes.iter().map(|shape| length(shape.center()) + shape.radius()).fold(0.0, f64::max);
        let nudge = T::NUDGE * extent;
        let spans: Vec<ShapeSpan<T>> = shapes
            .iter()
            .map(|shape| {
                let span = ShapeSpan {
                    center: points([shape.center()])[0],
                    // Rounding may have moved vertices outwards.
                    radius: T::from_f64(shape.radius()) * (T::ONE + T::from_f64(8.0) * T::EPSILON),
                    nudge: points([across_sides(shape).map(|number| nudge * number)])[0],
                    area: T::from_f64(shape.area()),
                    first,
                    count: shape.quads().len() as u32,
                };
                first += span.count;
                span
            })
            .collect();
        Ok(Shapes {
            spans: device.upload(&spans)?,
            quads: device.upload(&points(shapes.iter().flat_map(|shape| shape.quads().as_flattened()).copied()))?,
            parallels: device.upload(&parallels::<T>(shapes))?,
            counts: shapes.iter().map(|shape| shape.quads().len()).collect(),
            no_boxes: device.empty(),
            around: shapes.iter().map(|shape| Around { center: shape.center(), radius: shape.radius() }).collect(),
            reach: 2.0 * shapes.iter().map(Shape::radius).fold(0.0, f64::max),
        })
    }
}

/// Whose results a pass gives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// The rows', and the candidates' by atomics.
    Both,
    /// The rows' alone.
    Rows,
}

impl<T: OverlapReal> Overlap<T> {
    /// Overlaps of copies of `shapes` on `device`.
    ///
    /// # Errors
    /// Device errors.
    pub fn new(device: &Device, shapes: &[Shape]) -> Result<Self, OverlapError> {
        Ok(Overlap {
            device: device.clone(),
            stream: device.stream()?,
            shapes: Shapes::new(device, shapes)?,
            region: None,
            lattice: None,
            deterministic: false,
            kernel: if device.backend() == Backend::Cuda { OverlapKernel::Queue } else { OverlapKernel::Direct },
            grid_from: GRID_FROM,
            search: None,
            id: next_id(),
            scene: None,
        })
    }

    /// Measures what is outside a boundary, too, wherever its scale is set.
    ///
    /// # Errors
    /// [`OverlapError::BoundaryInLattice`], device errors.
    pub fn boundary(mut self, boundary: Boundary) -> Result<Self, OverlapError> {
        if self.lattice.is_some() {
            return Err(OverlapError::BoundaryInLattice);
        }
        let half_planes: Vec<T> = boundary.half_planes().as_flattened().iter().map(|&number| T::from_f64(number)).collect();
        let region = Region {
            half_planes: self.device.upload(&half_planes)?,
            quads: self.device.upload(&points(boundary.quads().as_flattened().iter().copied()))?,
            strip: boundary.width().is_some(),
        };
        self.region = Some((boundary, region));
        self.scene = None;
        Ok(self)
    }

    /// Repeats every packing by a lattice.
    ///
    /// # Errors
    /// [`OverlapError::BoundaryInLattice`]; [`OverlapError::FineLattice`] where images of a pose too many cells away
    /// may meet another.
    pub fn lattice(mut self, lattice: Lattice) -> Result<Self, OverlapError> {
        if self.region.is_some() {
            return Err(OverlapError::BoundaryInLattice);
        }
        self.lattice = Some(lattice);
        self.id = next_id();
        let images = lattice.inverse().map(|row| self.periodic_reach() * length(row)).into_iter().fold(0.0, f64::max);
        if images.ceil() + 1.0 > f64::from(MAX_SHIFT) {
            return Err(OverlapError::FineLattice { images: images.ceil() as u64, most: MAX_SHIFT as u64 - 1 });
        }
        self.scene = None;
        Ok(self)
    }

    /// Whether results are to be the same bits at every run.
    pub fn deterministic(mut self, yes: bool) -> Self {
        self.deterministic = yes;
        self
    }

    /// Which kernels phase two uses.
    pub fn kernel(mut self, kernel: OverlapKernel) -> Self {
        self.kernel = kernel;
        self
    }

    /// From how many poses in a packing on candidates are found by a grid or a tree, rather than by looking at all.
    pub fn grid_from(mut self, poses: usize) -> Self {
        self.grid_from = poses;
        self.scene = None;
        self
    }

    /// Whether candidates are found by a grid or by a tree. Without it, [`load`](Self::load) and
    /// [`evaluate`](Self::evaluate) choose by the poses. The results are the same, but for the order of sums.
    pub fn search(mut self, search: Search) -> Self {
        self.search = Some(search);
        self.scene = None;
        self
    }

    /// How candidates are found in these packings; none, where all poses are.
    fn search_of(&self, packings: &Packings) -> Result<Option<Search>, OverlapError> {
        packings.check_shapes(self.shapes.counts.len())?;
        let largest = packings.offsets().windows(2).map(|range| range[1] - range[0]).max().unwrap_or(0);
        if largest < self.grid_from {
            return Ok(None);
        }
        // The choice, and the tree's size, reckon with where poses are.
        packings.check_positions::<T>()?;
        let Shapes { around, reach, .. } = &self.shapes;
        let choose = || search::choose::<T>(packings, around, *reach, self.lattice.as_ref(), self.grid_from);
        Ok(Some(self.search.unwrap_or_else(choose)))
    }

    /// Whether it measures what is outside a boundary.
    pub fn has_boundary(&self) -> bool {
        self.region.is_some()
    }

    /// The half-planes that poses are kept in, on the device: none where there is no boundary.
    pub(super) fn half_planes(&self) -> Option<&Buffer<T>> {
        self.region.as_ref().map(|(_, region)| &region.half_planes)
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The stream on which [`evaluate`](Self::evaluate) and its like do their work.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The largest distance at which poses in a lattice may overlap, with what rounding could do.
    fn periodic_reach(&self) -> f64 {
        let extent: f64 = self.lattice.map_or(0.0, |lattice| lattice.vectors().map(length).into_iter().sum());
        let epsilon = if size_of::<T>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON };
        self.shapes.reach * 1.000_01 + 32.0 * epsilon * (extent + self.shapes.reach)
    }

    /// The frame of each packing where it doesn't depend on the poses.
    fn frames(&self, scene: &Scene<T>) -> Vec<Frame<T>> {
        let zero = clip::Point { x: T::ZERO, y: T::ZERO };
        let plain = Frame {
            origin: zero,
            inverse: [zero; 2],
            lattice: [zero; 2],
            cells: [1, 1],
            reach: [0, 0],
            first_cell: 0,
            periodic: 0,
        };
        let mut first_cell = 0;
        let frame = |range: &[usize]| {
            let mut frame = Frame { first_cell, ..plain };
            let n = range[1] - range[0];
            // In a grid each packing has as many cells as poses, so that it can't have more than that.
            first_cell += if scene.grid.is_some() { n.max(1) as u32 } else { 1 };
            let Some(lattice) = self.lattice else { return frame };
            let inverse = lattice.inverse();
            let reach = self.periodic_reach();
            let mut cells = [1.0, 1.0];
            if scene.grid.is_some() {
                cells = search::cells_of_lattice(&lattice, reach, n);
            }
            for k in 0..2 {
                frame.cells[k] = cells[k] as u32;
                frame.reach[k] = (reach * length(inverse[k]) * cells[k]).ceil() as u32;
                frame.inverse[k] = points([inverse[k].map(|number| number * cells[k])])[0];
                frame.lattice[k] = points([lattice.vectors()[k]])[0];
            }
            frame.periodic = 1;
            frame
        };
        scene.sizes.offsets.windows(2).map(frame).collect()
    }

    /// Brings packings to the device, for [`enqueue`](Self::enqueue). Waits until they are there.
    ///
    /// # Errors
    /// [`OverlapError::UnknownShape`], [`OverlapError::TooFar`], [`OverlapError::TooMany`], device errors.
    pub fn load(&self, packings: &Packings) -> Result<Scene<T>, OverlapError> {
        let search = self.search_of(packings)?;
        self.load_with(packings, search)
    }

    fn load_with(&self, packings: &Packings, search: Option<Search>) -> Result<Scene<T>, OverlapError> {
        let mut scene = Scene::new(&self.device, &self.stream, packings, &self.shapes, search, self.id)?;
        let frames = self.frames(&scene);
        self.stream.upload(&mut scene.frames, &frames)?;
        if self.lattice.is_some() {
            scene.wraps.ensure(packings.poses().len())?;
        }
        Ok(scene)
    }

    /// Replaces the shapes of a scene's poses ([`Scene::set_shapes`]).
    pub(super) fn set_shapes(&self, stream: &Stream, scene: &mut Scene<T>, of_poses: &[u32]) -> Result<(), OverlapError> {
        if scene.owner != self.id {
            return Err(OverlapError::ForeignScene);
        }
        scene.set_shapes(stream, &self.shapes, of_poses)
    }

    /// Phase one, after the order by cells where there is a grid. Makes room for what is wanted by pose, and clears it.
    fn prepare(&self, stream: &Stream, scene: &mut Scene<T>, wanted: Wanted) -> Result<(), OverlapError> {
        if scene.owner != self.id {
            return Err(OverlapError::ForeignScene);
        }
        scene.ensure_by_pose(wanted)?;
        let reach = T::from_f64(self.shapes.reach);
        let Scene { poses, shape_of, first_piece, packing_of, offsets, frames, list, wraps, grid, tree, by_pose, .. } = scene;
        let (poses, shape_of, shapes, quads) = (&*poses, &*shape_of, &self.shapes.spans, &self.shapes.quads);
        let none = self.device.empty();
        // An order doesn't ask for pieces.
        let source = SourceArgs { poses, shapes, quads, shape_of, first_piece: &none };
        let (rows, packings) = (list.order.len(), frames.len() as u32);
        // SAFETY: the scene was loaded for these shapes and this lattice, so that its arrays are as long as they make
        // them, and its shapes and packings exist. A frame has as many cells at most as `capacity` has for its packing,
        // and as `starts` has room for. Every pose, row and piece has a thread.
        unsafe {
            if let Some(grid) = grid {
                if self.lattice.is_none() {
                    let extent = (grid::EXTENT_BLOCKS, packings);
                    launch!(stream, grid::extent::<T><<<extent, grid::EXTENT_THREADS>>>(source, &*offsets, &mut grid.extents))?;
                    launch!(
                        stream,
                        grid::frame::<T><<<packings, grid::EXTENT_BLOCKS>>>(&grid.extents, reach, &grid.capacity, &mut *frames)
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

    /// Where candidates are that are found by a grid, by a tree, or by looking at all.
    fn cells<'a>(
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

    /// Phase two: the rows of one scene, or of the same, against the candidates of `cells`. `candidates_out` is for
    /// candidates that aren't the rows.
    ///
    /// # Safety
    /// The arrays fit each other: tiles are of rows and packings that exist, and both lists are of scenes that were
    /// prepared by this evaluator, with equally many packings. What `mode` asks for has room, and is zero where it is
    /// added to.
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

    /// The same by warps and a tree: first those of tiles, then those of rows that others have left.
    ///
    /// # Safety
    /// As for [`intersect`](Self::intersect); there is a tree.
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
        // SAFETY: the arrays fit each other (this function's contract), and there is a warp for each tile. Each tile
        // leaves something once at most, for which there is room.
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

    /// Evaluates a scene, as far as it goes without waiting: its results are there once `stream` has come so far. They
    /// are the buffers that [`Scene`] lends, and what [`read`](Self::read) makes of them.
    ///
    /// What is outside the boundary is computed where there is one and its scales are set. Memory is allocated at the
    /// first call only.
    ///
    /// # Errors
    /// [`OverlapError::ForeignScene`], device errors.
    pub fn enqueue(&self, stream: &Stream, scene: &mut Scene<T>, wanted: Wanted) -> Result<(), OverlapError> {
        self.prepare(stream, scene, wanted)?;
        self.overlaps(stream, scene, wanted)?;
        // There is twice each area; and each pair twice, where it was taken twice.
        self.total(stream, scene, if self.is_full(wanted) { 0.25 } else { 0.5 })?;
        self.outside(stream, scene)?;
        self.total_outside(stream, scene)?;
        Ok(())
    }

    /// As much of [`enqueue`](Self::enqueue) as a descent needs: derivatives by pose, without totals. Those of what is
    /// outside are found on the second stream, for which the first one waits.
    pub(super) fn enqueue_slopes(&self, [stream, beside]: [&Stream; 2], scene: &mut Scene<T>) -> Result<(), OverlapError> {
        self.prepare(stream, scene, Wanted::GRADIENT)?;
        beside.wait_for(stream)?;
        self.outside(beside, scene)?;
        self.overlaps(stream, scene, Wanted::GRADIENT)?;
        Ok(stream.wait_for(beside)?)
    }

    /// Whether each pair is taken twice, once for either pose.
    fn is_full(&self, wanted: Wanted) -> bool {
        self.deterministic && wanted != Wanted::TOTALS
    }

    /// Overlaps within each packing of a scene that is prepared, by pose and by tile.
    fn overlaps(&self, stream: &Stream, scene: &mut Scene<T>, wanted: Wanted) -> Result<(), DeviceError> {
        let mode = if self.is_full(wanted) { Mode::FULL } else { Mode::HALF.with(Mode::CANDIDATES) };
        let Scene { list, frames, offsets, grid, tree, by_pose, nothing, partial, rest, tiles, packing_of, .. } = scene;
        let cells = self.cells(frames, offsets, grid.as_ref(), tree.as_ref());
        let mode = with_wanted(mode, wanted);
        let rows = Rows { list, tiles, packing_of, partial, rest, by_pose };
        // SAFETY: `prepare` has checked that the scene was loaded by this evaluator, for its shapes and lattice, so
        // that its arrays fit each other. Tiles are of rows and packings that exist. What is wanted by pose has room,
        // and is zero where it is added to.
        unsafe { self.intersect(stream, rows, list, cells, mode, nothing) }
    }

    /// Evaluates the overlaps of each packing of `first` with the packing of `second` of the same number, as
    /// [`enqueue`](Self::enqueue) does within one. Both scenes get the totals.
    ///
    /// # Errors
    /// [`OverlapError::PackingCount`], [`OverlapError::ForeignScene`], device errors.
    pub fn enqueue_between(
        &self,
        stream: &Stream,
        first: &mut Scene<T>,
        second: &mut Scene<T>,
        wanted: Wanted,
    ) -> Result<(), OverlapError> {
        check_packings(first.packings(), second.packings())?;
        for scene in [&mut *first, &mut *second] {
            self.prepare(stream, scene, wanted)?;
        }
        let apart = self.is_full(wanted);
        self.rows_of(stream, first, second, wanted, if apart { Pass::Rows } else { Pass::Both })?;
        self.total(stream, first, 0.5)?;
        if apart {
            self.rows_of(stream, second, first, wanted, Pass::Rows)?;
            self.total(stream, second, 0.5)?;
        } else {
            stream.copy(&first.totals, &mut second.totals)?;
        }
        for scene in [first, second] {
            self.outside(stream, scene)?;
            self.total_outside(stream, scene)?;
        }
        Ok(())
    }

    /// As [`enqueue_slopes`](Self::enqueue_slopes) of `scene` among the poses of `others` alone, which are taken as
    /// they were at their last evaluation.
    ///
    /// # Panics
    /// Where `others` was never evaluated.
    pub(super) fn enqueue_slopes_among(
        &self,
        [stream, beside]: [&Stream; 2],
        scene: &mut Scene<T>,
        others: &mut Scene<T>,
    ) -> Result<(), OverlapError> {
        check_packings(scene.packings(), others.packings())?;
        if others.owner != self.id {
            return Err(OverlapError::ForeignScene);
        }
        assert!(others.sizes.prepared, "a scene without an evaluation");
        self.prepare(stream, scene, Wanted::GRADIENT)?;
        beside.wait_for(stream)?;
        self.outside(beside, scene)?;
        self.rows_of(stream, scene, others, Wanted::GRADIENT, Pass::Rows)?;
        Ok(stream.wait_for(beside)?)
    }

    /// Takes each packing's copies apart, in so many rounds, and makes its container smaller by its factor whenever they
    /// are. The record has the best that came of it; the scene has what the search has come to.
    ///
    /// # Panics
    /// Where the record is of another scene, or there is no boundary, or it has no scales.
    pub(super) fn enqueue_separate(
        &self,
        stream: &Stream,
        scene: &mut Scene<T>,
        record: &mut Separation<T>,
        rounds: u32,
        seed: u64,
    ) -> Result<(), OverlapError>
    where
        T: separate::separate::Instance,
    {
        self.prepare(stream, scene, Wanted::TOTALS)?;
        let packings = scene.packings();
        assert!(record.fits(&scene.sizes.offsets) && scene.scales.len() == packings, "a record of another scene");
        assert!(scene.grid.is_none() && scene.tree.is_none() && self.lattice.is_none(), "a scene in another order");
        let (_, region) = self.region.as_ref().ok_or(OverlapError::NoBoundary)?;
        let Scene { poses, scales, shape_of, first_piece, offsets, list, .. } = scene;
        let nothing = self.device.empty();
        let (shape_of, first_piece) = (&*shape_of, &*first_piece);
        let source = SourceArgs { poses: &nothing, shapes: &self.shapes.spans, quads: &self.shapes.quads, shape_of, first_piece };
        let strip = u32::from(region.strip);
        let Separation { longest, extent, factors, angles, fresh, .. } = record;
        let (longest, angles, fresh) = (*longest as u32, *angles, u32::from(std::mem::take(fresh)));
        let (offsets, half_planes) = (&*offsets, &region.half_planes);
        let (extent, factors) = (&*extent, &*factors);
        let args = separate::PackingsArgs { offsets, longest, half_planes, extent, strip, angles, factors };
        let List { circles, places, pieces, .. } = list;
        let copies = separate::CopiesArgs { poses, circles, places, pieces, scales };
        let Separation { overlaps, weights, poses, scales, least, .. } = record;
        // One thread for a place does the same work in fewer switches.
        let parts = if self.device.backend() == Backend::Cuda { separate::MOST_PARTS } else { 1 };
        let threads = parts * separate::PLACES;
        let kept = separate::RecordArgs { overlaps, weights, poses, scales, least };
        // SAFETY: phase one was just done, by the order of poses, as there is neither a grid nor a tree nor a lattice. The
        // record fits the scene, as was just checked, and so has as many numbers as its packings and their longest need;
        // the longest has at most `MOST_COPIES`. Poses of the source aren't used.
        unsafe {
            launch!(
                stream,
                separate::separate::<T><<<packings as u32, threads>>>(source, args, copies, kept, rounds, seed, fresh)
            )?;
        }
        Ok(())
    }

    /// Phase two with the rows of one scene and the candidates of another.
    fn rows_of(
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
        // SAFETY: both scenes were prepared by this evaluator, for its shapes and lattice, and have equally many
        // packings, so that their arrays fit each other. What is wanted by pose has room, and is zero where it is added
        // to.
        unsafe { self.intersect(stream, own, others, cells, mode, out) }
    }

    /// Sums up what phase two left, by packing.
    fn total(&self, stream: &Stream, scene: &mut Scene<T>, factor: f64) -> Result<(), DeviceError> {
        let Scene { sizes, partial, offsets, tile_offsets, totals, .. } = scene;
        let (offsets, longest) = match self.kernel {
            OverlapKernel::Queue => (tile_offsets, sizes.most_tiles),
            OverlapKernel::Direct => (offsets, sizes.longest),
        };
        // SAFETY: there are as many partial sums as the offsets say.
        unsafe { sum_ranges(stream, partial, offsets, longest, T::from_f64(factor), totals) }
    }

    /// What is outside the boundary, by pose.
    fn outside(&self, stream: &Stream, scene: &mut Scene<T>) -> Result<(), DeviceError> {
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

    /// Sums it up, by packing.
    fn total_outside(&self, stream: &Stream, scene: &mut Scene<T>) -> Result<(), DeviceError> {
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

    /// What the last evaluation of a scene gave. Waits for `stream`.
    ///
    /// # Errors
    /// Device errors.
    pub fn read(&self, stream: &Stream, scene: &Scene<T>, wanted: Wanted) -> Result<Evaluation<T>, OverlapError> {
        let read = |buffer: &Buffer<T>| stream.download_vec(buffer);
        Ok(Evaluation {
            totals: read(&scene.totals)?,
            per_pose: if wanted.per_pose { read(&scene.by_pose.areas)? } else { Vec::new() },
            gradient: if wanted.gradient { as_triples(read(&scene.by_pose.gradients)?) } else { Vec::new() },
            outside: if self.region.is_some() && scene.sizes.scaled {
                Some(Outside {
                    totals: read(&scene.outside_totals)?,
                    by_scale: read(&scene.by_scale_totals)?,
                    per_pose: read(&scene.outside.areas)?,
                    gradient: as_triples(read(&scene.outside.gradients)?),
                })
            } else {
                None
            },
        })
    }

    /// A scene of these packings: the last one, if it fits them, and they are to be searched in the same way.
    fn scene(&mut self, packings: &Packings) -> Result<Scene<T>, OverlapError> {
        let search = self.search_of(packings)?;
        match self.scene.take() {
            Some(mut scene) if scene.fits(packings) && scene.sizes.search == search => {
                scene.set_poses(&self.stream, packings)?;
                scene.sizes.scaled = false;
                Ok(scene)
            }
            _ => self.load_with(packings, search),
        }
    }

    /// The overlaps within each packing.
    ///
    /// # Errors
    /// [`OverlapError::UnknownShape`], [`OverlapError::TooFar`], [`OverlapError::TooMany`], device errors.
    pub fn evaluate(&mut self, packings: &Packings, wanted: Wanted) -> Result<Evaluation<T>, OverlapError> {
        let mut scene = self.scene(packings)?;
        self.enqueue(&self.stream, &mut scene, wanted)?;
        let result = self.read(&self.stream, &scene, wanted);
        self.scene = Some(scene);
        result
    }

    /// The overlaps within each packing, and what is outside the boundary, whose scale is `scales[0]` for all, or one
    /// for each packing.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate); [`OverlapError::NoBoundary`], [`OverlapError::Scale`],
    /// [`OverlapError::ScaleCount`].
    pub fn evaluate_within(
        &mut self,
        packings: &Packings,
        scales: &[f64],
        wanted: Wanted,
    ) -> Result<Evaluation<T>, OverlapError> {
        if self.region.is_none() {
            return Err(OverlapError::NoBoundary);
        }
        let mut scene = self.scene(packings)?;
        scene.set_scales(&self.stream, scales)?;
        self.enqueue(&self.stream, &mut scene, wanted)?;
        let result = self.read(&self.stream, &scene, wanted);
        self.scene = Some(scene);
        result
    }

    /// The overlaps of each packing of `first` with the packing of `second` of the same number. Both results have the
    /// totals; sums by pose and gradients are each list's own.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate), and [`OverlapError::PackingCount`].
    pub fn evaluate_between(
        &self,
        first: &Packings,
        second: &Packings,
        wanted: Wanted,
    ) -> Result<(Evaluation<T>, Evaluation<T>), OverlapError> {
        check_packings(first.len(), second.len())?;
        let (mut first, mut second) = (self.load(first)?, self.load(second)?);
        self.enqueue_between(&self.stream, &mut first, &mut second, wanted)?;
        Ok((self.read(&self.stream, &first, wanted)?, self.read(&self.stream, &second, wanted)?))
    }

    /// The pairs that overlap within each packing, in order of packing, first, second and shift.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate).
    pub fn pairs(&self, packings: &Packings) -> Result<Vec<OverlapPair<T>>, OverlapError> {
        let mut scene = self.load(packings)?;
        self.prepare(&self.stream, &mut scene, Wanted::TOTALS)?;
        self.list_pairs(&scene, &scene, Mode::HALF)
    }

    /// The pairs that overlap of each packing of `first` and the packing of `second` of the same number, in the same
    /// order.
    ///
    /// # Errors
    /// As [`evaluate_between`](Self::evaluate_between).
    pub fn pairs_between(&self, first: &Packings, second: &Packings) -> Result<Vec<OverlapPair<T>>, OverlapError> {
        check_packings(first.len(), second.len())?;
        let (mut first, mut second) = (self.load(first)?, self.load(second)?);
        for scene in [&mut first, &mut second] {
            self.prepare(&self.stream, scene, Wanted::TOTALS)?;
        }
        self.list_pairs(&first, &second, Mode::BETWEEN)
    }

    fn list_pairs(&self, rows: &Scene<T>, candidates: &Scene<T>, mode: Mode) -> Result<Vec<OverlapPair<T>>, OverlapError> {
        let stream = &self.stream;
        let Scene { frames, offsets, grid, tree, .. } = candidates;
        let cells = self.cells(frames, offsets, grid.as_ref(), tree.as_ref());
        let (n, grid) = (rows.list.order.len() as u32, blocks(rows.list.order.len()));
        let mut capacity = 4 * rows.len() + 1024;
        let mut out =
            Pairs { count: self.device.alloc(1)?, pairs: self.device.alloc(capacity)?, areas: self.device.alloc(capacity)? };
        let count = loop {
            stream.fill_zero(&mut out.count)?;
            // SAFETY: both scenes were prepared by this evaluator, for its shapes and lattice, and have equally many
            // packings, so that their arrays fit each other. `out` has room for `capacity` pairs.
            unsafe {
                launch!(
                    stream,
                    direct::pairs::<T><<<grid, THREADS>>>(
                        n, rows.list.argument(), candidates.list.argument(), &rows.packing_of, cells, mode, out.argument()
                    )
                )?;
            }
            let count = stream.download_vec(&out.count)?[0] as usize;
            check_count("pairs", count)?;
            if count <= capacity {
                break count;
            }
            capacity = count;
            out.pairs.ensure(capacity)?;
            out.areas.ensure(capacity)?;
        };
        let pairs = stream.download_vec(out.pairs.view(..count)?)?;
        let areas = stream.download_vec(out.areas.view(..count)?)?;
        let row_wraps = stream.download_vec(&rows.wraps)?;
        let candidate_wraps = stream.download_vec(&candidates.wraps)?;
        let wrap = |wraps: &[I32x2], pose: i32| wraps.get(pose as usize).map_or([0; 2], |&wrap| wrap.into());
        let offsets = &rows.sizes.offsets;
        let mut pairs: Vec<OverlapPair<T>> = pairs
            .into_iter()
            .zip(areas)
            .map(|(pair, area)| {
                let packing = offsets.partition_point(|&offset| offset <= pair.x as usize) - 1;
                let first = pair.x as usize - offsets[packing];
                let second = pair.y as usize - candidates.sizes.offsets[packing];
                // Between the poses as they were given, rather than brought into the lattice's cell.
                let (taken, others) = (wrap(&row_wraps, pair.x), wrap(&candidate_wraps, pair.y));
                let shift = [pair.z + taken[0] - others[0], pair.w + taken[1] - others[1]];
                let pair = OverlapPair { packing, first, second, shift, area };
                let back = OverlapPair { first: second, second: first, shift: shift.map(|count| -count), ..pair };
                let turned = mode == Mode::HALF && (first, [0; 2]) > (second, shift);
                if turned { back } else { pair }
            })
            .collect();
        pairs.sort_unstable_by_key(|pair| (pair.packing, pair.first, pair.second, pair.shift));
        Ok(pairs)
    }
}

/// Where candidates are.
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

/// `out[i]` is `factor` times the sum of the values from `offsets[i]` to `offsets[i + 1]`.
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

/// A number that no evaluator has had.
fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn with_wanted(mode: Mode, wanted: Wanted) -> Mode {
    let mode = if wanted.per_pose { mode.with(Mode::PER_POSE) } else { mode };
    if wanted.gradient { mode.with(Mode::GRADIENT) } else { mode }
}

fn as_triples<T: OverlapReal>(numbers: Vec<T>) -> Vec<[T; 3]> {
    numbers.as_chunks().0.to_vec()
}

fn check_packings(first: usize, second: usize) -> Result<(), OverlapError> {
    if first == second { Ok(()) } else { Err(OverlapError::PackingCount { first, second }) }
}

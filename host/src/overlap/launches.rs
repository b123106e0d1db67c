//! The kernels that exist once for each precision, behind one trait.

use cuda_std::{I32x2, I32x4};
use gpu_kernels::overlap::{
    Scalar, boundary,
    clip::Point,
    direct, grid,
    layout::{Circle, Frame, Mode, Piece, Place, ShapeSpan, Tile},
    queue, sums, transform,
};

use crate::{
    device::{Buffer, DeviceError, Stream},
    launch,
};

/// Threads of a block of the kernels with a thread for each pose.
const THREADS: u32 = 128;

/// What poses are made of.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a, T: Scalar> {
    pub poses: &'a Buffer<T>,
    pub shapes: &'a Buffer<ShapeSpan<T>>,
    pub quads: &'a Buffer<Point<T>>,
    pub shape_of: &'a Buffer<u32>,
    pub first_piece: &'a Buffer<u32>,
}

/// Poses after phase one.
#[derive(Debug)]
pub struct List<T: Scalar> {
    pub circles: Buffer<Circle<T>>,
    pub places: Buffer<Place<T>>,
    pub pieces: Buffer<Piece<T>>,
    pub order: Buffer<u32>,
}

/// Where candidates are.
#[derive(Clone, Copy, Debug)]
pub struct Cells<'a, T: Scalar> {
    pub frames: &'a Buffer<Frame<T>>,
    pub starts: &'a Buffer<u32>,
}

/// Sums by pose.
#[derive(Debug)]
pub struct ByPose<T: Scalar> {
    pub areas: Buffer<T>,
    pub gradients: Buffer<T>,
}

/// Where pairs go.
#[derive(Debug)]
pub struct Pairs<T: Scalar> {
    pub count: Buffer<u32>,
    pub pairs: Buffer<I32x4>,
    pub areas: Buffer<T>,
}

/// A boundary on a device.
#[derive(Debug)]
pub struct Region<T: Scalar> {
    pub half_planes: Buffer<T>,
    pub quads: Buffer<Point<T>>,
}

/// What is outside, by pose.
#[derive(Debug)]
pub struct OutsideByPose<T: Scalar> {
    pub areas: Buffer<T>,
    pub gradients: Buffer<T>,
    pub by_scale: Buffer<T>,
}

fn blocks(n: usize) -> u32 {
    n.div_ceil(THREADS as usize) as u32
}

/// The kernels of one precision.
///
/// # Safety
/// The arrays of a call fit each other as its kernel asks: there are as many rows, pieces, poses and packings as others
/// refer to, and room for the results.
#[allow(clippy::missing_safety_doc, clippy::too_many_arguments)]
pub trait Launches: Scalar {
    /// Phase one, by `list.order`. Clears what is to be of the sums by pose.
    unsafe fn transform(
        stream: &Stream,
        source: Source<'_, Self>,
        packing_of: Option<&Buffer<u32>>,
        frames: &Buffer<Frame<Self>>,
        list: &mut List<Self>,
        wraps: &mut Buffer<I32x2>,
        clear: Mode,
        by_pose: &mut ByPose<Self>,
    ) -> Result<(), DeviceError>;
    /// Phase two by [`queue`]. `out` is for candidates that aren't the rows.
    unsafe fn queue(
        stream: &Stream,
        tiles: &Buffer<Tile>,
        rows: &List<Self>,
        candidates: &List<Self>,
        cells: Cells<'_, Self>,
        mode: Mode,
        partial: &mut Buffer<Self>,
        rows_out: &mut ByPose<Self>,
        out: &mut ByPose<Self>,
    ) -> Result<(), DeviceError>;
    /// Phase two by [`direct`]. `out` is for candidates that aren't the rows.
    unsafe fn direct(
        stream: &Stream,
        packing_of: &Buffer<u32>,
        rows: &List<Self>,
        candidates: &List<Self>,
        cells: Cells<'_, Self>,
        mode: Mode,
        partial: &mut Buffer<Self>,
        rows_out: &mut ByPose<Self>,
        out: &mut ByPose<Self>,
    ) -> Result<(), DeviceError>;
    /// The overlapping pairs.
    unsafe fn pairs(
        stream: &Stream,
        packing_of: &Buffer<u32>,
        rows: &List<Self>,
        candidates: &List<Self>,
        cells: Cells<'_, Self>,
        mode: Mode,
        out: &mut Pairs<Self>,
    ) -> Result<(), DeviceError>;
    /// What is outside of a region.
    unsafe fn outside(
        stream: &Stream,
        source: Source<'_, Self>,
        list: &List<Self>,
        packing_of: &Buffer<u32>,
        scales: &Buffer<Self>,
        region: &Region<Self>,
        out: &mut OutsideByPose<Self>,
    ) -> Result<(), DeviceError>;
    /// Sums of ranges.
    unsafe fn sums(
        stream: &Stream,
        values: &Buffer<Self>,
        offsets: &Buffer<u32>,
        longest: usize,
        factor: Self,
        out: &mut Buffer<Self>,
    ) -> Result<(), DeviceError>;
    /// The packings' extents, and their frames from these.
    unsafe fn frames(
        stream: &Stream,
        source: Source<'_, Self>,
        offsets: &Buffer<u32>,
        reach: Self,
        capacity: &Buffer<u32>,
        extents: &mut Buffer<Self>,
        frames: &mut Buffer<Frame<Self>>,
    ) -> Result<(), DeviceError>;
    /// The poses' cells.
    unsafe fn bin(
        stream: &Stream,
        source: Source<'_, Self>,
        packing_of: &Buffer<u32>,
        frames: &Buffer<Frame<Self>>,
        counts: &mut Buffer<u32>,
        cell_of: &mut Buffer<u32>,
        number_in_cell: &mut Buffer<u32>,
    ) -> Result<(), DeviceError>;
}

macro_rules! launches {
    (
        $t:ident: $transform:ident $area:ident $gradient:ident $direct:ident $pairs:ident $outside:ident $sums:ident
        $extent:ident $frame:ident $bin:ident
    ) => {
        impl Launches for $t {
            unsafe fn transform(
                stream: &Stream,
                source: Source<'_, $t>,
                packing_of: Option<&Buffer<u32>>,
                frames: &Buffer<Frame<$t>>,
                list: &mut List<$t>,
                wraps: &mut Buffer<I32x2>,
                clear: Mode,
                by_pose: &mut ByPose<$t>,
            ) -> Result<(), DeviceError> {
                let none = stream.device().empty();
                let rows = list.order.len();
                let threads = if source.first_piece.is_empty() { rows.max(list.pieces.len()) } else { rows };
                let packing_of = packing_of.unwrap_or(&none);
                // SAFETY: the arrays fit each other (this method's contract), and there is a thread for each row.
                unsafe {
                    launch!(
                        stream,
                        transform::$transform<<<blocks(threads), transform::THREADS>>>(
                            source.poses,
                            source.shapes,
                            source.quads,
                            source.shape_of,
                            source.first_piece,
                            &list.order,
                            packing_of,
                            frames,
                            &mut list.circles,
                            &mut list.places,
                            &mut list.pieces,
                            wraps,
                            clear.0,
                            &mut by_pose.areas,
                            &mut by_pose.gradients
                        )
                    )
                }
            }

            unsafe fn queue(
                stream: &Stream,
                tiles: &Buffer<Tile>,
                rows: &List<$t>,
                candidates: &List<$t>,
                cells: Cells<'_, $t>,
                mode: Mode,
                partial: &mut Buffer<$t>,
                rows_out: &mut ByPose<$t>,
                out: &mut ByPose<$t>,
            ) -> Result<(), DeviceError> {
                let blocks = (tiles.len() as u32).div_ceil(queue::WARPS);
                // SAFETY: the arrays fit each other (this method's contract), and there is a warp for each tile.
                unsafe {
                    if mode.has(Mode::GRADIENT) {
                        launch!(
                            stream,
                            queue::$gradient<<<blocks, queue::WARPS * 32>>>(
                                tiles,
                                &rows.circles,
                                &rows.places,
                                &rows.pieces,
                                &rows.order,
                                &candidates.circles,
                                &candidates.places,
                                &candidates.pieces,
                                &candidates.order,
                                cells.frames,
                                cells.starts,
                                mode.0,
                                partial,
                                &mut rows_out.areas,
                                &mut rows_out.gradients,
                                &mut out.areas,
                                &mut out.gradients
                            )
                        )
                    } else {
                        launch!(
                            stream,
                            queue::$area<<<blocks, queue::WARPS * 32>>>(
                                tiles,
                                &rows.circles,
                                &rows.places,
                                &rows.pieces,
                                &rows.order,
                                &candidates.circles,
                                &candidates.places,
                                &candidates.pieces,
                                &candidates.order,
                                cells.frames,
                                cells.starts,
                                mode.0,
                                partial,
                                &mut rows_out.areas,
                                &mut rows_out.gradients,
                                &mut out.areas,
                                &mut out.gradients
                            )
                        )
                    }
                }
            }

            unsafe fn direct(
                stream: &Stream,
                packing_of: &Buffer<u32>,
                rows: &List<$t>,
                candidates: &List<$t>,
                cells: Cells<'_, $t>,
                mode: Mode,
                partial: &mut Buffer<$t>,
                rows_out: &mut ByPose<$t>,
                out: &mut ByPose<$t>,
            ) -> Result<(), DeviceError> {
                // SAFETY: the arrays fit each other (this method's contract), and there is a thread for each row.
                unsafe {
                    launch!(
                        stream,
                        direct::$direct<<<blocks(rows.order.len()), THREADS>>>(
                            rows.order.len() as u32,
                            &rows.circles,
                            &rows.places,
                            &rows.pieces,
                            &rows.order,
                            &candidates.circles,
                            &candidates.places,
                            &candidates.pieces,
                            &candidates.order,
                            packing_of,
                            cells.frames,
                            cells.starts,
                            mode.0,
                            partial,
                            &mut rows_out.areas,
                            &mut rows_out.gradients,
                            &mut out.areas,
                            &mut out.gradients
                        )
                    )
                }
            }

            unsafe fn pairs(
                stream: &Stream,
                packing_of: &Buffer<u32>,
                rows: &List<$t>,
                candidates: &List<$t>,
                cells: Cells<'_, $t>,
                mode: Mode,
                out: &mut Pairs<$t>,
            ) -> Result<(), DeviceError> {
                // SAFETY: the arrays fit each other (this method's contract), and there is a thread for each row.
                unsafe {
                    launch!(
                        stream,
                        direct::$pairs<<<blocks(rows.order.len()), THREADS>>>(
                            rows.order.len() as u32,
                            &rows.circles,
                            &rows.places,
                            &rows.pieces,
                            &rows.order,
                            &candidates.circles,
                            &candidates.places,
                            &candidates.pieces,
                            &candidates.order,
                            packing_of,
                            cells.frames,
                            cells.starts,
                            mode.0,
                            out.pairs.len() as u32,
                            &mut out.count,
                            &mut out.pairs,
                            &mut out.areas
                        )
                    )
                }
            }

            unsafe fn outside(
                stream: &Stream,
                source: Source<'_, $t>,
                list: &List<$t>,
                packing_of: &Buffer<u32>,
                scales: &Buffer<$t>,
                region: &Region<$t>,
                out: &mut OutsideByPose<$t>,
            ) -> Result<(), DeviceError> {
                // SAFETY: the arrays fit each other (this method's contract), and there is a thread for each row.
                unsafe {
                    launch!(
                        stream,
                        boundary::$outside<<<blocks(list.order.len()), THREADS>>>(
                            &list.order,
                            source.poses,
                            source.shapes,
                            source.shape_of,
                            &list.circles,
                            &list.places,
                            &list.pieces,
                            packing_of,
                            scales,
                            &region.half_planes,
                            &region.quads,
                            &mut out.areas,
                            &mut out.gradients,
                            &mut out.by_scale
                        )
                    )
                }
            }

            unsafe fn sums(
                stream: &Stream,
                values: &Buffer<$t>,
                offsets: &Buffer<u32>,
                longest: usize,
                factor: $t,
                out: &mut Buffer<$t>,
            ) -> Result<(), DeviceError> {
                let ranges = out.len() as u32;
                let threads = (longest.div_ceil(8).next_multiple_of(32) as u32).clamp(32, 1024);
                // SAFETY: the offsets are of `values`, one more than results (this method's contract), and blocks are
                // of whole warps.
                unsafe { launch!(stream, sums::$sums<<<ranges, threads>>>(values, offsets, factor, out)) }
            }

            unsafe fn frames(
                stream: &Stream,
                source: Source<'_, $t>,
                offsets: &Buffer<u32>,
                reach: $t,
                capacity: &Buffer<u32>,
                extents: &mut Buffer<$t>,
                frames: &mut Buffer<Frame<$t>>,
            ) -> Result<(), DeviceError> {
                let packings = frames.len();
                let extent = (grid::EXTENT_BLOCKS, packings as u32);
                // SAFETY: the arrays fit each other, with room for each packing's extents (this method's contract).
                unsafe {
                    launch!(
                        stream,
                        grid::$extent<<<extent, grid::EXTENT_THREADS>>>(
                            source.poses,
                            source.shapes,
                            source.shape_of,
                            offsets,
                            &mut *extents
                        )
                    )?;
                    launch!(stream, grid::$frame<<<packings as u32, grid::EXTENT_BLOCKS>>>(&*extents, reach, capacity, frames))
                }
            }

            unsafe fn bin(
                stream: &Stream,
                source: Source<'_, $t>,
                packing_of: &Buffer<u32>,
                frames: &Buffer<Frame<$t>>,
                counts: &mut Buffer<u32>,
                cell_of: &mut Buffer<u32>,
                number_in_cell: &mut Buffer<u32>,
            ) -> Result<(), DeviceError> {
                let n = cell_of.len();
                // SAFETY: the arrays fit each other (this method's contract), and there is a thread for each pose.
                unsafe {
                    launch!(
                        stream,
                        grid::$bin<<<blocks(n), THREADS>>>(
                            n as u32,
                            source.poses,
                            source.shapes,
                            source.shape_of,
                            packing_of,
                            frames,
                            counts,
                            cell_of,
                            number_in_cell
                        )
                    )
                }
            }
        }
    };
}
launches!(
    f32: transform_f32 area_f32 gradient_f32 direct_f32 pairs_f32 outside_f32 sums_f32
    extent_f32 frame_f32 bin_f32
);
launches!(
    f64: transform_f64 area_f64 gradient_f64 direct_f64 pairs_f64 outside_f64 sums_f64
    extent_f64 frame_f64 bin_f64
);

/// Brings poses to their cells, and ranks them there: `order`.
///
/// # Safety
/// Cells and numbers are what [`Launches::bin`] gave, `starts` are the sums of its counts before each cell, and `list`
/// and `order` have room for all poses.
pub unsafe fn order_by_cell(
    stream: &Stream,
    cell_of: &Buffer<u32>,
    number_in_cell: &Buffer<u32>,
    starts: &Buffer<u32>,
    list: &mut Buffer<u32>,
    order: &mut Buffer<u32>,
) -> Result<(), DeviceError> {
    let grid = blocks(cell_of.len());
    // SAFETY: cells, numbers and starts fit each other, and both lists have room (this function's contract); the first
    // kernel fills what the second reads.
    unsafe {
        launch!(stream, grid::scatter<<<grid, THREADS>>>(cell_of, number_in_cell, starts, &mut *list))?;
        launch!(stream, grid::rank<<<grid, THREADS>>>(cell_of, starts, &*list, order))
    }
}

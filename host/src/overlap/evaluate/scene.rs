//! Packings on a device, with the buffers of their evaluation.

use cuda_std::I32x2;
use gpu_kernels::overlap::{
    grid::{EXTENT_THREADS, MOST_EXTENTS},
    layout::{Frame, ROWS, Tile},
};

use super::{
    Search, Wanted,
    buffers::{ByPose, List, OutsideByPose, Rest, longest},
    search,
    shapes::Shapes,
    tree::TreeBuffers,
};
use crate::{
    collectives::ScanWorkspace,
    device::{Buffer, Device, DeviceError, Stream, ViewMut},
    overlap::{OverlapError, OverlapReal, Packings},
};

/// Angles beyond this are reduced on the host: kernels reduce up to 2^20.
const MAX_ANGLE: f64 = 524_288.0;

/// Largest number of parts of packings whose extents are looked for at the same time.
const MOST_PARTS: usize = 1 << 14;

/// Packings on a device, with the buffers and results of their evaluation.
/// [`Overlap::load`](super::Overlap::load) makes it; [`Overlap::enqueue`](super::Overlap::enqueue)
/// evaluates it.
///
/// The number of poses per packing and their shapes are fixed. The poses may change between
/// evaluations, also by other kernels.
#[derive(Debug)]
pub struct Scene<T: OverlapReal> {
    /// Number of the evaluator that loaded it.
    pub(super) owner: u64,
    pub(in crate::overlap) sizes: Sizes,
    pub(in crate::overlap) poses: Buffer<T>,
    pub(in crate::overlap) scales: Buffer<T>,
    pub(in crate::overlap) shape_of: Buffer<u32>,
    /// Each row's first piece; empty if there is one shape.
    pub(in crate::overlap) first_piece: Buffer<u32>,
    /// For scans of the numbers of pieces, if there are several shapes and a grid or a tree.
    pub(super) piece_scan: Option<ScanWorkspace>,
    pub(super) packing_of: Buffer<u32>,
    /// Start of each packing's poses, and the end of the last.
    pub(in crate::overlap) offsets: Buffer<u32>,
    pub(super) frames: Buffer<Frame<T>>,
    pub(in crate::overlap) list: List<T>,
    pub(super) wraps: Buffer<I32x2>,
    pub(in crate::overlap) grid: Option<GridBuffers<T>>,
    pub(in crate::overlap) tree: Option<TreeBuffers<T>>,
    pub(super) tiles: Buffer<Tile>,
    /// Start of each packing's tiles, and the end of the last.
    pub(super) tile_offsets: Buffer<u32>,
    pub(super) partial: Buffer<T>,
    pub(super) rest: Rest<T>,
    pub(super) totals: Buffer<T>,
    pub(in crate::overlap) by_pose: ByPose<T>,
    pub(in crate::overlap) outside: OutsideByPose<T>,
    pub(super) outside_totals: Buffer<T>,
    pub(super) by_scale_totals: Buffer<T>,
    /// Placeholder for outputs that a kernel doesn't write.
    pub(super) nothing: ByPose<T>,
}

/// The part that stays on the host.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes {
    pub offsets: Vec<usize>,
    pub shapes: Option<Vec<u32>>,
    /// Largest numbers of poses and of tiles per packing.
    pub longest: usize,
    pub most_tiles: usize,
    /// Search for candidates; `None` if all poses are candidates.
    pub search: Option<Search>,
    /// True once the boundary's scales are set.
    pub scaled: bool,
    /// True once phase one has filled the arrays.
    pub prepared: bool,
}

/// Buffers of the sort of poses by cells.
#[derive(Debug)]
pub struct GridBuffers<T: OverlapReal> {
    /// Start of each packing's cells, and the end of the last.
    pub capacity: Buffer<u32>,
    /// Extents of parts of each packing, their number per packing, and the threads that look for each.
    pub extents: Buffer<T>,
    pub parts: u32,
    pub threads: u32,
    /// Number of poses of each cell, then their start; one element more.
    pub starts: Buffer<u32>,
    pub cell_of: Buffer<u32>,
    pub number_in_cell: Buffer<u32>,
    pub unordered: Buffer<u32>,
    pub scan: ScanWorkspace,
}

/// Divides rows of packings among warps. Returns the tiles, and the start of each packing's.
fn tiles(offsets: &[usize], multiprocessors: u32, sorted: bool) -> (Vec<Tile>, Vec<u32>) {
    let poses = offsets[offsets.len() - 1];
    // Each multiprocessor gets 48 warps, more than run at a time.
    let rows = poses.div_ceil(48 * multiprocessors as usize).clamp(1, ROWS as usize);
    let mut tiles = Vec::new();
    let mut tile_offsets = vec![0];
    for (packing, range) in offsets.windows(2).enumerate() {
        let (first, n) = (range[0], range[1] - range[0]);
        let count = n.div_ceil(rows);
        for k in 0..count {
            let tile = if sorted {
                // Neighbours share neighbours.
                let start = k * n / count;
                Tile { packing: 0, first: (first + start) as u32, step: 1, count: ((k + 1) * n / count - start) as u32 }
            } else {
                // Later rows have fewer candidates, so each tile gets rows from everywhere.
                Tile { packing: 0, first: (first + k) as u32, step: count as u32, count: (n - k).div_ceil(count) as u32 }
            };
            tiles.push(Tile { packing: packing as u32, ..tile });
        }
        tile_offsets.push(tiles.len() as u32);
    }
    (tiles, tile_offsets)
}

/// Converts a pose to the type of the computation, with its angle reduced.
fn convert<T: OverlapReal>(pose: &[f64; 3]) -> [T; 3] {
    let [x, y, theta] = *pose;
    let theta = if theta.abs() <= MAX_ANGLE { theta } else { theta.sin().atan2(theta.cos()) };
    [x, y, theta].map(T::from_f64)
}

impl<T: OverlapReal> Scene<T> {
    /// Loads packings, without their frames.
    pub(super) fn new(
        device: &Device,
        stream: &Stream,
        packings: &Packings,
        shapes: &Shapes<T>,
        search: Option<Search>,
        owner: u64,
    ) -> Result<Self, OverlapError> {
        let poses = packings.poses();
        let n = poses.len();
        check_count("poses", n)?;
        check_count("packings", packings.len())?;
        let shape_of: Vec<u32> =
            if shapes.counts.len() > 1 { (0..n).map(|pose| packings.shape_of(pose)).collect() } else { Vec::new() };
        let (first_piece, of_several) = shapes.first_pieces(&shape_of);
        let pieces = if shapes.counts.len() == 1 { n * shapes.counts[0] } else { of_several };
        check_count("pieces", pieces)?;
        let offsets: Vec<u32> = packings.offsets().iter().map(|&offset| offset as u32).collect();
        let packing_of: Vec<u32> =
            offsets.windows(2).zip(0..).flat_map(|(range, packing)| (range[0]..range[1]).map(move |_| packing)).collect();
        let (tiles, tile_offsets) = tiles(packings.offsets(), device.info().multiprocessors.max(1), search.is_some());
        let identity: Vec<u32> = (0..n as u32).collect();
        let tree = if search == Some(Search::Tree) && n > 0 {
            Some(TreeBuffers::new(device, packings, search::radii(packings, &shapes.around))?)
        } else {
            None
        };
        let grid = if search == Some(Search::Grid) {
            // One cell per pose, at least one per packing.
            let (mut capacity, mut cells) = (vec![0u32], 0);
            for range in offsets.windows(2) {
                cells += (range[1] - range[0]).max(1) as usize;
                capacity.push(cells as u32);
            }
            check_count("cells", cells)?;
            // A thread for each pose, as long as there are few packings.
            let threads = (longest(&offsets).next_multiple_of(32) as u32).clamp(32, EXTENT_THREADS);
            let parts = longest(&offsets).div_ceil(threads as usize).min(MOST_PARTS / packings.len().max(1));
            let parts = (parts as u32).clamp(1, MOST_EXTENTS);
            Some(GridBuffers {
                extents: device.alloc(4 * parts as usize * packings.len())?,
                parts,
                threads,
                starts: device.alloc(cells + 1)?,
                cell_of: device.alloc(n)?,
                number_in_cell: device.alloc(n)?,
                unordered: device.alloc(n)?,
                scan: ScanWorkspace::with_capacity(device, cells + 1)?,
                capacity: device.upload(&capacity)?,
            })
        } else {
            None
        };
        let mut scene = Scene {
            owner,
            sizes: Sizes {
                offsets: packings.offsets().to_vec(),
                shapes: packings.shapes().map(<[u32]>::to_vec),
                longest: longest(&offsets),
                most_tiles: longest(&tile_offsets),
                search,
                scaled: false,
                prepared: false,
            },
            poses: device.alloc(3 * n)?,
            scales: device.empty(),
            shape_of: device.upload(&shape_of)?,
            piece_scan: match search {
                Some(_) if !first_piece.is_empty() => Some(ScanWorkspace::with_capacity(device, n)?),
                _ => None,
            },
            first_piece: device.upload(&first_piece)?,
            packing_of: device.upload(&packing_of)?,
            offsets: device.upload(&offsets)?,
            frames: device.alloc(packings.len())?,
            list: List {
                circles: device.alloc(n)?,
                places: device.alloc(n)?,
                nudges: device.alloc(n)?,
                pieces: device.alloc(pieces)?,
                order: device.upload(&identity)?,
            },
            wraps: device.empty(),
            grid,
            tree,
            partial: device.alloc(tiles.len().max(n))?,
            rest: Rest::new(device),
            tiles: device.upload(&tiles)?,
            tile_offsets: device.upload(&tile_offsets)?,
            totals: device.alloc(packings.len())?,
            by_pose: ByPose { areas: device.empty(), gradients: device.empty() },
            outside: OutsideByPose { areas: device.empty(), gradients: device.empty(), by_scale: device.empty() },
            outside_totals: device.empty(),
            by_scale_totals: device.empty(),
            nothing: ByPose { areas: device.empty(), gradients: device.empty() },
        };
        scene.set_poses(stream, packings)?;
        Ok(scene)
    }

    /// Returns whether the packings have the same sizes and shapes as these.
    pub fn fits(&self, packings: &Packings) -> bool {
        self.sizes.offsets == packings.offsets() && self.sizes.shapes.as_deref() == packings.shapes()
    }

    /// Replaces the poses. Waits for the copy. The [`Search`] remains the one that was chosen for
    /// the loaded poses.
    ///
    /// # Panics
    /// Unless the packings [`fit`](Self::fits).
    pub fn set_poses(&mut self, stream: &Stream, packings: &Packings) -> Result<(), OverlapError> {
        assert!(self.fits(packings), "packings of another layout");
        packings.check_positions::<T>()?;
        let poses: Vec<T> = packings.poses().iter().flat_map(convert::<T>).collect();
        Ok(stream.upload(&mut self.poses, &poses)?)
    }

    /// Replaces the shapes of the poses, if the evaluator has several shapes. Waits for the copy.
    /// They must not have more pieces in all than the loaded ones, as memory isn't reallocated, and
    /// must not be in a tree, which depends on their sizes.
    pub(super) fn set_shapes(&mut self, stream: &Stream, shapes: &Shapes<T>, of_poses: &[u32]) -> Result<(), OverlapError> {
        let (first_piece, pieces) = shapes.first_pieces(of_poses);
        let fits = of_poses.len() == self.shape_of.len() && pieces <= self.list.pieces.len();
        assert!(fits && self.tree.is_none(), "shapes of another layout");
        stream.upload(&mut self.shape_of, of_poses)?;
        stream.upload(&mut self.first_piece, &first_piece)?;
        self.sizes.shapes = Some(of_poses.to_vec());
        Ok(())
    }

    /// Sets the boundary's scales: one for all packings, or one for each. Waits for the copy.
    ///
    /// # Errors
    /// [`OverlapError::Scale`], [`OverlapError::ScaleCount`], device errors.
    pub fn set_scales(&mut self, stream: &Stream, scales: &[f64]) -> Result<(), OverlapError> {
        let packings = self.packings();
        if scales.len() != 1 && scales.len() != packings {
            return Err(OverlapError::ScaleCount { scales: scales.len(), packings });
        }
        let most = T::MAX_POSITION;
        if let Some(packing) = scales.iter().position(|&scale| !(scale > 0.0 && scale <= most)) {
            return Err(OverlapError::Scale { packing, scale: scales[packing], most });
        }
        let scales: Vec<T> = scales.iter().map(|&scale| T::from_f64(scale)).collect();
        self.scales.ensure(scales.len())?;
        stream.upload(&mut self.scales, &scales)?;
        self.sizes.scaled = true;
        Ok(())
    }

    /// The number of packings.
    pub fn packings(&self) -> usize {
        self.sizes.offsets.len() - 1
    }

    /// The number of poses of all packings.
    pub fn len(&self) -> usize {
        self.sizes.offsets[self.packings()]
    }

    /// Returns whether there are no poses.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Start of each packing's poses, and the end of the last.
    pub fn offsets(&self) -> &[usize] {
        &self.sizes.offsets
    }

    /// x, y and theta of every pose, on the device: 3 n numbers.
    pub fn poses(&self) -> &Buffer<T> {
        &self.poses
    }

    /// The poses on the device, for changes. All numbers must be finite, positions at most
    /// [`OverlapReal::MAX_POSITION`] in magnitude, and angles at most 2^20; otherwise results are
    /// meaningless.
    pub fn poses_mut(&mut self) -> ViewMut<'_, T> {
        self.poses.as_view_mut()
    }

    /// The boundary's scales, on the device: empty, one, or one for each packing.
    pub fn scales(&self) -> &Buffer<T> {
        &self.scales
    }

    /// Each packing's total, on the device.
    pub fn totals(&self) -> &Buffer<T> {
        &self.totals
    }

    /// Each pose's area in common with others, on the device; empty unless wanted.
    pub fn per_pose(&self) -> &Buffer<T> {
        &self.by_pose.areas
    }

    /// The derivatives of the totals by each pose, on the device, 3 n numbers; empty if never wanted.
    pub fn gradient(&self) -> &Buffer<T> {
        &self.by_pose.gradients
    }

    /// Each packing's area outside the boundary, on the device; empty without a boundary.
    pub fn outside_totals(&self) -> &Buffer<T> {
        &self.outside_totals
    }

    /// Each pose's area outside the boundary, on the device; empty without a boundary.
    pub fn outside_per_pose(&self) -> &Buffer<T> {
        &self.outside.areas
    }

    /// The derivatives of the areas outside by each pose, on the device, 3 n numbers; empty without
    /// a boundary.
    pub fn outside_gradient(&self) -> &Buffer<T> {
        &self.outside.gradients
    }

    /// The derivative of each packing's area outside by the boundary's scale, on the device; empty
    /// without a boundary.
    pub fn outside_by_scale(&self) -> &Buffer<T> {
        &self.by_scale_totals
    }

    /// Makes room for the wanted results by pose.
    pub(super) fn ensure_by_pose(&mut self, wanted: Wanted) -> Result<(), DeviceError> {
        let n = self.len();
        if wanted.per_pose {
            self.by_pose.areas.ensure(n)?;
        }
        if wanted.gradient {
            self.by_pose.gradients.ensure(3 * n)?;
        }
        Ok(())
    }
}

pub(super) fn check_count(what: &'static str, count: usize) -> Result<(), OverlapError> {
    if u32::try_from(count).is_ok() { Ok(()) } else { Err(OverlapError::TooMany { what, count }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every row of every packing is in one tile of that packing.
    #[test]
    fn tiles_cover_rows() {
        for sorted in [false, true] {
            for multiprocessors in [1, 3, 132] {
                for offsets in [vec![0, 0], vec![0, 1, 1, 2], vec![0, 120, 241, 250], (0..=40).map(|k| k * 33).collect()] {
                    let (tiles, tile_offsets) = tiles(&offsets, multiprocessors, sorted);
                    let mut seen = vec![0; offsets[offsets.len() - 1]];
                    for (packing, range) in tile_offsets.windows(2).enumerate() {
                        for tile in &tiles[range[0] as usize..range[1] as usize] {
                            assert!(tile.packing as usize == packing && (1..=ROWS).contains(&tile.count), "{tile:?}");
                            for k in 0..tile.count {
                                let row = (tile.first + k * tile.step) as usize;
                                assert!((offsets[packing]..offsets[packing + 1]).contains(&row), "{tile:?}");
                                seen[row] += 1;
                            }
                        }
                    }
                    assert!(seen.iter().all(|&times| times == 1), "{offsets:?}, {multiprocessors}");
                }
            }
        }
    }
}

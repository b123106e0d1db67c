//! The evaluator: its settings, requests and results.

use std::sync::atomic::{AtomicU64, Ordering};

use cuda_std::launch::KernelInfo;
use gpu_kernels::overlap::layout::{MAX_SHIFT, Mode};

use super::{
    Boundary, Evaluation, Outside, OverlapPair, Scene, Search, Wanted,
    buffers::Region,
    frames, pairs,
    phases::{OverlapKernel, Pass, Phases},
    search,
    shapes::{Shapes, points},
};
use crate::{
    device::{Backend, Buffer, Device, Stream},
    overlap::{Lattice, OverlapError, OverlapReal, Packings, Shape},
};

/// Number of poses per packing from which candidates are found by a grid or a tree, unless
/// [`Overlap::grid_from`] sets another.
const GRID_FROM: usize = 4096;

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
/// Areas are exact up to rounding: about ten units in the last place of the shape's squared extent
/// for each pair of pieces. Neither touching edges nor the distance from the origin make this
/// worse.
///
/// Derivatives are exact up to rounding, too. If edges lie on one another, the derivative is
/// one-sided; both copies use the same side. If an edge is parallel to another edge, or to a cut
/// between pieces, and within about 1e-9 of it (1e-3 in single precision, in units of the largest
/// shape's extent), derivatives are those of poses 1e-12 (1e-6) away.
///
/// # Order of sums
/// By default, each pair of poses is intersected once, and its results are added to both poses by
/// atomics, in an order that changes from run to run. So gradients and sums by pose differ in the
/// last bits; totals don't. With [`deterministic`](Self::deterministic), results are bit-for-bit
/// reproducible, because each pose computes its own sums, at the price of intersecting each pair
/// twice.
#[derive(Debug)]
pub struct Overlap<T: OverlapReal> {
    phases: Phases<T>,
    stream: Stream,
    grid_from: usize,
    search: Option<Search>,
    /// The scene of the last call of [`evaluate`](Self::evaluate).
    scene: Option<Scene<T>>,
}

impl<T: OverlapReal> Overlap<T> {
    /// Overlaps of copies of `shapes` on `device`.
    pub fn new(device: &Device, shapes: &[Shape]) -> Result<Self, OverlapError> {
        let kernel = if device.backend() == Backend::Cuda { OverlapKernel::Queue } else { OverlapKernel::Direct };
        let (device, stream, shapes) = (device.clone(), device.stream()?, Shapes::new(device, shapes)?);
        let (region, lattice, deterministic, id) = (None, None, false, next_id());
        let phases = Phases { device, shapes, region, lattice, deterministic, kernel, id };
        Ok(Overlap { phases, stream, grid_from: GRID_FROM, search: None, scene: None }.kernel(kernel))
    }

    /// Measures the areas outside a boundary, too, for scenes whose scales are set.
    pub fn boundary(mut self, boundary: Boundary) -> Result<Self, OverlapError> {
        if self.phases.lattice.is_some() {
            return Err(OverlapError::BoundaryInLattice);
        }
        let half_planes: Vec<T> = boundary.half_planes().as_flattened().iter().map(|&number| T::from_f64(number)).collect();
        let region = Region {
            half_planes: self.phases.device.upload(&half_planes)?,
            quads: self.phases.device.upload(&points(boundary.quads().as_flattened().iter().copied()))?,
            strip: boundary.width().is_some(),
        };
        self.phases.region = Some((boundary, region));
        self.scene = None;
        Ok(self)
    }

    /// Repeats every packing by the vectors of a lattice.
    ///
    /// # Errors
    /// [`OverlapError::BoundaryInLattice`]; [`OverlapError::FineLattice`] if images too many cells
    /// away may overlap.
    pub fn lattice(mut self, lattice: Lattice) -> Result<Self, OverlapError> {
        if self.phases.region.is_some() {
            return Err(OverlapError::BoundaryInLattice);
        }
        let images = frames::farthest_image::<T>(self.phases.shapes.reach, &lattice).ceil();
        if images + 1.0 > f64::from(MAX_SHIFT) {
            return Err(OverlapError::FineLattice { images: images as u64, most: MAX_SHIFT as u64 - 1 });
        }
        (self.phases.lattice, self.phases.id) = (Some(lattice), next_id());
        self.scene = None;
        Ok(self)
    }

    /// Makes results bit-for-bit reproducible.
    pub fn deterministic(mut self, yes: bool) -> Self {
        self.phases.deterministic = yes;
        self
    }

    /// Sets the kernels of phase two. Shapes of more than 131,000 pieces always take [`OverlapKernel::Direct`].
    pub fn kernel(mut self, kernel: OverlapKernel) -> Self {
        self.phases.kernel = kernel.of_pieces(&self.phases.shapes.counts);
        self
    }

    /// Sets the number of poses per packing from which candidates are found by a grid or a tree,
    /// instead of looking at all.
    pub fn grid_from(mut self, poses: usize) -> Self {
        self.grid_from = poses;
        self.scene = None;
        self
    }

    /// Sets the search for candidates to a grid or a tree. By default, [`load`](Self::load) and
    /// [`evaluate`](Self::evaluate) choose by the poses. The results are the same except for the
    /// order of sums.
    pub fn search(mut self, search: Search) -> Self {
        self.search = Some(search);
        self.scene = None;
        self
    }

    /// Returns the search for candidates in these packings; `None` if all poses are candidates.
    fn search_of(&self, packings: &Packings) -> Result<Option<Search>, OverlapError> {
        packings.check_shapes(self.phases.shapes.counts.len())?;
        let largest = packings.offsets().windows(2).map(|range| range[1] - range[0]).max().unwrap_or(0);
        if largest < self.grid_from {
            return Ok(None);
        }
        // The choice and the tree's size depend on the positions.
        packings.check_positions::<T>()?;
        let Shapes { around, reach, .. } = &self.phases.shapes;
        let choose = || search::choose::<T>(packings, around, *reach, self.phases.lattice.as_ref(), self.grid_from);
        Ok(Some(self.search.unwrap_or_else(choose)))
    }

    /// Returns whether areas outside a boundary are measured.
    pub fn has_boundary(&self) -> bool {
        self.phases.region.is_some()
    }

    /// The half-planes that poses are kept in, on the device; `None` if there is no boundary.
    pub(in crate::overlap) fn half_planes(&self) -> Option<&Buffer<T>> {
        self.phases.region.as_ref().map(|(_, region)| &region.half_planes)
    }

    /// The launches of its phases.
    pub(in crate::overlap) fn phases(&self) -> &Phases<T> {
        &self.phases
    }

    /// Kernels that evaluate small packings, for [`Device::preload`].
    pub fn kernels(&self, gradient: bool) -> Vec<&'static KernelInfo> {
        self.phases.kernels(gradient, false, true)
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.phases.device
    }

    /// The stream on which [`evaluate`](Self::evaluate) and its like do their work.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Copies packings to the device, for [`enqueue`](Self::enqueue). Waits for the copy.
    ///
    /// # Errors
    /// [`OverlapError::UnknownShape`], [`OverlapError::TooFar`], [`OverlapError::TooMany`], device errors.
    pub fn load(&self, packings: &Packings) -> Result<Scene<T>, OverlapError> {
        let search = self.search_of(packings)?;
        self.load_with(packings, search)
    }

    fn load_with(&self, packings: &Packings, search: Option<Search>) -> Result<Scene<T>, OverlapError> {
        let mut scene = Scene::new(&self.phases.device, &self.stream, packings, &self.phases.shapes, search, self.phases.id)?;
        let (sizes, is_grid) = (&scene.sizes, scene.grid.is_some());
        let frames = frames::frames(&sizes.offsets, is_grid, self.phases.shapes.reach, self.phases.lattice.as_ref());
        self.stream.upload(&mut scene.frames, &frames)?;
        if self.phases.lattice.is_some() {
            scene.wraps.ensure(packings.poses().len())?;
        }
        Ok(scene)
    }

    /// Replaces the shapes of a scene's poses ([`Scene::set_shapes`]).
    pub(in crate::overlap) fn set_shapes(
        &self,
        stream: &Stream,
        scene: &mut Scene<T>,
        of_poses: &[u32],
    ) -> Result<(), OverlapError> {
        if scene.owner != self.phases.id {
            return Err(OverlapError::ForeignScene);
        }
        scene.set_shapes(stream, &self.phases.shapes, of_poses)
    }

    /// Enqueues the evaluation of a scene, without waiting. The results are in the buffers that
    /// [`Scene`] lends; [`read`](Self::read) copies them to the host.
    ///
    /// Areas outside the boundary are computed if the scene's scales are set. Memory is allocated
    /// at the first call only.
    pub fn enqueue(&self, stream: &Stream, scene: &mut Scene<T>, wanted: Wanted) -> Result<(), OverlapError> {
        self.phases.preload(scene, wanted);
        self.phases.prepare(stream, scene, wanted)?;
        self.phases.overlaps(stream, scene, wanted)?;
        // There is twice each area; and each pair twice, where it was taken twice.
        self.phases.total(stream, scene, if self.phases.is_full(wanted) { 0.25 } else { 0.5 })?;
        self.phases.outside(stream, scene)?;
        self.phases.total_outside(stream, scene)?;
        Ok(())
    }

    /// Enqueues the part of [`enqueue`](Self::enqueue) that a descent needs: derivatives by pose,
    /// without totals. The derivatives of areas outside are computed on the second stream; the
    /// first stream waits for it.
    pub(in crate::overlap) fn enqueue_slopes(
        &self,
        [stream, beside]: [&Stream; 2],
        scene: &mut Scene<T>,
    ) -> Result<(), OverlapError> {
        self.phases.preload(scene, Wanted::GRADIENT);
        self.phases.prepare(stream, scene, Wanted::GRADIENT)?;
        beside.wait_for(stream)?;
        self.phases.outside(beside, scene)?;
        self.phases.overlaps(stream, scene, Wanted::GRADIENT)?;
        Ok(stream.wait_for(beside)?)
    }

    /// Enqueues the evaluation of the overlaps of each packing of `first` with the packing of
    /// `second` of the same index, like [`enqueue`](Self::enqueue) within one list. Both scenes get
    /// the totals.
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
            self.phases.preload(scene, wanted);
            self.phases.prepare(stream, scene, wanted)?;
        }
        let apart = self.phases.is_full(wanted);
        self.phases.rows_of(stream, first, second, wanted, if apart { Pass::Rows } else { Pass::Both })?;
        self.phases.total(stream, first, 0.5)?;
        if apart {
            self.phases.rows_of(stream, second, first, wanted, Pass::Rows)?;
            self.phases.total(stream, second, 0.5)?;
        } else {
            stream.copy(&first.totals, &mut second.totals)?;
        }
        for scene in [first, second] {
            self.phases.outside(stream, scene)?;
            self.phases.total_outside(stream, scene)?;
        }
        Ok(())
    }

    /// Enqueues [`enqueue_slopes`](Self::enqueue_slopes) of `scene`, with only the poses of
    /// `others` as candidates, as they were at their last evaluation.
    ///
    /// # Panics
    /// If `others` was never evaluated.
    pub(in crate::overlap) fn enqueue_slopes_among(
        &self,
        [stream, beside]: [&Stream; 2],
        scene: &mut Scene<T>,
        others: &mut Scene<T>,
    ) -> Result<(), OverlapError> {
        check_packings(scene.packings(), others.packings())?;
        if others.owner != self.phases.id {
            return Err(OverlapError::ForeignScene);
        }
        assert!(others.sizes.prepared, "a scene without an evaluation");
        self.phases.prepare(stream, scene, Wanted::GRADIENT)?;
        beside.wait_for(stream)?;
        self.phases.outside(beside, scene)?;
        self.phases.rows_of(stream, scene, others, Wanted::GRADIENT, Pass::Rows)?;
        Ok(stream.wait_for(beside)?)
    }

    /// Copies the results of a scene's last evaluation to the host. Waits for `stream`.
    pub fn read(&self, stream: &Stream, scene: &Scene<T>, wanted: Wanted) -> Result<Evaluation<T>, OverlapError> {
        let read = |buffer: &Buffer<T>| stream.download_vec(buffer);
        Ok(Evaluation {
            totals: read(&scene.totals)?,
            per_pose: if wanted.per_pose { read(&scene.by_pose.areas)? } else { Vec::new() },
            gradient: if wanted.gradient { as_triples(read(&scene.by_pose.gradients)?) } else { Vec::new() },
            outside: if self.phases.region.is_some() && scene.sizes.scaled {
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

    /// Evaluates packings in the last scene, if they fit it and need the same search, or in a new
    /// one.
    fn evaluate_at(
        &mut self,
        packings: &Packings,
        scales: Option<&[f64]>,
        wanted: Wanted,
    ) -> Result<Evaluation<T>, OverlapError> {
        let search = self.search_of(packings)?;
        let mut scene = match self.scene.take() {
            Some(mut scene) if scene.fits(packings) && scene.sizes.search == search => {
                scene.set_poses(&self.stream, packings)?;
                scene.sizes.scaled = false;
                scene
            }
            _ => self.load_with(packings, search)?,
        };
        if let Some(scales) = scales {
            scene.set_scales(&self.stream, scales)?;
        }
        self.enqueue(&self.stream, &mut scene, wanted)?;
        let result = self.read(&self.stream, &scene, wanted);
        self.scene = Some(scene);
        result
    }

    /// Evaluates the overlaps within each packing.
    ///
    /// # Errors
    /// [`OverlapError::UnknownShape`], [`OverlapError::TooFar`], [`OverlapError::TooMany`], device errors.
    pub fn evaluate(&mut self, packings: &Packings, wanted: Wanted) -> Result<Evaluation<T>, OverlapError> {
        self.evaluate_at(packings, None, wanted)
    }

    /// Evaluates the overlaps within each packing, and the areas outside the boundary. `scales` has
    /// its scale for each packing, or one for all.
    ///
    /// # Errors
    /// The same as for [`evaluate`](Self::evaluate); [`OverlapError::NoBoundary`],
    /// [`OverlapError::Scale`], [`OverlapError::ScaleCount`].
    pub fn evaluate_within(
        &mut self,
        packings: &Packings,
        scales: &[f64],
        wanted: Wanted,
    ) -> Result<Evaluation<T>, OverlapError> {
        if self.phases.region.is_none() {
            return Err(OverlapError::NoBoundary);
        }
        self.evaluate_at(packings, Some(scales), wanted)
    }

    /// Evaluates the overlaps of each packing of `first` with the packing of `second` of the same
    /// index. Both results have the totals; each has the sums by pose and gradients of its own
    /// list.
    ///
    /// # Errors
    /// The same as for [`evaluate`](Self::evaluate), and [`OverlapError::PackingCount`].
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

    /// Lists the pairs that overlap within each packing, in order of packing, first, second and
    /// shift.
    pub fn pairs(&self, packings: &Packings) -> Result<Vec<OverlapPair<T>>, OverlapError> {
        let mut scene = self.load(packings)?;
        self.phases.prepare(&self.stream, &mut scene, Wanted::TOTALS)?;
        pairs::list(&self.phases, &self.stream, &scene, &scene, Mode::HALF)
    }

    /// Lists the pairs that overlap of each packing of `first` and the packing of `second` of the
    /// same index, in the same order.
    pub fn pairs_between(&self, first: &Packings, second: &Packings) -> Result<Vec<OverlapPair<T>>, OverlapError> {
        check_packings(first.len(), second.len())?;
        let (mut first, mut second) = (self.load(first)?, self.load(second)?);
        for scene in [&mut first, &mut second] {
            self.phases.prepare(&self.stream, scene, Wanted::TOTALS)?;
        }
        pairs::list(&self.phases, &self.stream, &first, &second, Mode::BETWEEN)
    }
}

/// Returns a number that no evaluator has had.
fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn as_triples<T: OverlapReal>(numbers: Vec<T>) -> Vec<[T; 3]> {
    numbers.as_chunks().0.to_vec()
}

fn check_packings(first: usize, second: usize) -> Result<(), OverlapError> {
    if first == second { Ok(()) } else { Err(OverlapError::PackingCount { first, second }) }
}

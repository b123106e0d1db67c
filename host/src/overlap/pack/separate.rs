//! Separates copies that overlap, one after the other.

use gpu_kernels::overlap::{
    separate::{self, MOST_COPIES},
    transform::SourceArgs,
};

use super::{PackError, limit::Limit, problem::Problem, real::LaneReal};
use crate::{
    device::{Backend, Buffer, Device, Stream},
    launch,
    overlap::{Overlap, OverlapError, OverlapReal, Scene, Wanted, convex::bounds},
};

/// Approximate number of copies that one launch moves. It takes a fraction of a second.
const TURNS: usize = 256;
/// In one round every copy may meet every other, piece by piece. `WORK` pairs of pieces keep a
/// launch that short. With more than `MOST_WORK`, even one round takes too long.
const WORK: usize = 1 << 22;
const MOST_WORK: usize = 1 << 24;
/// Maximum number of pairs of copies in all lanes.
pub const MOST_PAIRS: usize = 1 << 27;

/// The state of a separation between launches, and its best packings so far.
#[derive(Debug)]
pub struct Separation<T: OverlapReal> {
    /// Start of each packing's poses, and their end.
    offsets: Vec<usize>,
    /// Maximum number of copies in a packing.
    longest: usize,
    /// Minimum and maximum of x and y in the container at scale 1.
    extent: Buffer<T>,
    /// Number of rounds per launch.
    at_once: usize,
    /// Factor by which each packing's scale is multiplied when its copies are apart.
    factors: Buffer<T>,
    /// Number of allowed angles; 0 if all are.
    angles: u32,
    /// Set if the next launch starts anew instead of going on from this state.
    fresh: bool,
    overlaps: Buffer<T>,
    weights: Buffer<T>,
    poses: Buffer<T>,
    scales: Buffer<T>,
    least: Buffer<T>,
}

impl<T: OverlapReal> Separation<T> {
    /// A separation of packings with these offsets, for which it must be [possible](can).
    pub fn new(device: &Device, problem: &Problem, offsets: &[usize]) -> Result<Self, PackError> {
        assert!(can(problem, offsets), "too many copies to separate");
        let (lanes, longest) = (offsets.len() - 1, longest(offsets));
        let [low, high] = bounds(&problem.container.outline(1.0));
        let pairs = lanes * longest * longest;
        Ok(Separation {
            longest,
            extent: device.upload(&[low, high].as_flattened().iter().map(|&number| T::from_f64(number)).collect::<Vec<_>>())?,
            at_once: (WORK / (longest * pieces(problem).pow(2)).max(1)).clamp(1, TURNS.div_ceil(longest.max(1))),
            factors: device.upload(&vec![T::ONE; lanes])?,
            angles: problem.turns.angles().map_or(0, |angles| angles.len() as u32),
            fresh: true,
            overlaps: device.alloc(pairs)?,
            weights: device.alloc(pairs)?,
            poses: device.alloc(3 * offsets[lanes])?,
            scales: device.alloc(lanes)?,
            least: device.alloc(lanes)?,
            offsets: offsets.to_vec(),
        })
    }

    /// Moves all copies of every packing in this many rounds, or until the limit, and returns the
    /// number of rounds, and for each packing whether its copies are apart in the end. Whenever they
    /// are, its scale is multiplied by its factor. Leaves the best packings in the scene.
    pub fn run(
        &mut self,
        stream: &Stream,
        overlap: &Overlap<T>,
        scene: &mut Scene<T>,
        (factors, rounds, seed): (&[f64], usize, u64),
        limit: &Limit,
    ) -> Result<(usize, Vec<bool>), PackError>
    where
        T: LaneReal,
    {
        let factors: Vec<T> = factors.iter().map(|&factor| T::from_f64(factor)).collect();
        stream.upload(&mut self.factors, &factors)?;
        self.fresh = true;
        let mut taken = 0;
        while taken < rounds && !(taken > 0 && limit.reached()) {
            let some = self.at_once.min(rounds - taken);
            self.enqueue(stream, overlap, scene, some as u32, seed.wrapping_add(taken as u64))?;
            stream.synchronize()?;
            taken += some;
        }
        if taken == 0 {
            return Ok((0, vec![false; factors.len()]));
        }
        stream.copy(&self.poses, &mut scene.poses)?;
        stream.copy(&self.scales, &mut scene.scales)?;
        let apart = stream.download_vec(&self.least)?.into_iter().map(|least| least.to_f64() == 0.0).collect();
        Ok((taken, apart))
    }

    /// Enqueues `rounds` rounds, which separate each packing's copies, and shrink its container by
    /// its factor whenever they are apart. Afterwards `self` has the best packings, and the scene
    /// the last ones.
    ///
    /// # Panics
    /// If this was made for other packings, or the boundary has no scales.
    fn enqueue(
        &mut self,
        stream: &Stream,
        overlap: &Overlap<T>,
        scene: &mut Scene<T>,
        rounds: u32,
        seed: u64,
    ) -> Result<(), OverlapError>
    where
        T: LaneReal,
    {
        let phases = overlap.phases();
        phases.prepare(stream, scene, Wanted::TOTALS)?;
        let packings = scene.packings();
        assert!(self.offsets == scene.offsets() && scene.scales.len() == packings, "made for another scene");
        assert!(scene.grid.is_none() && scene.tree.is_none() && phases.lattice.is_none(), "a scene in another order");
        let (_, region) = phases.region.as_ref().ok_or(OverlapError::NoBoundary)?;
        let Scene { poses, scales, shape_of, first_piece, offsets, list, .. } = scene;
        let nothing = phases.device.empty();
        let (shape_of, first_piece) = (&*shape_of, &*first_piece);
        let source =
            SourceArgs { poses: &nothing, shapes: &phases.shapes.spans, quads: &phases.shapes.quads, shape_of, first_piece };
        let strip = u32::from(region.strip);
        let Separation { longest, extent, factors, angles, fresh, .. } = self;
        let (longest, angles, fresh) = (*longest as u32, *angles, u32::from(std::mem::take(fresh)));
        let (offsets, half_planes) = (&*offsets, &region.half_planes);
        let (extent, factors) = (&*extent, &*factors);
        let args = separate::PackingsArgs { offsets, longest, half_planes, extent, strip, angles, factors };
        let (circles, places, pieces) = (&mut list.circles, &mut list.places, &mut list.pieces);
        let copies = separate::CopiesArgs { poses, circles, places, pieces, scales };
        let Separation { overlaps, weights, poses, scales, least, .. } = self;
        // On the CPU, one thread per place does the same work with fewer switches.
        let parts = if phases.device.backend() == Backend::Cuda { separate::MOST_PARTS } else { 1 };
        let threads = parts * separate::PLACES;
        let kept = separate::RecordArgs { overlaps, weights, poses, scales, least };
        // SAFETY: phase one was just done, by the order of poses, as there is neither a grid nor a
        // tree nor a lattice. The record fits the scene, as was just checked, and so has as many
        // numbers as its packings and their longest need; the longest has at most `MOST_COPIES`.
        // Poses of the source aren't used.
        unsafe {
            launch!(
                stream,
                separate::separate::<T><<<packings as u32, threads>>>(source, args, copies, kept, rounds, seed, fresh)
            )?;
        }
        Ok(())
    }
}

/// Returns true if packings with these offsets have few enough copies, of few enough pieces.
pub fn can(problem: &Problem, offsets: &[usize]) -> bool {
    let longest = longest(offsets);
    longest <= MOST_COPIES as usize
        && (offsets.len() - 1).saturating_mul(longest * longest) <= MOST_PAIRS
        && longest.saturating_mul(pieces(problem).saturating_pow(2)) <= MOST_WORK
}

/// Maximum number of pieces of a shape.
fn pieces(problem: &Problem) -> usize {
    problem.squeezed.iter().map(|shape| shape.quads().len()).max().unwrap_or(0)
}

fn longest(offsets: &[usize]) -> usize {
    offsets.windows(2).map(|range| range[1] - range[0]).max().unwrap_or(0)
}

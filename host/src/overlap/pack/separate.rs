//! Separates copies that overlap, one after the other.

use gpu_kernels::overlap::{
    fields::FieldsArgs,
    separate::{self, MOST_COPIES},
    transform::SourceArgs,
};

use super::{Budget, PackError, fields::Fields, limit::Limit, problem::Problem, real::Squeezed};
use crate::{
    device::{Backend, Buffer, Device, Stream},
    launch,
    overlap::{Overlap, OverlapError, Scene, Wanted, convex::bounds},
};

/// Approximate number of copies that one launch moves. It takes a fraction of a second.
const TURNS: usize = 256;
/// Approximate number of pairs of copies that a launch looks at by fields.
const FIELD_PAIRS: usize = 1 << 18;
/// Expected ratio of copies to moves of a round by fields. A packing with fewer moves takes more rounds: at most this number
/// for one.
const FEWER: u32 = 4;
/// In one round every copy may meet every other, piece by piece. `WORK` pairs of pieces keep a
/// launch that short. With more than `MOST_WORK`, even one round takes too long.
const WORK: usize = 1 << 22;
const MOST_WORK: usize = 1 << 24;
/// Maximum number of pairs of copies in all lanes.
pub const MOST_PAIRS: usize = 1 << 27;

/// A separation of all packings.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// Factor by which a packing's scale is multiplied once its copies are apart.
    pub factors: &'a [f64],
    /// True for packings whose pairs' weights begin at 1, false for those that keep them.
    pub forgets: &'a [bool],
    pub rounds: usize,
    pub seed: u64,
    /// Set to separate by areas even if there are fields.
    pub exact: bool,
}

/// The state of a separation between launches, and its best packings so far.
#[derive(Debug)]
pub struct Separation {
    /// Start of each packing's poses, and their end.
    offsets: Vec<usize>,
    /// Maximum number of copies in a packing.
    longest: usize,
    /// Minimum and maximum of x and y in the container at scale 1.
    extent: Buffer<Squeezed>,
    /// Number of rounds per launch.
    at_once: usize,
    /// Factor by which each packing's scale is multiplied when its copies are apart.
    factors: Buffer<Squeezed>,
    /// For each packing, 1 if its weights begin at 1.
    forgets: Buffer<u32>,
    /// First angle of each shape, and their end; and the allowed angles. A shape without angles may have any.
    first_angles: Buffer<u32>,
    angles: Buffer<Squeezed>,
    /// Set if the next launch starts anew instead of going on from this state.
    fresh: bool,
    /// Fields, if there are some, and number of threads per packing that use them: whole warps, or one.
    fields: Option<Fields>,
    pub(super) field_threads: u32,
    overlaps: Buffer<Squeezed>,
    weights: Buffer<Squeezed>,
    poses: Buffer<Squeezed>,
    scales: Buffer<Squeezed>,
    least: Buffer<Squeezed>,
}

impl Separation {
    /// A separation of packings with these offsets, for which it must be [possible](can).
    pub fn new(
        device: &Device,
        stream: &Stream,
        (problem, budget): (&Problem, Budget),
        offsets: &[usize],
    ) -> Result<Self, PackError> {
        let (lanes, longest) = (offsets.len() - 1, offsets.windows(2).map(|range| range[1] - range[0]).max().unwrap_or(0));
        assert!(can(problem, lanes, longest), "too many copies to separate");
        let [low, high] = bounds(&problem.container.outline(1.0));
        let pairs = lanes * longest * longest;
        let (mut angles, mut first_angles) = (Vec::new(), vec![0]);
        for turns in &problem.turns {
            angles.extend(turns.angles().unwrap_or_default().iter().map(|&angle| angle as Squeezed));
            first_angles.push(angles.len() as u32);
        }
        Ok(Separation {
            longest,
            extent: device.upload(&[low, high].as_flattened().iter().map(|&number| number as Squeezed).collect::<Vec<_>>())?,
            at_once: (WORK / (longest * pieces(problem).pow(2)).max(1)).clamp(1, TURNS.div_ceil(longest.max(1))),
            factors: device.upload(&vec![1.0; lanes])?,
            forgets: device.upload(&vec![1; lanes])?,
            first_angles: device.upload(&first_angles)?,
            angles: device.upload(&angles)?,
            fresh: true,
            fields: Fields::new(device, stream, problem, budget)?,
            field_threads: if device.backend() == Backend::Cuda { separate::MOST_THREADS } else { 1 },
            overlaps: device.alloc(pairs)?,
            weights: device.alloc(pairs)?,
            poses: device.alloc(3 * offsets[lanes])?,
            scales: device.alloc(lanes)?,
            least: device.alloc(lanes)?,
            offsets: offsets.to_vec(),
        })
    }

    /// Returns true if there are fields.
    pub fn has_fields(&self) -> bool {
        self.fields.is_some()
    }

    /// Moves all copies of every packing, or until the limit, and returns the number of rounds, and for each packing by how
    /// much its copies overlap in the end: 0 if they are apart. Whenever they are, its scale is multiplied by its factor.
    /// Leaves the best packings in the scene.
    pub fn run(
        &mut self,
        stream: &Stream,
        overlap: &Overlap<Squeezed>,
        scene: &mut Scene<Squeezed>,
        plan: Plan<'_>,
        limit: &Limit,
    ) -> Result<(usize, Vec<f64>), PackError> {
        let Plan { factors, forgets, rounds, seed, exact } = plan;
        stream.upload(&mut self.factors, &factors.iter().map(|&factor| factor as Squeezed).collect::<Vec<_>>())?;
        stream.upload(&mut self.forgets, &forgets.iter().map(|&forgets| u32::from(forgets)).collect::<Vec<_>>())?;
        self.fresh = true;
        let by_fields = !exact && self.fields.is_some();
        let at_once = if by_fields { (FIELD_PAIRS / self.longest.pow(2).max(1)).max(1) } else { self.at_once };
        let mut taken = 0;
        while taken < rounds && !(taken > 0 && limit.reached()) {
            let some = at_once.min(rounds - taken);
            self.enqueue(stream, overlap, scene, (some as u32, by_fields), seed.wrapping_add(taken as u64))?;
            stream.synchronize()?;
            taken += some;
        }
        if taken == 0 {
            return Ok((0, vec![f64::INFINITY; factors.len()]));
        }
        stream.copy(&self.poses, &mut scene.poses)?;
        stream.copy(&self.scales, &mut scene.scales)?;
        let least = stream.download_vec(&self.least)?.into_iter().map(f64::from).collect();
        Ok((taken, least))
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
        overlap: &Overlap<Squeezed>,
        scene: &mut Scene<Squeezed>,
        (rounds, by_fields): (u32, bool),
        seed: u64,
    ) -> Result<(), OverlapError> {
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
        let Separation { longest, extent, factors, forgets, first_angles, angles, fresh, fields, field_threads, .. } = self;
        let (longest, fresh) = (*longest as u32, u32::from(std::mem::take(fresh)));
        let (offsets, half_planes) = (&*offsets, &region.half_planes);
        let (extent, factors, forgets, first_angles, angles) = (&*extent, &*factors, &*forgets, &*first_angles, &*angles);
        let args =
            separate::PackingsArgs { offsets, longest, half_planes, extent, strip, first_angles, angles, factors, forgets };
        let (circles, places, pieces) = (&mut list.circles, &mut list.places, &mut list.pieces);
        let fields = fields.as_ref().filter(|_| by_fields).map(|fields| {
            let Fields { first, turns, supports, views, values } = fields;
            FieldsArgs { shape_of, first, turns, supports, views, values }
        });
        let Separation { overlaps, weights, poses: best, scales: best_scales, least, .. } = self;
        // On the CPU, one thread per place does the same work with fewer switches.
        let parts = if phases.device.backend() == Backend::Cuda { separate::MOST_PARTS } else { 1 };
        let threads = parts * separate::PLACES;
        let kept = separate::RecordArgs { overlaps, weights, poses: best, scales: best_scales, least };
        let blocks = packings as u32;
        if let Some(fields) = fields {
            let moves = (rounds * longest).div_ceil(FEWER);
            // SAFETY: the fields are of the problem's shapes.
            unsafe {
                launch!(
                    stream,
                    separate::separate_by_fields<<<blocks, *field_threads>>>(
                        fields, args, poses, scales, kept, FEWER * rounds, moves, seed, fresh
                    )
                )?;
            }
            return Ok(());
        }
        let copies = separate::CopiesArgs { poses, circles, places, pieces, scales };
        // SAFETY: phase one was just done, by the order of poses, as there is neither a grid nor a
        // tree nor a lattice. The record fits the scene, as was just checked, and so has as many
        // numbers as its packings and their longest need; the longest has at most `MOST_COPIES`.
        // Poses of the source aren't used.
        unsafe {
            launch!(
                stream,
                separate::separate::<Squeezed><<<packings as u32, threads>>>(source, args, copies, kept, rounds, seed, fresh)
            )?;
        }
        Ok(())
    }
}

/// Returns true if so many packings, of so many copies at most, have few enough copies, of few enough pieces.
pub fn can(problem: &Problem, lanes: usize, longest: usize) -> bool {
    longest <= MOST_COPIES as usize
        && lanes.saturating_mul(longest * longest) <= MOST_PAIRS
        && longest.saturating_mul(pieces(problem).saturating_pow(2)) <= MOST_WORK
}

/// Maximum number of pieces of a shape.
fn pieces(problem: &Problem) -> usize {
    problem.squeezed.iter().map(|shape| shape.quads().len()).max().unwrap_or(0)
}

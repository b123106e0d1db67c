//! Copies that overlap are taken apart, one after the other.

use gpu_kernels::overlap::separate::MOST_COPIES;

use super::{PackError, limit::Limit, problem::Problem, real::LaneReal};
use crate::{
    device::{Buffer, Device, Stream},
    overlap::{Overlap, OverlapReal, Scene, convex::bounds},
};

/// Copies that one launch looks at, about: it takes a fraction of a second.
const TURNS: usize = 256;
/// In one round every copy may meet every other, piece by piece: so many pairs of pieces for each copy keep a launch as
/// short, and beyond the second number even one round isn't.
const WORK: usize = 1 << 22;
const MOST_WORK: usize = 1 << 24;
/// Pairs of copies in all lanes, at most.
pub const MOST_PAIRS: usize = 1 << 27;

/// What a search keeps from one launch to the next, and the best that it has come to.
#[derive(Debug)]
pub struct Separation<T: OverlapReal> {
    /// Where each packing's poses start, and the end.
    offsets: Vec<usize>,
    /// The most copies of any packing.
    pub(in crate::overlap) longest: usize,
    /// The least and the greatest x and y of the container at scale 1.
    pub(in crate::overlap) extent: Buffer<T>,
    /// Rounds of a launch.
    at_once: usize,
    /// What each packing's scale is multiplied by when its copies are apart.
    pub(in crate::overlap) factors: Buffer<T>,
    /// How many angles are allowed; 0 where all are.
    pub(in crate::overlap) angles: u32,
    /// Whether nothing is to be gone on from.
    pub(in crate::overlap) fresh: bool,
    pub(in crate::overlap) overlaps: Buffer<T>,
    pub(in crate::overlap) weights: Buffer<T>,
    pub(in crate::overlap) poses: Buffer<T>,
    pub(in crate::overlap) scales: Buffer<T>,
    pub(in crate::overlap) least: Buffer<T>,
}

impl<T: OverlapReal> Separation<T> {
    /// For packings with these offsets, which [`can`] be taken apart.
    pub fn new(device: &Device, problem: &Problem, offsets: &[usize]) -> Result<Self, PackError> {
        assert!(can(problem, offsets), "too many copies to take apart");
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

    /// Whether it was made for packings with these offsets.
    pub(in crate::overlap) fn fits(&self, offsets: &[usize]) -> bool {
        self.offsets == offsets
    }

    /// Looks at all copies of every packing in so many rounds, or as many as there are until the limit, and leaves the best
    /// in the scene. Where copies are apart, the scale is multiplied by the packing's factor. Says how many rounds it took.
    pub fn run(
        &mut self,
        stream: &Stream,
        overlap: &Overlap<T>,
        scene: &mut Scene<T>,
        (factors, rounds, seed): (&[f64], usize, u64),
        limit: &Limit,
    ) -> Result<usize, PackError>
    where
        T: LaneReal,
    {
        let factors: Vec<T> = factors.iter().map(|&factor| T::from_f64(factor)).collect();
        stream.upload(&mut self.factors, &factors)?;
        self.fresh = true;
        let mut taken = 0;
        while taken < rounds && !(taken > 0 && limit.reached()) {
            let some = self.at_once.min(rounds - taken);
            overlap.enqueue_separate(stream, scene, self, some as u32, seed.wrapping_add(taken as u64))?;
            stream.synchronize()?;
            taken += some;
        }
        if taken > 0 {
            stream.copy(&self.poses, &mut scene.poses)?;
            stream.copy(&self.scales, &mut scene.scales)?;
        }
        Ok(taken)
    }
}

/// Whether packings with these offsets have few enough copies, of few enough pieces.
pub fn can(problem: &Problem, offsets: &[usize]) -> bool {
    let longest = longest(offsets);
    longest <= MOST_COPIES as usize
        && (offsets.len() - 1).saturating_mul(longest * longest) <= MOST_PAIRS
        && longest.saturating_mul(pieces(problem).saturating_pow(2)) <= MOST_WORK
}

/// The most pieces of a shape.
fn pieces(problem: &Problem) -> usize {
    problem.squeezed.iter().map(|shape| shape.quads().len()).max().unwrap_or(0)
}

fn longest(offsets: &[usize]) -> usize {
    offsets.windows(2).map(|range| range[1] - range[0]).max().unwrap_or(0)
}

//! What a launch has to do, counted on the host.

use serde::Serialize;

use super::poses::Pose;

/// Lanes of a warp.
const WARP: usize = 32;

/// What a launch has to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Work {
    /// Pairs of a pose of the first list and one of the second.
    pub comparisons: u64,
    /// Those near enough to overlap, and not of a pose with itself: their pieces are intersected.
    pub candidates: u64,
    /// Intersections of two pieces.
    pub clips: u64,
    /// Pieces that one phase turns.
    pub one_phase_transforms: u64,
    /// Pieces that two phases turn, of both lists.
    pub two_phase_transforms: u64,
    /// The most candidates that one thread has.
    pub longest_thread: u64,
    /// The most comparisons that are a candidate for some lane of one warp: the whole warp goes through them one after
    /// another.
    pub longest_warp: u64,
    /// The same, summed over all warps.
    pub warp_steps: u64,
    /// Lanes in those steps that have a candidate, out of those that the warps have threads for.
    pub busy_lanes: f64,
}

impl Work {
    /// Counts what comparing `first` with `second` takes, with a thread for each of `first`, in blocks of `block`.
    pub fn count(first: &[Pose], second: &[Pose], pieces: usize, reach: f64, block: usize) -> Self {
        let pieces = pieces as u64;
        let near = |own: &Pose, other: &Pose| {
            let (x, y) = (other[0] - own[0], other[1] - own[1]);
            !(x == 0.0 && y == 0.0 && own[2] == other[2]) && x * x + y * y <= reach
        };
        let mut work = Work { comparisons: (first.len() * second.len()) as u64, ..Work::default() };
        let mut lane_steps = 0;
        for warp in first.chunks(block).flat_map(|block| block.chunks(WARP)) {
            let mut of_lanes = [0; WARP];
            let mut steps = 0;
            for other in second {
                let mut any = false;
                for (candidates, own) in of_lanes.iter_mut().zip(warp) {
                    if near(own, other) {
                        *candidates += 1;
                        any = true;
                    }
                }
                steps += u64::from(any);
            }
            work.candidates += of_lanes.iter().sum::<u64>();
            work.longest_thread = work.longest_thread.max(of_lanes.into_iter().max().unwrap_or(0));
            work.longest_warp = work.longest_warp.max(steps);
            work.warp_steps += steps;
            lane_steps += steps * warp.len() as u64;
        }
        work.clips = work.candidates * pieces * pieces;
        work.one_phase_transforms = work.candidates * (pieces + pieces * pieces);
        work.two_phase_transforms = (first.len() + second.len()) as u64 * pieces;
        work.busy_lanes = if lane_steps > 0 { work.candidates as f64 / lane_steps as f64 } else { 0.0 };
        work
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_that_wait_for_others_count() {
        // Two clusters far apart: the first two poses are candidates of each other, the third has none.
        let poses = [[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [100.0, 0.0, 0.0]];
        let work = Work::count(&poses, &poses, 4, 1.0, 256);
        assert_eq!((work.comparisons, work.candidates, work.clips), (9, 2, 32));
        assert_eq!((work.one_phase_transforms, work.two_phase_transforms), (40, 24));
        assert_eq!((work.longest_thread, work.longest_warp, work.warp_steps), (1, 2, 2));
        assert!((work.busy_lanes - 2.0 / 6.0).abs() < 1e-15);
        // In blocks of one, no lane waits.
        let alone = Work::count(&poses, &poses, 4, 1.0, 1);
        assert_eq!((alone.longest_warp, alone.warp_steps, alone.busy_lanes), (1, 2, 1.0));
        assert_eq!(Work::count(&[], &poses, 4, 1.0, 8), Work { two_phase_transforms: 12, ..Work::default() });
    }
}

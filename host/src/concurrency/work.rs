//! Work of a launch, counted on the host.

use serde::Serialize;

use super::poses::Pose;

/// Number of lanes per warp.
const WARP: usize = 32;

/// Work of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Work {
    /// Number of pairs of a pose of the first list and one of the second.
    pub comparisons: u64,
    /// Number of comparisons of different poses that are near enough to overlap. Their pieces are
    /// intersected.
    pub candidates: u64,
    /// Number of intersections of two pieces.
    pub clips: u64,
    /// Number of pieces that one phase turns.
    pub one_phase_transforms: u64,
    /// Number of pieces of both lists that two phases turn.
    pub two_phase_transforms: u64,
    /// Largest number of candidates of one thread.
    pub longest_thread: u64,
    /// Largest number of comparisons of one warp that are a candidate for some lane. The whole warp
    /// goes through them one after another.
    pub longest_warp: u64,
    /// Number of such comparisons, summed over all warps.
    pub warp_steps: u64,
    /// Share of the warps' threads that have a candidate in such a comparison.
    pub busy_lanes: f64,
}

impl Work {
    /// Counts the work of comparing `first` with `second`, with one thread per pose of `first`, in
    /// blocks of `block`.
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
        // Two clusters far apart: the first two poses are candidates of each other, and the third
        // has no candidate.
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

//! Search for packings of several shapes at few angles: each lane looks for one in a container that is a little smaller than
//! its own best one, and later than the best one of all.

use std::{cmp::Ordering, time::Instant};

use rayon::prelude::*;

use super::{
    PackError,
    limit::Limit,
    moves::exchange,
    search::Search,
    state::State,
    task::kinds_of,
    trials::{FIELD_ROUND, scale},
};
use crate::overlap::random::Random;

/// Rounds per separation.
const ROUNDS: usize = 100;
/// Share of the budget during which a lane's container depends on its own best packing.
const ALONE: f64 = 0.15;
/// Shrinkage of the container from the best one: in that time, at most, and at least until `LATE`, a share of the budget, and
/// after that. It grows by `LARGER` if a better packing is found, and falls by `SMALLER` if not.
pub const FIRST_TIGHTER: f64 = 0.01;
const MOST_TIGHTER: f64 = 0.02;
const LEAST_TIGHTER: [f64; 2] = [2e-3, 2e-4];
const LATE: f64 = 0.7;
const LARGER: f64 = 1.1;
const SMALLER: f64 = 0.96;
/// Range of the shrinkage whenever copies are apart, as a share of that.
const ONWARDS: [f64; 2] = [0.1, 1.0];
/// Largest growth of a lane's container to make room for small overlaps.
const MOST_ROOM: f64 = 1.01;
/// A separation has made progress if copies overlap by less than this share of what they did before.
const PROGRESS: f64 = 0.98;
/// Number of separations without progress after which a lane goes on from another one.
const PATIENCE: usize = 3;
/// Number of lanes that it chooses from.
const CHOICE: usize = 4;
/// Larger numbers let good packings spread faster: while lanes are alone, and later.
const SPREAD: [f64; 2] = [2.0, 12.0];

impl Search<'_> {
    /// Separates the copies of all lanes by fields. A lane whose copies still overlap goes on from there. If they overlap no
    /// less for a while, it goes on from the packing of a lane near it that is better, after two copies have exchanged
    /// places. `share` is that of the budget that is used up.
    pub fn explore(&mut self, share: f64, most: usize, limit: &Limit) -> Result<(), PackError> {
        let start = Instant::now();
        let alone = share < ALONE;
        let bests = if alone {
            self.lane_scores.clone()
        } else {
            let best: Vec<f64> = self.best_scores().collect();
            (0..self.failures.len()).map(|lane| best[self.group_of(lane)]).collect()
        };
        let Some((anew, taken, found)) = self.separated(&bests, share, most, limit)? else { return Ok(()) };
        let mut better = false;
        for (lane, anew) in anew.into_iter().enumerate() {
            let (last, now) = (if anew { f64::INFINITY } else { self.failed.energies[lane] }, found.energies[lane]);
            self.failed.take(&found, lane);
            self.failures[lane] = if now < PROGRESS * last { 0 } else { self.failures[lane] + 1 };
            if now > 0.0 {
                continue;
            }
            self.scores[lane] = found.sides[lane];
            if found.sides[lane] < self.lane_scores[lane] {
                self.lane_scores[lane] = found.sides[lane];
                self.best.take(&found, lane);
                better |= found.sides[lane] < bests[lane];
            }
        }
        if !alone {
            let least = LEAST_TIGHTER[usize::from(share >= LATE)];
            self.tighter = (self.tighter * if better { LARGER } else { SMALLER }).clamp(least, MOST_TIGHTER);
        }
        let left = match limit.deadline {
            Some(deadline) => deadline.saturating_duration_since(start).as_secs_f64() / start.elapsed().as_secs_f64(),
            None => (most / taken) as f64,
        };
        self.replace(left, alone);
        Ok(())
    }

    /// Changes all lanes, and separates their copies in containers by these best ones. Returns for each lane whether it began
    /// anew, the number of steps taken, and the packings. None if there was no time.
    fn separated(
        &mut self,
        bests: &[f64],
        share: f64,
        most: usize,
        limit: &Limit,
    ) -> Result<Option<(Vec<bool>, usize, State)>, PackError> {
        let problem = self.task.problem;
        let kinds: Vec<&[u32]> = kinds_of(&self.task.groups).collect();
        let Search { randoms, fresh, failed, disrupted, tighter, .. } = self;
        let anew: Vec<bool> = fresh
            .iter_mut()
            .zip(disrupted)
            .map(|(fresh, disrupted)| fresh.take().is_some() | std::mem::take(disrupted))
            .collect();
        let changed = |(lane, random): (usize, &mut Random)| {
            let (mut poses, side, overlap) = (failed.poses(lane).to_vec(), failed.sides[lane], failed.energies[lane]);
            if anew[lane] && share > 0.0 {
                exchange(random, problem, kinds[lane], &mut poses);
            }
            let best = bests[lane];
            let target = best * (1.0 - *tighter);
            // A container that is higher by the sum of depths has room for small ones.
            let room = if overlap.is_finite() { 0.5 * overlap } else { 0.0 };
            let target = if room < *tighter * best { (target + room).min(best * (1.0 - LEAST_TIGHTER[1])) } else { target };
            let factor = (target / side).min(if overlap > 0.0 && !anew[lane] { MOST_ROOM } else { 1.0 });
            scale(problem, &mut poses, factor);
            (poses, side * factor, 1.0 - *tighter * random.between(ONWARDS[0], ONWARDS[1]))
        };
        let changed: Vec<_> = randoms.par_iter_mut().enumerate().map(changed).collect();
        let (mut state, mut factors) = (State::default(), Vec::new());
        for (poses, side, factor) in changed {
            state.push(&poses, side, 0.0);
            factors.push(factor);
        }
        self.lanes.set(state.poses, &state.sides)?;
        let rounds = ROUNDS.min((most / FIELD_ROUND).max(1));
        let (taken, found) = self.apart((&factors, &anew), (rounds, false), limit)?;
        Ok((taken > 0).then_some((anew, taken, found)))
    }

    /// Lets lanes that make no progress go on from others: those whose copies overlap less, or while lanes are alone, those
    /// that have had a better packing. About `left` separations are left. A good packing may spread to all lanes in a part of
    /// them.
    fn replace(&mut self, left: f64, alone: bool) {
        let spread = SPREAD[usize::from(!alone)];
        for lane in 0..self.failures.len() {
            if self.failures[lane] < PATIENCE {
                continue;
            }
            (self.failures[lane], self.disrupted[lane]) = (0, true);
            let lanes = self.group(self.group_of(lane));
            let reach = ((spread * lanes.len() as f64 / left.max(1.0)).ceil() as usize).min(lanes.len() / 2);
            let near = |by: usize| lanes.start + (lane - lanes.start + lanes.len() + by - reach) % lanes.len();
            let better = |a: usize, b: usize| {
                let scores = if alone { self.lane_scores[a].total_cmp(&self.lane_scores[b]) } else { Ordering::Equal };
                scores.then(self.failed.energies[a].total_cmp(&self.failed.energies[b]))
            };
            let chosen = (0..CHOICE).map(|_| near(self.choices.below(2 * reach + 1)));
            let from = chosen.min_by(|&a, &b| better(a, b)).unwrap_or(lane);
            if better(from, lane).is_lt() {
                self.failed.spread(from, lane);
                if alone {
                    self.best.spread(from, lane);
                    (self.lane_scores[lane], self.scores[lane]) = (self.lane_scores[from], self.scores[from]);
                }
            }
        }
    }

    /// The group of a lane.
    fn group_of(&self, lane: usize) -> usize {
        self.offsets.partition_point(|&offset| offset <= lane) - 1
    }
}

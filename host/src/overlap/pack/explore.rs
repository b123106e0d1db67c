//! Search for packings of several shapes at few angles. Lanes are in teams: at first each lane is one, and in the end all
//! lanes are. A lane looks for a packing in a container that is a little smaller than its team's best one.

use std::{ops::Range, time::Instant};

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
/// Share of the budget after which all lanes of a group are a team.
const UNITED: f64 = 0.75;
/// Shrinkage of the container from the best one: at first, at most, and at least until `LATE`, a share of the budget, and
/// after that. It grows by `LARGER` if a better packing is found, and falls by `SMALLER` if not.
pub const FIRST_TIGHTER: f64 = 1e-3;
const MOST_TIGHTER: f64 = 0.02;
const LEAST_TIGHTER: [f64; 2] = [1e-3, 2e-4];
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
/// Larger numbers let good packings spread faster in a team.
const SPREAD: f64 = 4.0;

impl Search<'_> {
    /// Separates the copies of all lanes by fields. A lane whose copies still overlap goes on from there. If they overlap no
    /// less for a while, it goes on from the packing of a lane near it in its team that is better, after two copies have
    /// exchanged places. `share` is that of the budget that is used up.
    pub fn explore(&mut self, share: f64, most: usize, limit: &Limit) -> Result<(), PackError> {
        let start = Instant::now();
        let teams = self.teams(share);
        let mut bests = vec![0.0; self.failures.len()];
        for team in &teams {
            bests[team.clone()].fill(self.lane_scores[self.best_of(team.clone())]);
        }
        let Some((anew, taken, found)) = self.separated(&bests, share, most, limit)? else { return Ok(()) };
        let mut better = vec![false; bests.len()];
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
                better[lane] = found.sides[lane] < bests[lane];
            }
        }
        let least = LEAST_TIGHTER[usize::from(share >= LATE)];
        let left = match limit.deadline {
            Some(deadline) => deadline.saturating_duration_since(start).as_secs_f64() / start.elapsed().as_secs_f64(),
            None => (most / taken) as f64,
        };
        for team in teams {
            let factor = if better[team.clone()].contains(&true) { LARGER } else { SMALLER };
            for tighter in &mut self.tighter[team.clone()] {
                *tighter = (*tighter * factor).clamp(least, MOST_TIGHTER);
            }
            self.replace(left, &team);
        }
        Ok(())
    }

    /// The teams of all groups, once this share of the budget is used up. Their number falls by the same factor in equal times.
    fn teams(&self, share: f64) -> Vec<Range<usize>> {
        let of_group = |group: usize| {
            let lanes = self.group(group);
            let count = (lanes.len() as f64).powf(1.0 - (share / UNITED).min(1.0)) as usize;
            let start = move |team: usize| lanes.start + team * lanes.len() / count;
            (0..count).map(move |team| start(team)..start(team + 1))
        };
        (0..self.task.groups.len()).flat_map(of_group).collect()
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
            let target = best * (1.0 - tighter[lane]);
            // A container that is higher by the sum of depths has room for small ones.
            let room = if overlap.is_finite() { 0.5 * overlap / problem.radius } else { 0.0 };
            let target = if room < tighter[lane] * best { (target + room).min(best * (1.0 - LEAST_TIGHTER[1])) } else { target };
            let factor = (target / side).min(if overlap > 0.0 && !anew[lane] { MOST_ROOM } else { 1.0 });
            scale(problem, &mut poses, factor);
            (poses, side * factor, 1.0 - tighter[lane] * random.between(ONWARDS[0], ONWARDS[1]))
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

    /// Lets lanes of a team that make no progress go on from others, whose copies overlap less. About `left` separations are
    /// left. A good packing may spread to the whole team in a part of them.
    fn replace(&mut self, left: f64, team: &Range<usize>) {
        let reach = ((SPREAD * team.len() as f64 / left.max(1.0)).ceil() as usize).min(team.len() / 2);
        for lane in team.clone() {
            if self.failures[lane] < PATIENCE {
                continue;
            }
            (self.failures[lane], self.disrupted[lane]) = (0, true);
            let near = |by: usize| team.start + (lane - team.start + team.len() + by - reach) % team.len();
            let chosen = (0..CHOICE).map(|_| near(self.choices.below(2 * reach + 1)));
            let less = |&a: &usize, &b: &usize| self.failed.energies[a].total_cmp(&self.failed.energies[b]);
            let from = chosen.min_by(less).unwrap_or(lane);
            if self.failed.energies[from] < self.failed.energies[lane] {
                self.failed.spread(from, lane);
            }
        }
    }
}

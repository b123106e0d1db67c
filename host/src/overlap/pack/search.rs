//! The search: all lanes are changed, squeezed and chosen from, again and again.

use std::{
    ops::Range,
    time::{Duration, Instant},
};

use super::{
    Budget, PackError,
    error::unless_stopped,
    explore::FIRST_TIGHTER,
    islands::Island,
    lanes::Lanes,
    limit::Limit,
    real::Squeezed,
    separate,
    source::Source,
    state::{Finalists, State},
    task::{Group, Task, kinds_of, lanes_of},
    walk::Squeeze,
};
use crate::{device::Device, overlap::random::Random};

/// Share of the budget for new starts. Each lane keeps the best of its starts.
pub const STARTING: f64 = 0.2;
/// Rates at the start and the end of a squeeze, in units of the shape's radius.
pub const RATE: [f64; 2] = [0.02, 1e-4];
/// Pressures at the start and the end of a squeeze, in the same unit.
pub const PRESSURE: [f64; 2] = [0.2, 3e-3];
/// Density of random starts, and of those whose copies are separated at once.
const FIRST_DENSITY: f64 = 0.4;
const APART_DENSITY: f64 = 0.5;
/// A packing that is larger by this share over the root of its number of copies is kept with a
/// probability of 1 / e at the start of the search.
const WARMTH: f64 = 0.015;
/// Number of squeezes after which packings replace worse ones, and islands meet.
const EXCHANGE: usize = 8;
/// The same if copies are separated.
const APART_EXCHANGE: usize = 1;
/// Maximum share of the time left that a squeeze may take, and the time that it may take in any
/// case.
const PART: f64 = 0.4;
const LEAST_TIME: Duration = Duration::from_millis(500);
/// Number of steps whose duration is measured.
const MEASURED: usize = 2;

/// A search under way.
pub struct Search<'a> {
    pub(super) task: &'a Task<'a>,
    /// First lane of each group, and the end.
    pub(super) offsets: Vec<usize>,
    pub(super) lanes: Lanes<Squeezed>,
    pub(super) source: Source<'a>,
    /// Random numbers of each lane, and for choices between lanes.
    pub(super) randoms: Vec<Random>,
    pub(super) choices: Random,
    /// The packing that each lane goes on from, and its score.
    pub(super) current: State,
    pub(super) scores: Vec<f64>,
    /// The best packing that each lane has had, and its score.
    pub(super) best: State,
    pub(super) lane_scores: Vec<f64>,
    /// For lanes whose packing is to be squeezed unchanged, the indices of poses without a place.
    pub(super) fresh: Vec<Option<Vec<usize>>>,
    /// For each lane whose copies could not be separated, the packing that overlaps least; and the
    /// number of separations in a row that failed.
    pub(super) failed: State,
    pub(super) failures: Vec<usize>,
    /// For each lane, whether its packing is symmetric under half a turn.
    pub(super) symmetric: Vec<bool>,
    /// Set if copies are separated before they are squeezed.
    pub(super) separates: bool,
    /// Set if they are separated by fields.
    by_fields: bool,
    /// For each lane, shrinkage of the container before that.
    pub(super) tighter: Vec<f64>,
    /// Lanes whose copies exchange places before the next separation.
    pub(super) disrupted: Vec<bool>,
    /// Set if some group has nothing to go on from, and so gets new starts for a while.
    starts_afresh: bool,
    pub(super) squeezes: usize,
    pub steps: usize,
    /// Duration of a step, if time is limited.
    step: Duration,
}

impl<'a> Search<'a> {
    /// A search with this seed. Lattices are looked for until the limit.
    pub fn new(device: &Device, task: &'a Task<'a>, seed: u64, limit: &Limit) -> Result<Self, PackError> {
        let Task { problem, groups, .. } = task;
        let mut offsets = vec![0];
        for group in groups {
            offsets.push(offsets[offsets.len() - 1] + group.starts);
        }
        let longest = groups.iter().map(Group::count).max().unwrap_or(0);
        let separates = problem.shapes.len() > 1 && separate::can(problem, offsets[groups.len()], longest);
        let source = Source::new(task, if separates { APART_DENSITY } else { FIRST_DENSITY }, seed, limit);
        let mut randoms: Vec<Random> = (0..offsets[groups.len()] as u64).map(|lane| Random::new(seed, lane)).collect();
        let mut current = State::default();
        let (mut fresh, mut scores, mut symmetric) = (Vec::new(), Vec::new(), Vec::new());
        let starts = source.round(0, &mut randoms, |group, lane| group.goes_on(problem, lane).is_none());
        for ((group, lane), start) in lanes_of(groups).zip(starts) {
            symmetric.push(group.role(problem, lane).0);
            if let Some((poses, side, loose)) = start {
                current.push(&poses, side, f64::INFINITY);
                fresh.push(Some(loose));
                scores.push(f64::INFINITY);
            } else if let Some((poses, side)) = group.goes_on(problem, lane) {
                current.push(&poses, side, 0.0);
                fresh.push(None);
                scores.push(side);
            }
        }
        let mut lanes = Lanes::new(
            device,
            problem,
            &problem.searched,
            &current.offsets,
            kinds_of(groups),
            matches!(task.budget, Budget::Steps(_)),
        )?;
        if !separates {
            lanes.preload(!problem.is_at_angles());
        }
        Ok(Search {
            // If that is stopped, there is no time to search either.
            by_fields: separates && unless_stopped(lanes.prepare(problem, task.budget))?.unwrap_or(false),
            lanes,
            source,
            randoms,
            choices: Random::new(seed, u64::MAX),
            best: current.clone(),
            failed: current.clone(),
            failures: vec![0; scores.len()],
            current,
            lane_scores: scores.clone(),
            scores,
            fresh,
            symmetric,
            separates,
            tighter: vec![FIRST_TIGHTER; offsets[groups.len()]],
            disrupted: vec![false; offsets[groups.len()]],
            starts_afresh: !separates && groups.iter().any(|group| group.from.is_none()),
            squeezes: 0,
            steps: 0,
            step: Duration::ZERO,
            offsets,
            task,
        })
    }

    /// Searches until the budget is used up, the limit reached, or `reached` returns true. It is called after every
    /// squeeze. If time is limited, it also does so before the first one. Islands end together, with
    /// the first of them.
    pub fn run(
        &mut self,
        start: Instant,
        limit: &Limit,
        island: Option<&Island<'_>>,
        mut reached: impl FnMut(&Self) -> Result<bool, PackError>,
    ) -> Result<(), PackError> {
        // Set when a launch was stopped, which happens at the limit, or there is no need to go on.
        let mut stopped = false;
        if limit.deadline.is_some() && !limit.reached() && !self.by_fields {
            stopped = unless_stopped(self.measure())?.is_none();
            stopped |= reached(self)?;
        }
        loop {
            let left = match self.task.budget {
                Budget::Steps(all) => all.saturating_sub(self.steps),
                Budget::Time(_) => usize::MAX,
            };
            let ends = left == 0 || stopped || limit.reached();
            let meets = ends || self.squeezes > 0 && self.squeezes.is_multiple_of(self.exchanges());
            let goes_on = match island.filter(|_| meets) {
                Some(island) => island.all(!ends)?,
                None => !ends,
            };
            if !goes_on {
                return Ok(());
            }
            if let Some(island) = island.filter(|_| meets) {
                self.trade(island)?;
            }
            let budget = self.task.budget;
            let share = |steps: usize| match budget {
                Budget::Steps(all) => steps as f64 / all as f64,
                Budget::Time(time) => start.elapsed().as_secs_f64() / time.as_secs_f64(),
            };
            let left = match limit.deadline {
                Some(deadline) => left.min(self.fitting(deadline)),
                None => left,
            };
            if self.by_fields {
                let now = share(self.steps);
                stopped = unless_stopped(self.explore(now, left, limit))?.is_none();
                self.squeezes += 1;
                stopped |= reached(self)?;
                continue;
            }
            let first = self.squeezes == 0 || self.starts_afresh && share(self.steps) < STARTING;
            let tried = unless_stopped(self.tried(left, first, limit))?;
            stopped = tried.is_none();
            if let Some(tried) = tried.flatten() {
                self.choose(&tried, if first { 0.0 } else { 1.0 - share(self.steps).min(1.0) });
            }
            self.squeezes += 1;
            if !first && self.squeezes.is_multiple_of(self.exchanges()) {
                self.exchange();
            }
            stopped |= reached(self)?;
        }
    }

    /// Changes all packings and squeezes them, by at most `most` steps. Returns the result, if it is one to choose from.
    fn tried(&mut self, most: usize, first: bool, limit: &Limit) -> Result<Option<State>, PackError> {
        if self.separates {
            return self.tighten(most, limit).map(Some);
        }
        let whole = self.squeeze(most, first, limit)?;
        // Half of the first squeeze is progress. Half of a later one only undoes a part of its changes.
        if whole || self.squeezes == 0 { self.lanes.state().map(Some) } else { Ok(None) }
    }

    /// Number of steps that may be taken before the next look at the results: a part of those that
    /// fit into the time left, on slow devices.
    fn fitting(&self, deadline: Instant) -> usize {
        let time = deadline.saturating_duration_since(Instant::now()).mul_f64(PART).max(LEAST_TIME);
        ((time.as_secs_f64() / self.step.as_secs_f64().max(1e-9)) as usize).max(1)
    }

    /// Measures the duration of a step. Starts that have all copies in place, as those cut out of
    /// lattices, count as results.
    fn measure(&mut self) -> Result<(), PackError> {
        self.lanes.set(self.current.poses.clone(), &self.current.sides)?;
        let whole = |lane: &usize| self.fresh[*lane].as_ref().is_some_and(Vec::is_empty);
        let starts = self.lanes.state()?;
        for lane in (0..self.fresh.len()).filter(whole) {
            self.lane_scores[lane] = self.score(&starts, lane);
            self.best.take(&starts, lane);
        }
        let (limit, schedule) = (Limit::default(), Squeeze::new(self.task.problem, RATE, Some(PRESSURE)));
        // The first step compiles kernels.
        self.lanes.squeeze(&Squeeze { steps: 1, ..schedule }, &limit)?;
        let start = Instant::now();
        self.lanes.squeeze(&Squeeze { steps: MEASURED, ..schedule }, &limit)?;
        self.step = start.elapsed() / MEASURED as u32;
        Ok(())
    }

    /// Estimates the scale without overlaps. Overlaps grow by the square of their depth.
    /// At rest under pressure, removing them takes twice their area over the pressure.
    pub(super) fn score(&self, tried: &State, lane: usize) -> f64 {
        let pressure = PRESSURE[1] * self.task.problem.radius * self.task.problem.pressure;
        tried.sides[lane] + 2.0 * tried.energies[lane] / pressure
    }

    /// Number of squeezes after which packings replace worse ones, and islands meet.
    pub(super) fn exchanges(&self) -> usize {
        if self.separates { APART_EXCHANGE } else { EXCHANGE }
    }

    /// Keeps the tried packings that are good enough.
    fn choose(&mut self, tried: &State, warmth: f64) {
        for lane in 0..self.randoms.len() {
            let score = self.score(tried, lane);
            let kept = self.scores[lane];
            let warmth = WARMTH * warmth / (tried.poses(lane).len() as f64).sqrt();
            let chance = self.randoms[lane].unit();
            if kept.is_infinite() || score < kept - warmth * kept * chance.ln() {
                self.scores[lane] = score;
                self.current.take(tried, lane);
            }
            if score < self.lane_scores[lane] {
                self.lane_scores[lane] = score;
                self.best.take(tried, lane);
            }
        }
    }

    /// The lanes of a group.
    pub(super) fn group(&self, group: usize) -> Range<usize> {
        self.offsets[group]..self.offsets[group + 1]
    }

    /// The lane that has had a group's best packing.
    pub(super) fn best_lane(&self, group: usize) -> usize {
        self.best_of(self.group(group))
    }

    /// The lane of a range that has had the best packing.
    pub(super) fn best_of(&self, Range { start, end }: Range<usize>) -> usize {
        (start..end).min_by(|&a, &b| self.lane_scores[a].total_cmp(&self.lane_scores[b])).unwrap_or(start)
    }

    /// The lane with the worst packing of a group, among those that need not be symmetric.
    pub(super) fn worst_lane(&self, group: usize) -> Option<usize> {
        let free = self.group(group).filter(|&lane| !self.symmetric[lane]);
        free.max_by(|&a, &b| self.scores[a].total_cmp(&self.scores[b]))
    }

    /// Each group's best score so far.
    pub fn best_scores(&self) -> impl Iterator<Item = f64> {
        (0..self.task.groups.len()).map(|group| self.lane_scores[self.best_lane(group)])
    }

    /// For each of these groups, splits its lanes into `runs` runs, and returns the best packing of
    /// each. Lanes that are far apart in the ring have little in common: one may need less room to
    /// become valid than another.
    pub fn best(&self, groups: impl IntoIterator<Item = usize>, runs: usize) -> Finalists {
        let mut finalists = Finalists::default();
        for group in groups {
            let lanes = self.group(group);
            let runs = runs.min(lanes.len());
            let start = |run: usize| lanes.start + run * lanes.len() / runs;
            for run in 0..runs {
                let lane = self.best_of(start(run)..start(run + 1));
                finalists.state.push(self.best.poses(lane), self.best.sides[lane], self.best.energies[lane]);
                finalists.groups.push(group);
            }
        }
        finalists
    }
}

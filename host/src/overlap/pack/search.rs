//! The search: squeezes, changes and choices.
//!
//! There are groups of lanes, one for each number of copies.

use std::{f64::consts::TAU, ops::Range, time::Instant};

use rayon::prelude::*;

use super::{
    Budget, PackError, Packing,
    islands::{Island, read, written},
    lanes::{LaneReal, Lanes, Limit, Squeeze, State},
    moves::{change, exchange},
    problem::Problem,
    separate,
    starts::{Cuts, mirror, paired},
    valid::Finalists,
};
use crate::{
    common::Cancel,
    device::Device,
    overlap::{Periodic, random::Random},
};

/// For this share of the budget, lanes get new starts, of which each keeps the best.
const STARTING: f64 = 0.2;
/// Steps of a squeeze.
const SQUEEZE: usize = 1000;
/// Those of one of a new start.
const FIRST_SQUEEZE: usize = 1800;
/// Rates at the start and the end of a squeeze, in units of the shape's radius.
const RATE: [f64; 2] = [0.02, 1e-4];
/// Pressures at the start and the end of a squeeze, in the same unit.
const PRESSURE: [f64; 2] = [0.2, 3e-3];
/// What copies cover of the container that they are thrown into.
const FIRST_DENSITY: f64 = 0.4;
/// A container is made larger by up to this share before it is squeezed again.
const GROWTH: f64 = 0.02;
/// Packings that are larger by this share over the root of their number of copies, at the start of the search, are kept
/// with a chance of 1 in e.
const WARMTH: f64 = 0.015;
/// After this many squeezes packings take the places of worse ones, and islands meet.
const EXCHANGE: usize = 8;
/// From so many copies on, lattices are worth a start; beyond, no others are.
const LATTICES_FROM: usize = 12;
const LATTICES_ONLY: usize = 40;
/// So often a packing that takes the place of a worse one takes a part of it alone; of the copies, at most one and one
/// in so many are then placed anew.
const CROSSED: f64 = 0.5;
const MOST_LOST: usize = 12;
/// Lattices that cover less than this share of what the densest one does are not cut.
const WORTH: f64 = 0.93;
/// So much larger is a packing that comes from one with a copy less, at most, in units of what its number asks for.
const PASSED: f64 = 1.1;

/// How many copies look for places in each packing that has loose ones, and how: steps, and rates in units of the
/// radius.
const PROBES: usize = 64;
const PROBE_STEPS: usize = 60;
const PROBE_RATE: [f64; 2] = [0.1, 0.01];
/// Two that are nearer to each other than this, in units of the radius, are in the same place.
const APART: f64 = 0.5;

/// What copies of several shapes cover of the container that they are thrown into, as they are taken apart at once.
const APART_DENSITY: f64 = 0.5;
/// Rounds in which copies are taken apart before they are squeezed, at most, and as how many steps of a squeeze each counts.
const ROUNDS: usize = 40;
const ROUND: usize = 20;
/// By what share a container is made smaller before copies are taken apart, and whenever they are, at least and at most.
const TIGHTER: [f64; 2] = [0.002, 0.012];
/// The same of the first ones.
const FIRST_TIGHTER: [f64; 2] = [0.01, 0.04];
/// So often copies take each other's places before, up to so many pairs.
const DISRUPTED: f64 = 0.5;
const MOST_EXCHANGED: usize = 3;
/// Steps, rates and pressures of squeezes of copies that are apart.
const APART_SQUEEZE: usize = 600;
const APART_RATE: f64 = 0.01;
const APART_PRESSURE: [f64; 2] = [0.03, PRESSURE[1]];
/// After this many of them, packings take the places of worse ones.
const APART_EXCHANGE: usize = 1;

/// What to search for.
pub struct Task<'a> {
    pub problem: &'a Problem,
    pub groups: Vec<Group>,
    pub seed: u64,
    pub budget: Budget,
}

/// One number of copies.
pub struct Group {
    /// The shape of each.
    pub kinds: Vec<u32>,
    /// How many lanes it has.
    pub starts: usize,
    /// What to go on from.
    pub from: Option<Packing>,
}

impl Group {
    pub fn count(&self) -> usize {
        self.kinds.len()
    }

    /// Whether a lane, by its number in the group, has a packing that half a turn takes to itself, and its number among
    /// those that have or haven't: of even numbers of copies, the first half of the lanes does.
    fn role(&self, problem: &Problem, lane: usize) -> (bool, usize) {
        let half = if problem.is_symmetric() && self.count().is_multiple_of(2) { self.starts / 2 } else { 0 };
        if lane < half { (true, lane) } else { (false, lane - half) }
    }

    /// The packing that a lane goes on from, and its scale: of a group that has one to go on from, one lane in four
    /// starts afresh.
    fn goes_on(&self, problem: &Problem, lane: usize) -> Option<(Vec<[f64; 3]>, f64)> {
        let (pairs, number) = self.role(problem, lane);
        let from = self.from.as_ref().filter(|_| number % 4 != 3)?;
        let poses = problem.about_centers(&self.kinds, &from.poses);
        Some((if pairs { paired(&poses)? } else { poses }, from.side))
    }
}

/// A search under way.
pub struct Search<'a, T: LaneReal> {
    task: &'a Task<'a>,
    /// Where each group's lanes start, and the end.
    offsets: Vec<usize>,
    lanes: Lanes<T>,
    source: Source<'a>,
    /// Each lane's random numbers, and those for choices between lanes.
    randoms: Vec<Random>,
    choices: Random,
    /// What each lane goes on from, and its score.
    current: State,
    scores: Vec<f64>,
    /// The best that each lane has had.
    best: State,
    best_scores: Vec<f64>,
    /// Lanes that have something to squeeze as it is, and their poses that are still to be placed.
    fresh: Vec<Option<Vec<usize>>>,
    /// Lanes whose packings half a turn takes to themselves.
    symmetric: Vec<bool>,
    /// Whether copies are taken apart before they are squeezed.
    separates: bool,
    /// Whether there is a group that doesn't go on from anything.
    starts_afresh: bool,
    squeezes: usize,
    pub steps: usize,
}

/// A packing that was never squeezed: its poses, the container's scale, and which poses are still to be placed.
type Start = (Vec<[f64; 3]>, f64, Vec<usize>);

/// What packings start from: copies thrown into containers, or cut out of lattices.
struct Source<'a> {
    task: &'a Task<'a>,
    /// Those that are worth a cut.
    lattices: Vec<Periodic>,
    /// What copies cover of the container that they are thrown into.
    density: f64,
    seed: u64,
}

impl<'a> Source<'a> {
    fn new(task: &'a Task<'a>, density: f64, seed: u64, cancel: &Cancel) -> Self {
        let mut source = Source { task, lattices: Vec::new(), density, seed };
        if source.cut().next().is_some() {
            source.lattices = lattices(task.problem, seed, cancel);
        }
        source
    }

    /// The groups that are cut out of lattices, which are of one shape.
    fn cut(&self) -> impl Iterator<Item = &Group> {
        let Task { problem, groups, .. } = self.task;
        groups.iter().filter(|group| group.count() >= LATTICES_FROM && problem.shapes.len() == 1)
    }

    /// A start for each lane of which `wanted`, given its group and its number there, says that it is to have one.
    fn round(&self, number: usize, randoms: &mut [Random], wanted: impl Fn(&Group, usize) -> bool + Sync) -> Vec<Option<Start>> {
        let Task { problem, groups, .. } = self.task;
        let counts = self.cut().map(Group::count).min().zip(self.cut().map(Group::count).max());
        let most_starts = self.cut().map(|group| group.starts).max().unwrap_or(0);
        let numbers = [self.seed, number as u64];
        let cuts = counts.map(|(least, most)| Cuts::new(problem, &self.lattices, least..=most, most_starts, numbers));
        let start = |(random, (group, lane)): (&mut Random, (&Group, usize))| {
            if !wanted(group, lane) {
                return None;
            }
            let (count, (pairs, number)) = (group.count(), group.role(problem, lane));
            let cuts = cuts.as_ref().filter(|_| match count {
                ..LATTICES_FROM => false,
                LATTICES_FROM..LATTICES_ONLY => number.is_multiple_of(2),
                LATTICES_ONLY.. => true,
            });
            let cut = cuts.and_then(|cuts| cuts.start(random, lane, count, pairs, number % 4 == 0));
            Some(cut.unwrap_or_else(|| {
                let most = problem.shapes.iter().map(|shape| shape.radius()).fold(0.0, f64::max);
                let container = &problem.container;
                let side = container.scale_of(problem.area(&group.kinds) / self.density).max(container.scale_around_circle(most));
                let mut poses = problem.scattered(random, if pairs { count / 2 } else { count }, side);
                if pairs {
                    mirror(&mut poses);
                }
                (poses, side, Vec::new())
            }))
        };
        let lanes: Vec<(&Group, usize)> = lanes_of(groups).collect();
        randoms.par_iter_mut().zip(lanes).map(start).collect()
    }
}

impl<'a, T: LaneReal> Search<'a, T> {
    /// A search whose random numbers start at `seed`.
    pub fn new(device: &Device, task: &'a Task<'a>, seed: u64, cancel: &Cancel) -> Result<Self, PackError> {
        let Task { problem, groups, .. } = task;
        let mut offsets = vec![0];
        for group in groups {
            offsets.push(offsets[offsets.len() - 1] + group.starts);
        }
        let separates = problem.shapes.len() > 1 && separate::can(problem, &offsets);
        let source = Source::new(task, if separates { APART_DENSITY } else { FIRST_DENSITY }, seed, cancel);
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
        Ok(Search {
            lanes: Lanes::new(device, problem, &current.offsets, kinds_of(groups), matches!(task.budget, Budget::Steps(_)))?,
            source,
            randoms,
            choices: Random::new(seed, u64::MAX),
            best: current.clone(),
            current,
            best_scores: scores.clone(),
            scores,
            fresh,
            symmetric,
            separates,
            starts_afresh: !separates && groups.iter().any(|group| group.from.is_none()),
            squeezes: 0,
            steps: 0,
            offsets,
            task,
        })
    }

    /// Searches until the budget is used up, or to the limit; calls `reached` after every squeeze. An island ends with
    /// the first of all.
    pub fn run(
        &mut self,
        start: Instant,
        limit: &Limit,
        island: Option<&Island<'_>>,
        mut reached: impl FnMut(&Self) -> Result<(), PackError>,
    ) -> Result<(), PackError> {
        loop {
            let left = match self.task.budget {
                Budget::Steps(all) => all - self.steps,
                Budget::Time(_) => usize::MAX,
            };
            let ends = left == 0 || limit.reached();
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
            let first = self.squeezes == 0 || self.starts_afresh && share(self.steps) < STARTING;
            let whole = match self.separates {
                // What it leaves can be chosen from at any time.
                true => self.tighten(left, limit).map(|()| true)?,
                false => self.squeeze(left, first, limit)?,
            };
            // The first one is the better for half a squeeze; later ones are the worse for their changes.
            if whole || self.squeezes == 0 {
                let tried = self.lanes.state()?;
                self.choose(&tried, if first { 0.0 } else { 1.0 - share(self.steps).min(1.0) });
            }
            self.squeezes += 1;
            if !first && self.squeezes.is_multiple_of(self.exchanges()) {
                self.exchange();
            }
            reached(self)?;
        }
    }

    /// Changes all packings, unless they are new, and squeezes them by at most this many steps. Says whether it went
    /// all the way.
    fn squeeze(&mut self, most: usize, first: bool, limit: &Limit) -> Result<bool, PackError> {
        let Task { problem, groups, .. } = self.task;
        let Search { randoms, fresh, current, symmetric, source, .. } = self;
        let starts = match first && self.squeezes > 0 {
            true => source.round(self.squeezes, randoms, |group, lane| group.goes_on(problem, lane).is_none()),
            false => vec![None; randoms.len()],
        };
        let kinds: Vec<&[u32]> = kinds_of(groups).collect();
        let changed = |(lane, (random, fresh)): (usize, (&mut Random, &mut Option<Vec<usize>>))| {
            if let Some(start) = &starts[lane] {
                return start.clone();
            }
            let (mut poses, side) = (current.poses(lane).to_vec(), current.sides[lane]);
            if let Some(fresh) = fresh.take() {
                return (poses, side, fresh);
            }
            let own = if symmetric[lane] { poses.len() / 2 } else { poses.len() };
            let moved = change(random, problem, kinds[lane], &mut poses, own);
            if symmetric[lane] {
                poses.truncate(own);
                mirror(&mut poses);
            }
            (poses, side * (1.0 + GROWTH * random.unit()), moved)
        };
        let changed: Vec<_> = randoms.par_iter_mut().zip(fresh).enumerate().map(changed).collect();
        let (mut state, mut loose) = (State::default(), Vec::with_capacity(changed.len()));
        for (poses, side, moved) in changed {
            state.push(&poses, side, 0.0);
            loose.push(moved);
        }
        self.place(&mut state, &loose)?;
        let steps = most.min(if first { FIRST_SQUEEZE } else { SQUEEZE });
        let schedule = Squeeze { steps, ..Squeeze::new(problem, RATE, Some(PRESSURE)) };
        self.lanes.set(state.poses, &state.sides)?;
        let taken = self.lanes.squeeze(&schedule, limit)?;
        self.steps += taken;
        Ok(taken == schedule.steps)
    }

    /// After how many squeezes packings take the places of worse ones, and islands meet.
    fn exchanges(&self) -> usize {
        if self.separates { APART_EXCHANGE } else { EXCHANGE }
    }

    /// Makes all packings' containers smaller, takes their copies apart, and squeezes what comes of it, by at most so many
    /// steps.
    fn tighten(&mut self, most: usize, limit: &Limit) -> Result<(), PackError> {
        let Task { problem, groups, .. } = self.task;
        let Search { randoms, fresh, current, .. } = self;
        let kinds: Vec<&[u32]> = kinds_of(groups).collect();
        let changed = |(lane, (random, fresh)): (usize, (&mut Random, &mut Option<Vec<usize>>))| {
            let (mut poses, mut side) = (current.poses(lane).to_vec(), current.sides[lane]);
            let new = fresh.take().is_some();
            let [least, most] = if new { FIRST_TIGHTER } else { TIGHTER };
            let factor = 1.0 - random.between(least, most);
            if !new {
                if random.unit() < DISRUPTED {
                    for _ in 0..=random.below(MOST_EXCHANGED) {
                        exchange(random, &problem.turns, kinds[lane], &mut poses);
                    }
                }
                let across = if problem.container.width().is_some() { 1.0 } else { factor };
                for [x, y, theta] in &mut poses {
                    (*x, *y) = (*x * across, *y * factor);
                    *theta -= TAU * (*theta / TAU).round();
                }
                side *= factor;
            }
            (poses, side, factor)
        };
        let changed: Vec<_> = randoms.par_iter_mut().zip(fresh).enumerate().map(changed).collect();
        let (mut state, mut factors) = (State::default(), Vec::with_capacity(changed.len()));
        for (poses, side, factor) in changed {
            state.push(&poses, side, 0.0);
            factors.push(factor);
        }
        self.lanes.set(state.poses, &state.sides)?;
        let rounds = ROUNDS.min(most / (2 * ROUND));
        let seed = (self.choices.unit() * 2f64.powi(53)) as u64;
        let taken = self.lanes.separate(problem, (&factors, rounds, seed), limit)? * ROUND;
        let schedule = Squeeze {
            steps: APART_SQUEEZE.min(most - taken),
            ..Squeeze::new(problem, [APART_RATE, RATE[1]], Some(APART_PRESSURE))
        };
        self.steps += taken + self.lanes.squeeze(&schedule, limit)?;
        Ok(())
    }

    /// Puts loose poses of every lane where there is most room for them.
    fn place(&mut self, state: &mut State, loose: &[Vec<usize>]) -> Result<(), PackError> {
        if loose.iter().all(Vec::is_empty) {
            return Ok(());
        }
        let Task { problem, groups, .. } = self.task;
        // Meanwhile they are out of the way.
        let mut placed = state.clone();
        for (lane, loose) in loose.iter().enumerate() {
            let away = problem.away(placed.sides[lane]);
            let poses = placed.poses_mut(lane);
            let half = poses.len() / 2;
            for &pose in loose {
                poses[pose] = away;
                if self.symmetric[lane] {
                    poses[half + pose] = away;
                }
            }
        }
        let kinds: Vec<&[u32]> = kinds_of(groups).collect();
        // As many for each loose pose.
        let probe_kinds = |(kinds, loose): (&&[u32], &Vec<usize>)| -> Vec<u32> {
            (0..PROBES).map(|probe| loose.get(probe % loose.len().max(1)).map_or(0, |&pose| kinds[pose])).collect()
        };
        let probe_kinds: Vec<u32> = kinds.iter().zip(loose).flat_map(probe_kinds).collect();
        let starts = |(random, (loose, &side)): (&mut Random, (&Vec<usize>, &f64))| -> Vec<[f64; 3]> {
            if loose.is_empty() { vec![problem.away(side); PROBES] } else { problem.scattered(random, PROBES, side) }
        };
        let starts: Vec<_> = self.randoms.par_iter_mut().zip(loose.par_iter().zip(&placed.sides)).map(starts).collect();
        self.lanes.set(placed.poses, &placed.sides)?;
        let schedule = Squeeze { steps: PROBE_STEPS, ..Squeeze::new(problem, PROBE_RATE, None) };
        let (found, energies) = self.lanes.probe(starts.concat(), &probe_kinds, &schedule)?;
        // For each loose pose a place that is free, if there is one.
        let places = |(lane, loose): (usize, &Vec<usize>)| {
            let probes = lane * PROBES..(lane + 1) * PROBES;
            let mut order: Vec<usize> = probes.collect();
            order.sort_by(|&a, &b| energies[a].total_cmp(&energies[b]));
            let (mut taken, mut places): (Vec<[f64; 3]>, Vec<_>) = (Vec::new(), Vec::new());
            for &pose in loose {
                let free = |probe: &&usize| {
                    let [x, y, _] = found[**probe];
                    probe_kinds[**probe] == kinds[lane][pose]
                        && taken.iter().all(|other| (other[0] - x).hypot(other[1] - y) > APART * problem.radius)
                };
                let Some(&probe) = order.iter().find(free) else { continue };
                let mut pair = vec![found[probe]];
                if self.symmetric[lane] {
                    mirror(&mut pair);
                }
                taken.extend(&pair);
                places.push((pose, pair));
            }
            places
        };
        let places: Vec<_> = loose.par_iter().enumerate().map(places).collect();
        for (lane, places) in places.into_iter().enumerate() {
            let poses = state.poses_mut(lane);
            let half = poses.len() / 2;
            for (pose, pair) in places {
                for (k, place) in pair.into_iter().enumerate() {
                    poses[k * half + pose] = place;
                }
            }
        }
        Ok(())
    }

    /// Keeps of what was tried what is good enough.
    fn choose(&mut self, tried: &State, warmth: f64) {
        let pressure = PRESSURE[1] * self.task.problem.radius * self.task.problem.pressure;
        for (lane, random) in self.randoms.iter_mut().enumerate() {
            // The side at which nothing would overlap any more: where overlaps grow by the square of their depth, at
            // rest under pressure, that takes twice what they come to over the pressure.
            let score = tried.sides[lane] + 2.0 * tried.energies[lane] / pressure;
            let kept = self.scores[lane];
            let warmth = WARMTH * warmth / (tried.poses(lane).len() as f64).sqrt();
            let chance = random.unit();
            if kept.is_infinite() || score < kept - warmth * kept * chance.ln() {
                self.scores[lane] = score;
                self.current.take(tried, lane);
            }
            if score < self.best_scores[lane] {
                self.best_scores[lane] = score;
                self.best.take(tried, lane);
            }
        }
    }

    /// The lanes of a group.
    fn group(&self, group: usize) -> Range<usize> {
        self.offsets[group]..self.offsets[group + 1]
    }

    /// Lanes stand in a ring, and every other pair of neighbours comes to have the better packing of both: what is good
    /// spreads, but slowly. Then each group's worst lane that need not be symmetric gets a packing from the group with a
    /// copy more or less.
    fn exchange(&mut self) {
        let odd = (self.squeezes / self.exchanges()) % 2;
        for group in 0..self.task.groups.len() {
            let lanes = self.group(group);
            for pair in 0..lanes.len() / 2 {
                let [one, other] = [0, 1].map(|k| lanes.start + (2 * pair + odd + k) % lanes.len());
                let (from, to) = if self.scores[one] < self.scores[other] { (one, other) } else { (other, one) };
                if self.choices.unit() < 0.5 && !(!self.separates && self.choices.unit() < CROSSED && self.cross(from, to)) {
                    self.spread(from, to);
                }
            }
        }
        for group in 0..self.task.groups.len() {
            if self.group(group).len() > 1 {
                self.pass(group);
            }
        }
    }

    /// Gets the best packing of each number from the island before, and puts it in the place of the worst.
    fn trade(&mut self, island: &Island<'_>) -> Result<(), PackError> {
        let mut numbers = Vec::new();
        for group in 0..self.task.groups.len() {
            let lane = self.best_lane(group);
            numbers.push(self.best_scores[lane]);
            numbers.extend(written(self.best.sides[lane], self.best.poses(lane)));
        }
        let found = island.neighbours(&numbers)?;
        let mut rest = &found[..];
        for group in 0..self.task.groups.len() {
            let score = rest[0];
            rest = &rest[1..];
            let (side, poses) = read(&mut rest, self.task.groups[group].count());
            let Some(to) = self.worst_lane(group).filter(|&lane| score < self.scores[lane]) else { continue };
            self.current.poses_mut(to).copy_from_slice(&poses);
            self.current.sides[to] = side;
            (self.scores[to], self.fresh[to]) = (score, None);
            if score < self.best_scores[to] {
                self.best_scores[to] = score;
                self.best.take(&self.current, to);
            }
        }
        Ok(())
    }

    /// The lane that has had a group's best packing.
    fn best_lane(&self, group: usize) -> usize {
        self.best_of(self.group(group))
    }

    /// The one of these lanes that has had the best packing.
    fn best_of(&self, Range { start, end }: Range<usize>) -> usize {
        (start..end).min_by(|&a, &b| self.best_scores[a].total_cmp(&self.best_scores[b])).unwrap_or(start)
    }

    /// The lane of a group's worst packing that need not be symmetric.
    fn worst_lane(&self, group: usize) -> Option<usize> {
        let free = self.group(group).filter(|&lane| !self.symmetric[lane]);
        free.max_by(|&a, &b| self.scores[a].total_cmp(&self.scores[b]))
    }

    /// Puts a lane's packing in the place of another one's, unless that is to be symmetric and it isn't.
    fn spread(&mut self, from: usize, to: usize) {
        if self.symmetric[to] && !self.symmetric[from] {
            let Some(poses) = paired(self.current.poses(from)) else { return };
            self.current.poses_mut(to).copy_from_slice(&poses);
            self.current.sides[to] = self.current.sides[from];
        } else {
            self.current.spread(from, to);
        }
        self.scores[to] = self.scores[from];
    }

    /// Puts a part of a lane's packing in the place of that part of another one's: what is beyond a line or, of packings
    /// that half a turn takes to themselves, outside of a band. Copies that have none are placed anew. Says whether it
    /// could.
    fn cross(&mut self, from: usize, to: usize) -> bool {
        let pairs = self.symmetric[to];
        if pairs && !self.symmetric[from] || self.scores[from] == self.scores[to] || self.scores[to].is_infinite() {
            return false;
        }
        let (sine, cosine) = self.choices.between(0.0, TAU).sin_cos();
        let Task { problem, groups, .. } = self.task;
        let line = self.choices.between(-0.3, 0.3) * problem.container.area(self.current.sides[to]).sqrt();
        let beyond = |[x, y, _]: &[f64; 3]| {
            let along = cosine * x + sine * y;
            if pairs { along.abs() > line.abs() } else { along > line }
        };
        let kinds = &groups[self.offsets.partition_point(|&offset| offset <= to) - 1].kinds;
        let count = kinds.len();
        let part = |lane: usize, side: bool| {
            let all = self.current.poses(lane).iter().zip(kinds);
            all.filter(move |(pose, _)| beyond(pose) == side).map(|(pose, &kind)| (*pose, kind as usize))
        };
        let mut chosen: Vec<_> = part(from, true).collect();
        let taken = chosen.len();
        chosen.extend(part(to, false));
        if taken == 0 || taken == count || chosen.len() > count || count - chosen.len() > 1 + count / MOST_LOST {
            return false;
        }
        let (mut poses, mut loose) = (vec![problem.away(self.current.sides[to]); count], Vec::new());
        if pairs {
            let Some(paired) = paired(&chosen.iter().map(|(pose, _)| *pose).collect::<Vec<_>>()) else { return false };
            let own = &paired[..paired.len() / 2];
            poses.truncate(count / 2);
            poses[..own.len()].copy_from_slice(own);
            loose.extend(own.len()..count / 2);
            mirror(&mut poses);
        } else {
            // Copies of one shape are next to each other.
            let first = |kind: usize| kinds.partition_point(|&other| (other as usize) < kind);
            let mut next: Vec<usize> = (0..problem.shapes.len()).map(first).collect();
            for (pose, kind) in chosen {
                if next[kind] == first(kind + 1) {
                    return false;
                }
                poses[next[kind]] = pose;
                next[kind] += 1;
            }
            loose.extend(next.into_iter().enumerate().flat_map(|(kind, from)| from..first(kind + 1)));
        }
        self.current.poses_mut(to).copy_from_slice(&poses);
        self.current.sides[to] = self.current.sides[to].max(self.current.sides[from]);
        // Whatever comes of it is taken.
        self.scores[to] = f64::INFINITY;
        self.fresh[to] = Some(loose);
        true
    }

    /// Gives a group's worst lane the best packing of the group with a copy more, without that copy, or of that with
    /// a copy less and one thrown in.
    fn pass(&mut self, group: usize) {
        let Task { problem, groups, .. } = self.task;
        let count = groups[group].count();
        let wanted = if self.choices.unit() < 0.6 { count + 1 } else { count - 1 };
        let Some(other) = groups.iter().position(|group| group.count() == wanted) else { return };
        let from = self.best_lane(other);
        let Some(to) = self.worst_lane(group) else { return };
        let side = self.best.sides[from];
        if self.best_scores[from].is_infinite() || side > PASSED * self.scores[to] {
            return;
        }
        let mut poses = self.best.poses(from).to_vec();
        let loose = if wanted > count { Vec::new() } else { vec![count - 1] };
        if wanted > count {
            // One of those that stand farthest out.
            let reach = |pose: &[f64; 3]| problem.container.level([pose[0], pose[1]]);
            let mut order: Vec<usize> = (0..poses.len()).collect();
            order.sort_by(|&a, &b| reach(&poses[b]).total_cmp(&reach(&poses[a])));
            poses.swap_remove(order[self.choices.below(poses.len().min(8))]);
        } else {
            poses.push(problem.away(side));
        }
        self.current.poses_mut(to).copy_from_slice(&poses);
        self.current.sides[to] = side;
        // Whatever comes of it is taken.
        self.scores[to] = f64::INFINITY;
        self.fresh[to] = Some(loose);
    }

    /// The least score of a group.
    pub fn best_score(&self, group: usize) -> f64 {
        self.best_scores[self.best_lane(group)]
    }

    /// Of each of these groups, the best packing of each of so many runs of lanes. Lanes that are far apart in the ring have
    /// little in common: one may be valid with little more room where another isn't.
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

/// The groups, and numbers there, of all lanes.
fn lanes_of(groups: &[Group]) -> impl Iterator<Item = (&Group, usize)> {
    groups.iter().flat_map(|group| (0..group.starts).map(move |number| (group, number)))
}

/// The shapes of each lane's copies.
fn kinds_of(groups: &[Group]) -> impl Iterator<Item = &[u32]> {
    groups.iter().flat_map(|group| std::iter::repeat_n(&group.kinds[..], group.starts))
}

/// The lattices to cut, the densest first.
fn lattices(problem: &Problem, seed: u64, cancel: &Cancel) -> Vec<Periodic> {
    let mut lattices = Periodic::doubles_turned(&problem.squeezed[0], problem.turns, seed, cancel);
    let densest = lattices[0].density;
    lattices.retain(|lattice| lattice.density > WORTH * densest);
    lattices
}

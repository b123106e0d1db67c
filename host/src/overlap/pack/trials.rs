//! Trials: changes of all lanes' packings, and their squeezes.

use rayon::prelude::*;

use super::{
    PackError,
    limit::Limit,
    moves::{change, exchange},
    problem::Problem,
    search::{PRESSURE, RATE, Search},
    separate::Plan,
    state::State,
    symmetry::mirror,
    task::{Task, kinds_of},
    turns::unwound,
    walk::Squeeze,
};
use crate::overlap::random::Random;

/// Steps of a squeeze, and of the first squeeze of a new start.
const SQUEEZE: usize = 1000;
const FIRST_SQUEEZE: usize = 1800;
/// Maximum growth of a container before the next squeeze, as a share of its scale.
const GROWTH: f64 = 0.02;

/// Number of copies that look for places in each packing. They take this many steps, with rates in
/// units of the radius.
const PROBES: usize = 64;
const PROBE_STEPS: usize = 60;
const PROBE_RATE: [f64; 2] = [0.1, 0.01];
/// Maximum share of the time left that they may take.
const PLACING: f64 = 0.1;
/// Two places that are nearer to each other than this are the same, in units of the radius.
const APART: f64 = 0.5;

/// Maximum number of rounds of a separation, and the number of steps that each counts as.
const ROUNDS: usize = 40;
const ROUND: usize = 20;
/// The number of steps that a round by fields counts as.
pub(super) const FIELD_ROUND: usize = 2;
/// Range of a container's shrinkage before a separation and whenever copies are apart, as a share
/// of its scale.
const TIGHTER: [f64; 2] = [0.002, 0.012];
/// The same for new starts.
const FIRST_TIGHTER: [f64; 2] = [0.01, 0.04];
/// Probability that pairs of copies exchange places before, and the maximum number of pairs.
const DISRUPTED: f64 = 0.5;
const MOST_EXCHANGED: usize = 3;
/// The container's growth before the separation that checks a squeezed packing, and its shrinkage
/// in it.
const CHECKED: f64 = 5e-4;
/// Number of times that a packing whose copies could not be separated is tried again, changed.
const MOST_FAILURES: usize = 3;
/// Steps, rates and pressures of the squeeze after a separation.
const APART_SQUEEZE: usize = 600;
const APART_RATE: f64 = 0.01;
const APART_PRESSURE: [f64; 2] = [0.03, PRESSURE[1]];
/// Steps that then push copies apart, and their rates. The container has grown by the room that
/// overlaps need.
const PUSHES: usize = 100;
const PUSH_RATE: [f64; 2] = [1e-3, 3e-6];

/// Moves copies as their container changes by this factor.
pub(super) fn scale<const N: usize>(problem: &Problem, poses: &mut [[f64; N]], factor: f64) {
    let across = if problem.container.width().is_some() { 1.0 } else { factor };
    for pose in poses {
        pose[0] *= across;
        pose[1] *= factor;
    }
}

impl Search<'_> {
    /// Changes all packings, unless they are new, and squeezes them by at most this many steps.
    /// Returns whether it was a whole squeeze.
    pub fn squeeze(&mut self, most: usize, first: bool, limit: &Limit) -> Result<bool, PackError> {
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
        self.place(&mut state, &loose, limit)?;
        let steps = most.min(if first { FIRST_SQUEEZE } else { SQUEEZE });
        let schedule = Squeeze { steps, ..Squeeze::new(problem, RATE, Some(PRESSURE)) };
        self.lanes.set(state.poses, &state.sides)?;
        let taken = self.lanes.squeeze(&schedule, limit)?;
        self.steps += taken;
        Ok(taken == schedule.steps)
    }

    /// Shrinks all packings' containers, and separates their copies. Squeezes the result, and
    /// separates it once more: a squeeze may leave overlaps that don't go away when the container
    /// grows. Takes at most this many steps, and returns the better packings.
    pub fn tighten(&mut self, most: usize, limit: &Limit) -> Result<State, PackError> {
        let Task { problem, groups, .. } = self.task;
        let Search { randoms, fresh, current, failed, failures, .. } = self;
        let kinds: Vec<&[u32]> = kinds_of(groups).collect();
        let changed = |(lane, (random, fresh)): (usize, (&mut Random, &mut Option<Vec<usize>>))| {
            let again = failures[lane] > 0 && failed.sides[lane] < current.sides[lane];
            let from = if again { &*failed } else { &*current };
            let (mut poses, mut side) = (from.poses(lane).to_vec(), from.sides[lane]);
            let new = fresh.take().is_some();
            let [least, most] = if new { FIRST_TIGHTER } else { TIGHTER };
            let factor = 1.0 - random.between(least, most);
            if !new {
                if again || random.unit() < DISRUPTED {
                    for _ in 0..=random.below(MOST_EXCHANGED) {
                        exchange(random, problem, kinds[lane], &mut poses);
                    }
                }
                if !again {
                    scale(problem, &mut poses, factor);
                    side *= factor;
                }
                for [_, _, theta] in &mut poses {
                    *theta = unwound(*theta);
                }
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
        let (taken, mut best) =
            self.apart((&factors, &vec![true; factors.len()]), (ROUNDS.min(most / (2 * ROUND)), true), limit)?;
        let left = most - taken;
        let schedule =
            Squeeze { steps: APART_SQUEEZE.min(left), ..Squeeze::new(problem, [APART_RATE, RATE[1]], Some(APART_PRESSURE)) };
        let squeezed = self.lanes.squeeze(&schedule, limit)?;
        self.steps += squeezed;
        let mut state = self.lanes.state()?;
        for lane in 0..factors.len() {
            let side = self.score(&state, lane).min(self.scores[lane] * (1.0 - 2.0 * CHECKED));
            let factor = side / state.sides[lane] * (1.0 + CHECKED);
            scale(problem, state.poses_mut(lane), factor);
            state.sides[lane] *= factor;
        }
        self.lanes.set(state.poses, &state.sides)?;
        let schedule = Squeeze { steps: PUSHES.min(left - squeezed), ..Squeeze::new(problem, PUSH_RATE, None) };
        let pushed = self.lanes.squeeze(&schedule, limit)?;
        self.steps += pushed;
        let left = left - squeezed - pushed;
        let (_, checked) = self.apart(
            (&vec![1.0 - CHECKED; factors.len()], &vec![true; factors.len()]),
            (ROUNDS.min(left / ROUND), true),
            limit,
        )?;
        for lane in 0..factors.len() {
            if self.score(&checked, lane) < self.score(&best, lane) {
                best.take(&checked, lane);
            }
            let fails = best.energies[lane] > 0.0;
            self.failures[lane] = if fails && self.failures[lane] < MOST_FAILURES { self.failures[lane] + 1 } else { 0 };
            if fails {
                self.failed.take(&best, lane);
            }
        }
        Ok(best)
    }

    /// Separates the lanes' copies in this many rounds, by areas if `exact`, or else by fields if there are some. Returns the
    /// number of steps that they count as, and the packings. Those whose copies are apart have no energy.
    pub(super) fn apart(
        &mut self,
        (factors, forgets): (&[f64], &[bool]),
        (rounds, exact): (usize, bool),
        limit: &Limit,
    ) -> Result<(usize, State), PackError> {
        let seed = (self.choices.unit() * 2f64.powi(53)) as u64;
        let (taken, least) = self.lanes.separate(Plan { factors, forgets, rounds, seed, exact }, limit)?;
        let steps = taken * if exact { ROUND } else { FIELD_ROUND };
        self.steps += steps;
        let mut state = if exact { self.lanes.state() } else { self.lanes.packings() }?;
        for (energy, least) in state.energies.iter_mut().zip(least) {
            *energy = match (least == 0.0, exact) {
                (true, _) => 0.0,
                (false, true) => *energy + self.task.problem.radius.powi(2),
                (false, false) => least,
            };
        }
        Ok((steps, state))
    }

    /// Moves loose poses of every lane to where there is most room for them. Looks for it in a part
    /// of the time until the limit.
    fn place(&mut self, state: &mut State, loose: &[Vec<usize>], limit: &Limit) -> Result<(), PackError> {
        if loose.iter().all(Vec::is_empty) {
            return Ok(());
        }
        let Task { problem, groups, .. } = self.task;
        // Meanwhile they are outside.
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
        // The same number for each loose pose.
        let probe_kinds = |(kinds, loose): (&&[u32], &Vec<usize>)| -> Vec<u32> {
            (0..PROBES).map(|probe| loose.get(probe % loose.len().max(1)).map_or(0, |&pose| kinds[pose])).collect()
        };
        let probe_kinds: Vec<u32> = kinds.iter().zip(loose).flat_map(probe_kinds).collect();
        let starts = |(random, (lane, loose)): (&mut Random, (usize, &Vec<usize>))| -> Vec<[f64; 3]> {
            let (side, kinds) = (placed.sides[lane], &probe_kinds[lane * PROBES..(lane + 1) * PROBES]);
            if loose.is_empty() { vec![problem.away(side); PROBES] } else { problem.scattered(random, kinds, side) }
        };
        let starts: Vec<_> = self.randoms.par_iter_mut().zip(loose.par_iter().enumerate()).map(starts).collect();
        self.lanes.set(placed.poses, &placed.sides)?;
        let schedule = Squeeze { steps: PROBE_STEPS, ..Squeeze::new(problem, PROBE_RATE, None) };
        let (found, energies) = self.lanes.probe(starts.concat(), &probe_kinds, &schedule, &limit.sooner(PLACING))?;
        // For each loose pose a free place, if there is one.
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
}

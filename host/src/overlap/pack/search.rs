//! The search: squeezes, changes and choices.

use std::time::Instant;

use super::{
    Budget, PackError, Progress, Settings,
    lanes::{Lanes, Limit, Squeeze, State},
    moves::{Random, change, scattered},
    valid::{Valid, about_center, squeezed},
};
use crate::device::Device;

/// Steps of a squeeze.
const SQUEEZE: usize = 600;
/// Those of the first one, which starts from nothing.
const FIRST_SQUEEZE: usize = 1800;
/// Rates at the start of the first squeeze, of others, and at the end of all, in units of the shape's radius.
const FIRST_RATE: f64 = 0.05;
const RATE: f64 = 0.02;
const LAST_RATE: f64 = 1e-4;
/// Pressures at the start and the end of a squeeze, in the same unit.
const PRESSURE: [f64; 2] = [0.2, 3e-3];
/// What copies cover of the square that they are thrown into.
const FIRST_DENSITY: f64 = 0.4;
/// A square is made larger by up to this share before it is squeezed again.
const GROWTH: f64 = 0.02;
/// Packings that are larger by this share, at the start of the search, are kept with a chance of 1 in e.
const WARMTH: f64 = 0.004;
/// After this many squeezes the best quarter takes the place of the worst.
const EXCHANGE: usize = 8;

/// A search under way.
pub struct Search<'a> {
    settings: &'a Settings,
    lanes: Lanes,
    /// Each lane's random numbers, and those for choices between lanes.
    randoms: Vec<Random>,
    choices: Random,
    /// What each lane goes on from, and its score.
    current: State,
    scores: Vec<f64>,
    /// The best that each lane has had.
    best: State,
    best_scores: Vec<f64>,
    /// Whether lanes are as they were thrown, and not yet packings.
    scattered: bool,
    squeezes: usize,
    pub steps: usize,
    pub history: Vec<Progress>,
}

impl<'a> Search<'a> {
    /// Copies thrown into squares, or `from` in every lane.
    pub fn new(device: &Device, settings: &'a Settings, starts: usize, from: Option<&Valid>) -> Result<Self, PackError> {
        let Settings { shape, count, seed, .. } = settings;
        let mut randoms: Vec<Random> = (0..starts as u64).map(|lane| Random::new(*seed, lane)).collect();
        let (current, score) = match from {
            Some(from) => {
                let poses = about_center(shape, &from.poses);
                let poses = (0..starts).flat_map(|_| poses.iter().copied()).collect();
                (State { poses, sides: vec![from.side; starts], energies: vec![0.0; starts] }, from.side)
            }
            None => {
                let side = (*count as f64 * shape.area() / FIRST_DENSITY).sqrt().max(2.0 * shape.radius());
                let poses = randoms.iter_mut().flat_map(|random| scattered(random, *count, side)).collect();
                (State { poses, sides: vec![side; starts], energies: vec![f64::INFINITY; starts] }, f64::INFINITY)
            }
        };
        Ok(Search {
            lanes: Lanes::new(device, &squeezed(shape), *count, starts)?,
            randoms,
            choices: Random::new(*seed, u64::MAX),
            best: current.clone(),
            current,
            scores: vec![score; starts],
            best_scores: vec![score; starts],
            scattered: from.is_none(),
            squeezes: 0,
            steps: 0,
            history: Vec::new(),
            settings,
        })
    }

    /// Searches until the budget is used up, or to the limit; says after every squeeze what it has `reached`.
    pub fn run(
        &mut self,
        start: Instant,
        limit: &Limit,
        mut reached: impl FnMut(&Self, Progress) -> Result<(), PackError>,
    ) -> Result<(), PackError> {
        loop {
            let left = match self.settings.budget {
                Budget::Steps(all) => all - self.steps,
                Budget::Time(_) => usize::MAX,
            };
            if left == 0 || limit.reached() {
                return Ok(());
            }
            let whole = self.squeeze(left, limit)?;
            let share = match self.settings.budget {
                Budget::Steps(all) => self.steps as f64 / all as f64,
                Budget::Time(time) => start.elapsed().as_secs_f64() / time.as_secs_f64(),
            };
            // The first one is the better for half a squeeze; later ones are the worse for their changes.
            if whole || self.scattered {
                let tried = self.lanes.state()?;
                self.choose(&tried, 1.0 - share.min(1.0));
            }
            self.scattered = false;
            self.squeezes += 1;
            if self.squeezes.is_multiple_of(EXCHANGE) {
                self.exchange();
            }
            let side = self.best_score();
            let now = Progress { steps: self.steps, seconds: start.elapsed().as_secs_f64(), side };
            if self.history.last().is_none_or(|last| side < last.side) {
                self.history.push(now);
            }
            reached(self, now)?;
        }
    }

    /// Changes all packings, unless they are new, and squeezes them by at most this many steps. Says whether it went
    /// all the way.
    fn squeeze(&mut self, most: usize, limit: &Limit) -> Result<bool, PackError> {
        let radius = self.settings.shape.radius();
        let first = self.scattered;
        let State { mut poses, mut sides, .. } = self.current.clone();
        if !first {
            let lanes = poses.chunks_exact_mut(self.settings.count).zip(&mut sides);
            for ((poses, side), random) in lanes.zip(&mut self.randoms) {
                change(random, poses, *side, radius);
                *side *= 1.0 + GROWTH * random.unit();
            }
        }
        let schedule = Squeeze {
            steps: most.min(if first { FIRST_SQUEEZE } else { SQUEEZE }),
            rate: [if first { FIRST_RATE } else { RATE } * radius, LAST_RATE * radius],
            pressure: Some(PRESSURE.map(|pressure| pressure * radius)),
        };
        self.lanes.set(poses, &sides)?;
        let taken = self.lanes.squeeze(&schedule, limit)?;
        self.steps += taken;
        Ok(taken == schedule.steps)
    }

    /// Keeps of what was tried what is good enough.
    fn choose(&mut self, tried: &State, warmth: f64) {
        let pressure = PRESSURE[1] * self.settings.shape.radius();
        for (lane, random) in self.randoms.iter_mut().enumerate() {
            // The side at which nothing would overlap any more: where overlaps grow by the square of their depth, at
            // rest under pressure, that takes twice what they come to over the pressure.
            let score = tried.sides[lane] + 2.0 * tried.energies[lane] / pressure;
            let kept = self.scores[lane];
            let chance = random.unit();
            if kept.is_infinite() || score < kept - WARMTH * warmth * kept * chance.ln() {
                self.scores[lane] = score;
                self.current.take(tried, lane);
            }
            if score < self.best_scores[lane] {
                self.best_scores[lane] = score;
                self.best.take(tried, lane);
            }
        }
    }

    /// Puts packings of the best quarter in the place of the worst.
    fn exchange(&mut self) {
        let order = ascending(&self.scores);
        let quarter = order.len() / 4;
        for &to in order.iter().rev().take(quarter) {
            let from = order[self.choices.below(quarter)];
            self.current.spread(from, to);
            self.scores[to] = self.scores[from];
        }
    }

    /// The best score.
    pub fn best_score(&self) -> f64 {
        self.best_scores.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// The best packings.
    pub fn best(&self, count: usize) -> State {
        self.best.only(&ascending(&self.best_scores)[..count])
    }
}

/// The lanes from the best score to the worst.
fn ascending(scores: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    order
}

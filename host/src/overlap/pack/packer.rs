//! The packer: from settings to valid packings.

use std::{sync::Arc, time::Instant};

use super::{
    Budget, PackError, Packed, Packing, Progress, Saving, Settings, Turns,
    limit::Stop,
    problem::Problem,
    run::{Islands, Run, Save},
    separate,
    settings::Copies,
    task::{Group, Task},
};
use crate::{
    common::Cancel,
    device::{Backend, Device, threads},
    ranks::Communicator,
};

/// Number of poses that keeps a GPU busy. With more, a step takes proportionally longer.
const FULL: usize = 16_000;
/// Number of poses of one packing beyond which more lanes don't pay off among several packings.
const FULL_OF_ONE: usize = 800;
/// Number of candidates on the CPU; with a budget of time the least number, or fewer if a step of
/// so many would take long.
const FEW: usize = 4;

/// Share of the budget for four angles, if several shapes may have any.
const AT_QUARTERS: f64 = 0.75;
/// Host memory per pose, in bytes: on the CPU, and beside a GPU.
const CPU_BYTES: f64 = 1400.0;
const HOST_BYTES: f64 = 300.0;
/// Maximum memory for pairs of copies of several shapes, in bytes.
const PAIR_BYTES: f64 = 1_073_741_824.0;

/// A search for dense packings: of one number of copies, or of several at once, where each helps
/// its neighbours.
#[derive(Debug)]
pub struct Packer<'a> {
    device: &'a Device,
    settings: Settings,
    problem: Problem,
    islands: Islands,
    stop: Stop,
    target: Option<f64>,
}

impl<'a> Packer<'a> {
    /// A search on `device`.
    ///
    /// # Errors
    /// [`PackError::NoCopies`], [`PackError::NoStarts`], [`PackError::TooMany`],
    /// [`PackError::CountsOfShapes`], [`PackError::TurnsOfShapes`], [`PackError::CountTwice`],
    /// [`PackError::StartCount`], [`PackError::TooNarrow`].
    pub fn new(device: &'a Device, settings: Settings) -> Result<Self, PackError> {
        let Settings { shapes, packings, container, turns, .. } = &settings;
        let largest = packings.iter().max_by_key(|copies| copies.count()).map_or(&[][..], |copies| &copies.counts);
        let problem = Problem::new(shapes, largest, container.clone(), turns);
        let packer = Packer { device, settings, problem, islands: Islands::default(), stop: Stop::default(), target: None };
        packer.settings.check(&packer.starts())?;
        // One copy of each shape tells whether they fit into a strip.
        packer.problem.rows(&Vec::from_iter(0..packer.settings.shapes.len() as u32))?;
        Ok(packer)
    }

    /// Also searches on these devices, each with a thread of its own. They are *islands*: each
    /// works on as many candidates with other random numbers, and now and then gets the best
    /// packing of another. With a budget of steps, a seed and a number of devices give the same
    /// bits.
    pub fn also_on(mut self, devices: &[Device]) -> Self {
        self.islands.devices = devices.to_vec();
        self
    }

    /// Searches as one of these ranks, which are islands as in [`also_on`](Self::also_on) and all
    /// call the same. Each returns the best result of all, and only rank 0 saves. If the search of
    /// one rank fails, all fail.
    pub fn among(mut self, ranks: &Arc<dyn Communicator>) -> Self {
        self.islands.ranks = Some(ranks.clone());
        self
    }

    /// Stops when this is set, and returns the best packings until then.
    pub fn cancelled_by(mut self, cancel: &Cancel) -> Self {
        self.stop.cancel = cancel.clone();
        self
    }

    /// Stops with [`PackError::Cancelled`] when this is set, and makes no valid packing.
    pub fn abandoned_by(mut self, cancel: &Cancel) -> Self {
        self.stop.abandons = true;
        self.cancelled_by(cancel)
    }

    /// Ends the search when all packings that are saved have at most this side.
    pub fn until(mut self, side: f64) -> Self {
        self.target = Some(side);
        self
    }

    /// For each packing, the number of candidates that are improved at once on each device.
    pub fn starts(&self) -> Vec<usize> {
        let Settings { packings, budget, starts, .. } = &self.settings;
        let all = packings.iter().map(Copies::count).fold(1, usize::saturating_add);
        let few = (FULL / all).clamp(1, FEW);
        let default = |copies: &Copies| self.default_starts(*budget, packings.len(), (copies.count(), few));
        packings.iter().map(|copies| starts.unwrap_or_else(|| default(copies))).collect()
    }

    /// Number of poses that are worked on at once, on each device.
    pub fn poses(&self) -> usize {
        self.settings.packings.iter().zip(self.starts()).map(|(copies, starts)| copies.count() * starts).sum()
    }

    /// Estimated host memory of the search on each device, in bytes.
    pub fn host_bytes(&self) -> f64 {
        let poses = self.poses() as f64;
        if self.device.backend() == Backend::Cuda {
            return poses * HOST_BYTES;
        }
        let longest = self.settings.packings.iter().map(Copies::count).max().unwrap_or(0) as f64;
        let pairs = if self.is_mixed() { (8.0 * longest * poses).min(PAIR_BYTES) } else { 0.0 };
        poses * CPU_BYTES + pairs
    }

    /// Number of candidates for each of `packings` packings, for the one of `count` copies: at least
    /// `few` on the CPU. With a budget of steps it is the same on every CPU and on every GPU.
    fn default_starts(&self, budget: Budget, packings: usize, (count, few): (usize, usize)) -> usize {
        let count = count.max(1);
        // Copies of several shapes are separated by one block per lane.
        let full = if self.is_mixed() { separate::MOST_PAIRS / count.saturating_mul(count) } else { FULL / packings / count };
        match (self.device.backend(), budget) {
            (Backend::Cuda, _) => full.max(FULL_OF_ONE / count).clamp(8, 256),
            (Backend::Cpu, Budget::Steps(_)) => FEW,
            // With many copies, few lanes keep all threads busy.
            (Backend::Cpu, Budget::Time(_)) => full.clamp(few, threads::count().unwrap_or(few).max(few)),
        }
    }

    /// Returns true if copies differ: by their shapes, or because some are mirrored.
    fn is_mixed(&self) -> bool {
        self.settings.shapes.len() > 1 || self.settings.turns.iter().any(Turns::mirrors)
    }

    /// Searches. `progress` is called after every squeeze.
    ///
    /// # Errors
    /// [`PackError::StartOverlaps`], [`PackError::StartTurned`], [`PackError::StartWide`],
    /// [`PackError::Cancelled`] and device errors; [`PackError::Invalid`], which is a bug.
    pub fn run(&self, progress: impl FnMut(&Progress)) -> Result<Packed, PackError> {
        self.search(progress, None)
    }

    /// As [`run`](Self::run). Now and then `save` gets the best packings so far, in the order of
    /// the settings: valid, and at least one smaller than the last time. With a budget of steps,
    /// saving doesn't change the result.
    pub fn run_saving(
        &self,
        progress: impl FnMut(&Progress),
        saving: Saving,
        mut save: impl FnMut(&[Packing]),
    ) -> Result<Packed, PackError> {
        self.search(progress, Some((saving, &mut save)))
    }

    fn search(&self, mut progress: impl FnMut(&Progress), saving: Option<(Saving, Save<'_>)>) -> Result<Packed, PackError> {
        let start = Instant::now();
        let Settings { packings, container, seed, budget, .. } = &self.settings;
        let problem = &self.problem;
        let group = |(copies, starts): (&Copies, usize)| {
            let kinds = copies.shapes();
            let from = copies.from.as_ref().map(|poses| problem.start(&kinds, poses, &copies.mirrored)).transpose()?;
            Ok(Group { kinds, starts, from })
        };
        let groups = packings.iter().zip(self.starts()).map(group).collect::<Result<Vec<_>, PackError>>()?;
        let mut task = Task { problem, groups, seed: *seed, budget: *budget };
        let reached = |steps: usize, sides: Vec<f64>| {
            let score = sides.iter().zip(packings).map(|(side, copies)| container.area(*side) / copies.count() as f64).sum();
            Progress { steps, seconds: start.elapsed().as_secs_f64(), sides, score }
        };
        let mut history: Vec<Progress> = Vec::new();
        let kinds: Vec<Vec<u32>> = task.groups.iter().map(|group| group.kinds.clone()).collect();
        let shown = |packings: &[Packing]| -> Vec<Packing> {
            packings.iter().zip(&kinds).map(|(packing, kinds)| problem.shown(kinds, packing)).collect()
        };
        let mut saving = saving.map(|(saving, save)| (saving, move |packings: &[Packing]| save(&shown(packings))));
        let mut search = |task: &Task<'_>, start: Instant, before: usize| {
            let run = Run { device: self.device, islands: &self.islands, task, stop: &self.stop, target: self.target };
            let saving = saving.as_mut().map(|(saving, save)| (*saving, save as Save<'_>));
            run.search(start, saving, |search| {
                let now = reached(before + search.steps, search.best_scores().collect());
                progress(&now);
                if history.last().is_none_or(|last| now.score != last.score) {
                    history.push(now);
                }
            })
        };
        let (mut found, mut second_start) = (None, start);
        if self.is_mixed() && !problem.is_at_angles() && task.groups.iter().all(|group| group.from.is_none()) {
            let coarse = problem.at_quarters();
            let groups = std::mem::take(&mut task.groups);
            let coarse = Task { problem: &coarse, groups, seed: *seed, budget: budget.share(AT_QUARTERS) };
            let (packings, taken) = search(&coarse, start, 0)?;
            let goes_on = |(group, packing): (Group, &Packing)| Group { from: Some(packing.clone()), ..group };
            task.groups = coarse.groups.into_iter().zip(&packings).map(goes_on).collect();
            task.budget = budget.after(taken, start.elapsed());
            second_start = Instant::now();
            found = Some((packings, taken));
        }
        let is_enough =
            |packings: &[Packing]| self.target.is_some_and(|target| packings.iter().all(|packing| packing.side <= target));
        let (packings, steps) = match found {
            Some(found) if is_enough(&found.0) || self.stop.cancel.is_cancelled() => found,
            found => {
                let before = found.map_or(0, |(_, taken)| taken);
                let (packings, taken) = search(&task, second_start, before)?;
                (packings, before + taken)
            }
        };
        let packings = shown(&packings);
        let end = reached(steps, packings.iter().map(|packing| packing.side).collect());
        // Estimates below the result were of overlaps that needed more room.
        let mut least = f64::INFINITY;
        history.retain(|reached| {
            let is_better = reached.score > end.score && reached.score < least;
            least = if is_better { reached.score } else { least };
            is_better
        });
        let covered: f64 = task.groups.iter().map(|group| problem.area(&group.kinds)).sum();
        let packed = Packed {
            density: covered / end.sides.iter().map(|side| container.area(*side)).sum::<f64>(),
            packings,
            score: end.score,
            starts: task.groups.iter().map(|group| group.starts).sum::<usize>() * self.islands.len(),
            steps,
            seconds: end.seconds,
            history: history.into_iter().chain([end]).collect(),
            cancelled: self.stop.cancel.is_cancelled(),
        };
        Ok(packed)
    }
}

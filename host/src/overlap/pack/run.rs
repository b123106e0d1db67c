//! A search from its start to valid packings, on one island or several.

use std::{
    fmt,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use rayon::prelude::*;

use super::{
    Budget, PackError, Packing, Saving,
    error::unless_stopped,
    islands::Island,
    limit::{Limit, Stop},
    search::{STARTING, Search},
    settle::settle,
    task::{Group, Task},
};
use crate::{
    device::Device,
    overlap::contest::Meeting,
    ranks::{self, Communicator},
};

/// Number of candidates of each packing that are settled at the end.
const FINALISTS: usize = 4;
/// Maximum and minimum number of steps of the last squeeze.
const SETTLING_STEPS: usize = 3000;
const LEAST_SETTLING_STEPS: usize = 500;
/// Share of a budget of time that is kept for it, and at most so much: with any angles, and at those of sets.
const SETTLING: [f64; 2] = [0.1, 0.03];
const MOST_SETTLING: [Duration; 2] = [Duration::from_secs(3), Duration::from_secs(2)];
/// Maximum duration of the last squeeze of packings to be saved.
const SAVING: Duration = Duration::from_secs(1);
/// Time for settling, if there is a saved packing: after a signal, and after the end of a budget of time.
const AFTER_SIGNAL: Duration = Duration::from_millis(300);
const AFTER_TIME: Duration = Duration::from_secs(1);

/// Receives a packing for each group.
pub type Save<'a> = &'a mut dyn FnMut(&[Packing]);

/// The other places that search at the same time.
#[derive(Clone, Default)]
pub struct Islands {
    pub devices: Vec<Device>,
    pub ranks: Option<Arc<dyn Communicator>>,
}

impl Islands {
    /// Number of islands, this one included.
    pub fn len(&self) -> usize {
        self.ranks.as_ref().map_or(1 + self.devices.len(), |ranks| ranks.size())
    }
}

impl fmt::Debug for Islands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} islands", self.len())
    }
}

/// A search.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    pub device: &'a Device,
    pub islands: &'a Islands,
    pub task: &'a Task<'a>,
    pub stop: &'a Stop,
    /// Largest side of saved packings that end the search.
    pub target: Option<f64>,
}

impl Run<'_> {
    /// Returns a packing for each group, and the number of steps taken. `progress` is called after
    /// every squeeze.
    pub fn search(
        &self,
        start: Instant,
        saving: Option<(Saving, Save<'_>)>,
        progress: impl FnMut(&Search<'_>),
    ) -> Result<(Vec<Packing>, usize), PackError> {
        let Islands { devices, ranks } = self.islands;
        if devices.is_empty() || ranks.is_some() {
            return self.among(ranks.as_ref(), start, saving, progress);
        }
        let ranks = ranks::threads::communicators(self.islands.len());
        thread::scope(|scope| {
            for (device, ranks) in devices.iter().zip(&ranks[1..]) {
                let run = Run { device, ..*self };
                // If it fails there, the ranks make it fail here too.
                scope.spawn(move || run.among(Some(ranks), start, None, |_| {}));
            }
            self.among(Some(&ranks[0]), start, saving, progress)
        })
    }

    /// The same as one of the ranks, if there are any.
    fn among(
        &self,
        ranks: Option<&Arc<dyn Communicator>>,
        start: Instant,
        saving: Option<(Saving, Save<'_>)>,
        progress: impl FnMut(&Search<'_>),
    ) -> Result<(Vec<Packing>, usize), PackError> {
        let island = ranks.map(Island::new);
        let result = self.settled(island.as_ref(), start, saving, progress);
        if let (Some(ranks), Err(error)) = (ranks, &result)
            && !matches!(error, PackError::Ranks(_))
        {
            ranks.abort(&error.to_string());
        }
        result
    }

    fn settled(
        &self,
        island: Option<&Island<'_>>,
        start: Instant,
        saving: Option<(Saving, Save<'_>)>,
        mut progress: impl FnMut(&Search<'_>),
    ) -> Result<(Vec<Packing>, usize), PackError> {
        let Run { device, task, stop, .. } = *self;
        let Task { groups, budget, seed, .. } = task;
        let seed = island.map_or(*seed, |island| island.seed(*seed));
        let until = |share: f64| Limit {
            deadline: match budget {
                Budget::Steps(_) => None,
                Budget::Time(time) => Some(start + time.mul_f64(share)),
            },
            cancel: stop.cancel.clone(),
        };
        let mut saver = saving.filter(|_| island.is_none_or(Island::is_first)).map(|(saving, save)| Saver {
            saving,
            save,
            last: None,
            pause: saving.pause,
            scores: vec![f64::INFINITY; groups.len()],
            saved: vec![None; groups.len()],
            target: self.target,
            reached: false,
        });
        if let Some(saver) = &mut saver {
            saver.begin(task)?;
        }
        let at_angles = usize::from(task.problem.is_at_angles());
        let (share, most) = (SETTLING[at_angles], MOST_SETTLING[at_angles]);
        let settling = match budget {
            Budget::Time(time) if !time.is_zero() => share.min(most.div_duration_f64(*time)),
            _ => share,
        };
        let (first, last) = (until(STARTING), until(1.0 - settling));
        let mut search = match unless_stopped(Search::new(&last.applied_to(device), task, seed, &first))? {
            Some(search) => search,
            // The starts are settled without a step.
            None => Search::new(device, task, seed, &first)?,
        };
        search.run(start, &last, island, |search| {
            if search.steps > 0 {
                progress(search);
            }
            let Some(saver) = &mut saver else { return Ok(false) };
            saver.save_in_time(self, search)?;
            Ok(saver.reached)
        })?;
        stop.check()?;
        if let Some(saver) = saver.as_ref().filter(|saver| saver.reached) {
            let packings: Vec<Packing> = saver.saved.iter().flatten().cloned().collect();
            return Ok((island.map_or(Ok(packings.clone()), |island| island.smallest(packings))?, search.steps));
        }
        let cancelled = stop.cancel.is_cancelled();
        let finalists = search.best(0..groups.len(), if cancelled { 1 } else { FINALISTS });
        let steps = match budget {
            Budget::Steps(steps) => (steps / 4).max(LEAST_SETTLING_STEPS),
            // The number that fits, judging by the steps so far.
            Budget::Time(time) => {
                let poses: usize = groups.iter().map(|group| group.count() * group.starts).sum();
                let share = finalists.state.poses.len() as f64 / poses as f64;
                let each = start.elapsed().as_secs_f64() / search.steps.max(1) as f64 * share;
                (settling * time.as_secs_f64() / each) as usize
            }
        };
        // At least some, unless they take too long.
        let steps = steps.clamp(LEAST_SETTLING_STEPS.min(4 * steps + 20), SETTLING_STEPS);
        let limit = until(1.0);
        // A saved packing is a result, so settling may end without one.
        let settles_on = match (&saver, cancelled) {
            (None, _) => device.clone(),
            (Some(_), true) => Limit { deadline: Some(Instant::now() + AFTER_SIGNAL), ..Limit::default() }.applied_to(device),
            (Some(_), false) => {
                let deadline = limit.deadline.map(|deadline| deadline + AFTER_TIME);
                Limit { deadline, ..limit.clone() }.applied_to(device)
            }
        };
        let saved = saver.map_or_else(|| vec![None; groups.len()], |saver| saver.saved);
        // With a budget of steps, the result must not depend on what was saved when.
        let from = if matches!(budget, Budget::Steps(_)) { &vec![None; groups.len()] } else { &saved };
        let mut packings = settle(&settles_on, task, stop, &limit, from, &finalists, steps)?;
        if !cancelled {
            // An overlap would be a bug.
            let check = |(group, packing): (&Group, &Packing)| match task.problem.overlapping(&group.kinds, &packing.poses)? {
                None => Ok(()),
                Some(Meeting { first, second, depth, .. }) => Err(PackError::Invalid { first, second, depth }),
            };
            groups.par_iter().zip(&packings).try_for_each(check)?;
        }
        if stop.cancel.is_cancelled() {
            for (packing, saved) in packings.iter_mut().zip(saved) {
                if let Some(saved) = saved.filter(|saved| saved.side < packing.side) {
                    *packing = saved;
                }
            }
        }
        Ok((island.map_or(Ok(packings.clone()), |island| island.smallest(packings))?, search.steps))
    }
}

/// Saves packings while the search goes on.
struct Saver<'a> {
    saving: Saving,
    save: Save<'a>,
    /// Time of the last attempt, and the pause until the next one. The first is made at once.
    last: Option<Instant>,
    pause: Duration,
    /// Each group's best score at that time.
    scores: Vec<f64>,
    saved: Vec<Option<Packing>>,
    /// As of [`Run`], and whether such packings have been saved.
    target: Option<f64>,
    reached: bool,
}

impl Saver<'_> {
    /// Saves copies in rows, if there is nothing that the search goes on from.
    fn begin(&mut self, task: &Task<'_>) -> Result<(), PackError> {
        if task.groups.iter().all(|group| group.from.is_some()) {
            return Ok(());
        }
        let there_is = task.groups.iter().map(|group| group.start(task.problem));
        self.keep(there_is.collect::<Result<Vec<_>, _>>()?);
        Ok(())
    }

    fn keep(&mut self, packings: Vec<Packing>) {
        (self.save)(&packings);
        self.reached = self.target.is_some_and(|target| packings.iter().all(|packing| packing.side <= target));
        self.saved = packings.into_iter().map(Some).collect();
    }

    /// Saves the best packings, if the pause is over and some have become better.
    fn save_in_time(&mut self, run: &Run<'_>, search: &Search<'_>) -> Result<(), PackError> {
        if self.last.is_some_and(|last| last.elapsed() < self.pause) {
            return Ok(());
        }
        let scores: Vec<f64> = search.best_scores().collect();
        let better = (0..scores.len()).filter(|&group| scores[group] < self.scores[group]);
        let finalists = search.best(better, 1);
        if finalists.groups.is_empty() {
            return Ok(());
        }
        let start = Instant::now();
        let limit = Limit { deadline: Some(start + SAVING), cancel: run.stop.cancel.clone() };
        // Saving may take longer than the search on slow devices, but not after a signal.
        let device = Limit { deadline: None, ..limit.clone() }.applied_to(run.device);
        let found = settle(&device, run.task, run.stop, &limit, &self.saved, &finalists, LEAST_SETTLING_STEPS)?;
        let before = self.saved.iter().zip(&run.task.groups).map(|(saved, group)| saved.as_ref().or(group.from.as_ref()));
        if before.zip(&found).any(|(before, found)| before.is_none_or(|before| found.side < before.side)) {
            self.keep(found);
        }
        self.scores = scores;
        self.last = Some(Instant::now());
        self.pause = self.saving.pause.max(start.elapsed().div_f64(self.saving.share));
        Ok(())
    }
}

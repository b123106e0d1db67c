//! Packs copies of shapes into as small a container as it can: a square, a strip, a disk or a convex polygon
//! ([`Boundary`]).
//!
//! Many packings are worked on at once, all on the device: of one number of copies ([`Packer`]) or of several
//! ([`Series`]). Each has a container of its own, whose scale is a variable like the copies' poses. What is made small is
//! the area in which copies overlap or are outside, plus a *pressure* times the scale, by steps of Adam whose rate and
//! pressure fall together: copies give way while the pressure is high, and come to rest as it goes.
//!
//! Copies of several shapes are thrown at random, and taken apart in a smaller and smaller container: one after the other
//! goes to where it overlaps least, and pairs that go on overlapping count more and more. Then they are squeezed.
//!
//! Packings of one shape start as containers cut out of the densest lattices of the shape and its half turn
//! ([`Periodic`](super::Periodic)); few copies start at random. Then a few copies of each are
//! taken away, placed anew where there is most room, and all squeezed again. What came of it is kept if it is smaller,
//! or by chance if it is not much larger (N. Metropolis et al., *Equation of State Calculations by Fast Computing
//! Machines*, 1953). Now and then a packing takes the place of a worse one. Half of the packings of an even number of
//! copies are such as half a turn takes to themselves. Lattices of pairs as cores, that symmetry, and packings that
//! come from those of a copy more are known from what did well in Kaggle's Santa 2025.
//!
//! At the end the best ones are squeezed by ever smaller steps, and let out by as much as it takes until no two copies
//! overlap. All of this works on a copy of the shape that is larger by a hair, so that shapes that touch there are
//! apart.
//!
//! ```
//! use warpsmith::{device::Device, overlap::{Shape, pack::{Budget, Packer, Settings}}};
//!
//! let settings = Settings { copies: vec![(Shape::tree(), 2)], starts: Some(2), budget: Budget::Steps(500), ..Settings::default() };
//! let packed = Packer::new(&Device::best()?, settings)?.run(|_| {})?;
//! assert!(packed.poses.len() == 2 && packed.side < 1.5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod islands;
mod lanes;
mod moves;
mod problem;
mod search;
mod separate;
mod starts;
mod turns;
mod valid;

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use crate::{
    device::{Backend, Device, threads},
    engine::Cancel,
    overlap::{Boundary, Shape},
    ranks::{self, Communicator},
};
use islands::Island;
use lanes::Limit;
use problem::Problem;
use search::{Group, Search, Task};

pub use error::PackError;
use separate::Separation;
pub use turns::Turns;

/// The numbers that packings are squeezed in until they are settled, which is in `f64`. They make the search 1.2 times as
/// fast as `f64`, and what comes of it as good.
type Squeezed = f32;

/// Poses of all packings together, at most.
pub const MOST_POSES: usize = 1 << 26;
/// About so many poses keep a GPU busy: with more of them a step takes so much longer.
const FULL: usize = 16_000;
/// With more than that of one number of copies, a series has lanes enough.
const FULL_OF_ONE: usize = 800;
/// On the CPU so many packings are worked on, or up to as many as it has threads.
const FEW: usize = 4;
/// Packings that are settled at the end.
const FINALISTS: usize = 4;
/// The most steps of the last squeeze, and the least.
const SETTLING_STEPS: usize = 3000;
const LEAST_SETTLING_STEPS: usize = 500;
/// Its share of a budget of time.
const SETTLING: f64 = 0.1;

/// For how long to search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// This many steps of every packing, and then some to settle the best. The same seed gives the same bits on the
    /// same backend.
    Steps(usize),
    /// So long, about. How much is done in that time, and so what comes of it, changes from run to run.
    Time(Duration),
}

/// What to pack, and how hard to try.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The shapes, and how many copies of each; 10 trees by default.
    pub copies: Vec<(Shape, usize)>,
    /// What they are packed into; a square by default.
    pub container: Boundary,
    /// How they may be turned; by any angle by default.
    pub turns: Turns,
    /// Where random numbers start; 0 by default.
    pub seed: u64,
    /// How many packings are worked on at once; by default 8 to 256 on a GPU, the fewer the more copies there are, and 4
    /// on the CPU, or with a budget of time up to one for each thread.
    pub starts: Option<usize>,
    /// A pose for each copy to go on from, those of the first shape first, of which no two overlap: nothing larger comes
    /// of it. By default none.
    pub from: Option<Vec<[f64; 3]>>,
    /// For how long; 20,000 steps by default.
    pub budget: Budget,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            copies: vec![(Shape::tree(), 10)],
            container: Boundary::square(),
            turns: Turns::Any,
            seed: 0,
            starts: None,
            from: None,
            budget: Budget::Steps(20_000),
        }
    }
}

impl Settings {
    /// How many copies there are, of all shapes.
    pub fn count(&self) -> usize {
        self.copies.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// The index of each copy's shape.
    pub fn shapes(&self) -> Vec<u32> {
        let of = |(index, (_, count)): (usize, &(Shape, usize))| std::iter::repeat_n(index as u32, *count);
        self.copies.iter().enumerate().flat_map(of).collect()
    }
}

/// How far the search is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Steps of every packing.
    pub steps: usize,
    /// Since the start.
    pub seconds: f64,
    /// The side of the best packing so far, or another container's scale, about: what still overlaps is counted as if it
    /// took room.
    pub side: f64,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Packed {
    /// A pose for each copy, those of the first shape first. No two overlap, and the smallest container around all is
    /// about the origin.
    pub poses: Vec<[f64; 3]>,
    /// The side of that square, with sides along the axes; or the scale of another container.
    pub side: f64,
    /// The share of the container that the copies cover.
    pub density: f64,
    /// How many packings were worked on.
    pub starts: usize,
    /// Steps that each of them took.
    pub steps: usize,
    /// How long all of it took.
    pub seconds: f64,
    /// How the best packing became smaller; the last one is what came of settling it: `side`.
    pub history: Vec<Progress>,
    /// Whether it was cancelled.
    pub cancelled: bool,
}

/// How often a search can save what it has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saving {
    /// The least time from one to the next.
    pub pause: Duration,
    /// Of all time, at most about this share goes into making a packing valid that is saved; where that takes long,
    /// pauses are longer.
    pub share: f64,
}

impl Default for Saving {
    /// Every 5 s, unless that takes more than a twentieth of the time.
    fn default() -> Self {
        Saving { pause: Duration::from_secs(5), share: 0.05 }
    }
}

/// A packing that is valid.
#[derive(Clone, Debug, PartialEq)]
pub struct Packing {
    /// A pose for each copy. No two overlap, and the smallest container around all is about the origin.
    pub poses: Vec<[f64; 3]>,
    /// The side of that square, with sides along the axes; or the scale of another container.
    pub side: f64,
}

/// A search for a dense packing, or, with other settings, a [`Series`].
#[derive(Debug)]
pub struct Packer<'a, S = Settings> {
    device: &'a Device,
    settings: S,
    islands: Islands,
    cancel: Cancel,
    /// Whether nothing is wanted any more once it is cancelled.
    abandoned: bool,
}

mod sealed {
    /// A search that can be checked before it begins.
    pub trait Search {
        fn check(&self) -> Result<(), super::PackError>;
    }
}

impl<'a, S> Packer<'a, S>
where
    Self: sealed::Search,
{
    /// A search on `device`.
    ///
    /// # Errors
    /// [`PackError::NoCopies`], [`PackError::NoStarts`], [`PackError::TooMany`], [`PackError::StartCount`],
    /// [`PackError::TooNarrow`]; of a [`Series`] [`PackError::CountTwice`].
    pub fn new(device: &'a Device, settings: S) -> Result<Self, PackError> {
        let packer = Packer { device, settings, islands: Islands::default(), cancel: Cancel::new(), abandoned: false };
        sealed::Search::check(&packer)?;
        Ok(packer)
    }

    /// Searches on these devices, too, each with a thread of its own. They are *islands*: each searches for itself, with
    /// as many packings and other random numbers, and now and then gets the best packing of another. With a budget of
    /// steps, a seed and a number of devices give the same bits.
    pub fn also_on(mut self, devices: &[Device]) -> Self {
        self.islands.devices = devices.to_vec();
        self
    }

    /// Searches as one of these ranks, which all do the same, in the way of [`also_on`](Self::also_on): each gets what is
    /// the best of all, and rank 0 alone saves. A rank whose search fails gives up for all.
    pub fn among(mut self, ranks: &Arc<dyn Communicator>) -> Self {
        self.islands.ranks = Some(ranks.clone());
        self
    }

    /// Stops when this is set, with what was found until then.
    pub fn cancelled_by(mut self, cancel: &Cancel) -> Self {
        self.cancel = cancel.clone();
        self
    }

    /// Stops when this is set with [`PackError::Cancelled`], without making a valid packing of what was found.
    pub fn abandoned_by(mut self, cancel: &Cancel) -> Self {
        self.abandoned = true;
        self.cancelled_by(cancel)
    }

    /// All that a search for this takes.
    fn searching<'b>(&'b self, task: &'b Task<'b>) -> Run<'b> {
        let Packer { device, islands, cancel, abandoned, .. } = self;
        Run { device, islands, task, cancel: cancel.clone(), abandoned: *abandoned }
    }
}

impl sealed::Search for Packer<'_> {
    fn check(&self) -> Result<(), PackError> {
        let Settings { copies, from, .. } = &self.settings;
        if copies.iter().any(|(_, count)| *count == 0) {
            return Err(PackError::NoCopies);
        }
        check_sizes([(self.settings.count(), self.starts(), from.as_ref().map(Vec::len))])?;
        // One copy of each shape tells whether they fit into a strip.
        self.problem().rows(&Vec::from_iter(0..copies.len() as u32)).map(drop)
    }
}

impl Packer<'_> {
    fn problem(&self) -> Problem {
        let Settings { copies, container, turns, .. } = &self.settings;
        let copies: Vec<(&Shape, usize)> = copies.iter().map(|(shape, count)| (shape, *count)).collect();
        Problem::new(&copies, container.clone(), *turns)
    }

    /// How many packings are worked on at once.
    pub fn starts(&self) -> usize {
        self.settings.starts.unwrap_or_else(|| {
            let Settings { copies, budget, .. } = &self.settings;
            starts(self.device, *budget, copies.len(), 1, self.settings.count())
        })
    }

    /// Searches. `progress` hears after every squeeze how far it is.
    ///
    /// # Errors
    /// [`PackError::StartOverlaps`], [`PackError::Cancelled`]; [`PackError::Invalid`], which should not happen, and
    /// device errors.
    pub fn run(&self, progress: impl FnMut(Progress)) -> Result<Packed, PackError> {
        self.search(progress, None)
    }

    /// As [`run`](Self::run). Now and then `save` gets the best packing so far: a pose for each copy, of which no two
    /// overlap, and the side of the square around all, each time a smaller one. With a budget of steps, what comes of a
    /// seed is the same with and without.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_saving(
        &self,
        progress: impl FnMut(Progress),
        saving: Saving,
        mut save: impl FnMut(&[[f64; 3]], f64),
    ) -> Result<Packed, PackError> {
        self.search(progress, Some((saving, &mut |packings: &[Packing]| save(&packings[0].poses, packings[0].side))))
    }

    fn search(&self, mut progress: impl FnMut(Progress), saving: Option<(Saving, Save<'_>)>) -> Result<Packed, PackError> {
        let start = Instant::now();
        let Settings { container, seed, budget, .. } = &self.settings;
        let (problem, kinds) = (self.problem(), self.settings.shapes());
        let from = self.settings.from.as_ref().map(|poses| problem.start(&kinds, poses)).transpose()?;
        let area = problem.area(&kinds);
        let groups = vec![Group { kinds, starts: self.starts(), from }];
        let task = Task { problem: &problem, groups, seed: *seed, budget: *budget };
        let mut history: Vec<Progress> = Vec::new();
        let (mut found, steps) = self.searching(&task).search(start, saving, |search| {
            let side = search.best_score(0);
            let now = Progress { steps: search.steps, seconds: start.elapsed().as_secs_f64(), side };
            if history.last().is_none_or(|last| side < last.side) {
                history.push(now);
            }
            progress(now);
        })?;
        let Packing { poses, side } = found.swap_remove(0);
        let seconds = start.elapsed().as_secs_f64();
        history.push(Progress { steps, seconds, side });
        Ok(Packed {
            density: area / container.area(side),
            poses,
            side,
            starts: self.starts() * self.islands.len(),
            steps,
            seconds,
            history,
            cancelled: self.cancel.is_cancelled(),
        })
    }
}

/// What to pack in several numbers of copies.
#[derive(Clone, Debug)]
pub struct SeriesSettings {
    /// The shape.
    pub shape: Shape,
    /// How many copies, each number once, and a packing of so many to go on from where there is one: nothing larger
    /// comes of it.
    pub packings: Vec<(usize, Option<Vec<[f64; 3]>>)>,
    /// Where random numbers start.
    pub seed: u64,
    /// How many packings of each number are worked on at once; by default 8 to 256 on a GPU, the fewer the more copies
    /// they have and the longer the series is, and 4 on the CPU, or with a budget of time up to one for
    /// each thread.
    pub starts: Option<usize>,
    /// For how long.
    pub budget: Budget,
}

/// How far a series is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeriesProgress {
    /// Steps of every packing.
    pub steps: usize,
    /// Since the start.
    pub seconds: f64,
    /// The sum of side^2 / n over all numbers of copies, about.
    pub score: f64,
}

/// What came of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesPacked {
    /// A packing of each number of copies, in the order of the settings.
    pub packings: Vec<Packing>,
    /// The sum of side^2 / n over them.
    pub score: f64,
    /// Steps that each of them took.
    pub steps: usize,
    /// How long all of it took.
    pub seconds: f64,
    /// How the score became less; the last one is `score`.
    pub history: Vec<SeriesProgress>,
    /// Whether it was cancelled.
    pub cancelled: bool,
}

/// A search for dense packings of several numbers of copies, all at once: what is found for a number helps its
/// neighbours.
pub type Series<'a> = Packer<'a, SeriesSettings>;

impl sealed::Search for Series<'_> {
    fn check(&self) -> Result<(), PackError> {
        let packings = &self.settings.packings;
        check_sizes(packings.iter().map(|(count, from)| (*count, self.starts(*count), from.as_ref().map(Vec::len))))?;
        let mut counts: Vec<usize> = packings.iter().map(|(count, _)| *count).collect();
        counts.sort_unstable();
        match counts.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(PackError::CountTwice { count: pair[0] }),
            None => Ok(()),
        }
    }
}

impl Series<'_> {
    /// How many packings of so many copies are worked on at once.
    pub fn starts(&self, count: usize) -> usize {
        self.settings.starts.unwrap_or_else(|| starts(self.device, self.settings.budget, 1, self.settings.packings.len(), count))
    }

    /// Searches. `progress` hears after every squeeze how far it is. Now and then `save` gets a packing of each number
    /// of copies, in the order of the settings: what the search has made valid so far.
    ///
    /// # Errors
    /// As [`Packer::run`].
    pub fn run_saving(
        &self,
        mut progress: impl FnMut(SeriesProgress),
        saving: Saving,
        mut save: impl FnMut(&[Packing]),
    ) -> Result<SeriesPacked, PackError> {
        let start = Instant::now();
        let SeriesSettings { shape, packings, seed, budget, .. } = &self.settings;
        let most = packings.iter().map(|(count, _)| *count).max().unwrap_or(0);
        let problem = Problem::new(&[(shape, most)], Boundary::square(), Turns::Any);
        let group = |(count, from): &(usize, Option<Vec<_>>)| {
            let kinds = vec![0; *count];
            let from = from.as_ref().map(|poses| problem.start(&kinds, poses)).transpose()?;
            Ok(Group { kinds, starts: self.starts(*count), from })
        };
        let groups = packings.iter().map(group).collect::<Result<Vec<Group>, PackError>>()?;
        let task = Task { problem: &problem, groups, seed: *seed, budget: *budget };
        let mut history: Vec<SeriesProgress> = Vec::new();
        let score = |sides: &mut dyn Iterator<Item = f64>| -> f64 {
            sides.zip(packings).map(|(side, (count, _))| side * side / *count as f64).sum()
        };
        let (packings, steps) = self.searching(&task).search(start, Some((saving, &mut save)), |search| {
            let score = score(&mut (0..task.groups.len()).map(|group| search.best_score(group)));
            let now = SeriesProgress { steps: search.steps, seconds: start.elapsed().as_secs_f64(), score };
            if history.last().is_none_or(|last| score < last.score) {
                history.push(now);
            }
            progress(now);
        })?;
        let (score, seconds) = (score(&mut packings.iter().map(|packing| packing.side)), start.elapsed().as_secs_f64());
        history.push(SeriesProgress { steps, seconds, score });
        let cancelled = self.cancel.is_cancelled();
        Ok(SeriesPacked { packings, score, steps, seconds, history, cancelled })
    }
}

/// How many packings of `count` copies of so many shapes to work on at once, beside those of other numbers: `numbers` in
/// all. With a budget of steps it doesn't depend on the machine.
fn starts(device: &Device, budget: Budget, shapes: usize, numbers: usize, count: usize) -> usize {
    let (numbers, count) = (numbers.max(1), count.max(1));
    // Copies of several shapes are taken apart by one block for each lane.
    let full = if shapes > 1 { separate::MOST_PAIRS / count.saturating_mul(count) } else { FULL / numbers / count };
    match (device.backend(), budget) {
        (Backend::Cuda, _) => full.max(FULL_OF_ONE / count).clamp(8, 256),
        (Backend::Cpu, Budget::Steps(_)) => FEW,
        // Where copies are many, few lanes keep all threads busy.
        (Backend::Cpu, Budget::Time(_)) => full.clamp(FEW, threads::count().map_or(FEW, |threads| threads.max(FEW))),
    }
}

/// Checks numbers of copies, those of packings to start from, and starts.
fn check_sizes(sizes: impl IntoIterator<Item = (usize, usize, Option<usize>)>) -> Result<(), PackError> {
    let mut all = 0usize;
    for (count, starts, from) in sizes {
        if count == 0 {
            return Err(PackError::NoCopies);
        }
        if starts == 0 {
            return Err(PackError::NoStarts);
        }
        all = all.saturating_add(count.saturating_mul(starts));
        if all > MOST_POSES {
            return Err(PackError::TooMany { starts, count, most: MOST_POSES });
        }
        if let Some(found) = from.filter(|&found| found != count) {
            return Err(PackError::StartCount { found, count });
        }
    }
    if all == 0 { Err(PackError::NoCopies) } else { Ok(()) }
}

/// Where else is searched.
#[derive(Clone, Default)]
struct Islands {
    devices: Vec<Device>,
    ranks: Option<Arc<dyn Communicator>>,
}

impl Islands {
    /// How many there are.
    fn len(&self) -> usize {
        self.ranks.as_ref().map_or(1 + self.devices.len(), |ranks| ranks.size())
    }
}

impl std::fmt::Debug for Islands {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} islands", self.len())
    }
}

/// A search from its start to valid packings.
#[derive(Clone)]
struct Run<'a> {
    device: &'a Device,
    islands: &'a Islands,
    task: &'a Task<'a>,
    cancel: Cancel,
    abandoned: bool,
}

impl Run<'_> {
    fn check(&self) -> Result<(), PackError> {
        if self.abandoned && self.cancel.is_cancelled() { Err(PackError::Cancelled) } else { Ok(()) }
    }

    /// A packing for each group, and the steps that were taken. `progress` hears of every squeeze.
    fn search(
        &self,
        start: Instant,
        saving: Option<(Saving, Save<'_>)>,
        progress: impl FnMut(&Search<'_, Squeezed>),
    ) -> Result<(Vec<Packing>, usize), PackError> {
        let Islands { devices, ranks } = self.islands;
        if devices.is_empty() || ranks.is_some() {
            return self.among(ranks.as_ref(), start, saving, progress);
        }
        let ranks = ranks::threads::communicators(self.islands.len());
        thread::scope(|scope| {
            for (device, ranks) in devices.iter().zip(&ranks[1..]) {
                let run = Run { device, ..self.clone() };
                // What fails there fails here, too.
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
        progress: impl FnMut(&Search<'_, Squeezed>),
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
        mut progress: impl FnMut(&Search<'_, Squeezed>),
    ) -> Result<(Vec<Packing>, usize), PackError> {
        let Task { groups, budget, seed, .. } = self.task;
        let seed = island.map_or(*seed, |island| island.seed(*seed));
        let mut search = Search::<Squeezed>::new(self.device, self.task, seed, &self.cancel)?;
        let mut saver = saving.filter(|_| island.is_none_or(Island::is_first)).map(|(saving, save)| Saver {
            saving,
            save,
            last: start,
            pause: saving.pause,
            scores: (0..groups.len()).map(|group| search.best_score(group)).collect(),
            saved: vec![None; groups.len()],
        });
        let deadline = match budget {
            Budget::Steps(_) => None,
            Budget::Time(time) => Some(start + time.mul_f64(1.0 - SETTLING)),
        };
        search.run(start, &Limit { deadline, cancel: self.cancel.clone() }, island, |search| {
            progress(search);
            saver.as_mut().map_or(Ok(()), |saver| saver.save_in_time(self, search))
        })?;
        let finalists = search.best(0..groups.len(), FINALISTS);
        let settling = match budget {
            Budget::Steps(steps) => (steps / 4).clamp(LEAST_SETTLING_STEPS, SETTLING_STEPS),
            // As many as fit, going by those that there were.
            Budget::Time(time) => {
                let poses: usize = groups.iter().map(|group| group.count() * group.starts).sum();
                let share = finalists.state.poses.len() as f64 / poses as f64;
                let each = start.elapsed().as_secs_f64() / search.steps.max(1) as f64 * share;
                ((SETTLING * time.as_secs_f64() / each) as usize).clamp(LEAST_SETTLING_STEPS, SETTLING_STEPS)
            }
        };
        // With a budget of steps it is the same whenever something was saved.
        let saved = saver.map(|saver| saver.saved).filter(|_| matches!(budget, Budget::Time(_)));
        let there_is: Vec<_> = groups
            .iter()
            .enumerate()
            .map(|(index, group)| saved.as_ref().and_then(|saved| saved[index].as_ref()).or(group.from.as_ref()))
            .collect();
        let packings = valid::settle(self, &there_is, &finalists, settling)?;
        Ok((island.map_or(Ok(packings.clone()), |island| island.smallest(packings))?, search.steps))
    }
}

/// What gets a packing for each group.
type Save<'a> = &'a mut dyn FnMut(&[Packing]);

/// Saves packings while the search goes on.
struct Saver<'a> {
    saving: Saving,
    save: Save<'a>,
    /// When that was last tried, and how long until it is again.
    last: Instant,
    pause: Duration,
    /// The search's best scores then, by groups.
    scores: Vec<f64>,
    saved: Vec<Option<Packing>>,
}

impl Saver<'_> {
    /// Saves the best packings, if it is time to and there are better ones.
    fn save_in_time(&mut self, run: &Run<'_>, search: &Search<'_, Squeezed>) -> Result<(), PackError> {
        if self.last.elapsed() < self.pause {
            return Ok(());
        }
        let better: Vec<usize> = (0..self.scores.len()).filter(|&group| search.best_score(group) < self.scores[group]).collect();
        if better.is_empty() {
            return Ok(());
        }
        let start = Instant::now();
        let from = run.task.groups.iter().map(|group| group.from.as_ref());
        let there_is: Vec<_> = self.saved.iter().zip(from).map(|(saved, from)| saved.as_ref().or(from)).collect();
        let found = valid::settle(run, &there_is, &search.best(better.iter().copied(), 1), LEAST_SETTLING_STEPS)?;
        if there_is.iter().zip(&found).any(|(before, found)| before.is_none_or(|before| found.side < before.side)) {
            (self.save)(&found);
            self.saved = found.into_iter().map(Some).collect();
        }
        for group in better {
            self.scores[group] = search.best_score(group);
        }
        self.last = Instant::now();
        self.pause = self.saving.pause.max(start.elapsed().div_f64(self.saving.share));
        Ok(())
    }
}

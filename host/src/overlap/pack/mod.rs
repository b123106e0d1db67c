//! Packs copies of a shape into as small a square as it can.
//!
//! Many packings are worked on at once, all on the device. Each has a square of its own, whose side is a variable like
//! the copies' poses. What is made small is the area in which copies overlap or are outside, plus a *pressure* times
//! the side, by steps of Adam whose rate and pressure fall together: copies give way while the pressure is high, and
//! come to rest as it goes. Then every packing is changed a little at random and squeezed again; what came of it is
//! kept if it is smaller, or by chance if it is not much larger (N. Metropolis et al., *Equation of State Calculations
//! by Fast Computing Machines*, 1953). Now and then the best packings take the place of the worst.
//!
//! At the end the best ones are squeezed by ever smaller steps, and let out by as much as it takes until no two copies
//! overlap. All of this works on a copy of the shape that is larger by a hair, so that shapes that touch there are
//! apart.
//!
//! ```
//! use warpsmith::{device::Device, overlap::pack::{Budget, Packer, Settings}};
//!
//! let settings = Settings { count: 2, starts: Some(2), budget: Budget::Steps(500), ..Settings::default() };
//! let packed = Packer::new(&Device::best()?, settings)?.run(|_| {})?;
//! assert!(packed.poses.len() == 2 && packed.side < 1.5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod lanes;
mod moves;
mod search;
mod valid;

use std::time::{Duration, Instant};

use crate::{
    device::{Backend, Device},
    engine::Cancel,
    overlap::Shape,
};
use lanes::Limit;
use search::Search;
use valid::Valid;

pub use error::PackError;

/// Poses of all packings together, at most.
pub const MOST_POSES: usize = 1 << 26;
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
    /// The shape; a tree by default.
    pub shape: Shape,
    /// How many copies; 10 by default.
    pub count: usize,
    /// Where random numbers start; 0 by default.
    pub seed: u64,
    /// How many packings are worked on at once; by default 256 on a GPU, and 4 on the CPU.
    pub starts: Option<usize>,
    /// A pose for each copy to go on from, of which no two overlap: nothing larger comes of it. By default none, and
    /// copies are thrown into squares at random.
    pub from: Option<Vec<[f64; 3]>>,
    /// For how long; 20,000 steps by default.
    pub budget: Budget,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { shape: Shape::tree(), count: 10, seed: 0, starts: None, from: None, budget: Budget::Steps(20_000) }
    }
}

/// How far the search is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Steps of every packing.
    pub steps: usize,
    /// Since the start.
    pub seconds: f64,
    /// The side of the best packing so far (length), about: what still overlaps is counted as if it took room.
    pub side: f64,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Packed {
    /// A pose for each copy. No two overlap, and the smallest square around all is centred at the origin.
    pub poses: Vec<[f64; 3]>,
    /// The side of that square, with sides along the axes.
    pub side: f64,
    /// The share of the square that the copies cover.
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

/// A search for a dense packing.
#[derive(Debug)]
pub struct Packer<'a> {
    device: &'a Device,
    settings: Settings,
    cancel: Cancel,
    /// Whether nothing is wanted any more once it is cancelled.
    abandoned: bool,
}

impl<'a> Packer<'a> {
    /// A search on `device`.
    ///
    /// # Errors
    /// [`PackError::NoCopies`], [`PackError::NoStarts`], [`PackError::TooMany`], [`PackError::StartCount`].
    pub fn new(device: &'a Device, settings: Settings) -> Result<Self, PackError> {
        let packer = Packer { device, settings, cancel: Cancel::new(), abandoned: false };
        let (count, starts) = (packer.settings.count, packer.starts());
        if count == 0 {
            return Err(PackError::NoCopies);
        }
        if starts == 0 {
            return Err(PackError::NoStarts);
        }
        if count.checked_mul(starts).is_none_or(|poses| poses > MOST_POSES) {
            return Err(PackError::TooMany { starts, count, most: MOST_POSES });
        }
        if let Some(found) = packer.settings.from.as_ref().map(Vec::len).filter(|&found| found != count) {
            return Err(PackError::StartCount { found, count });
        }
        Ok(packer)
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

    fn check(&self) -> Result<(), PackError> {
        if self.abandoned && self.cancel.is_cancelled() { Err(PackError::Cancelled) } else { Ok(()) }
    }

    /// How many packings are worked on at once.
    pub fn starts(&self) -> usize {
        self.settings.starts.unwrap_or(if self.device.backend() == Backend::Cuda { 256 } else { 4 })
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
        self.search(progress, Some((saving, &mut save)))
    }

    fn search(&self, mut progress: impl FnMut(Progress), saving: Option<(Saving, Save<'_>)>) -> Result<Packed, PackError> {
        let start = Instant::now();
        let Settings { shape, count, budget, .. } = &self.settings;
        let starts = self.starts();
        let from = self.settings.from.as_ref().map(|poses| valid::start(shape, poses)).transpose()?;
        let mut search = Search::new(self.device, &self.settings, starts, from.as_ref())?;
        let mut saver = saving.map(|(saving, save)| Saver {
            saving,
            save,
            last: start,
            pause: saving.pause,
            score: search.best_score(),
            saved: None,
        });
        let deadline = match budget {
            Budget::Steps(_) => None,
            Budget::Time(time) => Some(start + time.mul_f64(1.0 - SETTLING)),
        };
        search.run(start, &Limit { deadline, cancel: self.cancel.clone() }, |search, reached| {
            progress(reached);
            saver.as_mut().map_or(Ok(()), |saver| saver.save_in_time(self, search, from.as_ref()))
        })?;
        let finalists = search.best(FINALISTS.min(starts));
        let settling = match budget {
            Budget::Steps(steps) => (steps / 4).clamp(LEAST_SETTLING_STEPS, SETTLING_STEPS),
            // As many as fit, going by those that there were.
            Budget::Time(time) => {
                let each = start.elapsed().as_secs_f64() / (search.steps.max(1) * starts) as f64 * finalists.sides.len() as f64;
                ((SETTLING * time.as_secs_f64() / each) as usize).clamp(LEAST_SETTLING_STEPS, SETTLING_STEPS)
            }
        };
        // With a budget of steps it is the same whenever something was saved.
        let saved = saver.and_then(|saver| saver.saved).filter(|_| matches!(budget, Budget::Time(_)));
        let found = valid::settle(self, saved.as_ref().or(from.as_ref()), finalists, settling)?;
        let Search { steps, mut history, .. } = search;
        let seconds = start.elapsed().as_secs_f64();
        history.push(Progress { steps, seconds, side: found.side });
        Ok(Packed {
            density: *count as f64 * shape.area() / (found.side * found.side),
            poses: found.poses,
            side: found.side,
            starts,
            steps,
            seconds,
            history,
            cancelled: self.cancel.is_cancelled(),
        })
    }
}

/// What gets a packing's poses and its side.
type Save<'a> = &'a mut dyn FnMut(&[[f64; 3]], f64);

/// Saves packings while the search goes on.
struct Saver<'a> {
    saving: Saving,
    save: Save<'a>,
    /// When that was last tried, and how long until it is again.
    last: Instant,
    pause: Duration,
    /// The search's best score then.
    score: f64,
    saved: Option<Valid>,
}

impl Saver<'_> {
    /// Saves the best packing, if it is time to and there is a better one.
    fn save_in_time(&mut self, packer: &Packer<'_>, search: &Search<'_>, from: Option<&Valid>) -> Result<(), PackError> {
        let score = search.best_score();
        if self.last.elapsed() < self.pause || score >= self.score {
            return Ok(());
        }
        let start = Instant::now();
        let best = self.saved.as_ref().or(from);
        let found = valid::settle(packer, best, search.best(1), LEAST_SETTLING_STEPS)?;
        if best.is_none_or(|best| found.side < best.side) {
            (self.save)(&found.poses, found.side);
            self.saved = Some(found);
        }
        self.score = score;
        self.last = Instant::now();
        self.pause = self.saving.pause.max(start.elapsed().div_f64(self.saving.share));
        Ok(())
    }
}

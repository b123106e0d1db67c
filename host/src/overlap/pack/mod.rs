//! Packs copies of a shape into as small a square as it can.
//!
//! Many packings are worked on at once, all on the device. Each has a square of its own, whose side is a variable like the copies'
//! poses. What is made small is the area in which copies overlap or are outside, plus a *pressure* times the side, by steps of Adam
//! whose rate and pressure fall together: copies give way while the pressure is high, and come to rest as it goes. Then every packing is
//! changed a little at random and squeezed again; what came of it is kept if it is smaller, or by chance if it is not much larger (N.
//! Metropolis et al., *Equation of State Calculations by Fast Computing Machines*, 1953). Now and then the best packings take the place
//! of the worst.
//!
//! At the end the best ones are squeezed by ever smaller steps, and let out by as much as it takes until no two copies overlap. All of this
//! works on a copy of the shape that is larger by a hair, so that shapes that touch there are apart.
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
    /// So many steps of every packing, and then some to settle the best. The same seed gives the same bits on the same backend.
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
    /// For how long; 20,000 steps by default.
    pub budget: Budget,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { shape: Shape::tree(), count: 10, seed: 0, starts: None, budget: Budget::Steps(20_000) }
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

/// A search for a dense packing.
#[derive(Debug)]
pub struct Packer<'a> {
    device: &'a Device,
    settings: Settings,
    cancel: Cancel,
}

impl<'a> Packer<'a> {
    /// A search on `device`.
    ///
    /// # Errors
    /// [`PackError::NoCopies`], [`PackError::NoStarts`], [`PackError::TooMany`].
    pub fn new(device: &'a Device, settings: Settings) -> Result<Self, PackError> {
        let packer = Packer { device, settings, cancel: Cancel::new() };
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
        Ok(packer)
    }

    /// Stops when this is set, with what was found until then.
    pub fn cancelled_by(mut self, cancel: &Cancel) -> Self {
        self.cancel = cancel.clone();
        self
    }

    /// How many packings are worked on at once.
    pub fn starts(&self) -> usize {
        self.settings.starts.unwrap_or(if self.device.backend() == Backend::Cuda { 256 } else { 4 })
    }

    /// Searches. `progress` hears after every squeeze how far it is.
    ///
    /// # Errors
    /// [`PackError::Invalid`], which should not happen, and device errors.
    pub fn run(&self, progress: impl FnMut(Progress)) -> Result<Packed, PackError> {
        let start = Instant::now();
        let Settings { shape, count, budget, .. } = &self.settings;
        let starts = self.starts();
        let mut search = Search::new(self.device, &self.settings, starts)?;
        let deadline = match budget {
            Budget::Steps(_) => None,
            Budget::Time(time) => Some(start + time.mul_f64(1.0 - SETTLING)),
        };
        search.run(start, &Limit { deadline, cancel: self.cancel.clone() }, progress)?;
        let finalists = search.best(FINALISTS.min(starts));
        let settling = match budget {
            Budget::Steps(steps) => (steps / 4).clamp(LEAST_SETTLING_STEPS, SETTLING_STEPS),
            // As many as fit, going by those that there were.
            Budget::Time(time) => {
                let each = start.elapsed().as_secs_f64() / (search.steps.max(1) * starts) as f64 * finalists.sides.len() as f64;
                ((SETTLING * time.as_secs_f64() / each) as usize).clamp(LEAST_SETTLING_STEPS, SETTLING_STEPS)
            }
        };
        let found = valid::settle(self.device, &self.settings, finalists, settling, &self.cancel)?;
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

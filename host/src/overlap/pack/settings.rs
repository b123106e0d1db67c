//! Settings of a search.

use std::time::Duration;

use super::{PackError, Turns};
use crate::overlap::{Boundary, Shape};

/// Maximum number of poses in all packings together.
pub const MOST_POSES: usize = 1 << 26;

/// When a search ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// After this many steps of every packing, plus some to settle the best ones. The same seed
    /// gives the same bits on the same backend.
    Steps(usize),
    /// After about this time. The result changes from run to run.
    Time(Duration),
}

impl Budget {
    /// Returns this share of the budget.
    pub(super) fn share(self, share: f64) -> Self {
        match self {
            Budget::Steps(steps) => Budget::Steps((share * steps as f64) as usize),
            Budget::Time(time) => Budget::Time(time.mul_f64(share)),
        }
    }

    /// Returns what is left of the budget after so many steps and so much time.
    pub(super) fn after(self, taken: usize, time: Duration) -> Self {
        match self {
            Budget::Steps(steps) => Budget::Steps(steps.saturating_sub(taken)),
            Budget::Time(all) => Budget::Time(all.saturating_sub(time)),
        }
    }
}

/// The copies in one packing.
#[derive(Clone, Debug, PartialEq)]
pub struct Copies {
    /// Number of copies of each shape, in the order of [`Settings::shapes`].
    pub counts: Vec<usize>,
    /// A valid packing to go on from: a pose for each copy, ordered by shape. The result is never
    /// larger.
    pub from: Option<Vec<[f64; 3]>>,
    /// True for each copy of that packing that is mirrored; empty if none is.
    pub mirrored: Vec<bool>,
}

impl Copies {
    /// Copies that start from nothing.
    pub fn new(counts: impl IntoIterator<Item = usize>) -> Self {
        Copies { counts: counts.into_iter().collect(), from: None, mirrored: Vec::new() }
    }

    /// Number of copies of all shapes.
    pub fn count(&self) -> usize {
        self.counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The index of each copy's shape.
    pub fn shapes(&self) -> Vec<u32> {
        self.counts.iter().enumerate().flat_map(|(shape, count)| std::iter::repeat_n(shape as u32, *count)).collect()
    }
}

/// The packings to search for, and the effort.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The shapes; by default the tree.
    pub shapes: Vec<Shape>,
    /// The packings to search for; by default one of 10 copies. Packings of one shape in several
    /// numbers of copies help each other: each number is given once.
    pub packings: Vec<Copies>,
    /// The container of every packing; a square by default.
    pub container: Boundary,
    /// The angles that copies may have, of all shapes or of each; any by default.
    pub turns: Vec<Turns>,
    /// Seed of all random numbers; 0 by default.
    pub seed: u64,
    /// Number of candidates that are improved at once for each packing. By default 8 to 256 on a
    /// GPU, the fewer the more copies and packings there are. On the CPU 4; with a budget of time
    /// from 1 to one per thread.
    pub starts: Option<usize>,
    /// When to stop; after 20,000 steps by default.
    pub budget: Budget,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            shapes: vec![Shape::tree()],
            packings: vec![Copies::new([10])],
            container: Boundary::square(),
            turns: vec![Turns::ANY],
            seed: 0,
            starts: None,
            budget: Budget::Steps(20_000),
        }
    }
}

impl Settings {
    /// One packing of these shapes, each with its number of copies; everything else by default.
    pub fn of(copies: impl IntoIterator<Item = (Shape, usize)>) -> Self {
        let (shapes, counts): (_, Vec<usize>) = copies.into_iter().unzip();
        Settings { shapes, packings: vec![Copies::new(counts)], ..Settings::default() }
    }

    /// The same search, but its first packing goes on from a valid one: a pose for each copy,
    /// ordered by shape.
    pub fn going_on(mut self, poses: Vec<[f64; 3]>) -> Self {
        if let Some(copies) = self.packings.first_mut() {
            copies.from = Some(poses);
        }
        self
    }

    /// Checks the numbers of copies, with `starts` candidates for each packing.
    pub(super) fn check(&self, starts: &[usize]) -> Result<(), PackError> {
        Turns::check(&self.turns, self.shapes.len())?;
        let mut all = 0usize;
        for (copies, &starts) in self.packings.iter().zip(starts) {
            let (counts, count) = (&copies.counts, copies.count());
            if counts.len() != self.shapes.len() {
                return Err(PackError::CountsOfShapes { counts: counts.len(), shapes: self.shapes.len() });
            }
            if counts.is_empty() || counts.contains(&0) {
                return Err(PackError::NoCopies);
            }
            if starts == 0 {
                return Err(PackError::NoStarts);
            }
            all = all.saturating_add(count.saturating_mul(starts));
            if all > MOST_POSES {
                return Err(PackError::TooMany { starts, count, most: MOST_POSES });
            }
            if let Some(found) = copies.from.as_ref().map(Vec::len).filter(|&found| found != count) {
                return Err(PackError::StartCount { found, count });
            }
        }
        if all == 0 {
            return Err(PackError::NoCopies);
        }
        let mut sorted: Vec<&Copies> = self.packings.iter().collect();
        sorted.sort_unstable_by_key(|copies| &copies.counts);
        match sorted.windows(2).find(|pair| pair[0].counts == pair[1].counts) {
            Some(pair) => Err(PackError::CountTwice { count: pair[0].count() }),
            None => Ok(()),
        }
    }
}

/// Limits on how often a search saves its best packings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saving {
    /// Minimum time between two saves.
    pub pause: Duration,
    /// Maximum share of the time that may go into making packings valid to save them. If that takes
    /// long, pauses become longer.
    pub share: f64,
}

impl Default for Saving {
    /// At once and every 5 s, unless that takes more than a twentieth of the time.
    fn default() -> Self {
        Saving { pause: Duration::from_secs(5), share: 0.05 }
    }
}

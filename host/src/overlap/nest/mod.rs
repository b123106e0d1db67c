//! Nests parts on sheets: as few sheets as are found in the time.
//!
//! A sheet gets parts in rows first, which takes no search. Then it gets the largest parts that may fit by their sizes,
//! and smaller ones for the room between them. A search packs these into a strip of the sheet's width, and ends as soon
//! as the strip is no longer than the sheet. Then the sheet gets more parts, or fewer if they didn't fit, until the amount
//! between is small. The rest goes on to the next sheet. Parts lie together at one end, so that the rest of the sheet
//! is in one piece.
//!
//! ```
//! use std::time::Duration;
//! use warpsmith::{common::Cancel, device::Device, overlap::{Shape, nest::{Nesting, Sheet}}};
//!
//! let square = Shape::polygon("square", &[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])?;
//! let nesting = Nesting::new([(square, 3)], [Sheet { width: 2.5, height: 1.2, count: None }], Duration::from_secs(5));
//! let nested = nesting.run(&Device::best()?, &Cancel::new(), |_| {})?;
//! assert!(nested.sheets.len() == 2 && nested.left.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod layout;

pub use layout::{Format, Laid, Layout, Place};

use std::{
    f64::consts::FRAC_PI_2,
    thread,
    time::{Duration, Instant},
};

use super::{
    Boundary, Shape,
    convex::{area, hull},
    pack::{Budget, Copies, PackError, Packer, Packing, Saving, Settings, Turns},
};
use crate::{common::Cancel, device::Device};

/// Share of a sheet's area that the first search tries to fill.
const FIRST: f64 = 0.85;
/// Change of that share after a search that found places.
const STEP: f64 = 1.07;
/// Ratio of the least area that didn't fit to the most that did, below which a sheet is full.
const FULL: f64 = 1.02;
/// Expected share of the sheets that parts cover.
const EXPECTED: f64 = 0.75;
/// Number of searches that a sheet's time is divided among.
const SEARCHES: f64 = 4.0;
/// Largest number of copies on a sheet that are searched for places; more are in rows.
const MOST: usize = 4096;
/// Least duration of a search.
const LEAST: Duration = Duration::from_millis(300);
/// Rounding of a strip's length, relative to it.
const ROUNDING: f64 = 1e-9;
/// Pause between two looks at a flag.
const PAUSE: Duration = Duration::from_millis(20);

/// Sheets of one size, in length units.
#[derive(Clone, Debug, PartialEq)]
pub struct Sheet {
    /// Extent in x.
    pub width: f64,
    /// Extent in y.
    pub height: f64,
    /// Number of sheets; as many as needed without it.
    pub count: Option<usize>,
}

/// Parts to nest, and how.
#[derive(Clone, Debug)]
pub struct Nesting {
    /// The parts, each with its number of copies.
    pub parts: Vec<(Shape, usize)>,
    /// The sheets, used in this order.
    pub sheets: Vec<Sheet>,
    /// Least distance of two parts; 0 by default.
    pub spacing: f64,
    /// Least distance of a part from a sheet's edge; 0 by default.
    pub margin: f64,
    /// The angles that parts may have, of all or of each; any by default.
    pub turns: Vec<Turns>,
    /// Seed of all random numbers; 0 by default.
    pub seed: u64,
    /// Duration of all searches together.
    pub time: Duration,
}

/// Parts by their indices in [`Nesting::parts`], and their poses.
pub type Places = Vec<(usize, [f64; 3])>;

/// A sheet with parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Filled {
    /// Index of the size in [`Nesting::sheets`].
    pub sheet: usize,
    /// Parts and their poses; the sheet's lower left corner is the origin.
    pub parts: Places,
    /// Share of the sheet's area that parts cover.
    pub density: f64,
    /// Extent in y that is used, margins included.
    pub used: f64,
}

/// Copies of a part that no sheet has.
#[derive(Clone, Debug, PartialEq)]
pub struct Left {
    /// Index in [`Nesting::parts`].
    pub part: usize,
    /// Number of copies.
    pub count: usize,
    /// True if the part is larger than every sheet at all allowed angles that were tried.
    pub too_large: bool,
}

/// The result.
#[derive(Clone, Debug, PartialEq)]
pub struct Nested {
    /// Sheets, in the order in which they were filled.
    pub sheets: Vec<Filled>,
    /// Copies without a place.
    pub left: Vec<Left>,
    /// Duration in seconds.
    pub seconds: f64,
}

impl Nesting {
    /// Parts and sheets, the rest by default.
    pub fn new(parts: impl IntoIterator<Item = (Shape, usize)>, sheets: impl IntoIterator<Item = Sheet>, time: Duration) -> Self {
        let (parts, sheets) = (parts.into_iter().collect(), sheets.into_iter().collect());
        Nesting { parts, sheets, spacing: 0.0, margin: 0.0, turns: vec![Turns::ANY], seed: 0, time }
    }

    /// Nests on a device. `progress` is called with the share of the parts' area that is on sheets. After `cancel`, the
    /// sheets until then are the result.
    ///
    /// # Errors
    /// [`PackError::NoCopies`], [`PackError::Sheet`], [`PackError::TurnsOfShapes`], and those of [`Packer::run`].
    pub fn run(&self, device: &Device, cancel: &Cancel, mut progress: impl FnMut(f64)) -> Result<Nested, PackError> {
        let start = Instant::now();
        self.check()?;
        let work = Work::new(self, device, cancel, start + self.time);
        let all: Vec<usize> = self.parts.iter().map(|(_, count)| *count).collect();
        let mut left = all.clone();
        let mut too_large = vec![true; self.parts.len()];
        let mut filled: Vec<Filled> = Vec::new();
        for (index, sheet) in self.sheets.iter().enumerate() {
            let alone: Vec<_> = (0..self.parts.len()).map(|part| work.alone(part, sheet)).collect();
            too_large.iter_mut().zip(&alone).for_each(|(too_large, alone)| *too_large &= alone.is_none());
            for _ in 0..sheet.count.unwrap_or(usize::MAX) {
                let wanted: Vec<usize> =
                    left.iter().zip(&alone).map(|(&count, alone)| alone.as_ref().map_or(0, |_| count)).collect();
                let Some(parts) = work.fill(&wanted, sheet, &alone)? else { break };
                parts.iter().for_each(|(part, _)| left[*part] -= 1);
                filled.push(self.filled(index, parts));
                progress(1.0 - self.area(&left) / self.area(&all));
            }
        }
        let without = left.iter().zip(too_large).enumerate().filter(|(_, (count, _))| **count > 0);
        Ok(Nested {
            sheets: filled,
            left: without.map(|(part, (&count, too_large))| Left { part, count, too_large }).collect(),
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    /// The area of these numbers of copies.
    fn area(&self, counts: &[usize]) -> f64 {
        self.parts.iter().zip(counts).map(|((shape, _), &count)| shape.area() * count as f64).sum()
    }

    fn check(&self) -> Result<(), PackError> {
        if self.parts.iter().all(|(_, count)| *count == 0) {
            return Err(PackError::NoCopies);
        }
        Turns::check(&self.turns, self.parts.len())?;
        let mut lengths = [("spacing", self.spacing), ("margin", self.margin)].into_iter();
        let wrong = lengths.find(|(_, length)| !(0.0..1e6).contains(length));
        if let Some((what, length)) = wrong {
            return Err(PackError::Length { what, length });
        }
        let small = |sheet: &&Sheet| {
            let room = sheet.width.min(sheet.height) - 2.0 * self.margin;
            !(room > 0.0 && sheet.width.max(sheet.height) < 1e6)
        };
        match self.sheets.iter().find(small) {
            Some(sheet) => Err(PackError::Sheet { width: sheet.width, height: sheet.height, margin: self.margin }),
            None => Ok(()),
        }
    }

    /// Describes a sheet.
    fn filled(&self, sheet: usize, parts: Places) -> Filled {
        let Sheet { width, height, .. } = self.sheets[sheet];
        let area: f64 = parts.iter().map(|(part, _)| self.parts[*part].0.area()).sum();
        let vertices = parts.iter().flat_map(|(part, pose)| self.parts[*part].0.posed(*pose)).flatten();
        let top = vertices.map(|[_, y]| y).fold(0.0, f64::max);
        Filled { sheet, density: area / (width * height), used: (top + self.margin).min(height), parts }
    }
}

/// The box of a part at the angle theta, in the part's frame.
struct Alone {
    theta: f64,
    low: [f64; 2],
    extent: [f64; 2],
}

/// A nesting under way.
struct Work<'a> {
    nesting: &'a Nesting,
    /// The parts with half of the spacing around them.
    grown: Vec<Shape>,
    /// The room that a part takes: the mean of its area and its hull's.
    sizes: Vec<f64>,
    device: &'a Device,
    cancel: &'a Cancel,
    deadline: Instant,
}

impl<'a> Work<'a> {
    fn new(nesting: &'a Nesting, device: &'a Device, cancel: &'a Cancel, deadline: Instant) -> Self {
        let grown: Vec<Shape> = nesting.parts.iter().map(|(shape, _)| shape.with_distance(0.5 * nesting.spacing)).collect();
        let size = |(own, grown): (&(Shape, usize), &Shape)| {
            0.5 * (own.0.area() + area(&hull(grown.outlines().iter().flatten().copied().collect())))
        };
        let sizes = nesting.parts.iter().zip(&grown).map(size).collect();
        Work { nesting, grown, sizes, device, cancel, deadline }
    }

    /// Distance from a sheet's edge to where grown parts may be.
    fn inset(&self) -> f64 {
        self.nesting.margin - 0.5 * self.nesting.spacing
    }

    /// Width and height for grown parts.
    fn room(&self, sheet: &Sheet) -> [f64; 2] {
        [sheet.width, sheet.height].map(|extent| extent - 2.0 * self.inset())
    }

    /// The angles that a part may have.
    fn turns(&self, part: usize) -> &Turns {
        let turns = &self.nesting.turns;
        turns.get(part).unwrap_or(&turns[0])
    }

    /// Returns the least box of a part that fits on a sheet, at an allowed angle: of any, at those at which an edge of
    /// its hull is upright or level, and at each degree.
    fn alone(&self, part: usize, sheet: &Sheet) -> Option<Alone> {
        let (shape, turns) = (&self.grown[part], self.turns(part));
        let mut angles = turns.of_hull(shape);
        if turns.is_any() {
            let level: Vec<_> = angles.iter().map(|upright| upright - FRAC_PI_2).collect();
            angles = level.into_iter().chain(angles).chain((0..180).map(|degrees| f64::from(degrees).to_radians())).collect();
        }
        let room = self.room(sheet);
        let boxes = angles.into_iter().map(|theta| {
            let [low, high] = shape.bounds_at(theta);
            Alone { theta, low, extent: [high[0] - low[0], high[1] - low[1]] }
        });
        let fits = |alone: &Alone| (0..2).all(|axis| alone.extent[axis] <= room[axis] * (1.0 + ROUNDING));
        let area = |alone: &Alone| alone.extent[0] * alone.extent[1];
        boxes.filter(fits).min_by(|a, b| area(a).total_cmp(&area(b)))
    }

    /// Places boxes of the wanted parts in rows, highest first. Returns the numbers of parts that fit, and their places.
    fn rows(&self, wanted: &[usize], sheet: &Sheet, alone: &[Option<Alone>]) -> (Vec<usize>, Places) {
        let [width, height] = self.room(sheet).map(|extent| extent * (1.0 + ROUNDING));
        let mut boxes: Vec<(usize, &Alone)> =
            alone.iter().enumerate().filter_map(|(part, alone)| Some((part, alone.as_ref()?))).collect();
        boxes.sort_by(|(_, a), (_, b)| b.extent[1].total_cmp(&a.extent[1]));
        let (mut counts, mut places) = (vec![0; wanted.len()], Places::new());
        let (mut x, mut row, mut next) = (0.0, 0.0, 0.0f64);
        for (part, Alone { theta, low, extent }) in boxes {
            for _ in 0..wanted[part] {
                let starts = x + extent[0] > width;
                if (if starts { next } else { row }) + extent[1] > height {
                    break;
                }
                if starts {
                    (x, row) = (0.0, next);
                }
                places.push((part, [self.inset() + x - low[0], self.inset() + row - low[1], *theta]));
                counts[part] += 1;
                x += extent[0];
                next = next.max(row + extent[1]);
            }
        }
        (counts, places)
    }

    /// Fills a sheet with some of the wanted parts. None if none are, or it has to end.
    fn fill(&self, wanted: &[usize], sheet: &Sheet, alone: &[Option<Alone>]) -> Result<Option<Places>, PackError> {
        if wanted.iter().all(|&count| count == 0) || self.cancel.is_cancelled() {
            return Ok(None);
        }
        let size = |counts: &[usize]| self.sizes.iter().zip(counts).map(|(size, &count)| size * count as f64).sum::<f64>();
        let room = self.room(sheet);
        let (all, area) = (size(wanted), room[0] * room[1]);
        let sheets = (all / (EXPECTED * area)).ceil().max(1.0);
        let end = Instant::now() + self.deadline.saturating_duration_since(Instant::now()).div_f64(sheets);
        // Without a search, in rows.
        let (counts, mut best) = self.rows(wanted, sheet, alone);
        let (mut most, mut least) = (size(&counts), f64::INFINITY);
        let mut target = (FIRST * area).max(STEP * most);
        let mut trials = 0;
        while !self.cancel.is_cancelled() && least >= FULL * most {
            let counts = self.chosen(wanted, target);
            let filled = size(&counts);
            let now = Instant::now();
            if filled >= least || filled <= most || now >= end || counts.iter().sum::<usize>() > MOST {
                break;
            }
            let time = end.saturating_duration_since(now).div_f64(SEARCHES).max(LEAST);
            trials += 1;
            match self.search(&counts, sheet, room, (time, trials))? {
                Some(places) => {
                    (best, most) = (places, filled);
                    target = if least.is_finite() { 0.5 * (most + least) } else { STEP * most };
                }
                None => {
                    least = filled;
                    target = 0.5 * (most + least);
                }
            }
        }
        Ok(Some(best))
    }

    /// Returns numbers of the wanted copies, largest parts first, whose size is at most the target.
    fn chosen(&self, wanted: &[usize], target: f64) -> Vec<usize> {
        let mut order: Vec<usize> = (0..wanted.len()).collect();
        order.sort_by(|&a, &b| self.sizes[b].total_cmp(&self.sizes[a]));
        let (mut counts, mut room) = (vec![0; wanted.len()], target);
        for &part in &order {
            counts[part] = wanted[part].min((room / self.sizes[part]) as usize);
            room -= counts[part] as f64 * self.sizes[part];
        }
        counts
    }

    /// Searches for places of these copies on the sheet until they are found or the time is over.
    fn search(
        &self,
        counts: &[usize],
        sheet: &Sheet,
        [width, height]: [f64; 2],
        (time, trial): (Duration, u64),
    ) -> Result<Option<Places>, PackError> {
        let parts: Vec<usize> = (0..counts.len()).filter(|&part| counts[part] > 0).collect();
        let copies = Copies::new(parts.iter().map(|&part| counts[part]));
        let kinds = copies.shapes();
        let settings = Settings {
            shapes: parts.iter().map(|&part| self.grown[part].clone()).collect(),
            packings: vec![copies],
            container: Boundary::strip(width * (1.0 + ROUNDING))?,
            turns: parts.iter().map(|&part| self.turns(part).clone()).collect(),
            seed: self.nesting.seed.wrapping_add(trial),
            starts: None,
            budget: Budget::Time(time),
        };
        let found = Cancel::new();
        let packer = Packer::new(self.device, settings)?.cancelled_by(&found);
        let fits = |side: f64| side <= height * (1.0 + ROUNDING);
        let saving = Saving { pause: Duration::from_millis(100), share: 0.25 };
        let packing = thread::scope(|scope| {
            let (over, watched) = (Cancel::new(), found.clone());
            let seen = over.clone();
            let watch = move || {
                while !seen.is_cancelled() && !watched.is_cancelled() {
                    if self.cancel.is_cancelled() {
                        watched.cancel();
                    }
                    thread::sleep(PAUSE);
                }
            };
            // Without a thread, the search ends at its time.
            let _ = thread::Builder::new().spawn_scoped(scope, watch);
            let mut saved = None;
            let save = |packings: &[Packing]| {
                if fits(packings[0].side) {
                    saved = Some(packings[0].clone());
                    found.cancel();
                }
            };
            let packed = packer.run_saving(|_| {}, saving, save);
            over.cancel();
            packed.map(|mut packed| saved.unwrap_or_else(|| packed.packings.swap_remove(0)))
        });
        let packing = packing?;
        if !fits(packing.side) {
            return Ok(None);
        }
        // The strip is centred at the origin.
        let (x, y) = (0.5 * sheet.width, 0.5 * packing.side + self.inset());
        let placed =
            packing.poses.iter().zip(kinds).map(|(pose, kind)| (parts[kind as usize], [pose[0] + x, pose[1] + y, pose[2]]));
        Ok(Some(placed.collect()))
    }
}

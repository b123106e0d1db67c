//! Nests parts on sheets: as few sheets as are found in the time.
//!
//! A sheet gets parts in rows first, which takes no search. Then it gets the largest parts that may fit by their sizes,
//! and smaller ones for the room between them. A search packs these into a strip of the sheet's width, and ends as soon
//! as the strip is no longer than the sheet. Then the sheet gets more parts, or fewer if they didn't fit, until the amount
//! between is small. The rest goes on to the next sheet. If parts have values, a sheet gets those of the greatest value that
//! may fit; and in the end one copy more, or in place of another, as long as that is found to fit. If sheets are limited, this
//! goes on until all have places, there is no room even by areas, or the time is over. If parts have priorities, each sheet
//! gets parts of the highest one, and others only in addition. Parts lie together at one end, so that the rest of the
//! sheet is in one piece. The rest of the last sheet is as large as a search finds it in a part of the time. On a roll,
//! all parts are searched for places at once, until the time is over.
//!
//! Irregular sheets have no rows, and parts get places from below first. In a search, what surrounds the sheet is one more copy,
//! which fills the strip.
//!
//! ```
//! use std::time::Duration;
//! use warpsmith::{common::Cancel, device::Device, overlap::{Shape, nest::{Nesting, Sheet}}};
//!
//! let square = Shape::polygon("square", &[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])?;
//! let nesting = Nesting::new([(square, 3)], [Sheet { width: 2.5, height: 1.2, ..Sheet::default() }], Duration::from_secs(5));
//! let nested = nesting.run(&Device::best()?, &Cancel::new(), |_| {})?;
//! assert!(nested.sheets.len() == 2 && nested.left.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod choice;
mod layout;
mod rows;
mod work;

pub use layout::{Format, Laid, Layout, Place};

use std::{
    f64::consts::FRAC_PI_2,
    time::{Duration, Instant},
};

use work::Work;

use super::{
    Shape,
    convex::{area, bounds},
    pack::{PackError, Turns},
};
use crate::{common::Cancel, device::Device};

/// Sheets of one size, in length units. A roll has one infinite extent. Parts get as short a piece of it as is found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sheet {
    /// Extent in x.
    pub width: f64,
    /// Extent in y.
    pub height: f64,
    /// Number of sheets; as many as needed without it.
    pub count: Option<usize>,
    /// An irregular sheet's polygon, whose holes are defects, and may overlap. It is in the rectangle. Such sheets have a margin of
    /// at least half of the spacing.
    pub form: Option<Shape>,
}

impl Sheet {
    /// An irregular sheet from a polygon with the lower left corner of its box at the origin, such as [`Shape::sheet`] makes.
    pub fn of(form: Shape, count: Option<usize>) -> Self {
        let [_, [width, height]] = bounds(&form.outlines()[0]);
        Sheet { width, height, count, form: Some(form) }
    }
}

/// Parts to nest, and how.
#[derive(Clone, Debug)]
pub struct Nesting {
    /// The parts, each with its number of copies.
    pub parts: Vec<(Shape, usize)>,
    /// The sheets, used in this order; or a roll alone.
    pub sheets: Vec<Sheet>,
    /// Least distance of two parts; 0 by default.
    pub spacing: f64,
    /// Least distance of a part from a sheet's edge; 0 by default.
    pub margin: f64,
    /// The angles that parts may have, of all or of each; any by default.
    pub turns: Vec<Turns>,
    /// Value of a copy of each part. Then sheets get as much value as is found. Without it, they get as much of the parts as
    /// is found.
    pub values: Option<Vec<f64>>,
    /// Priority of each part, the greatest first; all have the same if there are none, which is the default.
    pub priorities: Vec<i64>,
    /// Seed of all random numbers; 0 by default.
    pub seed: u64,
    /// Duration of all searches together.
    pub time: Duration,
}

/// A part where it lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placed {
    /// Index in [`Nesting::parts`].
    pub part: usize,
    /// Pose of the part, or of its [mirror image](Shape::mirrored).
    pub pose: [f64; 3],
    /// True if it is mirrored.
    pub mirrored: bool,
}

/// A sheet with parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Filled {
    /// Index of the size in [`Nesting::sheets`].
    pub sheet: usize,
    /// Extents in x and y; of a roll, those of the piece.
    pub size: [f64; 2],
    /// Parts and their poses; the sheet's lower left corner is the origin.
    pub parts: Vec<Placed>,
    /// Share of the sheet's area that parts cover.
    pub density: f64,
    /// Extent in y that is used, margins included; of a roll, its piece's length.
    pub used: f64,
}

/// Copies of a part that no sheet has.
#[derive(Clone, Debug, PartialEq)]
pub struct Left {
    /// Index in [`Nesting::parts`].
    pub part: usize,
    /// Number of copies.
    pub count: usize,
    /// True if the part is larger than every sheet within its margin at all allowed angles that were tried.
    pub too_large: bool,
}

/// The result.
#[derive(Clone, Debug, PartialEq)]
pub struct Nested {
    /// Sheets, in the order in which they were filled.
    pub sheets: Vec<Filled>,
    /// Copies without a place.
    pub left: Vec<Left>,
    /// Value of copies on sheets, and of all, if parts have values.
    pub value: Option<[f64; 2]>,
    /// Shorter pieces of a roll as they were found: the seconds since the start, and the density. The last one is the result.
    pub history: Vec<(f64, f64)>,
    /// Duration in seconds.
    pub seconds: f64,
}

impl Nesting {
    /// Parts and sheets, the rest by default.
    pub fn new(parts: impl IntoIterator<Item = (Shape, usize)>, sheets: impl IntoIterator<Item = Sheet>, time: Duration) -> Self {
        let (parts, sheets) = (parts.into_iter().collect(), sheets.into_iter().collect());
        Nesting {
            parts,
            sheets,
            spacing: 0.0,
            margin: 0.0,
            turns: vec![Turns::ANY],
            values: None,
            priorities: Vec::new(),
            seed: 0,
            time,
        }
    }

    /// Nests on a device. `progress` is called with the share of the parts' area that is on sheets; for a roll, with that of
    /// the time. After `cancel`, parts without a place get one in rows, and no search follows.
    ///
    /// # Errors
    /// [`PackError::NoCopies`], [`PackError::Sheet`], [`PackError::TurnsOfShapes`], [`PackError::OfParts`],
    /// [`PackError::Value`], [`PackError::Roll`], and those of [`Packer::run`](super::pack::Packer::run).
    pub fn run(&self, device: &Device, cancel: &Cancel, progress: impl FnMut(f64)) -> Result<Nested, PackError> {
        self.check()?;
        match self.sheets[..] {
            [Sheet { width: f64::INFINITY, height, .. }] => self.along_x(height, device, cancel, progress),
            _ => self.along_y(device, cancel, progress),
        }
    }

    fn along_y(&self, device: &Device, cancel: &Cancel, mut progress: impl FnMut(f64)) -> Result<Nested, PackError> {
        let start = Instant::now();
        let work = Work::new(self, device, cancel, start + self.time);
        let all: Vec<usize> = self.parts.iter().map(|(_, count)| *count).collect();
        let mut left = all.clone();
        // Some boxes are unknown if it was cancelled before.
        let mut too_large = vec![!cancel.is_cancelled(); self.parts.len()];
        let mut filled: Vec<Filled> = Vec::new();
        let beds = (0..self.sheets.len()).map(|sheet| work.bed(sheet)).collect::<Result<Vec<_>, _>>()?;
        for (index, bed) in beds.iter().enumerate() {
            let (sheet, alone) = (bed.sheet, &bed.alone);
            too_large.iter_mut().zip(alone).for_each(|(too_large, alone)| *too_large &= alone.is_none());
            let later = self.sheets[index + 1..].iter().try_fold(0usize, |all, sheet| Some(all.saturating_add(sheet.count?)));
            for number in 0..sheet.count.unwrap_or(usize::MAX) {
                let wanted: Vec<usize> =
                    left.iter().zip(alone).map(|(&count, alone)| alone.as_ref().map_or(0, |_| count)).collect();
                let remaining = sheet.count.zip(later).map(|(own, later)| (own - number).saturating_add(later));
                let parts = match sheet.height.is_infinite() {
                    true => work.unroll(&wanted, bed, &mut progress)?,
                    false => work.fill(&wanted, bed, remaining)?,
                };
                let Some(parts) = parts else { break };
                parts.iter().for_each(|placed| left[placed.part] -= 1);
                filled.push(work.described(bed, parts));
                progress(1.0 - self.area(&left) / self.area(&all));
            }
        }
        if left.iter().any(|&count| count > 0) {
            work.refill(&mut filled, &mut left, &beds)?;
        } else if self.values.is_none() {
            work.shorten(&mut filled, &beds)?;
        }
        let pieces = work.pieces.take();
        let density = |(seconds, length): (f64, f64)| (seconds, self.area(&all) / length / self.sheets[0].width);
        let end = filled.first().filter(|_| !pieces.is_empty()).map(|piece| (start.elapsed().as_secs_f64(), piece.density));
        let value = self.values.as_ref().map(|values| {
            let whole = total(values, &all);
            [whole - total(values, &left), whole]
        });
        let without = left.iter().zip(too_large).enumerate().filter(|(_, (count, _))| **count > 0);
        Ok(Nested {
            left: without.map(|(part, (&count, too_large))| Left { part, count, too_large }).collect(),
            value,
            history: pieces.into_iter().map(density).chain(end).collect(),
            seconds: start.elapsed().as_secs_f64(),
            sheets: filled,
        })
    }

    /// Nests on a roll of this extent in y: all is turned by a quarter meanwhile, as rolls are searched along y.
    fn along_x(&self, height: f64, device: &Device, cancel: &Cancel, progress: impl FnMut(f64)) -> Result<Nested, PackError> {
        let sheets = vec![Sheet { width: height, height: f64::INFINITY, count: Some(1), form: None }];
        let turns = self.turns.iter().map(|turns| turns.turned(FRAC_PI_2)).collect();
        let mut nested = Nesting { sheets, turns, ..self.clone() }.along_y(device, cancel, progress)?;
        for filled in &mut nested.sheets {
            filled.size.reverse();
            for Placed { part, pose, .. } in &mut filled.parts {
                let [x, y, theta] = *pose;
                *pose = [y, height - x, self.turns_of(*part).nearest(theta - FRAC_PI_2)];
            }
        }
        Ok(nested)
    }

    /// Returns true if parts have a distance from the edge of a sheet: a margin, or on irregular sheets half of the spacing.
    pub fn has_margins(&self) -> bool {
        self.margin > 0.0 || self.spacing > 0.0 && self.sheets.iter().any(|sheet| sheet.form.is_some())
    }

    /// The angles that a part may have.
    fn turns_of(&self, part: usize) -> &Turns {
        self.turns.get(part).unwrap_or(&self.turns[0])
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
        let parts = self.parts.len();
        let values = self.values.iter().map(|values| ("values", values.len()));
        let mut of_parts = values.chain([("priorities", self.priorities.len())].into_iter().filter(|(_, found)| *found > 0));
        if let Some((what, found)) = of_parts.find(|(_, found)| *found != parts) {
            return Err(PackError::OfParts { what, found, parts });
        }
        let copies: f64 = self.parts.iter().map(|(_, count)| *count as f64).sum();
        let mut values = self.values.iter().flatten().zip(&self.parts);
        if let Some((&value, (shape, _))) = values.find(|(value, _)| !(**value > 0.0 && (*value * copies).is_finite())) {
            return Err(PackError::Value { part: shape.name().to_owned(), value });
        }
        let mut lengths = [("spacing", self.spacing), ("margin", self.margin)].into_iter();
        let wrong = lengths.find(|(_, length)| !(0.0..1e6).contains(length));
        if let Some((what, length)) = wrong {
            return Err(PackError::Length { what, length });
        }
        for Sheet { width, height, form, .. } in &self.sheets {
            let Some(form) = form else { continue };
            let is_simple = form.outlines()[1..].iter().all(|hole| area(hole) < 0.0);
            let [low, high] = bounds(&form.outlines()[0]);
            if !(is_simple
                && low[0] >= 0.0
                && low[1] >= 0.0
                && high[0] <= *width
                && high[1] <= *height
                && width.max(*height) < 1e6)
            {
                return Err(PackError::Form { sheet: form.name().to_owned() });
            }
        }
        let is_roll = |sheet: &Sheet| sheet.width.max(sheet.height) == f64::INFINITY;
        if self.sheets.len() > 1 && self.sheets.iter().any(is_roll) {
            return Err(PackError::Roll);
        }
        let small = |sheet: &&Sheet| {
            let has_room = |extent: f64| extent - 2.0 * self.margin > 0.0 && (extent < 1e6 || extent == f64::INFINITY);
            !(has_room(sheet.width) && has_room(sheet.height) && sheet.width.min(sheet.height) < 1e6)
        };
        match self.sheets.iter().find(small) {
            Some(sheet) => Err(PackError::Sheet { width: sheet.width, height: sheet.height, margin: self.margin }),
            None => Ok(()),
        }
    }
}

/// Returns the sum over all copies of numbers for each.
fn total(each: &[f64], counts: &[usize]) -> f64 {
    each.iter().zip(counts).map(|(number, &count)| number * count as f64).sum()
}

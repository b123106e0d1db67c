//! Nests parts on sheets: as few sheets as are found in the time.
//!
//! A sheet gets parts in rows first, which takes no search. Then it gets the largest parts that may fit by their sizes,
//! and smaller ones for the room between them. A search packs these into a strip of the sheet's width, and ends as soon
//! as the strip is no longer than the sheet. Then the sheet gets more parts, or fewer if they didn't fit, until the amount
//! between is small. The rest goes on to the next sheet. If parts have values, a sheet gets those of the greatest value that
//! may fit; and in the end one copy more, or in place of another, as long as that is found to fit. If they have priorities,
//! each sheet gets parts of the highest one, and others only in addition. Parts lie together at one end, so that the rest of
//! the sheet is in one piece. The rest of the last sheet is as large as a search finds it in a part of the time. On a roll,
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

pub use layout::{Format, Laid, Layout, Place};

use std::{
    cell::RefCell,
    f64::consts::FRAC_PI_2,
    time::{Duration, Instant},
};

use choice::{Item, largest_first, most_valuable};

use super::{
    Boundary, Packings, Shape,
    contest::{meetings, separation},
    convex::{area, bounds, hull},
    pack::{Budget, Copies, PackError, Packer, Progress, Saving, Settings, Turns},
};
use crate::{common::Cancel, device::Device};

/// Share of a sheet's area that the first search tries to fill.
const FIRST: f64 = 0.85;
/// Change of that share after a search that found places.
const STEP: f64 = 1.07;
/// Ratio of the least area that didn't fit to the most that did, below which a sheet is full.
const FULL: f64 = 1.02;
/// Shares of a sheet's area that the most valuable parts fill in rows.
const SHARES: &[f64] = &[1.0, 0.9, 0.8, 0.7, 0.6, 0.5];
/// Largest number of parts that are tried in place of others.
const MOST_CHANGED: usize = 64;
/// Expected share of the sheets that parts cover.
const EXPECTED: f64 = 0.75;
/// Share of the time in which the last sheet's parts are put closer together.
const SHORTENING: f64 = 0.2;
/// Number of searches that a sheet's time is divided among.
const SEARCHES: f64 = 4.0;
/// Largest number of copies on a sheet that are searched for places; more are in rows.
const MOST: usize = 4096;
/// Least duration of a search.
const LEAST: Duration = Duration::from_millis(300);
/// Largest number of places on an irregular sheet that are tried for a part.
const SCANNED: f64 = 10_000.0;
/// Thickness of the frame around an irregular sheet, relative to its larger extent.
const FRAME: f64 = 0.05;
/// Room for that frame in a strip, relative to its radius. Few parts are so thin that they would fit between both.
const SLACK: f64 = 4e-3;
/// Rounding of a strip's length, relative to it.
const ROUNDING: f64 = 1e-9;

/// Sheets of one size, in length units. A roll has one infinite extent. Parts get as short a piece of it as is found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sheet {
    /// Extent in x.
    pub width: f64,
    /// Extent in y.
    pub height: f64,
    /// Number of sheets; as many as needed without it.
    pub count: Option<usize>,
    /// An irregular sheet's polygon, whose holes are defects. It is in the rectangle. Such sheets have a margin of at least half
    /// of the spacing.
    pub form: Option<Shape>,
}

impl Sheet {
    /// An irregular sheet from a polygon with the lower left corner of its box at the origin.
    pub fn of(form: Shape, count: Option<usize>) -> Self {
        let [_, [width, height]] = form.bounds_at(0.0);
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
    /// the time. After `cancel`, the sheets until then are the result.
    ///
    /// # Errors
    /// [`PackError::NoCopies`], [`PackError::Sheet`], [`PackError::TurnsOfShapes`], [`PackError::OfParts`],
    /// [`PackError::Value`], [`PackError::Roll`], and those of [`Packer::run`].
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
        let mut too_large = vec![true; self.parts.len()];
        let mut filled: Vec<Filled> = Vec::new();
        for (index, sheet) in self.sheets.iter().enumerate() {
            let alone: Vec<_> = (0..self.parts.len()).map(|part| work.alone(part, sheet)).collect();
            too_large.iter_mut().zip(&alone).for_each(|(too_large, alone)| *too_large &= alone.is_none());
            for _ in 0..sheet.count.unwrap_or(usize::MAX) {
                let wanted: Vec<usize> =
                    left.iter().zip(&alone).map(|(&count, alone)| alone.as_ref().map_or(0, |_| count)).collect();
                let parts = match sheet.height.is_infinite() {
                    true => work.unroll(&wanted, sheet, &alone, &mut progress)?,
                    false => work.fill(&wanted, sheet, &alone)?,
                };
                let Some(parts) = parts else { break };
                parts.iter().for_each(|placed| left[placed.part] -= 1);
                filled.push(self.filled(index, parts));
                progress(1.0 - self.area(&left) / self.area(&all));
            }
        }
        if left.iter().all(|&count| count == 0) && self.values.is_none() {
            work.shorten(&mut filled)?;
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
        let mut values = self.values.iter().flatten().zip(&self.parts);
        if let Some((&value, (shape, _))) = values.find(|(value, _)| !(**value > 0.0 && value.is_finite())) {
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
            let [low, high] = form.bounds_at(0.0);
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

    /// The greatest y of parts.
    fn top(&self, parts: &[Placed]) -> f64 {
        let image = |part: usize| self.turns_of(part).mirrors().then(|| self.parts[part].0.mirrored());
        let images: Vec<Option<Shape>> = (0..self.parts.len()).map(image).collect();
        let shape =
            |placed: &Placed| images[placed.part].as_ref().filter(|_| placed.mirrored).unwrap_or(&self.parts[placed.part].0);
        let vertices = parts.iter().flat_map(|placed| shape(placed).posed(placed.pose).collect::<Vec<_>>()).flatten();
        vertices.map(|[_, y]| y).fold(0.0, f64::max)
    }

    /// Describes a sheet.
    fn filled(&self, sheet: usize, parts: Vec<Placed>) -> Filled {
        let Sheet { width, height, ref form, .. } = self.sheets[sheet];
        let area: f64 = parts.iter().map(|placed| self.parts[placed.part].0.area()).sum();
        let used = (self.top(&parts) + self.margin).min(height);
        let size = [width, if height.is_finite() { height } else { used }];
        let whole = form.as_ref().map_or(size[0] * size[1], Shape::area);
        Filled { sheet, size, density: area / whole, used, parts }
    }
}

/// The box of a part at the angle theta, in the part's frame.
struct Alone {
    theta: f64,
    low: [f64; 2],
    extent: [f64; 2],
}

/// Copies on a sheet.
struct Filling {
    counts: Vec<usize>,
    places: Vec<Placed>,
    /// Number of searches until then.
    trials: u64,
}

/// Returns the sum over all copies of numbers for each.
fn total(each: &[f64], counts: &[usize]) -> f64 {
    each.iter().zip(counts).map(|(number, &count)| number * count as f64).sum()
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
    /// Shorter pieces of a roll as they are found: the seconds since the start, and the length.
    pieces: RefCell<Vec<(f64, f64)>>,
}

impl<'a> Work<'a> {
    fn new(nesting: &'a Nesting, device: &'a Device, cancel: &'a Cancel, deadline: Instant) -> Self {
        let grown = |(shape, _): &(Shape, usize)| match nesting.spacing {
            0.0 => shape.clone(),
            spacing => shape.simplified().with_distance(0.5 * spacing),
        };
        let grown: Vec<Shape> = nesting.parts.iter().map(grown).collect();
        let size = |(own, grown): (&(Shape, usize), &Shape)| {
            0.5 * (own.0.area() + area(&hull(grown.outlines().iter().flatten().copied().collect())))
        };
        let sizes = nesting.parts.iter().zip(&grown).map(size).collect();
        Work { nesting, grown, sizes, device, cancel, deadline, pieces: RefCell::default() }
    }

    /// Seconds since the start.
    fn seconds(&self) -> f64 {
        (Instant::now() + self.nesting.time).saturating_duration_since(self.deadline).as_secs_f64()
    }

    /// Distance from a sheet's edge to where grown parts may be.
    fn inset(&self) -> f64 {
        self.nesting.margin - 0.5 * self.nesting.spacing
    }

    /// Width and height for grown parts.
    fn room(&self, sheet: &Sheet) -> [f64; 2] {
        [sheet.width, sheet.height].map(|extent| extent - 2.0 * self.inset())
    }

    /// Area for grown parts.
    fn area(&self, sheet: &Sheet) -> f64 {
        let [width, height] = self.room(sheet);
        width * height - sheet.form.as_ref().map_or(0.0, |form| sheet.width * sheet.height - form.area())
    }

    /// Returns the least box of a part that fits on a sheet, at an allowed angle: of any, at those at which an edge of
    /// its hull is upright or level, and at each degree.
    fn alone(&self, part: usize, sheet: &Sheet) -> Option<Alone> {
        let (shape, turns) = (&self.grown[part], self.nesting.turns_of(part));
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

    fn priority(&self, part: usize) -> i64 {
        self.nesting.priorities.get(part).copied().unwrap_or_default()
    }

    /// The room that these copies take.
    fn size(&self, counts: &[usize]) -> f64 {
        total(&self.sizes, counts)
    }

    /// Returns the value of these copies, or the room that they take.
    fn worth(&self, counts: &[usize]) -> f64 {
        total(self.nesting.values.as_ref().unwrap_or(&self.sizes), counts)
    }

    /// Places wanted parts on an irregular sheet where there is room, from below: the highest priority first, and within it the
    /// largest. Returns the numbers of parts that fit, and their places.
    fn upwards(&self, wanted: &[usize], sheet: &Sheet, alone: &[Option<Alone>]) -> Result<(Vec<usize>, Vec<Placed>), PackError> {
        let mut order: Vec<(usize, &Alone)> =
            alone.iter().enumerate().filter_map(|(part, alone)| Some((part, alone.as_ref()?))).collect();
        order.sort_by(|(one, _), (other, _)| {
            self.priority(*other).cmp(&self.priority(*one)).then(self.sizes[*other].total_cmp(&self.sizes[*one]))
        });
        let (mut counts, mut places) = (vec![0; wanted.len()], Vec::new());
        let boxed = |piece: Vec<[f64; 2]>| (bounds(&piece), piece);
        let Some(around) = self.surroundings(sheet)? else { return Ok((counts, places)) };
        let rounding = ROUNDING * sheet.width.max(sheet.height);
        let mut taken: Vec<_> = around.pieces().iter().cloned().map(boxed).collect();
        for (part, Alone { theta, extent, .. }) in order {
            let (shape, turns) = (&self.grown[part], self.nesting.turns_of(part));
            let quarters = (0..4).map(|quarter| theta + f64::from(quarter) * FRAC_PI_2);
            let angles: Vec<f64> = quarters.filter(|angle| turns.allow(*angle)).map(|angle| turns.nearest(angle)).collect();
            let turned: Vec<(f64, Vec<_>, [[f64; 2]; 2])> = angles
                .into_iter()
                .map(|angle| (angle, shape.posed_pieces([0.0, 0.0, angle]).map(boxed).collect(), shape.bounds_at(angle)))
                .collect();
            let step = (0.25 * extent[0].min(extent[1])).max((sheet.width * sheet.height / SCANNED).sqrt());
            let [columns, rows] = [sheet.width, sheet.height].map(|extent| (extent / step) as usize + 1);
            // A place that is taken stays so.
            for cell in 0..columns * rows {
                if counts[part] == wanted[part] || self.cancel.is_cancelled() {
                    break;
                }
                let corner = [cell % columns, cell / columns].map(|number| number as f64 * step);
                let free = turned.iter().find(|(_, pieces, [low, high])| {
                    let by = [corner[0] - low[0], corner[1] - low[1]];
                    // The frame around the sheet may lie between a part's pieces.
                    if high[0] + by[0] > sheet.width + rounding || high[1] + by[1] > sheet.height + rounding {
                        return false;
                    }
                    let moved = |[x, y]: [f64; 2]| [x + by[0], y + by[1]];
                    pieces.iter().all(|(box_, piece)| {
                        let [low, high] = box_.map(moved);
                        let near = |([from, to], _): &&([[f64; 2]; 2], Vec<[f64; 2]>)| {
                            (0..2).all(|axis| low[axis] < to[axis] && from[axis] < high[axis])
                        };
                        let mut near = taken.iter().filter(near).peekable();
                        let piece: Vec<[f64; 2]> =
                            near.peek().map(|_| piece.iter().copied().map(moved).collect()).unwrap_or_default();
                        near.all(|(_, other)| separation(&piece, other) > rounding)
                    })
                });
                let Some((angle, _, [low, _])) = free else { continue };
                let pose = [corner[0] - low[0], corner[1] - low[1], *angle];
                taken.extend(shape.posed_pieces(pose).map(boxed));
                places.push(Placed { part, pose, mirrored: false });
                counts[part] += 1;
            }
        }
        Ok((counts, places))
    }

    /// Places boxes of the wanted parts in rows: the highest priority first, and within it the highest boxes. Returns the
    /// numbers of parts that fit, and their places. On irregular sheets they lie [anywhere](Self::upwards).
    fn rows(&self, wanted: &[usize], sheet: &Sheet, alone: &[Option<Alone>]) -> Result<(Vec<usize>, Vec<Placed>), PackError> {
        let [width, height] = self.room(sheet).map(|extent| extent * (1.0 + ROUNDING));
        let mut boxes: Vec<(usize, &Alone)> =
            alone.iter().enumerate().filter_map(|(part, alone)| Some((part, alone.as_ref()?))).collect();
        boxes.sort_by(|(one, a), (other, b)| {
            self.priority(*other).cmp(&self.priority(*one)).then(b.extent[1].total_cmp(&a.extent[1]))
        });
        let (mut counts, mut places) = (vec![0; wanted.len()], Vec::new());
        let (mut x, mut row, mut next) = (0.0, 0.0, 0.0f64);
        if sheet.form.is_some() {
            return self.upwards(wanted, sheet, alone);
        }
        for (part, Alone { theta, low, extent }) in boxes {
            for _ in 0..wanted[part] {
                let starts = x + extent[0] > width;
                if (if starts { next } else { row }) + extent[1] > height {
                    break;
                }
                if starts {
                    (x, row) = (0.0, next);
                }
                let pose = [self.inset() + x - low[0], self.inset() + row - low[1], *theta];
                places.push(Placed { part, pose, mirrored: false });
                counts[part] += 1;
                x += extent[0];
                next = next.max(row + extent[1]);
            }
        }
        Ok((counts, places))
    }

    /// Places the wanted parts on a roll, in rows or by a search until the time is over, whichever is shorter. None without
    /// parts, or if it has to end.
    fn unroll(
        &self,
        wanted: &[usize],
        roll: &Sheet,
        alone: &[Option<Alone>],
        progress: &mut dyn FnMut(f64),
    ) -> Result<Option<Vec<Placed>>, PackError> {
        if wanted.iter().all(|&count| count == 0) || self.cancel.is_cancelled() {
            return Ok(None);
        }
        let (_, rows) = self.rows(wanted, roll, alone)?;
        let time = self.deadline.saturating_duration_since(Instant::now()).max(LEAST);
        let found = match wanted.iter().sum::<usize>() {
            ..=MOST => self.search(wanted, roll, self.room(roll), (time, 0), progress)?,
            _ => None,
        };
        let top = |places: &Vec<Placed>| self.nesting.top(places);
        Ok([Some(rows), found].into_iter().flatten().min_by(|a, b| top(a).total_cmp(&top(b))))
    }

    /// Looks for places of the last sheet's parts in a shorter piece of it, so that the rest of the sheet is larger.
    fn shorten(&self, filled: &mut [Filled]) -> Result<(), PackError> {
        let Some(last) = filled.last_mut() else { return Ok(()) };
        let sheet = &self.nesting.sheets[last.sheet];
        let time = self.deadline.saturating_duration_since(Instant::now()).min(self.nesting.time.mul_f64(SHORTENING));
        let is_hopeless = sheet.height.is_infinite() || sheet.form.is_some() || last.parts.len() > MOST;
        if is_hopeless || time < LEAST || self.cancel.is_cancelled() {
            return Ok(());
        }
        let mut counts = vec![0; self.nesting.parts.len()];
        last.parts.iter().for_each(|placed| counts[placed.part] += 1);
        let [width, _] = self.room(sheet);
        let found = self.search(&counts, sheet, [width, f64::INFINITY], (time, 0), &mut |_| {})?;
        let found = found.map(|parts| self.nesting.filled(last.sheet, parts));
        if let Some(found) = found.filter(|found| found.used < last.used) {
            *last = found;
        }
        Ok(())
    }

    /// Fills a sheet with some of the wanted parts. None if none are, or it has to end.
    fn fill(&self, wanted: &[usize], sheet: &Sheet, alone: &[Option<Alone>]) -> Result<Option<Vec<Placed>>, PackError> {
        if wanted.iter().all(|&count| count == 0) || self.cancel.is_cancelled() {
            return Ok(None);
        }
        let left = |end: Instant| end.saturating_duration_since(Instant::now());
        let sheets = (self.size(wanted) / (EXPECTED * self.area(sheet))).ceil().max(1.0);
        let end = Instant::now() + left(self.deadline).div_f64(sheets);
        let mut levels: Vec<i64> = (0..wanted.len()).filter(|&part| wanted[part] > 0).map(|part| self.priority(part)).collect();
        levels.sort_unstable_by(|a, b| b.cmp(a));
        levels.dedup();
        let mut filling = Filling { counts: vec![0; wanted.len()], places: Vec::new(), trials: 0 };
        for (index, &level) in levels.iter().enumerate() {
            let all: Vec<usize> = (0..wanted.len())
                .map(|part| if self.priority(part) == level { wanted[part] } else { filling.counts[part] })
                .collect();
            let end = Instant::now() + left(end) / (levels.len() - index) as u32;
            filling = self.filled(filling, &all, (sheet, alone), end)?;
        }
        Ok(Some(filling.places).filter(|places| !places.is_empty()))
    }

    /// Adds copies to a sheet, up to the wanted numbers of all.
    fn filled(
        &self,
        mut best: Filling,
        wanted: &[usize],
        (sheet, alone): (&Sheet, &[Option<Alone>]),
        end: Instant,
    ) -> Result<Filling, PackError> {
        let (base, has_values) = (best.counts.clone(), self.nesting.values.is_some());
        let area = self.area(sheet);
        // Without a search, in rows.
        let shares = if has_values { SHARES } else { &[] };
        let choices = shares.iter().map(|share| self.chosen(&base, wanted, share * area));
        for counts in std::iter::once(wanted.to_vec()).chain(choices) {
            let (counts, places) = self.rows(&counts, sheet, alone)?;
            let has_all = counts.iter().zip(&base).all(|(count, base)| count >= base);
            if has_all && self.worth(&counts) > self.worth(&best.counts) {
                best = Filling { counts, places, ..best };
            }
        }
        let (mut most, mut least) = (self.size(&best.counts), f64::INFINITY);
        let mut target = (FIRST * area).max(STEP * most);
        while !self.cancel.is_cancelled() && least >= FULL * most {
            let counts = self.chosen(&base, wanted, target);
            let filled = self.size(&counts);
            if filled >= least || Instant::now() >= end {
                break;
            }
            if self.worth(&counts) <= self.worth(&best.counts) {
                // More room may be good for more value.
                let greatest = least.min(area);
                if !has_values || FULL * target >= greatest {
                    break;
                }
                target = 0.5 * (target + greatest);
                continue;
            }
            if self.tried(&mut best, counts, (sheet, alone), end)? {
                most = filled;
                target = if least.is_finite() { 0.5 * (most + least) } else { STEP * most };
            } else {
                least = filled;
                target = 0.5 * (most + least);
            }
        }
        if has_values || !self.nesting.priorities.is_empty() {
            self.improve(&mut best, (&base, wanted), (sheet, alone), end)?;
        }
        Ok(best)
    }

    /// Adds a copy, or puts one in place of another, as long as that is worth more and places are found.
    fn improve(
        &self,
        best: &mut Filling,
        (base, wanted): (&[usize], &[usize]),
        on: (&Sheet, &[Option<Alone>]),
        end: Instant,
    ) -> Result<(), PackError> {
        let area = self.area(on.0);
        let mut failed: Vec<Vec<usize>> = Vec::new();
        loop {
            let counts = &best.counts;
            let more = (0..counts.len()).filter(|&part| counts[part] < wanted[part]);
            let less = (0..counts.len()).filter(|&part| counts[part] > base[part] && counts.len() <= MOST_CHANGED).map(Some);
            let less: Vec<Option<usize>> = std::iter::once(None).chain(less).collect();
            let mut changed: Vec<Vec<usize>> = Vec::new();
            for part in more {
                for &other in &less {
                    let mut counts = counts.clone();
                    counts[part] += 1;
                    other.into_iter().for_each(|other| counts[other] -= 1);
                    // If some copies found no places, neither do they and more.
                    let hopeless = failed.iter().any(|failed| failed.iter().zip(&counts).all(|(failed, count)| failed <= count));
                    if self.worth(&counts) > self.worth(&best.counts) && self.size(&counts) <= area && !hopeless {
                        changed.push(counts);
                    }
                }
            }
            let Some(counts) = changed.into_iter().max_by(|a, b| self.worth(a).total_cmp(&self.worth(b))) else { return Ok(()) };
            if self.cancel.is_cancelled() || Instant::now() >= end {
                return Ok(());
            }
            if !self.tried(best, counts.clone(), on, end)? {
                failed.push(counts);
            }
        }
    }

    /// Looks for places of these copies, in rows and by a search. Returns true if there are some, which then are the best ones.
    fn tried(
        &self,
        best: &mut Filling,
        counts: Vec<usize>,
        (sheet, alone): (&Sheet, &[Option<Alone>]),
        end: Instant,
    ) -> Result<bool, PackError> {
        let (in_rows, mut places) = self.rows(&counts, sheet, alone)?;
        if in_rows != counts {
            if counts.iter().sum::<usize>() > MOST {
                return Ok(false);
            }
            best.trials += 1;
            let time = end.saturating_duration_since(Instant::now()).div_f64(SEARCHES).max(LEAST);
            match self.search(&counts, sheet, self.room(sheet), (time, best.trials), &mut |_| {})? {
                Some(found) => places = found,
                None => return Ok(false),
            }
        }
        (best.counts, best.places) = (counts, places);
        Ok(true)
    }

    /// Returns numbers of the wanted copies, at least those of `base`, whose size is at most the target: the largest parts
    /// first, or those of the greatest value.
    fn chosen(&self, base: &[usize], wanted: &[usize], target: f64) -> Vec<usize> {
        let values = self.nesting.values.as_ref();
        let item = |part: usize| Item {
            size: self.sizes[part],
            value: values.map_or(0.0, |values| values[part]),
            count: wanted[part] - base[part],
        };
        let items: Vec<Item> = (0..wanted.len()).map(item).collect();
        let room = target - self.size(base);
        let more = if values.is_some() { most_valuable(&items, room) } else { largest_first(&items, room) };
        base.iter().zip(more).map(|(base, more)| base + more).collect()
    }

    /// Searches for places of these copies on the sheet until they are found or the time is over; on a roll, until it is
    /// over.
    fn search(
        &self,
        counts: &[usize],
        sheet: &Sheet,
        [width, height]: [f64; 2],
        (time, trial): (Duration, u64),
        progress: &mut dyn FnMut(f64),
    ) -> Result<Option<Vec<Placed>>, PackError> {
        let parts: Vec<usize> = (0..counts.len()).filter(|&part| counts[part] > 0).collect();
        let mut copies = Copies::new(parts.iter().map(|&part| counts[part]));
        let mut shapes: Vec<Shape> = parts.iter().map(|&part| self.grown[part].clone()).collect();
        let mut turns: Vec<Turns> = parts.iter().map(|&part| self.nesting.turns_of(part).clone()).collect();
        let [mut width, mut most] = [width, height].map(|extent| extent * (1.0 + ROUNDING));
        // The surroundings of an irregular sheet are a copy of their own, which fills the strip.
        let around = self.surroundings(sheet)?;
        if let Some(around) = &around {
            let [low, high] = around.bounds_at(0.0);
            [width, most] = [0, 1].map(|axis| high[axis] - low[axis] + SLACK * around.radius());
            copies.counts.push(1);
            shapes.push(around.clone());
            turns.push(Turns::NONE);
        }
        let kinds = copies.shapes();
        let settings = Settings {
            shapes,
            packings: vec![copies],
            container: Boundary::strip(width)?,
            turns,
            seed: self.nesting.seed.wrapping_add(trial),
            starts: None,
            budget: Budget::Time(time),
        };
        let packer = Packer::new(self.device, settings)?.cancelled_by(self.cancel);
        let tell = |reached: &Progress| {
            let (seconds, length) = (self.seconds(), reached.sides[0] + 2.0 * self.inset());
            let mut pieces = self.pieces.borrow_mut();
            if sheet.height.is_infinite() && reached.sides[0].is_finite() && pieces.last().is_none_or(|last| length < last.1) {
                pieces.push((seconds, length));
            }
            progress((reached.seconds / time.as_secs_f64()).min(1.0));
        };
        let (packer, saving) = match most.is_finite() {
            true => (packer.until(most), Saving { pause: Duration::from_millis(100), share: 0.25 }),
            // A piece of a roll may always be shorter.
            false => (packer, Saving::default()),
        };
        let packing = packer.run_saving(tell, saving, |_| {})?.packings.swap_remove(0);
        if packing.side > most {
            return Ok(None);
        }
        // The strip is centred at the origin.
        let (x, y) = match &around {
            Some(_) => packing.poses.last().map_or((0.0, 0.0), |[x, y, _]| (-x, -y)),
            None => (0.5 * sheet.width, 0.5 * packing.side + self.inset()),
        };
        let mirrored = packing.mirrored.iter().copied().chain(std::iter::repeat(false));
        let own = packing.poses.iter().zip(kinds).zip(mirrored).filter(|((_, kind), _)| (*kind as usize) < parts.len());
        let placed = own.map(|((pose, kind), mirrored)| Placed {
            part: parts[kind as usize],
            pose: [pose[0] + x, pose[1] + y, pose[2]],
            mirrored,
        });
        let placed: Vec<Placed> = placed.collect();
        // Moves round.
        let is_valid = around.as_ref().map_or(Ok(true), |around| self.are_on(&placed, sheet, around))?;
        Ok(is_valid.then_some(placed))
    }

    /// All that is around an irregular sheet and in its defects, with the margin.
    fn surroundings(&self, sheet: &Sheet) -> Result<Option<Shape>, PackError> {
        let by = FRAME * sheet.width.max(sheet.height);
        Ok(sheet.form.as_ref().map(|form| form.surroundings(by, self.inset().max(0.0))).transpose()?)
    }

    /// Returns true if parts are in the sheet's box, and neither overlap each other nor what is around it.
    fn are_on(&self, placed: &[Placed], sheet: &Sheet, around: &Shape) -> Result<bool, PackError> {
        let images: Vec<Shape> = self.grown.iter().map(Shape::mirrored).collect();
        let shapes: Vec<Shape> = self.grown.iter().chain(&images).chain([around]).cloned().collect();
        let number = |placed: &Placed| placed.part + if placed.mirrored { images.len() } else { 0 };
        let numbers: Vec<usize> = placed.iter().map(number).chain([shapes.len() - 1]).collect();
        let poses: Vec<[f64; 3]> = placed.iter().map(|placed| placed.pose).chain([[0.0; 3]]).collect();
        let vertices =
            || numbers.iter().zip(&poses).take(placed.len()).flat_map(|(&shape, &pose)| shapes[shape].posed(pose)).flatten();
        let is_in = vertices().all(|[x, y]| (0.0..=sheet.width).contains(&x) && (0.0..=sheet.height).contains(&y));
        let packings = Packings::one(poses)?.with_shapes(numbers.iter().map(|&shape| shape as u32).collect())?;
        Ok(is_in && meetings(&packings, 0, &shapes).iter().all(|(_, overlap)| !overlap))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts that touch the outline, a defect and each other are on a sheet, and those that are 1e-9 farther are not.
    #[test]
    fn parts_that_touch() -> Result<(), PackError> {
        let form = Shape::with_holes(
            "form",
            &[[0.0, 0.0], [10.0, 0.0], [10.0, 6.0], [4.0, 8.0], [0.0, 8.0]],
            &[vec![[4.0, 2.0], [6.0, 2.0], [6.0, 4.0], [4.0, 4.0]]],
        )?;
        let square = Shape::polygon("square", &[[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]])?;
        let hook = Shape::polygon("hook", &[[0.0, 0.0], [3.0, 0.0], [3.0, 1.0], [1.0, 1.0], [1.0, 2.0], [0.0, 2.0]])?;
        let nesting = Nesting::new([(square, 9), (hook, 9)], [Sheet::of(form, None)], LEAST);
        let (device, cancel) = (Device::best()?, Cancel::new());
        let (sheet, work) = (&nesting.sheets[0], Work::new(&nesting, &device, &cancel, Instant::now()));
        let around = work.surroundings(sheet)?.ok_or(PackError::NoRoom)?;
        let placed = |part, x, y, mirrored| Placed { part, pose: [x, y, 0.0], mirrored };
        // In corners, beside the defect, in a hook's corner, and at the slope through (7, 7).
        let all = [
            placed(0, 0.0, 0.0, false),
            placed(0, 8.0, 0.0, false),
            placed(0, 2.0, 2.0, false),
            placed(0, 4.0, 4.0, false),
            placed(0, 5.0, 0.0, false),
            placed(1, 0.0, 4.0, false),
            placed(1, 9.5, 4.0, true),
            placed(0, 1.0, 5.0, false),
        ];
        assert!(work.are_on(&all, sheet, &around)?);
        for (index, [dx, dy]) in
            [[0.0, -1.0], [1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0], [-1.0, 0.0], [0.0, 0.0], [-1.0, 0.0]]
                .into_iter()
                .enumerate()
        {
            let mut moved = all;
            moved[index].pose[0] += 1e-9 * dx;
            moved[index].pose[1] += 1e-9 * dy;
            assert_eq!(work.are_on(&moved, sheet, &around)?, index == 6, "{index}");
        }
        // Its image reaches to the other side.
        let mut flipped = all;
        flipped[6].mirrored = false;
        assert!(!work.are_on(&flipped, sheet, &around)?);
        // At the slope y = 8 - (x - 4) / 3.
        let at = |x: f64, y: f64| work.are_on(&[placed(0, x, y, false)], sheet, &around);
        assert!(at(5.0, 5.0)? && at(2.0, 6.0)? && !at(5.0 + 1e-9, 5.0)? && !at(2.0 + 1e-9, 6.0)?);
        Ok(())
    }
}

//! Searches for places.

use std::{
    cell::{OnceCell, RefCell},
    time::{Duration, Instant},
};

use super::{
    Filled, Nesting, Placed, Sheet,
    choice::{Item, largest_first, most_valuable},
    rows::{Alone, ROUNDING, boxes},
    total,
};
use crate::{
    common::Cancel,
    device::Device,
    overlap::{
        Boundary, Packings, Shape,
        contest::meetings,
        convex::area,
        pack::{Budget, Copies, PackError, Packer, Progress, Saving, Settings, Turns},
    },
};

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
/// Share of the time for putting the last sheet's parts closer together.
const SHORTENING: f64 = 0.2;
/// Number of searches that a sheet's time is divided among.
const SEARCHES: f64 = 4.0;
/// Largest number of copies on a sheet that are searched for places; more are in rows.
const MOST: usize = 4096;
/// A piece of a roll is short enough if it is longer than the least length by at most this share.
const NEAR: f64 = 1e-4;
/// Pause between the looks at whether it is.
const OFTEN: Duration = Duration::from_millis(500);
/// Least duration of a search.
const LEAST: Duration = Duration::from_millis(300);
/// Time for rows after a signal.
const AFTER_SIGNAL: Duration = Duration::from_millis(700);
/// Thickness of the frame around an irregular sheet, relative to its larger extent.
const FRAME: f64 = 0.05;
/// Room for that frame in a strip, relative to its radius. Few parts are so thin that they would fit between both.
const SLACK: f64 = 4e-3;

/// Copies on a sheet.
struct Filling {
    counts: Vec<usize>,
    places: Vec<Placed>,
    /// Number of searches until then.
    trials: u64,
}

/// Sheets of one size, with what is computed once for them.
pub struct Bed<'a> {
    index: usize,
    pub sheet: &'a Sheet,
    /// For each part, its least box that fits.
    pub alone: Vec<Option<Alone>>,
    /// All that is around an irregular sheet and in its defects, with the margin.
    pub around: Option<Shape>,
}

/// A nesting under way.
pub struct Work<'a> {
    pub nesting: &'a Nesting,
    /// The parts with half of the spacing around them; with irregular sheets, their mirror images follow.
    pub grown: Vec<Shape>,
    /// The mirror images of parts that may be mirrored.
    images: Vec<Option<Shape>>,
    /// The room that a part takes: the mean of its area and its hull's.
    pub sizes: Vec<f64>,
    /// The boxes of each part.
    boxes: Vec<Vec<Alone>>,
    device: &'a Device,
    pub cancel: &'a Cancel,
    /// When it was first seen to be cancelled.
    cancelled: OnceCell<Instant>,
    deadline: Instant,
    /// Shorter pieces of a roll as they are found: the seconds since the start, and the length.
    pub pieces: RefCell<Vec<(f64, f64)>>,
}

impl<'a> Work<'a> {
    pub fn new(nesting: &'a Nesting, device: &'a Device, cancel: &'a Cancel, deadline: Instant) -> Self {
        let mut work = Work {
            nesting,
            grown: Vec::new(),
            images: Vec::new(),
            sizes: Vec::new(),
            boxes: Vec::new(),
            device,
            cancel,
            cancelled: OnceCell::new(),
            deadline,
            pieces: RefCell::default(),
        };
        for (part, (shape, _)) in nesting.parts.iter().enumerate().take_while(|_| !cancel.is_cancelled()) {
            let turns = nesting.turns_of(part);
            let grown = match nesting.spacing {
                0.0 => shape.clone(),
                // At a few allowed angles its boxes are as large as those of `boxes`, if it isn't simplified.
                spacing => shape.simplified().with_distance_towards(0.5 * spacing, &turns.level_or_upright()),
            };
            work.images.push(turns.mirrors().then(|| shape.mirrored()));
            work.sizes.push(0.5 * (shape.area() + area(grown.hull())));
            work.boxes.push(boxes(shape, 0.5 * nesting.spacing, turns));
            work.grown.push(grown);
        }
        if nesting.sheets.iter().any(|sheet| sheet.form.is_some()) {
            work.grown.extend(work.grown.iter().map(Shape::mirrored).collect::<Vec<_>>());
        }
        work
    }

    /// Returns true if the work was cancelled, and the time for rows is over.
    pub fn must_end(&self) -> bool {
        self.cancel.is_cancelled() && self.cancelled.get_or_init(Instant::now).elapsed() >= AFTER_SIGNAL
    }

    /// Sheets of the size with this index.
    pub fn bed(&self, index: usize) -> Result<Bed<'a>, PackError> {
        let sheet = &self.nesting.sheets[index];
        let by = FRAME * sheet.width.max(sheet.height);
        let around = sheet.form.as_ref().map(|form| form.surroundings(by, self.inset(sheet))).transpose()?;
        Ok(Bed { index, sheet, alone: self.boxes.iter().map(|boxes| self.alone(boxes, sheet)).collect(), around })
    }

    /// Seconds since the start.
    fn seconds(&self) -> f64 {
        (Instant::now() + self.nesting.time).saturating_duration_since(self.deadline).as_secs_f64()
    }

    /// Distance from a sheet's edge to where grown parts may be. On irregular sheets it is not negative.
    pub fn inset(&self, sheet: &Sheet) -> f64 {
        let inset = self.nesting.margin - 0.5 * self.nesting.spacing;
        if sheet.form.is_some() { inset.max(0.0) } else { inset }
    }

    /// Width and height for grown parts.
    pub fn room(&self, sheet: &Sheet) -> [f64; 2] {
        [sheet.width, sheet.height].map(|extent| extent - 2.0 * self.inset(sheet))
    }

    /// Area for grown parts.
    fn area(&self, sheet: &Sheet) -> f64 {
        let [width, height] = self.room(sheet);
        width * height - sheet.form.as_ref().map_or(0.0, |form| sheet.width * sheet.height - form.area())
    }

    /// The greatest y of parts.
    fn top(&self, parts: &[Placed]) -> f64 {
        let shape = |placed: &Placed| {
            let image = self.images[placed.part].as_ref().filter(|_| placed.mirrored);
            image.unwrap_or(&self.nesting.parts[placed.part].0)
        };
        parts.iter().map(|placed| shape(placed).bounds_in(placed.pose)[1][1]).fold(0.0, f64::max)
    }

    /// Describes a sheet.
    pub fn described(&self, bed: &Bed<'_>, parts: Vec<Placed>) -> Filled {
        let Sheet { width, height, ref form, .. } = *bed.sheet;
        let area: f64 = parts.iter().map(|placed| self.nesting.parts[placed.part].0.area()).sum();
        let used = (self.top(&parts) + self.nesting.margin).min(height);
        let size = [width, if height.is_finite() { height } else { used }];
        let whole = form.as_ref().map_or(size[0] * size[1], Shape::area);
        Filled { sheet: bed.index, size, density: area / whole, used, parts }
    }

    pub fn priority(&self, part: usize) -> i64 {
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

    /// Returns the priorities of these copies, the highest first.
    fn levels(&self, counts: &[usize]) -> Vec<i64> {
        let mut levels: Vec<i64> = (0..counts.len()).filter(|&part| counts[part] > 0).map(|part| self.priority(part)).collect();
        levels.sort_unstable_by(|a, b| b.cmp(a));
        levels.dedup();
        levels
    }

    /// Places the wanted parts on a roll, in rows or by a search until the time is over, whichever is shorter. None without
    /// parts.
    pub fn unroll(
        &self,
        wanted: &[usize],
        roll: &Bed<'_>,
        progress: &mut dyn FnMut(f64),
    ) -> Result<Option<Vec<Placed>>, PackError> {
        if wanted.iter().all(|&count| count == 0) {
            return Ok(None);
        }
        let (_, rows) = self.rows(wanted, roll);
        let time = self.deadline.saturating_duration_since(Instant::now()).max(LEAST);
        let found = match wanted.iter().sum::<usize>() {
            ..=MOST if !self.cancel.is_cancelled() => self.search(wanted, roll, self.room(roll.sheet), (time, 0), progress)?,
            _ => None,
        };
        let top = |places: &Vec<Placed>| self.top(places);
        Ok([Some(rows), found].into_iter().flatten().min_by(|a, b| top(a).total_cmp(&top(b))))
    }

    /// Returns the length that a strip of this width with these copies has at least: for their areas, and for each part's lowest
    /// box.
    fn least(&self, counts: &[usize], width: f64) -> f64 {
        let wanted = (0..counts.len()).filter(|&part| counts[part] > 0);
        let lowest = |part: usize| {
            let (shape, turns) = (&self.nesting.parts[part].0, self.nesting.turns_of(part));
            // At single angles, a mirror image may have other boxes. With any angle, it has the same heights.
            let image = (turns.mirrors() && !turns.is_any()).then(|| boxes(&shape.mirrored(), 0.5 * self.nesting.spacing, turns));
            let all = self.boxes[part].iter().chain(image.iter().flatten());
            let fit = all.filter(|alone| turns.is_any() || alone.extent[0] <= width);
            fit.map(|alone| alone.extent[1]).min_by(f64::total_cmp).unwrap_or(0.0)
        };
        let area: f64 = wanted.clone().map(|part| counts[part] as f64 * self.grown[part].area()).sum();
        wanted.map(lowest).fold(area / width, f64::max)
    }

    /// Looks for places of the last sheet's parts in a shorter piece of it, so that the rest of the sheet is larger.
    pub fn shorten(&self, filled: &mut [Filled], beds: &[Bed<'_>]) -> Result<(), PackError> {
        let Some(last) = filled.last_mut() else { return Ok(()) };
        let bed = &beds[last.sheet];
        let time = self.deadline.saturating_duration_since(Instant::now()).min(self.nesting.time.mul_f64(SHORTENING));
        let is_hopeless = bed.sheet.height.is_infinite() || bed.around.is_some() || last.parts.len() > MOST;
        if is_hopeless || time < LEAST || self.cancel.is_cancelled() {
            return Ok(());
        }
        let [width, _] = self.room(bed.sheet);
        let found = self.search(&self.counts(last), bed, [width, f64::INFINITY], (time, 0), &mut |_| {})?;
        let found = found.map(|parts| self.described(bed, parts));
        if let Some(found) = found.filter(|found| found.used < last.used) {
            *last = found;
        }
        Ok(())
    }

    /// The number of each part's copies on a sheet.
    fn counts(&self, filled: &Filled) -> Vec<usize> {
        let mut counts = vec![0; self.nesting.parts.len()];
        filled.parts.iter().for_each(|placed| counts[placed.part] += 1);
        counts
    }

    /// Fills a sheet with some of the wanted parts, after a signal only in rows. At most `remaining` sheets are left, with this
    /// one. None if no parts are wanted or found places, or it has to end.
    pub fn fill(&self, wanted: &[usize], bed: &Bed<'_>, remaining: Option<usize>) -> Result<Option<Vec<Placed>>, PackError> {
        if wanted.iter().all(|&count| count == 0) || self.must_end() {
            return Ok(None);
        }
        let sheets = (self.size(wanted) / (EXPECTED * self.area(bed.sheet))).ceil().max(1.0);
        let end = part_of(self.deadline, sheets.min(remaining.map_or(f64::INFINITY, |remaining| remaining as f64)));
        let mut filling = Filling { counts: vec![0; wanted.len()], places: Vec::new(), trials: 0 };
        let levels = self.levels(wanted);
        for (index, &level) in levels.iter().enumerate() {
            let all: Vec<usize> = (0..wanted.len())
                .map(|part| if self.priority(part) == level { wanted[part] } else { filling.counts[part] })
                .collect();
            let end = part_of(end, (levels.len() - index) as f64);
            filling = self.filled(filling, &all, bed, (end, remaining.is_some()))?;
        }
        Ok(Some(filling.places).filter(|places| !places.is_empty()))
    }

    /// Looks for places of copies that are left on sheets that are filled, until the time is over.
    pub fn refill(&self, filled: &mut [Filled], left: &mut [usize], beds: &[Bed<'_>]) -> Result<(), PackError> {
        let (mut trials, mut before) = (0, None);
        let sheets = filled.len();
        // Until no sheet has room.
        while before != Some(trials) && !self.cancel.is_cancelled() {
            before = Some(trials);
            for (number, sheet) in filled.iter_mut().enumerate() {
                let (bed, counts) = (&beds[sheet.sheet], self.counts(sheet));
                let mut filling = Filling { counts: counts.clone(), places: sheet.parts.clone(), trials };
                let end = part_of(self.deadline, (sheets - number) as f64);
                let levels = self.levels(left);
                for (index, &level) in levels.iter().enumerate() {
                    let has_place = |part: usize| self.priority(part) == level && bed.alone[part].is_some();
                    let more = |part: usize| if has_place(part) { counts[part] + left[part] } else { filling.counts[part] };
                    let wanted: Vec<usize> = (0..counts.len()).map(more).collect();
                    let least = |part: usize| if self.priority(part) > level { filling.counts[part] } else { 0 };
                    let base: Vec<usize> = (0..counts.len()).map(least).collect();
                    let end = part_of(end, (levels.len() - index) as f64);
                    self.improve(&mut filling, (&base, &wanted), bed, (end, true))?;
                }
                trials = filling.trials;
                if filling.counts != counts {
                    left.iter_mut().zip(counts).zip(filling.counts).for_each(|((left, old), new)| *left = *left + old - new);
                    *sheet = self.described(bed, filling.places);
                }
            }
        }
        Ok(())
    }

    /// Adds copies to a sheet, up to the wanted numbers of all. If sheets are `limited`, the search goes on until the end.
    fn filled(
        &self,
        mut best: Filling,
        wanted: &[usize],
        bed: &Bed<'_>,
        (end, limited): (Instant, bool),
    ) -> Result<Filling, PackError> {
        let (base, has_values) = (best.counts.clone(), self.nesting.values.is_some());
        let area = self.area(bed.sheet);
        // Without a search, in rows.
        let shares = if has_values { SHARES } else { &[] };
        let choices = shares.iter().map(|share| self.chosen(&base, wanted, share * area));
        for counts in std::iter::once(wanted.to_vec()).chain(choices) {
            let (counts, places) = self.rows(&counts, bed);
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
            if self.tried(&mut best, counts, bed, end)? {
                most = filled;
                target = if least.is_finite() { 0.5 * (most + least) } else { STEP * most };
            } else {
                least = filled;
                target = 0.5 * (most + least);
            }
        }
        if has_values || limited || !self.nesting.priorities.is_empty() {
            self.improve(&mut best, (&base, wanted), bed, (end, limited))?;
        }
        Ok(best)
    }

    /// Adds a copy, or puts one in place of another, as long as that is worth more and places are found. If it goes `on`, what
    /// found no places is tried again until the end.
    fn improve(
        &self,
        best: &mut Filling,
        (base, wanted): (&[usize], &[usize]),
        bed: &Bed<'_>,
        (end, on): (Instant, bool),
    ) -> Result<(), PackError> {
        let (area, worth) = (self.area(bed.sheet), self.nesting.values.as_ref().unwrap_or(&self.sizes));
        let areas: Vec<f64> = self.nesting.parts.iter().map(|(shape, _)| shape.area()).collect();
        let mut failed: Vec<Vec<usize>> = Vec::new();
        // First what has room by its sizes, then by its areas alone, as some parts lie within the hulls of others.
        let (mut trials, mut room) = (best.trials, &self.sizes);
        while !self.cancel.is_cancelled() && Instant::now() < end {
            let (counts, size) = (&best.counts, total(room, &best.counts));
            let more = (0..counts.len()).filter(|&part| counts[part] < wanted[part]);
            let less = (0..counts.len()).filter(|&part| counts[part] > base[part] && counts.len() <= MOST_CHANGED).map(Some);
            let less: Vec<Option<usize>> = std::iter::once(None).chain(less).collect();
            let changed = |part: usize, other: Option<usize>, at: usize| {
                counts[at] + usize::from(at == part) - usize::from(other == Some(at))
            };
            let (mut greatest, mut change) = (f64::MIN_POSITIVE, None);
            for part in more {
                for &other in &less {
                    let gain = |each: &[f64]| each[part] - other.map_or(0.0, |other| each[other]);
                    // If some copies found no places, neither do they and more.
                    let is_hopeless =
                        |failed: &Vec<usize>| failed.iter().enumerate().all(|(at, failed)| *failed <= changed(part, other, at));
                    let is_better = gain(worth) >= greatest && size + gain(room) <= area;
                    if is_better && !failed.iter().any(is_hopeless) {
                        (greatest, change) = (gain(worth), Some((part, other)));
                    }
                }
            }
            let Some((part, other)) = change else {
                let is_last = std::ptr::eq(room, &areas);
                if !on || is_last && best.trials == trials {
                    return Ok(());
                }
                room = if is_last { &self.sizes } else { &areas };
                if is_last {
                    // Other random numbers may find places.
                    failed.clear();
                    trials = best.trials;
                }
                continue;
            };
            let counts: Vec<usize> = (0..counts.len()).map(|at| changed(part, other, at)).collect();
            if !self.tried(best, counts.clone(), bed, end)? {
                failed.push(counts);
            }
        }
        Ok(())
    }

    /// Looks for places of these copies, in rows and by a search. Returns true if there are some, which then are the best ones.
    fn tried(&self, best: &mut Filling, counts: Vec<usize>, bed: &Bed<'_>, end: Instant) -> Result<bool, PackError> {
        let (in_rows, mut places) = self.rows(&counts, bed);
        if in_rows != counts {
            let is_full = self.nesting.area(&counts) > self.area(bed.sheet) * (1.0 + ROUNDING);
            if is_full || counts.iter().sum::<usize>() > MOST {
                return Ok(false);
            }
            best.trials += 1;
            let time = end.saturating_duration_since(Instant::now()).div_f64(SEARCHES).max(LEAST);
            match self.search(&counts, bed, self.room(bed.sheet), (time, best.trials), &mut |_| {})? {
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
        bed: &Bed<'_>,
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
        if let Some(around) = &bed.around {
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
        // A part that fills the width is placed in rows only where its grown box is larger than that of `boxes`.
        let packer = match Packer::new(self.device, settings) {
            Err(PackError::TooNarrow { .. }) => return Ok(None),
            packer => packer?.cancelled_by(self.cancel),
        };
        let tell = |reached: &Progress| {
            let (seconds, length) = (self.seconds(), reached.sides[0] + 2.0 * self.inset(bed.sheet));
            let mut pieces = self.pieces.borrow_mut();
            if bed.sheet.height.is_infinite() && reached.sides[0].is_finite() && pieces.last().is_none_or(|last| length < last.1)
            {
                pieces.push((seconds, length));
            }
            progress((reached.seconds / time.as_secs_f64()).min(1.0));
        };
        let (packer, saving) = match most.is_finite() {
            true => (packer.until(most), Saving { pause: Duration::from_millis(100), share: 0.25 }),
            false => (packer.until(self.least(counts, width) * (1.0 + NEAR)), Saving { pause: OFTEN, share: 0.05 }),
        };
        let packing = packer.run_saving(tell, saving, |_| {})?.packings.swap_remove(0);
        if packing.side > most {
            return Ok(None);
        }
        // The strip is centred at the origin.
        let (x, y) = match bed.around {
            Some(_) => packing.poses.last().map_or((0.0, 0.0), |[x, y, _]| (-x, -y)),
            None => (0.5 * bed.sheet.width, 0.5 * packing.side + self.inset(bed.sheet)),
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
        Ok(self.are_on(&placed, bed)?.then_some(placed))
    }

    /// Returns true if parts are in an irregular sheet's box, and neither overlap each other nor what is around it.
    fn are_on(&self, placed: &[Placed], bed: &Bed<'_>) -> Result<bool, PackError> {
        let Some(around) = &bed.around else { return Ok(true) };
        let shapes: Vec<Shape> = self.grown.iter().chain([around]).cloned().collect();
        let number = |placed: &Placed| placed.part + if placed.mirrored { self.nesting.parts.len() } else { 0 };
        let numbers: Vec<usize> = placed.iter().map(number).chain([shapes.len() - 1]).collect();
        let poses: Vec<[f64; 3]> = placed.iter().map(|placed| placed.pose).chain([[0.0; 3]]).collect();
        let mut boxes = numbers.iter().zip(&poses).take(placed.len()).flat_map(|(&shape, &pose)| shapes[shape].bounds_in(pose));
        let is_in = boxes.all(|[x, y]| (0.0..=bed.sheet.width).contains(&x) && (0.0..=bed.sheet.height).contains(&y));
        let packings = Packings::one(poses.clone())?.with_shapes(numbers.iter().map(|&shape| shape as u32).collect())?;
        Ok(is_in && meetings(&packings, 0, &shapes).iter().all(|(_, overlap)| !overlap))
    }
}

/// The end of one of so many equal parts of the time until then.
fn part_of(end: Instant, parts: f64) -> Instant {
    let now = Instant::now();
    now + end.saturating_duration_since(now).div_f64(parts)
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
        let turns = vec![Turns::ANY.mirroring(true)];
        let nesting = Nesting { turns, ..Nesting::new([(square, 9), (hook, 9)], [Sheet::of(form, None)], LEAST) };
        let (device, cancel) = (Device::best()?, Cancel::new());
        let work = Work::new(&nesting, &device, &cancel, Instant::now());
        let bed = work.bed(0)?;
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
        assert!(work.are_on(&all, &bed)?);
        for (index, [dx, dy]) in
            [[0.0, -1.0], [1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0], [-1.0, 0.0], [0.0, 0.0], [-1.0, 0.0]]
                .into_iter()
                .enumerate()
        {
            let mut moved = all;
            moved[index].pose[0] += 1e-9 * dx;
            moved[index].pose[1] += 1e-9 * dy;
            assert_eq!(work.are_on(&moved, &bed)?, index == 6, "{index}");
        }
        // Its image reaches to the other side.
        let mut flipped = all;
        flipped[6].mirrored = false;
        assert!(!work.are_on(&flipped, &bed)?);
        // At the slope y = 8 - (x - 4) / 3.
        let at = |x: f64, y: f64| work.are_on(&[placed(0, x, y, false)], &bed);
        assert!(at(5.0, 5.0)? && at(2.0, 6.0)? && !at(5.0 + 1e-9, 5.0)? && !at(2.0 + 1e-9, 6.0)?);
        Ok(())
    }
}

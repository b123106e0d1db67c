//! The three steps of a warp, with a [`Queue`] from each to the next, in shared memory.
//!
//! [`Candidates`] finds near pairs, [`Pieces`] the pairs of their pieces whose bounds meet, and
//! [`Clips`] what these have in common. All lanes of a warp come to each function together, with
//! the same arguments.

use super::{
    number_of_warp,
    way::{Walk, extent_of_warp},
};
use crate::{
    collectives::{
        Sum,
        warp::{Lanes, exclusive_scan, inclusive_scan},
    },
    overlap::{
        Scalar,
        clip::{Point, edge_near, intersect, moved, nearness},
        direct::add_gradient,
        layout::{Bounds, Circle, Extent, Frame, Left, List, Mode, Place, Rest, Sums, Tile, Tree, Way, parallel},
        walk::{Run, leaves_of, near, nudge, run_of_leaf},
    },
};
use cuda_std::prelude::*;
use warp::{FULL_MASK, shuffle_idx, shuffle_up};

/// Lanes of a warp.
pub const LANES: u32 = 32;
/// Pieces of a candidate that a lane looks at in one step.
const PIECES: u32 = 4;
/// Largest number of items of each of a warp's pairs. All of them together have numbers in 32 bits, and so have the
/// lanes beyond the last.
const MOST_ITEMS: u32 = u32::MAX / LANES - 2;
/// Largest number of pieces of a shape: the items of one pair have numbers.
pub const MOST_PIECES: u32 = 131_000;
const _: () = assert!(MOST_PIECES as u64 * (MOST_PIECES.div_ceil(PIECES) as u64) < (u32::MAX - 2 * LANES) as u64);
/// Room for near pairs: less than a warp's worth, plus the pairs that one step adds.
pub const PAIRS: usize = 3 * LANES as usize;
/// Room for pairs of pieces, computed in the same way.
pub const CLIPS: usize = (LANES + LANES * PIECES) as usize;
/// Sums for each row: area, and the derivatives by x, y and theta.
pub const SUMS: usize = 4;
/// Number of near pairs after which a warp leaves its remaining leaves to others. It is several
/// times the number that a tile has if poses are spread evenly without overlapping much.
pub const MOST_PAIRS: u32 = 512;

/// The row of a tile, two marks, and the lattice vectors that the candidate is moved by, in one word.
#[derive(Clone, Copy)]
struct Tag(u32);

impl Tag {
    /// Offset that makes a shift positive.
    const BIAS: i32 = 2048;
    /// Set if sides may be parallel, and derivatives are wanted.
    const PARALLEL: u32 = 0x40;
    /// Set if the candidate is nudged.
    const NUDGED: u32 = 0x80;

    #[inline(always)]
    fn new(slot: u32, shift: [i32; 2]) -> Self {
        let [m, n] = shift;
        Tag(slot | ((m + Self::BIAS) as u32) << 8 | ((n + Self::BIAS) as u32) << 20)
    }

    #[inline(always)]
    fn slot(self) -> u32 {
        self.0 & 0x3f
    }

    #[inline(always)]
    fn shift(self) -> [i32; 2] {
        [(self.0 >> 8 & 0xfff) as i32 - Self::BIAS, (self.0 >> 20) as i32 - Self::BIAS]
    }
}

/// The number of set bits of `mask` below this lane's.
#[inline(always)]
fn rank(mask: u32) -> u32 {
    (mask & warp::lane_mask_lt()).count_ones()
}

/// Returns the first lane whose `end` is greater than `number`, or the last lane if no end is. Ends
/// ascend.
#[inline(always)]
fn owner(number: u32, end: u32) -> u32 {
    let mut owner = 0;
    let mut half = LANES / 2;
    while half > 0 {
        if number >= shuffle_idx(FULL_MASK, end, owner + half - 1) {
            owner += half;
        }
        half /= 2;
    }
    owner
}

/// The rows of a warp's tile, and their candidates.
#[derive(Clone, Copy)]
pub struct Task<'a, T> {
    pub tile: Tile,
    pub rows: List<T>,
    pub candidates: List<T>,
    pub frame: &'a Frame<T>,
    /// True if there is a lattice.
    pub periodic: bool,
    pub starts: *const u32,
    pub parallels: *const u32,
    pub tree: Tree<T>,
    pub mode: Mode,
}

impl<T> Task<'_, T> {
    /// The row in a slot of the tile.
    #[inline(always)]
    fn row(&self, slot: u32) -> u32 {
        self.tile.first + slot * self.tile.step
    }
}

/// Entries that one step leaves to the next, in shared memory. They are taken from the end.
pub struct Queue<E> {
    entries: *mut E,
    pub count: u32,
}

impl<E> Queue<E> {
    /// Without entries.
    #[inline(always)]
    pub fn new(entries: *mut E) -> Self {
        Queue { entries, count: 0 }
    }

    /// Takes up to one entry per lane, and returns their number. Lane i's entry is then
    /// [`at`](Self::at) the new count plus i.
    #[inline(always)]
    fn take(&mut self) -> u32 {
        let taken = self.count.min(LANES);
        self.count -= taken;
        taken
    }

    /// Returns the address of an entry.
    ///
    /// # Safety
    /// The index is within the queue's room.
    #[inline(always)]
    unsafe fn at(&self, index: u32) -> *mut E {
        // SAFETY: there is room for this entry (this function's contract).
        unsafe { self.entries.add(index as usize) }
    }

    /// Adds the entries of all lanes that `has` one; `lanes` is their mask.
    ///
    /// # Safety
    /// The queue has room for all of them, and nobody still reads what was there.
    #[inline(always)]
    unsafe fn add(&mut self, has: bool, lanes: u32, entry: E) {
        if has {
            // SAFETY: there is room (this function's contract), and each lane has a place of its
            // own.
            unsafe { *self.at(self.count + rank(lanes)) = entry };
        }
        self.count += lanes.count_ones();
    }
}

/// A near pair: [`Tag`], candidate.
pub type NearPair = U32x2;
/// A pair of pieces: the row's, the candidate's, the candidate, [`Tag`].
pub type Clip = U32x4;

/// Step 1: the runs of candidates under way, one per lane. Runs are numbered through all rows.
pub struct Candidates<T> {
    /// Runs for each row, and in all.
    runs: u32,
    run_count: u32,
    next_run: u32,
    /// The row's slot.
    slot: u32,
    shift: [i32; 2],
    /// Index of the run's first candidate minus its index among the candidates of all runs under
    /// way, and the end of the run there.
    base: u32,
    run_end: u32,
    /// The next of the candidates of all runs under way, and how many there are.
    at: u32,
    count: u32,
    /// With a tree, the box around the tile, and the way through its leaves; each leaf has a run
    /// per row.
    walk: Walk<T>,
    walked: bool,
}

impl<T: Scalar> Candidates<T> {
    /// Starts at the first run, or, with a tree, on the way.
    ///
    /// # Safety
    /// The tile's rows are there.
    #[inline(always)]
    pub unsafe fn new<const TREE: bool>(task: &Task<'_, T>, way: Way) -> Self {
        let lane = warp::lane_id();
        let runs = task.frame.runs();
        let run_count = task.tile.count * runs;
        let walk = Walk::<T>::of_warp();
        if TREE {
            let mut own = Extent::empty();
            // SAFETY: the tile's rows are there (this function's contract). The warp's memory is
            // written by one lane, before a `sync_warp`.
            unsafe {
                if lane < task.tile.count {
                    own = Extent::around(&*task.rows.circles.add(task.row(lane) as usize));
                }
                let all = extent_of_warp(own);
                if lane == 0 {
                    *walk.extent = all;
                    *walk.way = way;
                    *walk.met = 0;
                }
            }
            warp::sync_warp(FULL_MASK);
        }
        let (next_run, slot, shift, base, run_end, at, count) = (0, 0, [0; 2], 0, 0, 0, 0);
        Candidates { runs, run_count, next_run, slot, shift, base, run_end, at, count, walk, walked: false }
    }

    /// Returns whether all candidates under way were looked at.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.at >= self.count
    }

    /// Returns whether all candidates were looked at.
    #[inline(always)]
    pub fn is_exhausted<const TREE: bool>(&self) -> bool {
        self.is_empty() && if TREE { self.walked } else { self.next_run >= self.run_count }
    }

    /// Looks at two candidates per lane, and queues those that are near. With two, the wait for one
    /// overlaps with the other.
    ///
    /// # Safety
    /// Rows and candidates are those of the cells; the queue has less than a warp's worth.
    #[inline(always)]
    pub unsafe fn look<const TREE: bool>(&mut self, task: &Task<'_, T>, pairs: &mut Queue<NearPair>) {
        let Task { rows, candidates, frame, periodic, .. } = *task;
        let (lane, full) = (warp::lane_id(), task.mode.has(Mode::FULL));
        let look = |mine: u32| {
            let owner = owner(mine, self.run_end);
            let slot = shuffle_idx(FULL_MASK, self.slot, owner);
            let candidate = shuffle_idx(FULL_MASK, self.base, owner).wrapping_add(mine);
            let mut image = [0; 2];
            if periodic {
                image = [shuffle_idx(FULL_MASK, self.shift[0], owner), shuffle_idx(FULL_MASK, self.shift[1], owner)];
            }
            let mut hit = false;
            if mine < self.count {
                let row = task.row(slot);
                // SAFETY: the row and the candidate are there (this function's contract).
                let (circle, other): (Circle<T>, Circle<T>) =
                    unsafe { (*rows.circles.add(row as usize), *candidates.circles.add(candidate as usize)) };
                let vector = if periodic { frame.shift(image) } else { Point::ORIGIN };
                hit = near(&circle, &other, vector) && !(full && candidate == row && image == [0; 2]);
            }
            (hit, Tag::new(slot, image), candidate)
        };
        let (first, second) = (look(self.at + lane), look(self.at + LANES + lane));
        self.at += 2 * LANES;
        let mut queue = |(hit, tag, candidate): (bool, Tag, u32)| {
            let hits = warp::ballot(FULL_MASK, hit);
            // SAFETY: the queue has room for two warps' worth (this function's contract). One lane
            // counts.
            unsafe {
                pairs.add(hit, hits, U32x2::new(tag.0, candidate));
                if TREE && lane == 0 {
                    *self.walk.met += hits.count_ones();
                }
            }
        };
        queue(first);
        queue(second);
    }

    /// Starts the next leaf that meets the tile: each row that meets the leaf gets a run. If the
    /// tile has more than [`MOST_PAIRS`] near pairs, leaves the remaining leaves to others instead.
    ///
    /// # Safety
    /// The tree belongs to the cells, each packing is one cell, and the tile's rows are valid.
    /// `rest` has room for the tile.
    #[inline(always)]
    pub unsafe fn next_leaf(&mut self, task: &Task<'_, T>, rest: &Rest<T>) {
        let Task { tile, frame, starts, tree, mode, .. } = *task;
        let (lane, walk) = (warp::lane_id(), self.walk);
        warp::sync_warp(FULL_MASK);
        // SAFETY: the tree and rows are valid, and `rest` has room, since a tile is left at most
        // once (this function's contract). Lanes read the warp's memory between two `sync_warp`,
        // and one writes it after the second.
        unsafe {
            let (mut way, met) = (*walk.way, *walk.met);
            if met > MOST_PAIRS && tile.count > 1 {
                if lane == 0 {
                    let place = atomic::device::fetch_add(rest.count, 1);
                    *rest.tiles.add(place as usize) = Left { tile: number_of_warp(), way };
                }
                self.walked = true;
                return;
            }
            let image = frame.image(way.image);
            let vector = if task.periodic { frame.shift(image) } else { Point::ORIGIN };
            let range = frame.rows(starts);
            let first = if mode.has(Mode::HALF) { range.0.max(tile.first) } else { range.0 };
            let leaves = leaves_of((first, range.1));
            let row = task.row(lane);
            let mut own = Extent::empty();
            if lane < tile.count {
                own = Extent::around(&*task.rows.circles.add(row as usize)).moved_back(vector);
            }
            let mut run = Run { start: 0, len: 0, shift: image };
            if let Some((leaf, meets)) = way.next(tree, leaves, &(*walk.extent).moved_back(vector), &own) {
                // The box around nothing, of lanes beyond the rows, meets one without bounds.
                if meets && lane < tile.count {
                    run = run_of_leaf(leaf, row, range, image, mode);
                }
            } else {
                way = Way { image: way.image + 1, ..Way::new(tree.depth) };
                self.walked = way.image >= self.runs;
            }
            warp::sync_warp(FULL_MASK);
            if lane == 0 {
                *walk.way = way;
            }
            self.slot = lane;
            self.start(run);
        }
    }

    /// Starts the next runs of cells.
    ///
    /// # Safety
    /// The cells and the tile's rows are there.
    #[inline(always)]
    pub unsafe fn next_runs(&mut self, task: &Task<'_, T>) {
        let Task { frame, starts, mode, .. } = *task;
        let mine = self.next_run + warp::lane_id();
        let mut run = Run { start: 0, len: 0, shift: [0; 2] };
        if mine < self.run_count {
            self.slot = mine / self.runs;
            let row = task.row(self.slot);
            // SAFETY: the row and its cells are there (this function's contract).
            unsafe {
                let cell = frame.cell((*task.rows.circles.add(row as usize)).center);
                run = frame.run(mine % self.runs, row, cell, mode, starts);
            }
        }
        self.next_run += LANES;
        self.start(run);
    }

    /// Starts each lane's run.
    #[inline(always)]
    fn start(&mut self, run: Run) {
        self.shift = run.shift;
        self.run_end = inclusive_scan(Lanes::FULL, run.len, Sum);
        self.base = run.start.wrapping_sub(self.run_end - run.len);
        (self.at, self.count) = (0, shuffle_idx(FULL_MASK, self.run_end, LANES - 1));
    }
}

/// Step 2: near pairs, one per lane, whose pieces are looked at. A pair has an *item* for each of
/// the row's pieces and each four of the candidate's.
pub struct Pieces {
    pair: NearPair,
    /// The pair's items, and where they end among those of all lanes.
    pair_items: u32,
    pair_end: u32,
    /// The next item, and how many there are.
    item: u32,
    count: u32,
}

impl Pieces {
    /// Without pairs.
    #[inline(always)]
    pub fn new() -> Self {
        Pieces { pair: U32x2::new(0, 0), pair_items: 0, pair_end: 0, item: 0, count: 0 }
    }

    /// Returns whether all items were looked at.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.item >= self.count
    }

    /// Takes the next near pairs, up to one per lane; or one of many items alone.
    ///
    /// # Safety
    /// Their rows and candidates are there, of at most [`MOST_PIECES`] pieces, and the cells' bits for angles.
    #[inline(always)]
    pub unsafe fn take<T: Scalar, const GRADIENT: bool>(&mut self, task: &Task<'_, T>, pairs: &mut Queue<NearPair>) {
        let Task { rows, candidates, .. } = *task;
        let lane = warp::lane_id();
        let count = pairs.take();
        warp::sync_warp(FULL_MASK);
        self.pair_items = 0;
        if lane < count {
            // SAFETY: lanes that wrote the pairs have come to `sync_warp`; rows and candidates are
            // there (this function's contract).
            unsafe {
                self.pair = *pairs.at(pairs.count + lane);
                let (row, candidate) = (task.row(Tag(self.pair.x).slot()) as usize, self.pair.y as usize);
                let (place, other) = (&*rows.places.add(row), &*candidates.places.add(candidate));
                self.pair_items = place.count * other.count.div_ceil(PIECES);
                if GRADIENT {
                    let (circle, other) = (&*rows.circles.add(row), &*candidates.circles.add(candidate));
                    if parallel(task.parallels, circle.angle, other.angle) {
                        self.pair.x |= Tag::PARALLEL;
                    }
                }
            }
        }
        if warp::ballot(FULL_MASK, self.pair_items > MOST_ITEMS) != 0 {
            // The last one: the others stay in the queue.
            pairs.count += count - 1;
            if lane + 1 != count {
                self.pair_items = 0;
            }
        }
        warp::sync_warp(FULL_MASK);
        self.pair_end = inclusive_scan(Lanes::FULL, self.pair_items, Sum);
        (self.item, self.count) = (0, shuffle_idx(FULL_MASK, self.pair_end, LANES - 1));
    }

    /// Looks at an item per lane, and queues the pairs of pieces whose bounds meet.
    ///
    /// # Safety
    /// Rows, candidates and their pieces are there; the queue has less than a warp's worth, and
    /// nobody reads it.
    #[inline(always)]
    pub unsafe fn look<T: Scalar>(&mut self, task: &Task<'_, T>, clips: &mut Queue<Clip>) {
        let Task { rows, candidates, frame, .. } = *task;
        // To which pair an item belongs is found among the pairs' ends.
        let mine = self.item + warp::lane_id();
        let owner = owner(mine, self.pair_end);
        let tag = Tag(shuffle_idx(FULL_MASK, self.pair.x, owner));
        let candidate = shuffle_idx(FULL_MASK, self.pair.y, owner);
        let number = mine.wrapping_sub(shuffle_idx(FULL_MASK, self.pair_end - self.pair_items, owner));
        let mut hits = 0u32;
        let (mut first, mut second) = (0, 0);
        if mine < self.count {
            // SAFETY: the row, the candidate and their pieces are there (this function's contract).
            unsafe {
                let place = *rows.places.add(task.row(tag.slot()) as usize);
                let other = *candidates.places.add(candidate as usize);
                let mut second_at = other.position.minus(place.position);
                if task.periodic {
                    second_at = second_at.plus(frame.shift(tag.shift()));
                }
                let fours = other.count.div_ceil(PIECES);
                let (a, four) = if fours == 1 { (number, 0) } else { (number / fours, number % fours) };
                first = place.first + a;
                second = other.first + four * PIECES;
                let bounds = (*rows.pieces.add(first as usize)).bounds.moved_back(second_at);
                // All loads before the first test, so that they don't wait for one another.
                let last = other.count - 1 - four * PIECES;
                let bounds_of = |k: u32| (*candidates.pieces.add((second + k.min(last)) as usize)).bounds;
                let (b, c, d, e) = (bounds_of(0), bounds_of(1), bounds_of(2), bounds_of(3));
                let hit = |other: Bounds, k: u32| u32::from(k <= last && bounds.meet(&other)) << k;
                hits = hit(b, 0) | hit(c, 1) | hit(d, 2) | hit(e, 3);
            }
        }
        self.item += LANES;
        let places = exclusive_scan(Lanes::FULL, hits.count_ones(), Sum);
        let mut to = clips.count + places.prefix;
        for k in 0..PIECES {
            if hits >> k & 1 != 0 {
                // SAFETY: the queue has room for so many of each lane (this function's contract).
                unsafe { *clips.at(to) = U32x4::new(first, second + k, candidate, tag.0) };
                to += 1;
            }
        }
        clips.count += places.total;
    }
}

/// Step 3: the sums of the intersections of pairs of pieces.
pub struct Clips<T> {
    /// The lane's, of doubled areas.
    pub twice_area: T,
    /// [`SUMS`] for each row, in shared memory.
    pub by_row: *mut T,
}

impl<T: Scalar> Clips<T> {
    /// Returns whether sums per row are wanted.
    #[inline(always)]
    fn has_rows<const GRADIENT: bool>(mode: Mode) -> bool {
        GRADIENT || mode.has(Mode::PER_POSE)
    }

    /// Sums of nothing.
    ///
    /// # Safety
    /// The warp's memory has room for the sums of a tile.
    #[inline(always)]
    pub unsafe fn new<const GRADIENT: bool>(mode: Mode, by_row: *mut T) -> Self {
        if Self::has_rows::<GRADIENT>(mode) {
            for k in 0..SUMS as u32 {
                // SAFETY: there is room for `SUMS` numbers per lane (this function's contract).
                unsafe { *by_row.add((k * LANES + warp::lane_id()) as usize) = T::ZERO };
            }
            warp::sync_warp(FULL_MASK);
        }
        Clips { twice_area: T::ZERO, by_row }
    }

    /// Takes queued pairs of pieces, up to one per lane, and intersects them. Pairs with near edges
    /// are queued again, nudged, for their derivatives.
    ///
    /// # Safety
    /// The pairs' rows, candidates and pieces are valid, and `out` has room for the results that
    /// `mode` asks for.
    #[inline(always)]
    pub unsafe fn intersect<const GRADIENT: bool>(&mut self, task: &Task<'_, T>, clips: &mut Queue<Clip>, out: &Sums<T>) {
        let Task { rows, candidates, frame, mode, .. } = *task;
        let (lane, by_row) = (warp::lane_id(), Self::has_rows::<GRADIENT>(mode));
        let count = clips.take();
        warp::sync_warp(FULL_MASK);
        let mut values = (T::ZERO, T::ZERO, T::ZERO, T::ZERO);
        let mut tag = Tag(0x3f);
        let mut again = false;
        // SAFETY: a `sync_warp` stands between writing the pairs and reading them, and another
        // before their places are written again. Rows, candidates and pieces are valid, and results
        // have room (this function's contract); other threads change them by atomics only.
        unsafe {
            if lane < count {
                let clip = *clips.at(clips.count + lane);
                tag = Tag(clip.w);
                let row = task.row(tag.slot());
                let place: Place<T> = *rows.places.add(row as usize);
                let other: Place<T> = *candidates.places.add(clip.z as usize);
                let mut second_at = other.position.minus(place.position);
                if task.periodic {
                    second_at = second_at.plus(frame.shift(tag.shift()));
                }
                let (first, second) = (rows.pieces.add(clip.x as usize), candidates.pieces.add(clip.y as usize));
                let nudged = GRADIENT && tag.0 & Tag::NUDGED != 0;
                if GRADIENT && tag.0 & Tag::PARALLEL != 0 {
                    let nudge = nudge((rows, row), (candidates, clip.z), tag.shift(), mode);
                    if nudged {
                        second_at = second_at.plus(nudge);
                    } else {
                        again = edge_near(&(*first).corners, &moved(&(*second).corners, second_at), nearness(nudge));
                    }
                }
                let mut common = intersect(&(*first).corners, &moved(&(*second).corners, second_at));
                if nudged {
                    common = common.derivatives();
                } else if again {
                    common = common.area();
                }
                self.twice_area = self.twice_area + common.twice_area;
                let area = T::HALF * common.twice_area;
                values.0 = area;
                let meet = !common.is_none();
                if GRADIENT {
                    let gradient = common.gradient();
                    values = (area, gradient.x, gradient.y, gradient.theta);
                }
                if by_row && mode.has(Mode::CANDIDATES) && meet {
                    let candidate = *candidates.order.add(clip.z as usize);
                    if GRADIENT {
                        add_gradient(out.gradients, candidate, common.gradient_of_second(second_at));
                    }
                    if mode.has(Mode::PER_POSE) {
                        atomic::device::fetch_add(out.areas.add(candidate as usize), area);
                    }
                }
            }
            if by_row {
                add_by_row(self.by_row, tag.slot(), count, values);
            }
            if GRADIENT {
                let lanes = warp::ballot(FULL_MASK, again);
                if lanes != 0 {
                    let mut clip = U32x4::new(0, 0, 0, 0);
                    if again {
                        clip = *clips.at(clips.count + lane);
                    }
                    warp::sync_warp(FULL_MASK);
                    clip.w |= Tag::NUDGED;
                    clips.add(again, lanes, clip);
                }
            }
        }
        warp::sync_warp(FULL_MASK);
    }

    /// Writes the rows' sums to their poses. They are added if other warps add to the same poses,
    /// or if the tile's warp has already written its sums (`begun`).
    ///
    /// # Safety
    /// The tile's rows are valid, and `out` has room for the results that `mode` asks for.
    #[inline(always)]
    pub unsafe fn write<const GRADIENT: bool>(&self, task: &Task<'_, T>, begun: bool, out: &Sums<T>) {
        let (lane, mode) = (warp::lane_id(), task.mode);
        if !(Self::has_rows::<GRADIENT>(mode) && lane < task.tile.count) {
            return;
        }
        let shared = mode.has(Mode::HALF);
        // SAFETY: the row's pose has room (this function's contract); if other warps add to it, all
        // do so by atomics.
        unsafe {
            let pose = *task.rows.order.add(task.row(lane) as usize) as usize;
            let sums = self.by_row.add(lane as usize * SUMS);
            if mode.has(Mode::PER_POSE) {
                if shared {
                    atomic::device::fetch_add(out.row_areas.add(pose), *sums);
                } else {
                    let to = out.row_areas.add(pose);
                    *to = if begun { *to + *sums } else { *sums };
                }
            }
            if GRADIENT {
                for k in 0..3 {
                    let (to, value) = (out.row_gradients.add(3 * pose + k), *sums.add(1 + k));
                    if shared {
                        atomic::device::fetch_add(to, value);
                    } else {
                        *to = if begun { *to + value } else { value };
                    }
                }
            }
        }
    }
}

/// Adds the `values` of the first `count` lanes to the sums of each lane's `slot`.
///
/// # Safety
/// All lanes come here; `sums` has room for the slots.
#[inline(always)]
unsafe fn add_by_row<T: Scalar>(sums: *mut T, slot: u32, count: u32, (mut a, mut b, mut c, mut d): (T, T, T, T)) {
    let lane = warp::lane_id();
    let previous = shuffle_up(FULL_MASK, slot, 1);
    // Lanes that start a run; the first one without a value starts one, too.
    let starts = warp::ballot(FULL_MASK, lane == 0 || slot != previous || lane == count);
    let start = 31 - (starts & warp::lane_mask_le()).leading_zeros();
    let mut distance = 1;
    while distance < LANES {
        let same_run = lane >= start + distance;
        macro_rules! add {
            ($($value:ident)*) => {$(
                let other = shuffle_up(FULL_MASK, $value, distance);
                if same_run {
                    $value = $value + other;
                }
            )*};
        }
        add!(a b c d);
        distance *= 2;
    }
    let ends = (starts >> 1 | 1 << 31) & Lanes::first(count).mask();
    let mut rest = ends;
    while rest != 0 {
        if rest.trailing_zeros() == lane {
            // SAFETY: one lane at a time.
            unsafe {
                let sums = sums.add(slot as usize * SUMS);
                *sums = *sums + a;
                *sums.add(1) = *sums.add(1) + b;
                *sums.add(2) = *sums.add(2) + c;
                *sums.add(3) = *sums.add(3) + d;
            }
        }
        warp::sync_warp(FULL_MASK);
        rest &= rest - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlap::layout::Extent;
    use core::ptr::null;
    use simt::{Executor, Launch, Schedule};
    extern crate std;
    use std::{
        sync::atomic::{AtomicU64, Ordering},
        vec::Vec,
    };

    /// Every item is looked at, also of pairs that have more items together than numbers of 32 bits.
    #[test]
    fn items_of_many_pieces() {
        let few = [1, 4, 5, 0, 131];
        // One more, or one less, and the items of a warp's pairs have no numbers; and as many pieces as there may be.
        for many in [3, 23_168, 23_169, 23_170, 23_171, 25_000, MOST_PIECES] {
            let pieces: Vec<u32> = (0..80).map(|k| if k % 41 == 40 { few[k % 5] } else { many }).collect();
            let place = |&count| Place { position: Point::<f64>::ORIGIN, first: 0, count };
            let places: Vec<_> = pieces.iter().map(place).collect();
            let (sum, given) = (AtomicU64::new(0), AtomicU64::new(0));
            let (first, place) = (AtomicU64::new(places.as_ptr() as u64), places.len() as u32);
            let body = || {
                let list = List {
                    circles: null::<Circle<f64>>(),
                    places: first.load(Ordering::Relaxed) as *const Place<f64>,
                    nudges: null(),
                    pieces: null(),
                    order: null(),
                };
                let frame: Frame<f64> = bytemuck::Zeroable::zeroed();
                let task = Task {
                    tile: Tile { packing: 0, first: 0, step: 1, count: 32 },
                    rows: list,
                    candidates: list,
                    frame: &frame,
                    periodic: false,
                    starts: null(),
                    parallels: null(),
                    tree: Tree { boxes: null::<Extent<f64>>(), leaves: 0, depth: 0 },
                    mode: Mode::HALF,
                };
                let mut queue: Queue<NearPair> = Queue::new(shared_array![NearPair; PAIRS].as_mut_ptr());
                let mut taken = Pieces::new();
                // SAFETY: there are as many pairs as places, of rows that have one; lanes write them before `sync_warp`.
                unsafe {
                    for number in (warp::lane_id()..place).step_by(LANES as usize) {
                        *queue.at(number) = U32x2::new(Tag::new(number % 32, [0; 2]).0, number);
                    }
                    warp::sync_warp(FULL_MASK);
                    queue.count = place;
                    while queue.count > 0 {
                        taken.take::<f64, false>(&task, &mut queue);
                        sum.fetch_add(taken.pair_items.into(), Ordering::Relaxed);
                        if warp::lane_id() == 0 {
                            given.fetch_add(taken.count.into(), Ordering::Relaxed);
                        }
                    }
                }
            };
            let launch = Launch { kernel: "items", grid: 1.into(), block: 32.into(), dynamic_shared: 0 };
            Executor::new(1).with_schedule(Schedule::InOrder).run(&launch, &body).expect("the warp is right");
            let items = (0..80).map(|k| u64::from(pieces[k % 32]) * u64::from(pieces[k].div_ceil(4))).sum::<u64>();
            assert_eq!([sum, given].map(AtomicU64::into_inner), [items; 2], "{many} pieces");
        }
    }
}

//! A warp for a tile of poses, for GPUs.
//!
//! Which poses are near, which of their pieces' bounds meet, and what these have in common: of every so many of one
//! step, few come to the next. So a warp's lanes never go all the way with what they find. They write it to a queue in
//! shared memory, and the next step starts when there is enough in it for all 32:
//!
//! 1. *candidates*: each lane looks at one pose in the cells around a row's, or in a leaf that meets it, and queues
//!    it if the circles meet;
//! 2. *pieces*: each lane takes a piece of a row and up to four of a queued candidate, and queues those whose bounds
//!    meet;
//! 3. *clips*: each lane intersects a queued pair of pieces, and queues it again, nudged, for its derivatives where
//!    edges are near.
//!
//! The queues are emptied from behind, the last step first, so that none holds more than it has to. What a warp does
//! depends on its tile alone: sums that only rows own are the same bits each time. Lanes' results are first added up
//! along the runs of the same row, then to the row's sum in shared memory, one run after another.
//!
//! Where there is a tree, a warp that finds many more near pairs than others leaves what remains to a second launch, in
//! which each of its rows has a warp: else all would wait for the few warps of a heap.

use super::{
    Scalar,
    clip::{Point, edge_near, intersect, moved, nearness},
    direct::add_gradient,
    layout::{Bounds, Cells, Circle, Extent, Left, List, Mode, Place, ROWS, Rest, Sums, Tile, Tree, Way, parallel},
    tree::FAN,
    walk::{Run, leaves_of, near, nudge, run_of_leaf},
};
use crate::collectives::{
    Identity, Max, Min, Sum,
    warp::{Lanes, exclusive_scan, inclusive_scan, reduce},
};
use core::ptr;
use cuda_std::prelude::*;
use warp::{FULL_MASK, shuffle_idx, shuffle_up};

/// Warps of a block, which have nothing to do with one another.
pub const WARPS: u32 = 4;
/// Lanes of a warp.
const LANES: u32 = 32;
/// Pieces of a candidate that a lane looks at in one step.
const PIECES: u32 = 4;
/// Room for near pairs: less than a warp's worth, and what one step adds.
const PAIRS: usize = 3 * LANES as usize;
/// Room for pairs of pieces, in the same way.
const CLIPS: usize = (LANES + LANES * PIECES) as usize;
/// Sums for each row: area, and the derivatives by x, y and theta.
const SUMS: usize = 4;
/// The near pairs after which a warp leaves the leaves that remain of its tile to others: several times as many as where
/// poses are spread evenly without overlapping much.
pub const MOST_PAIRS: u32 = 512;

/// The row of a tile, two marks, and the lattice vectors that the candidate is moved by, in one word.
#[derive(Clone, Copy)]
struct Tag(u32);

impl Tag {
    /// What is added to a shift to make it positive.
    const BIAS: i32 = 2048;
    /// Set where sides may be parallel, and derivatives are wanted.
    const PARALLEL: u32 = 0x40;
    /// Set where the candidate is nudged.
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

/// A warp's part of shared memory.
struct Memory<T> {
    /// Near pairs: tag, candidate.
    pairs: *mut U32x2,
    /// Pairs of pieces: the row's, the candidate's, the candidate, tag.
    clips: *mut U32x4,
    /// [`SUMS`] for each row.
    sums: *mut T,
}

/// The number of set bits of `mask` below this lane's.
#[inline(always)]
fn rank(mask: u32) -> u32 {
    (mask & warp::lane_mask_lt()).count_ones()
}

/// The first lane whose `end` is greater than `number`, where ends ascend; the last, if none is.
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

/// Adds each lane's `values`, `count` lanes of them, to the row's that `slot` says.
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

impl Way {
    /// Where it begins.
    #[inline(always)]
    fn new(depth: u32) -> Self {
        Way { image: 0, level: depth + 1, index: 0, rest: 1 }
    }

    /// The next leaf that meets a lane's `own` box and is from the first to the end of `leaves`, and whether this lane's
    /// is met. `extent` is the box around all of them. At the end of the image's leaves, none.
    ///
    /// # Safety
    /// All lanes come here, with the same arguments but for `own`. The tree is there.
    #[inline(always)]
    unsafe fn next<T: Scalar>(
        &mut self,
        tree: Tree<T>,
        leaves: (u32, u32),
        extent: &Extent<T>,
        own: &Extent<T>,
    ) -> Option<(u32, bool)> {
        loop {
            if self.rest == 0 {
                if self.level > tree.depth {
                    return None;
                }
                // Back to the box that this one is in, and on from there.
                let child = self.index % FAN;
                self.level += 1;
                self.index /= FAN;
                // SAFETY: as below.
                let meet = unsafe { self.children(tree, leaves, extent) };
                self.rest = meet & (u32::MAX << child << 1);
                continue;
            }
            let child = self.index * FAN + self.rest.trailing_zeros();
            self.rest &= self.rest - 1;
            // Rows may be far apart, where the curve that orders them leaps: much of what is in the box around them is
            // near none.
            // SAFETY: the tree is there (this function's contract), and this level is above the leaves'.
            let meets = unsafe { tree.meets(self.level - 1, child, leaves, own) };
            if warp::ballot(FULL_MASK, meets) == 0 {
                continue;
            }
            if self.level == 1 {
                return Some((child, meets));
            }
            (self.level, self.index) = (self.level - 1, child);
            // SAFETY: all lanes are here, and the tree is there (this function's contract).
            self.rest = unsafe { self.children(tree, leaves, extent) };
        }
    }

    /// Which boxes in this one meet `extent`.
    ///
    /// # Safety
    /// As for [`next`](Self::next).
    #[inline(always)]
    unsafe fn children<T: Scalar>(&self, tree: Tree<T>, leaves: (u32, u32), extent: &Extent<T>) -> u32 {
        let child = self.index * FAN + warp::lane_id();
        // SAFETY: the tree is there, and this level is above the leaves'.
        warp::ballot(FULL_MASK, unsafe { tree.meets(self.level - 1, child, leaves, extent) })
    }
}

/// The box around what lanes have.
#[inline(always)]
fn extent_of_warp<T: Scalar>(extent: Extent<T>) -> Extent<T>
where
    Min: Identity<T>,
    Max: Identity<T>,
{
    let (low, high) = (extent.low, extent.high);
    Extent {
        low: Point::new(reduce(Lanes::FULL, low.x, Min), reduce(Lanes::FULL, low.y, Min)),
        high: Point::new(reduce(Lanes::FULL, high.x, Max), reduce(Lanes::FULL, high.y, Max)),
    }
}

/// What a warp keeps in shared memory on its way through a tree, as registers are few.
#[derive(Clone, Copy)]
struct Walk<T> {
    /// The box around the tile.
    extent: *mut Extent<T>,
    /// How far it has come.
    way: *mut Way,
    /// How many near pairs it has met.
    met: *mut u32,
}

impl<T: Scalar> Walk<T> {
    /// The running warp's.
    #[inline(always)]
    fn of_warp() -> Self {
        let warp = warp::warp_id() as usize;
        // SAFETY: a block has that many warps.
        unsafe {
            Walk {
                extent: shared_array![Extent<T>; WARPS as usize].at(warp),
                way: shared_array![Way; WARPS as usize].at(warp),
                met: shared_array![u32; WARPS as usize].at(warp),
            }
        }
    }
}

impl<T: Scalar> Memory<T> {
    /// The running warp's.
    #[inline(always)]
    fn of_warp() -> Self {
        let warp = warp::warp_id() as usize;
        let pairs = shared_array![U32x2; WARPS as usize * PAIRS];
        let clips = shared_array![U32x4; WARPS as usize * CLIPS];
        let sums = shared_array![T; WARPS as usize * ROWS as usize * SUMS];
        // SAFETY: a block has that many warps.
        unsafe {
            Memory { pairs: pairs.at(warp * PAIRS), clips: clips.at(warp * CLIPS), sums: sums.at(warp * ROWS as usize * SUMS) }
        }
    }
}

/// What a warp takes.
#[derive(Clone, Copy)]
struct Share {
    tile: Tile,
    /// Where it begins, with a tree.
    way: Way,
}

/// The number of the running warp.
#[inline(always)]
fn number_of_warp() -> u32 {
    thread::block_idx_x() * WARPS + warp::warp_id()
}

/// A warp for each tile, as the kernels without a tree say.
///
/// # Safety
/// As for [`area()`] and [`gradient()`].
#[inline(always)]
unsafe fn run<T: Scalar, const GRADIENT: bool>(
    tiles: &[Tile],
    rows: List<T>,
    candidates: List<T>,
    cells: Cells<'_, T>,
    mode: Mode,
    out: Sums<T>,
) where
    Sum: crate::collectives::Op<T>,
    Min: Identity<T>,
    Max: Identity<T>,
{
    let Some(&tile) = tiles.get(number_of_warp() as usize) else { return };
    let rest = Rest { count: ptr::null_mut(), tiles: ptr::null_mut(), partial: ptr::null_mut(), taken: 0 };
    // SAFETY: the tile is one of the rows', and without a tree there is no rest (this function's contract).
    unsafe { take::<T, GRADIENT, false>(Share { tile, way: Way::new(0) }, rows, candidates, cells, mode, out, rest) }
}

/// A warp for each tile, or any number of warps for the rows of those that left something, as the kernels with a tree
/// say.
///
/// # Safety
/// As for [`tree_area()`] and [`tree_gradient()`].
#[inline(always)]
unsafe fn run_tree<T: Scalar, const GRADIENT: bool>(
    tiles: &[Tile],
    rows: List<T>,
    candidates: List<T>,
    cells: Cells<'_, T>,
    mode: Mode,
    out: Sums<T>,
    rest: Rest<T>,
) where
    Sum: crate::collectives::Op<T>,
    Min: Identity<T>,
    Max: Identity<T>,
{
    // SAFETY: what is left is of tiles that exist, and their rows are those of lists and cells (this function's contract).
    // A warp has a round of its own, which lane 0 writes between two `sync_warp`.
    unsafe {
        // In shared memory, as registers are few.
        let round = shared_array![u32; WARPS as usize].at(warp::warp_id() as usize);
        if warp::lane_id() == 0 {
            *round = 0;
        }
        warp::sync_warp(FULL_MASK);
        loop {
            let number = u64::from(number_of_warp()) + u64::from(*round) * u64::from(thread::grid_dim_x() * WARPS);
            let share = if rest.taken == 0 {
                let Some(&tile) = tiles.get(number as usize) else { return };
                Share { tile, way: Way::new(cells.tree().depth) }
            } else {
                if number >= u64::from(*rest.count) * u64::from(ROWS) {
                    return;
                }
                let left = *rest.tiles.add((number / u64::from(ROWS)) as usize);
                let all = *tiles.get_unchecked(left.tile as usize);
                let slot = number as u32 % ROWS;
                let tile = Tile { first: all.first + slot * all.step, count: u32::from(slot < all.count), ..all };
                Share { tile, way: left.way }
            };
            if share.tile.count > 0 {
                take::<T, GRADIENT, true>(share, rows, candidates, cells, mode, out, rest);
            }
            // The next share has the same memory.
            warp::sync_warp(FULL_MASK);
            if rest.taken == 0 {
                return;
            }
            if warp::lane_id() == 0 {
                *round += 1;
            }
            warp::sync_warp(FULL_MASK);
        }
    }
}

/// Takes a share. Without a tree, `rest` isn't used.
///
/// # Safety
/// All lanes of a warp come here, with the same share, whose rows, and the way on which they are, exist. Otherwise as for
/// the kernels.
#[inline(always)]
unsafe fn take<T: Scalar, const GRADIENT: bool, const TREE: bool>(
    share: Share,
    rows: List<T>,
    candidates: List<T>,
    cells: Cells<'_, T>,
    mode: Mode,
    out: Sums<T>,
    rest: Rest<T>,
) where
    Sum: crate::collectives::Op<T>,
    Min: Identity<T>,
    Max: Identity<T>,
{
    let Cells { frames, starts, parallels, .. } = cells;
    let (memory, out) = (Memory::<T>::of_warp(), out.of(mode));
    let lane = warp::lane_id();
    let tile = share.tile;
    let by_row = GRADIENT || mode.has(Mode::PER_POSE);
    let full = mode.has(Mode::FULL);
    // SAFETY: tiles are of rows and packings that exist, and these have what frames and starts say. `rest` has room for
    // every tile, and each leaves something once at most. Queues don't overflow: a step that adds to one is taken only
    // while it has less than a warp's worth. Lanes read what others wrote after a `sync_warp`, and write where others
    // read only after another.
    unsafe {
        let frame = frames.get_unchecked(tile.packing as usize);
        let periodic = frame.periodic != 0;
        if by_row {
            for k in 0..SUMS as u32 {
                *memory.sums.add((k * LANES + lane) as usize) = T::ZERO;
            }
            warp::sync_warp(FULL_MASK);
        }
        let mut sum = T::ZERO;

        // Runs of candidates are numbered through all rows. Those under way, one a lane: the row's slot, the
        // candidates' number less their place among all of these runs, and where they end there.
        let runs = frame.runs();
        let run_count = tile.count * runs;
        let mut next_run = 0;
        let mut slot = 0;
        let mut candidate_base = 0u32;
        let mut shift = [0; 2];
        let mut run_end = 0;
        // With a tree, the box around the tile, and the way to its leaves, each of which has a run for each row.
        let tree = cells.tree();
        let walk = Walk::<T>::of_warp();
        let mut walked = false;
        if TREE {
            let mut own = Extent::empty();
            if lane < tile.count {
                own = Extent::around(&*rows.circles.add((tile.first + lane * tile.step) as usize));
            }
            let all = extent_of_warp(own);
            if lane == 0 {
                *walk.extent = all;
                *walk.way = share.way;
                *walk.met = 0;
            }
            warp::sync_warp(FULL_MASK);
        }
        let (mut at, mut candidate_count) = (0, 0);
        // Near pairs, one a lane, whose pieces are being looked at, and their items: one for each of the row's pieces
        // and each four of the candidate's.
        let mut pair = U32x2::new(0, 0);
        let (mut pair_items, mut pair_end) = (0, 0);
        let (mut item, mut item_count) = (0, 0);
        let (mut pair_count, mut clip_count) = (0u32, 0u32);

        loop {
            let exhausted = at >= candidate_count && if TREE { walked } else { next_run >= run_count };
            let no_items = item >= item_count;
            if clip_count >= LANES || (exhausted && no_items && pair_count == 0) {
                // Step 3.
                let count = clip_count.min(LANES);
                if count == 0 {
                    break;
                }
                clip_count -= count;
                warp::sync_warp(FULL_MASK);
                let mut values = (T::ZERO, T::ZERO, T::ZERO, T::ZERO);
                let mut tag = Tag(0x3f);
                let mut again = false;
                if lane < count {
                    let clip = *memory.clips.add((clip_count + lane) as usize);
                    tag = Tag(clip.w);
                    let row = tile.first + tag.slot() * tile.step;
                    let place: Place<T> = *rows.places.add(row as usize);
                    let other: Place<T> = *candidates.places.add(clip.z as usize);
                    let mut second_at = other.position.minus(place.position);
                    if periodic {
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
                    sum = sum + common.twice_area;
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
                    add_by_row(memory.sums, tag.slot(), count, values);
                }
                if GRADIENT {
                    let lanes = warp::ballot(FULL_MASK, again);
                    if lanes != 0 {
                        let mut clip = U32x4::new(0, 0, 0, 0);
                        if again {
                            clip = *memory.clips.add((clip_count + lane) as usize);
                        }
                        warp::sync_warp(FULL_MASK);
                        if again {
                            clip.w |= Tag::NUDGED;
                            *memory.clips.add((clip_count + rank(lanes)) as usize) = clip;
                        }
                        clip_count += lanes.count_ones();
                    }
                }
                warp::sync_warp(FULL_MASK);
            } else if !no_items {
                // Step 2: to which pair an item belongs is found among the pairs' ends.
                let mine = item + lane;
                let owner = owner(mine, pair_end);
                let tag = Tag(shuffle_idx(FULL_MASK, pair.x, owner));
                let candidate = shuffle_idx(FULL_MASK, pair.y, owner);
                let number = mine.wrapping_sub(shuffle_idx(FULL_MASK, pair_end - pair_items, owner));
                let mut hits = 0u32;
                let (mut first, mut second) = (0, 0);
                if mine < item_count {
                    let row = tile.first + tag.slot() * tile.step;
                    let place = *rows.places.add(row as usize);
                    let other = *candidates.places.add(candidate as usize);
                    let mut second_at = other.position.minus(place.position);
                    if periodic {
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
                item += LANES;
                let places = exclusive_scan(Lanes::FULL, hits.count_ones(), Sum);
                let mut to = clip_count + places.prefix;
                for k in 0..PIECES {
                    if hits >> k & 1 != 0 {
                        *memory.clips.add(to as usize) = U32x4::new(first, second + k, candidate, tag.0);
                        to += 1;
                    }
                }
                clip_count += places.total;
            } else if pair_count >= LANES || (exhausted && pair_count > 0) {
                // The next pairs for step 2.
                let count = pair_count.min(LANES);
                pair_count -= count;
                warp::sync_warp(FULL_MASK);
                pair_items = 0;
                if lane < count {
                    pair = *memory.pairs.add((pair_count + lane) as usize);
                    let row = tile.first + Tag(pair.x).slot() * tile.step;
                    let (place, other) = (&*rows.places.add(row as usize), &*candidates.places.add(pair.y as usize));
                    pair_items = place.count * other.count.div_ceil(PIECES);
                    if GRADIENT {
                        let (circle, other) = (&*rows.circles.add(row as usize), &*candidates.circles.add(pair.y as usize));
                        if parallel(parallels, circle.angle, other.angle) {
                            pair.x |= Tag::PARALLEL;
                        }
                    }
                }
                warp::sync_warp(FULL_MASK);
                pair_end = inclusive_scan(Lanes::FULL, pair_items, Sum);
                (item, item_count) = (0, shuffle_idx(FULL_MASK, pair_end, LANES - 1));
            } else if at < candidate_count {
                // Step 1, twice, so that what one waits for doesn't hold up the other.
                let look = |mine: u32| {
                    let owner = owner(mine, run_end);
                    let slot = shuffle_idx(FULL_MASK, slot, owner);
                    let candidate = shuffle_idx(FULL_MASK, candidate_base, owner).wrapping_add(mine);
                    let mut image = [0; 2];
                    if periodic {
                        image = [shuffle_idx(FULL_MASK, shift[0], owner), shuffle_idx(FULL_MASK, shift[1], owner)];
                    }
                    let mut hit = false;
                    if mine < candidate_count {
                        let row = tile.first + slot * tile.step;
                        let circle: Circle<T> = *rows.circles.add(row as usize);
                        let other: Circle<T> = *candidates.circles.add(candidate as usize);
                        let vector = if periodic { frame.shift(image) } else { Point::ORIGIN };
                        hit = near(&circle, &other, vector) && !(full && candidate == row && image == [0; 2]);
                    }
                    (hit, Tag::new(slot, image), candidate)
                };
                let (hit, tag, candidate) = look(at + lane);
                let (second_hit, second_tag, second_candidate) = look(at + LANES + lane);
                at += 2 * LANES;
                let mut queue = |hit: bool, tag: Tag, candidate: u32| {
                    let hits = warp::ballot(FULL_MASK, hit);
                    if hit {
                        *memory.pairs.add((pair_count + rank(hits)) as usize) = U32x2::new(tag.0, candidate);
                    }
                    pair_count += hits.count_ones();
                    if TREE && lane == 0 {
                        *walk.met += hits.count_ones();
                    }
                };
                queue(hit, tag, candidate);
                queue(second_hit, second_tag, second_candidate);
            } else if TREE {
                warp::sync_warp(FULL_MASK);
                let (mut way, met) = (*walk.way, *walk.met);
                if met > MOST_PAIRS && tile.count > 1 {
                    if lane == 0 {
                        let place = atomic::device::fetch_add(rest.count, 1);
                        *rest.tiles.add(place as usize) = Left { tile: number_of_warp(), way };
                    }
                    walked = true;
                    continue;
                }
                // The next leaf, of which each row that meets it has a run.
                let image = frame.image(way.image);
                let vector = if periodic { frame.shift(image) } else { Point::ORIGIN };
                let range = frame.rows(starts);
                let first = if mode.has(Mode::HALF) { range.0.max(tile.first) } else { range.0 };
                let leaves = leaves_of((first, range.1));
                let row = tile.first + lane * tile.step;
                let mut own = Extent::empty();
                if lane < tile.count {
                    own = Extent::around(&*rows.circles.add(row as usize)).moved_back(vector);
                }
                let mut run = Run { start: 0, len: 0, shift: image };
                if let Some((leaf, meets)) = way.next(tree, leaves, &(*walk.extent).moved_back(vector), &own) {
                    // The box around nothing, of lanes beyond the rows, meets one without bounds.
                    if meets && lane < tile.count {
                        run = run_of_leaf(leaf, row, range, image, mode);
                    }
                } else {
                    way = Way { image: way.image + 1, ..Way::new(tree.depth) };
                    walked = way.image >= runs;
                }
                warp::sync_warp(FULL_MASK);
                if lane == 0 {
                    *walk.way = way;
                }
                slot = lane;
                shift = run.shift;
                run_end = inclusive_scan(Lanes::FULL, run.len, Sum);
                candidate_base = run.start.wrapping_sub(run_end - run.len);
                (at, candidate_count) = (0, shuffle_idx(FULL_MASK, run_end, LANES - 1));
            } else {
                // The next runs.
                let mine = next_run + lane;
                let mut run = Run { start: 0, len: 0, shift: [0; 2] };
                if mine < run_count {
                    slot = mine / runs;
                    let row = tile.first + slot * tile.step;
                    let cell = frame.cell((*rows.circles.add(row as usize)).center);
                    run = frame.run(mine % runs, row, cell, mode, starts);
                }
                next_run += LANES;
                shift = run.shift;
                run_end = inclusive_scan(Lanes::FULL, run.len, Sum);
                candidate_base = run.start.wrapping_sub(run_end - run.len);
                (at, candidate_count) = (0, shuffle_idx(FULL_MASK, run_end, LANES - 1));
            }
        }

        let total = reduce(Lanes::FULL, sum, Sum);
        if lane == 0 {
            let to = if TREE && rest.taken != 0 {
                rest.partial.add(tile.first as usize)
            } else {
                out.partial.add(number_of_warp() as usize)
            };
            *to = total;
        }
        if by_row && lane < tile.count {
            let pose = *rows.order.add((tile.first + lane * tile.step) as usize) as usize;
            let sums = memory.sums.add(lane as usize * SUMS);
            let shared = mode.has(Mode::HALF);
            // What its tile's warp has come to is there.
            let begun = TREE && rest.taken != 0;
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

/// Areas.
///
/// Blocks of [`WARPS`] warps, a warp for each of `tiles`. `partial` gets the double of each tile's area. By pose go
/// areas and gradients: those of rows are set, but in [`Mode::HALF`], where they are added; those of candidates are
/// added where `mode` says so.
///
/// # Safety
/// Tiles are of rows and packings that both lists and the cells have, and what `mode` asks for has room: for candidates
/// only in [`Mode::BETWEEN`], since else they are the rows.
#[kernel(for T in [f32 { min_blocks = 5 }, f64 { min_blocks = 4 }], max_threads = 128)]
pub unsafe fn area<T: Scalar>(tiles: &[Tile], rows: List<T>, candidates: List<T>, cells: Cells<'_, T>, mode: Mode, out: Sums<T>)
where
    Sum: crate::collectives::Op<T>,
    Min: Identity<T>,
    Max: Identity<T>,
{
    // SAFETY: tiles, lists, cells and sums fit each other (this kernel's contract).
    unsafe { run::<T, false>(tiles, rows, candidates, cells, mode, out) }
}

/// Areas and gradients, as [`area()`] does.
///
/// # Safety
/// Tiles are of rows and packings that both lists and the cells have, and what `mode` asks for has room: for candidates
/// only in [`Mode::BETWEEN`], since else they are the rows.
#[kernel(for T in [f32 { min_blocks = 5 }, f64 { min_blocks = 4 }], max_threads = 128)]
pub unsafe fn gradient<T: Scalar>(
    tiles: &[Tile],
    rows: List<T>,
    candidates: List<T>,
    cells: Cells<'_, T>,
    mode: Mode,
    out: Sums<T>,
) where
    Sum: crate::collectives::Op<T>,
    Min: Identity<T>,
    Max: Identity<T>,
{
    // SAFETY: tiles, lists, cells and sums fit each other (this kernel's contract).
    unsafe { run::<T, true>(tiles, rows, candidates, cells, mode, out) }
}

/// Areas, as [`area()`] does, where the cells have a tree. Tiles with more than [`MOST_PAIRS`] near pairs leave what
/// remains in `rest`. Where that is taken, any number of blocks adds it, and `partial` gets nothing.
///
/// # Safety
/// As for [`area()`]; there is a tree. `rest` has room for all tiles, and for a sum of each row; nothing is in it unless
/// it is taken, after a launch of the same arguments but that.
#[kernel(for T in [f32 { min_blocks = 5 }, f64 { min_blocks = 4 }], max_threads = 128)]
pub unsafe fn tree_area<T: Scalar>(
    tiles: &[Tile],
    rows: List<T>,
    candidates: List<T>,
    cells: Cells<'_, T>,
    mode: Mode,
    out: Sums<T>,
    rest: Rest<T>,
) where
    Sum: crate::collectives::Op<T>,
    Min: Identity<T>,
    Max: Identity<T>,
{
    // SAFETY: tiles, lists, cells and sums fit each other, and there is a tree (this kernel's contract).
    unsafe { run_tree::<T, false>(tiles, rows, candidates, cells, mode, out, rest) }
}

/// Areas and gradients, as [`gradient()`] and [`tree_area()`] do, where the cells have a tree.
///
/// # Safety
/// As for [`gradient()`] and [`tree_area()`].
#[kernel(for T in [f32 { min_blocks = 5 }, f64 { min_blocks = 4 }], max_threads = 128)]
pub unsafe fn tree_gradient<T: Scalar>(
    tiles: &[Tile],
    rows: List<T>,
    candidates: List<T>,
    cells: Cells<'_, T>,
    mode: Mode,
    out: Sums<T>,
    rest: Rest<T>,
) where
    Sum: crate::collectives::Op<T>,
    Min: Identity<T>,
    Max: Identity<T>,
{
    // SAFETY: tiles, lists, cells and sums fit each other, and there is a tree (this kernel's contract).
    unsafe { run_tree::<T, true>(tiles, rows, candidates, cells, mode, out, rest) }
}

/// Adds to the tiles' sums those of the rows that they left. One block.
///
/// # Safety
/// There are tiles, and sums of theirs in `partial`; what they left in `rest` was taken.
#[kernel(for T in [f32, f64], max_threads = 1024)]
pub unsafe fn add_rest<T: Scalar>(tiles: &[Tile], rest: Rest<T>, partial: *mut T) {
    let (thread, threads) = (thread::thread_idx_x(), thread::block_dim_x());
    // SAFETY: each tile that left something is there once, with a sum, and sums of its rows (this kernel's contract).
    unsafe {
        let count = *rest.count;
        let mut place = thread;
        while place < count {
            let number = (*rest.tiles.add(place as usize)).tile as usize;
            let tile = *tiles.get_unchecked(number);
            let mut sum = *partial.add(number);
            for slot in 0..tile.count {
                sum = sum + *rest.partial.add((tile.first + slot * tile.step) as usize);
            }
            *partial.add(number) = sum;
            place += threads;
        }
    }
}

//! Reductions of a matrix's rows: their smallest entries, the entries below a bound, or their sums.
//!
//! An entry (row, column) of a block counts for its row and, in the lower triangle of a symmetric
//! matrix, for the row that it is mirrored to. So a block has two kinds of *lines*: its rows, and
//! its columns where these are rows of the other half. A warp takes a row ([`smallest()`]). A block
//! of threads takes 32 columns ([`smallest_mirrored()`]): it reads tiles by rows, and transposes a
//! tile in shared memory only if one of its entries may count.
//!
//! Nearly all entries are read once, and compared with one number. Each lane skips entries that
//! can't change a line's result; the warp handles the rest together.

use cuda_std::{
    KernelParam,
    math::{self, Float},
    prelude::*,
    warp::{FULL_MASK, Shuffle, WARP_SIZE},
};

use crate::collectives::{
    Sum,
    warp::{self as collective, Lanes},
};

/// Threads of a block of these kernels.
pub const THREADS: u32 = 256;
/// Warps of a block.
pub const WARPS: u32 = THREADS / WARP_SIZE;
/// Rows of a tile.
const TILE: u32 = 128;
/// Elements from one row of a tile to the next in shared memory: one more than it has, so that a column's lie in
/// different banks.
const PITCH: u32 = WARP_SIZE + 1;
/// Entries that a lane compares before its warp comes together.
const TOGETHER: u32 = 8;

/// A block of a matrix, whose entries lie by rows, and which of them count.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Part {
    /// The block's first row and column.
    pub row: u32,
    /// See `row`.
    pub column: u32,
    /// The numbers of its rows and columns.
    pub height: u32,
    /// See `height`.
    pub width: u32,
    /// [`ALL`], [`STRICT`] or [`WITH_DIAGONAL`].
    pub coverage: u32,
}

/// All entries count.
pub const ALL: u32 = 0;
/// Entries below the diagonal count.
pub const STRICT: u32 = 1;
/// Entries on and below the diagonal count.
pub const WITH_DIAGONAL: u32 = 2;

impl Part {
    /// Number of entries of a row of the block that count, from its first column on.
    #[inline(always)]
    pub fn row_end(self, line: u32) -> u32 {
        if self.coverage == ALL {
            return self.width;
        }
        let end = u64::from(self.row) + u64::from(line) + u64::from(self.coverage == WITH_DIAGONAL);
        end.saturating_sub(self.column.into()).min(self.width.into()) as u32
    }

    /// The first row of the block whose entry in a column counts for the row that it is mirrored to.
    #[inline(always)]
    pub fn column_start(self, line: u32) -> u32 {
        let start = u64::from(self.column) + u64::from(line) + 1;
        start.saturating_sub(self.row.into()).min(self.height.into()) as u32
    }
}

/// An entry: `f32` or `f64`.
pub trait Entry: Float + PartialOrd + bytemuck::Pod + 'static {
    /// Bits whose order is that of the numbers, with NaN after infinity and one zero.
    type Key: Copy + Ord + Shuffle + bytemuck::Pod + Send + Sync;
    /// A NaN, whose key is the greatest of all.
    const LAST: Self;
    /// Its key.
    fn key(self) -> Self::Key;
    /// The number of a key.
    fn from_key(key: Self::Key) -> Self;
    /// The same number.
    fn wide(self) -> f64;
}

/// The keys of a type of entries.
pub type KeyOf<T> = <T as Entry>::Key;

macro_rules! entry {
    ($t:ident, $bits:ident) => {
        impl Entry for $t {
            type Key = $bits;
            const LAST: $t = $t::from_bits($bits::MAX);
            #[inline(always)]
            fn key(self) -> $bits {
                // Adding zero makes -0 zero.
                let bits = (self + 0.0).to_bits();
                let sign = 1 << ($bits::BITS - 1);
                if self.is_nan() {
                    $bits::MAX
                } else if bits & sign == 0 {
                    bits | sign
                } else {
                    !bits
                }
            }
            #[inline(always)]
            fn from_key(key: $bits) -> $t {
                let sign = 1 << ($bits::BITS - 1);
                if key == $bits::MAX {
                    $t::NAN
                } else if key & sign == 0 {
                    $t::from_bits(!key)
                } else {
                    $t::from_bits(key & !sign)
                }
            }
            #[inline(always)]
            fn wide(self) -> f64 {
                self.into()
            }
        }
    };
}
entry!(f32, u32);
entry!(f64, u64);

/// Bound on entries: one above it can't change a row's result.
#[derive(Clone, Copy)]
struct Limit<T> {
    /// Greater numbers don't; if it is NaN, any may.
    number: T,
    /// Of equal ones, those in later columns don't.
    column: u32,
}

impl<T: Entry> Limit<T> {
    /// The bound that no entry exceeds.
    const NONE: Self = Limit { number: T::LAST, column: u32::MAX };

    /// True if an entry, one of several in columns from `first` on, may change the result.
    #[inline(always)]
    fn allows(self, entry: T, first: u32) -> bool {
        let beyond = if first < self.column { entry > self.number } else { entry >= self.number };
        // NaN, as limit or as entry, compares with nothing.
        !beyond
    }
}

/// Results of all rows, to which a warp adds those of one row.
trait Rows<T: Entry>: Copy {
    /// A warp's state of a row while it adds to it.
    type Row: Copy;

    /// The bound above which an entry can't change a row's result.
    ///
    /// # Safety
    /// There is such a row, and no other thread writes to it meanwhile.
    unsafe fn limit(self, row: u32) -> Limit<T>;

    /// Begins with a row.
    ///
    /// # Safety
    /// As for [`limit`](Self::limit). All lanes of the warp call it together, as the others here.
    unsafe fn open(self, row: u32) -> Self::Row;

    /// Takes an entry in `column` from each lane that has one.
    ///
    /// # Safety
    /// The row is open, and no other warp has it.
    unsafe fn take(self, row: &mut Self::Row, entry: T, column: u32, present: bool);

    /// Ends with a row.
    ///
    /// # Safety
    /// As for [`take`](Self::take).
    unsafe fn close(self, row: Self::Row);
}

/// Adds the entries of a block's rows: a warp takes each row.
///
/// # Safety
/// `entries` has as many as the block; those that count have been written. The grid has a warp for each row, in blocks
/// of [`THREADS`], and every row of the block is one of `rows`, which nobody else uses meanwhile.
#[inline(always)]
unsafe fn straight<T: Entry>(entries: *const T, part: Part, rows: impl Rows<T>) {
    let (lane, warp) = (warp::lane_id(), thread::thread_idx_x() / WARP_SIZE);
    let line = thread::block_idx_x() * WARPS + warp;
    if line >= part.height {
        return;
    }
    // SAFETY: the line is a row of the block, and entries before its end are there and count; the row is this warp's.
    unsafe {
        let entries = entries.add(line as usize * part.width as usize);
        let end = part.row_end(line);
        let mut limit = rows.limit(part.row + line);
        let mut start = 0;
        while start < end {
            let mut any = false;
            let may_count = |at: u32| limit.allows(entries.add(at as usize).read(), part.column + start);
            if start + TOGETHER * WARP_SIZE <= end {
                for k in 0..TOGETHER {
                    any |= may_count(start + k * WARP_SIZE + lane);
                }
            } else {
                for k in 0..TOGETHER {
                    let at = start + k * WARP_SIZE + lane;
                    any |= at < end && may_count(at);
                }
            }
            if warp::any(FULL_MASK, any) {
                let mut row = rows.open(part.row + line);
                let mut first = start;
                while first < end && first < start + TOGETHER * WARP_SIZE {
                    let at = first + lane;
                    let entry = if at < end { entries.add(at as usize).read() } else { T::LAST };
                    rows.take(&mut row, entry, part.column + at, at < end);
                    first += WARP_SIZE;
                }
                rows.close(row);
                limit = rows.limit(part.row + line);
            }
            start += TOGETHER * WARP_SIZE;
        }
    }
}

/// Adds the entries of a block's columns, for the rows that they are mirrored to: a block of threads takes 32 columns.
///
/// # Safety
/// `entries` has as many as the block; those that count have been written. The grid has a block of [`THREADS`] for each
/// 32 columns, and every column of the block is one of `rows`, which nobody else uses meanwhile.
#[inline(always)]
unsafe fn mirrored<T: Entry>(entries: *const T, part: Part, rows: impl Rows<T>) {
    let tile = shared_array![T; (TILE * PITCH) as usize];
    let (lane, warp) = (warp::lane_id(), thread::thread_idx_x() / WARP_SIZE);
    let strip = thread::block_idx_x() * WARP_SIZE;
    let line = strip + lane;
    let present = line < part.width;
    let start = if present { part.column_start(line) } else { part.height };
    // SAFETY: entries from each column's start on are there and count. A column is one warp's between two barriers, and
    // a tile is read where it has been written, between barriers, too.
    unsafe {
        let entry = |i: u32| entries.add(i as usize * part.width as usize + line as usize).read();
        let mut limit = if present { rows.limit(part.column + line) } else { Limit::NONE };
        let mut first = part.column_start(strip);
        while first < part.height {
            let end = part.height.min(first + TILE);
            let mut any = false;
            let may_count = |i: u32| limit.allows(entry(i), part.row + first);
            if start <= first && first + TILE <= part.height {
                for k in 0..TILE / WARPS {
                    any |= may_count(first + k * WARPS + warp);
                }
            } else {
                for k in 0..TILE / WARPS {
                    let i = first + k * WARPS + warp;
                    any |= i >= start && i < end && may_count(i);
                }
            }
            if thread::sync_threads_or(any) {
                let mut i = first + warp;
                while i < end {
                    if i >= start {
                        tile.write(((i - first) * PITCH + lane) as usize, entry(i));
                    }
                    i += WARPS;
                }
                thread::sync_threads();
                let mut k = warp;
                while k < WARP_SIZE && strip + k < part.width {
                    let start = part.column_start(strip + k);
                    let mut row = rows.open(part.column + strip + k);
                    let mut group = first;
                    while group < end {
                        let i = group + lane;
                        let counts = i >= start && i < end;
                        let entry = if counts { tile.read(((i - first) * PITCH + k) as usize) } else { T::LAST };
                        rows.take(&mut row, entry, part.row + i, counts);
                        group += WARP_SIZE;
                    }
                    rows.close(row);
                    k += WARPS;
                }
                thread::sync_threads();
                if present {
                    limit = rows.limit(part.column + line);
                }
            }
            first += TILE;
        }
    }
}

/// The smallest entries of each row in ascending order, with their columns; of equal ones those in
/// the first columns. Entries that haven't been found yet have the greatest key and column.
struct Lists<T: Entry> {
    keys: *mut T::Key,
    columns: *mut u32,
    count: u32,
}

impl<T: Entry> Clone for Lists<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Entry> Copy for Lists<T> {}

/// Longest list in which one lane finds an entry's place as soon as a warp would.
const ALONE: u32 = 16;

/// A row's list: its place, and its last element.
#[derive(Clone, Copy)]
struct List<K> {
    first: usize,
    last: (K, u32),
}

impl<T: Entry> Lists<T> {
    /// The element at a place.
    ///
    /// # Safety
    /// There is such an element, and no other thread writes it meanwhile.
    #[inline(always)]
    unsafe fn at(self, place: usize) -> (T::Key, u32) {
        // SAFETY: there is such an element.
        unsafe { (self.keys.add(place).read(), self.columns.add(place).read()) }
    }

    /// Writes an element.
    ///
    /// # Safety
    /// There is such a place, and no other thread has it meanwhile.
    #[inline(always)]
    unsafe fn set(self, place: usize, (key, column): (T::Key, u32)) {
        // SAFETY: there is such a place.
        unsafe {
            self.keys.add(place).write(key);
            self.columns.add(place).write(column);
        }
    }

    /// Puts what comes before the last element of the list from `first` on in its place, and drops the last.
    ///
    /// # Safety
    /// A lane of the warp that has the list calls it, and the others wait.
    #[inline(always)]
    unsafe fn insert_alone(self, first: usize, found: (T::Key, u32)) {
        let mut place = first + self.count as usize - 1;
        // SAFETY: places from `first` to the last are the list's.
        unsafe {
            if self.at(place) <= found {
                return;
            }
            while place > first {
                let before = self.at(place - 1);
                if before <= found {
                    break;
                }
                self.set(place, before);
                place -= 1;
            }
            self.set(place, found);
        }
    }

    /// The same by all lanes, when it does come before the last element.
    ///
    /// # Safety
    /// All lanes of the warp that has the list call it, with the same arguments.
    #[inline(always)]
    unsafe fn insert(self, first: usize, found: (T::Key, u32)) {
        let lane = warp::lane_id();
        // From the end on, elements that come after move on by one place.
        let mut start = (self.count - 1) / WARP_SIZE * WARP_SIZE;
        // SAFETY: places below the count are the list's. An element is written where it, or an element of this turn or
        // of the one before, has been read; turns, and lists, are apart by `sync_warp`.
        unsafe {
            loop {
                let i = start + lane;
                let place = first + i as usize;
                let element = if i < self.count { self.at(place) } else { found };
                warp::sync_warp(FULL_MASK);
                if element >= found && i + 1 < self.count {
                    self.set(place + 1, element);
                }
                warp::sync_warp(FULL_MASK);
                let before = warp::ballot(FULL_MASK, element < found).count_ones();
                if before > 0 || start == 0 {
                    if lane == 0 {
                        self.set(first + (start + before) as usize, found);
                    }
                    break;
                }
                start -= WARP_SIZE;
            }
            warp::sync_warp(FULL_MASK);
        }
    }
}

impl<T: Entry> Rows<T> for Lists<T> {
    type Row = List<T::Key>;

    #[inline(always)]
    unsafe fn limit(self, row: u32) -> Limit<T> {
        // SAFETY: each row has `count` elements, at least one.
        let (key, column) = unsafe { self.at(row as usize * self.count as usize + self.count as usize - 1) };
        Limit { number: T::from_key(key), column }
    }

    #[inline(always)]
    unsafe fn open(self, row: u32) -> List<T::Key> {
        let first = row as usize * self.count as usize;
        // SAFETY: each row has `count` elements, at least one.
        List { first, last: unsafe { self.at(first + self.count as usize - 1) } }
    }

    #[inline(always)]
    unsafe fn take(self, row: &mut List<T::Key>, entry: T, column: u32, present: bool) {
        let found = (entry.key(), column);
        let mut waiting = warp::ballot(FULL_MASK, present && found < row.last);
        while waiting != 0 {
            let lane = waiting.trailing_zeros();
            // SAFETY: the warp has this row, and its lanes take turns.
            unsafe {
                // All have read the last element, where one may write.
                warp::sync_warp(FULL_MASK);
                if self.count <= ALONE {
                    if warp::lane_id() == lane {
                        self.insert_alone(row.first, found);
                    }
                    warp::sync_warp(FULL_MASK);
                } else {
                    let next = (warp::shuffle_idx(FULL_MASK, found.0, lane), warp::shuffle_idx(FULL_MASK, found.1, lane));
                    if next < row.last {
                        self.insert(row.first, next);
                    }
                }
                row.last = self.at(row.first + self.count as usize - 1);
            }
            waiting &= waiting - 1;
        }
    }

    #[inline(always)]
    unsafe fn close(self, _: List<T::Key>) {}
}

/// Keeps the smallest entries of a block's rows, with their columns. A warp for each row, in blocks of [`THREADS`].
///
/// # Safety
/// `entries` are the block's, and those that count have been written. For each row of the matrix
/// there are `count` keys and columns, at least one; at first all are the greatest there are.
/// Nothing else uses them meanwhile.
#[kernel(for T in [f32, f64], max_threads = 256)]
pub unsafe fn smallest<T: Entry>(entries: *const T, part: Part, count: u32, keys: *mut KeyOf<T>, columns: *mut u32) {
    // SAFETY: this kernel's contract is that of `straight`.
    unsafe { straight(entries, part, Lists::<T> { keys, columns, count }) }
}

/// Keeps the smallest entries of a block's columns as [`smallest()`] does those of rows. A block of [`THREADS`] for
/// each 32 columns.
///
/// # Safety
/// As for [`smallest()`], and the matrix is square.
#[kernel(for T in [f32, f64], max_threads = 256)]
pub unsafe fn smallest_mirrored<T: Entry>(entries: *const T, part: Part, count: u32, keys: *mut KeyOf<T>, columns: *mut u32) {
    // SAFETY: this kernel's contract is that of `mirrored`.
    unsafe { mirrored(entries, part, Lists::<T> { keys, columns, count }) }
}

/// Kinds of entries that are not finite, in bits.
pub const INFINITE: u32 = 1;
/// See [`INFINITE`].
pub const NEGATIVE_INFINITE: u32 = 2;
/// See [`INFINITE`].
pub const NAN: u32 = 4;

/// The sums of rows in fixed point: what entries have in units, split into the lower 32 bits and the rest.
#[derive(Clone, Copy)]
struct Sums {
    low: *mut u64,
    high: *mut i64,
    kinds: *mut u32,
    scale: f64,
}

/// A lane's part of a row's sum. A few entries of 50 bits per lane fit, also those of all lanes
/// together.
#[derive(Clone, Copy)]
struct Units {
    row: u32,
    units: i64,
    kinds: u32,
}

impl<T: Entry> Rows<T> for Sums {
    type Row = Units;

    #[inline(always)]
    unsafe fn limit(self, _: u32) -> Limit<T> {
        Limit::NONE
    }

    #[inline(always)]
    unsafe fn open(self, row: u32) -> Units {
        Units { row, units: 0, kinds: 0 }
    }

    #[inline(always)]
    unsafe fn take(self, row: &mut Units, entry: T, _column: u32, present: bool) {
        let entry = entry.wide();
        if !present {
            return;
        }
        if math::abs(entry) < f64::INFINITY {
            row.units += math::round_ties_even(entry * self.scale) as i64;
        } else if entry == f64::INFINITY {
            row.kinds |= INFINITE;
        } else if entry == -f64::INFINITY {
            row.kinds |= NEGATIVE_INFINITE;
        } else {
            row.kinds |= NAN;
        }
    }

    #[inline(always)]
    unsafe fn close(self, row: Units) {
        let units = collective::reduce(Lanes::FULL, row.units, Sum);
        let kinds = warp::reduce_or(FULL_MASK, row.kinds);
        if warp::lane_id() == 0 {
            let row = row.row as usize;
            // SAFETY: the row has a sum, which is this warp's.
            unsafe {
                *self.low.add(row) += units as u64 & u64::from(u32::MAX);
                *self.high.add(row) += units >> 32;
                *self.kinds.add(row) |= kinds;
            }
        }
    }
}

/// Adds the entries of a block's rows, in units of 1 / `scale`, to the sums of these rows. A warp for each row, in
/// blocks of [`THREADS`].
///
/// # Safety
/// `entries` are the block's, and those that count have been written. Each row of the matrix has an
/// element of the other arrays, which nothing else uses meanwhile.
#[kernel(for T in [f32, f64], max_threads = 256)]
pub unsafe fn sums<T: Entry>(entries: *const T, part: Part, scale: f64, low: *mut u64, high: *mut i64, kinds: *mut u32) {
    // SAFETY: this kernel's contract is that of `straight`.
    unsafe { straight(entries, part, Sums { low, high, kinds, scale }) }
}

/// Adds the entries of a block's columns as [`sums()`] does those of rows. A block of [`THREADS`] for each 32 columns.
///
/// # Safety
/// As for [`sums()`], and the matrix is square.
#[kernel(for T in [f32, f64], max_threads = 256)]
pub unsafe fn sums_mirrored<T: Entry>(entries: *const T, part: Part, scale: f64, low: *mut u64, high: *mut i64, kinds: *mut u32) {
    // SAFETY: this kernel's contract is that of `mirrored`.
    unsafe { mirrored(entries, part, Sums { low, high, kinds, scale }) }
}

/// Collects the entries of some rows of a block that are below a bound, with their places in the block, in no order. A
/// warp for each row from `first` on, in blocks of [`THREADS`].
///
/// `found` counts them; those beyond `capacity` are counted alone.
///
/// # Safety
/// `entries` are the block's, and those that count have been written. `places` and `values` have
/// `capacity` elements; nothing else uses them and `found` meanwhile.
#[kernel(for T in [f32, f64], max_threads = 256)]
#[allow(clippy::too_many_arguments)]
pub unsafe fn below<T: Entry>(
    entries: *const T,
    part: Part,
    first: u32,
    bound: T,
    capacity: u64,
    found: *mut u64,
    places: *mut u64,
    values: *mut T,
) {
    let (lane, warp) = (warp::lane_id(), thread::thread_idx_x() / WARP_SIZE);
    let line = first + thread::block_idx_x() * WARPS + warp;
    if line >= part.height {
        return;
    }
    // SAFETY: entries before a row's end are there and count; places below the capacity are there, and the counter
    // gives each to one thread.
    unsafe {
        let row = line as usize * part.width as usize;
        let end = part.row_end(line);
        let mut start = 0;
        while start < end {
            let mut mine = 0u32;
            for k in 0..TOGETHER {
                let at = start + k * WARP_SIZE + lane;
                mine += u32::from(at < end && entries.add(row + at as usize).read() < bound);
            }
            if warp::any(FULL_MASK, mine > 0) {
                let scan = collective::exclusive_scan(Lanes::FULL, mine, Sum);
                let mut place = 0;
                if lane == 0 {
                    place = atomic::device::fetch_add(found, u64::from(scan.total));
                }
                place = warp::shuffle_idx(FULL_MASK, place, 0) + u64::from(scan.prefix);
                for k in 0..TOGETHER {
                    let at = start + k * WARP_SIZE + lane;
                    if at >= end {
                        break;
                    }
                    let entry = entries.add(row + at as usize).read();
                    if entry < bound {
                        if place < capacity {
                            places.add(place as usize).write((row + at as usize) as u64);
                            values.add(place as usize).write(entry);
                        }
                        place += 1;
                    }
                }
            }
            start += TOGETHER * WARP_SIZE;
        }
    }
}

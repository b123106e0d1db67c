//! Reductions of the rows of a matrix that isn't stored: their smallest entries, the entries below
//! a bound, or their sums.
//!
//! Blocks are reduced on the device that computed them (`gpu_kernels::engine::rows`), and never
//! leave it. The devices' results are joined at the end. The outcome depends neither on the blocks
//! nor on the devices.

use std::ops::Range;
use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use gpu_kernels::engine::{
    place,
    rows::{self, ALL, INFINITE, KeyOf, NAN, NEGATIVE_INFINITE, Part, STRICT, THREADS, WARPS, WITH_DIAGONAL},
};
use rayon::prelude::*;

use super::{Block, Coverage, EngineError, Entry, Order, Writer, dense_len, op::check_block};
use crate::{
    device::{Buffer, Device, Stream, View, memory::memory},
    launch,
};

/// An entry that the engine's kernels exist for: `f32` or `f64`.
pub trait DeviceEntry:
    Entry
    + rows::Entry
    + place::Instance
    + rows::smallest::Instance
    + rows::smallest_mirrored::Instance
    + rows::sums::Instance
    + rows::sums_mirrored::Instance
    + rows::below::Instance
{
}

impl DeviceEntry for f32 {}
impl DeviceEntry for f64 {}

/// A matrix's rows can have so many numbers.
const MOST_ROWS: usize = i32::MAX as usize;

/// A block with its entries, which are in its device's memory.
#[derive(Clone, Copy, Debug)]
pub struct BlockEntries<'a, T: Entry> {
    /// The block, and which of its entries count. Unless all do, they count for the rows that they are mirrored to as
    /// well, but for those on the diagonal.
    pub part: Part,
    /// Its entries by rows. Entries that don't count may have any value.
    pub entries: View<'a, T>,
    /// One of a few numbers, which no block has that may be reduced meanwhile.
    pub slot: usize,
}

/// A reduction of a matrix's rows. Its result must not depend on the order of the blocks, nor on
/// their division among devices.
pub trait RowReducer<T: Entry>: Sync {
    /// A device's partial results for all rows.
    type State: Send;
    /// The final result.
    type Kept;

    /// The beginning, for so many rows.
    ///
    /// # Errors
    /// What the device reports, usually because its memory doesn't suffice.
    fn begin(&self, device: &Device, rows: usize) -> Result<Self::State, EngineError>;

    /// Enqueues the reduction of a block.
    fn reduce(&self, state: &mut Self::State, stream: &Stream, block: BlockEntries<'_, T>) -> Result<(), EngineError>;

    /// Takes from the device what a block came to, when its reduction is done.
    ///
    /// # Errors
    /// What the device reports, and [`OutOfMemory`](EngineError::OutOfMemory).
    fn collect(&self, state: &mut Self::State, block: BlockEntries<'_, T>) -> Result<(), EngineError> {
        _ = (state, block);
        Ok(())
    }

    /// Brings together what the devices have, when all is done.
    fn finish(&self, states: Vec<Self::State>) -> Result<Self::Kept, EngineError>;
}

/// Reduces the rows of a matrix as its blocks are computed, so that it is never there as a whole. Each entry of a
/// triangle counts for its row and, but for those on the diagonal, for the row that it is mirrored to.
#[derive(Debug)]
pub struct ByRows<T: Entry, R: RowReducer<T>> {
    reducer: R,
    shape: (usize, usize),
    /// [`ALL`], [`STRICT`] or [`WITH_DIAGONAL`].
    coverage: u32,
    devices: Vec<Device>,
    /// One for each device.
    states: Vec<Mutex<R::State>>,
}

impl<T: Entry, R: RowReducer<T>> ByRows<T, R> {
    /// Reduces a symmetric matrix of `n` x `n` that an engine with these devices computes. Without
    /// `diagonal`, diagonal entries don't count.
    ///
    /// # Errors
    /// [`TooLarge`](EngineError::TooLarge), and what [`RowReducer::begin`] reports.
    pub fn symmetric(devices: &[Device], n: usize, diagonal: bool, reducer: R) -> Result<Self, EngineError> {
        Self::new(devices, (n, n), if diagonal { WITH_DIAGONAL } else { STRICT }, reducer)
    }

    /// Reduces a matrix of `rows` x `cols`.
    pub fn full(devices: &[Device], rows: usize, cols: usize, reducer: R) -> Result<Self, EngineError> {
        Self::new(devices, (rows, cols), ALL, reducer)
    }

    fn new(devices: &[Device], shape: (usize, usize), coverage: u32, reducer: R) -> Result<Self, EngineError> {
        let (rows, cols) = shape;
        dense_len(rows, cols)?;
        if rows.max(cols) > MOST_ROWS {
            return Err(EngineError::TooLarge { rows, columns: cols });
        }
        let states = devices.iter().map(|device| reducer.begin(device, rows).map(Mutex::new)).collect::<Result<_, _>>()?;
        Ok(ByRows { reducer, shape, coverage, devices: devices.to_vec(), states })
    }

    /// The result, when all blocks have been computed.
    pub fn finish(self) -> Result<R::Kept, EngineError> {
        let states = self.states.into_iter().map(|state| state.into_inner().unwrap_or_else(PoisonError::into_inner));
        self.reducer.finish(states.collect())
    }

    fn state(&self, gpu: usize) -> MutexGuard<'_, R::State> {
        self.states[gpu].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn entries<'a>(&self, slot: usize, block: &Block, entries: View<'a, T>) -> Result<BlockEntries<'a, T>, EngineError> {
        check_block(block, self.shape, entries.len())?;
        // None is above `MOST_ROWS`.
        let part = Part {
            row: block.rows.start as u32,
            column: block.cols.start as u32,
            height: block.height() as u32,
            width: block.width() as u32,
            coverage: self.coverage,
        };
        Ok(BlockEntries { part, entries, slot })
    }

    /// Reduces a block on one of the devices.
    fn add(&self, gpu: usize, block: &Block, entries: &[T]) -> Result<(), EngineError> {
        check_block(block, self.shape, entries.len())?;
        let (entries, stream) = (self.devices[gpu].upload(entries)?, self.devices[gpu].stream()?);
        self.place(gpu, 0, &stream, block, entries.as_view())?;
        stream.synchronize()?;
        self.placed(gpu, 0, block, entries.as_view())
    }
}

impl<T: Entry, R: RowReducer<T>> Writer<T> for ByRows<T, R> {
    fn order(&self) -> Order {
        Order::RowMajor
    }

    fn coverage(&self) -> Coverage {
        if self.coverage == ALL { Coverage::Full } else { Coverage::LowerTriangle }
    }

    fn shape(&self) -> (usize, usize) {
        self.shape
    }

    fn scatter(&self, block: &Block, entries: &[T]) -> Result<(), EngineError> {
        if self.devices.is_empty() {
            return Err(EngineError::NoDevices);
        }
        self.add(0, block, entries)
    }

    fn devices(&self) -> &[Device] {
        &self.devices
    }

    fn place(&self, gpu: usize, slot: usize, stream: &Stream, block: &Block, entries: View<'_, T>) -> Result<(), EngineError> {
        let entries = self.entries(slot, block, entries)?;
        if entries.entries.is_empty() {
            return Ok(());
        }
        self.reducer.reduce(&mut self.state(gpu), stream, entries)
    }

    fn placed(&self, gpu: usize, slot: usize, block: &Block, entries: View<'_, T>) -> Result<(), EngineError> {
        let entries = self.entries(slot, block, entries)?;
        if entries.entries.is_empty() {
            return Ok(());
        }
        self.reducer.collect(&mut self.state(gpu), entries)
    }
}

/// A grid with a warp for each of so many rows.
fn warps(rows: u32) -> u32 {
    rows.div_ceil(WARPS)
}

/// A grid with a block for each 32 of so many columns.
fn strips(columns: u32) -> u32 {
    columns.div_ceil(32)
}

/// An error if results of so many bytes take more than half of the host's free memory.
fn affordable(requested: usize) -> Result<(), EngineError> {
    if requested > memory().free / 2 { Err(EngineError::OutOfMemory { requested }) } else { Ok(()) }
}

/// Keeps the smallest entries of each row, in ascending order; of equal ones those in the first columns. NaN comes
/// last.
///
/// The result has `count` entries and their columns for each row, padded with NaN and `u32::MAX` if
/// a row has fewer.
#[derive(Clone, Copy, Debug)]
pub struct Smallest {
    /// Number of entries to keep per row.
    pub count: usize,
}

/// The smallest entries of all rows on a device, and their columns.
#[derive(Debug)]
pub struct Lists<T: DeviceEntry> {
    keys: Buffer<KeyOf<T>>,
    columns: Buffer<u32>,
}

impl<T: DeviceEntry> RowReducer<T> for Smallest {
    type State = Lists<T>;
    type Kept = (Vec<T>, Vec<u32>);

    fn begin(&self, device: &Device, rows: usize) -> Result<Lists<T>, EngineError> {
        let len = dense_len(rows, self.count)?;
        affordable(len.saturating_mul(2 * (size_of::<T>() + size_of::<u32>())))?;
        let (mut keys, mut columns) = (device.alloc(len)?, device.alloc(len)?);
        let stream = device.stream()?;
        // The greatest there are.
        stream.fill(&mut keys, T::LAST.key())?;
        stream.fill(&mut columns, u32::MAX)?;
        stream.synchronize()?;
        Ok(Lists { keys, columns })
    }

    fn reduce(&self, lists: &mut Lists<T>, stream: &Stream, block: BlockEntries<'_, T>) -> Result<(), EngineError> {
        let BlockEntries { part, entries, .. } = block;
        // A longer list would have needed more memory than there is.
        let count = self.count as u32;
        if count == 0 {
            return Ok(());
        }
        let (keys, columns) = (&mut lists.keys, &mut lists.columns);
        // SAFETY: the entries are a block's of the matrix, by rows, and those that count have been
        // computed on this or an earlier stream. There are `count` keys and columns for each of the
        // matrix's rows. A matrix whose blocks are mirrored is square. The state is borrowed
        // mutably, and its uses are in the stream's order.
        unsafe {
            launch!(stream, rows::smallest::<T><<<warps(part.height), THREADS>>>(&entries, part, count, &mut *keys, &mut *columns))?;
            if part.coverage != ALL {
                let grid = strips(part.width);
                launch!(stream, rows::smallest_mirrored::<T><<<grid, THREADS>>>(&entries, part, count, keys, columns))?;
            }
        }
        Ok(())
    }

    fn finish(&self, states: Vec<Lists<T>>) -> Result<(Vec<T>, Vec<u32>), EngineError> {
        let mut lists = Vec::new();
        for Lists { keys, columns } in states {
            let stream = keys.device().stream()?;
            lists.push((stream.download_vec(&keys)?, stream.download_vec(&columns)?));
        }
        let mut lists = lists.into_iter();
        let Some((mut keys, mut columns)) = lists.next() else { return Err(EngineError::NoDevices) };
        let count = self.count.max(1);
        for (other_keys, other_columns) in lists {
            let mine = keys.par_chunks_mut(count).zip(columns.par_chunks_mut(count));
            let others = other_keys.par_chunks(count).zip(other_columns.par_chunks(count));
            mine.zip(others).for_each(|((keys, columns), (other_keys, other_columns))| {
                let pairs = |keys: &[KeyOf<T>], columns: &[u32]| -> Vec<_> {
                    keys.iter().copied().zip(columns.iter().copied()).collect()
                };
                let mut all = pairs(keys, columns);
                all.extend(pairs(other_keys, other_columns));
                all.sort_unstable();
                for ((key, column), found) in keys.iter_mut().zip(columns).zip(all) {
                    (*key, *column) = found;
                }
            });
        }
        Ok((keys.into_par_iter().map(T::from_key).collect(), columns))
    }
}

/// Keeps the entries of each row that are less than a bound: rows, columns and entries, by rows and columns.
#[derive(Debug)]
pub struct Below<T> {
    bound: T,
    /// Entries that a device reports at a time.
    capacity: usize,
    /// Bytes of the entries found so far, and their limit.
    kept: AtomicUsize,
    most: usize,
}

/// The entries found on a device.
#[derive(Debug)]
pub struct FoundBelow<T: Entry> {
    stream: Stream,
    /// One for each slot.
    reports: Vec<BelowReport<T>>,
    found: Vec<(u32, u32, T)>,
}

/// The entries that a block reports.
#[derive(Debug)]
struct BelowReport<T: Entry> {
    count: Buffer<u64>,
    places: Buffer<u64>,
    values: Buffer<T>,
}

impl<T: DeviceEntry> Below<T> {
    /// Keeps entries less than `bound`. It is an error if they take more than half of the host's free memory.
    pub fn new(bound: T) -> Self {
        Below { bound, capacity: 1 << 20, kept: AtomicUsize::new(0), most: memory().free / 2 }
    }

    /// Has entries in some of a block's rows reported.
    fn search(
        &self,
        report: &mut BelowReport<T>,
        stream: &Stream,
        block: BlockEntries<'_, T>,
        lines: Range<u32>,
    ) -> Result<(), EngineError> {
        let BlockEntries { part, entries, .. } = block;
        let BelowReport { count, places, values } = report;
        let (capacity, part) = (places.len().min(values.len()) as u64, Part { height: lines.end, ..part });
        stream.fill_zero(&mut *count)?;
        // SAFETY: the entries are a block's of the matrix, by rows, and those that count have been computed on this or
        // an earlier stream. There is one counter, and room for `capacity` elements.
        unsafe {
            launch!(stream, rows::below::<T><<<warps(lines.end - lines.start), THREADS>>>(
                &entries, part, lines.start, self.bound, capacity, count, places, values
            ))?;
        }
        Ok(())
    }
}

impl<T: Entry> BelowReport<T> {
    fn new(device: &Device) -> Result<Self, EngineError> {
        Ok(BelowReport { count: device.alloc(1)?, places: device.empty(), values: device.empty() })
    }

    /// Number of entries found, including those that didn't fit.
    fn count(&self, stream: &Stream) -> Result<usize, EngineError> {
        let mut count = [0];
        stream.download(&self.count, &mut count)?;
        Ok(count[0] as usize)
    }
}

impl<T: Entry> FoundBelow<T> {
    /// Takes what a slot has of a block.
    fn take(&mut self, slot: usize, count: usize, part: Part) -> Result<(), EngineError> {
        let BelowReport { places, values, .. } = &self.reports[slot];
        let places = self.stream.download_vec(places.view(..count)?)?;
        let values = self.stream.download_vec(values.view(..count)?)?;
        let width = u64::from(part.width);
        let requested = 2 * count * size_of::<(u32, u32, T)>();
        self.found.try_reserve(2 * count).map_err(|_| EngineError::OutOfMemory { requested })?;
        for (place, value) in places.into_iter().zip(values) {
            let (row, column) = (part.row + (place / width) as u32, part.column + (place % width) as u32);
            self.found.push((row, column, value));
            if part.coverage != ALL && row != column {
                self.found.push((column, row, value));
            }
        }
        Ok(())
    }
}

impl<T: DeviceEntry> RowReducer<T> for Below<T> {
    type State = FoundBelow<T>;
    type Kept = Vec<(u32, u32, T)>;

    fn begin(&self, device: &Device, _rows: usize) -> Result<FoundBelow<T>, EngineError> {
        Ok(FoundBelow { stream: device.stream()?, reports: Vec::new(), found: Vec::new() })
    }

    fn reduce(&self, state: &mut FoundBelow<T>, stream: &Stream, block: BlockEntries<'_, T>) -> Result<(), EngineError> {
        while state.reports.len() <= block.slot {
            state.reports.push(BelowReport::new(stream.device())?);
        }
        let report = &mut state.reports[block.slot];
        // At least a row at a time.
        let capacity = self.capacity.max(block.part.width as usize);
        report.places.ensure(capacity)?;
        report.values.ensure(capacity)?;
        self.search(report, stream, block, 0..block.part.height)
    }

    fn collect(&self, state: &mut FoundBelow<T>, block: BlockEntries<'_, T>) -> Result<(), EngineError> {
        let BlockEntries { part, slot, .. } = block;
        let before = state.found.len();
        let count = state.reports[slot].count(&state.stream)?;
        let capacity = state.reports[slot].places.len();
        if count <= capacity {
            state.take(slot, count, part)?;
        } else {
            // So few rows at a time that there is room for all of their entries.
            let lines = (capacity / part.width as usize).max(1);
            for start in (0..part.height).step_by(lines) {
                let end = part.height.min(start.saturating_add(lines as u32));
                self.search(&mut state.reports[slot], &state.stream, block, start..end)?;
                let count = state.reports[slot].count(&state.stream)?;
                state.take(slot, count, part)?;
            }
        }
        let grown = (state.found.len() - before) * size_of::<(u32, u32, T)>();
        let requested = self.kept.fetch_add(grown, Relaxed) + grown;
        if requested > self.most { Err(EngineError::OutOfMemory { requested }) } else { Ok(()) }
    }

    fn finish(&self, states: Vec<FoundBelow<T>>) -> Result<Self::Kept, EngineError> {
        let mut states = states.into_iter().map(|state| state.found);
        let mut found = states.next().unwrap_or_default();
        found.extend(states.flatten());
        found.par_sort_unstable_by_key(|&(row, column, _)| (row, column));
        Ok(found)
    }
}

/// Sums each row's entries in fixed point, so that the order of the terms has no influence.
#[derive(Clone, Copy, Debug)]
pub struct Sums {
    /// Factor of entries before they are rounded to whole numbers: a power of two.
    scale: f64,
}

/// The sums of all rows on a device, in units of the [`Sums`]' scale: the lower 32 bits of the terms, what is above
/// them, and which terms are not finite.
#[derive(Debug)]
pub struct FixedPoint {
    low: Buffer<u64>,
    high: Buffer<i64>,
    kinds: Buffer<u32>,
}

impl Sums {
    /// Bits that an entry has in fixed point.
    const BITS: i32 = 50;

    /// The least bound whose scale is a number.
    const LEAST: f64 = f64::MIN_POSITIVE * (1u64 << 60) as f64;

    /// For entries whose magnitude is at most `bound` if they are finite. Each is rounded by at most 2^-50 of the
    /// bound, or of 2^-962 if that is larger.
    pub fn up_to(bound: f64) -> Self {
        // A power of two that is at least the bound: no entry exceeds 2^50 units.
        let exponent = bound.clamp(Self::LEAST, f64::MAX).log2().ceil() as i32;
        Sums { scale: 2f64.powi(Self::BITS - exponent) }
    }

    /// The sum of a row.
    fn value(&self, units: i128, kinds: u32) -> f64 {
        match (kinds & INFINITE != 0, kinds & NEGATIVE_INFINITE != 0) {
            _ if kinds & NAN != 0 => f64::NAN,
            (true, true) => f64::NAN,
            (true, false) => f64::INFINITY,
            (false, true) => f64::NEG_INFINITY,
            (false, false) => units as f64 / self.scale,
        }
    }
}

impl<T: DeviceEntry> RowReducer<T> for Sums {
    type State = FixedPoint;
    type Kept = Vec<f64>;

    fn begin(&self, device: &Device, rows: usize) -> Result<FixedPoint, EngineError> {
        affordable(rows.saturating_mul(64))?;
        Ok(FixedPoint { low: device.alloc_zeroed(rows)?, high: device.alloc_zeroed(rows)?, kinds: device.alloc_zeroed(rows)? })
    }

    fn reduce(&self, sums: &mut FixedPoint, stream: &Stream, block: BlockEntries<'_, T>) -> Result<(), EngineError> {
        let BlockEntries { part, entries, .. } = block;
        let FixedPoint { low, high, kinds } = sums;
        let (rows, columns) = (warps(part.height), strips(part.width));
        // SAFETY: the entries are a block's of the matrix, by rows, and those that count have been
        // computed on this or an earlier stream. Each array has an element for each of the matrix's
        // rows. A matrix whose blocks are mirrored is square. The state is borrowed mutably, and
        // its uses are in the stream's order.
        unsafe {
            launch!(stream, rows::sums::<T><<<rows, THREADS>>>(&entries, part, self.scale, &mut *low, &mut *high, &mut *kinds))?;
            if part.coverage != ALL {
                launch!(stream, rows::sums_mirrored::<T><<<columns, THREADS>>>(&entries, part, self.scale, low, high, kinds))?;
            }
        }
        Ok(())
    }

    fn finish(&self, states: Vec<FixedPoint>) -> Result<Vec<f64>, EngineError> {
        let mut sums: Vec<(i128, u32)> = Vec::new();
        for FixedPoint { low, high, kinds } in states {
            let stream = low.device().stream()?;
            let (low, high) = (stream.download_vec(&low)?, stream.download_vec(&high)?);
            let kinds = stream.download_vec(&kinds)?;
            sums.resize(low.len(), (0, 0));
            for (sum, ((low, high), kinds)) in sums.iter_mut().zip(low.into_iter().zip(high).zip(kinds)) {
                sum.0 += (i128::from(high) << 32) + i128::from(low);
                sum.1 |= kinds;
            }
        }
        Ok(sums.into_iter().map(|(units, kinds)| self.value(units, kinds)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::BlockScheduler;

    /// An entry of a symmetric matrix, some of them equal.
    fn entry(row: usize, column: usize) -> f64 {
        let (a, b) = (row.min(column), row.max(column));
        ((a * 31 + b * 17) % 29) as f64 / 4.0
    }

    /// Gives a writer its blocks of this side, in turns to its devices, the last ones first if `backwards`.
    fn fill<R: RowReducer<f64>>(writer: &ByRows<f64, R>, side: usize, backwards: bool) {
        let (rows, cols) = writer.shape();
        let mut blocks = BlockScheduler::new(writer.coverage(), rows, cols, side).unwrap().blocks().to_vec();
        if backwards {
            blocks.reverse();
        }
        for (i, block) in blocks.iter().enumerate() {
            let computed = |(row, column): (usize, usize)| match writer.coverage {
                STRICT if column >= row => 0.0,
                WITH_DIAGONAL if column > row => 0.0,
                _ => entry(row, column),
            };
            let entries: Vec<_> =
                block.rows.clone().flat_map(|row| block.cols.clone().map(move |column| (row, column))).map(computed).collect();
            writer.add(i % writer.devices.len(), block, &entries).unwrap();
        }
    }

    /// The entries of a row as [`ByRows`] is to see them.
    fn row(row: usize, columns: usize, skipped: Option<usize>) -> Vec<(f64, u32)> {
        (0..columns).filter(|&column| Some(column) != skipped).map(|column| (entry(row, column), column as u32)).collect()
    }

    fn devices(count: usize) -> Vec<Device> {
        (0..count).map(|_| Device::cpu()).collect()
    }

    #[test]
    fn rows_are_reduced_whatever_the_blocks() {
        for (rows, cols, triangle, diagonal) in [
            (1, 1, true, false),
            (1, 1, true, true),
            (70, 70, true, false),
            (130, 130, true, true),
            (3, 600, false, true),
            (200, 3, false, true),
        ] {
            for (side, backwards, gpus) in [(1000, false, 1), (64, true, 1), (37, false, 3), (17, true, 2)] {
                let what = format!("{rows} x {cols} in blocks of {side}");
                let devices = devices(gpus);
                let expected = |i| row(i, cols, (triangle && !diagonal).then_some(i));
                macro_rules! reduced {
                    ($reducer:expr) => {{
                        let reducer = $reducer;
                        let writer = if triangle {
                            ByRows::<f64, _>::symmetric(&devices, rows, diagonal, reducer).unwrap()
                        } else {
                            ByRows::full(&devices, rows, cols, reducer).unwrap()
                        };
                        fill(&writer, side, backwards);
                        writer.finish().unwrap()
                    }};
                }
                for count in [1, 5, 40] {
                    let (values, columns) = reduced!(Smallest { count });
                    for i in 0..rows {
                        let mut expected = expected(i);
                        expected.sort_by(|a, b| a.partial_cmp(b).unwrap());
                        expected.truncate(count);
                        let found = i * count..i * count + expected.len();
                        let found = found.map(|k| (values[k], columns[k]));
                        assert!(found.eq(expected.iter().copied()), "{count} of row {i} of {what}");
                        assert!(columns[i * count + expected.len()..(i + 1) * count].iter().all(|&column| column == u32::MAX));
                    }
                }
                // Some of a block's rows at a time, as a device has room for 100.
                for capacity in [100, 1 << 20] {
                    let found = reduced!(Below { capacity, ..Below::new(1.5) });
                    let expected = (0..rows).flat_map(|i| {
                        expected(i).into_iter().filter(|&(entry, _)| entry < 1.5).map(move |(entry, j)| (i as u32, j, entry))
                    });
                    assert!(found.into_iter().eq(expected), "{what}");
                }
                let sums: Vec<f64> = reduced!(Sums::up_to(7.0));
                // Quarters have no rounding.
                let expected = (0..rows).map(|i| expected(i).iter().map(|(entry, _)| entry).sum::<f64>());
                assert!(sums.into_iter().eq(expected), "{what}");
            }
        }
    }

    /// The result for a matrix of one row.
    fn of_row<T: DeviceEntry, R: RowReducer<T>>(reducer: R, entries: &[T]) -> R::Kept {
        let writer = ByRows::full(&devices(1), 1, entries.len(), reducer).unwrap();
        writer.scatter(&Block { rows: 0..1, cols: 0..entries.len() }, entries).unwrap();
        writer.finish().unwrap()
    }

    #[test]
    fn entries_that_are_not_finite() {
        let entries = [f64::NAN, f64::INFINITY, 1.0, -f64::NAN, 1.0, -0.0, f64::NEG_INFINITY, 0.0, -2.5];
        let (values, columns) = of_row(Smallest { count: 9 }, &entries);
        assert_eq!(columns, [6, 8, 5, 7, 2, 4, 1, 0, 3]);
        assert_eq!(values[..7], [f64::NEG_INFINITY, -2.5, 0.0, 0.0, 1.0, 1.0, f64::INFINITY]);
        assert!(values[7].is_nan() && values[8].is_nan());
        assert_eq!(of_row(Smallest { count: 2 }, &entries).1, [6, 8]);
        let single = entries.map(|entry| entry as f32);
        assert_eq!(of_row(Smallest { count: 9 }, &single).1, columns);

        let sum = |entries: &[f64]| of_row(Sums::up_to(4.0), entries)[0];
        assert_eq!((sum(&[1.0, 2.5]), sum(&[1.0, f64::INFINITY, 2.5])), (3.5, f64::INFINITY));
        assert_eq!(sum(&[-1.5, -2.25]), -3.75);
        assert!(sum(&[f64::INFINITY, f64::NEG_INFINITY]).is_nan() && sum(&[f64::NAN, 1.0]).is_nan());
        assert_eq!(sum(&[4.0; 10_000]), 40_000.0);
    }

    #[test]
    fn scales_of_sums() {
        for bound in [0.0, f64::MIN_POSITIVE, 1e-300, 1.0, 3.0, 1e300, f64::MAX, f64::INFINITY] {
            let sums = Sums::up_to(bound);
            assert!(sums.scale.is_finite() && sums.scale > 0.0);
            let entry = bound.min(1e308);
            let sum = of_row(sums, &[entry, entry / 3.0, -entry / 3.0])[0];
            assert!((sum - entry).abs() <= entry.max(Sums::LEAST) * 2f64.powi(-49), "{bound}");
        }
    }

    #[test]
    fn blocks_that_are_not_of_the_matrix() {
        let writer = ByRows::<f64, _>::full(&devices(1), 2, 3, Smallest { count: 1 }).unwrap();
        assert!(matches!(writer.scatter(&Block { rows: 0..3, cols: 0..1 }, &[0.0; 3]), Err(EngineError::BlockOutside { .. })));
        assert!(matches!(writer.scatter(&Block { rows: 0..2, cols: 0..1 }, &[0.0; 3]), Err(EngineError::BlockLength { .. })));
        ByRows::<f64, _>::full(&devices(1), 1, (1 << 31) - 1, Smallest { count: 1 }).unwrap();
        let huge = ByRows::<f64, _>::full(&devices(1), 1, 1 << 31, Smallest { count: 1 }).unwrap_err();
        assert_eq!(huge, EngineError::TooLarge { rows: 1, columns: 1 << 31 });
        let long = ByRows::<f64, _>::full(&devices(1), 1 << 30, 1 << 30, Smallest { count: 1 << 30 }).unwrap_err();
        assert!(matches!(long, EngineError::OutOfMemory { .. }), "{long}");
    }

    #[test]
    fn memory_is_bounded() {
        let below = Below { most: 100_000, ..Below::new(1.0) };
        let writer = ByRows::<f64, _>::full(&devices(1), 2, 4096, below).unwrap();
        let scatter = |start: usize| writer.scatter(&Block { rows: 0..2, cols: start..start + 2048 }, &[0.0; 4096]);
        assert_eq!(scatter(0), Ok(()));
        assert!(matches!(scatter(2048), Err(EngineError::OutOfMemory { requested }) if requested > 100_000));
    }
}

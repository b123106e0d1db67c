//! The block engine against plain double loops.

use std::cmp::Reverse;
use std::fmt::Debug;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::{thread, time::Duration};

use proptest::prelude::*;
use proptest::sample::{Index, select};
use rayon::prelude::*;
use warpsmith::device::{Device, Stream};
use warpsmith::engine::*;
use warpsmith::io::files::Destination;

fn coverages() -> impl Strategy<Value = (Coverage, usize, usize)> {
    let full = (0..70usize, 0..70usize).prop_map(|(rows, cols)| (Coverage::Full, rows, cols));
    let triangle = (0..70usize).prop_map(|n| (Coverage::LowerTriangle, n, n));
    prop_oneof![full, triangle]
}

fn wanted(coverage: Coverage, row: usize, column: usize) -> bool {
    coverage == Coverage::Full || row >= column
}

fn entries(block: &Block) -> impl Iterator<Item = (usize, usize)> + use<> {
    let cols = block.cols.clone();
    block.rows.clone().flat_map(move |row| cols.clone().map(move |column| (row, column)))
}

fn work(coverage: Coverage, block: &Block) -> usize {
    entries(block).filter(|&(row, column)| wanted(coverage, row, column)).count()
}

proptest! {
    #[test]
    fn blocks_tile_what_is_wanted((coverage, rows, cols) in coverages(), side in 0..25usize) {
        let scheduler = BlockScheduler::new(coverage, rows, cols, side).unwrap();
        let mut times = vec![0; rows * cols];
        for block in scheduler.blocks() {
            prop_assert!(block.height() <= side.max(1) && block.width() <= side.max(1));
            prop_assert!(work(coverage, block) > 0, "{block} has nothing to compute");
            // A block with skipped entries has the matrix's diagonal as its own.
            prop_assert!(block.is_diagonal() || work(coverage, block) == block.entries());
            entries(block).for_each(|(row, column)| times[row * cols + column] += 1);
        }
        for row in 0..rows {
            for column in 0..cols {
                let times = times[row * cols + column];
                prop_assert!(times == 1 || times == 0 && !wanted(coverage, row, column), "({row}, {column}): {times}");
            }
        }
        let order: Vec<_> = scheduler.blocks().iter().map(|b| (Reverse(work(coverage, b)), b.rows.start, b.cols.start)).collect();
        prop_assert!(order.is_sorted());
        prop_assert_eq!(scheduler.work(), order.iter().map(|(work, ..)| work.0).sum::<usize>());
        prop_assert_eq!(scheduler.max_entries(), scheduler.blocks().iter().map(|b| entries(b).count()).max().unwrap_or(0));
    }

    #[test]
    fn bands_are_consecutive(side in 0..50usize, n in 0..500usize) {
        let bands = subdivide(side, n);
        prop_assert!(bands.iter().flat_map(|band| band.clone()).eq(0..n));
        prop_assert!(bands.iter().rev().skip(1).all(|band| band.len() == side.max(1)));
        prop_assert!(bands.last().is_none_or(|band| (1..=side.max(1)).contains(&band.len())));
    }

    #[test]
    fn work_is_what_is_computed(rows in (0..40usize, 0..40usize), cols in (0..40usize, 0..40usize)) {
        let block = Block { rows: rows.0..rows.0 + rows.1, cols: cols.0..cols.0 + cols.1 };
        for coverage in [Coverage::Full, Coverage::LowerTriangle] {
            prop_assert_eq!(coverage.work(&block), work(coverage, &block));
        }
    }

    #[test]
    fn sides_keep_to_their_rule(max in 0..20_000usize, splits in 1..40usize, floor in 0..100usize, rows in 0..200usize, cols in 0..200usize) {
        let side = SideRule { max_output_elements: max, splits_hint: splits, min_block_side: floor }.block_side(rows, cols);
        // The largest side with which this many blocks fit.
        let fits = |blocks: usize| (0..).take_while(|side| side * side * blocks <= max).last().unwrap();
        let expected = fits(splits).max(floor).min(fits(2)).min(rows.max(cols)).max(1);
        prop_assert_eq!(side, expected);
    }

    #[test]
    fn overlapping_blocks_share_entries(numbers in prop::array::uniform8(0..12usize)) {
        let [a, b, c, d, e, f, g, h] = numbers;
        let one = Block { rows: a..a + b, cols: c..c + d };
        let other = Block { rows: e..e + f, cols: g..g + h };
        let shared = entries(&one).any(|entry| entries(&other).any(|other| entry == other));
        prop_assert_eq!((one.overlaps(&other), other.overlaps(&one)), (shared, shared));
    }
}

/// An output of each layout, and what blocks compute of it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Output {
    layout: Layout,
    coverage: Coverage,
    diagonal: bool,
}

const fn lower(layout: Layout, diagonal: bool) -> Output {
    Output { layout, coverage: Coverage::LowerTriangle, diagonal }
}

const FULL: Output = Output { layout: Layout::Dense, coverage: Coverage::Full, diagonal: true };

const OUTPUTS: [Output; 6] = [
    lower(Layout::Condensed, false),
    lower(Layout::Packed, false),
    lower(Layout::Packed, true),
    lower(Layout::Dense, false),
    lower(Layout::Dense, true),
    FULL,
];

impl Output {
    fn writer<T: Entry>(self, rows: usize, cols: usize, output: &mut [T]) -> Result<HostMatrix<'_, T>, EngineError> {
        match self.coverage {
            Coverage::Full => HostMatrix::full(rows, cols, output),
            Coverage::LowerTriangle => HostMatrix::symmetric(self.layout, rows, self.diagonal, output),
        }
    }

    /// True if a block computes the entry.
    fn computes(self, row: usize, column: usize) -> bool {
        self.coverage == Coverage::Full || row > column || self.diagonal && row == column
    }

    /// The whole output, by a double loop.
    fn expected<T: Value>(self, rows: usize, cols: usize) -> Vec<T> {
        let mut output = Vec::new();
        for row in 0..rows {
            for column in 0..cols {
                match (self.layout, self.coverage) {
                    // SciPy's: the upper triangle by rows.
                    (Layout::Condensed, _) if column > row => output.push(T::of(column, row)),
                    (Layout::Packed, _) if column > row => {}
                    (Layout::Condensed, _) => {}
                    (_, Coverage::LowerTriangle) if row == column && !self.diagonal => output.push(T::ZERO),
                    (_, Coverage::LowerTriangle) => output.push(T::of(row.max(column), row.min(column))),
                    (_, Coverage::Full) => output.push(T::of(row, column)),
                }
            }
        }
        output
    }

    fn entries<T: Value>(self, block: &Block, order: Order) -> Vec<T> {
        let mut values = vec![T::ZERO; block.entries()];
        for (row, column) in entries(block).filter(|&(row, column)| self.computes(row, column)) {
            let (r, c) = (row - block.rows.start, column - block.cols.start);
            let at = if order == Order::RowMajor { r * block.width() + c } else { c * block.height() + r };
            values[at] = T::of(row, column);
        }
        values
    }
}

/// Values that tell which entry they are.
trait Value: Entry + Debug {
    const ZERO: Self;
    const UNWRITTEN: Self;
    const NOT_ZERO: Self;
    fn of(row: usize, column: usize) -> Self;
}

macro_rules! values {
    ($($type:ty, $unwritten:expr, $not_zero:expr;)*) => {$(
        impl Value for $type {
            const ZERO: Self = 0 as $type;
            const UNWRITTEN: Self = $unwritten;
            const NOT_ZERO: Self = $not_zero;

            fn of(row: usize, column: usize) -> Self {
                (row * 2048 + column + 1) as $type
            }
        }
    )*};
}
values! {
    f32, -1.0, f32::MIN_POSITIVE;
    f64, -1.0, f64::NAN;
    u32, u32::MAX, 7;
}

/// Writes all blocks of a matrix, in parallel, and compares the output with the double loop's.
fn all_blocks<T: Value>(case: Output, rows: usize, cols: usize, side: usize, rotate: usize) {
    let cols = if case == FULL { cols } else { rows };
    let expected: Vec<T> = case.expected(rows, cols);
    let mut output = vec![T::UNWRITTEN; expected.len()];
    let writer = case.writer(rows, cols, &mut output).unwrap();
    assert_eq!(writer.shape(), (rows, cols));
    let scheduler = BlockScheduler::new(writer.coverage(), rows, cols, side).unwrap();
    let mut blocks = scheduler.blocks().to_vec();
    let len = blocks.len().max(1);
    blocks.rotate_left(rotate % len);
    blocks.par_iter().for_each(|block| writer.scatter(block, &case.entries(block, writer.order())).unwrap());
    drop(writer);
    for (i, (found, expected)) in output.iter().zip(&expected).enumerate() {
        assert_eq!(found, expected, "{case:?} of {rows} x {cols} by {side}: element {i}");
    }
}

proptest! {
    #[test]
    fn every_entry_has_its_place(
        case in select(&OUTPUTS), rows in 0..90usize, cols in 0..90usize, side in 1..60usize, rotate in any::<usize>(),
    ) {
        all_blocks::<f32>(case, rows, cols, side, rotate);
        all_blocks::<f64>(case, rows, cols, side, rotate);
        all_blocks::<u32>(case, rows, cols, side, rotate);
    }

    /// The first in a block is named.
    #[test]
    fn an_entry_that_must_not_be_computed(
        case in select(&OUTPUTS[..5]), n in 1..90usize, side in 1..60usize, bad in prop::collection::vec(any::<Index>(), 1..6),
    ) {
        bad_entries::<f32>(case, n, side, &bad);
        bad_entries::<f64>(case, n, side, &bad);
    }

    #[test]
    fn the_outputs_length_is_checked(case in select(&OUTPUTS), rows in 0..60usize, cols in 0..60usize, more in any::<bool>()) {
        let cols = if case == FULL { cols } else { rows };
        let expected = case.expected::<u32>(rows, cols).len();
        let found = if more || expected == 0 { expected + 1 } else { expected - 1 };
        let mut output = vec![0u32; found];
        let symmetric = case.layout == Layout::Dense && case != FULL;
        let layout = if symmetric { "symmetric" } else { case.layout.name() };
        let error = case.writer(rows, cols, &mut output).err();
        prop_assert_eq!(error, Some(EngineError::OutputLength { layout, rows, columns: cols, expected, found }));
    }
}

fn bad_entries<T: Value>(case: Output, n: usize, side: usize, bad: &[Index]) {
    let mut output = vec![T::UNWRITTEN; case.expected::<T>(n, n).len()];
    let writer = case.writer(n, n, &mut output).unwrap();
    let scheduler = BlockScheduler::new(writer.coverage(), n, n, side).unwrap();
    let skipped: Vec<_> =
        scheduler.blocks().iter().flat_map(entries).filter(|&(row, column)| !case.computes(row, column)).collect();
    if skipped.is_empty() {
        return;
    }
    let bad: Vec<_> = bad.iter().map(|bad| *bad.get(&skipped)).collect();
    for block in scheduler.blocks() {
        let mut values: Vec<T> = case.entries(block, writer.order());
        let mut within: Vec<_> = entries(block).filter(|entry| bad.contains(entry)).collect();
        within.iter().for_each(|&(row, column)| values[writer.order().index(block, row, column)] = T::NOT_ZERO);
        within.sort_unstable();
        let value = T::NOT_ZERO.to_string();
        let expected = within.first().map_or(Ok(()), |&(row, column)| Err(EngineError::NotZero { row, column, value }));
        assert_eq!(writer.scatter(block, &values), expected, "{case:?} of {n} x {n}, the block of {block}");
    }
}

#[test]
fn a_bad_entry_in_words() {
    let mut output = [0.0f64; 1];
    let error = HostMatrix::symmetric(Layout::Condensed, 2, false, &mut output)
        .unwrap()
        .scatter(&Block { rows: 0..2, cols: 0..2 }, &[0.0, 3.0, 0.0, 0.25]);
    let text = "entry (1, 1) is skipped by this computation and must be zero, but it is 0.25: the kernel is at fault";
    assert_eq!(error.unwrap_err().to_string(), text);
}

/// Sizes large enough that lines are cut into tasks, and matrices into several pieces of tiles.
#[test]
fn large_blocks() {
    for case in OUTPUTS {
        for (n, side) in [(1300, 1300), (1301, 700), (1024, 512)] {
            all_blocks::<f32>(case, n, n, side, 1);
        }
    }
    all_blocks::<f64>(FULL, 1, 400_000, 400_000, 0);
    all_blocks::<u32>(FULL, 3, 700_000, 400_000, 0);
}

/// Columns of blocks that a triangle has only parts of, which the scheduler doesn't make.
#[test]
fn blocks_across_the_diagonal() {
    let n = 50;
    for case in &OUTPUTS[..5] {
        let expected: Vec<f64> = case.expected(n, n);
        let mut output = vec![f64::UNWRITTEN; expected.len()];
        let writer = case.writer(n, n, &mut output).unwrap();
        for rows in [0..7, 7..20, 20..50] {
            for cols in [0..11, 11..45, 45..50] {
                let block = Block { rows: rows.clone(), cols };
                writer.scatter(&block, &case.entries(&block, writer.order())).unwrap();
            }
        }
        drop(writer);
        assert_eq!(output, expected, "{case:?}");
    }
}

/// A large file's room is taken while an engine is prepared.
#[test]
fn room_is_taken_meanwhile() -> Result<(), EngineError> {
    let in_memory = tempfile::tempdir_in("/dev/shm").ok();
    for directory in in_memory.into_iter().chain(tempfile::tempdir()) {
        let path = directory.path().join("d.npy");
        let (rows, cols) = (2900, 3000);
        let begun = PartialMatrix::<f64>::begin(Destination::prepare(&path)?, &[rows, cols], None, Parts::default())?;
        let engine = Engine::new([Device::cpu()])?;
        let op = Numbers::new(|_| {});
        engine.prepare(&op, (rows, cols), Coverage::Full)?;
        let mut matrix = begun.open(&engine.schedule(&op, (rows, cols), Coverage::Full)?)?;
        engine.run(&op, &HostMatrix::full(rows, cols, matrix.parts().0)?, Control::default())?;
        matrix.finish()?;
        let read: ndarray::Array2<f64> = ndarray_npy::read_npy(&path).unwrap();
        assert!(read.indexed_iter().all(|((row, column), &value)| value == (1000 * row + column) as f64));
    }
    Ok(())
}

/// Entries that are their row's number times a thousand and their column's; a block's computation starts with `before`.
struct Numbers<F: Fn(&Block) + Sync> {
    before: F,
    /// Two streams compute in turns.
    resident: bool,
}

impl<F: Fn(&Block) + Sync> Numbers<F> {
    fn new(before: F) -> Self {
        Numbers { before, resident: false }
    }
}

impl<F: Fn(&Block) + Sync> BlockOp for Numbers<F> {
    type Value = f64;
    type Storage = ();

    fn data_bytes(&self, rows: &Range<usize>, cols: &Range<usize>) -> usize {
        8 * (rows.len() + cols.len())
    }

    fn storage(&self, _: &Device, _: &BlockScheduler, _: usize, _: Option<()>) -> Result<(), EngineError> {
        Ok(())
    }

    fn is_resident(&self, (): &()) -> bool {
        self.resident
    }

    fn run(&self, (): &mut (), stream: &Stream, block: &Block, target: Target<'_, f64>) -> Result<(), EngineError> {
        (self.before)(block);
        let mut values = vec![0.0; block.entries()];
        let (row_stride, col_stride) = target.strides(block);
        for (row, column) in entries(block) {
            let place = (row - block.rows.start) * row_stride + (column - block.cols.start) * col_stride;
            values[place] = (1000 * row + column) as f64;
        }
        Ok(stream.upload(target.entries, &values)?)
    }
}

fn numbers(engine: &Engine, before: impl Fn(&Block) + Sync) -> Result<Report, EngineError> {
    let mut out = vec![f64::NAN; 70 * 30];
    let report = engine.run(&Numbers::new(before), &HostMatrix::full(70, 30, &mut out)?, Control::default())?;
    assert!(out.iter().enumerate().all(|(place, &value)| value == (place / 30 * 1000 + place % 30) as f64));
    Ok(report)
}

/// Prepared storage is used.
#[test]
fn prepared_once() -> Result<(), EngineError> {
    struct Counted(AtomicUsize);

    impl BlockOp for Counted {
        type Value = f64;
        type Storage = usize;

        fn data_bytes(&self, _: &Range<usize>, _: &Range<usize>) -> usize {
            8
        }

        fn storage(&self, _: &Device, _: &BlockScheduler, _: usize, kept: Option<usize>) -> Result<usize, EngineError> {
            Ok(kept.unwrap_or_else(|| self.0.fetch_add(1, Ordering::Relaxed)))
        }

        fn run(&self, _: &mut usize, stream: &Stream, block: &Block, target: Target<'_, f64>) -> Result<(), EngineError> {
            Ok(stream.upload(target.entries, &vec![1.0; block.entries()])?)
        }
    }
    let engine = Engine::new([Device::cpu(), Device::cpu(), Device::cpu()])?;
    let engine = engine.with_settings(Settings { block_side: Some(20), ..Settings::default() });
    let op = Counted(AtomicUsize::new(0));
    for _ in 0..2 {
        engine.prepare(&op, (50, 20), Coverage::Full)?;
        assert_eq!(op.0.load(Ordering::Relaxed), 3);
    }
    let mut out = vec![0.0; 1000];
    engine.run(&op, &HostMatrix::full(50, 20, &mut out)?, Control::default())?;
    assert!(op.0.load(Ordering::Relaxed) == 3 && out.iter().all(|&value| value == 1.0));
    Ok(())
}

#[test]
fn an_engine_has_a_device() {
    let Err(error) = Engine::new([]) else { panic!("an engine without devices") };
    assert_eq!(error, EngineError::NoDevices);
    assert_eq!(error.to_string(), "an engine needs at least one device");
}

/// Any number is a budget, and a side.
#[test]
fn settings_at_their_ends() -> Result<(), EngineError> {
    let engine = |settings| Engine::new([Device::cpu()]).map(|engine| engine.with_settings(settings));
    for memory_budget in [None, Some(1 << 20), Some(usize::MAX / 2), Some(usize::MAX - 1), Some(usize::MAX)] {
        for block_side in [None, Some(0), Some(7), Some(usize::MAX)] {
            let report = numbers(&engine(Settings { memory_budget, block_side })?, |_| ())?;
            assert!((1..=70).contains(&report.side), "{report:?}");
        }
    }
    // Kernels number the threads of a block of this side by 32 bits.
    for (asked, side) in [((1 << 17) - 1, (1 << 17) - 1), (1 << 17, 1 << 17), ((1 << 17) + 1, 1 << 17), (usize::MAX, 1 << 17)] {
        let settings = Settings { memory_budget: Some(usize::MAX), block_side: Some(asked) };
        let schedule = engine(settings)?.schedule(&Numbers::new(|_: &Block| ()), (1 << 18, 1 << 18), Coverage::Full)?;
        assert_eq!(schedule.side(), side);
    }
    // Half is for three blocks of an entry, which take more than the inputs of a row and a column.
    let with = |memory_budget| numbers(&engine(Settings { memory_budget: Some(memory_budget), ..Settings::default() })?, |_| ());
    assert_eq!(with(48)?.side, 1);
    for budget in [0, 8, 47] {
        assert_eq!(with(budget).unwrap_err(), EngineError::BudgetTooSmall { needed: 48, budget });
    }
    Ok(())
}

/// Blocks that the engine chooses, where memory is plenty: no longer than is worthwhile as long as there are 16 for each
/// device, and no larger than 64 MiB. Some devices make smaller ones worthwhile.
#[test]
fn sides_of_blocks() -> Result<(), EngineError> {
    let side = |devices, coverage, rows, cols| {
        let engine = Engine::new(vec![Device::cpu(); devices])?;
        let engine = engine.with_settings(Settings { memory_budget: Some(1 << 60), ..Settings::default() });
        Ok::<_, EngineError>(engine.schedule(&Numbers::new(|_: &Block| ()), (rows, cols), coverage)?.side())
    };
    for (devices, coverage, rows, cols, expected) in [
        (1, Coverage::Full, 2047, 2047, 2047),
        (1, Coverage::Full, 2049, 2049, 2048),
        (1, Coverage::Full, 4 * 2048, 4 * 2048, 2048),
        (1, Coverage::Full, 4 * 2048 + 1, 4 * 2048 + 1, 2049),
        (1, Coverage::Full, 4 * 2048 + 1, 4 * 2048 - 1, 2048),
        // The square root of 2^26 / 8 is 2896.3.
        (1, Coverage::Full, 4 * 2895, 4 * 2895, 2895),
        (1, Coverage::Full, 4 * 2896, 4 * 2896, 2896),
        (1, Coverage::Full, 4 * 2896 + 1, 4 * 2896 + 1, 2896),
        // A triangle is half as large: the square root of 32 times 2048 is 11,585.2.
        (1, Coverage::LowerTriangle, 11_585, 11_585, 2048),
        (1, Coverage::LowerTriangle, 11_586, 11_586, 2049),
        (4, Coverage::Full, 8 * 1024, 8 * 1024, 1024),
        (4, Coverage::Full, 8 * 1024 + 1, 8 * 1024 + 1, 1025),
    ] {
        assert_eq!(side(devices, coverage, rows, cols)?, expected, "{rows} x {cols}, {coverage:?}, on {devices}");
    }
    Ok(())
}

/// A panic in one worker ends the others, too, and comes to the caller; the engine is as good as before.
#[test]
fn a_panic_stops_the_other_workers() -> Result<(), EngineError> {
    let settings = Settings { block_side: Some(1), ..Settings::default() };
    let engine = Engine::new([Device::cpu(), Device::cpu(), Device::cpu()])?.with_settings(settings);
    let (started, panicked) = (AtomicUsize::new(0), AtomicBool::new(false));
    let panicking = catch_unwind(AssertUnwindSafe(|| {
        numbers(&engine, |_| {
            let before = started.fetch_add(1, Ordering::Relaxed);
            // Not the first, so that the others are at work.
            if before >= 20 && !panicked.swap(true, Ordering::Relaxed) {
                panic!("as it happens");
            }
            thread::sleep(Duration::from_millis(1));
        })
    }));
    let payload = panicking.expect_err("a worker panicked");
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"as it happens"));
    let started = started.into_inner();
    assert!(started < 1000, "{started} of 2100 blocks were started");
    assert_eq!(numbers(&engine, |_| ())?.blocks, 2100);
    Ok(())
}

/// An output in which one block can't be put in place.
struct Failing<'a>(HostMatrix<'a, f64>, Option<usize>);

impl Writer<f64> for Failing<'_> {
    fn order(&self) -> Order {
        self.0.order()
    }

    fn coverage(&self) -> Coverage {
        self.0.coverage()
    }

    fn shape(&self) -> (usize, usize) {
        self.0.shape()
    }

    fn scatter(&self, block: &Block, entries: &[f64]) -> Result<(), EngineError> {
        let fails = self.1 == Some(block.rows.start);
        self.0.scatter(block, if fails { &[] } else { entries })
    }
}

/// Numbers of blocks around those that are under way on a device (three), with and without one that fails: as it is
/// computed, while the two before it are under way, or as it is put in place, while two more are. Its matrix goes on
/// with the same bits as those of a single block. One stream computes, or two do.
#[test]
fn blocks_under_way() -> Result<(), EngineError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.npy");
    let run = |devices, rows, side, computed: Option<usize>, placed: Option<usize>| -> Result<(usize, Vec<f64>), EngineError> {
        let settings = Settings { block_side: Some(side), ..Settings::default() };
        let engine = Engine::new(vec![Device::cpu(); devices])?.with_settings(settings);
        let before = |block: &Block| assert!(computed != Some(block.rows.start), "as it happens");
        let (trace, resident) = (Trace::new(), rows % 2 == 0);
        let op = Numbers { before, resident };
        let mut begun = PartialMatrix::begin(Destination::prepare(&path)?, &[rows, 1], None, Parts::RESUME)?;
        begun.side(|| "numbers", side)?;
        let mut file = begun.open(&engine.schedule(&op, (rows, 1), Coverage::Full)?)?;
        let found = file.blocks_found();
        let (out, queue) = file.parts();
        let writer = Failing(HostMatrix::full(rows, 1, out)?, placed);
        let report = engine.run(&op, &writer, Control { queue, trace: Some(&trace), ..Control::default() })?;
        drop(writer);
        let on_second = trace.spans().iter().filter(|span| span.lane == "compute 1").count();
        assert_eq!(on_second, report.blocks_by_gpu.iter().map(|blocks| if resident { blocks / 2 } else { 0 }).sum::<usize>());
        assert_eq!(report.blocks, rows.div_ceil(side));
        let values = file.as_slice().to_vec();
        file.finish()?;
        std::fs::remove_file(&path).unwrap();
        Ok((found, values))
    };
    for devices in 1..=3 {
        for rows in 0..=7 {
            let (found, expected) = run(1, rows, 7, None, None)?;
            assert!(found == 0 && expected == (0..rows).map(|row| 1000.0 * row as f64).collect::<Vec<_>>());
            assert!(run(devices, rows, 1, None, None)? == (0, expected.clone()), "{rows} blocks on {devices}");
            for fails in 0..rows {
                let cell = format!("block {fails} of {rows} on {devices}");
                for computed in [false, true] {
                    let [compute, place] = [computed, !computed].map(|this| this.then_some(fails));
                    match catch_unwind(AssertUnwindSafe(|| run(devices, rows, 1, compute, place))) {
                        Err(panic) => assert!(computed && panic.is::<&str>() | panic.is::<String>(), "{cell}"),
                        Ok(result) => {
                            let error = result.expect_err(&cell);
                            assert!(!computed && matches!(error, EngineError::BlockLength { found: 0, .. }), "{cell}: {error}");
                        }
                    }
                    assert!(!path.exists(), "{cell}");
                    let (found, values) = run(devices, rows, 1, None, None)?;
                    // On one device, all blocks before it are in place, unless they were under way as it was computed.
                    let placed = if computed { fails.saturating_sub(2) } else { fails };
                    assert!(if devices == 1 { found == placed } else { found < rows }, "{cell}: {found}");
                    assert!(
                        values.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits()) && values.len() == rows,
                        "{cell}"
                    );
                }
            }
        }
    }
    Ok(())
}

//! Matrices over pairs of piecewise constant functions, against another program's answers and a brute force.
//!
//! They run on the backend that `WARPSMITH_BACKEND` names, or on a GPU if there is one.

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

use ndarray::Array2;
use proptest::prelude::*;
use warpsmith::{
    common::Real,
    device::{Backend, Buffer, Device},
    engine::{Cancel, Control, Engine, EngineError, Settings, Trace},
    pcf::{Layout, Measure, Pairwise, PairwiseError, Pcf, PcfKernel, PcfReal, PcfSet, Window, lp_distance, random},
};

use crate::oracle::{self, functions};

type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

fn device() -> Device {
    Device::best().expect("the backend that was asked for")
}

fn engine() -> Engine {
    Engine::new([device()]).unwrap()
}

/// Several devices: all GPUs, or as many CPUs with workers of their own.
fn engine_of(gpus: usize, settings: Settings) -> Engine {
    Engine::new(Device::all().unwrap().into_iter().cycle().take(gpus)).unwrap().with_settings(settings)
}

/// The matrix in host memory. In the device's it is the same.
fn compute<T: PcfReal>(matrix: Pairwise<'_, T>, engine: &Engine, layout: Layout) -> Result<Vec<T>, PairwiseError> {
    let computed = matrix.compute(engine, layout, Control::default())?;
    let device = &engine.devices()[0];
    let mut out = device.upload(&vec![T::from_f64(f64::NAN); computed.len()]).unwrap();
    matrix.compute_on_device(engine, layout, out.as_view_mut(), Control::default())?;
    let on_device = device.stream().unwrap().download_vec(&out).unwrap();
    assert_eq!(on_device, computed, "{layout:?}");
    Ok(computed)
}

const KERNELS: [PcfKernel; 2] = [PcfKernel::Tiled, PcfKernel::Direct];

fn close(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= 1e-12 * expected.abs(), "{what}, entry {i}: {found} for {expected}");
    }
}

#[test]
fn agrees_with_masspcf() -> Result {
    let (a, b, mut npz) = oracle::masspcf();
    let engine = engine();
    for kernel in KERNELS {
        for (name, cols, measure) in [
            ("pdist_p1", None, Measure::Lp(1.0)),
            ("pdist_p2", None, Measure::Lp(2.0)),
            ("pdist_p3.5", None, Measure::Lp(3.5)),
            ("cdist_p1", Some(&b), Measure::Lp(1.0)),
            ("cdist_p2", Some(&b), Measure::Lp(2.0)),
            ("cdist_p3.5", Some(&b), Measure::Lp(3.5)),
            ("l2_kernel", None, Measure::Inner),
        ] {
            let expected: Array2<f64> = npz.by_name(name)?;
            let matrix = Pairwise::new(&a, cols, measure)?.with_kernel(kernel);
            let dense = compute(matrix, &engine, Layout::Dense)?;
            close(&dense, expected.as_slice().unwrap(), name);
            let half = |wanted: fn(usize, usize) -> bool| -> Vec<f64> {
                expected.indexed_iter().filter(|((i, j), _)| wanted(*i, *j)).map(|(_, &entry)| entry).collect()
            };
            if cols.is_none() {
                close(&compute(matrix, &engine, Layout::Packed)?, &half(|i, j| j <= i), name);
                let condensed = compute(matrix, &engine, Layout::Condensed);
                match measure {
                    Measure::Lp(_) => close(&condensed?, &half(|i, j| i < j), name),
                    Measure::Inner => assert_eq!(condensed, Err(PairwiseError::Diagonal)),
                }
            }
        }
    }
    Ok(())
}

/// Functions with so many breakpoints.
fn of_lengths<T: PcfReal>(lengths: &[usize]) -> PcfSet<T> {
    let function = |(i, &points): (usize, &usize)| random::uniform(1, points, i as u64).unwrap().get(0).to_pcf();
    PcfSet::from_functions(lengths.iter().enumerate().map(function))
}

/// Entries of a set with long functions against the host's sums, and their bits against those in other blocks.
fn long_merges<T: PcfReal>(lengths: &[usize]) {
    let set = of_lengths::<T>(lengths);
    let n = set.len();
    for measure in [Measure::Lp(1.0), Measure::Lp(2.0), Measure::Lp(3.5), Measure::Inner] {
        let what = format!("{measure:?} of {}, {n} functions", T::NAME);
        let matrix = Pairwise::new(&set, None, measure).unwrap().with_kernel(PcfKernel::Tiled);
        let dense = compute(matrix, &engine(), Layout::Dense).unwrap();
        let wide = set.cast::<f64>().unwrap();
        for i in 0..n.min(8) {
            for j in 0..i {
                let found: f64 = dense[i * n + j].into();
                let (f, g) = (wide.get(i), wide.get(j));
                let exact = oracle::exact(f, g, measure);
                let bound = oracle::bound(f, g, measure, exact, T::UNIT_ROUNDOFF);
                assert!((found - exact.0).abs() <= bound, "{what} ({i}, {j}): {found} for {exact:?}");
            }
        }
        let other = Settings { block_side: Some(n.div_ceil(3)), ..Settings::default() };
        // As little memory as functions and a few sums take.
        let bytes = 2 * (set.points().len() * 2 * size_of::<T>() + (1 << 17));
        let small = Settings { memory_budget: Some(2 * bytes), ..Settings::default() };
        for (gpus, settings) in [(1, other), (3, other), (1, small)] {
            let engine = engine_of(gpus, settings);
            assert!(compute_on_host(matrix, &engine) == dense, "{what}, {gpus} GPUs, {settings:?}");
        }
        let all = Pairwise::cdist(&set, &set, measure).unwrap().with_kernel(PcfKernel::Tiled);
        let all = compute_on_host(all, &engine());
        assert!((0..n * n).all(|k| k / n == k % n || all[k] == dense[k]), "{what}");
        let rows: Vec<usize> = (0..n).rev().step_by(2).collect();
        let part = set.take(&rows).unwrap();
        let part = Pairwise::cdist(&part, &set, measure).unwrap().with_kernel(PcfKernel::Tiled).part_of(&set, &set);
        let part = compute_on_host(part, &engine());
        assert!(rows.iter().zip(part.chunks(n)).all(|(&i, row)| *row == all[i * n..(i + 1) * n]), "{what}");
    }
}

fn compute_on_host<T: PcfReal>(matrix: Pairwise<'_, T>, engine: &Engine) -> Vec<T> {
    matrix.compute(engine, Layout::Dense, Control::default()).unwrap()
}

#[test]
fn merges_in_pieces() {
    long_merges::<f64>(&[9000, 5, 300, 12_000, 4096, 4097, 1, 30]);
    long_merges::<f32>(&[2, 6000, 5000]);
    // More long ones than lanes.
    let half: Vec<usize> = (0..38).map(|i| if i % 9 == 0 { 5 } else { 4100 + i }).collect();
    long_merges::<f32>(&half);
}

fn check<T: PcfReal>(
    rows: &PcfSet<f64>,
    cols: &PcfSet<f64>,
    measure: Measure,
    kernel: PcfKernel,
) -> std::result::Result<(), TestCaseError> {
    // The narrower type's functions are taken as they are, so that the entry's own error is what is seen.
    let (Ok(a), Ok(b)) = (rows.cast::<T>(), cols.cast::<T>()) else { return Ok(()) };
    let (rows, cols) = (a.cast::<f64>().unwrap(), b.cast::<f64>().unwrap());
    let matrix = Pairwise::cdist(&a, &b, measure).unwrap().with_kernel(kernel);
    let found = matrix.compute(&engine(), Layout::Dense, Control::default()).unwrap();
    for i in 0..rows.len() {
        for j in 0..cols.len() {
            let (f, g) = (rows.get(i), cols.get(j));
            let (found, exact) = (found[i * cols.len() + j].to_f64(), oracle::exact(f, g, measure));
            let bound = oracle::bound(f, g, measure, exact, T::UNIT_ROUNDOFF) + f64::from(f32::MIN_POSITIVE);
            let what = format!("{measure:?} {kernel:?} {} of {i}, {j}", T::NAME);
            prop_assert!(found == exact.0 || (found - exact.0).abs() <= bound, "{what}: {found} for {exact:?} > {bound}");
        }
    }
    Ok(())
}

fn measures() -> impl Strategy<Value = Measure> {
    prop_oneof![Just(Measure::Lp(1.0)), Just(Measure::Lp(2.0)), (1.0..5.0f64).prop_map(Measure::Lp), Just(Measure::Inner)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn short_and_long_functions(
        short in [functions(40, 60), functions(40, 60)],
        long in [functions(8, 5000), functions(8, 5000)],
        measures in [measures(), measures()],
        tiled in any::<[bool; 2]>(),
    ) {
        for (([rows, cols], measure), tiled) in [short, long].into_iter().zip(measures).zip(tiled) {
            let kernel = if tiled { PcfKernel::Tiled } else { PcfKernel::Direct };
            check::<f64>(&rows, &cols, measure, kernel)?;
            check::<f32>(&rows, &cols, measure, kernel)?;
        }
    }

    /// Every entry is what one pair alone gives, whatever the layout, the blocks, the budget and the number of GPUs;
    /// and the same for (f, g) and (g, f).
    #[test]
    fn blocks_change_nothing(
        set in functions(70, 40),
        measure in measures(),
        side in 1..40usize,
        budget in prop_oneof![Just(None), (0..4usize).prop_map(Some)],
        gpus in 1..4usize,
        tiled in any::<bool>(),
    ) {
        let kernel = if tiled { PcfKernel::Tiled } else { PcfKernel::Direct };
        let n = set.len();
        let whole = Pairwise::cdist(&set, &set, measure).unwrap().with_kernel(kernel);
        let whole = whole.compute(&engine(), Layout::Dense, Control::default()).unwrap();
        // From a budget that a pair just fits in to one that holds half of the set.
        let least = 4 * 40 * 16 + 1024;
        let memory_budget = budget.map(|k| (least << k).max(8 * set.lengths().max().unwrap_or(0) * 16 + 1024));
        let engine = engine_of(gpus, Settings { memory_budget, block_side: Some(side) });
        let symmetric = Pairwise::new(&set, None, measure).unwrap().with_kernel(kernel);
        let dense = symmetric.compute(&engine, Layout::Dense, Control::default()).unwrap();
        let packed = symmetric.compute(&engine, Layout::Packed, Control::default()).unwrap();
        let condensed = symmetric.compute(&engine, Layout::Condensed, Control::default());
        let condensed = if measure == Measure::Inner { Vec::new() } else { condensed.unwrap() };
        let blocks = Pairwise::cdist(&set, &set, measure).unwrap().with_kernel(kernel);
        let blocks = blocks.compute(&engine, Layout::Dense, Control::default()).unwrap();
        let diagonal = measure == Measure::Inner;
        let (mut at, mut place) = (0, 0);
        for i in 0..n {
            for j in 0..n {
                let expected = whole[i * n + j].to_bits();
                prop_assert_eq!(blocks[i * n + j].to_bits(), expected, "cdist {} {}", i, j);
                prop_assert_eq!(whole[j * n + i].to_bits(), expected, "transposed {} {}", i, j);
                let wanted = if i == j && !diagonal { 0 } else { expected };
                prop_assert_eq!(dense[i * n + j].to_bits(), wanted, "dense {} {}", i, j);
                if i < j && !diagonal {
                    prop_assert_eq!(condensed[at].to_bits(), expected, "condensed {} {}", i, j);
                    at += 1;
                }
                if j <= i {
                    prop_assert_eq!(packed[place].to_bits(), wanted, "packed {} {}", i, j);
                    place += 1;
                }
            }
        }
        prop_assert_eq!((at, place), (condensed.len(), packed.len()));
    }
}

/// The pair that lags behind holds the window of both its functions, and others wait for it: progress all the same.
#[test]
fn functions_out_of_step() -> Result {
    // The first half of the functions has all breakpoints early, the second half late, and every third few of them.
    let set = PcfSet::<f32>::from_functions((0..96).map(|i| {
        let (count, from) = (if i % 3 == 0 { 3 } else { 900 + i }, if i < 48 { 0.0 } else { 100.0 });
        let points = (0..count).map(|k| (if k == 0 { 0.0 } else { from + k as f32 / 16.0 }, ((i + k) % 7) as f32));
        Pcf::new(points.chain([(1000.0, 0.0)])).unwrap()
    }));
    let found =
        Pairwise::pdist(&set, 1.0)?.with_kernel(PcfKernel::Tiled).compute(&engine(), Layout::Dense, Control::default())?;
    let wide = set.cast::<f64>()?;
    for i in 0..set.len() {
        for j in 0..i {
            let (f, g) = (wide.get(i), wide.get(j));
            let exact = oracle::exact(f, g, Measure::Lp(1.0));
            let error = (f64::from(found[i * set.len() + j]) - exact.0).abs();
            let bound = oracle::bound(f, g, Measure::Lp(1.0), exact, f32::UNIT_ROUNDOFF);
            assert!(error <= bound, "{i} {j}: {error} of {exact:?}");
        }
    }
    Ok(())
}

#[test]
fn tails() -> Result {
    let set = PcfSet::<f32>::from_functions([
        Pcf::new([(0.0, 1.0), (1.0, 2.0)])?,
        Pcf::new([(0.0, 1.0), (3.0, 2.0)])?,
        Pcf::new([(0.0, -1.0)])?,
        Pcf::zero(),
        Pcf::constant(f32::from_bits(1))?,
    ]);
    let inf = f32::INFINITY;
    for kernel in KERNELS {
        let pdist = Pairwise::pdist(&set, 1.0)?.with_kernel(kernel).compute(&engine(), Layout::Condensed, Control::default())?;
        assert_eq!(pdist, [2.0, inf, inf, inf, inf, inf, inf, inf, inf, inf]);
        let inner = Pairwise::l2_kernel(&set).with_kernel(kernel).compute(&engine(), Layout::Packed, Control::default())?;
        assert_eq!(inner, [inf, inf, inf, -inf, -inf, inf, 0.0, 0.0, 0.0, 0.0, inf, inf, -inf, 0.0, inf]);
    }
    Ok(())
}

/// The largest values and times that functions may have: sums may be infinite, and never NaN.
#[test]
fn extremes() -> Result {
    let big = f32::MAX_VALUE;
    let set = PcfSet::from_functions([
        Pcf::new([(0.0, big), (1.0, -big), (big, 0.0)])?,
        Pcf::new([(0.0, -big), (1.0, big), (big, 0.0)])?,
    ]);
    for kernel in KERNELS {
        for p in [1.0, 2.0, 1.5, 1e6] {
            let found =
                Pairwise::pdist(&set, p)?.with_kernel(kernel).compute(&engine(), Layout::Condensed, Control::default())?;
            assert!(found[0] > 0.0, "p {p}: {found:?}");
        }
        let inner = Pairwise::l2_kernel(&set).with_kernel(kernel).compute(&engine(), Layout::Packed, Control::default())?;
        assert!(inner.iter().all(|entry| !entry.is_nan()), "{inner:?}");
    }
    Ok(())
}

#[test]
fn what_is_wrong() -> Result {
    let set: PcfSet<f64> = random::uniform(10, 10, 3)?;
    for p in [0.5, f64::NAN, f64::NEG_INFINITY, -1.0] {
        assert!(Pairwise::pdist(&set, p).is_err() && Pairwise::cdist(&set, &set, Measure::Lp(p)).is_err());
    }
    // Infinite in single precision.
    assert!(Pairwise::pdist(&set, 1e39).is_ok() && Pairwise::pdist(&set.cast::<f32>()?, 1e39).is_err());
    let pdist = Pairwise::pdist(&set, 1.0)?;
    let mut short = [0.0; 44];
    let error = pdist.compute_into(&engine(), Layout::Condensed, &mut short, Control::default()).unwrap_err();
    assert_eq!(error.to_string(), "the output has 44 elements, but a condensed matrix of 10 x 10 has 45");
    let poor = engine_of(1, Settings { memory_budget: Some(100), ..Settings::default() });
    let error = pdist.compute(&poor, Layout::Condensed, Control::default()).unwrap_err();
    assert!(
        matches!(error, PairwiseError::Engine(EngineError::BudgetTooSmall { budget: 100, needed }) if needed > 300),
        "{error}"
    );
    Ok(())
}

/// The least memory that a matrix can be computed in, and that all functions stay in, which two streams then take turns
/// with.
#[test]
fn memory_that_just_suffices() -> Result {
    for (lengths, kernel) in
        [(&[4; 40][..], PcfKernel::Tiled), (&[30, 4097, 5, 4500, 4200, 4100], PcfKernel::Tiled), (&[7; 9], KERNELS[1])]
    {
        let set = of_lengths::<f64>(lengths);
        let matrix = Pairwise::pdist(&set, 1.0)?.with_kernel(kernel);
        let within = |memory_budget| {
            let trace = Trace::new();
            let engine = engine_of(1, Settings { memory_budget: Some(memory_budget), block_side: Some(3) });
            let found = matrix.compute(&engine, Layout::Condensed, Control { trace: Some(&trace), ..Control::default() })?;
            Ok::<_, PairwiseError>((found, trace.spans().iter().any(|span| span.lane == "compute 1")))
        };
        let expected = matrix.compute(&engine(), Layout::Condensed, Control::default())?;
        let Err(PairwiseError::Engine(EngineError::BudgetTooSmall { needed, .. })) = within(0) else { panic!("no memory") };
        assert_eq!(within(needed - 1).unwrap_err(), EngineError::BudgetTooSmall { needed, budget: needed - 1 }.into());
        assert_eq!(within(needed)?, (expected.clone(), false));
        let (mut too_little, mut enough) = (needed, 16 * needed);
        while enough - too_little > 1 {
            let middle = too_little.midpoint(enough);
            let (found, stays) = within(middle)?;
            assert_eq!(found, expected);
            *if stays { &mut enough } else { &mut too_little } = middle;
        }
        // Half of it holds the functions, and next to nothing else but cut merges' sums.
        let (data, pieces) = (set.points().len() * 16, lengths.iter().max().unwrap().div_ceil(1024));
        let sums = if pieces > 1 { 2 * pieces * 512 * 8 } else { 0 };
        assert!((2 * (data + sums)..2 * (data + sums) + 40 * set.len() + 600).contains(&enough), "{enough}");
    }
    Ok(())
}

#[test]
fn what_a_device_has_no_place_for() -> Result {
    let set: PcfSet<f64> = random::uniform(10, 10, 3)?;
    let pdist = Pairwise::pdist(&set, 1.0)?;
    let mut out = device().alloc(44)?;
    let error = |engine: Engine, out: &mut Buffer<f64>| {
        pdist.compute_on_device(&engine, Layout::Condensed, out.as_view_mut(), Control::default()).unwrap_err().to_string()
    };
    assert_eq!(error(engine(), &mut out), "the output has 44 elements, but a condensed matrix of 10 x 10 has 45");
    let mut out = device().alloc(45)?;
    let several = engine_of(2, Settings::default());
    assert_eq!(error(several, &mut out), "what stays in the memory of a device is computed there, not by 2 devices");
    if device().backend() == Backend::Cuda {
        assert!(error(Engine::new([Device::cpu()])?, &mut out).starts_with("a buffer belongs to"));
    }
    let cancel = Cancel::new();
    cancel.cancel();
    let control = Control { cancel: Some(&cancel), ..Control::default() };
    let cancelled = pdist.compute_on_device(&engine(), Layout::Condensed, out.as_view_mut(), control).unwrap_err();
    assert_eq!(cancelled, PairwiseError::Engine(EngineError::Cancelled));
    Ok(())
}

/// An engine keeps a set's functions on its device for the next matrix, and takes no other set for it.
#[test]
fn sets_take_turns() -> Result {
    let sets: Vec<PcfSet<f64>> = (0..3).map(|seed| random::uniform(40, 10, seed)).collect::<std::result::Result<_, _>>()?;
    let pdist = |set, p| Pairwise::pdist(set, p).unwrap();
    let expected: Vec<_> = sets.iter().map(|set| compute(pdist(set, 1.0), &engine(), Layout::Packed).unwrap()).collect();
    let one = engine();
    let copies = sets.clone();
    for (i, clone) in [0, 0, 1, 0, 2, 2, 1, 0].into_iter().zip([false, true].into_iter().cycle()) {
        let set = if clone { &copies[i] } else { &sets[i] };
        assert_eq!(compute(pdist(set, 1.0), &one, Layout::Packed)?, expected[i]);
        let cdist = compute(Pairwise::cdist(&sets[1], set, Measure::Lp(1.0))?, &one, Layout::Dense)?;
        let there = lp_distance(sets[1].get(3), set.get(5), 1.0)?;
        assert!((cdist[3 * 40 + 5] - there).abs() <= 1e-14 * there);
    }
    Ok(())
}

/// Functions of four times the budget come and go in bands.
#[test]
fn streams_what_does_not_fit() -> Result {
    let set: PcfSet<f32> = random::uniform(200, 50, 4)?;
    let data = size_of_val(set.points());
    let pdist = Pairwise::pdist(&set, 1.0)?;
    let expected = pdist.compute(&engine(), Layout::Condensed, Control::default())?;
    let engine = engine_of(2, Settings { memory_budget: Some(data / 4), ..Settings::default() });
    let mut out = vec![f32::NAN; expected.len()];
    // Again with what the first time left on the devices.
    for _ in 0..2 {
        out.fill(f32::NAN);
        let report = pdist.compute_into(&engine, Layout::Condensed, &mut out, Control::default())?;
        assert!(report.side < 30 && report.blocks > 20, "{report:?}");
        assert_eq!(report.blocks_by_gpu.iter().sum::<usize>(), report.blocks);
        assert!(out.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
    // Another set on the same engine.
    let other: PcfSet<f32> = random::uniform(60, 80, 9)?;
    let (here, there) = (Pairwise::pdist(&other, 1.0)?, self::engine());
    assert_eq!(
        here.compute(&engine, Layout::Dense, Control::default())?,
        here.compute(&there, Layout::Dense, Control::default())?
    );
    Ok(())
}

#[test]
fn progress_ends_at_the_total() -> Result {
    let set: PcfSet<f32> = random::uniform(100, 10, 6)?;
    let seen = Mutex::new(Vec::new());
    let progress = |done, total| seen.lock().unwrap().push((done, total));
    let engine = engine_of(2, Settings { block_side: Some(16), ..Settings::default() });
    let control = Control { progress: Some(&progress), ..Control::default() };
    Pairwise::l2_kernel(&set).compute(&engine, Layout::Packed, control)?;
    let mut seen = seen.into_inner()?;
    seen.sort_unstable();
    assert_eq!(seen.len(), 28, "a call a block");
    assert!(seen.iter().all(|&(_, total)| total == 5050) && seen.last() == Some(&(5050, 5050)));
    Ok(())
}

#[test]
fn cancellation() -> Result {
    let set: PcfSet<f32> = random::uniform(200, 10, 6)?;
    let (cancel, calls) = (Cancel::new(), AtomicUsize::new(0));
    let progress = |_, _| {
        calls.fetch_add(1, Ordering::Relaxed);
        cancel.cancel();
    };
    let engine = engine_of(1, Settings { block_side: Some(16), ..Settings::default() });
    let control = Control { progress: Some(&progress), cancel: Some(&cancel), ..Control::default() };
    let error = Pairwise::pdist(&set, 1.0)?.compute(&engine, Layout::Condensed, control).unwrap_err();
    assert_eq!(error, PairwiseError::Engine(EngineError::Cancelled));
    assert!(calls.into_inner() <= 2);
    // The engine goes on.
    let control = Control::default();
    assert_eq!(Pairwise::pdist(&set, 1.0)?.compute(&engine, Layout::Condensed, control)?.len(), 19900);
    Ok(())
}

#[test]
fn a_trace_has_every_block() -> Result {
    let set: PcfSet<f32> = random::uniform(100, 10, 6)?;
    let trace = Trace::new();
    let engine = engine_of(2, Settings { block_side: Some(16), ..Settings::default() });
    Pairwise::pdist(&set, 1.0)?.compute(&engine, Layout::Dense, Control { trace: Some(&trace), ..Control::default() })?;
    let spans = trace.spans();
    for what in ["compute", "download", "scatter"] {
        let mut numbers: Vec<usize> = spans.iter().filter_map(|span| span.name.strip_prefix(what)?.trim().parse().ok()).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..28).collect::<Vec<_>>(), "{what}");
    }
    // A block is computed, then downloaded, then put in place.
    let span = |name: String| spans.iter().find(|span| span.name == name).unwrap();
    for block in 0..28 {
        let [compute, download, scatter] = ["compute", "download", "scatter"].map(|what| span(format!("{what} {block}")));
        let slack = 50.0;
        assert!(compute.start + compute.duration <= download.start + slack);
        assert!(download.start + download.duration <= scatter.start + slack);
    }
    Ok(())
}

/// Functions of the same times, and one more of other times, with which they are merged: the same bits.
fn aligned<T: PcfReal>(functions: usize, points: usize, measures: &[Measure]) {
    let values: PcfSet<T> = random::uniform(functions, points, 11).unwrap();
    let times: Vec<T> = values.get(0).points().iter().map(|point| point.t).collect();
    let with_times = |function: warpsmith::pcf::PcfRef<'_, T>| {
        Pcf::new(function.points().iter().zip(&times).map(|(point, &t)| (t, point.v))).unwrap()
    };
    let set = PcfSet::from_functions(values.iter().map(with_times));
    // Neither of a larger value nor of a later time.
    let other = || Pcf::new([T::ZERO, times[points - 1] * T::from_f64(0.75)].map(|t| (t, T::ZERO))).unwrap();
    let merged = PcfSet::joined([&set, &PcfSet::from_functions((points > 1).then(other))]);
    let n = merged.len();
    for &measure in measures {
        for kernel in KERNELS {
            let what = format!("{measure:?} {kernel:?} of {functions} x {points} in {}", T::NAME);
            let expected = compute_on_host(Pairwise::new(&merged, None, measure).unwrap().with_kernel(kernel), &engine());
            let expected: Vec<T> = expected.chunks(n).take(functions).flat_map(|row| row[..functions].to_vec()).collect();
            let matrix = Pairwise::new(&set, None, measure).unwrap().with_kernel(kernel);
            assert!(compute_on_host(matrix, &engine()) == expected, "{what}");
            let small = Settings {
                memory_budget: Some(64 * points * size_of::<T>() + (1 << 12)),
                block_side: Some(functions.div_ceil(3)),
            };
            assert!(compute_on_host(matrix, &engine_of(3, small)) == expected, "{what}, in blocks");
            let rows: Vec<usize> = (0..functions).rev().step_by(3).collect();
            let part = set.take(&rows).unwrap();
            let part = Pairwise::cdist(&part, &set, measure).unwrap().with_kernel(kernel).part_of(&set, &set);
            let found = compute_on_host(part, &engine());
            for (&i, row) in rows.iter().zip(found.chunks(functions)) {
                let same = (0..functions).all(|j| row[j] == expected[i * functions + j] || i == j);
                assert!(same, "{what}, row {i} of a part");
            }
            let wide = set.cast::<f64>().unwrap();
            for (i, j) in (1..functions.min(6)).map(|i| (functions - i, functions - i - 1)) {
                let exact = oracle::exact(wide.get(i), wide.get(j), measure);
                let bound = oracle::bound(wide.get(i), wide.get(j), measure, exact, T::UNIT_ROUNDOFF);
                let found = expected[i * functions + j].to_f64();
                assert!((found - exact.0).abs() <= bound || found == exact.0, "{what}: {found} for {exact:?}");
            }
        }
    }
}

/// Numbers of functions around those of threads and tiles, and numbers of steps around those in shared memory.
#[test]
fn functions_of_the_same_times() {
    let all = [1.0, 2.0, 2.7, 3.0, 3.5, f64::INFINITY].map(Measure::Lp).into_iter().chain([Measure::Inner]).collect::<Vec<_>>();
    for (functions, points) in [(1, 1), (2, 1), (2, 2), (5, 16), (9, 17), (33, 18), (65, 33), (130, 34)] {
        aligned::<f32>(functions, points, &all);
        aligned::<f64>(functions, points, &all);
    }
    // Around the length that is cut into pieces.
    for points in [4096, 4097] {
        aligned::<f32>(3, points, &all[..2]);
    }
}

/// Series that are sampled on one grid, with a window, have the distances of the unsampled steps.
#[test]
fn sampled_series() -> Result {
    let steps = |seed: i64| (0..50).map(move |k| (k as f64 / 2.0, ((k * 7 + seed * 13) % 10) as f64));
    let set = PcfSet::from_functions((0..9).map(|seed| Pcf::new(steps(seed)).unwrap()));
    let (from, until) = (Some(2.0), Some(20.0));
    let [sampled, merged] = [Some(0.25), None]
        .map(|step| set.windowed(&Window { from, until, step, ..Window::default() }).unwrap())
        .map(|set| compute(Pairwise::pdist(&set, 3.0).unwrap(), &engine(), Layout::Condensed).unwrap());
    close(&sampled, &merged, "sampled");
    let difference = |k: i64| (((k * 7) % 10) - ((k * 7 + 13) % 10)).abs().pow(3) as f64 / 2.0;
    close(&sampled[..1], &[(4..40).map(difference).sum::<f64>().cbrt()], "by sums");
    Ok(())
}

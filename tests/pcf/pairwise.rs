//! Matrices over pairs of piecewise constant functions, against another program's answers and a brute force.
//!
//! They run on the backend that `WARPSMITH_BACKEND` names, or on a GPU where there is one.

use std::{
    collections::BTreeSet,
    fs::File,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use ndarray::{Array1, Array2};
use ndarray_npy::NpzReader;
use proptest::prelude::*;
use warpsmith::{
    common::Real,
    device::{Backend, Buffer, Device},
    engine::{Cancel, Control, Engine, EngineError, Settings, Trace},
    pcf::{Layout, Measure, Pairwise, PairwiseError, Pcf, PcfKernel, PcfReal, PcfSet, Point, lp_distance, random},
};

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

/// The measure by its definition: both functions evaluated between all breakpoints of either, and the terms summed with
/// Neumaier's compensation.
fn brute(f: &[Point<f64>], g: &[Point<f64>], measure: Measure) -> f64 {
    let value = |f: &[Point<f64>], t: f64| f[f.partition_point(|point| point.t <= t) - 1].v;
    let mut times: Vec<f64> = f.iter().chain(g).map(|point| point.t).collect();
    times.sort_by(f64::total_cmp);
    times.dedup();
    let (mut sum, mut rest) = (0.0f64, 0.0f64);
    let mut add = |term: f64| {
        let next = sum + term;
        rest += if sum.abs() >= term.abs() { (sum - next) + term } else { (term - next) + sum };
        sum = next;
    };
    let term = |a: f64, b: f64| match measure {
        Measure::Lp(p) => (a - b).abs().powf(p),
        Measure::Inner => a * b,
    };
    for pair in times.windows(2) {
        add((pair[1] - pair[0]) * term(value(f, pair[0]), value(g, pair[0])));
    }
    let (a, b) = (f[f.len() - 1].v, g[g.len() - 1].v);
    match measure {
        Measure::Lp(_) if a != b => f64::INFINITY,
        Measure::Lp(p) => (sum + rest).powf(1.0 / p),
        Measure::Inner if a != 0.0 && b != 0.0 => f64::INFINITY * a.signum() * b.signum(),
        Measure::Inner => sum + rest,
    }
}

/// The integral of the magnitudes, which bounds the rounding of an inner product.
fn magnitude(f: &[Point<f64>], g: &[Point<f64>]) -> f64 {
    let positive = |f: &[Point<f64>]| f.iter().map(|point| Point::new(point.t, point.v.abs())).collect::<Vec<_>>();
    brute(&positive(f), &positive(g), Measure::Inner)
}

/// By how much an entry in precision `unit` may be off: the bound that `Pairwise` states, for general p with what
/// powers lose.
fn bound(f: &[Point<f64>], g: &[Point<f64>], measure: Measure, exact: f64, unit: f64) -> f64 {
    let terms = (f.len() + g.len() + 2) as f64;
    match measure {
        Measure::Lp(1.0 | 2.0) => terms * unit * exact,
        Measure::Lp(p) => (terms + 16.0 * p + 16.0 + 2.0 * exact.ln().abs()) * unit * exact,
        Measure::Inner => terms * unit * magnitude(f, g),
    }
}

fn oracle() -> Result<(PcfSet<f64>, PcfSet<f64>, NpzReader<File>)> {
    // masspcf 0.4.1 on the CPU in double precision.
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/pcf.npz");
    let mut npz = NpzReader::new(File::open(path)?)?;
    let mut set = |name: &str| -> Result<PcfSet<f64>> {
        let offsets: Array1<i64> = npz.by_name(&format!("{name}_offsets"))?;
        let points: Array2<f64> = npz.by_name(&format!("{name}_points"))?;
        let points = points.rows().into_iter().map(|row| Point::new(row[0], row[1])).collect();
        Ok(PcfSet::from_parts(offsets.iter().map(|&offset| offset as usize).collect(), points)?)
    };
    Ok((set("a")?, set("b")?, npz))
}

fn close(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= 1e-12 * expected.abs(), "{what}, entry {i}: {found} for {expected}");
    }
}

#[test]
fn agrees_with_masspcf() -> Result {
    let (a, b, mut npz) = oracle()?;
    let engine = engine();
    for kernel in KERNELS {
        for p in [1.0, 2.0, 3.5] {
            let expected: Array2<f64> = npz.by_name(&format!("pdist_p{p}"))?;
            let pdist = Pairwise::pdist(&a, p)?.with_kernel(kernel);
            let dense = compute(pdist, &engine, Layout::Dense)?;
            close(&dense, expected.as_slice().unwrap(), &format!("pdist {p}"));
            let condensed = compute(pdist, &engine, Layout::Condensed)?;
            let upper: Vec<f64> = (0..12).flat_map(|i| (i + 1..12).map(move |j| (i, j))).map(|at| expected[at]).collect();
            close(&condensed, &upper, &format!("condensed {p}"));
            let expected: Array2<f64> = npz.by_name(&format!("cdist_p{p}"))?;
            let cdist = Pairwise::cdist(&a, &b, Measure::Lp(p))?.with_kernel(kernel);
            close(&compute(cdist, &engine, Layout::Dense)?, expected.as_slice().unwrap(), "cdist");
        }
        let expected: Array2<f64> = npz.by_name("l2_kernel")?;
        let inner = Pairwise::l2_kernel(&a).with_kernel(kernel);
        close(&compute(inner, &engine, Layout::Dense)?, expected.as_slice().unwrap(), "l2_kernel");
        let packed = compute(inner, &engine, Layout::Packed)?;
        let lower: Vec<f64> = (0..12).flat_map(|i| (0..=i).map(move |j| (i, j))).map(|at| expected[at]).collect();
        close(&packed, &lower, "packed l2_kernel");
        assert_eq!(compute(inner, &engine, Layout::Condensed), Err(PairwiseError::Diagonal));
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
        let matrix = match measure {
            Measure::Lp(p) => Pairwise::pdist(&set, p).unwrap(),
            Measure::Inner => Pairwise::l2_kernel(&set),
        };
        let matrix = matrix.with_kernel(PcfKernel::Tiled);
        let dense = compute(matrix, &engine(), Layout::Dense).unwrap();
        let unit = if size_of::<T>() == 4 { f64::from(f32::EPSILON) / 2.0 } else { f64::EPSILON / 2.0 };
        for i in 0..n.min(8) {
            for j in 0..i {
                let found: f64 = dense[i * n + j].into();
                let points = |k| set.get(k).points().iter().map(|at| Point::new(at.t.into(), at.v.into())).collect::<Vec<_>>();
                let (f, g) = (points(i), points(j));
                let exact = brute(&f, &g, measure);
                assert!((found - exact).abs() <= bound(&f, &g, measure, exact, unit), "{what} ({i}, {j}): {found} for {exact}");
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
    let half: Vec<usize> = (0..45).map(|i| if i % 9 == 0 { 5 } else { 4100 + i }).collect();
    long_merges::<f32>(&half);
}

/// Where breakpoints lie.
#[derive(Clone, Copy, Debug)]
enum Times {
    /// Anywhere from 0 to 1.
    Uniform,
    /// On a grid, so that functions share them.
    Grid,
    /// Ever farther apart.
    Long,
    /// Most in a small part of the time, another for each function: neighbours in a warp are at quite different
    /// segments.
    Clustered,
}

/// `functions` of 1 to `longest` breakpoints, most of them few.
fn functions(functions: usize, longest: usize) -> impl Strategy<Value = PcfSet<f64>> {
    let times = prop_oneof![Just(Times::Uniform), Just(Times::Grid), Just(Times::Long), Just(Times::Clustered)];
    let one = (times, 0.0..=1.0f64, any::<u64>(), prop_oneof![6 => Just(0.0), 1 => Just(0.5)]);
    prop::collection::vec(one, 1..=functions).prop_map(move |all| {
        PcfSet::from_functions(all.into_iter().map(|(times, length, seed, tail)| {
            let points = (longest as f64).powf(length).round() as usize;
            let mut state = seed;
            let mut next = move || {
                // SplitMix64
                state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut z = state;
                z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
            };
            let centre = next();
            let mut at = BTreeSet::from([0u64]);
            while at.len() < points {
                let t = match times {
                    Times::Uniform => next(),
                    Times::Grid => (next() * 1.5 * longest as f64).floor() / 64.0,
                    Times::Long => (next() * 12.0).exp(),
                    Times::Clustered => centre + 1e-3 * next(),
                };
                // Non-negative numbers are in the order of their bits.
                at.insert(t.to_bits());
            }
            let mut points: Vec<_> = at.into_iter().map(|bits| Point::new(f64::from_bits(bits), 2.0 * next() - 1.0)).collect();
            points.last_mut().unwrap().v = tail;
            Pcf::new(points).expect("valid functions")
        }))
    })
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
            let (f, g) = (rows.get(i).points(), cols.get(j).points());
            let (found, exact) = (found[i * cols.len() + j].to_f64(), brute(f, g, measure));
            let bound = bound(f, g, measure, exact, T::UNIT_ROUNDOFF) + f64::from(f32::MIN_POSITIVE);
            prop_assert!(
                found == exact || (found - exact).abs() <= bound,
                "{measure:?} {kernel:?} {} of {i}, {j}: {found} for {exact}, {} > {bound}",
                T::NAME,
                (found - exact).abs()
            );
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
    fn short_functions(rows in functions(40, 60), cols in functions(40, 60), measure in measures(), tiled in any::<bool>()) {
        let kernel = if tiled { PcfKernel::Tiled } else { PcfKernel::Direct };
        check::<f64>(&rows, &cols, measure, kernel)?;
        check::<f32>(&rows, &cols, measure, kernel)?;
    }

    #[test]
    fn long_functions(rows in functions(8, 5000), cols in functions(8, 5000), measure in measures(), tiled in any::<bool>()) {
        let kernel = if tiled { PcfKernel::Tiled } else { PcfKernel::Direct };
        check::<f64>(&rows, &cols, measure, kernel)?;
        check::<f32>(&rows, &cols, measure, kernel)?;
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
        let engine = engine_of(gpus, Settings { memory_budget, block_side: Some(side), ..Settings::default() });
        let symmetric = match measure {
            Measure::Lp(p) => Pairwise::pdist(&set, p).unwrap(),
            Measure::Inner => Pairwise::l2_kernel(&set),
        }.with_kernel(kernel);
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

/// Functions of any lengths in tiles with every mixture of short and long, more than one tile in both directions.
#[test]
fn uneven_lengths() -> Result {
    let set: PcfSet<f64> = random::uneven(90, 700, 5)?;
    for kernel in KERNELS {
        let found = Pairwise::pdist(&set, 1.0)?.with_kernel(kernel).compute(&engine(), Layout::Dense, Control::default())?;
        for i in 0..set.len() {
            for j in 0..i {
                let exact = brute(set.get(i).points(), set.get(j).points(), Measure::Lp(1.0));
                let found = found[i * set.len() + j];
                assert!((found - exact).abs() <= 1e-13 * exact, "{kernel:?} {i} {j}: {found} for {exact}");
            }
        }
    }
    Ok(())
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
            let (f, g) = (wide.get(i).points(), wide.get(j).points());
            let exact = brute(f, g, Measure::Lp(1.0));
            let error = (f64::from(found[i * set.len() + j]) - exact).abs();
            assert!(error <= bound(f, g, Measure::Lp(1.0), exact, f32::UNIT_ROUNDOFF), "{i} {j}: {error} of {exact}");
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
fn higher_ranks_are_joined() -> Result {
    let a: PcfSet<f32> = random::uniform(6, 9, 1)?.with_shape(&[2, 3])?;
    let b: PcfSet<f32> = random::uniform(4, 5, 2)?.with_shape(&[1, 4])?;
    let cdist = Pairwise::cdist(&a, &b, Measure::Lp(1.0))?;
    assert_eq!(cdist.shape(Layout::Dense)?, [2, 3, 1, 4]);
    let found = cdist.compute(&engine(), Layout::Dense, Control::default())?;
    for (k, &found) in found.iter().enumerate() {
        let expected = lp_distance(a.get(k / 4), b.get(k % 4), 1.0)?;
        assert!((found - expected).abs() <= 1e-5 * expected);
    }
    for layout in [Layout::Condensed, Layout::Packed] {
        assert_eq!(cdist.shape(layout), Err(PairwiseError::NotSymmetric));
        assert_eq!(cdist.compute(&engine(), layout, Control::default()), Err(PairwiseError::NotSymmetric));
    }
    assert_eq!(Pairwise::l2_kernel(&a).shape(Layout::Condensed), Err(PairwiseError::Diagonal));
    assert_eq!(Pairwise::l2_kernel(&a).shape(Layout::Packed)?, [21]);
    Ok(())
}

#[test]
fn no_functions_and_one() -> Result {
    let (none, one) = (PcfSet::<f64>::from_functions([]), PcfSet::from_functions([Pcf::new([(0.0, 2.0), (3.0, 0.0)])?]));
    let compute = |matrix: Pairwise<f64>, layout| compute(matrix, &engine(), layout);
    assert!(compute(Pairwise::pdist(&none, 1.0)?, Layout::Condensed)?.is_empty());
    assert!(compute(Pairwise::pdist(&one, 1.0)?, Layout::Condensed)?.is_empty());
    assert_eq!(compute(Pairwise::pdist(&one, 1.0)?, Layout::Dense)?, [0.0]);
    assert_eq!(compute(Pairwise::l2_kernel(&one), Layout::Packed)?, [12.0]);
    assert!(compute(Pairwise::cdist(&one, &none, Measure::Inner)?, Layout::Dense)?.is_empty());
    Ok(())
}

#[test]
fn what_is_wrong() -> Result {
    let set: PcfSet<f64> = random::uniform(10, 10, 3)?;
    for p in [0.5, f64::NAN, f64::INFINITY, -1.0] {
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

/// Whatever the blocks are, the entries on a device have their places.
#[test]
fn stays_on_the_device() -> Result {
    for n in [2, 31, 32, 33, 70] {
        let (a, b): (PcfSet<f32>, PcfSet<f32>) = (random::uniform(n, 12, 5)?, random::uniform(41, 7, 6)?);
        for side in [1, 7, 32, 300] {
            let engine = engine_of(1, Settings { block_side: Some(side), ..Settings::default() });
            for layout in [Layout::Condensed, Layout::Packed, Layout::Dense] {
                compute(Pairwise::pdist(&a, 1.0)?, &engine, layout)?;
                if layout != Layout::Condensed {
                    compute(Pairwise::l2_kernel(&a), &engine, layout)?;
                }
            }
            compute(Pairwise::cdist(&a, &b, Measure::Lp(2.0))?, &engine, Layout::Dense)?;
        }
    }
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

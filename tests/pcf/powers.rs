//! Distances of any exponent, and of numbers of any size, against sums of logarithms.

use gpu_kernels::pcf::Scalar as _;
use num_bigint::BigInt;
use warpsmith::{
    device::{Backend, Device},
    engine::{Control, Engine},
    pcf::{Layout, Measure, Pairwise, Pcf, PcfKernel, PcfReal, PcfRef, PcfSet, lp_distance, lp_norm, random},
};

fn engine() -> Engine {
    Engine::new([Device::best().expect("the backend that was asked for")]).unwrap()
}

/// The distance of two functions that end on 0, by the logarithms of all terms.
fn exact<T: PcfReal>(f: &Pcf<T>, g: &Pcf<T>, p: f64) -> f64 {
    let mut times: Vec<f64> = f.points().iter().chain(g.points()).map(|point| point.t.to_f64()).collect();
    times.sort_by(f64::total_cmp);
    times.dedup();
    let difference = |t: f64| (f.value_at(T::from_f64(t)).to_f64() - g.value_at(T::from_f64(t)).to_f64()).abs();
    // Logarithms of numbers around 1 have the least error.
    let largest = times.iter().map(|&t| difference(t)).fold(f64::MIN_POSITIVE, f64::max);
    let unit = 2f64.powi(largest.log2() as i32);
    let terms = times.windows(2).map(|pair| (pair[1] - pair[0]).ln() / p + (difference(pair[0]) / unit).ln());
    let terms: Vec<f64> = terms.collect();
    let largest = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return 0.0;
    }
    (largest + terms.iter().map(|term| (p * (term - largest)).exp()).sum::<f64>().ln() / p).exp() * unit
}

/// Functions with random steps of these heights, the last one without any.
fn of_heights<T: PcfReal>(heights: &[f64], points: usize, time: f64) -> PcfSet<T> {
    let set: PcfSet<f64> = random::uniform(heights.len(), points, 5).unwrap();
    PcfSet::from_functions(set.iter().zip(heights).map(|(function, height)| {
        let scaled = |(t, v)| (T::from_f64(t * time), T::from_f64(v * height));
        Pcf::new(function.points().iter().map(|point| scaled((point.t, point.v)))).unwrap()
    }))
}

/// Checks all distances and norms of a set.
fn check<T: PcfReal>(set: &PcfSet<T>, p: f64) {
    let functions: Vec<Pcf<T>> = set.iter().map(|function| function.to_pcf()).collect();
    let largest_time = set.max_time().to_f64().max(T::MIN_POSITIVE.to_f64());
    let largest = set.points().iter().map(|point| point.v.to_f64().abs()).fold(0.0, f64::max);
    let near = |found: T, f: &Pcf<T>, g: &Pcf<T>, from_gpu: bool, what: &str| {
        let (exact, found) = (exact(f, g, p), found.to_f64());
        let (least, most) = (T::MIN_POSITIVE.to_f64(), 1.0 / T::MIN_POSITIVE.to_f64());
        let terms = (f.points().len() + g.points().len()) as f64;
        // GPUs take logarithms in single precision to so many bits.
        let approximate = if from_gpu && size_of::<T>() == 4 { 8.0 * (2.0 * largest / exact.max(least)).ln().abs() } else { 0.0 };
        // Roots of widths lose what 1 / p is rounded by, times their logarithms. So does the sum of logarithms.
        let widths = 4.0 * largest_time.ln().abs() / p;
        let relative = (terms + 48.0 + approximate + widths) * T::UNIT_ROUNDOFF;
        let error = (found - exact).abs();
        let fits = error <= relative * exact + terms * least || (exact > most && found >= most);
        assert!(fits, "p {p}, {} {what}: {found:e} for {exact:e}, error {error:e}, bound {relative:e}", T::NAME);
    };
    let (engine, zero) = (engine(), Pcf::zero());
    let gpu = engine.devices()[0].backend() == Backend::Cuda;
    for (i, f) in functions.iter().enumerate() {
        near(lp_norm(f, p).unwrap(), f, &zero, false, "norm");
        for g in &functions[..i] {
            near(lp_distance(f, g, p).unwrap(), f, g, false, "distance");
        }
    }
    for kernel in [PcfKernel::Tiled, PcfKernel::Direct] {
        let matrix = Pairwise::pdist(set, p).unwrap().with_kernel(kernel);
        let found = matrix.compute(&engine, Layout::Dense, Control::default()).unwrap();
        assert!(!matrix.is_finite() || found.iter().all(|entry| entry.is_finite()), "p {p}, {}", T::NAME);
        for (k, &entry) in found.iter().enumerate().filter(|(k, _)| k / functions.len() != k % functions.len()) {
            let (f, g) = (&functions[k / functions.len()], &functions[k % functions.len()]);
            near(entry, f, g, gpu, &format!("{kernel:?} {k}"));
        }
    }
}

const EXPONENTS: [f64; 16] = [1.0, 1.001, 1.5, 2.0, 2.5, 2.7, 3.0, 3.5, 7.0, 10.0, 31.5, 32.0, 32.5, 1000.0, 1e6, 1e30];

/// Powers of these numbers leave the range of their type.
#[test]
fn numbers_of_any_size() {
    for p in EXPONENTS {
        for height in [1e-37, 1e-30, 1e-16, 1.0, 1e4, 1e18] {
            for time in [1e-25, 1.0, 1e18] {
                check(&of_heights::<f32>(&[height, 0.5 * height, height, 0.0], 6, time), p);
            }
        }
        for height in [1e-300, 1e-150, 1.0, 1e100, 1e153] {
            for time in [1e-200, 1.0, 1e150] {
                check(&of_heights::<f64>(&[height, 0.5 * height, height, 0.0], 6, time), p);
            }
        }
    }
}

/// Next to a function of large values, differences of others are tiny, and don't come to 0.
#[test]
fn tiny_differences_beside_a_large_one() {
    for p in EXPONENTS {
        for tiny in [1e-3, 1e-10, 1e-20, 1e-37] {
            check(&of_heights::<f32>(&[1.0, tiny, 1e18, 2.0 * tiny, tiny], 5, 3.0), p);
        }
        for tiny in [1e-5, 1e-100, 1e-300] {
            check(&of_heights::<f64>(&[1.0, tiny, 1e150, 2.0 * tiny, tiny], 5, 3.0), p);
        }
    }
}

/// A short time with the largest difference counts for less than a long one with one that is a little smaller.
#[test]
fn heights_and_widths_trade_off() {
    let zero = Pcf::zero();
    for p in EXPONENTS {
        let f = Pcf::<f32>::new([(0.0, 1.0), (1e-37, 0.9), (1e18, 0.0)]).unwrap();
        check(&PcfSet::from_functions([f, zero.clone()]), p);
    }
}

/// Powers of these heights are infinite or zero in single precision.
#[test]
fn constants_have_closed_forms() {
    let of = |height: f32| PcfSet::from_functions([Pcf::new([(0.0, height), (4.0, 0.0)]).unwrap(), Pcf::zero()]);
    for (height, p) in [(1e4f32, 10.0), (1e-16, 3.0), (3e18, 2.0), (1e-30, 2.0), (7.0, 1e9)] {
        let set = of(height);
        let found = Pairwise::pdist(&set, p).unwrap().compute(&engine(), Layout::Condensed, Control::default()).unwrap()[0];
        let exact = f64::from(height) * 4f64.powf(1.0 / p);
        assert!((f64::from(found) / exact - 1.0).abs() < 1e-6, "{height} at {p}: {found} for {exact}");
    }
}

/// A part scales differences as the whole matrix does: their bits are the same.
#[test]
fn parts_of_a_matrix_with_a_large_function() {
    let set = of_heights::<f32>(&[1.0, 0.3, 1e6, 0.7, 1e-3], 20, 1.0);
    let part = set.take(&[0, 1, 3, 4]).unwrap();
    for p in [2.0, 2.7, 3.0, 3.5] {
        for kernel in [PcfKernel::Tiled, PcfKernel::Direct] {
            let whole = Pairwise::cdist(&set, &set, Measure::Lp(p)).unwrap().with_kernel(kernel);
            let cut = Pairwise::cdist(&part, &part, Measure::Lp(p)).unwrap().with_kernel(kernel).part_of(&set, &set);
            let [whole, cut] = [whole, cut].map(|m| m.compute(&engine(), Layout::Dense, Control::default()).unwrap());
            let rows = whole.chunks(5).enumerate().filter(|(i, _)| *i != 2);
            let expected = rows.flat_map(|(_, row)| [row[0], row[1], row[3], row[4]]);
            assert!(expected.map(f32::to_bits).eq(cut.into_iter().map(f32::to_bits)), "p {p}");
        }
    }
}

/// Rows keep distances whose powers overflow.
#[test]
fn rows_of_large_distances() {
    let set = PcfSet::from_functions([0.0, 1e4f32, 3e4, 6e4].map(|h| Pcf::new([(0.0, h), (1.0, 0.0)]).unwrap()));
    let matrix = Pairwise::pdist(&set, 10.0).unwrap();
    let (nearest, _) = matrix.nearest(&engine(), 1, Control::default()).unwrap();
    assert_eq!(nearest.indices, [1, 0, 1, 2]);
    let (sums, _) = matrix.row_sums(&engine(), Control::default()).unwrap();
    assert!(sums.iter().zip([1e5, 8e4, 8e4, 1.4e5]).all(|(sum, exact)| (sum / exact - 1.0).abs() < 1e-6), "{sums:?}");
    let (below, _) = matrix.below(&engine(), 2.5e4, Control::default()).unwrap();
    assert_eq!(below.columns, [1, 0, 2, 1]);
}

/// The relative difference of r^q from x^k, of positive numbers, in exact arithmetic.
fn difference(r: f64, q: u32, x: f64, k: u32) -> f64 {
    let parts = |number: f64| {
        let bits = number.to_bits();
        (BigInt::from(bits & ((1 << 52) - 1) | 1 << 52), (bits >> 52) as i64 - 1075)
    };
    let (r, x) = (parts(r), parts(x));
    let (left, right) = (r.1 * i64::from(q), x.1 * i64::from(k));
    let least = left.min(right);
    let (r, x) = (r.0.pow(q) << (left - least), x.0.pow(k) << (right - least));
    let quotient: BigInt = ((r - &x) << 128) / x;
    quotient.to_string().parse::<f64>().unwrap() / 2f64.powi(128)
}

/// Polynomials keep the error that they promise, against powers of whole numbers: x^(k/4), and the roots of sums.
#[test]
fn powers_in_exact_arithmetic() {
    let numbers: PcfSet<f64> = random::uniform(1, 1000, 3).unwrap();
    for (i, point) in numbers.points().iter().enumerate().filter(|(_, point)| point.v > 0.0) {
        let x = point.v * [1.0, 1e-3, 1e-9, 1e-30][i % 4];
        for k in (4..60).step_by(1 + i % 5) {
            let p = f64::from(k) / 4.0;
            let bound = 2.0 * p + 4.0;
            let power = f64::accurate_power(x, [p, 0.0]);
            // To first order, r^4 is off by four times as much.
            let error = difference(power, 4, x, k) / 4.0 / f64::EPSILON * 2.0;
            assert!(power < 1e-290 || error.abs() < bound, "{x}^{p}: {error} roundoffs");
            let narrow = x as f32;
            let power = f32::accurate_power(narrow, [p as f32, 0.0]);
            let error = difference(power.into(), 4, narrow.into(), k) / 4.0 / f64::from(f32::EPSILON) * 2.0;
            assert!(power < 1e-36 || error.abs() < bound, "{narrow}^{p}: {error} roundoffs in single precision");
        }
        for q in [3, 7] {
            let (root, sum) = (1.0 / f64::from(q), 1e20 * x);
            let rest = (-f64::from(q)).mul_add(root, 1.0) / f64::from(q);
            let error = difference(f64::accurate_power(sum, [root, rest]), q, sum, 1) / f64::from(q) / f64::EPSILON * 2.0;
            assert!(error.abs() < 5.0, "root {q} of {sum}: {error} roundoffs");
        }
    }
    for p in [1.0, 2.7, 50.0, 1e6, 1e300] {
        assert_eq!([0.0, 1.0].map(|x| f64::accurate_power(x, [p, 0.0])), [0.0, 1.0], "{p}");
        assert_eq!([0.0, 1.0].map(|x| f32::accurate_power(x, [(p as f32).min(1e38), 0.0])), [0.0, 1.0], "{p}");
    }
}

/// Checks that the CPU's matrix has the bits of distances one at a time, which use no vectors.
fn check_vectors<T: PcfReal>(set: &PcfSet<T>, p: f64) {
    // Differences are scaled alike if the largest values are the same.
    let highest = set.points().iter().map(|point| point.v.to_f64()).fold(0.0, f64::max);
    let with_highest = |f: PcfRef<'_, T>| {
        let points = f.points().iter().enumerate();
        Pcf::new(points.map(|(k, point)| (point.t, if k == 0 { T::from_f64(highest) } else { point.v }))).unwrap()
    };
    let set = PcfSet::from_functions(set.iter().map(with_highest));
    let engine = Engine::new([Device::cpu()]).unwrap();
    let found = Pairwise::pdist(&set, p).unwrap().compute(&engine, Layout::Dense, Control::default()).unwrap();
    for (k, entry) in found.iter().enumerate().filter(|(k, _)| k / set.len() != k % set.len()) {
        let single = lp_distance(set.get(k / set.len()), set.get(k % set.len()), p).unwrap();
        assert!(entry.to_f64().to_bits() == single.to_f64().to_bits(), "p {p}, entry {k}, {}: {entry}, {single}", T::NAME);
    }
}

/// Lengths are around those of batches, of merges and of functions of the same times.
#[test]
fn vectors_make_the_same_powers() {
    for points in [1, 2, 3, 5, 9, 10, 16, 17, 18, 25, 33] {
        let random: PcfSet<f64> = random::uniform(9, points, 7).unwrap();
        let times: Vec<f64> = random.get(0).points().iter().map(|point| point.t).collect();
        let aligned = random.iter().map(|f| Pcf::new(times.iter().copied().zip(f.points().iter().map(|point| point.v))).unwrap());
        for set in [PcfSet::from_functions(aligned), random.clone()] {
            for p in [1.001, 2.7, 40.0] {
                check_vectors(&set, p);
                check_vectors(&set.cast::<f32>().unwrap(), p);
            }
        }
    }
}

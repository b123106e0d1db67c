//! Oracles for matrices and integrals: another program's answers, and a brute force; and functions
//! to try them on.

use std::{collections::BTreeSet, fs::File, path::Path};

use ndarray::{Array1, Array2};
use ndarray_npy::NpzReader;
use proptest::prelude::*;
use warpsmith::pcf::{Measure, Pcf, PcfRef, PcfSet, Point};

/// Two sets of functions, and the distances and inner products that masspcf 0.4.1 gave on its CPU backend in float64.
/// Both sets mix random, regular and long-tailed breakpoints, and functions of a single point; all end on 0.
pub fn masspcf() -> (PcfSet<f64>, PcfSet<f64>, NpzReader<File>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/pcf.npz");
    let mut npz = NpzReader::new(File::open(path).unwrap()).unwrap();
    let mut set = |name: &str| {
        let offsets: Array1<i64> = npz.by_name(&format!("{name}_offsets")).unwrap();
        let points: Array2<f64> = npz.by_name(&format!("{name}_points")).unwrap();
        let points = points.rows().into_iter().map(|row| Point::new(row[0], row[1])).collect();
        PcfSet::from_parts(offsets.iter().map(|&offset| offset as usize).collect(), points).unwrap()
    };
    (set("a"), set("b"), npz)
}

/// The integral by another way: both functions are evaluated between all breakpoints of either, and the terms are summed
/// with Neumaier's compensation. Returns the integral of the magnitude, too.
pub fn brute(f: PcfRef<'_, f64>, g: PcfRef<'_, f64>, integrand: impl Fn(f64, f64) -> f64) -> (f64, f64) {
    let mut times: Vec<f64> = f.points().iter().chain(g.points()).map(|point| point.t).collect();
    times.sort_by(f64::total_cmp);
    times.dedup();
    let (mut sum, mut lost, mut magnitude) = (0.0f64, 0.0, 0.0);
    for pair in times.windows(2) {
        let middle = pair[0] + (pair[1] - pair[0]) / 2.0;
        let value = |h: PcfRef<'_, f64>| h.points()[h.points().partition_point(|point| point.t <= middle) - 1].v;
        let term = (pair[1] - pair[0]) * integrand(value(f), value(g));
        let next = sum + term;
        lost += if sum.abs() >= term.abs() { (sum - next) + term } else { (term - next) + sum };
        sum = next;
        magnitude += term.abs();
    }
    (sum + lost, magnitude)
}

/// The measure by its definition, and the integral of the magnitude.
pub fn exact(f: PcfRef<'_, f64>, g: PcfRef<'_, f64>, measure: Measure) -> (f64, f64) {
    let (a, b) = (f.tail(), g.tail());
    match measure {
        Measure::Lp(f64::INFINITY) => {
            let value = |h: PcfRef<'_, f64>, t: f64| h.points()[h.points().partition_point(|point| point.t <= t) - 1].v;
            let difference = |point: &Point<f64>| (value(f, point.t) - value(g, point.t)).abs();
            let largest = f.points().iter().chain(g.points()).map(difference).fold(0.0, f64::max);
            (largest, largest)
        }
        Measure::Lp(_) if a != b => (f64::INFINITY, f64::INFINITY),
        Measure::Lp(p) => {
            let (sum, magnitude) = brute(f, g, |a, b| (a - b).abs().powf(p));
            (sum.powf(1.0 / p), magnitude)
        }
        Measure::Inner if a != 0.0 && b != 0.0 => (f64::INFINITY * a.signum() * b.signum(), f64::INFINITY),
        Measure::Inner => brute(f, g, |a, b| a * b),
    }
}

/// The error that an entry in precision `unit` may have: the bound that `Pairwise` states, for general p with what powers
/// lose.
pub fn bound(f: PcfRef<'_, f64>, g: PcfRef<'_, f64>, measure: Measure, (exact, magnitude): (f64, f64), unit: f64) -> f64 {
    let terms = (f.points().len() + g.points().len() + 2) as f64;
    match measure {
        Measure::Lp(f64::INFINITY) => unit * exact,
        Measure::Lp(1.0 | 2.0) => terms * unit * exact,
        Measure::Lp(p) => (terms + 16.0 * p + 16.0 + 2.0 * exact.ln().abs()) * unit * exact,
        Measure::Inner => terms * unit * magnitude,
    }
}

/// Distribution of breakpoints.
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
pub fn functions(functions: usize, longest: usize) -> impl Strategy<Value = PcfSet<f64>> {
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

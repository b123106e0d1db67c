//! The demonstration of matrices of piecewise constant functions.

use rayon::prelude::*;

use super::{Checked, Error, Row, Setting, timed};
use crate::{
    device::Backend,
    engine::{Control, Engine, advise_huge_pages, zeroed_vec},
    pcf::{Layout, Pairwise, PcfSet, l2_inner, lp_distance, random},
};

/// Number of breakpoints of each function.
const POINTS: usize = 100;
/// Maximum number of pairs that are computed on the host, too, spread over all.
const SAMPLE: usize = 100_000;

/// Computes distances and inner products of all pairs of random functions.
pub fn section(setting: &Setting) -> Result<Vec<Row>, Error> {
    let device = &setting.device;
    let n = if device.backend() == Backend::Cuda { 10_000 } else { 1_000 };
    let set: PcfSet<f32> = random::uniform(n, POINTS, 0)?;
    let engine = Engine::new([device.clone()])?;
    let size = (n, format!("functions x {POINTS}"));
    let row = |what: &str, size: (usize, String), steps: u128, ms, checked| Row {
        what: what.to_owned(),
        size,
        work: (steps as usize, "steps"),
        ms,
        checked,
    };

    // The reference is computed in double precision from the same functions.
    let exact: PcfSet<f64> = set.cast()?;
    let pairs: Vec<_> = sample(n).collect();
    let distance = |&(i, j): &(usize, usize)| lp_distance(exact.get(i), exact.get(j), 1.0);
    let (distances, ms) = timed(|| pairs.par_iter().map(distance).collect::<Result<Vec<_>, _>>())?;
    let pairs_size = (pairs.len(), "pairs".to_owned());
    let steps = (pairs.len() * 2 * (POINTS - 1)) as u128;
    let mut rows = vec![row("pair by pair on the host, all cores", pairs_size, steps, ms, Checked::Reference)];
    let products: Vec<_> = pairs.par_iter().map(|&(i, j)| l2_inner(exact.get(i), exact.get(j))).collect();

    let _turn = setting.turn();
    for (what, pairwise, expected) in [
        ("pdist, L1, condensed, f32", Pairwise::pdist(&set, 1.0)?, distances),
        ("l2_kernel, dense, f32", Pairwise::l2_kernel(&set), products),
    ] {
        let layout = if what.contains("dense") { Layout::Dense } else { Layout::Condensed };
        let mut out = zeroed_vec(pairwise.shape(layout)?.iter().product())?;
        advise_huge_pages(&mut out);
        let ms = setting
            .best(1, || Ok(1e3 * pairwise.compute_into(&engine, layout, &mut out, Control::default())?.time.as_secs_f64()))?;
        let place = |(i, j): (usize, usize)| match layout {
            Layout::Dense => i * n + j,
            Layout::Condensed => n * i - i * (i + 1) / 2 + j - i - 1,
            Layout::Packed => j * (j + 1) / 2 + i,
        };
        let checked = compare(pairs.iter().map(|&pair| (pair, out[place(pair)])), &expected);
        rows.push(row(what, size.clone(), pairwise.merge_steps(), ms, checked));
    }
    Ok(rows)
}

/// Returns pairs i < j of n functions, in equal steps through the condensed matrix.
fn sample(n: usize) -> impl Iterator<Item = (usize, usize)> {
    let stride = (n * (n - 1) / 2).div_ceil(SAMPLE).max(1);
    (0..n).flat_map(move |i| (i + 1..n).map(move |j| (i, j))).step_by(stride)
}

/// Compares entries with the reference, within the rounding error of single precision. It is (2 m +
/// 2) u for functions with m breakpoints because all values are positive.
fn compare(found: impl Iterator<Item = ((usize, usize), f32)>, expected: &[f64]) -> Checked {
    let bound = (2 * POINTS + 2) as f64 * f64::from(f32::EPSILON) / 2.0;
    for (((i, j), found), expected) in found.zip(expected) {
        let error = (f64::from(found) - expected).abs();
        if error.is_nan() || error > bound * expected {
            return Checked::Wrong(format!("entry ({i}, {j}) came to {found}, and on the host to {expected}"));
        }
    }
    Checked::Near
}

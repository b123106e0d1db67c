//! The demonstration of overlaps.

use rayon::prelude::*;

use super::{Checked, Error, Row, Setting, timed};
use crate::{
    device::Backend,
    overlap::{Evaluation, Overlap, Packings, Shape, Wanted, area, convex_intersection, random},
};

/// Number of trees in each packing.
const TREES: usize = 120;
/// Number of packings, spread over all, that are computed on the host, too.
const SAMPLE: usize = 16;
/// Half the distance between the poses whose difference approximates a derivative.
const STEP: f64 = 1e-6;
/// Tolerance for such differences: about the step times a second derivative.
const DIFFERENCE: f64 = 1e-4;

/// Computes overlaps in many random packings of trees at once.
pub fn section(setting: &Setting) -> Result<Vec<Row>, Error> {
    let device = &setting.device;
    let on_gpu = device.backend() == Backend::Cuda;
    let n = if on_gpu { 1024 } else { 64 };
    let packings = random::uniform(n, TREES, 0.65 * (TREES as f64).sqrt(), 0);
    let tree = Shape::tree();
    let pairs = |packings: usize| packings * TREES * (TREES - 1) / 2;
    let row = |what: &str, packings: usize, ms, checked| {
        let size = (packings, format!("x {TREES} trees"));
        Row { what: what.to_owned(), size, work: (pairs(packings), "pairs"), ms, checked }
    };

    let mut overlap = Overlap::<f64>::new(device, std::slice::from_ref(&tree))?;
    device.preload(&[false, true].map(|gradient| overlap.kernels(gradient)).concat());
    let sample: Vec<usize> = (0..SAMPLE).map(|index| index * n / SAMPLE).collect();
    let total = |&packing: &usize| total(&tree, packings.get(packing));
    let (expected, ms) = timed(|| Ok::<_, Error>(sample.par_iter().map(total).collect::<Vec<f64>>()))?;
    let mut rows = vec![row("piece by piece on the host, all cores", SAMPLE, ms, Checked::Reference)];

    let _turn = setting.turn();
    for (what, wanted) in [("areas, f64", Wanted::TOTALS), ("areas and derivatives, f64", Wanted::GRADIENT)] {
        let mut found = None;
        let ms = setting.best(1, || {
            let (again, ms) = timed(|| overlap.evaluate(&packings, wanted))?;
            found = Some(again);
            Ok(ms)
        })?;
        let found = found.expect("it ran at least once");
        rows.push(row(what, n, ms, check(&tree, &packings, &found, &sample, &expected)));
    }
    Ok(rows)
}

/// Adds up the areas of all pairs on the host.
fn total(tree: &Shape, poses: &[[f64; 3]]) -> f64 {
    let placed: Vec<Vec<_>> = poses.iter().map(|&pose| tree.posed_pieces(pose).collect()).collect();
    let all = (0..poses.len()).flat_map(|first| (first + 1..poses.len()).map(move |second| (first, second)));
    // No vertex is farther than 1 from a tree's origin.
    let near = |first: [f64; 3], second: [f64; 3]| (first[0] - second[0]).hypot(first[1] - second[1]) < 2.0;
    all.filter(|&(first, second)| near(poses[first], poses[second])).map(|(i, j)| common(&placed[i], &placed[j])).sum()
}

/// Returns the area that two trees have in common.
fn common(first: &[Vec<[f64; 2]>], second: &[Vec<[f64; 2]>]) -> f64 {
    let rings = first.iter().flat_map(|first| second.iter().map(move |second| convex_intersection(first, second)));
    rings.map(|ring| area(&ring)).sum()
}

/// Compares totals with the host's, and derivatives with finite differences of the host's.
fn check(tree: &Shape, packings: &Packings, found: &Evaluation<f64>, sample: &[usize], expected: &[f64]) -> Checked {
    for (&packing, &expected) in sample.iter().zip(expected) {
        let found = found.totals[packing];
        if (found - expected).abs() > 1e-12 * expected {
            return Checked::Wrong(format!("the area of packing {packing} came to {found}, and on the host to {expected}"));
        }
    }
    if found.gradient.is_empty() {
        return Checked::Near;
    }
    let wrong = sample.par_iter().enumerate().find_map_first(|(index, &packing)| {
        let (poses, pose) = (packings.get(packing), index * TREES / SAMPLE);
        let gradient = found.gradient[packings.range(packing).start + pose];
        (0..3).find_map(|field| {
            let at = |step: f64| {
                let mut moved = poses.to_vec();
                moved[pose][field] += step;
                total(tree, &moved)
            };
            let (derivative, difference) = (gradient[field], (at(STEP) - at(-STEP)) / (2.0 * STEP));
            let text = || {
                format!(
                    "packing {packing}, pose {pose}: derivative {field} came to {derivative}, and by differences to {difference}"
                )
            };
            ((derivative - difference).abs() > DIFFERENCE).then(text)
        })
    });
    wrong.map_or(Checked::Near, Checked::Wrong)
}

//! Stability, and the Euler characteristic.

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{RngCore, SeedableRng},
};
use warpsmith::{
    device::Device,
    homology::{Clouds, Options, Rips},
};

use crate::bars::{euclidean, symmetric};

type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// Returns true if the bars of two diagrams can be matched so that births and deaths of a match differ by at most `most`, and
/// bars without a match are at most twice as long: if the bottleneck distance is at most `most`.
fn is_near(first: &[[f64; 2]], second: &[[f64; 2]], most: f64) -> bool {
    let (n, m) = (first.len(), second.len());
    let near = |a: f64, b: f64| a == b || (a - b).abs() <= most;
    let short = |[birth, death]: [f64; 2]| death - birth <= 2.0 * most;
    // On each side, the other's bars have a place on the diagonal each.
    let matches = |a: usize, b: usize| match (a < n, b < m) {
        (true, true) => near(first[a][0], second[b][0]) && near(first[a][1], second[b][1]),
        (true, false) => a == b - m && short(first[a]),
        (false, true) => b == a - n && short(second[b]),
        (false, false) => true,
    };
    fn augment(
        a: usize,
        size: usize,
        matches: &dyn Fn(usize, usize) -> bool,
        seen: &mut [bool],
        of: &mut [Option<usize>],
    ) -> bool {
        for b in 0..size {
            if matches(a, b) && !std::mem::replace(&mut seen[b], true) {
                let free = of[b].is_none_or(|other| augment(other, size, matches, seen, of));
                if free {
                    of[b] = Some(a);
                    return true;
                }
            }
        }
        false
    }
    let mut of = vec![None; n + m];
    (0..n + m).all(|a| augment(a, n + m, &matches, &mut vec![false; n + m], &mut of))
}

/// The bottleneck distance of the bars of two matrices of distances is at most the largest difference of two distances, and
/// for points thus at most twice as large as the longest way that a point is moved.
#[test]
fn bars_are_stable() -> Result {
    let device = Device::best()?;
    let stream = device.stream()?;
    let mut rips = Rips::<f64>::new(&device, false)?;
    let mut rng = ChaCha8Rng::seed_from_u64(21);
    let mut random = move || f64::from(rng.next_u32() % 1024) / 1024.0;
    for n in [2, 5, 12, 24] {
        for by in [1.0 / 1024.0, 1.0 / 64.0, 0.25] {
            let (mut spaces, mut bounds) = (Vec::new(), Vec::new());
            for _ in 0..20 {
                // Numbers of few bits, whose differences are exact.
                let distances = symmetric(n, || 1.0 + random());
                let changes = symmetric(n, || by * random());
                let moved: Vec<f64> = distances.iter().zip(&changes).map(|(a, b)| a + b).collect();
                bounds.push(changes.into_iter().fold(0.0, f64::max));
                spaces.extend([distances, moved]);
                let points: Vec<f64> = (0..2 * n).map(|_| random()).collect();
                // A point moves by at most `by` in all.
                let moved: Vec<f64> = points.iter().map(|x| x + by * (random() - 0.5)).collect();
                spaces.extend([euclidean(&points, 2), euclidean(&moved, 2)]);
                bounds.push(2.0 * by * 0.5f64.sqrt() + 1e-12);
            }
            let numbers = spaces.concat();
            let clouds = Clouds::distances(&numbers, vec![n; spaces.len()])?;
            let diagrams = rips.compute(&stream, &clouds, &Options { degree: 2, ..Options::default() })?;
            for (pair, bound) in bounds.into_iter().enumerate() {
                let difference =
                    spaces[2 * pair].iter().zip(&spaces[2 * pair + 1]).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(difference <= bound);
                for degree in 0..3 {
                    let bars = |cloud| &diagrams.values(degree)[diagrams.range(cloud, degree)];
                    let (first, second) = (bars(2 * pair), bars(2 * pair + 1));
                    assert!(is_near(first, second, difference), "{n} points, degree {degree}: {first:?}, {second:?}");
                }
            }
        }
    }
    // The oracle tells a difference.
    assert!(is_near(&[[0.0, 1.0]], &[], 0.5) && !is_near(&[[0.0, 1.0]], &[], 0.49));
    assert!(is_near(&[[0.0, 9.0], [1.0, 2.0]], &[[0.5, 9.0]], 0.5) && !is_near(&[[0.0, 9.0], [1.0, 2.25]], &[[0.5, 9.0]], 0.5));
    assert!(
        !is_near(&[[0.0, f64::INFINITY]], &[[0.0, 9.0]], 4.0) && is_near(&[[0.0, f64::INFINITY]], &[[1.0, f64::INFINITY]], 1.0)
    );
    Ok(())
}

/// Sum over all sets of vertices within `t` of each other, -1 for each of an even number, by extending sets that have one.
fn euler(distances: &[f64], n: usize, t: f64, candidates: &[usize]) -> i64 {
    let with = |(i, &v): (usize, &usize)| {
        let further: Vec<usize> = candidates[i + 1..].iter().copied().filter(|&w| distances[v * n + w] <= t).collect();
        1 - euler(distances, n, t, &further)
    };
    candidates.iter().enumerate().map(with).sum()
}

/// At any time, the alternating sum of the bars alive is that of the simplices. No complex of fewer than 8 vertices has a
/// class of degree 3, and no sparse one here.
#[test]
fn bars_have_the_euler_characteristic() -> Result {
    let device = Device::best()?;
    let stream = device.stream()?;
    let mut rips = Rips::<f64>::new(&device, false)?;
    let mut rng = ChaCha8Rng::seed_from_u64(22);
    let mut random = move || f64::from(rng.next_u32() % 1024) / 1024.0;
    let mut spaces: Vec<(usize, Vec<f64>, f64)> = Vec::new();
    for _ in 0..400 {
        for n in 1..8 {
            spaces.push((n, symmetric(n, &mut random), f64::INFINITY));
            spaces.push((n, symmetric(n, || (4.0 * random()).ceil()), f64::INFINITY));
            let points: Vec<f64> = (0..3 * n).map(|_| random()).collect();
            spaces.push((n, euclidean(&points, 3), f64::INFINITY));
        }
    }
    // Up to 0.2 few of 60 points in a cube have a neighbour, and no 8 are all near each other's neighbours.
    for n in [30, 60, 100] {
        for _ in 0..10 {
            let points: Vec<f64> = (0..3 * n).map(|_| random()).collect();
            spaces.push((n, euclidean(&points, 3), 0.2));
        }
    }
    let numbers: Vec<f64> = spaces.iter().flat_map(|(_, distances, _)| distances).copied().collect();
    let clouds = Clouds::distances(&numbers, spaces.iter().map(|(n, ..)| *n).collect())?;
    let diagrams = rips.compute(&stream, &clouds, &Options { degree: 2, ..Options::default() })?;
    for (cloud, (n, distances, most)) in spaces.iter().enumerate() {
        let vertices: Vec<usize> = (0..*n).collect();
        let mut times: Vec<f64> = distances.iter().copied().filter(|t| t <= most).collect();
        times.sort_by(f64::total_cmp);
        times.dedup();
        // All times of a small space, and some of a large one.
        for &t in times.iter().step_by(times.len().div_ceil(40).max(1)) {
            let alive = |degree| {
                let bars = &diagrams.values(degree)[diagrams.range(cloud, degree)];
                bars.iter().filter(|[birth, death]| *birth <= t && t < *death).count() as i64
            };
            let found = alive(0) - alive(1) + alive(2);
            assert_eq!(found, euler(distances, *n, t, &vertices), "cloud {cloud} of {n} at {t}");
        }
    }
    Ok(())
}

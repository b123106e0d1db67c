//! Bars of clouds of all kinds, beside those of the textbook's method.

use std::{
    fs::File,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
};

use ndarray::{Array1, Array2, s};
use ndarray_npy::NpzReader;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{RngCore, SeedableRng},
};
use warpsmith::{
    common::Cancel,
    device::Device,
    graph::MinimumForests,
    homology::{self, Clouds, HomologyError, HomologyReal, Options, Rips},
};

use crate::reference;

type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// Distances of random points, computed as the kernels do.
pub fn euclidean(points: &[f64], dimension: usize) -> Vec<f64> {
    let rows: Vec<&[f64]> = points.chunks(dimension).collect();
    let distance = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).fold(0.0, |sum, x| sum + x).sqrt();
    rows.iter().flat_map(|a| rows.iter().map(move |b| distance(a, b))).collect()
}

pub fn symmetric(n: usize, mut entry: impl FnMut() -> f64) -> Vec<f64> {
    let mut distances = vec![0.0; n * n];
    for v in 0..n {
        for u in 0..v {
            distances[u * n + v] = entry();
            distances[v * n + u] = distances[u * n + v];
        }
    }
    distances
}

/// Matrices of distances of many kinds.
pub fn spaces(seed: u64) -> Vec<(usize, Vec<f64>)> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut random = move || rng.next_u32() as f64 / 2f64.powi(32);
    let mut spaces = Vec::new();
    for n in 0..20 {
        let points: Vec<f64> = (0..3 * n).map(|_| random()).collect();
        for dimension in [1, 2, 3] {
            spaces.push((n, euclidean(&points[..dimension * n], dimension)));
        }
        // A circle, with points twice in the second.
        let circle = |steps: usize| {
            (0..n)
                .flat_map(move |i| [(i % steps) as f64 / steps as f64 * std::f64::consts::TAU].map(|t| [t.cos(), t.sin()]))
                .flatten()
                .collect::<Vec<f64>>()
        };
        spaces.push((n, euclidean(&circle(n.max(1)), 2)));
        spaces.push((n, euclidean(&circle(n / 2 + 1), 2)));
        // Points of a grid: many equal distances.
        let grid: Vec<f64> = (0..n).flat_map(|i| [(i % 5) as f64, (i / 5) as f64]).collect();
        spaces.push((n, euclidean(&grid, 2)));
        // No metric at all: random numbers, few different numbers, all equal, none.
        spaces.push((n, symmetric(n, &mut random)));
        spaces.push((n, symmetric(n, || 1.0 + (3.0 * random()).floor())));
        spaces.push((n, symmetric(n, || 1.0)));
        spaces.push((n, symmetric(n, || 0.0)));
        spaces.push((n, symmetric(n, || if random() < 0.7 { f64::INFINITY } else { random() })));
        // Two parts whose edges all come before those between them: as many cycles as can be.
        spaces.push((
            n,
            (0..n * n)
                .map(|i| {
                    if i / n == i % n {
                        0.0
                    } else if (i / n + i % n) % 2 == 1 {
                        1.0
                    } else {
                        2.0
                    }
                })
                .collect(),
        ));
    }
    spaces
}

fn sorted<T: HomologyReal>(values: &[[T; 2]]) -> Vec<(f64, f64)> {
    let mut bars: Vec<_> = values.iter().map(|[birth, death]| (birth.to_f64(), death.to_f64())).collect();
    bars.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    bars
}

/// All spaces in one batch, at several thresholds.
fn check<T: HomologyReal>(seed: u64, blocks: Option<(u32, u32, u32, u64)>) -> Result {
    let device = Device::best()?;
    let stream = device.stream()?;
    let mut rips = Rips::<T>::new(&device, false)?;
    if let Some((threads, relations, sort, room)) = blocks {
        rips = rips.with_blocks(threads, relations, sort, room);
    }
    // Numbers of the type, of which the reference gets the same.
    let spaces: Vec<(usize, Vec<T>)> =
        spaces(seed).into_iter().map(|(n, distances)| (n, distances.into_iter().map(T::from_f64).collect())).collect();
    let numbers: Vec<T> = spaces.iter().flat_map(|(_, distances)| distances).copied().collect();
    for threshold in [f64::INFINITY, 1.0, 0.4, 0.0] {
        let clouds = Clouds::distances(&numbers, spaces.iter().map(|(n, _)| *n).collect())?;
        let diagrams = rips.compute(&stream, &clouds, &Options { threshold, ..Options::default() })?;
        assert_eq!(diagrams.len(), spaces.len());
        let alone = rips.compute(&stream, &clouds, &Options { threshold, degree: 0, edges: false })?;
        for (cloud, (n, distances)) in spaces.iter().enumerate() {
            let distances: Vec<f64> = distances.iter().map(|distance| distance.to_f64()).collect();
            let expected = reference::bars(&distances, *n, threshold, 1);
            for (degree, expected) in expected.iter().enumerate() {
                let found = sorted(&diagrams.values(degree)[diagrams.range(cloud, degree)]);
                assert_eq!(found, *expected, "cloud {cloud} of {n}, degree {degree}, threshold {threshold}");
                for bar in diagrams.bars(cloud, degree) {
                    for (value, edge) in [(bar.birth, bar.birth_edge), (bar.death, bar.death_edge)] {
                        let value = value.to_f64();
                        match edge {
                            Some([u, v]) => assert_eq!(value, distances[u as usize * n + v as usize]),
                            None => assert!(value == 0.0 || value == f64::INFINITY),
                        }
                    }
                }
            }
            assert_eq!(sorted(&alone.values(0)[alone.range(cloud, 0)]), expected[0]);
        }
    }
    Ok(())
}

/// Squares of these distances underflow or overflow.
#[test]
fn distances_of_all_sizes() -> Result {
    fn check<T: HomologyReal>(powers: [f64; 4]) -> Result {
        let device = Device::best()?;
        let (stream, mut rips) = (device.stream()?, Rips::<T>::new(&device, false)?);
        // Sides of 3, 4 and 5.
        let triangle = [0.0, 0.0, 3.0, 0.0, 3.0, 4.0];
        for scale in powers.map(f64::exp2) {
            let points = triangle.map(|x| T::from_f64(x * scale));
            let diagrams = rips.compute(&stream, &Clouds::points(&points, 2, vec![3])?, &Options::default())?;
            assert_eq!(sorted(diagrams.values(0)), [3.0 * scale, 4.0 * scale, f64::INFINITY].map(|death| (0.0, death)));
        }
        Ok(())
    }
    check::<f32>([-149.0, -100.0, 70.0, 125.0])?;
    check::<f64>([-1074.0, -600.0, 520.0, 1021.0])
}

#[test]
fn all_spaces_in_f64() -> Result {
    check::<f64>(1, None)
}

#[test]
fn all_spaces_in_f32() -> Result {
    check::<f32>(2, None)
}

/// Steps of several edges, and relations beyond the memory for them.
#[test]
fn blocks_and_relations_of_all_sizes() -> Result {
    check::<f32>(3, Some((32, 1, 32, 0)))?;
    check::<f64>(3, Some((64, 8, 0, 4000)))?;
    check::<f32>(4, Some((1024, 4096, 256, u64::MAX)))?;
    Ok(())
}

/// The corners of an octahedron, and points near a sphere: cavities.
#[test]
fn cavities() -> Result {
    let device = Device::best()?;
    let stream = device.stream()?;
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut random = move || rng.next_u32() as f64 / 2f64.powi(32) - 0.5;
    let mut spaces: Vec<_> = spaces(6).into_iter().filter(|(n, _)| *n <= 12).collect();
    let octahedron: Vec<f64> =
        (0..6).flat_map(|i| (0..3).map(move |k| if k == i / 2 { 1.0 - 2.0 * (i % 2) as f64 } else { 0.0 })).collect();
    spaces.push((6, euclidean(&octahedron, 3)));
    for n in [12, 16] {
        let on_sphere = |_| {
            let point = [random(), random(), random()];
            let length = point.iter().map(|x| x * x).sum::<f64>().sqrt();
            point.map(|x| x / length)
        };
        let points: Vec<f64> = (0..n).flat_map(on_sphere).collect();
        spaces.push((n, euclidean(&points, 3)));
    }
    // Parts whose edges all come after those between parts: as many cavities as can be.
    for (n, parts) in [(9, 3), (12, 3), (14, 4)] {
        let distance = |i: usize| match (i / n, i % n) {
            (u, v) if u == v => 0.0,
            (u, v) if u % parts == v % parts => 2.0,
            _ => 1.0,
        };
        spaces.push((n, (0..n * n).map(distance).collect()));
    }
    let numbers: Vec<f64> = spaces.iter().flat_map(|(_, distances)| distances).copied().collect();
    for blocks in [None, Some((32, 1, 128, 0)), Some((64, 7, 0, 20_000))] {
        let mut rips = Rips::<f64>::new(&device, false)?;
        if let Some((threads, relations, sort, room)) = blocks {
            rips = rips.with_blocks(threads, relations, sort, room);
        }
        for threshold in [f64::INFINITY, 1.0] {
            let clouds = Clouds::distances(&numbers, spaces.iter().map(|(n, _)| *n).collect())?;
            let diagrams = rips.compute(&stream, &clouds, &Options { threshold, degree: 2, ..Options::default() })?;
            for (cloud, (n, distances)) in spaces.iter().enumerate() {
                let expected = reference::bars(distances, *n, threshold, 2);
                for (degree, expected) in expected.iter().enumerate() {
                    let found = sorted(&diagrams.values(degree)[diagrams.range(cloud, degree)]);
                    assert_eq!(found, *expected, "cloud {cloud} of {n}, degree {degree}, threshold {threshold}");
                }
            }
        }
    }
    Ok(())
}

/// Clouds of 100 to 500 points, beside ripser's bars (tests/data/answers.py): one at a time, and all together, in one group
/// and in groups of like sizes.
#[test]
fn ripsers_bars() -> Result {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/homology.npz");
    let mut npz = NpzReader::new(File::open(path)?)?;
    let sizes: Array1<i64> = npz.by_name("sizes")?;
    let degrees: Array1<i64> = npz.by_name("degrees")?;
    let points: Array2<f32> = npz.by_name("points")?;
    let device = Device::best()?;
    let stream = device.stream()?;
    let all: Vec<f32> = points.iter().copied().collect();
    let clouds = Clouds::points(&all, 3, sizes.iter().map(|&size| size as usize).collect())?;
    let [mut rips, grouped] = [Rips::<f32>::new(&device, false)?, Rips::<f32>::new(&device, false)?];
    let together = [
        rips.compute(&stream, &clouds, &Options::default())?,
        grouped.with_blocks(0, 512, 0, u64::MAX).compute(&stream, &clouds, &Options::default())?,
    ];
    let mut start = 0;
    for (cloud, (&size, &degree)) in sizes.iter().zip(&degrees).enumerate() {
        let points: Vec<f32> = points.slice(s![start as isize..(start + size) as isize, ..]).iter().copied().collect();
        start += size;
        let options = Options { degree: degree as usize, ..Options::default() };
        let diagrams = rips.compute(&stream, &Clouds::points(&points, 3, vec![size as usize])?, &options)?;
        for degree in 0..=degree as usize {
            let expected: Array2<f32> = npz.by_name(&format!("bars_{cloud}_{degree}"))?;
            let end = |death: f32| if death < 0.0 { f32::INFINITY } else { death };
            let expected: Vec<_> = expected.rows().into_iter().map(|bar| [bar[0], end(bar[1])]).collect();
            assert_eq!(sorted(diagrams.values(degree)), sorted(&expected), "cloud {cloud}, degree {degree}");
            for all in together.iter().filter(|all| degree < all.degrees()) {
                let bars = &all.values(degree)[all.range(cloud, degree)];
                assert_eq!(sorted(bars), sorted(&expected), "cloud {cloud}, degree {degree}, with others");
            }
        }
    }
    Ok(())
}

/// A wrong distance in a cloud that comes first among the groups, but last among the clouds.
#[test]
fn the_cloud_of_a_wrong_distance_is_named() -> Result {
    let device = Device::best()?;
    let mut numbers = vec![0.0f32; 130 * 130];
    numbers.extend([0.0, 1.0, 2.0, 0.0]);
    let clouds = Clouds::distances(&numbers, vec![130, 2])?;
    let mut rips = Rips::<f32>::new(&device, false)?.with_blocks(0, 512, 0, u64::MAX);
    let found = rips.compute(&device.stream()?, &clouds, &Options::default());
    assert_eq!(found, Err(HomologyError::Distance { cloud: 1, u: 0, v: 1, value: 1.0, back: 2.0 }));
    Ok(())
}

/// Bars of degree 0 end at the weights of a minimum spanning tree.
#[test]
fn components_end_with_the_edges_of_a_spanning_tree() -> Result {
    let (n, device) = (200, Device::best()?);
    let stream = device.stream()?;
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let distances = symmetric(n, || f64::from(rng.next_u32() % 10_000));
    let edges: Vec<[i32; 2]> = (1..n as i32).flat_map(|v| (0..v).map(move |u| [u, v])).collect();
    let weights: Vec<f64> = edges.iter().map(|&[u, v]| distances[u as usize * n + v as usize]).collect();
    let (mut labels, mut indices) = (device.alloc(n)?, device.empty());
    let (edges, on_device) =
        (device.upload(&edges.iter().map(|&ends| ends.into()).collect::<Vec<_>>())?, device.upload(&weights)?);
    MinimumForests::new(&device, false)?.find(&stream, &edges, &on_device, &mut labels, &mut indices)?;
    let mut lengths: Vec<f64> = stream.download_vec(&indices)?.into_iter().map(|edge| weights[edge as usize]).collect();
    lengths.retain(|length| *length > 0.0);
    lengths.sort_by(f64::total_cmp);
    let clouds = Clouds::distances(&distances, vec![n])?;
    let diagrams = Rips::new(&device, false)?.compute(&stream, &clouds, &Options { degree: 0, ..Options::default() })?;
    let ends: Vec<f64> = diagrams.values(0).iter().map(|bar| bar[1]).collect();
    assert_eq!(ends[..lengths.len()], lengths);
    assert_eq!(ends[lengths.len()..], [f64::INFINITY]);
    Ok(())
}

#[test]
fn hardly_any_points() -> Result {
    let device = Device::best()?;
    let stream = device.stream()?;
    let mut rips = Rips::<f32>::new(&device, false)?;
    for sizes in [vec![], vec![0], vec![1], vec![0, 1, 0], vec![2], vec![1, 2, 0]] {
        let points: Vec<f32> = (0..sizes.iter().sum()).map(|i| i as f32).collect();
        let options = Options { degree: 2, ..Options::default() };
        let diagrams = rips.compute(&stream, &Clouds::points(&points, 1, sizes.clone())?, &options)?;
        assert_eq!(diagrams.len(), sizes.len());
        for (cloud, &size) in sizes.iter().enumerate() {
            let bars = &diagrams.values(0)[diagrams.range(cloud, 0)];
            let expected = [[0.0, 1.0], [0.0, f32::INFINITY]];
            assert_eq!(bars, &expected[2 - size..], "{sizes:?}");
            assert!(diagrams.range(cloud, 1).is_empty() && diagrams.range(cloud, 2).is_empty());
        }
    }
    Ok(())
}

/// Several parts of `m` points, 1 apart from other parts and 2 within: joins of discrete sets.
fn joined(parts: usize, m: usize) -> (usize, Vec<f32>) {
    let n = parts * m;
    let distance = |i: usize| match (i / n, i % n) {
        (u, v) if u == v => 0.0,
        (u, v) if u % parts == v % parts => 2.0,
        _ => 1.0,
    };
    (n, (0..n * n).map(distance).collect())
}

/// Both sides of the number of classes that a word has slots for, of those whose slots are in shared memory, and of those of
/// degree 2 that there is room for at first. A join of `parts` sets of `m` points has (m - 1)^parts classes.
#[test]
fn both_sides_of_the_room_for_classes() -> Result {
    let device = Device::best()?;
    let stream = device.stream()?;
    let mut rips = Rips::<f32>::new(&device, false)?;
    for (parts, m, threshold) in [(2, 9, 2.0), (2, 10, 2.0), (2, 90, 1.5), (2, 91, 1.5), (3, 5, 2.0), (3, 6, 2.0), (3, 6, 1.0)] {
        let (n, distances) = joined(parts, m);
        let options = Options { threshold, degree: parts - 1, ..Options::default() };
        let diagrams = rips.compute(&stream, &Clouds::distances(&distances, vec![n])?, &options)?;
        let death = if threshold < 2.0 { f32::INFINITY } else { 2.0 };
        assert_eq!(diagrams.values(parts - 1), vec![[1.0, death]; (m - 1).pow(parts as u32)], "{parts} parts of {m}");
    }
    Ok(())
}

/// Clouds that are divided among devices have the same bars.
#[test]
fn several_devices() -> Result {
    let device = Device::best()?;
    let stream = device.stream()?;
    let spaces = spaces(7);
    let numbers: Vec<f64> = spaces.iter().flat_map(|(_, distances)| distances).copied().collect();
    let clouds = Clouds::distances(&numbers, spaces.iter().map(|(n, _)| *n).collect())?;
    let expected = Rips::new(&device, false)?.compute(&stream, &clouds, &Options::default())?;
    let (streams, mut rips) = ([device.stream()?, device.stream()?, device.stream()?], Vec::new());
    for _ in &streams {
        rips.push(Rips::new(&device, false)?);
    }
    let done = AtomicUsize::new(0);
    let advance = |clouds| {
        done.fetch_add(clouds, Ordering::Relaxed);
    };
    let each = streams.iter().zip(&mut rips).collect();
    assert_eq!(homology::rips(each, &clouds, &Options::default(), &Cancel::new(), advance)?, expected);
    assert_eq!(done.into_inner(), clouds.len());

    let cancel = Cancel::new();
    cancel.cancel();
    let each = streams.iter().zip(&mut rips).collect();
    let cancelled = homology::rips(each, &clouds, &Options::default(), &cancel, |_| ());
    assert_eq!(cancelled, Err(HomologyError::Cancelled));
    Ok(())
}

/// Both sides of the most points of degree 2, and of all; thresholds and degrees that aren't any.
#[test]
fn limits() -> Result {
    let device = Device::best()?;
    let stream = device.stream()?;
    let mut rips = Rips::<f32>::new(&device, false)?;
    let mut compute = |n: usize, threshold, degree| {
        let points: Vec<f32> = (0..n).map(|i| i as f32).collect();
        rips.compute(&stream, &Clouds::points(&points, 1, vec![n])?, &Options { threshold, degree, edges: false })
    };
    assert_eq!(compute(256, 2.5, 2)?.values(0).len(), 256);
    assert_eq!(compute(257, 2.5, 1)?.values(0).len(), 257);
    assert_eq!(compute(257, 2.5, 2), Err(HomologyError::TooManyForDegree { cloud: 0, vertices: 257 }));
    assert_eq!(compute(65_536, 2.5, 1), Err(HomologyError::TooManyVertices { cloud: 0, vertices: 65_536 }));
    assert_eq!(compute(2, -1.0, 1), Err(HomologyError::Threshold { threshold: -1.0 }));
    assert_eq!(compute(2, 1.0, 3), Err(HomologyError::Degree { degree: 3 }));
    assert!(matches!(compute(2, f64::NAN, 1), Err(HomologyError::Threshold { .. })));
    Ok(())
}

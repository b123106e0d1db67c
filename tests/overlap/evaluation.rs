//! Overlaps of copies of shapes, against another program's answers and a brute force by another
//! method.
//!
//! They run on the backend that `WARPSMITH_BACKEND` names, or on a GPU if there is one.

use std::{f64::consts::PI, fs::File, path::Path};

use crate::polygon::{Point, Pose, brute, place};
use ndarray::{Array0, Array2};
use ndarray_npy::NpzReader;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{RngCore, SeedableRng},
};
use warpsmith::{
    device::Device,
    overlap::{
        Boundary, Field, Lattice, Overlap, OverlapError, OverlapKernel, OverlapPair, OverlapReal, Packings, Shape, Wanted,
    },
};

pub(super) type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

pub(super) const KERNELS: [OverlapKernel; 2] = [OverlapKernel::Queue, OverlapKernel::Direct];

pub(super) fn device() -> Device {
    Device::best().expect("the backend that was asked for")
}

pub(super) fn overlap<T: OverlapReal>(shapes: &[Shape], kernel: OverlapKernel) -> Overlap<T> {
    Overlap::new(&device(), shapes).expect("shapes fit the device").kernel(kernel)
}

#[test]
fn the_brute_force_knows_squares() {
    let square = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
    assert_eq!(brute(&square, &square), 1.0);
    assert!((brute(&square, &place(&square, [0.25, 0.5, 0.0])) - 0.375).abs() < 1e-15);
    // A square on its corner has half of it in common with the square around it.
    let turned = place(&square, [0.5, 0.5 - 0.5f64.sqrt(), PI / 4.0]);
    assert!((brute(&square, &turned) - (8.0f64.sqrt() - 2.0)).abs() < 1e-15);
    assert_eq!(brute(&square, &place(&square, [1.0, 0.0, 0.0])), 0.0);
}

pub(super) fn uniform(rng: &mut ChaCha8Rng, low: f64, high: f64) -> f64 {
    low + (high - low) * (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Poses in a square of the density that the benchmarks have.
pub(super) fn random_poses(n: usize, seed: u64) -> Vec<Pose> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let half = 0.325 * (n as f64).sqrt();
    (0..n).map(|_| [uniform(&mut rng, -half, half), uniform(&mut rng, -half, half), uniform(&mut rng, -PI, PI)]).collect()
}

pub(super) fn star(points: usize, inner: f64) -> Shape {
    let vertex = |k: usize| {
        let (sine, cosine) = (PI * k as f64 / points as f64).sin_cos();
        let radius = if k.is_multiple_of(2) { 0.6 } else { inner };
        [radius * cosine + 0.1, radius * sine]
    };
    Shape::polygon("star", &(0..2 * points).map(vertex).collect::<Vec<_>>()).expect("a star is simple")
}

/// All pairs of each packing whose circles meet, by an intersection that is of no use for anything else.
pub(super) fn all_pairs(shapes: &[Shape], packings: &Packings) -> Vec<OverlapPair<f64>> {
    let mut pairs = Vec::new();
    for packing in 0..packings.len() {
        let (start, poses) = (packings.offsets()[packing], packings.get(packing));
        let shape = |pose: usize| &shapes[packings.shape_of(start + pose) as usize];
        // No vertex is further from its pose than this.
        let reach: Vec<f64> =
            (0..poses.len()).map(|pose| shape(pose).outlines()[0].iter().map(|[x, y]| x.hypot(*y)).fold(0.0, f64::max)).collect();
        for first in 0..poses.len() {
            for second in first + 1..poses.len() {
                let apart = [0, 1].map(|k| poses[second][k] - poses[first][k]);
                if apart[0].hypot(apart[1]) > reach[first] + reach[second] {
                    continue;
                }
                // Near the origin, wherever both are.
                let one = place(&shape(first).outlines()[0], [0.0, 0.0, poses[first][2]]);
                let other = place(&shape(second).outlines()[0], [apart[0], apart[1], poses[second][2]]);
                let area = brute(&one, &other);
                if area > 0.0 {
                    pairs.push(OverlapPair { packing, first, second, shift: [0; 2], area });
                }
            }
        }
    }
    pairs
}

/// Compares pairs that have more than rounding in common.
pub(super) fn assert_pairs<T: OverlapReal>(found: &[OverlapPair<T>], expected: &[OverlapPair<f64>], tolerance: f64) {
    let key = |pair: &OverlapPair<f64>| (pair.packing, pair.first, pair.second, pair.shift);
    let found: Vec<OverlapPair<f64>> = found
        .iter()
        .map(|pair| OverlapPair {
            packing: pair.packing,
            first: pair.first,
            second: pair.second,
            shift: pair.shift,
            area: pair.area.to_f64(),
        })
        .collect();
    let (mut i, mut j) = (0, 0);
    while i < found.len() || j < expected.len() {
        let order = match (found.get(i), expected.get(j)) {
            (Some(a), Some(b)) => key(a).cmp(&key(b)),
            (Some(_), None) => std::cmp::Ordering::Less,
            _ => std::cmp::Ordering::Greater,
        };
        let (a, b) = match order {
            std::cmp::Ordering::Less => (Some(found[i]), None),
            std::cmp::Ordering::Greater => (None, Some(expected[j])),
            std::cmp::Ordering::Equal => (Some(found[i]), Some(expected[j])),
        };
        let (x, y) = (a.map_or(0.0, |pair| pair.area), b.map_or(0.0, |pair| pair.area));
        assert!((x - y).abs() <= tolerance, "{a:?} and {b:?}");
        i += usize::from(a.is_some());
        j += usize::from(b.is_some());
    }
}

struct Oracle {
    poses: Vec<Pose>,
    areas: Array2<f64>,
    total: f64,
    gradient: Array2<f64>,
}

/// Made with Shapely; the gradient by central differences, good to 1e-6.
fn oracle() -> Result<Oracle> {
    let mut npz = NpzReader::new(File::open(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/overlap.npz"))?)?;
    let poses: Array2<f64> = npz.by_name("poses")?;
    let total: Array0<f64> = npz.by_name("total")?;
    let outline: Array2<f64> = npz.by_name("outline")?;
    let tree = Shape::tree();
    for vertex in outline.rows() {
        assert!(tree.outlines()[0].iter().any(|[x, y]| (x - vertex[0]).hypot(y - vertex[1]) < 1e-15), "{vertex}");
    }
    Ok(Oracle {
        poses: poses.rows().into_iter().map(|pose| [pose[0], pose[1], pose[2]]).collect(),
        areas: npz.by_name("pair_area")?,
        total: total.into_scalar(),
        gradient: npz.by_name("gradient")?,
    })
}

fn agrees_with_shapely<T: OverlapReal>(area_tolerance: f64, gradient_tolerance: f64) -> Result {
    let oracle = oracle()?;
    let packings = Packings::one(oracle.poses)?;
    for kernel in KERNELS {
        for (deterministic, grid_from) in [(false, usize::MAX), (true, usize::MAX), (false, 1), (true, 1)] {
            let mut overlap = overlap::<T>(&[Shape::tree()], kernel).deterministic(deterministic).grid_from(grid_from);
            let mut areas = Array2::zeros(oracle.areas.dim());
            for pair in overlap.pairs(&packings)? {
                areas[[pair.first, pair.second]] = pair.area.to_f64();
                areas[[pair.second, pair.first]] = pair.area.to_f64();
            }
            for (at, area) in oracle.areas.indexed_iter() {
                assert!((areas[at] - area).abs() <= area_tolerance, "{at:?}: {} and {area}", areas[at]);
            }
            let result = overlap.evaluate(&packings, Wanted::ALL)?;
            assert!((result.totals[0].to_f64() - oracle.total).abs() <= 40.0 * area_tolerance, "{}", result.totals[0]);
            for (k, (gradient, expected)) in result.gradient.iter().zip(oracle.gradient.rows()).enumerate() {
                for (x, y) in gradient.iter().zip(expected) {
                    assert!((x.to_f64() - y).abs() <= gradient_tolerance, "pose {k}: {gradient:?} and {expected}");
                }
            }
            for (k, (sum, row)) in result.per_pose.iter().zip(oracle.areas.rows()).enumerate() {
                assert!((sum.to_f64() - row.sum()).abs() <= 10.0 * area_tolerance, "pose {k}: {sum} and {}", row.sum());
            }
        }
    }
    Ok(())
}

#[test]
fn agrees_with_shapely_in_double_precision() -> Result {
    agrees_with_shapely::<f64>(1e-13, 1e-6)
}

#[test]
fn agrees_with_shapely_in_single_precision() -> Result {
    agrees_with_shapely::<f32>(2e-6, 2e-5)
}

/// Many random pairs, each a packing of two.
fn random_pairs(shapes: &[Shape], n: usize, seed: u64) -> Result<Packings> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut poses = Vec::new();
    let mut kinds = Vec::new();
    for _ in 0..n {
        let [x, y] = [uniform(&mut rng, -3.0, 3.0), uniform(&mut rng, -3.0, 3.0)];
        poses.push([x, y, uniform(&mut rng, -7.0, 7.0)]);
        let (u, v) = (uniform(&mut rng, -0.9, 0.9), uniform(&mut rng, -0.9, 0.9));
        poses.push([x + u, y + v, uniform(&mut rng, -7.0, 7.0)]);
        kinds.extend([rng.next_u32() % shapes.len() as u32, rng.next_u32() % shapes.len() as u32]);
    }
    Ok(Packings::ensembles(poses, 2)?.with_shapes(kinds)?)
}

/// Shapes of 4, 9 and 33 pieces, so that a piece meets the other's in one step, in three, and in nine.
fn shapes() -> Vec<Shape> {
    vec![Shape::tree(), star(9, 0.3), star(33, 0.4)]
}

#[test]
fn thousands_of_random_pairs_agree_with_brute_force() -> Result {
    let shapes = shapes();
    let packings = random_pairs(&shapes, 3000, 11)?;
    let mut expected = all_pairs(&shapes, &packings);
    expected.retain(|pair| pair.area > 1e-13);
    assert!(expected.len() > 1500);
    for kernel in KERNELS {
        let mut overlap = overlap::<f64>(&shapes, kernel);
        assert_pairs(&overlap.pairs(&packings)?, &expected, 2e-14);
        let totals = overlap.evaluate(&packings, Wanted::TOTALS)?.totals;
        let mut by_packing = vec![0.0; packings.len()];
        for pair in &expected {
            by_packing[pair.packing] = pair.area;
        }
        for (total, area) in totals.iter().zip(&by_packing) {
            assert!((total - area).abs() <= 2e-14, "{total} and {area}");
        }
    }
    let single = overlap::<f32>(&shapes, OverlapKernel::Queue).pairs(&packings)?;
    assert_pairs(&single, &expected, 5e-6);
    Ok(())
}

/// Extrapolated central differences of the brute force; `None` if the steps don't agree, as at a
/// kink.
pub(super) fn differences(rings: impl Fn(f64, usize) -> f64) -> [Option<f64>; 3] {
    [0, 1, 2].map(|axis| {
        let slope = |step: f64| (rings(step, axis) - rings(-step, axis)) / (2.0 * step);
        let (coarse, fine, finest) = (slope(4e-4), slope(2e-4), slope(1e-4));
        let (one, two) = ((4.0 * fine - coarse) / 3.0, (4.0 * finest - fine) / 3.0);
        ((one - two).abs() < 1e-9).then_some(two)
    })
}

#[test]
fn gradients_agree_with_differences() -> Result {
    let shapes = shapes();
    let packings = random_pairs(&shapes, 400, 13)?;
    for kernel in KERNELS {
        let result = overlap::<f64>(&shapes, kernel).evaluate(&packings, Wanted::GRADIENT)?;
        let (mut compared, mut skipped) = (0, 0);
        for k in 0..packings.len() {
            let outline = |i: usize| &shapes[packings.shape_of(2 * k + i) as usize].outlines()[0];
            for i in 0..2 {
                let other = place(outline(1 - i), packings.get(k)[1 - i]);
                let moved = |step: f64, axis: usize| {
                    let mut pose = packings.get(k)[i];
                    pose[axis] += step;
                    brute(&place(outline(i), pose), &other)
                };
                for (axis, slope) in differences(moved).into_iter().enumerate() {
                    let Some(slope) = slope else {
                        skipped += 1;
                        continue;
                    };
                    compared += usize::from(slope != 0.0);
                    let found = result.gradient[2 * k + i][axis];
                    assert!((found - slope).abs() < 2e-10, "packing {k}, pose {i}, axis {axis}: {found} and {slope}");
                }
            }
        }
        assert!(compared > 900 && skipped < compared, "{compared} compared, {skipped} skipped");
    }
    Ok(())
}

/// A packing and all images of it that may matter, as poses of their own.
pub(super) fn images(poses: &[Pose], [a, b]: [Point; 2], far: i32) -> Vec<(usize, [i32; 2], Pose)> {
    let mut all = Vec::new();
    for (k, &[x, y, theta]) in poses.iter().enumerate() {
        for m in -far..=far {
            for n in -far..=far {
                let (u, v) = (f64::from(m), f64::from(n));
                all.push((k, [m, n], [x + u * a[0] + v * b[0], y + u * a[1] + v * b[1], theta]));
            }
        }
    }
    all
}

#[test]
fn periodic_images_agree_with_explicit_ones() -> Result {
    let outline = &Shape::tree().outlines()[0].clone();
    // The last one is finer than the shape; the poses lie outside of the cell, too.
    for (k, (vectors, n, spread)) in [
        ([[3.0, 0.0], [0.0, 2.5]], 12, 1.0),
        ([[2.0, 0.3], [1.1, 1.9]], 8, 4.0),
        ([[4.0, 0.0], [3.7, 1.2]], 10, 3.0),
        ([[0.5, 0.1], [-0.2, 0.45]], 2, 1.0),
    ]
    .into_iter()
    .enumerate()
    {
        let poses: Vec<Pose> = random_poses(n, 40 + k as u64).into_iter().map(|[x, y, t]| [x * spread, y * spread, t]).collect();
        let far = if k == 1 || k == 2 { 10 } else { 6 };
        let mut expected = Vec::new();
        for (second, shift, pose) in images(&poses, vectors, far) {
            let ring = place(outline, pose);
            for (first, &pose) in poses.iter().enumerate() {
                if (first, [0; 2]) < (second, shift) && first <= second {
                    let area = brute(&place(outline, pose), &ring);
                    if area > 1e-13 {
                        expected.push(OverlapPair { packing: 0, first, second, shift, area });
                    }
                }
            }
        }
        expected.sort_unstable_by_key(|pair| (pair.first, pair.second, pair.shift));
        let total: f64 = expected.iter().map(|pair| pair.area).sum();
        let lattice = Lattice::new(vectors[0], vectors[1])?;
        let packings = Packings::one(poses.clone())?;
        for kernel in KERNELS {
            for grid_from in [1, usize::MAX] {
                for deterministic in [false, true] {
                    let mut overlap = overlap::<f64>(&[Shape::tree()], kernel)
                        .lattice(lattice)?
                        .grid_from(grid_from)
                        .deterministic(deterministic);
                    assert_pairs(&overlap.pairs(&packings)?, &expected, 1e-13);
                    let result = overlap.evaluate(&packings, Wanted::ALL)?;
                    assert!((result.totals[0] - total).abs() < 1e-11, "{} and {total}", result.totals[0]);
                    for (pose, found) in result.per_pose.iter().enumerate() {
                        let sum = |pair: &OverlapPair<f64>| {
                            pair.area * (f64::from(u8::from(pair.first == pose)) + f64::from(u8::from(pair.second == pose)))
                        };
                        let sum: f64 = expected.iter().map(sum).sum();
                        assert!((found - sum).abs() < 1e-11, "pose {pose}: {found} and {sum}");
                    }
                }
            }
        }
    }
    Ok(())
}

/// The area that a polygon has in common with a disk about the origin: the sum over its edges of the integral, over the
/// angle, of half of the squared distance to the edge or to the circle, whichever is less.
fn in_disk(ring: &[Point], radius: f64) -> f64 {
    let edges = ring.iter().zip(ring.iter().cycle().skip(1));
    edges
        .map(|(a, b)| {
            let along = [b[0] - a[0], b[1] - a[1]];
            let length = along[0].hypot(along[1]);
            let height = (a[0] * b[1] - a[1] * b[0]) / length;
            let angle = |p: &Point| ((p[0] * along[0] + p[1] * along[1]) / length).atan2(height.abs());
            // From the foot of the perpendicular up to an angle.
            let up_to = |angle: f64| {
                let farthest = (height.abs() / radius).min(1.0).acos();
                let (within, beyond) = (angle.abs().min(farthest), (angle.abs() - farthest).max(0.0));
                angle.signum() * 0.5 * (height * height * within.tan() + radius * radius * beyond)
            };
            height.signum() * (up_to(angle(b)) - up_to(angle(a)))
        })
        .sum()
}

#[test]
fn what_is_outside_a_boundary() -> Result {
    let shapes = shapes();
    let hexagon: Vec<Point> =
        (0..6).map(|k| (f64::from(k) * PI / 3.0).sin_cos()).map(|(s, c)| [0.6 * c + 0.1, 0.5 * s]).collect();
    let packings = random_pairs(&shapes, 150, 17)?;
    let boundaries = [
        (Boundary::square(), 4.5),
        (Boundary::polygon(&hexagon)?, 5.0),
        (Boundary::strip(3.5)?, 4.0),
        // Lower than copies are.
        (Boundary::strip(5.0)?, 0.7),
        (Boundary::disk(), 2.4),
        (Boundary::disk(), 0.4),
    ];
    for (boundary, scale) in boundaries {
        // Areas in a disk aren't quadratic in small steps.
        let tolerance = if boundary.scale_name() == "radius" { 2e-7 } else { 1e-9 };
        let outside = |shape: &Shape, pose: Pose, scale: f64| {
            let outline = place(&shape.outlines()[0], pose);
            let inside = match boundary.scale_name() {
                "radius" => in_disk(&outline, scale),
                _ => brute(&outline, &boundary.outline(scale)),
            };
            shape.area() - inside
        };
        for kernel in KERNELS {
            let mut overlap = overlap::<f64>(&shapes, kernel).boundary(boundary.clone())?;
            let result = overlap.evaluate_within(&packings, &[scale], Wanted::TOTALS)?.outside.expect("there is a boundary");
            let mut compared = 0;
            for packing in 0..packings.len() {
                let mut by_scale = Some(0.0);
                for i in 0..2 {
                    let (index, pose) = (2 * packing + i, packings.get(packing)[i]);
                    let shape = &shapes[packings.shape_of(index) as usize];
                    let area = outside(shape, pose, scale);
                    assert!((result.per_pose[index] - area).abs() < 1e-13, "{} and {area}", result.per_pose[index]);
                    let slopes = differences(|step, axis| {
                        let mut pose = pose;
                        pose[axis] += step;
                        outside(shape, pose, scale)
                    });
                    for (slope, found) in slopes.into_iter().zip(result.gradient[index]) {
                        let Some(slope) = slope else { continue };
                        compared += usize::from(slope != 0.0);
                        assert!((slope - found).abs() < tolerance, "pose {index}: {slope} and {found}");
                    }
                    let [slope, ..] = differences(|step, _| outside(shape, pose, scale + step));
                    by_scale = by_scale.zip(slope).map(|(sum, slope)| sum + slope);
                }
                if let Some(by_scale) = by_scale {
                    assert!(
                        (result.by_scale[packing] - by_scale).abs() < tolerance,
                        "{} and {by_scale}",
                        result.by_scale[packing]
                    );
                }
                let sum = result.per_pose[2 * packing] + result.per_pose[2 * packing + 1];
                assert!((result.totals[packing] - sum).abs() < 1e-15);
            }
            assert!(compared > 100, "{compared}");
        }
    }
    // Wholly inside is exactly nothing, wholly outside all of it; and a scale for each packing.
    let packings = Packings::ensembles(vec![[0.1, 0.2, 0.3], [9.0, 0.0, 0.3], [0.1, 0.2, 0.3], [9.0, 0.0, 0.3]], 2)?;
    let mut overlap = overlap::<f64>(&[Shape::tree()], OverlapKernel::Direct).boundary(Boundary::square())?;
    let result = overlap.evaluate_within(&packings, &[4.0, 40.0], Wanted::TOTALS)?.outside.expect("there is a boundary");
    assert_eq!(result.per_pose[..1], [0.0]);
    assert!((result.per_pose[1] - Shape::tree().area()).abs() < 1e-15);
    assert_eq!(result.per_pose[2..], [0.0, 0.0]);
    assert_eq!(result.gradient[2..], [[0.0; 3]; 2]);
    Ok(())
}

#[test]
fn large_angles_are_reduced() -> Result {
    for theta in [1e3, 5e5, 1e7, -1e15] {
        let turned = f64::sin_cos(theta);
        let small = turned.0.atan2(turned.1);
        let at = |theta: f64| -> Result<f64> {
            let packings = Packings::one(vec![[0.0, 0.0, theta], [0.3, 0.2, 0.4]])?;
            Ok(overlap::<f64>(&[Shape::tree()], OverlapKernel::Direct).evaluate(&packings, Wanted::TOTALS)?.totals[0])
        };
        assert!((at(theta)? - at(small)?).abs() < 1e-14, "{theta}");
    }
    Ok(())
}

#[test]
fn bad_input_is_named() -> Result {
    let tree = [Shape::tree()];
    let far = Packings::ensembles(vec![[0.0; 3], [0.0; 3], [0.0, 2e9, 0.0], [0.0; 3]], 2)?;
    let error = overlap::<f32>(&tree, OverlapKernel::Direct).evaluate(&far, Wanted::TOTALS).unwrap_err();
    assert!(matches!(error, OverlapError::TooFar { packing: 1, pose: 0, field: Field::Y, .. }), "{error}");
    assert!(overlap::<f64>(&tree, OverlapKernel::Direct).evaluate(&far, Wanted::TOTALS).is_ok());
    // Enough poses for a choice of how they are searched.
    let mut far = random_poses(5000, 1);
    far[4000] = [1e308, -1e308, 0.0];
    let error = overlap::<f64>(&tree, OverlapKernel::Direct).evaluate(&Packings::one(far)?, Wanted::TOTALS).unwrap_err();
    assert!(matches!(error, OverlapError::TooFar { pose: 4000, field: Field::X, .. }), "{error}");

    let error = overlap::<f64>(&tree, OverlapKernel::Direct).lattice(Lattice::new([1e-4, 0.0], [0.0, 1.0])?).unwrap_err();
    assert!(matches!(error, OverlapError::FineLattice { .. }), "{error}");
    for (a, b) in [([0.0, 0.0], [1.0, 0.0]), ([1.0, 2.0], [2.0, 4.0]), ([f64::NAN, 0.0], [0.0, 1.0])] {
        assert!(matches!(Lattice::new(a, b), Err(OverlapError::Lattice { .. })));
    }
    let both =
        overlap::<f64>(&tree, OverlapKernel::Direct).lattice(Lattice::new([1.0, 0.0], [0.0, 1.0])?)?.boundary(Boundary::square());
    assert!(matches!(both, Err(OverlapError::BoundaryInLattice)));
    let away = Boundary::polygon(&[[1.0, 1.0], [2.0, 1.0], [2.0, 2.0]]);
    assert!(matches!(away, Err(OverlapError::Origin { edge: 0 })));

    let packings = Packings::ensembles(vec![[0.0; 3]; 4], 2)?;
    let mut within = overlap::<f64>(&tree, OverlapKernel::Direct).boundary(Boundary::square())?;
    for scale in [-1.0, 0.0, f64::NAN, 2f64.powi(70)] {
        let error = within.evaluate_within(&packings, &[1.0, scale], Wanted::TOTALS).unwrap_err();
        assert!(matches!(error, OverlapError::Scale { packing: 1, .. }), "{error}");
        assert!(error.to_string().contains("a positive number up to 1e18"), "{error}");
    }
    let error = within.evaluate_within(&packings, &[1.0; 3], Wanted::TOTALS).unwrap_err();
    assert!(matches!(error, OverlapError::ScaleCount { scales: 3, packings: 2 }), "{error}");
    let error = overlap::<f64>(&tree, OverlapKernel::Direct).evaluate_within(&packings, &[1.0], Wanted::TOTALS).unwrap_err();
    assert!(matches!(error, OverlapError::NoBoundary), "{error}");

    // A scene has room for its own evaluator's pieces only.
    let (one, many) = (overlap::<f64>(&tree, OverlapKernel::Direct), overlap::<f64>(&[star(9, 0.3)], OverlapKernel::Direct));
    let (mut scene, mut other) = (one.load(&packings)?, many.load(&packings)?);
    let stream = one.device().stream()?;
    for result in [
        many.enqueue(&stream, &mut scene, Wanted::ALL),
        one.enqueue_between(&stream, &mut scene, &mut other, Wanted::TOTALS),
        one.lattice(Lattice::new([4.0, 0.0], [0.0, 4.0])?)?.enqueue(&stream, &mut scene, Wanted::TOTALS),
    ] {
        assert!(matches!(result, Err(OverlapError::ForeignScene)), "{result:?}");
    }

    let shapes = packings.clone().with_shapes(vec![0, 0, 3, 0])?;
    let error = overlap::<f64>(&tree, OverlapKernel::Direct).evaluate(&shapes, Wanted::TOTALS).unwrap_err();
    assert!(matches!(error, OverlapError::UnknownShape { packing: 1, pose: 0, shape: 3, shapes: 1 }), "{error}");
    let error =
        overlap::<f64>(&tree, OverlapKernel::Direct).pairs_between(&packings, &Packings::one(vec![[0.0; 3]])?).unwrap_err();
    assert!(matches!(error, OverlapError::PackingCount { first: 2, second: 1 }), "{error}");
    Ok(())
}

/// Sides that are parallel to each other, in the units of a chip and in those of a city.
fn units_of<T: OverlapReal>(tolerance: f64) -> Result {
    let l = [[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [1.0, 1.0], [1.0, 3.0], [0.0, 3.0]];
    let poses = [[0.0, 0.0, 0.0], [0.5, 0.25, 0.0], [-1.25, 0.5, PI], [0.75, -2.5, -PI / 2.0], [7.0, 0.5, 0.0]];
    // Powers of two, which round nothing.
    for kernel in KERNELS {
        for boundary in [Boundary::square(), Boundary::disk()] {
            let evaluated = |unit: f64| -> Result<Vec<f64>> {
                let shape = Shape::polygon("L", &l.map(|corner| corner.map(|number| unit * number)))?;
                let packings = Packings::one(poses.map(|[x, y, theta]| [unit * x, unit * y, theta]).to_vec())?;
                let found = overlap::<T>(&[shape], kernel).boundary(boundary.clone())?.evaluate_within(
                    &packings,
                    &[5.0 * unit],
                    Wanted::ALL,
                )?;
                let outside = found.outside.ok_or("there is a boundary")?;
                let slopes = found.gradient.iter().chain(&outside.gradient).flatten();
                let sizes = [unit, unit, unit * unit].map(f64::recip);
                let mut all: Vec<f64> = slopes.zip(sizes.iter().cycle()).map(|(slope, size)| slope.to_f64() * size).collect();
                all.extend([found.totals[0], outside.totals[0]].map(|area| area.to_f64() / (unit * unit)));
                Ok(all)
            };
            let expected = evaluated(1.0)?;
            assert!(expected[expected.len() - 2] > 1.0 && expected[expected.len() - 1] > 1.0, "{expected:?}");
            for unit in [2f64.powi(-17), 2f64.powi(8), 2f64.powi(17)] {
                for (k, (found, expected)) in evaluated(unit)?.iter().zip(&expected).enumerate() {
                    assert!((found - expected).abs() <= tolerance, "{kernel:?} {unit} {k}: {found} and {expected}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn units() -> Result {
    units_of::<f32>(1e-5)?;
    units_of::<f64>(1e-13)
}

//! Scenes that aren't uniform: what a grid and a tree find, against looking at all pairs without a device.

use std::f64::consts::PI;

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{RngCore as _, SeedableRng as _},
};
use warpsmith::{
    device::Device,
    overlap::{Evaluation, Lattice, Overlap, OverlapKernel, OverlapReal, Packings, Search, Shape, Wanted},
};

use crate::{
    evaluation::{KERNELS, Result, all_pairs, assert_pairs, overlap, random_poses, star, uniform},
    polygon::Pose,
};

const SEARCHES: [Option<Search>; 3] = [Some(Search::Tree), Some(Search::Grid), None];

fn searched<T: OverlapReal>(overlap: Overlap<T>, search: Option<Search>) -> Overlap<T> {
    match search {
        Some(search) => overlap.search(search).grid_from(1),
        None => overlap.grid_from(1),
    }
}

/// A star, and the same larger or smaller.
fn scaled(scale: f64) -> Shape {
    let outline: Vec<_> = star(5, 0.25).outlines()[0].iter().map(|vertex| vertex.map(|number| scale * number)).collect();
    Shape::polygon("star", &outline).expect("a star is simple")
}

fn moved(poses: Vec<Pose>, by: [f64; 2], scale: f64) -> Vec<Pose> {
    poses.into_iter().map(|[x, y, theta]| [scale * x + by[0], scale * y + by[1], theta]).collect()
}

/// Scenes with their names. Coordinates are at most `far` in magnitude.
fn scenes(far: f64) -> Result<Vec<(&'static str, Packings)>> {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let clusters = |apart: f64| [moved(random_poses(60, 1), [-apart; 2], 1.0), moved(random_poses(60, 2), [apart, 0.0], 1.0)];
    let with = |mut poses: Vec<Pose>, others: &[Pose]| {
        poses.extend_from_slice(others);
        poses
    };
    let lonely = [[far, -far, 0.3], [-far, 0.0, 1.0], [0.5 * far, far, 2.0], [0.5 * far, far, 2.5]];
    let line = |x: f64, y: f64| (0..100).map(|k| [0.4 * x * f64::from(k), 0.4 * y * f64::from(k), f64::from(k)]).collect();
    let scattered = (0..100)
        .map(|k| {
            let size = 10f64.powf(uniform(&mut rng, -3.0, far.log10()));
            [size * f64::from(k).cos(), size * f64::from(k).sin(), uniform(&mut rng, -PI, PI)]
        })
        .collect();
    let several: Vec<Pose> = [random_poses(50, 7), moved(random_poses(30, 8), [1e4, 0.0], 1.0), random_poses(21, 9)].concat();
    Ok(vec![
        ("uniform", Packings::one(random_poses(300, 3))?),
        ("clusters", Packings::one(clusters(1e4).concat())?),
        ("distant clusters", Packings::one(clusters(1e-7 * far.min(1e11)).concat())?),
        ("outliers", Packings::one(with(random_poses(100, 4), &lonely))?),
        ("line", Packings::one(line(1.0, 0.0))?),
        ("upright line", Packings::one(line(0.0, -1.0))?),
        ("diagonal", Packings::one(line(0.7, 0.7))?),
        ("scattered over magnitudes", Packings::one(scattered)?),
        ("heap", Packings::one(with(random_poses(80, 6), &[[1.0, 2.0, 0.5]; 40]))?),
        ("all at one point", Packings::one(vec![[far / 1e6, 0.25, 0.0]; 40])?),
        ("next to nothing", Packings::one(moved(random_poses(30, 11), [0.0; 2], 1e-30))?),
        ("several", Packings::ragged(several, vec![0, 0, 50, 80, 80, 81, 101, 101])?),
        ("one", Packings::one(vec![[far, far, 1.0]])?),
        ("none", Packings::one(Vec::new())?),
    ])
}

/// Compares all scenes, evaluated in all ways.
fn agree<T: OverlapReal>(shapes: &[Shape], scenes: &[(&str, Packings)], tolerance: f64) -> Result {
    let mut looking_at_all = overlap::<T>(shapes, OverlapKernel::Direct).deterministic(true);
    let mut ways = Vec::new();
    for kernel in KERNELS {
        for search in SEARCHES {
            for (deterministic, wanted) in [(false, Wanted::TOTALS), (false, Wanted::GRADIENT), (true, Wanted::ALL)] {
                let overlap = searched(overlap::<T>(shapes, kernel), search).deterministic(deterministic);
                ways.push((format!("{kernel:?}, {search:?}, {wanted:?}"), overlap, wanted));
            }
        }
    }
    for (name, packings) in scenes {
        let expected = all_pairs(shapes, packings);
        let sum = |packing| expected.iter().filter(|pair| pair.packing == packing).map(|pair| pair.area).sum::<f64>();
        let all = looking_at_all.evaluate(packings, Wanted::ALL)?;
        let numbers = |of: &Evaluation<T>| {
            let gradient = of.gradient.as_flattened().iter().chain(&of.per_pose);
            gradient.map(|number| number.to_f64()).collect::<Vec<_>>()
        };
        let size = numbers(&all).into_iter().fold(1.0, |size: f64, number| size.max(number.abs()));
        for (way, overlap, wanted) in &mut ways {
            if *wanted == Wanted::TOTALS {
                assert_pairs(&overlap.pairs(packings)?, &expected, tolerance);
            }
            let found = overlap.evaluate(packings, *wanted)?;
            for packing in 0..packings.len() {
                let (total, expected) = (found.totals[packing].to_f64(), sum(packing));
                let difference = (total - expected).abs();
                assert!(difference <= 300.0 * tolerance * expected.max(1.0), "{name}, {way}: {total} and {expected}");
            }
            for (k, (x, y)) in numbers(&found).iter().zip(numbers(&all)).enumerate() {
                assert!((x - y).abs() <= 10.0 * tolerance * size, "{name}, {way}, {k}: {x} and {y}");
            }
        }
    }
    Ok(())
}

#[test]
fn any_scene_in_double_precision() -> Result {
    agree::<f64>(&[scaled(1.0)], &scenes(1e18)?, 1e-13)
}

#[test]
fn any_scene_in_single_precision() -> Result {
    // Poses that single precision can hold.
    let exact = |(name, packings): (&'static str, Packings)| {
        let poses = packings.poses().iter().map(|pose| pose.map(|number| f64::from(number as f32))).collect();
        Ok((name, Packings::ragged(poses, packings.offsets().to_vec())?))
    };
    agree::<f32>(&[scaled(1.0)], &scenes(1e9)?.into_iter().map(exact).collect::<Result<Vec<_>>>()?, 2e-6)
}

/// Shapes a thousand times as large as others, among and far from them, of one piece and of several.
#[test]
fn shapes_of_all_sizes() -> Result {
    let square = Shape::polygon("square", &[[-30.0, -30.0], [30.0, -30.0], [30.0, 30.0], [-30.0, 30.0]])?;
    let shapes = [scaled(1.0), scaled(1e-3), square, scaled(1000.0)];
    let mut rng = ChaCha8Rng::seed_from_u64(21);
    let poses = [random_poses(80, 22), moved(random_poses(40, 23), [0.5; 2], 1e-3), moved(random_poses(20, 24), [0.0; 2], 40.0)];
    let mut kinds: Vec<u32> = [vec![0; 80], vec![1; 40], vec![2; 20]].concat();
    let mut poses = poses.concat();
    for k in 0..6 {
        poses.push([400.0 * f64::from(k), uniform(&mut rng, -900.0, 900.0), uniform(&mut rng, -PI, PI)]);
        kinds.push(3);
    }
    // In no order.
    for k in (1..poses.len()).rev() {
        let other = rng.next_u32() as usize % (k + 1);
        poses.swap(k, other);
        kinds.swap(k, other);
    }
    let packings = Packings::ragged(poses, vec![0, 60, 146])?.with_shapes(kinds)?;
    agree::<f64>(&shapes, &[("sizes", packings)], 1e-9)
}

/// Squares in a row from corner to corner, so close that tiles leave most of their pairs to other warps, among far ones.
#[test]
fn heaps_are_shared_out() -> Result {
    let square = Shape::polygon("square", &[[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])?;
    let (heap, step) = (160, 1.0 / 512.0);
    // Tiles of nine poses.
    let far = 8 * 48 * Device::best()?.info().multiprocessors as usize;
    let poses = |by: f64| {
        let heap = (0..heap).map(|k| [step * (k as f64 + by); 2]);
        heap.chain((0..far).map(|k| [10.0 * k as f64, 10.0 + 10.0 * by])).map(|[x, y]| [x, y, 0.0]).collect::<Vec<Pose>>()
    };
    for deterministic in [false, true] {
        let made = overlap::<f64>(std::slice::from_ref(&square), OverlapKernel::Queue);
        let mut overlap = made.search(Search::Tree).deterministic(deterministic);
        // Checks `found`, given the distances, in steps, of pose k of the heap from the others.
        let check = |found: &Evaluation<f64>, pairs: f64, others: &dyn Fn(usize) -> Vec<f64>| {
            let mut total = 0.0;
            for k in 0..heap {
                let all = others(k);
                let area: f64 = all.iter().map(|steps| (1.0 - steps.abs() * step).powi(2)).sum();
                let slope: f64 = all.iter().map(|steps| steps.signum() * (1.0 - steps.abs() * step)).sum();
                total += pairs * area;
                assert!((found.per_pose[k] - area).abs() < 1e-11, "{k}: {} and {area}", found.per_pose[k]);
                for found in &found.gradient[k][..2] {
                    assert!((found - slope).abs() < 1e-11, "{k}: {found} and {slope}");
                }
            }
            assert!((found.totals[0] - total).abs() < 1e-9, "{} and {total}", found.totals[0]);
            assert!(found.per_pose[heap..].iter().all(|&area| area == 0.0));
        };
        let scene = Packings::one(poses(0.0))?;
        // The second time in the same memory.
        for _ in 0..2 {
            check(&overlap.evaluate(&scene, Wanted::ALL)?, 0.5, &|k| {
                (0..heap).filter(|&j| j != k).map(|j| j as f64 - k as f64).collect()
            });
        }
        let (one, other) = overlap.evaluate_between(&scene, &Packings::one(poses(0.5))?, Wanted::ALL)?;
        check(&one, 1.0, &|k| (0..heap).map(|j| j as f64 + 0.5 - k as f64).collect());
        check(&other, 1.0, &|k| (0..heap).map(|j| j as f64 - 0.5 - k as f64).collect());
    }
    Ok(())
}

/// The same heap where the cells of a lattice meet, so that its pairs are among several images.
#[test]
fn heaps_in_lattices_are_shared_out() -> Result {
    let far = 8 * 48 * Device::best()?.info().multiprocessors;
    let lattice = Lattice::new([10.0 * f64::from(far + 1), 0.0], [0.0, 20.0])?;
    let heap = (0..160).map(|k| [(f64::from(k) - 80.0) / 512.0; 2]);
    let poses = heap.chain((0..far).map(|k| [10.0 * f64::from(k), 10.0])).map(|[x, y]| [x, y, 0.1]);
    let packings = Packings::one(poses.collect())?;
    let found = |search: Search, deterministic: bool| {
        let overlap = overlap::<f64>(&[scaled(1.0)], OverlapKernel::Queue).lattice(lattice)?;
        Ok::<_, Box<dyn std::error::Error>>(overlap.search(search).deterministic(deterministic).evaluate(&packings, Wanted::ALL)?)
    };
    let expected = found(Search::Grid, false)?;
    assert!(expected.totals[0] > 1000.0);
    for deterministic in [false, true] {
        let found = found(Search::Tree, deterministic)?;
        assert!((found.totals[0] / expected.totals[0] - 1.0).abs() < 1e-12, "{} and {}", found.totals[0], expected.totals[0]);
        for (found, expected) in found.gradient.as_flattened().iter().zip(expected.gradient.as_flattened()) {
            assert!((found - expected).abs() < 1e-9, "{found} and {expected}");
        }
    }
    Ok(())
}

/// With `deterministic`, and totals always; also where tiles of several poses leave pairs to other warps.
#[test]
fn trees_give_the_same_bits() -> Result {
    let far = (0..8 * 48 * Device::best()?.info().multiprocessors).map(|k| [10.0 * f64::from(k), -50.0, 0.3]);
    let heap = moved(random_poses(160, 53), [0.0, 0.0], 0.05);
    let crowd = [random_poses(300, 51), moved(random_poses(300, 52), [3e5, 1.0], 1.0)].concat();
    for (kernel, poses) in
        [(KERNELS[0], crowd.clone()), (KERNELS[1], crowd), (OverlapKernel::Queue, heap.into_iter().chain(far).collect())]
    {
        let packings = Packings::one(poses)?;
        for (deterministic, wanted) in [(true, Wanted::ALL), (false, Wanted::TOTALS)] {
            let run = || {
                let mut overlap = overlap::<f64>(&[scaled(1.0)], kernel).deterministic(deterministic);
                overlap = overlap.search(Search::Tree).grid_from(1);
                let result = overlap.evaluate(&packings, wanted)?;
                let numbers = result.totals.iter().chain(&result.per_pose).chain(result.gradient.as_flattened());
                Ok::<_, Box<dyn std::error::Error>>(numbers.map(|number| number.to_bits()).collect::<Vec<_>>())
            };
            let first = run()?;
            assert_eq!(first, run()?);
            assert_eq!(first, run()?);
        }
    }
    Ok(())
}

/// Other kernels may move poses far from where the tree's marks were, and write what is no number.
#[test]
fn poses_that_move_away() -> Result {
    // No tile ends with a leaf.
    let packings = Packings::ensembles([random_poses(41, 61), moved(random_poses(41, 62), [1e5, 0.0], 1.0)].concat(), 41)?;
    for (kernel, search) in KERNELS.into_iter().flat_map(|kernel| SEARCHES.map(|search| (kernel, search))) {
        let overlap = searched(overlap::<f64>(&[scaled(1.0)], kernel), search);
        let stream = overlap.device().stream()?;
        let mut scene = overlap.load(&packings)?;
        let mut total = |poses: &[Pose]| {
            stream.upload(scene.poses_mut(), poses.as_flattened())?;
            overlap.enqueue(&stream, &mut scene, Wanted::ALL)?;
            Ok::<_, Box<dyn std::error::Error>>(overlap.read(&stream, &scene, Wanted::ALL)?.totals)
        };
        let expected = total(packings.poses())?;
        for scale in [0.0, 1e-30, 1e12] {
            let scaled = moved(packings.poses().to_vec(), [1e7, 0.0], scale);
            let all = Packings::ensembles(scaled.clone(), 41)?;
            let expected = self::overlap::<f64>(&[self::scaled(1.0)], kernel).evaluate(&all, Wanted::TOTALS)?.totals;
            for (x, y) in total(&scaled)?.iter().zip(expected) {
                assert!((x - y).abs() <= 1e-12 * y.max(1.0), "{scale}: {x} and {y}");
            }
        }
        let (none, far) = (f64::NAN, f64::INFINITY);
        for (x, y) in [(none, 0.0), (0.0, none), (none, none), (far, 1.0), (1e300, -far), (-1e300, none), (1e308, 1e308)] {
            let mut poses = packings.poses().to_vec();
            for pose in (41..82).step_by(2) {
                poses[pose] = [x, y, 0.1];
            }
            assert!((total(&poses)?[0] - expected[0]).abs() < 1e-12, "packings don't touch each other");
        }
    }
    Ok(())
}

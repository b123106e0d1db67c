//! Copies that are taken apart.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use crate::{
    apart::{Apart, Container, separate},
    polygon::{brute, place},
};
use gpu_kernels::overlap::separate as kernel;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{RngCore, SeedableRng},
};
use warpsmith::{
    common::Cancel,
    device::Device,
    overlap::{
        Boundary, OverlapReal, Shape,
        pack::{Budget, Packer, Settings, Turns},
    },
};

type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;
type Pose = [f64; 3];

/// Any angle of each of three shapes.
const ANY: [&[f64]; 3] = [&[]; 3];

const SQUARE: [[f64; 4]; 4] = [[1.0, 0.0, 0.0, 0.5], [-1.0, 0.0, 0.0, 0.5], [0.0, 1.0, 0.0, 0.5], [0.0, -1.0, 0.0, 0.5]];

fn square(scale: f64) -> Container<'static> {
    Container { half_planes: &SQUARE, extent: [-0.5, -0.5, 0.5, 0.5], strip: false, scale }
}

/// Of width 4.
fn strip(scale: f64) -> Container<'static> {
    const STRIP: [[f64; 4]; 4] = [[1.0, 0.0, 2.0, 0.0], [-1.0, 0.0, 2.0, 0.0], [0.0, 1.0, 0.0, 0.5], [0.0, -1.0, 0.0, 0.5]];
    Container { half_planes: &STRIP, extent: [-2.0, -0.5, 2.0, 0.5], strip: true, scale }
}

fn shapes() -> Vec<Shape> {
    let polygon = |name: &str, outline: &[[f64; 2]]| Shape::polygon(name, outline).expect("it is simple");
    vec![
        polygon("l", &[[0.0, 0.0], [1.0, 0.0], [1.0, 0.4], [0.4, 0.4], [0.4, 1.5], [0.0, 1.5]]),
        polygon("triangle", &[[5.0, 0.0], [5.8, 0.1], [5.2, 0.7]]),
        Shape::tree(),
    ]
}

/// Copies of three shapes anywhere, each at one of its shape's angles, or at any if that has none.
fn heap(random: &mut ChaCha8Rng, count: usize, container: Container<'_>, angles: &[&[f64]]) -> Vec<(u32, Pose)> {
    let mut unit = || f64::from(random.next_u32()) / f64::from(u32::MAX);
    let [low_x, low_y, high_x, high_y] = container.extent;
    let x = if container.strip { 1.0 } else { container.scale };
    (0..count)
        .map(|copy| {
            let (turn, own) = (unit(), angles[copy % 3]);
            let theta = own.get((turn * own.len() as f64) as usize).map_or(TAU * turn, |&theta| theta);
            let x = x * (low_x + (high_x - low_x) * unit());
            (copy as u32 % 3, [x, container.scale * (low_y + (high_y - low_y) * unit()), theta])
        })
        .collect()
}

/// Areas of overlap of a packing's pairs of copies, and each copy's depth outside.
fn measured(shapes: &[Shape], kinds: &[u32], poses: &[Pose], container: Container<'_>, scale: f64) -> (Vec<f64>, Vec<f64>) {
    let outline = |copy: usize| place(&shapes[kinds[copy] as usize].outlines()[0], poses[copy]);
    let copies: Vec<_> = (0..kinds.len()).map(outline).collect();
    let pairs = (0..copies.len()).flat_map(|first| (0..first).map(move |second| (first, second)));
    let areas = pairs.map(|(first, second)| {
        let [[x, y], [u, v]] = [first, second].map(|copy| copies[copy][0]);
        // No shape has a diameter of 2.
        if (x - u).hypot(y - v) > 4.0 { 0.0 } else { brute(&copies[first], &copies[second]).max(0.0) }
    });
    let depth = |[a, b, offset, growth]: &[f64; 4], [x, y]: &[f64; 2]| -(a * x + b * y + offset + growth * scale);
    let depths = copies.iter().map(|copy| {
        let all = container.half_planes.iter().flat_map(|plane| copy.iter().map(move |vertex| depth(plane, vertex)));
        all.fold(0.0, f64::max)
    });
    (areas.collect(), depths.collect())
}

/// Without a round, the sum is that of the roots of areas, found by other means; copies are moved inside.
fn sums_of<T: OverlapReal + kernel::separate::Instance>(tolerance: f64) -> Result {
    let (stream, shapes, mut random) = (Device::best()?.stream()?, shapes(), ChaCha8Rng::seed_from_u64(3));
    // As many copies as there are places, and the most that there may be.
    for (container, counts) in [(square(3.0), &[1, 9, 63, 64, 65, 2][..]), (strip(2.5), &[70, 2]), (square(40.0), &[1023, 1024])]
    {
        let packings: Vec<_> = counts.iter().map(|&count| heap(&mut random, count, container, &ANY)).collect();
        let Apart { poses, scales, least } = separate::<T>(&stream, &shapes, &packings, container, (&ANY, 0.9), (&[0], 7, 1))?;
        let mut poses = &poses[..];
        for ((packing, scale), least) in packings.iter().zip(scales).zip(least) {
            let (own, rest) = poses.split_at(packing.len());
            poses = rest;
            let kinds: Vec<u32> = packing.iter().map(|(kind, _)| *kind).collect();
            let (areas, depths) = measured(&shapes, &kinds, own, container, scale);
            let sum: f64 = areas.iter().map(|area| 2.0 * area.sqrt()).sum();
            assert!((sum - least).abs() <= tolerance * (1.0 + sum), "{}: {sum} {least}", packing.len());
            assert!(scale == container.scale && depths.iter().all(|&depth| depth < 1e-4), "{depths:?}");
        }
    }
    Ok(())
}

#[test]
fn sums_of_roots() -> Result {
    sums_of::<f32>(2e-3)?;
    sums_of::<f64>(1e-3)
}

/// If the record says so, copies are apart and inside, at allowed angles, and the scale was reduced
/// by whole factors. A seed gives the same.
fn apart_of<T: OverlapReal + kernel::separate::Instance>() -> Result {
    let (stream, shapes, mut random) = (Device::best()?.stream()?, shapes(), ChaCha8Rng::seed_from_u64(4));
    let one_or_two: [&[f64]; 3] = [&[0.0], &[FRAC_PI_2, PI], &[0.0, 0.25 * PI]];
    for (container, angles, parts) in [
        (square(4.0), ANY, 1),
        (strip(3.5), [&[0.0, PI][..]; 3], 2),
        (square(4.2), one_or_two, 3),
        (strip(3.8), [&[], &[0.0], &[1.0, -2.0, 3.0]], 4),
    ] {
        let packings: Vec<_> = [8, 1].iter().map(|&count| heap(&mut random, count, container, &angles)).collect();
        let run = || separate::<T>(&stream, &shapes, &packings, container, (&angles, 0.98), (&[4, 5], 11, parts));
        let Apart { poses, scales, least } = run()?;
        assert_eq!(least, [0.0; 2], "{angles:?}");
        for (packing, own, scale) in [(&packings[0], &poses[..8], scales[0]), (&packings[1], &poses[8..], scales[1])] {
            let kinds: Vec<u32> = packing.iter().map(|(kind, _)| *kind).collect();
            let (areas, depths) = measured(&shapes, &kinds, own, container, scale);
            assert!(areas.iter().chain(&depths).all(|&out| out < 1e-4), "{angles:?}: {areas:?} {depths:?}");
            let factors = (scale / container.scale).ln() / 0.98f64.ln();
            assert!((factors - factors.round()).abs() < 1e-3 && factors > 0.5, "{factors}");
            for (pose, kind) in own.iter().zip(kinds) {
                let own = angles[kind as usize];
                assert!(own.is_empty() || own.iter().any(|angle| (angle - pose[2]).abs() < 1e-6), "{kind} {pose:?}");
            }
        }
        assert_eq!(run()?, Apart { poses, scales, least });
    }
    Ok(())
}

#[test]
fn copies_come_apart() -> Result {
    apart_of::<f32>()?;
    apart_of::<f64>()
}

/// Pieces of a dissected square: nothing is left free.
#[test]
fn a_dissected_square() -> Result {
    let polygon = |name: &str, outline: &[[f64; 2]]| Shape::polygon(name, outline);
    let copies = vec![
        (polygon("bar", &[[0.0, 0.0], [3.0, 0.0], [3.0, 1.0], [0.0, 1.0]])?, 2),
        (polygon("unit", &[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])?, 2),
        (polygon("half", &[[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])?, 2),
        (polygon("square", &[[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]])?, 1),
    ];
    for turns in [Turns::HALVES, Turns::QUARTERS] {
        let container = Boundary::strip(4.0 + 1e-4)?;
        let budget = Budget::Steps(12_000);
        let settings =
            Settings { container, turns: vec![turns.clone()], starts: Some(4), seed: 1, budget, ..Settings::of(copies.clone()) };
        let packed = Packer::new(&Device::best()?, settings)?.run(|_| {})?.packings.swap_remove(0);
        assert!((3.999..4.02).contains(&packed.side), "{turns:?}: {}", packed.side);
        assert!(packed.poses.iter().all(|pose| pose[2].abs() <= PI && (pose[2] / FRAC_PI_2).fract() == 0.0));
    }
    Ok(())
}

/// The largest number of copies of two shapes that are separated, and one more.
#[test]
fn most_copies() -> Result {
    let square = |side: f64| Shape::polygon("square", &[[0.0, 0.0], [side, 0.0], [side, side], [0.0, side]]);
    for count in [kernel::MOST_COPIES, kernel::MOST_COPIES + 1] {
        let copies = [(square(1.0)?, 100), (square(0.5)?, count as usize - 100)];
        let settings = Settings { turns: vec![Turns::NONE], starts: Some(1), ..Settings::of(copies) };
        let cancel = Cancel::new();
        // Only the starts are settled.
        cancel.cancel();
        let packed = Packer::new(&Device::best()?, settings)?.cancelled_by(&cancel).run(|_| {})?;
        let [packing] = &packed.packings[..] else { panic!("{}", packed.packings.len()) };
        // The lower left corner and the side of each.
        let placed: Vec<_> = packing.poses.iter().enumerate().map(|(k, pose)| (*pose, if k < 100 { 1.0 } else { 0.5 })).collect();
        assert_eq!(placed.len(), count as usize);
        let half = 0.5 * packing.side + 1e-9;
        for (k, &([x, y, theta], side)) in placed.iter().enumerate() {
            assert!(theta == 0.0 && x >= -half && y >= -half && x + side <= half && y + side <= half, "{count}, {k}");
            for &([u, v, _], other) in &placed[..k] {
                let apart = u + other <= x + 1e-9 || x + side <= u + 1e-9 || v + other <= y + 1e-9 || y + side <= v + 1e-9;
                assert!(apart, "{count}: {x} {y} {u} {v}");
            }
        }
    }
    Ok(())
}

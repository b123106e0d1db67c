//! Overlaps of polygons that touch, coincide, or nearly do, against exact arithmetic: for a packing that is done these
//! are the usual ones.
//!
//! They run on the backend that `WARPSMITH_BACKEND` names, or on a GPU where there is one.

use std::f64::consts::PI;

use crate::exact::common_area;
use crate::polygon::{Point, Pose, brute, place};
use gpu_kernels::overlap::clip::{self, intersect};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{RngCore, SeedableRng},
};
use rayon::prelude::*;
use warpsmith::{
    device::Device,
    overlap::{Boundary, Overlap, OverlapKernel, Packings, Shape, Wanted},
};

type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

const KERNELS: [OverlapKernel; 2] = [OverlapKernel::Queue, OverlapKernel::Direct];

/// Random numbers, and the small ones that these tests are about.
struct Random(ChaCha8Rng);

impl Random {
    fn new(seed: u64) -> Self {
        Random(ChaCha8Rng::seed_from_u64(seed))
    }

    fn below(&mut self, n: usize) -> usize {
        (self.0.next_u64() % n as u64) as usize
    }

    fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// 0 every fourth time, else of a magnitude from 1e-17 to 1e-9.
    fn tiny(&mut self) -> f64 {
        if self.below(4) == 0 { 0.0 } else { self.uniform(-1.0, 1.0) * 10f64.powf(self.uniform(-17.0, -9.0)) }
    }

    /// In the square from -1 to 1: anywhere, or on a coarse raster, where much coincides.
    fn point(&mut self, raster: bool) -> Point {
        [(); 2].map(|()| if raster { self.below(9) as f64 / 4.0 - 1.0 } else { self.uniform(-1.0, 1.0) })
    }

    /// A convex polygon of at most 4 vertices.
    fn convex(&mut self) -> Vec<Point> {
        loop {
            let kind = self.below(5);
            let mut points: Vec<Point> = (0..4 + self.below(3)).map(|_| self.point(kind < 2)).collect();
            match kind {
                // A sliver.
                2 => {
                    let thin = 10f64.powf(self.uniform(-11.0, 0.0));
                    points.iter_mut().for_each(|point| point[1] *= thin);
                }
                // Nearly straight at a vertex.
                3 => {
                    let (a, b, share) = (points[0], points[1], self.uniform(0.0, 1.0));
                    points[2] = [a[0] + share * (b[0] - a[0]) + self.tiny(), a[1] + share * (b[1] - a[1]) + self.tiny()];
                    points.truncate(4);
                }
                _ => {}
            }
            let mut ring = hull(points);
            if ring.len() >= 3 {
                let first = self.below(ring.len());
                ring.rotate_left(first);
                ring.truncate(4);
                if is_convex(&ring) {
                    return ring;
                }
            }
        }
    }
}

fn cross(a: Point, b: Point, c: Point) -> f64 {
    (b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0])
}

fn is_convex(ring: &[Point]) -> bool {
    let n = ring.len();
    (0..n).all(|k| cross(ring[k], ring[(k + 1) % n], ring[(k + 2) % n]) > 0.0)
}

/// The convex hull, counter-clockwise (Andrew's way).
fn hull(mut points: Vec<Point>) -> Vec<Point> {
    points.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    let half = |points: &mut dyn Iterator<Item = &Point>| {
        let mut chain: Vec<Point> = Vec::new();
        for &point in points {
            while let [.., a, b] = chain[..]
                && cross(a, b, point) <= 0.0
            {
                chain.pop();
            }
            chain.push(point);
        }
        chain.pop();
        chain
    };
    let mut ring = half(&mut points.iter());
    ring.extend(half(&mut points.iter().rev()));
    ring
}

/// The quad of a polygon that has one quad, as the device gets it.
fn quad(ring: &[Point]) -> Option<[Point; 4]> {
    let shape = Shape::polygon("quad", ring).ok()?;
    match shape.quads() {
        &[quad] => Some(quad),
        _ => None,
    }
}

/// Two convex polygons that touch or coincide somewhere, mostly up to a little.
fn convex_pair(random: &mut Random) -> [Vec<Point>; 2] {
    let first = random.convex();
    let n = first.len();
    let k = random.below(n);
    let (from, to) = (first[k], first[(k + 1) % n]);
    let along = |share: f64| [from[0] + share * (to[0] - from[0]), from[1] + share * (to[1] - from[1])];
    // A share that often is a simple one.
    let share = if random.below(2) == 0 { random.uniform(-1.0, 2.0) } else { random.below(13) as f64 / 4.0 - 1.0 };
    let moved = |ring: &[Point], [x, y]: Point| ring.iter().map(|point| [point[0] + x, point[1] + y]).collect::<Vec<_>>();
    let second = match random.below(9) {
        0 => {
            let mut same = first.clone();
            same.rotate_left(k);
            same
        }
        // On the other side of an edge.
        1 => first.iter().map(|point| [from[0] + to[0] - point[0], from[1] + to[1] - point[1]]).collect(),
        // Along an edge.
        2 => moved(&first, [along(share)[0] - from[0], along(share)[1] - from[1]]),
        // Scaled about a vertex: two edges coincide.
        3 => {
            let scale = 0.25 + share.abs();
            first.iter().map(|point| [from[0] + scale * (point[0] - from[0]), from[1] + scale * (point[1] - from[1])]).collect()
        }
        // A vertex on a vertex, or on an edge.
        4 | 5 => {
            let second = random.convex();
            let vertex = second[random.below(second.len())];
            moved(&second, [along(share)[0] - vertex[0], along(share)[1] - vertex[1]])
        }
        // Another triangle on the same edge, on either side.
        6 => {
            let (across, height) = ([from[1] - to[1], to[0] - from[0]], random.uniform(0.1, 1.0));
            let apex = [along(share)[0] + height * across[0], along(share)[1] + height * across[1]];
            if random.below(2) == 0 {
                vec![from, to, apex]
            } else {
                vec![to, from, [from[0] + to[0] - apex[0], from[1] + to[1] - apex[1]]]
            }
        }
        // A part of it.
        7 => vec![first[0], first[1], first[2]],
        _ => random.convex(),
    };
    // Nothing, all of it or each vertex is moved a little; turned by any angle, what coincided does so up to rounding.
    let how = random.below(3);
    let by = [random.tiny(), random.tiny()];
    let jittered: Vec<Point> = second
        .iter()
        .map(|[x, y]| match how {
            0 => [*x, *y],
            1 => [x + by[0], y + by[1]],
            _ => [x + random.tiny(), y + random.tiny()],
        })
        .collect();
    let second = if is_convex(&jittered) { jittered } else { second };
    let turned = random.below(2) == 0;
    let pose = [random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0), random.uniform(-PI, PI)];
    let mut pair = [first, second].map(|ring| if turned { place(&ring, pose) } else { ring });
    if random.below(2) == 0 {
        pair.reverse();
    }
    pair
}

/// Number of cases: all if `WARPSMITH_ALL_CASES` is set, otherwise a twentieth, which is enough to find
/// errors of a whole kernel.
fn cases(all: usize) -> usize {
    if std::env::var_os("WARPSMITH_ALL_CASES").is_some() { all } else { all / 20 }
}

/// Results of the kernels for a pair of pieces, in both orders.
#[test]
fn quads_that_touch_have_their_exact_area() {
    let blocks = cases(2_000) as u64;
    let found: Vec<(usize, f64)> = (0..blocks)
        .into_par_iter()
        .map(|block| {
            let mut random = Random::new(block);
            let (mut compared, mut worst) = (0, 0.0f64);
            for number in 0..600 {
                let pair = convex_pair(&mut random);
                let [Some(first), Some(second)] = pair.each_ref().map(|ring| quad(ring)) else { continue };
                let points = |quad: [Point; 4]| quad.map(|[x, y]| clip::Point { x, y });
                let exact = common_area(&first, &second);
                let size = first.iter().chain(&second).flatten().fold(0.0f64, |size, x| size.max(x.abs()));
                for (a, b) in [(first, second), (second, first)] {
                    let found = 0.5 * intersect(&points(a), &points(b)).twice_area;
                    let error = (found - exact).abs() / (size * size);
                    assert!(error < 4e-15, "block {block}, pair {number}: {found} and {exact} of {a:?} and {b:?}");
                    worst = worst.max(error);
                }
                compared += 1;
            }
            (compared, worst)
        })
        .collect();
    let compared: usize = found.iter().map(|(compared, _)| compared).sum();
    assert!(compared > cases(1_000_000), "{compared}");
    // Not by luck: the bound is near what happens.
    assert!(found.iter().any(|&(_, worst)| worst > 2e-16));
}

/// A simple polygon around a point, mostly concave.
fn star_shaped(random: &mut Random, vertices: usize) -> Vec<Point> {
    let angle = |k: usize| 2.0 * PI * (k as f64 + 0.4) / vertices as f64;
    let vertex = |k: usize, radius: f64| [radius * angle(k).cos() + 0.1, radius * angle(k).sin() - 0.2];
    (0..vertices).map(|k| vertex(k, random.uniform(0.15, 0.8))).collect()
}

/// The sides of a shape's quads: edges, and cuts between its pieces.
fn sides(shape: &Shape) -> Vec<[Point; 2]> {
    let sides = shape.quads().iter().flat_map(|quad| (0..4).map(|k| [quad[k], quad[(k + 1) % 4]]));
    sides.filter(|[from, to]| from != to).collect()
}

/// Poses of two shapes with sides that touch or coincide, mostly up to a small distance. The first
/// is `pose`.
fn touching(random: &mut Random, pose: Pose, first: &[[Point; 2]], second: &[[Point; 2]], same: bool) -> [Pose; 2] {
    let turned = |[x, y]: Point, angle: f64| [angle.cos() * x - angle.sin() * y, angle.sin() * x + angle.cos() * y];
    let [from, to] = first[random.below(first.len())];
    let [start, end] = second[random.below(second.len())];
    let direction = |from: Point, to: Point| (to[1] - from[1]).atan2(to[0] - from[0]);
    let share = if random.below(2) == 0 { random.uniform(-1.0, 1.0) } else { random.below(9) as f64 / 4.0 - 1.0 };
    let along = [share * (to[0] - from[0]), share * (to[1] - from[1])];
    // Target of the second shape's `start` in the first one's frame, and the second shape's angle.
    let (target, angle) = match random.below(if same { 5 } else { 3 }) {
        // Side on side, in either direction.
        0 => ([from[0] + along[0], from[1] + along[1]], direction(from, to) - direction(start, end)),
        1 => ([to[0] + along[0], to[1] + along[1]], direction(to, from) - direction(start, end)),
        // A vertex on a side.
        2 => ([from[0] + along[0], from[1] + along[1]], random.uniform(-PI, PI)),
        // Along its own side; or on itself.
        3 => ([start[0] + along[0], start[1] + along[1]], 0.0),
        _ => (start, 0.0),
    };
    let [x, y] = turned(target, pose[2]);
    let [u, v] = turned(start, pose[2] + angle);
    let other = [pose[0] + x - u, pose[1] + y - v, pose[2] + angle];
    // Without a turn, what is the same should be bit for bit.
    let other = if angle == 0.0 {
        let [u, v] = turned([target[0] - start[0], target[1] - start[1]], pose[2]);
        [pose[0] + u, pose[1] + v, pose[2]]
    } else {
        other
    };
    let little = random.below(3) != 0;
    [pose, if little { other.map(|number| number + random.tiny()) } else { other }]
}

fn test_shapes(random: &mut Random) -> Vec<Shape> {
    let mut shapes = vec![Shape::tree()];
    while shapes.len() < 60 {
        let ring = if shapes.len() % 3 == 0 { random.convex() } else { star_shaped(random, 4 + shapes.len() % 6) };
        shapes.extend(Shape::polygon(format!("shape {}", shapes.len()), &ring).ok());
    }
    shapes
}

/// The slopes to either side, the lower one first.
fn slopes(area: impl Fn(f64) -> f64) -> [f64; 2] {
    const STEP: f64 = 1e-6;
    let here = area(0.0);
    let (before, after) = ((here - area(-STEP)) / STEP, (area(STEP) - here) / STEP);
    [before.min(after), before.max(after)]
}

#[test]
fn polygons_that_touch_have_their_exact_area_and_derivatives() -> Result {
    let mut random = Random::new(7);
    let shapes = test_shapes(&mut random);
    let outline = |shape: u32| &shapes[shape as usize].outlines()[0];
    let (mut poses, mut kinds) = (Vec::new(), Vec::new());
    for _ in 0..cases(30_000) {
        let first = random.below(shapes.len()) as u32;
        let same = random.below(2) == 0;
        let second = if same { first } else { random.below(shapes.len()) as u32 };
        let pose = [random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0), random.uniform(-PI, PI)];
        let pair = touching(&mut random, pose, &sides(&shapes[first as usize]), &sides(&shapes[second as usize]), same);
        let turned = random.below(2) == 0;
        poses.extend(if turned { [pair[1], pair[0]] } else { pair });
        kinds.extend(if turned { [second, first] } else { [first, second] });
    }
    let exact: Vec<f64> = poses
        .par_chunks(2)
        .zip(kinds.par_chunks(2))
        .map(|(poses, kinds)| {
            // Relative to the first one's position, as the kernels have it.
            let second = [poses[1][0] - poses[0][0], poses[1][1] - poses[0][1], poses[1][2]];
            common_area(&place(outline(kinds[0]), [0.0, 0.0, poses[0][2]]), &place(outline(kinds[1]), second))
        })
        .collect();
    // If edges coincide, there are two one-sided derivatives, and any number between them is right.
    // A sliver is thinner than a step of a difference.
    let derivatives: Vec<(usize, [[[f64; 2]; 3]; 2])> = (0..exact.len())
        .into_par_iter()
        .filter(|pair| kinds[2 * pair..][..2].iter().all(|&shape| shapes[shape as usize].area() > 0.01))
        .map(|pair| {
            let poses = [poses[2 * pair], poses[2 * pair + 1]];
            let by = |moved: usize, axis: usize| {
                slopes(|step| {
                    let mut poses = poses;
                    poses[moved][axis] += step;
                    brute(&place(outline(kinds[2 * pair]), poses[0]), &place(outline(kinds[2 * pair + 1]), poses[1]))
                })
            };
            (pair, [0, 1].map(|moved| [0, 1, 2].map(|axis| by(moved, axis))))
        })
        .collect();
    assert!(derivatives.len() > cases(20_000), "{}", derivatives.len());
    let packings = Packings::ensembles(poses.clone(), 2)?.with_shapes(kinds.clone())?;
    let device = Device::best()?;
    for (kernel, deterministic) in [
        (OverlapKernel::Queue, false),
        (OverlapKernel::Queue, true),
        (OverlapKernel::Direct, false),
        (OverlapKernel::Direct, true),
    ] {
        let mut double = Overlap::<f64>::new(&device, &shapes)?.kernel(kernel).deterministic(deterministic);
        let mut single = Overlap::<f32>::new(&device, &shapes)?.kernel(kernel).deterministic(deterministic);
        let (totals, single_totals) = (double.evaluate(&packings, Wanted::TOTALS)?, single.evaluate(&packings, Wanted::TOTALS)?);
        let (result, single_result) =
            (double.evaluate(&packings, Wanted::GRADIENT)?, single.evaluate(&packings, Wanted::GRADIENT)?);
        let what = |pair: usize| {
            format!("pair {pair} by {kernel:?}: {:?} of shapes {:?}", &poses[2 * pair..][..2], &kinds[2 * pair..][..2])
        };
        for (pair, &exact) in exact.iter().enumerate() {
            let check = |found: f64, error: f64| {
                assert!((found - exact).abs() < error, "{found} and {exact}: {}", what(pair));
            };
            check(totals.totals[pair], 1e-14);
            check(result.totals[pair], 1e-14);
            check(single_totals.totals[pair].into(), 8e-6);
            check(single_result.totals[pair].into(), 8e-6);
            // Whatever the derivatives are where edges coincide, moving both copies alike changes nothing.
            for axis in [0, 1] {
                let sum: f64 = result.gradient[2 * pair..][..2].iter().map(|gradient| gradient[axis]).sum();
                assert!(
                    sum.abs() < if deterministic { 2e-2 } else { 1e-13 },
                    "derivatives by axis {axis} add up to {sum}: {}",
                    what(pair)
                );
            }
        }
        for (pair, expected) in &derivatives {
            let found = |k: usize| result.gradient[2 * pair + k];
            let single = |k: usize| single_result.gradient[2 * pair + k].map(f64::from);
            for (found, error) in [([found(0), found(1)], 5e-3), ([single(0), single(1)], 2e-2)] {
                let near = |k: usize, axis: usize| {
                    let [low, high] = expected[k][axis];
                    (low - error..=high + error).contains(&found[k][axis])
                };
                let all = (0..2).all(|k| (0..3).all(|axis| near(k, axis)));
                let poses = [poses[2 * pair], poses[2 * pair + 1]];
                let outlines = [outline(kinds[2 * pair]).as_slice(), outline(kinds[2 * pair + 1])];
                assert!(
                    all || beside(poses, outlines, &found, error),
                    "{found:?}, not {expected:?}: {}, deterministic: {deterministic}",
                    what(*pair)
                );
            }
        }
    }
    Ok(())
}

/// Whether these are the derivatives at the poses, or at some beside them, seen from closer by than [`slopes`] does:
/// where several edges nearly coincide, those to some sides aren't between the slopes along the axes.
fn beside(poses: [Pose; 2], outlines: [&[Point]; 2], found: &[Pose], error: f64) -> bool {
    let at = |offset: Point, step: f64| {
        let slope = |k: usize, axis: usize| {
            let area = |step: f64| {
                // Relative to the first one's position, as the kernels have it.
                let second = [poses[1][0] - poses[0][0], poses[1][1] - poses[0][1], poses[1][2]];
                let mut poses = [[0.0, 0.0, poses[0][2]], [second[0] + offset[0], second[1] + offset[1], second[2]]];
                poses[k][axis] += step;
                common_area(&place(outlines[0], poses[0]), &place(outlines[1], poses[1]))
            };
            (area(step) - area(-step)) / (2.0 * step)
        };
        (0..found.len()).all(|k| (0..3).all(|axis| (slope(k, axis) - found[k][axis]).abs() < error))
    };
    let directions = (0..64).map(|direction| (f64::from(direction) * PI / 32.0 + 0.01).sin_cos());
    at([0.0; 2], 1e-12) || directions.into_iter().any(|(sin, cos)| at([1e-5 * cos, 1e-5 * sin], 1e-8))
}

/// A boundary may have cuts, too, and copies' cuts may lie on its edges.
#[test]
fn polygons_that_touch_a_boundary_have_their_derivatives() -> Result {
    let mut random = Random::new(8);
    let shapes = test_shapes(&mut random);
    let hexagon: Vec<Point> =
        (0..6).map(|k| (f64::from(k) * PI / 3.0).sin_cos()).map(|(sin, cos)| [0.6 * cos + 0.1, 0.5 * sin]).collect();
    let scale = 1.75;
    for boundary in [Boundary::square(), Boundary::polygon(&hexagon)?] {
        let ring: Vec<Point> = boundary.outline(scale);
        let region = Shape::from_pieces("region", std::slice::from_ref(&ring))?;
        let kinds: Vec<u32> = (0..5_000).map(|_| random.below(shapes.len()) as u32).collect();
        let kinds: Vec<u32> = kinds.into_iter().filter(|&kind| shapes[kind as usize].area() > 0.01).collect();
        let poses: Vec<Pose> = kinds
            .iter()
            .map(|&kind| touching(&mut random, [0.0; 3], &sides(&region), &sides(&shapes[kind as usize]), false)[1])
            .collect();
        let packings = Packings::one(poses.clone())?.with_shapes(kinds.clone())?;
        let mut overlap = Overlap::<f64>::new(&Device::best()?, &shapes)?.boundary(boundary)?;
        let result = overlap.evaluate_within(&packings, &[scale], Wanted::TOTALS)?.outside.ok_or("no boundary")?;
        let wrong = poses.par_iter().zip(&kinds).enumerate().find_any(|&(index, (&pose, &kind))| {
            let outline = &shapes[kind as usize].outlines()[0];
            let area = shapes[kind as usize].area() - common_area(&place(outline, pose), &ring);
            let found = result.gradient[index].map(|slope| -slope);
            let near = |axis: usize| {
                let [low, high] = slopes(|step| {
                    let mut pose = pose;
                    pose[axis] += step;
                    brute(&place(outline, pose), &ring)
                });
                (low - 5e-3..=high + 5e-3).contains(&found[axis])
            };
            (result.per_pose[index] - area).abs() > 1e-14
                || !((0..3).all(near) || beside([pose, [0.0; 3]], [outline, &ring], &[found], 5e-3))
        });
        if let Some((index, (pose, kind))) = wrong {
            panic!("{} and {:?} at {pose:?} of shape {kind}", result.per_pose[index], result.gradient[index]);
        }
    }
    Ok(())
}

/// Pairs that were once wrong by far more than rounding.
#[test]
fn pairs_that_were_wrong() -> Result {
    let device = Device::best()?;
    let triangles = [
        Shape::polygon("first", &[[0.5, 0.2], [-0.9, 0.6], [-0.8, 0.3]])?,
        Shape::polygon("second", &[[0.5, 0.2], [-0.9, 0.6], [0.4, 0.4]])?,
    ];
    let tree = [Shape::tree()];
    let trees = [
        [1.516871070876625, -0.5312562250692041, 0.6121552603239584],
        [1.435029927216459, -0.588719493375106, 0.6121552603239584],
    ];
    let outline = &tree[0].outlines()[0];
    let second = [trees[1][0] - trees[0][0], trees[1][1] - trees[0][1], trees[1][2]];
    let exact = common_area(&place(outline, [0.0, 0.0, trees[0][2]]), &place(outline, second));
    assert!((exact - 0.151625).abs() < 1e-6, "{exact}");
    for kernel in KERNELS {
        for kinds in [[0, 1], [1, 0]] {
            let packings = Packings::one(vec![[2.0, 0.3, -0.4]; 2])?.with_shapes(kinds.to_vec())?;
            let total = Overlap::<f64>::new(&device, &triangles)?.kernel(kernel).evaluate(&packings, Wanted::TOTALS)?.totals[0];
            assert!(total < 1e-16, "{total}");
        }
        for poses in [trees, [trees[1], trees[0]]] {
            let total = Overlap::<f64>::new(&device, &tree)?
                .kernel(kernel)
                .evaluate(&Packings::one(poses.to_vec())?, Wanted::TOTALS)?
                .totals[0];
            assert!((total - exact).abs() < 1e-15, "{total} and {exact}");
        }
    }
    Ok(())
}

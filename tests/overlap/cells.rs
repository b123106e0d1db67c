//! Features across each other, on small input, against exact areas and differences of a brute force.
//!
//! The cells are the product of these, on the backend that `WARPSMITH_BACKEND` names:
//!
//! | feature | values | |
//! | --- | --- | ---: |
//! | numbers | f32, f64 | 2 |
//! | packings | one, many, ragged with empty ones | 3 |
//! | shapes | one, several up to 100 times as large, one of many pieces | 3 |
//! | surroundings | none, a boundary, a lattice | 3 |
//! | kernels | warps, threads | 2 |
//! | candidates | all, grid, tree | 3 |
//! | lists | one, one against another | 2 |
//! | results | areas by pose, gradients; each enqueued or in a graph, deterministic or not; or pairs | 2 x 2 x 2 + 1 |
//!
//! These are 5,832 cells: 2,592 evaluations, as many launches of graphs that were recorded with all poses at one point,
//! and 648 lists of pairs. A run takes one in 31, so that any two values meet; with `WARPSMITH_ALL_CELLS` set it takes
//! all, in a minute. `thresholds` tests both sides of each number that changes the method.

use std::{
    env,
    f64::consts::{PI, SQRT_2},
};

use gpu_kernels::overlap::{clip::Point, grid, layout::Frame};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng as _};
use warpsmith::{
    device::Stream,
    launch,
    overlap::{
        Boundary, Evaluation, Lattice, Overlap, OverlapError, OverlapKernel, OverlapPair, OverlapReal, Packings, Scene, Search,
        Shape, Wanted,
    },
};

use crate::{
    evaluation::{KERNELS, Result, assert_pairs, device, differences, images, overlap, star, uniform},
    exact,
    polygon::{Pose, brute, place},
};

/// Vectors of the lattice, and the farthest images that may overlap; side of the boundary.
const LATTICE: [[f64; 2]; 2] = [[9.0, 0.5], [-1.0, 8.0]];
const FAR: i32 = 2;
const SIDE: f64 = 5.0;

/// One in so many cells is taken: a number that has no factor in common with those of the features' values.
const SHARE: usize = 31;

const AREAS: Wanted = Wanted { per_pose: true, gradient: false };

#[derive(Clone, Copy, Debug, PartialEq)]
enum Around {
    Nothing,
    Boundary,
    Lattice,
}

/// Two lists of packings of these sizes. Their numbers are exact in single precision.
fn lists(sizes: [&[usize]; 2], shapes: &[Shape], seed: u64) -> Result<[Packings; 2]> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let list = |sizes: &[usize]| {
        let mut offsets = vec![0];
        let mut poses = Vec::new();
        for n in sizes {
            let half = 0.4 * (*n as f64).sqrt();
            let mut number = |most: f64| f64::from(uniform(&mut rng, -most, most) as f32);
            poses.extend((0..*n).map(|_| [number(half), number(half), number(PI)]));
            offsets.push(poses.len());
        }
        let kinds = (0..poses.len()).map(|pose| (pose * pose) as u32 % shapes.len() as u32).collect();
        Ok::<_, Box<dyn std::error::Error>>(Packings::ragged(poses, offsets)?.with_shapes(kinds)?)
    };
    let [first, second] = sizes.map(list);
    Ok([first?, second?])
}

/// Overlaps within a list, or between two: pairs, and the areas and derivatives of each pose. `None` is a derivative that
/// doesn't exist.
struct Common {
    pairs: Vec<OverlapPair<f64>>,
    totals: Vec<f64>,
    per_pose: Vec<f64>,
    gradient: Vec<[Option<f64>; 3]>,
}

fn ring(shapes: &[Shape], packings: &Packings, index: usize, pose: Pose) -> Vec<[f64; 2]> {
    place(&shapes[packings.shape_of(index) as usize].outlines()[0], pose)
}

/// As it is defined, of `first` and `second`, or within `first`.
fn common(shapes: &[Shape], first: &Packings, second: Option<&Packings>, periodic: bool) -> Common {
    let others = second.unwrap_or(first);
    let mut pairs = Vec::new();
    let (mut totals, mut per_pose, mut gradient) = (Vec::new(), Vec::new(), Vec::new());
    let reach = |packings: &Packings, index: usize| {
        let shape = &shapes[packings.shape_of(index) as usize];
        shape.radius() + shape.center()[0].hypot(shape.center()[1])
    };
    for packing in 0..first.len() {
        let (start, other_start) = (first.range(packing).start, others.range(packing).start);
        let candidates = images(others.get(packing), LATTICE, if periodic { FAR } else { 0 });
        let mut total = 0.0;
        for (one, &pose) in first.get(packing).iter().enumerate() {
            let own = ring(shapes, first, start + one, pose);
            let (mut area, mut near) = (0.0, Vec::new());
            for &(other, shift, at) in &candidates {
                let itself = second.is_none() && other == one;
                let far = (at[0] - pose[0]).hypot(at[1] - pose[1]);
                if itself && shift == [0; 2] || far > reach(first, start + one) + reach(others, other_start + other) {
                    continue;
                }
                let ring = ring(shapes, others, other_start + other, at);
                let part = exact::common_area(&own, &ring);
                area += part;
                total += if second.is_some() { part } else { 0.5 * part };
                if part > 0.0 && (second.is_some() || (one, [0; 2]) < (other, shift) && one <= other) {
                    pairs.push(OverlapPair { packing, first: one, second: other, shift, area: part });
                }
                // Copies that move along with it have the same in common.
                if !itself {
                    near.push(ring);
                }
            }
            let moved = |step: f64, axis: usize| {
                let mut pose = pose;
                pose[axis] += step;
                let own = ring(shapes, first, start + one, pose);
                near.iter().map(|ring| brute(&own, ring)).sum()
            };
            let of_itself = second.is_none() && periodic;
            let mut slopes = differences(moved);
            if of_itself {
                // Its own images turn with it.
                let turned = |step: f64, _: usize| {
                    let theta = pose[2] + step;
                    let own = ring(shapes, first, start + one, [pose[0], pose[1], theta]);
                    let images = candidates.iter().filter(|(other, shift, _)| *other == one && *shift > [0; 2]);
                    let images = images.map(|(_, _, at)| ring(shapes, first, start + one, [at[0], at[1], theta]));
                    near.iter().cloned().chain(images).map(|ring| brute(&own, &ring)).sum()
                };
                slopes[2] = differences(turned)[2];
            }
            per_pose.push(area);
            gradient.push(slopes);
        }
        totals.push(total);
    }
    pairs.sort_unstable_by_key(|pair| (pair.packing, pair.first, pair.second, pair.shift));
    Common { pairs, totals, per_pose, gradient }
}

/// Compares numbers that are there.
#[track_caller]
fn assert_near<T: OverlapReal>(found: &[T], expected: &[f64], tolerance: f64, cell: &str) {
    assert_eq!(found.len(), expected.len(), "{cell}");
    for (k, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found.to_f64() - expected).abs() <= tolerance, "{cell}, {k}: {found} and {expected}");
    }
}

#[track_caller]
fn assert_slopes<T: OverlapReal>(found: &[[T; 3]], expected: &[[Option<f64>; 3]], tolerance: f64, cell: &str) {
    assert_eq!(found.len(), expected.len(), "{cell}");
    for (k, (found, expected)) in found.as_flattened().iter().zip(expected.as_flattened()).enumerate() {
        let Some(expected) = expected else { continue };
        assert!((found.to_f64() - expected).abs() <= tolerance, "{cell}, {k}: {found} and {expected}");
    }
}

/// Areas outside the boundary, and their derivatives.
fn outside(shapes: &[Shape], packings: &Packings) -> (Vec<f64>, Vec<[Option<f64>; 3]>) {
    let square = Boundary::square().outline(SIDE);
    let of_pose = |(index, &pose): (usize, &Pose)| {
        let area = shapes[packings.shape_of(index) as usize].area();
        let moved = |step: f64, axis: usize| {
            let mut pose = pose;
            pose[axis] += step;
            area - brute(&ring(shapes, packings, index, pose), &square)
        };
        (area - exact::common_area(&ring(shapes, packings, index, pose), &square), differences(moved))
    };
    packings.poses().iter().enumerate().map(of_pose).unzip()
}

fn bits<T: OverlapReal>(of: &Evaluation<T>) -> Vec<u64> {
    let numbers = of.totals.iter().chain(&of.per_pose).chain(of.gradient.as_flattened());
    numbers.map(|number| number.to_f64().to_bits()).collect()
}

/// The same number of poses and shapes, with all poses at one point.
fn at_one_point(packings: &Packings) -> Result<Packings> {
    let shapes = packings.shapes().ok_or("shapes")?.to_vec();
    Ok(Packings::ragged(vec![[0.0; 3]; packings.poses().len()], packings.offsets().to_vec())?.with_shapes(shapes)?)
}

/// Evaluates by a graph that was recorded while all poses were elsewhere.
fn captured<T: OverlapReal>(
    overlap: &Overlap<T>,
    lists: &[&Packings],
    wanted: Wanted,
    scaled: bool,
) -> Result<Vec<Evaluation<T>>> {
    let stream = overlap.device().stream()?;
    let mut scenes = Vec::new();
    for list in lists {
        let mut scene = overlap.load(&at_one_point(list)?)?;
        if scaled {
            scene.set_scales(&stream, &[SIDE])?;
        }
        scenes.push(scene);
    }
    let enqueue = |stream: &Stream, scenes: &mut [Scene<T>]| match scenes {
        [one, other] => overlap.enqueue_between(stream, one, other, wanted),
        scenes => scenes.iter_mut().try_for_each(|scene| overlap.enqueue(stream, scene, wanted)),
    };
    // From then on there is memory for all of it.
    enqueue(&stream, &mut scenes)?;
    let graph = overlap.device().capture(|stream| enqueue(stream, &mut scenes))?;
    for (scene, list) in scenes.iter_mut().zip(lists) {
        scene.set_poses(&stream, list)?;
    }
    // SAFETY: the scenes live on, and are used on this stream alone.
    unsafe { graph.launch(&stream)? };
    let read = scenes.iter().map(|scene| Ok(overlap.read(&stream, scene, wanted)?)).collect();
    drop(graph);
    read
}

/// All cells of one precision, given the tolerance of areas of size 1; returns their number.
fn cells<T: OverlapReal>(tolerance: f64) -> Result<usize> {
    let mut count = 0;
    let all = env::var_os("WARPSMITH_ALL_CELLS").is_some();
    let mut due = || {
        count += 1;
        all || count % SHARE == 0
    };
    let sized = |points, inner, size: f64| {
        let ring: Vec<_> = star(points, inner).outlines()[0].iter().map(|vertex| vertex.map(|number| size * number)).collect();
        Shape::polygon("star", &ring)
    };
    let kinds = [
        vec![sized(4, 0.3, 1.0)?],
        vec![sized(3, 0.2, 1.0)?, sized(4, 0.3, 0.05)?, sized(5, 0.3, 5.0)?],
        vec![sized(17, 0.4, 1.0)?],
    ];
    let sizes: [[&[usize]; 2]; 3] = [[&[9], &[4]], [&[3; 3], &[2; 3]], [&[0, 1, 7, 0, 2], &[3, 0, 5, 0, 1]]];
    for (k, (shapes, sizes)) in kinds.iter().flat_map(|shapes| sizes.map(|sizes| (shapes, sizes))).enumerate() {
        let [first, second] = &lists(sizes, shapes, 70 + k as u64)?;
        let size = shapes.iter().map(|shape| shape.radius()).fold(1.0, f64::max);
        // A pose has up to some dozens of neighbours.
        let (tolerance, slopes) = (tolerance * size * size, 1e-8_f64.max(20.0 * tolerance) * size * size);
        for around in [Around::Nothing, Around::Boundary, Around::Lattice] {
            let periodic = around == Around::Lattice;
            let within = common(shapes, first, None, periodic);
            let between = [common(shapes, first, Some(second), periodic), common(shapes, second, Some(first), periodic)];
            assert!(!within.pairs.is_empty() && !between[0].pairs.is_empty());
            let beyond = outside(shapes, first);
            for (kernel, search, deterministic) in KERNELS.into_iter().flat_map(|kernel| {
                let searches = [None, Some(Search::Grid), Some(Search::Tree)];
                searches.into_iter().flat_map(move |search| [false, true].map(|deterministic| (kernel, search, deterministic)))
            }) {
                let made = || {
                    let made = overlap::<T>(shapes, kernel).deterministic(deterministic);
                    let made = match search {
                        Some(search) => made.search(search).grid_from(1),
                        None => made.grid_from(usize::MAX),
                    };
                    match around {
                        Around::Nothing => Ok(made),
                        Around::Boundary => made.boundary(Boundary::square()),
                        Around::Lattice => made.lattice(Lattice::new(LATTICE[0], LATTICE[1])?),
                    }
                };
                let mut overlap = made()?;
                let scaled = around == Around::Boundary;
                let cell = format!("{}, {} shapes, {sizes:?}, {around:?}, {kernel:?}, {search:?}", T::NAME, shapes.len());
                if !deterministic {
                    if due() {
                        assert_pairs(&overlap.pairs(first)?, &within.pairs, tolerance);
                    }
                    if due() {
                        assert_pairs(&overlap.pairs_between(first, second)?, &between[0].pairs, tolerance);
                    }
                }
                for wanted in [AREAS, Wanted::GRADIENT] {
                    let cell = format!("{cell}, {deterministic}, {wanted:?}");
                    let check = |found: &Evaluation<T>, common: &Common| {
                        assert_near(&found.totals, &common.totals, 10.0 * tolerance, &cell);
                        if wanted.per_pose {
                            assert_near(&found.per_pose, &common.per_pose, 5.0 * tolerance, &cell);
                        } else {
                            assert_slopes(&found.gradient, &common.gradient, slopes, &cell);
                        }
                    };
                    let check_outside = |found: &Evaluation<T>| {
                        assert_eq!(found.outside.is_some(), scaled, "{cell}");
                        let Some(found) = &found.outside else { return };
                        assert_near(&found.per_pose, &beyond.0, 5.0 * tolerance, &cell);
                        assert_slopes(&found.gradient, &beyond.1, slopes, &cell);
                        let sums = first.offsets().windows(2).map(|range| beyond.0[range[0]..range[1]].iter().sum::<f64>());
                        assert_near(&found.totals, &sums.collect::<Vec<_>>(), 10.0 * tolerance, &cell);
                    };
                    if due() {
                        let mut last = None;
                        // The second time in the same scene.
                        for _ in 0..2 {
                            let found = match scaled {
                                true => overlap.evaluate_within(first, &[SIDE], wanted)?,
                                false => overlap.evaluate(first, wanted)?,
                            };
                            check(&found, &within);
                            check_outside(&found);
                            assert!(!deterministic || *last.get_or_insert(bits(&found)) == bits(&found), "{cell}");
                        }
                    }
                    if due() {
                        let (one, other) = overlap.evaluate_between(first, second, wanted)?;
                        check(&one, &between[0]);
                        check(&other, &between[1]);
                    }
                    if due() {
                        let found = captured(&overlap, &[first], wanted, scaled)?;
                        check(&found[0], &within);
                        check_outside(&found[0]);
                    }
                    if due() {
                        let found = captured(&overlap, &[first, second], wanted, scaled)?;
                        check(&found[0], &between[0]);
                        check(&found[1], &between[1]);
                        check_outside(&found[0]);
                    }
                }
            }
        }
    }
    Ok(count)
}

#[test]
fn in_single_precision() -> Result {
    assert_eq!(cells::<f32>(1e-5)?, 5832 / 2);
    Ok(())
}

#[test]
fn in_double_precision() -> Result {
    assert_eq!(cells::<f64>(1e-13)?, 5832 / 2);
    Ok(())
}

/// Squares of side 1, one after the other by half a side: the area that `n` of them have in common.
fn row(n: usize) -> (Vec<Pose>, f64) {
    ((0..n).map(|k| [0.5 * k as f64, 0.25 * k as f64, 0.0]).collect(), n.saturating_sub(1) as f64 * 0.5 * 0.75)
}

/// The numbers of poses from which a grid or a tree finds candidates, and that of packings beyond a launch's y, on both
/// sides.
#[test]
fn thresholds() -> Result {
    let square = Shape::polygon("square", &[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])?;
    let check = |overlap: Overlap<f64>, packings: &Packings, expected: &[f64]| {
        let found = &captured(&overlap, &[packings], Wanted::TOTALS, false)?[0];
        assert_near(&found.totals, expected, 1e-9, "a graph");
        let mut overlap = overlap;
        assert_near(&overlap.evaluate(packings, Wanted::TOTALS)?.totals, expected, 1e-9, "enqueued");
        Ok::<_, Box<dyn std::error::Error>>(())
    };
    let squares = [square];
    let of = |kernel| overlap::<f64>(&squares, kernel);
    let one_of = |poses: Vec<Pose>| {
        let shapes = vec![0; poses.len()];
        Packings::one(poses)?.with_shapes(shapes)
    };
    for kernel in KERNELS {
        for n in [16, 17, 18] {
            for search in [Search::Grid, Search::Tree] {
                let (poses, area) = row(n);
                check(of(kernel).grid_from(17).search(search), &one_of(poses)?, &[area])?;
            }
        }
    }
    // Numbers of poses that a grid is for, that a tree has marks for, 16 for each, and as blocks that measure a grid's extent have
    // threads; all but the last two are apart.
    let (tree, grid) = ([16_383, 16_400], [4095, 4096, 32_768, 32_770]);
    for (search, n) in tree.map(|n| (Search::Tree, n)).into_iter().chain(grid.map(|n| (Search::Grid, n))) {
        let apart = (2..n).map(|k| [f64::from(2 * (k % 181)), f64::from(2 * (k / 181)), 0.0]);
        let poses = apart.chain([[400.0, 400.0, 0.0], [400.5, 400.25, 0.0]]).collect();
        let found = of(OverlapKernel::Direct).search(search).evaluate(&one_of(poses)?, Wanted::TOTALS)?;
        assert_near(&found.totals, &[0.375], 1e-9, "poses apart");
    }
    // Lists of pairs with room for 4 per pose and 1,024 more.
    for n in [49, 50, 51] {
        let poses: Vec<Pose> = (0..n).map(|k| [1e-3 * k as f64, 0.0, 0.0]).collect();
        let area = |first: usize, second: usize| 1.0 - 1e-3 * (second - first) as f64;
        let pair = |first, second| OverlapPair { packing: 0, first, second, shift: [0; 2], area: area(first, second) };
        let pairs: Vec<_> = (0..n).flat_map(|first| (first + 1..n).map(move |second| pair(first, second))).collect();
        assert_pairs(&of(OverlapKernel::Direct).pairs(&one_of(poses)?)?, &pairs, 1e-12);
    }
    for packings in [65_535, 65_536] {
        let (mut poses, area) = row(5);
        let mut offsets = vec![0, 5];
        for packing in 1..packings {
            poses.push([f64::from(packing % 7), 0.0, 0.0]);
            offsets.push(poses.len());
        }
        let mut areas = vec![0.0; packings as usize];
        areas[0] = area;
        let mut made = of(OverlapKernel::Direct).grid_from(5).search(Search::Grid);
        let found = made.evaluate(&Packings::ragged(poses, offsets)?, Wanted::TOTALS)?;
        assert_near(&found.totals, &areas, 1e-9, "packings");
    }
    Ok(())
}

/// A lattice so fine that a copy meets images 1,999 cells away, and a finer one: squares from corner to corner.
#[test]
fn fine_lattices() -> Result {
    let square = [Shape::polygon("square", &[[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])?];
    let lattice = |images: f64| Ok::<_, Box<dyn std::error::Error>>(Lattice::new([SQRT_2 / images, 0.0], [0.0, 10.0])?);
    let error = overlap::<f64>(&square, OverlapKernel::Direct).lattice(lattice(1999.5)?).unwrap_err();
    assert!(matches!(error, OverlapError::FineLattice { images: 2000, most: 1999 }), "{error}");
    let packings = Packings::one(vec![[3.0, 0.0, PI / 4.0]])?;
    let pair = |k: i32| {
        let area = (SQRT_2 * (1.0 - f64::from(k) / 1998.5)).powi(2) / 2.0;
        OverlapPair { packing: 0, first: 0, second: 0, shift: [k, 0], area }
    };
    let pairs: Vec<_> = (1..1999).map(pair).collect();
    let total: f64 = pairs.iter().map(|pair| pair.area).sum();
    for (kernel, search) in KERNELS.into_iter().flat_map(|kernel| [(kernel, Search::Grid), (kernel, Search::Tree)]) {
        let mut overlap = overlap::<f64>(&square, kernel).lattice(lattice(1998.5)?)?.grid_from(1).search(search);
        assert_pairs(&overlap.pairs(&packings)?, &pairs, 1e-12);
        let found = overlap.evaluate(&packings, Wanted::TOTALS)?.totals[0];
        assert!((found - total).abs() < 1e-9, "{kernel:?}, {search:?}: {found} and {total}");
    }
    Ok(())
}

/// Numbers of cells that single precision can't tell from one more.
#[test]
fn cells_of_a_large_grid() -> Result {
    let stream = device().stream()?;
    for (side, most) in [(4097, 16_785_408), (4097, 16_785_409), (5793, 33_558_848), (3, 9), (3, 8), (1, 1)] {
        let mut extents = [[0.0f32; 4]; 2];
        extents[1] = [0.0, 0.0, side as f32 - 0.5, side as f32 - 0.5];
        let (extents, capacity) = (device().upload(extents.as_flattened())?, device().upload(&[7u32, 7 + most])?);
        let zero = Point { x: 0.0f32, y: 0.0 };
        let frame = Frame {
            origin: zero,
            inverse: [zero; 2],
            lattice: [zero; 2],
            cells: [0; 2],
            reach: [0; 2],
            first_cell: 0,
            periodic: 0,
        };
        let mut frames = device().upload(&[frame])?;
        // SAFETY: there are two extents, one packing, and room for its frame.
        unsafe { launch!(stream, grid::frame::<f32><<<1, 32>>>(&extents, 2, 0.999, &capacity, &mut frames))? };
        let [x, y] = stream.download_vec(&frames)?[0].cells.map(u64::from);
        let all = u64::from(most);
        assert!(x * y <= all && 2 * x * y >= all.min(side * side), "{side}, {most}: {x} x {y}");
    }
    Ok(())
}

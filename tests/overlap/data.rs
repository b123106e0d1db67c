//! Shapes, poses and their files.

use std::{f64::consts::PI, fs, path::Path};

use geo::{Area as _, BooleanOps as _, Coord, LineString, MultiPolygon, Polygon, unary_union};
use ndarray::{Array2, Array3, ArrayD, IxDyn, array};
use ndarray_npy::{NpzReader, read_npy, write_npy};
use proptest::prelude::*;
use tempfile::{TempDir, tempdir};
use warpsmith::overlap::{
    OverlapError, Packings, Shape, ShapeProblem, convex_intersection,
    io::{CURVE_TOLERANCE, Format, PoseLayout, read_poses, read_shape, read_shapes, save_poses_at},
    random,
};
use warpsmith::{common::chain, io::files::Destination};

type Point = [f64; 2];

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Folder(tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    /// Checks that an error names the file, and goes on with this sentence; with a line break, it ends there.
    #[track_caller]
    fn fails<T: std::fmt::Debug>(&self, name: &str, result: Result<T, OverlapError>, sentence: &str) {
        let error = chain(&result.unwrap_err()) + "\n";
        let reason = error.strip_prefix(&*format!("{}: ", self.path(name)));
        assert!(reason.is_some_and(|reason| reason.starts_with(sentence)), "{error}\n{sentence}");
    }
}

fn shoelace(ring: &[Point]) -> f64 {
    let next = ring.iter().cycle().skip(1);
    sum(ring.iter().zip(next).map(|(a, b)| 0.5 * (a[0] * b[1] - b[0] * a[1])))
}

/// A sum of terms whose rounding doesn't add up.
fn sum(terms: impl Iterator<Item = f64>) -> f64 {
    let mut sums = [0.0f64; 2];
    for term in terms {
        // The sum, and exactly what was lost in it.
        let sum = sums[0] + term;
        let part = sum - sums[0];
        sums = [sum, sums[1] + ((sums[0] - (sum - part)) + (term - part))];
    }
    sums[0] + sums[1]
}

fn extent(ring: &[Point]) -> f64 {
    let range = |axis: usize| {
        let numbers = ring.iter().map(|point| point[axis]);
        numbers.clone().fold(f64::NEG_INFINITY, f64::max) - numbers.fold(f64::INFINITY, f64::min)
    };
    range(0).max(range(1))
}

fn polygon_of(ring: &[Point]) -> Polygon {
    Polygon::new(LineString(ring.iter().map(|&[x, y]| Coord { x, y }).collect()), vec![])
}

/// Turns and moves points.
fn turned(ring: &[Point], [x, y, theta]: [f64; 3]) -> Vec<Point> {
    let (sin, cos) = theta.sin_cos();
    ring.iter().map(|&[a, b]| [x + cos * a - sin * b, y + sin * a + cos * b]).collect()
}

/// Twice the area of a triangle, exactly signed.
fn turn(a: Point, b: Point, c: Point) -> f64 {
    let coord = |[x, y]: Point| robust::Coord { x, y };
    robust::orient2d(coord(a), coord(b), coord(c))
}

/// Checks all promises about a shape that is made from this outline.
#[track_caller]
fn check_pieces(outline: &[Point]) -> Shape {
    let shape = Shape::polygon("it", outline).unwrap();
    let size = extent(outline);
    let area = shoelace(outline).abs();
    let rounding = 1e-14 * size * size;
    assert!((shape.area() - area).abs() <= rounding, "{} {area}", shape.area());
    let ring = &shape.outlines()[0];
    assert!(shape.outlines().len() == 1 && shoelace(ring) > 0.0);
    for piece in shape.pieces() {
        let n = piece.len();
        assert!(n >= 3 && shoelace(piece) > 0.0);
        for i in 0..n {
            let (a, b, c) = (piece[i], piece[(i + 1) % n], piece[(i + 2) % n]);
            assert!(turn(a, b, c) > 0.0, "turns inwards: {a:?} {b:?} {c:?}");
        }
        assert!(piece.iter().all(|vertex| ring.contains(vertex)));
    }
    let total = sum(shape.pieces().iter().map(|piece| shoelace(piece)));
    assert!((total - area).abs() <= rounding, "pieces {total}, outline {area}");
    let total = sum(shape.quads().iter().map(|quad| shoelace(quad)));
    assert!((total - area).abs() <= rounding, "quads {total}, outline {area}");
    for quad in shape.quads() {
        let distinct = if quad[2] == quad[3] { 3 } else { 4 };
        for i in 0..distinct {
            assert!(turn(quad[i], quad[(i + 1) % distinct], quad[(i + 2) % distinct]) > 0.0, "{quad:?}");
        }
    }
    let least: usize = shape.pieces().iter().map(|piece| (piece.len() - 2).div_ceil(2)).sum();
    assert_eq!(shape.quads().len(), least);
    for vertex in ring {
        let distance = (vertex[0] - shape.center()[0]).hypot(vertex[1] - shape.center()[1]);
        assert!(distance <= shape.radius());
    }
    shape
}

/// Checks that the pieces cover the outline and nothing else, and each point once: the area of
/// their union is the sum of their areas.
#[track_caller]
fn check_union(outline: &[Point], shape: &Shape) {
    let whole = polygon_of(outline);
    let pieces: Vec<Polygon> = shape.quads().iter().map(|quad| polygon_of(quad)).collect();
    let union: MultiPolygon = unary_union(&pieces);
    let off = union.xor(&MultiPolygon(vec![whole])).unsigned_area();
    let again = Shape::from_pieces("again", shape.pieces()).unwrap();
    assert_eq!(again.pieces(), shape.pieces());
    // The crate computes on a grid of 2^-30 or so of the extent.
    let size = extent(outline);
    assert!(off < 1e-7 * size * size, "{off}");
}

// ---- polygons to test with

/// A polygon that is seen whole from the origin.
fn star() -> impl Strategy<Value = Vec<Point>> {
    prop::collection::vec((0.05f64..1.0, 0.05f64..1.0), 3..60).prop_map(|parts| {
        let whole: f64 = parts.iter().map(|(step, _)| step).sum();
        let mut angle = 0.0;
        let ring = parts.iter().map(|(step, radius)| {
            angle += 2.0 * PI * step / whole;
            [radius * angle.cos(), radius * angle.sin()]
        });
        ring.collect()
    })
}

/// A bar with teeth of all lengths, turned by any angle: many vertices are all but on a line.
fn comb() -> impl Strategy<Value = Vec<Point>> {
    let angle = prop_oneof![Just(0.0), 0.0f64..6.3];
    (prop::collection::vec((1u8..8, 1u8..8, 1u8..6), 1..30), angle, -5.0f64..5.0).prop_map(|(teeth, angle, shift)| {
        let teeth = teeth.iter().map(|&(gap, width, height)| [gap, width, height].map(|number| f64::from(number) / 8.0));
        let mut x = 0.0;
        let mut ring = vec![[0.0, -1.0]];
        let mut top = vec![];
        for [gap, width, height] in teeth {
            top.extend([[x + gap, 0.0], [x + gap, height], [x + gap + width, height], [x + gap + width, 0.0]]);
            x += gap + width;
        }
        ring.push([x + 0.5, -1.0]);
        ring.push([x + 0.5, 0.0]);
        ring.extend(top.into_iter().rev());
        ring.push([0.0, 0.0]);
        turned(&ring, [shift, -shift, angle])
    })
}

/// A band along a spiral.
fn spiral(turns: f64, points: usize) -> Vec<Point> {
    let at = |step: usize, shift: f64| {
        let angle = 2.0 * PI * turns * step as f64 / points as f64;
        let radius = 0.3 + 0.1 * angle / (2.0 * PI) + shift;
        [radius * angle.cos(), radius * angle.sin()]
    };
    let inner = (0..=points).map(|step| at(step, 0.0));
    inner.rev().chain((0..=points).map(|step| at(step, 0.05))).collect()
}

/// Returns whether a polygon has an area and doesn't meet itself, by looking at all pairs of edges.
fn simple_by_brute_force(mut ring: Vec<(i64, i64)>) -> bool {
    let cross = |a: (i64, i64), b: (i64, i64), c: (i64, i64)| (b.0 - a.0) * (c.1 - a.1) - (b.1 - a.1) * (c.0 - a.0);
    let dot = |a: (i64, i64), b: (i64, i64), c: (i64, i64)| (b.0 - a.0) * (c.0 - b.0) + (b.1 - a.1) * (c.1 - b.1);
    // Vertices that repeat the next one or are on the way to it go, as long as there are any.
    let superfluous = |ring: &[(i64, i64)]| {
        let n = ring.len();
        (0..n).find(|&i| {
            let (a, b, c) = (ring[(i + n - 1) % n], ring[i], ring[(i + 1) % n]);
            b == c || a != b && cross(a, b, c) == 0 && dot(a, b, c) > 0
        })
    };
    while ring.len() > 2
        && let Some(index) = superfluous(&ring)
    {
        ring.remove(index);
    }
    let n = ring.len();
    if n < 3 {
        return false;
    }
    let on = |a: (i64, i64), b: (i64, i64), p: (i64, i64)| cross(a, b, p) == 0 && dot(a, p, b) >= 0;
    for i in 0..n {
        let (a, b, c) = (ring[i], ring[(i + 1) % n], ring[(i + 2) % n]);
        if cross(a, b, c) == 0 {
            return false;
        }
        for j in i + 2..n {
            let (c, d) = (ring[j], ring[(j + 1) % n]);
            let apart = (j + 1) % n != i;
            let across =
                cross(a, b, c).signum() * cross(a, b, d).signum() < 0 && cross(c, d, a).signum() * cross(c, d, b).signum() < 0;
            if apart && (across || on(a, b, c) || on(a, b, d) || on(c, d, a) || on(c, d, b)) {
                return false;
            }
        }
    }
    true
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn stars(ring in star()) {
        // With few parts an angle may be half a turn and more: then the origin is outside, and edges may cross.
        if let Ok(shape) = Shape::polygon("star", &ring) {
            check_pieces(&ring);
            check_union(&ring, &shape);
            let mut backwards = ring.clone();
            backwards.reverse();
            let other = check_pieces(&backwards);
            prop_assert!((other.area() - shape.area()).abs() < 1e-14);
            prop_assert!((other.radius() - shape.radius()).abs() < 1e-13);
        }
    }

    #[test]
    fn combs(ring in comb()) {
        let shape = check_pieces(&ring);
        check_union(&ring, &shape);
        // The bar and the teeth, at most.
        let teeth = (ring.len() - 4) / 4;
        prop_assert!(shape.pieces().len() <= 2 * teeth + 1, "{} pieces of {teeth} teeth", shape.pieces().len());
    }

    #[test]
    fn spirals(turns in 0.2f64..4.0, points in 2usize..200) {
        let ring = spiral(turns, points);
        if let Ok(shape) = Shape::polygon("spiral", &ring) {
            check_pieces(&ring);
            check_union(&ring, &shape);
        } else {
            // With so few points, chords cross the next turn.
            prop_assert!((points as f64) < 12.0 * turns);
        }
    }

    /// Whole coordinates, exactly: edges meet and vertices coincide more often than not.
    #[test]
    fn simple_or_not(ring in prop::collection::vec((0i64..5, 0i64..5), 3..9)) {
        let points: Vec<Point> = ring.iter().map(|&(x, y)| [x as f64, y as f64]).collect();
        let found = Shape::polygon("it", &points);
        let area: i64 = (0..ring.len()).map(|i| (ring[i], ring[(i + 1) % ring.len()])).map(|(a, b)| a.0 * b.1 - b.0 * a.1).sum();
        match simple_by_brute_force(ring) {
            true => prop_assert_eq!(found.unwrap().area(), area.abs() as f64 / 2.0),
            false => prop_assert!(found.is_err(), "{points:?}"),
        }
    }

    /// Vertices that don't bend the outline, and repeated ones, change nothing.
    #[test]
    fn straight_and_repeated_vertices(ring in star(), shares in prop::collection::vec(0.0f64..1.0, 1..4)) {
        let Ok(shape) = Shape::polygon("plain", &ring) else { return Ok(()) };
        let n = ring.len();
        let mut more = vec![];
        for (index, &[x, y]) in ring.iter().enumerate() {
            let next = ring[(index + 1) % n];
            let mut shares = shares.clone();
            shares.sort_by(f64::total_cmp);
            more.extend([[x, y], [x, y]]);
            more.extend(shares.iter().map(|share| [x + share * (next[0] - x), y + share * (next[1] - y)]));
        }
        more.push(ring[0]);
        let other = Shape::polygon("more", &more).unwrap();
        prop_assert_eq!(other.outlines()[0].len(), shape.outlines()[0].len());
        prop_assert!((other.area() - shape.area()).abs() < 1e-12);
    }

    /// The circle is the smallest: by all pairs and triples.
    #[test]
    fn smallest_circles(ring in star()) {
        let Ok(shape) = Shape::polygon("star", &ring) else { return Ok(()) };
        let ring = &ring[..ring.len().min(14)];
        if ring.len() < 3 || Shape::polygon("part", ring).is_err() {
            return Ok(());
        }
        let part = Shape::polygon("part", ring).unwrap();
        prop_assert!(part.radius() <= shape.radius() * (1.0 + 1e-12));
        let mut best = f64::INFINITY;
        let mut consider = |[x, y]: Point| {
            best = best.min(ring.iter().map(|point| (point[0] - x).hypot(point[1] - y)).fold(0.0, f64::max));
        };
        for (i, a) in ring.iter().enumerate() {
            for (j, b) in ring[..i].iter().enumerate() {
                consider([0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1])]);
                for c in &ring[..j] {
                    // The intersection of two sides' perpendicular bisectors.
                    let (u, v) = ([b[0] - a[0], b[1] - a[1]], [c[0] - a[0], c[1] - a[1]]);
                    let det = 2.0 * (u[0] * v[1] - u[1] * v[0]);
                    let (p, q) = (u[0] * u[0] + u[1] * u[1], v[0] * v[0] + v[1] * v[1]);
                    consider([a[0] + (v[1] * p - u[1] * q) / det, a[1] + (u[0] * q - v[0] * p) / det]);
                }
            }
        }
        prop_assert!((part.radius() - best).abs() < 1e-9, "{} {best}", part.radius());
    }
}

#[test]
fn the_tree() {
    let tree = Shape::tree();
    let expected = 0.5 * 0.25 * 0.3 + 0.5 * 0.525 * 0.25 + 0.5 * 0.9 * 0.25 + 0.15 * 0.2;
    assert!((tree.area() - expected).abs() < 1e-15);
    assert_eq!((tree.name(), tree.outlines()[0].len(), tree.pieces().len(), tree.quads().len()), ("tree", 15, 4, 4));
    let sum: f64 = tree.quads().iter().map(|quad| shoelace(quad)).sum();
    assert!((sum - expected).abs() < 1e-15);

    // As `tests/data/overlap.npz` has it, with Shapely's results.
    let mut data =
        NpzReader::new(fs::File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/overlap.npz")).unwrap()).unwrap();
    let outline: Array2<f64> = data.by_name("outline").unwrap();
    let outline: Vec<Point> = outline.rows().into_iter().map(|row| [row[0], row[1]]).collect();
    let mut expected = outline.clone();
    let mut found = tree.outlines()[0].clone();
    for ring in [&mut expected, &mut found] {
        ring.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    }
    assert_eq!(found, expected);

    // The same four pieces when it is cut, however it lies.
    for step in 0..50 {
        let angle = f64::from(step) * 0.37;
        let ring = turned(&outline, [f64::from(step % 7), -0.3, angle]);
        let cut = check_pieces(&ring);
        assert_eq!((cut.pieces().len(), cut.quads().len()), (4, 4), "turned by {angle}");
        check_union(&ring, &cut);
    }
    let cut = check_pieces(&outline);
    assert_eq!((cut.pieces().len(), cut.radius()), (4, tree.radius()));
}

#[test]
fn many_vertices() {
    let star: Vec<Point> = (0..8_000)
        .map(|index| {
            let angle = 2.0 * PI * f64::from(index) / 8_000.0;
            let radius = if index % 2 == 0 { 1.0 } else { 0.9 };
            [radius * angle.cos(), radius * angle.sin()]
        })
        .collect();
    let shape = check_pieces(&star);
    assert!(shape.pieces().len() <= 4_001, "{}", shape.pieces().len());
    let spiral = check_pieces(&spiral(20.0, 10_000));
    assert!((spiral.radius() - 2.35).abs() < 0.1);
    let circle: Vec<Point> =
        (0..5000).map(|index| 2.0 * PI * f64::from(index) / 5000.0).map(|angle| [angle.cos(), angle.sin()]).collect();
    let shape = check_pieces(&circle);
    assert_eq!((shape.pieces().len(), shape.quads().len()), (1, 2499));
    assert!((shape.radius() - 1.0).abs() < 1e-12);
    // An edge across all others.
    let mut crossed = star;
    crossed.swap(1, 4_000);
    let error = Shape::polygon("crossed", &crossed).unwrap_err();
    let OverlapError::Shape { problem: ShapeProblem::Meets { first, .. }, .. } = error else { panic!("{error}") };
    assert_eq!(first, 0);
}

#[test]
fn what_is_no_shape() {
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    for (outline, sentence) in [
        (&[][..], "there are no vertices, but an outline needs at least 3"),
        (&[[0.0, 0.0]], "there is 1 vertex, but"),
        (&[[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]], "there are 2 vertices, but"),
        (&[[0.0, 0.0], [1.0, nan], [inf, 0.0]], "vertex 1: y = NaN, but it must be a finite number"),
        (&[[0.0, 0.0], [1.0, 0.0], [-inf, 0.0]], "vertex 2: x = -inf, but"),
        (&[[0.0, 0.0], [1e6, 0.0], [0.0, 1.0]], "vertex 1: x = 1000000 is too large: magnitudes must be below 1e6"),
        (&[[0.0, 0.0], [1e-7, 0.0], [0.0, 1e-7]], "width and height are at most 1e-7: one of them must be at least 1e-6"),
        (&[[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]], "the area is 0e0, next to nothing for a width or height of 2"),
        (&[[0.0, 0.0], [1.0, 0.0], [1.0, 1e-13], [0.5, 1e-12]], "the area is 5"),
        // A bow tie.
        (&[[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]], "edges 0 and 2 cross or touch; an outline must not meet itself"),
        // A vertex on an edge.
        (&[[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [1.0, 0.0], [0.0, 2.0]], "edges 0 and 2 cross or touch"),
        // Two vertices in one place.
        (&[[0.0, 0.0], [1.0, 1.0], [2.0, 0.0], [2.0, 2.0], [1.0, 1.0], [0.0, 2.0]], "edges 0 and 3 cross or touch"),
        // There and back again.
        (&[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 3.0], [1.0, 1.0], [0.0, 1.0]], "edges 1 and 3 cross or touch"),
        // Two edges on one line.
        (
            &[[0.0, 0.0], [3.0, 0.0], [3.0, 1.0], [2.0, 1.0], [2.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]],
            "edges 0 and 3 cross or touch",
        ),
    ] {
        let error = Shape::polygon("it", outline).unwrap_err().to_string();
        let found = error.strip_prefix("shape it: ").unwrap();
        assert!(found.starts_with(sentence), "{found}\n{sentence}");
    }
    // One digit decides.
    let almost = |x: f64| Shape::polygon("it", &[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [x, 0.5], [0.0, 1.0]]);
    assert!(almost(f64::MIN_POSITIVE).is_ok() && almost(0.0).is_err());
}

#[test]
fn shapes_of_pieces() {
    let square = |x: f64| vec![[x, 0.0], [x + 1.0, 0.0], [x + 1.0, 1.0], [x, 1.0]];
    let mut clockwise = square(1.0);
    clockwise.reverse();
    let pieces = [square(0.0), clockwise, square(5.0), vec![[0.0, 2.0], [1.0, 2.0], [0.5, 2.0], [0.0, 3.0], [0.0, 2.0]]];
    let error = Shape::from_pieces("it", &pieces).unwrap_err().to_string();
    assert_eq!(error, "shape it: piece 3: edges 0 and 1 cross or touch; an outline must not meet itself");
    let shape = Shape::from_pieces("it", &pieces[..3]).unwrap();
    assert_eq!((shape.area(), shape.pieces().len(), shape.outlines()), (3.0, 3, shape.pieces()));
    assert!((shape.radius() - 3.0f64.hypot(0.5)).abs() < 1e-14);
    for (pieces, sentence) in [
        (vec![], "shape it: there are no pieces"),
        (vec![square(0.0), vec![[0.0, 0.0]]], "shape it: piece 1: there is 1 vertex"),
        (
            vec![square(0.0), vec![[3.0, 0.0], [5.0, 1.0], [3.0, 2.0], [4.0, 1.0]]],
            "shape it: piece 1: it is not convex at vertex 3",
        ),
        (vec![square(0.0), square(3.0), square(0.75)], "shape it: pieces 0 and 2 overlap by an area of 2.5e-1"),
    ] {
        let error = Shape::from_pieces("it", &pieces).unwrap_err().to_string();
        assert!(error.starts_with(sentence), "{error}");
    }
    // Rounding is no overlap.
    assert!(Shape::from_pieces("it", &[square(0.0), square(1.0 - 1e-15)]).is_ok());
    // The pieces of polygon() are valid input.
    for ring in [spiral(2.0, 100), turned(&Shape::tree().outlines()[0], [0.3, 0.1, 1.0])] {
        let cut = Shape::polygon("it", &ring).unwrap();
        let again = Shape::from_pieces("it", cut.pieces()).unwrap();
        assert_eq!((again.quads(), again.pieces()), (cut.quads(), cut.pieces()));
    }
}

#[test]
fn intersections_of_convex_polygons() {
    let tree = Shape::tree();
    let mut overlapping = 0;
    for step in 0..500 {
        let t = f64::from(step);
        let first = turned(&tree.pieces()[step as usize % 4], [0.0, 0.0, t]);
        let second = turned(&tree.pieces()[step as usize / 4 % 4], [0.3 * (1.7 * t).sin(), 0.3 * (2.3 * t).cos(), 3.1 * t]);
        let common = convex_intersection(&first, &second);
        let expected = polygon_of(&first).intersection(&polygon_of(&second)).unsigned_area();
        assert!((shoelace(&common) - expected).abs() < 1e-8, "{step}: {} {expected}", shoelace(&common));
        overlapping += u32::from(!common.is_empty());
    }
    assert!(overlapping > 100, "{overlapping}");
}

// ---- packings

#[test]
fn packings_and_what_is_none() {
    let poses: Vec<[f64; 3]> = (0..6).map(|i| [f64::from(i), 0.5, -1.0]).collect();
    let one = Packings::one(poses.clone()).unwrap();
    assert_eq!((one.len(), one.offsets(), one.shapes(), one.each(), one.get(0)), (1, &[0, 6][..], None, Some(6), &poses[..]));
    let two = Packings::ensembles(poses.clone(), 3).unwrap();
    assert_eq!((two.len(), two.offsets(), two.each(), two.get(1)), (2, &[0, 3, 6][..], Some(3), &poses[3..]));
    let ragged = Packings::ragged(poses.clone(), vec![0, 0, 4, 4, 6]).unwrap();
    assert_eq!((ragged.len(), ragged.each(), ragged.get(2).len(), ragged.range(3)), (4, None, 0, 4..6));
    assert_eq!([0, 3, 4, 5].map(|pose| ragged.locate(pose)), [(1, 0), (1, 3), (3, 0), (3, 1)]);
    assert!(Packings::ragged(vec![], vec![0]).unwrap().is_empty());
    assert_eq!(Packings::one(vec![]).unwrap().get(0), &[] as &[[f64; 3]]);

    for (offsets, sentence) in [
        (&[][..], "offsets is empty: there must be one more than packings"),
        (&[1, 6], "offsets[0] is 1, but the first must be 0"),
        (&[0, 5], "offsets[1] is 5, but the last must be the number of poses, 6"),
        (&[0, 7, 6], "offsets[1] is 7, but there are only 6 poses"),
        (&[0, 4, 2, 6], "offsets[2] is 2, but it must not be below the one before, 4"),
    ] {
        let error = Packings::ragged(poses.clone(), offsets.to_vec()).unwrap_err().to_string();
        assert!(error.starts_with(sentence), "{error}");
    }
    for each in [0, 4] {
        let error = Packings::ensembles(poses.clone(), each).unwrap_err().to_string();
        assert_eq!(error, format!("6 poses can't be divided into packings of {each}"));
    }
    let mut bad = poses.clone();
    bad[4][1] = f64::NAN;
    bad[5][0] = f64::INFINITY;
    let error = Packings::ensembles(bad, 3).unwrap_err();
    assert_eq!(
        (error.to_string(), error.pose()),
        ("packing 1, pose 1: y = NaN, but it must be a finite number".into(), Some((1, 1)))
    );

    let error = one.clone().with_shapes(vec![0; 5]).unwrap_err().to_string();
    assert_eq!(error, "there are 5 indices of shapes, but 6 poses; there must be one for each");
    let shaped = two.with_shapes(vec![0, 1, 0, 1, 2, 9]).unwrap();
    assert_eq!((shaped.shape_of(4), one.shape_of(4), shaped.check_shapes(10), one.check_shapes(1)), (2, 0, Ok(()), Ok(())));
    for (count, sentence) in [
        (2, "packing 1, pose 1: shape = 2, but the shapes are 0 to 1"),
        (1, "packing 0, pose 1: shape = 1, but the only shape is 0"),
        (0, "packing 0, pose 0: shape = 0, but there are no shapes"),
    ] {
        assert_eq!(shaped.check_shapes(count).unwrap_err().to_string(), sentence);
    }
    assert!(one.check_shapes(0).is_err());
}

#[test]
fn random_packings() {
    let some = random::uniform(3, 50, 4.0, 7);
    assert_eq!((some.len(), some.each(), &some), (3, Some(50), &random::uniform(3, 50, 4.0, 7)));
    assert_eq!(random::uniform(1, 50, 4.0, 7).poses(), some.get(0));
    assert!(random::uniform(1, 50, 4.0, 8).poses() != some.get(0) && some.get(1) != some.get(0));
    let many = random::uniform(10, 1000, 4.0, 0);
    for (field, half) in [(0, 2.0), (1, 2.0), (2, PI)] {
        let numbers = many.poses().iter().map(|pose| pose[field] / half);
        assert!(numbers.clone().all(|number| (-1.0..1.0).contains(&number)));
        // Ten standard deviations of the mean and of the mean square.
        assert!(numbers.clone().sum::<f64>().abs() / 1e4 < 0.06);
        assert!((numbers.map(|number| number * number).sum::<f64>() / 1e4 - 1.0 / 3.0).abs() < 0.03);
    }
    assert!(random::uniform(0, 5, 1.0, 0).is_empty());
}

// ---- files of shapes

#[test]
fn shapes_from_text() {
    let folder = Folder::new();
    assert_eq!(read_shape("tree").unwrap(), Shape::tree());
    let (l, ring) = ("[[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]]", "0 0, 2 0, 2 1, 1 1, 1 2, 0 2, 0 0");
    let expected = [[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [1.0, 1.0], [1.0, 2.0], [0.0, 2.0]];
    for (name, text) in [
        ("l.json", format!("{{\"outline\": {l}}}")),
        ("l.geojson", format!("{{\"type\": \"Polygon\", \"coordinates\": [{l}]}}")),
        (
            "l.JSON",
            format!(
                "{{\"type\": \"Feature\", \"properties\": {{}}, \"geometry\": {{\"type\": \"Polygon\", \"coordinates\": [{l}]}}}}"
            ),
        ),
        ("l.wkt", format!("POLYGON (({ring}))\n")),
        ("l.svg", "<svg xmlns='http://www.w3.org/2000/svg'><path d='M0 0 h2 v-1 H1 v-1 H0 Z'/></svg>".to_owned()),
    ] {
        let shape = read_shape(&folder.write(name, &text)).unwrap();
        assert_eq!((shape.name(), shape.area(), &shape.outlines()[0][..]), ("l", 3.0, &expected[..]), "{name}");
    }
    // A byte order mark, a key of another program, and a key that comes again.
    let lenient = format!("\u{feff}{{\"colour\": \"red\", \"outline\": 5, \"outline\": {l}}}");
    assert_eq!(read_shape(&folder.write("lenient.json", &lenient)).unwrap().area(), 3.0);
    let shape = read_shape(&format!("polygon(({ring}))")).unwrap();
    assert_eq!((shape.name(), shape.outlines()[0].len()), ("polygon", 6));
    // The nearest number, not one beside it.
    let shape =
        read_shape(&folder.write("n.json", "{\"outline\": [[0, 0], [1, 0], [1.0553e-5, 1.0272e-5], [1.0553e-25, 1]]}")).unwrap();
    assert_eq!(shape.outlines()[0][2..], [[1.0553e-5, 1.0272e-5], [1.0553e-25, 1.0]]);
    let pieces = "{\"name\": \"two\", \"pieces\": [[[0,0],[1,0],[0,1]], [[2,0],[3,0],[3,1],[2,1]]]}";
    let shape = read_shape(&folder.write("p.json", pieces)).unwrap();
    assert_eq!((shape.name(), shape.area(), shape.pieces().len()), ("two", 1.5, 2));
}

#[test]
fn drawings() {
    let folder = Folder::new();
    let read = |text: &str| {
        let drawing =
            format!("<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 9 9\">\n{text}\n</svg>");
        read_shape(&folder.write("a.svg", &drawing))
    };
    let area = |text: &str| read(text).unwrap().area();
    assert_eq!(area("<polygon points='0,0 4,0 4,3'/>"), 6.0);
    assert_eq!(area("<polyline points='0,0 4,0 4,3 0,0'/>"), 6.0);
    assert_eq!(area("<rect x='1' y='2' width='3px' height='4'/>"), 12.0);
    assert_eq!(area("<g transform='scale(2)'><path transform='translate(5 5)' d='M0,0 1,0 1,1 0,1z'/></g>"), 4.0);
    let shape = read("<g transform='translate(10 20) scale(2)'><rect width='1' height='3'/></g>").unwrap();
    let (x, y): (Vec<_>, Vec<_>) = shape.outlines()[0].iter().map(|point| (point[0], point[1])).unzip();
    let range = |numbers: &[f64]| {
        [numbers.iter().copied().fold(f64::INFINITY, f64::min), numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max)]
    };
    assert_eq!((range(&x), range(&y)), ([10.0, 12.0], [-26.0, -20.0]));
    // Elements that aren't drawn, aren't closed or are empty are skipped.
    assert_eq!(
        area(
            "<defs><rect width='9' height='9'/></defs><path d='M0 0 L1 1'/><path d='M3 3'/><path d=''/><rect width='1' height='1'/>"
        ),
        1.0
    );
    for (text, exact, extent) in [
        ("<circle cx='3' cy='4' r='2'/>", 4.0 * PI, 4.0),
        ("<ellipse rx='2' ry='0.5'/>", PI, 4.0),
        ("<ellipse ry='2'/>", 4.0 * PI, 4.0),
        ("<ellipse rx='2' ry='auto'/>", 4.0 * PI, 4.0),
        ("<path d='M0 0 A1 1 0 0 1 2 0 Z'/>", 0.5 * PI, 2.0),
        // A parabola over its chord: two thirds of the box.
        ("<path d='M0 0 Q 1 4 2 0 Z'/>", 2.0 * 2.0 * 2.0 / 3.0, 2.0),
    ] {
        let shape = read(text).unwrap();
        let perimeter = 4.0 * extent;
        let more = shape.area() - exact;
        assert!(more >= 0.0 && more < CURVE_TOLERANCE * extent * perimeter, "{text}: {} {exact}", shape.area());
        assert!((10..400).contains(&shape.outlines()[0].len()), "{}", shape.outlines()[0].len());
    }
    for (text, sentence) in [
        ("<path d='M0 0 L1 0 L1 1'/>", "the path on line 3 is not closed, and no other is"),
        ("<polyline id='it' points='0,0 1,0 1,1'/>", "the polyline `it` on line 3 is not closed"),
        ("<text>5</text>", "has no path, polygon, rectangle, circle or ellipse"),
        (
            "<path d='M0 0h9v9h-9z M20 9h1v1h-1z'/>",
            "has several shapes, the path on line 3 and the path on line 3, and must have one",
        ),
        ("<path d='M0 0h9v9h-9z M1 1h9v1h-9z'/>", "the path on line 3: hole 0 meets the outline"),
        ("\n<path d='M0 0 R5'/>", "the path on line 4 can't be read: "),
        ("<polygon points='0,0 x'/>", "the polygon on line 3 can't be read: "),
        ("<circle r='50%'/>", "the circle on line 3: `r` is `50%`, but it must be a number"),
        ("<rect width='2' height='2' rx='-1'/>", "the rect on line 3: `rx` is -1, but it must not be negative"),
        ("<g transform='turn(3)'><circle r='1'/></g>", "the g on line 3: `transform` can't be read: "),
        ("<path id='bow' d='M0 0 L1 1 L1 0 L0 1 Z'/>", "the path `bow` on line 3: edges 0 and 2 cross or touch"),
        ("<rect id='r0' width='0' height='9'/>", "the rect `r0` on line 3: the area is 0"),
        ("<path", "is not SVG: "),
        ("<circle r='-1'/>", "the circle on line 3: `r` is -1, but it must not be negative"),
        ("<ellipse rx='1' ry='-1'/>", "the ellipse on line 3: `ry` is -1, but it must not be negative"),
        ("<rect width='-1' height='1'/>", "the rect on line 3: `width` is -1, but it must not be negative"),
        ("<rect width='1' height='-1px'/>", "the rect on line 3: `height` is -1, but it must not be negative"),
        ("<circle r='1pxpx'/>", "the circle on line 3: `r` is `1pxpx`, but it must be a number"),
        ("<circle r='1e-320'/>", "the circle on line 3 is too small: "),
        ("<ellipse rx='1e300' ry='1'/>", "the ellipse on line 3 reaches too far: coordinates must be below 1e6"),
        ("<g transform='scale(1e200)'><rect width='1e200' height='1'/></g>", "the rect on line 3 reaches too far"),
        ("<path d='M0 0 A1e-300 1e-310 0 0 1 1 0 Z'/>", "the path on line 3 can't be read: an arc's radii are out of proportion"),
        ("<path d='M0 0 A1e300 1e300 0 0 1 1 0 Z'/>", "the path on line 3 can't be read: an arc's radii are out of proportion"),
    ] {
        folder.fails("a.svg", read(text), sentence);
    }
    folder.fails("b.svg", read_shape(&folder.write("b.svg", "<html/>")), "is not SVG: its element is `html`\n");
}

#[test]
fn files_that_hold_no_shape() {
    let folder = Folder::new();
    for (name, text, sentence) in [
        ("a.json", "[", "is not JSON: "),
        ("a.json", "{\"outline\": [[+0, 0], [1, 0], [0, 1]]}", "is not JSON: expected value at line 1 column 15"),
        ("a.json", "{\"outline\": [[1e999, 0], [1, 0], [0, 1]]}", "is not JSON: number out of range at line 1 column 19"),
        ("a.json", "{\"outline\": [[0, 0], [1, 0], [0, 1],]}", "is not JSON: trailing comma at line 1 column 37"),
        ("a.json", "{\"outline\": [[0, 0], [1, 0], [0, 1]]} {}", "is not JSON: trailing characters at line 1 column 39"),
        ("a.json", "[]", "must be an object with `outline`, with `pieces`, or a GeoJSON Polygon"),
        ("a.json", "{\"outline\": [], \"pieces\": []}", "has both `outline` and `pieces`"),
        ("a.json", "{\"outline\": 5}", "`outline` is not an array"),
        ("a.json", "{\"outline\": [[0, 0], [1, 0, 0]]}", "`outline[1]` is not an array of two numbers"),
        (
            "a.json",
            "{\"pieces\": [[[0, 0], [1, 0], [0, 1]], [[0, 0], [\"1\", 0]]]}",
            "`pieces[1][1]` is not an array of two numbers",
        ),
        ("a.json", "{\"pieces\": []}", "shape a: there are no pieces"),
        ("a.json", "{\"name\": \"n\", \"outline\": [[0, 0]]}", "shape n: there is 1 vertex"),
        ("a.json", "{\"type\": \"Point\", \"coordinates\": [0, 0]}", "is a GeoJSON Point, but a shape must be a Polygon"),
        ("a.json", "{\"type\": \"Polygon\", \"coordinates\": [[], []]}", "shape a: there are no vertices"),
        ("a.json", "{\"type\": \"Polygon\", \"coordinates\": []}", "is a polygon without vertices"),
        ("a.json", "{\"type\": \"FeatureCollection\", \"features\": []}", "has no polygon"),
        ("a.json", "{\"type\": \"FeatureCollection\"}", "is a GeoJSON FeatureCollection without an array `features`"),
        (
            "a.json",
            "{\"outline\": [[0, 0], [9, 0], [0, 9]], \"holes\": [[1, 2]]}",
            "`holes[0][0]` is not an array of two numbers",
        ),
        ("a.json", "{\"type\": \"Polygon\"}", "is a GeoJSON Polygon without an array `coordinates`"),
        (
            "a.json",
            "{\"type\": \"MultiPolygon\", \"coordinates\": [[[[0, 0], [1, 0, 5], [0, 1]]], [[[0, 0, 1, 2]]]]}",
            "`coordinates[1][0][0]` is not an array of two numbers",
        ),
        (
            "a.json",
            "{\"type\": \"Feature\", \"geometry\": {\"type\": \"Point\"}}",
            "`geometry` is a GeoJSON Point, but a shape must be a Polygon",
        ),
        (
            "a.json",
            "{\"type\": \"FeatureCollection\", \"features\": [{\"geometry\": null}, \
                {\"geometry\": {\"type\": \"Polygon\", \"coordinates\": [[[0, 0], [1, 0], [\"x\", 1]]]}}]}",
            "`features[1].geometry.coordinates[0][2]` is not an array of two numbers",
        ),
        ("a.wkt", "POLYGON ((0 0, 1 0", "is not WKT: "),
        ("a.wkt", "POLYGON ((0 0, 1 x, 0 1))", "is not WKT: `x` is not a number"),
        (
            "a.svg",
            "<svg><rect width='1' height='1'/>\n<path d='M0 0 L1 1'/>\n<circle id='c' r='1'/></svg>",
            "has several shapes, the rect on line 1 and the circle `c` on line 3",
        ),
        ("a.wkt", "POLYGON EMPTY", "is a polygon without vertices"),
        ("a.wkt", "POLYGON ((0 0, 9 0, 0 9), (1 1, 2 1, 1 2), (1 1, 2 1, 2 2))", "shape a: hole 0 meets hole 1"),
        ("a.wkt", "POLYGON ((0 0, 9 0, 0 9), (1 1, 4 1, 1 4), (1.5 1.5, 2 1.5, 1.5 2))", "shape a: hole 1 meets hole 0"),
        ("a.wkt", "POLYGON ((0 0, 9 0, 0 9), (9 9, 8 9, 9 8))", "shape a: hole 0 is not inside of the outline"),
        ("a.wkt", "POLYGON ((0 0, 9 0, 0 9), (0 1, 2 1, 1 2))", "shape a: hole 0 meets the outline"),
        ("a.wkt", "POLYGON ((0 0, 9 0, 0 9), (1 1, 2 1, 3 1))", "shape a: hole 0: the area is 0"),
        ("a.wkt", "POLYGON Z ((0 0 1, 9 0 1, 0 9 1))", "is a POLYGON with more than x and y"),
        (
            "a.wkt",
            "MULTIPOLYGON (((0 0, 9 0, 0 9)), ((10 0, 19 0, 10 9)))",
            "has several shapes, polygon 1 and polygon 2, and must",
        ),
        ("a.wkt", "GEOMETRYCOLLECTION (POLYGON ((0 0, 9 0, 0 9)))", "is a GEOMETRYCOLLECTION, but a shape must be a POLYGON"),
        ("a.wkt", "LINESTRING (0 0, 9 0)", "is a LINESTRING, but"),
        ("a.wkt", "POLYGON ((0 0, 1 1, 1 0, 0 1, 0 0))", "shape a: edges 0 and 2 cross or touch"),
        ("a.wkt", "POLYGON ((0 0, 1 0, 0 1)) and more", "goes on after the geometry: `and more`"),
        (
            "a.wkt",
            "POLYGON ((0 0, 1 0, 0 1))\nPOLYGON ((0 0, 2 0, 0 2))",
            "goes on after the geometry: `POLYGON ((0 0, 2 0, 0 2))`",
        ),
    ] {
        folder.fails(name, read_shape(&folder.write(name, text)), sentence);
    }
    fs::write(folder.path("b.wkt"), b"\xff\xff").unwrap();
    for (name, sentence) in [("none.svg", "can't be read: no such file"), ("b.wkt", "is not UTF-8 text")] {
        folder.fails(name, read_shape(&folder.path(name)), sentence);
    }
    fs::create_dir(folder.path("d.json")).unwrap();
    folder.fails("d.json", read_shape(&folder.path("d.json")), "is a directory, not a file\n");
    for (text, sentence) in [
        ("cube", "`cube` is not a shape: it must be `tree`, a file .json, .geojson, .svg, .dxf or .wkt, `-`, or WKT such as"),
        (".", "`.` is not a shape: it is a directory, but must be `tree`, a file .json"),
        ("", "`` is not a shape: it is empty, but must be `tree`, a file .json"),
        ("Tree", "`Tree` is not a shape: "),
        ("LineString(0 0, 1 1)", "`LineString(0 0, 1 1)` is not a shape: is a LINESTRING, but"),
        ("POLYGON((0 0, 1 0))", "shape polygon: there are 2 vertices"),
    ] {
        let error = read_shape(text).unwrap_err().to_string();
        assert!(error.starts_with(sentence), "{error}");
    }
}

#[test]
fn texts_out_of_proportion() {
    let folder = Folder::new();
    let svg = |inner: &str| format!("<svg xmlns='http://www.w3.org/2000/svg'>{inner}</svg>");
    let rectangle = "<rect width='2' height='1'/>";
    let nested = |n: usize| svg(&format!("{}{rectangle}{}", "<g>".repeat(n), "</g>".repeat(n)));
    let attributes =
        |n: usize| svg(&format!("<rect width='2' height='1' {}/>", (0..n).map(|i| format!("a{i}='' ")).collect::<String>()));
    // One of 1 MB, a thousand times.
    let bomb = format!(
        "<!DOCTYPE svg [<!ENTITY a \"{}\">]><svg><text>{}</text>{rectangle}</svg>",
        "x".repeat(1 << 20),
        "&a;".repeat(1000)
    );
    // As drawing programs write them.
    let entities =
        format!("<!DOCTYPE svg [<!ENTITY ns_svg \"http://www.w3.org/2000/svg\">]><svg xmlns=\"&ns_svg;\">{rectangle}</svg>");
    for (name, text, found) in [
        ("a.svg", nested(254), Ok(2.0)),
        ("a.svg", nested(255), Err("has more than 256 elements within each other")),
        ("a.svg", nested(200_000), Err("has more than 256 elements within each other")),
        ("a.svg", attributes(998), Ok(2.0)),
        ("a.svg", attributes(999), Err("has an element with more than 1000 attributes")),
        ("a.svg", attributes(200_000), Err("has an element with more than 1000 attributes")),
        ("a.svg", svg(&"<g/>".repeat(1_100_000)), Err("is not SVG: ")),
        ("a.svg", entities, Ok(2.0)),
        ("a.svg", bomb, Err("has entities that stand for too much")),
        (
            "a.wkt",
            format!("{}POINT(0 0){}", "GEOMETRYCOLLECTION(".repeat(7000), ")".repeat(7000)),
            Err("has more than 3 parentheses"),
        ),
        ("a.wkt", format!("POLYGON {}", "(".repeat(1 << 20)), Err("has more than 3 parentheses")),
        ("a.json", "[".repeat(1 << 20), Err("is not JSON: recursion limit exceeded")),
        ("a.json", format!("{{\"outline\": [{}[0, 1]]}}", "[0, 0],".repeat(99_999)), Err("shape a: ")),
        ("a.json", format!("{{\"outline\": [{}[0, 1]]}}", "[0, 0],".repeat(100_000)), Err("has more than 100000 vertices")),
        ("a.wkt", " ".repeat((16 << 20) + 1), Err("is longer than 16 MiB, which is too long for such a file")),
    ] {
        let read = read_shape(&folder.write(name, &text));
        match found {
            Ok(area) => assert_eq!(read.unwrap().area(), area),
            Err(sentence) => folder.fails(name, read, sentence),
        }
    }
}

/// A curve becomes lines that are no farther from it than is promised: every point of them from the curve, and the
/// curve from them.
#[test]
fn curves_are_as_close_as_promised() {
    let folder = Folder::new();
    let outline = |inner: &str| {
        let shape =
            read_shape(&folder.write("a.svg", &format!("<svg xmlns='http://www.w3.org/2000/svg'>{inner}</svg>"))).unwrap();
        shape.outlines()[0].clone()
    };
    // Checks distances from an ellipse to first order: the level of its equation over its slope. Edges whose middle has
    // a level of at most `least` are no part of the curve.
    let check = |inner: &str, [rx, ry, turn]: [f64; 3], least: f64| {
        let ring = outline(inner);
        let extent = extent(&ring);
        let at = |from: Point, to: Point, at: f64| {
            let [x, y] = [from[0] + at * (to[0] - from[0]), from[1] + at * (to[1] - from[1])];
            let (x, y) = (x * f64::cos(turn) + y * f64::sin(turn), y * f64::cos(turn) - x * f64::sin(turn));
            let level = (x / rx).hypot(y / ry);
            (level, (level - 1.0) / ((x / (rx * rx)).hypot(y / (ry * ry)) / level))
        };
        let (mut worst, mut within) = (0.0f64, 0.0f64);
        for (&from, &to) in ring.iter().zip(ring.iter().cycle().skip(1)).filter(|(from, to)| at(**from, **to, 0.5).0 > least) {
            let off = (0..=16).map(|step| at(from, to, f64::from(step) / 16.0).1);
            (worst, within) = off.fold((worst, within), |(worst, within), off| (worst.max(off), within.min(off)));
        }
        assert!(worst > 0.0 && worst <= CURVE_TOLERANCE * extent, "{inner}: {:e} of {extent}", worst / extent);
        // Arcs are cubic curves first, within 1e-6 of their radius.
        assert!(within > -1e-6 * extent, "{inner}: {:e} of {extent} within", within / extent);
    };
    for radius in [1e-3, 1.0, 123.0, 4e5] {
        let circle = |inner: &str| check(inner, [radius, radius, 0.0], 0.0);
        circle(&format!("<circle r='{radius}'/>"));
        circle(&format!("<path d='M{radius} 0A{radius} {radius} 0 0 1 -{radius} 0A{radius} {radius} 0 0 1 {radius} 0Z'/>"));
        // Too small radii are made as large as they must be.
        let diameter = 2.0 * radius;
        circle(&format!("<path d='M{radius} 0a1e-7 1e-7 30 0 1 -{diameter} 0a1e-7 1e-7 0 0 1 {diameter} 0Z'/>"));
    }
    // A quarter, and a flat part of a large circle, over their chords.
    check("<path d='M2 0A2 2 0 0 0 0 -2L0 0Z'/>", [2.0, 2.0, 0.0], 0.5);
    let [x, y]: Point = [100.0 * 0.01f64.sin(), 100.0 * 0.01f64.cos()];
    check(&format!("<path d='M-{x} -{y}A100 100 0 0 1 {x} -{y}Z'/>"), [100.0, 100.0, 0.0], 0.99997);
    // The large arc of three quarters, the other way round.
    check("<path d='M1 0A1 1 0 1 0 0 1L0 0Z'/>", [1.0, 1.0, 0.0], 0.5);
    for (inner, ellipse) in [
        ("<ellipse rx='3' ry='0.5'/>", [3.0, 0.5, 0.0]),
        ("<path d='M3 0A3 .5 0 0 1 -3 0A3 .5 0 0 1 3 0Z'/>", [3.0, 0.5, 0.0]),
        ("<g transform='rotate(-30)'><circle r='1' transform='scale(2 40)'/></g>", [2.0, 40.0, PI / 6.0]),
    ] {
        check(inner, ellipse, 0.0);
    }
    // A Bézier curve whose control points are far beyond it: the tolerance depends on the curve's
    // box, not on theirs.
    let ring = outline("<path d='M0 0C1000 10 -1000 20 0 30L-500 40L-500 -10Z'/>");
    let point = |t: f64| {
        let [a, b, c] = [3.0 * t * (1.0 - t) * (1.0 - t), 3.0 * t * t * (1.0 - t), t * t * t];
        [1000.0 * (a - b), -(10.0 * a + 20.0 * b + 30.0 * c)]
    };
    let off = |at: Point| {
        let to = |index: usize| {
            let (from, to) = (ring[index], ring[(index + 1) % ring.len()]);
            let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
            let share = (((at[0] - from[0]) * dx + (at[1] - from[1]) * dy) / (dx * dx + dy * dy)).clamp(0.0, 1.0);
            (from[0] + share * dx - at[0]).hypot(from[1] + share * dy - at[1])
        };
        (0..ring.len()).map(to).fold(f64::INFINITY, f64::min)
    };
    let worst = (0..=5000).map(|step| off(point(f64::from(step) / 5000.0))).fold(0.0, f64::max);
    assert!(worst <= CURVE_TOLERANCE * extent(&ring), "{worst}");
}

/// The material is within the lines also where it is outside of a curve: a bay, and a hole.
#[test]
fn bays_and_holes_do_not_grow() {
    let folder = Folder::new();
    for (inner, exact) in [
        ("<path d='M0 0A2 2 0 0 0 4 0L4 5 0 5Z'/>", 20.0 - 2.0 * PI),
        ("<path fill-rule='evenodd' d='M-3 -3h6v6h-6Z M2 0A2 2 0 0 0 -2 0A2 2 0 0 0 2 0Z'/>", 36.0 - 4.0 * PI),
        ("<path d='M-3 -3h6v6h-6Z M2 0A2 2 0 0 1 -2 0A2 2 0 0 1 2 0Z'/>", 36.0 - 4.0 * PI),
    ] {
        let shape = read_shape(&folder.write("a.svg", &format!("<svg>{inner}</svg>"))).unwrap();
        let more = shape.area() - exact;
        // Arcs are cubic curves a little outside of them.
        assert!(more > -1e-5 && more < CURVE_TOLERANCE * 6.0 * 4.0 * PI, "{inner}: {more:e}");
        let ring = shape.outlines().last().unwrap();
        let inwards = ring.iter().filter(|[x, y]| (x - if shape.outlines().len() == 1 { 2.0 } else { 0.0 }).hypot(*y) < 2.1);
        assert!(
            inwards.clone().count() > 20
                && inwards
                    .map(|[x, y]| (x - if shape.outlines().len() == 1 { 2.0 } else { 0.0 }).hypot(*y))
                    .all(|r| r < 2.0 + 1e-5)
        );
    }
    // Four discs don't fit where they don't.
    let disc = read_shape(&folder.write("a.svg", "<svg><circle cx='7' cy='9' r='15'/></svg>")).unwrap();
    let x = |of: fn(f64, f64) -> f64, from: f64| disc.outlines()[0].iter().fold(from, |x, point| of(x, point[0]));
    assert!(x(f64::max, f64::MIN) - x(f64::min, f64::MAX) >= 30.0 - 1e-12);
}

#[test]
fn several_shapes_of_a_file() {
    let folder = Folder::new();
    let drawing = "<svg><g id='layer'><rect id='plate' width='9' height='9'/><circle r='1'/></g>\n\
        <path id='ring' d='M0 0h9v9h-9Z M1 1h7v7h-7Z M2 2h5v5h-5Z M3 3h1v1h-1Z M5 5h1v1h-1Z'/></svg>";
    let collection = "{\"type\": \"FeatureCollection\", \"features\": [\
        {\"type\": \"Feature\", \"properties\": null, \"geometry\": null}, \
        {\"type\": \"Feature\", \"properties\": {\"name\": \"a\"}, \"geometry\": {\"type\": \"Polygon\", \"coordinates\": [[[0,0],[3,0],[0,3]]]}},\
        {\"type\": \"Feature\", \"id\": \"b\", \"properties\": null, \"geometry\": {\"type\": \"MultiPolygon\", \"coordinates\": [\
            [[[0,0],[9,0],[9,9],[0,9]],[[1,1],[2,1],[2,2],[1,2]]], [[[10,0],[11,0],[11,1]]]]}}]}";
    type Expected<'a> = &'a [(&'a str, f64, usize)];
    let expected: [(&str, &str, Expected<'_>); 5] = [
        ("f.svg", drawing, &[("plate", 81.0, 0), ("f 2", PI, 0), ("ring", 32.0, 1), ("ring", 23.0, 2)]),
        ("f.json", collection, &[("a", 4.5, 0), ("b 1", 80.0, 1), ("b 2", 0.5, 0)]),
        ("f.wkt", "MULTIPOLYGON (((0 0, 9 0, 0 9), (1 1, 2 1, 1 2)), ((9 9, 9 8, 8 9)))", &[("f 1", 40.0, 1), ("f 2", 0.5, 0)]),
        ("g.json", "{\"outline\": [[0,0],[9,0],[0,9]], \"holes\": [[[1,1],[2,1],[1,2]]]}", &[("g", 40.0, 1)]),
        ("g.wkt", "POLYGON ((0 0, 9 0, 0 9))", &[("g", 40.5, 0)]),
    ];
    for (name, text, expected) in expected {
        let shapes = read_shapes(&folder.write(name, text)).unwrap();
        assert_eq!(shapes.len(), expected.len(), "{name}");
        for (shape, &(called, area, holes)) in shapes.iter().zip(expected) {
            assert_eq!((shape.name(), shape.outlines().len() - 1), (called, holes), "{name}");
            assert!((shape.area() - area).abs() < 0.01, "{name}: {} {area}", shape.area());
            let pieces: f64 = shape.pieces().iter().map(|piece| shoelace(piece)).sum();
            assert!((shape.area() - pieces).abs() < 1e-12, "{name}: {pieces}");
        }
    }
}

/// A drawing's lengths are in mm if it tells its size.
#[test]
fn units_of_drawings() {
    let folder = Folder::new();
    let side = |attributes: &str| {
        let text = format!("<svg {attributes}><rect x='1' y='1' width='1' height='1'/></svg>");
        read_shape(&folder.write("a.svg", &text)).unwrap().area().sqrt()
    };
    for (attributes, expected) in [
        ("", 1.0),
        ("viewBox='0 0 9 9'", 1.0),
        ("width='100%' height='100%' viewBox='0 0 9 9'", 1.0),
        ("width='9mm' height='9mm' viewBox='0 0 9 9'", 1.0),
        ("width='9in' viewBox='0 0 9 9'", 25.4),
        ("height=' 9cm ' viewBox='0,0, 18 18'", 5.0),
        ("width='72pt' height='6pc' viewBox='0 0 254 254'", 0.1),
        ("width='96' height='96px'", 25.4 / 96.0),
        ("width='400Q' height='1in'", 25.4 / 96.0),
        // The whole view box is seen.
        ("width='20mm' height='10mm' viewBox='0 0 10 10'", 1.0),
        ("width='20mm' height='10mm' viewBox='0 0 10 10' preserveAspectRatio='xMinYMin slice'", 2.0),
        // The area is twice as large.
        ("width='20mm' height='10mm' viewBox='0 0 10 10' preserveAspectRatio='none'", 2.0f64.sqrt()),
    ] {
        assert!((side(attributes) - expected).abs() < 1e-12, "{attributes}: {} {expected}", side(attributes));
    }
}

/// A polygon with holes has the points of its outline that aren't in a hole.
#[test]
fn pieces_leave_holes_out() {
    let turn = |ring: Vec<Point>, by: f64| turned(&ring, [0.0, 0.0, by]);
    let square =
        |x: f64, y: f64, half: f64| vec![[x - half, y - half], [x + half, y - half], [x + half, y + half], [x - half, y + half]];
    let outline =
        turn(vec![[-9.0, -9.0], [0.0, -5.0], [9.0, -9.0], [5.0, 0.0], [9.0, 9.0], [0.0, 5.0], [-9.0, 9.0], [-5.0, 0.0]], 0.3);
    let holes: Vec<Vec<Point>> = [(0.0, 0.0, 1.5), (-3.0, -2.0, 1.0), (3.0, 3.0, 0.75), (3.0, -3.0, 0.5)]
        .iter()
        .enumerate()
        .map(|(k, &(x, y, half))| turn(square(x, y, half), 0.3 + 0.0 * k as f64))
        .collect();
    let shape = Shape::with_holes("s", &outline, &holes).unwrap();
    let inside = |ring: &[Point], [x, y]: Point| {
        let edges = ring.iter().zip(ring.iter().cycle().skip(1));
        edges.filter(|(a, b)| (a[1] > y) != (b[1] > y) && x < a[0] + (y - a[1]) / (b[1] - a[1]) * (b[0] - a[0])).count() % 2 == 1
    };
    let mut counts = [0; 2];
    for step in 0..40_000 {
        // Off the grid on which the vertices lie.
        let point = [(f64::from(step % 200) - 99.7) * 0.11, (f64::from(step / 200) - 99.7) * 0.11];
        let expected = inside(&outline, point) && !holes.iter().any(|hole| inside(hole, point));
        let found = shape.pieces().iter().filter(|piece| inside(piece, point)).count();
        assert_eq!(found, usize::from(expected), "{point:?}");
        counts[usize::from(expected)] += 1;
    }
    assert!(counts.iter().all(|&count| count > 5000), "{counts:?}");
    let area = shoelace(&outline) - holes.iter().map(|hole| shoelace(hole)).sum::<f64>();
    assert!((shape.area() - area).abs() < 1e-12 * area && shape.pieces().len() <= 4 * 12 + 1);
}

#[test]
fn paths_as_the_standard_has_them() {
    let folder = Folder::new();
    let outline = |d: &str| {
        let text = format!("<svg xmlns='http://www.w3.org/2000/svg'><path d='{d}'/></svg>");
        read_shape(&folder.write("a.svg", &text)).unwrap().outlines()[0].clone()
    };
    let same = |d: &str, other: &str| assert_eq!(outline(d), outline(other), "{d}\n{other}");
    same("M1 1h2v3h-2z", "M1 1H3V4H1Z");
    same("m1 1 2 0 0 3-2 0z", "M1,1L3,1 3,4L1,4Z");
    same("M0 0c0 1 1 1 1 0s1-1 1 0V-2H0z", "M0 0C0 1 1 1 1 0C1 -1 2 -1 2 0V-2H0Z");
    same("M0 0q1 2 2 0t2 0V-3H0z", "M0 0Q1 2 2 0Q3 -2 4 0V-3H0Z");
    // After another command a smooth curve has nothing to mirror.
    same("M0 0L1 0S2 1 2 0V-2H0Z", "M0 0L1 0C1 0 2 1 2 0V-2H0Z");
    same("M0 0C1 0 1 1 2 0T4 0V-2H0Z", "M0 0C1 0 1 1 2 0L4 0V-2H0Z");
    // Flags may stand without spaces, and an arc that ends at the pen's position is left out.
    same("M0 0A1 1 0 01 2 0A1 1 0 0 1 2 0V-2H0Z", "M0,0 a1,1,0,0,1,2,0 V-2 H0 Z");
    same("M0 0A0 1 0 0 1 2 0L1 3Z", "M0 0L2 0L1 3Z");
}

// ---- files of poses

fn save_poses(packings: &Packings, layout: PoseLayout, path: &Path) -> Result<(), OverlapError> {
    let format = Format::of(path)?;
    save_poses_at(packings, layout, &Destination::prepare(path)?, format)
}

fn some_packings() -> Packings {
    let poses = (0..6).map(|i| f64::from(i) / 3.0).map(|t| [t, -t * t, 7.0 * t]).collect();
    Packings::ensembles(poses, 3).unwrap()
}

#[test]
fn arrays_of_poses() {
    let folder = Folder::new();
    let path = folder.path("a.npy");
    let path = Path::new(&path);
    write_npy(path, &array![[1.0f32, 2.0, 0.1], [3.0, 4.0, 5.0]]).unwrap();
    let file = read_poses(path).unwrap();
    assert_eq!((file.layout, file.packings.poses()), (PoseLayout::Single, &[[1.0, 2.0, f64::from(0.1f32)], [3.0, 4.0, 5.0]][..]));
    let fails = |sentence: &str| folder.fails("a.npy", read_poses(path), sentence);

    save_poses(&some_packings(), PoseLayout::Ensembles, path).unwrap();
    let written: Array3<f64> = read_npy(path).unwrap();
    assert_eq!((written.shape(), written[[1, 0, 2]]), (&[2, 3, 3][..], 7.0));
    let file = read_poses(path).unwrap();
    assert_eq!((file.layout, file.packings), (PoseLayout::Ensembles, some_packings()));
    let one = Packings::one(some_packings().poses().to_vec()).unwrap();
    save_poses(&one, PoseLayout::Single, path).unwrap();
    assert_eq!(read_npy::<_, Array2<f64>>(path).unwrap().shape(), [6, 3]);
    assert_eq!(read_poses(path).unwrap().packings, one);
    for shape in [&[0, 3][..], &[0, 5, 3], &[4, 0, 3]] {
        write_npy(path, &ArrayD::<f64>::zeros(IxDyn(shape))).unwrap();
        let packings = read_poses(path).unwrap().packings;
        assert_eq!((packings.poses().len(), packings.len()), (0, if shape.len() == 2 { 1 } else { shape[0] }));
    }

    // Packings without poses, more than anybody has.
    for packings in ["1000000000000000", "9223372036854775807"] {
        let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({packings}, 0, 3), }}\n");
        let bytes = [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes()].concat();
        fs::write(path, bytes).unwrap();
        fails(&format!("has the shape ({packings}, 0, 3): of an array without elements, the rest may make up 1048576 at most\n"));
    }
    for (shape, sentence) in [
        (&[3][..], "holds an array of shape (3,), but that of poses must be (poses, 3) or (packings, poses, 3)"),
        (&[5, 2], "holds an array of shape (5, 2), but"),
        (&[1, 1, 1, 3], "holds an array of shape (1, 1, 1, 3), but"),
    ] {
        write_npy(path, &ArrayD::<f64>::zeros(IxDyn(shape))).unwrap();
        fails(sentence);
    }
    write_npy(path, &array![[1i32, 2, 3]]).unwrap();
    fails("holds int32, but poses must be float32 or float64\n");
    let mut bad = Array3::<f64>::zeros((2, 4, 3));
    bad[[1, 2, 2]] = f64::INFINITY;
    write_npy(path, &bad).unwrap();
    fails("packing 1, pose 2: theta = inf, but it must be a finite number\n");
    fs::write(path, "x").unwrap();
    fails("is not a .npy file\n");
    for (name, sentence) in
        [("a.txt", "the name must end in .npy or .csv, which tells the format"), ("none.npy", "can't be read: no such file")]
    {
        folder.fails(name, read_poses(Path::new(&folder.path(name))), sentence);
    }
}

#[test]
fn text_of_poses() {
    let folder = Folder::new();
    let path = folder.path("a.csv");
    let path = Path::new(&path);
    let read = |text: &str| {
        fs::write(path, text).unwrap();
        read_poses(path)
    };
    let file = read("x,y,theta\n0,1e-3,-2\n\n 5 , 6 , 7 \n").unwrap();
    assert_eq!((file.layout, file.packings.poses()), (PoseLayout::Single, &[[0.0, 1e-3, -2.0], [5.0, 6.0, 7.0]][..]));
    let file = read("x,y,theta,shape\n0,1,2,3\n0,0,0,0\n").unwrap();
    assert_eq!(file.packings.shapes(), Some(&[3, 0][..]));
    let file = read("packing,x,y,theta,shape\n0,0,1,2,3\n1,0,0,0,0\n1,0,0,0,1\n").unwrap();
    assert_eq!(
        (file.layout, file.packings.offsets(), file.packings.shapes()),
        (PoseLayout::Ensembles, &[0, 1, 3][..], Some(&[3, 0, 1][..]))
    );
    assert_eq!(read("x,y,theta\n").unwrap().packings.offsets(), [0, 0]);
    assert!(read("packing,x,y,theta\n").unwrap().packings.is_empty());

    let one = Packings::one(some_packings().poses().to_vec()).unwrap();
    for (packings, layout) in [
        (some_packings(), PoseLayout::Ensembles),
        (some_packings().with_shapes(vec![0, 1, 2, 3, 4, 5]).unwrap(), PoseLayout::Ensembles),
        (Packings::ragged(one.poses().to_vec(), vec![0, 1, 6]).unwrap(), PoseLayout::Ensembles),
        (one.clone(), PoseLayout::Single),
        (one.clone().with_shapes(vec![1; 6]).unwrap(), PoseLayout::Single),
    ] {
        save_poses(&packings, layout, path).unwrap();
        let file = read_poses(path).unwrap();
        assert_eq!((file.layout, file.packings), (layout, packings));
    }
    save_poses(&one, PoseLayout::Single, path).unwrap();
    assert!(fs::read_to_string(path).unwrap().starts_with("x,y,theta\n0.0,-0.0,0.0\n0.3333333333333333,-0.1111111111111111,"));

    for (text, sentence) in [
        ("", "is empty, but must be a table"),
        ("\n\n", "is empty, but must be a table"),
        ("x,y,deg\n", "line 1: the header is `x,y,deg`, but it must be `x,y,theta` or `x,y,theta,shape` or "),
        ("x,y,theta\n0,0\n", "line 2: there are 2 fields for 3 columns"),
        ("x,y,theta\n0,0,0\n\n0,o,0\n", "line 4: column `y`: `o` is not a number"),
        ("x,y,theta\n0,0,0\n0,0,nan\n", "line 3: packing 0, pose 1: theta = NaN, but it must be a finite number"),
        ("packing,x,y,theta\n0,0,0,0\n1,inf,0,0\n", "line 3: packing 1, pose 0: x = inf"),
        ("packing,x,y,theta\n18446744073709551615,0,0,0\n", "line 2: column `packing`: 18446744073709551615 is the first"),
        ("packing,x,y,theta\n0,0,0,0\n2,0,0,0\n", "line 3: column `packing`: 2 comes after 0, but rows must be in the order of"),
        ("x,y,theta,shape\n0,0,0,-1\n", "line 2: column `shape`: `-1` is not a shape's index, a whole number from 0 on"),
    ] {
        folder.fails("a.csv", read(text), sentence);
    }
}

#[test]
fn submissions() {
    let folder = Folder::new();
    let path = folder.path("a.csv");
    let path = Path::new(&path);
    let read = |text: &str| {
        fs::write(path, format!("id,x,y,deg\n{text}")).unwrap();
        read_poses(path)
    };
    let file = read("002_1,s0.5,s-1,s90.0\n001_0,s1e-2,s0,s-45\n002_0,s0,s0,s765\n").unwrap();
    let poses = [[0.01, 0.0, -0.25 * PI], [0.0, 0.0, 0.25 * PI], [0.5, -1.0, 0.5 * PI]];
    assert_eq!(
        (file.layout, file.packings.offsets(), file.packings.poses()),
        (PoseLayout::Submission, &[0, 1, 3][..], &poses[..])
    );
    // A number has one form, an id several.
    assert_eq!(read("2_01,s0.5,s-1,s90.0\n1_0,s1e-2,s0,s-45\n002_0,s0,s0,s45\n").unwrap(), file);
    assert_eq!(read("").unwrap().packings.len(), 0);

    let packings = Packings::ragged(some_packings().poses().to_vec(), vec![0, 3, 4, 6]).unwrap();
    save_poses(&packings, PoseLayout::Submission, path).unwrap();
    assert!(fs::read_to_string(path).unwrap().starts_with("id,x,y,deg\n001_0,s1.0,s-1.0,s401.07"));
    let read_back = read_poses(path).unwrap();
    assert_eq!((read_back.layout, read_back.packings.offsets()), (PoseLayout::Submission, &[0, 1, 3, 6][..]));
    for (size, packing) in [(1, 1), (2, 2), (3, 0)] {
        for (found, expected) in read_back.packings.get(size - 1).iter().zip(packings.get(packing)) {
            assert_eq!(found[..2], expected[..2]);
            let turns = (found[2] - expected[2]) / (2.0 * PI);
            assert!((turns - turns.round()).abs() < 1e-15);
        }
    }

    for (text, sentence) in [
        ("001_0,0,s0,s0", "line 2: column `x`: `0` is not a number with the prefix s, such as s0.5"),
        ("001_0,s0,s0,sx", "line 2: column `deg`: `sx` is not a number with"),
        ("001_0,s0,snan,s0", "line 2: column `y`: `snan` is not a number with"),
        ("001-0,s0,s0,s0", "line 2: column `id`: `001-0` is not an id such as 012_3"),
        ("_0,s0,s0,s0", "line 2: column `id`: `_0` is not an id"),
        ("+1_0,s0,s0,s0", "line 2: column `id`: `+1_0` is not an id"),
        ("000_0,s0,s0,s0", "line 2: column `id`: `000_0` is not an id"),
        ("001_1,s0,s0,s0", "line 2: column `id`: `001_1` is tree 1 of 1, but there is only tree 0"),
        ("003_3,s0,s0,s0", "line 2: column `id`: `003_3` is tree 3 of 3, but the trees are 0 to 2"),
        ("001_0,s0,s0,s0\n002_1,s0,s0,s0\n01_0,s0,s0,s0", "line 4: column `id`: `001_0` is there twice"),
        ("003_2,s0,s0,s0\n003_0,s0,s0,s0", "there is no `003_1`: of the packing of 3 there are 2 trees"),
        ("9999999999999_0,s0,s0,s0", "there is no `9999999999999_1`: of the packing of 9999999999999 there is 1 tree"),
    ] {
        folder.fails("a.csv", read(text), sentence);
    }
}

#[test]
fn poses_that_a_format_cant_hold() {
    let folder = Folder::new();
    let packings = some_packings();
    let ragged = Packings::ragged(packings.poses().to_vec(), vec![0, 1, 1, 6]).unwrap();
    let shaped = packings.clone().with_shapes(vec![1; 6]).unwrap();
    for (packings, layout, name, sentence) in [
        (&packings, PoseLayout::Single, "a.npy", "there are 2 packings, but the file is to hold a single one"),
        (
            &ragged,
            PoseLayout::Ensembles,
            "a.npy",
            "packing 0 has 1 poses and packing 1 has 0: packings of different sizes don't fit",
        ),
        (&ragged, PoseLayout::Ensembles, "a.csv", "packing 1 has no poses, and can't be saved as text"),
        (&shaped, PoseLayout::Ensembles, "a.npy", "poses of several shapes can be saved as text with a column `shape` alone"),
        (
            &packings,
            PoseLayout::Submission,
            "a.csv",
            "packings 0 and 1 both have 3 poses, but a submission has one packing of each size",
        ),
        (&packings, PoseLayout::Ensembles, "a.txt", "the name must end in .npy or .csv"),
    ] {
        folder.fails(name, save_poses(packings, layout, Path::new(&folder.path(name))), sentence);
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0);
    }
    let error = save_poses(&packings, PoseLayout::Ensembles, Path::new(&folder.path("no/a.npy"))).unwrap_err().to_string();
    assert!(error.contains("can't be written: there is no directory"), "{error}");
    let destination = Destination::prepare(Path::new(&folder.path("a.txt"))).unwrap();
    save_poses_at(&packings, PoseLayout::Ensembles, &destination, Format::Npy).unwrap();
    assert_eq!(read_npy::<_, Array3<f64>>(folder.path("a.txt")).unwrap().shape(), [2, 3, 3]);
}

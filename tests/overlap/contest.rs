//! The contest's rules: which trees overlap, by the contest's own arithmetic and exact predicates.

use std::f64::consts::PI;

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{RngCore as _, SeedableRng as _},
};
use robust::{Coord, orient2d};
use warpsmith::{
    device::Device,
    overlap::{
        Packings, Shape,
        contest::{BOUND, Check, Meeting},
        pack::{Budget, Packer, Settings},
    },
};

/// x and y, and an angle in degrees, as a submission has them.
type Row = [f64; 3];

/// The contest's tree, clockwise from the tip.
const TREE: [[f64; 2]; 15] = [
    [0.0, 0.8],
    [0.125, 0.5],
    [0.0625, 0.5],
    [0.2, 0.25],
    [0.1, 0.25],
    [0.35, 0.0],
    [0.075, 0.0],
    [0.075, -0.2],
    [-0.075, -0.2],
    [-0.075, 0.0],
    [-0.35, 0.0],
    [-0.1, 0.25],
    [-0.2, 0.25],
    [-0.0625, 0.5],
    [-0.125, 0.5],
];

/// A triangulation of the tree. Rounding can't turn any of its triangles over.
const TRIANGLES: [[usize; 3]; 13] = [
    [0, 1, 2],
    [0, 2, 13],
    [0, 13, 14],
    [2, 3, 4],
    [2, 4, 11],
    [2, 11, 13],
    [13, 11, 12],
    [4, 5, 6],
    [4, 6, 9],
    [4, 9, 11],
    [11, 9, 10],
    [6, 7, 8],
    [6, 8, 9],
];

/// The tree's vertices as the contest has them: in double precision, 1e18 times as large, turned
/// and then moved. Depending on the machine, the contest's library fuses multiplications and
/// additions.
fn placed([x, y, degrees]: Row, fused: bool) -> Vec<Coord<f64>> {
    let angle = degrees * PI / 180.0;
    let zeroed = |number: f64| if number.abs() < 2.5e-16 { 0.0 } else { number };
    let (cosine, sine) = (zeroed(angle.cos()), zeroed(angle.sin()));
    // Decimal numbers are scaled before they are rounded.
    let scaled = |number: f64| format!("{number}e18").parse::<f64>().unwrap();
    let sum = |a: f64, x: f64, b: f64, y: f64| if fused { a.mul_add(x, b * y) } else { a * x + b * y };
    let place = |[u, v]: [f64; 2]| {
        let (u, v) = (scaled(u), scaled(v));
        Coord { x: sum(cosine, u, -sine, v) + scaled(x), y: sum(sine, u, cosine, v) + scaled(y) }
    };
    TREE.map(place).to_vec()
}

/// Returns true if the interiors of two clockwise triangles meet, exactly, by signs of
/// determinants.
fn meet(one: [Coord<f64>; 3], other: [Coord<f64>; 3]) -> bool {
    let separates = |from: [Coord<f64>; 3], to: [Coord<f64>; 3]| {
        (0..3).any(|edge| to.iter().all(|&vertex| orient2d(from[edge], from[(edge + 1) % 3], vertex) >= 0.0))
    };
    !separates(one, other) && !separates(other, one)
}

/// Returns true if the contest treats two trees as overlapping.
fn contest_says(pair: [Row; 2], fused: bool) -> bool {
    let [one, other] = pair.map(|row| {
        let vertices = placed(row, fused);
        TRIANGLES.map(|corners| {
            let corners = corners.map(|corner| vertices[corner]);
            assert!(orient2d(corners[0], corners[1], corners[2]) < 0.0, "a triangle is turned over");
            corners
        })
    });
    one.iter().any(|one| other.iter().any(|other| meet(*one, *other)))
}

fn check(pair: [Row; 2]) -> Check {
    let poses = pair.map(|[x, y, degrees]| [x, y, (degrees % 360.0).to_radians()]);
    Check::of(&Packings::one(poses.to_vec()).unwrap(), &[Shape::tree()])
}

fn depth(check: &Check) -> Option<f64> {
    check.overlaps.first().or(check.touching.first()).map(|meeting| meeting.depth)
}

#[test]
fn what_overlaps_is_what_the_contest_refuses() {
    let mut random = ChaCha8Rng::seed_from_u64(25);
    let mut uniform = |low: f64, high: f64| low + (high - low) * (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    // Pairs that overlap, that touch, and that do neither.
    let mut found = [0; 3];
    for case in 0..600 {
        let far = if case % 4 == 0 { 98.0 } else { 4.0 };
        let mut first = [uniform(-far, far), uniform(-far, far), uniform(-360.0, 360.0)];
        let mut turned = uniform(-360.0, 360.0);
        match case % 6 {
            // Edges on edges.
            0 => turned = first[2],
            1 => turned = first[2] + 180.0,
            2 => (first[2], turned) = (90.0 * (case % 5) as f64, 90.0 * (case % 7) as f64),
            _ => {}
        }
        let direction = uniform(-PI, PI);
        let second = |distance: f64| [first[0] + distance * direction.cos(), first[1] + distance * direction.sin(), turned];
        let (mut near, mut apart) = (0.1, 2.0);
        while apart - near > 1e-17 && near < 0.5 * (near + apart) && 0.5 * (near + apart) < apart {
            let middle = 0.5 * (near + apart);
            if depth(&check([first, second(middle)])).is_some_and(|depth| depth >= 0.0) { near = middle } else { apart = middle }
        }
        for offset in [0.0, 1e-16, 1e-15, 1e-14, 3e-14, 1e-13, 3e-13, 1e-12, 1e-9, 1e-4] {
            for distance in [near - offset, near + offset] {
                let pair = [first, second(distance)];
                let result = check(pair);
                for fused in [false, true] {
                    let refused = contest_says(pair, fused);
                    match (result.overlaps.len(), result.touching.len()) {
                        (1, 0) => assert!(refused, "{pair:?} {result:?}"),
                        (0, 0) => assert!(!refused, "{pair:?} {result:?}"),
                        // Rounding decides.
                        (0, 1) => assert!(result.touching[0].depth.abs() < 3e-13, "{result:?}"),
                        _ => panic!("{result:?}"),
                    }
                }
                assert_eq!(result.is_valid(), result.overlaps.is_empty());
                found[if result.overlaps.len() == 1 { 0 } else { 2 - result.touching.len() }] += 1;
            }
        }
    }
    assert!(found.iter().all(|&count| count > 600), "{found:?}");
}

/// Overlaps of next to no area count as others do.
#[test]
fn what_is_packed_is_valid() {
    for seed in 3..7 {
        let settings = Settings { starts: Some(2), budget: Budget::Steps(3000), seed, ..Settings::of([(Shape::tree(), 8)]) };
        let packed = Packer::new(&Device::cpu(), settings).unwrap().run(|_| {}).unwrap();
        let check = Check::of(&Packings::one(packed.packings[0].poses.clone()).unwrap(), &[Shape::tree()]);
        assert!(check.is_valid(), "{seed}: {check:?}");
    }
}

#[test]
fn areas_and_depths_in_closed_form() {
    let square = Shape::polygon("square", &[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]).unwrap();
    let poses = vec![[0.0, 0.0, 0.0], [0.5, 0.25, 0.0], [7.0, 0.0, 0.0], [7.75, 0.0, 0.0], [8.75, 1.0, 0.0]];
    let check = Check::of(&Packings::one(poses).unwrap(), &[square]);
    assert_eq!(
        check.overlaps,
        [
            Meeting { packing: 0, first: 0, second: 1, area: 0.375, depth: 0.5 },
            Meeting { packing: 0, first: 2, second: 3, area: 0.25, depth: 0.25 },
        ]
    );
    assert_eq!(check.touching, [Meeting { packing: 0, first: 3, second: 4, area: 0.0, depth: 0.0 }]);
}

#[test]
fn sizes_and_bounds() {
    let poses = |count: usize| (0..count).map(|index| [(index % 50) as f64, (index / 50) as f64 * 2.0, 0.0]);
    let far = [[BOUND, -BOUND, 0.0], [-100.00000000000001, 0.0, 0.0], [0.0, 1e5, 0.0]];
    let all: Vec<_> = poses(200).chain(poses(201)).chain(far).collect();
    let packings = Packings::ragged(all, vec![0, 200, 200, 401, 404]).unwrap();
    let check = Check::of(&packings, &[Shape::tree()]);
    assert_eq!(check.sizes, [1, 2]);
    let outside: Vec<_> =
        check.outside.iter().map(|found| (found.packing, found.pose, found.field.to_string(), found.value)).collect();
    assert_eq!(outside, [(3, 1, "x".to_owned(), -100.00000000000001), (3, 2, "y".to_owned(), 1e5)]);
    assert!(check.overlaps.is_empty() && !check.is_valid());
}

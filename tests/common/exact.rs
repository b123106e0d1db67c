//! Overlap of simple polygons in exact arithmetic.

use num_bigint::BigInt;

type Point = [f64; 2];

/// A finite number as an odd integer (or 0) times 2 to a power.
fn odd(number: f64) -> (i64, i32) {
    if number == 0.0 {
        return (0, 0);
    }
    let bits = number.to_bits();
    let (fraction, exponent) = ((bits & ((1 << 52) - 1)) as i64, (bits >> 52 & 0x7ff) as i32);
    let (integer, exponent) = if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) };
    let zeros = integer.trailing_zeros();
    (if number < 0.0 { -(integer >> zeros) } else { integer >> zeros }, exponent + zeros as i32)
}

/// An edge from left to right, and whether the polygon is below it (1) or above (-1).
struct Edge {
    from: [BigInt; 2],
    to: [BigInt; 2],
    sign: i32,
}

/// Edges that aren't vertical, in units of 2^-`scale`. All coordinates are multiples of the unit.
fn edges(ring: &[Point], scale: i32) -> Vec<Edge> {
    let integer = |number: f64| {
        let (odd, exponent) = odd(number);
        BigInt::from(odd) << (exponent + scale).max(0)
    };
    let next = ring.iter().cycle().skip(1);
    let edges = ring.iter().zip(next).filter(|(from, to)| from[0] != to[0]);
    let edges = edges.map(|(from, to)| if from[0] < to[0] { (from, to, -1) } else { (to, from, 1) });
    edges.map(|(from, to, sign)| Edge { from: from.map(integer), to: to.map(integer), sign }).collect()
}

/// Returns the common area of two simple, counter-clockwise polygons. The only error is the
/// rounding to f64.
///
/// Each polygon is the signed sum of the regions below its edges, so that the intersection is that of the regions below
/// two edges, one of each: the integral of the lower of two lines. It needs no decision about which edges meet.
pub fn common_area(first: &[Point], second: &[Point]) -> f64 {
    let smallest = first.iter().chain(second).flatten().map(|&number| odd(number).1).min();
    let scale = -smallest.unwrap_or(0).min(0);
    // Bits behind the point of the doubled area.
    const BITS: u32 = 64;
    let zero = BigInt::ZERO;
    let mut sum = BigInt::ZERO;
    let second = edges(second, scale);
    for a in edges(first, scale) {
        for b in &second {
            let (left, right) = ((&a.from[0]).max(&b.from[0]), (&a.to[0]).min(&b.to[0]));
            if left >= right {
                continue;
            }
            let (run, other_run) = (&a.to[0] - &a.from[0], &b.to[0] - &b.from[0]);
            // The heights of both lines at both ends, times their runs.
            let height =
                |edge: &Edge, run: &BigInt, x: &BigInt| &edge.from[1] * run + (x - &edge.from[0]) * (&edge.to[1] - &edge.from[1]);
            let ends = [left, right].map(|x| (height(&a, &run, x), height(b, &other_run, x)));
            // Heights of the first line above and below the second, times both runs.
            let above = ends.each_ref().map(|(height, other)| height * &other_run - other * &run);
            let below: BigInt = above.iter().map(|above| above.min(&zero)).sum();
            let distance: BigInt = above.iter().map(|above| BigInt::from(above.magnitude().clone())).sum();
            let width = right - left;
            let mut lower = ((&width * (&ends[0].1 + &ends[1].1)) << BITS) / &other_run;
            if below != zero {
                lower -= ((&width * &below * &below) << BITS) / (distance * &run * &other_run);
            }
            if a.sign == b.sign { sum += lower } else { sum -= lower }
        }
    }
    let shift = sum.bits().saturating_sub(60);
    let leading = i64::try_from(&sum >> shift).expect("60 bits");
    // Twice the area is in units of 2^(-2 scale - BITS).
    leading as f64 * 2f64.powi(shift as i32 - scale) * 2f64.powi(-scale - BITS as i32 - 1)
}

#[test]
fn areas_in_closed_form() {
    let square = |x: f64, y: f64| [[x, y], [x + 1.0, y], [x + 1.0, y + 1.0], [x, y + 1.0]];
    let small = [[0.5, 0.0], [1.0, 0.5], [0.5, 1.0], [0.0, 0.5]];
    let dart = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.75, 0.25]];
    assert_eq!(common_area(&square(0.0, 0.0), &square(0.0, 0.0)), 1.0);
    assert_eq!(common_area(&square(0.0, 0.0), &square(0.25, -0.5)), 0.375);
    assert_eq!(common_area(&square(0.0, 0.0), &square(1.0, 0.25)), 0.0);
    assert_eq!(common_area(&small, &square(0.0, 0.0)), 0.5);
    assert_eq!(common_area(&square(-7.0, 0.0), &square(7.0, 0.0)), 0.0);
    assert_eq!(common_area(&dart, &square(0.0, 0.0)), 0.25);
    assert_eq!(common_area(&dart, &square(0.5, 0.0)), 0.25 - (0.5 * 0.5 / 3.0 / 2.0));
    // Too thin for f64's sums.
    let thin = 2f64.powi(-100);
    assert_eq!(
        common_area(&square(0.0, 0.0), &[[-1.0, 1.0 - 2f64.powi(-53)], [2.0, 1.0], [2.0, 2.0]]),
        common_area(&[[-1.0, 1.0 - 2f64.powi(-53)], [2.0, 1.0], [2.0, 2.0]], &square(0.0, 0.0))
    );
    assert_eq!(common_area(&[[0.0, 0.0], [1.0, 0.0], [1.0, thin], [0.0, thin]], &square(0.0, 0.0)), thin);
}

/// Converts numbers to multiples of their largest common power of two.
fn integers(numbers: &[f64]) -> Vec<BigInt> {
    let smallest = numbers.iter().map(|&number| odd(number).1).min().unwrap_or(0);
    let integer = |&number: &f64| {
        let (odd, exponent) = odd(number);
        BigInt::from(odd) << (exponent - smallest)
    };
    numbers.iter().map(integer).collect()
}

/// Returns true if a point is in a convex, counter-clockwise polygon or on its boundary.
pub fn in_convex(ring: &[Point], point: Point) -> bool {
    let numbers: Vec<f64> = ring.iter().flatten().copied().chain(point).collect();
    let integers = integers(&numbers);
    let (corners, point) = integers.split_at(2 * ring.len());
    (0..ring.len()).all(|k| {
        let at = |k: usize| &corners[2 * (k % ring.len())..][..2];
        let (from, to) = (at(k), at(k + 1));
        let (along, up) = (&to[0] - &from[0], &to[1] - &from[1]);
        along * (&point[1] - &from[1]) - up * (&point[0] - &from[0]) >= BigInt::ZERO
    })
}

/// Returns true if a point is in a disk about the origin or on its boundary.
pub fn in_disk(radius: f64, [x, y]: Point) -> bool {
    let integers = integers(&[radius, x, y]);
    &integers[1] * &integers[1] + &integers[2] * &integers[2] <= &integers[0] * &integers[0]
}

//! The smallest circle around points.

use super::convex::{Point, distance};

/// The smallest circle around all points (Welzl, *Smallest enclosing disks*, 1991, without recursion).
pub fn enclosing_circle(mut points: Vec<Point>) -> (Point, f64) {
    // A fixed pseudo-random order makes the expected time linear.
    let mut state = 1u64;
    for index in (1..points.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        points.swap(index, (state >> 33) as usize % (index + 1));
    }
    let contains = |(center, radius): (Point, f64), point: Point| distance(center, point) <= radius * (1.0 + 1e-14);
    let mut circle = (points[0], 0.0);
    for (i, &p) in points.iter().enumerate() {
        if contains(circle, p) {
            continue;
        }
        circle = (p, 0.0);
        for (j, &q) in points[..i].iter().enumerate() {
            if contains(circle, q) {
                continue;
            }
            circle = across(p, q);
            for &r in &points[..j] {
                if !contains(circle, r) {
                    circle = through(p, q, r);
                }
            }
        }
    }
    let (center, _) = circle;
    let radius = points.iter().map(|&point| distance(center, point)).fold(0.0, f64::max);
    (center, radius * (1.0 + 4.0 * f64::EPSILON))
}

/// The circle on a diameter.
fn across(a: Point, b: Point) -> (Point, f64) {
    ([0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1])], 0.5 * distance(a, b))
}

/// The circle through three points.
fn through(a: Point, b: Point, c: Point) -> (Point, f64) {
    let (b, c) = ([b[0] - a[0], b[1] - a[1]], [c[0] - a[0], c[1] - a[1]]);
    let (b2, c2) = (b[0] * b[0] + b[1] * b[1], c[0] * c[0] + c[1] * c[1]);
    let scale = 0.5 / (b[0] * c[1] - b[1] * c[0]);
    let center = [scale * (c[1] * b2 - b[1] * c2), scale * (b[0] * c2 - c[0] * b2)];
    let radius = center[0].hypot(center[1]);
    if radius.is_finite() {
        return ([a[0] + center[0], a[1] + center[1]], radius);
    }
    // The points are on a line: the two farthest apart determine the circle.
    let b = [a[0] + b[0], a[1] + b[1]];
    let c = [a[0] + c[0], a[1] + c[1]];
    let circles = [across(a, b), across(a, c), across(b, c)];
    circles.into_iter().max_by(|first, second| first.1.total_cmp(&second.1)).unwrap_or((a, 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles() {
        for (points, center, radius) in [
            (vec![[1.0, 2.0]], [1.0, 2.0], 0.0),
            (vec![[0.0, 0.0], [2.0, 0.0], [1.0, 0.5]], [1.0, 0.0], 1.0),
            (vec![[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [4.0, 0.0]], [2.0, 0.0], 2.0),
            (vec![[3.0, 4.0], [-3.0, 4.0], [0.0, -5.0], [1.0, 1.0]], [0.0, 0.0], 5.0),
        ] {
            let (found, found_radius) = enclosing_circle(points.clone());
            assert!(distance(found, center) < 1e-14 && (found_radius - radius).abs() < 1e-14 * (1.0 + radius));
            assert!(points.iter().all(|&point| distance(found, point) <= found_radius));
        }
    }
}

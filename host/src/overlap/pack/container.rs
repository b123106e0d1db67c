//! Containers as text.

use super::PackError;
use crate::overlap::{Boundary, OverlapError, Point, convex::cross, io::read_shape};

/// Reads a container: `square`, `strip:WIDTH`, `circle`, or a convex polygon from a file or in WKT.
/// A polygon is moved so that its centroid is at the origin.
pub fn read_container(text: &str) -> Result<Boundary, PackError> {
    let fail = |reason: String| PackError::Container { text: text.to_owned(), reason };
    match text.split_once(':') {
        None if text == "square" => return Ok(Boundary::square()),
        None if text == "circle" => return Ok(Boundary::disk()),
        Some(("strip", width)) => {
            let number = width.trim().parse().map_err(|_| fail("the width is not a number: write strip:2.5".to_owned()))?;
            return Boundary::strip(number).map_err(|error| fail(error.to_string()));
        }
        _ => {}
    }
    let shape = read_shape(text).map_err(|error| match error {
        OverlapError::NoShape { .. } => fail(
            "it must be `square`, `strip:WIDTH`, `circle`, a file .json, .geojson, .svg, .dxf or .wkt, or a POLYGON in WKT"
                .to_owned(),
        ),
        error => fail(error.to_string()),
    })?;
    let [ring] = shape.outlines() else { return Err(fail("it must be one convex polygon, and is several pieces".to_owned())) };
    let corner = |k: usize| ring[k % ring.len()];
    if let Some(k) = (0..ring.len()).find(|&k| cross(corner(k), corner(k + 1), corner(k + 2)) < 0.0) {
        let [x, y] = corner(k + 1);
        return Err(fail(format!("it must be convex, and isn't at its vertex ({x}, {y})")));
    }
    let [x, y] = centroid(ring, shape.center());
    let centred: Vec<Point> = ring.iter().map(|[u, v]| [u - x, v - y]).collect();
    Boundary::polygon(&centred).map_err(|error| fail(error.to_string()))
}

/// The centroid of a polygon. It is computed relative to `middle`, so that a polygon far from the
/// origin loses no digits.
fn centroid(ring: &[Point], [u, v]: Point) -> Point {
    let (mut area, mut sums) = (0.0, [0.0; 2]);
    for k in 0..ring.len() {
        let [a, b] = [ring[k], ring[(k + 1) % ring.len()]].map(|[x, y]| [x - u, y - v]);
        let twice = a[0] * b[1] - a[1] * b[0];
        area += twice;
        sums = [0, 1].map(|axis| sums[axis] + twice * (a[axis] + b[axis]) / 3.0);
    }
    [u + sums[0] / area, v + sums[1] / area]
}

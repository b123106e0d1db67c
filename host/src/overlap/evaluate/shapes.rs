//! Shapes on a device, prepared once for all kernels.

use std::f64::consts::PI;

use gpu_kernels::overlap::{
    clip,
    layout::{ANGLES, Extent, ShapeSpan},
};

use super::search::Around;
use crate::{
    device::{Buffer, Device},
    overlap::{OverlapError, OverlapReal, Point, Shape, lattice::length},
};

/// The shapes on a device.
#[derive(Debug)]
pub struct Shapes<T: OverlapReal> {
    pub spans: Buffer<ShapeSpan<T>>,
    pub quads: Buffer<clip::Point<T>>,
    /// Angles between copies at which sides may be parallel, as bits.
    pub parallels: Buffer<u32>,
    /// Number of quads of each shape.
    pub counts: Vec<usize>,
    /// Placeholder for a tree's boxes.
    pub no_boxes: Buffer<Extent<T>>,
    /// Their enclosing circles.
    pub around: Vec<Around>,
    /// The largest enclosing circle's diameter.
    pub reach: f64,
}

/// The angles of the sides of the shape's quads, from 0 to π.
fn angles(shape: &Shape) -> impl Iterator<Item = f64> + '_ {
    let sides = shape.quads().iter().flat_map(|quad| (0..4).map(|k| (quad[k], quad[(k + 1) % 4])));
    let sides = sides.filter(|(from, to)| from != to);
    sides.map(|(from, to)| (to[1] - from[1]).atan2(to[0] - from[0]).rem_euclid(PI))
}

/// Returns the bits of [`parallel`](gpu_kernels::overlap::layout::parallel): those of ranges that
/// contain an angle between two sides. All are set if sides have so many directions that most would
/// be.
fn parallels<T: OverlapReal>(shapes: &[Shape]) -> Vec<u32> {
    let mut directions: Vec<f64> = shapes.iter().flat_map(angles).map(|angle| angle / PI).collect();
    directions.sort_by(f64::total_cmp);
    directions.dedup_by(|second, first| *second - *first < 1e-12);
    if directions.len() > 500 {
        return vec![u32::MAX; ANGLES as usize / 32];
    }
    // Largest rounding error, in ranges, of an angle of up to ten turns.
    let slack = f64::from(ANGLES) * (2f64.powi(-22) + 80.0 * T::UNIT_ROUNDOFF);
    let mut bits = vec![0; ANGLES as usize / 32];
    for first in &directions {
        for second in &directions {
            let between = (first - second) * f64::from(ANGLES);
            for range in (between - slack).floor() as i64..=(between + slack).floor() as i64 {
                let range = range.rem_euclid(i64::from(ANGLES));
                bits[range as usize / 32] |= 1 << (range % 32);
            }
        }
    }
    bits
}

/// Returns the shortest vector whose component across each side of the shape's quads is at least 1.
fn across_sides(shape: &Shape) -> Point {
    let mut angles: Vec<f64> = angles(shape).collect();
    angles.sort_by(f64::total_cmp);
    // The middle of the widest gap between directions. The first direction recurs after half a
    // turn.
    angles.push(angles[0] + PI);
    let gaps = angles.windows(2).map(|pair| (pair[1] - pair[0], (pair[0] + pair[1]) / 2.0));
    let (gap, middle) = gaps.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((PI, 0.0));
    let length = 1.0 / (gap / 2.0).sin();
    [length * middle.cos(), length * middle.sin()]
}

/// Points in the type that they are computed in.
pub fn points<T: OverlapReal>(points: impl IntoIterator<Item = Point>) -> Vec<clip::Point<T>> {
    points.into_iter().map(|[x, y]| clip::Point { x: T::from_f64(x), y: T::from_f64(y) }).collect()
}

impl<T: OverlapReal> Shapes<T> {
    /// Returns the first piece of each of these shapes, one after the other, and the number of all
    /// pieces.
    pub fn first_pieces(&self, of_poses: &[u32]) -> (Vec<u32>, usize) {
        let mut next = 0;
        let first = of_poses.iter().map(|&shape| {
            let first = next as u32;
            next += self.counts[shape as usize];
            first
        });
        (first.collect(), next)
    }

    pub fn new(device: &Device, shapes: &[Shape]) -> Result<Self, OverlapError> {
        let mut first = 0;
        let extent = shapes.iter().map(|shape| length(shape.center()) + shape.radius()).fold(0.0, f64::max);
        let nudge = T::NUDGE * extent;
        let spans: Vec<ShapeSpan<T>> = shapes
            .iter()
            .map(|shape| {
                let span = ShapeSpan {
                    center: points([shape.center()])[0],
                    // Rounding may have moved vertices outwards.
                    radius: T::from_f64(shape.radius()) * (T::ONE + T::from_f64(8.0) * T::EPSILON),
                    nudge: points([across_sides(shape).map(|number| nudge * number)])[0],
                    area: T::from_f64(shape.area()),
                    first,
                    count: shape.quads().len() as u32,
                };
                first += span.count;
                span
            })
            .collect();
        Ok(Shapes {
            spans: device.upload(&spans)?,
            quads: device.upload(&points(shapes.iter().flat_map(|shape| shape.quads().as_flattened()).copied()))?,
            parallels: device.upload(&parallels::<T>(shapes))?,
            counts: shapes.iter().map(|shape| shape.quads().len()).collect(),
            no_boxes: device.empty(),
            around: shapes.iter().map(|shape| Around { center: shape.center(), radius: shape.radius() }).collect(),
            reach: 2.0 * shapes.iter().map(Shape::radius).fold(0.0, f64::max),
        })
    }
}

#[cfg(test)]
mod tests {
    use gpu_kernels::overlap::layout::parallel;

    use super::*;

    /// Copies have a bit for each angle at which sides are parallel; of many directions, all have one.
    #[test]
    fn angles_of_parallel_sides() {
        for (points, all) in [(20, false), (301, true)] {
            let vertex = |k: usize| {
                let (sine, cosine) = (PI * k as f64 / points as f64).sin_cos();
                let radius = if k.is_multiple_of(2) { 1.0 } else { 0.7 };
                [radius * cosine, radius * sine]
            };
            let star = Shape::polygon("star", &(0..2 * points).map(vertex).collect::<Vec<_>>()).unwrap();
            let bits = parallels::<f64>(std::slice::from_ref(&star));
            assert_eq!(bits.iter().all(|&word| word == u32::MAX), all);
            let corners = || star.outlines()[0].iter();
            let sides = corners().zip(corners().cycle().skip(1));
            let angles: Vec<f64> = sides.map(|(from, to)| (to[1] - from[1]).atan2(to[0] - from[0]) / PI).collect();
            for (first, second) in angles.iter().flat_map(|first| angles.iter().map(move |second| (first, second))) {
                // SAFETY: there is a bit for each range of angles.
                assert!(unsafe { parallel(bits.as_ptr(), 0.0, first - second) }, "{points}: {first} {second}");
            }
        }
    }
}

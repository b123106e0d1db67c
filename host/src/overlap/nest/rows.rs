//! Places without a search.

use std::f64::consts::FRAC_PI_2;

use super::{
    Placed, Sheet,
    work::{Bed, Work},
};
use crate::overlap::{Shape, contest::separation, convex::bounds, pack::Turns};

/// Largest number of places on an irregular sheet that are tried for a part.
const SCANNED: f64 = 10_000.0;
/// Rounding of a strip's length, relative to it.
pub const ROUNDING: f64 = 1e-9;

/// The box of a part, with the distance around it, at the angle theta, in the part's frame.
#[derive(Clone, Copy)]
pub struct Alone {
    theta: f64,
    low: [f64; 2],
    pub extent: [f64; 2],
}

/// Returns the boxes of a part with a distance around it at allowed angles, except for boxes that contain another box. If any
/// angle is allowed, the angles are the whole degrees and those with an edge of the hull upright or level.
pub fn boxes(shape: &Shape, distance: f64, turns: &Turns) -> Vec<Alone> {
    let mut angles = turns.of_hull(shape);
    if turns.is_any() {
        let level: Vec<_> = angles.iter().map(|upright| upright - FRAC_PI_2).collect();
        angles = level.into_iter().chain(angles).chain((0..180).map(|degrees| f64::from(degrees).to_radians())).collect();
    }
    let boxes = angles.into_iter().map(|theta| {
        let [low, high] = shape.bounds_at(theta);
        let extent = [0, 1].map(|axis| high[axis] - low[axis] + 2.0 * distance);
        Alone { theta, low: low.map(|low| low - distance), extent }
    });
    let mut boxes: Vec<(usize, Alone)> = boxes.enumerate().collect();
    let extent = |axis: usize| move |a: &(usize, Alone), b: &(usize, Alone)| a.1.extent[axis].total_cmp(&b.1.extent[axis]);
    boxes.sort_by(|a, b| extent(0)(a, b).then(extent(1)(a, b)));
    let mut lowest = f64::INFINITY;
    boxes.retain(|(_, alone)| {
        let is_lower = alone.extent[1] < lowest;
        lowest = lowest.min(alone.extent[1]);
        is_lower
    });
    // Of boxes of the same area, the first one counts.
    boxes.sort_by_key(|(index, _)| *index);
    boxes.into_iter().map(|(_, alone)| alone).collect()
}

impl Work<'_> {
    /// Returns the least of a part's boxes that fits on a sheet.
    pub fn alone(&self, boxes: &[Alone], sheet: &Sheet) -> Option<Alone> {
        let room = self.room(sheet);
        let fits = |alone: &&Alone| (0..2).all(|axis| alone.extent[axis] <= room[axis] * (1.0 + ROUNDING));
        let area = |alone: &Alone| alone.extent[0] * alone.extent[1];
        boxes.iter().filter(fits).min_by(|a, b| area(a).total_cmp(&area(b))).copied()
    }

    /// Places wanted parts on an irregular sheet where there is room, from below: the highest priority first, and within it the
    /// largest. Returns the numbers of parts that fit, and their places.
    fn upwards(&self, wanted: &[usize], bed: &Bed<'_>, around: &Shape) -> (Vec<usize>, Vec<Placed>) {
        let sheet = bed.sheet;
        let mut order: Vec<(usize, &Alone)> =
            bed.alone.iter().enumerate().filter_map(|(part, alone)| Some((part, alone.as_ref()?))).collect();
        order.sort_by(|(one, _), (other, _)| {
            self.priority(*other).cmp(&self.priority(*one)).then(self.sizes[*other].total_cmp(&self.sizes[*one]))
        });
        let (mut counts, mut places) = (vec![0; wanted.len()], Vec::new());
        let boxed = |piece: Vec<[f64; 2]>| (bounds(&piece), piece);
        let rounding = ROUNDING * sheet.width.max(sheet.height);
        // The corner of the room within a margin, which is rounded.
        let first = match self.inset(sheet) {
            0.0 => 0.0,
            inset => inset + 2.0 * rounding,
        };
        let mut taken: Vec<_> = around.pieces().iter().cloned().map(boxed).collect();
        for (part, Alone { theta, extent, .. }) in order {
            let (shape, turns) = (&self.grown[part], self.nesting.turns_of(part));
            let quarters = (0..4).map(|quarter| theta + f64::from(quarter) * FRAC_PI_2);
            let angles: Vec<f64> = quarters.filter(|angle| turns.allow(*angle)).map(|angle| turns.nearest(angle)).collect();
            let turned: Vec<(f64, Vec<_>, [[f64; 2]; 2])> = angles
                .into_iter()
                .map(|angle| (angle, shape.posed_pieces([0.0, 0.0, angle]).map(boxed).collect(), shape.bounds_at(angle)))
                .collect();
            let step = (0.25 * extent[0].min(extent[1])).max((sheet.width * sheet.height / SCANNED).sqrt());
            let [columns, rows] = [sheet.width, sheet.height].map(|extent| (extent / step) as usize + 1);
            // A place that is taken stays so.
            for cell in 0..columns * rows {
                if counts[part] == wanted[part] || self.must_end() {
                    break;
                }
                let corner = [cell % columns, cell / columns].map(|number| first + number as f64 * step);
                let free = turned.iter().find(|(_, pieces, [low, high])| {
                    let by = [corner[0] - low[0], corner[1] - low[1]];
                    // The frame around the sheet may lie between a part's pieces.
                    if high[0] + by[0] > sheet.width + rounding || high[1] + by[1] > sheet.height + rounding {
                        return false;
                    }
                    let moved = |[x, y]: [f64; 2]| [x + by[0], y + by[1]];
                    pieces.iter().all(|(box_, piece)| {
                        let [low, high] = box_.map(moved);
                        let near = |([from, to], _): &&([[f64; 2]; 2], Vec<[f64; 2]>)| {
                            (0..2).all(|axis| low[axis] < to[axis] && from[axis] < high[axis])
                        };
                        let mut near = taken.iter().filter(near).peekable();
                        let piece: Vec<[f64; 2]> =
                            near.peek().map(|_| piece.iter().copied().map(moved).collect()).unwrap_or_default();
                        near.all(|(_, other)| separation(&piece, other) > rounding)
                    })
                });
                let Some((angle, _, [low, _])) = free else { continue };
                let pose = [corner[0] - low[0], corner[1] - low[1], *angle];
                taken.extend(shape.posed_pieces(pose).map(boxed));
                places.push(Placed { part, pose, mirrored: false });
                counts[part] += 1;
            }
        }
        (counts, places)
    }

    /// Places boxes of the wanted parts in rows: the highest priority first, and within it the highest boxes. Returns the
    /// numbers of parts that fit, and their places. On irregular sheets they lie [anywhere](Self::upwards).
    pub fn rows(&self, wanted: &[usize], bed: &Bed<'_>) -> (Vec<usize>, Vec<Placed>) {
        if let Some(around) = &bed.around {
            return self.upwards(wanted, bed, around);
        }
        let inset = self.inset(bed.sheet);
        let [width, height] = self.room(bed.sheet).map(|extent| extent * (1.0 + ROUNDING));
        let mut boxes: Vec<(usize, &Alone)> =
            bed.alone.iter().enumerate().filter_map(|(part, alone)| Some((part, alone.as_ref()?))).collect();
        boxes.sort_by(|(one, a), (other, b)| {
            self.priority(*other).cmp(&self.priority(*one)).then(b.extent[1].total_cmp(&a.extent[1]))
        });
        let (mut counts, mut places) = (vec![0; wanted.len()], Vec::new());
        let (mut x, mut row, mut next) = (0.0, 0.0, 0.0f64);
        for (part, Alone { theta, low, extent }) in boxes {
            for _ in 0..wanted[part] {
                let starts = x + extent[0] > width;
                if (if starts { next } else { row }) + extent[1] > height {
                    break;
                }
                if starts {
                    (x, row) = (0.0, next);
                }
                let pose = [inset + x - low[0], inset + row - low[1], *theta];
                places.push(Placed { part, pose, mirrored: false });
                counts[part] += 1;
                x += extent[0];
                next = next.max(row + extent[1]);
            }
        }
        (counts, places)
    }
}

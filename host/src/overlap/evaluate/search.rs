//! Chooses the search for candidates: a grid or a tree.

use crate::overlap::{Lattice, OverlapReal, Packings, Point, lattice::length};

/// Search for the poses that may overlap, in packings of many poses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// The cells of a uniform grid over each packing's extent: the fastest search for evenly spread
    /// poses.
    Grid,
    /// A tree of boxes, whose cost depends on neighbours only: for clusters, lines, heaps,
    /// outliers, and shapes of different sizes.
    Tree,
}

/// The smallest circle around a shape.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    pub center: Point,
    pub radius: f64,
}

/// Number of poses sampled for the choice.
const SAMPLE: usize = 16_384;

/// A grid is chosen up to this number of other poses per cell, plus this factor times the number of
/// near poses.
const CROWD: (f64, f64) = (4.0, 2.0);

/// A cell is a heap if its number of sampled poses exceeds the first number plus the second times
/// the average number of other poses in a pose's cell, and if it has more than the third number of
/// poses in all.
const HEAP: (f64, f64, f64) = (4.0, 8.0, 128.0);

/// Returns the number of cells of a lattice's cell in both directions: in all, at most the number
/// of poses.
pub fn cells_of_lattice(lattice: &Lattice, reach: f64, poses: usize) -> [f64; 2] {
    let most = poses.max(1) as f64;
    let mut cells = lattice.inverse().map(|row| (1.0 / (reach * length(row))).floor().clamp(1.0, most));
    let too_many = cells[0] * cells[1] / most;
    if too_many > 1.0 {
        cells = cells.map(|count| (count / too_many.sqrt()).floor().max(1.0));
        // One of both may have been as small as it gets.
        cells = cells.map(|count| count.min(most));
        if cells[0] * cells[1] > most {
            cells = [1.0, 1.0];
        }
    }
    cells
}

/// Returns the smallest and the largest radius of a shape that has poses.
pub fn radii(packings: &Packings, shapes: &[Around]) -> [f64; 2] {
    let mut used = vec![false; shapes.len()];
    match packings.shapes() {
        Some(indices) => indices.iter().for_each(|&shape| used[shape as usize] = true),
        None => used.iter_mut().take(1).for_each(|first| *first = true),
    }
    let radii = shapes.iter().zip(used).filter(|(_, used)| *used).map(|(shape, _)| shape.radius);
    radii.fold([f64::INFINITY, 0.0], |[least, most], radius| [least.min(radius), most.max(radius)])
}

/// Returns the growth of a circle's radius that accounts for the rounding of its centre.
pub fn slack<T: OverlapReal>(far: f64) -> f64 {
    2.0 * T::UNIT_ROUNDOFF * far
}

/// Returns the number of ordered pairs of equal keys.
fn company<K: Ord>(mut keys: Vec<K>) -> f64 {
    keys.sort_unstable();
    keys.chunk_by(|one, next| one == next).map(|equal| (equal.len() * (equal.len() - 1)) as f64).sum()
}

/// Returns a sample of at most `most` poses: one out of each range of equal length, at a scattered
/// place, in case poses repeat periodically.
fn sample(n: usize, most: usize) -> impl Iterator<Item = usize> {
    let count = n.min(most);
    (0..count).map(move |k| {
        let (first, next) = (k * n / count, (k + 1) * n / count);
        first + k.wrapping_mul(0x9e37_79b9) % (next - first)
    })
}

/// Returns whether a sample shows a heap: a cell of this width with far more poses than others.
fn has_heap(poses: &[[f64; 3]], width: f64) -> bool {
    let n = poses.len();
    let sample = sample(n, (n / 8).clamp(1024, SAMPLE));
    let mut cells: Vec<[i64; 2]> =
        sample.map(|pose| [poses[pose][0], poses[pose][1]].map(|number| (number / width).floor() as i64)).collect();
    cells.sort_unstable();
    let fullest = cells.chunk_by(|one, next| one == next).map(<[_]>::len).max().unwrap_or(0) as f64;
    let count = cells.len() as f64;
    let usual = company(cells) / count;
    fullest > HEAP.0 + HEAP.1 * usual && fullest * n as f64 > HEAP.2 * count
}

/// Chooses the faster search for the packings of at least `from` poses. A grid is chosen if its
/// cells can be as small as they should, or if a sample of poses shows that they are not too
/// crowded. Heaps need a tree, with which warps share them.
pub fn choose<T: OverlapReal>(
    packings: &Packings,
    shapes: &[Around],
    reach: f64,
    lattice: Option<&Lattice>,
    from: usize,
) -> Search {
    let [least, _] = radii(packings, shapes);
    // Sums over packings: poses, pairs in cells of the grid, and pairs in cells of a pose's own
    // size.
    let (mut poses, mut crowd, mut near) = (0.0, 0.0, 0.0);
    for packing in 0..packings.len() {
        let (range, own) = (packings.range(packing), packings.get(packing));
        let n = own.len();
        if n < from.max(2) {
            continue;
        }
        if has_heap(own, 2.0 * least) {
            return Search::Tree;
        }
        poses += n as f64;
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        for pose in own {
            (low, high) = ([low[0].min(pose[0]), low[1].min(pose[1])], [high[0].max(pose[0]), high[1].max(pose[1])]);
        }
        let far = low.into_iter().chain(high).fold(0.0, |far: f64, number| far.max(number.abs()));
        let mut width = reach * 1.000_01 + 64.0 * T::UNIT_ROUNDOFF * far;
        let crowded = |width: f64| ((high[0] - low[0]) / width + 1.0) * ((high[1] - low[1]) / width + 1.0) > n as f64;
        if lattice.is_none() {
            if reach < 4.0 * least && width < 1.1 * reach && !crowded(width) {
                continue;
            }
            while crowded(width) {
                width *= 1.25;
            }
        }
        let (mut cells, mut own_cells) = (Vec::new(), Vec::new());
        for pose in sample(n, SAMPLE) {
            let shape = shapes[packings.shape_of(range.start + pose) as usize];
            let [mut x, mut y, theta] = own[pose];
            let (sine, cosine) = theta.sin_cos();
            x += cosine * shape.center[0] - sine * shape.center[1];
            y += sine * shape.center[0] + cosine * shape.center[1];
            let mut at = [x / width, y / width];
            if let Some(lattice) = lattice {
                let ([a, b], inverse) = (lattice.vectors(), lattice.inverse());
                let part = inverse.map(|row| row[0] * x + row[1] * y).map(|part| part - part.floor());
                (x, y) = (part[0] * a[0] + part[1] * b[0], part[0] * a[1] + part[1] * b[1]);
                let counts = cells_of_lattice(lattice, reach, n);
                at = [part[0] * counts[0], part[1] * counts[1]];
            }
            cells.push(at.map(|number| number.floor() as i64));
            let radius = shape.radius + slack::<T>(x.abs() + y.abs());
            let class = (radius / least).log2().ceil().max(0.0);
            let own_width = 2.0 * least * class.exp2();
            own_cells.push((class as i64, [x, y].map(|number| (number / own_width).floor() as i64)));
        }
        // From the number of pairs in the sample to that of all poses.
        let scale = (n as f64 / n.min(SAMPLE) as f64).powi(2);
        crowd += scale * company(cells);
        near += scale * company(own_cells);
    }
    if crowd > poses * CROWD.0 + near * CROWD.1 { Search::Tree } else { Search::Grid }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlap::random;

    const CIRCLES: [Around; 2] = [Around { center: [0.0; 2], radius: 0.5 }, Around { center: [0.0; 2], radius: 50.0 }];

    fn chosen(poses: Vec<[f64; 3]>, shapes: Option<Vec<u32>>) -> Search {
        let packings = Packings::one(poses).expect("finite numbers");
        let (used, packings) = match shapes {
            Some(shapes) => (2, packings.with_shapes(shapes).expect("one each")),
            None => (1, packings),
        };
        choose::<f64>(&packings, &CIRCLES[..used], 2.0 * CIRCLES[used - 1].radius, None, 1)
    }

    #[test]
    fn trees_are_for_what_is_not_even() {
        let n = 20_000;
        let even = |side: f64| random::uniform(1, n, side, 1).poses().to_vec();
        for side in [10.0, 100.0, 1e4, 1e9] {
            assert_eq!(chosen(even(side), None), Search::Grid, "{side}");
        }
        let mut far = even(100.0);
        far[7][0] = 1e6;
        assert_eq!(chosen(far, None), Search::Tree);
        let clusters = even(100.0).into_iter().zip(0..).map(|([x, y, theta], k)| [x + f64::from(k % 2) * 1e5, y, theta]);
        assert_eq!(chosen(clusters.collect(), None), Search::Tree);
        for (heap, expected) in [(50, Search::Grid), (400, Search::Tree)] {
            let mut poses = even(100.0);
            poses[..heap].fill([1.0, 2.0, 0.5]);
            assert_eq!(chosen(poses, None), expected, "{heap} at one point");
        }
        let line = (0..n).map(|k| [k as f64 * 0.3, k as f64 * 0.1, 0.0]).collect();
        assert_eq!(chosen(line, None), Search::Tree);
        assert_eq!(chosen(vec![[1.0, 2.0, 3.0]; n], None), Search::Grid);
        let sizes = (0..n).map(|k| u32::from(k == 5)).collect();
        assert_eq!(chosen(even(100.0), Some(sizes)), Search::Tree);
        assert_eq!(chosen(Vec::new(), None), Search::Grid);
    }

    /// Poses of a lattice that is much larger than what they fill.
    #[test]
    fn clusters_in_a_lattice() {
        let poses = random::uniform(1, 10_000, 60.0, 2);
        for (side, expected) in [(70.0, Search::Grid), (1e5, Search::Tree)] {
            let lattice = Lattice::new([side, 0.0], [0.0, side]).expect("not parallel");
            assert_eq!(choose::<f64>(&poses, &CIRCLES[..1], 1.0, Some(&lattice), 1), expected);
        }
    }
}

//! Frames of packings: their cells, by which poses are found, and the lattice of their images.

use gpu_kernels::overlap::{clip, layout::Frame};

use super::{search, shapes::points};
use crate::overlap::{Lattice, OverlapReal, lattice::length};

/// Returns the largest distance of poses in a lattice that may overlap, with a margin for rounding.
/// `reach` is the diameter of the largest enclosing circle.
fn periodic_reach<T: OverlapReal>(reach: f64, lattice: &Lattice) -> f64 {
    let extent: f64 = lattice.vectors().map(length).into_iter().sum();
    let epsilon = if size_of::<T>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    reach * 1.000_01 + 32.0 * epsilon * (extent + reach)
}

/// Returns the largest number of lattice cells between a pose and an image of another that may
/// overlap it.
pub fn farthest_image<T: OverlapReal>(reach: f64, lattice: &Lattice) -> f64 {
    let images = lattice.inverse().map(|row| periodic_reach::<T>(reach, lattice) * length(row));
    images.into_iter().fold(0.0, f64::max)
}

/// Returns the frames of packings with these offsets, as far as they don't depend on the poses. In
/// a grid, each packing has room for as many cells as poses, and at least one.
pub fn frames<T: OverlapReal>(offsets: &[usize], is_grid: bool, reach: f64, lattice: Option<&Lattice>) -> Vec<Frame<T>> {
    let zero = clip::Point { x: T::ZERO, y: T::ZERO };
    let mut first_cell = 0;
    let frame = |range: &[usize]| {
        let n = range[1] - range[0];
        let mut frame = Frame {
            origin: zero,
            inverse: [zero; 2],
            lattice: [zero; 2],
            cells: [1, 1],
            reach: [0, 0],
            first_cell,
            periodic: u32::from(lattice.is_some()),
        };
        first_cell += if is_grid { n.max(1) as u32 } else { 1 };
        let Some(lattice) = lattice else { return frame };
        let (vectors, inverse, reach) = (lattice.vectors(), lattice.inverse(), periodic_reach::<T>(reach, lattice));
        let cells = if is_grid { search::cells_of_lattice(lattice, reach, n) } else { [1.0, 1.0] };
        for k in 0..2 {
            frame.cells[k] = cells[k] as u32;
            frame.reach[k] = (reach * length(inverse[k]) * cells[k]).ceil() as u32;
            frame.inverse[k] = points([inverse[k].map(|number| number * cells[k])])[0];
            frame.lattice[k] = points([vectors[k]])[0];
        }
        frame
    };
    offsets.windows(2).map(frame).collect()
}

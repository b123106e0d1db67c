//! Finds the poses that may overlap a given one, in the cells around it, or in the leaves of a tree
//! that meet it.

use super::{
    Scalar,
    boxes::LEAF,
    clip::Point,
    layout::{Circle, Extent, Frame, List, Mode, Tree},
};
use cuda_std::prelude::*;

/// Consecutive candidates, and their image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Index of the first candidate.
    pub start: u32,
    /// Number of candidates.
    pub len: u32,
    /// The image, in lattice vectors from the candidates.
    pub shift: [i32; 2],
}

impl<T: Scalar> Frame<T> {
    /// The cell of a point.
    #[inline(always)]
    pub fn cell(&self, point: Point<T>) -> [i32; 2] {
        let from_origin = point.minus(self.origin);
        let along = |inverse: Point<T>, cells: u32| math::floor(inverse.dot(from_origin)).to_i32().max(0).min(cells as i32 - 1);
        [along(self.inverse[0], self.cells[0]), along(self.inverse[1], self.cells[1])]
    }

    /// The number, among all packings' cells, of the cell of a point.
    #[inline(always)]
    pub fn cell_number(&self, point: Point<T>) -> u32 {
        let [x, y] = self.cell(point);
        self.first_cell + y as u32 * self.cells[0] + x as u32
    }

    /// The vector to an image.
    #[inline(always)]
    pub fn shift(&self, shift: [i32; 2]) -> Point<T> {
        let [m, n] = shift;
        self.lattice[0].times(T::from_i32(m)).plus(self.lattice[1].times(T::from_i32(n)))
    }

    /// Number of [`Run`]s per row.
    #[inline(always)]
    pub fn runs(&self) -> u32 {
        let rows = 2 * self.reach[1] + 1;
        if self.periodic == 0 { rows } else { rows * (2 * self.reach[0] + 1) }
    }

    /// Run number `number` of row `row`, which is in `cell`: cells beside each other; or one cell, where there is a
    /// lattice.
    ///
    /// # Safety
    /// `starts` has each cell's first candidate, and one element more, for the end of the last.
    #[inline(always)]
    pub unsafe fn run(&self, number: u32, row: u32, cell: [i32; 2], mode: Mode, starts: *const u32) -> Run {
        let (columns, rows) = (self.cells[0] as i32, self.cells[1] as i32);
        let (reach_x, reach_y) = (self.reach[0] as i32, self.reach[1] as i32);
        let number = number as i32;
        let (first, last, y, shift);
        if self.periodic == 0 {
            (first, last) = ((cell[0] - reach_x).max(0), (cell[0] + reach_x).min(columns - 1));
            (y, shift) = (cell[1] + number - reach_y, [0; 2]);
            if y < 0 || y >= rows {
                return Run { start: 0, len: 0, shift };
            }
        } else {
            let width = 2 * reach_x + 1;
            let (x, above) = (cell[0] + number % width - reach_x, cell[1] + number / width - reach_y);
            shift = [x.div_euclid(columns), above.div_euclid(rows)];
            first = x - shift[0] * columns;
            (last, y) = (first, above - shift[1] * rows);
        }
        // SAFETY: these are cells of the packing.
        let (mut start, end) = unsafe {
            let cells = starts.add(self.first_cell as usize + (y * columns) as usize);
            (*cells.add(first as usize), *cells.add(last as usize + 1))
        };
        if mode.has(Mode::HALF) {
            start = start.max(first_later(row, shift));
        }
        Run { start, len: end.saturating_sub(start), shift }
    }

    /// The lattice vectors of image number `number`, one of [`runs`](Self::runs), where the packing is one cell.
    #[inline(always)]
    pub fn image(&self, number: u32) -> [i32; 2] {
        let (reach_x, reach_y, number) = (self.reach[0] as i32, self.reach[1] as i32, number as i32);
        let width = 2 * reach_x + 1;
        if self.periodic == 0 { [0; 2] } else { [number % width - reach_x, number / width - reach_y] }
    }

    /// The rows of the packing, which is one cell.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    #[inline(always)]
    pub unsafe fn rows(&self, starts: *const u32) -> (u32, u32) {
        // SAFETY: the packing has a cell, with a start and an end (this function's contract).
        unsafe {
            let starts = starts.add(self.first_cell as usize);
            (*starts, *starts.add(1))
        }
    }
}

/// Returns the first candidate of a row whose candidates are the poses after it. Of two opposite
/// images of the row itself, one is a candidate.
#[inline(always)]
fn first_later(row: u32, shift: [i32; 2]) -> u32 {
    let own = shift[0] > 0 || (shift[0] == 0 && shift[1] > 0);
    row + u32::from(!own)
}

/// The leaves from the one that has `first`, to that before `end`.
#[inline(always)]
pub fn leaves_of((first, end): (u32, u32)) -> (u32, u32) {
    (first / LEAF, end.div_ceil(LEAF))
}

/// Returns the run of a leaf's poses that are candidates of a row, among the packing's from `first`
/// to `end`.
#[inline(always)]
pub fn run_of_leaf(leaf: u32, row: u32, (first, end): (u32, u32), shift: [i32; 2], mode: Mode) -> Run {
    let mut start = first.max(leaf * LEAF);
    if mode.has(Mode::HALF) {
        start = start.max(first_later(row, shift));
    }
    Run { start, len: end.min(leaf * LEAF + LEAF).saturating_sub(start), shift }
}

/// All runs of one row.
#[derive(Clone, Copy, Debug)]
pub struct Runs<'a, T> {
    frame: &'a Frame<T>,
    starts: *const u32,
    tree: Tree<T>,
    mode: Mode,
    row: u32,
    circle: Circle<T>,
    cell: [i32; 2],
    /// Number of the run; with a tree, of the image.
    number: u32,
    /// The level and the index of the box to look at next.
    at: (u32, u32),
}

impl<'a, T: Scalar> Runs<'a, T> {
    /// Runs of a row with this circle.
    ///
    /// # Safety
    /// `starts` and the tree, if there is one, are of the frame's cells, and stay as they are.
    #[inline(always)]
    pub unsafe fn new(
        frame: &'a Frame<T>,
        (starts, tree): (*const u32, Tree<T>),
        row: u32,
        circle: Circle<T>,
        mode: Mode,
    ) -> Self {
        Runs { frame, starts, tree, mode, row, circle, cell: frame.cell(circle.center), number: 0, at: (tree.depth, 0) }
    }
}

impl<T: Scalar> Iterator for Runs<'_, T> {
    type Item = Run;

    #[inline(always)]
    fn next(&mut self) -> Option<Run> {
        let Runs { frame, starts, tree, mode, row, .. } = *self;
        let mut found = None;
        while found.is_none() && self.number < frame.runs() {
            if tree.is_none() {
                // SAFETY: `starts` are of the frame's cells (`new`'s contract).
                found = Some(unsafe { frame.run(self.number, row, self.cell, mode, starts) });
                self.number += 1;
                continue;
            }
            let shift = frame.image(self.number);
            // SAFETY: `starts` and the tree are of the frame's cells (`new`'s contract).
            unsafe {
                let rows = frame.rows(starts);
                let first = if mode.has(Mode::HALF) { rows.0.max(row) } else { rows.0 };
                let extent = Extent::around(&self.circle).moved_back(frame.shift(shift));
                match tree.next_leaf(&mut self.at, leaves_of((first, rows.1)), &extent) {
                    Some(leaf) => found = Some(run_of_leaf(leaf, row, rows, shift, mode)),
                    None => (self.number, self.at) = (self.number + 1, (tree.depth, 0)),
                }
            }
        }
        found
    }
}

/// Returns whether a pose and the image of another may overlap: whether their circles do.
#[inline(always)]
pub fn near<T: Scalar>(row: &Circle<T>, candidate: &Circle<T>, shift: Point<T>) -> bool {
    let reach = row.radius + candidate.radius;
    candidate.center.plus(shift).minus(row.center).square() < reach * reach
}

/// Returns the vector by which the candidate of a pair is moved to compute derivatives. It is the
/// same motion whichever of the two is the row.
///
/// # Safety
/// The lists have these poses.
#[inline(always)]
pub unsafe fn nudge<T: Scalar>(
    (rows, row): (List<T>, u32),
    (candidates, candidate): (List<T>, u32),
    shift: [i32; 2],
    mode: Mode,
) -> Point<T> {
    let turned = mode.has(Mode::FULL) && (candidate, [0; 2]) < (row, shift.map(|count| -count));
    // SAFETY: the lists have a nudge for each of their poses, and these are such.
    unsafe {
        if turned { Point::ORIGIN.minus(*candidates.nudges.add(candidate as usize)) } else { *rows.nudges.add(row as usize) }
    }
}

//! One time step on a brick of a three-dimensional grid, with a layer of ghost cells that neighbours send.
//!
//! - [`stencil`]: the step itself, an explicit Euler step of the heat equation with the 7-point Laplacian: of the
//!   interior, which needs no ghost cells, and of the shell around it, which does;
//! - [`faces`]: a brick's outermost cells into an array to send, and what was received into the ghost cells.
//!
//! A point of the stencil is a neighbour across a face, so that ghost cells along the edges and at the corners of the
//! brick are never read, and the three dimensions have nothing to do with each other.
//!
//! All that kernels get is pointers, also where they only read: some write ghost cells while others read the cells
//! inside.

pub mod faces;
pub mod stencil;

/// The extents of a brick of cells, with a layer of ghost cells around it.
///
/// Cell (x, y, z) of the brick, each from 0, lies at [`at`](Self::at) of an array that has the ghost cells, too; x is
/// the fastest. A brick has at least one cell, and extents up to [`MAX_EXTENT`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Brick {
    /// The cells in a row.
    pub nx: u32,
    /// The rows of a plane.
    pub ny: u32,
    /// The planes.
    pub nz: u32,
}

/// The largest extent of a brick, so that its faces and its shell are counted by 32 bits.
pub const MAX_EXTENT: u32 = 1 << 14;

impl Brick {
    /// Stride between neighbours in y, in cells.
    #[inline(always)]
    pub const fn row(self) -> usize {
        self.nx as usize + 2
    }

    /// Stride between neighbours in z, in cells.
    #[inline(always)]
    pub const fn plane(self) -> usize {
        self.row() * (self.ny as usize + 2)
    }

    /// The elements of an array of the brick and its ghost cells.
    pub const fn padded_len(self) -> usize {
        self.plane() * (self.nz as usize + 2)
    }

    /// The brick's cells.
    pub const fn cells(self) -> usize {
        self.nx as usize * self.ny as usize * self.nz as usize
    }

    /// Returns the index of a cell in the array.
    #[inline(always)]
    pub const fn at(self, x: u32, y: u32, z: u32) -> usize {
        (z as usize + 1) * self.plane() + (y as usize + 1) * self.row() + x as usize + 1
    }

    /// The cells of a face across dimension 0, 1 or 2: x, y or z.
    #[inline(always)]
    pub const fn face_len(self, dimension: u32) -> u32 {
        match dimension {
            0 => self.ny * self.nz,
            1 => self.nx * self.nz,
            _ => self.nx * self.ny,
        }
    }

    /// Returns the index in the array of cell `index` of a face across `dimension`: on the side of
    /// 0, or on the other side (`high`). The face is the brick's outermost layer, or the ghost
    /// cells beyond it (`ghost`). Of the other two dimensions, the earlier is the faster.
    #[inline(always)]
    pub const fn face_at(self, dimension: u32, high: bool, ghost: bool, index: u32) -> usize {
        let (extent, stride, width, inner, outer) = match dimension {
            0 => (self.nx, 1, self.ny, self.row(), self.plane()),
            1 => (self.ny, self.row(), self.nx, 1, self.plane()),
            _ => (self.nz, self.plane(), self.nx, 1, self.row()),
        };
        // The ghost cells are 0 and extent + 1.
        let layer = match (high, ghost) {
            (false, true) => 0,
            (false, false) => 1,
            (true, false) => extent,
            (true, true) => extent + 1,
        };
        layer as usize * stride + ((index % width) as usize + 1) * inner + ((index / width) as usize + 1) * outer
    }

    /// The brick's outermost cells.
    #[inline(always)]
    pub const fn shell_len(self) -> u32 {
        let [planes, walls, ends] = self.shell();
        planes + walls + ends
    }

    /// The cells of the shell, in their order: the outermost planes; of the planes between them the outermost rows; of
    /// the rows between these the outermost cells.
    #[inline(always)]
    pub const fn shell(self) -> [u32; 3] {
        let (y, z) = (self.ny.saturating_sub(2), self.nz.saturating_sub(2));
        [two(self.nz) * self.nx * self.ny, two(self.ny) * self.nx * z, two(self.nx) * y * z]
    }

    /// Cell `index` of the shell.
    #[inline(always)]
    pub const fn shell_cell(self, index: u32) -> (u32, u32, u32) {
        let [planes, walls, _] = self.shell();
        if index < planes {
            let (row, x) = (index / self.nx, index % self.nx);
            return (x, row % self.ny, row / self.ny * (self.nz - 1));
        }
        let index = index - planes;
        let between = self.nz.saturating_sub(2);
        if index < walls {
            let (row, x) = (index / self.nx, index % self.nx);
            return (x, row / between * (self.ny - 1), 1 + row % between);
        }
        let index = index - walls;
        let rows = self.ny.saturating_sub(2);
        let (column, y) = (index / rows, index % rows);
        (column / between * (self.nx - 1), 1 + y, 1 + column % between)
    }
}

/// Returns the number of outermost layers of an extent.
#[inline(always)]
const fn two(extent: u32) -> u32 {
    if extent < 2 { extent } else { 2 }
}

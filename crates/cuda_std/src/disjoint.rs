//! Kernel outputs in which each thread writes its own elements.

use crate::thread::{block_dim_y, block_dim_z, block_idx_y, grid_dim_y, grid_dim_z, thread_idx_y, wide_index, wide_stride};
use core::{fmt, marker::PhantomData};

/// Kernel parameter: memory in which each thread may access only its own elements, so no `unsafe`
/// is needed.
///
/// A thread's own elements are the one at its [`index_1d`](crate::thread::index_1d) and every
/// further one at steps of the grid's size: over a one-dimensional grid of one-dimensional blocks
/// no two threads share one. The host insists on that for such kernels; a thread of another launch
/// that asks for an element panics.
///
/// ```
/// use cuda_std::prelude::*;
///
/// #[kernel]
/// pub fn double(input: &[f32], mut output: DisjointSlice<f32>) {
///     if let (Some(x), Some(y)) = (input.get(thread::index_1d() as usize), output.get_mut()) {
///         *y = 2.0 * x;
///     }
/// }
/// # fn main() {}
/// ```
///
/// GPU: two parameters, pointer and length. The pointer is not marked as the only one to its memory, so stores are
/// plain `st.global`.
// Neither Copy nor Clone, and the methods take `&mut self`: a thread has at most one reference to each of its elements.
pub struct DisjointSlice<'a, T> {
    first: *mut T,
    len: usize,
    borrow: PhantomData<&'a mut [T]>,
}

impl<'a, T> DisjointSlice<'a, T> {
    /// The slice as one thread of the running kernel sees it.
    ///
    /// # Safety
    /// `first` points to `len` initialised values that live and are aligned during `'a`, and that are accessed only
    /// through the results of this function, one for each thread of the grid.
    #[inline(always)]
    pub const unsafe fn from_raw_parts(first: *mut T, len: usize) -> Self {
        DisjointSlice { first, len, borrow: PhantomData }
    }

    /// The number of elements, of all threads together.
    #[inline(always)]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are no elements.
    #[inline(always)]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The element at the thread's index, if the slice goes so far.
    #[inline(always)]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        let index = own_index();
        if index >= self.len {
            return None;
        }
        // SAFETY: the index is within the slice. `own_index` returns on one-dimensional grids only, and no other thread
        // of such a grid has this index or reaches it in steps of the grid's size. This thread has no other reference
        // to the element while `self` is borrowed.
        Some(unsafe { &mut *self.first.add(index) })
    }

    /// Sets the element at the thread's index, and says whether there is one.
    #[inline(always)]
    pub fn set(&mut self, value: T) -> bool {
        match self.get_mut() {
            Some(element) => {
                *element = value;
                true
            }
            None => false,
        }
    }

    /// The thread's elements with their indices: that at its index, and from there in steps of the grid's size.
    #[inline(always)]
    pub fn grid_stride_mut(&mut self) -> GridStrideMut<'_, T> {
        GridStrideMut { first: self.first, len: self.len, next: own_index(), step: wide_stride(), borrow: PhantomData }
    }
}

/// The thread's index in a one-dimensional grid of one-dimensional blocks. In another it would not be the thread's
/// alone.
#[inline(always)]
fn own_index() -> usize {
    // None of these is 0, so that their bits together are 1 exactly where all of them are.
    assert!(
        block_dim_y() | block_dim_z() | grid_dim_y() | grid_dim_z() == 1,
        "a DisjointSlice is shared out rightly by one-dimensional grids of one-dimensional blocks alone"
    );
    wide_index()
}

impl<T> fmt::Debug for DisjointSlice<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DisjointSlice({:p}; {})", self.first, self.len)
    }
}

/// The iterator of [`DisjointSlice::grid_stride_mut`].
#[derive(Debug)]
pub struct GridStrideMut<'a, T> {
    first: *mut T,
    len: usize,
    next: usize,
    step: usize,
    borrow: PhantomData<&'a mut T>,
}

impl<'a, T> Iterator for GridStrideMut<'a, T> {
    type Item = (usize, &'a mut T);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let index = self.next;
        if index >= self.len {
            return None;
        }
        self.next = index.saturating_add(self.step);
        // SAFETY: the index is within the slice. Indices grow from one call to the next, so this thread gets each
        // element once while the slice is borrowed; those of two threads differ by other than a multiple of the step,
        // which is the number of threads, as the grid is one-dimensional: `own_index` gave the first.
        Some((index, unsafe { &mut *self.first.add(index) }))
    }
}

/// Kernel parameter: a matrix by rows in which each thread may access only its own tile of `WIDTH`
/// x `HEIGHT` elements, so no `unsafe` is needed.
///
/// The tile of the thread at (x, y) in the grid, [`index_2d`](crate::thread::index_2d), begins at column `x * WIDTH`
/// and row `y * HEIGHT`; it is smaller, or empty, at the matrix's rim. Over a grid of blocks of one or two dimensions
/// no two threads share an element. The host insists on that for such kernels; a thread of another launch that asks for
/// an element panics.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// Each element becomes the sum of its row's and its column's number, by tiles of 4 x 2.
/// #[kernel]
/// pub fn sums(mut out: DisjointMatrix<u32, 4, 2>) {
///     for ((row, column), element) in out.tile_mut() {
///         *element = (row + column) as u32;
///     }
/// }
/// # fn main() {}
/// ```
///
/// `WIDTH` and `HEIGHT` are at most 2^20. The tiles of others would begin beyond what a `usize` can tell, and
/// so share elements:
/// ```compile_fail,E0080
/// use cuda_std::prelude::*;
///
/// #[kernel]
/// pub fn ones(mut out: DisjointMatrix<u32, { 1 << 63 }>) {
///     out.get_mut(0, 0).map(|element| *element = 1);
/// }
/// # fn main() {}
/// ```
///
/// The host passes `Rows { values: &mut buffer, columns }`. GPU: three parameters, pointer, length and columns.
// Neither Copy nor Clone, and the methods take `&mut self`: a thread has at most one reference to each of its elements.
pub struct DisjointMatrix<'a, T, const WIDTH: usize = 1, const HEIGHT: usize = 1> {
    elements: DisjointSlice<'a, T>,
    columns: usize,
}

impl<'a, T, const WIDTH: usize, const HEIGHT: usize> DisjointMatrix<'a, T, WIDTH, HEIGHT> {
    /// A grid has fewer than 2^42 threads in x or y, so that places of tiles that pass are a `usize`.
    const FITS: () = assert!(WIDTH <= 1 << 20 && HEIGHT <= 1 << 20, "a DisjointMatrix has tiles of up to 2^20 x 2^20");

    /// The matrix of `columns` columns as one thread of the running kernel sees it. Elements after the last whole row
    /// are nobody's.
    ///
    /// # Safety
    /// The slice is that of [`DisjointSlice::from_raw_parts`], and is accessed only through the results of this
    /// function, one for each thread of the grid, all of the same width, height and number of columns.
    #[inline(always)]
    pub const unsafe fn from_slice(elements: DisjointSlice<'a, T>, columns: usize) -> Self {
        DisjointMatrix { elements, columns }
    }

    /// The number of columns.
    #[inline(always)]
    pub const fn columns(&self) -> usize {
        self.columns
    }

    /// The number of rows.
    #[inline(always)]
    pub const fn rows(&self) -> usize {
        match self.elements.len.checked_div(self.columns) {
            Some(rows) => rows,
            None => 0,
        }
    }

    /// The row and column of the first element of the thread's tile, which may be beyond the matrix.
    #[inline(always)]
    fn own_tile(&self) -> (usize, usize) {
        let () = Self::FITS;
        assert!(
            block_dim_z() | grid_dim_z() == 1,
            "a DisjointMatrix is shared out rightly by grids and blocks of one or two dimensions alone"
        );
        let y = block_idx_y() as usize * block_dim_y() as usize + thread_idx_y() as usize;
        (y * HEIGHT, wide_index() * WIDTH)
    }

    /// The element at this row and column of the thread's tile, if the tile and the matrix go so far.
    #[inline(always)]
    pub fn get_mut(&mut self, row: usize, column: usize) -> Option<&mut T> {
        let (first_row, first_column) = self.own_tile();
        let (in_tile, row, column) = (row < HEIGHT && column < WIDTH, first_row + row, first_column + column);
        if !in_tile || row >= self.rows() || column >= self.columns {
            return None;
        }
        // SAFETY: row and column are within the matrix, and in the tile of this thread. `own_tile` returns on grids of
        // two dimensions only, where no other thread has this tile, as its product doesn't overflow. This thread has no
        // other reference to the element while `self` is borrowed.
        Some(unsafe { &mut *self.elements.first.add(row * self.columns + column) })
    }

    /// The elements of the thread's tile, with their rows and columns in the matrix.
    #[inline(always)]
    pub fn tile_mut(&mut self) -> impl Iterator<Item = ((usize, usize), &mut T)> {
        let (row, column) = self.own_tile();
        let (rows, columns) = (self.rows(), self.columns);
        let first = self.elements.first;
        (row..rows.min(row + HEIGHT)).flat_map(move |row| {
            (column..columns.min(column + WIDTH)).map(move |column| {
                // SAFETY: row and column are within the matrix, and in the tile of this thread. `own_tile` returned, so
                // that no other thread has this tile. This thread gets each element once while `self` is borrowed.
                ((row, column), unsafe { &mut *first.add(row * columns + column) })
            })
        })
    }
}

impl<T, const WIDTH: usize, const HEIGHT: usize> fmt::Debug for DisjointMatrix<'_, T, WIDTH, HEIGHT> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DisjointMatrix({:p}; {} x {})", self.elements.first, self.rows(), self.columns)
    }
}

#[cfg(not(cuda_device))]
mod host {
    use super::{DisjointMatrix, DisjointSlice};
    use crate::launch::{Arguments, IntoParam, KernelParam, RawSlice, Rows, Run};
    use crate::signature;

    // SAFETY: a structure of a pointer and a length is passed as these two under the Rust ABI.
    unsafe impl<T: Send + 'static> KernelParam for DisjointSlice<'static, T> {
        type Raw = RawSlice<T>;
        type During<'a> = DisjointSlice<'a, T>;
        const DIMENSIONS: u32 = 1;
        const WRITES: bool = true;

        unsafe fn from_raw(raw: RawSlice<T>, _: &Run) -> DisjointSlice<'_, T> {
            // SAFETY: the caller of `from_raw` has promised that so many initialised elements are there, for the
            // threads' views alone.
            unsafe { DisjointSlice::from_raw_parts(raw.first(), raw.len()) }
        }

        fn words(raw: RawSlice<T>, out: &mut Vec<u64>) {
            raw.words(out);
        }

        fn sign(signature: u64) -> u64 {
            signature::field::<Self, T>(signature)
        }
    }

    // SAFETY: the device's half takes it apart into a slice and a number.
    unsafe impl<T: Send + 'static, const WIDTH: usize, const HEIGHT: usize> KernelParam
        for DisjointMatrix<'static, T, WIDTH, HEIGHT>
    {
        type Raw = (RawSlice<T>, usize);
        type During<'a> = DisjointMatrix<'a, T, WIDTH, HEIGHT>;
        const DIMENSIONS: u32 = {
            let () = DisjointMatrix::<T, WIDTH, HEIGHT>::FITS;
            2
        };
        const WRITES: bool = true;

        unsafe fn from_raw((raw, columns): Self::Raw, run: &Run) -> Self::During<'_> {
            // SAFETY: the caller of `from_raw` has promised that so many initialised elements are there, for the
            // threads' views alone.
            unsafe { DisjointMatrix::from_slice(DisjointSlice::from_raw(raw, run), columns) }
        }

        fn words((raw, columns): Self::Raw, out: &mut Vec<u64>) {
            raw.words(out);
            out.push(columns as u64);
        }

        fn sign(signature: u64) -> u64 {
            DisjointSlice::<T>::sign(usize::sign(signature))
        }
    }

    // SAFETY: the slice is one for a `DisjointSlice`, whose demands are the same; its memory is noted.
    unsafe impl<T, S, const WIDTH: usize, const HEIGHT: usize> IntoParam<DisjointMatrix<'static, T, WIDTH, HEIGHT>> for Rows<S>
    where
        T: Send + 'static,
        S: IntoParam<DisjointSlice<'static, T>>,
    {
        fn raw(&self) -> (RawSlice<T>, usize) {
            (self.values.raw(), self.columns)
        }
        fn memory(&self, arguments: &mut Arguments) {
            self.values.memory(arguments);
        }
    }
}

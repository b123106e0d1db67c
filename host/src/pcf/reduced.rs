//! Reductions of matrices that are not stored: each function's nearest ones, the distances below a
//! bound, the sums of rows.

use std::io::{self, Seek, Write};

use super::{Pairwise, PairwiseError, PcfReal};
use crate::{
    engine::{Below, ByRows, Control, Engine, Report, RowReducer, Smallest, Sums},
    io::npz::Arrays,
};

/// Each function's nearest functions, in ascending order of their distances; equally near ones by their numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Nearest<T> {
    /// Number of nearest functions per function.
    pub count: usize,
    /// The numbers of the nearest functions, `count` for each function.
    pub indices: Vec<i64>,
    /// Their distances.
    pub distances: Vec<T>,
}

/// The entries of a matrix that are kept, by rows (CSR).
#[derive(Clone, Debug, PartialEq)]
pub struct Sparse<T> {
    /// The matrix's numbers of rows and columns.
    pub shape: (usize, usize),
    /// Row `i` has the entries `row_offsets[i]..row_offsets[i + 1]`.
    pub row_offsets: Vec<i64>,
    /// The entries' columns, which ascend within a row.
    pub columns: Vec<i64>,
    /// The entries. Some may be zero: distances of equal functions.
    pub values: Vec<T>,
}

impl<T: PcfReal> Nearest<T> {
    /// Writes an archive (`.npz`) of `indices` and `distances`, both of shape (functions, count), and of `names`.
    pub fn write_npz(&self, file: impl Write + Seek, names: Option<&[String]>) -> io::Result<()> {
        let shape = [self.indices.len().checked_div(self.count).unwrap_or(0), self.count];
        let mut arrays = Arrays::new(file);
        arrays.add("indices", &self.indices, &shape)?;
        arrays.add("distances", &self.distances, &shape)?;
        names.map_or(Ok(()), |names| arrays.add_texts("names", names))?;
        arrays.finish()
    }
}

impl<T: PcfReal> Sparse<T> {
    /// Writes an archive (`.npz`) that `scipy.sparse.load_npz` reads, with `names` of the rows.
    pub fn write_npz(&self, file: impl Write + Seek, names: Option<&[String]>) -> io::Result<()> {
        let mut arrays = Arrays::new(file);
        arrays.add("indices", &self.columns, &[self.columns.len()])?;
        arrays.add("indptr", &self.row_offsets, &[self.row_offsets.len()])?;
        arrays.add_text("format", "csr")?;
        arrays.add("shape", &[self.shape.0 as i64, self.shape.1 as i64], &[2])?;
        arrays.add("data", &self.values, &[self.values.len()])?;
        names.map_or(Ok(()), |names| arrays.add_texts("names", names))?;
        arrays.finish()
    }
}

impl<T: PcfReal> Pairwise<'_, T> {
    /// Each row's `count` smallest distances, and between which functions they are. In a set, no function is its own
    /// neighbour. The matrix is not stored: 10^6 functions take no more memory than themselves and the result.
    ///
    /// ```
    /// use warpsmith::{device::Device, engine::{Control, Engine}, pcf::{Pairwise, Pcf, PcfSet}};
    ///
    /// let engine = Engine::new([Device::best()?])?;
    /// let functions = [1.0, 2.0, 4.0].map(|height| Pcf::new([(0.0, height), (1.0, 0.0)]));
    /// let set = PcfSet::<f64>::from_functions(functions.into_iter().collect::<Result<Vec<_>, _>>()?);
    /// let (nearest, _) = Pairwise::pdist(&set, 1.0)?.nearest(&engine, 1, Control::default())?;
    /// assert_eq!((nearest.indices, nearest.distances), (vec![1, 0, 1], vec![1.0, 1.0, 2.0]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`PairwiseError::NotDistances`]; [`PairwiseError::Nearest`] if there are fewer other
    /// functions, and what [`Engine::run`] reports.
    pub fn nearest(&self, engine: &Engine, count: usize, control: Control<'_>) -> Result<(Nearest<T>, Report), PairwiseError> {
        self.check_distances()?;
        let (rows, cols) = self.size();
        let others = if self.is_symmetric() { rows.saturating_sub(1) } else { cols };
        if count > others && rows > 0 {
            return Err(PairwiseError::Nearest { count, others });
        }
        let ((distances, columns), report) = self.reduce(engine, Smallest { count }, control)?;
        let indices = columns.into_iter().map(i64::from).collect();
        Ok((Nearest { count, indices, distances }, report))
    }

    /// The entries that are less than `bound`; of a set's distances without those of functions from themselves.
    ///
    /// # Errors
    /// [`PairwiseError::NotDistances`]; what [`Engine::run`] reports;
    /// [`OutOfMemory`](crate::engine::EngineError::OutOfMemory) if the entries take more than half of
    /// the memory that is free.
    pub fn below(&self, engine: &Engine, bound: T, control: Control<'_>) -> Result<(Sparse<T>, Report), PairwiseError> {
        self.check_distances()?;
        let (found, report) = self.reduce(engine, Below::new(bound), control)?;
        let rows = 0..=self.size().0;
        let row_offsets = rows.map(|row| found.partition_point(|found| (found.0 as usize) < row) as i64).collect();
        let columns = found.iter().map(|found| i64::from(found.1)).collect();
        let values = found.into_iter().map(|found| found.2).collect();
        Ok((Sparse { shape: self.size(), row_offsets, columns, values }, report))
    }

    /// The sum of each row's entries. Each entry is rounded by at most 2^-50 of the largest that numbers as large and
    /// times as long as the functions' could have, and the sums of these are exact: whatever the blocks and the GPUs,
    /// they are the same, bit for bit.
    pub fn row_sums(&self, engine: &Engine, control: Control<'_>) -> Result<(Vec<f64>, Report), PairwiseError> {
        self.reduce(engine, Sums::up_to(self.largest_entry()), control)
    }

    fn reduce<R: RowReducer<T>>(
        &self,
        engine: &Engine,
        reducer: R,
        control: Control<'_>,
    ) -> Result<(R::Kept, Report), PairwiseError> {
        let ((rows, cols), op) = (self.size(), self.op());
        let devices = engine.devices();
        let kept = if self.is_symmetric() {
            ByRows::symmetric(devices, rows, op.diagonal, reducer)
        } else {
            ByRows::full(devices, rows, cols, reducer)
        }?;
        let report = engine.run(&op, &kept, control)?;
        Ok((kept.finish()?, report))
    }
}

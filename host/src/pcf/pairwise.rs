//! Matrices over all pairs of functions.

use std::hash::Hasher as _;

use rayon::prelude::*;
use siphasher::sip::SipHasher13;

use super::{
    PcfError, PcfReal, PcfSet, Point,
    cuts::Cuts,
    launches::Integrals,
    op::{PcfKernel, PcfOp},
};
use crate::device::{Backend, Device, ViewMut};
use crate::engine::{
    BegunMatrix, BlockScheduler, Control, Coverage, DeviceMatrix, Engine, EngineError, HostMatrix, Layout, PartialMatrix, Parts,
    Report, Settings, advise_huge_pages, zeroed_vec,
};
use crate::io::files::Destination;

/// Merge steps of a block per worker of the CPU: some hundredths of a second's work.
const STEPS_PER_WORKER: f64 = 1e7;
/// Factor of bounds on integrals, for rounding of the sums.
const ROUNDING: f64 = 4.0;
/// Number of plain merge steps that cost as much as one with a power.
const POWER: f64 = 8.0;
/// The smallest side of a block that is worth its while, and the largest that is ever asked for.
const SIDES: (usize, usize) = (64, 2048);

/// The measure of two functions: an entry of the matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measure {
    /// The distance (∫|f - g|^p)^(1/p) for p ≥ 1; the largest |f - g| for infinite p.
    Lp(f64),
    /// The inner product ∫f·g.
    Inner,
}

impl Measure {
    /// True if each step of a merge takes a power, which finite exponents other than 1 and 2 do.
    pub(super) fn has_power(self) -> bool {
        matches!(self, Measure::Lp(p) if ![1.0, 2.0, f64::INFINITY].contains(&p))
    }
}

/// The reason why a matrix could not be computed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "a message says what its fields are")]
pub enum PairwiseError {
    /// The functions or the exponent are no good.
    #[error(transparent)]
    Pcf(#[from] PcfError),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Half of a matrix that isn't symmetric was asked for.
    #[error("a matrix between two sets is not symmetric and has no condensed or packed layout, but only the dense one")]
    NotSymmetric,
    /// A condensed layout was asked of inner products.
    #[error(
        "a condensed matrix has no diagonal, and inner products have one that isn't zero: take the packed or the dense layout"
    )]
    Diagonal,
    /// Nearest functions, or those below a bound, were asked for by inner products.
    #[error("the nearest functions and entries below a bound are for distances, not for inner products")]
    NotDistances,
    /// More nearest functions were asked for than there are.
    #[error("the {count} nearest functions of each were asked for, but each has {others} others")]
    Nearest { count: usize, others: usize },
}

/// A matrix to compute: the measure of every pair of functions.
///
/// Sums are made in the functions' precision, in order of time, with one term for each interval
/// between two breakpoints; entries don't depend on the order of the pair, on the blocks or on the
/// number of GPUs, bit for bit. On GPUs, sums over functions of more than 4,096 breakpoints are
/// made over pieces of time if there are few such pairs, and then added in their order. The pieces
/// follow from the sets' breakpoints. So such entries may differ in the last digits from those of
/// other sets with the same functions, unless these are made [parts](Self::part_of). Let u be the
/// unit roundoff, and m and n the functions' numbers of breakpoints. A distance for p = 1 or 2 is
/// within a relative (m + n + 2)·u of the exact one. For another p the bound is (m + n + 48)·u, and
/// 8·l·u more on GPUs in `f32`, where l is the natural logarithm of the sets' largest difference
/// over the distance; roots of extreme widths w add 4·|ln w|·u / p. Powers leave no range: only
/// results that are subnormal numbers lose digits. An inner product is within (m + n + 2)·u·∫|f·g|.
/// A distance for infinite p is that of two values, rounded once. Other distances are infinite if the functions differ
/// for ever, and inner products if neither function ends at zero.
///
/// ```
/// use warpsmith::{device::Device, engine::{Control, Engine}, pcf::{Layout, Pairwise, Pcf, PcfSet}};
///
/// let engine = Engine::new([Device::best()?])?;
/// let set = PcfSet::<f64>::from_functions([
///     Pcf::new([(0.0, 3.0), (1.0, 1.0), (3.0, 0.0)])?,
///     Pcf::new([(0.0, 2.0), (2.0, 0.0)])?,
///     Pcf::zero(),
/// ]);
/// let distances = Pairwise::pdist(&set, 1.0)?.compute(&engine, Layout::Condensed, Control::default())?;
/// //                       |f-g|  |f|  |g|
/// assert_eq!(distances, [3.0, 5.0, 4.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Pairwise<'a, T: PcfReal> {
    rows: &'a PcfSet<T>,
    cols: Option<&'a PcfSet<T>>,
    measure: Measure,
    kernel: PcfKernel,
    /// The sets of the matrix that this one is a part of.
    whole: Option<[&'a PcfSet<T>; 2]>,
}

impl<'a, T: PcfReal> Pairwise<'a, T> {
    /// The measure of every function of one set against every function of another, or of every pair of functions of one
    /// set.
    ///
    /// # Errors
    /// If the exponent is below 1, NaN, or too large for the functions' type.
    pub fn new(rows: &'a PcfSet<T>, cols: Option<&'a PcfSet<T>>, measure: Measure) -> Result<Self, PcfError> {
        if let Measure::Lp(p) = measure {
            super::scalar::check_exponent::<T>(p)?;
        }
        Ok(Pairwise { rows, cols, measure, kernel: PcfKernel::Auto, whole: None })
    }

    /// The Lᵖ distance of every pair of functions of a set.
    pub fn pdist(set: &'a PcfSet<T>, p: f64) -> Result<Self, PcfError> {
        Self::new(set, None, Measure::Lp(p))
    }

    /// The inner product of every pair of functions of a set, and of each with itself: the kernel matrix of L².
    pub fn l2_kernel(set: &'a PcfSet<T>) -> Self {
        Pairwise { rows: set, cols: None, measure: Measure::Inner, kernel: PcfKernel::Auto, whole: None }
    }

    /// The measure of every function of one set against every function of another.
    pub fn cdist(rows: &'a PcfSet<T>, cols: &'a PcfSet<T>, measure: Measure) -> Result<Self, PcfError> {
        Self::new(rows, Some(cols), measure)
    }

    /// The same as a part of a matrix between these sets, which have its functions: entries have that one's bits.
    pub fn part_of(self, rows: &'a PcfSet<T>, cols: &'a PcfSet<T>) -> Self {
        Pairwise { whole: Some([rows, cols]), ..self }
    }

    /// The same with this kernel.
    pub fn with_kernel(self, kernel: PcfKernel) -> Self {
        Pairwise { kernel, ..self }
    }

    /// True if the matrix is of one set.
    pub fn is_symmetric(&self) -> bool {
        self.cols.is_none()
    }

    /// The numbers of rows and columns.
    pub fn size(&self) -> (usize, usize) {
        (self.rows.len(), self.cols.unwrap_or(self.rows).len())
    }

    /// The shape of the result: of a dense matrix the two sets' shapes joined, of a condensed or packed one its length.
    ///
    /// # Errors
    /// [`PairwiseError::NotSymmetric`], [`PairwiseError::Diagonal`], and [`EngineError::TooLarge`] if no memory
    /// could hold it.
    pub fn shape(&self, layout: Layout) -> Result<Vec<usize>, PairwiseError> {
        self.check(layout)?;
        let len = layout.len(self.size())?;
        let dense = || [self.rows.shape(), self.cols.unwrap_or(self.rows).shape()].concat();
        Ok(if layout == Layout::Dense { dense() } else { vec![len] })
    }

    /// Breakpoints that the merges of all pairs consume: those after each function's first, for both functions of a
    /// pair.
    pub fn merge_steps(&self) -> u128 {
        let after_first = |set: &PcfSet<T>| (set.breakpoints() - set.len()) as u128;
        let n = self.rows.len() as u128;
        match (self.cols, self.measure) {
            (Some(cols), _) => after_first(self.rows) * cols.len() as u128 + after_first(cols) * n,
            (None, Measure::Lp(_)) => after_first(self.rows) * n.saturating_sub(1),
            (None, Measure::Inner) => after_first(self.rows) * (n + 1),
        }
    }

    /// A number that tells this matrix from those of other functions, measures or exponents. It is the same with every
    /// compiler and on every machine of this byte order.
    pub fn fingerprint(&self) -> u64 {
        /// Number of points that one thread takes at a time.
        const PIECE: usize = 1 << 16;
        let of_points = |points: &[Point<T>]| {
            let mut hasher = SipHasher13::new();
            hasher.write(bytemuck::cast_slice(points));
            hasher.finish()
        };
        let mut hasher = SipHasher13::new();
        for set in [Some(self.rows), self.cols].into_iter().flatten() {
            hasher.write(bytemuck::cast_slice(set.offsets()));
            hasher.write(bytemuck::cast_slice(&set.points().par_chunks(PIECE).map(of_points).collect::<Vec<_>>()));
        }
        let (measure, p) = match self.measure {
            Measure::Lp(p) => (0, p),
            Measure::Inner => (1, 0.0),
        };
        [self.cols.is_some().into(), measure, p.to_bits()].into_iter().for_each(|number| hasher.write_u64(number));
        if self.whole.is_some()
            && let Some(cuts) = self.cuts()
        {
            hasher.write(bytemuck::cast_slice(cuts.times()));
        }
        if self.whole.is_some() && self.measure.has_power() {
            hasher.write(bytemuck::bytes_of(&self.integrals().exponent.scale));
        }
        hasher.finish()
    }

    /// The side of blocks that the CPU computes soon, for
    /// [`Settings::block_side`](crate::engine::Settings::block_side): a computation reports
    /// progress, and can be cancelled, at the end of a block. `None` on GPUs, and if the engine's
    /// choice is as small.
    pub fn block_side(&self, device: &Device) -> Option<usize> {
        let (rows, columns) = self.size();
        if device.backend() != Backend::Cpu || rows == 0 || columns == 0 {
            return None;
        }
        let pairs = rows as f64 * columns as f64 * if self.is_symmetric() { 0.5 } else { 1.0 };
        let power = if self.measure.has_power() { POWER } else { 1.0 };
        let a_pair = power * self.merge_steps() as f64 / pairs;
        let side = (STEPS_PER_WORKER * f64::from(device.info().multiprocessors) / a_pair.max(1.0)).sqrt() as usize;
        (side < SIDES.1).then_some(side.max(SIDES.0))
    }

    /// A pair, by row and column, whose entry is infinite because of the functions' last values.
    /// They differ or, for inner products, neither is 0.
    pub fn endless_pair(&self) -> Option<(usize, usize)> {
        let cols = self.cols.unwrap_or(self.rows);
        let first = |set: &PcfSet<T>, other_than: T| set.tails().iter().position(|&tail| tail != other_than);
        if self.rows.is_empty() || cols.is_empty() {
            return None;
        }
        match self.measure {
            Measure::Inner => first(self.rows, T::ZERO).zip(first(cols, T::ZERO)),
            Measure::Lp(f64::INFINITY) => None,
            // If all columns end as the first row does, another row differs from all of them.
            Measure::Lp(_) => {
                let tail = self.rows.tails()[0];
                first(cols, tail).map(|col| (0, col)).or_else(|| first(self.rows, tail).map(|row| (row, 0)))
            }
        }
    }

    /// True if all entries are certainly finite: no pair has a reason to be infinite, and no number is so large that an
    /// entry is.
    pub fn is_finite(&self) -> bool {
        T::from_f64(self.largest_entry()).is_finite() && self.endless_pair().is_none()
    }

    /// The functions of rows and columns.
    fn sets(&self) -> [&'a PcfSet<T>; 2] {
        [self.rows, self.cols.unwrap_or(self.rows)]
    }

    /// The sets of the matrix that this one is, or is a part of.
    fn whole(&self) -> [&'a PcfSet<T>; 2] {
        self.whole.unwrap_or(self.sets())
    }

    /// A bound on the magnitude of all finite entries.
    pub(super) fn largest_entry(&self) -> f64 {
        let ([rows, cols], time) = (self.sets().map(PcfSet::largest), max_time(self.sets()).to_f64());
        match self.measure {
            Measure::Lp(p) => (rows + cols) * (ROUNDING * time).powf(1.0 / p),
            Measure::Inner => ROUNDING * rows * cols * time,
        }
    }

    /// The integrals. Pairs of a part are scaled as those of the whole matrix.
    fn integrals(&self) -> Integrals<T> {
        let [rows, cols] = self.whole();
        let largest = if self.measure.has_power() { rows.largest() + cols.largest() } else { 1.0 };
        Integrals::new(self.measure, largest, max_time([rows, cols]), PcfSet::are_aligned(self.sets()))
    }

    /// Computes the matrix into new memory.
    ///
    /// # Errors
    /// [`PairwiseError::NotSymmetric`], [`PairwiseError::Diagonal`], and what [`Engine::run`] reports.
    pub fn compute(&self, engine: &Engine, layout: Layout, control: Control<'_>) -> Result<Vec<T>, PairwiseError> {
        let len = self.shape(layout)?.iter().product();
        let mut out = zeroed_vec(len)?;
        advise_huge_pages(&mut out);
        self.compute_into(engine, layout, &mut out, control)?;
        Ok(out)
    }

    /// Computes the matrix into `out`, which has as many elements as [`shape`](Self::shape) says.
    ///
    /// # Errors
    /// As [`compute`](Self::compute), and [`EngineError::OutputLength`]. `out` then holds anything.
    pub fn compute_into(
        &self,
        engine: &Engine,
        layout: Layout,
        out: &mut [T],
        control: Control<'_>,
    ) -> Result<Report, PairwiseError> {
        self.check(layout)?;
        let ((rows, cols), op) = (self.size(), self.op());
        let matrix = match self.coverage() {
            Coverage::LowerTriangle => HostMatrix::symmetric(layout, rows, op.diagonal, out),
            Coverage::Full => HostMatrix::full(rows, cols, out),
        };
        Ok(engine.run(&op, &matrix?, control)?)
    }

    /// As [`compute_into`](Self::compute_into), into memory of the engine's one device. The matrix
    /// is complete when this returns.
    ///
    /// # Errors
    /// As [`compute_into`](Self::compute_into), and [`EngineError::OtherDevices`].
    pub fn compute_on_device(
        &self,
        engine: &Engine,
        layout: Layout,
        out: ViewMut<'_, T>,
        control: Control<'_>,
    ) -> Result<Report, PairwiseError> {
        self.check(layout)?;
        let (rows, cols) = self.size();
        let matrix = match self.coverage() {
            Coverage::LowerTriangle => DeviceMatrix::symmetric(layout, rows, out),
            Coverage::Full => DeviceMatrix::full(rows, cols, out),
        };
        Ok(engine.run(&self.op(), &matrix?, control)?)
    }

    /// The engine that computes this matrix on these devices. Unless the settings have a side of blocks, they are no
    /// larger than [`block_side`](Self::block_side) says.
    pub fn engine(&self, devices: &[Device], settings: Settings) -> Result<Engine, PairwiseError> {
        let block_side = settings.block_side.or_else(|| self.block_side(devices.first()?));
        Ok(Engine::new(devices.iter().cloned())?.with_settings(Settings { block_side, ..settings }))
    }

    /// The file for the matrix: see [`PartialMatrix::begin`].
    ///
    /// # Errors
    /// As [`shape`](Self::shape), and what [`PartialMatrix::begin`] reports.
    pub fn begin_file(&self, destination: Destination, layout: Layout, parts: Parts) -> Result<BegunMatrix<T>, PairwiseError> {
        Ok(PartialMatrix::begin(destination, &self.shape(layout)?, layout.field(), parts)?)
    }

    /// Opens the file when its room is taken, and prepares an engine that computes the missing
    /// entries by [`compute_file`](Self::compute_file).
    ///
    /// # Errors
    /// What [`BegunMatrix::side`], [`BegunMatrix::open`] and [`Engine::prepare`] report.
    pub fn open_file(
        &self,
        mut begun: BegunMatrix<T>,
        layout: Layout,
        devices: &[Device],
        settings: Settings,
    ) -> Result<(Engine, PartialMatrix<T>), PairwiseError> {
        let mut engine = self.engine(devices, settings)?;
        // Backends and kernels may add the terms of a sum in another order.
        let what = || {
            let device = &engine.devices()[0];
            let (backend, tiled) = (device.backend(), self.kernel.is_tiled(device));
            format!("{:x} {layout:?} {} {backend} {tiled}", self.fingerprint(), T::NAME)
        };
        if let Some(side) = begun.side(what, self.schedule(&engine)?.side())? {
            engine = engine.with_settings(Settings { block_side: Some(side), ..settings });
        }
        engine.prepare(&self.op(), self.size(), self.coverage())?;
        let matrix = begun.open(&self.schedule(&engine)?)?;
        Ok((engine, matrix))
    }

    /// Computes the entries that the file lacks.
    pub fn compute_file(
        &self,
        engine: &Engine,
        layout: Layout,
        matrix: &mut PartialMatrix<T>,
        control: Control<'_>,
    ) -> Result<Report, PairwiseError> {
        let (out, queue) = matrix.parts();
        self.compute_into(engine, layout, out, Control { queue, ..control })
    }

    /// The blocks that an engine would compute the matrix by.
    pub fn schedule(&self, engine: &Engine) -> Result<BlockScheduler, PairwiseError> {
        Ok(engine.schedule(&self.op(), self.size(), self.coverage())?)
    }

    fn coverage(&self) -> Coverage {
        if self.is_symmetric() { Coverage::LowerTriangle } else { Coverage::Full }
    }

    pub(super) fn op(&self) -> PcfOp<'_, T> {
        // Functions have no distance from themselves.
        let diagonal = self.measure == Measure::Inner;
        let (rows, cols, kernel) = (self.rows, self.cols, self.kernel);
        PcfOp { rows, cols, integrals: self.integrals(), kernel, diagonal, cuts: self.cuts() }
    }

    /// Cuts of the merges of long functions.
    fn cuts(&self) -> Option<Cuts<T>> {
        Cuts::of(self.whole())
    }

    /// An error if entries are inner products.
    pub(super) fn check_distances(&self) -> Result<(), PairwiseError> {
        if self.measure == Measure::Inner { Err(PairwiseError::NotDistances) } else { Ok(()) }
    }

    /// An error if this matrix has no such layout.
    fn check(&self, layout: Layout) -> Result<(), PairwiseError> {
        match (layout, self.is_symmetric(), self.measure) {
            (Layout::Condensed | Layout::Packed, false, _) => Err(PairwiseError::NotSymmetric),
            (Layout::Condensed, true, Measure::Inner) => Err(PairwiseError::Diagonal),
            _ => Ok(()),
        }
    }
}

/// The last time of the functions of both sets.
fn max_time<T: PcfReal>(sets: [&PcfSet<T>; 2]) -> T {
    let [a, b] = sets.map(PcfSet::max_time);
    if a < b { b } else { a }
}

//! From persistence barcodes to functions: Betti curves and stable ranks.
//!
//! A barcode is a collection of bars, each from a birth to a death; it is the persistent homology of one degree of a filtered space. A bar
//! without end has the death infinity. Of bars whose death is their birth nothing is seen in any of these functions.
//!
//! - The [Betti curve](Barcode::betti_curve) at t is the number of bars alive at t: the Betti number of the space at that time. See Umeda,
//!   "Time series classification via topological data analysis" (Transactions of the Japanese Society for Artificial Intelligence 32, 2017).
//! - The [stable rank](Barcode::stable_rank) at t, of the standard contour, is the number of bars longer than t: the smallest rank of a
//!   persistence module within noise of size t. See Scolamiero, Chachólski, Lundman, Ramanujam and Öberg, "Multidimensional persistence and
//!   noise" (Foundations of Computational Mathematics 17, 2017), and Chachólski and Riihimäki, "Metrics and stabilization in one parameter
//!   persistence" (SIAM Journal on Applied Algebra and Geometry 4, 2020).
//!
//! ```
//! use warpsmith::pcf::{Pcf, barcode::Barcode};
//!
//! let barcode = Barcode::new([(0.0, f64::INFINITY), (0.0, 2.0), (1.0, 4.0)])?;
//! assert_eq!(barcode.betti_curve()?, Pcf::new([(0.0, 2.0), (1.0, 3.0), (2.0, 2.0), (4.0, 1.0)])?);
//! assert_eq!(barcode.stable_rank()?, Pcf::new([(0.0, 3.0), (2.0, 2.0), (3.0, 1.0)])?);
//! # Ok::<(), warpsmith::pcf::PcfError>(())
//! ```

use rayon::prelude::*;

use super::{BarProblem, Pcf, PcfError, PcfSet, Real};

/// A bar: the interval [birth, death).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// When it is born; finite.
    pub birth: f64,
    /// When it dies; infinite where it never does.
    pub death: f64,
}

impl From<(f64, f64)> for Bar {
    fn from((birth, death): (f64, f64)) -> Self {
        Bar { birth, death }
    }
}

/// Any number of bars, in no particular order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Barcode {
    bars: Vec<Bar>,
}

impl Barcode {
    /// The barcode of these bars.
    ///
    /// # Errors
    /// Where a birth is infinite or NaN, a death is NaN, or one comes before its birth. The first such bar is named.
    pub fn new(bars: impl IntoIterator<Item = impl Into<Bar>>) -> Result<Self, PcfError> {
        let bars: Vec<Bar> = bars.into_iter().map(Into::into).collect();
        for (bar, &Bar { birth, death }) in bars.iter().enumerate() {
            let problem = match () {
                () if !birth.is_finite() => BarProblem::Birth { birth },
                () if death.is_nan() => BarProblem::Death { death },
                () if death < birth => BarProblem::Reversed { birth, death },
                () => continue,
            };
            return Err(PcfError::Bar { bar, problem });
        }
        Ok(Barcode { bars })
    }

    /// The bars.
    pub fn bars(&self) -> &[Bar] {
        &self.bars
    }

    /// The Betti curve: at t, the number of bars with birth <= t < death. Births and deaths are rounded to `T` first.
    ///
    /// # Errors
    /// Where a bar is born before 0, where the curve starts, or a time is above [`Real::MAX_VALUE`].
    pub fn betti_curve<T: Real>(&self) -> Result<Pcf<T>, PcfError> {
        let mut changes: Vec<(T, i64)> = Vec::with_capacity(2 * self.bars.len());
        for (bar, &Bar { birth, death }) in self.bars.iter().enumerate() {
            if birth < 0.0 {
                return Err(PcfError::Bar { bar, problem: BarProblem::Negative { birth } });
            }
            changes.push((round(bar, "birth", birth)?, 1));
            if death.is_finite() {
                changes.push((round(bar, "death", death)?, -1));
            }
        }
        steps(changes)
    }

    /// The stable rank of the standard contour: at t, the number of bars with death - birth > t. Lengths are rounded to `T` first.
    ///
    /// # Errors
    /// Where a bar is longer than [`Real::MAX_VALUE`] and not infinite.
    pub fn stable_rank<T: Real>(&self) -> Result<Pcf<T>, PcfError> {
        let mut changes: Vec<(T, i64)> = Vec::with_capacity(2 * self.bars.len());
        for (bar, &Bar { birth, death }) in self.bars.iter().enumerate() {
            changes.push((T::ZERO, 1));
            if death.is_finite() {
                changes.push((round(bar, "death - birth", death - birth)?, -1));
            }
        }
        steps(changes)
    }
}

/// The Betti curves of many barcodes.
///
/// # Errors
/// As [`Barcode::betti_curve`].
pub fn betti_curves<T: Real>(barcodes: &[Barcode]) -> Result<PcfSet<T>, PcfError> {
    functions(barcodes, Barcode::betti_curve)
}

/// The stable ranks of many barcodes.
///
/// # Errors
/// As [`Barcode::stable_rank`].
pub fn stable_ranks<T: Real>(barcodes: &[Barcode]) -> Result<PcfSet<T>, PcfError> {
    functions(barcodes, Barcode::stable_rank)
}

fn functions<T: Real>(
    barcodes: &[Barcode],
    function: impl Fn(&Barcode) -> Result<Pcf<T>, PcfError> + Send + Sync,
) -> Result<PcfSet<T>, PcfError> {
    let made: Vec<Result<Pcf<T>, PcfError>> = barcodes.par_iter().map(function).collect();
    // The first error by index, whichever came first in time.
    let in_barcode = |(barcode, made): (usize, Result<_, _>)| {
        made.map_err(|error| if barcodes.len() == 1 { error } else { PcfError::InBarcode { barcode, error: Box::new(error) } })
    };
    made.into_iter().enumerate().map(in_barcode).collect()
}

/// The nearest number of the type, if it may be a time.
fn round<T: Real>(bar: usize, what: &'static str, value: f64) -> Result<T, PcfError> {
    let max = T::MAX_VALUE.to_f64();
    if value > max {
        return Err(PcfError::Bar { bar, problem: BarProblem::TooLarge { what, value, name: T::NAME, max } });
    }
    Ok(T::from_f64(value))
}

/// The function that starts from 0 and changes by so much at these times, which are not negative.
fn steps<T: Real>(mut changes: Vec<(T, i64)>) -> Result<Pcf<T>, PcfError> {
    changes.sort_unstable_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(std::cmp::Ordering::Equal));
    let mut points = Vec::new();
    let (mut count, mut last) = (0, 0);
    if changes.first().is_none_or(|&(t, _)| t != T::ZERO) {
        points.push((T::ZERO, T::ZERO));
    }
    for together in changes.chunk_by(|a, b| a.0 == b.0) {
        count += together.iter().map(|&(_, change)| change).sum::<i64>();
        // At 0 there is a breakpoint in any case.
        if count != last || points.is_empty() {
            points.push((together[0].0, T::from_f64(count as f64)));
        }
        last = count;
    }
    Pcf::new(points)
}

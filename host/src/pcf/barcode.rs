//! From persistence barcodes to functions: Betti curves, stable ranks and accumulated persistence.
//!
//! A barcode is a collection of bars, each from a birth to a death; it is the persistent homology
//! of one degree of a filtered space. A bar without end has the death infinity. A bar whose death
//! is its birth shows in none of these functions.
//!
//! - The [Betti curve](Barcode::betti_curve) at t is the number of bars alive at t: the Betti number of the space at
//!   that time. See Umeda, "Time series classification via topological data analysis" (Transactions of the Japanese
//!   Society for Artificial Intelligence 32, 2017).
//! - The [stable rank](Barcode::stable_rank) at t, of the standard contour, is the number of bars longer than t: the
//!   smallest rank of a persistence module within noise of size t. See Scolamiero, Chachólski, Lundman, Ramanujam and
//!   Öberg, "Multidimensional persistence and noise" (Foundations of Computational Mathematics 17, 2017), and
//!   Chachólski and Riihimäki, "Metrics and stabilization in one parameter persistence" (SIAM Journal on Applied
//!   Algebra and Geometry 4, 2020).
//! - The [accumulated persistence](Barcode::accumulated_persistence) at t is the sum of the lengths of the bars whose
//!   middle is at t or before. See Biscio and Møller, "The accumulated persistence function, a new useful functional
//!   summary statistic for topological data analysis, with a view to brain artery trees and spatial point process
//!   applications" (Journal of Computational and Graphical Statistics 28, 2019).
//!
//! ```
//! use warpsmith::pcf::{Pcf, barcode::Barcode};
//!
//! let barcode = Barcode::new([(0.0, f64::INFINITY), (0.0, 2.0), (1.0, 4.0)])?;
//! assert_eq!(barcode.betti_curve()?, Pcf::new([(0.0, 2.0), (1.0, 3.0), (2.0, 2.0), (4.0, 1.0)])?);
//! assert_eq!(barcode.stable_rank()?, Pcf::new([(0.0, 3.0), (2.0, 2.0), (3.0, 1.0)])?);
//! # Ok::<(), warpsmith::pcf::PcfError>(())
//! ```

use gpu_kernels::pcf::barcode::Steps;
use rayon::prelude::*;

use super::{Pcf, PcfError, PcfReal, PcfSet, Point};

pub use gpu_kernels::pcf::barcode::Curve;

/// A bar: what lives from its birth to its death.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// When it is born; finite.
    pub birth: f64,
    /// When it dies; infinite if it never does.
    pub death: f64,
}

/// Direction of growth of a filtration of a space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filtration {
    /// With the time t: by all that is at most t. Bars are [birth, death), and one without end has the death infinity.
    #[default]
    Sublevel,
    /// With falling t: by all that is at least t. Deaths are below births, bars are [death, birth), and one without end
    /// has the death -infinity.
    Superlevel,
}

impl From<(f64, f64)> for Bar {
    fn from((birth, death): (f64, f64)) -> Self {
        Bar { birth, death }
    }
}

/// Any number of bars, in no particular order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Barcode {
    filtration: Filtration,
    bars: Vec<Bar>,
}

impl Barcode {
    /// The barcode of these bars, of a sublevel filtration.
    ///
    /// # Errors
    /// If a birth is infinite or NaN, a death is NaN, or one comes before its birth. The first such bar is named.
    pub fn new(bars: impl IntoIterator<Item = impl Into<Bar>>) -> Result<Self, PcfError> {
        Barcode::of(Filtration::Sublevel, bars)
    }

    /// The barcode of these bars, of such a filtration.
    ///
    /// # Errors
    /// As [`new`](Self::new); for a superlevel filtration, if a death is above its birth.
    pub fn of(filtration: Filtration, bars: impl IntoIterator<Item = impl Into<Bar>>) -> Result<Self, PcfError> {
        let bars: Vec<Bar> = bars.into_iter().map(Into::into).collect();
        for (bar, &Bar { birth, death }) in bars.iter().enumerate() {
            let problem = match filtration {
                _ if !birth.is_finite() => format!("birth = {birth}, but it must be a finite number"),
                _ if death.is_nan() => format!("death = {death}, but it must be a number, or inf for a bar without end"),
                Filtration::Sublevel if death < birth => {
                    format!("death = {death} comes before birth = {birth}, as in superlevel filtrations alone")
                }
                Filtration::Superlevel if death > birth => {
                    format!("death = {death} is above birth = {birth}, but this is to be a superlevel filtration")
                }
                _ => continue,
            };
            return Err(PcfError::Bar { bar, problem });
        }
        Ok(Barcode { filtration, bars })
    }

    /// The barcode of these bars, which are valid.
    pub(crate) fn of_valid(filtration: Filtration, bars: Vec<Bar>) -> Self {
        Barcode { filtration, bars }
    }

    /// The bars.
    pub fn bars(&self) -> &[Bar] {
        &self.bars
    }

    /// The filtration that they are of.
    pub fn filtration(&self) -> Filtration {
        self.filtration
    }

    /// The Betti curve: at t, the number of bars with birth <= t < death; of a superlevel filtration with death <= t <
    /// birth. Births and deaths are rounded to `T` first.
    ///
    /// # Errors
    /// If a bar's birth or death is below 0, where the curve starts, and not -infinity, or a time is above
    /// [`PcfReal::MAX_VALUE`].
    pub fn betti_curve<T: PcfReal>(&self) -> Result<Pcf<T>, PcfError> {
        self.curve(Curve::Betti)
    }

    /// The stable rank of the standard contour: at t, the number of bars that are longer than t. Lengths are rounded to
    /// `T` first.
    ///
    /// # Errors
    /// If a bar is longer than [`PcfReal::MAX_VALUE`] and not infinite.
    pub fn stable_rank<T: PcfReal>(&self) -> Result<Pcf<T>, PcfError> {
        self.curve(Curve::StableRank)
    }

    /// The accumulated persistence: at t, the sum of the lengths of all bars with (birth + death) / 2 <= t. Bars without
    /// end have no middle, and count for nothing. Middles are rounded to `T` first; lengths are summed in `f64`.
    ///
    /// # Errors
    /// If a bar's middle is below 0, where the function starts, or a middle or the sum is above
    /// [`PcfReal::MAX_VALUE`].
    pub fn accumulated_persistence<T: PcfReal>(&self) -> Result<Pcf<T>, PcfError> {
        self.curve(Curve::AccumulatedPersistence)
    }

    /// The function of this kind.
    pub fn curve<T: PcfReal>(&self, curve: Curve) -> Result<Pcf<T>, PcfError> {
        let length = match self.filtration {
            Filtration::Sublevel => "death - birth",
            Filtration::Superlevel => "birth - death",
        };
        let mut changes = Vec::with_capacity(2 * self.bars.len());
        for (bar, &Bar { birth, death }) in self.bars.iter().enumerate() {
            let mut interval = [(birth, "birth"), (death, "death")];
            if self.filtration == Filtration::Superlevel {
                interval.reverse();
            }
            let names = match curve {
                Curve::Betti => interval.map(|(_, name)| name),
                Curve::StableRank => [length; 2],
                Curve::AccumulatedPersistence => ["(birth + death) / 2", length],
            };
            for ((time, change), name) in curve.changes(interval[0].0, interval[1].0).into_iter().zip(names) {
                if time < 0.0 {
                    let after = "but the function starts at t = 0: shift the bars, or take stable ranks";
                    return Err(PcfError::Bar { bar, problem: format!("{name} = {time}, {after}") });
                }
                if time.is_finite() {
                    changes.push((round::<T>(bar, name, time)?, round::<f64>(bar, length, change)?));
                }
            }
        }
        changes.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(std::cmp::Ordering::Equal));
        let mut steps = Steps::default();
        let mut points: Vec<_> = changes.into_iter().filter_map(|(time, change)| steps.add(time, change)).collect();
        points.extend(steps.finish());
        Pcf::new(points.into_iter().map(|(time, value)| Point::new(time, T::from_f64(value))))
    }
}

/// The Betti curves of many barcodes.
pub fn betti_curves<T: PcfReal>(barcodes: &[Barcode]) -> Result<PcfSet<T>, PcfError> {
    curves(barcodes, Curve::Betti)
}

/// The stable ranks of many barcodes.
pub fn stable_ranks<T: PcfReal>(barcodes: &[Barcode]) -> Result<PcfSet<T>, PcfError> {
    curves(barcodes, Curve::StableRank)
}

/// The accumulated persistence of many barcodes.
pub fn accumulated_persistences<T: PcfReal>(barcodes: &[Barcode]) -> Result<PcfSet<T>, PcfError> {
    curves(barcodes, Curve::AccumulatedPersistence)
}

/// The functions of this kind of many barcodes.
pub fn curves<T: PcfReal>(barcodes: &[Barcode], curve: Curve) -> Result<PcfSet<T>, PcfError> {
    let made: Vec<Result<Pcf<T>, PcfError>> = barcodes.par_iter().map(|barcode| barcode.curve(curve)).collect();
    // The first error by index, whichever came first in time.
    let in_barcode = |(barcode, made): (usize, Result<_, _>)| {
        made.map_err(|error| if barcodes.len() == 1 { error } else { PcfError::InBarcode { barcode, error: Box::new(error) } })
    };
    made.into_iter().enumerate().map(in_barcode).collect()
}

/// The nearest number of the type, if it may be a time.
fn round<T: PcfReal>(bar: usize, what: &'static str, value: f64) -> Result<T, PcfError> {
    let max = T::MAX_VALUE.to_f64();
    if value > max {
        let problem = format!("{what} = {value:e} is too large for {}: at most {max:e} is allowed", T::NAME);
        return Err(PcfError::Bar { bar, problem });
    }
    Ok(T::from_f64(value))
}

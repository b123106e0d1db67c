//! Residuals, and how they change with the machine.

use std::cell::Cell;

use levenberg_marquardt::LeastSquaresProblem;
use nalgebra::{DMatrix, DVector, Dyn, Owned};
use rayon::prelude::*;

use super::super::super::{RulesError, Schedule};
use super::super::Simulator;
use super::super::machine::{Machine, Quantity};
use super::super::workload::Workload;

/// Half of the step, in logarithms, for derivatives. Times are nearly linear in what things cost, with kinks where
/// something else becomes the last; a step as large as this one sees the slopes on both sides of them.
const STEP: f64 = 0.01;
/// No time or bandwidth is farther from its start than by this much in logarithms: so that all stay finite in steps
/// that go astray.
const FARTHEST: f64 = 12.0;
/// How many schedules are simulated at a time.
const CHUNK: usize = 64;

/// What simulates schedules on machines that differ in some numbers.
pub struct Bench<'a, W: Workload + ?Sized> {
    pub workload: &'a W,
    pub start: &'a Machine,
    /// The numbers that differ.
    pub free: &'a [&'a Quantity],
    pub schedules: &'a [&'a Schedule],
}

impl<W: Workload + ?Sized> Bench<'_, W> {
    /// The machine with these logarithms of the numbers.
    pub fn machine(&self, logarithms: &DVector<f64>) -> Machine {
        let mut machine = self.start.clone();
        for (quantity, logarithm) in self.free.iter().zip(logarithms.iter()) {
            let value = (quantity.of)(&mut machine);
            *value *= (logarithm - value.ln()).clamp(-FARTHEST, FARTHEST).exp();
        }
        machine
    }

    /// The schedules' times on each of these machines.
    pub fn times(&self, points: &[&DVector<f64>]) -> Result<Vec<Vec<f64>>, RulesError> {
        let simulators: Vec<_> =
            points.iter().map(|point| Simulator::new(self.workload, self.machine(point))).collect::<Result<_, _>>()?;
        let schedules = self.schedules;
        let chunk = |simulator: &Simulator, schedules: &[&Schedule]| -> Result<Vec<f64>, RulesError> {
            let mut simulator = simulator.clone();
            schedules.iter().map(|schedule| Ok(simulator.run(schedule.steps(), 0)?.seconds())).collect()
        };
        let of_machine = |simulator: &Simulator| -> Result<Vec<f64>, RulesError> {
            let parts: Vec<_> =
                schedules.par_chunks(CHUNK).map(|schedules| chunk(simulator, schedules)).collect::<Result<_, _>>()?;
            Ok(parts.concat())
        };
        simulators.par_iter().map(of_machine).collect()
    }
}

/// The sum of squares that is to be small.
pub struct Problem<'a, W: Workload + ?Sized> {
    pub bench: Bench<'a, W>,
    measured: &'a [f64],
    origin: &'a DVector<f64>,
    noise: f64,
    prior: f64,
    at: DVector<f64>,
    /// What went wrong, if something did.
    pub error: Cell<Option<RulesError>>,
}

impl<'a, W: Workload + ?Sized> Problem<'a, W> {
    pub fn new(bench: Bench<'a, W>, measured: &'a [f64], origin: &'a DVector<f64>, noise: f64, prior: f64) -> Self {
        Problem { bench, measured, origin, noise, prior, at: origin.clone(), error: Cell::new(None) }
    }

    /// The residuals at each of these points.
    fn residuals_at(&self, points: &[&DVector<f64>]) -> Option<Vec<DVector<f64>>> {
        let times = self.bench.times(points).map_err(|error| self.error.set(Some(error))).ok()?;
        let all = times.iter().zip(points).map(|(times, point)| {
            let off = times.iter().zip(self.measured).map(|(simulated, measured)| (simulated / measured).ln() / self.noise);
            let moved = point.iter().zip(self.origin.iter()).map(|(now, origin)| (now - origin) / self.prior);
            DVector::from_vec(off.chain(moved).collect())
        });
        Some(all.collect())
    }

    /// The standard deviations of the logarithms, as if the residuals were linear in them, and normal and independent.
    pub fn deviations(&self) -> Vec<f64> {
        let prior = || vec![self.prior; self.at.len()];
        let Some(jacobian) = self.jacobian() else { return prior() };
        // The prior sees to it that there is an inverse.
        let information = jacobian.tr_mul(&jacobian);
        let inverse = information.cholesky().map(|factors| factors.inverse());
        inverse.map_or_else(prior, |covariance| covariance.diagonal().iter().map(|variance| variance.sqrt()).collect())
    }
}

impl<W: Workload + ?Sized> LeastSquaresProblem<f64, Dyn, Dyn> for Problem<'_, W> {
    type ParameterStorage = Owned<f64, Dyn>;
    type ResidualStorage = Owned<f64, Dyn>;
    type JacobianStorage = Owned<f64, Dyn, Dyn>;

    fn set_params(&mut self, parameters: &DVector<f64>) {
        self.at.copy_from(parameters);
    }

    fn params(&self) -> DVector<f64> {
        self.at.clone()
    }

    fn residuals(&self) -> Option<DVector<f64>> {
        self.residuals_at(&[&self.at])?.pop()
    }

    /// By central differences.
    fn jacobian(&self) -> Option<DMatrix<f64>> {
        let moved = |index: usize, step: f64| {
            let mut point = self.at.clone();
            point[index] += step;
            point
        };
        let points: Vec<_> = (0..self.at.len()).flat_map(|index| [moved(index, STEP), moved(index, -STEP)]).collect();
        let residuals = self.residuals_at(&points.iter().collect::<Vec<_>>())?;
        let columns: Vec<_> = residuals.chunks_exact(2).map(|pair| (&pair[0] - &pair[1]) / (2.0 * STEP)).collect();
        Some(DMatrix::from_columns(&columns))
    }
}

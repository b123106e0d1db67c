//! Fitting a [`Machine`] to measured runs, so that simulations rest on measurements.
//!
//! All times and bandwidths of the machine are fitted in logarithms, by the method of Levenberg and Marquardt: the sum
//! of squares of `ln(simulated / measured)` over a random part of the runs is to be small, in units of
//! [`Options::noise`]. Much can't be told from runs of one program: those of one node say nothing of messages between
//! nodes, and of what always comes together only the sum is known. So how far each logarithm went from where it
//! started, in units of [`Options::prior`], counts as one more residual: a ridge, or a normal prior. Numbers of ranks
//! and threads, the eager limit and how messages progress stay as they are. A time of 0 stays 0: it stands for
//! something that the machine doesn't have.
//!
//! How good the machine is, is judged by the other runs.
//!
//! K. Levenberg, *A method for the solution of certain non-linear problems in least squares* (Quarterly of Applied
//! Mathematics 2, 1944); D. W. Marquardt, *An algorithm for least-squares estimation of nonlinear parameters* (SIAM
//! Journal 11, 1963).
//!
//! ```
//! use warpsmith::{
//!     design_rules::{
//!         About, Platform, Run, Runs, programs::spmv, schedule::Schedules,
//!         sim::{Machine, SimPlatform, fit::{Options, fit}, spmv::SpmvModel},
//!     },
//!     spmv::{Band, Csr, Traffic},
//! };
//!
//! // In the place of measured runs: those of a machine that launches kernels more slowly.
//! let matrix: Csr<f32> = Band::new(3000, 30_000, 1).matrix()?;
//! let (dag, model) = (spmv::dag(), SpmvModel::new(Traffic::new(&matrix, 2)?));
//! let mut other = Machine::data_sheet();
//! other.host.launch = 4e-6;
//! let mut platform = SimPlatform::new(&model, other)?;
//! let mut runs = Runs { about: About { ranks: 2, streams: 2, ..About::program(&dag) }, runs: Vec::new(), failed: Vec::new() };
//! for schedule in Schedules::new(&dag, 2)?.step_by(20) {
//!     let seconds = platform.measure(&schedule)?;
//!     runs.runs.push(Run::new(seconds, schedule.text(&dag).parse()?));
//! }
//! let fitted = fit(&model, &Machine::data_sheet(), &runs, &Options { sample: 100, ..Options::default() })?;
//! assert!(fitted.after.rms < 0.01 && fitted.before.rms > 0.03);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod agreement;
mod problem;

use levenberg_marquardt::{LeastSquaresProblem as _, LevenbergMarquardt, TerminationReason};
use nalgebra::DVector;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};
use serde::Serialize;

use super::super::{RulesError, Runs, Schedule};
use super::machine::{BANDWIDTHS, Machine, TIMES};
use super::workload::Workload;
use problem::{Bench, Problem};

pub use agreement::Agreement;

/// Steps end where they improve the sum of squares, or change the numbers, by a smaller part than this.
const TOLERANCE: f64 = 1e-5;
/// How often, for each number, the times are computed at most.
const PATIENCE: usize = 20;

/// How to fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// How many of the runs to fit to; at most half of them are taken.
    pub sample: usize,
    /// Which of the runs: the seed of the choice.
    pub seed: u64,
    /// The standard deviation of a measured time's logarithm.
    pub noise: f64,
    /// The standard deviation of what the logarithm of a time or bandwidth is thought to be off by at the start.
    pub prior: f64,
}

impl Default for Options {
    /// 800 runs, with a noise of 1 %. Times and bandwidths may well be off by a third (0.3).
    fn default() -> Self {
        Options { sample: 800, seed: 0, noise: 0.01, prior: 0.3 }
    }
}

/// A machine that was fitted to runs, and how good it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The machine.
    pub machine: Machine,
    /// Its times and bandwidths.
    pub parameters: Vec<Parameter>,
    /// To how many runs it was fitted.
    pub sample: usize,
    /// Whether the sum of squares is a minimum, as far as can be told. Else the fit was given up before.
    pub converged: bool,
    /// The other runs, in their order.
    pub held_out: Vec<HeldOut>,
    /// How well the machine of the start agrees with these.
    pub before: Agreement,
    /// How well this one does.
    pub after: Agreement,
}

/// A time or bandwidth of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Parameter {
    /// As in the machine's file, such as `host.launch`.
    pub name: &'static str,
    /// Whether it is in seconds; else it is in bytes per second.
    pub is_time: bool,
    /// At the start.
    pub before: f64,
    /// Fitted.
    pub after: f64,
    /// The standard deviation of its logarithm, with the other numbers free: of the normal distribution that is near
    /// the posterior's maximum. It is [`Options::prior`] where the runs say nothing of it.
    pub deviation: f64,
    /// Whether the runs say more of it than the start did: whether the deviation is less than half the prior.
    pub determined: bool,
}

/// A run that the machine was not fitted to.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct HeldOut {
    /// Which one of the runs.
    pub run: usize,
    /// Its time, in seconds.
    pub measured: f64,
    /// That on the machine of the start, in seconds.
    pub before: f64,
    /// That on the fitted one, in seconds.
    pub after: f64,
}

/// Fits a machine to runs of this workload.
///
/// The machine's noise is left out while times are compared, and kept in the result.
///
/// # Errors
/// [`RulesError::Setup`] where the runs are of another program, or of another number of ranks, and for options that
/// can't be; [`RulesError::Learning`] where there are too few runs, or one of no time; and as
/// [`Simulator::new`](super::Simulator::new) and [`Schedule::parse`].
pub fn fit(workload: &(impl Workload + ?Sized), start: &Machine, runs: &Runs, options: &Options) -> Result<Fit, RulesError> {
    let Options { sample, seed, noise, prior } = *options;
    if ![noise, prior].iter().all(|deviation| deviation.is_finite() && *deviation > 0.0) {
        return Err(RulesError::Setup(format!("a noise of {noise} and a prior of {prior} are not both finite and positive")));
    }
    start.validate()?;
    let (schedules, measured) = comparable(workload, runs)?;
    let mut still = Machine { noise: 0.0, ..start.clone() };
    let free: Vec<_> = TIMES.iter().chain(&BANDWIDTHS).filter(|quantity| *(quantity.of)(&mut still) > 0.0).collect();
    let sample = sample.min(runs.runs.len() / 2);
    // With fewer, the prior alone would decide.
    if sample < 2 * free.len() {
        return Err(RulesError::Learning(format!(
            "{} numbers can't be fitted to {sample} of {} runs: it takes {}, and as many to judge by",
            free.len(),
            runs.runs.len(),
            2 * free.len()
        )));
    }
    let (chosen, others) = divide(runs.runs.len(), sample, seed);
    let of = |places: &[usize]| -> (Vec<&Schedule>, Vec<f64>) {
        places.iter().map(|&place| (&schedules[place], measured[place])).unzip()
    };
    let (seen, seen_times) = of(&chosen);
    let (unseen, times) = of(&others);

    let origin = DVector::from_iterator(free.len(), free.iter().map(|quantity| (quantity.of)(&mut still).ln()));
    let bench = Bench { workload, start: &still, free: &free, schedules: &seen };
    // Else the search would end at once, and not say why.
    bench.times(&[&origin])?;
    let problem = Problem::new(bench, &seen_times, &origin, noise, prior);
    let method = LevenbergMarquardt::new().with_ftol(TOLERANCE).with_xtol(TOLERANCE).with_patience(PATIENCE);
    let (problem, report) = method.minimize(problem);
    if let Some(error) = problem.error.take() {
        return Err(error);
    }
    if let TerminationReason::Numerical(reason) = report.termination {
        return Err(RulesError::Learning(format!("the fit came to {reason}, which is not a number")));
    }
    let deviations = problem.deviations();
    let found = problem.params();
    let mut machine = problem.bench.machine(&found);
    let judge = Bench { schedules: &unseen, ..problem.bench };
    let both = judge.times(&[&origin, &found])?;
    let [before, after] = [0, 1].map(|which| Agreement::of(&both[which], &times));
    let pair =
        |(which, &run): (usize, &usize)| HeldOut { run, measured: times[which], before: both[0][which], after: both[1][which] };
    let held_out = others.iter().enumerate().map(pair).collect();
    let parameters = free.iter().zip(deviations).map(|(quantity, deviation)| Parameter {
        name: quantity.name,
        is_time: TIMES.iter().any(|time| time.name == quantity.name),
        before: *(quantity.of)(&mut still.clone()),
        after: *(quantity.of)(&mut machine),
        deviation,
        determined: deviation < prior / 2.0,
    });
    let parameters = parameters.collect();
    machine.noise = start.noise;
    let converged = report.termination.was_successful();
    Ok(Fit { machine, parameters, sample, converged, held_out, before, after })
}

/// The times of all runs on a machine, in seconds, without its noise: to compare with those that were measured.
///
/// # Errors
/// As [`fit`].
pub fn predict(workload: &(impl Workload + ?Sized), machine: &Machine, runs: &Runs) -> Result<Vec<f64>, RulesError> {
    let (schedules, _) = comparable(workload, runs)?;
    let still = Machine { noise: 0.0, ..machine.clone() };
    let schedules: Vec<_> = schedules.iter().collect();
    let bench = Bench { workload, start: &still, free: &[], schedules: &schedules };
    Ok(bench.times(&[&DVector::zeros(0)])?.remove(0))
}

/// The runs' schedules and times, if the workload is theirs.
fn comparable(workload: &(impl Workload + ?Sized), runs: &Runs) -> Result<(Vec<Schedule>, Vec<f64>), RulesError> {
    let (about, dag) = (&runs.about, workload.dag());
    if about.signature != dag.signature() {
        let other = if about.program == dag.name() { "another one of that name".to_owned() } else { format!("`{}`", dag.name()) };
        return Err(RulesError::Setup(format!(
            "the runs are of the program `{}`, and the workload is of {other}",
            about.program
        )));
    }
    if about.ranks != workload.ranks() {
        let ranks = workload.ranks();
        return Err(RulesError::Setup(format!("the runs are of {} ranks, and the workload is of {ranks}", about.ranks)));
    }
    if let Some(run) = runs.runs.iter().find(|run| !(run.seconds.is_finite() && run.seconds > 0.0)) {
        return Err(RulesError::Learning(format!("a run took {} s, which has no logarithm", run.seconds)));
    }
    let parse = |run: &super::super::Run| Schedule::parse(dag, about.streams, &run.traversal.to_string());
    Ok((runs.runs.iter().map(parse).collect::<Result<_, _>>()?, runs.times()))
}

/// This many of `count` places at random, and the others; both in order.
fn divide(count: usize, sample: usize, seed: u64) -> (Vec<usize>, Vec<usize>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut places: Vec<usize> = (0..count).collect();
    for taken in 0..sample {
        let other = taken + (rng.next_u64() % (count - taken) as u64) as usize;
        places.swap(taken, other);
    }
    let mut others = places.split_off(sample);
    places.sort_unstable();
    others.sort_unstable();
    (places, others)
}

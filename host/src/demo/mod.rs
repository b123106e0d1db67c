//! A computation of each system, timed and compared with references on the host.

mod list_rank;
mod overlap;
mod pcf;
mod rules;
mod tree;

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use rayon::prelude::*;

use crate::device::{Backend, Device, DeviceError, Stream};

/// Any error of a system.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// Computes what shows one system.
pub type System = fn(&Setting) -> Result<Vec<Row>, Error>;

/// All systems, by name.
pub const SYSTEMS: &[(&str, System)] = &[
    ("list-rank", list_rank::section),
    ("tree", tree::section),
    ("pcf", pcf::section),
    ("overlap", overlap::section),
    ("rules", rules::section),
];

/// The device of all systems.
pub struct Setting {
    device: Device,
    stream: Stream,
    /// Held by the system that computes on the device. Kernels are loaded without it.
    turn: Mutex<()>,
}

/// Number of runs on a GPU after a warm-up.
const RUNS: u32 = 5;

impl Setting {
    /// Takes a device.
    ///
    /// # Errors
    /// If it makes no stream.
    pub fn new(device: Device) -> Result<Self, DeviceError> {
        Ok(Setting { stream: device.stream()?, device, turn: Mutex::new(()) })
    }

    /// Returns the device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Waits until no other system computes on the device, which none does until the guard is dropped.
    fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the shortest of the times in ms that the runs return: [`RUNS`] on a GPU after a
    /// warm-up, and `on_cpu` runs on the CPU.
    fn best(&self, on_cpu: u32, mut run: impl FnMut() -> Result<f64, Error>) -> Result<f64, Error> {
        let runs = if self.device.backend() == Backend::Cuda { RUNS } else { on_cpu - 1 };
        let mut best = run()?;
        for _ in 0..runs {
            best = best.min(run()?);
        }
        Ok(best)
    }
}

/// One computation of a system.
pub struct Row {
    /// Name of the computation.
    pub what: String,
    /// Size of the input: a number, and what it counts.
    pub size: (usize, String),
    /// Number of units of work, and their name.
    pub work: (usize, &'static str),
    /// Time in ms.
    pub ms: f64,
    /// Result of the comparison with the host.
    pub checked: Checked,
}

/// Runs a computation and returns its time in ms with the result.
fn timed<T, E>(run: impl FnOnce() -> Result<T, E>) -> Result<(T, f64), E> {
    let start = Instant::now();
    run().map(|result| (result, 1e3 * start.elapsed().as_secs_f64()))
}

/// Result of a comparison.
pub enum Checked {
    /// The result that others are compared with.
    Reference,
    /// Equal to the reference.
    Right,
    /// Equal to the reference up to rounding.
    Near,
    /// As close to the reference as the text says.
    Within(&'static str),
    /// Different from the reference, as the sentence says.
    Wrong(String),
}

/// Compares the results for `thing`s one by one with the reference.
fn compare<T: PartialEq + std::fmt::Display + Sync>(thing: &str, found: &[T], expected: &[T]) -> Checked {
    // Slices of integers are compared as memory.
    if found.par_chunks(1 << 16).eq(expected.par_chunks(1 << 16)) {
        return Checked::Right;
    }
    match found.iter().zip(expected).position(|(found, expected)| found != expected) {
        None => Checked::Wrong(format!("{} and {} of {thing}", found.len(), expected.len())),
        Some(index) => {
            let (found, expected) = (&found[index], &expected[index]);
            Checked::Wrong(format!("{thing} {index} came to {found}, and in the reference to {expected}"))
        }
    }
}

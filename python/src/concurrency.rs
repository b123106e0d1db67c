//! The concurrency study.

use pyo3::prelude::*;
use warpsmith::concurrency::{Options, Study};

use crate::{device::Device, error::Failure, work};

/// A study as JSON. Options that are `None` take the library's defaults for the device.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are Python's")]
pub fn study(
    py: Python<'_>,
    streams: Option<Vec<usize>>,
    batch: Option<Vec<usize>>,
    fixed: Option<Vec<usize>>,
    poses: Option<usize>,
    iterations: Option<usize>,
    runs: Option<usize>,
    seed: Option<u32>,
    device: Option<&Bound<'_, PyAny>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let device = Device::of(py, device)?.device;
    let own = Options::of(&device);
    let options = Options {
        streams: streams.unwrap_or(own.streams),
        batch: batch.unwrap_or(own.batch),
        fixed: fixed.unwrap_or(own.fixed),
        poses: poses.unwrap_or(own.poses),
        iterations: iterations.unwrap_or(own.iterations),
        runs: runs.unwrap_or(own.runs),
        seed: seed.unwrap_or(own.seed),
    };
    work::cancellable(py, progress.as_ref(), |control| {
        let cancel = control.cancel.cloned().unwrap_or_default();
        let tell = |at: warpsmith::concurrency::StudyProgress| {
            if let Some(note) = control.progress {
                note(at.done, at.steps);
            }
        };
        let study = Study::run(&device, &options, &cancel, tell)?;
        serde_json::to_string(&study).map_err(Failure::runtime)
    })
}

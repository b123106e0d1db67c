//! The packer.

use std::time::Duration;

use numpy::{IntoPyArray as _, PyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use warpsmith::overlap::pack::{Budget, Packed, Packer, Packing, Progress, Settings};

use crate::{
    device::Device,
    overlap::{Shape, rows},
    work,
};

/// Maximum duration of a search, in seconds. A clock's time plus this doesn't overflow.
const LONGEST: f64 = 1e9;

/// Poses, three numbers each; side; density; starts; steps; seconds; for each improvement the
/// steps, the seconds and the side.
type Arrays<'py> = (Bound<'py, PyArray1<f64>>, f64, f64, usize, usize, f64, Bound<'py, PyArray1<f64>>);

/// The budget is `seconds`, a positive number, or otherwise `steps`.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are Python's")]
pub fn pack<'py>(
    py: Python<'py>,
    shape: &Bound<'py, Shape>,
    count: usize,
    seed: u64,
    starts: Option<usize>,
    initial: Option<PyReadonlyArray2<'py, f64>>,
    steps: usize,
    seconds: Option<f64>,
    device: Option<&Bound<'py, PyAny>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Arrays<'py>> {
    let budget = seconds.map_or(Budget::Steps(steps), |seconds| Budget::Time(Duration::from_secs_f64(seconds.min(LONGEST))));
    let mut settings = Settings { seed, starts, budget, ..Settings::of([(shape.get().0.clone(), count)]) };
    if let Some(poses) = initial {
        settings = settings.going_on(rows(&poses));
    }
    let device = Device::of(py, device)?.device;
    let packed = work::cancellable(py, progress.as_ref(), |control| {
        let packer = Packer::new(&device, settings)?;
        let packer = match control.cancel {
            Some(cancel) => packer.abandoned_by(cancel),
            None => packer,
        };
        let tell = |reached: &Progress| {
            let Some(note) = control.progress else { return };
            match budget {
                Budget::Steps(steps) => note(reached.steps, steps),
                Budget::Time(time) => note((1e3 * reached.seconds) as usize, time.as_millis() as usize),
            }
        };
        Ok(packer.run(tell)?)
    })?;
    let Packed { mut packings, density, starts, steps, seconds, history, .. } = packed;
    let Packing { poses, side } = packings.swap_remove(0);
    let history: Vec<f64> = history.iter().flat_map(|at| [at.steps as f64, at.seconds, at.sides[0]]).collect();
    let poses = poses.into_flattened().into_pyarray(py);
    Ok((poses, side, density, starts, steps, seconds, history.into_pyarray(py)))
}

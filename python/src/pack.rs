//! The packer, and nests.

use std::{io::Write as _, path::PathBuf, time::Duration};

use numpy::{IntoPyArray as _, PyArray2, PyArrayMethods as _, PyReadonlyArray2};
use pyo3::{exceptions::PyValueError, prelude::*};
use warpsmith::{
    engine::Cancel,
    io::files::Destination,
    overlap::{
        self,
        io::Part,
        nest::{Filled, Format, Laid, Layout, Left, Nested, Nesting, Placed, Sheet},
        pack::{Budget, Copies, MOST_POSES, Packed, Packer, Packing, Progress, Settings, Turns, read_container},
    },
};

use crate::{
    device::Device,
    error::Failure,
    overlap::{Shape, rows},
    work,
};

/// Maximum duration of a search, in seconds. A clock's time plus this doesn't overflow.
const LONGEST: f64 = 1e9;

/// Number of units of a nest's progress.
const THOUSAND: usize = 1000;

/// Poses; mirrored copies; side; density; starts; steps; seconds; for each improvement the steps, the seconds and the side; the
/// container's corners.
type Arrays<'py> =
    (Bound<'py, PyArray2<f64>>, Vec<bool>, f64, f64, usize, usize, f64, Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f64>>);
/// Parts with their poses, and whether they are mirrored.
type Places = Vec<(usize, [f64; 3], bool)>;
/// For each sheet the index of its size, its extents, its density, the used extent, and parts.
type Sheets = Vec<(usize, [f64; 2], f64, f64, Places)>;
/// Width, height, and number of sheets, and the form of irregular ones.
type Size<'py> = (f64, f64, Option<usize>, Option<Bound<'py, Shape>>);
/// Width, height, parts, and the form of an irregular sheet.
type Drawn<'py> = (f64, f64, Places, Option<Bound<'py, Shape>>);
/// Parts without a place, each with its number of copies, and whether it is larger than every sheet.
type Without = Vec<(usize, usize, bool)>;
/// Sheets, parts without a place, values, the history, and the seconds.
type Found = (Sheets, Without, Option<[f64; 2]>, Vec<(f64, f64)>, f64);
/// Parts, each with its number of copies.
type Parts<'py> = Vec<(Bound<'py, Shape>, usize)>;

fn duration(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds.clamp(0.0, LONGEST))
}

/// Each part's allowed angles: those of a text, or those of its file; and whether it may be mirrored.
fn turns(parts: &Parts<'_>, allowed: &[Option<String>], mirror: &[bool]) -> PyResult<Vec<Turns>> {
    let of = |(text, (shape, _)): (&Option<String>, &(Bound<'_, Shape>, usize))| match text {
        Some(text) => text.parse().map_err(|error| PyValueError::new_err(format!("turns: {error}"))),
        None => Ok(shape.get().0.turns.clone()),
    };
    allowed.iter().zip(parts).zip(mirror).map(|(one, &mirrors)| Ok(of(one)?.mirroring(mirrors))).collect()
}

fn shapes(parts: &Parts<'_>) -> Vec<(overlap::Shape, usize)> {
    parts.iter().map(|(shape, count)| (shape.get().0.shape.clone(), *count)).collect()
}

fn matrix<'py, const N: usize>(py: Python<'py>, rows: Vec<[f64; N]>) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let len = rows.len();
    rows.into_flattened().into_pyarray(py).reshape([len, N])
}

/// The budget is `seconds`, a positive number, or otherwise `steps`.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are Python's")]
pub fn pack<'py>(
    py: Python<'py>,
    parts: Parts<'py>,
    container: &str,
    allowed: Vec<Option<String>>,
    mirror: Vec<bool>,
    spacing: f64,
    seed: u64,
    starts: Option<usize>,
    initial: Option<PyReadonlyArray2<'py, f64>>,
    mirrored: Vec<bool>,
    steps: usize,
    seconds: Option<f64>,
    device: Option<&Bound<'py, PyAny>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Arrays<'py>> {
    let turns = turns(&parts, &allowed, &mirror)?;
    let budget = seconds.map_or(Budget::Steps(steps), |seconds| Budget::Time(duration(seconds)));
    let (shapes, counts): (Vec<_>, Vec<usize>) =
        shapes(&parts).into_iter().map(|(shape, count)| (shape.with_distance(0.5 * spacing), count)).unzip();
    let copies = Copies { from: initial.map(|poses| rows(&poses)), mirrored, ..Copies::new(counts) };
    let container = read_container(container).map_err(Failure::from)?;
    let settings = Settings { shapes, packings: vec![copies], container: container.clone(), turns, seed, starts, budget };
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
    let Packing { poses, mirrored, side } = packings.swap_remove(0);
    let history = history.iter().map(|at| [at.steps as f64, at.seconds, at.sides[0]]).collect();
    let outline = matrix(py, container.outline(side))?;
    Ok((matrix(py, poses)?, mirrored, side, density, starts, steps, seconds, matrix(py, history)?, outline))
}

/// Nests parts on sheets.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are Python's")]
pub fn nest<'py>(
    py: Python<'py>,
    parts: Parts<'py>,
    sheets: Vec<Size<'py>>,
    spacing: f64,
    margin: f64,
    allowed: Vec<Option<String>>,
    mirror: Vec<bool>,
    values: Option<Vec<f64>>,
    priorities: Vec<i64>,
    time: f64,
    seed: u64,
    device: Option<&Bound<'py, PyAny>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Found> {
    let all = parts.iter().fold(0usize, |sum, (_, count)| sum.saturating_add(*count));
    if all > MOST_POSES {
        return Err(PyValueError::new_err(format!("{all} parts are too many: at most {MOST_POSES}")));
    }
    let sheets = sheets.into_iter().map(|(width, height, count, form)| {
        let form = form.map(|form| form.get().0.shape.clone());
        Sheet { width, height, count, form }
    });
    let plan = Nesting {
        spacing,
        margin,
        turns: turns(&parts, &allowed, &mirror)?,
        values,
        priorities,
        seed,
        ..Nesting::new(shapes(&parts), sheets, duration(time))
    };
    let device = Device::of(py, device)?.device;
    let nested = work::cancellable(py, progress.as_ref(), |control| {
        let never = Cancel::new();
        let tell = |share: f64| {
            if let Some(note) = control.progress {
                note((share * THOUSAND as f64) as usize, THOUSAND);
            }
        };
        Ok(plan.run(&device, control.cancel.unwrap_or(&never), tell)?)
    })?;
    let Nested { sheets, left, value, history, seconds } = nested;
    let place = |Placed { part, pose, mirrored }: Placed| (part, pose, mirrored);
    let sheets = sheets
        .into_iter()
        .map(|Filled { sheet, size, parts, density, used }| (sheet, size, density, used, parts.into_iter().map(place).collect()));
    let sheets = sheets.collect();
    let left = left.into_iter().map(|Left { part, count, too_large }| (part, count, too_large)).collect();
    Ok((sheets, left, value, history, seconds))
}

/// The text of a file of this name with nested parts: their names, shapes and counts, and sheets with their extents and
/// places, or a piece of a roll.
#[pyfunction]
pub fn nest_text(
    parts: Vec<(String, Bound<'_, Shape>, usize)>,
    sheets: Vec<Drawn<'_>>,
    mirror: Vec<bool>,
    roll: bool,
    seconds: f64,
    name: &str,
) -> PyResult<String> {
    let format = Format::of_name(name).ok_or_else(|| {
        PyValueError::new_err(format!("{name}: the name must end in .svg, .dxf, .csv or .json, which tells the format"))
    })?;
    if sheets.iter().flat_map(|(_, _, places, _)| places).any(|(part, ..)| *part >= parts.len()) {
        return Err(PyValueError::new_err("a place is that of no part"));
    }
    let mut own: Vec<Part> = parts.iter().map(|(_, shape, _)| shape.get().0.clone()).collect();
    for ((part, (.., count)), mirrors) in own.iter_mut().zip(&parts).zip(mirror) {
        (part.count, part.turns) = (*count, part.turns.clone().mirroring(mirrors));
    }
    let place = |&(part, pose, mirrored): &(usize, [f64; 3], bool)| Placed { part, pose, mirrored };
    let places: Vec<Vec<Placed>> = sheets.iter().map(|(_, _, places, _)| places.iter().map(place).collect()).collect();
    let forms: Vec<Option<Part>> = sheets.iter().map(|(.., form)| form.as_ref().map(|form| form.get().0.clone())).collect();
    let laid = |(index, (width, height, ..)): (usize, &Drawn<'_>)| Laid {
        width: *width,
        height: *height,
        roll,
        form: forms[index].as_ref(),
        parts: &places[index],
    };
    let layout = Layout {
        parts: parts.iter().zip(&own).map(|((name, ..), part)| (&name[..], part)).collect(),
        sheets: sheets.iter().enumerate().map(laid).collect(),
        seconds,
    };
    let mut text = Vec::new();
    layout.write(format, &mut text)?;
    Ok(String::from_utf8(text)?)
}

/// Writes a file, which is whole or absent.
#[pyfunction]
pub fn write_text(py: Python<'_>, path: PathBuf, text: &str) -> PyResult<()> {
    work::brief(py, || Ok(Destination::prepare(&path)?.write(|file| file.write_all(text.as_bytes()))?))
}

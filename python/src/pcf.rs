//! Sets of functions, and matrices over all pairs of them.

use std::{
    ffi::CString,
    path::{Path, PathBuf},
    sync::Arc,
};

use numpy::{
    Element, IntoPyArray as _, PyArray1, PyArrayDyn, PyArrayMethods as _, PyReadonlyArray1, PyReadonlyArray2,
    PyReadwriteArrayDyn, PyUntypedArray, PyUntypedArrayMethods as _, ndarray::ArrayView,
};
use pyo3::{
    PyClass,
    exceptions::{PyIndexError, PyRuntimeWarning, PyTypeError, PyValueError},
    prelude::*,
    pyclass::boolean_struct::True,
};
use rayon::prelude::*;
use warpsmith::{
    common::Number,
    engine::{Control, Engine, EngineError, Parts, Settings},
    io::{TableOptions, files::Destination, npy::Kind},
    pcf::{
        Layout, Measure, Pairwise, PairwiseError, Pcf, PcfError, PcfReal, Point, Window,
        barcode::{Barcode, Filtration, accumulated_persistences, betti_curves, stable_ranks},
        integral,
        io::{self, BarcodeOptions, Infinite, LoadOptions, PcfData},
        lp_norm, random,
    },
};

use crate::{
    array::{DeviceArray, Item},
    device::Device,
    error::Failure,
    kept::{self, ENGINES, Results},
    precision::{Either, each},
    work,
};

/// Number of merge steps below which a matrix is computed without checks for signals.
const FEW_STEPS: u128 = 200_000;

/// Functions of one precision, which never change.
#[pyclass(module = "warpsmith._warpsmith", frozen)]
pub struct PcfSet(Set);

pub type Set = Either<Arc<warpsmith::pcf::PcfSet<f32>>, Arc<warpsmith::pcf::PcfSet<f64>>>;

/// A precision, and what depends on it alone.
pub trait Real: PcfReal + Item {
    fn set(set: warpsmith::pcf::PcfSet<Self>) -> Set;
    /// The set, if it is of this precision.
    fn of(set: &Set) -> Option<&Arc<warpsmith::pcf::PcfSet<Self>>>;
}

macro_rules! real {
    ($type:ident $variant:ident) => {
        impl Real for $type {
            fn set(set: warpsmith::pcf::PcfSet<Self>) -> Set {
                Set::$variant(Arc::new(set))
            }
            fn of(set: &Set) -> Option<&Arc<warpsmith::pcf::PcfSet<Self>>> {
                if let Set::$variant(set) = set { Some(set) } else { None }
            }
        }
    };
}
real!(f32 F32);
real!(f64 F64);

/// Parses NumPy's name of a precision.
pub fn kind(dtype: &str) -> PyResult<Kind> {
    match dtype {
        "float32" => Ok(Kind::F32),
        "float64" => Ok(Kind::F64),
        _ => Err(PyTypeError::new_err(format!("{dtype} is not a type of functions: float32 or float64"))),
    }
}

/// Indices of `len` things.
fn indices<'a>(from: impl IntoIterator<Item = &'a i64>, len: usize) -> PyResult<Vec<usize>> {
    let index = |&index: &i64| usize::try_from(index).ok().filter(|&index| index < len);
    let found: Option<Vec<usize>> = from.into_iter().map(index).collect();
    found.ok_or_else(|| PyIndexError::new_err(format!("an index is not one of {len} functions")))
}

/// A window: its start and end, whether functions are shifted to 0, whether it is one of a calendar, and the step.
type Span = (Option<f64>, Option<f64>, bool, bool, Option<f64>);

fn window_of((from, until, align, of_calendar, step): Span) -> Window {
    // Numbers may be seconds since 1970.
    Window { from, until, align, of_calendar: of_calendar.then_some(true), step }
}

/// Breakpoints, as the library has them.
fn points<T: Real>(array: &PyReadonlyArray2<'_, T>) -> PyResult<Vec<Point<T>>> {
    let rows = array.as_array();
    if rows.ncols() != 2 {
        return Err(PyValueError::new_err(format!("points have 2 columns, t and v, not {}", rows.ncols())));
    }
    Ok(match rows.to_slice() {
        Some(slice) => bytemuck::cast_slice(slice).to_vec(),
        None => rows.rows().into_iter().map(|row| Point::new(row[0], row[1])).collect(),
    })
}

/// Converts offsets. The error names the first invalid one.
pub fn offsets(offsets: &PyReadonlyArray1<'_, i64>) -> Result<Vec<usize>, PcfError> {
    let convert = |(index, &offset): (usize, &i64)| {
        let wrong = || PcfError::Offsets { index, found: offset.into(), wanted: "it must not be negative".to_owned() };
        usize::try_from(offset).map_err(|_| wrong())
    };
    offsets.as_array().iter().enumerate().map(convert).collect()
}

impl PcfSet {
    /// Builds a set with work that Ctrl-C may abandon.
    pub fn make<T: Real>(
        py: Python<'_>,
        elements: usize,
        make: impl FnOnce() -> Result<warpsmith::pcf::PcfSet<T>, Failure> + Send + 'static,
    ) -> PyResult<Self> {
        work::owned(py, elements, move || Ok(PcfSet(T::set(make()?))))
    }

    fn of_parts<T: Real>(
        py: Python<'_>,
        offsets: Vec<usize>,
        points: Vec<Point<T>>,
        shape: Option<Vec<usize>>,
    ) -> PyResult<Self> {
        PcfSet::make(py, points.len(), move || {
            let set = warpsmith::pcf::PcfSet::from_parts(offsets, points)?;
            Ok(match shape {
                Some(shape) => set.with_shape(&shape)?,
                None => set,
            })
        })
    }
}

#[pymethods]
impl PcfSet {
    #[new]
    fn new(
        py: Python<'_>,
        offsets: PyReadonlyArray1<'_, i64>,
        points: &Bound<'_, PyAny>,
        shape: Option<Vec<usize>>,
    ) -> PyResult<Self> {
        let offsets = self::offsets(&offsets).map_err(Failure::from)?;
        match points.extract() {
            Ok(single) => PcfSet::of_parts::<f32>(py, offsets, self::points(&single)?, shape),
            Err(_) => PcfSet::of_parts::<f64>(py, offsets, self::points(&points.extract()?)?, shape),
        }
    }

    /// `curve` is `betti`, `stable_rank` or `accumulated`; barcode i has the rows `offsets[i]..offsets[i + 1]` of
    /// `bars`.
    #[staticmethod]
    fn of_barcodes(
        py: Python<'_>,
        curve: &str,
        offsets: PyReadonlyArray1<'_, i64>,
        bars: PyReadonlyArray2<'_, f64>,
        superlevel: bool,
        dtype: &str,
    ) -> PyResult<Self> {
        let offsets = self::offsets(&offsets).map_err(Failure::from)?;
        let bars: Vec<(f64, f64)> = bars.as_array().rows().into_iter().map(|bar| (bar[0], bar[1])).collect();
        let (curve, bars_len) = (curve.to_owned(), bars.len());
        let make = move |kind| -> Result<Set, Failure> {
            let filtration = if superlevel { Filtration::Superlevel } else { Filtration::Sublevel };
            let several = offsets.len() > 2;
            let barcode = |(barcode, range): (usize, &[usize])| {
                let made = Barcode::of(filtration, bars[range[0]..range[1]].iter().copied());
                made.map_err(|error| if several { PcfError::InBarcode { barcode, error: Box::new(error) } } else { error })
            };
            let barcodes: Vec<_> = offsets.windows(2).enumerate().map(barcode).collect::<Result<_, _>>()?;
            fn curves<T: Real>(curve: &str, barcodes: &[Barcode]) -> Result<Set, Failure> {
                Ok(T::set(match curve {
                    "betti" => betti_curves(barcodes),
                    "stable_rank" => stable_ranks(barcodes),
                    _ => accumulated_persistences(barcodes),
                }?))
            }
            match kind {
                Kind::F32 => curves::<f32>(&curve, &barcodes),
                _ => curves::<f64>(&curve, &barcodes),
            }
        };
        let kind = kind(dtype)?;
        work::owned(py, bars_len, move || make(kind).map(PcfSet))
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf, table: Table, window: Span, repair: bool) -> PyResult<Self> {
        let options = LoadOptions { table: options(table), window: window_of(window) };
        work::owned(py, usize::MAX, move || {
            let data = if repair { io::load_repaired_with(&path, &options)?.0 } else { io::load_with(&path, &options)? };
            Ok(PcfSet(match data {
                PcfData::F32(set) => f32::set(set),
                PcfData::F64(set) => f64::set(set),
            }))
        })
    }

    #[staticmethod]
    fn random(py: Python<'_>, count: usize, points: usize, seed: u64, uneven: bool, dtype: &str) -> PyResult<Self> {
        fn drawn<T: Real>(py: Python<'_>, count: usize, points: usize, seed: u64, uneven: bool) -> PyResult<PcfSet> {
            let draw = if uneven { random::uneven::<T> } else { random::uniform::<T> };
            PcfSet::make(py, count.saturating_mul(points), move || Ok(draw(count, points, seed)?))
        }
        match kind(dtype)? {
            Kind::F32 => drawn::<f32>(py, count, points, seed, uneven),
            _ => drawn::<f64>(py, count, points, seed, uneven),
        }
    }

    /// The file is written as a whole or not at all, so this work must not be abandoned.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        each!(&self.0, set => work::cancellable(py, None, |_| Ok(io::save(set, &path)?)))
    }

    #[getter]
    fn dtype(&self) -> &'static str {
        self.0.dtype()
    }

    #[getter]
    fn shape(&self) -> Vec<usize> {
        each!(&self.0, set => set.shape().to_vec())
    }

    fn __len__(&self) -> usize {
        each!(&self.0, set => set.len())
    }

    #[getter]
    fn points<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        fn view<'py, T: Real>(this: &Bound<'py, PcfSet>, set: &warpsmith::pcf::PcfSet<T>) -> PyResult<Bound<'py, PyAny>> {
            work::brief(this.py(), || Ok(set.fetch().map(drop)?))?;
            let flat =
                read_only(this, |this| bytemuck::cast_slice::<_, T>(<T as Real>::of(&this.0).map_or(&[], |set| set.points())))?;
            flat.call_method1("reshape", ((-1, 2),))
        }
        each!(&this.get().0, set => view(this, set))
    }

    #[getter]
    fn offsets<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        // Lengths that fit into memory have the same bits in both types.
        let offsets = read_only(this, |this| bytemuck::cast_slice::<usize, isize>(each!(&this.0, set => set.offsets())));
        Ok(offsets?.into_any())
    }

    #[getter]
    fn names(&self) -> Option<Vec<String>> {
        each!(&self.0, set => set.names().map(|names| names.to_vec()))
    }

    fn with_names(&self, py: Python<'_>, names: Option<Vec<String>>) -> PyResult<Self> {
        let names = names.map(Arc::from);
        each!(self.0.clone(), set => PcfSet::make(py, set.breakpoints(), move || Ok((*set).clone().with_names(names)?)))
    }

    fn with_shape(&self, py: Python<'_>, shape: Vec<usize>) -> PyResult<Self> {
        each!(self.0.clone(), set => PcfSet::make(py, set.breakpoints(), move || Ok((*set).clone().with_shape(&shape)?)))
    }

    fn astype(&self, py: Python<'_>, dtype: &str) -> PyResult<Self> {
        match kind(dtype)? {
            Kind::F32 => each!(self.0.clone(), set => PcfSet::make(py, set.breakpoints(), move || Ok(set.cast::<f32>()?))),
            _ => each!(self.0.clone(), set => PcfSet::make(py, set.breakpoints(), move || Ok(set.cast::<f64>()?))),
        }
    }

    fn take(&self, py: Python<'_>, index: PyReadonlyArray1<'_, i64>, shape: Vec<usize>) -> PyResult<Self> {
        let index = indices(index.as_array(), self.__len__())?;
        each!(self.0.clone(), set => PcfSet::make(py, set.breakpoints(), move || Ok(set.take(&index)?.with_shape(&shape)?)))
    }

    fn values_at<'py>(&self, py: Python<'py>, times: PyReadonlyArray1<'py, f64>) -> PyResult<Bound<'py, PyAny>> {
        let times = times.as_array().to_vec();
        each!(self.0.clone(), set => {
            let values = work::owned(py, set.len() * times.len(), move || Ok(set.values_at(&times)?))?;
            Ok(values.into_pyarray(py).into_any())
        })
    }

    /// Pairs up function `rows[k]` of this set and `columns[k]` of the other one, which has the same precision.
    fn combine(
        &self,
        py: Python<'_>,
        operation: &str,
        other: &Self,
        rows: PyReadonlyArray1<'_, i64>,
        columns: PyReadonlyArray1<'_, i64>,
    ) -> PyResult<Self> {
        let rows = indices(rows.as_array(), self.__len__())?;
        let columns = indices(columns.as_array(), other.__len__())?;
        let pairs: Vec<(usize, usize)> = rows.into_iter().zip(columns).collect();
        fn combined<T: Real>(
            py: Python<'_>,
            set: Arc<warpsmith::pcf::PcfSet<T>>,
            other: &PcfSet,
            operation: &str,
            pairs: Vec<(usize, usize)>,
        ) -> PyResult<PcfSet> {
            let operation: fn(T, T) -> T = match operation {
                "add" => |f, g| f + g,
                "subtract" => |f, g| f - g,
                "multiply" => |f, g| f * g,
                "divide" => |f, g| f / g,
                "power" => |f, g| f.powf(g),
                "differ" => |f, g| if f == g { T::ZERO } else { T::ONE },
                "minimum" => |f, g| if g < f { g } else { f },
                _ => |f, g| if g > f { g } else { f },
            };
            let other = <T as Real>::of(&other.0).ok_or_else(|| PyTypeError::new_err("the sets differ in precision"))?.clone();
            PcfSet::make(py, set.breakpoints() + other.breakpoints() + pairs.len(), move || {
                Ok(set.combine(&other, &pairs, operation)?)
            })
        }
        each!(self.0.clone(), set => combined(py, set, other, operation, pairs))
    }

    /// Computes a function of the functions of each row of `groups`: `what` is `mean`, `std`, `sum` or `quantile`.
    fn summaries(&self, py: Python<'_>, groups: PyReadonlyArray2<'_, i64>, what: &str, q: f64) -> PyResult<Self> {
        let (count, width) = (groups.shape()[0], groups.shape()[1]);
        let index = indices(groups.as_array().iter(), self.__len__())?;
        let what = what.to_owned();
        fn summary<T: Real>(set: &warpsmith::pcf::PcfSet<T>, what: &str, q: f64) -> Result<Pcf<T>, PcfError> {
            match what {
                "mean" => set.mean(),
                "std" => set.std(),
                "sum" => set.sum(),
                _ => set.quantile(q),
            }
        }
        each!(self.0.clone(), set => PcfSet::make(py, set.breakpoints(), move || {
            // The whole set in order, which is the usual case, needs no copy.
            if count == 1 && index.iter().copied().eq(0..set.len()) {
                return Ok([summary(&set, &what, q)?].into_iter().collect());
            }
            let group = |group| summary(&set.take(&index[group * width..(group + 1) * width])?, &what, q);
            let summaries: Result<Vec<_>, PcfError> = (0..count).into_par_iter().map(group).collect();
            Ok(summaries?.into_iter().collect())
        }))
    }

    /// Functions whose breakpoints may start at any time, in a window.
    #[staticmethod]
    fn of_series(
        py: Python<'_>,
        offsets: PyReadonlyArray1<'_, i64>,
        points: PyReadonlyArray2<'_, f64>,
        window: Span,
    ) -> PyResult<Self> {
        let (offsets, points) = (self::offsets(&offsets).map_err(Failure::from)?, self::points(&points)?);
        PcfSet::make(py, points.len(), move || {
            let functions = offsets.windows(2).map(|range| &points[range[0]..range[1]]);
            Ok(warpsmith::pcf::PcfSet::in_window(functions, &window_of(window))?)
        })
    }

    /// The functions in a window of time, or sampled.
    fn windowed(&self, py: Python<'_>, start: Option<f64>, until: Option<f64>, step: Option<f64>) -> PyResult<Self> {
        let window = Window { from: start, until, step, ..Window::default() };
        each!(self.0.clone(), set => PcfSet::make(py, set.breakpoints(), move || Ok(set.windowed(&window)?)))
    }

    fn norms<'py>(&self, py: Python<'py>, p: f64) -> PyResult<Bound<'py, PyAny>> {
        each!(self.0.clone(), set => {
            let elements = set.breakpoints();
            let norm = move || -> Result<_, Failure> {
                Ok((0..set.len()).into_par_iter().map(|i| lp_norm(set.get(i), p)).collect::<Result<Vec<_>, _>>()?)
            };
            Ok(work::owned(py, elements, norm)?.into_pyarray(py).into_any())
        })
    }

    fn integrals<'py>(&self, py: Python<'py>, start: f64, end: f64) -> PyResult<Bound<'py, PyAny>> {
        each!(self.0.clone(), set => {
            let elements = set.breakpoints();
            let range = [start, end].map(Number::from_f64);
            let integrals = move || -> Result<Vec<_>, Failure> {
                Ok((0..set.len()).into_par_iter().map(|i| integral(set.get(i), range[0], range[1])).collect())
            };
            Ok(work::owned(py, elements, integrals)?.into_pyarray(py).into_any())
        })
    }

    fn max_times<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        each!(&self.0, set => set.iter().map(|function| function.max_time()).collect::<Vec<_>>().into_pyarray(py).into_any())
    }
}

/// Returns a read-only array of values that a set or diagrams have, which it keeps alive.
pub fn read_only<'py, T: Element, O: PyClass<Frozen = True> + Sync>(
    owner: &Bound<'py, O>,
    values: impl for<'a> FnOnce(&'a O) -> &'a [T],
) -> PyResult<Bound<'py, PyArray1<T>>> {
    let view = ArrayView::from(values(owner.get()));
    // SAFETY: the values are the owner's, which is frozen, and live as long as it does; the array holds it. Nobody writes to
    // them: the array becomes read-only before anybody else has it, and since its base isn't an array or a buffer, NumPy
    // doesn't let that be undone.
    let array = unsafe { PyArray1::borrow_from_array(&view, owner.clone().into_any()) };
    array.try_readwrite().map_err(|error| PyValueError::new_err(error.to_string()))?.make_nonwriteable();
    Ok(array)
}

/// Layout of a table: its columns, whether it has a header, its separator, whether numbers have commas.
type Table = (Vec<(String, String)>, Option<bool>, Option<u8>, bool);

fn options((columns, header, separator, decimal_comma): Table) -> TableOptions {
    TableOptions { columns, header, separator, decimal_comma }
}

/// Parses a time: a number, or one of RFC 3339 in seconds since 1970.
#[pyfunction]
pub fn time(text: &str) -> Option<f64> {
    io::time(text)
}

/// Barcodes of a file: where each starts, all bars, and names.
type Barcodes<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Option<Vec<String>>);

/// Loads barcodes of files. `end` is that of bars without end, which are dropped where it is NaN.
#[pyfunction]
pub fn load_barcodes<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    dimension: Option<u32>,
    superlevel: bool,
    end: Option<f64>,
    table: Table,
) -> PyResult<Vec<Barcodes<'py>>> {
    let filtration = if superlevel { Filtration::Superlevel } else { Filtration::Sublevel };
    let infinite = match end {
        None => Infinite::Keep,
        Some(end) if end.is_nan() => Infinite::Drop,
        Some(end) => Infinite::Cap(end),
    };
    let options = BarcodeOptions { dimension, filtration, infinite };
    let table = self::options(table);
    let read = work::owned(py, usize::MAX, move || Ok(io::load_barcodes_of(&paths, options, &table)?))?;
    let of_file = |io::Barcodes { barcodes, names }| {
        let ends = barcodes.iter().scan(0, |end, barcode| {
            *end += barcode.bars().len() as i64;
            Some(*end)
        });
        let offsets: Vec<i64> = std::iter::once(0).chain(ends).collect();
        let bars: Vec<f64> = barcodes.iter().flat_map(|barcode| barcode.bars()).flat_map(|bar| [bar.birth, bar.death]).collect();
        let bars = bars.into_pyarray(py).call_method1("reshape", ((-1, 2),))?;
        Ok((offsets.into_pyarray(py).into_any(), bars, names.map(|names| names.to_vec())))
    };
    read.into_iter().map(of_file).collect()
}

/// Runs `work` with an engine on these devices, which is kept for the next call.
fn with_engine<R>(
    devices: &[Device],
    settings: Settings,
    work: impl FnOnce(&Engine) -> Result<R, PairwiseError>,
) -> Result<R, PairwiseError> {
    let new = || Engine::new(devices.iter().map(|device| device.device.clone()));
    let engine = ENGINES.take(devices).map_or_else(new, Ok)?.with_settings(settings);
    let result = work(&engine);
    // After a failure, there may be less memory than the engine has planned for.
    if matches!(result, Ok(_) | Err(PairwiseError::Engine(EngineError::Cancelled))) {
        ENGINES.keep(devices, engine);
    }
    result
}

fn layout(layout: &str) -> Layout {
    match layout {
        "condensed" => Layout::Condensed,
        "packed" => Layout::Packed,
        _ => Layout::Dense,
    }
}

/// The distances of two sets' functions, or of all pairs of one's; without `p` their inner products. The result is new,
/// on the device or not, or `out`.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are Python's")]
pub fn pairwise<'py>(
    py: Python<'py>,
    rows: &PcfSet,
    columns: Option<&PcfSet>,
    p: Option<f64>,
    layout: &str,
    out: Option<Bound<'py, PyAny>>,
    on_device: bool,
    device: Option<&Bound<'py, PyAny>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let layout = self::layout(layout);
    if out.is_some() && on_device {
        return Err(PyValueError::new_err("on_device is for new results, but out is given"));
    }
    let there = match &out {
        Some(out) if !out.is_instance_of::<PyUntypedArray>() => DeviceArray::on_gpu(py, out)?,
        _ => None,
    };
    let devices = match &there {
        Some(there) => {
            there.check_home(py, "out", device)?;
            vec![there.home().clone()]
        }
        None => Device::several(py, device)?,
    };
    let target = match (out, there) {
        (Some(out), Some(array)) => Target::Device(out, array),
        (Some(out), None) => Target::Array(out),
        (None, _) if on_device => Target::NewOnDevice,
        (None, _) => Target::New,
    };
    let job = Job { measure: p.map_or(Measure::Inner, Measure::Lp), layout, devices, progress };
    each!(&rows.0, rows => job.run(py, rows, columns, target))
}

/// As [`pairwise`], into a file.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are Python's")]
pub fn pairwise_file(
    py: Python<'_>,
    rows: &PcfSet,
    columns: Option<&PcfSet>,
    p: Option<f64>,
    layout: &str,
    path: PathBuf,
    resume: bool,
    device: Option<&Bound<'_, PyAny>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<()> {
    let (layout, devices) = (self::layout(layout), Device::several(py, device)?);
    let job = Job { measure: p.map_or(Measure::Inner, Measure::Lp), layout, devices, progress };
    each!(&rows.0, rows => job.file(py, rows, columns, &path, resume))
}

/// Computes a reduction of a matrix of distances: the indices and the distances of the `limit` `nearest` of each row; the
/// entries `below` the limit, as row offsets, columns and values; or the sums of the rows.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are Python's")]
pub fn reduced<'py>(
    py: Python<'py>,
    rows: &PcfSet,
    columns: Option<&PcfSet>,
    p: f64,
    kept: &str,
    limit: f64,
    device: Option<&Bound<'py, PyAny>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let job = Job { measure: Measure::Lp(p), layout: Layout::Dense, devices: Device::several(py, device)?, progress };
    each!(&rows.0, rows => job.reduced(py, rows, columns, kept, limit))
}

/// The destination of a matrix.
enum Target<'py> {
    New,
    NewOnDevice,
    /// A NumPy array.
    Array(Bound<'py, PyAny>),
    /// One on a device, as it was given.
    Device(Bound<'py, PyAny>, DeviceArray),
}

struct Job {
    measure: Measure,
    layout: Layout,
    devices: Vec<Device>,
    progress: Option<Py<PyAny>>,
}

/// Fails unless `out` has the shape of the result.
fn check_shape(found: &[usize], shape: &[usize]) -> PyResult<()> {
    if found == shape {
        return Ok(());
    }
    let text = format!("out has the shape {found:?}, but the result has {shape:?}");
    Err(PyValueError::new_err(text.replace(['['], "(").replace([']'], ")")))
}

/// Counts the entries that are infinite though no two functions differ for ever.
fn too_large<T: Real>(pairwise: &Pairwise<'_, T>, entries: &[T]) -> usize {
    if pairwise.is_finite() || pairwise.endless_pair().is_some() {
        return 0;
    }
    entries.par_iter().with_min_len(1 << 16).filter(|entry| !entry.is_finite()).count()
}

/// Warns of such entries.
fn warn_too_large<T: Real>(py: Python<'_>, infinite: usize, all: usize) -> PyResult<()> {
    if infinite == 0 {
        return Ok(());
    }
    let text = format!("{infinite} of {all} results are infinite: their numbers are too large for {}", T::NAME);
    PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &CString::new(text)?, 3)
}

impl Job {
    fn pairwise<'a, T: Real>(
        &self,
        rows: &'a warpsmith::pcf::PcfSet<T>,
        columns: Option<&'a PcfSet>,
    ) -> PyResult<Pairwise<'a, T>> {
        let differ = || PyTypeError::new_err("the sets differ in precision");
        let columns = columns.map(|columns| <T as Real>::of(&columns.0).map(Arc::as_ref).ok_or_else(differ)).transpose()?;
        Ok(Pairwise::new(rows, columns, self.measure).map_err(Failure::from)?)
    }

    fn file<T: Real>(
        &self,
        py: Python<'_>,
        rows: &warpsmith::pcf::PcfSet<T>,
        columns: Option<&PcfSet>,
        path: &Path,
        resume: bool,
    ) -> PyResult<()> {
        let pairwise = &self.pairwise(rows, columns)?;
        let devices: Vec<_> = self.devices.iter().map(|device| device.device.clone()).collect();
        let (infinite, len) = work::cancellable(py, self.progress.as_ref(), |control| {
            let parts = Parts { resume, ..Parts::default() };
            let begun = pairwise.begin_file(Destination::prepare(path)?, self.layout, parts)?;
            let (engine, mut matrix) = pairwise.open_file(begun, self.layout, &devices, Settings::default())?;
            pairwise.compute_file(&engine, self.layout, &mut matrix, control)?;
            let found = (too_large(pairwise, matrix.as_slice()), matrix.as_slice().len());
            matrix.finish()?;
            Ok(found)
        })?;
        warn_too_large::<T>(py, infinite, len)
    }

    fn reduced<'py, T: Real>(
        &self,
        py: Python<'py>,
        rows: &warpsmith::pcf::PcfSet<T>,
        columns: Option<&PcfSet>,
        kept: &str,
        limit: f64,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let pairwise = &self.pairwise(rows, columns)?;
        Ok(match kept {
            "nearest" => {
                let (found, _) = self.work(py, pairwise, |engine, control| pairwise.nearest(engine, limit as usize, control))?;
                vec![found.indices.into_pyarray(py).into_any(), found.distances.into_pyarray(py).into_any()]
            }
            "below" => {
                let bound = T::from_f64(limit);
                let (found, _) = self.work(py, pairwise, |engine, control| pairwise.below(engine, bound, control))?;
                let indices = [found.row_offsets, found.columns].map(|indices| indices.into_pyarray(py).into_any());
                indices.into_iter().chain([found.values.into_pyarray(py).into_any()]).collect()
            }
            _ => {
                let (sums, _) = self.work(py, pairwise, |engine, control| pairwise.row_sums(engine, control))?;
                vec![sums.into_pyarray(py).into_any()]
            }
        })
    }

    fn run<'py, T: Real>(
        &self,
        py: Python<'py>,
        rows: &warpsmith::pcf::PcfSet<T>,
        columns: Option<&PcfSet>,
        target: Target<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let pairwise = self.pairwise(rows, columns)?;
        let shape = pairwise.shape(self.layout).map_err(Failure::from)?;
        let len: usize = shape.iter().product();
        let (job, pairwise) = (self, &pairwise);
        match target {
            Target::New => {
                let (new, infinite) = self.work(py, pairwise, |engine, control| {
                    let mut new = kept::with_room(|| Results::new(len * size_of::<T>()))?;
                    pairwise.compute_into(engine, job.layout, new.slice::<T>(len), control)?;
                    let infinite = too_large(pairwise, new.slice::<T>(len));
                    Ok((new, infinite))
                })?;
                warn_too_large::<T>(py, infinite, len)?;
                new.into_array::<T>(py, len)?.call_method1("reshape", (shape,))
            }
            Target::NewOnDevice => {
                let [device] = &self.devices[..] else {
                    return Err(Failure::from(EngineError::OtherDevices { homes: 1, devices: self.devices.len() }).into());
                };
                let new = self.work(py, pairwise, |engine, control| {
                    let mut new = kept::with_room(|| device.device.alloc::<T>(len)).map_err(EngineError::from)?;
                    pairwise.compute_on_device(engine, job.layout, new.as_view_mut(), control)?;
                    Ok(new)
                })?;
                Ok(Bound::new(py, DeviceArray::new(device, new, shape))?.into_any())
            }
            Target::Device(out, array) => {
                array.check::<T>("out")?;
                array.check_writable("out")?;
                check_shape(array.dims(), &shape)?;
                self.work(py, pairwise, |engine, control| match <T as Item>::of_mut(&mut array.write()) {
                    Some(buffer) => pairwise.compute_on_device(engine, job.layout, buffer.as_view_mut(), control).map(drop),
                    None => Ok(()),
                })?;
                Ok(out)
            }
            Target::Array(out) => {
                let Ok(array) = out.cast::<PyArrayDyn<T>>() else {
                    let found = match out.cast::<PyUntypedArray>() {
                        Ok(array) => format!("an array of {}", array.dtype()),
                        Err(_) => format!("of the type {}", out.get_type().name()?),
                    };
                    return Err(PyTypeError::new_err(format!("out is {found}, but it must be an array of {}", T::NAME)));
                };
                check_shape(array.shape(), &shape)?;
                let wrong = |_| PyValueError::new_err("out is read-only, or is being used by another call");
                let mut borrowed: PyReadwriteArrayDyn<'_, T> = array.try_readwrite().map_err(wrong)?;
                // A slice may also be in Fortran order.
                if !borrowed.is_c_contiguous() {
                    return Err(PyValueError::new_err("out is not contiguous in C order"));
                }
                let wrong = |_| PyValueError::new_err(format!("out is not aligned for {}", T::NAME));
                let slice = borrowed.as_slice_mut().map_err(wrong)?;
                let infinite = self.work(py, pairwise, |engine, control| {
                    pairwise.compute_into(engine, job.layout, slice, control)?;
                    Ok(too_large(pairwise, slice))
                })?;
                drop(borrowed);
                warn_too_large::<T>(py, infinite, len)?;
                Ok(out)
            }
        }
    }

    /// Does work with an engine.
    fn work<T: Real, O: Send>(
        &self,
        py: Python<'_>,
        pairwise: &Pairwise<'_, T>,
        compute: impl FnOnce(&Engine, Control<'_>) -> Result<O, PairwiseError> + Send,
    ) -> PyResult<O> {
        let work = |control: Control<'_>| -> Result<O, Failure> {
            let first = self.devices.first().ok_or(EngineError::NoDevices)?;
            let settings = Settings { block_side: pairwise.block_side(&first.device), ..Settings::default() };
            Ok(with_engine(&self.devices, settings, |engine| compute(engine, control))?)
        };
        if self.progress.is_none() && pairwise.merge_steps() < FEW_STEPS {
            work::brief(py, || work(Control::default()))
        } else {
            work::cancellable(py, self.progress.as_ref(), work)
        }
    }
}

//! Persistent homology.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use numpy::{Element, IntoPyArray as _, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods as _};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
};
use warpsmith::{
    device::{self, Buffer, DeviceError, Stream, View},
    engine::{Cancel, Control},
    homology::{self, Clouds, CurveReal, HomologyError, Options, Rips, Sampled, io},
    io::{
        files::Destination,
        npy::{self, Kind},
    },
    pcf::barcode::Curve,
};

use crate::{
    array::{DeviceArray, Item},
    device::Device,
    error::Failure,
    kept::{self, Homologous, KeptStream},
    pcf::{PcfSet, Real, kind, offsets, read_only},
    precision::{Either, each},
    work,
};

/// Number of edges of clouds up to which bars are computed without checks for signals.
const FEW_EDGES: usize = 40_000;

/// The bars of clouds, where they were computed. They never change.
#[pyclass(module = "warpsmith._warpsmith", frozen)]
pub struct Diagrams(Bars);

type Bars = Either<Arc<homology::Diagrams<f32>>, Arc<homology::Diagrams<f64>>>;

/// A precision of bars.
trait OfBars: Homologous + Item + npy::Element {
    fn bars(diagrams: homology::Diagrams<Self>) -> Bars;
    /// The diagrams, if they are of this precision.
    fn diagrams(bars: &Bars) -> Option<&homology::Diagrams<Self>>;
}

macro_rules! of_bars {
    ($($type:ident $variant:ident)*) => {$(
        impl OfBars for $type {
            fn bars(diagrams: homology::Diagrams<Self>) -> Bars {
                Bars::$variant(Arc::new(diagrams))
            }
            fn diagrams(bars: &Bars) -> Option<&homology::Diagrams<Self>> {
                if let Bars::$variant(diagrams) = bars { Some(diagrams) } else { None }
            }
        }
    )*};
}
of_bars!(f32 F32 f64 F64);

/// A degree's offsets, bars and edges.
type Degree<'py> = (PyReadonlyArray1<'py, i64>, Bound<'py, PyAny>, PyReadonlyArray2<'py, u16>);

impl Diagrams {
    fn of_parts<T: OfBars>(degrees: &[Degree<'_>]) -> PyResult<Self> {
        fn pairs<T: Element + Copy, const N: usize>(rows: &PyReadonlyArray2<'_, T>) -> Vec<[T; N]> {
            rows.as_array().rows().into_iter().map(|row| std::array::from_fn(|k| row[k])).collect()
        }
        let degree = |(first, bars, edges): &Degree<'_>| {
            let bars: PyReadonlyArray2<'_, T> = bars.extract()?;
            if (bars.shape()[1], edges.shape()[1]) != (2, 4) {
                return Err(PyValueError::new_err("bars have 2 columns, and edges 4"));
            }
            Ok((offsets(first).map_err(Failure::from)?, pairs(&bars), pairs(edges)))
        };
        let degrees = degrees.iter().map(degree).collect::<PyResult<_>>()?;
        Ok(Diagrams(T::bars(homology::Diagrams::from_parts(degrees).map_err(Failure::from)?)))
    }
}

#[pymethods]
impl Diagrams {
    /// Of bars in host memory.
    #[new]
    fn new(degrees: Vec<Degree<'_>>) -> PyResult<Self> {
        let single = degrees.first().is_some_and(|(_, bars, _)| bars.extract::<PyReadonlyArray2<'_, f32>>().is_ok());
        if single { Diagrams::of_parts::<f32>(&degrees) } else { Diagrams::of_parts::<f64>(&degrees) }
    }

    #[getter]
    fn dtype(&self) -> &'static str {
        self.0.dtype()
    }

    #[getter]
    fn degrees(&self) -> usize {
        each!(&self.0, diagrams => diagrams.degrees())
    }

    fn __len__(&self) -> usize {
        each!(&self.0, diagrams => diagrams.len())
    }

    /// The index of each cloud's first bar.
    fn offsets<'py>(this: &Bound<'py, Self>, degree: usize) -> PyResult<Bound<'py, PyAny>> {
        // Lengths that fit into memory have the same bits in both types.
        let offsets =
            read_only(this, |this| bytemuck::cast_slice::<usize, isize>(each!(&this.0, diagrams => diagrams.offsets(degree))));
        Ok(offsets?.into_any())
    }

    /// Births and deaths.
    fn bars<'py>(this: &Bound<'py, Self>, degree: usize) -> PyResult<Bound<'py, PyAny>> {
        fn view<'py, T: OfBars>(
            this: &Bound<'py, Diagrams>,
            diagrams: &homology::Diagrams<T>,
            degree: usize,
        ) -> PyResult<Bound<'py, PyAny>> {
            work::brief(this.py(), || Ok(diagrams.fetch(degree)?))?;
            let bars = read_only(this, |this| T::diagrams(&this.0).map_or(&[][..], |all| all.values(degree).as_flattened()))?;
            bars.call_method1("reshape", ((-1, 2),))
        }
        each!(&this.get().0, diagrams => view(this, diagrams, degree))
    }

    /// Ends of edges.
    fn edges<'py>(this: &Bound<'py, Self>, degree: usize) -> PyResult<Bound<'py, PyAny>> {
        each!(&this.get().0, diagrams => work::brief(this.py(), || Ok(diagrams.fetch(degree)?)))?;
        let edges = read_only(this, |this| each!(&this.0, diagrams => diagrams.edges(degree).as_flattened()))?;
        edges.call_method1("reshape", ((-1, 4),))
    }

    /// `curve` is as in `PcfSet.of_barcodes`.
    fn curves(&self, py: Python<'_>, curve: &str, degree: usize, cap: Option<f64>, dtype: &str) -> PyResult<PcfSet> {
        let curve = match curve {
            "betti" => Curve::Betti,
            "stable_rank" => Curve::StableRank,
            _ => Curve::AccumulatedPersistence,
        };
        fn made<T: Homologous, U: Real + CurveReal>(
            py: Python<'_>,
            diagrams: &Arc<homology::Diagrams<T>>,
            (curve, degree, cap): (Curve, usize, Option<f64>),
        ) -> PyResult<PcfSet> {
            let diagrams = diagrams.clone();
            PcfSet::make(py, diagrams.offsets(degree).last().copied().unwrap_or(0), move || {
                at_home(&diagrams, |stream, rips| rips.curves::<U>(stream, &diagrams, degree, curve, cap))
            })
        }
        let what = (curve, degree, cap);
        match kind(dtype)? {
            Kind::F32 => each!(&self.0, diagrams => made::<_, f32>(py, diagrams, what)),
            _ => each!(&self.0, diagrams => made::<_, f64>(py, diagrams, what)),
        }
    }

    /// Landscapes if there are `layers`, otherwise silhouettes: an array (clouds, layers, times).
    fn samples<'py>(
        &self,
        py: Python<'py>,
        degree: usize,
        layers: Option<u32>,
        power: f64,
        times: Vec<f64>,
        cap: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let function = sampled(layers, power);
        fn made<T: Homologous>(
            py: Python<'_>,
            diagrams: &Arc<homology::Diagrams<T>>,
            (degree, function, times, cap): (usize, Sampled, Vec<f64>, Option<f64>),
        ) -> PyResult<Vec<f64>> {
            let diagrams = diagrams.clone();
            work::owned(py, diagrams.offsets(degree).last().copied().unwrap_or(0).saturating_mul(times.len()), move || {
                at_home(&diagrams, |stream, rips| {
                    let values = rips.samples(stream, &diagrams, degree, function, &times, cap)?;
                    Ok(stream.download_vec(&values)?)
                })
            })
        }
        let shape = (self.__len__(), layers.unwrap_or(1) as usize, times.len());
        let values = each!(&self.0, diagrams => made(py, diagrams, (degree, function, times, cap)))?;
        values.into_pyarray(py).call_method1("reshape", (shape,))
    }

    /// Step functions of the same values. Landscapes have the shape (clouds, layers).
    #[expect(clippy::too_many_arguments, reason = "they are Python's")]
    fn sampled_curves(
        &self,
        py: Python<'_>,
        degree: usize,
        layers: Option<u32>,
        power: f64,
        times: Vec<f64>,
        cap: Option<f64>,
        dtype: &str,
    ) -> PyResult<PcfSet> {
        fn made<T: Homologous, U: Real + CurveReal>(
            py: Python<'_>,
            diagrams: &Arc<homology::Diagrams<T>>,
            (degree, function, times, cap): (usize, Sampled, Vec<f64>, Option<f64>),
        ) -> PyResult<PcfSet> {
            let diagrams = diagrams.clone();
            PcfSet::make(py, diagrams.offsets(degree).last().copied().unwrap_or(0).saturating_mul(times.len()), move || {
                at_home(&diagrams, |stream, rips| rips.sampled_curves::<U>(stream, &diagrams, degree, function, &times, cap))
            })
        }
        let what = (degree, sampled(layers, power), times, cap);
        match kind(dtype)? {
            Kind::F32 => each!(&self.0, diagrams => made::<_, f32>(py, diagrams, what)),
            _ => each!(&self.0, diagrams => made::<_, f64>(py, diagrams, what)),
        }
    }

    /// The file is written as a whole or not at all, so this work must not be abandoned.
    fn save(&self, py: Python<'_>, path: PathBuf, names: Option<Vec<String>>) -> PyResult<()> {
        each!(&self.0, diagrams => work::cancellable(py, None, |_| {
            (0..diagrams.degrees()).try_for_each(|degree| diagrams.fetch(degree))?;
            let (format, destination) = (io::Format::of(&path)?, Destination::prepare(&path)?);
            Ok(io::save(diagrams, names.as_deref(), &destination, format)?)
        }))
    }
}

fn sampled(layers: Option<u32>, power: f64) -> Sampled {
    layers.map_or(Sampled::Silhouette { power }, |layers| Sampled::Landscape { layers })
}

/// Does work with bars on the device that has them, or on the best one.
fn at_home<T: Homologous, R>(
    diagrams: &homology::Diagrams<T>,
    work: impl FnOnce(&Stream, &mut Rips<T>) -> Result<R, HomologyError>,
) -> Result<R, Failure> {
    let device = Device { device: diagrams.device().map_or_else(device::Device::best, |device| Ok(device.clone()))? };
    let (_, made) = T::rips().with(&device, |device| Rips::new(device, false), work)?;
    Ok(made)
}

/// Computes the bars of clouds. Numbers are a vector of the host, or arrays on one device, which are
/// joined. Without a dimension they are matrices of distances.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are Python's")]
pub fn rips(
    py: Python<'_>,
    numbers: &Bound<'_, PyAny>,
    dimension: Option<usize>,
    sizes: Vec<usize>,
    threshold: f64,
    degree: usize,
    edges: bool,
    device: Option<&Bound<'_, PyAny>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Diagrams> {
    let job = Job { dimension, sizes, options: Options { threshold, degree, edges }, progress };
    if let Ok(single) = numbers.extract() {
        return job.host::<f32>(py, &single, device);
    }
    if let Ok(double) = numbers.extract() {
        return job.host::<f64>(py, &double, device);
    }
    let arrays: Vec<Bound<'_, DeviceArray>> = numbers.extract()?;
    let Some(first) = arrays.first() else { return Err(PyValueError::new_err("there are no arrays")) };
    let home = first.get().home();
    for array in &arrays {
        array.get().check_home(py, "clouds", device)?;
        if array.get().home() != home {
            return Err(PyValueError::new_err("clouds lie on several devices, but they must lie on one"));
        }
    }
    let arrays: Vec<&DeviceArray> = arrays.iter().map(|array| array.get()).collect();
    match first.getattr("dtype")?.str()?.to_str()? {
        "float32" => job.device::<f32>(py, &arrays, home),
        "float64" => job.device::<f64>(py, &arrays, home),
        found => Err(PyTypeError::new_err(format!("clouds are arrays of {found}, but they must be of float32 or float64"))),
    }
}

struct Job {
    dimension: Option<usize>,
    sizes: Vec<usize>,
    options: Options,
    progress: Option<Py<PyAny>>,
}

impl Job {
    fn host<T: OfBars>(
        &self,
        py: Python<'_>,
        numbers: &PyReadonlyArray1<'_, T>,
        device: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Diagrams> {
        let devices = Device::several(py, device)?;
        if devices.is_empty() {
            return Err(PyValueError::new_err("there are no devices"));
        }
        let numbers = numbers.as_slice()?;
        self.work(py, |control| {
            let sizes = self.sizes.clone();
            let clouds = match self.dimension {
                Some(dimension) => Clouds::points(numbers, dimension, sizes)?,
                None => Clouds::distances(numbers, sizes)?,
            };
            self.compute(&devices, &clouds, control)
        })
    }

    fn device<T: OfBars>(&self, py: Python<'_>, arrays: &[&DeviceArray], home: &Device) -> PyResult<Diagrams> {
        arrays.iter().try_for_each(|array| array.check::<T>("clouds"))?;
        self.work(py, |control| {
            let changed = || Failure::runtime("an array has changed its type");
            let compute = |numbers: &Buffer<T>| {
                let clouds = Clouds::on_device(numbers, self.dimension, self.sizes.clone())?;
                self.compute(std::slice::from_ref(home), &clouds, control)
            };
            if let [array] = arrays {
                return compute(T::of(&array.read()).ok_or_else(changed)?);
            }
            let stream = KeptStream::take(home)?;
            let len = |array: &&DeviceArray| array.dims().iter().product::<usize>();
            let mut joined = kept::array::<T>(home, arrays.iter().map(len).sum())?;
            let mut start = 0;
            for array in arrays {
                let end = start + len(array);
                let data = array.read();
                let part: View<'_, T> = T::of(&data).ok_or_else(changed)?.as_view();
                stream.copy(part, joined.view_mut(start..end)?)?;
                // The array may be dropped or written to afterwards.
                stream.synchronize()?;
                start = end;
            }
            let made = compute(&joined)?;
            kept::keep_array(home, joined.cast(), false);
            Ok(made)
        })
    }

    /// Does the work on a thread of its own unless it is brief.
    fn work<T: OfBars>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(Control<'_>) -> Result<homology::Diagrams<T>, Failure> + Send,
    ) -> PyResult<Diagrams> {
        let edges: usize = self.sizes.iter().map(|&n| n.saturating_mul(n) / 2).fold(0, usize::saturating_add);
        let made = if self.progress.is_none() && edges < FEW_EDGES {
            work::brief(py, || work(Control::default()))
        } else {
            work::cancellable(py, self.progress.as_ref(), work)
        };
        Ok(Diagrams(T::bars(made?)))
    }

    fn compute<T: Homologous>(
        &self,
        devices: &[Device],
        clouds: &Clouds<'_, T>,
        control: Control<'_>,
    ) -> Result<homology::Diagrams<T>, Failure> {
        let take = |device: &Device| {
            let kept = T::rips().take(std::slice::from_ref(device));
            let rips = kept.map_or_else(|| Rips::new(&device.device, false), Ok)?;
            Ok::<_, DeviceError>((KeptStream::take(device)?, rips))
        };
        let mut workers = devices.iter().map(take).collect::<Result<Vec<_>, _>>()?;
        let done = AtomicUsize::new(0);
        let advance = |count| {
            let done = done.fetch_add(count, Ordering::Relaxed) + count;
            if let Some(progress) = control.progress {
                progress(done, clouds.len());
            }
        };
        let never = Cancel::new();
        let each = workers.iter_mut().map(|(stream, rips)| (&**stream, rips)).collect();
        let diagrams = homology::rips(each, clouds, &self.options, control.cancel.unwrap_or(&never), advance)?;
        for (device, (_, rips)) in devices.iter().zip(workers) {
            if rips.memory() <= device.device.info().total_memory / kept::PART {
                T::rips().keep(std::slice::from_ref(device), rips);
            }
        }
        Ok(diagrams)
    }
}

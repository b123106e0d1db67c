//! Persistent homology.

use std::sync::atomic::{AtomicUsize, Ordering};

use numpy::{IntoPyArray as _, PyReadonlyArray1};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
};
use warpsmith::{
    device::{Buffer, DeviceError, View},
    engine::{Cancel, Control},
    homology::{self, Clouds, Degree, Diagrams, Options, Rips},
};

use crate::{
    array::{DeviceArray, Item},
    device::Device,
    error::Failure,
    kept::{self, Homologous, KeptStream},
    work,
};

/// Bars of one degree: the index of each cloud's first bar, births and deaths, and the ends of their edges.
type Bars<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>);

/// Computes the bars of clouds, degree by degree. Numbers are a vector of the host, or arrays on one device, which are
/// joined. Without a dimension they are matrices of distances.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are Python's")]
pub fn rips<'py>(
    py: Python<'py>,
    numbers: &Bound<'py, PyAny>,
    dimension: Option<usize>,
    sizes: Vec<usize>,
    threshold: f64,
    degree: usize,
    edges: bool,
    device: Option<&Bound<'py, PyAny>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Bars<'py>>> {
    let job = Job { dimension, sizes, options: Options { threshold, degree, edges }, progress };
    if let Ok(single) = numbers.extract() {
        return job.host::<f32>(py, &single, device);
    }
    if let Ok(double) = numbers.extract() {
        return job.host::<f64>(py, &double, device);
    }
    let arrays: Vec<Bound<'py, DeviceArray>> = numbers.extract()?;
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
    fn host<'py, T: Homologous + Item>(
        &self,
        py: Python<'py>,
        numbers: &PyReadonlyArray1<'py, T>,
        device: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Vec<Bars<'py>>> {
        let devices = Device::several(py, device)?;
        if devices.is_empty() {
            return Err(PyValueError::new_err("there are no devices"));
        }
        let numbers = numbers.as_slice()?;
        let made = work::cancellable(py, self.progress.as_ref(), |control| {
            let sizes = self.sizes.clone();
            let clouds = match self.dimension {
                Some(dimension) => Clouds::points(numbers, dimension, sizes)?,
                None => Clouds::distances(numbers, sizes)?,
            };
            self.compute(&devices, &clouds, control)
        })?;
        bars(py, made)
    }

    fn device<'py, T: Homologous + Item>(
        &self,
        py: Python<'py>,
        arrays: &[&DeviceArray],
        home: &Device,
    ) -> PyResult<Vec<Bars<'py>>> {
        arrays.iter().try_for_each(|array| array.check::<T>("clouds"))?;
        let made = work::cancellable(py, self.progress.as_ref(), |control| {
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
        })?;
        bars(py, made)
    }

    fn compute<T: Homologous>(
        &self,
        devices: &[Device],
        clouds: &Clouds<'_, T>,
        control: Control<'_>,
    ) -> Result<Diagrams<T>, Failure> {
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

/// Makes arrays of bars.
fn bars<T: Homologous + Item>(py: Python<'_>, diagrams: Diagrams<T>) -> PyResult<Vec<Bars<'_>>> {
    let degree = |Degree { first, values, edges }: Degree<T>| {
        let offsets: Vec<i64> = first.into_iter().map(|offset| offset as i64).collect();
        Ok((
            offsets.into_pyarray(py).into_any(),
            values.into_flattened().into_pyarray(py).call_method1("reshape", ((-1, 2),))?,
            edges.into_flattened().into_pyarray(py).call_method1("reshape", ((-1, 4),))?,
        ))
    };
    diagrams.into_degrees().into_iter().map(degree).collect()
}

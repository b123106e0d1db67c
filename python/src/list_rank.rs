//! List ranking.

use bytemuck::Pod;
use numpy::{IntoPyArray as _, PyReadonlyArray1};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
};
use warpsmith::{
    device::{self, Buffer, Stream},
    list_rank::{ListError, ListRanker, Options, SHORT, Weight, rank_sequentially},
};

use crate::{
    array::{DeviceArray, Item},
    device::Device,
    error::Failure,
    kept::RANKERS,
    work,
};

/// An array in host memory, copied, or one on a device. Results are returned in the same kind of memory.
enum Input<T: Pod> {
    Host(Vec<T>),
    Device(DeviceArray),
}

impl<T: Item> Input<T> {
    fn of(array: &Bound<'_, PyAny>, what: &str) -> PyResult<Self> {
        match array.cast::<DeviceArray>() {
            Ok(array) => {
                array.get().check::<T>(what)?;
                array.get().check_vector(what)?;
                Ok(Input::Device(array.get().clone()))
            }
            Err(_) => Ok(Input::Host(array.extract::<PyReadonlyArray1<'_, T>>()?.as_array().to_vec())),
        }
    }

    fn len(&self) -> usize {
        match self {
            Input::Host(values) => values.len(),
            Input::Device(array) => array.dims().iter().product(),
        }
    }

    /// Returns a result in the same kind of memory as the input.
    fn result<R: Pod>(&self, stream: &Stream, buffer: Buffer<R>) -> Result<Output<R>, Failure> {
        Ok(match self {
            Input::Host(_) => Output::Host(stream.download_vec(&buffer)?),
            Input::Device(_) => Output::Device(buffer),
        })
    }

    /// Selects the device that computes.
    fn device(&self, py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<Device> {
        match self {
            Input::Host(_) => Device::of(py, device),
            Input::Device(array) => array.check_home(py, "the array", device).map(|()| array.home().clone()),
        }
    }

    /// Calls this with the array on the device.
    fn with<R>(&self, device: &device::Device, work: impl FnOnce(&Buffer<T>) -> Result<R, Failure>) -> Result<R, Failure> {
        match self {
            Input::Host(values) => work(&device.upload(values)?),
            Input::Device(array) => match T::of(&array.read()) {
                Some(buffer) => work(buffer),
                None => Err(Failure::runtime("an array has changed its type")),
            },
        }
    }
}

/// A result in host memory or on a device.
enum Output<T: Pod> {
    Host(Vec<T>),
    Device(Buffer<T>),
}

impl<T: Item> Output<T> {
    fn into_python<'py>(self, py: Python<'py>, device: &Device) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self {
            Output::Host(values) => values.into_pyarray(py).into_any(),
            Output::Device(buffer) => {
                let len = buffer.len();
                Bound::new(py, DeviceArray::new(device, buffer, vec![len]))?.into_any()
            }
        })
    }
}

/// Runs `work` with a ranker, which is kept for the next call, and waits for the stream.
fn with_ranker<R>(
    device: &Device,
    work: impl FnOnce(&Stream, &mut ListRanker) -> Result<R, ListError>,
) -> Result<(Stream, R), Failure> {
    let on = std::slice::from_ref(device);
    let stream = device.device.stream()?;
    let mut ranker = RANKERS.take(on).unwrap_or_else(|| ListRanker::new(&device.device, Options::default()));
    let result = work(&stream, &mut ranker)?;
    stream.synchronize()?;
    RANKERS.keep(on, ranker);
    Ok((stream, result))
}

/// Computes the number of elements before each element.
#[pyfunction]
pub fn rank<'py>(
    py: Python<'py>,
    next: &Bound<'py, PyAny>,
    head: Option<i32>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let next = Input::of(next, "next")?;
    let device = next.device(py, device)?;
    let on = device.clone();
    let ranks = work::owned(py, next.len(), move || match &next {
        Input::Host(short) if short.len() <= SHORT => Ok(Output::Host(rank_sequentially(short, head)?)),
        input => input.with(&on.device, |next| {
            let mut ranks = on.device.alloc(next.len())?;
            let (stream, _) = with_ranker(&on, |stream, ranker| ranker.rank(stream, next, head, &mut ranks))?;
            input.result(&stream, ranks)
        }),
    })?;
    ranks.into_python(py, &device)
}

/// Computes the sums of the weights before each element. Weights have one of four types, and are in the list's memory.
#[pyfunction]
pub fn prefix_sums<'py>(
    py: Python<'py>,
    next: &Bound<'py, PyAny>,
    weights: &Bound<'py, PyAny>,
    head: Option<i32>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let next = Input::of(next, "next")?;
    let device = next.device(py, device)?;
    match weights.getattr("dtype")?.str()?.to_str()? {
        "int32" => sums::<i32>(py, next, weights, head, &device),
        "int64" => sums::<i64>(py, next, weights, head, &device),
        "float32" => sums::<f32>(py, next, weights, head, &device),
        "float64" => sums::<f64>(py, next, weights, head, &device),
        _ => Err(PyTypeError::new_err("weights are int32, int64, float32 or float64")),
    }
}

fn sums<'py, V: Weight + Item>(
    py: Python<'py>,
    next: Input<i32>,
    weights: &Bound<'py, PyAny>,
    head: Option<i32>,
    device: &Device,
) -> PyResult<Bound<'py, PyAny>> {
    let weights = Input::<V>::of(weights, "weights")?;
    match (&next, &weights) {
        (Input::Host(_), Input::Host(_)) => {}
        (Input::Device(_), Input::Device(weights)) if weights.home() == device => {}
        _ => return Err(PyValueError::new_err("next and weights must both be on one device, or both be NumPy's")),
    }
    let on = device.device.clone();
    let sums = work::owned(py, next.len(), move || {
        next.with(&on, |successors| {
            weights.with(&on, |weights| {
                let (stream, mut sums) = (on.stream()?, on.alloc(successors.len())?);
                ListRanker::new(&on, Options::default()).prefix_sums(&stream, successors, head, weights, &mut sums)?;
                stream.synchronize()?;
                next.result(&stream, sums)
            })
        })
    })?;
    sums.into_python(py, device)
}

/// Ranks, the lists' numbers, and how many lists.
type Forest<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, usize);

/// Computes each element's rank in its list, and the number of that list.
#[pyfunction]
pub fn forest<'py>(py: Python<'py>, next: &Bound<'py, PyAny>, device: Option<&Bound<'py, PyAny>>) -> PyResult<Forest<'py>> {
    let next = Input::of(next, "next")?;
    let device = next.device(py, device)?;
    let on = device.clone();
    let (ranks, lists, count) = work::owned(py, next.len(), move || {
        next.with(&on.device, |successors| {
            let (mut ranks, mut lists) = (on.device.alloc(successors.len())?, on.device.alloc(successors.len())?);
            let (stream, forest) = with_ranker(&on, |stream, ranker| ranker.forest(stream, successors, &mut ranks, &mut lists))?;
            Ok((next.result(&stream, ranks)?, next.result(&stream, lists)?, forest.lists))
        })
    })?;
    Ok((ranks.into_python(py, &device)?, lists.into_python(py, &device)?, count))
}

//! Linked lists.

use numpy::{Element, IntoPyArray as _, PyArray1, PyReadonlyArray1};
use pyo3::{exceptions::PyTypeError, prelude::*};
use warpsmith::{
    device,
    list_rank::{ListRanker, Options, Weight, list_rank},
};

use crate::{device::Device, work};

/// How many elements come before each.
#[pyfunction]
pub fn rank<'py>(
    py: Python<'py>,
    next: PyReadonlyArray1<'py, i32>,
    head: Option<i32>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyArray1<i32>>> {
    let (device, next) = (Device::of(py, device)?.device, next.as_array().to_vec());
    Ok(work::owned(py, next.len(), move || Ok(list_rank(&device, &next, head)?))?.into_pyarray(py))
}

/// The sums of the weights before each element. Weights are of one of four types.
#[pyfunction]
pub fn prefix_sums<'py>(
    py: Python<'py>,
    next: PyReadonlyArray1<'py, i32>,
    weights: &Bound<'py, PyAny>,
    head: Option<i32>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (device, next) = (Device::of(py, device)?.device, next.as_array().to_vec());
    let list = List { device, next, head };
    if let Ok(weights) = weights.extract() {
        list.sums::<i32>(py, weights)
    } else if let Ok(weights) = weights.extract() {
        list.sums::<i64>(py, weights)
    } else if let Ok(weights) = weights.extract() {
        list.sums::<f32>(py, weights)
    } else if let Ok(weights) = weights.extract() {
        list.sums::<f64>(py, weights)
    } else {
        Err(PyTypeError::new_err("weights are int32, int64, float32 or float64"))
    }
}

struct List {
    device: device::Device,
    next: Vec<i32>,
    head: Option<i32>,
}

impl List {
    fn sums<'py, V: Weight + Element>(self, py: Python<'py>, weights: PyReadonlyArray1<'py, V>) -> PyResult<Bound<'py, PyAny>> {
        let weights = weights.as_array().to_vec();
        let sums = work::owned(py, self.next.len(), move || {
            let List { device, next, head } = self;
            let (stream, next, weights) = (device.stream()?, device.upload(&next)?, device.upload(&weights)?);
            let mut sums = device.alloc(next.len())?;
            ListRanker::new(&device, Options::default()).prefix_sums(&stream, &next, head, &weights, &mut sums)?;
            Ok(stream.download_vec(&sums)?)
        })?;
        Ok(sums.into_pyarray(py).into_any())
    }
}

/// Ranks, the lists' numbers, and how many lists.
type Forest<'py> = (Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<i32>>, usize);

/// How many elements of its list come before each, and which list that is.
#[pyfunction]
pub fn forest<'py>(
    py: Python<'py>,
    next: PyReadonlyArray1<'py, i32>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Forest<'py>> {
    let (device, next) = (Device::of(py, device)?.device, next.as_array().to_vec());
    let (ranks, lists, count) = work::owned(py, next.len(), move || {
        let (stream, next) = (device.stream()?, device.upload(&next)?);
        let (mut ranks, mut lists) = (device.alloc(next.len())?, device.alloc(next.len())?);
        let forest = ListRanker::new(&device, Options::default()).forest(&stream, &next, &mut ranks, &mut lists)?;
        Ok((stream.download_vec(&ranks)?, stream.download_vec(&lists)?, forest.lists))
    })?;
    Ok((ranks.into_pyarray(py), lists.into_pyarray(py), count))
}

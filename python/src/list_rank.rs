//! List ranking.

use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
};
use warpsmith::{
    device::Device as Machine,
    list_rank::{
        ListError, ListRanker, Options, SHORT, Weight, forest_sequentially, order_sequentially, prefix_sums_sequentially,
        rank_sequentially,
    },
};

use crate::{
    array::{Item, dtype_of},
    device::Device,
    input::{Input, Output},
    kept::{self, RANKERS, Summed},
    work,
};

fn ranker<V: Weight>(device: &Machine) -> Result<ListRanker<V>, warpsmith::device::DeviceError> {
    Ok(ListRanker::new(device, Options::default()))
}

/// Computes the number of elements before each element, or the elements in their `order`.
#[pyfunction]
pub fn rank<'py>(
    py: Python<'py>,
    next: &Bound<'py, PyAny>,
    head: Option<i32>,
    order: bool,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let next = Input::of(next, "next")?;
    let device = next.device(py, device)?;
    let on = device.clone();
    let found = work::owned_on(py, &device, next.len(), move || match &next {
        Input::Host(short) if short.len() <= SHORT => {
            let sequentially = if order { order_sequentially } else { rank_sequentially };
            Ok(Output::Host(sequentially(short, head)?))
        }
        input => input.with(&on, |next| {
            let (mut ranks, mut elements) = (kept::array(&on, next.len())?, on.device.empty());
            let (stream, _) = RANKERS.with(&on, ranker, |stream, ranker| {
                ranker.rank(stream, next, head, &mut ranks)?;
                if order {
                    elements = kept::array(&on, next.len())?;
                    ranker.order(stream, &ranks, &mut elements)?;
                }
                Ok::<_, ListError>(())
            })?;
            input.result(&stream, if order { elements } else { ranks })
        }),
    })?;
    found.into_python(py, &device)
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
    match &*dtype_of(weights)? {
        "int32" => sums::<i32>(py, next, weights, head, &device),
        "int64" => sums::<i64>(py, next, weights, head, &device),
        "float32" => sums::<f32>(py, next, weights, head, &device),
        "float64" => sums::<f64>(py, next, weights, head, &device),
        _ => Err(PyTypeError::new_err("weights are int32, int64, float32 or float64")),
    }
}

fn sums<'py, V: Summed + Item>(
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
    let on = device.clone();
    let sums = work::owned_on(py, device, next.len(), move || match (&next, &weights) {
        (Input::Host(short), Input::Host(weights)) if short.len() <= SHORT => {
            Ok(Output::Host(prefix_sums_sequentially(short, head, weights)?))
        }
        _ => next.with(&on, |successors| {
            weights.with(&on, |weights| {
                let mut sums = kept::array(&on, successors.len())?;
                let (stream, _) = V::rankers()
                    .with(&on, ranker, |stream, ranker| ranker.prefix_sums(stream, successors, head, weights, &mut sums))?;
                next.result(&stream, sums)
            })
        }),
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
    let (ranks, lists, count) = work::owned_on(py, &device, next.len(), move || {
        if let Input::Host(short) = &next
            && short.len() <= SHORT
        {
            let (ranks, lists, count) = forest_sequentially(short)?;
            return Ok((Output::Host(ranks), Output::Host(lists), count));
        }
        next.with(&on, |successors| {
            let (mut ranks, mut lists) = (kept::array(&on, successors.len())?, kept::array(&on, successors.len())?);
            let (stream, forest) =
                RANKERS.with(&on, ranker, |stream, ranker| ranker.forest(stream, successors, &mut ranks, &mut lists))?;
            Ok((next.result(&stream, ranks)?, next.result(&stream, lists)?, forest.lists))
        })
    })?;
    Ok((ranks.into_python(py, &device)?, lists.into_python(py, &device)?, count))
}

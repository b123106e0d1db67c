//! List ranking.

use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
};
use warpsmith::{
    device::Device as Machine,
    list_rank::{ListError, ListRanker, Options, SHORT, Weight, rank_sequentially},
};

use crate::{
    array::Item,
    device::Device,
    input::{Input, Output},
    kept::RANKERS,
    work,
};

fn ranker(device: &Machine) -> Result<ListRanker, warpsmith::device::DeviceError> {
    Ok(ListRanker::new(device, Options::default()))
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
        Input::Host(short) if short.len() <= SHORT => Ok(Output::Host(rank_short(short, head)?)),
        input => input.with(&on.device, |next| {
            let mut ranks = on.device.alloc(next.len())?;
            let (stream, _) = RANKERS.with(&on, ranker, |stream, ranker| ranker.rank(stream, next, head, &mut ranks))?;
            input.result(&stream, ranks)
        }),
    })?;
    ranks.into_python(py, &device)
}

/// Returns the elements in their order.
#[pyfunction]
pub fn order<'py>(
    py: Python<'py>,
    next: &Bound<'py, PyAny>,
    head: Option<i32>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let next = Input::of(next, "next")?;
    let device = next.device(py, device)?;
    let on = device.clone();
    let order = work::owned(py, next.len(), move || match &next {
        Input::Host(short) if short.len() <= SHORT => Ok(Output::Host(order_short(short, head)?)),
        input => input.with(&on.device, |next| {
            let (mut ranks, mut order) = (on.device.alloc(next.len())?, on.device.alloc(next.len())?);
            let (stream, _) = RANKERS.with(&on, ranker, |stream, ranker| {
                ranker.rank(stream, next, head, &mut ranks)?;
                ranker.order(stream, &ranks, &mut order)
            })?;
            input.result(&stream, order)
        }),
    })?;
    order.into_python(py, &device)
}

/// Ranks a short list on this thread.
fn rank_short(next: &[i32], head: Option<i32>) -> Result<Vec<i32>, ListError> {
    match forest_short(next) {
        Some((ranks, _, 1)) if head.is_none_or(|head| ranks.get(head as usize) == Some(&0)) => Ok(ranks),
        // Nothing, or no list: this finds the reason.
        _ => rank_sequentially(next, head),
    }
}

fn order_short(next: &[i32], head: Option<i32>) -> Result<Vec<i32>, ListError> {
    let ranks = rank_short(next, head)?;
    let mut order = vec![0; next.len()];
    (0..).zip(ranks).for_each(|(element, rank)| order[rank as usize] = element);
    Ok(order)
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
    let sums = work::owned(py, next.len(), move || match (&next, &weights) {
        (Input::Host(short), Input::Host(weights)) if short.len() <= SHORT => Ok(Output::Host(sum_short(short, head, weights)?)),
        _ => next.with(&on, |successors| {
            weights.with(&on, |weights| {
                let (stream, mut sums) = (on.stream()?, on.alloc(successors.len())?);
                ListRanker::new(&on, Options::default()).prefix_sums(&stream, successors, head, weights, &mut sums)?;
                stream.synchronize()?;
                next.result(&stream, sums)
            })
        }),
    })?;
    sums.into_python(py, device)
}

fn sum_short<V: Weight>(next: &[i32], head: Option<i32>, weights: &[V]) -> Result<Vec<V>, ListError> {
    let (found, n) = (weights.len(), next.len());
    if found != n {
        return Err(ListError::Length { what: "weights", found, n });
    }
    let (mut sums, mut sum) = (vec![V::ZERO; n], V::ZERO);
    for element in order_short(next, head)? {
        sums[element as usize] = sum;
        sum = sum.plus(weights[element as usize]);
    }
    Ok(sums)
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
        if let Input::Host(short) = &next
            && short.len() <= SHORT
            && let Some((ranks, lists, count)) = forest_short(short)
        {
            return Ok((Output::Host(ranks), Output::Host(lists), count));
        }
        next.with(&on.device, |successors| {
            let (mut ranks, mut lists) = (on.device.alloc(successors.len())?, on.device.alloc(successors.len())?);
            let (stream, forest) =
                RANKERS.with(&on, ranker, |stream, ranker| ranker.forest(stream, successors, &mut ranks, &mut lists))?;
            Ok((next.result(&stream, ranks)?, next.result(&stream, lists)?, forest.lists))
        })
    })?;
    Ok((ranks.into_python(py, &device)?, lists.into_python(py, &device)?, count))
}

/// Returns `None` for what is no forest.
fn forest_short(next: &[i32]) -> Option<(Vec<i32>, Vec<i32>, usize)> {
    let n = next.len();
    let mut is_head = vec![true; n];
    for &successor in next.iter().filter(|&&successor| successor != -1) {
        // False at a second predecessor.
        if !std::mem::take(is_head.get_mut(usize::try_from(successor).ok()?)?) {
            return None;
        }
    }
    let (mut ranks, mut lists, mut count, mut reached) = (vec![0; n], vec![0; n], 0, 0);
    for head in (0..n).filter(|&element| is_head[element]) {
        let list = std::iter::successors(Some(head), |&element| usize::try_from(next[element]).ok());
        for (rank, element) in (0..).zip(list) {
            (ranks[element], lists[element]) = (rank, count as i32);
            reached += 1;
        }
        count += 1;
    }
    // Those that aren't reached are on cycles.
    (reached == n).then_some((ranks, lists, count))
}

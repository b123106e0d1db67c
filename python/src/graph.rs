//! Connectivity of undirected graphs.

use std::error::Error;

use cuda_std::I32x2;
use pyo3::{IntoPyObjectExt as _, exceptions::PyTypeError, prelude::*};
use warpsmith::{
    device::Buffer,
    graph::{
        Components, Connectivity, EdgeList, GraphError, MOST, MinimumForest, MinimumForests, Weight, biconnected_sequentially,
        bridges_sequentially, components_sequentially, indices_of,
    },
};

use crate::{
    array::{Item, dtype_of},
    device::Device,
    error::Failure,
    input::{Input, Output},
    kept::{self, COMPONENTS, CONNECTIVITIES, FORESTS},
    work,
};

/// Arrays that a call returns.
type Arrays<'py> = Vec<Bound<'py, PyAny>>;

/// A call's edges, and the device that works on them.
struct Call<'a, 'py> {
    py: Python<'py>,
    edges: &'a Bound<'py, PyAny>,
    device: Option<&'a Bound<'py, PyAny>>,
}

impl<'py> Call<'_, 'py> {
    /// Does work with the edges on the device and the number of vertices, and returns its arrays and its other result.
    /// `few` does the same for a small graph of the host, without the device.
    fn run<R: Send + 'static>(
        self,
        n: Option<usize>,
        few: Option<impl FnOnce(EdgeList) -> Result<(Vec<Vec<i32>>, R), GraphError> + Send + 'static>,
        work: impl FnOnce(&Input<i32>, &Device, &Buffer<I32x2>, usize) -> Result<(Vec<Output<i32>>, R), Failure> + Send + 'static,
    ) -> PyResult<(Arrays<'py>, R)> {
        let edges = Input::pairs(self.edges, "edges")?;
        let device = edges.device(self.py, self.device)?;
        let on = device.clone();
        let (outputs, result) = work::owned_on(self.py, &device, edges.len(), move || {
            // Not so large that labels take all memory before the error.
            let n = edges.count(&on, n)?.min(MOST + 1);
            if let (Some(few), Some(pairs)) = (few, edges.few_pairs(n, &on)) {
                let (arrays, result) = few(EdgeList { vertices: n, edges: pairs.to_vec(), arcs: false })?;
                return Ok((arrays.into_iter().map(Output::Host).collect(), result));
            }
            edges.with_pairs(&on, |pairs| work(&edges, &on, pairs, n))
        })?;
        let arrays: PyResult<_> = outputs.into_iter().map(|output| output.into_python(self.py, &device)).collect();
        Ok((arrays?, result))
    }
}

/// Returns the label of each vertex, then the numbers of the edges of a spanning forest if asked; and the number of
/// components.
#[pyfunction]
pub fn components<'py>(
    py: Python<'py>,
    edges: &Bound<'py, PyAny>,
    n: Option<usize>,
    forest: bool,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Arrays<'py>, usize)> {
    let few = move |graph: EdgeList| {
        let labels = components_sequentially(&graph)?;
        let count = own(&labels);
        Ok((vec![labels], count))
    };
    Call { py, edges, device }.run(n, (!forest).then_some(few), move |edges, on, pairs, n| {
        let device = &on.device;
        let (mut labels, mut kept, mut indices) = (kept::array(on, n)?, device.empty(), device.empty());
        let (stream, found) = COMPONENTS.with(on, Components::new, |stream, components| match forest {
            true => components.forest(stream, pairs, &mut labels, &mut kept, &mut indices),
            false => components.label(stream, pairs, &mut labels),
        })?;
        let mut results = vec![edges.result(&stream, labels)?];
        if forest {
            let mut numbers = bytemuck::cast_vec::<u32, i32>(stream.download_vec(&indices)?);
            numbers.sort_unstable();
            results.push(edges.host_result(&stream, numbers)?);
        }
        Ok((results, found.count))
    })
}

/// Returns the label of each vertex and the numbers of the bridges; and the number of components that bridges leave.
#[pyfunction]
pub fn bridges<'py>(
    py: Python<'py>,
    edges: &Bound<'py, PyAny>,
    n: Option<usize>,
    arcs: bool,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Arrays<'py>, usize)> {
    let few = move |graph: EdgeList| {
        let (bridges, labels) = bridges_sequentially(&EdgeList { arcs, ..graph })?;
        let count = own(&labels);
        Ok((vec![labels, bridges], count))
    };
    Call { py, edges, device }.run(n, Some(few), move |edges, on, pairs, n| {
        let (mut labels, mut bridges) = (kept::array(on, n)?, kept::array(on, pairs.len())?);
        let (stream, found) = CONNECTIVITIES.with(on, connectivity, |stream, connectivity| {
            connectivity.bridges(stream, pairs, arcs, &mut labels, &mut bridges)
        })?;
        let numbers = indices_of(&stream.download_vec(&bridges)?);
        Ok((vec![edges.result(&stream, labels)?, edges.host_result(&stream, numbers)?], found.parts()))
    })
}

/// Returns the label of each edge and the articulation points; and the number of biconnected components.
#[pyfunction]
pub fn biconnected<'py>(
    py: Python<'py>,
    edges: &Bound<'py, PyAny>,
    n: Option<usize>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Arrays<'py>, usize)> {
    let few = |graph: EdgeList| {
        let (labels, points) = biconnected_sequentially(&graph)?;
        let mut blocks: Vec<i32> = labels.iter().copied().filter(|&label| label >= 0).collect();
        blocks.sort_unstable();
        blocks.dedup();
        Ok((vec![labels, points], blocks.len()))
    };
    Call { py, edges, device }.run(n, Some(few), move |edges, on, pairs, n| {
        let (mut labels, mut points) = (kept::array(on, pairs.len())?, kept::array(on, n)?);
        let (stream, found) = CONNECTIVITIES
            .with(on, connectivity, |stream, connectivity| connectivity.biconnected(stream, pairs, &mut labels, &mut points))?;
        let numbers = indices_of(&stream.download_vec(&points)?);
        Ok((vec![edges.result(&stream, labels)?, edges.host_result(&stream, numbers)?], found.components))
    })
}

/// Returns the label of each vertex and the numbers of the edges of the minimum spanning forest; its weight; and the
/// number of its trees.
#[pyfunction]
pub fn minimum_spanning_forest<'py>(
    py: Python<'py>,
    edges: &Bound<'py, PyAny>,
    weights: &Bound<'py, PyAny>,
    n: Option<usize>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Arrays<'py>, Bound<'py, PyAny>, usize)> {
    let call = Call { py, edges, device };
    match &*dtype_of(weights)? {
        "int32" => call.spanning::<i32, i128>(weights, n),
        "int64" => call.spanning::<i64, i128>(weights, n),
        "float32" => call.spanning::<f32, f64>(weights, n),
        "float64" => call.spanning::<f64, f64>(weights, n),
        _ => Err(PyTypeError::new_err("weights are int32, int64, float32 or float64")),
    }
}

impl<'py> Call<'_, 'py> {
    fn spanning<W, T>(self, weights: &Bound<'py, PyAny>, n: Option<usize>) -> PyResult<(Arrays<'py>, Bound<'py, PyAny>, usize)>
    where
        W: Weight<Total = T> + Item,
        T: IntoPyObject<'py> + Send + 'static,
    {
        let weights = Input::<W>::of(weights, "weights")?;
        let py = self.py;
        let home = match &weights {
            Input::Host(_) => None,
            Input::Device(array) => Some(array.home().clone()),
        };
        let few = None::<fn(EdgeList) -> Result<(Vec<Vec<i32>>, (T, usize)), GraphError>>;
        let (arrays, forest) = self.run(n, few, move |edges, on, pairs, n| {
            let own = matches!(edges, Input::Device(_)).then_some(on);
            if own != home.as_ref() {
                let error = Box::<dyn Error>::from("edges and weights must be both in host memory or both on one device");
                return Err(Failure::value(&*error));
            }
            let (mut labels, mut indices) = (kept::array(on, n)?, on.device.empty());
            let (stream, found) = FORESTS.with(
                on,
                |device| MinimumForests::new(device, false),
                |stream, forests| {
                    weights.with(on, |weights| Ok(forests.find(stream, pairs, weights, &mut labels, &mut indices)?))
                },
            )?;
            let numbers = bytemuck::cast_vec::<u32, i32>(stream.download_vec(&indices)?);
            let MinimumForest { found, total, .. } = found;
            Ok((vec![edges.result(&stream, labels)?, edges.host_result(&stream, numbers)?], (total, found.count)))
        })?;
        let (total, count) = forest;
        Ok((arrays, total.into_bound_py_any(py)?, count))
    }
}

/// Returns the number of vertices that are their own labels.
fn own(labels: &[i32]) -> usize {
    (0..).zip(labels).filter(|&(vertex, &label): &(i32, _)| vertex == label).count()
}

fn connectivity(device: &warpsmith::device::Device) -> Result<Connectivity, warpsmith::device::DeviceError> {
    Connectivity::new(device, false)
}

//! Trees.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
};
use warpsmith::trees::{
    Ancestors, Rooted as Forested, Rooter, Rooting, Roots, TreeSums, Weight, root_parents_sequentially, root_sequentially, small,
};

use crate::{
    array::{Item, dtype_of},
    device::Device,
    error::Failure,
    input::{Input, Output},
    kept::{self, KeptStream, ROOTERS},
    work,
};

/// Largest number of steps from vertex to parent by which one thread answers questions for ancestors.
const STEPS: usize = 1 << 18;

/// A rooted forest on a device.
#[pyclass(module = "warpsmith._warpsmith", frozen)]
pub struct Rooted(Arc<Forest>);

struct Forest {
    device: Device,
    n: usize,
    trees: usize,
    /// The rooting of a small forest whose edges or parents were in host memory.
    host: Option<Forested>,
    /// Its copy on the device, made at the first work there.
    rooting: OnceLock<Rooting>,
    /// Made at the first question for a device.
    ancestors: Mutex<Option<Ancestors>>,
}

impl Forest {
    fn rooting(&self) -> Result<&Rooting, Failure> {
        match (&self.host, self.rooting.get()) {
            (Some(host), None) => {
                let made = Rooting::upload(&self.device.device, host)?;
                Ok(self.rooting.get_or_init(|| made))
            }
            (_, Some(rooting)) => Ok(rooting),
            (None, None) => Err(Failure::runtime("a forest is nowhere")),
        }
    }
}

/// Parents, depths, sizes, preorder and postorder numbers, first and last positions.
type Numbers<'py> = Vec<Bound<'py, PyAny>>;

/// Roots a forest from its edges, or from its parents as one vector.
#[pyfunction]
#[pyo3(signature = (forest, from_parents, n, root, device))]
pub fn root<'py>(
    py: Python<'py>,
    forest: &Bound<'py, PyAny>,
    from_parents: bool,
    n: Option<usize>,
    root: Option<i32>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Rooted, Numbers<'py>, usize)> {
    let input = if from_parents { Input::of(forest, "parents") } else { Input::pairs(forest, "edges") }?;
    let device = input.device(py, device)?;
    let on = device.clone();
    let (forest, outputs) = work::owned_on(py, &device, input.len(), move || {
        let few = match &input {
            Input::Host(parents) if from_parents && parents.len() <= small(&on.device) => {
                Some(root_parents_sequentially(parents, root)?)
            }
            _ if from_parents => None,
            _ => {
                let n = input.count(&on, n)?;
                let roots = root.map_or(Roots::Each, Roots::At);
                input.few_pairs(n, &on).map(|edges| root_sequentially(n, edges, roots)).transpose()?
            }
        };
        if let Some(host) = few {
            let arrays =
                [&host.parent, &host.depth, &host.size, &host.preorder, &host.postorder, &host.first, &host.last].map(Vec::clone);
            let (n, trees) = (host.parent.len(), host.trees);
            let forest = Forest { device: on, n, trees, host: Some(host), rooting: OnceLock::new(), ancestors: Mutex::new(None) };
            return Ok((forest, arrays.into_iter().map(Output::Host).collect()));
        }
        let device = &on.device;
        let mut rooting = Rooting::new(device);
        let (stream, ()) = ROOTERS.with(&on, Rooter::new, |stream, rooter| {
            if from_parents {
                return input.with(&on, |parents| {
                    rooter.parents(stream, parents, root, &mut rooting)?;
                    Ok(())
                });
            }
            let n = input.count(&on, n)?;
            input.with_pairs(&on, |edges| {
                rooter.edges(stream, n, edges, root.map_or(Roots::Each, Roots::At), &mut rooting)?;
                Ok(stream.synchronize()?)
            })
        })?;
        let visits = rooting.visits(&stream)?;
        let mut outputs = Vec::new();
        for buffer in [rooting.parent(), rooting.depth(), rooting.size(), rooting.preorder()] {
            outputs.push(match &input {
                Input::Host(_) => Output::Host(stream.download_vec(buffer)?),
                Input::Device(_) => {
                    let mut copy = device.alloc(buffer.len())?;
                    stream.copy(buffer, &mut copy)?;
                    Output::Device(copy)
                }
            });
        }
        for buffer in [visits.postorder, visits.first, visits.last] {
            outputs.push(input.result(&stream, buffer)?);
        }
        stream.synchronize()?;
        let (n, trees) = (rooting.n(), rooting.trees());
        Ok((Forest { device: on, n, trees, host: None, rooting: rooting.into(), ancestors: Mutex::new(None) }, outputs))
    })?;
    let numbers: PyResult<_> = outputs.into_iter().map(|output| output.into_python(py, &device)).collect();
    let trees = forest.trees;
    Ok((Rooted(Arc::new(forest)), numbers?, trees))
}

#[pymethods]
impl Rooted {
    /// The lowest common ancestor of each pair.
    fn lca<'py>(&self, py: Python<'py>, pairs: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let pairs = Input::pairs(pairs, "pairs")?;
        self.check(&pairs, "pairs")?;
        let forest = self.0.clone();
        let found = work::owned_on(py, &self.0.device, pairs.len() + forest.n, move || {
            let on = &forest.device;
            if let (Some(host), Input::Host(flat)) = (&forest.host, &pairs)
                && flat.len().saturating_mul(forest.n) <= 2 * STEPS
            {
                return Ok(Output::Host(host.ancestors(flat.as_chunks().0)?));
            }
            let rooting = forest.rooting()?;
            pairs.with_pairs(on, |ends| {
                let (stream, mut found) = (KeptStream::take(on)?, kept::array(on, ends.len())?);
                let mut kept = forest.ancestors.lock().unwrap_or_else(PoisonError::into_inner);
                if kept.is_none() {
                    let mut made = Ancestors::new(&on.device)?;
                    made.build(&stream, rooting)?;
                    *kept = Some(made);
                }
                if let Some(ancestors) = kept.as_mut() {
                    ancestors.of(&stream, ends, &mut found)?;
                }
                stream.synchronize()?;
                pairs.result(&stream, found)
            })
        })?;
        found.into_python(py, &self.0.device)
    }

    /// The sums along the paths from the roots, and over subtrees.
    fn sums<'py>(&self, py: Python<'py>, weights: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        match &*dtype_of(weights)? {
            "int32" => self.sums_of::<i32>(py, weights),
            "int64" => self.sums_of::<i64>(py, weights),
            "float32" => self.sums_of::<f32>(py, weights),
            "float64" => self.sums_of::<f64>(py, weights),
            _ => Err(PyTypeError::new_err("weights are int32, int64, float32 or float64")),
        }
    }
}

impl Rooted {
    /// Fails if an array is on another device.
    fn check<T: Item>(&self, input: &Input<T>, what: &str) -> PyResult<()> {
        match input {
            Input::Device(array) if array.home() != &self.0.device => {
                let (found, own) = (array.home().text(), self.0.device.text());
                Err(PyValueError::new_err(format!("{what} lies on {found}, but the tree is on {own}")))
            }
            _ => Ok(()),
        }
    }

    fn sums_of<'py, V: Weight + Item>(
        &self,
        py: Python<'py>,
        weights: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let weights = Input::<V>::of(weights, "weights")?;
        self.check(&weights, "weights")?;
        let forest = self.0.clone();
        let (paths, subtrees) = work::owned_on(py, &self.0.device, forest.n, move || {
            let (on, rooting) = (&forest.device, forest.rooting()?);
            weights.with(on, |values| {
                let (stream, n) = (KeptStream::take(on)?, rooting.n());
                let (mut paths, mut subtrees) = (kept::array(on, n)?, kept::array(on, n)?);
                let mut sums = TreeSums::<V>::new(&on.device)?;
                sums.paths(&stream, rooting, values, &mut paths)?;
                sums.subtrees(&stream, rooting, values, &mut subtrees)?;
                stream.synchronize()?;
                Ok::<_, Failure>((weights.result(&stream, paths)?, weights.result(&stream, subtrees)?))
            })
        })?;
        Ok((paths.into_python(py, &self.0.device)?, subtrees.into_python(py, &self.0.device)?))
    }
}

//! Rules that tell fast schedules from slow ones.

use std::{path::PathBuf, sync::Arc};

use numpy::{IntoPyArray as _, PyArray1, PyReadonlyArray1};
use pyo3::{exceptions::PyValueError, prelude::*};
use warpsmith::{
    design_rules::{
        self, About, Class, LabelOptions, LearnOptions, Run, Traversal, TraversalTable, TreeOptions, report, tree::Criterion,
    },
    files::Destination,
};

use crate::{error::Failure, work};

/// Measured schedules, which never change.
#[pyclass(module = "warpsmith._warpsmith", frozen)]
pub struct Runs(Arc<design_rules::Runs>);

/// Schedules from their texts. It names the first that is none.
fn traversals(schedules: &[String]) -> Result<Vec<Traversal>, Failure> {
    let parse = |(index, text): (usize, &String)| {
        text.parse().map_err(|reason: String| PyValueError::new_err(format!("schedule {index}: {reason}")).into())
    };
    schedules.iter().enumerate().map(parse).collect()
}

#[pymethods]
impl Runs {
    /// As many times as schedules, all finite and not negative.
    #[new]
    fn new(py: Python<'_>, schedules: Vec<String>, seconds: PyReadonlyArray1<'_, f64>) -> PyResult<Self> {
        let seconds = seconds.as_array().to_vec();
        work::owned(py, 16 * schedules.len(), move || {
            let runs = traversals(&schedules)?.into_iter().zip(seconds);
            let runs = runs.map(|(traversal, seconds)| Run { seconds, traversal }).collect();
            Ok(Runs(Arc::new(design_rules::Runs { about: About::default(), runs })))
        })
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        work::owned(py, usize::MAX, move || Ok(Runs(Arc::new(design_rules::Runs::read(&path)?))))
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        work::cancellable(py, None, |_| Ok(self.0.write(&Destination::prepare(&path)?)?))
    }

    fn __len__(&self) -> usize {
        self.0.runs.len()
    }

    #[getter]
    fn program(&self) -> &str {
        &self.0.about.program
    }

    #[getter]
    fn platform(&self) -> &str {
        &self.0.about.platform
    }

    #[getter]
    fn schedules(&self) -> Vec<String> {
        self.0.runs.iter().map(|run| run.traversal.to_string()).collect()
    }

    #[getter]
    fn seconds<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.times().into_pyarray(py)
    }
}

/// What runs teach.
#[pyclass(module = "warpsmith._warpsmith", frozen)]
pub struct Model {
    runs: Arc<design_rules::Runs>,
    model: Arc<design_rules::Model>,
}

fn numbers<'py>(py: Python<'py>, classes: &[Class]) -> Bound<'py, PyArray1<i64>> {
    classes.iter().map(|class| class.number() as i64).collect::<Vec<_>>().into_pyarray(py)
}

#[pymethods]
impl Model {
    #[staticmethod]
    fn learn(py: Python<'_>, runs: &Runs, radius: Option<usize>, percentile: f64, criterion: &str) -> PyResult<Self> {
        let criterion = match criterion {
            "gini" => Criterion::Gini,
            "entropy" => Criterion::Entropy,
            _ => return Err(PyValueError::new_err(format!("criterion is {criterion:?}: \"gini\" or \"entropy\""))),
        };
        let options = LearnOptions {
            labels: LabelOptions { radius, percentile },
            tree: TreeOptions { criterion, ..TreeOptions::default() },
        };
        let runs = runs.0.clone();
        work::owned(py, usize::MAX, move || {
            let table = TraversalTable::new(runs.runs.iter().map(|run| &run.traversal));
            let model = Arc::new(design_rules::Model::learn_all(&table, &runs.times(), &options)?);
            Ok(Model { runs, model })
        })
    }

    #[getter]
    fn classes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        numbers(py, self.model.labels.classes())
    }

    /// The least and the greatest time of each class, in seconds.
    #[getter]
    fn ranges(&self) -> Vec<[f64; 2]> {
        let labels = &self.model.labels;
        labels.all().map(|class| labels.range(class)).collect()
    }

    /// Of each the class, the rules, how many runs heed them, and how many of these are of the class.
    #[getter]
    fn rulesets(&self) -> Vec<(usize, Vec<String>, usize, usize)> {
        let ruleset = |ruleset: &design_rules::Ruleset| {
            let rules = ruleset.rules.iter().map(ToString::to_string).collect();
            (ruleset.class.number(), rules, ruleset.samples, ruleset.counts[ruleset.class.index()])
        };
        self.model.rules.all().iter().map(ruleset).collect()
    }

    fn classify<'py>(&self, py: Python<'py>, schedules: Vec<String>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let model = self.model.clone();
        let classes =
            work::owned(py, 16 * schedules.len(), move || Ok(model.classify(&TraversalTable::new(&traversals(&schedules)?))))?;
        Ok(numbers(py, &classes))
    }

    fn page(&self, py: Python<'_>) -> PyResult<String> {
        let (runs, model) = (self.runs.clone(), self.model.clone());
        work::owned(py, usize::MAX, move || Ok(report::page(&runs, &model)))
    }
}

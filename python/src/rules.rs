//! Programs, searches among their schedules, and rules that tell fast schedules from slow ones.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use numpy::{IntoPyArray as _, PyArray1, PyReadonlyArray1};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyString};
use warpsmith::{
    design_rules::{
        self, About, Class, Kind, LabelOptions, LearnOptions, Measured, RulesError, Run, Schedule, Space, Traversal,
        TraversalTable, emit,
        learn::tree::{Criterion, Size},
        program_of, report,
        schedule::MAX_STREAMS,
        search::{DepthFirst, Mcts, Random, SearchMethod, Strategy, Surrogate},
        study::Study,
    },
    io::files::{Destination, FileError},
};

use crate::{error::Failure, work};

/// Measured schedules, which never change.
#[pyclass(module = "warpsmith._warpsmith", frozen)]
pub struct Runs(Arc<design_rules::Runs>);

/// A schedule, its time unless it failed, the time's noise, and when and what was measured.
type Row = (String, Option<f64>, Option<f64>, Vec<(f64, f64)>);

/// Parses schedules. The error names the first invalid one.
fn traversals(schedules: &[String]) -> Result<Vec<Traversal>, Failure> {
    let parse = |(index, text): (usize, &String)| {
        text.parse().map_err(|reason: String| PyValueError::new_err(format!("schedule {index}: {reason}")).into())
    };
    schedules.iter().enumerate().map(parse).collect()
}

/// Refuses schedules of another program than the runs, or than the first schedule.
fn check_operations(runs: &design_rules::Runs, traversals: &[Traversal]) -> Result<(), Failure> {
    match runs.first_other(traversals) {
        Some(other) => Err(PyValueError::new_err(format!("schedules[{other}] has other operations than the program's")).into()),
        None => Ok(()),
    }
}

#[pymethods]
impl Runs {
    /// Takes one time per schedule, finite and not negative.
    #[new]
    fn new(py: Python<'_>, schedules: Vec<String>, seconds: PyReadonlyArray1<'_, f64>) -> PyResult<Self> {
        let seconds = seconds.as_array().to_vec();
        work::owned(py, 16 * schedules.len(), move || {
            let traversals = traversals(&schedules)?;
            check_operations(&design_rules::Runs::default(), &traversals)?;
            let runs = traversals.into_iter().zip(seconds);
            let runs = runs.map(|(traversal, seconds)| Run::new(seconds, traversal)).collect();
            Ok(Runs(Arc::new(design_rules::Runs { about: About::default(), runs, failed: Vec::new() })))
        })
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        work::owned(py, usize::MAX, move || Ok(Runs(Arc::new(design_rules::Runs::read(&path)?.merged()))))
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        work::cancellable(py, None, |_| Ok(self.0.write(&Destination::prepare(&path)?)?))
    }

    /// Returns what is known of the runs as JSON, and a row for each schedule that was tried.
    fn state(&self) -> PyResult<(String, Vec<Row>)> {
        let about = serde_json::to_string(&self.0.about).map_err(Failure::runtime)?;
        let row = |(run, traversal): (Option<&Run>, &Traversal)| {
            let times = run.into_iter().flat_map(|run| &run.times).map(|time| (time.at, time.seconds)).collect();
            (traversal.to_string(), run.map(|run| run.seconds), run.and_then(|run| run.noise), times)
        };
        Ok((about, self.0.rows().map(row).collect()))
    }

    /// Makes the runs of a state.
    #[staticmethod]
    fn of_state(py: Python<'_>, about: String, rows: Vec<Row>) -> PyResult<Self> {
        work::owned(py, 16 * rows.len(), move || {
            let about = serde_json::from_str(&about).map_err(|error| Failure::value(&error))?;
            let mut runs = design_rules::Runs { about, ..design_rules::Runs::default() };
            let (texts, measured): (Vec<_>, Vec<_>) =
                rows.into_iter().map(|(text, s, noise, times)| (text, (s, noise, times))).unzip();
            for (traversal, (seconds, noise, times)) in traversals(&texts)?.into_iter().zip(measured) {
                if let Some(seconds) = seconds {
                    let times = times.into_iter().map(|(at, seconds)| Measured { at, seconds }).collect();
                    let mut run = Run::new(seconds, traversal);
                    (run.noise, run.times) = (noise, times);
                    runs.runs.push(run);
                } else {
                    runs.push(None, traversal);
                }
            }
            Ok(Runs(Arc::new(runs)))
        })
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

/// Options of learning, by their names in Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Learning<'py> {
    labels: Bound<'py, PyString>,
    resolution: Option<f64>,
    radius: Option<usize>,
    percentile: f64,
    criterion: Bound<'py, PyString>,
}

impl Learning<'_> {
    /// Returns the library's options for these runs.
    fn of(&self, runs: &design_rules::Runs) -> PyResult<LearnOptions> {
        let (labels, criterion) = (self.labels.to_cow()?, self.criterion.to_cow()?);
        let (labels, size) = match &*labels {
            "density" => (LabelOptions::density(runs.about.noise, self.resolution), Size::Validated),
            "paper" => (LabelOptions::Paper { radius: self.radius, percentile: self.percentile }, Size::Paper),
            _ => return Err(PyValueError::new_err(format!("labels is {labels:?}: \"density\" or \"paper\""))),
        };
        let criterion = match &*criterion {
            "gini" => Criterion::Gini,
            "entropy" => Criterion::Entropy,
            _ => return Err(PyValueError::new_err(format!("criterion is {criterion:?}: \"gini\" or \"entropy\""))),
        };
        Ok(LearnOptions { labels, criterion, size })
    }
}

/// Repeats searches on the runs of a whole space, as JSON. `names` are those of the files in errors.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are Python's")]
pub fn study_runs(
    py: Python<'_>,
    runs: &Runs,
    judge: Option<&Runs>,
    names: [PathBuf; 2],
    iterations: Vec<usize>,
    seeds: u64,
    searches: Vec<String>,
    options: Learning<'_>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let methods = [SearchMethod::Surrogate, SearchMethod::Mcts, SearchMethod::Random, SearchMethod::Dfs];
    let method = |name: &String| {
        let found = methods.into_iter().find(|method| method.strategy().name() == name);
        found.ok_or_else(|| PyValueError::new_err(format!("search has {name:?}: \"surrogate\", \"mcts\", \"random\" or \"dfs\"")))
    };
    let searches = searches.iter().map(method).collect::<PyResult<Vec<_>>>()?;
    let (options, runs, judge) = (options.of(&runs.0)?, &*runs.0, judge.map(|judge| &*judge.0));
    let [name, judge_name] = names;
    work::cancellable(py, progress.as_ref(), |control| {
        let in_file = |error: RulesError| match error {
            RulesError::Cancelled => error,
            error => FileError::new(&name, error.to_string()).into(),
        };
        let cancel = control.cancel.cloned().unwrap_or_default();
        let dag = program_of(&runs.about).map_err(in_file)?;
        let mut study = Study::new(&dag, runs).map_err(in_file)?;
        if let Some(judge) = judge {
            judge.check_program(&dag, &judge_name)?;
            study = study.judged_by(judge).map_err(|error| FileError::new(&judge_name, error.to_string()))?;
        }
        let (done, all) = (AtomicUsize::new(0), seeds as usize * searches.len());
        let tell = || {
            let done = 1 + done.fetch_add(1, Ordering::Relaxed);
            if let Some(note) = control.progress {
                note(done, all);
            }
        };
        let repeat = |&search: &SearchMethod| study.repeat(search, &iterations, seeds, &options, &cancel, tell).map_err(in_file);
        let searches = searches.iter().map(repeat).collect::<Result<Vec<_>, _>>()?;
        serde_json::to_string(&searches).map_err(Failure::runtime)
    })
}

/// Number of operations, choices and dependences, the dependences that no data justify, and number of schedules.
type Checked = (String, [usize; 3], Option<Vec<(String, String)>>, usize);

/// Checks a program, or its file, and schedules of it. `path` is the name of the runs in errors.
#[pyfunction]
pub fn check(
    py: Python<'_>,
    program: &Bound<'_, PyAny>,
    schedules: Vec<String>,
    runs: Option<&Runs>,
    path: PathBuf,
    streams: usize,
) -> PyResult<Checked> {
    let (dag, file) = match program.cast::<Dag>() {
        Ok(dag) => (dag.get().0.clone(), None),
        Err(_) => {
            let file: PathBuf = program.extract()?;
            (Arc::new(design_rules::Dag::read(&file).map_err(Failure::from)?), Some(file))
        }
    };
    let runs = runs.map(|runs| runs.0.clone());
    work::owned(py, usize::MAX, move || {
        for text in &schedules {
            Schedule::parse(&dag, streams, text)?;
        }
        if let Some(runs) = &runs {
            runs.check_schedules(&dag, streams, &path)?;
        }
        let file = file.unwrap_or_else(|| dag.name().into());
        let unjustified = dag.unjustified().map_err(|reason| FileError::new(&file, reason))?;
        let pairs = unjustified.map(|pairs| pairs.into_iter().map(|[u, v]| (u, v)).collect());
        let tried = schedules.len() + runs.map_or(0, |runs| runs.tried());
        Ok((dag.name().to_owned(), [dag.len() - 1, dag.choices().len(), dag.edges().count()], pairs, tried))
    })
}

/// A model learned from runs.
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
    fn learn(py: Python<'_>, runs: &Runs, options: Learning<'_>) -> PyResult<Self> {
        let (options, runs) = (options.of(&runs.0)?, runs.0.clone());
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

    /// Returns the least and the greatest time of each class, in seconds.
    #[getter]
    fn ranges(&self) -> Vec<[f64; 2]> {
        let labels = &self.model.labels;
        labels.all().map(|class| labels.range(class)).collect()
    }

    /// Returns for each ruleset: the class, the rules, the number of runs that follow them, and the
    /// number of these that are of the class.
    #[getter]
    fn rulesets(&self) -> Vec<(usize, Vec<String>, usize, usize)> {
        let ruleset = |ruleset: &design_rules::Ruleset| {
            let rules = ruleset.rules.iter().map(ToString::to_string).collect();
            (ruleset.class.number(), rules, ruleset.samples, ruleset.counts[ruleset.class.index()])
        };
        self.model.rules.all().iter().map(ruleset).collect()
    }

    /// Returns why there are no rules, if all runs are of one class.
    #[getter]
    fn without_rules(&self) -> Option<String> {
        self.model.without_advice(self.runs.about.noise).filter(|_| self.model.search.is_none())
    }

    fn classify<'py>(&self, py: Python<'py>, schedules: Vec<String>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let (model, runs) = (self.model.clone(), self.runs.clone());
        let classes = work::owned(py, 16 * schedules.len(), move || {
            let traversals = traversals(&schedules)?;
            check_operations(&runs, &traversals)?;
            Ok(model.classify(&TraversalTable::new(&traversals)))
        })?;
        Ok(numbers(py, &classes))
    }

    fn page(&self, py: Python<'_>) -> PyResult<String> {
        let (runs, model) = (self.runs.clone(), self.model.clone());
        work::owned(py, usize::MAX, move || Ok(report::page(&runs, &model)))
    }
}

/// A program.
#[pyclass(module = "warpsmith._warpsmith", frozen)]
pub struct Dag(Arc<design_rules::Dag>);

fn kind(kind: &str) -> PyResult<Kind> {
    match kind {
        "cpu" => Ok(Kind::Cpu),
        "gpu" => Ok(Kind::Gpu),
        _ => Err(PyValueError::new_err(format!("an operation's kind is {kind:?}: \"cpu\" or \"gpu\""))),
    }
}

fn space(name: &str) -> PyResult<Space> {
    let found = [Space::Warpsmith, Space::Tenzing].into_iter().find(|space| space.name() == name);
    found.ok_or_else(|| PyValueError::new_err(format!("space is {name:?}: \"warpsmith\" or \"tenzing\"")))
}

#[pymethods]
impl Dag {
    /// Takes operations with a name and a kind, `cpu` or `gpu`.
    #[new]
    fn new(name: String, operations: Vec<(String, String)>, edges: Vec<(String, String)>) -> PyResult<Self> {
        let mut builder = design_rules::Dag::builder(name);
        for (operation, kind) in operations {
            builder = builder.operation(operation, self::kind(&kind)?);
        }
        let builder = edges.into_iter().fold(builder, |builder, (before, after)| builder.edge(before, after));
        Ok(Dag(Arc::new(builder.build().map_err(Failure::from)?)))
    }

    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// Returns the operations, without the end.
    #[getter]
    fn operations(&self) -> Vec<(&str, &'static str)> {
        let dag = &self.0;
        let kind = |op| if dag.kind(op) == Kind::Gpu { "gpu" } else { "cpu" };
        dag.operations().filter(|&op| op != dag.end()).map(|op| (dag.name_of(op), kind(op))).collect()
    }

    #[getter]
    fn edges(&self) -> Vec<(&str, &str)> {
        self.0.edges().map(|(before, after)| (self.0.name_of(before), self.0.name_of(after))).collect()
    }

    fn count(&self, py: Python<'_>, streams: usize, space: &str) -> PyResult<u128> {
        let (dag, space) = (self.0.clone(), self::space(space)?);
        work::owned(py, usize::MAX, move || Ok(space.count(&dag, streams)?))
    }

    /// `format` is `svg` or `dot`.
    fn draw(&self, format: &str) -> PyResult<String> {
        match format {
            "svg" => Ok(emit::picture(&self.0)),
            "dot" => Ok(emit::program(&self.0)),
            _ => Err(PyValueError::new_err(format!("format is {format:?}: \"svg\" or \"dot\""))),
        }
    }

    /// `language` is `cuda` or `dot`.
    fn emit(&self, schedule: &str, language: &str) -> PyResult<String> {
        let language = match language {
            "cuda" => emit::Language::Cuda,
            "dot" => emit::Language::Dot,
            _ => return Err(PyValueError::new_err(format!("language is {language:?}: \"cuda\" or \"dot\""))),
        };
        Ok(emit::emit(&self.0, &self.schedule(schedule)?, language))
    }

    fn differences(&self, schedule: &str, other: &str) -> PyResult<Vec<String>> {
        Ok(emit::differences(&self.0, &self.schedule(schedule)?, &self.schedule(other)?))
    }
}

impl Dag {
    fn schedule(&self, text: &str) -> PyResult<Schedule> {
        Ok(Schedule::parse(&self.0, MAX_STREAMS, text).map_err(Failure::from)?)
    }
}

/// A search and the runs that it was told.
#[pyclass(module = "warpsmith._warpsmith", frozen)]
pub struct Explorer(Mutex<Search>);

struct Search {
    explorer: design_rules::search::Explorer,
    runs: design_rules::Runs,
}

impl Explorer {
    fn search(&self) -> MutexGuard<'_, Search> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Explorer {
    /// `strategy` is `surrogate`, `mcts`, `random` or `dfs`.
    #[new]
    fn new(
        dag: &Dag,
        streams: usize,
        strategy: &str,
        exploration: f64,
        seed: u64,
        platform: String,
        space: &str,
    ) -> PyResult<Self> {
        let named_space = self::space(space)?;
        let strategy: Box<dyn Strategy + Send> = match strategy {
            "surrogate" => Box::new(Surrogate::default()),
            "mcts" => Box::new(Mcts { exploration }),
            "random" => Box::new(Random),
            "dfs" => Box::new(DepthFirst),
            _ => {
                return Err(PyValueError::new_err(format!(
                    "strategy is {strategy:?}: \"surrogate\", \"mcts\", \"random\" or \"dfs\""
                )));
            }
        };
        let search = strategy.name().to_owned();
        let about = About { platform, streams, search, seed, named_space, ..About::program(&dag.0) };
        let explorer = design_rules::search::Explorer::new(&dag.0, streams, strategy, seed).map_err(Failure::from)?;
        let explorer = explorer.in_space(named_space);
        Ok(Explorer(Mutex::new(Search { explorer, runs: design_rules::Runs { about, runs: Vec::new(), failed: Vec::new() } })))
    }

    fn ask(&self, py: Python<'_>) -> PyResult<Option<String>> {
        work::brief(py, || {
            let mut search = self.search();
            Ok(search.explorer.propose().map(|schedule| schedule.text(search.explorer.dag())))
        })
    }

    /// Records a time; `None` means that the schedule failed.
    fn tell(&self, py: Python<'_>, schedule: &str, seconds: Option<f64>) -> PyResult<()> {
        work::brief(py, || {
            let Search { explorer, runs } = &mut *self.search();
            let schedule = Schedule::parse(explorer.dag(), explorer.streams(), schedule)?;
            let Some(seconds) = seconds else { return Ok(explorer.record_failure(&schedule)?) };
            explorer.record(&schedule, seconds)?;
            // Schedules of a program are texts that can be read.
            let traversal = schedule.text(explorer.dag()).parse::<Traversal>().map_err(Failure::runtime)?;
            runs.runs.push(Run::new(seconds, traversal));
            Ok(())
        })
    }

    #[getter]
    fn runs(&self) -> Runs {
        Runs(Arc::new(self.search().runs.clone()))
    }

    /// Number of schedules told, including those that failed.
    #[getter]
    fn rollouts(&self) -> u64 {
        self.search().explorer.statistics().rollouts
    }

    #[getter]
    fn is_exhausted(&self) -> bool {
        self.search().explorer.is_exhausted()
    }
}

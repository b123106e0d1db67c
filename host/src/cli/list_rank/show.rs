//! The result as a table, or as JSON.

use serde::Serialize;
use warpsmith::device::Backend;

use super::{
    Outputs,
    ranking::{Job, Made},
};
use crate::cli::{failure::Failure, format, npy::Kind, repeat, terminal};

/// What is shown.
pub struct Shown<'a> {
    /// The list's kind or file.
    pub source: &'a str,
    /// The weights' type.
    pub kind: Option<Kind>,
    pub outputs: &'a Outputs,
    pub made: Made,
}

#[derive(Serialize)]
struct Object<'a> {
    system: &'static str,
    backend: String,
    device: &'a str,
    /// The list's kind or file.
    list: &'a str,
    n: usize,
    sublists: usize,
    strategy: &'static str,
    /// `ranks`, `sums` or `forest`.
    result: &'static str,
    /// The weights' type.
    #[serde(skip_serializing_if = "Option::is_none")]
    weights: Option<&'static str>,
    /// How many lists a forest has.
    #[serde(skip_serializing_if = "Option::is_none")]
    lists: Option<usize>,
    /// How many runs the times are the median of.
    runs: usize,
    steps: Vec<ShownStep>,
    total_ms: f64,
    verified: Option<bool>,
}

#[derive(Serialize)]
struct ShownStep {
    name: &'static str,
    ms: f64,
    bytes: u64,
}

impl Shown<'_> {
    /// Prints one JSON object.
    pub fn json(&self, job: &Job<'_>) -> Result<(), Failure> {
        let Made { report, lists, verified, wrong } = &self.made;
        terminal::print_json(&Object {
            system: "list-rank",
            backend: job.device.backend().to_string(),
            device: job.device.name(),
            list: self.source,
            n: report.n,
            sublists: report.sublists,
            strategy: report.strategy.name(),
            result: match (lists, self.kind) {
                (Some(_), _) => "forest",
                (None, Some(_)) => "sums",
                (None, None) => "ranks",
            },
            weights: self.kind.map(Kind::name),
            lists: *lists,
            runs: job.runs,
            steps: report.steps.iter().map(|step| ShownStep { name: step.name, ms: step.ms, bytes: step.bytes }).collect(),
            total_ms: report.total_ms(),
            verified: verified.map(|_| wrong.is_none()),
        })
    }

    /// Prints a header line, one row per step, and what came of the rest.
    pub fn table(&self, job: &Job<'_>) -> Result<(), Failure> {
        let Made { report, lists, verified, wrong } = &self.made;
        let device = match job.device.backend() {
            Backend::Cuda => job.device.to_string(),
            Backend::Cpu => {
                format!("the CPU ({})", format::counted(job.device.info().multiprocessors as usize, "worker", "workers"))
            }
        };
        let what = match (lists, self.kind) {
            (Some(lists), _) => format!("list-rank, a forest of {}", format::counted(*lists, "list", "lists")),
            (None, Some(kind)) => format!("list-rank, sums of {} weights", kind.name()),
            (None, None) => "list-rank".to_owned(),
        };
        terminal::print(format_args!(
            "{what}: {} ({}) on {device}, {}, strategy {}",
            format::counted(report.n, "element", "elements"),
            self.source,
            format::counted(report.sublists, "sublist", "sublists"),
            report.strategy.name()
        ))?;

        let total = report.total_ms();
        terminal::print(terminal::steps(report.steps.iter().map(|step| (step.name, step.ms, step.bytes))))?;
        let runs = repeat::in_words(job.runs);
        let rate = match format::rate(report.n, total, "elements") {
            rate if rate.is_empty() => rate,
            rate => format!(": {rate}"),
        };
        terminal::print(format_args!("{runs} after a warm-up{rate}."))?;
        match verified {
            _ if wrong.is_some() => return Ok(()),
            None => terminal::print("Not verified (--verify compares with a sequential walk).")?,
            Some(ms) => {
                terminal::print(format_args!("Verified: equal to a sequential walk on the host ({}).", format::time(*ms)))?
            }
        }
        for output in self.outputs.all() {
            terminal::print(format_args!("Written: {}", output.name().display()))?;
        }
        Ok(())
    }
}

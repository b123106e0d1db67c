//! What was computed, as a table or as JSON.

use std::time::Duration;

use serde::Serialize;
use warpsmith::{
    device::{Backend, Device},
    engine::Report,
    pcf::{Layout, Measure},
};

use super::{Job, Kept, Outcome, Tools};
use crate::cli::{failure::Failure, format, terminal, timeline::Part};

/// What is shown.
pub struct Shown<'a, 's> {
    pub job: &'a Job<'a>,
    pub tools: &'a Tools<'s>,
    pub devices: &'a [Device],
    /// The numbers of functions, of each set.
    pub functions: Vec<usize>,
    /// The numbers of their breakpoints.
    pub breakpoints: Vec<usize>,
    /// Merge steps of all pairs.
    pub steps: u128,
    pub outcome: &'a Outcome,
}

#[derive(Serialize)]
struct Object<'a> {
    system: &'static str,
    command: &'static str,
    backend: String,
    /// The exponent of a distance; null where entries are inner products.
    p: Option<f64>,
    inputs: Vec<String>,
    functions: &'a [usize],
    breakpoints: &'a [usize],
    entries: usize,
    infinite: usize,
    shape: &'a [usize],
    dtype: &'static str,
    /// `condensed`, `packed` or `dense`; of what is kept alone, `nearest`, `below` or `row sums`.
    layout: &'static str,
    output: String,
    output_bytes: u64,
    trace: Option<String>,
    /// From the program's start on, and what they went to.
    elapsed_ms: f64,
    elapsed: Vec<Part>,
    /// Of the engine alone.
    total_ms: f64,
    compile_ms: f64,
    write_ms: f64,
    merge_steps: u128,
    merge_steps_per_second: Option<f64>,
    blocks: usize,
    /// Those of an earlier run.
    blocks_found: usize,
    side: usize,
    gpus: Vec<Gpu<'a>>,
    downloaded_bytes: usize,
}

/// One GPU, or the CPU in its place.
#[derive(Serialize)]
struct Gpu<'a> {
    device: &'a str,
    blocks: usize,
}

impl Shown<'_, '_> {
    /// Prints one JSON object.
    pub fn json(&self) -> Result<(), Failure> {
        let seconds = self.outcome.report.time.as_secs_f64();
        terminal::print_json(&Object {
            system: "pcf",
            command: self.job.command,
            backend: self.devices[0].backend().to_string(),
            p: self.exponent(),
            inputs: self.inputs(),
            functions: &self.functions,
            breakpoints: &self.breakpoints,
            entries: self.outcome.entries,
            infinite: self.outcome.infinite,
            shape: &self.outcome.shape,
            dtype: self.outcome.kind.name(),
            layout: self.layout(),
            output: self.output(),
            output_bytes: self.bytes(),
            trace: self.trace(),
            elapsed_ms: self.tools.timeline.total_ms(),
            elapsed: self.tools.timeline.parts(),
            total_ms: 1e3 * seconds,
            compile_ms: 1e3 * self.compile_time().as_secs_f64(),
            write_ms: 1e3 * self.outcome.written.as_secs_f64(),
            merge_steps: self.steps,
            merge_steps_per_second: (seconds > 0.0).then(|| self.steps as f64 / seconds),
            blocks: self.outcome.report.blocks,
            blocks_found: self.outcome.found,
            side: self.outcome.report.side,
            gpus: self.gpus(),
            downloaded_bytes: self.outcome.report.downloaded,
        })
    }

    /// Prints a row for each number, and what was written.
    pub fn table(&self) -> Result<(), Failure> {
        let Report { side, blocks, downloaded, time, .. } = &self.outcome.report;
        let compile_time = self.compile_time();
        let title = match self.exponent() {
            Some(p) => format!("{}, p = {p}: {}", self.job.command, self.inputs().join(" x ")),
            None => format!("{}, inner products: {}", self.job.command, self.inputs().join(" x ")),
        };
        let joined = |numbers: &[usize]| numbers.iter().map(|&n| format::grouped(n)).collect::<Vec<_>>().join(" x ");
        let pair = |numbers: &[usize]| numbers.iter().map(|&n| format::grouped(n)).collect::<Vec<_>>().join(" and ");
        let ms = 1e3 * time.as_secs_f64();
        let mut rows = vec![
            ("functions", pair(&self.functions)),
            ("breakpoints", pair(&self.breakpoints)),
            ("entries", format::grouped(self.outcome.entries)),
            ("  infinite", format::grouped(self.outcome.infinite)),
            ("dtype", self.outcome.kind.name().to_owned()),
            ("layout", format!("{} ({})", self.layout(), joined(&self.outcome.shape))),
            ("device", self.device()),
            ("merge steps", format::rate(usize::try_from(self.steps).unwrap_or(usize::MAX), ms, "")),
            ("blocks", format!("{} of side {}", format::grouped(*blocks), format::grouped(*side))),
        ];
        if self.job.common.resume {
            rows.push(("  of an earlier run", format::grouped(self.outcome.found)));
        }
        if !compile_time.is_zero() {
            rows.push(("kernels compiled in", format::time(1e3 * compile_time.as_secs_f64())));
        }
        let gpus = self.gpus();
        if gpus.len() > 1 {
            rows.push(("  of each GPU", gpus.iter().map(|gpu| format::grouped(gpu.blocks)).collect::<Vec<_>>().join(", ")));
        }
        rows.push(("downloaded", format::bytes(*downloaded as u64)));
        rows.push(("time since the start", format::time(self.tools.timeline.total_ms())));
        let parts = self.tools.timeline.parts();
        let parts: Vec<_> = parts.iter().map(|part| (format!("  {}", part.name), format::time(part.ms))).collect();
        rows.extend(parts.iter().map(|(name, time)| (name.as_str(), time.clone())));
        let mut table = terminal::table([title.as_str(), ""], []);
        for (name, value) in rows {
            table.add_row([name.to_owned(), value]);
        }
        terminal::print(table)?;
        terminal::print(format_args!("Written: {} ({})", self.output(), format::bytes(self.bytes())))?;
        self.trace().map_or(Ok(()), |trace| terminal::print(format_args!("Written: {trace}")))
    }

    /// Also what the engine had loaded before it computed. Several GPUs wait for the driver together.
    fn compile_time(&self) -> Duration {
        self.devices.iter().map(Device::compile_time).max().unwrap_or_default()
    }

    fn exponent(&self) -> Option<f64> {
        match self.job.measure {
            Measure::Lp(p) => Some(p),
            Measure::Inner => None,
        }
    }

    fn inputs(&self) -> Vec<String> {
        self.job.inputs.iter().map(|input| input.display().to_string()).collect()
    }

    /// By the names that `pcf plot` has, too.
    fn layout(&self) -> &'static str {
        match self.job.kept {
            Kept::All(Layout::Condensed) => "condensed",
            Kept::All(Layout::Packed) => "packed",
            Kept::All(Layout::Dense) => "dense",
            Kept::Nearest(_) => "nearest",
            Kept::Below(_) => "below",
            Kept::RowSums => "row sums",
        }
    }

    fn output(&self) -> String {
        self.tools.output.name().display().to_string()
    }

    /// Of the output's elements.
    fn bytes(&self) -> u64 {
        (self.outcome.entries * self.outcome.kind.size()) as u64
    }

    fn trace(&self) -> Option<String> {
        self.tools.trace.as_ref().map(|(_, destination)| destination.name().display().to_string())
    }

    fn device(&self) -> String {
        if self.tools.ranks.is_some() {
            return self.outcome.devices.join(", ");
        }
        let devices = self.devices;
        match (devices[0].backend(), devices.len()) {
            (Backend::Cuda, _) => devices.iter().map(Device::to_string).collect::<Vec<_>>().join(", "),
            (Backend::Cpu, n) => {
                let workers = devices[0].info().multiprocessors;
                let times = if n == 1 { String::new() } else { format!(", in place of {n} GPUs") };
                format!("the CPU ({}{times})", format::counted(workers as usize, "worker", "workers"))
            }
        }
    }

    /// A GPU that had no block is there, too.
    fn gpus(&self) -> Vec<Gpu<'_>> {
        let blocks = self.outcome.report.blocks_by_gpu.iter().copied().chain(std::iter::repeat(0));
        self.outcome.devices.iter().zip(blocks).map(|(device, blocks)| Gpu { device, blocks }).collect()
    }
}

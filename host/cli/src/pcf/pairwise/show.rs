//! A computed matrix, as a table or as JSON.

use std::{fs, iter};

use serde::Serialize;
use warpsmith::{
    device::{Backend, Device},
    engine::Report,
    io::files::is_standard,
    pcf::{Measure, PcfReal, PcfSet},
};

use super::task::{Job, Outcome, Tools};
use crate::{failure::Failure, format, terminal, timeline::Part};

/// The printed report: one JSON object, or a row for each number.
#[derive(Serialize)]
pub struct Shown<'a> {
    system: &'static str,
    command: &'static str,
    backend: String,
    /// The exponent of a distance, a number or "inf"; null if entries are inner products.
    p: Option<serde_json::Value>,
    inputs: Vec<String>,
    /// Numbers of functions and of their breakpoints, of each set.
    functions: Vec<usize>,
    breakpoints: Vec<usize>,
    entries: usize,
    infinite: usize,
    shape: &'a [usize],
    dtype: &'static str,
    layout: &'static str,
    output: String,
    /// Size of the output.
    /// None of standard output.
    output_bytes: Option<u64>,
    trace: Option<String>,
    /// Time since the program's start, and its parts.
    elapsed_ms: f64,
    elapsed: Vec<Part>,
    #[serde(flatten)]
    report: Report,
    write_ms: f64,
    merge_steps: u128,
    merge_steps_per_second: Option<f64>,
    /// Blocks of an earlier run.
    blocks_found: usize,
    /// Each device, also one that had no block.
    gpus: Vec<Gpu<'a>>,
    /// The devices in words.
    #[serde(skip)]
    device: String,
    #[serde(skip)]
    resumed: bool,
    #[serde(skip)]
    title: String,
}

/// One GPU, or the CPU in its place.
#[derive(Serialize)]
struct Gpu<'a> {
    device: &'a str,
    blocks: usize,
}

impl<'a> Shown<'a> {
    pub fn new<T: PcfReal>(
        job: &Job<'_>,
        tools: &Tools<'_>,
        sets: &[&PcfSet<T>],
        merge_steps: u128,
        outcome: &'a Outcome,
    ) -> Result<Self, Failure> {
        let devices = tools.devices.devices()?;
        let mut report = outcome.report.clone();
        // With what the engine had loaded before it computed. Several GPUs load at the same time.
        report.compile_time = devices.iter().map(Device::compile_time).max().unwrap_or_default();
        let seconds = report.time.as_secs_f64();
        let blocks = report.blocks_by_gpu.iter().copied().chain(iter::repeat(0));
        let gpus = outcome.devices.iter().zip(blocks).map(|(device, blocks)| Gpu { device, blocks }).collect();
        Ok(Shown {
            system: "pcf",
            command: job.command,
            backend: devices[0].backend().to_string(),
            p: match job.measure {
                Measure::Lp(p) if p.is_finite() => Some(p.into()),
                Measure::Lp(p) => Some(p.to_string().into()),
                Measure::Inner => None,
            },
            inputs: job.inputs.iter().flat_map(|inputs| inputs.0).map(|input| input.display().to_string()).collect(),
            functions: sets.iter().map(|set| set.len()).collect(),
            breakpoints: sets.iter().map(|set| set.points().len()).collect(),
            entries: outcome.entries,
            infinite: outcome.infinite,
            shape: &outcome.shape,
            dtype: outcome.kind.name(),
            layout: if job.as_text { "table" } else { job.kept.name() },
            output: tools.output.name().display().to_string(),
            output_bytes: Some(tools.output.name())
                .filter(|name| !is_standard(name))
                .and_then(|name| Some(fs::metadata(name).ok()?.len())),
            title: job.title(),
            trace: tools.trace.as_ref().map(|(_, destination)| destination.name().display().to_string()),
            elapsed_ms: tools.timeline.total_ms(),
            elapsed: tools.timeline.parts(),
            report,
            write_ms: 1e3 * outcome.written.as_secs_f64(),
            merge_steps,
            // An earlier run did some of them, if blocks were found.
            merge_steps_per_second: (seconds > 0.0 && outcome.found == 0).then(|| merge_steps as f64 / seconds),
            blocks_found: outcome.found,
            gpus,
            device: if tools.parts.ranks.is_some() { outcome.devices.join(", ") } else { in_words(devices) },
            resumed: tools.parts.resume,
        })
    }

    /// Prints the result, and if `verbose` how it was computed. JSON has both.
    pub fn print(&self, json: bool, verbose: bool) -> Result<(), Failure> {
        if json {
            return terminal::print_json(self);
        }
        let joined = |numbers: &[usize], by: &str| numbers.iter().map(|&n| format::grouped(n)).collect::<Vec<_>>().join(by);
        let Report { side, blocks, downloaded, time, compile_time, .. } = &self.report;
        let ms = 1e3 * time.as_secs_f64();
        let mut rows = vec![
            ("functions", joined(&self.functions, " and ")),
            ("breakpoints", joined(&self.breakpoints, " and ")),
            ("entries", format::grouped(self.entries)),
            ("  infinite", format::grouped(self.infinite)),
            ("dtype", self.dtype.to_owned()),
            ("layout", format!("{} ({})", self.layout, joined(self.shape, " x "))),
            ("device", self.device.clone()),
        ];
        if self.resumed {
            rows.push(("blocks of an earlier run", format::grouped(self.blocks_found)));
        }
        if verbose {
            let steps = usize::try_from(self.merge_steps).unwrap_or(usize::MAX);
            let rate = self.merge_steps_per_second.map(|_| format::rate(steps, ms, ""));
            rows.push(("merge steps", rate.unwrap_or_else(|| format::grouped(steps))));
            rows.push(("blocks", format!("{} of side {}", format::grouped(*blocks), format::grouped(*side))));
            if self.gpus.len() > 1 {
                let of_each: Vec<_> = self.gpus.iter().map(|gpu| format::grouped(gpu.blocks)).collect();
                rows.push(("  of each GPU", of_each.join(", ")));
            }
            if !compile_time.is_zero() {
                rows.push(("kernels compiled in", format::time(1e3 * compile_time.as_secs_f64())));
            }
            rows.push(("downloaded", format::bytes(*downloaded as u64)));
        }
        rows.push(("time since the start", format::time(self.elapsed_ms)));
        let measure = self.p.as_ref().map_or("inner products".to_owned(), |p| format!("p = {}", p.to_string().trim_matches('"')));
        let title = format!("{}, {measure}: {}", self.command, self.title);
        let mut table = terminal::table([title.as_str(), ""], []);
        for (name, value) in rows {
            table.add_row([name.to_owned(), value]);
        }
        for part in self.elapsed.iter().filter(|_| verbose) {
            table.add_row([format!("  {}", part.name), format::time(part.ms)]);
        }
        terminal::print(table)?;
        let bytes = self.output_bytes.map_or_else(String::new, |bytes| format!(" ({})", format::bytes(bytes)));
        terminal::print(format_args!("Written: {}{bytes}", self.output))?;
        self.trace.as_ref().map_or(Ok(()), |trace| terminal::print(format_args!("Written: {trace}")))
    }
}

/// The devices, or the CPU with its workers.
fn in_words(devices: &[Device]) -> String {
    match (devices[0].backend(), devices.len()) {
        (Backend::Cuda, _) => devices.iter().map(Device::to_string).collect::<Vec<_>>().join(", "),
        (Backend::Cpu, n) => {
            let workers = devices[0].info().multiprocessors;
            let times = if n == 1 { String::new() } else { format!(", in place of {n} GPUs") };
            format!("the CPU ({}{times})", format::counted(workers as usize, "worker", "workers"))
        }
    }
}

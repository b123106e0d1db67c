//! `warpsmith demo`, and `warpsmith` alone.

mod list_rank;
mod overlap;
mod pcf;
mod rules;
mod tree;

use std::time::Instant;

use warpsmith::device::{self, Backend, Device, Stream};

use super::{Global, failure::Failure, format, progress::Progress, terminal};

/// Runs one system and returns its rows of the table.
type Section = fn(&Setting) -> Result<Vec<Row>, Failure>;

/// The systems, in the table's order.
const SECTIONS: &[(&str, Section)] = &[
    ("list-rank", list_rank::section),
    ("tree", tree::section),
    ("pcf", pcf::section),
    ("overlap", overlap::section),
    ("rules", rules::section),
];

/// The device, stream and progress display of all sections.
struct Setting {
    device: Device,
    stream: Stream,
    progress: Progress,
}

/// Number of runs on a GPU after a warm-up.
const RUNS: u32 = 5;

impl Setting {
    /// The shortest of the times in ms that the runs return: on a GPU of [`RUNS`] after a warm-up,
    /// on the CPU of two.
    fn best(&self, mut run: impl FnMut() -> Result<f64, Failure>) -> Result<f64, Failure> {
        let runs = if self.device.backend() == Backend::Cuda { RUNS } else { 1 };
        let mut best = run()?;
        for _ in 0..runs {
            best = best.min(run()?);
        }
        Ok(best)
    }
}

/// A row of the table: one computation of a system.
struct Row {
    /// Name of the computation.
    what: String,
    /// Size of the input.
    size: String,
    /// Number of units of work, and their name.
    work: (usize, &'static str),
    /// Time in ms.
    ms: f64,
    /// Result of the comparison with the host.
    checked: Checked,
}

/// Runs a computation and returns its time in ms with the result.
fn timed<T, E>(run: impl FnOnce() -> Result<T, E>) -> Result<(T, f64), E> {
    let start = Instant::now();
    run().map(|result| (result, 1e3 * start.elapsed().as_secs_f64()))
}

enum Checked {
    /// The result that others are compared with.
    Reference,
    /// Equal to the reference.
    Right,
    /// Equal to the reference up to rounding.
    Near,
    /// As close to the reference as the text says.
    Within(&'static str),
    /// Different from the reference, as the sentence says.
    Wrong(String),
}

/// Compares the results for `thing`s one by one with those of a sequential walk.
fn compare<T: PartialEq + std::fmt::Display>(thing: &str, found: &[T], expected: &[T]) -> Checked {
    match found.iter().zip(expected).position(|(found, expected)| found != expected) {
        None => Checked::Right,
        Some(index) => {
            let (found, expected) = (&found[index], &expected[index]);
            Checked::Wrong(format!("{thing} {index} came to {found}, and by a sequential walk to {expected}"))
        }
    }
}

/// Runs the command.
pub fn run(global: &Global) -> Result<(), Failure> {
    let device = global.open()?;
    terminal::print(format_args!("warpsmith {}: {}", env!("CARGO_PKG_VERSION"), place(global, &device)))?;
    let stream = device.stream()?;
    let setting = Setting { device, stream, progress: Progress::new(global.verbose > 0) };

    let mut table = terminal::table(["system", "what", "size", "time", "rate", "checked"], [3]).keys(2);
    let mut wrong = None;
    for (system, section) in SECTIONS {
        for Row { what, size, work: (count, unit), ms, checked } in section(&setting)? {
            let checked = match checked {
                Checked::Reference => "the reference",
                Checked::Right => "equal",
                Checked::Near => "equal to rounding",
                Checked::Within(text) => text,
                Checked::Wrong(text) => {
                    wrong.get_or_insert_with(|| format!("{system}, {what}: {text}"));
                    "WRONG"
                }
            };
            table.add_row([*system, &what, &size, &*format::time(ms), &format::rate(count, ms, unit), checked]);
        }
    }
    terminal::print(table)?;
    terminal::print(
        "Try next:\n  \
         warpsmith list-rank --n 1e7 --verify         each step's time, bytes and rate\n  \
         warpsmith graph random --output edges.npy\n  \
         warpsmith graph bridges edges.npy            what a network falls apart without\n  \
         warpsmith pcf random --count 5000 --points 100 --output set.npz\n  \
         warpsmith pcf pdist set.npz --output d.npy\n  \
         warpsmith pcf plot d.npy heat.png            a heat map of the distances\n  \
         warpsmith overlap total submission.csv       a packing's score, and what overlaps\n  \
         warpsmith rules explore spmv --platform sim --output runs.csv\n  \
         warpsmith rules report runs.csv --html report.html\n  \
         warpsmith --help                             all commands and options",
    )?;
    wrong.map_or(Ok(()), |text| Err(Failure::Verification(text)))
}

/// Says which device runs the demonstration, and why it isn't a GPU.
fn place(global: &Global, device: &Device) -> String {
    let info = device.info();
    if device.backend() == Backend::Cuda {
        return format!("running on {device}.");
    }
    let reason = match (global.backend, device::no_cuda_reason()) {
        (super::Backend::Cpu, _) => "--backend cpu was given".to_owned(),
        (_, _) if std::env::var_os("WARPSMITH_BACKEND").is_some_and(|wish| wish == "cpu") => {
            "WARPSMITH_BACKEND is cpu".to_owned()
        }
        (_, Some(reason)) => reason,
        (_, None) => "the program's kernels don't run on the GPU that is there".to_owned(),
    };
    let workers = format::counted(info.multiprocessors as usize, "worker", "workers");
    format!("running on the CPU ({}, {workers}), not on a GPU: {reason}.", info.name)
}

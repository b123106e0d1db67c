//! `warpsmith demo`, and `warpsmith` alone.

mod list_rank;
mod overlap;
mod pcf;
mod rules;
mod tree;

use std::{
    panic::resume_unwind,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::Instant,
};

use rayon::prelude::*;
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

/// The device of all sections.
struct Setting {
    device: Device,
    stream: Stream,
    /// Held by the section that computes on the device. Kernels are loaded without it.
    turn: Mutex<()>,
}

/// Number of runs on a GPU after a warm-up.
const RUNS: u32 = 5;

impl Setting {
    /// Waits until no other section computes on the device, which none does until the guard is dropped.
    fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the shortest of the times in ms that the runs return: [`RUNS`] on a GPU after a
    /// warm-up, and `on_cpu` runs on the CPU.
    fn best(&self, on_cpu: u32, mut run: impl FnMut() -> Result<f64, Failure>) -> Result<f64, Failure> {
        let runs = if self.device.backend() == Backend::Cuda { RUNS } else { on_cpu - 1 };
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

/// Compares the results for `thing`s one by one with the reference.
fn compare<T: PartialEq + std::fmt::Display + Sync>(thing: &str, found: &[T], expected: &[T]) -> Checked {
    // Slices of integers are compared as memory.
    if found.par_chunks(1 << 16).eq(expected.par_chunks(1 << 16)) {
        return Checked::Right;
    }
    match found.iter().zip(expected).position(|(found, expected)| found != expected) {
        None => Checked::Wrong(format!("{} and {} of {thing}", found.len(), expected.len())),
        Some(index) => {
            let (found, expected) = (&found[index], &expected[index]);
            Checked::Wrong(format!("{thing} {index} came to {found}, and in the reference to {expected}"))
        }
    }
}

pub fn run(global: &Global) -> Result<(), Failure> {
    let device = global.open()?;
    terminal::print(format_args!("warpsmith {}: {}", env!("CARGO_PKG_VERSION"), place(global, &device)))?;
    let stream = device.stream()?;
    let setting = Setting { device, stream, turn: Mutex::new(()) };
    let line = Progress::new(global.verbose > 0).spinner(usize::MAX, "computing");
    let sections = if setting.device.backend() == Backend::Cuda {
        // While one uses the GPU, the others compute their references on the host.
        thread::scope(|scope| {
            let run = |(_, section): &(_, Section)| {
                let setting = &setting;
                let section = *section;
                scope.spawn(move || section(setting))
            };
            let threads: Vec<_> = SECTIONS.iter().map(run).collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
        })
    } else {
        let run = |(system, section): &(&str, Section)| {
            line.say(format!("computing: {system}"));
            section(&setting)
        };
        SECTIONS.iter().map(run).collect::<Vec<_>>()
    };
    drop(line);

    let mut table = terminal::table(["system", "what", "size", "time", "rate", "checked"], [3]).keys(2);
    let mut wrong = None;
    for ((system, _), rows) in SECTIONS.iter().zip(sections) {
        for Row { what, size, work: (count, unit), ms, checked } in rows? {
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
         warpsmith pcf plot d.npy --output heat.png   a heat map of the distances\n  \
         warpsmith overlap total submission.csv       a packing's score, and what overlaps\n  \
         warpsmith rules explore spmv --platform sim --output runs.csv\n  \
         warpsmith rules report runs.csv --output report.html\n  \
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

//! `warpsmith demo`, and `warpsmith` alone.

use std::{panic::resume_unwind, thread};

use warpsmith::{
    demo::{Checked, Row, SYSTEMS, Setting, System},
    device::{self, Backend, Device},
};

use super::{Global, failure::Failure, format, progress::Progress, terminal};

pub fn run(global: &Global) -> Result<(), Failure> {
    let device = global.open()?;
    terminal::print(format_args!("warpsmith {}: {}", env!("CARGO_PKG_VERSION"), place(global, &device)))?;
    let setting = Setting::new(device)?;
    let line = Progress::new(global.verbose > 0).spinner(usize::MAX, "computing");
    let sections = if setting.device().backend() == Backend::Cuda {
        // While one uses the GPU, the others compute their references on the host.
        thread::scope(|scope| {
            let run = |(_, section): &(_, System)| {
                let setting = &setting;
                let section = *section;
                scope.spawn(move || section(setting))
            };
            let threads: Vec<_> = SYSTEMS.iter().map(run).collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
        })
    } else {
        let run = |(system, section): &(&str, System)| {
            line.say(format!("computing: {system}"));
            section(&setting)
        };
        SYSTEMS.iter().map(run).collect::<Vec<_>>()
    };
    drop(line);

    let mut table = terminal::table(["system", "what", "size", "time", "rate", "checked"], [3]).keys(2);
    let mut wrong = None;
    for ((system, _), rows) in SYSTEMS.iter().zip(sections) {
        for Row { what, size: (n, things), work: (count, unit), ms, checked } in rows.map_err(|error| Failure::of(&*error))? {
            let size = format!("{} {things}", format::grouped(n));
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

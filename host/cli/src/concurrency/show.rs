//! The study's tables.

use std::fmt::Display;

use warpsmith::{
    concurrency::{BatchRow, Placement, Reduction, Spread, Study, notebook},
    device::{Backend, Device},
};

use crate::{failure::Failure, format, terminal};

/// Prints all tables.
pub fn tables(device: &Device, study: &Study) -> Result<(), Failure> {
    let place = match device.backend() {
        Backend::Cuda => device.to_string(),
        Backend::Cpu => {
            format!("the CPU ({})", format::counted(study.device.multiprocessors as usize, "worker", "workers"))
        }
    };
    say(format_args!(
        "concurrency: trees of {} in double precision on {place}; {}.",
        format::counted(study.pieces, "piece", "pieces"),
        match study.options.runs {
            1 => "times of 1 run, so that their spread is unknown".to_owned(),
            runs => format!("medians of {} runs (spread: half of largest less least)", format::grouped(runs)),
        }
    ))?;
    let queues = study.device.queues.map_or_else(String::new, |queues| {
        format!("; {}", format::counted(queues as usize, "hardware queue", "hardware queues"))
    });
    let clock =
        study.device.clock_mhz.map_or_else(String::new, |mhz| format!(" at up to {} MHz", format::grouped(mhz.round() as usize)));
    if device.backend() == Backend::Cuda {
        say(format_args!(
            "{}{clock}, {} of {} on each ({} per thread){queues}.",
            format::counted(study.device.multiprocessors as usize, "multiprocessor", "multiprocessors"),
            format::counted(study.device.blocks_per_multiprocessor as usize, "block", "blocks"),
            format::counted(study.stream_threads, "thread", "threads"),
            format::counted(study.device.registers as usize, "register", "registers")
        ))?;
    }
    say(format_args!(
        "All {} kernels and the library's evaluator find the same totals, to {:.0e}.",
        study.agreement.variants, study.agreement.largest_difference
    ))?;
    streams(study)?;
    threads(study)?;
    fixed(study)?;
    reductions(study)?;
    placements(study)?;
    phases(study)
}

fn heading(text: impl Display) -> Result<(), Failure> {
    terminal::print("")?;
    say(text)
}

fn say(text: impl Display) -> Result<(), Failure> {
    terminal::print(terminal::paragraph(&text.to_string()))
}

/// Formats half the range of the runs, in percent of the median. One run has none.
fn spread(runs: usize, spread: Spread) -> String {
    if runs == 1 {
        return String::new();
    }
    let share = 50.0 * (spread.max - spread.min) / spread.median;
    if share < 9.95 { format!("± {share:.1} %") } else { format!("± {share:.0} %") }
}

/// Formats the largest of several spreads.
fn worst(runs: usize, spreads: &[Spread]) -> String {
    let share = |spread: &&Spread| (spread.max - spread.min) / spread.median;
    spreads.iter().max_by(|a, b| share(a).total_cmp(&share(b))).map_or_else(String::new, |worst| self::spread(runs, *worst))
}

/// Formats a rate with all digits before the point.
fn rate(value: f64) -> String {
    if value < 100.0 { format::digits(value) } else { format::grouped(value.round() as usize) }
}

fn beside<T>(value: Option<T>, text: impl Fn(T) -> String) -> String {
    value.map_or_else(String::new, text)
}

fn streams(study: &Study) -> Result<(), Failure> {
    heading(format_args!(
        "By streams: kernels per second, of {} with {}, {} on each stream, by the host's clock",
        format::counted(study.stream_threads, "pose", "poses"),
        format::grouped(study.options.poses),
        format::counted(study.options.iterations, "launch", "launches")
    ))?;
    let header = ["streams", "ms in all", "spread", "kernels/s", "graphs", "branches", "blocks", "empty", "notebook"];
    let mut table = terminal::table(header, 0..header.len());
    for row in &study.streams {
        let per_second = |ms: Spread| rate(row.rate(ms, study.options.iterations).median);
        let theirs = notebook::STREAMS.iter().find(|theirs| theirs.streams == row.streams);
        table.add_row([
            row.streams.to_string(),
            format::digits(row.plain_ms.median),
            spread(study.options.runs, row.plain_ms),
            per_second(row.plain_ms),
            per_second(row.graphs_ms),
            per_second(row.branches_ms),
            per_second(row.blocks_ms),
            per_second(row.empty_ms),
            beside(theirs, |theirs| rate(theirs.kernels_per_s)),
        ]);
    }
    terminal::print(table)?;
    say("graphs: a graph for each stream; branches: one graph of so many branches; blocks: one launch of so many blocks; empty: \
         kernels that do nothing.")
}

fn threads(study: &Study) -> Result<(), Failure> {
    heading(format_args!("By threads, one launch at a time, each thread's pose with {}", study.options.poses))?;
    let header = [
        "threads",
        "blocks",
        "ms",
        "spread",
        "kernels/s",
        "comparisons/s",
        "ns each",
        "candidates",
        "busiest warp",
        "notebook, ms",
    ];
    let mut table = terminal::table(header, 0..header.len());
    for row in &study.batch {
        let ms = row.one_phase().median;
        let theirs = notebook::BATCH.iter().find(|(threads, _)| *threads == row.threads);
        table.add_row([
            row.threads.to_string(),
            row.blocks.to_string(),
            format::digits(ms),
            spread(study.options.runs, row.one_phase()),
            rate(row.kernels_per_s.median),
            format::rate(row.work.comparisons as usize, ms, ""),
            format::digits(1e6 * ms / row.work.comparisons as f64),
            format::grouped(row.work.candidates as usize),
            row.work.longest_warp.to_string(),
            beside(theirs, |(_, ms)| format::digits(*ms)),
        ]);
    }
    terminal::print(table)?;
    say(
        "candidates: comparisons of poses that are near enough to overlap; busiest warp: those that are one for any of its threads.",
    )
}

fn fixed(study: &Study) -> Result<(), Failure> {
    for fixed in &study.fixed {
        let Some(first) = fixed.rows.first() else { continue };
        heading(format_args!("{} comparisons by threads", format::grouped(fixed.total)))?;
        let header =
            ["threads", "poses", "ms", "spread", "speed", "candidates", "busiest warp", "notebook, ms", "notebook, speed"];
        let mut table = terminal::table(header, 0..header.len());
        for row in &fixed.rows {
            let theirs = notebook::FIXED
                .iter()
                .find(|(threads, _)| *threads == row.threads && fixed.total == notebook::FIXED_TOTAL)
                .map(|(_, ms)| *ms);
            table.add_row([
                row.threads.to_string(),
                format::grouped(row.poses),
                format::digits(row.ms.median),
                spread(study.options.runs, row.ms),
                format!("{:.2} x", first.ms.median / row.ms.median),
                format::grouped(row.work.candidates as usize),
                format::grouped(row.work.longest_warp as usize),
                beside(theirs, format::digits),
                beside(theirs, |ms| format!("{:.2} x", notebook::FIXED[0].1 / ms)),
            ]);
        }
        terminal::print(table)?;
    }
    Ok(())
}

fn reductions(study: &Study) -> Result<(), Failure> {
    heading("Reductions, ms (one phase, global memory)")?;
    let [a, b, c, d, _] = Reduction::ALL.map(Reduction::name);
    let mut table = terminal::table(["threads", &a, &b, &c, &d, "none", "worst spread"], 0..7);
    for row in &study.batch {
        let times = row.reductions.iter().map(|spread| format::digits(spread.median));
        table.add_row([row.threads.to_string()].into_iter().chain(times).chain([worst(study.options.runs, &row.reductions)]));
    }
    terminal::print(table)
}

fn placements(study: &Study) -> Result<(), Failure> {
    heading("The shape's pieces in memory, ms (one phase, interleaved tree)")?;
    let [a, b, c] = Placement::ALL.map(Placement::name);
    let header = ["threads", &a, &b, &c, "worst spread", "constant / global", "in the notebook"];
    let mut table = terminal::table(header, 0..header.len());
    for row in &study.batch {
        let times = row.placements.iter().map(|spread| format::digits(spread.median));
        let ratio = row.placements.first().zip(row.placements.get(1)).map(|(global, constant)| constant.median / global.median);
        let theirs = notebook::PLACEMENTS.iter().find(|(threads, ..)| *threads == row.threads);
        table.add_row([row.threads.to_string()].into_iter().chain(times).chain([
            worst(study.options.runs, &row.placements),
            beside(ratio, |ratio| format!("{ratio:.2}")),
            beside(theirs, |(_, global, constant)| format!("{:.2}", global / constant)),
        ]));
    }
    terminal::print(table)
}

fn phases(study: &Study) -> Result<(), Failure> {
    heading("One phase against two, ms")?;
    let header = [
        "threads",
        "one phase",
        "turning",
        "intersecting",
        "two phases",
        "spread",
        "one / two",
        "pieces turned by one",
        "by two",
        "evaluator",
    ];
    let mut table = terminal::table(header, 0..header.len());
    for row in &study.batch {
        let BatchRow { transform, turned, two_phase, engine, work, .. } = row;
        table.add_row([
            row.threads.to_string(),
            format::digits(row.one_phase().median),
            format::digits(transform.median),
            format::digits(turned.median),
            format::digits(two_phase.median),
            spread(study.options.runs, *two_phase),
            format!("{:.2}", row.one_phase().median / two_phase.median),
            format::grouped(work.one_phase_transforms as usize),
            format::grouped(work.two_phase_transforms as usize),
            format::digits(engine.median),
        ]);
    }
    terminal::print(table)?;
    say("evaluator: the library's own kernels (`warpsmith overlap`), from the poses to the total.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads() {
        assert_eq!([1, 2].map(|runs| spread(runs, Spread { median: 10.0, min: 9.5, max: 10.5 })), ["", "± 5.0 %"]);
        assert_eq!(worst(2, &[Spread::of(vec![1.0]), Spread { median: 1.0, min: 0.5, max: 1.5 }]), "± 50 %");
        assert_eq!([12.34, 1234.5].map(rate), ["12.3", "1,235"]);
    }
}

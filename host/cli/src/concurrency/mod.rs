//! `warpsmith concurrency`.

mod plots;
mod show;

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use warpsmith::{
    common::Cancel,
    concurrency::{MOST_ITERATIONS, MOST_POSES, MOST_RUNS, Options, Study},
    device::{Backend, Device},
    io::files::{Destination, Folder},
};

use super::{Global, count, draw::Target, failure::Failure, format, output::Files, progress::Progress, size, terminal};

/// Approximate memory per pose in a pair of lists, in bytes.
const LIST_BYTES: f64 = 400.0;
/// The library refuses more streams.
const MOST_STREAMS: usize = 1024;
/// Weight of a step of the study in the progress bar. It is large enough for the bar to show.
const STEP: usize = 10_000_000;

#[derive(Args, Debug)]
#[command(
    long_about = "What limits a kernel that adds up the overlaps of polygons? Experiments with streams, graphs, threads, reductions, \
        placements in memory and two phases instead of one, on this machine.\n\n\
        They repeat those of a notebook that tried to make such a kernel faster. A thread compares one pose of a tree (4 pieces) with \
        all others. Tables and plots have the notebook's own figures beside these; docs/concurrency.md interprets them.",
    after_help = "Examples:\n  \
        warpsmith concurrency                                 all experiments, as tables\n  \
        warpsmith concurrency --output study                  and plots, in the directory study\n  \
        warpsmith concurrency --streams 1..64 --batch 4..256  from 1 to 64 streams, doubling each time\n  \
        warpsmith concurrency --json                          all figures as one JSON object; times in ms\n  \
        CUDA_DEVICE_MAX_CONNECTIONS=32 warpsmith concurrency  with more hardware queues for the streams than 8"
)]
pub struct Arguments {
    /// Numbers of streams: 1,2,4 or 1..32, which doubles [default: 1..32]
    #[arg(long, value_name = "LIST", value_parser = parse_list, allow_hyphen_values = true)]
    streams: Option<List>,
    /// Numbers of threads, each with a pose to compare with all: 4,8,16 or 4..256, which doubles
    /// [default: 4..256]
    #[arg(long, value_name = "LIST", value_parser = parse_list, allow_hyphen_values = true)]
    batch: Option<List>,
    /// Number of poses that each is compared with
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = count::up_to(MOST_POSES))]
    poses: usize,
    /// Number of launches on each stream [default: 20 on CUDA, 1 on the CPU]
    #[arg(long, value_name = "N", value_parser = count::up_to(MOST_ITERATIONS))]
    iterations: Option<usize>,
    /// Number of measurements of each time; the median is shown [default: 7 on CUDA, 3 on the CPU]
    #[arg(long, alias = "runs", value_name = "R", value_parser = count::up_to(MOST_RUNS))]
    repeat: Option<usize>,
    /// Seed of the poses; the notebook's is 123
    #[arg(long, value_name = "S", default_value_t = 123)]
    seed: u32,
    /// Write plots, each as .svg and .png, to this directory, which is made if it doesn't exist
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print one JSON object instead of tables; times in ms
    #[arg(long)]
    json: bool,
}

/// Numbers from the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct List(Vec<usize>);

/// Reads `1,2,5` or `4..256`, or both in one list.
fn parse_list(text: &str) -> Result<List, String> {
    let bad = || "not a list of numbers; write 1,2,4 or 1..32".to_owned();
    let number = |text: &str| text.trim().parse::<usize>().map_err(|_| bad());
    let mut list = Vec::new();
    for part in text.split(',') {
        match part.split_once("..") {
            None => list.push(number(part)?),
            Some((first, last)) => {
                let (first, last) = (number(first)?, number(last)?);
                if first == 0 || first > last {
                    return Err(format!("{part} has no numbers: it doubles from the first to the last"));
                }
                list.extend(
                    std::iter::successors(Some(first), |number| number.checked_mul(2)).take_while(|&number| number <= last),
                );
            }
        }
    }
    Ok(List(list))
}

#[derive(Serialize)]
struct StudyReport<'a> {
    system: &'static str,
    #[serde(flatten)]
    study: &'a Study,
    files: Vec<String>,
}

pub fn run(global: &Global, arguments: &Arguments) -> Result<(), Failure> {
    let device = global.open()?;
    let options = arguments.options(&device);
    // The lists of all streams and of the largest batch. On the CPU they are in the host's memory.
    let streams = options.streams.iter().copied().max().unwrap_or(0).min(MOST_STREAMS) + 3;
    if device.backend() == Backend::Cpu {
        size::check_memory(format::counted(streams, "list", "lists"), LIST_BYTES * (streams * options.poses) as f64)?;
    }
    let (_folder, files) = arguments.output.as_deref().map(prepare).transpose()?.unzip();
    let files = files.unwrap_or_default();
    let progress = Progress::new(arguments.json || global.verbose > 0);
    let work = progress.costly_bar(1, STEP, "measuring");
    let study = Study::run(&device, &options, &Cancel::new(), |step| {
        tracing::info!(done = step.done, of = step.steps, "{}", step.what);
        work.reach(step.done, step.steps);
    })?;
    drop(work);

    // All or none is replaced.
    let drawn = files.iter().map(|(plot, target)| target.written(&plot.chart(&study)));
    Destination::persist_all(&drawn.collect::<Result<Vec<_>, _>>()?)?;
    let names = files.iter().map(|(_, target)| target.name().display().to_string()).collect();
    if arguments.json {
        return terminal::print_json(&StudyReport { system: "concurrency", study: &study, files: names });
    }
    show::tables(&device, &study)?;
    match &arguments.output {
        Some(directory) => {
            terminal::print(format_args!("Written: {} to {}", format::counted(names.len(), "plot", "plots"), directory.display()))
        }
        None => Ok(()),
    }
}

/// Makes the directory, and checks that all plots can be written.
fn prepare(directory: &Path) -> Result<(Folder, Vec<(plots::Plot, Target)>), Failure> {
    let folder = Folder::prepare(directory)?;
    let (mut written, mut files) = (Files::reading([""; 0]), Vec::new());
    for plot in plots::Plot::ALL {
        for extension in ["svg", "png"] {
            files.push((plot, Target::prepare(&mut written, &directory.join(plot.name()).with_extension(extension))?));
        }
    }
    Ok((folder, files))
}

impl Arguments {
    fn options(&self, device: &Device) -> Options {
        let defaults = Options::of(device);
        let list = |given: &Option<List>, default: Vec<usize>| given.as_ref().map_or(default, |list| list.0.clone());
        Options {
            streams: list(&self.streams, defaults.streams),
            batch: list(&self.batch, defaults.batch),
            poses: self.poses,
            iterations: self.iterations.unwrap_or(defaults.iterations),
            runs: self.repeat.unwrap_or(defaults.runs),
            seed: self.seed,
            fixed: defaults.fixed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        let list = |text: &str| parse_list(text).map(|list| list.0);
        assert_eq!(list("1,2, 5"), Ok(vec![1, 2, 5]));
        assert_eq!(list("4..256"), Ok(vec![4, 8, 16, 32, 64, 128, 256]));
        assert_eq!(list("3..20,100"), Ok(vec![3, 6, 12, 100]));
        assert_eq!(list("7..7"), Ok(vec![7]));
        for bad in ["", "1,", "a", "1..", "..4", "-1", "1.5"] {
            assert!(list(bad).unwrap_err().starts_with("not a list"), "{bad}");
        }
        for empty in ["0..4", "8..4"] {
            assert!(list(empty).unwrap_err().contains("has no numbers"), "{empty}");
        }
    }
}

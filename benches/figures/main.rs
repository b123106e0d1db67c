//! The programs behind docs/performance.md: `cargo bench --bench figures -- overlap --quick`. Each module says what its
//! system takes.

use std::error::Error;

use warpsmith::{concurrency::Spread, list_rank::StepTime};

mod graph;
mod homology;
mod list_rank;
mod overlap;
mod pcf;
mod plot;
mod spanning;
mod spmv;
mod trees;

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo adds `--bench`.
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let system = arguments.next().unwrap_or_default();
    let arguments = arguments.collect();
    match &*system {
        "graph" => graph::main(arguments),
        "homology" => homology::main(arguments),
        "list_rank" => list_rank::main(arguments),
        "overlap" => overlap::main(arguments),
        "pcf" => pcf::main(arguments),
        "spanning" => spanning::main(arguments),
        "spmv" => spmv::main(arguments),
        "trees" => trees::main(arguments),
        _ => Err("which figures? There are graph, homology, list_rank, overlap, pcf, spanning, spmv and trees".into()),
    }
}

/// Median, and the range over the median.
fn median(times: Vec<f64>) -> (f64, f64) {
    let Spread { median, min, max } = Spread::of(times);
    (median, (max - min) / median)
}

/// Runs of [`measure`], and those before them.
const RUNS: usize = 7;
const WARM_UP: usize = 2;

/// Runs `work`, which returns its time in ms and its steps. Prints the median time, also for each of `n` elements, and
/// the steps of that run.
fn measure(
    name: &str,
    n: usize,
    mut work: impl FnMut() -> Result<(f64, Vec<StepTime>), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let mut runs = (0..WARM_UP + RUNS).map(|_| work()).collect::<Result<Vec<_>, _>>()?.split_off(WARM_UP);
    runs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (ms, steps) = &runs[RUNS / 2];
    let spread = 100.0 * (runs[RUNS - 1].0 - runs[0].0) / ms;
    let steps: Vec<_> = steps.iter().map(|step| format!("{} {:.3}", step.name, step.ms)).collect();
    println!("  {name:<40} {ms:9.3} ms {:7.3} ns each (spread {spread:.1} %) {}", 1e6 * ms / n as f64, steps.join(", "));
    Ok(())
}

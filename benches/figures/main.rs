//! The programs behind docs/performance.md: `cargo bench --bench figures -- overlap --quick`. Each module says what its
//! system takes.

use std::error::Error;

use warpsmith::concurrency::Spread;

mod graph;
mod list_rank;
mod overlap;
mod pcf;
mod spmv;
mod trees;

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo adds `--bench`.
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let system = arguments.next().unwrap_or_default();
    let arguments = arguments.collect();
    match &*system {
        "graph" => graph::main(arguments),
        "list_rank" => list_rank::main(arguments),
        "overlap" => overlap::main(arguments),
        "pcf" => pcf::main(arguments),
        "spmv" => spmv::main(arguments),
        "trees" => trees::main(arguments),
        _ => Err("which figures? There are graph, list_rank, overlap, pcf, spmv and trees".into()),
    }
}

/// Median, and the range over the median.
fn median(times: Vec<f64>) -> (f64, f64) {
    let Spread { median, min, max } = Spread::of(times);
    (median, (max - min) / median)
}

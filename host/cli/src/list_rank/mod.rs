//! `warpsmith list-rank`.

mod arguments;
mod one;
mod ranks;

use std::path::PathBuf;

pub use arguments::ListRankArgs;
use warpsmith::list_rank::Strategy;

use super::{
    Global,
    failure::Failure,
    output::{Files, Format},
    processes,
};

/// Runs the command: on one device, or over the ranks that were started or asked for.
pub fn run(global: &Global, arguments: &ListRankArgs) -> Result<(), Failure> {
    if (arguments.forest || arguments.weights.is_some())
        && let Some(strategy @ (Strategy::Grid | Strategy::Runs | Strategy::Packed)) = arguments.strategy
    {
        let with = if arguments.forest { "--forest" } else { "--weights" };
        return Err(Failure::error(format_args!("--strategy {} can't be used with {with}", strategy.name())));
    }
    let mut files = Files::reading([&arguments.input, &arguments.weights].into_iter().flatten());
    let mut prepare = |path: &Option<PathBuf>| {
        let prepare = |path: &PathBuf| {
            let file = files.write(path)?;
            Format::of(path, &[Format::Npy]).map(|_| file)
        };
        path.as_ref().map(prepare).transpose()
    };
    let outputs = [prepare(&arguments.output)?, prepare(&arguments.order)?, prepare(&arguments.lists)?];
    let started = processes::several(None)?;
    if started.is_some() || arguments.gpus.is_some() {
        let [output, ..] = outputs;
        return ranks::run(global, arguments, output, started);
    }
    one::run(global, arguments, &outputs)
}

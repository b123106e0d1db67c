//! The notebook's statements, and why they hold or don't.

use warpsmith::concurrency::{
    Placement,
    findings::{Findings, Source, Statement},
    notebook,
};

use super::numbers::{digits, measure, number, percent};
use crate::cli::format;

/// The statement, and why; none where nothing was found that has to do with it.
pub fn told(statement: Statement, found: &Findings) -> Option<(&'static str, String)> {
    Some(match statement {
        Statement::Full => {
            let streams = found.streams?;
            let [blocks, gain] = [streams.most.n as f64 / streams.fewest.n as f64, streams.blocks_gain].map(number);
            (
                "The problem isn't that the GPU is empty: more threads only make it slower",
                format!("{blocks} times the blocks in one launch do {gain} times as much in a second"),
            )
        }
        Statement::Barriers => (
            "The barriers of the reduction cost most of the time (given up later)",
            match found.reductions?.share {
                0.0 => "no reduction takes longer than none at all by more than runs differ".to_owned(),
                share => format!("a reduction is at most {} of a launch", percent(share)),
            },
        ),
        Statement::Bandwidth => {
            let reads = found.reads?;
            let all = format::bytes(reads.bytes as u64);
            let held = match reads.source {
                Source::Caches => "which the caches hold",
                _ => "more than the caches are known to hold",
            };
            let shared = match found.place(Placement::Shared)?.last {
                None => "as long, as far as runs can tell".to_owned(),
                Some(ratio) => format!("{} times as long", digits(ratio)),
            };
            (
                "Memory bandwidth is saturated (given up later)",
                format!("all data are {all}, {held}; with the pieces in shared memory a launch takes {shared}"),
            )
        }
        Statement::Constant => {
            let constant = found.place(Placement::Constant)?;
            let (slower, rows, most) = (constant.slower, constant.rows, digits(constant.slowest));
            let most = if slower > 0 { format!(", {most} times as long at most") } else { String::new() };
            (
                "Constant memory makes it slower (by 9 to 17 %), as threads have different poses",
                format!("it takes longer by more than runs differ for {slower} of {rows} numbers of threads{most}"),
            )
        }
        Statement::Turning => {
            let phases = found.phases?;
            let [fewer, waste] = [phases.one_turns as f64 / phases.two_turn as f64, notebook::CLAIMED_WASTE].map(number);
            let gain = if phases.gain > 1.0 {
                format!("are {} times as fast at best", digits(phases.gain))
            } else {
                "aren't faster by more than runs differ".to_owned()
            };
            (
                "Turning the pieces again for each comparison is what costs",
                format!("two phases turn {fewer} times fewer pieces (the notebook expects about {waste}), and {gain}"),
            )
        }
        Statement::Redundant => {
            let follows = found.threads?.follows;
            (
                "A launch takes longer with more threads, as each does work that is redundant",
                format!("the time goes with {}, to a factor of {}", measure(follows.measure), number(follows.varies)),
            )
        }
    })
}

//! What `warpsmith rules explore` says at its end.

use serde::Serialize;
use warpsmith::design_rules::{Answer, Run};

use super::learning::Origin;
use crate::cli::{failure::Failure, format, terminal};

/// What `--json` prints.
#[derive(Serialize)]
pub struct Object<'a> {
    pub system: &'static str,
    pub command: &'static str,
    #[serde(flatten)]
    pub origin: Origin<'a>,
    pub runs: usize,
    /// Schedules on which the program failed.
    pub failed: usize,
    /// How often schedules were measured in all.
    pub measurements: usize,
    /// The median over runs of the relative standard error of their times.
    pub noise: Option<f64>,
    /// When a schedule of the fastest class was known.
    pub answer: Option<Answer>,
    pub fastest: Best,
    pub slowest: Best,
    pub ratio: f64,
    /// What the search takes besides measuring.
    pub search_seconds_per_run: Option<f64>,
    pub seconds: f64,
    pub passes: Option<u64>,
    /// Of the passes: the median over schedules of (greatest - least) / median.
    pub spread: Option<f64>,
    pub checked: bool,
    pub cancelled: bool,
    pub output: String,
}

/// A schedule and its time in seconds.
#[derive(Serialize)]
pub struct Best {
    pub seconds: f64,
    pub schedule: String,
}

impl Best {
    /// Of a run, of which there is one.
    pub fn of(run: Option<&Run>) -> Result<Self, Failure> {
        let run = run.ok_or_else(|| Failure::error("there are no runs"))?;
        Ok(Best { seconds: run.seconds, schedule: run.traversal.to_string() })
    }
}

/// When a schedule of the fastest class was known.
pub fn answer_text(answer: &Answer) -> String {
    let schedules = format::counted(answer.iterations, "schedule", "schedules");
    let after = answer.seconds.map_or(String::new(), |seconds| format!(", {}", format::seconds(seconds)));
    format!("Time to answer: {schedules}{after}. Then one was known to be of the fastest class, with 95 % confidence.")
}

impl Object<'_> {
    /// As a table.
    pub fn print(&self) -> Result<(), Failure> {
        let header = ["runs", "of all", "fastest", "slowest", "ratio", "search, each", "in all"];
        let mut table = terminal::table(header, 0..header.len());
        let share = self.origin.space.and_then(|space| space.parse::<f64>().ok()).map(|space| self.runs as f64 / space);
        table.add_row([
            format::grouped(self.runs),
            share.map_or(String::new(), format::percent),
            format::seconds(self.fastest.seconds),
            format::seconds(self.slowest.seconds),
            format!("{:.3}", self.ratio),
            self.search_seconds_per_run.map_or(String::new(), format::seconds),
            format::seconds(self.seconds),
        ]);
        let comma = if self.origin.input.is_empty() { "" } else { ", " };
        terminal::print(format_args!("{}{comma}{}: {}", self.origin.program, self.origin.input, self.origin.platform))?;
        terminal::print(table)?;
        if self.failed > 0 {
            terminal::print(format_args!("Failed: {}.", format::counted(self.failed, "schedule", "schedules")))?;
        }
        if let Some(spread) = self.spread {
            terminal::print(format_args!("Passes lie {:.2} % apart (median over schedules).", 100.0 * spread))?;
        }
        if let Some(noise) = self.noise.filter(|&noise| noise > 0.0) {
            let measurements = format::counted(self.measurements, "measurement", "measurements");
            terminal::print(format_args!("Times have a standard error of {:.2} % (median), by {measurements}.", 100.0 * noise))?;
        }
        if let Some(answer) = &self.answer {
            terminal::print(answer_text(answer))?;
        }
        let checked = if self.checked { "; every result was right" } else { "" };
        terminal::print(format_args!("Fastest: {}{checked}", self.fastest.schedule.replace(';', " ")))?;
        terminal::print(format_args!("Written: {}", self.output))
    }
}

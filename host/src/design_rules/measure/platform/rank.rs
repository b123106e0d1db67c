//! One rank: runs schedules of its part of a program, in step with the others.

use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::Span;
use super::lanes::Lanes;
use crate::design_rules::program::{Program, guarded};
use crate::design_rules::{Dag, RulesError, Schedule, Step};
use crate::device::{Device, Event};
use crate::ranks::Communicator;

/// The least duration of a measurement, in seconds (the paper's section III-C3).
pub const MEASUREMENT: f64 = 0.01;

/// The statistic of a rank's invocations by which schedules are judged. The slowest rank counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Statistic {
    /// The mean, as in the paper
    Mean,
    /// The median
    // A few invocations that the operating system disturbs don't count.
    #[default]
    Median,
    /// The 10th percentile: what a schedule takes when little else goes on
    Low,
}

/// A rank with its device and its part of a program.
pub(super) struct Rank {
    device: Device,
    pub program: Arc<dyn Program>,
    lanes: Lanes,
    pub streams: usize,
    pub ranks: Arc<dyn Communicator>,
    /// Number of invocations that the next measurement starts with; the same on all ranks.
    samples: usize,
}

impl Rank {
    pub fn new(
        device: &Device,
        ranks: &Arc<dyn Communicator>,
        program: Box<dyn Program>,
        streams: usize,
    ) -> Result<Self, RulesError> {
        let program: Arc<dyn Program> = program.into();
        let lanes = Lanes::new(device, program.clone(), streams)?;
        Ok(Rank { device: device.clone(), program, lanes, streams, ranks: ranks.clone(), samples: 1 })
    }

    pub fn dag(&self) -> &Dag {
        self.program.dag()
    }

    /// The schedule's steps with the streams of their records.
    fn plan(&self, schedule: &Schedule) -> Vec<(Step, u8)> {
        let stream = |step: Step| match step {
            Step::EventRecord { after } => schedule.stream_of(after),
            step => step.stream(),
        };
        let steps = schedule.steps().iter().filter(|step| !matches!(step, Step::Choose { .. }));
        steps.map(|&step| (step, stream(step).unwrap_or(0))).collect()
    }

    /// One invocation.
    fn run(&self, plan: &[(Step, u8)]) -> Result<(), RulesError> {
        self.lanes.begin();
        for &(step, stream) in plan {
            self.step(step, stream)?;
        }
        self.lanes.check()
    }

    fn step(&self, step: Step, stream: u8) -> Result<(), RulesError> {
        match step {
            Step::Cpu(op) if op == self.dag().end() => Ok(()),
            Step::Cpu(op) => {
                // Otherwise the other ranks would wait for ever.
                self.lanes.check()?;
                guarded::cpu(&*self.program, op)
            }
            Step::Gpu { op, .. } => self.lanes.enqueue(op, stream),
            Step::EventRecord { after } => self.lanes.record(after, stream),
            Step::EventSync { after, .. } => self.lanes.synchronize(after),
            Step::StreamWait { after, .. } => self.lanes.wait(after, stream),
            Step::Choose { .. } => Ok(()),
        }
    }

    /// Measures the time of an invocation in seconds, over enough of them to take [`MEASUREMENT`].
    pub fn measure(&mut self, schedule: &Schedule, statistic: Statistic) -> Result<f64, RulesError> {
        let plan = self.plan(schedule);
        // The first run does work that is done only once, and should not count.
        self.run(&plan)?;
        let mut times = Vec::new();
        loop {
            times.clear();
            for _ in 0..self.samples {
                self.ranks.barrier()?;
                let start = Instant::now();
                self.run(&plan)?;
                times.push(start.elapsed().as_secs_f64());
            }
            let slowest = self.ranks.max(times.iter().sum())?;
            let mean = slowest / times.len() as f64;
            let enough = (1.02 * MEASUREMENT / mean.max(1e-9)).ceil() as usize;
            if slowest >= MEASUREMENT {
                // Schedules differ little, so that the next one starts with what is enough for this.
                self.samples = enough.max(1);
                times.sort_unstable_by(f64::total_cmp);
                return match statistic {
                    Statistic::Mean => Ok(mean),
                    Statistic::Median => Ok(self.ranks.max(times[times.len() / 2])?),
                    Statistic::Low => Ok(self.ranks.max(times[times.len() / 10])?),
                };
            }
            self.samples = enough.max(self.samples + 1);
        }
    }

    /// Runs it once on overwritten results, and compares them with the reference.
    pub fn check(&self, schedule: &Schedule) -> Result<Option<String>, RulesError> {
        self.program.reset()?;
        self.device.synchronize()?;
        self.ranks.barrier()?;
        self.run(&self.plan(schedule))?;
        self.lanes.finish()?;
        self.program.difference()
    }

    /// Runs it once, and says when its steps were under way.
    pub fn timeline(&self, schedule: &Schedule) -> Result<Vec<Span>, RulesError> {
        let plan = self.plan(schedule);
        self.run(&plan)?;
        self.lanes.finish()?;
        let spans = match &self.lanes {
            Lanes::Gpu { streams, .. } => {
                let pairs = |_| Ok::<_, RulesError>((self.device.event()?, self.device.event()?));
                let events = plan.iter().map(pairs).collect::<Result<Vec<_>, _>>()?;
                self.ranks.barrier()?;
                // The device's clock and the host's meet here, to some microseconds.
                let base = streams[0].record()?;
                base.synchronize()?;
                let start = Instant::now();
                let around = |index: usize, end: bool| -> Result<(), RulesError> {
                    let (step, stream) = plan[index];
                    let Step::Gpu { .. } = step else { return Ok(()) };
                    let event = if end { &events[index].1 } else { &events[index].0 };
                    Ok(streams[usize::from(stream)].record_into(event)?)
                };
                let mut spans = self.log_host(&plan, start, around)?;
                let since = |event: &Event| Ok::<_, RulesError>(1e-3 * event.elapsed_ms(&base)?);
                for (&(step, _), (from, to)) in plan.iter().zip(&events) {
                    if let Step::Gpu { stream, .. } = step {
                        spans.push(self.span(step, Some(stream), since(from)?, since(to)?));
                    }
                }
                spans
            }
            Lanes::Threads { shared, .. } => {
                self.ranks.barrier()?;
                shared.state().log = Some(Vec::new());
                let start = Instant::now();
                let mut spans = self.log_host(&plan, start, |_, _| Ok(()))?;
                let since = |at: Instant| at.duration_since(start).as_secs_f64();
                let log = shared.state().log.take().unwrap_or_default();
                for (op, from, to) in log {
                    let placed = plan.iter().find(|(step, _)| matches!(step, Step::Gpu { op: placed, .. } if *placed == op));
                    if let Some(&(step, stream)) = placed {
                        spans.push(self.span(step, Some(stream), since(from), since(to)));
                    }
                }
                spans
            }
        };
        Ok(spans)
    }

    /// An invocation, with the times of the host's steps. `around` is called before and after each.
    fn log_host(
        &self,
        plan: &[(Step, u8)],
        start: Instant,
        around: impl Fn(usize, bool) -> Result<(), RulesError>,
    ) -> Result<Vec<Span>, RulesError> {
        self.lanes.begin();
        let mut spans = Vec::new();
        for (index, &(step, stream)) in plan.iter().enumerate() {
            around(index, false)?;
            let from = start.elapsed().as_secs_f64();
            self.step(step, stream)?;
            let to = start.elapsed().as_secs_f64();
            around(index, true)?;
            if step != Step::Cpu(self.dag().end()) {
                spans.push(self.span(step, None, from, to));
            }
        }
        self.lanes.finish()?;
        Ok(spans)
    }

    fn span(&self, step: Step, stream: Option<u8>, start: f64, end: f64) -> Span {
        Span { name: step.name(self.dag()), rank: self.ranks.rank(), stream, start, end }
    }
}

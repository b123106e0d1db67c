//! The runs, what they give, and where that goes.

use std::{fmt, path::Path, time::Instant};

use ndarray_npy::WritableElement;
use warpsmith::{
    device::{Device, Stream},
    list_rank::{ListError, ListRanker, Options, Report},
};

use super::{Outputs, verify};
use crate::cli::{failure::Failure, output::write_array, progress::Progress};

/// What is to be done.
pub struct Job<'a> {
    pub device: &'a Device,
    pub stream: &'a Stream,
    pub options: Options,
    pub next: &'a [i32],
    pub head: Option<i32>,
    /// Where `next` was read from.
    pub input: Option<&'a Path>,
    pub runs: usize,
    pub verify: bool,
    pub progress: Progress,
}

/// What came out.
pub struct Made {
    /// That of the run of median time.
    pub report: Report,
    /// How many lists a forest has.
    pub lists: Option<usize>,
    /// Whether and how long the result was compared with a walk, in ms.
    pub verified: Option<f64>,
    /// What is wrong with it. Then nothing was written.
    pub wrong: Option<String>,
}

impl Job<'_> {
    /// Ranks, and the order of the list.
    pub fn ranks(&self, outputs: &Outputs) -> Result<Made, Failure> {
        let next = self.device.upload(self.next)?;
        let mut ranks = self.device.alloc(self.next.len())?;
        let mut ranker = ListRanker::new(self.device, self.options.clone());
        let report = self.repeat(|| ranker.rank(self.stream, &next, self.head, &mut ranks))?;

        let mut order = None;
        if outputs.order.is_some() {
            let mut buffer = self.device.alloc_zeroed(self.next.len())?;
            ranker.order(self.stream, &ranks, &mut buffer)?;
            order = Some(self.stream.download_vec(&buffer)?);
        }
        let needed = self.verify || outputs.result.is_some();
        let ranks = if needed { self.stream.download_vec(&ranks)? } else { Vec::new() };
        let (verified, wrong) = self.verify(|| {
            let work = self.progress.bar(self.next.len(), "verifying");
            verify::ranks(self.next, self.head, &ranks, |n| work.advance(n))?;
            order.as_ref().map_or(Ok(()), |order| verify::order(&ranks, order))
        });
        if wrong.is_none() {
            self.write(outputs, &ranks, order.as_deref().unwrap_or_default(), &[])?;
        }
        Ok(Made { report, lists: None, verified, wrong })
    }

    /// Prefix sums of weights.
    pub fn sums<V: verify::Summand + WritableElement>(&self, weights: &[V], outputs: &Outputs) -> Result<Made, Failure> {
        let next = self.device.upload(self.next)?;
        let on_device = self.device.upload(weights)?;
        let mut sums = self.device.alloc(self.next.len())?;
        let mut ranker = ListRanker::<V>::new(self.device, self.options.clone());
        let report = self.repeat(|| ranker.prefix_sums(self.stream, &next, self.head, &on_device, &mut sums))?;

        let needed = self.verify || outputs.result.is_some();
        let sums = if needed { self.stream.download_vec(&sums)? } else { Vec::new() };
        let (verified, wrong) = self.verify(|| {
            let work = self.progress.bar(self.next.len(), "verifying");
            verify::sums(self.next, self.head, weights, &sums, |n| work.advance(n))
        });
        if wrong.is_none() {
            self.write(outputs, &sums, &[], &[])?;
        }
        Ok(Made { report, lists: None, verified, wrong })
    }

    /// Ranks in a forest, and the numbers of its lists.
    pub fn forest(&self, outputs: &Outputs) -> Result<Made, Failure> {
        let next = self.device.upload(self.next)?;
        let mut ranks = self.device.alloc(self.next.len())?;
        let mut lists = self.device.alloc(self.next.len())?;
        let mut ranker = ListRanker::<i32>::new(self.device, self.options.clone());
        let mut count = 0;
        let report = self.repeat(|| {
            let forest = ranker.forest(self.stream, &next, &mut ranks, &mut lists)?;
            count = forest.lists;
            Ok(forest.report)
        })?;

        let ranks = if self.verify || outputs.result.is_some() { self.stream.download_vec(&ranks)? } else { Vec::new() };
        let lists = if self.verify || outputs.lists.is_some() { self.stream.download_vec(&lists)? } else { Vec::new() };
        let (verified, wrong) = self.verify(|| {
            let work = self.progress.bar(self.next.len(), "verifying");
            verify::forest(self.next, &ranks, &lists, count, |n| work.advance(n))
        });
        if wrong.is_none() {
            self.write(outputs, &ranks, &[], &lists)?;
        }
        Ok(Made { report, lists: Some(count), verified, wrong })
    }

    /// One warm-up and the runs; gives the report of the one whose time is the median (of two such, the shorter).
    fn repeat(&self, mut run: impl FnMut() -> Result<Report, ListError>) -> Result<Report, Failure> {
        let _work = self.progress.spinner(self.next.len(), format!("ranking on {}", self.device));
        let mut once = |what: fmt::Arguments<'_>| {
            let start = Instant::now();
            let report = run().map_err(|error| self.blame(error))?;
            for step in &report.steps {
                tracing::debug!(ms = step.ms, bytes = step.bytes, "{}", step.name);
            }
            tracing::info!(ms = report.total_ms(), sublists = report.sublists, call = ?start.elapsed(), "{what}");
            Ok::<_, Failure>(report)
        };
        let mut reports = vec![once(format_args!("warm-up"))?];
        for index in 0..self.runs {
            reports.push(once(format_args!("run {}", index + 1))?);
        }
        reports.remove(0);
        reports.sort_by(|a, b| a.total_ms().total_cmp(&b.total_ms()));
        Ok(reports.swap_remove((reports.len() - 1) / 2))
    }

    /// An error, with the file that it is in.
    fn blame(&self, error: ListError) -> Failure {
        match (&error, self.input) {
            (ListError::Device(_) | ListError::Miscounted { .. }, _) | (_, None) => error.into(),
            (_, Some(path)) => Failure::error(format_args!("{}: {error}", path.display())),
        }
    }

    /// Compares, if that is asked for; gives the time, and what is wrong.
    fn verify(&self, compare: impl FnOnce() -> Result<(), String>) -> (Option<f64>, Option<String>) {
        if !self.verify {
            return (None, None);
        }
        let start = Instant::now();
        let wrong = compare().err();
        let elapsed = start.elapsed();
        tracing::info!(?elapsed, ok = wrong.is_none(), "verified");
        (Some(1e3 * elapsed.as_secs_f64()), wrong)
    }

    fn write<V: WritableElement>(&self, outputs: &Outputs, result: &[V], order: &[i32], lists: &[i32]) -> Result<(), Failure> {
        let _work = self.progress.spinner(self.next.len(), "writing");
        outputs.result.as_ref().map_or(Ok(()), |output| write_array(output, result, &[result.len()]))?;
        outputs.order.as_ref().map_or(Ok(()), |output| write_array(output, order, &[order.len()]))?;
        outputs.lists.as_ref().map_or(Ok(()), |output| write_array(output, lists, &[lists.len()]))
    }
}

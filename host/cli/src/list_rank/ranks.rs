//! Lists over several ranks: threads with a GPU each, or the processes that `mpirun` started.

use std::sync::Arc;

use serde::Serialize;
use warpsmith::{
    common::chain,
    device::{Backend, Device},
    io::files::Destination,
    list_rank::{
        SplitterRule,
        distributed::{
            self, DistributedError, DistributedRanker, Options, Report,
            files::{self, ListFile},
            layout,
        },
        generate::ListKind,
    },
    ranks::{Communicator, threads},
};

use super::arguments::ListRankArgs;
use crate::{Global, failure::Failure, format, processes, progress::Progress, repeat, size, terminal};

/// The work of all ranks.
struct Job<'a> {
    arguments: &'a ListRankArgs,
    n: u64,
    /// Runs that are timed, after one that isn't.
    runs: usize,
    source: Source,
    output: Option<Destination>,
}

enum Source {
    /// The generated list's kind, and the length of its runs.
    Generated(ListKind, u64),
    File(ListFile),
}

/// The printed report: that of rank 0, and the ranks.
#[derive(Serialize)]
struct RanksReport {
    system: &'static str,
    /// The ranks' way of communication.
    communication: &'static str,
    /// Host and device of each rank.
    ranks: Vec<String>,
    list: String,
    /// With the bytes that all ranks sent.
    #[serde(flatten)]
    report: Report,
    total_ms: f64,
    runs: usize,
    verified: Option<bool>,
}

/// Runs the command, on these processes or on as many threads as GPUs are asked for.
pub fn run(
    global: &Global,
    arguments: &ListRankArgs,
    output: Option<Destination>,
    processes: Option<Arc<dyn Communicator>>,
) -> Result<(), Failure> {
    let result = run_all(global, arguments, output, processes.as_ref());
    if let (Err(failure), Some(ranks)) = (&result, &processes)
        && !matches!(failure, Failure::Elsewhere)
    {
        // Ends all of them.
        ranks.abort(&failure.to_string());
    }
    result
}

fn run_all(
    global: &Global,
    arguments: &ListRankArgs,
    output: Option<Destination>,
    processes: Option<&Arc<dyn Communicator>>,
) -> Result<(), Failure> {
    let prepare = || {
        refuse(arguments, processes.is_some())?;
        let devices = processes::devices(global, processes.map(|ranks| &**ranks), arguments.gpus)?;
        let ranks = processes.map_or((devices.len(), false), |ranks| (ranks.size(), true));
        Ok((Job::new(arguments, output, &devices[0], ranks)?, devices))
    };
    let mut prepared: Result<_, Failure> = prepare();
    if let Some(ranks) = processes {
        let have_all_failed = ranks.max(if prepared.is_err() { 0.0 } else { 1.0 })? == 0.0;
        if have_all_failed {
            prepared = prepared.map_err(|failure| processes::all_failed(&**ranks, failure));
        }
    }
    let (job, devices) = prepared?;
    let is_first = processes.is_none_or(|ranks| ranks.rank() == 0);
    let progress = Progress::new(arguments.json || global.verbose > 0 || !is_first);
    let _work = progress.spinner(job.n as usize, format!("ranking {} elements", format::grouped(job.n as usize)));
    let report = match processes {
        // MPI is for the thread that started it.
        Some(ranks) => job.run(&devices[0], ranks.clone())?,
        None => threads::run(&devices, |device, ranks| job.run(device, ranks))?.swap_remove(0),
    };
    report.map_or(Ok(()), |report| job.print(&report))
}

/// Refuses options of the rankers of one device.
fn refuse(arguments: &ListRankArgs, are_processes: bool) -> Result<(), Failure> {
    if are_processes && arguments.gpus.is_some() {
        return Err(Failure::error("--gpus can't be used with mpirun: each rank takes one GPU"));
    }
    let ListRankArgs { weights, forest, order, strategy, splitters, sublists, trusted, kind, .. } = arguments;
    let given = [
        ("--weights", weights.is_some()),
        ("--forest", *forest),
        ("--order", order.is_some()),
        ("--strategy", strategy.is_some()),
        ("--splitters first", *splitters == SplitterRule::First),
        ("--sublists", sublists.is_some()),
        ("--trusted", *trusted),
        ("--kind reversed", *kind == Some(ListKind::Reversed)),
        ("--kind strided", *kind == Some(ListKind::Strided)),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(Failure::error(format_args!("{option} is for lists on one device, not over several ranks"))),
        None => Ok(()),
    }
}

impl<'a> Job<'a> {
    fn new(
        arguments: &'a ListRankArgs,
        output: Option<Destination>,
        device: &Device,
        (ranks, are_processes): (usize, bool),
    ) -> Result<Self, Failure> {
        let is_cpu = device.backend() == Backend::Cpu;
        let (n, source) = match &arguments.input {
            Some(path) => {
                let file = ListFile::open(path)?;
                (file.n(), Source::File(file))
            }
            None => {
                let n = arguments.n.unwrap_or(if is_cpu { 10_000_000 } else { 100_000_000 * ranks as u64 });
                let kind = arguments.kind.unwrap_or(ListKind::Random);
                (n, Source::Generated(kind, kind.run(n).unwrap_or(1)))
            }
        };
        layout(n, ranks).map_err(Failure::error)?;
        if is_cpu {
            // The list, its ranks, and splitters.
            let here = if are_processes { n / ranks as u64 } else { n };
            size::check_memory(format::counted(here as usize, "element", "elements"), 18.0 * here as f64)?;
        }
        let runs = arguments.repeat.unwrap_or(if is_cpu { 1 } else { 10 });
        Ok(Job { arguments, n, runs, source, output })
    }

    /// The failure of an error. If the list is at fault, it names its file.
    fn failure(&self, error: DistributedError) -> Failure {
        match &self.source {
            _ if matches!(error, DistributedError::WrongRank { .. }) => Failure::Verification(error.to_string()),
            Source::File(file) if error.is_shared() => Failure::error(format_args!("{}: {error}", file.path().display())),
            _ => Failure::error(chain(&error)),
        }
    }

    /// Runs one rank. Rank 0 returns the report.
    fn run(&self, device: &Device, ranks: Arc<dyn Communicator>) -> Result<Option<RanksReport>, Failure> {
        let shared = |error| self.shared(error, &*ranks);
        let (rank, stream) = (ranks.rank(), device.stream()?);
        let layout = layout(self.n, ranks.size()).map_err(Failure::error)?;
        let (list, next) = match &self.source {
            Source::Generated(kind, run) => {
                (kind.name().to_owned(), distributed::generate(&stream, layout, rank, *run, self.arguments.seed)?)
            }
            Source::File(file) => {
                let mut next = device.alloc(layout.len(rank))?;
                file.read(&stream, layout.first(rank), &mut next).map_err(shared)?;
                (file.path().display().to_string(), next)
            }
        };
        let mut result = device.alloc(next.len())?;
        let options = Options { seed: self.arguments.seed as u32, ..Options::default() };
        let mut ranker = DistributedRanker::new(device, ranks.clone(), options);
        let head = self.arguments.head.map(|head| head as u64);
        let once = || ranker.rank(&stream, self.n, &next, head, &mut result);
        let mut report = repeat::median(Some(self.runs), once, Report::total_ms).map_err(shared)?;
        if self.arguments.verify {
            ranker.verify(&stream, self.n, &next, &result).map_err(shared)?;
        }
        if let Some(output) = &self.output {
            drop(next);
            files::write(output, &stream, layout, &result, &*ranks).map_err(shared)?;
        }
        let mut mine = report.sent.to_le_bytes().to_vec();
        mine.extend(format!("{}: {device}", processes::host()).into_bytes());
        let all = ranks.gather(mine).map_err(Failure::error)?;
        if rank > 0 {
            return Ok(None);
        }
        let parts = || all.iter().filter_map(|bytes| bytes.split_first_chunk::<8>());
        report.sent = parts().map(|(sent, _)| u64::from_le_bytes(*sent)).sum();
        Ok(Some(RanksReport {
            system: "list-rank",
            communication: ranks.kind(),
            ranks: parts().map(|(_, name)| String::from_utf8_lossy(name).into_owned()).collect(),
            list,
            total_ms: report.total_ms(),
            report,
            runs: self.runs,
            verified: self.arguments.verify.then_some(true),
        }))
    }

    /// The failure of an error that all ranks may have: rank 0 reports it, and ends the others.
    fn shared(&self, error: DistributedError, ranks: &dyn Communicator) -> Failure {
        if ranks.rank() > 0 && ranks.kind() == "MPI" && error.is_shared() {
            // It doesn't return: rank 0 doesn't come.
            _ = ranks.barrier();
        }
        self.failure(error)
    }

    fn print(&self, shown: &RanksReport) -> Result<(), Failure> {
        if self.arguments.json {
            return terminal::print_json(shown);
        }
        let RanksReport { report, ranks, communication, list, total_ms, .. } = shown;
        terminal::print(format_args!(
            "list-rank: {} ({list}) on {} by {communication}, {}",
            format::counted(report.n as usize, "element", "elements"),
            format::counted(ranks.len(), "rank", "ranks"),
            format::counted(report.nodes.first().map_or(0, |&nodes| nodes as usize), "sublist", "sublists"),
        ))?;
        for (rank, name) in ranks.iter().enumerate() {
            terminal::print(format_args!("  rank {rank}: {name}"))?;
        }
        if self.arguments.repeat.is_some() {
            terminal::print(terminal::steps(&report.steps))?;
        }
        terminal::print(repeat::in_words(self.runs, report.n as usize, *total_ms, "elements"))?;
        terminal::print(format_args!(
            "Sent: {} in {} ({} of rank 0's time).",
            format::bytes(report.sent),
            format::counted(report.rounds, "round", "rounds"),
            format::time(report.exchange_ms)
        ))?;
        if self.arguments.verify {
            terminal::print("Verified: each successor's rank is one more than its element's, and the last one's is n - 1.")?;
        } else {
            terminal::print("Not verified (--verify compares each element's rank with its successor's).")?;
        }
        match &self.output {
            Some(output) => terminal::print(format_args!("Written: {}", output.name().display())),
            None => Ok(()),
        }
    }
}

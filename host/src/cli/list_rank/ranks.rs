//! Lists over several ranks: threads with a GPU each, or the processes that `mpirun` started.

use std::{
    fs::OpenOptions,
    io::{Seek as _, SeekFrom, Write as _},
    path::Path,
    sync::Arc,
};

use bytemuck::cast_slice_mut;
use serde::Serialize;
use warpsmith::{
    common::chain,
    device::{Backend, Buffer, Device, Stream},
    engine::NpyFile,
    io::{
        Source,
        files::{Destination, FileError, Reason},
        npy::{Kind, Reader},
    },
    list_rank::distributed::{self, DistributedError, DistributedRanker, Options, Report, layout},
    ranks::{Communicator, threads},
};

use super::{Arguments, BLOCK, ListKind, Place, Splitters};
use crate::cli::{Global, failure::Failure, format, processes, progress::Progress, repeat, size, terminal};

/// How much of a file is read or written at once, in elements.
const PIECE: usize = 8 << 20;

/// What all ranks work on.
struct Job<'a> {
    arguments: &'a Arguments,
    n: u64,
    /// How many are timed, after one that isn't.
    runs: usize,
    /// The generated list's name and the length of its runs, or the file that it is read from.
    source: Origin<'a>,
    output: Option<Destination>,
}

enum Origin<'a> {
    Generated(&'static str, u64),
    File(&'a Path, Input),
}

/// A file of successors.
struct Input {
    source: Source,
    kind: Kind,
    header: u64,
    is_swapped: bool,
}

/// What is shown.
#[derive(Serialize)]
struct Object<'a> {
    system: &'static str,
    /// How ranks talk.
    communication: &'static str,
    /// Of each rank: its host and its device.
    ranks: Vec<String>,
    list: &'a str,
    n: u64,
    head: u64,
    /// Splitters, splitters of these, and so on.
    nodes: &'a [u64],
    rounds: usize,
    /// Bytes that all ranks sent.
    sent: u64,
    exchange_ms: f64,
    steps: Vec<Step>,
    total_ms: f64,
    runs: usize,
    verified: Option<bool>,
}

#[derive(Serialize)]
struct Step {
    name: &'static str,
    ms: f64,
    bytes: u64,
}

/// Runs the command, on these processes or on as many threads as GPUs are asked for.
pub fn run(
    global: &Global,
    arguments: &Arguments,
    output: Option<Destination>,
    processes: Option<Arc<dyn Communicator>>,
) -> Result<(), Failure> {
    if let Err(failure) = refuse(arguments, processes.is_some()) {
        // All ranks come to it; one says so.
        return Err(if processes.is_some_and(|ranks| ranks.rank() > 0) { Failure::Elsewhere } else { failure });
    }
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
    arguments: &Arguments,
    output: Option<Destination>,
    processes: Option<&Arc<dyn Communicator>>,
) -> Result<(), Failure> {
    let prepare = || {
        let devices = processes::devices(global, processes.map(|ranks| &**ranks), arguments.gpus)?;
        let ranks = processes.map_or((devices.len(), false), |ranks| (ranks.size(), true));
        Ok((Job::new(arguments, output, &devices[0], ranks)?, devices))
    };
    let prepared: Result<_, Failure> = prepare();
    if let Some(ranks) = processes {
        // What all ranks come to, one says.
        let all_failed = ranks.max(if prepared.is_err() { 0.0 } else { 1.0 })? == 0.0;
        if all_failed && ranks.rank() > 0 {
            return Err(Failure::Elsewhere);
        }
    }
    let (job, devices) = prepared?;
    let is_first = processes.is_none_or(|ranks| ranks.rank() == 0);
    let progress = Progress::new(arguments.json || global.verbose > 0 || !is_first);
    let _work = progress.spinner(job.n as usize, format!("ranking {} elements", format::grouped(job.n as usize)));
    let shown = match processes {
        // MPI is for the thread that started it.
        Some(ranks) => job.run(&devices[0], ranks.clone())?,
        None => threads::run(&devices, |device, ranks| job.run(device, ranks))?.swap_remove(0),
    };
    shown.map_or(Ok(()), |shown| shown.print(&job))
}

/// Refuses options of the rankers of one device.
fn refuse(arguments: &Arguments, are_processes: bool) -> Result<(), Failure> {
    if are_processes && arguments.gpus.is_some() {
        return Err(Failure::error("--gpus can't be used with mpirun: each rank takes one GPU"));
    }
    let Arguments { weights, forest, order, strategy, splitters, sublists, scan, trusted, kind, .. } = arguments;
    let given = [
        ("--weights", weights.is_some()),
        ("--forest", *forest),
        ("--order", order.is_some()),
        ("--strategy", strategy.is_some()),
        ("--splitters first", *splitters == Splitters::First),
        ("--sublists", sublists.is_some()),
        ("--scan host", *scan == Some(Place::Host)),
        ("--trusted", *trusted),
        ("--kind reversed", *kind == Some(ListKind::Reversed)),
        ("--kind strided", *kind == Some(ListKind::Strided)),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(Failure::error(format_args!("{option} is for lists on one device, not over several ranks"))),
        None => Ok(()),
    }
}

/// A rank's result, in rank 0's words.
struct Shown {
    report: Report,
    ranks: Vec<String>,
    communication: &'static str,
    sent: u64,
}

impl<'a> Job<'a> {
    fn new(
        arguments: &'a Arguments,
        output: Option<Destination>,
        device: &Device,
        (ranks, are_processes): (usize, bool),
    ) -> Result<Self, Failure> {
        let is_cpu = device.backend() == Backend::Cpu;
        let (n, source) = match &arguments.input {
            Some(path) => {
                let (n, input) = Input::open(path).map_err(|reason| in_file(path, &reason))?;
                (n, Origin::File(path, input))
            }
            None => {
                let n = arguments.n.unwrap_or(if is_cpu { 10_000_000 } else { 100_000_000 * ranks as u64 });
                let source = match arguments.kind {
                    Some(ListKind::Sequential) => ("sequential", n),
                    Some(ListKind::BlockShuffled) => ("block-shuffled", u64::from(BLOCK)),
                    _ => ("random", 1),
                };
                (n, Origin::Generated(source.0, source.1))
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

    /// An error of the list, which names its file.
    fn failure(&self, error: DistributedError) -> Failure {
        match (&self.source, &error) {
            (_, DistributedError::WrongRank { .. }) => Failure::Verification(error.to_string()),
            (_, DistributedError::Device(_) | DistributedError::Ranks(_)) | (Origin::Generated(..), _) => {
                Failure::error(chain(&error))
            }
            (Origin::File(path, _), _) => Failure::error(format_args!("{}: {error}", path.display())),
        }
    }

    /// What one rank does. Rank 0 says how it went.
    fn run(&self, device: &Device, ranks: Arc<dyn Communicator>) -> Result<Option<Shown>, Failure> {
        let (rank, stream) = (ranks.rank(), device.stream()?);
        let layout = layout(self.n, ranks.size()).map_err(Failure::error)?;
        let next = match &self.source {
            Origin::Generated(_, run) => distributed::generate(&stream, layout, rank, *run, self.arguments.seed)?,
            Origin::File(path, input) => {
                let mut next = device.alloc(layout.len(rank))?;
                input.read(path, &stream, layout.first(rank), &mut next)?;
                next
            }
        };
        let mut result = device.alloc(next.len())?;
        let options = Options { seed: self.arguments.seed as u32, ..Options::default() };
        let mut ranker = DistributedRanker::new(device, ranks.clone(), options);
        let head = self.arguments.head.map(|head| head as u64);
        let once = || ranker.rank(&stream, self.n, &next, head, &mut result);
        let report = match repeat::median(Some(self.runs), once, Report::total_ms) {
            Ok(report) => report,
            Err(error) => return Err(self.shared(error, &*ranks)),
        };
        if self.arguments.verify {
            ranker.verify(&stream, self.n, &next, &result).map_err(|error| self.shared(error, &*ranks))?;
        }
        if let Some(output) = &self.output {
            drop(next);
            self.write(output, &stream, layout.first(rank), &result, &*ranks)?;
        }
        let mut mine = report.sent.to_le_bytes().to_vec();
        mine.extend(format!("{}: {device}", processes::host()).into_bytes());
        let all = ranks.gather(mine).map_err(Failure::error)?;
        if rank > 0 {
            return Ok(None);
        }
        let parts = all.iter().filter_map(|bytes| bytes.split_first_chunk::<8>());
        let (sent, ranks_in_words) = parts
            .map(|(sent, name)| (u64::from_le_bytes(*sent), String::from_utf8_lossy(name).into_owned()))
            .fold((0, Vec::new()), |(sum, mut names), (sent, name)| {
                names.push(name);
                (sum + sent, names)
            });
        Ok(Some(Shown { report, ranks: ranks_in_words, communication: ranks.kind(), sent }))
    }

    /// An error that all ranks may have: rank 0 says it, and ends the others.
    fn shared(&self, error: DistributedError, ranks: &dyn Communicator) -> Failure {
        if ranks.rank() > 0 && ranks.kind() == "MPI" && error.is_shared() {
            // It doesn't return: rank 0 doesn't come.
            _ = ranks.barrier();
        }
        self.failure(error)
    }

    /// Writes this rank's part of the output. Rank 0 makes the file, and gives it its name when all have written.
    fn write(
        &self,
        output: &Destination,
        stream: &Stream,
        first: u64,
        result: &Buffer<i64>,
        ranks: &dyn Communicator,
    ) -> Result<(), Failure> {
        let mut made = None;
        let mut told = Vec::new();
        if ranks.rank() == 0 {
            let file = NpyFile::<i64>::create_at(output.clone(), &[self.n as usize], None)?;
            let header = file.temporary_path().metadata().map_err(|error| output.error(error))?.len() - 8 * self.n;
            told = header.to_le_bytes().to_vec();
            told.extend(file.temporary_path().file_name().unwrap_or_default().as_encoded_bytes());
            made = Some(file);
        }
        let told = ranks.broadcast(told).map_err(Failure::error)?;
        let (header, name) = told.split_first_chunk::<8>().ok_or_else(|| Failure::error("rank 0 has made no file"))?;
        // Beside the output, under a name of ASCII.
        let path = output.partial_path().with_file_name(&*String::from_utf8_lossy(name));
        let fail = |error| Failure::from(FileError::unwritten(&path, error));
        let mut file = OpenOptions::new().write(true).open(&path).map_err(fail)?;
        file.seek(SeekFrom::Start(u64::from_le_bytes(*header) + 8 * first)).map_err(fail)?;
        for from in (0..result.len()).step_by(PIECE) {
            let piece = stream.download_vec(result.view(from..result.len().min(from + PIECE))?)?;
            file.write_all(bytemuck::cast_slice(&piece)).map_err(fail)?;
        }
        file.sync_data().map_err(fail)?;
        ranks.barrier().map_err(Failure::error)?;
        made.map_or(Ok(()), |file| Ok(file.finish()?))
    }
}

fn in_file(path: &Path, reason: &Reason) -> Failure {
    Failure::error(format_args!("{}: {reason}", path.display()))
}

impl Input {
    /// Opens a file of int64 or int32, which several ranks read at once.
    fn open(path: &Path) -> Result<(u64, Self), Reason> {
        let reader = Reader::open(path)?;
        let kind = reader.kind("next", &[Kind::I32, Kind::I64])?;
        let &[n] = reader.shape() else {
            return Err(format!("holds a {}-D array, but next must be 1-D", reader.shape().len()).into());
        };
        reader.check_size(kind)?;
        let (header, is_swapped) = (reader.header_size(), reader.is_swapped());
        let source = reader.into_source();
        if source.size().is_none() {
            return Err("is a pipe, of which several ranks can't read their parts".into());
        }
        Ok((n as u64, Input { source, kind, header, is_swapped }))
    }

    /// Reads the elements from `first` on, as many as `next` has.
    fn read(&self, path: &Path, stream: &Stream, first: u64, next: &mut Buffer<i64>) -> Result<(), Failure> {
        let size = self.kind.size();
        let (len, mut values, mut narrow) = (next.len(), Vec::<i64>::new(), Vec::<i32>::new());
        for from in (0..len).step_by(PIECE) {
            let piece = (len - from).min(PIECE);
            values.resize(piece, 0);
            let at = self.header + (first + from as u64) * size as u64;
            let failed = |error| in_file(path, &Reason::because("can't be read", error));
            if self.kind == Kind::I64 {
                self.source.read_exact_at(cast_slice_mut(&mut values), at).map_err(failed)?;
                if self.is_swapped {
                    values.iter_mut().for_each(|value| *value = value.swap_bytes());
                }
            } else {
                narrow.resize(piece, 0);
                self.source.read_exact_at(cast_slice_mut(&mut narrow), at).map_err(failed)?;
                let widen = |&value: &i32| i64::from(if self.is_swapped { value.swap_bytes() } else { value });
                values.iter_mut().zip(&narrow).for_each(|(value, narrow)| *value = widen(narrow));
            }
            stream.upload(next.view_mut(from..from + piece)?, &values)?;
        }
        Ok(())
    }
}

impl Shown {
    fn print(&self, job: &Job<'_>) -> Result<(), Failure> {
        let Shown { report, ranks, communication, sent } = self;
        let source = match &job.source {
            Origin::Generated(name, _) => (*name).to_owned(),
            Origin::File(path, _) => path.display().to_string(),
        };
        let total = report.total_ms();
        if job.arguments.json {
            return terminal::print_json(&Object {
                system: "list-rank",
                communication,
                ranks: ranks.clone(),
                list: &source,
                n: report.n,
                head: report.head,
                nodes: &report.nodes,
                rounds: report.rounds,
                sent: *sent,
                exchange_ms: report.exchange_ms,
                steps: report.steps.iter().map(|step| Step { name: step.name, ms: step.ms, bytes: step.bytes }).collect(),
                total_ms: total,
                runs: job.runs,
                verified: job.arguments.verify.then_some(true),
            });
        }
        let n = report.n as usize;
        terminal::print(format_args!(
            "list-rank: {} ({source}) on {} by {communication}, {}",
            format::counted(n, "element", "elements"),
            format::counted(ranks.len(), "rank", "ranks"),
            format::counted(report.nodes.first().map_or(0, |&nodes| nodes as usize), "sublist", "sublists"),
        ))?;
        for (rank, name) in ranks.iter().enumerate() {
            terminal::print(format_args!("  rank {rank}: {name}"))?;
        }
        terminal::print(terminal::steps(report.steps.iter().map(|step| (step.name, step.ms, step.bytes))))?;
        let rate = match format::rate(n, total, "elements") {
            rate if rate.is_empty() => rate,
            rate => format!(": {rate}"),
        };
        terminal::print(format_args!("{}{rate}.", repeat::in_words(job.runs)))?;
        terminal::print(format_args!(
            "Sent: {} in {} ({} of rank 0's time).",
            format::bytes(*sent),
            format::counted(report.rounds, "round", "rounds"),
            format::time(report.exchange_ms)
        ))?;
        if job.arguments.verify {
            terminal::print("Verified: each successor's rank is one more than its element's, and the last one's is n - 1.")?;
        } else {
            terminal::print("Not verified (--verify compares each element's rank with its successor's).")?;
        }
        match &job.output {
            Some(output) => terminal::print(format_args!("Written: {}", output.name().display())),
            None => Ok(()),
        }
    }
}

//! Lists over several ranks: threads with a GPU each, or the processes that `mpirun` started.

use std::{
    fs::OpenOptions,
    io::{Seek as _, SeekFrom, Write as _},
    path::Path,
    sync::Arc,
    thread,
};

use bytemuck::cast_slice_mut;
use serde::Serialize;
use warpsmith::{
    device::{Buffer, Device, Stream},
    engine::NpyFile,
    files::{Destination, FileError, chain},
    list_rank::distributed::{self, DistributedError, DistributedRanker, Options, Report, layout},
    npy::{Kind, Reader},
    ranks::{Communicator, threads},
    read::Source,
};

use super::{Arguments, BLOCK, ListKind, Place, Splitters, check_head};
use crate::cli::{Global, failure::Failure, format, processes, progress::Progress, repeat, terminal};

/// How much of a file is read or written at once, in elements.
const PIECE: usize = 8 << 20;

/// What all ranks work on.
struct Job<'a> {
    arguments: &'a Arguments,
    n: u64,
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
    if let (Err(failure), Some(ranks)) = (&result, &processes) {
        // Ends all of them.
        ranks.abort(&format!("on {}: {}", processes::host(), text(failure)));
    }
    result
}

fn text(failure: &Failure) -> &str {
    match failure {
        Failure::Error(text) | Failure::Verification(text) => text,
        Failure::Cancelled => "cancelled",
        Failure::Closed | Failure::Elsewhere => "another process ended",
    }
}

fn run_all(
    global: &Global,
    arguments: &Arguments,
    output: Option<Destination>,
    processes: Option<&Arc<dyn Communicator>>,
) -> Result<(), Failure> {
    let (devices, ranks) = match processes {
        Some(ranks) => (vec![processes::device(&**ranks, &global.open_all()?).clone()], vec![ranks.clone()]),
        None => {
            let devices = global.open_several(arguments.gpus)?;
            let ranks = threads::on_devices(&devices)?;
            (devices, ranks)
        }
    };
    let job = Job::new(arguments, output, &devices[0], ranks[0].size())?;
    let progress = Progress::new(arguments.json || global.verbose > 0 || ranks[0].rank() > 0);
    let _work = progress.spinner(job.n as usize, format!("ranking {} elements", format::grouped(job.n as usize)));
    let job = &job;
    let mut results: Vec<_> = thread::scope(|scope| {
        // MPI is for the thread that started it.
        if let ([ranks], [device]) = (&ranks[..], &devices[..]) {
            return vec![job.run(device, ranks.clone())];
        }
        let start = |(device, ranks): (_, Arc<dyn Communicator>)| {
            scope.spawn(move || {
                let result = job.run(device, ranks.clone());
                if let Err(failure) = &result {
                    ranks.abort(text(failure));
                }
                result
            })
        };
        let running: Vec<_> = devices.iter().zip(ranks.iter().cloned()).map(start).collect();
        let join = |running: thread::ScopedJoinHandle<'_, _>| {
            running.join().unwrap_or_else(|_| Err(Failure::error("a rank's thread panicked")))
        };
        running.into_iter().map(join).collect()
    });
    // Where a rank gives up, others say that it did; the cause is what it says itself.
    let is_cause = |result: &Result<_, Failure>| result.as_ref().is_err_and(|failure| !text(failure).contains(" gave up: "));
    let first = results.iter().position(is_cause).or_else(|| results.iter().position(Result::is_err)).unwrap_or(0);
    match results.swap_remove(first)? {
        Some(shown) => shown.print(job),
        None => Ok(()),
    }
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
    fn new(arguments: &'a Arguments, output: Option<Destination>, device: &Device, ranks: usize) -> Result<Self, Failure> {
        let (n, source) = match &arguments.input {
            Some(path) => {
                let (n, input) =
                    Input::open(path).map_err(|reason| Failure::error(format_args!("{}: {reason}", path.display())))?;
                (n, Origin::File(path, input))
            }
            None => {
                let each = if device.backend() == warpsmith::device::Backend::Cuda { 100_000_000 } else { 1_000_000 };
                let n = arguments.n.unwrap_or(each * ranks as u64);
                let source = match arguments.kind {
                    Some(ListKind::Sequential) => ("sequential", n),
                    Some(ListKind::BlockShuffled) => ("block-shuffled", u64::from(BLOCK)),
                    _ => ("random", 1),
                };
                (n, Origin::Generated(source.0, source.1))
            }
        };
        layout(n, ranks).map_err(Failure::error)?;
        check_head(arguments.head, n)?;
        Ok(Job { arguments, n, source, output })
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
                input.read(&stream, layout.first(rank), &mut next).map_err(|reason| in_file(path, &reason))?;
                next
            }
        };
        let mut result = device.alloc(next.len())?;
        let options = Options { seed: self.arguments.seed as u32, ..Options::default() };
        let mut ranker = DistributedRanker::new(device, ranks.clone(), options);
        let head = self.arguments.head.map(|head| head as u64);
        let once = || ranker.rank(&stream, self.n, &next, head, &mut result);
        let report = match repeat::median(self.arguments.repeat, once, Report::total_ms) {
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

fn in_file(path: &Path, reason: &impl std::fmt::Display) -> Failure {
    Failure::error(format_args!("{}: {reason}", path.display()))
}

impl Input {
    /// Opens a file of int64 or int32, which several ranks read at once.
    fn open(path: &Path) -> Result<(u64, Self), warpsmith::files::Reason> {
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
    fn read(&self, stream: &Stream, first: u64, next: &mut Buffer<i64>) -> Result<(), warpsmith::files::Reason> {
        let size = self.kind.size();
        let (len, mut values, mut narrow) = (next.len(), Vec::<i64>::new(), Vec::<i32>::new());
        for from in (0..len).step_by(PIECE) {
            let piece = (len - from).min(PIECE);
            values.resize(piece, 0);
            let at = self.header + (first + from as u64) * size as u64;
            let failed = |error| warpsmith::files::Reason::because("can't be read", error);
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
            let target = next.view_mut(from..from + piece).map_err(|error| error.to_string())?;
            stream.upload(target, &values).map_err(|error| error.to_string())?;
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
        let runs = job.arguments.repeat.unwrap_or(1);
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
                runs,
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
        terminal::print(format_args!("{}{rate}.", repeat::in_words(runs)))?;
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

//! A list on one device: reads or generates it, ranks it several times, and writes and prints the results.

use std::time::Instant;

use serde::Serialize;
use warpsmith::io::npy::Element;
use warpsmith::{
    device::{Backend, Buffer, Device, DeviceError, Stream},
    io::files::Destination,
    list_rank::{
        ListError, ListRanker, Options, Report,
        generate::ListKind,
        verify::{self, Mismatch, Summand},
    },
};

use super::arguments::ListRankArgs;
use crate::{
    Global, count,
    failure::Failure,
    format,
    npy::{self, Array, Kind},
    output::written,
    progress::Progress,
    repeat, size, terminal,
};

/// The files to write: the result, the order, and the numbers of the lists.
type Outputs = [Option<Destination>; 3];

pub fn run(global: &Global, arguments: &ListRankArgs, outputs: &Outputs) -> Result<(), Failure> {
    let n = arguments.n.map(count::short).transpose().map_err(Failure::Error)?;
    let progress = Progress::new(arguments.json || global.verbose > 0);
    let device = global.open()?;

    let weights = arguments.weights.as_ref().map(|path| npy::read(path, "weights", npy::NUMBERS, progress)).transpose()?;
    let (source, next) = match &arguments.input {
        Some(path) => (path.display().to_string(), npy::read_i32(path, "next", "an element", progress)?),
        None => {
            let default = if device.backend() == Backend::Cuda { 100_000_000 } else { 10_000_000 };
            // Files hold no more than a u32 of elements.
            let n = n.unwrap_or(weights.as_ref().map_or(default, |weights| weights.len() as u32));
            check_head(arguments.head, n as usize)?;
            check_memory(&device, n as usize, arguments)?;
            let kind = arguments.kind.unwrap_or(ListKind::Random);
            (kind.name().to_owned(), generate(kind, n, arguments.seed, progress))
        }
    };
    if let (Some(path), Some(weights)) = (&arguments.weights, &weights)
        && weights.len() != next.len()
    {
        let (path, found, n) = (path.display(), weights.len(), next.len());
        let list = arguments.input.as_ref().map_or_else(|| "the list".to_owned(), |input| input.display().to_string());
        return Err(Failure::error(format_args!("{path} has {found} elements, but {list} has {n}")));
    }
    check_head(arguments.head, next.len())?;
    if arguments.input.is_some() {
        check_memory(&device, next.len(), arguments)?;
    }

    let options = Options {
        strategy: arguments.strategy.unwrap_or_default(),
        splitters: arguments.splitters,
        // No more than elements, whose numbers have 31 bits.
        sublists: arguments.sublists.map(|sublists| sublists as u32),
        trusted: arguments.trusted,
        // The splitters' seed has 32 bits.
        seed: arguments.seed as u32,
        timed: true,
        ..Options::default()
    };
    let (stream, runs) = (device.stream()?, arguments.repeat.unwrap_or(if device.backend() == Backend::Cuda { 10 } else { 1 }));
    let job = Job { arguments, device: &device, stream: &stream, options, next: &next, runs, outputs, progress };
    let made = match &weights {
        _ if arguments.forest => job.forest()?,
        None => job.ranks()?,
        Some(Array::I32(weights)) => job.sums(weights)?,
        Some(Array::I64(weights)) => job.sums(weights)?,
        Some(Array::F32(weights)) => job.sums(weights)?,
        Some(Array::F64(weights)) => job.sums(weights)?,
    };
    job.print(&source, weights.as_ref().map(Array::kind), &made)?;
    made.wrong.map_or(Ok(()), |wrong| Err(Failure::Verification(wrong.to_string())))
}

fn generate(kind: ListKind, n: u32, seed: u64, progress: Progress) -> Vec<i32> {
    let name = kind.name();
    let _work = progress.spinner(n as usize, format!("generating a {name} list of {} elements", format::grouped(n as usize)));
    let start = Instant::now();
    let next = kind.generate(n, seed);
    tracing::info!(n, seed, elapsed = ?start.elapsed(), "generated a {name} list");
    next
}

fn check_head(head: Option<i64>, n: usize) -> Result<(), Failure> {
    match head {
        Some(head) if head as u64 >= n as u64 => {
            Err(Failure::error(format_args!("head {head} is not an element: there are {}, from 0", format::grouped(n))))
        }
        _ => Ok(()),
    }
}

/// Refuses a list that would not fit into the host's memory.
fn check_memory(device: &Device, n: usize, arguments: &ListRankArgs) -> Result<(), Failure> {
    let when = |condition: bool, bytes: usize| if condition { bytes } else { 0 };
    let sums = arguments.weights.is_some();
    // Each array's bytes per element: what is generated and what is read back.
    let host = when(arguments.input.is_none(), 4)
        + when(arguments.verify || arguments.output.is_some(), if sums { 8 } else { 4 })
        + when(arguments.order.is_some(), 4)
        + when(arguments.forest, 4);
    // next; the result (and the weights), and a record of an offset and a sublist.
    let on_device = 4 + if sums { 8 + 8 + 16 } else { 4 + 8 } + when(arguments.order.is_some(), 4) + when(arguments.forest, 4);
    let needed = n * (host + when(device.backend() == Backend::Cpu, on_device));
    size::check_memory(format::counted(n, "element", "elements"), needed as f64)
}

/// A list to rank, and how.
struct Job<'a> {
    arguments: &'a ListRankArgs,
    device: &'a Device,
    stream: &'a Stream,
    options: Options,
    next: &'a [i32],
    runs: usize,
    outputs: &'a Outputs,
    progress: Progress,
}

/// The results.
struct Made {
    /// The report of the run of median time.
    report: Report,
    /// The number of lists of a forest.
    lists: Option<usize>,
    /// Time of the comparison with a walk in ms, if there was one.
    verified: Option<f64>,
    /// The difference that the comparison found. Then nothing was written.
    wrong: Option<Mismatch>,
}

#[derive(Serialize)]
struct ListRankReport<'a> {
    system: &'static str,
    backend: String,
    device: &'a str,
    /// The list's kind or file.
    list: &'a str,
    #[serde(flatten)]
    report: &'a Report,
    /// `ranks`, `sums` or `forest`.
    result: &'static str,
    /// The weights' type.
    #[serde(skip_serializing_if = "Option::is_none")]
    weights: Option<&'static str>,
    /// The number of lists of a forest.
    #[serde(skip_serializing_if = "Option::is_none")]
    lists: Option<usize>,
    /// The number of runs; the times are of the run of median time.
    runs: usize,
    total_ms: f64,
    verified: Option<bool>,
}

impl Job<'_> {
    /// The head, which is an element, so that an i32 numbers it.
    fn head(&self) -> Option<i32> {
        self.arguments.head.map(|head| head as i32)
    }

    /// Brings a result to the host that is to be verified or written; otherwise returns nothing.
    fn download<T: Element>(&self, result: &Buffer<T>, is_written: bool) -> Result<Vec<T>, DeviceError> {
        if self.arguments.verify || is_written { self.stream.download_vec(result) } else { Ok(Vec::new()) }
    }

    /// Ranks the list, and finds its order.
    fn ranks(&self) -> Result<Made, Failure> {
        let next = self.device.upload(self.next)?;
        let mut ranks = self.device.alloc(self.next.len())?;
        let mut ranker = ListRanker::new(self.device, self.options.clone());
        let report = self.repeat(|| ranker.rank(self.stream, &next, self.head(), &mut ranks))?;

        let mut order = Vec::new();
        if self.arguments.order.is_some() {
            let mut buffer = self.device.alloc_zeroed(self.next.len())?;
            ranker.order(self.stream, &ranks, &mut buffer)?;
            order = self.stream.download_vec(&buffer)?;
        }
        let ranks = self.download(&ranks, self.arguments.output.is_some())?;
        let compare = |advance: &dyn Fn(usize)| {
            verify::ranks(self.next, self.head(), &ranks, advance)?;
            if self.arguments.order.is_some() { verify::order(&ranks, &order) } else { Ok(()) }
        };
        self.finish(report, None, compare, &ranks, [&order, &[]])
    }

    /// Sums weights along the list.
    fn sums<V: Summand + Element>(&self, weights: &[V]) -> Result<Made, Failure> {
        let next = self.device.upload(self.next)?;
        let on_device = self.device.upload(weights)?;
        let mut sums = self.device.alloc(self.next.len())?;
        let mut ranker = ListRanker::<V>::new(self.device, self.options.clone());
        let report = self.repeat(|| ranker.prefix_sums(self.stream, &next, self.head(), &on_device, &mut sums))?;

        let sums = self.download(&sums, self.arguments.output.is_some())?;
        let compare = |advance: &dyn Fn(usize)| verify::sums(self.next, self.head(), weights, &sums, advance);
        self.finish(report, None, compare, &sums, [&[], &[]])
    }

    /// Ranks a forest, and numbers its lists.
    fn forest(&self) -> Result<Made, Failure> {
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

        let ranks = self.download(&ranks, self.arguments.output.is_some())?;
        let lists = self.download(&lists, self.arguments.lists.is_some())?;
        let compare = |advance: &dyn Fn(usize)| verify::forest(self.next, &ranks, &lists, count, advance);
        self.finish(report, Some(count), compare, &ranks, [&[], &lists])
    }

    /// Ranks once to warm up, and then as often as asked; returns the report of the run of median time.
    fn repeat(&self, mut run: impl FnMut() -> Result<Report, ListError>) -> Result<Report, Failure> {
        let _work = self.progress.spinner(self.next.len(), format!("ranking on {}", self.device));
        let once = || {
            let report = run().map_err(|error| match (&error, &self.arguments.input) {
                (ListError::Device(_) | ListError::Miscounted { .. }, _) | (_, None) => error.into(),
                (_, Some(path)) => Failure::error(format_args!("{}: {error}", path.display())),
            })?;
            for step in &report.steps {
                tracing::debug!(ms = step.ms, bytes = step.bytes, "{}", step.name);
            }
            Ok::<_, Failure>(report)
        };
        repeat::median(Some(self.runs), once, Report::total_ms)
    }

    /// Compares the result with a walk, if that is asked for, and writes it unless the two differ.
    fn finish<V: Element>(
        &self,
        report: Report,
        lists: Option<usize>,
        compare: impl FnOnce(&dyn Fn(usize)) -> Result<(), Mismatch>,
        result: &[V],
        [order, numbers]: [&[i32]; 2],
    ) -> Result<Made, Failure> {
        let mut made = Made { report, lists, verified: None, wrong: None };
        if self.arguments.verify {
            let work = self.progress.bar(self.next.len(), "verifying");
            let start = Instant::now();
            made.wrong = compare(&|elements| work.advance(elements)).err();
            let elapsed = start.elapsed();
            tracing::info!(?elapsed, ok = made.wrong.is_none(), "verified");
            made.verified = Some(1e3 * elapsed.as_secs_f64());
        }
        if made.wrong.is_none() {
            let _work = self.progress.spinner(self.next.len(), "writing");
            let [to_result, to_order, to_lists] = self.outputs;
            let of_result = to_result.iter().map(|output| written(output, result));
            let of_order = to_order.iter().map(|output| written(output, order));
            let of_lists = to_lists.iter().map(|output| written(output, numbers));
            // All or none is replaced.
            let files = of_result.chain(of_order).chain(of_lists).collect::<Result<Vec<_>, _>>()?;
            Destination::persist_all(&files)?;
        }
        Ok(made)
    }

    /// Prints the results, as JSON or as a line, with --repeat also as a table with one row per step.
    fn print(&self, source: &str, weights: Option<Kind>, made: &Made) -> Result<(), Failure> {
        let Made { report, lists, verified, wrong } = made;
        if self.arguments.json {
            return terminal::print_json(&ListRankReport {
                system: "list-rank",
                backend: self.device.backend().to_string(),
                device: self.device.name(),
                list: source,
                report,
                result: match (lists, weights) {
                    (Some(_), _) => "forest",
                    (None, Some(_)) => "sums",
                    (None, None) => "ranks",
                },
                weights: weights.map(Kind::name),
                lists: *lists,
                runs: self.runs,
                total_ms: report.total_ms(),
                verified: verified.map(|_| wrong.is_none()),
            });
        }
        let device = match self.device.backend() {
            Backend::Cuda => self.device.to_string(),
            Backend::Cpu => {
                format!("the CPU ({})", format::counted(self.device.info().multiprocessors as usize, "worker", "workers"))
            }
        };
        let what = match (lists, weights) {
            (Some(lists), _) => format!("list-rank, a forest of {}", format::counted(*lists, "list", "lists")),
            (None, Some(kind)) => format!("list-rank, sums of {} weights", kind.name()),
            (None, None) => "list-rank".to_owned(),
        };
        terminal::print(format_args!(
            "{what}: {} ({source}) on {device}, {}, strategy {}",
            format::counted(report.n, "element", "elements"),
            format::counted(report.sublists, "sublist", "sublists"),
            report.strategy.name()
        ))?;
        if self.arguments.repeat.is_some() {
            terminal::print(terminal::steps(&report.steps))?;
        }
        terminal::print(repeat::in_words(self.runs, report.n, report.total_ms(), "elements"))?;
        match verified {
            _ if wrong.is_some() => return Ok(()),
            None => terminal::print("Not verified (--verify compares with a sequential walk).")?,
            Some(ms) => {
                terminal::print(format_args!("Verified: equal to a sequential walk on the host ({}).", format::time(*ms)))?
            }
        }
        for output in self.outputs.iter().flatten() {
            terminal::print(format_args!("Written: {}", output.name().display()))?;
        }
        Ok(())
    }
}

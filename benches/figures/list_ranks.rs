//! The figures of docs/cluster.md on lists over ranks.
//!
//! `cargo bench --bench figures -- list_ranks --n 2e9` ranks lists of so many elements for each rank, on one rank and
//! on as many as there are GPUs (or `--ranks R`, which share them): a random list, one of runs of 1,024 elements, and a
//! sequential one. Each time is the median of five of the slowest rank's, after one that isn't counted; all ranks are
//! verified. `--groups 16,32,64` tries other numbers of elements for each splitter. For several ranks
//! on GPUs, a model of weak scaling to 1,024 GPUs follows, by the rates that were measured: see [`Model`].

use std::{error::Error, sync::Arc};

use gpu_kernels::list_rank::distributed as kernels;
use warpsmith::{
    device::{Backend, Device, LaunchConfig},
    launch,
    list_rank::{
        ListRanker, Options as OneOptions,
        distributed::{self, DistributedRanker, Options, Report, layout},
    },
    ranks::{Communicator, threads},
};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const RUNS: usize = 5;

struct Arguments {
    n: u64,
    ranks: usize,
    groups: Vec<u32>,
}

pub fn main(given: Vec<String>) -> std::result::Result<(), Box<dyn Error>> {
    let best = Device::best()?;
    let devices: Vec<_> = Device::all()?.into_iter().filter(|device| device.backend() == best.backend()).collect();
    let n = if best.backend() == Backend::Cuda { 100_000_000 } else { 100_000 };
    let mut arguments = Arguments { n, ranks: devices.len(), groups: vec![Options::default().group] };
    let mut given = given.into_iter();
    while let Some(name) = given.next() {
        let mut value = || given.next().ok_or(format!("{name} wants a value"));
        match name.as_str() {
            "--n" => arguments.n = value()?.parse::<f64>()? as u64,
            "--ranks" => arguments.ranks = value()?.parse()?,
            "--groups" => arguments.groups = value()?.split(',').map(str::parse).collect::<std::result::Result<_, _>>()?,
            other => return Err(format!("unknown argument {other}").into()),
        }
    }
    println!("{best}, {} elements for each rank, medians of {RUNS}", arguments.n);
    one(&best, arguments.n).map_err(|error| error.to_string())?;
    let mut counts = vec![1, arguments.ranks];
    counts.dedup();
    let sharing = arguments.ranks.div_ceil(devices.len()) as f64;
    let mut measured = Vec::new();
    for size in counts {
        let devices: Vec<_> = devices.iter().cloned().cycle().take(size).collect();
        let n = arguments.n * size as u64;
        println!("\n{size} ranks, {n} elements");
        println!(
            "  {:<14} {:>5} {:>9} {:>12} {:>9} {:>9} {:>9} {:>7} {:>9} {:>11}",
            "list", "group", "ms", "ns/element", "measure", "remainder", "number", "rounds", "GB sent", "exchange ms"
        );
        for &group in &arguments.groups {
            for (name, run) in [("random", 1), ("runs of 1024", 1024), ("sequential", n)] {
                let options = Options { group, ..Options::default() };
                let report = threads::run(&devices, |device, ranks| time(device, ranks, n, run, &options));
                let report = report.map_err(|error| error.to_string())?.swap_remove(0);
                show(name, &report);
                if run == 1 && group == arguments.groups[0] {
                    measured.push((size, report));
                }
            }
        }
        // What a round costs where there is next to nothing to do.
        let report = threads::run(&devices, |device, ranks| time(device, ranks, 20_000, 1, &Options::default()));
        let report = report.map_err(|error| error.to_string())?.swap_remove(0);
        let round = 1e3 * report.total_ms() / report.rounds.max(1) as f64;
        if report.rounds > 0 {
            println!("  {round:.1} us for each of {} rounds of a short list", report.rounds);
        }
        if let [(1, alone), (several, together)] = &measured[..]
            && best.backend() == Backend::Cuda
        {
            Model::new(alone, (*several, together), sharing, round).print(arguments.n);
        }
    }
    Ok(())
}

fn step(report: &Report, name: &str) -> f64 {
    report.steps.iter().filter(|step| step.name == name).map(|step| step.ms).sum()
}

fn show(name: &str, report: &Report) {
    let ms = report.total_ms();
    let step = |name: &str| step(report, name);
    println!(
        "  {name:<14} {:>5} {ms:>9.2} {:>12.4} {:>9.2} {:>9.2} {:>9.2} {:>7} {:>9.2} {:>11.2}",
        report.n / report.nodes.first().copied().unwrap_or(1).max(1),
        1e6 * ms / report.n as f64,
        step("measure"),
        step("remainder"),
        step("number"),
        report.rounds,
        report.sent as f64 / 1e9,
        report.exchange_ms
    );
}

/// The run of median time.
fn time(device: &Device, ranks: Arc<dyn Communicator>, n: u64, run: u64, options: &Options) -> Result<Report> {
    let (rank, layout, stream) = (ranks.rank(), layout(n, ranks.size())?, device.stream()?);
    let next = distributed::generate(&stream, layout, rank, run, 1)?;
    let mut result = device.alloc(next.len())?;
    let mut ranker = DistributedRanker::new(device, ranks.clone(), options.clone());
    let mut reports = Vec::new();
    for turn in 0..=RUNS {
        ranks.barrier()?;
        let report = ranker.rank(&stream, n, &next, None, &mut result)?;
        // All begin and end together, but for the last step.
        let slowest = ranks.max(report.total_ms())?;
        if turn > 0 {
            reports.push((slowest, report));
        }
    }
    ranker.verify(&stream, n, &next, &result)?;
    reports.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(reports.swap_remove(RUNS / 2).1)
}

/// The ranker of one device, on the same random list in 32 bits.
fn one(device: &Device, n: u64) -> Result<()> {
    if n >= i32::MAX as u64 {
        return Ok(());
    }
    let (stream, layout) = (device.stream()?, layout(n, 1)?);
    for (name, run) in [("random", 1), ("runs of 1024", 1024)] {
        let wide = distributed::generate(&stream, layout, 0, run, 1)?;
        let (starts, mut next) = (device.upload(&[0, n as u32])?, device.alloc(n as usize)?);
        let grid = LaunchConfig::for_elements(n as usize, 256).grid;
        launch!(stream, kernels::narrow<<<grid, 256>>>(&wide, layout, &starts, &mut next))?;
        drop(wide);
        let mut ranks = device.alloc(n as usize)?;
        let mut ranker = ListRanker::new(device, OneOptions { timed: true, ..OneOptions::default() });
        let mut times = Vec::new();
        for _ in 0..=RUNS {
            times.push(ranker.rank(&stream, &next, None, &mut ranks)?.total_ms());
        }
        times.remove(0);
        times.sort_by(f64::total_cmp);
        let ms = times[RUNS / 2];
        println!("  ListRanker, 32 bits, {name}: {ms:.2} ms, {:.4} ns per element", 1e6 * ms / n as f64);
    }
    Ok(())
}

/// Weak scaling of random lists: what was measured on one host, and what is assumed of the network between hosts.
struct Model {
    /// Walking, both times, without messages: ns for each of a GPU's elements.
    walk: f64,
    /// What a message adds, to make, send and take up within a host: ns.
    message: f64,
    /// A round in which next to nothing is sent: us. It was measured on so many GPUs, of which a list took so many
    /// rounds.
    round: f64,
    gpus: usize,
    rounds: usize,
    nodes: f64,
    /// The remainder: ns for each of its splitters. And how many elements there are for each.
    remainder: f64,
    group: f64,
}

/// GPUs of a host; the rest of the messages takes the network.
const OF_HOST: f64 = 8.0;
/// Assumed: 400 Gbit/s for each GPU, in bytes for each ns; and 1 us for each message that a rank posts, whatever is in
/// it.
const NETWORK: f64 = 50.0;
const POST: f64 = 1.0;
/// Bytes of a traveller, and of a splitter to the remainder's rank and back.
const TRAVELLER: f64 = 16.0;
const SPLITTER: f64 = 24.0;

impl Model {
    /// From the same number of elements for each rank on one, and on several, of which `sharing` take turns with a GPU.
    fn new(alone: &Report, (gpus, together): (usize, &Report), sharing: f64, round: f64) -> Self {
        let walks = |report: &Report| step(report, "measure") + step(report, "number");
        let nodes = |report: &Report| report.nodes.first().map_or(1.0, |&nodes| nodes.max(1) as f64);
        let messages = sharing * together.sent as f64 / TRAVELLER;
        let more = walks(together) - sharing * walks(alone) - 1e-3 * round * together.rounds as f64;
        Model {
            walk: 1e6 * walks(alone) / alone.n as f64,
            message: (1e6 * more / messages).max(0.0),
            round,
            gpus,
            rounds: together.rounds,
            nodes: nodes(together),
            remainder: 1e6 * step(alone, "remainder") / nodes(alone),
            group: alone.n as f64 / nodes(alone),
        }
    }

    /// The time on `gpus` GPUs with `n` elements each, in ms.
    fn time(&self, gpus: f64, n: f64) -> f64 {
        // Of a random list's successors, those on another rank, and on another host.
        let away = |gpus: f64| (gpus - 1.0) / gpus;
        let far = if gpus > OF_HOST { (gpus - OF_HOST) / (gpus - 1.0) } else { 0.0 };
        let messages = 2.0 * n * away(gpus);
        let walking = 1e-6 * (n * self.walk + messages * (self.message + far * TRAVELLER / NETWORK));
        // As many as the longest sublist has crossings.
        let nodes = gpus * n / self.group;
        let rounds = self.rounds as f64 * away(gpus) / away(self.gpus as f64) * (nodes.ln() / self.nodes.ln());
        let round = self.round * (gpus.log2() / (self.gpus as f64).log2()).max(1.0) + POST * (gpus - 2.0).max(0.0);
        let above = if nodes > Options::default().remainder as f64 {
            self.time(gpus, n / self.group)
        } else {
            1e-6 * nodes * (self.remainder + if gpus > OF_HOST { SPLITTER / NETWORK } else { 0.0 })
        };
        walking + 1e-3 * rounds * round + above
    }

    fn print(&self, n: u64) {
        let Model { walk, message, round, remainder, .. } = self;
        println!("\na MODEL of weak scaling, random lists of {n} elements for each GPU: {OF_HOST} GPUs a host");
        println!(
            "  measured: walking {walk:.4} ns for each element, {message:.4} ns for each message, {round:.1} us for each round,"
        );
        println!(
            "  {remainder:.4} ns for each splitter of the remainder; assumed: {NETWORK} GB/s for each GPU between hosts, {POST} us a post"
        );
        let one = self.time(1.0, n as f64);
        for gpus in (0..=10).map(|power| f64::from(1 << power)) {
            let ms = self.time(gpus, n as f64);
            println!(
                "  {gpus:>5} GPUs {ms:>10.1} ms {:>9.5} ns/element  efficiency {:.2}",
                1e6 * ms / (gpus * n as f64),
                one / ms
            );
        }
    }
}

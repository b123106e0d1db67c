//! The command line: parses arguments, runs a command, and reports how it ended.
//!
//! The only part of the program that prints: results on stdout, and progress, errors and `-v`'s
//! messages on stderr.

mod concurrency;
mod count;
mod demo;
mod devices;
mod draw;
mod duration;
mod edges;
mod failure;
mod format;
mod graph;
mod help;
mod homology;
mod interrupt;
mod list_rank;
mod memory;
mod named;
mod nest;
mod new;
mod npy;
mod opening;
mod output;
mod overlap;
mod pcf;
mod printable;
mod processes;
mod progress;
mod repeat;
mod rules;
mod size;
mod table;
mod terminal;
mod timeline;
mod tree;

use std::{
    error::Error as _,
    io::{self, Write as _},
    num::{IntErrorKind, ParseFloatError, ParseIntError},
    process::ExitCode,
};

use clap::{
    ArgAction, Args, FromArgMatches as _, Parser, Subcommand, ValueEnum,
    builder::{OsStringValueParser, TypedValueParser},
    error::ContextKind,
};
use failure::Failure;
use warpsmith::{
    device::{self, Device, DeviceError},
    threads,
};

/// The program's arguments.
#[derive(Debug, Parser)]
#[command(
    name = "warpsmith",
    version,
    disable_help_flag = true,
    about = "GPU algorithms with kernels written in Rust. Without a command: a demonstration.",
    long_about = "GPU algorithms with kernels written in Rust. They run on an NVIDIA GPU, or on the CPU if there is no GPU.\n\n\
        Without a command a demonstration runs.",
    after_help = "Examples:\n  \
        warpsmith                                    a demonstration\n  \
        warpsmith devices                            what there is to run on\n  \
        warpsmith list-rank --n 1e7 --verify         rank a random list\n  \
        warpsmith --backend cpu list-rank --n 1e6    the same on the CPU\n  \
        warpsmith tree root edges.npy --root 0       depths, subtrees and orders\n  \
        warpsmith graph bridges edges.npy            bridges of an undirected graph\n  \
        warpsmith pcf pdist set.npz -o d.npy         distances of all pairs\n  \
        warpsmith homology points.npy -o bars.npz    barcodes of point clouds\n  \
        warpsmith overlap total submission.csv       overlaps of a packing\n  \
        warpsmith nest parts.svg --sheet 600x400mm -o cut.svg    parts on sheets\n  \
        warpsmith concurrency --output study         what limits a kernel\n  \
        warpsmith rules --help                       schedules of CUDA+MPI programs\n  \
        warpsmith new my-kernels                     kernels of your own\n\n\
        Options of all commands:\n  \
        -h, --help           help that fits a screen; warpsmith help COMMAND has all\n  \
        --backend <BACKEND>  auto (a GPU if there is one, else the CPU), cuda, cpu\n  \
        --device <I>         CUDA device's number in warpsmith devices [default: 0]\n  \
        --threads <N>        worker threads on the CPU [default: one per core]\n  \
        -v, -vv              log to stderr what is done, or more\n  \
        -q, --quiet          no progress and no warnings on stderr\n\n\
        Exit codes: 0 done, 1 a verification failed, 2 any other error; cancelled: 130 by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP.\n\n\
        Environment: WARPSMITH_BACKEND (cuda or cpu) replaces `--backend auto`. WARPSMITH_THREADS (or RAYON_NUM_THREADS) is \
        the default of `--threads`. WARPSMITH_SYNC=1 waits for every launch, so that a fault on a GPU names its kernel. COLUMNS \
        is the width of tables; without it, the terminal's width or 80. NO_COLOR=1 turns colours off."
)]
struct Arguments {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Option<Command>,
}

/// Options of all commands.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Options of all commands")]
struct Global {
    /// Print help that fits a screen
    #[arg(short, long, action = ArgAction::HelpShort, global = true, hide_short_help = true)]
    help: Option<bool>,
    /// Backend for the kernels
    #[arg(long, value_enum, default_value_t = Backend::Auto, global = true, hide_short_help = true)]
    backend: Backend,
    /// Ordinal of the CUDA device, as `warpsmith devices` lists them [default: 0]
    #[arg(long, value_name = "I", global = true, hide_short_help = true)]
    device: Option<u32>,
    /// Worker threads on the CPU, for kernels and for the host's own computations [default:
    /// WARPSMITH_THREADS, else one per core]
    #[arg(long, value_name = "N", value_parser = count::up_to(threads::MOST), global = true, hide_short_help = true)]
    threads: Option<usize>,
    /// Log to stderr what is done; -vv logs more
    #[arg(short, long, action = ArgAction::Count, global = true, hide_short_help = true)]
    verbose: u8,
    /// Show no progress and no warnings on stderr
    #[arg(short, long, global = true, conflicts_with = "verbose", hide_short_help = true)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Backend {
    /// A GPU if one can be used, otherwise the CPU
    Auto,
    /// An NVIDIA GPU; an error if none can be used
    Cuda,
    /// The CPU
    Cpu,
}

// `about` is the line in the list of commands. A doc comment would replace the command's own longer
// text as well.
#[derive(Debug, Subcommand)]
enum Command {
    #[command(about = "Rank a linked list: how many elements come before each")]
    ListRank(list_rank::ListRankArgs),
    #[command(about = "Trees and forests: rooting, orders, lowest common ancestors, sums")]
    Tree(tree::TreeArgs),
    #[command(about = "Undirected graphs: components, bridges, biconnected components")]
    Graph(graph::GraphArgs),
    #[command(about = "Piecewise constant functions: sets, distances, clusters, pictures")]
    Pcf(pcf::Arguments),
    #[command(about = "Persistent homology: Vietoris-Rips bars of point clouds")]
    Homology(homology::Arguments),
    #[command(about = "Copies of polygons: overlaps, derivatives, packings, pictures")]
    Overlap(overlap::OverlapArgs),
    #[command(about = "Nest parts on sheets, from drawings to a drawing to cut from")]
    Nest(nest::Arguments),
    #[command(about = "Experiments with streams, graphs, threads, reductions and memory")]
    Concurrency(concurrency::Arguments),
    #[command(about = "Schedules of CUDA+MPI programs: search them, learn what is fast")]
    Rules(rules::Arguments),
    #[command(about = "List the devices: GPUs and the CPU")]
    Devices(devices::Arguments),
    #[command(about = "Start a project with GPU kernels of your own")]
    New(new::Arguments),
    Completions(help::Completions),
    Manual(help::Manual),
    /// A demonstration of each system, checked and timed
    #[command(after_help = "Examples:\n  \
        warpsmith demo                  on a GPU if there is one, otherwise on the CPU\n  \
        warpsmith demo --backend cpu    on the CPU")]
    Demo,
}

/// Returns a parser of UTF-8 texts. Its error names the option and shows the text.
fn utf8() -> impl TypedValueParser<Value = String> {
    OsStringValueParser::new().try_map(|text| text.into_string().map_err(|_| "it is not UTF-8 text"))
}

/// Says what number an option takes, in place of the words of Rust's parsers.
fn plain(error: clap::Error) -> clap::Error {
    let [argument, value] = [ContextKind::InvalidArg, ContextKind::InvalidValue].map(|kind| error.get(kind));
    let (Some(argument), Some(value), Some(source)) = (argument, value, error.source()) else { return error };
    let is_whole = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let expected = match source.downcast_ref::<ParseIntError>().map(ParseIntError::kind) {
        Some(IntErrorKind::PosOverflow | IntErrorKind::NegOverflow) => "the number has too many digits",
        // An option that may be negative would take this text.
        Some(_) if value.to_string().strip_prefix('-').is_some_and(is_whole) => "it must be a whole number from 0 on",
        Some(_) => "it must be a whole number",
        None if source.is::<ParseFloatError>() => "it must be a number",
        None => return error,
    };
    let text = format!("invalid value '{value}' for '{argument}': {expected}\n\nFor more information, try '--help'.\n");
    clap::Error::raw(error.kind(), text).with_cmd(&help::command())
}

/// Parses the arguments, runs the command and reports how it ended.
pub fn main() -> ExitCode {
    timeline::start();
    interrupt::handle();
    let parsed = help::command().try_get_matches().and_then(|matches| Arguments::from_arg_matches(&matches));
    let Arguments { global, command } = match parsed {
        Ok(arguments) => arguments,
        Err(error) if error.use_stderr() => plain(error).exit(),
        Err(help) => {
            let printed = help.print().and_then(|()| io::stdout().flush());
            return printed.map_or_else(|error| terminal::unprinted(&error).report(), |()| ExitCode::SUCCESS);
        }
    };
    terminal::trace(global.verbose);
    terminal::be_quiet(global.quiet);
    let result = threads::start(global.threads).map_err(Failure::error).and_then(|_| match command.unwrap_or(Command::Demo) {
        Command::ListRank(arguments) => list_rank::run(&global, &arguments),
        Command::Tree(arguments) => tree::run(&global, &arguments),
        Command::Graph(arguments) => graph::run(&global, &arguments),
        Command::Pcf(arguments) => pcf::run(&global, &arguments),
        Command::Homology(arguments) => homology::run(&global, &arguments),
        Command::Overlap(arguments) => overlap::run(&global, &arguments),
        Command::Nest(arguments) => nest::run(&global, &arguments),
        Command::Concurrency(arguments) => concurrency::run(&global, &arguments),
        Command::Rules(arguments) => rules::run(&global, &arguments),
        Command::Devices(arguments) => devices::run(&global, &arguments),
        Command::New(arguments) => new::run(&arguments),
        Command::Completions(arguments) => help::completions(&arguments),
        Command::Manual(arguments) => help::manual(&arguments),
        Command::Demo => demo::run(&global),
    });
    interrupt::ended();
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

impl Global {
    /// Opens at most `most` devices of the wanted backend, or only the device that the user chose.
    fn open_at_most(&self, most: u32) -> Result<Vec<Device>, Failure> {
        match self.open()? {
            device if device.backend() == device::Backend::Cuda && self.device.is_none() => {
                let opened = Device::several_cuda(0..most.min(Device::count_cuda()?));
                Ok(opened.into_iter().collect::<Result<_, _>>()?)
            }
            device => Ok(vec![device]),
        }
    }

    /// Opens the device to run on.
    fn open(&self) -> Result<Device, Failure> {
        self.open_for(0)
    }

    /// Opens the device for process `process`, from 0, of this host. The processes take different
    /// GPUs if there are enough.
    fn open_for(&self, process: u32) -> Result<Device, Failure> {
        let device = match (self.backend, self.device) {
            (Backend::Auto, None) => Device::of_process(process, device::Backend::wished()?)?,
            (Backend::Cuda, None) => Device::of_process(process, Some(device::Backend::Cuda))?,
            (Backend::Cpu, None) => Device::cpu(),
            (Backend::Cpu, Some(_)) => {
                return Err(Failure::error("--device numbers CUDA devices: it can't be used with --backend cpu"));
            }
            (Backend::Auto | Backend::Cuda, Some(ordinal)) => Device::cuda(ordinal)?,
        };
        let info = device.info();
        tracing::info!(backend = %info.backend, name = info.name, multiprocessors = info.multiprocessors, "device {device}");
        Ok(device)
    }

    /// Opens the first N GPUs, or returns the CPU N times. Without a number, opens the device to
    /// run on.
    fn open_several(&self, gpus: Option<usize>) -> Result<Vec<Device>, Failure> {
        let Some(gpus) = gpus else { return Ok(vec![self.open()?]) };
        if self.device.is_some() {
            return Err(Failure::error("--gpus can't be used with --device: it takes the GPUs from 0 on"));
        }
        // All at once, before it is known whether they are used: opening them one after the other
        // takes long.
        let may_be_cuda = match self.backend {
            Backend::Auto => device::Backend::wished()? != Some(device::Backend::Cpu),
            backend => backend == Backend::Cuda,
        };
        let opened_all = if may_be_cuda { Device::several_cuda(0..gpus as u32) } else { Vec::new() };
        let first = self.open()?;
        if first.backend() == device::Backend::Cpu {
            return Ok(vec![first; gpus]);
        }
        let opened = |(ordinal, device): (usize, Result<Device, DeviceError>)| match device {
            // The first GPU that doesn't exist tells their number.
            Err(DeviceError::NoDevice { .. }) if ordinal > 0 => {
                let (are, there) = (if ordinal == 1 { "is" } else { "are" }, format::counted(ordinal, "GPU", "GPUs"));
                Err(Failure::error(format_args!("--gpus {gpus} is asked for, but there {are} {there}")))
            }
            device => Ok(device?),
        };
        opened_all.into_iter().enumerate().map(opened).collect()
    }
}

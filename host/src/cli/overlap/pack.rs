//! `warpsmith overlap pack`.

use std::{
    ffi::OsString,
    io::{Write as _, stderr},
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;
use serde::Serialize;
use warpsmith::{
    device::{Backend, Device},
    files::{Destination, chain},
    overlap::{
        OverlapError, Packings, Shape,
        io::{Format, PoseFile, PoseLayout, read_poses, read_shape, save_poses_at},
        pack::{self, Budget, MOST_POSES, PackError, Packed, Packer, Saving, Settings},
    },
};

use super::{
    draw::{Picture, Polygons},
    submission::{self, Counts, Plan, parse_counts},
};
use crate::cli::{
    Global, count,
    failure::Failure,
    format,
    interrupt::Interrupt,
    output::{Files, Partial},
    picture,
    processes::{self, MOST_GPUS},
    progress::Progress,
    size, terminal, utf8,
};

/// For how long to search where nothing is said.
pub const TIME: Duration = Duration::from_secs(30);
/// The most steps: for ever.
pub const MOST_STEPS: usize = 1_000_000_000_000;
/// About what a pose takes of the host's memory: on the CPU, and beside a GPU.
const CPU_BYTES: f64 = 1400.0;
const HOST_BYTES: f64 = 300.0;
/// Progress is shown in thousandths.
pub const THOUSAND: usize = 1000;

/// Options of `overlap pack`.
#[derive(Args, Debug)]
#[command(
    long_about = "Pack copies of a shape into as small a square as can be found.\n\n\
        Many packings are squeezed at once on the device, changed a little and squeezed again, for as long as --time or --steps say. \
        They start as squares cut out of the densest lattices of the shape, and few copies also at random. \
        The best one is let out until no two copies overlap, and written with the square centred at the origin. Ctrl-C or SIGTERM ends \
        the search early: what was found until then is settled and written in the same way, with exit code 130 or 143; a second one ends \
        at once.\n\n\
        Every few seconds the best packing so far is written to a file beside the output, POSES.partial.csv for POSES.csv, which goes at \
        the end. Where a search doesn't come to its end, --resume goes on from there, and nothing larger comes of it.\n\n\
        With --counts and --submission, packings of many counts are searched for at once, and written as a submission to Kaggle's \
        Santa 2025. Where the file is there already, the search goes on from it, and none of its packings becomes larger; it is \
        written anew, whole, every few seconds.\n\n\
        With --gpus, each GPU searches with as many packings and other random numbers, and now and then gets the best packings of \
        another; ranks under mpirun do the same (in builds with the feature mpi), and rank 0 writes.\n\n\
        With --steps, a seed gives the same packing each time on as many devices of the same kind.",
    after_help = "Examples:\n  \
        warpsmith overlap pack --count 50 --output poses.csv                                30 s of search\n  \
        warpsmith overlap pack --count 50 --time 5m --output poses.npy --plot packing.svg   and a picture\n  \
        warpsmith overlap pack --count 12 --steps 20000 --starts 16 --seed 7 --output poses.csv\n  \
        warpsmith overlap pack --count 50 --time 10h --resume --output poses.csv            go on from poses.csv\n  \
        warpsmith overlap pack --count 30 --shape l.svg --output poses.csv --json           one JSON object\n  \
        warpsmith overlap pack --counts 1..200 --submission out.csv --time 20m              a whole submission\n  \
        warpsmith overlap pack --count 100 --gpus 2 --output poses.csv                      on two GPUs"
)]
pub struct Arguments {
    /// How many copies
    #[arg(
        long, value_name = "N", value_parser = count::up_to(MOST_POSES), allow_negative_numbers = true,
        required_unless_present = "counts"
    )]
    count: Option<usize>,
    /// Of how many trees a submission is to have packings: 1..200, 7, 10..20,50
    #[arg(long, value_name = "COUNTS", value_parser = parse_counts, requires = "submission", conflicts_with = "count")]
    counts: Option<Counts>,
    /// The shape: `tree`, a file .json, .svg or .wkt, or WKT
    #[arg(long, value_name = "SHAPE", default_value = "tree", value_parser = utf8())]
    shape: String,
    /// Seed of all that is random
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// How many packings to work on at once [default: 256 on a GPU, 4 on the CPU]
    #[arg(long, value_name = "N", value_parser = count::up_to(MOST_POSES), allow_negative_numbers = true)]
    starts: Option<usize>,
    /// Search for N steps of every packing
    #[arg(long, value_name = "N", value_parser = count::up_to(MOST_STEPS), allow_negative_numbers = true, conflicts_with = "time")]
    steps: Option<usize>,
    /// Search for about this long: 30s, 5m, 1.5h [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = parse_time, allow_hyphen_values = true)]
    time: Option<Duration>,
    /// Go on from the output's packing, or from what a search left beside it, if there is one: the smaller of both
    #[arg(long)]
    resume: bool,
    /// Go on from the packings of this submission, too
    #[arg(long, value_name = "SUBMISSION.CSV", requires = "submission")]
    from: Option<PathBuf>,
    /// Write the poses: .npy of shape (N, 3), or .csv
    #[arg(long, value_name = "POSES.CSV", required_unless_present = "submission")]
    output: Option<PathBuf>,
    /// Write a submission to Kaggle's Santa 2025; what is there already only becomes better
    #[arg(long, value_name = "OUT.CSV", requires = "counts", conflicts_with_all = ["count", "output", "plot", "resume"])]
    submission: Option<PathBuf>,
    /// Search on the first N GPUs; on the CPU, N searches beside each other [default: 1, that of --device]
    #[arg(long, value_name = "N", value_parser = count::up_to(MOST_GPUS), allow_negative_numbers = true)]
    gpus: Option<usize>,
    /// Draw the packing: .png or .svg
    #[arg(long, value_name = "OUT.SVG")]
    plot: Option<PathBuf>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Object<'a> {
    system: &'static str,
    command: &'static str,
    shape: &'a str,
    device: String,
    count: usize,
    seed: u64,
    starts: usize,
    steps: usize,
    seconds: f64,
    /// Of every packing.
    steps_per_second: f64,
    side: f64,
    /// side^2 / count.
    score: f64,
    density: f64,
    cancelled: bool,
    /// steps, seconds, side.
    history: Vec<(usize, f64, f64)>,
    output: String,
    plot: Option<String>,
}

/// Runs the command.
pub fn run(global: &Global, arguments: &Arguments) -> Result<(), Failure> {
    let budget = submission::budget(arguments.steps, arguments.time);
    let (output, n) = match (&arguments.output, arguments.count, &arguments.submission) {
        (_, _, Some(file)) => {
            let plan = Plan {
                command: "pack",
                file,
                shape: &arguments.shape,
                counts: arguments.counts.as_ref(),
                from: arguments.from.as_deref(),
                seed: arguments.seed,
                starts: arguments.starts,
                gpus: arguments.gpus,
                budget,
                json: arguments.json,
            };
            return submission::pack(global, &plan);
        }
        (Some(output), Some(n), None) => (output, n),
        // The options' own rules leave nothing else.
        _ => return Err(Failure::error("--count goes with --output, and --counts with --submission")),
    };
    let format = Format::of(output)?;
    let mut files = Files::reading([&arguments.shape]);
    let destination = files.write(output)?;
    let plot = arguments.plot.as_ref().map(|path| picture::prepare(&mut files, path)).transpose()?;
    let mut partial = Partial::prepare(&mut files, &beside(output), arguments.resume)?;
    let shape = read_shape(&arguments.shape)?;
    let places = processes::places(global, arguments.gpus)?;
    let device = &places.devices[0];
    let found = if arguments.resume { smallest([partial.path(), Some(output)], &shape)? } else { None };
    let settings = Settings {
        shape: shape.clone(),
        count: n,
        seed: arguments.seed,
        starts: arguments.starts,
        from: found.as_ref().map(|(_, poses)| poses.clone()),
        budget,
    };
    let failure = |error: PackError| match (&error, &found) {
        (PackError::StartCount { .. } | PackError::StartOverlaps { .. }, Some((path, _))) => {
            Failure::error(format_args!("{}: {error}", path.display()))
        }
        _ => Failure::error(chain(&error)),
    };
    let mut packer = Packer::new(device, settings).map_err(failure)?.also_on(&places.devices[1..]);
    if let Some(ranks) = &places.ranks {
        // All have read what there was before any writes.
        ranks.barrier().map_err(Failure::error)?;
        packer = packer.among(ranks);
    }
    let interrupt = Interrupt::first_sets("stopping with the best so far");
    let packer = packer.cancelled_by(interrupt.cancel());
    let poses = n * packer.starts() * places.devices.len();
    size::check_memory(format::counted(poses, "pose", "poses"), poses as f64 * pose_bytes(device))?;

    let progress = Progress::new(arguments.json || global.verbose > 0 || !places.is_first());
    let work = progress.costly_bar(THOUSAND, usize::MAX, format!("packing on {places}"));
    let told = |reached: pack::Progress| {
        let share = match budget {
            Budget::Steps(steps) => reached.steps as f64 / steps as f64,
            Budget::Time(time) => reached.seconds / time.as_secs_f64(),
        };
        work.reach((share.min(1.0) * THOUSAND as f64) as usize, THOUSAND);
        work.say(format!("packing on {places}: side {:.6}", reached.side));
        tracing::debug!(steps = reached.steps, side = reached.side, "squeezed");
    };
    let save = |poses: &[[f64; 3]], side: f64| {
        match write(poses, partial.destination(), format) {
            Ok(()) => tracing::debug!(side, "saved"),
            // The disk may have room again at the end.
            Err(error) => work.warn(error),
        }
    };
    let packed = packer.run_saving(told, Saving::default(), save);
    drop(work);
    let packed = packed.map_err(failure).inspect_err(|_| {
        if let Some(path) = partial.path() {
            let _ = writeln!(stderr(), "the best packing until then is in {}; --resume goes on from it", path.display());
        }
    })?;

    if !places.is_first() {
        return if packed.cancelled { Err(Failure::Cancelled) } else { Ok(()) };
    }
    write(&packed.poses, &destination, format)?;
    partial.remove();
    tracing::info!("wrote {}", output.display());
    let score = packed.side * packed.side / n as f64;
    if let Some((format, destination)) = &plot {
        let copies = format::counted(n, "copy", "copies");
        let title = format!("{copies} of {}, side {:.6}, side²/n {score:.6}", shape.name(), packed.side);
        let polygons = packed.poses.iter().map(|&pose| Polygons { shape: 0, rings: shape.posed(pose).collect() }).collect();
        let half = 0.5 * packed.side;
        let square = [[-half, -half], [half, -half], [half, half], [-half, half]];
        let drawn = Picture { title: &title, polygons, common: Vec::new(), square };
        let bytes = match format {
            picture::Format::Png => drawn.png(),
            picture::Format::Svg => drawn.svg(),
        };
        picture::write(destination, bytes)?;
    }

    let object = Object {
        system: "overlap",
        command: "pack",
        shape: shape.name(),
        device: places.to_string(),
        count: n,
        seed: arguments.seed,
        starts: packed.starts,
        steps: packed.steps,
        seconds: packed.seconds,
        steps_per_second: packed.steps as f64 / packed.seconds,
        side: packed.side,
        score,
        density: packed.density,
        cancelled: packed.cancelled,
        history: packed.history.iter().map(|reached| (reached.steps, reached.seconds, reached.side)).collect(),
        output: output.display().to_string(),
        plot: arguments.plot.as_ref().map(|path| path.display().to_string()),
    };
    if arguments.json { terminal::print_json(&object) } else { object.print(&packed) }?;
    if packed.cancelled { Err(Failure::Cancelled) } else { Ok(()) }
}

/// About what a pose takes of the host's memory.
pub fn pose_bytes(device: &Device) -> f64 {
    if device.backend() == Backend::Cpu { CPU_BYTES } else { HOST_BYTES }
}

/// The file beside the output: of the same format.
fn beside(output: &Path) -> PathBuf {
    let mut extension = OsString::from("partial.");
    extension.push(output.extension().unwrap_or_default());
    output.with_extension(extension)
}

/// A file and its packing.
type Found = (PathBuf, Vec<[f64; 3]>);

/// The packing of the least side of those that are there, and its file.
fn smallest(paths: [Option<&Path>; 2], shape: &Shape) -> Result<Option<Found>, Failure> {
    let mut smallest: Option<(f64, Found)> = None;
    for path in paths.into_iter().flatten().filter(|path| path.exists()) {
        let PoseFile { packings, layout, .. } = read_poses(path, false)?;
        if layout != PoseLayout::Single {
            return Err(Failure::error(format_args!("{}: it holds other than a single packing", path.display())));
        }
        let poses = packings.poses().to_vec();
        let vertices = || poses.iter().flat_map(|&pose| shape.posed(pose)).flatten();
        let width = |axis: usize| {
            let (low, high) = vertices()
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), vertex| (low.min(vertex[axis]), high.max(vertex[axis])));
            high - low
        };
        let side = width(0).max(width(1));
        if smallest.as_ref().is_none_or(|(least, ..)| side < *least) {
            smallest = Some((side, (path.to_owned(), poses)));
        }
    }
    Ok(smallest.map(|(_, found)| found))
}

/// Writes a packing.
fn write(poses: &[[f64; 3]], destination: &Destination, format: Format) -> Result<(), OverlapError> {
    save_poses_at(&Packings::one(poses.to_vec())?, PoseLayout::Single, destination, format)
}

impl Object<'_> {
    fn print(&self, packed: &Packed) -> Result<(), Failure> {
        let header = ["n", "side (length)", "side^2 / n", "density", "time", "steps/s", "starts"];
        let mut table = terminal::table(header, 0..header.len());
        table.add_row([
            format::grouped(self.count),
            format!("{:.9}", self.side),
            format!("{:.9}", self.score),
            format!("{:.2} %", 100.0 * self.density),
            format::time(1e3 * self.seconds),
            format::grouped(self.steps_per_second.round() as usize),
            format::grouped(self.starts),
        ]);
        terminal::print(table)?;
        terminal::print(format_args!(
            "{} of {} of {} on {}; no two copies overlap.",
            format::counted(packed.steps, "step", "steps"),
            format::counted(packed.starts, "packing", "packings"),
            self.shape,
            self.device
        ))?;
        terminal::print(format_args!("Written: {}", self.output))?;
        self.plot.as_ref().map_or(Ok(()), |plot| terminal::print(format_args!("Written: {plot}")))
    }
}

/// Reads a time: `30s`, `5m`, `1.5h`, `500ms`; seconds without a unit.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let units = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let (number, unit) = units.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit))).unwrap_or((text, 1.0));
    let seconds = number.trim().parse::<f64>().ok().map(|number| number * unit);
    // A year is as good as for ever, and doesn't overflow.
    let seconds = seconds.filter(|seconds| *seconds > 0.0 && *seconds <= 3.2e7);
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "not a time: write 30s, 5m or 1.5h".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_written() {
        for (text, seconds) in [("30s", 30.0), ("5m", 300.0), ("1.5h", 5400.0), ("500ms", 0.5), ("2", 2.0), (" 3 s", 3.0)] {
            assert_eq!(parse_time(text), Ok(Duration::from_secs_f64(seconds)), "{text}");
        }
        for text in ["", "0s", "-1s", "s", "1d", "inf", "nan", "1e9h"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }
}

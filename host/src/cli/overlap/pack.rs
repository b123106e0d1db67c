//! `warpsmith overlap pack`.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io::{Write as _, stderr},
    iter::repeat_n,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{Args, ValueEnum};
use serde::Serialize;
use warpsmith::{
    device::{Backend, Device},
    files::{Destination, chain},
    overlap::{
        Boundary, OverlapError, Packings, Shape,
        io::{Format, PoseFile, PoseLayout, read_poses, read_shape, save_poses_at},
        pack::{self, Budget, MOST_POSES, PackError, Packed, Packer, Saving, Settings, Turns},
    },
};

use super::{
    draw::{Picture, Polygons},
    submission::{self, Counts, Plan, parse_counts},
};
use crate::cli::{
    Global, count,
    draw::Target,
    duration,
    failure::Failure,
    format,
    interrupt::Interrupt,
    output::{Files, Partial},
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
/// And for pairs of copies of several shapes, at most.
const PAIR_BYTES: f64 = 1_073_741_824.0;
/// Progress is shown in thousandths.
pub const THOUSAND: usize = 1000;

/// Options of `overlap pack`.
#[derive(Args, Debug)]
#[command(
    long_about = "Pack copies of a shape, or of several, into as small a container as can be found: a square, a strip of a given width, \
        a circle or a convex polygon.\n\n\
        Many packings are squeezed at once on the device, changed a little and squeezed again, for as long as --time or --steps say. \
        Those of one shape start as containers cut out of its densest lattices, and few copies also at random. \
        Copies of several shapes start at random, are taken apart one by one in ever smaller containers, and are squeezed then. \
        The best one is let out until no two copies overlap, and written with the container about the origin: a polygon is moved so that \
        its centroid is there. Ctrl-C or SIGTERM ends \
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
        warpsmith overlap pack --count 50 --container strip:3 --output poses.csv            the least height of width 3\n  \
        warpsmith overlap pack --shape l.svg:7 --shape tree:9 --container circle --turns 90 --output poses.csv\n  \
        warpsmith overlap pack --counts 1..200 --submission out.csv --time 20m              a whole submission\n  \
        warpsmith overlap pack --count 100 --gpus 2 --output poses.csv                      on two GPUs"
)]
pub struct Arguments {
    /// How many copies, of one shape
    #[arg(long, value_name = "N", value_parser = count::up_to(MOST_POSES), allow_negative_numbers = true)]
    count: Option<usize>,
    /// Of how many trees a submission is to have packings: 1..200, 7, 10..20,50
    #[arg(long, value_name = "COUNTS", value_parser = parse_counts, requires = "submission", conflicts_with = "count")]
    counts: Option<Counts>,
    /// The shape: `tree`, a file .json, .svg or .wkt, or WKT; given again, several, each with its number of copies
    /// [default: tree]
    #[arg(long = "shape", value_name = "SHAPE[:N]", value_parser = utf8())]
    shapes: Vec<String>,
    /// What to pack them into: `square`, `strip:WIDTH`, `circle`, or a convex polygon by scale, from a file or in WKT
    #[arg(long, value_name = "CONTAINER", default_value = "square", value_parser = utf8())]
    container: String,
    /// How copies may be turned, in degrees: by `any` angle, by multiples of 90 or 180, or `none`
    #[arg(long, value_enum, default_value_t = Turned::Any)]
    turns: Turned,
    /// Seed of all that is random
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// How many packings to work on at once [default: 8 to 256 on a GPU, the fewer the more copies; 4 on
    /// the CPU, with --time up to one per thread]
    #[arg(long, value_name = "N", value_parser = count::up_to(MOST_POSES), allow_negative_numbers = true)]
    starts: Option<usize>,
    /// Search for N steps of every packing
    #[arg(long, value_name = "N", value_parser = count::up_to(MOST_STEPS), allow_negative_numbers = true, conflicts_with = "time")]
    steps: Option<usize>,
    /// Search for about this long: 30s, 5m, 1.5h [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = duration::parse, allow_hyphen_values = true)]
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
    #[arg(long, value_name = "OUT.CSV", requires = "counts", conflicts_with_all = ["count", "output", "plot", "resume", "container", "turns"])]
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

/// How copies may be turned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Turned {
    None,
    #[value(name = "90")]
    Quarters,
    #[value(name = "180")]
    Half,
    Any,
}

impl From<Turned> for Turns {
    fn from(turned: Turned) -> Self {
        match turned {
            Turned::None => Turns::None,
            Turned::Quarters => Turns::Quarters,
            Turned::Half => Turns::Half,
            Turned::Any => Turns::Any,
        }
    }
}

#[derive(Serialize)]
struct Kind {
    shape: String,
    count: usize,
}

#[derive(Serialize)]
struct Object<'a> {
    system: &'static str,
    command: &'static str,
    /// The shapes' names.
    shape: String,
    shapes: Vec<Kind>,
    device: String,
    count: usize,
    container: &'a str,
    /// Where it is a polygon, its corners.
    #[serde(skip_serializing_if = "Option::is_none")]
    corners: Option<Vec<[f64; 2]>>,
    seed: u64,
    starts: usize,
    steps: usize,
    seconds: f64,
    /// Of every packing.
    steps_per_second: f64,
    /// Side, height, radius or scale.
    #[serde(flatten)]
    side: BTreeMap<&'static str, f64>,
    /// The container's area over the number of copies: side^2 / count.
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
    let output = match (&arguments.output, &arguments.submission) {
        (_, Some(file)) => {
            let [shape] = &arguments.shapes()[..] else { return Err(Failure::error("--counts is of one shape")) };
            let plan = Plan {
                command: "pack",
                file,
                shape,
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
        (Some(output), None) => output,
        // The options' own rules leave nothing else.
        _ => return Err(Failure::error("--count goes with --output, and --counts with --submission")),
    };
    let format = Format::of(output)?;
    let kinds = arguments.kinds()?;
    if kinds.len() > 1 && format != Format::Csv {
        return Err(Failure::error(format_args!(
            "{}: copies of several shapes are written as text: the name must end in .csv",
            output.display()
        )));
    }
    let mut files = Files::reading(kinds.iter().map(|(text, _)| *text).chain([&*arguments.container]));
    let destination = files.write(output)?;
    let plot = arguments.plot.as_ref().map(|path| Target::prepare(&mut files, path)).transpose()?;
    let mut partial = Partial::prepare(&mut files, &beside(output), arguments.resume)?;
    let read = |(text, count): &(&str, usize)| Ok::<_, OverlapError>((read_shape(text)?, *count));
    let copies = kinds.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let container = read_container(&arguments.container)?;
    let places = processes::places(global, arguments.gpus)?;
    let device = &places.devices[0];
    let found = if arguments.resume { smallest([partial.path(), Some(output)], &copies, &container)? } else { None };
    let settings = Settings {
        copies: copies.clone(),
        container: container.clone(),
        turns: arguments.turns.into(),
        seed: arguments.seed,
        starts: arguments.starts,
        from: found.as_ref().map(|(_, poses)| poses.clone()),
        budget,
    };
    let n = settings.count();
    let shapes = settings.shapes();
    let failure = |error: PackError| match (&error, &found) {
        (
            PackError::StartCount { .. }
            | PackError::StartOverlaps { .. }
            | PackError::StartTurned { .. }
            | PackError::StartWide { .. },
            Some((path, _)),
        ) => Failure::error(format_args!("{}: {error}", path.display())),
        (PackError::TooNarrow { .. }, _) => Failure::error(format_args!("--container {}: {error}", arguments.container)),
        _ => Failure::error(chain(&error)),
    };
    let mut packer =
        Packer::new(device, settings).map_err(failure).inspect_err(|failure| places.end(failure))?.also_on(&places.devices[1..]);
    if let Some(ranks) = &places.ranks {
        // All have read what there was before any writes.
        ranks.barrier().map_err(Failure::error)?;
        packer = packer.among(ranks);
    }
    let interrupt = Interrupt::first_sets("stopping with the best so far");
    let packer = packer.cancelled_by(interrupt.cancel());
    let poses = n * packer.starts() * places.devices.len();
    // Beside them, what pairs of copies of several shapes have in common.
    let pairs = if copies.len() > 1 && device.backend() == Backend::Cpu {
        f64::min(8.0 * n as f64 * poses as f64, PAIR_BYTES)
    } else {
        0.0
    };
    size::check_memory(format::counted(poses, "pose", "poses"), poses as f64 * pose_bytes(device) + pairs)
        .inspect_err(|failure| places.end(failure))?;

    let progress = Progress::new(arguments.json || global.verbose > 0 || !places.is_first());
    let work = progress.costly_bar(THOUSAND, usize::MAX, format!("packing on {places}"));
    let told = |reached: pack::Progress| {
        let share = match budget {
            Budget::Steps(steps) => reached.steps as f64 / steps as f64,
            Budget::Time(time) => reached.seconds / time.as_secs_f64(),
        };
        work.reach((share.min(1.0) * THOUSAND as f64) as usize, THOUSAND);
        work.say(format!("packing on {places}: {} {:.6}", container.scale_name(), reached.side));
        tracing::debug!(steps = reached.steps, side = reached.side, "squeezed");
    };
    let save = |poses: &[[f64; 3]], side: f64| {
        match write(poses, &copies, partial.destination(), format) {
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
    write(&packed.poses, &copies, &destination, format)?;
    partial.remove();
    tracing::info!("wrote {}", output.display());
    let score = container.area(packed.side) / n as f64;
    let names = copies.iter().map(|(shape, _)| shape.name()).collect::<Vec<_>>().join(", ");
    if let Some(target) = &plot {
        let count = format::counted(n, "copy", "copies");
        let last = if container.is_square() {
            format!("side²/n {score:.6}")
        } else {
            format!("density {:.2} %", 100.0 * packed.density)
        };
        let title = format!("{count} of {names}, {} {:.6}, {last}", container.scale_name(), packed.side);
        let polygon = |(&pose, &shape): (&[f64; 3], &u32)| {
            let rings = copies[shape as usize].0.posed(pose).collect();
            Polygons { shape: shape as usize, rings }
        };
        let polygons = packed.poses.iter().zip(&shapes).map(polygon).collect();
        let drawn = Picture { title: &title, polygons, common: Vec::new(), container: container.outline(packed.side) };
        target.write(&drawn)?;
    }

    let object = Object {
        system: "overlap",
        command: "pack",
        shape: names,
        shapes: copies.iter().map(|(shape, count)| Kind { shape: shape.name().to_owned(), count: *count }).collect(),
        device: places.to_string(),
        count: n,
        container: &arguments.container,
        corners: (container.scale_name() == "scale").then(|| container.outline(packed.side)),
        seed: arguments.seed,
        starts: packed.starts,
        steps: packed.steps,
        seconds: packed.seconds,
        steps_per_second: packed.steps as f64 / packed.seconds,
        side: BTreeMap::from([(container.scale_name(), packed.side)]),
        score,
        density: packed.density,
        cancelled: packed.cancelled,
        history: packed.history.iter().map(|reached| (reached.steps, reached.seconds, reached.side)).collect(),
        output: output.display().to_string(),
        plot: arguments.plot.as_ref().map(|path| path.display().to_string()),
    };
    if arguments.json { terminal::print_json(&object) } else { object.print(&packed, &container) }?;
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

/// The packing of the least side of those that are there, with copies in the order of their shapes, and its file.
fn smallest(paths: [Option<&Path>; 2], copies: &[(Shape, usize)], container: &Boundary) -> Result<Option<Found>, Failure> {
    let mut smallest: Option<(f64, Found)> = None;
    for path in paths.into_iter().flatten().filter(|path| path.exists()) {
        let fail = |what: String| Failure::error(format_args!("{}: {what}", path.display()));
        let file = read_poses(path, false)?;
        file.packings.check_shapes(copies.len()).map_err(|error| file.error(path, error))?;
        let PoseFile { packings, layout, .. } = file;
        if layout != PoseLayout::Single {
            return Err(fail("it holds other than a single packing".to_owned()));
        }
        let mut order: Vec<usize> = (0..packings.poses().len()).collect();
        order.sort_by_key(|&pose| packings.shape_of(pose));
        for (shape, (_, count)) in copies.iter().enumerate().filter(|_| copies.len() > 1) {
            let found = order.iter().filter(|&&pose| packings.shape_of(pose) as usize == shape).count();
            if found != *count {
                let found = format::counted(found, "copy", "copies");
                return Err(fail(format!("the packing to start from has {found} of shape {shape}, and not {count}")));
            }
        }
        let shape = |pose: usize| &copies[packings.shape_of(pose) as usize].0;
        let vertices: Vec<_> = order.iter().flat_map(|&pose| shape(pose).posed(packings.poses()[pose])).flatten().collect();
        let side = container.fit(&vertices).unwrap_or(f64::INFINITY);
        if smallest.as_ref().is_none_or(|(least, ..)| side < *least) {
            let poses = order.iter().map(|&pose| packings.poses()[pose]).collect();
            smallest = Some((side, (path.to_owned(), poses)));
        }
    }
    Ok(smallest.map(|(_, found)| found))
}

/// Writes a packing; of several shapes, with their indices.
fn write(poses: &[[f64; 3]], copies: &[(Shape, usize)], destination: &Destination, format: Format) -> Result<(), OverlapError> {
    let packings = Packings::one(poses.to_vec())?;
    let packings = match copies {
        [_] => packings,
        copies => {
            let of = |(index, (_, count)): (usize, &(Shape, usize))| repeat_n(index as u32, *count);
            packings.with_shapes(copies.iter().enumerate().flat_map(of).collect())?
        }
    };
    save_poses_at(&packings, PoseLayout::Single, destination, format)
}

/// Reads a container.
fn read_container(text: &str) -> Result<Boundary, Failure> {
    let fail = |what: String| Failure::error(format_args!("--container {text}: {what}"));
    match text.split_once(':') {
        None if text == "square" => return Ok(Boundary::square()),
        None if text == "circle" => return Ok(Boundary::disk()),
        Some(("strip", width)) => {
            let number =
                width.trim().parse::<f64>().map_err(|_| fail("the width is not a number: write strip:2.5".to_owned()))?;
            return Boundary::strip(number).map_err(|error| fail(error.to_string()));
        }
        _ => {}
    }
    let shape = read_shape(text).map_err(|error| match error {
        OverlapError::NoShape { .. } => {
            fail("it must be `square`, `strip:WIDTH`, `circle`, a file .json, .svg or .wkt, or a POLYGON in WKT".to_owned())
        }
        error => fail(error.to_string()),
    })?;
    let [ring] = shape.outlines() else { return Err(fail("it must be one convex polygon, and is several pieces".to_owned())) };
    let corner = |k: usize| ring[k % ring.len()];
    let turn = |[a, b, c]: [[f64; 2]; 3]| (b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0]);
    if let Some(k) = (0..ring.len()).find(|&k| turn([corner(k), corner(k + 1), corner(k + 2)]) < 0.0) {
        let [x, y] = corner(k + 1);
        return Err(fail(format!("it must be convex, and isn't at its vertex ({x}, {y})")));
    }
    // From its middle, so that no digits are lost.
    let [u, v] = shape.center();
    let (mut area, mut sums) = (0.0, [0.0; 2]);
    for k in 0..ring.len() {
        let [a, b] = [corner(k), corner(k + 1)].map(|[x, y]| [x - u, y - v]);
        let twice = a[0] * b[1] - a[1] * b[0];
        area += twice;
        sums = [0, 1].map(|axis| sums[axis] + twice * (a[axis] + b[axis]) / 3.0);
    }
    let centroid = [u + sums[0] / area, v + sums[1] / area];
    let centred: Vec<_> = ring.iter().map(|[x, y]| [x - centroid[0], y - centroid[1]]).collect();
    Boundary::polygon(&centred).map_err(|error| fail(error.to_string()))
}

impl Arguments {
    /// The shapes as given.
    fn shapes(&self) -> Vec<&str> {
        if self.shapes.is_empty() { vec!["tree"] } else { self.shapes.iter().map(String::as_str).collect() }
    }

    /// The shapes, each with its number of copies.
    fn kinds(&self) -> Result<Vec<(&str, usize)>, Failure> {
        let counted = |text: &'_ str| {
            let (shape, count) = text.rsplit_once(':')?;
            Some((shape.len(), count.trim().parse::<usize>().ok()?))
        };
        let shapes = self.shapes();
        if let ([shape], Some(count)) = (&shapes[..], self.count) {
            return match counted(shape) {
                Some(_) => Err(Failure::error(format_args!("--shape {shape} has a number of copies, and so has --count"))),
                None => Ok(vec![(shape, count)]),
            };
        }
        if self.count.is_some() {
            return Err(Failure::error("--count is of one shape: of several, write --shape l.svg:7 --shape tree:9"));
        }
        let kind = |shape: &&'_ str| match counted(shape) {
            Some((length, count)) if (1..=MOST_POSES).contains(&count) => Ok((length, count)),
            Some(_) => Err(Failure::error(format_args!("--shape {shape}: the copies must be from 1 to {MOST_POSES}"))),
            None => Err(Failure::error(format_args!(
                "--shape {shape}: how many copies? Write --shape {shape}:7, or --count where there is one shape"
            ))),
        };
        let lengths = shapes.iter().map(kind).collect::<Result<Vec<_>, _>>()?;
        Ok(shapes.into_iter().zip(lengths).map(|(shape, (length, count))| (&shape[..length], count)).collect())
    }
}

impl Object<'_> {
    fn print(&self, packed: &Packed, container: &Boundary) -> Result<(), Failure> {
        let unit = if self.corners.is_some() { "" } else { " (length)" };
        let scale = format!("{}{unit}", container.scale_name());
        let score = if container.is_square() { "side^2 / n" } else { "area / n" };
        let header = ["n", &scale, score, "density", "time", "steps/s", "starts"];
        let mut table = terminal::table(header, 0..header.len());
        table.add_row([
            format::grouped(self.count),
            format!("{:.9}", packed.side),
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

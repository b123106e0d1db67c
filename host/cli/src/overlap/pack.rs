//! `warpsmith overlap pack` and `warpsmith overlap improve`.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    ffi::OsString,
    io::{Write as _, stderr},
    path::{Path, PathBuf},
};

use clap::Args;
use serde::Serialize;
use warpsmith::{
    common::chain,
    io::files::{Destination, is_standard},
    overlap::{
        Boundary, OverlapError, Packings, Shape,
        io::{Format, Part, PoseFile, PoseLayout, read_all, read_poses, read_shape, save_poses_at},
        pack::{Copies, MOST_POSES, PackError, Packing, Progress, Settings, Turns, read_container},
    },
};

use super::{
    draw::{Picture, Polygons},
    search::{SearchArgs, Searched},
    submission::{self, Counts, Plan, parse_counts},
};
use crate::{
    Global, count,
    draw::Target,
    failure::Failure,
    format,
    named::{self, Named},
    output::{Files, Partial},
    terminal, utf8,
};

#[derive(Args, Debug)]
#[command(
    long_about = "Pack copies of a shape, or of several, into as small a container as possible: a square, a strip of a given width, \
        a circle or a convex polygon.\n\n\
        Many candidates are improved at once on the device: changed a little, squeezed, and changed again, for as long as --time or \
        --steps say. Copies of one shape start as containers cut out of its densest lattices, and few copies also at random. Copies of \
        several shapes start at random, and are separated one by one in ever smaller containers before they are squeezed. The container \
        of the best candidate then grows until no two copies overlap. It is centred at the origin: a polygon by its centroid.\n\n\
        Ctrl-C or SIGTERM ends the search early. The best candidate is settled and written in the same way, with exit code 130 or 143; a \
        second signal ends the command at once.\n\n\
        Every few seconds the best packing so far is written to a file beside the output, POSES.partial.csv for POSES.csv, which is \
        removed at the end. If a search is killed, --resume goes on from that file, and the result is never larger.\n\n\
        With --counts and --submission, packings of many counts are searched for at once, and written as a submission to Kaggle's \
        Santa 2025. If the file exists, the search goes on from it, and none of its packings becomes larger. The whole file is \
        rewritten every few seconds.\n\n\
        With --gpus, each GPU searches with the same number of candidates and other random numbers, and now and then gets the best \
        packings of another. Ranks under mpirun do the same (in builds with the feature mpi), and rank 0 writes.\n\n\
        With --steps, a seed gives the same packing each time on the same number of devices of the same kind.",
    after_help = "Examples:\n  \
        warpsmith overlap pack --count 50 --output poses.csv                                30 s of search\n  \
        warpsmith overlap pack --count 50 --time 5m --output poses.npy --plot packing.svg   and a picture\n  \
        warpsmith overlap pack --count 12 --steps 20000 --starts 16 --seed 7 --output poses.csv\n  \
        warpsmith overlap pack --count 50 --time 10h --resume --output poses.csv            go on from poses.csv\n  \
        warpsmith overlap pack --count 50 --container strip:3 --output poses.csv            the least height of width 3\n  \
        warpsmith overlap pack --shape l.svg:7 --shape tree:9 --container circle --turns 90 --output poses.csv\n  \
        warpsmith overlap pack --shape l.svg:8 --turns 90 --mirror --output poses.csv       and their mirror images\n  \
        warpsmith overlap pack --counts 1..200 --submission out.csv --time 20m              a whole submission\n  \
        warpsmith overlap pack --count 100 --gpus 2 --output poses.csv                      on two GPUs"
)]
pub struct PackArgs {
    /// Number of copies of one shape
    #[arg(long, value_name = "N", value_parser = count::up_to(MOST_POSES))]
    count: Option<usize>,
    /// Numbers of trees of a submission's packings: 1..200, 7, 10..20,50
    #[arg(long, value_name = "COUNTS", value_parser = parse_counts, allow_hyphen_values = true, requires = "submission", conflicts_with = "count")]
    counts: Option<Counts>,
    /// The shape: `tree`, a file .json, .geojson, .svg, .dxf or .wkt, or WKT; given again, several [default: tree]
    ///
    /// Each of several has its number of copies, which is that of every shape of a file with several. It multiplies the demands
    /// of an instance of jagua-rs, which needs none. Of shapes of the same name, `l`, the second one is called `l 2`.
    #[arg(long = "shape", value_name = "SHAPE[:N]", value_parser = utf8())]
    shapes: Vec<String>,
    /// Container: `square`, `strip:WIDTH`, `circle`, or a convex polygon by scale, from a file or
    /// in WKT
    #[arg(long, value_name = "CONTAINER", default_value = "square", value_parser = utf8())]
    container: String,
    /// Allowed angles of copies, in degrees: `any`, `none`, 90 for its multiples, or 0,45,180 for these alone
    ///
    /// A number for its multiples divides 360. With NAME=, the angles are those of that shape; given again, of further ones. The
    /// default is what the files allow.
    #[arg(long, value_name = "[NAME=]TURNS")]
    turns: Vec<Named<Turns>>,
    /// Copies may be mirrored, or with =NAME those of one shape
    ///
    /// The poses' column `shape` then numbers mirror images after all shapes, as --mirror of the other commands does.
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    mirror: Vec<String>,
    /// Go on from the output's packing, if it exists
    ///
    /// If a search left a file beside it, the smaller packing counts.
    #[arg(long)]
    resume: bool,
    /// Go on from the packings of this submission, too
    #[arg(long, value_name = "SUBMISSION.CSV", requires = "submission", conflicts_with_all = ["count", "output"])]
    from: Option<PathBuf>,
    /// Write the poses: .npy of shape (N, 3), or .csv
    #[arg(long, value_name = "POSES.CSV", required_unless_present = "submission")]
    output: Option<PathBuf>,
    /// Write a submission to Kaggle's Santa 2025
    ///
    /// Packings of an existing file only become smaller.
    #[arg(long, value_name = "OUT.CSV", requires = "counts", conflicts_with_all = ["count", "output", "plot", "resume", "shapes", "container", "turns", "mirror"])]
    submission: Option<PathBuf>,
    /// Draw the packing: .png or .svg
    #[arg(long, value_name = "OUT.SVG")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    search: SearchArgs,
}

#[derive(Args, Debug)]
#[command(
    long_about = "Make the packings of a submission to Kaggle's Santa 2025 smaller: `overlap pack --submission` on an existing file.\n\n\
        The search works on all packings at once, from those of the file and from new starts. Every few seconds the whole file is \
        rewritten with the packings that have become smaller; the others stay as they are, digit by digit. Ctrl-C or SIGTERM ends the \
        search early, with exit code 130 or 143, and its results are kept.",
    after_help = "Examples:\n  \
        warpsmith overlap improve submission.csv --time 10m\n  \
        warpsmith overlap improve submission.csv --counts 30..60 --time 1h\n  \
        warpsmith overlap improve submission.csv --from other.csv --time 10m    the better of both"
)]
pub struct ImproveArgs {
    /// The submission: .csv with the header id,x,y,deg
    #[arg(value_name = "SUBMISSION.CSV")]
    submission: PathBuf,
    /// Numbers of trees: 1..200, 7, 10..20,50 [default: those that the file has]
    #[arg(long, value_name = "COUNTS", value_parser = parse_counts, allow_hyphen_values = true)]
    counts: Option<Counts>,
    /// Go on from this submission's packings, too
    #[arg(long, value_name = "SUBMISSION.CSV")]
    from: Option<PathBuf>,
    #[command(flatten)]
    search: SearchArgs,
}

#[derive(Serialize)]
struct Kind<'a> {
    shape: &'a str,
    count: usize,
}

#[derive(Serialize)]
struct Report<'a> {
    system: &'static str,
    command: &'static str,
    /// The shapes' names.
    shape: String,
    shapes: Vec<Kind<'a>>,
    device: String,
    count: usize,
    container: &'a str,
    /// The corners of a polygon.
    #[serde(skip_serializing_if = "Option::is_none")]
    corners: Option<Vec<[f64; 2]>>,
    seed: u64,
    starts: usize,
    steps: usize,
    seconds: f64,
    /// Of every candidate.
    steps_per_second: f64,
    /// Side, height, radius or scale.
    #[serde(flatten)]
    side: BTreeMap<&'static str, f64>,
    /// Number of mirrored copies, if some may be mirrored.
    #[serde(skip_serializing_if = "Option::is_none")]
    mirrored: Option<usize>,
    /// The container's area over the number of copies: side^2 / count.
    score: f64,
    density: f64,
    cancelled: bool,
    /// steps, seconds, side.
    history: Vec<(usize, f64, f64)>,
    output: String,
    plot: Option<String>,
}

/// Runs `overlap improve`: `overlap pack --submission` on a file that exists.
pub fn improve(global: &Global, arguments: &ImproveArgs) -> Result<(), Failure> {
    let ImproveArgs { submission: file, counts, from, search } = arguments;
    let (counts, from) = (counts.as_ref(), from.as_deref());
    submission::pack(global, &Plan { command: "improve", file, exists: true, counts, from, search })
}

/// Runs `overlap pack`.
pub fn run(global: &Global, arguments: &PackArgs) -> Result<(), Failure> {
    let PackArgs { counts, from, output, submission, search, .. } = arguments;
    match (output, submission) {
        (_, Some(file)) => {
            let (counts, from) = (counts.as_ref(), from.as_deref());
            submission::pack(global, &Plan { command: "pack", file, exists: false, counts, from, search })
        }
        (Some(output), None) if counts.is_none() => arguments.pack(global, output),
        // The options' own rules leave little else: --output hides that --counts requires --submission.
        _ => Err(Failure::error("--count goes with --output, and --counts with --submission")),
    }
}

/// The copies to pack, and the files to write them to.
struct Job {
    /// The shapes, each with its number of copies.
    copies: Vec<(Shape, usize)>,
    turns: Vec<Turns>,
    container: Boundary,
    format: Format,
    destination: Destination,
    partial: Partial,
    plot: Option<Target>,
}

impl PackArgs {
    /// Packs one number of copies.
    fn pack(&self, global: &Global, output: &Path) -> Result<(), Failure> {
        let Job { copies, turns, container, format, destination, mut partial, plot } = self.job(output)?;
        let mirrors = turns.iter().any(Turns::mirrors);
        let found = if self.resume { smallest([partial.path(), Some(output)], &copies, mirrors, &container)? } else { None };
        let (path, from) = found.unzip();
        let mut settings = Settings { container: container.clone(), turns, ..Settings::of(copies.clone()) };
        if let Some(Packing { poses, mirrored, .. }) = from {
            settings = settings.going_on(poses);
            settings.packings[0].mirrored = mirrored;
        }
        let failure = |error: PackError| match (&error, &path) {
            (
                PackError::StartCount { .. }
                | PackError::StartOverlaps { .. }
                | PackError::StartTurned { .. }
                | PackError::StartWide { .. },
                Some(path),
            ) => Failure::error(format_args!("{}: {error}", path.display())),
            (PackError::TooNarrow { .. }, _) => Failure::error(format_args!("--container {}: {error}", self.container)),
            _ => Failure::error(chain(&error)),
        };
        let state = |reached: &Progress| format!("{} {:.6}", container.scale_name(), reached.sides[0]);
        let save = |packings: &[Packing]| write(&packings[0], &copies, partial.destination(), format);
        let searched = self.search.search(global, settings, failure, state, save).inspect_err(|failure| {
            if let (Some(path), Failure::Error(_)) = (partial.path(), failure) {
                let _ = writeln!(stderr(), "the best packing until then is in {}; --resume goes on from it", path.display());
            }
        })?;
        let Some(Searched { packed, device }) = searched else { return Ok(()) };
        let packing = &packed.packings[0];
        let Packing { side, mirrored, .. } = packing;
        write(packing, &copies, &destination, format)?;
        partial.remove();
        tracing::info!("wrote {}", output.display());
        if let Some(plot) = &plot {
            draw(packing, packed.density, &copies, &container, plot)?;
        }
        let report = Report {
            system: "overlap",
            command: "pack",
            shape: names(&copies),
            shapes: copies.iter().map(|(shape, count)| Kind { shape: shape.name(), count: *count }).collect(),
            device,
            count: packing.poses.len(),
            container: &self.container,
            corners: (container.scale_name() == "scale").then(|| container.outline(*side)),
            seed: self.search.seed,
            starts: packed.starts,
            steps: packed.steps,
            seconds: packed.seconds,
            steps_per_second: packed.steps as f64 / packed.seconds,
            side: BTreeMap::from([(container.scale_name(), *side)]),
            mirrored: mirrors.then(|| mirrored.iter().filter(|mirrored| **mirrored).count()),
            score: packed.score,
            density: packed.density,
            cancelled: packed.cancelled,
            history: packed.history.iter().map(|reached| (reached.steps, reached.seconds, reached.sides[0])).collect(),
            output: output.display().to_string(),
            plot: self.plot.as_ref().map(|path| path.display().to_string()),
        };
        if self.search.json { terminal::print_json(&report) } else { report.print(*side, &container) }?;
        if packed.cancelled { Err(Failure::Cancelled) } else { Ok(()) }
    }

    /// Reads shapes and the container, and checks that the files can be written.
    fn job(&self, output: &Path) -> Result<Job, Failure> {
        let format = Format::of(output)?;
        let kinds = self.kinds()?;
        if (kinds.len() > 1 || !self.mirror.is_empty()) && format != Format::Csv {
            return Err(Failure::error(format_args!(
                "{}: copies of several shapes, or mirrored ones, are written as text: the name must end in .csv",
                output.display()
            )));
        }
        let mut files = Files::reading(kinds.iter().map(|(text, _)| *text).chain([&*self.container]));
        let destination = files.write(output)?;
        let plot = self.plot.as_ref().map(|path| Target::prepare(&mut files, path)).transpose()?;
        if is_standard(output) {
            return Err(Failure::error("-: results are kept in a file beside the output until it is complete; name a file"));
        }
        let partial = Partial::prepare(&mut files, &beside(output), self.resume)?;
        let mut parts: Vec<Part> = Vec::new();
        for (text, count) in &kinds {
            let mut read = read_all(text)?;
            if read.len() > 1 && format != Format::Csv {
                // Says that there are several.
                read_shape(text)?;
            }
            for Part { id, count: demand, .. } in &mut read {
                // Only an instance says how many there are.
                let Some(count) = count.or(id.map(|_| 1)) else {
                    return Err(Failure::error(format_args!(
                        "--shape {text}: how many copies? Write --shape {text}:7, or --count where there is one shape"
                    )));
                };
                *demand = demand.saturating_mul(count);
            }
            parts.append(&mut read);
        }
        named::prepare(&mut parts, &self.turns, &self.mirror)?;
        let (copies, turns) = parts.into_iter().map(|part| ((part.shape, part.count), part.turns)).unzip();
        let container = read_container(&self.container).map_err(|error| Failure::error(format_args!("--{error}")))?;
        Ok(Job { copies, turns, container, format, destination, partial, plot })
    }

    /// The shapes as given.
    fn shapes(&self) -> Vec<&str> {
        if self.shapes.is_empty() { vec!["tree"] } else { self.shapes.iter().map(String::as_str).collect() }
    }

    /// The shapes, each with its number of copies, if it has one.
    fn kinds(&self) -> Result<Vec<(&str, Option<usize>)>, Failure> {
        let shapes = self.shapes();
        if let ([shape], Some(count)) = (&shapes[..], self.count) {
            return match count::split(shape) {
                Some(_) => Err(Failure::error(format_args!("--shape {shape} has a number of copies, and so has --count"))),
                None => Ok(vec![(shape, Some(count))]),
            };
        }
        if self.count.is_some() {
            return Err(Failure::error("--count is of one shape: of several, write --shape l.svg:7 --shape tree:9"));
        }
        shapes.into_iter().map(|shape| named::counted("--shape ", shape)).collect()
    }
}

/// The file beside the output: of the same format.
fn beside(output: &Path) -> PathBuf {
    let mut extension = OsString::from("partial.");
    extension.push(output.extension().unwrap_or_default());
    output.with_extension(extension)
}

/// A file and its packing.
type Found = (PathBuf, Packing);

/// Reads the smallest packing among those files that exist, with its copies ordered by shape.
fn smallest(
    paths: [Option<&Path>; 2],
    copies: &[(Shape, usize)],
    mirrors: bool,
    container: &Boundary,
) -> Result<Option<Found>, Failure> {
    let mut smallest: Option<Found> = None;
    for path in paths.into_iter().flatten().filter(|path| path.exists()) {
        let fail = |what: String| Failure::error(format_args!("{}: {what}", path.display()));
        let file = read_poses(path)?;
        file.packings.check_shapes(copies.len() * if mirrors { 2 } else { 1 }).map_err(|error| file.error(path, error))?;
        let PoseFile { packings, layout, .. } = file;
        if layout != PoseLayout::Single {
            return Err(fail("it holds other than a single packing".to_owned()));
        }
        let mut order: Vec<usize> = (0..packings.poses().len()).collect();
        let kind = |pose: usize| packings.shape_of(pose) as usize % copies.len();
        order.sort_by_key(|&pose| kind(pose));
        for (shape, (_, count)) in copies.iter().enumerate().filter(|_| copies.len() > 1) {
            let found = order.iter().filter(|&&pose| kind(pose) == shape).count();
            if found != *count {
                let found = format::counted(found, "copy", "copies");
                return Err(fail(format!("the packing to start from has {found} of shape {shape}, and not {count}")));
            }
        }
        let mirrored = |pose: usize| packings.shape_of(pose) as usize >= copies.len();
        let oriented = |pose: usize| oriented(&copies[kind(pose)].0, mirrored(pose));
        let vertices: Vec<_> =
            order.iter().flat_map(|&pose| oriented(pose).posed(packings.poses()[pose]).collect::<Vec<_>>()).flatten().collect();
        let side = container.fit(&vertices).unwrap_or(f64::INFINITY);
        if smallest.as_ref().is_none_or(|(_, least)| side < least.side) {
            let poses = order.iter().map(|&pose| packings.poses()[pose]).collect();
            let mirrored = order.iter().map(|&pose| mirrored(pose)).collect();
            smallest = Some((path.to_owned(), Packing { mirrored, ..Packing::new(poses, side) }));
        }
    }
    Ok(smallest)
}

/// A shape, or its mirror image.
fn oriented(shape: &Shape, mirrored: bool) -> Cow<'_, Shape> {
    if mirrored { Cow::Owned(shape.mirrored()) } else { Cow::Borrowed(shape) }
}

/// Writes a packing; of several shapes or with mirrored copies, with their indices.
fn write(packing: &Packing, copies: &[(Shape, usize)], destination: &Destination, format: Format) -> Result<(), OverlapError> {
    let mut packings = Packings::one(packing.poses.clone())?;
    if copies.len() > 1 || !packing.mirrored.is_empty() {
        packings = packings.with_shapes(shapes_of(packing, copies))?;
    }
    save_poses_at(&packings, PoseLayout::Single, destination, format)
}

/// The index of each copy's shape, mirror images after all shapes.
fn shapes_of(packing: &Packing, copies: &[(Shape, usize)]) -> Vec<u32> {
    packing.shapes(&Copies::new(copies.iter().map(|(_, count)| *count)))
}

fn names(copies: &[(Shape, usize)]) -> String {
    copies.iter().map(|(shape, _)| shape.name()).collect::<Vec<_>>().join(", ")
}

/// Draws a packing in its container.
fn draw(packing: &Packing, density: f64, copies: &[(Shape, usize)], container: &Boundary, file: &Target) -> Result<(), Failure> {
    let Packing { poses, side, .. } = packing;
    let last = if container.is_square() && copies.len() == 1 {
        format!("side²/n {:.6}", container.area(*side) / poses.len() as f64)
    } else {
        format!("density {:.2} %", 100.0 * density)
    };
    let count = format::counted(poses.len(), "copy", "copies");
    let what = if copies.len() == 1 { names(copies) } else { format!("{} shapes", copies.len()) };
    let title = format!("{count} of {what}, {} {side:.6}, {last}", container.scale_name());
    let polygon = |(&pose, shape): (&[f64; 3], u32)| {
        let (kind, mirrored) = (shape as usize % copies.len(), shape as usize >= copies.len());
        Polygons { shape: kind, rings: oriented(&copies[kind].0, mirrored).posed(pose).collect() }
    };
    let polygons = poses.iter().zip(shapes_of(packing, copies)).map(polygon).collect();
    let names = copies.iter().map(|(shape, _)| shape.name()).collect();
    file.write(&Picture { title: &title, names, polygons, common: Vec::new(), container: container.outline(*side) })
}

impl Report<'_> {
    fn print(&self, side: f64, container: &Boundary) -> Result<(), Failure> {
        let unit = if self.corners.is_some() { "" } else { " (length)" };
        let scale = format!("{}{unit}", container.scale_name());
        let score = if container.is_square() { "side^2 / n" } else { "area / n" };
        let header = ["n", &scale, score, "density", "time", "steps/s", "starts"];
        let mut table = terminal::table(header, 0..header.len());
        table.add_row([
            format::grouped(self.count),
            format!("{side:.9}"),
            format!("{:.9}", self.score),
            format!("{:.2} %", 100.0 * self.density),
            format::time(1e3 * self.seconds),
            format::grouped(self.steps_per_second.round() as usize),
            format::grouped(self.starts),
        ]);
        terminal::print(table)?;
        terminal::print(format_args!(
            "{} of {} of {} on {}; no two copies overlap.",
            format::counted(self.steps, "step", "steps"),
            format::counted(self.starts, "packing", "packings"),
            self.shape,
            self.device
        ))?;
        terminal::print(format_args!("Written: {}", self.output))?;
        self.plot.as_ref().map_or(Ok(()), |plot| terminal::print(format_args!("Written: {plot}")))
    }
}

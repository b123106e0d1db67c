//! Submissions to Kaggle's Santa 2025, packed and improved: `warpsmith overlap pack --submission`, `overlap improve`.

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;
use serde::Serialize;
use warpsmith::{
    files::{Destination, FileError, chain},
    overlap::{
        Packings, Shape,
        contest::{Check, MOST_TREES},
        io::{PoseFile, PoseLayout, read_poses, read_shape, submission_lines},
        pack::{Budget, Packing, Saving, Series, SeriesPacked, SeriesProgress, SeriesSettings},
    },
};

use super::{
    input::Loaded,
    pack::{MOST_STEPS, TIME},
};
use crate::cli::{
    Global, count, duration,
    failure::Failure,
    format,
    interrupt::Interrupt,
    output::Files,
    processes::{self, MOST_GPUS},
    progress::Progress,
    size, terminal,
};

/// The header of a submission.
const HEADER: &str = "id,x,y,deg";
/// A side is less than another by more than this share, or it is the same.
const SAME: f64 = 1e-13;

/// Options of `overlap improve`.
#[derive(Args, Debug)]
#[command(
    long_about = "Make the packings of a submission to Kaggle's Santa 2025 smaller.\n\n\
        All of them are worked on at once, from what the file has and from new starts. Every few seconds the file is written anew, \
        whole, with what has become smaller; whatever has not stays as it is, digit by digit. Ctrl-C or SIGTERM ends the search early, \
        with exit code 130 or 143, and nothing that was found is lost.",
    after_help = "Examples:\n  \
        warpsmith overlap improve submission.csv --time 10m\n  \
        warpsmith overlap improve submission.csv --counts 30..60 --time 1h\n  \
        warpsmith overlap improve submission.csv --from other.csv --time 10m    the better of both"
)]
pub struct Arguments {
    /// The submission: .csv with the header id,x,y,deg
    #[arg(value_name = "SUBMISSION.CSV")]
    submission: PathBuf,
    /// Of how many trees: 1..200, 7, 10..20,50 [default: those that the file has]
    #[arg(long, value_name = "COUNTS", value_parser = parse_counts)]
    counts: Option<Counts>,
    #[command(flatten)]
    search: Search,
}

/// How to search.
#[derive(Args, Clone, Debug)]
struct Search {
    /// Go on from this submission's packings, too
    #[arg(long, value_name = "SUBMISSION.CSV")]
    from: Option<PathBuf>,
    /// Seed of all that is random
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// How many packings of each count to work on at once [default: 8 to 256 on a GPU, 4 on the CPU,
    /// with --time up to one per thread]
    #[arg(long, value_name = "N", value_parser = count::up_to(1 << 20), allow_negative_numbers = true)]
    starts: Option<usize>,
    /// Search for N steps of every packing
    #[arg(long, value_name = "N", value_parser = count::up_to(MOST_STEPS), allow_negative_numbers = true, conflicts_with = "time")]
    steps: Option<usize>,
    /// Search for about this long: 30s, 5m, 1.5h [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = duration::parse, allow_hyphen_values = true)]
    time: Option<Duration>,
    /// Search on the first N GPUs; on the CPU, N searches beside each other [default: 1, that of --device]
    #[arg(long, value_name = "N", value_parser = count::up_to(MOST_GPUS), allow_negative_numbers = true)]
    gpus: Option<usize>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// Numbers of trees, ascending.
#[derive(Clone, Debug, PartialEq)]
pub struct Counts(pub Vec<usize>);

/// What to pack, and how.
pub struct Plan<'a> {
    pub command: &'static str,
    pub file: &'a Path,
    pub shape: &'a str,
    /// Those that the file has, where there are none.
    pub counts: Option<&'a Counts>,
    pub from: Option<&'a Path>,
    pub seed: u64,
    pub starts: Option<usize>,
    pub gpus: Option<usize>,
    pub budget: Budget,
    pub json: bool,
}

#[derive(Serialize)]
struct Object {
    system: &'static str,
    command: &'static str,
    device: String,
    seed: u64,
    steps: usize,
    seconds: f64,
    /// The sum of side^2 / n over the file's packings.
    score: f64,
    /// The same before the search; none where the file lacked one of them.
    before: Option<f64>,
    packings: Vec<Row>,
    cancelled: bool,
    /// steps, seconds, score of the packings that were searched for.
    history: Vec<(usize, f64, f64)>,
    output: String,
}

#[derive(Serialize)]
struct Row {
    count: usize,
    side: f64,
    /// side^2 / count.
    score: f64,
    improved: bool,
}

/// Runs `overlap improve`.
pub fn run(global: &Global, arguments: &Arguments) -> Result<(), Failure> {
    let Arguments { submission: file, counts, search } = arguments;
    // What isn't there can't be improved: the reader says so.
    read(file, &Shape::tree())?;
    pack(
        global,
        &Plan {
            command: "improve",
            file,
            shape: "tree",
            counts: counts.as_ref(),
            from: search.from.as_deref(),
            seed: search.seed,
            starts: search.starts,
            gpus: search.gpus,
            budget: budget(search.steps, search.time),
            json: search.json,
        },
    )
}

/// A budget of steps where there are any, else of time.
pub fn budget(steps: Option<usize>, time: Option<Duration>) -> Budget {
    steps.map_or_else(|| Budget::Time(time.unwrap_or(TIME)), Budget::Steps)
}

/// A packing in a file.
struct Entry {
    poses: Vec<[f64; 3]>,
    side: f64,
    /// As the file has it.
    lines: Vec<String>,
}

/// The packings of a file, by their numbers of trees.
type Entries = BTreeMap<usize, Entry>;

/// Reads a submission in which no trees overlap.
fn read(path: &Path, shape: &Shape) -> Result<Entries, Failure> {
    let fail = |what: String| Failure::error(format_args!("{}: {what}", path.display()));
    let PoseFile { packings, layout, lines } = read_poses(path, false)?;
    let (PoseLayout::Submission, Some(numbers)) = (layout, lines) else {
        return Err(fail(format!("it is no submission: its header must be {HEADER}")));
    };
    let loaded = Loaded { packings, layout, shapes: vec![shape.clone()], others: None };
    let check = Check::of(&loaded.packings, &loaded.shapes);
    if let Some(meeting) = check.overlaps.first() {
        let ([first, second], size) = (meeting.poses, loaded.label(meeting.packing));
        return Err(fail(format!("trees {first} and {second} of {size} overlap by an area of {:e}", meeting.area)));
    }
    if let Some(found) = check.outside.first() {
        let (size, tree) = (loaded.label(found.packing), found.pose);
        return Err(fail(format!("tree {tree} of {size} is out of bounds: {} = {}", found.field, found.value)));
    }
    let text = fs::read_to_string(path).map_err(|error| fail(format!("can't be read: {error}")))?;
    let text: Vec<&str> = text.lines().collect();
    let entry = |packing: usize| {
        let poses = loaded.packings.get(packing).to_vec();
        let line = |&number: &u64| text.get(number as usize - 1).map(|line| (*line).to_owned()).unwrap_or_default();
        let lines = numbers[loaded.packings.range(packing)].iter().map(line).collect();
        (poses.len(), Entry { side: loaded.side(packing), poses, lines })
    };
    Ok((0..loaded.packings.len()).map(entry).collect())
}

/// Puts packings that are smaller, and apart from each other whatever the contest rounds, in the place of others. Says
/// of which numbers.
fn take(entries: &mut Entries, packings: &[Packing], shape: &Shape) -> Vec<usize> {
    let mut taken = Vec::new();
    for Packing { poses, side } in packings {
        let count = poses.len();
        if entries.get(&count).is_some_and(|entry| *side >= entry.side * (1.0 - SAME)) {
            continue;
        }
        // As it will be read again.
        let read = |&[x, y, theta]: &[f64; 3]| [x, y, (theta.to_degrees() % 360.0).to_radians()];
        let Ok(written) = Packings::one(poses.iter().map(read).collect()) else { continue };
        let check = Check::of(&written, std::slice::from_ref(shape));
        if check.is_valid() && check.touching.is_empty() {
            let lines = submission_lines(poses).collect();
            entries.insert(count, Entry { poses: poses.clone(), side: *side, lines });
            taken.push(count);
        }
    }
    taken
}

fn write(entries: &Entries, destination: &Destination) -> Result<(), FileError> {
    destination.write(|file| {
        writeln!(file, "{HEADER}")?;
        entries.values().flat_map(|entry| &entry.lines).try_for_each(|line| writeln!(file, "{line}"))
    })
}

fn score<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> f64 {
    entries.into_iter().map(|entry| entry.side * entry.side / entry.poses.len() as f64).sum()
}

/// Searches, and writes what is found.
pub fn pack(global: &Global, plan: &Plan<'_>) -> Result<(), Failure> {
    let mut files = Files::reading([Path::new(plan.shape)].into_iter().chain(plan.from));
    let destination = files.write(plan.file)?;
    let shape = read_shape(plan.shape)?;
    let mut entries = if plan.file.exists() { read(plan.file, &shape)? } else { Entries::new() };
    let counts = plan.counts.map_or_else(|| entries.keys().copied().collect(), |counts| counts.0.clone());
    let before = counts.iter().all(|count| entries.contains_key(count)).then(|| score(entries.values()));
    let mut changed = Vec::new();
    if let Some(from) = plan.from {
        for (count, entry) in read(from, &shape)? {
            let smaller = entries.get(&count).is_none_or(|there| entry.side < there.side * (1.0 - SAME));
            if counts.contains(&count) && smaller {
                changed.push(count);
                entries.insert(count, entry);
            }
        }
    }
    let places = processes::places(global, plan.gpus)?;
    let device = &places.devices[0];
    let packings = counts.iter().map(|count| (*count, entries.get(count).map(|entry| entry.poses.clone()))).collect();
    let settings = SeriesSettings { shape: shape.clone(), packings, seed: plan.seed, starts: plan.starts, budget: plan.budget };
    let series = Series::new(device, settings).map_err(|error| Failure::error(chain(&error)));
    let mut series = series.inspect_err(|failure| places.end(failure))?.also_on(&places.devices[1..]);
    if let Some(ranks) = &places.ranks {
        // All have read what there was before any writes.
        ranks.barrier().map_err(Failure::error)?;
        series = series.among(ranks);
    }
    let interrupt = Interrupt::first_sets("stopping with the best so far");
    let series = series.cancelled_by(interrupt.cancel());
    let each: usize = counts.iter().map(|&count| count * series.starts(count)).sum();
    let poses = each * places.devices.len();
    size::check_memory(format::counted(poses, "pose", "poses"), poses as f64 * super::pack::pose_bytes(device))
        .inspect_err(|failure| places.end(failure))?;

    let progress = Progress::new(plan.json || global.verbose > 0 || !places.is_first());
    let work = progress.costly_bar(super::pack::THOUSAND, usize::MAX, format!("packing on {places}"));
    let told = |reached: SeriesProgress| {
        let share = match plan.budget {
            Budget::Steps(steps) => reached.steps as f64 / steps as f64,
            Budget::Time(time) => reached.seconds / time.as_secs_f64(),
        };
        work.reach((share.min(1.0) * super::pack::THOUSAND as f64) as usize, super::pack::THOUSAND);
        work.say(format!("packing on {places}: score {:.6}", reached.score));
        tracing::debug!(steps = reached.steps, score = reached.score, "squeezed");
    };
    let save = |packings: &[Packing]| {
        let taken = take(&mut entries, packings, &shape);
        changed.extend(&taken);
        if taken.is_empty() {
            return;
        }
        match write(&entries, &destination) {
            Ok(()) => tracing::debug!(score = score(entries.values()), "saved"),
            // The disk may have room again at the end.
            Err(error) => work.warn(error),
        }
    };
    let packed = series.run_saving(told, Saving::default(), save);
    drop(work);
    let packed = packed.map_err(|error| Failure::error(chain(&error)))?;
    if !places.is_first() {
        return if packed.cancelled { Err(Failure::Cancelled) } else { Ok(()) };
    }
    changed.extend(take(&mut entries, &packed.packings, &shape));
    if !changed.is_empty() {
        write(&entries, &destination)?;
        tracing::info!("wrote {}", plan.file.display());
    }
    report(plan, &entries, &packed, before, &changed, places.to_string())
}

fn report(
    plan: &Plan<'_>,
    entries: &Entries,
    packed: &SeriesPacked,
    before: Option<f64>,
    changed: &[usize],
    device: String,
) -> Result<(), Failure> {
    let row = |(&count, entry): (&usize, &Entry)| Row {
        count,
        side: entry.side,
        score: entry.side * entry.side / count as f64,
        improved: changed.contains(&count),
    };
    let object = Object {
        system: "overlap",
        command: plan.command,
        device,
        seed: plan.seed,
        steps: packed.steps,
        seconds: packed.seconds,
        score: score(entries.values()),
        before,
        packings: entries.iter().map(row).collect(),
        cancelled: packed.cancelled,
        history: packed.history.iter().map(|reached| (reached.steps, reached.seconds, reached.score)).collect(),
        output: plan.file.display().to_string(),
    };
    if plan.json { terminal::print_json(&object) } else { object.print() }?;
    if packed.cancelled { Err(Failure::Cancelled) } else { Ok(()) }
}

impl Object {
    fn print(&self) -> Result<(), Failure> {
        let header = ["trees", "packings", "smaller now", "sum of side^2 / n", "mean"];
        let mut table = terminal::table(header, 0..header.len());
        // By twenties, as far as there are any.
        for rows in self.packings.chunk_by(|a, b| (a.count - 1) / 20 == (b.count - 1) / 20) {
            let score: f64 = rows.iter().map(|row| row.score).sum();
            let trees = match rows {
                [one] => one.count.to_string(),
                _ => format!("{} to {}", rows[0].count, rows[rows.len() - 1].count),
            };
            let improved = rows.iter().filter(|row| row.improved).count();
            table.add_row([
                trees,
                rows.len().to_string(),
                improved.to_string(),
                format!("{score:.9}"),
                format!("{:.6}", score / rows.len() as f64),
            ]);
        }
        terminal::print(table)?;
        let before = self.before.map(|before| format!(", before {before:.9}")).unwrap_or_default();
        terminal::print(format_args!("Score: {:.9}{before}; no two trees overlap.", self.score))?;
        terminal::print(format_args!(
            "{} of every packing in {} on {}.",
            format::counted(self.steps, "step", "steps"),
            format::time(1e3 * self.seconds),
            self.device
        ))?;
        terminal::print(format_args!("Written: {}", self.output))
    }
}

/// Reads numbers of trees: `1..200` (with both ends), `7`, `10..20,50`.
pub fn parse_counts(text: &str) -> Result<Counts, String> {
    let mut counts = Vec::new();
    for part in text.split(',') {
        let number = |text: &str| {
            let number = text.trim().parse::<usize>().ok().filter(|number| (1..=MOST_TREES).contains(number));
            number.ok_or_else(|| format!("`{}` is not a number of trees from 1 to {MOST_TREES}", text.trim()))
        };
        match part.split_once("..") {
            Some((first, last)) => {
                let (first, last) = (number(first)?, number(last)?);
                if first > last {
                    return Err(format!("{first}..{last} has no numbers: the first must not be above the last"));
                }
                counts.extend(first..=last);
            }
            None => counts.push(number(part)?),
        }
    }
    counts.sort_unstable();
    counts.dedup();
    Ok(Counts(counts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_as_written() {
        for (text, counts) in [("7", vec![7]), ("1..3", vec![1, 2, 3]), ("9,2..4, 3", vec![2, 3, 4, 9]), ("200", vec![200])] {
            assert_eq!(parse_counts(text), Ok(Counts(counts)), "{text}");
        }
        for text in ["", "0", "201", "1..", "3..2", "1-5", "1,,2", "x"] {
            assert!(parse_counts(text).is_err(), "{text}");
        }
    }
}

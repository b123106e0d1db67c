//! What the figures show, in words.
//!
//! Sentences are chosen by comparisons of figures, and what they say of a cause is what other figures of the same study say.

use serde::Serialize;

use super::kernels::{Placement, Reduction};
use super::measure::Spread;
use super::notebook;
use super::study::{BatchRow, StreamsRow, Study};
use super::work::{CLIP, Work};

/// Growth by this share of the ideal, or more, counts as growth in proportion.
const IN_PROPORTION: f64 = 0.8;

/// Ratios that vary by no more than this factor count as constant.
const CONSTANT: f64 = 1.25;

/// Below this factor a gain counts as none.
const GAIN: f64 = 1.2;

/// Something that the figures show.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The experiment, in a word or two.
    pub topic: &'static str,
    /// Sentences.
    pub text: String,
}

/// Whether figures bear a statement out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// They do.
    Supported,
    /// They do, but it explains a small part only.
    Partly,
    /// They show the contrary.
    Refuted,
    /// They show neither.
    Open,
}

/// A statement of the notebook's, and what these figures make of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// The statement.
    pub claim: &'static str,
    /// Whether it holds here.
    pub verdict: Verdict,
    /// Why, as a sentence.
    pub because: String,
}

/// The straight line through points of least squares.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// The value at 0.
    pub a: f64,
    /// The slope.
    pub b: f64,
    /// The share of the variance that the line explains.
    pub r2: f64,
}

impl Fit {
    /// Through at least two points of different x; none otherwise.
    pub fn linear(points: &[(f64, f64)]) -> Option<Self> {
        let n = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
        let (x, y) = (mean(|point| point.0), mean(|point| point.1));
        let sum = |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|point| of(point.0 - x, point.1 - y)).sum::<f64>();
        let (xx, xy, yy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
        if xx.is_nan() || xx == 0.0 {
            return None;
        }
        let b = xy / xx;
        let r2 = if yy > 0.0 { xy * xy / (xx * yy) } else { 1.0 };
        Some(Fit { a: y - b * x, b, r2 })
    }
}

/// What a study's figures show, one experiment after the other, and at the end which resource is the limit.
pub fn findings(study: &Study) -> Vec<Finding> {
    let all = [
        ("spread", spread(study)),
        ("streams", streams(study)),
        ("launches", launches(study)),
        ("threads", threads(study)),
        ("fixed work", fixed(study)),
        ("reductions", reductions(study)),
        ("placements", placements(study)),
        ("two phases", phases(study)),
        ("the limit", limit(study)),
    ];
    all.into_iter().filter_map(|(topic, text)| text.map(|text| Finding { topic, text })).collect()
}

fn is_gpu(study: &Study) -> bool {
    study.device.backend == "cuda"
}

/// What executes blocks, in the plural.
fn units(study: &Study) -> String {
    let count = study.device.multiprocessors;
    let name = if is_gpu(study) { "multiprocessor" } else { "worker" };
    format!("{count} {name}{}", if count == 1 { "" } else { "s" })
}

/// Half of the range of a median, as a share of it, beyond which a study says that it was disturbed.
const DISTURBED: f64 = 0.1;

/// Whether runs differ so much that little can be told from them.
fn spread(study: &Study) -> Option<String> {
    let of_batch =
        study.batch.iter().flat_map(|row| row.reductions.iter().chain(&row.placements).chain([&row.turned, &row.two_phase]));
    let all = of_batch.chain(study.fixed.iter().flat_map(|fixed| &fixed.rows).map(|row| &row.ms));
    let shares: Vec<f64> = all.map(|spread| 0.5 * (spread.max - spread.min) / spread.median).collect();
    let most = shares.iter().copied().fold(0.0, f64::max);
    let disturbed = shares.iter().filter(|&&share| share > DISTURBED).count();
    (disturbed > 0).then(|| {
        format!(
            "{disturbed} of {} medians are of runs that differ by more than ± {}, at most by ± {}: something else was at work on this machine. \
             Ratios of such medians mean little.",
            shares.len(),
            percent(DISTURBED),
            percent(most)
        )
    })
}

// Streams.

/// Rows up to which the rate grows in proportion to the streams, by their last one's index.
fn knee(study: &Study, ms: fn(&StreamsRow) -> Spread) -> usize {
    let rows = &study.streams;
    let rate = |row: &StreamsRow| row.streams as f64 / ms(row).median;
    let in_proportion =
        |row: &StreamsRow| rate(row) / rate(&rows[0]) >= IN_PROPORTION * row.streams as f64 / rows[0].streams as f64;
    rows.iter().take_while(|row| in_proportion(row)).count().saturating_sub(1)
}

/// Launches per second by one of a row's times.
fn per_second(study: &Study, row: &StreamsRow, ms: fn(&StreamsRow) -> Spread) -> f64 {
    row.rate(ms(row), study.options.iterations).median
}

fn streams(study: &Study) -> Option<String> {
    let [first, .., last] = study.streams.as_slice() else { return None };
    let plain: fn(&StreamsRow) -> Spread = |row| row.plain_ms;
    let blocks: fn(&StreamsRow) -> Spread = |row| row.blocks_ms;
    let rate = |row, ms| per_second(study, row, ms);
    let gain = rate(last, plain) / rate(first, plain);
    let (few, many) = (first.streams, last.streams);
    let rates = format!("{} and {} kernels per second", number(rate(first, plain)), number(rate(last, plain)));
    let at = knee(study, plain);
    let knee = &study.streams[at];
    let room = f64::from(study.device.multiprocessors * study.device.blocks_per_multiprocessor.max(1));

    if knee == last {
        let room = if is_gpu(study) && (many as f64) < room {
            format!(
                " These are {many} blocks at a time, and there is room for {} on {}: nothing is at its limit yet.",
                number(room),
                units(study)
            )
        } else {
            String::new()
        };
        return Some(format!(
            "{} times the streams make {} times the kernels per second ({rates} with {few} and {many} streams).{room}",
            number(many as f64 / few as f64),
            number(gain)
        ));
    }
    let mut text = if at == 0 && gain < GAIN {
        format!("{many} streams do {} than {few}: {rates}.", if gain > 1.0 / GAIN { "no more" } else { "less" })
    } else {
        let next = &study.streams[at + 1];
        let beyond = if next == last { String::new() } else { format!(" and {} with {many}", number(rate(last, plain))) };
        let growth = if at == 0 {
            format!("don't grow in proportion to the streams: {} with {few},", number(rate(first, plain)))
        } else {
            format!(
                "grow in proportion to the streams up to {}, with {} of them, and no further:",
                knee.streams,
                number(rate(knee, plain))
            )
        };
        format!("Kernels per second {growth} {} with {}{beyond}.", number(rate(next, plain)), next.streams)
    };
    let joined = rate(last, blocks) / rate(last, plain);
    if !is_gpu(study) {
        text.push_str(" On the CPU a stream's work is done as it is enqueued, so that streams can't overlap");
        text.push_str(&if joined >= GAIN {
            format!("; one launch of {many} blocks, which the workers share, does {} times as much.", number(joined))
        } else {
            ".".to_owned()
        });
        return Some(text);
    }
    if joined >= GAIN {
        text.push_str(&format!(
            " One launch of {many} blocks does {} times as much as {many} streams, so that it isn't the multiprocessors that are full.",
            number(joined)
        ));
        let empty = rate(last, |row| row.empty_ms);
        let branches = rate(last, |row| row.branches_ms) / rate(last, plain);
        if empty < 1.5 * rate(last, plain) {
            text.push_str(&format!(" Kernels that do nothing come to {} per second: launching is the limit.", number(empty)));
        } else if let Some(queues) =
            study.device.queues.filter(|&queues| (knee.streams..study.streams[at + 1].streams).contains(&(queues as usize)))
        {
            text.push_str(&format!(
                " Kernels that do nothing come to {} per second, so it isn't the launching, either. Streams share {queues} hardware \
                 queues (CUDA_DEVICE_MAX_CONNECTIONS), and where the growth ends fits that.",
                number(empty)
            ));
        } else {
            text.push_str(" What holds the streams up these figures don't show.");
        }
        if branches >= GAIN {
            text.push_str(&format!(" A graph with {many} branches isn't held up so: {} times as much.", number(branches)));
        }
    } else {
        text.push_str(&format!(
            " One launch of {many} blocks does no more ({} times as much): {} ",
            number(joined),
            units(study)
        ));
        text.push_str(if f64::from(study.device.multiprocessors) <= many as f64 {
            "have all they can do."
        } else {
            "are not all of the story."
        });
    }
    Some(text)
}

fn launches(study: &Study) -> Option<String> {
    let gains = |ms: fn(&StreamsRow) -> Spread| {
        let apart = study.streams.iter().filter(move |row| row.plain_ms.is_apart_from(&ms(row)));
        apart.map(move |row| (row.streams, row.plain_ms.median / ms(row).median)).max_by(|a, b| away(a.1).total_cmp(&away(b.1)))
    };
    let share = study.streams.iter().map(|row| (row.streams, row.empty_ms.median / row.plain_ms.median));
    let (at, share) = share.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let mut text = format!(
        "As many launches of a kernel that does nothing take {} of the time at most (with {}).",
        percent(share),
        plural(at, "stream")
    );
    let of_graphs =
        [("a graph a stream", gains(|row| row.graphs_ms)), ("one graph with a branch a stream", gains(|row| row.branches_ms))];
    for (what, gain) in of_graphs {
        text.push_str(&match gain {
            None => format!(" With {what} the times are the same to what runs differ by."),
            Some((streams, gain)) => {
                format!(" With {what} it is {}, at {}.", compared(1.0 / gain), plural(streams, "stream"))
            }
        });
    }
    Some(text)
}

// Threads.

/// What times may be in proportion to.
type Measure = (&'static str, fn(&Work) -> u64);

const MEASURES: [Measure; 4] = [
    ("the candidates of the busiest thread", |work| work.longest_thread),
    ("the comparisons that the busiest warp goes through", |work| work.longest_warp),
    ("all candidates", |work| work.candidates),
    ("all comparisons", |work| work.comparisons),
];

/// By how much times over a measure vary: the largest quotient over the least. Infinite where something isn't known.
fn variation(rows: &[(&Work, f64)], measure: Measure) -> f64 {
    let quotients = rows.iter().map(|(work, ms)| ms / measure.1(work) as f64);
    let (least, most) =
        quotients.fold((f64::INFINITY, 0.0f64), |(least, most), quotient| (least.min(quotient), most.max(quotient)));
    if least > 0.0 && most.is_finite() { most / least } else { f64::INFINITY }
}

/// The measure that times are most nearly in proportion to.
fn best_measure(rows: &[(&Work, f64)]) -> (Measure, f64) {
    let with = MEASURES.map(|measure| (measure, variation(rows, measure)));
    with.into_iter().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((MEASURES[3], f64::INFINITY))
}

fn batch_times(study: &Study) -> Vec<(&Work, f64)> {
    study.batch.iter().map(|row| (&row.work, row.one_phase().median)).collect()
}

fn threads(study: &Study) -> Option<String> {
    let [first, .., last] = study.batch.as_slice() else { return None };
    let (few, many) = (first.one_phase().median, last.one_phase().median);
    let mut text = format!(
        "{} times the threads ({} and {}) take {} times as long ({} and {}), and a comparison of {} threads takes {} times as long as one of {}.",
        number(last.threads as f64 / first.threads as f64),
        first.threads,
        last.threads,
        number(many / few),
        time(few),
        time(many),
        last.threads,
        number(many / few * first.work.comparisons as f64 / last.work.comparisons as f64),
        first.threads,
    );
    let points: Vec<_> = study.batch.iter().map(|row| (row.threads as f64, row.one_phase().median)).collect();
    if let Some(Fit { a, b, r2 }) = Fit::linear(&points) {
        text.push_str(&format!(" The line {} + n x {} explains {} of the variance.", time(a), time(b), percent(r2)));
    }
    let times = batch_times(study);
    let (best, varies) = best_measure(&times);
    if varies <= CONSTANT {
        let steps = best.1(&last.work);
        text.push_str(&format!(
            " The time is in proportion to {} ({} each, to a factor of {}), and not to {} (a factor of {}).",
            best.0,
            time(many / steps as f64),
            number(varies),
            if best.0 == MEASURES[3].0 { MEASURES[0].0 } else { MEASURES[3].0 },
            number(variation(&times, if best.0 == MEASURES[3].0 { MEASURES[0] } else { MEASURES[3] })),
        ));
    } else {
        text.push_str(&format!(
            " Of the counts of work, it is most nearly in proportion to {}, but for a factor of {}.",
            best.0,
            number(varies)
        ));
    }
    if is_gpu(study) {
        text.push_str(&warps(study, first, last));
    }
    Some(text)
}

/// What becomes of a warp's step as there are more lanes, and more warps.
fn warps(study: &Study, first: &BatchRow, last: &BatchRow) -> String {
    let mut text = String::new();
    let (few, many) = (first.work.longest_warp, last.work.longest_warp);
    if many > few {
        text.push_str(&format!(
            " A warp goes through each comparison that any of its threads needs: {few} of {} with {}, {many} with {}, where {} of \
             the lanes have something to do.",
            study.options.poses,
            plural(first.threads, "thread"),
            last.threads,
            percent(last.work.busy_lanes)
        ));
    }
    let step = |row: &BatchRow| row.one_phase().median / row.work.longest_warp.max(1) as f64;
    let one_warp = study.batch.iter().rfind(|row| row.threads <= 32);
    if let Some(one_warp) = one_warp.filter(|row| last.threads > 32 && row.threads < last.threads) {
        let slower = step(last) / step(one_warp);
        let warps = last.threads.div_ceil(32);
        text.push_str(&if slower > CONSTANT {
            format!(
                " With {warps} warps a step takes {} times as long as with one: they compete for one multiprocessor.",
                number(slower)
            )
        } else {
            format!(
                " With {warps} warps a step takes {} times as long as with one: there is room for them beside each other.",
                number(slower)
            )
        });
    }
    text
}

fn fixed(study: &Study) -> Option<String> {
    let mut texts = Vec::new();
    for fixed in &study.fixed {
        let [first, .., last] = fixed.rows.as_slice() else { continue };
        let best = fixed.rows.iter().min_by(|a, b| a.ms.median.total_cmp(&b.ms.median)).unwrap_or(last);
        let times: Vec<_> = fixed.rows.iter().map(|row| (&row.work, row.ms.median)).collect();
        let (measure, varies) = best_measure(&times);
        let mut text = if best == first {
            format!(
                "No number of threads does {} comparisons sooner than {}; {} take {} times as long",
                grouped(fixed.total),
                first.threads,
                last.threads,
                number(last.ms.median / first.ms.median)
            )
        } else {
            format!(
                "{} comparisons are done soonest with {} threads: {} times as fast as with {}, for {} times the threads",
                grouped(fixed.total),
                best.threads,
                number(first.ms.median / best.ms.median),
                first.threads,
                number(best.threads as f64 / first.threads as f64),
            )
        };
        let compared = if best == first { last } else { best };
        if varies <= CONSTANT {
            text.push_str(&format!(
                "; times are in proportion to {}, {} with {} threads and {} with {}",
                measure.0,
                grouped(measure.1(&first.work) as usize),
                first.threads,
                grouped(measure.1(&compared.work) as usize),
                compared.threads
            ));
        }
        texts.push(text + ".");
    }
    (!texts.is_empty()).then(|| texts.join(" "))
}

// Reductions and placements.

/// The largest relative difference of two spreads that are apart, over all rows: by how much the second is longer, its index, and
/// the row's threads.
fn largest_difference(study: &Study, pairs: impl Fn(&BatchRow) -> Vec<(Spread, Spread)>) -> Option<(f64, usize, usize)> {
    let mut largest: Option<(f64, usize, usize)> = None;
    for row in &study.batch {
        for (index, (reference, other)) in pairs(row).into_iter().enumerate() {
            let ratio = other.median / reference.median;
            if reference.is_apart_from(&other) && largest.is_none_or(|(most, ..)| away(ratio) > away(most)) {
                largest = Some((ratio, index, row.threads));
            }
        }
    }
    largest
}

/// Each reduction, with none at all before it.
fn with_none(row: &BatchRow) -> Vec<(Spread, Spread)> {
    match row.reductions.as_slice() {
        [reductions @ .., none] => reductions.iter().map(|reduction| (*none, *reduction)).collect(),
        [] => Vec::new(),
    }
}

/// The largest share of a launch that a reduction is, of those that take longer than none by more than runs differ; 0 where none does.
fn reduction_share(study: &Study) -> f64 {
    let all = study.batch.iter().flat_map(with_none).filter(|(none, with)| none.max < with.min);
    all.map(|(none, with)| 1.0 - none.median / with.median).fold(0.0, f64::max)
}

fn reductions(study: &Study) -> Option<String> {
    if study.batch.is_empty() {
        return None;
    }
    let text = match largest_difference(study, with_none) {
        None => "No reduction takes longer than none at all by more than runs differ by. What barriers and atomic additions cost can't be told \
                 from nothing."
            .to_owned(),
        Some((ratio, index, threads)) => format!(
            "With {}, the {} reduction makes the kernel {} than without any; that is the largest difference. A reduction is {} of a launch at \
             most.",
            plural(threads, "thread"),
            Reduction::ALL[index].name(),
            by_percent(ratio),
            percent(reduction_share(study))
        ),
    };
    let without_none = |row: &BatchRow| {
        let tree = row.one_phase();
        row.reductions.iter().take(4).skip(1).map(|reduction| (tree, *reduction)).collect()
    };
    let among = match largest_difference(study, without_none) {
        None => " The four don't differ by more than runs do.".to_owned(),
        Some((ratio, index, threads)) => format!(
            " Against the notebook's tree, the largest difference is that of {} with {}: {}.",
            Reduction::ALL[index + 1].name(),
            plural(threads, "thread"),
            by_percent(ratio)
        ),
    };
    Some(text + &among)
}

/// Each placement but the first, with the first before it.
fn with_global(row: &BatchRow) -> Vec<(Spread, Spread)> {
    match row.placements.as_slice() {
        [global, others @ ..] => others.iter().map(|other| (*global, *other)).collect(),
        [] => Vec::new(),
    }
}

fn placements(study: &Study) -> Option<String> {
    if study.batch.is_empty() {
        return None;
    }
    let mut texts = Vec::new();
    for (index, placement) in Placement::ALL.into_iter().enumerate().skip(1) {
        let ratios = || study.batch.iter().filter_map(|row| with_global(row).get(index - 1).map(|(a, b)| b.median / a.median));
        let (least, most) = (ratios().fold(f64::INFINITY, f64::min), ratios().fold(0.0, f64::max));
        let apart =
            study.batch.iter().filter(|row| with_global(row).get(index - 1).is_some_and(|(a, b)| a.is_apart_from(b))).count();
        let rows = study.batch.len();
        texts.push(format!(
            "From {} memory a launch takes {} times as long as from global memory, {}.",
            placement.name(),
            if digits(least) == digits(most) { digits(least) } else { format!("{} to {}", digits(least), digits(most)) },
            match apart {
                0 => "no more than runs differ by".to_owned(),
                apart => format!("more than runs differ by for {apart} of {rows} numbers of threads"),
            }
        ));
    }
    Some(texts.join(" "))
}

// Phases and limits.

fn phases(study: &Study) -> Option<String> {
    let last = study.batch.last()?;
    let ratio = |row: &BatchRow| row.one_phase().median / row.two_phase.median;
    let (least, most) = study.batch.iter().map(ratio).fold((f64::INFINITY, 0.0f64), |(a, b), ratio| (a.min(ratio), b.max(ratio)));
    let Work { one_phase_transforms: one, two_phase_transforms: two, .. } = last.work;
    let turning = 1.0 - last.work.clips as f64 * CLIP / last.work.one_phase_instructions();
    let mut text = format!(
        "With {} against {}, one phase turns {} pieces and two phases {}, {} times fewer. One phase takes {} as long as two, \
         with the turning counted, over all numbers of threads.",
        plural(last.threads, "pose"),
        study.options.poses,
        grouped(one as usize),
        grouped(two as usize),
        number(one as f64 / two as f64),
        if number(least) == number(most) {
            format!("{} times", number(least))
        } else {
            format!("{} to {} times", number(least), number(most))
        },
    );
    text.push_str(&format!(
        " Of the arithmetic of one phase {} is intersecting, which both do alike, and {} the rest, by the instructions in the source.",
        percent(1.0 - turning),
        percent(turning)
    ));
    let gain = last.two_phase.median / last.engine.median;
    if gain.is_finite() && gain > 0.0 {
        text.push_str(&format!(
            " The library's own evaluator, which is built for whole devices, takes {} for the same: it is {} than the two phases.",
            time(last.engine.median),
            compared(1.0 / gain)
        ));
    }
    Some(text)
}

/// How many times faster two phases are than one, at best; 1 where they aren't by more than runs differ.
fn gain_of_two_phases(study: &Study) -> f64 {
    let apart = study.batch.iter().filter(|row| row.one_phase().is_apart_from(&row.two_phase));
    apart.map(|row| row.one_phase().median / row.two_phase.median).fold(1.0, f64::max)
}

/// How busy one launch keeps its part of the device.
#[derive(Clone, Copy, Debug)]
struct Use {
    /// Double-precision instructions per second for lanes that have something to do.
    useful: f64,
    /// The same, with those of lanes that wait for others of their warp.
    issued: f64,
    /// What the multiprocessors with a block can start; none where that is unknown.
    peak: Option<f64>,
}

fn usage(study: &Study, work: &Work, blocks: usize, launches: f64, ms: f64) -> Option<Use> {
    if ms.is_nan() || ms <= 0.0 || work.candidates == 0 {
        return None;
    }
    let useful = launches * work.one_phase_instructions() / (1e-3 * ms);
    let lanes = if is_gpu(study) { (32 * work.warp_steps) as f64 / work.candidates as f64 } else { 1.0 };
    let facts = &study.device;
    let of_one = facts.fp64_lanes.zip(facts.clock_mhz).map(|(lanes, mhz)| f64::from(lanes) * mhz * 1e6);
    let peak = of_one.map(|of_one| of_one * (blocks as f64).min(f64::from(facts.multiprocessors)));
    Some(Use { useful, issued: useful * lanes, peak })
}

fn limit(study: &Study) -> Option<String> {
    let row = study.batch.last()?;
    let ms = row.one_phase().median;
    let of_launch = usage(study, &row.work, row.blocks, 1.0, ms)?;
    let mut text = format!(
        "A launch of {} does {} double-precision instructions per second",
        plural(row.threads, "thread"),
        rate(of_launch.useful)
    );
    let idle = 1.0 - row.blocks as f64 / f64::from(study.device.multiprocessors.max(1));
    if is_gpu(study) {
        text.push_str(&format!(", {} with those of lanes that wait for others.", rate(of_launch.issued)));
        if let Some(peak) = of_launch.peak {
            let share = of_launch.issued / peak;
            text.push_str(&format!(
                " That is {} of what {} can start, so that {}.",
                percent(share),
                if row.blocks == 1 { "its one multiprocessor".to_owned() } else { format!("its {} multiprocessors", row.blocks) },
                if share >= 0.6 {
                    "the double-precision units are the limit"
                } else {
                    "the limit is how long each thread's chain of operations takes, one waiting for the other"
                }
            ));
        }
        if idle > 0.0 {
            text.push_str(&format!(
                " {} of {} are idle meanwhile.",
                study.device.multiprocessors as usize - row.blocks,
                units(study)
            ));
        }
    } else {
        text.push_str(&format!(", on {} of {}.", row.blocks.min(study.device.multiprocessors as usize), units(study)));
    }
    let bytes = 24 * (row.threads + study.options.poses) + 64 * study.pieces;
    let requests = 24 * row.work.comparisons + 64 * row.work.one_phase_transforms;
    text.push_str(&format!(
        " All that it reads is {}, {}asked for {} times over: {} per second, from {}.",
        amount(bytes as f64),
        if requests as f64 >= bytes as f64 { "" } else { "not even " },
        number(requests as f64 / bytes as f64),
        amount(requests as f64 / (1e-3 * ms)),
        if study.device.l2_bytes == 0 {
            "caches of a size unknown here"
        } else if bytes <= study.device.l2_bytes {
            "caches that hold it"
        } else {
            "memory, since it is larger than the caches"
        }
    ));
    if let Some(best) = study
        .streams
        .iter()
        .max_by(|a, b| (a.streams as f64 / a.blocks_ms.median).total_cmp(&(b.streams as f64 / b.blocks_ms.median)))
    {
        let launches = (best.streams * study.options.iterations) as f64;
        if let Some(many) = usage(study, &study.stream_work, best.streams, launches, best.blocks_ms.median) {
            text.push_str(&format!(
                " {} at a time {} to {} instructions per second{}.",
                plural(best.streams, "block"),
                if best.streams == 1 { "comes" } else { "come" },
                rate(many.useful),
                many.peak.map_or_else(String::new, |peak| format!(
                    ", with idle lanes {} of what as many multiprocessors can start",
                    percent(many.issued / peak)
                ))
            ));
        }
    }
    Some(text)
}

/// What the figures make of the notebook's statements.
pub fn claims(study: &Study) -> Vec<Claim> {
    let mut claims = Vec::new();
    if let ([first, .., last], true) = (study.streams.as_slice(), is_gpu(study)) {
        let blocks: fn(&StreamsRow) -> Spread = |row| row.blocks_ms;
        let gain = per_second(study, last, blocks) / per_second(study, first, blocks);
        let ideal = last.streams as f64 / first.streams as f64;
        claims.push(Claim {
            claim: "The problem isn't that the GPU is empty: more threads only make it slower",
            verdict: if gain >= IN_PROPORTION * ideal {
                Verdict::Refuted
            } else if gain >= GAIN {
                Verdict::Partly
            } else {
                Verdict::Supported
            },
            because: format!("{} times the blocks in one launch do {} times as much in a second", number(ideal), number(gain)),
        });
    }
    if !study.batch.is_empty() {
        let most = reduction_share(study);
        claims.push(Claim {
            claim: "The barriers of the reduction cost most of the time (given up later)",
            verdict: match most {
                0.5.. => Verdict::Supported,
                0.05.. => Verdict::Partly,
                _ => Verdict::Refuted,
            },
            because: if most > 0.0 {
                format!("a reduction is at most {} of a launch", percent(most))
            } else {
                "no reduction takes longer than none at all by more than runs differ".to_owned()
            },
        });
    }
    if let Some(row) = study.batch.last() {
        let bytes = 24 * (row.threads + study.options.poses) + 64 * study.pieces;
        let shared = with_global(row).get(1).copied();
        let shared = shared.filter(|(global, shared)| global.is_apart_from(shared));
        let shared = shared.map_or(1.0, |(global, shared)| shared.median / global.median);
        let fits = study.device.l2_bytes > 0 && bytes <= study.device.l2_bytes;
        claims.push(Claim {
            claim: "Memory bandwidth is saturated (given up later)",
            verdict: match shared {
                _ if !fits => Verdict::Open,
                ratio if ratio < 1.0 / GAIN => Verdict::Partly,
                _ => Verdict::Refuted,
            },
            because: format!(
                "all data are {}, {}; with the pieces in shared memory a launch takes {}",
                amount(bytes as f64),
                if fits { "which the caches hold" } else { "more than the caches are known to hold" },
                if shared == 1.0 {
                    "as long, as far as runs can tell".to_owned()
                } else {
                    format!("{} times as long", digits(shared))
                }
            ),
        });
        let ratios: Vec<_> = study.batch.iter().filter_map(|row| with_global(row).first().copied()).collect();
        let slower = ratios.iter().filter(|(global, constant)| constant.min > global.max).count();
        let apart = ratios.iter().filter(|(global, constant)| constant.min > global.max);
        let most = apart.map(|(global, constant)| constant.median / global.median).fold(1.0, f64::max);
        claims.push(Claim {
            claim: "Constant memory makes it slower (by 9 to 17 %), as threads have different poses",
            verdict: match slower {
                0 => Verdict::Refuted,
                slower if 2 * slower > ratios.len() && most >= 1.05 => Verdict::Supported,
                _ => Verdict::Partly,
            },
            because: format!(
                "it takes longer by more than runs differ for {slower} of {} numbers of threads{}",
                ratios.len(),
                if slower > 0 { format!(", {} times as long at most", digits(most)) } else { String::new() }
            ),
        });
        let most = gain_of_two_phases(study);
        claims.push(Claim {
            claim: "Turning the pieces again for each comparison is what costs",
            verdict: match most {
                2.0.. => Verdict::Supported,
                1.05.. => Verdict::Partly,
                _ => Verdict::Refuted,
            },
            because: format!(
                "two phases turn {} times fewer pieces (the notebook expects about {}), and {}",
                number(row.work.one_phase_transforms as f64 / row.work.two_phase_transforms as f64),
                number(notebook::CLAIMED_WASTE),
                if most > 1.0 {
                    format!("are {} times as fast at best", digits(most))
                } else {
                    "aren't faster by more than runs differ".to_owned()
                }
            ),
        });
    }
    if study.batch.len() > 1 {
        let times = batch_times(study);
        let (best, varies) = best_measure(&times);
        claims.push(Claim {
            claim: "A launch takes longer with more threads, as each does work that is redundant",
            // That what is redundant takes the time would show in two phases being faster.
            verdict: match MEASURES.iter().position(|measure| measure.0 == best.0) {
                _ if varies > CONSTANT => Verdict::Open,
                Some(2..) if gain_of_two_phases(study) >= 2.0 => Verdict::Supported,
                Some(2..) => Verdict::Partly,
                _ => Verdict::Refuted,
            },
            because: format!("the time goes with {}, to a factor of {}", best.0, number(varies)),
        });
    }
    claims
}

// Words for numbers.

/// How far a ratio is from 1, whichever way.
fn away(ratio: f64) -> f64 {
    ratio.max(1.0 / ratio)
}

/// Three digits, or all before the point; thousands are grouped.
fn number(value: f64) -> String {
    if value.abs() >= 999.5 && value.is_finite() {
        return grouped(value.round().abs() as usize);
    }
    let text = digits(value);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Three digits, zeroes among them.
fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        0.0..9.995 => 2,
        9.995..99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

fn grouped(n: usize) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn plural(n: usize, what: &str) -> String {
    format!("{} {what}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// `12 %`, `3.4 %`, `0.05 %`.
fn percent(share: f64) -> String {
    let value = 100.0 * share;
    if value > 0.0 && value < 0.005 {
        return "less than 0.01 %".to_owned();
    }
    let decimals = match value.abs() {
        9.95.. => 0,
        0.95.. => 1,
        0.0 => 0,
        _ => 2,
    };
    format!("{value:.decimals$} %")
}

/// A ratio of times, as how much slower or faster.
fn by_percent(ratio: f64) -> String {
    if ratio >= 1.0 { format!("{} slower", percent(ratio - 1.0)) } else { format!("{} faster", percent(1.0 - ratio)) }
}

/// The same, in words for ratios that are not small.
fn compared(ratio: f64) -> String {
    if away(ratio) < 2.0 {
        by_percent(ratio)
    } else if ratio > 1.0 {
        format!("{} times slower", number(ratio))
    } else {
        format!("{} times faster", number(1.0 / ratio))
    }
}

/// Milliseconds in a unit that suits them.
fn time(ms: f64) -> String {
    match ms.abs() {
        1000.0.. => format!("{} s", digits(ms / 1e3)),
        1.0.. => format!("{} ms", digits(ms)),
        1e-3.. => format!("{} µs", digits(1e3 * ms)),
        0.0 => "0 ms".to_owned(),
        _ => format!("{} ns", digits(1e6 * ms)),
    }
}

/// A number per second.
fn rate(value: f64) -> String {
    scaled(value, &[(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")])
}

fn amount(bytes: f64) -> String {
    scaled(bytes, &[(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")])
}

fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    match units.iter().find(|(unit, _)| value >= *unit) {
        Some((unit, name)) => format!("{} {name}", digits(value / unit)),
        None => digits(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_words() {
        assert_eq!([1.0, 2.5, 0.126, 12.34, 123.4, 1234.5].map(number), ["1", "2.5", "0.13", "12.3", "123", "1,235"]);
        assert_eq!(
            [0.5, 0.034, 0.0005, 0.0, 1.0, 1e-6].map(percent),
            ["50 %", "3.4 %", "0.05 %", "0 %", "100 %", "less than 0.01 %"]
        );
        assert_eq!([12.0, 0.5, 2e-4, 2500.0, 0.0].map(time), ["12.0 ms", "500 µs", "200 ns", "2.50 s", "0 ms"]);
        assert_eq!([1.1, 0.9, 3.0, 0.25].map(compared), ["10 % slower", "10 % faster", "3 times slower", "4 times faster"]);
        assert_eq!([1.5e9, 10.0].map(rate), ["1.50 G", "10.0"]);
        assert_eq!([plural(1, "thread"), plural(1500, "thread")], ["1 thread", "1,500 threads"]);
    }

    #[test]
    fn lines() {
        let fit = Fit::linear(&[(1.0, 3.0), (2.0, 5.0), (4.0, 9.0)]).unwrap();
        assert!((fit.a - 1.0).abs() < 1e-12 && (fit.b - 2.0).abs() < 1e-12 && (fit.r2 - 1.0).abs() < 1e-12, "{fit:?}");
        assert_eq!(Fit::linear(&[(1.0, 3.0)]), None);
        let flat = Fit::linear(&[(1.0, 3.0), (2.0, 3.0)]).unwrap();
        assert_eq!((flat.a, flat.b, flat.r2), (3.0, 0.0, 1.0));
        assert!(Fit::linear(&[(0.0, 0.0), (1.0, 1.0), (2.0, 0.0)]).unwrap().r2 < 1e-12);
    }
}

//! The sentences of each experiment.

use warpsmith::concurrency::{
    Facts, Reduction,
    findings::{
        At, Bound, Disturbed, FixedWork, Follows, Growth, Hold, Launches, Limit, Phases, Places, Reads, Reductions, Source,
        Streams, Threads, Use, Warps,
    },
};

use super::numbers::{by_percent, compared, digits, many, measure, number, percent, range, time};
use crate::cli::format::{bytes, counted, grouped};

/// Those that there are, one after the other.
fn sentences(all: impl IntoIterator<Item = Option<String>>) -> String {
    all.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn threads_of(n: usize) -> String {
    counted(n, "thread", "threads")
}

/// What executes blocks.
fn units(device: &Facts) -> String {
    let (one, many) = if device.is_gpu() { ("multiprocessor", "multiprocessors") } else { ("worker", "workers") };
    counted(device.multiprocessors as usize, one, many)
}

pub fn spread(found: &Disturbed) -> String {
    let Disturbed { disturbed, medians, .. } = found;
    let [beyond, most] = [found.beyond, found.most].map(percent);
    format!(
        "{disturbed} of {medians} medians are of runs that differ by more than ± {beyond}, at most by ± {most}: something else was at \
         work on this machine. Ratios of such medians mean little."
    )
}

pub fn streams(found: &Streams, device: &Facts) -> String {
    let ([few, many], units) = ([found.fewest.n, found.most.n], units(device));
    let [first, last, gain, more, blocks, empty] = [
        found.fewest.value,
        found.most.value,
        found.most.value / found.fewest.value,
        many as f64 / few as f64,
        found.blocks,
        found.empty_per_s,
    ]
    .map(number);
    let rates = format!("{first} and {last} kernels per second");
    let growth = match found.growth {
        Growth::ToTheEnd(room) => {
            let room = room.map_or_else(String::new, |room| {
                let room = grouped(room as usize);
                format!(
                    " These are {many} blocks at a time, and there is room for {room} on {units}: nothing is at its limit yet."
                )
            });
            format!(
                "{more} times the streams make {gain} times the kernels per second ({rates} with {few} and {many} streams).{room}"
            )
        }
        Growth::No => format!("{many} streams do no more than {few}: {rates}."),
        Growth::Shrinks => format!("{many} streams do less than {few}: {rates}."),
        Growth::UpTo(knee, next) => {
            let growth = if knee == found.fewest {
                format!("don't grow in proportion to the streams: {first} with {few},")
            } else {
                let (n, rate) = (knee.n, number(knee.value));
                format!("grow in proportion to the streams up to {n}, with {rate} of them, and no further:")
            };
            let beyond = if next == found.most { String::new() } else { format!(" and {last} with {many}") };
            format!("Kernels per second {growth} {} with {}{beyond}.", number(next.value), next.n)
        }
    };
    let in_one = format!("One launch of {many} blocks does");
    let nothing = format!("Kernels that do nothing come to {empty} per second");
    let not_full = |why| {
        let more =
            format!("{in_one} {blocks} times as much as {many} streams, so that it isn't the multiprocessors that are full.");
        let branches = found.branches.map(number);
        let branches = branches.map(|gain| format!("A graph with {many} branches isn't held up so: {gain} times as much."));
        sentences([Some(more), Some(why), branches])
    };
    let hold = found.hold.map(|hold| match hold {
        Hold::Order => {
            let shared = format!("; one launch of {many} blocks, which the workers share, does {blocks} times as much");
            let shared = if found.blocks_do_more { &shared } else { "" };
            format!("On the CPU a stream's work is done as it is enqueued, so that streams can't overlap{shared}.")
        }
        Hold::Device => format!("{in_one} no more ({blocks} times as much): {units} have all they can do."),
        Hold::PartOfDevice => format!("{in_one} no more ({blocks} times as much): {units} are not all of the story."),
        Hold::Launching => not_full(format!("{nothing}: launching is the limit.")),
        Hold::Queues(queues) => not_full(format!(
            "{nothing}, so it isn't the launching, either. Streams share {queues} hardware queues (CUDA_DEVICE_MAX_CONNECTIONS), and \
             where the growth ends fits that."
        )),
        Hold::Unknown => not_full("What holds the streams up these figures don't show.".to_owned()),
    });
    sentences([Some(growth), hold])
}

pub fn launches(found: &Launches) -> String {
    let streams = |at: At| counted(at.n, "stream", "streams");
    let (share, most) = (percent(found.empty.value), streams(found.empty));
    let empty = format!("As many launches of a kernel that does nothing take {share} of the time at most (with {most}).");
    let graphs = [("a graph per stream", found.graphs), ("one graph with a branch per stream", found.branches)];
    let graphs = graphs.map(|(what, gain)| match gain {
        None => format!("With {what} the times are the same to what runs differ by."),
        Some(at) => format!("With {what} it is {}, at {}.", compared(at.value), streams(at)),
    });
    sentences([empty].into_iter().chain(graphs).map(Some))
}

pub fn threads(found: &Threads, poses: usize) -> String {
    let Threads { few: At { n: few, value: first }, many: At { n: many, value: last }, .. } = *found;
    let [more, longer, comparison] = [many as f64 / few as f64, last / first, found.comparison].map(number);
    let [first, last, each] = [first, last, found.each_ms].map(time);
    let growth = format!(
        "{more} times the threads ({few} and {many}) take {longer} times as long ({first} and {last}), and a comparison of {many} \
         threads takes {comparison} times as long as one of {few}."
    );
    let line = found.fit.map(|fit| {
        let ([a, b], share) = ([fit.a, fit.b].map(time), percent(fit.r2));
        format!("The line {a} + n x {b} explains {share} of the variance.")
    });
    let [(by, varies), (other, wildly)] =
        [found.follows, found.unlike].map(|Follows { measure: by, varies, .. }| (measure(by), number(varies)));
    let follows = if found.follows.in_proportion {
        format!(
            "The time is in proportion to {by} ({each} each, to a factor of {varies}), and not to {other} (a factor of {wildly})."
        )
    } else {
        format!("Of the counts of work, it is most nearly in proportion to {by}, but for a factor of {varies}.")
    };
    let steps = found.warps.filter(|warps| warps.steps[1] > warps.steps[0]).map(|Warps { steps: [least, most], busy_lanes, .. }| {
        let (few, busy) = (threads_of(few), percent(busy_lanes));
        format!(
            "A warp goes through each comparison that any of its threads needs: {least} of {poses} with {few}, {most} with {many}, \
             where {busy} of the lanes have something to do."
        )
    });
    let others = found.warps.and_then(|Warps { warps, slower, compete, .. }| {
        let slower = number(slower?);
        let so = if compete { "they compete for one multiprocessor" } else { "there is room for them beside each other" };
        Some(format!("With {warps} warps a step takes {slower} times as long as with one: {so}."))
    });
    sentences([Some(growth), line, Some(follows), steps, others])
}

pub fn fixed(found: &FixedWork) -> String {
    let FixedWork { few: At { n: few, value: first }, other: At { n: other, value: last }, follows, .. } = *found;
    let total = grouped(found.total);
    let [faster, longer, more] = [first / last, last / first, other as f64 / few as f64].map(number);
    let speed = if last < first {
        format!(
            "{total} comparisons are done soonest with {other} threads: {faster} times as fast as with {few}, for {more} times the threads"
        )
    } else {
        format!("No number of threads does {total} comparisons sooner than {few}; {other} take {longer} times as long")
    };
    let ([least, most], by) = (found.steps.map(|steps| grouped(steps as usize)), measure(follows.measure));
    let steps = format!("; times are in proportion to {by}, {least} with {few} threads and {most} with {other}");
    format!("{speed}{}.", if follows.in_proportion { &steps } else { "" })
}

pub fn reductions(found: &Reductions) -> String {
    let told = |(reduction, at): (Reduction, At)| (reduction.name(), threads_of(at.n), by_percent(at.value));
    let against_none = match found.against_none.map(told) {
        None => "No reduction takes longer than none at all by more than runs differ by. What barriers and atomic additions cost can't \
                 be told from nothing."
            .to_owned(),
        Some((name, threads, slower)) => format!(
            "With {threads}, the {name} reduction makes the kernel {slower} than without any; that is the largest difference. A \
             reduction is {} of a launch at most.",
            percent(found.share)
        ),
    };
    let against_tree = match found.against_tree.map(told) {
        None => "The four don't differ by more than runs do.".to_owned(),
        Some((name, threads, slower)) => {
            format!("Against the notebook's tree, the largest difference is that of {name} with {threads}: {slower}.")
        }
    };
    sentences([Some(against_none), Some(against_tree)])
}

pub fn places(found: &Places) -> String {
    let (place, times, rows) = (found.placement.name(), range(found.times, digits), found.rows);
    let apart = match found.apart {
        0 => "no more than runs differ by".to_owned(),
        apart => format!("more than runs differ by for {apart} of {rows} numbers of threads"),
    };
    format!("From {place} memory a launch takes {times} times as long as from global memory, {apart}.")
}

pub fn phases(found: &Phases, poses: usize) -> String {
    let (own, times) = (counted(found.threads, "pose", "poses"), range(found.times, number));
    let [one, two] = [found.one_turns, found.two_turn].map(|pieces| grouped(pieces as usize));
    let fewer = number(found.one_turns as f64 / found.two_turn as f64);
    let [clips, rest] = [found.clips, 1.0 - found.clips].map(percent);
    let phases = format!(
        "With {own} against {poses}, one phase turns {one} pieces and two phases {two}, {fewer} times fewer. One phase takes {times} \
         times as long as two, with the turning counted, over all numbers of threads. Of the arithmetic of one phase {clips} is \
         intersecting, which both do alike, and {rest} the rest, by the instructions in the source."
    );
    let engine = found.engine.map(|ratio| {
        let (engine, faster) = (time(found.engine_ms), compared(ratio));
        format!(
            "The library's own evaluator, which is built for whole devices, takes {engine} for the same: it is {faster} than the two \
             phases."
        )
    });
    sentences([Some(phases), engine])
}

pub fn limit(found: &Limit, reads: Option<&Reads>, device: &Facts) -> String {
    let (Limit { blocks, of_launch, .. }, all, units) = (*found, device.multiprocessors as usize, units(device));
    let (threads, [useful, issued]) = (threads_of(found.threads), [of_launch.useful, of_launch.issued].map(many));
    let launch = format!("A launch of {threads} does {useful} double-precision instructions per second");
    let launch = if device.is_gpu() {
        format!("{launch}, {issued} with those of lanes that wait for others.")
    } else {
        format!("{launch}, on {} of {units}.", blocks.min(all))
    };
    let bound = of_launch.share.map(percent).zip(found.bound).map(|(share, bound)| {
        let its = if blocks == 1 { "one multiprocessor".to_owned() } else { format!("{blocks} multiprocessors") };
        let limit = match bound {
            Bound::Units => "the double-precision units are the limit",
            Bound::Chains => "the limit is how long each thread's chain of operations takes, one waiting for the other",
        };
        format!("That is {share} of what its {its} can start, so that {limit}.")
    });
    let idle = all.checked_sub(blocks).filter(|&idle| device.is_gpu() && idle > 0);
    let idle = idle.map(|idle| format!("{idle} of {units} are idle meanwhile."));
    let of_blocks = found.of_blocks.map(|(blocks, of_all)| of_blocks(blocks, &of_all));
    sentences([Some(launch), bound, idle, reads.map(all_reads), of_blocks])
}

fn all_reads(found: &Reads) -> String {
    let times = found.requested as f64 / found.bytes as f64;
    let (not_even, times) = (if times >= 1.0 { "" } else { "not even " }, number(times));
    let [all, rate] = [found.bytes as u64, found.requested_per_s as u64].map(bytes);
    let source = match found.source {
        Source::Unknown => "caches of a size unknown here",
        Source::Caches => "caches that hold it",
        Source::Memory => "memory, since it is larger than the caches",
    };
    format!("All that it reads is {all}, {not_even}asked for {times} times over: {rate} per second, from {source}.")
}

fn of_blocks(blocks: usize, of_all: &Use) -> String {
    let (useful, come) = (many(of_all.useful), if blocks == 1 { "comes" } else { "come" });
    let blocks = counted(blocks, "block", "blocks");
    let share = of_all.share.map(percent);
    let share =
        share.map_or_else(String::new, |share| format!(", with idle lanes {share} of what as many multiprocessors can start"));
    format!("{blocks} at a time {come} to {useful} instructions per second{share}.")
}

//! The fastest and the slowest schedule.

use super::super::{Run, Runs, Timeline};
use super::markup::Markup;
use super::timeline::Scale;
use super::units::{counted, time};
use super::{steps, timeline};

/// Ranks that are drawn, besides the first: more would be much of the same.
const RANKS: usize = 7;

/// The two schedules in time, where that is known, and as lists.
pub(super) fn write(to: &mut Markup, runs: &Runs) {
    let (Some(fastest), Some(slowest)) = (runs.fastest(), runs.slowest()) else { return };
    let drawn: Vec<_> = [("fastest", fastest, &runs.about.fastest), ("slowest", slowest, &runs.about.slowest)]
        .into_iter()
        .filter_map(|(name, run, timeline)| Some((name, run, timeline.as_ref().filter(|timeline| !timeline.spans.is_empty())?)))
        .collect();
    if !drawn.is_empty() {
        let ranks = drawn.iter().filter_map(|&(.., timeline)| Some((timeline, timeline::last_rank(timeline)?)));
        let scale = Scale::of(&ranks.collect::<Vec<_>>());
        let both = if drawn.len() > 1 { ", on one scale" } else { "" };
        to.leaf(
            "p",
            &[],
            format!("One invocation of each, as it was traced{both}. The host's lane has what its thread does or launches."),
        );
        key(to);
        for (name, run, timeline) in drawn {
            lanes(to, name, run, timeline, scale);
        }
    } else {
        to.leaf("p", &[], "The runs came without traces, so that there is no drawing of them in time.");
    }
    to.open("div", &[("class", &"pair")]);
    for (name, run) in [("fastest", fastest), ("slowest", slowest)] {
        to.open("div", &[]);
        steps::write(to, &format!("The {name} schedule's steps: {}", time(run.seconds)), &run.traversal);
        to.close();
    }
    to.close();
}

/// What the colours mean.
fn key(to: &mut Markup) {
    to.open("ul", &[("class", &"key")]);
    for (class, text) in [
        ("cpu", "host operation"),
        ("launch", "launch of a GPU operation"),
        ("gpu", "GPU operation"),
        ("sync", "event: record or wait"),
    ] {
        to.open("li", &[("class", &class)]).open("span", &[("class", &"swatch"), ("aria-hidden", &"true")]).close();
        to.say(text).close();
    }
    to.close();
}

/// One schedule: the rank that is done last, and the others folded.
fn lanes(to: &mut Markup, name: &str, run: &Run, timeline: &Timeline, scale: Scale) {
    let (all, Some(shown)) = (timeline::ranks(timeline), timeline::last_rank(timeline)) else { return };
    let of = if all.len() > 1 { format!("; here rank {shown}, the last of {} to be done", all.len()) } else { String::new() };
    to.leaf("h3", &[], format!("The {name}: {}{of}", time(run.seconds)));
    let title = |rank: usize| format!("The {name} schedule on rank {rank}");
    timeline::draw(to, &format!("{name}-{shown}"), &title(shown), timeline, shown, scale);
    let others: Vec<_> = all.iter().copied().filter(|&rank| rank != shown).collect();
    if others.is_empty() {
        return;
    }
    let (drawn, left) = others.split_at(others.len().min(RANKS));
    to.open("details", &[]).leaf(
        "summary",
        &[],
        if left.is_empty() {
            "The other ranks".to_owned()
        } else {
            format!("{} of the {} other ranks", drawn.len(), others.len())
        },
    );
    for &rank in drawn {
        to.leaf("h3", &[], format!("Rank {rank}"));
        timeline::draw(to, &format!("{name}-{rank}"), &title(rank), timeline, rank, scale);
    }
    if !left.is_empty() {
        to.leaf("p", &[("class", &"meta")], format!("{} are not drawn.", counted(left.len(), "rank")));
    }
    to.close();
}

//! A schedule in time: a lane for the host's thread of a rank, and one for each stream.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Span, Timeline};
use super::markup::{Markup, px};
use super::units::{Unit, ticks, time};

/// Widths of the drawing without its margins, in pixels: wider ones are for schedules of many steps.
const WIDTHS: [f64; 4] = [820.0, 1060.0, 1360.0, 1700.0];
/// This many lines of names above a lane are well read.
const LINES: usize = 11;
/// Room for the lanes' names.
const LEFT: f64 = 76.0;
/// Height of a bar.
const BAR: f64 = 22.0;
/// Between lanes.
const GAP: f64 = 10.0;
/// Height of a line of names above a lane.
const LINE: f64 = 15.0;
/// About what a character is wide, in the page's small font.
const CHARACTER: f64 = 6.9;

/// A bar of a lane.
struct Bar<'a> {
    span: &'a Span,
    /// From where to where, in pixels.
    from: f64,
    to: f64,
    /// Above the lane, in which line of names its name stands; inside the bar where it fits.
    line: Option<usize>,
}

/// The ranks that a timeline shows, ascending.
pub(super) fn ranks(timeline: &Timeline) -> Vec<usize> {
    timeline.spans.iter().map(|span| span.rank).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The rank that is done last; of several, the first.
pub(super) fn last_rank(timeline: &Timeline) -> Option<usize> {
    let end = |rank: usize| timeline.spans.iter().filter(|span| span.rank == rank).map(|span| span.end).fold(0.0, f64::max);
    ranks(timeline).into_iter().rev().max_by(|&a, &b| end(a).total_cmp(&end(b)))
}

/// The axis of several drawings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    /// Where it ends, in seconds.
    longest: f64,
    /// How wide that is, in pixels.
    width: f64,
}

impl Scale {
    /// One for all of these timelines, of each of which one rank is drawn: the narrowest on which names are well read.
    pub fn of(timelines: &[(&Timeline, usize)]) -> Self {
        let ends = timelines.iter().flat_map(|(timeline, _)| &timeline.spans).map(|span| span.end);
        let longest = ends.fold(0.0, f64::max);
        let longest = if longest > 0.0 { longest } else { 1.0 };
        let scales = WIDTHS.map(|width| Scale { longest, width });
        let most = |scale: Scale| {
            let lanes = timelines.iter().flat_map(|(timeline, rank)| scale.lanes(timeline, *rank).0.into_values());
            lanes.map(|bars| lines(&bars)).max().unwrap_or(0)
        };
        scales.into_iter().find(|&scale| most(scale) <= LINES).unwrap_or(scales[scales.len() - 1])
    }

    fn pixels(self, seconds: f64) -> f64 {
        LEFT + self.width * seconds / self.longest
    }

    /// A rank's lanes, and how far to the right they reach.
    fn lanes(self, timeline: &Timeline, rank: usize) -> (BTreeMap<Option<u8>, Vec<Bar<'_>>>, f64) {
        let mut lanes: BTreeMap<Option<u8>, Vec<Bar<'_>>> = BTreeMap::new();
        for span in timeline.spans.iter().filter(|span| span.rank == rank) {
            // What takes next to no time is still seen.
            let (from, to) = (self.pixels(span.start), self.pixels(span.end));
            lanes.entry(span.stream).or_default().push(Bar { span, from, to: to.max(from + 1.5), line: None });
        }
        let mut right = LEFT + self.width;
        for bars in lanes.values_mut() {
            bars.sort_by(|a, b| a.from.total_cmp(&b.from));
            right = right.max(place_names(bars));
        }
        (lanes, right)
    }
}

/// Writes one rank's lanes. `id` is unique in the page.
pub(super) fn draw(to: &mut Markup, id: &str, title: &str, timeline: &Timeline, rank: usize, scale: Scale) {
    let (lanes, right) = scale.lanes(timeline, rank);
    let heights: Vec<f64> = lanes.values().map(|bars| BAR + GAP + LINE * lines(bars) as f64).collect();
    let bottom = heights.iter().sum::<f64>() + 4.0;
    let (width, height) = (right + 12.0, bottom + 34.0);

    to.open("div", &[("class", &"scroll"), ("tabindex", &0), ("role", &"group"), ("aria-label", &title)]).open(
        "svg",
        &[
            ("xmlns", &"http://www.w3.org/2000/svg"),
            ("class", &"lanes"),
            ("width", &px(width)),
            ("height", &px(height)),
            ("viewBox", &format!("0 0 {} {}", px(width), px(height))),
            ("role", &"img"),
            ("aria-labelledby", &format!("{id}-title {id}-desc")),
        ],
    );
    to.leaf("title", &[("id", &format!("{id}-title"))], title);
    to.leaf("desc", &[("id", &format!("{id}-desc"))], describe(&lanes));
    axis(to, scale, bottom);
    let mut top = 0.0;
    for ((stream, bars), height) in lanes.iter().zip(heights) {
        top += height;
        lane(to, *stream, bars, top - GAP - BAR, right, &lanes);
    }
    to.close().close();
}

/// The vertical lines, and the times below them.
fn axis(to: &mut Markup, scale: Scale, bottom: f64) {
    let unit = Unit::of(scale.longest);
    let (values, decimals) = ticks(0.0, unit.from(scale.longest), (scale.width / 140.0) as usize);
    for value in values {
        let x = px(scale.pixels(value / unit.from(1.0)));
        let line: [(&str, &dyn std::fmt::Display); 5] =
            [("class", &"grid"), ("x1", &x), ("x2", &x), ("y1", &0), ("y2", &px(bottom))];
        to.empty("line", &line);
        to.leaf("text", &[("class", &"tick"), ("x", &x), ("y", &px(bottom + 16.0))], format!("{value:.decimals$}"));
    }
    let end = px(scale.pixels(scale.longest));
    to.leaf("text", &[("class", &"unit"), ("x", &end), ("y", &px(bottom + 30.0))], format!("time ({})", unit.name));
}

/// A lane whose bars are at `y`.
fn lane(to: &mut Markup, stream: Option<u8>, bars: &[Bar<'_>], y: f64, right: f64, lanes: &BTreeMap<Option<u8>, Vec<Bar<'_>>>) {
    let name = stream.map_or("host".to_owned(), |stream| format!("stream {stream}"));
    to.leaf("text", &[("class", &"lane"), ("x", &px(LEFT - 10.0)), ("y", &px(y + 0.5 * BAR + 4.0))], &name);
    let middle = px(y + 0.5 * BAR);
    to.empty("line", &[("class", &"rail"), ("x1", &px(LEFT)), ("x2", &px(right)), ("y1", &middle), ("y2", &middle)]);
    // Lines to names first, so that they are below all bars.
    for bar in bars {
        if let Some(line) = bar.line {
            let (x, top) = (px(bar.from + 0.75), px(y - 4.0 - LINE * line as f64));
            to.empty("line", &[("class", &"flag"), ("x1", &x), ("x2", &x), ("y1", &top), ("y2", &px(y))]);
        }
    }
    for Bar { span, from, to: until, line } in bars {
        let elsewhere = stream.is_none()
            && lanes.iter().any(|(lane, bars)| lane.is_some() && bars.iter().any(|bar| bar.span.name == span.name));
        let class = kind(span, elsewhere);
        to.open("g", &[("class", &class)]);
        let duration = format!("{} on the {name}: {} to {}", span.name, time(span.start), time(span.end));
        to.leaf("title", &[], format!("{duration}, {}", time(span.end - span.start)));
        let wide = px(until - from);
        to.empty("rect", &[("x", &px(*from)), ("y", &px(y)), ("width", &wide), ("height", &px(BAR)), ("rx", &2)]);
        match line {
            None => to.leaf(
                "text",
                &[("class", &"in"), ("x", &px(0.5 * (from + until))), ("y", &px(y + 0.5 * BAR + 4.0))],
                &span.name,
            ),
            Some(line) => to.leaf(
                "text",
                &[("class", &"out"), ("x", &px(from + 4.0)), ("y", &px(y - 5.0 - LINE * *line as f64))],
                &span.name,
            ),
        };
        to.close();
    }
}

/// What stands for a step: an operation of the host, one of the GPU, its launch, or synchronisation.
fn kind(span: &Span, launched: bool) -> &'static str {
    match span {
        Span { name, .. } if name.contains('-') => "sync",
        Span { stream: Some(_), .. } => "gpu",
        _ if launched => "launch",
        _ => "cpu",
    }
}

/// Settles where the names of a lane's bars go, which are in order, and says how far to the right they reach.
///
/// From the right to the left, a name that doesn't fit its bar goes into the first line above all names that begin
/// under it. So no name crosses another, nor the line from another to its bar.
fn place_names(bars: &mut [Bar<'_>]) -> f64 {
    let mut right = 0.0f64;
    for index in (0..bars.len()).rev() {
        let wide = CHARACTER * bars[index].span.name.chars().count() as f64;
        if wide + 6.0 <= bars[index].to - bars[index].from {
            continue;
        }
        let end = bars[index].from + 4.0 + wide + 4.0;
        right = right.max(end);
        let under = bars[index + 1..].iter().take_while(|bar| bar.from < end).filter_map(|bar| bar.line).max();
        bars[index].line = Some(under.map_or(0, |line| line + 1));
    }
    right
}

/// How many lines of names there are above a lane.
fn lines(bars: &[Bar<'_>]) -> usize {
    bars.iter().filter_map(|bar| bar.line).max().map_or(0, |line| line + 1)
}

/// The lanes in words.
fn describe(lanes: &BTreeMap<Option<u8>, Vec<Bar<'_>>>) -> String {
    let lane = |(stream, bars): (&Option<u8>, &Vec<Bar<'_>>)| {
        let name = stream.map_or("Host".to_owned(), |stream| format!("Stream {stream}"));
        let steps: Vec<_> = bars.iter().map(|bar| format!("{} from {}", bar.span.name, time(bar.span.start))).collect();
        format!("{name}: {}.", steps.join(", "))
    };
    lanes.iter().map(lane).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of the least width, at these places.
    fn bars(spans: &[Span]) -> Vec<Bar<'_>> {
        spans.iter().map(|span| Bar { span, from: span.start, to: span.end, line: None }).collect()
    }

    fn span(name: &str, start: f64, end: f64) -> Span {
        Span { name: name.to_owned(), rank: 0, stream: None, start, end }
    }

    #[test]
    fn names_keep_out_of_each_others_way() {
        let spans = [
            span("a_long_name_indeed", 0.0, 2.0),
            span("another_one", 3.0, 4.0),
            span("fits", 5.0, 200.0),
            span("x", 201.0, 202.0),
            span("y", 400.0, 401.0),
        ];
        let mut bars = bars(&spans);
        let right = place_names(&mut bars);
        assert_eq!(bars.iter().map(|bar| bar.line).collect::<Vec<_>>(), [Some(1), Some(0), None, Some(0), Some(0)]);
        assert!(right > 401.0 && lines(&bars) == 2);
        // No name begins before the end of one to its left in the same line.
        for (index, bar) in bars.iter().enumerate() {
            let end = bar.from + CHARACTER * bar.span.name.len() as f64;
            let same = bars[index + 1..].iter().filter(|other| bar.line.is_some() && other.line == bar.line);
            assert!(same.clone().all(|other| other.from > end));
        }
    }

    #[test]
    fn the_last_rank() {
        let mut timeline = Timeline::default();
        assert_eq!(last_rank(&timeline), None);
        timeline.spans = (0..4).map(|rank| Span { rank, ..span("a", 0.0, [1.0, 3.0, 3.0, 2.0][rank]) }).collect();
        assert_eq!((ranks(&timeline), last_rank(&timeline)), (vec![0, 1, 2, 3], Some(1)));
    }
}

//! The runs by their times, and how classes come about: the paper's Figures 1 and 4.

use super::super::labels::Labels;
use super::chart::{Axis, Chart};
use super::markup::Markup;
use super::units::{Unit, counted, digits, grouped, percent, time};

/// The sorted times with a band for each class, and a table of the classes.
pub(super) fn write(to: &mut Markup, labels: &Labels) {
    let sorted = labels.sorted();
    let (first, last) = (sorted[0], sorted[sorted.len() - 1]);
    let description = format!(
        "{} sorted by time, from {} to {}, in {}.",
        counted(sorted.len(), "run"),
        time(first),
        time(last),
        classes(labels.count())
    );
    to.open("figure", &[]);
    to.leaf("figcaption", &[], "The time of each run, from the fastest to the slowest. Bands are the classes.");
    let mut chart = sorted_times(to, "times", 300, "Sorted times", &description, labels, true);
    chart.line(&steps(labels), "curve");
    chart.finish();
    to.close();
    class_table(to, labels);
}

/// How the classes came about.
pub(super) fn write_labelling(to: &mut Markup, labels: &Labels) {
    let unit = Unit::of(labels.sorted()[labels.sorted().len() - 1]);
    let points = steps(labels);
    to.open("figure", &[]);
    to.open("figcaption", &[]).leaf("b", &[], "(a)").say(" The sorted times.").close();
    let mut chart = sorted_times(to, "label-a", 170, "Sorted times", "The times that are to be classed.", labels, false);
    chart.line(&points, "curve");
    chart.finish();
    to.close();

    let offset = labels.first_index() as f64;
    let convolved = |at: usize| (at as f64 + offset, unit.from(labels.convolution()[at]));
    let line: Vec<_> = (0..labels.convolution().len()).map(convolved).collect();
    let peaks = |kept: bool| -> Vec<_> {
        labels.peaks().iter().filter(|peak| peak.kept == kept).map(|peak| convolved(peak.at)).collect()
    };
    to.open("figure", &[]);
    to.open("figcaption", &[]).leaf("b", &[], "(b)");
    to.say(format!(
        " Their convolution with a step function of radius {}: the {} after a run less {} up to it.",
        labels.radius(),
        if labels.radius() == 1 { "time".to_owned() } else { format!("sum of the {} times", labels.radius()) },
        if labels.radius() == 1 { "that".to_owned() } else { "that of as many".to_owned() },
    ));
    to.say(match labels.threshold() {
        Some(threshold) => {
            let (kept, all) = (peaks(true).len(), counted(labels.peaks().len(), "peak"));
            format!(" Peaks of a prominence of {} or more are boundaries: {kept} of {all} (large dots; the dashed line is that high).", prominence(threshold))
        }
        None => " It has no peaks, so that there is one class.".to_owned(),
    });
    to.close();
    let y = Axis { ticks: 4, ..Axis::around(line.iter().map(|point| point.1), format!("convolution ({})", unit.name)) };
    let x = runs_axis(labels);
    let description = format!("{}, {} kept.", counted(labels.peaks().len(), "peak"), peaks(true).len());
    let mut chart = Chart::start(to, "label-b", 190, "Convolution", &description, x, y);
    chart.line(&line, "curve");
    // Of thousands of peaks, those that matter and some of the others are enough.
    let small = peaks(false);
    chart.dots(&small.iter().copied().step_by(small.len().div_ceil(300).max(1)).collect::<Vec<_>>(), "peaks");
    chart.dots(&peaks(true), "kept");
    if let Some(threshold) = labels.threshold() {
        chart.horizontal(unit.from(threshold), "cut");
    }
    chart.finish();
    to.close();

    to.open("figure", &[]);
    to.open("figcaption", &[]).leaf("b", &[], "(c)");
    to.say(if labels.count() == 1 { " No boundary." } else { " The boundaries between classes." }).close();
    let description = format!("The times with {}.", counted(labels.count() - 1, "boundary").replace("boundarys", "boundaries"));
    let mut chart = sorted_times(to, "label-c", 170, "Boundaries between classes", &description, labels, true);
    for &start in &labels.starts()[1..] {
        chart.vertical(start as f64 - 0.5, "bound");
    }
    chart.line(&points, "curve");
    chart.finish();
    to.close();
}

/// `3 classes`.
pub(super) fn classes(count: usize) -> String {
    format!("{} class{}", grouped(count), if count == 1 { "" } else { "es" })
}

/// A prominence, to three digits.
fn prominence(seconds: f64) -> String {
    let unit = Unit::of(seconds);
    format!("{} {}", digits(unit.from(seconds), 3), unit.name)
}

fn runs_axis(labels: &Labels) -> Axis {
    Axis::new(0.0, (labels.sorted().len() - 1).max(1) as f64, "runs, fastest first").whole()
}

/// A chart of the times, with bands perhaps; the line is still to be drawn.
fn sorted_times<'a>(
    to: &'a mut Markup,
    id: &str,
    height: u32,
    title: &str,
    description: &str,
    labels: &Labels,
    bands: bool,
) -> Chart<'a> {
    let unit = Unit::of(labels.sorted()[labels.sorted().len() - 1]);
    let times = labels.sorted().iter().map(|&seconds| unit.from(seconds));
    let y = Axis { ticks: if height > 250 { 6 } else { 4 }, ..Axis::around(times, format!("time ({})", unit.name)) };
    let x = runs_axis(labels);
    let (low, high) = (x.low, x.high);
    let mut chart = Chart::start(to, id, height, title, description, x, y);
    for class in labels.all().filter(|_| bands) {
        let places = labels.places(class);
        let (from, until) = (places.start as f64 - 0.5, places.end as f64 - 0.5);
        let text = if labels.count() <= 5 { format!("class {class}") } else { class.to_string() };
        chart.band(from.max(low), until.min(high), &format!("band k{}", class.index()), &text);
    }
    chart
}

/// The points of the sorted times.
fn steps(labels: &Labels) -> Vec<(f64, f64)> {
    let unit = Unit::of(labels.sorted()[labels.sorted().len() - 1]);
    labels.sorted().iter().enumerate().map(|(place, &seconds)| (place as f64, unit.from(seconds))).collect()
}

/// Each class's runs and times.
fn class_table(to: &mut Markup, labels: &Labels) {
    let unit = Unit::of(labels.sorted()[labels.sorted().len() - 1]);
    let best = labels.sorted()[0];
    to.open("div", &[("class", &"scroll"), ("tabindex", &0), ("role", &"group"), ("aria-label", &"Table of classes")]);
    to.open("table", &[]).leaf("caption", &[], "The classes").open("thead", &[]).open("tr", &[]);
    to.leaf("th", &[("scope", &"col")], "class");
    for name in ["runs", "share", &*format!("fastest ({})", unit.name), &*format!("slowest ({})", unit.name), "of the fastest"] {
        to.leaf("th", &[("scope", &"col"), ("class", &"n")], name);
    }
    to.close().close().open("tbody", &[]);
    for class in labels.all() {
        let (runs, [low, high]) = (labels.places(class).len(), labels.range(class));
        to.open("tr", &[]).open("td", &[("class", &"w")]);
        to.open("span", &[("class", &format!("swatch k{}", class.index())), ("aria-hidden", &"true")]).close();
        to.say(class).close();
        let cells = [
            grouped(runs),
            percent(runs as f64 / labels.sorted().len() as f64),
            digits(unit.from(low), 4),
            digits(unit.from(high), 4),
            if best > 0.0 { format!("{:.3} to {:.3}", low / best, high / best) } else { String::new() },
        ];
        for cell in cells {
            to.leaf("td", &[("class", &"n")], cell);
        }
        to.close();
    }
    to.close().close().close();
}

//! Line charts that fill whatever width there is.
//!
//! The drawing is an SVG that is stretched, with strokes that are not; the text around it is HTML, so that it has the
//! same size at every width.

use super::markup::{Markup, px};
use super::units::ticks;

/// The drawing's own width and height.
const SIDE: f64 = 1000.0;
/// A line keeps this many points at most; of more, the highest and lowest of each of half as many stretches.
const POINTS: usize = 1000;

/// One of the two axes.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub low: f64,
    pub high: f64,
    /// What it shows, with the unit.
    pub label: String,
    /// About how many ticks.
    pub ticks: usize,
    /// Whether values between whole numbers mean nothing.
    pub whole: bool,
}

impl Axis {
    /// From `low` to `high`.
    pub fn new(low: f64, high: f64, label: impl Into<String>) -> Self {
        Axis { low, high: if high > low { high } else { low + 1.0 }, label: label.into(), ticks: 5, whole: false }
    }

    /// Around these values, with a margin of a share of their range; from 0 where that isn't far.
    pub fn around(values: impl IntoIterator<Item = f64>, label: impl Into<String>) -> Self {
        let range = |(low, high): (f64, f64), value: f64| (low.min(value), high.max(value));
        let (low, high) = values.into_iter().fold((f64::INFINITY, f64::NEG_INFINITY), range);
        if !(low.is_finite() && high.is_finite()) {
            return Axis::new(0.0, 1.0, label);
        }
        let margin = if high > low { 0.08 * (high - low) } else { 0.05 * high.abs().max(1e-9) };
        let from = if low >= 0.0 && low < 0.35 * high { 0.0 } else { low - margin };
        Axis::new(from, high + margin, label)
    }

    /// Whole numbers.
    pub fn whole(self) -> Self {
        Axis { whole: true, ..self }
    }

    /// Where a value is, from 0 to 1.
    fn at(&self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }

    /// Values to mark, with their texts.
    fn marks(&self) -> Vec<(f64, String)> {
        let (mut values, mut decimals) = ticks(self.low, self.high, self.ticks);
        if self.whole {
            values.retain(|value| (value - value.round()).abs() < 1e-9);
            decimals = 0;
        }
        let text = |value: f64| format!("{:.decimals$}", if value == 0.0 { 0.0 } else { value });
        values
            .into_iter()
            .map(|value| {
                let text = text(value);
                let long = text.trim_start_matches('-').len() >= 4 && decimals == 0;
                (value, if long && value >= 0.0 { super::units::grouped(text) } else { text })
            })
            .collect()
    }
}

/// A chart that is being written.
pub(super) struct Chart<'a> {
    to: &'a mut Markup,
    x: Axis,
    y: Axis,
    /// Texts that go over the drawing when it is done: place in per cent from the left and from the bottom, class,
    /// text.
    texts: Vec<(f64, f64, &'static str, String)>,
}

impl<'a> Chart<'a> {
    /// Starts one. `id` is unique in the page; `height` in pixels; `title` and `description` are for those who can't
    /// see it.
    pub fn start(to: &'a mut Markup, id: &str, height: u32, title: &str, description: &str, x: Axis, y: Axis) -> Self {
        to.open("div", &[("class", &"plot"), ("style", &format!("height:{height}px"))]);
        to.open(
            "svg",
            &[
                ("xmlns", &"http://www.w3.org/2000/svg"),
                ("viewBox", &format!("0 0 {SIDE} {SIDE}")),
                ("preserveAspectRatio", &"none"),
                ("role", &"img"),
                ("aria-labelledby", &format!("{id}-title {id}-desc")),
            ],
        );
        to.leaf("title", &[("id", &format!("{id}-title"))], title);
        to.leaf("desc", &[("id", &format!("{id}-desc"))], description);
        let mut chart = Chart { to, x, y, texts: Vec::new() };
        for (value, _) in chart.y.marks() {
            chart.path(&[(chart.x.low, value), (chart.x.high, value)], "grid");
        }
        chart
    }

    /// A band over the whole height, with a text at its top where it is wide enough.
    pub fn band(&mut self, from: f64, to: f64, class: &str, text: &str) {
        let (left, right) = (self.x.at(from).clamp(0.0, 1.0), self.x.at(to).clamp(0.0, 1.0));
        let attributes: [(&str, &dyn std::fmt::Display); 5] =
            [("class", &class), ("x", &px(SIDE * left)), ("y", &0), ("width", &px(SIDE * (right - left))), ("height", &px(SIDE))];
        self.to.empty("rect", &attributes);
        let top = format!("M{} 0H{}", px(SIDE * left), px(SIDE * right));
        self.to.empty("path", &[("class", &format!("{class} edge")), ("d", &top)]);
        // The last word alone where all of it is too wide.
        let fits = |text: &&str| right - left >= 0.012 + 0.014 * text.chars().count() as f64;
        let last = text.rsplit(' ').next().unwrap_or(text);
        if let Some(text) = [text, last].into_iter().find(fits) {
            self.texts.push((50.0 * (left + right), 100.0, "over", text.to_owned()));
        }
    }

    /// A line through these points, thinned where they are many.
    pub fn line(&mut self, points: &[(f64, f64)], class: &str) {
        self.path(&thin(points, POINTS), class);
    }

    /// Dots, as large as the class's stroke is wide.
    pub fn dots(&mut self, points: &[(f64, f64)], class: &str) {
        let place = |&(x, y): &(f64, f64)| format!("M{} {}h0", px(SIDE * self.x.at(x)), px(SIDE * (1.0 - self.y.at(y))));
        let path: String = points.iter().map(place).collect();
        self.to.empty("path", &[("class", &class), ("d", &path)]);
    }

    /// A vertical line.
    pub fn vertical(&mut self, x: f64, class: &str) {
        self.path(&[(x, self.y.low), (x, self.y.high)], class);
    }

    /// A horizontal line.
    pub fn horizontal(&mut self, y: f64, class: &str) {
        self.path(&[(self.x.low, y), (self.x.high, y)], class);
    }

    /// Text beside a point.
    pub fn note(&mut self, (x, y): (f64, f64), text: impl Into<String>) {
        let left = self.x.at(x);
        let class = if left > 0.7 { "note" } else { "note right" };
        self.texts.push((100.0 * left, 100.0 * self.y.at(y), class, text.into()));
    }

    /// Ends it, with the axes' texts.
    pub fn finish(self) {
        let Chart { to, x, y, texts } = self;
        to.close();
        for (left, bottom, class, text) in texts {
            let style = format!("left:{}%;bottom:{}%", px(left), px(bottom));
            to.leaf("span", &[("class", &class), ("style", &style), ("aria-hidden", &"true")], text);
        }
        for (value, text) in y.marks() {
            let style = format!("bottom:{}%", px(100.0 * y.at(value)));
            to.leaf("span", &[("class", &"y"), ("style", &style), ("aria-hidden", &"true")], text);
        }
        for (value, text) in x.marks() {
            let style = format!("left:{}%", px(100.0 * x.at(value)));
            to.leaf("span", &[("class", &"x"), ("style", &style), ("aria-hidden", &"true")], text);
        }
        to.leaf("span", &[("class", &"x-label"), ("aria-hidden", &"true")], &x.label);
        to.leaf("span", &[("class", &"y-label"), ("aria-hidden", &"true")], &y.label);
        to.close();
    }

    fn path(&mut self, points: &[(f64, f64)], class: &str) {
        let mut path = String::new();
        for (index, &(x, y)) in points.iter().enumerate() {
            path.push(if index == 0 { 'M' } else { 'L' });
            path.push_str(&format!("{} {}", px(SIDE * self.x.at(x)), px(SIDE * (1.0 - self.y.at(y)))));
        }
        self.to.empty("path", &[("class", &class), ("d", &path)]);
    }
}

/// At most about this many of the points: the ends, and of each of half as many stretches the lowest and the highest.
fn thin(points: &[(f64, f64)], wanted: usize) -> Vec<(f64, f64)> {
    if points.len() <= wanted {
        return points.to_vec();
    }
    let mut kept = vec![points[0]];
    let stretches = wanted / 2;
    let inner = &points[1..points.len() - 1];
    for stretch in 0..stretches {
        let range = stretch * inner.len() / stretches..(stretch + 1) * inner.len() / stretches;
        let by_height = |a: &usize, b: &usize| inner[*a].1.total_cmp(&inner[*b].1);
        let (Some(low), Some(high)) = (range.clone().min_by(by_height), range.max_by(by_height)) else { continue };
        kept.push(inner[low.min(high)]);
        if low != high {
            kept.push(inner[low.max(high)]);
        }
    }
    kept.push(points[points.len() - 1]);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinned_lines_keep_ends_and_peaks() {
        let mut points: Vec<_> = (0..100_000).map(|x| (f64::from(x), 0.0)).collect();
        points[54_321].1 = 7.0;
        points[54_322].1 = -7.0;
        let kept = thin(&points, 1000);
        assert!(kept.len() <= 1002 && kept.windows(2).all(|pair| pair[0].0 < pair[1].0), "{}", kept.len());
        assert!(kept.contains(&points[54_321]) && kept.contains(&points[54_322]));
        assert_eq!((kept[0], kept[kept.len() - 1]), (points[0], points[99_999]));
        assert_eq!(thin(&points[..10], 10), &points[..10]);
    }

    #[test]
    fn axes() {
        let axis = Axis::around([100.0, 110.0], "");
        assert!(axis.low > 99.0 && axis.low < 100.0 && axis.high > 110.0);
        assert_eq!(Axis::around([1.0, 100.0], "").low, 0.0);
        let same = Axis::around([3.0, 3.0], "");
        assert!(same.low < 3.0 && same.high > 3.0);
        assert!(Axis::around([], "").high > 0.0);
        let marks = Axis { ticks: 8, ..Axis::new(2.0, 5.0, "").whole() }.marks();
        assert_eq!(marks.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), ["2", "3", "4", "5"]);
        assert_eq!(Axis::new(0.0, 20_000.0, "").marks()[1].1, "5,000".to_owned());
    }
}

//! Numbers as sentences have them.

use warpsmith::concurrency::findings::Measure;

use crate::cli::format::{self, grouped, scaled};

/// Three digits, or all before the point; thousands are grouped.
pub fn number(value: f64) -> String {
    if value >= 999.5 && value.is_finite() {
        return grouped(value.round() as usize);
    }
    let text = digits(value);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Three digits, zeroes among them; below one two after the point.
pub fn digits(value: f64) -> String {
    if value.abs() < 1.0 { format!("{value:.2}") } else { format::digits(value) }
}

/// `12 %`, `3.4 %`, `0.05 %`.
pub fn percent(share: f64) -> String {
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
pub fn by_percent(ratio: f64) -> String {
    if ratio >= 1.0 { format!("{} slower", percent(ratio - 1.0)) } else { format!("{} faster", percent(1.0 - ratio)) }
}

/// The same, in words for ratios that are not small.
pub fn compared(ratio: f64) -> String {
    match ratio {
        2.0.. => format!("{} times slower", number(ratio)),
        ..=0.5 => format!("{} times faster", number(1.0 / ratio)),
        _ => by_percent(ratio),
    }
}

/// `0.99`, or `0.99 to 1.03`.
pub fn range((least, most): (f64, f64), text: fn(f64) -> String) -> String {
    let (least, most) = (text(least), text(most));
    if least == most { least } else { format!("{least} to {most}") }
}

/// Milliseconds in a unit that suits them.
pub fn time(ms: f64) -> String {
    scaled(ms, &[(1e3, "s"), (1.0, "ms"), (1e-3, "µs"), (1e-6, "ns")])
}

/// How many of something: `6.79 G`.
pub fn many(value: f64) -> String {
    scaled(value, &[(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")]).trim_end().to_owned()
}

/// What is counted.
pub fn measure(measure: Measure) -> &'static str {
    match measure {
        Measure::LongestThread => "the candidates of the busiest thread",
        Measure::LongestWarp => "the comparisons that the busiest warp goes through",
        Measure::Candidates => "all candidates",
        Measure::Comparisons => "all comparisons",
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
        assert_eq!([12.0, 0.5, 2e-4, 2500.0, -5.48].map(time), ["12.0 ms", "500 µs", "200 ns", "2.50 s", "-5.48 ms"]);
        assert_eq!([1.1, 0.9, 3.0, 0.25].map(compared), ["10 % slower", "10 % faster", "3 times slower", "4 times faster"]);
        assert_eq!([1.5e9, 10.0].map(many), ["1.50 G", "10.0"]);
        assert_eq!([range((0.994, 0.9901), digits), range((0.5, 2.0), number)], ["0.99", "0.5 to 2"]);
    }
}

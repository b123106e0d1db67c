//! Durations, as people write them.

use std::time::Duration;

/// A year. Longer times are as good as for ever, and could overflow.
const LONGEST: Duration = Duration::from_secs(32_000_000);

/// Reads a duration above 0: `30s`, `5m`, `1.5h`, `1h 30m`, `500ms`, or a number of seconds.
pub fn parse(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let unit = if text.ends_with(|last: char| last.is_ascii_digit()) { "s" } else { "" };
    let duration = humantime::parse_duration(&format!("{text}{unit}")).ok();
    let in_range = |duration: &Duration| !duration.is_zero() && *duration <= LONGEST;
    duration.filter(in_range).ok_or_else(|| "not a time: write 30s, 5m or 1.5h".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_written() {
        let good =
            [("60s", 60.0), ("5m", 300.0), ("1.5h", 5400.0), ("1h 30m", 5400.0), ("500ms", 0.5), ("2", 2.0), (" 3 s", 3.0)];
        for (text, seconds) in good {
            assert_eq!(parse(text), Ok(Duration::from_secs_f64(seconds)), "{text}");
        }
        for text in ["", "0s", "-1s", "s", "400d", "inf", "nan", "1000000000h", "99999999999999999999y"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}

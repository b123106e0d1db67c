//! Numbers as text for people.

/// `10,000,000`
pub fn grouped(n: usize) -> String {
    grouped_digits(&n.to_string())
}

/// Groups the digits of a number of any length.
pub fn grouped_digits(digits: &str) -> String {
    let mut text = String::new();
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with the name of what it counts: `1 pose`, `2,000 poses`.
pub fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{} {}", grouped(n), if n == 1 { one } else { many })
}

/// Milliseconds or seconds: `0.123 ms`, `45.6 ms`, `7.89 s`.
pub fn time(ms: f64) -> String {
    if ms < 1000.0 { format!("{} ms", digits(ms)) } else { format!("{} s", digits(ms / 1000.0)) }
}

/// Seconds with four digits in a suitable unit: `63.82 µs`, `1.234 ms`, `2.500 s`.
pub fn seconds(seconds: f64) -> String {
    let units = [(1.0, "s"), (1e3, "ms"), (1e6, "µs")];
    // Each bound is where rounding would add a digit.
    let (factor, unit) = units.into_iter().find(|(factor, _)| seconds * factor >= 0.999_95).unwrap_or((1e9, "ns"));
    let value = seconds * factor;
    if value >= 1e9 || value > 0.0 && value < 0.000_5 {
        return format!("{value:.3e} {unit}");
    }
    let decimals = match value {
        0.0..9.9995 => 3,
        9.9995..99.995 => 2,
        99.995..999.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$} {unit}")
}

/// A share in percent, with two decimals.
pub fn percent(share: f64) -> String {
    if share > 0.0 && share < 5e-5 { "< 0.01 %".to_owned() } else { format!("{:.2} %", 100.0 * share) }
}

/// Bytes in powers of ten, the units of rates: `12 B`, `1.20 GB`.
pub fn bytes(bytes: u64) -> String {
    match bytes {
        0..1000 => format!("{bytes} B"),
        _ => scaled(bytes as f64, &[(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")]),
    }
}

/// Memory in powers of two: `512 B`, `31.2 GiB`.
pub fn memory(bytes: usize) -> String {
    const MIB: f64 = (1 << 20) as f64;
    match bytes {
        0..1024 => format!("{bytes} B"),
        _ => scaled(bytes as f64, &[(1024.0 * MIB, "GiB"), (MIB, "MiB"), (1024.0, "KiB")]),
    }
}

/// GB per second, or an empty text if the time is too short to be known.
pub fn bandwidth(bytes: u64, ms: f64) -> String {
    if ms > 0.0 { digits(bytes as f64 / ms / 1e6) } else { String::new() }
}

/// `n` of `what` per second: `123 M pairs/s`, `362 pairs/s`, or `123 M/s` if `what` is empty. The
/// text is empty if the time is too short to be known.
pub fn rate(n: usize, ms: f64, what: &str) -> String {
    if ms <= 0.0 {
        return String::new();
    }
    let scaled = scaled(n as f64 / ms * 1000.0, &[(1e9, "G "), (1e6, "M "), (1e3, "k "), (1.0, "")]);
    format!("{}/s", format!("{scaled}{what}").trim_end())
}

/// A value in the largest unit that is no larger than the value, or else in the smallest unit.
pub fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let found = units.iter().find(|(unit, _)| value.abs() >= *unit).or(units.last());
    let (unit, name) = found.copied().unwrap_or((1.0, ""));
    format!("{} {name}", digits(value / unit))
}

/// Three significant digits, or all before the point.
pub fn digits(value: f64) -> String {
    // Times below 1 ms have three decimals: whole microseconds.
    let decimals = match value.abs() {
        0.0..1.0 => 3,
        1.0..9.995 => 2,
        9.995..99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

/// At most `decimals` decimals, without trailing zeros: `0.25`, `3`; numbers beyond 15 digits have an exponent.
pub fn trimmed(value: f64, decimals: usize) -> String {
    if value.abs() >= 1e15 {
        return format!("{value:e}");
    }
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [0.0, 0.1234, 1.234, 45.67, 999.0, 7890.0].map(time),
            ["0.000 ms", "0.123 ms", "1.23 ms", "45.7 ms", "999 ms", "7.89 s"]
        );
        assert_eq!([0, 999, 1000, 1_200_000_000].map(bytes), ["0 B", "999 B", "1.00 kB", "1.20 GB"]);
        assert_eq!([0, 512, 1 << 20, 3 << 30].map(memory), ["0 B", "512 B", "1.00 MiB", "3.00 GiB"]);
        assert_eq!(
            [0.0, 5e-8, 6.3821e-5, 1.23e-4, 0.02, 2.5, 7200.0, 1e308, 1e-320].map(seconds),
            ["0.000 ns", "50.00 ns", "63.82 µs", "123.0 µs", "20.00 ms", "2.500 s", "7200 s", "1.000e308 s", "1.000e-311 ns"]
        );
        assert_eq!(
            [9.9994e-6, 9.9996e-6, 9.9994e-5, 9.9996e-5, 9.9994e-4, 9.9996e-4, 9.9996e-7, 0.99996].map(seconds),
            ["9.999 µs", "10.00 µs", "99.99 µs", "100.0 µs", "999.9 µs", "1.000 ms", "1.000 µs", "1.000 s"]
        );
        assert_eq!([0.0, 1e-9, 0.0371, 1.0].map(percent), ["0.00 %", "< 0.01 %", "3.71 %", "100.00 %"]);
        assert_eq!([0.5, 9.994, 9.997, 99.97, -5.48].map(digits), ["0.500", "9.99", "10.0", "100", "-5.48"]);
        assert_eq!(
            [(0.25, 3), (100.0, 0), (3.0, 2), (-0.001, 2), (1e99, 3)].map(|(value, decimals)| trimmed(value, decimals)),
            ["0.25", "100", "3", "0", "1e99"]
        );
        assert_eq!(bandwidth(3_000_000, 1.0), "3.00");
        assert_eq!(bandwidth(3_000_000, 0.0), "");
        assert_eq!(rate(1_000_000, 10.0, ""), "100 M/s");
        assert_eq!(
            [(1_000_000, 10.0), (362, 1000.0), (1, 2000.0)].map(|(n, ms)| rate(n, ms, "pairs")),
            ["100 M pairs/s", "362 pairs/s", "0.500 pairs/s"]
        );
        assert_eq!((rate(362, 1000.0, ""), rate(362, 0.0, "pairs")), ("362/s".to_owned(), String::new()));
        assert_eq!([0, 1, 2000].map(|n| counted(n, "pose", "poses")), ["0 poses", "1 pose", "2,000 poses"]);
    }
}

//! Numbers as the page shows them.

/// A unit of time: how many there are in a second, and its name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unit {
    per_second: f64,
    pub name: &'static str,
}

impl Unit {
    /// The unit in which a time of this many seconds is a number above one, if any.
    pub fn of(seconds: f64) -> Self {
        let units = [(1.0, "s"), (1e3, "ms"), (1e6, "µs")].map(|(per_second, name)| Unit { per_second, name });
        units.into_iter().find(|unit| seconds * unit.per_second >= 1.0).unwrap_or(Unit { per_second: 1e9, name: "ns" })
    }

    /// This many seconds in this unit.
    pub fn from(self, seconds: f64) -> f64 {
        seconds * self.per_second
    }
}

/// A time to four digits, with its unit.
pub(super) fn time(seconds: f64) -> String {
    let unit = Unit::of(seconds);
    format!("{} {}", digits(unit.from(seconds), 4), unit.name)
}

/// To this many digits, at least; all before the point.
pub(super) fn digits(value: f64, wanted: i32) -> String {
    let before = if value.abs() >= 1.0 { value.abs().log10().floor() as i32 + 1 } else { 1 };
    format!("{value:.*}", (wanted - before).max(0) as usize)
}

/// A share as a percentage.
pub(super) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent == 0.0 || percent == 100.0 {
        format!("{percent} %")
    } else if !(0.1..=99.9).contains(&percent) {
        format!("{} %", if percent < 50.0 { format!("{percent:.2}") } else { "> 99.9".to_owned() })
    } else {
        format!("{percent:.1} %")
    }
}

/// `1,234,567`, of any whole number in digits.
pub(super) fn grouped(number: impl std::fmt::Display) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A whole number in digits: `2,036`, or `1.87·10¹⁷` where it is too long to be read.
pub(super) fn short(number: &str) -> String {
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    if number.len() <= 9 || !is_number {
        return if is_number { grouped(number) } else { number.to_owned() };
    }
    let superscript = |digit: char| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(digit.to_digit(10)? as usize);
    let power: String = (number.len() - 1).to_string().chars().filter_map(superscript).collect();
    format!("{}.{}·10{power}", &number[..1], &number[1..3])
}

/// `1 run`, `2,036 runs`.
pub(super) fn counted(number: usize, what: &str) -> String {
    format!("{} {what}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// Round values from `low` to `high`, about `wanted` of them, and how many decimals they take.
pub(super) fn ticks(low: f64, high: f64, wanted: usize) -> (Vec<f64>, usize) {
    let span = high - low;
    // A NaN, too, has no ticks.
    if !(span > 0.0 && span.is_finite()) {
        return (vec![low], 2);
    }
    let rough = span / wanted as f64;
    let power = 10f64.powi(rough.log10().floor() as i32);
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power).into_iter().find(|step| *step >= rough * (1.0 - 1e-9));
    let step = step.unwrap_or(10.0 * power);
    let decimals = (-(step.log10() + 1e-9).floor()).max(0.0) as usize;
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    ((first..=last).map(|index| index as f64 * step).collect(), decimals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!([1.5, 0.9, 4.53e-5, 2e-9, 0.0].map(time), ["1.500 s", "900.0 ms", "45.30 µs", "2.000 ns", "0.000 ns"]);
        assert_eq!([0.0, 0.0001, 0.1234, 0.9999, 1.0].map(percent), ["0 %", "0.01 %", "12.3 %", "> 99.9 %", "100 %"]);
        assert_eq!((grouped(1234567), grouped("999")), ("1,234,567".to_owned(), "999".to_owned()));
        assert_eq!(["5390", "187464405585600000", "<u>", ""].map(short), ["5,390", "1.87·10¹⁷", "<u>", ""]);
        assert_eq!((counted(1, "run"), counted(2036, "run")), ("1 run".to_owned(), "2,036 runs".to_owned()));
    }

    #[test]
    fn round_values() {
        assert_eq!(ticks(0.0, 100.0, 5), (vec![0.0, 20.0, 40.0, 60.0, 80.0, 100.0], 0));
        assert_eq!(ticks(3.0, 7.9, 5), (vec![3.0, 4.0, 5.0, 6.0, 7.0], 0));
        let (values, decimals) = ticks(0.97, 1.03, 4);
        assert!(decimals == 2 && values.len() == 3 && (values[0] - 0.98).abs() < 1e-12, "{values:?}");
        assert_eq!(ticks(5.0, 5.0, 4).0, [5.0]);
        assert_eq!(ticks(f64::NAN, 5.0, 4).0.len(), 1);
    }
}

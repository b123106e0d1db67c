//! Reads counts as people write them: `100_000_000`, `1e8`, `100M`.

use super::format::grouped;

/// Maximum length of a list: 2^31 - 2. The device names elements by an `i32`, and one more value
/// stands for "none".
pub const MAX: u32 = i32::MAX as u32 - 1;

/// Reads the length of a list: `100000000`, `100_000_000`, `1e8`, `1.5e6`, `100M` (k, M and G are powers of ten).
pub fn parse_long(text: &str) -> Result<u64, String> {
    positive(text, "there must be at least 1 element", "100000000, 100_000_000, 1e8 or 100M")
}

/// Returns the number if a list on one device can be that long.
pub fn short(n: u64) -> Result<u32, String> {
    u32::try_from(n).ok().filter(|&n| n <= MAX).ok_or_else(|| format!("at most 2^31 - 2 = {MAX} elements can be indexed"))
}

/// Returns a reader of whole numbers from 1 to `most`, in the notations of [`parse_long`].
pub fn up_to(most: usize) -> impl Fn(&str) -> Result<usize, String> + Clone + Send + Sync {
    move |text| {
        let n = positive(text, "it must be at least 1", "1000, 1_000, 1e3 or 1k")?;
        let in_range = usize::try_from(n).ok().filter(|&n| n <= most);
        in_range.ok_or_else(|| format!("it must be at most {}", grouped(most)))
    }
}

/// Returns a whole number from 1 on. The error is `less` for a number below 1, and `notations` for any other text.
fn positive(text: &str, less: &str, notations: &str) -> Result<u64, String> {
    match exact(text.strip_prefix('-').unwrap_or(text)) {
        Some(n) if n > 0 && !text.starts_with('-') => Ok(n),
        Some(_) => Err(less.to_owned()),
        None => Err(format!("not a whole number; write {notations}")),
    }
}

/// Returns the number if it is whole. Numbers beyond 19 digits become `u64::MAX`, which is longer
/// than any list.
fn exact(text: &str) -> Option<u64> {
    let plain: String = text.chars().filter(|&character| character != '_').collect();
    let (rest, suffix) = match plain.char_indices().last()? {
        (end, 'k' | 'K') => (&plain[..end], 3),
        (end, 'm' | 'M') => (&plain[..end], 6),
        (end, 'g' | 'G') => (&plain[..end], 9),
        _ => (&*plain, 0),
    };
    let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (rest, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some(0);
    }
    // Shift the point: append zeros, or cut them if the digits end in enough of them.
    let shift = i64::from(exponent) + suffix - fraction.len() as i64;
    let significant = digits.trim_end_matches('0');
    let zeroes = (digits.len() - significant.len()) as i64 + shift;
    match usize::try_from(zeroes) {
        Err(_) => None,
        Ok(zeroes) if significant.len() + zeroes > 19 => Some(u64::MAX),
        Ok(zeroes) => significant.parse::<u64>().ok()?.checked_mul(10u64.pow(zeroes as u32)).or(Some(u64::MAX)),
    }
}

/// Splits a name from the number behind its last colon, if there is one.
pub fn split(text: &str) -> Option<(&str, usize)> {
    let (name, count) = text.rsplit_once(':')?;
    Some((name, count.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<u32, String> {
        parse_long(text).and_then(short)
    }

    #[test]
    fn numbers_as_written() {
        for (text, n) in [
            ("1", 1),
            ("100000000", 100_000_000),
            ("100_000_000", 100_000_000),
            ("1e8", 100_000_000),
            ("1E8", 100_000_000),
            ("1.5e6", 1_500_000),
            ("1e+3", 1000),
            ("100e-2", 1),
            ("100M", 100_000_000),
            ("64k", 64_000),
            ("0.5G", 500_000_000),
            ("2147483646", MAX),
        ] {
            assert_eq!(parse(text), Ok(n), "{text}");
        }
    }

    #[test]
    fn numbers_up_to_a_bound() {
        let read = up_to(20_000);
        for (text, n) in [("1", 1), ("20_000", 20_000), ("2e4", 20_000), ("3k", 3000)] {
            assert_eq!(read(text), Ok(n), "{text}");
        }
        for (texts, error) in [
            (&["0", "-1", "-9223372036854775808"][..], "it must be at least 1"),
            (&["20001", "9223372036854775807", "18446744073709551616", "1e400"], "it must be at most 20,000"),
            (&["", "x", "1.5", "nan", "inf", "-", "0x10"], "not a whole number; write 1000, 1_000, 1e3 or 1k"),
        ] {
            for text in texts {
                assert_eq!(read(text), Err(error.to_owned()), "{text}");
            }
        }
    }

    #[test]
    fn what_is_none() {
        for text in ["", "_", "e8", "M", "1e", "1.5", "2.50", "1e-1", "abc", "1e8x", "0x10", "1.2.3", "½", "1é", "--1", "1 000"]
        {
            assert!(parse(text).unwrap_err().starts_with("not a whole number"), "{text}");
        }
        for text in ["0", "0.0", "0e9", "-3", "-1e8"] {
            assert_eq!(parse(text).unwrap_err(), "there must be at least 1 element", "{text}");
        }
        for text in ["2147483647", "1e12", "3G", "1e999999999", "99999999999999999999999"] {
            assert!(parse(text).unwrap_err().starts_with("at most"), "{text}");
        }
    }
}

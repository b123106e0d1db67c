//! Tests that can't run everywhere.

use std::fmt::Display;

/// Prints why a test is skipped. Fails it instead if `WARPSMITH_REQUIRE`, a list with commas, names
/// `need` (`gpu`, `cc` or `ptxas`).
pub fn skip(need: &str, reason: impl Display) {
    let required = std::env::var("WARPSMITH_REQUIRE").is_ok_and(|needs| needs.split(',').any(|other| other == need));
    assert!(!required, "WARPSMITH_REQUIRE has {need}, but {reason}");
    eprintln!("skipped: {reason}");
}

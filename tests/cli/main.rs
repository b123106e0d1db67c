//! The command line: what holds for all commands, and `warpsmith list-rank`.

#[cfg(target_os = "linux")]
#[path = "../common/fake_driver.rs"]
mod fake_driver;
#[path = "../common/folder.rs"]
mod folder;
#[cfg(target_os = "linux")]
#[path = "../common/signals.rs"]
mod signals;
#[cfg(target_os = "linux")]
#[path = "../common/skip.rs"]
mod skip;
#[path = "../common/walk.rs"]
mod walk;

#[cfg(target_os = "linux")]
mod faults;
#[cfg(target_os = "linux")]
mod files;
mod general;
#[cfg(target_os = "linux")]
mod input;
mod new;

/// Runs the commands in all `tests/*/*.trycmd` and compares what they print.
///
/// Commands of one file run in one folder, which starts as the file's `.in` and ends with what its `.out` has.
/// `TRYCMD=overwrite cargo test --test cli snapshots` writes down what is printed now.
#[test]
fn snapshots() {
    let cases = trycmd::TestCases::new();
    cases.register_bin("warpsmith", assert_cmd::cargo::cargo_bin!("warpsmith"));
    cases.env("COLUMNS", "100").case("../../tests/*/*.trycmd");
}

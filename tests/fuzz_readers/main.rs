//! Feeds damaged files to every reader, and odd options to every command.
//!
//! `WARPSMITH_FUZZ_SECONDS` is the duration (default 6) and `WARPSMITH_FUZZ_SEED` the seed (default
//! 0): the same seed generates the same cases. Half of the time goes to the readers, in a process
//! of their own, half to the program's options. A case fails if it panics, ends the process, uses
//! too much memory for its file, takes too long, or breaks a property: a round trip through a file
//! returns equal data, and errors are sentences. The file or the command is then kept under
//! `target/tmp`.

mod memory;
mod mutate;
mod options;
mod readers;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

/// Pseudorandom numbers that depend only on a seed (Steele, Lea and Flood, "Fast splittable
/// pseudorandom number generators", OOPSLA 2014).
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `n`, which isn't 0.
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// Returns true with probability 1/`n`.
    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// A word of a list whose separator is `~`.
    fn word<'a>(&mut self, words: &'a str) -> &'a str {
        words.split('~').nth(self.below(words.split('~').count())).unwrap_or_default()
    }

    fn of<'a, T>(&mut self, values: &'a [T]) -> &'a T {
        &values[self.below(values.len())]
    }
}

/// Returns the folder of failed cases: one per seed, so that several can run at once.
fn kept() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz").join(number("WARPSMITH_FUZZ_SEED", 0).to_string())
}

fn number(name: &str, default: u64) -> u64 {
    env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().collect();
    let (seconds, seed) = (number("WARPSMITH_FUZZ_SECONDS", 6), number("WARPSMITH_FUZZ_SEED", 0));
    let half = Duration::from_secs(seconds) / 2;
    fs::create_dir_all(kept()).unwrap();
    match arguments.get(1).map(String::as_str) {
        Some("--readers") => return readers::run(Instant::now() + half, seed),
        Some("--list") => return ExitCode::SUCCESS,
        _ => {}
    }
    // The readers in a process of their own, which they may end.
    let mut child = Command::new(env::current_exe().unwrap()).arg("--readers").stdin(Stdio::null()).spawn().unwrap();
    let readers = child.wait().unwrap();
    if !readers.success() {
        eprintln!("the readers' process ended with {readers}; the file that it read last is in {}", kept().display());
    }
    let options = options::run(Instant::now() + half, seed);
    let passed = readers.success() && options;
    println!(
        "test result: {}. {} passed; {} failed; 0 ignored",
        if passed { "ok" } else { "FAILED" },
        u8::from(passed),
        u8::from(!passed)
    );
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

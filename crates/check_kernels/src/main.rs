//! `cargo check-kernels [OPTIONS OF cargo test]`: runs a crate's tests on the CPU, with every memory access of its
//! kernels checked.
//!
//! Cargo calls this program again in the place of rustc. It passes everything on, and has rustc announce the accesses of
//! the crates that have or launch kernels: those that depend on `simt`, or on a crate over it. Afterwards it says which
//! kernels no test has launched. See docs/checking.md.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::process::{self, Command, ExitCode};

/// Set where this program is called as rustc.
const WRAPPER: &str = "CHECK_KERNELS_WRAPPER";

/// Crates that depend on one of these may have kernels. `simt` itself has the functions that their
/// accesses call.
const CRATES: [&str; 4] = ["libsimt-", "libcuda_std-", "libwarpsmith_device-", "libwarpsmith-"];

/// rustc's flags for such crates. ThreadSanitizer's runtime stays out.
const ANNOUNCE: [&str; 7] = [
    "-Zsanitizer=thread",
    "-Zexternal-clangrt",
    "-Cllvm-args=-tsan-instrument-func-entry-exit=0",
    "-Cllvm-args=-tsan-instrument-read-before-write=1",
    "-Cllvm-args=-tsan-distinguish-volatile=1",
    "-Cdebuginfo=line-tables-only",
    "-Cforce-frame-pointers=yes",
];

/// Options that select targets of `cargo test`. Without any it would also run documentation tests,
/// which rustdoc compiles without this program.
const TARGETS: [&str; 9] =
    ["--lib", "--bin", "--bins", "--test", "--tests", "--example", "--examples", "--bench", "--all-targets"];

fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    match &arguments[..] {
        [rustc, arguments @ ..] if env::var_os(WRAPPER).is_some() => run(&mut rustc_command(rustc, arguments)),
        // Cargo passes a subcommand's own name.
        [name, arguments @ ..] if name == "check-kernels" => check(arguments),
        arguments => check(arguments),
    }
}

fn run(command: &mut Command) -> ExitCode {
    match command.status() {
        Ok(status) => ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)),
        Err(error) => {
            eprintln!("{} can't be started: {error}", command.get_program().display());
            ExitCode::FAILURE
        }
    }
}

fn check(arguments: &[OsString]) -> ExitCode {
    let notes = env::temp_dir().join(format!("check-kernels-{}", process::id()));
    if let Err(error) = fs::write(&notes, "") {
        eprintln!("{} can't be written: {error}", notes.display());
        return ExitCode::FAILURE;
    }
    let code = run(cargo_command(arguments).env("CHECK_KERNELS_NOTES", &notes));
    print!("{}", table(&fs::read_to_string(&notes).unwrap_or_default()));
    _ = fs::remove_file(&notes);
    code
}

/// Summarises the tests' notes per crate: the number of kernels that ran, and the names of the
/// others.
fn table(notes: &str) -> String {
    let mut crates: BTreeMap<&str, [BTreeSet<&str>; 2]> = BTreeMap::new();
    for line in notes.lines() {
        if let [what, name, kernel] = line.split(' ').collect::<Vec<_>>()[..] {
            crates.entry(name).or_default()[usize::from(what == "ran")].insert(kernel);
        }
    }
    let line = |(name, [known, ran]): (&str, [BTreeSet<&str>; 2])| {
        let all = known.union(&ran).count();
        let missing: Vec<&str> = known.difference(&ran).copied().collect();
        let rest = if missing.is_empty() { String::new() } else { format!("; not launched: {}", missing.join(", ")) };
        format!("checked {} of the {all} kernels of {name}{rest}\n", ran.len())
    };
    crates.into_iter().map(line).collect()
}

fn rustc_command(rustc: &OsStr, arguments: &[OsString]) -> Command {
    let mut command = Command::new(rustc);
    command.args(arguments).args(["--cfg", "simt_check", "-Cunsafe-allow-abi-mismatch=sanitizer"]);
    let depends = |argument: &OsString| CRATES.iter().any(|name| argument.to_string_lossy().contains(name));
    if arguments.windows(2).any(|pair| pair[0] == "--extern" && depends(&pair[1])) {
        command.args(ANNOUNCE).env("RUSTC_BOOTSTRAP", "1");
    }
    command
}

fn cargo_command(arguments: &[OsString]) -> Command {
    let cargo = || Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let mut command = cargo();
    command.arg("test");
    let mut own = arguments.iter().take_while(|&argument| argument != "--");
    if !own.any(|argument| TARGETS.iter().any(|target| argument == target)) {
        command.arg("--tests");
    }
    command.args(arguments).env(WRAPPER, "1").env("WARPSMITH_BACKEND", "cpu");

    // In a workspace that has `simt`, dependencies are shared with other builds; cargo keeps a
    // workspace wrapper's output apart. Otherwise `simt` is a dependency, too, and everything goes
    // into a folder of its own.
    let metadata = cargo().args(["metadata", "--no-deps", "--format-version=1"]).output();
    let metadata = metadata.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let this = env::current_exe().unwrap_or_else(|_| "cargo-check-kernels".into());
    if metadata.contains("/simt#") {
        command.env("RUSTC_WORKSPACE_WRAPPER", this);
    } else {
        command.env("RUSTC_WRAPPER", this);
        let folder = metadata.split("\"target_directory\":\"").nth(1).and_then(|rest| rest.split('"').next());
        command.env("CARGO_TARGET_DIR", format!("{}/check-kernels", folder.unwrap_or("target")));
    }
    command
}

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn kernels_that_did_not_run_are_named() {
        let notes = "has a k\nhas a l\nran a l\nhas b m\nhas a k\nran b m\nran b n\nhas c o\n";
        let lines = [
            "checked 1 of the 2 kernels of a; not launched: k",
            "checked 2 of the 2 kernels of b",
            "checked 0 of the 1 kernels of c; not launched: o",
        ];
        assert!(table(notes).lines().eq(lines));
        assert_eq!(table(""), "");
    }
}

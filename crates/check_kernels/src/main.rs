//! `cargo check-kernels [OPTIONS OF cargo test]`: runs a crate's tests on the CPU, with every memory access of its
//! kernels checked.
//!
//! Cargo calls this program again in the place of rustc. It passes everything on, and has rustc announce the accesses of
//! the crates that have or launch kernels: those that depend on `simt`, or on a crate over it. See docs/checking.md.

use std::env;
use std::ffi::{OsStr, OsString};
use std::process::{Command, ExitCode};

/// Set where this program is called as rustc.
const WRAPPER: &str = "CHECK_KERNELS_WRAPPER";

/// Who depends on one of these may have kernels. `simt` itself has the functions that their accesses call.
const CRATES: [&str; 4] = ["libsimt-", "libcuda_std-", "libwarpsmith_device-", "libwarpsmith-"];

/// How rustc compiles such crates. ThreadSanitizer's runtime stays out.
const ANNOUNCE: [&str; 7] = [
    "-Zsanitizer=thread",
    "-Zexternal-clangrt",
    "-Cllvm-args=-tsan-instrument-func-entry-exit=0",
    "-Cllvm-args=-tsan-instrument-read-before-write=1",
    "-Cllvm-args=-tsan-distinguish-volatile=1",
    "-Cdebuginfo=line-tables-only",
    "-Cforce-frame-pointers=yes",
];

/// The options by which `cargo test` is told what to run. Without any it would run examples in the documentation, too,
/// which rustdoc compiles without this program.
const TARGETS: [&str; 9] =
    ["--lib", "--bin", "--bins", "--test", "--tests", "--example", "--examples", "--bench", "--all-targets"];

fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let mut command = match &arguments[..] {
        [rustc, arguments @ ..] if env::var_os(WRAPPER).is_some() => rustc_command(rustc, arguments),
        // Cargo passes a subcommand's own name.
        [name, arguments @ ..] if name == "check-kernels" => cargo_command(arguments),
        arguments => cargo_command(arguments),
    };
    match command.status() {
        Ok(status) => ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)),
        Err(error) => {
            eprintln!("{} can't be started: {error}", command.get_program().display());
            ExitCode::FAILURE
        }
    }
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

    // Of a workspace that has `simt` all dependencies serve as they are; cargo keeps what a wrapper of its own crates
    // compiles apart. Otherwise `simt` is a dependency, too, and all go into a folder of their own.
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

//! The command line of warpsmith: see `warpsmith --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    warpsmith_cli::main()
}

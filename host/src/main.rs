//! The command line of warpsmith: see `warpsmith --help`.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}

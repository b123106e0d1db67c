//! Errors of commands: their sentences and exit codes.

use std::{
    error::Error,
    fmt,
    io::{self, Write as _},
    iter::successors,
    process::ExitCode,
};

use warpsmith::{
    common::{Cancelled, chain},
    concurrency::ConcurrencyError,
    design_rules::RulesError,
    device::DeviceError,
    engine::EngineError,
    graph::GraphError,
    io::files::FileError,
    list_rank::ListError,
    overlap::OverlapError,
    pcf::{PairwiseError, PcfError},
    ranks::RanksError,
    spmv::SpmvError,
    trees::TreeError,
};

/// Reason why a command ended early.
#[derive(Clone, Debug)]
pub enum Failure {
    /// An error, as a sentence for the user.
    Error(String),
    /// A wrong result, with a sentence that says where.
    Verification(String),
    /// Cancelled by the user.
    Cancelled,
    /// Nobody reads stdout any more, as after `| head`.
    Closed,
    /// An error that another process reports.
    Elsewhere,
}

impl Failure {
    /// Returns an error with this text.
    pub fn error(text: impl fmt::Display) -> Self {
        Failure::Error(text.to_string())
    }

    /// Returns the failure of an error. Only standard output is a pipe that is written.
    pub fn of(error: &(dyn Error + 'static)) -> Self {
        let is_closed = |error: &(dyn Error + 'static)| {
            error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
        };
        if successors(Some(error), |&error| error.source()).any(is_closed) {
            Failure::Closed
        } else {
            Failure::error(chain(error))
        }
    }

    /// Prints the failure on stderr and returns its exit code.
    pub fn report(self) -> ExitCode {
        let (text, code) = match self {
            Failure::Error(text) => (format!("error: {text}"), 2),
            Failure::Verification(text) => (format!("error: verification failed: {text}"), 1),
            Failure::Cancelled => ("error: cancelled".to_owned(), super::interrupt::exit_code()),
            Failure::Closed => return ExitCode::SUCCESS,
            Failure::Elsewhere => return ExitCode::from(2),
        };
        // If stderr is closed, the message is lost.
        let _ = writeln!(std::io::stderr(), "{}", super::printable::printable(text));
        ExitCode::from(code)
    }
}

/// The sentence without the words that precede it on stderr.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Failure::Error(text) | Failure::Verification(text) => text,
            Failure::Cancelled => "cancelled",
            Failure::Closed | Failure::Elsewhere => "another process ended",
        })
    }
}

/// Converts errors into failures with their sentence. Behind the first semicolon, errors of one pattern become another failure.
macro_rules! failures {
    ($($error:ty)*; $($other:ty: $pattern:pat => $failure:expr;)*) => {
        $(
            impl From<$error> for Failure {
                fn from(error: $error) -> Self {
                    Failure::of(&error)
                }
            }
        )*
        $(
            impl From<$other> for Failure {
                fn from(error: $other) -> Self {
                    match error {
                        $pattern => $failure,
                        error => Failure::of(&error),
                    }
                }
            }
        )*
    };
}
failures! {
    DeviceError ListError ConcurrencyError FileError GraphError OverlapError PcfError RanksError SpmvError TreeError;
    RulesError: error @ RulesError::Wrong { .. } => Failure::Verification(error.to_string());
    EngineError: EngineError::Cancelled => Failure::Cancelled;
    PairwiseError: PairwiseError::Engine(error) => error.into();
}

impl From<Cancelled> for Failure {
    fn from(_: Cancelled) -> Self {
        Failure::Cancelled
    }
}

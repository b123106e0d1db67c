//! How a command fails.

use std::{fmt, io::Write as _, process::ExitCode};

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

/// Why a command ended early.
#[derive(Clone, Debug)]
pub enum Failure {
    /// It could not be done; a sentence for the user.
    Error(String),
    /// It was done, and the result is wrong; a sentence on where.
    Verification(String),
    /// The user ended it.
    Cancelled,
    /// Nobody reads the output any more, as after `| head`.
    Closed,
    /// It could not be done, as another process says.
    Elsewhere,
}

impl Failure {
    /// An error of this text.
    pub fn error(text: impl fmt::Display) -> Self {
        Failure::Error(text.to_string())
    }

    /// Says it on stderr, and gives the exit code that goes with it.
    pub fn report(self) -> ExitCode {
        let (text, code) = match self {
            Failure::Error(text) => (format!("error: {text}"), 2),
            Failure::Verification(text) => (format!("error: verification failed: {text}"), 1),
            Failure::Cancelled => ("error: cancelled".to_owned(), super::interrupt::exit_code()),
            Failure::Closed => return ExitCode::SUCCESS,
            Failure::Elsewhere => return ExitCode::from(2),
        };
        // There is nowhere left to complain where stderr is closed.
        let _ = writeln!(std::io::stderr(), "{text}");
        ExitCode::from(code)
    }
}

/// Without the words that begin it on stderr.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Failure::Error(text) | Failure::Verification(text) => text,
            Failure::Cancelled => "cancelled",
            Failure::Closed | Failure::Elsewhere => "another process ended",
        })
    }
}

macro_rules! sentences {
    ($($error:ty)*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Failure::error(chain(&error))
            }
        }
    )*};
}
sentences!(
    DeviceError ListError ConcurrencyError FileError GraphError OverlapError PcfError RanksError SpmvError TreeError
);

impl From<RulesError> for Failure {
    fn from(error: RulesError) -> Self {
        match error {
            error @ RulesError::Wrong { .. } => Failure::Verification(error.to_string()),
            error => Failure::error(chain(&error)),
        }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Cancelled => Failure::Cancelled,
            error => Failure::error(chain(&error)),
        }
    }
}

impl From<Cancelled> for Failure {
    fn from(_: Cancelled) -> Self {
        Failure::Cancelled
    }
}

impl From<PairwiseError> for Failure {
    fn from(error: PairwiseError) -> Self {
        match error {
            PairwiseError::Engine(error) => error.into(),
            error => Failure::error(chain(&error)),
        }
    }
}

//! Errors of a build, each with what to do.

use std::{fmt, io, path::PathBuf};

/// The result of a build.
pub type Result<T> = std::result::Result<T, BuilderError>;

/// The sentence: Rust prints an error so that `main` returns, as build scripts' do.
impl fmt::Debug for BuilderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why a kernel crate could not be built to PTX.
#[derive(thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "a message says what its fields are")]
pub enum BuilderError {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// LLVM refused a module.
    #[error("LLVM could not {what}: {reason}")]
    Llvm { what: String, reason: String },
    /// rustc refused the kernel crate.
    #[error("the kernel crate `{name}` doesn't compile for the device; rustc's messages are:\n{messages}")]
    Compile { name: String, messages: String },
    /// The toolchain, the kernel crate or its device code is not as it has to be. The sentence says what to do.
    #[error("{0}")]
    Refused(String),
}

/// The error of this sentence.
pub(crate) fn refused<T>(sentence: impl Into<String>) -> Result<T> {
    Err(BuilderError::Refused(sentence.into()))
}

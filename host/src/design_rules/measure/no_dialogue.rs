//! Windows has no pipes and process groups as a dialogue with a program takes them.

use std::{convert::Infallible, ffi::OsString, io, process::ExitStatus, time::Duration};

use crate::common::Cancel;

pub(super) const GRACE: Duration = Duration::ZERO;

/// Does nothing: no program runs.
pub fn kill_programs() {}

/// The reason why a dialogue can't go on.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The program broke down: a clause.
    Broken(String),
    /// It wrote a line that nothing had asked for.
    #[allow(dead_code)]
    Unasked(String),
    /// The user has cancelled.
    #[allow(dead_code)]
    Cancelled,
}

/// A program that runs.
#[derive(Debug)]
pub(super) struct Dialogue(Infallible);

impl Dialogue {
    pub fn start(_command: &[OsString], _cancel: Cancel) -> io::Result<Self> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "programs are asked on Unix alone"))
    }

    pub fn ask(&mut self, _line: &str, _limit: Duration) -> Result<String, Trouble> {
        match self.0 {}
    }

    pub fn end(&mut self, _patience: Duration) -> Result<Option<ExitStatus>, Trouble> {
        match self.0 {}
    }
}

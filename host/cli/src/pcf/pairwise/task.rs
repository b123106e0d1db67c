//! A matrix to compute, what computes it, and the result.

use std::time::Duration;

use warpsmith::{
    engine::{Parts, Report, Trace},
    io::{files::Destination, npy::Kind},
    pcf::{Layout, Measure},
};

use super::MatrixArgs;
use crate::{opening::Opening, pcf::files::Inputs, progress::Progress, timeline::Timeline};

/// The part of a matrix that is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kept {
    All(Layout),
    Nearest(usize),
    Below(f64),
    RowSums,
}

impl Kept {
    pub fn new(layout: Layout, options: &MatrixArgs) -> Self {
        match *options {
            MatrixArgs { nearest: Some(count), .. } => Kept::Nearest(count),
            MatrixArgs { below: Some(bound), .. } => Kept::Below(bound),
            MatrixArgs { row_sums: true, .. } => Kept::RowSums,
            _ if options.is_part() => Kept::All(Layout::Dense),
            _ => Kept::All(layout),
        }
    }

    /// The extension of the file that it is written to.
    pub fn extension(self) -> &'static str {
        match self {
            Kept::All(_) | Kept::RowSums => "npy",
            Kept::Nearest(_) | Kept::Below(_) => "npz",
        }
    }

    /// The name that is printed for it.
    pub fn name(self) -> &'static str {
        match self {
            Kept::All(layout) => layout.name(),
            Kept::Nearest(_) => "nearest",
            Kept::Below(_) => "below",
            Kept::RowSums => "row sums",
        }
    }
}

/// A matrix to compute.
pub struct Job<'a> {
    pub command: &'static str,
    /// The files of the rows' functions and, if they are others, of the columns'.
    pub inputs: Vec<Inputs<'a>>,
    pub measure: Measure,
    pub kept: Kept,
    /// True if the output is a table.
    pub as_text: bool,
    /// Layout of a matrix, if one was asked for.
    pub layout: Option<Layout>,
    pub options: &'a MatrixArgs,
}

/// Devices, files and clocks of a job.
pub struct Tools<'scope> {
    pub devices: Opening<'scope>,
    /// Division of the matrix by resumed runs and by ranks.
    pub parts: Parts,
    pub output: Destination,
    pub trace: Option<(Trace, Destination)>,
    pub progress: Progress,
    pub timeline: Timeline,
    /// True to print how the matrix was computed, too.
    pub verbose: bool,
}

/// A computed matrix.
pub struct Outcome {
    /// Shape of the output, or of the array that has as many rows as the matrix.
    pub shape: Vec<usize>,
    pub kind: Kind,
    /// Number of kept entries that are infinite, and of all.
    pub infinite: usize,
    pub entries: usize,
    /// Names of the devices.
    pub devices: Vec<String>,
    /// Blocks that an earlier run computed.
    pub found: usize,
    pub report: Report,
    /// Time to write to the disk what wasn't there before.
    pub written: Duration,
}

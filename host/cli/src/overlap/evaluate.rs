//! Evaluations of overlaps: `total`, `pairs` and `gradient` read, evaluate and report in the same
//! way.

use std::{path::PathBuf, time::Instant};

use clap::{Args, ValueEnum};
use serde::Serialize;
use warpsmith::overlap::{self, Boundary, Lattice, Overlap, OverlapReal, Wanted, io::PoseLayout};

use super::{
    files::{Format, ResultFile},
    input::{Input, Loaded, parse_lattice},
};
use crate::{Global, failure::Failure, progress::Progress};

/// Number of rows shown in a table; files and JSON have all.
pub const ROWS: usize = 200;

/// The poses, and how to evaluate them.
#[derive(Args, Debug)]
pub struct EvaluateArgs {
    #[command(flatten)]
    pub input: Input,
    /// Lattice vectors that make every packing repeat: ax,ay,bx,by in length units
    #[arg(long, value_name = "AX,AY,BX,BY", value_parser = parse_lattice, allow_hyphen_values = true)]
    pub lattice: Option<[f64; 4]>,
    /// Overlaps with these poses, packing by packing, instead of within the packings
    #[arg(long, value_name = "POSES")]
    pub against: Option<PathBuf>,
    /// Type of poses and areas on the device
    #[arg(long, value_enum, default_value_t = Dtype::F64)]
    pub dtype: Dtype,
    /// The same bits at every run
    #[arg(long)]
    deterministic: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// The type of poses and areas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Dtype {
    /// Single precision
    F32,
    /// Double precision
    F64,
}

/// A command that evaluates poses.
pub trait Evaluating {
    const NAME: &'static str;
    /// Formats of its output.
    const FORMATS: &'static [Format];

    fn options(&self) -> &EvaluateArgs;

    /// The side of the square around the poses.
    fn boundary(&self) -> Option<f64> {
        None
    }

    fn output(&self) -> Option<&PathBuf>;

    fn run_in<T: OverlapReal>(&self, global: &Global) -> Result<(), Failure>;

    fn run(&self, global: &Global) -> Result<(), Failure> {
        match self.options().dtype {
            Dtype::F32 => self.run_in::<f32>(global),
            Dtype::F64 => self.run_in::<f64>(global),
        }
    }
}

/// An evaluation's input, output and result.
pub struct Evaluated<R> {
    pub loaded: Loaded,
    pub target: Option<ResultFile>,
    pub header: Header,
    pub result: R,
}

/// The keys that all reports have.
#[derive(Serialize)]
pub struct Header {
    system: &'static str,
    command: &'static str,
    pub input: String,
    against: Option<String>,
    pub dtype: &'static str,
    layout: PoseLayout,
    pub device: String,
    pub ms: f64,
    compile_ms: f64,
    pub output: Option<String>,
}

/// Reads the poses of a command, opens the device, and evaluates.
pub fn evaluated<T: OverlapReal, C: Evaluating, R>(
    global: &Global,
    command: &C,
    evaluate: impl FnOnce(&mut Overlap<T>, &Loaded, Option<&ResultFile>) -> Result<R, Failure>,
) -> Result<Evaluated<R>, Failure> {
    let options = command.options();
    let against = options.against.as_deref();
    let inputs = options.input.files(against);
    let target = command.output().map(|path| ResultFile::prepare(path, &inputs, C::FORMATS)).transpose()?;
    let loaded = options.input.load::<T>(against)?;
    let device = global.open()?;
    let mut overlap = Overlap::new(&device, &loaded.shapes)?.deterministic(options.deterministic);
    if command.boundary().is_some() {
        overlap = overlap.boundary(Boundary::square())?;
    }
    if let Some([ax, ay, bx, by]) = options.lattice {
        overlap = overlap.lattice(Lattice::new([ax, ay], [bx, by])?)?;
    }
    let progress = Progress::new(options.json || global.verbose > 0);
    let _work = progress.spinner(100 * loaded.packings.poses().len(), format!("evaluating on {device}"));
    let (start, compiled) = (Instant::now(), device.compile_time());
    let result = evaluate(&mut overlap, &loaded, target.as_ref())?;
    let (elapsed, compile_time) = (start.elapsed(), device.compile_time() - compiled);
    let [ms, compile_ms] = [elapsed.saturating_sub(compile_time), compile_time].map(|time| 1e3 * time.as_secs_f64());
    let header = Header {
        system: "overlap",
        command: C::NAME,
        input: options.input.poses.display().to_string(),
        against: against.map(|path| path.display().to_string()),
        dtype: T::NAME,
        layout: loaded.layout,
        device: device.to_string(),
        ms,
        compile_ms,
        output: target.as_ref().map(ResultFile::name),
    };
    Ok(Evaluated { loaded, target, header, result })
}

/// Evaluates areas: against the other packings if there are any, otherwise within a square if there
/// is one.
pub fn areas<T: OverlapReal>(
    overlap: &mut Overlap<T>,
    loaded: &Loaded,
    side: Option<f64>,
    wanted: Wanted,
) -> Result<overlap::Evaluation<T>, Failure> {
    Ok(match (&loaded.others, side) {
        (Some(others), _) => overlap.evaluate_between(&loaded.packings, others, wanted)?.0,
        (None, Some(side)) => overlap.evaluate_within(&loaded.packings, &[side], wanted)?,
        (None, None) => overlap.evaluate(&loaded.packings, wanted)?,
    })
}

/// An area for people: nine decimals, or seven significant digits if those would be mostly zeros.
pub fn area(area: f64) -> String {
    if area == 0.0 || area.abs() >= 1e-3 { format!("{area:.9}") } else { format!("{area:.6e}") }
}

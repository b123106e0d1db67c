//! `warpsmith overlap gradient`.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use warpsmith::overlap::{OverlapReal, Wanted, io::PoseLayout};

use super::{
    files::{Format, Target},
    input::{Dtype, Evaluation, Input, Loaded, parse_side},
    total::area,
};
use crate::cli::{Global, failure::Failure, format, progress::Progress, terminal};

/// Options of `overlap gradient`.
#[derive(Args, Debug)]
#[command(
    long_about = "Compute the exact derivatives of each packing's area of overlap by every pose of it: by x and y (a length) and by \
        theta (an area per radian).\n\n\
        With --boundary they are those of the area of overlap and of the area outside the square, together. With --against they \
        are by the poses of POSES alone.",
    after_help = "Examples:\n  \
        warpsmith overlap gradient poses.npy --output gradient.npy      of the shape that the poses have\n  \
        warpsmith overlap gradient poses.csv --output gradient.csv      packing,pose,x,y,theta\n  \
        warpsmith overlap gradient poses.npy --boundary 4 --deterministic --output gradient.npy"
)]
pub struct Arguments {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    evaluation: Evaluation,
    /// Add the area outside a square of this side around the origin, with sides along the axes
    #[arg(long, value_name = "H", value_parser = parse_side, allow_hyphen_values = true, conflicts_with_all = ["lattice", "against"])]
    boundary: Option<f64>,
    /// Write the derivatives: .npy of shape (poses, 3) or (packings, poses, 3), or .csv
    #[arg(long, value_name = "GRADIENT.NPY")]
    output: PathBuf,
    /// Print one JSON object instead of a line
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Object {
    system: &'static str,
    command: &'static str,
    input: String,
    against: Option<String>,
    dtype: &'static str,
    layout: &'static str,
    device: String,
    ms: f64,
    compile_ms: f64,
    packings: usize,
    poses: usize,
    /// Of all packings.
    overlap: f64,
    outside: Option<f64>,
    /// The derivative of each packing's area outside by the side of the square.
    outside_by_side: Option<Vec<f64>>,
    /// The root of the sum of all squares, of x and y and of theta.
    norm_position: f64,
    norm_theta: f64,
    output: String,
}

/// Runs the command.
pub fn run(global: &Global, arguments: &Arguments) -> Result<(), Failure> {
    match arguments.evaluation.dtype {
        Dtype::F32 => arguments.run::<f32>(global),
        Dtype::F64 => arguments.run::<f64>(global),
    }
}

impl Arguments {
    fn run<T: OverlapReal>(&self, global: &Global) -> Result<(), Failure> {
        let against = self.evaluation.against.as_deref();
        let inputs = self.input.files(against);
        let target = Target::prepare(&self.output, &inputs, &[("npy", Format::Npy), ("csv", Format::Csv)])?;
        let loaded = self.input.load::<T>(against)?;
        let shape = match target.format {
            Format::Npy => array_shape(&loaded, &target)?,
            Format::Csv | Format::Json => Vec::new(),
        };
        let device = global.open()?;
        let mut overlap = self.evaluation.evaluator::<T>(&device, &loaded.shapes, self.boundary.is_some())?;
        let progress = Progress::new(self.json || global.verbose > 0);
        let work = progress.spinner(100 * loaded.packings.poses().len(), format!("evaluating on {device}"));
        let (mut result, [ms, compile_ms]) = self.input.evaluate(&mut overlap, &loaded, self.boundary, Wanted::GRADIENT)?;
        drop(work);
        if let Some(outside) = &result.outside {
            for (sum, outside) in result.gradient.as_flattened_mut().iter_mut().zip(outside.gradient.as_flattened()) {
                *sum = *sum + *outside;
            }
        }
        let gradient = &result.gradient;
        match target.format {
            Format::Npy => target.array(gradient.as_flattened(), &shape)?,
            Format::Csv | Format::Json => {
                let rows = (0..loaded.packings.len()).flat_map(|packing| {
                    let (label, range) = (loaded.label(packing), loaded.packings.range(packing));
                    range.enumerate().map(move |(pose, index)| {
                        let counts = [label.to_string(), pose.to_string()];
                        counts.into_iter().chain(gradient[index].map(|number| format!("{number:?}"))).collect()
                    })
                });
                target.table(&["packing", "pose", "x", "y", "theta"], rows)?;
            }
        }
        let sum = |numbers: &[T]| numbers.iter().map(|number| number.to_f64()).sum::<f64>();
        let squares = |range: std::ops::Range<usize>| {
            gradient.iter().flat_map(|pose| &pose[range.clone()]).map(|number| number.to_f64().powi(2)).sum::<f64>()
        };
        let object = Object {
            system: "overlap",
            command: "gradient",
            input: self.input.poses.display().to_string(),
            against: against.map(|path| path.display().to_string()),
            dtype: T::NAME,
            layout: loaded.layout_name(),
            device: device.to_string(),
            ms,
            compile_ms,
            packings: loaded.packings.len(),
            poses: loaded.packings.poses().len(),
            overlap: sum(&result.totals),
            outside: result.outside.as_ref().map(|outside| sum(&outside.totals)),
            outside_by_side: result
                .outside
                .as_ref()
                .map(|outside| outside.by_scale.iter().map(|number| number.to_f64()).collect()),
            norm_position: squares(0..2).sqrt(),
            norm_theta: squares(2..3).sqrt(),
            output: target.name(),
        };
        if self.json {
            return terminal::print_json(&object);
        }
        let Object { packings, poses, .. } = object;
        let outside = object.outside.map_or_else(String::new, |outside| format!(", outside {}", area(outside)));
        terminal::print(format_args!(
            "Written: {} ({}, {}, {}; overlap {}{outside}; {} on {})",
            object.output,
            format::counted(packings, "packing", "packings"),
            format::counted(poses, "pose", "poses"),
            object.dtype,
            area(object.overlap),
            format::time(ms),
            object.device
        ))
    }
}

/// The shape of the array, which is that of the poses.
fn array_shape(loaded: &Loaded, target: &Target) -> Result<Vec<usize>, Failure> {
    let packings = &loaded.packings;
    if loaded.layout == PoseLayout::Single {
        return Ok(vec![packings.poses().len(), 3]);
    }
    match packings.each() {
        Some(each) => Ok(vec![packings.len(), each, 3]),
        None if packings.is_empty() => Ok(vec![0, 0, 3]),
        None => Err(Failure::error(format_args!(
            "{}: the packings differ in their numbers of poses, and their derivatives don't fit into one array; use .csv",
            target.name()
        ))),
    }
}

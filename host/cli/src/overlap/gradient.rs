//! `warpsmith overlap gradient`.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use warpsmith::overlap::{OverlapReal, Wanted, io::array_shape};

use super::{
    evaluate::{EvaluateArgs, Evaluated, Evaluating, Header, area, areas, evaluated},
    files::Format,
    input::parse_side,
};
use crate::{Global, failure::Failure, format, terminal};

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
pub struct GradientArgs {
    #[command(flatten)]
    options: EvaluateArgs,
    /// Add the area outside a square of this side around the origin, with sides along the axes
    #[arg(long, value_name = "H", value_parser = parse_side, allow_hyphen_values = true, conflicts_with_all = ["lattice", "against"])]
    boundary: Option<f64>,
    /// Write the derivatives: .npy of shape (poses, 3) or (packings, poses, 3), or .csv
    #[arg(long, value_name = "GRADIENT.NPY")]
    output: PathBuf,
}

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    header: Header,
    packings: usize,
    poses: usize,
    /// Total over all packings.
    overlap: f64,
    outside: Option<f64>,
    /// The derivative of each packing's area outside by the side of the square.
    outside_by_side: Option<Vec<f64>>,
    /// Euclidean norm of all derivatives by x and y, and by theta.
    norm_position: f64,
    norm_theta: f64,
}

impl Evaluating for GradientArgs {
    const NAME: &'static str = "gradient";
    const FORMATS: &'static [Format] = &[Format::Npy, Format::Csv];

    fn options(&self) -> &EvaluateArgs {
        &self.options
    }

    fn boundary(&self) -> Option<f64> {
        self.boundary
    }

    fn output(&self) -> Option<&PathBuf> {
        Some(&self.output)
    }

    fn run_in<T: OverlapReal>(&self, global: &Global) -> Result<(), Failure> {
        let Evaluated { loaded, target, header, result } = evaluated::<T, _, _>(global, self, |overlap, loaded, target| {
            let shape = target.filter(|target| target.format == Format::Npy).map(|target| {
                let shape = array_shape(&loaded.packings, loaded.layout);
                shape.map_err(|reason| Failure::error(format_args!("{}: {reason}", target.name())))
            });
            Ok((shape.transpose()?, areas(overlap, loaded, self.boundary, Wanted::GRADIENT)?))
        })?;
        let (shape, mut found) = result;
        if let Some(outside) = &found.outside {
            for (sum, outside) in found.gradient.as_flattened_mut().iter_mut().zip(outside.gradient.as_flattened()) {
                *sum = *sum + *outside;
            }
        }
        let gradient = &found.gradient;
        match (&target, shape) {
            (Some(target), Some(shape)) => target.array(gradient.as_flattened(), &shape)?,
            (Some(target), None) => {
                let row = |(index, derivatives): (usize, &[T; 3])| {
                    let (packing, pose) = loaded.packings.locate(index);
                    let counts = [loaded.label(packing), pose].map(|count| count.to_string());
                    counts.into_iter().chain(derivatives.map(|number| format!("{number:?}"))).collect()
                };
                target.table(&["packing", "pose", "x", "y", "theta"], gradient.iter().enumerate().map(row))?;
            }
            (None, _) => {}
        }
        let sum = |numbers: &[T]| numbers.iter().fold(0.0, |sum, number| sum + number.to_f64());
        let squares = |range: std::ops::Range<usize>| {
            gradient.iter().flat_map(|pose| &pose[range.clone()]).map(|number| number.to_f64().powi(2)).sum::<f64>()
        };
        let outside = found.outside.as_ref();
        let report = Report {
            header,
            packings: loaded.packings.len(),
            poses: loaded.packings.poses().len(),
            overlap: sum(&found.totals),
            outside: outside.map(|outside| sum(&outside.totals)),
            outside_by_side: outside.map(|outside| outside.by_scale.iter().map(|number| number.to_f64()).collect()),
            norm_position: squares(0..2).sqrt(),
            norm_theta: squares(2..3).sqrt(),
        };
        if self.options.json {
            return terminal::print_json(&report);
        }
        terminal::print(format_args!(
            "Written: {} ({}, {}, {}; overlap {}{}; {} on {})",
            self.output.display(),
            format::counted(report.packings, "packing", "packings"),
            format::counted(report.poses, "pose", "poses"),
            report.header.dtype,
            area(report.overlap),
            report.outside.map_or_else(String::new, |outside| format!(", outside {}", area(outside))),
            format::time(report.header.ms),
            report.header.device
        ))
    }
}

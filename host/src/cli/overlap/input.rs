//! What the commands of `overlap` read, and how they evaluate it.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use clap::{Args, ValueEnum};
use warpsmith::{
    device::Device,
    overlap::{
        self, Boundary, Lattice, Overlap, OverlapError, OverlapReal, Packings, Shape, Wanted,
        io::{PoseFile, PoseLayout, read_poses, read_shape},
    },
};

use crate::cli::{failure::Failure, utf8};

/// The poses and their shapes.
#[derive(Args, Debug)]
pub struct Input {
    /// The poses: .npy, .csv, or a submission to Kaggle's Santa 2025
    #[arg(value_name = "POSES")]
    pub poses: PathBuf,
    /// The shape: `tree`, a file .json, .svg or .wkt, or WKT; given again, shape 1, 2, ... of the column `shape`
    /// [default: tree]
    #[arg(long = "shape", value_name = "SHAPE", value_parser = utf8())]
    pub shapes: Vec<String>,
    /// The file must hold several packings
    #[arg(long)]
    pub ensembles: bool,
}

/// How to evaluate them.
#[derive(Args, Debug)]
pub struct Evaluation {
    /// Two vectors by which every packing repeats: ax,ay,bx,by in length units
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
    pub deterministic: bool,
}

/// The type of poses and areas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Dtype {
    /// Single precision
    F32,
    /// Double precision
    F64,
}

/// What was read.
pub struct Loaded {
    pub packings: Packings,
    pub layout: PoseLayout,
    pub shapes: Vec<Shape>,
    /// What the packings are set against.
    pub others: Option<Packings>,
}

impl Input {
    /// Reads poses and shapes, and the poses `against` which they are set, to be evaluated in `T`.
    pub fn load<T: OverlapReal>(&self, against: Option<&Path>) -> Result<Loaded, Failure> {
        let shapes: Vec<Shape> = match &self.shapes[..] {
            [] => vec![Shape::tree()],
            shapes => shapes.iter().map(|text| read_shape(text)).collect::<Result<_, _>>()?,
        };
        let read = |path: &Path| {
            let file = read_poses(path, self.ensembles)?;
            let checked = file.packings.check_shapes(shapes.len()).and_then(|()| file.packings.check_positions::<T>());
            match checked {
                Ok(()) => Ok::<PoseFile, Failure>(file),
                Err(error) => Err(file.error(path, error).into()),
            }
        };
        let PoseFile { packings, layout, .. } = read(&self.poses)?;
        let others = against.map(|path| Ok::<_, Failure>(read(path)?.packings)).transpose()?;
        if let Some(others) = &others
            && others.len() != packings.len()
        {
            let error = OverlapError::PackingCount { first: packings.len(), second: others.len() };
            return Err(Failure::error(format_args!("--against: {error}")));
        }
        Ok(Loaded { packings, layout, shapes, others })
    }

    /// The files that may be read. A shape that isn't a file's name names none that exists.
    pub fn files<'a>(&'a self, against: Option<&'a Path>) -> Vec<&'a Path> {
        [Some(&*self.poses), against].into_iter().flatten().chain(self.shapes.iter().map(Path::new)).collect()
    }

    /// Evaluates what was loaded: against the others where there are some, else within a square of this side if there
    /// is one. With it come the milliseconds that this took, and those in which kernels were compiled besides.
    pub fn evaluate<T: OverlapReal>(
        &self,
        overlap: &mut Overlap<T>,
        loaded: &Loaded,
        side: Option<f64>,
        wanted: Wanted,
    ) -> Result<(overlap::Evaluation<T>, [f64; 2]), Failure> {
        let (start, compiled) = (Instant::now(), overlap.device().compile_time());
        let evaluation = match (&loaded.others, side) {
            (Some(others), _) => overlap.evaluate_between(&loaded.packings, others, wanted)?.0,
            (None, Some(side)) => overlap.evaluate_within(&loaded.packings, &[side], wanted)?,
            (None, None) => overlap.evaluate(&loaded.packings, wanted)?,
        };
        let (elapsed, compile_time) = (start.elapsed(), overlap.device().compile_time() - compiled);
        let ms = [elapsed.saturating_sub(compile_time), compile_time].map(|time| 1e3 * time.as_secs_f64());
        Ok((evaluation, ms))
    }
}

impl Evaluation {
    /// The evaluator, with a square of this side if there is one.
    pub fn evaluator<T: OverlapReal>(&self, device: &Device, shapes: &[Shape], boundary: bool) -> Result<Overlap<T>, Failure> {
        let mut overlap = Overlap::new(device, shapes)?.deterministic(self.deterministic);
        if boundary {
            overlap = overlap.boundary(Boundary::square())?;
        }
        if let Some([ax, ay, bx, by]) = self.lattice {
            overlap = overlap.lattice(Lattice::new([ax, ay], [bx, by])?)?;
        }
        Ok(overlap)
    }

    /// The area up to which an overlap is put down to rounding, where none is given.
    pub fn rounding(&self) -> f64 {
        match self.dtype {
            Dtype::F32 => 1e-6,
            Dtype::F64 => 1e-12,
        }
    }
}

impl Loaded {
    /// How a packing is called: in a submission by its number of poses, else by its index.
    pub fn label(&self, packing: usize) -> usize {
        match self.layout {
            PoseLayout::Submission => self.packings.get(packing).len(),
            PoseLayout::Single | PoseLayout::Ensembles => packing,
        }
    }

    /// What the packings are called together.
    pub fn layout_name(&self) -> &'static str {
        match self.layout {
            PoseLayout::Single => "single",
            PoseLayout::Ensembles => "ensembles",
            PoseLayout::Submission => "submission",
        }
    }

    /// The corners of the smallest box, with sides along the axes, around a packing's vertices; none of an empty
    /// packing.
    pub fn bounds(&self, packing: usize) -> Option<[[f64; 2]; 2]> {
        let range = self.packings.range(packing);
        let rings = range.flat_map(|pose| self.shapes[self.packings.shape_of(pose) as usize].posed(self.packings.poses()[pose]));
        rings.flatten().fold(None, |bounds, [x, y]| {
            let [low, high] = bounds.unwrap_or([[x, y]; 2]);
            Some([[low[0].min(x), low[1].min(y)], [high[0].max(x), high[1].max(y)]])
        })
    }

    /// The side of the smallest square, with sides along the axes, around a packing's vertices.
    pub fn side(&self, packing: usize) -> f64 {
        self.bounds(packing).map_or(0.0, |[low, high]| (high[0] - low[0]).max(high[1] - low[1]))
    }
}

/// Reads the side of a square.
pub fn parse_side(text: &str) -> Result<f64, String> {
    let side = text.trim().parse::<f64>().ok().filter(|side| side.is_finite() && *side > 0.0);
    side.ok_or_else(|| "not a side's length: it must be a number above 0".to_owned())
}

/// Reads an area.
pub fn parse_area(text: &str) -> Result<f64, String> {
    let area = text.trim().parse::<f64>().ok().filter(|area| area.is_finite() && *area >= 0.0);
    area.ok_or_else(|| "not an area: it must be a number, 0 or above".to_owned())
}

fn parse_lattice(text: &str) -> Result<[f64; 4], String> {
    let numbers: Option<Vec<f64>> = text.split(',').map(|number| number.trim().parse().ok()).collect();
    let numbers: Option<[f64; 4]> = numbers.and_then(|numbers| numbers.try_into().ok());
    numbers.ok_or_else(|| "not two vectors: they must be four numbers ax,ay,bx,by".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_written() {
        assert_eq!((parse_side("2.5"), parse_area("0"), parse_area(" 1e-12 ")), (Ok(2.5), Ok(0.0), Ok(1e-12)));
        for text in ["0", "-1", "inf", "nan", "x", ""] {
            assert!(parse_side(text).is_err(), "{text}");
        }
        for text in ["-1", "inf", "nan", "x", ""] {
            assert!(parse_area(text).is_err(), "{text}");
        }
        assert_eq!(parse_lattice("1,0, -0.5,2e0"), Ok([1.0, 0.0, -0.5, 2.0]));
        for text in ["", "1,2,3", "1,2,3,4,5", "1,2,3,x", "1 2 3 4"] {
            assert!(parse_lattice(text).is_err(), "{text}");
        }
    }
}

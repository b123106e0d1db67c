//! The poses and shapes that commands of `overlap` read.

use std::path::{Path, PathBuf};

use clap::Args;
use warpsmith::overlap::{
    OverlapError, OverlapReal, Packings, Shape,
    io::{PoseFile, PoseLayout, read_poses, read_shapes},
};

use crate::{failure::Failure, utf8};

/// The poses and their shapes.
#[derive(Args, Debug)]
pub struct Input {
    /// The poses: .npy, .csv, or a submission to Kaggle's Santa 2025
    #[arg(value_name = "POSES")]
    pub poses: PathBuf,
    /// The shape: `tree`, a file .json, .geojson, .svg, .dxf or .wkt, or WKT; given again, shape 1, 2, ... of the
    /// column `shape` [default: tree]
    #[arg(long = "shape", value_name = "SHAPE", value_parser = utf8())]
    pub shapes: Vec<String>,
    /// Shapes have mirror images, whose numbers in the column `shape` follow those of all shapes: of `overlap pack --mirror`
    #[arg(long)]
    pub mirror: bool,
}

/// Poses and shapes in memory.
pub struct Loaded {
    pub packings: Packings,
    pub layout: PoseLayout,
    pub shapes: Vec<Shape>,
    /// The packings that they are set against.
    pub others: Option<Packings>,
}

impl Input {
    /// Reads poses and shapes, and the poses `against` which they are set, to be evaluated in `T`.
    pub fn load<T: OverlapReal>(&self, against: Option<&Path>) -> Result<Loaded, Failure> {
        let mut shapes: Vec<Shape> = match &self.shapes[..] {
            [] => vec![Shape::tree()],
            shapes => shapes.iter().map(|text| read_shapes(text)).collect::<Result<Vec<_>, _>>()?.concat(),
        };
        if self.mirror {
            shapes.extend(shapes.iter().map(Shape::mirrored).collect::<Vec<_>>());
        }
        let read = |path: &Path| {
            let file = read_poses(path)?;
            let fail = |what: String| Err(Failure::error(format_args!("{}: {what}", path.display())));
            let given = [("--shape", !self.shapes.is_empty()), ("--mirror", self.mirror)];
            if let (PoseLayout::Submission, Some((option, _))) = (file.layout, given.iter().find(|(_, given)| *given)) {
                return fail(format!("{option} has no use for a submission, which is of trees"));
            }
            if shapes.len() > 1 && file.packings.shapes().is_none() {
                let given = if self.mirror { "--mirror takes".to_owned() } else { format!("{} shapes take", shapes.len()) };
                return fail(format!("{given} a column `shape`, which tells that of each pose"));
            }
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

    /// The files that may be read. A shape in WKT is taken for a file that doesn't exist.
    pub fn files<'a>(&'a self, against: Option<&'a Path>) -> Vec<&'a Path> {
        [Some(&*self.poses), against].into_iter().flatten().chain(self.shapes.iter().map(Path::new)).collect()
    }
}

impl Loaded {
    /// The name of a packing: its number of poses in a submission, otherwise its index.
    pub fn label(&self, packing: usize) -> usize {
        match self.layout {
            PoseLayout::Submission => self.packings.get(packing).len(),
            PoseLayout::Single | PoseLayout::Ensembles => packing,
        }
    }
}

/// Reads the side of a square.
pub fn parse_side(text: &str) -> Result<f64, String> {
    let side = text.trim().parse::<f64>().ok().filter(|side| side.is_finite() && *side > 0.0);
    side.ok_or_else(|| "not a side's length: it must be a finite number above 0".to_owned())
}

/// Reads an area.
pub fn parse_area(text: &str) -> Result<f64, String> {
    let area = text.trim().parse::<f64>().ok().filter(|area| area.is_finite() && *area >= 0.0);
    area.ok_or_else(|| "not an area: it must be a finite number, 0 or above".to_owned())
}

/// Reads two lattice vectors.
pub fn parse_lattice(text: &str) -> Result<[f64; 4], String> {
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

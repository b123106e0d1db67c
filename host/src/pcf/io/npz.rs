//! Functions in a NumPy archive: the arrays `offsets`, `points` and, unless the set is
//! one-dimensional, `shape`.

use std::{
    io::{self, Seek, Write},
    path::Path,
};

use super::{PcfData, Raw, bars_of, points_of};
use crate::{
    io::{
        Input, Reason,
        archive::{Archive, in_array},
        npy::{Kind, Reader, tuple},
        npz::Arrays,
    },
    pcf::{
        PcfError, PcfReal, PcfSet, Repairs,
        barcode::{Barcode, Filtration},
        set::check_offsets,
    },
};

/// Reads functions.
pub fn load(path: &Path, repairs: Option<&mut Repairs>) -> Result<PcfData, PcfError> {
    let mut archive = Archive::open(path)?;
    let offsets = archive.indices("offsets")?;
    let shape = if archive.has("shape") { Some(archive.indices("shape")?) } else { None };
    let points = archive.array("points")?;
    match points.kind("points", Kind::FLOATS).map_err(|reason| in_array(path, "points", reason))? {
        Kind::F32 => set(path, offsets, shape, points, repairs).map(PcfData::F32),
        _ => set(path, offsets, shape, points, repairs).map(PcfData::F64),
    }
}

/// Reads barcodes.
pub fn load_barcodes(path: &Path, filtration: Filtration) -> Result<Vec<Barcode>, PcfError> {
    let mut archive = Archive::open(path)?;
    let offsets = archive.indices("offsets")?;
    let bars = bars_of(archive.array("bars")?, "bars").map_err(|reason| in_array(path, "bars", reason))?;
    check_offsets(&offsets, bars.len(), true).map_err(|error| in_array(path, "offsets", error.to_string()))?;
    let of = |(barcode, range): (usize, &[usize])| {
        Barcode::of(filtration, bars[range[0]..range[1]].iter().copied())
            .map_err(|error| match error {
                PcfError::Bar { bar, .. } => {
                    in_array(path, "bars", format!("row {}: barcode {barcode}, {error}", range[0] + bar))
                }
                error => in_array(path, "bars", error.to_string()),
            })
            .map_err(PcfError::from)
    };
    offsets.windows(2).enumerate().map(of).collect()
}

/// Reads the points and builds the set.
fn set<T: PcfReal>(
    path: &Path,
    offsets: Vec<usize>,
    shape: Option<Vec<usize>>,
    points: Reader<impl Input>,
    repairs: Option<&mut Repairs>,
) -> Result<PcfSet<T>, PcfError> {
    let fail = |reason: Reason| PcfError::from(in_array(path, "points", reason));
    if !matches!(points.shape(), [_, 2]) {
        let shape = tuple(points.shape());
        return Err(fail(format!("has the shape {shape}, but it must be (breakpoints of all functions, 2)").into()));
    }
    let points = points_of(points.read(|_| {}).map_err(fail)?);
    let place = |point: Option<usize>, error: PcfError| match (point, &error) {
        (Some(point), _) => in_array(path, "points", format!("row {point}: {error}")),
        (None, PcfError::Shape { .. }) => in_array(path, "shape", error.to_string()),
        (None, _) => in_array(path, "offsets", error.to_string()),
    };
    Raw { offsets, points, shape }.set(repairs, |point, error| place(point, error).into())
}

/// Writes functions, without compression.
pub fn write<T: PcfReal>(set: &PcfSet<T>, file: impl Write + Seek) -> io::Result<()> {
    let signed = |indices: &[usize]| indices.iter().map(|&index| index as i64).collect::<Vec<_>>();
    let mut arrays = Arrays::new(file);
    arrays.add("offsets", &signed(set.offsets()), &[set.offsets().len()])?;
    let points: &[T] = bytemuck::cast_slice(set.points());
    arrays.add("points", points, &[set.points().len(), 2])?;
    if set.shape().len() != 1 {
        arrays.add("shape", &signed(set.shape()), &[set.shape().len()])?;
    }
    arrays.finish()
}

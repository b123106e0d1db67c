//! Functions in a NumPy archive: the arrays `offsets`, `points` and, unless the set is
//! one-dimensional, `shape`; for functions with names also `names`.

use std::{
    io::{self, Seek, Write},
    path::Path,
    sync::Arc,
};

use super::{
    BarcodeOptions, PcfData, Raw,
    bars::{Bars, Chosen, add_array},
    points_of,
};
use crate::{
    io::{
        Input, Reason,
        archive::{Archive, in_array},
        files::FileError,
        npy::{Kind, Reader, tuple},
        npz::Arrays,
    },
    pcf::{PcfError, PcfReal, PcfSet, Repairs, Window, set::check_offsets},
};

/// The arrays beside the points: offsets, shape and names.
type Around = (Vec<usize>, Option<Vec<usize>>, Option<Arc<[String]>>);

/// Reads functions.
pub fn load(path: &Path, window: &Window, repairs: Option<&mut Repairs>) -> Result<PcfData, PcfError> {
    let mut archive = Archive::open(path)?;
    let offsets = archive.indices("offsets")?;
    let shape = if archive.has("shape") { Some(archive.indices("shape")?) } else { None };
    let names = if archive.has("names") { Some(archive.texts("names")?.into()) } else { None };
    let points = archive.array("points")?;
    match points.kind("points", Kind::FLOATS).map_err(|reason| in_array(path, "points", reason))? {
        Kind::F32 => set(path, (offsets, shape, names), points, window, repairs).map(PcfData::F32),
        _ => set(path, (offsets, shape, names), points, window, repairs).map(PcfData::F64),
    }
}

/// Reads barcodes: `offsets` and `bars`, or an array for each.
pub(super) fn load_barcodes(path: &Path, options: BarcodeOptions) -> Result<Chosen, PcfError> {
    let mut archive = Archive::open(path)?;
    let mut bars = Bars { many: true, ..Bars::default() };
    if !archive.has("offsets") && !archive.has("bars") {
        let names = archive.names();
        for name in &names {
            let first = bars.barcodes;
            add_array(&mut bars, archive.array(name)?).map_err(|reason| in_array(path, name, reason))?;
            if bars.barcodes != first + 1 && names.len() > 1 {
                return Err(in_array(path, name, "holds several barcodes, but of several arrays each must be one").into());
            }
        }
        // NumPy's name for an array that was given none.
        if bars.barcodes == names.len() && names != ["arr_0"] {
            bars.names = Some(names.into());
        }
        return Ok(bars.choose(options, |_, text| text.into()).map_err(|reason| FileError::new(path, reason))?);
    }
    let offsets = archive.indices("offsets")?;
    let in_bars = |reason: Reason| in_array(path, "bars", reason);
    let rows = archive.array("bars")?;
    if rows.shape().len() != 2 {
        let shape = tuple(rows.shape());
        return Err(
            in_bars(format!("holds an array of shape {shape}, but that of bars must be (bars, 2) or (bars, 3)").into()).into()
        );
    }
    let mut flat = Bars::default();
    let total = rows.shape()[0];
    check_offsets(&offsets, (total, "bars"), true).map_err(|error| in_array(path, "offsets", error.to_string()))?;
    add_array(&mut flat, rows).map_err(in_bars)?;
    flat.divide(&offsets);
    if archive.has("dimensions") {
        flat.dimensions.extend(archive.indices("dimensions")?.into_iter().filter_map(|dimension| u32::try_from(dimension).ok()));
    }
    if archive.has("names") {
        let names = archive.texts("names")?;
        if names.len() + 1 != offsets.len() {
            let text = format!("there are {} names, but {} barcodes", names.len(), offsets.len() - 1);
            return Err(in_array(path, "names", text).into());
        }
        flat.names = Some(names.into());
    }
    Ok(flat.choose(options, |row, text| format!("row {row}: {text}").into()).map_err(in_bars)?)
}

/// Reads the points and builds the set.
fn set<T: PcfReal>(
    path: &Path,
    (offsets, shape, names): Around,
    points: Reader<impl Input>,
    window: &Window,
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
        (_, PcfError::Window(_) | PcfError::OutOfMemory { .. }) => FileError::new(path, error.to_string()),
        (None, PcfError::Names { .. }) => in_array(path, "names", error.to_string()),
        (None, _) => in_array(path, "offsets", error.to_string()),
    };
    Raw { offsets, points, shape, names }.set(window, repairs, |point, error| place(point, error).into())
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
    if let Some(names) = set.names() {
        arrays.add_texts("names", names)?;
    }
    arrays.finish()
}

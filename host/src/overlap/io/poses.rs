//! Reads and writes poses.

use std::{
    io::{self, Write},
    path::Path,
};

use csv::Writer;

use crate::{
    io::{
        Reason, Table, at, collect, extension,
        files::{Destination, by_extension},
        npy::{self, Kind, Reader},
        push, quoted,
    },
    overlap::{OverlapError, Packings},
};

/// Poses read from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct PoseFile {
    /// The poses.
    pub packings: Packings,
    /// Layout of the file.
    pub layout: PoseLayout,
    /// Line of each pose in a text, from 1; `None` for an array.
    pub lines: Option<Vec<u64>>,
}

impl PoseFile {
    /// Returns an error about the file at `path`, from which this was read, with the line of the
    /// pose at fault if there is one.
    pub fn error(&self, path: &Path, error: OverlapError) -> OverlapError {
        let Some((packing, pose)) = error.pose() else { return OverlapError::file(path, error.to_string()) };
        match &self.lines {
            Some(lines) => OverlapError::file(path, at(lines[self.packings.range(packing).start + pose], error)),
            None => OverlapError::file(path, error.to_string()),
        }
    }
}

/// Layout of poses in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
pub enum PoseLayout {
    /// One packing: an array of shape (poses, 3), or text without packings.
    Single,
    /// Any number of packings: an array of shape (packings, poses, 3), or text with packings.
    Ensembles,
    /// A submission to Kaggle's Santa 2025: packings of different sizes, in ascending order.
    Submission,
}

/// A format of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A NumPy array.
    Npy,
    /// Text.
    Csv,
}

impl Format {
    /// Returns the format of a file name's extension, ignoring case.
    ///
    /// # Errors
    /// If the extension is unknown.
    pub fn of(path: &Path) -> Result<Self, OverlapError> {
        Ok(by_extension(path, &[("npy", Format::Npy), ("csv", Format::Csv)], Format::Csv)?)
    }
}

/// Reads poses.
///
/// # Errors
/// If the file can't be read, isn't such a file, or has an invalid pose. The error names the line
/// and the column, or the pose.
pub fn read_poses(path: &Path) -> Result<PoseFile, OverlapError> {
    // Text may be compressed.
    let format = if extension(path) == "csv" { Format::Csv } else { Format::of(path)? };
    let file = match format {
        Format::Npy => read_npy(path),
        Format::Csv => read_csv(path),
    }?;
    let (packings, poses) = (file.packings.len(), file.packings.poses().len());
    tracing::info!(packings, poses, "read {}", path.display());
    Ok(file)
}

fn read_npy(path: &Path) -> Result<PoseFile, OverlapError> {
    let fail = |reason: Reason| OverlapError::file(path, reason);
    let reader = Reader::open(path).map_err(fail)?;
    let kind = reader.kind("poses", Kind::FLOATS).map_err(fail)?;
    let shape = reader.shape().to_vec();
    let (packings, each, layout) = match shape[..] {
        [poses, 3] => (1, poses, PoseLayout::Single),
        [packings, each, 3] => (packings, each, PoseLayout::Ensembles),
        _ => {
            let (shape, wanted) = (npy::tuple(&shape), "(poses, 3) or (packings, poses, 3)");
            return Err(fail(format!("holds an array of shape {shape}, but that of poses must be {wanted}").into()));
        }
    };
    let numbers: Vec<f64> = match kind {
        Kind::F32 => collect(reader.read::<f32>(|_| {}).map_err(fail)?.into_iter().map(f64::from)).map_err(fail)?,
        _ => reader.read::<f64>(|_| {}).map_err(fail)?,
    };
    let poses = collect(numbers.as_chunks::<3>().0.iter().copied()).map_err(fail)?;
    let offsets = collect((0..packings + 1).map(|packing| packing * each)).map_err(fail)?;
    let packings = Packings::ragged(poses, offsets).map_err(|error| OverlapError::file(path, error.to_string()))?;
    Ok(PoseFile { packings, layout, lines: None })
}

/// Headers of text.
const SUBMISSION: &[&str] = &["id", "x", "y", "deg"];
const HEADERS: &[&[&str]] = &[
    &["x", "y", "theta"],
    &["x", "y", "theta", "shape"],
    &["packing", "x", "y", "theta"],
    &["packing", "x", "y", "theta", "shape"],
    SUBMISSION,
];

fn read_csv(path: &Path) -> Result<PoseFile, OverlapError> {
    let fail = |reason: Reason| OverlapError::file(path, reason);
    let mut table = Table::open(path, HEADERS).map_err(fail)?;
    if *table.header() == *SUBMISSION {
        return read_submission(path, table);
    }
    let many = table.header()[0] == "packing";
    let first = usize::from(many);
    let shaped = table.header().len() == first + 4;
    let (mut poses, mut shapes, mut lines) = (Vec::new(), Vec::new(), Vec::new());
    let mut offsets = if many { Vec::new() } else { vec![0] };
    while table.next().map_err(fail)? {
        if many && table.starts_next(0, offsets.len()).map_err(fail)? {
            push(&mut offsets, poses.len()).map_err(fail)?;
        }
        let mut pose = [0.0; 3];
        for (field, number) in pose.iter_mut().enumerate() {
            *number = table.field(first + field, "a number").map_err(fail)?;
        }
        if shaped {
            let shape = table.field(first + 3, "a shape's index, a whole number from 0 on").map_err(fail)?;
            push(&mut shapes, shape).map_err(fail)?;
        }
        push(&mut poses, pose).map_err(fail)?;
        push(&mut lines, table.line()).map_err(fail)?;
    }
    offsets.push(poses.len());
    let starts = offsets.clone();
    let packings = Packings::ragged(poses, offsets).map_err(|error| match error.pose() {
        Some((packing, pose)) => fail(at(lines[starts[packing] + pose], error).into()),
        None => OverlapError::file(path, error.to_string()),
    })?;
    let packings = if shaped { packings.with_shapes(shapes)? } else { packings };
    Ok(PoseFile { packings, layout: if many { PoseLayout::Ensembles } else { PoseLayout::Single }, lines: Some(lines) })
}

/// A row of a submission.
struct Tree {
    /// Number of trees of its packing.
    size: usize,
    /// Its index in the packing.
    tree: usize,
    pose: [f64; 3],
    line: u64,
}

fn read_submission(path: &Path, mut table: Table) -> Result<PoseFile, OverlapError> {
    let fail = |reason: Reason| OverlapError::file(path, reason);
    let mut trees = Vec::new();
    while table.next().map_err(fail)? {
        let (size, tree) = parse_id(table.text(0)).ok_or_else(|| fail(table.field_error(0, ID)))?;
        if tree >= size {
            let there_are =
                if size == 1 { "there is only tree 0".to_owned() } else { format!("the trees are 0 to {}", size - 1) };
            let id = quoted(table.text(0));
            return Err(fail(table.error(format_args!("column `id`: {id} is tree {tree} of {size}, but {there_are}"))));
        }
        let number = |column: usize| {
            let number = table.text(column).strip_prefix('s').and_then(|number| number.trim().parse::<f64>().ok());
            let number = number.filter(|number| number.is_finite());
            number.ok_or_else(|| fail(table.field_error(column, "a number with the prefix s, such as s0.5")))
        };
        // Whole turns are subtracted in degrees, where that is exact.
        let pose = [number(1)?, number(2)?, (number(3)? % 360.0).to_radians()];
        push(&mut trees, Tree { size, tree, pose, line: table.line() }).map_err(fail)?;
    }
    // The sort is stable: of two rows with the same id, the later comes second.
    trees.sort_by_key(|tree| (tree.size, tree.tree));
    for pair in trees.windows(2) {
        if (pair[0].size, pair[0].tree) == (pair[1].size, pair[1].tree) {
            let id = format_args!("column `id`: `{}` is there twice", id_of(pair[1].size, pair[1].tree)).to_string();
            return Err(fail(at(pair[1].line, id).into()));
        }
    }
    let mut offsets = vec![0];
    for packing in trees.chunk_by(|a, b| a.size == b.size) {
        let size = packing[0].size;
        let missing = (0..size).find(|&tree| packing.get(tree).is_none_or(|found| found.tree != tree));
        if let Some(tree) = missing {
            let (id, found) = (id_of(size, tree), packing.len());
            let (are, s) = if found == 1 { ("is", "") } else { ("are", "s") };
            return Err(fail(format!("there is no `{id}`: of the packing of {size} there {are} {found} tree{s}").into()));
        }
        offsets.push(offsets[offsets.len() - 1] + size);
    }
    let packings = Packings::ragged(trees.iter().map(|tree| tree.pose).collect(), offsets)?;
    Ok(PoseFile { packings, layout: PoseLayout::Submission, lines: Some(trees.iter().map(|tree| tree.line).collect()) })
}

/// Description of a valid id, for errors.
const ID: &str = "an id such as 012_3, tree 3 of the packing of 12";

/// Parses an id into the size of the packing and the index of the tree.
fn parse_id(id: &str) -> Option<(usize, usize)> {
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<usize>().ok())?;
    let (size, tree) = id.split_once('_')?;
    number(size).filter(|&size| size > 0).zip(number(tree))
}

fn id_of(size: usize, tree: usize) -> String {
    format!("{size:03}_{tree}")
}

/// Writes poses to a prepared destination.
///
/// A [`Single`](PoseLayout::Single) packing becomes an array of shape (poses, 3) or text without the column `packing`.
/// A submission may have its packings in any order.
///
/// # Errors
/// If the file can't be written, or the format can't hold the poses:
///
/// - `.npy`: packings differ in their numbers of poses, or poses have several shapes;
/// - text: a packing is empty;
/// - a submission: poses have several shapes, or two packings have the same size;
/// - the `Single` layout: there isn't exactly one packing.
pub fn save_poses_at(
    packings: &Packings,
    layout: PoseLayout,
    destination: &Destination,
    format: Format,
) -> Result<(), OverlapError> {
    let fail = |reason: Reason| OverlapError::file(destination.name(), reason);
    let single = layout == PoseLayout::Single;
    if single && packings.len() != 1 {
        return Err(fail(format!("there are {} packings, but the file is to hold a single one", packings.len()).into()));
    }
    let submission = layout == PoseLayout::Submission;
    if (format == Format::Npy || submission) && packings.shapes().is_some_and(|shapes| shapes.iter().any(|&shape| shape != 0)) {
        return Err(fail("poses of several shapes can be saved as text with a column `shape` alone".into()));
    }
    match format {
        Format::Npy => {
            let shape = array_shape(packings, layout).map_err(|reason| fail(reason.into()))?;
            destination.write(|file| npy::write(file, packings.poses().as_flattened(), &shape))?;
        }
        Format::Csv if !submission => {
            if let Some(packing) = (0..packings.len()).find(|&packing| !single && packings.get(packing).is_empty()) {
                return Err(fail(format!("packing {packing} has no poses, and can't be saved as text").into()));
            }
            destination.write(|file| write_csv(packings, single, file))?;
        }
        Format::Csv => {
            let mut order: Vec<usize> = (0..packings.len()).collect();
            order.sort_by_key(|&packing| packings.get(packing).len());
            let same = order.windows(2).find(|pair| packings.get(pair[0]).len() == packings.get(pair[1]).len());
            if let Some(&[first, second]) = same {
                let n = packings.get(first).len();
                return Err(fail(
                    format!("packings {first} and {second} both have {n} poses, but a submission has one packing of each size")
                        .into(),
                ));
            }
            destination.write(|file| write_submission(packings, &order, file))?;
        }
    }
    tracing::info!(poses = packings.poses().len(), "wrote {}", destination.name().display());
    Ok(())
}

/// Returns the shape of an array of poses.
///
/// # Errors
/// If packings differ in their numbers of poses: a clause that follows the file's name.
pub fn array_shape(packings: &Packings, layout: PoseLayout) -> Result<Vec<usize>, String> {
    if layout == PoseLayout::Single {
        return Ok(vec![packings.poses().len(), 3]);
    }
    match packings.each() {
        Some(each) => Ok(vec![packings.len(), each, 3]),
        None if packings.is_empty() => Ok(vec![0, 0, 3]),
        None => {
            let first = packings.get(0).len();
            let other = (1..packings.len()).find(|&packing| packings.get(packing).len() != first).unwrap_or_default();
            let found = packings.get(other).len();
            Err(format!(
                "packing 0 has {first} poses and packing {other} has {found}: packings of different sizes don't fit into one .npy \
                 array; use .csv"
            ))
        }
    }
}

/// Writes text, with enough digits to distinguish each number from its neighbours.
fn write_csv(packings: &Packings, single: bool, file: impl Write) -> io::Result<()> {
    let mut writer = Writer::from_writer(file);
    let shaped = packings.shapes().is_some();
    let columns = HEADERS[2 * usize::from(!single) + usize::from(shaped)];
    writer.write_record(columns)?;
    for packing in 0..packings.len() {
        for pose in packings.range(packing) {
            if !single {
                writer.write_field(packing.to_string())?;
            }
            for number in packings.poses()[pose] {
                writer.write_field(format!("{number:?}"))?;
            }
            if shaped {
                writer.write_field(packings.shape_of(pose).to_string())?;
            }
            writer.write_record(None::<&[u8]>)?;
        }
    }
    writer.flush()
}

fn write_submission(packings: &Packings, order: &[usize], mut file: impl Write) -> io::Result<()> {
    writeln!(file, "{}", SUBMISSION.join(","))?;
    order.iter().flat_map(|&packing| submission_lines(packings.get(packing))).try_for_each(|line| writeln!(file, "{line}"))
}

/// Returns the lines of one packing in a submission, with enough digits to distinguish each number
/// from its neighbours.
pub fn submission_lines(poses: &[[f64; 3]]) -> impl Iterator<Item = String> + '_ {
    let line = |(tree, &[x, y, theta]): (usize, &[f64; 3])| {
        format!("{},s{x:?},s{y:?},s{:?}", id_of(poses.len(), tree), theta.to_degrees())
    };
    poses.iter().enumerate().map(line)
}

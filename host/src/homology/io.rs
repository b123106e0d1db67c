//! Files of point clouds, and of persistence diagrams.

use std::{
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::Diagrams;
use crate::{
    common::Real,
    io::{
        First, Input, Lines, Names, Reason, Role, SEPARATORS, Table, TableOptions,
        archive::{Archive, in_array},
        check_names, collect, extension,
        files::{Destination, FileError, by_extension},
        names_of_files,
        npy::{self, Kind, Reader, tuple},
        npz::Arrays,
        push, quoted, reserve,
    },
};

/// The column that divides a table into clouds.
const ROLES: &[Role; 1] = &[Role { name: "cloud", also: &[], is: |_| true, required: false }];

/// Clouds of files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CloudData {
    /// Coordinates of all points, cloud by cloud, or matrices of distances.
    pub numbers: Vec<f64>,
    /// Number of coordinates of a point. None for distances.
    pub dimension: Option<usize>,
    /// Number of points of each cloud.
    pub sizes: Vec<usize>,
    /// Names of the clouds, unless they are numbered from 0.
    pub names: Option<Arc<[String]>>,
    /// The index of each cloud's file.
    pub files: Vec<usize>,
    /// True if all numbers are float32 in the files.
    pub single: bool,
    /// Sentences on first rows that may be names of columns.
    pub notes: Vec<String>,
}

/// Loads clouds. For `.npy` and `.npz` the extension tells the format:
///
/// | file | holds |
/// | --- | --- |
/// | `.npy` | a cloud: (points, coordinates); several: (clouds, points, coordinates) |
/// | `.npz` | an array like this for each cloud |
/// | others | a table of numbers, a row for each point, whose layout the options tell; a column `cloud` divides it into several clouds, and a first column without a name has names of the rows |
///
/// With `distances`, an array or a table is a square matrix of distances instead, (points, points), and an array of one
/// dimension has those above the diagonal row by row, as SciPy's `pdist`. A text whose lines have 1, 2, 3, ... numbers is
/// the lower triangle of a matrix, with its diagonal if each line ends in 0. Clouds of several files have the files' names,
/// with folders where these would be the same.
///
/// # Errors
/// A file can't be read, has another format, or points of another dimension than those before.
pub fn load(paths: &[PathBuf], distances: bool, options: &TableOptions) -> Result<CloudData, FileError> {
    let mut clouds = CloudData { single: true, ..CloudData::default() };
    let mut names = Vec::new();
    let mut named = paths.len() > 1;
    for ((file, path), stem) in paths.iter().enumerate().zip(names_of_files(paths)) {
        let fail = |reason: Reason| FileError::new(path, reason);
        let before = clouds.sizes.len();
        match extension(path).as_str() {
            "npy" => clouds.add_array(Reader::open(path).map_err(fail)?, distances).map_err(fail)?,
            "npz" => {
                let mut archive = Archive::open(path)?;
                let arrays = archive.names();
                for name in &arrays {
                    let first = clouds.sizes.len();
                    clouds.add_array(archive.array(name)?, distances).map_err(|reason| in_array(path, name, reason))?;
                    if clouds.sizes.len() == first + 1 && (arrays.len() > 1 || name != "arr_0") {
                        names.push(name.clone());
                        named = true;
                    }
                }
            }
            _ => {
                let of_rows = clouds.add_table(path, distances, options).map_err(fail)?;
                named |= of_rows.is_some();
                names.extend(of_rows.into_iter().flatten());
            }
        }
        // Names of the clouds that have none of their own.
        for number in names.len()..clouds.sizes.len() {
            let alone = clouds.sizes.len() == before + 1;
            names.push(if alone { stem.clone() } else { format!("{stem} {}", number - before) });
        }
        clouds.files.resize(clouds.sizes.len(), file);
    }
    clouds.names = named.then(|| names.into());
    Ok(clouds)
}

impl CloudData {
    fn add_array(&mut self, array: Reader<impl Input>, distances: bool) -> Result<(), Reason> {
        let what = if distances { "distances" } else { "points" };
        let kind = array.kind(what, &[Kind::F32, Kind::F64, Kind::I32, Kind::I64])?;
        let shape = array.shape().to_vec();
        let numbers = match kind {
            Kind::F32 => collect(array.read::<f32>(|_| {})?.into_iter().map(f64::from))?,
            Kind::I32 => collect(array.read::<i32>(|_| {})?.into_iter().map(f64::from))?,
            Kind::I64 => collect(array.read::<i64>(|_| {})?.into_iter().map(|value| value as f64))?,
            _ => array.read::<f64>(|_| {})?,
        };
        self.single &= kind == Kind::F32;
        match (&shape[..], distances) {
            (&[n, m], true) if n == m => self.add(1, n, None, numbers),
            (&[clouds, n, m], true) if n == m => self.add(clouds, n, None, numbers),
            (&[pairs], true) => {
                let n = (1..).find(|n| n * (n - 1) / 2 >= pairs).unwrap_or(0);
                if n * (n - 1) / 2 != pairs {
                    return Err(format!("holds {pairs} distances, which is no number of pairs: 1, 3, 6, 10, 15, ...").into());
                }
                let above = (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v)));
                self.add(1, n, None, square(n, above, &numbers)?)
            }
            (&[n, dimension], false) => self.add(1, n, Some(dimension), numbers),
            (&[clouds, n, dimension], false) => self.add(clouds, n, Some(dimension), numbers),
            (_, true) => Err(format!("holds an array of shape {}, but matrices of distances are square", tuple(&shape)).into()),
            (_, false) => Err(format!(
                "holds an array of shape {}, but that of points must be (points, coordinates) or (clouds, points, coordinates)",
                tuple(&shape)
            )
            .into()),
        }
    }

    /// Adds the points of a table, and returns the names of their clouds.
    fn add_table(&mut self, path: &Path, distances: bool, options: &TableOptions) -> Result<Option<Vec<String>>, Reason> {
        let mut lines = Lines::open(path)?;
        if distances && let Some((n, numbers)) = lower_triangle(&mut lines, options)? {
            self.single = false;
            return self.add(1, n, None, numbers).map(|()| None);
        }
        let (mut table, cloud) = Table::open_matrix(lines, ROLES, options)?;
        if let (First::Values { common: true }, false) = (table.first, distances) {
            let (path, row) = (path.display(), (0..table.header().len()).map(|column| column.to_string()).collect::<Vec<_>>());
            self.notes.push(format!("{path}: the first row, `{}`, is a point (--header yes: it names columns).", row.join(",")));
        }
        // A first column without a name has the names of the rows.
        let unnamed = table.header().first().filter(|name| name.is_empty()).map(|_| 0);
        let width = table.header().len();
        let coordinates: Vec<usize> = (0..width).filter(|&column| ![cloud, unnamed].contains(&Some(column))).collect();
        let number = |table: &Table, column| {
            let (number, text): (f64, _) = (table.field(column, "a number")?, table.text(column));
            let is_valid = if distances { is_distance(number, text) } else { number.is_finite() };
            let what = if distances { "a distance in f64" } else { "a finite number in f64" };
            if is_valid { Ok(number) } else { Err(table.field_error(column, what)) }
        };
        let mut names = Names::default();
        let mut rows: Vec<(usize, Vec<f64>)> = Vec::new();
        while table.next()? {
            let cloud = names.number(cloud.map_or(Ok("0"), |cloud| table.name(cloud))?)?;
            let row = coordinates.iter().map(|&column| number(&table, column)).collect::<Result<_, _>>()?;
            push(&mut rows, (cloud, row))?;
        }
        rows.sort_by_key(|(cloud, _)| *cloud);
        self.single = false;
        let names = names.into_vec();
        for rows in rows.chunk_by(|(a, _), (b, _)| a == b) {
            let n = rows.len();
            let mut numbers = Vec::new();
            reserve(&mut numbers, n * coordinates.len())?;
            rows.iter().for_each(|(_, row)| numbers.extend(row));
            if distances && n != coordinates.len() {
                let whose = cloud.map_or_else(String::new, |_| format!("cloud {} ", quoted(&names[rows[0].0])));
                let (columns, s) = (coordinates.len(), if n == 1 { "" } else { "s" });
                return Err(format!("{whose}has {n} row{s} of {columns} distances, but matrices of distances are square").into());
            }
            self.add(1, n, (!distances).then_some(coordinates.len()), numbers)?;
        }
        Ok(cloud.map(|_| names))
    }

    fn add(&mut self, clouds: usize, n: usize, dimension: Option<usize>, numbers: Vec<f64>) -> Result<(), Reason> {
        match (self.dimension, dimension) {
            (Some(known), Some(found)) if known != found && !self.sizes.is_empty() => {
                return Err(format!("has points with {found} coordinates, but those before have {known}").into());
            }
            _ => self.dimension = dimension,
        }
        reserve(&mut self.numbers, numbers.len())?;
        self.numbers.extend(numbers);
        self.sizes.extend(std::iter::repeat_n(n, clouds));
        Ok(())
    }
}

/// Returns the symmetric matrix that has these distances of pairs.
fn square(n: usize, pairs: impl Iterator<Item = (usize, usize)>, distances: &[f64]) -> Result<Vec<f64>, Reason> {
    let mut square = crate::io::zeroed(n.saturating_mul(n))?;
    for ((u, v), &distance) in pairs.zip(distances) {
        (square[u * n + v], square[v * n + u]) = (distance, distance);
    }
    Ok(square)
}

/// Returns true for a distance. An infinite one is written as such, and is no number too large for f64.
fn is_distance(number: f64, text: &str) -> bool {
    number.is_finite() || number > 0.0 && text.to_ascii_lowercase().contains("inf")
}

/// Reads a matrix's lower triangle, with its diagonal or without it, and returns the number of points and the matrix. None
/// if the first row isn't a number: no line has been read then.
fn lower_triangle(lines: &mut Lines, options: &TableOptions) -> Result<Option<(usize, Vec<f64>)>, Reason> {
    let fields = |line: &str| -> Vec<String> {
        let mut possible = SEPARATORS.into_iter().rev().filter(|&separator| separator != b',' || !options.decimal_comma);
        let separator = options.separator.or_else(|| possible.find(|separator| line.as_bytes().contains(separator)));
        let field = |field: &str| {
            let field = field.trim().trim_matches('"');
            if options.decimal_comma { field.replace(',', ".") } else { field.to_owned() }
        };
        match separator.filter(|&separator| separator != b' ').map(char::from) {
            // Some programs end rows with separators.
            Some(separator) => line.trim_end().trim_end_matches(separator).split(separator).map(field).collect(),
            None => line.split_whitespace().map(field).collect(),
        }
    };
    let number = |text: &String| text.parse().ok().filter(|&number| is_distance(number, text));
    let is_contradictory = options.decimal_comma && options.separator == Some(b',');
    if lines.is_named() || options.header == Some(true) || !options.columns.is_empty() || is_contradictory {
        return Ok(None);
    }
    let (mut rows, mut numbers, mut is_with_diagonal) = (0, Vec::new(), true);
    while lines.next_filled()? {
        if rows == 0 && !lines.text().is_ok_and(|line| matches!(&fields(line)[..], [one] if number(one).is_some())) {
            lines.back();
            return Ok(None);
        }
        let fields = fields(lines.text()?);
        rows += 1;
        if fields.len() != rows {
            let found = match fields.len() {
                1 => "is 1 distance".to_owned(),
                found => format!("are {found} distances"),
            };
            return Err(lines.error(format_args!("there {found}, but row {rows} of a lower triangle has {rows}")));
        }
        for field in &fields {
            let distance =
                number(field).ok_or_else(|| lines.error(format_args!("{} is not a distance in f64", quoted(field))))?;
            push(&mut numbers, distance)?;
        }
        is_with_diagonal &= numbers.last() == Some(&0.0);
    }
    if rows == 0 {
        return Ok(None);
    }
    let below = usize::from(!is_with_diagonal);
    let pairs = (0..rows).flat_map(|row| (0..=row).map(move |column| (row + below, column)));
    square(rows + below, pairs, &numbers).map(|matrix| Some((rows + below, matrix)))
}

/// A format of diagrams. [`load_barcodes`](crate::pcf::io::load_barcodes) reads each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A NumPy archive: `bars`, rows of birth, death and dimension, and `offsets` of clouds; `dimensions`, all of them;
    /// `edges`, the ends of the edge that starts each bar and of the one that ends it; `names`.
    Npz,
    /// An array of giotto-tda: (clouds, bars, 3), filled up with bars of length 0.
    Npy,
    /// A table with the columns barcode, dimension, birth and death. These two are empty in a row for a cloud or a dimension
    /// without bars.
    Csv,
    /// JSON as of ripser.py: `{"dgms": ...}` for a cloud, or an object of those.
    Json,
    /// Output of ripser for one cloud.
    Ripser,
    /// GUDHI's persistence file of a cloud.
    Gudhi,
}

impl Format {
    /// Returns true if files of the format tell clouds apart by their names.
    pub fn is_by_name(self) -> bool {
        matches!(self, Format::Csv | Format::Json)
    }

    /// Returns the format of the name's extension, in upper or lower case.
    ///
    /// # Errors
    /// The extension names no format.
    pub fn of(path: &Path) -> Result<Self, FileError> {
        let known = [
            ("npz", Format::Npz),
            ("npy", Format::Npy),
            ("csv", Format::Csv),
            ("json", Format::Json),
            ("txt", Format::Ripser),
            ("pers", Format::Gudhi),
        ];
        by_extension(path, &known, Format::Csv)
    }
}

/// Writes diagrams of clouds with these names, or with numbers.
///
/// # Errors
/// The file can't be written. The format is for one cloud, and there are more or none. It tells clouds apart by name, and
/// two have the same.
pub fn save<T: Real + npy::Element>(
    diagrams: &Diagrams<T>,
    names: Option<&[String]>,
    destination: &Destination,
    format: Format,
) -> Result<(), FileError> {
    if matches!(format, Format::Ripser | Format::Gudhi) && diagrams.len() != 1 {
        let reason = format!("can hold the bars of one cloud, but there are {}: use .npz, .npy, .csv or .json", diagrams.len());
        return Err(FileError::new(destination.name(), reason));
    }
    if format.is_by_name() {
        let what = |cloud| format!("cloud {cloud}");
        check_names(names, format == Format::Csv, what).map_err(|reason| FileError::new(destination.name(), reason))?;
    }
    let writer = Saved { diagrams, names };
    destination.write(|file| match format {
        Format::Npz => writer.npz(file),
        Format::Npy => writer.giotto(file),
        Format::Csv => writer.csv(file),
        Format::Json => writer.json(file),
        Format::Ripser => writer.ripser(file),
        Format::Gudhi => writer.bars(0).try_for_each(|(degree, [birth, death], _)| writeln!(file, "{degree} {birth} {death}")),
    })
}

struct Saved<'a, T: Real> {
    diagrams: &'a Diagrams<T>,
    names: Option<&'a [String]>,
}

impl<T: Real + npy::Element> Saved<'_, T> {
    /// The degrees that no cloud has bars of.
    fn empty(&self) -> impl Iterator<Item = usize> + Clone {
        (0..self.diagrams.degrees()).filter(|&degree| self.diagrams.values(degree).is_empty())
    }

    /// All bars of a cloud, each with its degree.
    fn bars(&self, cloud: usize) -> impl Iterator<Item = (usize, [T; 2], [u16; 4])> {
        let all = self.diagrams;
        (0..all.degrees()).flat_map(move |degree| {
            all.range(cloud, degree)
                .map(move |bar| (degree, all.values(degree)[bar], all.edges(degree).get(bar).copied().unwrap_or_default()))
        })
    }

    fn name(&self, cloud: usize) -> String {
        self.names.map_or_else(|| cloud.to_string(), |names| names[cloud].clone())
    }

    fn npz(&self, file: &mut BufWriter<&std::fs::File>) -> io::Result<()> {
        let (mut bars, mut edges, mut offsets) = (Vec::new(), Vec::new(), vec![0i64]);
        for cloud in 0..self.diagrams.len() {
            for (degree, [birth, death], ends) in self.bars(cloud) {
                bars.extend([birth, death, T::from_f64(degree as f64)]);
                edges.extend(ends.map(i32::from));
            }
            offsets.push(bars.len() as i64 / 3);
        }
        let mut arrays = Arrays::new(file);
        arrays.add("bars", &bars, &[bars.len() / 3, 3])?;
        arrays.add("offsets", &offsets, &[offsets.len()])?;
        let dimensions: Vec<i64> = (0..self.diagrams.degrees() as i64).collect();
        arrays.add("dimensions", &dimensions, &[dimensions.len()])?;
        // Diagrams have the edges of all bars, or of none.
        if edges.len() / 4 == (0..self.diagrams.degrees()).map(|degree| self.diagrams.edges(degree).len()).sum::<usize>() {
            arrays.add("edges", &edges, &[edges.len() / 4, 4])?;
        }
        self.names.map_or(Ok(()), |names| arrays.add_texts("names", names))?;
        arrays.finish()
    }

    fn giotto(&self, file: &mut BufWriter<&std::fs::File>) -> io::Result<()> {
        let clouds = self.diagrams.len();
        let most = (0..clouds).map(|cloud| self.bars(cloud).count()).max().unwrap_or(0) + self.empty().count();
        let mut rows = Vec::new();
        for cloud in 0..clouds {
            let start = rows.len();
            for (degree, [birth, death], _) in self.bars(cloud) {
                rows.extend([birth, death, T::from_f64(degree as f64)]);
            }
            self.empty().for_each(|degree| rows.extend([T::ZERO, T::ZERO, T::from_f64(degree as f64)]));
            rows.resize(start + 3 * most, T::ZERO);
        }
        npy::write(file, &rows, &[clouds, most, 3])
    }

    fn csv(&self, file: &mut BufWriter<&std::fs::File>) -> io::Result<()> {
        let mut table = csv::Writer::from_writer(file);
        table.write_record(["barcode", "dimension", "birth", "death"])?;
        for cloud in 0..self.diagrams.len() {
            if self.bars(cloud).next().is_none() {
                table.write_record([&*self.name(cloud), "", "", ""])?;
            }
            for (degree, [birth, death], _) in self.bars(cloud) {
                table.write_record([self.name(cloud), degree.to_string(), birth.to_string(), death.to_string()])?;
            }
            for degree in self.empty().filter(|_| cloud == 0) {
                table.write_record([&*self.name(cloud), &degree.to_string(), "", ""])?;
            }
        }
        table.flush()
    }

    fn json(&self, file: &mut BufWriter<&std::fs::File>) -> io::Result<()> {
        let number = |value: T| if value.is_finite() { value.to_string() } else { "Infinity".to_owned() };
        let cloud = |cloud: usize| {
            let degrees: Vec<_> = (0..self.diagrams.degrees())
                .map(|degree| {
                    let bars = &self.diagrams.values(degree)[self.diagrams.range(cloud, degree)];
                    let bars: Vec<_> =
                        bars.iter().map(|&[birth, death]| format!("[{}, {}]", number(birth), number(death))).collect();
                    format!("[{}]", bars.join(", "))
                })
                .collect();
            format!("{{\"dgms\": [{}]}}", degrees.join(", "))
        };
        if self.diagrams.len() == 1 && self.names.is_none() {
            return writeln!(file, "{}", cloud(0));
        }
        writeln!(file, "{{")?;
        for index in 0..self.diagrams.len() {
            let end = if index + 1 == self.diagrams.len() { "" } else { "," };
            writeln!(file, "{}: {}{end}", serde_json::Value::from(self.name(index)), cloud(index))?;
        }
        writeln!(file, "}}")
    }

    fn ripser(&self, file: &mut BufWriter<&std::fs::File>) -> io::Result<()> {
        for degree in 0..self.diagrams.degrees() {
            writeln!(file, "persistence intervals in dim {degree}:")?;
            for &[birth, death] in self.diagrams.values(degree) {
                if death.is_finite() {
                    writeln!(file, " [{birth},{death})")?;
                } else {
                    writeln!(file, " [{birth}, )")?;
                }
            }
        }
        Ok(())
    }
}

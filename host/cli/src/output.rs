//! Files that a command writes.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use warpsmith::io::npy::Element;
use warpsmith::io::{
    files::{Destination, FileError, Folder, Temporary, by_extension, is_standard, unfinished},
    npy, npz,
};

use super::failure::Failure;

pub use warpsmith::common::reason;

/// The files of a command. An output is never an input, and all outputs are different.
#[derive(Debug)]
pub struct Files {
    inputs: Vec<PathBuf>,
    outputs: Vec<Destination>,
}

impl Files {
    /// Starts with the files that the command reads.
    pub fn reading<P: AsRef<Path>>(inputs: impl IntoIterator<Item = P>) -> Self {
        Files { inputs: inputs.into_iter().map(|input| input.as_ref().to_owned()).collect(), outputs: Vec::new() }
    }

    /// Adds an output, and checks before anything is computed that it can be written.
    pub fn write(&mut self, path: &Path) -> Result<Destination, Failure> {
        let destination = Destination::prepare(path)?;
        if is_standard(path) {
            super::terminal::leave_stdout();
        }
        // Standard input and output have one name.
        let inputs = self.inputs.iter().filter(|input| !is_standard(input)).map(|input| (input.as_path(), "is to be read"));
        let outputs = self.outputs.iter().map(|output| (output.name(), "is to be written twice"));
        if let Some((other, what)) = inputs.chain(outputs).find(|(other, _)| destination.is(other)) {
            let by_name = if other == path { String::new() } else { format!(", as {}", other.display()) };
            return Err(Failure::error(format_args!("{} can't be written: it {what}{by_name}", path.display())));
        }
        self.outputs.push(destination.clone());
        Ok(destination)
    }
}

/// A file beside an output that holds partial results until the output is complete. It stays if the
/// command fails.
#[derive(Debug)]
pub struct Partial {
    destination: Destination,
    written: bool,
}

impl Partial {
    /// Checks that the file can be written and, unless its content is `resumed`, that it doesn't
    /// exist.
    pub fn prepare(files: &mut Files, path: &Path, resumed: bool) -> Result<Self, Failure> {
        let destination = files.write(path)?;
        if !resumed && path.exists() {
            return Err(Failure::error(unfinished(path)));
        }
        Ok(Partial { destination, written: resumed && path.exists() })
    }

    /// Returns where to write it. It counts as written from then on.
    pub fn destination(&mut self) -> &Destination {
        self.written = true;
        &self.destination
    }

    /// Returns its path if it was written.
    pub fn path(&self) -> Option<&Path> {
        self.written.then(|| self.destination.name())
    }

    /// Removes the file once the output is in place.
    pub fn remove(self) {
        if let Some(path) = self.path() {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Writes a table: its rows below the header.
pub fn write_rows<R: IntoIterator<Item: AsRef<[u8]>>>(
    file: impl Write,
    header: &[&str],
    rows: impl IntoIterator<Item = R>,
) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(file);
    table.write_record(header)?;
    rows.into_iter().try_for_each(|row| table.write_record(row))?;
    table.flush()
}

/// Writes an array of this shape, whose elements are given in C order.
pub fn write_array<T: Element>(destination: &Destination, values: &[T], shape: &[usize]) -> Result<(), Failure> {
    destination.write(|file| npy::write(file, values, shape))?;
    tracing::info!(elements = values.len(), "wrote {}", destination.name().display());
    Ok(())
}

/// Writes an array of one dimension to a temporary file.
pub fn written<'a, T: Element>(destination: &'a Destination, values: &[T]) -> Result<(&'a Destination, Temporary), FileError> {
    Ok((destination, destination.written(|file| npy::write(file, values, &[values.len()]))?))
}

/// Runs the same code for each type of column.
macro_rules! each_column {
    ($column:expr, $values:ident => $act:expr, $texts:ident => $act_on_texts:expr) => {
        match *$column {
            Column::I32($values) => $act,
            Column::I64($values) => $act,
            Column::F32($values) => $act,
            Column::F64($values) => $act,
            Column::Text($texts) => $act_on_texts,
        }
    };
}

/// Format of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Npy,
    Npz,
    Csv,
    Json,
    GeoJson,
    Png,
    Svg,
    Dot,
}

/// Names' extensions of formats.
const EXTENSIONS: &[(&str, Format)] = &[
    ("npy", Format::Npy),
    ("npz", Format::Npz),
    ("csv", Format::Csv),
    ("json", Format::Json),
    ("geojson", Format::GeoJson),
    ("png", Format::Png),
    ("svg", Format::Svg),
    ("dot", Format::Dot),
    ("gv", Format::Dot),
];

impl Format {
    /// Returns the format that the name's extension tells, of those allowed. Standard output gets the first one of text.
    pub fn of(path: &Path, allowed: &[Format]) -> Result<Self, Failure> {
        let text = allowed.iter().find(|format| !matches!(format, Format::Npy | Format::Npz | Format::Png));
        let known = allowed.iter().flat_map(|format| EXTENSIONS.iter().copied().filter(move |(_, known)| known == format));
        Ok(by_extension(path, &known.collect::<Vec<_>>(), *text.unwrap_or(&allowed[0]))?)
    }
}

/// Results to write: named arrays in one archive or as files in a folder, or a table in their place.
#[derive(Debug)]
pub struct Arrays(ArrayFiles);

#[derive(Debug)]
enum ArrayFiles {
    Archive(Destination),
    Folder(Folder, Vec<(&'static str, Destination)>),
    Other(Format, Destination),
}

impl Arrays {
    /// Checks that the results can be written: to the archive `path` if it ends in `.npz`, in one of the `others` by its
    /// extension, and without an extension to the folder `path`, which is made if it doesn't exist.
    pub fn prepare(files: &mut Files, path: &Path, names: &[&'static str], others: &[Format]) -> Result<Self, Failure> {
        let format = Format::of(path, &[&[Format::Npz], others].concat());
        if is_standard(path) || path.extension().is_some() && (format.is_ok() || !path.is_dir()) {
            return Ok(Arrays(match format? {
                Format::Npz => ArrayFiles::Archive(files.write(path)?),
                other => ArrayFiles::Other(other, files.write(path)?),
            }));
        }
        let folder = Folder::prepare(path)?;
        let prepare = |&name: &&'static str| Ok::<_, Failure>((name, files.write(&path.join(name).with_extension("npy"))?));
        let destinations = names.iter().map(prepare).collect::<Result<_, _>>()?;
        Ok(Arrays(ArrayFiles::Folder(folder, destinations)))
    }

    /// Returns the file or the folder, as the user named it.
    pub fn name(&self) -> &Path {
        match &self.0 {
            ArrayFiles::Archive(destination) | ArrayFiles::Other(_, destination) => destination.name(),
            ArrayFiles::Folder(folder, _) => folder.path(),
        }
    }

    /// Returns the format and the file of results that are not arrays.
    pub fn other(&self) -> Option<(Format, &Destination)> {
        match &self.0 {
            ArrayFiles::Other(format, destination) => Some((*format, destination)),
            _ => None,
        }
    }

    /// Writes arrays of one dimension. In a folder each has a file of its own, so all names must be those prepared.
    pub fn write(&self, arrays: &[(&str, Column<'_>)]) -> Result<(), Failure> {
        match &self.0 {
            ArrayFiles::Archive(destination) | ArrayFiles::Other(_, destination) => destination.write(|file| {
                let mut archive = npz::Arrays::new(file);
                for (name, array) in arrays {
                    each_column!(array, values => archive.add(name, values, &[values.len()]), texts => archive.add_texts(name, texts))?;
                }
                archive.finish()
            })?,
            ArrayFiles::Folder(_, destinations) => {
                // All or none is replaced.
                let files = arrays.iter().filter_map(|(name, array)| {
                    let (_, destination) = destinations.iter().find(|(known, _)| known == name)?;
                    Some(each_column!(array, values => written(destination, values), texts => {
                        destination.written(|file| npy::write_texts(file, texts)).map(|file| (destination, file))
                    }))
                });
                Destination::persist_all(&files.collect::<Result<Vec<_>, _>>()?)?;
                // An array that these results lack would be that of earlier ones.
                for (name, destination) in destinations {
                    if arrays.iter().all(|(known, _)| known != name) && destination.name().exists() {
                        std::fs::remove_file(destination.name()).map_err(|error| destination.error(error))?;
                    }
                }
            }
        }
        tracing::info!(arrays = arrays.len(), "wrote {}", self.name().display());
        Ok(())
    }
}

/// An array of one dimension to write.
#[derive(Clone, Copy, Debug)]
pub enum Column<'a> {
    I32(&'a [i32]),
    I64(&'a [i64]),
    F32(&'a [f32]),
    F64(&'a [f64]),
    Text(&'a [String]),
}

impl Column<'_> {
    /// The element of a row as text.
    pub fn text(&self, row: usize) -> String {
        match self {
            Column::I32(values) => values[row].to_string(),
            Column::I64(values) => values[row].to_string(),
            Column::F32(values) => format!("{:?}", values[row]),
            Column::F64(values) => format!("{:?}", values[row]),
            Column::Text(texts) => texts[row].clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_what_was_written_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.partial");
        let prepare = |resumed| Partial::prepare(&mut Files::reading([""; 0]), &path, resumed);
        let partial = prepare(false).unwrap();
        fs::write(&path, "somebody else's").unwrap();
        assert!(partial.path().is_none());
        partial.remove();
        assert!(path.exists());
        let Err(Failure::Error(text)) = prepare(false) else { panic!("what is there is lost") };
        assert!(text.contains("x.partial is there: ") && text.contains("--resume"), "{text}");

        let partial = prepare(true).unwrap();
        assert_eq!(partial.path(), Some(&*path));
        partial.remove();
        assert!(!path.exists());
        let mut partial = prepare(true).unwrap();
        partial.destination().write(|_| Ok(())).unwrap();
        assert_eq!(partial.path(), Some(&*path));
        partial.remove();
        assert!(!path.exists());
    }
}

//! Files that are written whole or not at all.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use ndarray::aview1;
use ndarray_npy::{WritableElement, WriteNpyExt as _};
use tempfile::{Builder, NamedTempFile};

use super::failure::Failure;

/// A `.npy` file to write: beside its place first, and renamed once it is complete.
#[derive(Debug)]
pub struct Output {
    /// As the user named it.
    name: PathBuf,
    /// Where it goes, links followed.
    path: PathBuf,
}

impl Output {
    /// Makes sure, before anything is computed, that the file can be written.
    pub fn prepare(name: &Path) -> Result<Self, Failure> {
        let fail = |reason: &str| Failure::error(format_args!("{} can't be written: {reason}", name.display()));
        let path = match fs::canonicalize(name) {
            Ok(path) if path.is_dir() => return Err(fail("it is a directory")),
            // A rename would put a file in the place of a device.
            Ok(path) if !path.is_file() => return Err(fail("it is not a file")),
            Ok(path) => path,
            Err(_) => name.to_owned(),
        };
        if path.file_name().is_none() {
            return Err(fail("it names no file"));
        }
        let output = Output { name: name.to_owned(), path };
        let directory = output.directory();
        if !directory.is_dir() {
            return Err(fail(&format!("there is no directory {}", directory.display())));
        }
        output.temporary().map_err(|error| fail(&reason(&error)))?;
        Ok(output)
    }

    /// As the user named it.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Whether both are the same file.
    pub fn is(&self, other: &Path) -> bool {
        self.name == other || fs::canonicalize(other).is_ok_and(|other| other == self.path)
    }

    /// Writes the file: an array of one dimension.
    pub fn write<T: WritableElement>(&self, values: &[T]) -> Result<(), Failure> {
        let fail = |reason: String| Failure::error(format_args!("{} can't be written: {reason}", self.name.display()));
        let file = self.temporary().map_err(|error| fail(reason(&error)))?;
        aview1(values).write_npy(file.as_file()).map_err(|error| fail(error.to_string()))?;
        file.persist(&self.path).map_err(|error| fail(reason(&error.error)))?;
        tracing::info!(elements = values.len(), "wrote {}", self.name.display());
        Ok(())
    }

    fn directory(&self) -> &Path {
        match self.path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        }
    }

    /// The file in its directory, which goes when it is dropped.
    fn temporary(&self) -> io::Result<NamedTempFile> {
        let mut builder = Builder::new();
        builder.prefix(".").suffix(".npy.part");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            // As any new file: what the process's mask leaves of it.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        builder.tempfile_in(self.directory())
    }
}

/// The system's text for an error, without the number.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let end = text.find(" (os error").or_else(|| text.find(" at path")).unwrap_or(text.len());
    let mut text = text[..end].to_owned();
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_or_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.npy");
        let output = Output::prepare(&path).unwrap();
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 0, "preparing leaves nothing");
        output.write(&[1i32, 2, 3]).unwrap();
        assert!(output.is(&path) && !output.is(directory.path()));
        let read: ndarray::Array1<i32> = ndarray_npy::read_npy(&path).unwrap();
        assert_eq!(read.to_vec(), [1, 2, 3]);
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
        for bad in
            [directory.path().to_owned(), directory.path().join("no/x.npy"), path.join("y.npy"), "/dev/null".into(), "".into()]
        {
            assert!(matches!(Output::prepare(&bad), Err(Failure::Error(_))), "{}", bad.display());
        }
    }
}

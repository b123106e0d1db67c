//! `.npy` files that are written whole or not at all.

use std::path::Path;

use ndarray::aview1;
use ndarray_npy::{WritableElement, WriteNpyExt as _};
use warpsmith::files::{Destination, FileError};

use super::failure::Failure;

pub use warpsmith::files::reason;

/// Makes sure that a file can be written and is none of the inputs.
pub fn prepare(path: &Path, inputs: &[&Path]) -> Result<Destination, Failure> {
    let destination = Destination::prepare(path)?;
    if inputs.iter().any(|input| destination.is(input)) {
        return Err(Failure::error(format_args!("{} can't be written: it is to be read", path.display())));
    }
    Ok(destination)
}

/// A `.npy` file to write: beside its place first, and renamed once it is complete.
#[derive(Debug)]
pub struct Output(Destination);

impl Output {
    /// Makes sure, before anything is computed, that the file can be written.
    pub fn prepare(name: &Path) -> Result<Self, Failure> {
        Ok(Output(Destination::prepare(name)?))
    }

    /// As the user named it.
    pub fn name(&self) -> &Path {
        self.0.name()
    }

    /// Whether both are the same file.
    pub fn is(&self, other: &Path) -> bool {
        self.0.is(other)
    }

    /// Writes the file: an array of one dimension.
    pub fn write<T: WritableElement>(&self, values: &[T]) -> Result<(), Failure> {
        let file = self.0.temporary()?;
        let written = aview1(values).write_npy(file.as_file());
        written.map_err(|error| FileError { path: self.name().to_owned(), reason: error.to_string() })?;
        self.0.persist(file)?;
        tracing::info!(elements = values.len(), "wrote {}", self.name().display());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

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

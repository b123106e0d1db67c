//! Files that are written whole or not at all: beside their place first, and renamed once they are complete.

use std::path::{Path, PathBuf};
use std::{fs, io};

use tempfile::{Builder, NamedTempFile};

/// Why a file can't be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} can't be written: {reason}", path.display())]
pub struct FileError {
    /// The file, as it was named.
    pub path: PathBuf,
    /// Why, as a clause.
    pub reason: String,
}

/// Where a file is to go.
///
/// A file that is there already stays as it is until [`persist`](Destination::persist) replaces it.
#[derive(Clone, Debug)]
pub struct Destination {
    /// As it was named.
    name: PathBuf,
    /// Where it goes, links followed.
    path: PathBuf,
}

impl Destination {
    /// Makes sure, before anything is computed, that the file can be written. Leaves nothing behind.
    ///
    /// # Errors
    /// Where it is a directory, a device or a pipe, where there is no such directory, or it can't be written to.
    pub fn prepare(name: &Path) -> Result<Self, FileError> {
        let fail = |reason: &str| FileError { path: name.to_owned(), reason: reason.to_owned() };
        let path = match fs::canonicalize(name) {
            Ok(path) if path.is_dir() => return Err(fail("it is a directory")),
            // A rename would put a file in the place of a device.
            Ok(path) if !path.is_file() => return Err(fail("it is not a file")),
            Ok(path) => path,
            Err(_) => resolve(name).unwrap_or_else(|| name.to_owned()),
        };
        if path.file_name().is_none() {
            return Err(fail("it names no file"));
        }
        let destination = Destination { name: name.to_owned(), path };
        let directory = destination.directory();
        if !directory.is_dir() {
            return Err(fail(&format!("there is no directory {}", directory.display())));
        }
        destination.temporary()?;
        Ok(destination)
    }

    /// As it was named.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Whether both are the same file.
    pub fn is(&self, other: &Path) -> bool {
        self.name == other || resolve(other).is_some_and(|other| other == self.path)
    }

    /// A new file in the destination's directory, to be written and then [persisted](Destination::persist). It goes when it is
    /// dropped.
    pub fn temporary(&self) -> Result<NamedTempFile, FileError> {
        let mut builder = Builder::new();
        builder.prefix(".").suffix(".part");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            // As any new file: what the process's mask leaves of it.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        builder.tempfile_in(self.directory()).map_err(|error| self.error(&error))
    }

    /// Puts a [temporary](Destination::temporary) file, which is complete, in place.
    pub fn persist(&self, file: NamedTempFile) -> Result<(), FileError> {
        file.persist(&self.path).map_err(|error| self.error(&error.error))?;
        Ok(())
    }

    /// That the file can't be written because of `error`.
    pub fn error(&self, error: &io::Error) -> FileError {
        FileError { path: self.name.clone(), reason: reason(error) }
    }

    fn directory(&self) -> &Path {
        match self.path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        }
    }
}

/// The path with links followed, of a file that may not be there yet; none where its directory isn't there either.
fn resolve(path: &Path) -> Option<PathBuf> {
    let of_directory = || {
        let directory = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
        Some(fs::canonicalize(directory).ok()?.join(path.file_name()?))
    };
    fs::canonicalize(path).ok().or_else(of_directory)
}

/// The system's text for an error, as a clause and without the number.
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
    use std::io::Write as _;

    #[test]
    fn whole_or_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        let files = || fs::read_dir(&directory).unwrap().count();
        let path = directory.path().join("x");
        let destination = Destination::prepare(&path).unwrap();
        assert_eq!(files(), 0, "preparing leaves nothing");
        assert!(destination.is(&directory.path().join("./x")) && !destination.is(&directory.path().join("y")));
        let mut file = destination.temporary().unwrap();
        file.write_all(b"whole").unwrap();
        assert!(files() == 1 && !path.exists());
        destination.persist(file).unwrap();
        assert_eq!((files(), fs::read(&path).unwrap()), (1, b"whole".to_vec()));

        let mut file = destination.temporary().unwrap();
        file.write_all(b"ha").unwrap();
        drop(file);
        assert_eq!((files(), fs::read(&path).unwrap()), (1, b"whole".to_vec()));
        assert!(destination.is(&path) && !destination.is(directory.path()));
    }

    #[test]
    #[cfg(unix)]
    fn links_are_followed() {
        let directory = tempfile::tempdir().unwrap();
        let (path, link) = (directory.path().join("x"), directory.path().join("link"));
        fs::write(&path, "old").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let destination = Destination::prepare(&link).unwrap();
        assert!(destination.is(&path) && destination.name() == link);
        destination.persist(destination.temporary().unwrap()).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"");
        assert!(link.is_symlink());
    }

    #[test]
    fn what_is_no_place_for_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "").unwrap();
        for (bad, why) in [
            (directory.path().to_owned(), "it is a directory"),
            (directory.path().join("no/x.npy"), "there is no directory "),
            (file.join("y.npy"), "there is no directory "),
            ("/dev/null".into(), "it is not a file"),
            ("".into(), "it names no file"),
        ] {
            let error = Destination::prepare(&bad).unwrap_err();
            assert_eq!(error.path, bad);
            assert!(error.to_string().starts_with(&format!("{} can't be written: {why}", bad.display())), "{error}");
        }
    }
}

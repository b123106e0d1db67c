//! Replaces files as a whole or not at all: writes a temporary file in the same directory, and
//! renames it once it is complete.

use std::{
    collections::BTreeSet,
    env,
    error::Error,
    fmt::{self, Display},
    fs::{self, File, Metadata},
    io::{self, BufWriter, ErrorKind, Write},
    mem,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use tempfile::Builder;

use crate::common::reason;

/// Limit for a chain of symbolic links, above that of any system.
const LINKS: usize = 40;

/// The temporary files that this process has at present, and the folders that it made for outputs.
static TEMPORARY: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// The error of a file that can't be read or written, or has the wrong content.
///
/// If the system failed, its [`io::Error`] is the source and has the cause.
/// [`chain`](crate::common::chain) returns the whole sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct FileError {
    path: PathBuf,
    reason: Reason,
}

impl FileError {
    /// Creates an error from the clause that follows the file's name, such as "can't be read" or
    /// "line 3: ...".
    pub fn new(path: &Path, reason: impl Into<Reason>) -> Self {
        FileError { path: path.to_owned(), reason: reason.into() }
    }

    /// Creates the error of a file that can't be written because the system failed.
    pub fn unwritten(path: &Path, error: io::Error) -> Self {
        FileError::new(path, Reason::because(UNWRITTEN, error))
    }

    /// Creates the error of a file that can't be written. `reason` is a clause.
    pub fn unwritable(path: &Path, reason: impl Display) -> Self {
        FileError::new(path, format!("{UNWRITTEN}: {reason}"))
    }

    /// Returns the reason without the file's name.
    #[cfg(feature = "graph")]
    pub(crate) fn into_reason(self) -> Reason {
        self.reason
    }

    /// The file's path, as the caller named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if the file can't be written; other errors concern reading it or its content.
    pub fn is_unwritable(&self) -> bool {
        self.reason.text.starts_with(UNWRITTEN)
    }

    /// The system's error, if the system failed.
    pub fn io_error(&self) -> Option<&io::Error> {
        self.reason.source.as_deref()
    }
}

const UNWRITTEN: &str = "can't be written";

impl Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Reasons of other errors are arbitrary clauses, and need a colon.
        let between = if self.is_unwritable() { "" } else { ":" };
        write!(f, "{}{between} {}", self.path.display(), self.reason.text)
    }
}

impl Error for FileError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.io_error().map(|error| error as _)
    }
}

/// The reason why a file is rejected, as a clause that follows its name.
#[derive(Clone, Debug)]
pub struct Reason {
    text: String,
    source: Option<Arc<io::Error>>,
}

impl Reason {
    /// Creates a reason from the operation that failed and the system's error.
    pub fn because(text: &str, error: io::Error) -> Self {
        Reason { text: text.to_owned(), source: Some(Arc::new(error)) }
    }

    /// Prepends text, such as the name of a part of the file.
    #[cfg(any(feature = "graph", feature = "pcf", feature = "rules"))]
    pub(crate) fn after(self, start: impl Display) -> Self {
        Reason { text: format!("{start}{}", self.text), ..self }
    }
}

impl PartialEq for Reason {
    fn eq(&self, other: &Self) -> bool {
        let kind = |reason: &Reason| reason.source.as_ref().map(|error| error.kind());
        self.text == other.text && kind(self) == kind(other)
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Self {
        Reason { text, source: None }
    }
}

impl From<&str> for Reason {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// Shows the whole clause, including the system's error.
impl Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        self.source.as_ref().map_or(Ok(()), |error| write!(f, ": {}", reason(error)))
    }
}

/// Returns true for `-`, the name of standard input and output.
pub fn is_standard(name: &Path) -> bool {
    name == Path::new("-")
}

/// Returns what the name's extension stands for, in upper or lower case. Standard output gets `standard`.
///
/// # Errors
/// The extension isn't known.
pub fn by_extension<F: Copy>(path: &Path, known: &[(&str, F)], standard: F) -> Result<F, FileError> {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match known.iter().find(|(name, _)| name.eq_ignore_ascii_case(extension)) {
        Some((_, format)) => Ok(*format),
        None if is_standard(path) => Ok(standard),
        None => {
            let names: Vec<_> = known.iter().map(|(name, _)| format!(".{name}")).collect();
            let names = match names.split_last() {
                Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
                _ => names.concat(),
            };
            Err(FileError::new(path, format!("the name must end in {names}, which tells the format")))
        }
    }
}

/// Locks a file that this process has open under this name.
///
/// # Errors
/// Another process has locked it. (File systems without locks don't tell.)
pub(crate) fn lock(file: &File, path: &Path) -> Result<(), FileError> {
    // A child of this process that hasn't begun its program has this process's locks, too.
    let mut pauses = 0..20;
    let locked = loop {
        match file.try_lock() {
            Err(fs::TryLockError::WouldBlock) if pauses.next().is_some() => thread::sleep(Duration::from_millis(10)),
            locked => break locked,
        }
    };
    match locked {
        Err(fs::TryLockError::Error(reason)) if reason.kind() != io::ErrorKind::Unsupported => {
            Err(FileError::unwritten(path, reason))
        }
        // The process that had the lock may have renamed or removed the file since it was opened.
        Ok(()) | Err(fs::TryLockError::Error(_))
            if identity(path) == file.metadata().ok().and_then(|metadata| identity_of(&metadata)) =>
        {
            Ok(())
        }
        _ => Err(FileError::unwritable(path, "another process is writing it")),
    }
}

/// Returns the message that a partial file is in the way.
pub fn unfinished(path: &Path) -> String {
    let path = path.display();
    format!(
        "{path} is there: it may have what a search found that did not end, or that hasn't ended yet; go on from it with --resume, or \
         remove it"
    )
}

/// The place of a file to write, or standard output as `-`, which gets the whole content at the end.
///
/// An existing file stays unchanged until [`persist`](Destination::persist) replaces it. The new
/// file inherits its permissions and, if the system permits, its owner. Symbolic links are
/// followed, and stay links.
#[derive(Clone, Debug)]
pub struct Destination {
    /// As it was named.
    name: PathBuf,
    /// The path after following links.
    path: PathBuf,
}

impl Destination {
    /// Checks that the file can be written, before any computation. Leaves nothing behind.
    ///
    /// # Errors
    /// The path is a directory, a device, a pipe or this process's own output; the file is
    /// read-only; its directory doesn't exist or can't be written to.
    pub fn prepare(name: &Path) -> Result<Self, FileError> {
        if is_standard(name) {
            return Ok(Destination { name: name.to_owned(), path: env::temp_dir().join(name) });
        }
        let fail = |reason: String| FileError::unwritable(name, reason);
        let there = fs::metadata(name);
        if let Ok(metadata) = &there {
            check(name, metadata)?;
        }
        let destination = Destination { name: name.to_owned(), path: resolve(name) };
        if destination.path.file_name().is_none() {
            return Err(fail("it names no file".to_owned()));
        }
        check_directory(name, &destination.path)?;
        if let Err(error) = there
            && error.kind() != ErrorKind::NotFound
        {
            return Err(destination.error(error));
        }
        destination.temporary()?;
        Ok(destination)
    }

    /// As it was named.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Returns true if `other` is the same file, even under another name.
    pub fn is(&self, other: &Path) -> bool {
        if is_standard(&self.name) || is_standard(other) {
            return self.name == other;
        }
        self.path == resolve(other) || identity(&self.path).is_some_and(|ours| identity(other) == Some(ours))
    }

    /// Creates a temporary file in the destination's directory, to be written and then
    /// [persisted](Destination::persist).
    ///
    /// # Errors
    /// The file can't be created.
    pub fn temporary(&self) -> Result<Temporary, FileError> {
        let mut builder = Builder::new();
        builder.prefix(".").suffix(".part");
        #[cfg(unix)]
        let replaced = fs::metadata(&self.path).ok();
        #[cfg(unix)]
        {
            use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
            // The permissions of the file that it replaces; otherwise those of any new file, less
            // the process's mask.
            let mode = replaced.as_ref().map_or(0o666, |replaced| replaced.mode() & 0o777);
            builder.permissions(fs::Permissions::from_mode(mode));
        }
        let mut list = temporaries();
        let made = builder.tempfile_in(directory(&self.path)).map_err(|error| self.error(error))?;
        let (file, path) = made.keep().map_err(|error| self.error(error.error))?;
        list.insert(path.clone());
        drop(list);
        let temporary = Temporary { file, path };
        #[cfg(unix)]
        if let Some(replaced) = replaced {
            use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
            // Only root may change the owner. The mask doesn't apply to inherited permissions.
            let _ = fchown(&temporary.file, Some(replaced.uid()), Some(replaced.gid()));
            let permissions = fs::Permissions::from_mode(replaced.mode() & 0o777);
            temporary.file.set_permissions(permissions).map_err(|error| self.error(error))?;
        }
        Ok(temporary)
    }

    /// The path of the incomplete file that survives an interruption: the destination's with
    /// `.partial` appended.
    pub fn partial_path(&self) -> PathBuf {
        // Messages have the user's name for it, unless it lies beside the target of a link.
        let path = if self.name.is_symlink() { &self.path } else { &self.name };
        let mut path = path.clone().into_os_string();
        path.push(".partial");
        path.into()
    }

    /// The path of a file in the same folder; for standard output, in that of temporary files.
    pub fn beside(&self, name: impl AsRef<Path>) -> PathBuf {
        directory(&self.path).join(name)
    }

    /// Locks the destination's folder against other processes that do so, until the result is
    /// dropped. The file itself is replaced as a whole, so a lock on it would be on one that is gone. Windows has no locks on
    /// folders.
    ///
    /// # Errors
    /// The folder can't be locked.
    pub fn lock_folder(&self) -> Result<Option<File>, FileError> {
        if cfg!(windows) {
            return Ok(None);
        }
        let folder = File::open(directory(&self.path));
        let locked = folder.and_then(|folder| match folder.lock() {
            Err(error) if error.kind() != io::ErrorKind::Unsupported => Err(error),
            // Lustre has locks only if mounted with `-o flock`.
            _ => Ok(folder),
        });
        locked.map(Some).map_err(|error| FileError::new(&self.name, format!("its folder can't be locked: {error}")))
    }

    /// Opens or creates the file at [`partial_path`](Destination::partial_path), and locks it. It
    /// remains until it is persisted.
    ///
    /// # Errors
    /// The file can't be created, or another process has it open. (File systems without locks don't
    /// tell.)
    pub fn partial(&self) -> Result<Temporary, FileError> {
        let path = self.partial_path();
        let file = File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(|error| FileError::unwritten(&path, error))?;
        lock(&file, &path)?;
        Ok(Temporary { file, path })
    }

    /// Opens the [partial](Destination::partial) file of another process, which shares it.
    ///
    /// # Errors
    /// The file can't be opened.
    pub fn shared_partial(&self) -> Result<Temporary, FileError> {
        let path = self.partial_path();
        let file = File::options().read(true).write(true).open(&path).map_err(|error| FileError::unwritten(&path, error))?;
        Ok(Temporary { file, path })
    }

    /// Writes a complete [temporary](Destination::temporary) file to the disk, and renames it to the
    /// destination: if the machine fails, the disk has the old file or the whole new one.
    ///
    /// # Errors
    /// Writing or renaming fails; the temporary file is then removed.
    pub fn persist(&self, file: Temporary) -> Result<(), FileError> {
        file.file.sync_all().map_err(|error| self.error(error))?;
        self.rename(file)
    }

    /// Renames a temporary file that is on the disk to the destination.
    fn rename(&self, file: Temporary) -> Result<(), FileError> {
        self.rename_in(&mut temporaries(), &file)
    }

    /// Renames a temporary file. While the list is locked, the file has one of its two names.
    fn rename_in(&self, list: &mut BTreeSet<PathBuf>, file: &Temporary) -> Result<(), FileError> {
        if is_standard(&self.name) {
            // The temporary file is removed on drop.
            let mut output = io::stdout().lock();
            let copied = File::open(&file.path).and_then(|mut file| io::copy(&mut file, &mut output));
            return copied.and_then(|_| output.flush()).map_err(|error| self.error(error));
        }
        fs::rename(&file.path, &self.path).map_err(|error| self.error(error))?;
        list.remove(&file.path);
        // Not all file systems can. The file is complete anyhow, under one of its names.
        #[cfg(unix)]
        let _ = File::open(directory(&self.path)).and_then(|folder| folder.sync_all());
        Ok(())
    }

    /// Writes the file with `write`, and renames it to the destination.
    ///
    /// # Errors
    /// The error of `write`, or the file can't be created, written or renamed.
    pub fn write(&self, write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> Result<(), FileError> {
        self.rename(self.written(write)?)
    }

    /// Writes a temporary file with `write`, to the disk.
    ///
    /// # Errors
    /// The error of `write`, or the file can't be created or written.
    pub fn written(&self, write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> Result<Temporary, FileError> {
        let file = self.temporary()?;
        let mut writer = BufWriter::new(&file.file);
        write(&mut writer)
            .and_then(|()| writer.flush())
            .and_then(|()| file.file.sync_all())
            .map_err(|error| self.error(error))?;
        drop(writer);
        Ok(file)
    }

    /// Renames files that are [written](Self::written). The first one's folder is locked meanwhile, so that it has the
    /// files of one of two processes that do so. A signal that ends this process waits, too.
    ///
    /// # Errors
    /// Locking the folder, or renaming fails.
    pub fn persist_all(files: &[(&Self, Temporary)]) -> Result<(), FileError> {
        let _lock = if files.len() > 1 { files[0].0.lock_folder()? } else { None };
        let mut list = temporaries();
        files.iter().try_for_each(|(destination, file)| destination.rename_in(&mut list, file))
    }

    /// Converts the system's error to one about this file.
    pub fn error(&self, error: io::Error) -> FileError {
        FileError::unwritten(&self.name, error)
    }
}

/// A temporary file. One with a random name is removed on drop; a [partial](Destination::partial)
/// one only after a call of [`goes`](Temporary::goes).
#[derive(Debug)]
pub struct Temporary {
    file: File,
    path: PathBuf,
}

impl Temporary {
    /// Also removes a partial file on drop. For files that don't have any results yet.
    pub fn goes(&self) {
        temporaries().insert(self.path.clone());
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Its name.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let mut list = temporaries();
        // A persisted file is no longer in the list.
        if list.remove(&self.path) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Keeps a [partial](Destination::partial) file from now on: the opposite of [`Temporary::goes`].
#[cfg(feature = "engine")]
pub(crate) fn keep(path: &Path) {
    temporaries().remove(path);
}

/// A folder for outputs. If this process made it and it is empty, dropping removes it.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    made: bool,
}

impl Folder {
    /// Makes the folder if it doesn't exist.
    ///
    /// # Errors
    /// The folder can't be made, or it is standard output.
    pub fn prepare(path: &Path) -> Result<Self, FileError> {
        if is_standard(path) {
            return Err(FileError::unwritable(path, "there are several files; name a folder"));
        }
        let made = !path.is_dir();
        if made {
            if let Ok(metadata) = fs::metadata(path) {
                check(path, &metadata)?;
            }
            check_directory(path, path)?;
            let mut list = temporaries();
            fs::create_dir(path).map_err(|error| FileError::unwritten(path, error))?;
            list.insert(path.to_owned());
        }
        Ok(Folder { path: path.to_owned(), made })
    }

    /// The folder's path, as the caller named it.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.made {
            temporaries().remove(&self.path);
            // Fails unless the folder is empty.
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// Removes all temporary files, and folders of this process that are then empty. Afterwards, creating or persisting one
/// blocks forever, so the process must end.
pub fn remove_temporaries() {
    remove_all(temporaries());
}

/// As [`remove_temporaries`], for a thread that may be creating or persisting one: then they stay. Takes no memory.
pub fn try_remove_temporaries() {
    TEMPORARY.try_lock().into_iter().for_each(remove_all);
}

fn remove_all(list: MutexGuard<'static, BTreeSet<PathBuf>>) {
    list.iter().for_each(|path| drop(fs::remove_file(path)));
    // Folders that are empty now.
    list.iter().for_each(|path| drop(fs::remove_dir(path)));
    mem::forget(list);
}

fn temporaries() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Checks that an existing file can be replaced.
fn check(name: &Path, metadata: &Metadata) -> Result<(), FileError> {
    let fail = |reason: &str| Err(FileError::unwritable(name, reason));
    let kind = metadata.file_type();
    if kind.is_dir() {
        return fail("it is a directory");
    }
    if !kind.is_file() {
        // A rename would replace it by a file.
        return fail(&format!("it is {}, not a file", special(kind)));
    }
    if is_printed_to(name) {
        return fail("it is what this command prints to");
    }
    // A rename ignores this permission, and root may write to any file.
    if metadata.permissions().readonly() {
        return fail("it is read-only");
    }
    File::options().write(true).open(name).map(drop).map_err(|error| FileError::unwritten(name, error))
}

/// Names the kind of a path that is not a file.
fn special(kind: fs::FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        match () {
            () if kind.is_fifo() => return "a pipe",
            () if kind.is_socket() => return "a socket",
            () if kind.is_char_device() || kind.is_block_device() => return "a device",
            () => {}
        }
    }
    let _ = kind;
    "something else"
}

/// Returns a file's identity, independent of its names: device and inode.
fn identity(path: &Path) -> Option<(u64, u64)> {
    identity_of(&fs::metadata(path).ok()?)
}

fn identity_of(metadata: &Metadata) -> Option<(u64, u64)> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        Some((metadata.dev(), metadata.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        None
    }
}

/// Returns true if stdout or stderr is this file.
fn is_printed_to(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::{fd::AsFd as _, unix::fs::MetadataExt as _};
        let printed = [io::stdout().as_fd().try_clone_to_owned(), io::stderr().as_fd().try_clone_to_owned()];
        printed.into_iter().flatten().any(|printed| {
            let metadata = File::from(printed).metadata().ok();
            metadata.is_some_and(|metadata| identity(path) == Some((metadata.dev(), metadata.ino())))
        })
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// Returns the directory of a file.
fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."))
}

/// Checks that the directory of an output exists.
fn check_directory(name: &Path, path: &Path) -> Result<(), FileError> {
    let directory = directory(path);
    let missing = || FileError::unwritable(name, format_args!("there is no directory {}", directory.display()));
    directory.is_dir().then_some(()).ok_or_else(missing)
}

/// Follows the links of a path. The file need not exist yet.
fn resolve(path: &Path) -> PathBuf {
    if let Ok(path) = fs::canonicalize(path) {
        return path;
    }
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        let Ok(target) = fs::read_link(&path) else { break };
        path = directory(&path).join(target);
    }
    match (fs::canonicalize(directory(&path)), path.file_name()) {
        (Ok(directory), Some(name)) => directory.join(name),
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::chain;

    /// As while a child of this process begins.
    #[test]
    fn locks_that_end_soon_are_waited_for() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let other = File::open(file.path()).unwrap();
        other.lock().unwrap();
        assert!(lock(file.as_file(), file.path()).unwrap_err().to_string().ends_with("another process is writing it"));
        let holder = thread::spawn(|| {
            thread::sleep(Duration::from_millis(40));
            drop(other);
        });
        lock(file.as_file(), file.path()).unwrap();
        holder.join().unwrap();
    }

    #[test]
    fn whole_or_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        let files = || fs::read_dir(&directory).unwrap().count();
        let path = directory.path().join("x");
        let destination = Destination::prepare(&path).unwrap();
        assert_eq!(files(), 0, "preparing leaves nothing");
        assert!(destination.is(&directory.path().join("./x")) && !destination.is(&directory.path().join("y")));
        let file = destination.temporary().unwrap();
        file.file().write_all(b"whole").unwrap();
        assert!(files() == 1 && !path.exists() && temporaries().contains(file.path()));
        destination.persist(file).unwrap();
        assert_eq!((files(), fs::read(&path).unwrap()), (1, b"whole".to_vec()));

        let file = destination.temporary().unwrap();
        file.file().write_all(b"ha").unwrap();
        let name = file.path().to_owned();
        drop(file);
        assert!(!temporaries().contains(&name));
        assert_eq!((files(), fs::read(&path).unwrap()), (1, b"whole".to_vec()));
        assert!(destination.is(&path) && !destination.is(directory.path()));

        let error = destination.write(|file| file.write_all(b"ha").and(Err(ErrorKind::StorageFull.into()))).unwrap_err();
        assert_eq!((error.path(), error.io_error().unwrap().kind()), (&*path, ErrorKind::StorageFull));
        assert_eq!(error.to_string(), format!("{} can't be written", path.display()));
        assert_eq!(chain(&error), format!("{error}: no storage space"));
        assert_eq!((files(), fs::read(&path).unwrap()), (1, b"whole".to_vec()));
        destination.write(|file| write!(file, "new")).unwrap();
        assert_eq!((files(), fs::read(&path).unwrap()), (1, b"new".to_vec()));
    }

    #[test]
    #[cfg(unix)]
    fn links_are_followed() {
        use std::os::unix::fs::symlink;
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("x"), "old").unwrap();
        fs::create_dir(at("sub")).unwrap();
        for (link, target) in
            [("link", "x"), ("there", "link"), ("dangling", "sub/new"), ("to-it", "dangling"), ("no", "sub/no/y")]
        {
            symlink(target, at(link)).unwrap();
        }
        for (link, target) in [("link", "x"), ("there", "x"), ("dangling", "sub/new"), ("to-it", "sub/new")] {
            let destination = Destination::prepare(&at(link)).unwrap();
            assert!(destination.is(&at(target)) && destination.name() == at(link), "{link}");
            assert!(!destination.is(&at("other")));
            destination.write(|file| write!(file, "by {link}")).unwrap();
            assert_eq!(fs::read_to_string(at(target)).unwrap(), format!("by {link}"));
            assert!(at(link).is_symlink() && !at(target).is_symlink());
            assert!(destination.is(&at(target)));
        }
        assert!(Destination::prepare(&at("no")).unwrap_err().to_string().contains(" can't be written: there is no directory "));
        symlink("loop", at("loop")).unwrap();
        let error = Destination::prepare(&at("loop")).unwrap_err();
        assert!(chain(&error).ends_with(" can't be written: too many levels of symbolic links"));
        assert!(at("loop").is_symlink());
    }

    #[test]
    #[cfg(unix)]
    fn permissions_stay() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        let set = |mode: u32| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        fs::write(&path, "").unwrap();
        for wanted in [0o600, 0o666, 0o755, 0o200] {
            set(wanted);
            let destination = Destination::prepare(&path).unwrap();
            let file = destination.temporary().unwrap();
            assert_eq!(mode(file.path()), wanted, "nobody else reads it meanwhile");
            destination.persist(file).unwrap();
            assert_eq!(mode(&path), wanted);
        }
        // For root, too.
        set(0o444);
        assert!(Destination::prepare(&path).unwrap_err().to_string().ends_with(" can't be written: it is read-only"));
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
    }
}

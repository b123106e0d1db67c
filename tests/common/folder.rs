//! A folder for tests to run the program in.

use std::{fs, path::PathBuf, process::Output};

use assert_cmd::{Command, cargo::cargo_bin};
use ndarray::{ArrayD, aview1};
use ndarray_npy::{ReadableElement, WritableElement, read_npy, write_npy};
use serde_json::Value;
use tempfile::{TempDir, tempdir};

/// A test's own folder, with the command of `warpsmith` to run in it if that is always the same.
pub struct Folder {
    pub directory: TempDir,
    command: &'static str,
}

impl Folder {
    /// Creates an empty folder.
    pub fn of(command: &'static str) -> Self {
        Folder { directory: tempdir().unwrap(), command }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Writes a square sparse matrix of 4,000 rows, `m.mtx`.
    #[allow(dead_code, reason = "not all commands multiply")]
    pub fn with_matrix(self) -> Self {
        let n = 4000;
        let entries: Vec<_> =
            (1..=n).flat_map(|row| [row, (row * 7) % n + 1, (row * 31 + 5) % n + 1].map(|column| (row, column))).collect();
        let lines: String = entries.iter().map(|(row, column)| format!("{row} {column} 1.5\n")).collect();
        self.write("m.mtx", &format!("%%MatrixMarket matrix coordinate real general\n{n} {n} {}\n{lines}", entries.len()));
        self
    }

    pub fn files(&self) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(&self.directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub fn run(&self, arguments: &str) -> Output {
        self.run_each(arguments.split_whitespace())
    }

    pub fn run_each<'a>(&'a self, arguments: impl IntoIterator<Item = &'a str>) -> Output {
        let arguments = self.command.split_whitespace().chain(arguments);
        // So wide that tables are in one piece.
        Command::new(cargo_bin!("warpsmith")).env("COLUMNS", "200").current_dir(&self.directory).args(arguments).output().unwrap()
    }

    /// Runs a script of the shell. Its `"$0"` is the program.
    #[allow(dead_code, reason = "not all tests limit what the program may use")]
    pub fn shell(&self, script: &str) -> Output {
        Command::new("sh").args(["-c", script]).arg(cargo_bin!("warpsmith")).current_dir(&self.directory).output().unwrap()
    }

    #[allow(dead_code, reason = "not all commands have arrays")]
    pub fn read<T: ReadableElement>(&self, name: &str) -> ArrayD<T> {
        read_npy(self.path(name)).unwrap()
    }

    /// Reads an array of one dimension.
    #[allow(dead_code, reason = "not all commands have arrays")]
    pub fn numbers<T: ReadableElement + Clone>(&self, name: &str) -> Vec<T> {
        self.read(name).into_raw_vec_and_offset().0
    }

    /// Writes an array of one dimension.
    #[allow(dead_code, reason = "not all commands have arrays")]
    pub fn write_numbers<T: WritableElement>(&self, name: &str, values: &[T]) {
        write_npy(self.path(name), &aview1(values)).unwrap();
    }

    /// Returns stdout of a run that succeeds with an empty stderr.
    #[track_caller]
    pub fn good(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        assert_eq!((output.status.code(), &*text(&output.stderr)), (Some(0), ""), "{arguments}");
        text(&output.stdout)
    }

    /// As [`good`](Self::good), but for a warning on stderr if there is to be one.
    #[allow(dead_code, reason = "not all commands warn")]
    #[track_caller]
    pub fn warned(&self, arguments: &str, warned: bool) -> String {
        let output = self.run(arguments);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{arguments}: {stderr}");
        assert!(if warned { stderr.starts_with("warning: ") } else { stderr.is_empty() }, "{arguments}: {stderr}");
        text(&output.stdout)
    }

    #[allow(dead_code, reason = "not all tests look at it")]
    #[track_caller]
    pub fn json(&self, arguments: &str) -> Value {
        let text = self.good(&format!("{arguments} --json"));
        let value: Value = serde_json::from_str(&text).unwrap();
        // `Value` drops the first of two equal keys.
        let keys = |text: &str| text.matches("\":").count();
        assert_eq!(keys(&text), keys(&value.to_string()), "{text}");
        value
    }

    /// Returns stdout of a run with a wrong result: exit code 1, and `sentence` on stderr.
    #[allow(dead_code, reason = "not all commands verify")]
    #[track_caller]
    pub fn wrong(&self, arguments: &str, sentence: &str) -> String {
        let output = self.run(arguments);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments}: {stderr}");
        assert!(stderr.starts_with("error: verification failed: ") && stderr.contains(sentence), "{arguments}: {stderr}");
        text(&output.stdout)
    }

    /// Checks a run that fails with exit code 2, prints `sentence` to stderr and leaves the files
    /// unchanged.
    #[track_caller]
    pub fn bad(&self, arguments: &str, sentence: &str) {
        let before = self.files();
        let output = self.run(arguments);
        let stderr = text(&output.stderr);
        assert_eq!((output.status.code(), &*text(&output.stdout)), (Some(2), ""), "{arguments}: {stderr}");
        assert!(stderr.starts_with("error: ") && stderr.contains(sentence), "{arguments}: {stderr}\nlacks: {sentence}");
        assert_eq!(self.files(), before, "{arguments}");
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Checks that a text has all of these parts.
#[allow(dead_code, reason = "not all tests look for several")]
#[track_caller]
pub fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{text}\nlacks: {part}");
    }
}

//! Invalid files for every command that reads: endless ones, pipes, and archives that unpack to
//! more than the memory holds.

use std::{
    fs::{self, File},
    os::unix::fs::symlink,
    process::{Command, Output},
    time::{Duration, Instant},
};

use assert_cmd::cargo::cargo_bin;
use tempfile::{TempDir, tempdir};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

/// Far longer than any of these takes, on a busy machine, too: a pipe is handed on in small pieces.
const LONGEST: Duration = Duration::from_secs(600);

/// Runs a script with at most this many MiB of address space. `$W` in it is the program.
fn run(folder: &TempDir, mebibytes: usize, script: &str) -> Output {
    let script = format!("ulimit -v {}; {script}", mebibytes << 10);
    let start = Instant::now();
    let mut command = Command::new("timeout");
    let command = command.arg(LONGEST.as_secs().to_string()).args(["sh", "-c", &script]).current_dir(folder);
    let output = command.env("W", cargo_bin!("warpsmith")).env("WARPSMITH_BACKEND", "cpu").output().unwrap();
    assert!(start.elapsed() < LONGEST, "{script} hangs");
    output
}

/// A run that fails with exit code 2 and a sentence.
#[track_caller]
fn bad(folder: &TempDir, script: &str, sentence: &str) {
    bad_within(folder, 512, script, sentence);
}

/// The same, with this many MiB of addresses.
#[track_caller]
fn bad_within(folder: &TempDir, mebibytes: usize, script: &str, sentence: &str) {
    let output = run(folder, mebibytes, script);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{script}: {stderr}");
    assert!(stderr.starts_with("error: ") && stderr.contains(sentence), "{script}: {stderr}\nlacks: {sentence}");
}

/// Every command that reads text, with the file in the place of FILE, and the file's extension.
const TEXTS: &[(&str, &str)] = &[
    ("pcf info FILE", "csv"),
    ("pcf convert FILE --output out.npz", "csv"),
    ("pcf convert FILE --repair --output out.npz", "csv"),
    ("pcf convert FILE --dtype f32 --output out.npz", "csv"),
    ("pcf betti FILE --output out.npz", "csv"),
    ("overlap total FILE", "csv"),
    ("overlap total poses.csv --against FILE", "csv"),
    ("overlap total poses.csv --shape FILE", "json"),
    ("overlap total poses.csv --shape FILE", "svg"),
    ("overlap total poses.csv --shape FILE", "wkt"),
    ("rules explore spmv --ranks 2 --matrix FILE --output out.csv", "mtx"),
    ("rules explore halo --platform sim --ranks 2 --machine FILE --output out.csv", "json"),
    ("rules learn FILE", "csv"),
];

/// A script that runs a command, with a pipe in the place of a file into which another one writes.
fn piped(file: &str, writer: &str, command: &str) -> String {
    let start = format!("rm -f {file}; mkfifo {file}; {{ exec > {file}; {writer}; }} >/dev/null 2>&1 & writer=$!");
    format!("{start}; $W {command}; code=$?; kill $writer 2>/dev/null; exit $code")
}

fn folder() -> TempDir {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("poses.csv"), "x,y,theta\n0,0,0\n").unwrap();
    folder
}

#[test]
fn without_end() {
    let folder = folder();
    for extension in ["csv", "json", "svg", "wkt", "mtx"] {
        symlink("/dev/zero", folder.path().join(format!("z.{extension}"))).unwrap();
    }
    for (command, extension) in TEXTS {
        let sentence =
            if matches!(*extension, "csv" | "mtx") { "line 1: it is longer than 16 MiB" } else { "is longer than 16 MiB" };
        bad(
            &folder,
            &format!("$W {}", command.replace("FILE", &format!("z.{extension}"))),
            &format!("z.{extension}: {sentence}"),
        );
    }
    for (command, sentence) in [
        ("list-rank --input z.npy", "z.npy: is not a .npy file"),
        ("pcf info z.npz", "z.npz: is not a file: an archive can't be read from a pipe or a device"),
        ("pcf plot z.npy --output out.png", "z.npy: is not a .npy file"),
    ] {
        for extension in ["npy", "npz"] {
            let _ = symlink("/dev/zero", folder.path().join(format!("z.{extension}")));
        }
        bad(&folder, &format!("$W {command}"), sentence);
    }
}

/// A pipe can be read once: what is wrong with a line is said without another look at it.
#[test]
fn pipes() {
    let folder = folder();
    for (command, text, sentence) in [
        ("pcf info p.csv", "function,t,v\\n0,0,1\\n\\n0,x,1\\n", "p.csv: line 4: column `t`: `x` is not a number"),
        (
            "pcf convert p.csv --dtype f32 --output out.npz",
            "function,t,v\\n0,0,1\\n0,0,1\\n",
            "p.csv: line 3: function 0, breakpoint 1",
        ),
        (
            "pcf convert p.csv --dtype f32 --output out.npz",
            "function,t,v\\n0,0,1e60\\n",
            "p.csv: function 0, breakpoint 0: v = 1e60 is",
        ),
        ("pcf betti p.csv --output out.npz", "birth,death\\n\\n2,1\\n", "p.csv: line 3: bar 0"),
        ("overlap total p.csv", "x,y,theta\\n\\n\\n0,0,z\\n", "p.csv: line 4: column `theta`"),
        ("rules learn p.csv", "hello\\n", "p.csv: it is not a file of runs"),
    ] {
        bad(&folder, &piped("p.csv", &format!("printf '{text}'"), command), sentence);
    }
    // A valid file can be read from a pipe.
    let convert = "pcf convert p.csv --dtype f32 --output out.csv && cat out.csv";
    let output = run(&folder, 512, &piped("p.csv", "printf 'function,t,v\\n0,0,1\\n'", convert));
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().last(), Some("0,0.0,1.0"), "{output:?}");
    // So can the standard input, whatever it holds.
    for (text, command, last) in [
        ("t,v\\n0,1\\n", "pcf convert - --output out.csv && cat out.csv", "0,0.0,1.0"),
        ("0 inf\\n", "pcf betti - --output out.csv && cat out.csv", "0,0.0,1.0"),
        ("[[0, null]]", "pcf betti - --output out.csv && cat out.csv", "0,0.0,1.0"),
        ("7 9\\n", "graph components - --output out.csv && cat out.csv", "9,7"),
        ("7;9\\n", "graph components - --output out.csv && cat out.csv", "9,7"),
        ("p sp 2 1\\na 1 2 1\\n", "graph components - --output out.csv && cat out.csv", "2,1"),
    ] {
        let output = run(&folder, 512, &format!("printf '{text}' | gzip | $W {command}"));
        assert_eq!(String::from_utf8_lossy(&output.stdout).lines().last(), Some(last), "{command}: {output:?}");
    }
}

/// Rows that are right, one after the other for ever: no more are kept than there is memory for.
#[test]
fn rows_without_end() {
    let folder = folder();
    for (command, file, head, row) in [
        ("overlap total p.csv", "p.csv", "x,y,theta", "0,0,0"),
        ("pcf betti p.csv --output out.npz", "p.csv", "birth,death", "0,1"),
        (
            "rules explore spmv --ranks 2 --matrix p.mtx --output out.csv",
            "p.mtx",
            "%%MatrixMarket matrix coordinate real general\n9 9 4000000000",
            "1 1 1",
        ),
    ] {
        let script = piped(file, &format!("echo '{head}'; yes '{row}'"), command);
        // Little, so that it is soon used up.
        bad_within(&folder, 224, &script, "can't be read: it takes more memory than there is (");
    }
}

/// 2 GiB of zeros, in 2 MB.
#[test]
fn archives() {
    let folder = folder();
    let mut zip = ZipWriter::new(File::create(folder.path().join("a.npz")).unwrap());
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated).large_file(true);
    zip.start_file("offsets.npy", options).unwrap();
    let header = format!("{{'descr': '<i8', 'fortran_order': False, 'shape': ({},), }}\n", 1u64 << 27);
    let start = [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes()].concat();
    std::io::Write::write_all(&mut zip, &start).unwrap();
    std::io::copy(&mut std::io::Read::take(std::io::repeat(0), 1 << 30), &mut zip).unwrap();
    zip.finish().unwrap();
    let size = fs::metadata(folder.path().join("a.npz")).unwrap().len();
    assert!(size < 2 << 20);
    let output = run(&folder, 512, "$W pcf info a.npz");
    let stderr = String::from_utf8_lossy(&output.stderr);
    let sentence = format!("error: a.npz: array `offsets`: unpacks to {} bytes, and at most {} are read", 1u64 << 30, 100 * size);
    assert!(output.status.code() == Some(2) && stderr.starts_with(&sentence), "{stderr}\n{sentence}");
}

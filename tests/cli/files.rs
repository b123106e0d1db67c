//! Files of all commands: no input is destroyed, and incomplete outputs leave nothing behind.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::{PermissionsExt as _, symlink},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use assert_cmd::cargo::cargo_bin;

use crate::folder::{Folder, text};

const L: &str = "{\"type\": \"Polygon\", \"coordinates\": [[[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2], [0, 0]]]}";

/// One file of each kind that commands read, and some of other names.
pub fn folder() -> Folder {
    let folder = Folder::of("").with_matrix();
    folder.write("p.csv", "x,y,theta\n0,0,0\n0.5,0.5,0\n");
    folder.write("l.json", L);
    folder.write("bars.csv", "birth,death\n0,1\n");
    folder.good("pcf random --count 5 --points 4 --output a.npz");
    folder.good("pcf random --count 5 --points 4 --output b.npy");
    folder.good("pcf l2-kernel a.npz --output k.npy");
    folder.good("list-rank --n 100 --order next.npy");
    folder.good("rules explore spmv --platform sim --matrix m.mtx --search mcts --iterations 110 --output runs.csv");
    folder.good("rules explore spmv --platform sim --matrix m.mtx --iterations 3 --seed 1 --output few.csv");
    folder.write("machine.json", &serde_json::to_string(&warpsmith::design_rules::sim::Machine::h200_node()).unwrap());
    for (link, target) in [("to-p.svg", "p.csv"), ("to-l.csv", "l.json"), ("to-a.npy", "a.npz"), ("to-new.csv", "new.svg")] {
        symlink(target, folder.path(link)).unwrap();
    }
    for (link, target) in [("hard.npy", "b.npy"), ("hard.svg", "l.json")] {
        fs::hard_link(folder.path(target), folder.path(link)).unwrap();
    }
    folder
}

/// Returns the contents of all files.
fn contents(folder: &Folder) -> Vec<(String, Vec<u8>)> {
    folder.files().into_iter().map(|name| (name.clone(), fs::read(folder.path(&name)).unwrap_or_default())).collect()
}

#[test]
fn a_result_on_stdout_is_the_file() {
    let folder = folder();
    let before = folder.files();
    for (command, extension) in [
        ("graph components m.mtx", "csv"),
        ("list-rank --n 100", "npy"),
        ("overlap pairs p.csv", "csv"),
        ("pcf convert a.npz", "csv"),
        ("pcf pdist a.npz", "csv"),
        ("rules draw spmv", "svg"),
    ] {
        let output = folder.run(&format!("{command} --output -"));
        let (stderr, code) = (text(&output.stderr), output.status.code());
        assert!(code == Some(0) && stderr.contains("Written: -"), "{command}: {stderr}");
        let name = format!("x.{extension}");
        folder.good(&format!("{command} --output {name}"));
        assert_eq!(output.stdout, fs::read(folder.path(&name)).unwrap(), "{command}");
        fs::remove_file(folder.path(&name)).unwrap();
    }
    folder.good("list-rank --n 100 --gpus 2 --backend cpu --output x.npy");
    assert_eq!(folder.run("list-rank --n 100 --gpus 2 --backend cpu --output -").stdout, fs::read(folder.path("x.npy")).unwrap());
    fs::remove_file(folder.path("x.npy")).unwrap();
    // It shows no size.
    let shown = text(&folder.run("pcf pdist a.npz --output -").stderr);
    assert!(shown.contains("Written: -\n"), "{shown}");
    folder.bad("list-rank --n 100 --output - --order -", "error: - can't be written: it is to be written twice");
    folder.bad("overlap pack --count 2 --steps 10 --output -", "beside the output until it is complete");
    folder.bad("overlap pack --counts 1..2 --steps 10 --submission -", "-: a submission is written again");
    assert_eq!(folder.files(), before);
}

#[test]
fn no_output_is_an_input_or_another_output() {
    let folder = folder();
    let before = contents(&folder);
    for (command, name) in [
        ("list-rank --input next.npy --output next.npy", "next.npy"),
        ("list-rank --input next.npy --output ./next.npy", "./next.npy"),
        ("list-rank --input b.npy --weights next.npy --output hard.npy", "hard.npy"),
        ("list-rank --input next.npy --output x.npy --order ./x.npy", "./x.npy"),
        ("pcf convert b.npy --output hard.npy", "hard.npy"),
        ("pcf mean a.npz --output to-a.npy", "to-a.npy"),
        ("pcf betti bars.csv --output bars.csv", "bars.csv"),
        ("pcf pdist a.npz --output to-a.npy", "to-a.npy"),
        ("pcf cdist a.npz b.npy --output hard.npy", "hard.npy"),
        ("pcf cdist a.npz b.npy --trace hard.npy --output x.npy", "hard.npy"),
        ("pcf l2-kernel a.npz --trace x.npy --output x.npy", "x.npy"),
        ("overlap pairs p.csv --shape l.json --output l.json", "l.json"),
        ("overlap total p.csv --shape l.json --output to-l.csv", "to-l.csv"),
        ("overlap gradient p.csv --against p.csv --output p.csv", "p.csv"),
        ("overlap plot p.csv --shape l.json --output hard.svg", "hard.svg"),
        ("overlap plot p.csv --output to-p.svg", "to-p.svg"),
        ("overlap pack --count 2 --shape l.json --output to-l.csv", "to-l.csv"),
        ("overlap pack --count 2 --output to-new.csv --plot new.svg", "new.svg"),
        ("rules explore spmv --platform sim --matrix m.mtx --output m.mtx", "m.mtx"),
        ("rules explore spmv --platform sim --matrix m.mtx --machine machine.json --output machine.json", "machine.json"),
        ("rules report runs.csv --output runs.csv", "runs.csv"),
        ("rules study runs.csv --plot hard.svg --judge l.json", "hard.svg"),
    ] {
        folder.bad(command, &format!("error: {name} can't be written: it is to be "));
        assert!(contents(&folder) == before, "{command}");
    }
}

/// In the folder of temporary files, too.
#[test]
fn standard_input_is_not_standard_output() {
    let mut child = Command::new(cargo_bin!("warpsmith"))
        .args(["graph", "components", "-", "--output", "-"])
        .current_dir(std::env::temp_dir())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"0 1\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && !output.stdout.is_empty());
}

/// A matrix whose name is that of unfinished runs.
#[test]
fn what_lies_beside_an_output_is_no_one_elses_file() {
    let folder = Folder::of("").with_matrix();
    fs::copy(folder.path("m.mtx"), folder.path("q.csv.partial")).unwrap();
    let explore = "rules explore spmv --platform sim --iterations 3 --force --output q.csv";
    folder.write("q.csv", "as it was");
    let before = contents(&folder);
    folder.bad(&format!("{explore} --matrix q.csv.partial"), "q.csv.partial can't be written: it is to be read");
    folder.bad(&format!("{explore} --matrix m.mtx"), "q.csv.partial is there: ");
    folder.write("p.partial.csv", "x,y,theta\n0,0,0\n");
    folder.bad("overlap pack --count 1 --steps 9 --output p.csv", "p.partial.csv is there: ");
    fs::remove_file(folder.path("p.partial.csv")).unwrap();
    assert!(contents(&folder) == before);
}

#[test]
fn a_file_that_is_replaced_keeps_its_permissions() {
    let folder = Folder::of("");
    let write = "pcf random --count 3 --points 4 --seed";
    let mode = |name: &str| fs::metadata(folder.path(name)).unwrap().permissions().mode() & 0o777;
    let set = |mode: u32| fs::set_permissions(folder.path("a.csv"), fs::Permissions::from_mode(mode)).unwrap();
    for wanted in [0o600, 0o664] {
        folder.write("a.csv", "old");
        set(wanted);
        folder.good(&format!("{write} 1 --output a.csv"));
        assert_eq!(mode("a.csv"), wanted);
    }
    set(0o444);
    let before = contents(&folder);
    folder.bad(&format!("{write} 2 --output a.csv"), "a.csv can't be written: it is read-only");
    assert!(contents(&folder) == before && mode("a.csv") == 0o444);

    fs::create_dir(folder.path("sub")).unwrap();
    symlink("sub/b.csv", folder.path("link.csv")).unwrap();
    folder.good(&format!("{write} 1 --output link.csv"));
    assert_eq!(fs::read(folder.path("sub/b.csv")).unwrap(), fs::read(folder.path("a.csv")).unwrap());
    assert!(folder.path("link.csv").is_symlink());
}

/// Outputs that aren't files, or that the command itself prints to.
#[test]
fn no_place_for_a_file() {
    let folder = folder();
    let made = Command::new("mkfifo").arg(folder.path("pipe.html")).status().unwrap();
    assert!(made.success());
    for (name, reason) in [
        ("pipe.html", "it is a pipe, not a file"),
        ("/dev/null", "it is a device, not a file"),
        ("/dev/stdout", "it is a pipe, not a file"),
        ("no/r.html", "there is no directory no"),
        (".", "it is a directory"),
    ] {
        let started = Instant::now();
        folder.bad(&format!("rules report runs.csv --output {name}"), &format!("{name} can't be written: {reason}"));
        assert!(started.elapsed() < Duration::from_secs(60), "{name}");
    }
    fs::write(folder.path("out.html"), "kept\n").unwrap();
    for name in ["/dev/stdout", "/dev/fd/1", "out.html"] {
        let out = fs::File::options().append(true).open(folder.path("out.html")).unwrap();
        let output = Command::new(cargo_bin!("warpsmith"))
            .args(["rules", "report", "runs.csv", "--output", name])
            .current_dir(&folder.directory)
            .stdout(out)
            .output()
            .unwrap();
        let expected = format!("error: {name} can't be written: it is what this command prints to\n");
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(2), expected));
        assert_eq!(fs::read_to_string(folder.path("out.html")).unwrap(), "kept\n");
    }
}

/// A folder keeps all of its arrays if the disk has room for some of the new ones only.
#[test]
#[cfg(unix)]
fn a_folder_s_arrays_are_replaced_together() {
    let folder = Folder::of("");
    // A bridge to a circle of 20,000 vertices: one number, and 20,001.
    let circle = |n: usize| (0..n).map(|i| format!("{i} {}\n", (i + 1) % n)).collect::<String>() + &format!("0 {n}\n");
    folder.write("small.txt", &circle(3));
    folder.write("large.txt", &circle(20_000));
    folder.good("graph bridges small.txt --output arrays");
    let read = || ["bridges", "labels"].map(|name| std::fs::read(folder.path(&format!("arrays/{name}.npy"))).unwrap());
    let before = read();
    let output = folder.shell("ulimit -f 32; exec \"$0\" graph bridges large.txt --output arrays");
    let error = "error: arrays/labels.npy can't be written: file too large\n";
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(2), error.to_owned()));
    assert!(read() == before && std::fs::read_dir(folder.path("arrays")).unwrap().count() == 2);
}

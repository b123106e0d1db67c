//! Drafts of programs' files.

use std::fs;

use warpsmith::design_rules::{Dag, program::Draft};

use crate::folder::Folder;

const EXPORT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/nsys.sqlite");

/// The step that tests/data/nsys.sql has, three times.
const DRAFT: &str = r#"{"name": "nsys",
 "comment": "Drafted from nsys.sqlite. Each `after` is a guess by the order that was observed: keep it only if data, messages or resources require it.",
 "operations": [
    {"name": "pack", "kind": "gpu",
     "comment": "10.0 µs in stream 13."},
    {"name": "MPI_Irecv", "kind": "cpu",
     "comment": "1.0 µs."},
    {"name": "inner_float__32", "kind": "gpu", "after": ["pack"],
     "comment": "40.0 µs in stream 7. Guesses: after pack (had ended)."},
    {"name": "MPI_Isend", "kind": "cpu", "after": ["pack", "MPI_Irecv"],
     "comment": "2.0 µs. Guesses: after pack (had ended), MPI_Irecv (the call before)."},
    {"name": "MPI_Waitall", "kind": "cpu", "after": ["MPI_Isend"],
     "comment": "28.0 µs. Guesses: after MPI_Isend (the call before)."},
    {"name": "outer", "kind": "gpu", "after": ["inner_float__32", "MPI_Waitall"],
     "comment": "20.0 µs in stream 13. Guesses: after inner_float__32 (had ended), MPI_Waitall (the host had received)."},
    {"name": "ncclAllReduce", "kind": "gpu", "after": ["outer"],
     "comment": "8.0 µs in stream 13. Guesses: after outer (in the same stream)."},
    {"name": "CopyToHost", "kind": "gpu", "after": ["ncclAllReduce"],
     "comment": "1.0 µs in stream 13. Guesses: after ncclAllReduce (in the same stream)."}
]}
"#;

#[test]
fn a_profile_becomes_a_program() {
    let folder = Folder::of("rules");
    let said = folder.good(&format!("init {EXPORT} --output nsys.json"));
    assert_eq!(said, "Written: nsys.json, 8 operations\n8 dependences are guesses: remove those that nothing requires.\n");
    assert_eq!(fs::read_to_string(folder.path("nsys.json")).unwrap(), DRAFT);
    // The last range is the last period.
    folder.good(&format!("init {EXPORT} --range step --output nsys.json --force"));
    assert_eq!(fs::read_to_string(folder.path("nsys.json")).unwrap(), DRAFT);
    assert!(folder.good("check nsys.json").starts_with("nsys: 8 operations"));
    assert!(folder.good("count nsys.json").contains("nsys"));
    folder.bad(&format!("init {EXPORT} --output nsys.json"), "nsys.json exists: replace it with --force");
    folder.bad(&format!("init {EXPORT} --output nsys.txt"), "ends in .json");
    folder.bad(
        &format!("init {EXPORT} --range Step --output b.json"),
        "nsys.sqlite: has no NVTX range `Step`: it has `ncclAllReduce`, `step`",
    );
    folder.bad("init nsys.json --output b.json", "nsys.json: is not an SQLite database");
    folder.bad("init none.sqlite --output b.json", "none.sqlite: can't be read");
    folder.bad("init --range step --output b.json", "EXPORT.sqlite");
}

#[test]
fn operations_that_end_before_they_start() {
    let folder = Folder::of("rules");
    let mut bytes = fs::read(EXPORT).unwrap();
    // A kernel from 5,000 to 9,000 ns.
    let (ends, turned) = ([0x13, 0x88, 0x23, 0x28], [0x23, 0x28, 0x13, 0x88]);
    let places: Vec<_> = (0..bytes.len() - 4).filter(|&at| bytes[at..at + 4] == ends).collect();
    assert!(!places.is_empty());
    places.into_iter().for_each(|at| bytes[at..at + 4].copy_from_slice(&turned));
    fs::write(folder.path("bad.sqlite"), &bytes).unwrap();
    folder.bad(
        "init bad.sqlite --output b.json",
        "bad.sqlite: table `CUPTI_ACTIVITY_KIND_KERNEL`: an operation ends at 5000 ns, before it starts at 9000 ns",
    );
}

/// Whatever happened to a file, it is refused or read.
#[test]
fn damaged_exports_are_refused() {
    let folder = Folder::of("rules");
    let bytes = fs::read(EXPORT).unwrap();
    let path = folder.path("bad.sqlite");
    for length in (0..bytes.len()).step_by(97) {
        fs::write(&path, &bytes[..length]).unwrap();
        let error = Draft::from_nsys(&path, None).unwrap_err().to_string();
        assert!(
            error.contains("bad.sqlite: ") && (error.contains("damaged") || error.contains("not an SQLite")),
            "{length}: {error}"
        );
    }
    // One byte in seven; the masks take turns.
    for place in (0..bytes.len()).step_by(7) {
        let mut bytes = bytes.clone();
        bytes[place] ^= [0xff, 0x01, 0x80][place % 3];
        fs::write(&path, &bytes).unwrap();
        _ = Draft::from_nsys(&path, None);
    }
}

/// Comments may be in all parts of a program's file.
#[test]
fn programs_have_comments() {
    let folder = Folder::of("rules");
    let text = |comment: &str| {
        format!(
            r#"{{{comment}"operations": [
                {{{comment}"name": "a", "kind": "gpu"}},
                {{{comment}"name": "c", "after": ["a"], "alternatives": [
                    {{{comment}"name": "x", "kind": "cpu"}},
                    {{{comment}"name": "y", "operations": [{{{comment}"name": "p", "kind": "gpu"}}]}}
                ]}}
            ]}}"#
        )
    };
    folder.write("with.json", &text(r#""comment": "a text", "#));
    folder.write("without.json", &text(""));
    let [with, without] = ["with.json", "without.json"].map(|name| Dag::read(&folder.path(name)).unwrap().signature());
    assert_eq!(with, without);
    // The orders of the program in clients/cpp/jacobi follow from its data.
    let jacobi = concat!(env!("CARGO_MANIFEST_DIR"), "/../../clients/cpp/jacobi/jacobi.json");
    assert_eq!(folder.good(&format!("check {jacobi}")), "jacobi: 28 operations, 2 choices, 57 dependences.\n");
    folder.write("wrong.json", &text(r#""comment": 1, "#));
    assert!(Dag::read(&folder.path("wrong.json")).is_err());
}

//! Files of edges, and what is wrong with them.

use std::{fs, path::Path};

use ndarray::{Array2, ArrayD, IxDyn, arr2};
use ndarray_npy::write_npy;
use tempfile::tempdir;
use warpsmith::{
    common::chain,
    graph::{EdgeList, io},
};

/// Reads a file of this name and text; an error without the folder.
fn read(name: &str, text: impl AsRef<[u8]>) -> Result<EdgeList, String> {
    let folder = tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    of(&path)
}

fn of(path: &Path) -> Result<EdgeList, String> {
    let folder = path.parent().unwrap().join("").display().to_string();
    io::read(path).map(|graph| graph.list).map_err(|error| chain(&error).replace(&folder, ""))
}

#[track_caller]
fn says(result: Result<EdgeList, String>, sentence: &str) {
    assert_eq!(result.unwrap_err(), sentence);
}

fn graph<const M: usize>(vertices: usize, edges: [[i32; 2]; M], arcs: bool) -> Result<EdgeList, String> {
    Ok(EdgeList { vertices, edges: edges.into(), arcs })
}

#[test]
fn plain_lists() {
    let snap = "# Undirected graph\r\n# FromNodeId\tToNodeId\r\n\r\n0\t11\r\n  3 4   0.5 later\r\n% more\r\n7 7";
    assert_eq!(read("web.txt", snap), graph(5, [[0, 4], [1, 2], [3, 3]], false));
    assert_eq!(read("edges", "\u{feff}1 0\n"), graph(2, [[1, 0]], false));
    says(read("a.el", "# nothing\n"), "a.el: has no edges");
    says(read("a.txt", "0 1\n\n2\n"), "a.txt: line 3: an edge has two vertices, and here is less");
    assert_eq!(read("a.txt", "0 1\n2 x\n"), graph(4, [[0, 1], [2, 3]], false));
    assert_eq!(read("a.txt", "5 99999999999999999999\n0 -1"), graph(4, [[0, 1], [2, 3]], false));
    assert_eq!(read("a.txt", "1001,1004\n1003,1002\n"), graph(4, [[0, 3], [2, 1]], false));
    says(read("a.txt", b"0 \xff\n"), "a.txt: line 1: is not UTF-8 text");
    says(
        read("a.txt", "%%MatrixMarket matrix coordinate pattern general\n2 2 0\n"),
        "a.txt: line 1: this is a Matrix Market file, whose name must end in `.mtx`",
    );
    says(of(&tempdir().unwrap().path().join("none.txt")), "none.txt: can't be read: no such file or directory");
}

#[test]
fn matrices() {
    let header = "%%MatrixMarket matrix coordinate";
    assert_eq!(
        read("a.mtx", format!("{header} pattern symmetric\n% nothing\n4 4 3\n2 1\n3 3\n4 2\n")),
        graph(4, [[1, 0], [2, 2], [3, 1]], false)
    );
    // Values don't matter.
    assert_eq!(read("a.MTX", format!("{header} real general\n3 3 2\n1 3 1e999\n3 1 x\n")), graph(3, [[0, 2], [2, 0]], true));
    says(
        read("a.mtx", format!("{header} real general\n3 4 0\n")),
        "a.mtx: line 2: a matrix of 3 rows and 4 columns isn't that of a graph",
    );
    says(
        read("a.mtx", format!("{header} pattern general\n3 3 1\n1 4\n")),
        "a.mtx: line 3: column 4 is out of range: they are numbered from 1 to 3",
    );
    says(
        read("a.mtx", format!("{header} real general\n3 3 1\n1 3\n")),
        "a.mtx: line 3: an entry is row, column and value, and here is less",
    );
    says(read("a.mtx", format!("{header} pattern general\n3 3 2\n1 3\n")), "a.mtx: ends after 1 of 2 entries");
    says(
        read("a.mtx", format!("{header} pattern general\n3000000000 3000000000 0\n")),
        "a.mtx: line 2: 3000000000 vertices are too many: at most 2^31 - 2 can be numbered",
    );
}

#[test]
fn shortest_path_problems() {
    let text = "c a comment\ncanother\np sp 3 2\nc\na 1 3 17\n\na\t3 1 -5\n";
    assert_eq!(read("a.gr", text), graph(3, [[0, 2], [2, 0]], true));
    assert_eq!(read("a.gr", "p sp 5 0"), graph(5, [], true));
    assert_eq!(read("a.gr", "p sp 1048576 0\n"), graph(1 << 20, [], true));
    for (text, reason) in [
        ("", "ends before the problem, `p sp VERTICES ARCS`"),
        ("a 1 2 3\n", "line 1: there is an arc before the problem, `p sp VERTICES ARCS`"),
        ("p edge 3 4\n", "ends after 0 of 4 arcs"),
        ("p sp 3\n", "line 1: the problem must be `p sp VERTICES ARCS`, or one of edges: `p edge` or `p tw`"),
        ("p sp 3 4 5\n", "line 1: the problem must be `p sp VERTICES ARCS`, or one of edges: `p edge` or `p tw`"),
        ("p sp 3 1\np sp 3 1\n", "line 2: there is a second problem"),
        ("p sp 3 1\nx\n", "line 2: a line starts with `c`, `p` or `a`, and this one with `x`"),
        ("p sp 3 1\na 1 4 1\n", "line 2: vertex 4 is out of range: they are numbered from 1 to 3"),
        ("p sp 3 1\na 0 1 1\n", "line 2: vertex 0 is out of range: they are numbered from 1 to 3"),
        ("p sp 3 1\na 1 z 1\n", "line 2: `z` is not the number of a vertex"),
        ("p sp 3 1\na 1 +2 1\n", "line 2: `+2` is not the number of a vertex"),
        ("p sp 3 1\na 1\n", "line 2: an edge has two vertices, and here is less"),
        ("p sp 3 1\na 1 2\n", "line 2: an arc is `a U V WEIGHT`"),
        ("p sp 3 1\na 1 2 3 4\n", "line 2: an arc is `a U V WEIGHT`"),
        ("p sp 3 2\na 1 2 1\n", "ends after 1 of 2 arcs"),
        ("p sp 3 1\na 1 2 1\na 1 2 1\n", "line 3: there is more after the 1 arcs that were announced"),
        ("p sp 2147483647 1\n", "line 1: 2147483647 vertices are too many: at most 2^31 - 2 can be numbered"),
        ("p sp 2147483646 0\n", "declares 2147483646 vertices, but in a file of this size there may be 1048576 at most"),
        ("p sp 1048577 0\n", "declares 1048577 vertices, but in a file of this size there may be 1048576 at most"),
    ] {
        says(read("a.gr", text), &format!("a.gr: {reason}"));
    }
}

#[test]
fn arrays() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("a.npy");
    let expected = graph(6, [[0, 5], [3, 1], [2, 2]], false);
    write_npy(&path, &arr2(&[[0i32, 5], [3, 1], [2, 2]])).unwrap();
    assert_eq!(of(&path), expected);
    write_npy(&path, &arr2(&[[0i64, 5], [3, 1], [2, 2]])).unwrap();
    assert_eq!(of(&path), expected);
    // By columns.
    write_npy(&path, &arr2(&[[0i32, 3, 2], [5, 1, 2]]).t()).unwrap();
    assert_eq!(of(&path), expected);
    write_npy(&path, &Array2::<i32>::zeros((0, 2))).unwrap();
    assert_eq!(of(&path), graph(0, [], false));

    write_npy(&path, &arr2(&[[0i32, 5, 1], [3, 1, 1]])).unwrap();
    says(of(&path), "a.npy: holds an array of shape (2, 3), but edges have the shape (m, 2)");
    write_npy(&path, &ArrayD::<i32>::zeros(IxDyn(&[4]))).unwrap();
    says(of(&path), "a.npy: holds an array of shape (4,), but edges have the shape (m, 2)");
    write_npy(&path, &arr2(&[[0.0f64, 5.0]])).unwrap();
    says(of(&path), "a.npy: holds float64, but edges must be int32 or int64");
    write_npy(&path, &arr2(&[[0i32, 5], [1, -1], [-7, 0]])).unwrap();
    says(of(&path), "a.npy: edges[1] is (1, -1), but vertices are numbered from 0");
    write_npy(&path, &arr2(&[[0i64, 5], [1, 1 << 40], [-7, 0]])).unwrap();
    // Numbers that are too large for the file are ids: -7, 0, 1, 5 and this one.
    assert_eq!(of(&path), graph(5, [[1, 3], [2, 4], [0, 1]], false));
    for large in [1 << 20, i32::MAX - 1, i32::MAX] {
        write_npy(&path, &arr2(&[[0i32, 5], [large, 1]])).unwrap();
        assert_eq!(of(&path), graph(4, [[0, 2], [3, 1]], false));
    }
    write_npy(&path, &arr2(&[[0i32, (1 << 20) - 1]])).unwrap();
    assert_eq!(of(&path), graph(1 << 20, [[0, (1 << 20) - 1]], false));
}

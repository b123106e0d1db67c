//! The commands of `warpsmith tree`.

use std::fs::{self, File};

use ndarray::{arr1, arr2};
use ndarray_npy::{NpzReader, ReadableElement, write_npy};
use serde_json::json;

use crate::folder::{Folder, has, text};

/// A tree of five vertices, its parents, and a forest.
fn folder() -> Folder {
    let folder = Folder::of("tree");
    write_npy(folder.path("tree.npy"), &arr2(&[[1, 0], [1, 4], [0, 3], [2, 1]])).unwrap();
    write_npy(folder.path("parents.npy"), &arr1(&[-1i64, 0, 1, 0, 1])).unwrap();
    write_npy(folder.path("pairs.npy"), &arr2(&[[4, 2], [3, 2], [1, 1]])).unwrap();
    folder.write("forest.txt", "# two trees\n2 3\n1 0\n");
    folder
}

fn array<T: ReadableElement>(folder: &Folder, archive: &str, name: &str) -> Vec<T> {
    let mut archive = NpzReader::new(File::open(folder.path(archive)).unwrap()).unwrap();
    archive.by_name::<ndarray::OwnedRepr<T>, ndarray::Ix1>(name).unwrap().into_raw_vec_and_offset().0
}

#[test]
fn roots() {
    let folder = folder();
    let found = folder.json("root tree.npy --root 0 --output tree.npz");
    assert_eq!((&found["vertices"], &found["trees"], &found["height"]), (&json!(5), &json!(1), &json!(2)));
    for (name, expected) in [
        ("parent", [-1, 0, 1, 0, 1]),
        ("depth", [0, 1, 2, 1, 2]),
        ("size", [5, 3, 1, 1, 1]),
        ("preorder", [0, 1, 3, 4, 2]),
        ("postorder", [4, 2, 1, 3, 0]),
        ("first", [0, 1, 4, 7, 2]),
        ("last", [9, 6, 5, 8, 3]),
    ] {
        assert_eq!(array::<i32>(&folder, "tree.npz", name), expected, "{name}");
    }
    let found = folder.json("root parents.npy --parents --output all --repeat 2");
    assert_eq!((&found["trees"], &found["runs"]), (&json!(1), &json!(2)));
    assert!(found["steps"].as_array().unwrap().len() > 3, "{found}");
    assert_eq!(folder.numbers::<i32>("all/preorder.npy"), [0, 1, 2, 4, 3]);
    let shown = folder.good("root forest.txt --vertices 6 --output f.npz --repeat 1");
    has(&shown, &["tree root: forest.txt on ", "vertices", "One run after a warm-up", "Written: f.npz"]);
    assert_eq!(array::<i32>(&folder, "f.npz", "parent"), [-1, 0, -1, 2, -1, -1]);
}

#[test]
fn ancestors() {
    let folder = folder();
    let found = folder.json("lca tree.npy pairs.npy --root 0 --output a.npy");
    assert_eq!((&found["pairs"], &found["output"]), (&json!(3), &json!("a.npy")));
    assert_eq!(folder.numbers::<i32>("a.npy"), [1, 0, 1]);
    folder.good("lca tree.npy pairs.npy --root 2 --output a.npy");
    assert_eq!(folder.numbers::<i32>("a.npy"), [2, 2, 1]);
    folder.good("lca forest.txt pairs.npy --vertices 5 --output a.npy");
    assert_eq!(folder.numbers::<i32>("a.npy"), [-1, 2, 1]);
}

#[test]
fn sums() {
    let folder = folder();
    write_npy(folder.path("f32.npy"), &arr1(&[1.5f32, 2.0, 4.0, 8.0, 16.0])).unwrap();
    write_npy(folder.path("i64.npy"), &arr1(&[1i64 << 60, 2, 4, 8, 16])).unwrap();
    folder.good("sums tree.npy f32.npy --root 0 --output s.npz");
    assert_eq!(array::<f32>(&folder, "s.npz", "paths"), [1.5, 3.5, 7.5, 9.5, 19.5]);
    assert_eq!(array::<f32>(&folder, "s.npz", "subtrees"), [31.5, 22.0, 4.0, 8.0, 16.0]);
    folder.good("sums parents.npy i64.npy --parents --output s.npz");
    assert_eq!(array::<i64>(&folder, "s.npz", "subtrees"), [(1 << 60) + 30, 22, 4, 8, 16]);
}

#[test]
fn what_can_t_be_done() {
    let folder = folder();
    folder.write("circle.txt", "0 1\n1 2\n2 0\n");
    folder.write("loop.txt", "0 1\n2 2\n");
    write_npy(folder.path("short.npy"), &arr1(&[1.0f64])).unwrap();
    write_npy(folder.path("wide.npy"), &arr1(&[-1i64, 1 << 40])).unwrap();
    write_npy(folder.path("cycle.npy"), &arr1(&[-1, 2, 1])).unwrap();
    write_npy(folder.path("inf.npy"), &arr1(&[1.0, 2.0, f32::INFINITY, 4.0, f32::NAN])).unwrap();
    write_npy(folder.path("half.npy"), &arr2(&[[0.5, 1.0]])).unwrap();
    write_npy(folder.path("minus.npy"), &arr2(&[[0, 1], [-1, 2]])).unwrap();
    write_npy(folder.path("huge.npy"), &arr1(&[1e308, 1.0, 1e308, -1e308, 2.0])).unwrap();
    for (arguments, text) in [
        ("root circle.txt --output t.npz", "error: circle.txt: edge 2, (2, 0), closes a circle with edges before it"),
        ("root circle.txt --output folder", "closes a circle"),
        ("root loop.txt", "error: loop.txt: edge 1 joins vertex 2 with itself"),
        ("root forest.txt --root 0", "error: forest.txt: vertex 2 is not connected with root 0"),
        ("root tree.npy --root 5", "error: --root 5 is not a vertex of tree.npy (there are 5)"),
        ("root tree.npy --vertices 3", "error: tree.npy: has vertices up to 4, and --vertices 3 ends before"),
        ("root cycle.npy --parents", "error: cycle.npy: vertex 1 is its own ancestor"),
        ("root parents.npy --parents --root 1", "error: parents.npy: vertex 1 is not the root: its parent is 0"),
        ("root wide.npy --parents", "error: wide.npy: parent[1] is 1099511627776, which is neither a vertex"),
        ("root tree.npy --parents", "error: tree.npy: holds a 2-D array"),
        ("lca forest.txt pairs.npy", "error: pairs.npy: pair 0 is (4, 2), but there are 4 vertices, from 0"),
        ("lca tree.npy half.npy", "error: half.npy: holds float64, but pairs must be int32 or int64"),
        ("lca tree.npy minus.npy", "error: minus.npy: pairs[1] is (-1, 2), but vertices are numbered from 0"),
        ("root half.npy", "error: half.npy: holds float64, but edges must be int32 or int64"),
        ("lca circle.txt tree.npy", "closes a circle with edges before it (the tree's file comes before that of the pairs)"),
        ("lca tree.npy pairs.npy --output pairs.npy", "error: pairs.npy can't be written: it is to be read"),
        ("sums tree.npy short.npy", "error: short.npy has 1 weight, but tree.npy has 5 vertices"),
        ("sums tree.npy inf.npy", "error: inf.npy: weight 2 is inf, but sums in trees are of finite weights"),
        ("sums tree.npy huge.npy", "error: huge.npy: the magnitudes of weights 0 to 2 add up to more than 1.8e308"),
        ("root none.npy", "error: none.npy: can't be read: no such file or directory"),
    ] {
        folder.bad(arguments, text);
    }
}

#[test]
#[cfg(unix)]
fn standard_input_is_read_once() {
    let output = Folder::of("tree").shell("printf '0 1\\n1 2\\n' | \"$0\" tree lca - - --root 0 --output -");
    let error = text(&output.stderr);
    assert!(output.status.code() == Some(2) && error.contains("standard input can be read only once"), "{error}");
}

/// Names of columns and names of vertices may be the same words in pairs, too.
#[test]
fn pairs_with_names_of_columns() {
    let folder = Folder::of("tree");
    folder.write("tree.txt", "ann bob\nann v\n");
    for (pairs, count) in [("u,v\nbob,v\n", 1), ("v,bob\nann,v\n", 2)] {
        folder.write("pairs.csv", pairs);
        assert_eq!(folder.json("lca tree.txt pairs.csv")["pairs"], count, "{pairs}");
    }
}

/// A pair in an array has the tree's own numbers, whatever the other pairs are.
#[test]
fn pairs_with_numbers() {
    let folder = Folder::of("tree");
    let pairs = |pairs: &[[i64; 2]]| {
        write_npy(folder.path("pairs.npy"), &ndarray::arr2(pairs)).unwrap();
        folder.good("lca tree.npy pairs.npy --root 0 --output a.csv");
        fs::read_to_string(folder.path("a.csv")).unwrap()
    };
    write_npy(folder.path("tree.npy"), &ndarray::arr2(&[[0i64, 2], [2, 3], [2, 5_000_000]])).unwrap();
    for (asked, found) in
        [(&[[3, 3]][..], "3,3,3\n"), (&[[3, 3], [2, 5_000_000]], "3,3,3\n2,5000000,2\n"), (&[[2, 2], [3, 0]], "2,2,2\n3,0,0\n")]
    {
        assert_eq!(pairs(asked), format!("u,v,ancestor\n{found}"), "{asked:?}");
    }
    folder.write(
        "names.graphml",
        r#"<graphml><graph><node id="eve"/><node id="bob"/><edge source="eve" target="bob"/></graph></graphml>"#,
    );
    folder.write("tree.txt", "ann bob\nann eve\n");
    folder.good("lca tree.txt names.graphml --root ann --output a.csv");
    assert_eq!(fs::read_to_string(folder.path("a.csv")).unwrap(), "u,v,ancestor\neve,bob,ann\n");
    write_npy(folder.path("one.npy"), &ndarray::arr2(&[[1i64, 2]])).unwrap();
    folder.bad("lca tree.npy one.npy --root 0", "one.npy: pair 0: `1` is not a vertex of the tree");
    // Names of numbers are those that the tree has.
    folder.write("one.txt", "1 2\n2 3\n");
    folder.write("other.txt", "01 3\n");
    folder.bad("lca one.txt other.txt", "other.txt: pair 0: `01` is not a vertex of the tree");
    folder.bad("root one.txt --root +1", "error: --root +1 is not a vertex of one.txt");
    write_npy(folder.path("parents.npy"), &ndarray::arr1(&[-1i64, 0])).unwrap();
    folder.bad("root parents.npy --parents --separator ;", "parents.npy: --separator is for tables");
}

/// Vertices have the names of the file: in the root, in pairs and in tables.
#[test]
fn names() {
    let folder = Folder::of("tree");
    folder.write("family.csv", "parent,child\nann,bob\nann,\"c, d\"\nbob,eve\n");
    assert_eq!(folder.json("root family.csv --root ann")["vertices"], 4);
    let options = "--columns source=parent,target=child --root ann";
    folder.write("pairs.csv", "eve,bob\n\"c, d\",eve\n");
    let of = |name: &str| fs::read_to_string(folder.path(name)).unwrap();
    // A table has no array `vertices`.
    assert!(!folder.good(&format!("root family.csv {options} --output t.csv")).contains("`vertices`"));
    assert!(folder.good(&format!("root family.csv {options} --output t.npz")).contains("`vertices` has their names"));
    let rows = of("t.csv");
    assert!(rows.starts_with("vertex,parent,depth,size,preorder,postorder,first,last\nann,,0,4,"), "{rows}");
    assert!(rows.contains("\nbob,ann,1,2,") && rows.contains("\n\"c, d\",ann,1,1,") && rows.contains("\neve,bob,2,1,"), "{rows}");
    folder.good(&format!("lca family.csv pairs.csv {options} --output a.csv"));
    assert_eq!(of("a.csv"), "u,v,ancestor\neve,bob,bob\n\"c, d\",eve,ann\n");
    folder.bad(&format!("lca family.csv {options} pairs.npy"), "pairs.npy: can't be read");
    folder.write("bad.txt", "eve bob\nann zoe\n");
    folder.bad(&format!("lca family.csv bad.txt {options}"), "bad.txt: pair 1: `zoe` is not a vertex of the tree");
    folder.bad("root family.csv --columns source=parent,target=child --root zoe", "--root zoe is not a vertex of family.csv");
    folder.bad(&format!("lca family.csv pairs.csv {options} --output a.txt"), "a.txt: the name must end in .npy or .csv");
    folder.write("apart.txt", "x y\ny z\np q\n");
    folder.bad("root apart.txt --root x", "error: apart.txt: vertex p is not connected with root x");
    folder.write("circle.txt", "x y\ny z\nz x\n");
    folder.bad("root circle.txt", "error: circle.txt: edge 2, (z, x), closes a circle with edges before it");
    folder.write("loop.txt", "x y\nz z\n");
    folder.bad("root loop.txt", "error: loop.txt: edge 1 joins vertex z with itself");
    folder.write("numbers.txt", "10 20\n20 30\n");
    folder.write("asked.txt", "30 10\n30 20\n");
    folder.good("lca numbers.txt asked.txt --root 10 --output a.csv");
    assert_eq!(of("a.csv"), "u,v,ancestor\n30,10,10\n30,20,20\n");
    write_npy(folder.path("w.npy"), &arr1(&[1i64, 2, 4])).unwrap();
    folder.good("sums numbers.txt w.npy --root 10 --output s.csv");
    assert_eq!(of("s.csv"), "vertex,paths,subtrees\n10,1,7\n20,3,6\n30,7,4\n");
}

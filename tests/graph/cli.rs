//! The commands of `warpsmith graph`.

use ndarray::arr2;
use ndarray_npy::{NpzReader, write_npy};
use serde_json::json;

use crate::folder::{Folder, has};

/// Two triangles with a bridge between them, a loop, and a vertex alone.
fn folder() -> Folder {
    let folder = Folder::of("graph");
    folder.write("a.txt", "# two triangles\n0 1\n1 2\n2 0\n2 3\n3 4\n4 5\n5 3\n6 6\n");
    folder
}

#[test]
fn arrays_and_counts() {
    let folder = folder();
    let found = folder.json("components a.txt --output all --vertices 9");
    assert_eq!(
        (&found["components"], &found["loops"], &found["vertices"], &found["edges"]),
        (&json!(4), &json!(1), &json!(9), &json!(8))
    );
    assert_eq!(folder.numbers::<i32>("all/labels.npy"), [0, 0, 0, 0, 0, 0, 6, 7, 8]);

    let found = folder.json("bridges a.txt --output b.npz");
    assert_eq!((&found["bridges"], &found["parts"], &found["arcs"]), (&json!(1), &json!(3), &json!(false)));
    let mut archive = NpzReader::new(std::fs::File::open(folder.path("b.npz")).unwrap()).unwrap();
    let mut array = |name: &str| archive.by_name::<ndarray::OwnedRepr<i32>, ndarray::Ix1>(name).unwrap().to_vec();
    assert_eq!(array("bridges"), [3]);
    assert_eq!(array("labels"), [0, 0, 0, 3, 3, 3, 6]);

    let found = folder.json("bcc a.txt --output all --repeat 2");
    assert_eq!((&found["biconnected"], &found["points"], &found["runs"]), (&json!(3), &json!(2), &json!(2)));
    assert!(found["steps"].as_array().unwrap().len() > 3, "{found}");
    assert_eq!(folder.numbers::<i32>("all/labels.npy"), [1, 1, 1, 3, 4, 4, 4, -1]);
    assert_eq!(folder.numbers::<i32>("all/points.npy"), [2, 3]);
}

/// Results whose vertices have no names leave none of earlier ones.
#[test]
fn stale_names() {
    let folder = folder();
    folder.write("names.csv", "source,target\nx,y\n");
    folder.good("components names.csv --output all");
    assert!(folder.path("all/vertices.npy").exists());
    folder.good("bridges a.txt --output all");
    assert!(!folder.path("all/vertices.npy").exists() && folder.path("all/bridges.npy").exists());
}

#[test]
fn tables() {
    let folder = folder();
    let shown = folder.good("bridges a.txt --repeat 1");
    has(&shown, &["graph bridges: a.txt on ", "2-edge-connected components", "reach", "One run after a warm-up"]);
    let shown = folder.good("bcc a.txt --output x.npz");
    assert!(shown.contains("articulation points") && shown.contains("Written: x.npz"), "{shown}");
}

#[test]
fn forests() {
    let folder = Folder::of("graph");
    folder.write("roads.csv", "from,to,km\nUlm,Bonn,400.5\nBonn,Kiel,500\nKiel,Ulm,700\nKiel,Kiel,1\n");
    let found = folder.json("forest roads.csv --columns weight=km --output all");
    assert_eq!(
        (&found["total"], &found["forest"], &found["components"], &found["loops"]),
        (&json!(900.5), &json!(2), &json!(1), &json!(1))
    );
    assert_eq!(folder.numbers::<i32>("all/edges.npy"), [0, 1]);
    assert_eq!(folder.numbers::<i32>("all/labels.npy"), [0, 0, 0]);
    let shown = folder.good("forest roads.csv --columns weight=km --output tree.csv --repeat 1");
    assert!(shown.contains("total weight") && shown.contains("900.5") && shown.contains("Written: tree.csv"), "{shown}");
    let rows = std::fs::read_to_string(folder.path("tree.csv")).unwrap();
    assert_eq!(rows, "source,target,weight\nUlm,Bonn,400.5\nBonn,Kiel,500\n");
    folder.write("far.txt", "0 1 9223372036854775807\n1 2 9223372036854775806\n0 2 9223372036854775806\n");
    folder.good("forest far.txt --output tree.npz");
    assert_eq!(folder.json("forest far.txt")["edges"], 3);
    let total = "18446744073709551612";
    assert!(folder.good("forest far.txt").contains(total));
    assert!(folder.good("forest far.txt --json").contains(&format!("\"total\": {total},")));
    folder.write("inf.txt", "0 1 inf\n");
    has(&folder.good("forest inf.txt"), &["total weight", "inf"]);
    assert_eq!(folder.json("forest inf.txt")["total"], json!(null));
    folder.write("map.geojson", r#"{"type":"Feature","properties":{"weight":2},"geometry":{"type":"LineString","coordinates":[[0,0],[1,0],[1,1],[0,0]]}}"#);
    folder.good("forest map.geojson --output tree.geojson");
    let map: serde_json::Value = serde_json::from_slice(&std::fs::read(folder.path("tree.geojson")).unwrap()).unwrap();
    assert_eq!(map["features"].as_array().unwrap().len(), 2);
    write_npy(folder.path("a.npy"), &arr2(&[[0i32, 1]])).unwrap();
    folder.bad("forest a.npy", "error: a.npy: an array of edges has no weights: use a table with a column `weight`");
    folder.bad("forest roads.csv", "there is no column `weight`, only `from`, `to`, `km`: choose one (--columns weight=NAME)");
}

#[test]
fn both_directions() {
    let folder = folder();
    write_npy(folder.path("a.npy"), &arr2(&[[0i64, 1], [1, 0], [1, 2]])).unwrap();
    folder.write("a.gr", "p sp 3 3\na 1 2 1\na 2 1 1\na 2 3 1\n");
    for (arguments, bridges) in
        [("a.npy", 1), ("a.npy --double one", 2), ("a.npy --double apart", 1), ("a.gr", 2), ("a.gr --double apart", 1)]
    {
        assert_eq!(folder.json(&format!("bridges {arguments}"))["bridges"], bridges, "{arguments}");
    }
    assert_eq!(folder.json("components a.npy")["repeats"], 1);
    assert!(folder.good("bridges a.gr").contains("Edges between the same two vertices count as one"));
    folder.write("twice.txt", "0 1\n1 0\n2 2\n1 2\n2 1\n");
    assert!(
        folder.good("bridges twice.txt").contains("Each edge is there twice. If they are its two directions, use --double one.")
    );
}

#[test]
fn graphs_at_random() {
    let folder = Folder::of("graph");
    for (options, vertices, edges) in [
        ("--vertices 1000 --seed 5", 31 * 32, None),
        ("--vertices 100 --missing 0", 100, Some(180)),
        ("--vertices 100 --missing 1", 100, Some(0)),
        ("--vertices 1000 --kind rmat", 1024, Some(16 * 1024)),
        ("--vertices 1000 --kind uniform --degree 3", 1000, Some(3000)),
    ] {
        let found = folder.json(&format!("random {options} --output a.npy"));
        assert_eq!(found["vertices"], vertices, "{options}");
        if let Some(edges) = edges {
            assert_eq!(found["edges"], edges, "{options}");
        }
        let written = folder.read::<i32>("a.npy");
        assert_eq!(written.shape(), [found["edges"].as_u64().unwrap() as usize, 2]);
        assert!(written.iter().all(|&end| (0..vertices).contains(&end)));
        assert_eq!(folder.json(&format!("components a.npy --vertices {vertices}"))["vertices"], vertices);
    }
    let shown = folder.good("random --vertices 9 --missing 0 --output b.npy");
    assert_eq!(shown, "Written: b.npy (9 vertices, 12 edges)\n");
    folder.bad("random --missing 2 --output c.npy", "error: --missing must be from 0 to 1, and is 2");
    folder.bad("random --missing nan --output c.npy", "error: --missing must be from 0 to 1, and is NaN");
    folder.bad("random --vertices 2e9 --output c.npy", "2000000000 vertices with 4000000000 edges are too many");
    folder.bad("random --vertices 2e9 --kind rmat --output c.npy", "2147483648 vertices with 34359738368 edges are too many");
}

/// Numbers count from 0 if their number is given, whether they have gaps or begin with 1.
#[test]
fn vertices_without_edges() {
    let folder = folder();
    for (text, given, names) in [
        ("1 2\n2 3\n", 6, "0,1,2,3,4,5"),
        ("1 2\n2 4\n", 6, "0,1,2,3,4,5"),
        ("0 2\n", 3, "0,1,2"),
        // A heading is no edge.
        ("FromNodeId ToNodeId\n1 2\n", 4, "0,1,2,3"),
    ] {
        folder.write("v.txt", text);
        folder.good(&format!("components v.txt --vertices {given} --output v.csv"));
        let written = std::fs::read_to_string(folder.path("v.csv")).unwrap();
        let found: Vec<_> = written.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
        assert_eq!(found.join(","), names, "{text}");
    }
    folder.write("v.txt", "1 2\n2 3\n");
    folder.bad("components v.txt --vertices 3", "error: v.txt: has vertices up to 3, and --vertices 3 ends before");
    folder.write("v.txt", "-1 2\n");
    folder.bad("components v.txt --vertices 3", "error: v.txt: has the vertex -1, and --vertices is for numbers from 0");
    folder.write("v.txt", "a b\nb c\n");
    folder.bad("components v.txt --vertices 9", "error: v.txt: has vertices with names, and --vertices is for numbers from 0");
    assert_eq!(folder.json("components v.txt")["edges"], 2);
    folder.write("v.txt", "source target\n1 2\n2 3\n");
    let found = folder.json("components v.txt");
    assert_eq!(
        (&found["edges"], &found["notes"][1]),
        (&2.into(), &"The first row, `source target`, is a heading, and no edge.".into())
    );
    for text in ["a b 5\nb c 6\nc a 7\n", "source target weight\n1 2 5\n2 3 6\n3 1 7\n"] {
        folder.write("w.txt", text);
        assert_eq!(folder.json("forest w.txt")["total"], 11, "{text}");
    }
    folder.write("uv.csv", "u,v\na,b\nb,c\n");
    assert_eq!(
        folder.json("components uv.csv")["notes"][0],
        "The first row, `u,v`, is an edge (--header yes: it names columns)."
    );
}

#[test]
fn what_can_t_be_done() {
    let folder = folder();
    folder.write("bad.txt", "0 1\n2\n");
    std::fs::create_dir(folder.path("dir.csv")).unwrap();
    for (arguments, text) in [
        ("bridges bad.txt --output b.npz", "error: bad.txt: line 2: an edge has two vertices, and here is less"),
        ("bcc none.txt", "error: none.txt: can't be read: no such file or directory"),
        ("bridges bad.txt --output b", "line 2"),
        ("components a.txt --vertices 3", "error: a.txt: has vertices up to 6, and --vertices 3 ends before"),
        ("components a.txt --output no/such.npz", "error: no/such.npz can't be written: there is no directory no"),
        ("components a.txt --output no/such", "error: no/such can't be written: there is no directory no"),
        ("components a.txt --output dir.csv", "error: dir.csv can't be written: it is a directory"),
        #[cfg(unix)]
        ("components a.txt --output /dev/full", "error: /dev/full can't be written: it is a device, not a file"),
    ] {
        folder.bad(arguments, text);
    }
}

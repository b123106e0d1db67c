//! Graphs as other programs write them, and results with their names.

use std::fs;

use ndarray::arr1;
use ndarray_npy::NpzWriter;
use tempfile::tempdir;
use warpsmith::{
    common::chain,
    graph::{EdgeList, Graph, Ids, io},
    io::TableOptions,
};

use crate::folder::Folder;

fn read(name: &str, text: impl AsRef<[u8]>) -> Result<Graph, String> {
    let folder = tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    io::read(&path).map_err(|error| chain(&error).replace(&folder.path().join("").display().to_string(), ""))
}

fn list<const M: usize>(vertices: usize, edges: [[i32; 2]; M], arcs: bool) -> EdgeList {
    EdgeList { vertices, edges: edges.into(), arcs }
}

fn names(names: &[&str]) -> Ids {
    Ids::Names(names.iter().map(|&name| name.to_owned()).collect())
}

#[track_caller]
fn says(name: &str, text: &str, sentence: &str) {
    assert_eq!(read(name, text).unwrap_err(), format!("{name}: {sentence}"));
}

#[test]
fn tables_of_edges() {
    let expected = list(3, [[0, 1], [1, 2]], false);
    for (name, text) in [
        ("a.csv", "source,target\n4000000001,4000000002\n4000000002,5000000000\n"),
        ("a.csv", "4000000001,4000000002,7.5\n4000000002,5000000000,8\n"),
        ("a.tsv", "weight\tTo_Node\tfrom-node\n1\t4000000002\t4000000001\n2\t5000000000\t4000000002\n"),
        ("a.txt", "4000000001;4000000002\n4000000002;5000000000\n"),
        ("edges", "# ids of a map\n4000000001 4000000002\n4000000002\t5000000000"),
    ] {
        let graph = read(name, text).unwrap();
        assert_eq!(
            graph,
            Graph { list: expected.clone(), ids: Ids::Numbers(vec![4000000001, 4000000002, 5000000000]) },
            "{name}"
        );
    }
    let towns = read("a.csv", "from,to\n\"Berlin, Mitte\",Potsdam\nPotsdam,007\n").unwrap();
    assert_eq!(towns, Graph { list: expected, ids: names(&["Berlin, Mitte", "Potsdam", "007"]) });
    says("a.csv", "from,to\na,\n", "line 2: column `to`: `` is not a vertex");
    says("a.csv", "from,to\n", "has no edges");
    says("a.txt", "", "has no edges");
    says("a.csv", "from,to\na,b\0\n", "line 2: column `to`: `b\0` is not a vertex");
    says(
        "a.csv",
        "from,length\na,1\n",
        "line 1: there is no column `target`, only `from`, `length`: choose one (--columns target=NAME)",
    );
    let options =
        TableOptions { columns: vec![("source".into(), "a".into()), ("target".into(), "c".into())], ..TableOptions::default() };
    let folder = tempdir().unwrap();
    let path = folder.path().join("wide.csv");
    fs::write(&path, "a,b,c\n1,9,2\n").unwrap();
    let graph = io::read_with(&path, &options).unwrap();
    assert_eq!(graph, Graph { list: list(2, [[0, 1]], false), ids: Ids::From(1) });
}

/// Names that may be ids are names of columns only above numbers.
#[test]
fn first_rows() {
    let folder = Folder::of("graph");
    let names = |first: &str| format!("The first row, `{first}`, names columns (--header no: it is an edge).");
    let edge = |first: &str| format!("The first row, `{first}`, is an edge (--header yes: it names columns).");
    for (text, edges, note) in [
        ("a,b\nb,c\n", 2, None),
        ("A,B\nann,bob\n", 2, Some(edge("A,B"))),
        ("start,end\n", 1, Some(edge("start,end"))),
        ("u,v\n1,2\n", 1, Some(names("u,v"))),
        ("u,v\n1,x\n", 2, Some(edge("u,v"))),
        ("node1,node2,w\nx,y,2\n", 1, Some(names("node1,node2"))),
        ("source,target,weight\nx,y,2\n", 1, None),
        ("parent,child\nann,bob\n", 1, None),
    ] {
        folder.write("a.csv", text);
        assert_eq!(folder.json("components a.csv")["edges"], edges, "{text}");
        let said = folder.good("components a.csv");
        assert_eq!(said.lines().find(|line| line.starts_with("The first row")), note.as_deref(), "{text}");
    }
    let heading = |first: &str| format!("The first row, `{first}`, is a heading, and no edge.");
    for (text, edges, note) in [
        ("source\ttarget\nann\tbob\nbob\tcid\n", 2, Some(heading("source target"))),
        ("From To km\nann bob 3\n", 1, Some(heading("From To"))),
        ("protein1 protein2 score\nann bob 3\n", 1, Some(heading("protein1 protein2"))),
        ("protein1 protein2\nann bob\n", 2, Some(edge("protein1,protein2"))),
        ("ann bob\nbob cid\n", 2, None),
        ("ann bob\n", 1, Some(edge("ann,bob"))),
    ] {
        folder.write("a.txt", text);
        assert_eq!(folder.json("components a.txt")["edges"], edges, "{text}");
        let said = folder.good("components a.txt");
        assert_eq!(said.lines().find(|line| line.starts_with("The first row")), note.as_deref(), "{text}");
    }
    says("a.txt", "source target\n", "has no edges");
    folder.write("a.csv", "u,v,w\nx,y,2\n");
    assert_eq!(folder.json("forest a.csv")["edges"], 1);
    // Lists of words are tables, too, if there are options.
    for (text, options) in [
        ("# c\n\nx 2  y\ny 3 z\n", "--columns source=1,target=3,weight=2"),
        ("p1 p2 km\nx y 2\ny z 3\n", "--columns source=p1,target=p2,weight=km"),
        ("x\ty\t2\ny\tz\t3\n", "--header no"),
        ("#p\tp2\tkm\nx\ty\t2\ny\tz\t3\n", "--columns source=#p,target=p2,weight=km"),
        ("x y 2,0\ny z 3,0\n", "--decimal-comma"),
    ] {
        folder.write("a.txt", text);
        assert_eq!(folder.json(&format!("forest a.txt {options}"))["total"].as_f64(), Some(5.0), "{text}");
    }
    for (name, text, kind) in [
        ("a.gr", "p sp 2 1\na 1 2 5\n", "a DIMACS file"),
        ("a.graph", "2 1\n2\n1\n", "a METIS file"),
        ("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 0\n", "a Matrix Market file"),
    ] {
        folder.write(name, text);
        folder.bad(
            &format!("forest {name} --columns weight=x"),
            &format!("error: {name}: --columns is for tables, but this is {kind}"),
        );
    }
    says("a.txt", "<?xml version=\"1.0\"?>\n", "line 1: this is XML, and the name of GraphML must end in `.graphml`");
    says(
        "a.csv",
        "a,b\n1,2\n3,a\n",
        "line 3: `a` is a vertex here, and the name of a column in the first row (--header no: that is an edge)",
    );
    says(
        "a.csv",
        "alice,bob\n",
        "line 1: there is no column `source`, only `alice`, `bob`: choose one (--columns source=NAME), or take the row as values \
         (--header no)",
    );
}

/// Tabs are separators if they make the same number of fields in all lines. Otherwise blanks are, too.
#[test]
fn tabs_and_blanks() {
    let towns = ["New York", "San Jose", "Boston"];
    let of_names = |ids: &[&str]| Graph { list: list(3, [[0, 1], [1, 2]], false), ids: names(ids) };
    for text in [
        "New York\tSan Jose\nSan Jose\tBoston\n",
        "# cities\nNew York \t San Jose\r\n\nSan Jose\tBoston",
        "New York\tSan Jose\t2\nSan Jose\tBoston\t3.5\n",
        "source\ttarget\tkm\nNew York\tSan Jose\t2\nSan Jose\tBoston\t3.5\n",
    ] {
        assert_eq!(read("a.txt", text).unwrap(), of_names(&towns), "{text}");
    }
    // The first blank within a field may come late.
    let late = read("a.txt", "a\tb\nb\tNew York\n").unwrap();
    assert_eq!(late, of_names(&["a", "b", "New York"]));
    for text in ["a b\nb\tc\n", "a b\nb c\td e\n", "a\tb\nb c\n", "a \tb\nb\t c\n", "a b\t\nb c\n"] {
        assert_eq!(read("a.txt", text).unwrap(), of_names(&["a", "b", "c"]), "{text}");
    }
    // Weights, times and comments follow two words.
    for text in ["a b\t3\nb c\t5\n", "a b\t1\t123\nb c\t1\t124\n", "a\tb 2.5\nb\tc 1e3\n", "a\tb # note\nb c\n"] {
        assert_eq!(read("a.txt", text).unwrap(), of_names(&["a", "b", "c"]), "{text}");
    }
    // KONECT has a tab between numbers.
    let numbers = Graph { list: list(3, [[0, 1], [1, 2]], false), ids: Ids::From(1) };
    for text in ["% asym\n1 2\t1\n2 3\t1\n", "1 2\t1\t7\n2 3\t1\t8\n", "1\t2 x\n2 3\n"] {
        assert_eq!(read("out.a", text).unwrap(), numbers, "{text}");
    }
    says("a.txt", "New York\tBoston\nan edge\n", "line 2: the lines above have 2 fields between tabs, and this one has 1");
    says("a.txt", "a\tb\nc d\te f\t5\n", "line 2: the lines above have 2 fields between tabs, and this one has 3");
    says("a.txt", "New York\tBoston\t1\na\t\t2\n", "line 2: a field between tabs is empty");
}

#[test]
fn metis() {
    let expected = Graph { list: list(4, [[0, 1], [0, 2], [1, 2]], false), ids: Ids::From(1) };
    for text in [
        "4 3\n2 3\n1 3\n1 2\n\n",
        "% a comment\n4 3 0\n% more\n2 3\n1 3\n1 2\n\n",
        "4 3 1\n2 7 3 8\n1 7 3 9\n1 8 2 9\n\n",
        "4 3 011 2\n5 5 2 7 3 8\n5 5 1 7 3 9\n5 5 1 8 2 9\n5 5\n",
        "4 3 111\n9 5 2 7 3 8\n9 5 1 7 3 9\n9 5 1 8 2 9\n9 5\n",
    ] {
        assert_eq!(read("a.graph", text).unwrap(), expected, "{text}");
    }
    assert_eq!(read("a.metis", "0 0\n").unwrap().list, list(0, [], false));
    for (text, sentence) in [
        ("", "line 1: the header must be `VERTICES EDGES [FORMAT [WEIGHTS]]`"),
        ("3\n", "line 1: the header must be `VERTICES EDGES [FORMAT [WEIGHTS]]`"),
        ("3 1 2\n", "line 1: the format must be up to three digits 0 or 1: sizes, weights of vertices, weights of edges"),
        ("3 1\n2\n1\n", "ends after 2 of 3 vertices"),
        ("2 1\n2\n1\n2\n", "line 4: there is more after the 2 vertices that were announced"),
        ("2 1\n3\n1\n", "line 2: vertex 3 is out of range: they are numbered from 1 to 2"),
        ("2 1 1\n2\n1\n", "line 2: the edge to vertex 2 has no weight"),
        ("3 2\n2 3\n1\n\n", "has 2 edges from smaller to larger vertices and 1 back, but announces 2, each in both directions"),
        ("3 1\n2\n\n1\n", "has the edge of vertices 1 and 2 in one direction only"),
        ("3 2\n2\n1 3\n1\n", "has the edge of vertices 1 and 3 in one direction only"),
        ("3000000000 0\n", "line 1: 3000000000 vertices are too many: at most 2^31 - 2 can be numbered"),
    ] {
        says("a.graph", text, sentence);
    }
}

#[test]
fn dimacs_and_pace() {
    let expected = |arcs| Graph { list: list(3, [[0, 1], [2, 1]], arcs), ids: Ids::From(1) };
    assert_eq!(read("a.col", "c colouring\np edge 3 2\nn 1 5\ne 1 2\ne 3 2\n").unwrap(), expected(false));
    assert_eq!(read("a.col", "p col 3 2\ne 1 2\ne 3 2\n").unwrap(), expected(false));
    assert_eq!(read("a.gr", "p tw 3 2\n1 2\n3 2\n").unwrap(), expected(false));
    // The first line tells the format of a file without a known extension.
    assert_eq!(read("roads", "c roads\np sp 3 2\na 1 2 5\na 3 2 5\n").unwrap(), expected(true));
    says("a.col", "p edge 3 1\ne 1 2 3\n", "line 2: an edge has two vertices, and here is more");
}

#[test]
fn documents() {
    let head = r#"<?xml version="1.0"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="w" for="edge"/>"#;
    let nodes = r#"<node id="n0"/><node id="n1"><data key="w">1</data></node><node id="x"/>"#;
    let graph =
        |direction: &str, edges: &str| format!("{head}<graph edgedefault=\"{direction}\">{nodes}{edges}</graph></graphml>");
    let edges = r#"<edge source="n0" target="x"/><edge id="e" source="x" target="n1"/>"#;
    let ids = names(&["n0", "n1", "x"]);
    for (direction, arcs) in [("undirected", false), ("directed", true)] {
        let expected = Graph { list: list(3, [[0, 2], [2, 1]], arcs), ids: ids.clone() };
        assert_eq!(read("a.graphml", graph(direction, edges)).unwrap(), expected);
    }
    says(
        "a.graphml",
        &graph("directed", r#"<edge source="n0" target="y"/>"#),
        "line 1: the edge's `target` is `y`, which is no node",
    );
    says("a.graphml", &graph("directed", r#"<node id="x"/>"#), "line 1: there is a second node `x`");
    says("a.graphml", "<svg/>", "has no element `graph` in an element `graphml`");

    let line = r#"{"type":"LineString","coordinates":[[0,0],[1,0.5,99],[1,0.5],[0,0]]}"#;
    let many = r#"{"type":"MultiLineString","coordinates":[[[1,0.5],[7,7]],[]]}"#;
    let feature = |geometry: &str| format!(r#"{{"type":"Feature","properties":{{}},"geometry":{geometry}}}"#);
    let all = [feature(line), feature(many), feature("null"), feature(r#"{"type":"Point","coordinates":[5,5]}"#)].join(",");
    let roads = read("a.geojson", format!(r#"{{"type":"FeatureCollection","features":[{all}]}}"#)).unwrap();
    assert_eq!(roads.ids.places().unwrap().points, [[0.0, 0.0], [1.0, 0.5], [7.0, 7.0]]);
    assert_eq!(roads.list, list(3, [[0, 1], [1, 0], [1, 2]], false));
    says("a.geojson", r#"{"type":"FeatureCollection","features":[]}"#, "has no lines");
    says("a.geojson", r#"{"type":"Road"}"#, "`Road` is no type of GeoJSON");
    says("a.json", r#"{"nodes":[]}"#, "has no `type`: it is not GeoJSON");
    says(
        "a.geojson",
        r#"{"type":"FeatureCollection","features":[{"type":"Feature","geometry":{"type":"LineString","coordinates":[[0,"x"],[1,0]]}}]}"#,
        "features[0]: point 0: `[0,\"x\"]` is no list of two numbers",
    );
    let point = feature(r#"{"type":"LineString","coordinates":[[0,0]]}"#);
    says(
        "a.geojson",
        &format!(r#"{{"type":"FeatureCollection","features":[{},{point}]}}"#, feature(line)),
        "features[1]: a line has one point, and must have two",
    );
}

#[test]
fn matrices_of_scipy() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let write = |arrays: &[(&str, &[i64])]| {
        let mut npz = NpzWriter::new(fs::File::create(&path).unwrap());
        arrays.iter().for_each(|(name, values)| npz.add_array(*name, &arr1(values)).unwrap());
        npz.finish().unwrap();
    };
    let expected = Graph { list: list(3, [[0, 2], [1, 1], [2, 0]], true), ids: Ids::From(0) };
    write(&[("indptr", &[0, 1, 2, 3]), ("indices", &[2, 1, 0]), ("shape", &[3, 3])]);
    assert_eq!(io::read(&path).unwrap(), expected);
    write(&[("row", &[0, 1, 2]), ("col", &[2, 1, 0]), ("shape", &[3, 3])]);
    assert_eq!(io::read(&path).unwrap(), expected);
    for (arrays, sentence) in [
        (
            &[("indptr", &[0, 1][..]), ("indices", &[0][..]), ("shape", &[1, 2][..])][..],
            "a matrix of 1 rows and 2 columns isn't that",
        ),
        (&[("indptr", &[0, 2]), ("indices", &[0]), ("shape", &[1, 1])], "has an array `indptr` that doesn't divide `indices`"),
        (&[("row", &[0]), ("col", &[3]), ("shape", &[2, 2])], "has an entry in row or column 3, but there are 2"),
        (&[("row", &[0]), ("col", &[]), ("shape", &[2, 2])], "has 1 elements in `row`, but 0 in `col`"),
        (&[("row", &[0]), ("col", &[0])], "has no array `shape`; it holds row, col"),
    ] {
        write(arrays);
        let error = io::read(&path).unwrap_err().to_string();
        assert!(error.contains(sentence), "{error}");
    }
}

/// Results have the names that the file has, and each bridge once.
#[test]
fn results_with_names() {
    let folder = Folder::of("graph");
    folder.write("ids.csv", "from,to\n1001,1002\n1003,1002\n1001,1003\n1003,77000000000\n");
    folder.good("components ids.csv --output c.csv");
    let of = |name: &str| fs::read_to_string(folder.path(name)).unwrap();
    assert_eq!(of("c.csv"), "vertex,component\n1001,1001\n1002,1001\n1003,1001\n77000000000,1001\n");
    let said = folder.good("bridges ids.csv --output b.csv");
    assert!(said.contains("Vertices have the ids 1001 to 77000000000."), "{said}");
    // A table has no array `vertices`.
    assert!(!said.contains("`vertices`"), "{said}");
    assert_eq!(of("b.csv"), "source,target\n1003,77000000000\n");
    folder.good("bcc ids.csv --output e.csv");
    let rows = of("e.csv");
    assert!(
        rows.starts_with("source,target,component\n1001,1002,") && rows.ends_with("1003,77000000000,77000000000\n"),
        "{rows}"
    );
    folder.write("towns.csv", "city_a,city_b\nUlm,Bonn\n");
    let said = folder.good("components towns.csv");
    assert!(said.contains("The first row, `city_a,city_b`, is an edge (--header yes: it names columns)."), "{said}");
    let said = folder.good("components towns.csv --header yes --columns source=city_a,target=city_b");
    assert!(!said.contains("The first row") && said.contains(" edges                           1"), "{said}");
    folder.good("components ids.csv --output c");
    assert_eq!(folder.numbers::<i64>("c/vertices.npy"), [1001, 1002, 1003, 77000000000]);
    assert_eq!(folder.numbers::<i32>("c/labels.npy"), [0; 4]);

    // Both arcs of an edge are one bridge.
    folder.write("roads.gr", "p sp 3 4\na 1 2 5\na 2 1 5\na 3 2 1\na 2 3 1\n");
    let said = folder.good("bridges roads.gr --output b.csv");
    assert!(said.contains("numbered from 1 in the file"), "{said}");
    assert_eq!(of("b.csv"), "source,target\n1,2\n3,2\n");
    folder.good("bridges roads.gr --output b");
    assert_eq!(folder.numbers::<i32>("b/bridges.npy"), [0, 2]);

    let line = |points: &str| format!(r#"{{"type":"LineString","coordinates":[{points}]}}"#);
    let lines = [line("[0,0],[1,0],[1,1],[0,0]"), line("[1,1,7],[2.5,3]")].join(",");
    folder.write("roads.geojson", &format!(r#"{{"type":"GeometryCollection","geometries":[{lines}]}}"#));
    folder.good("bridges roads.geojson --output b.geojson");
    let map: serde_json::Value = serde_json::from_str(&of("b.geojson")).unwrap();
    assert_eq!(map["features"][0]["geometry"]["coordinates"], serde_json::json!([[1.0, 1.0, 7.0], [2.5, 3.0]]));
    assert_eq!(map["features"].as_array().unwrap().len(), 1);
    folder.good("bcc roads.geojson --output b.geojson");
    let map: serde_json::Value = serde_json::from_str(&of("b.geojson")).unwrap();
    assert_eq!(map["features"].as_array().unwrap().len(), 5);
    assert_eq!(map["features"][4]["geometry"], serde_json::json!({"type": "Point", "coordinates": [1.0, 1.0, 7.0]}));

    // Lines keep what else the file has of them.
    let road = |id: u8, points: &str| {
        format!(r#"{{"type":"Feature","id":{id},"properties":{{"weight":8,"name":"{id}"}},"geometry":{}}}"#, line(points))
    };
    let roads = [road(1, "[0,0,5],[1,0,6]"), road(2, "[1,0],[2,0],[5,0]")].join(",");
    folder.write("roads.geojson", &format!(r#"{{"type":"FeatureCollection","crs":{{"type":"name"}},"features":[{roads}]}}"#));
    folder.good("components roads.geojson --output lines.geojson");
    let map: serde_json::Value = serde_json::from_str(&of("lines.geojson")).unwrap();
    let properties = |name: &str| serde_json::json!({"weight": 8, "name": name, "component": 0});
    assert_eq!(map["crs"], serde_json::json!({"type": "name"}));
    assert_eq!(map["features"][0]["geometry"]["coordinates"], serde_json::json!([[0.0, 0.0, 5.0], [1.0, 0.0, 6.0]]));
    assert_eq!((&map["features"][0]["id"], &map["features"][0]["properties"]), (&serde_json::json!(1), &properties("1")));
    assert_eq!((map["features"][2].get("id"), &map["features"][2]["properties"]), (None, &properties("2")));
    // A line's weight is that of all its edges.
    folder.good("forest roads.geojson --output f.csv");
    assert_eq!(of("f.csv"), "source,target,weight\n0.0 0.0,1.0 0.0,8\n1.0 0.0,2.0 0.0,2\n2.0 0.0,5.0 0.0,6\n");
    folder.good("forest roads.geojson --output f.geojson");
    assert_eq!(
        ["roads", "f"].map(|name| folder.json(&format!("forest {name}.geojson"))["total"].clone()),
        [16, 16].map(serde_json::Value::from)
    );
    folder.write("roads.txt", &of("roads.geojson"));
    // Properties of a file's own are never replaced, but for the weight that is divided.
    let replaced =
        |key: &str| format!("features[1] has a property `{key}`, which o.geojson would replace: rename it, or write .csv");
    for (key, commands) in [
        ("component", &["components roads.geojson", "bcc roads.geojson"][..]),
        ("edge", &["bridges roads.geojson", "forest roads.geojson"]),
        ("weight", &["forest roads.geojson --columns weight=km"]),
    ] {
        let own = road(2, "[1,0],[2,0]").replace("\"name\"", &format!("\"{key}\""));
        let roads = [road(1, "[0,0],[1,0]"), own].join(",").replace("\"weight\":8", "\"weight\":8,\"km\":1");
        let roads = if key == "weight" { roads.replacen("\"weight\":8,", "", 1) } else { roads };
        folder.write("roads.geojson", &format!(r#"{{"type":"FeatureCollection","features":[{roads}]}}"#));
        commands.iter().for_each(|command| folder.bad(&format!("{command} --output o.geojson"), &replaced(key)));
    }
    folder.bad("bridges roads.txt", "roads.txt: line 1: this is JSON, and the name of GeoJSON must end in `.geojson`");

    for (command, sentence) in [
        ("components ids.csv --output c.txt", "c.txt: the name must end in .npz, .csv or .geojson"),
        ("components ids.csv --output c.geojson", "c.geojson: ids.csv has no coordinates"),
        ("components ids.csv --vertices 5", "ids.csv: has vertices up to 77000000000, and --vertices 5 ends before"),
        ("random --output g.txt", "g.txt: the name must end in .npy"),
    ] {
        folder.bad(command, sentence);
    }
    assert!(!folder.path("c.txt").exists() && !folder.path("c.geojson").exists());
}

#[test]
fn weights() {
    let folder = tempdir().unwrap();
    let read = |name: &str, text: &str, weight: Option<&str>| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let columns = weight.map(|weight| ("weight".to_owned(), weight.to_owned())).into_iter().collect();
        let found = io::read_weighted(&path, &TableOptions { columns, ..TableOptions::default() });
        let without = io::read_with(&path, &TableOptions::default()).map(|graph| graph.list);
        found.map_err(|error| chain(&error).replace(&folder.path().join("").display().to_string(), "")).map(|(graph, weights)| {
            assert_eq!(graph.list, without.unwrap(), "{name}");
            weights
        })
    };
    let whole = io::Weights::Integers(vec![7, -3]);
    let graphml = |header: &str| {
        format!(
            "<graphml>{header}<graph edgedefault='undirected'><node id='a'/><node id='b'/><edge source='a' target='b'>\
             <data key='d0'>7</data></edge><edge source='b' target='a'/></graph></graphml>"
        )
    };
    let key = "<key id='d0' for='edge' attr.name='km' attr.type='int'><default>-3</default></key>";
    let line = |weight: &str| {
        let geometry = r#"{"type":"LineString","coordinates":[[0,0],[1,0]]}"#;
        format!(r#"{{"type":"Feature","properties":{{"weight":{weight}}},"geometry":{geometry}}}"#)
    };
    let map = |lines: &[String]| format!(r#"{{"type":"FeatureCollection","features":[{}]}}"#, lines.join(","));
    for (name, text, weight) in [
        ("a.csv", "source,target,weight\n5,6,7\n6,8,-3\n", None),
        ("a.csv", "km,b,a,note\n7,x,y,1\n-3,y,z,2\n", Some("km")),
        ("a.tsv", "u\tv\tlength\n5\t6\t7\n6\t8\t-3\n", None),
        ("a.txt", "# a list\n5 6 7\n6 8 -3 more\n", None),
        ("a.txt", "5;6;7\n6;8;-3\n", None),
        ("a.gr", "p sp 3 2\na 1 2 7\na 2 3 -3\n", None),
        ("a.mtx", "%%MatrixMarket matrix coordinate integer symmetric\n3 3 2\n2 1 7\n3 1 -3\n", None),
        ("a.graph", "3 2 001\n2 7 3 -3\n1 7\n1 -3\n", None),
        ("a.graphml", &graphml(key), Some("km")),
        ("a.graphml", &graphml(&key.replace("km", "weight")), None),
        ("a.graphml", &graphml(&format!("<key id='d9' for='edge' attr.name='km' attr.type='double'/>{key}")), Some("km")),
        ("a.geojson", &map(&[line("7"), line("\"-3\"")]), None),
    ] {
        assert_eq!(read(name, text, weight), Ok(whole.clone()), "{name}");
    }
    let halves = io::Weights::Floats(vec![7.0, -3.5, f64::INFINITY]);
    assert_eq!(read("a.txt", "0 1 7\n1 2 -3.5\n0 2 inf\n", None), Ok(halves.clone()));
    assert_eq!([halves.text(1), whole.text(1)], ["-3.5", "-3"]);
    let mut archive = NpzWriter::new(fs::File::create(folder.path().join("a.npz")).unwrap());
    for (name, values) in [("row", [0, 1]), ("col", [1, 2]), ("shape", [3, 3])] {
        archive.add_array(name, &arr1(&values)).unwrap();
    }
    archive.add_array("data", &arr1(&[7.0f32, -3.5])).unwrap();
    archive.finish().unwrap();
    let sparse = || io::read_weighted(folder.path().join("a.npz"), &TableOptions::default());
    assert_eq!(sparse().unwrap().1, io::Weights::Floats(vec![7.0, -3.5]));
    let mut archive = NpzWriter::new(fs::File::create(folder.path().join("a.npz")).unwrap());
    for (name, values) in [("row", [0, 1]), ("col", [1, 2]), ("shape", [3, 3])] {
        archive.add_array(name, &arr1(&values)).unwrap();
    }
    archive.add_array("data", &arr1(&[7.0, f64::NAN])).unwrap();
    archive.finish().unwrap();
    let error = sparse().unwrap_err().to_string();
    assert!(error.ends_with("a.npz: array `data`: the weight of edge 1 is NaN"), "{error}");

    let none = "no weights: use a table with a column `weight`, lines of two vertices and a weight, `p sp`, METIS with a \
                format that ends in 1, a matrix with values, or GraphML or GeoJSON with weights";
    for (name, text, sentence) in [
        (
            "a.csv",
            "source,target,km\n1,2,3\n",
            "line 1: there is no column `weight`, only `source`, `target`, `km`: choose one (--columns weight=NAME)",
        ),
        ("a.csv", "source,target,weight\n1,2,3\n2,3,much\n", "line 3: the weight must be a number, and is `much`"),
        ("a.csv", "source,target,weight\n1,2,nan\n", "line 2: the weight must be a number, and is `nan`"),
        ("a.txt", "0 1 7\n1 2\n", "line 2: the edge has no weight"),
        ("a.txt", "0 1 7\n1 2 -1e400\n", "line 2: the weight must be a number up to 1.8e308, and is `-1e400`"),
        ("a.graph", "2 1 1\n2 3\n1 4\n", "line 3: the edge to vertex 1 has the weight 4, but 3 in the other direction"),
        ("a.graph", "3 2 1\n2 3 3 3\n\n1 3 2 3\n", "has the edge of vertices 1 and 2 in one direction only"),
        (
            "a.mtx",
            "%%MatrixMarket matrix coordinate integer symmetric\n2 2 1\n2 1 5.5\n",
            "line 3: `5.5` is not an integer, but the header says that entries are",
        ),
        ("a.gr", "p sp 2 1\na 1 2 x\n", "line 2: the weight must be a number, and is `x`"),
        ("a.gr", "p edge 2 1\ne 1 2\n", &format!("line 1: its edges have {none}")),
        ("a.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n", &format!("line 3: a pattern has {none}")),
        ("a.graph", "2 1\n2\n1\n", &format!("line 1: its edges have {none}")),
        ("a.graphml", &graphml(key), "has no attribute `weight` of edges: choose one (--columns weight=NAME)"),
        ("a.geojson", &map(&[line("7"), line("null")]), "features[1]: the weight must be a number, and is `null`"),
        (
            "a.geojson",
            &map(&[line("7"), line("7,\"km\":2").replace("weight", "name")]),
            "features[1]: there is no property `weight`, only `name`, `km`: choose one (--columns weight=NAME)",
        ),
        (
            "a.geojson",
            &map(&[line("7").replace("\"weight\":7", "")]),
            "features[0]: there is no property `weight`, nor any other",
        ),
        (
            "a.geojson",
            r#"{"type":"LineString","coordinates":[[0,0],[1,0]]}"#,
            "has a line of no feature, and so without a weight",
        ),
    ] {
        assert_eq!(read(name, text, None), Err(format!("{name}: {sentence}")));
    }
}

//! Drawings of other programs: the contours that are read, by areas and sizes known from geometry.

use std::{collections::HashMap, f64::consts::PI};

use geo::{BoundingRect as _, Coord, Distance as _, Euclidean, LineString, Polygon};
use roxmltree::{Document, Node};
use svgtypes::{SimplePathSegment, SimplifyingPathParser};
use warpsmith::overlap::{
    Shape,
    io::{read_parts, read_poses, read_shapes},
    pack::Turns,
};

use crate::folder::Folder;

/// A DXF file: a code and a value on two lines each, from words.
fn dxf(words: &str) -> String {
    words.split_whitespace().fold(String::new(), |text, word| text + word + "\n")
}

/// A DXF file of these entities, in mm.
fn entities(words: &str) -> String {
    dxf(&format!("0 SECTION 2 HEADER 9 $INSUNITS 70 4 0 ENDSEC 0 SECTION 2 ENTITIES {words} 0 ENDSEC 0 EOF"))
}

fn size(shape: &Shape) -> [f64; 2] {
    let points = || shape.outlines()[0].iter();
    [0, 1].map(|axis| points().map(|p| p[axis]).fold(f64::MIN, f64::max) - points().map(|p| p[axis]).fold(f64::MAX, f64::min))
}

/// Checks the area, which may be more by the lines around curves, the size and the number of holes of a file's only part.
#[track_caller]
fn check(name: &str, text: &str, area: f64, [width, height]: [f64; 2], holes: usize) {
    let folder = Folder::of("");
    folder.write(name, text);
    let parts = read_parts(folder.path(name).to_str().unwrap(), Some(1e-3)).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(parts.len(), 1, "{text}");
    let shape = &parts[0].shape;
    let [w, h] = size(shape);
    let more = shape.area() - area;
    assert!(more > -1e-5 * area && more < 2e-3 * area.sqrt() * 8.0, "{} {area}: {text}", shape.area());
    assert!((-1e-4..2e-3).contains(&(w - width)) && (-1e-4..2e-3).contains(&(h - height)), "{w} {h}: {text}");
    assert_eq!(shape.outlines().len() - 1, holes, "{text}");
}

#[test]
fn entities_of_dxf() {
    let alone = |words: &str, area: f64, size: [f64; 2]| check("a.dxf", &entities(words), area, size, 0);
    alone("0 CIRCLE 8 0 10 3 20 4 40 5", 25.0 * PI, [10.0, 10.0]);
    // Lines in any order and direction, with gaps of half a micrometre. One is drawn twice.
    alone(
        "0 LINE 8 0 10 0 20 0 11 9 21 0 0 LINE 8 0 10 0 20 4 11 0.0005 21 0 0 LINE 8 0 10 9 20 4 11 0 21 4 \
         0 LINE 8 0 10 9 20 4.0005 11 9 21 0 0 LINE 8 0 10 0 20 4 11 9 21 4",
        36.0,
        [9.0, 4.0],
    );
    // Small contours next to each other are not taken for one, and a large one may have larger gaps.
    let tiny = "0 CIRCLE 8 0 10 0 20 0 40 0.001 0 CIRCLE 8 0 10 0.003 20 0 40 0.001 0 CIRCLE 8 0 10 0.0015 20 0 40 0.004";
    let folder = Folder::of("");
    folder.write("tiny.dxf", &entities(tiny));
    assert_eq!(read_shapes(folder.path("tiny.dxf").to_str().unwrap()).unwrap()[0].outlines().len(), 3);
    let triangle =
        "0 LINE 8 0 10 0 20 0 11 300 21 0.009 0 LINE 8 0 10 300 20 0 11 0 21 400 0 LINE 8 0 10 0 20 400.008 11 0.006 21 0";
    folder.write("large.dxf", &entities(triangle));
    assert!((read_shapes(folder.path("large.dxf").to_str().unwrap()).unwrap()[0].area() - 60_000.0).abs() < 4.0);
    // A slot of two lines and two arcs; seen from below, its angles and x are mirrored.
    let slot = |arcs: &str| format!("0 LINE 8 0 10 0 20 -2 11 9 21 -2 0 LINE 8 0 10 0 20 2 11 9 21 2 {arcs}");
    alone(&slot("0 ARC 8 0 10 0 20 0 40 2 50 90 51 270 0 ARC 8 0 10 9 20 0 40 2 50 270 51 90"), 36.0 + 4.0 * PI, [13.0, 4.0]);
    let below = "210 0 220 0 230 -1";
    alone(
        &slot(&format!("0 ARC 8 0 10 0 20 0 40 2 50 270 51 90 {below} 0 ARC 8 0 10 -9 20 0 40 2 50 90 51 270 {below}")),
        36.0 + 4.0 * PI,
        [13.0, 4.0],
    );
    // Polylines: bulges of half circles outwards and of a quarter inwards, a large arc, and old ones with vertices.
    alone("0 LWPOLYLINE 8 0 90 4 70 1 10 0 20 -2 10 9 20 -2 42 1 10 9 20 2 10 0 20 2 42 1", 36.0 + 4.0 * PI, [13.0, 4.0]);
    let quarter = (PI / 8.0).tan();
    alone(&format!("0 LWPOLYLINE 8 0 90 3 70 1 10 0 20 0 10 4 20 0 42 -{quarter} 10 0 20 4"), 16.0 - 4.0 * PI, [4.0, 4.0]);
    let three = (3.0 * PI / 8.0).tan();
    alone(&format!("0 LWPOLYLINE 8 0 90 3 70 1 10 0 20 0 10 2 20 0 42 {three} 10 0 20 2"), 3.0 * PI + 2.0 + 2.0, [4.0, 4.0]);
    let vertex = |x: f64, y: f64, bulge: f64| format!("0 VERTEX 8 0 10 {x} 20 {y} 42 {bulge} ");
    let old = vertex(0.0, -2.0, 0.0) + &vertex(9.0, -2.0, 1.0) + &vertex(9.0, 2.0, 0.0) + &vertex(0.0, 2.0, 1.0);
    alone(&format!("0 POLYLINE 8 0 66 1 70 1 {old} 0 SEQEND"), 36.0 + 4.0 * PI, [13.0, 4.0]);
    alone(&format!("0 POLYLINE 8 0 70 1 {old} 0 SEQEND 8 0"), 36.0 + 4.0 * PI, [13.0, 4.0]);
    // Ellipses: a whole turned one, and halves of one, of which one is seen from below.
    alone("0 ELLIPSE 8 0 10 1 20 2 11 0 21 6 40 0.5 41 0 42 6.283185307179586", 18.0 * PI, [6.0, 12.0]);
    for (normal, from, to) in [("", "0", "3.141592653589793"), (below, "3.141592653589793", "6.283185307179586")] {
        alone(
            &format!("0 ELLIPSE 8 0 10 0 20 0 11 6 21 0 40 0.5 41 {from} 42 {to} {normal} 0 LINE 8 0 10 6 20 0 11 -6 21 0"),
            9.0 * PI,
            [12.0, 3.0],
        );
    }
    // Splines: a cubic with a knot, of which the parabola is known, and a whole circle of rational ones.
    let knots = |knots: &[f64]| knots.iter().fold(String::new(), |text, knot| text + &format!("40 {knot} "));
    let points = |points: &[[f64; 2]]| points.iter().fold(String::new(), |text, [x, y]| text + &format!("10 {x} 20 {y} "));
    // y = x (6 - x) by its polar form at the knots, whose cubic control points are at the means of three knots.
    let polar = |[a, b, c]: [f64; 3]| [(a + b + c) / 3.0, 2.0 * (a + b + c) - (a * b + b * c + c * a) / 3.0];
    let controls = [[0.0, 0.0, 0.0], [0.0, 0.0, 2.0], [0.0, 2.0, 6.0], [2.0, 6.0, 6.0], [6.0; 3]].map(polar);
    let parabola = knots(&[0.0, 0.0, 0.0, 0.0, 2.0, 6.0, 6.0, 6.0, 6.0]) + &points(&controls);
    alone(&format!("0 SPLINE 8 0 71 3 72 9 73 5 {parabola} 0 LINE 8 0 10 0 20 0 11 6 21 0"), 36.0, [6.0, 9.0]);
    let circle = knots(&[0.0, 0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0, 4.0]);
    let around =
        [[3.0, 0.0], [3.0, 3.0], [0.0, 3.0], [-3.0, 3.0], [-3.0, 0.0], [-3.0, -3.0], [0.0, -3.0], [3.0, -3.0], [3.0, 0.0]];
    let weights = (0..9).fold(String::new(), |text, k| text + &format!("41 {} ", if k % 2 == 1 { 0.5f64.sqrt() } else { 1.0 }));
    alone(&format!("0 SPLINE 8 0 70 5 71 2 72 12 73 9 {circle} {weights} {}", points(&around)), 9.0 * PI, [6.0, 6.0]);
    // Coordinates of a survey count from the drawing's corner.
    alone("0 CIRCLE 8 0 10 4500000 20 5500000 40 10", 100.0 * PI, [20.0, 20.0]);
    // Layers that are off or frozen, the paper, and entities that are invisible or no contours are left out.
    let layers = "0 SECTION 2 TABLES 0 TABLE 2 LAYER 70 2 0 LAYER 2 off 70 0 62 -7 0 LAYER 2 cold 70 1 62 7 0 ENDTAB 0 ENDSEC";
    let left_out = "0 LINE 8 OFF 10 0 20 0 11 9 21 0 0 CIRCLE 8 cold 10 0 20 0 40 90 0 CIRCLE 8 0 67 1 10 0 20 0 40 90 \
        0 LINE 8 Defpoints 10 0 20 0 11 9 21 0 0 CIRCLE 8 0 60 1 10 0 20 0 40 90 \
        0 TEXT 8 0 1 words 0 HATCH 8 0 0 POINT 8 0 10 0 20 0";
    let text = dxf(&format!("{layers} 0 SECTION 2 ENTITIES 0 CIRCLE 8 1 10 0 20 0 40 1 {left_out} 0 ENDSEC 0 EOF"));
    check("a.dxf", &text, PI, [2.0, 2.0], 0);
}

/// Blocks within blocks, turned, mirrored, stretched and in rows; their names, and units.
#[test]
fn blocks_of_dxf() {
    let folder = Folder::of("");
    let blocks = "0 SECTION 2 BLOCKS \
        0 BLOCK 2 L 10 1 20 1 0 LWPOLYLINE 8 0 90 6 70 1 10 1 20 1 10 4 20 1 10 4 20 2 10 2 20 2 10 2 20 3 10 1 20 3 0 ENDBLK \
        0 BLOCK 2 pair 0 INSERT 8 0 2 l 10 0 20 0 0 INSERT 8 0 2 L 10 10 20 0 50 90 41 -2 42 1 0 ENDBLK 0 ENDSEC";
    let text = |entities: &str| {
        dxf(&format!("0 SECTION 2 HEADER 9 $INSUNITS 70 1 0 ENDSEC {blocks} 0 SECTION 2 ENTITIES {entities} 0 ENDSEC 0 EOF"))
    };
    folder.write("a.dxf", &text("0 INSERT 8 CUT 2 PAIR 10 100 20 0 70 2 71 3 44 50 45 20 66 1 0 ATTRIB 8 0 1 x 0 SEQEND 0 CIRCLE 8 CUT 10 0 20 0 40 1"));
    let shapes = read_shapes(folder.path("a.dxf").to_str().unwrap()).unwrap();
    let names: Vec<_> = shapes.iter().map(|shape| shape.name()).collect();
    assert_eq!((names.len(), names[0], names[11], names[12]), (13, "PAIR 1", "PAIR 12", "CUT"));
    let inch = 25.4;
    let mut corners = Vec::new();
    for pair in shapes[..12].chunks(2) {
        let [one, two] = pair else { unreachable!() };
        assert!((one.area() / (inch * inch) - 4.0).abs() < 1e-9 && (two.area() / (inch * inch) - 8.0).abs() < 1e-9);
        assert!(size(one).iter().zip([3.0, 2.0]).all(|(size, length)| (size / inch - length).abs() < 1e-9));
        // A quarter turn, of the first one stretched to twice its length.
        assert!(size(two).iter().zip([2.0, 6.0]).all(|(size, length)| (size / inch - length).abs() < 1e-9));
        let low = |axis: usize| one.outlines()[0].iter().map(|p| p[axis] / inch).fold(f64::MAX, f64::min).round() as i32;
        corners.push([low(0), low(1)]);
    }
    corners.sort_unstable();
    assert_eq!(corners, [[100, 0], [100, 20], [100, 40], [150, 0], [150, 20], [150, 40]]);
    // A block of another file is named once.
    let blocks = "0 BLOCK 2 other 70 4 1 ../other.dxf 0 ENDBLK 0 BLOCK 2 unused 70 4 0 ENDBLK";
    let inserts = "0 CIRCLE 40 1 0 INSERT 2 other 0 INSERT 2 OTHER 10 5";
    let sections = format!("0 SECTION 2 BLOCKS {blocks} 0 ENDSEC 0 SECTION 2 ENTITIES {inserts} 0 ENDSEC 0 EOF");
    folder.write("b.dxf", &dxf(&format!("0 SECTION 2 HEADER 9 $INSUNITS 70 4 0 ENDSEC {sections}")));
    let output = folder.run("nest b.dxf --sheet 9x9 --time 100ms --output b.csv");
    let warning = "warning: b.dxf: the block `other` is left out: it is in another file, `../other.dxf`\n";
    assert_eq!((output.status.code(), &*String::from_utf8(output.stderr).unwrap()), (Some(0), warning));
}

/// Contours on any layers: the outermost ones are parts, and others are in turn holes and parts.
#[test]
fn holes_of_dxf() {
    let folder = Folder::of("");
    let circle = |layer: &str, x: f64, radius: f64| format!("0 CIRCLE 8 {layer} 10 {x} 20 0 40 {radius} ");
    let text = entities(
        &(circle("HOLES", 0.0, 4.0) + &circle("OUTER", 0.0, 5.0) + &circle("OUTER", 1.0, 2.0) + &circle("OUTER", 20.0, 1.0)),
    );
    folder.write("a.dxf", &text);
    let mut found: Vec<_> = read_shapes(folder.path("a.dxf").to_str().unwrap()).unwrap();
    found.sort_by(|a, b| a.area().total_cmp(&b.area()));
    let expected = [("OUTER 3", PI, 1), ("OUTER 2", 4.0 * PI, 1), ("OUTER 1", 9.0 * PI, 2)];
    for (shape, (name, area, rings)) in found.iter().zip(expected) {
        assert_eq!((shape.name(), shape.outlines().len()), (name, rings));
        assert!((shape.area() - area).abs() < 0.01 * area, "{name}");
    }
    assert_eq!(found.len(), 3);
}

/// In names, `^` has a space after it.
#[test]
fn names_of_layers() {
    let folder = Folder::of("");
    let layers = "0 SECTION 2 TABLES 0 TABLE 2 LAYER 0 LAYER 2 OFF_\u{fc} 62 -7 0 ENDTAB 0 ENDSEC";
    let circles = "0 CIRCLE 8 ON_\u{fc} 40 1 0 CIRCLE 8 Off_\u{fc} 40 2 0 CIRCLE 8 B 10 9 40 2";
    let text = dxf(&format!("{layers} 0 SECTION 2 ENTITIES {circles} 0 ENDSEC 0 EOF")).replace('_', "^ ");
    folder.write("a.dxf", &text);
    let shapes = read_shapes(folder.path("a.dxf").to_str().unwrap()).unwrap();
    assert_eq!(shapes.iter().map(Shape::name).collect::<Vec<_>>(), ["ON^\u{fc}", "B"]);
}

#[test]
fn dxf_that_can_not_be_read() {
    let folder = Folder::of("");
    let fails = |text: &str, sentence: &str| {
        folder.write("a.dxf", text);
        let error = read_shapes(folder.path("a.dxf").to_str().unwrap()).unwrap_err().to_string();
        assert!(error.contains("a.dxf") && error.contains(sentence), "{error}");
    };
    let square = "0 LWPOLYLINE 8 0 90 3 70 1 10 0 20 0 10 4 20 0 10 4 20 4 ";
    let with = |words: &str| entities(&format!("{square}{words}"));
    fails("", "is not complete: it ends before the line EOF");
    fails("AutoCAD Binary DXF\r\n\u{1a}\0", "is a binary DXF file: save it as text");
    fails("<svg/>\n\n", "line 1: `<svg/>` must be a number, the code of the next line");
    fails(&entities(""), "has no closed contour of lines");
    fails(&entities("0 TEXT 1 x 10 0 20 0"), "has no closed contour of lines");
    fails(&with("0 LINE 8 CUT 10 1 20 2 11 3.5 21 2"), "the LINE on layer `CUT` is not closed: it ends at (3.5, 2)");
    fails(&with("0 LINE 8 CUT 10 1 20 2 11 3x 21 2"), "line 44: `3x` must be a number");
    fails(&with("0 LINE 8 CUT 10 1 20 2 11 inf 21 2"), "line 44: `inf` must be a number");
    fails(&with("0 LWPOLYLINE 8 CUT 70 99999"), "line 40: `99999` must be a whole number");
    fails(&entities("0 LINE 8 CUT 10 4e6 20 2e6 11 4000003.5 21 2e6"), "is not closed: it ends at (4000003.5, 2000000)");
    fails(&with("0 CIRCLE 8 CUT 10 0 20 0 40 2e6"), "the CIRCLE on layer `CUT` reaches too far");
    fails(&with("0 CIRCLE 8 CUT 10 0 20 0"), "the CIRCLE on layer `CUT` can't be read: its radius must be positive");
    fails(&with("0 ARC 8 CUT 40 -2 50 0 51 90"), "the ARC on layer `CUT` can't be read: its radius must be positive");
    fails(&with("0 LWPOLYLINE 8 CUT 42 1 10 0 20 0"), "the LWPOLYLINE on layer `CUT` can't be read: its first vertex has no x");
    fails(&entities(square).replace("ENDSEC\n0\nEOF", "EOF"), "line 36: `EOF` is out of place");
    fails(&dxf("0 SECTION 2 BLOCKS 0 LINE 10 0 20 0"), "line 6: `LINE` is out of place");
    for words in ["0 SEQEND", "0 ENDBLK", "0 BLOCK 2 B", "0 VERTEX", "0 ENDSEC 0 LINE"] {
        fails(&with(words), "is out of place");
    }
    fails(
        &with("0 CIRCLE 8 CUT 10 0 20 0 40 2 210 1 220 0 230 0"),
        "the CIRCLE on layer `CUT` can't be read: it isn't in the plane",
    );
    fails(&with("0 SPLINE 8 S 71 3 10 0 20 0"), "it has degree 3, 1 control points and 0 knots, which don't fit");
    fails(&with("0 SPLINE 8 S 71 1 40 0 40 1 40 0 40 2 10 0 20 0 10 1 20 0"), "its knots are not in order");
    fails(&with("0 SPLINE 8 S 71 3 11 0 21 0 11 1 21 2"), "it has fit points only");
    fails(
        &with("0 INSERT 8 0 2 none 10 0 20 0"),
        "the INSERT of block `none` on layer `0` can't be read: there is no such block",
    );
    let nested = "0 SECTION 2 BLOCKS 0 BLOCK 2 B 0 INSERT 8 0 2 B 10 0 20 0 70 9 71 9 0 ENDBLK 0 ENDSEC \
        0 SECTION 2 ENTITIES 0 INSERT 8 0 2 B 10 0 20 0 0 ENDSEC 0 EOF";
    fails(&dxf(nested), "is within more than 32 others");
    fails(
        &dxf(&nested.replace(
            "0 INSERT 8 0 2 B 10 0 20 0 70 9 71 9 0",
            "0 INSERT 8 0 2 C 10 0 20 0 70 999 71 999 0 ENDBLK 0 BLOCK 2 C 0",
        )),
        "has more than 100000 vertices",
    );
    fails(&with("").replace("70\n4\n", "70\n18\n"), "has lengths in a unit that isn't known here: $INSUNITS is 18");
    // Cut off anywhere, a file is an error; with a wrong byte, an error or read.
    let whole = with("0 SPLINE 8 S 71 1 40 0 40 0 40 1 40 1 10 9 20 0 10 8 20 0 0 ARC 8 S 10 8.5 20 0 40 0.5 50 0 51 180");
    folder.write("a.dxf", &whole);
    assert_eq!(read_shapes(folder.path("a.dxf").to_str().unwrap()).unwrap().len(), 2);
    for end in 0..whole.len() - 2 {
        folder.write("a.dxf", &whole[..end]);
        assert!(read_shapes(folder.path("a.dxf").to_str().unwrap()).is_err(), "{end}");
    }
    for at in 0..whole.len() {
        for byte in ["9", "-", "\n", "", "e", "\u{fc}"] {
            folder.write("a.dxf", &format!("{}{byte}{}", &whole[..at], &whole[at + 1..]));
            let _ = read_shapes(folder.path("a.dxf").to_str().unwrap());
        }
    }
}

/// Instances of jagua-rs and sparrow.
#[test]
fn instances() {
    let folder = Folder::of("");
    let square = |x: f64, side: f64| format!("[[{x},0],[{0},0],[{0},{side}],[{x},{side}],[{x},0]]", x + side);
    let item = |id: u32, demand: u32, angles: &str, kind: &str, data: &str| {
        format!("{{\"id\": {id}, \"demand\": {demand}, {angles} \"shape\": {{\"type\": \"{kind}\", \"data\": {data}}}}}")
    };
    let half = "\"allowed_orientations\": [0.0, 180.0],";
    let write = |name: &str, items: &[String]| {
        folder.write(name, &format!("{{\"name\": \"i\", \"items\": [{}], \"strip_height\": 40.0}}", items.join(", ")));
    };
    let with_hole = format!("{{\"outer\": {}, \"inner\": [[[1,1],[2,1],[2,2],[1,2]]]}}", square(0.0, 5.0));
    let two = format!("[{{\"outer\": {}}}, {{\"outer\": {}, \"inner\": []}}]", square(0.0, 2.0), square(4.0, 3.0));
    let items = [
        item(0, 3, half, "simple_polygon", &square(0.0, 6.0)),
        item(7, 2, half, "polygon", &with_hole),
        item(8, 1, half, "multi_polygon", &two),
        item(9, 4, half, "rectangle", "{\"x_min\": 1, \"y_min\": 2, \"width\": 3, \"height\": 1.5}"),
    ];
    write("i.json", &items);
    let parts = read_parts(folder.path("i.json").to_str().unwrap(), None).unwrap();
    let found: Vec<_> = parts.iter().map(|part| (part.shape.name(), part.count, part.shape.area())).collect();
    assert_eq!(found, [("i 0", 3, 36.0), ("i 7", 2, 24.0), ("i 8", 1, 13.0), ("i 9", 4, 4.5)]);
    assert!(parts.iter().all(|part| part.turns == Turns::HALVES));
    // A part of two squares is cut as these.
    let squares = parts[2].bulges([0.0; 3]);
    assert_eq!(squares.iter().map(Vec::len).collect::<Vec<_>>(), [4, 4]);

    folder.good("nest i.json:2 --sheet 40x40 --time 1s --output p.json");
    let text = std::fs::read_to_string(folder.path("p.json")).unwrap();
    let places: serde_json::Value = serde_json::from_str(&text).unwrap();
    let places = places.as_array().unwrap();
    let of = |name: &str| places.iter().filter(|place| place["part"] == name).count();
    assert_eq!(["i 0", "i 7", "i 8", "i 9"].map(of), [6, 4, 2, 8]);
    for place in places {
        let turns = place["theta"].as_f64().unwrap() / PI;
        assert!((turns - turns.round()).abs() < 1e-9, "{place}");
    }

    let one = |angles: &str| item(1, 1, angles, "simple_polygon", &square(0.0, 1.0));
    // Sets of their own, unless the command says otherwise.
    let bar = |id: u32, angles: &str| {
        let angles = format!("\"allowed_orientations\": [{angles}],");
        item(id, 4, &angles, "rectangle", "{\"x_min\": 0, \"y_min\": 0, \"width\": 5, \"height\": 1}")
    };
    write("own.json", &[bar(0, "0"), bar(1, "90, 450"), bar(2, "-45, 30"), item(3, 2, "", "simple_polygon", &square(0.0, 1.0))]);
    for (options, allowed) in [
        ("", [Some(&[0.0][..]), Some(&[90.0]), Some(&[-45.0, 30.0]), None]),
        ("--turns 90,", [Some(&[90.0]); 4]),
        ("--turns none --turns i_1=0,60 --turns i_3=any", [Some(&[0.0]), Some(&[0.0, 60.0]), Some(&[0.0]), None]),
    ] {
        // Names have a space.
        let command = format!("nest own.json --sheet 12x12 {options} --time 1s --output p.json");
        let arguments: Vec<_> = command.split_whitespace().map(|argument| argument.replace('_', " ")).collect();
        let output = folder.run_each(arguments.iter().map(String::as_str));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = std::fs::read_to_string(folder.path("p.json")).unwrap();
        let places: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
        assert_eq!(places.len(), 14);
        for place in places {
            let name = place["part"].as_str().unwrap();
            let theta = place["theta"].as_f64().unwrap().to_degrees();
            let own = allowed[usize::from(name.as_bytes()[2] - b'0')];
            assert!(own.is_none_or(|own| own.iter().any(|angle| (angle - theta).abs() < 1e-9)), "{options}: {place}");
        }
    }
    folder.bad(
        "nest own.json --sheet 9x9 --turns bar=90 --output p.json",
        "--turns: no part is called bar; the parts are i 0, i 1",
    );
    folder.bad("nest own.json --sheet 9x9 --turns 90 --turns 0,x --output p.json", "`x` is not an angle: write any, none");
    folder.bad("nest own.json --sheet 9x9 --turns 7 --output p.json", "7 does not divide 360");
    let packed = "overlap pack --shape own.json --turns i_3=none --turns i_2=60 --steps 300 --starts 1 --output packed.csv";
    let arguments: Vec<_> = packed.split_whitespace().map(|argument| argument.replace('_', " ")).collect();
    let output = folder.run_each(arguments.iter().map(String::as_str));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let file = read_poses(&folder.path("packed.csv")).unwrap().packings;
    assert_eq!(file.shapes().unwrap(), [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3]);
    for (pose, shape) in file.poses().iter().zip(file.shapes().unwrap()) {
        let sixths = pose[2].to_degrees() / 60.0;
        let off = [pose[2], pose[2] - PI / 2.0, sixths - sixths.round(), pose[2]][*shape as usize];
        assert!(off.abs() < 1e-12, "{shape}: {pose:?}");
    }

    // As jagua-rs writes it: an instance again, and poses as in the report.
    let output = folder.run("nest own.json:2 --sheet 7x8:1 --sheet 12x12 --time 1s --output q.sparrow.json --json");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let solved: serde_json::Value = serde_json::from_slice(&std::fs::read(folder.path("q.sparrow.json")).unwrap()).unwrap();
    let again = read_parts(folder.path("q.sparrow.json").to_str().unwrap(), None).unwrap();
    let given = read_parts(folder.path("own.json").to_str().unwrap(), None).unwrap();
    assert_eq!(again.len(), given.len());
    for (again, given) in again.iter().zip(&given) {
        assert_eq!((again.shape.outlines(), &again.turns, again.id), (given.shape.outlines(), &given.turns, given.id));
        assert_eq!(again.count, 2 * given.count);
    }
    let layouts = solved["solution"]["layouts"].as_array().unwrap();
    let sheets = report["sheets"].as_array().unwrap();
    assert!(layouts.len() == sheets.len() && sheets.len() > 1 && solved["solution"]["cost"] == sheets.len());
    let mut places = report["places"].as_array().unwrap().iter();
    for (number, (layout, sheet)) in layouts.iter().zip(sheets).enumerate() {
        let bin = &solved["bins"][layout["container_id"].as_u64().unwrap() as usize]["shape"]["data"];
        assert_eq!((&bin["width"], &bin["height"]), (&sheet["width"], &sheet["height"]));
        assert!((layout["density"].as_f64().unwrap() - sheet["density"].as_f64().unwrap()).abs() < 1e-12);
        for item in layout["placed_items"].as_array().unwrap() {
            let place = places.next().unwrap();
            let transformation = &item["transformation"];
            assert_eq!((&place["part"], &place["sheet"]), (&format!("i {}", item["item_id"]).into(), &(number + 1).into()));
            assert_eq!(transformation["translation"], serde_json::json!([place["x"], place["y"]]));
            let rotation = transformation["rotation"].as_f64().unwrap().to_radians();
            assert!((rotation - place["theta"].as_f64().unwrap()).abs() < 1e-12);
        }
    }
    assert!(places.next().is_none());
    // A roll is the strip.
    let output = folder.run("nest own.json --roll 12 --time 1s --output r.sparrow.json --json");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let solved: serde_json::Value = serde_json::from_slice(&std::fs::read(folder.path("r.sparrow.json")).unwrap()).unwrap();
    let (sheet, solution) = (&report["sheets"][0], &solved["solution"]);
    assert_eq!((&solved["strip_height"], &solution["strip_width"]), (&serde_json::json!(12.0), &sheet["width"]));
    assert!(solved["bins"].is_null() && (&sheet["height"], &sheet["width"]) == (&solved["strip_height"], &sheet["used"]));
    let placed = solution["layout"]["placed_items"].as_array().unwrap();
    let places = report["places"].as_array().unwrap();
    assert!(placed.len() == places.len() && !placed.is_empty());
    for (item, place) in placed.iter().zip(places) {
        assert_eq!(item["transformation"]["translation"], serde_json::json!([place["x"], place["y"]]));
    }
    write("far.json", &[one("\"allowed_orientations\": [0, 1e999],")]);
    folder.bad("nest far.json --sheet 9x9 --output p.json", "far.json: is not JSON: number out of range");
    for (items, sentence) in [
        ("{}", "`items` is not an array"),
        ("[{\"demand\": -1}]", "`items[0].demand` is not a whole number"),
        (
            "[{\"demand\": 0, \"shape\": {\"type\": \"simple_polygon\", \"data\": [[0, 0], [1, 0], [0, 1]]}}]",
            "bad.json: `items[0].demand` is 0, but at least one item must have a copy",
        ),
        ("[{\"allowed_orientations\": [\"x\"]}]", "`items[0].allowed_orientations` is not an array of angles"),
        ("[{\"allowed_orientations\": []}]", "`items[0].allowed_orientations`: there must be at least one angle"),
        ("[{\"shape\": {\"type\": \"x\"}}]", "`items[0].shape.type` must be simple_polygon, polygon"),
        (
            "[{\"shape\": {\"type\": \"simple_polygon\", \"data\": [[0, 1], [2]]}}]",
            "`items[0].shape.data[1]` is not an array of two",
        ),
        ("[{\"shape\": {\"type\": \"polygon\", \"data\": {}}}]", "`items[0].shape.data.outer` is not an array"),
        ("[{\"shape\": {\"type\": \"rectangle\", \"data\": {}}}]", "`items[0].shape.data.x_min` is not a number"),
        ("[]", "has no polygon"),
    ] {
        folder.write("bad.json", &format!("{{\"items\": {items}}}"));
        folder.bad("nest bad.json --sheet 9x9 --output p.json", sentence);
    }
}

/// Copies of elements and symbols in SVG, and what is switched off.
#[test]
fn copies_in_svg() {
    let folder = Folder::of("");
    let read = |inner: &str| {
        let root = "<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink' width='100mm' viewBox='0 0 100 9'>";
        folder.write("a.svg", &format!("{root}{inner}</svg>"));
        read_shapes(folder.path("a.svg").to_str().unwrap())
    };
    let corner = |shape: &Shape| {
        let points = || shape.outlines()[0].iter();
        [points().map(|p| p[0]).fold(f64::MAX, f64::min), points().map(|p| p[1]).fold(f64::MIN, f64::max)]
    };
    let shapes = read(
        "<defs><rect id='r' width='2' height='3'/><g id='two'><use href='#r'/><use xlink:href='#r' x='10' id='own'/></g></defs>\
        <symbol id='s' viewBox='5 5 10 20'><path id='in' d='M5 5h10v20h-10z'/></symbol>\
        <use href='#two' transform='translate(20 -5) scale(2)'/><use id='u' href='#s' x='50' y='-9' width='30' height='10'/>\
        <g style='stroke: none; display : none'><circle r='9'/></g><circle display='none' r='9'/><rect id='last' width='1' height='1'/>",
    )
    .unwrap();
    let found: Vec<_> = shapes.iter().map(|shape| (shape.name(), size(shape), corner(shape))).collect();
    let expected = [
        ("r", [4.0, 6.0], [20.0, 5.0]),
        ("own", [4.0, 6.0], [40.0, 5.0]),
        // Half as large, in the middle of the width.
        ("u", [5.0, 10.0], [62.5, 9.0]),
        ("last", [1.0, 1.0], [0.0, 0.0]),
    ];
    assert_eq!(found, expected);
    let error = |inner: &str| read(inner).unwrap_err().to_string();
    assert!(error("<g id='a'><use href='#a'/></g>").contains("has more than 256 elements within each other"));
    let doubled =
        (0..30).fold(String::new(), |text, k| text + &format!("<g id='g{k}'><use href='#g{0}'/><use href='#g{0}'/></g>", k + 1));
    assert!(error(&doubled).contains("has more than 1000000 elements with all copies"));
}

/// Writes a drawing of 100 x 100 mm, reads it by a command, and returns the names and sizes of its parts, and the warnings.
fn nested(inner: &str) -> (Vec<(String, [f64; 2])>, String) {
    let folder = Folder::of("");
    let root = "<svg xmlns='http://www.w3.org/2000/svg' width='100mm' height='100mm' viewBox='0 0 100 100'>";
    folder.write("a.svg", &format!("{root}\n{inner}<rect id='last' width='1' height='1'/></svg>"));
    let parts = read_parts(folder.path("a.svg").to_str().unwrap(), None).unwrap_or_else(|error| panic!("{error}: {inner}"));
    let output = folder.run("nest a.svg --sheet 300x300 --turns none --time 100ms --output b.csv");
    let rounded = |shape: &Shape| size(shape).map(|length| (length * 1e6).round() / 1e6);
    let mut found: Vec<_> = parts.iter().map(|part| (part.shape.name().to_owned(), rounded(&part.shape))).collect();
    assert_eq!(found.pop().unwrap().1, [1.0; 2]);
    (found, String::from_utf8(output.stderr).unwrap())
}

/// View boxes of `svg` elements within others and of symbols.
#[test]
fn views_in_svg() {
    let (rect, used) = ("<rect id='r' width='5' height='2'/>", "<use href='#s' width='50' height='50'/>");
    for (inner, expected) in [
        (format!("<svg width='50' height='50' viewBox='0 0 10 10'>{rect}</svg>"), [25.0, 10.0]),
        (format!("<svg width='5in' height='480px' viewBox='0 0 10 10'>{rect}</svg>"), [240.0, 96.0]),
        (format!("<svg width='50%' viewBox='0 0 10 10' preserveAspectRatio='xMaxYMid slice'>{rect}</svg>"), [50.0, 20.0]),
        (format!("<svg viewBox='0 0 10 10'><svg height='50%' viewBox='0 0 50 50'>{rect}</svg></svg>"), [5.0, 2.0]),
        (format!("<svg x='7' width='9'>{rect}</svg>"), [5.0, 2.0]),
        (format!("<defs><svg id='s' viewBox='0 0 10 10' width='3'>{rect}</svg></defs>{used}"), [25.0, 10.0]),
        (format!("<symbol id='s' preserveAspectRatio='none' viewBox='0 0 10 20'>{rect}</symbol>{used}"), [25.0, 5.0]),
        (format!("<symbol id='s' viewBox='0 0 10 20'>{rect}</symbol>{used}"), [12.5, 5.0]),
        (format!("<symbol id='s' viewBox='0 0 10 20'>{rect}</symbol><use href='#s'/>"), [25.0, 10.0]),
    ] {
        let (found, warnings) = nested(&inner);
        assert_eq!((found.len(), found[0].1, &*warnings), (1, expected, ""), "{inner}");
    }
    assert_eq!(nested(&format!("<svg width='0' viewBox='0 0 10 10'>{rect}</svg>")).0, []);
    // Places in a size that is twice as high as wide: the left and the upper edge.
    let folder = Folder::of("");
    for (aspect, expected) in [("xMinYMax", [1.0, 13.0]), ("xMidYMid meet", [1.0, 8.0]), ("xMaxYMin slice", [-9.0, 3.0])] {
        let text = format!(
            "<svg><svg x='1' y='3' width='10' height='20' viewBox='5 5 1 1' preserveAspectRatio='{aspect}'>\
            <rect x='5' y='5' width='1' height='1'/></svg></svg>"
        );
        folder.write("a.svg", &text);
        let shapes = read_shapes(folder.path("a.svg").to_str().unwrap()).unwrap();
        let edges = [0, 1].map(|axis| shapes[0].outlines()[0].iter().map(|p| [p[0], -p[1]][axis]).fold(f64::MAX, f64::min));
        assert_eq!(edges, expected, "{aspect}");
    }
}

/// Elements that attributes, styles and rules hide are not cut.
#[test]
fn hidden_in_svg() {
    let names = |inner: &str| nested(inner).0.into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    let rect = |id: &str, attributes: &str| format!("<rect id='{id}' width='9' height='9' {attributes}/>");
    let drawn = rect("drawn", "");
    for hidden in [
        format!("<style>.st0{{display:none;}}</style>{}", rect("a", "class='x st0'")),
        format!("<style><![CDATA[/* a{{ */ circle, #a {{ fill: red; Display: none }}]]></style><circle r='9'/>{}", rect("a", "")),
        format!("<style>.x{{visibility:hidden!important}} .x{{visibility:visible}}</style>{}", rect("a", "class='x'")),
        rect("a", "visibility='hidden'"),
        rect("a", "style='visibility: collapse'"),
        format!("<g visibility='hidden'><use href='#drawn'/>{}</g>", rect("a", "")),
        format!("<metadata>{0}</metadata><switch><foreignObject requiredExtensions='x'/><g/>{0}</switch>", rect("a", "")),
        format!("<switch>{}<g systemLanguage='de,en-GB'/>{}</switch>", rect("a", "systemLanguage='de'"), rect("b", "")),
        format!("<unknown>{}</unknown>", rect("a", "")),
        format!("<x:rect xmlns:x='urn:x' width='9' height='9'/><x:g xmlns:x='urn:x'>{}</x:g>", rect("a", "")),
    ] {
        assert_eq!(names(&format!("{hidden}{drawn}")), ["drawn"], "{hidden}");
    }
    let shown = "<style>.x{display:none} #drawn{display:inline}</style><g style='visibility:hidden'>".to_owned();
    assert_eq!(names(&format!("{shown}{}</g>", rect("drawn", "class='x' visibility='visible'"))), ["drawn"]);
    for element in ["foreignObject", "flowRoot"] {
        let (found, warnings) = nested(&format!("<{element} id='f'><g>{}</g></{element}>{drawn}", rect("fo", "")));
        assert_eq!(found.len(), 1);
        assert!(warnings.contains(&format!("the {element} `f` on line 2 is left out")), "{warnings}");
    }
    let (_, warnings) = nested("<style>@font-face { src: x }\n.a { fill: red }\n.a:hover, .b\n> .a { display: none }</style>");
    assert!(warnings.contains("the style rule on line 5 is left out"), "{warnings}");
}

/// Transforms in styles and rules.
#[test]
fn transforms_in_styles() {
    let rect = |style: &str| format!("<rect id='r' class='c' width='5' height='2' {style}/>");
    for (inner, expected) in [
        (rect("style='transform:scale(3)'"), [15.0, 6.0]),
        (rect("transform='scale(2)' style='transform: translate(5px, 2px) rotate(90deg)'"), [2.0, 5.0]),
        (format!("<style>.c {{ transform: scale(2) }}</style>{}", rect("transform='scale(3)'")), [10.0, 4.0]),
        (rect("transform='scale(2)' style='transform: none; transform-origin: 0px 0px'"), [5.0, 2.0]),
    ] {
        assert_eq!(nested(&inner).0[0].1, expected, "{inner}");
    }
    let folder = Folder::of("");
    for (style, sentence) in [
        ("transform: scaleX(2)", "the rect `r` on line 2: `transform` can't be read: "),
        ("transform: translate(10%)", "the rect `r` on line 2: `transform` can't be read: "),
        ("scale: 2", "the rect `r` on line 2: the style `scale` is not read: use `transform`"),
        ("transform: scale(2); transform-origin: center", "the rect `r` on line 2: `transform-origin` is not read"),
    ] {
        folder.write("a.svg", &format!("<svg>\n{}</svg>", rect(&format!("style='{style}'"))));
        let error = read_shapes(folder.path("a.svg").to_str().unwrap()).unwrap_err().to_string();
        assert!(error.contains(sentence), "{error}");
    }
}

/// Ids of a drawing differ, though a part has the name of a sheet.
#[test]
fn ids_in_svg() {
    let folder = Folder::of("");
    folder.write("sheet.wkt", "POLYGON ((0 0, 9 0, 0 9))");
    folder.good("nest sheet.wkt:3 --sheet 10x10 --time 100ms --output cut.svg");
    let text = std::fs::read_to_string(folder.path("cut.svg")).unwrap();
    let document = roxmltree::Document::parse(&text).unwrap();
    let ids: Vec<_> = document.descendants().filter_map(|node| node.attribute("id")).collect();
    assert!(ids.len() > 5 && ids.iter().collect::<std::collections::HashSet<_>>().len() == ids.len(), "{ids:?}");
}

/// A part of a file: its name, the areas of its outline and its holes, and its size, in mm.
type Known = (&'static str, Vec<f64>, [f64; 2]);

const SQUARE_INCH: f64 = 25.4 * 25.4;
/// Number of chords of a curve.
const CURVE: u32 = 256;

/// Drawings in the syntax of other programs, what is left out of them, and their parts.
fn known() -> Vec<(&'static str, &'static str, Vec<Known>)> {
    let inch = 25.4;
    let diagonal = inch * 2.0f64.sqrt();
    let whole = |name, area, size| (name, vec![area], size);
    vec![
        (
            "inkscape_mm.svg",
            "the text `text222` on line 57 is left out",
            vec![
                whole("plate", 1800.0 - (4.0 - PI) * 16.0, [60.0, 30.0]),
                whole("wedge", 575.0, [40.0, 20.0]),
                whole("disc", 25.0 * PI, [10.0, 10.0]),
            ],
        ),
        (
            "inkscape_px.svg",
            "the image `photo` on line 28 is left out",
            vec![
                ("ring", vec![SQUARE_INCH, PI * 6.35 * 6.35], [diagonal; 2]),
                whole("oval", PI * 25.4 * 12.7, [2.0 * inch, inch]),
            ],
        ),
        (
            "freecad.svg",
            "",
            vec![whole("Sketch_w0000", 800.0 + 50.0 * PI, [50.0, 20.0]), whole("freecad 2", 144.0 * PI, [24.0, 24.0])],
        ),
        (
            "illustrator_pt.svg",
            "lengths are in mm: 1 in the drawing is 0.352778",
            vec![
                whole("card", 2.0 * SQUARE_INCH, [2.0 * inch, inch]),
                whole("drop", 0.6 * SQUARE_INCH, [inch, 0.75 * inch]),
                whole("kite", 0.75 * SQUARE_INCH, [inch, 1.5 * inch]),
            ],
        ),
        (
            "corel_in.svg",
            "lengths are in mm: 1 in the drawing is 0.0254",
            vec![
                whole("corel_in 1", SQUARE_INCH, [2.0 * inch, inch]),
                ("corel_in 2", vec![SQUARE_INCH, 0.25 * SQUARE_INCH], [inch, inch]),
            ],
        ),
        (
            "affinity.svg",
            "lengths are in mm: 1 in the drawing is 0.1",
            vec![
                whole("bracket", 600.0, [40.0, 30.0]),
                whole("plate", 1000.0, [52.0, 46.0]),
                whole("left", 36.0 * PI, [12.0, 12.0]),
                whole("right", 36.0 * PI, [12.0, 12.0]),
            ],
        ),
        ("openscad.svg", "", vec![("openscad", vec![1500.0, 300.0], [50.0, 30.0])]),
        (
            "autocad_r12.dxf",
            "left out: 1 TEXT: such entities are not read",
            vec![
                whole("KEY 1", 800.0 + 200.0 * PI, [40.0, 40.0]),
                whole("KEY 2", 200.0 + 50.0 * PI, [20.0, 20.0]),
                ("PLATE", vec![1800.0, 25.0 * PI], [60.0, 30.0]),
            ],
        ),
        (
            "librecad_2007.dxf",
            "left out: 1 DIMENSION, 1 MTEXT: such entities are not read",
            vec![
                ("Kontur", vec![1000.0 + 100.0 * PI, 16.0 * PI, 16.0 * PI], [70.0, 20.0]),
                whole("Lasche", 400.0 / 3.0, [10.0, 20.0]),
            ],
        ),
        (
            "freecad_r12.dxf",
            "freecad_r12.dxf: tells no unit: its lengths count as mm",
            vec![("freecad_r12", vec![1700.0 + 25.0 * PI, 300.0 + 25.0 * PI], [60.0, 30.0])],
        ),
        (
            "qcad_inch.dxf",
            "left out: 1 HATCH: such entities are not read",
            vec![
                ("Outer", vec![8.0 * SQUARE_INCH, 0.25 * PI * SQUARE_INCH], [4.0 * inch, 2.0 * inch]),
                whole("qcad_inch 2", 0.25 * PI * SQUARE_INCH, [2.0 * inch, 0.5 * inch]),
            ],
        ),
        ("openscad.dxf", "openscad.dxf: tells no unit: its lengths count as mm", vec![whole("openscad", 650.0, [40.0, 35.0])]),
    ]
}

/// The areas of the rings of shapes, from the smallest on.
fn areas<'a>(shapes: impl IntoIterator<Item = &'a Shape>) -> Vec<f64> {
    let rings = shapes.into_iter().flat_map(|shape| shape.outlines());
    let mut areas: Vec<f64> = rings.map(|ring| shoelace(ring).abs()).collect();
    areas.sort_by(f64::total_cmp);
    areas
}

fn shoelace(ring: &[[f64; 2]]) -> f64 {
    ring.iter().zip(ring.iter().cycle().skip(1)).map(|(a, b)| 0.5 * (a[0] * b[1] - a[1] * b[0])).sum()
}

/// The closed polylines of a DXF file by its codes: the layer and the vertices with bulges.
fn polylines(text: &str) -> Vec<(String, Vec<[f64; 3]>)> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut found: Vec<(String, Vec<[f64; 3]>)> = Vec::new();
    let mut is_inside = false;
    for pair in lines.chunks(2) {
        let number = || pair[1].parse::<f64>().unwrap();
        match (pair[0], found.last_mut()) {
            ("0", _) => {
                is_inside = pair[1] == "LWPOLYLINE";
                if is_inside {
                    found.push(Default::default());
                }
            }
            ("8", Some(line)) if is_inside => line.0 = pair[1].to_owned(),
            ("70", Some(_)) if is_inside => assert_eq!(pair[1], "1", "closed"),
            ("10", Some(line)) if is_inside => line.1.push([number(), 0.0, 0.0]),
            ("20", Some(line)) if is_inside => line.1.last_mut().unwrap()[1] = number(),
            ("42", Some(line)) if is_inside => line.1.last_mut().unwrap()[2] = number(),
            _ => {}
        }
    }
    found
}

/// The elements of a nest's SVG file: the id and the rings of each, with curves as points on them, in mm from the lower left
/// corner of the drawing.
fn svg_paths(text: &str) -> Vec<(String, Vec<Vec<[f64; 2]>>)> {
    let document = Document::parse(text).unwrap();
    let number = |node: Node, name: &str| -> f64 { node.attribute(name).unwrap().trim_end_matches("mm").parse().unwrap() };
    let root = document.root_element();
    let size = ["width", "height"].map(|name| number(root, name));
    assert_eq!(root.attribute("viewBox").unwrap(), format!("0 0 {} {}", size[0], size[1]));
    let mut found = Vec::new();
    for node in root.descendants().filter(|node| matches!(node.tag_name().name(), "rect" | "path")) {
        let mut rings: Vec<Vec<[f64; 2]>> = Vec::new();
        if node.has_tag_name((root.tag_name().namespace().unwrap(), "rect")) {
            let [width, height] = ["width", "height"].map(|name| number(node, name));
            rings.push(vec![[0.0, 0.0], [width, 0.0], [width, height], [0.0, height]]);
        }
        for segment in node.attribute("d").into_iter().flat_map(SimplifyingPathParser::from) {
            let points = match segment.unwrap() {
                SimplePathSegment::MoveTo { x, y } => {
                    rings.push(Vec::new());
                    vec![[x, y]]
                }
                SimplePathSegment::LineTo { x, y } => vec![[x, y]],
                SimplePathSegment::Quadratic { x1, y1, x, y } => vec![[x1, y1], [x, y]],
                SimplePathSegment::CurveTo { x1, y1, x2, y2, x, y } => vec![[x1, y1], [x2, y2], [x, y]],
                SimplePathSegment::ClosePath => continue,
            };
            let ring = rings.last_mut().unwrap();
            let pen = ring.last().copied();
            // By de Casteljau.
            let steps = if points.len() > 1 { CURVE } else { 1 };
            ring.extend((1..=steps).map(|step| {
                let t = f64::from(step) / f64::from(steps);
                let mut points: Vec<_> = pen.into_iter().chain(points.iter().copied()).collect();
                while points.len() > 1 {
                    let between = |pair: &[[f64; 2]]| [0, 1].map(|axis| pair[0][axis] + t * (pair[1][axis] - pair[0][axis]));
                    points = points.windows(2).map(between).collect();
                }
                points[0]
            }));
        }
        let moved = node.parent_element().unwrap().attribute("transform").unwrap();
        let left: f64 = moved.strip_prefix("translate(").unwrap().split_once(' ').unwrap().0.parse().unwrap();
        let up = |ring: &Vec<[f64; 2]>| ring.iter().map(|[x, y]| [left + x, size[1] - y]).collect();
        found.push((node.attribute("id").unwrap().to_owned(), rings.iter().map(up).collect()));
    }
    found
}

/// The area within a polyline: of its chords, and of the segments of circles over them.
fn area_with_arcs(vertices: &[[f64; 3]]) -> f64 {
    let chords: Vec<[f64; 2]> = vertices.iter().map(|&[x, y, _]| [x, y]).collect();
    let next = chords.iter().cycle().skip(1);
    let segment = |(&[x, y, bulge], to): (&[f64; 3], &[f64; 2])| {
        let (chord, angle) = ((to[0] - x).hypot(to[1] - y), 4.0 * bulge.atan());
        if bulge == 0.0 { 0.0 } else { (0.5 * chord / (0.5 * angle).sin()).powi(2) * 0.5 * (angle - angle.sin()) }
    };
    (shoelace(&chords) + vertices.iter().zip(next).map(segment).sum::<f64>()).abs()
}

/// Checks sorted areas.
#[track_caller]
fn same(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{found:?} {expected:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < tolerance * expected, "{found} {expected}");
    }
}

/// Checks that parts, by their rings, are within sheets and apart from each other, up to `off`.
#[track_caller]
fn placed(parts: &[&[Vec<[f64; 2]>]], sheets: &[[f64; 2]], [width, height]: [f64; 2], off: f64) {
    let line = |ring: &Vec<[f64; 2]>| LineString::from_iter(ring.iter().map(|&point| Coord::from(point)));
    let polygon = |rings: &&[Vec<[f64; 2]>]| Polygon::new(line(&rings[0]), rings[1..].iter().map(line).collect());
    let polygons: Vec<Polygon> = parts.iter().map(polygon).collect();
    for (index, polygon) in polygons.iter().enumerate() {
        let inner = polygon.bounding_rect().unwrap();
        let is_on = |[x, y]: &[f64; 2]| {
            inner.min().x > x + 3.0 - off
                && inner.max().x < x + width - 3.0 + off
                && inner.min().y > y + 3.0 - off
                && inner.max().y < y + height - 3.0 + off
        };
        assert!(sheets.iter().any(is_on), "{inner:?}");
        for other in &polygons[..index] {
            let apart = Euclidean.distance(polygon, other);
            assert!(apart > 2.0 - off, "{apart}");
        }
    }
}

/// Drawings of other programs have their true measures, and so have the drawings of the nested parts.
#[test]
fn drawings_of_other_programs() {
    for (file, left_out, known) in known() {
        let folder = Folder::of("");
        let source = format!("{}/../../tests/data/nest/{file}", env!("CARGO_MANIFEST_DIR"));
        std::fs::copy(&source, folder.path(file)).unwrap();
        let read = |name: &str| {
            read_parts(folder.path(name).to_str().unwrap(), Some(0.01)).unwrap_or_else(|error| panic!("{file}: {error}"))
        };
        let parts: HashMap<String, Shape> =
            read(file).into_iter().map(|part| (part.shape.name().to_owned(), part.shape)).collect();
        assert_eq!(parts.len(), known.len(), "{file}: {:?}", parts.keys());
        let mut expected = Vec::new();
        for (name, rings, lengths) in &known {
            let shape = parts.get(*name).unwrap_or_else(|| panic!("{file}: {name}: {:?}", parts.keys()));
            let mut rings = rings.clone();
            expected.extend(rings.iter().flat_map(|area| [*area; 2]));
            rings.sort_by(f64::total_cmp);
            same(&areas([shape]), &rings, 2e-3);
            assert!(size(shape).iter().zip(lengths).all(|(a, b)| (a - b).abs() < 0.03), "{file}: {name}: {:?}", size(shape));
        }
        expected.sort_by(f64::total_cmp);
        let sheet = [250.0, 150.0];
        let nest = |output: &str| {
            let output = folder.run(&format!(
                "nest {file}:2 --sheet 250x150mm --spacing 2 --margin 3 --tolerance 0.01 --time 300ms --output {output}"
            ));
            let stderr = String::from_utf8(output.stderr).unwrap();
            assert!(output.status.success() && stderr.contains(left_out), "{file}: {stderr}");
            assert_eq!(stderr.is_empty(), left_out.is_empty(), "{file}: {stderr}");
        };
        nest("cut.svg");
        let cut = svg_paths(&std::fs::read_to_string(folder.path("cut.svg")).unwrap());
        let (outlines, own): (Vec<_>, Vec<_>) = cut.iter().partition(|(id, _)| id.ends_with("-outline"));
        assert_eq!(own.len(), 2 * known.len());
        let mut found: Vec<f64> = own.iter().flat_map(|(_, rings)| rings).map(|ring| shoelace(ring).abs()).collect();
        found.sort_by(f64::total_cmp);
        same(&found, &expected, 5e-5);
        let corner = |(_, rings): &&(String, Vec<Vec<[f64; 2]>>)| {
            assert!((shoelace(&rings[0]).abs() - sheet[0] * sheet[1]).abs() < 1e-9);
            [0, 1].map(|axis| rings[0].iter().map(|point| point[axis]).fold(f64::MAX, f64::min))
        };
        let corners: Vec<[f64; 2]> = outlines.iter().map(corner).collect();
        // Chords of curves are nearer than these by less.
        placed(&own.iter().map(|(_, rings)| &rings[..]).collect::<Vec<_>>(), &corners, sheet, 1e-3);

        nest("cut.dxf");
        let text = std::fs::read_to_string(folder.path("cut.dxf")).unwrap();
        assert!(text.replace("\r\n", "\n").contains("$INSUNITS\n 70\n     4\n"), "{text:.900}");
        let (outlines, own): (Vec<_>, Vec<_>) = polylines(&text).into_iter().partition(|(layer, _)| layer == "sheet-outlines");
        let mut found: Vec<f64> = own.iter().map(|(_, vertices)| area_with_arcs(vertices)).collect();
        found.sort_by(f64::total_cmp);
        // Arcs are arcs, and other curves lines near them.
        let has_other_curves = ["inkscape_px.svg", "illustrator_pt.svg", "librecad_2007.dxf", "qcad_inch.dxf"].contains(&file);
        same(&found, &expected, if has_other_curves { 1e-4 } else { 3e-6 });
        // No time of day is in the file.
        assert!(text.replace("\r\n", "\n").contains("$TDCREATE\n 40\n2440588.0\n"));
        assert!(own.iter().all(|(layer, _)| layer.starts_with("sheet-") && layer[6..].parse::<usize>().is_ok()));
        let corner = |(_, vertices): &(String, Vec<[f64; 3]>)| {
            assert!((area_with_arcs(vertices) - sheet[0] * sheet[1]).abs() < 1e-9);
            [vertices[0][0], vertices[0][1]]
        };
        let corners: Vec<[f64; 2]> = outlines.iter().map(corner).collect();
        // Our own reader takes parts for holes in a sheet, so it gets them alone.
        let alone = own.iter().fold(String::new(), |text, (layer, vertices)| {
            let vertices = vertices.iter().map(|[x, y, bulge]| format!(" 10 {x} 20 {y} 42 {bulge}"));
            text + &format!(" 0 LWPOLYLINE 8 {layer} 70 1{}", vertices.collect::<String>())
        });
        folder.write("alone.dxf", &entities(&alone));
        let own: Vec<Shape> = read("alone.dxf").into_iter().map(|part| part.shape).collect();
        same(&areas(&own), &expected, 2e-3);
        // Lines are outside of curves by up to the tolerance.
        placed(&own.iter().map(Shape::outlines).collect::<Vec<_>>(), &corners, sheet, 0.021);
        folder.write("whole.dxf", &text);
        assert_eq!(
            areas(&read("whole.dxf").into_iter().map(|part| part.shape).collect::<Vec<_>>()).len(),
            expected.len() + corners.len()
        );
    }
}

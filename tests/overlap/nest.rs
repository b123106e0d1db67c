//! Parts on sheets: where they are, by `geo`'s distances, and what becomes of those that don't fit.

use std::{
    fs,
    time::{Duration, Instant},
};

use geo::{BoundingRect as _, Coord, Distance as _, Euclidean, LineString, Point as Place, Polygon, Relate as _};
use serde_json::Value;
use warpsmith::{
    common::Cancel,
    device::{Backend, Device},
    overlap::{
        Shape,
        io::{read_parts, read_shapes, read_sheet},
        nest::{Filled, Left, Nested, Nesting, Placed, Sheet},
        pack::{PackError, Turns},
    },
};

use crate::{exact, folder::Folder, polygon::place};

fn rectangle(name: &str, width: f64, height: f64) -> Shape {
    Shape::polygon(name, &[[0.0, 0.0], [width, 0.0], [width, height], [0.0, height]]).unwrap()
}

fn sheet(width: f64, height: f64, count: Option<usize>) -> Sheet {
    Sheet { width, height, count, form: None }
}

/// Nests for at most some seconds: most searches end when they have found places.
fn nest(nesting: &Nesting) -> Result<Nested, PackError> {
    nesting.run(&Device::best().unwrap(), &Cancel::new(), |_| {})
}

fn parts() -> Vec<(Shape, usize)> {
    let square =
        |at: f64, half: f64| vec![[at - half, at - half], [at + half, at - half], [at + half, at + half], [at - half, at + half]];
    let frame = Shape::with_holes("frame", &square(20.0, 20.0), &[square(20.0, 15.0)]).unwrap();
    let disc = (0..24).map(|k| f64::from(k) / 24.0 * std::f64::consts::TAU).map(|t| [6.0 * t.cos(), 6.0 * t.sin()]);
    let hook = [[0.0, 0.0], [20.0, 0.0], [20.0, 5.0], [5.0, 5.0], [5.0, 18.0], [0.0, 18.0]];
    vec![
        (frame, 2),
        (Shape::polygon("disc", &disc.collect::<Vec<_>>()).unwrap(), 5),
        (Shape::polygon("hook", &hook).unwrap(), 4),
        (rectangle("bar", 40.0, 3.0), 6),
    ]
}

/// Checks places, and that no copy is lost or made.
#[track_caller]
fn check(nesting: &Nesting, nested: &Nested) {
    let ring = |ring: &[[f64; 2]], pose| LineString::from_iter(place(ring, pose).into_iter().map(Coord::from));
    let polygon = |&Placed { part, pose, mirrored }: &Placed| {
        let flip = |ring: &Vec<[f64; 2]>| ring.iter().map(|&[x, y]| [if mirrored { -x } else { x }, y]).collect::<Vec<_>>();
        let rings: Vec<_> = nesting.parts[part].0.outlines().iter().map(flip).collect();
        Polygon::new(ring(&rings[0], pose), rings[1..].iter().map(|hole| ring(hole, pose)).collect())
    };
    let mut left: Vec<usize> = nesting.parts.iter().map(|(_, count)| *count).collect();
    for filled in &nested.sheets {
        let [width, height] = filled.size;
        let copies: Vec<Polygon> = filled.parts.iter().map(polygon).collect();
        let tolerance = 1e-6;
        for (first, copy) in copies.iter().enumerate() {
            let box_ = copy.bounding_rect().unwrap();
            let least = nesting.margin - tolerance;
            assert!(box_.min().x >= least && box_.min().y >= least, "{box_:?}");
            assert!(box_.max().x <= width - least && box_.max().y <= height - least, "{box_:?}");
            let Sheet { width: wide, height: high, .. } = nesting.sheets[filled.sheet];
            let (far, is_roll) = if wide.is_infinite() { (box_.max().x, true) } else { (box_.max().y, high.is_infinite()) };
            assert!(far <= filled.used + tolerance && (is_roll || [wide, high] == filled.size), "{box_:?}");
            for other in &copies[..first] {
                let apart = Euclidean.distance(copy, other);
                assert!(apart >= nesting.spacing - tolerance, "{apart}");
                if nesting.spacing == 0.0 {
                    let common: f64 = geo::Area::unsigned_area(&geo::BooleanOps::intersection(copy, other));
                    assert!(common < 1e-6, "{common}");
                }
            }
        }
        let area: f64 = copies.iter().map(geo::Area::unsigned_area).sum();
        let whole = nesting.sheets[filled.sheet].form.as_ref().map_or(width * height, Shape::area);
        assert!((filled.density - area / whole).abs() < 1e-9 && !copies.is_empty());
        filled.parts.iter().for_each(|placed| left[placed.part] -= 1);
    }
    let expected: Vec<_> = left.into_iter().enumerate().filter(|(_, count)| *count > 0).collect();
    assert_eq!(nested.left.iter().map(|left| (left.part, left.count)).collect::<Vec<_>>(), expected);
    for (index, sheet) in nesting.sheets.iter().enumerate() {
        let used = nested.sheets.iter().filter(|filled| filled.sheet == index).count();
        assert!(sheet.count.is_none_or(|count| used <= count));
    }
}

#[test]
fn parts_are_apart_and_on_their_sheets() {
    for (spacing, margin, turns, sheets) in [
        (0.0, 0.0, Turns::ANY, vec![sheet(100.0, 60.0, None)]),
        (1.5, 0.0, Turns::QUARTERS, vec![sheet(100.0, 60.0, None)]),
        (0.5, 3.0, Turns::HALVES, vec![sheet(60.0, 60.0, Some(1)), sheet(90.0, 100.0, None)]),
    ] {
        let step = turns.angles().map(|angles| 1.0 / angles.len() as f64);
        let turns = vec![turns];
        let nesting = Nesting { spacing, margin, turns, ..Nesting::new(parts(), sheets, Duration::from_secs(12)) };
        let nested = nest(&nesting).unwrap();
        check(&nesting, &nested);
        assert!(nested.left.is_empty(), "{:?}", nested.left);
        for Placed { pose: [_, _, theta], .. } in nested.sheets.iter().flat_map(|filled| &filled.parts) {
            let Some(step) = step else { continue };
            let turns = theta / std::f64::consts::TAU / step;
            assert!((turns - turns.round()).abs() < 1e-9, "{theta}");
        }
    }
}

/// Parts as large as a sheet, a little larger, longer than it is wide, and more than there are sheets for.
#[test]
fn parts_that_just_fit_or_do_not() {
    let nested = |parts: Vec<(Shape, usize)>, sheets: Vec<Sheet>, turns| {
        let nesting = Nesting { turns: vec![turns], ..Nesting::new(parts, sheets, Duration::from_secs(4)) };
        let nested = nest(&nesting).unwrap();
        check(&nesting, &nested);
        (nested.sheets.len(), nested.left)
    };
    let left = |count, too_large| vec![Left { part: 0, count, too_large }];
    let exact = || vec![(rectangle("r", 60.0, 40.0), 2)];
    assert_eq!(nested(exact(), vec![sheet(60.0, 40.0, None)], Turns::NONE), (2, vec![]));
    assert_eq!(nested(exact(), vec![sheet(40.0, 60.0, None)], Turns::NONE), (0, left(2, true)));
    assert_eq!(nested(exact(), vec![sheet(40.0, 60.0, None)], Turns::QUARTERS), (2, vec![]));
    assert_eq!(nested(exact(), vec![sheet(60.0, 39.999, None)], Turns::ANY), (0, left(2, true)));
    assert_eq!(nested(exact(), vec![sheet(60.0, 40.0, Some(1))], Turns::ANY), (1, left(1, false)));
    assert_eq!(nested(exact(), vec![sheet(9.0, 9.0, Some(1)), sheet(70.0, 50.0, Some(1))], Turns::ANY), (1, left(1, false)));
    // A diagonal is longer than a side.
    assert_eq!(nested(vec![(rectangle("r", 65.0, 1.0), 1)], vec![sheet(50.0, 50.0, None)], Turns::ANY), (1, vec![]));
}

/// The spacing is between parts. Hollow ones, and those of many vertices, fill a sheet with it as they do without.
#[test]
fn parts_that_just_fit_with_a_spacing() {
    let square = |low: f64, high: f64| [[low, low], [high, low], [high, high], [low, high]];
    let u = [[0.0, 0.0], [20.0, 0.0], [20.0, 10.0], [30.0, 10.0], [30.0, 0.0], [50.0, 0.0], [50.0, 50.0], [0.0, 50.0]];
    let disc = (0..96).map(|k| f64::from(k) / 96.0 * std::f64::consts::TAU).map(|t| [25.0 * t.cos(), 25.0 * t.sin()]);
    let straight = [
        Shape::polygon("u", &u).unwrap(),
        Shape::with_holes("frame", &square(0.0, 50.0), &[square(5.0, 45.0).to_vec()]).unwrap(),
        rectangle("r", 50.0, 50.0),
    ];
    let disc = Shape::polygon("disc", &disc.collect::<Vec<_>>()).unwrap();
    for (spacing, margin) in [(0.01, 0.0), (2.0, 0.0), (2.0, 0.5), (2.0, 3.0), (3.0, 1.0)] {
        let least = f64::max(margin, 0.5 * spacing);
        // Rounding needs some room there.
        let side = |less: f64| 50.0 + 2.0 * least + 5e-4 - less;
        let form = |less: f64| Sheet::of(rectangle("form", side(less), side(0.0)), Some(2));
        let plain = |less: f64| sheet(100.0 + spacing + 2.0 * margin, 50.0 + 2.0 * margin - less, Some(1));
        let roll = |less: f64| Sheet { width: f64::INFINITY, ..plain(less) };
        let on: [&dyn Fn(f64) -> Sheet; 3] = [&plain, &roll, &form];
        for (shape, on) in straight.iter().flat_map(|shape| on.map(|on| (shape, on))).chain([(&disc, on[0]), (&disc, on[1])]) {
            for less in [0.0, 1e-3] {
                let parts = [(shape.clone(), 2)];
                let turns = vec![Turns::NONE];
                let nesting = Nesting { spacing, margin, turns, ..Nesting::new(parts, [on(less)], Duration::from_millis(100)) };
                let nested = nest(&nesting).unwrap();
                check(&nesting, &nested);
                let left = if less > 0.0 { vec![Left { part: 0, count: 2, too_large: true }] } else { vec![] };
                assert_eq!(nested.left, left, "{} {spacing} {margin} {:?}", shape.name(), nesting.sheets);
            }
        }
    }
}

/// If sheets are limited, the time is used as long as a part that is left may find room. It isn't if even the parts' areas leave
/// none.
#[test]
fn time_for_parts_without_a_place() {
    let nested = |square: f64, sheets: Vec<Sheet>, time: Duration, priorities: &[i64]| {
        let parts = [(rectangle("square", square, square), 5), (rectangle("bar", 9.0, 0.5), 1)];
        let (turns, priorities) = (vec![Turns::NONE], priorities.to_vec());
        nest(&Nesting { turns, priorities, ..Nesting::new(parts, sheets, time) }).unwrap()
    };
    let second = Duration::from_secs(1);
    for priorities in [&[][..], &[0, 1]] {
        // A second sheet that is full at once leaves its time to the first one.
        for sheets in [vec![sheet(10.0, 10.0, Some(1))], vec![sheet(10.0, 10.0, Some(1)), sheet(0.9, 0.9, Some(7))]] {
            let found = nested(6.0, sheets, second, priorities);
            assert!(found.seconds >= 1.0 && found.sheets.len() == 1 && found.left[0].count == 4, "{found:?}");
        }
    }
    let found = nested(5.0, vec![sheet(10.0, 10.0, Some(1))], 3600 * second, &[1, 0]);
    assert_eq!(found.left.iter().map(|left| left.count).collect::<Vec<_>>(), [1, 1]);
    // Cancelled before the start, nothing has a place, and nothing is said of sizes.
    let nesting = Nesting::new(parts(), [sheet(1.0, 1.0, None)], second);
    let cancel = Cancel::new();
    cancel.cancel();
    let nested = nesting.run(&Device::best().unwrap(), &cancel, |_| {}).unwrap();
    assert!(nested.sheets.is_empty() && nested.left.len() == 4 && nested.left.iter().all(|left| !left.too_large));
}

/// An hour is not needed for a piece that can't be shorter: of parts in rows, and of one that stands upright beside others.
#[test]
fn nothing_shorter_is_sought() {
    let tall = vec![(rectangle("tall", 40.0, 10.0), 1), (rectangle("small", 9.0, 19.0), 4)];
    for (parts, width, length) in [(vec![(rectangle("square", 10.0, 10.0), 6)], 20.0, 30.0), (tall, 30.5, 40.0)] {
        let roll = sheet(width, f64::INFINITY, None);
        let nesting = Nesting { turns: vec![Turns::QUARTERS], ..Nesting::new(parts, [roll], Duration::from_secs(3600)) };
        let nested = nest(&nesting).unwrap();
        check(&nesting, &nested);
        let used = nested.sheets[0].used;
        assert!(used > length - 1e-9 && used < length * 1.0002, "{used}");
    }
}

/// A key fits into a frame's hole only if one of them is mirrored, and then both need as much of a roll as the frame.
#[test]
fn mirrored_parts() {
    let hole = vec![[14.0, 14.0], [36.0, 14.0], [36.0, 46.0], [24.0, 46.0], [24.0, 26.0], [14.0, 26.0]];
    let frame = Shape::with_holes("frame", &[[0.0, 0.0], [60.0, 0.0], [60.0, 60.0], [0.0, 60.0]], &[hole]).unwrap();
    let key = [[0.0, 0.0], [20.0, 0.0], [20.0, 10.0], [10.0, 10.0], [10.0, 30.0], [0.0, 30.0]];
    let key = Shape::polygon("key", &key).unwrap();
    for mirrors in [false, true] {
        for in_x in [false, true] {
            let on = if in_x { sheet(f64::INFINITY, 60.01, None) } else { sheet(60.01, f64::INFINITY, None) };
            let turns = vec![Turns::QUARTERS, Turns::QUARTERS.mirroring(mirrors)];
            let parts = [(frame.clone(), 1), (key.clone(), 1)];
            let nesting = Nesting { turns, ..Nesting::new(parts, [on], Duration::from_secs(1)) };
            let nested = nest(&nesting).unwrap();
            check(&nesting, &nested);
            let found = &nested.sheets[0].parts;
            assert!(found.iter().all(|placed| placed.mirrored == (mirrors && placed.part == 1)), "{found:?}");
            assert_eq!(nested.sheets[0].used < 60.02, mirrors, "{found:?}");
        }
    }
    // In files: by a column or a name, and drawn as they are cut.
    let folder = Folder::of("");
    let rings = |shape: &Shape| serde_json::json!({"outline": shape.outlines()[0], "holes": &shape.outlines()[1..]}).to_string();
    folder.write("frame.json", &rings(&frame));
    folder.write("key.json", &rings(&key));
    let nest = |output: &str| {
        folder.good(&format!("nest frame.json key.json --roll 60.01 --turns 90 --mirror=key --time 1s --output {output}"));
        std::fs::read_to_string(folder.path(output)).unwrap()
    };
    let table = nest("p.csv");
    let rows: Vec<&str> = table.lines().collect();
    assert!(
        rows[0] == "part,copy,sheet,x,y,theta,mirrored" && rows[1].ends_with(",false") && rows[2].ends_with(",true"),
        "{table}"
    );
    let list: Value = serde_json::from_str(&nest("p.json")).unwrap();
    assert!(list[0]["mirrored"] == false && list[1]["mirrored"] == true);
    nest("p.svg");
    let drawn = read_shapes(folder.path("p.svg").to_str().unwrap()).unwrap();
    let cut = drawn.iter().find(|shape| shape.name() == "key-1-mirrored").expect("the key");
    let ring = &cut.outlines()[0];
    let length = |k: usize| {
        let [a, b] = [ring[k], ring[(k + 1) % 6]];
        (a[0] - b[0]).hypot(a[1] - b[1]).round()
    };
    let lengths: Vec<f64> = (0..6).map(length).collect();
    let start = lengths.iter().position(|&length| length == 30.0).unwrap();
    // Counter-clockwise, the key has its foot after its long side, and its image before it.
    assert_eq!((lengths[(start + 5) % 6], lengths[(start + 1) % 6]), (20.0, 10.0), "{ring:?}");
    let solved: Value = serde_json::from_str(&nest("p.sparrow.json")).unwrap();
    let again = read_parts(folder.path("p.sparrow.json").to_str().unwrap(), None).unwrap();
    let placed = solved["solution"]["layout"]["placed_items"].as_array().unwrap();
    assert_eq!((again.len(), placed.len()), (2, 2));
    let polygon = |item: &Value| {
        let part = again.iter().find(|part| part.id == item["item_id"].as_u64()).unwrap();
        let at = &item["transformation"];
        let [x, y] = [0, 1].map(|axis| at["translation"][axis].as_f64().unwrap());
        let pose = [x, y, at["rotation"].as_f64().unwrap().to_radians()];
        let ring = |ring: &Vec<[f64; 2]>| LineString::from_iter(place(ring, pose).into_iter().map(Coord::from));
        let rings: Vec<LineString> = part.shape.outlines().iter().map(ring).collect();
        Polygon::new(rings[0].clone(), rings[1..].to_vec())
    };
    let common = geo::Area::unsigned_area(&geo::BooleanOps::intersection(&polygon(&placed[0]), &polygon(&placed[1])));
    assert!(common < 1e-6, "{common}");
}

/// Checks in exact arithmetic that parts are on irregular sheets.
#[track_caller]
fn check_forms(nesting: &Nesting, nested: &Nested) {
    for filled in &nested.sheets {
        let form = nesting.sheets[filled.sheet].form.as_ref().unwrap();
        let counter_clockwise = |ring: &Vec<[f64; 2]>| ring.iter().rev().copied().collect::<Vec<_>>();
        let (outline, defects) = (&form.outlines()[0], form.outlines()[1..].iter().map(counter_clockwise).collect::<Vec<_>>());
        let plane = [[-1e3, -1e3], [2e3, -1e3], [2e3, 2e3], [-1e3, 2e3]];
        let line = |ring: &[[f64; 2]]| LineString::from_iter(ring.iter().map(|&p| Coord::from(p)));
        let rings: Vec<LineString> = std::iter::once(line(outline)).chain(defects.iter().map(|defect| line(defect))).collect();
        for &Placed { part, pose, mirrored } in &filled.parts {
            let shape = &nesting.parts[part].0;
            let shape = if mirrored { shape.mirrored() } else { shape.clone() };
            // With signs, as the rings of holes are clockwise.
            let common = |other: &[[f64; 2]]| -> f64 {
                shape
                    .posed(pose)
                    .enumerate()
                    .map(|(index, ring)| match index {
                        0 => exact::common_area(&ring, other),
                        _ => -exact::common_area(&counter_clockwise(&ring), other),
                    })
                    .sum()
            };
            let outside = common(&plane) - common(outline);
            assert!(outside.abs() <= 1e-12 * shape.area(), "{outside}");
            for defect in &defects {
                assert!(common(defect).abs() <= 1e-12 * shape.area(), "{}", common(defect));
            }
            let own: Vec<LineString> = shape.posed(pose).map(|ring| line(&ring)).collect();
            let least = nesting.margin.max(0.5 * nesting.spacing) - 1e-6;
            for (own, ring) in own.iter().flat_map(|own| rings.iter().map(move |ring| (own, ring))) {
                let closed = |ring: &LineString| {
                    let mut ring = ring.clone();
                    ring.close();
                    ring
                };
                let apart = Euclidean.distance(&closed(own), &closed(ring));
                assert!(apart >= least, "{apart}");
            }
        }
    }
}

/// Parts are on irregular sheets and beside their defects.
#[test]
fn irregular_sheets() {
    let hide = || {
        let outline =
            [[20.0, 100.0], [0.0, 80.0], [0.0, 20.0], [30.0, 0.0], [120.0, 0.0], [150.0, 40.0], [130.0, 100.0], [70.0, 85.0]];
        let octagon = |x: f64, y: f64, r: f64| {
            (0..8).map(|k| f64::from(k) * std::f64::consts::FRAC_PI_4).map(|t| [x + r * t.cos(), y + r * t.sin()]).collect()
        };
        let box_ = vec![[85.0, 30.0], [105.0, 30.0], [105.0, 42.0], [85.0, 42.0]];
        Shape::with_holes("hide", &outline, &[octagon(45.0, 40.0, 6.0), box_]).unwrap()
    };
    for (spacing, margin, turns) in [
        (0.0, 0.0, Turns::QUARTERS),
        (0.0, 0.0, Turns::ANY),
        (1.5, 2.0, Turns::HALVES),
        (2.0, 0.0, Turns::QUARTERS.mirroring(true)),
    ] {
        let nesting = Nesting {
            spacing,
            margin,
            turns: vec![turns],
            ..Nesting::new(parts(), [Sheet::of(hide(), None)], Duration::from_secs(20))
        };
        let nested = nest(&nesting).unwrap();
        check(&nesting, &nested);
        check_forms(&nesting, &nested);
        assert!(nested.left.is_empty() && nested.sheets.len() < 3, "{:?} {}", nested.left, nested.sheets.len());
    }
    // Hollow parts, which go around the corners of a sheet's box, are on the sheet.
    let arrow = Shape::polygon("arrow", &[[0.0, 0.0], [60.0, 0.0], [30.0, 40.0], [20.0, 10.0]]).unwrap();
    let bracket = [[0.0, 0.0], [30.0, 0.0], [30.0, 10.0], [10.0, 10.0], [10.0, 30.0], [0.0, 30.0]];
    let ell = [[0.0, 0.0], [120.0, 0.0], [120.0, 50.0], [60.0, 50.0], [60.0, 100.0], [0.0, 100.0]];
    let box_ = [[0.0, 0.0], [70.0, 0.0], [70.0, 50.0], [0.0, 50.0], [0.0, 25.0]];
    for (part, count, form, spacing) in
        [(arrow, 2, &box_[..], 0.0), (Shape::polygon("bracket", &bracket).unwrap(), 20, &ell, 2.0)]
    {
        let sheet = Sheet::of(Shape::polygon("sheet", form).unwrap(), Some(1));
        let nesting =
            Nesting { spacing, values: Some(vec![1.0]), ..Nesting::new([(part, count)], [sheet], Duration::from_millis(500)) };
        let nested = nest(&nesting).unwrap();
        check(&nesting, &nested);
        check_forms(&nesting, &nested);
    }
    // A part that is too large for the room between defects.
    let large = Nesting::new([(rectangle("r", 60.0, 60.0), 1)], [Sheet::of(hide(), Some(2))], Duration::from_secs(2));
    let nested = nest(&large).unwrap();
    assert_eq!((nested.sheets.len(), nested.left), (0, vec![Left { part: 0, count: 1, too_large: false }]));
    let form = Some(hide());
    for sheet in [
        Sheet { width: 149.0, height: 100.0, count: None, form: form.clone() },
        Sheet { form, ..sheet(f64::INFINITY, 100.0, None) },
    ] {
        let error = nest(&Nesting::new(parts(), [sheet], Duration::from_secs(1))).unwrap_err().to_string();
        assert!(error.contains("the sheet hide must be one polygon, maybe with holes, within its width and height"), "{error}");
    }
}

/// Sheets from files: what is in the outermost contour are defects, and curves become lines on the sheet's side.
#[test]
fn irregular_sheets_of_files() {
    let folder = Folder::of("");
    folder.write(
        "disc.svg",
        "<svg xmlns='http://www.w3.org/2000/svg' width='120mm' height='120mm' viewBox='0 0 120 120'>\
        <g transform='translate(5 5)'><circle id='scar' cx='50' cy='50' r='20'/><circle id='disc' cx='55' cy='55' r='50'/></g></svg>",
    );
    folder.write("r.wkt", "POLYGON ((0 0, 12 0, 12 8, 0 8))");
    let path = |name: &str| folder.path(name).to_str().unwrap().to_owned();
    let form = read_sheet(&path("disc.svg"), Some(0.01)).unwrap();
    assert!(form.size().iter().all(|size| (size - 100.0).abs() < 1e-4) && form.shape.outlines().len() == 2);
    for (ring, center, radius, within) in [(0, [50.0, 50.0], 50.0, true), (1, [45.0, 55.0], 20.0, false)] {
        let ring = &form.shape.outlines()[ring];
        let next = ring.iter().cycle().skip(1);
        for (a, b) in ring.iter().zip(next) {
            let [from, middle] =
                [*a, [0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1])]].map(|p| (p[0] - center[0]).hypot(p[1] - center[1]));
            let off = [from - radius, middle - radius];
            assert!(off.iter().all(|off| off.abs() < 0.011 && (if within { *off < 1e-4 } else { *off > -1e-4 })), "{off:?}");
        }
    }
    let nested = |output: &str| {
        let text = folder.good(&format!("nest r.wkt:30 --sheet disc.svg:2 --spacing 1 --turns 90 --time 4s --output {output}"));
        assert!(text.contains("100 x 100") && text.contains("30 parts on "), "{text}");
        std::fs::read_to_string(folder.path(output)).unwrap()
    };
    let svg = nested("cut.svg");
    assert!(svg.lines().any(|line| line.starts_with("<path id=\"sheet-1-outline\" d=\"M") && line.contains('C')), "{svg}");
    let cut = read_shapes(&path("cut.svg")).unwrap();
    let sheet = cut.iter().find(|shape| shape.name() == "sheet-1-outline").unwrap();
    assert!((sheet.area() - 2100.0 * std::f64::consts::PI).abs() < 10.0, "{}", sheet.area());
    let corners = || cut.iter().filter(|shape| shape.name().starts_with("r-")).flat_map(|shape| &shape.outlines()[0]);
    // The second sheet is to the right of the first.
    let from = |[x, y]: &[f64; 2], [u, v]: [f64; 2]| {
        let x = if *x > 101.0 { x - 105.0 } else { *x };
        (x - u).hypot(y + 100.0 - v)
    };
    assert!(corners().count() == 120 && corners().all(|p| from(p, [50.0, 50.0]) < 49.5 + 1e-6 && from(p, [45.0, 55.0]) > 20.0));
    let solved: Value = serde_json::from_str(&nested("cut.sparrow.json")).unwrap();
    let bin = &solved["bins"][0]["shape"];
    assert!(bin["type"] == "polygon" && bin["data"]["inner"].as_array().unwrap().len() == 1, "{bin}");
    nested("cut.dxf");
    // What is beside the sheet removes nothing.
    folder.write("two.wkt", "MULTIPOLYGON (((10 0, 13 0, 10 3)), ((0 0, 5 0, 5 4, 0 4)))");
    let two = read_sheet(&path("two.wkt"), None).unwrap();
    assert_eq!((two.shape.area(), two.shape.outlines().len(), two.size()), (20.0, 1, [5.0, 4.0]));
    folder.write("small.wkt", "POLYGON ((0 0, 1 0, 1 1, 0 1))");
    let output = folder.run("nest small.wkt --sheet two.wkt --time 1s --output two.svg");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("closed paths beside its outline are left out: 1"), "{said}");
    folder.write("bow.wkt", "POLYGON ((0 0, 50 0, 50 40, 0 40), (1 1, 2 1, 2 2), (5 5, 9 9, 9 5, 5 9))");
    folder.bad("nest r.wkt --sheet bow.wkt --output p.svg", "--sheet: bow.wkt: shape bow: hole 1: edges 0 and 2 cross or touch");
    folder.bad("nest r.wkt --sheet POLYGON((0,1)) --output p.svg", "--sheet: `POLYGON((0,1))` is not a shape: is not WKT");
    folder.write("pieces.json", "{\"pieces\": [[[0, 0], [9, 0], [9, 9]], [[0, 0], [9, 9], [0, 9]]]}");
    folder.bad("nest r.wkt --sheet pieces.json --output p.svg", "pieces.json: holds pieces, but a sheet is one polygon");
    folder.bad("nest r.wkt --sheet no.svg --output p.svg", "no.svg: can't be read: no such file");
    folder.bad("nest r.wkt --sheet disc.svg:0 --output p.svg", "not a sheet: write 600x400");
    folder.bad("nest r.wkt --sheet disc.svg --output disc.svg", "disc.svg");
}

/// Defects may meet each other and the sheet's edge.
#[test]
fn defects_that_meet() {
    let folder = Folder::of("");
    // Squares that overlap, one within both, and one across the edge, in a path before that of the sheet.
    let squares = "M20 20h20v20h-20z M30 30h20v20h-20z M32 32h5v5h-5z M-10 45h20v10h-20z";
    folder.write("hide.svg", &format!("<svg><path d='{squares}'/><rect width='100' height='60'/></svg>"));
    let form = read_sheet(folder.path("hide.svg").to_str().unwrap(), None).unwrap().shape;
    assert!((form.area() - 5200.0).abs() < 1e-9 && form.outlines().len() == 5, "{}", form.area());
    // Holes of a polygon are defects, too. The last one is beside it.
    let square = |x: i32, y: i32| vec![[x, y], [x + 20, y], [x + 20, y + 20], [x, y + 20]];
    let outline = vec![[0, 0], [100, 0], [100, 60], [0, 60]];
    let rings = [outline, square(20, 20), square(30, 30), square(-10, 40), square(200, 0)];
    let points = |ring: &Vec<[i32; 2]>| ring.iter().map(|[x, y]| format!("{x} {y}")).collect::<Vec<_>>().join(", ");
    for (name, text) in [
        ("a.json", format!("{{\"outline\": {:?}, \"holes\": {:?}}}", rings[0], &rings[1..])),
        ("a.geojson", format!("{{\"type\": \"Polygon\", \"coordinates\": {rings:?}}}")),
        ("a.wkt", format!("POLYGON (({}))", rings.each_ref().map(points).join("), ("))),
    ] {
        folder.write(name, &text);
        let form = read_sheet(folder.path(name).to_str().unwrap(), None).unwrap_or_else(|error| panic!("{error} {text}")).shape;
        assert!((form.area() - 5100.0).abs() < 1e-9 && form.outlines().len() == 4, "{name}: {}", form.area());
    }
    let parts = [(rectangle("r", 12.0, 8.0), 60)];
    let nesting = Nesting { spacing: 1.0, ..Nesting::new(parts, [Sheet::of(form, Some(1))], Duration::from_secs(2)) };
    let nested = nest(&nesting).unwrap();
    check(&nesting, &nested);
    check_forms(&nesting, &nested);
    assert!((nested.sheets[0].size, nested.sheets[0].parts.len() > 20) == ([100.0, 60.0], true), "{nested:?}");
    // Areas as geo computes them.
    let mut state = 1u64;
    let mut random = |most: f64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        most * (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let polygon = |ring: &Vec<[f64; 2]>| Polygon::new(LineString::from_iter(ring.iter().map(|&p| Coord::from(p))), vec![]);
    for _ in 0..50 {
        let outline = vec![[0.0, 0.0], [9.0, random(2.0)], [10.0, 8.0], [random(8.0), 5.0], [0.0, 9.0]];
        let defects = (0..7).map(|_| {
            let [x, y] = [random(9.0), random(5.0)];
            vec![[x, y], [x + 1.0, y + random(1.0)], [x + random(2.0), y + 2.0]]
        });
        let rings: Vec<_> = defects.chain([outline]).collect();
        let Ok(sheet) = Shape::sheet("sheet", &rings) else { continue };
        let without = |whole: geo::MultiPolygon, defect| geo::BooleanOps::difference(&whole, &polygon(defect));
        let area = geo::Area::unsigned_area(&rings[..7].iter().fold(polygon(&rings[7]).into(), without));
        assert!((sheet.area() - area).abs() < 1e-7, "{rings:?} {} {area}", sheet.area());
    }
}

/// As much value as there is room for, where the most is known. By area or by value per room, other parts would be chosen.
#[test]
fn values() {
    let placed = |parts: &[(&str, f64, f64, usize)], sheets: Vec<Sheet>, values: &[f64], time: f64| {
        let parts = parts.iter().map(|&(name, width, height, count)| (rectangle(name, width, height), count));
        let nesting = Nesting {
            turns: vec![Turns::NONE],
            values: Some(values.to_vec()),
            ..Nesting::new(parts, sheets, Duration::from_secs_f64(time))
        };
        let nested = nest(&nesting).unwrap();
        check(&nesting, &nested);
        let counts = (0..nesting.parts.len())
            .map(|part| nested.sheets.iter().flat_map(|sheet| &sheet.parts).filter(|placed| placed.part == part).count())
            .collect::<Vec<_>>();
        let sum = |counts: &[usize]| counts.iter().zip(values).map(|(&count, value)| count as f64 * value).sum::<f64>();
        let all: Vec<usize> = nesting.parts.iter().map(|(_, count)| *count).collect();
        assert_eq!(nested.value, Some([sum(&counts), sum(&all)]));
        counts
    };
    let one = || vec![sheet(10.0, 10.0, Some(1))];
    // Two halves are worth more than the larger and denser part.
    assert_eq!(placed(&[("a", 6.0, 10.0, 1), ("b", 5.0, 10.0, 2)], one(), &[60.0, 45.0], 1.0), [0, 2]);
    assert_eq!(placed(&[("a", 6.0, 10.0, 1), ("b", 5.0, 10.0, 2)], one(), &[91.0, 45.0], 1.0), [1, 0]);
    // As many parts as possible.
    assert_eq!(placed(&[("a", 10.0, 7.0, 1), ("b", 5.0, 5.0, 9)], one(), &[1.0, 1.0], 1.0), [0, 4]);
    // On two sheets, the second one for what is left.
    let two = vec![sheet(10.0, 10.0, Some(1)), sheet(5.0, 10.0, Some(1))];
    assert_eq!(placed(&[("a", 6.0, 10.0, 1), ("b", 5.0, 10.0, 3)], two, &[80.0, 45.0], 1.0), [0, 3]);
    // There is room for two large ones, but they can't be on one sheet. Rows have no place for the smallest.
    let three = [("c", 6.0, 6.0, 2), ("d", 3.5, 9.5, 1), ("e", 5.5, 3.5, 1)];
    assert_eq!(placed(&three, one(), &[50.0, 41.0, 20.0], 4.0), [1, 1, 1]);
}

/// The rest of the last sheet is as large as it can be: two squares lie one above the other beside the plate, which rows don't
/// do. Without time for a search, parts are in rows.
#[test]
fn rest_in_one_piece() {
    let parts = vec![(rectangle("plate", 3.0, 2.0), 1), (rectangle("square", 1.0, 1.0), 2)];
    for (seconds, used) in [(4.0, 2.0), (1.0, 3.0)] {
        let sheets = [sheet(4.01, 50.0, Some(1))];
        let time = Duration::from_secs_f64(seconds);
        let nesting = Nesting { turns: vec![Turns::NONE], ..Nesting::new(parts.clone(), sheets, time) };
        let nested = nest(&nesting).unwrap();
        check(&nesting, &nested);
        assert!((nested.sheets[0].used - used).abs() < 1e-3 && nested.left.is_empty() && nested.history.is_empty(), "{nested:?}");
    }
}

/// Parts get the shortest piece of a roll where it is known, along x or y, and keep their angles to the roll.
#[test]
fn rolls() {
    let along = |width: f64, in_x: bool| if in_x { sheet(f64::INFINITY, width, None) } else { sheet(width, f64::INFINITY, None) };
    let nested = |parts: Vec<(Shape, usize)>, roll: Sheet, turns: Turns, margin: f64| {
        let nesting = Nesting { turns: vec![turns], margin, ..Nesting::new(parts, [roll], Duration::from_secs(1)) };
        let nested = nest(&nesting).unwrap();
        check(&nesting, &nested);
        let densities = nested.sheets.iter().map(|piece| piece.density);
        assert!(nested.history.is_sorted_by_key(|(seconds, _)| *seconds));
        assert!(nested.history.last().map(|(_, density)| *density).into_iter().all(|last| densities.clone().eq([last])));
        nested
    };
    for in_x in [false, true] {
        // Triangles in pairs are squares, or a little less with room beside them. Rows of their boxes are twice as long.
        let triangle = Shape::polygon("t", &[[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]]).unwrap();
        let found = nested(vec![(triangle, 4)], along(6.1, in_x), Turns::HALVES, 1.0);
        let [Filled { size, used, density, .. }] = &found.sheets[..] else { panic!("{found:?}") };
        assert!(found.left.is_empty() && *used > 9.8 && *used < 10.2, "{used}");
        assert!(*size == if in_x { [*used, 6.1] } else { [6.1, *used] } && (density - 32.0 / (6.1 * used)).abs() < 1e-12);
        // A part that may not turn is too wide for a roll on which it lies across.
        for (width, height) in [(5.0, 1.0), (1.0, 5.0)] {
            let found = nested(vec![(rectangle("r", width, height), 3)], along(1.5, in_x), Turns::NONE, 0.0);
            if (width > height) == in_x {
                assert!((found.sheets[0].used - 15.0).abs() < 1e-6 && found.left.is_empty(), "{found:?}");
            } else {
                assert_eq!((found.sheets.len(), found.left), (0, vec![Left { part: 0, count: 3, too_large: true }]));
            }
        }
    }
    // A part whose corners reach from edge to edge leaves room for others beside them. In rows, the piece has a length of 13.
    let diamond = |lean: f64| Shape::polygon("diamond", &[[0.0, -5.0], [5.0, lean], [0.0, 5.0], [-5.0, -lean]]).unwrap();
    for (lean, turns) in [(0.0, Turns::HALVES), (1.0, Turns::HALVES.mirroring(true)), (1.0, Turns::NONE.mirroring(true))] {
        let corner = Shape::polygon("corner", &[[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]]).unwrap();
        let parts = vec![(diamond(lean), 1), (corner, 2)];
        let time = Duration::from_secs(2);
        let nesting = Nesting { turns: vec![turns], spacing: 1.0, ..Nesting::new(parts, [along(10.0, true)], time) };
        // A search beside other work, or while kernels are compiled, may be too short.
        let found = (0..4).map(|_| nest(&nesting).unwrap()).find(|nested| {
            check(&nesting, nested);
            nested.left.is_empty() && nested.sheets[0].used < 12.9
        });
        assert!(found.is_some(), "{lean}");
    }
    // More than are searched for places.
    let squares = vec![(rectangle("r", 1.0, 1.0), 4097)];
    let nesting = Nesting { turns: vec![Turns::NONE], ..Nesting::new(squares, [along(10.0, true)], Duration::from_secs(1)) };
    let found = nest(&nesting).unwrap();
    assert!((found.sheets[0].used - 410.0).abs() < 1e-6 && found.sheets[0].parts.len() == 4097, "{found:?}");
}

/// Parts of higher priority have places before all others, whatever their sizes.
#[test]
fn priorities() {
    let counts = |priorities: &[i64]| {
        let parts = [("a", 6.0, 6.0, 1), ("b", 5.0, 5.0, 4), ("c", 3.0, 3.0, 9)];
        let parts = parts.map(|(name, width, height, count)| (rectangle(name, width, height), count));
        let nesting = Nesting {
            turns: vec![Turns::NONE],
            priorities: priorities.to_vec(),
            ..Nesting::new(parts, [sheet(10.0, 10.0, Some(1))], Duration::from_secs(1))
        };
        let nested = nest(&nesting).unwrap();
        check(&nesting, &nested);
        [0, 1, 2].map(|part| nested.sheets[0].parts.iter().filter(|placed| placed.part == part).count())
    };
    assert_eq!(counts(&[0, 1, 0]), [0, 4, 0]);
    let [a, b, c] = counts(&[-1, -2, -2]);
    assert!((a, b) == (1, 0) && (4..=5).contains(&c), "{c}");
    assert_eq!(counts(&[0, -1, 7]), [0, 0, 9]);
}

#[test]
fn what_can_not_be_nested() {
    let of = |parts: Vec<(Shape, usize)>, sheet: Sheet| Nesting::new(parts, [sheet], Duration::from_secs(1));
    let one = || vec![(rectangle("r", 1.0, 1.0), 1)];
    let fails = |nesting: Nesting, sentence: &str| {
        let error = nest(&nesting).unwrap_err().to_string();
        assert!(error.contains(sentence), "{error}");
    };
    fails(of(vec![], sheet(9.0, 9.0, None)), "count is 0");
    fails(of(vec![(rectangle("r", 1.0, 1.0), 0)], sheet(9.0, 9.0, None)), "count is 0");
    fails(Nesting { spacing: -1.0, ..of(one(), sheet(9.0, 9.0, None)) }, "spacing is -1, but it must be from 0");
    fails(Nesting { margin: f64::NAN, ..of(one(), sheet(9.0, 9.0, None)) }, "margin is NaN, but");
    fails(
        Nesting { margin: 4.5, ..of(one(), sheet(9.0, 20.0, None)) },
        "a sheet of 9 x 20 with margins of 4.5: there must be room",
    );
    for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let nesting = Nesting { values: Some(vec![value]), ..of(one(), sheet(9.0, 9.0, None)) };
        fails(nesting, &format!("the value of r is {value}, but it must be positive and finite"));
    }
    fails(
        Nesting { values: Some(vec![]), ..of(one(), sheet(9.0, 9.0, None)) },
        "0 values, but there must be one for each of 1 parts",
    );
    fails(Nesting { priorities: vec![1, 2], ..of(one(), sheet(9.0, 9.0, None)) }, "2 priorities, but there must be one");
    fails(
        Nesting { turns: vec![], ..of(one(), sheet(9.0, 9.0, None)) },
        "0 sets of allowed angles, but there must be one for all",
    );
    for size in [0.0, -1.0, f64::NAN, 1e6] {
        fails(of(one(), sheet(size, 2.0, None)), "there must be room, and lengths must be below 1e6");
        fails(of(one(), sheet(f64::INFINITY, size, None)), "there must be room, and lengths must be below 1e6");
    }
    fails(of(one(), sheet(f64::INFINITY, f64::INFINITY, None)), "there must be room, and lengths must be below 1e6");
    let rolls = vec![sheet(9.0, 9.0, Some(1)), sheet(f64::INFINITY, 2.0, None)];
    fails(Nesting::new(one(), rolls, Duration::from_secs(1)), "a roll must be the only sheet");
}

/// All within a distance is in the grown shape, and little more.
#[test]
fn shapes_with_a_distance() {
    for (shape, _) in parts() {
        let grown = shape.with_distance(2.0);
        let pieces =
            grown.pieces().iter().map(|piece| Polygon::new(LineString::from_iter(piece.iter().map(|&p| Coord::from(p))), vec![]));
        let pieces: Vec<Polygon> = pieces.collect();
        let rings = shape.outlines();
        let line = |ring: &[[f64; 2]]| LineString::from_iter(ring.iter().map(|&p| Coord::from(p)));
        let own = Polygon::new(line(&rings[0]), rings[1..].iter().map(|ring| line(ring)).collect());
        for step in 0..10_000 {
            let at = Place::new(f64::from(step % 100) * 0.6 - 10.03, f64::from(step / 100) * 0.6 - 10.07);
            let (distance, inside) =
                (Euclidean.distance(&own, &at), pieces.iter().any(|piece| piece.relate(&at).is_intersects()));
            assert!(if inside { distance <= 2.0 * 1.04 } else { distance > 2.0 - 1e-9 }, "{}: {at:?} {distance}", shape.name());
        }
        assert_eq!(grown.area(), shape.area());
    }
}

const DRAWING: &str = "<svg xmlns='http://www.w3.org/2000/svg' width='200mm' height='100mm' viewBox='0 0 200 100'>\n\
    <rect id='plate' width='60' height='40' rx='5'/><circle id='disc' cx='100' cy='30' r='15'/>\n\
    <path id='ring' d='M120 10h60v60h-60z M130 20h40v40h-40z'/><path id='a hook' d='M0 60h30v10h-20v20h-10z'/></svg>";

/// From a drawing to a drawing to cut from: sizes are true, and each part is there as it was drawn.
#[test]
fn a_drawing_to_cut_from() {
    let folder = Folder::of("");
    folder.write("parts.svg", DRAWING);
    let report: Value = {
        let output = folder.run("nest parts.svg:2 --sheet 160x100mm --spacing 2 --margin 4 --time 4s --output cut.svg --json");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    assert_eq!((report["left"].as_array().unwrap().len(), report["places"].as_array().unwrap().len()), (0, 8), "{report}");
    let text = std::fs::read_to_string(folder.path("cut.svg")).unwrap();
    let sheets = report["sheets"].as_array().unwrap().len();
    let width = 160.0 * sheets as f64 + 8.0 * (sheets - 1) as f64;
    assert!(text.contains(&format!("width=\"{width}mm\" height=\"100mm\" viewBox=\"0 0 {width} 100\"")), "{text}");
    let cut = read_shapes(folder.path("cut.svg").to_str().unwrap()).unwrap();
    let named = |name: &str| cut.iter().find(|shape| shape.name() == name).unwrap_or_else(|| panic!("{name}: {text}"));
    let original = read_parts(folder.path("parts.svg").to_str().unwrap(), None).unwrap();
    for part in &original {
        for copy in 1..=2 {
            let name = format!("{}-{copy}", part.shape.name().replace(' ', "_"));
            let found = named(&name);
            assert!((found.area() - part.shape.area()).abs() < 1e-3 * part.shape.area(), "{name}");
            assert_eq!(found.outlines().len(), part.shape.outlines().len());
        }
    }
    for number in 1..=sheets {
        assert_eq!(named(&format!("sheet-{number}-outline")).area(), 16_000.0);
        assert!(text.contains(&format!("<g id=\"sheet-{number}\" inkscape:groupmode=\"layer\"")));
    }
    // Circles are still curves.
    assert_eq!(text.lines().filter(|line| line.contains("id=\"disc-") && line.contains('C')).count(), 2);

    folder.write("r.wkt", "MULTIPOLYGON (((0 0, 5 0, 5 4, 0 4)), ((0 0, 3 0, 0 3)))");
    let output = folder.good("nest r.wkt:3 --sheet 10x9 --turns 90 --time 1s --output p.csv");
    assert!(output.contains("6 parts on ") && output.contains("Written: p.csv"), "{output}");
    let table = std::fs::read_to_string(folder.path("p.csv")).unwrap();
    assert!(table.starts_with("part,copy,sheet,x,y,theta\n") && table.lines().count() == 7, "{table}");
    folder.good("nest r.wkt --sheet 10x9 --time 300ms --output p.json");
    let places: Value = serde_json::from_str(&std::fs::read_to_string(folder.path("p.json")).unwrap()).unwrap();
    assert_eq!(places[0].as_object().unwrap().keys().collect::<Vec<_>>(), ["part", "copy", "sheet", "x", "y", "theta"]);
}

/// Lines in place of curves are as far from them as is said, of each closed contour by itself.
#[test]
fn tolerance_of_curves() {
    let folder = Folder::of("");
    folder.write(
        "plate.svg",
        "<svg><path d='M0 0h600v400h-600z M300 200a3 3 0 0 0 6 0a3 3 0 0 0 -6 0z M10 9a1 1 0 0 1 0 200z'/></svg>",
    );
    let path = folder.path("plate.svg");
    // The farthest that a hole's lines are within its circle.
    let within = |tolerance| {
        let part = read_parts(path.to_str().unwrap(), tolerance).unwrap().swap_remove(0);
        let hole = part.shape.outlines().iter().find(|ring| ring.iter().all(|[x, _]| (299.9..306.1).contains(x)));
        let hole = hole.expect("the round hole").clone();
        let next = hole.iter().cycle().skip(1);
        let middles = hole.iter().zip(next).map(|(a, b)| (0.5 * (a[0] + b[0]) - 303.0).hypot(0.5 * (a[1] + b[1]) + 200.0));
        (3.0 - middles.fold(3.0, f64::min), part.deviation)
    };
    let (own, most) = within(None);
    assert!(own > 2e-4 && own <= 6.0 / 2000.0 && most > 6.0 / 2000.0 && most <= 0.1, "{own} {most}");
    let (own, most) = within(Some(1e-3));
    assert!(own > 1e-4 && own <= most && most <= 1e-3, "{own} {most}");
    folder.write("disc.svg", "<svg width='96' height='96' viewBox='0 0 25.4 25.4'><circle r='50'/></svg>");
    let output = folder.run("nest disc.svg --sheet 120x120 --tolerance 0.02 --time 100ms --output cut.svg --json");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let deviation = report["deviation"].as_f64().unwrap();
    assert!(deviation > 0.004 && deviation <= 0.02, "{deviation}");
    let text = folder.good("nest disc.svg --sheet 120x120 --tolerance 0.02 --time 100ms --output cut.svg");
    assert!(text.contains(&format!("Curves count as lines outside of them, at most {deviation:.1e} away.")), "{text}");
    for wrong in ["0", "-1", "nan", "1e-9", "x"] {
        folder.bad(
            &format!("nest disc.svg --sheet 120x120 --tolerance {wrong} --output cut.svg"),
            "not a length from 0.000001 to below 1e6",
        );
    }
}

#[test]
fn commands_that_fail() {
    let folder = Folder::of("");
    folder.write("r.wkt", "POLYGON ((0 0, 5 0, 5 4, 0 4))");
    for (command, sentence) in [
        ("nest r.wkt --sheet 10x9 --output p.txt", "p.txt: the name must end in .svg, .dxf, .csv or .json"),
        ("nest r.wkt --sheet 10by9 --output p.svg", "not a sheet: write 600x400"),
        ("nest no.svg --sheet 10x9 --output p.svg", "no.svg: can't be read: no such file"),
        ("nest r.wkt --output p.svg", "--roll <WIDTH>|--sheet <WxH[:N]>"),
        ("nest r.wkt --roll 9 --sheet 10x9 --output p.svg", "cannot be used with '--sheet <WxH[:N]>'"),
        ("nest r.wkt --roll 9x --output p.svg", "not a width: write 1500, 1500mm or 60in"),
        ("nest r.wkt --roll 9 --margin 5 --output p.svg", "a roll of 9 with margins of 5: there must be room"),
        ("nest r.wkt:0 --sheet 10x9 --output p.svg", "r.wkt:0: the copies must be a whole number from 1 to"),
        ("nest r.wkt:-2 --sheet 10x9 --output p.svg", "r.wkt:-2: the copies must be a whole number from 1 to"),
        ("nest r.wkt: --sheet 10x9 --output p.svg", "r.wkt:: the copies must be a whole number from 1 to"),
        ("nest tree:1e3 --sheet 10x9 --output p.svg", "tree:1e3: the copies must be a whole number from 1 to"),
        ("nest r.wkt --roll 1e99 --output p.svg", "'1e99' for '--roll <WIDTH>': not a width: write 1500, 1500mm or 60in, below"),
        ("nest r.wkt --roll -1 --output p.svg", "'-1' for '--roll <WIDTH>': not a width"),
        ("nest r.wkt --sheet -1x30 --output p.svg", "'-1x30' for '--sheet <WxH[:N]>': not a sheet"),
        ("nest r.wkt --sheet 1e99x30 --output p.svg", "'1e99x30' for '--sheet <WxH[:N]>': not a sheet"),
        ("nest r.wkt --sheet 10x9 --seed -1 --output p.svg", "'-1' for '--seed <S>': it must be a whole number from 0 on"),
        ("nest r.wkt --sheet 10x9 --spacing -1 --output p.svg", "'-1' for '--spacing <D>': not a length from 0 to below 1e6"),
        ("nest r.wkt --sheet 10x9 --spacing 3mm --output p.svg", "'3mm' for '--spacing <D>': not a length from 0 to below 1e6"),
        ("nest r.wkt --sheet 10x9 --spacing= --output p.svg", "'' for '--spacing <D>': not a length from 0 to below 1e6"),
        ("nest r.wkt --sheet 10x9 --margin 1e99 --output p.svg", "'1e99' for '--margin <D>': not a length from 0 to below 1e6"),
        ("nest . --sheet 10x9 --output p.svg", "`.` is not a shape: it is a directory"),
        ("nest r.wkt --sheet 10x9 --margin 5 --output p.svg", "with margins of 5: there must be room"),
        ("nest r.wkt --sheet 10x9 --output r.wkt", "the name must end in"),
        ("nest r.wkt --sheet 10x9 --value r=-1 --output p.svg", "the value of r is -1, but it must be positive and finite"),
        ("nest r.wkt:9 --sheet 10x9 --value 1e308 --output p.svg", "finite, also times the number of all parts"),
        ("nest r.wkt --sheet 10x9 --value s=1 --output p.svg", "--value: no part is called s; the parts are r"),
        (
            "nest r.wkt --sheet 10x9 --value r=x --output p.svg",
            "invalid value 'r=x' for '--value <[PART=]V>': it must be a number",
        ),
        (
            "nest r.wkt --sheet 10x9 --priority r=1.5 --output p.svg",
            "'r=1.5' for '--priority <[PART=]K>': it must be a whole number",
        ),
        (
            "nest r.wkt --sheet 10x9 --priority -1.5 --output p.svg",
            "'-1.5' for '--priority <[PART=]K>': it must be a whole number\n",
        ),
        ("nest r.wkt:9 --sheet 10x9 --value r=2e307 --output p.svg", "the value of r is 2e307, but"),
    ] {
        folder.bad(command, sentence);
    }
    // What has a place is written.
    let output = folder.run("nest r.wkt:5 --sheet 5x4:2 --turns none --time 2s --output p.csv");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), &*stderr), (Some(2), "error: without a place: 3 of r (no room was found)\n"));
    assert_eq!(std::fs::read_to_string(folder.path("p.csv")).unwrap().lines().count(), 3);
    // Where value counts, parts without a place are no error.
    let command = "nest r.wkt:5 --sheet 5x4:2 --turns none --value 3 --time 1s --output p.csv";
    let text = folder.good(command);
    assert!(text.contains("Value: 6 of 15.\nLeft: 3 of r (no room was found).\n"), "{text}");
    let report: Value = serde_json::from_slice(&folder.run(&format!("{command} --json")).stdout).unwrap();
    assert_eq!(report["value"], serde_json::json!({"placed": 6.0, "total": 15.0}));
    let output = folder.run("nest r.wkt --sheet 5x3 --time 2s --output q.csv");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "error: without a place: 1 of r (larger than every sheet: 5 x 4)\n");
    assert!(!folder.path("q.csv").exists());
    folder.good("nest r.wkt --sheet 24x12in --time 100ms --output in.svg");
    let drawing = std::fs::read_to_string(folder.path("in.svg")).unwrap();
    assert!(drawing.contains("width=\"609.6mm\" height=\"304.8mm\""), "{drawing}");
    folder.write("s.wkt", "POLYGON ((0 0, 6 0, 6 5, 0 5))");
    for options in ["--sheet 6x5 --margin 0.6", "--sheet s.wkt --spacing 1.2"] {
        let within = "1 of r (larger than every sheet within its margin: 5 x 4)";
        folder.bad(&format!("nest r.wkt {options} --time 100ms --output q.csv"), within);
    }
}

/// Parts of the same name are told apart in options, in places and in what is left.
#[test]
fn parts_of_the_same_name() {
    let folder = Folder::of("");
    for (name, width) in [("a", 5), ("b", 6)] {
        fs::create_dir(folder.path(name)).unwrap();
        folder.write(&format!("{name}/r.wkt"), &format!("POLYGON ((0 0, {width} 0, {width} 4, 0 4))"));
    }
    folder.write("d.svg", "<svg><path id='r 2' d='M0 0h1v4h-1z'/><path id='r' d='M0 0h9v9h-9z'/></svg>");
    let command = "nest a/r.wkt:2 b/r.wkt d.svg --sheet 20x4:1 --turns none --priority r=1 --time 1s --output p.csv";
    let stderr = String::from_utf8(folder.run(command).stderr).unwrap();
    assert!(stderr.ends_with("error: without a place: 1 of r 4 (larger than every sheet: 9 x 9)\n"), "{stderr}");
    let table = fs::read_to_string(folder.path("p.csv")).unwrap();
    let mut rows: Vec<&str> = table.lines().skip(1).map(|row| row.rsplitn(5, ',').last().unwrap()).collect();
    rows.sort_unstable();
    assert_eq!(rows, ["r 2,1", "r 3,1", "r,1", "r,2"], "{table}");
    let shapes = "--shape a/r.wkt:1 --shape b/r.wkt:1 --turns none --steps 5";
    let report: Value =
        serde_json::from_slice(&folder.run(&format!("overlap pack {shapes} --output q.csv --json")).stdout).unwrap();
    assert_eq!(report["shape"], "r, r 2");
}

/// Parts without a place at a signal get one in rows: on further sheets, irregular ones too, or on a roll.
#[test]
fn after_a_signal_all_have_places() {
    let l = [[0.0, 0.0], [90.0, 0.0], [90.0, 60.0], [50.0, 60.0], [50.0, 99.0], [0.0, 99.0]];
    let form = Sheet::of(Shape::polygon("l", &l).unwrap(), None);
    for on in [sheet(60.0, 60.0, None), form, sheet(f64::INFINITY, 60.0, None)] {
        let parts = parts().into_iter().map(|(shape, count)| (shape, 9 * count)).collect::<Vec<_>>();
        let nesting = Nesting { spacing: 0.5, ..Nesting::new(parts, [on], Duration::from_secs(3600)) };
        let (device, cancel) = (Device::best().unwrap(), Cancel::new());
        let (nested, late) = std::thread::scope(|scope| {
            let signal = scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(500));
                cancel.cancel();
                Instant::now()
            });
            let nested = nesting.run(&device, &cancel, |_| {}).unwrap();
            (nested, signal.join().unwrap().elapsed())
        });
        check(&nesting, &nested);
        assert!(nested.left.is_empty() && late < Duration::from_secs(5), "{late:?} {:?}", nested.left);
    }
}

/// A search that a signal ends writes what it has, and names what has no place.
#[test]
#[cfg(target_os = "linux")]
fn a_signal_leaves_parts() {
    use rustix::process::{Pid, Signal, kill_process};

    let folder = Folder::of("");
    for sheet in ["100x100:1", "100x100"] {
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("warpsmith"));
        let child = crate::signals::heed_interrupts(&mut command)
            .args(["nest", "POLYGON((0 0,40 0,30 30)):40", "--sheet", sheet, "--time", "1h", "-o", "cut.csv"])
            .current_dir(&folder.directory)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        crate::signals::wait_until_handled(&child);
        // Rows of parts are found at once, but a GPU's driver may be slow to start.
        let on_cpu = Device::best().unwrap().backend() == Backend::Cpu;
        std::thread::sleep(Duration::from_secs(if on_cpu { 2 } else { 8 }));
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        let output = child.wait_with_output().unwrap();
        let (text, rows) =
            (String::from_utf8(output.stdout).unwrap(), fs::read_to_string(folder.path("cut.csv")).unwrap().lines().count() - 1);
        assert_eq!(output.status.code(), Some(143));
        assert_eq!(rows == 40, sheet == "100x100", "{rows}");
        assert!(rows == 40 || text.contains(&format!("Left: {} of polygon (cancelled).", 40 - rows)), "{rows}: {text}");
    }
}

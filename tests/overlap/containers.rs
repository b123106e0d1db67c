//! Containers other than the square, turns that are allowed, and several shapes.
//!
//! They run on the backend that `WARPSMITH_BACKEND` names, or on a GPU where there is one.

use std::{
    f64::consts::{FRAC_PI_2, PI},
    fs,
};

use crate::{
    evaluation::Result,
    exact,
    folder::Folder,
    polygon::{brute, place},
};
use warpsmith::{
    device::Device,
    overlap::{
        Boundary, Shape,
        io::read_poses,
        pack::{Budget, PackError, Packed, Packer, Packing, Settings, Turns},
    },
};

fn pack(settings: Settings) -> Result<Packed> {
    Ok(Packer::new(&Device::best()?, settings)?.run(|_| {})?)
}

fn unit_square() -> Shape {
    Shape::polygon("square", &[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]).expect("it is simple")
}

fn l() -> Shape {
    Shape::polygon("l", &[[0.0, 0.0], [2.0, 0.0], [2.0, 0.5], [0.5, 0.5], [0.5, 3.0], [0.0, 3.0]]).expect("it is simple")
}

fn triangle() -> Boundary {
    Boundary::polygon(&[[-0.5, -0.3], [0.9, -0.2], [-0.1, 0.8]]).expect("it is convex")
}

/// That no two copies overlap, that all are in the container by exact arithmetic, that it is no
/// larger than need be, and that turns are allowed ones.
#[track_caller]
fn check(settings: &Settings, packed: &Packed) {
    let Settings { shapes: kinds, packings, container, turns, .. } = settings;
    let (shapes, Packing { poses, side, .. }) = (packings[0].shapes(), &packed.packings[0]);
    assert_eq!((poses.len(), shapes.len()), (packings[0].count(), packings[0].count()));
    let shape_of = |pose: usize| &kinds[shapes[pose] as usize];
    let mirrored = |pose: usize| packed.packings[0].mirrored.get(pose) == Some(&true);
    // The mirror image's outline, in the direction of the shape's.
    let outline = |pose: usize, ring: &Vec<[f64; 2]>| match mirrored(pose) {
        true => ring.iter().rev().map(|[x, y]| [-x, *y]).collect(),
        false => ring.clone(),
    };
    let rings: Vec<Vec<_>> = (0..shapes.len())
        .map(|pose| shape_of(pose).outlines().iter().map(|ring| place(&outline(pose, ring), poses[pose])).collect())
        .collect();
    let may = |shape: u32| turns[shape as usize % turns.len()].mirrors();
    assert!((0..shapes.len()).all(|pose| may(shapes[pose]) || !mirrored(pose)));
    for (first, one) in rings.iter().enumerate() {
        for (second, other) in rings[..first].iter().enumerate() {
            let area: f64 = one.iter().flat_map(|ring| other.iter().map(|other| brute(ring, other))).sum();
            assert!(area <= 1e-12 * shape_of(first).radius().powi(2), "{first} and {second}: {area:e}");
        }
    }
    // Rounded as the library does.
    let posed = |pose: usize| -> Vec<_> {
        let shape = if mirrored(pose) { shape_of(pose).mirrored() } else { shape_of(pose).clone() };
        shape.posed(poses[pose]).flatten().collect()
    };
    let vertices: Vec<_> = (0..shapes.len()).flat_map(posed).collect();
    let inside = |scale: f64| {
        vertices.iter().all(|&vertex| match container.scale_name() {
            "radius" => exact::in_disk(scale, vertex),
            _ => exact::in_convex(&container.outline(scale), vertex),
        })
    };
    assert!(inside(*side) && !inside(*side * (1.0 - 1e-12)), "{side}");
    let area: f64 = shapes.iter().map(|&shape| kinds[shape as usize].area()).sum();
    assert!((packed.density - area / container.area(*side)).abs() < 1e-12);
    for (&[_, _, theta], shape) in poses.iter().zip(shapes) {
        let Some(angles) = turns[shape as usize % turns.len()].angles() else { continue };
        assert!(angles.iter().any(|&angle| angle == theta || (angle == PI && theta == -PI)), "{shape}: {theta}");
    }
    let least = container.fit(&vertices).expect("it is wide enough");
    assert!(*side <= least * (1.0 + 1e-12), "{side} {least}");
}

/// Few copies at random, and more from lattices, in every container.
#[test]
fn packings_in_containers() -> Result {
    // Numbers of copies in each container, and the minimum densities.
    for (container, cases) in [
        (Boundary::disk(), &[(5, 0.35), (13, 0.5)][..]),
        (Boundary::strip(1.1)?, &[(5, 0.4), (13, 0.5)]),
        // One row.
        (Boundary::strip(30.0)?, &[(5, 0.055), (13, 0.15)]),
        (triangle(), &[(5, 0.3), (13, 0.45)]),
    ] {
        for &(count, dense) in cases {
            let settings = Settings {
                container: container.clone(),
                seed: 2,
                starts: Some(2),
                budget: Budget::Steps(700),
                ..Settings::of([(Shape::tree(), count)])
            };
            let packed = pack(settings.clone())?;
            check(&settings, &packed);
            assert!(packed.density > dense, "{container:?}, {count}: {}", packed.density);
            // Going on from it gives nothing larger. Many copies look for lattices again, which a disk is enough for.
            if count == 13 && container.scale_name() != "radius" {
                continue;
            }
            let again = Settings { budget: Budget::Steps(30), ..settings }.going_on(packed.packings[0].poses.clone());
            let next = pack(again.clone())?;
            check(&again, &next);
            let [next, first] = [&next, &packed].map(|packed| packed.packings[0].side);
            assert!(next <= first, "{next} {first}");
        }
    }
    Ok(())
}

/// Containers known in closed form.
#[test]
fn least_containers() -> Result {
    let similar = Shape::polygon("similar", &triangle().outline(0.7))?;
    for (shape, count, container, turns, least) in [
        (unit_square(), 1, Boundary::disk(), Turns::ANY, 0.5f64.sqrt()),
        (unit_square(), 2, Boundary::disk(), Turns::ANY, 1.25f64.sqrt()),
        (unit_square(), 4, Boundary::strip(2.0 + 1e-5)?, Turns::NONE, 2.0),
        (unit_square(), 3, Boundary::strip(1.5)?, Turns::HALVES, 3.0),
        (l(), 1, Boundary::strip(2.5)?, Turns::HALVES, 3.0),
        (l(), 1, Boundary::strip(3.5)?, Turns::QUARTERS, 2.0),
        (similar, 1, triangle(), Turns::NONE, 0.7),
    ] {
        let turns = vec![turns];
        let settings =
            Settings { container, turns, starts: Some(6), budget: Budget::Steps(3000), ..Settings::of([(shape, count)]) };
        let packed = pack(settings.clone())?;
        check(&settings, &packed);
        let side = packed.packings[0].side;
        assert!(side > least * (1.0 - 1e-12) && side < least * 1.001, "{side} {least}");
    }
    Ok(())
}

/// More copies of one shape than lattices are worth a start, and three shapes: by fields, and if one of them may have any
/// angle, by areas.
#[test]
fn turns_and_shapes() -> Result {
    let small = Shape::polygon("small", &[[7.0, 0.0], [7.4, 0.0], [7.2, 0.5]])?;
    let alone = || vec![(l(), 13)];
    let three = || vec![(l(), 2), (small.clone(), 5), (Shape::tree(), 3)];
    for (turns, container, copies) in [
        (&["0,45,180"][..], triangle(), alone()),
        (&["120"], Boundary::disk(), alone()),
        (&["any"], Boundary::disk(), alone()),
        (&["none"], triangle(), three()),
        (&["90"], Boundary::disk(), three()),
        (&["any"], triangle(), three()),
        (&["none", "90", "0,45"], Boundary::disk(), three()),
        (&["30,", "any", "0,45"], triangle(), three()),
    ] {
        let settings = Settings {
            container,
            turns: turns.iter().map(|text| text.parse()).collect::<std::result::Result<_, _>>()?,
            starts: Some(2),
            budget: Budget::Steps(1300),
            ..Settings::of(copies)
        };
        let packed = pack(settings.clone())?;
        check(&settings, &packed);
        assert!(packed.density > 0.25, "{turns:?}: {}", packed.density);
        if settings.shapes.len() > 1 {
            assert_eq!(pack(settings.clone())?.packings, packed.packings, "a seed gives the same");
        }
        // The last copy is turned by an angle that only another shape may have.
        let wrong = if turns.contains(&"any") { continue } else { FRAC_PI_2 / 1.5 };
        let mut from = packed.packings[0].poses.clone();
        let last = from.len() - 1;
        from[last][2] = if turns.len() == 3 { PI } else { wrong };
        let error = pack(settings.going_on(from)).unwrap_err();
        assert!(matches!(error.downcast_ref(), Some(PackError::StartTurned { pose, .. }) if *pose == last), "{error}");
    }
    Ok(())
}

/// A frame whose hole has the form of an L's mirror image: a square holds both only if one is mirrored.
fn frame_and_key() -> [Shape; 2] {
    let hole = [[1.4, 1.4], [3.6, 1.4], [3.6, 4.6], [2.4, 4.6], [2.4, 2.6], [1.4, 2.6]];
    let frame = Shape::with_holes("frame", &[[0.0, 0.0], [6.0, 0.0], [6.0, 6.0], [0.0, 6.0]], &[hole.to_vec()]);
    let key = Shape::polygon("key", &[[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [1.0, 1.0], [1.0, 3.0], [0.0, 3.0]]);
    [frame.expect("it is simple"), key.expect("it is simple")]
}

#[test]
fn mirrored_copies() -> Result {
    for (mirrors, side) in [([false, false], 7.0), ([false, true], 6.0), ([true, false], 6.0), ([true, true], 6.0)] {
        let settings = Settings {
            turns: mirrors.map(|mirrors| Turns::QUARTERS.mirroring(mirrors)).to_vec(),
            starts: Some(4),
            budget: Budget::Steps(8000),
            ..Settings::of(frame_and_key().map(|shape| (shape, 1)))
        };
        let packed = pack(settings.clone())?;
        check(&settings, &packed);
        let Packing { side: found, mirrored, .. } = &packed.packings[0];
        assert!((found - side).abs() < 1e-3, "{mirrors:?}: {found}");
        assert_eq!(mirrored.iter().filter(|mirrored| **mirrored).count() % 2, usize::from(mirrors != [false, false]));
        assert_eq!(pack(settings.clone())?.packings, packed.packings, "a seed gives the same");
        // Going on from it gives nothing larger, and keeps what is mirrored.
        let mut again = Settings { budget: Budget::Steps(1), ..settings.clone() }.going_on(packed.packings[0].poses.clone());
        again.packings[0].mirrored = mirrored.clone();
        let next = pack(again.clone())?;
        check(&again, &next);
        assert!(next.packings[0].side <= *found);
        again.turns = vec![Turns::QUARTERS];
        let error = pack(again).err();
        assert_eq!(error.is_some(), mirrors != [false, false], "{error:?}");
    }
    // Alike but for mirroring, several shapes, a single copy, and any angle.
    let key = || frame_and_key()[1].clone();
    for (turns, container, copies) in [
        ("none", Boundary::strip(4.5)?, vec![(key(), 6)]),
        ("90", Boundary::square(), vec![(key(), 1)]),
        ("0,30", triangle(), vec![(key(), 3), (l(), 2), (Shape::tree(), 3)]),
        ("any", Boundary::disk(), vec![(key(), 4)]),
        ("any", triangle(), vec![(key(), 3), (l(), 2), (Shape::tree(), 3)]),
    ] {
        let turns = vec![turns.parse::<Turns>()?.mirroring(true)];
        let settings = Settings { container, turns, starts: Some(3), budget: Budget::Steps(1500), ..Settings::of(copies) };
        let packed = pack(settings.clone())?;
        check(&settings, &packed);
        assert_eq!(packed.packings[0].mirrored.len(), settings.packings[0].count());
        assert!(packed.density > 0.25, "{:?}: {}", settings.turns, packed.density);
        assert_eq!(pack(settings.clone())?.packings, packed.packings, "a seed gives the same");
    }
    let image = l().mirrored();
    assert_eq!((image.area(), image.name(), image.mirrored().outlines()), (l().area(), "l mirrored", l().outlines()));
    Ok(())
}

/// Mirror images have numbers of their own in files, which other commands read.
#[test]
fn the_command_mirrors_copies() -> Result {
    let folder = Folder::of("overlap");
    let [frame, key] = frame_and_key();
    for shape in [&frame, &key] {
        let [outline, holes @ ..] = shape.outlines() else { panic!("no outline") };
        let text = serde_json::json!({"outline": outline, "holes": holes}).to_string();
        folder.write(&format!("{}.json", shape.name()), &text);
    }
    let shapes = "--shape frame.json:1 --shape key.json:1 --turns 90 --mirror=key";
    let mut last = f64::INFINITY;
    for resume in ["", "--resume"] {
        let object = folder.json(&format!("pack {shapes} --steps 8000 --starts 4 --output p.csv --plot p.svg {resume}"));
        let side = object["side"].as_f64().expect("a number");
        assert!(object["mirrored"] == 1 && side < 6.001 && side <= last, "{object}");
        last = side;
        let file = read_poses(&folder.path("p.csv"))?.packings;
        assert_eq!(file.shapes(), Some(&[0, 3][..]));
    }
    let total = folder.json("total p.csv --shape frame.json --shape key.json --mirror");
    assert_eq!((&total["shapes"][3], &total["overlap"]), (&"key mirrored".into(), &0.0.into()), "{total}");
    folder.bad("total p.csv --shape frame.json --shape key.json", "shape = 3, but the shapes are 0 to 1");
    folder.bad(&format!("pack {shapes} --output p.npy"), "copies of several shapes, or mirrored ones, are written as text");
    folder.bad("pack --shape key.json:2 --mirror=l --output p.csv", "--mirror: no part is called l; the parts are key");
    Ok(())
}

#[test]
fn turns_of_other_shapes() -> Result {
    let turns = vec![Turns::NONE; 3];
    let error = Packer::new(&Device::best()?, Settings { turns, ..Settings::of([(l(), 1), (unit_square(), 1)]) }).err();
    assert_eq!(error, Some(PackError::TurnsOfShapes { turns: 3, shapes: 2 }));
    Ok(())
}

/// Rectangles that can't be turned, so that their sides are parallel: in nanometres, or in
/// kilometres.
#[test]
fn units() -> Result {
    for unit in [1e-5, 1e5] {
        let rectangle = |width: f64, height: f64| {
            let corners = [[0.0, 0.0], [width, 0.0], [width, height], [0.0, height]];
            Shape::polygon("rectangle", &corners.map(|corner| corner.map(|number| unit * number)))
        };
        for container in [Boundary::square(), Boundary::strip(4.0 * unit)?] {
            let copies = vec![(rectangle(3.0, 1.0)?, 2), (rectangle(1.0, 1.0)?, 2)];
            let settings = Settings {
                container,
                turns: vec![Turns::NONE],
                starts: Some(2),
                budget: Budget::Steps(1900),
                ..Settings::of(copies)
            };
            let packed = pack(settings.clone())?;
            check(&settings, &packed);
            assert!(packed.density > 0.25, "{unit}: {}", packed.density);
        }
    }
    Ok(())
}

#[test]
fn too_narrow_a_strip() -> Result {
    let device = Device::best()?;
    let new = |width: f64, turns: Turns| {
        let container = Boundary::strip(width).expect("a width");
        Packer::new(&device, Settings { container, turns: vec![turns], ..Settings::of([(unit_square(), 1), (l(), 2)]) }).err()
    };
    for (turns, least) in [(Turns::NONE, 2.0), (Turns::HALVES, 2.0), (Turns::QUARTERS, 2.0)] {
        assert_eq!(new(2.0, turns.clone()), None);
        assert_eq!(new(1.99, turns), Some(PackError::TooNarrow { width: 1.99, shape: "l".to_owned(), least }));
    }
    // From the corner to the line from (2, 0.5) to (0.5, 3), which is as far as it goes.
    let across = (2.0 * 2.5 + 0.5 * 1.5) / 1.5f64.hypot(2.5);
    assert_eq!(new(across * 1.001, Turns::ANY), None);
    assert!(matches!(new(across * 0.999, Turns::ANY), Some(PackError::TooNarrow { .. })), "{across}");
    let wide = vec![[0.0, 0.0, 0.0], [5.0, 0.0, 0.0], [9.0, 0.0, 0.0]];
    let settings = Settings {
        container: Boundary::strip(4.0)?,
        starts: Some(1),
        budget: Budget::Steps(1),
        ..Settings::of([(unit_square(), 3)]).going_on(wide)
    };
    assert_eq!(Packer::new(&device, settings)?.run(|_| {}).unwrap_err(), PackError::StartWide { width: 4.0 });
    Ok(())
}

#[test]
fn the_command_packs_into_containers() -> Result {
    let folder = Folder::of("overlap pack");
    folder.write("hexagon.wkt", "POLYGON ((9 0, 10 0, 10.5 1, 10 2, 9 2, 8.5 1, 9 0))");
    folder.write("bar.json", r#"{"outline": [[0, 0], [1, 0], [1, 0.2], [0, 0.2]]}"#);
    let common = "--steps 700 --starts 2 --output p.csv --plot p.svg --resume";
    for (container, name) in [("strip:1.5", "height"), ("circle", "radius"), ("hexagon.wkt", "scale"), ("square", "side")] {
        let _ = fs::remove_file(folder.path("p.csv"));
        let mut last = f64::INFINITY;
        for _ in 0..2 {
            let shapes = format!("--shape bar.json:3 --shape tree:2 --turns 90 --container {container}");
            let object = folder.json(&format!("{shapes} {common}"));
            assert_eq!(
                (&object["container"], &object["count"], &object["shape"]),
                (&container.into(), &5.into(), &"bar, tree".into())
            );
            let scale = object[name].as_f64().expect("a number");
            assert!(scale <= last, "{container}: {scale} {last}");
            last = scale;
            let density = object["density"].as_f64().expect("a number");
            let area = 5.0 * object["score"].as_f64().expect("a number");
            assert!((density * area - (0.6 + 2.0 * Shape::tree().area())).abs() < 1e-12);
            let file = read_poses(&folder.path("p.csv"))?.packings;
            assert_eq!(file.shapes(), Some(&[0, 0, 0, 1, 1][..]));
            let quarters = |theta: f64| (theta / FRAC_PI_2).round() * FRAC_PI_2;
            assert!(file.poses().iter().all(|pose| pose[2] == quarters(pose[2])));
            if name == "scale" {
                let corners: Vec<[f64; 2]> = serde_json::from_value(object["corners"].clone())?;
                let bar = [[0.0, 0.0], [1.0, 0.0], [1.0, 0.2], [0.0, 0.2]];
                let vertices = file.poses()[..3].iter().flat_map(|&pose| place(&bar, pose)).collect::<Vec<_>>();
                let near = |[x, y]: [f64; 2]| [x * (1.0 - 1e-12), y * (1.0 - 1e-12)];
                assert!(corners.len() == 6 && vertices.into_iter().all(|vertex| exact::in_convex(&corners, near(vertex))));
            }
            let picture = fs::read_to_string(folder.path("p.svg"))?;
            let title = format!("5 copies of 2 shapes, {name} {scale:.6}, density {:.2} %", 100.0 * density);
            for text in [&title, "bar × 3", "tree × 2"] {
                assert!(picture.contains(text), "{text}");
            }
        }
    }
    let other = "--shape bar.json:2 --shape tree:3";
    folder.bad(&format!("{other} {common}"), "p.csv: the packing to start from has 3 copies of shape 0, and not 2");
    let text = folder.good("--count 2 --container circle --steps 50 --output q.csv");
    assert!(text.contains("radius (length)") && text.contains("area / n"), "{text}");
    Ok(())
}

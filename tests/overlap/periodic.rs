//! Packings that repeat by a lattice: apart from all their images, and as dense as is known.

use std::fs;

use crate::{evaluation::Result, folder::Folder};
use warpsmith::{
    device::Device,
    overlap::{Overlap, Packings, Periodic, Shape, Wanted, io::read_poses},
};

/// The area of overlap of a cell's copies with each other and all images.
fn overlap(shape: &Shape, periodic: &Periodic) -> Result<f64> {
    let mut overlap = Overlap::<f64>::new(&Device::best()?, std::slice::from_ref(shape))?.lattice(periodic.lattice)?;
    Ok(overlap.evaluate(&Packings::one(periodic.poses.clone())?, Wanted::TOTALS)?.totals[0])
}

fn regular(sides: u32) -> Shape {
    let vertex = |k: u32| std::f64::consts::TAU * f64::from(k) / f64::from(sides);
    let outline: Vec<[f64; 2]> = (0..sides).map(|k| [vertex(k).cos(), vertex(k).sin()]).collect();
    Shape::polygon("regular", &outline).expect("it is convex")
}

#[test]
fn as_dense_as_is_known() -> Result {
    let shape = |outline: &[[f64; 2]]| Shape::polygon("shape", outline);
    // A triangle tiles the plane with a turned one; alone it covers two thirds (I. Fáry, 1950). Of
    // regular pentagons, no packing covers more than (5 - √5) / 3 (T. Hales and W. Kusner, 2016),
    // and one lattice of pairs does; alone they are as dense as decagons, 0.9137, times the ratio
    // of areas. The tree's densities are the best that other seeds found.
    let triangle = shape(&[[0.0, 0.0], [1.0, 0.1], [0.3, 0.9]])?;
    let pentagons = (5.0 - 5f64.sqrt()) / 3.0;
    for (shape, single, double) in [
        (&shape(&[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])?, 1.0, 1.0),
        (&triangle, 2.0 / 3.0, 1.0),
        (&regular(5), 0.8172, pentagons),
        (&Shape::tree(), 0.5841, 0.8071),
    ] {
        for (found, known) in [(Periodic::single(shape, 1), single), (Periodic::double(shape, 1), double)] {
            let (area, density) = (overlap(shape, &found)?, found.density);
            assert!(area < 1e-12 * shape.area(), "{}: {area:e} {found:?}", shape.name());
            assert!((density - known).abs() < 2e-3 * known, "{}: {density} {known}", shape.name());
            let [a, b] = found.lattice.vectors();
            let cell = (a[0] * b[1] - a[1] * b[0]).abs();
            assert!((found.poses.len() as f64 * shape.area() / cell - density).abs() < 1e-12);
            assert!((found.area_per_copy() - shape.area() / density).abs() < 1e-12);
        }
    }
    assert_eq!(Periodic::double(&triangle, 5), Periodic::double(&triangle, 5));
    Ok(())
}

/// Two triangles tile the plane, however thin they are, and are found about as fast as others.
#[test]
fn thin_triangles_tile() -> Result {
    let shape = Shape::polygon("thin", &[[0.0, 0.0], [1000.0, 0.0], [1000.0, 0.1]])?;
    let found = Periodic::double(&shape, 0);
    assert!((found.density - 1.0).abs() < 1e-3 && (found.area_per_copy() / 50.0 - 1.0).abs() < 1e-3, "{found:?}");
    Ok(())
}

#[test]
fn pieces_that_are_apart() -> Result {
    let piece = |x: f64| vec![[x, 0.0], [x + 0.5, 0.0], [x + 0.5, 0.5], [x, 0.5]];
    let shape = Shape::from_pieces("apart", &[piece(0.0), piece(1.0)])?;
    for found in [Periodic::single(&shape, 1), Periodic::double(&shape, 1)] {
        assert!(overlap(&shape, &found)? < 1e-12 && found.density > 0.6, "{found:?}");
    }
    Ok(())
}

#[test]
fn the_command() -> Result {
    let folder = Folder::of("overlap lattice");
    folder.write("t.wkt", "POLYGON ((0 0, 1 0.1, 0.3 0.9, 0 0))");
    let object = folder.json("--shape t.wkt --output cell.csv --plot cell.svg");
    let lattices = object["lattices"].as_array().expect("an array");
    assert_eq!([&lattices[0]["copies"], &lattices[1]["copies"]], [1, 2]);
    assert!(lattices[1]["density"].as_f64().expect("a number") > 0.999);
    assert_eq!(read_poses(&folder.path("cell.csv"))?.packings.poses().len(), 2);
    assert!(fs::read_to_string(folder.path("cell.svg"))?.starts_with("<svg"));
    let text = folder.good("--shape t.wkt --copies 1");
    assert!(text.contains("density") && text.contains("66.6"), "{text}");
    for (arguments, sentence) in [
        ("--copies 3", "it must be at most 2"),
        ("--shape none.json", "none.json"),
        ("--output cell.txt", "the name must end in .npy or .csv"),
        ("--shape t.wkt --output t.csv --plot t.csv", ".png or .svg"),
    ] {
        folder.bad(arguments, sentence);
    }
    Ok(())
}

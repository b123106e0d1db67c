//! Submissions: valid as they are written, never worse than they were, and the same for a seed.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    time::{Duration, Instant},
};

use crate::{evaluation::Result, folder::Folder};
use num_bigint::BigInt;
use warpsmith::{
    common::Cancel,
    device::Device,
    io::files::Destination,
    overlap::{
        Packings, Shape,
        contest::Check,
        io::{PoseLayout, read_poses},
        pack::{Budget, Copies, PackError, Packer, Packing, Saving, Settings, Submission},
    },
};

/// The numbers of each packing's trees as the file has them, without the `s`.
fn texts(path: &Path) -> Result<BTreeMap<usize, Vec<[String; 3]>>> {
    let mut packings: BTreeMap<usize, Vec<[String; 3]>> = BTreeMap::new();
    for line in fs::read_to_string(path)?.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |field: usize| fields[field].strip_prefix('s').expect("an s").to_owned();
        packings.entry(fields[0].split('_').next().expect("an id").parse()?).or_default().push([1, 2, 3].map(number));
    }
    Ok(packings)
}

/// A decimal number in units of 10^-40, rounded to nothing where it has up to 40 decimals.
fn exact(text: &str) -> BigInt {
    let (text, exponent) = text.split_once('e').map_or((text, 0), |(text, exponent)| (text, exponent.parse().expect("a power")));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits: BigInt = format!("{whole}{fraction}").parse().expect("digits");
    let shift = 40 + exponent - fraction.len() as i32;
    assert!(shift >= 0, "{text} has too many decimals");
    digits * BigInt::from(10).pow(shift as u32)
}

/// Checks that the trees of a file are apart. Positions are exactly as written. Turned vertices are
/// rounded to 10^-40, and trees are grown by 10^-12, which exceeds all rounding. Returns the
/// packings' sides.
#[track_caller]
fn check_exactly(path: &Path) -> BTreeMap<usize, f64> {
    let tree = Shape::tree();
    let packings = texts(path).expect("a submission");
    for (count, trees) in &packings {
        assert_eq!(trees.len(), *count);
        let place = |[x, y, degrees]: &[String; 3]| -> Vec<Vec<[BigInt; 2]>> {
            let (sine, cosine) = degrees.parse::<f64>().expect("a number").to_radians().sin_cos();
            // Beyond the rounding of sine and cosine, so that what is apart here is apart.
            let grown = 1.0 + 1e-12;
            let decimal = |number: f64| exact(&format!("{number:.30}"));
            let vertex = |&[u, v]: &[f64; 2]| {
                let (u, v) = (u * grown, v * grown);
                [exact(x) + decimal(cosine * u - sine * v), exact(y) + decimal(sine * u + cosine * v)]
            };
            tree.pieces().iter().map(|piece| piece.iter().map(vertex).collect()).collect()
        };
        let placed: Vec<_> = trees.iter().map(place).collect();
        for (first, one) in placed.iter().enumerate() {
            for other in &placed[..first] {
                let meet = one.iter().any(|one| other.iter().any(|other| !(apart(one, other) || apart(other, one))));
                assert!(!meet, "{count}: tree {first}");
            }
        }
    }
    let side = |trees: &Vec<[String; 3]>| {
        let pose = |[x, y, degrees]: &[String; 3]| [x, y, degrees].map(|text| text.parse::<f64>().expect("a number"));
        let vertices: Vec<[f64; 2]> = trees
            .iter()
            .map(pose)
            .flat_map(|[x, y, degrees]| tree.posed([x, y, degrees.to_radians()]).flatten().collect::<Vec<_>>())
            .collect();
        let width = |axis: usize| {
            let along = || vertices.iter().map(move |vertex| vertex[axis]);
            along().fold(f64::MIN, f64::max) - along().fold(f64::MAX, f64::min)
        };
        width(0).max(width(1))
    };
    packings.iter().map(|(count, trees)| (*count, side(trees))).collect()
}

/// Returns true if an edge of the first convex polygon separates it from the other one.
fn apart(one: &[[BigInt; 2]], other: &[[BigInt; 2]]) -> bool {
    (0..one.len()).any(|k| {
        let ([a, b], [c, d]) = (&one[k], &one[(k + 1) % one.len()]);
        other.iter().all(|[x, y]| (c - a) * (y - b) - (d - b) * (x - a) <= BigInt::ZERO)
    })
}

#[test]
fn packed_from_nothing_and_gone_on_with() -> Result {
    let folder = Folder::of("overlap");
    let file = folder.path("s.csv");
    let first = folder.json("pack --counts 1..4,6 --submission s.csv --steps 700 --starts 2 --seed 3");
    assert_eq!((&first["command"], &first["before"], &first["steps"]), (&"pack".into(), &serde_json::Value::Null, &700.into()));
    let sides = check_exactly(&file);
    assert_eq!(sides.keys().copied().collect::<Vec<_>>(), [1, 2, 3, 4, 6]);
    let score: f64 = sides.iter().map(|(count, side)| side * side / *count as f64).sum();
    assert!((first["score"].as_f64().expect("a number") - score).abs() < 1e-12);
    let read = read_poses(&file)?;
    assert_eq!(read.layout, PoseLayout::Submission);
    let check = Check::of(&read.packings, &[Shape::tree()]);
    assert!(check.is_valid() && check.touching.is_empty(), "{check:?}");

    // The same once more gives the same file.
    folder.json("pack --counts 1..4,6 --submission t.csv --steps 700 --starts 2 --seed 3");
    let before = fs::read_to_string(&file)?;
    assert_eq!(fs::read_to_string(folder.path("t.csv"))?, before);

    // Whatever is done, nothing becomes larger, and what isn't asked for stays as it is.
    for (arguments, asked) in [
        ("pack --counts 3,5 --submission s.csv --steps 650 --starts 3 --seed 4", vec![3, 5]),
        ("improve s.csv --steps 650 --starts 2 --seed 5", vec![1, 2, 3, 4, 5, 6]),
        ("improve s.csv --counts 1..3 --steps 1 --starts 1 --from t.csv", vec![1, 2, 3]),
    ] {
        let (were, lines) = (check_exactly(&file), texts(&file)?);
        let object = folder.json(arguments);
        let now = check_exactly(&file);
        for (count, side) in &were {
            assert!(now[count] <= *side, "{arguments}: {count}: {} {side}", now[count]);
            let same = texts(&file)?[count] == lines[count];
            let improved = object["packings"]
                .as_array()
                .expect("an array")
                .iter()
                .any(|row| row["count"] == *count && row["improved"] == true);
            assert_eq!(same, !improved, "{arguments}: {count}");
            assert!(same || asked.contains(count), "{arguments}: {count}");
        }
        assert!(asked.iter().all(|count| now.contains_key(count)));
    }
    let text = folder.good("improve s.csv --steps 1 --starts 1");
    assert!(text.contains("1 to 6") && text.contains(", before "), "{text}");
    Ok(())
}

/// Digits of others are theirs, and a file that another one improves takes over its lines.
#[test]
fn what_is_not_smaller_stays_digit_by_digit() -> Result {
    let folder = Folder::of("overlap");
    let two = "002_0,s-0.50,s0.000,s0.0\n002_1,s+0.50,s0.0,s360.00\n";
    folder.write("a.csv", &format!("id,x,y,deg\n001_0,s9.0,s-3e0,s90.0\n{two}"));
    folder.write("b.csv", "id,x,y,deg\n001_0,s0.10,s0.20,s45.00\n");
    folder.json("improve a.csv --counts 1 --from b.csv --steps 1 --starts 1");
    let text = fs::read_to_string(folder.path("a.csv"))?;
    assert!(text.ends_with(two) && text.starts_with("id,x,y,deg\n001_0,s"), "{text}");
    // 45° is the best of a single tree; nothing is smaller by more than rounding.
    assert!(check_exactly(&folder.path("a.csv"))[&1] < 0.813_172_8);
    Ok(())
}

/// Two searches that have read the same file each write what they found, and keep the other's.
#[test]
fn two_that_write_one_file() -> Result {
    let folder = Folder::of("overlap");
    folder.write("s.csv", "id,x,y,deg\n001_0,s0,s0,s0\n002_0,s0,s0,s0\n002_1,s5,s0,s0\n");
    let file = folder.path("s.csv");
    let destination = Destination::prepare(&file)?;
    let [mut one, mut other] = [Submission::read(&file, Shape::tree())?, Submission::read(&file, Shape::tree())?];
    let packing = |poses: &[[f64; 3]], side: f64| Packing::new(poses.to_vec(), side);
    assert_eq!(one.take(&[packing(&[[0.0, 0.0, std::f64::consts::FRAC_PI_4]], 0.8132)]), [1]);
    assert_eq!(other.take(&[packing(&[[0.0; 3], [2.0, 0.0, 0.0]], 2.7)]), [2]);
    one.write(&destination)?;
    other.write(&destination)?;
    let sides = check_exactly(&file);
    assert!(sides[&1] < 0.814 && (sides[&2] - 2.7).abs() < 1e-12, "{sides:?}");
    Ok(())
}

/// The largest search of a submission saves at once, ends in time, and soon after a signal. Limits
/// are generous: of busy processors.
#[test]
fn large_searches_end_in_time() -> Result {
    let device = Device::best()?;
    let settings = |seconds: u64| Settings {
        packings: (1..=200).map(|count| Copies::new([count])).collect(),
        budget: Budget::Time(Duration::from_secs(seconds)),
        ..Settings::default()
    };
    for (seconds, cancels) in [(1, false), (3600, true)] {
        let cancel = Cancel::new();
        let (start, mut first) = (Instant::now(), None);
        let save = |packings: &[Packing]| {
            assert_eq!(packings.len(), 200);
            first.get_or_insert_with(|| start.elapsed());
            if cancels {
                cancel.cancel();
            }
        };
        let packed =
            Packer::new(&device, settings(seconds))?.cancelled_by(&cancel).run_saving(|_| {}, Saving::default(), save)?;
        let (first, end) = (first.expect("it saves"), start.elapsed());
        assert!(
            packed.cancelled == cancels && first < Duration::from_secs(20) && end < Duration::from_secs(60),
            "{first:?} {end:?}"
        );
        for packing in packed.packings.iter().step_by(23) {
            assert!(Check::of(&Packings::one(packing.poses.clone())?, &[Shape::tree()]).is_valid());
        }
    }
    Ok(())
}

#[test]
fn a_series_is_of_different_numbers() -> Result {
    let device = Device::best()?;
    let settings = |packings: Vec<(usize, Option<Vec<[f64; 3]>>)>| Settings {
        packings: packings.into_iter().map(|(count, from)| Copies { from, ..Copies::new([count]) }).collect(),
        starts: Some(2),
        budget: Budget::Steps(300),
        ..Settings::default()
    };
    let error = |packings| Packer::new(&device, settings(packings)).err();
    assert_eq!(error(vec![(3, None), (2, None), (3, None)]), Some(PackError::CountTwice { count: 3 }));
    assert_eq!(error(vec![(3, Some(vec![[0.0; 3]; 2]))]), Some(PackError::StartCount { found: 2, count: 3 }));
    assert_eq!(error(vec![]), Some(PackError::NoCopies));
    assert_eq!(error(vec![(1, None), (0, None)]), Some(PackError::NoCopies));

    // Saved packings are valid.
    let saving = Saving { pause: Duration::ZERO, share: 1.0 };
    let mut saved = Vec::new();
    let settings = Settings { budget: Budget::Steps(1900), ..settings(vec![(14, None), (2, None), (13, None)]) };
    let packed = Packer::new(&device, settings.clone())?.run_saving(|_| {}, saving, |packings| saved.push(packings.to_vec()))?;
    assert!(!saved.is_empty() && !packed.cancelled && packed.steps == 1900);
    for packings in saved.iter().chain([&packed.packings]) {
        assert_eq!(packings.iter().map(|packing| packing.poses.len()).collect::<Vec<_>>(), [14, 2, 13]);
        for packing in packings {
            assert!(Check::of(&Packings::one(packing.poses.clone())?, &[Shape::tree()]).is_valid());
        }
    }
    // Fourteen trees cut out of a lattice: far smaller than from random starts.
    assert!(packed.packings[0].side < 2.5, "{}", packed.packings[0].side);
    let again = Packer::new(&device, settings)?.run_saving(|_| {}, Saving::default(), |_| {})?;
    assert_eq!(again.packings, packed.packings);
    Ok(())
}

//! Functions of bars: made on the device, beside their definitions and the host's.

use warpsmith::{
    common::Cancel,
    device::Device,
    engine::{Control, Engine},
    homology::{Clouds, CurveReal, Diagrams, HomologyError, HomologyReal, Options, Rips, Sampled, rips},
    pcf::{
        Layout, Measure, Pairwise, PcfError, PcfSet, Point,
        barcode::{self, Curve},
    },
};

use crate::bars::spaces;

type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

const CURVES: [Curve; 3] = [Curve::Betti, Curve::StableRank, Curve::AccumulatedPersistence];

/// The breakpoints of a function by its definition: its value is computed anew at each time at which it may change.
fn defined<U: CurveReal>(curve: Curve, bars: &[(f64, f64)]) -> Vec<Point<U>> {
    let rounded = |time: f64| U::from_f64(time).to_f64();
    let times: Vec<f64> = match curve {
        Curve::Betti => bars.iter().flat_map(|&(birth, death)| [birth, death]).collect(),
        Curve::StableRank => bars.iter().map(|(birth, death)| death - birth).collect(),
        Curve::AccumulatedPersistence => bars.iter().map(|(birth, death)| birth / 2.0 + death / 2.0).collect(),
    };
    let mut times: Vec<f64> = times.into_iter().map(rounded).chain([0.0]).collect();
    times.sort_by(f64::total_cmp);
    times.dedup();
    let value = |t: f64| match curve {
        Curve::Betti => bars.iter().filter(|&&(birth, death)| rounded(birth) <= t && t < rounded(death)).count() as f64,
        Curve::StableRank => bars.iter().filter(|&&(birth, death)| rounded(death - birth) > t).count() as f64,
        Curve::AccumulatedPersistence => {
            let counted = bars.iter().filter(|&&(birth, death)| rounded(birth / 2.0 + death / 2.0) <= t);
            counted.map(|(birth, death)| death - birth).sum()
        }
    };
    let mut points: Vec<(f64, f64)> = times.into_iter().map(|t| (t, value(t))).collect();
    points.dedup_by(|next, before| next.1 == before.1);
    points.into_iter().map(|(t, v)| Point::new(U::from_f64(t), U::from_f64(v))).collect()
}

/// All functions of all diagrams, in the type `U`.
fn check<T: HomologyReal, U: CurveReal>(rips: &mut Rips<T>, device: &Device, diagrams: &Diagrams<T>) -> Result {
    let stream = device.stream()?;
    for degree in 0..diagrams.degrees() {
        for (curve, cap) in CURVES.into_iter().flat_map(|curve| [None, Some(0.5), Some(3.0)].map(|cap| (curve, cap))) {
            let found: PcfSet<U> = rips.curves(&stream, diagrams, degree, curve, cap)?;
            let barcodes = diagrams.barcodes(degree, cap);
            assert_eq!(found, barcode::curves(&barcodes, curve)?, "degree {degree}, {curve:?}, {cap:?}");
            assert_eq!(found.len(), diagrams.len());
            for (cloud, barcode) in barcodes.iter().enumerate() {
                let bars: Vec<_> = barcode.bars().iter().map(|bar| (bar.birth, bar.death)).collect();
                let (expected, function) = (defined::<U>(curve, &bars), found.get(cloud).points());
                if curve == Curve::AccumulatedPersistence {
                    // Sums in another order.
                    let near = |a: &Point<U>, b: &Point<U>| {
                        a.t == b.t && (a.v.to_f64() - b.v.to_f64()).abs() <= 4.0 * U::UNIT_ROUNDOFF * b.v.to_f64()
                    };
                    assert!(function.len() == expected.len() && function.iter().zip(&expected).all(|(a, b)| near(a, b)));
                } else {
                    assert_eq!(function, expected, "cloud {cloud}, degree {degree}, {curve:?}, {cap:?}");
                }
            }
        }
    }
    Ok(())
}

fn all<T: HomologyReal>(seed: u64) -> Result<(Rips<T>, Device, Diagrams<T>)> {
    let device = Device::best()?;
    // Bars with lengths of few bits, whose sums are exact, and others.
    let spaces: Vec<_> = spaces(seed).into_iter().filter(|(n, _)| *n <= 14).collect();
    let numbers: Vec<T> = spaces.iter().flat_map(|(_, distances)| distances).map(|&d| T::from_f64(d)).collect();
    let clouds = Clouds::distances(&numbers, spaces.iter().map(|(n, _)| *n).collect())?;
    // Bars without end, too.
    let options = Options { threshold: 1.5, degree: 2, ..Options::default() };
    let mut several = [Rips::new(&device, false)?, Rips::new(&device, false)?, Rips::new(&device, false)?];
    let streams = [device.stream()?, device.stream()?, device.stream()?];
    // In several parts.
    let diagrams = rips(streams.iter().zip(&mut several).collect(), &clouds, &options, &Cancel::new(), |_| ())?;
    let [first, ..] = several;
    Ok((first, device, diagrams))
}

#[test]
fn functions_follow_their_definitions() -> Result {
    let (mut rips, device, diagrams) = all::<f32>(11)?;
    check::<f32, f32>(&mut rips, &device, &diagrams)?;
    check::<f32, f64>(&mut rips, &device, &diagrams)?;
    let (mut rips, device, diagrams) = all::<f64>(12)?;
    // Sorted by blocks of a thread, of a warp and of more, and all together.
    for sort in [1, 32, 256, 0] {
        rips = rips.with_blocks(1, 64, sort, u64::MAX);
        check::<f64, f32>(&mut rips, &device, &diagrams)?;
        check::<f64, f64>(&mut rips, &device, &diagrams)?;
    }
    Ok(())
}

/// Bars of host memory give the same functions as those on the device; and so do more bars than a block has threads.
#[test]
fn bars_of_host_memory() -> Result {
    let (mut rips, device, diagrams) = all::<f64>(13)?;
    let part = |degree| (diagrams.offsets(degree).to_vec(), diagrams.values(degree).to_vec(), diagrams.edges(degree).to_vec());
    let copied = Diagrams::from_parts((0..3).map(part).collect())?;
    assert_eq!(copied, diagrams);
    assert!(copied.device().is_none() && diagrams.device().is_some());
    check::<f64, f64>(&mut rips, &device, &copied)?;
    for bars in [127, 128, 129, 300] {
        // Each of 5 times is that of many bars.
        let values: Vec<[f64; 2]> = (0..bars).map(|bar| [f64::from(bar % 5) / 8.0, 1.0 + f64::from(bar % 3)]).collect();
        let many = Diagrams::from_parts(vec![(vec![0, 0, bars as usize, bars as usize], values, Vec::new())])?;
        check::<f64, f64>(&mut rips, &device, &many)?;
    }
    Ok(())
}

/// Matrices of functions in the device's memory have the bits of those of the same functions in host memory.
#[test]
fn matrices_of_functions_on_the_device() -> Result {
    let (mut rips, device, diagrams) = all::<f32>(14)?;
    let engine = Engine::new([device.clone()])?;
    let on_device: PcfSet<f32> = rips.curves(&device.stream()?, &diagrams, 1, Curve::Betti, None)?;
    let on_host = PcfSet::from_parts(on_device.offsets().to_vec(), on_device.points().to_vec())?;
    for measure in [Measure::Lp(1.0), Measure::Lp(2.0), Measure::Inner] {
        for columns in [false, true] {
            let matrix = |set| {
                let pairwise = Pairwise::new(set, columns.then_some(&on_host), measure)?;
                let facts = (pairwise.is_finite(), pairwise.endless_pair(), pairwise.merge_steps(), pairwise.fingerprint());
                Ok::<_, Box<dyn std::error::Error>>((pairwise.compute(&engine, Layout::Dense, Control::default())?, facts))
            };
            assert_eq!(matrix(&on_device)?, matrix(&on_host)?, "{measure:?}");
        }
    }
    assert_eq!(on_device.max_time(), on_host.max_time());
    assert_eq!(on_device.clone().into_cast::<f32>()?, on_host);
    // Functions that differ for ever.
    let endless: PcfSet<f32> = rips.curves(&device.stream()?, &diagrams, 1, Curve::AccumulatedPersistence, None)?;
    let copied = PcfSet::from_parts(endless.offsets().to_vec(), endless.points().to_vec())?;
    assert!(!Pairwise::pdist(&endless, 1.0)?.is_finite());
    assert_eq!(Pairwise::pdist(&endless, 1.0)?.endless_pair(), Pairwise::pdist(&copied, 1.0)?.endless_pair());
    Ok(())
}

#[test]
fn no_clouds_and_clouds_without_bars() -> Result {
    let device = Device::best()?;
    let (stream, mut rips) = (device.stream()?, Rips::<f64>::new(&device, false)?);
    for sizes in [vec![], vec![0], vec![1], vec![0, 2, 1]] {
        let points: Vec<f64> = (0..sizes.iter().sum()).map(|i| i as f64).collect();
        let diagrams = rips.compute(&stream, &Clouds::points(&points, 1, sizes.clone())?, &Options::default())?;
        check::<f64, f64>(&mut rips, &device, &diagrams)?;
    }
    Ok(())
}

#[test]
fn what_is_no_function() -> Result {
    let device = Device::best()?;
    let (stream, mut rips) = (device.stream()?, Rips::<f64>::new(&device, false)?);
    let values = vec![[0.0, 1.0], [0.0, 2.0], [0.0, 1e20], [0.0, 1e300]];
    let diagrams = Diagrams::from_parts(vec![(vec![0, 1, 4], values, Vec::new())])?;
    let mut text = |degree, curve, cap| {
        rips.curves::<f32>(&stream, &diagrams, degree, curve, cap).map_or_else(|error| error.to_string(), |_| String::new())
    };
    assert!(text(0, Curve::Betti, None).starts_with("barcode 1, bar 1: death = 1e20 is too large for float32"));
    assert!(text(0, Curve::StableRank, None).starts_with("barcode 1, bar 1: death - birth = 1e20 is too large"));
    assert!(text(0, Curve::AccumulatedPersistence, None).starts_with("barcode 1, bar 1: (birth + death) / 2 = 5e19 is too"));
    assert_eq!(text(0, Curve::Betti, Some(f64::INFINITY)), "the cap is inf, but it must be finite");
    assert_eq!(text(1, Curve::Betti, None), "there are no bars of degree 1, but of degrees below 1");
    // No bar is too long, but their sum is too large.
    let diagrams = Diagrams::from_parts(vec![(vec![0, 3], vec![[0.0, 9e18]; 3], Vec::new())])?;
    let sum = rips.curves::<f32>(&stream, &diagrams, 0, Curve::AccumulatedPersistence, None);
    assert!(matches!(sum, Err(HomologyError::Pcf(PcfError::TooLarge { .. }))), "{sum:?}");
    assert!(rips.curves::<f32>(&stream, &diagrams, 0, Curve::Betti, None).is_ok());

    for (first, bar, problem) in [
        (vec![0, 1], [-1.0, 1.0], "degree 0: bar 0 is from -1 to 1, but births are finite, from 0 on, and before deaths"),
        (vec![0, 1], [f64::NAN, 1.0], "degree 0: bar 0 is from NaN to 1, but"),
        (vec![0, 1], [2.0, 1.0], "degree 0: bar 0 is from 2 to 1, but"),
        (vec![0, 2], [0.0, 1.0], "degree 0: its offsets don't divide 1 bars among the clouds"),
        (vec![1, 0], [0.0, 1.0], "degree 0: its offsets don't divide"),
    ] {
        let error = Diagrams::from_parts(vec![(first, vec![bar], Vec::new())]).unwrap_err().to_string();
        assert!(error.starts_with(problem), "{error}");
    }
    Ok(())
}

const LANDSCAPE: Sampled = Sampled::Landscape { layers: 3 };

/// Landscapes and silhouettes by their definitions: all heights at each time.
fn check_samples<T: HomologyReal>(rips: &mut Rips<T>, device: &Device, diagrams: &Diagrams<T>) -> Result {
    let stream = device.stream()?;
    let times = [-1.0, 0.0, 0.5, 0.75, 1.0, 1.25, 1.3, 2.0, 1e9];
    for (degree, cap) in (0..diagrams.degrees()).flat_map(|degree| [None, Some(0.5), Some(3.0)].map(|cap| (degree, cap))) {
        let mut samples = |function| -> Result<Vec<f64>> {
            Ok(stream.download_vec(&rips.samples(&stream, diagrams, degree, function, &times, cap)?)?)
        };
        let landscapes = samples(LANDSCAPE)?;
        let powers = [0.0, 1.0, 2.0, -1.0];
        let silhouettes = powers.map(|power| samples(Sampled::Silhouette { power }));
        for (cloud, barcode) in diagrams.barcodes(degree, cap).iter().enumerate() {
            let bars: Vec<_> = barcode.bars().iter().filter(|bar| bar.death > bar.birth).collect();
            for (k, &time) in times.iter().enumerate() {
                let heights: Vec<f64> = bars.iter().map(|bar| (time - bar.birth).min(bar.death - time).max(0.0)).collect();
                let mut layers = [&heights[..], &[0.0; 3]].concat();
                layers.sort_by(|a, b| b.total_cmp(a));
                let found = [0, 1, 2].map(|layer| landscapes[(3 * cloud + layer) * times.len() + k]);
                assert_eq!(found, layers[..3], "cloud {cloud}, degree {degree}, {cap:?}, t = {time}");
                for (power, found) in powers.iter().zip(&silhouettes) {
                    let found = found.as_ref().map_err(ToString::to_string)?[cloud * times.len() + k];
                    let weights = bars.iter().map(|bar| (bar.death - bar.birth).powf(*power));
                    let total: f64 = weights.clone().sum();
                    let mean = if bars.is_empty() { 0.0 } else { weights.zip(&heights).map(|(w, h)| w * h).sum::<f64>() / total };
                    assert!((found - mean).abs() <= 1e-12 * mean, "cloud {cloud}, power {power}: {found} and {mean}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn samples_follow_their_definitions() -> Result {
    let (mut rips, device, diagrams) = all::<f32>(15)?;
    check_samples(&mut rips, &device, &diagrams)?;
    let (mut rips, device, diagrams) = all::<f64>(16)?;
    check_samples(&mut rips, &device, &diagrams)?;
    for bars in [0, 1, 127, 128, 129, 300] {
        // Many bars have the same length.
        let values: Vec<[f64; 2]> = (0..bars).map(|bar| [f64::from(bar % 5) / 8.0, 1.0 + f64::from(bar % 3)]).collect();
        let many = Diagrams::from_parts(vec![(vec![0, 0, bars as usize, bars as usize], values, Vec::new())])?;
        check_samples(&mut rips, &device, &many)?;
    }
    Ok(())
}

/// The step functions of one bar's tent are known, and so are their distances.
#[test]
fn step_functions_of_samples() -> Result {
    let device = Device::best()?;
    let (stream, engine) = (device.stream()?, Engine::new([device.clone()])?);
    let mut rips = Rips::<f64>::new(&device, false)?;
    // Bars [0, 4), and two: [0, 4) and [1, 3).
    let bars = vec![[0.0, 4.0], [0.0, 4.0], [1.0, 3.0]];
    let diagrams = Diagrams::from_parts(vec![(vec![0, 1, 3, 3], bars, Vec::new())])?;
    let points = |values: &[(f64, f64)]| values.iter().map(|&(t, v)| Point::new(t, v)).collect::<Vec<_>>();
    let mut made = |function, times: &[f64]| rips.sampled_curves::<f64>(&stream, &diagrams, 0, function, times, None);
    let set = made(Sampled::Landscape { layers: 2 }, &[0.0, 1.0, 2.0, 3.5, 5.0])?;
    assert_eq!(set.shape(), [3, 2]);
    let tent = points(&[(0.0, 0.0), (1.0, 1.0), (2.0, 2.0), (3.5, 0.5), (5.0, 0.0)]);
    let second = points(&[(0.0, 0.0), (1.0, 0.0), (2.0, 1.0), (3.5, 0.0), (5.0, 0.0)]);
    let zero = points(&[0.0, 1.0, 2.0, 3.5, 5.0].map(|t| (t, 0.0)));
    for (function, expected) in [&tent, &zero, &tent, &second, &zero, &zero].into_iter().enumerate() {
        assert_eq!(set.get(function).points(), expected, "{function}");
    }
    // 1 * 1 + 2 * 1.5 + 0.5 * 1.5 of the tent, and 1 * 1.5 of the second layer.
    let distances = Pairwise::pdist(&set, 1.0)?.compute(&engine, Layout::Condensed, Control::default())?;
    assert_eq!(distances, [4.75, 0.0, 3.25, 4.75, 4.75, 4.75, 1.5, 0.0, 0.0, 3.25, 4.75, 4.75, 1.5, 1.5, 0.0]);
    // The weights are 4 and 2. A grid that starts late, and one of a single time.
    let silhouette = Sampled::Silhouette { power: 1.0 };
    let set = made(silhouette, &[1.0, 2.0, 3.0])?;
    assert_eq!((set.shape(), set.max_time()), (&[3][..], 3.0));
    assert_eq!(set.get(1).points(), points(&[(0.0, 0.0), (1.0, 2.0 / 3.0), (2.0, 5.0 / 3.0), (3.0, 0.0)]));
    assert_eq!(made(silhouette, &[2.0])?.get(0).points(), points(&[(0.0, 0.0), (2.0, 0.0)]));
    assert_eq!(made(silhouette, &[0.0])?.get(0).points(), points(&[(0.0, 0.0)]));
    // Functions of no clouds.
    let none = Diagrams::<f64>::from_parts(vec![(vec![0], Vec::new(), Vec::new())])?;
    assert_eq!(rips.sampled_curves::<f32>(&stream, &none, 0, LANDSCAPE, &[0.0, 1.0], None)?.shape(), [0, 3]);
    // On the device they have the distances of the same functions in host memory.
    let on_device: PcfSet<f32> = rips.sampled_curves(&stream, &diagrams, 0, LANDSCAPE, &[0.0, 0.7, 1.9, 3.3], None)?;
    let on_host = PcfSet::from_parts(on_device.offsets().to_vec(), on_device.points().to_vec())?;
    let matrix = |set| {
        let pairwise = Pairwise::l2_kernel(set);
        let facts = (pairwise.is_finite(), pairwise.fingerprint());
        Ok::<_, Box<dyn std::error::Error>>((pairwise.compute(&engine, Layout::Dense, Control::default())?, facts))
    };
    assert_eq!(matrix(&on_device)?, matrix(&on_host)?);
    Ok(())
}

#[test]
fn what_is_no_grid() -> Result {
    let device = Device::best()?;
    let (stream, mut rips) = (device.stream()?, Rips::<f64>::new(&device, false)?);
    let bars = vec![[0.0, 1.0], [0.0, 2e19]];
    let diagrams = Diagrams::from_parts(vec![(vec![0, 1, 2], bars, Vec::new())])?;
    let mut text = |times: &[f64], cap| {
        let made = rips.sampled_curves::<f32>(&stream, &diagrams, 0, LANDSCAPE, times, cap);
        made.map_or_else(|error| error.to_string(), |_| String::new())
    };
    let beyond = f64::from(f32::MAX);
    for (times, at) in [
        (&[-0.5, 1.0][..], 0),
        (&[0.0, 1.0, 1.0], 2),
        (&[0.0, 2.0, 1.0], 2),
        (&[0.0, f64::NAN], 1),
        (&[0.0, f64::INFINITY], 1),
        (&[0.0, beyond], 1),
        (&[1.0, 1.0 + 1e-12], 1),
    ] {
        let grid = "the times of a grid ascend from 0 on, up to 9.223372036854776e18, and differ in float32";
        assert_eq!(text(times, None), format!("times[{at}] is {}, but {grid}", times[at]));
    }
    assert_eq!(text(&[], None), "there are 0 times, but a grid has from 1 to 2147483647");
    assert_eq!(text(&[0.0, 1.0], Some(f64::NAN)), "the cap is NaN, but it must be finite");
    // The long bar is higher in its middle, after the last possible time.
    assert_eq!(text(&[0.0, 9.2e18, 9.22e18], None), "");
    let error = rips.samples(&stream, &diagrams, 1, LANDSCAPE, &[0.0], None).unwrap_err().to_string();
    assert_eq!(error, "there are no bars of degree 1, but of degrees below 1");
    let error = rips.samples(&stream, &diagrams, 0, LANDSCAPE, &[0.0, f64::NAN], None).unwrap_err().to_string();
    assert_eq!(error, "times[1] is NaN, but times must be finite");
    Ok(())
}

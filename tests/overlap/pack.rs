//! Packings are valid, whatever they are of and however the search ended, and small.
//!
//! They run on the backend that `WARPSMITH_BACKEND` names, or on a GPU where there is one.

use std::{
    f64::consts::TAU,
    fs,
    sync::{Arc, OnceLock},
    thread,
    time::{Duration, Instant},
};

use crate::{
    folder::Folder,
    polygon::{brute, place},
};
#[cfg(target_os = "linux")]
use assert_cmd::cargo::cargo_bin;
use gpu_kernels::overlap::adam::{self, LanesArgs, MemoryArgs, POSE_MEMORY, SlopesArgs, Step};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{RngCore, SeedableRng},
};
use warpsmith::{
    common::Cancel,
    device::{Backend, Device},
    launch,
    overlap::{
        Boundary, Shape,
        io::{PoseLayout, read_poses},
        pack::{Budget, Copies, PackError, Packed, Packer, Packing, Saving, Settings},
    },
    ranks::{Communicator, threads},
};

type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

fn device() -> Device {
    Device::best().expect("the backend that was asked for")
}

fn copies(shape: &Shape, count: usize) -> Settings {
    Settings::of([(shape.clone(), count)])
}

fn trees(count: usize) -> Settings {
    copies(&Shape::tree(), count)
}

fn pack(shape: &Shape, count: usize, starts: usize, steps: usize, seed: u64) -> Result<Packed> {
    let settings = Settings { seed, starts: Some(starts), budget: Budget::Steps(steps), ..copies(shape, count) };
    Ok(Packer::new(&device(), settings)?.run(|_| {})?)
}

fn side(packed: &Packed) -> f64 {
    packed.packings[0].side
}

/// That no two copies overlap, that they are in the square, which is no larger than need be, and
/// that the numbers say so.
#[track_caller]
fn check(shape: &Shape, count: usize, packed: &Packed) {
    let Packing { poses, side, .. } = &packed.packings[0];
    check_poses(shape, poses, *side);
    assert_eq!((packed.packings.len(), poses.len()), (1, count));
    let density = count as f64 * shape.area() / side.powi(2);
    assert!((packed.density - density).abs() < 1e-12, "{packed:?}");
    let last = packed.history.last().expect("there is an end");
    assert_eq!((last.steps, &last.sides[..], last.score), (packed.steps, &[*side][..], packed.score));
    assert!(packed.history.is_sorted_by_key(|reached| reached.steps));
    assert!(packed.history.is_sorted_by(|one, next| one.score > next.score), "{:?}", packed.history);
}

#[track_caller]
fn check_poses(shape: &Shape, poses: &[[f64; 3]], side: f64) {
    let copies: Vec<Vec<_>> =
        poses.iter().map(|&pose| shape.outlines().iter().map(|outline| place(outline, pose)).collect()).collect();
    for (first, rings) in copies.iter().enumerate() {
        for (second, others) in copies[..first].iter().enumerate() {
            let area: f64 = rings.iter().flat_map(|ring| others.iter().map(|other| brute(ring, other))).sum();
            assert!(area <= 1e-12, "{first} and {second}: {area:e}");
        }
    }
    let vertices: Vec<_> = copies.into_iter().flatten().flatten().flatten().collect();
    let farthest = vertices.iter().fold(0.0f64, |farthest, number| farthest.max(number.abs()));
    assert!((2.0 * farthest - side).abs() < 1e-12 * side, "{farthest} and {side}");
}

/// The side of the square about the origin around all copies.
#[cfg(target_os = "linux")]
fn side_of(shape: &Shape, poses: &[[f64; 3]]) -> f64 {
    let vertices = poses.iter().flat_map(|&pose| shape.outlines().iter().flat_map(move |outline| place(outline, pose)));
    2.0 * vertices.flatten().fold(0.0f64, |farthest, number| farthest.max(number.abs()))
}

fn shapes() -> Vec<Shape> {
    let shape = |name: &str, outline: &[[f64; 2]]| Shape::polygon(name, outline).expect("it is simple");
    let away = |[x, y]: [f64; 2]| [x + 30.0, y - 7.0];
    let l = [[0.0, 0.0], [2.0, 0.0], [2.0, 0.5], [0.5, 0.5], [0.5, 3.0], [0.0, 3.0]];
    let apart = [[0.0, 0.0], [1.6, 0.0]].map(|[x, y]| vec![[x, y], [x + 0.5, y], [x + 0.5, y + 0.5], [x, y + 0.5]]);
    let tiny = Shape::tree().outlines()[0].iter().map(|[x, y]| [1e-3 * x, 1e-3 * y]).collect::<Vec<_>>();
    vec![
        shape("l", &l.map(away)),
        shape("sliver", &[[0.0, 0.0], [1.0, 0.0], [1.0, 0.03]]),
        shape("star", &[[1.0, 0.0], [0.2, 0.2], [0.0, 1.0], [-0.2, 0.2], [-1.0, 0.0], [-0.2, -0.2], [0.0, -1.0], [0.2, -0.2]]),
        shape("tiny", &tiny),
        Shape::from_pieces("apart", &apart).expect("its pieces are apart"),
    ]
}

#[test]
fn few_trees() -> Result {
    // Some percent more than the smallest squares known, by the number of trees.
    for (count, most) in [(1, 0.82), (2, 1.0), (3, 1.22), (4, 1.38), (6, 1.68)] {
        let packed = pack(&Shape::tree(), count, 4, 4800, 1)?;
        check(&Shape::tree(), count, &packed);
        assert!(side(&packed) < most, "{count}: {}", side(&packed));
        assert!(!packed.cancelled && packed.steps == 4800 && packed.starts == 4);
    }
    Ok(())
}

#[test]
fn four_squares_make_one() -> Result {
    let square = Shape::polygon("square", &[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])?;
    let packed = pack(&square, 4, 6, 3000, 0)?;
    check(&square, 4, &packed);
    assert!((2.0..2.002).contains(&side(&packed)), "{}", side(&packed));
    Ok(())
}

#[test]
fn any_shape() -> Result {
    for shape in shapes() {
        let packed = pack(&shape, 5, 2, 900, 3)?;
        check(&shape, 5, &packed);
        // It is no pile of circles.
        assert!(side(&packed) < 4.0 * shape.radius(), "{}: {}", shape.name(), side(&packed));
    }
    Ok(())
}

/// Estimates of packings that turn out to need more room are told, but are no part of the history.
#[test]
fn the_history_ends_with_its_best() -> Result {
    for (count, steps) in [(5, 2800), (7, 5600)] {
        let settings = Settings { starts: Some(2), container: Boundary::disk(), budget: Budget::Steps(steps), ..trees(count) };
        let mut told = Vec::new();
        let packed = Packer::new(&device(), settings)?.run(|reached| told.push(reached.sides[0]))?;
        let sides: Vec<f64> = packed.history.iter().map(|reached| reached.sides[0]).collect();
        assert!(sides.is_sorted_by(|one, next| one > next) && sides.last() == Some(&side(&packed)), "{sides:?}");
        assert!(sides[..sides.len() - 1].iter().all(|side| told.contains(side)), "{sides:?} {told:?}");
    }
    Ok(())
}

#[test]
fn a_seed_gives_the_same_bits() -> Result {
    // Long enough for packings to take others' places and parts of them.
    let packed = |seed: u64| pack(&Shape::tree(), 6, 6, 6700, seed);
    let (one, two, other) = (packed(5)?, packed(5)?, packed(6)?);
    assert_eq!(one.packings, two.packings);
    assert_ne!(one.packings, other.packings);
    let sides = |packed: &Packed| packed.history.iter().map(|reached| (reached.steps, reached.sides[0])).collect::<Vec<_>>();
    assert_eq!(sides(&one), sides(&two));
    Ok(())
}

#[test]
fn cancelled_before_it_starts() -> Result {
    let cancel = Cancel::new();
    cancel.cancel();
    let settings = Settings { starts: Some(3), ..trees(9) };
    let packed = Packer::new(&device(), settings)?.cancelled_by(&cancel).run(|_| {})?;
    assert!(packed.cancelled && packed.steps == 0);
    check(&Shape::tree(), 9, &packed);
    Ok(())
}

#[test]
fn cancelled_on_the_way() -> Result {
    let cancel = Cancel::new();
    let settings = Settings { starts: Some(2), budget: Budget::Time(Duration::from_secs(3600)), ..trees(8) };
    let mut calls = 0;
    let packed = Packer::new(&device(), settings)?.cancelled_by(&cancel).run(|reached| {
        calls += 1;
        assert!(reached.sides[0] > 0.0 && reached.steps > 0);
        cancel.cancel();
    })?;
    assert!(packed.cancelled && calls == 1 && packed.steps > 0);
    check(&Shape::tree(), 8, &packed);
    // One squeeze is better than random poses.
    assert!(side(&packed) < 2.6, "{}", side(&packed));
    Ok(())
}

/// Shapes of so many pieces that one launch takes tens of seconds on a CPU.
#[test]
fn a_signal_ends_a_long_launch() -> Result {
    let round = |vertices: usize| {
        let corner = |k: usize| (TAU * k as f64 / vertices as f64).sin_cos().into();
        Shape::polygon("round", &(0..vertices).map(corner).collect::<Vec<[f64; 2]>>())
    };
    let shapes = [(round(1600)?, 10), (round(4)?, 10)];
    let settings = Settings { starts: Some(2), budget: Budget::Time(Duration::from_secs(3600)), ..Settings::of(shapes) };
    let (cancel, set) = (Cancel::new(), OnceLock::new());
    let packed = thread::scope(|scope| {
        Packer::new(&device(), settings)?.cancelled_by(&cancel).run_saving(
            |_| {},
            Saving::default(),
            |_| {
                let (cancel, set) = (&cancel, &set);
                scope.spawn(move || {
                    thread::sleep(Duration::from_secs(2));
                    set.get_or_init(Instant::now);
                    cancel.cancel();
                });
            },
        )
    })?;
    let waited = set.get().expect("something was saved").elapsed();
    assert!(packed.cancelled && waited < Duration::from_secs(10), "{waited:?}");
    Ok(())
}

#[test]
fn abandoned_on_the_way() -> Result {
    let cancel = Cancel::new();
    let settings = Settings { starts: Some(2), budget: Budget::Steps(1_000_000), ..trees(8) };
    let found = Packer::new(&device(), settings.clone())?.abandoned_by(&cancel).run(|_| cancel.cancel());
    assert_eq!(found, Err(PackError::Cancelled));
    // Until it is cancelled, it is a search like others.
    let settings = Settings { budget: Budget::Steps(300), ..settings };
    let packed = Packer::new(&device(), settings.clone())?.abandoned_by(&Cancel::new()).run(|_| {})?;
    assert_eq!(packed.packings, Packer::new(&device(), settings)?.run(|_| {})?.packings);
    Ok(())
}

#[test]
fn no_time_at_all() -> Result {
    let settings = Settings { starts: Some(2), budget: Budget::Time(Duration::ZERO), ..trees(4) };
    let packed = Packer::new(&device(), settings)?.run(|_| {})?;
    assert!(!packed.cancelled);
    check(&Shape::tree(), 4, &packed);
    Ok(())
}

#[test]
fn bad_settings_are_named() {
    let new = |count: usize, starts: usize| {
        let settings = Settings { starts: Some(starts), ..trees(count) };
        Packer::new(&device(), settings).err()
    };
    assert_eq!(new(0, 1), Some(PackError::NoCopies));
    assert_eq!(new(1, 0), Some(PackError::NoStarts));
    assert!(matches!(new(1 << 20, 1 << 20), Some(PackError::TooMany { .. })));
    assert!(matches!(new(usize::MAX, 2), Some(PackError::TooMany { .. })));
    assert_eq!(new(1, 1), None);
    let settings = Settings { packings: vec![Copies::new([1, 2])], ..trees(1) };
    assert_eq!(Packer::new(&device(), settings).err(), Some(PackError::CountsOfShapes { counts: 2, shapes: 1 }));
}

/// The result of a seed depends on the number of islands, not on their speeds.
#[test]
fn islands() -> Result {
    let device = device();
    // Islands meet after 6,000 steps.
    let packer = || {
        let budget = Budget::Steps(7300);
        Packer::new(&device, Settings { starts: Some(1), seed: 4, budget, ..trees(4) })
    };
    let on = |more: usize| packer()?.also_on(&vec![device.clone(); more]).run(|_| {});
    let (alone, three) = (on(0)?, on(2)?);
    check(&Shape::tree(), 4, &three);
    assert!((three.starts, three.steps) == (3, 7300) && side(&three) < 1.45, "{three:?}");
    assert_eq!(alone.packings, packer()?.run(|_| {})?.packings);

    let saving = Saving { pause: Duration::ZERO, share: 1.0 };
    let rank = |ranks: &Arc<dyn Communicator>| {
        let mut saved = 0;
        let packed = packer()?.among(ranks).run_saving(|_| {}, saving, |_| saved += 1)?;
        Ok::<_, PackError>((packed, saved))
    };
    let all: Vec<(Packed, usize)> = thread::scope(|scope| {
        let ranks = threads::communicators(3);
        let spawned: Vec<_> = ranks.into_iter().map(|ranks| scope.spawn(move || rank(&ranks))).collect();
        spawned.into_iter().map(|island| island.join().expect("it doesn't panic")).collect::<Result<_, _>>()
    })?;
    for (rank, (packed, saved)) in all.iter().enumerate() {
        assert_eq!(packed.packings, three.packings);
        assert_eq!(*saved > 0, rank == 0, "rank {rank} saved {saved} times");
    }

    let ranks = threads::communicators(2);
    ranks[1].abort("there is no disk");
    let error = packer()?.among(&ranks[0]).run(|_| {}).unwrap_err();
    assert_eq!(error.to_string(), "rank 1 gave up: there is no disk");
    Ok(())
}

/// One that ends early ends the others, and what they have found is the result.
#[test]
fn islands_end_together() -> Result {
    let (cancel, device) = (Cancel::new(), device());
    let settings = Settings { starts: Some(1), budget: Budget::Time(Duration::from_secs(3600)), ..trees(5) };
    let mut calls = 0;
    let packed = Packer::new(&device, settings)?.also_on(std::slice::from_ref(&device)).cancelled_by(&cancel).run(|_| {
        calls += 1;
        if calls == 3 {
            cancel.cancel();
        }
    })?;
    assert!(packed.cancelled && calls == 3, "{calls}");
    check(&Shape::tree(), 5, &packed);
    Ok(())
}

/// Adam as it was published, of one number.
#[derive(Clone, Copy, Default)]
struct Reference {
    first: f64,
    second: f64,
    steps: i32,
}

impl Reference {
    fn step(&mut self, slope: f64, (beta1, beta2): (f64, f64), epsilon: f64) -> f64 {
        self.steps += 1;
        self.first = beta1 * self.first + (1.0 - beta1) * slope;
        self.second = beta2 * self.second + (1.0 - beta2) * slope * slope;
        let (first, second) = (self.first / (1.0 - beta1.powi(self.steps)), self.second / (1.0 - beta2.powi(self.steps)));
        first / (second.sqrt() + epsilon)
    }
}

macro_rules! adam_is_adam {
    ($name:ident: $t:ty, $tolerance:literal) => {
        #[test]
        fn $name() -> Result {
            const EACH: usize = 50;
            const LANES: usize = 3;
            const N: usize = EACH * LANES;
            let mut rng = ChaCha8Rng::seed_from_u64(17);
            let mut draw = |n: usize| -> Vec<$t> {
                (0..n).map(|_| (rng.next_u32() >> 8) as $t / (1u32 << 24) as $t - 0.5).collect()
            };
            let device = device();
            let stream = device.stream()?;
            let plan: Vec<Step<$t>> = (1u8..=6)
                .map(|k| Step {
                    rate: 0.1 / <$t>::from(k),
                    turn: 1.5,
                    scale_rate: 0.7,
                    pressure: 0.2 * <$t>::from(k),
                    beta1: 0.9,
                    beta2: 0.99,
                    epsilon: 1e-3,
                })
                .collect();
            let steps = device.upload(&plan)?;
            let offsets: Vec<u32> = (0..=LANES).map(|lane| (EACH * lane) as u32).collect();
            let (start, first_scales) = (draw(3 * N), [1.0 as $t, 2.0, 0.9]);
            let (mut poses, mut scales) = (device.upload(&start)?, device.upload(&first_scales)?);
            let mut memory = device.alloc_zeroed::<$t>(POSE_MEMORY * N)?;
            let mut scale_memory = device.alloc_zeroed::<$t>(LANES)?;
            let offsets = device.upload(&offsets)?;
            // A square: half of the scale from the origin.
            let planes = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]].map(|[x, y]| [x, y, 0.0, 0.5]);
            let half_planes = device.upload(planes.as_flattened())?;
            // The last scale comes to its end.
            let least: [$t; LANES] = [0.1, 0.1, 0.85];
            let least_device = device.upload(&least)?;

            let mut expected: Vec<f64> = start.iter().map(|&number| f64::from(number)).collect();
            let mut expected_scales = first_scales.map(f64::from);
            let mut references = vec![Reference::default(); 3 * N];
            let mut drives = [0.0; LANES];
            for (number, step) in plan.iter().enumerate() {
                let (gradient, outside) = (draw(3 * N), draw(3 * N));
                // Most of their sums are neither above the pressure nor far below.
                let by_pose: Vec<$t> = draw(N).into_iter().map(|slope| 0.05 * slope).collect();
                let by_scale: Vec<f64> =
                    by_pose.chunks(EACH).map(|slopes| slopes.iter().map(|&slope| f64::from(slope)).sum()).collect();
                let (a, b, c) = (device.upload(&gradient)?, device.upload(&outside)?, device.upload(&by_pose)?);
                // Of one warp, fewer threads than poses, and of several.
                let threads = 32 << (number % 3);
                // SAFETY: there are as many numbers for poses and packings as the kernel says, and
                // blocks of whole warps.
                unsafe {
                    let (least, half_planes) = (&least_device, &half_planes);
                    let (poses, scales) = (&mut poses, &mut scales);
                    let lanes = LanesArgs { offsets: &offsets, poses, scales, least, half_planes };
                    let slopes = SlopesArgs { overlap: &a, outside: &b, by_scale: &c };
                    let memory = MemoryArgs { poses: &mut memory, scales: &mut scale_memory };
                    launch!(stream, adam::step::<$t><<<LANES as u32, threads>>>(&steps, number as u32, lanes, slopes, memory))?;
                }
                let betas = (f64::from(step.beta1), f64::from(step.beta2));
                let epsilon = f64::from(step.epsilon);
                for k in 0..3 * N {
                    let lane = k / 3 / EACH;
                    let rate = f64::from(step.rate);
                    let slope = f64::from(gradient[k]) + f64::from(outside[k]);
                    let by = references[k].step(slope, betas, epsilon);
                    if k % 3 == 2 {
                        expected[k] -= rate * f64::from(step.turn) * by;
                    } else {
                        let most = 0.5 * expected_scales[lane];
                        expected[k] = (expected[k] - rate * by).clamp(-most, most);
                    }
                }
                for lane in 0..LANES {
                    let drive = (1.0 + by_scale[lane] / f64::from(step.pressure)).clamp(-1.0, 1.0);
                    drives[lane] = betas.0 * drives[lane] + (1.0 - betas.0) * drive;
                    let by = drives[lane];
                    let rate = f64::from(step.rate) * f64::from(step.scale_rate);
                    expected_scales[lane] = (expected_scales[lane] - rate * by).max(f64::from(least[lane]));
                }
            }
            let (found, found_scales) = (stream.download_vec(&poses)?, stream.download_vec(&scales)?);
            let pairs = found.iter().zip(&expected).chain(found_scales.iter().zip(&expected_scales));
            for (k, (found, expected)) in pairs.enumerate() {
                assert!((f64::from(*found) - expected).abs() < $tolerance, "{k}: {found} and {expected}");
            }
            Ok(())
        }
    };
}
adam_is_adam!(adam_is_adam_in_double_precision: f64, 1e-12);
adam_is_adam!(adam_is_adam_in_single_precision: f32, 1e-5);

/// Of no use, but valid: copies that are 28 apart, and not about the origin.
fn far_apart() -> Vec<[f64; 3]> {
    (0..5).map(|k| [100.0 + 7.0 * f64::from(k), 3.0, 0.4 * f64::from(k)]).collect()
}

/// Saved packings are valid and ever smaller, and saving doesn't change the result of a seed.
#[test]
fn packings_are_saved_while_the_search_goes_on() -> Result {
    // A GPU is done with few steps before the first save.
    let steps = if device().backend() == Backend::Cpu { 3000 } else { 100_000 };
    let settings = || Settings { starts: Some(2), budget: Budget::Steps(steps), ..trees(5).going_on(far_apart()) };
    let saving = Saving { pause: Duration::ZERO, share: 1.0 };
    let (shape, mut sides) = (Shape::tree(), Vec::new());
    // Kernels are compiled then, which would cost the first save its time.
    let alone = Packer::new(&device(), settings())?.run(|_| {})?;
    let packed = Packer::new(&device(), settings())?.run_saving(
        |_| {},
        saving,
        |packings| {
            check_poses(&shape, &packings[0].poses, packings[0].side);
            sides.push(packings[0].side);
        },
    )?;
    assert!(!sides.is_empty() && sides.is_sorted_by(|a, b| a > b), "{sides:?}");
    assert_eq!(alone.packings, packed.packings);
    // A search may end with the first one that is small enough.
    let until = |side: f64| Packer::new(&device(), settings())?.until(side).run_saving(|_| {}, saving, |_| {});
    let first = until(sides[0])?;
    assert!(first.packings[0].side == sides[0] && first.steps < alone.steps, "{} of {}", first.steps, alone.steps);
    assert_eq!(until(0.0)?.packings, packed.packings);
    Ok(())
}

#[test]
fn a_search_goes_on_from_a_packing() -> Result {
    for shape in [Shape::tree(), shapes().remove(0)] {
        let first = pack(&shape, 5, 2, 4000, 1)?;
        let from = |poses: &[[f64; 3]], steps| Settings {
            starts: Some(2),
            budget: Budget::Steps(steps),
            ..copies(&shape, 5).going_on(poses.to_vec())
        };
        for steps in [1, 3000] {
            let next = Packer::new(&device(), from(&first.packings[0].poses, steps))?.run(|_| {})?;
            check(&shape, 5, &next);
            assert!(side(&next) <= side(&first) * (1.0 + 1e-14), "{} {}", side(&next), side(&first));
        }
        let next = Packer::new(&device(), from(&far_apart(), 3000))?.run(|_| {})?;
        check(&shape, 5, &next);
        assert!(side(&next) < 28.0, "{}", side(&next));

        let error = Packer::new(&device(), from(&first.packings[0].poses[1..], 9)).unwrap_err();
        assert_eq!(error, PackError::StartCount { found: 4, count: 5 });
        let same = vec![[0.0; 3]; 5];
        let error = Packer::new(&device(), from(&same, 9))?.run(|_| {}).unwrap_err();
        assert!(matches!(error, PackError::StartOverlaps { first: 0, second: 1, .. }), "{error}");
    }
    Ok(())
}

#[test]
fn the_command_writes_poses_and_a_picture() -> Result {
    let folder = Folder::of("overlap pack");
    for name in ["p.csv", "p.npy"] {
        let object = folder.json(&format!("--count 3 --steps 700 --starts 2 --seed 7 --output {name} --plot p.svg"));
        assert_eq!((&object["command"], &object["count"], &object["steps"]), (&"pack".into(), &3.into(), &700.into()));
        assert_eq!((&object["cancelled"], &object["output"]), (&false.into(), &name.into()));
        let side = object["side"].as_f64().expect("a number");
        assert!((object["score"].as_f64().expect("a number") - side * side / 3.0).abs() < 1e-12);
        let file = read_poses(&folder.path(name))?;
        assert!(file.layout == PoseLayout::Single && file.packings.poses().len() == 3);
        check_poses(&Shape::tree(), file.packings.poses(), side);
        assert!(fs::read_to_string(folder.path("p.svg"))?.starts_with("<svg"));
    }
    if device().backend() == Backend::Cpu {
        let object = folder.json("--count 2 --steps 50 --starts 3 --gpus 2 --output p.csv");
        assert_eq!((&object["starts"], &object["device"]), (&6.into(), &format!("{} and 1 more", device()).into()));
    }
    let text = folder.good("--count 1 --steps 50 --starts 1 --output p.csv");
    assert!(text.contains("side^2 / n") && text.contains("Written: p.csv"), "{text}");
    Ok(())
}

/// A killed search leaves its best packing of some seconds before, and the next search starts from
/// it.
#[test]
#[cfg(target_os = "linux")]
fn a_killed_search_leaves_its_best() -> Result {
    use std::{process::Stdio, time::Instant};

    let folder = Folder::of("overlap pack");
    folder.write("p.csv", "as it was");
    let mut child = std::process::Command::new(cargo_bin!("warpsmith"))
        .args("overlap pack --count 6 --time 10m --starts 2 --output p.csv".split(' '))
        .current_dir(&folder.directory)
        .stdout(Stdio::null())
        .spawn()?;
    let start = Instant::now();
    while !folder.path("p.partial.csv").exists() {
        assert!(child.try_wait()?.is_none() && start.elapsed() < Duration::from_secs(100));
        thread::sleep(Duration::from_millis(20));
    }
    child.kill()?;
    child.wait()?;
    assert_eq!(fs::read_to_string(folder.path("p.csv"))?, "as it was");
    let saved = read_poses(&folder.path("p.partial.csv"))?.packings;
    let side = side_of(&Shape::tree(), saved.poses());
    check_poses(&Shape::tree(), saved.poses(), side);

    // Nothing is lost by oversight.
    let again = "--count 6 --steps 40 --starts 2 --output p.csv";
    folder.bad(again, "go on from it with --resume");
    // The file under the output's name is no packing.
    folder.bad(&format!("{again} --resume"), "p.csv: ");
    fs::remove_file(folder.path("p.csv"))?;
    for _ in 0..2 {
        let object = folder.json(&format!("{again} --resume"));
        let found = object["side"].as_f64().expect("a number");
        assert!(found <= side * (1.0 + 1e-12), "{found} {side}");
        check_poses(&Shape::tree(), read_poses(&folder.path("p.csv"))?.packings.poses(), found);
        assert!(!folder.path("p.partial.csv").exists());
    }
    let sentence = "p.csv: the packing to start from has 6 copies, and not 7";
    folder.bad("--count 7 --steps 40 --resume --output p.csv", sentence);
    Ok(())
}

#[test]
#[cfg(target_os = "linux")]
fn a_signal_ends_the_search_and_the_best_is_written() -> Result {
    use rustix::process::{Pid, Signal, kill_process};
    use std::process::Stdio;

    let folder = tempfile::tempdir()?;
    let mut command = std::process::Command::new(cargo_bin!("warpsmith"));
    let mut child = crate::signals::heed_interrupts(&mut command)
        .args("-vv overlap pack --count 6 --time 1h --starts 2 --output p.csv --json".split(' '))
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(fs::File::create(folder.path().join("log"))?)
        .spawn()?;
    // The log tells when the search has begun.
    while !fs::read_to_string(folder.path().join("log"))?.contains("squeezed") {
        assert!(child.try_wait()?.is_none());
        thread::sleep(Duration::from_millis(20));
    }
    kill_process(Pid::from_child(&child), Signal::TERM)?;
    let output = child.wait_with_output()?;
    let log = fs::read_to_string(folder.path().join("log"))?;
    assert!(output.status.code() == Some(143) && log.ends_with("error: cancelled\n"), "{log}");
    let object: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    assert_eq!(object["cancelled"], true);
    let file = read_poses(&folder.path().join("p.csv"))?;
    check_poses(&Shape::tree(), file.packings.poses(), object["side"].as_f64().expect("a number"));
    Ok(())
}

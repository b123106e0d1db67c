//! Fields of depths, for shapes at few angles.

use std::{collections::HashMap, f64::consts::TAU, time::Instant};

use gpu_kernels::overlap::{
    clip,
    fields::{self, BOX, COLUMNS, PARTS, RUN, SIZE, View, WantedArgs},
    separate,
};

use super::{Budget, PackError, problem::Problem, real::Squeezed, turns::flagged};
use crate::{
    device::{Backend, Buffer, Device, Stream},
    launch,
    overlap::{Shape, convex::bounds},
};

/// Largest and smallest number of steps along the longer side of a field.
const MOST_STEPS: usize = 255;
const LEAST_STEPS: usize = 32;
/// Number of steps of fields of mean extent on CPUs, at most.
const CPU_STEPS: usize = 127;
/// Ratio of two lengths of steps between which none is looked for.
const CLOSE: f64 = 1.002;
/// Largest number of values of all fields.
const CPU_VALUES: usize = 1 << 26;
const GPU_VALUES: usize = 1 << 30;
/// Largest number of pairs of quads that may be compared to compute them: in all, or for each second of a budget of time, per
/// thread of a CPU.
const CPU_WORK: f64 = 1e9;
const GPU_WORK: f64 = 3e11;
const CPU_WORK_PER_SECOND: f64 = 2e8;
const GPU_WORK_PER_SECOND: f64 = 2e10;
/// Number of comparisons that take as long as to turn a quad and to find the first one near it.
const FIRST_QUAD: f64 = 10.0;
/// Largest part of the free memory for fields.
const MEMORY: usize = 8;
/// Largest number of variants.
const MOST_VARIANTS: usize = 1 << 10;
/// Number of fields that a launch computes, and of fields between two looks at the clock on a CPU.
const AT_ONCE: usize = 1 << 12;
const CPU_AT_ONCE: usize = 1 << 6;
/// Share of a budget of time after which they take too long.
const PATIENCE: f64 = 0.3;
const THREADS: u32 = 256;
/// Largest relative error of extents in single precision.
const ROUNDING: f64 = 1e-6;
/// Number of angles in a turn that are told apart.
const ANGLES: f64 = 1e9;

/// Fields on a device.
#[derive(Debug)]
pub struct Fields {
    pub(super) first: Buffer<u32>,
    pub(super) turns: Buffer<Squeezed>,
    pub(super) supports: Buffer<Squeezed>,
    pub(super) views: Buffer<View>,
    pub(super) values: Buffer<i16>,
}

/// Two shapes, and the angle of the second one, of [`ANGLES`].
type Key = (u32, u32, i64);

fn uploaded(device: &Device, numbers: &[f64]) -> Result<Buffer<Squeezed>, PackError> {
    Ok(device.upload(&numbers.iter().map(|&number| number as Squeezed).collect::<Vec<_>>())?)
}

/// A shape at an allowed angle.
type Variant = (u32, f64);

/// The fields of variants, each by its two shapes and the angle of the second one; and for each two variants, the field,
/// doubled, plus 1 if it is that of the second one seen from the first.
fn table(variants: &[Variant]) -> (Vec<(u32, u32, f64)>, Vec<u32>) {
    let round = |angle: f64| ((angle / TAU).rem_euclid(1.0) * ANGLES).round() as i64 % ANGLES as i64;
    let (mut keys, mut table) = (Vec::new(), Vec::new());
    let mut known: HashMap<Key, u32> = HashMap::new();
    for &(one, from) in variants {
        for &(other, to) in variants {
            let swapped = other < one;
            let (first, second, angle) = if swapped { (other, one, from - to) } else { (one, other, to - from) };
            let field = *known.entry((first, second, round(angle))).or_insert_with(|| {
                keys.push((first, second, angle));
                keys.len() as u32 - 1
            });
            table.push(2 * field + u32::from(swapped));
        }
    }
    (keys, table)
}

/// Largest extent in x of a shape's quads.
fn width_of_quads(shape: &Shape) -> f64 {
    let width = |quad: &[[f64; 2]; 4]| {
        let [low, high] = bounds(quad);
        high[0] - low[0]
    };
    shape.quads().iter().map(width).fold(0.0, f64::max)
}

/// Lowest x and y of a field, and its extents: those of the differences at which two shapes meet.
fn extents(shapes: &[Shape], &(first, second, angle): &(u32, u32, f64)) -> [[f64; 2]; 2] {
    let [low, high] = shapes[first as usize].bounds_at(0.0);
    let [least, greatest] = shapes[second as usize].bounds_at(angle);
    let from = [0, 1].map(|axis| low[axis] - greatest[axis]);
    [from, [0, 1].map(|axis| high[axis] - least[axis] - from[axis])]
}

/// Number of steps of each of these fields. Steps have the same length, so that errors do, unless there would be too many or
/// too few. None if all would have too few.
fn steps(device: &Device, shapes: &[Shape], budget: Budget, fields: &[(u32, u32, f64)]) -> Result<Option<Vec<usize>>, PackError> {
    let sizes: Vec<[f64; 2]> = fields.iter().map(|field| extents(shapes, field)[1]).collect();
    let longest: Vec<f64> = sizes.iter().map(|[x, y]| x.max(*y)).collect();
    let (finest, values, work) = match (device.backend(), budget) {
        (Backend::Cuda, budget) => {
            let room = device.memory()?.free / MEMORY / size_of::<i16>();
            let work = if let Budget::Time(time) = budget { GPU_WORK_PER_SECOND * time.as_secs_f64() } else { GPU_WORK };
            (longest.iter().copied().fold(f64::INFINITY, f64::min) / MOST_STEPS as f64, GPU_VALUES.min(room), work)
        }
        (Backend::Cpu, budget) => {
            let per_second = CPU_WORK_PER_SECOND * rayon::current_num_threads() as f64;
            let work = if let Budget::Time(time) = budget { per_second * time.as_secs_f64() } else { CPU_WORK };
            (longest.iter().sum::<f64>() / (longest.len() * CPU_STEPS) as f64, CPU_VALUES, work)
        }
    };
    // Quads of the first shape are compared within a range of x only.
    let ranges: Vec<(f64, f64)> = shapes.iter().map(|shape| (width_of_quads(shape), 2.0 * shape.radius())).collect();
    let pairs = |&(first, second, _): &(u32, u32, f64)| {
        let ([one, other], [first, second]) = ([first, second].map(|k| ranges[k as usize]), [first, second].map(|k| k as usize));
        let near = ((one.0 + other.0) / (one.1 + other.1)).min(1.0);
        (near * shapes[first].quads().len() as f64 + FIRST_QUAD) * shapes[second].quads().len() as f64
    };
    let pairs: Vec<f64> = fields.iter().map(pairs).collect();
    let of_length =
        |step: f64| longest.iter().map(move |longest| (longest / step).round().clamp(LEAST_STEPS as f64, MOST_STEPS as f64));
    let fits = |step: f64| {
        let (mut all, mut compared) = (0.0, 0.0);
        for (((steps, [x, y]), longest), pairs) in of_length(step).zip(&sizes).zip(&longest).zip(&pairs) {
            let cells = steps * steps * (x * y / (longest * longest));
            (all, compared) = (all + cells, compared + cells * pairs);
        }
        all <= values as f64 && compared <= work
    };
    let (mut fine, mut coarse) = (finest, longest.iter().copied().fold(finest, f64::max) / LEAST_STEPS as f64);
    if !fits(coarse) {
        return Ok(None);
    }
    if fits(fine) {
        coarse = fine;
    }
    while coarse > CLOSE * fine {
        let middle = (coarse * fine).sqrt();
        *(if fits(middle) { &mut coarse } else { &mut fine }) = middle;
    }
    Ok(Some(of_length(coarse).map(|steps| steps as usize).collect()))
}

impl Fields {
    /// Computes the fields of a problem's shapes as they are searched. None if a shape may have any angle, or there would be
    /// too many fields, or they would take too large a part of the budget.
    pub fn new(device: &Device, stream: &Stream, problem: &Problem, budget: Budget) -> Result<Option<Self>, PackError> {
        let shapes = &problem.searched;
        let (mut variants, mut first_variants): (Vec<Variant>, _) = (Vec::new(), vec![0]);
        for (shape, turns) in problem.turns[..problem.kinds].iter().enumerate() {
            let Some(angles) = turns.angles() else { return Ok(None) };
            variants.extend(angles.iter().map(|&angle| (shape as u32, angle)));
            if turns.mirrors() {
                variants.extend(angles.iter().map(|&angle| ((problem.kinds + shape) as u32, angle)));
            }
            first_variants.push(variants.len() as u32);
        }
        if variants.len() > MOST_VARIANTS {
            return Ok(None);
        }
        let (keys, table) = table(&variants);
        let Some(steps) = steps(device, shapes, budget, &keys)? else { return Ok(None) };
        // Boxes of differences at which they meet.
        let (mut boxes, mut sizes, mut all) = (Vec::new(), Vec::new(), 0);
        // Largest numbers of values, of runs of them, and of columns.
        let (mut largest, mut runs, mut widest) = (0, 0, 0);
        for (key, steps) in keys.iter().zip(&steps) {
            let [from, extent] = extents(shapes, key);
            let step = extent[0].max(extent[1]) / (steps - 3) as f64;
            // A step of room around.
            let [columns, rows] = extent.map(|extent| (extent / step).ceil() as u32 + 3);
            boxes.extend([from[0] - step, from[1] - step, step, 1.0 / step]);
            sizes.extend([all, columns, rows]);
            all += columns * rows;
            largest = largest.max(columns * rows);
            runs = runs.max(columns.div_ceil(RUN as u32) * rows);
            widest = widest.max(columns);
        }
        let planes = problem.container.half_planes();
        let support = |&(shape, angle): &Variant| {
            let points: Vec<[f64; 2]> = shapes[shape as usize].posed([0.0, 0.0, angle]).flatten().collect();
            let least = |plane: &[f64; 4]| points.iter().map(|[x, y]| plane[0] * x + plane[1] * y).fold(f64::INFINITY, f64::min);
            planes.iter().map(least).collect::<Vec<_>>()
        };
        let point = |&[x, y]: &[f64; 2]| clip::Point::new(x as Squeezed, y as Squeezed);
        let sorted = |shape: &Shape| {
            let mut quads = shape.quads().to_vec();
            quads.sort_by(|a, b| bounds(a)[0][0].total_cmp(&bounds(b)[0][0]));
            quads
        };
        let quads: Vec<[[f64; 2]; 4]> = shapes.iter().flat_map(sorted).collect();
        let of_quads: Vec<_> = quads.iter().flat_map(bounds).map(|corner| point(&corner)).collect();
        let quads: Vec<_> = quads.as_flattened().iter().map(point).collect();
        let of_widest: Vec<f64> = shapes.iter().map(|shape| (1.0 + ROUNDING) * width_of_quads(shape)).collect();
        let firsts = std::iter::once(0).chain(shapes.iter().scan(0, |end, shape| {
            *end += shape.quads().len() as u32;
            Some(*end)
        }));
        let of_keys: Vec<u32> = keys.iter().flat_map(|&(first, second, _)| [first, second]).collect();
        let key_turns: Vec<f64> = keys.iter().flat_map(|(_, _, angle)| [angle.sin(), angle.cos()]).collect();
        let (of_boxes, of_sizes) = (uploaded(device, &boxes)?, device.upload(&sizes)?);
        let mut values = device.alloc::<i16>(all as usize)?;
        let mut distances = device.alloc::<u8>(all as usize)?;
        let (first_quad, quads) = (device.upload(&firsts.collect::<Vec<u32>>())?, device.upload(&quads)?);
        let (of_quads, of_widest) = (device.upload(&of_quads)?, uploaded(device, &of_widest)?);
        let (of_keys, key_turns) = (device.upload(&of_keys)?, uploaded(device, &key_turns)?);
        let wanted = WantedArgs {
            first: &first_quad,
            quads: &quads,
            bounds: &of_quads,
            widest: &of_widest,
            shapes: &of_keys,
            turns: &key_turns,
            boxes: &of_boxes,
            sizes: &of_sizes,
        };
        device.preload(&[
            fields::fields::kernel(),
            fields::distances::kernel(),
            fields::deepen::kernel(),
            separate::separate_by_fields::kernel(),
        ]);
        let at_once = if device.backend() == Backend::Cuda { AT_ONCE } else { CPU_AT_ONCE };
        let start = Instant::now();
        for from in (0..keys.len()).step_by(at_once) {
            if device.backend() == Backend::Cpu
                && let Budget::Time(time) = budget
                && start.elapsed() > time.mul_f64(PATIENCE)
            {
                return Ok(None);
            }
            let rows = at_once.min(keys.len() - from) as u32;
            // SAFETY: each field's shapes, quads, box and size were just made, and its values and distances have room.
            unsafe {
                let (blocks, runs) = ((largest.div_ceil(THREADS), rows), (runs.div_ceil(THREADS), rows));
                launch!(stream, fields::fields<<<runs, THREADS>>>(wanted, from as u32, &mut values))?;
                let columns = (widest.div_ceil(THREADS), rows);
                launch!(stream, fields::distances<<<columns, THREADS>>>(&of_sizes, from as u32, &values, &mut distances))?;
                launch!(stream, fields::deepen<<<blocks, THREADS>>>(&of_sizes, from as u32, &distances, &mut values))?;
            }
        }
        stream.synchronize()?;
        tracing::debug!(
            fields = keys.len(),
            values = all,
            seconds = start.elapsed().as_secs_f64(),
            "computed depths of overlaps"
        );
        let of_two = |number: usize| {
            let (entry, [own, theirs]) = (table[number], [number / variants.len(), number % variants.len()]);
            let (field, swapped) = ((entry / 2) as usize, entry % 2 == 1);
            let (sine, cosine) = variants[if swapped { theirs } else { own }].1.sin_cos();
            let radii = [own, theirs].map(|variant| shapes[variants[variant].0 as usize].radius());
            let [x, y, step, inverse] = *boxes[BOX * field..][..BOX].as_array().expect("so many");
            let scale = if swapped { -inverse } else { inverse };
            View {
                cosine: (scale * cosine) as Squeezed,
                sine: (scale * sine) as Squeezed,
                offset: clip::Point::new((-x * inverse) as Squeezed, (-y * inverse) as Squeezed),
                unit: ((radii[0] * radii[1]).sqrt() * step / f64::from(PARTS)) as Squeezed,
                inverse: inverse as Squeezed,
                first: sizes[SIZE * field],
                extent: sizes[SIZE * field + 1] - 1 + COLUMNS * (sizes[SIZE * field + 2] - 1),
            }
        };
        let turns = variants.iter().flat_map(|&(shape, angle)| {
            let shape = shape as usize;
            [flagged(angle, shape >= problem.kinds), angle.sin(), angle.cos(), shapes[shape].radius()]
        });
        let turns: Vec<f64> = turns.collect();
        Ok(Some(Fields {
            first: device.upload(&first_variants)?,
            turns: uploaded(device, &turns)?,
            supports: uploaded(device, &variants.iter().flat_map(support).collect::<Vec<_>>())?,
            views: device.upload(&(0..table.len()).map(of_two).collect::<Vec<_>>())?,
            values,
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::{f64::consts::PI, time::Duration};

    use super::*;
    use crate::overlap::{Boundary, pack::Turns};

    type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;
    /// A field's points with their depths, and its step.
    type Grid = (Vec<([f64; 2], f64)>, f64);

    /// Returns the fields of these shapes.
    fn fields_of(shapes: &[Shape], turns: &[Turns]) -> Result<Vec<Grid>> {
        let device = Device::best()?;
        let stream = device.stream()?;
        let problem = Problem::new(shapes, &vec![1; shapes.len()], Boundary::square(), turns);
        let fields = Fields::new(&device, &stream, &problem, Budget::Steps(1))?.ok_or("no fields")?;
        let (mut views, values) = (stream.download_vec(&fields.views)?, stream.download_vec(&fields.values)?);
        views.sort_by_key(|view| view.first);
        views.dedup_by_key(|view| view.first);
        let field = |view: &View| {
            let (columns, rows) = (view.extent % COLUMNS + 1, view.extent / COLUMNS + 1);
            let (step, offset) = (1.0 / f64::from(view.inverse), [view.offset.x, view.offset.y]);
            let point = |cell: u32| {
                let at = [0, 1].map(|axis| step * (f64::from([cell % columns, cell / columns][axis]) - f64::from(offset[axis])));
                (at, f64::from(values[(view.first + cell) as usize]) * step / f64::from(PARTS))
            };
            ((0..columns * rows).map(point).collect(), step)
        };
        Ok(views.iter().map(field).collect())
    }

    #[test]
    fn depths_of_rectangles() -> Result {
        let rectangle = |x: f64, y: f64| Shape::polygon("r", &[[-x, -y], [x, -y], [x, y], [-x, y]]);
        let (wide, high) = (rectangle(1.0, 0.25)?, rectangle(0.5, 1.5)?);
        // Wide ones, a wide and a high one, and high ones.
        let fields = fields_of(&[wide, high], &[Turns::NONE])?;
        assert_eq!(fields.len(), 3);
        for ((points, step), [x, y]) in fields.iter().zip([[2.0, 0.5], [1.5, 1.75], [1.0, 3.0]]) {
            for &([u, v], depth) in points {
                let expected = (x - u.abs()).min(y - v.abs()).max(-2.0 * step);
                assert!((depth - expected).abs() <= step / f64::from(PARTS) + 4e-5, "{u} {v}: {depth} {expected}");
            }
        }
        Ok(())
    }

    /// An octagon has three quads, which overlap less deeply than the whole.
    #[test]
    fn depths_of_octagons() -> Result {
        let normals = [0, 1, 2, 3, 4, 5, 6, 7].map(|k| f64::from(k) * PI / 4.0).map(|angle| [angle.cos(), angle.sin()]);
        let corners = [0, 1, 2, 3, 4, 5, 6, 7].map(|k| (f64::from(k) + 0.5) * PI / 4.0);
        let corners = corners.map(|angle| [angle.cos(), angle.sin()].map(|x| x / (PI / 8.0).cos()));
        let octagon = Shape::polygon("octagon", &corners)?;
        assert_eq!(octagon.quads().len(), 3);
        let fields = fields_of(&[octagon.clone(), octagon], &[Turns::NONE])?;
        for (points, step) in fields {
            for ([u, v], depth) in points {
                let expected = normals.iter().map(|[x, y]| 2.0 - x * u - y * v).fold(f64::INFINITY, f64::min);
                let error = step / f64::from(PARTS) + 4e-5;
                let least = if expected > 0.0 { expected - f64::from(fields::BEYOND) * step } else { f64::NEG_INFINITY };
                let most = expected.max(0.0);
                assert!((least - error..=most + error).contains(&depth), "{u} {v}: {depth} {expected}");
                assert!(depth > 0.0 || expected < error, "{u} {v}: {depth} {expected}");
            }
        }
        Ok(())
    }

    /// Depths are positive where exact arithmetic finds an overlap.
    #[test]
    fn signs_of_depths() -> Result {
        let hook = Shape::polygon(
            "hook",
            &[[0.0, 0.0], [3.0, 0.0], [3.0, 2.0], [2.2, 2.0], [2.2, 0.7], [0.8, 0.9], [0.6, 2.5], [0.0, 2.0]],
        )?;
        let shapes = [hook, Shape::tree()];
        let turns = ["0,90,180".parse()?, "0,45".parse()?];
        let fields = fields_of(&shapes, &turns)?;
        // Each distinct angle, in degrees, from one shape's to the other's.
        let mut keys: Vec<(usize, usize, f64)> = Vec::new();
        keys.extend([-180.0, -90.0, 0.0, 90.0].map(|angle| (0, 0, angle)));
        keys.extend([-180.0, -135.0, -90.0, -45.0, 0.0, 45.0].map(|angle| (0, 1, angle)));
        keys.extend([-45.0, 0.0, 45.0].map(|angle| (1, 1, angle)));
        assert_eq!(fields.len(), keys.len());
        let problem = Problem::new(&shapes, &[1, 1], Boundary::square(), &turns);
        let centred: Vec<Shape> = shapes.iter().map(|shape| shape.moved_and_grown(shape.center().map(|x| -x), 0.0)).collect();
        let problem = Problem { shapes: centred, ..problem };
        let mut seen = [0; 2];
        for (points, step) in fields {
            // All signs agree at the field's own angle, and at no other. The least values are rounded up.
            let points: Vec<_> =
                points.into_iter().step_by(151).filter(|(_, depth)| depth.abs() > 1.5 * step / f64::from(PARTS)).collect();
            let agrees = |&(one, other, angle): &(usize, usize, f64)| {
                points.iter().all(|&([x, y], depth)| {
                    let poses = [[0.0; 3], [x, y, angle.to_radians()]];
                    let meets = problem.overlapping(&[one as u32, other as u32], &poses).is_ok_and(|meeting| meeting.is_some());
                    meets == (depth > 0.0)
                })
            };
            let place = keys.iter().position(agrees).ok_or("no angle agrees")?;
            keys.remove(place);
            points.iter().for_each(|(_, depth)| seen[usize::from(*depth > 0.0)] += 1);
        }
        assert!(seen[0] > 200 && seen[1] > 200 && keys.is_empty(), "{seen:?}");
        Ok(())
    }

    #[test]
    fn any_angle_or_too_many_shapes_have_no_fields() -> Result {
        let device = Device::best()?;
        let stream = device.stream()?;
        let problem =
            |turns: &[Turns]| Problem::new(&vec![Shape::tree(); turns.len()], &vec![1; turns.len()], Boundary::square(), turns);
        let fields = |turns: &[Turns]| Fields::new(&device, &stream, &problem(turns), Budget::Steps(1));
        assert!(fields(&[Turns::NONE, Turns::ANY])?.is_none());
        assert!(fields(&[Turns::NONE, Turns::HALVES, Turns::HALVES])?.is_some());
        assert!(fields(&vec![Turns::NONE; MOST_VARIANTS + 1])?.is_none());
        let steps = |shapes: usize, budget: Budget| {
            let variants: Vec<Variant> = (0..shapes as u32).flat_map(|shape| [(shape, 0.0), (shape, PI)]).collect();
            let steps = steps(&device, &vec![Shape::tree(); shapes], budget, &table(&variants).0);
            steps.map(|steps| steps.map(|steps| steps[0]))
        };
        if device.backend() == Backend::Cpu {
            assert!(steps(200, Budget::Steps(1))?.is_none());
            // From the time on in which they can be computed. Four times as many values take four times as long.
            let in_time = |exponent: i32| steps(10, Budget::Time(Duration::from_secs_f64(2f64.powi(exponent))));
            let found: Vec<_> = (-20..4).map(in_time).collect::<std::result::Result<_, _>>()?;
            let first = found.iter().position(Option::is_some).ok_or("never")?;
            assert!(first > 0 && found[first..].iter().all(Option::is_some), "{found:?}");
            for (one, other) in found[first..].iter().flatten().zip(found[first + 2..].iter().flatten()) {
                assert!((LEAST_STEPS..=CPU_STEPS).contains(one), "{found:?}");
                assert!(*other == CPU_STEPS || other.abs_diff(2 * one) <= 1, "{found:?}");
            }
        }
        // Steps have the same length in fields of shapes of different sizes, but for the least and the largest numbers.
        let square = |side: f64| Shape::polygon("square", &[[0.0, 0.0], [side, 0.0], [side, side], [0.0, side]]);
        let shapes = [square(1.0)?, square(4.0)?, square(0.01)?];
        let variants: Vec<Variant> = (0..3).map(|shape| (shape, 0.0)).collect();
        let keys = table(&variants).0;
        for exponent in 0..20 {
            let budget = Budget::Time(Duration::from_secs_f64(1e-6 * 2f64.powi(exponent)));
            let Some(steps) = self::steps(&device, &shapes, budget, &keys)? else { continue };
            let lengths: Vec<f64> =
                keys.iter().zip(&steps).map(|(key, &steps)| extents(&shapes, key)[1][0] / steps as f64).collect();
            for (&one, &length) in steps.iter().zip(&lengths) {
                for (&other, &longer) in steps.iter().zip(&lengths) {
                    let is_same = (length / longer - 1.0).abs() < 1.0 / LEAST_STEPS as f64;
                    assert!(is_same || [one, other].iter().any(|steps| [LEAST_STEPS, MOST_STEPS].contains(steps)), "{steps:?}");
                }
            }
        }
        Ok(())
    }
}

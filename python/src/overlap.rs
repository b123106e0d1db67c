//! Copies of polygons.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use numpy::{Element, IntoPyArray as _, PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods as _};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::PyTuple,
};
use warpsmith::{
    device::Buffer,
    overlap::{
        self, Boundary, Evaluation, Lattice, OverlapError, OverlapPair, OverlapReal, Packings, Scene, Wanted, io::Part,
        pack::Turns,
    },
};

use crate::{
    array::{DeviceArray, Item},
    device::Device,
    error::Failure,
    precision::{Either, each},
    work,
};

/// A simple polygon, maybe with holes, or a union of convex pieces that don't overlap, in a frame of its own.
///
/// It never changes: copies are the object itself. It pickles.
///
/// Parameters
/// ----------
/// outline : (n, 2) array_like
///     The polygon's vertices in either direction: x and y. The last one may repeat the first.
/// name : str
///     The name in messages.
/// holes : sequence of (n, 2) array_like
///     The vertices of each hole, into which other shapes fit.
///
/// Raises
/// ------
/// ValueError
///     If there are fewer than 3 vertices, a coordinate isn't finite or its magnitude is 1e6 or more, the shape is
///     smaller than 1e-6, the outline meets itself, there is next to no area, or a hole isn't within the outline.
///
/// Examples
/// --------
/// >>> square = Shape([(0, 0), (1, 0), (1, 1), (0, 1)])
/// >>> square.area
/// 1.0
#[pyclass(module = "warpsmith.overlap", frozen)]
pub struct Shape(pub Part);

impl From<overlap::Shape> for Shape {
    fn from(shape: overlap::Shape) -> Self {
        Shape(shape.into())
    }
}

/// Rows of x and y. `what` is the array's name in errors.
fn vertices(array: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<[f64; 2]>> {
    let arrays = array.py().import("warpsmith._arrays")?;
    let array = arrays.call_method1("reals", (array, what))?.call_method1("astype", ("float64",))?;
    match array.extract::<PyReadonlyArray2<'_, f64>>() {
        Ok(rows) if rows.shape()[1] == 2 => Ok(rows.as_array().rows().into_iter().map(|row| [row[0], row[1]]).collect()),
        _ => {
            let text = format!("{what} has the shape {}, but it must be (n, 2): x and y", array.getattr("shape")?);
            Err(PyValueError::new_err(text))
        }
    }
}

/// The vertices of each ring.
fn rings(arrays: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<Vec<[f64; 2]>>> {
    let items = arrays.py().import("warpsmith._arrays")?.call_method1("items", (arrays, what))?;
    items.try_iter()?.enumerate().map(|(index, ring)| vertices(&ring?, &format!("{what}[{index}]"))).collect()
}

/// Polygons as arrays of shape (n, 2).
fn polygons<'py>(py: Python<'py>, polygons: &[Vec<[f64; 2]>]) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let array =
        |polygon: &Vec<[f64; 2]>| polygon.as_flattened().to_vec().into_pyarray(py).call_method1("reshape", (polygon.len(), 2));
    polygons.iter().map(array).collect()
}

#[pymethods]
impl Shape {
    #[new]
    #[pyo3(signature = (outline, name="shape", holes=None))]
    fn new(outline: &Bound<'_, PyAny>, name: &str, holes: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let holes = holes.map_or_else(|| Ok(Vec::new()), |holes| rings(holes, "holes"))?;
        Ok(overlap::Shape::with_holes(name, &vertices(outline, "outline")?, &holes).map_err(Failure::from)?.into())
    }

    /// The tree of Kaggle's Santa 2025: 15 vertices, 0.7 wide and 1 high.
    ///
    /// Examples
    /// --------
    /// >>> round(Shape.tree().area, 6)
    /// 0.245625
    #[staticmethod]
    fn tree() -> Self {
        overlap::Shape::tree().into()
    }

    /// A shape of convex pieces, which may touch or be apart.
    ///
    /// Parameters
    /// ----------
    /// pieces : sequence of (n, 2) array_like
    ///     The vertices of each.
    /// name : str
    ///     The name in messages.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     If there are no pieces, one is not a convex polygon, or two overlap.
    ///
    /// Examples
    /// --------
    /// >>> Shape.from_pieces([[(0, 0), (1, 0), (0, 1)], [(2, 0), (3, 0), (2, 1)]]).area
    /// 1.0
    #[staticmethod]
    #[pyo3(signature = (pieces, name="shape"))]
    fn from_pieces(pieces: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        Ok(overlap::Shape::from_pieces(name, &rings(pieces, "pieces")?).map_err(Failure::from)?.into())
    }

    /// Loads a shape from a `.json`, `.svg`, `.dxf` or `.wkt` file.
    ///
    /// Parameters
    /// ----------
    /// path : path_like
    ///     The file.
    ///
    /// Raises
    /// ------
    /// OSError
    ///     If the file can't be read.
    /// ValueError
    ///     If it holds no shape.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let name = path.to_string_lossy();
        work::brief(py, || match <[Part; 1]>::try_from(overlap::io::read_parts(&name, None)?) {
            Ok([part]) => Ok(Shape(part)),
            // Says that there are several.
            Err(_) => Ok(overlap::io::read_shape(&name)?.into()),
        })
    }

    /// Loads all shapes of a file: the closed paths of a drawing, or the polygons of a collection.
    ///
    /// Lengths of a drawing that tells its size are in millimetres.
    ///
    /// Parameters
    /// ----------
    /// path : path_like
    ///     The file.
    ///
    /// Returns
    /// -------
    /// list of Shape
    ///     Shapes with the names that they have in the file, and their curves, which `Nested.write` draws.
    ///
    /// Raises
    /// ------
    /// OSError
    ///     If the file can't be read.
    /// ValueError
    ///     If it holds no shape, or one of them isn't valid.
    #[staticmethod]
    fn load_all(py: Python<'_>, path: PathBuf) -> PyResult<Vec<Self>> {
        work::brief(py, || Ok(overlap::io::read_parts(&path.to_string_lossy(), None)?.into_iter().map(Shape).collect()))
    }

    /// Loads an irregular sheet for `nest`: the largest closed path of a file; all others are defects, which may meet.
    ///
    /// Curves become lines on the sheet's side. The lower left corner of the box around it is the origin.
    ///
    /// Parameters
    /// ----------
    /// path : path_like
    ///     The file.
    ///
    /// Raises
    /// ------
    /// OSError
    ///     If the file can't be read.
    /// ValueError
    ///     If it holds no shape, or a defect is wholly outside of the outline.
    #[staticmethod]
    fn load_sheet(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        work::brief(py, || Ok(Shape(overlap::io::read_sheet(&path.to_string_lossy(), None)?)))
    }

    /// An irregular sheet for `nest` by its rings.
    #[staticmethod]
    fn _sheet(arrays: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        Ok(overlap::Shape::sheet(name, &rings(arrays, "rings")?).map_err(Failure::from)?.into())
    }

    /// The mirror image: x changes its sign.
    ///
    /// Examples
    /// --------
    /// >>> Shape([(0, 0), (2, 0), (0, 1)]).mirrored().outlines[0].min(axis=0).tolist()
    /// [-2.0, 0.0]
    fn mirrored(&self) -> Self {
        Shape(self.0.mirrored())
    }

    /// Makes a shape of what `__reduce__` gives: outlines whose holes are clockwise, or pieces; and the path.
    #[staticmethod]
    fn _restored(name: &str, outlines: Vec<Vec<[f64; 2]>>, path: &str, turns: Option<Vec<f64>>) -> PyResult<Self> {
        let shape = match &outlines[..] {
            [outline, holes @ ..] if holes.iter().all(|hole| overlap::area(hole) < 0.0) => {
                // Only defects of a sheet may meet.
                overlap::Shape::with_holes(name, outline, holes).or_else(|_| overlap::Shape::sheet(name, &outlines))
            }
            pieces => overlap::Shape::from_pieces(name, pieces),
        };
        let part = Part::from(shape.map_err(Failure::from)?).with_svg_path(path);
        let mut part = part.ok_or_else(|| PyValueError::new_err("the pickle of a shape has no path"))?;
        if let Some(radians) = turns {
            part.turns = Turns::of(radians.into_iter().map(f64::to_degrees)).map_err(Failure::from)?;
        }
        Ok(Shape(part))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (class, shape) = (py.get_type::<Self>(), &self.0.shape);
        if *shape == overlap::Shape::tree() {
            return Ok((class.getattr("tree")?, PyTuple::empty(py)));
        }
        let turns = self.0.turns.angles().map(<[f64]>::to_vec);
        let state = (shape.name(), shape.outlines().to_vec(), self.0.svg_path([0.0; 3], 0.0), turns);
        Ok((class.getattr("_restored")?, state.into_pyobject(py)?))
    }

    fn __copy__(this: Bound<'_, Self>) -> Bound<'_, Self> {
        this
    }

    fn __deepcopy__<'py>(this: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        this
    }

    /// The shape's name.
    #[getter]
    fn name(&self) -> &str {
        self.0.shape.name()
    }

    /// Number of copies that the shape's file asks for; 1 if it doesn't.
    #[getter]
    fn demand(&self) -> usize {
        self.0.count
    }

    /// Angles that the shape's file allows, in degrees from -180 to 180; None if any is allowed.
    #[getter]
    fn turns(&self) -> Option<Vec<f64>> {
        self.0.turns.angles().map(|angles| angles.iter().map(|angle| angle.to_degrees()).collect())
    }

    /// Its area.
    #[getter]
    fn area(&self) -> f64 {
        self.0.shape.area()
    }

    /// The outline or the pieces that it was made of: arrays of shape (n, 2).
    #[getter]
    fn outlines<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        polygons(py, self.0.shape.outlines())
    }

    /// Its convex pieces: arrays of shape (n, 2).
    #[getter]
    fn pieces<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        polygons(py, self.0.shape.pieces())
    }

    fn __repr__(&self) -> String {
        format!("Shape {:?} of {} pieces, area {:.6}", self.0.shape.name(), self.0.shape.pieces().len(), self.0.shape.area())
    }
}

/// An evaluator of either precision.
#[pyclass(module = "warpsmith._warpsmith", frozen)]
pub struct Overlap {
    device: Device,
    inner: Inner,
    shapes: Arc<[overlap::Shape]>,
    lattice: Option<Lattice>,
}

type Inner = Either<Arc<Mutex<Evaluator<f32>>>, Arc<Mutex<Evaluator<f64>>>>;

struct Evaluator<T: OverlapReal> {
    overlap: overlap::Overlap<T>,
    /// The scene of the last evaluation on a device.
    scene: Option<Scene<T>>,
}

/// Does work on this number of poses with an evaluator.
fn with<T: OverlapReal, R: Send + 'static>(
    py: Python<'_>,
    evaluator: &Arc<Mutex<Evaluator<T>>>,
    poses: usize,
    work: impl FnOnce(&mut Evaluator<T>) -> Result<R, Failure> + Send + 'static,
) -> PyResult<R> {
    let evaluator = evaluator.clone();
    work::owned(py, 64 * poses, move || work(&mut evaluator.lock().unwrap_or_else(PoisonError::into_inner)))
}

/// Totals, areas and derivatives per pose, and the same for the parts outside.
type Arrays<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>, Option<Outside<'py>>);
/// Totals, their derivatives by the scale, areas and derivatives by pose.
type Outside<'py> = [Bound<'py, PyAny>; 4];
/// Packings, first poses, second poses, two shifts for each pair, areas.
type Pairs<'py> = ([Bound<'py, PyArray1<i64>>; 3], Bound<'py, PyArray1<i32>>, Bound<'py, PyAny>);

/// Results as flat arrays `A`, on the host or on a device.
struct Found<A> {
    totals: A,
    per_pose: Option<A>,
    gradient: Option<A>,
    outside: Option<[A; 4]>,
}

impl<A> Found<A> {
    /// Makes Python's arrays, each of its shape. `poses` is the shape of the poses: (n, 3) or
    /// (packings, n, 3).
    fn arrays<'py>(self, poses: &[usize], array: impl Fn(A, &[usize]) -> PyResult<Bound<'py, PyAny>>) -> PyResult<Arrays<'py>> {
        let by_pose = &poses[..poses.len() - 1];
        let by_packing = &by_pose[..by_pose.len() - 1];
        let outside = |[totals, by_scale, per_pose, gradient]: [A; 4]| -> PyResult<_> {
            Ok([array(totals, by_packing)?, array(by_scale, by_packing)?, array(per_pose, by_pose)?, array(gradient, poses)?])
        };
        Ok((
            array(self.totals, by_packing)?,
            self.per_pose.map(|areas| array(areas, by_pose)).transpose()?,
            self.gradient.map(|gradient| array(gradient, poses)).transpose()?,
            self.outside.map(outside).transpose()?,
        ))
    }
}

impl<T: OverlapReal> Found<Vec<T>> {
    fn of(evaluation: Evaluation<T>, wanted: Wanted) -> Self {
        let flat = |triples: Vec<[T; 3]>| bytemuck::allocation::cast_vec(triples);
        let Evaluation { totals, per_pose, gradient, outside, .. } = evaluation;
        Found {
            totals,
            per_pose: wanted.per_pose.then_some(per_pose),
            gradient: wanted.gradient.then(|| flat(gradient)),
            outside: outside.map(|outside| [outside.totals, outside.by_scale, outside.per_pose, flat(outside.gradient)]),
        }
    }
}

/// Packing i has the poses `offsets[i]..offsets[i + 1]`.
fn packings(
    poses: Vec<[f64; 3]>,
    offsets: &PyReadonlyArray1<'_, i64>,
    shapes: Option<PyReadonlyArray1<'_, u32>>,
) -> Result<Packings, Failure> {
    let packings = Packings::ragged(poses, offsets.as_array().iter().map(|&offset| offset as usize).collect())?;
    Ok(match shapes {
        Some(shapes) => packings.with_shapes(shapes.as_array().to_vec())?,
        None => packings,
    })
}

/// Poses from rows of x, y and theta.
pub fn rows(poses: &PyReadonlyArray2<'_, f64>) -> Vec<[f64; 3]> {
    poses.as_array().rows().into_iter().map(|row| [row[0], row[1], row[2]]).collect()
}

/// The same packings with poses at these places. Coordinates that can't be evaluated become 0.
fn placed<T: OverlapReal>(layout: &Packings, numbers: &[T]) -> Result<Packings, OverlapError> {
    let number = |number: &T| Some(number.to_f64()).filter(|number| number.abs() <= T::MAX_POSITION).unwrap_or_default();
    let poses = numbers.chunks_exact(3).map(|pose| [0, 1, 2].map(|k| number(&pose[k]))).collect();
    let placed = Packings::ragged(poses, layout.offsets().to_vec())?;
    match layout.shapes() {
        Some(shapes) => placed.with_shapes(shapes.to_vec()),
        None => Ok(placed),
    }
}

impl<T: OverlapReal + Item> Evaluator<T> {
    /// Evaluates poses on their device. Derivatives go to `gradient` if it is given. The results
    /// are copies, which later evaluations leave alone.
    fn evaluate(
        &mut self,
        poses: &DeviceArray,
        layout: &Packings,
        scales: Option<&[f64]>,
        wanted: Wanted,
        gradient: Option<&DeviceArray>,
    ) -> Result<Found<Buffer<T>>, Failure> {
        let (Evaluator { overlap, scene }, into) = (self, gradient.is_some());
        let stream = overlap.stream();
        if scales.is_some() && !overlap.has_boundary() {
            return Err(OverlapError::NoBoundary.into());
        }
        let fits = |scene: &Scene<T>| scene.fits(layout) && scene.scales().is_empty() == scales.is_none();
        let (poses, mut gradient) = (poses.read(), gradient.map(DeviceArray::write));
        let scene = match (scene.take().filter(fits), T::of(&poses)) {
            (Some(fitting), _) => scene.insert(fitting),
            // The search depends on the positions.
            (None, Some(poses)) => scene.insert(overlap.load(&placed(layout, &stream.download_vec(poses)?)?)?),
            (None, None) => scene.insert(overlap.load(layout)?),
        };
        let copy = |from: &Buffer<T>| -> Result<Buffer<T>, Failure> {
            let mut new = overlap.device().alloc(from.len())?;
            stream.copy(from, &mut new)?;
            Ok(new)
        };
        let mut evaluated = || {
            if let Some(poses) = T::of(&poses) {
                stream.copy(poses, scene.poses_mut())?;
            }
            if let Some(scales) = scales {
                scene.set_scales(stream, scales)?;
            }
            overlap.enqueue(stream, scene, wanted)?;
            if let Some(to) = gradient.as_mut().and_then(|gradient| T::of_mut(gradient)) {
                stream.copy(scene.gradient(), to)?;
            }
            Ok::<_, Failure>(())
        };
        // Even after an error: enqueued work may use another library's memory.
        let (evaluated, done) = (evaluated(), stream.synchronize());
        evaluated?;
        done?;
        let result = Found {
            totals: copy(scene.totals())?,
            per_pose: wanted.per_pose.then(|| copy(scene.per_pose())).transpose()?,
            gradient: (wanted.gradient && !into).then(|| copy(scene.gradient())).transpose()?,
            outside: if scales.is_some() {
                Some([
                    copy(scene.outside_totals())?,
                    copy(scene.outside_by_scale())?,
                    copy(scene.outside_per_pose())?,
                    copy(scene.outside_gradient())?,
                ])
            } else {
                None
            },
        };
        stream.synchronize()?;
        Ok(result)
    }
}

#[pymethods]
impl Overlap {
    /// `boundary` is a polygon's vertices.
    #[new]
    fn new(
        py: Python<'_>,
        shapes: Vec<Py<Shape>>,
        dtype: &str,
        boundary: Option<&Bound<'_, PyAny>>,
        lattice: Option<[[f64; 2]; 2]>,
        deterministic: bool,
        device: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let device = Device::of(py, device)?;
        let boundary = boundary.map(|array| vertices(array, "boundary")).transpose()?;
        let shapes: Arc<[overlap::Shape]> = shapes.iter().map(|shape| shape.get().0.shape.clone()).collect();
        let lattice = lattice.map(|[a, b]| Lattice::new(a, b)).transpose().map_err(Failure::from)?;
        fn made<T: OverlapReal>(
            device: &warpsmith::device::Device,
            shapes: &[overlap::Shape],
            boundary: Option<Vec<[f64; 2]>>,
            lattice: Option<Lattice>,
            deterministic: bool,
        ) -> Result<Arc<Mutex<Evaluator<T>>>, Failure> {
            let mut made = overlap::Overlap::new(device, shapes)?.deterministic(deterministic);
            if let Some(vertices) = boundary {
                made = made.boundary(Boundary::polygon(&vertices)?)?;
            }
            if let Some(lattice) = lattice {
                made = made.lattice(lattice)?;
            }
            Ok(Arc::new(Mutex::new(Evaluator { overlap: made, scene: None })))
        }
        let double = match dtype {
            "float32" => false,
            "float64" => true,
            _ => return Err(PyTypeError::new_err(format!("{dtype} is not a type of overlaps: float32 or float64"))),
        };
        work::owned(py, usize::MAX, move || {
            let inner = if double {
                Inner::F64(made(&device.device, &shapes, boundary, lattice, deterministic)?)
            } else {
                Inner::F32(made(&device.device, &shapes, boundary, lattice, deterministic)?)
            };
            Ok(Overlap { device, inner, shapes, lattice })
        })
    }

    /// Evaluates rows of poses, which had this shape.
    #[expect(clippy::too_many_arguments, reason = "they are Python's")]
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        poses: PyReadonlyArray2<'py, f64>,
        shape: Vec<usize>,
        offsets: PyReadonlyArray1<'py, i64>,
        shapes: Option<PyReadonlyArray1<'py, u32>>,
        scales: Option<Vec<f64>>,
        per_pose: bool,
        gradient: bool,
    ) -> PyResult<Arrays<'py>> {
        let (packings, wanted) = (packings(rows(&poses), &offsets, shapes)?, Wanted { per_pose, gradient });
        each!(&self.inner, evaluator => {
            let evaluation = with(py, evaluator, packings.poses().len(), move |evaluator| {
                Ok(match scales {
                    Some(scales) => evaluator.overlap.evaluate_within(&packings, &scales, wanted),
                    None => evaluator.overlap.evaluate(&packings, wanted),
                }?)
            })?;
            let array = |values: Vec<_>, shape: &[usize]| values.into_pyarray(py).call_method1("reshape", (shape.to_vec(),));
            Found::of(evaluation, wanted).arrays(&shape, array)
        })
    }

    /// Evaluates poses on a device. Derivatives go to `into` if it is given.
    #[expect(clippy::too_many_arguments, reason = "they are Python's")]
    fn evaluate_on_device<'py>(
        &self,
        py: Python<'py>,
        poses: &DeviceArray,
        offsets: PyReadonlyArray1<'py, i64>,
        shapes: Option<PyReadonlyArray1<'py, u32>>,
        scales: Option<Vec<f64>>,
        per_pose: bool,
        gradient: bool,
        into: Option<Bound<'py, DeviceArray>>,
    ) -> PyResult<Arrays<'py>> {
        fn evaluated<'py, T: OverlapReal + Item>(
            py: Python<'py>,
            (this, evaluator): (&Overlap, &Arc<Mutex<Evaluator<T>>>),
            poses: &DeviceArray,
            (layout, scales, wanted): (Packings, Option<Vec<f64>>, Wanted),
            into: Option<DeviceArray>,
        ) -> PyResult<Arrays<'py>> {
            poses.check::<T>("poses")?;
            for (array, what) in [(Some(poses), "poses"), (into.as_ref(), "gradient")] {
                if let Some(array) = array
                    && *array.home() != this.device
                {
                    let text =
                        format!("{what} lie on {}, but overlaps are computed on {}", array.home().text(), this.device.text());
                    return Err(PyValueError::new_err(text));
                }
            }
            if let Some(into) = &into {
                into.check::<T>("gradient")?;
                into.check_writable("gradient")?;
                if into.dims() != poses.dims() {
                    return Err(PyValueError::new_err("gradient has another shape than the poses"));
                }
                if into.is_same(poses) {
                    return Err(PyValueError::new_err("gradient is the poses' own memory"));
                }
            }
            let input = poses.clone();
            let found = with(py, evaluator, layout.poses().len(), move |evaluator| {
                evaluator.evaluate(&input, &layout, scales.as_deref(), wanted, into.as_ref())
            })?;
            found.arrays(poses.dims(), |buffer: Buffer<T>, shape: &[usize]| {
                Ok(Bound::new(py, DeviceArray::new(&this.device, buffer, shape.to_vec()))?.into_any())
            })
        }
        let into = into.map(|into| into.get().clone());
        let len = offsets.as_array().last().map_or(0, |&last| last as usize);
        let layout = packings(vec![[0.0; 3]; len], &offsets, shapes)?;
        let what = (layout, scales, Wanted { per_pose, gradient });
        each!(&self.inner, evaluator => evaluated(py, (self, evaluator), poses, what, into))
    }

    fn pairs<'py>(
        &self,
        py: Python<'py>,
        poses: PyReadonlyArray2<'py, f64>,
        offsets: PyReadonlyArray1<'py, i64>,
        shapes: Option<PyReadonlyArray1<'py, u32>>,
    ) -> PyResult<Pairs<'py>> {
        let packings = packings(rows(&poses), &offsets, shapes)?;
        fn arrays<'py, T: OverlapReal + Element>(py: Python<'py>, pairs: &[OverlapPair<T>]) -> Pairs<'py> {
            let index =
                |of: fn(&OverlapPair<T>) -> usize| pairs.iter().map(|pair| of(pair) as i64).collect::<Vec<_>>().into_pyarray(py);
            let areas = pairs.iter().map(|pair| pair.area).collect::<Vec<_>>().into_pyarray(py).into_any();
            let shifts = pairs.iter().flat_map(|pair| pair.shift).collect::<Vec<_>>().into_pyarray(py);
            ([index(|pair| pair.packing), index(|pair| pair.first), index(|pair| pair.second)], shifts, areas)
        }
        each!(&self.inner, evaluator => {
            let poses = packings.poses().len();
            let pairs = with(py, evaluator, poses, move |evaluator| Ok(evaluator.overlap.pairs(&packings)?))?;
            Ok(arrays(py, &pairs))
        })
    }

    /// The convex polygons that pairs of poses have in common.
    fn common<'py>(
        &self,
        py: Python<'py>,
        poses: PyReadonlyArray2<'py, f64>,
        offsets: PyReadonlyArray1<'py, i64>,
        shapes: Option<PyReadonlyArray1<'py, u32>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let packings = packings(rows(&poses), &offsets, shapes)?;
        let rings = each!(&self.inner, evaluator => {
            let (poses, shapes, lattice) = (packings.poses().len(), self.shapes.clone(), self.lattice);
            with(py, evaluator, poses, move |evaluator| {
                let pairs = evaluator.overlap.pairs(&packings)?;
                // An image lies on its copy's other side, too.
                let both = pairs.iter().flat_map(|&pair| [Some(pair), (pair.shift != [0; 2]).then(|| pair.turned())]);
                Ok(both.flatten().flat_map(|pair| pair.common(&packings, &shapes, lattice.as_ref())).collect::<Vec<_>>())
            })?
        });
        polygons(py, &rings)
    }
}

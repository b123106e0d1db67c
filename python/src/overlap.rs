//! Copies of polygons.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use numpy::{Element, IntoPyArray as _, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::{exceptions::PyTypeError, prelude::*};
use warpsmith::overlap::{self, Boundary, Evaluation, Lattice, OverlapReal, Packings, Wanted};

use crate::{device::Device, error::Failure, work};

/// A simple polygon, or a union of convex pieces that don't overlap, in a frame of its own.
///
/// Parameters
/// ----------
/// outline : (n, 2) array_like
///     The polygon's vertices in either direction: x and y. The last one may repeat the first.
/// name : str
///     What it is called in messages.
///
/// Raises
/// ------
/// ValueError
///     Where there are fewer than 3 vertices, a coordinate isn't finite or its magnitude is 1e6 or more, the shape is
///     smaller than 1e-6, the outline meets itself, or there is next to no area.
///
/// Examples
/// --------
/// >>> square = Shape([(0, 0), (1, 0), (1, 1), (0, 1)])
/// >>> square.area
/// 1.0
#[pyclass(module = "warpsmith.overlap", frozen)]
pub struct Shape(pub overlap::Shape);

/// Rows of x and y.
fn vertices(array: &Bound<'_, PyAny>) -> PyResult<Vec<[f64; 2]>> {
    let numpy = array.py().import("numpy")?;
    let array = numpy.call_method1("asarray", (array, "float64"))?;
    let array: PyReadonlyArray2<'_, f64> =
        array.extract().map_err(|_| pyo3::exceptions::PyValueError::new_err("vertices must be of the shape (n, 2): x and y"))?;
    let rows = array.as_array();
    if rows.ncols() != 2 {
        return Err(pyo3::exceptions::PyValueError::new_err("vertices must be of the shape (n, 2): x and y"));
    }
    Ok(rows.rows().into_iter().map(|row| [row[0], row[1]]).collect())
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
    #[pyo3(signature = (outline, name="shape"))]
    fn new(outline: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        Ok(Shape(overlap::Shape::polygon(name, &vertices(outline)?).map_err(Failure::from)?))
    }

    /// The tree of Kaggle's Santa 2025: 15 vertices, 0.7 wide and 1 high.
    ///
    /// Examples
    /// --------
    /// >>> round(Shape.tree().area, 6)
    /// 0.245625
    #[staticmethod]
    fn tree() -> Self {
        Shape(overlap::Shape::tree())
    }

    /// A shape of convex pieces, which may touch or be apart.
    ///
    /// Parameters
    /// ----------
    /// pieces : sequence of (n, 2) array_like
    ///     The vertices of each.
    /// name : str
    ///     What it is called in messages.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     Where there are none, one is not convex or no polygon, or two overlap.
    ///
    /// Examples
    /// --------
    /// >>> Shape.from_pieces([[(0, 0), (1, 0), (0, 1)], [(2, 0), (3, 0), (2, 1)]]).area
    /// 1.0
    #[staticmethod]
    #[pyo3(signature = (pieces, name="shape"))]
    fn from_pieces(pieces: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        let pieces: Vec<_> = pieces.try_iter()?.map(|piece| vertices(&piece?)).collect::<PyResult<_>>()?;
        Ok(Shape(overlap::Shape::from_pieces(name, &pieces).map_err(Failure::from)?))
    }

    /// Loads a shape from a `.json`, `.svg` or `.wkt` file.
    ///
    /// Parameters
    /// ----------
    /// path : path_like
    ///     The file.
    ///
    /// Raises
    /// ------
    /// OSError
    ///     Where it can't be read.
    /// ValueError
    ///     Where it holds something else.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        work::brief(py, || Ok(Shape(overlap::io::read_shape(&path.to_string_lossy())?)))
    }

    /// What it is called.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// Its area.
    #[getter]
    fn area(&self) -> f64 {
        self.0.area()
    }

    /// The polygon that it was made of, or its pieces: arrays of shape (n, 2).
    #[getter]
    fn outlines<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        polygons(py, self.0.outlines())
    }

    /// Its convex pieces: arrays of shape (n, 2).
    #[getter]
    fn pieces<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        polygons(py, self.0.pieces())
    }

    fn __repr__(&self) -> String {
        format!("Shape {:?} of {} pieces, area {:.6}", self.0.name(), self.0.pieces().len(), self.0.area())
    }
}

/// An evaluator of either precision.
#[pyclass(module = "warpsmith._warpsmith", frozen)]
pub struct Overlap(Inner);

#[derive(Clone)]
enum Inner {
    F32(Arc<Mutex<overlap::Overlap<f32>>>),
    F64(Arc<Mutex<overlap::Overlap<f64>>>),
}

/// Totals, areas and derivatives by pose.
type Arrays<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>, Option<Outside<'py>>);
/// Totals, their derivatives by the scale, areas and derivatives by pose.
type Outside<'py> = [Bound<'py, PyAny>; 4];
/// Packings, first poses, second poses, two shifts for each pair, areas.
type Pairs<'py> = ([Bound<'py, PyArray1<i64>>; 3], Bound<'py, PyArray1<i32>>, Bound<'py, PyAny>);

fn arrays<'py, T: OverlapReal + Element>(py: Python<'py>, evaluation: Evaluation<T>, wanted: Wanted) -> PyResult<Arrays<'py>> {
    let vector = |values: Vec<T>| values.into_pyarray(py).into_any();
    let triples = |values: Vec<[T; 3]>| vector(bytemuck::allocation::cast_vec(values));
    let Evaluation { totals, per_pose, gradient, outside, .. } = evaluation;
    Ok((
        vector(totals),
        wanted.per_pose.then(|| vector(per_pose)),
        wanted.gradient.then(|| triples(gradient)),
        outside.map(|outside| {
            [vector(outside.totals), vector(outside.by_scale), vector(outside.per_pose), triples(outside.gradient)]
        }),
    ))
}

/// Packing i has the poses `offsets[i]..offsets[i + 1]`.
fn packings(
    poses: &PyReadonlyArray2<'_, f64>,
    offsets: &PyReadonlyArray1<'_, i64>,
    shapes: Option<PyReadonlyArray1<'_, u32>>,
) -> Result<Packings, Failure> {
    let poses = poses.as_array().rows().into_iter().map(|row| [row[0], row[1], row[2]]).collect();
    let packings = Packings::ragged(poses, offsets.as_array().iter().map(|&offset| offset as usize).collect())?;
    Ok(match shapes {
        Some(shapes) => packings.with_shapes(shapes.as_array().to_vec())?,
        None => packings,
    })
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
        let device = Device::of(py, device)?.device;
        let boundary = boundary.map(vertices).transpose()?;
        let shapes: Vec<overlap::Shape> = shapes.iter().map(|shape| shape.get().0.clone()).collect();
        fn made<T: OverlapReal>(
            device: &warpsmith::device::Device,
            shapes: &[overlap::Shape],
            boundary: Option<Vec<[f64; 2]>>,
            lattice: Option<[[f64; 2]; 2]>,
            deterministic: bool,
        ) -> Result<Arc<Mutex<overlap::Overlap<T>>>, Failure> {
            let mut made = overlap::Overlap::new(device, shapes)?.deterministic(deterministic);
            if let Some(vertices) = boundary {
                made = made.boundary(Boundary::polygon(&vertices)?)?;
            }
            if let Some([a, b]) = lattice {
                made = made.lattice(Lattice::new(a, b)?)?;
            }
            Ok(Arc::new(Mutex::new(made)))
        }
        work::owned(py, usize::MAX, {
            let double = match dtype {
                "float32" => false,
                "float64" => true,
                _ => return Err(PyTypeError::new_err(format!("{dtype} is not a type of overlaps: float32 or float64"))),
            };
            move || {
                Ok(Overlap(if double {
                    Inner::F64(made(&device, &shapes, boundary, lattice, deterministic)?)
                } else {
                    Inner::F32(made(&device, &shapes, boundary, lattice, deterministic)?)
                }))
            }
        })
    }

    #[expect(clippy::too_many_arguments, reason = "they are Python's")]
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        poses: PyReadonlyArray2<'py, f64>,
        offsets: PyReadonlyArray1<'py, i64>,
        shapes: Option<PyReadonlyArray1<'py, u32>>,
        scales: Option<Vec<f64>>,
        per_pose: bool,
        gradient: bool,
    ) -> PyResult<Arrays<'py>> {
        fn evaluated<'py, T: OverlapReal + Element>(
            py: Python<'py>,
            evaluator: &Arc<Mutex<overlap::Overlap<T>>>,
            packings: Packings,
            scales: Option<Vec<f64>>,
            wanted: Wanted,
        ) -> PyResult<Arrays<'py>> {
            let evaluator = evaluator.clone();
            let poses = packings.poses().len();
            let evaluation = work::owned(py, 64 * poses, move || {
                let mut evaluator = evaluator.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(match scales {
                    Some(scales) => evaluator.evaluate_within(&packings, &scales, wanted),
                    None => evaluator.evaluate(&packings, wanted),
                }?)
            })?;
            arrays(py, evaluation, wanted)
        }
        let (packings, wanted) = (packings(&poses, &offsets, shapes)?, Wanted { per_pose, gradient });
        match &self.0 {
            Inner::F32(evaluator) => evaluated(py, evaluator, packings, scales, wanted),
            Inner::F64(evaluator) => evaluated(py, evaluator, packings, scales, wanted),
        }
    }

    fn pairs<'py>(
        &self,
        py: Python<'py>,
        poses: PyReadonlyArray2<'py, f64>,
        offsets: PyReadonlyArray1<'py, i64>,
        shapes: Option<PyReadonlyArray1<'py, u32>>,
    ) -> PyResult<Pairs<'py>> {
        fn listed<'py, T: OverlapReal + Element>(
            py: Python<'py>,
            evaluator: &Arc<Mutex<overlap::Overlap<T>>>,
            packings: Packings,
        ) -> PyResult<Pairs<'py>> {
            let evaluator = evaluator.clone();
            let pairs = work::owned(py, 64 * packings.poses().len(), move || {
                Ok(evaluator.lock().unwrap_or_else(PoisonError::into_inner).pairs(&packings)?)
            })?;
            let index = |of: fn(&overlap::OverlapPair<T>) -> usize| {
                pairs.iter().map(|pair| of(pair) as i64).collect::<Vec<_>>().into_pyarray(py)
            };
            let areas = pairs.iter().map(|pair| pair.area).collect::<Vec<_>>().into_pyarray(py).into_any();
            let shifts = pairs.iter().flat_map(|pair| pair.shift).collect::<Vec<_>>().into_pyarray(py);
            Ok(([index(|pair| pair.packing), index(|pair| pair.first), index(|pair| pair.second)], shifts, areas))
        }
        let packings = packings(&poses, &offsets, shapes)?;
        match &self.0 {
            Inner::F32(evaluator) => listed(py, evaluator, packings),
            Inner::F64(evaluator) => listed(py, evaluator, packings),
        }
    }
}

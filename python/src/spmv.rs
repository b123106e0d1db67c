//! Products of sparse matrices and vectors.

use std::sync::{Arc, Mutex, PoisonError};

use numpy::{PyReadonlyArray1, ToPyArray as _};
use pyo3::{exceptions::PyValueError, prelude::*};
use warpsmith::{
    device::Backend,
    spmv::{Csr, DeviceMatrix, SpmvReal},
};

use crate::{
    array::Item,
    device::Device,
    error::Failure,
    input::{Input, Output},
    kept::{self, KeptStream},
    work,
};

/// A matrix to be multiplied.
#[pyclass(module = "warpsmith._warpsmith", frozen)]
pub struct Matrix {
    device: Device,
    values: Values,
}

#[derive(Clone)]
enum Values {
    F32(Arc<Of<f32>>),
    F64(Arc<Of<f64>>),
}

struct Of<T: SpmvReal> {
    csr: Csr<T>,
    /// Nothing on the CPU. Held during a product: the matrix has memory for one at a time.
    on_device: Option<Mutex<DeviceMatrix<T>>>,
}

impl<T: SpmvReal + Item> Of<T> {
    fn multiply(&self, device: &Device, x: &Input<T>) -> Result<Output<T>, Failure> {
        let stream = KeptStream::take(device)?;
        match (&self.on_device, x) {
            (None, Input::Host(x)) => Ok(Output::Host(self.csr.multiply(x)?)),
            (None, input) => {
                let x = input.with(device, |x| Ok(stream.download_vec(x)?))?;
                input.host_result(&stream, self.csr.multiply(&x)?)
            }
            (Some(matrix), input) => input.with(device, |x| {
                let mut y = kept::array(device, self.csr.rows())?;
                let matrix = matrix.lock().unwrap_or_else(PoisonError::into_inner);
                matrix.multiply(&stream, x, &mut y)?;
                stream.synchronize()?;
                input.result(&stream, y)
            }),
        }
    }
}

/// Gets the arrays of a matrix.
fn build<'py, T: SpmvReal + Item>(
    py: Python<'py>,
    device: &Device,
    shape: (usize, usize),
    row_ptr: Vec<u32>,
    columns: Vec<u32>,
    values: &Bound<'py, PyAny>,
) -> PyResult<Arc<Of<T>>> {
    let values = values.extract::<PyReadonlyArray1<'_, T>>()?.as_array().to_vec();
    let device = device.device.clone();
    work::owned(py, values.len() + shape.0, move || {
        let csr = Csr::new(shape, row_ptr, columns, values)?;
        let on_device = match device.backend() {
            Backend::Cpu => None,
            Backend::Cuda => Some(Mutex::new(DeviceMatrix::upload(&device, &csr)?)),
        };
        Ok(Arc::new(Of { csr, on_device }))
    })
}

#[pymethods]
impl Matrix {
    /// Takes compressed sparse rows, of float32 or float64.
    #[new]
    fn new<'py>(
        py: Python<'py>,
        shape: (usize, usize),
        row_ptr: PyReadonlyArray1<'py, u32>,
        columns: PyReadonlyArray1<'py, u32>,
        values: &Bound<'py, PyAny>,
        device: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        let device = Device::of(py, device)?;
        let (row_ptr, columns) = (row_ptr.as_array().to_vec(), columns.as_array().to_vec());
        let values = match values.getattr("dtype")?.str()?.to_str()? {
            "float32" => Values::F32(build(py, &device, shape, row_ptr, columns, values)?),
            _ => Values::F64(build(py, &device, shape, row_ptr, columns, values)?),
        };
        Ok(Matrix { device, values })
    }

    #[getter]
    fn device(&self) -> Device {
        self.device.clone()
    }

    /// Returns the values, columns and starts of rows.
    fn parts<'py>(&self, py: Python<'py>) -> (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>) {
        fn arrays<'py, T: SpmvReal + Item>(py: Python<'py>, csr: &Csr<T>) -> [Bound<'py, PyAny>; 3] {
            let (columns, starts) = (csr.column_indices().to_pyarray(py), csr.row_ptr().to_pyarray(py));
            [csr.values().to_pyarray(py).into_any(), columns.into_any(), starts.into_any()]
        }
        let arrays = match &self.values {
            Values::F32(matrix) => arrays(py, &matrix.csr),
            Values::F64(matrix) => arrays(py, &matrix.csr),
        };
        arrays.into()
    }

    /// y = A x.
    fn multiply<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        fn product<'py, T: SpmvReal + Item>(
            py: Python<'py>,
            device: &Device,
            matrix: &Arc<Of<T>>,
            x: &Bound<'py, PyAny>,
        ) -> PyResult<Bound<'py, PyAny>> {
            let x = Input::<T>::of(x, "x")?;
            if let Input::Device(array) = &x
                && array.home() != device
            {
                let (found, own) = (array.home().text(), device.text());
                return Err(PyValueError::new_err(format!("x lies on {found}, but the matrix is on {own}")));
            }
            let (on, matrix) = (device.clone(), matrix.clone());
            let y = work::owned(py, matrix.csr.nnz() + matrix.csr.rows(), move || matrix.multiply(&on, &x))?;
            y.into_python(py, device)
        }
        match &self.values {
            Values::F32(matrix) => product(py, &self.device, matrix, x),
            Values::F64(matrix) => product(py, &self.device, matrix, x),
        }
    }
}

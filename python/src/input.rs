//! Arguments and results that are in host memory or on a device.

use bytemuck::Pod;
use cuda_std::I32x2;
use numpy::{IntoPyArray as _, PyReadonlyArray1};
use pyo3::prelude::*;
use warpsmith::{
    collectives::{Operator, ReduceWorkspace, reduce},
    device::{Buffer, Stream},
    trees::small,
};

use crate::{
    array::{DeviceArray, Item},
    device::Device,
    error::Failure,
    kept::{self, KeptStream},
};

/// An array in host memory, copied, or one on a device. Results are returned in the same kind of memory.
pub enum Input<T: Pod> {
    Host(Vec<T>),
    Device(DeviceArray),
}

impl<T: Item> Input<T> {
    /// Takes a vector.
    pub fn of(array: &Bound<'_, PyAny>, what: &str) -> PyResult<Self> {
        let input = Input::any(array, what)?;
        if let Input::Device(array) = &input {
            array.check_vector(what)?;
        }
        Ok(input)
    }

    fn any(array: &Bound<'_, PyAny>, what: &str) -> PyResult<Self> {
        match array.cast::<DeviceArray>() {
            Ok(array) => {
                array.get().check::<T>(what)?;
                Ok(Input::Device(array.get().clone()))
            }
            Err(_) => Ok(Input::Host(array.extract::<PyReadonlyArray1<'_, T>>()?.as_array().to_vec())),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Input::Host(values) => values.len(),
            Input::Device(array) => array.dims().iter().product(),
        }
    }

    /// Returns a result in the same kind of memory as the input.
    pub fn result<R: Pod>(&self, stream: &Stream, buffer: Buffer<R>) -> Result<Output<R>, Failure> {
        Ok(match self {
            Input::Host(_) => Output::Host(stream.download_vec(&buffer)?),
            Input::Device(_) => Output::Device(buffer),
        })
    }

    /// Returns a result that was found on the host.
    pub fn host_result<R: Pod>(&self, stream: &Stream, values: Vec<R>) -> Result<Output<R>, Failure> {
        Ok(match self {
            Input::Host(_) => Output::Host(values),
            Input::Device(_) => Output::Device(stream.device().upload(&values)?),
        })
    }

    /// Selects the device that computes.
    pub fn device(&self, py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<Device> {
        match self {
            Input::Host(_) => Device::of(py, device),
            Input::Device(array) => array.check_home(py, "the array", device).map(|()| array.home().clone()),
        }
    }

    /// Calls this with the array on the device.
    pub fn with<R>(&self, device: &Device, work: impl FnOnce(&Buffer<T>) -> Result<R, Failure>) -> Result<R, Failure> {
        match self {
            Input::Host(values) => {
                let (stream, mut buffer) = (KeptStream::take(device)?, kept::array(device, values.len())?);
                stream.upload(&mut buffer, values)?;
                let result = work(&buffer)?;
                kept::keep_array(device, buffer.cast(), false);
                Ok(result)
            }
            Input::Device(array) => with_elements(array, work),
        }
    }
}

impl Input<i32> {
    /// Takes pairs: those of the host as a vector, two elements for each.
    pub fn pairs(array: &Bound<'_, PyAny>, what: &str) -> PyResult<Self> {
        let input = Input::any(array, what)?;
        if let Input::Device(array) = &input {
            array.check_pairs(what)?;
        }
        Ok(input)
    }

    /// Returns the pairs of the host if one thread works on them and `n` vertices in less time than the device.
    pub fn few_pairs(&self, n: usize, device: &Device) -> Option<&[[i32; 2]]> {
        match self {
            Input::Host(flat) if flat.len() / 2 + n <= small(&device.device) => Some(flat.as_chunks().0),
            _ => None,
        }
    }

    /// Calls this with the pairs on the device. The work has to wait for all that it enqueues.
    pub fn with_pairs<R>(&self, device: &Device, work: impl FnOnce(&Buffer<I32x2>) -> Result<R, Failure>) -> Result<R, Failure> {
        self.with(device, |flat| {
            // SAFETY: the buffer has two elements for each pair, begins at a multiple of 256, and outlives the work,
            // which only reads it and has waited when it returns.
            let pairs = unsafe { device.device.from_raw_parts::<I32x2>(flat.as_device_ptr(), flat.len() / 2) };
            work(&pairs)
        })
    }

    /// The number of things that are numbered by the elements: one more than the greatest, if it isn't given.
    pub fn count(&self, device: &Device, given: Option<usize>) -> Result<usize, Failure> {
        let after = |greatest: i32| (i64::from(greatest) + 1).max(0) as usize;
        Ok(match (given, self) {
            (Some(count), _) => count,
            (None, Input::Host(values)) => values.iter().max().map_or(0, |&greatest| after(greatest)),
            (None, Input::Device(_)) if self.len() == 0 => 0,
            (None, Input::Device(array)) => with_elements(array, |values| {
                let stream = KeptStream::take(device)?;
                let mut greatest = ReduceWorkspace::new(&device.device)?;
                reduce(&stream, values, Operator::Max, &mut greatest)?;
                Ok(after(stream.download_vec(greatest.result())?[0]))
            })?,
        })
    }
}

/// Calls this with the elements of an array on a device.
fn with_elements<T: Item, R>(array: &DeviceArray, work: impl FnOnce(&Buffer<T>) -> Result<R, Failure>) -> Result<R, Failure> {
    match T::of(&array.read()) {
        Some(buffer) => work(buffer),
        None => Err(Failure::runtime("an array has changed its type")),
    }
}

/// A result in host memory or on a device.
pub enum Output<T: Pod> {
    Host(Vec<T>),
    Device(Buffer<T>),
}

impl<T: Item> Output<T> {
    pub fn into_python<'py>(self, py: Python<'py>, device: &Device) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self {
            Output::Host(values) => values.into_pyarray(py).into_any(),
            Output::Device(buffer) => {
                let len = buffer.len();
                Bound::new(py, DeviceArray::new(device, buffer, vec![len]))?.into_any()
            }
        })
    }
}

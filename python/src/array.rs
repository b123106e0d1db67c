//! Arrays in a device's memory, and their exchange with other libraries through DLPack and
//! `__cuda_array_interface__`.

mod dlpack;

use std::{
    any::Any,
    borrow::Cow,
    sync::{
        Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicBool, Ordering},
    },
};

use bytemuck::Pod;
use numpy::{Element, IntoPyArray as _, PyArrayDyn, PyArrayMethods as _, PyUntypedArrayMethods as _};
use pyo3::{
    exceptions::{PyAttributeError, PyBufferError, PyTypeError, PyValueError},
    prelude::*,
    types::{IntoPyDict as _, PyDict, PyTuple},
};
use warpsmith::device::{self, Backend, Buffer};

use crate::{
    device::Device,
    kept::{self, KeptStream},
    work,
};
use dlpack::Tensor;

/// An array in the memory of a device, contiguous in C order.
///
/// Libraries for GPUs take it without a copy: ``cupy.asarray(a)``, ``torch.from_dlpack(a)``, ``jax.dlpack.from_dlpack(a)``.
/// All work on it is complete when a call returns, so no stream has to wait.
///
/// Parameters
/// ----------
/// array : array_like
///     The elements: int32, int64, float32 or float64. An array of another library on a GPU (``__dlpack__`` or
///     ``__cuda_array_interface__``) is shared without a copy, after the work that its library has enqueued so far.
///     Later work of that library is not waited for, so pass its own array to each call instead. All else is copied.
/// device : Device or str, optional
///     The device; by default the array's own, or the best one available.
///
/// Raises
/// ------
/// TypeError
///     If the elements are of another type.
/// ValueError
///     If an array on a GPU is not contiguous in C order, or is on another device.
/// MemoryError
///     If the device has too little memory.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> a = DeviceArray(np.arange(6.0).reshape(2, 3))
/// >>> a.shape, a.dtype
/// ((2, 3), dtype('float64'))
/// >>> a.numpy()[1]
/// array([3., 4., 5.])
#[pyclass(module = "warpsmith", frozen)]
#[derive(Clone)]
pub struct DeviceArray {
    memory: Arc<Memory>,
    shape: Vec<usize>,
}

/// The elements, and the owner of their memory if another library has allocated it.
struct Memory {
    /// Locked only without the interpreter's lock, because work on the elements may take long.
    // Dropped before the owner.
    data: RwLock<Data>,
    address: u64,
    /// NumPy's name of the elements' type, and DLPack's code and bits.
    dtype: (&'static str, (u8, u8)),
    /// The reason if it is read-only.
    read_only: Option<&'static str>,
    owner: Option<dlpack::Owner>,
    /// True once another library has the address.
    shared: AtomicBool,
    device: Device,
}

/// A [`Buffer`] of one of the element types.
pub type Data = Box<dyn Any + Send + Sync>;

/// Calls a function for elements of the type with this name.
macro_rules! of_type {
    ($name:expr, $function:ident($($argument:expr),*)) => {
        match $name {
            "int32" => $function::<i32>($($argument),*),
            "int64" => $function::<i64>($($argument),*),
            "float32" => $function::<f32>($($argument),*),
            _ => $function::<f64>($($argument),*),
        }
    };
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.owner.is_some() {
            return;
        }
        let data = self.data.get_mut().unwrap_or_else(PoisonError::into_inner);
        let data = std::mem::replace(data, Box::new(()));
        fn bytes<T: Item>(data: Data) -> Option<Buffer<u8>> {
            data.downcast::<Buffer<T>>().ok().map(|buffer| buffer.cast())
        }
        if let Some(buffer) = of_type!(self.dtype.0, bytes(data)) {
            kept::keep_array(&self.device, buffer, *self.shared.get_mut());
        }
    }
}

/// An element type of arrays on a device.
pub trait Item: Pod + Element {
    /// NumPy's name, and DLPack's code and bits.
    const DTYPE: (&'static str, (u8, u8));

    fn of(data: &Data) -> Option<&Buffer<Self>> {
        data.downcast_ref()
    }

    fn of_mut(data: &mut Data) -> Option<&mut Buffer<Self>> {
        data.downcast_mut()
    }
}

macro_rules! item {
    ($($type:ident $name:literal $code:ident;)*) => {$(
        impl Item for $type {
            const DTYPE: (&'static str, (u8, u8)) = ($name, (dlpack::$code, 8 * size_of::<$type>() as u8));
        }
    )*};
}
item! {
    i32 "int32" INT;
    i64 "int64" INT;
    f32 "float32" FLOAT;
    f64 "float64" FLOAT;
}

impl DeviceArray {
    /// Wraps a buffer, whose elements are complete.
    pub fn new<T: Item>(device: &Device, buffer: Buffer<T>, shape: Vec<usize>) -> Self {
        DeviceArray::of_buffer(device.clone(), buffer, shape, None, None)
    }

    fn of_buffer<T: Item>(
        device: Device,
        buffer: Buffer<T>,
        shape: Vec<usize>,
        read_only: Option<&'static str>,
        owner: Option<dlpack::Owner>,
    ) -> Self {
        let (address, data): (_, RwLock<Data>) = (buffer.as_device_ptr(), RwLock::new(Box::new(buffer)));
        let shared = AtomicBool::new(false);
        let memory = Memory { data, address, dtype: T::DTYPE, read_only, owner, shared, device };
        DeviceArray { memory: Arc::new(memory), shape }
    }

    /// The device whose memory it is in.
    pub fn home(&self) -> &Device {
        &self.memory.device
    }

    pub fn dims(&self) -> &[usize] {
        &self.shape
    }

    /// Locks the elements for reading. Call it without the interpreter's lock.
    pub fn read(&self) -> RwLockReadGuard<'_, Data> {
        self.memory.data.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the elements for writing. Call it without the interpreter's lock.
    pub fn write(&self) -> RwLockWriteGuard<'_, Data> {
        self.memory.data.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails unless the elements are of this type. `what` is the array's name in the error.
    pub fn check<T: Item>(&self, what: &str) -> PyResult<()> {
        let (found, wanted) = (self.memory.dtype.0, T::DTYPE.0);
        if found == wanted {
            return Ok(());
        }
        Err(PyTypeError::new_err(format!("{what} is an array of {found}, but it must be one of {wanted}")))
    }

    /// Fails unless the array is one-dimensional.
    pub fn check_vector(&self, what: &str) -> PyResult<()> {
        if self.shape.len() == 1 {
            return Ok(());
        }
        let text = format!("{what} has {} dimensions, but it must have one", self.shape.len());
        Err(PyValueError::new_err(text))
    }

    /// Fails unless the array has two columns.
    pub fn check_pairs(&self, what: &str) -> PyResult<()> {
        if matches!(self.shape[..], [_, 2]) {
            return Ok(());
        }
        let shape = self.shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        Err(PyValueError::new_err(format!("{what} has the shape ({shape}), but it must be (n, 2)")))
    }

    /// Fails if the array is read-only.
    pub fn check_writable(&self, what: &str) -> PyResult<()> {
        self.memory.read_only.map_or(Ok(()), |why| Err(PyValueError::new_err(format!("{what} {why}"))))
    }

    /// Fails if the array is not on the device that a call's argument `device` names.
    pub fn check_home(&self, py: Python<'_>, what: &str, device: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        match device {
            Some(device) if Device::several(py, Some(device))? != [self.memory.device.clone()] => {
                let text =
                    format!("{what} lies on {}, not on the device that was asked for: {device}", self.memory.device.text());
                Err(PyValueError::new_err(text))
            }
            _ => Ok(()),
        }
    }

    /// The address for other libraries. 0 if there are no elements.
    fn shared_address(&self) -> u64 {
        self.memory.shared.store(true, Ordering::Relaxed);
        if self.size() == 0 { 0 } else { self.memory.address }
    }

    /// Returns true if both share the same memory.
    pub fn is_same(&self, other: &Self) -> bool {
        self.memory.address == other.memory.address
    }

    fn host(py: Python<'_>, array: &Bound<'_, PyAny>, device: Device) -> PyResult<Self> {
        let array = py.import("warpsmith._arrays")?.call_method1("numbers", (array, "array"))?;
        // Contiguous, and aligned.
        let requirements = [("requirements", ["C", "A"])].into_py_dict(py)?;
        let array = py.import("numpy")?.call_method("require", (array,), Some(&requirements))?;
        fn uploaded<T: Item>(py: Python<'_>, array: &Bound<'_, PyAny>, device: &Device) -> Option<PyResult<DeviceArray>> {
            let Ok(array) = array.cast::<PyArrayDyn<T>>().ok()?.try_readonly() else {
                return Some(Err(PyValueError::new_err("the array is being written by another call")));
            };
            let (values, shape) = (array.as_slice().ok()?, array.shape().to_vec());
            Some(work::brief(py, || Ok(DeviceArray::new(device, device.device.upload(values)?, shape))))
        }
        let made = uploaded::<i32>(py, &array, &device)
            .or_else(|| uploaded::<i64>(py, &array, &device))
            .or_else(|| uploaded::<f32>(py, &array, &device))
            .or_else(|| uploaded::<f64>(py, &array, &device));
        made.unwrap_or_else(|| Err(wrong_type(&array.getattr("dtype")?)))
    }

    /// Shares an array on a GPU, without a copy. Returns `None` for arrays elsewhere and for other objects.
    pub fn on_gpu(py: Python<'_>, array: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        if let Ok(own) = array.cast::<DeviceArray>() {
            return Ok(Some(own.get().clone()));
        }
        if let Ok(device) = array.call_method0("__dlpack_device__") {
            let (kind, ordinal): (i32, i32) = device.extract()?;
            if kind != dlpack::CUDA && kind != dlpack::CUDA_MANAGED {
                return Ok(None);
            }
            let device = Device::gpu(py, ordinal as u32)?;
            // Most libraries enqueue their work on this stream, and make none wait then.
            let tensor = Tensor::take(array, dlpack::DEFAULT_STREAM)?;
            work::brief(py, || Ok(device.device.synchronize_default()?))?;
            if tensor.device != (kind, ordinal) {
                return Err(PyBufferError::new_err("__dlpack__ gave an array on another device than __dlpack_device__"));
            }
            return DeviceArray::of_tensor(py, device, tensor).map(Some);
        }
        match array.getattr("__cuda_array_interface__") {
            Ok(interface) => DeviceArray::of_interface(py, array, interface.cast::<PyDict>()?).map(Some),
            Err(error) if error.is_instance_of::<PyAttributeError>(py) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn of_tensor(py: Python<'_>, device: Device, tensor: Tensor) -> PyResult<Self> {
        let Tensor { address, shape, contiguous, dtype, writable, owner, .. } = tensor;
        let found = Found { address, shape, contiguous, writable, owner };
        match dtype {
            (dlpack::INT, 32) => found.array::<i32>(py, device),
            (dlpack::INT, 64) => found.array::<i64>(py, device),
            (dlpack::FLOAT, 32) => found.array::<f32>(py, device),
            (dlpack::FLOAT, 64) => found.array::<f64>(py, device),
            (code, bits) => Err(wrong_type(&format_args!("DLPack's type {code} of {bits} bits"))),
        }
    }

    fn of_interface(py: Python<'_>, array: &Bound<'_, PyAny>, interface: &Bound<'_, PyDict>) -> PyResult<Self> {
        let get = |key: &str| interface.get_item(key)?.filter(|value| !value.is_none()).map_or(Ok(None), |value| Ok(Some(value)));
        let needed = |key: &str| {
            let missing = || PyValueError::new_err(format!("__cuda_array_interface__ has no {key:?}"));
            get(key).and_then(|value: Option<Bound<'_, PyAny>>| value.ok_or_else(missing))
        };
        let (address, read_only): (u64, bool) = needed("data")?.extract()?;
        let shape: Vec<usize> = needed("shape")?.extract()?;
        let typestr: String = needed("typestr")?.extract()?;
        let size: usize = typestr.get(2..).and_then(|digits| digits.parse().ok()).unwrap_or(0);
        let contiguous = match get("strides")? {
            Some(strides) => {
                let strides: Vec<i64> = strides.extract()?;
                dlpack::is_contiguous(&shape, &strides, size as i64)
            }
            None => true,
        };
        let device = if shape.contains(&0) {
            Device::of(py, None)?
        } else {
            work::brief(py, || Ok(Device { device: device::Device::of_address(address)? }))?
        };
        if let Some(stream) = get("stream")? {
            let handle: u64 = stream.extract()?;
            work::brief(py, || {
                let own = KeptStream::take(&device)?;
                // SAFETY: the protocol promises that the stream belongs to the array's device, and lives
                // while the interface is used; `array` is held meanwhile.
                unsafe { own.wait_for_handle(handle)? };
                Ok(own.synchronize()?)
            })?;
        }
        let owner: dlpack::Owner = Box::new(array.clone().unbind());
        let found = Found { address, shape, contiguous, writable: !read_only, owner };
        match typestr.as_str() {
            "<i4" => found.array::<i32>(py, device),
            "<i8" => found.array::<i64>(py, device),
            "<f4" => found.array::<f32>(py, device),
            "<f8" => found.array::<f64>(py, device),
            other => Err(wrong_type(&other)),
        }
    }
}

fn wrong_type(found: &dyn std::fmt::Display) -> PyErr {
    PyTypeError::new_err(format!("an array of {found}, but it must be one of int32, int64, float32 or float64"))
}

/// The description of another library's array.
struct Found {
    address: u64,
    shape: Vec<usize>,
    contiguous: bool,
    writable: bool,
    owner: dlpack::Owner,
}

impl Found {
    /// Alignment of buffers, in bytes.
    const ALIGN: u64 = 256;

    fn array<T: Item>(self, py: Python<'_>, device: Device) -> PyResult<DeviceArray> {
        let Found { address, shape, contiguous, writable, owner } = self;
        if !contiguous {
            return Err(PyValueError::new_err("an array on a device must be contiguous in C order"));
        }
        let len =
            shape.iter().try_fold(1usize, |len, &n| len.checked_mul(n)).filter(|len| len.checked_mul(size_of::<T>()).is_some());
        let len = len.ok_or_else(|| PyValueError::new_err("an array on a device is larger than any memory"))?;
        if len == 0 {
            return Ok(DeviceArray::new(&device, device.device.empty::<T>(), shape));
        }
        if address % Self::ALIGN == 0 {
            // SAFETY: the array's owner, which is kept as long as the buffer, guarantees this number of elements.
            // As always with these protocols, those who share the array must not write to it meanwhile.
            let buffer = unsafe { device.device.from_raw_parts::<T>(address, len) };
            let read_only = (!writable).then_some("is read-only");
            return Ok(DeviceArray::of_buffer(device, buffer, shape, read_only, Some(owner)));
        }
        // Kernels load vectors. A slice may be unaligned, and is copied.
        let buffer = work::brief(py, || {
            let (buffer, stream) = (kept::array::<T>(&device, len)?, device.device.stream()?);
            // SAFETY: both addresses have this number of bytes until `synchronize` has returned.
            unsafe { stream.copy_bytes(buffer.as_device_ptr(), address, buffer.byte_len())? };
            stream.synchronize()?;
            Ok(buffer)
        })?;
        drop(owner);
        let read_only = Some("can't be written: it doesn't begin at a multiple of 256 bytes, and was copied");
        Ok(DeviceArray::of_buffer(device, buffer, shape, read_only, None))
    }
}

/// A class, and the arguments that it is called with.
type Pickle<'py> = (Bound<'py, PyAny>, (Bound<'py, PyAny>, Device));

#[pymethods]
impl DeviceArray {
    #[new]
    #[pyo3(signature = (array, device=None))]
    fn make(py: Python<'_>, array: &Bound<'_, PyAny>, device: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        match DeviceArray::on_gpu(py, array)? {
            Some(found) => found.check_home(py, "the array", device).map(|()| found),
            None => DeviceArray::host(py, array, Device::of(py, device)?),
        }
    }

    /// The extent of each dimension.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape)
    }

    /// The elements' NumPy type.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("numpy")?.call_method1("dtype", (self.memory.dtype.0,))
    }

    /// The number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// The number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.shape.iter().product()
    }

    /// The device whose memory it is.
    #[getter]
    fn device(&self) -> Device {
        self.memory.device.clone()
    }

    fn __len__(&self) -> PyResult<usize> {
        self.shape.first().copied().ok_or_else(|| PyTypeError::new_err("an array without directions has no length"))
    }

    fn __repr__(&self) -> String {
        let shape: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        format!("DeviceArray of {} {} on {}", shape.join(" x "), self.memory.dtype.0, self.memory.device.text())
    }

    /// Copies the elements into a NumPy array.
    ///
    /// Returns
    /// -------
    /// ndarray
    ///     A new array of the same shape and type.
    fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        fn downloaded<'py, T: Item>(py: Python<'py>, array: &DeviceArray) -> PyResult<Bound<'py, PyAny>> {
            let values = work::brief(py, || match T::of(&array.read()) {
                Some(buffer) => Ok(buffer.device().stream()?.download_vec(buffer)?),
                None => Ok(Vec::new()),
            })?;
            Ok(values.into_pyarray(py).into_any())
        }
        let values = of_type!(self.memory.dtype.0, downloaded(py, self))?;
        values.call_method1("reshape", (self.shape.clone(),))
    }

    /// A pickle has the elements and the device's name.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickle<'py>> {
        Ok((py.get_type::<Self>().into_any(), (self.numpy(py)?, self.memory.device.clone())))
    }

    /// NumPy's conversion protocol; copies as `numpy` does.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if copy == Some(false) {
            return Err(PyValueError::new_err("an array on a device can't become NumPy's without a copy"));
        }
        let array = self.numpy(py)?;
        match dtype {
            Some(dtype) => array.call_method1("astype", (dtype,)),
            None => Ok(array),
        }
    }

    /// The kind and number of its device, in DLPack's terms.
    fn __dlpack_device__(&self) -> (i32, i32) {
        match self.memory.device.device.ordinal() {
            Some(ordinal) => (dlpack::CUDA, ordinal as i32),
            None => (dlpack::CPU, 0),
        }
    }

    /// A capsule that shares the elements with another library.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // All work on the elements is done: no stream has to wait.
        _ = stream;
        if dl_device.is_some_and(|wanted| wanted != self.__dlpack_device__()) {
            return Err(PyBufferError::new_err("a DeviceArray is shared on its own device alone"));
        }
        let shared = if copy == Some(true) { self.copied(py)? } else { self.clone() };
        let Memory { dtype, read_only, .. } = *shared.memory;
        let place = dlpack::Place {
            address: shared.shared_address(),
            device: self.__dlpack_device__(),
            dtype: dtype.1,
            writable: read_only.is_none(),
            copied: copy == Some(true),
        };
        dlpack::capsule(py, &place, &shared.shape, shared.memory.clone(), max_version.is_some_and(|version| version.0 >= 1))
    }

    /// Numba's interface of arrays on a GPU.
    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        if self.memory.device.device.backend() == Backend::Cpu {
            return Err(PyAttributeError::new_err("the array is in the CPU's memory"));
        }
        let interface = PyDict::new(py);
        interface.set_item("shape", self.shape(py)?)?;
        interface.set_item("typestr", self.dtype(py)?.getattr("str")?)?;
        interface.set_item("data", (self.shared_address(), self.memory.read_only.is_some()))?;
        interface.set_item("version", 3)?;
        // No stream: all work is complete.
        interface.set_item("strides", py.None())?;
        interface.set_item("stream", py.None())?;
        Ok(interface)
    }
}

impl DeviceArray {
    fn copied(&self, py: Python<'_>) -> PyResult<Self> {
        fn copy<T: Item>(py: Python<'_>, array: &DeviceArray) -> PyResult<DeviceArray> {
            let new = work::brief(py, || {
                let stream = array.memory.device.device.stream()?;
                let mut new = kept::array(&array.memory.device, array.size())?;
                if let Some(buffer) = T::of(&array.read()) {
                    stream.copy(buffer, &mut new)?;
                }
                stream.synchronize()?;
                Ok(new)
            })?;
            Ok(DeviceArray::new::<T>(&array.memory.device, new, array.shape.clone()))
        }
        of_type!(self.memory.dtype.0, copy(py, self))
    }
}

/// Returns NumPy's name of the type of an array's elements.
pub fn dtype_of<'a>(array: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, str>> {
    Ok(match array.cast::<DeviceArray>() {
        Ok(array) => array.get().memory.dtype.0.into(),
        Err(_) => array.getattr("dtype")?.str()?.to_string().into(),
    })
}

/// Shares another library's array on a GPU as a DeviceArray. Returns None for arrays elsewhere.
#[pyfunction]
pub fn on_gpu(py: Python<'_>, array: &Bound<'_, PyAny>) -> PyResult<Option<DeviceArray>> {
    DeviceArray::on_gpu(py, array)
}

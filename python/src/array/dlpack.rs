//! DLPack: structures in memory (<https://dmlc.github.io/dlpack/latest/c_api.html>) that Python hands from one library
//! to another in capsules. A capsule is used once, and is then renamed; its user calls the structure's
//! deleter, once.

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;
use std::sync::Arc;
use std::{any::Any, slice};

use pyo3::{
    exceptions::{PyBufferError, PyTypeError, PyValueError},
    ffi,
    prelude::*,
    types::PyDict,
};

use super::Memory;

/// Kinds of devices.
pub const CPU: i32 = 1;
pub const CUDA: i32 = 2;
pub const CUDA_MANAGED: i32 = 13;
/// Handle of CUDA's legacy default stream.
pub const DEFAULT_STREAM: u64 = 1;
/// Codes of types.
pub const INT: u8 = 0;
pub const FLOAT: u8 = 2;
/// Flags of version 1.
const READ_ONLY: u64 = 1;
const COPIED: u64 = 2;

/// `DLTensor`.
#[repr(C)]
struct RawTensor {
    data: *mut c_void,
    device_kind: i32,
    device_number: i32,
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// `DLManagedTensor`, of version 0.
#[repr(C)]
struct Legacy {
    tensor: RawTensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Legacy)>,
}

/// `DLManagedTensorVersioned`, of version 1.
#[repr(C)]
struct Versioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    tensor: RawTensor,
}

/// One of the two structures that capsules hold.
trait Managed: Sized + 'static {
    /// The name of a capsule with it, and of one that has been used.
    const NAME: &CStr;
    const USED: &CStr;
    fn new(place: &Place, tensor: RawTensor) -> Self;
    fn tensor(&self) -> &RawTensor;
    fn writable(&self) -> bool;
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)>;
}

impl Managed for Legacy {
    const NAME: &CStr = c"dltensor";
    const USED: &CStr = c"used_dltensor";

    fn new(_: &Place, tensor: RawTensor) -> Self {
        Legacy { tensor, context: std::ptr::null_mut(), deleter: Some(delete) }
    }
    fn tensor(&self) -> &RawTensor {
        &self.tensor
    }
    fn writable(&self) -> bool {
        true
    }
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
        self.deleter
    }
}

impl Managed for Versioned {
    const NAME: &CStr = c"dltensor_versioned";
    const USED: &CStr = c"used_dltensor_versioned";

    fn new(place: &Place, tensor: RawTensor) -> Self {
        let flags = if place.writable { 0 } else { READ_ONLY } | if place.copied { COPIED } else { 0 };
        Versioned { major: 1, minor: 0, context: std::ptr::null_mut(), deleter: Some(delete), flags, tensor }
    }
    fn tensor(&self) -> &RawTensor {
        &self.tensor
    }
    fn writable(&self) -> bool {
        self.flags & READ_ONLY == 0
    }
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
        self.deleter
    }
}

/// An object that keeps another library's memory alive.
pub type Owner = Box<dyn Any + Send + Sync>;

/// Another library's structure. Dropping it calls the structure's deleter.
struct Taken<M: Managed>(NonNull<M>);

// SAFETY: the structure is only read, and DLPack lets its deleter be called on any thread.
unsafe impl<M: Managed> Send for Taken<M> {}
// SAFETY: a shared reference only reads the structure, which never changes.
unsafe impl<M: Managed> Sync for Taken<M> {}

impl<M: Managed> Taken<M> {
    /// Takes the structure out of a capsule, unless it is of another kind or has been used.
    fn of(capsule: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let (capsule, py) = (capsule.as_ptr(), capsule.py());
        // SAFETY: `capsule` is a Python object, which a name is asked of only where it is a capsule; the names are
        // constants.
        let found = unsafe {
            if ffi::PyCapsule_IsValid(capsule, M::NAME.as_ptr()) == 0 {
                return Ok(None);
            }
            let found = ffi::PyCapsule_GetPointer(capsule, M::NAME.as_ptr());
            if ffi::PyCapsule_SetName(capsule, M::USED.as_ptr()) != 0 {
                return Err(PyErr::fetch(py));
            }
            found
        };
        Ok(NonNull::new(found.cast()).map(Taken))
    }

    fn get(&self) -> &M {
        // SAFETY: the capsule's name says that it points to such a structure, which stays until its deleter is called.
        unsafe { self.0.as_ref() }
    }

    /// Checks the structure, and describes its array.
    fn describe(self) -> PyResult<Tensor> {
        let tensor = self.get().tensor();
        if tensor.lanes != 1 {
            return Err(PyTypeError::new_err(format!("an array of vectors of {} numbers", tensor.lanes)));
        }
        if tensor.ndim < 0 || (tensor.ndim > 0 && tensor.shape.is_null()) {
            return Err(PyValueError::new_err("an array without a shape"));
        }
        let sizes = |first: *const i64| match usize::try_from(tensor.ndim) {
            // SAFETY: by DLPack's rules, the number of sizes or strides is `ndim`, unless the pointer is null.
            Ok(count @ 1..) if !first.is_null() => unsafe { slice::from_raw_parts(first, count) },
            _ => &[],
        };
        let shape: Result<Vec<usize>, _> = sizes(tensor.shape).iter().map(|&size| usize::try_from(size)).collect();
        let shape = shape.map_err(|_| PyValueError::new_err("an array with a negative size"))?;
        let contiguous = tensor.strides.is_null() || is_contiguous(&shape, sizes(tensor.strides), 1);
        let address = (tensor.data.expose_provenance() as u64).wrapping_add(tensor.byte_offset);
        let (dtype, writable) = ((tensor.code, tensor.bits), self.get().writable());
        let device = (tensor.device_kind, tensor.device_number);
        Ok(Tensor { address, device, shape, contiguous, dtype, writable, owner: Box::new(self) })
    }
}

impl<M: Managed> Drop for Taken<M> {
    fn drop(&mut self) {
        if let Some(deleter) = self.get().deleter() {
            // Deleters of some libraries count references to Python's objects. When the interpreter is at its end,
            // nothing is freed any more.
            // SAFETY: the structure was taken from its capsule, and is deleted once, here.
            Python::try_attach(|_| unsafe { deleter(self.0.as_ptr()) });
        }
    }
}

/// Another library's array.
pub struct Tensor {
    pub address: u64,
    /// Kind and number.
    pub device: (i32, i32),
    pub shape: Vec<usize>,
    pub contiguous: bool,
    /// Code and bits.
    pub dtype: (u8, u8),
    pub writable: bool,
    pub owner: Owner,
}

impl Tensor {
    /// Takes the structure of an array's capsule. The other library makes the stream with this handle wait for the work
    /// that it has enqueued.
    pub fn take(array: &Bound<'_, PyAny>, stream: u64) -> PyResult<Self> {
        let py = array.py();
        let arguments = PyDict::new(py);
        arguments.set_item("stream", stream)?;
        let old = arguments.copy()?;
        arguments.set_item("max_version", (1, 0))?;
        let capsule = match array.call_method("__dlpack__", (), Some(&arguments)) {
            // For libraries that know only version 0.
            Err(error) if error.is_instance_of::<PyTypeError>(py) => array.call_method("__dlpack__", (), Some(&old)),
            given => given,
        }?;
        if let Some(taken) = Taken::<Versioned>::of(&capsule)? {
            let major = taken.get().major;
            if major != 1 {
                return Err(PyBufferError::new_err(format!("an array by version {major} of DLPack, not 1")));
            }
            return taken.describe();
        }
        let taken = Taken::<Legacy>::of(&capsule)?;
        taken.ok_or_else(|| PyTypeError::new_err("__dlpack__ gave no capsule, or one that has been used"))?.describe()
    }
}

/// Returns true if the elements are contiguous in C order. An element has `size` units of the strides. Without elements
/// strides mean nothing.
pub fn is_contiguous(shape: &[usize], strides: &[i64], size: i64) -> bool {
    if shape.contains(&0) {
        return true;
    }
    let mut expected = size;
    shape.len() == strides.len()
        && shape.iter().zip(strides).rev().all(|(&n, &stride)| {
            let next = n <= 1 || stride == expected;
            expected = expected.saturating_mul(n as i64);
            next
        })
}

/// The description of an array of this library.
pub struct Place {
    pub address: u64,
    pub device: (i32, i32),
    /// Code and bits.
    pub dtype: (u8, u8),
    pub writable: bool,
    pub copied: bool,
}

/// The target of this library's capsules: the structure, followed by the memory that it points to.
#[repr(C)]
struct Shared<M> {
    managed: M,
    _memory: Arc<Memory>,
    /// The shape, then the strides.
    _sizes: Vec<i64>,
}

/// Makes a capsule of version 1 or 0 for an array.
pub fn capsule<'py>(
    py: Python<'py>,
    place: &Place,
    shape: &[usize],
    memory: Arc<Memory>,
    versioned: bool,
) -> PyResult<Bound<'py, PyAny>> {
    match (versioned, place.writable) {
        (true, _) => share::<Versioned>(py, place, shape, memory),
        (false, true) => share::<Legacy>(py, place, shape, memory),
        (false, false) => Err(PyBufferError::new_err("version 0 of DLPack can't share an array that is read-only")),
    }
}

fn share<'py, M: Managed>(py: Python<'py>, place: &Place, shape: &[usize], memory: Arc<Memory>) -> PyResult<Bound<'py, PyAny>> {
    let mut sizes: Vec<i64> = shape.iter().map(|&size| size as i64).collect();
    sizes.extend((1..=shape.len()).map(|from| shape[from..].iter().product::<usize>() as i64));
    let (shape, strides) = sizes.split_at_mut(shape.len());
    let tensor = RawTensor {
        data: std::ptr::with_exposed_provenance_mut(place.address as usize),
        device_kind: place.device.0,
        device_number: place.device.1,
        ndim: shape.len() as i32,
        code: place.dtype.0,
        bits: place.dtype.1,
        lanes: 1,
        shape: shape.as_mut_ptr(),
        strides: strides.as_mut_ptr(),
        byte_offset: 0,
    };
    let shared = Shared { managed: M::new(place, tensor), _memory: memory, _sizes: sizes };
    let shared = Box::into_raw(Box::new(shared));
    // SAFETY: the pointer comes from a box. The capsule's destructor frees it, or the structure's deleter if the capsule
    // has been used.
    unsafe {
        let capsule = ffi::PyCapsule_New(shared.cast(), M::NAME.as_ptr(), Some(unused::<M>));
        Bound::from_owned_ptr_or_err(py, capsule).inspect_err(|_| drop(Box::from_raw(shared)))
    }
}

/// Deletes one of this library's structures.
///
/// # Safety
/// It was made by [`share`], and is deleted once.
unsafe extern "C" fn delete<M: Managed>(managed: *mut M) {
    // SAFETY: the structure is the first field of a box that `share` has given away, and is freed here alone.
    drop(unsafe { Box::from_raw(managed.cast::<Shared<M>>()) });
}

/// Destroys one of this library's capsules, with its structure unless that has been taken.
///
/// # Safety
/// Python calls it, with a capsule made by [`share`].
unsafe extern "C" fn unused<M: Managed>(capsule: *mut ffi::PyObject) {
    // SAFETY: it is a capsule; one that still has its first name has not been used, and its pointer is `share`'s.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, M::NAME.as_ptr()) != 0 {
            delete::<M>(ffi::PyCapsule_GetPointer(capsule, M::NAME.as_ptr()).cast());
        }
    }
}

//! Devices by their names.

use std::hash::{Hash, Hasher};

use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyString, PyTuple},
};
use warpsmith::device;

use crate::work;

/// A GPU or the CPU.
///
/// Parameters
/// ----------
/// name : str or Device, optional
///     ``"cuda:0"``, ``"cuda:1"`` ... (``"cuda"`` is the first), or ``"cpu"``. By default the best device: the
///     first GPU if there is one, otherwise the CPU, unless the environment variable ``WARPSMITH_BACKEND`` (``cuda`` or
///     ``cpu``) says otherwise.
///
/// Raises
/// ------
/// ValueError
///     If that is not the name of a device.
/// RuntimeError
///     If there is no such GPU; the text has the reason.
///
/// Examples
/// --------
/// >>> Device("cpu")
/// Device('cpu')
/// >>> Device("cpu") in devices()
/// True
#[pyclass(module = "warpsmith", frozen, eq, hash)]
#[derive(Clone)]
pub struct Device {
    pub device: device::Device,
}

impl PartialEq for Device {
    fn eq(&self, other: &Self) -> bool {
        self.device.ordinal() == other.device.ordinal()
    }
}

impl Hash for Device {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.device.ordinal().hash(state);
    }
}

/// Parses the name of a device.
enum Name {
    Best,
    Cuda(u32),
    Cpu,
}

impl Name {
    fn of(text: &str) -> PyResult<Self> {
        match text {
            "cpu" => Ok(Name::Cpu),
            "cuda" => Ok(Name::Cuda(0)),
            _ => match text.strip_prefix("cuda:").filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit())) {
                Some(digits) if let Ok(ordinal) = digits.parse() => Ok(Name::Cuda(ordinal)),
                _ => Err(PyValueError::new_err(format!(
                    "{text:?} is not a device: they are called \"cpu\", \"cuda:0\", \"cuda:1\" ..."
                ))),
            },
        }
    }
}

impl Device {
    fn open(py: Python<'_>, name: Name) -> PyResult<Self> {
        work::brief(py, || {
            let device = match name {
                Name::Cpu => device::Device::cpu(),
                Name::Cuda(ordinal) => device::Device::cuda(ordinal)?,
                Name::Best => device::Device::best()?,
            };
            Ok(Device { device })
        })
    }

    /// The GPU with this number.
    pub fn gpu(py: Python<'_>, ordinal: u32) -> PyResult<Self> {
        Device::open(py, Name::Cuda(ordinal))
    }

    /// The device's name in Python.
    pub fn text(&self) -> String {
        self.device.ordinal().map_or_else(|| "cpu".to_owned(), |ordinal| format!("cuda:{ordinal}"))
    }

    /// Converts an argument `device`: a device, a name, or nothing for the best device.
    pub fn of(py: Python<'_>, argument: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(argument) = argument else { return Device::open(py, Name::Best) };
        if let Ok(device) = argument.cast::<Device>() {
            Ok(device.get().clone())
        } else if let Ok(name) = argument.cast::<PyString>() {
            Device::open(py, Name::of(&name.to_cow()?)?)
        } else {
            let found = argument.get_type().qualname()?;
            Err(PyTypeError::new_err(format!("a device is a Device or its name, such as \"cuda:0\" or \"cpu\", not {found}")))
        }
    }

    /// Converts an argument as [`of`](Self::of) does; it may also be a list or a tuple of devices.
    pub fn several(py: Python<'_>, argument: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Self>> {
        match argument {
            Some(several) if several.is_instance_of::<pyo3::types::PyList>() || several.is_instance_of::<PyTuple>() => {
                several.try_iter()?.map(|one| Device::of(py, Some(&one?))).collect()
            }
            one => Ok(vec![Device::of(py, one)?]),
        }
    }
}

#[pymethods]
impl Device {
    #[new]
    #[pyo3(signature = (name=None, /))]
    fn new(py: Python<'_>, name: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        Device::of(py, name)
    }

    /// The GPU's name, or the processor's.
    #[getter]
    fn name(&self) -> &str {
        self.device.name()
    }

    /// The backend that runs the kernels: ``"cuda"`` or ``"cpu"``.
    #[getter]
    fn backend(&self) -> String {
        self.device.backend().to_string()
    }

    /// The GPU's number. None for the CPU.
    #[getter]
    fn ordinal(&self) -> Option<u32> {
        self.device.ordinal()
    }

    /// The number of the GPU's multiprocessors, or of the CPU's worker threads.
    #[getter]
    fn multiprocessors(&self) -> u32 {
        self.device.info().multiprocessors
    }

    /// The GPU's compute capability, such as (9, 0). None for the CPU.
    #[getter]
    fn compute_capability(&self) -> Option<(u32, u32)> {
        self.device.info().compute_capability
    }

    /// Free and total memory, in bytes.
    #[getter]
    fn memory(&self, py: Python<'_>) -> PyResult<(usize, usize)> {
        let memory = work::brief(py, || Ok(self.device.memory()?))?;
        Ok((memory.free, memory.total))
    }

    fn __str__(&self) -> String {
        self.text()
    }

    fn __repr__(&self) -> String {
        format!("Device('{}')", self.text())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyAny>, (String,)) {
        (py.get_type::<Self>().into_any(), (self.text(),))
    }
}

/// All devices: the GPUs, and the CPU last.
///
/// Returns
/// -------
/// list of Device
///
/// Examples
/// --------
/// >>> devices()[-1]
/// Device('cpu')
#[pyfunction]
pub fn devices(py: Python<'_>) -> PyResult<Vec<Device>> {
    let mut devices = work::brief(py, || {
        Ok(device::Device::all_cuda().unwrap_or_default().into_iter().map(|device| Device { device }).collect::<Vec<_>>())
    })?;
    devices.push(Device::open(py, Name::Cpu)?);
    Ok(devices)
}

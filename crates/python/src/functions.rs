//! Functions of mathematics that NumPy lacks, for expressions.

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;

use crate::errors::raise;

/// Values of a function, exact to the last digits of a double: of `erf`, `erfc`, `lgamma` or `tgamma`. Replaces the
/// arguments.
#[pyfunction]
pub(crate) fn special(py: Python<'_>, name: &str, values: PyBuffer<f64>) -> PyResult<()> {
    let function = match name {
        "erf" => libm::erf,
        "erfc" => libm::erfc,
        "lgamma" => libm::lgamma,
        "tgamma" => libm::tgamma,
        _ => return Err(raise(sapwood::Error::not_found(format!("there is no function {name:?}")))),
    };
    let mut numbers = values.to_vec(py)?;
    py.detach(|| numbers.iter_mut().for_each(|number| *number = function(*number)));
    values.copy_from_slice(py, &numbers)
}

//! The error of a read that its receiver stopped.

use sapwood::{Error, ErrorKind};

pub(crate) fn stopped() -> Error {
    Error::new(ErrorKind::Cancelled, "the receiver stopped the read")
}

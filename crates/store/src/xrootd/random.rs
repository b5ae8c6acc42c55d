//! The system's random numbers.

use ring::rand::{SecureRandom, SystemRandom};
use sapwood::{Error, ErrorKind, Result};

/// Fills with random bytes.
pub(super) fn fill(bytes: &mut [u8]) -> Result<()> {
    SystemRandom::new().fill(bytes).map_err(|_| Error::new(ErrorKind::Io, "the system has no random numbers"))
}

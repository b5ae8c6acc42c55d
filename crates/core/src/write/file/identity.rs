//! Dates and UUIDs of the file.

use twox_hash::XxHash3_64;

use crate::container::datime;
use crate::write::file::state::Output;

impl Output {
    pub(crate) fn now(&self) -> u32 {
        if self.options.reproducible { datime(0) } else { datime(seconds()) }
    }

    pub(crate) fn uuid(&self) -> [u8; 16] {
        if self.options.reproducible { [0; 16] } else { new_uuid() }
    }

    /// The UUID of the process whose objects references name, as ROOT spells it. References of files that are merged
    /// are told apart by it: where bytes are to be the same each time, it follows from the name of the file.
    pub(crate) fn process_uuid(&self) -> String {
        let uuid = match self.options.reproducible {
            true => {
                let name = self.name.rsplit('/').next().unwrap_or_default();
                let halves = [0, 1].map(|seed| XxHash3_64::oneshot_with_seed(seed, name.as_bytes()));
                u128::from(halves[0]) << 64 | u128::from(halves[1])
            }
            false => u128::from_be_bytes(new_uuid()),
        };
        let mut text = format!("{uuid:032x}");
        [20, 16, 12, 8].into_iter().for_each(|at| text.insert(at, '-'));
        text
    }
}

/// Seconds since 1970.
fn seconds() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// A random UUID (RFC 9562, version 4).
fn new_uuid() -> [u8; 16] {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let mut uuid = [0; 16];
    for half in uuid.chunks_mut(8) {
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u64(seconds());
        hasher.write_u32(std::process::id());
        half.copy_from_slice(&hasher.finish().to_be_bytes());
    }
    uuid[6] = uuid[6] & 0x0f | 0x40;
    uuid[8] = uuid[8] & 0x3f | 0x80;
    uuid
}

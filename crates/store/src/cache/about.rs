//! What is known of the copy of a whole file: of which state of the file it is, and the checksums of its parts.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use twox_hash::XxHash64;

use super::state::State;

/// What has a checksum, and is written in one call.
pub(crate) const PART_BYTES: u64 = 4 << 20;
/// A description of a longer file is not accepted: a petabyte has 4 GB of them.
const MOST_ABOUT: u64 = 64 << 20;

/// What is known of a file that is kept: its state, and the checksums of its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct About {
    pub(crate) state: State,
    pub(crate) sums: Vec<u64>,
}

impl About {
    /// As a file; none where the state has no text.
    pub(crate) fn pack(&self) -> Option<String> {
        let mut text = self.state.text()?;
        for sum in &self.sums {
            let _ = writeln!(text, "{sum:016x}"); // to memory
        }
        let of_all = XxHash64::oneshot(0, text.as_bytes());
        let _ = writeln!(text, "{of_all:016x}");
        Some(text)
    }

    fn unpack(text: &str) -> Option<Self> {
        let at = text.match_indices('\n').nth(2)?.0 + 1;
        let state = State::parse(text.get(..at)?)?;
        let mut sums = Vec::new();
        for line in text.get(at..)?.lines() {
            sums.push(u64::from_str_radix(line, 16).ok()?);
        }
        sums.pop()?;
        let about = Self { state, sums };
        (about.pack().as_deref() == Some(text) && about.sums.len() as u64 == about.state.len.div_ceil(PART_BYTES))
            .then_some(about)
    }

    /// What a file of this kind says; nothing of one that is damaged.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let mut text = String::new();
        File::open(path).ok()?.take(MOST_ABOUT).read_to_string(&mut text).ok()?;
        Self::unpack(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_that_is_damaged_is_none() {
        let state = State { name: "a".into(), len: PART_BYTES + 1, proof: "v:x".into() };
        let about = About { state, sums: vec![1, 2] };
        let text = about.pack().unwrap();
        assert_eq!(About::unpack(&text), Some(about.clone()));
        for at in 0..text.len() {
            let mut wrong = text.clone().into_bytes();
            wrong[at] ^= 1;
            assert_eq!(About::unpack(&String::from_utf8_lossy(&wrong)), None, "byte {at}");
            assert_eq!(About::unpack(&text[..at]), None, "{at} bytes");
        }
        let few = About { sums: vec![1], ..about };
        assert_eq!(About::unpack(&few.pack().unwrap()), None);
    }
}

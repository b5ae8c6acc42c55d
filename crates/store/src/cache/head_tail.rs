//! Both ends of a file as they were, so that a file that is known opens with one cheap request.

use std::fs::File;
use std::io::Read;

use bytes::Bytes;
use sapwood::io::{Ends, Store};
use sapwood::{Error, ErrorKind, Result};
use twox_hash::XxHash64;

use super::folder::Folder;
use super::state::{PROOF_HEAD, PROOF_TAIL, State};

/// Longer ends are not kept: blocks are for that.
const MOST_BYTES: usize = 1 << 20;
const MAGIC: &[u8; 8] = b"SWENDS_1";

/// Ends, and of which state.
#[derive(Clone, Debug)]
pub(crate) struct KeptEnds {
    pub(crate) state: State,
    head: Bytes,
    tail: Bytes,
}

impl KeptEnds {
    pub(crate) fn new(state: State, ends: &Ends) -> Self {
        Self { state, head: ends.head.clone(), tail: ends.tail.clone() }
    }

    /// What `head` and `tail` bytes of it are, if so many are kept.
    pub(crate) fn cut(&self, head: usize, tail: usize) -> Option<(Bytes, Bytes)> {
        let all = usize::try_from(self.state.len).unwrap_or(usize::MAX);
        let (head, tail) = (head.min(all), tail.min(all));
        let at = self.tail.len().checked_sub(tail)?;
        (head <= self.head.len()).then(|| (self.head.slice(..head), self.tail.slice(at..)))
    }

    /// As a file.
    fn pack(&self) -> Option<Vec<u8>> {
        let text = self.state.text()?;
        if self.head.len() + self.tail.len() > MOST_BYTES {
            return None;
        }
        let mut body = Vec::new();
        for part in [text.as_bytes(), &self.head, &self.tail] {
            body.extend_from_slice(&u32::try_from(part.len()).ok()?.to_le_bytes());
            body.extend_from_slice(part);
        }
        let mut packed = MAGIC.to_vec();
        packed.extend_from_slice(&XxHash64::oneshot(0, &body).to_le_bytes());
        packed.extend_from_slice(&body);
        Some(packed)
    }

    /// Reads what [`pack`](Self::pack) gave; none of what is damaged.
    fn unpack(packed: &[u8]) -> Option<Self> {
        let (sum, mut rest) = packed.strip_prefix(MAGIC)?.split_first_chunk::<8>()?;
        if XxHash64::oneshot(0, rest) != u64::from_le_bytes(*sum) {
            return None;
        }
        let mut part = || {
            let (length, behind) = rest.split_first_chunk::<4>()?;
            let (part, behind) = behind.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
            rest = behind;
            Some(part)
        };
        let state = State::parse(std::str::from_utf8(part()?).ok()?)?;
        Some(Self { state, head: Bytes::copy_from_slice(part()?), tail: Bytes::copy_from_slice(part()?) })
    }

    /// What a file of ends holds.
    pub(crate) fn read(mut file: impl Read) -> Option<Self> {
        let mut packed = Vec::new();
        file.by_ref().take(2 * MOST_BYTES as u64).read_to_end(&mut packed).ok()?;
        Self::unpack(&packed)
    }
}

/// What a remote file is now, and its ends, in one round trip; cheap where it is known and did not change. `known` is
/// what is known, and becomes what is known now.
///
/// A server that names the state of its file (an ETag, a time) is asked for that alone. Where it does not, as much of
/// the ends is read as opening a ROOT file takes, and compared.
pub(crate) fn look(
    inner: &dyn Store,
    folder: &Folder,
    name: &str,
    known: &mut Option<KeptEnds>,
    head: usize,
    tail: usize,
) -> Result<(Ends, State)> {
    let path = folder.of_name(name).join("ends");
    if known.is_none() && folder.is_usable() {
        *known = File::open(&path).ok().and_then(KeptEnds::read).filter(|kept| kept.state.name == name);
    }
    if let Some(kept) = known.as_ref().filter(|kept| kept.state.is_named())
        && let Some((head, tail)) = kept.cut(head, tail)
    {
        let identity = inner.ends(0, 0)?.identity;
        let state = State::named(name, &identity);
        if let Some(state) = state.filter(|state| *state == kept.state) {
            return Ok((Ends { identity, head, tail }, state));
        }
    }
    let found = inner.ends(head.max(PROOF_HEAD), tail.max(PROOF_TAIL))?;
    let state = State::of(name, &found);
    let kept = KeptEnds::new(state.clone(), &found);
    let is_new = known.as_ref().is_none_or(|known| {
        known.state != state || known.head.len() < kept.head.len() || known.tail.len() < kept.tail.len()
    });
    if is_new && let Some(packed) = kept.pack() {
        // A header, a folder entry: what small files take.
        if folder.admit(packed.len() as u64 + 8192)
            && let Err(error) = folder.replace(&path, &packed)
        {
            folder.stop_writing("nothing more is kept", &error);
        }
        *known = Some(kept.clone());
    }
    let short = || Error::new(ErrorKind::Io, "the store gave other ends than were asked for");
    let (head, tail) = kept.cut(head, tail).ok_or_else(short)?;
    Ok((Ends { identity: found.identity, head, tail }, state))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_copies_are_not_used() {
        let state = State { name: "a".into(), len: 100, proof: "v:x".into() };
        let kept = KeptEnds { state, head: Bytes::from("head"), tail: Bytes::from("the tail") };
        let packed = kept.pack().unwrap();
        let again = KeptEnds::unpack(&packed).unwrap();
        assert_eq!((again.state, again.head, again.tail), (kept.state.clone(), kept.head.clone(), kept.tail.clone()));
        for at in 0..packed.len() {
            let mut wrong = packed.clone();
            wrong[at] ^= 1;
            assert!(KeptEnds::unpack(&wrong).is_none(), "byte {at}");
            assert!(KeptEnds::unpack(&packed[..at]).is_none(), "{at} bytes");
        }
        assert_eq!(kept.cut(2, 3), Some((Bytes::from("he"), Bytes::from("ail"))));
        assert_eq!((kept.cut(5, 0), kept.cut(0, 9)), (None, None));
        let short = KeptEnds { state: State { len: 4, ..kept.state.clone() }, ..kept };
        assert!(short.cut(usize::MAX, 4).is_some());
    }
}

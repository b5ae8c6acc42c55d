//! Messages of the handshake: the name of the protocol, a step, and buckets, each with a kind, a length and bytes.
//!
//! Source: `XrdSutBuffer` of XRootD.

use crate::xrootd::wire::Broken;

/// Messages with more buckets are refused; servers send six.
const MAX_BUCKETS: usize = 32;
const NAME: &[u8] = b"gsi\0";
/// The kind that ends a message.
const END: u32 = 0;
/// The kind of buckets without meaning.
const INACTIVE: u32 = 1;

/// Content of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Kind {
    CryptoModule = 3000,
    /// A message in the message, encrypted once there is a key.
    Main = 3001,
    PublicKey = 3004,
    /// Signed parameters and public part of the key agreement.
    Agreement = 3005,
    /// Bytes to be signed by the other side.
    Tag = 3006,
    SignedTag = 3007,
    /// Words for the user.
    Words = 3011,
    Version = 3014,
    Options = 3019,
    Certificates = 3022,
    IssuerHash = 3023,
    Ciphers = 3025,
    Digests = 3026,
}

/// One message.
#[derive(Debug, Default)]
pub(super) struct Message {
    pub(super) step: u32,
    buckets: Vec<(u32, Vec<u8>)>,
}

impl Message {
    pub(super) fn new(step: u32) -> Self {
        Self { step, buckets: Vec::new() }
    }

    /// Reads a message whose lengths may lie.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Broken> {
        const SHORT: Broken = Broken("a message of gsi that is cut off");
        let rest = bytes.strip_prefix(NAME).ok_or(Broken("a message of gsi under another name"))?;
        let (step, mut rest) = number(rest).ok_or(SHORT)?;
        let mut message = Self::new(step);
        loop {
            let (kind, behind) = number(rest).ok_or(SHORT)?;
            if kind == END {
                return Ok(message);
            }
            if message.buckets.len() == MAX_BUCKETS {
                return Err(Broken("a message of gsi with too many buckets"));
            }
            let (length, behind) = number(behind).ok_or(SHORT)?;
            let length = usize::try_from(length).map_err(|_| SHORT)?;
            let (bucket, behind) = behind.split_at_checked(length).ok_or(SHORT)?;
            if kind != INACTIVE {
                message.buckets.push((kind, bucket.to_vec()));
            }
            rest = behind;
        }
    }

    /// The bytes that go over the wire.
    pub(super) fn write(&self) -> Vec<u8> {
        let mut bytes = NAME.to_vec();
        bytes.extend(self.step.to_be_bytes());
        for (kind, bucket) in &self.buckets {
            bytes.extend(kind.to_be_bytes());
            // A chain of certificates is the longest; files of them are bounded.
            bytes.extend(u32::try_from(bucket.len()).unwrap_or(0).to_be_bytes());
            bytes.extend(bucket);
        }
        bytes.extend(END.to_be_bytes());
        bytes
    }

    /// The first bucket of a kind.
    pub(super) fn get(&self, kind: Kind) -> Option<&[u8]> {
        self.buckets.iter().find(|(one, _)| *one == kind as u32).map(|(_, bytes)| bytes.as_slice())
    }

    pub(super) fn with(mut self, kind: Kind, bytes: impl Into<Vec<u8>>) -> Self {
        self.buckets.push((kind as u32, bytes.into()));
        self
    }
}

fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    bytes.split_first_chunk::<4>().map(|(number, rest)| (u32::from_be_bytes(*number), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let bytes = Message::new(1000).with(Kind::Tag, *b"abcd").with(Kind::Options, [0; 4]).write();
        assert_eq!(bytes, b"gsi\0\0\0\x03\xE8\0\0\x0B\xBE\0\0\0\x04abcd\0\0\x0B\xCB\0\0\0\x04\0\0\0\0\0\0\0\0");
        let message = Message::read(&bytes).unwrap();
        assert_eq!(message.step, 1000);
        assert_eq!((message.get(Kind::Tag), message.get(Kind::Main)), (Some(&b"abcd"[..]), None));
        // Bytes after the end are ignored; inactive buckets are left out.
        let bytes = b"gsi\0\0\0\x07\xD1\0\0\0\x01\0\0\0\x02xx\0\0\x0B\xBE\0\0\0\x01z\0\0\0\0more";
        let message = Message::read(bytes).unwrap();
        assert_eq!((message.step, message.buckets.len(), message.get(Kind::Tag)), (2001, 1, Some(&b"z"[..])));
    }

    #[test]
    fn lies_are_errors() {
        let whole = Message::new(2001).with(Kind::Tag, *b"abcdefgh").with(Kind::Main, [7; 30]).write();
        for end in 0..whole.len() {
            assert!(Message::read(&whole[..end]).is_err(), "{end}");
        }
        for length in [13_u32, 0x7FFF_FFFF, 0x8000_0000, u32::MAX] {
            let mut lies = whole.clone();
            lies[12..16].copy_from_slice(&length.to_be_bytes());
            assert!(Message::read(&lies).is_err(), "{length}");
        }
        assert!(Message::read(b"pwd\0\0\0\x07\xD1\0\0\0\0").is_err());
        let many = (0..33).fold(Message::new(1), |message, _| message.with(Kind::Tag, []));
        assert!(Message::read(&many.write()).is_err());
    }
}

//! Free segments: the holes of a file.
//!
//! Source: `TFree::ReadBuffer`.

use crate::error::Result;
use crate::wire::{Reader, Writer};

/// `TFree`: bytes `first..=last` are free. The last segment of a list reaches beyond the end of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Free {
    /// First free byte.
    pub first: u64,
    /// Last free byte, inclusive.
    pub last: u64,
}

impl Free {
    /// Reads the payload of the record of free segments.
    pub(crate) fn read_list(payload: &[u8]) -> Result<Vec<Self>> {
        let mut reader = Reader::new(payload);
        let mut list = Vec::new();
        // ROOT leaves zeros behind the last segment where the list became shorter while it was written.
        while payload.get(reader.at()..).is_some_and(|rest| rest.iter().any(|&byte| byte != 0)) {
            let (first, last) = if reader.i16()? > 1000 {
                (reader.u64()?, reader.u64()?)
            } else {
                (u64::from(reader.u32()?), u64::from(reader.u32()?))
            };
            list.push(Self { first, last });
        }
        Ok(list)
    }

    /// The payload of the record of free segments.
    pub(crate) fn write_list(list: &[Self]) -> Vec<u8> {
        let mut writer = Writer::default();
        for free in list {
            if free.last > super::BIG_FILE {
                writer.i16(1001);
                writer.u64(free.first);
                writer.u64(free.last);
            } else {
                writer.i16(1);
                writer.u32(free.first as u32);
                writer.u32(free.last as u32);
            }
        }
        writer.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_ends_within_a_segment_is_an_error() {
        let list = [Free { first: 100, last: 200 }, Free { first: 300, last: 5_000_000_000 }];
        let mut bytes = Free::write_list(&list);
        assert_eq!(Free::read_list(&bytes).unwrap(), list);
        assert!(Free::read_list(&bytes[..bytes.len() - 1]).is_err());
        bytes.extend([0; 13]);
        assert_eq!(Free::read_list(&bytes).unwrap(), list);
    }
}

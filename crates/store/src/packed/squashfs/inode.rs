//! Inodes: what a path names.

use sapwood::{Error, Result};

use super::image::Image;
use super::metadata::Cursor;

/// The index of a fragment where a file has none.
const NO_FRAGMENT: u32 = u32::MAX;

/// A directory: where its listing is.
#[derive(Debug)]
pub(super) struct Directory {
    /// Bytes into the table of directories.
    pub(super) block: u64,
    pub(super) offset: usize,
    /// Of the listing.
    pub(super) bytes: u32,
}

/// A regular file. Its list of blocks is what the cursor reads next.
pub(super) struct Regular<'a> {
    pub(super) bytes: u64,
    /// Where its first block is stored.
    pub(super) start: u64,
    /// Fragment block, and where in it the end of the file is.
    pub(super) fragment: Option<(u32, u32)>,
    pub(super) blocks: Cursor<'a>,
}

/// An inode that a path leads through or to.
pub(super) enum Inode<'a> {
    Directory(Directory),
    Regular(Box<Regular<'a>>),
    /// A symbolic link, and where it leads.
    Link(Vec<u8>),
    /// A device, a pipe, a socket.
    Other,
}

impl<'a> Inode<'a> {
    /// Reads the inode of a reference: block in the upper bytes, offset in the lower two.
    pub(super) fn read(image: &'a Image<'a>, reference: u64) -> Result<Self> {
        let mut cursor = Cursor::new(image, &image.inodes, reference >> 16, (reference & 0xFFFF) as usize)?;
        let at = cursor.offset();
        let kind = cursor.u16()?;
        cursor.take::<14>()?; // permissions, owners, time, number
        Ok(match kind {
            1 => {
                let block = cursor.u32()?;
                cursor.u32()?; // links
                let bytes = cursor.u16()?;
                Self::Directory(Directory { block: block.into(), offset: cursor.u16()?.into(), bytes: bytes.into() })
            }
            8 => {
                cursor.u32()?;
                let (bytes, block) = (cursor.u32()?, cursor.u32()?);
                cursor.take::<6>()?; // the parent, and how long an index for long listings is
                Self::Directory(Directory { block: block.into(), offset: cursor.u16()?.into(), bytes })
            }
            2 => {
                let (start, fragment, offset) = (cursor.u32()?, cursor.u32()?, cursor.u32()?);
                Self::regular(cursor.u32()?.into(), start.into(), (fragment, offset), cursor)
            }
            9 => {
                let (start, bytes) = (cursor.u64()?, cursor.u64()?);
                cursor.take::<12>()?; // holes, links
                let (fragment, offset) = (cursor.u32()?, cursor.u32()?);
                cursor.u32()?;
                Self::regular(bytes, start, (fragment, offset), cursor)
            }
            3 | 10 => {
                cursor.u32()?;
                let bytes = cursor.u32()?;
                let short = u16::try_from(bytes);
                let short =
                    short.map_err(|_| Error::limit("the target of a link is too long", 0xFFFF, bytes.into()))?;
                Self::Link(cursor.text(short)?)
            }
            4..=7 | 11..=14 => Self::Other,
            other => {
                let error = Error::malformed("an inode is of a kind that there is not");
                return Err(error.at(at).wanted(14, other.into()));
            }
        })
    }

    fn regular(bytes: u64, start: u64, (fragment, offset): (u32, u32), blocks: Cursor<'a>) -> Self {
        let fragment = (fragment != NO_FRAGMENT).then_some((fragment, offset));
        Self::Regular(Box::new(Regular { bytes, start, fragment, blocks }))
    }
}

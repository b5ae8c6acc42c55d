//! SquashFS images: a file's blocks, compressed one by one. Version 4, as Linux and `mksquashfs` have it.
//!
//! Read are the superblock, the inodes and directories on the way to one file, and the list of its blocks; no more of
//! the image, and nothing of it as a whole.

mod directory;
mod file;
mod image;
mod inode;
mod metadata;

use sapwood::io::{Ends, Store};
use sapwood::{Error, Result};

use self::file::FileBlocks;
use self::image::Image;
use super::blocks::Content;

pub(super) use self::image::{HEAD_BYTES, TAIL_BYTES};

/// Finds the file at `path` in an image.
pub(super) fn open(inner: &dyn Store, ends: &Ends, path: &str) -> Result<Content> {
    let image = Image::new(inner, ends)?;
    let file = directory::find(&image, path).map_err(|error| match error.place().object {
        Some(_) => error,
        None => error.in_object(path),
    })?;
    let blocks = FileBlocks::new(&image, *file).map_err(|error: Error| error.in_object(path))?;
    Ok(Content::Blocks(Box::new(blocks)))
}

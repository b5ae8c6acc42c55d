//! Directories: from a path to the file that it names.

use std::collections::VecDeque;

use sapwood::{Error, Result};

use super::image::Image;
use super::inode::{Directory, Inode, Regular};
use super::metadata::Cursor;

/// Links on the way to a file, as many as Linux follows.
const MOST_LINKS: usize = 40;
/// Names on the way, with those of links.
const MOST_NAMES: usize = 1_000;
/// Names that an error shows.
const MOST_SHOWN: usize = 5;

/// The file at a path. Links are followed, as far as they stay within the image.
pub(super) fn find<'a>(image: &'a Image<'a>, path: &str) -> Result<Box<Regular<'a>>> {
    let mut rest: VecDeque<Vec<u8>> = names(path.as_bytes()).collect();
    // The directories on the way, so that `..` in links finds back.
    let mut way: Vec<u64> = vec![image.root];
    let (mut links, mut count) = (0, 0);
    loop {
        let top = way.last().copied().unwrap_or(image.root);
        let inode = Inode::read(image, top)?;
        let directory = match (inode, rest.pop_front()) {
            (Inode::Regular(file), None) => return Ok(file),
            (Inode::Directory(_), None) => return Err(Error::mismatch("it is a directory; name a file in it")),
            (Inode::Other | Inode::Link(_), None) => return Err(Error::mismatch("it is no plain file")),
            (Inode::Directory(directory), Some(name)) => {
                rest.push_front(name);
                directory
            }
            (_, Some(name)) => {
                let words = format!("{:?} is looked for in what is no directory", String::from_utf8_lossy(&name));
                return Err(Error::not_found(words));
            }
        };
        let Some(name) = rest.pop_front() else { continue };
        count += 1;
        if count > MOST_NAMES {
            return Err(Error::limit("a path has too many names", MOST_NAMES as u64, count as u64));
        }
        if name == b".." {
            if way.len() > 1 {
                way.pop();
            }
            continue;
        }
        let found = look_up(image, &directory, &name)?;
        match Inode::read(image, found)? {
            Inode::Link(target) => {
                links += 1;
                if links > MOST_LINKS {
                    return Err(Error::malformed("symbolic links lead to each other"));
                }
                if target.first() == Some(&b'/') {
                    way.truncate(1);
                }
                for name in names(&target).collect::<Vec<_>>().into_iter().rev() {
                    rest.push_front(name);
                }
            }
            _ => way.push(found),
        }
    }
}

/// The names of a path.
fn names(path: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    path.split(|byte| *byte == b'/').filter(|name| !name.is_empty() && *name != b".").map(<[u8]>::to_vec)
}

/// The inode of a name in a directory.
fn look_up(image: &Image<'_>, directory: &Directory, wanted: &[u8]) -> Result<u64> {
    // The listing's length counts `.` and `..`, which it does not have.
    let mut left = u64::from(directory.bytes).saturating_sub(3);
    let mut shown = Vec::new();
    if left > 0 {
        let mut cursor = Cursor::new(image, &image.directories, directory.block, directory.offset)?;
        while left > 0 {
            let at = cursor.offset();
            // A header has one less than its number of entries.
            let (count, block) = (u64::from(cursor.u32()?) + 1, cursor.u32()?);
            cursor.u32()?;
            left = shorter(left, 12, at)?;
            if count > 256 {
                return Err(Error::malformed("a directory has too many entries in one run").at(at).wanted(256, count));
            }
            for _ in 0..count {
                let offset = cursor.u16()?;
                cursor.take::<4>()?; // number, kind
                let length = cursor.u16()?.saturating_add(1);
                let name = cursor.text(length)?;
                left = shorter(left, 8 + u64::from(length), at)?;
                if name == wanted {
                    return Ok(u64::from(block) << 16 | u64::from(offset));
                }
                if shown.len() < MOST_SHOWN {
                    shown.push(format!("{:?}", String::from_utf8_lossy(&name)));
                }
            }
        }
    }
    let hint = if shown.is_empty() { "it is empty".to_owned() } else { format!("it begins with {}", shown.join(", ")) };
    let words = format!("there is no {:?} in its directory; {hint}", String::from_utf8_lossy(wanted));
    Err(Error::not_found(words))
}

/// What is left of a listing.
fn shorter(left: u64, bytes: u64, at: u64) -> Result<u64> {
    let wrong = || Error::malformed("a directory ends within an entry").at(at).wanted(left, bytes);
    left.checked_sub(bytes).ok_or_else(wrong)
}

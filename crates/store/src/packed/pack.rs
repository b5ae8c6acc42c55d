//! Writes the seekable format of zstd, and gives files back.

use std::cell::RefCell;
use std::io::IoSlice;
use std::path::Path;

use bytes::Bytes;
use sapwood::container::Header;
use sapwood::io::{AtomicFile, LocalFile, Sink, Store, load};
use sapwood::{Error, ErrorKind, MOST_THREADS, Result};
use zstd::zstd_safe::{CCtx, CParameter, compress_bound, get_error_name};

use super::blocks::in_parallel;
use super::seekable::{FOOTER_MAGIC, HAS_CHECKSUMS, MOST_FRAMES, TABLE_MAGIC};
use crate::redact;

/// Blocks from here to [`MOST_BLOCK_BYTES`] are written.
const LEAST_BLOCK_BYTES: usize = 1 << 10;
const MOST_BLOCK_BYTES: usize = 64 << 20;
/// Levels of zstd.
const LEVELS: std::ops::RangeInclusive<i32> = 1..=22;
/// Read, compressed and written at a time, or one block for each thread.
const STEP_BYTES: usize = 8 << 20;

/// How a file is packed.
///
/// # Example
///
/// ```
/// use sapwood_store::PackOptions;
/// let small = PackOptions { block_bytes: 16 << 10, level: 9, ..PackOptions::default() };
/// assert_eq!(small.threads, 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackOptions {
    /// Bytes of a block before it is compressed: what reading one byte costs. From 1 KiB to 64 MiB.
    pub block_bytes: usize,
    /// Level of zstd, 1 to 22. (Levels of ROOT are half of these.)
    pub level: i32,
    /// Threads that compress; 0 for all cores.
    pub threads: usize,
    /// Whether a file that is there is replaced.
    pub replaces: bool,
}

impl Default for PackOptions {
    fn default() -> Self {
        Self { block_bytes: 64 << 10, level: 5, threads: 0, replaces: false }
    }
}

/// What packing brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackReport {
    /// Bytes of the file.
    pub bytes: u64,
    /// Bytes of the packed file.
    pub packed_bytes: u64,
    /// Blocks in it.
    pub blocks: u64,
    /// Whether it is a ROOT file that is compressed inside, so that it became little shorter: by less than a tenth, or
    /// by less than half where its setting says so.
    pub is_compressed_inside: bool,
}

impl PackReport {
    /// What to do where packing gained little: the file `name` is to be written without compression first.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood_store::PackReport;
    /// let report = PackReport { bytes: 1000, packed_bytes: 990, blocks: 1, is_compressed_inside: true };
    /// assert_eq!(
    ///     report.advice("x.root").unwrap(),
    ///     "packing x.root gained 1.0 %: it is compressed inside. Write it without compression, and pack that: \
    ///      sapwood rewrite x.root plain.root --compression zlib:0"
    /// );
    /// ```
    pub fn advice(&self, name: &str) -> Option<String> {
        let name = &*redact(name);
        let gained = 100. - 100. * self.packed_bytes as f64 / self.bytes.max(1) as f64;
        self.is_compressed_inside.then(|| {
            format!(
                "packing {name} gained {gained:.1} %: it is compressed inside. Write it without compression, and pack \
                 that: sapwood rewrite {} plain.root --compression zlib:0",
                quoted(name)
            )
        })
    }
}

/// A name as a shell takes it.
fn quoted(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "%+,-./:=@_".contains(c);
    match !name.is_empty() && !name.starts_with('-') && name.chars().all(is_plain) {
        true => name.to_owned(),
        false => format!("'{}'", name.replace('\'', "'\\''")),
    }
}

/// Writes the content of `from` to a file in the seekable format of zstd. It has its name only once it is complete.
/// Memory is bounded: some blocks for each thread, and twelve bytes for each block.
///
/// # Errors
///
/// [`Mismatch`](ErrorKind::Mismatch) for impossible options; [`Exists`](ErrorKind::Exists) where a file would have to
/// be replaced; what reading and writing report.
///
/// # Example
///
/// ```
/// # let (path, back) = (sapwood_testkit::scratch("plain.root.zst"), sapwood_testkit::scratch("back.root"));
/// use sapwood::io::LocalFile;
/// use sapwood_store::{PackOptions, PackedStore, pack, unpack};
/// let plain = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/data/plain.root");
/// let report = pack(&LocalFile::open(plain)?, &path, &PackOptions::default())?;
/// assert!(report.packed_bytes < report.bytes);
///
/// unpack(&PackedStore::seekable(LocalFile::open(&path)?), &back, false)?;
/// assert_eq!(std::fs::read(&back)?, std::fs::read(plain)?);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn pack(from: &dyn Store, to: impl AsRef<Path>, options: &PackOptions) -> Result<PackReport> {
    check(options)?;
    let identity = from.ends(0, 0)?.identity;
    let (bytes, block_bytes) = (identity.len, options.block_bytes as u64);
    let blocks = bytes.div_ceil(block_bytes);
    if blocks > MOST_FRAMES {
        let error = Error::limit("the file has too many blocks of this length: make them longer", MOST_FRAMES, blocks);
        return Err(error.in_file(identity.name));
    }
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads.min(MOST_THREADS),
    };
    refuse_input(&identity.name, to.as_ref())?;
    let staged = AtomicFile::new(&to, options.replaces)?;
    let sink = LocalFile::create(staged.path())?;
    let (mut at, mut table) = (0_u64, Vec::new());
    let step = block_bytes.saturating_mul((STEP_BYTES / options.block_bytes).max(threads) as u64);
    let mut start = 0;
    // The setting of the file: that of its trees, unless they have their own.
    let mut setting = None;
    while start < bytes {
        let end = bytes.min(start.saturating_add(step));
        let plain = load(from, &[start..end])?.pop().unwrap_or_default();
        if start == 0 {
            setting = Header::read(&plain).ok().map(|header| header.compress);
        }
        let blocks: Vec<&[u8]> = plain.chunks(options.block_bytes).collect();
        let packed = in_parallel(&blocks, threads, |block| compress(block, options.level))?;
        sink.write_at(at, &packed.iter().map(|frame| IoSlice::new(frame)).collect::<Vec<_>>())?;
        for (block, frame) in blocks.iter().zip(&packed) {
            table.push((frame.len() as u32, block.len() as u32, twox_hash::XxHash64::oneshot(0, block) as u32));
            at += frame.len() as u64;
        }
        start = end;
    }
    let table = table_of(&table);
    sink.write_at(at, &[IoSlice::new(&table)])?;
    at += table.len() as u64;
    drop(sink);
    staged.publish()?;
    let gained = bytes.saturating_sub(at) as f64 / bytes.max(1) as f64;
    let is_compressed_inside = setting.is_some_and(|setting| gained < 0.1 || (setting != 0 && gained < 0.5));
    Ok(PackReport { bytes, packed_bytes: at, blocks, is_compressed_inside })
}

fn check(options: &PackOptions) -> Result<()> {
    if !(LEAST_BLOCK_BYTES..=MOST_BLOCK_BYTES).contains(&options.block_bytes) {
        let words = format!("a block has {LEAST_BLOCK_BYTES} to {MOST_BLOCK_BYTES} bytes, not {}", options.block_bytes);
        return Err(Error::mismatch(words));
    }
    if !LEVELS.contains(&options.level) {
        let words = format!("a level of zstd is {} to {}, not {}", LEVELS.start(), LEVELS.end(), options.level);
        return Err(Error::mismatch(words));
    }
    Ok(())
}

/// A block as a frame of its own, with its length and a checksum: plain zstd finds damage, too.
fn compress(block: &[u8], level: i32) -> Result<Bytes> {
    thread_local! {
        static CONTEXT: RefCell<Option<CCtx<'static>>> = const { RefCell::new(None) };
    }
    let failed = |code: usize| Error::new(ErrorKind::Io, format!("zstd: {}", get_error_name(code)));
    CONTEXT.with_borrow_mut(|context| {
        let context = match context {
            Some(context) => context,
            empty => empty
                .insert(CCtx::try_create().ok_or_else(|| Error::new(ErrorKind::Io, "zstd: no memory for a context"))?),
        };
        context.set_parameter(CParameter::CompressionLevel(level)).map_err(failed)?;
        context.set_parameter(CParameter::ChecksumFlag(true)).map_err(failed)?;
        let mut frame: Vec<u8> = Vec::with_capacity(compress_bound(block.len()));
        context.compress2(&mut frame, block).map_err(failed)?;
        frame.shrink_to_fit();
        Ok(frame.into())
    })
}

/// The seek table of frames: packed and plain length and checksum of each.
fn table_of(frames: &[(u32, u32, u32)]) -> Vec<u8> {
    let length = (frames.len() * 12 + 9) as u32;
    let mut table = Vec::with_capacity(8 + length as usize);
    table.extend(TABLE_MAGIC.to_le_bytes());
    table.extend(length.to_le_bytes());
    for (packed, plain, checksum) in frames {
        table.extend([*packed, *plain, *checksum].into_iter().flat_map(u32::to_le_bytes));
    }
    table.extend((frames.len() as u32).to_le_bytes());
    table.push(HAS_CHECKSUMS);
    table.extend(FOOTER_MAGIC.to_le_bytes());
    table
}

/// Writes the content of a packed file, byte for byte; returns how many bytes. Blocks that have a checksum are compared
/// with it. The file has its name only once it is complete.
///
/// # Errors
///
/// [`Exists`](ErrorKind::Exists) where a file would have to be replaced, and `replaces` does not allow it; what reading
/// and writing report.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::scratch("hello");
/// use sapwood::io::MemoryStore;
/// assert_eq!(sapwood_store::unpack(&MemoryStore::new("greeting", "hello"), &path, false)?, 5);
/// assert_eq!(std::fs::read(&path)?, b"hello");
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn unpack(from: &dyn Store, to: impl AsRef<Path>, replaces: bool) -> Result<u64> {
    let identity = from.ends(0, 0)?.identity;
    let bytes = identity.len;
    refuse_input(&identity.name, to.as_ref())?;
    let staged = AtomicFile::new(&to, replaces)?;
    let sink = LocalFile::create(staged.path())?;
    sink.copy_at(0, from, 0..bytes)?;
    drop(sink);
    staged.publish()?;
    Ok(bytes)
}

/// Refuses to replace the file that is read, also by another name, or the archive that it is a member of.
fn refuse_input(from: &str, to: &Path) -> Result<()> {
    let Ok(target) = to.canonicalize() else { return Ok(()) };
    let archives = from.match_indices(':').filter_map(|(end, _)| from.get(..end));
    let is_target = |path: &str| Path::new(path).canonicalize().is_ok_and(|path| path == target);
    if std::iter::once(from).chain(archives).any(is_target) {
        return Err(Error::mismatch("the file is read: write to another one").in_file(to.to_string_lossy()));
    }
    Ok(())
}

/// The name of a packed file, and of what is in one, where the user gives none: that of the file with `.zst` behind it,
/// or without. A remote one is written to the working directory, and so is the member of an archive.
///
/// # Example
///
/// ```
/// use sapwood_store::{packed_name, unpacked_name};
/// assert_eq!(packed_name("data/x.root"), "data/x.root.zst");
/// assert_eq!(packed_name("https://example.org/x.root?k=v"), "x.root.zst");
/// assert_eq!(unpacked_name("data/x.root.zst"), Some("data/x.root"));
/// assert_eq!(unpacked_name("image.sqfs:run1/x.root"), Some("x.root"));
/// assert_eq!(unpacked_name("x.packed"), None);
/// ```
pub fn packed_name(place: &str) -> String {
    format!("{}.zst", near_name(place))
}

/// See [`packed_name`]; none where the name does not say it.
pub fn unpacked_name(place: &str) -> Option<&str> {
    let name = near_name(place);
    let stem = name.len().checked_sub(4).filter(|end| *end > 0).and_then(|end| name.split_at_checked(end));
    match stem {
        Some((stem, ending)) if ending.eq_ignore_ascii_case(".zst") => Some(stem),
        _ => super::place::member_end(place).map(|_| name),
    }
}

/// The name that a place gets on this machine.
fn near_name(place: &str) -> &str {
    let is_url = crate::url::is_url(place);
    let path = if is_url { place.split(['?', '#']).next().unwrap_or(place) } else { place };
    match super::place::member_end(place) {
        None if !is_url => path,
        _ => path.rsplit(['/', ':']).next().unwrap_or(path),
    }
}

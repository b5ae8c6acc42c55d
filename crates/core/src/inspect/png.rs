//! Boxes of one colour each, as a PNG.

use crate::error::{Error, ErrorKind, Result};

/// Red, green, blue.
pub type Colour = [u8; 3];

/// A white picture, and what is drawn on it. A box is the place of its upper left corner, its width and its height.
///
/// # Example
///
/// ```
/// use sapwood::inspect::png::Png;
/// let mut picture = Png::new(20, 10);
/// picture.fill([2, 2, 16, 6], [0, 0, 255]);
/// picture.frame([2, 2, 16, 6]);
/// assert!(picture.pack()?.starts_with(b"\x89PNG"));
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Png {
    width: u32,
    height: u32,
    rows: Vec<u8>,
}

impl Png {
    /// A white picture.
    pub fn new(width: u32, height: u32) -> Self {
        // A byte before each row says that it is not filtered.
        let row_bytes = 1 + 3 * width as usize;
        let mut rows = vec![0xff; row_bytes * height as usize];
        rows.iter_mut().step_by(row_bytes).for_each(|filter| *filter = 0);
        Self { width, height, rows }
    }

    /// Fills a box; what reaches beyond the edge is cut off.
    pub fn fill(&mut self, [x, y, wide, high]: [u32; 4], colour: Colour) {
        let row_bytes = 1 + 3 * self.width as usize;
        for y in y..(y + high).min(self.height) {
            let start = y as usize * row_bytes + 1;
            let row = self.rows.get_mut(start + 3 * x as usize..start + 3 * (x + wide).min(self.width) as usize);
            row.unwrap_or_default().as_chunks_mut::<3>().0.fill(colour);
        }
    }

    /// A black line around a box, which does not begin at the edge.
    pub fn frame(&mut self, [x, y, wide, high]: [u32; 4]) {
        let (left, top) = (x.saturating_sub(1), y.saturating_sub(1));
        for line in [
            [left, top, wide + 2, 1],
            [left, y + high, wide + 2, 1],
            [left, top, 1, high + 2],
            [x + wide, top, 1, high + 2],
        ] {
            self.fill(line, [0; 3]);
        }
    }

    /// The bytes of the file.
    ///
    /// # Errors
    ///
    /// [`Io`](ErrorKind::Io) where there is no memory for it.
    pub fn pack(self) -> Result<Vec<u8>> {
        packed(self.width, self.height, &self.rows)
    }
}

/// The bytes of a file with rows of pixels. Each row begins with a zero: it is not filtered.
pub(super) fn packed(width: u32, height: u32, rows: &[u8]) -> Result<Vec<u8>> {
    let mut compressor = libdeflater::Compressor::new(libdeflater::CompressionLvl::default());
    let mut packed = vec![0; compressor.zlib_compress_bound(rows.len())];
    let length = compressor
        .zlib_compress(rows, &mut packed)
        .map_err(|_| Error::new(ErrorKind::Io, "a picture could not be packed"))?;
    packed.truncate(length);
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut head = [width.to_be_bytes(), height.to_be_bytes()].concat();
    head.extend([8, 2, 0, 0, 0]); // eight bits, red, green and blue, nothing special
    chunk(&mut png, b"IHDR", &head);
    chunk(&mut png, b"IDAT", &packed);
    chunk(&mut png, b"IEND", &[]);
    Ok(png)
}

/// Appends one chunk of a PNG.
fn chunk(png: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    png.extend((data.len() as u32).to_be_bytes());
    let start = png.len();
    png.extend(kind);
    png.extend(data);
    png.extend(libdeflater::crc32(&png[start..]).to_be_bytes());
}

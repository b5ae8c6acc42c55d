//! An RNTuple whose bytes can be changed at known places, and sealed again, so that the check behind a checksum is
//! reached.

use std::ops::Range;
use std::sync::Arc;

use sapwood::column::{Field, Kind, ListOf, Number};
use sapwood::io::{MemorySink, MemoryStore};
use sapwood::read::Column;
use sapwood::write::{FieldSpec, FileWriter, NTupleOptions, WriteOptions};
use sapwood::{Error, File, OpenOptions, Session, ntuple};
use twox_hash::XxHash3_64;

/// Entries of each of the two clusters.
pub const CLUSTER: usize = 40;

/// The top-level fields. Numbers of their columns: see [`mod@column`].
pub const FIELDS: [&str; 7] = ["x", "list", "text", "maybe", "either", "both", "fixed"];

/// Numbers of columns.
pub mod column {
    /// Of field x.
    pub const X: usize = 0;
    /// Ends of field list.
    pub const LIST: usize = 1;
    /// Items of field list.
    pub const ITEMS: usize = 2;
    /// Ends of field text.
    pub const TEXT: usize = 3;
    /// Characters of field text.
    pub const CHARS: usize = 4;
    /// Ends of field maybe.
    pub const MAYBE: usize = 5;
    /// Switches of field either.
    pub const SWITCH: usize = 7;
    /// Items of field fixed.
    pub const INSIDE_FIXED: usize = 13;
}

/// Numbers of fields.
pub mod field {
    /// Field x.
    pub const X: usize = 0;
    /// The items of field list.
    pub const ITEMS: usize = 2;
    /// Field text.
    pub const TEXT: usize = 3;
    /// Field fixed.
    pub const FIXED: usize = 12;
    /// The items of field fixed.
    pub const INSIDE_FIXED: usize = 13;
}

fn number(buffer: u32, number: Number) -> Kind {
    Kind::Number { buffer, number }
}

fn kinds() -> Vec<Kind> {
    let list = Kind::List { offsets: 0, of: ListOf::Sequence, item: Box::new(number(1, Number::F32)) };
    let members = [("a", number(0, Number::F64)), ("b", number(1, Number::U8))];
    let members = members.into_iter().map(|(name, kind)| Field { name: name.into(), kind, base: false }).collect();
    vec![
        number(0, Number::I32),
        list,
        Kind::Text { offsets: 0, bytes: 1 },
        Kind::OneOf { tags: 0, of: vec![number(1, Number::I16)] },
        Kind::OneOf { tags: 0, of: vec![number(1, Number::I32), Kind::Text { offsets: 2, bytes: 3 }] },
        Kind::Record { class: "".into(), fields: members },
        Kind::Fixed { len: 3, item: Box::new(number(0, Number::U16)) },
    ]
}

fn ends(counts: impl Iterator<Item = usize>) -> Vec<u8> {
    let mut end = 0;
    let ends = counts.map(|count| {
        end += count as i64;
        end
    });
    std::iter::once(0).chain(ends.collect::<Vec<_>>()).flat_map(i64::to_ne_bytes).collect()
}

/// The values of the fields in some entries. No two pages of a cluster are equal: these would be stored once.
fn values(rows: Range<usize>) -> Vec<Column> {
    let floats: Vec<u8> =
        rows.clone().flat_map(|row| (0..row % 4).flat_map(move |item| (item as f32).to_ne_bytes())).collect();
    let text = |row: usize| format!("r{row}").into_bytes();
    let even = || rows.clone().filter(|row| row % 2 == 0);
    let of_type = |tag: usize| rows.clone().filter(move |row| row % 3 == tag + 1);
    let buffers: Vec<Vec<Vec<u8>>> = vec![
        vec![rows.clone().flat_map(|row| (row as i32).to_ne_bytes()).collect()],
        vec![ends(rows.clone().map(|row| row % 4)), floats],
        vec![ends(rows.clone().map(|row| text(row).len())), rows.clone().flat_map(text).collect()],
        vec![
            rows.clone().map(|row| if row % 2 == 0 { 0 } else { 255 }).collect(),
            even().flat_map(|row| (row as i16).to_ne_bytes()).collect(),
        ],
        vec![
            rows.clone().map(|row| (row % 3).wrapping_sub(1) as u8).collect(),
            of_type(0).flat_map(|row| (row as i32).to_ne_bytes()).collect(),
            ends(of_type(1).map(|row| row % 5)),
            of_type(1).flat_map(|row| vec![b'e'; row % 5]).collect(),
        ],
        vec![
            rows.clone().flat_map(|row| (row as f64).to_ne_bytes()).collect(),
            rows.clone().map(|row| row as u8).collect(),
        ],
        vec![rows.clone().flat_map(|row| (0..3).flat_map(move |item| (row as u16 + item).to_ne_bytes())).collect()],
    ];
    let column = |(kind, buffers): (Kind, Vec<Vec<u8>>)| {
        Column::from_buffers(kind, rows.len(), buffers.into_iter().map(Into::into).collect())
    };
    kinds().into_iter().zip(buffers).map(column).collect()
}

/// A file with two clusters of [`CLUSTER`] entries, with pages of at most 64 bytes.
pub fn whole(compression: &str) -> Vec<u8> {
    let sink = Arc::new(MemorySink::default());
    let compression = compression.parse().expect("a compression");
    let options = WriteOptions { compression: Some(compression), ..WriteOptions::default() };
    let mut file = FileWriter::to_sink(Arc::clone(&sink), "damaged.root", options).expect("a file");
    let specs = FIELDS.iter().zip(kinds()).map(|(&name, kind)| FieldSpec::new(name, kind)).collect();
    let options = NTupleOptions { compression: Some(compression), page_bytes: 64, ..NTupleOptions::default() };
    let mut ntuple = file.ntuple("n", specs, options).expect("an RNTuple");
    for start in [0, CLUSTER] {
        let values: Vec<(&str, Column)> = FIELDS.into_iter().zip(values(start..start + CLUSTER)).collect();
        ntuple.extend(&values).expect("rows");
        ntuple.flush().expect("a cluster");
    }
    ntuple.close().expect("an end");
    file.close().expect("a whole file");
    sink.to_bytes().to_vec()
}

/// Opens bytes.
pub fn open(bytes: Vec<u8>) -> Result<File, Error> {
    let options = OpenOptions { session: Session::with_threads(1), ..OpenOptions::default() };
    File::from_store(Arc::new(MemoryStore::new("damaged.root", bytes)), options)
}

/// Reads a field.
pub fn read(file: &File, field: &str, entries: Range<u64>) -> Result<Column, Error> {
    let ntuple = file.ntuple("n")?;
    let id = ntuple.field(field)?.id;
    Ok(ntuple::columns(&ntuple, &[id], entries)?.remove(0))
}

/// Checks that all entries of all fields but some are what was written.
pub fn others_are_there(file: &File, but: &[&str]) {
    for (field, written) in FIELDS.into_iter().zip(values(0..2 * CLUSTER)).filter(|(field, _)| !but.contains(field)) {
        let found = read(file, field, 0..2 * CLUSTER as u64).unwrap_or_else(|error| panic!("{field}: {error}"));
        assert_eq!((found.len, found.buffers()), (written.len, written.buffers()), "{field}");
    }
}

/// The bytes of a file, and where its parts are. Nothing in it is compressed.
#[derive(Clone, Debug)]
pub struct Damaged {
    /// All of them.
    pub bytes: Vec<u8>,
    /// Payload of the anchor.
    pub anchor: usize,
    /// The header.
    pub header: Range<usize>,
    /// The footer.
    pub footer: Range<usize>,
    /// The page list of the only group.
    pub list: Range<usize>,
}

impl Default for Damaged {
    fn default() -> Self {
        Self::new()
    }
}

impl Damaged {
    /// A file whose envelopes and pages are not compressed.
    pub fn new() -> Self {
        Self::of(whole("zlib:0"))
    }

    /// A file of [`whole`], its envelopes not compressed.
    fn of(bytes: Vec<u8>) -> Self {
        let key = open(bytes.clone()).expect("a file").key("n").expect("an anchor");
        let anchor = key.seek_key as usize + usize::from(key.keylen);
        let word = |at: usize| u64::from_be_bytes(bytes[at..at + 8].try_into().expect("eight bytes")) as usize;
        let envelope = |at: usize| word(at)..word(at) + word(at + 8);
        let (header, footer) = (envelope(anchor + 14), envelope(anchor + 38));
        let mut damaged = Self { bytes, anchor, header, footer, list: 0..0 };
        // Feature flags, checksum of the header, extension of the schema, list of one group: its frame and three words.
        let extension = damaged.footer.start + 24;
        let link = extension + damaged.u64(extension) as usize + 12 + 8 + 20;
        let at = damaged.u64(link + 12) as usize;
        damaged.list = at..at + damaged.u64(link) as usize;
        damaged
    }

    /// Eight bytes, little-endian.
    pub fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.bytes[at..at + 8].try_into().expect("eight bytes"))
    }

    /// Four bytes, little-endian.
    pub fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.bytes[at..at + 4].try_into().expect("four bytes"))
    }

    /// Overwrites bytes.
    pub fn put(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Where the frame of an item of the header's lists is: 0 for fields, 1 for columns.
    pub fn described(&self, list: usize, item: usize) -> usize {
        let mut at = self.header.start + 16;
        for _ in 0..3 {
            at += 4 + self.u32(at) as usize;
        }
        for _ in 0..list {
            at += (self.u64(at) as i64).unsigned_abs() as usize;
        }
        at += 12;
        for _ in 0..item {
            at += self.u64(at) as usize;
        }
        at
    }

    /// Makes a column one that was added when entries existed: its first element. The header moves to the end of the
    /// file.
    pub fn defer(&mut self, column: usize, first: i64) {
        let record = self.described(1, column) - self.header.start;
        let list = self.described(1, 0) - 12 - self.header.start;
        let mut header = self.bytes[self.header.clone()].to_vec();
        let mut add = |at: usize, more: i64| {
            let word = i64::from_le_bytes(header[at..at + 8].try_into().expect("eight bytes")) + more;
            header[at..at + 8].copy_from_slice(&word.to_le_bytes());
        };
        add(0, 8 << 16);
        add(list, -8);
        add(record, 8);
        header[record + 16] |= 1;
        header.splice(record + 20..record + 20, first.to_le_bytes());
        self.header = self.append(&header);
        self.link_from_anchor(14, self.header.clone());
    }

    /// Puts another payload in place of an envelope's: 0 for the header, 1 for the footer, 2 for the page list. The
    /// envelope moves to the end of the file.
    pub fn replace(&mut self, envelope: usize, payload: &[u8]) {
        let head = ((payload.len() as u64 + 16) << 16) | (envelope as u64 + 1);
        let whole = [&head.to_le_bytes()[..], payload, &[0; 8]].concat();
        let at = self.append(&whole);
        match envelope {
            0 => {
                self.header = at.clone();
                self.link_from_anchor(14, at);
            }
            1 => {
                self.footer = at.clone();
                self.link_from_anchor(38, at);
            }
            _ => {
                let link = self.group() + 28;
                self.list = at.clone();
                self.put(link, &(at.len() as u64).to_le_bytes());
                self.put(link + 8, &(at.len() as u32).to_le_bytes());
                self.put(link + 12, &(at.start as u64).to_le_bytes());
            }
        }
    }

    /// Puts bytes at the end of the file.
    pub fn append(&mut self, bytes: &[u8]) -> Range<usize> {
        let start = self.bytes.len();
        self.bytes.extend(bytes);
        start..self.bytes.len()
    }

    fn link_from_anchor(&mut self, member: usize, envelope: Range<usize>) {
        let (at, bytes) = (envelope.start as u64, envelope.len() as u64);
        for (word, value) in [at, bytes, bytes].into_iter().enumerate() {
            self.put(self.anchor + member + 8 * word, &value.to_be_bytes());
        }
    }

    /// Where the frame of a group in the footer is.
    pub fn group(&self) -> usize {
        let extension = self.footer.start + 24;
        extension + self.u64(extension) as usize + 12
    }

    /// Where the summary of a cluster is.
    pub fn summary(&self, cluster: usize) -> usize {
        let mut at = self.list.start + 16 + 12;
        for _ in 0..cluster {
            at += self.u64(at) as usize;
        }
        at
    }

    /// Where the frame of the pages of a column is.
    pub fn pages(&self, cluster: usize, column: usize) -> usize {
        let frame = |at: usize| (self.u64(at) as i64).unsigned_abs() as usize;
        let mut at = self.list.start + 16;
        at += frame(at) + 12;
        for _ in 0..cluster {
            at += frame(at);
        }
        at += 12;
        for _ in 0..column {
            at += frame(at);
        }
        at
    }

    /// Where a page is described: its elements, size, and position.
    pub fn entry(&self, cluster: usize, column: usize, page: usize) -> usize {
        self.pages(cluster, column) + 12 + 16 * page
    }

    /// Where a page is, its stored bytes.
    pub fn page(&self, cluster: usize, column: usize, page: usize) -> Range<usize> {
        let entry = self.entry(cluster, column, page);
        let at = self.u64(entry + 8) as usize;
        at..at + self.u32(entry + 4) as usize
    }

    /// Writes the checksum of a page.
    pub fn seal_page(&mut self, page: Range<usize>) {
        let sum = XxHash3_64::oneshot(&self.bytes[page.clone()]);
        self.put(page.end, &sum.to_le_bytes());
    }

    /// Writes the checksum of an envelope.
    pub fn seal(&mut self, envelope: Range<usize>) {
        let end = envelope.end - 8;
        let sum = XxHash3_64::oneshot(&self.bytes[envelope.start..end]);
        self.put(end, &sum.to_le_bytes());
    }

    /// Writes the checksums of all envelopes, of the header to the others as well, and of the anchor.
    pub fn seal_all(&mut self) {
        self.seal(self.header.clone());
        let sum = self.u64(self.header.end - 8).to_le_bytes();
        for (at, end) in [(self.footer.start + 16, self.footer.end), (self.list.start + 8, self.list.end)] {
            if at + 16 <= end {
                self.put(at, &sum);
            }
        }
        self.seal(self.footer.clone());
        self.seal(self.list.clone());
        self.seal_anchor();
    }

    /// Writes the checksum of the anchor.
    pub fn seal_anchor(&mut self) {
        let members = self.anchor + 6..self.anchor + 70;
        let sum = XxHash3_64::oneshot(&self.bytes[members.clone()]);
        self.put(members.end, &sum.to_be_bytes());
    }

    /// The file that these bytes are now.
    pub fn file(&self) -> File {
        open(self.bytes.clone()).expect("a ROOT file")
    }
}

/// A file that was changed, and sealed again.
pub fn changed(change: impl FnOnce(&mut Damaged)) -> File {
    let mut damaged = Damaged::new();
    change(&mut damaged);
    damaged.seal_all();
    damaged.file()
}

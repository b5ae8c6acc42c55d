//! StreamerInfo: a class as the file describes it.
//!
//! Format page: `docs/format/streamerinfo.md`. Source: `TStreamerInfo::Streamer`, `TStreamerElement::Streamer`.

use std::sync::Arc;

use crate::column::has_range;
use crate::error::{Error, Result};
use crate::wire::{Limits, Reader, Slot, Writer, text};

/// Added to a streamer code: a container without a frame, or a counted array without its flag byte. Only hand-written
/// streamers write these, so no file names such a code.
pub(super) const BARE: i32 = 1 << 16;

/// `TStreamerInfo`: one class at one version.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamerInfo {
    /// Class name.
    pub name: Arc<str>,
    /// `fClassVersion`.
    pub version: i32,
    /// `fCheckSum`.
    pub checksum: u32,
    /// `fElements`: bases first, then members as declared.
    pub elements: Vec<Element>,
}

/// `TStreamerElement`: a base or member.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    /// Which subclass of `TStreamerElement` it is.
    pub class: &'static str,
    /// What that class adds.
    pub detail: Detail,
    /// Member or base name.
    pub name: Arc<str>,
    /// Comment, which decides packing and pointers.
    pub title: Arc<str>,
    /// `fType`, a code of `TVirtualStreamerInfo::EReadWrite`.
    pub code: i32,
    /// `fSize`: the writer's `sizeof`, meaningless on storage.
    pub size: i32,
    /// `fArrayLength`: items of a fixed array, 0 where it is none.
    pub array_length: u32,
    /// Extents of a fixed array.
    pub extents: Vec<u32>,
    /// `fMaxIndex` as stored; of a base the second is its checksum.
    pub max_index: [i32; 5],
    /// `fTypeName`.
    pub type_name: Arc<str>,
}

/// Subclasses of `TStreamerElement`.
const ELEMENTS: [&str; 13] = [
    "TStreamerBase",
    "TStreamerBasicType",
    "TStreamerBasicPointer",
    "TStreamerLoop",
    "TStreamerString",
    "TStreamerObject",
    "TStreamerObjectAny",
    "TStreamerObjectPointer",
    "TStreamerObjectAnyPointer",
    "TStreamerSTL",
    "TStreamerSTLstring",
    "TStreamerArtificial",
    "TStreamerElement",
];

/// What the subclasses of `TStreamerElement` add.
#[derive(Clone, Debug, PartialEq)]
pub enum Detail {
    /// `TStreamerBase`.
    Base {
        /// `fBaseVersion`.
        version: i32,
    },
    /// `TStreamerBasicPointer` and `TStreamerLoop`.
    Counted {
        /// Whether it is a `TStreamerLoop`.
        is_loop: bool,
        /// `fCountVersion`.
        count_version: i32,
        /// `fCountName`: the member that counts.
        count_name: Arc<str>,
        /// `fCountClass`: where it is declared.
        count_class: Arc<str>,
    },
    /// `TStreamerSTL`.
    Stl {
        /// `fSTLtype`.
        stl_type: i32,
        /// `fCtype`: code of the items.
        item_code: i32,
    },
    /// `TStreamerSTLstring`.
    StlString,
    /// `TStreamerArtificial`: of a rule, not of the file.
    Artificial,
    /// All others add nothing.
    Plain,
}

/// Reads the payload of the StreamerInfo record.
///
/// # Errors
///
/// [`Malformed`](crate::ErrorKind::Malformed) where the list contradicts the format.
pub fn read_infos(payload: &[u8], keylen: usize, limits: &Limits) -> Result<Vec<StreamerInfo>> {
    read_infos_and_rules(payload, keylen, limits).map(|(infos, _)| infos)
}

/// The same, with the rules of schema evolution that stand beside the infos, as text. Nothing else is known to be
/// there.
pub(crate) fn read_infos_and_rules(
    payload: &[u8],
    keylen: usize,
    limits: &Limits,
) -> Result<(Vec<StreamerInfo>, Vec<String>)> {
    let mut reader = Reader::with_origin(payload, keylen);
    let (mut infos, mut rules) = (Vec::new(), Vec::new());
    let frame = reader.frame()?;
    if frame.class_version() > 3 {
        object(&mut reader)?;
        reader.string()?;
    } else if frame.class_version() > 1 {
        object(&mut reader)?;
    }
    let count = reader.count()?;
    for _ in 0..count {
        if let Slot::Object { class, end, .. } = reader.slot(0)? {
            match (class, end) {
                (b"TStreamerInfo", _) => infos.push(read_info(&mut reader, limits)?),
                // Rules that cannot be read are no reason to miss the classes.
                (b"TList", Some(end)) => {
                    let _ = read_rules(&mut reader, &mut rules);
                    reader.seek(end)?;
                }
                (_, Some(end)) => reader.seek(end)?,
                (_, None) => {
                    return Err(Error::malformed("an entry of the list has no length").at(reader.position() as u64));
                }
            }
            if let Some(end) = end {
                reader.seek(end)?;
            }
        }
        if frame.class_version() > 3 {
            reader.string()?;
        }
    }
    Ok((infos, rules))
}

/// The texts of a `TList` of `TObjString`.
fn read_rules(reader: &mut Reader<'_>, rules: &mut Vec<String>) -> Result<()> {
    reader.frame()?;
    object(reader)?;
    reader.string()?;
    for _ in 0..reader.count()? {
        if let Slot::Object { class: b"TObjString", end, .. } = reader.slot(0)? {
            reader.frame()?;
            object(reader)?;
            rules.push(String::from_utf8_lossy(reader.string()?).into_owned());
            if let Some(end) = end {
                reader.seek(end)?;
            }
        }
        reader.string()?;
    }
    Ok(())
}

fn read_info(reader: &mut Reader<'_>, limits: &Limits) -> Result<StreamerInfo> {
    let frame = reader.frame()?;
    let (name, _) = named(reader)?;
    let checksum = reader.u32()?;
    let version = reader.i32()?;
    let mut elements = Vec::new();
    if let Slot::Object { class: b"TObjArray", end, .. } = reader.slot(0)? {
        let array = reader.frame()?;
        if array.class_version() > 2 {
            object(reader)?;
        }
        if array.class_version() > 1 {
            reader.string()?;
        }
        let count = reader.count()?;
        reader.skip(4)?;
        for _ in 0..count {
            if let Slot::Object { class, end, .. } = reader.slot(0)? {
                elements.push(read_element(reader, class).map_err(|error| error.in_object(&name))?);
                if let Some(end) = end {
                    reader.seek(end)?;
                }
            }
        }
        if let Some(end) = end {
            reader.seek(end)?;
        }
    }
    if let Some(end) = frame.end {
        reader.seek(end)?;
    }
    if elements.len() as u64 > limits.object_bytes {
        return Err(Error::limit("too many members", limits.object_bytes, elements.len() as u64));
    }
    Ok(StreamerInfo { name: name.into(), version, checksum, elements })
}

fn read_element(reader: &mut Reader<'_>, class: &[u8]) -> Result<Element> {
    let outer = reader.frame()?;
    // TStreamerSTLstring derives from TStreamerSTL: one frame more.
    let middle = if class == b"TStreamerSTLstring" { Some(reader.frame()?) } else { None };
    let frame = reader.frame()?;
    let (name, title) = named(reader)?;
    // Larger ones have a meaning of their own in layouts that no file describes.
    let code = Some(reader.i32()?).filter(|&code| code < BARE).unwrap_or(-2);
    let size = reader.i32()?;
    let array_length = reader.i32()?;
    let dimensions = reader.i32()?;
    let mut max_index = [0; 5];
    let stored = if frame.class_version() == 1 { reader.count()? } else { 5 };
    for index in 0..stored {
        let value = reader.i32()?;
        if let Some(slot) = max_index.get_mut(index) {
            *slot = value;
        }
    }
    let type_name = text(reader.string()?);
    if frame.class_version() == 3 {
        reader.skip(24)?;
    }
    if let Some(end) = frame.end {
        reader.seek(end)?;
    }
    let version = outer.class_version();
    let detail = match class {
        b"TStreamerBase" if version > 2 => Detail::Base { version: reader.i32()? },
        b"TStreamerBase" => Detail::Base { version: -1 },
        b"TStreamerBasicPointer" | b"TStreamerLoop" => Detail::Counted {
            is_loop: class == b"TStreamerLoop",
            count_version: reader.i32()?,
            count_name: text(reader.string()?).into(),
            count_class: text(reader.string()?).into(),
        },
        b"TStreamerSTL" | b"TStreamerSTLstring" => {
            let (stl_type, item_code) = (reader.i32()?, reader.i32()?);
            if class == b"TStreamerSTL" { Detail::Stl { stl_type, item_code } } else { Detail::StlString }
        }
        b"TStreamerArtificial" => Detail::Artificial,
        _ => Detail::Plain,
    };
    for frame in [middle, Some(outer)].into_iter().flatten() {
        if let Some(end) = frame.end {
            reader.seek(end)?;
        }
    }
    let extents = max_index.iter().take(dimensions.clamp(0, 5) as usize).map(|&extent| extent.max(0) as u32).collect();
    Ok(Element {
        class: ELEMENTS.iter().find(|known| known.as_bytes() == class).unwrap_or(&"TStreamerElement"),
        detail,
        name: name.into(),
        title: title.into(),
        code,
        size,
        array_length: array_length.max(0) as u32,
        extents,
        max_index,
        type_name: type_name.into(),
    })
}

/// Reads `TObject`'s bytes: version, unique id, bits, and the ProcessID of a referenced object.
pub(crate) fn object(reader: &mut Reader<'_>) -> Result<(u32, u32)> {
    referenced(reader).map(|(id, bits, _)| (id, bits))
}

/// Bit of `fBits`: something refers to the object, and its ProcessID follows.
pub(crate) const IS_REFERENCED: u32 = 1 << 4;

/// The same with the ProcessID, 0 where there is none.
pub(super) fn referenced(reader: &mut Reader<'_>) -> Result<(u32, u32, u16)> {
    let frame = reader.frame()?;
    let id = reader.u32()?;
    let bits = reader.u32()?;
    let pid = if bits & IS_REFERENCED != 0 { reader.u16()? } else { 0 };
    reader.finish(frame, "TObject")?;
    Ok((id, bits, pid))
}

/// Reads `TNamed`: name and title.
pub(crate) fn named(reader: &mut Reader<'_>) -> Result<(String, String)> {
    let frame = reader.frame()?;
    object(reader)?;
    let name = reader.text()?;
    let title = reader.text()?;
    reader.finish(frame, "TNamed")?;
    Ok((name, title))
}

/// Writes the payload of the StreamerInfo record.
///
/// # Example
///
/// ```
/// use sapwood::schema::{StreamerInfo, read_infos, write_infos};
/// let named = StreamerInfo::of_root("TNamed").unwrap();
/// let payload = write_infos([&**named], &[], 64);
/// assert_eq!(read_infos(&payload, 64, &sapwood::wire::Limits::default())?, [(**named).clone()]);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn write_infos<'a>(infos: impl IntoIterator<Item = &'a StreamerInfo>, rules: &[String], keylen: usize) -> Vec<u8> {
    let mut writer = Writer::with_origin(keylen);
    write_info_list(&mut writer, infos, rules);
    writer.into_bytes()
}

/// Writes the list that the StreamerInfo record holds.
pub(crate) fn write_info_list<'a>(
    writer: &mut Writer,
    infos: impl IntoIterator<Item = &'a StreamerInfo>,
    rules: &[String],
) {
    let infos: Vec<_> = infos.into_iter().collect();
    writer.framed(5, |list| {
        write_object(list, 0);
        list.string(b"");
        list.u32(infos.len() as u32 + u32::from(!rules.is_empty()));
        for info in &infos {
            list.object("TStreamerInfo", |writer| write_info(writer, info));
            list.string(b"");
        }
        if !rules.is_empty() {
            list.object("TList", |writer| write_rules(writer, rules));
            list.string(b"");
        }
    });
}

fn write_rules(writer: &mut Writer, rules: &[String]) {
    writer.framed(5, |list| {
        write_object(list, 0);
        list.string(b"listOfRules");
        list.u32(rules.len() as u32);
        for rule in rules {
            list.object("TObjString", |writer| {
                writer.framed(1, |text| {
                    write_object(text, 0);
                    text.string(rule.as_bytes());
                });
            });
            list.string(b"");
        }
    });
}

fn write_info(writer: &mut Writer, info: &StreamerInfo) {
    /// Set in every `TStreamerInfo` that ROOT writes.
    const BITS: u32 = 1 << 16;
    writer.framed(9, |writer| {
        write_named(writer, BITS, &info.name, "");
        writer.u32(info.checksum);
        writer.i32(info.version);
        writer.object("TObjArray", |writer| {
            writer.framed(3, |array| {
                write_object(array, 0);
                array.string(b"");
                array.u32(info.elements.len() as u32);
                array.u32(0);
                for element in &info.elements {
                    array.object(element.class, |writer| write_element(writer, element));
                }
            });
        });
    });
}

/// `fBits` of an element. Without `kHasRange` ROOT does not look for a range in the title, and reads other numbers.
fn bits(element: &Element) -> u32 {
    const HAS_RANGE: u32 = 1 << 6;
    let is_packed = matches!(&*element.type_name, "Double32_t" | "Double32_t*" | "Float16_t" | "Float16_t*");
    if is_packed && has_range(&element.title) { HAS_RANGE } else { 0 }
}

fn write_element(writer: &mut Writer, element: &Element) {
    let body = |writer: &mut Writer| {
        writer.framed(4, |writer| {
            write_named(writer, bits(element), &element.name, &element.title);
            writer.i32(element.code);
            writer.i32(element.size);
            writer.u32(element.array_length);
            writer.u32(element.extents.len() as u32);
            element.max_index.iter().for_each(|&extent| writer.i32(extent));
            writer.string(element.type_name.as_bytes());
        });
    };
    let version = match element.detail {
        Detail::Base { .. } | Detail::Stl { .. } => 3,
        _ if element.class == "TStreamerObjectAnyPointer" || element.class == "TStreamerArtificial" => 1,
        _ => 2,
    };
    writer.framed(version, |writer| match &element.detail {
        Detail::Base { version } => {
            body(writer);
            writer.i32(*version);
        }
        Detail::Counted { count_version, count_name, count_class, .. } => {
            body(writer);
            writer.i32(*count_version);
            writer.string(count_name.as_bytes());
            writer.string(count_class.as_bytes());
        }
        Detail::Stl { stl_type, item_code } => {
            body(writer);
            writer.i32(*stl_type);
            writer.i32(*item_code);
        }
        // A string derives from the class of the collections.
        Detail::StlString => writer.framed(3, |writer| {
            const STRING: i32 = 365;
            body(writer);
            writer.i32(STRING);
            writer.i32(STRING);
        }),
        Detail::Artificial | Detail::Plain => body(writer),
    });
}

/// Writes `TObject`'s bytes.
pub(crate) fn write_object(writer: &mut Writer, bits: u32) {
    writer.i16(1);
    writer.u32(0);
    writer.u32(bits);
}

/// Writes `TNamed`.
pub(crate) fn write_named(writer: &mut Writer, bits: u32, name: &str, title: &str) {
    writer.framed(1, |writer| {
        write_object(writer, bits);
        writer.string(name.as_bytes());
        writer.string(title.as_bytes());
    });
}

//! Objects as bytes: the counterpart of the executor, for objects that were made here.
//!
//! Format pages: `docs/format/framing.md`, `docs/format/streamerinfo.md`. Source: `TBufferFile::WriteObjectAny`,
//! `TStreamerInfo::WriteBuffer`.

use std::collections::HashMap;
use std::sync::Arc;

use super::compile::plain_number;
use super::draft::{Datum, Draft};
use super::info::{Detail, Element, StreamerInfo, write_object};
use crate::column::Number;
use crate::error::{Error, Result};
use crate::wire::Writer;

/// The largest byte count that a frame holds; a record cannot be longer.
const MOST_BYTES: usize = 0x3fff_fffe;

/// Writes objects into the payload of one record.
pub struct Encoder {
    writer: Writer,
    /// Objects that were written, by where they are in memory, and what refers to them in the file. They are kept alive, so
    /// that no other takes their place.
    written: HashMap<*const Draft, (usize, Arc<Draft>)>,
    /// Classes that were met.
    classes: Vec<Arc<StreamerInfo>>,
}

impl Encoder {
    /// An encoder for a record whose key has `keylen` bytes.
    pub fn new(keylen: usize) -> Self {
        Self { writer: Writer::with_origin(keylen), written: HashMap::new(), classes: Vec::new() }
    }

    /// The payload of a record that holds `draft`, and the classes that it takes to read it.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) where a class is not known,
    /// [`Mismatch`](crate::ErrorKind::Mismatch) where a member has a value of another kind than its class says,
    /// [`Limit`](crate::ErrorKind::Limit) where the object is larger than a record can be.
    pub fn record(keylen: usize, draft: &Arc<Draft>) -> Result<(Vec<u8>, Vec<Arc<StreamerInfo>>)> {
        let mut encoder = Self::new(keylen);
        // References to the record's own object name its first byte.
        encoder.written.insert(Arc::as_ptr(draft), (keylen, Arc::clone(draft)));
        encoder.object(draft)?;
        let bytes = encoder.writer.into_bytes();
        if bytes.len() > MOST_BYTES {
            return Err(Error::limit("an object is too large for a record", MOST_BYTES as u64, bytes.len() as u64));
        }
        Ok((bytes, encoder.classes))
    }

    /// An object with its frame.
    fn object(&mut self, draft: &Draft) -> Result<()> {
        self.class(draft.class(), draft).map_err(|error| error.in_object(draft.class()))
    }

    /// The part of `draft` that `class` declares: the object's own class, or one of its bases.
    fn class(&mut self, class: &str, draft: &Draft) -> Result<()> {
        let list = |name: &str| match draft.member(name) {
            Some(Datum::List(items)) => items.as_slice(),
            _ => &[],
        };
        match class {
            "TObject" => {
                let word = |name| draft.member(name).map_or(Ok(0), whole);
                let (id, bits) = (word("fUniqueID")?, word("fBits")?);
                self.note(class);
                self.writer.i16(1);
                self.writer.u32(id as u32);
                self.writer.u32(bits as u32);
                Ok(())
            }
            "TString" => self.text(draft.member("fData")),
            "TObjArray" => self.framed(3, |encoder| {
                encoder.collection(draft)?;
                let items = list("items");
                encoder.writer.u32(items.len() as u32);
                encoder.writer.u32(0);
                items.iter().try_for_each(|item| encoder.slot(item))
            }),
            "TList" | "THashList" => self.framed(5, |encoder| {
                encoder.collection(draft)?;
                let items = list("items");
                encoder.writer.u32(items.len() as u32);
                for item in items {
                    encoder.slot(item)?;
                    encoder.writer.string(b"");
                }
                Ok(())
            }),
            "TMap" => self.framed(3, |encoder| {
                encoder.collection(draft)?;
                let items = list("items");
                encoder.writer.u32((items.len() / 2) as u32);
                items.iter().try_for_each(|item| encoder.slot(item))
            }),
            "TArrayC" | "TArrayS" | "TArrayI" | "TArrayL" | "TArrayL64" | "TArrayF" | "TArrayD" => {
                let number = match &class[6..] {
                    "C" => Number::I8,
                    "S" => Number::I16,
                    "I" => Number::I32,
                    "L" | "L64" => Number::I64,
                    "F" => Number::F32,
                    _ => Number::F64,
                };
                let (count, values) = numbers(draft.member("fArray"), number)?;
                self.writer.u32(count as u32);
                self.values(number, values);
                Ok(())
            }
            _ => self.described(class, draft),
        }
    }

    /// What collections begin with.
    fn collection(&mut self, draft: &Draft) -> Result<()> {
        write_object(&mut self.writer, draft.member("fBits").map_or(Ok(0), whole)? as u32);
        self.text(draft.member("fName"))
    }

    /// An object by the description of its class.
    fn described(&mut self, class: &str, draft: &Draft) -> Result<()> {
        let info = self.note(class).ok_or_else(|| Error::unsupported(format!("class {class} is not known")))?;
        let foreign = is_foreign(class);
        let version = if foreign { 0 } else { info.version as i16 };
        self.framed(version, |encoder| {
            if foreign {
                encoder.writer.u32(info.checksum);
            }
            info.elements.iter().try_for_each(|element| encoder.element(element, draft))
        })
    }

    fn framed(&mut self, version: i16, body: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let frame = self.writer.open();
        self.writer.i16(version);
        body(self)?;
        self.writer.close(frame);
        Ok(())
    }

    /// One base or member.
    fn element(&mut self, element: &Element, draft: &Draft) -> Result<()> {
        if matches!(element.detail, Detail::Base { .. }) {
            return self.class(&element.name, draft);
        }
        let member = draft.member(&element.name);
        let wrong = || Error::mismatch(format!("member {} of class {}", element.name, element.type_name));
        match element.code {
            code @ 1..=19 => {
                let number = number(code).ok_or_else(wrong)?;
                self.number(number, member)
            }
            code @ 21..=39 => {
                let number = number(code - 20).ok_or_else(wrong)?;
                let (count, values) = numbers(member, number)?;
                let wanted = element.array_length as usize;
                match count {
                    0 => self.writer.bytes(&vec![0; wanted * number.bytes()]),
                    count if count == wanted => self.values(number, values),
                    count => return Err(wrong().wanted(wanted as u64, count as u64)),
                }
                Ok(())
            }
            code @ 41..=59 => {
                let Detail::Counted { count_name, .. } = &element.detail else { return Err(wrong()) };
                let number = number(code - 40).ok_or_else(wrong)?;
                let (count, values) = numbers(member, number)?;
                let wanted = draft.member(count_name).map_or(Ok(0), whole)?;
                if count != 0 && count as i64 != wanted {
                    return Err(wrong().wanted(wanted as u64, count as u64));
                }
                self.writer.u8(u8::from(count > 0));
                self.values(number, values);
                Ok(())
            }
            61 | 62 | 66 | 67 => {
                let empty;
                let value = match member {
                    Some(Datum::Value(value)) => value,
                    None => {
                        empty = Draft::new(&*element.type_name);
                        &empty
                    }
                    Some(_) => return Err(wrong()),
                };
                self.object(value)
            }
            65 => self.text(member),
            63 | 64 | 68 | 69 => self.slot(member.unwrap_or(&Datum::Null)),
            code => Err(Error::unsupported(format!(
                "member {} has a type that cannot be written yet ({code}, {})",
                element.name, element.type_name
            ))),
        }
    }

    /// The place of a pointer.
    fn slot(&mut self, value: &Datum) -> Result<()> {
        let draft = match value {
            Datum::Null => {
                self.writer.null();
                return Ok(());
            }
            Datum::Object(draft) => draft,
            _ => return Err(Error::mismatch("a pointer is neither null nor an object")),
        };
        if let Some((position, _)) = self.written.get(&Arc::as_ptr(draft)) {
            self.writer.reference(*position);
            return Ok(());
        }
        let (position, slot) = self.writer.open_object(draft.class());
        self.written.insert(Arc::as_ptr(draft), (position, Arc::clone(draft)));
        self.object(draft)?;
        self.writer.close(slot);
        Ok(())
    }

    fn text(&mut self, value: Option<&Datum>) -> Result<()> {
        match value {
            Some(Datum::Text(text)) => self.writer.string(text.as_bytes()),
            None => self.writer.string(b""),
            Some(_) => return Err(Error::mismatch("a string has another value than text")),
        }
        Ok(())
    }

    fn number(&mut self, number: Number, value: Option<&Datum>) -> Result<()> {
        match (number, value) {
            (Number::F64, Some(Datum::Float(value))) => self.writer.f64(*value),
            (Number::F32, Some(Datum::Float(value))) => self.writer.f32(*value as f32),
            (Number::F64, value) => self.writer.f64(value.map_or(Ok(0), whole)? as f64),
            (Number::F32, value) => self.writer.f32(value.map_or(Ok(0), whole)? as f32),
            (number, value) => {
                let bytes = value.map_or(Ok(0), whole)?.to_be_bytes();
                self.writer.bytes(&bytes[8 - number.bytes()..]);
            }
        }
        Ok(())
    }

    /// Native-endian numbers.
    fn values(&mut self, number: Number, values: &[u8]) {
        let wide = number.bytes();
        for value in values.chunks_exact(wide) {
            let mut bytes = [0; 8];
            bytes[..wide].copy_from_slice(value);
            if cfg!(target_endian = "little") {
                bytes[..wide].reverse();
            }
            self.writer.bytes(&bytes[..wide]);
        }
    }

    /// Notes that a class was met, with its bases.
    fn note(&mut self, class: &str) -> Option<Arc<StreamerInfo>> {
        let info = StreamerInfo::of_root(class)?;
        if !self.classes.iter().any(|known| Arc::ptr_eq(known, info)) {
            self.classes.push(Arc::clone(info));
        }
        Some(Arc::clone(info))
    }
}

/// Classes without a version of their own: their checksum stands in its place.
fn is_foreign(class: &str) -> bool {
    class == "ROOT::TIOFeatures"
}

/// Type of a member's streamer code.
fn number(code: i32) -> Option<Number> {
    const BITS: i32 = 15;
    if code == BITS { Some(Number::U32) } else { plain_number(code) }
}

fn whole(value: &Datum) -> Result<i64> {
    match value {
        Datum::Int(value) => Ok(*value),
        Datum::Float(value) if value.fract() == 0.0 && value.abs() < 9e15 => Ok(*value as i64),
        _ => Err(Error::mismatch("a whole number has another value")),
    }
}

/// How many numbers of a type a member has, and their bytes.
fn numbers(value: Option<&Datum>, wanted: Number) -> Result<(usize, &[u8])> {
    match value {
        None => Ok((0, &[])),
        Some(Datum::Numbers(number, bytes)) if *number == wanted => Ok((bytes.len() / wanted.bytes(), bytes)),
        Some(Datum::Numbers(number, _)) => Err(Error::mismatch(format!("{number} where {wanted} is declared"))),
        Some(_) => Err(Error::mismatch("a list of numbers has another value")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Object;
    use crate::schema::Registry;
    use crate::wire::Limits;

    fn back(draft: Draft) -> Object {
        let draft = Arc::new(draft);
        let (payload, classes) = Encoder::record(70, &draft).unwrap();
        let infos = classes.iter().map(|info| (**info).clone()).collect();
        Object::read(&Registry::new(infos, 64000), draft.class(), &payload, 70, &Limits::default()).unwrap()
    }

    #[test]
    fn named_objects_come_back() {
        let object = back(Draft::new("TNamed").with("fName", "n").with("fTitle", "a title").with("fBits", 8));
        assert_eq!(object.member("fTitle").unwrap().as_text().as_deref(), Some("a title"));
        assert_eq!(object.member("fBits").unwrap().as_int(), Some(8));
    }

    #[test]
    fn an_object_behind_two_pointers_is_written_once() {
        let leaf = Arc::new(Draft::new("TLeafI").with("fName", "n").with("fMaximum", 3));
        let items = vec![Datum::Object(Arc::clone(&leaf)), Datum::Null, Datum::Object(leaf)];
        let object = back(Draft::new("TList").with("fName", "list").with("items", items));
        let Value::List(items) = object.member("items").unwrap() else { panic!("no list") };
        let items: Vec<_> = items.iter().collect();
        match &items[..] {
            [Value::Object(first), Value::Null, Value::Object(second)] => {
                assert_eq!(first.id(), second.id());
                assert_eq!(first.member("fMaximum").unwrap().as_int(), Some(3));
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn values_of_another_kind_are_refused() {
        for draft in [
            Draft::new("TNamed").with("fName", 3),
            Draft::new("TLeafI").with("fMaximum", "three"),
            Draft::new("TBranch").with("fMaxBaskets", 3).with("fBasketBytes", vec![1_i32, 2]),
            Draft::new("Nobody"),
        ] {
            assert!(Encoder::record(70, &Arc::new(draft)).is_err());
        }
    }

    use crate::object::Value;
}

//! `TObject`: the base of most of ROOT's classes, which has two members and a streamer of its own.
//!
//! Format page: `docs/format/framing.md`. Source: `TObject::Streamer`.

use std::sync::Arc;

use crate::column::Number;
use crate::error::{Error, Result};
use crate::schema::IS_REFERENCED;
use crate::write::model::class::{Class, Member, Type};
use crate::write::model::columns::Column;
use crate::write::model::number_codes::COUNTER;

const NAME: &str = "TObject";
const BITS: &str = "fBits";
/// `fType` of `fBits`: the number of a process may be behind it.
pub(crate) const BITS_CODE: i32 = 15;
/// The same of bases that are `TObject` or `TNamed`.
const TOBJECT_CODE: i32 = 66;
const TNAMED_CODE: i32 = 67;
/// `fType` of a base that is left out: its class called `IgnoreTObjectStreamer`.
pub(crate) const IGNORED_CODE: i32 = -1;

/// The members of a `TObject` that was just made, as ROOT stores them: no number, and no bits, since those that say
/// where it is in memory (`kNotDeleted`, `kIsOnHeap`) are set by readers.
pub const NEW_OBJECT: [(&str, u32); 2] = [("fUniqueID", 0), (BITS, 0)];

impl Class {
    /// `TObject`, for classes that derive from it.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::column::Number;
    /// use sapwood::write::{Class, Column, Type};
    /// let hit = Class::new("Hit").base(Class::tobject()).member("x", Type::Number(Number::F32)).with_version(1);
    /// let hits = Column::Record(2, vec![Column::new_objects(2), Column::from(&[0.5_f32, 1.5])]);
    /// hits.check(&Type::Object(hit.into()))?;
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn tobject() -> Arc<Self> {
        const CHECKSUM: u32 = 0x901b_c02d;
        let members = NEW_OBJECT
            .iter()
            .fold(Self::new(NAME).with_version(1), |class, (name, _)| class.member(*name, Type::Number(Number::U32)));
        Arc::new(Self { known_checksum: Some(CHECKSUM), ..members })
    }

    /// `TNamed`, for classes that derive from it: a name and a title.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::write::{Class, Column, Type};
    /// let text = Column::Lists(vec![2], Box::new(Column::from(b"ab")));
    /// let named = Column::Record(1, vec![Column::new_objects(1), text.clone(), text]);
    /// named.check(&Type::Object(Class::tnamed()))?;
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn tnamed() -> Arc<Self> {
        const CHECKSUM: u32 = 0xdfb7_4a3c;
        let class = Self::new("TNamed").with_version(1).base(Self::tobject());
        let class = class.member("fName", Type::RootText).member("fTitle", Type::RootText);
        Arc::new(Self { known_checksum: Some(CHECKSUM), ..class })
    }

    /// `TObject` in a file that lists so many processes whose objects can be referred to.
    pub(crate) fn tobject_in(processes: u16) -> Arc<Self> {
        Arc::new(Self { processes, ..(*Self::tobject()).clone() })
    }

    /// `TObject` as a base that is not written.
    pub(crate) fn ignored_tobject() -> Arc<Self> {
        Arc::new(Self { members: Vec::new(), ..(*Self::tobject()).clone() })
    }

    /// Whether it is `TObject`.
    pub(crate) fn is_tobject(&self) -> bool {
        &*self.name == NAME
    }

    /// Whether it is `TObject` or derives from it: it has a `ClassDef` then.
    pub(crate) fn derives_from_tobject(&self) -> bool {
        let is_one = |member: &Member| match &member.kind {
            Type::Object(base) => member.is_base && base.derives_from_tobject(),
            _ => false,
        };
        self.is_tobject() || self.members.iter().any(is_one)
    }

    /// `fType` of a base of this class.
    pub(crate) fn code_as_base(&self) -> i32 {
        match &*self.name {
            NAME if self.members.is_empty() => IGNORED_CODE,
            NAME => TOBJECT_CODE,
            "TNamed" => TNAMED_CODE,
            _ => 0,
        }
    }

    /// `fType` of a member that is an object of this class.
    pub(super) fn code_as_member(&self) -> i32 {
        const OBJECT: i32 = 61;
        const ANY_OBJECT: i32 = 62;
        match self.code_as_base() {
            code if code > 0 => code,
            _ if self.is_of_root() => OBJECT,
            _ => ANY_OBJECT,
        }
    }

    /// `fType` of a member that points to an object of this class.
    pub(super) fn code_as_pointee(&self) -> i32 {
        const OBJECT: i32 = 64;
        const ANY_OBJECT: i32 = 69;
        if self.is_of_root() { OBJECT } else { ANY_OBJECT }
    }

    /// Whether ROOT takes its objects for `TObject`s.
    pub(super) fn is_of_root(&self) -> bool {
        self.derives_from_tobject() || self.is_reference() || self.is_root_list()
    }

    /// `fType` of a member of this class that is no base.
    pub(crate) fn code_of(&self, member: &Member) -> i32 {
        match member.is_counter {
            _ if self.is_tobject() && &*member.name == BITS => BITS_CODE,
            true => COUNTER,
            false => member.kind.code(),
        }
    }
}

impl Column {
    /// The members of so many `TObject`s that were just made, for the base of classes that derive from it.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::write::{Class, Column, Type};
    /// let objects = Column::new_objects(3);
    /// assert_eq!(objects.len(), 3);
    /// objects.check(&Type::Object(Class::tobject()))?;
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn new_objects(objects: usize) -> Self {
        let members = NEW_OBJECT.iter().map(|&(_, value)| Self::from(&vec![value; objects][..]));
        Self::Record(objects, members.collect())
    }

    /// Whether its rows hold nothing.
    pub(crate) fn is_hollow(&self) -> bool {
        matches!(self, Self::Record(_, columns) if columns.is_empty())
    }

    /// Refuses `TObject`s that something refers to, unless there is only one process that they can belong to: which one
    /// it is, values do not say.
    pub(crate) fn check_tobject(class: &Class, columns: &[Self]) -> Result<()> {
        let at = class.members.iter().position(|member| &*member.name == BITS);
        let Some(Self::Numbers(_, bytes)) = at.and_then(|at| columns.get(at)) else { return Ok(()) };
        if class.processes == 1 {
            return Ok(());
        }
        let (words, _) = bytes.as_chunks::<4>();
        match words.iter().position(|word| u32::from_ne_bytes(*word) & IS_REFERENCED != 0) {
            Some(row) => Err(Error::mismatch(format!(
                "fBits of object {row} has the bit kIsReferenced (16), and values do not say whose reference that is: \
                 clear the bit, or add the entries by merging their file into this one"
            ))),
            None => Ok(()),
        }
    }
}

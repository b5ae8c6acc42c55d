//! Types of objects that are written: what C++ would call them, and the StreamerInfo that describes them.
//!
//! Format page: `docs/format/streamerinfo.md`. Source: `TClass::GetCheckSum`.

use std::borrow::Cow;
use std::sync::Arc;

use crate::column::Number;
use crate::error::{Error, Result};
use crate::schema::{ClonesForm, Mapping, Sequence};
use crate::write::model::number_codes::{ARRAY, COUNTED, code, cpp_name};

/// The type of a value, as C++ would declare it.
///
/// # Example
///
/// ```
/// use sapwood::column::Number;
/// use sapwood::write::Type;
/// let hits = Type::vector(Type::Number(Number::F32));
/// assert_eq!(Type::vector(hits).name(), "vector<vector<float> >");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// A number.
    Number(Number),
    /// Numbers in an array of fixed extents.
    Array(Number, Vec<u32>),
    /// `std::string`.
    Text,
    /// `TString`.
    RootText,
    /// `std::vector`, `std::set` and their kin.
    Sequence(Sequence, Arc<Type>),
    /// `std::map` and its kin.
    Mapping(Mapping, Arc<Type>, Arc<Type>),
    /// An object of a class.
    Object(Arc<Class>),
    /// A pointer to an object, or null.
    Pointer(Arc<Class>),
    /// Numbers, as many as a member before it says, which is an `int`: `float *x; //[n]`.
    Counted(Number, Arc<str>),
    /// A `TClonesArray`.
    Clones(Arc<Clones>),
    /// `TArrayF` and its kin: numbers, as many as there are.
    RootArray(Number),
}

/// A class of objects.
///
/// # Example
///
/// ```
/// use sapwood::column::Number;
/// use sapwood::write::{Class, Type};
/// let point = Class::new("Pos").member("x", Type::Number(Number::F64)).member("y", Type::Number(Number::F64));
/// assert_eq!(point.checksum(), 1_565_559_781, "what ROOT computes for struct Pos {{ double x, y; }}");
/// ```
///
/// ```
/// use std::sync::Arc;
/// use sapwood::column::Number;
/// use sapwood::write::{Class, Type};
/// let header = Arc::new(Class::new("Header").member("run", Type::Number(Number::I32)));
/// let event = Class::new("Event").base(header).member("energy", Type::Number(Number::F64)).was("fE").with_version(2);
/// assert_eq!((event.version, event.info().elements.len()), (Some(2), 2));
/// ```
#[derive(Clone, Debug)]
pub struct Class {
    /// Its C++ name.
    pub name: Arc<str>,
    /// The version of its `ClassDef`; none for a class without one: it is then identified by its checksum.
    pub version: Option<i16>,
    /// Bases first, then members, in storage order.
    pub members: Vec<Member>,
    /// The checksum recorded in a file: it covers typedefs, which are not known here.
    pub(crate) known_checksum: Option<u32>,
    /// Whether ROOT does not split its objects, since it has a streamer of its own.
    pub(crate) is_unsplit: bool,
    /// Of `TObject`, `TRef` and `TRefArray`: how many processes the file lists whose objects can be referred to.
    pub(crate) processes: u16,
}

/// A base or a member of a class.
#[derive(Clone, Debug)]
pub struct Member {
    /// The name; of a base that of its class.
    pub name: Arc<str>,
    /// The type; of a base an object.
    pub kind: Type,
    /// Whether it is a base.
    pub is_base: bool,
    /// Whether it stays one branch where objects of the class are split: its comment begins with `||`.
    pub is_whole: bool,
    /// Former names, under which it is found in older files.
    pub was: Vec<Arc<str>>,
    /// Whether ROOT describes it as the length of arrays of its class, or of one that derives from it.
    pub(crate) is_counter: bool,
}

/// What a member that is a `TClonesArray` holds. No StreamerInfo tells it: of a tree that exists it is found in its
/// entries.
///
/// # Example
///
/// ```
/// use sapwood::write::{Class, Column, Type};
/// let tracks = Type::clones(Class::new("Track").base(Class::tobject()).with_version(1).into());
/// let values = Column::Lists(vec![2, 3], Box::new(Column::Record(3, vec![Column::new_objects(3)])));
/// values.check(&tracks)?;
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Clones {
    /// The class of the objects.
    pub class: Arc<Class>,
    /// How it stands where it is not split.
    pub(crate) form: Arc<ClonesForm>,
}

/// The processes of its file are not part of its identity.
impl PartialEq for Class {
    fn eq(&self, other: &Self) -> bool {
        let of = |class: &Self| (class.version, class.known_checksum, class.is_unsplit);
        self.name == other.name && self.members == other.members && of(self) == of(other)
    }
}

/// Former names are not part of its identity.
impl PartialEq for Member {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.kind == other.kind && self.is_base == other.is_base
    }
}

impl Member {
    /// A member that is no base.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::column::Number;
    /// use sapwood::write::{Class, Member, Type};
    /// let mut class = Class::new("Hit");
    /// class.members.push(Member::new("x", Type::Number(Number::F32)));
    /// assert_eq!(class, Class::new("Hit").member("x", Type::Number(Number::F32)));
    /// ```
    pub fn new(name: impl Into<Arc<str>>, kind: Type) -> Self {
        Self { name: name.into(), kind, is_base: false, is_whole: false, was: Vec::new(), is_counter: false }
    }

    /// A base.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::write::{Class, Member};
    /// assert!(Member::base(Class::tobject()).is_base);
    /// ```
    pub fn base(class: Arc<Class>) -> Self {
        Self { is_base: true, ..Self::new(Arc::clone(&class.name), Type::Object(class)) }
    }
}

impl Type {
    /// A `std::vector` of items.
    pub fn vector(item: Self) -> Self {
        Self::sequence(Sequence::Vector, item)
    }

    /// A container of items.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::schema::Sequence;
    /// use sapwood::write::Type;
    /// assert_eq!(Type::sequence(Sequence::Set, Type::Text).name(), "set<string>");
    /// ```
    pub fn sequence(kind: Sequence, item: Self) -> Self {
        Self::Sequence(kind, Arc::new(item))
    }

    /// A `std::map`.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::column::Number;
    /// use sapwood::write::Type;
    /// assert_eq!(Type::map(Type::Text, Type::Number(Number::I32)).name(), "map<string,int>");
    /// ```
    pub fn map(key: Self, value: Self) -> Self {
        Self::mapping(Mapping::Map, key, value)
    }

    /// A container of pairs.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::column::Number;
    /// use sapwood::schema::Mapping;
    /// use sapwood::write::Type;
    /// let places = Type::mapping(Mapping::UnorderedMap, Type::Text, Type::Number(Number::I32));
    /// assert_eq!(places.name(), "unordered_map<string,int>");
    /// ```
    pub fn mapping(kind: Mapping, key: Self, value: Self) -> Self {
        Self::Mapping(kind, Arc::new(key), Arc::new(value))
    }

    /// Its C++ name, as ROOT spells it.
    pub fn name(&self) -> String {
        let closed = |inner: String| if inner.ends_with('>') { inner + " >" } else { inner + ">" };
        match self {
            Self::Number(number) | Self::Array(number, _) => cpp_name(*number).to_owned(),
            Self::Text => "string".to_owned(),
            Self::RootText => "TString".to_owned(),
            Self::Sequence(kind, item) => closed(format!("{}<{}", kind.name(), item.item().name())),
            Self::Mapping(kind, key, value) => closed(format!("{}<{},{}", kind.name(), key.name(), value.name())),
            Self::Object(class) => class.name.to_string(),
            Self::Pointer(class) => format!("{}*", class.name),
            Self::Counted(number, _) => format!("{}*", cpp_name(*number)),
            Self::Clones(clones) => clones.type_name().to_owned(),
            Self::RootArray(number) => Self::root_array_name(*number).to_owned(),
        }
    }

    /// Its type as an item of a container, where C++ has no built-in arrays.
    fn item(&self) -> Cow<'_, Self> {
        match self {
            Self::Array(number, extents) => Cow::Owned(Self::Object(Arc::new(array(*number, extents)))),
            other => Cow::Borrowed(other),
        }
    }

    /// The class whose members are the columns of a collection's items; none if they are not objects.
    pub(crate) fn item_class(&self) -> Option<Arc<Class>> {
        match self {
            Self::Sequence(_, item) => match &**item {
                Self::Object(class) => Some(Arc::clone(class)),
                _ => None,
            },
            Self::Mapping(_, key, value) => Some(Arc::new(pair(key, value))),
            Self::Clones(clones) => Some(Arc::clone(&clones.class)),
            _ => None,
        }
    }

    /// The classes in it, dependencies first.
    pub(crate) fn classes(&self, found: &mut Vec<Arc<Class>>) {
        match self {
            // Without members it is a base that is left out.
            Self::Object(class) if class.is_tobject() && class.members.is_empty() => {}
            // ROOT streams it by hand.
            Self::Object(class) | Self::Pointer(class) if class.is_reference() || class.is_root_list() => {}
            Self::Clones(clones) => Self::Object(Arc::clone(&clones.class)).classes(found),
            Self::Object(class) | Self::Pointer(class) => {
                if !found.iter().any(|known| known.name == class.name) {
                    class.members.iter().for_each(|member| member.kind.classes(found));
                    found.push(Arc::clone(class));
                }
            }
            Self::Sequence(_, item) => item.item().classes(found),
            Self::Mapping(_, key, value) => Self::Object(Arc::new(pair(key, value))).classes(found),
            Self::Number(_)
            | Self::Array(..)
            | Self::Text
            | Self::RootText
            | Self::Counted(..)
            | Self::RootArray(_) => {}
        }
    }

    /// `fStreamerType` of a branch, and `fType` of a member, but for collections.
    pub(crate) fn code(&self) -> i32 {
        const COLLECTION: i32 = 300;
        match self {
            Self::Number(number) => code(*number),
            Self::Array(number, _) => code(*number) + ARRAY,
            Self::Text | Self::Sequence(..) | Self::Mapping(..) => COLLECTION,
            Self::RootText => 65,
            Self::Object(class) => class.code_as_member(),
            Self::RootArray(_) => 62,
            Self::Pointer(class) => class.code_as_pointee(),
            Self::Counted(number, _) => code(*number) + COUNTED,
            Self::Clones(clones) => clones.code(),
        }
    }

    /// Refuses what C++ or ROOT cannot hold.
    pub(crate) fn check(&self) -> Result<()> {
        self.check_in(&mut Vec::new())
    }

    fn check_in(&self, within: &mut Vec<Arc<str>>) -> Result<()> {
        match self {
            // The class that it is in looks for its counter.
            Self::Number(_) | Self::Text | Self::RootText | Self::Counted(..) | Self::RootArray(_) => Ok(()),
            Self::Array(_, extents) => {
                let items = extents.iter().try_fold(1_u32, |product, &extent| product.checked_mul(extent));
                if extents.is_empty() || extents.len() > 5 || items.is_none_or(|items| items == 0 || items > 1 << 28) {
                    return Err(Error::mismatch(format!("an array cannot have the extents {extents:?}")));
                }
                Ok(())
            }
            Self::Sequence(Sequence::RVec, _) => Err(Error::unsupported(format!("{} cannot be written", self.name()))),
            Self::Sequence(kind, item) => {
                let has_order = !matches!(
                    kind,
                    Sequence::Set | Sequence::MultiSet | Sequence::UnorderedSet | Sequence::UnorderedMultiSet
                );
                match &**item {
                    // ROOT keeps only the first row of these.
                    Self::Array(_, extents) if extents.len() > 1 => Err(Error::unsupported(format!(
                        "{}: arrays of arrays in containers cannot be written",
                        self.name()
                    ))),
                    Self::Array(..) | Self::Pointer(_) if !has_order => Err(Error::unsupported(format!(
                        "{}: sets of arrays or pointers cannot be written",
                        self.name()
                    ))),
                    Self::Counted(..) | Self::Clones(_) | Self::RootArray(_) => {
                        Err(Error::unsupported(format!("{}: only classes have such members", self.name())))
                    }
                    item => item.check_in(within),
                }
            }
            Self::Mapping(_, key, value) => match (&**key, &**value) {
                (
                    Self::Number(_) | Self::Text,
                    Self::Array(..) | Self::Pointer(_) | Self::Counted(..) | Self::Clones(_) | Self::RootArray(_),
                ) => Err(Error::unsupported(format!("{} cannot be written", self.name()))),
                (Self::Number(_) | Self::Text, value) => value.check_in(within),
                _ => Err(Error::unsupported(format!("{}: keys are numbers or strings", self.name()))),
            },
            Self::Object(class) | Self::Pointer(class) => class.check_in(within),
            Self::Clones(clones) => clones.check_in(within),
        }
    }
}

impl Class {
    /// A class without members, and without a `ClassDef`.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            version: None,
            members: Vec::new(),
            known_checksum: None,
            is_unsplit: false,
            processes: 0,
        }
    }

    /// The same with a member more.
    #[must_use]
    pub fn member(mut self, name: impl Into<Arc<str>>, kind: Type) -> Self {
        self.members.push(Member::new(name, kind));
        self
    }

    /// The same with a base more.
    #[must_use]
    pub fn base(mut self, class: Arc<Self>) -> Self {
        self.members.push(Member::base(class));
        self
    }

    /// The same, with a former name of its last base or member.
    #[must_use]
    pub fn was(mut self, name: &str) -> Self {
        if let Some(member) = self.members.last_mut() {
            member.was.push(name.into());
        }
        self
    }

    /// The same with a `ClassDef` of this version.
    #[must_use]
    pub fn with_version(mut self, version: i16) -> Self {
        self.version = Some(version);
        self
    }

    /// Refuses invalid names, and classes that contain themselves.
    pub(super) fn check_in(&self, within: &mut Vec<Arc<str>>) -> Result<()> {
        if within.contains(&self.name) {
            return Err(Error::unsupported(format!("class {} holds itself", self.name)));
        }
        let is_name = |name: &str, more: &str| {
            let first = name.chars().next().is_some_and(|first| first.is_alphabetic() || first == '_');
            first && name.chars().all(|c| c.is_alphanumeric() || c == '_' || more.contains(c))
        };
        if !is_name(&self.name, ":<>, *") || self.version.is_some_and(|version| version < 1) {
            let version = self.version.map_or_else(String::new, |version| format!(" (version {version})"));
            let words = format!("{:?}{version} cannot be a class", self.name);
            return Err(Error::mismatch(words));
        }
        within.push(Arc::clone(&self.name));
        for (index, member) in self.members.iter().enumerate() {
            let again = self.members[..index].iter().any(|before| before.name == member.name);
            if again || !member.is_base && !is_name(&member.name, "") {
                let words = format!("class {} cannot have a member {:?} (here or twice)", self.name, member.name);
                return Err(Error::mismatch(words));
            }
            self.check_counter(member, &self.members[..index]).map_err(|error| error.in_object(&self.name))?;
            member.kind.check_in(within).map_err(|error| error.in_object(&member.name).in_object(&self.name))?;
        }
        within.pop();
        Ok(())
    }

    /// `TClass::GetCheckSum`: of the name, the bases with theirs, and names, types and extents of the members.
    pub fn checksum(&self) -> u32 {
        if let Some(known) = self.known_checksum {
            return known;
        }
        let add = |sum: u32, number: u32| sum.wrapping_mul(3).wrapping_add(number);
        let text = |sum: u32, text: &str| text.bytes().fold(sum, |sum, byte| add(sum, u32::from(byte)));
        let mut sum = text(0, &self.name);
        for member in &self.members {
            sum = text(sum, &member.name);
            if member.is_base {
                if let Type::Object(base) = &member.kind {
                    sum = add(sum, base.checksum());
                }
                continue;
            }
            sum = text(sum, &member.kind.name());
            match &member.kind {
                Type::Array(_, extents) => sum = extents.iter().fold(sum, |sum, &extent| add(sum, extent)),
                // It stands in the comment.
                Type::Counted(_, counter) => sum = text(sum, counter),
                _ => {}
            }
        }
        sum
    }

    /// Whether its objects hold no data: it has no members but bases without data.
    pub(crate) fn is_hollow(&self) -> bool {
        let is_base = |member: &Member| match &member.kind {
            Type::Object(base) => member.is_base && base.is_hollow(),
            _ => false,
        };
        self.members.iter().all(is_base)
    }
}

/// The class of a map's items.
pub(crate) fn pair(key: &Type, value: &Type) -> Class {
    let inner = format!("pair<{},{}", key.name(), value.name());
    let name = if inner.ends_with('>') { inner + " >" } else { inner + ">" };
    Class::new(name).member("first", key.clone()).member("second", value.clone())
}

/// The class of an array as an item of a container: `std::array`.
fn array(number: Number, extents: &[u32]) -> Class {
    let length: u32 = extents.iter().fold(1, |length, &extent| length.saturating_mul(extent));
    let name = format!("array<{},{length}>", cpp_name(number));
    Class::new(name).member(ARRAY_MEMBER, Type::Array(number, vec![length]))
}

/// The only member of `std::array`, as GCC has it.
pub(crate) const ARRAY_MEMBER: &str = "_M_elems";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_root() {
        let number = Type::Number;
        let float = || number(Number::F32);
        let point = Arc::new(Class::new("Pos").member("x", number(Number::F64)).member("y", number(Number::F64)));
        let base = Arc::new(Class::new("Base").member("run", number(Number::I32)).member("w", Type::vector(float())));
        assert_eq!(base.checksum(), 3_481_294_657);
        let track = Class::new("Track")
            .member("pt", float())
            .member("q", number(Number::I16))
            .member("at", Type::Object(Arc::clone(&point)))
            .member("hits", Type::vector(number(Number::I32)))
            .member("tag", Type::Text)
            .member("cov", Type::Array(Number::F32, vec![3]));
        assert_eq!(track.checksum(), 1_167_034_881);
        let track = Arc::new(track);
        let event = Class::new("Event")
            .base(base)
            .member("n", number(Number::I32))
            .member("arr", Type::Array(Number::F64, vec![3]))
            .member("ok", number(Number::Bool))
            .member("name", Type::Text)
            .member("vf", Type::vector(float()))
            .member("tracks", Type::vector(Type::Object(Arc::clone(&track))))
            .member("points", Type::vector(Type::Object(Arc::clone(&point))))
            .member("vertex", Type::Object(Arc::clone(&point)))
            .member("counts", Type::map(Type::Text, number(Number::I32)))
            .member("words", Type::vector(Type::Text))
            .member("opt", Type::Pointer(point))
            .member("best", Type::Object(track))
            .member("vv", Type::vector(Type::vector(number(Number::F64))));
        assert_eq!(event.checksum(), 2_778_764_303);
        assert_eq!(pair(&number(Number::I32), &number(Number::F64)).checksum(), 3_270_786_586);
        assert_eq!(array(Number::F32, &[3]).checksum(), 1_882_069_520);
        Type::Object(Arc::new(event)).check().unwrap();
    }

    #[test]
    fn what_cannot_be_a_class_is_refused() {
        let number = || Type::Number(Number::F32);
        let inner = Arc::new(Class::new("A").member("x", number()));
        for class in [
            Class::new("3rd"),
            Class::new("C").member("a b", number()),
            Class::new("C").member("x", number()).member("x", number()),
            Class::new("A").member("a", Type::Object(inner)),
            Class::new("C").member("x", Type::Array(Number::F32, vec![0])),
            Class::new("C").with_version(-1),
        ] {
            assert!(Type::Object(Arc::new(class)).check().is_err());
        }
    }
}

//! Classes of entries that are added to a tree: as its file describes them, and as the entries that are there tell.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::column::{Number, Prim};
use crate::error::{Error, Result};
use crate::read::RawBasket;
use crate::schema::{
    CLONES_ARRAY, ClonesForm, Detail, Element, EntryBytes, EntryForms, MemberName, Registry, StreamerInfo, TypeName,
    is_custom,
};
use crate::tree::{Branch, Tree, element_kind};
use crate::write::file::process_id;
use crate::write::model::class::{Class, Clones, Member, Type};
use crate::write::model::number_codes::{self, ARRAY, COUNTED, COUNTER};
use crate::write::model::tobject::IGNORED_CODE;

/// Classes within classes.
const DEEPEST: u32 = 64;
/// Baskets of a branch that are searched for what its entries tell.
const MOST_BASKETS: usize = 8;

/// The classes of the values of one top-level branch.
pub(super) struct FoundClasses<'t> {
    registry: &'t Registry,
    /// What members that are `TClonesArray` hold; none where several things.
    clones: HashMap<MemberName, Option<ClonesForm>>,
    /// Versions and checksums of classes whose members have branches of their own: those of the tree, which may be
    /// others than the newest of the file.
    versions: HashMap<Arc<str>, (i32, u32)>,
    /// Classes of members that are objects in one branch where others are split: those with a streamer of their own,
    /// which no description tells.
    unsplit: HashSet<Arc<str>>,
    /// How many processes the file lists.
    processes: u16,
    /// Whether the objects of any collection stand member by member, where there are such.
    pub(super) is_member_wise: Option<bool>,
    /// Classes that have a `ClassDef`, as far as entries tell.
    numbered: HashSet<Arc<str>>,
}

impl<'t> FoundClasses<'t> {
    /// Those of a branch with all its sub-branches.
    ///
    /// # Errors
    ///
    /// Those of reading entries that have a `TClonesArray` in them.
    pub(super) fn new(tree: &'t Tree, branch: &Branch) -> Result<Self> {
        let processes = process_id::count(tree.file());
        let mut found = Self {
            registry: tree.registry(),
            clones: HashMap::new(),
            versions: HashMap::new(),
            unsplit: HashSet::new(),
            processes,
            is_member_wise: None,
            numbered: HashSet::new(),
        };
        let (mut left, mut all) = (vec![(branch.id, false)], Vec::new());
        while let Some((id, could_be_split)) = left.pop()
            && let Some(branch) = tree.branches().get(id)
        {
            // Members use up a level.
            left.extend(branch.children.iter().map(|&child| (child, branch.split_level > 1)));
            all.push(branch);
            found.unsplit.extend(found.whole_class(branch).filter(|_| could_be_split));
            if let Some(element) = branch.element.as_ref().filter(|element| element.id >= 0) {
                let version = (element.class_version, element.checksum);
                found.versions.entry(Arc::clone(&element.class_name)).or_insert(version);
            }
        }
        for branch in &all {
            if let Some(element) = branch.element.as_ref().filter(|element| element.id >= 0) {
                found.unsplit.remove(&element.class_name);
            }
        }
        let (mut told, mut untold) = (HashSet::new(), Vec::new());
        for branch in all {
            let forms = found.forms_of(tree, branch)?;
            if let Some(class) = found.whole_class(branch).filter(|class| found.unsplit.contains(class)) {
                match forms.is_told || items_are_as_described(tree, branch)? {
                    true => drop(told.insert(class)),
                    false => untold.push((class, &branch.path)),
                }
            }
            found.is_member_wise = any(found.is_member_wise, forms.is_member_wise);
            found.numbered.extend(forms.numbered);
            for (member, form) in forms.clones {
                let known = found.clones.entry(member).or_insert_with(|| Some(form.clone()));
                if known.as_ref().is_none_or(|known| known.class != form.class) {
                    *known = None;
                }
            }
        }
        // A streamer of its own may write something else than what is described.
        if let Some((class, path)) = untold.into_iter().find(|(class, _)| !told.contains(class)) {
            let what = format!("objects of class {class}, which is not split, where no entry tells how they stand,");
            return Err(not_as_values(&what).in_object(path));
        }
        Ok(found)
    }

    /// The member whose values a branch has.
    fn member_of(&self, branch: &Branch) -> Option<&'t Element> {
        let element = branch.element.as_ref()?;
        let info = self.registry.info(&element.class_name, Some(element.class_version), Some(element.checksum))?;
        info.elements.get(usize::try_from(element.id).ok()?)
    }

    /// The class of a member that is an object, where the branch has no others below it.
    fn whole_class(&self, branch: &Branch) -> Option<Arc<str>> {
        let member = self.member_of(branch).filter(|_| branch.children.is_empty())?;
        let is_object = matches!(member.code, 61 | 62) && member.array_length == 0 && !is_custom(&member.type_name);
        is_object.then(|| Arc::clone(&member.type_name))
    }

    /// What a branch tells: a split array says what it holds, entries with whole ones do.
    fn forms_of(&self, tree: &Tree, branch: &Branch) -> Result<EntryForms> {
        let element = branch.element.as_ref().filter(|_| branch.has_data());
        let Some(element) = element else { return Ok(EntryForms::default()) };
        let name = self.member_of(branch).map(|member| (Arc::clone(&element.class_name), Arc::clone(&member.name)));
        if element.kind == element_kind::CLONES {
            let class = &element.clones_name;
            let version = self.info(class, None, None).map_or(1, |info| info.version);
            let clones = name.map(|name| (name, ClonesForm::new(class, version))).into_iter().collect();
            return Ok(EntryForms { clones, ..EntryForms::default() });
        }
        if element.kind != element_kind::LEAF {
            return Ok(EntryForms::default());
        }
        // What cannot be read is refused by another name.
        let Ok(interpretation) = tree.interpretation(branch.id) else { return Ok(EntryForms::default()) };
        if !EntryForms::can_be_in(&interpretation.program) {
            return Ok(EntryForms::default());
        }
        let limits = &tree.file().options().limits;
        let (program, mut found) = (&interpretation.program, EntryForms::default());
        // What an array holds, no other place tells.
        let is_needed = EntryForms::has_clones(program);
        // The last entry tells most often; an array in a list may be in few.
        for number in (0..branch.baskets().len()).rev().take(MOST_BASKETS) {
            let basket = match RawBasket::read(tree, branch.id, number) {
                Ok(basket) => basket,
                Err(error) if is_needed => return Err(error.in_object(&branch.path)),
                Err(_) => return Ok(found),
            };
            let keylen = basket.key.as_ref().map_or(0, |key| usize::from(key.keylen));
            let starts = basket.starts.as_deref().unwrap_or_default();
            for entry in starts.windows(2).rev().filter(|entry| entry[0] < entry[1]) {
                let entry = entry[0] as usize..entry[1] as usize;
                let bytes = EntryBytes { data: &basket.data, entry, keylen };
                let told = EntryForms::read(self.registry, program, name.clone(), &bytes, limits);
                found.add(told.map_err(|error| {
                    not_as_values("entries that are not as their classes are described")
                        .because(error.in_basket(number as u32).in_object(&branch.path))
                })?);
                if !is_needed || !found.clones.is_empty() {
                    return Ok(found);
                }
            }
        }
        Ok(found)
    }

    /// The description of a class: of the version that is asked for, or that the tree's branches have, or of the
    /// newest.
    fn info(&self, name: &str, version: Option<i32>, checksum: Option<u32>) -> Option<&'t Arc<StreamerInfo>> {
        let is_open = version.is_none() && checksum.is_none();
        let (version, checksum) = match self.versions.get(name) {
            Some(&(version, checksum)) if is_open => (Some(version), Some(checksum)),
            _ => (version, checksum),
        };
        self.registry.info(name, version, checksum)
    }

    /// A class as its file describes it.
    pub(super) fn class_of(
        &self,
        (name, version, checksum): (&str, Option<i32>, Option<u32>),
        depth: u32,
    ) -> Result<Arc<Class>> {
        if depth > DEEPEST {
            return Err(Error::limit("classes nest too deep", u64::from(DEEPEST), u64::from(depth)));
        }
        match name {
            "TObject" => return Ok(Class::tobject_in(self.processes)),
            "TRef" => return Ok(Arc::new(Class::reference_in(self.processes))),
            "TRefArray" => return Ok(Arc::new(Class::references_in(self.processes))),
            _ => {}
        }
        if let Some(list) = Class::root_list(name) {
            return Ok(Arc::new(list));
        }
        if is_custom(name) || Registry::is_streamed_by_hand(name) {
            return Err(not_as_values(&format!("objects of class {name}, which ROOT streams by hand,")));
        }
        let unknown = || Error::unsupported(format!("class {name} is not described"));
        let info = self.info(name, version, checksum).ok_or_else(unknown)?;
        let mut class = Class::new(&*info.name);
        class.is_unsplit = self.unsplit.contains(&info.name);
        class.known_checksum = Some(info.checksum);
        for element in &info.elements {
            let member = self.member(&info.name, element, depth).map_err(|error| error.in_object(&element.name))?;
            class.members.push(member);
        }
        // A class without `ClassDef` has version 1 in its description, too. Which of the two it is makes no difference
        // to a reader, and entries may tell.
        let least = if class.derives_from_tobject() || self.numbered.contains(&class.name) { 1 } else { 2 };
        class.version = i16::try_from(info.version).ok().filter(|&version| version >= least);
        Ok(Arc::new(class))
    }

    fn member(&self, class: &Arc<str>, element: &Element, depth: u32) -> Result<Member> {
        const LAST_NUMBER: i32 = 19;
        let name = Arc::clone(&element.name);
        let wrong = || not_as_values(&format!("members of type {}", element.type_name));
        let number = |of: i32| number(element.code - of).ok_or_else(wrong);
        let is_whole = element.title.starts_with("||");
        let kind = match (&element.detail, element.code) {
            (Detail::Base { .. }, _) if let Some(array) = Type::root_array(&name) => {
                return Ok(Member { is_base: true, ..Member::new(name, array) });
            }
            (Detail::Base { version }, code) => {
                let version = Some(*version).filter(|&version| version > 0);
                let base = match code == IGNORED_CODE && &*name == "TObject" {
                    true => Class::ignored_tobject(),
                    false => self.class_of((&name, version, None), depth + 1)?,
                };
                return Ok(Member { name, ..Member::base(base) });
            }
            (_, COUNTER) => {
                return Ok(Member { is_counter: true, ..Member::new(name, Type::Number(Number::I32)) });
            }
            (_, code) if code > 0 && code <= LAST_NUMBER => Type::Number(number(0)?),
            (_, code) if code > ARRAY && code <= ARRAY + LAST_NUMBER => {
                Type::Array(number(ARRAY)?, element.extents.clone())
            }
            (Detail::Counted { is_loop: false, count_name, .. }, code)
                if code > COUNTED && code <= COUNTED + LAST_NUMBER && element.array_length == 0 =>
            {
                Type::Counted(number(COUNTED)?, Arc::clone(count_name))
            }
            (_, 61..=64 | 69)
                if element.array_length == 0 && element.type_name.trim_end_matches('*') == CLONES_ARRAY =>
            {
                self.clones(class, element, depth)?
            }
            (_, 65) if element.array_length == 0 => Type::RootText,
            (_, 61 | 62)
                if element.array_length == 0
                    && let Some(array) = Type::root_array(&element.type_name) =>
            {
                array
            }
            (_, 61 | 62 | 66 | 67) if element.array_length == 0 => {
                Type::Object(self.class_of((&element.type_name, None, None), depth + 1)?)
            }
            // A pointer that is never null, and never split.
            (_, 63 | 68) if element.array_length == 0 => {
                let pointee = element.type_name.trim_end_matches(['*', ' ']);
                let kind = Type::Object(self.class_of((pointee, None, None), depth + 1)?);
                return Ok(Member { is_whole: true, ..Member::new(name, kind) });
            }
            (_, 64 | 69) if element.array_length == 0 => {
                self.pointer(element.type_name.trim_end_matches(['*', ' ']), depth)?
            }
            (Detail::Stl { .. } | Detail::StlString, _) if element.array_length == 0 => {
                self.of_name(&TypeName::parse(&element.type_name).map_err(|_| wrong())?, depth)?
            }
            _ => return Err(wrong()),
        };
        Ok(Member { is_whole, ..Member::new(name, kind) })
    }

    /// A pointer to objects of one class. Those to ROOT's own base classes (`TH1`) lead to others, and values do not
    /// tell to which.
    fn pointer(&self, class: &str, depth: u32) -> Result<Type> {
        let pointee = self.class_of((class, None, None), depth + 1)?;
        let is_base = StreamerInfo::of_root(class).is_some() && !self.registry.is_final(class);
        if is_base && !pointee.is_root_list() {
            let what = format!("pointers to {class}, which others of the file's classes derive from,");
            return Err(not_as_values(&what));
        }
        Ok(Type::Pointer(pointee))
    }

    fn of_name(&self, name: &TypeName, depth: u32) -> Result<Type> {
        Ok(match name {
            TypeName::Number(Prim::Plain(number)) => Type::Number(*number),
            TypeName::StdString => Type::Text,
            TypeName::Sequence(kind, item) => Type::sequence(*kind, self.of_name(item, depth + 1)?),
            TypeName::Mapping(kind, key, value) => {
                Type::mapping(*kind, self.of_name(key, depth + 1)?, self.of_name(value, depth + 1)?)
            }
            TypeName::Class(class) => Type::Object(self.class_of((class, None, None), depth + 1)?),
            TypeName::Pointer(class) => self.pointer(&class.to_string(), depth)?,
            TypeName::Array(item, len) => match (&**item, u32::try_from(*len)) {
                (TypeName::Number(Prim::Plain(number)), Ok(len)) => Type::Array(*number, vec![len]),
                _ => return Err(not_as_values(&format!("members of type {name}"))),
            },
            other => return Err(not_as_values(&format!("members of type {other}"))),
        })
    }

    /// A `TClonesArray`, of which the description of its class says nothing.
    fn clones(&self, class: &Arc<str>, element: &Element, depth: u32) -> Result<Type> {
        let form = match self.clones.get(&(Arc::clone(class), Arc::clone(&element.name))) {
            Some(Some(form)) => form,
            Some(None) => return Err(not_as_values("TClonesArrays of one member that hold several classes")),
            None => {
                return Err(not_as_values(
                    "objects of a TClonesArray that is not split, where no entry of the tree tells what class they are,",
                ));
            }
        };
        let items = self.class_of((&form.class, Some(form.version), None), depth + 1)?;
        let is_member = !element.type_name.ends_with('*');
        let is_pointer = matches!(element.code, 64 | 69);
        let form = Arc::new(ClonesForm { is_member, is_pointer, ..form.clone() });
        Ok(Type::Clones(Arc::new(Clones { class: items, form })))
    }
}

/// Whether a branch has items of a collection, and those of its last basket with any are as their class is described.
fn items_are_as_described(tree: &Tree, branch: &Branch) -> Result<bool> {
    let kind = branch.element.as_ref().map(|element| element.kind);
    if !matches!(kind, Some(element_kind::CLONES_MEMBER | element_kind::COLLECTION_MEMBER)) {
        return Ok(false);
    }
    for (number, basket) in branch.baskets().iter().enumerate().rev().take(MOST_BASKETS) {
        if RawBasket::read(tree, branch.id, number).is_ok_and(|basket| !basket.data.is_empty()) {
            let read = crate::read::columns(tree, &[branch.id], basket.entries.clone());
            let refused = || not_as_values("entries that are not as their classes are described");
            return read.map(|_| true).map_err(|error| refused().because(error));
        }
    }
    Ok(false)
}

/// Whether one of two is true, where any is known.
pub(super) fn any(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    one.into_iter().chain(other).reduce(|one, other| one || other)
}

/// The type of a number: `long` has 64 bits in files, too.
fn number(code: i32) -> Option<Number> {
    match code {
        4 => Some(Number::I64),
        14 => Some(Number::U64),
        code if (1..20).contains(&code) => number_codes::number(code),
        _ => None,
    }
}

/// What only a copy of other entries can have.
pub(super) fn not_as_values(what: &str) -> Error {
    Error::unsupported(format!(
        "{what} cannot be added as values: entries of another tree are, by merging it into this file (sapwood merge \
         --append, merge(..., append=True))"
    ))
}

//! Objects as branches: which sub-branches a class gets at a split level, and what each holds.
//!
//! Format page: `docs/format/tree.md`. Source: `TTree::BronchExec`, `TBranchElement::Init`, `TBranchElement::Unroll`.
//! Names, numbers and split levels are those that ROOT 6.40 gives.

use std::collections::HashSet;
use std::sync::Arc;

use crate::column::Number;
use crate::error::{Error, Result};
use crate::schema::{Program, Registry, StreamerInfo, Style, Target};
use crate::tree::element_kind;
use crate::write::model::class::{Class, Member, Type};
use crate::write::model::tobject::BITS_CODE;

/// A branch that holds objects, or a part of them.
#[derive(Clone, Debug)]
pub(crate) struct Split {
    /// `fName`, and the name of the leaf, which lacks extents.
    pub(crate) name: Arc<str>,
    pub(crate) leaf_name: String,
    /// Title of branch and leaf.
    pub(crate) title: String,
    /// `fClassName`, `fClassVersion` and `fCheckSum`: the class that declares it.
    pub(crate) class: Arc<str>,
    pub(crate) version: i32,
    pub(crate) checksum: u32,
    /// `fParentName`.
    pub(crate) parent_class: Arc<str>,
    /// `fClonesName`: class of a collection's items.
    pub(crate) items_class: Arc<str>,
    /// `fID`: which member; -1 a whole object, -2 one whose members are the sub-branches.
    pub(crate) id: i32,
    /// `fType`.
    pub(crate) kind: i32,
    /// `fStreamerType`.
    pub(crate) code: i32,
    pub(crate) split_level: i32,
    /// `fLen` and `fLenType` of its leaf.
    pub(crate) leaf: (i64, i64),
    /// Its parent branch, the one that counts its items, and the one that counts what is in each item.
    pub(crate) parent: Option<usize>,
    pub(crate) counter: Option<usize>,
    pub(crate) counter2: Option<usize>,
    pub(crate) data: Data,
}

/// What a branch holds, and where it is in the column of the whole object.
#[derive(Clone, Debug)]
pub(crate) enum Data {
    /// Nothing: the sub-branches have it.
    None,
    /// How many items a collection has, by the members that lead to it; and whether offsets of entries follow in
    /// baskets.
    Counts(Vec<usize>, bool),
    /// One value an entry; by the members that lead to it.
    Rows(Vec<usize>, Type, Arc<Program>),
    /// A member of the items of a collection: by the members that lead to the collection, and from its items on.
    Items(Vec<usize>, Vec<usize>, Type, Arc<Program>),
}

/// All branches of one object, and how its classes stream.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) branches: Vec<Split>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) style: Arc<Style>,
    pub(crate) infos: Vec<Arc<StreamerInfo>>,
}

/// What the branches of a member have in common.
#[derive(Clone)]
struct Below {
    /// Begins the names of branches.
    prefix: String,
    parent: usize,
    parent_class: Arc<str>,
    /// The members that lead there.
    path: Vec<usize>,
    /// The collection whose items it is in: its branch, title of its leaf, and the members from its items on.
    items: Option<(usize, String, Vec<usize>)>,
    level: i32,
    /// Whether it is the object itself and not something in it.
    is_top: bool,
}

struct Planner {
    branches: Vec<Split>,
    registry: Arc<Registry>,
}

impl Plan {
    /// The branches of a branch `name` that holds values of a type.
    pub(crate) fn new(name: &str, kind: &Type, split_level: u32, member_wise: bool) -> Result<Self> {
        kind.check()?;
        let mut classes = Vec::new();
        kind.classes(&mut classes);
        let infos: Vec<StreamerInfo> = classes.iter().map(|class| class.info()).collect();
        let foreign: HashSet<Arc<str>> =
            classes.iter().filter(|class| class.version.is_none()).map(|class| Arc::clone(&class.name)).collect();
        /// Version of ROOT whose layouts are written.
        const VERSION: i32 = 64000;
        let clones = classes.iter().flat_map(|class| class.members_that_are_clones());
        let registry = Arc::new(Registry::new(infos.clone(), VERSION).for_writing(clones));
        let mut planner = Planner { branches: Vec::new(), registry };
        match kind {
            Type::Object(class) => planner.top(name, class, i32::try_from(split_level).unwrap_or(i32::MAX).min(99))?,
            Type::Text | Type::Sequence(..) | Type::Mapping(..) => planner.whole(name, kind)?,
            _ => return Err(Error::unsupported(format!("branch {name:?}: {} is no class", kind.name()))),
        }
        // The trailing dot of a whole object is no part of names below it.
        let mut names = HashSet::new();
        if let Some(twice) = planner.branches.iter().find(|branch| !names.insert(&branch.name)) {
            let words = format!("two branches would have the name {:?}: end {name:?} with a dot", twice.name);
            return Err(Error::new(crate::error::ErrorKind::Exists, words));
        }
        let Planner { branches, registry } = planner;
        let style = Arc::new(Style { member_wise, foreign });
        Ok(Self { branches, registry, style, infos: infos.into_iter().map(Arc::new).collect() })
    }
}

impl Planner {
    fn program(&self, class: &Class, index: usize) -> Result<Arc<Program>> {
        let (version, checksum) = (class.info_version(), class.checksum());
        self.registry.program(&Target::Member { class: Arc::clone(&class.name), version, checksum, index })
    }

    /// A string or a container, which has no sub-branches.
    fn whole(&mut self, name: &str, kind: &Type) -> Result<()> {
        /// What ROOT gives as the version of the classes of containers.
        const VERSION: i32 = 6;
        let class: Arc<str> = kind.name().into();
        let program = self.registry.program(&Target::Value { name: Arc::clone(&class) })?;
        self.branches.push(Split {
            name: name.into(),
            leaf_name: name.to_owned(),
            title: name.to_owned(),
            checksum: name_checksum(&class),
            class,
            version: VERSION,
            parent_class: "".into(),
            items_class: "".into(),
            id: -1,
            kind: element_kind::LEAF,
            code: -1,
            split_level: 0,
            leaf: (1, 0),
            parent: None,
            counter: None,
            counter2: None,
            data: Data::Rows(Vec::new(), kind.clone(), program),
        });
        Ok(())
    }

    /// A whole object.
    fn top(&mut self, name: &str, class: &Arc<Class>, level: i32) -> Result<()> {
        const WHOLE: i32 = -1;
        const SPLIT: i32 = -2;
        let is_split = level > 0 && !class.is_hollow();
        let kind = Type::Object(Arc::clone(class));
        let target = Target::Members {
            class: Arc::clone(&class.name),
            version: Some(class.info_version()),
            checksum: Some(class.checksum()),
        };
        let data = match is_split {
            true => Data::None,
            false => Data::Rows(Vec::new(), kind, self.registry.program(&target)?),
        };
        self.branches.push(Split {
            name: name.into(),
            leaf_name: name.to_owned(),
            title: name.to_owned(),
            class: Arc::clone(&class.name),
            version: class.info_version(),
            checksum: class.checksum(),
            parent_class: "".into(),
            items_class: "".into(),
            id: if is_split { SPLIT } else { WHOLE },
            kind: element_kind::LEAF,
            code: -1,
            split_level: level,
            leaf: (1, 0),
            parent: None,
            counter: None,
            counter2: None,
            data,
        });
        if !is_split {
            return Ok(());
        }
        let below = Below {
            prefix: if name.ends_with('.') { name.to_owned() } else { String::new() },
            parent: 0,
            parent_class: Arc::clone(&class.name),
            path: Vec::new(),
            items: None,
            level: level - 1,
            is_top: true,
        };
        self.members(class, &below)
    }

    fn members(&mut self, class: &Arc<Class>, below: &Below) -> Result<()> {
        class.members.iter().enumerate().try_for_each(|(index, member)| self.member(class, index, member, below))
    }

    fn member(&mut self, class: &Arc<Class>, index: usize, member: &Member, below: &Below) -> Result<()> {
        let name = format!("{}{}", below.prefix, member.name);
        // Members of the object itself split while a level is left, nested ones one level earlier.
        let left = if below.is_top { below.level } else { below.level - 1 };
        let mut path = below.path.clone();
        let mut items = below.items.clone();
        match &mut items {
            Some((.., inside)) => inside.push(index),
            None => path.push(index),
        }
        let inner = Below { path: path.clone(), items: items.clone(), is_top: false, ..below.clone() };
        match &member.kind {
            _ if member.is_whole && !member.is_base => self.leaf(class, index, member, name, &inner, below),
            Type::Object(object) if object.is_reference() || object.is_root_list() || object.is_unsplit => {
                self.leaf(class, index, member, name, &inner, below)
            }
            // Bases without data have no branch, as in ROOT.
            Type::Object(base) if member.is_base && base.is_hollow() && below.items.is_none() => Ok(()),
            // Nor have those of items: their members do.
            Type::Object(base) if member.is_base && below.items.is_some() => self.members(base, &inner),
            Type::Object(base) if member.is_base && below.level > 0 => {
                let node = self.node(class, index, name.clone(), element_kind::BASE, base.code_as_base(), below);
                // A name with a dot includes the base, and the members belong to the base.
                let is_dotted = below.is_top && below.prefix.ends_with('.');
                let prefix = if is_dotted { format!("{name}.") } else { below.prefix.clone() };
                let in_object = below.prefix.ends_with('.');
                let parent_class = if in_object { Arc::clone(&base.name) } else { Arc::clone(&class.name) };
                self.members(base, &Below { prefix, parent: node, parent_class, ..inner })
            }
            // A member that is a `TObject` or `TNamed` is not split, unless it is in an object in the object.
            Type::Object(object) if !member.is_base && below.is_top && object.code_as_base() != 0 => {
                self.leaf(class, index, member, name, &inner, below)
            }
            Type::Object(object) if !member.is_base && left > 0 && !object.is_hollow() => {
                let prefix = format!("{name}.");
                if !below.is_top {
                    // Objects in objects have no branch of their own.
                    return self.members(object, &Below { prefix, level: left, ..inner });
                }
                let node = self.node(class, index, name, element_kind::OBJECT, member.kind.code(), below);
                let parent_class = Arc::clone(&object.name);
                self.members(object, &Below { prefix, parent: node, parent_class, ..inner })
            }
            kind => match kind.item_class().filter(|_| left > 0 && below.items.is_none()) {
                Some(item) if !item.members.is_empty() && !item.is_reference() => {
                    let title = format!("{name}_");
                    // Of a `TClonesArray`, all entries have one length.
                    let is_clones = matches!(kind, Type::Clones(_));
                    let collection = if is_clones { element_kind::CLONES } else { element_kind::COLLECTION };
                    let node = self.node(class, index, name.clone(), collection, kind.code(), below);
                    if let Some(branch) = self.branches.get_mut(node) {
                        branch.title.clone_from(&title);
                        branch.leaf_name.clone_from(&title);
                        branch.split_level = left;
                        branch.items_class = Arc::clone(&item.name);
                        branch.data = Data::Counts(path.clone(), !is_clones);
                    }
                    let below = Below {
                        prefix: format!("{name}."),
                        parent: node,
                        parent_class: Arc::clone(&item.name),
                        path,
                        items: Some((node, title, Vec::new())),
                        level: left,
                        is_top: false,
                    };
                    self.members(&item, &below)
                }
                _ => self.leaf(class, index, member, name, &inner, below),
            },
        }
    }

    /// A branch whose sub-branches have its data.
    fn node(&mut self, class: &Class, index: usize, name: String, kind: i32, code: i32, below: &Below) -> usize {
        self.branches.push(Split {
            name: name.as_str().into(),
            leaf_name: name.clone(),
            title: name,
            class: Arc::clone(&class.name),
            version: class.info_version(),
            checksum: class.checksum(),
            parent_class: Arc::clone(&below.parent_class),
            items_class: "".into(),
            id: index as i32,
            kind,
            code,
            split_level: below.level,
            leaf: (1, 0),
            parent: Some(below.parent),
            counter: None,
            counter2: None,
            data: Data::None,
        });
        self.branches.len() - 1
    }

    /// A branch with the values of a member.
    fn leaf(
        &mut self,
        class: &Class,
        index: usize,
        member: &Member,
        name: String,
        inner: &Below,
        below: &Below,
    ) -> Result<()> {
        let extents = match &member.kind {
            Type::Array(_, extents) => extents.iter().map(|extent| format!("[{extent}]")).collect(),
            _ => String::new(),
        };
        let (items, bytes) = match &member.kind {
            Type::Number(number) => (1, number.bytes() as i64),
            Type::Array(number, extents) => (extents.iter().product::<u32>().into(), number.bytes() as i64),
            _ => (1, 0),
        };
        let program = self.program(class, index)?;
        let collection = inner.items.as_ref().and_then(|(counter, ..)| self.branches.get(*counter));
        let in_clones = collection.is_some_and(|collection| collection.kind == element_kind::CLONES);
        let node =
            self.node(class, index, format!("{name}{extents}"), element_kind::LEAF, class.code_of(member), below);
        // The branch of the length, where it stands beside: in a base of a name with a dot it does not.
        let length = match &member.kind {
            Type::Counted(_, counter) => {
                let name = name.rfind('.').map_or("", |dot| &name[..=dot]).to_owned() + counter;
                self.branches.iter().position(|branch| *branch.name == name)
            }
            _ => None,
        };
        let Some(branch) = self.branches.get_mut(node) else { return Ok(()) };
        branch.leaf_name = name;
        if let Type::Counted(_, counter) = &member.kind {
            branch.title = format!("{}[{counter}]", branch.name);
            match inner.items {
                None if length.is_some() => branch.counter = length,
                None => branch.leaf_name.clone_from(&branch.title),
                Some(_) => {
                    branch.leaf_name.clone_from(&branch.title);
                    branch.counter2 = length;
                }
            }
        }
        branch.leaf = (items, bytes);
        let keeps_level = match &member.kind {
            Type::Number(_) | Type::Array(..) | Type::Counted(..) => true,
            Type::Object(object) => object.code_as_base() > 0,
            _ => false,
        };
        if !below.is_top || !keeps_level {
            branch.split_level = 0;
        }
        if let (true, Type::Object(base)) = (member.is_base, &member.kind) {
            branch.code = base.code_as_base();
        }
        branch.data = match &inner.items {
            Some((counter, title, inside)) => {
                branch.kind = if in_clones { element_kind::CLONES_MEMBER } else { element_kind::COLLECTION_MEMBER };
                branch.title = format!("{}[{title}]", member.name);
                branch.counter = Some(*counter);
                Data::Items(inner.path.clone(), inside.clone(), member.kind.clone(), program)
            }
            None => Data::Rows(inner.path.clone(), member.kind.clone(), program),
        };
        Ok(())
    }
}

/// `TClass::GetCheckSum` of a class without members: a collection.
pub(crate) fn name_checksum(class: &str) -> u32 {
    class.bytes().fold(0, |sum: u32, byte| sum.wrapping_mul(3).wrapping_add(u32::from(byte)))
}

impl Split {
    /// Type of the numbers of an entry, where it is a single number, and nothing else can be behind it.
    pub(crate) fn single(&self) -> Option<Number> {
        match &self.data {
            Data::Rows(_, Type::Number(number), _) if self.code != BITS_CODE => Some(*number),
            _ => None,
        }
    }

    /// Whether its baskets have the offsets of entries behind them.
    pub(crate) fn has_offsets(&self) -> bool {
        !matches!(self.data, Data::Counts(_, false)) && self.single().is_none()
    }

    /// Whether it has a leaf: bases and objects have none.
    pub(crate) fn has_leaf(&self) -> bool {
        !matches!(self.kind, element_kind::BASE | element_kind::OBJECT)
    }

    /// Whether it has baskets.
    pub(crate) fn has_data(&self) -> bool {
        !matches!(self.data, Data::None)
    }
}

//! Interprets a branch: which program decodes its bytes.
//!
//! Format page: `docs/format/tree.md`. Source: `TBranchElement::SetReadLeavesPtr`, `TLeaf*::ReadBasket`.

use std::sync::Arc;

use super::Tree;
use super::branch::{Branch, BranchId, ElementBranch, Leaf, element_kind};
use super::interpretation::{Form, Interpretation};
use crate::column::{BufferId, BufferKind, Field, Kind, ListOf, Number, Prim};
use crate::error::{Error, Result};
use crate::schema::{Counter, Detail, Element, Program, Step, Target, TextForm, TypeName};

impl Tree {
    /// What the bytes of a branch mean.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) with the reason why it cannot be decoded.
    #[doc(hidden)]
    pub fn interpretation(&self, id: BranchId) -> Result<Arc<Interpretation>> {
        let slot = self.interpretations.get(id).ok_or_else(|| Error::not_found("no such branch"))?;
        let found = slot.get_or_init(|| interpret(self, &self.branches[id]).map(Arc::new));
        match found {
            Ok(interpretation) => Ok(Arc::clone(interpretation)),
            Err(error) => Err(self.place(error.clone()).in_object(&self.branches[id].path)),
        }
    }
}

/// Interprets a branch.
fn interpret(tree: &Tree, branch: &Branch) -> Result<Interpretation> {
    if !branch.has_data() {
        return Err(Error::unsupported("the branch only groups its sub-branches"));
    }
    match &branch.element {
        Some(element) => element_branch(tree, branch, element),
        None if branch.object_class.is_some() => object_branch(tree, branch),
        None => leaf_branch(tree, branch),
    }
}

fn rows(program: Program, type_name: String) -> Interpretation {
    let (kind, buffers) = (program.kind.clone(), program.buffers.clone());
    Interpretation { program: Arc::new(program), form: Form::Rows, kind, buffers, type_name }
}

/// Wraps a type in array dimensions.
fn dimensioned(kind: Kind, dimensions: &[usize]) -> Kind {
    dimensions.iter().rev().fold(kind, |item, &len| Kind::Fixed { len, item: Box::new(item) })
}

/// The number type of a leaf's items.
fn leaf_prim(leaf: &Leaf) -> Option<Prim> {
    match &*leaf.class {
        "TLeafF16" => Some(Prim::float16(&leaf.title)),
        "TLeafD32" => Some(Prim::double32(&leaf.title)),
        _ => leaf.number().map(Prim::Plain),
    }
}

/// Fixed dimensions of a leaf: those of its title where they agree with its length. ROOT takes a length of 0 as 1.
fn leaf_dimensions(leaf: &Leaf) -> Result<Vec<usize>> {
    let len = usize::try_from(leaf.len)
        .map_err(|_| Error::malformed(format!("leaf {} has the length {}", leaf.name, leaf.len)))?
        .max(1);
    let dimensions = leaf.dimensions();
    let product = dimensions.iter().try_fold(1_usize, |product, &extent| product.checked_mul(extent));
    if product == Some(len) {
        // `x[1]` is an array of one.
        Ok(dimensions)
    } else if len == 1 {
        Ok(Vec::new())
    } else {
        Ok(vec![len])
    }
}

fn leaf_branch(tree: &Tree, branch: &Branch) -> Result<Interpretation> {
    match &branch.leaves[..] {
        [] => Err(Error::unsupported("the branch has no leaves")),
        [leaf] if &*leaf.class == "TLeafC" => {
            let kind = Kind::Text { offsets: 0, bytes: 1 };
            let steps = vec![Step::Text { form: TextForm::Counted, ends: 0, bytes: 1 }];
            let program = Program::of(steps, kind, vec![BufferKind::Ends, BufferKind::Bytes]);
            Ok(Interpretation { form: Form::RowsOrNothing, ..rows(program, "char*".into()) })
        }
        [leaf] if &*leaf.class == "TLeafElement" => Err(Error::unsupported("a TLeafElement in a plain branch")),
        [leaf] => {
            let prim = leaf_prim(leaf)
                .ok_or_else(|| Error::unsupported(format!("leaves of class {} are unknown", leaf.class)))?;
            let dimensions = leaf_dimensions(leaf)?;
            let count: usize = dimensions.iter().product();
            let spelled: String = dimensions.iter().map(|len| format!("[{len}]")).collect();
            let item = prim_name(prim);
            let number = Kind::Number { buffer: 0, number: prim.number() };
            let buffers = vec![BufferKind::Numbers(prim.number())];
            let program = run_program(prim, count, buffers.clone())?;
            let item_kind = dimensioned(number, &dimensions);
            if leaf.count.is_none() {
                return Ok(Interpretation {
                    kind: item_kind.clone(),
                    program: Arc::new(Program { kind: item_kind, ..program }),
                    form: Form::Rows,
                    buffers,
                    type_name: format!("{item}{spelled}"),
                });
            }
            Ok(jagged(program, item_kind, prim, count, format!("{item}[]{spelled}")))
        }
        leaves => leaf_list(tree, branch, leaves),
    }
}

fn prim_name(prim: Prim) -> String {
    TypeName::Number(prim).to_string()
}

fn run_program(prim: Prim, count: usize, buffers: Vec<BufferKind>) -> Result<Program> {
    let step = Step::numbers(prim, count, 0)?;
    let kind = Kind::Number { buffer: 0, number: prim.number() };
    Ok(Program::of(vec![step], kind, buffers))
}

/// A list of numbers per entry, as many as its bytes hold.
fn jagged(program: Program, item: Kind, prim: Prim, per_item: usize, type_name: String) -> Interpretation {
    let mut buffers = program.buffers.clone();
    let ends = buffers.len() as BufferId;
    buffers.push(BufferKind::Ends);
    let kind = Kind::List { offsets: ends, of: ListOf::Sequence, item: Box::new(item) };
    Interpretation { program: Arc::new(program), form: Form::Jagged { ends, prim, per_item }, kind, buffers, type_name }
}

/// Several leaves: one record per entry. A leaf may count another one of the same branch.
fn leaf_list(tree: &Tree, branch: &Branch, leaves: &[Leaf]) -> Result<Interpretation> {
    let _ = tree;
    let (mut steps, mut fields, mut buffers) = (Vec::new(), Vec::new(), Vec::new());
    let mut names = Vec::new();
    let mut buffer = |kind| {
        buffers.push(kind);
        (buffers.len() - 1) as BufferId
    };
    let mut counters: Vec<Option<(BufferId, Number)>> = Vec::new();
    for leaf in leaves {
        let name = Arc::clone(&leaf.name);
        let mut counter = None;
        let kind = if &*leaf.class == "TLeafC" {
            let (offsets, bytes) = (buffer(BufferKind::Ends), buffer(BufferKind::Bytes));
            steps.push(Step::Text { form: TextForm::Counted, ends: offsets, bytes });
            names.push(format!("{name}: char*"));
            Kind::Text { offsets, bytes }
        } else {
            let prim = leaf_prim(leaf)
                .ok_or_else(|| Error::unsupported(format!("leaves of class {} are unknown", leaf.class)))?;
            let dimensions = leaf_dimensions(leaf)?;
            let count: usize = dimensions.iter().product();
            let values = buffer(BufferKind::Numbers(prim.number()));
            let item = dimensioned(Kind::Number { buffer: values, number: prim.number() }, &dimensions);
            names.push(format!("{name}: {}", prim_name(prim)));
            match leaf.count {
                None => {
                    steps.push(Step::numbers(prim, count, values)?);
                    if dimensions.is_empty() {
                        counter = Some((values, prim.number()));
                    }
                    item
                }
                Some((owner, index)) => {
                    let counted_by = if owner == branch.id { counters.get(index).copied().flatten() } else { None };
                    let Some((id, number)) = counted_by else {
                        return Err(Error::unsupported("a leaf of several is counted by another branch"));
                    };
                    let ends = buffer(BufferKind::Ends);
                    let counter = Counter::Member(id, number);
                    steps.push(Step::Counted {
                        prim,
                        flagged: false,
                        lists: 1,
                        len: u32::try_from(count).unwrap_or(u32::MAX),
                        counter,
                        ends,
                        values,
                    });
                    Kind::List { offsets: ends, of: ListOf::Sequence, item: Box::new(item) }
                }
            }
        };
        counters.push(counter);
        fields.push(Field { name, kind, base: false });
    }
    let kind = Kind::Record { class: "".into(), fields };
    let type_name = format!("struct {{{}}}", names.join("; "));
    Ok(rows(Program::of(crate::schema::regroup(steps), kind, buffers), type_name))
}

fn element_branch(tree: &Tree, branch: &Branch, element: &ElementBranch) -> Result<Interpretation> {
    let registry = tree.registry();
    match element.kind {
        element_kind::CLONES | element_kind::COLLECTION => {
            let program = run_program(Prim::Plain(Number::I32), 1, vec![BufferKind::Numbers(Number::I32)])?;
            return Ok(rows(program, "int32_t".into()));
        }
        _ if element.id >= 0 && element.kind >= 0 => {}
        kind => {
            let class = &element.class_name;
            let custom = kind < 0;
            let type_name = TypeName::parse(class)?;
            let is_class = matches!(type_name, TypeName::Class(_) | TypeName::Pair(..));
            let target =
                if is_class && !custom && !registry.versions(class).is_empty() && !crate::schema::is_custom(class) {
                    let version = Some(element.class_version).filter(|&version| version > 0);
                    Target::Members {
                        class: Arc::clone(class),
                        version,
                        checksum: Some(element.checksum).filter(|&sum| sum != 0),
                    }
                } else if matches!(type_name, TypeName::Pair(..)) {
                    Target::Bare { name: Arc::clone(class) }
                } else {
                    Target::Value { name: Arc::clone(class) }
                };
            let program = registry.program(&target)?;
            let (kind, buffers) = (program.kind.clone(), program.buffers.clone());
            return Ok(Interpretation {
                program,
                form: Form::RowsOrNothing,
                kind,
                buffers,
                type_name: type_name.to_string(),
            });
        }
    }
    let target = Target::Member {
        class: Arc::clone(&element.class_name),
        version: element.class_version,
        checksum: element.checksum,
        index: element.id as usize,
    };
    let program = registry.program(&target)?;
    let info = registry.info(&element.class_name, Some(element.class_version), Some(element.checksum));
    let member = info.and_then(|info| info.elements.get(element.id as usize));
    let (kind, buffers) = (program.kind.clone(), program.buffers.clone());
    let spelled = member.map_or_else(String::new, spell);
    let in_collection = matches!(element.kind, element_kind::CLONES_MEMBER | element_kind::COLLECTION_MEMBER);
    let outside = member.filter(|_| needs_counter(&program));
    if in_collection {
        let mut buffers = buffers;
        let ends = buffers.len() as BufferId;
        buffers.push(BufferKind::Ends);
        let list = Kind::List { offsets: ends, of: ListOf::Sequence, item: Box::new(kind) };
        let type_name = format!("{spelled}[]");
        let form = match (outside, program.single_run()) {
            (Some(member), _) => Form::CountedBy { counter: counter_of(tree, branch, member)?, ends: Some(ends) },
            (None, Some((prim, per_item))) => Form::Jagged { ends, prim, per_item },
            (None, None) => Form::Column { ends },
        };
        return Ok(Interpretation { program, form, kind: list, buffers, type_name });
    }
    let form = match (outside, program.root_steps()) {
        // The entry's own length gives the count: no other branch is needed.
        (Some(_), [Step::Counted { prim, lists, .. }]) => {
            Form::Counted { item_bytes: prim.bytes().saturating_mul(*lists as usize) }
        }
        (Some(member), _) => Form::CountedBy { counter: counter_of(tree, branch, member)?, ends: None },
        (None, _) => Form::RowsOrNothing,
    };
    Ok(Interpretation { program, form, kind, buffers, type_name: spelled })
}

/// Type of a member in C++ words.
fn spell(member: &Element) -> String {
    // The type of a base is `BASE`; its name is the class.
    let is_base = matches!(member.detail, Detail::Base { .. });
    let type_name = if is_base { &member.name } else { &member.type_name };
    let name = match TypeName::parse(type_name.trim_end_matches('*')) {
        // `kCharStar`, alone or in an array: text that ends with a zero.
        _ if matches!(member.code, 7 | 27) => "char*".to_owned(),
        Ok(name) => name.to_string(),
        Err(_) => type_name.to_string(),
    };
    let extents: String = member.extents.iter().map(|extent| format!("[{extent}]")).collect();
    let counted = if matches!(member.detail, Detail::Counted { .. }) { "[]" } else { "" };
    let pointer = if matches!(member.code, 63 | 64 | 68 | 69) { "*" } else { "" };
    format!("{name}{pointer}{counted}{extents}")
}

fn needs_counter(program: &Program) -> bool {
    let by_outside = |counter: &Counter| *counter == Counter::Outside;
    program.root_steps().iter().any(|step| match step {
        Step::Counted { counter, .. } | Step::Loop { counter, .. } => by_outside(counter),
        _ => false,
    })
}

/// The sibling branch that counts for a member. Found by name: `fBranchCount` may name another object's counter.
fn counter_of(tree: &Tree, branch: &Branch, member: &Element) -> Result<BranchId> {
    let Detail::Counted { count_name, .. } = &member.detail else {
        return Err(Error::malformed("a counted member names no counter"));
    };
    let prefix = branch.name.rfind('.').map_or("", |dot| &branch.name[..=dot]);
    let wanted = format!("{prefix}{count_name}");
    let siblings = match branch.parent {
        Some(parent) => &tree.branches()[parent].children[..],
        None => tree.top(),
    };
    let by_name = |ids: &[BranchId]| ids.iter().copied().find(|&id| *tree.branches()[id].name == *wanted);
    // A base class may have a group of its own.
    let everywhere = || {
        let mut ids: Vec<BranchId> = (0..tree.branches().len()).collect();
        let at = branch.id as i64;
        ids.sort_by_key(|&id| (id as i64 - at).abs());
        by_name(&ids)
    };
    by_name(siblings)
        .or_else(everywhere)
        .ok_or_else(|| Error::malformed(format!("no branch {wanted:?} counts for {:?}", branch.name)))
}

fn object_branch(tree: &Tree, branch: &Branch) -> Result<Interpretation> {
    let class = branch.object_class.clone().unwrap_or_default();
    let buffers = vec![BufferKind::Objects];
    let kind = Kind::Pointer { buffer: 0, class: Arc::clone(&class) };
    if branch.leaves.first().is_some_and(|leaf| leaf.is_virtual) {
        let program = Program::of(vec![Step::Pointer { buffer: 0 }], kind.clone(), buffers.clone());
        return Ok(Interpretation {
            program: Arc::new(program),
            form: Form::Virtual,
            kind,
            buffers,
            type_name: class.to_string(),
        });
    }
    let program = tree.registry().program(&Target::Value { name: Arc::clone(&class) })?;
    let (kind, buffers) = (program.kind.clone(), program.buffers.clone());
    Ok(Interpretation { program, form: Form::RowsOrNothing, kind, buffers, type_name: class.to_string() })
}

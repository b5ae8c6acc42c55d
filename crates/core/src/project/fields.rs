//! The classes of RNTuples: fields say of them what a StreamerInfo would.

use std::collections::HashSet;
use std::sync::Arc;

use super::model::is_own;
use crate::column::Number;
use crate::error::Result;
use crate::file::File;
use crate::ntuple::{Field, NTuple, Role};
use crate::schema::{Element, StreamerInfo};
use crate::write::{Class, Type};

/// The classes that a file describes: those of its StreamerInfo, and those of the fields of its RNTuples. RNTuples that
/// cannot be opened are left out.
///
/// # Errors
///
/// What reading the StreamerInfo and the directories reports.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::scratch("infos-of-file.root");
/// # use sapwood::Entry;
/// # use sapwood::write::{FileWriter, NTupleOptions, WriteOptions};
/// #[derive(Entry)]
/// struct Hit {
///     charge: f32,
/// }
/// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
/// file.ntuple_entries::<Hit>("hits", "hit", NTupleOptions::default())?.close()?;
/// file.close()?;
/// let infos = sapwood::project::infos_of(&sapwood::File::open(&path)?)?;
/// assert_eq!((&*infos[0].name, &*infos[0].elements[0].type_name), ("Hit", "float"));
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn infos_of(file: &File) -> Result<Vec<StreamerInfo>> {
    let mut infos = file.infos()?;
    let mut seen = HashSet::new();
    for found in file.keys(true)?.iter().filter(|found| found.key.is_ntuple()) {
        let Ok(ntuple) = file.ntuple_at(&found.key) else { continue };
        let known = |info: &StreamerInfo| (Arc::clone(&info.name), info.version, info.checksum);
        seen.extend(infos.iter().map(known));
        if ntuple.fields().iter().any(|field| field.role == Role::Streamer)
            && let Ok(classes) = ntuple.classes()
        {
            let more = classes.infos().iter().filter(|info| !is_own(&info.name) && seen.insert(known(info)));
            infos.extend(more.map(|info| (**info).clone()));
        }
        for field in ntuple.fields().iter().filter(|field| is_class(field)) {
            let info = info_of(&ntuple, field);
            if seen.insert((Arc::clone(&info.name), info.version, info.checksum)) {
                infos.push(info);
            }
        }
    }
    Ok(infos)
}

fn is_class(field: &Field) -> bool {
    let is_plain = field.type_name.is_empty() || field.type_name.starts_with("std::");
    field.role == Role::Record && !is_plain
}

fn info_of(ntuple: &NTuple, field: &Field) -> StreamerInfo {
    let mut class = Class::new(Arc::clone(&field.type_name));
    // A class without a `ClassDef` has none.
    class.version = i16::try_from(field.type_version).ok().filter(|&version| version > 0);
    let mut names = Vec::with_capacity(field.children.len());
    for member in field.children.iter().filter_map(|&id| ntuple.fields().get(id)) {
        names.push(None);
        let name = Arc::clone(&member.name);
        class = match number_of(ntuple, member) {
            _ if member.name.starts_with(":_") => class.base(Arc::new(Class::new(Arc::clone(&member.type_name)))),
            Some(number) => class.member(name, Type::Number(number)),
            None => {
                names.pop();
                names.push(Some(classic(&member.type_name)));
                class.member(name, Type::Text)
            }
        };
    }
    let mut info = class.info();
    info.checksum = field.type_checksum.unwrap_or(info.checksum);
    for (element, name) in info.elements.iter_mut().zip(names) {
        if let Some(name) = name {
            *element = Element { type_name: name.into(), ..element.clone() };
        }
    }
    info
}

/// The number that a field is, an enumeration included.
fn number_of(ntuple: &NTuple, field: &Field) -> Option<Number> {
    match (field.role, field.repetitions, &field.children[..]) {
        (Role::Plain, None, []) => ntuple.kind(field.id).ok().and_then(|kind| match kind {
            crate::column::Kind::Number { number, .. } => Some(number),
            _ => None,
        }),
        (Role::Plain, None, &[value]) => number_of(ntuple, ntuple.fields().get(value)?),
        _ => None,
    }
}

/// A type as StreamerInfos spell it.
fn classic(name: &str) -> String {
    let numbers = [
        ("std::int8_t", "char"),
        ("std::uint8_t", "unsigned char"),
        ("std::int16_t", "short"),
        ("std::uint16_t", "unsigned short"),
        ("std::int32_t", "int"),
        ("std::uint32_t", "unsigned int"),
        ("std::int64_t", "Long64_t"),
        ("std::uint64_t", "ULong64_t"),
        ("std::byte", "unsigned char"),
    ];
    let name = numbers.iter().fold(name.to_owned(), |name, (new, old)| name.replace(new, old));
    name.replace("std::", "")
}

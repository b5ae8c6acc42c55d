//! Opening an RNTuple: anchor, header, footer, and page lists on first use.

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::anchor::Anchor;
use super::descriptor::{Descriptors, FieldDescriptor};
use super::envelope::{Envelope, EnvelopeType};
use super::field::{Field, FieldId, Role};
use super::footer::Footer;
use super::header::Header;
use super::locator::Link;
use super::page_list::{ClusterPages, read_clusters};
use super::payload::read_payloads;
use super::{NTuple, PageLists};
use crate::column::NTUPLE_BASE;
use crate::container::Key;
use crate::error::{Error, ErrorKind, Result};
use crate::file::File;
use crate::tree::{Stamps, TreeCache};

impl NTuple {
    /// Opens the RNTuple whose anchor a key names.
    pub(crate) fn open(file: &File, key: &Key) -> Result<Self> {
        if !key.is_ntuple() {
            return Err(Error::mismatch(format!("an object of class {} is no RNTuple", key.class)));
        }
        if &*key.class != "ROOT::RNTuple" {
            return Err(Anchor::before_release(&file.payload(key)?));
        }
        let anchor = Anchor::read(&file.payload(key)?)?;
        Self::at_anchor(file, anchor, key.cycle)
    }

    /// Opens the RNTuple that an anchor leads to.
    pub(super) fn at_anchor(file: &File, anchor: Anchor, cycle: u16) -> Result<Self> {
        let limits = &file.options().limits;
        let places = [anchor.header.locator.in_file()?, anchor.footer.locator.in_file()?];
        let stored = read_payloads(file, &places, anchor.max_key_bytes)?;
        let [header, footer] = <[Bytes; 2]>::try_from(stored).map_err(|_| Error::internal("an envelope is missing"))?;
        let header = Envelope::open(EnvelopeType::Header, header, &anchor.header, limits)?;
        let footer = Envelope::open(EnvelopeType::Footer, footer, &anchor.footer, limits)?;
        let Header { name, description, writer, mut schema, .. } = Header::read(&header)?;
        let (fields_of_header, columns_of_header) = (schema.fields.len(), schema.columns.len());
        let footer = Footer::read(&footer, &header, &mut schema)?;
        let (fields, top) = fields(&schema, fields_of_header, limits.depth)?;
        let entries = footer.groups.iter().map(|group| group.entries).try_fold(0_u64, u64::checked_add);
        let entries = entries.ok_or_else(|| Error::malformed("the cluster groups have too many entries"))?;
        Ok(Self {
            name,
            description,
            writer,
            version: anchor.version,
            entries,
            cycle,
            attribute_sets: footer.attribute_sets.iter().map(|set| Arc::clone(&set.name)).collect(),
            file: file.clone(),
            anchor,
            header,
            footer,
            columns_of_header,
            models: fields.iter().map(|_| OnceLock::new()).collect(),
            schema,
            fields,
            top,
            lists: OnceLock::new(),
            registry: OnceLock::new(),
            cache: TreeCache::new(file.options().cache_bytes),
            carried: Arc::default(),
            stamps: Stamps::default(),
        })
    }

    /// The same RNTuple with a larger schema: these fields and columns come after its own.
    pub(crate) fn extended(&self, more: &Descriptors) -> Result<Self> {
        let mut schema = self.schema.clone();
        schema.fields.extend(more.fields.iter().cloned());
        schema.columns.extend(more.columns.iter().cloned());
        let of_header = self.fields.iter().filter(|field| !field.is_late).count();
        let (fields, top) = fields(&schema, of_header, self.file.options().limits.depth)?;
        Ok(Self {
            name: Arc::clone(&self.name),
            description: Arc::clone(&self.description),
            writer: Arc::clone(&self.writer),
            version: self.version,
            entries: self.entries,
            cycle: self.cycle,
            attribute_sets: self.attribute_sets.clone(),
            file: self.file.clone(),
            anchor: self.anchor,
            header: self.header.clone(),
            footer: self.footer.clone(),
            columns_of_header: self.columns_of_header,
            models: fields.iter().map(|_| OnceLock::new()).collect(),
            schema,
            fields,
            top,
            lists: OnceLock::new(),
            registry: OnceLock::new(),
            cache: TreeCache::new(self.file.options().cache_bytes),
            carried: Arc::default(),
            stamps: Stamps::default(),
        })
    }

    /// How many columns a cluster may know: those of the header, and those that were added before it.
    pub(super) fn columns_of_clusters(&self) -> RangeInclusive<usize> {
        self.columns_of_header..=self.schema.columns.len()
    }

    /// The page lists, read when they are first needed: all in one call.
    pub(super) fn lists(&self) -> Result<&PageLists> {
        if let Some(known) = self.lists.get() {
            return Ok(known);
        }
        // What fails is tried again: the next time the store may answer.
        let loaded = self.load_lists().map_err(|error| self.place(error))?;
        Ok(self.lists.get_or_init(|| loaded))
    }

    fn load_lists(&self) -> Result<PageLists> {
        let limits = &self.file.options().limits;
        let links: Vec<Link> = self.footer.groups.iter().map(|group| group.page_list).collect();
        let places: Vec<Result<(u64, u64)>> = links.iter().map(|link| link.locator.in_file()).collect();
        let read = |places: &[(u64, u64)]| read_payloads(&self.file, places, self.anchor.max_key_bytes);
        let all: Result<Vec<_>> = places.iter().cloned().collect();
        // All in one call; one by one where one of them is not in the file.
        let stored: Vec<Result<Bytes>> = match all.and_then(|places| read(&places)) {
            Ok(stored) => stored.into_iter().map(Ok).collect(),
            Err(error) if !is_damage(&error) => return Err(error),
            Err(_) => places
                .into_iter()
                .map(|place| {
                    let stored = read(&[place?])?.into_iter().next();
                    stored.ok_or_else(|| Error::internal("a page list was not read"))
                })
                .collect(),
        };
        let (mut envelopes, mut clusters) = (Vec::with_capacity(links.len()), Vec::new());
        for (number, ((stored, link), group)) in stored.into_iter().zip(&links).zip(&self.footer.groups).enumerate() {
            let open = || -> Result<_> {
                let list = Envelope::open(EnvelopeType::PageList, stored?, link, limits)?;
                let of_group = read_clusters(&list, &self.header, number, group, self.columns_of_clusters())?;
                check_group(&of_group, group.first_entry, group.entries)?;
                Ok((list, of_group))
            };
            match open() {
                Ok((list, of_group)) => {
                    envelopes.push(Ok(list));
                    clusters.extend(of_group);
                }
                Err(error) if !is_damage(&error) => return Err(error),
                // The clusters of other groups can be read.
                Err(error) => {
                    envelopes.push(Err(error.in_object(&format!("cluster group {number}"))));
                    clusters.push(ClusterPages::unknown(number, group));
                }
            }
        }
        if let Some(Err(error)) = envelopes.first()
            && envelopes.iter().all(Result::is_err)
        {
            return Err(error.clone());
        }
        clusters.sort_by_key(|cluster| (cluster.entries.start, cluster.entries.end));
        let mut next = 0;
        for cluster in &clusters {
            if cluster.entries.start != next {
                let message = "clusters do not follow one another: one is missing, or two hold the same entries";
                return Err(Error::malformed(message).wanted(next, cluster.entries.start));
            }
            next = cluster.entries.end;
        }
        Ok(PageLists { envelopes, clusters })
    }
}

/// Whether an error is about the bytes of a file, and not about its store.
fn is_damage(error: &Error) -> bool {
    use ErrorKind::{Checksum, Limit, Malformed, Mismatch, Unsupported};
    matches!(error.kind(), Malformed | Checksum | Mismatch | Unsupported | Limit)
}

/// Checks that the clusters of a group are what the footer says of it.
fn check_group(clusters: &[ClusterPages], first: u64, entries: u64) -> Result<()> {
    let sum = clusters.iter().map(|cluster| cluster.entries.end - cluster.entries.start);
    let sum = sum.fold(0_u64, u64::saturating_add);
    if sum != entries {
        return Err(Error::malformed("a cluster group's entries are not those of its clusters").wanted(entries, sum));
    }
    let start = clusters.iter().map(|cluster| cluster.entries.start).min();
    if let Some(start) = start.filter(|&start| start != first) {
        return Err(
            Error::malformed("a cluster group begins with another entry than its clusters").wanted(first, start)
        );
    }
    Ok(())
}

/// Fields as users see them, from what the schema says.
fn fields(schema: &Descriptors, of_header: usize, most_depth: u32) -> Result<(Vec<Field>, Vec<FieldId>)> {
    let mut fields: Vec<Field> = Vec::with_capacity(schema.fields.len());
    let (mut top, mut depths, mut path_bytes) = (Vec::new(), Vec::with_capacity(schema.fields.len()), 0_u64);
    let mut names: HashSet<(Option<FieldId>, &str)> = HashSet::with_capacity(schema.fields.len());
    let qualified = qualified(schema)?;
    for (id, described) in schema.fields.iter().enumerate() {
        let name = |error: Error| error.in_object(&described.name);
        if described.parent > id {
            let message = "a field's parent comes after it: the fields hold one another";
            return Err(name(Error::malformed(message).wanted(id as u64, described.parent as u64)));
        }
        let parent = Some(described.parent).filter(|&parent| parent != id);
        let depth = parent.map_or(0, |parent| depths[parent] + 1);
        if depth > most_depth {
            return Err(name(Error::limit("fields are nested too deep", most_depth.into(), depth.into())));
        }
        depths.push(depth);
        if !names.insert((parent, &*described.name)) {
            return Err(name(Error::malformed("two fields with the same parent have one name")));
        }
        let (path, is_named) = match parent {
            Some(parent) => {
                fields[parent].children.push(id);
                let above = &fields[parent];
                let own = qualified.get(&id).map_or(&*described.name, |name| name);
                match name_in(above, own) {
                    Some(name) => (format!("{}.{name}", above.path).into(), true),
                    None => (Arc::clone(&above.path), false),
                }
            }
            None => {
                top.push(id);
                (Arc::clone(&described.name), true)
            }
        };
        // Names are given once, and paths repeat them: a small file could ask for much memory.
        path_bytes += path.len() as u64;
        if path_bytes > MOST_PATH_BYTES {
            return Err(name(Error::limit("the names of fields are too long in all", MOST_PATH_BYTES, path_bytes)));
        }
        fields.push(Field { is_named, ..field(id, described, path, parent, id >= of_header) });
    }
    add_columns(schema, &mut fields)?;
    Ok((fields, top))
}

/// Names of members of bases that other members have, too: after their base, as in C++.
///
/// The same names as [`Kind::shown_members`](crate::column::Kind::shown_members) has.
fn qualified(schema: &Descriptors) -> Result<HashMap<FieldId, Arc<str>>> {
    let fields = &schema.fields;
    let mut found: HashMap<FieldId, Arc<str>> = HashMap::new();
    if !fields.iter().any(|field| field.name.starts_with(NTUPLE_BASE)) {
        return Ok(found);
    }
    // Members of each record, with those of its bases; those of the outermost come last.
    let mut members: HashMap<FieldId, Vec<(FieldId, bool)>> = HashMap::new();
    // A small file could ask for much time or memory.
    let (mut looked_at, mut name_bytes) = (0, 0);
    for (id, field) in fields.iter().enumerate().rev() {
        let own = members.remove(&id).unwrap_or_default();
        if own.iter().any(|&(_, is_inherited)| is_inherited) {
            looked_at += own.len() as u64;
            if looked_at > MOST_INHERITED {
                let message = "the members of base classes are too many";
                return Err(Error::limit(message, MOST_INHERITED, looked_at));
            }
            let names: Vec<Arc<str>> =
                own.iter().map(|(member, _)| Arc::clone(found.get(member).unwrap_or(&fields[*member].name))).collect();
            let mut counts: HashMap<&str, usize> = HashMap::with_capacity(own.len());
            names.iter().for_each(|name| *counts.entry(name).or_default() += 1);
            for (&(member, is_inherited), name) in own.iter().zip(&names) {
                if is_inherited && counts.get(&**name).is_some_and(|&count| count > 1) {
                    let name: Arc<str> = format!("{}::{name}", base_between(schema, member, id)).into();
                    name_bytes += name.len() as u64;
                    if name_bytes > MOST_PATH_BYTES {
                        let message = "the names of fields are too long in all";
                        return Err(Error::limit(message, MOST_PATH_BYTES, name_bytes));
                    }
                    found.insert(member, name);
                }
            }
        }
        if field.parent >= id {
            continue;
        }
        let above = members.entry(field.parent).or_default();
        match field.name.starts_with(NTUPLE_BASE) {
            true => above.extend(own.into_iter().map(|(member, _)| (member, true))),
            false => above.push((id, false)),
        }
    }
    Ok(found)
}

/// The most members of bases, counted in each class that inherits them.
const MOST_INHERITED: u64 = 1 << 22;

/// The class of the base of a record that a member is inherited through.
fn base_between(schema: &Descriptors, member: FieldId, record: FieldId) -> Arc<str> {
    let mut at = member;
    while let Some(field) = schema.fields.get(at).filter(|field| field.parent < at) {
        if field.parent == record {
            return Arc::clone(&field.type_name);
        }
        at = field.parent;
    }
    "".into()
}

/// The name of a field in paths: none for the items of lists, the value of an enumeration, and base classes.
fn name_in<'n>(parent: &Field, name: &'n str) -> Option<&'n str> {
    match parent.role {
        Role::Record if name.starts_with(NTUPLE_BASE) => None,
        Role::Record if ["std::pair<", "std::tuple<"].iter().any(|class| parent.type_name.starts_with(class)) => {
            Some(name.strip_prefix('_').unwrap_or(name))
        }
        Role::Record => Some(name),
        _ => None,
    }
}

/// The most bytes of all paths.
const MOST_PATH_BYTES: u64 = 1 << 28;

fn field(id: FieldId, described: &FieldDescriptor, path: Arc<str>, parent: Option<FieldId>, is_late: bool) -> Field {
    Field {
        id,
        name: Arc::clone(&described.name),
        path,
        type_name: Arc::clone(&described.type_name),
        type_alias: Arc::clone(&described.type_alias),
        description: Arc::clone(&described.description),
        role: described.role,
        type_version: described.type_version,
        type_checksum: described.checksum,
        repetitions: described.repetitions,
        source: described.source,
        parent,
        children: Vec::new(),
        representations: Vec::new(),
        is_late,
        is_named: true,
    }
}

/// Gives fields their columns; a projected field those that it shares.
fn add_columns(schema: &Descriptors, fields: &mut [Field]) -> Result<()> {
    for (id, column) in schema.columns.iter().enumerate() {
        add_column(fields, column.field, usize::from(column.representation), id)?;
    }
    for alias in &schema.aliases {
        let column = schema.columns.get(alias.column).ok_or_else(|| {
            Error::malformed("an alias names a column that does not exist")
                .wanted(schema.columns.len() as u64, alias.column as u64)
        })?;
        if fields.get(alias.field).is_none_or(|field| field.source.is_none()) {
            return Err(Error::malformed("an alias column belongs to a field that is not projected"));
        }
        add_column(fields, alias.field, usize::from(column.representation), alias.column)?;
    }
    for id in 0..fields.len() {
        let field = &fields[id];
        let uneven = field.representations.iter().any(|columns| columns.len() != field.representations[0].len());
        if uneven {
            let message = "the representations of a field have different numbers of columns";
            return Err(Error::malformed(message).in_object(&field.path));
        }
        if let Some(source) = field.source
            && fields.get(source).is_none_or(|source| source.source.is_some())
        {
            let message = "a projected field shows a field that does not exist, or is projected itself";
            return Err(Error::malformed(message).in_object(&field.path));
        }
    }
    Ok(())
}

fn add_column(fields: &mut [Field], field: FieldId, representation: usize, column: usize) -> Result<()> {
    let count = fields.len();
    let Some(field) = fields.get_mut(field) else {
        let message = "a column belongs to a field that does not exist";
        return Err(Error::malformed(message).wanted(count as u64, field as u64));
    };
    match representation.cmp(&field.representations.len()) {
        std::cmp::Ordering::Less => field.representations[representation].push(column),
        std::cmp::Ordering::Equal => field.representations.push(vec![column]),
        std::cmp::Ordering::Greater => {
            let message = "a representation of a field is missing";
            return Err(Error::malformed(message).in_object(&field.path));
        }
    }
    Ok(())
}

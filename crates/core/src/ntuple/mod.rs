//! RNTUPLE: the successor of TTree. Envelopes that describe the data, fields, columns, clusters and pages, and how
//! columns become values.
//!
//! Source: `tree/ntuple` of ROOT and the specification of the format beside it.

mod anchor;
mod check;
mod column_type;
mod descriptor;
mod elements;
mod envelope;
mod fetch;
mod field;
mod field_pages;
mod footer;
mod frame;
mod header;
mod locator;
mod model;
mod node;
mod open;
mod page_decoder;
pub(crate) mod page_list;
mod pages;
mod parts;
mod payload;
mod plan;
mod read;
mod rows;
mod sealed;
mod sizes;
mod streamed;
mod whole_page;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

pub(crate) use anchor::{Anchor, VERSION};
pub(crate) use check::{ListedPage, StoredPage};
pub use column_type::ColumnType;
pub(crate) use descriptor::{AliasColumn, ColumnDescriptor, Descriptors, ExtraTypeInfo, FieldDescriptor};
pub(crate) use elements::{convert, decode, encode, is_plain};
pub(crate) use envelope::Envelope;
pub use field::{Field, FieldId, Role};
pub(crate) use field_pages::FieldPage;
pub(crate) use footer::{AttributeSet, ClusterGroup, Footer};
pub(crate) use header::Header;
pub(crate) use locator::{Link, Locator};
pub(crate) use node::{Model, Node, Shape};
pub(crate) use page_list::{ColumnPages, Page};
pub use parts::Part;
pub(crate) use payload::chunks;
pub(crate) use read::columns_of;
pub use read::{columns, columns_with};
pub(crate) use sealed::Cluster;
pub use sizes::FieldBytes;

use crate::error::{Error, Result};
use crate::file::{File, distance};
use crate::schema::Registry;
use crate::tree::{Carried, Stamps, Stepping, TreeCache};
use page_list::ClusterPages;
use whole_page::WholePage;

/// An RNTuple: its fields and clusters. Metadata only; values are read by [`columns`].
///
/// # Example
///
/// ```no_run
/// let file = sapwood::File::open("events.root")?;
/// let ntuple = file.ntuple("events")?;
/// let energy = ntuple.field("energy")?.id;
/// let columns = sapwood::ntuple::columns(&ntuple, &[energy], 0..ntuple.entries)?;
/// let energies: Vec<f32> = columns[0].numbers()?;
/// # Ok::<(), sapwood::Error>(())
/// ```
///
/// ```
/// # let path = sapwood_testkit::scratch("ntuple.root");
/// # use sapwood::column::{Kind, Number};
/// # use sapwood::read::Column;
/// # use sapwood::write::{FieldSpec, FileWriter, NTupleOptions, WriteOptions};
/// # let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
/// # let spec = FieldSpec::new("x", Kind::Number { buffer: 0, number: Number::I32 });
/// # let mut ntuple = file.ntuple("numbers", vec![spec], NTupleOptions::default())?;
/// # ntuple.extend(&[("x", Column::from_numbers(&[1, 2, 3]))])?;
/// # ntuple.close()?;
/// # file.close()?;
/// let file = sapwood::File::open(&path)?;
/// let ntuple = file.ntuple("numbers")?;
/// let x = ntuple.field("x")?.id;
/// assert_eq!((ntuple.top(), ntuple.fields()[x].path.as_ref()), (&[x][..], "x"));
/// assert_eq!(ntuple.clusters()?, [0..3]);
/// println!("{:?}, {:?} in pages {:?}", ntuple.cache().figures(), ntuple.field_bytes(x)?, ntuple.first_pages(x)?);
/// assert_eq!(ntuple.file().identity(), file.identity());
/// assert!(ntuple.classes()?.info("Event", None, None).is_none());
/// # Ok::<(), sapwood::Error>(())
/// ```
pub struct NTuple {
    /// Its name.
    pub name: Arc<str>,
    /// What the user wrote about it.
    pub description: Arc<str>,
    /// Program that wrote it.
    pub writer: Arc<str>,
    /// Version of the format: epoch, major, minor, patch.
    pub version: [u16; 4],
    /// Its entries.
    pub entries: u64,
    /// Cycle of its key.
    pub cycle: u16,
    /// Names of its sets of [attributes](Self::attributes).
    pub attribute_sets: Vec<Arc<str>>,
    file: File,
    anchor: Anchor,
    header: Envelope,
    footer: Footer,
    columns_of_header: usize,
    /// Fields of the header, columns of the header: what follows was added later.
    schema: Descriptors,
    fields: Vec<Field>,
    top: Vec<FieldId>,
    lists: OnceLock<PageLists>,
    models: Vec<OnceLock<Result<Arc<Model>, Error>>>,
    registry: OnceLock<Arc<Registry>>,
    cache: TreeCache,
    carried: Arc<Carried<WholePage>>,
    stamps: Stamps,
}

/// The page lists of all groups, and the clusters in the order of entries.
struct PageLists {
    /// Those of groups that cannot be read: why.
    envelopes: Vec<Result<Envelope>>,
    clusters: Vec<ClusterPages>,
}

impl std::fmt::Debug for NTuple {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NTuple").field("name", &self.name).field("entries", &self.entries).finish_non_exhaustive()
    }
}

impl NTuple {
    /// Members of its anchor by ROOT's names: the version of the format, and where header and footer are.
    ///
    /// Source: `ROOT::RNTuple`.
    #[doc(hidden)]
    pub fn anchor_members(&self) -> Vec<(&'static str, u64)> {
        self.anchor.members()
    }

    /// The file it is in.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// All fields: those below a field come after it.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The top-level fields: an entry has one value of each.
    pub fn top(&self) -> &[FieldId] {
        &self.top
    }

    /// Begins an iteration: as long as the answer lives, reads carry over pages that they cut.
    ///
    /// # Example
    ///
    /// ```
    /// # use sapwood::write::{FieldSpec, FileWriter, NTupleOptions, WriteOptions};
    /// # use sapwood::column::{Kind, Number};
    /// # let path = sapwood_testkit::scratch("stepping.root");
    /// # let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// # let spec = FieldSpec::new("x", Kind::Number { buffer: 0, number: Number::I64 });
    /// # let mut ntuple = file.ntuple("events", vec![spec], NTupleOptions::default())?;
    /// # ntuple.extend(&[("x", sapwood::read::Column::from_numbers(&[1_i64; 10]))])?;
    /// # ntuple.close()?;
    /// # file.close()?;
    /// let ntuple = sapwood::File::open(&path)?.ntuple("events")?;
    /// let id = ntuple.field("x")?.id;
    /// let stepping = ntuple.stepping();
    /// let read = |step| sapwood::ntuple::columns(&ntuple, &[id], step).map(|columns| columns[0].len);
    /// let rows = [0..4, 4..10].map(read);
    /// drop(stepping);
    /// assert_eq!(rows.into_iter().sum::<sapwood::Result<usize>>()?, 10);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn stepping(&self) -> Stepping {
        self.carried.begin()
    }

    /// Checksums of its fields.
    pub(crate) fn stamps(&self) -> &Stamps {
        &self.stamps
    }

    /// The cache of its pages.
    pub fn cache(&self) -> &TreeCache {
        &self.cache
    }

    /// A field by its [path](Field::path): names joined by dots.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound), naming fields with similar names.
    pub fn field(&self, path: &str) -> Result<&Field> {
        self.fields.iter().find(|field| &*field.path == path).ok_or_else(|| {
            let mut near: Vec<_> = self.fields.iter().map(|field| (distance(path, &field.path), &field.path)).collect();
            near.sort();
            let names: Vec<_> = near.iter().take(5).map(|(_, path)| format!("{path:?}")).collect();
            self.place(Error::not_found(format!("no field {path:?}; nearest: {}", names.join(", "))))
        })
    }

    /// Entry ranges of the clusters. The clusters of a group whose page list is damaged count as one.
    ///
    /// # Errors
    ///
    /// What reading the page lists reports, where none can be read.
    pub fn clusters(&self) -> Result<Vec<Range<u64>>> {
        Ok(self.lists()?.clusters.iter().map(|cluster| cluster.entries.clone()).collect())
    }

    pub(crate) fn column(&self, id: usize) -> Result<&ColumnDescriptor> {
        self.schema.columns.get(id).ok_or_else(|| Error::internal("a field has a column that does not exist"))
    }

    /// The classes that its streamed fields need; those of the file where it has none.
    pub fn classes(&self) -> Result<Arc<Registry>> {
        self.registry()
    }

    /// Adds to an error which RNTuple it is about.
    pub(crate) fn place(&self, error: Error) -> Error {
        self.file.name(error.in_object(&self.name))
    }

    /// Adds to an error which field it is about.
    pub(crate) fn in_field(&self, id: FieldId, error: Error) -> Error {
        let path = self.fields.get(id).map_or("", |field| &field.path);
        self.place(error.in_object(path))
    }
}

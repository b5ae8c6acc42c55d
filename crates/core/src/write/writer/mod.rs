//! The file that is written.
//!
//! Format page: `docs/format/container.md`. Source: `TFile::Init`, `TFile::Open`.

pub(crate) mod append;
pub(crate) mod found_class;
pub(crate) mod keys;
pub(crate) mod update;

use std::path::Path;
use std::sync::Arc;

use crate::container::{Directory, Header, Key};
use crate::error::{Error, Result};
use crate::io::{AtomicFile, LocalFile, Sink, Store};
use crate::schema::{Datum, Draft};
use crate::write::file::directory::DirectoryState;
use crate::write::file::free_list::FreeList;
use crate::write::file::state::{Output, State};
use crate::write::model::branch::BranchSpec;
use crate::write::ntuple::NTupleWriter;
use crate::write::ntuple::parallel::ParallelNTupleWriter;
use crate::write::options::{NTupleOptions, TreeOptions, WriteOptions};
use crate::write::page::field::FieldSpec;
use crate::write::record::state::TreeState;
use crate::write::tree::TreeWriter;

/// A file being written. Every reader sees what was saved, whatever happens to the process.
///
/// # Example
///
/// ```
/// use sapwood::schema::Draft;
/// use sapwood::write::{FileWriter, WriteOptions};
/// let path = std::env::temp_dir().join("sapwood-file-writer.root");
/// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
/// file.write("notes/answer", Draft::new("TObjString").with("fString", "42"))?;
/// file.close()?;
/// let read = sapwood::File::open(&path)?;
/// assert_eq!(read.object("notes/answer")?.member("fString")?.as_text().as_deref(), Some("42"));
/// # std::fs::remove_file(path).ok();
/// # Ok::<(), sapwood::Error>(())
/// ```
///
/// ```
/// # let path = sapwood_testkit::scratch("create.root");
/// use sapwood::Entry;
/// use sapwood::column::Number;
/// use sapwood::write::{BranchSpec, FileWriter, TreeOptions, Values, WriteOptions};
/// #[derive(Entry)]
/// struct Hit {
///     charge: f32,
/// }
/// let mut file = FileWriter::create(&path, WriteOptions::default())?; // an error if there is one
/// file.mkdir("empty")?;
/// let mut columns = file.tree("columns", vec![BranchSpec::number("x", Number::F64)], TreeOptions::default())?;
/// columns.extend(&[("x", Values::from(&[0.5, 1.5]))])?;
/// columns.close()?;
/// let mut hits = file.entries::<Hit>("hits", "hit", 99, TreeOptions::default())?;
/// hits.fill(&Hit { charge: 0.5 })?;
/// hits.close()?;
/// let parallel = file.parallel_tree("parallel", vec![BranchSpec::number("x", Number::F64)], TreeOptions::default())?;
/// parallel.close()?;
/// file.close()?;
///
/// let mut file = FileWriter::update(&path, WriteOptions::default())?;
/// file.rename("columns", "folder/columns")?;
/// file.close()?;
/// let mut file = FileWriter::update(&path, WriteOptions::default())?;
/// let mut more = file.add_branches("folder/columns", vec![BranchSpec::text("name")], TreeOptions::default())?;
/// more.extend(&[("name", Values::strings(["mu", "e"]))])?;
/// more.close()?;
/// file.close()?;
/// assert_eq!(sapwood::File::open(&path)?.tree("folder/columns")?.branches().len(), 2);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Debug)]
pub struct FileWriter {
    pub(crate) output: Arc<Output>,
}

/// Where the first record begins.
const BEGIN: u64 = 100;

impl FileWriter {
    /// Creates a file, replacing an existing one.
    ///
    /// # Errors
    ///
    /// [`Denied`](crate::ErrorKind::Denied) if the file cannot be written or another writer has it open, and
    /// [`Io`](crate::ErrorKind::Io).
    pub fn recreate(path: impl AsRef<Path>, options: WriteOptions) -> Result<Self> {
        let path = path.as_ref();
        Self::to_sink(LocalFile::create(path)?, file_name(path), options)
    }

    /// Creates a file that gets its path once it is finished. Its record has the name of that path.
    ///
    /// # Errors
    ///
    /// Those of [`recreate`](Self::recreate).
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::io::AtomicFile;
    /// use sapwood::write::{FileWriter, WriteOptions};
    /// # let target = std::env::temp_dir().join("sapwood-staged.root");
    /// let staged = AtomicFile::new(&target, true)?;
    /// FileWriter::staged(&staged, WriteOptions::default())?.close()?;
    /// staged.publish()?;
    /// assert!(sapwood::File::open(&target)?.keys(true)?.is_empty());
    /// # std::fs::remove_file(target).ok();
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn staged(file: &AtomicFile, options: WriteOptions) -> Result<Self> {
        Self::to_sink(LocalFile::create(file.path())?, file_name(file.target()), options)
    }

    /// Creates a file that must not exist.
    ///
    /// # Errors
    ///
    /// [`Exists`](crate::ErrorKind::Exists) if there is one, and those of [`recreate`](Self::recreate).
    pub fn create(path: impl AsRef<Path>, options: WriteOptions) -> Result<Self> {
        let path = path.as_ref();
        Self::to_sink(LocalFile::create_new(path)?, file_name(path), options)
    }

    /// Opens an existing file, written by any program: objects and trees are added, replaced and deleted in place.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound); [`Denied`](crate::ErrorKind::Denied) if the file cannot be written or
    /// another writer has it open; [`Malformed`](crate::ErrorKind::Malformed) if it was never closed, so that data may
    /// have to be recovered first; [`Unsupported`](crate::ErrorKind::Unsupported) for files of ROOT 2.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::schema::Draft;
    /// use sapwood::write::{FileWriter, WriteOptions};
    /// # let path = std::env::temp_dir().join("sapwood-file-update.root");
    /// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// file.write("run", Draft::new("TObjString").with("fString", "1"))?;
    /// file.close()?;
    /// let mut file = FileWriter::update(&path, WriteOptions::default())?;
    /// file.remove("run")?;
    /// file.write("more/run", Draft::new("TObjString").with("fString", "2"))?;
    /// file.close()?;
    /// let keys = sapwood::File::open(&path)?.keys(true)?;
    /// assert_eq!(keys.iter().map(|key| key.path.as_str()).collect::<Vec<_>>(), ["more", "more/run"]);
    /// # std::fs::remove_file(path).ok();
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn update(path: impl AsRef<Path>, options: WriteOptions) -> Result<Self> {
        let path = path.as_ref();
        let sink = LocalFile::update(path)?;
        Self::update_with(Arc::new(LocalFile::find(path)?), sink, options)
    }

    /// [`update`](Self::update) of any file: `sink` writes what `store` reads.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("update-with.root");
    /// use std::sync::Arc;
    /// use sapwood::io::LocalFile;
    /// use sapwood::write::{FileWriter, WriteOptions};
    /// # FileWriter::recreate(&path, WriteOptions::default())?.close()?;
    /// let (store, sink) = (Arc::new(LocalFile::open(&path)?), LocalFile::update(&path)?);
    /// let mut file = FileWriter::update_with(store, sink, WriteOptions::default())?;
    /// file.mkdir("folder")?;
    /// file.close()?;
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn update_with(store: Arc<dyn Store>, sink: impl Sink, options: WriteOptions) -> Result<Self> {
        Output::open(store, Box::new(sink), options).map(|output| Self { output: Arc::new(output) })
    }

    /// Creates a file in any sink.
    ///
    /// # Example
    ///
    /// ```
    /// use std::sync::Arc;
    /// use sapwood::io::MemorySink;
    /// use sapwood::write::{FileWriter, WriteOptions};
    /// let sink = Arc::new(MemorySink::default());
    /// FileWriter::to_sink(Arc::clone(&sink), "in memory.root", WriteOptions::default())?.close()?;
    /// assert_eq!(sink.to_bytes()[..4], *b"root");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn to_sink(sink: impl Sink, name: impl Into<Arc<str>>, options: WriteOptions) -> Result<Self> {
        let name: Arc<str> = name.into();
        let compression = options.compression.unwrap_or_default();
        let header = Header { compress: compression.to_root(), ..Header::default() };
        let root = DirectoryState::new(String::new(), &Key::default(), Directory::default(), 0, Vec::new());
        let state = State::new(FreeList::new(BEGIN, Vec::new()), header, root);
        let output = Output::new(Box::new(sink), options, compression, name, None, state);
        output.begin()?;
        Ok(Self { output: Arc::new(output) })
    }

    /// Writes an object. The last part of `path` is its name, the parts before it are directories, created if missing.
    /// An existing object of that name stays, with a lower cycle.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) where the object is not of its class, and what the sink reports.
    pub fn write(&mut self, path: &str, object: Draft) -> Result<()> {
        let object = Arc::new(object);
        let mut state = self.output.open_state()?;
        let (folder, name) = self.output.folder_of(&mut state, path)?;
        let title = match object.member("fTitle") {
            Some(Datum::Text(title)) => Arc::clone(title),
            _ => "".into(),
        };
        let key = self.output.key(&state, object.class(), &name.into(), &title);
        self.output.write_object(&mut state, folder, key, &object, None).map(drop)
    }

    /// Creates a directory and its parents; does nothing if it exists.
    pub fn mkdir(&mut self, path: &str) -> Result<()> {
        let mut state = self.output.open_state()?;
        self.output.folder(&mut state, path.trim_matches('/')).map(drop)
    }

    /// [`mkdir`](Self::mkdir) with the title of a directory of another file.
    pub(crate) fn mkdir_like(&mut self, path: &str, like: &Key) -> Result<()> {
        let mut state = self.output.open_state()?;
        self.output.folder_titled(&mut state, path.trim_matches('/'), &like.title).map(drop)
    }

    /// Begins a tree. Its record is written at once, without entries, so that [recovery](crate::File::is_recovered)
    /// finds it.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for branches that ROOT cannot hold, or missing counters;
    /// [`Exists`](crate::ErrorKind::Exists) for two of one name.
    pub fn tree(&mut self, path: &str, branches: Vec<BranchSpec>, options: TreeOptions) -> Result<TreeWriter> {
        let (index, branches) = self.begin_tree(path, branches, &options)?;
        let state = self.output.open_state()?;
        Ok(TreeWriter::new(Arc::clone(&self.output), index, &state.trees[index], branches, options))
    }

    /// Begins an RNTuple. It is saved at once, without entries.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for types that no RNTuple holds,
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for names of fields that ROOT refuses,
    /// [`Exists`](crate::ErrorKind::Exists) for two of one name.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("write-ntuple.root");
    /// use sapwood::column::{Kind, Number};
    /// use sapwood::read::Column;
    /// use sapwood::write::{FieldSpec, FileWriter, NTupleOptions, WriteOptions};
    /// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// let spec = FieldSpec::new("x", Kind::Number { buffer: 0, number: Number::I32 });
    /// let mut ntuple = file.ntuple("numbers", vec![spec], NTupleOptions::default())?;
    /// ntuple.extend(&[("x", Column::from_numbers(&[1, 2, 3]))])?;
    /// ntuple.close()?;
    /// file.close()?;
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn ntuple(&mut self, path: &str, fields: Vec<FieldSpec>, options: NTupleOptions) -> Result<NTupleWriter> {
        NTupleWriter::begin(&self.output, path, fields, options)
    }

    /// Begins an RNTuple that many threads fill.
    ///
    /// # Errors
    ///
    /// Those of [`ntuple`](Self::ntuple).
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("begin-parallel-ntuple.root");
    /// use sapwood::column::{Kind, Number};
    /// use sapwood::write::{FieldSpec, FileWriter, NTupleOptions, WriteOptions};
    /// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// let spec = FieldSpec::new("x", Kind::Number { buffer: 0, number: Number::F32 });
    /// let ntuple = file.parallel_ntuple("numbers", vec![spec], NTupleOptions::default())?;
    /// ntuple.close()?; // the contexts of the threads come before
    /// file.close()?;
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn parallel_ntuple(
        &mut self,
        path: &str,
        fields: Vec<FieldSpec>,
        options: NTupleOptions,
    ) -> Result<ParallelNTupleWriter> {
        ParallelNTupleWriter::begin(&self.output, path, fields, options)
    }

    /// Adds a tree without entries; returns its index in the file, and its branches, which know of the processes whose
    /// objects references in the file can name.
    pub(crate) fn begin_tree(
        &self,
        path: &str,
        branches: Vec<BranchSpec>,
        options: &TreeOptions,
    ) -> Result<(usize, Vec<BranchSpec>)> {
        let mut state = self.output.open_state()?;
        let (folder, name) = self.output.folder_of(&mut state, path)?;
        let compression = options.compression.unwrap_or(self.output.compression);
        branches.iter().try_for_each(BranchSpec::check_new)?;
        let branches = Output::with_processes(&state, branches);
        let tree = TreeState::new(folder, name.into(), &branches, compression, options)?;
        self.output.list_process(&mut state, &branches)?;
        state.trees.push(tree);
        let index = state.trees.len() - 1;
        if !options.begins_saved {
            state.trees[index].changed = false;
        } else if let Err(error) = self.output.save(&mut state) {
            state.abandon(index);
            return Err(error);
        }
        Ok((index, branches))
    }

    /// Makes everything that was written visible to every reader.
    pub fn save(&self) -> Result<()> {
        let mut state = self.output.open_state()?;
        self.output.save(&mut state)
    }

    /// Saves and closes the file. Close or drop its trees first.
    ///
    /// # Errors
    ///
    /// What the sink reports, also for clusters whose writer was dropped before they were committed: the file is closed
    /// then, without them. [`Mismatch`](crate::ErrorKind::Mismatch) if a tree is still open: the file is closed then,
    /// without the rows that its [`TreeWriter`] buffers.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::column::Number;
    /// use sapwood::write::{BranchSpec, FileWriter, TreeOptions, Values, WriteOptions};
    /// # let path = std::env::temp_dir().join("sapwood-close.root");
    /// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// let mut tree = file.tree("t", vec![BranchSpec::number("x", Number::U8)], TreeOptions::default())?;
    /// tree.extend(&[("x", Values::from(&[1_u8, 2, 3]))])?;
    /// assert!(file.close().is_err()); // the tree comes first
    /// # std::fs::remove_file(path).ok();
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn close(self) -> Result<()> {
        self.finish()
    }

    fn finish(&self) -> Result<()> {
        let mut state = self.output.open_state()?;
        // Their records are the last: what their writers hold is lost.
        let end = |tree: &mut TreeState| std::mem::take(&mut tree.is_open).then(|| Arc::clone(&tree.name));
        let trees: Vec<_> = state.trees.iter_mut().filter_map(end).collect();
        self.output.save(&mut state)?;
        // With `sync` the save has waited for storage.
        state.closed = true;
        self.output.sink.release();
        if let Some(lost) = state.lost.take() {
            return Err(lost);
        }
        let open_ntuples = state.ntuples.iter().filter(|ntuple| ntuple.is_open).map(|ntuple| &ntuple.name);
        match trees.iter().chain(open_ntuples).next() {
            Some(name) => {
                let words = "the file was closed before the tree: rows that its writer holds are lost";
                Err(self.output.in_file(Error::mismatch(words).in_object(name)))
            }
            None => Ok(()),
        }
    }
}

impl Drop for FileWriter {
    fn drop(&mut self) {
        // Call `close` to get the error.
        let _ = self.finish();
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

impl Output {
    /// Writes the record of the root directory, and saves the empty file.
    fn begin(&self) -> Result<()> {
        let (now, uuid) = (self.now(), self.uuid());
        let mut record = Directory { created: now, modified: now, seek_dir: BEGIN, uuid, ..Directory::default() };
        let key =
            Key { class: "TFile".into(), name: Arc::clone(&self.name), datime: now, seek_key: BEGIN, ..Key::default() };
        let mut payload = crate::wire::Writer::default();
        payload.string(self.name.as_bytes());
        payload.string(b"");
        let (names, room) = (payload.as_bytes().len(), record.to_bytes().len());
        let key = key.sized((names + room) as u32);
        let key = Key { objlen: key.stored_bytes(), ..key };
        record.nbytes_name = u32::from(key.keylen) + names as u32;
        payload.bytes(&record.to_bytes());
        let mut state = self.open_state()?;
        state.header.uuid = uuid;
        state.header.nbytes_name = record.nbytes_name;
        state.free_list = FreeList::new(BEGIN + u64::from(key.nbytes), Vec::new());
        state.folders = vec![DirectoryState::new(String::new(), &key, record, room, Vec::new())];
        state.folders[0].changed = true;
        state.infos_changed = true;
        self.put(BEGIN, &[&key.to_bytes(), payload.as_bytes()])?;
        self.save(&mut state)
    }
}

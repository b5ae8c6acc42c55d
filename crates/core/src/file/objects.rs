//! What the keys of a file lead to: objects, drafts, trees, RNTuples.

use std::sync::{Arc, Weak};

use super::File;
use crate::container::Key;
use crate::error::{Error, Result};
use crate::ntuple::NTuple;
use crate::object::Object;
use crate::schema::{Detail, Draft};
use crate::tree::Tree;

impl File {
    /// Reads an object by `path;cycle`, as named members.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound); [`Unsupported`](crate::ErrorKind::Unsupported) for classes that
    /// nothing describes, and for RNTuples.
    pub fn object(&self, path: &str) -> Result<Object> {
        let key = self.key(path)?;
        self.object_at(&key)
    }

    /// Reads the object of a key.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("histograms.root");
    /// let file = sapwood::File::open(path)?;
    /// let key = file.key("h1d")?;
    /// let histogram = file.object_at(&key)?;
    /// assert_eq!(histogram.member("fEntries")?.as_float(), Some(10004.0));
    /// // The same from a payload that was read before.
    /// let payload = file.payload(&key)?;
    /// assert_eq!(file.object_in(&key, &payload)?.class(), "TH1D");
    /// // To change it and write it elsewhere.
    /// assert_eq!(file.draft_at(&key)?.class(), "TH1D");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn object_at(&self, key: &Key) -> Result<Object> {
        refuse_rntuple(key).map_err(|error| self.name(error))?;
        self.object_in(key, &self.payload(key)?)
    }

    /// Whether a key holds a tree: one of ROOT's classes, or one that the file describes as derived from them. Chains
    /// are none, since they have no branches of their own.
    ///
    /// # Errors
    ///
    /// Those of [`registry`](Self::registry), where the class is none of ROOT's.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// let file = sapwood::File::open(path)?;
    /// assert!(file.holds_tree(&file.key("Events")?)?);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn holds_tree(&self, key: &Key) -> Result<bool> {
        if key.is_tree() { Ok(true) } else { self.is_tree_class(&key.class) }
    }

    /// Whether objects of a class are trees: the class is `TTree`, or the file describes that it derives from `TTree`.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// let file = sapwood::File::open(path)?;
    /// assert!(file.is_tree_class("TNtuple")? && !file.is_tree_class("TList")?);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn is_tree_class(&self, class: &str) -> Result<bool> {
        /// No hierarchy of classes is deeper.
        const DEPTH: usize = 64;
        if matches!(class, "TTree" | "TNtuple" | "TNtupleD" | "TTreeSQL" | "THbookTree") {
            return Ok(true);
        }
        let registry = self.registry()?;
        let mut classes = vec![(Arc::<str>::from(class), 0)];
        let mut is_tree = false;
        while let Some((class, depth)) = classes.pop() {
            is_tree |= &*class == "TTree";
            if &*class == "TChain" || depth > DEPTH {
                return Ok(false);
            }
            let elements = registry.info(&class, None, None).map_or(&[][..], |info| &info.elements[..]);
            let bases = elements.iter().filter(|element| matches!(element.detail, Detail::Base { .. }));
            classes.extend(bases.map(|base| (Arc::clone(&base.name), depth + 1)));
        }
        Ok(is_tree)
    }

    /// The object of a key whose [`payload`](Self::payload) is known.
    pub fn object_in(&self, key: &Key, payload: &[u8]) -> Result<Object> {
        refuse_rntuple(key).map_err(|error| self.name(error))?;
        let registry = self.registry()?;
        Object::read(&registry, &key.class, payload, usize::from(key.keylen), &self.0.options.limits)
            .map_err(|error| self.name(error).in_object(&key.name))
    }

    /// Reads an object by `path;cycle` as a draft: to be changed, and to be written into another file. The same as
    /// [`object`](Self::object) takes more time and memory, but it does not keep what only a writer needs.
    ///
    /// # Errors
    ///
    /// Those of [`object`](Self::object); and where something that the object points at cannot be decoded.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::schema::Draft;
    /// use sapwood::write::{FileWriter, WriteOptions};
    /// let place = |name| std::env::temp_dir().join(name);
    /// let mut file = FileWriter::recreate(place("sapwood-draft-1.root"), WriteOptions::default())?;
    /// file.write("answer", Draft::new("TObjString").with("fString", "42"))?;
    /// file.close()?;
    /// let mut draft = sapwood::File::open(place("sapwood-draft-1.root"))?.draft("answer")?;
    /// draft.set("fString", "43");
    /// let mut copy = FileWriter::recreate(place("sapwood-draft-2.root"), WriteOptions::default())?;
    /// copy.write("answer", draft)?;
    /// copy.close()?;
    /// let read = sapwood::File::open(place("sapwood-draft-2.root"))?;
    /// assert_eq!(read.object("answer")?.member("fString")?.as_text().as_deref(), Some("43"));
    /// # for name in ["sapwood-draft-1.root", "sapwood-draft-2.root"] { std::fs::remove_file(place(name)).ok(); }
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn draft(&self, path: &str) -> Result<Draft> {
        let key = self.key(path)?;
        self.draft_at(&key)
    }

    /// Reads the object of a key as a [draft](Self::draft).
    pub fn draft_at(&self, key: &Key) -> Result<Draft> {
        refuse_rntuple(key).map_err(|error| self.name(error))?;
        let payload = self.payload(key)?;
        let registry = self.registry()?;
        Draft::read(&registry, &key.class, &payload, usize::from(key.keylen), &self.0.options.limits)
            .map_err(|error| self.name(error).in_object(&key.name))
    }

    /// Opens a tree by `path;cycle`. A tree is read once and shared for as long as it is in use.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound); [`Mismatch`](crate::ErrorKind::Mismatch) for what is no tree.
    pub fn tree(&self, path: &str) -> Result<Arc<Tree>> {
        let key = self.key(path)?;
        self.tree_at(&key)
    }

    /// Opens the tree of a key.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// let file = sapwood::File::open(path)?;
    /// for found in file.keys(true)? {
    ///     println!("{} has {} entries", found.path, file.tree_at(&found.key)?.entries);
    /// }
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn tree_at(&self, key: &Key) -> Result<Arc<Tree>> {
        if let Ok(trees) = self.0.trees.read()
            && let Some(tree) = trees.get(&key.seek_key).and_then(Weak::upgrade)
        {
            return Ok(tree);
        }
        let tree = self.tree_within(key, self.tree_object(key)?)?;
        if let Ok(mut trees) = self.0.trees.write() {
            trees.insert(key.seek_key, Arc::downgrade(&tree));
        }
        Ok(tree)
    }

    /// Opens a tree that another object holds, such as a `TList`; `object` was read from the record of `key`.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) if `object` is not a tree.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// let file = sapwood::File::open(path)?;
    /// let key = file.key("Events")?;
    /// let object = file.object_in(&key, &file.payload(&key)?)?;
    /// assert_eq!(file.tree_within(&key, object)?.entries, 10);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn tree_within(&self, key: &Key, object: Object) -> Result<Arc<Tree>> {
        let tree = Tree::new(self, key, object).map_err(|error| self.name(error).in_object(&key.name))?;
        Ok(Arc::new(tree))
    }

    /// The record of a tree, whose lists of baskets are decoded on first use.
    fn tree_object(&self, key: &Key) -> Result<Object> {
        refuse_rntuple(key).map_err(|error| self.name(error))?;
        let (payload, registry) = (self.payload(key)?, self.registry()?);
        Object::read_kept(&registry, &key.class, &payload, usize::from(key.keylen), &self.0.options.limits)
            .map_err(|error| self.name(error).in_object(&key.name))
    }

    /// Opens an RNTuple by `path;cycle`. It is opened once and shared for as long as it is in use.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound); [`Mismatch`](crate::ErrorKind::Mismatch) for what is no RNTuple;
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for versions before 1.0 and for features that are not known;
    /// [`Checksum`](crate::ErrorKind::Checksum).
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("file-ntuple.root");
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
    /// assert_eq!(file.ntuple("numbers")?.entries, 3);
    /// assert_eq!(file.ntuple_at(&file.key("numbers")?)?.entries, 3);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn ntuple(&self, path: &str) -> Result<Arc<NTuple>> {
        let key = self.key(path)?;
        self.ntuple_at(&key)
    }

    /// Opens the RNTuple of a key.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("file-ntuple-at.root");
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
    /// assert_eq!(file.ntuple_at(&file.key("numbers")?)?.entries, 3);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn ntuple_at(&self, key: &Key) -> Result<Arc<NTuple>> {
        if let Ok(ntuples) = self.0.ntuples.read()
            && let Some(ntuple) = ntuples.get(&key.seek_key).and_then(Weak::upgrade)
        {
            return Ok(ntuple);
        }
        let ntuple = NTuple::open(self, key).map_err(|error| self.name(error).in_object(&key.name))?;
        let ntuple = Arc::new(ntuple);
        if let Ok(mut ntuples) = self.0.ntuples.write() {
            ntuples.insert(key.seek_key, Arc::downgrade(&ntuple));
        }
        Ok(ntuple)
    }
}

fn refuse_rntuple(key: &Key) -> Result<()> {
    if key.is_ntuple() {
        let message = format!("{:?} is an RNTuple, which is opened as such, and not as an object or a tree", key.name);
        return Err(Error::unsupported(message).in_object(&key.name));
    }
    Ok(())
}

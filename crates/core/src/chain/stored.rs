//! Chains that are stored in a file (`TChain::Write`).

use super::place::Place;
use crate::error::{Error, Result};
use crate::file::File;
use crate::object::Value;

/// `TChain::kGlobalWeight`.
const GLOBAL_WEIGHT: i64 = 1 << 15;

/// A chain that was read from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredChain {
    /// Its files, as the chain names them, and the tree of each.
    pub places: Vec<Place>,
    /// The weight that it has for all its trees (`TChain::SetWeight` with `global`).
    pub weight: Option<f64>,
}

impl StoredChain {
    /// The chain of a path in a file; none if the path leads to another object, or to nothing.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) for a chain without files.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::chain::StoredChain;
    /// // This one is a tree.
    /// assert_eq!(StoredChain::of(&sapwood::File::open(path)?, "Events")?, None);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn of(file: &File, path: &str) -> Result<Option<Self>> {
        let Some(key) = file.key(path).ok().filter(|key| &*key.class == "TChain") else { return Ok(None) };
        let chain = file.object_at(&key)?;
        let malformed =
            |words: &'static str| Error::malformed(words).in_file(file.identity().name.clone()).in_object(path);
        let list = chain.member("fFiles")?;
        let elements = match &list {
            Value::Object(list) => list.members()?.get("items"),
            Value::Record(list) => list.get("items"),
            _ => None,
        };
        let Some(Value::List(elements)) = elements else {
            return Err(malformed("the chain has no list of files"));
        };
        let mut places = Vec::new();
        for element in elements.iter() {
            let Value::Object(element) = element else { continue };
            let text = |member: &str| Ok::<_, Error>(element.member(member)?.as_text().unwrap_or_default());
            let tree = text("fName")?;
            let file = text("fTitle")?;
            places.push(Place { file, table: Some(if tree.is_empty() { path.to_owned() } else { tree }) });
        }
        if places.is_empty() {
            return Err(malformed("the chain has no files"));
        }
        let bits = chain.member("fBits")?.as_int().unwrap_or(0);
        let weight = if bits & GLOBAL_WEIGHT == 0 { None } else { chain.member("fWeight")?.as_float() };
        Ok(Some(Self { places, weight }))
    }
}

//! CHAINS: the trees or RNTuples of many files as one, as a `TChain` has them.
//!
//! Entries count over all files. Each file is opened when its turn comes, the next one ahead if files open slowly. It
//! is closed after the last use of its table.

mod friends;
mod members;
mod names;
mod place;
mod shared;
mod stored;

use std::fmt;
use std::sync::{Arc, OnceLock};

use friends::ChainFriend;
pub use friends::Matching;
pub use members::{Member, Members};
pub use place::Place;
use shared::Shared;
pub use stored::StoredChain;

use crate::error::Result;
use crate::query::{EventList, LumiMask, Source};
use crate::table::Table;
use crate::tree::{FriendElement, Tree};

/// The trees or RNTuples of many files as one.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// use sapwood::File;
/// use sapwood::chain::{Chain, Place};
/// use sapwood::query::{Draw, draw_with};
/// let place = Place::new(path.to_str().unwrap_or_default(), Some("Events"));
/// let chain = Chain::new(vec![place.clone(), place], |place| {
///     File::open(&place.file)?.table(place.table.as_deref().unwrap_or("Events"))
/// });
/// let mut drawn = None;
/// for member in chain.members() {
///     let member = member?;
///     // `Entry$` counts over both files.
///     let names = member.names(&["Entry$"])?;
///     let draw = member.with_friends(|source| {
///         let names = names.iter().map(|(name, meaning)| (name.as_str(), meaning.as_str()));
///         Draw::with_aliases(source, "Entry$>>h(20, 0, 20)", "", names)
///     })?;
///     drawn = Some(draw_with(&[draw], &member.all()?, drawn, |_| Ok(()))?);
/// }
/// assert_eq!(drawn.unwrap_or_default()[0].values()[1..21], [1.0; 20]);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone)]
pub struct Chain(Arc<Shared>);

impl Chain {
    /// A chain of tables, each of which `open` opens when its turn comes.
    pub fn new(places: Vec<Place>, open: impl Fn(&Place) -> Result<Table> + Send + Sync + 'static) -> Self {
        Self(Arc::new(Shared {
            places,
            open: Arc::new(open),
            open_stored: None,
            friends: Vec::new(),
            mask: None,
            events: None,
            total: OnceLock::new(),
        }))
    }

    fn with(mut self, change: impl FnOnce(&mut Shared)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// Adds a friend: tables whose entries follow one another, and belong to those of the chain.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// # use sapwood::File;
    /// # use sapwood::chain::{Chain, Matching, Place};
    /// use sapwood::query::Query;
    /// let places = || vec![Place::new(path.to_str().unwrap_or_default(), Some("Events")); 2];
    /// let chain = Chain::new(places(), |place| File::open(&place.file)?.table("Events"));
    /// let chain = chain.with_friend("twin", places(), Matching::Entries);
    /// for member in chain.members() {
    ///     let query = member?.with_friends(|source| Query::new(source).value("twin.nJet == nJet"))?;
    ///     assert!(query.read(0..10)?.columns[0].numbers::<bool>()?.iter().all(|is_same| *is_same));
    /// }
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    #[must_use]
    pub fn with_friend(self, name: &str, places: Vec<Place>, matching: Matching) -> Self {
        let friend = ChainFriend { name: name.to_owned(), places, matching };
        self.with(|shared| shared.friends.push(friend))
    }

    /// Adds the friends that its trees bring along (`TTree::AddFriend`), which `open` opens. Names that nothing else
    /// has are looked for in them.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// # use sapwood::File;
    /// # use sapwood::chain::{Chain, Place};
    /// use sapwood::query::{Query, Source};
    /// let places = vec![Place::new(path.to_str().unwrap_or_default(), Some("Events")); 2];
    /// let chain = Chain::new(places, |place| File::open(&place.file)?.table("Events"));
    /// // Friends in the same file only.
    /// let chain = chain.with_stored_friends(|tree, friend| Ok(Source::from(&tree.file().table(&friend.tree)?)));
    /// for member in chain.members() {
    ///     let query = member?.with_friends(|source| Query::new(source).value("nJet"))?;
    ///     assert_eq!(query.read(0..10)?.columns[0].len, 10);
    /// }
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    #[must_use]
    pub fn with_stored_friends(
        self,
        open: impl Fn(&Tree, &FriendElement) -> Result<Source> + Send + Sync + 'static,
    ) -> Self {
        self.with(|shared| shared.open_stored = Some(Arc::new(open)))
    }

    /// Keeps the entries of certified luminosity sections alone: `columns` are the run and the section.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// # use sapwood::File;
    /// # use sapwood::chain::{Chain, Place};
    /// use sapwood::query::LumiMask;
    /// let places = vec![Place::new(path.to_str().unwrap_or_default(), Some("Events")); 2];
    /// let chain = Chain::new(places, |place| File::open(&place.file)?.table("Events"));
    /// let mask = LumiMask::new([(1, vec![(0, 2)])])?;
    /// let chain = chain.with_lumi_mask(mask, ["1", "nJet"]);
    /// let member = chain.members().next().transpose()?;
    /// assert!(member.is_some_and(|member| member.is_thinned()));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    #[must_use]
    pub fn with_lumi_mask(self, mask: LumiMask, columns: [&str; 2]) -> Self {
        self.with(|shared| shared.mask = Some((mask, columns.map(str::to_owned))))
    }

    /// Keeps the entries of some events alone.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// # use sapwood::File;
    /// # use sapwood::chain::{Chain, Place};
    /// use sapwood::query::EventList;
    /// let places = vec![Place::new(path.to_str().unwrap_or_default(), Some("Events")); 2];
    /// let chain = Chain::new(places, |place| File::open(&place.file)?.table("Events"));
    /// let chain = chain.with_events(EventList::parse("1:3")?.with_columns(["1", "Entry$"])?);
    /// for member in chain.members() {
    ///     assert_eq!(member?.all()?.ranges().collect::<Vec<_>>(), [3..4]);
    /// }
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    #[must_use]
    pub fn with_events(self, events: EventList) -> Self {
        self.with(|shared| shared.events = Some(events))
    }

    /// The files, and what of them.
    pub fn places(&self) -> &[Place] {
        &self.0.places
    }

    /// Entries of all files. The first call opens all of them.
    ///
    /// # Errors
    ///
    /// Errors of opening a file.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// # use sapwood::File;
    /// # use sapwood::chain::{Chain, Place};
    /// let places = vec![Place::new(path.to_str().unwrap_or_default(), Some("Events")); 3];
    /// let chain = Chain::new(places, |place| File::open(&place.file)?.table("Events"));
    /// assert_eq!(chain.entries()?, 30);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn entries(&self) -> Result<u64> {
        self.0.entries()
    }

    /// The tables, one after another.
    pub fn members(&self) -> Members {
        Members::new(Arc::clone(&self.0))
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chain")
            .field("places", &self.0.places)
            .field("friends", &self.0.friends)
            .finish_non_exhaustive()
    }
}

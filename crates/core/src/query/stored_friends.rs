//! Friends that trees bring along (`TTree::AddFriend`), and friends of friends.

use std::sync::Arc;

use super::source::{Friend, Source};
use crate::error::{Error, Result};
use crate::tree::{FriendElement, Tree};

/// How far friends of friends are followed.
const DEEPEST: usize = 20;

impl Source {
    /// The same with the friends that its tree brings along, and with the friends of these. `open` finds the tree that
    /// a stored friend names. Errors of friends that cannot be opened stand beside the answer: names may be found
    /// without them. Trees are often friends of each other; a tree that is known already is no friend again.
    ///
    /// # Errors
    ///
    /// Those of [`with_friend`](Self::with_friend), and [`Limit`](crate::ErrorKind::Limit) for friends of friends that
    /// are more than 20 deep.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::query::Source;
    /// let file = sapwood::File::open(path)?;
    /// let tree = file.tree("Events")?;
    /// let in_the_same_file = |_: &_, friend: &sapwood::tree::FriendElement| Ok((&file.tree(&friend.tree)?).into());
    /// let (source, failed) = Source::from(&tree).with_stored_friends(in_the_same_file)?;
    /// assert!(failed.is_empty() && source.entries() == 10);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn with_stored_friends(
        self,
        open: impl FnMut(&Tree, &FriendElement) -> Result<Self>,
    ) -> Result<(Self, Vec<Error>)> {
        let seen = self.tree().cloned().into_iter().collect();
        let mut followed = Followed { open, seen, failed: Vec::new() };
        let source = followed.friends_of(self, 0)?;
        Ok((source, followed.failed))
    }
}

struct Followed<Open> {
    open: Open,
    /// Trees that are friends, or have them.
    seen: Vec<Arc<Tree>>,
    failed: Vec<Error>,
}

impl<Open: FnMut(&Tree, &FriendElement) -> Result<Source>> Followed<Open> {
    fn friends_of(&mut self, mut source: Source, depth: usize) -> Result<Source> {
        let elements = source.tree().map(|tree| tree.friends.clone()).unwrap_or_default();
        for element in &elements {
            if source.has_friend(&element.name) {
                continue;
            }
            let Some(friend) = self.opened(&source, element) else { continue };
            // What the tree itself names is its friend in any case.
            let is_known = friend.first().and_then(Source::tree).is_some_and(|tree| self.is_known(tree));
            if depth == 0 || !is_known {
                source = source.with_friend(friend)?;
            }
        }
        let friends = source.friends().to_vec();
        if depth >= DEEPEST && !friends.is_empty() {
            return Err(source.place(Error::limit("depth of friends of friends", DEEPEST as u64, depth as u64 + 1)));
        }
        self.seen.extend(friends.iter().flat_map(|friend| &friend.parts).filter_map(|part| part.tree().cloned()));
        let nested = |mut friend: Friend| {
            for part in &mut friend.parts {
                *part = self.friends_of(part.clone(), depth + 1)?;
            }
            Ok(friend)
        };
        let friends = friends.into_iter().map(nested).collect::<Result<Vec<_>>>()?;
        Ok(source.with_friends(friends))
    }

    /// The friend of an element; its error is kept.
    fn opened(&mut self, source: &Source, element: &FriendElement) -> Option<Friend> {
        let tree = source.tree()?;
        let friend = (self.open)(tree, element).and_then(|of| Friend::new(&element.name, of).by_stored_index());
        friend.map_err(|error| self.failed.push(error)).ok()
    }

    fn is_known(&self, tree: &Arc<Tree>) -> bool {
        let path = |tree: &Tree| tree.file().identity().name.clone();
        self.seen.iter().any(|seen| {
            Arc::ptr_eq(seen, tree)
                || (seen.name == tree.name && path(seen) == path(tree) && seen.entries == tree.entries)
        })
    }
}

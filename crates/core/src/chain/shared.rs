//! The state that a chain and its members share.

use std::sync::{Arc, OnceLock};

use super::friends::ChainFriend;
use super::place::{Open, Place};
use crate::error::Result;
use crate::query::{EventList, LumiMask, Source};
use crate::tree::{FriendElement, Tree};

/// Opens the tree of a friend that a tree brings along.
pub(super) type OpenStored = dyn Fn(&Tree, &FriendElement) -> Result<Source> + Send + Sync;

/// Files, friends and choices of a chain.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) places: Vec<Place>,
    pub(super) open: Arc<Open>,
    pub(super) open_stored: Option<Arc<OpenStored>>,
    pub(super) friends: Vec<ChainFriend>,
    pub(super) mask: Option<(LumiMask, [String; 2])>,
    /// The events whose entries are kept; none for all.
    pub(super) events: Option<EventList>,
    /// Entries of all files, after they were counted.
    pub(super) total: OnceLock<u64>,
}

impl Shared {
    pub(super) fn entries(&self) -> Result<u64> {
        if let Some(total) = self.total.get() {
            return Ok(*total);
        }
        let mut total = 0_u64;
        for place in &self.places {
            total = total.saturating_add((self.open)(place)?.entries());
        }
        Ok(*self.total.get_or_init(|| total))
    }
}

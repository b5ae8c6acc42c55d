//! One basket as bytes, for tools that decode it themselves.

use std::ops::Range;

use crate::codec::Scratch;
use crate::container::Key;
use crate::error::{Error, Result};
use crate::tree::{Basket, BasketBytes, BranchId, Tree, Unsealed};

use super::embedded;

/// A basket (`TBasket`), inflated and not decoded.
#[derive(Clone, Debug)]
pub struct RawBasket {
    /// Its key; none where it is embedded in the tree's own record.
    pub key: Option<Key>,
    /// The tree's entries that it holds.
    pub entries: Range<u64>,
    /// The bytes of all entries, big-endian, without the array of offsets behind them.
    pub data: Vec<u8>,
    /// Where each entry begins in `data`, and where the last one ends; none where all have the same number of bytes.
    pub starts: Option<Vec<u32>>,
}

impl RawBasket {
    /// Reads the basket with this number of a branch.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound) for a branch or basket that is not there;
    /// [`Malformed`](crate::ErrorKind::Malformed) for one that is damaged;
    /// [`Unsupported`](crate::ErrorKind::Unsupported) where its writer left out the offsets.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::read::RawBasket;
    /// # let path = sapwood_testkit::example("nano.root");
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// let basket = RawBasket::read(&tree, tree.branch("Jet_pt")?.id, 0)?;
    /// let starts = basket.starts.expect("entries are lists");
    /// assert_eq!(starts.len() as u64, basket.entries.end - basket.entries.start + 1);
    /// assert_eq!(starts[0], 0);
    /// assert_eq!(*starts.last().unwrap() as usize, basket.data.len());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn read(tree: &Tree, branch: BranchId, number: usize) -> Result<Self> {
        let found = tree.branches().get(branch).ok_or_else(|| Error::not_found(format!("no branch {branch}")))?;
        let named = |error: Error| tree.file().name(error.in_basket(number as u32).in_object(&found.path));
        let place = found
            .baskets()
            .get(number)
            .ok_or_else(|| named(Error::not_found(format!("the branch has {} baskets", found.baskets().len()))))?;
        let (key, data, starts) = match place.bytes {
            BasketBytes::Embedded(id) => embedded(tree, id).and_then(|basket| {
                let (data, starts) = payload(&basket)?;
                Ok((None, data, starts))
            }),
            BasketBytes::Stored { seek, nbytes } => {
                let record = tree.file().read_one(seek..seek.saturating_add(nbytes.into()))?;
                Basket::read(record, &tree.file().options().limits).and_then(|basket| {
                    let mut memory = Vec::new();
                    let unsealed = basket.unseal(&mut memory, &mut Scratch::default())?;
                    let (data, starts) = payload(&unsealed)?;
                    Ok((Some(basket.key.clone()), data, starts))
                })
            }
        }
        .map_err(named)?;
        Ok(Self { key, entries: place.entries.clone(), data, starts })
    }
}

/// A basket's bytes, and where entries start in them unless all have one length.
fn payload(basket: &Unsealed<'_>) -> Result<(Vec<u8>, Option<Vec<u32>>)> {
    let starts = match basket.fixed_bytes() {
        Some(_) => None,
        None => {
            let mut starts = Vec::new();
            basket.starts(&mut starts)?;
            Some(starts)
        }
    };
    Ok((basket.data.to_vec(), starts))
}

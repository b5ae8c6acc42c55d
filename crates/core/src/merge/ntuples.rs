//! RNTuples of the output: each grows by those of the same path.

use std::collections::{HashMap, HashSet};

use super::input::{Input, Place};
use super::report::{Merged, MergedTree};
use crate::codec::Compression;
use crate::error::{Error, Result};
use crate::write::{ColumnMatches, FileWriter, GrowingNTuple, MovedBaskets, NTupleCheckpoint, Unmatched};

/// The RNTuples of the output, by their paths.
#[derive(Default)]
pub(super) struct NTuples {
    all: Vec<Growing>,
    places: HashMap<String, usize>,
    /// Fields that were left out, once for each.
    left_out: HashSet<String>,
}

struct Growing {
    joined: GrowingNTuple,
    report: MergedTree,
}

/// What an input adds, and what was there before.
pub(super) struct Added {
    /// How many RNTuples there were.
    known: usize,
    matches: Vec<(usize, ColumnMatches, NTupleCheckpoint)>,
    left_out: Vec<String>,
    /// Fields that are new in the output.
    late: Vec<String>,
}

impl NTuples {
    /// An account of what the next input adds, which is nothing so far. All that exists now is kept when it is
    /// [undone](Self::undo).
    pub(super) fn nothing_added(&self) -> Added {
        Added { known: self.all.len(), matches: Vec::new(), left_out: Vec::new(), late: Vec::new() }
    }

    /// Compares the RNTuples of an input with those of the output; begins those that are new.
    pub(super) fn compare(&mut self, writer: &mut FileWriter, input: &mut Input, added: &mut Added) -> Result<()> {
        // RNTuples without fields hold nothing, and join any other.
        let has_fields = |path: &str| {
            self.places.get(path).and_then(|&known| self.all.get(known)).is_some_and(|known| known.joined.has_fields())
        };
        input.ntuples.retain(|(place, ntuple)| !(ntuple.top().is_empty() && has_fields(&place.path())));
        for (place, ntuple) in &input.ntuples {
            let path = place.path();
            let index = match self.places.get(&path) {
                Some(&known) => known,
                None => self.begin(writer, place, ntuple, path.clone())?,
            };
            let growing = self.all.get_mut(index).ok_or_else(|| Error::internal("an RNTuple was lost"))?;
            let mut unmatched = Unmatched::default();
            let mut matches = growing.joined.match_columns(ntuple, &mut unmatched)?;
            let mark = growing.joined.checkpoint();
            if !unmatched.fields.is_empty() {
                growing.joined.add_fields(ntuple, &unmatched.fields)?;
                matches = growing.joined.match_columns(ntuple, &mut Unmatched::default())?;
                let names = unmatched.fields.iter().filter_map(|&id| ntuple.fields().get(id));
                added.late.extend(names.map(|field| format!("{path}: field {}", field.path)));
            }
            let sets = ntuple.attribute_sets.iter().map(|set| format!("{path}: attributes {set}"));
            let left_out = unmatched.left_out.into_iter().map(|field| format!("{path}: field {field}"));
            added.left_out.extend(sets.chain(left_out));
            added.matches.push((index, matches, mark));
        }
        Ok(())
    }

    fn begin(
        &mut self,
        writer: &mut FileWriter,
        place: &Place,
        ntuple: &std::sync::Arc<crate::ntuple::NTuple>,
        path: String,
    ) -> Result<usize> {
        let joined = match writer.newest(&place.folder, &place.key.name)? {
            Some(there) => writer.join_more_ntuple(&there)?,
            None => writer.join_ntuple(ntuple, &place.key, &place.folder)?,
        };
        self.all.push(Growing { joined, report: MergedTree::new(path.clone()) });
        self.places.insert(path, self.all.len() - 1);
        Ok(self.all.len() - 1)
    }

    /// Moves the pages of an input.
    pub(super) fn grow(
        &mut self,
        writer: &mut FileWriter,
        input: &Input,
        added: &Added,
        again: Option<Compression>,
    ) -> Result<()> {
        for ((index, matches, _), (_, ntuple)) in added.matches.iter().zip(&input.ntuples) {
            let Some(growing) = self.all.get_mut(*index) else { continue };
            writer.grow_ntuple(&mut growing.joined, ntuple, matches, again)?;
        }
        Ok(())
    }

    /// Undoes what an input began and added.
    pub(super) fn undo(&mut self, writer: &mut FileWriter, added: Added) -> Result<()> {
        for (index, _, mark) in added.matches {
            if let Some(growing) = self.all.get_mut(index) {
                writer.shrink_ntuple(&mut growing.joined, mark)?;
            }
        }
        self.places.retain(|_, index| *index < added.known);
        self.all.drain(added.known..).try_for_each(|growing| writer.forget_ntuple(growing.joined))
    }

    /// Reports what an input added.
    pub(super) fn note(&mut self, input: &Input, added: Added, merged: &mut Merged) {
        for (index, _, _) in added.matches {
            if let Some(growing) = self.all.get_mut(index) {
                growing.report.inputs += 1;
            }
        }
        for words in added.late {
            let name = &input.file.identity().name;
            merged.notices.push(format!("{words} begins with {name}: entries before have zeros, or nothing"));
        }
        for words in added.left_out {
            if self.left_out.insert(words.clone()) {
                let name = &input.file.identity().name;
                merged.notices.push(format!("{words} left out: {name} has it, and the output has not"));
            }
        }
    }

    /// Passes all to the file.
    pub(super) fn finish(self, writer: &mut FileWriter, merged: &mut Merged) -> Result<()> {
        for Growing { joined, mut report } in self.all {
            let (copied, recompressed) = (joined.moved.copied, joined.moved.recompressed);
            report.note(MovedBaskets { copied, recompressed, ..MovedBaskets::default() });
            report.figures = joined.figures();
            writer.settle_ntuple(joined)?;
            merged.trees.push(report);
        }
        Ok(())
    }
}

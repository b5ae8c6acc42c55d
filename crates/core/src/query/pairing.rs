//! Lists of different collections that a drawing pairs by their positions.

use std::collections::BTreeSet;

use super::bound::{Bound, Op};
use super::draw::Draw;
use super::joint::{How, Joint};
use super::source::Source;
use crate::column::Kind;

impl Draw {
    /// Warnings about the loop: `Jet_pt:Muon_pt` pairs the first jet with the first muon, and ends with the shorter
    /// list, as `TTree::Draw` does. That is seldom meant.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// use sapwood::query::Draw;
    /// let tree = sapwood::File::open(path)?.tree("Events")?;
    /// assert!(Draw::new(&tree, "Jet_pt:Jet_eta", "nJet > 2")?.notices().is_empty());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn notices(&self) -> Vec<String> {
        let values = self.query.values.iter().chain(&self.query.cut);
        let mut lists = Lists { source: &self.query.source, needed: &self.query.needed, found: BTreeSet::new() };
        values.for_each(|value| lists.add(&value.bound));
        let names: Vec<&str> = lists.found.iter().map(String::as_str).collect();
        let [first, second, ..] = names[..] else { return Vec::new() };
        let words = format!(
            "{:?} pairs lists of {} by their positions, and ends with the shortest: write cross({first}, {second}) for \
             all pairs, or reduce one of them to a number, as sum(...)",
            self.words(),
            names.join(" and ")
        );
        vec![words]
    }

    /// The expressions, as they are written.
    fn words(&self) -> String {
        let values: Vec<&str> = self.query.values.iter().rev().map(|value| value.text.trim()).collect();
        let cut = self.query.cut.as_ref().map(|cut| format!(" {{{}}}", cut.text)).unwrap_or_default();
        format!("{}{cut}", values.join(":"))
    }
}

/// The names of the collections that a loop goes over.
struct Lists<'q> {
    source: &'q Source,
    needed: &'q [usize],
    found: BTreeSet<String>,
}

impl Lists<'_> {
    fn add(&mut self, of: &Bound) {
        if of.depth == 0 {
            return;
        }
        match &of.op {
            Op::Column(place, path) => {
                let name = self.needed.get(*place).and_then(|id| self.source.name_of(*id).ok());
                if let Some(name) = name.and_then(|name| self.collection(&name, !path.members.is_empty())) {
                    self.found.insert(name);
                }
            }
            Op::Shared(shared) => self.add(&shared.bound),
            Op::Mask { of, .. } | Op::Slice { of, .. } | Op::Pick { of, .. } => self.add(of),
            Op::PickBy { of, by, .. } => self.add(if by.depth > 0 { by } else { of }),
            Op::Joint(joint, of) => {
                let mut inner = Lists { found: BTreeSet::new(), ..*self };
                of.iter().for_each(|of| inner.add(of));
                let names = inner.found.into_iter().collect::<Vec<_>>().join(", ");
                let name = match joint {
                    Joint::Combine { how, .. } | Joint::Sum { how, .. } => match how {
                        How::Sets(2) => "pairs",
                        How::Sets(_) => "triples",
                        How::Cross => "cross",
                        How::Each => "each",
                    },
                    Joint::Concat => "concat",
                    Joint::MinDeltaR => return of.iter().take(2).for_each(|of| self.add(of)),
                    Joint::Order | Joint::Positions { .. } | Joint::Optional => {
                        return of.iter().for_each(|of| self.add(of));
                    }
                };
                // Columns of unknown collections count as one.
                if !names.is_empty() {
                    self.found.insert(format!("{name}({names})"));
                }
            }
            _ => of.parts().into_iter().for_each(|part| self.add(part)),
        }
    }

    /// The collection of a column: that of NanoAOD whose number of items is a column, or a list of records.
    fn collection(&self, name: &str, is_of_records: bool) -> Option<String> {
        if is_of_records {
            return Some(name.to_owned());
        }
        let (above, last) = name.rsplit_once('.').map_or((None, name), |(above, last)| (Some(above), last));
        let places = last.match_indices('_').map(|(place, _)| &last[..place]);
        for prefix in places {
            let count = format!("n{prefix}");
            let parts: Vec<&str> = above.into_iter().chain([count.as_str()]).collect();
            if matches!(self.source.find(&parts), Ok(Some((_, used))) if used == parts.len()) {
                return Some(above.map_or_else(|| prefix.to_owned(), |above| format!("{above}.{prefix}")));
            }
        }
        let above = above?;
        let parts: Vec<&str> = above.split('.').collect();
        let is_list = matches!(self.source.find(&parts), Ok(Some((found, used)))
            if used == parts.len() && self.source.kind(found.id).is_ok_and(|kind| matches!(kind, Kind::List { .. })));
        is_list.then(|| above.to_owned())
    }
}

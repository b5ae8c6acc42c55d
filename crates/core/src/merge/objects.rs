//! Objects other than trees: added up by name if their class supports it, else kept side by side.

use std::collections::HashMap;

use super::Sum;
use super::input::{Input, Place};
use crate::container::Key;
use crate::error::Result;
use crate::file::File;
use crate::schema::Draft;
use crate::write::FileWriter;

/// Sums of objects, by their paths.
#[derive(Default)]
pub(super) struct Sums {
    all: Vec<Growing>,
    places: HashMap<String, usize>,
}

/// A sum, and its directory.
struct Growing {
    place: Place,
    sum: Sum,
    /// The object that it replaces, in a file that is appended to.
    old: Option<Key>,
}

impl Sums {
    /// Adds the objects of an input.
    pub(super) fn add(&mut self, writer: &FileWriter, file: &File, objects: Vec<(Place, Draft)>) -> Result<()> {
        objects.into_iter().try_for_each(|(place, object)| {
            let path = place.path();
            self.add_one(writer, place, &path, object).map_err(|error| file.name(error.in_object(&path)))
        })
    }

    fn add_one(&mut self, writer: &FileWriter, place: Place, path: &str, object: Draft) -> Result<()> {
        let known = self.places.get(path).and_then(|&known| self.all.get_mut(known));
        if let Some(known) = known {
            return known.sum.take(object);
        }
        let old = writer.newest(&place.folder, &place.key.name)?;
        let there = old.as_ref().map(|key| writer.draft_before(key)).transpose()?.flatten();
        let sum = match there {
            Some(there) => Sum::new(there).and_then(|mut sum| sum.take(object).map(|()| sum)),
            None => Sum::new(object),
        };
        let sum = sum?;
        self.places.insert(path.to_owned(), self.all.len());
        self.all.push(Growing { place, sum, old });
        Ok(())
    }

    /// The sums before these objects are added, for [`restore`](Self::restore).
    pub(super) fn before(&self, objects: &[(Place, Draft)]) -> Vec<(String, Option<Sum>)> {
        let now =
            |path: &str| self.places.get(path).and_then(|&known| self.all.get(known)).map(|known| known.sum.clone());
        let before = |(place, _): &(Place, Draft)| {
            let path = place.path();
            let sum = now(&path);
            (path, sum)
        };
        objects.iter().map(before).collect()
    }

    /// Undoes what was added since.
    pub(super) fn restore(&mut self, before: Vec<(String, Option<Sum>)>) {
        let mut first_new = self.all.len();
        for (path, sum) in before {
            let Some(&known) = self.places.get(&path) else { continue };
            match (sum, self.all.get_mut(known)) {
                (Some(sum), Some(growing)) => growing.sum = sum,
                _ => {
                    first_new = first_new.min(known);
                    self.places.remove(&path);
                }
            }
        }
        // New ones are at the end.
        self.all.truncate(first_new);
    }

    /// Writes all sums, and returns their number.
    pub(super) fn finish(self, writer: &mut FileWriter) -> Result<u64> {
        let count = self.all.len() as u64;
        for Growing { place, sum, old } in self.all {
            writer.put_object(&place.folder, &place.key, sum.finish(), old.as_ref())?;
        }
        Ok(count)
    }
}

/// Copies the objects of an input that are not added up, in all cycles, as `hadd` does; returns their number. Copies
/// none if one fails.
pub(super) fn copy(writer: &mut FileWriter, input: &Input) -> Result<u64> {
    let mut copied = Vec::with_capacity(input.objects.len());
    for place in &input.objects {
        match writer.copy_object(&input.file, &place.key, &place.folder) {
            Ok(one) => copied.extend(one),
            Err(error) => {
                writer.remove_copied(copied)?;
                return Err(error);
            }
        }
    }
    Ok(copied.len() as u64)
}

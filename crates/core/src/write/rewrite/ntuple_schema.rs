//! Whether the pages of an RNTuple can go on with those of another: fields and columns are matched by name.

use crate::error::{Error, Result};
use crate::ntuple::{ColumnPages, Field, NTuple, Role};

/// For columns of a growing RNTuple, the columns of another one that match them.
#[derive(Debug)]
pub(crate) struct ColumnMatches {
    /// Columns of the growing one, and of the other.
    pairs: Vec<(usize, usize)>,
    /// Whether both are the same RNTuple.
    is_own: bool,
}

impl ColumnMatches {
    /// Those of an RNTuple with itself.
    pub(crate) fn own(ntuple: &NTuple) -> Self {
        Self { pairs: (0..ntuple.schema().columns.len()).map(|column| (column, column)).collect(), is_own: true }
    }

    /// Matches all columns.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) naming a field that is missing, of another type, or stored in columns
    /// of other types. A late field may be missing: its values are zeros.
    pub(crate) fn find(first: &NTuple, other: &NTuple, left_out: &mut Vec<String>) -> Result<Self> {
        if first.header().checksum == other.header().checksum && first.schema() == other.schema() {
            // The same schema, late fields included; where other entries lack them is another question.
            let same_start = std::ptr::eq(first, other);
            return Ok(Self { is_own: same_start, ..Self::own(first) });
        }
        let mut matched: Vec<Option<usize>> = vec![None; first.fields().len()];
        let mut pairs = Vec::new();
        for field in first.fields().iter().filter(|field| field.source.is_none()) {
            let siblings = match field.parent {
                None => other.top(),
                Some(parent) => match matched[parent] {
                    Some(parent) => other.fields().get(parent).map_or(&[][..], |parent| &parent.children),
                    None => continue,
                },
            };
            let found = siblings.iter().filter_map(|&id| other.fields().get(id));
            let found = found.filter(|other| other.source.is_none()).find(|other| other.name == field.name);
            let within = |error: Error| other.place(error.in_object(&field.path));
            match found {
                Some(found) => {
                    same_type(field, found).map_err(within)?;
                    matched[field.id] = Some(found.id);
                    pair_columns(first, field, other, found, &mut pairs).map_err(within)?;
                }
                None if field.is_late && field.parent.is_none() => {}
                None => {
                    let words = "the RNTuple does not have this field, which the first one has";
                    return Err(within(Error::mismatch(words)));
                }
            }
        }
        for field in other.fields() {
            let is_known = matched.contains(&Some(field.id));
            let above = field.parent.and_then(|parent| other.fields().get(parent));
            // Of what is left out as a whole, the top is named.
            let is_below_known = above.is_none_or(|above| matched.contains(&Some(above.id)));
            if is_known || !is_below_known || field.source.is_some() {
                continue;
            }
            match above {
                Some(above) if above.role != Role::Record => {
                    let words = "the field has another number of types inside than that of the first RNTuple";
                    return Err(other.place(Error::mismatch(words).in_object(&above.path)));
                }
                _ => left_out.push(field.path.to_string()),
            }
        }
        Ok(Self { pairs, is_own: false })
    }

    /// Whether both RNTuples are one, so that late fields are absent from the same entries.
    pub(crate) fn is_own(&self) -> bool {
        self.is_own
    }

    /// The columns that match: of the growing one, and of the other.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (usize, usize)> {
        self.pairs.iter().copied()
    }

    /// Forgets the pages of columns that match none.
    pub(crate) fn drop_others(&self, pages: &mut [ColumnPages]) {
        let mut used = vec![false; pages.len()];
        for &(_, source) in &self.pairs {
            if let Some(used) = used.get_mut(source) {
                *used = true;
            }
        }
        pages.iter_mut().zip(used).filter(|(_, used)| !used).for_each(|(pages, _)| *pages = ColumnPages::default());
    }

    /// Whether entries of the other RNTuple may have no elements in this column: it was added late, or never.
    pub(crate) fn may_lack(&self, other: &NTuple, column: usize) -> bool {
        let source = self.pairs.iter().find(|(own, _)| *own == column).map(|&(_, source)| source);
        let described = source.and_then(|source| other.schema().columns.get(source));
        described.is_none_or(|column| column.first_element.is_some())
    }
}

/// Checks that values of one field can follow those of the other.
fn same_type(first: &Field, other: &Field) -> Result<()> {
    let bare = |name: &str| name.chars().filter(|letter| !letter.is_whitespace()).collect::<String>();
    let words = |field: &Field| if field.type_name.is_empty() { "a record" } else { &field.type_name }.to_owned();
    if bare(&first.type_name) != bare(&other.type_name) || first.role != other.role {
        let message = format!("its type is {}, that of the first RNTuple is {}", words(other), words(first));
        return Err(Error::mismatch(message));
    }
    if first.repetitions != other.repetitions {
        let error = Error::mismatch("its arrays have another length than those of the first RNTuple");
        return Err(error.wanted(first.repetitions.unwrap_or(1), other.repetitions.unwrap_or(1)));
    }
    let sums = first.type_checksum.zip(other.type_checksum);
    if let Some((wanted, found)) = sums.filter(|(wanted, found)| wanted != found) {
        let message =
            format!("class {} has other members than in the first RNTuple: its checksum differs", words(first));
        return Err(Error::mismatch(message).wanted(wanted.into(), found.into()));
    }
    if first.type_version != other.type_version {
        let message = format!("class {} has another version than in the first RNTuple", words(first));
        return Err(Error::mismatch(message).wanted(first.type_version.into(), other.type_version.into()));
    }
    Ok(())
}

/// Pairs the columns of each representation of a field with those of an equal one.
fn pair_columns(
    first: &NTuple,
    field: &Field,
    other: &NTuple,
    found: &Field,
    pairs: &mut Vec<(usize, usize)>,
) -> Result<()> {
    let is_same = |own: usize, source: usize| -> Result<bool> {
        let (own, source) = (first.column(own)?, other.column(source)?);
        Ok((own.code, own.bits, own.range) == (source.code, source.bits, source.range))
    };
    'sets: for set in &found.representations {
        for own in &field.representations {
            let mut same = own.len() == set.len();
            for (&own, &source) in own.iter().zip(set) {
                same = same && is_same(own, source)?;
            }
            if same {
                pairs.extend(own.iter().copied().zip(set.iter().copied()));
                continue 'sets;
            }
        }
        let words = |ntuple: &NTuple, set: Option<&Vec<usize>>| -> Result<String> {
            let columns = set.into_iter().flatten().map(|&column| {
                let column = ntuple.column(column)?;
                Ok(match column.kind {
                    Some(kind) => format!("{kind:?} of {} bits", column.bits),
                    None => format!("column type {}", column.code),
                })
            });
            Ok(columns.collect::<Result<Vec<_>>>()?.join(" and "))
        };
        let message = format!(
            "it is stored as {}, in the first RNTuple as {}: rewrite one of the two first",
            words(other, Some(set))?,
            words(first, field.representations.first())?
        );
        return Err(Error::mismatch(message));
    }
    Ok(())
}

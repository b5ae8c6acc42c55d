//! Whether the pages of an RNTuple can go on with those of another: fields and columns are matched by name.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::ntuple::{ColumnDescriptor, ColumnPages, ColumnType, Field, FieldId, NTuple, Role};
use crate::write::rewrite::ntuple::pages::Conversion;

/// For columns of a growing RNTuple, the columns of another one that match them.
#[derive(Debug)]
pub(crate) struct ColumnMatches {
    /// Columns of the growing one, and of the other.
    pairs: Vec<(usize, usize)>,
    /// How the elements of some columns of the other one are converted.
    conversions: HashMap<usize, Conversion>,
    /// Whether both are the same RNTuple.
    is_own: bool,
}

/// What the other RNTuple has, and the growing one has not.
#[derive(Debug, Default)]
pub(crate) struct Unmatched {
    /// Top-level fields.
    pub(crate) fields: Vec<FieldId>,
    /// Paths of other fields: they are left out.
    pub(crate) left_out: Vec<String>,
}

impl ColumnMatches {
    /// Those of an RNTuple with itself.
    pub(crate) fn own(ntuple: &NTuple) -> Self {
        let pairs = (0..ntuple.schema().columns.len()).map(|column| (column, column)).collect();
        Self { pairs, conversions: HashMap::new(), is_own: true }
    }

    /// Matches all columns. Elements that are stored in another way are converted where no value is lost by it.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) naming a field that is missing, of another type, or stored in columns
    /// of other types. A late field may be missing: its values are zeros.
    pub(crate) fn find(first: &NTuple, other: &NTuple, unmatched: &mut Unmatched) -> Result<Self> {
        if first.header().checksum == other.header().checksum && first.schema() == other.schema() {
            // The same schema, late fields included; where other entries lack them is another question.
            let same_start = std::ptr::eq(first, other);
            return Ok(Self { is_own: same_start, ..Self::own(first) });
        }
        let mut matched: Vec<Option<usize>> = vec![None; first.fields().len()];
        let (mut pairs, mut conversions) = (Vec::new(), HashMap::new());
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
                    pair_columns((first, field), (other, found), &mut pairs, &mut conversions).map_err(within)?;
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
                None => unmatched.fields.push(field.id),
                Some(_) => unmatched.left_out.push(field.path.to_string()),
            }
        }
        Ok(Self { pairs, conversions, is_own: false })
    }

    /// How the elements of columns of the other one are converted.
    pub(crate) fn conversions(&self) -> &HashMap<usize, Conversion> {
        &self.conversions
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

/// Whether elements of both columns are stored in the same way.
fn is_same(own: &ColumnDescriptor, source: &ColumnDescriptor) -> bool {
    (own.code, own.bits, own.range) == (source.code, source.bits, source.range)
}

/// Whether no value of `source` is lost where its elements become those of `own`.
fn holds(own: &ColumnDescriptor, source: &ColumnDescriptor) -> bool {
    let can = own.kind.zip(source.kind).is_some_and(|(own, source)| own.holds(source));
    // The bits of these types say how exact they are.
    let is_narrow = matches!(own.kind, Some(ColumnType::Real32Trunc | ColumnType::Real32Quant));
    is_same(own, source) || can && !is_narrow
}

/// Pairs the columns of each representation of a field with those of an equal one, or of one that holds its values.
fn pair_columns(
    (first, field): (&NTuple, &Field),
    (other, found): (&NTuple, &Field),
    pairs: &mut Vec<(usize, usize)>,
    conversions: &mut HashMap<usize, Conversion>,
) -> Result<()> {
    'sets: for set in &found.representations {
        for fits in [is_same as fn(&ColumnDescriptor, &ColumnDescriptor) -> bool, holds] {
            for own in field.representations.iter().filter(|own| own.len() == set.len()) {
                let mut both = Vec::with_capacity(set.len());
                for (&own, &source) in own.iter().zip(set) {
                    both.push((own, first.column(own)?, source, other.column(source)?));
                }
                if both.iter().all(|(_, own, _, source)| fits(own, source)) {
                    for (own, to, source, from) in both {
                        pairs.push((own, source));
                        if !is_same(to, from) {
                            conversions.insert(source, Conversion { from: from.clone(), to: to.clone() });
                        }
                    }
                    continue 'sets;
                }
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
            "it is stored as {}, whose values {}, as in the first RNTuple, do not hold: rewrite one of the two first",
            words(other, Some(set))?,
            words(first, field.representations.first())?
        );
        return Err(Error::mismatch(message));
    }
    Ok(())
}

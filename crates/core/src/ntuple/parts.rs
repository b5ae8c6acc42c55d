//! What the unnamed records of a file hold that belong to an RNTuple.

use std::fmt;

use super::NTuple;
use crate::error::Result;

/// A part of an RNTuple that is stored by itself.
///
/// # Example
///
/// ```
/// use sapwood::ntuple::Part;
/// assert_eq!(Part::PageList(2).to_string(), "page list 2");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The schema as it was when the RNTuple was created.
    Header,
    /// What was added later, and where the page lists are.
    Footer,
    /// The page list of a cluster group.
    PageList(usize),
    /// A page of this cluster.
    Page(usize),
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header => f.write_str("header"),
            Self::Footer => f.write_str("footer"),
            Self::PageList(group) => write!(f, "page list {group}"),
            Self::Page(cluster) => write!(f, "pages of cluster {cluster}"),
        }
    }
}

impl NTuple {
    /// Where its parts begin, in the order of the file. They lie in records without a name, behind a key; the pages of
    /// a cluster often in one record.
    ///
    /// # Errors
    ///
    /// What reading the page lists reports.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("ntuple-parts.root");
    /// # use sapwood::column::{Kind, Number};
    /// # use sapwood::read::Column;
    /// # use sapwood::write::{FieldSpec, FileWriter, NTupleOptions, WriteOptions};
    /// # let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// # let spec = FieldSpec::new("x", Kind::Number { buffer: 0, number: Number::I32 });
    /// # let mut ntuple = file.ntuple("numbers", vec![spec], NTupleOptions::default())?;
    /// # ntuple.extend(&[("x", Column::from_numbers(&[1, 2, 3]))])?;
    /// # ntuple.close()?;
    /// # file.close()?;
    /// use sapwood::ntuple::Part;
    /// let ntuple = sapwood::File::open(&path)?.ntuple("numbers")?;
    /// let parts: Vec<Part> = ntuple.parts()?.into_iter().map(|(_, part)| part).collect();
    /// assert_eq!(parts, [Part::Header, Part::Page(0), Part::PageList(0), Part::Footer]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn parts(&self) -> Result<Vec<(u64, Part)>> {
        let mut parts = Vec::new();
        for (link, part) in [(self.anchor.header, Part::Header), (self.anchor.footer, Part::Footer)] {
            parts.push((link.locator.in_file()?.0, part));
        }
        for (number, group) in self.footer.groups.iter().enumerate() {
            parts.push((group.page_list.locator.in_file()?.0, Part::PageList(number)));
        }
        let (pages, _) = self.listed_pages()?;
        parts.extend(pages.iter().map(|page| (page.place.0, Part::Page(page.cluster))));
        parts.sort_by_key(|&(at, _)| at);
        parts.dedup();
        Ok(parts)
    }
}

//! ROOT's own classes as ROOT 6.40 describes them: the content of the StreamerInfo record of files that we write.
//!
//! `builtin.tsv` was written by ROOT 6.40 from its dictionaries. A line `class`, name, version, checksum; below it a
//! line for each base and member: kind, name, type, code, size, extents, what the kind adds, title.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::info::{Detail, Element, StreamerInfo};

static TEXT: &str = include_str!("builtin.tsv");

impl StreamerInfo {
    /// A class of ROOT's own, in the version of ROOT 6.40.
    ///
    /// # Example
    ///
    /// ```
    /// let tree = sapwood::schema::StreamerInfo::of_root("TTree").unwrap();
    /// assert_eq!((tree.version, &*tree.elements[0].name), (20, "TNamed"));
    /// ```
    pub fn of_root(class: &str) -> Option<&'static Arc<Self>> {
        known().get(class)
    }

    /// All of them, in no order.
    pub(crate) fn all_of_root() -> impl Iterator<Item = &'static Arc<Self>> {
        known().values()
    }
}

fn known() -> &'static HashMap<&'static str, Arc<StreamerInfo>> {
    static KNOWN: OnceLock<HashMap<&'static str, Arc<StreamerInfo>>> = OnceLock::new();
    // A table with a damaged line describes no class at all, so that no class is described wrongly.
    KNOWN.get_or_init(|| parse(TEXT).unwrap_or_default())
}

/// The classes of a table; none if it has a line that is no class and no member.
fn parse(text: &'static str) -> Option<HashMap<&'static str, Arc<StreamerInfo>>> {
    let mut infos: Vec<(&'static str, StreamerInfo)> = Vec::new();
    for line in text.lines() {
        let mut words = line.split('\t');
        match (words.next(), infos.last_mut()) {
            (Some("class"), _) => {
                let (name, version) = (words.next()?, words.next()?.parse().ok()?);
                let checksum = u32::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok()?;
                infos.push((name, StreamerInfo { name: name.into(), version, checksum, elements: Vec::new() }));
            }
            (Some(""), Some((_, info))) => info.elements.push(element(words)?),
            _ => return None,
        }
    }
    // A base's checksum is in its second extent.
    let checksums: HashMap<&str, u32> = infos.iter().map(|(name, info)| (*name, info.checksum)).collect();
    for (_, info) in &mut infos {
        for element in info.elements.iter_mut().filter(|element| matches!(element.detail, Detail::Base { .. })) {
            element.extents = Vec::new();
            // ROOT writes 0 for a base that it has no description of.
            element.max_index[1] = checksums.get(&*element.name).map_or(0, |&checksum| checksum as i32);
        }
    }
    Some(infos.into_iter().map(|(name, info)| (name, Arc::new(info))).collect())
}

fn element(mut words: std::str::Split<'static, char>) -> Option<Element> {
    let (kind, name, type_name) = (words.next()?, words.next()?, words.next()?);
    let (code, size) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let extents: Vec<u32> = words.next()?.split(',').filter_map(|extent| extent.parse().ok()).collect();
    let mut more = words.next()?.split(' ');
    let mut next = || more.next().unwrap_or("");
    let (class, detail) = match kind {
        "Base" => ("TStreamerBase", Detail::Base { version: next().parse().ok()? }),
        "BasicPointer" | "Loop" => {
            let is_loop = kind == "Loop";
            let (count_name, count_class, count_version) = (next().into(), next().into(), next().parse().ok()?);
            let class = if is_loop { "TStreamerLoop" } else { "TStreamerBasicPointer" };
            (class, Detail::Counted { is_loop, count_version, count_name, count_class })
        }
        "STL" => ("TStreamerSTL", Detail::Stl { stl_type: next().parse().ok()?, item_code: next().parse().ok()? }),
        "BasicType" => ("TStreamerBasicType", Detail::Plain),
        "String" => ("TStreamerString", Detail::Plain),
        "Object" => ("TStreamerObject", Detail::Plain),
        "ObjectAny" => ("TStreamerObjectAny", Detail::Plain),
        "ObjectPointer" => ("TStreamerObjectPointer", Detail::Plain),
        "ObjectAnyPointer" => ("TStreamerObjectAnyPointer", Detail::Plain),
        _ => return None,
    };
    let mut max_index = [0; 5];
    for (slot, &extent) in max_index.iter_mut().zip(&extents) {
        *slot = extent as i32;
    }
    Some(Element {
        class,
        detail,
        name: name.into(),
        title: words.next().unwrap_or("").into(),
        code,
        size,
        array_length: if extents.is_empty() { 0 } else { extents.iter().product() },
        extents,
        max_index,
        type_name: type_name.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_understood() {
        let known = parse(TEXT).unwrap();
        let elements: usize = known.values().map(|info| info.elements.len()).sum();
        assert_eq!(elements + known.len(), TEXT.lines().count());
        assert!(known.values().all(|info| info.version >= 0 && info.checksum != 0));
    }

    #[test]
    fn a_damaged_line_describes_no_class() {
        let good = "class\tTNamed\t1\t0xdfb74a3c\n\tBase\tTObject\tBASE\t66\t0\t\t1\tBasic\n";
        assert_eq!(parse(good).unwrap()["TNamed"].elements.len(), 1);
        for (word, damaged) in
            [("\t1\t0x", "\tone\t0x"), ("0xdfb74a3c", "0xhex"), ("66", "sixty"), ("Base\t", "Bass\t")]
        {
            let text: &'static str = good.replacen(word, damaged, 1).leak();
            assert!(parse(text).is_none(), "{text}");
        }
        assert!(parse("\tBase\tTObject\tBASE\t66\t0\t\t1\tBasic").is_none(), "a member before all classes");
    }
}

//! The StreamerInfo record: readable, and without contradictions.

use std::collections::HashMap;

use super::{Finding, Report};
use crate::file::File;
use crate::schema::{Detail, Element, StreamerInfo};

pub(super) fn check_classes(file: &File, report: &mut Report) {
    let at = file.header().seek_info;
    let infos = match file.infos() {
        Ok(infos) => infos,
        Err(error) => {
            let finding = Finding::damage("the classes of the file cannot be read").because(&error);
            return report.add(finding.within("StreamerInfo").at(at));
        }
    };
    let mut known: HashMap<(&str, i32, u32), &StreamerInfo> = HashMap::new();
    let mut sums: HashMap<&str, Vec<u32>> = HashMap::new();
    for info in &infos {
        sums.entry(&info.name).or_default().push(info.checksum);
        let other = known.insert((&info.name, info.version, info.checksum), info);
        if other.is_some_and(|other| other.elements != info.elements) {
            let finding = Finding::unusual("a class is described twice in one version, with other members");
            report.add(finding.within(&*info.name).at(at));
        }
    }
    for info in infos.iter().filter(|info| is_computable(info, file.header().version)) {
        if !is_reproduced(info) {
            let finding = Finding::note("a class has another checksum than its members give");
            let newest = checksum(info, true, true, Counters::Leading);
            report.add(finding.within(&*info.name).at(at).wanted(newest.into(), info.checksum.into()));
        }
    }
    for info in &infos {
        for base in info.elements.iter().filter(|element| matches!(element.detail, Detail::Base { .. })) {
            // Older files say nothing.
            let sum = base.max_index[1] as u32;
            let known = sums.get(&*base.name);
            if sum != 0 && known.is_some_and(|known| !known.contains(&sum)) {
                let words = format!("a class names another checksum of its base {} than the file has", base.name);
                let expected = known.and_then(|known| known.first()).copied().unwrap_or(0);
                report.add(Finding::unusual(words).within(&*info.name).at(at).wanted(expected.into(), sum.into()));
            }
        }
    }
}

/// Whether the checksum can be computed from what the file says: not for classes whose members are left out or written
/// otherwise (version 0, pairs and collections, members that hold templates), nor without the checksums of bases; and
/// before ROOT 6 it was made of names of types that the file does not have.
fn is_computable(info: &StreamerInfo, root: i32) -> bool {
    const RESOLVED: i32 = 60_000;
    let plain = |element: &Element| match &element.detail {
        Detail::Base { .. } => element.max_index[1] != 0,
        Detail::Plain => !element.type_name.contains('<') && !element.class.contains("Pointer"),
        Detail::Counted { .. } => true,
        _ => false,
    };
    root >= RESOLVED && info.version > 0 && !info.name.contains('<') && info.elements.iter().all(plain)
}

/// Whether the checksum is what any of ROOT's algorithms makes of the members.
///
/// Source: `TStreamerInfo::GetCheckSum`. What they add to names and types has changed over the years: whether an
/// enumeration counts for one more, whether the counter in a title does and how it is found, and whether the checksums
/// of bases do.
fn is_reproduced(info: &StreamerInfo) -> bool {
    [Counters::Leading, Counters::Anywhere, Counters::None].into_iter().any(|counters| {
        [(true, true), (false, true), (false, false), (true, false)]
            .into_iter()
            .any(|(bases, enums)| checksum(info, bases, enums, counters) == info.checksum)
    })
}

/// Which counters in titles take part.
#[derive(Clone, Copy, PartialEq)]
enum Counters {
    None,
    Anywhere,
    Leading,
}

fn checksum(info: &StreamerInfo, bases: bool, enums: bool, counters: Counters) -> u32 {
    let mut sum = 0_u32;
    let mut add = |part: u32| sum = sum.wrapping_mul(3).wrapping_add(part);
    // Letters are signed.
    let letters = |text: &str| text.bytes().map(|letter| letter as i8 as u32).collect::<Vec<_>>();
    letters(&info.name).into_iter().for_each(&mut add);
    let is_base = |element: &Element| element.code == 0 || matches!(element.detail, Detail::Base { .. });
    if !info.name.starts_with("pair<") {
        for base in info.elements.iter().filter(|element| is_base(element)) {
            letters(&base.name).into_iter().for_each(&mut add);
            if bases && matches!(base.detail, Detail::Base { .. }) {
                add(base.max_index[1] as u32);
            }
        }
    }
    for member in info.elements.iter().filter(|element| !is_base(element)) {
        let plain = ["int", "Int_t", "const int", "const Int_t"];
        if enums && member.code == 3 && !plain.contains(&&*member.type_name) {
            add(1);
        }
        letters(&member.name).into_iter().for_each(&mut add);
        letters(&member.type_name).into_iter().for_each(&mut add);
        member.extents.iter().for_each(|&extent| add(extent));
        let open = member.title.find('[').filter(|&at| {
            counters == Counters::Anywhere
                || counters == Counters::Leading
                    && member.title[..at].chars().all(|c| c == '/' || c.is_ascii_whitespace())
        });
        if let Some(open) = open {
            let rest = &member.title[open + 1..];
            letters(&rest[..rest.find(']').unwrap_or(rest.len())]).into_iter().for_each(&mut add);
        }
    }
    sum
}

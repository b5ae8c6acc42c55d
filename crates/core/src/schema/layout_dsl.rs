//! Classes described in short, for layouts that no file describes.

use super::info::{BARE, Detail, Element, StreamerInfo};

/// A class as a list of members parted by blanks: `name:code` or `name:code:type`, `base:Class@version`, and
/// `name*code:counter` or `name*code:counter:type` for counted arrays of what has the code, with `3x` in front of the
/// counter for so many items each. A code with `!`
/// behind it is [`BARE`].
pub(super) fn describe(name: &str, version: i32, members: &str) -> StreamerInfo {
    let elements = members.split_whitespace().filter_map(|text| element(name, text)).collect();
    StreamerInfo { name: name.into(), version, checksum: 0, elements }
}

fn code(text: &str) -> Option<i32> {
    match text.strip_suffix('!') {
        Some(bare) => bare.parse::<i32>().ok().map(|code| code + BARE),
        None => text.parse().ok(),
    }
}

fn element(class: &str, text: &str) -> Option<Element> {
    let plain = |name: &str, code: i32, type_name: &str, detail: Detail| Element {
        class: "TStreamerElement",
        detail,
        name: name.into(),
        title: "".into(),
        code,
        size: 0,
        array_length: 0,
        extents: Vec::new(),
        max_index: [0; 5],
        type_name: type_name.into(),
    };
    if let Some(base) = text.strip_prefix("base:") {
        let (base, version) = base.split_once('@')?;
        let code = match base {
            "TNamed" => 67,
            "TObject" => 66,
            _ => 0,
        };
        return Some(plain(base, code, "BASE", Detail::Base { version: version.parse().ok()? }));
    }
    let (name, rest) = text.split_once([':', '*'])?;
    if text.as_bytes().get(name.len()) == Some(&b'*') {
        let (number, counter) = rest.split_once(':')?;
        let (counter, type_name) = counter.split_once(':').unwrap_or((counter, ""));
        let (each, counter) = counter.split_once('x').map_or((0, counter), |(each, name)| match each.parse() {
            Ok(each) => (each, name),
            // A name with an x in it.
            Err(_) => (0, counter),
        });
        let detail =
            Detail::Counted { is_loop: false, count_version: 1, count_name: counter.into(), count_class: class.into() };
        return Some(Element { array_length: each, ..plain(name, 40 + code(number)?, type_name, detail) });
    }
    let (number, type_name) = rest.split_once(':').unwrap_or((rest, ""));
    let code = code(number)?;
    let detail = if code == 500 { Detail::Stl { stl_type: 0, item_code: 0 } } else { Detail::Plain };
    Some(plain(name, code, type_name, detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_in_short_are_understood() {
        let info = describe("A", 2, "base:TNamed@1 fList:64:TList* fSize*16:fN fP*5!:3xfN items:500!:vector<TObject*>");
        let codes: Vec<i32> = info.elements.iter().map(|element| element.code).collect();
        assert_eq!(codes, [67, 64, 56, 45 + BARE, 500 + BARE]);
        assert_eq!(&*info.elements[1].type_name, "TList*");
        assert_eq!(info.elements[3].array_length, 3);
        assert!(matches!(&info.elements[3].detail, Detail::Counted { count_name, .. } if &**count_name == "fN"));
    }
}

//! Classes as StreamerInfos describe them.
//!
//! Format page: `docs/format/streamerinfo.md`. Source: `TStreamerInfo::Build`.

use std::sync::Arc;

use crate::schema::{Detail, Element, StreamerInfo};
use crate::write::model::class::{Class, Member, Type};
use crate::write::model::number_codes::code;

impl Class {
    /// Number of its version in the StreamerInfo: 1 for a class without `ClassDef`.
    pub(crate) fn info_version(&self) -> i32 {
        self.version.map_or(1, i32::from)
    }

    /// Its description in the format of a file.
    pub fn info(&self) -> StreamerInfo {
        if self.code_as_base() > 0
            && let Some(known) = StreamerInfo::of_root(&self.name)
        {
            return (**known).clone();
        }
        StreamerInfo {
            name: Arc::clone(&self.name),
            version: self.info_version(),
            checksum: self.checksum(),
            elements: self.members.iter().map(|member| element(self, member)).collect(),
        }
    }
}

/// The comment of a member, as far as ROOT goes by it.
fn title(member: &Member) -> String {
    match &member.kind {
        _ if member.is_whole => "||".to_owned(),
        Type::Counted(_, counter) => format!("[{counter}]"),
        Type::Clones(clones) => clones.title(),
        _ => String::new(),
    }
}

/// The description of a base or member of a class.
fn element(class: &Class, member: &Member) -> Element {
    const FOREIGN: i32 = -1;
    let base = Element {
        class: "TStreamerBasicType",
        detail: Detail::Plain,
        name: Arc::clone(&member.name),
        title: title(member).into(),
        code: class.code_of(member),
        size: 0,
        array_length: 0,
        extents: Vec::new(),
        max_index: [0; 5],
        type_name: member.kind.name().into(),
    };
    let stl = |stl_type: i32, item_code: i32| Element {
        class: "TStreamerSTL",
        detail: Detail::Stl { stl_type, item_code },
        code: 500,
        ..base.clone()
    };
    match &member.kind {
        Type::Number(number) => Element { size: number.bytes() as i32, ..base },
        Type::Array(number, extents) => {
            let items: u32 = extents.iter().product();
            let mut max_index = [0; 5];
            max_index.iter_mut().zip(extents).for_each(|(index, &extent)| *index = extent as i32);
            let size = items as i32 * number.bytes() as i32;
            Element { size, array_length: items, extents: extents.clone(), max_index, ..base }
        }
        Type::RootText => Element { class: "TStreamerString", size: 24, ..base },
        Type::Text => Element { class: "TStreamerSTLstring", detail: Detail::StlString, code: 500, size: 32, ..base },
        Type::Sequence(kind, item) => {
            let item_code = match &**item {
                Type::Number(number) => code(*number),
                Type::Pointer(_) => 63,
                _ => 61,
            };
            Element { size: kind.bytes(), ..stl(kind.stl_type(), item_code) }
        }
        Type::Mapping(kind, ..) => Element { size: kind.bytes(), ..stl(kind.stl_type(), 61) },
        Type::Object(class) if member.is_base => Element {
            class: "TStreamerBase",
            detail: Detail::Base { version: class.version.map_or(FOREIGN, i32::from) },
            code: class.code_as_base(),
            max_index: [0, class.checksum() as i32, 0, 0, 0],
            type_name: "BASE".into(),
            ..base
        },
        Type::RootArray(_) if member.is_base => Element {
            class: "TStreamerBase",
            detail: Detail::Base { version: 1 },
            code: 0,
            type_name: "BASE".into(),
            ..base
        },
        Type::RootArray(_) => Element { class: "TStreamerObjectAny", ..base },
        Type::Object(class) => match class.is_of_root() {
            true => Element { class: "TStreamerObject", ..base },
            false => Element { class: "TStreamerObjectAny", ..base },
        },
        Type::Pointer(class) => match class.is_of_root() {
            true => Element { class: "TStreamerObjectPointer", size: 8, ..base },
            false => Element { class: "TStreamerObjectAnyPointer", size: 8, ..base },
        },
        Type::Counted(_, counter) => {
            let declaring = class.declaring(counter);
            let detail = Detail::Counted {
                is_loop: false,
                count_version: declaring.info_version(),
                count_name: Arc::clone(counter),
                count_class: Arc::clone(&declaring.name),
            };
            Element { class: "TStreamerBasicPointer", detail, size: 8, ..base }
        }
        Type::Clones(clones) => Element { class: clones.element_class(), size: 8, ..base },
    }
}

//! The classes that it takes to read what was written.

use std::collections::HashSet;
use std::sync::Arc;

use super::super::framing_trace::Stamp;
use super::super::info::{Detail, StreamerInfo};
use super::super::program::Target;
use super::super::registry::Registry;
use super::super::typename::TypeName;

/// Classes that were met, each with those that its bytes contain.
#[derive(Default)]
pub(super) struct Met {
    pub(super) infos: Vec<Arc<StreamerInfo>>,
    /// Names, by the registry that described them.
    names: HashSet<(usize, Arc<str>)>,
}

impl Met {
    /// Notes the class of an object; returns the description of its bytes.
    pub(super) fn note(
        &mut self,
        registry: &Arc<Registry>,
        class: &Arc<str>,
        target: &Target,
    ) -> Option<Arc<StreamerInfo>> {
        self.name(registry, class);
        match target {
            Target::Members { class, version, checksum } => registry.info(class, *version, *checksum).cloned(),
            _ => None,
        }
    }

    fn name(&mut self, registry: &Arc<Registry>, class: &Arc<str>) {
        let key = (Arc::as_ptr(registry) as usize, Arc::clone(class));
        if !self.names.insert(key) {
            return;
        }
        // Its own streamer writes the base, whether it is described or not.
        if class.starts_with("TMatrixTSym<") {
            self.name(registry, &class.replacen("TMatrixTSym", "TMatrixTBase", 1).into());
        }
        // All versions: the bytes name the one that each base and member has.
        let told: Vec<_> = registry.described(class).cloned().collect();
        let by_hand = registry.versions(class).iter().filter(|info| !told.contains(info)).cloned();
        for info in told.iter().cloned().chain(by_hand.collect::<Vec<_>>()) {
            for element in &info.elements {
                if let Detail::Base { .. } = element.detail {
                    self.name(registry, &element.name);
                } else if !matches!(element.code, 63 | 64 | 69) {
                    self.of_type(registry, element.type_name.trim_end_matches(['*', ' ']));
                }
            }
        }
        for info in told {
            if !self.infos.iter().any(|known| **known == *info) {
                self.infos.push(info);
            }
        }
    }

    /// Classes in a type's name.
    fn of_type(&mut self, registry: &Arc<Registry>, name: &str) {
        let Ok(parsed) = TypeName::parse(name) else { return };
        match &parsed {
            TypeName::Pair(..) | TypeName::Array(..) => {
                if let Some(class) = registry.template(&parsed).cloned() {
                    self.name(registry, &class);
                }
            }
            TypeName::Mapping(_, key, value) => {
                let pair = TypeName::Pair(key.clone(), value.clone());
                if let Some(class) = registry.template(&pair).cloned() {
                    self.name(registry, &class);
                }
            }
            _ => {}
        }
        match parsed {
            TypeName::Class(class) => self.name(registry, &class.into()),
            TypeName::TString => {}
            TypeName::Sequence(_, item) | TypeName::Array(item, _) | TypeName::Pointer(item) => {
                self.of_type(registry, &item.to_string());
            }
            TypeName::Mapping(_, first, second) | TypeName::Pair(first, second) => {
                self.of_type(registry, &first.to_string());
                self.of_type(registry, &second.to_string());
            }
            TypeName::Number(_) | TypeName::StdString | TypeName::Bitset(_) => {}
        }
    }
}

/// The frame of an object that was never read.
pub(super) fn stamp(info: &StreamerInfo, is_foreign_here: bool) -> Stamp {
    let foreign = is_foreign_here || is_foreign(&info.name);
    Stamp {
        version: if foreign { 0 } else { info.version as i16 },
        counted: true,
        checksum: foreign.then_some(info.checksum),
        ..Stamp::default()
    }
}

/// Classes without a version of their own: their checksum replaces it.
fn is_foreign(class: &str) -> bool {
    class == "ROOT::TIOFeatures"
}

/// The usual frame of a class that is streamed by hand: its version in ROOT 6.
pub(super) fn by_hand(version: i16) -> Stamp {
    Stamp { version, counted: true, ..Stamp::default() }
}

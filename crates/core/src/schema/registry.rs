//! The classes of a file, by name, version and checksum.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use super::clones_form::ClonesForm;
use super::handwritten;
use super::info::{Detail, StreamerInfo};
use super::program::{Program, Target};
use super::typename::{TypeName, tidy};

/// All StreamerInfos of a file, and the programs compiled from them.
///
/// Shared by all readers of a file; infos never change, programs are compiled on first use.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// let file = sapwood::File::open(path)?;
/// let registry = file.registry()?;
/// let branch = registry.info("TBranch", None, None).expect("a class of the file");
/// assert_eq!(branch.version, 13);
/// assert!(registry.infos().iter().any(|info| info.name == branch.name));
/// assert_eq!(registry.file_version(), file.header().version);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Registry {
    classes: HashMap<Arc<str>, Vec<Arc<StreamerInfo>>>,
    order: Vec<Arc<StreamerInfo>>,
    /// Which of them describe a class.
    described: HashMap<Arc<str>, Vec<usize>>,
    /// Names of described pairs and arrays, by their type in the spelling of [`TypeName`].
    templates: HashMap<String, Arc<str>>,
    programs: RwLock<HashMap<Target, Arc<Program>>>,
    /// What members of classes that are `TClonesArray` hold, where that is known: by class and member.
    clones: HashMap<(Arc<str>, Arc<str>), Arc<ClonesForm>>,
    is_for_writing: bool,
    /// Whether nothing describes the classes of the file: they are ROOT's own, in the versions of ROOT 6.40.
    is_assumed: bool,
    file_version: i32,
}

impl Registry {
    /// A registry of the infos of a file that ROOT `file_version` wrote. Where a class and version come twice, the
    /// first counts.
    #[doc(hidden)]
    pub fn new(infos: Vec<StreamerInfo>, file_version: i32) -> Self {
        let mut registry = Self { file_version, ..Self::default() };
        let told = infos.len();
        for (place, info) in super::legacy::complete(infos, file_version).into_iter().enumerate() {
            let info = Arc::new(info);
            if let Ok(name @ (TypeName::Pair(..) | TypeName::Array(..))) = TypeName::parse(&info.name) {
                registry.templates.insert(name.to_string(), tidy(&info.name).into());
            }
            let versions = registry.classes.entry(tidy(&info.name).into()).or_default();
            if !versions.iter().any(|known| known.version == info.version && known.checksum == info.checksum) {
                versions.push(Arc::clone(&info));
                if place < told {
                    registry.described.entry(tidy(&info.name).into()).or_default().push(registry.order.len());
                }
                registry.order.push(info);
            }
        }
        for (class, versions) in &mut registry.classes {
            let layouts = handwritten::layouts(class);
            versions.retain(|info| !layouts.iter().any(|layout| layout.version == info.version));
            versions.extend_from_slice(layouts);
        }
        registry
    }

    /// The classes of ROOT's own, for a file that describes none: its writer died before it did so.
    pub(crate) fn of_root(file_version: i32) -> Self {
        let infos = StreamerInfo::all_of_root().map(|info| (**info).clone()).collect();
        Self { is_assumed: true, ..Self::new(infos, file_version) }
    }

    /// The same, for writing values alone; and what members that are `TClonesArray` hold, by class and member.
    pub(crate) fn for_writing(
        mut self,
        clones: impl IntoIterator<Item = ((Arc<str>, Arc<str>), Arc<ClonesForm>)>,
    ) -> Self {
        self.clones = clones.into_iter().collect();
        self.is_for_writing = true;
        self
    }

    /// Whether its programs write values, and read none.
    pub(super) fn is_for_writing(&self) -> bool {
        self.is_for_writing
    }

    /// What a member that is a `TClonesArray` holds, where that is known.
    pub(crate) fn clones_of(&self, class: &Arc<str>, member: &Arc<str>) -> Option<&Arc<ClonesForm>> {
        self.clones.get(&(Arc::clone(class), Arc::clone(member)))
    }

    /// `fVersion` of the file: a few layouts depend on it.
    pub fn file_version(&self) -> i32 {
        self.file_version
    }

    /// All infos in the order of the file.
    pub fn infos(&self) -> &[Arc<StreamerInfo>] {
        &self.order
    }

    /// The file's own description of a class, also of those with custom streamers.
    pub(super) fn described(&self, class: &str) -> impl Iterator<Item = &Arc<StreamerInfo>> + use<'_> {
        let places = self.described.get(tidy(class).as_str()).map_or(&[][..], Vec::as_slice);
        places.iter().filter_map(|&place| self.order.get(place))
    }

    /// All versions of a class: what the file describes, and what is known of classes that are streamed by hand.
    pub(crate) fn versions(&self, class: &str) -> &[Arc<StreamerInfo>] {
        let found = self.classes.get(class).or_else(|| self.classes.get(tidy(class).as_str()));
        match found.or_else(|| self.classes.get(tidy(&class.replace("std::", "")).as_str())) {
            Some(versions) => versions,
            None => match handwritten::layouts(class) {
                [] => handwritten::left_out(class),
                layouts => layouts,
            },
        }
    }

    /// Whether ROOT streams a class by hand, as a list of members that its StreamerInfo does not have.
    pub(crate) fn is_streamed_by_hand(class: &str) -> bool {
        !handwritten::layouts(class).is_empty()
    }

    /// The name by which the file describes a pair or an array, if it does.
    pub(super) fn template(&self, name: &TypeName) -> Option<&Arc<str>> {
        if self.templates.is_empty() { None } else { self.templates.get(&name.to_string()) }
    }

    /// One version of a class: by checksum where one is given, then by version, then the newest.
    pub fn info(&self, class: &str, version: Option<i32>, checksum: Option<u32>) -> Option<&Arc<StreamerInfo>> {
        let versions = self.versions(class);
        // Another version than the assumed one has another layout.
        let is_other = |version| !versions.iter().any(|info| info.version == version);
        if self.is_assumed && version.is_some_and(is_other) {
            return None;
        }
        let by_checksum = checksum.filter(|&sum| sum != 0);
        by_checksum
            .and_then(|sum| versions.iter().find(|info| info.checksum == sum))
            .or_else(|| version.and_then(|version| versions.iter().find(|info| info.version == version)))
            .or_else(|| versions.iter().max_by_key(|info| info.version))
    }

    /// Whether pointers declared with a class can point to no other class: the file describes it, and no class derived
    /// from it.
    pub(crate) fn is_final(&self, class: &str) -> bool {
        let derives = |info: &Arc<StreamerInfo>| {
            let mut bases = info.elements.iter().filter(|element| matches!(element.detail, Detail::Base { .. }));
            bases.any(|base| &*base.name == class)
        };
        // Classes derived from these base classes may be missing in the file.
        class != "TObject" && !self.versions(class).is_empty() && !self.infos().iter().any(derives)
    }

    /// The program of a target, where it was compiled before.
    pub(super) fn compiled(&self, target: &Target) -> Option<Arc<Program>> {
        self.programs.read().ok()?.get(target).cloned()
    }

    /// Keeps the program of a target.
    pub(super) fn keep(&self, target: &Target, program: &Arc<Program>) {
        if let Ok(mut programs) = self.programs.write() {
            programs.insert(target.clone(), Arc::clone(program));
        }
    }
}

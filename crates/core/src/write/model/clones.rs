//! `TClonesArray`: objects of one class that derives from `TObject`.
//!
//! Format page: `docs/format/custom.md`. Source: `TClonesArray::Streamer`, `TBranchElement::Init`.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::schema::{ClonesForm, MemberName};
use crate::write::model::class::{Class, Clones, Type};

impl Clones {
    /// Its type in C++ words.
    pub(super) fn type_name(&self) -> &'static str {
        if self.form.is_member { "TClonesArray" } else { "TClonesArray*" }
    }

    /// `fType` of the member: an object, or a pointer that is never null, or one that may be.
    pub(super) fn code(&self) -> i32 {
        match (self.form.is_member, self.form.is_pointer) {
            (true, _) => 61,
            (false, false) => 63,
            (false, true) => 64,
        }
    }

    /// The comment of the member, which tells ROOT the class where it does not have that of the object around it.
    pub(super) fn title(&self) -> String {
        let arrow = if self.form.is_member || self.form.is_pointer { "" } else { "->" };
        format!("{arrow} ({})", self.class.name)
    }

    /// The class of its element in a StreamerInfo.
    pub(super) fn element_class(&self) -> &'static str {
        if self.form.is_member { "TStreamerObject" } else { "TStreamerObjectPointer" }
    }

    /// Refuses what it cannot hold.
    pub(super) fn check_in(&self, within: &mut Vec<Arc<str>>) -> Result<()> {
        if !self.class.derives_from_tobject() {
            return Err(Error::mismatch(format!(
                "class {} does not derive from TObject, and a TClonesArray holds only such",
                self.class.name
            )));
        }
        if self.class.is_tobject() {
            let words = "a TClonesArray of TObject itself cannot be written: take a class that derives from it";
            return Err(Error::unsupported(words));
        }
        self.class.check_in(within)
    }
}

impl Class {
    /// Its members that are `TClonesArray`, by their names and its own.
    pub(super) fn members_that_are_clones(&self) -> impl Iterator<Item = (MemberName, Arc<ClonesForm>)> {
        self.members.iter().filter_map(|member| match &member.kind {
            Type::Clones(clones) => {
                Some(((Arc::clone(&self.name), Arc::clone(&member.name)), Arc::clone(&clones.form)))
            }
            _ => None,
        })
    }
}

impl Type {
    /// A `TClonesArray` of objects of a class, behind a pointer that is never null (`TClonesArray *tracks; //->`).
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::write::{Class, Type};
    /// assert_eq!(Type::clones(Class::tobject()).name(), "TClonesArray*");
    /// ```
    pub fn clones(class: Arc<Class>) -> Self {
        let form = Arc::new(ClonesForm::new(&class.name, class.info_version()));
        Self::Clones(Arc::new(Clones { class, form }))
    }
}

//! One level of the page's tree, in columns.

use serde_json::{Value, json};

/// Rows of one level, in columns.
#[derive(Default)]
pub(super) struct Level {
    names: Vec<String>,
    /// By which the page asks for a row.
    ids: Vec<String>,
    kinds: Vec<&'static str>,
    /// Classes and types.
    details: Vec<String>,
    /// Titles of keys; values of members.
    titles: Vec<String>,
    /// Whether there is something below.
    inner: Vec<bool>,
    /// What expressions call a branch or field; empty for what they cannot.
    expressions: Vec<String>,
}

impl Level {
    pub(super) fn push(&mut self, name: &str, id: &str, kind: &'static str, detail: &str, title: &str, inner: bool) {
        self.names.push(name.to_owned());
        self.ids.push(id.to_owned());
        self.kinds.push(kind);
        self.details.push(detail.to_owned());
        self.titles.push(title.to_owned());
        self.inner.push(inner);
        self.expressions.push(String::new());
    }

    /// Says what expressions call the last row.
    pub(super) fn is_called(&mut self, expression: String) {
        if let Some(last) = self.expressions.last_mut() {
            *last = expression;
        }
    }

    pub(super) fn into_json(self, total: usize, from: usize, state: u64) -> Value {
        json!({
            "state": state, "total": total, "from": from, "names": self.names, "ids": self.ids, "kinds": self.kinds,
            "details": self.details, "titles": self.titles, "inner": self.inner, "expressions": self.expressions,
        })
    }
}

/// Which rows of a level are asked for.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    pub(super) from: usize,
    pub(super) count: usize,
}

//! `sapwood dump`: an object as JSON, in the form that jsroot reads and draws.

use std::collections::HashMap;
use std::io::Write;

use sapwood::{Members, Object, Value};
use serde_json::{Map, Value as Json, json};

use crate::output::{self, Outcome};
use crate::remote::Remote;

/// Print an object as JSON, in jsroot's form: `_typename`, members by name, `$ref` for an object shown before.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// FILE:OBJECT, with `;cycle` for an older one.
    target: String,
    /// Print without line breaks.
    #[arg(long)]
    compact: bool,
    /// The output is JSON, with this option and without.
    #[arg(long, hide = true)]
    json: bool,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Outcome {
    let (path, name) = output::split(&arguments.target);
    let Some(name) = name else {
        return Err(sapwood::Error::mismatch("which object? FILE:OBJECT").into());
    };
    let file = output::open(path, 1, &arguments.remote)?;
    let object = file.object(name)?;
    let document = Dump::default().object(&object);
    if arguments.compact {
        serde_json::to_writer(&mut *out, &document)?;
        Ok(writeln!(out)?)
    } else {
        output::json(out, &document)
    }
}

/// Numbers objects as jsroot does: in the order in which they are met, every JSON object counts.
#[derive(Default)]
struct Dump {
    met: HashMap<u32, usize>,
    count: usize,
    /// Values within values, up to here.
    depth: usize,
}

/// Deeper values are left out, with an `_error` in their place: a small file may nest thousands of lists, and each
/// takes room on the stack, here and in whatever reads the JSON.
const MOST_DEPTH: usize = 200;

/// Classes that are arrays and have their numbers as a member of this name.
const ARRAYS: [&str; 7] = ["TArrayC", "TArrayS", "TArrayI", "TArrayL", "TArrayL64", "TArrayF", "TArrayD"];

impl Dump {
    fn object(&mut self, object: &Object) -> Json {
        if let Some(failure) = object.failure() {
            return json!({ "_typename": object.class(), "_error": failure.to_string() });
        }
        if let Some(number) = self.met.get(&object.id()) {
            return json!({ "$ref": number });
        }
        match object.value() {
            Value::Record(members) => {
                self.met.insert(object.id(), self.count);
                self.record(object.class(), &members)
            }
            // jsroot shows a `TObjString` and its kin as what they are, other plain values by their class.
            Value::Numbers(..) if ARRAYS.contains(&object.class()) => self.value(&object.value()),
            other => {
                self.count += 1;
                json!({ "_typename": object.class(), "value": self.value(&other) })
            }
        }
    }

    fn record(&mut self, class: &str, members: &Members<'_>) -> Json {
        self.count += 1;
        let mut fields = Map::new();
        fields.insert("_typename".into(), class.into());
        if matches!(class, "TList" | "THashList" | "TObjArray" | "TClonesArray" | "TSortedList") {
            return self.collection(class, members, fields);
        }
        if class == "TMap" {
            fields.insert("name".into(), "TMap".into());
        }
        self.members(members, &mut fields);
        Json::Object(fields)
    }

    /// Members with those of the bases in their place.
    fn members(&mut self, members: &Members<'_>, into: &mut Map<String, Json>) {
        for base in members.bases() {
            self.members(&base, into);
        }
        for (name, value) in members.own() {
            let value = self.value(&value);
            into.insert(name.to_owned(), value);
        }
        // A histogram's bins are its base `TArrayD`, which is a list and not a record here.
        for (name, value) in members.array_bases() {
            if ARRAYS.contains(&name) {
                into.insert("fArray".into(), self.value(&value));
            }
        }
    }

    fn collection(&mut self, class: &str, members: &Members<'_>, mut fields: Map<String, Json>) -> Json {
        let text = |name: &str| members.get(name).and_then(|value| value.as_text());
        let name = text("fName").filter(|name| !name.is_empty()).unwrap_or_else(|| class.to_owned());
        fields.insert("name".into(), name.into());
        let items = match members.get("items") {
            Some(Value::List(items)) => items.iter().map(|item| self.value(&item)).collect(),
            _ => Vec::new(),
        };
        if class != "TObjArray" && class != "TClonesArray" {
            let options = match members.get("options") {
                Some(Value::List(options)) => {
                    options.iter().map(|option| option.as_text().unwrap_or_default().into()).collect()
                }
                _ => vec![Json::from(""); items.len()],
            };
            fields.insert("arr".into(), items.into());
            fields.insert("opt".into(), Json::Array(options));
        } else {
            fields.insert("arr".into(), items.into());
        }
        Json::Object(fields)
    }

    fn value(&mut self, value: &Value<'_>) -> Json {
        let nests = matches!(value, Value::List(_) | Value::Record(_) | Value::Object(_));
        if nests && self.depth >= MOST_DEPTH {
            return json!({ "_error": format!("nested deeper than {MOST_DEPTH} levels: left out") });
        }
        self.depth += 1;
        let shown = self.value_within(value);
        self.depth -= 1;
        shown
    }

    fn value_within(&mut self, value: &Value<'_>) -> Json {
        match value {
            Value::Null => Json::Null,
            Value::Bool(value) => (*value).into(),
            Value::Int(value) => (*value).into(),
            Value::Uint(value) => (*value).into(),
            Value::Float(value) => output::number(*value),
            Value::Text(bytes) => sapwood::wire::text(bytes).into(),
            Value::Opaque(bytes, class) => json!({ "_typename": &***class, "_undecoded_bytes": bytes.len() }),
            Value::Numbers(..) => output::numbers(value).into(),
            Value::List(items) if items.is_map => {
                let pairs = items.iter().map(|pair| match pair {
                    Value::Record(pair) => {
                        let pair: Vec<_> = pair.own().map(|(_, value)| self.value(&value)).collect();
                        json!({ "_typename": "pair", "first": pair.first(), "second": pair.get(1) })
                    }
                    other => self.value(&other),
                });
                pairs.collect()
            }
            Value::List(items) => items.iter().map(|item| self.value(&item)).collect(),
            Value::Record(members) => {
                let class = members.class().to_owned();
                self.record(&class, members)
            }
            Value::Object(object) => self.object(object),
        }
    }
}

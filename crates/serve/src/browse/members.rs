//! Members of objects, level by level, and objects as the page draws them.

use sapwood::{Error, Object, Result, Value};

use super::level::{Level, Rows};

/// Numbers of an array that its row shows.
const SHOWN: usize = 8;
/// Letters of a text that its row shows.
const LONGEST: usize = 200;

/// The members of what `at` names: names of members and numbers of items, with slashes between.
pub(super) fn level(object: &Object, at: &str, rows: Rows, level: &mut Level) -> Result<usize> {
    let steps: Vec<&str> = at.split('/').filter(|step| !step.is_empty()).collect();
    descend(object.value(), &steps, &mut |value| fill(value, at, rows, level))
}

/// Calls `then` with what the steps lead to.
fn descend<T>(value: Value<'_>, steps: &[&str], then: &mut dyn FnMut(&Value<'_>) -> Result<T>) -> Result<T> {
    let Some((step, rest)) = steps.split_first() else { return then(&value) };
    let missing = || Error::not_found(format!("the object has nothing at {step:?}"));
    match value {
        Value::Record(members) => {
            let found = members.iter().find(|(name, _)| name == step);
            descend(found.ok_or_else(missing)?.1, rest, then)
        }
        Value::List(items) => {
            let number = step.parse().map_err(|_| missing())?;
            descend(items.iter().nth(number).ok_or_else(missing)?, rest, then)
        }
        Value::Object(object) => descend(object.value(), steps, then),
        _ => Err(missing()),
    }
}

fn fill(value: &Value<'_>, at: &str, rows: Rows, level: &mut Level) -> Result<usize> {
    let id = |name: &str| match at {
        "" => name.to_owned(),
        at => format!("{at}/{name}"),
    };
    Ok(match value {
        Value::Record(members) => {
            for (name, value) in members.iter().skip(rows.from).take(rows.count) {
                push(name, &id(name), &value, level);
            }
            members.iter().count()
        }
        Value::List(items) => {
            for (number, value) in items.iter().enumerate().skip(rows.from).take(rows.count) {
                push(&format!("[{number}]"), &id(&number.to_string()), &value, level);
            }
            items.len()
        }
        Value::Numbers(..) => {
            let texts = numbers(value);
            for (number, text) in texts.iter().enumerate().skip(rows.from).take(rows.count) {
                let name = number.to_string();
                level.push(&format!("[{number}]"), &id(&name), "value", "", text, false);
            }
            texts.len()
        }
        Value::Object(object) => return fill(&object.value(), at, rows, level),
        _ => 0,
    })
}

fn push(name: &str, id: &str, value: &Value<'_>, level: &mut Level) {
    let plain = |text: String| (String::new(), text, false);
    let (detail, title, inner) = match value {
        Value::Null => plain("null".to_owned()),
        Value::Bool(flag) => plain(flag.to_string()),
        Value::Int(number) => plain(number.to_string()),
        Value::Uint(number) => plain(number.to_string()),
        Value::Float(number) => plain(number.to_string()),
        Value::Text(bytes) => plain(shortened(&String::from_utf8_lossy(bytes))),
        Value::Opaque(bytes, class) => {
            (class.to_string(), format!("{} bytes that nothing describes", bytes.len()), false)
        }
        Value::Numbers(number, _) => {
            let texts = numbers(value);
            let more = if texts.len() > SHOWN { " ..." } else { "" };
            let shown = texts.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(" ");
            (format!("{} [{}]", number.cpp_name(), texts.len()), format!("{shown}{more}"), !texts.is_empty())
        }
        Value::List(items) => (format!("{} items", items.len()), String::new(), !items.is_empty()),
        Value::Record(members) => (members.class().to_owned(), String::new(), true),
        Value::Object(object) => match object.failure() {
            Some(error) => (object.class().to_owned(), format!("cannot be read: {}", error.message()), false),
            None => (object.class().to_owned(), named(object), true),
        },
    };
    level.push(name, id, "member", &detail, &title, inner);
}

/// The name of an object, where it has one.
fn named(object: &Object) -> String {
    let name = object.member("fName").ok().and_then(|name| name.as_text());
    let text = name.or_else(|| object.member("fString").ok().and_then(|text| text.as_text()));
    shortened(&text.unwrap_or_default())
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Numbers as texts.
fn numbers(value: &Value<'_>) -> Vec<String> {
    use sapwood::column::{Native, Number};
    let Value::Numbers(number, bytes) = value else { return Vec::new() };
    fn each<T: Native + ToString>(bytes: &[u8]) -> Vec<String> {
        T::read(bytes).into_iter().map(|number| number.to_string()).collect()
    }
    match number {
        Number::Bool | Number::U8 => each::<u8>(bytes),
        Number::I8 => each::<i8>(bytes),
        Number::I16 => each::<i16>(bytes),
        Number::U16 => each::<u16>(bytes),
        Number::I32 => each::<i32>(bytes),
        Number::U32 => each::<u32>(bytes),
        Number::I64 => each::<i64>(bytes),
        Number::U64 => each::<u64>(bytes),
        Number::F32 => each::<f32>(bytes),
        Number::F64 => each::<f64>(bytes),
    }
}

//! The files that a target of a command means: one, those of a pattern or a folder, or those of a stored chain.

use std::path::Path;

use sapwood::codec::is_like;
use sapwood::{Error, Session, Value};

use crate::output::{self, Outcome};
use crate::remote::Remote;

/// A file, and the name of a tree in it.
pub(crate) type Target = (String, Option<String>);

/// The files of a target, in the order of their names or of the chain.
pub(crate) fn targets(target: &str, session: &Session, remote: &Remote) -> Outcome<Vec<Target>> {
    let found = all(target, session, remote)?;
    remote.is_for(found.iter().map(|(path, _)| path.as_str()))?;
    Ok(found)
}

fn all(target: &str, session: &Session, remote: &Remote) -> Outcome<Vec<Target>> {
    let (path, name) = output::split(target);
    let named = |path: String| (path, name.map(str::to_owned));
    if sapwood_store::is_url(path) {
        return chain_or(named(path.to_owned()), session, remote);
    }
    let (folder, pattern) = match Path::new(path) {
        place if place.is_dir() => (path, "*.root"),
        place if place.exists() || !path.contains(['*', '?', '[']) => {
            return chain_or(named(path.to_owned()), session, remote);
        }
        _ => path.rsplit_once('/').unwrap_or(("", path)),
    };
    if folder.contains(['*', '?', '[']) && !Path::new(folder).exists() {
        return Err(Error::unsupported(format!("{path:?}: only the name of the file can be a pattern")).into());
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(if folder.is_empty() { "." } else { folder })? {
        if let Ok(file) = entry?.file_name().into_string()
            && is_like(pattern, &file)
        {
            found.push(if folder.is_empty() { file } else { format!("{}/{file}", folder.trim_end_matches('/')) });
        }
    }
    found.sort();
    match found.is_empty() {
        true => Err(Error::not_found(format!("no file matches {path:?}")).into()),
        false => Ok(found.into_iter().map(named).collect()),
    }
}

/// A target itself, or the files of the chain that it names.
fn chain_or(target: Target, session: &Session, remote: &Remote) -> Outcome<Vec<Target>> {
    let (path, Some(name)) = &target else { return Ok(vec![target]) };
    let file = output::open_in(path, session.clone(), remote)?;
    let Ok(key) = file.key(name) else { return Ok(vec![target]) };
    if &*key.class != "TChain" {
        return Ok(vec![target]);
    }
    let object = file.object_at(&key)?;
    let wrong = |words: &'static str| Error::malformed(words).in_file(path.as_str()).in_object(name);
    let list = object.member("fFiles")?;
    let elements = match &list {
        Value::Object(list) => list.members()?.get("items"),
        Value::Record(list) => list.get("items"),
        _ => None,
    };
    let Some(Value::List(elements)) = elements else { return Err(wrong("the chain has no list of files").into()) };
    let mut found = Vec::new();
    for element in elements.iter() {
        let Value::Object(element) = element else { continue };
        let text = |member: &str| Ok::<_, Error>(element.member(member)?.as_text().unwrap_or_default());
        let (tree, other) = (text("fName")?, text("fTitle")?);
        let is_near = !sapwood_store::is_url(path) && Path::new(&other).exists();
        let place = if is_near { other } else { sapwood_store::beside(path, &other)? };
        found.push((place, Some(if tree.is_empty() { name.clone() } else { tree })));
    }
    match found.is_empty() {
        true => Err(wrong("the chain has no files").into()),
        false => Ok(found),
    }
}

/// The weight that a chain has for all its trees (`TChain::SetWeight` with `global`); none of other targets.
pub(crate) fn chain_weight(target: &str, files: &[Target], session: &Session, remote: &Remote) -> Outcome<Option<f64>> {
    /// `TChain::kGlobalWeight`.
    const GLOBAL_WEIGHT: i64 = 1 << 15;
    let (path, Some(name)) = output::split(target) else { return Ok(None) };
    // A file that stands for itself is not opened once more.
    if matches!(files, [(only, _)] if only == path) {
        return Ok(None);
    }
    if !sapwood_store::is_url(path) && !Path::new(path).is_file() {
        return Ok(None);
    }
    let file = output::open_in(path, session.clone(), remote)?;
    let Some(key) = file.key(name).ok().filter(|key| &*key.class == "TChain") else { return Ok(None) };
    let chain = file.object_at(&key)?;
    let bits = chain.member("fBits")?.as_int().unwrap_or(0);
    Ok(if bits & GLOBAL_WEIGHT == 0 { None } else { chain.member("fWeight")?.as_float() })
}

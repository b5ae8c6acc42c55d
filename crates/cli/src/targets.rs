//! The files that a target of a command means: one, those of a pattern or a folder, or those of a stored chain.

use std::path::Path;

use sapwood::chain::{Place, StoredChain};
use sapwood::codec::is_like;
use sapwood::{Error, Session};

use crate::output::{self, Outcome};
use crate::remote::Remote;

/// The files of a target.
pub(crate) struct Targets {
    /// In the order of their names, or of the chain.
    pub(crate) places: Vec<Place>,
    /// The weight that a stored chain has for all its trees.
    pub(crate) weight: Option<f64>,
}

impl From<Vec<Place>> for Targets {
    fn from(places: Vec<Place>) -> Self {
        Self { places, weight: None }
    }
}

/// The files of a target.
pub(crate) fn targets(target: &str, session: &Session, remote: &Remote) -> Outcome<Targets> {
    let found = all(target, session, remote)?;
    remote.is_for(found.places.iter().map(|place| place.file.as_str()))?;
    Ok(found)
}

fn all(target: &str, session: &Session, remote: &Remote) -> Outcome<Targets> {
    let (path, name) = output::split(target);
    if sapwood_store::is_url(path) {
        return chain_or(Place::new(path, name), session, remote);
    }
    let (folder, pattern) = match Path::new(path) {
        place if place.is_dir() => (path, "*.root"),
        place if place.exists() || !path.contains(['*', '?', '[']) => {
            return chain_or(Place::new(path, name), session, remote);
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
    if found.is_empty() {
        return Err(Error::not_found(format!("no file matches {path:?}")).into());
    }
    found.sort();
    Ok(found.into_iter().map(|file| Place::new(file, name)).collect::<Vec<_>>().into())
}

/// A place itself, or the files of the chain that it names.
fn chain_or(place: Place, session: &Session, remote: &Remote) -> Outcome<Targets> {
    let Some(name) = &place.table else { return Ok(vec![place].into()) };
    let file = output::open_in(&place.file, session.clone(), remote)?;
    let Some(mut chain) = StoredChain::of(&file, name)? else { return Ok(vec![place].into()) };
    for other in &mut chain.places {
        let is_near = !sapwood_store::is_url(&place.file) && Path::new(&other.file).exists();
        if !is_near {
            other.file = sapwood_store::beside(&place.file, &other.file)?;
        }
    }
    Ok(Targets { places: chain.places, weight: chain.weight })
}

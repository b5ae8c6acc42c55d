//! Files and folders with the certificates of authorities.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use sapwood::{Error, Result};
use zeroize::Zeroizing;

use crate::private_file::{self, Others};

/// The most bytes that a folder or file of certificates is taken to have.
const PEM_BYTES: u64 = 64 << 20;

/// The certificates of a file, or of the files of a folder, each once: in folders they have a name and a hash. Other
/// files of a folder, such as revocation lists, are left out, and so are those that cannot be read.
pub(crate) fn authorities(place: &Path) -> Result<Vec<CertificateDer<'static>>> {
    if !fs::metadata(place)?.is_dir() {
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(place)?).collect();
        return found.map_err(|error| Error::mismatch("authorities cannot be read").because(error.to_string()));
    }
    let mut found: Vec<CertificateDer<'static>> = Vec::new();
    let mut known = HashSet::new();
    let mut bytes = 0;
    for entry in fs::read_dir(place)? {
        let path = entry?.path();
        let is_pem = path.extension().is_some_and(|end| end == "pem" || end == "crt" || end == "0");
        if !is_pem || !path.is_file() {
            continue;
        }
        let Ok(content) = read(&path) else { continue };
        bytes += content.len() as u64;
        if bytes > PEM_BYTES {
            return Err(Error::limit("too many certificates", PEM_BYTES, bytes));
        }
        for one in CertificateDer::pem_slice_iter(&content).filter_map(Result::ok) {
            if known.insert(one.clone()) {
                found.push(one);
            }
        }
    }
    Ok(found)
}

/// A file that may hold certificates.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    let named = |error: std::io::Error| Error::from(error).in_file(path.to_string_lossy().as_ref());
    let bytes = fs::metadata(path).map_err(named)?.len();
    if bytes > PEM_BYTES {
        return Err(
            Error::limit("too long for certificates", PEM_BYTES, bytes).in_file(path.to_string_lossy().as_ref())
        );
    }
    fs::read(path).map_err(named)
}

/// A file with a key, and maybe with certificates.
pub(crate) fn private_key_file(path: &Path, others: Others) -> Result<Zeroizing<Vec<u8>>> {
    private_file::read(path, "key", others, PEM_BYTES)
}

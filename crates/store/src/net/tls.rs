//! TLS: which servers to trust, and the client's own certificate.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use sapwood::{Error, Result};

use super::trust::Trust;
use crate::NetOptions;

/// The most bytes that a folder or file of certificates is taken to have.
const PEM_BYTES: u64 = 64 << 20;

/// A configuration with the authorities of the system and those of the options.
pub(crate) fn config(options: &NetOptions) -> Result<ClientConfig> {
    let mut own = RootCertStore::empty();
    if let Some(place) = &options.authorities {
        let found = authorities(place).map_err(|error| error.in_file(place.to_string_lossy().as_ref()))?;
        let (good, _) = own.add_parsable_certificates(found);
        if good == 0 {
            return Err(Error::mismatch("no authority can be read").in_file(place.to_string_lossy().as_ref()));
        }
    }
    // The provider is named, so that none has to be chosen for the whole process.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| Error::unsupported("no TLS here").because(error))?;
    let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(Trust::new(provider, own)));
    let Some(certificate) = &options.certificate else { return Ok(builder.with_no_client_auth()) };
    let wrong = |path: &Path, what: &'static str| {
        let path = path.to_string_lossy().into_owned();
        move |error: rustls::pki_types::pem::Error| Error::mismatch(what).because(error.to_string()).in_file(path)
    };
    let key = options.key.as_ref().unwrap_or(certificate);
    let chain = CertificateDer::pem_slice_iter(&read(certificate)?)
        .collect::<Result<Vec<_>, _>>()
        .map_err(wrong(certificate, "the client certificate cannot be read"))?;
    if chain.is_empty() {
        let name = certificate.to_string_lossy().into_owned();
        return Err(Error::mismatch("there is no client certificate in it").in_file(name));
    }
    let secret = PrivateKeyDer::from_pem_slice(&read(key)?);
    let secret = secret.map_err(wrong(key, "the key of the client certificate cannot be read"))?;
    builder.with_client_auth_cert(chain, secret).map_err(|error| {
        let name = certificate.to_string_lossy().into_owned();
        Error::mismatch("the client certificate and its key do not fit").because(error).in_file(name)
    })
}

/// The certificates of a file, or of the files of a folder. Of a folder, what is none is left out: it holds lists of
/// what was revoked, too.
fn authorities(place: &Path) -> Result<Vec<CertificateDer<'static>>> {
    if !fs::metadata(place)?.is_dir() {
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(place)?).collect();
        return found.map_err(|error| Error::mismatch("authorities cannot be read").because(error.to_string()));
    }
    let (mut found, mut bytes) = (Vec::new(), 0);
    for entry in fs::read_dir(place)? {
        let path = entry?.path();
        let is_pem = path.extension().is_some_and(|end| end == "pem" || end == "crt" || end == "0");
        if !is_pem || !path.is_file() {
            continue;
        }
        let content = read(&path)?;
        bytes += content.len() as u64;
        if bytes > PEM_BYTES {
            return Err(Error::limit("too many certificates", PEM_BYTES, bytes));
        }
        found.extend(CertificateDer::pem_slice_iter(&content).filter_map(Result::ok));
    }
    Ok(found)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let named = |error: std::io::Error| Error::from(error).in_file(path.to_string_lossy().as_ref());
    let bytes = fs::metadata(path).map_err(named)?.len();
    if bytes > PEM_BYTES {
        return Err(
            Error::limit("too long for certificates", PEM_BYTES, bytes).in_file(path.to_string_lossy().as_ref())
        );
    }
    fs::read(path).map_err(named)
}

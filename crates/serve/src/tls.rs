//! TLS: the certificate of the proxy.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sapwood::{Error, Result};
use tokio_rustls::TlsAcceptor;

/// A longer file holds no certificate.
const PEM_BYTES: u64 = 16 << 20;

/// Speaks TLS with a certificate, what signed it, and its key.
pub(crate) fn acceptor(certificate: &Path, key: &Path) -> Result<TlsAcceptor> {
    let at = |path: &Path, error: Error| error.in_file(path.to_string_lossy().as_ref());
    let wrong = |path: &Path, what: &'static str| at(path, Error::mismatch(what));
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&read(certificate)?)
        .collect::<Result<_, _>>()
        .map_err(|_| wrong(certificate, "the certificate cannot be read"))?;
    let secret = PrivateKeyDer::from_pem_slice(&read(key)?)
        .map_err(|_| wrong(key, "the key of the certificate cannot be read"))?;
    // The provider is named, so that none has to be chosen for the whole process.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::unsupported("no TLS here").because(error))?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(|error| at(certificate, Error::mismatch("the certificate and its key do not fit").because(error)))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let named = |error: Error| error.in_file(path.to_string_lossy().as_ref());
    let bytes = fs::metadata(path).map_err(|error| named(error.into()))?.len();
    if bytes > PEM_BYTES {
        return Err(named(Error::limit("too long for a certificate", PEM_BYTES, bytes)));
    }
    fs::read(path).map_err(|error| named(error.into()))
}

//! The client's own certificate for TLS. It is read when a server asks for one, and again when its file has changed: a
//! proxy of X.509 lives for hours, and processes live longer.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use rustls::client::ResolvesClientCert;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{InconsistentKeys, SignatureScheme};
use sapwood::{Error, Result};

use crate::NetOptions;
use crate::private_file::Others;
use crate::x509::{now, private_key_file, read, valid_time};

/// When the files changed, and how long they are.
type Stamp = [Option<(SystemTime, u64)>; 2];

/// A certificate and its key, in files.
#[derive(Debug)]
pub(super) struct OwnCertificate {
    certificate: PathBuf,
    key: PathBuf,
    /// Go on without a certificate if the files cannot be used.
    if_usable: bool,
    provider: Arc<CryptoProvider>,
    last: Mutex<(Stamp, Option<Loaded>)>,
}

/// Certificates and key of the files.
#[derive(Debug)]
struct Loaded {
    key: Arc<CertifiedKey>,
    /// When all certificates are valid, since 1970; none if they are shown at any time.
    time: Option<Range<Duration>>,
}

impl OwnCertificate {
    /// The certificate of the options, if any.
    ///
    /// # Errors
    ///
    /// A file cannot be used, and the options do not allow to go on without.
    pub(super) fn of(options: &NetOptions, provider: &Arc<CryptoProvider>) -> Result<Option<Arc<Self>>> {
        let Some(certificate) = options.certificate.clone() else { return Ok(None) };
        let made = Self {
            key: options.key.clone().unwrap_or_else(|| certificate.clone()),
            certificate,
            if_usable: options.certificate_if_usable,
            provider: Arc::clone(provider),
            last: Mutex::new(([None; 2], None)),
        };
        if !made.if_usable {
            let found = (made.stamp(), Some(made.load()?));
            *made.last.lock().unwrap_or_else(PoisonError::into_inner) = found;
        }
        Ok(Some(Arc::new(made)))
    }

    fn stamp(&self) -> Stamp {
        [&self.certificate, &self.key].map(|path| {
            let found = fs::metadata(path).ok()?;
            Some((found.modified().ok()?, found.len()))
        })
    }

    fn load(&self) -> Result<Loaded> {
        let at = |path: &Path, error: Error| error.in_file(path.to_string_lossy().as_ref());
        // The user may name a key that others can read; one that was found is not used then.
        let others = if self.if_usable { Others::Nothing } else { Others::Anything };
        let secret = private_key_file(&self.key, others)?;
        let content;
        let certificates: &[u8] = if self.key == self.certificate {
            &secret
        } else {
            content = read(&self.certificate)?;
            &content
        };
        let chain = CertificateDer::pem_slice_iter(certificates).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|error| {
            let error = Error::mismatch("the client certificate cannot be read").because(error.to_string());
            at(&self.certificate, error)
        })?;
        if chain.is_empty() {
            return Err(at(&self.certificate, Error::mismatch("it contains no client certificate")));
        }
        // Servers that would do without a certificate refuse one that has expired. The user's own choice is shown all
        // the same: their refusal names the reason.
        let time = self.if_usable.then(|| valid_time(&chain)).transpose();
        let time = time.map_err(|error| at(&self.certificate, error))?;
        let key = PrivateKeyDer::from_pem_slice(&secret).map_err(|error| {
            let error = Error::mismatch("the key of the client certificate cannot be read").because(error.to_string());
            at(&self.key, error)
        })?;
        let unfit = |error| {
            let error = Error::mismatch("the client certificate and its key do not fit").because(error);
            at(&self.certificate, error)
        };
        let made = CertifiedKey::new(chain, self.provider.key_provider.load_private_key(key).map_err(unfit)?);
        match made.keys_match() {
            Err(error @ rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) => Err(unfit(error)),
            // Proxies have an extension that is not known there; servers compare.
            _ => Ok(Loaded { key: Arc::new(made), time }),
        }
    }
}

impl ResolvesClientCert for OwnCertificate {
    fn resolve(&self, _authorities: &[&[u8]], _schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let stamp = self.stamp();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.0 != stamp || last.1.is_none() {
            // A file that is being replaced: what was read before may still do.
            let before = last.1.take();
            *last = (stamp, self.load().ok().or(before));
        }
        let is_valid = |time: &Range<Duration>| time.contains(&now());
        let found = last.1.as_ref().filter(|found| found.time.as_ref().is_none_or(is_valid));
        found.map(|found| Arc::clone(&found.key))
    }

    fn has_certs(&self) -> bool {
        true
    }
}

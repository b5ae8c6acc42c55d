//! Trust in servers: authorities are read when a server first shows a certificate, since most files are opened without
//! TLS, and a system has hundreds of authorities.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use crate::NetOptions;
use crate::x509::authorities;

/// Checks certificates as rustls does, against the authorities of the system and some of our own.
#[derive(Debug)]
pub(super) struct Trust {
    provider: Arc<CryptoProvider>,
    /// A file or folder of more authorities, read when they are needed.
    own: Option<PathBuf>,
    /// Authorities that were read at once.
    read: RootCertStore,
    /// None where there is no authority at all.
    verifier: OnceLock<Option<Arc<WebPkiServerVerifier>>>,
}

impl Trust {
    /// Trust in the authorities of the system and of the options. Authorities that the user named are read at once.
    ///
    /// # Errors
    ///
    /// These cannot be read.
    pub(super) fn of(options: &NetOptions, provider: &Arc<CryptoProvider>) -> sapwood::Result<Self> {
        let mut made = Self {
            provider: Arc::clone(provider),
            own: options.authorities.clone(),
            read: RootCertStore::empty(),
            verifier: OnceLock::new(),
        };
        if !options.authorities_if_usable
            && let Some(place) = made.own.take()
        {
            made.read = store(&place).map_err(|error| error.in_file(place.to_string_lossy().as_ref()))?;
        }
        Ok(made)
    }

    fn verifier(&self) -> Result<&WebPkiServerVerifier, Error> {
        let verifier = self.verifier.get_or_init(|| {
            let mut roots =
                self.own.as_deref().and_then(|place| store(place).ok()).unwrap_or_else(|| self.read.clone());
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            WebPkiServerVerifier::builder_with_provider(roots.into(), self.provider.clone()).build().ok()
        });
        // A system without authorities trusts no server.
        verifier.as_deref().ok_or(Error::InvalidCertificate(CertificateError::UnknownIssuer))
    }
}

/// The authorities of a file or folder, of which one has to be good.
fn store(place: &Path) -> sapwood::Result<RootCertStore> {
    let mut store = RootCertStore::empty();
    let (good, _) = store.add_parsable_certificates(authorities(place)?);
    if good == 0 {
        return Err(sapwood::Error::mismatch("no authority can be read"));
    }
    Ok(store)
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.verifier()?.verify_server_cert(certificate, chain, name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier()?.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier()?.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

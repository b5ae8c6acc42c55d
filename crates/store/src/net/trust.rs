//! Trust in servers: authorities are read when a server first shows a certificate, since most files are opened without
//! TLS, and a system has hundreds of authorities.

use std::sync::{Arc, OnceLock};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// Checks certificates as rustls does, against the authorities of the system and some of our own.
#[derive(Debug)]
pub(super) struct Trust {
    provider: Arc<CryptoProvider>,
    own: RootCertStore,
    /// None where there is no authority at all.
    verifier: OnceLock<Option<Arc<WebPkiServerVerifier>>>,
}

impl Trust {
    pub(super) fn new(provider: Arc<CryptoProvider>, own: RootCertStore) -> Self {
        Self { provider, own, verifier: OnceLock::new() }
    }

    fn verifier(&self) -> Result<&WebPkiServerVerifier, Error> {
        let verifier = self.verifier.get_or_init(|| {
            let mut roots = self.own.clone();
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            WebPkiServerVerifier::builder_with_provider(roots.into(), self.provider.clone()).build().ok()
        });
        // A system without authorities trusts no server.
        verifier.as_deref().ok_or(Error::InvalidCertificate(CertificateError::UnknownIssuer))
    }
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

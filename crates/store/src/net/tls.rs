//! TLS: which servers to trust, and the client's own certificate.

use std::sync::Arc;

use rustls::ClientConfig;
use sapwood::{Error, Result};

use super::own_certificate::OwnCertificate;
use super::trust::Trust;
use crate::NetOptions;

/// A configuration with the authorities of the system and those of the options.
///
/// # Errors
///
/// The user named authorities or a certificate that cannot be read.
pub(crate) fn config(options: &NetOptions) -> Result<ClientConfig> {
    // The provider is named, so that none has to be chosen for the whole process.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| Error::unsupported("no TLS here").because(error))?;
    let trust = Arc::new(Trust::of(options, &provider)?);
    let builder = builder.dangerous().with_custom_certificate_verifier(trust);
    Ok(match OwnCertificate::of(options, &provider)? {
        Some(own) => builder.with_client_cert_resolver(own),
        None => builder.with_no_client_auth(),
    })
}

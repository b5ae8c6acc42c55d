//! TLS: which servers to trust, and the client's own certificate.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use sapwood::{Error, Result};

use super::own_certificate::OwnCertificate;
use super::trust::Trust;
use crate::NetOptions;
use crate::x509::authorities;

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
    let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(Trust::new(provider.clone(), own)));
    Ok(match OwnCertificate::of(options, &provider)? {
        Some(own) => builder.with_client_cert_resolver(own),
        None => builder.with_no_client_auth(),
    })
}

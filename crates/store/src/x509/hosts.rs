//! Verifies certificates of servers: signed by an authority of a folder, not revoked, for the right host.

use std::path::Path;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, ServerName, TrustAnchor, UnixTime};
use sapwood::{Error, ErrorKind, Result};
use webpki::{
    BorrowedCertRevocationList, CertRevocationList, EndEntityCert, ExpirationPolicy, KeyUsage, RevocationCheckDepth,
    RevocationOptionsBuilder, UnknownStatusPolicy, anchor_from_trusted_cert,
};
use x509_cert::certificate::{CertificateInner, Raw};
use x509_cert::der::Decode;
use x509_cert::ext::pkix::{BasicConstraints, KeyUsage as KeyUsageExtension};

use super::identity::now;
use super::name_hash::name_hash;
use super::{authorities, read};

/// Authorities above a server that are looked at.
const MAX_AUTHORITIES: usize = 8;
/// Lists of what an authority revoked, `HASH.r0` and so on.
const LISTS: usize = 10;

type Certificate = CertificateInner<Raw>;

/// A certificate of the folder.
struct Known<'a> {
    bytes: &'a CertificateDer<'a>,
    parsed: Certificate,
}

impl<'a> Known<'a> {
    fn read(bytes: &'a CertificateDer<'a>) -> Option<Self> {
        Some(Self { bytes, parsed: parse(bytes)? })
    }
}

/// Verifies the certificate of a server, with others that it sent along. Revocation lists are files of the folder
/// (`HASH.r0`); they count beyond their time, as in XRootD's client.
///
/// # Errors
///
/// [`Denied`](ErrorKind::Denied), with the reason; the folder or a list cannot be read.
pub(crate) fn check_host(place: &Path, chain: &[CertificateDer<'_>], host: &str) -> Result<()> {
    let here = place.to_string_lossy().into_owned();
    check(place, chain, host, now()).map_err(|error| error.in_file(here))
}

fn check(place: &Path, chain: &[CertificateDer<'_>], host: &str, now: Duration) -> Result<()> {
    let denied = |words: String| Error::new(ErrorKind::Denied, words);
    let known = authorities(place)?;
    let known: Vec<Known<'_>> = known.iter().filter_map(Known::read).collect();
    let (first, others) = chain.split_first().ok_or_else(|| denied(format!("{host} sent no certificate")))?;
    let lists = lists(place, chain, &known)?;
    let mut parsed = Vec::with_capacity(lists.len());
    for list in &lists {
        let list = BorrowedCertRevocationList::from_der(list);
        parsed.push(CertRevocationList::from(list.map_err(|error| {
            Error::mismatch("a list of revoked certificates cannot be read").because(error.to_string())
        })?));
    }
    let parsed: Vec<&CertRevocationList<'_>> = parsed.iter().collect();
    let revocation = RevocationOptionsBuilder::new(&parsed).ok().map(|options| {
        options
            .with_depth(RevocationCheckDepth::Chain)
            .with_status_policy(UnknownStatusPolicy::Allow)
            .with_expiration_policy(ExpirationPolicy::Ignore)
            .build()
    });
    // A certificate that signed itself is an authority; others are steps to one.
    let mut anchors: Vec<TrustAnchor<'_>> = Vec::new();
    let mut between = others.to_vec();
    for one in &known {
        if !is_root(&one.parsed) {
            between.push(one.bytes.clone());
        // A path ends at an authority, whose own certificate is not looked at there.
        } else if may_sign(&one.parsed, now)
            && let Ok(anchor) = anchor_from_trusted_cert(one.bytes)
        {
            anchors.push(anchor);
        }
    }
    let words = |error: &webpki::Error| match error {
        webpki::Error::UnknownIssuer => {
            let issuer = parse(first).map_or_else(String::new, |one| format!(": {}", one.tbs_certificate().issuer()));
            format!("no authority here signed the certificate of {host}{issuer}")
        }
        webpki::Error::CertRevoked => format!("the certificate of {host} was revoked"),
        webpki::Error::CertExpired { .. } => format!("the certificate of {host}, or of its authority, expired"),
        webpki::Error::CertNotValidYet { .. } => {
            format!("the certificate of {host} is not valid yet: is the clock of this machine right?")
        }
        webpki::Error::CertNotValidForName(_) => format!("the certificate is not for {host}"),
        other => format!("the certificate of {host} cannot be trusted ({other})"),
    };
    let denied = |error: webpki::Error| denied(words(&error));
    let server = EndEntityCert::try_from(first).map_err(denied)?;
    let algorithms = rustls::crypto::ring::default_provider().signature_verification_algorithms.all;
    let time = UnixTime::since_unix_epoch(now);
    let usage = KeyUsage::server_auth();
    server.verify_for_usage(algorithms, &anchors, &between, time, usage, revocation, None).map_err(denied)?;
    let name = ServerName::try_from(host).map_err(|_| Error::mismatch(format!("{host} is not a valid host name")))?;
    server.verify_is_valid_for_subject_name(&name).map_err(denied)
}

/// Revocation lists of all authorities that may be above a server: of the issuers of what it sent, and of those in the
/// folder above these.
fn lists(
    place: &Path,
    chain: &[CertificateDer<'_>],
    known: &[Known<'_>],
) -> Result<Vec<CertificateRevocationListDer<'static>>> {
    let mut found = Vec::new();
    if !place.is_dir() {
        return Ok(found);
    }
    let unreadable = || Error::new(ErrorKind::Denied, "a certificate above that of the server cannot be read");
    let mut waiting = Vec::new();
    for one in chain {
        waiting.push(parse(one).ok_or_else(unreadable)?);
    }
    let mut met = Vec::new();
    while let Some(below) = waiting.pop() {
        let issuer = below.tbs_certificate().issuer();
        let hash = name_hash(issuer).map_err(|_| Error::mismatch("the name of an authority cannot be read"))?;
        if met.contains(&hash) {
            continue;
        }
        for number in 0..LISTS {
            let path = place.join(format!("{hash}.r{number}"));
            if !path.is_file() {
                break;
            }
            let content = read(&path)?;
            let wrong = || Error::mismatch("no list of revoked certificates").in_file(path.to_string_lossy().as_ref());
            if content.trim_ascii_start().starts_with(b"-----") {
                for list in CertificateRevocationListDer::pem_slice_iter(&content) {
                    found.push(list.map_err(|_| wrong())?);
                }
            } else if content.is_empty() {
                return Err(wrong());
            } else {
                found.push(content.into());
            }
        }
        let above = known.iter().filter(|one| one.parsed.tbs_certificate().subject() == issuer);
        waiting.extend(above.map(|one| one.parsed.clone()));
        met.push(hash);
        if met.len() > MAX_AUTHORITIES {
            return Err(Error::limit("authorities above a server", MAX_AUTHORITIES as u64, met.len() as u64));
        }
    }
    Ok(found)
}

/// Whether the certificate of an authority is valid now, and one of an authority: a host may have signed its own.
fn may_sign(one: &Certificate, now: Duration) -> bool {
    let validity = one.tbs_certificate().validity();
    let is_valid = validity.not_before.to_unix_duration() <= now && now <= validity.not_after.to_unix_duration();
    let basics = one.tbs_certificate().get_extension::<BasicConstraints>();
    // Certificates of version 1 have no extensions.
    let is_authority = match basics {
        Ok(Some((_, basics))) => basics.ca,
        Ok(None) => one.tbs_certificate().extensions().is_none(),
        Err(_) => false,
    };
    let signs = match one.tbs_certificate().get_extension::<KeyUsageExtension>() {
        Ok(Some((_, usage))) => usage.key_cert_sign(),
        Ok(None) => true,
        Err(_) => false,
    };
    is_valid && is_authority && signs
}

fn parse(one: &CertificateDer<'_>) -> Option<Certificate> {
    Certificate::from_der(one).ok()
}

fn is_root(one: &Certificate) -> bool {
    one.tbs_certificate().issuer() == one.tbs_certificate().subject()
}

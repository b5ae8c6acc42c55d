//! RSA as the handshake uses it: bytes go through the private key in pieces, each padded (PKCS #1, type 1) and without
//! a digest, and whoever has the public key gets them back.

use rsa::hazmat::rsa_encrypt;
use rsa::rand_core::{TryCryptoRng, TryRng};
use rsa::traits::PublicKeyParts;
use rsa::{BoxedUint, Pkcs1v15Sign, PrivateKey, PublicKey};
use sapwood::{Error, Result};

use crate::xrootd::random::fill;
use crate::xrootd::wire::Broken;

/// The least padding: 0, 1, eight times 255, 0.
const PADDING: usize = 11;

/// The bytes through the private key, piece by piece.
pub(super) fn sign(key: &PrivateKey, bytes: &[u8]) -> Result<Vec<u8>> {
    let piece = key.size().checked_sub(PADDING).filter(|piece| *piece > 0);
    let piece = piece.ok_or_else(|| Error::mismatch("the key of the certificate is too short"))?;
    let mut signed = Vec::with_capacity((bytes.len() / piece + 1) * key.size());
    for piece in bytes.chunks(piece) {
        let made = key.sign_with_rng(&mut Random, Pkcs1v15Sign::new_unprefixed(), piece);
        signed.extend(
            made.map_err(|error| {
                Error::mismatch("the key of the certificate does not sign").because(error.to_string())
            })?,
        );
    }
    Ok(signed)
}

/// Gets the bytes back that someone sent through the private key.
pub(super) fn recover(key: &PublicKey, signed: &[u8]) -> Result<Vec<u8>, Broken> {
    const WRONG: Broken = Broken("a signature that is not of the server's certificate");
    let size = key.size();
    if signed.is_empty() || !signed.len().is_multiple_of(size) {
        return Err(WRONG);
    }
    let mut bytes = Vec::new();
    for piece in signed.chunks(size) {
        let number = BoxedUint::from_be_slice(piece, key.n().bits_precision()).map_err(|_| WRONG)?;
        if number >= *key.n().as_ref() {
            return Err(WRONG);
        }
        let padded = rsa_encrypt(key, &number).map_err(|_| WRONG)?.to_be_bytes();
        let padded = padded.len().checked_sub(size).and_then(|start| padded.get(start..)).ok_or(WRONG)?;
        let [0, 1, rest @ ..] = padded else { return Err(WRONG) };
        let filled = rest.iter().take_while(|byte| **byte == 0xFF).count();
        match rest.split_at_checked(filled) {
            Some((_, [0, piece @ ..])) if filled + 3 >= PADDING => bytes.extend_from_slice(piece),
            _ => return Err(WRONG),
        }
    }
    Ok(bytes)
}

/// Random numbers for the crate of RSA.
struct Random;

impl TryRng for Random {
    type Error = Error;

    fn try_next_u32(&mut self) -> Result<u32, Error> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Error> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        fill(bytes)
    }
}

impl TryCryptoRng for Random {}

#[cfg(test)]
mod tests {
    use rsa::pkcs8::DecodePrivateKey;

    use super::*;

    fn key() -> PrivateKey {
        PrivateKey::from_pkcs8_pem(include_str!("../../../tests/data/gsi/test.key")).unwrap()
    }

    #[test]
    fn what_is_signed_is_recovered() {
        let key = key();
        for length in [1_usize, 8, 245, 246, 1_000] {
            let bytes: Vec<u8> = (0..length).map(|i| i as u8).collect();
            let signed = sign(&key, &bytes).unwrap();
            assert_eq!(signed.len(), 256 * length.div_ceil(245));
            assert_eq!(recover(key.as_public_key(), &signed).unwrap(), bytes);
        }
    }

    #[test]
    fn other_signatures_are_refused() {
        let key = key();
        let mut signed = sign(&key, b"tag").unwrap();
        assert!(recover(key.as_public_key(), &signed[..255]).is_err());
        assert!(recover(key.as_public_key(), b"").is_err());
        assert!(recover(key.as_public_key(), &[0xFF; 256]).is_err(), "not below the modulus");
        assert!(recover(key.as_public_key(), &[0; 256]).is_err());
        signed[200] ^= 1;
        assert!(recover(key.as_public_key(), &signed).is_err());
    }
}

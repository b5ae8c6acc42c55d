//! The key agreement (Diffie-Hellman): the server chooses the group, and both sides compute the same secret from the
//! other's public number.
//!
//! Source: `XrdCryptosslCipher` of XRootD: the parameters as PEM, then the public number in hexadecimal digits.

use crypto_bigint::modular::{BoxedMontyForm, BoxedMontyParams};
use crypto_bigint::{BoxedUint, Odd};
use sapwood::Result;
use x509_cert::der::asn1::UintRef;
use x509_cert::der::pem::{LineEnding, decode_vec, encode_string};
use x509_cert::der::{Decode, Reader, SliceReader};
use zeroize::Zeroizing;

use crate::xrootd::random::fill;
use crate::xrootd::wire::Broken;

const LABEL: &str = "DH PARAMETERS";
const BEGIN: &str = "---BPUB---";
const END: &str = "---EPUB---";
/// Servers before XRootD 5.6 choose 512 bits, later ones 3072. Who reads along and breaks a short group sees
/// certificates, as with TLS 1.2; the session's key is used for nothing else.
const MIN_BITS: u32 = 512;
/// Longer ones take seconds.
const MAX_BITS: u32 = 8192;
/// Twice the strength of the longest cipher.
const EXPONENT_BYTES: usize = 64;

/// A server's half: a group, and its public number.
#[derive(Debug)]
pub(super) struct Agreement {
    parameters: Vec<u8>,
    prime: Odd<BoxedUint>,
    base: BoxedUint,
    theirs: BoxedUint,
}

/// Both halves together.
pub(super) struct Agreed {
    /// Our half for the server, still to be signed.
    pub(super) ours: String,
    pub(super) secret: Zeroizing<Vec<u8>>,
}

impl Agreement {
    /// Reads a server's half.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Broken> {
        const WRONG: Broken = Broken("a key agreement that cannot be read");
        let text = std::str::from_utf8(bytes).map_err(|_| WRONG)?;
        let (pem, rest) = text.split_once(BEGIN).ok_or(WRONG)?;
        let (digits, _) = rest.split_once(END).ok_or(WRONG)?;
        let (label, parameters) = decode_vec(pem.as_bytes()).map_err(|_| WRONG)?;
        let mut reader = SliceReader::new(&parameters).map_err(|_| WRONG)?;
        let both = reader.sequence(|inner: &mut SliceReader<'_>| {
            let both = (UintRef::decode(inner)?, UintRef::decode(inner)?);
            // The length of exponents, which some add.
            if !inner.is_finished() {
                UintRef::decode(inner)?;
            }
            Ok::<_, x509_cert::der::Error>(both)
        });
        let (prime, base) = both.map_err(|_| WRONG)?;
        if label != LABEL {
            return Err(WRONG);
        }
        let bits = u32::try_from(prime.as_bytes().len()).unwrap_or(u32::MAX).saturating_mul(8);
        if bits < MIN_BITS {
            return Err(Broken("its group for the key agreement has fewer than 512 bits"));
        }
        // All parameters are signed and sent back.
        let is_long = parameters.len() > prime.as_bytes().len() + 64;
        if is_long || bits > MAX_BITS || digits.len() > 2 * prime.as_bytes().len() || base.as_bytes().len() > 8 {
            return Err(Broken("its group for the key agreement is too large"));
        }
        let number = |bytes: &[u8]| BoxedUint::from_be_slice(bytes, bits).map_err(|_| WRONG);
        let prime = number(prime.as_bytes())?;
        let base = number(base.as_bytes())?;
        let theirs = BoxedUint::from_str_radix_with_precision_vartime(digits, 16, bits).map_err(|_| WRONG)?;
        // With these everybody knows the secret.
        let last = prime.wrapping_sub(BoxedUint::one_with_precision(bits));
        let one = BoxedUint::one_with_precision(bits);
        if base <= one || base >= last || theirs <= one || theirs >= last {
            return Err(Broken("a public number that shows the secret"));
        }
        let prime = Odd::new(prime).into_option().ok_or(WRONG)?;
        Ok(Self { parameters, prime, base, theirs })
    }

    /// Adds our half. `padded` secrets are as long as the prime, whatever zeros they begin with.
    pub(super) fn agree(&self, padded: bool) -> Result<Agreed> {
        let mut exponent = Zeroizing::new([0; EXPONENT_BYTES]);
        fill(&mut *exponent)?;
        self.with_exponent(&*exponent, padded)
    }

    pub(super) fn with_exponent(&self, exponent: &[u8], padded: bool) -> Result<Agreed> {
        let wrong = |_| sapwood::Error::internal("a number of the key agreement does not fit");
        let bits = u32::try_from(8 * exponent.len()).unwrap_or(u32::MAX);
        let exponent = Zeroizing::new(BoxedUint::from_be_slice(exponent, bits).map_err(wrong)?);
        let group = BoxedMontyParams::new(self.prime.clone());
        let power = |base: &BoxedUint| BoxedMontyForm::new(base.clone(), &group).pow(&exponent).retrieve();
        let public = power(&self.base).to_be_bytes_trimmed_vartime();
        let secret = Zeroizing::new(Zeroizing::new(power(&self.theirs)).to_be_bytes().into_vec());
        let zeros = if padded { 0 } else { secret.iter().take_while(|byte| **byte == 0).count() };
        let secret = Zeroizing::new(secret.get(zeros..).unwrap_or_default().to_vec());
        let mut ours = encode_string(LABEL, LineEnding::LF, &self.parameters)
            .map_err(|_| sapwood::Error::internal("parameters that cannot be written"))?;
        ours.push_str(BEGIN);
        ours.extend(public.iter().map(|byte| format!("{byte:02X}")));
        ours.push_str(END);
        Ok(Agreed { ours, secret })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A group of 2048 bits (RFC 3526) as OpenSSL writes it.
    const GROUP: &str = include_str!("../../../tests/data/gsi/group.pem");

    fn half(public: &str) -> String {
        format!("{GROUP}{BEGIN}{public}{END}")
    }

    #[test]
    fn both_sides_find_the_same_secret() {
        let ours = [7; EXPONENT_BYTES];
        let theirs = [9; EXPONENT_BYTES];
        // Each side reads the other's half.
        let first = Agreement::read(half("05").as_bytes()).unwrap().with_exponent(&theirs, true).unwrap();
        let second = Agreement::read(first.ours.as_bytes()).unwrap().with_exponent(&ours, true).unwrap();
        let third = Agreement::read(second.ours.as_bytes()).unwrap().with_exponent(&theirs, true).unwrap();
        assert_eq!(second.secret, third.secret);
        assert_eq!(second.secret.len(), 256);
        assert!(second.ours.starts_with(GROUP) && second.ours.ends_with(END));
    }

    #[test]
    fn secrets_begin_with_zeros_where_the_other_side_pads() {
        // 2 to the 3rd is 8.
        let agreement = Agreement::read(half("2").as_bytes()).unwrap();
        let padded = agreement.with_exponent(&[3], true).unwrap().secret;
        assert_eq!((padded.len(), padded.last()), (256, Some(&8)));
        assert_eq!(*agreement.with_exponent(&[3], false).unwrap().secret, [8]);
        assert_ne!(agreement.agree(true).unwrap().secret, agreement.agree(true).unwrap().secret);
    }

    #[test]
    fn what_shows_the_secret_or_takes_for_ever_is_refused() {
        let prime = {
            let (_, der) = decode_vec(GROUP.as_bytes()).unwrap();
            der[9..265].iter().map(|byte| format!("{byte:02X}")).collect::<String>()
        };
        let before = format!("{}E", &prime[..prime.len() - 1]);
        for public in ["", "0", "1", "g", &prime, &before, &"F".repeat(513)] {
            assert!(Agreement::read(half(public).as_bytes()).is_err(), "{public}");
        }
        let short = "-----BEGIN DH PARAMETERS-----\nMAYCAQsCAQI=\n-----END DH PARAMETERS-----\n";
        assert!(Agreement::read(format!("{short}{BEGIN}05{END}").as_bytes()).unwrap_err().0.contains("512 bits"));
        for wrong in [&GROUP[..200], "", BEGIN, "---BPUB---05---EPUB---"] {
            assert!(Agreement::read(wrong.as_bytes()).is_err());
        }
        assert!(Agreement::read(&half("05").into_bytes()[..400]).is_err());
        let long = {
            let (_, der) = decode_vec(GROUP.as_bytes()).unwrap();
            let length = vec![0x02, 0x82, 0x04, 0x00, 1].into_iter().chain([0; 1023]);
            let inner: Vec<u8> = der[4..].iter().copied().chain(length).collect();
            let outer = [&[0x30, 0x82][..], &u16::try_from(inner.len()).unwrap().to_be_bytes(), &inner].concat();
            encode_string(LABEL, LineEnding::LF, &outer).unwrap()
        };
        assert!(Agreement::read(format!("{long}{BEGIN}05{END}").as_bytes()).unwrap_err().0.contains("too large"));
        let even = {
            let (_, mut der) = decode_vec(GROUP.as_bytes()).unwrap();
            der[264] &= 0xFE;
            encode_string(LABEL, LineEnding::LF, &der).unwrap()
        };
        assert!(Agreement::read(format!("{even}{BEGIN}05{END}").as_bytes()).is_err());
    }
}

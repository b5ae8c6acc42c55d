//! The session's cipher: AES with chained blocks, its key the first bytes of the agreed secret.

use aes::cipher::block_padding::Pkcs7;
use aes::cipher::{BlockModeEncrypt, KeyIvInit};
use aes::{Aes128, Aes192, Aes256};
use cbc::Encryptor;
use sapwood::{Error, Result};

use crate::xrootd::random::fill;

/// Bytes of the first, random block.
const BLOCK: usize = 16;

/// A cipher that both sides have. Blowfish and triple DES, which servers offer as well, are not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cipher {
    Aes128,
    Aes192,
    Aes256,
}

impl Cipher {
    /// The first of a server's list.
    pub(super) fn choose(list: &[u8]) -> Option<Self> {
        let known = |name: &[u8]| match name {
            b"aes-128-cbc" => Some(Self::Aes128),
            b"aes-192-cbc" => Some(Self::Aes192),
            b"aes-256-cbc" => Some(Self::Aes256),
            _ => None,
        };
        list.split(|byte| *byte == b':').find_map(known)
    }

    /// The name for the server, with the length of what stands before the encrypted bytes.
    pub(super) fn name(self) -> String {
        let bits = match self {
            Self::Aes128 => 128,
            Self::Aes192 => 192,
            Self::Aes256 => 256,
        };
        format!("aes-{bits}-cbc#{BLOCK}")
    }

    /// A random block, then the encrypted bytes.
    pub(super) fn seal(self, secret: &[u8], bytes: &[u8]) -> Result<Vec<u8>> {
        let mut sealed = vec![0; BLOCK];
        fill(&mut sealed)?;
        let encrypted = match self {
            Self::Aes128 => encrypt::<Encryptor<Aes128>>(secret, &sealed, bytes, 16),
            Self::Aes192 => encrypt::<Encryptor<Aes192>>(secret, &sealed, bytes, 24),
            Self::Aes256 => encrypt::<Encryptor<Aes256>>(secret, &sealed, bytes, 32),
        };
        sealed.extend(encrypted.ok_or_else(|| Error::mismatch("the agreed secret is too short"))?);
        Ok(sealed)
    }
}

fn encrypt<E: KeyIvInit + BlockModeEncrypt>(secret: &[u8], first: &[u8], bytes: &[u8], key: usize) -> Option<Vec<u8>> {
    Some(E::new_from_slices(secret.get(..key)?, first).ok()?.encrypt_padded_vec::<Pkcs7>(bytes))
}

#[cfg(test)]
mod tests {
    use aes::cipher::BlockModeDecrypt;

    use super::*;

    /// The bytes that a client sealed with AES of 128 bits.
    fn open(secret: &[u8], sealed: &[u8]) -> Vec<u8> {
        let (first, rest) = sealed.split_at(BLOCK);
        let cipher = cbc::Decryptor::<Aes128>::new_from_slices(&secret[..16], first).unwrap();
        cipher.decrypt_padded_vec::<Pkcs7>(rest).unwrap()
    }

    #[test]
    fn the_first_cipher_that_is_known_is_taken() {
        assert_eq!(Cipher::choose(b"bf-cbc:aes-256-cbc:aes-128-cbc").unwrap().name(), "aes-256-cbc#16");
        assert_eq!(Cipher::choose(b"aes-128-cbc:bf-cbc:des-ede3-cbc"), Some(Cipher::Aes128));
        assert_eq!((Cipher::choose(b"bf-cbc:null"), Cipher::choose(b"")), (None, None));
    }

    #[test]
    fn what_is_sealed_can_be_opened_with_the_secret() {
        let secret = [5; 64];
        for length in [0, 15, 16, 1_000] {
            let bytes = vec![9; length];
            let sealed = Cipher::Aes128.seal(&secret, &bytes).unwrap();
            assert_eq!(sealed.len(), 16 + (length / 16 + 1) * 16);
            assert_eq!(open(&secret, &sealed), bytes);
            assert_ne!(Cipher::Aes128.seal(&secret, &bytes).unwrap(), sealed, "each begins with another block");
        }
        assert_eq!(Cipher::Aes192.seal(&secret, b"x").unwrap().len(), 32);
        assert!(Cipher::Aes256.seal(&secret[..31], b"x").is_err());
    }

    #[test]
    fn it_is_sealed_as_openssl_does() {
        // openssl enc -aes-128-cbc -K 30..66 -iv 00..00, of the text.
        let made = encrypt::<Encryptor<Aes128>>(b"0123456789abcdef", &[0; 16], b"hello world", 16).unwrap();
        assert_eq!(made, OPENSSL);
    }

    const OPENSSL: [u8; 16] =
        [0x81, 0x69, 0xbe, 0xd4, 0xef, 0x49, 0xa8, 0x87, 0x45, 0x59, 0xc5, 0xb2, 0x00, 0xda, 0xad, 0xe7];
}

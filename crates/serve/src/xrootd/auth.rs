//! Authentication: what clients have to prove, and whether they did.

use std::net::IpAddr;

use sapwood::{Error, Result};
use sapwood_store::SharedKeys;

use crate::access::{Access, Secret};
use crate::options::XrootdOptions;

/// Maximum length of a token.
const TOKEN_BYTES: usize = 4096;
/// Length of a proof's head: the method, a version, the kind of proof, the token's length.
const TOKEN_HEAD: usize = 10;

/// The way in for a client.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Door {
    /// Nothing has to be proved.
    Open,
    /// One of these methods, in the form of the answer to a login.
    Prove(String),
    /// No method is of use without TLS.
    NeedsTls,
}

/// Checks what clients prove.
pub(crate) struct Gate {
    keys: Option<SharedKeys>,
    unix: bool,
}

impl Gate {
    /// # Errors
    ///
    /// [`Mismatch`](sapwood::ErrorKind::Mismatch) for options that leave clients no way in, or let all of them in; what
    /// reading a keytab reports.
    pub(crate) fn new(options: &XrootdOptions, access: &Access, has_tls: bool) -> Result<Self> {
        let keys = options.keytab.as_deref().map(SharedKeys::read).transpose()?;
        if access.needs_token() && !has_tls && keys.is_none() {
            let words = "clients of root:// show a token over TLS alone: give the proxy a certificate, or a keytab";
            return Err(Error::mismatch(words));
        }
        if options.unix && (access.needs_token() || keys.is_some()) {
            return Err(Error::mismatch("unix proves nothing: it would let in clients without a token or a key"));
        }
        Ok(Self { keys, unix: options.unix })
    }

    /// Whether nothing but TLS is of use to clients.
    pub(super) fn needs_tls(&self, access: &Access) -> bool {
        access.needs_token() && self.keys.is_none()
    }

    /// The way in for a client that logs in.
    pub(super) fn door(&self, access: &Access, is_tls: bool) -> Door {
        if self.needs_tls(access) && !is_tls {
            return Door::NeedsTls;
        }
        let offers = self.offers(access, is_tls);
        if !offers.is_empty() {
            return Door::Prove(offers);
        }
        // No method must not mean that nothing has to be proved.
        if access.needs_token() || self.keys.is_some() { Door::NeedsTls } else { Door::Open }
    }

    /// Methods offered to a client, in the form of the answer to its login.
    fn offers(&self, access: &Access, is_tls: bool) -> String {
        let mut offers = String::new();
        if is_tls && (access.needs_token() || self.passes(access)) {
            offers.push_str(&format!("&P=ztn,0:{TOKEN_BYTES}:"));
        }
        if let Some(keys) = &self.keys {
            offers.push_str(&format!("&P=sss,{}", keys.parameters()));
        }
        // A client without a token to pass on gets in by its name, and reads what anybody may.
        if self.unix || (is_tls && self.passes(access)) {
            offers.push_str("&P=unix");
        }
        offers
    }

    /// Rights of a client that sends this proof; `None` refuses it.
    pub(super) fn admit(&self, access: &Access, kind: [u8; 4], proof: &[u8], from: &From) -> Option<Secret> {
        match &kind {
            b"ztn\0" if from.is_tls && (access.needs_token() || self.passes(access)) => {
                access.admit_token(token(proof)?)
            }
            b"sss\0" => self.keys.as_ref()?.admit(proof, from.peer).then_some(Secret::Own),
            b"unix" if self.unix || (from.is_tls && self.passes(access)) => Some(Secret::None),
            _ => None,
        }
    }

    /// Whether tokens are passed on: with a keytab, clients have to have a key.
    fn passes(&self, access: &Access) -> bool {
        access.passes() && self.keys.is_none()
    }
}

/// The sender of a proof.
pub(super) struct From {
    pub(super) peer: IpAddr,
    pub(super) is_tls: bool,
}

/// The token of a proof.
fn token(proof: &[u8]) -> Option<&str> {
    let (head, rest) = proof.split_first_chunk::<TOKEN_HEAD>()?;
    let [b'z', b't', b'n', 0, _, b'T', _, _, high, low] = *head else { return None };
    let length = usize::from(u16::from_be_bytes([high, low]));
    let token = rest.get(..length)?.split(|byte| *byte == 0).next()?;
    Some(std::str::from_utf8(token).ok()?.trim()).filter(|token| is_token(token))
}

/// Whether a text can be a token: neither empty nor too long, and without spaces.
pub(super) fn is_token(text: &str) -> bool {
    (1..=TOKEN_BYTES).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_store::NetOptions;

    fn gate(unix: bool, token: Option<&str>, passes: bool, has_tls: bool) -> Result<(Gate, Access)> {
        let access = Access::new(token, &NetOptions::default(), passes)?;
        let options = XrootdOptions { unix, ..XrootdOptions::new(([127, 0, 0, 1], 0).into()) };
        Ok((Gate::new(&options, &access, has_tls)?, access))
    }

    fn admits(gate: &(Gate, Access), kind: &[u8; 4], proof: &[u8], is_tls: bool) -> Option<Secret> {
        gate.0.admit(&gate.1, *kind, proof, &From { peer: [127, 0, 0, 1].into(), is_tls })
    }

    const TOKEN: &[u8] = b"ztn\0\0T\0\0\0\x07sesame\0";

    #[test]
    fn offers_follow_from_the_options() {
        let offers = |unix, token, passes, is_tls| {
            let (gate, access) = gate(unix, token, passes, true).unwrap();
            gate.offers(&access, is_tls)
        };
        assert_eq!(offers(false, None, false, true), "");
        assert_eq!(offers(false, None, true, false), "");
        assert_eq!(offers(false, None, true, true), "&P=ztn,0:4096:&P=unix");
        assert_eq!(offers(true, None, false, false), "&P=unix");
        assert_eq!(offers(false, Some("sesame"), true, true), "&P=ztn,0:4096:");
        assert!(gate(false, Some("sesame"), true, false).is_err() && gate(true, Some("sesame"), true, true).is_err());
    }

    #[test]
    fn a_client_without_tls_is_not_let_in_where_a_token_is_needed() {
        let door = |unix, token, passes, is_tls| {
            let (gate, access) = gate(unix, token, passes, true).unwrap();
            gate.door(&access, is_tls)
        };
        assert_eq!(door(false, Some("sesame"), false, false), Door::NeedsTls);
        assert_eq!(door(false, Some("sesame"), false, true), Door::Prove("&P=ztn,0:4096:".into()));
        assert_eq!(door(false, None, false, false), Door::Open);
        assert_eq!(door(true, None, false, false), Door::Prove("&P=unix".into()));
        assert!(is_token("a.b-c") && !is_token("") && !is_token("a b") && !is_token(&"a".repeat(TOKEN_BYTES + 1)));
    }

    #[test]
    fn tokens_are_compared_or_passed_on_over_tls_alone() {
        let checks = gate(false, Some("sesame"), true, true).unwrap();
        assert!(checks.0.needs_tls(&checks.1));
        assert_eq!(admits(&checks, b"ztn\0", TOKEN, true), Some(Secret::Own));
        assert_eq!(admits(&checks, b"ztn\0", TOKEN, false), None);
        assert_eq!(admits(&checks, b"unix", b"unix\0me us\0", true), None);
        assert_eq!(admits(&checks, b"sss\0", TOKEN, true), None);
        for at in 0..TOKEN.len() {
            assert_eq!(admits(&checks, b"ztn\0", &TOKEN[..at], true), None, "{at}");
        }
        for wrong in
            [&b"ztn\0\0T\0\0\0\x07sesamf\0"[..], b"ztn\0\0T\0\0\xFF\xFFsesame\0", b"ztn\0\0S\0\0\0\x07sesame\0"]
        {
            assert_eq!(admits(&checks, b"ztn\0", wrong, true), None);
        }
        let passes = gate(false, None, true, true).unwrap();
        assert_eq!(admits(&passes, b"ztn\0", TOKEN, true), Some(Secret::Passed("Bearer sesame".into())));
        assert_eq!(admits(&passes, b"unix", b"unix\0me us\0", true), Some(Secret::None));
        assert_eq!(admits(&passes, b"unix", b"unix\0me us\0", false), None);
    }
}

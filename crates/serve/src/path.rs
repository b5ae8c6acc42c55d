//! The path of a request: names of folders and of a file, and nothing that leads elsewhere.

/// The longest path that is accepted.
const MOST_BYTES: usize = 4096;

/// Names below the upstream's prefix, decoded: none is empty, `.` or `..`, none holds a slash, a backslash or a control
/// character.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Path(Vec<String>);

impl Path {
    /// Reads the path of a request as it was sent, or says what is the matter with it.
    pub(crate) fn parse(raw: &str) -> Result<Self, &'static str> {
        if raw.len() > MOST_BYTES {
            return Err("the path is too long");
        }
        let inside = raw.strip_prefix('/').ok_or("the path does not start with a slash")?;
        let decode = |part: &str| decoded(part).ok_or("a character of the path is badly encoded");
        let path = Self::joined(inside, decode)?;
        if path.is_top() || inside.ends_with('/') {
            return Err("the path names no file");
        }
        Ok(path)
    }

    /// Reads a path in which all characters stand for themselves, of a file or a folder.
    pub(crate) fn plain(raw: &str) -> Result<Self, &'static str> {
        if raw.len() > MOST_BYTES {
            return Err("the path is too long");
        }
        Self::joined(raw, |part| Ok(part.to_owned()))
    }

    fn joined(raw: &str, name: impl Fn(&str) -> Result<String, &'static str>) -> Result<Self, &'static str> {
        let mut names = Vec::new();
        for part in raw.split('/').filter(|part| !part.is_empty()) {
            let name = name(part)?;
            if name == "." || name == ".." {
                return Err("the path leads out of its folder");
            }
            if name.contains(['/', '\\']) || name.chars().any(char::is_control) {
                return Err("the path holds a character that no name has");
            }
            names.push(name);
        }
        Ok(Self(names))
    }

    /// Whether it is the upstream's own folder.
    pub(crate) fn is_top(&self) -> bool {
        self.0.is_empty()
    }

    /// The path of a name in this folder.
    pub(crate) fn below(&self, name: &str) -> Self {
        Self(self.0.iter().cloned().chain([name.to_owned()]).collect())
    }

    /// The names, as they are.
    pub(crate) fn names(&self) -> &[String] {
        &self.0
    }

    /// For a URL of http: all but the plainest characters encoded.
    pub(crate) fn encoded(&self) -> String {
        let mut text = String::new();
        for name in &self.0 {
            if !text.is_empty() {
                text.push('/');
            }
            for byte in name.bytes() {
                if byte.is_ascii_alphanumeric() || b"-._~+,=@:!$".contains(&byte) {
                    text.push(char::from(byte));
                } else {
                    text.push_str(&format!("%{byte:02X}"));
                }
            }
        }
        text
    }
}

/// Resolves `%20` and the like, once; none where that makes no text.
pub(crate) fn decoded(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let (digits, behind) = rest.split_at_checked(2)?;
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let (high, low) = (digit(*digits.first()?)?, digit(*digits.last()?)?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
        rest = behind;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_files_below() {
        let path = Path::parse("//store//my%20run/a%2bb.root").unwrap();
        assert_eq!(path.names(), ["store", "my run", "a+b.root"]);
        assert_eq!(path.encoded(), "store/my%20run/a+b.root");
        // What was encoded twice is a name with a per cent sign, and stays one.
        assert_eq!(Path::parse("/%252e%252e/x").unwrap().encoded(), "%252e%252e/x");
        assert_eq!(Path::parse("/..x/.y").unwrap().names(), ["..x", ".y"]);
    }

    #[test]
    fn plain_paths_are_of_files_and_folders() {
        assert_eq!(Path::plain("//a%20b//c/").unwrap().names(), ["a%20b", "c"]);
        assert!(Path::plain("").unwrap().is_top() && Path::plain("//").unwrap().is_top());
        assert_eq!(Path::plain("/a").unwrap().below("b").names(), ["a", "b"]);
        for raw in ["/..", "/a/../b", "/./a", "/a\\b", "/a\nb", "/a\0"] {
            assert!(Path::plain(raw).is_err(), "{raw}");
        }
        assert!(Path::plain(&"x".repeat(MOST_BYTES + 1)).is_err());
    }

    #[test]
    fn paths_that_lead_elsewhere_are_refused() {
        for raw in [
            "",
            "a",
            "*",
            "/",
            "//",
            "/a/",
            "/..",
            "/a/../b",
            "/%2e%2e/a",
            "/%2E./a",
            "/.%2e/a",
            "/./a",
            "/%2e",
            "/a%00b",
            "/a%2fb",
            "/a%2F..%2Fb",
            "/a\\b",
            "/a%5cb",
            "/..%5c..",
            "/a%0ab",
            "/a%",
            "/a%2",
            "/a%zz",
            "/a%ff",
            "/a%+1",
        ] {
            assert!(Path::parse(raw).is_err(), "{raw}");
        }
        assert!(Path::parse(&format!("/{}", "x".repeat(MOST_BYTES))).is_err());
    }
}

//! Profiles of Amazon's command, in `~/.aws/config` and `~/.aws/credentials`: credentials, region and endpoint.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use sapwood::{Error, Result};

/// A longer file holds no profiles.
const MOST_BYTES: u64 = 1 << 20;
/// A setting of one of these names gives credentials.
const PROOFS: [&str; 3] = ["AWS_ACCESS_KEY_ID", "AWS_SKIP_SIGNATURE", "AWS_WEB_IDENTITY_TOKEN_FILE"];
/// What they are called in files; settings have the same names in capitals.
const KEYS: [&str; 3] = ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"];
/// Kinds of credentials that need more than a file.
const WAYS: [&str; 6] =
    ["role_arn", "web_identity_token_file", "sso_session", "sso_start_url", "credential_process", "login_session"];

/// Names and values, as files and settings have them.
type Items = HashMap<String, String>;

/// Adds to settings for Amazon what the profile says that they name, or that is called `default`. What is there already
/// wins.
///
/// # Errors
///
/// [`NotFound`](sapwood::ErrorKind::NotFound) for a profile that is named and not there,
/// [`Unsupported`](sapwood::ErrorKind::Unsupported) for one that has credentials of a kind that only Amazon's command
/// handles, and what reading the files reports.
pub(crate) fn complete(settings: &mut Vec<(String, String)>, home: Option<&Path>) -> Result<()> {
    let value = |name: &str| settings.iter().rev().find(|(one, _)| one == name).map(|(_, value)| value.clone());
    let place = |name: &str, usual: &str| match value(name) {
        Some(path) => {
            Some(path.strip_prefix("~/").zip(home).map_or_else(|| path.clone().into(), |(rest, home)| home.join(rest)))
        }
        None => home.map(|home| home.join(".aws").join(usual)),
    };
    let mut config = read(place("AWS_CONFIG_FILE", "config"))?;
    let named = value("AWS_PROFILE").or_else(|| value("AWS_DEFAULT_PROFILE"));
    let name = named.clone().unwrap_or_else(|| "default".to_owned());
    let credentials = read(place("AWS_SHARED_CREDENTIALS_FILE", "credentials"))?.remove(&name);
    let of_config =
        config.remove(&format!("profile {name}")).or_else(|| config.remove(&name).filter(|_| name == "default"));
    if named.is_some() && of_config.is_none() && credentials.is_none() {
        let words = format!("the profile {name:?} is neither in ~/.aws/config nor in ~/.aws/credentials");
        return Err(Error::not_found(words));
    }
    let (mut profile, credentials) = (of_config.unwrap_or_default(), credentials.unwrap_or_default());
    if credentials.contains_key("aws_access_key_id") {
        // Keys are never of two files.
        profile.retain(|name, _| !is_key(name));
    }
    profile.extend(credentials);
    let services = profile.get("services").and_then(|name| config.remove(&format!("services {name}")));
    let endpoint = services.and_then(|mut services| services.remove("s3.endpoint_url"));
    if let Some(endpoint) = endpoint {
        profile.insert("endpoint_url".to_owned(), endpoint);
    }
    let mut found = Vec::new();
    if PROOFS.iter().all(|proof| value(proof).is_none()) {
        found = keys(&name, &mut profile)?;
    }
    for (item, names) in [
        ("region", &["AWS_REGION", "AWS_DEFAULT_REGION"][..]),
        ("endpoint_url", &["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT"]),
    ] {
        if let (Some(text), Some(first)) = (profile.remove(item), names.first())
            && names.iter().all(|name| value(name).is_none())
        {
            found.push(((*first).to_owned(), text));
        }
    }
    if found.iter().any(|(name, _)| is_key(name)) {
        // Nor are they partly of the environment.
        settings.retain(|(name, _)| !is_key(name));
    }
    settings.extend(found);
    Ok(())
}

fn is_key(name: &str) -> bool {
    KEYS.iter().any(|key| key.eq_ignore_ascii_case(name))
}

/// The credentials of a profile.
fn keys(name: &str, profile: &mut Items) -> Result<Vec<(String, String)>> {
    if let Some(way) = WAYS.iter().find(|way| profile.contains_key(**way)) {
        let words = format!(
            "the profile {name:?} of ~/.aws takes its credentials from {way}, which only Amazon's command handles: \
             eval \"$(aws configure export-credentials --profile {name} --format env)\" makes variables of it"
        );
        return Err(Error::unsupported(words));
    }
    let mut found = Vec::new();
    for item in KEYS {
        found.extend(profile.remove(item).map(|value| (item.to_ascii_uppercase(), value)));
    }
    Ok(found)
}

/// The sections of a file; none of one that is not there, as seen by us: a home folder may be unreadable, or missing.
fn read(path: Option<PathBuf>) -> Result<HashMap<String, Items>> {
    let Some(path) = path.filter(|path| path.is_file()) else { return Ok(HashMap::new()) };
    let text = || {
        let mut text = String::new();
        File::open(&path)?.take(MOST_BYTES + 1).read_to_string(&mut text)?;
        if text.len() as u64 > MOST_BYTES {
            return Err(Error::limit("a file of profiles is too long", MOST_BYTES, text.len() as u64));
        }
        Ok(text)
    };
    let text = text().map_err(|error| error.in_file(path.to_string_lossy().as_ref()))?;
    Ok(parse(&text))
}

/// Sections by their names, without quotes. What is indented below an item without a value is called `item.name`; below
/// another one it goes on with its value, which nothing that is read here does.
fn parse(text: &str) -> HashMap<String, Items> {
    let mut sections: HashMap<String, Items> = HashMap::new();
    let (mut section, mut above) = (None, None::<(String, bool)>);
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with(['#', ';'])) {
        if let Some(head) = line.strip_prefix('[') {
            let head = head.split(']').next().unwrap_or_default().replace(['"', '\''], " ");
            section = Some(head.split_whitespace().collect::<Vec<_>>().join(" "));
            above = None;
            continue;
        }
        let (Some(section), Some((name, value))) = (&section, line.split_once('=')) else { continue };
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim().to_owned());
        let name = match &above {
            Some((_, true)) if line.starts_with([' ', '\t']) => continue,
            Some((above, false)) if line.starts_with([' ', '\t']) => format!("{above}.{name}"),
            _ => {
                above = Some((name.clone(), !value.is_empty()));
                name
            }
        };
        sections.entry(section.clone()).or_default().insert(name, value);
    }
    sections
}

#[cfg(test)]
mod tests {
    use sapwood::ErrorKind;

    use super::*;

    const CONFIG: &str = "# mine
[default]
region = eu-central-1
s3 =
    endpoint_url = https://not.for.this
[profile  \"lab\"]
endpoint_url = https://s3.lab.example.org
region=lab-1
[profile served]
services = near
[services near]
s3 =
  endpoint_url = https://near.example.org
[profile roles]
role_arn = arn:aws:iam::1:role/reader
source_profile = default
[profile both]
aws_access_key_id = old
aws_session_token = of the old one
";
    const CREDENTIALS: &str = "[default]
aws_access_key_id = me
aws_secret_access_key = a=b+/#c
; a comment
[lab]
aws_access_key_id=labs
aws_secret_access_key=geheim
aws_session_token = for an hour
[both]
aws_access_key_id = new
aws_secret_access_key = of the new one
";

    /// Settings with what the profile adds, sorted.
    fn with(test: &str, set: &[(&str, &str)]) -> Result<Vec<(String, String)>> {
        let home = std::env::temp_dir().join(format!("sapwood-profile-{test}-{}", std::process::id()));
        std::fs::create_dir_all(home.join(".aws")).unwrap();
        std::fs::write(home.join(".aws/config"), CONFIG).unwrap();
        std::fs::write(home.join(".aws/credentials"), CREDENTIALS).unwrap();
        let mut settings: Vec<_> = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let done = complete(&mut settings, Some(&home));
        std::fs::remove_dir_all(home).unwrap();
        settings.sort();
        done.map(|()| settings)
    }

    fn pairs(found: &[(String, String)]) -> Vec<(&str, &str)> {
        found.iter().map(|(name, value)| (&**name, &**value)).collect()
    }

    #[test]
    fn a_profile_has_credentials_region_and_endpoint() {
        let found = with("default", &[]).unwrap();
        let keys = [("AWS_ACCESS_KEY_ID", "me"), ("AWS_REGION", "eu-central-1"), ("AWS_SECRET_ACCESS_KEY", "a=b+/#c")];
        assert_eq!(pairs(&found), keys);
        let found = with("lab", &[("AWS_PROFILE", "lab")]).unwrap();
        let wanted = [
            ("AWS_ACCESS_KEY_ID", "labs"),
            ("AWS_ENDPOINT_URL", "https://s3.lab.example.org"),
            ("AWS_PROFILE", "lab"),
            ("AWS_REGION", "lab-1"),
            ("AWS_SECRET_ACCESS_KEY", "geheim"),
            ("AWS_SESSION_TOKEN", "for an hour"),
        ];
        assert_eq!(pairs(&found), wanted);
        let found = with("served", &[("AWS_PROFILE", "served")]).unwrap();
        assert_eq!(pairs(&found)[0], ("AWS_ENDPOINT_URL", "https://near.example.org"));
    }

    #[test]
    fn what_is_set_already_wins() {
        let set = [
            ("AWS_ACCESS_KEY_ID", "x"),
            ("AWS_DEFAULT_REGION", "y"),
            ("AWS_PROFILE", "lab"),
            ("AWS_SECRET_ACCESS_KEY", "z"),
        ];
        let found = with("set", &set).unwrap();
        assert_eq!(
            pairs(&found),
            [&set[..1], &[set[1]], &[("AWS_ENDPOINT_URL", "https://s3.lab.example.org")], &set[2..]].concat()
        );
        let set =
            [("AWS_ENDPOINT_URL", "http://127.0.0.1:1"), ("AWS_PROFILE", "roles"), ("AWS_SKIP_SIGNATURE", "true")];
        assert_eq!(pairs(&with("nobody", &set).unwrap()), set);
    }

    #[test]
    fn keys_are_never_of_two() {
        let keys = [("AWS_ACCESS_KEY_ID", "new"), ("AWS_PROFILE", "both"), ("AWS_SECRET_ACCESS_KEY", "of the new one")];
        assert_eq!(pairs(&with("both", &[keys[1]]).unwrap()), keys);
        let set = [keys[1], ("AWS_SECRET_ACCESS_KEY", "of others"), ("AWS_SESSION_TOKEN", "of others")];
        assert_eq!(pairs(&with("others", &set).unwrap()), keys);
    }

    #[test]
    fn what_only_amazon_knows_is_refused_with_a_way_out() {
        let error = with("roles", &[("AWS_PROFILE", "roles")]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        let words = error.to_string();
        assert!(words.contains("role_arn") && words.contains("export-credentials --profile roles"), "{words}");
        let error = with("missing", &[("AWS_PROFILE", "nobody")]).unwrap_err();
        assert!(error.kind() == ErrorKind::NotFound && error.to_string().contains("\"nobody\""), "{error}");
    }

    #[test]
    fn files_may_be_elsewhere_and_need_not_be_there() {
        let place = std::env::temp_dir().join(format!("sapwood-profile-{}.ini", std::process::id()));
        std::fs::write(&place, CREDENTIALS).unwrap();
        let file = ("AWS_SHARED_CREDENTIALS_FILE".to_owned(), place.to_string_lossy().into_owned());
        let mut settings = vec![file.clone()];
        complete(&mut settings, None).unwrap();
        assert_eq!(settings.len(), 3, "keys and no region");
        std::fs::remove_file(place).unwrap();
        let mut settings = vec![file];
        complete(&mut settings, None).unwrap();
        assert_eq!(settings.len(), 1);
        for home in ["/dev/null", "/no/such/home"] {
            let mut settings = Vec::new();
            complete(&mut settings, Some(Path::new(home))).unwrap();
            assert_eq!(settings, []);
        }
        // Whatever stands there, it is no reason to fall over.
        for text in ["[", "]", "=", "[]\n=\n =", "a = b", "[a]\n b=c\n\td=e", "[a\nb", "\u{feff}[a]"] {
            parse(text);
        }
    }
}

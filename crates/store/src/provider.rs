//! Providers of clouds: which one a URL belongs to, and which of its settings are secret.

use crate::url::scheme;

/// The provider of a cloud, or the protocol of its service.
///
/// # Example
///
/// ```
/// use sapwood_store::Provider;
/// assert_eq!(Provider::of("s3://bucket/a.root"), Some(Provider::Amazon));
/// assert_eq!(Provider::of("https://example.org/a.root"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// Amazon's S3, and all that speaks like it: MinIO, Ceph, EOS ...
    Amazon,
    /// Google Cloud Storage.
    Google,
    /// Azure's blobs.
    Azure,
}

impl Provider {
    /// The provider of a URL, by its scheme.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood_store::Provider;
    /// assert_eq!(Provider::of("abfss://box@account.dfs.core.windows.net/a.root"), Some(Provider::Azure));
    /// ```
    pub fn of(url: &str) -> Option<Self> {
        Some(match &*scheme(url)?.to_ascii_lowercase() {
            "s3" | "s3a" => Self::Amazon,
            "gs" => Self::Google,
            "az" | "azure" | "abfs" | "abfss" => Self::Azure,
            _ => return None,
        })
    }

    /// How the names of its variables begin in the environment.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood_store::Provider;
    /// assert!("AWS_REGION".starts_with(Provider::Amazon.variables()));
    /// ```
    pub fn variables(self) -> &'static str {
        match self {
            Self::Amazon => "AWS_",
            Self::Google => "GOOGLE_",
            Self::Azure => "AZURE_",
        }
    }
}

/// Whether a setting says where a bucket is: by the same name elsewhere there is another file.
pub(crate) fn says_where(name: &str) -> bool {
    const BEGINNINGS: [&str; 6] = [
        "aws_endpoint",
        "google_base_url",
        "azure_storage_account_name",
        "azure_storage_endpoint",
        "azure_endpoint",
        "azure_storage_use_emulator",
    ];
    let name = name.to_ascii_lowercase();
    BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

/// Removes credentials from settings, and adds the one for anonymous requests.
pub(crate) fn anonymous(settings: &mut Vec<(String, String)>) {
    const HOW: [&str; 6] = [
        "aws_region",
        "aws_default_region",
        "aws_virtual_hosted_style_request",
        "aws_allow_http",
        "google_allow_http",
        "azure_allow_http",
    ];
    settings.retain(|(name, _)| says_where(name) || HOW.contains(&&*name.to_ascii_lowercase()));
    for provider in [Provider::Amazon, Provider::Google, Provider::Azure] {
        settings.push((format!("{}SKIP_SIGNATURE", provider.variables()), "true".to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anonymous_settings_have_no_keys() {
        let pair = |name: &str| (name.to_owned(), "x".to_owned());
        let mut settings =
            vec![pair("AWS_SECRET_ACCESS_KEY"), pair("AWS_ENDPOINT_URL"), pair("AWS_REGION"), pair("AWS_ROLE_ARN")];
        anonymous(&mut settings);
        let names: Vec<_> = settings.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names[..3], ["AWS_ENDPOINT_URL", "AWS_REGION", "AWS_SKIP_SIGNATURE"]);
        assert_eq!(names.len(), 5);
    }
}

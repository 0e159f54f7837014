//! Hides secrets in text that is displayed or logged.

const HIDDEN: &str = "***";

/// URL parameters that are shown with their values. All others may be secrets.
const SHOWN: [&str; 12] = [
    "sslmode",
    "ssl-mode",
    "sslrootcert",
    "ssl-ca",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
    "application_name",
    "charset",
    "collation",
    "statement-cache-capacity",
];

/// A database or key URL without its secrets. If in doubt it hides too much: text that is not a URL is hidden entirely.
#[must_use]
pub fn redacted(url: &str) -> String {
    let Some((kind, rest)) = url.split_once("://") else {
        return if url.starts_with("sqlite:") { url.to_owned() } else { HIDDEN.to_owned() };
    };
    // The last @, because a password may contain an unescaped one.
    let (user, place) = match rest.rsplit_once('@') {
        Some((user, place)) => (Some(user), place),
        None => (None, rest),
    };
    let user = user.map(|user| match user.split_once(':') {
        // In an HTTP URL, the user name alone may be a token.
        _ if kind.starts_with("http") => format!("{HIDDEN}@"),
        Some((name, _)) => format!("{name}:{HIDDEN}@"),
        None => format!("{user}@"),
    });
    let place = match place.split_once('?') {
        Some((place, parameters)) => {
            let parameters: Vec<String> = parameters.split('&').map(redacted_parameter).collect();
            format!("{place}?{}", parameters.join("&"))
        }
        None => place.to_string(),
    };
    format!("{kind}://{}{place}", user.unwrap_or_default())
}

fn redacted_parameter(parameter: &str) -> String {
    match parameter.split_once('=') {
        Some((name, _)) if SHOWN.iter().any(|shown| name.eq_ignore_ascii_case(shown)) => parameter.to_owned(),
        Some((name, _)) => format!("{name}={HIDDEN}"),
        None => HIDDEN.to_owned(),
    }
}

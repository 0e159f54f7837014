//! What single arguments mean: endpoints, durations, `key=value`.

use std::time::Duration;

/// One server: `http://host:port`, or `host:port` for short.
pub fn endpoint(text: &str) -> Result<String, String> {
    let text = text.trim();
    let url = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let uri: tonic::transport::Uri = url.parse().map_err(|_| "expected http://host:port".to_owned())?;
    match uri.scheme_str() {
        Some("http" | "https") => {}
        _ => return Err("expected http://host:port or https://host:port".to_owned()),
    }
    if uri.host().is_none_or(str::is_empty) || uri.port().is_none() {
        return Err("expected a host and a port, such as http://127.0.0.1:7420".to_owned());
    }
    Ok(url.trim_end_matches('/').to_owned())
}

/// A duration: seconds (`5`, `0.5`), or with units (`1m30s`, `500ms`).
pub fn duration(text: &str) -> Result<Duration, String> {
    let hint = "expected seconds (5, 0.5) or units (500ms, 1m30s, 2h)";
    match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).map_err(|_| hint.to_owned()),
        Err(_) => humantime::parse_duration(text).map_err(|_| hint.to_owned()),
    }
}

/// `key=value`, the key not empty.
pub fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_may_leave_out_the_scheme() {
        assert_eq!(endpoint("127.0.0.1:7420").unwrap(), "http://127.0.0.1:7420");
        assert_eq!(endpoint(" https://tenure.example:443/ ").unwrap(), "https://tenure.example:443");
        assert_eq!(endpoint("[::1]:7420").unwrap(), "http://[::1]:7420");
    }

    #[test]
    fn endpoints_need_a_host_and_a_port() {
        for wrong in ["", "localhost", "http://", "http://:7420", "ftp://a:1", "a b:1"] {
            assert!(endpoint(wrong).is_err(), "{wrong:?} was taken");
        }
    }

    #[test]
    fn durations_are_seconds_or_have_units() {
        assert_eq!(duration("5").unwrap(), Duration::from_secs(5));
        assert_eq!(duration("0.5").unwrap(), Duration::from_millis(500));
        assert_eq!(duration("1m30s").unwrap(), Duration::from_secs(90));
        assert_eq!(duration("0").unwrap(), Duration::ZERO);
        for wrong in ["", "-1", "NaN", "inf", "1e300", "soon", "5 parsecs"] {
            assert!(duration(wrong).is_err(), "{wrong:?} was taken");
        }
    }

    #[test]
    fn metadata_has_a_key() {
        assert_eq!(key_value("host=a=b").unwrap(), ("host".into(), "a=b".into()));
        assert_eq!(key_value("empty=").unwrap(), ("empty".into(), String::new()));
        assert!(key_value("=x").is_err());
        assert!(key_value("x").is_err());
    }
}

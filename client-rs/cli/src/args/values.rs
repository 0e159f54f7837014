//! Parsers for single arguments: endpoints, durations, `key=value`.

use std::time::Duration;

/// One server: `http://host:port`, or `host` for short.
pub fn endpoint(text: &str) -> Result<String, String> {
    let text = text.trim();
    let url = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let uri: tonic::transport::Uri = url.parse().map_err(|_| "expected http://host:port".to_owned())?;
    let host = uri.host().filter(|host| !host.is_empty() && uri.path().len() <= 1);
    let (Some("http" | "https"), Some(host)) = (uri.scheme_str(), host) else {
        return Err("expected http://host:port or https://host:port".to_owned());
    };
    let url = url.trim_end_matches('/');
    match uri.authority() {
        Some(authority) if authority.as_str() == host => Ok(format!("{url}:7420")),
        _ if uri.port_u16().is_some_and(|port| port > 0) => Ok(url.to_owned()),
        _ => Err("expected a port from 1 to 65535, such as http://127.0.0.1:7420".to_owned()),
    }
}

/// A duration: seconds (`5`, `0.5`), or with units (`1m30s`, `500ms`).
pub fn duration(text: &str) -> Result<Duration, String> {
    let hint = "expected seconds (5, 0.5) or units (500ms, 1m30s, 2h)";
    match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).map_err(|_| hint.to_owned()),
        Err(_) => humantime::parse_duration(text).map_err(|_| hint.to_owned()),
    }
}

/// The minimum duration of a health check; shorter ones would keep the machine busy.
const SHORTEST_CHECK: Duration = Duration::from_millis(50);
/// The maximum duration of a health check.
const LONGEST_CHECK: Duration = Duration::from_secs(86_400);

/// A duration of a health check: 50 ms to 24 h.
pub fn check_duration(text: &str) -> Result<Duration, String> {
    let duration = duration(text)?;
    if !(SHORTEST_CHECK..=LONGEST_CHECK).contains(&duration) {
        return Err("expected 50ms to 24h".to_owned());
    }
    Ok(duration)
}

/// A duration of a health check that may be zero: up to 24 h.
pub fn check_delay(text: &str) -> Result<Duration, String> {
    let duration = duration(text)?;
    if duration > LONGEST_CHECK { Err("expected at most 24h".to_owned()) } else { Ok(duration) }
}

/// A command for the shell. An empty one is rejected, because it would always succeed.
pub fn shell_command(text: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err("expected a command".to_owned()) } else { Ok(text.to_owned()) }
}

/// `key=value` with a non-empty key.
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
    fn endpoints_may_leave_out_the_scheme_and_the_port() {
        assert_eq!(endpoint("127.0.0.1:7420").unwrap(), "http://127.0.0.1:7420");
        assert_eq!(endpoint(" https://tenure.example:443/ ").unwrap(), "https://tenure.example:443");
        assert_eq!(endpoint("[::1]:7421").unwrap(), "http://[::1]:7421");
        assert_eq!(endpoint("localhost").unwrap(), "http://localhost:7420");
        assert_eq!(endpoint("https://[::1]/").unwrap(), "https://[::1]:7420");
    }

    #[test]
    fn endpoints_need_a_host_and_a_valid_port() {
        for wrong in ["", "http://", "http://:7420", "ftp://a:1", "a b:1", "a:0", "a:99999", "a:"] {
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
    fn health_checks_have_bounds() {
        assert_eq!(check_duration("50ms").unwrap(), Duration::from_millis(50));
        assert_eq!(check_duration("24h").unwrap(), Duration::from_secs(86_400));
        for wrong in ["0", "49ms", "25h", "soon"] {
            assert!(check_duration(wrong).is_err(), "{wrong:?} was taken");
        }
        assert_eq!(check_delay("0").unwrap(), Duration::ZERO);
        assert!(check_delay("25h").is_err());
        assert!(shell_command(" ").is_err());
        assert_eq!(shell_command("true").unwrap(), "true");
    }

    #[test]
    fn metadata_has_a_key() {
        assert_eq!(key_value("host=a=b").unwrap(), ("host".into(), "a=b".into()));
        assert_eq!(key_value("empty=").unwrap(), ("empty".into(), String::new()));
        assert!(key_value("=x").is_err());
        assert!(key_value("x").is_err());
    }
}

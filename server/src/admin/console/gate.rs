//! Access control of the console.
//!
//! With credentials configured, each call must present them, and nothing else grants access. Without credentials, a
//! foreign page in a browser on this machine could make calls: only this machine's own host names are accepted then,
//! and only read calls.

use std::net::{IpAddr, SocketAddr};

use http::header::{CONTENT_TYPE, HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, StatusCode};
use tonic::Code;

use super::error::CallError;

/// The calls that the console may make on a server without credentials. All others are rejected, including future
/// methods.
pub const READING: [&str; 10] = [
    "tenure.v1.GroupService/GetGroup",
    "tenure.v1.GroupService/ListGroups",
    "tenure.v1.LockService/GetLock",
    "tenure.v1.LockService/ListBlocked",
    "tenure.v1.LockService/ListHistory",
    "tenure.v1.LockService/ListLocks",
    "tenure.v1.ServerService/ListServers",
    "tenure.v1.SessionService/GetSession",
    "tenure.v1.SessionService/ListSessions",
    "tenure.v1.WatchService/Watch",
];

/// How to make the console of an open server available.
const ELSEWHERE: &str =
    "set tokens_file, tls_client_ca or jwt_keys to authenticate callers, or set admin_listen to 127.0.0.1";

/// Checks whether a server without credentials offers a console on this admin address.
pub(super) fn check_place(admin: SocketAddr) -> Result<(), CallError> {
    if admin.ip().is_loopback() {
        return Ok(());
    }
    let why =
        format!("the server has no credentials, and its admin port {admin} is open to other machines: {ELSEWHERE}");
    Err(CallError::own(Code::PermissionDenied, "CLOSED", why))
}

/// Checks that a call to such a server only reads.
pub(super) fn check_reading(method: &str) -> Result<(), CallError> {
    if READING.contains(&method) {
        return Ok(());
    }
    let why = format!(
        "{method} changes state, and the server does not authenticate callers: set tokens_file, tls_client_ca \
         or jwt_keys, or use the command line"
    );
    Err(CallError::own(Code::PermissionDenied, "READ_ONLY", why))
}

/// Checks that a request to such a server names one of this machine's own hosts: the owner of any other name may have
/// directed the browser here (DNS rebinding).
pub(super) fn check_host(headers: &HeaderMap) -> Result<(), CallError> {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    if is_own_name(host) && headers.get_all(HOST).iter().count() == 1 {
        return Ok(());
    }
    let why = format!("the server has no credentials, and serves only localhost, 127.0.0.1 and [::1], not \"{host}\"");
    Err(CallError::own(Code::PermissionDenied, "FOREIGN_HOST", why))
}

fn is_own_name(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let name = authority.host();
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let is_address = bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    !host.contains('@') && (is_address || name.eq_ignore_ascii_case("localhost"))
}

/// Checks that a call comes from the console's own page or from no page, by headers that browsers do not let pages
/// change.
pub(super) fn check_site(headers: &HeaderMap, has_own_name: bool) -> Result<(), CallError> {
    let text = |name| headers.get(name).map(|value: &http::HeaderValue| value.to_str().unwrap_or("?"));
    let is_ours = match text("sec-fetch-site") {
        Some(site) => matches!(site, "same-origin" | "none"),
        // Older browsers send no Sec-Fetch-Site. Origin is compared with Host only without a proxy, which may change
        // Host.
        None if has_own_name => match (text(ORIGIN.as_str()), text(HOST.as_str())) {
            (None, _) => true,
            (Some(origin), Some(host)) => {
                origin.split_once("://").is_some_and(|(_, origin)| origin.eq_ignore_ascii_case(host))
            }
            (Some(_), None) => false,
        },
        None => true,
    };
    if is_ours {
        return Ok(());
    }
    Err(CallError::own(Code::PermissionDenied, "CROSS_SITE", "only the console's own page may call this"))
}

/// Checks that a call declares JSON, which foreign pages cannot send without a CORS preflight.
pub(super) fn check_kind(headers: &HeaderMap) -> Result<(), CallError> {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let error = CallError::own(Code::InvalidArgument, "MEDIA_TYPE", "the content-type must be application/json");
    Err(error.with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(named: &[(&'static str, &str)]) -> HeaderMap {
        named
            .iter()
            .map(|(name, value)| (http::HeaderName::from_static(name), value.parse().expect("a value")))
            .collect()
    }

    #[test]
    fn only_hosts_of_this_machine_are_accepted() {
        for own in ["localhost", "localhost:7421", "LOCALHOST:1", "127.0.0.1:7421", "127.1.2.3", "[::1]:7421", "[::1]"]
        {
            check_host(&headers(&[("host", own)])).expect(own);
        }
        for other in [
            "",
            "example.com",
            "localhost.example.com",
            "127.0.0.1.example.com:7421",
            "10.0.0.1",
            "x@localhost",
            "[::2]:1",
            "0.0.0.0",
        ] {
            check_host(&headers(&[("host", other)])).expect_err(other);
        }
        check_host(&HeaderMap::new()).expect_err("none");
    }

    #[test]
    fn call_of_another_site_is_rejected() {
        let host = ("host", "localhost:7421");
        let own = [
            &[][..],
            &[("sec-fetch-site", "same-origin")],
            &[("sec-fetch-site", "none")],
            &[("origin", "http://localhost:7421")],
        ];
        for own in own {
            check_site(&headers(&[&[host], own].concat()), true).expect("this site");
        }
        let others = [
            &[("sec-fetch-site", "cross-site")][..],
            &[("sec-fetch-site", "same-site"), ("origin", "http://localhost:7421")],
            &[("origin", "http://localhost:80")],
            &[("origin", "null")],
        ];
        for other in others {
            check_site(&headers(&[&[host], other].concat()), true).expect_err("another site");
        }
        check_site(&headers(&[host, ("origin", "https://console.example")]), false).expect("behind a proxy");
        check_site(&headers(&[host, ("sec-fetch-site", "cross-site")]), false).expect_err("another site");
    }

    #[test]
    fn content_type_of_a_form_is_rejected() {
        check_kind(&headers(&[("content-type", "application/json; charset=utf-8")])).expect("JSON");
        for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/json-not"] {
            check_kind(&headers(&[("content-type", kind)])).expect_err(kind);
        }
        check_kind(&HeaderMap::new()).expect_err("none");
    }

    #[test]
    fn console_of_an_open_server_is_closed_to_other_machines() {
        for (admin, is_here) in
            [("127.0.0.1:7421", true), ("[::1]:7421", true), ("0.0.0.0:7421", false), ("10.0.0.1:7421", false)]
        {
            assert_eq!(check_place(admin.parse().expect("an address")).is_ok(), is_here, "{admin}");
        }
    }
}

//! The console's static files.

use serde_json::Value;
use tenure_server::admin::Admin;
use tenure_server::node::readiness::Readiness;
use tenure_server::telemetry::metrics::Metrics;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::console::server::ConsoleServer;
use crate::serving::within;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

#[tokio::test]
async fn responses_have_security_headers() {
    let console = ConsoleServer::start().await;
    for path in [
        "/console/",
        "/console/main.js",
        "/console/styles/base.css",
        "/console/missing.js",
        "/console/about",
        "/console/api/x/y",
    ] {
        let answer = console.get(path).await;
        let header = |name: &str| answer.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(header("content-security-policy").as_deref(), Some(POLICY), "{path}");
        assert_eq!(header("x-content-type-options").as_deref(), Some("nosniff"), "{path}");
        assert_eq!(header("x-frame-options").as_deref(), Some("DENY"), "{path}");
        assert_eq!(header("referrer-policy").as_deref(), Some("no-referrer"), "{path}");
        assert_eq!(header("cross-origin-resource-policy").as_deref(), Some("same-origin"), "{path}");
        assert!(header("tenure-time").is_some_and(|time| time.parse::<u64>().unwrap() > 1_700_000_000_000), "{path}");
    }
}

#[tokio::test]
async fn files_have_content_types_and_etags() {
    let console = ConsoleServer::start().await;
    for (path, kind) in [
        ("/console/", "text/html; charset=utf-8"),
        ("/console/main.js", "text/javascript; charset=utf-8"),
        ("/console/vendor/preact.js", "text/javascript; charset=utf-8"),
        ("/console/styles/base.css", "text/css; charset=utf-8"),
        ("/console/icon.svg", "image/svg+xml"),
    ] {
        let answer = console.get(path).await;
        assert_eq!(
            (answer.status().as_u16(), answer.headers()["content-type"].to_str().unwrap()),
            (200, kind),
            "{path}"
        );
        assert_eq!(answer.headers()["cache-control"], "no-cache");
        let tag = answer.headers()["etag"].clone();
        assert!(!within(answer.bytes()).await.unwrap().is_empty());
        for (known, status) in [(tag.to_str().unwrap(), 304), ("\"other\"", 200)] {
            let again = console.client.get(console.url(path)).header("if-none-match", known);
            assert_eq!(within(again.send()).await.unwrap().status().as_u16(), status, "{path} {known}");
        }
    }
    for path in [
        "/console/missing.js",
        "/console/../Cargo.toml",
        "/console/%2e%2e/README.md",
        "/console/vendor",
        "/console/main",
    ] {
        assert_eq!(console.get(path).await.status(), 404, "{path}");
    }
}

#[tokio::test]
async fn root_redirects_to_the_console() {
    let console = ConsoleServer::start().await;
    for path in ["/", "/console"] {
        let answer = console.get(path).await;
        assert_eq!((answer.status().as_u16(), answer.headers()["location"].to_str().unwrap()), (307, "/console/"));
    }
    assert_eq!(console.get("/livez").await.status(), 200);
}

#[tokio::test]
async fn disabled_console_is_not_found() {
    let (_readiness, shown) = watch::channel(Readiness::Ready);
    let admin = Admin::bind("127.0.0.1:0".parse().unwrap(), shown, Metrics::default()).await.unwrap();
    let address = admin.address().unwrap();
    let stop = CancellationToken::new();
    let served = tokio::spawn(admin.serve(None, stop.clone()));
    for (path, status) in [("/livez", 200), ("/", 404), ("/console/", 404), ("/console/about", 404)] {
        let answer = within(reqwest::get(format!("http://{address}{path}"))).await.unwrap();
        assert_eq!(answer.status().as_u16(), status, "{path}");
    }
    stop.cancel();
    within(served).await.unwrap();
}

#[tokio::test]
async fn about_describes_the_server_and_its_access() {
    let console = ConsoleServer::start().await;
    let about: Value = serde_json::from_str(&console.get("/console/about").await.text().await.unwrap()).unwrap();
    assert_eq!(about["access"], "readOnly");
    assert_eq!(about["endpoint"], console.server.grpc_address.to_string());
    assert_eq!((about["label"].as_str(), about["tls"].as_bool()), (Some("lab"), Some(false)));
}

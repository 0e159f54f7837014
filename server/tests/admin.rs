//! The admin port follows the server's readiness.

use tenure_server::admin::Admin;
use tenure_server::node::readiness::Readiness;
use tenure_server::process::healthcheck;
use tenure_server::telemetry::metrics::Metrics;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn readiness_is_reported_with_its_reasons() {
    let (readiness, shown) = watch::channel(Readiness::Starting);
    let admin = Admin::bind("127.0.0.1:0".parse().unwrap(), shown, Metrics::default()).await.unwrap();
    let address = admin.address().unwrap();
    let stop = CancellationToken::new();
    let served = tokio::spawn(admin.serve(None, stop.clone()));

    let refusal = healthcheck::check(address).await.unwrap_err().to_string();
    assert_eq!(refusal, r#"not ready (503): {"ready":false,"reasons":["starting"]}"#);
    readiness.send_replace(Readiness::Ready);
    healthcheck::check(address).await.unwrap();
    // For a server that listens on all addresses, the health check connects to this machine.
    healthcheck::check(format!("0.0.0.0:{}", address.port()).parse().unwrap()).await.unwrap();
    readiness.send_replace(Readiness::Store("no connection".into()));
    let refusal = healthcheck::check(address).await.unwrap_err().to_string();
    assert!(refusal.ends_with(r#"["store: no connection"]}"#), "{refusal}");

    stop.cancel();
    served.await.unwrap();
    assert!(healthcheck::check(address).await.is_err());
}

#[tokio::test]
async fn metrics_are_served_in_the_accepted_format() {
    let (_readiness, shown) = watch::channel(Readiness::Ready);
    let admin = Admin::bind("127.0.0.1:0".parse().unwrap(), shown, Metrics::default()).await.unwrap();
    let address = admin.address().unwrap();
    let stop = CancellationToken::new();
    let served = tokio::spawn(admin.serve(None, stop.clone()));
    let answer = reqwest::get(format!("http://{address}/metrics")).await.unwrap();
    assert_eq!(answer.headers()["content-type"], "application/openmetrics-text; version=1.0.0; charset=utf-8");
    let text = answer.text().await.unwrap();
    assert!(
        text.lines().any(|line| line.starts_with("tenure_build_info{version=")) && text.ends_with("# EOF\n"),
        "{text}"
    );

    let request = reqwest::Client::new().get(format!("http://{address}/metrics")).header("accept", "text/plain");
    let answer = request.send().await.unwrap();
    assert_eq!(answer.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    let text = answer.text().await.unwrap();
    let described = |line: &str| line == "# TYPE process_cpu_seconds_total counter";
    assert!(text.lines().any(described) && !text.contains("# EOF"), "{text}");
    let prometheus = "application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.4";
    let request = reqwest::Client::new().get(format!("http://{address}/metrics")).header("accept", prometheus);
    assert!(request.send().await.unwrap().text().await.unwrap().ends_with("# EOF\n"));
    stop.cancel();
    served.await.unwrap();
}

#[tokio::test]
async fn readiness_is_served_over_http_2() {
    let (_readiness, shown) = watch::channel(Readiness::Ready);
    let admin = Admin::bind("127.0.0.1:0".parse().unwrap(), shown, Metrics::default()).await.unwrap();
    let address = admin.address().unwrap();
    let stop = CancellationToken::new();
    let served = tokio::spawn(admin.serve(None, stop.clone()));
    let client = reqwest::Client::builder().http2_prior_knowledge().build().unwrap();
    let answer = client.get(format!("http://{address}/readyz")).send().await.unwrap();
    assert_eq!((answer.version(), answer.status().as_u16()), (reqwest::Version::HTTP_2, 200));
    stop.cancel();
    served.await.unwrap();
}

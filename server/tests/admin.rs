//! The admin port follows what the server says of itself.

use tenure_server::admin::{Admin, Readiness, Unready};
use tenure_server::healthcheck;
use tenure_server::metrics::Metrics;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn readiness_is_told_with_its_reasons() {
    let (readiness, shown) = watch::channel(Readiness::not(Unready::Starting));
    let admin = Admin::bind("127.0.0.1:0".parse().unwrap(), shown, Metrics::default()).await.unwrap();
    let address = admin.address().unwrap();
    let stop = CancellationToken::new();
    let served = tokio::spawn(admin.serve(stop.clone()));

    let refusal = healthcheck::check(address).await.unwrap_err().to_string();
    assert_eq!(refusal, r#"not ready (503): {"ready":false,"reasons":["starting"]}"#);
    readiness.send_replace(Readiness::READY);
    healthcheck::check(address).await.unwrap();
    // A server that listens everywhere is asked here.
    healthcheck::check(format!("0.0.0.0:{}", address.port()).parse().unwrap()).await.unwrap();
    let reasons = vec![Unready::Store("no connection".into()), Unready::LeaseLost, Unready::Draining];
    readiness.send_replace(Readiness { reasons });
    let refusal = healthcheck::check(address).await.unwrap_err().to_string();
    assert!(refusal.ends_with(r#"["store: no connection","lease lost","draining"]}"#), "{refusal}");

    stop.cancel();
    served.await.unwrap().unwrap();
    assert!(healthcheck::check(address).await.is_err());
}

#[tokio::test]
async fn metrics_are_told_as_prometheus_reads_them() {
    let (_readiness, shown) = watch::channel(Readiness::READY);
    let admin = Admin::bind("127.0.0.1:0".parse().unwrap(), shown, Metrics::default()).await.unwrap();
    let address = admin.address().unwrap();
    let stop = CancellationToken::new();
    let served = tokio::spawn(admin.serve(stop.clone()));
    let answer = reqwest::get(format!("http://{address}/metrics")).await.unwrap();
    assert_eq!(answer.headers()["content-type"], "application/openmetrics-text; version=1.0.0; charset=utf-8");
    let text = answer.text().await.unwrap();
    assert!(text.lines().any(|line| line == "tenure_connections 0") && text.ends_with("# EOF\n"), "{text}");
    stop.cancel();
    served.await.unwrap().unwrap();
}

//! The admin port follows what the server says of itself.

use tenure_server::admin::{Admin, Readiness, Unready};
use tenure_server::healthcheck;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn readiness_is_told_with_its_reasons() {
    let (readiness, shown) = watch::channel(Readiness::not(Unready::Starting));
    let admin = Admin::bind("127.0.0.1:0".parse().unwrap(), shown).await.unwrap();
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

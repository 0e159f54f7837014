//! The checks of a single server.

use std::time::{Duration, Instant, SystemTime};

use tenure_client::transport::Wire;
use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::server_service_client::ServerServiceClient;
use tenure_proto::v1::session_service_client::SessionServiceClient;
use tenure_proto::v1::watch_service_client::WatchServiceClient;
use tenure_proto::v1::{
    AcquireRequest, CloseSessionRequest, ListServersRequest, ListServersResponse, Refusal, ReleaseRequest,
    RenewRequest, Server, WatchRequest, WatchResponse, watch_response::Kind,
};
use tokio::time::timeout;
use tonic::{Code, Status, Streaming};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use super::clocks;
use super::report::{Check, Endpoint};
use crate::output::exact;
use crate::rejection;
use crate::rpc::Rpc;

/// The number of round-trip measurements; the best counts.
const ROUND_TRIPS: u32 = 5;
/// A heartbeat must take less than a tenth of a lease (`SLOW`). Heartbeats are sent much more often than twice per
/// lease (`SILENT`).
const SLOW: u32 = 10;
const SILENT: u32 = 2;
/// The TTL of the scratch session, for when the checks are interrupted.
const SCRATCH_TTL: prost_types::Duration = prost_types::Duration { seconds: 10, nanos: 0 };
/// The response header in which a server may report its version.
const VERSION_HEADER: &str = "tenure-version";

/// Checks one server; no check takes longer than the call timeout.
pub async fn probe(rpc: &Rpc, url: &str, namespace: &str) -> Endpoint {
    let limit = rpc.timeout;
    let mut endpoint = Endpoint { url: url.to_owned(), ..Endpoint::default() };
    let begun = Instant::now();
    let channel = match rpc.connect(url, limit).await {
        Ok(channel) => channel,
        Err(why) => {
            endpoint.checks.push(Check::failed("connect", why));
            return endpoint;
        }
    };
    endpoint.checks.push(Check::ok("connect", exact(begun.elapsed())));
    endpoint.reached = true;
    let probe = Probe { channel, namespace, limit };
    probe.health(&mut endpoint).await;
    endpoint.checks.push(probe.round_trip().await);
    endpoint.checks.push(match &endpoint.version {
        Some(version) => Check::ok("version", version.clone()),
        None => Check::note("version", "not reported by this server"),
    });
    endpoint.checks.extend(probe.servers().await);
    probe.write_path(&mut endpoint).await;
    endpoint
}

struct Probe<'a> {
    channel: Wire,
    namespace: &'a str,
    limit: Duration,
}

impl Probe<'_> {
    async fn health(&self, endpoint: &mut Endpoint) {
        let mut client = HealthClient::new(self.channel.clone());
        let response = self.within(client.check(HealthCheckRequest::default())).await;
        if let Ok(response) = &response {
            let version = response.metadata().get(VERSION_HEADER).and_then(|value| value.to_str().ok());
            endpoint.version = version.map(str::to_owned);
        }
        endpoint.checks.push(match response.map(|response| response.get_ref().status()) {
            Ok(ServingStatus::Serving) => Check::ok("health", "serving, and so is its store"),
            Ok(ServingStatus::NotServing) => {
                Check::failed("health", "not serving: its store cannot be reached, or it is shutting down")
            }
            Ok(_) => Check::failed("health", "unknown status"),
            Err(status) if status.code() == Code::Unimplemented => {
                Check::failed("health", "no grpc.health.v1 here: is this Tenure's gRPC port?")
            }
            Err(status) => Check::failed("health", explain(&status)),
        });
    }

    async fn round_trip(&self) -> Check {
        let mut client = HealthClient::new(self.channel.clone());
        let mut best = Duration::MAX;
        for _ in 0..ROUND_TRIPS {
            let begun = Instant::now();
            if let Err(status) = self.within(client.check(HealthCheckRequest::default())).await {
                return Check::failed("round trip", explain(&status));
            }
            best = best.min(begun.elapsed());
        }
        Check::ok("round trip", exact(best))
    }

    /// Checks the latency of the database, and whether all servers send heartbeats.
    async fn servers(&self) -> [Check; 2] {
        let mut client = ServerServiceClient::new(self.channel.clone());
        let request = ListServersRequest { namespace: self.namespace.to_owned() };
        match self.within(client.list_servers(request)).await {
            Ok(response) => [database(response.get_ref()), servers(&response.get_ref().servers)],
            Err(status) => ["database", "servers"].map(|name| rejected(name, &status)),
        }
    }

    /// Acquires, renews and releases a scratch lock in a session of its own, and watches those events.
    async fn write_path(&self, endpoint: &mut Endpoint) {
        let checks = &mut endpoint.checks;
        let unique = format!("{}-{}", std::process::id(), crate::child::since_boot().as_nanos());
        let name = format!("tenure-doctor/{unique}");
        let session_id = format!("tenure-doctor-{unique}");
        let mut locks = LockServiceClient::new(self.channel.clone());
        let mut sessions = SessionServiceClient::new(self.channel.clone());
        let mut watches = WatchServiceClient::new(self.channel.clone());
        let namespace = self.namespace.to_owned();

        let names = vec![name.clone()];
        let watch = WatchRequest { namespace: namespace.clone(), names, ..WatchRequest::default() };
        let watched = self.within(watches.watch(watch)).await;
        let acquire = AcquireRequest {
            namespace: namespace.clone(),
            names: vec![name.clone()],
            session_id: session_id.clone(),
            ttl: Some(SCRATCH_TTL),
            wait: Some(prost_types::Duration::default()),
            owner: "tenure doctor".to_owned(),
            ..Default::default()
        };
        let (begun, sent_at) = (Instant::now(), SystemTime::now());
        let token = match self.within(locks.acquire(acquire)).await {
            Ok(response) if response.get_ref().acquired => response.get_ref().token,
            Ok(_) => return checks.push(Check::failed("acquire", "the scratch lock is held by another session")),
            Err(status) => return checks.push(rejected("acquire", &status)),
        };
        let took = begun.elapsed();
        checks.push(Check::ok("acquire", format!("{}, token {token}", exact(took))));

        let renew = RenewRequest { namespace: namespace.clone(), session_id: session_id.clone() };
        checks.push(self.timed("renew", sessions.renew(renew)).await);
        let release = ReleaseRequest { namespace: namespace.clone(), name, session_id: session_id.clone(), token };
        checks.push(self.timed("release", locks.release(release)).await);

        match watched {
            Ok(stream) => {
                let granted = timeout(self.limit, granted_at(stream.into_inner(), token)).await;
                match granted.unwrap_or_else(|_| Err(format!("silent for {}", exact(self.limit)))) {
                    Ok(time) => {
                        checks.push(Check::ok("watch", "reported the grant"));
                        // The event was stamped at some time during the call; the middle is the best estimate.
                        let ahead = seconds(time) - seconds(sent_at) - took.as_secs_f64() / 2.0;
                        endpoint.ahead = Some(ahead);
                        checks.push(clocks::against_ours(ahead));
                    }
                    Err(why) => checks.push(Check::failed("watch", why)),
                }
            }
            Err(status) => checks.push(rejected("watch", &status)),
        }
        // Without this call, the session ends by its TTL.
        let close = CloseSessionRequest { namespace, session_id };
        let _ = self.within(sessions.close_session(close)).await;
    }

    /// Makes a call, and reports its duration.
    async fn timed<T>(&self, name: &'static str, call: impl Future<Output = Result<T, Status>>) -> Check {
        let begun = Instant::now();
        match self.within(call).await {
            Ok(_) => Check::ok(name, exact(begun.elapsed())),
            Err(status) => Check::failed(name, explain(&status)),
        }
    }

    async fn within<T>(&self, call: impl Future<Output = Result<T, Status>>) -> Result<T, Status> {
        timeout(self.limit, call)
            .await
            .unwrap_or_else(|_| Err(Status::deadline_exceeded(format!("no reply within {}", exact(self.limit)))))
    }
}

fn time(value: Option<prost_types::Duration>) -> Option<Duration> {
    value.and_then(|value| Duration::try_from(value).ok())
}

/// A heartbeat is a short write and a short read. It must be far quicker than a lease, or the lease is at risk.
fn database(response: &ListServersResponse) -> Check {
    let own = response.servers.iter().find(|server| server.answering);
    let (Some(took), Some(lease)) = (time(response.heartbeat_took), own.and_then(|own| time(own.lease))) else {
        return Check::note("database", "this server has not sent a heartbeat yet");
    };
    let found = format!("{} for the last heartbeat", exact(took));
    match lease / SLOW {
        slow if took >= slow => Check::failed("database", format!("{found}: too slow for a lease of {lease:?}")),
        _ => Check::ok("database", found),
    }
}

fn servers(servers: &[Server]) -> Check {
    let is_silent = |server: &&Server| match (time(server.since_heartbeat), time(server.lease)) {
        (Some(since), Some(lease)) => since > lease / SILENT,
        _ => false,
    };
    let names = |servers: Vec<&Server>| servers.iter().map(|one| one.label.as_str()).collect::<Vec<_>>().join(", ");
    let (dead, living): (Vec<&Server>, Vec<&Server>) = servers.iter().partition(|server| server.dead);
    let silent: Vec<&Server> = living.iter().copied().filter(is_silent).collect();
    if !silent.is_empty() {
        return Check::failed("servers", format!("no heartbeats from {}: check that they run", names(silent)));
    }
    if !dead.is_empty() {
        return Check::note("servers", format!("the sessions of {} are being adopted", names(dead)));
    }
    let lost: Vec<String> =
        living.iter().filter(|server| !server.unreachable.is_empty()).map(|one| lost(one)).collect();
    if !lost.is_empty() {
        return Check::failed("servers", lost.join("; "));
    }
    Check::ok("servers", format!("{}: {}", living.len(), names(living)))
}

/// Describes the fault of a server's advertised address.
fn lost(server: &Server) -> String {
    let Server { label, address, unreachable, .. } = server;
    format!(
        "{label} cannot be reached by this server at {address}, the address that it advertises ({unreachable}): \
         forwarding between them is slow; set advertise at {label} to an address that the other servers can reach"
    )
}

/// The timestamp of the event that granted `token`.
async fn granted_at(mut stream: Streaming<WatchResponse>, token: u64) -> Result<SystemTime, String> {
    loop {
        let response = match stream.message().await {
            Ok(Some(response)) => response,
            Ok(None) => return Err("it ended".to_owned()),
            Err(status) => return Err(explain(&status)),
        };
        let Some(Kind::Events(events)) = response.kind else { continue };
        let Some(event) = events.events.iter().find(|event| event.revision == token) else { continue };
        let time = event.time.and_then(|time| SystemTime::try_from(time).ok());
        return time.ok_or_else(|| "an event without a time".to_owned());
    }
}

fn seconds(time: SystemTime) -> f64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// The result of a rejected check. A rejection by the policy is no fault of the server.
fn rejected(name: &'static str, status: &Status) -> Check {
    match (status.code(), Refusal::from(status).metadata.get("rule").map(String::as_str)) {
        (Code::PermissionDenied, Some("policy")) => Check::note(name, format!("not checked: {}", explain(status))),
        _ => Check::failed(name, explain(status)),
    }
}

fn explain(status: &Status) -> String {
    match rejection::no_reply(status) {
        Some(silent) => silent.why,
        None => rejection::failure(status).message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_that_another_one_cannot_reach_is_named_with_its_address() {
        let server = |label: &str| Server { label: label.to_owned(), ..Server::default() };
        let lost = Server { address: "10.9.9.9:7420".into(), unreachable: "connection refused".into(), ..server("b") };
        let report = super::super::report::Report { local: vec![servers(&[server("a"), lost])], endpoints: Vec::new() };
        assert_eq!(report.failed(), 1);
        let text = report.text();
        assert!(text.contains("b cannot be reached by this server at 10.9.9.9:7420"), "{text}");
        let report = super::super::report::Report { local: vec![servers(&[server("a")])], endpoints: Vec::new() };
        assert_eq!(report.failed(), 0);
    }
}

//! Tests that the metrics of a server match their documentation: the table, the dashboard, the alerts and the runbooks.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rcgen::date_time_ymd;
use tenure_client::{Attempt, Client};
use tenure_harness::{Authority, Tenured, TenuredOptions, find, wait_until};

/// The documentation of the metrics.
const TABLE: &str = "deploy/monitoring/README.md";
const RUNBOOKS: &str = "deploy/monitoring/runbooks.md";
const DASHBOARD: &str = "deploy/helm/tenure/files/dashboard.json";
const ALERTS: &str = "deploy/helm/tenure/files/alerts.yaml";
const TESTS: &str = "tests/static/monitoring";

/// Files are checked every two seconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// 2051-02-03 and 2061-02-03, in seconds since 1970.
const EXPIRIES: [(i32, &str); 2] = [(2051, "2558995200"), (2061, "2874614400")];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).unwrap().to_owned()
}

fn read(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap()
}

/// A server over TLS on SQLite that has granted a lock and rejected a request.
struct Secured {
    authority: Authority,
    server: Tenured,
    client: Client,
}

impl Secured {
    async fn open() -> Self {
        let authority = Authority::new("an authority").unwrap();
        certify(&authority, EXPIRIES[0].0);
        let file = |ending| authority.folder().join(format!("server.{ending}")).display().to_string();
        let options = TenuredOptions::default()
            .argument(format!("--tls-cert={}", file("crt")))
            .argument(format!("--tls-key={}", file("key")))
            .argument("--max-namespaces=1");
        let server = Tenured::start(&options).await.unwrap();
        let url = format!("https://localhost:{}", server.port());
        let client = Client::builder().endpoints([url]).ca_cert(authority.ca()).connect().unwrap();
        Self { authority, server, client }
    }

    /// Acquires and releases a lock; requests one in a namespace beyond the limit.
    async fn generate_metrics(&self) {
        let Attempt::Acquired(guard) =
            self.client.lock("job").ttl(Duration::from_secs(10)).try_acquire().await.unwrap()
        else {
            panic!("the lock is held");
        };
        guard.release().await.unwrap();
        let url = format!("https://localhost:{}", self.server.port());
        let other = Client::builder().endpoints([url]).ca_cert(self.authority.ca()).namespace("other");
        // Reads in that namespace are answered.
        let other = other.connect().unwrap();
        other.get_lock("job").await.unwrap();
        assert!(other.lock("job").ttl(Duration::from_secs(10)).try_acquire().await.is_err());
    }

    async fn metrics(&self) -> String {
        self.server.page("/metrics", "text/plain").await.unwrap()
    }

    /// The value of a sample, given with its labels, if any.
    async fn value(&self, sample: &str) -> Option<String> {
        let text = self.metrics().await;
        text.lines().find_map(|line| Some(line.strip_prefix(sample)?.strip_prefix(' ')?.to_owned()))
    }
}

/// Issues the server's certificate, which expires in February of this year.
fn certify(authority: &Authority, year: i32) {
    let change = |params: &mut rcgen::CertificateParams| params.not_after = date_time_ymd(year, 2, 3);
    authority.certify_with("server", 1, &["localhost"], change).unwrap();
}

/// Metric families: their type and their labels.
type Families = BTreeMap<String, (String, BTreeSet<String>)>;

/// The families that a server exports.
fn exported(text: &str) -> Families {
    let mut families = Families::new();
    let mut name = String::new();
    for line in text.lines() {
        if let Some(described) = line.strip_prefix("# TYPE ") {
            let (described, kind) = described.split_once(' ').unwrap();
            name = described.to_owned();
            let before = families.insert(name.clone(), (kind.to_owned(), BTreeSet::new()));
            assert_eq!(before, None, "{name} is described twice");
        } else if let Some((_, labels)) = line.split_once('{').filter(|_| !line.starts_with('#')) {
            let known = &mut families.get_mut(&name).unwrap().1;
            let labels = labels.split("\",").filter_map(|label| Some(label.split_once("=\"")?.0.to_owned()));
            known.extend(labels.filter(|label| label != "le"));
        }
    }
    families
}

/// The families in the table of the documentation.
fn documented(table: &str) -> Families {
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| {
        let cells: Vec<&str> = row.split(" |").map(str::trim).collect();
        let [name, kind, labels, meaning, over, ..] = cells[..] else { panic!("{row}") };
        assert!(meaning.len() > 3, "{name}: no meaning");
        assert!(["sum", "max", "each"].iter().any(|word| over.trim_start_matches("| ").starts_with(word)), "{row}");
        let words = |text: &str| text.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        (name.trim_end_matches('`').to_owned(), (kind.trim_start_matches("| ").to_owned(), words(labels)))
    })
    .collect()
}

/// The names of metrics in a text.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let is_metric = |word: &&str| {
        ["tenure_", "grpc_server_", "process_"]
            .iter()
            .any(|prefix| word.len() > prefix.len() && word.starts_with(prefix))
    };
    words.filter(is_metric).map(str::to_owned).collect()
}

fn is_exported(name: &str, families: &Families) -> bool {
    families.contains_key(name)
        || ["_bucket", "_sum", "_count"].iter().any(|suffix| {
            let family = name.strip_suffix(suffix).and_then(|name| families.get(name));
            family.is_some_and(|(kind, _)| kind == "histogram")
        })
}

/// The names of all alerts.
fn alerts() -> Vec<String> {
    let alerts = read(ALERTS);
    let names = alerts.lines().filter_map(|line| line.trim().strip_prefix("- alert: "));
    names.map(str::to_owned).collect()
}

/// Runs promtool with this input.
fn promtool(arguments: &[&str], input: &str) {
    let mut command = Command::new(find("promtool", "prometheus").unwrap());
    command.args(arguments).current_dir(root()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = command.spawn().unwrap();
    running.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let ended = running.wait_with_output().unwrap();
    let output = String::from_utf8_lossy(&ended.stdout) + String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "promtool {arguments:?}: {output}");
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_match_their_documentation() {
    let secured = Secured::open().await;
    secured.generate_metrics().await;
    let text = secured.metrics().await;
    promtool(&["check", "metrics"], &text);
    let families = exported(&text);
    assert_eq!(families, documented(&read(TABLE)));
    assert!(families.len() > 50, "{families:?}");
    for file in [TABLE, RUNBOOKS, DASHBOARD, ALERTS] {
        let names = named(&read(file));
        let unknown: Vec<&String> = names.iter().filter(|name| !is_exported(name, &families)).collect();
        assert!(names.len() > 10 && unknown.is_empty(), "{file} names {unknown:?}");
    }
    let shown = named(&read(DASHBOARD));
    let unshown: Vec<&String> =
        families.keys().filter(|family| !shown.iter().any(|name| name.starts_with(family.as_str()))).collect();
    // Threads and virtual memory are hardly informative.
    assert_eq!(unshown, ["process_threads", "process_virtual_memory_bytes"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn certificate_expiry_metric_follows_a_reload() {
    let secured = Secured::open().await;
    let expiry = async || secured.value("tenure_tls_certificate_expiry_timestamp_seconds").await;
    assert_eq!(expiry().await.as_deref(), Some(EXPIRIES[0].1));
    certify(&secured.authority, EXPIRIES[1].0);
    let is_served = async || expiry().await.as_deref() == Some(EXPIRIES[1].1);
    wait_until(PATIENCE, "the new certificate is served", is_served).await;
    assert_eq!(secured.value("tenure_reloads_total{what=\"certificates\"}").await.as_deref(), Some("1"));
    assert_eq!(secured.value("tenure_reloads_refused_total{what=\"certificates\"}").await.as_deref(), Some("0"));

    std::fs::write(secured.authority.folder().join("server.crt"), "nothing").unwrap();
    let refused = async || {
        let refused = secured.value("tenure_reloads_refused_total{what=\"certificates\"}").await;
        refused.is_some_and(|refused| refused != "0")
    };
    wait_until(PATIENCE, "an invalid certificate is rejected", refused).await;
    assert_eq!(expiry().await.as_deref(), Some(EXPIRIES[1].1), "the last valid certificate stays in use");
}

/// Each has its runbook, and at least one test in which it fires and one in which it does not.
#[test]
fn every_alert_has_a_runbook_and_is_tested_both_ways() {
    let (rules, runbooks) = (read(ALERTS), read(RUNBOOKS));
    let files = std::fs::read_dir(root().join(TESTS)).unwrap();
    let tests: String = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    let names = alerts();
    let sections: Vec<&str> = runbooks.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(names, sections, "in the same order");
    for name in &names {
        let link = format!("deploy/monitoring/runbooks.md#{}\n", name.to_lowercase());
        assert_eq!(rules.matches(&link).count(), 1, "{name} has its runbook");
        let tested = format!("alertname: {name}\n        exp_alerts:");
        let (silent, all) = (tests.matches(&format!("{tested} []\n")).count(), tests.matches(&tested).count());
        assert!(silent > 0 && all > silent, "{name} is silent in {silent} of {all} tests");
    }
    let count = |what| rules.lines().filter(|line| line.trim_start().starts_with(what)).count();
    for what in ["severity: ", "summary: ", "description: ", "runbook_url: "] {
        assert_eq!(count(what), names.len(), "{what}");
    }
}

#[test]
fn dashboard_is_consistent() {
    let dashboard: serde_json::Value = serde_json::from_str(&read(DASHBOARD)).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<u64> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len());
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    assert!(variables.iter().map(|variable| variable["name"].as_str().unwrap()).eq(["datasource", "job", "instance"]));
    for panel in panels.iter().filter(|panel| panel["type"] != "row") {
        assert_eq!(panel["datasource"]["uid"], "${datasource}");
        for target in panel["targets"].as_array().unwrap() {
            let query = target["expr"].as_str().unwrap();
            assert!(query.contains("job=~\"$job\",instance=~\"$instance\""), "{query}");
        }
    }
}

"""What the objects mean, where a golden file alone would not say why."""

import json

import pytest
import yaml

from rendering import CHART, HERE, MATRIX, NAMESPACE, RELEASE, containers, helm, of_kind, only, pods, render, server, settings, text

names = pytest.mark.parametrize("values", [path.stem for path in MATRIX])


@names
def test_every_container_is_restricted(values):
    for pod in pods(render(values)).values():
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        for container in containers(pod).values():
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"] is True
            assert context["allowPrivilegeEscalation"] is False
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert "memory" in container["resources"]["limits"]


@names
def test_no_pod_is_given_variables_of_services(values):
    """`TENURE_HEADLESS_SERVICE_HOST` would be an unknown setting, and the server would not start."""
    assert all(pod["enableServiceLinks"] is False for pod in pods(render(values)).values())


@names
def test_every_mount_has_its_volume_and_every_volume_is_mounted(values):
    objects = render(values)
    for pod in pods(objects).values():
        volumes = {volume["name"] for volume in pod.get("volumes", [])}
        if of_kind(objects, "StatefulSet") and pod is server(objects):
            templates = only(objects, "StatefulSet")["spec"].get("volumeClaimTemplates", [])
            volumes |= {claim["metadata"]["name"] for claim in templates}
        mounted = {mount["name"] for each in containers(pod).values() for mount in each.get("volumeMounts", [])}
        assert mounted == volumes


@names
def test_no_file_is_mounted_alone(values):
    """A file that is mounted by `subPath` stays as it was when its Secret changes."""
    assert "subPath" not in text(values)


@names
def test_every_setting_of_a_file_is_a_file_that_is_mounted(values):
    objects = render(values)
    volumes = {volume["name"]: volume for volume in server(objects)["volumes"]}
    mounts = {mount["mountPath"]: mount["name"] for mount in containers(server(objects))["tenured"]["volumeMounts"]}
    wanted = [line.split('"')[1] for line in settings(objects).splitlines() if '"/etc/tenure/' in line]
    for path in wanted:
        folder, _, file = path.rpartition("/")
        volume = volumes[mounts[folder]]
        source = volume.get("secret") or volume.get("configMap")
        assert file in [item["path"] for item in source["items"]]


@names
def test_services_select_servers_only(values):
    objects = render(values)
    (workload,) = of_kind(objects, "Deployment") + of_kind(objects, "StatefulSet")
    labels = workload["spec"]["template"]["metadata"]["labels"]
    for service in of_kind(objects, "Service"):
        selector = service["spec"]["selector"].items()
        assert selector == workload["spec"]["selector"]["matchLabels"].items()
        assert selector <= labels.items()
        ports = {port["name"] for port in containers(server(objects))["tenured"]["ports"]}
        for port in service["spec"]["ports"]:
            assert port["targetPort"] == port["name"] and port["name"] in ports
        for other in of_kind(objects, "Job"):
            assert not selector <= other["spec"]["template"]["metadata"]["labels"].items()
        for other in of_kind(objects, "Pod"):
            assert not selector <= other["metadata"]["labels"].items()


@names
def test_a_new_version_of_the_chart_alone_replaces_no_server(values):
    (workload,) = of_kind(render(values), "Deployment") + of_kind(render(values), "StatefulSet")
    assert "helm.sh/chart" not in workload["spec"]["template"]["metadata"]["labels"]


def test_changed_settings_replace_the_servers_and_a_changed_policy_does_not():
    def template(*changes):
        return only(render("mysql-job", *changes), "Deployment")["spec"]["template"]

    assert template() != template("config.max_ttl=1h")
    assert template() == template("auth.policy.inline=x = 1")


def test_probes_ask_the_admin_port_over_http():
    server_of = containers(server(render("tls-tokens")))["tenured"]
    ports = {port["name"]: port["containerPort"] for port in server_of["ports"]}
    assert ports == {"grpc": 7420, "admin": 7421}
    assert server_of["livenessProbe"]["httpGet"] == {"path": "/livez", "port": "admin"}
    assert server_of["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "admin"}


@pytest.mark.parametrize("drain, sleep", [(0, 0), (10, 5), (600, 30)])
def test_a_server_has_the_time_to_drain(drain, sleep):
    objects = render("insecure", f"drainTimeoutSeconds={drain}", f"preStopSleepSeconds={sleep}")
    assert f'drain_timeout = "{drain}s"' in settings(objects)
    assert server(objects)["terminationGracePeriodSeconds"] >= drain + sleep + 3
    lifecycle = containers(server(objects))["tenured"].get("lifecycle")
    assert lifecycle == ({"preStop": {"sleep": {"seconds": sleep}}} if sleep else None)


def test_a_kubernetes_without_sleep_is_asked_for_none():
    assert "lifecycle" not in containers(server(render("insecure", kubernetes="1.29")))["tenured"]
    assert "lifecycle" in containers(server(render("insecure", kubernetes="1.30")))["tenured"]


def test_databases_are_served_by_servers_that_are_replaced_one_by_one():
    objects = render("insecure", "replicaCount=4")
    deployment = only(objects, "Deployment")["spec"]
    assert deployment["replicas"] == 4
    assert deployment["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    assert only(objects, "PodDisruptionBudget")["spec"]["maxUnavailable"] == 1
    assert not of_kind(objects, "StatefulSet")
    assert [each["topologyKey"] for each in server(objects)["topologySpreadConstraints"]] == [
        "topology.kubernetes.io/zone",
        "kubernetes.io/hostname",
    ]


def test_sqlite_is_one_server_with_a_volume():
    objects = render("sqlite")
    spec = only(objects, "StatefulSet")["spec"]
    assert spec["replicas"] == 1
    (claim,) = spec["volumeClaimTemplates"]
    assert claim["spec"]["resources"]["requests"] == {"storage": "1Gi"}
    assert not of_kind(objects, "Deployment")
    assert "store_url" not in settings(objects)
    assert ("Service", spec["serviceName"]) in objects
    claimed = render("sqlite-claim")
    assert "volumeClaimTemplates" not in only(claimed, "StatefulSet")["spec"]
    assert {"name": "data", "persistentVolumeClaim": {"claimName": "locks"}} in server(claimed)["volumes"]


def test_an_init_container_migrates_with_a_user_of_its_own():
    objects = render("everything")
    *before, migrate = server(objects)["initContainers"]
    assert [each["name"] for each in before] == ["proxy"]
    assert migrate["args"][0] == "migrate"
    volumes = {volume["name"]: volume for volume in server(objects)["volumes"]}
    folder = {mount["mountPath"]: mount["name"] for mount in migrate["volumeMounts"]}["/etc/tenure/store"]
    assert volumes[folder]["secret"]["secretName"] == "tenure-owner"
    assert not of_kind(objects, "Job")


def test_a_job_migrates_and_is_another_one_when_it_does_something_else():
    def job(*changes):
        return only(render("mysql-job", *changes), "Job")

    assert "annotations" not in job()["metadata"], "no hook: that waits for servers that wait for it"
    assert job()["metadata"]["name"] == job("replicaCount=7")["metadata"]["name"]
    assert job()["metadata"]["name"] != job(f"image.digest=sha256:{'1' * 64}")["metadata"]["name"]
    assert not server(render("mysql-job")).get("initContainers")


def test_nothing_migrates_if_somebody_else_does():
    objects = render("jwt")
    assert not of_kind(objects, "Job") and "initContainers" not in server(objects)
    assert "store_migrate = false" in settings(objects)


def test_the_headless_service_stands_for_each_server():
    services = {service["metadata"]["name"]: service["spec"] for service in of_kind(render("tls-tokens"), "Service")}
    assert services["locks-tenure-headless"]["clusterIP"] == "None"
    assert [port["name"] for port in services["locks-tenure"]["ports"]] == ["grpc"], "metrics are not for clients"


@pytest.mark.parametrize("values, protocol", [("insecure", "kubernetes.io/h2c"), ("jwt", None), ("everything", "grpc")])
def test_services_tell_the_protocol(values, protocol):
    for service in of_kind(render(values), "Service"):
        assert service["spec"]["ports"][0].get("appProtocol") == protocol


def test_a_network_policy_lets_servers_speak_to_each_other_and_the_test_to_them():
    objects = render("everything")
    policy = only(objects, "NetworkPolicy")["spec"]
    selected = only(objects, "Deployment")["spec"]["selector"]
    assert policy["podSelector"] == selected
    own, clients, metrics, _ = policy["ingress"]
    assert own["ports"] == [{"port": "grpc"}]
    assert own["from"][0] == {"podSelector": selected}
    test = only(objects, "Pod")["metadata"]["labels"].items()
    assert own["from"][1]["podSelector"]["matchLabels"].items() <= test
    assert clients["from"] == [{"namespaceSelector": {"matchLabels": {"locks": "yes"}}}]
    assert metrics["ports"] == [{"port": "admin"}]
    assert {"ports": [{"port": 7420}], "to": [{"podSelector": selected}]} in policy["egress"]
    assert {"ports": [{"port": 6432}], "to": [{"ipBlock": {"cidr": "10.1.0.0/16"}}]} in policy["egress"]


@pytest.mark.parametrize("kind, port", [("postgres", 5432), ("mysql", 3306)])
def test_a_network_policy_lets_servers_out_to_their_database(kind, port):
    changes = ["networkPolicy.enabled=true", "networkPolicy.egress.enabled=true", f"store.kind={kind}"]
    assert {"ports": [{"port": port}]} in only(render("insecure", *changes), "NetworkPolicy")["spec"]["egress"]


def test_autoscaling_has_the_say_about_how_many_servers_there_are():
    objects = render("everything")
    scaler = only(objects, "HorizontalPodAutoscaler")["spec"]
    deployment = only(objects, "Deployment")
    assert "replicas" not in deployment["spec"]
    assert scaler["scaleTargetRef"]["name"] == deployment["metadata"]["name"]
    assert (scaler["minReplicas"], scaler["maxReplicas"], len(scaler["metrics"])) == (3, 9, 2)


def test_a_certificate_has_the_names_that_clients_use():
    objects = render("everything")
    certificate = only(objects, "Certificate")["spec"]
    for service in of_kind(objects, "Service"):
        assert f"{service['metadata']['name']}.{NAMESPACE}.svc" in certificate["dnsNames"]
    assert "tenure.example.com" in certificate["dnsNames"]
    secrets = [volume["secret"]["secretName"] for volume in server(objects)["volumes"] if volume["name"] == "tls"]
    assert secrets == [certificate["secretName"]]
    assert certificate["issuerRef"] == {"name": "internal", "kind": "Issuer", "group": "cert-manager.io"}


@pytest.mark.parametrize("kind", ["Ingress", "GRPCRoute"])
def test_what_leads_in_leads_to_the_service(kind):
    objects = render("everything")
    spec = only(objects, kind)["spec"]
    service = objects["Service", "locks-lockd"]["spec"]
    if kind == "Ingress":
        (rule,) = spec["rules"]
        (path,) = rule["http"]["paths"]
        assert rule["host"] == "tenure.example.com"
        assert path["backend"]["service"] == {"name": "locks-lockd", "port": {"name": service["ports"][0]["name"]}}
    else:
        (rule,) = spec["rules"]
        assert rule == {"backendRefs": [{"name": "locks-lockd", "port": service["ports"][0]["port"]}]}
        assert spec["parentRefs"] == [{"name": "edge", "namespace": "gateways", "sectionName": "grpc"}]


def test_metrics_are_read_from_every_server():
    objects = render("everything")
    monitor = only(objects, "ServiceMonitor")
    selector = monitor["spec"]["selector"]["matchLabels"].items()
    (service,) = [each for each in of_kind(objects, "Service") if selector <= each["metadata"]["labels"].items()]
    assert service["spec"]["clusterIP"] == "None"
    (endpoint,) = monitor["spec"]["endpoints"]
    assert endpoint["port"] in [port["name"] for port in service["spec"]["ports"]]
    assert endpoint["path"] == "/metrics"
    own, *given = endpoint["relabelings"]
    assert own == {"targetLabel": "job", "replacement": "prod/locks-lockd"}, "two installations are not summed up"
    assert given == [{"action": "labeldrop", "regex": "pod_ip"}]
    assert monitor["metadata"]["labels"]["release"] == "prometheus"


def test_alerts_and_dashboard_are_the_files_as_they_are():
    objects = render("everything")
    rule = only(objects, "PrometheusRule")
    assert rule["spec"] == yaml.safe_load((CHART / "files/alerts.yaml").read_text())
    assert rule["metadata"]["labels"]["release"] == "prometheus"
    dashboard = objects["ConfigMap", "locks-lockd-dashboard"]
    assert dashboard["metadata"]["labels"]["grafana_dashboard"] == "1"
    (content,) = dashboard["data"].values()
    assert json.loads(content) == json.loads((CHART / "files/dashboard.json").read_text())


@pytest.mark.parametrize("values, is_there", [("insecure", True), ("tls-tokens", True), ("sqlite-claim", False)])
def test_helm_test_is_there_if_it_can_say_who_it_is(values, is_there):
    assert len(of_kind(render(values), "Pod")) == is_there


def test_helm_test_is_not_there_if_it_would_be_turned_away():
    assert not of_kind(render("tls-tokens", "helmTest.tokenSecret.name="), "Pod")


def test_names_stay_within_their_bounds():
    objects = render("mysql-job", f"fullnameOverride={'a' * 80}")
    assert max(len(name) for _, name in objects) <= 63
    assert len(of_kind(objects, "Service")) == 2


def notes(values, *changes):
    changed = [argument for change in changes for argument in ("--set", change)]
    arguments = ["--dry-run=client", "--namespace", NAMESPACE, "--values", HERE / "values" / f"{values}.yaml", *changed]
    return helm("install", RELEASE, CHART, *arguments).split("NOTES:\n")[1]


def test_who_installs_it_is_told_what_comes_next():
    told = notes("tls-tokens")
    assert "rollout status deployment/locks-tenure" in told
    assert "helm -n prod test locks" in told
    assert "TENURE_ENDPOINTS=https://locks-tenure.prod.svc:7420" in told
    assert "WARNING" not in told
    assert "set helmTest.tokenSecret.name" in notes("tls-tokens", "helmTest.tokenSecret.name=")
    assert "`tenured migrate`" in notes("jwt")
    assert "WARNING: insecure.allow is set. Without TLS" in notes("sqlite")

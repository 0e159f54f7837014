"""What does not go together is refused when it is rendered, and the message says what to set."""

import pytest

from rendering import Refused, render, text

REFUSED = {
    "no image": ("insecure", ["image.repository="], "image.repository: set it"),
    "no database": ("insecure", ["store.existingSecret="], "store.existingSecret: set it"),
    "no database, MySQL": ("mysql-job", ["store.existingSecret="], "store.existingSecret: set it"),
    "SQLite twice": ("sqlite", ["replicaCount=2"], "set replicaCount to 1"),
    "SQLite that grows": ("sqlite", ["autoscaling.enabled=true"], "autoscaling.enabled to false"),
    "SQLite by a job": ("sqlite", ["migrations.mode=job"], "migrations.mode is job"),
    "SQLite with a URL": ("sqlite", ["store.existingSecret=x"], "which has no URL"),
    "insecure": (
        "insecure",
        ["insecure.allow=false"],
        "set TLS (tls.existingSecret or tls.certManager.enabled) and credentials (tls.clientCa, auth.tokens or auth.jwt); "
        "or set insecure.allow to true",
    ),
    "no TLS": ("insecure", ["insecure.allow=false", "auth.tokens.existingSecret=x"], "set TLS (tls.existingSecret"),
    "no credentials": ("insecure", ["insecure.allow=false", "tls.existingSecret=x"], "set credentials (tls.clientCa"),
    "two certificates": ("tls-tokens", ["tls.existingSecret=x"], "are both set"),
    "no issuer": ("tls-tokens", ["tls.certManager.issuerRef.name="], "issuerRef.name: set it"),
    "two of one file": ("mysql-job", ["tls.clientCa.existingSecret=x"], "tls.clientCa: set only one"),
    "two policies": ("mysql-job", ["auth.policy.existingSecret=x"], "auth.policy: set only one"),
    "client CA without TLS": ("insecure", ["tls.clientCa.existingSecret=x"], "tls.clientCa is set: set tls.existingSecret"),
    "revoked by nobody": ("tls-tokens", ["tls.clientCrl.existingSecret=x"], "tls.clientCrl is set: set tls.clientCa"),
    "two sets of keys": ("jwt", ["auth.jwt.existingConfigMap=x"], "are both set"),
    "keys of nobody": ("jwt", ["auth.jwt.issuer="], "set auth.jwt.issuer and auth.jwt.audience"),
    "policy for nobody": ("insecure", ["auth.policy.existingSecret=x"], "auth.policy is set: set tls.clientCa"),
    "autoscaling upside down": ("everything", ["autoscaling.minReplicas=10"], "above autoscaling.maxReplicas"),
    "autoscaling by nothing": (
        "insecure",
        ["autoscaling.enabled=true", "autoscaling.targetCPUUtilizationPercentage=null"],
        "autoscaling: set targetCPUUtilizationPercentage",
    ),
    "ingress for nobody": ("insecure", ["ingress.enabled=true"], "set ingress.hosts"),
    "route from nowhere": ("insecure", ["grpcRoute.enabled=true"], "set grpcRoute.parentRefs"),
    # What follows is the schema's.
    "wrong type": ("insecure", ["replicaCount=two"], "replicaCount"),
    "misspelt": ("insecure", ["replicas=2"], "'replicas'"),
    "misspelt below": ("insecure", ["store.existingSecrets=x"], "'existingSecrets'"),
    "another database": ("insecure", ["store.kind=oracle"], "kind"),
    "unknown setting": ("insecure", ["config.max_conections=5"], "'max_conections'"),
    "setting out of bounds": ("insecure", ["config.store_max_connections=0"], "store_max_connections"),
    "time without a unit": ("insecure", ["config.max_ttl=10"], "max_ttl"),
    "what the chart sets itself": ("insecure", ["config.listen=0.0.0.0:1"], "'listen'"),
    "keys over HTTP": ("jwt", ["auth.jwt.keys=http://id.example/keys"], "keys"),
    "tag for a digest": ("insecure", ["image.digest=latest"], "digest"),
}


@pytest.mark.parametrize("values, changes, message", REFUSED.values(), ids=REFUSED.keys())
def test_refused(values, changes, message):
    render(values)
    with pytest.raises(Refused) as refusal:
        text(values, *changes)
    assert message in str(refusal.value)


def test_nothing_is_installed_that_nobody_has_thought_about():
    with pytest.raises(Refused, match="image.repository: set it"):
        text(None)


def test_kubernetes_that_is_too_old_is_refused():
    with pytest.raises(Refused, match="1.29.0"):
        text("insecure", kubernetes="1.28")

"""The rendered settings, arguments and variables, given to the real programs."""

import os
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

import pytest
import yaml

from rendering import MATRIX, containers, only, render, server, settings
from test_values import SCHEMA

URLS = {"postgres": "postgres://tenure:secret@db/tenure", "mysql": "mysql://tenure:secret@db/tenure"}
ADDRESSES = {False: "10.1.2.3", True: "fd00::1:7"}

# Whatever proxy the caller's shell names.
DIRECTLY = urllib.request.build_opener(urllib.request.ProxyHandler({}))

# What an image may set for those who run it by hand.
IMAGE = {"TENURE_DATA_DIR": "/data", "TENURE_LISTEN": "0.0.0.0:1"}


def placed(objects, folder):
    """Puts the rendered settings into a folder, as a pod would find them, and returns how to move paths there."""

    def here(text):
        return text.replace("/etc/tenure", f"{folder}/etc").replace("/var/lib/tenure", f"{folder}/data")

    for place in ("config", "store"):
        (folder / "etc" / place).mkdir(parents=True)
    (folder / "etc/config/tenured.toml").write_text(here(settings(objects)))
    return here


def started(container, here, address):
    """The arguments of a container, and its variables that concern Tenure."""
    variables = {each["name"]: each.get("value", "") for each in container.get("env", [])}
    ours = {name: value for name, value in variables.items() if name.startswith("TENURE_")}
    ours = {name: here(value.replace("$(POD_IP)", address)) for name, value in ours.items()}
    return [here(argument) for argument in container["args"]], IMAGE | ours


@pytest.mark.parametrize("values", [path.stem for path in MATRIX])
def test_the_server_takes_its_settings(values, tmp_path):
    given = yaml.safe_load(next(path for path in MATRIX if path.stem == values).read_text())
    objects = render(values)
    here = placed(objects, tmp_path)
    kind = given["store"].get("kind", "postgres")
    if kind in URLS:
        (tmp_path / "etc/store/url").write_text(URLS[kind])
    container = containers(server(objects))["tenured"]
    is_ipv6 = given.get("ipFamily") == "IPv6"
    address = ADDRESSES[is_ipv6]
    arguments, variables = started(container, here, address)
    command = [os.environ["TENURED"], *arguments[1:], "print-config"]
    shown = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=30)
    assert shown.returncode == 0, shown.stderr
    used = dict(line.split(" = ", 1) for line in shown.stdout.splitlines())

    assert used["data_dir"] == f'"{tmp_path}/data"'
    assert used["listen"] == ('"[::]:7420"' if is_ipv6 else '"0.0.0.0:7420"')
    assert used["admin_listen"].endswith(':7421"')
    assert used["advertise"] == (f'"[{address}]:7420"' if is_ipv6 else f'"{address}:7420"')
    assert used["store_url"].strip('"').startswith(f"{kind}:") and "secret" not in used["store_url"]
    assert used["store_migrate"] == "false"
    for name, value in given.get("config", {}).items():
        expected = str(value).lower() if isinstance(value, bool) else str(value)
        assert used[name].strip("'\"") == expected


def test_every_setting_of_the_server_can_be_reached():
    """Each is the chart's own or one of `config`: a new one must be put into one of them."""
    shown = subprocess.run([os.environ["TENURED"], "--help"], capture_output=True, text=True, timeout=30, check=True)
    known = {name.lower() for name in re.findall(r"\[env: TENURE_([A-Z_]+)", shown.stdout)}
    own = {
        *("config", "data_dir", "store_url", "store_url_file", "store_migrate", "listen", "admin_listen", "advertise"),
        *("tls_cert", "tls_key", "tls_client_ca", "tls_client_crl", "tokens_file", "policy", "allow_insecure"),
        *("jwt_keys", "jwt_issuer", "jwt_audience", "jwt_algorithms", "jwt_claim", "drain_timeout"),
    }
    assert known == own | SCHEMA["properties"]["config"]["properties"].keys()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_until_ready(process, admin, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert process.poll() is None, "the server has ended"
        try:
            with DIRECTLY.open(f"http://127.0.0.1:{admin}/readyz", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise AssertionError(f"not ready within {seconds} s")


def test_the_migration_the_server_and_helm_test_work_together(tmp_path):
    """What the pods of SQLite run, on this machine: only ports are other ones."""
    objects = render("sqlite")
    here = placed(objects, tmp_path)
    (tmp_path / "data").mkdir()
    grpc, admin = free_port(), free_port()
    pod = containers(server(objects))

    arguments, variables = started(pod["migrate"], here, "127.0.0.1")
    migrated = subprocess.run([os.environ["TENURED"], *arguments], env=variables, capture_output=True, timeout=60)
    assert migrated.returncode == 0, migrated.stderr

    arguments, variables = started(pod["tenured"], here, "127.0.0.1")
    arguments = [each.replace(":7420", f":{grpc}").replace(":7421", f":{admin}") for each in arguments]
    with open(tmp_path / "log", "wb") as log:
        running = subprocess.Popen([os.environ["TENURED"], *arguments], env=variables, stdout=log, stderr=log)
    try:
        wait_until_ready(running, admin)
        (test,) = only(objects, "Pod")["spec"]["containers"]
        arguments, _ = started(test, here, "127.0.0.1")
        variables = {"TENURE_ENDPOINTS": f"http://127.0.0.1:{grpc}"}
        arguments = [os.environ["TENURED"] if each == "/usr/local/bin/tenured" else each for each in arguments]
        locked = subprocess.run([os.environ["TENURE"], *arguments], env=variables, capture_output=True, text=True, timeout=60)
        assert locked.returncode == 0, locked.stderr
        assert locked.stdout.startswith("tenured ")
        history = subprocess.run(
            [os.environ["TENURE"], "history", "helm-test"], env=variables, capture_output=True, text=True, timeout=60
        )
        assert "released" in history.stdout, history.stdout + history.stderr
        running.send_signal(signal.SIGTERM)
        grace = server(objects)["terminationGracePeriodSeconds"]
        assert running.wait(grace) == 0
    finally:
        running.kill()
        running.wait()

"""Rendering the chart with helm, without a cluster."""

import functools
import os
import subprocess
from pathlib import Path

import yaml

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
CHART = ROOT / "deploy/helm/tenure"
MATRIX = sorted((HERE / "values").glob("*.yaml"))
RELEASE, NAMESPACE = "locks", "prod"
NEWEST = "1.37"


class Refused(Exception):
    """helm refuses to render; with what it says."""


def helm(*arguments):
    """Runs helm and returns what it prints."""
    done = subprocess.run([os.environ["HELM"], *arguments], capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise Refused(done.stderr)
    return done.stdout


@functools.cache
def text(values, *settings, kubernetes=NEWEST, chart=CHART):
    """The manifests as helm prints them: for a file of the matrix by its name, and settings as `a.b=c`."""
    arguments = ["template", RELEASE, chart, "--namespace", NAMESPACE, "--kube-version", kubernetes]
    if values is not None:
        arguments += ["--values", HERE / "values" / f"{values}.yaml"]
    for setting in settings:
        arguments += ["--set", setting]
    return helm(*arguments)


def render(values, *settings, **more):
    """The same as objects, by kind and name: every object must be there only once."""
    objects = {}
    for manifest in filter(None, yaml.safe_load_all(text(values, *settings, **more))):
        key = manifest["kind"], manifest["metadata"]["name"]
        assert key not in objects, f"{key} is there twice"
        objects[key] = manifest
    return objects


def of_kind(objects, kind):
    """All objects of a kind."""
    return [manifest for (of, _), manifest in objects.items() if of == kind]


def only(objects, kind):
    """The one object of a kind."""
    (found,) = of_kind(objects, kind)
    return found


def server(objects):
    """The specification of a server's pod."""
    workloads = of_kind(objects, "Deployment") + of_kind(objects, "StatefulSet")
    (workload,) = workloads
    return workload["spec"]["template"]["spec"]


def pods(objects):
    """The specifications of all pods, by what they are for."""
    found = {"server": server(objects)}
    found |= {"migration": job["spec"]["template"]["spec"] for job in of_kind(objects, "Job")}
    found |= {"test": pod["spec"] for pod in of_kind(objects, "Pod")}
    return found


def containers(pod):
    """All containers of a pod that are the chart's own, by their names."""
    everyone = pod.get("initContainers", []) + pod["containers"]
    return {container["name"]: container for container in everyone if container["name"] in ("tenured", "migrate", "lock")}


def settings(objects):
    """The text of the server's settings."""
    (found,) = [each["data"]["tenured.toml"] for each in of_kind(objects, "ConfigMap") if "tenured.toml" in each["data"]]
    return found

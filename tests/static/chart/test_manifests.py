"""Whole manifests, over a matrix of values and versions of Kubernetes."""

import functools
import os

import kubernetes_validate
import pytest
import yaml
from kubernetes_validate import utils

from rendering import CHART, HERE, MATRIX, NEWEST, helm, text

# It reads megabytes of definitions for each object anew.
utils.schema_contents = functools.cache(utils.schema_contents)

# Those that it has schemas of, from the oldest that the chart takes.
KNOWN = dict.fromkeys(map(utils.major_minor, utils.all_versions()))
VERSIONS = [version for version in KNOWN if int(version.split(".")[1]) >= 29]

# Objects of others, of which Kubernetes has no schema.
CUSTOM = {"Certificate", "GRPCRoute", "PrometheusRule", "ServiceMonitor"}

names = pytest.mark.parametrize("values", [path.stem for path in MATRIX])


def test_the_newest_version_is_that_of_the_schemas():
    assert VERSIONS[0] == "1.29" and VERSIONS[-1] == NEWEST


@names
@pytest.mark.parametrize("kubernetes", VERSIONS)
def test_kubernetes_takes_it(values, kubernetes):
    for manifest in filter(None, yaml.safe_load_all(text(values, kubernetes=kubernetes))):
        if manifest["kind"] in CUSTOM:
            continue
        kubernetes_validate.validate(manifest, kubernetes, strict=True)


def test_kubernetes_would_refuse_an_unknown_field():
    service = next(each for each in yaml.safe_load_all(text("insecure")) if each and each["kind"] == "Service")
    service["spec"]["portz"] = []
    with pytest.raises(kubernetes_validate.ValidationError, match="portz"):
        kubernetes_validate.validate(service, NEWEST, strict=True)


@names
def test_it_is_as_it_was(values):
    """The files in golden/ are what the matrix gives; UPDATE_GOLDEN=1 writes them anew."""
    golden = HERE / "golden" / f"{values}.yaml"
    # What others write is theirs to test, and would have every change of it change these files.
    rendered = "---\n".join(filter(is_golden, text(values).split("---\n")))
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(rendered)
    assert rendered == golden.read_text(), "see what UPDATE_GOLDEN=1 cargo xtask test --only chart changes"


def is_golden(document):
    return "templates/prometheusrule.yaml" not in document and "templates/dashboard.yaml" not in document


def test_no_golden_file_is_left_over():
    assert {path.stem for path in (HERE / "golden").glob("*")} == {path.stem for path in MATRIX}


@names
def test_helm_finds_nothing_to_complain_of(values):
    helm("lint", "--strict", CHART, "--values", HERE / "values" / f"{values}.yaml")

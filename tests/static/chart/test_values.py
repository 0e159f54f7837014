"""values.yaml, its schema, the chart's version and README.md are in step."""

import json
import os
import re
import tomllib

import yaml

from rendering import CHART, ROOT

SCHEMA = json.loads((CHART / "values.schema.json").read_text())
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
BEGIN, END = "<!-- values -->\n", "<!-- /values -->\n"


def documented():
    """The rows that values.yaml has: a path and its text, from `# -- TEXT` before a key."""
    path, text, rows = [], None, {}
    for line in (CHART / "values.yaml").read_text().splitlines():
        if found := re.fullmatch(r"\s*# -- (.+)", line):
            text = found[1]
        elif found := re.match(r"( *)([a-zA-Z]+):", line):
            del path[len(found[1]) // 2 :]
            path.append(found[2])
            if text:
                rows[".".join(path)] = text
            text = None
    return rows


def default(path):
    value = VALUES
    for key in path.split("."):
        value = value[key]
    return value


def leaves(value, path=""):
    """All paths below which nothing more has a name."""
    if not isinstance(value, dict) or not value:
        return [path]
    return [leaf for key, below in value.items() for leaf in leaves(below, f"{path}.{key}".lstrip("."))]


def table():
    rows = ["| value | default | meaning |", "|---|---|---|"]
    for path, text in documented().items():
        shown = json.dumps(default(path), ensure_ascii=False)
        rows.append(f"| `{path}` | `{shown}` | {text.replace('|', chr(92) + '|')} |")
    return "\n".join(rows) + "\n"


def test_readme_has_the_values():
    """UPDATE_GOLDEN=1 writes the table anew."""
    readme = CHART / "README.md"
    before, rest = readme.read_text().split(BEGIN)
    _, after = rest.split(END)
    wanted = f"{before}{BEGIN}{table()}{END}{after}"
    if os.environ.get("UPDATE_GOLDEN"):
        readme.write_text(wanted)
    assert readme.read_text() == wanted


def test_every_value_is_explained():
    rows = documented()
    unexplained = [leaf for leaf in leaves(VALUES) if not any(leaf == row or leaf.startswith(f"{row}.") for row in rows)]
    assert unexplained == []


def test_every_value_has_a_schema_and_the_other_way_round():
    def same(values, schema, path):
        if not schema.get("additionalProperties", True) and "properties" in schema and path != "config":
            named = schema["properties"].keys() - {"global"}
            optional = path in ("livenessProbe", "readinessProbe")
            assert values.keys() <= named if optional else values.keys() == named, path
            for key, below in values.items():
                same(below, schema["properties"][key], f"{path}.{key}".lstrip("."))

    same(VALUES, SCHEMA, "")


def test_every_object_with_names_of_its_own_is_closed():
    def closed(schema, path):
        if "properties" in schema:
            assert schema.get("additionalProperties") is False, path
            for key, below in schema["properties"].items():
                closed(below, f"{path}.{key}")

    closed(SCHEMA, "values")


def test_the_chart_is_of_the_version_of_the_server():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
    assert chart["appVersion"] == workspace["version"]

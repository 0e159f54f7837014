"""Does what the scenarios ask of the Python client: see tests/scenarios/README.md."""

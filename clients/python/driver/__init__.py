"""Does what the scenarios ask of the Python client: see tests/blackbox/scenarios/README.md."""

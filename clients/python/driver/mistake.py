"""What is wrong with a scenario."""


class Mistake(Exception):
    """A mistake of the scenario."""

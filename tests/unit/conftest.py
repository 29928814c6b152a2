"""Settings of the unit tests."""

from hypothesis import settings

# A busy machine is no failure: pytest's own time limit is enough.
settings.register_profile("unit", deadline=None)
settings.load_profile("unit")

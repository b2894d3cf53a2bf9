"""Settings that every test shares: random tests keep no clock and draw the same examples on every machine; `make soak`
draws anew each time, and many more; `make mutants` draws few, because it runs them often."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

# A shell that starts the tests in the background has Ctrl-C ignored in all its children; tests press it.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("default", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("soak", settings.get_profile("default"), derandomize=False, max_examples=20_000)
settings.register_profile("mutants", settings.get_profile("default"), max_examples=20)
settings.load_profile("default")

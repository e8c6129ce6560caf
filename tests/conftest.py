"""Property tests read no clock: a busy machine must not make a law untrue. And a test says itself whether it is in CI:
`trotline init` proposes other things there.
"""

import os

from hypothesis import HealthCheck, settings

os.environ.pop("CI", None)
settings.register_profile("laws", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("laws")

"""Property tests read no clock and throw no dice: a busy machine must not make a law untrue, and what is green stays
green. New examples are for `make laws` to find. And a test says itself whether it is in CI: `trotline init` proposes
other things there.
"""

import os

from hypothesis import HealthCheck, settings

os.environ.pop("CI", None)
settings.register_profile("laws", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("exploring", settings.get_profile("laws"), derandomize=False, print_blob=True)
settings.load_profile("laws")

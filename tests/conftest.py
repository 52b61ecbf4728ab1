# SPDX-License-Identifier: Apache-2.0
"""What all tests need of the place they run in."""

import os

# The number of a session whose leader lives outside our pid namespace is 0, and tells nothing of who belongs together.
if os.getsid(0) == 0:
    os.setsid()

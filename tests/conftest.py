# SPDX-License-Identifier: Apache-2.0
"""What all tests need of the place they run in."""

import os
import signal

# The number of a session whose leader lives outside our pid namespace is 0, and tells nothing of who belongs together.
if os.getsid(0) == 0:
    os.setsid()

# Whoever is started in the background by a shell ignores interrupts, and so would every program that a test sends one to.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# SPDX-License-Identifier: Apache-2.0
"""Regressions of memory stop in CI: `memsnap gate` holds a recording against limits and a baseline, the pytest plugin a test against its own."""

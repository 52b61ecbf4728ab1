# SPDX-License-Identifier: Apache-2.0
"""What running jobs have on the card now: `memsnap top` and `memsnap serve`. Both read recordings through memsnap-replay and write nothing."""

# SPDX-License-Identifier: Apache-2.0
"""`memsnap arm`, `disarm` and `status`: what is asked of running jobs, through a word in the header of their recordings. No signal is sent
and nothing is traced: a thread of the recorder looks at the word once a second."""

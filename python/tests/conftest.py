"""Setup of all tests."""

import signal

# Shells start jobs in the background with Ctrl-C ignored, and tests press it.
signal.signal(signal.SIGINT, signal.default_int_handler)

"""Gives the fork server a process group of its own, when it imports this module as its first.

Its worker processes inherit the group. So signals to the group of the parent, such as Ctrl-C in a
terminal or the SIGTERM of `timeout`, reach the parent alone, which then ends its workers. If the
fork server ended first, the parent would take its workers for dead and leave them running.

Until it has the group, the fork server blocks these signals, as its parent did when it started it:
Python itself is not ready for them while it starts. Those that came meanwhile are discarded.
"""

import os
import signal
import sys

GROUP_SIGNALS = (signal.SIGINT, signal.SIGTERM)

if sys.platform != "win32":
    os.setpgid(0, 0)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in GROUP_SIGNALS}
    signal.pthread_sigmask(signal.SIG_UNBLOCK, GROUP_SIGNALS)
    for number, handler in before.items():
        signal.signal(number, handler)

"""Gives the fork server a process group of its own, when it imports this module as its first.

Its worker processes inherit the group. So signals to the group of the parent, such as Ctrl-C in a
terminal or the SIGTERM of `timeout`, reach the parent alone, which then ends its workers. If the
fork server ended first, the parent would take its workers for dead and leave them running.
"""

import os
import sys

if sys.platform != "win32":
    os.setpgid(0, 0)

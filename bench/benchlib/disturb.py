"""Was something else running?  Asked of /proc/stat and of pressure stall information.

Own load is that of this process and its descendants, dead ones included, so
whatever the bench starts must stay its descendant.
"""

import os
import time

OTHER_SHARE = 0.10      # of one core, by processes that are not ours
OTHER_TICKS = 3         # below this /proc/stat says nothing
STALLED_SHARE = 0.20    # of the time, some task waited for a core ...
STALLED_OTHER = 0.03    # ... and others used that much of one: ours alone may wait for each other
TICKS = os.sysconf("SC_CLK_TCK")


def busy_ticks():
    """Ticks that all cores spent not idle."""
    with open("/proc/stat", encoding="ascii") as f:
        fields = [int(x) for x in f.readline().split()[1:9]]
    user, nice, system, _idle, _iowait, irq, softirq, steal = fields
    return user + nice + system + irq + softirq + steal


def stalled_seconds():
    try:
        with open("/proc/pressure/cpu", encoding="ascii") as f:
            return int(f.readline().rsplit("total=", 1)[1]) / 1e6
    except OSError:
        return 0.0


def parse_stat(text):
    """(parent, ticks of the process and of its reaped children) of /proc/PID/stat."""
    fields = text.rsplit(")", 1)[1].split()
    return int(fields[1]), sum(int(x) for x in fields[11:15])


def own_ticks():
    children = {}
    ticks = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="latin1") as f:
                parent, spent = parse_stat(f.read())
        except OSError:
            continue
        children.setdefault(parent, []).append(int(name))
        ticks[int(name)] = spent
    total = 0
    waiting = [os.getpid()]
    while waiting:
        pid = waiting.pop()
        total += ticks.get(pid, 0)
        waiting += children.get(pid, [])
    return total


class Watch:
    """with Watch() as watch: …; then watch.disturbed."""

    def __enter__(self):
        self.disturbed = False
        self.other = 0.0
        self._own = own_ticks()
        self._busy = busy_ticks()
        self._stalled = stalled_seconds()
        self._start = time.monotonic()
        return self

    def __exit__(self, *exception):
        elapsed = time.monotonic() - self._start
        stalled = stalled_seconds() - self._stalled
        other = busy_ticks() - self._busy - (own_ticks() - self._own)
        self.other = max(other, 0) / TICKS / elapsed
        self.disturbed = (other > max(OTHER_TICKS, OTHER_SHARE * elapsed * TICKS)
                          or (stalled > STALLED_SHARE * elapsed and self.other > STALLED_OTHER))

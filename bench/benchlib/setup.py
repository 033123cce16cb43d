"""Installing what the bench compares with: Debian packages, by the machine's own client."""

import os
import shutil
import subprocess
import sys

from benchlib import registry, words

TOOLS = ("valgrind", "perl", "grep")


def wanted_packages():
    packages = set(words.PACKAGES) | set(TOOLS)
    for engine in registry.engines():
        packages.update(engine.packages())
    return sorted(packages)


def missing_packages():
    missing = []
    for package in wanted_packages():
        done = subprocess.run(["dpkg-query", "-W", "-f=${Status}", package], capture_output=True, text=True)
        if "install ok installed" not in done.stdout:
            missing.append(package)
    return missing


def install():
    if shutil.which("dpkg-query") is None:
        print("bench: this is not Debian or Ubuntu; install by hand the equivalents of: "
              + " ".join(wanted_packages()), file=sys.stderr)
        return 2
    missing = missing_packages()
    if not missing:
        print("nothing is missing")
        return 0
    if os.geteuid() != 0:
        print("bench: as root, run: apt-get install " + " ".join(missing), file=sys.stderr)
        return 2
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    subprocess.run(["apt-get", "update", "-q"], check=False, env=environment)
    # One by one: a peer that a release does not have must not stop the others.
    failed = [package for package in missing
              if subprocess.run(["apt-get", "install", "-y", "-q", "--no-install-recommends", package],
                                env=environment).returncode != 0]
    if failed:
        print("bench: not installed, their engines will be skipped: " + " ".join(failed), file=sys.stderr)
    return 0

"""Word lists from Debian packages, and the dictionaries made of them.

Everything is generated from fixed seeds, so two machines with the same package
versions bench the same bytes; the digests stand in the results.
"""

import bisect
import functools
import gzip
import itertools
import random
import subprocess

from benchlib import paths

PACKAGES = ("python3-jieba", "wamerican", "manpages", "manpages-dev")
SHARED_DICTIONARY = "../shared/data/dict.txt"   # used where it is there
TERMS_CJK_SMALL = 1114
TERM_LENGTHS = {2: 11, 3: 11, 4: 41, 5: 20, 6: 7, 7: 6, 8: 3, 10: 1}     # characters, and how often
ASCII_TERMS = (b"K-19", b"2046", b"U-571", b"honey", b"KAIST")

# Maps random bytes to letters; the bias of 256 % 26 does not matter here.
LETTERS = bytes(97 + i % 26 for i in range(256))


class MissingData(Exception):
    """A word list that is not installed; `bench setup` installs it."""


def package_files(package, suffix):
    """The installed files of a Debian package that end in suffix, sorted."""
    try:
        listing = subprocess.run(["dpkg-query", "-L", package], check=True,
                                 capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        raise MissingData(f"package {package} is not installed; run bench/bench setup") from None
    files = sorted(line for line in listing.splitlines() if line.endswith(suffix))
    if not files:
        raise MissingData(f"package {package} has no file {suffix}")
    return files


@functools.cache
def cjk_words():
    """[(word, frequency)] of jieba's dictionary, purely Chinese words only."""
    words = []
    with open(package_files("python3-jieba", "/jieba/dict.txt")[0], encoding="utf8") as f:
        for line in f:
            fields = line.split()
            if len(fields) >= 2 and all("\u4e00" <= c <= "\u9fff" for c in fields[0]):
                words.append((fields[0], int(fields[1])))
    return words


@functools.cache
def english_words():
    """The words of wamerican as bytes, in its order."""
    with open(package_files("wamerican", "/american-english")[0], "rb") as f:
        return f.read().split()


@functools.cache
def common_words():
    """Short lower-case English words in a fixed random order, for Zipf sampling."""
    words = [w for w in english_words() if 4 <= len(w) <= 8 and w.isalpha() and w.islower()]
    random.Random(41).shuffle(words)
    return words


@functools.cache
def english_text():
    """The man pages of two packages as one text."""
    pages = []
    for package in ("manpages", "manpages-dev"):
        for name in package_files(package, ".gz"):
            with gzip.open(name) as f:
                pages.append(f.read())
    return b"".join(pages)


class Weighted:
    """Draws items by weight."""

    def __init__(self, items, weights):
        self.items = items
        self.cumulative = list(itertools.accumulate(weights))

    def draw(self, rng):
        return self.items[bisect.bisect(self.cumulative, rng.random() * self.cumulative[-1])]


@functools.cache
def zipf_words():
    words = common_words()
    return Weighted(words, [1 / (rank + 1) for rank in range(len(words))])


@functools.cache
def cjk_by_frequency():
    words = cjk_words()
    return Weighted([w.encode() for w, _ in words], [f for _, f in words])


# ---- dictionaries ----

def random_terms(count, seed):
    """Distinct random terms of 8 to 16 letters."""
    rng = random.Random(seed)
    terms = {}
    while len(terms) < count:
        terms[rng.randbytes(rng.randint(8, 16)).translate(LETTERS)] = None
    return list(terms)


def generated_titles():
    """1,114 terms with the lengths and the many first characters of a list of film titles."""
    rng = random.Random(11)
    frequent = [w for w, f in cjk_words() if 2 <= len(w) <= 3 and f >= 50]
    rare = {n: [w for w, f in cjk_words() if len(w) == n and 3 <= f <= 20] for n in (2, 3)}
    terms = dict.fromkeys(ASCII_TERMS)
    while len(terms) < TERMS_CJK_SMALL:
        length = rng.choices(list(TERM_LENGTHS), TERM_LENGTHS.values())[0]
        if length in rare:      # a frequent short word would stand in every other row
            term = rng.choice(rare[length])
        else:
            term = "".join(rng.choices(frequent, k=length))[:length]
        terms[term.encode()] = None
    return list(terms)


@functools.cache
def flavour():
    """Which dictionary of 1,114 terms this run uses; what is made of it is kept apart."""
    return "shared" if (paths.ROOT / SHARED_DICTIONARY).exists() else "generated"


def cjk_small():
    """The shared dictionary where it stands beside the project, else a generated one like it."""
    if flavour() == "shared":
        lines = (paths.ROOT / SHARED_DICTIONARY).read_bytes().splitlines()
        return [line.split(b"\t")[0] for line in lines if line.strip()]
    return generated_titles()


def cjk_large():
    """100,000 words of 2 to 6 characters."""
    words = [w.encode() for w, _ in cjk_words() if 2 <= len(w) <= 6]
    random.Random(12).shuffle(words)
    return words[:100_000]


def email_addresses():
    rng = random.Random(13)
    words = common_words()
    domains = [b"example.com", b"mail.test", b"corp.internal", b"foo.org"]
    addresses = {}
    while len(addresses) < 10_000:
        addresses[rng.choice(words) + b"." + rng.choice(words) + b"@" + rng.choice(domains)] = None
    return list(addresses)


def long_terms():
    """10,000 passages of 100 to 300 bytes of English."""
    rng = random.Random(14)
    text = b" ".join(english_text().split()).decode("ascii", "ignore").encode()
    terms = {}
    while len(terms) < 10_000:
        start = rng.randrange(len(text) - 300)
        terms[text[start:start + rng.randint(100, 300)].strip()] = None
    return [t for t in terms if len(t) >= 90]


DICTIONARIES = {
    "ascii1k": lambda: random_terms(1_000, 1),
    "ascii10k": lambda: random_terms(10_000, 2),
    "ascii100k": lambda: random_terms(100_000, 3),
    "ascii1m": lambda: random_terms(1_000_000, 4),
    "pattern100k": lambda: [b"pattern-%08d" % i for i in range(100_000)],
    "cjk1114": cjk_small,
    "cjk100k": cjk_large,
    "emails10k": email_addresses,
    "long10k": long_terms,
    "words": lambda: sorted({w for w in english_words() if len(w) >= 5}),
    "runs": lambda: [b"a" * k + b"b" for k in range(1, 201)],
    "overlap": lambda: [b"a", b"a" * 200 + b"b"],
    "selfoverlap": lambda: [b"ab" * k + b"c" for k in range(500, 532)],
}


@functools.cache
def dictionary(name):
    """The terms of a dictionary as a list of bytes, without newlines or tabs."""
    return DICTIONARIES[name]()

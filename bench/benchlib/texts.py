"""Texts to match against, and files of dictionaries, texts and rows.

A generator takes the number of bytes wanted and the terms of the workload's
dictionary.  Texts are valid UTF-8; the files are cached below build/bench/data.
"""

import hashlib
import random

from benchlib import paths, words

TITLE_BYTES = 31
TITLE_HIT_RATE = 0.056          # share of title rows that hold a term
DIGITS = bytes(b"0123456789 .,:-/"[i % 16] for i in range(256))


def until(size, draw, separator=b""):
    """Join what draw() gives until size bytes are there, cut to size."""
    parts = []
    total = 0
    while total < size:
        part = draw()
        parts.append(part)
        total += len(part) + len(separator)
    return separator.join(parts)[:size]


def letters(size, terms):
    return random.Random(21).randbytes(size).translate(words.LETTERS)


def digits(size, terms):
    return random.Random(22).randbytes(size).translate(DIGITS)


def hits(size, terms):
    """One term after the other, lines of about 100 bytes."""
    rng = random.Random(23)
    return until(size, lambda: b" ".join(rng.choices(terms, k=8)), b"\n")


def fragments(size, terms):
    """Prefixes of terms: whatever looks at a start only is wrong."""
    rng = random.Random(24)

    def draw():
        term = rng.choice(terms)
        return term[:rng.randint(4, len(term) - 1)]
    return until(size, draw)


def near(size, terms):
    """Mostly misses that share the fixed first half of a term."""
    rng = random.Random(25)
    return until(size, lambda: b"pattern-%08d" % rng.randrange(10 ** 8), b"\n")


def english(size, terms):
    text = words.english_text()
    return (text * (size // len(text) + 1))[:size]


def aaaa(size, terms):
    return b"a" * size


def abab(size, terms):
    return (b"ab" * (size // 2 + 1))[:size]


def log_line(rng):
    """A JSON log line; one user in fifty is of the e-mail dictionary."""
    zipf = words.zipf_words()
    message = b" ".join(zipf.draw(rng) for _ in range(rng.randint(4, 12)))
    if rng.random() < 0.02:
        user = rng.choice(words.dictionary("emails10k"))
    else:
        user = zipf.draw(rng) + b"." + zipf.draw(rng) + b"@example.com"
    return (b'{"ts":"2026-%02d-%02dT%02d:%02d:%02d.%03dZ","level":"%s","svc":"%s","req":"%016x",'
            b'"user":"%s","lat_ms":%d,"msg":"%s"}' % (
                rng.randint(1, 12), rng.randint(1, 28), rng.randint(0, 23), rng.randint(0, 59),
                rng.randint(0, 59), rng.randint(0, 999),
                rng.choice([b"INFO", b"WARN", b"ERROR", b"DEBUG"]),
                rng.choice([b"checkout", b"auth", b"billing", b"search", b"ingest"]),
                rng.getrandbits(64), user, rng.randint(1, 5000), message))


def log(size, terms):
    rng = random.Random(27)
    return until(size, lambda: log_line(rng), b"\n")


ASCII_IN_TITLES = [b"HD", b"2025", b"EP", b"01", b"12", b"BGM", b"MV", b"4K", b"!", b"|", b"#", b" "]
CJK_PUNCTUATION = [c.encode() for c in "，！？【】《》、"]


def title(rng, terms, hit_rate=TITLE_HIT_RATE):
    """A video title of about 31 bytes: words by their frequency, now and then a term."""
    frequent = words.cjk_by_frequency()
    length = max(6, int(rng.gauss(TITLE_BYTES, 11))) - 2
    term_at = rng.randint(0, 3) if rng.random() < hit_rate else -1
    text = b""
    count = 0
    while len(text) < length or count <= term_at:
        kind = rng.random()
        if count == term_at:
            text += rng.choice(terms)
        elif kind < 0.08:
            text += rng.choice(ASCII_IN_TITLES)
        elif kind < 0.14:
            text += rng.choice(CJK_PUNCTUATION)
        else:
            text += frequent.draw(rng)
        count += 1
    return text


def titles(size, terms):
    rng = random.Random(28)
    small = words.dictionary("cjk1114")
    return until(size, lambda: title(rng, small), b"\n").rsplit(b"\n", 1)[0]


TEXTS = {f.__name__: f for f in
         (letters, digits, hits, fragments, near, english, aaaa, abab, log, titles)}


# ---- files ----

def cached(name, make):
    """build/bench/data/FLAVOUR/NAME, made once; written beside and renamed so that it is whole."""
    target = paths.DATA / words.flavour() / name
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(target.name + ".partial")
        partial.write_bytes(make())
        partial.rename(target)
    return target


def dictionary_file(name):
    return cached(f"{name}.terms", lambda: b"\n".join(words.dictionary(name)) + b"\n")


def text_file(text, dictionary, size):
    """The file of a text of size bytes for the terms of a dictionary."""
    def make():
        # The cut may have split a character, and man pages are not all UTF-8.
        return TEXTS[text](size, words.dictionary(dictionary)).decode("utf8", "ignore").encode()
    return cached(f"{text}-{dictionary}-{size}.text", make)


def digest(path):
    """The first 12 hex digits of a file's SHA-256."""
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()[:12]

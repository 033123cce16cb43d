"""Rows for the SQL side, as files in COPY's text format; deterministic from fixed seeds."""

import random
import uuid

from benchlib import texts, words

HIT_RATE = texts.TITLE_HIT_RATE
WIDE_BYTES = 1900
DOCUMENT_BYTES = 64 * 1024
# About the bytes of a value, where it says how many rows are so much text.
VALUE_BYTES = {"titles": 33, "kilobyte": 1024, "documents": DOCUMENT_BYTES}


def escape(value):
    """A value as COPY wants it."""
    return value.replace(b"\\", b"\\\\").replace(b"\t", b"\\t").replace(b"\n", b"\\n")


def prose():
    """The English text on one line, ASCII only, so that any slice of it is a value."""
    return b" ".join(words.english_text().split()).decode("ascii", "ignore").replace("\\", "").encode()


def passage(rng, text, size, terms):
    """A slice of the text; sometimes with a term in its midst."""
    start = rng.randrange(len(text) - size)
    value = text[start:start + size]
    if rng.random() < HIT_RATE:
        middle = size // 2
        value = value[:middle] + rng.choice(terms) + value[middle:]
    return value


def wide(count, terms):
    rng, text = random.Random(51), prose()
    for _ in range(count):
        yield (passage(rng, text, rng.randint(WIDE_BYTES - 200, WIDE_BYTES + 200), terms),)


def documents(count, terms):
    rng, text = random.Random(52), prose()
    for _ in range(count):
        yield (passage(rng, text, DOCUMENT_BYTES, terms),)


def kilobyte(count, terms):
    rng, text = random.Random(53), prose()
    for _ in range(count):
        yield (passage(rng, text, 1024, terms),)


def titles(count, terms):
    rng = random.Random(54)
    for _ in range(count):
        yield (texts.title(rng, terms),)


def loglines(count, terms):
    rng = random.Random(55)
    for _ in range(count):
        line = texts.log_line(rng)
        if rng.random() < HIT_RATE:
            line = line[:-2] + b" " + rng.choice(terms) + line[-2:]
        yield (line,)


def events(count, terms):
    """Nested JSON with a term in a string now and then."""
    for (line,) in loglines(count, terms):
        yield (b'{"kind":"event","tags":["a","b",1,null],"payload":' + line + b'}',)


def mixed(count, terms):
    rng, text = random.Random(56), prose()
    for _ in range(count):
        yield (b"%d" % rng.randrange(-10 ** 6, 10 ** 6), rng.choice([b"t", b"f"]),
               b"%d.%02d" % (rng.randrange(10 ** 6), rng.randrange(100)), b"%r" % (rng.random() * 1000),
               b"20%02d-%02d-%02d" % (rng.randrange(10, 30), rng.randint(1, 12), rng.randint(1, 28)),
               b"2026-%02d-%02d %02d:%02d:%02d.%06d+00" % (
                   rng.randint(1, 12), rng.randint(1, 28), rng.randrange(24), rng.randrange(60),
                   rng.randrange(60), rng.randrange(10 ** 6)),
               str(uuid.UUID(int=rng.getrandbits(128))).encode(), passage(rng, text, 60, [b""]),
               passage(rng, text, 200, terms), b'{"a": %d, "b": "x y"}' % rng.randrange(1000))


ROWS = {f.__name__: f for f in (wide, documents, kilobyte, titles, loglines, events, mixed)}


def copy_file(name, count):
    """The file of "count" rows of a table, each with its number first."""
    def make():
        terms = words.dictionary("cjk1114")
        lines = (b"\t".join((b"%d" % number, *map(escape, row)))
                 for number, row in enumerate(ROWS[name](count, terms), 1))
        return b"\n".join(lines) + b"\n"
    return texts.cached(f"{name}-{count}.copy", make)

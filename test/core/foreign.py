#!/usr/bin/env python3
"""Write an artifact knowing only doc/artifact-format.md.

Usage: foreign.py OUTPUT TERMS, where TERMS holds lines of
pattern<TAB>replacement<TAB>id<TAB>priority with distinct patterns in
hexadecimal.  Slow and simple on purpose: it shows that the description is
complete, and places slots otherwise than core does.

Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
"""
import hashlib
import struct
import sys

FREE = 0xFFFFFFFF
M64 = 2**64 - 1


def xxh64(data):
    """XXH64 with seed 0, after its specification."""
    p1, p2, p3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
    p4, p5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5

    def rot(x, n):
        return ((x << n) | (x >> (64 - n))) & M64

    def mix(acc, lane):
        return rot((acc + lane * p2) & M64, 31) * p1 & M64

    i, n = 0, len(data)
    if n >= 32:
        acc = [(p1 + p2) & M64, p2, 0, -p1 & M64]
        while n - i >= 32:
            acc = [mix(a, lane) for a, lane in zip(acc, struct.unpack_from("<4Q", data, i))]
            i += 32
        h = sum(rot(a, r) for a, r in zip(acc, (1, 7, 12, 18))) & M64
        for a in acc:
            h = ((h ^ mix(0, a)) * p1 + p4) & M64
    else:
        h = p5
    h = (h + n) & M64
    while n - i >= 8:
        h = (rot(h ^ mix(0, struct.unpack_from("<Q", data, i)[0]), 27) * p1 + p4) & M64
        i += 8
    if n - i >= 4:
        h = (rot(h ^ struct.unpack_from("<I", data, i)[0] * p1 & M64, 23) * p2 + p3) & M64
        i += 4
    while i < n:
        h = rot(h ^ data[i] * p5 & M64, 11) * p1 & M64
        i += 1
    for shift, prime in ((33, p2), (29, p3), (32, 1)):
        h = (h ^ h >> shift) * prime & M64
    return h


def automaton(strings):
    """The slots and depths of sorted strings' automaton, and each one's slot."""
    children = {b"": []}
    for s in strings:
        for i in range(len(s)):
            if s[:i + 1] not in children:
                children[s[:i + 1]] = []
                children[s[:i]].append(s[i])
    nodes = sorted(children, key=lambda s: (len(s), s))
    slot = {b"": 0}
    base = {}
    used = {0}
    for node in nodes:
        labels = children[node]
        b = 0
        # From the top of each block down: not what core does.
        while labels and any((b ^ 255 ^ c) in used for c in labels):
            b += 1
        base[node] = b ^ 255 if labels else 0
        for c in labels:
            slot[node + bytes([c])] = base[node] ^ c
            used.add(base[node] ^ c)
    nslots = (max(max(used), max(base.values())) // 256 + 1) * 256
    index = {s: i for i, s in enumerate(strings)}
    slots = [[0, FREE, 0, 0] for _ in range(nslots)]
    depths = [0] * nslots
    out = {b"": 0}
    for node in nodes[1:]:
        suffixes = [node[i:] for i in range(1, len(node) + 1)]
        fail = next(s for s in suffixes if s in slot)
        out[node] = index[node] + 1 if node in index else out[fail]
        slots[slot[node]] = [0, slot[node[:-1]], slot[fail], out[node]]
        depths[slot[node]] = len(node)
    for node in nodes:
        slots[slot[node]][0] = base[node]
    packed = b"".join(struct.pack("<4I", *s) for s in slots)
    return packed, struct.pack("<%dH" % nslots, *depths), slot, len(nodes)


def longest(candidates):
    """The longest of some strings, or None."""
    return max(candidates, key=len, default=None)


def main(output, path):
    rows = [line.rstrip("\n").split("\t") for line in open(path)]
    terms = {bytes.fromhex(p): (bytes.fromhex(r), int(i), int(prio)) for p, r, i, prio in rows}
    strings = sorted(terms)
    index = {s: i for i, s in enumerate(strings)}
    states, depths, slot, nstates = automaton(strings)

    blob = b""
    records = b""
    for s in strings:
        replacement, ident, priority = terms[s]
        suffixes = [t for t in strings if s.endswith(t)]
        following = longest([t for t in suffixes if t != s])
        best = max(suffixes, key=lambda t: (terms[t][2], len(t)))
        records += struct.pack("<qQIiIIII", ident, len(blob), len(replacement), priority, len(s),
                               slot[s], 0 if following is None else index[following] + 1, index[best])
        blob += replacement
    sections = [(1, states), (2, depths), (3, records), (4, blob)]

    long_terms = sorted(s[::-1] for s in strings if len(s) > 32)
    if long_terms:
        lstates, ldepths, _, _ = automaton(long_terms)
        lindex = {s: i for i, s in enumerate(long_terms)}
        lrecords = b""
        for s in long_terms:
            prefixes = [t for t in long_terms if s.endswith(t)]
            following = longest([t for t in prefixes if t != s])
            best = min(prefixes, key=lambda t: (-terms[t[::-1]][2], terms[t[::-1]][1], -len(t)))
            lrecords += struct.pack("<4I", index[s[::-1]],
                                    0 if following is None else lindex[following] + 1, lindex[best], 0)
        sections += [(5, lstates), (6, ldepths), (7, lrecords)]

    at = 88 + 24 * len(sections)
    table = body = b""
    for kind, data in sections:
        table += struct.pack("<IIQQ", kind, 0, at, len(data))
        body += data + bytes(-len(data) % 8)
        at += len(data) + -len(data) % 8
    lens = [len(s) for s in strings]
    rest = struct.pack("<6I", len(strings), nstates, min(lens), max(lens), len(sections), 0) + table + body
    rest = hashlib.sha256(rest).digest() + rest
    head = b"\x89ACD\r\n\x1a\n" + struct.pack("<HHIQ", 1, 88, 0, len(rest) + 32)
    with open(output, "wb") as f:
        f.write(head + struct.pack("<Q", xxh64(rest)) + rest)


main(sys.argv[1], sys.argv[2])

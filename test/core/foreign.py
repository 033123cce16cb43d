#!/usr/bin/env python3
"""Write an artifact knowing only doc/artifact-format.md.

Usage: foreign.py OUTPUT TERMS, where TERMS holds lines of
pattern<TAB>replacement<TAB>id<TAB>priority with distinct patterns in
hexadecimal.  Slow and simple on purpose: it shows that the description is
complete, and decides everything it may decide otherwise than core does.

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
    return packed, struct.pack("<%dH" % nslots, *depths)


def pad(data, unit):
    """Data with zeros up to a multiple of unit."""
    return data + bytes(-len(data) % unit)


def tree(strings, index, start, at):
    """The nodes of one tree of sorted strings that agree in "start" bytes."""
    nodes = []                          # path, depth, term, children, label, parent
    queue = [(strings, 0, None, 0)]
    while queue:
        group, depth, parent, label = queue.pop(0)
        end = start if parent is None else depth
        while len(group[0]) > end and all(len(s) > end and s[end] == group[0][end] for s in group):
            end += 1
        term = index[group[0]] + 1 if len(group[0]) == end else 0
        rest = [s for s in group if len(s) > end]
        labels = sorted({s[end] for s in rest})
        number = len(nodes)
        nodes.append([group[0][depth:end], end, term, labels, label, parent, []])
        if parent is not None:
            nodes[parent][6].append(number)
        for c in labels:
            queue.append(([s for s in rest if s[end] == c], end + 1, number, c))
    offsets = []
    for path, _, _, labels, _, _, _ in nodes:
        offsets.append(at)
        at += 16 + len(pad(path, 4)) + len(pad(bytes(labels), 4)) + 4 * len(labels)
    data = b""
    where = {}
    for (path, end, term, labels, label, parent, children), offset in zip(nodes, offsets):
        up = 0 if parent is None else offset - offsets[parent]
        label = 0x100 if parent is None else label      # tier 0, deep
        data += struct.pack("<IIHHHH", term, up, end, len(path), len(labels), label)
        data += pad(path, 4) + pad(bytes(labels), 4)
        data += b"".join(struct.pack("<I", offsets[c]) for c in children)
        if term:
            where[term - 1] = offset
    return data, where, len(nodes)


def tier_sections(strings, index):
    """TIERS, FILTERS, TABLES, NODES, the node of each term and their number."""
    window = min(min(map(len, strings)), 8)
    long_keys = len(strings) % 2 == 0 and window < 8
    groups = {}
    for s in strings:
        groups.setdefault(s[:window], []).append(s)
    bits = 4
    while 2**bits < 4 * len(groups):
        bits += 1
    multiplier = 0x9E3779B97F4A7C15
    words = [0] * 2**bits
    slots = [(0, 0)] * 2**bits
    nodes = bytes(8)
    where = {}
    count = 0
    for prefix, group in groups.items():
        product = int.from_bytes(prefix, "little") * multiplier & M64
        for s in group:
            key, places = product, (38, 32)
            if long_keys:
                places = (44, 38, 32)
                if len(s) >= 8:
                    other = (multiplier << 32 | multiplier >> 32) & M64 | 1
                    key, places = int.from_bytes(s[:8], "little") * other & M64, (58, 52, 46)
            for place in places:
                words[product >> 64 - bits] |= 1 << (key >> place & 63)
        slot = product >> 64 - bits
        tag = (product ^ product >> 32) & 0xFFFFFFFF
        while slots[slot][1]:
            assert slots[slot][0] != tag
            slot = (slot + 1) % 2**bits
        slots[slot] = (tag, len(nodes) + 1 + 2 * (prefix in group))
        data, found, n = tree(group, index, window, len(nodes))
        nodes += data
        where.update(found)
        count += n
    # Classes that every byte is in.
    record = struct.pack("<10IQ", len(groups), min(map(len, strings)), max(map(len, strings)),
                         window, 0, 8 if long_keys else window, bits, 0, bits, 0, multiplier)
    record += bytes([window] * 16) + bytes([1] * 128)
    filters = struct.pack("<%dQ" % len(words), *words)
    table = b"".join(struct.pack("<II", *s) for s in slots)
    return record, filters, table, nodes + bytes(64), where, count


def longest(candidates):
    """The longest of some strings, or None."""
    return max(candidates, key=len, default=None)


def main(output, path):
    rows = [line.rstrip("\n").split("\t") for line in open(path)]
    terms = {bytes.fromhex(p): (bytes.fromhex(r), int(i), int(prio)) for p, r, i, prio in rows}
    strings = sorted(terms)
    index = {s: i for i, s in enumerate(strings)}
    tiers, filters, tables, nodes, where, nnodes = tier_sections(strings, index)

    blob = b""
    records = b""
    wide = b""
    narrow = all(0 <= i < 1 << 32 and -1 << 15 <= p < 1 << 15 for _, i, p in terms.values())
    for s in strings:
        replacement, ident, priority = terms[s]
        records += struct.pack("<IIIHh", ident if narrow else 0, len(blob) // 4, where[index[s]], len(s),
                               priority if narrow else 0)
        wide += struct.pack("<qi", ident, priority)
        blob += pad(struct.pack("<I", len(replacement)) + replacement, 4)

    reverse = sorted(s[::-1] for s in strings)
    states, depths = automaton(reverse)
    rindex = {s: i for i, s in enumerate(reverse)}
    ends = b""
    for s in reverse:
        prefixes = [t for t in reverse if s.endswith(t)]
        following = longest([t for t in prefixes if t != s])
        first = min(prefixes, key=lambda t: (-terms[t[::-1]][2], terms[t[::-1]][1], -len(t)))
        cover = min(prefixes, key=lambda t: (-terms[t[::-1]][2], -len(t)))
        ends += struct.pack("<4I", index[s[::-1]], 0 if following is None else rindex[following] + 1,
                            rindex[first], rindex[cover])
    sections = list(enumerate([records, blob, tiers, filters, tables, nodes, states, depths, ends, wide], 1))
    if narrow:
        sections.pop()

    at = 88 + 24 * len(sections)
    table = body = b""
    for kind, data in sections:
        table += struct.pack("<IIQQ", kind, 0, at, len(data))
        body += pad(data, 8)
        at += len(pad(data, 8))
    lens = [len(s) for s in strings]
    rest = struct.pack("<6I", len(strings), nnodes, min(lens), max(lens), len(sections), 1) + table + body
    rest = hashlib.sha256(rest).digest() + rest
    head = b"\x89ACD\r\n\x1a\n" + struct.pack("<HHIQ", 1, 88, 0, len(rest) + 32)
    with open(output, "wb") as f:
        f.write(head + struct.pack("<Q", xxh64(rest)) + rest)


main(sys.argv[1], sys.argv[2])

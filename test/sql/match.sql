-- contains, replace and matches by every match kind.
CREATE EXTENSION acdat_decoder;
\set SHOW_CONTEXT never

CREATE FUNCTION show(value text, machine acdat.machine, kind text) RETURNS text
	LANGUAGE sql AS $$
	SELECT coalesce(string_agg(format('%s:%s-%s=%s', id, byte_start, byte_end, matched), ' '), '-')
		FROM acdat.matches(value, machine, kind)
$$;
CREATE TABLE kinds (n integer, kind text);
INSERT INTO kinds VALUES (1, 'all_overlapping'), (2, 'leftmost_longest'), (3, 'leftmost_first'), (4, 'cover');

-- the textbook
SELECT kind, show('ushers', acdat.compile(p ORDER BY i), kind)
	FROM kinds, unnest(ARRAY['he', 'she', 'his', 'hers']) WITH ORDINALITY AS t (p, i) GROUP BY n, kind ORDER BY n;
-- leftmost-first takes the first term, leftmost-longest the longest
SELECT kind, show('Samwise', acdat.compile(p ORDER BY i), kind)
	FROM kinds, unnest(ARRAY['Sam', 'Samwise']) WITH ORDINALITY AS t (p, i) GROUP BY n, kind ORDER BY n;
-- a match inside a longer attempt that fails
SELECT kind, show('abcdex', acdat.compile(p ORDER BY i), kind)
	FROM kinds, unnest(ARRAY['abcdef', 'bc', 'cde', 'd']) WITH ORDINALITY AS t (p, i) GROUP BY n, kind ORDER BY n;
-- touching matches stay apart, matches that share a byte are one span
SELECT kind, show('aaaa', acdat.compile(p ORDER BY i), kind)
	FROM kinds, unnest(ARRAY['aa']) WITH ORDINALITY AS t (p, i) GROUP BY n, kind ORDER BY n;
SELECT kind, show('abab', acdat.compile(p ORDER BY i), kind)
	FROM kinds, unnest(ARRAY['ab']) WITH ORDINALITY AS t (p, i) GROUP BY n, kind ORDER BY n;
-- priorities beat length and position
SELECT kind, show('abcd', acdat.compile(p, r, id, pri), kind)
	FROM kinds, (VALUES ('ab', 'x', 1::bigint, 0), ('bcd', 'y', 2, 0), ('c', 'z', 3, 9)) AS t (p, r, id, pri)
	GROUP BY n, kind ORDER BY n;

SELECT kind, acdat.replace('abcd Samwise ushers', acdat.compile(p, '<' || i || '>', i ORDER BY i), kind)
	FROM kinds, unnest(ARRAY['ab', 'bc', 'cd', 'Sam', 'Samwise', 'he', 'she', 'hers']) WITH ORDINALITY AS t (p, i)
	WHERE kind <> 'all_overlapping' GROUP BY n, kind ORDER BY n;
SELECT acdat.replace('abcd', m), acdat.contains('abcd', m), acdat.contains('xyz', m), acdat.contains('', m), acdat.replace('', m) = ''
	FROM (SELECT acdat.compile('bc', '') AS m) s;
SELECT acdat.replace('bcbc', acdat.compile('bc', '')) = '' AS empty;

-- a value without a match is the same value
CREATE TABLE big (v text);
INSERT INTO big SELECT string_agg(md5(i::text), '') FROM generate_series(1, 1000) i;
SELECT pg_column_size(acdat.replace(v, m)) = pg_column_size(v) AS toasted_as_it_was, acdat.replace(v, m) = v AS same
	FROM big, (SELECT acdat.compile('zzz') AS m) s;
DROP TABLE big;

-- characters and bytes
SELECT * FROM acdat.matches('äöü漢字🙂ab', (SELECT acdat.compile(p ORDER BY i) FROM unnest(ARRAY['ö', '漢字', '🙂', 'b', 'ü漢']) WITH ORDINALITY AS t (p, i)));
SELECT * FROM acdat.matches('äöü漢字🙂ab', (SELECT acdat.compile(p ORDER BY i) FROM unnest(ARRAY['ö', '漢字', '🙂', 'b', 'ü漢']) WITH ORDINALITY AS t (p, i)), 'cover');
SELECT * FROM acdat.matches('\x00ff00ff'::bytea, (SELECT acdat.compile('\xff'::bytea)));

-- no match inside a character, whatever bytes a machine holds
SELECT acdat.contains('é', m) AS text, acdat.contains('é'::bytea, m) AS bytes, acdat.replace('é!', m), acdat.replace(convert_to('é!', 'UTF8'), m)
	FROM (SELECT acdat.compile(p, '?'::bytea) AS m FROM unnest(ARRAY['\xa9', '\xc3']::bytea[]) p) s;
SELECT show('é!', acdat.compile(p), 'all_overlapping') FROM unnest(ARRAY['\xa921', '\xc3', '\xc3a9', '\x21']::bytea[]) p;
-- and no result that is not text
SELECT acdat.replace('abc', acdat.compile('b'::bytea, '\xff'::bytea));
SELECT acdat.replace('abc', acdat.compile('b'::bytea, '\x00'::bytea));
SELECT acdat.replace('abc'::bytea, acdat.compile('b'::bytea, '\x00'::bytea));

-- a machine by row: in the row and in a TOAST table, the same one again or another one
CREATE TABLE by_row (n integer, machine acdat.machine);
INSERT INTO by_row SELECT n, acdat.compile(p) FROM generate_series(0, 6) n,
	LATERAL (SELECT 't' || n || 'x' UNION ALL SELECT md5(i::text) FROM generate_series(1, n % 2 * 1000) i) t (p) GROUP BY n;
SELECT bool_and(acdat.contains('at' || i / 3 % 7 || 'x', (SELECT machine FROM by_row WHERE n = i / 3 % 7))) AS own,
	bool_or(acdat.contains('at' || (i / 3 + 1) % 7 || 'x', (SELECT machine FROM by_row WHERE n = i / 3 % 7))) AS another,
	count(DISTINCT acdat.replace('at' || i / 3 % 7 || 'x', (SELECT machine FROM by_row WHERE n = i / 3 % 7))) AS replaced,
	bool_and(acdat.contains(CASE WHEN i % 2 = 0 THEN 'é' ELSE '!' END, (SELECT CASE WHEN i % 2 = 0 THEN a ELSE b END
		FROM (SELECT acdat.compile('\xa9'::bytea) AS a, acdat.compile('!') AS b) s)) = (i % 2 = 1)) AS compiled
	FROM generate_series(0, 41) i;
DROP TABLE by_row;

-- misspelt
SELECT acdat.replace('a', acdat.compile('a'), 'covr');
SELECT * FROM acdat.matches('a', (SELECT acdat.compile('a')), 'leftmostlongest');
SELECT * FROM acdat.matches('a', (SELECT acdat.compile('a')), 'nothing like it');
SELECT acdat.replace('a', acdat.compile('a'), 'all_overlapping');
SELECT acdat.replace('a', acdat.compile('a'), NULL);

-- many matches
SELECT count(*), max(byte_end) FROM acdat.matches(repeat('ab', 100000), (SELECT acdat.compile(p) FROM unnest(ARRAY['a', 'b', 'ab']) p));
SELECT md5(acdat.replace(repeat('ab', 100000), acdat.compile('ab', 'xyz'))) = md5(repeat('xyz', 100000)) AS same;
-- as set-returning functions are used
SELECT acdat.matches('ushers', (SELECT acdat.compile('s')));
SELECT v, count(id) FROM (VALUES ('his'), ('hers'), ('us')) t (v) LEFT JOIN acdat.matches(v, (SELECT acdat.compile('s'))) ON true
	GROUP BY v ORDER BY v;

DROP TABLE kinds;
DROP FUNCTION show;
DROP EXTENSION acdat_decoder;

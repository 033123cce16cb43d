-- The aggregates acdat.compile.
CREATE EXTENSION acdat_decoder;
\set SHOW_CONTEXT never

CREATE FUNCTION show(value text, machine acdat.machine, kind text DEFAULT 'all_overlapping') RETURNS text
	LANGUAGE sql AS $$
	SELECT string_agg(format('%s:%s-%s=%s', id, byte_start, byte_end, matched), ' ')
		FROM acdat.matches(value, machine, kind)
$$;

-- ids count the terms added; null patterns are no terms
SELECT show('abc', acdat.compile(p ORDER BY n)) FROM unnest(ARRAY['a', NULL, 'b', 'c']) WITH ORDINALITY AS t (p, n);
SELECT acdat.replace('abc', acdat.compile(p, r ORDER BY n))
	FROM (VALUES (1, 'a', '<A>'), (2, 'b', NULL), (3, 'c', '')) AS t (n, p, r);
SELECT show('abc', acdat.compile(p, r, id))
	FROM (VALUES ('a', 'x', 9223372036854775807), ('b', 'x', -9223372036854775808), ('c', 'x', 0)) AS t (p, r, id);

-- of two terms with one pattern the better priority stays, then the lower id
SELECT acdat.replace('abc', acdat.compile(p, r, id, pri))
	FROM (VALUES ('a', '1', 1, 0), ('a', '2', 2, 5), ('b', '3', 3, NULL), ('b', '4', 4, 0), ('c', '5', 6, -1), ('c', '6', 5, -1)) AS t (p, r, id, pri);
SELECT terms FROM acdat.describe((SELECT acdat.compile(p) FROM unnest(ARRAY['a', 'a', 'b']) p));

-- the order of aggregation changes nothing once ids are given
SELECT count(DISTINCT m::text) FROM (
	SELECT acdat.compile('t' || i, 'r', i::bigint ORDER BY i) AS m FROM generate_series(1, 100) i
	UNION ALL SELECT acdat.compile('t' || i, 'r', i::bigint ORDER BY i DESC) FROM generate_series(1, 100) i) AS s;

-- options: none has a meaning yet
SELECT show('a', acdat.compile('a', 'x', 1::bigint, 0, '{}')), show('a', acdat.compile('a', 'x', 1::bigint, 0, NULL));
SELECT acdat.compile('a', 'x', 1::bigint, 0, ARRAY['whole_word']);
SELECT acdat.compile('a', 'x', 1::bigint, 0, ARRAY[NULL]::text[]);

-- bytea
SELECT show('abc', acdat.compile(p)) FROM unnest(ARRAY['\x61', '\x6263']::bytea[]) p;
SELECT acdat.replace('\x00ff00'::bytea, acdat.compile('\xff'::bytea, '\x0000'::bytea, 7::bigint, 0, '{}'));
SELECT acdat.replace('\x00ff00'::bytea, acdat.compile('\x00'::bytea, '\x'::bytea));
SELECT acdat.replace('\x41'::bytea, acdat.compile('\x41'::bytea, NULL));

-- nothing to compile
SELECT acdat.compile(p) IS NULL FROM unnest('{}'::text[]) p;
SELECT acdat.compile(p) IS NULL FROM unnest(ARRAY[NULL, NULL]::text[]) p;
SELECT acdat.compile(NULL::text, 'x'), acdat.compile(NULL::bytea);

-- what cannot be compiled; messages count terms and show none
SELECT acdat.compile('');
SELECT acdat.compile(p ORDER BY n) FROM unnest(ARRAY['topsecret', NULL, '']) WITH ORDINALITY AS t (p, n);
SELECT acdat.compile(''::bytea);
SELECT acdat.compile('topsecret', 'x', NULL::bigint);
SELECT acdat.compile(repeat('topsecre', 8192));
SELECT min_len FROM acdat.describe((SELECT acdat.compile(substr(repeat('topsecre', 8192), 2))));
SELECT acdat.compile('a') OVER ();
SELECT acdat.compile_step(NULL, 'a');

-- as any aggregate: FILTER, GROUP BY, DISTINCT
SELECT g, show('abcd', acdat.compile(p) FILTER (WHERE p <> 'c')) FROM
	(VALUES (1, 'a'), (1, 'b'), (2, 'c'), (2, 'd'), (3, 'c')) AS t (g, p) GROUP BY g ORDER BY g;
SELECT terms FROM acdat.describe((SELECT acdat.compile(DISTINCT p) FROM unnest(ARRAY['a', 'a', 'b']) p));

DROP FUNCTION show;
DROP EXTENSION acdat_decoder;

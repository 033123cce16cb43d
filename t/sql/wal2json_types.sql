-- Sample values of every built-in type, and tables for them.
--
-- A type T has two tables.  "ty_T" has values whose text hides nothing, so
-- that a policy that redacts passes them on; "te_T" has the others, in whose
-- text form a quote or a backslash is escaped.  Columns: the type, a domain
-- over it, an array and a composite type of it.

CREATE SCHEMA samples;
CREATE TABLE samples.literals (type regtype, value text);

INSERT INTO samples.literals SELECT type::regtype, value FROM (VALUES
	('bool', ARRAY['t', 'f']),
	('bytea', ARRAY['', '\x00', '\xdeadbeef', 'abc']),
	('"char"', ARRAY['a', '', ' ', '\', '"', '\001', '\377']),
	('name', ARRAY['a', '', 'a b', 'quote" back\slash', repeat('n', 63)]),
	('int8', ARRAY['0', '-1', '9223372036854775807', '-9223372036854775808']),
	('int2', ARRAY['0', '-1', '32767', '-32768']),
	('int2vector', ARRAY['', '1 2', '-32768 0']),
	('int4', ARRAY['0', '-1', '2147483647', '-2147483648']),
	('regproc', ARRAY['-', 'array_in', '4294967295']),
	('text', ARRAY['', 'plain', 'a b', e'tab\tnewline\nreturn\rfeed\fbell\x07del\x7f', 'quote" back\slash''s /',
		e'\u00e4\u20ac\U0001F600 \u202eRTL \u05d0 \u2028', '{}', 'null', '<&>', ' lead', e'\x01\x02\x1f',
		repeat('long ', 300)]),
	('oid', ARRAY['0', '1', '2147483648', '4294967295']),
	('tid', ARRAY['(0,0)', '(4294967295,65535)']),
	('xid', ARRAY['0', '4294967295']),
	('cid', ARRAY['0', '4294967295']),
	('oidvector', ARRAY['', '1 4294967295']),
	('json', ARRAY['1', 'null', '""', '{"a" : [1, "b\u0041\"\\", null],  "a": 2}', e'[1,\n\t2]', ' {} ', '"\u0000"']),
	('xml', ARRAY['<a>b</a>', '', 'text', '<a b="c">&amp;&#8364;</a>', '<?xml version="1.0"?><a/>']),
	('xid8', ARRAY['0', '18446744073709551615']),
	('point', ARRAY['(0,0)', '(1.5,-1e+300)', '(NaN,Infinity)']),
	('lseg', ARRAY['[(0,0),(1,1)]']),
	('path', ARRAY['[(0,0),(1,1)]', '((0,0),(1,1),(2,0.1))']),
	('box', ARRAY['(1,1),(0,0)']),
	('polygon', ARRAY['((0,0),(1,1),(2,0))']),
	('line', ARRAY['{1,-1,0}']),
	('cidr', ARRAY['10.0.0.0/8', '::/0']),
	('float4', ARRAY['0', '-0', '1.5', '3.4028235e38', '1e-45', 'NaN', 'Infinity', '-Infinity', '0.1', '1e20', '16777216']),
	('float8', ARRAY['0', '-0', '1.5', '1.7976931348623157e308', '5e-324', 'NaN', 'Infinity', '-Infinity', '0.1', '1e20', '1e15', '123456789012345678']),
	('circle', ARRAY['<(0,0),1>']),
	('money', ARRAY['0', '-92233720368547758.08', '1234567.89']),
	('macaddr', ARRAY['08:00:2b:01:02:03']),
	('inet', ARRAY['0.0.0.0', '192.168.1.5/24', 'fe80::1/64', '::ffff:1.2.3.4']),
	('aclitem', ARRAY['=r/postgres', 'postgres=arwdDxt/postgres']),
	('macaddr8', ARRAY['08:00:2b:01:02:03:04:05']),
	('bpchar', ARRAY['', 'a', 'a  ', 'quote" back\slash']),
	('varchar', ARRAY['', 'a', 'a  ', 'quote" back\slash']),
	('date', ARRAY['2024-02-29', 'infinity', '-infinity', '4714-11-24 BC', '0001-12-31 BC', '0001-01-01', '5874897-12-31']),
	('time', ARRAY['00:00:00', '24:00:00', '23:59:59.999999', '12:00:00.5']),
	('timestamp', ARRAY['2024-02-29 12:34:56.789', 'infinity', '-infinity', '4714-11-24 00:00:00 BC', '294276-12-31 23:59:59.999999', '0001-01-01 00:00:00', '1999-12-31 23:59:59.000001']),
	('timestamptz', ARRAY['2024-02-29 12:34:56.789+05:30', 'infinity', '-infinity', '4714-11-24 00:00:00+00 BC', '294276-12-31 23:59:59.999999+00', '2024-07-01 00:00:00+02', '1970-01-01 00:00:00.1+00']),
	('interval', ARRAY['0', '1 year 2 mons -3 days 04:05:06.7', '-178000000 years', '00:00:00.000001', '-1 days +02:03:00']),
	('timetz', ARRAY['00:00:00+00', '24:00:00-15:59', '23:59:59.999999+15:59:59']),
	('bit', ARRAY['0', '1']),
	('varbit', ARRAY['', '0', '10101', repeat('01', 40)]),
	('numeric', ARRAY['0', '-1.50', '0.000000000000000000000000000000000001', '1e100', '-99999999999999999999999999999999.99999',
		'NaN', 'Infinity', '-Infinity', '1' || repeat('0', 300) || '.' || repeat('3', 200), '10000', '0.00010000']),
	('refcursor', ARRAY['', 'cursor', 'quote" back\slash']),
	('regprocedure', ARRAY['-', 'abs(integer)', '4294967295']),
	('regoper', ARRAY['0', '4294967295', '||/']),
	('regoperator', ARRAY['0', '+(integer,integer)', '4294967295']),
	('regclass', ARRAY['-', 'pg_class', '4294967295', 'samples.literals']),
	('regtype', ARRAY['-', 'integer', '"char"', 'character varying', '4294967295', 'text[]']),
	('regrole', ARRAY['-', 'postgres', '4294967295']),
	('regnamespace', ARRAY['-', 'pg_catalog', '4294967295']),
	('regcollation', ARRAY['-', '"C"', '4294967295']),
	('regconfig', ARRAY['-', 'simple', '4294967295']),
	('regdictionary', ARRAY['-', 'simple', '4294967295']),
	('uuid', ARRAY['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11']),
	('txid_snapshot', ARRAY['10:20:10,14,15']),
	('pg_snapshot', ARRAY['10:20:10,14,15']),
	('pg_lsn', ARRAY['0/0', 'FFFFFFFF/FFFFFFFF', '16/B374D848']),
	('tsvector', ARRAY['', 'a:1A b', '''quo''''te'' ''back\\slash''']),
	('tsquery', ARRAY['', '''a'' & ''b'':*A', '!''quo''''te'' | ''back\\slash'' <2> ''c''']),
	('jsonb', ARRAY['1', 'null', '""', '{"a": [1, "b\u0041\"\\", null],  "c": 2}', '{}', '[]', '-1.50', '"\u00e4"']),
	('jsonpath', ARRAY['$', '$."a"[*] ? (@ > 1)', 'strict $."quo\"te"']),
	('int4range', ARRAY['empty', '[1,5)', '(,)', '[-2147483648,2147483647)']),
	('numrange', ARRAY['empty', '[1.50,NaN)', '(,5]']),
	('tsrange', ARRAY['empty', '["2024-01-01 00:00:00",infinity)', '(,)']),
	('tstzrange', ARRAY['empty', '["2024-01-01 00:00:00+00",infinity]', '(,)']),
	('daterange', ARRAY['empty', '[2024-01-01,2024-02-01)', '[4714-11-24 BC,)']),
	('int8range', ARRAY['empty', '[-9223372036854775808,9223372036854775807)']),
	('int4multirange', ARRAY['{}', '{[1,3),[5,7)}']),
	('nummultirange', ARRAY['{}', '{[1.0,3.0),(5,)}']),
	('tsmultirange', ARRAY['{}', '{["2024-01-01 00:00:00",infinity)}']),
	('tstzmultirange', ARRAY['{}', '{["2024-01-01 00:00:00+00",infinity)}']),
	('datemultirange', ARRAY['{}', '{[2024-01-01,2024-02-01)}']),
	('int8multirange', ARRAY['{}', '{[1,3)}'])
) AS list (type, sample_values), unnest(sample_values) AS value
WHERE to_regtype(type) IS NOT NULL;

-- Values that have no text to be made from.
CREATE TABLE samples.statistics (a int, b int);
INSERT INTO samples.statistics SELECT i / 10, i / 100 FROM generate_series(1, 1000) i;
CREATE STATISTICS samples.pair (ndistinct, dependencies, mcv) ON a, b FROM samples.statistics;
ANALYZE samples.statistics;

CREATE TABLE samples.types AS
	SELECT t.oid, format_type(t.oid, NULL) AS type, t.typname, t.typarray <> 0 AS has_array
	FROM pg_type t
	WHERE t.typnamespace = 'pg_catalog'::regnamespace AND t.typtype IN ('b', 'r', 'm')
		AND t.typelem = 0 OR t.oid IN ('point'::regtype, 'lseg'::regtype, 'box'::regtype, 'line'::regtype,
			'name'::regtype, 'int2vector'::regtype, 'oidvector'::regtype);

CREATE FUNCTION samples.make_tables() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	t record;
	prefix text;
BEGIN
	FOR t IN SELECT * FROM samples.types y WHERE EXISTS (SELECT FROM samples.literals l WHERE l.type = y.oid) ORDER BY typname LOOP
		EXECUTE format('CREATE DOMAIN samples.%I AS %s', 'dom_' || t.typname, t.type);
		EXECUTE format('CREATE TYPE samples.%I AS (f %s)', 'row_' || t.typname, t.type);
		FOREACH prefix IN ARRAY ARRAY['ty_', 'te_'] LOOP
			EXECUTE format('CREATE TABLE samples.%I (id int, v %s, d samples.%I, a %s, c samples.%I)',
				prefix || t.typname, t.type, 'dom_' || t.typname,
				CASE WHEN t.has_array THEN t.type || '[]' ELSE 'text' END, 'row_' || t.typname);
			EXECUTE format('ALTER TABLE samples.%I REPLICA IDENTITY FULL', prefix || t.typname);
		END LOOP;
	END LOOP;
END $$;
SELECT samples.make_tables();
CREATE TABLE samples.ty_internal (tree pg_node_tree, nd pg_ndistinct, dep pg_dependencies, mcv pg_mcv_list);

-- Insert every sample; plain ones, whose text form hides nothing, into "ty_":
-- none of the types whose lexemes are stemmed, which are always masked.
CREATE FUNCTION samples.insert_all() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	t record;
	plain text := '^[A-Za-z0-9_.:+/-]+$';
	hides text := '[\\&]|''''|""';
	list text;
BEGIN
	FOR t IN SELECT * FROM samples.types y WHERE EXISTS (SELECT FROM samples.literals l WHERE l.type = y.oid) ORDER BY typname LOOP
		list := (SELECT string_agg(format('(%L::%s)', value, t.type), ', ') FROM samples.literals l WHERE l.type = t.oid);
		EXECUTE format($f$
			INSERT INTO samples.%1$I
				SELECT row_number() OVER (), v, v, %5$s, CASE WHEN v::text ~ %3$L THEN ROW(v)::samples.%6$I END
				FROM (VALUES %7$s) s (v)
				WHERE v::text !~ %4$L AND %2$L NOT IN ('tsvector', 'tsquery')
			$f$, 'ty_' || t.typname, t.type, plain, hides,
			CASE WHEN t.has_array THEN format('CASE WHEN v::text ~ %L THEN ARRAY[v] END', plain) ELSE 'NULL' END,
			'row_' || t.typname, list);
		EXECUTE format($f$
			INSERT INTO samples.%1$I
				SELECT row_number() OVER (), v, v, %3$s, ROW(v)::samples.%4$I
				FROM (VALUES %5$s) s (v);
			INSERT INTO samples.%1$I (id) VALUES (0);
			$f$, 'te_' || t.typname, t.type,
			CASE WHEN t.type IN ('int2vector', 'oidvector') THEN 'ARRAY[v, v]' WHEN t.has_array THEN 'ARRAY[v, v, NULL]' ELSE 'NULL' END, 'row_' || t.typname, list);
		IF t.has_array AND t.type NOT IN ('int2vector', 'oidvector') THEN
			EXECUTE format($f$
				INSERT INTO samples.%1$I (id, a) SELECT 100, array_agg(v) FROM (VALUES %3$s) s (v);
				INSERT INTO samples.%1$I (id, a) SELECT 101, array_agg(ARRAY[[v, NULL], [NULL, v]]) FROM (VALUES %3$s) s (v);
				INSERT INTO samples.%1$I (id, a) VALUES (102, '{}'), (103, '{NULL}'), (104, array_fill(NULL::%2$s, ARRAY[2], ARRAY[-1]));
				$f$, 'te_' || t.typname, t.type, list);
		END IF;
	END LOOP;
	INSERT INTO samples.ty_internal
		SELECT (SELECT adbin FROM pg_attrdef ORDER BY adrelid, adnum LIMIT 1), stxdndistinct, stxddependencies, stxdmcv
		FROM pg_statistic_ext_data;
END $$;

-- Update and delete some of them.
CREATE FUNCTION samples.change_all() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	t record;
BEGIN
	FOR t IN SELECT c.relname FROM pg_class c
			WHERE c.relnamespace = 'samples'::regnamespace AND c.relname ~ '^t[ye]_' AND c.relname <> 'ty_internal' AND c.relkind = 'r' ORDER BY 1 LOOP
		EXECUTE format('UPDATE samples.%1$I SET id = 1000 + id, d = NULL WHERE id = 1', t.relname);
		EXECUTE format('DELETE FROM samples.%1$I WHERE id = 2', t.relname);
	END LOOP;
END $$;

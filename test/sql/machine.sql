-- The type acdat.machine: text, binary and bytea forms, wrong input, TOAST.
CREATE EXTENSION acdat_decoder;
\set SHOW_CONTEXT never

CREATE TABLE m (id integer, machine acdat.machine);
INSERT INTO m SELECT 1, acdat.compile(p) FROM unnest(ARRAY['he', 'she', 'his', 'hers']) p;

-- a machine survives its text form, and the cast to bytea and back
SELECT machine::text::acdat.machine::text = machine::text AS same FROM m;
SELECT (machine::bytea)::acdat.machine::text = machine::text AS same FROM m;
SELECT acdat.machine_send(machine) = machine::bytea AS same FROM m;
SELECT upper(substr(machine::text, 3)) <> substr(machine::text, 3) AS has_letters,
	('\x' || upper(substr(machine::text, 3)))::acdat.machine::text = machine::text AS same FROM m;


-- what is not a machine is refused
SELECT ''::acdat.machine;
SELECT 'x'::acdat.machine;
SELECT '\x'::acdat.machine;
SELECT '\x0'::acdat.machine;
SELECT '\x0g'::acdat.machine;
SELECT '\x00'::acdat.machine;
SELECT ('\x' || repeat('00', 5000))::acdat.machine;
SELECT '\x00'::bytea::acdat.machine;
SELECT substr(machine::bytea, 1, length(machine::bytea) - 1)::acdat.machine FROM m;
SELECT (machine::bytea || '\x00'::bytea)::acdat.machine FROM m;
SELECT set_byte(machine::bytea, 0, 0)::acdat.machine FROM m;

-- every byte counts: each one flipped is refused
CREATE FUNCTION refused(artifact bytea) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	PERFORM acdat.describe(artifact::acdat.machine);
	RETURN false;
EXCEPTION WHEN invalid_parameter_value THEN
	RETURN true;
END
$$;
SELECT i FROM m, generate_series(0, length(machine::bytea) - 1) i
	WHERE NOT refused(set_byte(machine::bytea, i, get_byte(machine::bytea, i) # 64));

SELECT terms, min_len, max_len, bytes = length(machine::bytea) AS bytes, length(digest) AS digest, version
	FROM m, acdat.describe(machine);

-- what was chosen for a dictionary, and why
SELECT n, engine, reason FROM (VALUES
	('short', ARRAY['he', 'she', 'his', 'hers']),
	('long', ARRAY['Alice Example', '4111 1111 1111 1111']),
	('apart', ARRAY['he'] || ARRAY(SELECT md5(i::text) || chr(64 + i % 26) FROM generate_series(1, 500) i)),
	('slow', ARRAY(SELECT repeat('a', i) FROM generate_series(8, 60) i)),
	('some slow', ARRAY(SELECT repeat('a', i) FROM generate_series(8, 60) i) ||
		ARRAY(SELECT md5(i::text) FROM generate_series(1, 100) i))) AS v (n, patterns),
	LATERAL (SELECT acdat.compile(p) AS machine FROM unnest(patterns) p) AS c, acdat.describe(machine);

-- a large machine is stored out of line and uncompressed
INSERT INTO m SELECT 2, acdat.compile('term number ' || i, 'T' || i) FROM generate_series(1, 2000) i;
INSERT INTO m SELECT 3, acdat.compile('other number ' || i, 'O' || i) FROM generate_series(1, 2000) i;
SELECT id, pg_column_size(machine) >= bytes AS uncompressed FROM m, acdat.describe(machine) ORDER BY id;

-- one call site, a machine of its own in each row
INSERT INTO m SELECT 10 + i, acdat.compile('term number ' || i, 'only ' || i) FROM generate_series(1, 10) i GROUP BY i;
INSERT INTO m SELECT 20 + i, (SELECT acdat.compile('term number ' || j || repeat('x', i), 'many ' || i)
	FROM generate_series(1, 500) j) FROM generate_series(1, 8) i;
SELECT id, acdat.replace('term number 7 other number 7 term number 7xxx', machine) FROM m ORDER BY id;
SELECT id, n, acdat.replace('term number ' || n || 'xx', machine)
	FROM (SELECT * FROM m WHERE id IN (2, 3, 17, 22)) AS m, (VALUES (7), (8)) v (n) ORDER BY n, id;

-- null in, null out
SELECT acdat.describe(NULL), acdat.contains('x', NULL), acdat.replace('x', NULL), acdat.contains(NULL::text, machine)
	FROM m WHERE id = 1;
SELECT count(*) FROM acdat.matches('x', NULL);

-- in parallel workers
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
CREATE TABLE v AS SELECT 'his number ' || i AS v FROM generate_series(1, 20000) i;
ALTER TABLE v SET (parallel_workers = 2);
ANALYZE v;
SELECT count(*), count(DISTINCT acdat.replace(v, (SELECT machine FROM m WHERE id = 1))) FROM v
	WHERE acdat.contains(v, (SELECT machine FROM m WHERE id = 1));

DROP TABLE m, v;
DROP FUNCTION refused;
DROP EXTENSION acdat_decoder;

-- Publishing: what it writes, keeps and refuses.
CREATE EXTENSION acdat_decoder;
\set SHOW_CONTEXT never

CREATE TABLE customers (id integer PRIMARY KEY, name text);
SELECT acdat.create_dictionary('people');
SELECT acdat.create_policy('p', 'people');

SELECT acdat.publish('pp');
SELECT acdat.publish(NULL);
SELECT acdat.publish('p');
SELECT acdat.redact('x', 'p');
SELECT * FROM acdat.explain('p', 'customers');
SELECT acdat.machine_of('p');

SELECT acdat.add_terms('people', ARRAY['Alice', 'Bob', 'Alice', 'Zoë']);
SELECT acdat.publish('p');
SELECT acdat.redact('Alice, Bob and Zoë', 'p'), acdat.redact('nobody', 'p'), acdat.redact('', 'p');
SELECT acdat.redact('x', 'q');
SELECT acdat.redact(NULL, 'p'), acdat.redact('x', NULL);

DELETE FROM acdat.terms WHERE id = 3;

-- machines are written once, two generations are kept
CREATE VIEW stored AS
	SELECT kind, count(DISTINCT key) AS keys, min(part), bool_and(octet_length(data) <= 7900) AS fits
		FROM acdat.published GROUP BY kind ORDER BY kind;
SELECT kind, xmin::text AS writer INTO TEMP written FROM acdat.published WHERE kind = 'm';
SELECT acdat.publish('p');
SELECT acdat.publish('p');
SELECT * FROM stored;
SELECT count(*) FROM acdat.published p JOIN written w ON w.kind = p.kind AND w.writer = p.xmin::text;

-- a changed dictionary is another machine; the old one goes with the last generation that uses it
DELETE FROM acdat.terms WHERE pattern = 'Bob';
UPDATE acdat.terms SET enabled = false WHERE pattern = 'Zoë';
SELECT acdat.publish('p');
SELECT * FROM stored;
SELECT acdat.redact('Alice, Bob and Zoë', 'p');
SELECT acdat.publish('p');
SELECT * FROM stored;

-- rolled back is not published
BEGIN;
SELECT acdat.add_terms('people', ARRAY['Bob']);
SELECT acdat.publish('p');
SELECT acdat.redact('Alice and Bob', 'p');
ROLLBACK;
SELECT acdat.redact('Alice and Bob', 'p');
BEGIN;
SAVEPOINT s;
SELECT acdat.add_terms('people', ARRAY['Bob']);
SELECT acdat.publish('p');
SELECT acdat.redact('Alice and Bob', 'p');
ROLLBACK TO s;
SELECT acdat.redact('Alice and Bob', 'p');
COMMIT;

-- an older snapshot sees the older generation
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT acdat.redact('Alice', 'p');
COMMIT;

-- generations never repeat
SELECT acdat.unpublish('p');
SELECT * FROM stored;
SELECT acdat.redact('x', 'p');
SELECT acdat.unpublish('p');
SELECT acdat.unpublish('pp');
SELECT acdat.unpublish(NULL);
SELECT acdat.publish('p');
SELECT acdat.drop_policy('p');
SELECT * FROM stored;
SELECT acdat.create_policy('p', 'people');
SELECT acdat.publish('p');

-- several dictionaries: as one with all their terms
SELECT acdat.create_dictionary('places', '[PLACE]');
SELECT acdat.add_terms('places', ARRAY['Wonderland', 'Alice Springs']);
SELECT acdat.add_dictionary('p', 'places');
SELECT acdat.publish('p');
SELECT acdat.redact(v, 'p'), acdat.replace(v, acdat.machine_of('p')) FROM (VALUES ('Alice in Wonderland'), ('Alice Springs'), ('x')) t (v);
SELECT terms FROM acdat.describe(acdat.machine_of('p'));
-- two policies share machines
SELECT acdat.create_policy('q', 'places');
SELECT acdat.publish('q');
SELECT * FROM stored;
SELECT acdat.redact('Alice in Wonderland', 'p'), acdat.redact('Alice in Wonderland', 'q');
SELECT acdat.unpublish('q');
SELECT acdat.redact('Alice in Wonderland', 'p');
SELECT acdat.drop_policy('q');

-- terms that cannot be published are named by id
SELECT acdat.create_dictionary('bad');
SELECT acdat.create_policy('b', 'bad');
INSERT INTO acdat.terms (id, dictionary, pattern) OVERRIDING SYSTEM VALUE VALUES (1001, 'bad', 'topsecret'), (1002, 'bad', NULL), (1003, 'bad', '');
INSERT INTO acdat.terms (id, dictionary, pattern) VALUES (1004, 'bad', repeat('topsecre', 8192));
SELECT acdat.publish('b');
UPDATE acdat.terms SET enabled = false WHERE id IN (1002, 1003, 1004);
SELECT acdat.publish('b');
UPDATE acdat.terms SET enabled = NULL, priority = NULL WHERE id = 1001;
SELECT acdat.publish('b');
-- what is not built yet is refused, never ignored
UPDATE acdat.terms SET allow = true WHERE id = 1001;
SELECT acdat.publish('b');
UPDATE acdat.terms SET allow = NULL, whole_word = true WHERE id = 1001;
SELECT acdat.publish('b');
UPDATE acdat.terms SET whole_word = false, valid_from = now() WHERE id = 1001;
SELECT acdat.publish('b');
UPDATE acdat.terms SET valid_from = NULL, valid_until = now() WHERE id = 1001;
SELECT acdat.publish('b');
UPDATE acdat.terms SET valid_until = NULL, encodings = '{}' WHERE id = 1001;
SELECT acdat.publish('b');
UPDATE acdat.terms SET encodings = NULL, label = 'free text' WHERE id = 1001;
SELECT acdat.publish('b');
UPDATE acdat.terms SET enabled = false WHERE id = 1001;
SELECT acdat.publish('b');

-- nothing to redact with
SELECT acdat.create_policy('e');
SELECT acdat.publish('e');
SELECT acdat.alter_policy('e', default_action => 'mask');
SELECT acdat.publish('e', allow_lossy_keys => true);
SELECT acdat.redact('x', 'e'), acdat.machine_of('e') IS NULL;
SELECT acdat.set_action('e', 'redact', 'customers', 'name');
SELECT acdat.publish('e', allow_lossy_keys => true);
SELECT acdat.drop_policy('e');

-- settings written past the functions
UPDATE acdat.policies SET scan = 'some' WHERE name = 'p';
SELECT acdat.publish('p');
UPDATE acdat.policies SET scan = 'text', clock = NULL WHERE name = 'p';
SELECT acdat.publish('p');
UPDATE acdat.policies SET clock = 'latest', default_action = 'hash' WHERE name = 'p';
SELECT acdat.publish('p');
UPDATE acdat.policies SET default_action = 'redact', on_unfit = 'error' WHERE name = 'p';
SELECT acdat.publish('p');
UPDATE acdat.policies SET on_unfit = 'null', secret = 'topsecret' WHERE name = 'p';
SELECT acdat.publish('p');
UPDATE acdat.policies SET secret = NULL WHERE name = 'p';
SELECT acdat.publish('p');
UPDATE acdat.policies SET secret = acdat.new_secret() WHERE name = 'p';
UPDATE acdat.dictionaries SET options = ARRAY['x'] WHERE name = 'places';
SELECT acdat.publish('p');
UPDATE acdat.dictionaries SET options = NULL WHERE name = 'places';
SELECT acdat.publish('p');

-- is it current?
SELECT acdat.is_current('p');
SELECT acdat.add_terms('people', ARRAY['Carol']);
SELECT acdat.is_current('p');
SELECT acdat.publish('p');
SELECT acdat.is_current('p');
SELECT acdat.set_action('p', 'keep', 'customers', 'name');
SELECT acdat.is_current('p');
SELECT acdat.publish('p');

-- damage is found, and publishing repairs it
UPDATE acdat.published SET data = set_byte(data, octet_length(data) / 2, get_byte(data, octet_length(data) / 2) # 1) WHERE kind = 'm' AND part = 0;
SELECT acdat.unpublish('b');
\c
\set SHOW_CONTEXT never
SELECT acdat.redact('Alice', 'p');
SELECT acdat.publish('p');
SELECT acdat.redact('Alice', 'p');
DELETE FROM acdat.published WHERE kind = 'm' AND part = 0;
SELECT acdat.publish('p');
SELECT acdat.redact('Alice', 'p');
UPDATE acdat.published SET data = substr(data, 1, 50) WHERE kind = 'g';
\c
\set SHOW_CONTEXT never
SELECT acdat.redact('Alice', 'p');
SELECT acdat.publish('p');
SELECT acdat.redact('Alice', 'p');
SELECT acdat.publish('p');
UPDATE acdat.published SET data = 'x' WHERE kind = 'p';
SELECT acdat.redact('Alice', 'p');
SELECT acdat.publish('p');
SELECT acdat.redact('Alice', 'p');

-- where nothing can be written
BEGIN READ ONLY;
SELECT acdat.publish('p');
ROLLBACK;
BEGIN READ ONLY;
SELECT acdat.unpublish('p');
ROLLBACK;
BEGIN READ ONLY;
SELECT acdat.redact('Alice', 'p');
ROLLBACK;

-- no lock stronger than needed
BEGIN;
SELECT acdat.publish('p') > 0;
SELECT mode FROM pg_locks WHERE relation = 'acdat.published'::regclass AND pid = pg_backend_pid() ORDER BY mode;
ROLLBACK;

DROP VIEW stored;
DROP TABLE customers;
DROP EXTENSION acdat_decoder;

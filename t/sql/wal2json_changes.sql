-- What both plugins decode.  Run by psql; every statement has to succeed.

SELECT samples.insert_all();
SELECT samples.change_all();

SET search_path = shapes, public;

-- Replica identities.
INSERT INTO k_default DEFAULT VALUES;
INSERT INTO k_default (a, b, g, h, i, j) VALUES (NULL, 12.5, 'ab', '101', '1 day 00:00:01.5', 1.10);
UPDATE k_default SET a = 'y', e = NULL WHERE id = 1;
UPDATE k_default SET id = 10 WHERE id = 1;
DELETE FROM k_default WHERE id = 10;
INSERT INTO k_multi VALUES (1, 'b', 'c', 4), (2, NULL, 'c', NULL);
UPDATE k_multi SET d = 5;
UPDATE k_multi SET a = 11 WHERE a = 1;
UPDATE k_multi SET c = 'cc' WHERE a = 2;
DELETE FROM k_multi;
INSERT INTO k_index VALUES (1, NULL, 'c'), (2, 'b', 'd');
UPDATE k_index SET b = 'new';
UPDATE k_index SET a = 3 WHERE a = 1;
DELETE FROM k_index;
INSERT INTO k_index_pk VALUES (1, 'b', 'c');
UPDATE k_index_pk SET b = 'new';
UPDATE k_index_pk SET id = 2;
UPDATE k_index_pk SET c = 'cc';
DELETE FROM k_index_pk;
INSERT INTO k_full VALUES (1, 'b', 1.0), (NULL, NULL, NULL), (2, NULL, 'NaN');
UPDATE k_full SET b = 'new';
DELETE FROM k_full;
INSERT INTO k_full_pk VALUES (1, 'b', 1.0), (2, NULL, NULL);
UPDATE k_full_pk SET b = 'new';
UPDATE k_full_pk SET id = id + 10;
DELETE FROM k_full_pk;
INSERT INTO k_nothing VALUES (1, 'b');
UPDATE k_nothing SET b = 'c';
UPDATE k_nothing SET id = 2;
DELETE FROM k_nothing;
INSERT INTO k_none VALUES (1, 'b'), (2, NULL);
UPDATE k_none SET b = 'c';
DELETE FROM k_none;
INSERT INTO k_deferrable VALUES (1, 'b');
UPDATE k_deferrable SET b = 'c';
UPDATE k_deferrable SET id = 2;
DELETE FROM k_deferrable;
INSERT INTO k_deferrable_full VALUES (1, 'b');
UPDATE k_deferrable_full SET id = 2;
DELETE FROM k_deferrable_full;
INSERT INTO k_include VALUES (1, 'b', 'c');
UPDATE k_include SET b = 'bb';
UPDATE k_include SET id = 2;
DELETE FROM k_include;
INSERT INTO k_text VALUES ('a b', 'x', 'n');
UPDATE k_text SET id = 'new';
DELETE FROM k_text;
INSERT INTO k_unique VALUES (1, 'b');
UPDATE k_unique SET a = 2;
DELETE FROM k_unique;
INSERT INTO k_dropped_index VALUES (1, 'b');
UPDATE k_dropped_index SET a = 2;
DELETE FROM k_dropped_index;
INSERT INTO no_columns DEFAULT VALUES;
DELETE FROM no_columns;
INSERT INTO one_column VALUES (1);
UPDATE one_column SET id = 1;
DELETE FROM one_column;
INSERT INTO unlogged VALUES (1);

-- TOAST.
INSERT INTO toasted VALUES (1, repeat('a', 3000), repeat('b', 3000), repeat('c ', 50000), decode(repeat('00ff', 1500), 'hex'), 1), (2, 'short', NULL, '', '', 2);
UPDATE toasted SET n = 2;
UPDATE toasted SET a = 'now short' WHERE id = 1;
UPDATE toasted SET b = repeat('B', 3000) WHERE id = 1;
UPDATE toasted SET id = 3 WHERE id = 1;
UPDATE toasted SET c = NULL, d = NULL WHERE id = 3;
DELETE FROM toasted;
INSERT INTO toasted_full VALUES (1, repeat('a', 3000), repeat('b', 3000), 'c', NULL, 1);
UPDATE toasted_full SET n = 2;
UPDATE toasted_full SET a = repeat('A', 3000);
DELETE FROM toasted_full;
INSERT INTO toasted_key VALUES (1, repeat('k', 1000), repeat('a', 3000), 1);
UPDATE toasted_key SET n = 2;
UPDATE toasted_key SET a = repeat('A', 3000);
UPDATE toasted_key SET k = repeat('K', 1000);
DELETE FROM toasted_key;
INSERT INTO toasted_first VALUES (repeat('a', 3000), 1);
UPDATE toasted_first SET id = 2;
DELETE FROM toasted_first;
INSERT INTO toasted_only VALUES (repeat('a', 3000), 1);
UPDATE toasted_only SET b = NULL;
DELETE FROM toasted_only;

-- Columns of every kind.
INSERT INTO generated (a, t) VALUES (1, 'low'), (DEFAULT, NULL);
UPDATE generated SET a = a + 1;
DELETE FROM generated;
UPDATE dropped SET a = 'new';
INSERT INTO dropped (id, z) VALUES (2, 3);
DELETE FROM dropped;
INSERT INTO user_types VALUES (1, 'very happy', '{sad,ok}', 'label', 'label2', true, '\xff', 1.50, '{a,b}', 'ok', (1, 'y', 2.0), ((1, 'y', NULL), 'sad', '{1}'), (1, 'q', 0),
	NULL, '[a,c)', '{[a,c),[x,)}', NULL);
INSERT INTO user_types (id, m, f, l) VALUES (2, NULL, NULL, NULL), (3, '', false, '');
INSERT INTO user_types (id, oa, i, tr) SELECT 4, ARRAY[((1, 'quo"te', NULL), 'MiXed', NULL)::outer_row, NULL], (1, 'a b\', 0)::inner_row, '["a b","c\\")'::textrange;
INSERT INTO user_types (id, t) VALUES (5, (1, 'row', 2.5));
UPDATE user_types SET m = 'sad';
DELETE FROM user_types;
INSERT INTO domain_key VALUES ('key', 1.5, '\x00', true, 3);
UPDATE domain_key SET id = 'other', n = 'NaN';
DELETE FROM domain_key;

-- Odd names.
INSERT INTO "Odd Table" VALUES (1, 'a', 'text', '{a,b}', DEFAULT, 3);
UPDATE "Odd Table" SET "Odd Column" = 2;
DELETE FROM "Odd Table";
DO $$
DECLARE
	name regclass;
BEGIN
	FOR name IN SELECT oid FROM pg_class WHERE relkind = 'r' AND relname ~ '^(quote|new|emoji|a\.b|select$|tttt)' ORDER BY relname LOOP
		EXECUTE format('INSERT INTO %s VALUES (1)', name);
		EXECUTE format('DELETE FROM %s', name);
	END LOOP;
END $$;

-- Partitions and inheritance.
INSERT INTO part VALUES (1, 'eu', 1), (2, 'us', 2), (3, 'asia', 3), (4, 'africa', 4);
UPDATE part SET v = v + 1;
UPDATE part SET region = 'eu' WHERE region = 'us';
DELETE FROM part WHERE id = 3;
INSERT INTO mixed VALUES (1, 'us', 1.5);
UPDATE mixed SET v = 2;
UPDATE mixed SET id = 2;
DELETE FROM mixed;
TRUNCATE mixed;
TRUNCATE part_us;
INSERT INTO parent VALUES (1, 'p');
INSERT INTO child VALUES (2, 'c', 3);
UPDATE parent SET a = 'both';
DELETE FROM parent;

-- Ways to write.
COPY k_none FROM stdin;
1	one
2	\N
\.
INSERT INTO k_full_pk SELECT i, 'row ' || i, i / 3.0 FROM generate_series(1, 30) i;
INSERT INTO k_full_pk VALUES (1, 'conflict', 0) ON CONFLICT (id) DO UPDATE SET b = excluded.b;
INSERT INTO k_full_pk VALUES (1, 'conflict', 0) ON CONFLICT DO NOTHING;
MERGE INTO k_full_pk k USING (VALUES (2), (100)) AS s (id) ON k.id = s.id
	WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (s.id, 'merged', NULL);
WITH moved AS (DELETE FROM k_full_pk WHERE id < 5 RETURNING *) INSERT INTO k_full SELECT * FROM moved;
CREATE TABLE made AS SELECT 1 AS a, 'b'::text AS b;
SELECT FROM k_full_pk FOR UPDATE LIMIT 1;
TRUNCATE k_full;
TRUNCATE k_full_pk, k_none, part;
INSERT INTO ref VALUES (1);
INSERT INTO referring VALUES (1, 1);
DELETE FROM ref;
TRUNCATE ref CASCADE;
TRUNCATE ONLY k_default RESTART IDENTITY;

-- Transactions.
BEGIN;
INSERT INTO k_full_pk VALUES (1, 'kept', 1);
SAVEPOINT one;
INSERT INTO k_full_pk VALUES (2, 'undone', 1);
ROLLBACK TO one;
SAVEPOINT two;
INSERT INTO k_full_pk VALUES (3, 'released', 1);
RELEASE two;
SAVEPOINT three;
UPDATE k_full_pk SET b = 'in subtransaction' WHERE id = 3;
SELECT pg_logical_emit_message(true, 'sub', 'in subtransaction');
COMMIT;
BEGIN;
INSERT INTO k_full_pk VALUES (4, 'aborted', 1);
ROLLBACK;
DO $$
BEGIN
	FOR i IN 1 .. 70 LOOP
		BEGIN
			INSERT INTO one_column VALUES (i / 2);
		EXCEPTION WHEN unique_violation THEN
			NULL;
		END;
	END LOOP;
END $$;
BEGIN;
COMMIT;
BEGIN;
CREATE TEMPORARY TABLE scratch (a int);
INSERT INTO scratch VALUES (1);
COMMIT;
CREATE TABLE only_ddl ();
BEGIN;
INSERT INTO k_none VALUES (7, 'prepared');
PREPARE TRANSACTION 'prepared';
INSERT INTO k_none VALUES (8, 'between');
COMMIT PREPARED 'prepared';
BEGIN;
UPDATE k_none SET b = 'left out';
COMMIT;
BEGIN;
INSERT INTO k_multi VALUES (1, 'b', 'c', 4);
TRUNCATE k_multi;
INSERT INTO k_multi VALUES (2, 'b', 'c', 4);
SELECT pg_logical_emit_message(true, 'pfx', 'within');
INSERT INTO k_multi VALUES (3, 'b', 'c', 4);
COMMIT;

-- Messages.
SELECT pg_logical_emit_message(true, 'pfx', 'transactional');
SELECT pg_logical_emit_message(true, '', '');
SELECT pg_logical_emit_message(true, 'pfx2', e'quote" back\\slash \n\t\r\b\f \x01\x7f \u00e4 \U0001F600');
SELECT pg_logical_emit_message(true, 'bytes', '\x6162'::bytea);
SELECT pg_logical_emit_message(true, 'quote" back\slash', repeat('long ', 3000));
SELECT pg_logical_emit_message(false, 'pfx', 'by itself');
SELECT pg_logical_emit_message(false, 'pfx2', '');
BEGIN;
SELECT pg_logical_emit_message(false, 'sub', 'not of the transaction');
INSERT INTO k_none VALUES (5, 'one');
SELECT pg_logical_emit_message(false, 'sub', 'nor this');
ROLLBACK;

-- Origins.
SELECT pg_replication_origin_create('elsewhere');
SELECT pg_replication_origin_create('other, odd');
SELECT pg_replication_origin_session_setup('elsewhere');
INSERT INTO k_none VALUES (9, 'from elsewhere');
SELECT pg_logical_emit_message(true, 'pfx', 'from elsewhere');
SELECT pg_replication_origin_session_reset();
SELECT pg_replication_origin_session_setup('other, odd');
INSERT INTO k_none VALUES (10, 'from the other');
SELECT pg_replication_origin_session_reset();
INSERT INTO k_none VALUES (11, 'from here');

-- Changes of what is decoded, between transactions and within them.
INSERT INTO evolving VALUES (1, 'a');
ALTER TABLE evolving RENAME a TO renamed;
INSERT INTO evolving VALUES (2, 'a');
ALTER TABLE evolving ADD added numeric(5,2) DEFAULT 1.5;
INSERT INTO evolving VALUES (3, 'a');
BEGIN;
UPDATE evolving SET b = 5 WHERE id = 1;
ALTER TABLE evolving ALTER b SET DEFAULT 99;
UPDATE evolving SET b = 6 WHERE id = 1;
ALTER TABLE evolving DROP added;
UPDATE evolving SET b = 7 WHERE id = 1;
ALTER TABLE evolving REPLICA IDENTITY FULL;
UPDATE evolving SET b = 8 WHERE id = 1;
ALTER TABLE evolving ALTER b SET NOT NULL;
INSERT INTO evolving VALUES (4, 'a', 1);
ALTER TABLE evolving RENAME TO evolved;
INSERT INTO evolved VALUES (5, 'a', 1);
ALTER TABLE evolved ALTER b TYPE bigint;
INSERT INTO evolved VALUES (6, 'a', 1);
SAVEPOINT s;
ALTER TABLE evolved DROP b;
INSERT INTO evolved VALUES (7, 'undone');
ROLLBACK TO s;
INSERT INTO evolved VALUES (8, 'a', 1);
COMMIT;
ALTER TABLE evolved REPLICA IDENTITY DEFAULT;
UPDATE evolved SET b = 9 WHERE id = 1;
ALTER TABLE evolved DROP CONSTRAINT evolving_pkey;
UPDATE evolved SET b = 10 WHERE id = 1;
ALTER TABLE evolved ADD PRIMARY KEY (b, id);
UPDATE evolved SET b = 11 WHERE id = 1;
ALTER TABLE evolved SET SCHEMA "Odd Schema";
DELETE FROM "Odd Schema".evolved;
INSERT INTO user_types (id, m, i) VALUES (1, 'ok', (1, 'y', 2));
ALTER TYPE mood RENAME VALUE 'ok' TO 'okay';
INSERT INTO user_types (id, m) VALUES (2, 'okay');
ALTER TYPE mood RENAME TO humour;
INSERT INTO user_types (id, m, i) VALUES (3, 'okay', (1, 'y', 2));
ALTER TYPE inner_row ADD ATTRIBUTE late int;
INSERT INTO user_types (id, m, i) VALUES (4, 'okay', (1, 'y', 2, 3));
ALTER DOMAIN label RENAME TO tag;
INSERT INTO user_types (id, m, l) VALUES (5, 'okay', 'l');
ALTER TYPE humour SET SCHEMA "Odd Schema";
ALTER TYPE "Odd Schema".humour SET SCHEMA shapes;
DELETE FROM user_types;
INSERT INTO evolving_defaults (id) VALUES (1);
ALTER SEQUENCE evolving_seq RENAME TO evolved_seq;
INSERT INTO evolving_defaults (id) VALUES (2);
ALTER FUNCTION evolving_default() RENAME TO evolved_default;
INSERT INTO evolving_defaults (id) VALUES (3);
ALTER TYPE evolving_type RENAME VALUE 'old' TO 'new';
INSERT INTO evolving_defaults (id) VALUES (4);
BEGIN;
ALTER SEQUENCE evolved_seq RENAME TO evolving_seq;
INSERT INTO evolving_defaults (id) VALUES (5);
ALTER TYPE evolving_type RENAME VALUE 'new' TO 'old';
INSERT INTO evolving_defaults (id) VALUES (6);
COMMIT;
ALTER SCHEMA shapes RENAME TO forms;
INSERT INTO forms.k_full_pk VALUES (50, 'in another schema', 1);
ALTER SCHEMA forms RENAME TO shapes;
INSERT INTO k_full_pk VALUES (51, 'and back', 1);
CREATE TABLE k_late (id int, b text);
INSERT INTO k_late VALUES (1, 'no key');
ALTER TABLE k_late ADD PRIMARY KEY (id);
INSERT INTO k_late VALUES (2, 'key');
UPDATE k_late SET b = 'x';
BEGIN;
CREATE TABLE short_lived (id int PRIMARY KEY, b text);
INSERT INTO short_lived VALUES (1, 'b');
DROP TABLE short_lived;
INSERT INTO k_late VALUES (3, 'after');
COMMIT;
RESET search_path;

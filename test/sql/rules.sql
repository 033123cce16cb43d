-- Which rule decides, and what explain says of it.
CREATE EXTENSION acdat_decoder;
\set SHOW_CONTEXT never

SELECT acdat.create_dictionary('d');
SELECT acdat.add_terms('d', ARRAY['Alice']);
SELECT acdat.create_policy('p', 'd');
CREATE DOMAIN label AS text;
CREATE TABLE t (id integer, a text, b varchar(20), c label, d jsonb, e text GENERATED ALWAYS AS (lower(a)) STORED);

-- default, type, column name, relation, column: each beats those before it
SELECT acdat.publish('p');
SELECT column_name, action, rule FROM acdat.explain('p', 't');
SELECT acdat.set_action('p', 'mask', type => 'text');
SELECT acdat.publish('p', true);
SELECT column_name, action, rule FROM acdat.explain('p', 't');
SELECT acdat.set_action('p', 'null', type => 'label');
SELECT acdat.set_action('p', 'keep', column_name => 'a');
SELECT acdat.publish('p', true);
SELECT column_name, action, rule FROM acdat.explain('p', 't');
SELECT acdat.set_action('p', 'drop', 't');
SELECT acdat.publish('p', true);
SELECT column_name, action, rule FROM acdat.explain('p', 't');
SELECT acdat.set_action('p', 'redact', 't', 'a');
SELECT acdat.publish('p', true);
SELECT * FROM acdat.explain('p', 't');

-- what a rule names may go
CREATE FUNCTION try_publish() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	RETURN acdat.publish('p', true);
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN SQLERRM || ': ' || regexp_replace(detail, 'OID \d+', 'OID ...', 'g');
END
$$;
DROP TABLE t;
SELECT try_publish();
DELETE FROM acdat.policy_rules WHERE relation IS NOT NULL;
CREATE TABLE t (id integer, a text);
SELECT acdat.set_action('p', 'mask', 't', 'a');
ALTER TABLE t RENAME COLUMN a TO aa;
SELECT acdat.publish('p', true);
SELECT acdat.clear_action('p', 't', 'a');
DROP DOMAIN label;
SELECT count(*) FROM acdat.policy_rules r WHERE NOT EXISTS (SELECT FROM pg_type WHERE oid = r.type) AND r.type IS NOT NULL;
SELECT try_publish();
DROP FUNCTION try_publish;
DELETE FROM acdat.policy_rules WHERE type IS NOT NULL;

-- what the table does after publishing
SELECT acdat.set_action('p', 'mask', 't', 'aa');
SELECT acdat.publish('p');
ALTER TABLE t RENAME COLUMN aa TO other;
SELECT * FROM acdat.explain('p', 't');
ALTER TABLE t ADD COLUMN aa text;
SELECT * FROM acdat.explain('p', 't');
DROP TABLE t;
SELECT acdat.clear_action('p', relation, column_name) FROM acdat.policy_rules WHERE relation IS NOT NULL;

-- children take their parents' rules by column name
CREATE TABLE parent (id integer, a text, b text);
CREATE TABLE mother (a text, b text);
CREATE TABLE child (c text) INHERITS (parent);
CREATE TABLE grandchild () INHERITS (child, mother);
SELECT acdat.set_action('p', 'mask', 'parent', 'a');
SELECT acdat.publish('p');
SELECT column_name, action, rule, warnings FROM acdat.explain('p', 'grandchild');
-- two ancestors that say different things
SELECT acdat.set_action('p', 'null', 'mother', 'a');
SELECT acdat.publish('p');
SELECT acdat.set_action('p', 'mask', 'mother', 'a', argument => 'x');
SELECT acdat.publish('p');
SELECT acdat.set_action('p', 'mask', 'mother', 'a');
SELECT acdat.publish('p');
SELECT acdat.set_action('p', 'null', 'mother', 'a');
SELECT acdat.set_action('p', 'redact', 'grandchild', 'a');
SELECT acdat.publish('p');
SELECT column_name, action, rule, warnings FROM acdat.explain('p', 'grandchild');
-- a contradiction that came after publishing: withheld
SELECT acdat.clear_action('p', 'grandchild', 'a');
DROP TABLE grandchild;
DELETE FROM acdat.policy_rules WHERE relation::text = 'grandchild';
SELECT acdat.publish('p');
CREATE TABLE grandchild () INHERITS (child, mother);
SELECT column_name, action, warnings FROM acdat.explain('p', 'grandchild');
DROP TABLE grandchild, child, parent, mother;
SELECT acdat.clear_action('p', relation, column_name) FROM acdat.policy_rules WHERE relation IS NOT NULL;

-- which types hold text, as for streams
CREATE TYPE numbers AS (a int, b int4range);
CREATE TYPE words AS (a int, b text);
CREATE TABLE types (a regclass, b macaddr, c int[], d numbers, e words, f money, g int4multirange, h xid, i "char");
SELECT column_name, type, warnings FROM acdat.explain('p', 'types');
DROP TABLE types;
DROP TYPE numbers, words;

-- written past the functions
CREATE TABLE t (a text);
INSERT INTO acdat.policy_rules (id, policy, action, relation, column_name) VALUES (14, 'p', 'mask', 't', 'a'), (15, 'p', 'null', 't', 'a');
INSERT INTO acdat.policy_rules (id, policy, action, relation, type) VALUES (13, 'p', 'mask', 't', 'text');
INSERT INTO acdat.policy_rules (id, policy, action) VALUES (16, 'p', 'mask'), (17, 'p', 'error'), (18, 'p', NULL);
INSERT INTO acdat.policy_rules (id, policy, action, column_name) VALUES (19, 'p', 'error', 'x'), (20, 'p', 'hash', 'y'), (21, 'p', NULL, 'z');
INSERT INTO acdat.policy_rules (id, policy, action, column_name, argument) VALUES (22, 'p', 'redact', 'w', 'topsecret');
INSERT INTO acdat.policy_rules (id, policy, action, relation, column_name) VALUES (23, 'p', 'mask', 't', 'ctid'), (24, 'p', 'mask', 't', 'no');
SELECT acdat.publish('p');
DELETE FROM acdat.policy_rules;

-- the default "error"
SELECT acdat.alter_policy('p', default_action => 'error');
SELECT acdat.publish('p');
SELECT * FROM acdat.explain('p', 't');

-- misspelt, and what is no table
SELECT * FROM acdat.explain('pp', 't');
SELECT * FROM acdat.explain('p', 'no_such_table');
SELECT * FROM acdat.explain('p', 4294967295::oid::regclass);
CREATE VIEW v AS SELECT 1;
SELECT * FROM acdat.explain('p', 'v');
DROP VIEW v;
DROP TABLE t;
DROP EXTENSION acdat_decoder;

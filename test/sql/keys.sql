-- Keys: lossy actions are refused, changes of form are announced.
CREATE EXTENSION acdat_decoder;
\set SHOW_CONTEXT never

SELECT acdat.create_dictionary('d');
SELECT acdat.add_terms('d', ARRAY['Alice']);
SELECT acdat.create_policy('p', 'd');

CREATE TABLE t (id text PRIMARY KEY, code text UNIQUE, name text, n integer);
CREATE TABLE "odd T" (a text NOT NULL, "b c" text NOT NULL);
CREATE UNIQUE INDEX odd_idx ON "odd T" ("b c");
ALTER TABLE "odd T" REPLICA IDENTITY USING INDEX odd_idx;
CREATE TABLE parts (id integer, region text, PRIMARY KEY (id, region)) PARTITION BY LIST (region);
CREATE TABLE parts_a PARTITION OF parts FOR VALUES IN ('a');
CREATE UNLOGGED TABLE unlogged (id text PRIMARY KEY);
CREATE TEMP TABLE temporary (id text PRIMARY KEY);

SELECT acdat.publish('p');
SELECT acdat.set_action('p', 'mask', 't', 'name');
SELECT acdat.publish('p');
-- lossy on a key
SELECT acdat.set_action('p', 'mask', 't', 'id');
SELECT acdat.publish('p');
SELECT acdat.set_action('p', 'null', 't', 'code');
SELECT acdat.set_action('p', 'drop', '"odd T"');
SELECT acdat.publish('p');
SELECT acdat.set_action('p', 'mask', column_name => 'region');
SELECT acdat.set_action('p', 'mask', 'unlogged');
SELECT acdat.publish('p');
-- by default
SELECT acdat.create_policy('q', default_action => 'mask');
SELECT acdat.publish('q');
SELECT acdat.drop_policy('q');

-- when told so: what changes is announced
SELECT acdat.publish('p', allow_lossy_keys => true);
SELECT acdat.publish('p', allow_lossy_keys => true);
SELECT acdat.clear_action('p', 't', 'id');
SELECT acdat.clear_action('p', 't', 'code');
SELECT acdat.clear_action('p', '"odd T"');
SELECT acdat.clear_action('p', column_name => 'region');
SELECT acdat.clear_action('p', 'unlogged');
SELECT acdat.publish('p');
SELECT acdat.publish('p');
-- other terms: other forms of keys that can hold text
SELECT acdat.add_terms('d', ARRAY['Bob']);
SELECT acdat.publish('p');
-- a new table is no change
CREATE TABLE t2 (id text PRIMARY KEY);
SELECT acdat.publish('p');
SELECT acdat.set_action('p', 'keep', 't2');
SELECT acdat.publish('p');
SELECT acdat.set_action('p', 'keep', 't', 'n');
SELECT acdat.publish('p');

SELECT * FROM acdat.explain('p', 't');
SELECT * FROM acdat.explain('p', '"odd T"');

DROP TABLE t, t2, "odd T", parts, unlogged, temporary;
DROP EXTENSION acdat_decoder;

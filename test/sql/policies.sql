-- Policies, their dictionaries and rules.
CREATE EXTENSION acdat_decoder;
\set SHOW_CONTEXT never

CREATE SCHEMA "odd Schema";
CREATE TABLE customers (id integer PRIMARY KEY, name text, email text, "odd Column" text, gone text);
ALTER TABLE customers DROP COLUMN gone;
CREATE TABLE "odd Schema"."odd Table" ("a.b" text);
CREATE VIEW customers_view AS SELECT * FROM customers;
SELECT acdat.create_dictionary('people');
SELECT acdat.create_dictionary('places');

SELECT acdat.create_policy('p', 'people');
SELECT acdat.create_policy('q', default_action => 'error', scan => 'all', clock => 'commit', on_unfit => 'null');
SELECT name, default_action, scan, clock, on_unfit, length(secret) AS secret FROM acdat.policies ORDER BY name;
SELECT count(DISTINCT secret) FROM acdat.policies;

SELECT acdat.create_policy('p');
SELECT acdat.create_policy('none');
SELECT acdat.create_policy('');
SELECT acdat.create_policy(NULL);
SELECT acdat.create_policy(repeat('x', 64));
SELECT acdat.create_policy('r', 'peoples');
SELECT acdat.create_policy('r', default_action => 'redcat');
SELECT acdat.create_policy('r', default_action => 'hash');
SELECT acdat.create_policy('r', default_action => NULL);
SELECT acdat.create_policy('r', scan => 'txt');
SELECT acdat.create_policy('r', clock => 'lastest');
SELECT acdat.create_policy('r', on_unfit => 'skip');

SELECT acdat.alter_policy('q', default_action => 'mask', clock => 'latest');
SELECT name, default_action, scan, clock, on_unfit FROM acdat.policies WHERE name = 'q';
SELECT acdat.alter_policy('q', scan => 'every');
SELECT acdat.alter_policy('qq', scan => 'all');

SELECT acdat.add_dictionary('p', 'places');
SELECT acdat.add_dictionary('p', 'places');
SELECT acdat.add_dictionary('p', 'place');
SELECT acdat.add_dictionary('x', 'places');
TABLE acdat.policy_dictionaries ORDER BY policy, position;
SELECT acdat.remove_dictionary('p', 'places');
SELECT acdat.remove_dictionary('p', 'people s');
TABLE acdat.policy_dictionaries ORDER BY policy, position;

-- rules: four forms, the last word counts
SELECT acdat.set_action('p', 'mask', 'customers', 'email');
SELECT acdat.set_action('p', 'mask', 'customers', 'email', argument => '***');
SELECT acdat.set_action('p', 'keep', 'customers');
SELECT acdat.set_action('p', 'null', column_name => 'email');
SELECT acdat.set_action('p', 'drop', type => 'json');
SELECT acdat.set_action('p', 'redact', '"odd Schema"."odd Table"', 'a.b');
SELECT acdat.set_action('p', 'redact', 'customers', 'odd Column');
SELECT policy, action, relation, column_name, type, argument FROM acdat.policy_rules ORDER BY id;

-- a name that no table has yet is let in
SELECT acdat.set_action('p', 'mask', column_name => 'emial');

SELECT acdat.set_action('pp', 'mask', 'customers');
SELECT acdat.set_action('p', 'maks', 'customers');
SELECT acdat.set_action('p', NULL, 'customers');
SELECT acdat.set_action('p', 'error', 'customers');
SELECT acdat.set_action('p', 'partial', 'customers');
SELECT acdat.set_action('p', 'mask');
SELECT acdat.set_action('p', 'mask', 'customers', type => 'text');
SELECT acdat.set_action('p', 'mask', column_name => 'x', type => 'text');
SELECT acdat.set_action('p', 'redact', 'customers', argument => 'topsecret');
SELECT acdat.set_action('p', 'mask', 'customers', 'emial');
SELECT acdat.set_action('p', 'mask', 'customers', 'gone');
SELECT acdat.set_action('p', 'mask', 'customers', 'ctid');
SELECT acdat.set_action('p', 'mask', 'no_such_table');
SELECT acdat.set_action('p', 'mask', 4294967295::oid::regclass);
SELECT acdat.set_action('p', 'mask', 'customers_view');
SELECT acdat.set_action('p', 'mask', 'customers_pkey');
SELECT acdat.set_action('p', 'mask', 'pg_class');
SELECT acdat.set_action('p', 'mask', 'acdat.terms');
SELECT acdat.set_action('p', 'mask', type => 'no_such_type');
SELECT acdat.set_action('p', 'mask', type => 'anyelement');
SELECT acdat.set_action('p', 'mask', 'customers', argument => repeat('x', 65535));

SELECT acdat.clear_action('p', 'customers', 'email');
SELECT acdat.clear_action('p', 'customers', 'email');
SELECT acdat.clear_action('p', 'customers');
SELECT acdat.clear_action('p', column_name => 'emial');
SELECT acdat.clear_action('p', type => 'json');
SELECT acdat.clear_action('p');
SELECT acdat.clear_action('pp', 'customers');
SELECT policy, action, relation, column_name, type, argument FROM acdat.policy_rules ORDER BY id;

-- renaming takes along what belongs to it
UPDATE acdat.policies SET name = 'P' WHERE name = 'p';
UPDATE acdat.dictionaries SET name = 'People' WHERE name = 'people';
SELECT DISTINCT policy FROM acdat.policy_rules;
TABLE acdat.policy_dictionaries;
UPDATE acdat.policies SET name = 'p' WHERE name = 'P';

SELECT acdat.drop_policy('p');
SELECT acdat.drop_policy('p');
SELECT acdat.drop_policy(NULL);
SELECT count(*) FROM acdat.policy_rules;
SELECT count(*) FROM acdat.policy_dictionaries;

DROP VIEW customers_view;
DROP TABLE customers, "odd Schema"."odd Table";
DROP SCHEMA "odd Schema";
DROP EXTENSION acdat_decoder;

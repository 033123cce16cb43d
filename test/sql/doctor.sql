-- What doctor finds.  Rows that depend on the server's settings are left out.
CREATE EXTENSION acdat_decoder;
\set SHOW_CONTEXT never
SET client_min_messages = warning;
DROP ROLE IF EXISTS acdat_regress_doctor;
RESET client_min_messages;
SELECT check_name FROM acdat.doctor() WHERE check_name !~ ' ' OR check_name = 'drop-in links' ORDER BY 1;

CREATE VIEW findings AS SELECT check_name, ok, what, fix FROM acdat.doctor()
	WHERE check_name ~ '^(policy|binding|role acdat|publication|terms|rules)';
CREATE TABLE customers (id integer PRIMARY KEY, name text);
SELECT * FROM findings;

SELECT acdat.create_dictionary('d');
SELECT acdat.add_terms('d', ARRAY['topsecret']);
SELECT acdat.create_policy('p', 'd');
SELECT acdat.create_policy('odd "policy');
SELECT * FROM findings;
SELECT acdat.publish('p');
SELECT * FROM findings;
SELECT acdat.add_terms('d', ARRAY['topsecret2']);
SELECT acdat.set_action('p', 'mask', 'customers', 'name');
SELECT * FROM findings;
SELECT acdat.publish('p');
SELECT acdat.drop_policy('odd "policy');
INSERT INTO acdat.policy_rules (policy, action, column_name) VALUES ('pp', 'mask', 'x');
INSERT INTO acdat.terms (dictionary, pattern) VALUES ('dd', 'topsecret'), (NULL, 'topsecret');
SELECT acdat.bind_slot('some_slot', 'p');
SELECT acdat.bind_database('none');
SELECT * FROM findings;
DELETE FROM acdat.terms WHERE dictionary IS DISTINCT FROM 'd';
DELETE FROM acdat.policy_rules WHERE policy = 'pp';
SELECT acdat.unpublish('p', force => true);
SELECT * FROM findings;
SELECT acdat.publish('p');

-- what is made from a table with rules has none of them
CREATE VIEW names AS SELECT name FROM customers;
CREATE MATERIALIZED VIEW copied AS SELECT * FROM names;
CREATE MATERIALIZED VIEW other AS SELECT 1 AS one;
SELECT * FROM acdat.doctor() WHERE check_name LIKE 'materialized%';
SELECT acdat.set_action('p', 'mask', 'copied', 'name');
SELECT * FROM acdat.doctor() WHERE check_name LIKE 'materialized%';
SELECT acdat.clear_action('p', 'copied', 'name');
DROP MATERIALIZED VIEW copied, other;

CREATE ROLE acdat_regress_doctor LOGIN REPLICATION;
SELECT * FROM findings;
SELECT acdat.attach('acdat_regress_doctor', 'p');
SELECT * FROM findings WHERE check_name LIKE 'role%';
GRANT pg_monitor TO acdat_regress_doctor;
SELECT what, fix FROM findings WHERE check_name LIKE 'role%';
REVOKE pg_monitor FROM acdat_regress_doctor;
GRANT SELECT ON customers TO acdat_regress_doctor;
GRANT pg_read_all_data TO acdat_regress_doctor;
ALTER ROLE acdat_regress_doctor IN DATABASE :"DBNAME" RESET dynamic_library_path;
SELECT check_name, ok, regexp_replace(what, 'can read \d+ tables.*', 'can read tables'), fix FROM findings WHERE check_name LIKE 'role%';

SET client_min_messages = error;
CREATE PUBLICATION acdat_regress_all FOR ALL TABLES;
CREATE PUBLICATION acdat_regress_schema FOR TABLES IN SCHEMA acdat;
CREATE PUBLICATION acdat_regress_table FOR TABLE customers, acdat.terms;
CREATE PUBLICATION acdat_regress_safe FOR TABLE customers;
RESET client_min_messages;
SELECT check_name, ok, what FROM findings WHERE check_name LIKE 'publication%';

DROP PUBLICATION acdat_regress_all, acdat_regress_schema, acdat_regress_table, acdat_regress_safe;
SELECT acdat.detach('acdat_regress_doctor');
DROP OWNED BY acdat_regress_doctor;
DROP ROLE acdat_regress_doctor;
DROP TABLE customers CASCADE;
DROP VIEW findings;
DROP EXTENSION acdat_decoder;

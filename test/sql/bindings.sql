-- Bindings of slots, roles and the database.
CREATE EXTENSION acdat_decoder;
\set SHOW_CONTEXT never

SELECT acdat.create_dictionary('d');
SELECT acdat.add_terms('d', ARRAY['Alice']);
SELECT acdat.create_policy('p', 'd');
SELECT acdat.create_policy('q', 'd');

-- slots need not exist yet; nor need the policy be published
SELECT acdat.bind_slot('no_such_slot', 'p');
SELECT acdat.publish('p');
SELECT acdat.bind_slot('no_such_slot', 'p');
SELECT acdat.publish('q');
SELECT acdat.bind_slot('no_such_slot', 'q');
SELECT kind, name, role, policy FROM acdat.bindings;
SELECT acdat.bind_slot('no_such_slot', 'pp');
SELECT acdat.bind_slot('No Such Slot', 'p');
SELECT acdat.bind_slot('', 'p');
SELECT acdat.bind_slot(NULL, 'p');
SELECT acdat.bind_slot('no_such_slot', NULL);
SELECT acdat.unbind_slot('no_such_slto');
SELECT acdat.unbind_slot('no_such_slot');
SELECT acdat.unbind_slot('no_such_slot');
SELECT acdat.unbind_slot(NULL);

SELECT acdat.bind_database('p');
SELECT acdat.bind_database('none');
SELECT acdat.bind_database('p');
SELECT kind, name, policy FROM acdat.bindings;

-- what is bound stays, unless forced; and stays bound then
SELECT acdat.unpublish('p');
SELECT acdat.drop_policy('p');
SELECT acdat.bind_slot('s', 'p');
SELECT acdat.drop_policy('p');
SELECT acdat.drop_policy('p', force => true);
SELECT kind, name, policy FROM acdat.bindings ORDER BY 1, 2;
SELECT acdat.unbind_database();
SELECT acdat.unbind_database();
SELECT acdat.unbind_slot('s');

-- roles
SET client_min_messages = warning;
CREATE ROLE "acdat Regress's 1" LOGIN;
CREATE ROLE acdat_regress_2 LOGIN;
CREATE ROLE acdat_regress_super SUPERUSER;
RESET client_min_messages;
SELECT acdat.create_policy('p', 'd');
SELECT acdat.publish('p');
CREATE VIEW paths AS
	SELECT r.rolname, s.setconfig FROM pg_db_role_setting s JOIN pg_roles r ON r.oid = s.setrole
		WHERE r.rolname LIKE 'acdat%' AND s.setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
		ORDER BY 1;

SELECT acdat.attach('"acdat Regress''s 1"', 'p');
SELECT * FROM paths;
SELECT kind, name, role::regrole, policy FROM acdat.bindings;
-- again: nothing is prepended twice
SELECT acdat.attach('"acdat Regress''s 1"', 'q');
SELECT * FROM paths;
SELECT kind, name, policy FROM acdat.bindings;
SELECT acdat.drop_policy('q');
SELECT acdat.detach('"acdat Regress''s 1"');
SELECT * FROM paths;
SELECT acdat.detach('"acdat Regress''s 1"');

-- what was set before comes back
ALTER ROLE acdat_regress_2 IN DATABASE :"DBNAME" SET work_mem = '8MB';
ALTER ROLE acdat_regress_2 IN DATABASE :"DBNAME" SET dynamic_library_path = '/some/where:$libdir';
SELECT acdat.attach('acdat_regress_2', 'p');
SELECT * FROM paths;
SELECT acdat.detach('acdat_regress_2');
SELECT * FROM paths;
-- and what was changed since stays
SELECT acdat.attach('acdat_regress_2', 'p');
ALTER ROLE acdat_regress_2 IN DATABASE :"DBNAME" SET dynamic_library_path = '$libdir/acdat:/else/where:$libdir';
SELECT acdat.detach('acdat_regress_2');
SELECT * FROM paths;
-- a setting for all databases is what is prepended to
ALTER ROLE acdat_regress_2 IN DATABASE :"DBNAME" RESET dynamic_library_path;
ALTER ROLE acdat_regress_2 SET dynamic_library_path = '/every/where:$libdir';
SELECT acdat.attach('acdat_regress_2', 'p');
SELECT * FROM paths;
SELECT acdat.detach('acdat_regress_2');
SELECT * FROM paths;
SELECT count(*) FROM acdat.attachments;

-- a renamed role can be detached, a dropped one too
SELECT acdat.attach('acdat_regress_2', 'p');
ALTER ROLE acdat_regress_2 RENAME TO acdat_regress_3;
SELECT check_name, ok, what FROM acdat.doctor() WHERE check_name LIKE 'role acdat_regress%';
SELECT acdat.detach('acdat_regress_3');
SELECT count(*) FROM acdat.bindings;
SELECT acdat.attach('acdat_regress_3', 'p');
SELECT 'acdat_regress_3'::regrole::oid AS role_oid \gset
DROP ROLE acdat_regress_3;
SELECT check_name, ok, what FROM acdat.doctor() WHERE check_name LIKE 'role acdat_regress%';
SELECT acdat.detach(:role_oid::oid::regrole);
SELECT count(*) FROM acdat.bindings;

-- refused
SELECT acdat.attach('acdat_regress_super', 'p');
SELECT acdat.attach('acdat_regress_none', 'p');
SELECT acdat.attach(4294967295::oid::regrole, 'p');
SELECT acdat.attach('"acdat Regress''s 1"', 'pp');
SELECT acdat.attach('"acdat Regress''s 1"', NULL);
SELECT acdat.attach(NULL, 'p');
SELECT acdat.detach(NULL);
SELECT acdat.set_binding('m', 'x', 0::oid, 'p');

DROP VIEW paths;
DROP ROLE "acdat Regress's 1", acdat_regress_super;
DROP EXTENSION acdat_decoder;

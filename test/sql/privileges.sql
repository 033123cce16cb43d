-- Who may do what.
CREATE EXTENSION acdat_decoder;
\set SHOW_CONTEXT never
SET client_min_messages = warning;
DROP ROLE IF EXISTS acdat_regress_user;
RESET client_min_messages;
CREATE ROLE acdat_regress_user;
SELECT acdat.create_dictionary('d');
SELECT acdat.add_terms('d', ARRAY['topsecret']);
SELECT acdat.create_policy('p', 'd');
SELECT acdat.publish('p');

-- everyone may compile and match
SET ROLE acdat_regress_user;
SELECT acdat.replace('ushers', acdat.compile('he')), acdat.contains('x', acdat.compile('he'));
SELECT count(*) FROM acdat.matches('ushers', (SELECT acdat.compile('he')));
SELECT terms FROM acdat.describe((SELECT acdat.compile('he')::bytea::acdat.machine));
-- and nothing else
SELECT acdat.redact('topsecret', 'p');
SELECT acdat.machine_of('p');
SELECT acdat.publish('p');
SELECT acdat.unpublish('p');
SELECT acdat.create_dictionary('e');
SELECT acdat.add_terms('d', ARRAY['x']);
SELECT acdat.create_policy('r');
SELECT acdat.set_action('p', 'keep', type => 'text');
SELECT acdat.bind_slot('s', 'p');
SELECT acdat.bind_database('none');
SELECT acdat.attach('acdat_regress_user', 'p');
SELECT acdat.detach('acdat_regress_user');
SELECT * FROM acdat.explain('p', 'pg_class');
SELECT * FROM acdat.doctor();
SELECT count(*) FROM acdat.terms;
SELECT count(*) FROM acdat.published;
SELECT count(*) FROM acdat.policies;
SELECT count(*) FROM acdat.bindings;
SELECT nextval('acdat.terms_id_seq');
RESET ROLE;

-- redact alone can be granted
GRANT EXECUTE ON FUNCTION acdat.redact(text, text) TO acdat_regress_user;
SET ROLE acdat_regress_user;
SELECT acdat.redact('topsecret', 'p');
SELECT acdat.redact('topsecret', 'q');
RESET ROLE;

-- an administrator who is no superuser
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA acdat TO acdat_regress_user;
GRANT ALL ON ALL TABLES IN SCHEMA acdat TO acdat_regress_user;
GRANT ALL ON ALL SEQUENCES IN SCHEMA acdat TO acdat_regress_user;
SET ROLE acdat_regress_user;
SELECT acdat.add_terms('d', ARRAY['hidden']);
SELECT acdat.publish('p');
SELECT acdat.redact('hidden', 'p');
SELECT acdat.bind_database('p');
SELECT acdat.bind_database('none');
SELECT acdat.bind_slot('s', 'none');
SELECT acdat.attach('acdat_regress_user', 'p');
SELECT acdat.detach('acdat_regress_user');
RESET ROLE;

DROP OWNED BY acdat_regress_user;
DROP ROLE acdat_regress_user;
DROP EXTENSION acdat_decoder;

-- Dictionaries and terms.
CREATE EXTENSION acdat_decoder;
\set SHOW_CONTEXT never

SELECT acdat.create_dictionary('people');
SELECT acdat.create_dictionary('places', '[PLACE]');
SELECT acdat.create_dictionary('Odd "name''s', NULL, NULL);
TABLE acdat.dictionaries ORDER BY name;

SELECT acdat.create_dictionary('people');
SELECT acdat.create_dictionary('');
SELECT acdat.create_dictionary(NULL);
SELECT acdat.create_dictionary(repeat('x', 64));
SELECT acdat.create_dictionary('more', options => ARRAY['fold']);

SELECT acdat.add_terms('people', ARRAY['Alice', 'Bob']);
SELECT acdat.add_terms('people', ARRAY['Carol', 'Dave'], ARRAY['[C]', NULL]);
SELECT acdat.add_terms('Odd "name''s', ARRAY['x']);
SELECT acdat.add_terms('people', '{}');
SELECT acdat.add_terms('people', '{}', '{}');
SELECT acdat.add_terms('places', ARRAY[['Rome', 'Oslo'], ['Bonn', 'Bern']]);
SELECT id, dictionary, pattern, replacement, priority, enabled, allow, whole_word FROM acdat.terms ORDER BY id;

-- more than work_mem: they go through a file, which is closed
SET work_mem = '64kB';
SELECT acdat.add_terms('people', ARRAY(SELECT 'spilled ' || i FROM generate_series(1, 5000) i));
RESET work_mem;
DELETE FROM acdat.terms WHERE pattern LIKE 'spilled%';

-- near names
SELECT acdat.add_terms('peple', ARRAY['x']);
SELECT acdat.add_terms('PLACES', ARRAY['x']);
SELECT acdat.add_terms('something else', ARRAY['x']);
SELECT acdat.add_terms(NULL, ARRAY['x']);

-- bad elements by number, never by content; and all or nothing
SELECT acdat.add_terms('people', NULL);
SELECT acdat.add_terms('people', ARRAY['topsecret', NULL, '', 'topsecret too']);
SELECT acdat.add_terms('people', ARRAY['topsecret', repeat('topsecre', 8192)]);
SELECT acdat.add_terms('people', ARRAY(SELECT CASE WHEN i % 2 = 0 THEN 'topsecret' || i END FROM generate_series(1, 50) i));
SELECT acdat.add_terms('people', ARRAY['topsecret', 'topsecret too'], ARRAY['a']);
SELECT acdat.add_terms('people', ARRAY['topsecret'], ARRAY['a', 'b']);
SELECT acdat.add_terms('people', ARRAY['topsecret'], '{}');
SELECT count(*) FROM acdat.terms;

-- direct writing: what violates a constraint is not printed
INSERT INTO acdat.terms (id, dictionary, pattern) VALUES (1, 'people', 'topsecret');
INSERT INTO acdat.terms (id, dictionary, pattern) VALUES (NULL, 'people', 'topsecret');
UPDATE acdat.terms SET id = NULL WHERE pattern = 'Alice';
INSERT INTO acdat.policies (name, secret) VALUES (NULL, 'topsecret');
INSERT INTO acdat.published (kind, key, part, data) VALUES ('m', NULL, 0, 'topsecret');

-- dropping
SELECT acdat.create_policy('p', 'people');
SELECT acdat.create_policy('other policy', 'people');
SELECT acdat.drop_dictionary('people');
SELECT acdat.drop_dictionary('peeple');
SELECT acdat.drop_dictionary('Odd "name''s');
SELECT acdat.drop_dictionary('people', force => true);
SELECT count(*) FROM acdat.terms WHERE dictionary = 'people';
SELECT count(*) FROM acdat.policy_dictionaries;
SELECT acdat.drop_dictionary('places');
SELECT acdat.drop_dictionary('places');
SELECT acdat.add_terms('places', ARRAY['x']);

DROP EXTENSION acdat_decoder;

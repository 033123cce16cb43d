-- Replacements that could leave or make a term are refused, by id.
CREATE EXTENSION acdat_decoder;
\set SHOW_CONTEXT never

SELECT acdat.create_dictionary('d');
SELECT acdat.create_policy('p', 'd');
CREATE FUNCTION set_terms(patterns text[], replacements text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM acdat.terms WHERE dictionary = 'd';
	INSERT INTO acdat.terms (id, dictionary, pattern, replacement)
		SELECT n, 'd', p, r FROM unnest(patterns, replacements) WITH ORDINALITY AS u (p, r, n);
END
$$;

-- empty
SELECT set_terms(ARRAY['topsecret'], ARRAY['']);
SELECT acdat.publish('p');
-- contains a term
SELECT set_terms(ARRAY['topsecret', 'hidden'], ARRAY['<hidden>', '#']);
SELECT acdat.publish('p');
-- lies inside a term
SELECT set_terms(ARRAY['topsecret'], ARRAY['psec']);
SELECT acdat.publish('p');
-- begins as a term ends: "top" + replacement
SELECT set_terms(ARRAY['topsecret', 'hidden'], ARRAY['-', 'etc.']);
SELECT acdat.publish('p');
-- ends as a term begins
SELECT set_terms(ARRAY['topsecret', 'hidden'], ARRAY['-', '.top']);
SELECT acdat.publish('p');
-- a replacement that is its own term
SELECT set_terms(ARRAY['topsecret'], ARRAY['topsecret']);
SELECT acdat.publish('p');
-- many, of which some are named
SELECT set_terms(ARRAY(SELECT 'topsecret' || i FROM generate_series(1, 30) i), ARRAY(SELECT 'opsecret' || i FROM generate_series(1, 30) i));
SELECT acdat.publish('p');
-- safe ones
SELECT set_terms(ARRAY['topsecret', 'hidden'], ARRAY['[A]', '[B]']);
SELECT acdat.publish('p');

-- when told so
SELECT set_terms(ARRAY['topsecret'], ARRAY['']);
SELECT acdat.publish('p', allow_unsafe_replacement => true);
SELECT acdat.redact('tops[topsecret]ecret', 'p'), acdat.redact('topstopsecretecret', 'p');
SELECT acdat.publish('p', NULL, NULL);

-- the dictionary's own replacement, and that of other dictionaries
SELECT acdat.create_dictionary('e', 'topsecret');
INSERT INTO acdat.terms (id, dictionary, pattern) VALUES (77, 'e', 'other');
SELECT acdat.create_policy('q', 'e');
SELECT acdat.publish('q');
SELECT acdat.add_dictionary('q', 'd');
SELECT set_terms(ARRAY['topsecret'], ARRAY['[A]']);
SELECT acdat.publish('q');

DROP FUNCTION set_terms;
DROP EXTENSION acdat_decoder;

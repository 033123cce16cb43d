/* acdat_decoder--0.1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION acdat_decoder" to load this file. \quit

-- Whoever owns the schema, or has something in it already, could put functions
-- beside those below that superusers would run in their place.
DO LANGUAGE plpgsql $$
DECLARE
	foreign_owner boolean;
	used boolean;
BEGIN
	SELECT NOT r.rolsuper AND r.rolname OPERATOR(pg_catalog.<>) CURRENT_USER
				OR EXISTS (SELECT FROM pg_catalog.aclexplode(n.nspacl) a
					WHERE a.privilege_type OPERATOR(pg_catalog.=) 'CREATE' AND a.grantee OPERATOR(pg_catalog.<>) n.nspowner),
			EXISTS (SELECT FROM pg_catalog.pg_depend d
				WHERE d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_namespace'::pg_catalog.regclass
					AND d.refobjid OPERATOR(pg_catalog.=) n.oid
					AND d.classid OPERATOR(pg_catalog.<>) 'pg_catalog.pg_extension'::pg_catalog.regclass)
		INTO foreign_owner, used
		FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_roles r ON r.oid OPERATOR(pg_catalog.=) n.nspowner
		WHERE n.nspname OPERATOR(pg_catalog.=) 'acdat';
	IF foreign_owner OR used THEN
		RAISE EXCEPTION 'schema "acdat" is in use' USING
			ERRCODE = 'duplicate_schema',
			DETAIL = CASE WHEN used THEN 'There are objects in it.'
				ELSE 'It belongs to a role that is no superuser, or others may create objects in it.' END,
			HINT = 'Drop the schema; CREATE EXTENSION makes it.';
	END IF;
END
$$;

-- ---------------------------------------------------------------------------
-- Machines: compiled dictionaries as values
--
-- The C functions below look nothing up by name, so they carry no SET clause:
-- it would cost more than the scan of a short text.  All others do.
-- ---------------------------------------------------------------------------

CREATE TYPE acdat.machine;

CREATE FUNCTION acdat.machine_in(cstring) RETURNS acdat.machine
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'acdat_machine_in';
CREATE FUNCTION acdat.machine_out(acdat.machine) RETURNS cstring
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'acdat_machine_out';
CREATE FUNCTION acdat.machine_recv(internal) RETURNS acdat.machine
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'acdat_machine_recv';
CREATE FUNCTION acdat.machine_send(acdat.machine) RETURNS bytea
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'acdat_machine_send';

CREATE TYPE acdat.machine (
	INPUT = acdat.machine_in,
	OUTPUT = acdat.machine_out,
	RECEIVE = acdat.machine_recv,
	SEND = acdat.machine_send,
	INTERNALLENGTH = VARIABLE,
	ALIGNMENT = int4,
	STORAGE = external
);
COMMENT ON TYPE acdat.machine IS 'compiled dictionary';

CREATE FUNCTION acdat.machine(bytea) RETURNS acdat.machine
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'acdat_machine_from_bytea';
COMMENT ON FUNCTION acdat.machine(bytea) IS 'machine from the bytes of an artifact, which are checked';
CREATE CAST (bytea AS acdat.machine) WITH FUNCTION acdat.machine(bytea);
CREATE CAST (acdat.machine AS bytea) WITHOUT FUNCTION;

-- compiling

CREATE FUNCTION acdat.compile_step(internal, text) RETURNS internal
	LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'acdat_compile_step';
CREATE FUNCTION acdat.compile_step(internal, text, text) RETURNS internal
	LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'acdat_compile_step';
CREATE FUNCTION acdat.compile_step(internal, text, text, bigint) RETURNS internal
	LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'acdat_compile_step';
CREATE FUNCTION acdat.compile_step(internal, text, text, bigint, integer) RETURNS internal
	LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'acdat_compile_step';
CREATE FUNCTION acdat.compile_step(internal, text, text, bigint, integer, text[]) RETURNS internal
	LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'acdat_compile_step';
CREATE FUNCTION acdat.compile_step(internal, bytea) RETURNS internal
	LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'acdat_compile_step';
CREATE FUNCTION acdat.compile_step(internal, bytea, bytea) RETURNS internal
	LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'acdat_compile_step';
CREATE FUNCTION acdat.compile_step(internal, bytea, bytea, bigint) RETURNS internal
	LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'acdat_compile_step';
CREATE FUNCTION acdat.compile_step(internal, bytea, bytea, bigint, integer) RETURNS internal
	LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'acdat_compile_step';
CREATE FUNCTION acdat.compile_step(internal, bytea, bytea, bigint, integer, text[]) RETURNS internal
	LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'acdat_compile_step';
CREATE FUNCTION acdat.compile_final(internal) RETURNS acdat.machine
	LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'acdat_compile_final';

CREATE AGGREGATE acdat.compile(pattern text) (
	SFUNC = acdat.compile_step, STYPE = internal,
	FINALFUNC = acdat.compile_final, FINALFUNC_MODIFY = READ_WRITE, PARALLEL = SAFE);
CREATE AGGREGATE acdat.compile(pattern text, replacement text) (
	SFUNC = acdat.compile_step, STYPE = internal,
	FINALFUNC = acdat.compile_final, FINALFUNC_MODIFY = READ_WRITE, PARALLEL = SAFE);
CREATE AGGREGATE acdat.compile(pattern text, replacement text, id bigint) (
	SFUNC = acdat.compile_step, STYPE = internal,
	FINALFUNC = acdat.compile_final, FINALFUNC_MODIFY = READ_WRITE, PARALLEL = SAFE);
CREATE AGGREGATE acdat.compile(pattern text, replacement text, id bigint, priority integer) (
	SFUNC = acdat.compile_step, STYPE = internal,
	FINALFUNC = acdat.compile_final, FINALFUNC_MODIFY = READ_WRITE, PARALLEL = SAFE);
CREATE AGGREGATE acdat.compile(pattern text, replacement text, id bigint, priority integer, options text[]) (
	SFUNC = acdat.compile_step, STYPE = internal,
	FINALFUNC = acdat.compile_final, FINALFUNC_MODIFY = READ_WRITE, PARALLEL = SAFE);
CREATE AGGREGATE acdat.compile(pattern bytea) (
	SFUNC = acdat.compile_step, STYPE = internal,
	FINALFUNC = acdat.compile_final, FINALFUNC_MODIFY = READ_WRITE, PARALLEL = SAFE);
CREATE AGGREGATE acdat.compile(pattern bytea, replacement bytea) (
	SFUNC = acdat.compile_step, STYPE = internal,
	FINALFUNC = acdat.compile_final, FINALFUNC_MODIFY = READ_WRITE, PARALLEL = SAFE);
CREATE AGGREGATE acdat.compile(pattern bytea, replacement bytea, id bigint) (
	SFUNC = acdat.compile_step, STYPE = internal,
	FINALFUNC = acdat.compile_final, FINALFUNC_MODIFY = READ_WRITE, PARALLEL = SAFE);
CREATE AGGREGATE acdat.compile(pattern bytea, replacement bytea, id bigint, priority integer) (
	SFUNC = acdat.compile_step, STYPE = internal,
	FINALFUNC = acdat.compile_final, FINALFUNC_MODIFY = READ_WRITE, PARALLEL = SAFE);
CREATE AGGREGATE acdat.compile(pattern bytea, replacement bytea, id bigint, priority integer, options text[]) (
	SFUNC = acdat.compile_step, STYPE = internal,
	FINALFUNC = acdat.compile_final, FINALFUNC_MODIFY = READ_WRITE, PARALLEL = SAFE);

-- matching

CREATE FUNCTION acdat.contains(value text, machine acdat.machine) RETURNS boolean
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'acdat_contains_text';
CREATE FUNCTION acdat.contains(value bytea, machine acdat.machine) RETURNS boolean
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'acdat_contains_bytea';
CREATE FUNCTION acdat.replace(value text, machine acdat.machine, kind text DEFAULT 'cover') RETURNS text
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'acdat_replace_text';
CREATE FUNCTION acdat.replace(value bytea, machine acdat.machine, kind text DEFAULT 'cover') RETURNS bytea
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'acdat_replace_bytea';
CREATE FUNCTION acdat.matches(value text, machine acdat.machine, kind text DEFAULT 'all_overlapping',
		OUT id bigint, OUT byte_start integer, OUT byte_end integer,
		OUT char_start integer, OUT char_end integer, OUT matched text) RETURNS SETOF record
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10 ROWS 10 AS 'MODULE_PATHNAME', 'acdat_matches_text';
CREATE FUNCTION acdat.matches(value bytea, machine acdat.machine, kind text DEFAULT 'all_overlapping',
		OUT id bigint, OUT byte_start integer, OUT byte_end integer,
		OUT char_start integer, OUT char_end integer, OUT matched bytea) RETURNS SETOF record
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10 ROWS 10 AS 'MODULE_PATHNAME', 'acdat_matches_bytea';
CREATE FUNCTION acdat.describe(machine acdat.machine,
		OUT terms bigint, OUT states bigint, OUT bytes bigint, OUT min_len bigint, OUT max_len bigint,
		OUT version integer, OUT digest bytea, OUT engine text, OUT reason text) RETURNS record
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'acdat_describe';

COMMENT ON FUNCTION acdat.contains(text, acdat.machine) IS 'does any term stand in the value?';
COMMENT ON FUNCTION acdat.replace(text, acdat.machine, text) IS 'the value with matches replaced';
COMMENT ON FUNCTION acdat.matches(text, acdat.machine, text) IS 'matches in the value, half-open and from 0';
COMMENT ON FUNCTION acdat.describe(acdat.machine) IS 'facts about a machine, what scans it and why';

-- ---------------------------------------------------------------------------
-- Tables
--
-- No constraint here may print a term or a secret when it is violated, so the
-- tables that hold some have none but their primary key, and triggers catch
-- what "null value in column" would print with its whole row.  No statistics
-- are kept of such columns.  What values mean is checked by acdat.publish.
-- ---------------------------------------------------------------------------

CREATE TABLE acdat.dictionaries (
	name		text PRIMARY KEY,
	replacement	text DEFAULT '[REDACTED]',
	options		text[] DEFAULT '{}'
);
COMMENT ON TABLE acdat.dictionaries IS 'named sets of terms';

CREATE TABLE acdat.terms (
	id			bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
	dictionary	text,
	pattern		text,
	replacement	text,
	priority	integer DEFAULT 0,
	enabled		boolean DEFAULT true,
	allow		boolean DEFAULT false,
	label		text,
	whole_word	boolean DEFAULT false,
	valid_from	timestamptz,
	valid_until	timestamptz,
	encodings	text[]
);
ALTER TABLE acdat.terms
	ALTER COLUMN pattern SET STATISTICS 0,
	ALTER COLUMN replacement SET STATISTICS 0,
	ALTER COLUMN label SET STATISTICS 0;
CREATE INDEX terms_dictionary_idx ON acdat.terms (dictionary);
COMMENT ON TABLE acdat.terms IS 'terms of dictionaries; load them with acdat load or acdat.add_terms';

CREATE TABLE acdat.policies (
	name			text PRIMARY KEY,
	default_action	text DEFAULT 'redact',
	scan			text DEFAULT 'text',
	clock			text DEFAULT 'latest',
	on_unfit		text DEFAULT 'null',
	secret			bytea
);
ALTER TABLE acdat.policies ALTER COLUMN secret SET STATISTICS 0;
COMMENT ON TABLE acdat.policies IS 'what happens to the columns of a stream';

CREATE TABLE acdat.policy_dictionaries (
	policy		text,
	position	integer,
	dictionary	text,
	PRIMARY KEY (policy, dictionary)
);
COMMENT ON TABLE acdat.policy_dictionaries IS 'dictionaries that "redact" uses, in order';

CREATE TABLE acdat.policy_rules (
	id			bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
	policy		text,
	action		text,
	relation	regclass,
	column_name	name,
	type		regtype,
	argument	text
);
COMMENT ON TABLE acdat.policy_rules IS 'actions of columns, where they are not the default';

-- the last generation a policy name ever had, so that none comes twice
CREATE TABLE acdat.generations (
	policy		text PRIMARY KEY,
	last		bigint
);
COMMENT ON TABLE acdat.generations IS 'last published generation of each policy name';

-- what attach did to a role's settings, so that detach can undo it
CREATE TABLE acdat.attachments (
	role		text PRIMARY KEY,
	previous	text,
	written		text
);
COMMENT ON TABLE acdat.attachments IS 'settings of attached roles before they were attached';

-- All that the output plugin reads; see src/policy.h.  The columns are PLAIN
-- because the TOAST table of a user catalog table is open to VACUUM; added
-- so that there never is one.
CREATE TABLE acdat.published (kind "char") WITH (user_catalog_table = true);
ALTER TABLE acdat.published
	ADD COLUMN key bytea,
	ADD COLUMN part integer,
	ADD COLUMN data bytea,
	ALTER COLUMN key SET STORAGE PLAIN,
	ALTER COLUMN key SET STATISTICS 0,
	ALTER COLUMN data SET STORAGE PLAIN,
	ALTER COLUMN data SET STATISTICS 0;
ALTER TABLE acdat.published ADD PRIMARY KEY (kind, key, part);
COMMENT ON TABLE acdat.published IS 'published generations of policies, their machines, and bindings';

CREATE FUNCTION acdat.refuse_null_key() RETURNS trigger
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RAISE EXCEPTION 'null value in column "%" of table "%.%"', TG_ARGV[0], TG_TABLE_SCHEMA, TG_TABLE_NAME
		USING ERRCODE = 'not_null_violation';
END
$$;
CREATE TRIGGER refuse_null_key BEFORE INSERT OR UPDATE ON acdat.terms
	FOR EACH ROW WHEN (NEW.id IS NULL) EXECUTE FUNCTION acdat.refuse_null_key('id');
CREATE TRIGGER refuse_null_key BEFORE INSERT OR UPDATE ON acdat.policies
	FOR EACH ROW WHEN (NEW.name IS NULL) EXECUTE FUNCTION acdat.refuse_null_key('name');
CREATE TRIGGER refuse_null_key BEFORE INSERT OR UPDATE ON acdat.published
	FOR EACH ROW WHEN (NEW.kind IS NULL OR NEW.key IS NULL OR NEW.part IS NULL)
	EXECUTE FUNCTION acdat.refuse_null_key('kind, key or part');

-- What foreign keys would do, who cannot be here: a parallel restore loads the
-- tables of an extension in any order.
CREATE FUNCTION acdat.follow_policy() RETURNS trigger
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF TG_OP = 'DELETE' THEN
		DELETE FROM acdat.policy_rules WHERE policy = OLD.name;
		DELETE FROM acdat.policy_dictionaries WHERE policy = OLD.name;
	ELSE
		UPDATE acdat.policy_rules SET policy = NEW.name WHERE policy = OLD.name;
		UPDATE acdat.policy_dictionaries SET policy = NEW.name WHERE policy = OLD.name;
	END IF;
	RETURN NULL;
END
$$;
CREATE TRIGGER follow_policy AFTER UPDATE OF name OR DELETE ON acdat.policies
	FOR EACH ROW EXECUTE FUNCTION acdat.follow_policy();

CREATE FUNCTION acdat.follow_dictionary() RETURNS trigger
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF TG_OP = 'DELETE' THEN
		DELETE FROM acdat.terms WHERE dictionary = OLD.name;
	ELSE
		UPDATE acdat.terms SET dictionary = NEW.name WHERE dictionary = OLD.name;
		UPDATE acdat.policy_dictionaries SET dictionary = NEW.name WHERE dictionary = OLD.name;
	END IF;
	RETURN NULL;
END
$$;
CREATE TRIGGER follow_dictionary AFTER UPDATE OF name OR DELETE ON acdat.dictionaries
	FOR EACH ROW EXECUTE FUNCTION acdat.follow_dictionary();

SELECT pg_catalog.pg_extension_config_dump('acdat.dictionaries', '');
SELECT pg_catalog.pg_extension_config_dump('acdat.terms', '');
SELECT pg_catalog.pg_extension_config_dump('acdat.terms_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('acdat.policies', '');
SELECT pg_catalog.pg_extension_config_dump('acdat.policy_dictionaries', '');
SELECT pg_catalog.pg_extension_config_dump('acdat.policy_rules', '');
SELECT pg_catalog.pg_extension_config_dump('acdat.policy_rules_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('acdat.generations', '');
SELECT pg_catalog.pg_extension_config_dump('acdat.attachments', '');
-- generations are published again after a restore; bindings must not get lost
SELECT pg_catalog.pg_extension_config_dump('acdat.published', $$WHERE kind IN ('s', 'r', 'd')$$);

-- ---------------------------------------------------------------------------
-- Helpers, not for users
-- ---------------------------------------------------------------------------

CREATE FUNCTION acdat.near_names(what text, wanted text, names text[]) RETURNS text
	LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'acdat_name_hint';
COMMENT ON FUNCTION acdat.near_names(text, text, text[]) IS 'hint for a misspelt name';
CREATE FUNCTION acdat.new_secret() RETURNS bytea
	LANGUAGE c VOLATILE AS 'MODULE_PATHNAME', 'acdat_new_secret';
CREATE FUNCTION acdat.binding_policy(data bytea) RETURNS text
	LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'acdat_binding_policy';
CREATE FUNCTION acdat.binding_role(data bytea) RETURNS oid
	LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'acdat_binding_role';
CREATE FUNCTION acdat.set_binding(kind "char", key text, role oid, policy text) RETURNS boolean
	LANGUAGE c VOLATILE SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'acdat_set_binding';
COMMENT ON FUNCTION acdat.set_binding("char", text, oid, text) IS 'write a binding, or with a null policy remove it';

CREATE VIEW acdat.bindings AS
	SELECT CASE kind WHEN 's' THEN 'slot' WHEN 'r' THEN 'role' ELSE 'database' END AS kind,
		pg_catalog.convert_from(key, pg_catalog.getdatabaseencoding()) AS name,
		CASE WHEN kind = 'r' THEN acdat.binding_role(data) END AS role,
		acdat.binding_policy(data) AS policy
	FROM acdat.published
	WHERE kind IN ('s', 'r', 'd');
COMMENT ON VIEW acdat.bindings IS 'which slots, roles and database must use which policy';

CREATE FUNCTION acdat.check_new_name(what text, name text) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF name IS NULL OR name OPERATOR(pg_catalog.=) '' THEN
		RAISE EXCEPTION '% name must not be empty', what USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF octet_length(name) > 63 THEN
		RAISE EXCEPTION '% name is too long', what
			USING ERRCODE = 'name_too_long', DETAIL = 'A name has at most 63 bytes.';
	END IF;
END
$$;

CREATE FUNCTION acdat.check_dictionary(dictionary text) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF dictionary IS NULL THEN
		RAISE EXCEPTION 'dictionary must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF NOT EXISTS (SELECT FROM acdat.dictionaries d WHERE d.name = check_dictionary.dictionary) THEN
		RAISE EXCEPTION 'dictionary "%" does not exist', dictionary USING
			ERRCODE = 'undefined_object',
			HINT = acdat.near_names('dictionaries', dictionary, ARRAY(SELECT d.name FROM acdat.dictionaries d));
	END IF;
END
$$;

CREATE FUNCTION acdat.check_policy(policy text) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF policy IS NULL THEN
		RAISE EXCEPTION 'policy must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF NOT EXISTS (SELECT FROM acdat.policies p WHERE p.name = check_policy.policy) THEN
		RAISE EXCEPTION 'policy "%" does not exist', policy USING
			ERRCODE = 'undefined_object',
			HINT = acdat.near_names('policies', policy, ARRAY(SELECT p.name FROM acdat.policies p));
	END IF;
END
$$;

CREATE FUNCTION acdat.check_choice(what text, value text, choices text[]) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF value IS NULL OR NOT value = ANY (choices) THEN
		RAISE EXCEPTION 'unrecognized % "%"', what, coalesce(value, 'NULL') USING
			ERRCODE = 'invalid_parameter_value',
			HINT = acdat.near_names('choices', value, choices);
	END IF;
END
$$;

-- An action by name: of a rule, or of a policy by default.
CREATE FUNCTION acdat.check_action(action text, is_default boolean) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	choices CONSTANT text[] := ARRAY['redact', 'keep', 'mask', 'null', 'drop'];
BEGIN
	IF action IN ('regexp', 'hash', 'partial', 'fill', 'truncate') THEN
		RAISE EXCEPTION 'action "%" is not supported yet', action USING
			ERRCODE = 'feature_not_supported',
			HINT = 'Use "mask" to withhold the value whole.';
	END IF;
	IF action = 'error' AND NOT is_default THEN
		RAISE EXCEPTION 'action "error" can only be the default action of a policy' USING
			ERRCODE = 'invalid_parameter_value',
			HINT = 'Use acdat.alter_policy with default_action => ''error''.';
	END IF;
	PERFORM acdat.check_choice('action', action,
		CASE WHEN is_default THEN choices || ARRAY['error'] ELSE choices END);
END
$$;

-- ---------------------------------------------------------------------------
-- Dictionaries
-- ---------------------------------------------------------------------------

CREATE FUNCTION acdat.create_dictionary(name text, replacement text DEFAULT '[REDACTED]',
		options text[] DEFAULT '{}') RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM acdat.check_new_name('dictionary', name);
	IF cardinality(options) > 0 THEN
		RAISE EXCEPTION 'unrecognized dictionary option "%"', (SELECT o FROM unnest(options) o LIMIT 1) USING
			ERRCODE = 'invalid_parameter_value',
			HINT = 'Dictionaries have no options yet.';
	END IF;
	IF EXISTS (SELECT FROM acdat.dictionaries d WHERE d.name = create_dictionary.name) THEN
		RAISE EXCEPTION 'dictionary "%" already exists', name USING ERRCODE = 'duplicate_object';
	END IF;
	INSERT INTO acdat.dictionaries
		VALUES (create_dictionary.name, coalesce(create_dictionary.replacement, '[REDACTED]'),
			coalesce(create_dictionary.options, '{}'));
END
$$;
COMMENT ON FUNCTION acdat.create_dictionary(text, text, text[]) IS 'create a dictionary; its replacement is for terms without one';

CREATE FUNCTION acdat.add_terms(dictionary text, patterns text[], replacements text[] DEFAULT NULL) RETURNS bigint
	LANGUAGE c VOLATILE SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'acdat_add_terms';
COMMENT ON FUNCTION acdat.add_terms(text, text[], text[]) IS 'add terms to a dictionary; errors name elements by number, never by content';

-- The lines, at most so many, whose bytes are not text of the database
-- encoding.  Where a range of lines does not convert, its halves are tried.
CREATE FUNCTION acdat.unconvertible_lines(staging regclass, at_most integer) RETURNS bigint[]
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	lows bigint[];
	highs bigint[];
	low bigint;
	high bigint;
	found bigint[] := '{}';
BEGIN
	EXECUTE format('CREATE INDEX ON %s (line)', staging);
	EXECUTE format('SELECT ARRAY[min(line)], ARRAY[max(line)] FROM %s', staging) INTO lows, highs;
	WHILE cardinality(lows) > 0 AND cardinality(found) < at_most LOOP
		low := lows[cardinality(lows)];
		high := highs[cardinality(highs)];
		lows := trim_array(lows, 1);
		highs := trim_array(highs, 1);
		BEGIN
			EXECUTE format('SELECT count(convert_from(pattern, ''UTF8'')), count(convert_from(replacement, ''UTF8''))
				FROM %s WHERE line BETWEEN $1 AND $2', staging) USING low, high;
			CONTINUE;
		EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
			-- the message would print the bytes
		END;
		IF low = high THEN
			found := found || low;
		ELSE
			lows := lows || ARRAY[(low + high) / 2 + 1, low];
			highs := highs || ARRAY[high, (low + high) / 2];
		END IF;
	END LOOP;
	RETURN found;
END
$$;

-- Add terms from a table (line bigint, pattern bytea, replacement bytea,
-- priority integer), in UTF-8, as acdat load fills it.  No variable and no
-- parameter of a statement here holds a term, as auto_explain prints those.
-- No error about a term gets out, or into the log: a conversion prints the
-- bytes it fails on, a user's constraint the whole row.  Errors about terms
-- have a SCHEMA and CONSTRAINT by which acdat load knows them.
CREATE FUNCTION acdat.load_terms(dictionary text, staging regclass, replace boolean DEFAULT false) RETURNS bigint
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	most CONSTANT integer := 20;
	bad bigint[];
	problem text;
	code text;
	loaded bigint := 0;
BEGIN
	PERFORM acdat.check_dictionary(dictionary);
	-- loads that replace come one after the other
	PERFORM FROM acdat.dictionaries d WHERE d.name = load_terms.dictionary FOR NO KEY UPDATE;
	IF staging IS NULL THEN
		RAISE EXCEPTION 'staging must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;

	BEGIN
		EXECUTE format('SELECT ARRAY(SELECT line FROM %s
				WHERE line IS NULL OR octet_length(pattern) BETWEEN 1 AND 65535 IS NOT TRUE
					OR CASE WHEN octet_length(pattern) > 65535 / 4
						THEN octet_length(convert_from(pattern, ''UTF8'')) > 65535 END
				ORDER BY line LIMIT $1)', staging) INTO bad USING most + 1;
		IF bad = '{}' THEN
			IF replace THEN
				DELETE FROM acdat.terms t WHERE t.dictionary = load_terms.dictionary;
			END IF;
			EXECUTE format('INSERT INTO acdat.terms (dictionary, pattern, replacement, priority)
				SELECT $1, convert_from(pattern, ''UTF8''), convert_from(replacement, ''UTF8''), coalesce(priority, 0)
				FROM %s ORDER BY line', staging) USING dictionary;
			GET DIAGNOSTICS loaded = ROW_COUNT;
			-- what users deferred would raise its errors at commit
			SET CONSTRAINTS ALL IMMEDIATE;
		ELSE
			problem := 'pattern does not have 1 to 65535 bytes in the database encoding';
		END IF;
	EXCEPTION
		WHEN character_not_in_repertoire OR untranslatable_character THEN
			bad := acdat.unconvertible_lines(staging, most + 1);
			problem := format('term cannot be represented in the database encoding "%s"', getdatabaseencoding());
			code := SQLSTATE;
		-- the last two are not among the others
		WHEN OTHERS OR query_canceled OR assert_failure THEN
			code := SQLSTATE;
	END;

	IF bad <> '{}' THEN
		RAISE EXCEPTION USING
			MESSAGE = problem,
			ERRCODE = 'invalid_parameter_value',
			DETAIL = format(CASE WHEN cardinality(bad) > most THEN 'Lines: %s and perhaps more.' ELSE 'Lines: %s.' END,
				array_to_string(bad[:most], ', ', 'unknown')),
			SCHEMA = 'acdat',
			CONSTRAINT = 'load_terms';
	ELSIF code IS NOT NULL THEN
		RAISE EXCEPTION 'could not store terms in dictionary "%"', dictionary USING
			ERRCODE = code,
			DETAIL = format('The error is withheld, as it may quote a term; its SQLSTATE is %s.', code),
			SCHEMA = 'acdat',
			CONSTRAINT = 'load_terms';
	END IF;
	RETURN loaded;
END
$$;
COMMENT ON FUNCTION acdat.load_terms(text, regclass, boolean) IS 'add the terms of a staging table to a dictionary; what acdat load calls';

CREATE FUNCTION acdat.drop_dictionary(name text, force boolean DEFAULT false) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	users text;
BEGIN
	PERFORM acdat.check_dictionary(name);
	SELECT string_agg(quote_ident(d.policy), ', ' ORDER BY d.policy) INTO users
		FROM acdat.policy_dictionaries d WHERE d.dictionary = drop_dictionary.name;
	IF users IS NOT NULL AND force IS NOT TRUE THEN
		RAISE EXCEPTION 'dictionary "%" is in use', name USING
			ERRCODE = 'dependent_objects_still_exist',
			DETAIL = format('Policies that use it: %s.', users),
			HINT = 'Remove it from them with acdat.remove_dictionary, or drop it with force => true.';
	END IF;
	DELETE FROM acdat.policy_dictionaries d WHERE d.dictionary = drop_dictionary.name;
	DELETE FROM acdat.dictionaries d WHERE d.name = drop_dictionary.name;
END
$$;
COMMENT ON FUNCTION acdat.drop_dictionary(text, boolean) IS 'drop a dictionary and its terms; what is published stays until published again';

-- ---------------------------------------------------------------------------
-- Policies
-- ---------------------------------------------------------------------------

CREATE FUNCTION acdat.check_policy_settings(default_action text, scan text, clock text, on_unfit text) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM acdat.check_action(default_action, true);
	PERFORM acdat.check_choice('scan', scan, ARRAY['text', 'all']);
	PERFORM acdat.check_choice('clock', clock, ARRAY['latest', 'commit']);
	PERFORM acdat.check_choice('on_unfit', on_unfit, ARRAY['null']);
END
$$;

CREATE FUNCTION acdat.create_policy(name text, dictionary text DEFAULT NULL, default_action text DEFAULT 'redact',
		scan text DEFAULT 'text', clock text DEFAULT 'latest', on_unfit text DEFAULT 'null') RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM acdat.check_new_name('policy', name);
	IF name = 'none' THEN
		RAISE EXCEPTION 'policy name "none" is reserved' USING
			ERRCODE = 'reserved_name',
			DETAIL = 'It stands for a stream in which nothing is redacted.';
	END IF;
	PERFORM acdat.check_policy_settings(default_action, scan, clock, on_unfit);
	IF dictionary IS NOT NULL THEN
		PERFORM acdat.check_dictionary(dictionary);
	END IF;
	IF EXISTS (SELECT FROM acdat.policies p WHERE p.name = create_policy.name) THEN
		RAISE EXCEPTION 'policy "%" already exists', name USING ERRCODE = 'duplicate_object';
	END IF;
	INSERT INTO acdat.policies (name, default_action, scan, clock, on_unfit, secret)
		VALUES (create_policy.name, create_policy.default_action, create_policy.scan,
			create_policy.clock, create_policy.on_unfit, acdat.new_secret());
	IF dictionary IS NOT NULL THEN
		INSERT INTO acdat.policy_dictionaries VALUES (create_policy.name, 1, create_policy.dictionary);
	END IF;
END
$$;
COMMENT ON FUNCTION acdat.create_policy(text, text, text, text, text, text) IS 'create a policy; nothing uses it before acdat.publish';

CREATE FUNCTION acdat.alter_policy(name text, default_action text DEFAULT NULL, scan text DEFAULT NULL,
		clock text DEFAULT NULL, on_unfit text DEFAULT NULL) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	new acdat.policies;
BEGIN
	PERFORM acdat.check_policy(name);
	SELECT * INTO new FROM acdat.policies p WHERE p.name = alter_policy.name FOR UPDATE;
	new.default_action := coalesce(alter_policy.default_action, new.default_action);
	new.scan := coalesce(alter_policy.scan, new.scan);
	new.clock := coalesce(alter_policy.clock, new.clock);
	new.on_unfit := coalesce(alter_policy.on_unfit, new.on_unfit);
	PERFORM acdat.check_policy_settings(new.default_action, new.scan, new.clock, new.on_unfit);
	UPDATE acdat.policies p
		SET default_action = new.default_action, scan = new.scan, clock = new.clock, on_unfit = new.on_unfit
		WHERE p.name = alter_policy.name;
END
$$;
COMMENT ON FUNCTION acdat.alter_policy(text, text, text, text, text) IS 'change settings of a policy; null leaves one as it is';

CREATE FUNCTION acdat.add_dictionary(policy text, dictionary text) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM acdat.check_policy(policy);
	PERFORM acdat.check_dictionary(dictionary);
	IF EXISTS (SELECT FROM acdat.policy_dictionaries d
			WHERE d.policy = add_dictionary.policy AND d.dictionary = add_dictionary.dictionary) THEN
		RAISE EXCEPTION 'policy "%" already uses dictionary "%"', policy, dictionary
			USING ERRCODE = 'duplicate_object';
	END IF;
	INSERT INTO acdat.policy_dictionaries
		SELECT add_dictionary.policy, coalesce(max(d.position), 0) + 1, add_dictionary.dictionary
			FROM acdat.policy_dictionaries d WHERE d.policy = add_dictionary.policy;
END
$$;
COMMENT ON FUNCTION acdat.add_dictionary(text, text) IS 'let a policy redact with one more dictionary';

CREATE FUNCTION acdat.remove_dictionary(policy text, dictionary text) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM acdat.check_policy(policy);
	DELETE FROM acdat.policy_dictionaries d
		WHERE d.policy = remove_dictionary.policy AND d.dictionary = remove_dictionary.dictionary;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'policy "%" does not use dictionary "%"', policy, dictionary USING
			ERRCODE = 'undefined_object',
			HINT = acdat.near_names('dictionaries', dictionary,
				ARRAY(SELECT d.dictionary FROM acdat.policy_dictionaries d WHERE d.policy = remove_dictionary.policy));
	END IF;
END
$$;
COMMENT ON FUNCTION acdat.remove_dictionary(text, text) IS 'let a policy redact without a dictionary it used';

-- Exactly one of the forms that have a precedence.
CREATE FUNCTION acdat.check_rule_form(relation regclass, column_name name, type regtype) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF num_nulls(relation, column_name, type) = 3 OR
		(type IS NOT NULL AND num_nonnulls(relation, column_name) > 0) THEN
		RAISE EXCEPTION 'rule names no kind of columns' USING
			ERRCODE = 'invalid_parameter_value',
			DETAIL = 'A rule is for a relation and column, for a relation, for a column name anywhere, or for a type.';
	END IF;
END
$$;

CREATE FUNCTION acdat.check_rule_relation(relation regclass) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	class record;
BEGIN
	SELECT c.relkind, c.relnamespace, c.relname INTO class FROM pg_class c WHERE c.oid = relation;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'relation with OID % does not exist', relation::oid USING ERRCODE = 'undefined_table';
	END IF;
	IF class.relkind NOT IN ('r', 'p', 'm') THEN
		RAISE EXCEPTION '"%" is not a table', class.relname USING ERRCODE = 'wrong_object_type';
	END IF;
	IF class.relnamespace IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace, 'pg_toast'::regnamespace) THEN
		RAISE EXCEPTION '"%" is a system table', class.relname USING
			ERRCODE = 'wrong_object_type', DETAIL = 'System tables are not streamed.';
	END IF;
	IF EXISTS (SELECT FROM pg_depend d JOIN pg_extension e ON d.refobjid = e.oid
			WHERE d.classid = 'pg_class'::regclass AND d.objid = relation::oid AND d.deptype = 'e'
				AND d.refclassid = 'pg_extension'::regclass AND e.extname = 'acdat_decoder') THEN
		RAISE EXCEPTION '"%" belongs to acdat_decoder', class.relname USING
			ERRCODE = 'wrong_object_type', DETAIL = 'Tables of the extension are never streamed.';
	END IF;
END
$$;

CREATE FUNCTION acdat.check_rule_column(relation regclass, column_name name) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	number int2;
	names text[];
BEGIN
	IF relation IS NULL THEN
		-- tables may come later
		IF NOT EXISTS (SELECT FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
				WHERE a.attname = column_name AND a.attnum > 0 AND NOT a.attisdropped
					AND c.relkind IN ('r', 'p', 'm')
					AND c.relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)) THEN
			SELECT array_agg(DISTINCT a.attname::text) INTO names
				FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
				WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'm')
					AND c.relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace,
						'acdat'::regnamespace);
			RAISE NOTICE 'no table has a column "%" yet', column_name USING
				HINT = acdat.near_names('columns', column_name::text, names);
		END IF;
		RETURN;
	END IF;
	SELECT a.attnum INTO number FROM pg_attribute a
		WHERE a.attrelid = relation AND a.attname = column_name AND NOT a.attisdropped;
	IF number < 0 THEN
		RAISE EXCEPTION 'column "%" is a system column', column_name USING ERRCODE = 'invalid_column_reference';
	END IF;
	IF number IS NULL THEN
		SELECT array_agg(a.attname::text ORDER BY a.attnum) INTO names FROM pg_attribute a
			WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped;
		RAISE EXCEPTION 'column "%" of relation % does not exist', column_name, relation USING
			ERRCODE = 'undefined_column',
			HINT = acdat.near_names('columns', column_name::text, names);
	END IF;
END
$$;

CREATE FUNCTION acdat.set_action(policy text, action text, relation regclass DEFAULT NULL,
		column_name name DEFAULT NULL, type regtype DEFAULT NULL, argument text DEFAULT NULL) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM acdat.check_policy(policy);
	PERFORM acdat.check_action(action, false);
	PERFORM acdat.check_rule_form(relation, column_name, type);
	IF argument IS NOT NULL AND action <> 'mask' THEN
		RAISE EXCEPTION 'action "%" takes no argument', action USING
			ERRCODE = 'invalid_parameter_value',
			HINT = 'Only "mask" does: the text that stands for the value.';
	END IF;
	IF octet_length(argument) > 65534 THEN
		RAISE EXCEPTION 'argument of action "mask" is too long' USING
			ERRCODE = 'program_limit_exceeded', DETAIL = 'It has at most 65534 bytes.';
	END IF;
	IF relation IS NOT NULL THEN
		PERFORM acdat.check_rule_relation(relation);
	END IF;
	IF column_name IS NOT NULL THEN
		PERFORM acdat.check_rule_column(relation, column_name);
	END IF;
	IF type IS NOT NULL AND NOT EXISTS (SELECT FROM pg_type t WHERE t.oid = type AND t.typtype <> 'p') THEN
		RAISE EXCEPTION 'type % cannot be the type of a column', type USING ERRCODE = 'wrong_object_type';
	END IF;

	UPDATE acdat.policy_rules r SET action = set_action.action, argument = set_action.argument
		WHERE r.policy = set_action.policy
			AND r.relation IS NOT DISTINCT FROM set_action.relation
			AND r.column_name IS NOT DISTINCT FROM set_action.column_name
			AND r.type IS NOT DISTINCT FROM set_action.type;
	IF NOT FOUND THEN
		INSERT INTO acdat.policy_rules (policy, action, relation, column_name, type, argument)
			VALUES (set_action.policy, set_action.action, set_action.relation,
				set_action.column_name, set_action.type, set_action.argument);
	END IF;
END
$$;
COMMENT ON FUNCTION acdat.set_action(text, text, regclass, name, regtype, text) IS 'set what happens to columns; the most specific rule decides';

CREATE FUNCTION acdat.clear_action(policy text, relation regclass DEFAULT NULL, column_name name DEFAULT NULL,
		type regtype DEFAULT NULL) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM acdat.check_policy(policy);
	PERFORM acdat.check_rule_form(relation, column_name, type);
	DELETE FROM acdat.policy_rules r
		WHERE r.policy = clear_action.policy
			AND r.relation IS NOT DISTINCT FROM clear_action.relation
			AND r.column_name IS NOT DISTINCT FROM clear_action.column_name
			AND r.type IS NOT DISTINCT FROM clear_action.type;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'policy "%" has no such rule', policy USING
			ERRCODE = 'undefined_object',
			HINT = acdat.near_names('rules',
				concat_ws(' ', relation::text, column_name, type::text),
				ARRAY(SELECT concat_ws(' ', r.relation::text, r.column_name, r.type::text)
					FROM acdat.policy_rules r WHERE r.policy = clear_action.policy));
	END IF;
END
$$;
COMMENT ON FUNCTION acdat.clear_action(text, regclass, name, regtype) IS 'remove a rule that acdat.set_action made';

-- ---------------------------------------------------------------------------
-- Publishing
-- ---------------------------------------------------------------------------

CREATE FUNCTION acdat.publish(policy text, allow_lossy_keys boolean DEFAULT false,
		allow_unsafe_replacement boolean DEFAULT false) RETURNS bigint
	LANGUAGE c VOLATILE SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'acdat_publish';
COMMENT ON FUNCTION acdat.publish(text, boolean, boolean) IS 'compile a policy and make it what streams use; returns the generation';

CREATE FUNCTION acdat.withdraw(policy text) RETURNS boolean
	LANGUAGE c VOLATILE STRICT SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'acdat_withdraw';
CREATE FUNCTION acdat.is_published(policy text) RETURNS boolean
	LANGUAGE c STABLE STRICT SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'acdat_is_published';
CREATE FUNCTION acdat.is_current(policy text) RETURNS boolean
	LANGUAGE c VOLATILE STRICT SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'acdat_is_current';

CREATE FUNCTION acdat.check_not_bound(policy text, force boolean) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	users text;
BEGIN
	SELECT string_agg(b.kind || CASE b.kind WHEN 'database' THEN '' ELSE format(' "%s"', b.name) END, ', '
			ORDER BY b.kind, b.name) INTO users
		FROM acdat.bindings b WHERE b.policy = check_not_bound.policy;
	IF users IS NULL THEN
		RETURN;
	END IF;
	IF force THEN
		RAISE NOTICE 'streams bound to policy "%" will fail until it is published again or they are bound to another', policy
			USING DETAIL = format('Bound to it: %s.', users);
		RETURN;
	END IF;
	RAISE EXCEPTION 'policy "%" is bound', policy USING
		ERRCODE = 'dependent_objects_still_exist',
		DETAIL = format('Bound to it: %s.', users),
		HINT = 'Bind them to another policy, or repeat with force => true; their streams will fail then.';
END
$$;

CREATE FUNCTION acdat.unpublish(policy text, force boolean DEFAULT false) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	LOCK TABLE acdat.published IN SHARE UPDATE EXCLUSIVE MODE;
	IF policy IS NULL OR NOT acdat.is_published(policy) THEN
		PERFORM acdat.check_policy(policy);
		RAISE EXCEPTION 'policy "%" is not published', policy
			USING ERRCODE = 'object_not_in_prerequisite_state';
	END IF;
	PERFORM acdat.check_not_bound(policy, coalesce(force, false));
	PERFORM acdat.withdraw(policy);
END
$$;
COMMENT ON FUNCTION acdat.unpublish(text, boolean) IS 'remove the published form of a policy; streams that use it fail';

CREATE FUNCTION acdat.drop_policy(policy text, force boolean DEFAULT false) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	LOCK TABLE acdat.published IN SHARE UPDATE EXCLUSIVE MODE;
	PERFORM acdat.check_policy(policy);
	PERFORM acdat.check_not_bound(policy, coalesce(force, false));
	PERFORM acdat.withdraw(policy);
	DELETE FROM acdat.policies p WHERE p.name = drop_policy.policy;
END
$$;
COMMENT ON FUNCTION acdat.drop_policy(text, boolean) IS 'drop a policy, its rules and its published form';

-- ---------------------------------------------------------------------------
-- Bindings
-- ---------------------------------------------------------------------------

CREATE FUNCTION acdat.check_bindable(policy text) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF policy = 'none' THEN
		IF NOT (SELECT r.rolsuper FROM pg_roles r WHERE r.rolname = current_user) THEN
			RAISE EXCEPTION 'permission denied to bind to policy "none"' USING
				ERRCODE = 'insufficient_privilege',
				DETAIL = 'Only a superuser can allow a stream in which nothing is redacted.';
		END IF;
		RETURN;
	END IF;
	PERFORM acdat.check_policy(policy);
	IF NOT acdat.is_published(policy) THEN
		RAISE NOTICE 'policy "%" is not published yet', policy USING
			DETAIL = 'Streams bound to it fail until it is.',
			HINT = format('SELECT acdat.publish(%L);', policy);
	END IF;
END
$$;

CREATE FUNCTION acdat.bind_slot(slot name, policy text) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	found_slot record;
BEGIN
	IF slot IS NULL OR slot = '' THEN
		RAISE EXCEPTION 'slot name must not be empty' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF slot::text !~ '^[a-z0-9_]+$' THEN
		RAISE EXCEPTION 'replication slot name "%" contains invalid character', slot USING
			ERRCODE = 'invalid_name',
			HINT = 'Replication slot names may only contain lower case letters, numbers, and the underscore character.';
	END IF;
	PERFORM acdat.check_bindable(policy);
	SELECT s.slot_type, s.database, s.plugin INTO found_slot FROM pg_replication_slots s WHERE s.slot_name = slot;
	IF NOT FOUND THEN
		RAISE NOTICE 'replication slot "%" does not exist yet', slot USING
			HINT = acdat.near_names('slots', slot::text,
				ARRAY(SELECT s.slot_name::text FROM pg_replication_slots s
					WHERE s.slot_type = 'logical' AND s.database = current_database()));
	ELSIF found_slot.slot_type <> 'logical' THEN
		RAISE EXCEPTION 'replication slot "%" is a physical slot', slot USING ERRCODE = 'wrong_object_type';
	ELSIF found_slot.database <> current_database() THEN
		RAISE EXCEPTION 'replication slot "%" is of another database', slot USING
			ERRCODE = 'wrong_object_type',
			HINT = format('Bind it in database "%s".', found_slot.database);
	END IF;
	PERFORM acdat.set_binding('s', slot::text, 0::oid, policy);
END
$$;
COMMENT ON FUNCTION acdat.bind_slot(name, text) IS 'let a replication slot use no policy but this one';

CREATE FUNCTION acdat.unbind_slot(slot name) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF slot IS NULL OR slot = '' THEN
		RAISE EXCEPTION 'slot name must not be empty' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF NOT acdat.set_binding('s', slot::text, 0::oid, NULL) THEN
		RAISE EXCEPTION 'replication slot "%" is not bound', slot USING
			ERRCODE = 'undefined_object',
			HINT = acdat.near_names('bound slots', slot::text,
				ARRAY(SELECT b.name FROM acdat.bindings b WHERE b.kind = 'slot'));
	END IF;
END
$$;
COMMENT ON FUNCTION acdat.unbind_slot(name) IS 'undo acdat.bind_slot';

CREATE FUNCTION acdat.bind_database(policy text) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM acdat.check_bindable(policy);
	PERFORM acdat.set_binding('d', '', 0::oid, policy);
END
$$;
COMMENT ON FUNCTION acdat.bind_database(text) IS 'let all streams of this database without a closer binding use this policy';

CREATE FUNCTION acdat.unbind_database() RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF NOT acdat.set_binding('d', '', 0::oid, NULL) THEN
		RAISE EXCEPTION 'database is not bound' USING ERRCODE = 'undefined_object';
	END IF;
END
$$;
COMMENT ON FUNCTION acdat.unbind_database() IS 'undo acdat.bind_database';

-- ---------------------------------------------------------------------------
-- Published policies outside the stream
-- ---------------------------------------------------------------------------

CREATE FUNCTION acdat.redact(value text, policy text) RETURNS text
	LANGUAGE c STABLE STRICT PARALLEL SAFE COST 20 AS 'MODULE_PATHNAME', 'acdat_redact';
COMMENT ON FUNCTION acdat.redact(text, text) IS 'the value as "redact" of a published policy lets it out';
CREATE FUNCTION acdat.machine_of(policy text) RETURNS acdat.machine
	LANGUAGE c STABLE STRICT PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'acdat_machine_of';
COMMENT ON FUNCTION acdat.machine_of(text) IS 'machine with all terms of a published policy';
CREATE FUNCTION acdat.shared_machines(
		OUT database name, OUT digest bytea, OUT bytes bigint, OUT users integer, OUT loaded boolean) RETURNS SETOF record
	LANGUAGE c VOLATILE AS 'MODULE_PATHNAME', 'acdat_shared_machines';
COMMENT ON FUNCTION acdat.shared_machines() IS 'machines in shared memory, of all databases, with the number of processes that use each';
CREATE FUNCTION acdat.explain(policy text, relation regclass,
		OUT column_name text, OUT type text, OUT action text, OUT rule text,
		OUT machines text[], OUT warnings text[]) RETURNS SETOF record
	LANGUAGE c STABLE STRICT ROWS 20 AS 'MODULE_PATHNAME', 'acdat_explain';
COMMENT ON FUNCTION acdat.explain(text, regclass) IS 'what a published policy does to the columns of a table';

-- ---------------------------------------------------------------------------
-- Attaching roles: unchanged clients get this library by the plugin's name
-- they ask for, as their dynamic_library_path finds our links first
-- ---------------------------------------------------------------------------

CREATE FUNCTION acdat.missing_dropins() RETURNS text[]
	LANGUAGE c VOLATILE AS 'MODULE_PATHNAME', 'acdat_missing_dropins';
COMMENT ON FUNCTION acdat.missing_dropins() IS 'drop-in names whose link to the library is missing';

-- dynamic_library_path as set for a role and database, 0 for all of them
CREATE FUNCTION acdat.library_path_setting(role oid, database oid) RETURNS text
	LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
	SELECT substr(c, length('dynamic_library_path=') + 1)
		FROM pg_db_role_setting s, unnest(s.setconfig) AS c
		WHERE s.setrole = $1 AND s.setdatabase = $2 AND starts_with(c, 'dynamic_library_path=')
$$;

-- what the role would have in this database without a setting for just that
CREATE FUNCTION acdat.inherited_library_path(role oid) RETURNS text
	LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
	SELECT coalesce(
		acdat.library_path_setting($1, 0),
		acdat.library_path_setting(0, (SELECT oid FROM pg_database WHERE datname = current_database())),
		acdat.library_path_setting(0, 0),
		(SELECT f.setting FROM pg_file_settings f
			WHERE f.name = 'dynamic_library_path' AND f.applied ORDER BY f.seqno DESC LIMIT 1),
		(SELECT g.boot_val FROM pg_settings g WHERE g.name = 'dynamic_library_path'))
$$;

CREATE FUNCTION acdat.set_library_path(role name, path text) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF path IS NULL THEN
		EXECUTE format('ALTER ROLE %I IN DATABASE %I RESET dynamic_library_path', role, current_database());
	ELSE
		EXECUTE format('ALTER ROLE %I IN DATABASE %I SET dynamic_library_path = %L', role, current_database(), path);
	END IF;
END
$$;

CREATE FUNCTION acdat.check_superuser(what text) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF NOT (SELECT r.rolsuper FROM pg_roles r WHERE r.rolname = current_user) THEN
		RAISE EXCEPTION 'permission denied to %', what USING
			ERRCODE = 'insufficient_privilege',
			DETAIL = 'Only a superuser can change where a role finds its libraries.';
	END IF;
END
$$;

CREATE FUNCTION acdat.attach(role regrole, policy text) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target pg_roles;
	missing text[];
	database CONSTANT oid := (SELECT oid FROM pg_database WHERE datname = current_database());
	current_path text;
	base_path text;
	new_path text;
BEGIN
	PERFORM acdat.check_superuser('attach a role');
	IF role IS NULL THEN
		RAISE EXCEPTION 'role must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	SELECT * INTO target FROM pg_roles r WHERE r.oid = role;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'role with OID % does not exist', role::oid USING ERRCODE = 'undefined_object';
	END IF;
	IF target.rolsuper THEN
		RAISE EXCEPTION 'role "%" is a superuser', target.rolname USING
			ERRCODE = 'wrong_object_type',
			DETAIL = 'A superuser can read everything and change its own settings, so it cannot be held to a policy.',
			HINT = 'Let the client connect as a role of its own that has LOGIN and REPLICATION only.';
	END IF;
	PERFORM acdat.check_bindable(policy);
	missing := acdat.missing_dropins();
	IF cardinality(missing) > 0 THEN
		RAISE EXCEPTION 'drop-in links are missing on this server' USING
			ERRCODE = 'object_not_in_prerequisite_state',
			DETAIL = format('Missing, or not linked to this library: %s.', array_to_string(missing, ', ')),
			HINT = 'Install the extension''s files again: "make install" makes the links.';
	END IF;

	current_path := acdat.library_path_setting(target.oid, database);
	IF current_path IS NULL OR NOT starts_with(current_path || ':', '$libdir/acdat:') THEN
		base_path := coalesce(current_path, acdat.inherited_library_path(target.oid), '$libdir');
		new_path := concat_ws(':', '$libdir/acdat', nullif(base_path, ''));
		PERFORM acdat.set_library_path(target.rolname, new_path);
		DELETE FROM acdat.attachments a WHERE a.role = target.rolname;
		INSERT INTO acdat.attachments VALUES (target.rolname, current_path, new_path);
	END IF;
	-- the library refuses replication commands by what is logged of them
	EXECUTE format('ALTER ROLE %I IN DATABASE %I SET log_replication_commands = on', target.rolname, current_database());
	PERFORM acdat.set_binding('r', target.rolname::text, target.oid, policy);
END
$$;
COMMENT ON FUNCTION acdat.attach(regrole, text) IS 'let all logical decoding of a role in this database go through a policy';

CREATE FUNCTION acdat.detach(role regrole) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target pg_roles;
	attachment acdat.attachments;
	database CONSTANT oid := (SELECT oid FROM pg_database WHERE datname = current_database());
	current_path text;
	bound text;
	found_any boolean := false;
BEGIN
	PERFORM acdat.check_superuser('detach a role');
	IF role IS NULL THEN
		RAISE EXCEPTION 'role must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	SELECT * INTO target FROM pg_roles r WHERE r.oid = role;

	-- by name, and by OID where it was renamed or dropped since
	FOR bound IN SELECT b.name FROM acdat.bindings b
			WHERE b.kind = 'role' AND (b.name = target.rolname OR b.role = detach.role::oid) LOOP
		PERFORM acdat.set_binding('r', bound, 0::oid, NULL);
		SELECT * INTO attachment FROM acdat.attachments a WHERE a.role = bound;
		DELETE FROM acdat.attachments a WHERE a.role = bound;
		found_any := true;
	END LOOP;
	IF NOT found_any THEN
		RAISE EXCEPTION 'role "%" is not attached', coalesce(target.rolname, role::oid::text) USING
			ERRCODE = 'undefined_object',
			HINT = acdat.near_names('attached roles', target.rolname::text,
				ARRAY(SELECT b.name FROM acdat.bindings b WHERE b.kind = 'role' ORDER BY 1));
	END IF;
	IF target.rolname IS NULL THEN
		RETURN;
	END IF;

	EXECUTE format('ALTER ROLE %I IN DATABASE %I RESET log_replication_commands', target.rolname, current_database());
	current_path := acdat.library_path_setting(target.oid, database);
	IF current_path = attachment.written THEN
		PERFORM acdat.set_library_path(target.rolname, attachment.previous);
	ELSIF starts_with(current_path || ':', '$libdir/acdat:') THEN
		-- changed since: take out ours and leave the rest
		PERFORM acdat.set_library_path(target.rolname,
			nullif(substr(current_path, length('$libdir/acdat:') + 1), ''));
	END IF;
END
$$;
COMMENT ON FUNCTION acdat.detach(regrole) IS 'undo acdat.attach';

-- ---------------------------------------------------------------------------
-- Doctor
-- ---------------------------------------------------------------------------

-- Ordinary tables of users, and ours: what a client must not be able to read.
CREATE VIEW acdat.readable_tables AS
	SELECT c.oid, n.nspname, c.relname
	FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
	WHERE c.relkind IN ('r', 'p', 'm', 'v', 'f')
		AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_(toast|temp)';

CREATE FUNCTION acdat.doctor_server(OUT check_name text, OUT ok boolean, OUT what text, OUT fix text) RETURNS SETOF record
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	libraries text := current_setting('output_plugin_libraries', true);
	missing text[] := acdat.missing_dropins();
	attached boolean := EXISTS (SELECT FROM acdat.bindings b WHERE b.kind = 'role');
BEGIN
	check_name := 'wal_level';
	ok := current_setting('wal_level') = 'logical';
	what := format('wal_level is %s', current_setting('wal_level'));
	fix := CASE WHEN NOT ok THEN 'ALTER SYSTEM SET wal_level = logical; then restart the server' END;
	RETURN NEXT;

	check_name := 'output_plugin_libraries';
	ok := libraries IS NULL OR 'acdat_decoder' IN (SELECT btrim(l, ' "') FROM regexp_split_to_table(libraries, ',') l);
	what := CASE WHEN libraries IS NULL THEN 'this server has no such setting'
		ELSE format('output_plugin_libraries is %s', quote_literal(libraries)) END;
	fix := CASE WHEN NOT ok THEN format('ALTER SYSTEM SET output_plugin_libraries = %s; SELECT pg_reload_conf();',
		concat_ws(', ', nullif(btrim(libraries), ''), 'acdat_decoder')) END;
	RETURN NEXT;

	check_name := 'drop-in links';
	ok := cardinality(missing) = 0;
	what := CASE WHEN ok THEN 'all are there' ELSE 'missing: ' || array_to_string(missing, ', ') END;
	fix := CASE WHEN NOT ok THEN 'install the files of the extension again, on every node' END;
	RETURN NEXT;

	check_name := 'shared_preload_libraries';
	ok := NOT attached OR
		'acdat_decoder' IN (SELECT btrim(l, ' "') FROM regexp_split_to_table(current_setting('shared_preload_libraries'), ',') l);
	what := CASE WHEN ok THEN 'as needed'
		ELSE 'a node without the files of the extension would start, and stream unredacted to attached roles' END;
	fix := CASE WHEN NOT ok THEN format('set shared_preload_libraries = %s and restart',
		quote_literal(concat_ws(', ', nullif(btrim(current_setting('shared_preload_libraries')), ''), 'acdat_decoder'))) END;
	RETURN NEXT;
END
$$;

CREATE FUNCTION acdat.doctor_policies(OUT check_name text, OUT ok boolean, OUT what text, OUT fix text) RETURNS SETOF record
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	name text;
	bound record;
	orphans text;
BEGIN
	FOR name IN SELECT p.name FROM acdat.policies p ORDER BY 1 LOOP
		check_name := format('policy %s', quote_ident(name));
		fix := format('SELECT acdat.publish(%L);', name);
		BEGIN
			ok := acdat.is_published(name);
			what := CASE WHEN ok THEN 'published and current' ELSE 'never published, or unpublished' END;
			IF ok THEN
				ok := acdat.is_current(name);
				what := CASE WHEN ok THEN what ELSE 'its terms, rules or settings changed since it was published' END;
			END IF;
			fix := CASE WHEN NOT ok THEN fix END;
		EXCEPTION WHEN OTHERS THEN
			ok := false;
			what := 'could not be published now: ' || SQLERRM;
		END;
		RETURN NEXT;
	END LOOP;

	FOR bound IN SELECT b.kind, b.name, b.policy FROM acdat.bindings b ORDER BY 1, 2 LOOP
		check_name := 'binding of ' || concat_ws(' ', bound.kind, quote_ident(nullif(bound.name, '')));
		ok := bound.policy <> 'none' AND acdat.is_published(bound.policy);
		what := CASE WHEN bound.policy = 'none' THEN 'bound to "none": nothing is redacted'
			WHEN ok THEN format('bound to policy %s', quote_ident(bound.policy))
			ELSE format('bound to policy %s, which is not published: its streams fail', quote_ident(bound.policy)) END;
		fix := CASE WHEN bound.policy = 'none' THEN 'if that was not meant, bind it to a policy'
			WHEN NOT ok THEN format('SELECT acdat.publish(%L);', bound.policy) END;
		RETURN NEXT;
	END LOOP;

	SELECT string_agg(DISTINCT coalesce(quote_ident(t.dictionary), 'NULL'), ', ') INTO orphans FROM acdat.terms t
		WHERE NOT EXISTS (SELECT FROM acdat.dictionaries d WHERE d.name = t.dictionary);
	IF orphans IS NOT NULL THEN
		check_name := 'terms';
		ok := false;
		what := 'there are terms of dictionaries that do not exist: ' || orphans;
		fix := 'create the dictionary with acdat.create_dictionary, or delete the terms';
		RETURN NEXT;
	END IF;

	SELECT string_agg(DISTINCT coalesce(quote_ident(r.policy), 'NULL'), ', ') INTO orphans
		FROM (SELECT policy FROM acdat.policy_rules UNION SELECT policy FROM acdat.policy_dictionaries) r
		WHERE NOT EXISTS (SELECT FROM acdat.policies p WHERE p.name = r.policy);
	IF orphans IS NOT NULL THEN
		check_name := 'rules';
		ok := false;
		what := 'there are rules or dictionaries of policies that do not exist: ' || orphans;
		fix := 'create the policy with acdat.create_policy, or delete them';
		RETURN NEXT;
	END IF;
END
$$;

-- Materialized views are decoded as tables of their own, which rules for the
-- tables they are made from do not cover.
CREATE FUNCTION acdat.doctor_views(OUT check_name text, OUT ok boolean, OUT what text, OUT fix text) RETURNS SETOF record
	LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
	WITH RECURSIVE reads AS (
		SELECT v.oid AS made, v.oid AS relation FROM pg_class v WHERE v.relkind = 'm'
		UNION
		SELECT r.made, d.refobjid
			FROM reads r JOIN pg_rewrite w ON w.ev_class = r.relation
				JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
					AND d.refclassid = 'pg_class'::regclass)
	SELECT format('materialized view %s', r.made::regclass), false,
			format('rules of policy %s for %s do not hold for it', quote_ident(p.policy),
				string_agg(DISTINCT p.relation::text, ', ' ORDER BY p.relation::text)),
			format('SELECT acdat.set_action(%L, ''mask'', %L); or set actions of its columns', p.policy, r.made::regclass)
		FROM reads r JOIN acdat.policy_rules p ON p.relation = r.relation
		WHERE r.made <> r.relation AND p.action IN ('mask', 'null', 'drop')
			AND NOT EXISTS (SELECT FROM acdat.policy_rules o WHERE o.policy = p.policy AND o.relation = r.made)
		GROUP BY r.made, p.policy
		ORDER BY r.made::regclass::text, p.policy
$$;

CREATE FUNCTION acdat.doctor_role(role_name text, role_oid oid,
		OUT check_name text, OUT ok boolean, OUT what text, OUT fix text) RETURNS SETOF record
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target pg_roles;
	path text;
	powers text;
	tables text;
	count bigint;
BEGIN
	check_name := format('role %s', quote_ident(role_name));
	ok := false;
	SELECT * INTO target FROM pg_roles r WHERE r.rolname = role_name;
	IF NOT FOUND THEN
		SELECT * INTO target FROM pg_roles r WHERE r.oid = role_oid;
		what := CASE WHEN FOUND THEN format('was renamed to %s', quote_ident(target.rolname)) ELSE 'does not exist' END;
		fix := CASE WHEN FOUND THEN format('detach and attach it again: %s', quote_ident(target.rolname))
			ELSE format('SELECT acdat.set_binding(''r'', %L, 0::oid, NULL); or create it and attach it again', role_name) END;
		RETURN NEXT;
		RETURN;
	END IF;

	path := acdat.library_path_setting(target.oid, (SELECT oid FROM pg_database WHERE datname = current_database()));
	IF path IS NULL OR NOT starts_with(path || ':', '$libdir/acdat:') THEN
		what := 'its dynamic_library_path does not begin with ours: other plugins are native, and stream unredacted';
		fix := format('SELECT acdat.attach(%L, ...);', quote_ident(role_name));
		RETURN NEXT;
	END IF;

	SELECT string_agg(power, ', ') INTO powers FROM (
		SELECT 'superuser' AS power WHERE target.rolsuper
		UNION ALL SELECT 'createrole' WHERE target.rolcreaterole
		UNION ALL SELECT format('member of %s', r.rolname) FROM pg_roles r
			WHERE r.rolname IN ('pg_read_all_data', 'pg_read_all_stats', 'pg_read_server_files', 'pg_write_server_files',
					'pg_execute_server_program') AND pg_has_role(target.oid, r.oid, 'MEMBER')
		UNION ALL SELECT format('member of superuser %s', quote_ident(r.rolname)) FROM pg_roles r
			WHERE r.rolsuper AND r.oid <> target.oid AND pg_has_role(target.oid, r.oid, 'MEMBER')) AS p;
	IF powers IS NOT NULL THEN
		what := 'can read what is redacted: ' || powers;
		fix := 'take these powers from it';
		RETURN NEXT;
	END IF;

	SELECT count(*), string_agg(format('%I.%I', t.nspname, t.relname), ', ') FILTER (WHERE nth <= 5) INTO count, tables
		FROM (SELECT t.nspname, t.relname, row_number() OVER (ORDER BY t.nspname, t.relname) AS nth
			FROM acdat.readable_tables t
			WHERE has_table_privilege(target.oid, t.oid, 'SELECT')
				OR has_any_column_privilege(target.oid, t.oid, 'SELECT')) AS t;
	IF count > 0 AND NOT target.rolsuper THEN
		what := format('can read %s tables with SELECT: %s', count, tables) || CASE WHEN count > 5 THEN ', ...' ELSE '' END;
		fix := format('REVOKE SELECT ON ... FROM %I;', target.rolname);
		RETURN NEXT;
	END IF;

	IF what IS NULL THEN
		ok := true;
		what := 'attached, and has no other way to read tables of this database';
		RETURN NEXT;
	END IF;
END
$$;

-- Lines of pg_hba.conf that let an attached role copy the server's files.  A
-- connection to a database, which it needs, takes the same commands, and no
-- line can tell them apart: the library refuses them where it is preloaded.
CREATE FUNCTION acdat.doctor_hba(OUT check_name text, OUT ok boolean, OUT what text, OUT fix text) RETURNS SETOF record
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	bound record;
	lines text;
	guarded boolean;
BEGIN
	FOR bound IN SELECT b.name, r.oid FROM acdat.bindings b JOIN pg_roles r ON r.rolname = b.name
			WHERE b.kind = 'role' ORDER BY 1 LOOP
		check_name := format('pg_hba.conf for role %s', quote_ident(bound.name));
		BEGIN
			WITH rules AS (
				SELECT h.line_number, h.type, h.address, h.netmask, h.auth_method FROM pg_hba_file_rules h
				WHERE h.error IS NULL AND 'replication' = ANY (h.database)
					AND EXISTS (SELECT FROM unnest(h.user_name) u
						WHERE u IN ('all', bound.name)
							OR (starts_with(u, '+') AND EXISTS (SELECT FROM pg_roles g
								WHERE g.rolname = substr(u, 2) AND pg_has_role(bound.oid, g.oid, 'MEMBER')))))
			SELECT string_agg(l.line_number::text, ', ' ORDER BY l.line_number) INTO lines FROM rules l
				WHERE l.auth_method <> 'reject'
					AND NOT EXISTS (SELECT FROM rules e
						WHERE e.auth_method = 'reject' AND e.line_number < l.line_number AND e.type = l.type
							AND (e.type = 'local' OR e.address = 'all'
								OR (e.address = l.address AND e.netmask IS NOT DISTINCT FROM l.netmask)));
			guarded := 'acdat_decoder' IN (SELECT btrim(l, ' "') FROM regexp_split_to_table(current_setting('shared_preload_libraries'), ',') l)
				AND current_setting('log_min_messages') NOT IN ('fatal', 'panic')
				AND EXISTS (SELECT FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase
					WHERE s.setrole = bound.oid AND d.datname = current_database() AND 'log_replication_commands=on' = ANY (s.setconfig));
			ok := lines IS NULL AND guarded;
			what := CASE WHEN ok THEN 'no line lets it do physical replication'
				WHEN lines IS NULL THEN 'no line lets it connect for physical replication, but BASE_BACKUP works in a connection to a database too'
				ELSE format('lines %s let it do physical replication, which carries everything', lines) END;
			fix := CASE WHEN lines IS NOT NULL THEN format('put "host replication %s all reject" and the same for local before them',
					quote_ident(bound.name))
				WHEN NOT guarded THEN format('set shared_preload_libraries and log_min_messages (not fatal or panic), and attach it again: SELECT acdat.attach(%L, ...);',
					quote_ident(bound.name)) END;
		EXCEPTION WHEN insufficient_privilege THEN
			ok := NULL;
			what := 'pg_hba_file_rules cannot be read';
			fix := 'run acdat.doctor as a superuser';
		END;
		RETURN NEXT;
	END LOOP;
END
$$;

-- Ways around the plugin.
CREATE FUNCTION acdat.doctor_bypasses(OUT check_name text, OUT ok boolean, OUT what text, OUT fix text) RETURNS SETOF record
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RETURN QUERY SELECT format('role %s', quote_ident(r.rolname)), false,
			'has REPLICATION and is not attached: it can stream unredacted through other plugins',
			format('SELECT acdat.attach(%L, ...); or ALTER ROLE %I NOREPLICATION;', quote_ident(r.rolname), r.rolname)
		FROM pg_roles r
		WHERE r.rolreplication AND NOT r.rolsuper
			AND NOT EXISTS (SELECT FROM acdat.bindings b
				WHERE b.kind = 'role' AND (b.name = r.rolname OR b.role = r.oid))
		ORDER BY r.rolname;

	RETURN QUERY SELECT format('publication %s', quote_ident(p.pubname)), false,
			format('publishes tables of this extension: %s', string_agg(p.tablename, ', ' ORDER BY p.tablename)),
			'native pgoutput sends terms and machines to its subscribers: publish a list of tables instead'
		FROM (SELECT t.pubname::text, t.tablename::text
				FROM pg_publication_tables t JOIN pg_publication q ON q.pubname = t.pubname
				WHERE t.schemaname = 'acdat' AND NOT q.puballtables
			UNION ALL SELECT q.pubname::text, 'all' FROM pg_publication q WHERE q.puballtables) AS p
		GROUP BY p.pubname ORDER BY p.pubname;

	RETURN QUERY SELECT format('slot %s', quote_ident(s.slot_name)),
			CASE WHEN s.plugin IN ('pgoutput', 'wal2json', 'test_decoding', 'decoderbufs')
				AND EXISTS (SELECT FROM acdat.bindings b WHERE b.kind = 'role') THEN NULL ELSE false END,
			format('uses plugin %s: redacted only if an attached role reads it', quote_ident(s.plugin)),
			'use plugin acdat_decoder, or attach the role that reads it'
		FROM pg_replication_slots s
		WHERE s.slot_type = 'logical' AND s.database = current_database() AND s.plugin <> 'acdat_decoder'
		ORDER BY s.slot_name;
END
$$;

CREATE FUNCTION acdat.doctor(OUT check_name text, OUT ok boolean, OUT what text, OUT fix text) RETURNS SETOF record
	LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
	SELECT * FROM acdat.doctor_server()
	UNION ALL SELECT * FROM acdat.doctor_policies()
	UNION ALL SELECT * FROM acdat.doctor_views()
	UNION ALL SELECT d.* FROM (SELECT b.name, b.role FROM acdat.bindings b WHERE b.kind = 'role' ORDER BY b.name) AS b,
		acdat.doctor_role(b.name, b.role) AS d
	UNION ALL SELECT * FROM acdat.doctor_hba()
	UNION ALL SELECT * FROM acdat.doctor_bypasses()
$$;
COMMENT ON FUNCTION acdat.doctor() IS 'what could keep streams from working, or secrets from being kept; ok is null where that cannot be told';

-- ---------------------------------------------------------------------------
-- Privileges: only what knows no policy and no dictionary is for everyone
-- ---------------------------------------------------------------------------

REVOKE ALL ON ALL TABLES IN SCHEMA acdat FROM PUBLIC;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA acdat FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA acdat FROM PUBLIC;
GRANT USAGE ON SCHEMA acdat TO PUBLIC;
GRANT EXECUTE ON FUNCTION
	acdat.machine_in(cstring), acdat.machine_out(acdat.machine),
	acdat.machine_recv(internal), acdat.machine_send(acdat.machine), acdat.machine(bytea),
	acdat.compile(text), acdat.compile(text, text), acdat.compile(text, text, bigint),
	acdat.compile(text, text, bigint, integer), acdat.compile(text, text, bigint, integer, text[]),
	acdat.compile(bytea), acdat.compile(bytea, bytea), acdat.compile(bytea, bytea, bigint),
	acdat.compile(bytea, bytea, bigint, integer), acdat.compile(bytea, bytea, bigint, integer, text[]),
	acdat.contains(text, acdat.machine), acdat.contains(bytea, acdat.machine),
	acdat.replace(text, acdat.machine, text), acdat.replace(bytea, acdat.machine, text),
	acdat.matches(text, acdat.machine, text), acdat.matches(bytea, acdat.machine, text),
	acdat.describe(acdat.machine)
	TO PUBLIC;
GRANT EXECUTE ON FUNCTION acdat.shared_machines() TO pg_monitor;

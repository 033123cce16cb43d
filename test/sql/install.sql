-- What the extension script makes, and that all of it can go and come again.
CREATE EXTENSION acdat_decoder;

-- every table has a primary key
SELECT c.relname FROM pg_class c
	WHERE c.relnamespace = 'acdat'::regnamespace AND c.relkind = 'r'
		AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary);

-- nothing but keys of ids and names constrains a table
SELECT conrelid::regclass, contype, pg_get_constraintdef(oid) FROM pg_constraint
	WHERE connamespace = 'acdat'::regnamespace AND contype <> 'n'
	ORDER BY conrelid::regclass::text COLLATE "C", contype, pg_get_constraintdef(oid) COLLATE "C";
SELECT attrelid::regclass, attname FROM pg_attribute
	WHERE attrelid IN ('acdat.terms'::regclass, 'acdat.policies'::regclass, 'acdat.published'::regclass)
		AND attnum > 0 AND attnotnull
	ORDER BY 1, attnum;

-- the published table can be read while decoding, and has no TOAST table
SELECT reloptions, reltoastrelid = 0 AS no_toast FROM pg_class WHERE oid = 'acdat.published'::regclass;
SELECT attname, attstorage FROM pg_attribute
	WHERE attrelid = 'acdat.published'::regclass AND attnum > 0 ORDER BY attnum;
SELECT typname, typstorage FROM pg_type WHERE oid = 'acdat.machine'::regtype;

-- no statistics of what is secret
SELECT acdat.create_dictionary('d');
SELECT acdat.add_terms('d', ARRAY(SELECT 'secret' || i FROM generate_series(1, 1000) i),
	ARRAY(SELECT 'cover' || i % 2 FROM generate_series(1, 1000) i));
SELECT acdat.create_policy('p', 'd');
SELECT acdat.publish('p', allow_unsafe_replacement => true);
ANALYZE acdat.terms, acdat.policies, acdat.published;
SELECT tablename, attname FROM pg_stats WHERE schemaname = 'acdat'
	AND (tablename, attname) NOT IN (('terms', 'id'), ('terms', 'dictionary'), ('terms', 'priority'),
		('terms', 'enabled'), ('terms', 'allow'), ('terms', 'whole_word'), ('terms', 'valid_from'),
		('terms', 'valid_until'), ('terms', 'encodings'))
	ORDER BY 1, 2;
SELECT count(*) FROM pg_stats WHERE schemaname = 'acdat'
	AND (most_common_vals::text ~ 'secret|cover' OR histogram_bounds::text ~ 'secret|cover');

-- pg_dump takes what users wrote, and of the published table the bindings
SELECT unnest(extconfig)::regclass AS relation, unnest(extcondition) AS condition
	FROM pg_extension WHERE extname = 'acdat_decoder';

-- whatever looks something up by name has its search path pinned
SELECT p.oid::regprocedure FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
	WHERE p.pronamespace = 'acdat'::regnamespace AND l.lanname <> 'c' AND p.prokind = 'f'
		AND NOT 'search_path=pg_catalog, pg_temp' = ANY (coalesce(p.proconfig, '{}'));
SELECT p.oid::regprocedure FROM pg_proc p
	WHERE p.pronamespace = 'acdat'::regnamespace AND p.prosecdef;

-- what everyone may do
SET search_path = acdat, pg_catalog;
SELECT p.oid::regprocedure FROM pg_proc p
	WHERE p.pronamespace = 'acdat'::regnamespace AND has_function_privilege('public', p.oid, 'EXECUTE')
	ORDER BY p.oid::regprocedure::text COLLATE "C";
RESET search_path;
SELECT c.oid::regclass FROM pg_class c WHERE c.relnamespace = 'acdat'::regnamespace
	AND c.relkind IN ('r', 'v', 'S')
	AND EXISTS (SELECT FROM aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a WHERE a.grantee = 0);

-- and again
DROP EXTENSION acdat_decoder;
SELECT count(*) FROM pg_class WHERE relname IN ('published', 'terms', 'policies');
CREATE EXTENSION acdat_decoder;
SELECT count(*) FROM acdat.terms;
SELECT acdat.create_dictionary('d');
SELECT acdat.add_terms('d', ARRAY['secret']);
SELECT acdat.create_policy('p', 'd');
SELECT acdat.publish('p');
SELECT acdat.redact('a secret', 'p');
DROP EXTENSION acdat_decoder;

# Values are printed as their types' output functions print them, on edge
# values and a million random ones, every one in a record that is compared whole.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use Acdat;
use Test::More;

my $rows = 60_000;				# of 18 values each: more than a million
my $db = 'postgres';
my $node = start_server('values', conf => "timezone = 'UTC'\ndatestyle = 'ISO, MDY'\nlog_min_messages = fatal\n");

$node->safe_psql($db, <<'SQL');
CREATE EXTENSION acdat_decoder;
CREATE TABLE vals (id int PRIMARY KEY, b bool, i2 int2, i4 int4, i8 int8, o oid, u uuid, d date, ts timestamp, tz timestamptz,
	nu numeric, f4 float4, f8 float8, t text, vc varchar, bp char(8), n name, by bytea, j jsonb);

-- A text of 0 to 60 characters, of which "share" of 16 need an escape.
CREATE FUNCTION random_text(share int) RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT coalesce(string_agg(
		CASE WHEN random() * 16 < share
			THEN (ARRAY['"', '\', E'\n', E'\t', E'\r', E'\b', E'\f', E'\x01', E'\x1f', E'\x0b'])[1 + floor(random() * 10)::int]
			ELSE chr((ARRAY[32, 126, 127, 128, 2047, 8232, 65533, 65536, 128512, 1114111])[1 + floor(random() * 10)::int])
		END, ''), '')
	FROM generate_series(1, floor(random() * 60)::int)
$$;
-- Digits, the first of which is not 0.
CREATE FUNCTION digits(most int) RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT 1 + floor(random() * 9)::int || substr(
		CASE WHEN random() < 0.3 THEN repeat('0', most) ELSE replace(random()::numeric(20,18)::text || random()::numeric(20,18)::text, '0.', '') || repeat('4096', most / 4) END,
		1, floor(random() * most)::int)
$$;
CREATE FUNCTION random_json(depth int) RETURNS jsonb LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	RETURN CASE floor(random() * CASE WHEN depth > 0 THEN 7 ELSE 5 END)::int
		WHEN 0 THEN to_jsonb(random_text(2))
		WHEN 1 THEN to_jsonb((digits(20) || '.' || digits(10))::numeric)
		WHEN 2 THEN to_jsonb(floor(random() * 1000)::int)
		WHEN 3 THEN to_jsonb(random() < 0.5)
		WHEN 4 THEN jsonb 'null'
		WHEN 5 THEN (SELECT coalesce(jsonb_agg(random_json(depth - 1)), '[]') FROM generate_series(1, floor(random() * 4)::int))
		ELSE (SELECT coalesce(jsonb_object_agg(left(random_text(1), 10) || i, random_json(depth - 1)), '{}') FROM generate_series(1, floor(random() * 4)::int) i)
	END;
END $$;
SQL

my $edges = <<'SQL';
INSERT INTO vals
SELECT (row_number() OVER ())::int, e.* FROM unnest(
	ARRAY[true, false, NULL],
	'{0,1,-1,9,10,99,100,-99,32767,-32768,9999,10000}'::int2[],
	'{0,1,-1,9,10,99,100,999,1000,9999,10000,99999,100000,999999,1000000,9999999,10000000,99999999,100000000,999999999,1000000000,2147483647,-2147483648,-2147483647}'::int4[],
	'{0,1,-1,99,100,2147483648,-2147483649,99999999,100000000,4294967295,4294967296,9999999999999999,10000000000000000,99999999999999999,100000000000000000,9223372036854775807,-9223372036854775808}'::int8[],
	'{0,1,2147483647,2147483648,4294967295}'::oid[],
	'{00000000-0000-0000-0000-000000000000,ffffffff-ffff-ffff-ffff-ffffffffffff,01234567-89ab-cdef-0123-456789abcdef}'::uuid[],
	'{infinity,-infinity,4714-11-24 BC,0001-12-31 BC,0001-01-01,0999-12-31,1000-01-01,1900-02-28,1900-03-01,1999-12-31,2000-01-01,2000-02-28,2000-02-29,2000-03-01,2023-12-31,2024-02-29,2100-02-28,2100-03-01,9999-12-31,10000-01-01,294276-12-31,5874897-12-31}'::date[],
	'{infinity,-infinity,4714-11-24 00:00:00 BC,0001-12-31 23:59:59.999999 BC,0001-01-01 00:00:00,1999-12-31 23:59:59.999999,2000-01-01 00:00:00,2000-01-01 00:00:00.000001,1999-12-31 23:59:59,1970-01-01 00:00:00.1,2024-02-29 12:34:56.78,9999-12-31 23:59:59.999999,10000-01-01 00:00:00,294276-12-31 23:59:59.999999}'::timestamp[],
	'{infinity,-infinity,4714-11-24 00:00:00+00 BC,0001-12-31 23:59:59.999999+00 BC,0001-01-01 00:00:00+00,1999-12-31 23:59:59.999999+00,2000-01-01 00:00:00+00,1999-12-31 14:00:00-10,1970-01-01 00:00:00.100000+00,2024-02-29 12:34:56.78+05:45,9999-12-31 23:59:59.999999+00,10000-01-01 00:00:00+00,294276-12-31 23:59:59.999999+00}'::timestamptz[],
	ARRAY['0', '0.0', '0.00000', '-0.0', '1', '-1', '9', '10', '9999', '10000', '10001', '99999999', '100000000', '0.1', '0.01', '0.0001', '0.00001', '0.000100000', '1.0001',
		'10000.0001', '1e50', '-1e50', '1e-50', 'NaN', 'Infinity', '-Infinity', '1234.5678', '12345.67890', '-0.00000000000000000000000001', '1e1000', '1e-1000',
		'1e131071', '1e-16383', '100000000000000000000000000000000000000000000000.10', '0.1234567890123456789012345678901234567890', '5000', '50000000', '0.5000']::numeric[],
	'{0,-0,1,-1,0.1,1e-45,1.17549435e-38,3.4028235e38,-3.4028235e38,NaN,Infinity,-Infinity,16777216,16777217,1e15,1e16,123456,1234567,999999,1e6,1e7,0.0001,0.00001,3.14159274}'::float4[],
	'{0,-0,1,-1,0.1,5e-324,2.2250738585072014e-308,1.7976931348623157e308,-1.7976931348623157e308,NaN,Infinity,-Infinity,9007199254740992,9007199254740993,1e15,1e16,1e17,123456789012345,1234567890123456,0.0001,0.00001,3.141592653589793,4.35,0.3,2e-3,100000000000000000000}'::float8[],
	ARRAY['', ' ', 'plain', '"', '\', E'\n', E'"\\\n\r\t\b\f\x01\x1f\x7f', repeat('"', 100), repeat('x', 15), repeat('x', 16) || '"', repeat('x', 31) || '\', repeat('x', 15) || E'\x01' || repeat('y', 17),
		E'\u00e4\u20ac\U0001F600', repeat(E'\u00e4', 40) || '"', repeat('x', 5000), repeat('"x', 3000)],
	ARRAY['', 'a', 'a  '], ARRAY['', 'a', '12345678'], ARRAY['', 'a', repeat('n', 63)]::name[],
	ARRAY['', '\x00', '\xff', '\x000102030405060708090a0b0c0d0e0f', '\xdeadbeef']::bytea[],
	ARRAY['{}', '[]', 'null', 'true', 'false', '"x"', '""', '1', '-0.00', '1e300', '1e-300', '123456789012345678901234567890.5', '[[], {}, [{}], [[]]]', '{"a": {"b": [1, 2, {"c": null}], "d": {}}, "e": []}',
		'{"\"\\": "\n\t\u0001\u001f\u007f\u20ac"}', to_jsonb(repeat('"x', 3000))::text, jsonb_build_object(repeat('k', 300), repeat('v', 300))::text,
		repeat('[', 500) || repeat(']', 500), repeat('{"a": ', 300) || '1' || repeat('}', 300), (SELECT jsonb_agg(i)::text FROM generate_series(1, 1000) i),
		(SELECT jsonb_object_agg(repeat('k', i % 9) || i, (ARRAY[to_jsonb(i * 1.5), to_jsonb(repeat('v', i % 7)), 'null', 'true', jsonb_build_array(i, 'x')])[1 + i % 5])::text FROM generate_series(1, 200) i),
		(SELECT jsonb_agg((ARRAY[to_jsonb(repeat('v', i % 7)), to_jsonb(i * 1000000007.25), '{"a": [1]}'])[1 + i % 3])::text FROM generate_series(1, 200) i)]::jsonb[]) e;
INSERT INTO vals (id, by) SELECT 100 + i, decode(repeat('0123456789abcdef', i * 3), 'hex') FROM generate_series(1, 40) i;
SQL

my $random = <<"SQL";
SELECT setseed(0.25);
INSERT INTO vals
SELECT 1000 + i, random() < 0.5,
	floor(random() * 65536)::int - 32768,
	(floor(random() * 4294967296)::int8 - 2147483648) >> floor(random() * 31)::int,
	((floor(random() * 4294967296)::int8 - 2147483648) << 32 | floor(random() * 4294967296)::int8) >> floor(random() * 63)::int,
	(floor(random() * 4294967296)::int8 >> floor(random() * 32)::int)::oid,
	md5(random()::text)::uuid,
	CASE i % 3 WHEN 0 THEN date '4713-01-01 BC' + floor(random() * 2147000000)::int ELSE date '0001-01-01' + floor(random() * 3652058)::int END,
	date_trunc((ARRAY['microseconds', 'milliseconds', 'second', 'minute', 'day'])[1 + i % 5],
		CASE i % 4 WHEN 0 THEN timestamp '4713-01-01 BC' + random() * interval '298000 years' ELSE timestamp '0001-01-01' + random() * interval '9998 years' END),
	date_trunc((ARRAY['microseconds', 'milliseconds', 'second', 'minute', 'day'])[1 + i % 5],
		CASE i % 4 WHEN 0 THEN timestamptz '4713-01-01 BC' + random() * interval '298000 years' ELSE timestamptz '0001-01-01' + random() * interval '9998 years' END),
	CASE i % 5 WHEN 0 THEN (random() * 1000000)::numeric(12,2) WHEN 1 THEN ('-0.' || repeat('0', floor(random() * 30)::int) || digits(30))::numeric
		WHEN 2 THEN digits(60)::numeric WHEN 3 THEN (digits(20) || '.' || digits(20))::numeric ELSE (digits(12) || 'e' || floor(random() * 400)::int - 200)::numeric END,
	CASE i % 4 WHEN 0 THEN floor(random() * 2000000) - 1000000 WHEN 1 THEN floor(random() * 10000) / 100 ELSE (random() - 0.5) * 10.0 ^ (random() * 70 - 33) END,
	CASE i % 4 WHEN 0 THEN floor(random() * 2e15) - 1e15 WHEN 1 THEN floor(random() * 10000) / 100 ELSE (random() - 0.5) * 10.0::float8 ^ (random() * 600 - 300) END,
	random_text((ARRAY[0, 0, 1, 2, 4, 16])[1 + i % 6]), random_text(1), left(random_text(0), 8), left(random_text(0), 15),
	decode(md5(random()::text) || md5(random()::text), 'hex'), random_json(3)
FROM generate_series(1, $rows) i;
SQL

# A member of the expected record: a number is its text, or null.
sub column
{
	my ($name, $type, $kind) = @_;
	my $text = "format('%s', $name)";
	my %value = (
		number => "CASE WHEN $name\::text IN ('NaN', 'Infinity', '-Infinity') THEN 'null' ELSE $text END",
		integer => $text,
		quoted => "'\"' || $text || '\"'",
		string => "to_json($text)::text",
		bool => "$name\::text",
		bytea => "'\"' || substr($name\::text, 3) || '\"'",
	);

	return qq('{"name":"$name","type":"$type","value":' || CASE WHEN $name IS NULL THEN 'null' ELSE $value{$kind} END || '}');
}

my @columns = (
	[ 'id', 'integer', 'integer' ], [ 'b', 'boolean', 'bool' ], [ 'i2', 'smallint', 'integer' ], [ 'i4', 'integer', 'integer' ],
	[ 'i8', 'bigint', 'integer' ], [ 'o', 'oid', 'integer' ], [ 'u', 'uuid', 'quoted' ], [ 'd', 'date', 'quoted' ],
	[ 'ts', 'timestamp without time zone', 'quoted' ], [ 'tz', 'timestamp with time zone', 'quoted' ], [ 'nu', 'numeric', 'number' ],
	[ 'f4', 'real', 'number' ], [ 'f8', 'double precision', 'number' ], [ 't', 'text', 'string' ], [ 'vc', 'character varying', 'string' ],
	[ 'bp', 'character(8)', 'string' ], [ 'n', 'name', 'string' ], [ 'by', 'bytea', 'bytea' ], [ 'j', 'jsonb', 'string' ]);

create_policy($node, $db, 'idle', { "no value has this \x{1}\x{2}" => 'x' });
# A term could hide behind a backslash in json.
$node->safe_psql($db, q{SELECT acdat.set_action('idle', 'keep', column_name => 'j'), acdat.publish('idle')});
create_slot($node, $db, 'plain', 'idle');
$node->safe_psql($db, $edges);
$node->safe_psql($db, $random);
my $count = $node->safe_psql($db, 'SELECT count(*) FROM vals');
cmp_ok($count, '>', $rows + 60, "$count rows, " . ($count * @columns) . ' values');

# Each format of numbers, with and without a policy.
foreach my $run ([ 'plain', 'none', 0 ], [ 'plain', 'none', 1 ], [ 'idle', 'idle', 0 ])
{
	my ($slot, $policy, $as_string) = @$run;
	my @expected = map { my ($name, $type, $kind) = @$_;
		column($name, $type, $as_string && $kind =~ /number|integer/ ? 'quoted' : $kind) } @columns;
	my $function = $as_string ? 'pg_logical_slot_peek_changes' : $slot eq 'plain' ? 'pg_logical_slot_peek_changes' : 'pg_logical_slot_get_changes';
	my $wrong = $node->safe_psql($db, sprintf <<'SQL', $function, $slot, $policy, $as_string ? 'on' : 'off', join(qq( || ',' ||\n), @expected));
WITH printed AS MATERIALIZED (
	SELECT row_number() OVER () AS n, data
	FROM %s('%s', NULL, NULL, 'format-version', '2', 'policy', '%s', 'include-transaction', 'off', 'numeric-data-types-as-string', '%s')
), wanted AS MATERIALIZED (
	SELECT row_number() OVER (ORDER BY id) AS n, '{"action":"I","schema":"public","table":"vals","columns":[' || %s || ']}' AS data FROM vals
)
SELECT count(*) OVER () || E' differ\n' || coalesce(p.data, '(none)') || E'\n' || coalesce(w.data, '(none)')
FROM printed p FULL JOIN wanted w USING (n) WHERE p.data IS DISTINCT FROM w.data LIMIT 2
SQL
	is($wrong, '', "policy $policy" . ($as_string ? ', numbers as strings' : '') . ': every record is the expected one');
}
done_testing();

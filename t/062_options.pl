# The options that wal2json does not have, or not in all of its versions.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use Acdat;
use PostgreSQL::Test::Utils;
use Test::More;

my $large = ($ENV{PG_TEST_EXTRA} || '') =~ /\blarge\b/;
my $db = 'postgres';
my $node = start_server('options', conf => "timezone = 'UTC'\n" . quiet_log());

$node->safe_psql($db, 'CREATE EXTENSION acdat_decoder');
create_policy($node, $db, 'clean', { 'Alice Example' => '[NAME]' });
create_slot($node, $db, 'slot');

my $plain = 'policy=none';

# Skip what was not read.
sub advance
{
	$node->safe_psql($db, "SELECT pg_replication_slot_advance('slot', pg_current_wal_lsn())");
	return;
}

# The lines of some SQL, read with options.
sub lines_of
{
	my ($sql, @options) = @_;

	advance();
	$node->safe_psql($db, $sql);
	my @lines = changes($node, $db, 'slot', \@options);
	parse_lines(@lines) unless grep { /pretty|chunks/ } @options;
	return @lines;
}

# The same, without begin and commit.
sub records_of
{
	my ($sql, @options) = @_;

	return lines_of($sql, 'format-version=2', 'include-transaction=off', 'include-types=off', @options);
}

# And again of version 1, without what is around the changes.
sub changes_of
{
	my ($sql, @options) = @_;

	return grep { $_ ne '' } map { /\A\{"change":\[(.*)\]\}\z/ ? $1 : "not a transaction: $_" } lines_of($sql, 'include-types=off', @options);
}

# What is said while reading.
sub messages_of
{
	my ($sql, @options) = @_;

	advance();
	$node->safe_psql($db, $sql);
	my ($status, $out, $err) = $node->psql($db, '\set VERBOSITY terse' . "\n" . Acdat::changes_query('slot', \@options) . ';');
	$err =~ s/^psql:\S+ //gm;
	return ($status, $out, $err);
}

sub fails
{
	my ($option, $expected) = @_;

	changes_fail($node, $db, 'slot', [ $plain, $option ], $expected, "$option is refused");
	return;
}

# ---- unchanged-toast ----

$node->safe_psql($db, <<'SQL');
CREATE TABLE toasted (id int PRIMARY KEY, a text, "b ""q" text, n int);
ALTER TABLE toasted ALTER a SET STORAGE EXTERNAL, ALTER "b ""q" SET STORAGE EXTERNAL;
INSERT INTO toasted VALUES (1, repeat('a', 3000), repeat('b', 3000), 1);
SQL
is_deeply([ records_of('UPDATE toasted SET n = 2', $plain, 'unchanged-toast=on') ],
	[q({"action":"U","schema":"public","table":"toasted","columns":[{"name":"id","value":1},{"name":"n","value":2}],)
		  . q("unchanged":["a","b \"q"],"identity":[{"name":"id","value":1}]})], 'unchanged-toast');
is_deeply([ records_of(q(UPDATE toasted SET a = 'x'; INSERT INTO toasted VALUES (2); DELETE FROM toasted WHERE id = 2), $plain, 'unchanged-toast=on') ],
	[
		q({"action":"U","schema":"public","table":"toasted","columns":[{"name":"id","value":1},{"name":"a","value":"x"},{"name":"n","value":2}],)
		  . q("unchanged":["b \"q"],"identity":[{"name":"id","value":1}]}),
		q({"action":"I","schema":"public","table":"toasted","columns":[{"name":"id","value":2},{"name":"a","value":null},{"name":"b \"q","value":null},{"name":"n","value":null}],"unchanged":[]}),
		q({"action":"D","schema":"public","table":"toasted","identity":[{"name":"id","value":2}]})
	], 'unchanged-toast: with a changed one, in an insert and in a delete');
is_deeply([ changes_of('UPDATE toasted SET n = 3', $plain, 'unchanged-toast=on') ],
	[q({"kind":"update","schema":"public","table":"toasted","columnnames":["id","a","n"],"columnvalues":[1,"x",3],)
		  . q("unchangedcolumns":["b \"q"],"oldkeys":{"keynames":["id"],"keyvalues":[1]}})], 'unchanged-toast, version 1');
is_deeply([ records_of('UPDATE toasted SET n = 4', $plain) ],
	[q({"action":"U","schema":"public","table":"toasted","columns":[{"name":"id","value":1},{"name":"a","value":"x"},{"name":"n","value":4}],)
		  . q("identity":[{"name":"id","value":1}]})], 'unchanged-toast: not by itself');

# ---- include-empty-transactions ----

my $some_empty = 'CREATE TABLE none_of_it (a int); INSERT INTO toasted VALUES (3); DROP TABLE none_of_it; DELETE FROM toasted WHERE id = 3';
foreach my $option ('include-empty-transactions', 'include-empty-transaction')
{
	is_deeply([ map { $_->{action} } parse_lines(lines_of($some_empty, $plain, 'format-version=2', "$option=off")) ],
		[qw(B I C B D C)], "$option=off");
	is(scalar(grep { $_ eq '{"change":[]}' } lines_of($some_empty, $plain, "$option=off")),
		0, "$option=off, version 1");
	is(scalar(grep { $_ eq '{"change":[]}' } lines_of($some_empty, $plain, "$option=on")),
		2, "$option=on, version 1");
}
is_deeply([ map { $_->{action} } parse_lines(lines_of('INSERT INTO toasted VALUES (3); DELETE FROM toasted WHERE id = 3', $plain, 'format-version=2',
		'include-empty-transactions=off', 'actions=delete')) ], [qw(B D C)], 'what was filtered leaves its transaction empty');

# ---- partition-root ----

$node->safe_psql($db, <<'SQL');
CREATE TABLE root (id int, region text, v numeric DEFAULT 1, PRIMARY KEY (region, id)) PARTITION BY LIST (region);
CREATE TABLE leaf (v numeric DEFAULT 1, gone int, region text NOT NULL, id int NOT NULL, PRIMARY KEY (region, id));
ALTER TABLE leaf DROP gone;
ALTER TABLE root ATTACH PARTITION leaf FOR VALUES IN ('a');
CREATE SCHEMA parts;
CREATE TABLE parts.middle PARTITION OF root FOR VALUES IN ('b', 'c') PARTITION BY HASH (id);
CREATE TABLE parts.bottom PARTITION OF parts.middle FOR VALUES WITH (MODULUS 1, REMAINDER 0);
SQL
is_deeply([ records_of(q(INSERT INTO root VALUES (1, 'a', 1.5), (2, 'b', 2)), $plain, 'partition-root=on', 'include-column-positions=on') ],
	[
		q({"action":"I","schema":"public","table":"root","columns":[{"name":"id","value":1,"position":1},{"name":"region","value":"a","position":2},{"name":"v","value":1.5,"position":3}]}),
		q({"action":"I","schema":"public","table":"root","columns":[{"name":"id","value":2,"position":1},{"name":"region","value":"b","position":2},{"name":"v","value":2,"position":3}]})
	], q(partition-root: the root's name, its columns in its order));
is_deeply([ changes_of(q(UPDATE root SET v = 3 WHERE id = 1), $plain, 'partition-root=on') ],
	[q({"kind":"update","schema":"public","table":"root","columnnames":["id","region","v"],"columnvalues":[1,"a",3],"oldkeys":{"keynames":["id","region"],"keyvalues":[1,"a"]}})],
	'partition-root, version 1');
is_deeply([ map { $_->{table} } parse_lines(records_of('UPDATE root SET v = 4', $plain, 'partition-root=on', 'add-tables=public.root')) ],
	[qw(root root)], 'partition-root: table options are about the root');
is_deeply([ records_of('UPDATE root SET v = 5', $plain, 'partition-root=on', 'filter-tables=public.root') ], [], 'partition-root: here too');
is_deeply([ map { $_->{table} } parse_lines(records_of('UPDATE root SET v = 4', $plain)) ], [qw(leaf bottom)], 'partition-root: not by itself');
is_deeply([ sort map { $_->{table} } parse_lines(records_of('TRUNCATE root', $plain, 'partition-root=on')) ], [qw(root)],
	'partition-root: one record of a truncate');
is_deeply([ records_of('TRUNCATE leaf', $plain, 'partition-root=on') ], [], 'partition-root: a truncate of a partition is none of the root');
is_deeply([ sort map { $_->{table} } parse_lines(records_of('TRUNCATE leaf', $plain)) ], [qw(leaf)], 'partition-root: not by itself');

# ---- json-values ----

$node->safe_psql($db, 'CREATE TABLE docs (id int PRIMARY KEY, j json, b jsonb, a jsonb[])');
my $insert_docs = <<'SQL';
INSERT INTO docs VALUES (1, E'{"a" :\n\t[1,  "x\\n\\u0041"] }', '{"b": null, "n": 1.50}', ARRAY['{}'::jsonb]), (2, 'null', '"s"', NULL), (3, NULL, NULL, NULL)
SQL
is_deeply([ records_of("DELETE FROM docs; $insert_docs", $plain, 'json-values=on') ],
	[
		q({"action":"I","schema":"public","table":"docs","columns":[{"name":"id","value":1},{"name":"j","value":{"a" :  [1,  "x\n\u0041"] }},{"name":"b","value":{"b": null, "n": 1.50}},{"name":"a","value":"{\"{}\"}"}]}),
		q({"action":"I","schema":"public","table":"docs","columns":[{"name":"id","value":2},{"name":"j","value":null},{"name":"b","value":"s"},{"name":"a","value":null}]}),
		q({"action":"I","schema":"public","table":"docs","columns":[{"name":"id","value":3},{"name":"j","value":null},{"name":"b","value":null},{"name":"a","value":null}]})
	], 'json-values: embedded, in one line');
like((changes_of("TRUNCATE docs; $insert_docs", $plain, 'json-values=on'))[-1],
	qr/"columnvalues":\[1,\{"a" :  \[1,  "x\\n\\u0041"\] \},\{"b": null, "n": 1.50\},"\{\\"\{\}\\"\}"\]/, 'json-values, version 1');
like((records_of("TRUNCATE docs; $insert_docs", $plain))[1], qr/"value":"\{\\"a\\" :\\n\\t/, 'json-values: not by itself');
is_deeply([ grep { /"I"/ } records_of(q(TRUNCATE docs; INSERT INTO docs VALUES (1, '{"who": "Alice Example"}', '["Alice Example", 1]', NULL), (2, '{"who": "Bob"}', '{}', NULL)), 'policy=clean', 'json-values=on') ],
	[
		q({"action":"I","schema":"public","table":"docs","columns":[{"name":"id","value":1},{"name":"j","value":"[REDACTED]"},{"name":"b","value":"[REDACTED]"},{"name":"a","value":null}]}),
		q({"action":"I","schema":"public","table":"docs","columns":[{"name":"id","value":2},{"name":"j","value":{"who": "Bob"}},{"name":"b","value":{}},{"name":"a","value":null}]})
	], 'json-values: redacted first');

# ---- columns-as-object ----

$node->safe_psql($db, 'CREATE TABLE pairs (id int PRIMARY KEY, "a ""q" text, b bool)');
is_deeply([ records_of(q(INSERT INTO pairs VALUES (1, 'x', NULL); UPDATE pairs SET id = 2; DELETE FROM pairs), $plain, 'columns-as-object=on', 'include-pk=on') ],
	[
		q({"action":"I","schema":"public","table":"pairs","columns":{"id":1,"a \"q":"x","b":null},"pk":["id"]}),
		q({"action":"U","schema":"public","table":"pairs","columns":{"id":2,"a \"q":"x","b":null},"identity":{"id":1},"pk":["id"]}),
		q({"action":"D","schema":"public","table":"pairs","identity":{"id":2},"pk":["id"]})
	], 'columns-as-object');
is_deeply([ changes_of(q(INSERT INTO pairs VALUES (1, 'x', true); UPDATE pairs SET id = 2; DELETE FROM pairs), $plain, 'columns-as-object=on') ],
	[
		q({"kind":"insert","schema":"public","table":"pairs","columns":{"id":1,"a \"q":"x","b":true}}),
		q({"kind":"update","schema":"public","table":"pairs","columns":{"id":2,"a \"q":"x","b":true},"oldkeys":{"id":1}}),
		q({"kind":"delete","schema":"public","table":"pairs","oldkeys":{"id":2}})
	], 'columns-as-object, version 1');

# ---- prefixes that end in * ----

my $messages = join ';', map { "SELECT pg_logical_emit_message(true, '$_', '')" } qw(app app.one app.two other);
sub prefixes { return map { $_->{prefix} } parse_lines(records_of($messages, $plain, @_)) }
is_deeply([ prefixes('add-msg-prefixes=app.*') ], [qw(app.one app.two)], 'add-msg-prefixes: a prefix that ends in *');
is_deeply([ prefixes('filter-msg-prefixes=app*') ], [qw(other)], 'filter-msg-prefixes: the same');
is_deeply([ prefixes('add-msg-prefixes=app*,other', 'filter-msg-prefixes=app.t*') ], [qw(app app.one other)], 'both');
is_deeply([ prefixes('add-msg-prefixes=*') ], [qw(app app.one app.two other)], 'only *');

# ---- filter-origins ----

$node->safe_psql($db, q(SELECT pg_replication_origin_create('first'); SELECT pg_replication_origin_create('second, odd')));
my $number = $node->safe_psql($db, q(SELECT roident FROM pg_replication_origin WHERE roname = 'second, odd'));
sub from_origins
{
	return [
		map { $_->{prefix} } parse_lines(records_of(<<'SQL', $plain, @_)) ];
SELECT pg_replication_origin_session_setup('first'); SELECT pg_logical_emit_message(true, 'first', '');
SELECT pg_replication_origin_session_reset(); SELECT pg_replication_origin_session_setup('second, odd');
SELECT pg_logical_emit_message(true, 'second', ''); SELECT pg_replication_origin_session_reset();
SELECT pg_logical_emit_message(true, 'here', '');
SQL
}
is_deeply(from_origins('filter-origins=first'), [qw(second here)], 'filter-origins by name');
is_deeply(from_origins("filter-origins=$number"), [qw(first here)], 'filter-origins by number');
is_deeply(from_origins("filter-origins=first,$number"), [qw(here)], 'filter-origins by both');
is_deeply(from_origins('filter-origins=second\\,\\ odd'), [qw(first here)], 'filter-origins by a name with escapes');

# ---- include-generation, include-redactions ----

my $generation = $node->safe_psql($db, q(SELECT acdat.publish('clean')));
my $insert_pair = q(INSERT INTO pairs VALUES (1, 'Alice Example and Alice Example', true));
is_deeply([ (lines_of("TRUNCATE pairs; $insert_pair", 'policy=clean', 'format-version=2', 'include-generation=on'))[ 3, 5 ] ],
	[ qq({"action":"B","generation":$generation}), qq({"action":"C","generation":$generation}) ], 'include-generation');
like((lines_of("TRUNCATE pairs; $insert_pair", 'policy=clean', 'include-generation=on'))[-1], qr/\A\{"generation":$generation,"change":\[/,
	'include-generation, version 1');
is_deeply([ (lines_of("TRUNCATE pairs; $insert_pair", $plain, 'format-version=2', 'include-generation=on'))[3] ], ['{"action":"B"}'],
	'include-generation: none without a policy');
is_deeply([ grep { /"I"/ } records_of("TRUNCATE pairs; $insert_pair; INSERT INTO pairs VALUES (2, 'Bob')", 'policy=clean', 'include-redactions=on') ],
	[
		q({"action":"I","schema":"public","table":"pairs","columns":[{"name":"id","value":1},{"name":"a \"q","value":"[NAME] and [NAME]"},{"name":"b","value":true}],"redactions":{"a \"q":2}}),
		q({"action":"I","schema":"public","table":"pairs","columns":[{"name":"id","value":2},{"name":"a \"q","value":"Bob"},{"name":"b","value":null}],"redactions":{}})
	], 'include-redactions: matches of each column');
like((changes_of("TRUNCATE pairs; $insert_pair", 'policy=clean', 'include-redactions=on'))[-1], qr/,"redactions":\{"a \\"q":2\}\}\z/,
	'include-redactions, version 1');
is_deeply([ map { $_->{redactions} } parse_lines(records_of(q(TRUNCATE docs; INSERT INTO docs VALUES (1, '["Alice Example"]')), 'policy=clean', 'include-redactions=on', 'actions=insert')) ],
	[ { j => 1 } ], 'include-redactions: a value that is masked whole counts once');

# ---- include-default ----

# Plans are made anew in the memory of earlier ones: what is no longer theirs
# must not come out behind the mask.
$node->safe_psql($db, 'CREATE TABLE defaults (id int PRIMARY KEY' . join('', map { ", c$_ text DEFAULT 'Alice Example $_', d$_ varchar(12) DEFAULT 'Bob'" } 1 .. 20) . ')');
my @defaults = map { map { $_->{default} } grep { $_->{name} =~ /^[cd]/ } @{ $_->{columns} } }
  parse_lines(records_of(join(';', map { "INSERT INTO defaults VALUES ($_); ALTER TABLE defaults ALTER c$_ SET NOT NULL" } 1 .. 20),
	'policy=clean', 'include-default=on', 'actions=insert'));
is(scalar(grep { $_ eq '[REDACTED]' } @defaults), 400, 'include-default: a default with a match is masked');
is(scalar(grep { $_ eq "'Bob'::character varying" } @defaults), 400, 'include-default: and nothing else');

# What a literal escapes could hide a term there as it could in a value.
create_policy($node, $db, 'escapes', { "O'Brien" => '[1]', 'x"y' => '[2]', 'x&y' => '[3]' });
$node->safe_psql($db, <<'SQL');
CREATE TYPE quoting AS (a text);
CREATE TABLE escapes (id int PRIMARY KEY, a text DEFAULT 'Mr. O''Brien', b quoting DEFAULT '("x""y")', c xml DEFAULT '<p>x&amp;y</p>',
	d tsvector DEFAULT 'one', e text DEFAULT 'x&amp;y', f text DEFAULT '');
SQL
my ($escapes) = parse_lines(records_of("INSERT INTO escapes VALUES (1)", 'policy=escapes', 'include-default=on', 'actions=insert'));
is_deeply({ map { $_->{name} => $_->{default} } @{ $escapes->{columns} } },
	{ id => undef, (map { $_ => '[REDACTED]' } qw(a b c d)), e => "'x&amp;y'::text", f => "''::text" },
	'include-default: escapes hide no term');

# Defaults name other objects, which can be renamed.
$node->safe_psql($db, <<'SQL');
CREATE SEQUENCE numbers;
CREATE FUNCTION answer() RETURNS int LANGUAGE sql AS 'SELECT 42';
CREATE TABLE named (id int PRIMARY KEY, s int DEFAULT nextval('numbers'), f int DEFAULT answer());
SQL
is_deeply(
	[ map { [ map { $_->{default} } @{ $_->{columns} }[1, 2] ] } parse_lines(records_of(
		'INSERT INTO named VALUES (1); ALTER SEQUENCE numbers RENAME TO others; INSERT INTO named VALUES (2); ALTER FUNCTION answer() RENAME TO reply; INSERT INTO named VALUES (3)',
		'policy=clean', 'include-default=on', 'actions=insert')) ],
	[ [ "nextval('numbers'::regclass)", 'answer()' ], [ "nextval('others'::regclass)", 'answer()' ], [ "nextval('others'::regclass)", 'reply()' ] ],
	'include-default: with the names that objects had then');

# Escaped, doubled and beside a value this one would not fit a message.
$node->safe_psql($db, q{DO $$ BEGIN EXECUTE format('CREATE TABLE huge_default (id int PRIMARY KEY, a text DEFAULT %L, b text DEFAULT %L)',
	repeat(E'\x01', 100000000), 'Bob'); END $$});
my ($huge) = grep { $_->{columns} } parse_lines(records_of("INSERT INTO huge_default VALUES (1, 'x', 'y')",
	'policy=clean', 'include-default=on', 'actions=insert'));
is_deeply([ map { [ $_->{value}, $_->{default} ] } @{ $huge->{columns} } ],
	[ [ 1, undef ], [ 'x', '[REDACTED]' ], [ 'y', "'Bob'::text" ] ], 'include-default: a default that leaves no room is masked');
$node->safe_psql($db, 'DROP TABLE huge_default');

# ---- without-identity ----

$node->safe_psql($db, 'CREATE TABLE none_a (a int, b text); CREATE TABLE none_b (a int); INSERT INTO none_a VALUES (1), (2), (3); INSERT INTO none_b VALUES (1), (2)');
my $update_none = 'UPDATE none_a SET a = a + 1; UPDATE none_b SET a = a + 1; DELETE FROM none_b WHERE a = 2;';
foreach my $version (1, 2)
{
	my ($status, $out, $err) = messages_of($update_none, $plain, "format-version=$version", 'include-empty-transactions=off');
	is($out, '', "without-identity=warn, version $version: the changes are left out");
	is(join("\n", sort split /\n/, $err),
		$version == 1
		? join("\n", map { qq(WARNING:  table "$_" without primary key or replica identity is nothing) } qw(none_a none_b))
		: join("\n", map { qq(WARNING:  no tuple identifier for UPDATE in table "public"."$_") } qw(none_a none_b)),
		"without-identity=warn, version $version: one warning for each table");
	($status, $out, $err) = messages_of($update_none, $plain, "format-version=$version", 'without-identity=error');
	isnt($status, 0, "without-identity=error, version $version: fails");
	like($err, qr/ERROR:  UPDATE in table "public"\."none_a" without a replica identity/, 'with the right message');
}
is_deeply([ records_of('TRUNCATE none_a; INSERT INTO none_a VALUES (4); UPDATE none_a SET a = a + 1; DELETE FROM none_a', $plain, 'actions=update,delete', 'without-identity=full') ],
	[ q({"action":"U","schema":"public","table":"none_a","columns":[{"name":"a","value":5},{"name":"b","value":null}]}), q({"action":"D","schema":"public","table":"none_a"}) ],
	'without-identity=full: what there is');
$node->safe_psql($db, 'CREATE TABLE none_c (a int PRIMARY KEY, b text); ALTER TABLE none_c REPLICA IDENTITY NOTHING');
is_deeply([ records_of(q(INSERT INTO none_c VALUES (1, 'x'); UPDATE none_c SET a = 2; DELETE FROM none_c), $plain, 'actions=update,delete', 'without-identity=full', 'include-redactions=on') ],
	[
		q({"action":"U","schema":"public","table":"none_c","columns":[{"name":"a","value":2},{"name":"b","value":"x"}],"redactions":{}}),
		q({"action":"D","schema":"public","table":"none_c","redactions":{}})
	], 'without-identity=full: no identity out of the new row');
is_deeply([ changes_of(q(INSERT INTO none_c VALUES (1, 'x'); UPDATE none_c SET a = 2; DELETE FROM none_c), $plain, 'actions=update,delete', 'without-identity=full', 'include-redactions=on') ],
	[
		q({"kind":"update","schema":"public","table":"none_c","columnnames":["a","b"],"columnvalues":[2,"x"],"redactions":{}}),
		q({"kind":"delete","schema":"public","table":"none_c","redactions":{}})
	], 'without-identity=full, version 1');
fails('without-identity=wran', qr/could not parse value "wran" for parameter "without-identity".*Perhaps you meant "?warn"?/s);
fails('oversize=errors', qr/could not parse value "errors" for parameter "oversize".*Perhaps you meant "?error"?/s);
fails('json-values=maybe', qr/could not parse value "maybe" for parameter "json-values"/);
fails('unchanged-tost=1', qr/option "unchanged-tost" = "1" is unknown.*Perhaps you meant "?unchanged-toast"?/s);

# ---- numeric-data-types-as-string ----

$node->safe_psql($db, 'CREATE TABLE numbers (a int2, b int4, c int8, d oid, e float4, f float8, g numeric, h money)');
is_deeply([ records_of(q(INSERT INTO numbers VALUES (1, 2, 9007199254740993, 4, 1.5, 'NaN', '-Infinity', 1), (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)), $plain, 'numeric-data-types-as-string=on', 'columns-as-object=on') ],
	[
		q({"action":"I","schema":"public","table":"numbers","columns":{"a":"1","b":"2","c":"9007199254740993","d":"4","e":"1.5","f":"NaN","g":"-Infinity","h":"$1.00"}}),
		q({"action":"I","schema":"public","table":"numbers","columns":{"a":null,"b":null,"c":null,"d":null,"e":null,"f":null,"g":null,"h":null}})
	], 'numeric-data-types-as-string');

# ---- no cliff ----

# As many columns as a table can have, all options, both formats.
$node->safe_psql($db, 'CREATE TABLE wide (' . join(', ', map { "column_with_a_name_of_some_length_$_ int DEFAULT $_" } 1 .. 1600) . ')');
foreach my $version (1, 2)
{
	my @lines = lines_of('INSERT INTO wide DEFAULT VALUES', $plain, "format-version=$version", map { "$_=on" } qw(include-types include-type-oids
		include-column-positions include-not-null include-default include-pk unchanged-toast include-redactions));
	my ($record) = $version == 1 ? parse_line($lines[-1])->{change}[0] : of_action('I', @lines);
	my $values = $version == 1 ? $record->{columnvalues} : [ map { $_->{value} } @{ $record->{columns} } ];
	is_deeply($values, [ 1 .. 1600 ], "1,600 columns, version $version");
}

# Unchanged TOASTed values cost the same each, however many there are in a
# transaction.  The CPU time of the server process, in ticks, hardly depends on
# what else runs.
sub ticks
{
	my ($rows) = @_;
	my $ticks = q{SELECT (regexp_match(pg_read_file('/proc/self/stat'), '\) \S+ (?:\S+ ){10}(\d+)'))[1];};

	advance();
	$node->safe_psql($db, "UPDATE many SET n = n + 1 WHERE id <= $rows");
	my ($before, $length, $after) = split /\n/, $node->safe_psql($db,
		"$ticks SELECT sum(length(data)) FROM (" . Acdat::changes_query('slot', [$plain]) . ") c; $ticks");
	return ($after - $before, $length);
}
SKIP:
{
	skip 'takes long: PG_TEST_EXTRA=large', 2 unless $large && -r '/proc/self/stat';
	my @columns = map { "c$_" } 1 .. 12;
	$node->safe_psql($db, 'CREATE TABLE many (id int PRIMARY KEY, n int' . join('', map { ", $_ text" } @columns) . ') WITH (toast_tuple_target = 128)');
	$node->safe_psql($db, 'ALTER TABLE many ' . join ', ', map { "ALTER $_ SET STORAGE EXTERNAL" } @columns);
	$node->safe_psql($db, 'INSERT INTO many SELECT i, 0' . (", repeat('x', 200)" x @columns) . ' FROM generate_series(1, 40000) i');
	my ($few, $few_bytes) = ticks(5000);
	my ($many, $many_bytes) = ticks(40000);
	note("$few ticks for $few_bytes bytes, $many for $many_bytes");
	cmp_ok($many_bytes, '>', 7.5 * $few_bytes, 'eight times as much');
	cmp_ok($many, '<', 24 * ($few > 3 ? $few : 3), 'version 1 is linear in unchanged TOASTed values');
}

SKIP:
{
	skip 'needs gigabytes of memory: PG_TEST_EXTRA=large', 6 unless room_for_large();

	# 190 million control characters take six bytes each in JSON.
	my $huge = q(INSERT INTO huge SELECT 1, repeat(E'\x01', 190000000), 'beside it'; DELETE FROM huge);
	$node->safe_psql($db, 'CREATE TABLE huge (id int PRIMARY KEY, v text, w text)');
	is_deeply([ records_of($huge, $plain, 'oversize=mask', 'actions=insert') ],
		[q({"action":"I","schema":"public","table":"huge","columns":[{"name":"id","value":1},{"name":"v","value":"[REDACTED]"},{"name":"w","value":"beside it"}]})],
		'oversize=mask: the value is masked whole');
	my ($status, $out, $err) = messages_of($huge, $plain, 'oversize=error', 'format-version=2');
	isnt($status, 0, 'oversize=error: fails');
	like($err, qr/ERROR:  a value is too large for the output of slot "slot"/, 'with the right message');
	($status, $out, $err) = messages_of(q(INSERT INTO huge SELECT i, repeat(E'\x01', 30000000) FROM generate_series(1, 7) i), $plain);
	isnt($status, 0, 'a transaction that does not fit one message of version 1 fails');
	like($err, qr/transaction is too large for one message of format version 1/, 'with the right message');
	($out) = $node->safe_psql($db, 'SELECT count(*) FROM (' . Acdat::changes_query('slot', [ $plain, 'format-version=2' ]) . ') c');
	is($out, 9, 'and version 2 is the way on');
}
done_testing();

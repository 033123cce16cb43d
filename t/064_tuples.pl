
# New, old and key tuples; keys stay apart; TOASTed values.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use Acdat;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_server('tuples');
my $db = 'postgres';
my $secret = 'Alice Example';
my $tail = qr/~[0-9a-f]{16}/;

$node->safe_psql($db, 'CREATE EXTENSION acdat_decoder');
create_policy($node, $db, 'clean', { $secret => '[NAME]', 'Bob' => '[B]' });
create_slot($node, $db, 'slot');

# What some SQL streams, in both versions.
my @version1;

sub records_of
{
	my ($sql) = @_;

	$node->safe_psql($db, $sql);
	@version1 = map { @{ $_->{change} } }
	  parse_lines(changes($node, $db, 'slot', ['policy=clean'], peek => 1));
	my @lines = changes($node, $db, 'slot', [ 'policy=clean', 'format-version=2' ]);
	like_none(join("\n", @lines), [ $secret, 'Bob' ], 'no secret: ' . substr($sql, 0, 60));
	return of_action('IUDT', @lines);
}

# ---- TOAST ----

$node->safe_psql($db, <<'SQL');
CREATE TABLE toasted (id int PRIMARY KEY, n int, compressed text, external text);
ALTER TABLE toasted ALTER COLUMN external SET STORAGE EXTERNAL;
SQL
my ($record) = records_of("INSERT INTO toasted VALUES (1, 1, repeat('for $secret, ', 5000), repeat('to $secret, ', 5000))");
is(columns_of($record)->{compressed}, 'for [NAME], ' x 5000, 'a compressed value');
is(columns_of($record)->{external}, 'to [NAME], ' x 5000, 'a value in the TOAST table');
($record) = records_of('UPDATE toasted SET n = 2');
is_deeply([ sort keys %{ columns_of($record) } ],
	[ grep { $_ ne 'external' } sort qw(id n compressed external) ], 'an unchanged one is left out')
  or diag(explain($record));
($record) = records_of("UPDATE toasted SET external = external || '$secret'");
like(columns_of($record)->{external}, qr/, \[NAME\]$/, 'a changed one is there');
$node->safe_psql($db, 'ALTER TABLE toasted REPLICA IDENTITY FULL');
($record) = records_of('UPDATE toasted SET n = 3');
is(identity_of($record)->{external}, 'to [NAME], ' x 5000 . '[NAME]', 'FULL: the old value is there');
($record) = records_of('DELETE FROM toasted');
is(identity_of($record)->{compressed}, 'for [NAME], ' x 5000, 'FULL: all of a deleted row');

# ---- replica identities ----

$node->safe_psql($db, <<'SQL');
CREATE TABLE keyless (a int, b text);
CREATE TABLE full_keyless (a int, b text);
ALTER TABLE full_keyless REPLICA IDENTITY FULL;
CREATE TABLE nothing (a int PRIMARY KEY, b text);
ALTER TABLE nothing REPLICA IDENTITY NOTHING;
CREATE TABLE by_index (a int PRIMARY KEY, b text NOT NULL, c text);
CREATE UNIQUE INDEX by_index_b ON by_index (b);
ALTER TABLE by_index REPLICA IDENTITY USING INDEX by_index_b;
SQL
my @records = records_of("INSERT INTO keyless VALUES (1, '$secret'); UPDATE keyless SET a = 2; DELETE FROM keyless");
is_deeply([ map { $_->{action} } @records ], ['I'], 'without a key only inserts come');
is(columns_of($records[0])->{b}, '[NAME]', 'redacted');
@records = records_of("INSERT INTO full_keyless VALUES (1, '$secret'); UPDATE full_keyless SET a = 2; DELETE FROM full_keyless");
is_deeply(
	[ map { [ columns_of($_), identity_of($_) ] } @records ],
	[
		[ { a => 1, b => '[NAME]' }, {} ],
		[ { a => 2, b => '[NAME]' }, { a => 1, b => '[NAME]' } ],
		[ {}, { a => 2, b => '[NAME]' } ]
	],
	'FULL without a key');
@records = records_of("INSERT INTO nothing VALUES (1, '$secret'); UPDATE nothing SET b = 'Bob'; DELETE FROM nothing");
is_deeply([ map { $_->{action} } @records ], ['I'], 'NOTHING: only inserts come');
@records = records_of("INSERT INTO by_index VALUES (1, 'k $secret', '$secret'); UPDATE by_index SET c = 'Bob'; UPDATE by_index SET b = 'k Bob'; DELETE FROM by_index");
is_deeply([ map { [ sort keys %{ identity_of($_) } ] } @records ], [ [], ['b'], ['b'], ['b'] ], 'USING INDEX: the identity');
my ($inserted, $same, $changed, $deleted) = @records;
like(columns_of($inserted)->{b}, qr/^k \[NAME\]$tail$/, 'a key gets a suffix');
is(columns_of($inserted)->{c}, '[NAME]', 'others do not');
is(identity_of($same)->{b}, columns_of($inserted)->{b}, 'old key of an update');
is(identity_of($changed)->{b}, columns_of($inserted)->{b}, 'old key of an update that changes it');
is(columns_of($changed)->{b}, identity_of($deleted)->{b}, 'new key, and old key of a delete');
isnt(columns_of($changed)->{b}, identity_of($changed)->{b}, 'which differ');
is((grep { $_->{kind} eq 'delete' } @version1)[0]{oldkeys}{keyvalues}[0], identity_of($deleted)->{b}, 'the same in version 1');

# ---- keys stay apart ----

my %types = (
	'text' => qr/^\[NAME\] x$tail$/,
	'varchar(40)' => qr/^\[NAME\] x$tail$/,
	'varchar(20)' => qr/^\[NA$tail$/,
	'varchar(17)' => qr/^$tail$/,
	'varchar(15)' => qr/^[0-9a-f]{15}$/,
	'char(30)' => qr/^\[NAME\] x$tail *$/,
	'char(20)' => qr/^\[NA$tail$/,
	'name' => qr/^\[NAME\] x$tail$/);
my $number = 0;

foreach my $type (sort keys %types)
{
	my ($limit) = $type =~ /\((\d+)\)/;
	my @values = map { "$secret $_" } qw(x y);

	$number++;
	$node->safe_psql($db, "CREATE TABLE k$number (k $type PRIMARY KEY, n int)");
	my @records = records_of(join ';', map { "INSERT INTO k$number VALUES ('$_', 1); UPDATE k$number SET n = 2 WHERE k = '$_'; DELETE FROM k$number WHERE k = '$_'" } @values);
	my @keys = (
		columns_of($records[0])->{k}, columns_of($records[1])->{k}, identity_of($records[1])->{k}, identity_of($records[2])->{k});

	like($keys[0], $types{$type}, "$type: the form of a key");
	is_deeply(\@keys, [ ($keys[0]) x 4 ], "$type: the same everywhere");
	isnt(columns_of($records[3])->{k}, $keys[0], "$type: another value, another form");
	if (defined $limit)
	{
		cmp_ok(length $keys[0], '<=', $limit, "$type: it fits");
		is(length $keys[0], $limit, "$type: it is padded") if $type =~ /^char/;
	}
}

# padding is no part of a value
$node->safe_psql($db, 'CREATE TABLE narrow (k char(40) PRIMARY KEY); CREATE TABLE wide (k char(60) PRIMARY KEY)');
my @padded = records_of("INSERT INTO narrow VALUES ('$secret'); INSERT INTO wide VALUES ('$secret')");
is(columns_of($padded[1])->{k}, columns_of($padded[0])->{k} . ' ' x 20, 'char(n): equal values have equal forms, whatever n');

# in names of 63 bytes, where the end gives way
$node->safe_psql($db, 'CREATE TABLE names (k name PRIMARY KEY)');
@records = records_of("INSERT INTO names VALUES ('$secret ' || repeat('x', 49)), ('$secret ' || repeat('x', 48) || 'y')");
my @keys = map { columns_of($_)->{k} } @records;
is(length $keys[0], 63, 'a long name stays one: 63 bytes') or diag($keys[0]);
isnt($keys[0], $keys[1], 'and different');

# a term whose replacement is longer than the column
$node->safe_psql($db, 'CREATE TABLE short (k varchar(3) PRIMARY KEY, v varchar(3), c char(4), n name)');
($record) = records_of("INSERT INTO short VALUES ('Bob', 'Bob', 'Bob', 'Bob')");
my $row = columns_of($record);
like($row->{k}, qr/^[0-9a-f]{3}$/, 'a short key');
is_deeply([ @$row{qw(v c n)} ], [ '[B]', '[B] ', '[B]' ], 'short values');
$node->safe_psql($db, "SELECT acdat.create_dictionary('long'), acdat.add_terms('long', ARRAY['ab'], ARRAY['<longer>']), acdat.add_dictionary('clean', 'long'), acdat.publish('clean')");
$node->safe_psql($db, 'CREATE TABLE cut (v varchar(5), c char(5), n name, d text)');
($record) = records_of("INSERT INTO cut VALUES ('xab', 'xab', repeat('ab', 30), 'xab')");
is_deeply(columns_of($record), { v => 'x<lon', c => 'x<lon', n => substr('<longer>' x 30, 0, 63), d => 'x<longer>' },
	'values are cut to fit');

# several columns, and unique columns that are no identity
$node->safe_psql($db, 'CREATE TABLE many (a text, b text, u text UNIQUE, c text, PRIMARY KEY (a, b))');
($record) = records_of("INSERT INTO many VALUES ('$secret', 'plain', '$secret', '$secret')");
$row = columns_of($record);
like($row->{a}, qr/^\[NAME\]$tail$/, 'a part of a key');
is($row->{b}, 'plain', 'without a match nothing changes');
like($row->{u}, qr/^\[NAME\]$tail$/, 'a unique column');
is($row->{u}, $row->{a}, 'equal values are equal across columns');
is($row->{c}, '[NAME]', 'a column that is no key');

# masked whole, keys stay apart all the same
$node->safe_psql($db, 'CREATE TABLE arrays (k text[] PRIMARY KEY, n int)');
@records = records_of("INSERT INTO arrays VALUES (ARRAY['$secret', 'x'], 1), (ARRAY['$secret', 'y'], 1); UPDATE arrays SET n = 2 WHERE k[2] = 'x'");
@keys = map { columns_of($_)->{k} } @records;
like($keys[0], qr/^\[REDACTED\]$tail$/, 'an array as key');
isnt($keys[1], $keys[0], 'another one');
is($keys[2], $keys[0], 'the same again');
is(identity_of($records[2])->{k}, $keys[0], 'and in the identity');

# the form depends on the policy's secret and on nothing else
my @forms;
foreach my $time (1, 2)
{
	my ($r) = records_of("INSERT INTO many VALUES ('$secret', 'time $time', 'u$time', '')");
	push @forms, columns_of($r)->{a};
	$node->safe_psql($db, "SELECT acdat.publish('clean')");
}
is($forms[0], $forms[1], 'the same in the next generation');
create_policy($node, $db, 'second', { $secret => '[NAME]' });
$node->safe_psql($db, "INSERT INTO many VALUES ('$secret', 'time 3', 'u3', '')");
($record) = of_action('I', changes($node, $db, 'slot', [ 'policy=second', 'format-version=2' ]));
like(columns_of($record)->{a}, qr/^\[NAME\]$tail$/, 'under another policy');
isnt(columns_of($record)->{a}, $forms[0], 'another form');

# publishing refuses what would make keys the same
my ($status, $out, $err) = $node->psql($db,
	"SELECT acdat.set_action('clean', 'mask', relation => 'many', column_name => 'a'), acdat.publish('clean')");
like($err, qr/policy "clean" would make different keys the same/, 'a masked key is refused');

# ---- every way that a row is written ----

$node->safe_psql($db, <<'SQL');
CREATE TABLE source (id int PRIMARY KEY, note text);
CREATE TABLE referring (id int PRIMARY KEY, source int REFERENCES source ON DELETE CASCADE ON UPDATE CASCADE, note text);
CREATE TABLE logged (note text);
CREATE FUNCTION log_it() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO logged VALUES (NEW.note || ' logged'); RETURN NEW; END $$;
CREATE TRIGGER log_it AFTER INSERT ON source FOR EACH ROW EXECUTE FUNCTION log_it();
CREATE MATERIALIZED VIEW seen AS SELECT * FROM source;
CREATE UNIQUE INDEX ON seen (id);
SQL
@records = records_of(<<"SQL");
COPY source FROM stdin;
1	by COPY $secret
2	by COPY $secret
\\.
INSERT INTO source VALUES (1, '$secret') ON CONFLICT (id) DO UPDATE SET note = 'in conflict with $secret';
MERGE INTO source USING (VALUES (3)) v (id) ON source.id = v.id WHEN NOT MATCHED THEN INSERT VALUES (v.id, 'merged $secret');
INSERT INTO referring SELECT id, id, note FROM source;
UPDATE source SET id = 10 WHERE id = 1;
DELETE FROM source WHERE id = 2;
CREATE TABLE made AS SELECT * FROM source;
SELECT * INTO chosen FROM source;
REFRESH MATERIALIZED VIEW CONCURRENTLY seen;
ALTER TABLE made ALTER COLUMN note TYPE varchar(100);
WITH moved AS (DELETE FROM referring RETURNING *) INSERT INTO made SELECT id, note FROM moved;
SQL
my %seen;
$seen{"$_->{action} $_->{table}"}++ foreach @records;
is_deeply(\%seen,
	{ 'I source' => 3, 'I logged' => 3, 'U source' => 2, 'I referring' => 3, 'U referring' => 1, 'D source' => 1,
		'D referring' => 3, 'I made' => 4, 'I chosen' => 2, 'I seen' => 2 },
	'all of them come');
is(scalar(grep { ($_ // '') =~ /\[NAME\]/ } map { values_of('note', $_) } @records), 20, 'redacted');

# ---- truncate ----

@records = records_of('TRUNCATE many, arrays');
is_deeply([ map { "$_->{action} $_->{table}" } @records ], [ 'T many', 'T arrays' ], 'truncate of several tables');
is(scalar @version1, 0, 'version 1 has no truncate');

$node->stop;
done_testing();

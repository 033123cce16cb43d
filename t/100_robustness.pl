
# Values, names and transactions out of the ordinary: each line is valid, and
# no row stops a slot.
use strict;
use warnings;
use utf8;

use FindBin;
use lib "$FindBin::Bin/lib";

use Acdat;
use Encode qw(encode);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_server('robustness', conf => "logical_decoding_work_mem = 64kB\n");
my $db = 'postgres';
my $secret = 'Alice Example';
my @options = ('policy=clean', 'format-version=2');

$node->safe_psql($db, 'CREATE EXTENSION acdat_decoder');
create_policy($node, $db, 'clean', { $secret => '[NAME]' });
create_slot($node, $db, qw(sql walsender spilled));

# What both interfaces make of a change; they must agree.
sub stream_of
{
	my ($name, $sql) = @_;

	$node->safe_psql($db, encode('UTF-8', $sql));
	my @by_sql = changes($node, $db, 'sql', \@options);
	my @by_walsender = recv($node, $db, 'walsender', \@options);
	is_deeply(\@by_walsender, \@by_sql, "$name: both interfaces agree");
	return of_action('IUD', @by_sql);
}

# ---- poison ----

my $position = log_position($node);
my ($record) = stream_of('poison', <<'SQL');
CREATE TYPE leaky;
CREATE FUNCTION leaky_in(cstring) RETURNS leaky LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION leaky_out(leaky) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'text_regclass';
CREATE TYPE leaky (INPUT = leaky_in, OUTPUT = leaky_out);
CREATE TABLE poison (id int PRIMARY KEY, a leaky, b text, c leaky[], d int);
INSERT INTO poison SELECT i, 'no such thing', 'Alice Example', ARRAY['no such thing']::leaky[], 5 FROM generate_series(1, 200) i;
INSERT INTO poison VALUES (1000, NULL, 'fine', NULL, NULL);
SQL
is_deeply(columns_of($record), { id => 1, a => '[REDACTED]', b => '[NAME]', c => '[REDACTED]', d => 5 }, 'masked whole');
my $log = slurp_log($node, $position);
is(scalar(() = $log =~ /masked a value that could not be output on slot "walsender"/g), 2, 'one line for each column');
like($log, qr/Column "a" of table "public.poison", at [0-9A-F\/]+, SQLSTATE 42602/, 'which says where');
like($log, qr/decoding on slot "sql" ended.*for failing output: 400/s, 'and all are counted');
unlike($log, qr/DETAIL.*no such thing/, 'without values');
($record) = stream_of('after poison', "UPDATE poison SET b = 'x $secret' WHERE id = 1000");
is(columns_of($record)->{b}, 'x [NAME]', 'the slots go on');
$node->safe_psql($db, 'ALTER TABLE poison DROP CONSTRAINT poison_pkey, REPLICA IDENTITY FULL');
($record) = stream_of('poison in old tuples', 'UPDATE poison SET d = 6 WHERE id = 7');
is_deeply(identity_of($record), { id => 7, a => '[REDACTED]', b => '[NAME]', c => '[REDACTED]', d => 5 }, 'in old tuples');

# deep values
foreach my $depth (1000, 6000)
{
	($record) = stream_of("json of $depth levels",
		"CREATE TABLE deep$depth (j jsonb, t text);"
		  . "INSERT INTO deep$depth VALUES ((repeat('[', $depth) || repeat(']', $depth))::jsonb, '$secret')");
	is(columns_of($record)->{t}, '[NAME]', "json of $depth levels");
}

# ---- bytes that are no text ----

# "char" can hold any byte
my @bytes = stream_of('"char"', 'CREATE TABLE chars (c "char", a "char"[]); INSERT INTO chars SELECT i::"char", ARRAY[i::"char"] FROM generate_series(-128, 127) i');
is(scalar @bytes, 256, 'any byte in "char"');

# ---- wide rows ----

my $wide = join ', ', map { "c$_ text" } 1 .. 1599;
($record) = stream_of('1,600 columns', "CREATE TABLE wide (id int PRIMARY KEY, $wide);"
	  . "INSERT INTO wide SELECT 1, " . join(', ', map { $_ % 100 ? 'NULL' : "'$secret'" } 1 .. 1599));
is(scalar @{ $record->{columns} }, 1600, '1,600 columns');
is(scalar(grep { ($_->{value} // '') eq '[NAME]' } @{ $record->{columns} }), 15, 'redacted');
my @dropped = stream_of('dropped columns', 'ALTER TABLE wide ' . join(', ', map { "DROP c$_" } 1 .. 1500) . '; UPDATE wide SET c1599 = $$' . $secret . '$$');
is(scalar @{ $dropped[0]{columns} }, 100, '1,500 of them dropped');
is(columns_of($dropped[0])->{c1599}, '[NAME]', 'and the rest in place');
($record) = stream_of('no columns', 'CREATE TABLE none (); INSERT INTO none DEFAULT VALUES');
is_deeply($record->{columns}, [], 'none at all');

# ---- names ----

my @names = (
	'x' x 63, 'é' x 31, 'quo"te', "apo'strophe", 'back\\slash', "new\nline", "tab\tx", "\x01control", 'שלום',
	'😀', 'select', 'a.b', 'a,b', ' space ', '{}', '%s', '日本語', 'UPPER', '"', '\\', '""', '$1', '--', ';', '/*', '\\u0041');
my $number = 0;
my $sql = '';
my %patterns;

foreach my $name (@names)
{
	my $quoted = '"' . ($name =~ s/"/""/gr) . '"';

	# a table has a type of its name already
	$sql .= <<"SQL";
CREATE SCHEMA $quoted;
CREATE TYPE $quoted."t$number" AS (i int);
CREATE DOMAIN $quoted."${\($name =~ s{"}{""}gr =~ s{^.(?=.{30})}{}r)}_" AS text;
CREATE TABLE $quoted.$quoted ($quoted text PRIMARY KEY, t $quoted."t$number", d $quoted."${\($name =~ s{"}{""}gr =~ s{^.(?=.{30})}{}r)}_");
INSERT INTO $quoted.$quoted VALUES ('k', ROW(1), '$secret');
UPDATE $quoted.$quoted SET $quoted = '$secret';
SQL
	$number++;
}

my @records = stream_of('names', $sql);
is(scalar @records, 2 * @names, 'records of all tables');
foreach my $i (0 .. $#names)
{
	my ($inserted, $updated) = @records[ 2 * $i, 2 * $i + 1 ];

	is_deeply([ $inserted->{schema}, $inserted->{table}, $inserted->{columns}[0]{name}, $inserted->{columns}[2]{value} ],
		[ ($names[$i]) x 3, '[NAME]' ], "name $i");
	is($updated->{identity}[0]{name}, $names[$i], "name $i in the identity");
	like(columns_of($updated)->{ $names[$i] }, qr/^\[NAME\]~/, "name $i, a key");
}

# They can be asked for.
foreach my $i (0 .. $#names)
{
	my $pattern = encode('UTF-8', $names[$i]) =~ s/([\\.,\s*])/\\$1/gr;
	my $quoted = '"' . ($names[$i] =~ s/"/""/gr) . '"';

	next if $pattern =~ /\x01/;
	$node->safe_psql($db, encode('UTF-8', "UPDATE $quoted.$quoted SET d = 'again'; SELECT pg_logical_emit_message(true, '', '')"));
	my @found = of_action('IUD', changes($node, $db, 'sql', [ @options, "add-tables=$pattern.$pattern" ]));
	is(join(' ', map { $_->{table} } @found), $names[$i], "add-tables finds name $i");
}
recv($node, $db, 'walsender', \@options);

# ---- large transactions, spilled to disk ----

$node->safe_psql($db, "CREATE TABLE rows (id int PRIMARY KEY, note text); SELECT pg_drop_replication_slot('spilled')");
create_slot($node, $db, 'spilled');
@records = stream_of('spilled', <<"SQL");
BEGIN;
INSERT INTO rows SELECT i, 'row ' || i || ' of $secret' FROM generate_series(1, 3000) i;
SAVEPOINT a;
INSERT INTO rows SELECT i, 'never $secret' FROM generate_series(5001, 6000) i;
ROLLBACK TO a;
SAVEPOINT b;
UPDATE rows SET note = note || ', twice $secret' WHERE id % 2 = 0;
RELEASE b;
ALTER TABLE rows ADD COLUMN extra text DEFAULT 'extra $secret';
SAVEPOINT c;
INSERT INTO rows SELECT i, 'c $secret' FROM generate_series(3001, 3100) i;
ALTER TABLE rows RENAME note TO remark;
INSERT INTO rows SELECT i, 'd $secret' FROM generate_series(3101, 3200) i;
DELETE FROM rows WHERE id > 3150;
COMMIT;
SQL
is(scalar @records, 3000 + 1500 + 200 + 50, 'every change of a spilled transaction');
my @bad = grep { my $c = columns_of($_); my $note = exists $c->{note} ? $c->{note} : $c->{remark};
	$_->{columns} && $note !~ /^(row \d+ of \[NAME\](, twice \[NAME\])?|[cd] \[NAME\])$/ } @records;
is(scalar @bad, 0, 'redacted') or diag(explain($bad[0]));
is(columns_of($records[-51])->{extra}, 'extra [NAME]', 'a default from the same transaction');
is(columns_of($records[-51])->{remark}, 'd [NAME]', 'a name from the same transaction');
my $spilled = $node->safe_psql($db, "SELECT spill_txns > 0 FROM pg_stat_replication_slots WHERE slot_name = 'walsender'");
is($spilled, 't', 'it was spilled');
$node->append_conf('postgresql.conf', "logical_decoding_work_mem = 64MB\n");
$node->reload;
is_deeply([ of_action('IUD', changes($node, $db, 'spilled', \@options)) ], \@records, 'the same without spilling');

$node->stop;
done_testing();

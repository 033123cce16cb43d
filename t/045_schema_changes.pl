
# Rules hold for what they named, by number and by name, whatever becomes of it.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use Acdat;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_server('schema_changes');
my $db = 'postgres';
my $secret = 'Alice Example';
my @options = ('policy=clean', 'format-version=2');

$node->safe_psql($db, 'CREATE EXTENSION acdat_decoder');
create_policy($node, $db, 'clean', { $secret => '[NAME]' });
create_slot($node, $db, qw(sql walsender));

my $stream = stream($node, $db, 'walsender', \@options);
my $marks = 0;

# Insert and give the record as the running stream and the SQL interface got
# it, which must agree.
sub record_of
{
	my ($sql) = @_;
	my $mark = 'mark ' . ++$marks;

	$node->safe_psql($db, "$sql; SELECT pg_logical_emit_message(true, 'end', '$mark')");
	my @lines = $stream->wait_for(qr/"\Q$mark\E".*"C"/s);
	my ($streamed) = (of_action('I', @lines))[-1];
	my ($fetched) = (of_action('I', changes($node, $db, 'sql', \@options)))[-1];

	is_deeply($streamed, $fetched, "both interfaces agree: $mark");
	return $streamed;
}

sub row_of
{
	return columns_of(record_of(@_));
}

sub make_table
{
	my ($rules) = @_;

	$node->safe_psql($db, <<"SQL");
DROP TABLE IF EXISTS t, s, t_old;
CREATE TABLE t (id int PRIMARY KEY, a text, b text);
DELETE FROM acdat.policy_rules;
SELECT acdat.set_action('clean', 'mask', relation => 't', column_name => 'a', argument => '<a>');
SELECT acdat.publish('clean');
SQL
	is(row_of("INSERT INTO t VALUES (1, 'x', 'y')")->{a}, '<a>', 'before');
	return;
}

# ---- columns ----

make_table();
is_deeply(row_of("ALTER TABLE t RENAME a TO c; INSERT INTO t VALUES (2, 'x', 'y')"),
	{ id => 2, c => '<a>', b => 'y' }, 'a renamed column');
is_deeply(row_of("ALTER TABLE t ADD COLUMN a text; INSERT INTO t VALUES (3, 'x', 'y', 'z')"),
	{ id => 3, c => '<a>', b => 'y', a => '<a>' }, 'and one that was added under its name');

make_table();
is_deeply(
	row_of("BEGIN; ALTER TABLE t RENAME a TO x; ALTER TABLE t RENAME b TO a; ALTER TABLE t RENAME x TO b; COMMIT; INSERT INTO t VALUES (2, 'x', 'y')"),
	{ id => 2, b => '<a>', a => '<a>' }, 'swapped columns are both covered');

make_table();
is_deeply(row_of("ALTER TABLE t DROP COLUMN a, ADD COLUMN a text; INSERT INTO t VALUES (2, 'y', 'x')"),
	{ id => 2, b => 'y', a => '<a>' }, 'a column dropped and added again');
is_deeply(row_of("ALTER TABLE t ALTER COLUMN a TYPE varchar(2); INSERT INTO t VALUES (3, 'y', 'x')"),
	{ id => 3, b => 'y', a => '<a' }, 'of another type');

# ---- tables ----

make_table();
is_deeply(row_of("ALTER TABLE t RENAME TO s; INSERT INTO s VALUES (2, 'x', 'y')"),
	{ id => 2, a => '<a>', b => 'y' }, 'a renamed table');
is_deeply(row_of("CREATE TABLE t (id int, b text, a text); INSERT INTO t VALUES (2, 'y', 'x')"),
	{ id => 2, b => 'y', a => '<a>' }, 'and another under its name');

make_table();
is_deeply(
	row_of("CREATE TABLE s (id int, b text, a text); BEGIN; ALTER TABLE t RENAME TO t_old; ALTER TABLE s RENAME TO t; COMMIT; INSERT INTO t VALUES (3, 'y', 'x')"),
	{ id => 3, b => 'y', a => '<a>' }, 'swapped tables: the new one');
is_deeply(row_of("INSERT INTO t_old VALUES (3, 'x', 'y')"),
	{ id => 3, a => '<a>', b => 'y' }, 'swapped tables: the old one');

make_table();
is_deeply(row_of("DROP TABLE t; CREATE TABLE t (b text, a text, id int); INSERT INTO t VALUES ('y', 'x', 4)"),
	{ id => 4, b => 'y', a => '<a>' }, 'a table dropped and made anew');

make_table();
is_deeply(row_of("CREATE SCHEMA elsewhere; ALTER TABLE t SET SCHEMA elsewhere; INSERT INTO elsewhere.t VALUES (5, 'x', 'y')"),
	{ id => 5, a => '<a>', b => 'y' }, 'a table moved to another schema');
my $record = record_of("ALTER SCHEMA elsewhere RENAME TO \"else where\"; INSERT INTO \"else where\".t VALUES (6, 'x', 'y')");
is($record->{schema}, 'else where', 'a schema renamed under a stream');
is(columns_of($record)->{a}, '<a>', 'with the rule');
$node->safe_psql($db, 'DROP SCHEMA "else where" CASCADE');

make_table();
is_deeply(row_of("BEGIN; INSERT INTO t VALUES (2, 'x', 'y'); ALTER TABLE t RENAME a TO z; ALTER TABLE t ADD COLUMN a text; INSERT INTO t VALUES (3, 'x', '$secret', 'v'); COMMIT"),
	{ id => 3, z => '<a>', b => '[NAME]', a => '<a>' }, 'in the transaction that changes it');

# ---- rules that meet ----

$node->safe_psql($db, <<"SQL");
DROP TABLE t;
CREATE TABLE t (id int PRIMARY KEY, a text, b text);
SELECT acdat.set_action('clean', 'keep', relation => 't', column_name => 'b');
DELETE FROM acdat.policy_rules WHERE relation::oid NOT IN (SELECT oid FROM pg_class);
SELECT acdat.set_action('clean', 'null', relation => 't', column_name => 'a');
SELECT acdat.publish('clean');
SQL
is_deeply(row_of("INSERT INTO t VALUES (1, 'x', 'y')"), { id => 1, a => undef, b => 'y' }, 'two rules');
my $position = log_position($node);
is_deeply(
	row_of("BEGIN; ALTER TABLE t RENAME a TO x; ALTER TABLE t RENAME b TO a; ALTER TABLE t RENAME x TO b; COMMIT; INSERT INTO t VALUES (2, '$secret', '$secret')"),
	{ id => 2 }, 'columns on which two rules meet are withheld');
like(slurp_log($node, $position),
	qr/column "a" of table "public.t" is withheld from slot "walsender".*Two rules of policy "clean" disagree/s,
	'and the log says so');
my ($status, $out, $err) = $node->psql($db, "SELECT acdat.publish('clean')");
is($status, 0, 'published again, names are resolved anew') or diag($err);
like(join(' ', map { $_ // 'null' } values %{ row_of("INSERT INTO t VALUES (3, 'p', 'q')") }), qr/3/, 'and the stream goes on');

# ---- types ----

# What a column's type is made of changes: the plan of the column has to follow.
$node->safe_psql($db, <<'SQL');
DELETE FROM acdat.policy_rules;
SELECT acdat.publish('clean');
CREATE TYPE pair AS (i int, j int);
CREATE TABLE wrapped (id int, p pair);
CREATE DOMAIN pairs AS pair;
CREATE TABLE wrapped_deep (id int, p pairs[]);
CREATE TABLE rowtype (i int);
CREATE TABLE of_rows (id int, r rowtype);
SQL
is(row_of("INSERT INTO wrapped VALUES (1, '(1,2)')")->{p}, '(1,2)', 'a composite type without text');
is(row_of("INSERT INTO wrapped_deep VALUES (1, '{\"(1,2)\"}')")->{p}, '{"(1,2)"}', 'in an array of a domain');
is(row_of("INSERT INTO of_rows VALUES (1, '(1)')")->{r}, '(1)', 'and the row type of a table');
is(row_of("ALTER TYPE pair ADD ATTRIBUTE t text; INSERT INTO wrapped VALUES (2, '(1,2,\"$secret\")')")->{p},
	'[REDACTED]', 'with an attribute added');
is(row_of("INSERT INTO wrapped_deep VALUES (2, ARRAY[ROW(1, 2, '$secret')::pair])")->{p},
	'[REDACTED]', 'in an array of a domain');
is(row_of("ALTER TABLE rowtype ADD COLUMN t text; INSERT INTO of_rows VALUES (2, ROW(1, '$secret'))")->{r},
	'[REDACTED]', 'and a column added');
is(row_of("BEGIN; CREATE TYPE once AS (i int); CREATE TABLE of_once (id int, o once); INSERT INTO of_once VALUES (1, '(1)'); ALTER TYPE once ADD ATTRIBUTE t text; INSERT INTO of_once VALUES (2, ROW(1, '$secret')); COMMIT")->{o},
	'[REDACTED]', 'in the transaction that adds it');
is(row_of("CREATE TYPE mood AS ENUM ('calm'); CREATE TABLE moods (m mood); INSERT INTO moods VALUES ('calm')")->{m},
	'calm', 'an enum');
is(row_of("ALTER TYPE mood RENAME VALUE 'calm' TO '$secret'; INSERT INTO moods VALUES ('$secret')")->{m},
	'[REDACTED]', 'with a label renamed');
is(row_of("ALTER TYPE mood RENAME TO feeling; INSERT INTO moods VALUES ('$secret')")->{m}, '[REDACTED]', 'and the type');

# A rule for a type, by its number and by its name.
$node->safe_psql($db, <<'SQL');
CREATE DOMAIN private AS text;
CREATE TABLE typed (id int, p private);
SELECT acdat.set_action('clean', 'mask', type => 'private', argument => '<p>');
SELECT acdat.publish('clean');
SQL
is(row_of("INSERT INTO typed VALUES (1, 'x')")->{p}, '<p>', 'a rule for a type');
is(row_of("ALTER DOMAIN private RENAME TO hidden; INSERT INTO typed VALUES (2, 'x')")->{p}, '<p>', 'which was renamed');
is(row_of("DROP DOMAIN hidden CASCADE; CREATE DOMAIN private AS varchar(9); ALTER TABLE typed ADD COLUMN p private; INSERT INTO typed VALUES (3, 'x')")->{p},
	'<p>', 'which was dropped and made anew');
$node->safe_psql($db, "DELETE FROM acdat.policy_rules; SELECT acdat.publish('clean')");

# Values that were never written to the row.
$node->safe_psql($db, <<"SQL");
CREATE TABLE defaults (id int PRIMARY KEY);
ALTER TABLE defaults REPLICA IDENTITY FULL;
INSERT INTO defaults VALUES (1), (2);
ALTER TABLE defaults ADD COLUMN late text DEFAULT 'from $secret';
SELECT pg_logical_emit_message(true, 'end', 'defaults');
SQL
$node->safe_psql($db, "UPDATE defaults SET id = 3 WHERE id = 1; DELETE FROM defaults WHERE id = 2; SELECT pg_logical_emit_message(true, 'end', 'done');");
my @lines = $stream->wait_for(qr/"done".*"C"/s);
my ($update) = of_action('U', @lines);
my ($delete) = (of_action('D', grep { !/"identity":\[\]/ } @lines))[-1];
is(columns_of($update)->{late}, 'from [NAME]', 'a default that old rows do not hold');
is(identity_of($delete)->{late}, 'from [NAME]', 'nor their old form');

$stream->stop;
like_none(join("\n", $stream->lines), [$secret], 'nothing came raw');
$node->stop;
done_testing();

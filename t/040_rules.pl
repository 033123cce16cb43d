
# Which rule decides a column, and what actions do to it.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use Acdat;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_server('rules');
my $db = 'postgres';
my $secret = 'Alice Example';

$node->safe_psql($db, <<'SQL');
CREATE EXTENSION acdat_decoder;
CREATE DOMAIN label AS text;
CREATE DOMAIN short_label AS label CHECK (length(VALUE) < 100);
SQL
create_policy($node, $db, 'clean', { $secret => '[NAME]' });
create_slot($node, $db, 'slot');

# Set rules (each the arguments of acdat.set_action after the policy), publish,
# change something, and return the records.
sub rules
{
	my @rules = @_;

	$node->safe_psql($db, join "\n",
		'DELETE FROM acdat.policy_rules;',
		(map { "SELECT acdat.set_action('clean', $_);" } @rules),
		"SELECT acdat.publish('clean', allow_lossy_keys => true);");
	return;
}

sub stream_of
{
	my ($sql) = @_;

	$node->safe_psql($db, $sql);
	return of_action('IUD', changes($node, $db, 'slot', [ 'policy=clean', 'format-version=2' ]));
}

sub row_of
{
	my ($sql) = @_;
	my @records = stream_of($sql);

	return columns_of($records[0]);
}

# ---- precedence ----

$node->safe_psql($db, 'CREATE TABLE t (id int PRIMARY KEY, a text, b text, l label, s short_label, v varchar(20))');
my $number = 0;

sub inserted
{
	$number++;
	return row_of("INSERT INTO t VALUES ($number, '$secret', '$secret', '$secret', '$secret', '$secret')");
}

rules();
is_deeply(inserted(), { id => 1, map { $_ => '[NAME]' } qw(a b l s v) }, 'the default redacts');
rules("'keep', type => 'text'");
is_deeply(inserted(),
	{ id => 2, v => '[NAME]', map { $_ => $secret } qw(a b l s) },
	'a type, and domains over it');
rules("'keep', type => 'text'", "'mask', type => 'label'");
is_deeply(inserted(),
	{ id => 3, v => '[NAME]', a => $secret, b => $secret, l => '[REDACTED]', s => '[REDACTED]' },
	"a domain's own rule comes before that of its base type");
rules("'keep', type => 'text'", "'mask', type => 'label'", "'redact', type => 'short_label'");
is(inserted()->{s}, '[NAME]', 'and that of a domain over a domain first');
rules("'keep', type => 'text'", "'null', column_name => 'a'");
is_deeply(inserted(),
	{ id => 5, a => undef, v => '[NAME]', map { $_ => $secret } qw(b l s) },
	'a column name comes before a type');
rules("'null', column_name => 'a'", "'mask', relation => 't'");
is_deeply(inserted(), { map { $_ => '[REDACTED]' } qw(id a b l s v) }, 'a relation comes before a column name');
rules("'mask', relation => 't'", "'keep', relation => 't', column_name => 'a'",
	"'drop', relation => 't', column_name => 'b'");
is_deeply(inserted(),
	{ a => $secret, map { $_ => '[REDACTED]' } qw(id l s v) },
	'a column of a relation comes first');

# ---- actions ----

rules(
	"'keep', column_name => 'l'",
	"'mask', column_name => 'a', argument => '<hidden>'",
	"'null', column_name => 'b'",
	"'drop', column_name => 's'",
	"'redact', column_name => 'v'");
is_deeply(inserted(),
	{ id => 8, a => '<hidden>', b => undef, l => $secret, v => '[NAME]' },
	'keep, mask, null, drop and redact');
is_deeply(row_of('INSERT INTO t (id) VALUES (100)'),
	{ id => 100, a => undef, b => undef, l => undef, v => undef }, 'null stays null');
my @records = stream_of('UPDATE t SET id = -id WHERE id = 8');
is_deeply(columns_of($records[0]),
	{ id => -8, a => '<hidden>', b => undef, l => $secret, v => '[NAME]' }, 'in updates');
$node->safe_psql($db, 'ALTER TABLE t REPLICA IDENTITY FULL');
@records = stream_of('UPDATE t SET id = 9 WHERE id = -8; DELETE FROM t WHERE id = 9');
is_deeply(identity_of($records[$_]),
	{ id => $_ ? 9 : -8, a => '<hidden>', b => undef, l => $secret, v => '[NAME]' },
	'in old tuples') foreach 0, 1;
my ($object) = parse_lines(
	do { $node->safe_psql($db, "INSERT INTO t VALUES (101, 'x', 'x', 'x', 'x', 'x')"); changes($node, $db, 'slot', ['policy=clean']) });
is_deeply($object->{change}[0]{columnnames}, [qw(id a b l v)], 'a dropped column is not in version 1 either');

rules("'mask', type => 'int4'", "'mask', type => 'bool', argument => 'no'");
is_deeply(row_of('CREATE TABLE n (i int PRIMARY KEY, o bool); INSERT INTO n VALUES (5, true)'),
	{ i => '[REDACTED]', o => 'no' }, 'masks are strings whatever the type');
$node->safe_psql($db, 'DROP TABLE n');

# default actions
foreach my $case ([ 'keep', $secret ], [ 'mask', '[REDACTED]' ], [ 'null', undef ])
{
	my ($action, $expected) = @$case;

	rules("'keep', type => 'int4'");
	$node->safe_psql($db,
		"SELECT acdat.alter_policy('clean', default_action => '$action'), acdat.publish('clean', allow_lossy_keys => true)");
	is(inserted()->{a}, $expected, "default action $action");
}
$node->safe_psql($db, "SELECT acdat.alter_policy('clean', default_action => 'error')");
rules(map { "'redact', relation => 't', column_name => '$_'" } qw(id a b l s v));
is(inserted()->{a}, '[NAME]', 'default action error, all columns decided');
$node->safe_psql($db, "ALTER TABLE t ADD COLUMN fresh text; INSERT INTO t (id, fresh) VALUES (1000, '$secret')");
my $error = changes_fail($node, $db, 'slot', ['policy=clean'],
	qr/policy "clean" does not decide column "fresh" of table "public.t"/, 'a new column stops the stream');
like_none($error, [$secret], 'without its value');
recv_fails($node, $db, 'slot', [ 'policy=clean', 'format-version=2', 'include-transaction=0' ],
	qr/does not decide column "fresh"/, 'in a walsender too');
rules("'redact', relation => 't'");
my ($fresh) = of_action('I', changes($node, $db, 'slot', [ 'policy=clean', 'format-version=2' ]));
is(columns_of($fresh)->{fresh}, '[NAME]', 'until it is decided');
$node->safe_psql($db, "SELECT acdat.alter_policy('clean', default_action => 'redact'); DROP TABLE t;");
rules();

# ---- inheritance and partitions ----

$node->safe_psql($db, <<'SQL');
CREATE TABLE parent (id int, note text, extra text);
CREATE TABLE child (own text) INHERITS (parent);
CREATE TABLE grandchild () INHERITS (child);
CREATE TABLE part (id int, note text, extra text) PARTITION BY RANGE (id);
CREATE TABLE part1 PARTITION OF part FOR VALUES FROM (0) TO (10);
CREATE TABLE part2 (extra text, junk int, note text, id int);
ALTER TABLE part2 DROP COLUMN junk;
ALTER TABLE part ATTACH PARTITION part2 FOR VALUES FROM (10) TO (20);
CREATE TABLE part3 PARTITION OF part FOR VALUES FROM (20) TO (30) PARTITION BY RANGE (id);
CREATE TABLE part31 PARTITION OF part3 FOR VALUES FROM (20) TO (30);
SQL
rules("'mask', relation => 'parent', column_name => 'note'", "'mask', relation => 'part', column_name => 'note'",
	"'drop', relation => 'part3', column_name => 'extra'");
is_deeply(row_of("INSERT INTO grandchild VALUES (1, 'x', '$secret', '$secret')"),
	{ id => 1, note => '[REDACTED]', extra => '[NAME]', own => '[NAME]' }, 'a grandchild inherits a rule');
is_deeply(row_of("INSERT INTO part VALUES (1, 'x', '$secret')"),
	{ id => 1, note => '[REDACTED]', extra => '[NAME]' }, 'a partition');
is_deeply(row_of("INSERT INTO part VALUES (11, 'x', '$secret')"),
	{ id => 11, note => '[REDACTED]', extra => '[NAME]' }, 'one with another order of columns');
is_deeply(row_of("INSERT INTO part VALUES (21, 'x', '$secret')"),
	{ id => 21, note => '[REDACTED]' }, 'one of a partition');
$node->safe_psql($db, 'DROP TABLE grandchild');
rules("'mask', relation => 'parent', column_name => 'note'", "'keep', relation => 'child', column_name => 'note'");
is(row_of("INSERT INTO child VALUES (1, 'x', 'y', 'z')")->{note}, 'x', "a table's own rule comes before an inherited one");

# Attached, detached and made a child while a stream runs.
rules("'mask', relation => 'part', column_name => 'note'", "'mask', relation => 'parent'");
my $stream = stream($node, $db, 'slot', [ 'policy=clean', 'format-version=2' ]);
$node->safe_psql($db, "CREATE TABLE late (id int, note text, extra text); INSERT INTO late VALUES (31, 'one', 'x')");
$stream->wait_for(qr/"one".*"C"/s);
$node->safe_psql($db, "ALTER TABLE part ATTACH PARTITION late FOR VALUES FROM (30) TO (40); INSERT INTO part VALUES (32, 'two', 'attached')");
$stream->wait_for(qr/"attached".*"C"/s);
$node->safe_psql($db, "ALTER TABLE part DETACH PARTITION late; INSERT INTO late VALUES (33, 'three', 'x')");
$stream->wait_for(qr/"three".*"C"/s);
$node->safe_psql($db, "ALTER TABLE late INHERIT parent; INSERT INTO late VALUES (34, 'four', 'x'); INSERT INTO part1 VALUES (1, 'five', 'end')");
$stream->wait_for(qr/"end".*"C"/s);
is_deeply([ values_of('note', of_action('I', $stream->lines)) ],
	[ 'one', '[REDACTED]', 'three', '[REDACTED]', '[REDACTED]' ], 'attached, detached, made a child');

# An ancestor takes a name that a rule has: its children follow.
$node->safe_psql($db, <<"SQL");
CREATE TABLE fresh (id int, note text, extra text) PARTITION BY RANGE (id);
CREATE TABLE fresh1 PARTITION OF fresh FOR VALUES FROM (0) TO (10);
INSERT INTO fresh VALUES (1, 'before', 'x');
SQL
$stream->wait_for(qr/"before".*"C"/s);
$node->safe_psql($db, "ALTER TABLE part RENAME TO part_old; ALTER TABLE fresh RENAME TO part; INSERT INTO part VALUES (2, 'swapped', 'swap done')");
$stream->wait_for(qr/"swap done".*"C"/s);
is((values_of('note', of_action('I', $stream->lines)))[-1],
	'[REDACTED]', 'partitions of a table that took the name of another');

# A parent becomes a child of a table with rules: its children follow.
$node->safe_psql($db, <<"SQL");
CREATE TABLE above (id int, note text);
CREATE TABLE middle (id int, note text);
CREATE TABLE below (extra text) INHERITS (middle);
SELECT acdat.set_action('clean', 'mask', relation => 'above'), acdat.publish('clean');
INSERT INTO below VALUES (1, 'before', 'not yet');
SQL
$stream->wait_for(qr/"not yet".*"C"/s);
$node->safe_psql($db, "ALTER TABLE middle INHERIT above; INSERT INTO below VALUES (2, 'after', 'x'); SELECT pg_logical_emit_message(true, 'end', 'grown')");
$stream->wait_for(qr/"grown".*"C"/s);
is((values_of('note', of_action('I', $stream->lines)))[-1],
	'[REDACTED]', 'children of a table that was made a child');
$stream->stop;
changes($node, $db, 'slot', ['policy=clean']);

# ---- generated columns ----

rules();
$node->safe_psql($db, <<'SQL');
CREATE TABLE g (id int PRIMARY KEY, name text, code text, plain text,
	lowered text GENERATED ALWAYS AS (lower(name)) STORED,
	hashed text GENERATED ALWAYS AS (md5(name || coalesce(code, ''))) STORED,
	size int GENERATED ALWAYS AS (length(name)) STORED,
	words tsvector GENERATED ALWAYS AS (to_tsvector('simple', name)) STORED,
	harmless text GENERATED ALWAYS AS (upper(plain)) STORED);
SQL
is_deeply(row_of("INSERT INTO g VALUES (1, '$secret', 'x', 'y')"),
	{ id => 1, name => '[NAME]', code => 'x', plain => 'y', lowered => '[REDACTED]', hashed => '[REDACTED]',
		size => '[REDACTED]', words => '[REDACTED]', harmless => 'Y' },
	'generated columns are masked where a source had a match');
my $row = row_of("INSERT INTO g VALUES (2, 'nobody', 'x', 'y')");
is_deeply([ @$row{qw(lowered size harmless)} ], [ 'nobody', 6, 'Y' ], 'and else are not');
rules("'drop', relation => 'g', column_name => 'code'", "'mask', relation => 'g', column_name => 'name'");
$row = row_of("INSERT INTO g VALUES (3, 'nobody', 'x', 'y')");
is_deeply($row,
	{ id => 3, name => '[REDACTED]', plain => 'y', lowered => '[REDACTED]', size => '[REDACTED]', words => '[REDACTED]', harmless => 'Y' },
	"they take the strictest action of their sources");
rules("'mask', relation => 'g', column_name => 'name'", "'keep', relation => 'g', column_name => 'lowered'");
is(row_of("INSERT INTO g VALUES (4, 'nobody', 'x', 'y')")->{lowered}, 'nobody', 'but for a rule of their own');
rules();

# A source that is TOASTed and unchanged could hold a match.
$node->safe_psql($db, <<"SQL");
CREATE TABLE big (id int PRIMARY KEY, n int, body text, lowered text GENERATED ALWAYS AS (lower(substr(body, 1, 20))) STORED);
ALTER TABLE big ALTER COLUMN body SET STORAGE EXTERNAL;
INSERT INTO big VALUES (1, 1, '$secret' || repeat('x', 5000));
SQL
changes($node, $db, 'slot', ['policy=clean']);
$row = row_of('UPDATE big SET n = 2');
is_deeply($row, { id => 1, n => 2, lowered => '[REDACTED]' }, 'a source that was not looked at');

# In a key it is masked always: the old row has no sources to look at.
my @records = stream_of(<<'SQL');
CREATE TABLE gk (name text, code text GENERATED ALWAYS AS (lower(name)) STORED PRIMARY KEY);
INSERT INTO gk VALUES ('nobody');
DELETE FROM gk;
SQL
like(columns_of($records[0])->{code}, qr/\A\[REDACTED\]~[0-9a-f]{16}\z/, 'a generated key');
is_deeply(identity_of($records[1]), { code => columns_of($records[0])->{code} }, 'has the same form in the old row');

$node->stop;
done_testing();

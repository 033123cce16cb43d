
# Secrets go in everywhere; then they are looked for everywhere outside.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use Acdat;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_server('canary', conf => quiet_log() . "track_functions = all\nmax_prepared_transactions = 5\nlogical_decoding_work_mem = 64kB\n");
my $db = 'postgres';

# every secret has this in it, and nothing else has
my $core = 'Zanzibar';
my @secrets = map { "$core $_" } qw(one two three);
my $term = "$core one";

$node->safe_psql($db, 'CREATE EXTENSION acdat_decoder');
create_policy($node, $db, 'clean', { $core => '[X]' });
$node->safe_psql($db, <<'SQL');
CREATE ROLE reader LOGIN REPLICATION;
CREATE TYPE mood AS ENUM ('fine', 'Zanzibar one', 'doomed Zanzibar');
CREATE TYPE pair AS (a text, b int);
CREATE TYPE span AS RANGE (subtype = text);

-- a type whose output fails and says on what
CREATE TYPE leaky;
CREATE FUNCTION leaky_in(cstring) RETURNS leaky LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION leaky_out(leaky) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'text_regclass';
CREATE TYPE leaky (INPUT = leaky_in, OUTPUT = leaky_out);
CREATE TYPE leaky_pair AS (a text, b leaky);

CREATE TABLE every_type (id int PRIMARY KEY, t text, v varchar(40), c char(40), n name, ta text[], j json, jb jsonb,
	p pair, r span, x text, m mood, ts tsvector, tq tsquery, secret_default text DEFAULT 'by default Zanzibar two',
	lowered text GENERATED ALWAYS AS (lower(t)) STORED, hashed text GENERATED ALWAYS AS (md5(t)) STORED);
ALTER TABLE every_type REPLICA IDENTITY FULL;
CREATE TABLE keyed (k text PRIMARY KEY, u text UNIQUE, n int);
CREATE TABLE keyed_c (k char(40), a text[], n int, PRIMARY KEY (k, a));
CREATE TABLE failing (id int PRIMARY KEY, before text, l leaky, la leaky[], lp leaky_pair, after text);
CREATE TABLE doomed (id int PRIMARY KEY, m mood, note text);
CREATE TABLE big (id int PRIMARY KEY, n int, body text);
CREATE TABLE part (id int, note text) PARTITION BY RANGE (id);
CREATE TABLE part1 PARTITION OF part FOR VALUES FROM (0) TO (1000);
CREATE DOMAIN guarded AS text DEFAULT 'domain Zanzibar' CHECK (VALUE <> 'Zanzibar check');
CREATE TABLE defaults (id int PRIMARY KEY, a text DEFAULT 'Zanzibar ' || 'one', b text[] DEFAULT ARRAY['Zanzibar two'],
	g guarded DEFAULT 'a Zanzibar', m mood DEFAULT 'Zanzibar one', p pair DEFAULT ROW('Zanzibar one', 1),
	e text DEFAULT E'Zan\\x7aibar', i int DEFAULT length('Zanzibar'), kept text DEFAULT 'x');
SQL
create_slot($node, $db, qw(one two sql));
$node->safe_psql($db, "SELECT pg_create_logical_replication_slot('prepared', 'acdat_decoder', false, true)");

# Everything that can hold a secret, in transactions of several kinds.
sub make_changes
{
	my ($base) = @_;

	return <<"SQL";
INSERT INTO every_type (id, t, v, c, n, ta, j, jb, p, r, x, m, ts, tq) VALUES ($base, 'in Zanzibar one', 'Zanzibar one', 'Zanzibar two',
	'Zanzibar three', ARRAY['Zanzibar one'], '{"a": "Zanzibar one"}', '{"Zanzibar two": 1}', ROW('Zanzibar one', 1),
	span('Zanzibar', 'b'), 'x', 'Zanzibar one', 'Zanzibar one', 'Zanzibar & one');
UPDATE every_type SET t = 'to Zanzibar two', ta = NULL;
BEGIN;
SAVEPOINT a;
UPDATE every_type SET x = 'Zanzibar one';
ROLLBACK TO a;
UPDATE every_type SET x = 'Zanzibar two';
DELETE FROM every_type;
COMMIT;
INSERT INTO keyed VALUES ('Zanzibar one', 'Zanzibar two', 1);
UPDATE keyed SET n = 2;
UPDATE keyed SET k = 'Zanzibar three';
DELETE FROM keyed;
INSERT INTO keyed_c VALUES ('Zanzibar one', ARRAY['Zanzibar two'], 1);
UPDATE keyed_c SET k = 'Zanzibar three';
DELETE FROM keyed_c;
INSERT INTO failing VALUES ($base, 'Zanzibar one', 'Zanzibar_two', ARRAY['Zanzibar_two']::leaky[], ROW('Zanzibar one', 'Zanzibar_two'), 'Zanzibar three');
INSERT INTO failing (id, after) VALUES ($base + 1, 'Zanzibar one');
UPDATE failing SET after = 'Zanzibar again';
DELETE FROM failing;
INSERT INTO big VALUES ($base, 1, repeat('Zanzibar one and more ', 2000));
UPDATE big SET n = 2;
UPDATE big SET body = repeat('more of Zanzibar ', 3000);
DELETE FROM big;
INSERT INTO part VALUES ($base, 'Zanzibar one');
INSERT INTO defaults (id) VALUES ($base);
BEGIN;
INSERT INTO keyed SELECT 'Zanzibar ' || i, 'Zanzibar unique ' || i, i FROM generate_series(1, 400) i;
SAVEPOINT s;
DELETE FROM keyed;
SELECT pg_logical_emit_message(true, 'in Zanzibar', 'streamed Zanzibar');
COMMIT;
BEGIN;
INSERT INTO keyed VALUES ('Zanzibar prepared', 'x', 1);
PREPARE TRANSACTION 'Zanzibar gid $base';
COMMIT PREPARED 'Zanzibar gid $base';
BEGIN;
DELETE FROM keyed;
PREPARE TRANSACTION 'Zanzibar other gid $base';
ROLLBACK PREPARED 'Zanzibar other gid $base';
DELETE FROM keyed;
SELECT pg_logical_emit_message(true, 'Zanzibar prefix', 'content Zanzibar');
SELECT pg_logical_emit_message(false, 'Zanzibar prefix', 'content Zanzibar');
BEGIN;
INSERT INTO keyed VALUES ('Zanzibar rolled back', 'x', 1);
ROLLBACK;
SQL
}
$node->safe_psql($db, make_changes(1));

# An enum label that is gone makes the output of a value fail.
$node->safe_psql($db, "INSERT INTO doomed VALUES (1, 'doomed Zanzibar', 'note Zanzibar one')");
$node->safe_psql($db, "DELETE FROM pg_enum WHERE enumlabel = 'doomed Zanzibar'");
$node->safe_psql($db, "INSERT INTO doomed SELECT 2, m, 'Zanzibar two' FROM doomed");
$node->safe_psql($db, 'ANALYZE');

# What the failing output function says holds the value.
my ($status, $ignored, $said) = $node->psql($db, "SELECT 'Zanzibar_two'::leaky");
like($said, qr/relation "$core/i, 'the type tells its values');

# ---- what comes out ----

$node->append_conf('postgresql.conf', "log_min_messages = debug5\nlog_error_verbosity = verbose\nlog_replication_commands = on\n");
$node->restart;
my $position = log_position($node);

my $stream = stream($node, $db, 'one', [ 'policy=clean', 'format-version=2' ]);
my %out;
$out{'version 2, walsender'} = join "\n", $stream->wait_for_count(qr/"table":"doomed"/, 2);
$out{'version 1, walsender'} = join "\n", recv($node, $db, 'two', ['policy=clean']);
$out{'version 2, SQL'} = join "\n", changes($node, $db, 'sql', [ 'policy=clean', 'format-version=2' ], peek => 1);
$out{'version 1, SQL'} = join "\n", changes($node, $db, 'sql', ['policy=clean'], peek => 1);
my @every_option = map { "$_=1" } qw(include-default include-not-null include-domain-data-type include-column-positions
  include-type-oids include-typmod include-pk include-redactions include-generation include-origin include-xids
  include-timestamp include-lsn);
$out{"version $_, every option"} = join "\n",
  changes($node, $db, 'sql', [ 'policy=clean', "format-version=$_", @every_option ], peek => 1) foreach 1, 2;
$out{'streamed and prepared'} = join "\n",
  changes($node, $db, 'prepared', [ 'policy=clean', 'format-version=2', 'streaming=1', 'two-phase=1', @every_option ], peek => 1);
$out{'streamed and prepared, walsender'} = join "\n",
  recv($node, $db, 'prepared', [ 'policy=clean', 'format-version=2', 'streaming=1', 'two-phase=1' ]);
$out{"version 2, SQL, scan = 'all'"} = do {
	$node->safe_psql($db, "SELECT acdat.alter_policy('clean', scan => 'all'), acdat.publish('clean')");
	join "\n", changes($node, $db, 'sql', [ 'policy=clean', 'format-version=2' ]);
};
foreach my $way (sort keys %out)
{
	cmp_ok(scalar(parse_lines(split /\n/, $out{$way})), '>', 20, "$way: there is output");
	like($out{$way}, qr/\[X\]/, "$way: redacted");
	unlike($out{$way}, qr/$core/i, "$way: no secret");
	unlike($out{$way}, qr/zanz/i, "$way: not even a part");
}

like($out{'streamed and prepared'}, qr/"gid":"\[X\] gid 1~[0-9a-f]{16}"/, 'identifiers of prepared transactions are redacted');
ok($node->poll_query_until($db, "SELECT stream_txns > 0 FROM pg_stat_replication_slots WHERE slot_name = 'prepared'"),
	'transactions were streamed');

my %digest = map { $_ => $node->safe_psql($db, "SELECT md5('$_')") } ('in Zanzibar one', 'to Zanzibar two');
like_none(join("\n", values %out), [ values %digest ], 'no digest of a secret in a generated column');

my @failed = grep { $_->{table} eq 'failing' } of_action('IU', split /\n/, $out{'version 2, walsender'});
is_deeply(columns_of($failed[0]),
	{ id => 1, before => '[X] one', l => '[REDACTED]', la => '[REDACTED]', lp => '[REDACTED]', after => '[X] three' },
	'values that cannot be output are masked, their row comes');
my @doomed = map { columns_of($_) } grep { $_->{table} eq 'doomed' } of_action('I', split /\n/, $out{'version 2, walsender'});
is_deeply($doomed[1], { id => 2, m => '[REDACTED]', note => '[X] two' }, 'so is an enum without its label');

# ---- errors ----

# every error that can be had while secrets are at hand
my $errors = '';
foreach my $options ([], ['policy=cleen'], [ 'policy=clean', 'no-such=1' ], ['policy=none'])
{
	my ($status, $out, $err) = Acdat::recv_raw($node, $db, 'two', $options, user => 'reader');

	isnt($status, 0, "error with @$options");
	$errors .= "$out$err";
}
$node->safe_psql($db, make_changes(100));
$node->safe_psql($db, "SELECT acdat.alter_policy('clean', default_action => 'error'), acdat.publish('clean')");
foreach my $version (1, 2)
{
	my ($status, $out, $err) = Acdat::recv_raw($node, $db, 'two', [ 'policy=clean', "format-version=$version" ]);

	isnt($status, 0, "error of an undecided column, version $version");
	$errors .= "$out$err";
}
$node->safe_psql($db, "INSERT INTO keyed VALUES ('$core', '$core', 1)");
$errors .= $stream->wait_for_end;
like($errors, qr/does not decide column/, 'errors were seen');
unlike($errors, qr/$core/i, 'no secret in any');

# ---- the log, statistics, and what roles may read ----

my $log = slurp_log($node, $position);
cmp_ok(length $log, '>', 50_000, 'the log is detailed');
like($log, qr/DEBUG:/, 'at the lowest level');
like($log, qr/masked a value that could not be output.*Column "l" of table "public.failing"/s, 'it tells of failures');
like($log, qr/LOG: .*decoding on slot "\w+" ended.*for failing output: [1-9]/s, 'and counts them');
unlike($log, qr/$core/i, 'no secret in it');

my @views = split /\n/, $node->safe_psql($db,
	"SELECT quote_ident(relname) FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind = 'v' AND relname ~ '^pg_stat' AND relname !~ '^pg_stats' ORDER BY 1");
cmp_ok(scalar @views, '>', 20, 'there are views of statistics');
unlike($node->safe_psql($db, join ";\n", map { "SELECT * FROM $_" } @views), qr/$core/i, 'no secret in them');
unlike(
	$node->safe_psql($db, "ANALYZE; SELECT * FROM pg_stats WHERE schemaname = 'acdat'; SELECT * FROM pg_stats_ext"),
	qr/$core/i, 'nor in the statistics of the extension');
unlike($node->safe_psql($db, 'SELECT * FROM pg_replication_slots; SELECT * FROM pg_stat_replication_slots'), qr/$core/i, 'nor with slots');

$node->stop;
done_testing();

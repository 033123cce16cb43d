
# Without a policy that is published and whole, nothing is emitted.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use Acdat;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_server('fail_closed');
my $secret = 'Alice Example';

$node->safe_psql('postgres', 'CREATE DATABASE bare');
$node->safe_psql('postgres', 'CREATE EXTENSION acdat_decoder; CREATE TABLE t (id int PRIMARY KEY, note text);');
create_policy($node, 'postgres', 'clean', { $secret => '[NAME]' });
$node->safe_psql('bare', 'CREATE TABLE t (id int PRIMARY KEY, note text)');
create_slot($node, 'postgres', qw(slot));
create_slot($node, 'bare', qw(bare_slot));
$node->safe_psql($_, "INSERT INTO t VALUES (1, 'for $secret')") foreach qw(postgres bare);

# Both ways out refuse, and for the same reason.
sub refused
{
	my ($options, $message, $name, %more) = @_;
	my $database = $more{database} || 'postgres';
	my $slot = $more{slot} || 'slot';

	changes_fail($node, $database, $slot, [ @$options, 'format-version=2' ], $message, "$name: SQL");
	recv_fails($node, $database, $slot, $options, $message, "$name: walsender");
}

sub emitted
{
	my ($name, $expected) = @_;
	my @records = of_action('I',
		changes($node, 'postgres', 'slot', [ 'policy=clean', 'format-version=2', 'add-tables=public.t' ], peek => 1));

	is_deeply([ values_of('note', @records) ], [$expected], $name);
}

emitted('with a policy', 'for [NAME]');

# ---- no such policy ----

refused([], qr/no policy was chosen.*Give the option "policy"/s, 'no policy');
refused(['policy=claen'], qr/policy "claen" is not published/, 'unknown policy');
refused(['policy=CLEAN'], qr/policy "CLEAN" is not published/, 'policy in other case');
$node->safe_psql('postgres', "SELECT acdat.create_policy('draft', 'clean')");
refused(['policy=draft'], qr/policy "draft" is not published/, 'policy never published');
$node->safe_psql('postgres', "SELECT acdat.publish('draft'), acdat.unpublish('draft')");
refused(['policy=draft'], qr/policy "draft" is not published/, 'unpublished policy');
$node->safe_psql('postgres', "SELECT acdat.publish('draft'), acdat.drop_policy('draft')");
refused(['policy=draft'], qr/policy "draft" is not published/, 'dropped policy');
refused(['policy=clean'], qr/extension "acdat_decoder" is not installed in this database/,
	'extension never installed', database => 'bare', slot => 'bare_slot');
refused([], qr/no policy was chosen/, 'no policy, no extension',
	database => 'bare', slot => 'bare_slot');

# A table of that name that is not the extension's counts for nothing.
$node->safe_psql('bare', <<'SQL');
CREATE SCHEMA acdat;
CREATE TABLE acdat.published (kind "char", key bytea, part int, data bytea, PRIMARY KEY (kind, key, part))
	WITH (user_catalog_table = true);
INSERT INTO acdat.published VALUES ('p', 'clean', 0, 'x'), ('d', '', 0, '\x00000000' || 'none'::bytea);
SQL
refused(['policy=clean'], qr/extension "acdat_decoder" is not installed in this database/,
	'a table that only looks like ours', database => 'bare', slot => 'bare_slot');
refused([], qr/no policy was chosen/, 'a binding in a table that only looks like ours',
	database => 'bare', slot => 'bare_slot');

# ---- damage ----

# Damage what is published, look, and publish anew.
sub damaged
{
	my ($sql, $message, $name) = @_;

	$node->safe_psql('postgres', 'CREATE TABLE saved (LIKE acdat.published INCLUDING STORAGE); INSERT INTO saved SELECT * FROM acdat.published;');
	$node->safe_psql('postgres', $sql);
	refused(['policy=clean'], $message, $name);
	$node->safe_psql('postgres',
		'DELETE FROM acdat.published; INSERT INTO acdat.published SELECT * FROM saved; DROP TABLE saved;');
}

# a machine of several chunks
$node->safe_psql('postgres',
	"SELECT acdat.add_terms('clean', ARRAY(SELECT 'term number ' || i || ' of many' FROM generate_series(1, 2000) i));"
	  . " SELECT acdat.publish('clean')");
cmp_ok(
	$node->safe_psql('postgres', "SELECT count(*) FROM acdat.published WHERE kind = 'm'"),
	'>', 5, 'a machine has several chunks');
my $corrupt = qr/corrupt|checksum is wrong/;
my $flip = 'set_byte(data, octet_length(data) / 2, 255 - get_byte(data, octet_length(data) / 2))';

damaged("DELETE FROM acdat.published WHERE kind = 'm' AND part = 3",
	qr/published machine of dictionary "clean" is corrupt/, 'a chunk missing in the middle');
damaged("DELETE FROM acdat.published p WHERE kind = 'm' AND part = (SELECT max(part) FROM acdat.published m WHERE m.key = p.key)",
	qr/published machine of dictionary "clean" is corrupt/, 'the last chunk missing');
damaged("DELETE FROM acdat.published WHERE kind = 'm'",
	qr/published machine of dictionary "clean" is corrupt/, 'a machine missing');
damaged("UPDATE acdat.published SET data = $flip WHERE kind = 'm' AND part = 2",
	$corrupt, 'a byte changed in a machine');
damaged("UPDATE acdat.published SET data = substr(data, 2) WHERE kind = 'm' AND part = 2",
	$corrupt, 'a chunk too short');
damaged("UPDATE acdat.published SET part = part + 1000 WHERE kind = 'm' AND part = 2",
	$corrupt, 'chunks out of order');
damaged("UPDATE acdat.published SET data = (SELECT data FROM acdat.published WHERE kind = 'm' AND part = 4) WHERE kind = 'm' AND part = 2",
	$corrupt, 'a chunk twice');
damaged("UPDATE acdat.published SET data = $flip WHERE kind = 'g'",
	qr/published form of policy "clean" is corrupt/, 'a byte changed in a body');
damaged("DELETE FROM acdat.published WHERE kind = 'g'",
	qr/published form of policy "clean" is corrupt/, 'a body missing');
damaged("UPDATE acdat.published SET data = substr(data, 1, 10) WHERE kind = 'g'",
	qr/published form of policy "clean" is corrupt/, 'a body cut');
damaged("UPDATE acdat.published SET data = set_byte(data, 0, 0) WHERE kind = 'p'",
	$corrupt, 'a header without its magic');
damaged("UPDATE acdat.published SET data = set_byte(data, 4, 99) WHERE kind = 'p'",
	$corrupt, 'a header of a later version');
damaged("UPDATE acdat.published SET data = '' WHERE kind = 'p'", $corrupt, 'an empty header');
damaged("UPDATE acdat.published SET data = NULL WHERE kind = 'p'", $corrupt, 'a null header');
damaged("UPDATE acdat.published SET data = set_byte(data, 8, get_byte(data, 8) + 1) WHERE kind = 'p'",
	$corrupt, 'a header that names another generation');
damaged("INSERT INTO acdat.published VALUES ('r', 'somebody', 0, '\\x00')",
	qr/a binding in acdat.published is corrupt/, 'a binding that cannot be read');
emitted('after all of this', 'for [NAME]');

# Publishing repairs.
$node->safe_psql('postgres', "DELETE FROM acdat.published WHERE kind = 'm' AND part = 3");
refused(['policy=clean'], $corrupt, 'before a repair');
$node->safe_psql('postgres', "SELECT acdat.publish('clean')");
emitted('published again', 'for [NAME]');

# ---- policy "none" ----

$node->safe_psql('postgres', 'CREATE ROLE reader LOGIN REPLICATION');
my ($record) = of_action('I',
	changes($node, 'postgres', 'slot', [ 'policy=none', 'format-version=2' ], peek => 1));
is(columns_of($record)->{note}, "for $secret", 'a superuser may decode without a policy');
recv_fails($node, 'postgres', 'slot', ['policy=none'],
	qr/must be superuser to decode without a policy/, 'nobody else may', user => 'reader');
my ($status, $out, $err) = $node->psql('postgres',
	"SET SESSION AUTHORIZATION reader; SELECT data FROM pg_logical_slot_get_changes('slot', NULL, NULL, 'policy', 'none')");
isnt($status, 0, 'nor through SQL');
like($err, qr/must be superuser to decode without a policy/, 'with the same error');
($status, $out, $err) = $node->psql('postgres',
	"SET ROLE reader; SELECT data FROM pg_logical_slot_peek_changes('slot', NULL, NULL, 'policy', 'none')");
is($status, 0, 'it is the session that counts, not the role');
($status, $out, $err) = $node->psql('postgres', "SELECT acdat.create_policy('none')");
like($err, qr/policy name "none" is reserved/, 'no policy has that name');

# ---- settings of the client ----

my @rows = (
	"INSERT INTO settings VALUES ('2024-03-04', '2024-03-04 05:06:07+00', '1 day 02:03:04', '\\xff00', 0.1, 1234.5, 'settings'::regclass, '(0.123456789012345,1)')");
$node->safe_psql('postgres',
	'CREATE TABLE settings (d date, z timestamptz, i interval, b bytea, f float4, m money, r regclass, p point)');
$node->safe_psql('postgres', $_) foreach @rows;
my @options = ('policy=clean', 'format-version=2', 'add-tables=public.settings', 'include-timestamp=1');
my @plain = changes($node, 'postgres', 'slot', \@options, peek => 1);
my %other = (
	DateStyle => 'German',
	TimeZone => 'UTC-5',
	IntervalStyle => 'iso_8601',
	bytea_output => 'escape',
	extra_float_digits => '-10',
	quote_all_identifiers => 'on',
	search_path => 'pg_catalog');
is_deeply(
	[ changes($node, 'postgres', 'slot', \@options, peek => 1,
			before => join ';', map { "SET $_ = '$other{$_}'" } sort keys %other) ],
	\@plain, 'settings of the session change nothing');
$node->safe_psql('postgres', "ALTER ROLE reader SET $_ = '$other{$_}'") foreach sort keys %other;
($record) = of_action('I', @plain);
foreach my $case (
	[ 'settings of the role', '' ],
	[ 'options of the client', join ' ', map { "-c $_=$other{$_}" } sort keys %other ],
	[ 'placeholders', '-c acdat.policy=none -c acdat_decoder.policy=none' ])
{
	my ($name, $client_options) = @$case;
	create_slot($node, 'postgres', 'fresh');
	$node->safe_psql('postgres', $_) foreach @rows;
	my ($received) = of_action('I',
		recv($node, 'postgres', 'fresh', \@options, user => 'reader', client_options => $client_options));
	is_deeply($received->{columns}, $record->{columns}, "$name change nothing");
	like($received->{timestamp}, qr/^\d{4}-.*\+00$/, "$name do not change timestamps");
	$node->safe_psql('postgres', "SELECT pg_drop_replication_slot('fresh')");
}

# ---- the extension goes ----

# Slots have to be past the last change of acdat.published by then: the
# server cannot decode changes of a user catalog table that is gone.
create_slot($node, 'postgres', 'late');
$node->safe_psql('postgres', "SELECT acdat.publish('clean')");
changes($node, 'postgres', 'slot', ['policy=clean']);
$node->safe_psql('postgres', "INSERT INTO t VALUES (2, 'for $secret'); DROP EXTENSION acdat_decoder;");
refused(['policy=clean'], qr/extension "acdat_decoder" is not installed in this database/, 'extension dropped');
refused([], qr/no policy was chosen/, 'extension dropped, no policy');
$node->safe_psql('postgres', 'CREATE EXTENSION acdat_decoder');
refused(['policy=clean'], qr/policy "clean" is not published/, 'extension made anew');
create_policy($node, 'postgres', 'clean', { $secret => '[PERSON]' });
is_deeply(
	[ values_of('note', of_action('I',
		changes($node, 'postgres', 'slot', [ 'policy=clean', 'format-version=2', 'add-tables=public.t' ]))) ],
	['for [PERSON]'],
	'extension and policy made anew: older changes are redacted');

# One that is not is stuck, with an error and without output, until it is advanced.
changes_fail($node, 'postgres', 'late', [ 'policy=clean' ],
	qr/could not find pg_class entry/, 'a slot that was not past it');
$node->safe_psql('postgres', "SELECT pg_replication_slot_advance('late', pg_current_wal_lsn())");
is(scalar changes($node, 'postgres', 'late', ['policy=clean']), 0, 'until it is advanced');

# While a stream runs.
my $stream = stream($node, 'postgres', 'slot', [ 'policy=clean', 'format-version=2' ]);
$node->safe_psql('postgres', "INSERT INTO t VALUES (3, 'one $secret')");
$stream->wait_for(qr/one \[PERSON\].*"C"/s);
$node->safe_psql('postgres', "DROP EXTENSION acdat_decoder; INSERT INTO t VALUES (4, 'two $secret');");
like($stream->wait_for_end, qr/ERROR: .*(was dropped|could not find pg_class entry)/, 'a stream ends when the extension goes');
like_none(join("\n", $stream->lines), [ $secret, 'two' ], 'and emits nothing more');

$node->stop;
done_testing();

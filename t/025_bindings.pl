
# Bindings of slots, roles and the database, and the names of other plugins.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use Acdat;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_server('bindings');
my $db = 'postgres';
my $secret = 'Alice Example';

$node->safe_psql($db, <<'SQL');
CREATE EXTENSION acdat_decoder;
CREATE TABLE t (id int PRIMARY KEY, note text);
CREATE ROLE bound LOGIN REPLICATION;
CREATE ROLE free LOGIN REPLICATION;
SQL
create_policy($node, $db, $_, { $secret => "<$_>" }) foreach qw(by_slot by_role by_database asked);
create_slot($node, $db, qw(slot other));
$node->safe_psql($db, "INSERT INTO t VALUES (1, '$secret')");

# The note as a role gets it from a slot, without consuming it.
sub note_of
{
	my ($role, $slot, @options) = @_;
	my $list = join '', map { my ($n, $v) = split /=/; ", '$n', '$v'" } @options;
	my $out = $node->safe_psql($db,
		"SET SESSION AUTHORIZATION $role; SELECT data FROM pg_logical_slot_peek_changes('$slot', NULL, NULL, 'format-version', '2'$list)");
	my ($record) = of_action('I', split /\n/, $out);

	return columns_of($record)->{note};
}

sub refused
{
	my ($role, $slot, $policy, $name) = @_;

	recv_fails($node, $db, $slot, ["policy=$policy"], qr/policy "$policy" may not be used here/,
		$name, user => $role);
}

# ---- which binding counts ----

is(note_of('free', 'slot', 'policy=asked'), '<asked>', 'without bindings the option decides');
$node->safe_psql($db, "SELECT acdat.bind_database('by_database')");
is(note_of('free', 'slot'), '<by_database>', 'the database is bound');
is(note_of('postgres', 'slot'), '<by_database>', 'for superusers too');
$node->safe_psql($db, "SELECT acdat.attach('bound', 'by_role')");
is(note_of('bound', 'slot'), '<by_role>', 'the role comes before the database');
is(note_of('free', 'slot'), '<by_database>', 'only that role');
$node->safe_psql($db, "SELECT acdat.bind_slot('slot', 'by_slot')");
is(note_of('bound', 'slot'), '<by_slot>', 'the slot comes before the role');
is(note_of('bound', 'other'), '<by_role>', 'only that slot');

is(note_of('bound', 'slot', 'policy=by_slot'), '<by_slot>', 'the option may name the bound policy');
refused('bound', 'slot', 'asked', 'slot bound, another policy asked for');
refused('bound', 'slot', 'by_role', "slot bound, the role's asked for");
refused('bound', 'slot', 'none', 'slot bound, none asked for');
refused('bound', 'other', 'asked', 'role bound, another policy asked for');
refused('bound', 'other', 'none', 'role bound, none asked for');
refused('free', 'other', 'asked', 'database bound, another policy asked for');
refused('postgres', 'slot', 'none', 'slot bound, none asked for by a superuser');

# A bound policy that is not there stops the stream; no other takes its place.
$node->safe_psql($db, "SELECT acdat.unpublish('by_slot', force => true)");
recv_fails($node, $db, 'slot', [], qr/policy "by_slot" is not published/, 'bound to an unpublished policy');
recv_fails($node, $db, 'slot', ['policy=by_role'], qr/policy "by_role" may not be used here/,
	'bound to an unpublished policy, another asked for', user => 'bound');
$node->safe_psql($db, "SELECT acdat.publish('by_slot'), acdat.unbind_slot('slot')");
is(note_of('bound', 'slot'), '<by_role>', 'unbound');

# ---- renamed roles ----

$node->safe_psql($db, 'ALTER ROLE bound RENAME TO renamed');
is(note_of('renamed', 'slot'), '<by_role>', 'a renamed role stays bound');
$node->safe_psql($db, 'CREATE ROLE bound LOGIN REPLICATION');
is(note_of('bound', 'slot'), '<by_role>', 'so does a role that bears the bound name now');
is(note_of('renamed', 'slot'), '<by_role>', 'and still the renamed one');
$node->safe_psql($db, 'DROP ROLE bound; ALTER ROLE renamed RENAME TO bound');

# ---- what a bound role cannot do ----

$node->safe_psql($db, "SELECT acdat.unbind_database()");
my ($status, $out, $err) = $node->psql($db,
	"SET SESSION AUTHORIZATION bound; ALTER ROLE bound SET dynamic_library_path = '\$libdir'");
like($err, qr/permission denied/, 'change its library path for good');
($status, $out, $err) = $node->psql($db, "SELECT 1",
	connstr => $node->connstr($db) . " user=bound options='-c dynamic_library_path=\$libdir'");
like($err, qr/permission denied to set parameter "dynamic_library_path"/, 'or for a session');
($status, $out, $err) = $node->psql($db, "SELECT 1",
	replication => 'database',
	connstr => $node->connstr($db) . " user=bound options='-c dynamic_library_path=\$libdir'");
like($err, qr/permission denied to set parameter "dynamic_library_path"/, 'or for a walsender');
($status, $out, $err) = $node->psql($db, "SELECT 1",
	connstr => $node->connstr($db) . " user=bound options='-c session_authorization=free'");
like($err, qr/permission denied/, 'or become another');
($status, $out, $err) = $node->psql($db, 'SELECT * FROM acdat.published',
	connstr => $node->connstr($db) . ' user=bound');
like($err, qr/permission denied/, 'or read policies');
($status, $out, $err) = $node->psql($db, "SELECT acdat.redact('x', 'by_role')",
	connstr => $node->connstr($db) . ' user=bound');
like($err, qr/permission denied/, 'or ask what they redact');

# ---- policy none ----

$node->safe_psql($db, "SELECT acdat.bind_slot('other', 'none')");
is(note_of('bound', 'other'), $secret, 'a slot may be bound to none');
refused('bound', 'other', 'asked', 'and then to nothing else');
$node->safe_psql($db, "SELECT acdat.unbind_slot('other')");

# ---- names of other plugins ----

sub replication_command
{
	my ($role, $command) = @_;

	return $node->psql($db, $command, replication => 'database',
		connstr => $node->connstr($db) . " user=$role");
}

foreach my $plugin (qw(pgoutput test_decoding decoderbufs))
{
	($status, $out, $err) = replication_command('bound',
		"CREATE_REPLICATION_SLOT native_$plugin LOGICAL $plugin");
	isnt($status, 0, "$plugin: an attached role gets no slot");
	like($err, qr/output in the format of $plugin is not supported by this version of acdat_decoder/,
		"$plugin: and is told why");
	($status, $out, $err) = $node->psql($db,
		"SELECT pg_create_logical_replication_slot('native_$plugin', '$plugin')",
		connstr => $node->connstr($db) . ' user=bound');
	like($err, qr/output in the format of $plugin is not supported/, "$plugin: nor through SQL");

	# a slot that somebody else made with the native plugin
	next if $plugin eq 'decoderbufs' && !have_plugin('decoderbufs');
	$node->safe_psql($db, "SELECT pg_create_logical_replication_slot('native_$plugin', '$plugin')");
	$node->safe_psql($db, "UPDATE t SET note = '$secret again'");
	my @options =
	  $plugin eq 'pgoutput' ? ("proto_version '1'", "publication_names 'p'") : ();
	my $options = @options ? ' (' . join(', ', @options) . ')' : '';
	($status, $out, $err) = replication_command('bound',
		"START_REPLICATION SLOT native_$plugin LOGICAL 0/0$options");
	isnt($status, 0, "$plugin: an attached role cannot stream from such a slot");
	like($err, qr/output in the format of $plugin is not supported/, "$plugin: and is told why");
	like_none("$out$err", [$secret], "$plugin: nothing came");
	($status, $out, $err) = $node->psql($db,
		"SELECT * FROM pg_logical_slot_peek_binary_changes('native_$plugin', NULL, NULL)",
		connstr => $node->connstr($db) . ' user=bound');
	like($err, qr/output in the format of $plugin is not supported/, "$plugin: nor through SQL");
	like_none($out, [ $secret, unpack 'H*', $secret ], "$plugin: nothing came");
	$node->safe_psql($db, "SELECT pg_drop_replication_slot('native_$plugin')");
}

# Is a native plugin installed?
sub have_plugin
{
	my ($plugin) = @_;
	my ($libdir) = $node->config_data('--pkglibdir');

	return -e "$libdir/$plugin.so";
}

# A path to the native library is refused where the server has a list, and
# is otherwise for those who could read the tables anyway.
SKIP:
{
	skip 'this server has no list of output plugins', 1
	  if $node->safe_psql($db, "SELECT count(*) FROM pg_settings WHERE name = 'output_plugin_libraries'") eq '0';
	($status, $out, $err) = $node->psql($db,
		"SELECT pg_create_logical_replication_slot('native', '\$libdir/test_decoding')",
		connstr => $node->connstr($db) . ' user=bound');
	like($err, qr/may not be used as an output plugin/, 'a path is no way round');
}

# wal2json, unchanged and without options of ours.
($status, $out, $err) = replication_command('bound', 'CREATE_REPLICATION_SLOT w LOGICAL wal2json');
is($status, 0, 'an attached role gets a slot with plugin wal2json');
is($node->safe_psql($db, "SELECT plugin FROM pg_replication_slots WHERE slot_name = 'w'"),
	'wal2json', 'it is called that');
$node->safe_psql($db, "INSERT INTO t VALUES (2, 'for $secret')");
is_deeply(
	[ values_of('note', of_action('I', recv($node, $db, 'w', ['format-version=2'], user => 'bound'))) ],
	['for <by_role>'],
	'and redacted output with options of wal2json only');
$node->safe_psql($db, "INSERT INTO t VALUES (3, 'for $secret')");
my ($object) = parse_lines(recv($node, $db, 'w', [], user => 'bound'));
is($object->{change}[0]{columnvalues}[1], 'for <by_role>', 'in version 1 too, without any option');
recv_fails($node, $db, 'w', ['policy=none'], qr/policy "none" may not be used here/,
	'policy none under the name wal2json', user => 'bound');

# Detached, it is what it was.
$node->safe_psql($db, "SELECT acdat.detach('bound')");
recv_fails($node, $db, 'slot', [], qr/no policy was chosen/, 'detached', user => 'bound');

$node->stop;
done_testing();


# Values near the limits of memory: masked whole, counted, and the slot goes on.
# Needs some GB of memory.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use Acdat;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'needs gigabytes of memory: PG_TEST_EXTRA=large' unless room_for_large();

my $node = start_server('large', conf => "max_wal_size = 8GB\nlogical_decoding_work_mem = 1GB\n");
my $db = 'postgres';
my $secret = 'Alice Example';

$node->safe_psql($db, 'CREATE EXTENSION acdat_decoder');
create_policy($node, $db, 'clean', { $secret => '[NAME]', 'zq' => '[a much longer text than two letters]' });
create_slot($node, $db, qw(one two));

# What comes of a row, without its long values in this process.
sub lengths
{
	my ($slot, $version, $name) = @_;
	my $position = log_position($node);
	my $out = $node->safe_psql($db,
		"SELECT length(data), left(data, 200), right(data, 150) FROM pg_logical_slot_get_changes('$slot', NULL, NULL, 'policy', 'clean', 'format-version', '$version', 'include-transaction', 'off')");

	like(slurp_log($node, $position), qr/masked a value that is too large for the output of slot "$slot"/,
		"$name, version $version: the log says so");
	return $out;
}

$node->safe_psql($db, 'CREATE TABLE big (id int PRIMARY KEY, a text, b text, c bytea)');

# 200 MB of control characters are 1.2 GB of JSON
$node->safe_psql($db, "INSERT INTO big VALUES (1, repeat(chr(1), 200000000), '$secret', NULL)");
foreach my $case ([ 'one', 2 ], [ 'two', 1 ])
{
	my $out = lengths(@$case, 'control characters');

	like($out, qr/\[REDACTED\]/, 'masked whole');
	like($out, qr/\[NAME\]/, 'the rest of the row is there');
}

# replacements that make a value too long
$node->safe_psql($db, "INSERT INTO big VALUES (2, repeat('zq', 40000000), '$secret', NULL)");
foreach my $slot (qw(one two))
{
	my $out = $node->safe_psql($db,
		"SELECT left(data, 300) FROM pg_logical_slot_get_changes('$slot', NULL, NULL, 'policy', 'clean', 'format-version', '2', 'include-transaction', 'off')");

	like($out, qr/"value":"\[REDACTED\]"/, 'a value that grows too long is masked');
	like($out, qr/\[NAME\]/, 'the rest of the row is there');
}

# bytes that are too long in hex
$node->safe_psql($db, "INSERT INTO big VALUES (3, 'x', '$secret', decode(repeat('00', 269000000), 'hex') || decode(repeat('00', 269000000), 'hex'))");
my $out = $node->safe_psql($db,
	"SELECT left(data, 300) FROM pg_logical_slot_get_changes('one', NULL, NULL, 'policy', 'clean', 'format-version', '2', 'include-transaction', 'off')");
like($out, qr/"name":"c","type":"bytea","value":"\[REDACTED\]"/, 'bytea is masked');
$node->safe_psql($db, "SELECT pg_replication_slot_advance('two', pg_current_wal_lsn())");

# two values that fit by themselves and not together
$node->safe_psql($db, "INSERT INTO big VALUES (4, repeat(chr(9), 300000000), repeat(chr(10), 300000000), NULL)");
like(lengths('one', 2, 'two long values'), qr/\[REDACTED\]/, 'one of them is masked');

# in an old tuple too
$node->safe_psql($db, 'TRUNCATE big; ALTER TABLE big REPLICA IDENTITY FULL');
$node->safe_psql($db, "INSERT INTO big VALUES (5, repeat(chr(2), 60000000), '$secret', NULL)");
$node->safe_psql($db, "SELECT pg_replication_slot_advance('one', pg_current_wal_lsn())");
$node->safe_psql($db, "UPDATE big SET a = repeat(chr(3), 150000000)");
$node->safe_psql($db, "INSERT INTO big VALUES (6, 'after', '$secret', NULL)");
$out = $node->safe_psql($db,
	"SELECT length(data) < 1000000000, right(data, 200) FROM pg_logical_slot_get_changes('one', NULL, NULL, 'policy', 'clean', 'format-version', '2', 'include-transaction', 'off')");
like($out, qr/^t\|.*"after"/ms, 'old and new, and the slot goes on');

# a message
$node->safe_psql($db, "SELECT pg_logical_emit_message(true, 'p', repeat(chr(1), 200000000)); SELECT pg_logical_emit_message(true, 'p', 'after')");
$out = $node->safe_psql($db,
	"SELECT left(data, 200) FROM pg_logical_slot_get_changes('one', NULL, NULL, 'policy', 'clean', 'format-version', '2', 'include-transaction', 'off')");
is($out, '{"action":"M","transactional":true,"prefix":"p","content":"[REDACTED]"}' . "\n"
	  . '{"action":"M","transactional":true,"prefix":"p","content":"after"}', 'a message is masked');

$node->stop;
done_testing();

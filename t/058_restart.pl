
# Killed walsenders and clients: nothing is missing, repeats are identical.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use Acdat;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use constant CYCLES => 10;

my $node = start_server('restart', conf => "restart_after_crash = on\nwal_sender_timeout = 0\n");
my $db = 'postgres';
my $secret = 'Alice Example';
my @options = ('policy=clean', 'format-version=2', 'include-lsn=1', 'include-xids=1', 'include-timestamp=1');

$node->safe_psql($db, <<'SQL');
CREATE EXTENSION acdat_decoder;
CREATE TABLE t (name text PRIMARY KEY, note text);
SQL
create_policy($node, $db, 'clean', { $secret => '[NAME]' });
create_slot($node, $db, qw(killed looping));

my %seen;		# position and xid => line
my @order;		# of commits as they came first
my ($repeats, $different) = (0, 0);

# Take in what a session sent, up to its last commit.
sub take_in
{
	my @lines = @_;

	foreach my $line (@lines)
	{
		my $record = parse_line($line);
		my $key = "$record->{action} $record->{xid} $record->{lsn} " . ($record->{nextlsn} || '');

		if (exists $seen{$key})
		{
			$repeats++;
			$different++ if $seen{$key} ne $line;
		}
		else
		{
			$seen{$key} = $line;
			push @order, $record->{xid} if $record->{action} eq 'C';
		}
	}
	return;
}

my $expected = 0;

foreach my $cycle (1 .. CYCLES)
{
	# long enough for the kill to come in the middle
	$node->safe_psql($db,
		"INSERT INTO t SELECT '$secret $cycle ' || i, repeat('$secret ', 20) FROM generate_series(1, 400) i;"
		  . "UPDATE t SET note = '$secret' WHERE name = '$secret $cycle 7';"
		  . "DELETE FROM t WHERE name = '$secret $cycle 8';");
	$expected += 402;
	my $stream = stream($node, $db, 'killed', \@options);
	$stream->wait_for_count(qr/"action":"[IUD]"/, 1 + 40 * $cycle);
	my $pid = $node->safe_psql($db, "SELECT active_pid FROM pg_replication_slots WHERE slot_name = 'killed'");
	is(kill('KILL', $pid), 1, "walsender killed, cycle $cycle") if $pid =~ /^\d+$/;
	$stream->wait_for_end;
	take_in($stream->lines);
	ok($node->poll_query_until($db, 'SELECT NOT pg_is_in_recovery()'), "the server is back, cycle $cycle");
}
take_in(recv($node, $db, 'killed', \@options));

my @changes = grep { /^[IUD] / } keys %seen;
is(scalar @changes, $expected, 'nothing is missing');
cmp_ok($repeats, '>', 0, 'some came more than once');
is($different, 0, 'byte for byte the same');
is(scalar @order, 3 * CYCLES, 'every transaction once');
is_deeply(\@order, [ sort { $a <=> $b } @order ], 'in order');
my %names = map { $_ => 1 } map { my $r = parse_line($seen{$_}); columns_of($r)->{name} } grep { /^I / } keys %seen;
is(scalar keys %names, 400 * CYCLES, 'keys are all different');
like_none(join("\n", values %seen), [$secret], 'nothing came raw');

# ---- a client that reconnects by itself ----

my $stream = stream($node, $db, 'looping', [ 'policy=clean', 'format-version=2' ], loop => 1);
$node->safe_psql($db, "INSERT INTO t VALUES ('one', '$secret one')");
$stream->wait_for(qr/\[NAME\] one.*"C"/s);
my $terminated = $node->safe_psql($db,
	"SELECT pg_terminate_backend(active_pid, 60000) FROM pg_replication_slots WHERE slot_name = 'looping'");
is($terminated, 't', 'walsender terminated');
$node->safe_psql($db, "SELECT acdat.add_terms('clean', ARRAY['another'], ARRAY['[MORE]']), acdat.publish('clean');"
	  . " INSERT INTO t VALUES ('two', '$secret another two')");
$stream->wait_for(qr/\[NAME\] \[MORE\] two.*"C"/s);
pass('the client is served again, under what was published meanwhile');
$node->restart;
$node->safe_psql($db, "INSERT INTO t VALUES ('three', '$secret three')");
$stream->wait_for(qr/\[NAME\] three.*"C"/s);
pass('and after a restart of the server');
$stream->stop;
like_none(join("\n", $stream->lines), [$secret], 'nothing came raw');

$node->stop;
done_testing();

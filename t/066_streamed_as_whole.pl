
# What is streamed before it has ended is, put together, what comes whole: random
# transactions with savepoints, read both ways from the same WAL.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use Acdat;
use PostgreSQL::Test::Utils;
use Test::More;

my $db = 'postgres';
my $node = start_server('streamed_as_whole', conf => "logical_decoding_work_mem = 64kB\nmax_prepared_transactions = 10\n" . quiet_log());

$node->safe_psql($db, <<'SQL');
CREATE EXTENSION acdat_decoder;
CREATE TABLE keyed (id int PRIMARY KEY, note text DEFAULT 'for Alice Example', long text);
CREATE TABLE full_rows (id int, note text, long text);
ALTER TABLE full_rows REPLICA IDENTITY FULL;
CREATE TABLE unkeyed (id int, note text DEFAULT 'x', long text);
CREATE TABLE parted (id int, note text, long text, PRIMARY KEY (id)) PARTITION BY RANGE (id);
CREATE TABLE part_low PARTITION OF parted FOR VALUES FROM (MINVALUE) TO (500);
CREATE TABLE part_high PARTITION OF parted DEFAULT;
ALTER TABLE keyed ALTER long SET STORAGE EXTERNAL;
ALTER TABLE full_rows ALTER long SET STORAGE EXTERNAL;
SELECT pg_create_logical_replication_slot('two_phase', 'acdat_decoder', false, true);
SQL
create_policy($node, $db, 'clean', { 'Alice Example' => '[NAME]', 'tttt' => '[T]' });
create_slot($node, $db, 'slot');

# ---- what is decoded ----

my $state = 20261;

sub random
{
	my ($below) = @_;

	$state = ($state * 1103515245 + 12345) % 2147483648;
	return int($state / 65536) % $below;
}

sub one_of { return $_[ random(scalar @_) ] }

sub statement
{
	my ($number) = @_;
	my $table = one_of(qw(keyed keyed full_rows unkeyed parted));
	my $where = 'WHERE id % 7 = ' . random(7);
	my @kinds = (
		sub { "INSERT INTO $table SELECT i, 'row of Alice Example', repeat('t', (i % 3) * 1500) FROM generate_series($number, $number + " . random(40) . ') i' },
		sub { "INSERT INTO $table (id) VALUES ($number)" },
		sub { "UPDATE $table SET note = '" . one_of('Bob', 'Alice Example') . "' $where" },
		sub { "UPDATE $table SET id = id + 100000 $where" },
		sub { "DELETE FROM $table $where" },
		sub { "SELECT pg_logical_emit_message(true, 'Alice Example', 'message $number')" },
		sub { random(4) ? "SELECT 1" : "TRUNCATE $table" },
		sub { 'ALTER TABLE ' . one_of(qw(keyed unkeyed)) . " ALTER note SET DEFAULT 'Alice Example $number'" },
		sub { "CREATE TABLE new_$number AS SELECT * FROM $table $where" },
	);

	return one_of(@kinds[ 0, 0, 5, 0 .. $#kinds ])->();
}

my $script = '';
my $number = 0;
foreach my $transaction (1 .. 40)
{
	my @savepoints;

	$script .= "BEGIN;\n";
	foreach (1 .. 4 + random(12))
	{
		my $what = random(6);

		$number += 100;
		if ($what == 0) { $script .= "SAVEPOINT s$number;\n"; push @savepoints, "s$number" }
		elsif ($what == 1 && @savepoints)
		{
			# more than fits memory: what will be rolled back is streamed before
			$script .= "SELECT pg_logical_emit_message(true, 'long', repeat('x', 70000));\n" if random(2);
			$script .= 'ROLLBACK TO ' . one_of(@savepoints[ -1, -1, 0 ]) . ";\n";
			@savepoints = ();
		}
		else { $script .= statement($number) . ";\n" }
	}
	my $end = one_of('COMMIT', 'COMMIT', 'COMMIT', 'ROLLBACK', 'PREPARE');
	$script .= $end eq 'PREPARE' ? "PREPARE TRANSACTION 'p$number';\nCOMMIT PREPARED 'p$number';\n" : "$end;\n";
}
$node->safe_psql($db, $script);

# ---- putting together ----

# A record without what is known in one way only.
sub bare
{
	my ($record) = @_;
	my %rest = %$record;

	delete @rest{qw(xid timestamp origin)};
	return \%rest;
}

# The transactions, as lists of records, in the order of their ends.
sub transactions
{
	my @records = @_;
	my (@whole, @current, %streams, $block, @faults, $blocks);

	foreach my $record (@records)
	{
		my ($action, $xid) = @{$record}{qw(action xid)};

		if ($action =~ /^BP?$/) { @current = () }
		elsif ($action =~ /^(?:C|P)$/) { push @whole, [ $action, map { bare($_) } @current ] }
		elsif ($action =~ /^[CR]P$/) { push @whole, [ $action, $record->{gid} ] }
		elsif ($action eq 'SB') { push @faults, 'a block in a block' if defined $block; $block = $xid; $streams{$xid} ||= []; $blocks++ }
		elsif ($action eq 'SE') { push @faults, 'the end of another block' if $block != $xid; undef $block }
		elsif ($action eq 'SA')
		{
			push @faults, 'an end within a block' if defined $block;
			if ($record->{subxid} == $xid) { delete $streams{$xid} }
			else { $streams{$xid} = [ grep { $_->{xid} != $record->{subxid} } @{ $streams{$xid} } ] }
		}
		elsif ($action =~ /^S([CP])$/) { push @whole, [ $1, map { bare($_) } @{ delete $streams{$xid} } ] }
		else { push @{ defined $block ? $streams{$block} : \@current }, $record }
	}

	# From 18 on the server looks by itself whether a transaction has aborted, and
	# does not always tell the end of one that it had begun to stream.
	push @faults, 'without end: ' . join ' ', sort keys %streams if %streams && $node->pg_version < 18;
	is(join(', ', @faults), '', 'blocks and ends are in order');
	return ($blocks || 0, @whole);
}

foreach my $more (
	[ 'include-default=on', 'include-pk=on' ],
	[ 'columns-as-object=on', 'unchanged-toast=on', 'include-redactions=on' ],
	[ 'without-identity=full', 'include-redactions=on', 'include-generation=on' ],
	[ 'partition-root=on', 'include-timestamp=on', 'include-origin=on', 'actions=update,delete,truncate' ])
{
	my @options = ('policy=clean', 'format-version=2', 'include-xids=on', @$more);

	foreach my $slot ('slot', 'two_phase')
	{
		my @phases = $slot eq 'slot' ? () : ('two-phase=on');
		my $name = join ' ', @$more, @phases;
		my ($none, @whole) = transactions(parse_lines(changes($node, $db, $slot, [ @options, @phases ], peek => 1)));
		my ($blocks, @streamed) = transactions(parse_lines(changes($node, $db, $slot, [ @options, @phases, 'streaming=on' ], peek => 1)));

		cmp_ok($blocks, '>', 10, "$name: $blocks blocks");
		is_deeply(\@streamed, \@whole, "$name: the same " . @whole . ' transactions');
	}
}

$node->stop;
done_testing();

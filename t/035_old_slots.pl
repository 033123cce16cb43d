
# Slots older than the extension, and slots far behind.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use Acdat;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_server('old_slots');
my $db = 'postgres';
my $secret = 'Alice Example';
my @options = ('policy=clean', 'format-version=2', 'add-tables=public.t');

sub notes
{
	return join ' ', values_of('note', of_action('I', @_));
}

sub publish_sql
{
	my ($replacement) = @_;

	return "UPDATE acdat.terms SET replacement = '<$replacement>' WHERE pattern = '$secret';"
	  . " SELECT acdat.publish('clean');";
}

# ---- older than the extension ----

create_slot($node, $db, qw(old_sql old_walsender old_stream old_commit));
$node->safe_psql($db, <<"SQL");
CREATE TABLE t (id serial PRIMARY KEY, note text);
INSERT INTO t (note) VALUES ('a $secret');
SQL
changes_fail($node, $db, 'old_sql', \@options, qr/is not installed/, 'not installed yet');
$node->safe_psql($db, 'CREATE EXTENSION acdat_decoder');
create_policy($node, $db, 'clean', { $secret => '<1>' });
$node->safe_psql($db, "INSERT INTO t (note) VALUES ('b $secret')");
is(notes(changes($node, $db, 'old_sql', \@options)), 'a <1> b <1>', 'a slot older than the extension, through SQL');
is(notes(recv($node, $db, 'old_walsender', \@options)), 'a <1> b <1>', 'through a walsender');

my $stream = stream($node, $db, 'old_stream', \@options);
is(notes($stream->wait_for(qr/b <1>.*"C"/s)), 'a <1> b <1>', 'a stream that stays');
$node->safe_psql($db, publish_sql(2) . "INSERT INTO t (note) VALUES ('c $secret')");
is(notes($stream->wait_for(qr/c <.*"C"/s)), 'a <1> b <1> c <2>', 'learns of a new generation');
$stream->stop;

$node->safe_psql($db, "SELECT acdat.alter_policy('clean', clock => 'commit');" . publish_sql(3));
is(notes(changes($node, $db, 'old_commit', \@options)),
	'a <3> b <1> c <2>', "clock 'commit': before there was a policy, the present one holds");
$node->safe_psql($db, "SELECT acdat.alter_policy('clean', clock => 'latest');" . publish_sql(4));
changes($node, $db, $_, \@options) foreach qw(old_sql old_walsender);

# ---- far behind, with the published table changed and vacuumed ----

sub fall_behind
{
	my ($vacuum, $name, @clocks) = @_;

	foreach my $clock (@clocks ? @clocks : qw(latest commit))
	{
		my @slots = map { "${clock}_$_" } qw(sql walsender);
		my ($first, $last) = (10, 16);

		$node->safe_psql($db,
			"SELECT acdat.alter_policy('clean', clock => '$clock'), acdat.publish('clean')");
		create_slot($node, $db, @slots);
		foreach my $generation ($first .. $last)
		{
			$node->safe_psql($db,
				publish_sql($generation) . "INSERT INTO t (note) VALUES ('$generation $secret')");
			$node->safe_psql($db, $_) foreach @$vacuum;
		}
		my $expected = join ' ', map { "$_ <" . ($clock eq 'latest' ? $last : $_) . '>' } $first .. $last;

		is(notes(changes($node, $db, $slots[0], \@options)), $expected, "$name, clock '$clock', SQL");
		is(notes(recv($node, $db, $slots[1], \@options)), $expected, "$name, clock '$clock', walsender");
		$node->safe_psql($db, "SELECT pg_drop_replication_slot('$_')") foreach @slots;
	}
}

# a machine of many rows, so that there is something to lose
$node->safe_psql($db,
	"SELECT acdat.add_terms('clean', ARRAY(SELECT 'term number ' || i FROM generate_series(1, 3000) i), ARRAY(SELECT '<term>' FROM generate_series(1, 3000)))");
changes($node, $db, 'old_stream', \@options);
$node->safe_psql($db, "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots");
fall_behind([], 'behind');
fall_behind(['VACUUM (FREEZE) acdat.published'], 'behind and vacuumed');
fall_behind([ 'VACUUM FULL acdat.published', 'REINDEX TABLE acdat.published' ], 'behind and rewritten');

# An index built concurrently lacks what only history sees.
fall_behind(['REINDEX TABLE CONCURRENTLY acdat.published'], 'behind and reindexed');

# A slot that does not run keeps a policy readable that is gone since.
create_slot($node, $db, 'gone');
$node->safe_psql($db, "SELECT acdat.alter_policy('clean', clock => 'latest'), acdat.publish('clean')");
$node->safe_psql($db, "INSERT INTO t (note) VALUES ('p $secret'); SELECT acdat.unpublish('clean');");
$node->safe_psql($db, 'VACUUM (FREEZE) acdat.published');
changes_fail($node, $db, 'gone', \@options, qr/policy "clean" is not published/,
	'what was published when it changed is not enough');
$node->safe_psql($db, publish_sql(20));
is(notes(changes($node, $db, 'gone', \@options)), 'p <20>', 'published again');

$node->stop;
done_testing();

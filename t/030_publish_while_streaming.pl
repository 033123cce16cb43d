
# Policies that change under running streams: from the next transaction on,
# never in the middle of one, and never to raw values.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use Acdat;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_server('publishing');
my $db = 'postgres';
my $secret = 'Alice Example';
my @options = ('policy=clean', 'format-version=2', 'add-tables=public.t');

$node->safe_psql($db, <<'SQL');
CREATE EXTENSION acdat_decoder;
CREATE TABLE t (id serial PRIMARY KEY, note text);
SQL
create_policy($node, $db, 'clean', { $secret => '<1>' });
create_slot($node, $db, qw(streamed behind history));

# Change the replacement and publish, in one transaction or a part of it.
sub publish_sql
{
	my ($replacement) = @_;

	return "UPDATE acdat.terms SET replacement = '<$replacement>' WHERE pattern = '$secret';"
	  . " SELECT acdat.publish('clean');";
}

sub insert_sql
{
	my ($text) = @_;

	return "INSERT INTO t (note) VALUES ('$text $secret');";
}

sub notes
{
	return join ' ', values_of('note', of_action('I', @_));
}

# ---- a running stream ----

my $stream = stream($node, $db, 'streamed', \@options);
$node->safe_psql($db, insert_sql('a'));
is(notes($stream->wait_for(qr/a <.*"C"/s)), 'a <1>', 'before');
$node->safe_psql($db, publish_sql(2));
$node->safe_psql($db, insert_sql('b'));
is(notes($stream->wait_for(qr/b <.*"C"/s)), 'a <1> b <2>', 'published: from the next transaction');

# One transaction publishes twice and inserts before, between and after.
$node->safe_psql($db,
	'BEGIN;' . insert_sql('c') . publish_sql(3) . insert_sql('d') . publish_sql(4) . insert_sql('e') . 'COMMIT;');
my $all = notes($stream->wait_for(qr/e <.*"C"/s));
my ($c, $d, $e) = $all =~ /c (<\d>) d (<\d>) e (<\d>)$/;
is("$c$d$e", $c x 3, 'one generation in one transaction');
like($c, qr/<[24]>/, 'the one before or the one that it commits');

# Rolled back, and in a subtransaction that was.
$node->safe_psql($db, 'BEGIN;' . publish_sql(5) . insert_sql('never') . 'ROLLBACK;');
$node->safe_psql($db, 'BEGIN; SAVEPOINT s;' . publish_sql(6) . 'ROLLBACK TO s;' . insert_sql('f') . 'COMMIT;');
like(notes($stream->wait_for(qr/f <.*"C"/s)), qr/e <\d> f <4>$/, 'a rolled back publish does nothing');

# Publishing that changes nothing, and a rule.
$node->safe_psql($db, "SELECT acdat.publish('clean');" . insert_sql('g'));
like(notes($stream->wait_for(qr/g <.*"C"/s)), qr/g <4>$/, 'published without a change');
$node->safe_psql($db,
	"SELECT acdat.set_action('clean', 'mask', relation => 't', column_name => 'note', argument => '<masked>'), acdat.publish('clean')");
$node->safe_psql($db, insert_sql('h'));
like(notes($stream->wait_for(qr/<masked>.*"C"/s)), qr/g <4> <masked>$/, 'a new rule');
$node->safe_psql($db,
	"SELECT acdat.clear_action('clean', relation => 't', column_name => 'note'), acdat.alter_policy('clean', default_action => 'drop'), acdat.publish('clean', allow_lossy_keys => true)");
$node->safe_psql($db, insert_sql('i'));
$stream->wait_for(qr/"columns":\[\].*"C"/s);
pass('a new default action');
$node->safe_psql($db,
	"SELECT acdat.alter_policy('clean', default_action => 'redact'), acdat.publish('clean')");
$node->safe_psql($db, insert_sql('j'));
like(notes($stream->wait_for(qr/j <.*"C"/s)), qr/ j <4>$/, 'and back');

# Another dictionary.
$node->safe_psql($db,
	"SELECT acdat.create_dictionary('more'), acdat.add_terms('more', ARRAY['extra'], ARRAY['<more>']), acdat.add_dictionary('clean', 'more'), acdat.publish('clean')");
$node->safe_psql($db, insert_sql('k extra'));
like(notes($stream->wait_for(qr/k <more>.*"C"/s)), qr/k <more> <4>$/, 'a second dictionary');

# Settings of the policy that the stream does not see until they are published.
$node->safe_psql($db, "UPDATE acdat.terms SET replacement = '<draft>' WHERE pattern = '$secret'");
$node->safe_psql($db, insert_sql('l'));
like(notes($stream->wait_for(qr/l <.*"C"/s)), qr/l <4>$/, 'a draft is not in force');

# A transaction that began before a publish and commits after it.
my $session = $node->background_psql($db);
$session->query_safe('BEGIN;' . insert_sql('m'));
$node->safe_psql($db, publish_sql(7));
$session->query_safe(insert_sql('n') . 'COMMIT;');
$session->quit;
like(notes($stream->wait_for(qr/n <.*"C"/s)), qr/m <7> n <7>$/, 'what counts is the commit');

# Many publishes, each between two transactions.
$node->safe_psql($db, join "\n", map { publish_sql($_) . insert_sql('many') } 8 .. 30);
$stream->wait_for_count(qr/many/, 23);
$node->safe_psql($db, insert_sql('end'));
$all = notes($stream->wait_for(qr/end <.*"C"/s));
like($all, qr/end <30>$/, 'the last one counts');
like_none(join("\n", $stream->lines), [$secret], 'nothing came raw');

# Unpublished: the stream ends, without a row more.
$stream->catch_up;
$node->safe_psql($db, "SELECT acdat.unpublish('clean');" . insert_sql('after'));
like($stream->wait_for_end, qr/policy "clean" is not published/, 'unpublished: the stream ends');
like_none(join("\n", $stream->lines), [ $secret, 'after' ], 'with nothing of what came later');
recv_fails($node, $db, 'streamed', \@options, qr/policy "clean" is not published/, 'and does not start again');
$node->safe_psql($db, publish_sql(31));
like(notes(recv($node, $db, 'streamed', \@options)), qr/after <31>$/, 'until it is published again');

# Dropped and made anew under a stream.
$stream = stream($node, $db, 'streamed', \@options);
$node->safe_psql($db, insert_sql('a'));
$stream->wait_for(qr/a <31>.*"C"/s);
$node->safe_psql($db, "SELECT acdat.drop_policy('clean'), acdat.create_policy('clean', 'clean'), acdat.publish('clean')");
$node->safe_psql($db, insert_sql('b'));
like(notes($stream->wait_for(qr/b <.*"C"/s)), qr/b <31>$/, 'dropped, made anew and published');

# A policy that cannot be read ends the stream too.
$node->safe_psql($db, "UPDATE acdat.published SET data = set_byte(data, 30, 255 - get_byte(data, 30)) WHERE kind = 'p'");
$node->safe_psql($db, "SELECT acdat.bind_slot('history', 'clean')");		# sends the invalidation
$node->safe_psql($db, insert_sql('damaged'));
like($stream->wait_for_end, qr/corrupt/, 'damaged: the stream ends');
like_none(join("\n", $stream->lines), [ $secret, 'damaged' ], 'with nothing of what came later');
$node->safe_psql($db, "SELECT acdat.publish('clean'), acdat.unbind_slot('history')");

# ---- what a slot that is behind sees ----

is(notes(changes($node, $db, 'behind', \@options)) =~ /<31>/g && 1, 1, 'a slot that is behind reads');
$node->safe_psql($db, join "\n", map { publish_sql($_) . insert_sql('x') } 40 .. 43);
is(notes(changes($node, $db, 'behind', \@options)),
	'x <43> x <43> x <43> x <43>', "clock 'latest': the policy of now");

changes($node, $db, 'history', \@options);
$node->safe_psql($db, "SELECT acdat.alter_policy('clean', clock => 'commit')");
$node->safe_psql($db, join "\n", map { publish_sql($_) . insert_sql('x') } 50 .. 53);
is(notes(changes($node, $db, 'history', \@options, peek => 1)),
	'x <50> x <51> x <52> x <53>', "clock 'commit': the policy of then");
is(notes(recv($node, $db, 'history', \@options)),
	'x <50> x <51> x <52> x <53>', 'in a walsender too');
$node->safe_psql($db, insert_sql('y') . "SELECT acdat.unpublish('clean')");
changes_fail($node, $db, 'history', \@options, qr/policy "clean" is not published/,
	"clock 'commit': unpublished is unpublished");

# ---- a publisher that waits for a standby ----

$node->safe_psql($db, "SELECT acdat.alter_policy('clean', clock => 'latest');" . publish_sql(60));
$stream = stream($node, $db, 'streamed', \@options);
$node->safe_psql($db, insert_sql('w'));
$stream->wait_for(qr/w <60>.*"C"/s);
$node->append_conf('postgresql.conf', "synchronous_standby_names = 'nobody'\nsynchronous_commit = local");
$node->reload;
$node->poll_query_until($db, "SELECT current_setting('synchronous_standby_names') = 'nobody'");
my $publisher = $node->background_psql($db);
$publisher->query_until(qr/waiting/,
	"\\echo waiting\nSET synchronous_commit = on;\nBEGIN;\n" . publish_sql(61) . "\nCOMMIT;\n");
$node->poll_query_until($db,
	"SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
$node->safe_psql($db, insert_sql('v'));
like(notes($stream->wait_for(qr/v <.*"C"/s)), qr/v <61>$/, 'a publish that waits for a standby counts');
$node->safe_psql($db, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
$publisher->quit;
$node->safe_psql($db, insert_sql('u'));
like(notes($stream->wait_for(qr/u <.*"C"/s)), qr/u <61>$/, 'and stays when it is over');
$stream->stop;
like_none(join("\n", $stream->lines), [$secret], 'nothing came raw');

$node->stop;
done_testing();

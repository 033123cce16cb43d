
# Sessions that end well and badly, one after the other in one backend; the
# extension's own tables stay inside.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use Acdat;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_server('sessions');
my $db = 'postgres';
my $secret = 'Alice Example';
my @options = ('policy=clean', 'format-version=2');

# ---- the extension's own tables ----

create_slot($node, $db, qw(early));

# created, filled and published in one transaction, with a slot open
$node->safe_psql($db, <<"SQL");
BEGIN;
CREATE EXTENSION acdat_decoder;
CREATE TABLE t (id int PRIMARY KEY, note text);
SELECT acdat.create_dictionary('clean');
SELECT acdat.add_terms('clean', ARRAY['$secret'], ARRAY['[NAME]']);
SELECT acdat.create_policy('clean', 'clean');
SELECT acdat.publish('clean');
COMMIT;
UPDATE acdat.terms SET pattern = pattern WHERE dictionary = 'clean';
DELETE FROM acdat.terms WHERE pattern = 'nothing';
INSERT INTO t VALUES (0, 'not ours');
CREATE PUBLICATION everything FOR ALL TABLES;
SQL

# Not started before: a stream that meets the commit of a user catalog table's
# creation before that is visible ends with an error of the server, and has to
# be started again.
my $stream = stream($node, $db, 'early', ['policy=none'], unawaited => 1);
$stream->wait_for(qr/not ours/);
$stream->stop;
like_none(join("\n", $stream->lines), [ $secret, 'acdat', 'dictionar' ], 'not in a stream without a policy');

create_slot($node, $db, 'slot');
$node->safe_psql($db, <<"SQL");
SELECT acdat.add_terms('clean', ARRAY['other secret'], ARRAY['[OTHER]']);
ALTER TABLE acdat.terms REPLICA IDENTITY FULL;
UPDATE acdat.terms SET priority = 1;
DELETE FROM acdat.terms WHERE pattern = 'other secret';
TRUNCATE acdat.attachments;
SELECT acdat.set_action('clean', 'mask', column_name => 'password'), acdat.publish('clean');
SELECT acdat.bind_slot('slot', 'clean'), acdat.unbind_slot('slot');
INSERT INTO t VALUES (1, 'for $secret');
SQL
foreach my $options (\@options, ['policy=clean'], [ @options, 'add-tables=acdat.*,public.*' ], [ 'policy=none', 'format-version=2' ])
{
	my $out = join "\n", changes($node, $db, 'slot', $options, peek => 1);

	like($out, qr/"table":"t"/, "with @$options: other tables come");
	unlike($out, qr/acdat|other secret|dictionar|terms/, "with @$options: ours do not");
}
unlike(join("\n", recv($node, $db, 'slot', \@options)), qr/acdat|secret|dictionar|terms/, 'nor through a walsender');

# also without a policy that could be read, and with the tables of an extension that is gone
$node->safe_psql($db, "SELECT pg_drop_replication_slot('early')");

# ---- one session after the other ----

$node->safe_psql($db, "INSERT INTO t VALUES (2, 'for $secret')");
my %settings = (
	DateStyle => "'German'", TimeZone => "'UTC-5'", IntervalStyle => "'iso_8601'", bytea_output => "'escape'",
	extra_float_digits => '0', lc_monetary => "'C'", quote_all_identifiers => 'on', search_path => "'acdat, pg_catalog'");
my $show = 'SELECT ' . join(" || ' ' || ", map { "current_setting('$_')" } sort keys %settings);
my $session = $node->background_psql($db, on_error_stop => 0);

$session->query_safe("SET $_ = $settings{$_}") foreach sort keys %settings;
my $before = $session->query_safe($show);
is($session->query_safe($show), $before, 'settings are what they were set to');

sub get
{
	my ($list) = @_;

	return "SELECT data FROM pg_catalog.pg_logical_slot_peek_changes('slot', NULL, NULL, $list)";
}
my $good = get("'policy', 'clean', 'format-version', '2', 'include-transaction', 'off'");
my $expected = $session->query_safe($good);
like($expected, qr/for \[NAME\]/, 'a session that ends well');
is($session->query_safe($show), $before, 'leaves settings alone');

foreach my $case (
	[ 'no policy', get("'format-version', '2'") ],
	[ 'unknown policy', get("'policy', 'x'") ],
	[ 'unknown option', get("'policy', 'clean', 'x', 'y'") ],
	[ 'no such slot', "SELECT pg_catalog.pg_logical_slot_peek_changes('no_such', NULL, NULL)" ])
{
	my ($name, $bad) = @$case;
	my ($out, $failed) = $session->query($bad);

	ok($failed, "a session that fails: $name");
	$session->{stderr} = '';
	is($session->query_safe($show), $before, "leaves settings alone: $name");
	is($session->query_safe($good), $expected, "and then one that does not: $name");
	is($session->query_safe($show), $before, "settings again: $name");
}

# An error in the middle of a transaction, in a change.
$node->safe_psql($db, "SELECT acdat.create_policy('strict', 'clean', default_action => 'error'), acdat.publish('strict')");
my $bad = get("'policy', 'strict', 'format-version', '2'");
foreach my $round (1 .. 3)
{
	my ($out, $failed) = $session->query($bad);

	ok($failed, "an error in a change, round $round");
	like($session->{stderr}, qr/does not decide column/, 'the right one');
	$session->{stderr} = '';
	is($session->query_safe($show), $before, 'leaves settings alone');
	is($session->query_safe($good), $expected, 'and then a session that ends well');
}

# Within a transaction, an exception block, a savepoint.
my $caught = $session->query_safe(<<"SQL");
CREATE TEMP TABLE caught (what text, settings text);
DO \$do\$
BEGIN
	BEGIN
		PERFORM * FROM ($bad) q;
	EXCEPTION WHEN OTHERS THEN
		INSERT INTO caught VALUES (SQLSTATE, ($show));
	END;
	INSERT INTO caught SELECT count(*)::text, ($show) FROM ($good) q;
END
\$do\$;
SELECT what, settings = '$before' FROM caught;
SQL
is($caught, "55000|t\n1|t", 'an error that is caught, then a session');
$session->query_safe('BEGIN');
$session->query_safe("SET LOCAL DateStyle = 'SQL'");
is($session->query_safe($good), $expected, 'in a transaction');
is($session->query_safe('SHOW DateStyle'), 'SQL, DMY', 'with a local setting');
$session->query_safe('SAVEPOINT s');
$session->query($bad);
$session->{stderr} = '';
$session->query_safe('ROLLBACK TO s');
is($session->query_safe('SHOW DateStyle'), 'SQL, DMY', 'also after an error');
is($session->query_safe($good), $expected, 'and a session after it');
$session->query_safe('COMMIT');
is($session->query_safe($show), $before, 'settings are what they were');

# Two sessions in one query, and one that is not read to its end.
is($session->query_safe("SELECT count(*) FROM ($good) a, ($good) b"), '1', 'two in one query');
like($session->query_safe("$good LIMIT 1"), qr/"I"/, 'one that is cut short');
is($session->query_safe($show), $before, 'settings are what they were');
$session->quit;

# ---- memory ----

# Many sessions in one backend, some failing, with plans and policies made
# anew: nothing piles up.
$session = $node->background_psql($db, on_error_stop => 0);
my $memory = "SELECT sum(used_bytes) FROM pg_backend_memory_contexts WHERE name LIKE 'acdat%'";
my $total = "SELECT sum(total_bytes) / 1048576 FROM pg_backend_memory_contexts";
my $many = <<"SQL";
DO \$do\$
BEGIN
	FOR i IN 1 .. 100 LOOP
		PERFORM * FROM ($good) q;
		BEGIN
			PERFORM * FROM ($bad) q;
		EXCEPTION WHEN OTHERS THEN
			NULL;
		END;
	END LOOP;
END
\$do\$;
SQL
$session->query_safe($many);
my $after_some = $session->query_safe($total);
$session->query_safe($many) foreach 1 .. 3;
is($session->query_safe($memory), '', 'no memory of ours is left between sessions');
cmp_ok($session->query_safe($total), '<=', $after_some + 1, 'nor of others');
$session->quit;

# Nor within a session, whose tables come and go.
create_slot($node, $db, 'lasting');
$stream = stream($node, $db, 'lasting', [ @options, 'include-default=on' ]);

# Bytes of each of our contexts in the process that decodes, summed by name.
sub used_in_stream
{
	my $from = log_position($node);
	my %used;

	$stream->catch_up;
	$node->safe_psql($db, q(SELECT pg_log_backend_memory_contexts(active_pid) FROM pg_replication_slots WHERE slot_name = 'lasting'));
	$node->wait_for_log(qr/Grand total: /, $from);
	my $log = slurp_log($node, $from);
	$used{$1} += $2 while $log =~ /(acdat_decoder [a-z ]+): [^\n]* (\d+) used/g;

	# of tables that are gone they may be there or not
	delete $used{'acdat_decoder relation plan'} if ($used{'acdat_decoder relation plan'} || 0) < 100_000;
	return \%used;
}
my $comings = join '', map { <<"SQL" } 1 .. 100;
CREATE TABLE coming (id int, note text DEFAULT 'x') PARTITION BY LIST (id);
CREATE TABLE coming_all PARTITION OF coming DEFAULT;
INSERT INTO coming VALUES (1);
DROP TABLE coming;
SQL
$node->safe_psql($db, $comings);
my $used = used_in_stream();
$node->safe_psql($db, $comings) foreach 1 .. 2;
is_deeply(used_in_stream(), $used, 'nothing piles up in a session') or diag(explain($used));
cmp_ok(scalar(keys %$used), '>', 3, 'whose memory was looked at: ' . join(', ', sort keys %$used));
$stream->stop;

$node->stop;
done_testing();

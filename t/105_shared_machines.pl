
# Machines in shared memory: one copy for all processes, nothing left behind,
# and copies of one's own wherever that cannot be.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use Acdat;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $db = 'postgres';
my $term = 'term 00001 of the dictionary';

# Segments are files in the data directory, so that they can be counted, and
# pieces of WAL are small, so that the size of files can be limited.
sub start_shared
{
	my ($name, $preload) = @_;

	return start_server($name,
		extra => [ '--encoding=UTF8', '--locale=C', '--wal-segsize=1' ],
		conf => ($preload ? "shared_preload_libraries = 'acdat_decoder'\n" : '') . <<'CONF');
dynamic_shared_memory_type = mmap
restart_after_crash = on
shared_buffers = 32MB
log_error_verbosity = default
CONF
}

# A policy of the same name with a dictionary large enough to be shared.
sub fill_sql
{
	my ($name, $count) = @_;

	return <<"SQL";
SELECT acdat.create_dictionary('$name', '[$name]');
INSERT INTO acdat.terms (dictionary, pattern)
	SELECT '$name', 'term ' || lpad(i::text, 5, '0') || ' of the dictionary' FROM generate_series(1, $count) i;
SELECT acdat.create_policy('$name', '$name');
SELECT acdat.publish('$name');
SQL
}

# Another machine for a policy of fill_sql.
sub publish_sql
{
	my ($name, $replacement) = @_;

	return "UPDATE acdat.terms SET replacement = '[$replacement]' WHERE dictionary = '$name' AND pattern = '$term';"
	  . " SELECT acdat.publish('$name');";
}

sub redact_sql
{
	my ($name) = @_;

	return "SELECT acdat.redact('a $term', '$name')";
}

sub segments
{
	my ($node) = @_;
	my @files = glob $node->data_dir . '/pg_dynshmem/mmap.*';

	return scalar @files;
}

sub entries
{
	my ($node, $database) = @_;

	return $node->safe_psql($database || $db,
		"SELECT string_agg(database || ':' || users || CASE WHEN loaded THEN '' ELSE ' loading' END, ' ' ORDER BY database, users)"
		  . ' FROM acdat.shared_machines()');
}

sub entries_become
{
	my ($node, $expected, $name) = @_;
	my $found;

	foreach (1 .. 200)
	{
		$found = entries($node);
		last if $found eq $expected;
		usleep(50_000);
	}
	return is($found, $expected, $name);
}

sub session
{
	my ($node, $database) = @_;

	return $node->background_psql($database || $db, on_error_stop => 0);
}

sub segments_become
{
	my ($node, $expected, $name) = @_;

	foreach (1 .. 200)
	{
		last if segments($node) == $expected;
		usleep(50_000);
	}
	return is(segments($node), $expected, $name);
}

# ---- with a directory ----

sub test_sharing
{
	my ($node) = @_;
	my @options = ('policy=big', 'format-version=2', 'add-tables=public.t');

	$node->safe_psql($db, "CREATE EXTENSION acdat_decoder; CREATE TABLE t (id serial PRIMARY KEY, note text);");
	$node->safe_psql($db, fill_sql('big', 5000));
	create_slot($node, $db, 'streamed', 'called');
	is(entries($node), '', 'nothing is shared as long as nobody uses it');
	my $base = segments($node);

	my @sessions = map { session($node) } 1 .. 2;
	is($sessions[0]->query(redact_sql('big')), 'a [big]', 'the first session');
	is(entries($node), 'postgres:1', 'has loaded it');
	is($sessions[1]->query(redact_sql('big')), 'a [big]', 'the second session');
	is(entries($node), 'postgres:2', 'uses it too');
	my $stream = stream($node, $db, 'streamed', \@options);
	entries_become($node, 'postgres:3', 'and a walsender');
	is(segments($node), $base + 1, 'it is there once');
	$node->safe_psql($db, "INSERT INTO t (note) VALUES ('b $term')");
	$stream->wait_for(qr/b \[big\]/);
	like(join('', changes($node, $db, 'called', \@options)), qr/b \[big\]/, 'through the SQL interface');
	is(entries($node), 'postgres:3', 'which does not keep it');

	is( $sessions[0]->query(
			"SELECT sum(total_bytes) < 200000 FROM pg_backend_memory_contexts WHERE name LIKE 'acdat%'"),
		't',
		'nothing of it is in private memory');

	# a new generation: those who look get the new one
	$node->safe_psql($db, publish_sql('big', 'two'));
	is($sessions[0]->query(redact_sql('big')), 'a [two]', 'published anew');
	$node->safe_psql($db, "INSERT INTO t (note) VALUES ('c $term')");
	$stream->wait_for(qr/c \[two\]/);
	is(entries($node), 'postgres:2 postgres:2', 'old and new: a walsender keeps both');
	is($sessions[1]->query(redact_sql('big')), 'a [two]', 'by all');
	is(entries($node), 'postgres:1 postgres:3', 'only the walsender has the old one');

	# in parallel plans every worker finds it
	$node->safe_psql($db, "CREATE TABLE rows AS SELECT 'x ' || i || ' $term' AS v FROM generate_series(1, 20000) i; ANALYZE rows;");
	my $query = "SELECT count(*) FROM rows WHERE acdat.contains(v, acdat.machine_of('big'))";
	my $parallel = "SET parallel_setup_cost = 0; SET min_parallel_table_scan_size = 0; SET parallel_tuple_cost = 0;"
	  . " SET max_parallel_workers_per_gather = 2;";
	my ($status, $out, $err) = $node->psql($db, "$parallel SET client_min_messages = debug1; $query;");
	is($out, 20000, 'a parallel query');
	unlike($err, qr/read a machine/, 'in which nobody reads the published table');
	my $plan = $node->safe_psql($db, "$parallel EXPLAIN (ANALYZE, COSTS off, TIMING off) $query");
	like($plan, qr/Parallel Seq Scan.*Filter: acdat.contains\(v, acdat.machine_of\('big'::text\)\)/s, 'it was parallel');
	like($plan, qr/Workers Launched: [12]/, 'and had workers');
	is($sessions[0]->query("SELECT count(*) FROM (SELECT acdat.machine_of('big') m FROM rows) x WHERE acdat.contains('$term', m)"),
		20000, 'as a column of a subquery');
	is($sessions[0]->query("SELECT (SELECT acdat.machine_of('big'))::bytea = acdat.machine_of('big')::bytea"),
		't', 'copied and as it is');
	$node->safe_psql($db, "CREATE TABLE kept AS SELECT acdat.machine_of('big') AS m");
	is($node->safe_psql($db, "SELECT acdat.replace('a $term', m) FROM kept"), 'a [two]', 'stored, it is a value like any other');

	$_->quit foreach @sessions;
	entries_become($node, 'postgres:1 postgres:1', 'sessions that ended have let go');
	$stream->stop;
	entries_become($node, '', 'nobody uses it any more');
	segments_become($node, $base, 'and it is gone');
	return $base;
}

sub test_publishes
{
	my ($node, $base) = @_;
	my @sessions = map { session($node) } 1 .. 3;
	my @options = ('policy=big', 'format-version=2', 'add-tables=public.t');
	my $stream = stream($node, $db, 'streamed', \@options);
	my ($wrong, $most) = (0, 0);

	foreach my $i (1 .. 200)
	{
		$sessions[0]->query(publish_sql('big', "n$i") . " INSERT INTO t (note) VALUES ('no $i $term')");
		$wrong++ if $sessions[1]->query(redact_sql('big')) ne "a [n$i]";
		next if $i % 10 != 0;
		$wrong++ if $sessions[2]->query(redact_sql('big')) ne "a [n$i]";
		$wrong++ if $node->safe_psql($db, redact_sql('big')) ne "a [n$i]";
		$stream->wait_for(qr/no $i \[n$i\]/);
		my $now = $node->safe_psql($db, 'SELECT count(*) FROM acdat.shared_machines()');
		$most = $now if $now > $most;
	}
	is($wrong, 0, '200 publishes: every session has the newest');
	cmp_ok($most, '<=', 4, 'and few are there at once');
	$_->quit foreach @sessions;
	$stream->stop;
	entries_become($node, '', '200 publishes: nobody has any');
	segments_become($node, $base, '200 publishes: nothing stays behind');
	return;
}

sub test_errors
{
	my ($node, $base) = @_;
	my $session = session($node);

	# damage that is found at the end of loading, at its start, and by the digest
	$node->safe_psql($db, "CREATE TABLE saved (LIKE acdat.published INCLUDING STORAGE); INSERT INTO saved SELECT * FROM acdat.published;");
	foreach my $damage (
		"UPDATE acdat.published SET data = set_byte(data, 100, get_byte(data, 100) # 1) WHERE kind = 'm' AND part = 7",
		"DELETE FROM acdat.published WHERE kind = 'm' AND part = 3",
		"UPDATE acdat.published SET data = set_byte(data, 40, get_byte(data, 40) # 1) WHERE kind = 'm' AND part = 0")
	{
		$node->safe_psql($db, $damage);
		foreach (1 .. 3)
		{
			my ($status, $out, $err) = $node->psql($db, redact_sql('big'));
			isnt($status, 0, 'a damaged machine is refused');
		}
		$session->query(redact_sql('big'));
		like($session->{stderr}, qr/machine of dictionary/, 'in a session that stays');
		$session->{stderr} = '';
		changes_fail($node, $db, 'called', [ 'policy=big', 'format-version=2' ], qr/machine of dictionary/, 'decoding it');
		is(entries($node), '', 'nobody waits for it');
		segments_become($node, $base, 'nothing of it stays');
		$node->safe_psql($db, "DELETE FROM acdat.published; INSERT INTO acdat.published SELECT * FROM saved;");
	}
	like($session->query(redact_sql('big')), qr/^a \[n200\]$/, 'mended, the same session can use it');
	$session->quit;

	# an error while decoding, with the machine in use
	$node->safe_psql($db, fill_sql('strict', 5000) . "SELECT acdat.alter_policy('strict', default_action => 'error');"
		  . " SELECT acdat.publish('strict'); INSERT INTO t (note) VALUES ('z');");
	$session = session($node);
	foreach (1 .. 5)
	{
		$session->query("SELECT data FROM pg_logical_slot_peek_changes('called', NULL, NULL, 'policy', 'strict', 'add-tables', 'public.t')");
		like($session->{stderr}, qr/ERROR/, 'an error while decoding');
		$session->{stderr} = '';
	}
	is(entries($node), '', 'lets go of the machine');
	segments_become($node, $base, 'which is gone');

	# terminated at any moment
	my $done = 0;
	foreach my $i (1 .. 25)
	{
		my $victim = IPC::Run::start(
			[ $node->installed_command('psql'), '-X', '-d', $node->connstr($db) . " application_name=victim", '-c', redact_sql('big') ],
			'<', \undef, '>', \my $out, '2>', \my $err);
		usleep(int(rand(25_000)));
		$session->query("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'victim'");
		eval { $victim->finish };
		$done++ if $out =~ /n200/;
	}
	note("$done of 25 were through");
	entries_become($node, '', 'terminated sessions let go');
	is($session->query(redact_sql('big')), 'a [n200]', 'and nobody waits for them');
	is(entries($node), 'postgres:1', 'it is shared');
	$session->quit;
	segments_become($node, $base, 'nothing stays');
	return;
}

sub test_databases
{
	my ($node, $base) = @_;
	my $digest = "SELECT string_agg(encode(key, 'hex'), ' ') FROM (SELECT DISTINCT key FROM acdat.published WHERE kind = 'm') k";

	foreach my $database ('one', 'two')
	{
		$node->safe_psql($db, "CREATE DATABASE $database");
		$node->safe_psql($database, 'CREATE EXTENSION acdat_decoder;' . fill_sql('big', 6000));
	}
	is($node->safe_psql('one', $digest), $node->safe_psql('two', $digest), 'two databases with the same machine');
	my $one = session($node, 'one');
	$one->query(redact_sql('big'));

	# what a database has not published it does not get
	$node->safe_psql('two', "CREATE TABLE saved (LIKE acdat.published INCLUDING STORAGE); INSERT INTO saved SELECT * FROM acdat.published WHERE kind = 'm';"
		  . " DELETE FROM acdat.published WHERE kind = 'm'");
	my ($status, $out, $err) = $node->psql('two', redact_sql('big'));
	isnt($status, 0, 'to know a digest is not enough');
	like($err, qr/machine of dictionary "big" is corrupt/, 'for another database');
	is(entries($node), 'one:1', 'nothing is left of it');
	$node->safe_psql('two', 'INSERT INTO acdat.published SELECT * FROM saved');

	my $two = session($node, 'two');
	is($two->query(redact_sql('big')), 'a [big]', 'with the chunks it does');
	is(entries($node), 'one:1 two:1', 'each has an entry');
	segments_become($node, $base + 1, 'for one copy');
	$one->quit;
	entries_become($node, 'two:1', 'one has gone');
	is($two->query(redact_sql('big')), 'a [big]', 'the other still works');
	$two->quit;
	entries_become($node, '', 'both have gone');
	segments_become($node, $base, 'and the copy');
	return;
}

# Another session that opened 180 machines, of which the directory takes 128.
sub test_full
{
	my ($node, $base) = @_;

	$node->safe_psql($db, <<'SQL');
DO $$
BEGIN
	FOR p IN 1 .. 3 LOOP
		PERFORM acdat.create_policy('many' || p);
		FOR d IN 1 .. 60 LOOP
			PERFORM acdat.create_dictionary(format('d%s_%s', p, d), '[d]');
			INSERT INTO acdat.terms (dictionary, pattern)
				SELECT format('d%s_%s', p, d), format('word %s of %s in %s', i, d, p) FROM generate_series(1, 3000) i;
			PERFORM acdat.add_dictionary('many' || p, format('d%s_%s', p, d));
		END LOOP;
		PERFORM acdat.publish('many' || p);
	END LOOP;
END
$$;
SQL
	my $from = log_position($node);
	my $session = session($node);
	is($session->query("SELECT acdat.redact('word 7 of 9 in ' || p, 'many' || p) FROM generate_series(1, 3) p"),
		"[d]\n[d]\n[d]", '180 machines at once');
	is($node->safe_psql($db, 'SELECT count(*) FROM acdat.shared_machines()'), 128, 'the directory is full');
	my $other = session($node);
	is($other->query(redact_sql('big')), 'a [n200]', 'another session has a copy of its own');
	is(scalar(() = slurp_log($node, $from) =~ /is not shared among processes/g), 1, 'which the log mentions once');
	$session->quit;
	$other->quit;
	entries_become($node, '', 'all have gone');
	segments_become($node, $base, 'with their segments');
	return;
}

# Files, and so segments, cannot be larger than "bytes" in new processes.
sub limit_files
{
	my ($node, $bytes) = @_;
	my $pid = (split /\n/, slurp_file($node->data_dir . '/postmaster.pid'))[0];

	return system_log('prlimit', '--pid', $pid, "--fsize=$bytes:unlimited") == 0;
}

sub test_shortage
{
	my ($node, $base) = @_;

	$node->safe_psql($db, fill_sql('huge', 40000));
	$node->safe_psql($db, $_) foreach 'VACUUM', 'CHECKPOINT';	# no pages to be written by readers
	SKIP:
	{
		$node->safe_psql($db, redact_sql('huge'));
		skip 'no prlimit here', 7 unless limit_files($node, 1_500_000);
		my $from = log_position($node);
		my @sessions = map { session($node) } 1 .. 2;
		is($_->query(redact_sql('huge')), 'a [huge]', 'too little shared memory: a copy of its own') foreach @sessions;
		is(entries($node), '', 'nothing is shared');
		my $log = slurp_log($node, $from);
		is(scalar(() = $log =~ /LOG:  a compiled dictionary is not shared among processes/g), 1, 'the log says so once');
		unlike($log, qr/ERROR|WARNING/, 'and it is no error');
		$_->quit foreach @sessions;
		limit_files($node, 'unlimited');
		my $session = session($node);
		is($session->query(redact_sql('huge')), 'a [huge]', 'with enough of it');
		is(entries($node), 'postgres:1', 'it is shared again');
		$session->quit;
		segments_become($node, $base, 'nothing stays');
	}
	return;
}

sub test_privileges
{
	my ($node) = @_;

	$node->safe_psql($db, 'CREATE ROLE nobody; CREATE ROLE watcher IN ROLE pg_monitor;');
	my ($status, $out, $err) = $node->psql($db, 'SET ROLE nobody; SELECT * FROM acdat.shared_machines()');
	like($err, qr/permission denied for function shared_machines/, 'not everybody may see what is shared');
	is($node->safe_psql($db, 'SET ROLE watcher; SELECT count(*) FROM acdat.shared_machines()'), 0, 'who monitors the server may');
	return;
}

sub test_crash
{
	my ($node, $base) = @_;
	my @sessions = map { session($node) } 1 .. 2;

	$_->query(redact_sql('big')) foreach @sessions;
	is(entries($node), 'postgres:2', 'in use by two');
	my $pid = $sessions[0]->query('SELECT pg_backend_pid()');
	my $logged = -s $node->logfile;
	kill 'KILL', $pid;
	eval { $_->quit } foreach @sessions;
	foreach (1 .. 1200)
	{
		last if slurp_file($node->logfile, $logged) =~ /all server processes terminated; reinitializing/;
		usleep(50_000);
	}
	$node->poll_query_until($db, 'SELECT true', 't') or die 'the server did not come back';
	is(entries($node), '', 'after a crash nothing is shared');
	my $session = session($node);
	is($session->query(redact_sql('big')), 'a [n200]', 'until it is used again');
	is(entries($node), 'postgres:1', 'and shared');
	$session->quit;
	segments_become($node, $base, 'nothing of before the crash stays');
	return;
}

sub test_drop
{
	my ($node, $base) = @_;
	my $session = session($node);
	my $stream = stream($node, $db, 'streamed', [ 'policy=big', 'format-version=2' ]);

	is($session->query(redact_sql('big')), 'a [n200]', 'in use');
	$node->safe_psql($db, 'DROP TABLE kept; DROP EXTENSION acdat_decoder CASCADE; INSERT INTO t (note) VALUES (1)');
	like($stream->wait_for_end, qr/ERROR/, 'the extension is dropped: the stream ends');
	$session->query(redact_sql('big'));
	like($session->{stderr}, qr/does not exist/, 'and there is no function');
	$session->quit;
	segments_become($node, $base, 'what was in use is gone');
	$node->safe_psql($db, 'CREATE EXTENSION acdat_decoder');
	is(entries($node), '', 'created again, nothing is shared');
	return;
}

sub test_all
{
	my ($node) = @_;
	my $base = test_sharing($node);

	test_publishes($node, $base);
	test_errors($node, $base);
	test_databases($node, $base);
	test_full($node, $base);
	test_shortage($node, $base);
	test_privileges($node);
	test_crash($node, $base);
	test_drop($node, $base);
	$node->stop;
	is(segments($node), 0, 'no segment outlives the server');
	return;
}

# ---- without ----

sub test_private
{
	my ($node) = @_;

	$node->safe_psql($db, 'CREATE EXTENSION acdat_decoder; CREATE TABLE t (id serial PRIMARY KEY, note text);');
	$node->safe_psql($db, fill_sql('big', 5000));
	create_slot($node, $db, 'called');
	my $base = segments($node);
	my @sessions = map { session($node) } 1 .. 2;
	is($_->query(redact_sql('big')), 'a [big]', 'without a directory') foreach @sessions;
	is(entries($node), '', 'nothing is shared');
	foreach my $i (1 .. 20)
	{
		$node->safe_psql($db, publish_sql('big', "n$i") . " INSERT INTO t (note) VALUES ('$term')");
		is($_->query(redact_sql('big')), "a [n$i]", 'everyone reads it') foreach @sessions;
	}
	like(join('', changes($node, $db, 'called', [ 'policy=big', 'format-version=2' ])), qr/\[n20\]/, 'so does decoding');
	cmp_ok($sessions[0]->query("SELECT sum(total_bytes) FROM pg_backend_memory_contexts WHERE name LIKE 'acdat%'"),
		'<', 4_000_000, 'and forgets what is no longer published');
	is(segments($node), $base, 'no segments');
	$_->quit foreach @sessions;
	$node->stop;
	return;
}

my $preloaded = start_shared('preloaded', 1);
subtest 'in shared_preload_libraries' => sub { test_all($preloaded) };

my $plain = start_shared('plain', 0);
subtest 'not in shared_preload_libraries' => sub {
	return $plain->pg_version >= 17 ? test_all($plain) : test_private($plain);
};

done_testing();

# The SQL surface on a server that logs all it can: no term and no secret gets
# into the log.  And dump and restore, and a standby.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('primary');
$node->init(allows_streaming => 1);
my $pkglibdir = $node->config_data('--pkglibdir');
my ($major) = $node->config_data('--version') =~ /(\d+)/;
my $explain = -e "$pkglibdir/auto_explain.so";
$node->append_conf(
	'postgresql.conf', qq{
log_statement = all
log_min_messages = debug5
log_min_error_statement = debug5
log_min_duration_statement = 0
log_parameter_max_length = -1
log_parameter_max_length_on_error = -1
log_error_verbosity = verbose
debug_print_parse = on
debug_print_rewritten = on
debug_print_plan = on
});
if ($explain)
{
	$node->append_conf(
		'postgresql.conf', q{
session_preload_libraries = auto_explain
auto_explain.log_min_duration = 0
auto_explain.log_verbose = on
auto_explain.log_nested_statements = on
});
	$node->append_conf('postgresql.conf', 'auto_explain.log_parameter_max_length = -1')
	  if $major >= 16;
}
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION acdat_decoder');

# Terms that stand in no statement: the server makes them up.
my $term = q{'X' || substr(md5('salt' || i), 1, 15)};
$node->safe_psql(
	'postgres', qq{
CREATE TABLE customers (id integer PRIMARY KEY, code text UNIQUE, name text);
SELECT acdat.create_dictionary('d');
SELECT acdat.create_policy('p', 'd');
INSERT INTO acdat.terms (dictionary, pattern) SELECT 'd', $term FROM generate_series(1, 100) i;
INSERT INTO customers SELECT i, 'c' || i, 'Hello ' || $term || '!' FROM generate_series(1, 100) i;
ANALYZE;
});
my $terms = $node->safe_psql('postgres', 'SELECT pattern FROM acdat.terms');
my @terms = split /\n/, $terms;
is(scalar(@terms), 100, 'a hundred terms');
my $secret = $node->safe_psql('postgres', q{SELECT encode(secret, 'hex') FROM acdat.policies});

my @failures;

sub fails
{
	my ($sql, $like, $name) = @_;
	my ($ret, $stdout, $stderr) = $node->psql('postgres', $sql);
	like($stderr, $like, $name);
	push @failures, $stderr;
	return;
}

is($node->safe_psql('postgres', q{SELECT acdat.publish('p')}), '1', 'published');
is($node->safe_psql('postgres', q{SELECT count(*) FROM customers WHERE acdat.redact(name, 'p') <> 'Hello [REDACTED]!'}),
	'0', 'redacted');
is( $node->safe_psql('postgres',
		q{SELECT count(*) FROM customers WHERE acdat.replace(name, acdat.machine_of('p'), 'leftmost_longest') <> 'Hello [REDACTED]!'}),
	'0', 'replaced');
is($node->safe_psql('postgres', q{SELECT acdat.is_current('p')}), 't', 'current');
$node->safe_psql('postgres', q{SELECT * FROM acdat.doctor(); SELECT * FROM acdat.explain('p', 'customers')});

# whatever fails
fails(q{UPDATE acdat.terms SET replacement = pattern WHERE id = 1; SELECT acdat.publish('p')},
	qr/replacements that could leave or make a term/, 'unsafe replacement');
$node->safe_psql('postgres', 'UPDATE acdat.terms SET replacement = NULL WHERE id = 1');
fails(q{INSERT INTO acdat.terms (id, dictionary, pattern) SELECT 1, 'd', pattern FROM acdat.terms},
	qr/duplicate key/, 'duplicate id');
fails(q{INSERT INTO acdat.terms (id, dictionary, pattern) SELECT NULL, 'd', pattern FROM acdat.terms},
	qr/null value in column "id"/, 'null id');
fails(q{INSERT INTO acdat.policies (secret) SELECT secret FROM acdat.policies},
	qr/null value in column "name"/, 'null name');
fails(q{SELECT acdat.add_terms('d', array_agg(pattern) || ''::text) FROM acdat.terms},
	qr/Elements 101 \(empty\)/, 'empty pattern');
fails(q{SELECT acdat.add_terms('dd', array_agg(pattern)) FROM acdat.terms},
	qr/dictionary "dd" does not exist/, 'unknown dictionary');
fails(q{SELECT acdat.compile(pattern || repeat('x', 65535)) FROM acdat.terms},
	qr/pattern is too long/, 'long pattern');
fails(q{SELECT acdat.compile(CASE WHEN id < 50 THEN pattern ELSE '' END) FROM acdat.terms},
	qr/pattern must not be empty/, 'empty pattern in an aggregate');
fails(q{SELECT acdat.machine(set_byte(acdat.machine_of('p')::bytea, 1000, 255))},
	qr/invalid input for type acdat.machine/, 'damaged machine');
fails(q{SELECT acdat.replace(name, acdat.machine_of('p'), 'covers') FROM customers},
	qr/unrecognized match kind/, 'unknown kind');
fails(q{SELECT acdat.redact(name, 'pp') FROM customers}, qr/is not published/, 'unknown policy');
$node->safe_psql('postgres', q{UPDATE acdat.published SET data = substr(data, 1, 100) WHERE kind IN ('m', 'g')});
fails(q{SELECT acdat.redact(name, 'p') FROM customers}, qr/is corrupt/, 'damaged policy');
$node->safe_psql('postgres', q{SELECT acdat.publish('p')});
is($node->safe_psql('postgres', q{SELECT count(*) FROM customers WHERE acdat.redact(name, 'p') <> 'Hello [REDACTED]!'}),
	'0', 'published again');

# nothing of it in the log, as text, as the hexadecimal digits of its bytes, or
# as a plan prints a datum
my $log = slurp_file($node->logfile);
cmp_ok(length($log), '>', 1_000_000, 'the log is talkative');
my $pattern = join '|', map { quotemeta } @terms;
my $hex = join '|', map { unpack 'H*', $_ } @terms;
my $datum = join '|', map { join ' ', unpack 'C*', $_ } @terms;
my $secret_datum = join ' ', unpack 'C*', pack 'H*', $secret;

# Not with unlike(), which would show the whole log.
my @lines = split /\n/, $log;

sub absent
{
	my ($what, $name) = @_;
	my @found;
	for my $line (@lines)
	{
		push @found, substr($line, $-[0] < 200 ? 0 : $-[0] - 200, 240) if $line =~ $what;
	}
	ok(!@found, $name) or diag(join "\n", @found[0 .. ($#found > 4 ? 4 : $#found)]);
	return;
}
absent(qr/$pattern/, 'no term in the log');
absent(qr/$hex/, 'no term in hexadecimal');
absent(qr/(?:$datum)/, 'no term in a plan');
absent(qr/$secret/, 'no secret in the log');
absent(qr/$secret_datum/, 'no secret in a plan');
unlike("@failures", qr/$pattern|$hex|$secret/i, 'nor in what clients were told');
is( $node->safe_psql('postgres',
		"SELECT count(*) FROM pg_stats WHERE schemaname = 'acdat' AND (most_common_vals::text ~ 'X[0-9a-f]{15}' OR histogram_bounds::text ~ 'X[0-9a-f]{15}')"),
	'0', 'nor in statistics');

# ---- dump and restore ----

$node->safe_psql(
	'postgres', q{
ALTER SYSTEM SET debug_print_parse = off;
ALTER SYSTEM SET debug_print_rewritten = off;
ALTER SYSTEM SET debug_print_plan = off;
ALTER SYSTEM SET log_min_messages = warning;
ALTER SYSTEM SET log_statement = none;
ALTER SYSTEM SET log_min_duration_statement = -1;
ALTER SYSTEM RESET session_preload_libraries;
SELECT pg_reload_conf();
CREATE SCHEMA "odd Schema";
CREATE TABLE "odd Schema"."odd Table" ("odd Column" text);
CREATE DOMAIN label AS text;
SELECT acdat.set_action('p', 'mask', '"odd Schema"."odd Table"', 'odd Column', argument => '***');
SELECT acdat.set_action('p', 'null', type => 'label');
SELECT acdat.set_action('p', 'keep', column_name => 'code');
SELECT acdat.publish('p'), acdat.publish('p');
SELECT acdat.bind_slot('some_slot', 'p'), acdat.bind_database('p');
});
my $contents = q{
SELECT * FROM acdat.dictionaries ORDER BY name;
SELECT * FROM acdat.terms ORDER BY id;
SELECT * FROM acdat.policies ORDER BY name;
SELECT * FROM acdat.policy_dictionaries ORDER BY policy, dictionary;
SELECT * FROM acdat.policy_rules ORDER BY id;
SELECT * FROM acdat.generations ORDER BY policy;
SELECT * FROM acdat.bindings ORDER BY kind, name;
};
my $before = $node->safe_psql('postgres', $contents);
my $dir = PostgreSQL::Test::Utils::tempdir();
$node->command_ok([ 'pg_dump', '-Fd', '-f', "$dir/dump", $node->connstr('postgres') ], 'dumped');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok([ 'pg_restore', '-j', '4', '-d', $node->connstr('restored'), "$dir/dump" ], 'restored in parallel');
is($node->safe_psql('restored', $contents), $before, 'all is there');
is($node->safe_psql('restored', q{SELECT count(*) FROM acdat.published WHERE kind IN ('p', 'g', 'm')}), '0', 'but what is published');
is($node->safe_psql('restored', q{SELECT acdat.publish('p')}), '5', 'which continues with the next generation');
$node->safe_psql('restored', q{SELECT acdat.add_terms('d', ARRAY['new']); SELECT acdat.set_action('p', 'mask', column_name => 'id')});
is($node->safe_psql('restored', q{SELECT max(id) FROM acdat.terms}), '101', 'as ids do');

# ---- a standby ----

$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
is($standby->safe_psql('postgres', q{SELECT count(*) FROM customers WHERE acdat.redact(name, 'p') <> 'Hello [REDACTED]!'}),
	'0', 'a standby redacts');
$node->safe_psql('postgres', q{SELECT acdat.add_terms('d', ARRAY['Hello']); SELECT acdat.publish('p')});
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
is($standby->safe_psql('postgres', q{SELECT count(*) FROM customers WHERE acdat.redact(name, 'p') <> '[REDACTED] [REDACTED]!'}),
	'0', 'by what was published since');
for my $call (q{publish('p')}, q{unpublish('p')}, q{bind_database('p')}, q{add_terms('d', '{x}')}, q{create_policy('q')})
{
	my ($ret, $stdout, $stderr) = $standby->psql('postgres', "SELECT acdat.$call");
	like($stderr, qr/cannot execute .* (?:during recovery|in a read-only transaction)/, "no $call on a standby");
}
is($standby->safe_psql('postgres', q{SELECT what FROM acdat.doctor() WHERE check_name = 'policy p'}), 'published and current', 'doctor works there');
$standby->stop;
$node->stop;

done_testing();

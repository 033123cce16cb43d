
# Streamed transactions that abort: the server notices when a catalog is read,
# by an error in the middle of whatever the plugin is doing, and goes on with
# the next transaction.  Nothing half done may be left behind.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use Acdat;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_server('aborted_streams', conf => "logical_decoding_work_mem = 64kB\n");
my $db = 'postgres';
my $secret = 'Alice Example';

# Updates are not asked for: of the tables they are of, the server knows all,
# the plugin nothing.
my @options = ('policy=clean', 'format-version=2', 'streaming=on', 'actions=insert');

$node->safe_psql($db, <<'SQL');
CREATE EXTENSION acdat_decoder;
CREATE TABLE t (id int PRIMARY KEY, note text);
CREATE TABLE u (id int PRIMARY KEY, note text);
INSERT INTO t VALUES (0, 'zero');
INSERT INTO u VALUES (0, 'zero');
CREATE TYPE leaky;
CREATE FUNCTION leaky_in(cstring) RETURNS leaky LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION leaky_out(leaky) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'text_regclass';
CREATE TYPE leaky (INPUT = leaky_in, OUTPUT = leaky_out);
CREATE TABLE poison (id int PRIMARY KEY, value leaky);
SQL
create_policy($node, $db, 'clean', { $secret => '[NAME]' });
create_slot($node, $db, 'half');

# From 18 on the server looks whether a transaction has aborted before it streams
# it, so that what is tested here becomes a matter of timing.
my $streamed = $node->pg_version >= 18 ? 0 : 1;

# ---- while a plan is made ----

sub aborted
{
	my ($table, $sql) = @_;

	return "BEGIN; $sql INSERT INTO $table SELECT i, 'never $secret' || repeat('x', 100) FROM generate_series(1, 3000) i; ROLLBACK;";
}

$node->safe_psql($db, "UPDATE t SET note = 'warm';" . aborted('t', '')
	  . "INSERT INTO t VALUES (1, 'for $secret'); INSERT INTO t VALUES (2, 'two')");
foreach my $way ('SQL', 'walsender')
{
	my @lines = $way eq 'SQL' ? changes($node, $db, 'half', \@options, peek => 1) : recv($node, $db, 'half', \@options);
	my @records = parse_lines(@lines);

	is(scalar(grep { $_->{action} eq 'SA' } @records), $streamed, "$way: the transaction was streamed and has aborted");
	is(join(' ', values_of('note', grep { $_->{action} eq 'I' } @records)), 'for [NAME] two',
		"$way: rows that come after it are all there");
	like_none("@lines", [$secret], "$way: redacted");
}

# ---- while a value's output fails ----

create_slot($node, $db, 'guarded');
$node->safe_psql($db, "UPDATE u SET note = 'warm'; INSERT INTO poison VALUES (0, NULL);"
	  . aborted('u', "INSERT INTO poison SELECT i, 'no such thing' FROM generate_series(1, 100) i;")
	  . "INSERT INTO u VALUES (1, 'for $secret'); INSERT INTO poison VALUES (1, 'no such thing')");
my @records = parse_lines(changes($node, $db, 'guarded', [ @options, 'add-tables=public.u,public.poison' ], peek => 1));
my @inserted = grep { $_->{action} eq 'I' } @records;
is(scalar(grep { $_->{action} eq 'SA' } @records), $streamed, 'streamed and aborted, after values whose output failed');
cmp_ok(scalar(grep { $_->{table} eq 'poison' } @inserted), '>=', 2, 'which were masked');
is(join(' ', values_of('note', grep { $_->{table} eq 'u' } @inserted)), 'for [NAME]',
	'the abort is still noticed after them');
is(columns_of($inserted[-1])->{value}, '[REDACTED]', 'and the next transaction comes whole');

# ---- subtransactions that abort after they were streamed ----

# What their records are of can be told by the xid, of whatever kind they are.
# Little comes out, as the stream is not read before its end.
create_slot($node, $db, 'partly');
my $stream = stream($node, $db, 'partly', [ 'policy=clean', 'format-version=2', 'streaming=on', 'actions=truncate', 'filter-msg-prefixes=filler', 'include-origin=on', 'include-timestamp=on' ]);
my $filler = "INSERT INTO t SELECT i, repeat('x', 100) FROM generate_series(1, 2000) i;";
my $wait = <<'SQL';
DO $$
DECLARE
	target pg_lsn := pg_current_wal_insert_lsn();
BEGIN
	-- sends no xid, but has the log written
	PERFORM pg_logical_emit_message(false, 'filler', repeat('x', 100000)) FROM generate_series(1, 2);
	FOR i IN 1 .. 6000 LOOP
		PERFORM pg_stat_clear_snapshot();
		EXIT WHEN (SELECT sent_lsn > target FROM pg_stat_replication);
		PERFORM pg_sleep(0.01);
	END LOOP;
END $$;
SQL
$node->safe_psql($db, <<"SQL");
BEGIN;
SELECT pg_logical_emit_message(true, 'kept', 'by the top');
SAVEPOINT one;
SELECT pg_logical_emit_message(true, 'undone', 'for $secret');
TRUNCATE t;
$filler
$wait
ROLLBACK TO one;
SAVEPOINT two;
SELECT pg_logical_emit_message(true, 'kept', 'by another');
COMMIT;
SQL
my @partly = grep { $_->{action} ne 'M' || $_->{transactional} } parse_lines($stream->wait_for(qr/"SC"/));
$stream->stop;
my ($top) = map { $_->{xid} } grep { $_->{action} eq 'SC' } @partly;
my @undone = map { $_->{subxid} } grep { $_->{action} eq 'SA' } @partly;
is(scalar @undone, 1, 'one subtransaction has aborted');
isnt($undone[0], $top, 'and not all');
my @left = grep { $_->{xid} != $undone[0] && $_->{action} =~ /^[TM]$/ } @partly;
is(join(', ', map { $_->{action} eq 'M' ? $_->{content} : $_->{action} } @left), 'by the top, by another',
	'its messages and truncates are told from the others, as its rows are');
is(join(' ', map { $_->{action} } grep { $_->{xid} == $undone[0] && $_->{action} ne 'SA' } @partly), 'M T', 'they had been streamed');

# Nor is it known before its end where and when it was committed.
is_deeply([ grep { exists $_->{origin} && exists $_->{timestamp} } @partly ], \@partly, 'all records have an origin and a time');
is(join(' ', map { $_->{action} } grep { defined $_->{origin} || defined $_->{timestamp} } grep { $_->{xid} == $top } @partly), 'SC', 'which only the end tells');

$node->stop;
done_testing();

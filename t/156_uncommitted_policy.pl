
# A policy that is published by a transaction which is still in progress counts
# for nobody, the blocks of the transaction itself included.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use Acdat;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_server('uncommitted', conf => "logical_decoding_work_mem = 64kB\n");
my $db = 'postgres';
my $secret = 'Alice Example';
my @options = ('format-version=2', 'streaming=on');

$node->safe_psql($db, 'CREATE EXTENSION acdat_decoder; CREATE TABLE t (id int PRIMARY KEY, note text);');
foreach my $clock (qw(latest commit))
{
	create_policy($node, $db, $clock, { $secret => '[NAME]', 'other' => '[OTHER]' }, clock => $clock);
	create_slot($node, $db, $clock);

	my $session = $node->background_psql($db);
	my $rows = "SELECT i, 'for $secret' || repeat('x', 100) FROM generate_series";
	$session->query_safe("BEGIN; INSERT INTO t $rows(1, 2000) i;");
	$session->query_safe("DELETE FROM acdat.terms WHERE pattern = '$secret'; SELECT acdat.publish('$clock');");
	$session->query_safe("INSERT INTO t $rows(2001, 4000) i;");
	$node->safe_psql($db, "SELECT pg_logical_emit_message(true, 'flush', '')");

	my @lines = changes($node, $db, $clock, [ @options, "policy=$clock" ], peek => 1);
	cmp_ok(scalar(grep { /"SB"/ } @lines), '>', 3, "$clock: the transaction is streamed in blocks");
	like_none("@lines", [$secret], "$clock: it does not lift redaction for itself");
	$session->query_safe('ROLLBACK');
	@lines = recv($node, $db, $clock, [ @options, "policy=$clock" ]);
	like_none("@lines", [$secret], "$clock: nor after it was rolled back");

	# what others commit meanwhile counts from the next block on
	$session->query_safe("BEGIN; INSERT INTO t $rows(1, 2000) i;");
	my $stream = stream($node, $db, $clock, [ @options, "policy=$clock" ]);
	$stream->wait_for(qr/"SE"/);
	$node->safe_psql($db, "SELECT acdat.add_terms('$clock', ARRAY['for '], ARRAY['[MORE]']), acdat.publish('$clock')");
	$session->query_safe("INSERT INTO t $rows(2001, 4000) i;");
	@lines = $stream->wait_for(qr/\[MORE\].*"SE"/s);
	like("@lines", qr/\[MORE\]\[NAME\]/, "$clock: what is committed counts for the next block");
	$session->query_safe('ROLLBACK');
	$session->quit;
	$stream->stop;
}

$node->stop;
done_testing();


# Prepared transactions, which keep their locks until they are committed: the
# plugin must not wait for one, as who commits may be waiting for the plugin.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use Acdat;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_server('prepared', conf => "max_prepared_transactions = 10\n");
my $db = 'postgres';
my $secret = 'Alice Example';
my @options = ('policy=clean', 'format-version=2', 'two-phase=on', 'include-default=on', 'include-pk=on');

$node->safe_psql($db, <<'SQL');
CREATE EXTENSION acdat_decoder;
CREATE TABLE parent (id int, note text) PARTITION BY RANGE (id);
SELECT pg_create_logical_replication_slot('two_phase', 'acdat_decoder', false, true);
SQL
create_policy($node, $db, 'clean', { $secret => '[NAME]' });

foreach my $case (
	[ 'a new table', 'CREATE TABLE new (id int PRIMARY KEY, note text UNIQUE, part text DEFAULT $$x$$)', 'new' ],
	[ 'a new partition', 'CREATE TABLE part PARTITION OF parent (PRIMARY KEY (id)) FOR VALUES FROM (0) TO (100)', 'parent' ],
	[ 'a new index', 'CREATE TABLE old (id int PRIMARY KEY, note text); ALTER TABLE old ADD UNIQUE (note), REPLICA IDENTITY USING INDEX old_pkey', 'old' ])
{
	my ($name, $sql, $table) = @$case;

	$node->safe_psql($db, "BEGIN; $sql; INSERT INTO $table VALUES (1, 'for $secret'); PREPARE TRANSACTION 'gid of $secret'");
	my ($status, $out, $err) = $node->psql($db,
		"SET statement_timeout = '10s'; "
		  . "SELECT data FROM pg_logical_slot_get_changes('two_phase', NULL, NULL, " . join(', ', map { "'$_'" } map { split /=/ } @options) . ')');
	is($err, '', "$name: it is decoded while it is prepared");
	my @records = parse_lines(split /\n/, $out);
	my ($inserted) = grep { $_->{action} eq 'I' } @records;
	like($inserted ? columns_of($inserted)->{note} : '', qr/^for \[NAME\]/, "$name: redacted");
	like($records[-1]{gid}, qr/^gid of \[NAME\]~[0-9a-f]{16}$/, "$name: so is its identifier");
	$node->safe_psql($db, "COMMIT PREPARED 'gid of $secret'");
	my ($committed) = grep { $_->{action} eq 'CP' } parse_lines(changes($node, $db, 'two_phase', \@options));
	is($committed->{gid}, $records[-1]{gid}, "$name: which is the same at its end");
}

# A term that is published while a transaction is prepared counts at its end.
foreach my $way (qw(COMMIT ROLLBACK))
{
	$node->safe_psql($db, "BEGIN; INSERT INTO parent VALUES (length('$way'), 'x'); PREPARE TRANSACTION 'gid of $way by Carol'");
	my @records = parse_lines(recv($node, $db, 'two_phase', \@options));
	is($records[-1]{gid}, "gid of $way by Carol", "$way: nothing to redact");
	my $stream = stream($node, $db, 'two_phase', \@options);
	$node->safe_psql($db, "SELECT acdat.add_terms('clean', ARRAY['$way by Carol']), acdat.publish('clean')");
	$node->safe_psql($db, "$way PREPARED 'gid of $way by Carol'");
	my @lines = $stream->wait_for(qr/"(?:CP|RP)"/);
	$stream->stop;
	like_none("@lines", ["$way by Carol"], "$way: redacted once its term is published");
}

$node->stop;
done_testing();

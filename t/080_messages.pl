
# Logical messages: prefix and content are redacted, whatever bytes they hold.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use Acdat;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_server('messages');
my $db = 'postgres';
my $secret = 'Alice Example';

$node->safe_psql($db, 'CREATE EXTENSION acdat_decoder; CREATE TABLE t (id int PRIMARY KEY);');
create_policy($node, $db, 'clean', { $secret => '[NAME]' });
create_slot($node, $db, 'sql');

my $stream = stream($node, $db, do { create_slot($node, $db, 'walsender'); 'walsender' },
	[ 'policy=clean', 'format-version=2' ]);
my $marks = 0;

# Emit a message and give it as both interfaces got it, in both versions.
sub message
{
	my ($transactional, $prefix, $content, $name) = @_;
	my $mark = 'mark ' . ++$marks;

	$node->safe_psql($db, "SELECT pg_logical_emit_message($transactional, $prefix, $content);"
		  . "SELECT pg_logical_emit_message(true, 'end', '$mark');");
	my @lines = $stream->wait_for(qr/"\Q$mark\E".*"C"/s);
	my ($streamed) = (grep { $_->{prefix} ne 'end' } of_action('M', @lines))[-1];
	my ($fetched) = of_action('M', changes($node, $db, 'sql', [ 'policy=clean', 'format-version=2' ], peek => 1));
	my ($first) = map { $_->{change}[0] } grep { @{ $_->{change} } }
	  parse_lines(changes($node, $db, 'sql', ['policy=clean']));

	is_deeply($streamed, $fetched, "$name: both interfaces agree");
	is_deeply([ @$first{qw(kind prefix content transactional)} ],
		[ 'message', @$streamed{qw(prefix content transactional)} ], "$name: so does version 1");
	return $streamed;
}

foreach my $transactional (qw(true false))
{
	my $name = $transactional eq 'true' ? 'transactional' : 'not transactional';
	my $message = message($transactional, "'to $secret'", "'from $secret, twice: $secret'", $name);

	is($message->{prefix}, 'to [NAME]', "$name: the prefix");
	is($message->{content}, 'from [NAME], twice: [NAME]', "$name: the content");
	is($message->{transactional} ? 'true' : 'false', $transactional, "$name: and it says so");
	is(message($transactional, "'p'", "''", "$name, empty")->{content}, '', "$name: empty");
	is(message($transactional, "'p'", "'\\x$_->[0]'::bytea", "$name, bytes")->{content}, $_->[1], "$name: $_->[2]")
	  foreach (
		[ '610062', "a\0b", 'a NUL' ],
		[ '00', "\0", 'nothing but a NUL' ],
		[ unpack('H*', "x\0$secret\0y"), "x\0[NAME]\0y", 'a term between NULs' ],
		[ 'ff61', "\x{fffd}a", 'a byte that is no UTF-8' ],
		[ '61c3', "a\x{fffd}", 'a character cut short' ],
		[ 'eda080', "\x{fffd}" x 3, 'a surrogate' ],
		[ unpack('H*', "\xff$secret\xff"), "\x{fffd}[NAME]\x{fffd}", 'a term between such bytes' ],
		[ '0102221f5c0a', "\x01\x02\"\x1f\\\n", 'control characters' ],
		[ 'e697a5', "\x{65e5}", 'a character of three bytes' ],
		[ 'f09f9880', "\x{1f600}", 'one of four bytes' ]);
	is(length message($transactional, "'p'", "repeat('x$secret', 100000)", "$name, long")->{content},
		700000, "$name: a long one");
}

# Unpublished and published again under a message that has no transaction.
$node->safe_psql($db, "SELECT acdat.add_terms('clean', ARRAY['later'], ARRAY['[LATER]']), acdat.publish('clean')");
is(message('false', "'p'", "'$secret later'", 'published')->{content}, '[NAME] [LATER]',
	'a message without a transaction has the policy of now');

# Nothing flushes a message without a transaction, so a commit has to.
sub emit
{
	my ($sql) = @_;

	$node->safe_psql($db, "$sql; INSERT INTO t VALUES (1); DELETE FROM t;");
	return;
}

# The default action decides.
$node->safe_psql($db, "SELECT acdat.set_action('clean', 'keep', type => 'int4')");
foreach my $case ([ 'keep', 'p', $secret ], [ 'mask', '[REDACTED]', '[REDACTED]' ],
	[ 'null', '[REDACTED]', '[REDACTED]' ], [ 'error', 'p', '[NAME]' ])
{
	my ($action, $prefix, $content) = @$case;

	$node->safe_psql($db, "SELECT acdat.alter_policy('clean', default_action => '$action'), acdat.publish('clean', allow_lossy_keys => true)");
	foreach my $transactional (qw(true false))
	{
		emit("SELECT pg_logical_emit_message($transactional, 'p', '$secret')");
		my ($message) = of_action('M', changes($node, $db, 'sql', [ 'policy=clean', 'format-version=2' ]));
		is_deeply([ @$message{qw(prefix content)} ], [ $prefix, $content ], "default action $action");
	}
}
$node->safe_psql($db, "SELECT acdat.alter_policy('clean', default_action => 'drop'), acdat.publish('clean', allow_lossy_keys => true)");
emit("SELECT pg_logical_emit_message($_, 'p', '$secret')") foreach qw(true false);
is(scalar of_action('M', changes($node, $db, 'sql', [ 'policy=clean', 'format-version=2' ])), 0, 'default action drop');

$stream->stop;
$node->safe_psql($db, "SELECT acdat.alter_policy('clean', default_action => 'redact'), acdat.publish('clean')");
emit("SELECT pg_logical_emit_message($_, 'p', 'q')") foreach qw(true false);
my @options = ('format-version=2', 'include-xids=1', 'include-timestamp=1', 'include-lsn=1');
my ($in, $out) = of_action('M', changes($node, $db, 'sql', [ 'policy=clean', @options ]));
like($in->{xid}, qr/^\d+$/, 'a transactional message has a transaction');
is($out->{xid}, undef, 'the other has none');
like($_->{lsn}, qr{/}, 'both have a position') foreach $in, $out;

# In version 1 a message is one of the transaction's changes.
$node->safe_psql($db, "BEGIN; INSERT INTO t VALUES (1); SELECT pg_logical_emit_message(true, 'p', '$secret'); INSERT INTO t VALUES (2); COMMIT");
my ($object) = grep { @{ $_->{change} } } parse_lines(changes($node, $db, 'sql', ['policy=clean']));
is_deeply([ map { $_->{kind} } @{ $object->{change} } ], [qw(insert message insert)], 'among the changes in version 1');

$node->stop;
done_testing();


# Messages whose bytes, length or filters could bring out what is redacted, or
# stop a slot: anybody may emit messages.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use Acdat;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_server('messages_hidden', conf => "max_wal_size = 4GB\n");
my $secret = 'Alice Example';
my @options = ('policy=clean', 'format-version=2', 'include-transaction=0');

# ---- filters ----

$node->safe_psql('postgres', 'CREATE EXTENSION acdat_decoder');
create_policy($node, 'postgres', 'clean', { $secret => '[NAME]' });
$node->safe_psql('postgres', "SELECT acdat.create_policy('masked', default_action => 'mask'), acdat.publish('masked')");
create_slot($node, 'postgres', 'filters');
$node->safe_psql('postgres', "SELECT pg_logical_emit_message(true, 'to-$secret', ''), pg_logical_emit_message(true, 'plain', '')");

sub prefixes
{
	my ($filter, $policy) = @_;

	return join ' ', map { $_->{prefix} }
	  of_action('M', changes($node, 'postgres', 'filters', [ @options, $filter, $policy ? "policy=$policy" : () ], peek => 1));
}

is(prefixes('add-msg-prefixes=plain'), 'plain', 'a prefix without a term is found by what it is');
is(prefixes('add-msg-prefixes=to-*'), 'to-[NAME]', 'and the part of one outside of a term');
is(prefixes('add-msg-prefixes=to-Al*'), '', 'but not a letter of a term');
is(prefixes('add-msg-prefixes=to-[N*'), 'to-[NAME]', 'by one of its replacement');
is(prefixes('filter-msg-prefixes=to-*'), 'plain', 'the same to leave it out');
is(prefixes('filter-msg-prefixes=to-Al*'), 'to-[NAME] plain', 'and not by a letter of a term');
is(prefixes('add-msg-prefixes=plain', 'masked'), '', 'a masked prefix cannot be found out');
is(prefixes('add-msg-prefixes=[REDACTED]', 'masked'), '[REDACTED] [REDACTED]', 'only by what is emitted of it');

# ---- half characters ----

$node->safe_psql('postgres', "CREATE DATABASE euc_jp ENCODING 'EUC_JP' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0");
$node->safe_psql('euc_jp', 'CREATE EXTENSION acdat_decoder');
create_policy($node, 'euc_jp', 'clean', { $secret => '[NAME]', 'a?b' => '[MARK]' });
create_slot($node, 'euc_jp', 'bytes');
foreach my $case (
	[ "\xa4$secret", '?[NAME]', 'a half character before a term' ],
	[ "\x8f\xa4$secret", '??[NAME]', 'two thirds of one' ],
	[ "$secret\xa4", '[NAME]?', 'one after it' ],
	[ "Alice\xa4 Example", 'Alice? Example', 'one in it' ],
	[ "a\xa4b", '[MARK]', 'what stands for it can be in a term' ])
{
	my ($bytes, $expected, $name) = @$case;

	$node->safe_psql('euc_jp', "SELECT pg_logical_emit_message(true, 'p', '\\x" . unpack('H*', $bytes) . "'::bytea)");
	my ($by_sql) = of_action('M', changes($node, 'euc_jp', 'bytes', \@options, peek => 1));
	my ($by_walsender) = of_action('M', recv($node, 'euc_jp', 'bytes', \@options));
	is($by_sql->{content}, $expected, "$name: through SQL");
	is($by_walsender->{content}, $expected, "$name: through a walsender");
}

# ---- lengths ----

SKIP:
{
	skip 'needs gigabytes of memory: PG_TEST_EXTRA=large', 2 unless room_for_large();

	# replaced one by one these would not fit
	$node->safe_psql('postgres', <<'SQL');
SELECT pg_logical_emit_message(true, 'large', decode(repeat('ff', 400000000), 'hex'));
SELECT pg_logical_emit_message(true, 'after', '');
SQL
	my @messages = of_action('M', recv($node, 'postgres', 'filters', \@options));
	is($messages[-2]{content}, '[REDACTED]', 'what could grow too long is masked');
	is($messages[-1]{prefix}, 'after', 'and the slot goes on');
}

$node->stop;
done_testing();

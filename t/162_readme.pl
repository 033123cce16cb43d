# What README.md tells a newcomer to type, as it stands there, and what it says
# comes out.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use Acdat;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_server('readme');
my $db = 'postgres';
my $readme = slurp_file("$FindBin::Bin/../README.md");

# The block of a language in which something stands.
sub block
{
	my ($language, $what) = @_;
	my ($block) = grep { /$what/ } $readme =~ /^```\Q$language\E\n(.*?)^```$/msg;

	ok(defined $block, "README.md has a block of $language with $what") or die;
	return $block;
}

# ---- the quick start ----

$node->safe_psql($db, block('sql', qr/^CREATE EXTENSION/m));
$node->safe_psql($db, block('sql', qr/^CREATE TABLE orders/m));

my ($slot, $options) = block('sh', qr/^pg_recvlogical/m) =~ /-S (\w+) --start ((?:-o \S+ )+)/;
is(join("\n", recv($node, $db, $slot, [ $options =~ /-o (\S+)/g ]), ''), block('json', qr/"action"/),
	'the stream is what it says');

# ---- policies ----

$node->safe_psql($db, block('sql', qr/set_action/));
$node->safe_psql($db, "INSERT INTO orders VALUES (2, 'Alice Example', 'x')");
my ($row) = of_action('I', changes($node, $db, $slot, [ 'policy=clean', 'format-version=2' ]));
is_deeply(columns_of($row), { id => 2, customer => '[NAME]' }, 'rules');
$node->safe_psql($db, 'CREATE ROLE cdc_reader LOGIN REPLICATION');
$node->safe_psql($db, block('sql', qr/acdat\.attach/));
is($node->safe_psql($db, 'SELECT count(*) FROM acdat.bindings'), 3, 'bindings');
is($node->safe_psql($db, "SELECT acdat.redact('Alice Example', 'clean')"), '[NAME]', 'acdat.redact');
like($node->safe_psql($db, "SELECT acdat.explain('clean', 'orders')"), qr/note/, 'acdat.explain');
like($node->safe_psql($db, 'SELECT acdat.doctor()'), qr/wal_level/, 'acdat.doctor');
like($node->safe_psql($db, "SELECT acdat.describe(acdat.machine_of('clean'))"), qr/filter/, 'acdat.describe');

$node->stop;
done_testing();


# The SQL interface called through a replication connection is the SQL
# interface: its output is text of the database, and it leaves settings alone.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use Acdat;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_server('sql_in_walsender');

$node->safe_psql('postgres', "CREATE DATABASE latin1 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0");
$node->safe_psql('latin1', 'CREATE EXTENSION acdat_decoder; CREATE TABLE t (note text)');
create_policy($node, 'latin1', 'clean', { 'Alice Example' => '[NAME]' });
create_slot($node, 'latin1', 'slot');
$node->safe_psql('latin1', "INSERT INTO t VALUES (chr(233) || ' Alice Example')");

my $query = Acdat::changes_query('slot', [ 'policy=clean', 'format-version=2' ], peek => 1);
local $ENV{PGCLIENTENCODING} = 'UTF8';
my $plain = $node->safe_psql('latin1', $query);
my ($status, $out, $err) = $node->psql('latin1', "SET DateStyle = 'German'; $query; SHOW DateStyle", replication => 'database');

like($plain, qr/"\xc3\xa9 \[NAME\]"/, 'in an ordinary session');
is($out, "$plain\nGerman, DMY", 'through a replication connection') or diag($err);

$node->stop;
done_testing();

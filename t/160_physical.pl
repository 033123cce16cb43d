
# An attached role and physical replication: what pg_hba.conf can refuse is
# refused there, what it cannot is refused by the library.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use Acdat;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_server('physical', conf => "log_min_messages = warning\n");
my $db = 'postgres';
my $secret = 'Alice Example';

$node->safe_psql($db, <<"SQL");
CREATE EXTENSION acdat_decoder;
CREATE TABLE t (id int PRIMARY KEY, note text);
CREATE ROLE reader LOGIN REPLICATION;
CREATE ROLE other LOGIN REPLICATION;
SELECT pg_create_physical_replication_slot('standby');
SELECT pg_create_physical_replication_slot('logical');
SQL
create_policy($node, $db, 'clean', { $secret => '[NAME]' });
create_slot($node, $db, 'slot');
$node->safe_psql($db, "SELECT acdat.attach('reader', 'clean'); INSERT INTO t VALUES (1, 'for $secret')");

my $hba = $node->data_dir . '/pg_hba.conf';
my $lines = slurp_file($hba);
open my $file, '>', $hba or die "$hba: $!";
print $file "local replication reader reject\nhost replication reader all reject\n$lines";
close $file;
$node->reload;

sub command
{
	my ($role, $command, $replication) = @_;

	return $node->psql($db, $command, replication => $replication || 'database', extra_params => [ '-U', $role ]);
}

sub diagnosis
{
	return $node->safe_psql($db, "SELECT ok, what FROM acdat.doctor() WHERE check_name = 'pg_hba.conf for role reader'");
}

my ($status, $out, $err) = command('reader', 'IDENTIFY_SYSTEM', 'true');
like($err, qr/rejects replication connection/, 'pg_hba.conf refuses a connection for physical replication');

# ---- without the library ----

($status, $out, $err) = command('reader', 'BASE_BACKUP');
like($out, qr/base\.tar.*backup_label/s, 'but not what a connection to a database asks for');
is(diagnosis(), 'f|no line lets it connect for physical replication, but BASE_BACKUP works in a connection to a database too',
	'and doctor says so');

# ---- with it ----

$node->append_conf('postgresql.conf', "shared_preload_libraries = 'acdat_decoder'\n");
$node->restart;
is(diagnosis(), 't|no line lets it do physical replication', 'doctor is content once the library is preloaded');
my $lsn = insert_lsn($node);
foreach my $command (
	'BASE_BACKUP', "BASE_BACKUP (LABEL 'x', PROGRESS)", " \t\n BASE_BACKUP", 'BASE_BACKUP;', 'BASE_BACKUP(WAL)',
	"START_REPLICATION $lsn", "START_REPLICATION $lsn TIMELINE 1", "START_REPLICATION PHYSICAL $lsn",
	"START_REPLICATION SLOT standby $lsn", "START_REPLICATION SLOT standby PHYSICAL $lsn",
	qq{START_REPLICATION SLOT "standby" $lsn}, qq{START_REPLICATION SLOT "logical" $lsn},
	qq{START_REPLICATION SLOT"logical"$lsn}, qq{START_REPLICATION\fSLOT\t"standby"\n$lsn})
{
	my $name = $command =~ s/\s+/ /gr;

	($status, $out, $err) = command('reader', $command);
	isnt($status, 0, "refused: $name");
	is($out, '', "nothing came: $name");
	like($err, qr/an attached role may use the replication commands of logical decoding only.*terminating connection/s, "for what it is: $name");
}
is($node->safe_psql($db, "SELECT count(*) FROM pg_stat_replication"), 0, 'and nobody stays');

# What the server takes for SQL or for no command at all is nobody's.
foreach my $command ('base_backup', 'IDENTIFY_SYSTEM; BASE_BACKUP', '/**/ BASE_BACKUP', "START_REPLICATION SLOT a\"LOGICAL\" $lsn")
{
	($status, $out, $err) = command('reader', $command);
	isnt($status, 0, "an error: $command");
	unlike($out, qr/base\.tar/, "and no backup: $command");
}

# ---- what is left to it, and to others ----

foreach my $command ('IDENTIFY_SYSTEM', 'SHOW server_version', 'SELECT 1', 'TIMELINE_HISTORY 1',
	'CREATE_REPLICATION_SLOT mine LOGICAL acdat_decoder', 'CREATE_REPLICATION_SLOT also TEMPORARY LOGICAL wal2json', 'DROP_REPLICATION_SLOT mine')
{
	($status, $out, $err) = command('reader', $command);
	unlike($err, qr/may use|terminating/, "not refused: $command");
}
like(join("\n", recv($node, $db, 'slot', ['format-version=2'], user => 'reader')), qr/for \[NAME\]/, 'it decodes');
($status, $out, $err) = command('other', 'BASE_BACKUP');
like($out, qr/base\.tar.*backup_label/s, 'a role that is not attached may do what it could');
($status, $out, $err) = $node->psql($db, 'ALTER ROLE reader SET log_replication_commands = off', extra_params => [ '-U', 'reader' ]);
like($err, qr/permission denied/, 'it cannot keep its commands out of the log');
($status, $out, $err) = $node->psql($db, 'BASE_BACKUP', replication => 'database',
	connstr => $node->connstr($db) . " user=reader options='-c log_replication_commands=off'");
like($err, qr/permission denied to set parameter/, 'nor for a session');
$node->safe_psql($db, 'ALTER ROLE reader IN DATABASE postgres RESET log_replication_commands');
like(diagnosis(), qr/^f\|/, 'doctor sees where a superuser did');
$node->safe_psql($db, "SELECT acdat.attach('reader', 'clean')");
like(diagnosis(), qr/^t\|/, 'attaching again mends it');
$node->safe_psql($db, "SELECT acdat.detach('reader')");
is($node->safe_psql($db, "SELECT count(*) FROM pg_db_role_setting WHERE setrole = 'reader'::regrole"), 0, 'detaching leaves no setting behind');

$node->stop;
done_testing();


# Installing and restoring: nobody can prepare a trap in the schema, and no
# binding goes to the wrong role.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use Acdat;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_server('installation');
my $secret = 'Alice Example';
my $number = 0;

# ---- the schema ----

$node->safe_psql('postgres', 'CREATE ROLE mallory LOGIN; CREATE ROLE admin LOGIN SUPERUSER;');
my $trap = 'CREATE FUNCTION acdat.set_binding(text, text, oid, text) RETURNS boolean LANGUAGE plpgsql'
  . ' AS $$ BEGIN ALTER ROLE mallory SUPERUSER; RETURN true; END $$';
foreach my $case (
	[ 'CREATE SCHEMA acdat AUTHORIZATION mallory', qr/belongs to a role that is no superuser/, 'a schema of somebody else' ],
	[ 'CREATE SCHEMA acdat; GRANT CREATE ON SCHEMA acdat TO mallory', qr/others may create objects/, 'one that others may write' ],
	[ 'CREATE SCHEMA acdat; GRANT CREATE ON SCHEMA acdat TO PUBLIC', qr/others may create objects/, 'one that all may write' ],
	[ "CREATE SCHEMA acdat; $trap", qr/There are objects in it/, 'one with a function in it' ],
	[ "CREATE SCHEMA acdat AUTHORIZATION mallory; $trap; ALTER SCHEMA acdat OWNER TO admin", qr/There are objects in it/, 'one with a trap left in it' ],
	[ 'CREATE SCHEMA acdat; CREATE TABLE acdat.x ()', qr/There are objects in it/, 'one with a table in it' ],
	[ 'CREATE SCHEMA acdat', undef, 'an empty one' ],
	[ 'CREATE SCHEMA acdat AUTHORIZATION admin', undef, 'an empty one of another superuser' ],
	[ 'CREATE SCHEMA acdat; GRANT USAGE ON SCHEMA acdat TO PUBLIC', undef, 'one as a dump has it' ],
	[ '', undef, 'none' ])
{
	my ($sql, $refused, $name) = @$case;
	my $database = 'db' . ++$number;

	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, $sql) if $sql;
	my ($status, $out, $err) = $node->psql($database, 'CREATE EXTENSION acdat_decoder');
	if ($refused)
	{
		like($err, qr/ERROR:  schema "acdat" is in use/, "$name: refused");
		like($err, $refused, "$name: for what it is");
	}
	else
	{
		is($err, '', "$name: installed");
	}
}
is($node->safe_psql('postgres', "SELECT rolsuper FROM pg_roles WHERE rolname = 'mallory'"), 'f', 'nobody became a superuser');

# ---- bindings after a restore ----

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION acdat_decoder;
CREATE TABLE t (id int PRIMARY KEY, note text);
CREATE ROLE trusted LOGIN REPLICATION;
CREATE ROLE other LOGIN REPLICATION;
SQL
create_policy($node, 'postgres', 'clean', { $secret => '[NAME]' });
create_slot($node, 'postgres', 'slot');
$node->safe_psql('postgres', "SELECT acdat.attach('trusted', 'none'); INSERT INTO t VALUES (1, 'for $secret')");

# The role of a binding's row gets the oid of another one, as in another cluster.
sub give_oid
{
	my ($name, $other) = @_;

	$node->safe_psql('postgres', <<"SQL");
UPDATE acdat.published SET data = decode(
	(SELECT string_agg(lpad(to_hex(oid::bigint >> shift & 255), 2, '0'), '' ORDER BY shift)
		FROM pg_roles, unnest(ARRAY[0, 8, 16, 24]) shift WHERE rolname = '$other'), 'hex') || substr(data, 5)
	WHERE kind = 'r' AND key = '$name'
SQL
	return;
}

sub lines_of
{
	my ($role, @options) = @_;
	my ($status, $out, $err) = Acdat::recv_raw($node, 'postgres', 'slot', [ 'format-version=2', @options ], user => $role);

	return $status == 0 ? $out : $err;
}

give_oid('trusted', 'other');
like(lines_of('other'), qr/no policy was chosen/, 'a role is not bound to "none" by the oid of another');
like(lines_of('other', 'policy=none'), qr/must be superuser/, 'and may not choose it');
$node->safe_psql('postgres', "SELECT acdat.bind_database('clean')");
$node->safe_psql('postgres', 'ALTER ROLE trusted RENAME TO renamed');
give_oid('trusted', 'renamed');
$node->safe_psql('postgres', "SELECT pg_drop_replication_slot('slot')");
create_slot($node, 'postgres', 'slot');
$node->safe_psql('postgres', "INSERT INTO t VALUES (2, 'for $secret')");
like(lines_of('renamed'), qr/for \[NAME\]/, 'a renamed role is no longer bound to "none"');

$node->stop;
done_testing();

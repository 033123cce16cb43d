
# The formats of wal2json, through both interfaces, with every option.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use Acdat;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_server('formats');
my $db = 'postgres';

$node->safe_psql($db, 'CREATE EXTENSION acdat_decoder');
create_policy($node, $db, 'clean',
	{ 'Alice Example' => '[NAME]', '4111 1111 1111 1111' => '[CARD]' });
$node->safe_psql($db, <<'SQL');
CREATE TABLE orders (id int PRIMARY KEY, customer varchar(40), note text, paid numeric, open boolean);
CREATE TABLE other (id int PRIMARY KEY, note text);
CREATE SCHEMA side;
CREATE TABLE side.orders (id int PRIMARY KEY, note text);
CREATE TABLE "odd.name, x" ("a b" int PRIMARY KEY);
SQL
create_slot($node, $db, qw(one two three));

sub make_changes
{
	$node->safe_psql($db, <<'SQL');
INSERT INTO orders VALUES (1, 'Alice Example', 'paid with 4111 1111 1111 1111, thanks', 9.50, true);
UPDATE orders SET note = NULL WHERE id = 1;
DELETE FROM orders WHERE id = 1;
SELECT pg_logical_emit_message(true, 'to Alice Example', 'card 4111 1111 1111 1111');
TRUNCATE orders;
SQL
}

# ---- version 2 ----

make_changes();
my @expected = (
	'{"action":"B"}',
	'{"action":"I","schema":"public","table":"orders","columns":[{"name":"id","type":"integer","value":1},'
	  . '{"name":"customer","type":"character varying(40)","value":"[NAME]"},'
	  . '{"name":"note","type":"text","value":"paid with [CARD], thanks"},'
	  . '{"name":"paid","type":"numeric","value":9.50},{"name":"open","type":"boolean","value":true}]}',
	'{"action":"C"}', '{"action":"B"}',
	'{"action":"U","schema":"public","table":"orders","columns":[{"name":"id","type":"integer","value":1},'
	  . '{"name":"customer","type":"character varying(40)","value":"[NAME]"},'
	  . '{"name":"note","type":"text","value":null},'
	  . '{"name":"paid","type":"numeric","value":9.50},{"name":"open","type":"boolean","value":true}],'
	  . '"identity":[{"name":"id","type":"integer","value":1}]}',
	'{"action":"C"}', '{"action":"B"}',
	'{"action":"D","schema":"public","table":"orders","identity":[{"name":"id","type":"integer","value":1}]}',
	'{"action":"C"}', '{"action":"B"}',
	'{"action":"M","transactional":true,"prefix":"to [NAME]","content":"card [CARD]"}',
	'{"action":"C"}', '{"action":"B"}',
	'{"action":"T","schema":"public","table":"orders"}', '{"action":"C"}');
my @by_sql = changes($node, $db, 'one', [ 'policy=clean', 'format-version=2' ], peek => 1);
is_deeply(\@by_sql, \@expected, 'version 2 through SQL');
my @by_walsender = recv($node, $db, 'two', [ 'policy=clean', 'format-version=2' ]);
is_deeply(\@by_walsender, \@expected, 'version 2 through a walsender');
is(scalar parse_lines(@by_walsender), 15, 'every line is JSON');
is_deeply([ recv($node, $db, 'three', [ 'policy=clean', 'format-version' ]) ],
	\@expected, 'format-version without a value means 2');

# ---- version 1 ----

@expected = (
	'{"change":[{"kind":"insert","schema":"public","table":"orders",'
	  . '"columnnames":["id","customer","note","paid","open"],'
	  . '"columntypes":["integer","character varying(40)","text","numeric","boolean"],'
	  . '"columnvalues":[1,"[NAME]","paid with [CARD], thanks",9.50,true]}]}',
	'{"change":[{"kind":"update","schema":"public","table":"orders",'
	  . '"columnnames":["id","customer","note","paid","open"],'
	  . '"columntypes":["integer","character varying(40)","text","numeric","boolean"],'
	  . '"columnvalues":[1,"[NAME]",null,9.50,true],'
	  . '"oldkeys":{"keynames":["id"],"keytypes":["integer"],"keyvalues":[1]}}]}',
	'{"change":[{"kind":"delete","schema":"public","table":"orders",'
	  . '"oldkeys":{"keynames":["id"],"keytypes":["integer"],"keyvalues":[1]}}]}',
	'{"change":[{"kind":"message","transactional":true,"prefix":"to [NAME]","content":"card [CARD]"}]}',
	'{"change":[]}');
@by_sql = changes($node, $db, 'one', ['policy=clean']);
is_deeply(\@by_sql, \@expected, 'version 1 through SQL, which is the default');
make_changes();
@by_walsender = recv($node, $db, 'two', [ 'policy=clean', 'format-version=1' ]);
is_deeply(\@by_walsender, \@expected, 'version 1 through a walsender');
is(scalar parse_lines(@by_walsender), 5, 'every line is JSON');

# ---- options ----

# What a slot holds with some options; version 2 unless they say otherwise.
sub peek
{
	my @options = @_;

	push @options, 'format-version=2' unless grep { /format-version/ } @options;
	return parse_lines(changes($node, $db, 'one', [ 'policy=clean', @options ], peek => 1));
}

my ($record) = grep { $_->{action} eq 'U' } peek('include-xids=1', 'include-timestamp=on', 'include-lsn=yes');
like($record->{xid}, qr/^\d+$/, 'include-xids');
like($record->{timestamp}, qr/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?\+00$/, 'include-timestamp, in UTC');
like($record->{lsn}, qr{^[0-9A-F]+/[0-9A-F]+$}, 'include-lsn');
my ($begin) = peek('include-lsn=t');
like($begin->{nextlsn}, qr{^[0-9A-F]+/[0-9A-F]+$}, 'include-lsn at the begin record');
my ($object) = parse_lines(recv($node, $db, 'three', [ 'policy=clean', 'include-xids', 'include-timestamp', 'include-lsn' ]));
is_deeply(
	[ sort keys %$object ],
	[qw(change nextlsn timestamp xid)],
	'members of the object of a transaction; no value means true');

($record) = grep { $_->{action} eq 'I' } peek('include-schemas=1');
is($record->{schema}, 'public', 'include-schemas on');
($object) = peek('format-version=1', 'include-schemas=0');
ok(!exists $object->{change}[0]{schema}, 'include-schemas off');
($object) = peek('format-version=1', 'include-types=false');
ok(!exists $object->{change}[0]{columntypes}, 'include-types off, version 1');
($record) = grep { $_->{action} eq 'I' } peek('include-types=false');
ok(!exists $record->{columns}[0]{type}, 'include-types off, version 2');
($record) = grep { $_->{action} eq 'I' } peek('include-pk=on');
is_deeply($record->{pk}, [ { name => 'id', type => 'integer' } ], 'include-pk, version 2');
($object) = peek('format-version=1', 'include-pk=true');
is_deeply(
	$object->{change}[0]{pk},
	{ pknames => ['id'], pktypes => ['integer'] },
	'include-pk, version 1');
is_deeply([ map { $_->{action} } peek('include-transaction=off') ],
	[qw(I U D M T)], 'include-transaction off');

is_deeply([ map { $_->{action} } peek('include-transaction=off', 'actions=insert,truncate') ],
	[qw(I M T)], 'actions');
is_deeply([ map { $_->{action} } peek('include-transaction=off', 'actions= update , delete ') ],
	[qw(U D M)], 'actions with white space');

changes($node, $db, 'one', ['policy=clean']);
$node->safe_psql($db, <<'SQL');
BEGIN;
INSERT INTO orders (id) VALUES (1);
INSERT INTO other VALUES (2);
INSERT INTO side.orders VALUES (3);
INSERT INTO "odd.name, x" VALUES (4);
COMMIT;
SQL

sub ids
{
	return join ' ',
	  map { $_->{columns}[0]{value} } grep { $_->{action} eq 'I' } peek(@_);
}
is(ids(), '1 2 3 4', 'all tables');
is(ids('add-tables=public.orders'), '1', 'add-tables');
is(ids('add-tables=*.orders'), '1 3', 'add-tables with any schema');
is(ids('add-tables=side.*'), '3', 'add-tables with any table');
is(ids('add-tables=side.*,public.other'), '2 3', 'add-tables with a list');
is(ids('add-tables=public.odd\\.name\\,\\ x'), '4', 'add-tables with escapes');
is(ids('add-tables=public.ORDERS'), '', 'names are compared as they are');
is(ids('filter-tables=*.orders'), '2 4', 'filter-tables');
is(ids('filter-tables=*.*'), '', 'filter-tables with everything');
is(ids('add-tables=*.orders', 'filter-tables=side.*'), '1', 'what is filtered is not added');
is(scalar(peek('filter-tables=*.*')), 2, 'begin and commit stay');

# ---- errors of options ----

my @errors = (
	[ 'no-such=1', qr/option "no-such" = "1" is unknown/ ],
	[ 'format-versoin=1', qr/option "format-versoin" = "1" is unknown.*Perhaps you meant "format-version"/s ],
	[ 'include-xids=maybe', qr/could not parse value "maybe" for parameter "include-xids"/ ],
	[ 'include-types=2', qr/could not parse value "2" for parameter "include-types"/ ],
	[ 'format-version=x', qr/could not parse value "x" for parameter "format-version"/ ],
	[ 'format-version=3', qr/client sent format_version=3 but we only support format 2 or lower/ ],
	[ 'format-version=0', qr/client sent format_version=0 but we only support format 1 or higher/ ],
	[ 'actions=insert,merge', qr/could not parse value "merge" for parameter "actions"/ ],
	[ 'add-tables=orders', qr/could not parse value "orders" for parameter "add-tables"/ ],
	[ 'filter-tables=a.b,,c.d', qr/could not parse value "a.b,,c.d" for parameter "filter-tables"/ ],
	[ 'include-unchanged-toast=1', qr/parameter "include-unchanged-toast" was deprecated/ ],
	[ 'policy=', qr/parameter "policy" needs a value/ ],
	[ 'proto_version=1', qr/output in the protocol of pgoutput is not supported/ ]);
foreach my $error (@errors)
{
	my ($option, $message) = @$error;
	my @options = $option =~ /^policy/ ? ($option) : ('policy=clean', $option);

	changes_fail($node, $db, 'one', \@options, $message, "error of $option");
}
recv_fails($node, $db, 'two', [ 'policy=clean', 'no-such' ],
	qr/option "no-such" = "\(null\)" is unknown/, 'error of an option in a walsender');
is(ids(), '1 2 3 4', 'the slot still works');

$node->stop;
done_testing();

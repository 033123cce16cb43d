# Where we write something else than wal2json, and why: each difference has a
# name, what wal2json does there, and what is right.  060 shows that there are
# no others.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use Acdat;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_server('differences', conf => <<'CONF');
timezone = 'UTC'
datestyle = 'ISO, MDY'
log_min_messages = fatal
CONF

unless (-e $node->config_data('--pkglibdir') . '/wal2json.so')
{
	plan skip_all => 'wal2json is not installed';
}

# All that is made from now on has an OID over 2^31.
$node->stop;
PostgreSQL::Test::Utils::system_log('pg_resetwal', '-o', '3000000000', '-D', $node->data_dir) == 0 or die 'pg_resetwal failed';
$node->start;

$node->safe_psql('postgres', "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
$node->safe_psql('postgres', "CREATE DATABASE bare ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0");
foreach my $database (qw(postgres latin bare))
{
	$node->safe_psql($database, <<"SQL");
SELECT pg_create_logical_replication_slot('peer_$database', 'wal2json');
SELECT pg_create_logical_replication_slot('ours_$database', 'acdat_decoder');
SQL
	$node->safe_psql($database, 'CREATE EXTENSION acdat_decoder') unless $database eq 'bare';
}
create_policy($node, 'postgres', 'idle', { 'no value has this' => 'x' });

# ---- reading ----

# The records that come through the SQL interface, and what else was said.
sub by_sql
{
	my ($case, $slot, @options) = @_;
	my $script = "\\pset format unaligned\n\\pset tuples_only on\n\\pset recordsep_zero\n\\set VERBOSITY terse\n";
	my ($out, $err) = ('', '');
	local %ENV = ($node->_get_env(), PGCLIENTENCODING => 'UTF8');

	$script .= "SET $_;\n" foreach @{ $case->{settings} || [] };
	$script .= "SELECT data FROM pg_logical_slot_get_changes('$slot', NULL, NULL";
	foreach my $option (@options)
	{
		my ($name, $value) = split /=/, $option, 2;
		$script .= ", '$name', '" . (defined $value ? $value : 'on') . "'";
	}
	$script .= ");\n";
	IPC::Run::run([ 'psql', '-X', '-q', '-d', $node->connstr('postgres') ], '<', \$script, '>', \$out, '2>', \$err);
	return ($err, split /\0/, $out);
}

sub by_walsender
{
	my ($case, $slot, @options) = @_;
	my ($status, $out, $err) = Acdat::recv_raw($node, $case->{database} || 'postgres', $slot, \@options);

	die $err if $status != 0;
	return ($err, split /\n/, $out);
}

sub is_json
{
	my ($line) = @_;

	return eval { parse_line($line); 1 } || 0;
}

sub without_prefix
{
	my ($said) = @_;

	$said =~ s/^psql:\S+ //gm;
	return $said;
}

# Compare the two in one case.  Its members:
#	why			what wal2json does
#	setup, change	SQL; only the latter is decoded
#	options, policy, settings, database, walsender	how it is read
#	match		which records are looked at
#	theirs		a pattern for wal2json's, or a function that tests them
#	broken		wal2json's are no JSON
#	ours		exactly what ours are
#	fixed		in some versions of wal2json there is no difference
sub difference
{
	my ($name, %case) = @_;
	my $database = $case{database} || 'postgres';
	my $read = $case{walsender} ? \&by_walsender : \&by_sql;
	my @options = @{ $case{options} || ['format-version=2'] };
	my (%said, %records);

	$node->safe_psql($database, $case{setup}) if $case{setup};
	$node->safe_psql($database, "SELECT pg_replication_slot_advance('$_', pg_current_wal_lsn())")
	  foreach "peer_$database", "ours_$database";
	$node->safe_psql($database, $case{change});
	($said{peer}, @{ $records{peer} }) = $read->(\%case, "peer_$database", @options);
	($said{ours}, @{ $records{ours} }) =
	  $read->(\%case, "ours_$database", @options, 'policy=' . ($case{policy} || 'none'));
	if ($case{match})
	{
		@$_ = grep { $_ =~ $case{match} } @$_ foreach values %records;
	}
	my $theirs = join "\n", @{ $records{peer} };
	my $ours = join "\n", @{ $records{ours} };

	subtest $name => sub {
		note($case{why});
		if (ref $case{ours} eq 'CODE')
		{
			$case{ours}->(without_prefix($said{ours}), @{ $records{ours} });
		}
		else
		{
			is($ours, $case{ours}, 'ours is right');
		}
		is_deeply([ grep { !is_json($_) } @{ $records{ours} } ], [], 'ours is JSON');
		if ($case{fixed} && $theirs eq $ours)
		{
			note('this wal2json has it right too');
			return;
		}
		if (ref $case{theirs} eq 'CODE')
		{
			$case{theirs}->(without_prefix($said{peer}), @{ $records{peer} });
		}
		else
		{
			isnt($theirs, $ours, 'wal2json has something else');
			like($theirs, $case{theirs}, 'which is what is said of it');
		}
		is(scalar(grep { !is_json($_) } @{ $records{peer} }) > 0 ? 1 : 0, 1, 'and that is no JSON') if $case{broken};
	};
	return;
}

sub inserted
{
	my ($table, @columns) = @_;

	return qq({"action":"I","schema":"public","table":"$table","columns":[) . join(',', @columns) . ']}';
}

# ---- names and expressions in the output ----
#
# 2.7 has most of these right.

difference(
	'quotes in a default',
	why => 'the expression is put between quotes as it is',
	fixed => 1,
	setup => q{CREATE TABLE d_quotes (id int PRIMARY KEY, a text DEFAULT 'say "hi"')},
	change => 'INSERT INTO d_quotes VALUES (1)',
	options => [ 'format-version=2', 'include-default' ],
	match => qr/d_quotes/,
	theirs => qr/"default":"'say "hi"'::text"/,
	broken => 1,
	ours => inserted('d_quotes', '{"name":"id","type":"integer","value":1,"default":null}',
		q({"name":"a","type":"text","value":"say \"hi\"","default":"'say \"hi\"'::text"})));

difference(
	'quotes in a default, version 1',
	why => 'the same',
	fixed => 1,
	change => 'INSERT INTO d_quotes VALUES (2)',
	options => ['include-default'],
	match => qr/d_quotes/,
	theirs => qr/"columndefaults":\[null,"'say "hi"'::text"\]/,
	broken => 1,
	ours => q({"change":[{"kind":"insert","schema":"public","table":"d_quotes","columnnames":["id","a"],)
	  . q("columntypes":["integer","text"],"columndefaults":[null,"'say \"hi\"'::text"],"columnvalues":[2,"say \"hi\""]}]}));

difference(
	'a backslash in a default',
	why => 'JSON takes it for an escape: the expression reads otherwise, or is no JSON',
	fixed => 1,
	setup => q{CREATE TABLE d_backslash (id int PRIMARY KEY, a text DEFAULT 'a\tb')},
	change => 'INSERT INTO d_backslash VALUES (1)',
	options => [ 'format-version=2', 'include-default' ],
	match => qr/d_backslash/,
	theirs => qr/"default":"'a\\tb'::text"/,
	ours => inserted('d_backslash', '{"name":"id","type":"integer","value":1,"default":null}',
		q({"name":"a","type":"text","value":"a\\\\tb","default":"'a\\\\tb'::text"})));

difference(
	'a newline in a default',
	why => 'it stands raw in the string',
	fixed => 1,
	setup => qq{CREATE TABLE d_newline (id int PRIMARY KEY, a text DEFAULT 'a\nb')},
	change => 'INSERT INTO d_newline VALUES (1)',
	options => [ 'format-version=2', 'include-default' ],
	match => qr/d_newline/,
	theirs => qr/"default":"'a\nb'::text"/,
	broken => 1,
	ours => inserted('d_newline', '{"name":"id","type":"integer","value":1,"default":null}',
		q({"name":"a","type":"text","value":"a\nb","default":"'a\nb'::text"})));

difference(
	'a quote in the name of a type',
	why => 'the quotes of the identifier serve as those of the string, and those in it are doubled, not escaped',
	fixed => 1,
	setup => q{CREATE TYPE "quo""te" AS ENUM ('a'); CREATE TABLE t_quote (id "quo""te" PRIMARY KEY)},
	change => q{INSERT INTO t_quote VALUES ('a')},
	match => qr/t_quote/,
	theirs => qr/"type":"quo""te"/,
	broken => 1,
	ours => inserted('t_quote', q({"name":"id","type":"\"quo\"\"te\"","value":"a"})));

difference(
	'a backslash in the name of a type',
	why => 'it is not escaped',
	fixed => 1,
	setup => q{CREATE TYPE "back\slash" AS ENUM ('a'); CREATE TABLE t_backslash (id "back\slash" PRIMARY KEY)},
	change => q{INSERT INTO t_backslash VALUES ('a')},
	match => qr/t_backslash/,
	theirs => qr/"type":"back\\slash"/,
	broken => 1,
	ours => inserted('t_backslash', q({"name":"id","type":"\"back\\\\slash\"","value":"a"})));

difference(
	'a type in a schema whose name needs quotes',
	why => 'what starts with a quote is taken for one identifier',
	fixed => 1,
	setup => q{CREATE SCHEMA "Odd"; CREATE TYPE "Odd".plain AS ENUM ('a'); CREATE TABLE t_schema (id "Odd".plain PRIMARY KEY)},
	change => q{INSERT INTO t_schema VALUES ('a')},
	match => qr/t_schema/,
	theirs => qr/"type":"Odd"\.plain/,
	broken => 1,
	ours => inserted('t_schema', q({"name":"id","type":"\"Odd\".plain","value":"a"})));

difference(
	'an array type in the primary key, version 1',
	why => 'what starts with a quote is taken for one identifier, here even with brackets after it',
	fixed => 1,
	setup => q{CREATE TABLE t_array (id "char"[] PRIMARY KEY)},
	change => q{INSERT INTO t_array VALUES ('{a}')},
	options => ['include-pk'],
	match => qr/t_array/,
	theirs => qr/"pktypes":\["char"\[\]\]/,
	broken => 1,
	ours => q({"change":[{"kind":"insert","schema":"public","table":"t_array","columnnames":["id"],)
	  . q("columntypes":["\"char\"[]"],"columnvalues":["{a}"],"pk":{"pknames":["id"],"pktypes":["\"char\"[]"]}}]}));

difference(
	'columns that may be null, without their types, version 1',
	why => '2.5 and 2.6 forget them',
	fixed => 1,
	setup => 'CREATE TABLE k_optional (id int PRIMARY KEY, b int)',
	change => 'INSERT INTO k_optional VALUES (1, 2)',
	options => [ 'include-not-null', 'include-types=off' ],
	match => qr/k_optional/,
	theirs => qr/"columnoptionals":\[\]/,
	ours => q({"change":[{"kind":"insert","schema":"public","table":"k_optional","columnnames":["id","b"],)
	  . q("columnoptionals":[false,true],"columnvalues":[1,2]}]}));

difference(
	'a primary key that is not the replica identity, version 1',
	why => '2.5 leaves it out, later ones do not',
	fixed => 1,
	setup => 'CREATE TABLE k_full (id int PRIMARY KEY, b int); ALTER TABLE k_full REPLICA IDENTITY FULL',
	change => 'INSERT INTO k_full VALUES (1, 2)',
	options => ['include-pk'],
	match => qr/k_full/,
	theirs => qr/"columnvalues":\[1,2\]\}\]\}/,
	ours => q({"change":[{"kind":"insert","schema":"public","table":"k_full","columnnames":["id","b"],)
	  . q("columntypes":["integer","integer"],"columnvalues":[1,2],"pk":{"pknames":["id"],"pktypes":["integer"]}}]}));

difference(
	'a TOASTed column of the primary key that an update did not change, beside another identity',
	why => 'it is missing in "pk" as it is in "columns"',
	fixed => 1,
	setup => <<'SQL',
CREATE TABLE k_toasted (id int NOT NULL UNIQUE, k text PRIMARY KEY, n int);
ALTER TABLE k_toasted ALTER k SET STORAGE EXTERNAL, REPLICA IDENTITY USING INDEX k_toasted_id_key;
INSERT INTO k_toasted VALUES (1, repeat('k', 2500), 1);
SQL
	change => 'UPDATE k_toasted SET n = 2',
	options => [ 'format-version=2', 'include-pk' ],
	match => qr/"U"/,
	theirs => qr/"pk":\[\]/,
	ours => q({"action":"U","schema":"public","table":"k_toasted","columns":[{"name":"id","type":"integer","value":1},)
	  . q({"name":"n","type":"integer","value":2}],"identity":[{"name":"id","type":"integer","value":1}],"pk":[{"name":"k","type":"text"}]}));

# ---- settings of the client ----

my %followed = (
	'DateStyle' => [ "DateStyle = 'German'", 'date', '2024-01-02', '02.01.2024' ],
	'IntervalStyle' => [ "IntervalStyle = 'iso_8601'", 'interval', '1 day', 'P1D' ],
	'TimeZone' => [ "TimeZone = 'Asia/Tokyo'", 'timestamp with time zone', '2024-01-02 00:00:00+00', '2024-01-02 09:00:00+09' ],
	'quote_all_identifiers' => [ 'quote_all_identifiers = on', 'regclass', 'pg_class', 'pg_class', '"pg_class"' ],
	'search_path' => [ "search_path = ''", 'regclass', 'public.d_quotes', 'd_quotes', 'public.d_quotes' ],
);
foreach my $setting (sort keys %followed)
{
	my ($set, $type, $value, @printed) = @{ $followed{$setting} };
	my ($mine, $followed) = @printed == 2 ? @printed : ($value, $printed[0]);

	difference(
		"the client's $setting",
		why => 'wal2json follows it; a client that chose it could choose what terms are compared with',
		setup => "CREATE TABLE s_\L$setting\E (v $type)",
		change => "INSERT INTO s_\L$setting\E VALUES ('$value')",
		settings => [$set],
		match => qr/s_\L$setting/,
		theirs => do { my $quoted = $followed; $quoted =~ s/"/\\"/g; qr/"value":"\Q$quoted\E"/ },
		ours => inserted("s_\L$setting", qq({"name":"v","type":"$type","value":"$mine"})));
}

difference(
	q{the client's extra_float_digits},
	why => 'wal2json follows it, and the number is another',
	setup => 'CREATE TABLE s_float (v float8)',
	change => q{INSERT INTO s_float VALUES ('0.12345678901234566')},
	settings => ['extra_float_digits = -10'],
	match => qr/s_float/,
	theirs => qr/"value":0\.12346\b/,
	ours => inserted('s_float', '{"name":"v","type":"double precision","value":0.12345678901234566}'));

difference(
	q{the client's bytea_output},
	why => 'wal2json cuts two characters off whatever the output is',
	setup => 'CREATE TABLE s_bytea (v bytea)',
	change => q{INSERT INTO s_bytea VALUES ('abc\\000d')},
	settings => ['bytea_output = escape'],
	match => qr/s_bytea/,
	theirs => qr/"value":"c\\\\000d"/,
	ours => inserted('s_bytea', '{"name":"v","type":"bytea","value":"6162630064"}'));

difference(
	'the timestamp of a transaction in the TimeZone of the client',
	why => 'wal2json follows it',
	change => 'INSERT INTO s_float VALUES (1)',
	settings => ["TimeZone = 'Asia/Tokyo'"],
	options => [ 'format-version=2', 'include-timestamp' ],
	match => qr/"B"/,
	theirs => qr/"timestamp":"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?\+09"/,
	ours => sub { like($_[1], qr/"timestamp":"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?\+00"/, 'ours is in UTC') });

# ---- messages ----

difference(
	'a NUL in a message',
	why => 'the content ends there',
	change => q{SELECT pg_logical_emit_message(true, 'p', '\x610062'::bytea)},
	match => qr/"M"/,
	theirs => qr/"content":"a"/,
	ours => q({"action":"M","transactional":true,"prefix":"p","content":"a\u0000b"}));

difference(
	'a NUL in a message, version 1',
	why => 'the same',
	change => q{SELECT pg_logical_emit_message(true, 'p', '\x610062'::bytea)},
	options => ['format-version=1'],
	theirs => qr/"content":"a"/,
	ours => q({"change":[{"kind":"message","transactional":true,"prefix":"p","content":"a\u0000b"}]}));

difference(
	'bytes in a message that are no text',
	why => 'they go out as they are, which is no UTF-8',
	change => q{SELECT pg_logical_emit_message(true, 'p', '\x61ff62c3'::bytea)},
	match => qr/"M"/,
	walsender => 1,
	theirs => qr/"content":"a\xffb\xc3"/,
	broken => 1,
	ours => qq({"action":"M","transactional":true,"prefix":"p","content":"a\xef\xbf\xbdb\xef\xbf\xbd"}));

difference(
	'a message outside a transaction after some changes, version 1',
	why => '2.5 counts the changes of the transaction before and starts with a comma',
	fixed => 1,
	change => q{INSERT INTO s_float VALUES (1), (2); SELECT pg_logical_emit_message(false, 'p', 'c'); INSERT INTO s_float VALUES (3)},
	options => ['format-version=1'],
	match => qr/message/,
	theirs => qr/"change":\[,\{"kind":"message"/,
	ours => q({"change":[{"kind":"message","transactional":false,"prefix":"p","content":"c"}]}));

difference(
	'a prefix that ends in *',
	why => 'wal2json compares it with the whole prefix, to us it stands for all that start so',
	change => join(';', map { "SELECT pg_logical_emit_message(true, '$_', '')" } 'a*', 'abc', 'b'),
	options => [ 'format-version=2', 'include-transaction=off', 'filter-msg-prefixes=a*' ],
	theirs => qr/\A\{"action":"M","transactional":true,"prefix":"abc","content":""\}\n.*"prefix":"b"/,
	ours => q({"action":"M","transactional":true,"prefix":"b","content":""}));

# ---- encodings ----

difference(
	'a database that is not in UTF-8',
	why => 'through a walsender the text goes out in the encoding of the database, which is no JSON',
	database => 'latin',
	setup => qq{SET client_encoding = 'UTF8'; CREATE TABLE "\xc3\xa4" (v text)},
	change => qq{SET client_encoding = 'UTF8'; INSERT INTO "\xc3\xa4" VALUES ('\xc3\xa9')},
	walsender => 1,
	match => qr/"I"/,
	theirs => qr/"table":"\xe4".*"value":"\xe9"/,
	broken => 1,
	ours => inserted("\xc3\xa4", qq({"name":"v","type":"text","value":"\xc3\xa9"})));

difference(
	'a database without an encoding',
	why => 'what its text holds goes out as it is',
	database => 'bare',
	setup => 'CREATE TABLE bare (v text)',
	change => q{INSERT INTO bare VALUES (E'a\\351b')},
	walsender => 1,
	match => qr/"I"/,
	theirs => qr/"value":"a\xe9b"/,
	broken => 1,
	ours => inserted('bare', qq({"name":"v","type":"text","value":"a\xef\xbf\xbdb"})));

# ---- what is said and what is left out ----

difference(
	'warnings of tables without an identity',
	why => 'one for each row, ours one for each table',
	setup => 'CREATE TABLE w_none (a int); INSERT INTO w_none VALUES (1), (2), (3)',
	change => 'UPDATE w_none SET a = a + 1',
	match => qr/w_none/,
	theirs => sub { is(() = $_[0] =~ /^WARNING:  no tuple identifier for UPDATE in table "public"\."w_none"$/gm, 3, 'three warnings') },
	ours => sub { is($_[0], qq(WARNING:  no tuple identifier for UPDATE in table "public"."w_none"\n), 'one warning') });

difference(
	'tables of the extension',
	why => 'they hold the terms',
	change => q{SELECT acdat.add_terms('idle', ARRAY['nor this'], ARRAY['y']), acdat.publish('idle')},
	options => [ 'format-version=2', 'add-tables=acdat.*' ],
	match => qr/"schema"/,
	theirs => qr/"schema":"acdat"/,
	ours => '');

difference(
	'text forms in which an escape could hide a term, with a policy that redacts',
	why => 'wal2json knows no terms',
	policy => 'idle',
	setup => 'CREATE TABLE hides (j jsonb, a text[], t tsvector, q tsquery, x xml, plain text)',
	change => q{INSERT INTO hides VALUES ('{"a": "b\\\\c"}', ARRAY['a\b'], 'a b', 'a', '<a>&amp;</a>', 'a\b "&')},
	match => qr/hides/,
	theirs => qr/"value":"\{\\"a\\": \\"b\\\\\\\\c\\"\}".*"value":"'a' 'b'"/,
	ours => inserted('hides', (map { qq({"name":"$_->[0]","type":"$_->[1]","value":"[REDACTED]"}) }
		  [ j => 'jsonb' ], [ a => 'text[]' ], [ t => 'tsvector' ], [ q => 'tsquery' ], [ x => 'xml' ]),
		q({"name":"plain","type":"text","value":"a\\\\b \"&"})));

difference(
	'OIDs from 2^31 on',
	why => 'wal2json before 2.7 prints them as signed numbers in version 2',
	setup => q{CREATE TYPE late AS ENUM ('x'); CREATE TABLE of_late (v late)},
	change => q{INSERT INTO of_late VALUES ('x')},
	options => [ 'format-version=2', 'include-type-oids=on' ],
	match => qr/of_late/,
	fixed => 1,
	theirs => qr/"typeoid":-12\d{8},/,
	ours => sub
	{
		my $oid = $node->safe_psql('postgres', q{SELECT 'late'::regtype::oid});
		is($_[1], inserted('of_late', qq({"name":"v","type":"late","typeoid":$oid,"value":"x"})), 'as they are');
	});

# Options of later versions.
my (undef, undef, $unknown) = $node->psql('postgres',
	q(SELECT FROM pg_logical_slot_peek_changes('peer_postgres', '0/1', 1, 'partition-root', 'on')));
if ($unknown !~ /is unknown/)
{
	difference(
		'columns of a partition in another order than those of its root',
		why => 'they stay in the order, and with the positions, of the partition',
		setup => <<'SQL',
CREATE TABLE r_root (id int, region text) PARTITION BY LIST (region);
CREATE TABLE r_leaf (region text, gone int, id int);
ALTER TABLE r_leaf DROP gone;
ALTER TABLE r_root ATTACH PARTITION r_leaf DEFAULT;
SQL
		change => q{INSERT INTO r_root VALUES (1, 'a')},
		options => [ 'format-version=2', 'partition-root=on', 'include-column-positions=on', 'include-types=off' ],
		match => qr/r_root/,
		theirs => qr/"columns":\[\{"name":"region","value":"a","position":1\},\{"name":"id","value":1,"position":3\}\]/,
		ours => inserted('r_root', '{"name":"id","value":1,"position":1}', '{"name":"region","value":"a","position":2}'));

	difference(
		'a truncate of a partition',
		why => 'wal2json says that its root was truncated, which lost nothing else',
		change => 'TRUNCATE r_leaf',
		options => [ 'format-version=2', 'partition-root=on' ],
		match => qr/"T"/,
		theirs => qr/\A\{"action":"T","schema":"public","table":"r_root"\}\z/,
		ours => '');
}

difference(
	'replication origins by name',
	why => 'wal2json takes what is not a number for 0, and 0 for nothing',
	setup => q{SELECT pg_replication_origin_create('elsewhere')},
	change => <<'SQL',
SELECT pg_replication_origin_session_setup('elsewhere');
INSERT INTO s_float VALUES (3);
SQL
	options => [ 'format-version=2', 'filter-origins=elsewhere' ],
	match => qr/s_float/,
	theirs => qr/"value":3/,
	ours => '');

done_testing();

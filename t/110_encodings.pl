
# Databases of other encodings: valid UTF-8 through a walsender, the database's
# encoding through SQL, matches on character boundaries.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use Acdat;
use Encode ();
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_server('encodings');
my @options = ('policy=clean', 'format-version=2', 'include-transaction=0');

$node->safe_psql('postgres', "CREATE DATABASE \L$_\E ENCODING '$_' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
  foreach qw(UTF8 LATIN1 EUC_JP SQL_ASCII WIN1252);

# Bytes of the database's encoding as an SQL expression.
sub bytes
{
	my ($bytes) = @_;

	return "convert_from('\\x" . unpack('H*', $bytes) . "', getdatabaseencoding())";
}

# A policy whose terms are bytes in the database's encoding.
sub policy
{
	my ($database, %terms) = @_;

	$node->safe_psql($database, join "\n",
		'CREATE EXTENSION acdat_decoder; CREATE TABLE t (id serial, note text, v varchar(8), c "char");',
		"SELECT acdat.create_dictionary('clean'), acdat.create_policy('clean', 'clean');",
		(map { "SELECT acdat.add_terms('clean', ARRAY[" . bytes($_) . '], ARRAY[' . bytes($terms{$_}) . ']);' } sort keys %terms),
		"SELECT acdat.publish('clean');");
	create_slot($node, $database, "sql_$database", "walsender_$database");
	return;
}

# Lines of both interfaces for some notes given as bytes.
sub lines_of
{
	my ($database, @notes) = @_;
	my $column = 'note';

	$node->safe_psql($database, join "\n", map { "INSERT INTO t (note) VALUES (" . bytes($_) . ');' } @notes);
	my @by_walsender = recv($node, $database, "walsender_$database", \@options);
	my @by_sql = do {
		local $ENV{PGCLIENTENCODING} = $database eq 'sql_ascii' ? 'SQL_ASCII' : 'UTF8';
		changes($node, $database, "sql_$database", \@options);
	};

	return (\@by_walsender, \@by_sql);
}

sub notes
{
	return [ values_of('note', parse_lines(@_)) ];
}

sub check
{
	my ($database, $encoding, @cases) = @_;
	my ($by_walsender, $by_sql) = lines_of($database, map { Encode::encode($encoding, $_->[0]) } @cases);
	my @expected = map { $_->[1] } @cases;

	is_deeply(notes(@$by_walsender), \@expected, "$database: through a walsender, in UTF-8");
	is_deeply(notes(@$by_sql), \@expected, "$database: through SQL");
	return;
}

# ---- UTF8 ----

policy('utf8', map { Encode::encode('UTF-8', $_) } "Z\x{fc}rich" => "[\x{e9}]", "\x{65e5}\x{672c}" => '[JP]', "\x{1f600}" => '[:)]');
check('utf8', 'UTF-8',
	[ "in Z\x{fc}rich!", "in [\x{e9}]!" ], [ "\x{65e5}\x{672c}\x{8a9e}", "[JP]\x{8a9e}" ],
	[ "\x{1f600}\x{1f601}", "[:)]\x{1f601}" ], [ "Zu\x{308}rich", "Zu\x{308}rich" ], [ 'plain', 'plain' ]);
$node->safe_psql('utf8', "INSERT INTO t (v, c) SELECT repeat(" . bytes(Encode::encode('UTF-8', "\x{1f600}")) . ", 2) || 'abc', i::\"char\" FROM generate_series(-128, -1) i");
my @records = parse_lines(recv($node, 'utf8', 'walsender_utf8', \@options));
is(scalar @records, 128, 'utf8: bytes that are no characters, in "char"');
is(columns_of($records[0])->{v}, '[:)][:)]', 'utf8: cut to characters');
@records = parse_lines(changes($node, 'utf8', 'sql_utf8', \@options));
is(scalar @records, 128, 'utf8: through SQL too');
is($node->safe_psql('utf8', "SELECT count(*) FROM t WHERE c IS NOT NULL"), 128, 'they are stored');

# ---- LATIN1 and WIN1252 ----

policy('latin1', map { Encode::encode('iso-8859-1', $_) } "Z\x{fc}rich" => "[\x{e9}]");
check('latin1', 'iso-8859-1', [ "in Z\x{fc}rich!", "in [\x{e9}]!" ], [ "\x{e4}\x{f6}\x{fc}\x{ff}", "\x{e4}\x{f6}\x{fc}\x{ff}" ]);

policy('win1252', map { Encode::encode('cp1252', $_) } "Z\x{fc}rich" => '[CITY]', "10 \x{20ac}" => "[\x{20ac}]");
check('win1252', 'cp1252', [ "10 \x{20ac} in Z\x{fc}rich", "[\x{20ac}] in [CITY]" ], [ "\x{201c}\x{2019}", "\x{201c}\x{2019}" ]);

# A byte that is stored though it is no character: the value cannot be had in
# UTF-8, so it is masked.
$node->safe_psql('win1252', "INSERT INTO t (note) SELECT 'x' || chr(129) || 'in Z' || chr(252) || 'rich'");
my ($record) = parse_lines(recv($node, 'win1252', 'walsender_win1252', \@options));
is(columns_of($record)->{note}, '[REDACTED]', 'win1252: what has no UTF-8 form is masked');
$node->safe_psql('win1252', "SELECT pg_logical_emit_message($_, 'prefix', '\\x81615a'::bytea), pg_logical_emit_message($_, 'p' || chr(129), 'x')") foreach qw(true false);
$node->safe_psql('win1252', "INSERT INTO t (note) VALUES ('after')");
my @messages = parse_lines(recv($node, 'win1252', 'walsender_win1252', \@options));
is(scalar(grep { $_->{action} eq 'M' } @messages), 4, 'win1252: messages with such bytes');
is(columns_of($messages[-1])->{note}, 'after', 'win1252: the slot goes on');

# Names that have no UTF-8 form.
$node->safe_psql('win1252', 'DO $$ BEGIN EXECUTE format(\'CREATE TABLE %I (id int, %I text); INSERT INTO %I VALUES (1, %L)\', \'n\' || chr(129), \'c\' || chr(129), \'n\' || chr(129), \'value\'); END $$');
@records = parse_lines(recv($node, 'win1252', 'walsender_win1252', \@options));
is(scalar @records, 1, 'win1252: a table whose name has none');
is($records[0]{columns}[1]{value}, 'value', 'win1252: with its values');

# ---- EUC_JP ----

# the second byte of one character and the first of the next make a term
my $term = "\xb1\xa4";
policy('euc_jp', $term => '[JP]', 'plain' => "[\xa4\xa2]");
my ($by_walsender, $by_sql) = lines_of('euc_jp', "\xb0\xb1\xa4\xa2", "x${term}y", "\xb0\xb1${term}\xa4\xa2", "\x8e\xb1\xa4\xa2", 'plain');
my $inside = Encode::decode('euc-jp', "\xb0\xb1\xa4\xa2");
my $hiragana = Encode::decode('euc-jp', "\xa4\xa2");
my @expected = ($inside, 'x[JP]y', Encode::decode('euc-jp', "\xb0\xb1") . "[JP]$hiragana",
	Encode::decode('euc-jp', "\x8e\xb1\xa4\xa2"), "[$hiragana]");
is_deeply(notes(@$by_walsender), \@expected, 'euc_jp: matches start and end between characters');
is_deeply(notes(@$by_sql), \@expected, 'euc_jp: through SQL');

# ---- SQL_ASCII ----

policy('sql_ascii', "Z\xfcrich" => '[CITY]', "\xc3\xa9" => '[E]');
($by_walsender, $by_sql) = lines_of('sql_ascii', "in Z\xfcrich", "caf\xc3\xa9", "\xff\xfe", "\xc3\xbc");
is_deeply(notes(@$by_walsender), [ 'in [CITY]', 'caf[E]', "\x{fffd}\x{fffd}", "\x{fc}" ],
	'sql_ascii: valid UTF-8 through a walsender');
like($by_sql->[2], qr/"\xff\xfe"/, 'sql_ascii: bytes as they are through SQL');
like($by_sql->[0], qr/in \[CITY\]/, 'sql_ascii: redacted');
$node->safe_psql('sql_ascii', "SELECT pg_logical_emit_message(true, 'p', '\\xff00c3a9'::bytea)");
my ($message) = parse_lines(recv($node, 'sql_ascii', 'walsender_sql_ascii', \@options));
is($message->{content}, "\x{fffd}\0[E]", 'sql_ascii: a message');

# ---- another encoding of the client ----

$node->safe_psql('latin1', 'INSERT INTO t (note) VALUES (' . bytes("Z\xfcrich, \xe9") . ')');
{
	local $ENV{PGCLIENTENCODING} = 'LATIN1';
	my @lines = recv($node, 'latin1', 'walsender_latin1', \@options);
	is_deeply(notes(@lines), ["[\x{e9}], \x{e9}"], 'a walsender sends UTF-8 whatever the client');
	@lines = changes($node, 'latin1', 'sql_latin1', \@options);
	like($lines[0], qr/"\[\xe9\], \xe9"/, 'through SQL the server converts');
}

$node->stop;
done_testing();


# Types: where a type can carry text, none of it comes out with a term in it.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use Acdat;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_server('types');
my $db = 'postgres';
my $secret = 'Alice Example';
my $masked = '[REDACTED]';

$node->safe_psql($db, <<'SQL');
CREATE EXTENSION acdat_decoder;
CREATE DOMAIN note AS text;
CREATE DOMAIN short AS varchar(20);
CREATE DOMAIN doc AS jsonb;
CREATE DOMAIN notes AS text[];
CREATE TYPE person AS (name text, age int);
CREATE DOMAIN somebody AS person;
CREATE TYPE deep AS (p person, tags text[]);
CREATE TYPE numbers AS (a int, b numeric);
CREATE TYPE span AS RANGE (subtype = text);
CREATE TYPE mood AS ENUM ('fine', 'Alice Example');
CREATE TABLE "Alice Example" (i int);
CREATE ROLE "Alice Example";
CREATE TYPE bytes;
CREATE FUNCTION bytes_in(cstring) RETURNS bytes LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION bytes_out(bytes) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE TYPE bytes (INPUT = bytes_in, OUTPUT = bytes_out);
CREATE TYPE unknown_type;
CREATE FUNCTION unknown_in(cstring) RETURNS unknown_type LANGUAGE internal IMMUTABLE STRICT AS 'json_in';
CREATE FUNCTION unknown_out(unknown_type) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'json_out';
CREATE TYPE unknown_type (INPUT = unknown_in, OUTPUT = unknown_out);
SQL
my %contrib;
foreach my $extension (qw(hstore citext ltree))
{
	my ($status) = $node->psql($db, "CREATE EXTENSION $extension");

	$contrib{$extension} = $status == 0;
}
create_policy($node, $db, 'clean',
	{
		$secret => '[NAME]',
		'4111111111111111' => '[CARD]',
		'say "hi"' => '[QUOTE]',
		'back\\slash' => '[SLASH]',
		'it\'s me' => '[APOSTROPHE]',
		'R&D' => '[AND]',
		"tab\there" => '[TAB]',
		'Zürich' => '[CITY]' });
$node->safe_psql($db,
	"SELECT acdat.create_policy('all', 'clean', scan => 'all'), acdat.publish('all'),"
	  . " acdat.create_policy('open', 'clean', default_action => 'keep'), acdat.publish('open')");
create_slot($node, $db, qw(clean all open));

# [ type, SQL of the value, expected with scan = 'text', and with 'all' if that
# differs; undef where the value comes out as it is ]
my @cases = (
	# text-like
	[ 'text', "'for $secret'", 'for [NAME]' ],
	[ 'varchar(30)', "'for $secret'", 'for [NAME]' ],
	[ 'char(20)', "'for $secret'", 'for [NAME]          ' ],
	[ 'name', "'for $secret'", 'for [NAME]' ],
	[ 'note', "'for $secret'", 'for [NAME]' ],
	[ 'short', "'for $secret'", 'for [NAME]' ],
	[ 'refcursor', "'for $secret'", 'for [NAME]' ],
	[ 'bytes', "'for $secret'", 'for [NAME]' ],
	[ 'text', "'say \"hi\" back\\slash it''s me R&D tab\there Zürich'",
		'[QUOTE] [SLASH] [APOSTROPHE] [AND] [TAB] [CITY]' ],
	[ 'text', "'nothing here'", undef ],

	# arrays
	[ 'text[]', "ARRAY['x', '$secret']", $masked ],
	[ 'text[]', "ARRAY[['a', 'b'], ['c', '$secret']]", $masked ],
	[ 'varchar(30)[]', "ARRAY['$secret']", $masked ],
	[ 'name[]', "ARRAY['$secret']", $masked ],
	[ 'note[]', "ARRAY['$secret']", $masked ],
	[ 'notes', "ARRAY['$secret']", $masked ],
	[ 'text[]', "ARRAY['say \"hi\"']", $masked ],
	[ 'text[]', "ARRAY['back\\slash']", $masked ],
	[ 'text[]', "ARRAY['R&D']", $masked ],
	[ 'text[]', "ARRAY['a \"b\" c']", $masked ],
	[ 'text[]', "ARRAY['x', 'y', NULL]", undef ],
	[ 'int[]', 'ARRAY[1, 2]', undef ],
	[ 'mood[]', "ARRAY['fine', '$secret']::mood[]", $masked ],
	[ 'mood[]', "ARRAY['fine']::mood[]", undef ],
	[ 'jsonb[]', "ARRAY['{\"a\": \"$secret\"}']::jsonb[]", $masked ],

	# json
	[ 'json', "'{\"name\": \"$secret\"}'", $masked ],
	[ 'json', "'{\"$secret\": 1}'", $masked ],
	[ 'json', "'{\"name\": \"\\u0041lice Example\"}'", $masked ],
	[ 'json', "'{\"name\": \"say \\\"hi\\\"\"}'", $masked ],
	[ 'json', "'{\"name\": \"4111111111111111\"}'", $masked ],
	[ 'json', "'{\"card\": 4111111111111111}'", $masked ],
	[ 'json', "'{\"name\": \"nobody\"}'", undef ],
	[ 'jsonb', "'{\"name\": \"$secret\"}'", $masked ],
	[ 'jsonb', "'{\"$secret\": 1}'", $masked ],
	[ 'jsonb', "'{\"name\": \"\\u0041lice Example\"}'", $masked ],
	[ 'jsonb', "'\"$secret\"'", $masked ],
	[ 'jsonb', "'[[[\"$secret\"]]]'", $masked ],
	[ 'jsonb', "'{\"name\": \"back\\\\slash\"}'", $masked ],
	[ 'jsonb', "'{\"name\": \"tab\\there\"}'", $masked ],
	[ 'jsonb', "'{\"city\": \"Z\\u00fcrich\"}'", $masked ],
	[ 'jsonb', "'{\"name\": \"nobody\", \"n\": [1, 2, null]}'", undef ],
	[ 'doc', "'{\"name\": \"$secret\"}'", $masked ],
	[ 'jsonpath', "'\$.\"$secret\"'", $masked ],

	# composites
	[ 'person', "ROW('$secret', 5)", $masked ],
	[ 'person', "ROW('say \"hi\"', 5)", $masked ],
	[ 'person', "ROW('back\\slash', 5)", $masked ],
	[ 'person', "ROW('nobody', 5)", undef ],
	[ 'somebody', "ROW('$secret', 5)::person", $masked ],
	[ 'deep', "ROW(ROW('$secret', 5)::person, ARRAY['x'])::deep", $masked ],
	[ 'deep', "ROW(ROW('x', 5)::person, ARRAY['$secret'])::deep", $masked ],
	[ 'deep', "ROW(ROW('say \"hi\"', 5)::person, NULL)::deep", $masked ],
	[ 'person[]', "ARRAY[ROW('$secret', 5)::person]", $masked ],
	[ 'numbers', 'ROW(1, 2.5)', undef ],
	[ 'numbers', 'ROW(1, 4111111111111111)', undef, $masked ],

	# ranges
	[ 'span', "span('$secret', 'b')", $masked ],
	[ 'span', "span('a', 'say \"hi\"')", $masked ],
	[ 'span', "span('a', 'b\\c')", $masked ],
	[ 'span', "span('a', 'b')", undef ],
	[ 'multispan', "multispan(span('$secret', 'b'))", $masked, undef, 'span_multirange' ],
	[ 'int4range', "int4range(1, 5)", undef ],
	[ 'tstzrange', "tstzrange('2024-01-01 00:00+00', NULL)", undef ],
	[ 'int4multirange', "int4multirange(int4range(1, 5))", undef ],

	# others that hold text
	[ 'xml', "'<p>$secret</p>'::xml", $masked ],
	[ 'xml', "'<p>R&amp;D</p>'::xml", $masked ],
	[ 'xml', "'<p>&#65;lice Example</p>'::xml", $masked ],
	[ 'xml', "'<p>Alice<![CDATA[ Example]]></p>'::xml", $masked ],
	[ 'xml', "'<p>Alice<!-- --> Example</p>'::xml", $masked ],
	[ 'xml', "'Alice<?x y?> Example'::xml", $masked ],
	[ 'xml', "'<?xml version=\"1.1\"?><p>Alice<?x y?> Example</p>'::xml", $masked ],
	[ 'xml', "'<?xml version=\"1.1\"?><p>nobody</p>'::xml", undef ],
	[ 'xml', "'<p>nobody</p>'::xml", undef ],
	[ 'mood', "'$secret'", $masked ],
	[ 'mood', "'fine'", undef ],
	[ 'tsvector', "to_tsvector('simple', '$secret')", $masked ],
	[ 'tsvector', "to_tsvector('simple', 'nobody')", $masked ],
	[ 'tsvector[]', "ARRAY[to_tsvector('simple', 'nobody')]", $masked ],
	[ 'tsquery', "'''$secret'''::tsquery", $masked ],
	[ 'tsquery', "'''it''''s me'''::tsquery", $masked ],
	[ 'tsquery', "'nobody'::tsquery", $masked ],
	[ 'tsquery[]', "ARRAY[to_tsquery('english', 'examples')]", $masked ],
	[ 'regclass', "'\"$secret\"'::regclass", $masked ],
	[ 'regrole', "'\"$secret\"'::regrole", $masked ],
	[ 'regtype', "'int4'::regtype", undef ],
	[ 'aclitem', "makeaclitem('\"$secret\"'::regrole, 10, 'SELECT', false)", $masked ],
	[ '"char"', "'x'", undef ],
	[ 'unknown_type', "'{\"a\": \"$secret\"}'", $masked ],
	[ 'unknown_type', "'{\"a\": \"\\u0041\"}'", $masked ],
	[ 'unknown_type', "'{\"a\": 1}'", undef ],

	# types that hold none
	[ 'bigint', '4111111111111111', undef, $masked ],
	[ 'numeric', '4111111111111111', undef, $masked ],
	[ 'float8', '1.5', undef ],
	[ 'bool', 'true', undef ],
	[ 'bytea', "'\\x41'", undef ],
	[ 'uuid', "'0f0e0d0c-0b0a-0908-0706-050403020100'", undef ],
	[ 'inet', "'10.0.0.1'", undef ],
	[ 'timestamptz', "'2024-03-04 05:06:07+00'", undef ],
	[ 'interval', "'1 day'", undef ],
	[ 'point', "'(1,2)'", undef ],
	[ 'bit(3)', "B'101'", undef ],
	[ 'int2vector', "'1 2 3'", undef ]);
push @cases, [ 'hstore', "hstore('name', '$secret')", $masked ], [ 'hstore', "hstore('$secret', 'x')", $masked ],
  [ 'hstore', "hstore('x', 'say \"hi\"')", $masked ], [ 'hstore', "hstore('x', 'back\\slash')", $masked ],
  [ 'hstore', "hstore('x', 'nobody')", undef ]
  if $contrib{hstore};
push @cases, [ 'citext', "'for $secret'", 'for [NAME]' ], [ 'citext[]', "ARRAY['for $secret']", $masked ]
  if $contrib{citext};
push @cases, [ 'ltree', "'a.b'", undef ] if $contrib{ltree};
if ($node->safe_psql($db, "SELECT count(*) FROM pg_type WHERE typname = 'xml'") eq '0'
	|| ($node->psql($db, "SELECT '<a/>'::xml"))[0] != 0)
{
	@cases = grep { $_->[0] ne 'xml' } @cases;
}

my $number = 0;
my @sql;
foreach my $case (@cases)
{
	my $type = $case->[4] || $case->[0];

	$type = 'spanmultirange' if $case->[0] eq 'multispan';
	$number++;
	$case->[0] = $type;
	push @sql, "CREATE TABLE t$number (v $type);";
}
my ($multirange) = $node->safe_psql($db,
	"SELECT rngmultitypid::regtype FROM pg_range WHERE rngtypid = 'span'::regtype");
s/\bspanmultirange\b/$multirange/ foreach @sql;
$node->safe_psql($db, join "\n", @sql);
$number = 0;
@sql = ();
foreach my $case (@cases)
{
	my $value = $case->[1];

	$value =~ s/^multispan\b/$multirange/;
	$number++;
	push @sql, "INSERT INTO t$number VALUES ($value);";
}
$node->safe_psql($db, join "\n", @sql);

my %raw = map { $_->{table} => columns_of($_)->{v} }
  of_action('I', changes($node, $db, 'open', [ 'policy=open', 'format-version=2' ]));
my %text = map { $_->{table} => columns_of($_)->{v} }
  of_action('I', recv($node, $db, 'clean', [ 'policy=clean', 'format-version=2' ]));
my %all = map { $_->{table} => columns_of($_)->{v} }
  of_action('I', changes($node, $db, 'all', [ 'policy=all', 'format-version=2' ]));

$number = 0;
foreach my $case (@cases)
{
	my ($type, $value, $expected, $expected_all) = @$case;
	my $table = 't' . ++$number;
	my $name = "$type $value";
	my $original = $raw{$table};

	utf8::decode($name);
	$name =~ s/([^\x20-\x7e])/?/g;
	$expected_all = $expected unless defined $expected_all;
	is($text{$table}, defined $expected ? $expected : $original, "$name");
	is($all{$table}, defined $expected_all ? $expected_all : $original, "$name: scan = 'all'");
	next if defined $expected && $expected ne $masked;
	is(ref $text{$table}, ref $original, "$name: of the same kind") unless defined $expected;
}
is($raw{t1}, "for $secret", 'keep lets a value pass as it is');
like($raw{t26}, qr/$secret/, 'of any type');
is(scalar keys %raw, scalar @cases, 'every case was seen');

# The same values in one row, in version 1.
$node->safe_psql($db,
	'CREATE TABLE wide (' . join(', ', map { "c$_ " . ($cases[ $_ - 1 ][0] eq 'spanmultirange' ? $multirange : $cases[ $_ - 1 ][0]) } 1 .. $number) . ');'
	  . 'INSERT INTO wide SELECT ' . join(', ', map { "t$_.v" } 1 .. $number) . ' FROM ' . join(', ', map { "t$_" } 1 .. $number));
my ($object) = grep { @{ $_->{change} } } parse_lines(changes($node, $db, 'clean', ['policy=clean']));
my $change = $object->{change}[0];
my %wide;
@wide{ @{ $change->{columnnames} } } = @{ $change->{columnvalues} };
is_deeply([ map { $wide{"c$_"} } 1 .. $number ], [ map { $text{"t$_"} } 1 .. $number ],
	'all in one row, in version 1');

$node->stop;
done_testing();

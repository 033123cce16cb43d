# acdat load: what it loads, what it refuses, and that no term gets into the
# server's log, its statistics or an error message on the way.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use AcdatTool;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes ();

my $dir = tool_dir();
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;

# A server that logs all it can.
my $pkglibdir = $node->config_data('--pkglibdir');
my @preload = grep { -e "$pkglibdir/$_.so" } qw(auto_explain pg_stat_statements);
my ($major) = $node->config_data('--version') =~ /(\d+)/;
$node->append_conf(
	'postgresql.conf', qq{
max_prepared_transactions = 2
max_wal_size = 8GB
shared_preload_libraries = '@{[join ',', @preload]}'
log_statement = all
log_min_messages = debug5
log_min_error_statement = debug5
log_min_duration_statement = 0
log_parameter_max_length = -1
log_parameter_max_length_on_error = -1
log_error_verbosity = verbose
log_duration = on
debug_print_parse = on
debug_print_rewritten = on
debug_print_plan = on
});
if (grep { $_ eq 'auto_explain' } @preload)
{
	$node->append_conf(
		'postgresql.conf', q{
auto_explain.log_min_duration = 0
auto_explain.log_analyze = on
auto_explain.log_verbose = on
auto_explain.log_nested_statements = on
});
	$node->append_conf('postgresql.conf', 'auto_explain.log_parameter_max_length = -1')
	  if $major >= 16;
}
$node->append_conf('postgresql.conf', 'pg_stat_statements.track = all')
  if grep { $_ eq 'pg_stat_statements' } @preload;
$node->start;

$node->safe_psql('postgres', "CREATE DATABASE u8 ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0");
$node->safe_psql('postgres', "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
$node->safe_psql('postgres', "CREATE DATABASE japan ENCODING 'EUC_JP' LOCALE 'C' TEMPLATE template0");
$node->safe_psql('postgres', "CREATE DATABASE bare TEMPLATE template0");
$node->safe_psql($_, 'CREATE EXTENSION acdat_decoder') for qw(u8 latin japan);
$node->safe_psql('u8', 'CREATE EXTENSION pg_stat_statements')
  if grep { $_ eq 'pg_stat_statements' } @preload;

sub load
{
	my ($database, @args) = @_;
	return acdat('', 'load', '-h', $node->host, '-p', $node->port, '-d', $database, @args);
}

sub count_terms
{
	my ($database) = @_;
	return $node->safe_psql($database, 'SELECT count(*) FROM acdat.terms');
}

sub terms_of
{
	my ($database, $dictionary) = @_;
	return $node->safe_psql($database,
		"SELECT coalesce(string_agg(format('%s>%s>%s', pattern, replacement, priority), '|' ORDER BY id), '') "
		  . "FROM acdat.terms WHERE dictionary = '$dictionary'");
}

my ($code, $out, $err);
my $control = qr/[\x00-\x09\x0b-\x1f\x7f]/;

# ---- the command line ----

($code, $out, $err) = acdat('', '--help');
is($code, 0, '--help');
like($out, qr/^  load /m, '--help lists the commands');
($code, $out, $err) = acdat('', '--version');
is($code, 0, '--version');
like($out, qr/^acdat \(acdat_decoder\) \d+\.\d+\.\d+$/, '--version prints one');
($code, $out, $err) = acdat('', 'load', '--help');
is($code, 0, 'load --help');
like($out, qr/--dictionary/, 'load --help lists the options');
is_deeply([ (acdat('', 'load', '-?'))[ 0, 1 ] ], [ 0, $out ], 'load -? is the same');

my $any = file('any.tsv', secret() . "\n");
for my $usage (
	[ 'no command', [], qr/no command given/ ],
	[ 'unknown command', ['laod'], qr/unknown command "laod"/ ],
	[ 'unknown option', [ 'load', '--bogus' ], qr/unrecognized option '--bogus'/ ],
	[ 'no dictionary', [ 'load', $any ], qr/no dictionary given/ ],
	[ 'no file', [ 'load', '-D', 'd' ], qr/no file given/ ],
	[ 'two files', [ 'load', '-D', 'd', $any, $any ], qr/more than one file/ ],
	[ 'replacement of no new dictionary', [ 'load', '-D', 'd', '--default-replacement=x', $any ], qr/needs --create/ ])
{
	my ($name, $args, $message) = @$usage;
	($code, $out, $err) = acdat('', @$args);
	is($code, 2, "$name: exit code");
	like($err, $message, "$name: message");
	like($err, qr/^Try "acdat .*--help"/m, "$name: points at the help");
}

# ---- what goes in ----

my ($s1, $s2, $s3, $s4) = map { secret() } 1 .. 4;
my $file = file('good.tsv',
	"\xEF\xBB\xBF$s1\r\n\r\n\n$s2\t[B]\r\n$s3\t\t-5\n\xE9\x9F\xB3\xE4\xB9\x90$s4\t\xF0\x9F\x8E\xB5\t2147483647");

($code, $out, $err) = load('u8', '-D', 'names', $file);
is($code, 2, 'unknown dictionary: exit code');
like($err, qr/^acdat: dictionary "names" does not exist$/m, 'unknown dictionary: message');
is(count_terms('u8'), 0, 'unknown dictionary: nothing is loaded');

($code, $out, $err) = load('u8', '-D', 'names', '--create', $file);
is($code, 0, 'load: exit code');
like($out, qr/^4 terms loaded in \d+\.\d s$/, 'load: summary');
is($err, '', 'load: nothing on stderr');
is(terms_of('u8', 'names'), "$s1>>0|$s2>[B]>0|$s3>>-5|\xE9\x9F\xB3\xE4\xB9\x90$s4>\xF0\x9F\x8E\xB5>2147483647",
	'BOM, CRLF, empty lines, no last newline, CJK, emoji, priorities');

($code, $out, $err) = load('u8', '-D', 'nmaes', $file);
is($code, 2, 'misspelt dictionary: exit code');
like($err, qr/^acdat: hint: .*names/m, 'misspelt dictionary: the near name');

my $more = file('more.tsv', "$s1 again\n");
($code, $out, $err) = load('u8', '-D', 'names', $more);
is($code, 0, 'load adds: exit code');
is(count_terms('u8'), 5, 'load adds');
($code, $out, $err) = load('u8', '-D', 'names', '--replace', '--create', $more);
is($code, 0, '--replace: exit code');
is(terms_of('u8', 'names'), "$s1 again>>0", '--replace removes the present terms; --create of what exists');

($code, $out, $err) = acdat("$s2\n$s3", 'load', '-h', $node->host, '-p', $node->port, '-d', 'u8', '-D', 'names', '--replace', '-');
is($code, 0, 'standard input: exit code');
is(terms_of('u8', 'names'), "$s2>>0|$s3>>0", 'standard input');

my $connection = 'host=' . $node->host . ' port=' . $node->port . ' dbname=u8';
($code, $out, $err) = acdat('', 'load', '-d', $connection, '--dictionary', 'names', '--replace', '--progress', $file);
is($code, 0, 'connection string: exit code');
like($err, qr/^acdat: storing: 4 of 4 terms$/m, '--progress without a terminal');
is(count_terms('u8'), 4, 'connection string');

my $escaped = file('escaped.tsv', "$s1\\t\\\\t\tx\\ny\n$s2\\r\n");
($code, $out, $err) = load('u8', '-D', 'names', '--replace', '--escapes', $escaped);
is($code, 0, '--escapes: exit code');
is(terms_of('u8', 'names'), "$s1\t\\t>x\ny>0|$s2\r>>0", '--escapes');
($code, $out, $err) = load('u8', '-D', 'names', '--replace', $escaped);
is(terms_of('u8', 'names'), "$s1\\t\\\\t>x\\ny>0|$s2\\r>>0", 'no --escapes: as they stand');

# the greatest pattern and line there may be
my $big = file('big.tsv',
	$s1 . ('x' x (65535 - length $s1)) . "\n" . $s2 . "\t" . ('y' x (1048576 - 1 - length $s2)) . "\r\n");
($code, $out, $err) = load('u8', '-D', 'names', '--replace', $big);
is($code, 0, 'greatest lengths: exit code');
is($node->safe_psql('u8', "SELECT octet_length(pattern), octet_length(replacement) FROM acdat.terms ORDER BY id"),
	"65535|\n" . length($s2) . '|' . (1048576 - 1 - length $s2), 'greatest lengths');

for my $name ("it's", 'say "x"', 'back\\slash', "new\nline", "tab\t", "\xF0\x9F\x99\x88 select", '$1', '%s%n', '; DROP TABLE x', '-d')
{
	($code, $out, $err) = load('u8', "--dictionary=$name", '--create', '--default-replacement=<&>', $more);
	is($code, 0, "dictionary name: exit code");
	(my $literal = $name) =~ s/'/''/g;
	is(terms_of('u8', $literal), "$s1 again>>0", "dictionary name: loaded");
	is($node->safe_psql('u8', "SELECT replacement FROM acdat.dictionaries WHERE name = '$literal'"),
		'<&>', '--default-replacement');
}
($code, $out, $err) = load('u8', '-D', 'names', '--create', '--default-replacement=x', $more);
is($code, 2, '--default-replacement of a dictionary that exists');
($code, $out, $err) = load('u8', "-D", "no\e[31m\nsuch", $more);
unlike($err, $control, 'a name cannot drive the terminal');

# ---- what does not ----

$node->safe_psql('u8', "DELETE FROM acdat.terms");
$node->safe_psql('u8', "SELECT acdat.add_terms('names', ARRAY['keep'])");

my $utf8 = qr/invalid UTF-8/;
my $nul = qr/NUL byte/;
my $utf16 = qr/the file is in UTF-16/;
my $priority = qr/priority is not an integer/;
my $fields = qr/more than three fields/;
my $escape = qr/backslash not followed/;
my $long = qr/line longer than 1048576 bytes/;

# name, line of the fault, message, content with S for a secret, options
my @malformed = (
	[ 'lone continuation byte', 1, $utf8, "S\x80\n" ],
	[ 'two-byte sequence cut by the line end', 1, $utf8, "S\xC3\nS\n" ],
	[ 'three-byte sequence cut by the line end', 2, $utf8, "S\nS\xE4\xB8\nS\n" ],
	[ 'four-byte sequence cut by the end', 2, $utf8, "S\nS\xF0\x9F\x98" ],
	[ 'sequence cut by a tab', 1, $utf8, "S\xE4\xB8\tS\n" ],
	[ 'overlong slash in two bytes', 1, $utf8, "S\xC0\xAF\n" ],
	[ 'overlong in two bytes', 1, $utf8, "S\xC1\xBF\n" ],
	[ 'overlong slash in three bytes', 1, $utf8, "S\xE0\x80\xAF\n" ],
	[ 'overlong in three bytes', 1, $utf8, "S\xE0\x9F\xBF\n" ],
	[ 'overlong slash in four bytes', 1, $utf8, "S\xF0\x80\x80\xAF\n" ],
	[ 'overlong in four bytes', 1, $utf8, "S\xF0\x8F\xBF\xBF\n" ],
	[ 'overlong NUL', 1, $utf8, "S\xC0\x80\n" ],
	[ 'first surrogate', 1, $utf8, "S\xED\xA0\x80\n" ],
	[ 'last surrogate', 1, $utf8, "S\xED\xBF\xBF\n" ],
	[ 'surrogate pair', 1, $utf8, "S\xED\xA0\xBD\xED\xB8\x80\n" ],
	[ 'past U+10FFFF', 1, $utf8, "S\xF4\x90\x80\x80\n" ],
	[ 'far past U+10FFFF', 1, $utf8, "S\xF5\x80\x80\x80\n" ],
	[ 'five-byte sequence', 1, $utf8, "S\xF8\x88\x80\x80\x80\n" ],
	[ 'byte FE', 1, $utf8, "S\xFE\n" ],
	[ 'byte FF', 1, $utf8, "S\xFF\n" ],
	[ 'Latin-1', 3, $utf8, "S\nS\nS caf\xE9\r\n" ],
	[ 'GBK', 1, $utf8, "S\xD2\xF4\xC0\xD6\n" ],
	[ 'bad second byte', 1, $utf8, "S\xE4\x41\x90\n" ],
	[ 'bad third byte', 1, $utf8, "S\xE4\xB9\x41\n" ],
	[ 'bad fourth byte', 1, $utf8, "S\xF0\x9F\x98\x41\n" ],
	[ 'invalid replacement', 1, $utf8, "S\tS\xFF\n" ],
	[ 'invalid priority', 1, $utf8, "S\tS\t1\xFF\n" ],
	[ 'NUL in a pattern', 2, $nul, "S\nS\0S\n" ],
	[ 'NUL in a replacement', 1, $nul, "S\tS\0S\n" ],
	[ 'NUL as a line', 2, $nul, "S\n\0\nS\n" ],
	[ 'NUL at the end', 1, $nul, "S\0" ],
	[ 'UTF-16LE with mark', 1, $utf16, "\xFF\xFES\0\n\0" ],
	[ 'UTF-16BE with mark', 1, $utf16, "\xFE\xFF\0S\0\n" ],
	[ 'UTF-16LE without mark', 1, $nul, "S\0S\0\n\0" ],
	[ 'UTF-32LE', 1, $utf16, "\xFF\xFE\0\0S\0\0\0" ],
	[ 'mark on the second line', 2, qr/byte order mark/, "S\n\xEF\xBB\xBFS\n" ],
	[ 'two marks', 1, qr/byte order mark/, "\xEF\xBB\xBF\xEF\xBB\xBFS\n" ],
	[ 'empty pattern', 2, qr/empty pattern/, "S\n\tS\n" ],
	[ 'empty pattern with priority', 1, qr/empty pattern/, "\tS\t3\n" ],
	[ 'nothing but tabs', 1, qr/empty pattern/, "\t\t\nS\n" ],
	[ 'empty pattern after the mark', 1, qr/empty pattern/, "\xEF\xBB\xBF\tS\n" ],
	[ 'pattern too long', 1, qr/pattern longer than 65535/, 'S' . ('x' x 65536) . "\n" ],
	[ 'pattern too long in CJK', 1, qr/pattern longer than 65535/, 'S' . ("\xE9\x9F\xB3" x 21846) . "\n" ],
	[ 'line too long', 2, $long, "S\nS\t" . ('x' x 1048576) . "\nS\n" ],
	[ 'line too long by one', 1, $long, "ab\t" . ('x' x 1048574) . "\nS\n" ],
	[ 'line much too long', 1, $long, "S\t" . ('x' x 5000000) . "\nS\n" ],
	[ 'line too long at the end', 2, $long, "S\nS\t" . ('x' x 3000000) ],
	[ 'four fields', 1, $fields, "S\tS\t1\tS\n" ],
	[ 'four fields, the last empty', 1, $fields, "S\tS\t1\t\n" ],
	[ 'many fields', 1, $fields, "S" . ("\tS" x 1000) . "\n" ],
	[ 'priority a word', 1, $priority, "S\tS\tS\n" ],
	[ 'priority a fraction', 1, $priority, "S\tS\t1.5\n" ],
	[ 'priority after a space', 1, $priority, "S\tS\t 1\n" ],
	[ 'priority before a space', 1, $priority, "S\tS\t1 \n" ],
	[ 'priority too great', 1, $priority, "S\tS\t2147483648\n" ],
	[ 'priority too small', 1, $priority, "S\tS\t-2147483649\n" ],
	[ 'priority far too great', 1, $priority, "S\tS\t" . ('9' x 100) . "\n" ],
	[ 'priority a sign', 1, $priority, "S\tS\t-\n" ],
	[ 'priority two signs', 1, $priority, "S\tS\t+-1\n" ],
	[ 'priority in hexadecimal', 1, $priority, "S\tS\t0x10\n" ],
	[ 'priority in Arabic digits', 1, $priority, "S\tS\t\xD9\xA1\n" ],
	[ 'carriage return inside', 1, qr/carriage return/, "S\rS\n" ],
	[ 'carriage returns as line ends', 1, qr/carriage return/, "S\rS\rS\r" ],
	[ 'two carriage returns', 1, qr/carriage return/, "S\r\r\n" ],
	[ 'unknown escape', 1, $escape, "S\\qS\n", '--escapes' ],
	[ 'backslash at the end', 1, $escape, "S\\\n", '--escapes' ],
	[ 'backslash before a tab', 1, $escape, "S\\\tS\n", '--escapes' ],
	[ 'unknown escape in the replacement', 2, $escape, "S\nS\tS\\0\n", '--escapes' ],
	[ 'empty file', 0, qr/no terms/, '' ],
	[ 'nothing but empty lines', 0, qr/no terms/, "\n\r\n\n" ],
	[ 'nothing but a mark', 0, qr/no terms/, "\xEF\xBB\xBF" ],
	[ 'too many terms', 1000001, qr/more than 1000000 terms/, "S\n" x 1000002 ],);

cmp_ok(scalar @malformed, '>=', 50, 'kinds of malformed files');
for my $kind (@malformed)
{
	my ($name, $line, $message, $content, @options) = @$kind;
	my $token = secret();
	$content =~ s/S/$token/g;
	my $path = file('malformed.tsv', $content);

	($code, $out, $err) = load('u8', '-D', 'names', '--replace', @options, $path);
	is($code, 1, "$name: exit code");
	my $where = $line ? quotemeta("malformed.tsv:$line") : 'malformed\.tsv';
	like($err, qr/^acdat: \S*$where: $message/m, "$name: line and message");
	unlike($out . $err, qr/$token|$control/, "$name: nothing of the line");

	my ($piped, undef, $piped_err) = acdat($content, 'load', '-h', $node->host, '-p', $node->port,
		'-d', 'u8', '-D', 'names', '--replace', @options, '-');
	(my $expected = $err) =~ s/^acdat: \S*malformed\.tsv/acdat: <stdin>/mg;
	is_deeply([ $piped, $piped_err ], [ 1, $expected ], "$name: the same from a pipe");
}
is(terms_of('u8', 'names'), 'keep>>0', 'no malformed file changed anything');

$file = file('many.tsv', join '', map { ($_ % 2 ? secret() : secret() . "\xFF") . "\n" } 1 .. 50);
($code, $out, $err) = load('u8', '-D', 'names', $file);
is(scalar(() = $err =~ /^acdat: \S+many\.tsv:\d+: invalid UTF-8$/mg), 20, 'twenty bad lines are named');
like($err, qr/many\.tsv: 5 more bad lines/, 'the others are counted');

for my $trouble ([ 'missing file', "$dir/missing", qr/No such file/ ], [ 'directory', $dir, qr/Is a directory/ ])
{
	my ($name, $path, $message) = @$trouble;
	($code, $out, $err) = load('u8', '-D', 'names', $path);
	is($code, 2, "$name: exit code");
	like($err, $message, "$name: message");
}
SKIP:
{
	skip 'root reads everything', 1 if $> == 0;
	my $path = file('unreadable.tsv', secret() . "\n");
	chmod 0, $path;
	is((load('u8', '-D', 'names', $path))[0], 2, 'unreadable file');
}

($code, $out, $err) = load('bare', '-D', 'names', $more);
is($code, 2, 'no extension: exit code');
like($err, qr/extension acdat_decoder is not installed/, 'no extension: message');
($code, $out, $err) = load('nowhere', '-D', 'names', $more);
is($code, 2, 'no database: exit code');

# ---- encodings ----

for my $case (
	[ 'latin', 'LATIN1', "caf\xC3\xA9 ", "\xE9\x9F\xB3", "caf\xE9 " ],
	[ 'japan', 'EUC_JP', "\xE9\x9F\xB3", "\xE4\xB9\x90", "\xB2\xBB" ])
{
	my ($database, $encoding, $fits, $not, $stored) = @$case;
	my ($a, $b, $c) = map { secret() } 1 .. 3;
	my $fault = qr/term cannot be represented in the database encoding "$encoding"/;
	$file = file('fits.tsv', "$fits$a\t$fits\n");
	($code, $out, $err) = load($database, '-D', 'd', '--create', $file);
	is($code, 0, "$encoding: exit code");
	is($node->safe_psql($database, "SELECT convert_to(pattern, '$encoding'), convert_to(replacement, '$encoding') FROM acdat.terms"),
		'\x' . unpack('H*', "$stored$a") . '|\x' . unpack('H*', $stored), "$encoding: converted");

	$file = file('unfit.tsv', "\n$fits$a\n$b$not\n$b\t$c$not\n$a\n");
	($code, $out, $err) = load($database, '-D', 'd', '--replace', $file);
	is($code, 1, "$encoding: exit code of what does not fit");
	is(scalar(() = $err =~ /^acdat: /mg), 2, "$encoding: as many messages as such lines");
	like($err, qr/unfit\.tsv:$_: $fault/, "$encoding: line $_") for 3, 4;
	is(count_terms($database), 1, "$encoding: nothing is loaded");

	$file = file('unfit.tsv', join '', map { "$b$_" . ($_ % 10 ? '' : $not) . "\n" } 1 .. 1000);
	($code, $out, $err) = load($database, '-D', 'd', $file);
	is(join(',', $err =~ /unfit\.tsv:(\d+): $fault/g), join(',', map { $_ * 10 } 1 .. 20), "$encoding: twenty lines");
	like($err, qr/there may be more/, "$encoding: and more");
}

# longer in the database encoding than in UTF-8
my $grows = "\xC4\xA6" x 32767;		# three bytes each in EUC_JP
$file = file('grows.tsv', secret() . "\n$grows\n");
($code, $out, $err) = load('japan', '-D', 'd', $file);
is($code, 1, 'too long once converted: exit code');
like($err, qr/grows\.tsv:2: pattern does not have 1 to 65535 bytes/, 'too long once converted: line');

# ---- errors of the server ----

# what a user may have put on the table raises errors with terms in them
my $one = secret();
$file = file('one.tsv', secret() . "\n$one\n");
for my $guard (
	[ 'check constraint', "ALTER TABLE acdat.terms ADD CONSTRAINT guard CHECK (pattern NOT LIKE 'Zaube%')",
		'ALTER TABLE acdat.terms DROP CONSTRAINT guard', '23514' ],
	[ 'unique index', "CREATE UNIQUE INDEX guard ON acdat.terms ((left(pattern, 5)))", 'DROP INDEX acdat.guard', '23505' ],
	[ 'not null', 'ALTER TABLE acdat.terms ALTER replacement SET NOT NULL',
		'ALTER TABLE acdat.terms ALTER replacement DROP NOT NULL', '23502' ],
	[ 'trigger', q{CREATE FUNCTION guard() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'no: %', NEW.pattern USING DETAIL = NEW.pattern, HINT = NEW.pattern,
			SCHEMA = 'acdat', CONSTRAINT = 'load_terms'; END $$;
		CREATE TRIGGER guard AFTER INSERT ON acdat.terms FOR EACH ROW EXECUTE FUNCTION guard()},
		'DROP FUNCTION guard() CASCADE', 'P0001' ],
	[ 'deferred trigger', q{CREATE FUNCTION guard() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'no: %', NEW.pattern; END $$;
		CREATE CONSTRAINT TRIGGER guard AFTER INSERT ON acdat.terms DEFERRABLE INITIALLY DEFERRED
			FOR EACH ROW EXECUTE FUNCTION guard()},
		'DROP FUNCTION guard() CASCADE', 'P0001' ],
	[ 'assertion', q{CREATE FUNCTION guard() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN ASSERT false, NEW.pattern; END $$;
		CREATE TRIGGER guard BEFORE INSERT ON acdat.terms FOR EACH ROW EXECUTE FUNCTION guard()},
		'DROP FUNCTION guard() CASCADE', 'P0004' ],
	[ 'cancellation by a trigger', q{CREATE FUNCTION guard() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'no: %', NEW.pattern USING ERRCODE = 'query_canceled'; END $$;
		CREATE TRIGGER guard BEFORE INSERT ON acdat.terms FOR EACH ROW EXECUTE FUNCTION guard()},
		'DROP FUNCTION guard() CASCADE', '57014' ],
	[ 'conversion error of a trigger', q{CREATE FUNCTION guard() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'no: %', NEW.pattern USING ERRCODE = 'untranslatable_character'; END $$;
		CREATE TRIGGER guard AFTER INSERT ON acdat.terms FOR EACH ROW EXECUTE FUNCTION guard()},
		'DROP FUNCTION guard() CASCADE', '22P05' ])
{
	my ($name, $set, $unset, $sqlstate) = @$guard;
	$node->safe_psql('u8', "TRUNCATE acdat.terms; $set");
	($code, $out, $err) = load('u8', '-D', 'names', $file);
	is($code, 2, "$name: exit code");
	like($err, qr/^acdat: could not store terms in dictionary "names": .* \(SQLSTATE $sqlstate\)$/, "$name: message");
	$node->safe_psql('u8', $unset);
	is(count_terms('u8'), 0, "$name: nothing is loaded");
}

# Whatever the server says once it has terms, acdat does not repeat it: here the
# function itself quotes one (a word of its own, as the server logs it).
$file = file('quoted.tsv', "QuotedWord\n");
$node->safe_psql('u8', q{
	ALTER FUNCTION acdat.load_terms RENAME TO load_terms_kept;
	CREATE FUNCTION acdat.load_terms(dictionary text, staging regclass, replace boolean) RETURNS bigint
		LANGUAGE plpgsql AS $$
	DECLARE
		term text;
	BEGIN
		EXECUTE format('SELECT convert_from(pattern, ''UTF8'') FROM %s', staging) INTO term;
		IF term IS NOT NULL THEN
			RAISE WARNING 'careful: %', term;
			RAISE EXCEPTION 'no: %', term USING DETAIL = term, HINT = term, TABLE = term;
		END IF;
		RETURN 0;
	END $$});
($code, $out, $err) = load('u8', '-D', 'names', $file);
is($code, 2, 'error that quotes a term: exit code');
is($err, "acdat: could not load the terms: an error whose text is withheld, as it may quote a term (SQLSTATE P0001)\n",
	'error that quotes a term: message');
$node->safe_psql('u8', q{DROP FUNCTION acdat.load_terms;
	ALTER FUNCTION acdat.load_terms_kept RENAME TO load_terms});

# a role that may not
$node->safe_psql('u8', 'CREATE ROLE nobody LOGIN');
($code, $out, $err) = load('u8', '-U', 'nobody', '-D', 'names', $file);
is($code, 2, 'no privileges: exit code');
like($err, qr/^acdat: permission denied for/, 'no privileges: message');

# The function by itself, with what acdat would never send.  These statements
# are logged, so the secret stands mirrored in them and is turned at run time.
my $mirrored = reverse secret();
for my $bad (
	[ 'null pattern', 'NULL::bytea', 'b', qr/does not have 1 to 65535 bytes/ ],
	[ 'empty pattern', q{''::bytea}, 'b', qr/does not have 1 to 65535 bytes/ ],
	[ 'pattern too long', q{b || convert_to(repeat('x', 65536), 'UTF8')}, 'b', qr/does not have 1 to 65535 bytes/ ],
	[ 'invalid pattern', q{b || '\xff'}, 'b', qr/cannot be represented/ ],
	[ 'surrogate', q{b || '\xeda080'}, 'b', qr/cannot be represented/ ],
	[ 'NUL', q{b || '\x00'}, 'b', qr/cannot be represented/ ],
	[ 'invalid replacement', 'b', q{b || '\xff'}, qr/cannot be represented/ ])
{
	my ($name, $pattern, $replacement, $message) = @$bad;
	my (undef, undef, $stderr) = $node->psql('u8', qq{
		CREATE TEMP TABLE m AS SELECT '$mirrored'::text AS m;
		CREATE TEMP TABLE s (line bigint, pattern bytea, replacement bytea, priority int);
		INSERT INTO s SELECT 1, 'a'::bytea, NULL, 0 UNION ALL
			SELECT 7, $pattern, $replacement, NULL FROM (SELECT convert_to(reverse(m), 'UTF8') AS b FROM m) AS x;
		SELECT acdat.load_terms('names', 's');});
	like($stderr, qr/ERROR:  .*$message.*\n.*Lines: 7\.$/m, "load_terms, $name");
	keep_said($stderr);
}

# ---- a client that dies ----

# the lock of a prepared transaction keeps load_terms from ever finishing
my $generated = "$dir/million.tsv";
my $million = secret();
open my $fh, '>:raw', $generated or die "$generated: $!";
printf $fh "%s %d\t[R%d]\n", $million, $_, $_ % 10 for 1 .. 1000000;
close $fh or die "$generated: $!";
my $waiting = q{SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'acdat' AND wait_event_type = 'Lock'};
my $copying = q{SELECT count(*) = 1 FROM pg_stat_activity a LEFT JOIN pg_stat_progress_copy c USING (pid)
	WHERE a.application_name = 'acdat' AND (c.tuples_processed > 0 OR a.wait_event_type = 'Lock')};
my $activity = '';
for my $death ([ 'KILL', $waiting ], [ 'KILL', $copying ], [ 'TERM', $waiting ], [ 'INT', $copying ])
{
	my ($signal, $moment) = @$death;
	$node->safe_psql('u8', "BEGIN; LOCK TABLE acdat.terms IN SHARE MODE; PREPARE TRANSACTION 'hold'");
	my ($client_out, $client_err) = ('', '');
	my $client = IPC::Run::start([ 'acdat', 'load', '-d', "$connection application_name=acdat",
			'-D', 'names', $generated ],
		'<', \undef, '>', \$client_out, '2>', \$client_err);
	{
		# polling fills the log
		local $ENV{PGOPTIONS} = '-c log_min_messages=panic';
		ok($node->poll_query_until('u8', $moment), "SIG$signal: in the middle");
		$activity .= $node->safe_psql('u8', q{SELECT * FROM pg_stat_activity});
	}
	$client->signal($signal);
	$client->finish;
	$node->safe_psql('u8', "ROLLBACK PREPARED 'hold'");
	{
		local $ENV{PGOPTIONS} = '-c log_min_messages=panic';
		ok($node->poll_query_until('u8', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'acdat'}),
			"SIG$signal: the server gives up");
	}
	keep_said($client_out, $client_err);
	is(count_terms('u8'), 0, "SIG$signal: nothing is loaded");
}

# ---- a million ----

my $started = Time::HiRes::time();
($code, $out, $err) = load('u8', '-D', 'names', '--replace', $generated);
is($code, 0, 'a million terms: exit code');
diag(sprintf 'a million terms, all logging on: %.1f s', Time::HiRes::time() - $started);
is($node->safe_psql('u8', 'SELECT count(*), count(DISTINCT pattern), max(id) - min(id) FROM acdat.terms'),
	'1000000|1000000|999999', 'a million terms');

# ---- where terms must not be ----

$node->safe_psql($_, 'ANALYZE') for qw(u8 latin japan);
my $statistics = join "\n", map { $node->safe_psql($_, 'SELECT s::text FROM pg_stats s') } qw(u8 latin japan);
$statistics .= $node->safe_psql('u8', 'SELECT query FROM pg_stat_statements')
  if grep { $_ eq 'pg_stat_statements' } @preload;
$node->stop;
my $log = slurp_file($node->logfile);

like($log, qr/COPY pg_temp\.acdat_load FROM STDIN/, 'the log is the one meant');
like($log, qr/INSERT INTO acdat\.terms/, 'auto_explain saw the statements of the function')
  if grep { $_ eq 'auto_explain' } @preload;

my $known = "prefix \\x" . unpack('H*', (secrets())[3]) . ' suffix';
isnt(secrets_in(\$known), '', 'a secret is found where there is one');
is(secrets_in(\$log), '', "no secret in the server's log");
is(secrets_in(\said()), '', 'no secret in what acdat printed');
like($activity, qr/\|acdat\|.*(load_terms|COPY)/, 'pg_stat_activity showed the client');
is(secrets_in(\$activity), '', 'no secret in pg_stat_activity');
is(secrets_in(\$statistics), '', 'no secret in pg_stats and pg_stat_statements');
unlike($log, qr/0xe4 0xb9 0x90|0xe9 0x9f 0xb3/, 'no bytes of what could not be converted in the log');

done_testing();

# acdat.replace against an independent program of a few lines, on real input
# where the dictionary is there and on a generated one of the same kind.  The
# number of rows is ACDAT_INDEPENDENT_ROWS.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use Acdat;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = "$FindBin::RealBin/..";
my $rows = $ENV{ACDAT_INDEPENDENT_ROWS} || 50000;
my $node = start_server('independent');
my $dir = PostgreSQL::Test::Utils::tempdir();

$node->safe_psql('postgres', 'CREATE EXTENSION acdat_decoder');

# 1,114 terms of two to eight CJK characters, some inside others
sub write_dictionary
{
	my ($file) = @_;
	my @characters = map { chr(0x4e00 + $_ * 37) } 0 .. 119;
	my %terms;

	srand(20261130);
	while (keys %terms < 1114)
	{
		$terms{ join '', map { $characters[ rand @characters ] } 1 .. 2 + int rand 7 } = 1;
	}
	open(my $out, '>:encoding(UTF-8)', $file) or die "$file: $!";
	print $out map { "$_\t-\x{5267}-\n" } sort keys %terms;
	close $out;
}

sub slurp_lines
{
	my ($file) = @_;
	open(my $in, '<', $file) or die "$file: $!";
	return <$in>;
}

# Compare for one dictionary; $table names what it makes.
sub compare
{
	my ($dict, $table) = @_;

	system('perl', "$top/scripts/generate-titles", $dict, $rows, "$dir/$table.rows") == 0
	  or die "generate-titles failed";
	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE ${table}_terms (id bigserial, pattern text, replacement text);
COPY ${table}_terms (pattern, replacement) FROM '$dict';
CREATE TABLE $table (id int, title text);
COPY $table FROM '$dir/$table.rows';
COPY (SELECT title FROM $table ORDER BY id) TO '$dir/$table.in';
COPY (SELECT acdat.replace(title, (SELECT acdat.compile(pattern, replacement, id) FROM ${table}_terms),
                           'leftmost_longest') FROM $table ORDER BY id) TO '$dir/$table.ours';
SQL
	system("perl '$top/test/independent/leftmost_longest.pl' '$dict' < '$dir/$table.in' > '$dir/$table.theirs'") == 0
	  or die "leftmost_longest.pl failed";

	my @in = slurp_lines("$dir/$table.in");
	my @ours = slurp_lines("$dir/$table.ours");
	my @theirs = slurp_lines("$dir/$table.theirs");
	my $different = grep { ($ours[$_] // '') ne ($theirs[$_] // '') } 0 .. $#theirs;
	my $changed = grep { $in[$_] ne $theirs[$_] } 0 .. $#theirs;

	is(scalar(@ours), $rows, "$table: every row replaced");
	is(scalar(@theirs), $rows, "$table: every row replaced by the other program");
	cmp_ok($changed, '>', $rows / 25, "$table: some rows have terms");
	is($different, 0, "$table: the same bytes on every row");
}

chmod 0755, $dir;
write_dictionary("$dir/generated.tsv");
compare("$dir/generated.tsv", 'generated');

SKIP:
{
	my $real = "$top/../shared/data/dict.txt";
	skip 'no real dictionary here', 4 unless -r $real;
	system('cp', $real, "$dir/real.tsv") == 0 or die "cp failed";
	compare("$dir/real.tsv", 'real');
}

$node->stop;
done_testing();

# AcdatTool: what the tests of the acdat program share: running it, files for
# it, and tokens that stand for terms, to be looked for in all that it said.
package AcdatTool;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run ();
use PostgreSQL::Test::Utils;

our @EXPORT = qw(tool_dir secret secrets secrets_in file content acdat keep_said said);

my $dir;
my $said = '';
my @secrets;

# A directory for files, removed at the end.
sub tool_dir
{
	$dir //= PostgreSQL::Test::Utils::tempdir();
	return $dir;
}

# A token that stands for a term, different each time.
sub secret
{
	my $token = sprintf 'ZaubeRwort%03dQ', scalar @secrets;
	push @secrets, $token;
	return $token;
}

sub secrets
{
	return @secrets;
}

# Those that stand in a text, given by reference, as they are, in hexadecimal
# or as the numbers of their bytes; at most ten.
sub secrets_in
{
	my ($where) = @_;
	my @found;
	my %forms = map { ($_ => 1, unpack('H*', $_) => 1, join(' ', unpack 'C*', $_) => 1) } @secrets;
	my $any = join '|', map { quotemeta } keys %forms;
	push @found, $1 while $$where =~ /($any)/g && @found < 10;
	return "@found";
}

# Write bytes to a file of that name and return its path.
sub file
{
	my ($name, $bytes) = @_;
	my $path = tool_dir() . "/$name";
	open my $fh, '>:raw', $path or die "$path: $!";
	print $fh $bytes;
	close $fh or die "$path: $!";
	return $path;
}

# The bytes of a file, undef if there is none.
sub content
{
	my ($path) = @_;
	open my $fh, '<:raw', $path or return undef;
	local $/;
	return scalar <$fh> // '';
}

# Run acdat with standard input; its exit code, stdout and stderr.  The input
# is a file: a pipe would break where the program ends before it reads.
sub acdat
{
	my ($stdin, @args) = @_;
	my ($stdout, $stderr) = ('', '');
	IPC::Run::run([ 'acdat', @args ], '<', file('stdin', $stdin), '>', \$stdout, '2>', \$stderr);
	my $exit = $? & 127 ? 'signal ' . ($? & 127) : $? >> 8;
	keep_said($stderr);
	keep_said($stdout) unless grep { /^(?:replace|--show-terms)$/ } @args or "@args" =~ /^build -o - /;
	return ($exit, $stdout, $stderr);
}

# Keep what acdat said when it was not run by the above.
sub keep_said
{
	$said .= join '', @_;
	return;
}

# All that it ever said on stderr, and on stdout but for what holds terms.
sub said
{
	return $said;
}

1;

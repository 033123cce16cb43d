# The writers of JSON strings, of which a session uses the best that its
# processor can run: each gives the same bytes and stays within its room.
use strict;
use warnings;

use File::Temp qw(tempdir);
use FindBin;
use Test::More;

my $config = $ENV{PG_CONFIG} || 'pg_config';
my $cc = $ENV{CC} || 'cc';
my $dir = tempdir(CLEANUP => 1);
my $source = "$FindBin::Bin/../test/json/test_json.c";

sub config
{
	my ($what) = @_;
	chomp(my $answer = `$config $what`);
	return $answer;
}

sub build
{
	my ($program, @flags) = @_;
	return system("$cc -std=gnu11 -O2 @flags -isystem " . config('--includedir-server') .
		" -o $dir/$program $source -L" . config('--libdir') . ' -L' . config('--pkglibdir') .
		" -lpgcommon -lpgport -lm > $dir/$program.log 2>&1") == 0;
}

sub run
{
	my ($program) = @_;
	my $output = `$dir/$program 2>&1`;
	my $status = $?;

	note($output);
	return $status == 0 && $output =~ /^portable: \d+ strings$/m;
}

plan skip_all => 'the compiler or the server\'s libraries are missing' if !build('plain');
ok(run('plain'), 'all writers give the same bytes');
SKIP:
{
	skip 'the compiler has no sanitizers', 1
		if !build('sanitized', '-g', '-fsanitize=address,undefined', '-fno-sanitize-recover=all');
	ok(run('sanitized'), 'and stay within their room');
}
done_testing();

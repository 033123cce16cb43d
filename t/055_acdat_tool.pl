# acdat build, check, describe, find and replace, and acdat load --publish: what
# they print, what they refuse, that the borders of buffers cannot be told from
# the output, and that no term gets into a message.

use strict;
use warnings;

use Cwd ();
use FindBin;
use lib "$FindBin::Bin/lib";

use AcdatTool;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Unicode::Normalize ();

my $top = Cwd::cwd();
my $dir = tool_dir();
my $tab = "\t";
my ($code, $out, $err);

# Run a command line of the shell; its exit code, stdout and stderr.
sub shell
{
	my ($command) = @_;
	my ($stdout, $stderr) = ('', '');
	IPC::Run::run([ 'bash', '-c', $command ], '<', \undef, '>', \$stdout, '2>', \$stderr);
	keep_said($stderr);
	return ($? >> 8, $stdout, $stderr);
}

# ---- the command line ----

my @commands = qw(build check describe find load replace);
my $manual = content("$top/doc/acdat.1");
($code, $out, $err) = acdat('', '--help');
is_deeply([ ($out =~ /^Commands:\n(.*?)\n\n/ms)[0] =~ /^  ([a-z]+) /mg ], \@commands, '--help lists the commands');
for my $command (@commands)
{
	($code, $out, $err) = acdat('', $command, '--help');
	is($code, 0, "$command --help: exit code");
	is($err, '', "$command --help: nothing on stderr");
	is_deeply([ acdat('', $command, '-?') ], [ 0, $out, '' ], "$command -? is the same");
	unlike($out, qr/.{81}/, "$command --help fits a terminal");
	like($out, qr/^Exit status: 0 /m, "$command --help tells the exit status");
	my @missing = grep { $manual !~ /Fl -\Q$_\E\b/ } $out =~ /^  (?:-\w, |    )--([a-z-]+)/mg;
	is("@missing", '', "$command: all options are in the manual");
	like($manual, qr/^\.Ss acdat $command$/m, "$command: has a section there");
	like((acdat('', $command, '--version'))[1], qr/^acdat \(acdat_decoder\) \d+\.\d+\.\d+$/, "$command --version");
	like((acdat('', $command, '--bogus'))[2],
		qr/^acdat: unrecognized option '--bogus'\nTry "acdat $command --help"/, "$command: unknown option");
}

my ($s1, $s2, $s3, $s4, $s5) = map { secret() } 1 .. 5;
my $dict = file('dict.tsv', "$s1\t[ONE]\n\n$s2\n$s3 $s1\t[THREE]\t7\n");
my $text = file('text', "x$s1 y\n$s2$s2\n\n$s3 $s1");
my $machine = "$dir/m.acd";

for my $usage (
	[ [ 'build', $dict ], qr/no output given/ ],
	[ [ 'build', '-o', $machine ], qr/no file given/ ],
	[ [ 'build', '-o', $machine, $dict, $dict ], qr/more than one file/ ],
	[ ['check'], qr/no file given/ ],
	[ [ 'check', $dict, $dict ], qr/more than one file/ ],
	[ [ 'check', '--ignore=inside,outside', $dict ], qr/unknown kind of finding "outside"/ ],
	[ ['describe'], qr/no machine given/ ],
	[ [ 'describe', $machine, $machine ], qr/more than one machine/ ],
	[ ['find'], qr/neither --machine nor --dictionary/ ],
	[ [ 'find', '-m', $machine, '-d', $dict ], qr/both --machine and --dictionary/ ],
	[ [ 'find', '-m', $machine, '--escapes' ], qr/are for a --dictionary/ ],
	[ [ 'find', '-d', $dict, '--kind=longest' ], qr/unknown kind "longest"/ ],
	[ ['replace'], qr/neither --machine nor --dictionary/ ],
	[ [ 'replace', '-d', $dict, $text, $text ], qr/more than one file/ ],
	[ [ 'replace', '-d', $dict, '--kind=all_overlapping' ], qr/overlapping matches cannot be replaced/ ],
	[ [ 'replace', '-d', $dict, '--limit=10x' ], qr/invalid size "10x"/ ],
	[ [ 'replace', '-d', $dict, '--limit=99999999999G' ], qr/invalid size/ ],
	[ [ 'replace', '-d', '-' ], qr/cannot both be standard input/ ],
	[ [ 'load', '-D', 'd', '--allow-lossy-keys', $dict ], qr/need --publish/ ])
{
	my ($args, $message) = @$usage;
	($code, $out, $err) = acdat('', @$args);
	is($code, 2, "usage, $message: exit code");
	like($err, $message, "usage, $message: message");
	like($err, qr/^Try "acdat $args->[0] --help"/m, "usage, $message: points at the help");
}

# ---- build and describe ----

($code, $out, $err) = acdat('', 'build', $dict, '-o', $machine);
is($code, 0, 'build: exit code');
like($out, qr/^3 terms compiled into \d+ bytes$/, 'build: summary');
is($err, '', 'build: nothing on stderr');
is((stat $machine)[2] & 0777, 0600, 'a new machine is only its owner\'s');
($code, $out, $err) = acdat(content($dict), 'build', '-o', '-', '-');
is($out, content($machine), 'the same from pipe to pipe');
chmod 0640, $machine;
symlink $machine, "$dir/link.acd" or die $!;
($code, $out, $err) = acdat('', 'build', $dict, '-o', "$dir/link.acd");
ok(-l "$dir/link.acd" && ((stat $machine)[2] & 0777) == 0640, 'a link stays one, its file keeps its mode');

($code, $out, $err) = acdat('', 'describe', $machine);
is($code, 0, 'describe: exit code');
my $length = length $s1;
like($out, qr/^terms:    3$/m, 'describe: terms');
like($out, qr/^min_len:  $length$/m, 'describe: shortest');
like($out, qr/^max_len:  @{[2 * $length + 1]}$/m, 'describe: longest');
like($out, qr/^bytes:    @{[-s $machine]}$/m, 'describe: bytes');
like($out, qr/^digest:   [0-9a-f]{64}$/m, 'describe: digest');
like($out, qr/^engine:   \S.*\nreason:   \S/m, 'describe: engine and why');
like((acdat('', 'describe', '--trust', $machine))[1], qr/^verified: no$/m, 'describe --trust');

my $good = content($machine);
my $doubled = file('doubled.tsv', "$s1\ta\n$s2\tb\n$s1\tc\t5\n$s2\td\n");
($code, $out, $err) = acdat('', 'build', $doubled, '-o', "$dir/doubled.acd");
like($out, qr/^2 terms .*\n2 duplicates left out$/, 'build: duplicates');
is((acdat("$s1 $s2", 'replace', '-m', "$dir/doubled.acd"))[1], 'c b', 'build: which of them is kept');

my $bad = file('bad.tsv', "$s1\n$s2\xFF\n$s3\t\t$s4\n");
for my $command ([ 'build', '-o', $machine, $bad ], [ 'replace', '-d', $bad ], [ 'find', '-d', $bad ])
{
	($code, $out, $err) = acdat('', @$command);
	is($code, $command->[0] eq 'find' ? 2 : 1, "$command->[0], bad lines: exit code");
	is($err, "acdat: $bad:2: invalid UTF-8\nacdat: $bad:3: priority is not an integer from -2147483648 to 2147483647\n",
		"$command->[0], bad lines: messages");
}
is(content($machine), $good, 'build, bad lines: the old machine stands');
like((acdat('', 'build', '-o', $machine, '-'))[2], qr/^acdat: <stdin>: no terms in the file$/, 'build, no terms');
like((acdat('', 'build', '-o', "$dir/no/m.acd", $dict))[2], qr/could not write ".*": No such file/, 'build, no directory');
like((acdat('', 'build', '-o', $dir, $dict))[2], qr/could not write ".*": Is a directory/, 'build, a directory');
like((acdat('', 'build', '-o', '/dev/full', $dict))[2], qr/could not write ".*": No space/, 'build, a full disk');
like((shell("acdat build -o - $dict > /dev/full"))[2], qr/could not write "<stdout>": No space/, 'build, stdout full');

# ---- machines that are none ----

for my $case (
	[ 'empty', '', 1 ],
	[ 'cut', substr($good, 0, length($good) - 1), 1 ],
	[ 'a header only', substr($good, 0, 88), 1 ],
	[ 'longer', "$good\0", 1 ],
	[ 'text', "no machine\n" x 100, 1 ],
	[ 'NULs', "\0" x 1000, 1 ])
{
	my ($name, $bytes, $expected) = @$case;
	my $path = file('malformed.acd', $bytes);
	($code, $out, $err) = acdat('', 'describe', $path);
	is($code, $expected, "machine, $name: exit code");
	like($err, qr/^acdat: \Q$path\E: \S/, "machine, $name: message");
	is((acdat('x', 'replace', '-m', $path))[0], $expected, "machine, $name: replace");
	is((acdat('x', 'find', '-m', $path))[0], 2, "machine, $name: find");
}
my @undetected;
for (my $at = 0; $at < length $good; $at += 1 + int(length($good) / 150))
{
	my $flipped = $good;
	substr($flipped, $at, 1) ^= "\x10";
	$code = (acdat('', 'describe', file('flipped.acd', $flipped)))[0];
	push @undetected, "$at: $code" if $code ne 1;
}
is("@undetected", '', 'a machine with any bit changed is refused');
for my $trouble ([ 'missing', "$dir/missing", qr/No such file/ ], [ 'a directory', $dir, qr/Is a directory/ ])
{
	my ($name, $path, $message) = @$trouble;
	for my $args ([ 'describe', $path ], [ 'replace', '-m', $path ], [ 'replace', '-d', $path ], [ 'check', $path ],
		[ 'build', '-o', $machine, $path ], [ 'find', '-d', $dict, $path ], [ 'replace', '-d', $dict, $path ])
	{
		($code, $out, $err) = acdat('', @$args);
		is($code, 2, "$args->[0], $name: exit code");
		like($err, $message, "$args->[0], $name: message");
	}
}

# ---- find ----

($code, $out, $err) = acdat('', 'find', '-m', $machine, $text);
is($code, 0, 'find: exit code');
my $two = 2 * $length;
my $end = $length + 1;
is($out, join('', map { "$text\t$_\tall_overlapping\n" }
			"1\t1\t$end\t1", "2\t0\t$length\t3", "2\t$length\t$two\t3",
			"4\t0\t@{[$two + 1]}\t4", "4\t$end\t@{[$two + 1]}\t1"),
	'find: file, line, start, end, id, kind');
is((acdat(content($text), 'find', '-d', $dict, '--kind=cover'))[1], join('', map { "-\t$_\tcover\n" }
			"1\t1\t$end\t1", "2\t0\t$length\t3", "2\t$length\t$two\t3", "4\t0\t@{[$two + 1]}\t4"),
	'find: a dictionary, standard input, cover');
is((acdat('', 'find', '-d', $dict, '--kind=leftmost_first', '--raw', $text))[1], join('', map { "$text\t$_\tleftmost_first\n" }
			"1\t$end\t1", "@{[$length + 4]}\t@{[$two + 4]}\t3", "@{[$two + 4]}\t@{[3 * $length + 4]}\t3",
			"@{[3 * $length + 6]}\t@{[5 * $length + 7]}\t4"), 'find --raw: bytes of the file');
my $clean = file("tab${tab}and\\", "nothing\n");
is_deeply([ acdat('', 'find', '-m', $machine, '-c', $text, $clean) ], [ 0, "$text\t5\n$dir/tab\\tand\\\\\t0\n", '' ],
	'find --count, two files, a name with a tab');
is_deeply([ acdat('', 'find', '-m', $machine, $clean) ], [ 1, '', '' ], 'find: none');
is_deeply([ acdat('', 'find', '-m', $machine, '-q', $text, "$dir/missing") ], [ 0, '', '' ], 'find --quiet');
is((acdat('', 'find', '-m', $machine, '-q', $clean))[0], 1, 'find --quiet: none');
($code, $out, $err) = acdat('', 'find', '-m', $machine, '-c', "$dir/missing", $text);
is_deeply([ $code, $out ], [ 2, "$text\t5\n" ], 'find: a missing file, and on with the next');
is((acdat('', 'find', '-m', $machine, '-o', "$dir/found", $text))[0], 0, 'find --output: exit code');
is(content("$dir/found"), (acdat('', 'find', '-m', $machine, $text))[1], 'find --output');
is((acdat('', 'find', '-m', $machine, '-c', '-o', "$dir/found", $clean))[0], 1, 'find --output, none: exit code');
is(content("$dir/found"), "$dir/tab\\tand\\\\\t0\n", 'find --output, none');

# ---- replace ----

my $expected = "x[ONE] y\n[REDACTED][REDACTED]\n\n[THREE]";
is_deeply([ acdat(content($text), 'replace', '-m', $machine) ], [ 0, $expected, '' ], 'replace: pipe to pipe');
is_deeply([ acdat('', 'replace', '-d', $dict, '--default-replacement=-', $text) ],
	[ 0, $expected =~ s/\[REDACTED\]/-/gr, '' ], 'replace: a dictionary and a file');
my $binary = "\0\xFF$s1\xC3\0\r\n\r\n\n$s2\xE4\xB8";
is((acdat($binary, 'replace', '-m', $machine))[1], $binary =~ s/$s1/[ONE]/r =~ s/$s2/[REDACTED]/r,
	'replace: NULs, invalid UTF-8 and carriage returns pass');
is_deeply([ acdat('', 'replace', '-m', $machine) ], [ 0, '', '' ], 'replace: nothing');

my $target = file('target', "old\n");
chmod 0604, $target;
is_deeply([ acdat('', 'replace', '-m', $machine, '-o', $target, $text) ], [ 0, '', '' ], 'replace --output');
is(content($target), $expected, 'replace --output: there');
is((stat $target)[2] & 0777, 0604, 'replace --output: keeps the mode');
is((acdat('', 'replace', '-m', $machine, '-o', $text, $text))[0], 0, 'replace --output, in place: exit code');
is(content($text), $expected, 'replace --output, in place');

my $size = length $expected;
my $again = "x$s1 y\n$s2$s2\n\n$s3 $s1";
is_deeply([ acdat($again, 'replace', '-m', $machine, "--limit=$size") ], [ 0, $expected, '' ], '--limit: just fits');
for my $to ([], [ '-o', $target ])
{
	($code, $out, $err) = acdat($again, 'replace', '-m', $machine, '--limit=' . ($size - 1), @$to);
	is($code, 2, '--limit: exit code');
	is($err, 'acdat: the output would have more than ' . ($size - 1) . " bytes\n", '--limit: message');
	cmp_ok(length $out, '<', $size, '--limit: no more than that');
}
is(content($target), $expected, '--limit: the old file stands');

# ---- the same as a few lines of perl ----

# What replacing must give; a term is [pattern, replacement, priority], its id
# is its place.
sub reference
{
	my ($kind, $text, @terms) = @_;
	my %by_pattern = map { $terms[$_][0] => $_ } 0 .. $#terms;
	if ($kind ne 'cover')
	{
		my @order = $kind eq 'leftmost_longest'
		  ? sort { length $terms[$b][0] <=> length $terms[$a][0] } 0 .. $#terms
		  : sort { $terms[$b][2] <=> $terms[$a][2] || $a <=> $b } 0 .. $#terms;
		my $any = join '|', map { quotemeta $terms[$_][0] } @order;
		return $text =~ s/($any)/$terms[$by_pattern{$1}][1]/gr if @order;
		return $text;
	}
	my @matches;
	for my $id (0 .. $#terms)
	{
		my ($pattern, undef, $priority) = @{ $terms[$id] };
		for (my $at = -1; ($at = index $text, $pattern, $at + 1) >= 0;)
		{
			push @matches, [ $at, $at + length $pattern, $priority, $id ];
		}
	}
	my ($result, $done) = ('', 0);
	@matches = sort { $a->[0] <=> $b->[0] } @matches;
	while (@matches)
	{
		my @span = shift @matches;
		my $span_end = $span[0][1];
		while (@matches && $matches[0][0] < $span_end)
		{
			push @span, shift @matches;
			$span_end = $span[-1][1] if $span[-1][1] > $span_end;
		}
		my ($best) = sort { $b->[2] <=> $a->[2] || $a->[0] <=> $b->[0] || $b->[1] <=> $a->[1] || $a->[3] <=> $b->[3] } @span;
		$result .= substr($text, $done, $span[0][0] - $done) . $terms[ $best->[3] ][1];
		$done = $span_end;
	}
	return $result . substr $text, $done;
}

sub escaped
{
	my ($bytes) = @_;
	return $bytes =~ s/\\/\\\\/gr =~ s/\n/\\n/gr =~ s/\t/\\t/gr =~ s/\r/\\r/gr;
}

# Run replace on a text in blocks of some size, a line at a time or as a whole,
# from a file or in small pieces through a pipe; compare with the reference.
my %differ;
my $compared = 0;
my $dribble = q{perl -e 'local $/; $_ = <STDIN>; $| = 1; srand 1; while (length) { print substr $_, 0, 1 + rand 9, "" }'};

sub compare
{
	my ($what, $input, @terms) = @_;
	my $path = file('input', $input);
	my $terms = file('terms', join '', map { escaped($_->[0]) . "\t$_->[1]\t$_->[2]\n" } @terms);
	for my $kind (qw(cover leftmost_longest leftmost_first))
	{
		my @lines = grep { $_->[0] !~ /\n/ } @terms;
		my %want = (
			'' => join("\n", map { reference($kind, $_, @lines) } split /\n/, $input, -1),
			'--raw' => reference($kind, $input, @terms));
		for my $mode (sort keys %want)
		{
			my $buffer = (1, 2, 3, 5, 8, 13, 21, 64, 100000)[ rand 9 ];
			my $pipe = rand() < 0.1;
			my @command = ('replace', '-d', $terms, '--escapes', "--kind=$kind", "--buffer-size=$buffer", $mode || ());
			(undef, $out, $err) = $pipe ? shell("$dribble < $path | acdat @command") : acdat('', @command, $path);
			$compared++;
			next if $out eq $want{$mode} && $err eq '';
			$differ{"$what $kind $mode"} = join '|', $buffer, $pipe ? 'pipe' : 'file',
			  (map { escaped("@$_") } @terms), map { escaped($_) } $input, $out, $want{$mode}, $err;
		}
	}
}

srand 20261130;
for my $round (1 .. 50)
{
	my @alphabet = split //, ('ab', 'abc', "ab\n", 'aab', "ab\xC3\xA9")[ $round % 5 ];
	@alphabet = ('a', 'b', "\xC3\xA9") if $round % 5 == 4;
	my %seen;
	my @terms = map { [ $_, '<' . $seen{$_}++ . length($_) . '>', int rand 3 ] }
	  grep { !$seen{$_}++ } map { join '', map { $alphabet[ rand @alphabet ] } 1 .. (1, 2, 3, 4, 6, 9)[ rand 6 ] } 1 .. 1 + rand 6;
	my $count = 0;
	$_->[1] = '<' . ++$count . '>' for @terms;
	my @more = $round % 2 ? ("\n", "\0", "\xFF", '.') : ();
	compare("round $round", join('', map { (@alphabet, @more)[ rand @alphabet + @more ] } 1 .. rand 150), @terms);
}

# a term at each place around the border, beside others and overlapping them
for my $at (0 .. 20)
{
	compare("at $at", ('.' x $at) . 'needle' . ('.' x 11) . "needleedled\nneed" . ('le' x $at),
		[ 'needle', '<1>', 0 ], [ 'edled', '<2>', 1 ], [ 'nee', '<3>', 2 ], [ "dled\nnee", '<4>', 2 ], [ 'lelele', '<5>', 0 ]);
}
# spans longer than the buffer, whose winner is before, at or behind a border
for my $lead (0 .. 12)
{
	my $long = ('x' x $lead) . ('ab' x (20 + $lead)) . 'abc' . ('ab' x $lead) . 'a';
	compare("span $lead", "$long $long\n$long", [ 'aba', '<1>', 0 ], [ 'bab', '<2>', 0 ], [ 'abababa', '<3>', 0 ]);
	compare("winner $lead", "$long $long\n$long", [ 'aba', '<1>', 0 ], [ 'abc', '<2>', 1 ], [ 'bca', '<3>', 1 ], [ 'xa', '<4>', $lead % 3 ]);
	# of one priority: a longer one at the same start, or one that starts before, comes after a border
	compare("tie $lead", ('ab' x (10 + $lead)) . 'abcd' . ('ab' x $lead) . 'abcbabcd', [ 'aba', '<1>', 0 ], [ 'bab', '<2>', 0 ],
		[ 'bc', '<3>', 1 ], [ 'bcd', '<4>', 1 ], [ $lead % 2 ? 'abcd' : 'zz', '<5>', 1 ]);
}
is_deeply(\%differ, {}, "replace is what perl makes of it ($compared runs)");

# find, by the same reference: each match names the text it stands at
my $overlapping = file('input', 'abab' x 30);
my @all = map { my $at = $_; map { [ $at - length($_), $at ] } grep { $at >= length && substr('abab' x 30, $at - length, length) eq $_ } 'babab', 'aba', 'ab', 'a' } 1 .. 120;
for my $buffer (1, 7, 10, 11, 64, 1000)
{
	($code, $out, $err) = acdat('', 'find', '-d', file('terms', "a\nab\naba\nbabab\n"), '--raw', "--buffer-size=$buffer", $overlapping);
	is_deeply([ map { [ (split /\t/)[ 1, 2 ] ] } split /\n/, $out ], \@all, "find all_overlapping: each once, in order, buffer $buffer");
}

# ---- large texts ----

SKIP:
{
	my ($major_os) = $^O;
	skip 'memory is limited on Linux only', 8 unless $major_os eq 'linux';
	my $limit = 'ulimit -v 60000';
	my $ten = 10_000_000;
	my $generator = q{perl -e '$_ = ("x" x 40 . "%s and some more text of no kind%s") x 1000; print for 1 .. 1100'};
	for my $mode ('', ' --raw')
	{
		my $made = sprintf $generator, 'NeedleInHay', '\n';
		my $small = file('small.tsv', "NeedleInHay\t[N]\nNeedle\nHay and\t[H]\n");
		($code, $out, $err) = shell("$limit; $made | acdat replace -d $small$mode --kind=leftmost_longest | md5sum");
		is($out, (shell("$made | sed s/NeedleInHay/[N]/ | md5sum"))[1], "100 MB, 60 MB of memory$mode");
		is($err, '', "100 MB, 60 MB of memory$mode: nothing on stderr");
	}
	my $one_line = sprintf $generator, 'NeedleInHay', '';
	($code, $out, $err) = shell("$limit; $one_line | acdat replace -d $dir/small.tsv | md5sum");
	is($out, (shell("$one_line | sed 's/NeedleInHay and/[N]/g' | md5sum"))[1], '100 MB without a line feed');
	my $one_span = file('span.tsv', "xx\t[X]\n");
	($code, $out, $err) = shell(qq{$limit; perl -e 'print "x" x 1000000 for 1 .. 100; print "y"' | acdat replace -d $one_span --raw});
	is($out, '[X]y', 'a span of 100 MB');
	($code, $out, $err) = shell(qq{$limit; perl -e 'print "\\n" x 1000000 for 1 .. 40; print "needle xx"' | acdat find -d $one_span});
	is($out, "-\t40000001\t7\t9\t1\tall_overlapping\n", 'lines are counted');
	my $longest = 'y' x 65535;
	($code, $out, $err) = acdat(('y' x 65534) . 'z' . $longest . 'z' . ('y' x 65534), 'replace', '--raw', '-d', file('longest.tsv', "$longest\t[L]\n"));
	is($out, ('y' x 65534) . 'z[L]z' . ('y' x 65534), 'the longest term there may be');
}

# a line goes through as soon as it is complete
{
	my ($in, $got, $complained) = ("one $s1\ntwo", '', '');
	my $timer = IPC::Run::timeout(30);
	my $client = IPC::Run::start([ 'acdat', 'replace', '-m', $machine ], '<', \$in, '>', \$got, '2>', \$complained, $timer);
	$client->pump until $got =~ /\n/;
	is($got, "one [ONE]\n", 'a line goes through while the next is awaited');
	$in .= " $s2\n";
	$client->pump until $got =~ /two.*\n/;
	is($got, "one [ONE]\ntwo [REDACTED]\n", 'and the next');
	$client->finish;
	keep_said($complained);
}

# readers that go away, and ends by a signal
($code, $out, $err) = shell("perl -e 'print qq($s1 and more\\n) x 500000' 2>/dev/null | acdat replace -m $machine | head -n 1");
is_deeply([ $out, $err ], [ "[ONE] and more\n", '' ], 'a reader that goes away');
($code, $out, $err) = shell("trap '' PIPE; (perl -e 'print qq($s1\\n) x 500000' 2>/dev/null | acdat find -m $machine; echo \$? >&2) | head -n 1");
like($err, qr/^2\n/, 'a reader that goes away, SIGPIPE ignored');
unlike($err, qr/acdat/, 'a reader that goes away, SIGPIPE ignored: nothing to say');
for my $signal (qw(TERM INT))
{
	my ($in, $complained) = ("text\n", '');
	my $place = "$dir/signalled";
	my $client = IPC::Run::start([ 'acdat', 'replace', '-m', $machine, '-o', $place ], '<pipe', \*TO, '2>', \$complained);
	syswrite TO, $in;
	for (1 .. 300)
	{
		last if glob "$place.*";
		select undef, undef, undef, 0.02;
	}
	ok(scalar(() = glob "$place.*") == 1, "SIG$signal: in the middle");
	$client->signal($signal);
	$client->finish;
	close TO;
	is_deeply([ glob "$place*" ], [], "SIG$signal: no file is left");
}
is_deeply([ glob "$dir/*.??????" ], [], 'no temporary file is left');

# ---- check ----

# what is found, as "line kind other"
sub findings
{
	my ($bytes, @options) = @_;
	my $path = file('lint.tsv', $bytes);
	my ($exit, $stdout, $stderr) = acdat('', 'check', @options, $path);
	$stdout =~ s/^\Q$path\E://mg;
	return join ', ', $exit, map { /^(\d+): ([a-z-]+): (?:.*line (\d+))?/ ? "$1 $2" . (defined $3 ? " $3" : '') : "?$_" } split /\n/, $stdout;
}

for my $case (
	[ 'nothing', "abc\ndef\n", '0' ],
	[ 'duplicates', "abc\nabc\t\t-1\nabc\t\t5\n", '1, 1 duplicate 3, 2 duplicate 3' ],
	[ 'inside', "abcd\nbc\nxbcx\ncd\n", '1, 2 inside 1, 4 inside 1' ],
	[ 'one character', "a\nab\n\xE9\x9F\xB3\n\xF0\x9F\x8E\xB5\n", '1, 1 inside 2, 1 one-character, 3 one-character, 4 one-character' ],
	[ 'one character and a mark', "e\xCC\x81\n", '1, 1 one-character, 1 normalization' ],
	[ 'white space', " ab\ncd\xE3\x80\x80\n  \nx y\n", '1, 1 white-space, 2 white-space, 3 white-space' ],
	[ 'invalid UTF-8', "ab\n\xFF\ncd\n", '1, 2 malformed' ],
	[ 'malformed', "ab\tc\tx\n\tx\na\0b\n", '1, 1 malformed, 2 malformed, 3 malformed' ],
	[ 'zero width', "ad\xE2\x80\x8Bmin\nadmin\npay\xC2\xADpal\nx\xEF\xB8\x8Fy\n", '1, 1 invisible, 2 invisible 1, 3 invisible, 4 invisible' ],
	[ 'a mark of direction', "a\xE2\x80\xAEb\n", '1, 1 invisible' ],
	[ 'full width', "AB12\n\xEF\xBC\xA1\xEF\xBC\xA2\xEF\xBC\x91\xEF\xBC\x92\n", '1, 2 full-width, 2 full-width 1' ],
	[ 'full width punctuation', "\xE9\x9F\xB3\xEF\xBC\x81\xE4\xB9\x90\n", '0' ],
	[ 'half width kana', "\xEF\xBD\xB1\xEF\xBD\xB2\n\xE3\x82\xA2\xE3\x82\xA4\n", '1, 2 full-width 1' ],
	[ 'NFC and NFD', "caf\xC3\xA9\ncafe\xCC\x81\n", '1, 2 normalization, 2 normalization 1' ],
	[ 'Hangul', "\xED\x95\x9C\xEA\xB8\x80\n" . Unicode::Normalize::NFD("\x{D55C}\x{AE00}") =~ s/(.)/my $c = $1; utf8::encode($c); $c/ger . "\n",
		'1, 2 normalization, 2 normalization 1' ],
	[ 'order of marks', "a\xCC\x80\xCC\xA3\na\xCC\xA3\xCC\x80\n", '1, 1 one-character, 1 normalization, 2 one-character, 2 normalization, 2 normalization 1' ],
	[ 'compatibility ideographs', "\xE6\xA8\x82x\n\xEF\xA4\x94x\n", '1, 2 normalization 1' ],
	[ 'Cyrillic', "paypal\np\xD0\xB0ypal\n", '1, 2 look-alike 1, 2 mixed-alphabets' ],
	[ 'all Cyrillic', "cop\n\xD1\x81\xD0\xBE\xD1\x80\n", '1, 2 look-alike 1' ],
	[ 'Greek', "\xCE\x91\xCE\x92x\n", '1, 1 mixed-alphabets' ],
	[ 'mathematical letters', "ab\n\xF0\x9D\x90\x9A\xF0\x9D\x90\x9B\n", '1, 2 look-alike 1' ],
	[ 'digits', "B0B1\nBOBl\n", '1, 2 look-alike 1' ],
	[ 'kana', "x\xE4\xBA\x8Cy\nx\xE3\x83\x8By\n", '1, 2 look-alike 1' ],
	[ 'dashes', "a-b\na\xE2\x80\x93b\na\xE2\x88\x92b\n", '1, 2 look-alike 1, 3 look-alike 1' ],
	[ 'contains a term', "abc\txabcx\n", '1, 1 unsafe-replacement 1' ],
	[ 'inside a term', "abc\tb\n", '1, 1 unsafe-replacement 1' ],
	[ 'begins as a term ends', "abc\tcx\n", '1, 1 unsafe-replacement 1' ],
	[ 'ends as a term begins', "abc\txab\ndef\n", '1, 1 unsafe-replacement 1' ],
	[ 'the standing replacement', "DACT\nx\n", '1, 1 unsafe-replacement 1, 2 one-character' ],
	[ 'another standing replacement', "DACT\nxx\n", '0', '--default-replacement=*' ],
	[ 'an empty standing replacement', "DACT\nxx\n", '1, 1 unsafe-replacement', '--default-replacement=' ],
	[ 'escapes', "a\\tb\na\\\\tb\n", '0', '--escapes' ],
	[ 'ignored', "abc\nabc\nb\n", '0', '--ignore=duplicate,inside', '--ignore=one-character' ])
{
	my ($name, $bytes, $found, @options) = @$case;
	my $got = findings($bytes, @options);
	$got =~ s/(unsafe-replacement) 1, (?=2 unsafe)//g;
	is($got, $found, "check, $name");
}

# every character that has one, in its other normalization form
my @forms = map { [ $_, Unicode::Normalize::NFD($_) ] } grep { Unicode::Normalize::NFD($_) ne $_ && Unicode::Normalize::NFC($_) eq $_ }
  map { chr } 0xA0 .. 0xD7FF;
@forms = grep { rand() < 0.2 } @forms;
my $pairs = join '', map { my ($c, $d) = ("(($_->[0]))", "(($_->[1]))"); utf8::encode($c); utf8::encode($d); "$c\n$d\n" } @forms;
my $paired = findings($pairs, '--all', '--ignore=inside,look-alike,full-width,one-character,invisible');
is(scalar(() = $paired =~ /\bnormalization \d/g), scalar @forms, 'check: NFD of ' . @forms . ' characters');

($code, $out, $err) = acdat('', 'check', file('lint.tsv', "$s1\n$s1\n$s1 \n" . ("$s2\n" x 40) . "$s3\xFF\n"));
is($code, 1, 'check, many: exit code');
is(scalar(() = $out =~ /: duplicate: /g), 21, 'check, many: twenty of a kind');
like($out, qr/^\S+lint\.tsv: duplicate: 20 more \(--all\)$/m, 'check, many: the others are counted');
is(scalar(() = (acdat('', 'check', '--all', "$dir/lint.tsv"))[1] =~ /: duplicate: /g), 40, 'check --all');
($code, $out, $err) = acdat('', 'check', '--show-terms', file('lint.tsv', "a\"b\nxa\"b\n\xE2\x80\x8Bq\x01z\n"));
like($out, qr/^\S+:1: inside: .*line 2: "a\\"b": "xa\\"b"$/m, 'check --show-terms');
like($out, qr/^\S+:3: invisible: .*, at byte 1: "\\u\{200B\}q\\u\{0001\}z"$/m, 'check --show-terms: what cannot be seen is spelt out');
is_deeply([ acdat("\n\n", 'check', '-') ], [ 1, "<stdin>: malformed: no terms in the file\n", '' ], 'check: no terms');
is_deeply([ acdat("\xFF\xFEa\0", 'check', '-') ], [ 1, "<stdin>:1: malformed: the file is in UTF-16, not in UTF-8\n", '' ], 'check: UTF-16');

# ---- load --publish ----

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql('postgres', q{CREATE EXTENSION acdat_decoder;
	SELECT acdat.create_dictionary('names'), acdat.create_policy('clean', 'names'), acdat.create_policy('other', 'names');
	CREATE TABLE items (id text PRIMARY KEY)});

sub load
{
	return acdat('', 'load', '-h', $node->host, '-p', $node->port, '-d', 'postgres', '-D', 'names', @_);
}

sub state_of_server
{
	return $node->safe_psql('postgres', q{SELECT string_agg(pattern, ',' ORDER BY id) FROM acdat.terms})
	  . '|' . $node->safe_psql('postgres', q{SELECT string_agg(format('%s', acdat.is_published(name)), ',' ORDER BY name) FROM acdat.policies});
}

my $first = file('first.tsv', "$s1\t[A]\n$s2\t[B]\n");
($code, $out, $err) = load('--publish=clean', $first);
is_deeply([ $code, $err ], [ 0, '' ], 'load --publish: exit code, nothing on stderr');
like($out, qr/^2 terms loaded in .*\npolicy clean published as generation 1$/, 'load --publish: summary');
is($node->safe_psql('postgres', "SELECT acdat.redact('x$s1', 'clean')"), 'x[A]', 'load --publish: in force');

my $before = state_of_server();
($code, $out, $err) = load('--replace', '--publish=clean', file('unsafe.tsv', "$s3\t[C]\n$s4\tx$s3\n"));
is($code, 2, 'unsafe replacement: exit code');
like($err, qr/^acdat: policy "clean" has replacements that could leave or make a term in redacted text$/m, 'unsafe replacement: message');
like($err, qr/^acdat: detail: Term \d+: its replacement contains term \d+\.$/m, 'unsafe replacement: ids');
like($err, qr/^acdat: hint: Choose other replacements/m, 'unsafe replacement: hint');
is(state_of_server(), $before, 'unsafe replacement: nothing has changed');
($code, $out, $err) = load('--replace', '--publish=clean', '--allow-unsafe-replacement', "$dir/unsafe.tsv");
is($code, 0, '--allow-unsafe-replacement: exit code');
like($err, qr/^acdat: key values may come out of policy "clean" other than before$/m, 'what publishing warns of is printed');

($code, $out, $err) = load('--replace', '--publish=clean', '--publish', 'other', $first);
is($code, 0, 'two policies: exit code');
like($out, qr/^policy clean published as generation 3\npolicy other published as generation 1$/m, 'two policies');
$before = state_of_server();
($code, $out, $err) = load('--replace', '--publish=clean', '--publish=ohter', file('second.tsv', "$s5\t[E]\n"));
is($code, 2, 'unknown policy: exit code');
like($err, qr/^acdat: policy "ohter" does not exist\nacdat: hint: .*other/m, 'unknown policy: message');
is(state_of_server(), $before, 'unknown policy: nothing has changed');

$node->safe_psql('postgres', q{SELECT acdat.set_action('clean', 'mask', relation => 'items', column_name => 'id')});
($code, $out, $err) = load('--replace', '--publish=clean', "$dir/second.tsv");
is($code, 2, 'lossy keys: exit code');
like($err, qr/^acdat: policy "clean" would make different keys the same$/m, 'lossy keys: message');
is(state_of_server(), $before, 'lossy keys: nothing has changed');
is((load('--replace', '--publish=clean', '--allow-lossy-keys', "$dir/second.tsv"))[0], 0, '--allow-lossy-keys');

# what others say while a policy is being published may quote a term
$node->safe_psql('postgres', q{
	ALTER FUNCTION acdat.publish RENAME TO publish_kept;
	CREATE FUNCTION acdat.publish(text, boolean, boolean) RETURNS bigint LANGUAGE plpgsql AS $$
	BEGIN
		RAISE WARNING 'careful: %', (SELECT min(pattern) FROM acdat.terms);
		RAISE EXCEPTION 'no: %', (SELECT min(pattern) FROM acdat.terms) USING SCHEMA = 'acdat', TABLE = 'publish';
	END $$});
$before = state_of_server();
($code, $out, $err) = load('--publish=clean', '--allow-lossy-keys', '--allow-unsafe-replacement', $first);
is($code, 2, 'an error that quotes a term: exit code');
unlike($err, qr/careful|no:/, 'an error that quotes a term: its words are not printed');
like($err, qr/^acdat: could not load the terms: .*withheld.*\(SQLSTATE P0001\)$/m, 'an error that quotes a term: message');
is(state_of_server(), $before, 'an error that quotes a term: nothing has changed');
$node->safe_psql('postgres', 'CREATE ROLE nobody LOGIN');
($code, $out, $err) = load('-U', 'nobody', '--publish=clean', $first);
is($code, 2, 'no privileges: exit code');
$node->stop;

# ---- no term in any message ----

my $known = "prefix $s1 suffix";
isnt(secrets_in(\$known), '', 'a secret is found where there is one');
like(said(), qr/duplicate: the pattern is that of line/, 'what was said has been kept');
is(secrets_in(\said()), '', 'no term in what acdat said');

done_testing();

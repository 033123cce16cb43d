#!/usr/bin/env perl
# leftmost_longest.pl DICT < texts > replaced
#
# Leftmost-longest replacement on characters in a few lines that share nothing
# with core: at each character the longest term that starts there, by looking
# every length up in a hash.  DICT has pattern<TAB>replacement a line, both
# are UTF-8, and so are the texts, one a line.
use strict;
use warnings;
use open qw(:std :encoding(UTF-8));

my (%replacement, %is_length);
open(my $dict, '<:encoding(UTF-8)', $ARGV[0]) or die "$0: $ARGV[0]: $!\n";
while (<$dict>)
{
	chomp;
	my ($pattern, $with) = split /\t/, $_, 2;
	next if $pattern eq '' || exists $replacement{$pattern};
	$replacement{$pattern} = $with;
	$is_length{ length $pattern } = 1;
}
my @lengths = sort { $b <=> $a } keys %is_length;

while (my $text = <STDIN>)
{
	chomp $text;
	my ($out, $at) = ('', 0);
	while ($at < length $text)
	{
		my ($longest) = grep { exists $replacement{ substr($text, $at, $_) } }
		  grep { $at + $_ <= length $text } @lengths;
		$out .= defined $longest ? $replacement{ substr($text, $at, $longest) } : substr($text, $at, 1);
		$at += $longest // 1;
	}
	print "$out\n";
}

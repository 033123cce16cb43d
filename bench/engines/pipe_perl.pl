#!/usr/bin/env perl
# What a user does today: wal2json's lines through one regular expression.
# bench: behind wal2json_v2
# bench: redacts small
use strict;
use warnings;

my ($terms_file) = @ARGV;
open(my $in, '<:raw', $terms_file) or die "cannot read the terms\n";
chomp(my @terms = <$in>);
close($in);

# Longest first: an alternation takes the first branch that fits.
my $any = join('|', map { quotemeta } sort { length($b) <=> length($a) } @terms);
my $pattern = qr/$any/;

binmode(STDIN, ':raw');
binmode(STDOUT, ':raw');
while (my $line = <STDIN>)
{
	$line =~ s/$pattern/[REDACTED]/g;
	print $line;
}

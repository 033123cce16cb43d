# Byte for byte what wal2json writes: the two plugins read the same WAL with
# the same options, and every difference is one that is named here.
#
# The scenario is in sql/wal2json_*.sql.  It is read with policy "none" and
# with the policy "idle", whose dictionary matches nothing; that one keeps, by
# rules, the tables whose values have escapes in their text form, as a policy
# that redacts masks what an escape could hide (the case is named below).
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use Acdat;
use IPC::Run;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;

my $db = 'postgres';
my $dir = PostgreSQL::Test::Utils::tempdir();
my $node = start_server('differential', conf => <<'CONF');
max_prepared_transactions = 4
timezone = 'UTC'
datestyle = 'ISO, MDY'
log_min_messages = fatal
CONF

unless (-e $node->config_data('--pkglibdir') . '/wal2json.so')
{
	plan skip_all => 'wal2json is not installed';
}

# ---- running ----

# Run a script with psql; returns what it said on stderr.
sub run_script
{
	my ($file, %more) = @_;
	my $database = $more{database} || $db;
	my ($out, $err) = ('', '');
	local %ENV = ($node->_get_env(), PGOPTIONS => $more{settings} || '', PGCLIENTENCODING => 'UTF8');

	IPC::Run::run(
		[
			'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=' . ($more{go_on} ? 0 : 1),
			'-d', $node->connstr($database), '-o', '/dev/null', '-f', $file
		], '<', \undef, '>', \$out, '2>', \$err)
	  or die "$file: $err";
	return $err;
}

sub quoted
{
	my ($value) = @_;

	return 'NULL' unless defined $value;
	$value =~ s/'/''/g;
	return "'$value'";
}

# "name=value" or "name" as arguments of the SQL interface.
sub arguments
{
	return join '', map { my ($name, $value) = split /=/, $_, 2; ', ' . quoted($name) . ', ' . quoted($value) } @_;
}

sub write_file
{
	my ($name, $content) = @_;

	open my $fh, '>:raw', "$dir/$name" or die "$dir/$name: $!";
	print $fh $content;
	close $fh or die "$dir/$name: $!";
	return "$dir/$name";
}

# A script that peeks at a slot with each set of options, into numbered files.
# What else is said between "%%% N" and the next one on stderr belongs to N.
sub peek_script
{
	my ($slot, $sets, @more) = @_;
	my $script = "\\pset format unaligned\n\\pset tuples_only on\n\\pset recordsep_zero\n\\set VERBOSITY terse\n";
	my $number = 0;

	foreach my $set (@$sets)
	{
		my $from = "pg_logical_slot_peek_changes('$slot', NULL, NULL" . arguments(@$set, @more) . ')';

		# what is not in chunks has to be JSON, each for itself
		my $valid = @more && !grep({ /write-in-chunks/ } @$set) ? ' WHERE data::json IS NOT NULL' : '';
		$script .= "\\warn %%% $number\n\\o $dir/$slot.$number\nSELECT data FROM $from$valid;\n\\o\n";
		$number++;
	}
	return write_file("$slot.sql", $script);
}

# Peek with wal2json and with both policies, at the same time.  Returns for
# each of them a list with output and messages for each set of options.
sub peek_all
{
	my ($sets, %slots) = @_;
	my %run;
	local %ENV = ($node->_get_env(), PGCLIENTENCODING => 'UTF8');

	foreach my $slot (sort keys %slots)
	{
		my $file = peek_script($slot, $sets, @{ $slots{$slot} });

		$run{$slot} = { err => '' };
		$run{$slot}{harness} = IPC::Run::start([ 'psql', '-X', '-q', '-d', $node->connstr($db), '-f', $file ],
			'<', \undef, '2>', \$run{$slot}{err});
	}
	my %result;
	foreach my $slot (sort keys %slots)
	{
		$run{$slot}{harness}->finish or die "$slot: $run{$slot}{err}";
		my @messages = ((undef) x @$sets);
		my $number;
		foreach my $line (split /\n/, $run{$slot}{err})
		{
			if ($line =~ /^%%% (\d+)/) { $number = $1; $messages[$number] = []; next }
			$line =~ s/^psql:[^ ]*: //;
			push @{ $messages[$number] }, $line;
		}
		$result{$slot} =
		  [ map { { output => slurp_raw("$dir/$slot.$_"), messages => $messages[$_] } } 0 .. $#$sets ];
	}
	return %result;
}

sub slurp_raw
{
	my ($file) = @_;

	open my $fh, '<:raw', $file or die "$file: $!";
	local $/;
	my $content = <$fh>;
	return defined $content ? $content : '';
}

# Are two outputs the same?  If not, show the first records that differ.
sub same_output
{
	my ($ours, $theirs, $name) = @_;

	return pass($name) if $ours eq $theirs;
	my @ours = split /\0/, $ours, -1;
	my @theirs = split /\0/, $theirs, -1;
	my $shown = 0;
	fail($name);
	diag(scalar(@ours) . " records of ours, " . scalar(@theirs) . " of wal2json") if @ours != @theirs;
	for (my $i = 0; $i < @ours || $i < @theirs; $i++)
	{
		my ($a, $b) = map { defined $_ ? $_ : '(none)' } ($ours[$i], $theirs[$i]);
		next if $a eq $b;
		my $common = 0;
		$common++ while $common < length $a && substr($a, $common, 1) eq substr($b, $common, 1);
		my $from = $common > 150 ? $common - 150 : 0;
		diag(map { "$_\n" } "record $i, from byte $common", '  ours:     ' . printable(substr $a, $from, 300),
			'  wal2json: ' . printable(substr $b, $from, 300));
		last if ++$shown == 3;
	}
	return 0;
}

sub printable
{
	my ($line) = @_;

	$line =~ s/([^\x20-\x7e])/sprintf '\\x%02x', ord $1/ge;
	return $line;
}

# ---- the scenario ----

run_script("$FindBin::Bin/sql/wal2json_types.sql");
run_script("$FindBin::Bin/sql/wal2json_tables.sql");
# Version 1 of wal2json 2.5 tells the primary key only where it is the replica
# identity, later ones and we wherever there is one: the tables in between are
# left out of the sets that ask for it, and have a case of their own below.
my $probe = probe();
my $tells_every_key = $probe =~ /pknames/;
my @tables_without_key = ();
@tables_without_key =
  ('filter-tables=shapes.evolving,shapes.evolved,' . $node->safe_psql($db, <<'SQL')) unless $tells_every_key;
SELECT string_agg('*.' || relname, ',' ORDER BY relname) FROM pg_class c
	WHERE relreplident <> 'd' AND relnamespace = 'shapes'::regnamespace
		AND EXISTS (SELECT FROM pg_index WHERE indrelid = c.oid AND indisprimary)
SQL

# It forgets which columns are optional where types are not asked for, up to
# 2.6: another case of its own.
my $forgets_optional = $probe =~ /"columnoptionals":\[\]/;

sub probe
{
	$node->safe_psql($db, "SELECT pg_create_logical_replication_slot('probe', 'wal2json')");
	$node->safe_psql($db, 'CREATE TABLE probe (id int PRIMARY KEY); ALTER TABLE probe REPLICA IDENTITY FULL; INSERT INTO probe VALUES (1); DROP TABLE probe');
	my $line = $node->safe_psql($db,
		"SELECT data FROM pg_logical_slot_get_changes('probe', NULL, NULL, 'include-pk', 'on', 'include-not-null', 'on', 'include-types', 'off') WHERE data LIKE '%probe%'");
	$node->safe_psql($db, "SELECT pg_drop_replication_slot('probe')");
	return $line;
}

$node->safe_psql($db, 'CREATE EXTENSION acdat_decoder');
create_policy($node, $db, 'idle', { "no value has this \x{1}" => 'x', 'nor has one this' => 'y' });
$node->safe_psql($db, <<'SQL');
SELECT acdat.set_action('idle', 'keep', relation => oid::regclass) FROM pg_class
	WHERE relnamespace = 'samples'::regnamespace AND relkind = 'r' AND (relname ~ '^te_' OR relname = 'ty_internal')
		OR oid = 'shapes.user_types'::regclass;
SELECT acdat.publish('idle');
SELECT pg_create_logical_replication_slot('peer', 'wal2json');
SELECT pg_copy_logical_replication_slot('peer', 'plain', false, 'acdat_decoder');
SELECT pg_copy_logical_replication_slot('peer', 'idle', false, 'acdat_decoder');
SQL

is( $node->safe_psql($db, <<'SQL'), '', 'every built-in type has sample values');
SELECT type FROM samples.types y
	WHERE NOT EXISTS (SELECT FROM samples.literals l WHERE l.type = y.oid)
		-- no text to be made from: taken from catalogs, or nowhere to be had
		AND type NOT IN ('pg_node_tree', 'pg_ndistinct', 'pg_dependencies', 'pg_mcv_list',
			'gtsvector', 'pg_brin_bloom_summary', 'pg_brin_minmax_multi_summary')
SQL

run_script("$FindBin::Bin/sql/wal2json_changes.sql");
my $end_of_changes = insert_lsn($node);

# ---- options ----

# Does the installed wal2json know an option?
my %known;
sub known
{
	my ($option) = @_;
	my ($name) = split /=/, $option;

	unless (exists $known{$name})
	{
		my ($status, $out, $err) = $node->psql($db,
			"SELECT count(*) FROM pg_logical_slot_peek_changes('peer', '0/1', 1" . arguments($option =~ /=/ ? $option : "$option=on") . ')');
		$known{$name} = $err !~ /is unknown/;
	}
	return $known{$name};
}

# A set of options that covers every pair of values of two options, and one
# of every three where "strength" is 3.  The same in every run.
sub covering_sets
{
	my ($options, $strength) = @_;
	my @names = sort keys %$options;
	my %missing;
	my @sets;
	my $seed = 1;
	my $random = sub { $seed = ($seed * 1103515245 + 12345) % 2147483648; return int($seed / 65536) % $_[0] };
	my @groups = map { my $a = $_; map { [ $a, $_ ] } $a + 1 .. $#names } 0 .. $#names;

	@groups = map { my $g = $_; map { [ @$g, $_ ] } $g->[1] + 1 .. $#names } @groups if $strength == 3;
	my $covered_by = sub {
		my ($set) = @_;
		return map { my $g = $_; join ' ', map { "$names[$_]=$set->[$_]" } @$g } @groups;
	};
	foreach my $group (@groups)
	{
		my @tuples = ('');
		foreach my $i (@$group)
		{
			@tuples = map { my $t = $_; map { ($t eq '' ? '' : "$t ") . "$names[$i]=$_" } @{ $options->{ $names[$i] } } } @tuples;
		}
		$missing{$_} = 1 foreach @tuples;
	}
	while (%missing)
	{
		my ($best, $gain) = (undef, 0);
		for (1 .. 30)
		{
			my $set = [ map { $options->{$_}[ $random->(scalar @{ $options->{$_} }) ] } @names ];

			# start from something that is missing
			if ($_ % 2)
			{
				my ($first) = sort keys %missing;
				my %want = map { split /=/, $_, 2 } split / /, $first;
				$set->[$_] = exists $want{ $names[$_] } ? $want{ $names[$_] } : $set->[$_] foreach 0 .. $#names;
			}
			my $count = grep { $missing{$_} } $covered_by->($set);
			($best, $gain) = ($set, $count) if $count > $gain;
		}
		next unless $best;
		delete $missing{$_} foreach $covered_by->($best);
		push @sets, [ map { "$names[$_]=$best->[$_]" } 0 .. $#names ];
	}
	return @sets;
}

my @booleans = grep { known($_) } qw(
  include-xids include-timestamp include-lsn include-origin include-schemas include-types
  include-type-oids include-typmod include-domain-data-type include-column-positions
  include-not-null include-default include-pk include-transaction pretty-print write-in-chunks
  numeric-data-types-as-string include-empty-transaction partition-root);
my %on_by_default = map { $_ => 1 } qw(include-schemas include-types include-typmod include-transaction include-empty-transaction);

my @lists = (
	['actions=insert'], ['actions=update, delete'], ['actions=truncate,insert,insert'], ['actions='],
	['add-tables=shapes.k_full'], ['add-tables=*.toasted, samples.*'], ['add-tables=*.*'], ['add-tables='],
	['filter-tables='],
	['filter-tables=samples.*,shapes.part_us'], ['filter-tables=*.k_none ,  *.k_full_pk'],
	['add-tables=shapes.a\\.b\\,c\\ d\\*, Odd\\ Schema.*'],
	[ 'add-tables=shapes.*', 'filter-tables=*.k_full_pk' ],
	[ 'add-tables=shapes.k_full', 'filter-tables=shapes.*' ],
	[ 'add-tables=shapes.k_full', 'add-tables=shapes.k_none' ],
	[ 'filter-tables=samples.*', 'actions=delete', 'add-msg-prefixes=none' ],
	['add-msg-prefixes=pfx'], ['add-msg-prefixes= pfx2 ,bytes'], ['filter-msg-prefixes=pfx,pfx2'],
	['filter-msg-prefixes='], [ 'add-msg-prefixes=pfx,sub', 'filter-msg-prefixes=sub' ],
	[ 'filter-origins=1', 'include-origin=yes' ], ['filter-origins=2, 1'], ['filter-origins=0'],
	['filter-origins=4711'], ['filter-origins=1,,2,'], ['filter-origins=,'],

	# given more than once: the last of what is added, all that is filtered
	[ 'filter-tables=samples.*', 'filter-tables=*.k_full' ], [ 'filter-tables=*.k_full', 'filter-tables=samples.*', 'filter-tables=' ],
	[ 'filter-msg-prefixes=pfx', 'filter-msg-prefixes=sub' ], [ 'add-msg-prefixes=pfx', 'add-msg-prefixes=sub' ],
	[ 'filter-origins=1', 'filter-origins=2' ], [ 'actions=insert', 'actions=delete' ],
	[ 'filter-tables=samples.*', 'write-in-chunks=1', 'actions=insert', 'pretty-print=t' ],
);

# Only one of these has the many values of the types, to keep it short.
my @few = ('filter-tables=samples.*');
my @sets;
foreach my $version (1, 2)
{
	my @version = ("format-version=$version");
	my %all = map { $_ => [ 'true', 'false' ] } @booleans;

	push @sets, [@version];
	push @sets, [ @version, $on_by_default{$_} ? "$_=off" : "$_=on" ] foreach @booleans;
	push @sets, [ @version, @$_ ] foreach covering_sets(\%all, 2);
	push @sets, [ @version, @few, @$_ ] foreach $ENV{PG_TEST_EXTRA} && $ENV{PG_TEST_EXTRA} =~ /\blarge\b/ ? covering_sets(\%all, 3) : ();
	push @sets, [ @version, @$_ ] foreach @lists;
}
push @sets, [];

# What is said above, and: columns of partitions in another order than the
# root's, and truncates of partitions, have cases of their own.
foreach my $set (@sets)
{
	my %value = map { split /=/, $_, 2 } @$set;
	push @$set, 'filter-tables=shapes.mixed', 'actions=insert,update,delete' if ($value{'partition-root'} || '') =~ /^(?:on|true)$/;
	next if ($value{'format-version'} || 1) == 2;
	push @$set, @tables_without_key if ($value{'include-pk'} || '') =~ /^(?:on|true)$/;
	push @$set, 'include-not-null=off'
	  if $forgets_optional && ($value{'include-types'} || '') =~ /^(?:off|false)$/ && ($value{'include-not-null'} || '') =~ /^(?:on|true)$/;
}

my %peeked = peek_all(\@sets, peer => [], plain => ['policy=none'], idle => ['policy=idle']);

# wal2json warns for each row and we once for each table.
sub warnings_of
{
	my ($messages) = @_;
	my %seen;

	return join "\n", grep { !$seen{ /(?:in )?table (.*)/ ? $1 : $_ }++ } @$messages;
}

my $bytes = 0;
foreach my $i (0 .. $#sets)
{
	my $theirs = $peeked{peer}[$i];
	my $name = join(' ', @{ $sets[$i] }) || 'no options';

	$bytes += length $theirs->{output};
	foreach my $policy (qw(plain idle))
	{
		my $ours = $peeked{$policy}[$i];

		same_output($ours->{output}, $theirs->{output}, "$policy: $name");
		is(warnings_of($ours->{messages}), warnings_of($theirs->{messages}), "$policy: $name: warnings");
	}
}
note("compared $bytes bytes twice");

# ---- through a walsender ----

# Options without a value can be given here only.
my @bare = grep { known($_) } qw(
  include-xids include-timestamp include-lsn include-origin include-type-oids include-domain-data-type
  include-column-positions include-not-null include-default include-transaction include-schemas);
my @received = (
	[], ['format-version'], [ 'format-version=1', @bare ], [ 'format-version=2', 'include-pk', @bare ],
	[ 'format-version=1', 'pretty-print', 'include-lsn' ], [ 'format-version=1', 'write-in-chunks', 'include-xids' ],
	[ 'format-version=2', 'include-types=0', 'include-transaction=0', 'actions' ],
	[ 'format-version=2', 'add-tables' ], [ 'format-version=1', 'add-tables' ],
	[ 'format-version=2', 'filter-tables', 'filter-msg-prefixes', 'add-msg-prefixes', 'filter-origins', 'actions=insert,delete' ],
	[ 'format-version=2', 'filter-origins=1', 'filter-tables=samples.*', 'filter-msg-prefixes=pfx' ],
	[ 'format-version=2', 'filter-tables=samples.*', 'filter-tables', 'add-tables=shapes.k_full', 'add-tables' ],
	known('numeric-data-types-as-string') ? [ 'format-version=2', 'numeric-data-types-as-string' ] : (),
);

foreach my $set (@received)
{
	my $name = join(' ', @$set) || 'no options';
	my %run;
	local %ENV = $node->_get_env();

	foreach my $plugin (qw(wal2json acdat_decoder))
	{
		$run{$plugin} = { out => '', err => '' };
		$node->safe_psql($db, "SELECT pg_copy_logical_replication_slot('peer', 'r_$plugin', false, '$plugin')");
		$run{$plugin}{harness} = IPC::Run::start(
			[
				Acdat::recv_command($node, $db, "r_$plugin", [ @$set, $plugin eq 'wal2json' ? () : 'policy=none' ]),
				'--endpos', $end_of_changes
			], '<', \undef, '>', \$run{$plugin}{out}, '2>', \$run{$plugin}{err});
	}
	foreach my $plugin (sort keys %run)
	{
		$run{$plugin}{harness}->finish or die "$plugin: $run{$plugin}{err}";
		$node->safe_psql($db, "SELECT pg_drop_replication_slot('r_$plugin')");
	}
	$run{$_}{out} =~ tr/\n/\0/ foreach keys %run;

	# pg_recvlogical sets search_path to nothing, and wal2json follows it (see
	# below): types of "public" are qualified
	$run{wal2json}{out} =~ s/public\.\\"(Odd \w+)\\"(?=")/$1/g;
	$run{wal2json}{out} =~ s/public\.(\\"Odd \w+\\"\[\])/$1/g;
	same_output($run{acdat_decoder}{out}, $run{wal2json}{out}, "received: $name");
	my $output = $run{acdat_decoder}{out};
	my @records = split /\0/, $output;

	# an object is spread over lines here
	if ($name =~ /pretty-print|write-in-chunks/)
	{
		$output =~ tr/\0/\n/;
		@records = eval { JSON::PP->new->utf8->incr_parse($output) };
	}
	else
	{
		eval { parse_lines(@records) };
	}
	is($@, '', "received: $name: strict JSON");
	cmp_ok(scalar @records, '>', 150, "received: $name: " . @records . ' records');
}

# ---- errors ----

my @errors = (
	(map { ("$_=maybe", "$_=") } @booleans),
	'no-such-option=1', 'Include-Xids=1', '=x', 'include-unchanged-toast=1',
	'format-version=0', 'format-version=-1', 'format-version=3', 'format-version=two', 'format-version=', 'format-version=1kB',
	'format-version=99999999999',
	'actions=insert,upsert', 'actions=insert,,update', 'actions=insert update', 'actions=,', 'actions=Insert',
	'add-tables=nodot', 'add-tables=a.b,,c.d', 'add-tables=a.b c.d', 'add-tables=a.b,', 'add-tables=a\\.b',
	'filter-tables=nodot', 'filter-tables=,', 'filter-tables=a.b;c.d',
	'add-msg-prefixes=a,,b', 'add-msg-prefixes=a b', 'filter-msg-prefixes=,a', 'filter-msg-prefixes=a,',
	'filter-origins=1 2',
);
my $errors = "\\set VERBOSITY verbose\n\\pset tuples_only on\n";
my $number = 0;
foreach my $option (@errors)
{
	$errors .= "\\warn %%% $number\n";
	foreach my $slot ('peer', 'plain')
	{
		$errors .= "\\warn $slot\nSELECT count(*) FROM pg_logical_slot_peek_changes('$slot', '0/1', 1"
		  . arguments($option, $slot eq 'peer' ? () : 'policy=none') . ");\n";
	}
	$number++;
}
my $said = run_script(write_file('errors.sql', $errors), go_on => 1);
foreach my $part (split /^%%% /m, $said)
{
	my ($i, $theirs, $ours) = $part =~ /\A(\d+)\npeer\n(.*)^plain\n(.*)\z/ms or next;

	foreach ($theirs, $ours)
	{
		s/^psql:\S+ //gm;
		s/^(?!ERROR).*\n//gm;
	}
	is($ours, $theirs, "error: $errors[$i]");
}
done_testing();


# Acdat: what the TAP tests share.
#
# One cluster serves a file.  Changes are read through both ways out, a
# walsender (recv, stream) and the SQL interface (changes); each line that
# comes out is parsed strictly, so every test is a test of validity too.
package Acdat;

use strict;
use warnings;

use Carp;
use Encode ();
use Exporter 'import';
use IPC::Run;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

our @EXPORT = qw(
  start_server create_policy create_slot insert_lsn
  recv recv_fails changes changes_fail stream
  parse_line parse_lines columns_of values_of identity_of of_action
  like_none slurp_log log_position quiet_log
  room_for_large
);

my $json = JSON::PP->new->allow_nonref(0);

# ---- what runs here ----

# May tests take gigabytes of memory?  As PG_TEST_EXTRA says with "large"; where
# it is not set, if there is plenty.
sub room_for_large
{
	my $plenty = 12 * 1024 * 1024;	# kB

	return $ENV{PG_TEST_EXTRA} =~ /\blarge\b/ if defined $ENV{PG_TEST_EXTRA};
	open(my $meminfo, '<', '/proc/meminfo') or return 0;
	my ($available) = map { /^MemAvailable:\s+(\d+)/ ? $1 : () } <$meminfo>;
	close($meminfo);
	return defined $available && $available >= $plenty;
}

# ---- servers ----

# A running cluster.  Options: conf, lines for postgresql.conf; extra, options
# of initdb.
sub start_server
{
	my ($name, %options) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(
		allows_streaming => 'logical',
		extra => $options{extra} || [ '--encoding=UTF8', '--locale=C' ]);
	$node->append_conf('postgresql.conf', <<"CONF");
max_wal_senders = 30
max_replication_slots = 60
autovacuum = off
CONF
	$node->append_conf('postgresql.conf', $options{conf}) if defined $options{conf};
	if (knows_setting($node, 'output_plugin_libraries'))
	{
		$node->append_conf('postgresql.conf',
			"output_plugin_libraries = 'pgoutput, test_decoding, wal2json, decoderbufs, acdat_decoder'");
	}
	$node->start;
	return $node;
}

# Minor releases refuse to start with a setting that they do not know.
sub knows_setting
{
	my ($node, $setting) = @_;
	local %ENV = $node->_get_env();

	return run_quietly($node->installed_command('postgres'), '-D', $node->data_dir, '-C', $setting);
}

sub run_quietly
{
	my @command = @_;
	my ($out, $err);

	return IPC::Run::run(\@command, '<', \undef, '>', \$out, '2>', \$err);
}

# Create, fill and publish a policy with a dictionary of its own: terms are
# pattern => replacement.  Options: those of acdat.create_policy.
sub create_policy
{
	my ($node, $database, $name, $terms, %options) = @_;
	my @patterns = sort keys %$terms;
	my $settings = join '', map { ", $_ => " . literal($options{$_}) } sort keys %options;

	return $node->safe_psql(
		$database,
		join "\n",
		"SELECT acdat.create_dictionary(" . literal($name) . ");",
		"SELECT acdat.add_terms("
		  . literal($name)
		  . ", ARRAY["
		  . join(',', map { literal($_) } @patterns)
		  . "]::text[], ARRAY["
		  . join(',', map { literal($terms->{$_}) } @patterns)
		  . "]::text[]);",
		"SELECT acdat.create_policy(" . literal($name) . ", " . literal($name) . "$settings);",
		"SELECT acdat.publish(" . literal($name) . ");");
}

sub literal
{
	my ($value) = @_;
	my $prefix = $value =~ /\\/ ? 'E' : '';

	$value =~ s/\\/\\\\/g;
	$value =~ s/'/''/g;
	return "$prefix'$value'";
}

# Create slots in a database.
sub create_slot
{
	my ($node, $database, @slots) = @_;

	$node->safe_psql($database,
		join "\n",
		map { "SELECT pg_create_logical_replication_slot('$_', 'acdat_decoder');" } @slots);
	return;
}

sub insert_lsn
{
	my ($node) = @_;

	return $node->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn()');
}

# ---- reading ----

# Pairs of options, as a list or in a list of "name" or "name=value".
sub option_pairs
{
	my ($options) = @_;
	my @pairs;

	foreach my $option (@{ $options || [] })
	{
		my ($name, $value) = split /=/, $option, 2;
		push @pairs, [ $name, $value ];
	}
	return @pairs;
}

sub recv_command
{
	my ($node, $database, $slot, $options, %more) = @_;
	my $connection = $node->connstr($database);

	$connection .= " user=$more{user}" if defined $more{user};
	$connection .= " options='$more{client_options}'" if defined $more{client_options};
	return (
		$node->installed_command('pg_recvlogical'),
		'-d', $connection, '-S', $slot, '--start', '-f', '-', '-F', '0', '-s', '1',
		(map { ('-o', $_) } @{ $options || [] }),
		$more{loop} ? () : '--no-loop');
}

# Read a slot through a walsender up to the present (or "endpos"); returns
# status, lines and what came on stderr.
sub recv_raw
{
	my ($node, $database, $slot, $options, %more) = @_;
	my $endpos = $more{endpos} || insert_lsn($node);
	my @command =
	  (recv_command($node, $database, $slot, $options, %more), '--endpos', $endpos);
	my ($out, $err) = ('', '');
	local %ENV = $node->_get_env();

	IPC::Run::run(\@command, '<', \undef, '>', \$out, '2>', \$err,
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	return ($?, $out, $err);
}

# The lines of a slot through a walsender.
sub recv
{
	my ($node, $database, $slot, $options, %more) = @_;
	my ($status, $out, $err) = recv_raw(@_);

	croak "pg_recvlogical failed: $err" if $status != 0;
	return split /\n/, $out;
}

# What pg_recvlogical says when it fails; it must not have written anything.
sub recv_fails
{
	my ($node, $database, $slot, $options, $expected, $name, %more) = @_;
	my ($status, $out, $err) = recv_raw($node, $database, $slot, $options, %more);

	subtest $name => sub {
		isnt($status, 0, 'it fails');
		is($out, '', 'without output');
		like($err, $expected, 'with the right message');
	};
	return $err;
}

sub changes_query
{
	my ($slot, $options, %more) = @_;
	my $function = $more{peek} ? 'pg_logical_slot_peek_changes' : 'pg_logical_slot_get_changes';
	my $list = join '', map {
		', ' . literal($_->[0]) . ', ' . (defined $_->[1] ? literal($_->[1]) : 'NULL')
	} option_pairs($options);

	return "SELECT data FROM $function('$slot', NULL, NULL$list)";
}

# The lines of a slot through the SQL interface.  Options: peek; before, SQL
# in the same session.
sub changes
{
	my ($node, $database, $slot, $options, %more) = @_;
	my $before = $more{before} ? "$more{before};\n" : '';
	my $out = $node->safe_psql($database, $before . changes_query($slot, $options, %more) . ';');

	return split /\n/, $out;
}

sub changes_fail
{
	my ($node, $database, $slot, $options, $expected, $name, %more) = @_;
	my ($status, $out, $err) = $node->psql($database, changes_query($slot, $options, %more));

	subtest $name => sub {
		isnt($status, 0, 'it fails');
		is($out, '', 'without output');
		like($err, $expected, 'with the right message');
	};
	return $err;
}

# A pg_recvlogical that runs in the background.
sub stream
{
	my ($node, $database, $slot, $options, %more) = @_;
	my @command = recv_command($node, $database, $slot, $options, %more);
	my $self = bless { out => '', err => '', node => $node, slot => $slot }, 'Acdat::Stream';
	local %ENV = $node->_get_env();

	$self->{harness} =
	  IPC::Run::start(\@command, '<', \undef, '>', \$self->{out}, '2>', \$self->{err},
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	unless ($more{unawaited})
	{
		$node->poll_query_until('postgres',
			"SELECT count(*) = 1 FROM pg_stat_replication r JOIN pg_replication_slots s"
			  . " ON s.active_pid = r.pid WHERE s.slot_name = '$slot' AND r.state IN ('streaming', 'catchup')")
		  or croak "stream on slot $slot did not start: $self->{err}";
	}
	return $self;
}

# ---- looking at output ----

# A line's JSON; dies on what is not valid JSON in valid UTF-8.
sub parse_line
{
	my ($line) = @_;
	my $text = eval { Encode::decode('UTF-8', $line, Encode::FB_CROAK | Encode::LEAVE_SRC) };

	croak "not valid UTF-8: " . printable($line) unless defined $text;
	my $parsed = eval { $json->decode($text) };
	croak "not valid JSON: " . printable($line) . ": $@" unless defined $parsed;
	return $parsed;
}

sub printable
{
	my ($line) = @_;

	$line =~ s/([^\x20-\x7e])/sprintf '\\x%02x', ord $1/ge;
	return length $line > 500 ? substr($line, 0, 500) . '...' : $line;
}

sub parse_lines
{
	return map { parse_line($_) } @_;
}

# Parsed records of version 2 with one of these actions, given as letters.
sub of_action
{
	my ($letters, @lines) = @_;

	return grep { index($letters, $_->{action}) >= 0 } parse_lines(@lines);
}

# name => value of a record's columns, or of its identity.
sub columns_of
{
	my ($record) = @_;

	return { map { $_->{name} => $_->{value} } @{ $record->{columns} || [] } };
}

sub identity_of
{
	my ($record) = @_;

	return { map { $_->{name} => $_->{value} } @{ $record->{identity} || [] } };
}

# The values of one column in all records that have it.
sub values_of
{
	my ($column, @records) = @_;

	return map { columns_of($_)->{$column} } grep { $_->{columns} } @records;
}

# None of these strings is in a text.
sub like_none
{
	my ($text, $secrets, $name) = @_;
	my @found = grep { index($text, $_) >= 0 } @$secrets;

	foreach my $secret (@found)
	{
		my $at = index $text, $secret;
		diag("found: " . printable(substr $text, $at > 200 ? $at - 200 : 0, 400));
	}
	return ok(!@found, $name);
}

# ---- the server's log ----

sub slurp_log
{
	my ($node, $from) = @_;

	return slurp_file($node->logfile, $from || 0);
}

sub log_position
{
	my ($node) = @_;

	return -s $node->logfile;
}

# Statements hold what tests look for, so they must not be in the log.
sub quiet_log
{
	return "log_statement = none\nlog_min_error_statement = panic\nlog_duration = off\n"
	  . "log_min_duration_statement = -1\n";
}

package Acdat::Stream;

use strict;
use warnings;

use Carp;
use Time::HiRes qw(usleep);

# Read what has come, until "done" says that it is enough.
sub pump_until
{
	my ($self, $done) = @_;

	while (!$done->())
	{
		$self->{harness}->pump_nb;
		last if $done->();
		croak "stream ended: $self->{err}" unless $self->{harness}->pumpable;
		usleep(5_000);
	}
	return;
}

# Wait for something in the output; returns all lines so far.
sub wait_for
{
	my ($self, $pattern) = @_;

	$self->pump_until(sub { $self->{out} =~ $pattern });
	return $self->lines;
}

# Wait for so many lines that match.
sub wait_for_count
{
	my ($self, $pattern, $count) = @_;

	$self->pump_until(sub { (grep { $_ =~ $pattern } $self->lines) >= $count });
	return $self->lines;
}

# Wait until the client is at least at the present.
sub catch_up
{
	my ($self) = @_;
	my $node = $self->{node};
	my $lsn = Acdat::insert_lsn($node);

	$self->pump_until(sub {
		$node->safe_psql('postgres',
			"SELECT confirmed_flush_lsn >= '$lsn' FROM pg_replication_slots WHERE slot_name = '$self->{slot}'") eq 't'
	});
	return $self->lines;
}

sub lines
{
	my ($self) = @_;
	my ($complete) = $self->{out} =~ /\A(.*\n)?/s;

	return split /\n/, $complete || '';
}

# Wait for the client to end by itself; returns its stderr.
sub wait_for_end
{
	my ($self) = @_;

	$self->{harness}->pump while $self->{harness}->pumpable;
	eval { $self->{harness}->finish };
	return $self->{err};
}

sub stop
{
	my ($self) = @_;

	$self->{harness}->signal('INT');
	eval { $self->{harness}->finish };
	return $self->lines;
}

1;

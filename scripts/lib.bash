# lib.bash: what the scripts share.  Sourced, not run.
#
# A throwaway server lives in a work directory: the data directory in data/,
# its socket in the directory itself, no TCP.  Where the scripts run as root,
# servers and tests run as an unprivileged user who owns that directory.

# shellcheck shell=bash
# shellcheck disable=SC2034  # some variables are for the scripts that source this

umask 022		# what root makes here, the unprivileged user must read
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
work=				# the work directory, once there is one
server_running=
background_pid=

# The user that servers run as: PostgreSQL refuses to run as root.
server_user() {
	local name
	if [ "$(id -u)" != 0 ]; then
		id -un
		return
	fi
	for name in ${ACDAT_USER:-} postgres nobody; do
		if id "$name" >/dev/null 2>&1 && [ "$(id -u "$name")" != 0 ]; then
			echo "$name"
			return
		fi
	done
	echo "no unprivileged user to run a server as: name one in ACDAT_USER" >&2
	return 1
}

# as_user COMMAND...: run a program as that user, in the work directory.
as_user() {
	"${user_prefix[@]}" "$@"
}

# A work directory of that user, with a path short enough for a socket.
make_work() {
	user=$(server_user)
	work=$(mktemp -d "${TMPDIR:-/tmp}/acdat.XXXXXX")
	if [ ${#work} -gt 80 ]; then
		rmdir "$work"
		work=$(mktemp -d /tmp/acdat.XXXXXX)
	fi
	# bash starts what it waits for with interrupts ignored; tests send them.
	user_prefix=(env --default-signal=INT,QUIT -C "$work")
	if [ "$(id -u)" = 0 ]; then
		chown "$user:$(id -g "$user")" "$work"
		user_prefix=(setpriv --reuid="$user" --regid="$(id -g "$user")" --init-groups
			env --default-signal=INT,QUIT -C "$work" HOME="$work" USER="$user" LOGNAME="$user")
	fi
}

# The private PostgreSQL with the extension: below the tree where the server's
# user can read it there, else below the work directory.  ACDAT_SCRATCH names
# the pg_config of one to use again.  Sets bindir.
make_scratch() {
	local log=$work/build.log pg_config
	local -a dest=()
	if ! as_user test -r "$top/Makefile" 2>/dev/null; then
		mkdir -p "$work/pg"
		dest=("$work/pg")
	fi
	if [ -n "${ACDAT_SCRATCH:-}" ]; then
		pg_config=$ACDAT_SCRATCH
	elif ! pg_config=$("$top/scripts/scratch-install" "${PG_CONFIG:-pg_config}" "${dest[@]}" 2>"$log"); then
		cat "$log" >&2
		return 1
	fi
	rm -f "$log"
	scratch_pg_config=$pg_config
	bindir=$("$pg_config" --bindir)
	major=$("$pg_config" --version | sed 's/^[^0-9]*\([0-9]*\).*/\1/')
}

# start_server [SETTING...]: a server on a socket in the work directory.
start_server() {
	as_user "$bindir/initdb" -D "$work/data" -U postgres -A trust -E UTF8 --locale=C --no-sync \
		> "$work/initdb.log" 2>&1 || { cat "$work/initdb.log" >&2; return 1; }
	{
		echo "listen_addresses = ''"
		echo "unix_socket_directories = '$work'"
		echo "wal_level = logical"
		echo "fsync = off"
		echo "max_wal_size = 8GB"
		# Minor releases of before August 2026 refuse to start with it.
		if knows_setting output_plugin_libraries; then
			echo "output_plugin_libraries = 'pgoutput, test_decoding, wal2json, acdat_decoder'"
		fi
		[ $# -eq 0 ] || printf '%s\n' "$@"
	} >> "$work/data/postgresql.conf"
	server_running=1
	as_user "$bindir/pg_ctl" -D "$work/data" -l "$work/server.log" -w -s start >/dev/null ||
		{ cat "$work/server.log" >&2; return 1; }
	export PGHOST=$work PGPORT=5432 PGUSER=postgres PGDATABASE=postgres
	unset PGSERVICE PGHOSTADDR PGPASSFILE PGOPTIONS
}

knows_setting() {
	as_user "$bindir/postgres" -D "$work/data" -C "$1" >/dev/null 2>&1
}

# wait_for COMMAND...: run it so that a signal to this script is acted on at
# once.  A program, not a function, that does not need the terminal.
wait_for() {
	local status=0
	"$@" &
	background_pid=$!
	wait "$background_pid" || status=$?
	background_pid=
	return "$status"
}

# Stop what was started and remove the work directory; safe to call twice.
clean_up() {
	local pid_file pid
	trap '' INT TERM
	if [ -n "$background_pid" ]; then
		kill "$background_pid" 2>/dev/null || true
		wait "$background_pid" 2>/dev/null || true
		background_pid=
	fi
	[ -n "$work" ] && [ -d "$work" ] || return 0
	if [ -n "$server_running" ]; then
		as_user "$bindir/pg_ctl" -D "$work/data" -m immediate -s stop >/dev/null 2>&1 || true
		server_running=
	fi
	# Servers of tests that were cut short.
	while IFS= read -r pid_file; do
		pid=$(head -n 1 "$pid_file" 2>/dev/null) && kill -QUIT "$pid" 2>/dev/null || true
	done < <(find "$work" -name postmaster.pid 2>/dev/null)
	if [ -n "${ACDAT_KEEP:-}" ]; then
		echo "kept: $work" >&2
	else
		rm -rf "$work"
	fi
}

trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

-- The recipe of wal2json's own figures: "rows" pgbench transactions, then DELETE of everything
-- (of 10 accounts a transaction, which are all of them at multiples of 10,000).
-- bench: prepare
\! pgbench -i -q -s $(( ({rows} + 9999) / 10000 )) 2>/dev/null
-- bench: changes
\! pgbench -n -t {rows} --random-seed=1 >/dev/null 2>&1
SELECT {rows} * 4 + (SELECT count(*) FROM pgbench_accounts WHERE aid <= {rows} * 10) + (SELECT count(*) FROM pgbench_tellers)
	+ (SELECT count(*) FROM pgbench_branches) + (SELECT count(*) FROM pgbench_history) AS changes;
ALTER TABLE pgbench_history REPLICA IDENTITY FULL;
DELETE FROM pgbench_accounts WHERE aid <= {rows} * 10;
DELETE FROM pgbench_tellers;
DELETE FROM pgbench_branches;
DELETE FROM pgbench_history;

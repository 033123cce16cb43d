-- bench: set logical_decoding_work_mem = '4GB'
-- bench: prepare
CREATE TABLE million (id integer PRIMARY KEY, v text);
-- bench: check million v
-- bench: changes
INSERT INTO million SELECT i, 'value number ' || i FROM generate_series(1, {rows}) AS i;
SELECT {rows} AS changes;

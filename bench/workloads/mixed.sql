-- bench: prepare
CREATE TABLE mixed (id bigint PRIMARY KEY, a integer, b boolean, c numeric(12, 2), d double precision,
	e date, f timestamptz, g uuid, h varchar(100), i text, j jsonb);
-- bench: check mixed i
-- bench: changes
\copy mixed FROM {data}
SELECT {rows} AS changes;

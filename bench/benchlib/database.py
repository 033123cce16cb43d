"""What all kinds of workloads on a server share: the base database, and their dispatch."""

from benchlib import building, decode, registry, server, sqlbench, texts

POLICIES = {"bench_small": "cjk1114", "bench_ascii": "ascii100k", "bench_cjk": "cjk100k"}

BASE = """
CREATE DATABASE bench_base;
\\c bench_base
CREATE FUNCTION bench_noop(text) RETURNS integer LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'bench_noop';
CREATE FUNCTION bench_read(text) RETURNS boolean LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'bench_noop';
CREATE FUNCTION bench_noop_false(text) RETURNS boolean LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'bench_noop';
CREATE FUNCTION bench_textbook_contains(text, text) RETURNS boolean LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'bench_textbook';
CREATE FUNCTION bench_textbook_replace(text, text) RETURNS text LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'bench_textbook';
CREATE PUBLICATION bench FOR ALL TABLES;
"""


def load_terms(dictionary, name):
    """SQL that makes a dictionary "name" of the terms of a file."""
    return f"""
SELECT acdat.create_dictionary('{name}');
CREATE TEMP TABLE incoming (number bigint GENERATED ALWAYS AS IDENTITY, pattern text);
\\copy incoming (pattern) FROM '{texts.dictionary_file(dictionary)}'
SELECT acdat.add_terms('{name}', array_agg(pattern ORDER BY number)) FROM incoming;
DROP TABLE incoming;
"""


def make_base(home, context):
    """The template database: extension, published policies, helper functions."""
    home.sql(BASE)
    try:
        home.sql("CREATE EXTENSION acdat_decoder", "bench_base")
        for policy, dictionary in POLICIES.items():
            home.sql(load_terms(dictionary, policy)
                     + f"SELECT acdat.create_policy('{policy}', '{policy}'); SELECT acdat.publish('{policy}');",
                     "bench_base")
    except RuntimeError as problem:
        home.has_acdat = False
        context.report(f"skipped acdat_decoder: {problem}")


def run(by_kind, engines, context):
    oracle_engine = next((e for e in registry.engines() if e.kind == "oracle"))
    oracle = building.build_all([oracle_engine], context.report)[oracle_engine.id]
    with server.Server(context.report) as home:
        context.facts["server"] = home.version()
        make_base(home, context)
        if "decode" in by_kind:
            decode.run(by_kind["decode"], engines, [home], oracle, context)
        if "sql" in by_kind:
            sqlbench.run(by_kind["sql"], engines, {"": home}, oracle, context)
        if "publish" in by_kind:
            sqlbench.run_publish(by_kind["publish"], {"": home}, context)

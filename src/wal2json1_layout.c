/*
 * wal2json1_layout.c
 *		Punctuation and white space of version 1 of the wal2json format.
 *
 * White space of "pretty-print" is in the layout, which is empty without it.
 */
#include "postgres.h"

#include "wal2json1.h"

static void
lay_out_lists(const AcdatOptions *options, W2j1Layout *layout)
{
	static const char *const new_names[W2J_LISTS] = {
		"columnnames", "columntypes", "columntypeoids", "columnpositions",
		"columnoptionals", "columndefaults", "columnvalues"
	};
	static const char *const key_names[W2J_LISTS] = {
		"keynames", "keytypes", "keytypeoids", NULL, NULL, NULL, "keyvalues"
	};
	const bool	wanted[W2J_LISTS] = {
		true, options->include_types, options->include_type_oids,
		options->include_column_positions, options->include_not_null,
		options->include_default, true
	};
	const char *ht = layout->tab;

	for (int i = 0; i < W2J_LISTS; i++)
	{
		W2j1List *list = &layout->lists[i];

		list->new_name = new_names[i];
		list->key_name = key_names[i];
		list->wanted = wanted[i];
		list->new_open = w2j_format("%s%s%s\"%s\":%s[", ht, ht, ht, new_names[i],
									layout->space);
		if (key_names[i] != NULL)
			list->key_open = w2j_format("%s%s%s%s\"%s\":%s[", ht, ht, ht, ht, key_names[i],
										layout->space);
	}
}

void
w2j1_start(AcdatDecoder *decoder)
{
	static const char *const kinds[] = {"insert", "update", "delete"};
	const AcdatOptions *options = &decoder->options;
	W2j1Layout	   *layout = palloc0(sizeof(W2j1Layout));
	const char *ht = options->pretty_print ? "\t" : "";
	const char *nl = options->pretty_print ? "\n" : "";
	const char *sp = options->pretty_print ? " " : "";
	const char *chunk_nl = options->write_in_chunks ? "" : nl;

	layout->tab = ht;
	layout->newline = nl;
	layout->space = sp;
	lay_out_lists(options, layout);
	layout->begin = w2j_format("{%s", nl);
	layout->change = w2j_format("%s\"change\":%s[", ht, sp);
	layout->before_change = w2j_format("%s%s%s", chunk_nl, ht, ht);
	for (int i = 0; i < (int) lengthof(kinds); i++)
		layout->kind[i] = w2j_format("{%s%s%s%s\"kind\":%s\"%s\",%s", nl, ht, ht, ht, sp,
									 kinds[i], nl);
	layout->next_list = w2j_format("],%s", nl);
	layout->last_list = w2j_format("]%s", nl);
	layout->object_open = w2j_format("%s%s%s\"columns\":%s{", ht, ht, ht, sp);
	layout->keys_object_open = w2j_format("%s%s%s\"oldkeys\":%s{", ht, ht, ht, sp);
	layout->keys_open = w2j_format("%s%s%s\"oldkeys\":%s{%s", ht, ht, ht, sp, nl);
	layout->keys_close = w2j_format("%s%s%s}%s", ht, ht, ht, nl);
	layout->separator = w2j_format(",%s", sp);
	layout->comma = w2j_format(",%s", nl);
	layout->end_change = w2j_format("%s%s}", ht, ht);
	layout->end = w2j_format("%s%s]%s}", chunk_nl, ht, nl);
	layout->message_begin = w2j_format("{%s%s\"change\":%s[%s", nl, ht, sp, nl);
	layout->message = w2j_format("{%s%s%s%s\"kind\":%s\"message\",%s%s%s%s\"transactional\":%s",
								 nl, ht, ht, ht, sp, nl, ht, ht, ht, sp);
	layout->message_content = w2j_format(",%s%s%s%s\"content\":%s", nl, ht, ht, ht, sp);
	layout->message_end = w2j_format("%s%s%s}", nl, ht, ht);
	layout->message_close = w2j_format("%s%s]%s}", nl, ht, nl);
	decoder->format_state = layout;
}

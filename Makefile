# acdat_decoder: build, install, test.  "make help" lists what can be made.
#
# The build is PGXS: PG_CONFIG chooses the PostgreSQL to build for.  The
# targets under "development" are scripts and need no PostgreSQL to start.

EXTENSION = acdat_decoder
MODULE_big = acdat_decoder
PGFILEDESC = "acdat_decoder - redacting logical decoding output plugin"

# The version stands in the control file and nowhere else.
ACDAT_VERSION := $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" $(EXTENSION).control)

CORE_OBJS = $(patsubst %.c,%.o,$(sort $(wildcard core/*.c)))
GLUE_SRCS = $(sort $(wildcard src/*.c))
OBJS = $(CORE_OBJS) $(GLUE_SRCS:.c=.o)
DATA = $(sort $(wildcard sql/$(EXTENSION)--*.sql))

REGRESS := $(patsubst test/sql/%.sql,%,$(sort $(wildcard test/sql/*.sql)))
REGRESS_OPTS = --inputdir=test
ISOLATION := $(patsubst test/specs/%.spec,%,$(sort $(wildcard test/specs/*.spec)))
ISOLATION_OPTS = --inputdir=test
TAP_TESTS := $(if $(wildcard t/*.pl),1)

PROGRAM_DIR = src/bin/acdat
BUILD_DIR = build
EXPORTS_MAP = $(BUILD_DIR)/exports.map

EXTRA_CLEAN = $(OBJS:.o=.d) $(EXPORTS_MAP) $(BUILD_DIR)/target.stamp tmp_check log

# ---- compiling ----

# Headers of PostgreSQL are system headers: their warnings are not ours.
PG_CPPFLAGS = -DACDAT_VERSION='"$(ACDAT_VERSION)"' -isystem $(includedir_server) -Icore -Isrc
PG_CFLAGS = -Wall -Wextra -Wno-declaration-after-statement -MMD -MP $(CLANG_CFLAGS)
# Flags and attributes that configure chose for gcc mean nothing to clang.
CLANG_CFLAGS = $(if $(findstring clang,$(shell $(CC) --version 2>/dev/null)),-Wno-unknown-warning-option -Wno-ignored-optimization-argument -Wno-ignored-attributes)

# Dependencies are tracked here, beside the objects, whatever configure chose.
override autodepend := no
# No bitcode: nothing here gains from being inlined by the JIT compiler.
ifneq ($(origin with_llvm),command line)
override with_llvm := no
endif

# Only entry points leave the library: the list is made from the sources.
ifneq ($(shell uname -s),Darwin)
SHLIB_LINK += -Wl,--version-script=$(EXPORTS_MAP)
endif

# ---- which goals need PGXS ----

DEV_GOALS = help check check-core check-matrix demo lint scratch bench ci
PG_CONFIG ?= pg_config
# A path given relative to here must still be found from below.
ifneq (,$(findstring /,$(PG_CONFIG)))
override PG_CONFIG := $(abspath $(PG_CONFIG))
endif
export PG_CONFIG

ifneq (,$(filter-out $(DEV_GOALS),$(or $(MAKECMDGOALS),all)))

PGXS := $(shell $(PG_CONFIG) --pgxs)
ifeq (,$(PGXS))
$(error "$(PG_CONFIG)" did not run: install the server's development package, or name its pg_config in PG_CONFIG)
endif
include $(PGXS)

-include $(OBJS:.o=.d)

# Rebuild all when the server built for, the compiler or its flags change.
TARGET := $(shell $(PG_CONFIG) --version --configure) $(CC) $(CFLAGS)
$(BUILD_DIR)/target.stamp: force-target
	@mkdir -p $(BUILD_DIR)
	@printf '%s\n' $(call quote,$(TARGET)) | cmp -s - $@ || printf '%s\n' $(call quote,$(TARGET)) > $@
quote = '$(subst ','\'',$(1))'
$(OBJS): $(BUILD_DIR)/target.stamp

$(EXPORTS_MAP): $(GLUE_SRCS) scripts/exports
	@mkdir -p $(BUILD_DIR)
	scripts/exports $(GLUE_SRCS) > $@
$(MODULE_big)$(DLSUFFIX): $(EXPORTS_MAP)

# The client program has a Makefile of its own and links objects of core.
ifneq (,$(wildcard $(PROGRAM_DIR)/Makefile))
all: all-program
install: install-program
uninstall: uninstall-program
clean: clean-program
# It finds libpq where this PostgreSQL has it, if configure wanted that.
comma = ,
PROGRAM_VARIABLES = ACDAT_VERSION='$(ACDAT_VERSION)' \
	LDFLAGS='$(if $(filter yes,$(enable_rpath)),-Wl$(comma)-rpath$(comma)$(libdir))'
all-program: $(CORE_OBJS)
	$(MAKE) -C $(PROGRAM_DIR) all $(PROGRAM_VARIABLES)
install-program: all-program
	$(MAKE) -C $(PROGRAM_DIR) install $(PROGRAM_VARIABLES)
uninstall-program clean-program:
	$(MAKE) -C $(PROGRAM_DIR) $(@:-program=)
endif

# Drop-in names: a role whose dynamic_library_path starts with this directory
# gets this library under the name of the plugin its connector asks for.
DROPIN_DIR = $(DESTDIR)$(pkglibdir)/acdat
DROPINS = pgoutput wal2json test_decoding decoderbufs
install: install-dropins
install-dropins: all
	$(MKDIR_P) '$(DROPIN_DIR)'
	for name in $(DROPINS); do \
		ln -sf ../$(MODULE_big)$(DLSUFFIX) '$(DROPIN_DIR)'/$$name$(DLSUFFIX) || exit 1; \
	done
uninstall: uninstall-dropins
uninstall-dropins:
	rm -f $(patsubst %,'$(DROPIN_DIR)'/%$(DLSUFFIX),$(DROPINS))
	if test -d '$(DROPIN_DIR)'; then rmdir '$(DROPIN_DIR)'; fi

clean: clean-core-tests
clean-core-tests:
	if test -f test/core/Makefile; then $(MAKE) -C test/core clean; fi

distclean: clean-scratch
clean-scratch:
	rm -rf tmp_install $(BUILD_DIR)

endif

# ---- development ----

.PHONY: force-target all-program install-program uninstall-program clean-program
.PHONY: install-dropins uninstall-dropins clean-core-tests clean-scratch $(DEV_GOALS)

help:
	@scripts/help

# A throwaway server that shows what the extension does.  DICT and ROWS make
# it do so with a dictionary of yours over generated rows.
demo:
	@exec env DICT='$(DICT)' ROWS='$(ROWS)' scripts/demo

# Every test, on the PostgreSQL of PG_CONFIG; nothing of it is changed.  (PGXS
# has a "check" too, which only says that it is not supported.)
ifneq (,$(filter check,$(MAKECMDGOALS)))
check:
	@scripts/check
endif

check-core:
	$(MAKE) -C test/core check

# The same on other majors, in directories made by debootstrap.
check-matrix:
	@scripts/check-matrix $(MATRIX)

lint:
	@scripts/lint

# Measure against the peers; BENCH="--help" lists what else it can do.
bench:
	@bench/bench $(or $(BENCH),quick)

# A private copy of the PostgreSQL of PG_CONFIG with the extension in it,
# below tmp_install/; prints the path of its pg_config.
scratch:
	@scripts/scratch-install

# A thin front door over meson. `make help` lists the targets.
SHELL := /bin/bash
.NOTPARALLEL: # ninja and tools/check run things side by side where that is safe

DESTDIR ?=
UNITS := dist/systemd

.PHONY: all build install run check lint fmt fuzz bench clean help packages-build packages-run packages-check

all: build

help:
	@echo 'make build   build/airlock'
	@echo 'make run     install what is missing, build, run two transformations in virtual machines'
	@echo 'make install as root: programs, units and, if there is none, the configuration of airlockd; DESTDIR=...'
	@echo 'make check   install what is missing, build, every check and test; ends with the count'
	@echo 'make lint    only formatting, clang-tidy, cppcheck, shellcheck, style and layers'
	@echo 'make fmt     clang-format -i over the tree'
	@echo 'make fuzz    each libFuzzer target for FUZZ_SECONDS (default 60)'
	@echo 'make bench   the numbers of docs/performance.md, beside the peers that are installed'
	@echo 'make clean   remove build directories and what the examples wrote'

packages-build:
	@tools/packages ensure build

packages-run:
	@tools/packages ensure run build

packages-check:
	@tools/packages ensure run build test

build: packages-build
	@test -f build/build.ninja || meson setup build
	@ninja -j2 -C build

# What systemd reads anew after it: docs/operator.md.
install: build
	@install -D -m 755 -t $(DESTDIR)/usr/bin build/airlock build/airlockd build/airlock-vmm
	@install -D -m 644 -t $(DESTDIR)/usr/lib/systemd/system $(UNITS)/airlockd.service $(UNITS)/airlockd.socket
	@install -D -m 644 $(UNITS)/sysusers.conf $(DESTDIR)/usr/lib/sysusers.d/airlock.conf
	@install -D -m 644 $(UNITS)/tmpfiles.conf $(DESTDIR)/usr/lib/tmpfiles.d/airlock.conf
	@test -e $(DESTDIR)/etc/airlock/airlockd.json || \
	    install -D -m 644 $(UNITS)/airlockd.json $(DESTDIR)/etc/airlock/airlockd.json

run: packages-run build
	@examples/run.sh

check: packages-check
	@tools/check

lint: packages-check
	@tools/check --lint

fmt:
	@find src include tests -name '*.[ch]' -print0 | xargs -0 clang-format -i

fuzz: packages-check
	@tools/fuzz $(FUZZ_SECONDS)

bench: packages-run build
	@bench/peers

clean:
	rm -rf build build-asan build-fuzz examples/data examples/out

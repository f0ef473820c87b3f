# The two commands of the README, and their parts. `make help` lists them.

# Where rustup puts cargo, and where Debian puts programs that an ordinary user's path leaves out.
export PATH := $(PATH):$(HOME)/.cargo/bin:/usr/sbin:/sbin
CAPBENCH := $(or $(CARGO_TARGET_DIR),target)/release/capbench

.PHONY: help bench test setup build

help:
	@echo 'make bench   set up, build and compare the capture methods on this host;'
	@echo '             flags go into ARGS: make bench ARGS="--quick --size 64,1518"'
	@echo 'make test    set up and run every check (the same as ./check)'
	@echo 'make build   build $(CAPBENCH)'
	@echo 'make setup   install what building and testing need and this host lacks'

bench: build
	@$(CAPBENCH) bench $(ARGS)

test:
	@tools/setup test
	@./check

build:
	@tools/setup build
	@cargo build --release --locked --package capbench

setup:
	@tools/setup test

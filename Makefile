# The two commands of the README, their parts, and installation. `make help` lists them.

# Where rustup puts cargo, and where Debian puts programs that an ordinary user's path leaves out.
export PATH := $(PATH):$(HOME)/.cargo/bin:/usr/sbin:/sbin
CAPBENCH := $(or $(CARGO_TARGET_DIR),target)/release/capbench

# Where things are installed. A package is made below DESTDIR.
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man
BASHDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
FISHDIR ?= $(PREFIX)/share/fish/vendor_completions.d
UNITDIR ?= $(PREFIX)/lib/systemd/system
UNITS := $(notdir $(wildcard packaging/*.service))
# The system's Wireshark has one folder, wherever its packager put it; a user's own is below their own prefix.
EXTCAPDIR ?= $(if $(filter /usr /usr/local,$(PREFIX)),$(or $(firstword $(wildcard \
  /usr/libexec/wireshark/extcap /usr/lib/*/wireshark/extcap /usr/lib64/wireshark/extcap /usr/lib/wireshark/extcap)),\
  $(PREFIX)/lib/wireshark/extcap),$(PREFIX)/lib/wireshark/extcap)

.PHONY: help bench test setup build docs deb sbom install uninstall

help:
	@echo 'make bench   set up, build and compare the capture methods on this host;'
	@echo '             flags go into ARGS: make bench ARGS="--quick --size 64,1518"'
	@echo 'make test    set up and run every check (the same as ./check)'
	@echo 'make build   build $(CAPBENCH)'
	@echo 'make docs    build the documentation as a site, target/docs/index.html'
	@echo 'make setup   install what building and testing need and this host lacks'
	@echo 'make install put what was built below PREFIX ($(PREFIX)): program, manual pages,'
	@echo '             completions, systemd units, and a link for Wireshark; uninstall removes them'
	@echo 'make deb     make a Debian package of what was built'
	@echo 'make sbom    list the crates that the program is made of (CycloneDX)'

bench: build
	@$(CAPBENCH) bench $(ARGS)

test:
	@tools/setup test
	@./check

# Paths of this host do not get into the program: the same source becomes the same octets in every folder and home.
CARGO_FOLDER := $(or $(CARGO_HOME),$(HOME)/.cargo)
build: export RUSTFLAGS := $(strip $(RUSTFLAGS) --remap-path-prefix=$(CURDIR)=capbench --remap-path-prefix=$(CARGO_FOLDER)=cargo)
build:
	@tools/setup build
	@test -e $(CAPBENCH) || echo "make: the first build takes about 4 minutes on 2 CPUs; this host has $$(nproc)"
	@cargo build --release --locked --package capbench

setup:
	@tools/setup test

docs:
	@tools/docs

deb sbom:
	@CAPBENCH=$(CAPBENCH) tools/package $@

# It builds nothing: what was built as a user is installed as root.
install:
	@test -f $(CAPBENCH) || { echo 'make: there is no $(CAPBENCH); `make build` makes it' >&2; exit 1; }
	@set -e; made=$$(mktemp -d); trap 'rm -rf "$$made"' EXIT; \
	$(CAPBENCH) generate man "$$made/man"; \
	$(CAPBENCH) generate completions "$$made/completions"; \
	put() { install -D -m "$$1" "$$2" "$(DESTDIR)$$3"; echo "$(DESTDIR)$$3"; }; \
	put 755 $(CAPBENCH) $(BINDIR)/capbench; \
	for page in "$$made"/man/*; do put 644 "$$page" "$(MANDIR)/man$${page##*.}/$${page##*/}"; done; \
	put 644 "$$made/completions/capbench.bash" $(BASHDIR)/capbench; \
	put 644 "$$made/completions/_capbench" $(ZSHDIR)/_capbench; \
	put 644 "$$made/completions/capbench.fish" $(FISHDIR)/capbench.fish; \
	for unit in $(UNITS); do \
	  sed 's,^ExecStart=/usr/bin/,ExecStart=$(BINDIR)/,' "packaging/$$unit" >"$$made/unit"; \
	  put 644 "$$made/unit" "$(UNITDIR)/$$unit"; \
	done; \
	mkdir -p $(DESTDIR)$(EXTCAPDIR); \
	ln -sfnr $(DESTDIR)$(BINDIR)/capbench $(DESTDIR)$(EXTCAPDIR)/capbench-extcap; \
	echo "$(DESTDIR)$(EXTCAPDIR)/capbench-extcap"

# Folders in which others have files stay; below DESTDIR that is nobody, once they are empty.
uninstall:
	rm -f $(addprefix $(DESTDIR),$(BINDIR)/capbench $(MANDIR)/man1/capbench.1 $(MANDIR)/man[157]/capbench-*.[157] $(BASHDIR)/capbench \
	  $(ZSHDIR)/_capbench $(FISHDIR)/capbench.fish $(addprefix $(UNITDIR)/,$(UNITS)) $(EXTCAPDIR)/capbench-extcap)
	@for folder in $(BINDIR) $(MANDIR)/man1 $(MANDIR)/man5 $(MANDIR)/man7 $(BASHDIR) $(ZSHDIR) $(FISHDIR) $(UNITDIR) $(EXTCAPDIR); do \
	  if [ -n "$(DESTDIR)" ] && [ -d "$(DESTDIR)$$folder" ]; then \
	    (cd "$(DESTDIR)" && rmdir -p --ignore-fail-on-non-empty "$${folder#/}"); \
	  fi; \
	done

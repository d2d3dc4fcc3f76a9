# `make demo` and `make test` set up what they need; either may be the first
# command ever run in a clone. Needed: Rust (cargo), a C linker, Python 3 with pip.

CARGO ?= cargo
TARGET = $(if $(CARGO_TARGET_DIR),$(CARGO_TARGET_DIR),target)
WAVEFENCE = $(TARGET)/release/wavefence

# One profile for everything, so that nothing is built twice.
BUILD = $(CARGO) build --release --package wavefence-cli

.PHONY: help demo test lint unit smoke oracle build dxc cargo clean

help:
	@echo 'make demo [PROFILE=series-x] [IMAGE=photo.png]  run the demo, result in target/demo/'
	@echo 'make test                                       everything that CI runs'
	@echo 'make lint | unit | smoke                        its parts'
	@echo 'make oracle                                     the flush oracle alone'
	@echo 'make build                                      the program: $(WAVEFENCE)'
	@echo 'make dxc                                        fetch the HLSL compiler to .tools/dxc/'
	@echo 'make clean                                      remove what was built'
	@echo 'Profiles: xbox-one xbox-one-s xbox-one-x series-s series-x'

demo: build dxc
	@mkdir -p target/demo
	$(WAVEFENCE) run demo/demo.yaml $(if $(PROFILE),--profile '$(PROFILE)') \
	    $(if $(IMAGE),--image 'Photo=$(IMAGE)') --image Result=target/demo/result.png \
	    --report text=target/demo/report.txt
	@echo 'target/demo/report.txt'
	@echo 'target/demo/result.png'

test: lint unit smoke

lint: cargo
	@$(CARGO) fmt --version >/dev/null 2>&1 && $(CARGO) clippy --version >/dev/null 2>&1 || \
	    rustup component add rustfmt clippy || \
	    { echo 'make: rustfmt and clippy are needed (Debian: apt-get install rustfmt rust-clippy)' >&2; exit 1; }
	$(CARGO) fmt --all --check
	$(CARGO) clippy --release --workspace --all-targets -- -D warnings

unit: cargo dxc
	$(CARGO) test --release --workspace

# The demo on the oldest and the newest console, model and fast run.
smoke: build dxc
	@mkdir -p target/smoke
	@for profile in xbox-one series-x; do for mode in '' --fast; do \
	    $(WAVEFENCE) run demo/demo.yaml --profile $$profile $$mode \
	        --image Result=target/smoke/$$profile$$mode.png \
	        --report text=target/smoke/$$profile$$mode.txt || exit 1; \
	done; done
	cmp target/smoke/xbox-one.png target/smoke/xbox-one--fast.png
	cmp target/smoke/series-x.png target/smoke/series-x--fast.png
	cmp target/smoke/series-x.png target/smoke/xbox-one.png

# hardware/caches.md 6.1 as tests; the last line counts them.
oracle: cargo
	@$(CARGO) test --release --package wavefence --test oracle

build: cargo
	$(BUILD)

dxc:
	@tools/fetch-dxc.sh

cargo:
	@command -v $(CARGO) >/dev/null 2>&1 || \
	    { echo 'make: cargo is not on PATH; install Rust from https://rustup.rs (1.89 or later)' >&2; exit 1; }

clean:
	$(CARGO) clean
	rm -rf .tools

# Everything here is a name for a command that works without make too.

FUZZTIME ?= 10m
SOAKTIME ?= 1h

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: ## Serve examples/shop, and print links, tokens and curl lines
	go run ./cmd/rowcast serve --config examples/shop/rowcast.yaml

.PHONY: test
test: ## Everything a change must pass: form, vet, linters, 10 s of each fuzz target, all tests
	go run ./internal/verify

.PHONY: check
check: ## What takes a minute of it: form, vet, linters
	go run ./internal/verify --only format,vet,lint

.PHONY: fuzz
fuzz: ## Each fuzz target for FUZZTIME (10m)
	go run ./internal/verify --only fuzz --fuzztime $(FUZZTIME)

.PHONY: soak
soak: ## All tests under the race detector, again and again for SOAKTIME (1h)
	go run ./internal/verify --only soak --soaktime $(SOAKTIME)

.PHONY: bench
bench: ## Measure rowcast beside a floor server: the table of docs/BENCHMARKS.md
	go run ./bench

.PHONY: build
build: ## Build bin/rowcast
	CGO_ENABLED=0 go build -trimpath -ldflags=-s -o bin/rowcast ./cmd/rowcast

.PHONY: dist
dist: ## Build the binaries of a release, for all platforms, and their checksums into dist/
	go run ./internal/dist

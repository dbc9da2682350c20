# Berth, in one command each. `make help` lists them. Everything is built with CMake; see CMakePresets.json.
.POSIX:
.PHONY: help demo test check mutants oracle bench fleet build release install images try-images packages stubs try-packages format clean release-baseline

JOBS = $$(nproc)

help:
	@echo 'make demo     start placement and a tracker, show a host, claim a part of it; CERTIFICATES=1: over mutual TLS'
	@echo 'make test     build everything and run all tests (cold: about half an hour on two cores)'
	@echo 'make check    build with clang, run linters, run tests under sanitizers'
	@echo 'make mutants  break the product in many ways; a test must find each'
	@echo 'make oracle FILES="a.jsonl folder"   replay recorded answers of OpenStack against placement and the tracker'
	@echo 'make bench    measure Berth, pgbench, a bare gRPC echo and OpenStack Placement on this machine'
	@echo 'make fleet    measure placement with ten thousand made-up hosts on this machine'
	@echo 'make install  install the release build under PREFIX (default /usr/local); DESTDIR is honoured'
	@echo 'make images   build container images from Debian packages into build/images; as root'
	@echo 'make try-images   build the images twice, and run them with podman; as root'
	@echo 'make packages      build Debian packages into build/release/packages'
	@echo 'make stubs         build libberth-dev, for C++ programs that call Berth, and berth.protoset beside the packages'
	@echo 'make try-packages  check all packages with lintian; install, upgrade, use and purge them in a bare Debian; as root'
	@echo 'make format   format all C++ with clang-format'
	@echo 'make clean    remove build/'
	@echo 'make release-baseline   record the protos of a release, with which buf breaking compares'

demo:
	@deploy/install-packages build run $(if $(filter 1,$(CERTIFICATES)),certificates)
	@CERTIFICATES=$(CERTIFICATES) deploy/demo/run

build:
	@deploy/install-packages build run test
	@cmake --preset dev
	@cmake --build --preset dev

test: build
	@ctest --preset dev -j $(JOBS)

check:
	@deploy/install-packages build run test check
	@.ci/check $(CHECK_STEPS)

mutants: build
	@tests/history/mutants.py

oracle:
	@deploy/install-packages build run test
	@tests/oracle/run $(FILES)

bench:
	@deploy/install-packages build run test bench
	@tests/bench/run

fleet:
	@deploy/install-packages build run test
	@tests/fleet/run $(FLEET)

PREFIX = /usr/local
release:
	@deploy/install-packages build run
	@cmake --preset release -DCMAKE_INSTALL_PREFIX=$(PREFIX) -DBERTH_TESTS=OFF
	@cmake --build --preset release --target berth-placement berth-tracker berth

install: release
	@cmake --install build/release

images: release
	@deploy/install-packages images
	@deploy/containers/build

try-images: release
	@deploy/install-packages images try-images
	@tests/deploy/containers.py

packages:
	@deploy/install-packages packages
	@$(MAKE) release PREFIX=/usr
	@cd build/release && cpack

stubs:
	@deploy/install-packages build packages
	@cmake --preset release -DCMAKE_INSTALL_PREFIX=/usr -DBERTH_TESTS=OFF
	@cmake --build --preset release --target stubs
	@cd build/release && cpack -D CPACK_COMPONENTS_ALL=libberth-dev

try-packages: packages stubs
	@deploy/install-packages try-packages certificates
	@tests/deploy/packages.py build/release/packages
	@tests/deploy/page.py build/release/packages

format:
	@deploy/install-packages check
	@git ls-files '*.h' '*.cc' | xargs -r clang-format-14 -i

clean:
	rm -rf build

release-baseline:
	@.ci/buf build proto --exclude-source-info --output proto/baseline.binpb

# Installing, packaging and trying it on a real systemd. Included by the Makefile.

.PHONY: install uninstall deb examples e2e verify-device

install: build ## lay the programs, units, man pages, runbook below PREFIX (/usr/local), or DESTDIR
	@DESTDIR='$(DESTDIR)' PREFIX='$(or $(PREFIX),/usr/local)' $(if $(NODE),NODE='$(NODE)') scripts/device/install.sh

uninstall: ## take them away; settings and memories stay
	@DESTDIR='$(DESTDIR)' PREFIX='$(or $(PREFIX),/usr/local)' scripts/device/uninstall.sh

deb: build ## the Debian package of this architecture, into build/
	@scripts/device/build-deb

# What is made from the table of settings.
examples: setup
	@node --import tsx scripts/device/examples.ts

e2e: build ## the package under a real systemd, from install to purge (root)
	@scripts/device/e2e.sh

verify-device: ## the acceptance test of an installed device (root)
	@scripts/device/verify-device.sh

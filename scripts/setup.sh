#!/bin/sh
# Installs everything that building and testing need, from package-lock.json, with npm or with Bun, whichever is here.
# Install scripts of packages are not run: native parts come as ordinary packages, nothing is compiled or downloaded.
set -eu
cd "$(dirname "$0")/.."

# A linked folder is another checkout's: installing would empty it.
if [ -L node_modules ]; then exit 0; fi

stamp=node_modules/.memq-installed
if [ -f "$stamp" ] && cmp -s package-lock.json "$stamp"; then exit 0; fi

if command -v npm >/dev/null 2>&1; then
  npm ci --ignore-scripts --no-audit --no-fund >&2
elif command -v bun >/dev/null 2>&1; then
  bun install --frozen-lockfile --ignore-scripts >&2
else
  echo "setup: neither npm nor bun is installed. Install Node.js (with npm) or Bun and run this again." >&2
  exit 1
fi

# The package `bun` holds a placeholder until its install step puts the binary of this platform in place.
if command -v node >/dev/null 2>&1; then run=node; else run=bun; fi
(cd node_modules/bun && "$run" install.js) >&2
cp package-lock.json "$stamp"

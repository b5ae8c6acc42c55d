#!/usr/bin/env bash
# Builds and installs the library for C and C++: headers, shared and static library, pkg-config and CMake files.
#
#   crates/c/install.sh PREFIX
#
# DESTDIR is put before PREFIX, for packages. SAPWOOD_PROFILE names a cargo profile other than release, SAPWOOD_STATIC=0
# leaves the static library out, and SAPWOOD_BUILT names a folder with a shared library that was built before.
set -euo pipefail
prefix=${1:?usage: install.sh PREFIX}
cd "$(dirname "$0")"
profile=${SAPWOOD_PROFILE:-release}
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' ../../Cargo.toml)
# Before 1.0 a minor version may change the interface.
abi=$(cut -d. -f1,2 <<<"$version")
case $(uname -s) in
Darwin)
  shared=libsapwood_c.$abi.dylib link=libsapwood_c.dylib
  name=(-C "link-arg=-Wl,-install_name,$prefix/lib/$shared")
  system_libs="-framework Security -framework CoreFoundation -liconv"
  ;;
*)
  shared=libsapwood_c.so.$abi link=libsapwood_c.so
  name=(-C "link-arg=-Wl,-soname,$shared")
  system_libs="-lpthread -ldl -lm"
  ;;
esac
if [ -n "${SAPWOOD_BUILT:-}" ]; then
  folder=$SAPWOOD_BUILT
else
  target=$(cargo metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p')
  folder=$target/$([ "$profile" = dev ] && echo debug || echo "$profile")
  cargo rustc --package sapwood-c --lib --profile "$profile" --crate-type cdylib -- "${name[@]}"
fi
root=${DESTDIR:-}$prefix
mkdir -p "$root/include" "$root/lib/pkgconfig" "$root/lib/cmake/Sapwood"
install -m 755 "$folder/$link" "$root/lib/$shared"
ln -sf "$shared" "$root/lib/$link"
if [ "${SAPWOOD_STATIC:-1}" != 0 ] && [ -z "${SAPWOOD_BUILT:-}" ]; then
  cargo rustc --package sapwood-c --lib --profile "$profile" --crate-type staticlib
  install -m 644 "$folder/libsapwood_c.a" "$root/lib/"
fi
install -m 644 include/sapwood.h include/sapwood.hpp "$root/include/"
fill() { # template, output
  sed -e "s|@PREFIX@|$prefix|g" -e "s|@VERSION@|$version|g" -e "s|@ABI@|$abi|g" -e "s|@SHARED@|$shared|g" \
    -e "s|@SYSTEM_LIBS@|$system_libs|g" "$1" >"$2"
}
fill sapwood.pc.in "$root/lib/pkgconfig/sapwood.pc"
fill SapwoodConfig.cmake.in "$root/lib/cmake/Sapwood/SapwoodConfig.cmake"
fill SapwoodConfigVersion.cmake.in "$root/lib/cmake/Sapwood/SapwoodConfigVersion.cmake"
echo "installed Sapwood $version for C and C++ below $root"

# What the scripts share: install what is missing, say clearly what cannot be installed. Sourced, not run.
# shellcheck shell=bash

need_swift() {
    command -v swift >/dev/null 2>&1 && return 0
    echo "A Swift toolchain (6.2 or later) is needed: https://www.swift.org/install/" >&2
    exit 2
}

# install_packages PACKAGE...: Debian packages, with sudo where needed.
install_packages() {
    local as_root=""
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null 2>&1; then
            echo "Missing: $*. Neither root nor sudo is at hand; install them as root: apt-get install $*" >&2
            exit 2
        fi
        as_root="sudo"
    fi
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "Missing: $*. This system has no apt-get; install what corresponds to these Debian packages." >&2
        exit 2
    fi
    echo "Installing $* ..."
    $as_root apt-get update -qq || true
    if ! DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends "$@" >/dev/null; then
        echo "Could not install $*. Install them by hand and run this again." >&2
        exit 2
    fi
}

# The library links the system's SQLite and zlib; their headers are in packages of their own.
need_sqlite() {
    [ "$(uname -s)" = Linux ] || return 0
    [ -e /usr/include/sqlite3.h ] || install_packages libsqlite3-dev
    [ -e /usr/include/zlib.h ] || install_packages zlib1g-dev
}

# Draws letters of all scripts, for placeholders as PNG.
need_pango() {
    [ "$(uname -s)" = Linux ] || return 0
    pkg-config --exists pangocairo 2>/dev/null || install_packages libpango1.0-dev pkg-config fonts-dejavu-core
}

# Whatever is behind a trait is built and tested too. One set of traits throughout, so that one build serves all scripts.
traits="--traits HTTPOrigin,OpenCombine,PlaceholderPNG"

# want_tool NAME: a program, from the Debian package of the same name. Without it the tests that need it are skipped.
want_tool() {
    [ "$(uname -s)" = Linux ] || return 0
    command -v "$1" >/dev/null 2>&1 || (install_packages "$1") || echo "Tests that need $1 are skipped." >&2
}

# want_nginx: an origin for the tests, as AVATARS_NGINX. The package would start a server of its own, now and at each boot,
# so that where it is missing it is only unpacked. Without it the tests that need it are skipped.
want_nginx() {
    local tools="$PWD/.build/tools"
    AVATARS_NGINX="$(PATH="$PATH:/usr/sbin:/usr/local/sbin" command -v nginx || true)"
    if [ -z "$AVATARS_NGINX" ] && [ "$(uname -s)" = Linux ] && command -v apt-get >/dev/null 2>&1; then
        AVATARS_NGINX="$tools/usr/sbin/nginx"
        [ -x "$AVATARS_NGINX" ] || unpack_packages "$tools" nginx nginx-light
    fi
    if [ -n "$AVATARS_NGINX" ] && "$AVATARS_NGINX" -v >/dev/null 2>&1; then
        export AVATARS_NGINX
    else
        echo "Tests that need nginx are skipped." >&2
    fi
}

# build_release: builds the program so that it needs no Swift where it runs; where it lies is release_program.
#
# The Swift runtime, SQLite, zlib and the C++ library become part of it as far as this system has their archives; the C
# library and libgcc are the system's.
build_release() {
    local flags=(-c release --product avatars --static-swift-stdlib) archives="$PWD/.build/release-archives" library archive
    if [ "$(uname -s)" = Linux ]; then
        # A folder that has nothing but archives, and is looked into before the system's: where the linker finds one there,
        # it does not come to the shared library of the same name.
        mkdir -p "$archives"
        for library in sqlite3 z stdc++; do
            archive="$(clang -print-file-name="lib$library.a" 2>/dev/null || true)"
            case "$archive" in /*) ln -sf "$archive" "$archives/" ;; esac
        done
        # Not libgcc: the C library loads the shared one when a thread ends, and so it had better be named.
        flags+=(-Xswiftc "-L$archives" -Xswiftc -use-ld=lld)
        # Nobody links with a program, and each start looks through the symbols that it offers for that. What it takes from
        # libraries is bound at its start, and cannot be changed then.
        flags+=(-Xlinker --no-export-dynamic -Xlinker -z -Xlinker now)
    fi
    AVATARS_WARNINGS_AS_ERRORS=1 swift build "${flags[@]}" --quiet
    # shellcheck disable=SC2034 # Used by the scripts that source this.
    release_program="$(AVATARS_WARNINGS_AS_ERRORS=1 swift build "${flags[@]}" --show-bin-path)/avatars"
}

# symbol_graph MODULE BUILD FOLDER [OPTION...]: the public declarations of a module that lies in BUILD, as files in FOLDER.
symbol_graph() {
    local module="$1" build="$2" folder="$3" target map option options=()
    shift 3
    target="$(swiftc -print-target-info | sed -n 's/^ *"unversionedTriple": "\(.*\)",*$/\1/p')"
    # The C modules that ours are built on: those of the sources, and those that the build made.
    while IFS= read -r map; do
        options+=(-Xcc "-fmodule-map-file=$map")
    done < <(
        find "$build/../../checkouts" "$PWD/Sources" -path '*/Sources/*' -name module.modulemap | grep -v SQLCipher
        find "$build" -maxdepth 2 -path '*.build/module.modulemap'
    )
    for option in $(pkg-config --cflags-only-I pangocairo 2>/dev/null || true); do options+=(-Xcc "$option"); done
    swift-symbolgraph-extract -module-name "$module" -I "$build/Modules" -target "$target" "${options[@]}" \
        -minimum-access-level public -skip-synthesized-members -output-dir "$folder" "$@"
}

# unpack_packages FOLDER PACKAGE...: puts the files of Debian packages there and installs nothing.
unpack_packages() {
    local folder="$1" package
    shift
    mkdir -p "$folder"
    [ "$(id -u)" -ne 0 ] || apt-get update -qq >/dev/null 2>&1 || true
    for package in "$@"; do
        # The name of the package that holds a program differs between releases.
        (cd "$folder" && apt-get download -qq "$package" >/dev/null 2>&1) || true
    done
    for package in "$folder"/*.deb; do
        [ -e "$package" ] || continue
        dpkg -x "$package" "$folder"
        rm "$package"
    done
}

# Copies the man pages in folder $1 to folder $2 under the names that `man avatars sync` looks for: avatars-sync.1, where
# ArgumentParser's plugin writes avatars.sync.1.
take_manual_pages() {
    local page name
    for page in "$1"/*.1; do
        name="$(basename "$page" .1)"
        sed -e '/^\.Xr /s/avatars\./avatars-/' -e '/^\.Dt /s/AVATARS\./AVATARS-/' "$page" >"$2/${name//./-}.1"
    done
}

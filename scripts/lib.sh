# Functions that the scripts share, mostly to install missing packages. Sourced, not run.
# shellcheck shell=bash

# All optional code and the tests are on; see Package.swift.
export AVATARS_DEVELOPMENT=1

need_swift() {
    command -v swift >/dev/null 2>&1 && return 0
    echo "\"swift\" is missing from PATH. Install a Swift toolchain, 6.2 or later: https://www.swift.org/install/" >&2
    exit 2
}

# install_packages PACKAGE...: installs Debian packages, with sudo if needed.
install_packages() {
    local as_root=""
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null 2>&1; then
            echo "Missing packages: $*. Installing them needs root or sudo. As root, run: apt-get install $*" >&2
            exit 2
        fi
        as_root="sudo"
    fi
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "Missing packages: $*. This system has no apt-get. Install the equivalents of these Debian packages." >&2
        exit 2
    fi
    echo "Installing $* ..."
    $as_root apt-get update -qq || true
    if ! DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends "$@" >/dev/null; then
        echo "apt-get could not install $*. Install them by hand and run this again." >&2
        exit 2
    fi
}

# need_header HEADER PACKAGE: adds the package to the array `missing` of the caller unless the system has the header.
need_header() {
    # shellcheck disable=SC2034 # The array of `need`.
    [ -e "/usr/include/$1" ] || missing+=("$2")
}

# need LIBRARY...: installs the headers of libraries that this system lacks, all in one run of apt-get. With
# `fetching=yes` before it, SwiftPM fetches the packages of a new checkout meanwhile.
#
#   sqlite    SQLite and zlib, which the library links
#   openssl   OpenSSL, whose hash functions the library links
#   curl      libcurl, which the origin client links
#   pango     Pango, which draws the letters of PNG placeholders
#   decoders  the libraries that decode images for renditions
need() {
    [ "$(uname -s)" = Linux ] || return 0
    local library missing=() fetch=""
    for library in "$@"; do
        case "$library" in
            sqlite)
                need_header sqlite3.h libsqlite3-dev
                need_header zlib.h zlib1g-dev
                ;;
            openssl) need_header openssl/sha.h libssl-dev ;;
            curl) command -v curl-config >/dev/null 2>&1 || missing+=(libcurl4-openssl-dev) ;;
            pango)
                pkg-config --exists pangocairo 2>/dev/null ||
                    missing+=(libpango1.0-dev pkg-config fonts-dejavu-core)
                ;;
            decoders)
                need_header jpeglib.h libjpeg-dev
                need_header png.h libpng-dev
                need_header webp/demux.h libwebp-dev
                need_header gif_lib.h libgif-dev
                need_header lcms2.h liblcms2-dev
                ;;
            *)
                echo "need: no library \"$library\"" >&2
                exit 2
                ;;
        esac
    done
    [ "${#missing[@]}" -gt 0 ] || return 0
    if [ -n "${fetching:-}" ] && [ ! -e .build/checkouts ]; then
        # Its errors are not lost: the build that follows fetches again.
        swift package resolve >/dev/null 2>&1 &
        fetch=$!
    fi
    install_packages "${missing[@]}"
    [ -z "$fetch" ] || wait "$fetch" || true
}

# build_with_progress OPTION...: runs `swift build`, and shows how far it is: on a terminal as it goes, else a line for each tenth.
build_with_progress() {
    if [ -t 1 ]; then
        swift build "$@"
        return
    fi
    # The last lines tell why a build fails.
    swift build "$@" 2>&1 | awk '
        /^(Fetch|Comput|Creating working copy|Working copy|warning: prohibited)/ {
            if (!fetching++) { print "  fetching the packages"; fflush() }
            next
        }
        /^\[[0-9]+\/[0-9]+\]/ {
            split(substr($1, 2), count, /[\/\]]/)
            tenth = int(10 * count[1] / count[2])
            if (count[2] > 20 && tenth > shown) { print "  " count[1] " of " count[2] " steps"; fflush(); shown = tenth }
            next
        }
        { print; fflush() }'
}

# want_tool NAME: installs a program from the Debian package of that name. Without it, tests that need it are skipped.
want_tool() {
    [ "$(uname -s)" = Linux ] || return 0
    command -v "$1" >/dev/null 2>&1 || (install_packages "$1") || echo "Tests that need $1 are skipped." >&2
}

# want_nginx: sets AVATARS_NGINX, the origin of some tests. A missing nginx is only unpacked, because its package would
# start a server, now and at each boot. Without nginx, tests that need it are skipped.
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

# want_dav: sets AVATARS_DAV to a folder with the CardDAV servers of some tests and vdirsyncer, which are not installed: packages of
# servers would start services. Without pip and a network, the tests that need them are skipped.
want_dav() {
    local tools="$PWD/.build/tools/dav" program missing=""
    for program in radicale xandikos vdirsyncer; do [ -x "$tools/bin/$program" ] || missing=yes; done
    if [ -n "$missing" ]; then
        python3 -m pip --version >/dev/null 2>&1 || want_tool python3-pip
        python3 -m pip install -q --upgrade --disable-pip-version-check --root-user-action=ignore --target "$tools" radicale==3.5.4 \
            xandikos==0.2.12 dulwich==0.22.8 vdirsyncer==0.19.3 >/dev/null 2>&1 || true
    fi
    # Its test is skipped where this Python cannot run it.
    PYTHONPATH="$tools" "$tools/bin/vdirsyncer" --version >/dev/null 2>&1 || rm -f "$tools/bin/vdirsyncer"
    if PYTHONPATH="$tools" "$tools/bin/radicale" --version >/dev/null 2>&1; then
        export AVATARS_DAV="$tools"
    else
        echo "Tests that need Radicale and xandikos are skipped." >&2
    fi
}

# want_ldap: sets AVATARS_LDAP to a folder with the directory of a test, unless the system has it. It is not installed: its package
# would start a service.
want_ldap() {
    local tools="$PWD/.build/tools/ldap" libraries
    if [ -x /usr/sbin/slapd ] && [ -x /usr/bin/ldapsearch ]; then return; fi
    if [ ! -x "$tools/usr/sbin/slapd" ] && [ "$(uname -s)" = Linux ] && command -v apt-get >/dev/null 2>&1; then
        unpack_packages "$tools" slapd ldap-utils libldap-2.5-0 libldap2 libldap-2.6-0 libodbc2 libltdl7 libwrap0 libnsl2 \
            libtirpc3 libtirpc3t64 libsasl2-2
    fi
    libraries="$(printf '%s:' "$tools"/usr/lib/*-linux-gnu "$tools"/lib/*-linux-gnu "$tools"/usr/lib/ldap)"
    if LD_LIBRARY_PATH="$libraries" "$tools/usr/sbin/slapd" -VV >/dev/null 2>&1 &&
        LD_LIBRARY_PATH="$libraries" "$tools/usr/bin/ldapsearch" -VV >/dev/null 2>&1; then
        export AVATARS_LDAP="$tools"
    else
        echo "The test that needs slapd is skipped." >&2
    fi
}

# want_kdc: sets AVATARS_KDC to a folder with the Kerberos server of a test, which is not installed: its package would start a service.
want_kdc() {
    local tools="$PWD/.build/tools/kdc"
    if [ ! -x "$tools/usr/sbin/krb5kdc" ] && [ "$(uname -s)" = Linux ] && command -v apt-get >/dev/null 2>&1; then
        unpack_packages "$tools" krb5-kdc krb5-admin-server libkadm5srv-mit12 libkdb5-10 libverto1 libverto-libev1 libev4 libgssrpc4 \
            libkrb5-3 libk5crypto3 libkrb5support0 libgssapi-krb5-2 libkeyutils1 libedit2 libss2
    fi
    if [ -x "$tools/usr/sbin/krb5kdc" ]; then
        export AVATARS_KDC="$tools"
    else
        echo "The test that needs krb5-kdc is skipped." >&2
    fi
}

# link_archives LIBRARY...: fills a folder with the archives that this system has of the libraries, and sets archives to its
# path. The linker searches it first, so it takes these archives and not the shared libraries of the same names.
link_archives() {
    local library archive
    archives="$PWD/.build/release-archives"
    mkdir -p "$archives"
    for library in "$@"; do
        archive="$(clang -print-file-name="lib$library.a" 2>/dev/null || true)"
        case "$archive" in /*) ln -sf "$archive" "$archives/" ;; esac
    done
}

# set_release_flags: sets release_flags to the options of `swift build` for programs that need no Swift where they run.
#
# The Swift runtime, SQLite, zlib, the hash functions of OpenSSL and the C++ library are linked statically if this system has
# their archives. libcurl, the C library and libgcc are the system's.
set_release_flags() {
    local archives
    release_flags=(-c release --static-swift-stdlib)
    if [ "$(uname -s)" = Linux ]; then
        link_archives sqlite3 z crypto stdc++
        # Not libgcc: the C library loads the shared one when a thread ends, so the program must depend on it.
        release_flags+=(-Xswiftc "-L$archives" -Xswiftc -use-ld=lld)
        # No symbols are exported, because searching them slows each start. Symbols from libraries are bound at the start
        # and then read-only.
        release_flags+=(-Xlinker --no-export-dynamic -Xlinker -z -Xlinker now)
        # No library is searched for beside the program, which takes 40 calls in each start.
        release_flags+=(--disable-local-rpath)
    fi
}

# build_release: builds the program of a release, and sets release_program to its path.
build_release() {
    local release_flags
    set_release_flags
    release_flags+=(--product avatars)
    AVATARS_WARNINGS_AS_ERRORS=1 swift build "${release_flags[@]}" --quiet
    # shellcheck disable=SC2034 # Used by the scripts that source this.
    release_program="$(AVATARS_WARNINGS_AS_ERRORS=1 swift build "${release_flags[@]}" --show-bin-path)/avatars"
}

# build_decoder: builds the helper of renditions, and sets decoder_program to its path. Linux only.
#
# clang builds it, because SwiftPM links the Swift runtime into C programs too. The libraries of image formats are linked
# statically if this system has their archives, because the names of shared libraries differ between systems. Debian has no
# archive of Little CMS.
build_decoder() {
    local archives libraries=(-ljpeg -lpng16 -lwebpdemux -lwebp -lgif -llcms2 -lz -lm)
    link_archives jpeg png16 webpdemux webp sharpyuv gif lcms2 z
    # Until version 1.3 a part of libwebp.
    [ ! -e "$archives/libsharpyuv.a" ] || libraries+=(-lsharpyuv)
    decoder_program="$PWD/.build/release-decoder"
    # The program binds the symbols of libraries at its start, because the sandbox forbids reading them later.
    clang -std=gnu17 -O2 -Wall -Wextra -Werror -DAVATAR_RENDITIONS -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fPIE -pie \
        -ISources/CAvatarDecoder/include Sources/CAvatarDecoder/*.c Sources/avatars-decoder/main.c -o "$decoder_program" \
        "-L$archives" "${libraries[@]}" -Wl,-z,relro,-z,now,--as-needed
}

# symbol_graph MODULE BUILD FOLDER [OPTION...]: writes the public declarations of a module in BUILD to files in FOLDER.
symbol_graph() {
    local module="$1" build="$2" folder="$3" target map option options=()
    shift 3
    target="$(swiftc -print-target-info | sed -n 's/^ *"unversionedTriple": "\(.*\)",*$/\1/p')"
    # The C modules that the Swift modules import: those in the sources, and those that the build made.
    while IFS= read -r map; do
        options+=(-Xcc "-fmodule-map-file=$map")
    done < <(
        find "$build/../../checkouts" "$PWD/Sources" -path '*/Sources/*' -name module.modulemap
        find "$build" -maxdepth 2 -path '*.build/module.modulemap'
    )
    for option in $(pkg-config --cflags-only-I pangocairo 2>/dev/null || true); do options+=(-Xcc "$option"); done
    swift-symbolgraph-extract -module-name "$module" -I "$build/Modules" -target "$target" "${options[@]}" \
        -minimum-access-level public -skip-synthesized-members -output-dir "$folder" "$@"
}

# unpack_packages FOLDER PACKAGE...: unpacks Debian packages into FOLDER, without installing them.
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

# take_manual_pages FROM TO: copies man pages under the names that `man avatars sync` looks for. ArgumentParser's plugin
# writes avatars.sync.1; the copy is avatars-sync.1. The plugin leaves blank lines as they are, and two examples in one
# paragraph; mdoc wants `.Pp` before each paragraph, none before an item, and a line for each sentence. The paragraph about the
# environment becomes the section that readers of man pages look for.
take_manual_pages() {
    local page name
    for page in "$1"/*.1; do
        name="$(basename "$page" .1)"
        awk '
            /^Environment variables: / { sub(/^[^:]*: /, ""); environment = $0; paragraph = 0; next }
            /^\.Sh .*SEE ALSO/ && environment { print ".Sh ENVIRONMENT"; print environment; environment = "" }
            /^\.Xr / { sub(/avatars\./, "avatars-") }
            /^\.Dt / { sub(/AVATARS\./, "AVATARS-") }
            /^\.Nd / { sub(/\."$/, "\"") }
            /^(\.Pp)?$/ { paragraph = 1; next }
            /^Example: / { paragraph = before !~ /^\.Sh/ }
            paragraph && !/^\.(It|El|Sh)/ { print ".Pp" }
            { paragraph = 0; before = $0; print }
            END { if (environment) { print ".Sh ENVIRONMENT"; print environment } }
        ' "$page" | sed -e '/^[^.]/s/\([[:alnum:])"][.?]\) \([[:upper:]$]\)/\1\n\2/g' >"$2/${name//./-}.1"
    done
}

# pack_pages FOLDER: copies the pages of a release to FOLDER. All articles are in one folder there, the examples lie beside the
# program, and the links lead to these places.
pack_pages() {
    local folder="$1"
    mkdir -p "$folder/docs"
    cp docs/*.png docs/*.md docs/*.json Benchmarks/results/growth.svg Benchmarks/results/latest.json Sources/*/*.docc/*.md "$folder/docs/"
    cp Examples/ContactsSyncService/README.md "$folder/docs/ContactsSyncService.md"
    cp README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md "$folder/"
    sed -i -E -e 's#\(Sources/[A-Za-z]+/[A-Za-z]+\.docc/?#(docs/#g; s#\(docs/\)#(docs)#g' \
        -e 's#\(Examples/([A-Za-z]+)/README\.md#(docs/\1.md#g' "$folder"/*.md
    sed -i -E -e 's#\((\.\./)?Sources/[A-Za-z]+/[A-Za-z]+\.docc/#(#g; s#Examples/(systemd|prometheus|nginx|caddy)#\1#g' \
        -e 's#\(\.\./Benchmarks/results/#(#g' "$folder"/docs/*.md
    link_articles "$folder/docs"
}

# link_articles FOLDER: replaces the links of DocC (<doc:Name>) in the articles of FOLDER by links to the files beside them, with
# the titles of the articles.
link_articles() {
    local folder="$1" file name title
    for name in $(grep -hoE '<doc:[A-Za-z]+>' "$folder"/*.md | sort -u | sed -E 's/<doc:(.*)>/\1/'); do
        file="$folder/$name.md"
        if [ ! -e "$file" ]; then
            echo "The link <doc:$name> leads to no article: \"$file\" does not exist." >&2
            return 1
        fi
        title="$(sed -n -E '1s/^# //p' "$file" | sed -E 's/``/`/g; s/[\&#\\]/\\&/g')"
        sed -i -E "s#<doc:$name>#[$title]($name.md)#g" "$folder"/*.md
    done
}

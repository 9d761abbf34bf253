#!/bin/sh
# Installs umascope from a release: picks the file for this machine, checks its SHA-256, installs it.
#
#   sh install.sh                       as root, or with sudo: the package of apt or dnf, or the archive where there is neither
#   sh install.sh --user                for this user, without root, from the archive
#   sh install.sh                       on macOS: uma-load alone, in ~/.local/bin
#   sh install.sh --version 1.2.3       that release; the latest if not given
#   sh install.sh --from PLACE          a folder or URL with the files of a release, such as a mirror
#   sh install.sh --key KEY.asc         refuse a release that is not signed by this key (needs gpgv, which apt brings)
#
# Exit codes: 0 done; 1 failed; 2 cannot be done here.
set -eu
releases=https://github.com/umascope/umascope/releases

fail() {
	echo "install.sh: $*" >&2
	exit "${code:-2}"
}

scope=system from='' version='' key=''
while [ $# -gt 0 ]; do
	case $1 in
	--user) scope=user ;;
	--from | --version | --key)
		[ $# -gt 1 ] || fail "$1 wants a value; see --help"
		case $1 in --from) from=$2 ;; --version) version=${2#v} ;; --key) key=$2 ;; esac
		shift
		;;
	-h | --help)
		sed -n '2,11s/^# \{0,1\}//p' "$0"
		exit 0
		;;
	*) fail "unknown argument $1; see --help" ;;
	esac
	shift
done
[ -z "$from" ] || [ -z "$version" ] || fail "--from and --version: give one of them"
[ -z "$key" ] || [ -r "$key" ] || fail "--key $key: it cannot be read"

system=$(uname -s) sum=sha256sum
case $system in
Linux) ;;
Darwin) sum="shasum -a 256" ;;
*) fail "$system: there are files for Linux and macOS only" ;;
esac
case $(uname -m) in
x86_64) arch=amd64 machine=x86_64 ;;
aarch64 | arm64) arch=arm64 machine=aarch64 ;; # as Linux and macOS name it
*) fail "$(uname -m): there are files for x86_64 and aarch64 only" ;;
esac
if [ -z "$from" ]; then
	from=$releases/latest/download
	[ -z "$version" ] || from=$releases/download/v$version
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

# get copies a file of the release into the scratch folder.
get() {
	case $from in
	http://* | https://*)
		if command -v curl >/dev/null; then
			curl -fsSL --retry 3 -o "$scratch/$1" "$from/$1"
		elif command -v wget >/dev/null; then
			wget -q -O "$scratch/$1" "$from/$1"
		else
			fail "neither curl nor wget is installed"
		fi
		;;
	*) cp "$from/$1" "$scratch/$1" ;;
	esac || code=1 fail "$from/$1 cannot be read"
}

get SHA256SUMS
if [ -n "$key" ]; then
	command -v gpgv >/dev/null || fail "--key needs gpgv: apt-get install gpgv"
	get SHA256SUMS.asc
	# gpgv reads no armor: base64 between an empty line and a checksum that begins with =.
	awk '/^$/ {inside = 1} /^[=-]/ {inside = 0} inside' "$key" | base64 -d >"$scratch/key.gpg" 2>/dev/null && [ -s "$scratch/key.gpg" ] ||
		fail "--key $key: it is not a public key that gpg --armor --export wrote"
	gpgv --keyring "$scratch/key.gpg" "$scratch/SHA256SUMS.asc" "$scratch/SHA256SUMS" 2>/dev/null ||
		code=1 fail "$from/SHA256SUMS is not signed by $key; nothing was installed"
fi

# pick downloads the only file of the release whose name begins and ends so, and checks it.
pick() {
	name=$(sed -n "s/^[0-9a-f]\{64\}  \($1[^/]*$2\)\$/\1/p" "$scratch/SHA256SUMS")
	[ -n "$name" ] && [ "$(echo "$name" | grep -c .)" = 1 ] || code=1 fail "$from/SHA256SUMS does not list one file $1*$2"
	get "$name"
	(cd "$scratch" && grep "  $name\$" SHA256SUMS | $sum --check --status) ||
		code=1 fail "$from/$name has another SHA-256 than SHA256SUMS lists; nothing was installed"
}

if [ "$system" = Darwin ]; then
	pick uma-load "-darwin-$arch.tar.gz"
	tar -xzf "$scratch/$name" -C "$scratch"
	mkdir -p "$HOME/.local/bin"
	mv "$scratch/${name%.tar.gz}/uma-load" "$HOME/.local/bin/uma-load"
	echo "installed $HOME/.local/bin/uma-load"
	exit 0
fi
if [ $scope = system ]; then
	root=
	if [ "$(id -u)" != 0 ]; then
		command -v sudo >/dev/null || fail "needs root; without it, sh install.sh --user installs for this user alone"
		root=sudo
	fi
	if command -v apt-get >/dev/null; then
		pick umascope "_$arch.deb"
		chmod 755 "$scratch" # apt reads the file as a user of its own
		$root apt-get install -y "$scratch/$name" || code=1 fail "apt-get did not install $name"
		exit 0
	elif command -v dnf >/dev/null; then
		pick umascope "$machine.rpm"
		$root dnf install -y "$scratch/$name" || code=1 fail "dnf did not install $name"
		exit 0
	fi
fi
pick umascope "-linux-$arch.tar.gz"
tar -xzf "$scratch/$name" -C "$scratch"
set --
[ $scope = system ] || set -- --user
${root:-} "$scratch/${name%.tar.gz}/install" "$@"

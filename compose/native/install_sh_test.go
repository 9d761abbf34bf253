package native_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// release is a folder with the files of a release, and a machine whose uname, apt-get and id answer as the test wants.
type release struct {
	t            *testing.T
	dir, machine string
}

func newRelease(t *testing.T) release {
	t.Helper()
	r := release{t, t.TempDir(), t.TempDir()}
	sums := ""
	for _, arch := range []string{"amd64", "arm64"} {
		linux, darwin := "umascope-1.2.3-linux-"+arch, "uma-load-1.2.3-darwin-"+arch
		for name, content := range map[string][]byte{
			linux + ".tar.gz":                 r.archive(linux+"/install", "echo "+arch+" archive \"$@\" >>"+r.machine+"/done"),
			darwin + ".tar.gz":                r.archive(darwin+"/uma-load", "echo "+arch+" macOS"),
			"umascope_1.2.3_" + arch + ".deb": []byte(arch + " package"),
			"umascope-1.2.3-1." + map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[arch] + ".rpm": []byte(arch + " rpm"),
		} {
			must(t, os.WriteFile(filepath.Join(r.dir, name), content, 0o644))
			sums += fmt.Sprintf("%x  %s\n", sha256.Sum256(content), name)
		}
	}
	must(t, os.WriteFile(filepath.Join(r.dir, "SHA256SUMS"), []byte(sums), 0o644))
	r.program("uname", `case $1 in -s) echo Linux;; *) echo aarch64;; esac`)
	r.program("id", "echo 0")
	for _, name := range []string{"sh", "sed", "mktemp", "rm", "cp", "mv", "grep", "sha256sum", "chmod", "tar", "gzip", "mkdir", "curl", "cat"} {
		if path, err := exec.LookPath(name); err == nil {
			must(t, os.Symlink(path, filepath.Join(r.machine, name)))
		}
	}
	return r
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// needs skips a test on a machine without a program that .ci/run installs.
func needs(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// archive returns one with a program.
func (r release) archive(name, text string) []byte {
	r.t.Helper()
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	files := tar.NewWriter(zipped)
	text = "#!/bin/sh\n" + text + "\n"
	must(r.t, files.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}))
	_, err := files.Write([]byte(text))
	must(r.t, errors.Join(err, files.Close(), zipped.Close()))
	return packed.Bytes()
}

// macOS makes the machine a Mac: another uname, and shasum in place of sha256sum.
func (r release) macOS() {
	r.t.Helper()
	r.program("uname", `case $1 in -s) echo Darwin;; *) echo arm64;; esac`)
	sum, err := exec.LookPath("sha256sum")
	must(r.t, errors.Join(err, os.Remove(filepath.Join(r.machine, "sha256sum"))))
	r.program("shasum", `[ "$1 $2" = "-a 256" ] || exit 1; shift 2; exec `+sum+` "$@"`)
}

// program makes a program of the machine.
func (r release) program(name, text string) {
	r.t.Helper()
	must(r.t, os.WriteFile(filepath.Join(r.machine, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755))
}

// install runs install.sh. It returns the exit code, what was installed, and the messages.
func (r release) install(args ...string) (code int, installed, messages string) {
	r.t.Helper()
	script, err := filepath.Abs("install.sh")
	must(r.t, err)
	c := exec.CommandContext(r.t.Context(), "/bin/sh", append([]string{script}, args...)...)
	c.Env = []string{"PATH=" + r.machine, "TMPDIR=" + r.t.TempDir(), "HOME=" + os.Getenv("HOME")}
	c.Dir = r.t.TempDir()
	text, err := c.CombinedOutput()
	if exit, is := errors.AsType[*exec.ExitError](err); is {
		code = exit.ExitCode()
	} else if err != nil {
		r.t.Fatal(err)
	}
	done, _ := os.ReadFile(filepath.Join(r.machine, "done"))
	if left, err := os.ReadDir(strings.TrimPrefix(c.Env[1], "TMPDIR=")); err != nil || len(left) > 0 {
		r.t.Errorf("%v: files are left: %v, %v", args, left, err)
	}
	return code, string(done), string(text)
}

func TestAReleaseIsPickedVerifiedAndInstalled(t *testing.T) {
	for name, c := range map[string]struct {
		machine func(release)
		args    []string
		want    string
	}{
		"the archive where there is no apt": {func(release) {}, nil, "arm64 archive\n"},
		"the archive of a user":             {func(r release) { r.program("id", "echo 1000") }, []string{"--user"}, "arm64 archive --user\n"},
		"the other architecture":            {func(r release) { r.program("uname", `case $1 in -s) echo Linux;; *) echo x86_64;; esac`) }, nil, "amd64 archive\n"},
		"the package": {func(r release) {
			r.program("apt-get", `for last; do :; done; echo "$1 $(cat "$last")" >>`+r.machine+"/done")
		}, nil, "install arm64 package\n"},
		"the package of rpm": {func(r release) {
			r.program("dnf", `for last; do :; done; echo "$1 $(cat "$last")" >>`+r.machine+"/done")
		}, nil, "install arm64 rpm\n"},
		"by sudo": {func(r release) {
			r.program("id", "echo 1000")
			r.program("sudo", `echo sudo >>`+r.machine+`/done; "$@"`)
		}, nil, "sudo\narm64 archive\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRelease(t)
			c.machine(r)
			code, installed, messages := r.install(append([]string{"--from", r.dir}, c.args...)...)
			if code != 0 || installed != c.want {
				t.Errorf("exit %d, installed %q: %s", code, installed, messages)
			}
		})
	}
}

func TestAMacGetsTheLoadGenerator(t *testing.T) {
	r := newRelease(t)
	r.macOS()
	home := t.TempDir()
	t.Setenv("HOME", home)
	if code, _, messages := r.install("--from", r.dir); code != 0 || !strings.Contains(messages, home+"/.local/bin/uma-load") {
		t.Fatalf("exit %d: %s", code, messages)
	}
	if said, err := exec.CommandContext(t.Context(), filepath.Join(home, ".local/bin/uma-load")).Output(); err != nil || string(said) != "arm64 macOS\n" {
		t.Errorf("%q, %v", said, err)
	}
}

func TestAReleaseOfAServerIsInstalled(t *testing.T) {
	needs(t, "curl")
	r := newRelease(t)
	server := httptest.NewServer(http.FileServer(http.Dir(r.dir)))
	defer server.Close()
	if code, installed, messages := r.install("--user", "--from", server.URL); code != 0 || installed != "arm64 archive --user\n" {
		t.Errorf("exit %d, installed %q: %s", code, installed, messages)
	}
	if code, installed, messages := r.install("--user", "--from", server.URL+"/none"); code != 1 || strings.Count(installed, "\n") != 1 || !strings.Contains(messages, "/none/SHA256SUMS cannot be read") {
		t.Errorf("a release that is not there: exit %d, installed %q: %s", code, installed, messages)
	}
}

func TestAReleaseThatIsNotRightIsNotInstalled(t *testing.T) {
	edit := func(r release, name string, change func(string) string) {
		path := filepath.Join(r.dir, name)
		text, err := os.ReadFile(path)
		must(t, err)
		must(t, os.WriteFile(path, []byte(change(string(text))), 0o644))
	}
	for name, c := range map[string]struct {
		change   func(release)
		args     []string
		code     int
		messages string
	}{
		"a changed archive": {func(r release) {
			edit(r, "umascope-1.2.3-linux-arm64.tar.gz", func(s string) string { return s + "x" })
		}, nil, 1, "has another SHA-256"},
		"a cut archive": {func(r release) { edit(r, "umascope-1.2.3-linux-arm64.tar.gz", func(s string) string { return s[:20] }) }, nil, 1, "has another SHA-256"},
		"no sum of it": {func(r release) {
			edit(r, "SHA256SUMS", func(s string) string { return strings.ReplaceAll(s, "arm64", "riscv64") })
		}, nil, 1, "does not list one file umascope*-linux-arm64.tar.gz"},
		"two of it": {func(r release) {
			edit(r, "SHA256SUMS", func(s string) string { return s + strings.ReplaceAll(s, "1.2.3", "1.2.4") })
		}, nil, 1, "does not list one file"},
		"a name with a folder": {func(r release) {
			edit(r, "SHA256SUMS", func(s string) string { return strings.ReplaceAll(s, "umascope-", "umascope/../") })
		}, nil, 1, "does not list one file"},
		"no release":           {func(r release) { must(t, os.RemoveAll(r.dir)) }, nil, 1, "SHA256SUMS cannot be read"},
		"an unknown processor": {func(r release) { r.program("uname", `case $1 in -s) echo Linux;; *) echo riscv64;; esac`) }, nil, 2, "riscv64: there are files for x86_64 and aarch64 only"},
		"another system":       {func(r release) { r.program("uname", "echo FreeBSD") }, nil, 2, "FreeBSD: there are files for Linux and macOS only"},
		"a changed archive for macOS": {func(r release) {
			r.macOS()
			edit(r, "uma-load-1.2.3-darwin-arm64.tar.gz", func(s string) string { return s + "x" })
		}, nil, 1, "has another SHA-256"},
		"no root":               {func(r release) { r.program("id", "echo 1000") }, nil, 2, "sh install.sh --user"},
		"an unknown flag":       {func(release) {}, []string{"--frm"}, 2, "unknown argument --frm"},
		"a flag without value":  {func(release) {}, []string{"--version"}, 2, "--version wants a value"},
		"both sources":          {func(release) {}, []string{"--version", "1.2.3"}, 2, "give one of them"},
		"a key that is missing": {func(release) {}, []string{"--key", "none.asc"}, 2, "--key none.asc: it cannot be read"},
		"a failing package":     {func(r release) { r.program("apt-get", "exit 100") }, nil, 1, "apt-get did not install umascope_1.2.3_arm64.deb"},
		"a failing rpm":         {func(r release) { r.program("dnf", "exit 1") }, nil, 1, "dnf did not install umascope-1.2.3-1.aarch64.rpm"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRelease(t)
			c.change(r)
			code, installed, messages := r.install(append([]string{"--from", r.dir}, c.args...)...)
			lines := strings.Split(strings.TrimSpace(messages), "\n")
			if code != c.code || installed != "" || !strings.Contains(lines[len(lines)-1], c.messages) || !strings.HasPrefix(lines[len(lines)-1], "install.sh: ") {
				t.Errorf("exit %d, installed %q: %s", code, installed, messages)
			}
		})
	}
}

func TestASignedReleaseIsVerifiedByItsKey(t *testing.T) {
	needs(t, "gpg")
	home := t.TempDir()
	must(t, os.Chmod(home, 0o700))
	gpg := func(args ...string) []byte {
		c := exec.CommandContext(t.Context(), "gpg", append([]string{"--homedir", home, "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""}, args...)...)
		out, err := c.Output()
		if err != nil {
			t.Fatalf("gpg %v: %v", args, err)
		}
		return out
	}
	defer exec.Command("gpgconf", "--homedir", home, "--kill", "all").Run() // its agent would outlive the test
	for _, name := range []string{"release", "other"} {
		gpg("--quick-generate-key", name+"@example.org", "ed25519", "sign", "never")
		must(t, os.WriteFile(filepath.Join(home, name+".asc"), gpg("--armor", "--export", name+"@example.org"), 0o644))
	}
	r := newRelease(t)
	if code, _, messages := r.install("--from", r.dir, "--key", filepath.Join(home, "release.asc")); code != 2 || !strings.Contains(messages, "--key needs gpgv") {
		t.Errorf("without gpgv: exit %d: %s", code, messages)
	}
	for _, name := range []string{"gpgv", "awk", "base64"} {
		path, err := exec.LookPath(name)
		must(t, err)
		must(t, os.Symlink(path, filepath.Join(r.machine, name)))
	}
	if code, installed, messages := r.install("--from", r.dir, "--key", filepath.Join(home, "release.asc")); code != 1 || installed != "" || !strings.Contains(messages, "SHA256SUMS.asc cannot be read") {
		t.Errorf("an unsigned release: exit %d, installed %q: %s", code, installed, messages)
	}
	sums := filepath.Join(r.dir, "SHA256SUMS")
	gpg("--local-user", "release@example.org", "--armor", "--detach-sign", "--output", sums+".asc", sums)
	if code, installed, messages := r.install("--from", r.dir, "--key", filepath.Join(home, "other.asc")); code != 1 || installed != "" || !strings.Contains(messages, "is not signed by") {
		t.Errorf("another key: exit %d, installed %q: %s", code, installed, messages)
	}
	if code, installed, messages := r.install("--from", r.dir, "--key", sums); code != 2 || installed != "" || !strings.Contains(messages, "it is not a public key") {
		t.Errorf("a file that is not a key: exit %d, installed %q: %s", code, installed, messages)
	}
	if code, installed, messages := r.install("--from", r.dir, "--key", filepath.Join(home, "release.asc")); code != 0 || installed != "arm64 archive\n" {
		t.Errorf("its key: exit %d, installed %q: %s", code, installed, messages)
	}
}

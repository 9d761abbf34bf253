package exporter

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAFolderServesTheNamesThatItWasMadeForAndNoOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tls")
	must(t, makeSecureFolder(path, []string{"Spark-1", "spark_2.lan", "10.0.0.7", "fd00::7"}, time.Now()))
	pair, err := tls.LoadX509KeyPair(filepath.Join(path, certificateFile), filepath.Join(path, keyFile))
	must(t, err)
	certificate, err := x509.ParseCertificate(pair.Certificate[0])
	must(t, err)
	trusted := x509.NewCertPool()
	trusted.AddCert(certificate)
	for name, good := range map[string]bool{
		"spark-1": true, "spark_2.lan": true, "10.0.0.7": true, "fd00::7": true, "localhost": true, "127.0.0.1": true, "::1": true,
		"spark-3": false, "10.0.0.8": false,
	} {
		_, err := certificate.Verify(x509.VerifyOptions{DNSName: name, Roots: trusted})
		if (err == nil) != good {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := certificate.Verify(x509.VerifyOptions{Roots: trusted, CurrentTime: time.Now().Add(3 * 365 * 24 * time.Hour)}); err == nil {
		t.Error("it is valid for ever")
	}
	if certificate.IsCA {
		t.Error("its key could sign certificates of others")
	}
}

func TestOnlyTheOwnerReadsAFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tls")
	must(t, makeSecureFolder(path, nil, time.Now()))
	entries, err := os.ReadDir(path)
	if err != nil || len(entries) != 5 {
		t.Fatalf("%d files, %v", len(entries), err)
	}
	for _, name := range append([]string{""}, names(entries)...) {
		info, err := os.Stat(filepath.Join(path, name))
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestThePasswordIsInItsOwnFileOnlyAndNewEachTime(t *testing.T) {
	seen := map[string]bool{}
	for range 2 {
		path := filepath.Join(t.TempDir(), "tls")
		must(t, makeSecureFolder(path, nil, time.Now()))
		text, err := os.ReadFile(filepath.Join(path, passwordFile))
		must(t, err)
		password := strings.TrimSpace(string(text))
		if len(password) < 32 || seen[password] {
			t.Errorf("%d characters, seen before: %v", len(password), seen[password])
		}
		seen[password] = true
		entries, err := os.ReadDir(path)
		must(t, err)
		for _, name := range names(entries) {
			text, err := os.ReadFile(filepath.Join(path, name))
			if err != nil || strings.Contains(string(text), password) != (name == passwordFile) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestWhatCannotBeMadeLeavesNothingBehind(t *testing.T) {
	parent := t.TempDir()
	there := filepath.Join(parent, "there")
	must(t, makeSecureFolder(there, nil, time.Now()))
	before := readText(t, filepath.Join(there, keyFile))
	if err := makeSecureFolder(there, nil, time.Now()); !errors.Is(err, errSecureThere) {
		t.Errorf("a folder that is there: %v", err)
	}
	if after, err := os.ReadFile(filepath.Join(there, keyFile)); err != nil || string(after) != before {
		t.Errorf("its key is another: %v", err)
	}
	for _, name := range []string{"", " ", "a b", "*", "a/b", "-a", "a..b", "http://a", "a:1", "<script>", "a\nb", strings.Repeat("a", 64)} {
		if err := makeSecureFolder(filepath.Join(parent, "new"), []string{name}, time.Now()); !errors.Is(err, errSecureName) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := makeSecureFolder(filepath.Join(parent, "no", "such", "folder"), nil, time.Now()); err == nil {
		t.Error("a folder in none")
	}
	if entries, err := os.ReadDir(parent); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", names(entries), err)
	}
}

// FuzzNames: what is taken for a name is in the certificate as such, or is refused; nothing breaks it.
func FuzzNames(f *testing.F) {
	for _, seed := range []string{"spark-1", "10.0.0.1", "fe80::1%eth0", "a..b", "\x00", "*.lan", "ä", "xn--a.b"} {
		f.Add(seed)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(f, err)
	f.Fuzz(func(t *testing.T, name string) {
		signed, err := certify(key, []string{name}, time.Now())
		if errors.Is(err, errSecureName) {
			return
		}
		must(t, err)
		certificate, err := x509.ParseCertificate(signed)
		must(t, err)
		if err := certificate.VerifyHostname(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	})
}

func names(entries []os.DirEntry) []string {
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

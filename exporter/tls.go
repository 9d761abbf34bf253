package exporter

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"golang.org/x/crypto/bcrypt"
)

func (l *commandLine) defineSecure(c *kingpin.CmdClause) {
	c.Flag("name", "Name or address by which readers reach a machine that serves with it, besides loopback, which is always included; may be repeated.").PlaceHolder("NAME").StringsVar(&l.secureNames)
	c.Arg("folder", "Folder to make; it must not exist.").Required().StringVar(&l.secureFolder)
}

// secure makes the folder, and prints how to use it. The password is only in a file.
func (l *commandLine) secure(stdout io.Writer) error {
	folder, err := filepath.Abs(l.secureFolder)
	if err != nil {
		return badInput("%s: %w", l.secureFolder, err)
	}
	if err := makeSecureFolder(folder, l.secureNames, time.Now()); err != nil {
		return badInput("%s: %w", l.secureFolder, reason(err))
	}
	in := func(name string) string { return printable(filepath.Join(folder, name)) }
	meant := "loopback only: readers elsewhere need a --name"
	if len(l.secureNames) > 0 {
		meant = strings.Join(l.secureNames, ", ") + " and loopback"
	}
	fmt.Fprintf(stdout, `made %s: a certificate for two years, its key, and a password
for:     %s
serve:   --web.config.file=%s
read:    --http.config.file=%s
         or --telemetry-config of uma-load run, with the same file
         or its lines, with scheme: https, in a scrape job of Prometheus
Readers need %s, %s and %s, and not %s.
`, printable(folder), meant, in(serveFile), in(readFile), readFile, passwordFile, certificateFile, keyFile)
	return nil
}

// The files of a folder. The files for serving refer to the others by names without a folder, so that the folder can be
// moved.
const (
	certificateFile = "certificate.pem"
	keyFile         = "key.pem"
	passwordFile    = "password"
	// serveFile is for --web.config.file of the program that serves a page.
	serveFile = "web.yml"
	// readFile is for --http.config.file of the program that reads it; Prometheus takes the same keys in a scrape job.
	readFile = "client.yml"
)

// secureUser is the name of the user who may read.
const secureUser = "umascope"

const (
	certificateValidity = 2 * 365 * 24 * time.Hour
	passwordBytes       = 24
	serialBits          = 128
)

// errSecureThere reports that the folder exists already: its password is in use somewhere.
var errSecureThere = errors.New("exists already; remove it first to make new ones")

// errSecureName reports that a text is neither the name of a machine nor an address.
var errSecureName = errors.New("neither the name of a machine nor an address")

// readerName is the name of a machine: labels of letters, digits, - and _ with dots between.
var readerName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,62})(\.[A-Za-z0-9_][A-Za-z0-9_-]{0,62})*$`)

// makeSecureFolder makes a folder with the files to serve a page with TLS and a password, and to read it: the same on
// every machine that it names. The names and addresses are those that readers will use; this machine's own loopback is
// always included, for health checks.
func makeSecureFolder(path string, names []string, now time.Time) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	certificate, err := certify(key, names, now)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	secret := make([]byte, passwordBytes)
	if _, err := rand.Read(secret); err != nil {
		return err
	}
	password := base64.RawURLEncoding.EncodeToString(secret)
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.DefaultCost)
	if err != nil {
		return err
	}
	return writeSecureFolder(path, map[string]string{
		certificateFile: pemBlock("CERTIFICATE", certificate),
		keyFile:         pemBlock("PRIVATE KEY", private),
		passwordFile:    password + "\n",
		serveFile: "tls_server_config:\n  cert_file: " + certificateFile + "\n  key_file: " + keyFile + "\n  min_version: TLS13\n" +
			"basic_auth_users:\n  " + secureUser + ": " + string(hash) + "\n",
		readFile: "basic_auth:\n  username: " + secureUser + "\n  password_file: " + passwordFile + "\n" +
			"tls_config:\n  ca_file: " + certificateFile + "\n",
	})
}

// certify signs a certificate with its own key: a client that has the file trusts only this certificate.
func certify(key *ecdsa.PrivateKey, names []string, now time.Time) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), serialBits))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "umascope"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateValidity), // clocks of machines differ
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		DNSNames:              []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	for _, name := range names {
		switch address := net.ParseIP(name); {
		case address != nil:
			template.IPAddresses = append(template.IPAddresses, address)
		case readerName.MatchString(name):
			template.DNSNames = append(template.DNSNames, strings.ToLower(name))
		default:
			return nil, fmt.Errorf("%q: %w", name, errSecureName)
		}
	}
	return x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
}

func pemBlock(kind string, bytes []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}))
}

// writeSecureFolder makes the folder in one step: it gets its name when all its files are in it, readable for its owner only.
func writeSecureFolder(path string, files map[string]string) (err error) {
	if _, err := os.Lstat(path); err == nil {
		return errSecureThere
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	partial, err := os.MkdirTemp(filepath.Dir(filepath.Clean(path)), ".secure-*") // mode 0700
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(partial)
		}
	}()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(partial, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return os.Rename(partial, path)
}

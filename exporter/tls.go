package exporter

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/exporter/secure"
)

func (l *commandLine) defineSecure(c *kingpin.CmdClause) {
	c.Flag("name", "Name or address by which readers reach a machine that serves with it, beside loopback, which is always meant; may be repeated.").PlaceHolder("NAME").StringsVar(&l.secureNames)
	c.Arg("folder", "Folder to make; it must not exist.").Required().StringVar(&l.secureFolder)
}

// secure makes the folder, and prints how to use it. The password is only in a file.
func (l *commandLine) secure(stdout io.Writer) error {
	folder, err := filepath.Abs(l.secureFolder)
	if err != nil {
		return badInput("%s: %w", l.secureFolder, err)
	}
	if err := secure.Folder(folder, l.secureNames, time.Now()); err != nil {
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
`, printable(folder), meant, in(secure.ServeFile), in(secure.ReadFile), secure.ReadFile, secure.PasswordFile, secure.CertificateFile, secure.KeyFile)
	return nil
}

package webserver

import (
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"

	"github.com/prometheus/exporter-toolkit/web"
	"go.yaml.in/yaml/v4"
)

// ConfigFile is the flag of Protect's file.
const ConfigFile = "web.config.file"

// Protection is the TLS and authentication that a file in the format of exporter-toolkit requires. The zero value
// requires nothing.
type Protection struct {
	file string
	tls  bool
}

// Protect reads the file, so that its errors show before a page is served; "" requires nothing. Its errors do not name
// the file.
func Protect(file string) (Protection, error) {
	if file == "" {
		return Protection{}, nil
	}
	if err := web.Validate(file); err != nil {
		return Protection{}, withoutPath(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return Protection{}, withoutPath(err)
	}
	var has struct {
		TLS map[string]any `yaml:"tls_server_config"`
	}
	if err := yaml.Unmarshal(text, &has); err != nil {
		return Protection{}, err
	}
	return Protection{file, len(has.TLS) > 0}, nil
}

// Scheme returns the scheme of the page's address.
func (p Protection) Scheme() string {
	if p.tls {
		return "https"
	}
	return "http"
}

// Serve serves until the server is closed. It logs rejected readers at debug level, since an open network has many of
// them.
func (p Protection) Serve(listener net.Listener, server *http.Server, log *slog.Logger) error {
	server.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug)
	if p.file == "" {
		return server.Serve(listener)
	}
	quiet := slog.New(slog.DiscardHandler) // it would log its address a second time
	address, none := []string{listener.Addr().String()}, false
	return web.Serve(listener, server, &web.FlagConfig{WebListenAddresses: &address, WebSystemdSocket: &none, WebConfigFile: &p.file}, quiet)
}

// withoutPath removes the path from an error, for a line that already names it.
func withoutPath(err error) error {
	if path, is := errors.AsType[*fs.PathError](err); is {
		return path.Err
	}
	return err
}

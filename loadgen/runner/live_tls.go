package runner

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

// protection is the TLS and authentication that a file in the format of exporter-toolkit requires.
type protection struct {
	file string // "" requires nothing
	tls  bool
}

// protect reads the file, so that its errors show before the page is served.
func protect(file string) (protection, error) {
	if file == "" {
		return protection{}, nil
	}
	bad := func(err error) (protection, error) { return protection{}, inputOf("--web.config.file "+file, err) }
	if err := web.Validate(file); err != nil {
		return bad(withoutPath(err))
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return bad(withoutPath(err))
	}
	var has struct {
		TLS map[string]any `yaml:"tls_server_config"`
	}
	if err := yaml.Unmarshal(text, &has); err != nil {
		return bad(err)
	}
	return protection{file, len(has.TLS) > 0}, nil
}

// scheme returns the scheme of the page's address.
func (p protection) scheme() string {
	if p.tls {
		return "https"
	}
	return "http"
}

// serve serves until the server is closed. It logs rejected readers at debug level, since an open network has many of
// them.
func (p protection) serve(listener net.Listener, server *http.Server, log *slog.Logger) error {
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

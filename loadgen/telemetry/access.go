package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/prometheus/common/config"
)

// Admitted returns the sources with a client that has the TLS settings and credentials of the file, in the format of
// promtool and Prometheus; an empty name is no file. It refuses a source that would receive a password unencrypted.
// Connections are opened with dial, on the machine's network if that is nil.
func Admitted(sources []Source, file string, dial func(ctx context.Context, network, address string) (net.Conn, error)) ([]Source, error) {
	if file == "" {
		return withClient(sources, NewClient(dial)), nil
	}
	client, err := clientOf(file, dial)
	if err != nil {
		return nil, err
	}
	if len(sources) == 0 {
		return nil, errors.New("is of no use: no exporter is named")
	}
	for _, source := range sources {
		if page, err := url.Parse(source.URL); err != nil || page.Scheme != "https" {
			return nil, fmt.Errorf("%s is not read by https: a password would go over the network as it is", source.Name)
		}
	}
	return withClient(sources, client), nil
}

// withClient returns the sources with a client.
func withClient(sources []Source, client *http.Client) []Source {
	admitted := slices.Clone(sources)
	for i := range admitted {
		admitted[i].Client = client
	}
	return admitted
}

// clientOf makes a client with the limits of NewClient: it has no proxy unless the file names one, and asks for no
// compression.
func clientOf(file string, dial func(ctx context.Context, network, address string) (net.Conn, error)) (*http.Client, error) {
	settings, _, err := config.LoadHTTPConfigFile(file)
	if path, is := errors.AsType[*fs.PathError](err); is {
		return nil, path.Err // the caller has named the file
	}
	if err != nil {
		return nil, errors.New(strings.ReplaceAll(err.Error(), "\n", ";"))
	}
	var options []config.HTTPClientOption
	if dial != nil {
		options = append(options, config.WithDialContextFunc(dial))
	}
	return config.NewClientFromConfig(*settings, "uma-load", options...)
}

package telemetry

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strings"

	"github.com/prometheus/common/config"
)

// Admitted returns the sources with the TLS settings and credentials of the file, which has the format of promtool and
// Prometheus; an empty name is no file. It refuses a source that would receive a password unencrypted.
func Admitted(sources []Source, file string) ([]Source, error) {
	if file == "" {
		return sources, nil
	}
	client, err := clientOf(file)
	if err != nil {
		return nil, err
	}
	if len(sources) == 0 {
		return nil, errors.New("is of no use: no exporter is named")
	}
	admitted := make([]Source, 0, len(sources))
	for _, source := range sources {
		if page, err := url.Parse(source.URL); err != nil || page.Scheme != "https" {
			return nil, fmt.Errorf("%s is not read by https: a password would go over the network as it is", source.Name)
		}
		source.Client = client
		admitted = append(admitted, source)
	}
	return admitted, nil
}

// clientOf makes a client with the limits of newClient: it has no proxy unless the file names one, and asks for no
// compression.
func clientOf(file string) (*http.Client, error) {
	settings, _, err := config.LoadHTTPConfigFile(file)
	if path, is := errors.AsType[*fs.PathError](err); is {
		return nil, path.Err // the caller has named the file
	}
	if err != nil {
		return nil, errors.New(strings.ReplaceAll(err.Error(), "\n", ";"))
	}
	return config.NewClientFromConfig(*settings, "uma-load")
}

package runner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"github.com/prometheus/common/config"

	"github.com/umascope/umascope/cmd/webserver"
)

const healthTimeout = 5 * time.Second

// Health is the program whose health is checked, and how it is reached.
type Health struct {
	Address ListenAddress
	// URL, if not empty, replaces the health page at the address.
	URL string
	// ConfigFile is the path of a file with TLS settings and credentials, in the format of promtool's
	// --http.config.file.
	ConfigFile string
}

// Healthcheck requests the health page of a program. An InputError means that the request could not be made.
func Healthcheck(ctx context.Context, h Health) error {
	request, name, err := h.request(ctx)
	if err != nil {
		return err
	}
	client, err := h.client()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	client.Timeout = healthTimeout
	response, err := client.Do(request)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%s: %w; nobody listens there: no run, campaign or serve of that address goes on", name, errors.Unwrap(err))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, errors.Unwrap(err)) // a *url.Error, which repeats the address
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %d", name, response.StatusCode)
	}
	return nil
}

// request returns the request and a name for its target without secrets.
func (h Health) request(ctx context.Context) (request *http.Request, name string, err error) {
	if h.URL == "" {
		request, err = http.NewRequestWithContext(ctx, http.MethodGet, "http://"+h.Address.HostPort+webserver.HealthPath, http.NoBody)
		if err != nil {
			return nil, "", inputOf(listenFlag, err)
		}
		return request, h.Address.HostPort, nil
	}
	target, err := url.Parse(h.URL)
	if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" {
		return nil, "", inputOf("--url", errors.New("not an http or https address")) // the error does not repeat it, since it may hold a password
	}
	request, err = http.NewRequestWithContext(ctx, http.MethodGet, h.URL, http.NoBody)
	if err != nil {
		return nil, "", inputOf("--url", errors.New("not an http or https address"))
	}
	return request, target.Host, nil
}

// client returns a client that follows no redirect, even if the file allows it: the health of another server is not an
// answer.
func (h Health) client() (*http.Client, error) {
	settings := &config.HTTPClientConfig{}
	if h.ConfigFile != "" {
		var err error
		if settings, _, err = config.LoadHTTPConfigFile(h.ConfigFile); err != nil {
			return nil, inputOf("--http.config.file "+h.ConfigFile, withoutPath(err))
		}
	}
	settings.FollowRedirects = false
	client, err := config.NewClientFromConfig(*settings, "healthcheck")
	if err != nil {
		return nil, inputOf("--http.config.file "+h.ConfigFile, err)
	}
	return client, nil
}

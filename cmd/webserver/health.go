package webserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"github.com/prometheus/common/config"
)

// HealthPath is the path of the page that answers 200 while a program runs.
const HealthPath = "/-/healthy"

const healthTimeout = 5 * time.Second

// FlagError is the error of a flag of Healthcheck's caller.
type FlagError struct {
	Flag string // with its value, unless that may hold a secret
	Err  error
}

// Error implements error.
func (e FlagError) Error() string { return e.Flag + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e FlagError) Unwrap() error { return e.Err }

// Healthcheck requests a health page, for containers without curl. configFile, of the flag --http.config.file, has TLS
// settings and credentials in the HTTP client format of promtool and Prometheus; "" is none. Its error is a FlagError if
// the request could not be made, and a text without secrets.
func Healthcheck(ctx context.Context, address, configFile string) error {
	target, client, err := PageClient(address, configFile)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	client.Timeout = healthTimeout
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return FlagError{"--url", errNotHTTP}
	}
	response, err := client.Do(request)
	if err != nil {
		err = errors.Unwrap(err)                            // a *url.Error, which repeats the address
		if op, is := errors.AsType[*net.OpError](err); is { // which repeats it too
			err = op.Err
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
			err = fmt.Errorf("%w; nothing listens there", err)
		}
		return fmt.Errorf("%s: %w", target.Host, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", target.Host, response.Status)
	}
	return nil
}

var errNotHTTP = errors.New("not an http or https address")

// PageClient returns the address of a page and a client for it, by the flags --url and --http.config.file. The client
// follows no redirect, even if the file allows it: another server's page is no answer. The error is a FlagError.
func PageClient(address, configFile string) (*url.URL, *http.Client, error) {
	page, err := url.Parse(address)
	if err != nil || page.Host == "" || page.Scheme != "http" && page.Scheme != "https" {
		return nil, nil, FlagError{"--url", errNotHTTP} // the error of Parse repeats the address
	}
	settings := &config.HTTPClientConfig{}
	if configFile != "" {
		if settings, _, err = config.LoadHTTPConfigFile(configFile); err != nil {
			return nil, nil, FlagError{"--http.config.file " + configFile, withoutPath(err)}
		}
	}
	settings.FollowRedirects = false
	client, err := config.NewClientFromConfig(*settings, "page")
	if err != nil {
		return nil, nil, FlagError{"--http.config.file " + configFile, err}
	}
	return page, client, nil
}

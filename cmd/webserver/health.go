package webserver

import (
	"context"
	"errors"
	"fmt"
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
	target, err := url.Parse(address)
	if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" {
		return FlagError{"--url", errors.New("not an http or https address")} // the error of Parse repeats it
	}
	client, err := healthClient(configFile)
	if err != nil {
		return FlagError{"--http.config.file " + configFile, err}
	}
	defer client.CloseIdleConnections()
	client.Timeout = healthTimeout
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return FlagError{"--url", errors.New("not an http or https address")}
	}
	response, err := client.Do(request)
	if err != nil {
		err = errors.Unwrap(err) // a *url.Error, which repeats the address
		if errors.Is(err, syscall.ECONNREFUSED) {
			err = fmt.Errorf("%w; nobody listens there", err)
		}
		return fmt.Errorf("%s: %w", target.Host, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", target.Host, response.Status)
	}
	return nil
}

// healthClient follows no redirect, even if the file allows it: another server's health is no answer.
func healthClient(configFile string) (*http.Client, error) {
	settings := &config.HTTPClientConfig{}
	if configFile != "" {
		var err error
		if settings, _, err = config.LoadHTTPConfigFile(configFile); err != nil {
			return nil, withoutPath(err)
		}
	}
	settings.FollowRedirects = false
	return config.NewClientFromConfig(*settings, "healthcheck")
}

package exporter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"github.com/prometheus/common/config"
)

const healthcheckTimeout = 3 * time.Second

// healthcheck requests the health page at address, for containers without curl. configFile has the TLS settings and
// credentials, in the HTTP client format of promtool and Prometheus; "" when the page needs neither.
func healthcheck(ctx context.Context, address, configFile string, stdout io.Writer) error {
	target, err := url.Parse(address)
	if err != nil { // which would repeat the address, which may contain a password
		return badInput("--url: not an http address")
	}
	if target.Host == "" || target.Scheme != "http" && target.Scheme != "https" {
		return badInput("--url %s: not an http address", target.Redacted())
	}
	client, err := healthClient(configFile)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, healthcheckTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), http.NoBody)
	if err != nil {
		return badInput("--url %s: %w", target.Redacted(), err)
	}
	response, err := client.Do(request)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%s: connection refused; nobody listens there: start uma-exporter, or name its page by --url", target.Redacted())
	}
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", target.Redacted(), response.Status)
	}
	fmt.Fprintln(stdout, "ok")
	return nil
}

// healthClient follows no redirect, even if the file allows it: another server's health is no answer.
func healthClient(configFile string) (*http.Client, error) {
	settings := &config.HTTPClientConfig{}
	if configFile != "" {
		var err error
		if settings, _, err = config.LoadHTTPConfigFile(configFile); err != nil {
			return nil, badInput("--http.config.file %s: %w", configFile, reason(err))
		}
	}
	settings.FollowRedirects = false
	client, err := config.NewClientFromConfig(*settings, "healthcheck")
	if err != nil {
		return nil, badInput("--http.config.file %s: %w", configFile, err)
	}
	return client, nil
}

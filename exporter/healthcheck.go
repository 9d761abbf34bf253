package exporter

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

const healthcheckTimeout = 3 * time.Second

// healthcheck asks the health page at address, for containers without curl.
func healthcheck(ctx context.Context, address string, stdout io.Writer) error {
	target, err := url.Parse(address)
	if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" {
		return badInput("--url %s: not an http address", address)
	}
	ctx, cancel := context.WithTimeout(ctx, healthcheckTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), http.NoBody)
	if err != nil {
		return badInput("--url %s: %w", address, err)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
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

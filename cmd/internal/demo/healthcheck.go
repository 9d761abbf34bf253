package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

const healthcheckTimeout = 3 * time.Second

// healthcheck requests a health page, for containers without curl. It follows no redirects and uses no proxy: the
// answer must come from the page that was named.
func (p Program) healthcheck(ctx context.Context, address string) int {
	target, err := url.Parse(address)
	if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" {
		return p.fail(exitInput, fmt.Errorf("--url: want an address such as %s", defaultHealthURL))
	}
	ctx, cancel := context.WithTimeout(ctx, healthcheckTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), http.NoBody)
	if err != nil {
		return p.fail(exitInput, fmt.Errorf("--url: %w", err))
	}
	client := &http.Client{
		Transport:     &http.Transport{},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		if asked := (*url.Error)(nil); errors.As(err, &asked) { // it names the address a second time
			err = asked.Err
		}
		if op := (*net.OpError)(nil); errors.As(err, &op) { // and a third
			err = op.Err
		}
		return p.fail(exitFailed, fmt.Errorf("%s does not answer: %w: uma-demo simulate starts what does, --url names another page", target.Redacted(), err))
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return p.fail(exitFailed, fmt.Errorf("%s answers %s", target.Redacted(), response.Status))
	}
	fmt.Fprintln(p.Stdout, "ok")
	return exitDone
}

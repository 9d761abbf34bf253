package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// armOptions is the command line of arm.
type armOptions struct {
	name, stage string
	dropCaches  bool
}

// Limits of a request to the demo.
const (
	mostComplaint = 4 << 10
	// leaving is how long a process that receives a signal waits until its arm is down.
	leaving = 10 * time.Second
)

// holdArm is the process of an arm, as a campaign starts it: it requests the arm from the running demo, runs while the
// arm is up, and ends when the arm is down.
func (p Program) holdArm(ctx context.Context, o armOptions) int {
	at, err := url.Parse(o.stage)
	if err != nil || at.Scheme != "http" || at.Host == "" {
		return p.fail(exitInput, fmt.Errorf("--stage: want the address that the plan of a running uma-demo has"))
	}
	client := &http.Client{Transport: &http.Transport{Proxy: nil}}
	defer client.CloseIdleConnections()
	err = hold(ctx, client, at, o, func() { fmt.Fprintf(p.Stdout, "arm %s is up on a simulated machine\n", o.name) })
	if ctx.Err() == nil {
		return p.fail(exitFailed, cmp.Or(err, errGone))
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaving)
	defer cancel()
	if err := awaitVacancy(limited, client, at); err != nil {
		return p.fail(exitFailed, fmt.Errorf("arm %s: the demo does not say that it is down: %w", o.name, err))
	}
	fmt.Fprintf(p.Stdout, "arm %s is down\n", o.name)
	return exitDone
}

// hold keeps the arm up until ctx is done or the demo ends it.
func hold(ctx context.Context, client *http.Client, at *url.URL, o armOptions, up func()) error {
	target := at.JoinPath(o.name)
	if o.dropCaches {
		target.RawQuery = dropCaches
	}
	response, err := ask(ctx, client, http.MethodPost, target)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return complaint(response)
	}
	up()
	_, _ = io.Copy(io.Discard, response.Body) // the body is empty, and ends when the arm does
	return nil
}

// awaitVacancy returns when no arm is up on the machine.
func awaitVacancy(ctx context.Context, client *http.Client, at *url.URL) error {
	response, err := ask(ctx, client, http.MethodGet, at)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusNoContent {
		return complaint(response)
	}
	return nil
}

func ask(ctx context.Context, client *http.Client, method string, at *url.URL) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, at.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err // the URL in the error contains the secret
	}
	return response, err
}

func complaint(response *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(response.Body, mostComplaint)) // a part of the text is enough
	return fmt.Errorf("the demo answers %s: %s", response.Status, strings.TrimSpace(string(text)))
}

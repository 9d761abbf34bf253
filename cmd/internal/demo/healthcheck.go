package demo

import (
	"context"
	"errors"
	"fmt"

	"github.com/umascope/umascope/cmd/webserver"
)

// healthcheck requests a health page, for containers without curl.
func (p Program) healthcheck(ctx context.Context, address string) int {
	err := webserver.Healthcheck(ctx, address, "")
	if _, is := errors.AsType[webserver.FlagError](err); is {
		return p.fail(exitInput, err)
	}
	if err != nil {
		return p.fail(exitFailed, fmt.Errorf("%w: uma-demo simulate starts what answers, --url names another page", err))
	}
	fmt.Fprintln(p.Stdout, "ok")
	return exitDone
}

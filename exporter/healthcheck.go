package exporter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/umascope/umascope/cmd/webserver"
)

// healthcheck requests the health page at address.
func healthcheck(ctx context.Context, address, configFile string, stdout io.Writer) error {
	err := webserver.Healthcheck(ctx, address, configFile)
	switch {
	case err == nil:
		fmt.Fprintln(stdout, "ok")
		return nil
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%w: start uma-exporter, or name its page by --url", err)
	}
	return flagError(err)
}

// flagError makes an error of a flag one of the input.
func flagError(err error) error {
	if flag, is := errors.AsType[webserver.FlagError](err); is {
		return inputError{flag}
	}
	return err
}

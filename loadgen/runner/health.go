package runner

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/umascope/umascope/cmd/webserver"
)

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
	address := h.URL
	if address == "" {
		address = "http://" + h.Address.HostPort + webserver.HealthPath
	}
	err := webserver.Healthcheck(ctx, address, h.ConfigFile)
	if flag, is := errors.AsType[webserver.FlagError](err); is {
		if h.URL == "" && flag.Flag == "--url" {
			flag.Flag = listenFlag
		}
		return inputOf(flag.Flag, flag.Err)
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%w: no run, campaign or serve of that address goes on", err)
	}
	return err
}

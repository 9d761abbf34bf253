package runner

import (
	"errors"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// TelemetryAccessFlag is the flag with the file of credentials for exporters.
const TelemetryAccessFlag = "telemetry-config"

// CaptureFlags declares the flags for what is recorded around a load.
func CaptureFlags(set terminal.FlagSet, s *CaptureSettings) {
	terminal.Flags(set, "telemetry", "NAME=URL of an exporter of a measured host; default: port 10420 of the server's host.", &s.Telemetry, ParseSource, terminal.WithoutQuery)
	terminal.Flag(set, TelemetryAccessFlag, "TLS and credentials for --telemetry; uma-exporter secure makes the file.", "", &s.Access, terminal.Text).PlaceHolder("FILE")
	terminal.Flags(set, "scrape", "NAME=URL of a further page of metrics to keep, of KVBM or of an engine.", &s.Scrape, ParseSource, terminal.WithoutQuery)
	terminal.Flag(set, "container", "Container of the engine: its image, options and log are kept, its environment as hashes.", "", &s.Container, containerName)
	terminal.Flags(set, "capture", "NAME=COMMAND whose output is kept, before and after the load; the command is not recorded.", &s.Captures, parseCapture, captureName)
	terminal.Flag(set, "telemetry-interval", "Time between two samples.", "1s", &s.Interval, terminal.DurationWithin(telemetry.MinInterval, telemetry.MaxInterval))
}

// ParseSource reads NAME=URL, such as spark1=http://10.0.0.1:10420.
func ParseSource(s string) (telemetry.Source, error) {
	name, where, err := terminal.Pair(s, "=", terminal.PlainName)
	if err != nil {
		return telemetry.Source{}, errors.New("want NAME=URL, such as spark1=http://127.0.0.1:10420")
	}
	url, err := terminal.Address(where)
	return telemetry.Source{Name: name, URL: url}, err
}

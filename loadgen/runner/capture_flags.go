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
	terminal.Flags(set, "telemetry", "NAME=URL of an exporter on a measured host; may be repeated. If not given: the one on this machine if the server is here, else the one at port 10420 of the server's host, if it answers.", &s.Telemetry, ParseSource, terminal.WithoutQuery)
	terminal.Flag(set, TelemetryAccessFlag, "TLS and credentials for the exporters that --telemetry names, in the form of promtool's --http.config.file; uma-exporter secure makes one. They must be https then.", "", &s.Access, terminal.Text).PlaceHolder("FILE")
	terminal.Flags(set, "scrape", "NAME=URL of a page of KVBM or of an engine to keep too; may be repeated. One that never answers is a warning. The page of --url is read at the borders of phases without it.", &s.Scrape, ParseSource, terminal.WithoutQuery)
	terminal.Flag(set, "container", "Container that the engine runs in, by docker or podman on this machine: its image and settings, and its log of the run, are kept; its command line and environment as hashes, listed engine options with their values.", "", &s.Container, containerName)
	terminal.Flags(set, "capture", "NAME=COMMAND of a shell whose output is kept, before and after the load; may be repeated. Commands are never recorded.", &s.Captures, parseCapture, captureName)
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

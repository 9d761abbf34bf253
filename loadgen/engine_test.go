package loadgen

import (
	"bytes"
	"testing"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/sim"
)

func TestSimulatedEnginesPassForTheVendorThatTheySimulate(t *testing.T) {
	for _, vendor := range sim.Vendors() {
		_, url := simulated(t, func(c *sim.Config) { c.Vendor = vendor })
		var log bytes.Buffer
		found, err := server.Inquire(t.Context(), server.Target{Known: supported.Engines(), URL: url, Engine: server.EngineAuto}, terminal.LogAt("warn").Logger(&log))
		if err != nil {
			t.Fatal(err)
		}
		if found.Engine != string(vendor) || log.Len() > 0 {
			t.Errorf("%s: %+v, %s", vendor, found, log.String())
		}
	}
}

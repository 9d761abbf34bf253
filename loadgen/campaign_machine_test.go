package loadgen

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"

	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/campaign/plan"
)

// Gates ask the exporter as runs do: one that wants a password would else leave them without an answer, and the
// machine would never be waited for.
func TestGatesAskAnExporterThatWantsAPassword(t *testing.T) {
	page := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "right" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, "uma_exporter_build_info{version=\"v1\"} 1\numa_exporter_mode{mode=\"live\"} 1\numa_gpu_temperature_celsius{uuid=\"a\"} 47\n")
	}))
	page.Config.ErrorLog = log.New(io.Discard, "", 0) // who does not know the certificate says so
	page.StartTLS()
	defer page.Close()
	dir := t.TempDir()
	access := filepath.Join(dir, "client.yml")
	for name, text := range map[string]string{
		"ca.pem":     string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: page.Certificate().Raw})),
		"client.yml": "basic_auth: {username: u, password: right}\ntls_config: {ca_file: ca.pem}\n",
	} {
		overwrite(t, filepath.Join(dir, name), text)
	}
	sense := machineSense{proc: "/nonexistent"}
	cell := &plan.Cell{Telemetry: []string{"x=" + page.URL}}
	if now := sense.ask(t.Context(), cell); now != (campaign.Machine{}) {
		t.Errorf("without the password: %+v", now)
	}
	cell.Flags = map[string]string{"telemetry-config": access}
	if now := sense.ask(t.Context(), cell); now.Celsius == nil || *now.Celsius != 47 {
		t.Errorf("with it: %+v", now)
	}
}

// An engine on two machines begins as cool as the warmer of them is; what is free is compared with what was free on the
// same machine.
func TestGatesWaitForTheHottestOfTheMachines(t *testing.T) {
	var cell plan.Cell
	for name, celsius := range map[string]int{"first": 41, "second": 58} {
		page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, "uma_exporter_build_info{version=\"v1\"} 1\numa_exporter_mode{mode=\"live\"} 1\numa_gpu_temperature_celsius{uuid=%q} %d\numa_memory_cuda_free_bytes %d\n", name, celsius, celsius)
		}))
		defer page.Close()
		cell.Telemetry = append(cell.Telemetry, name+"="+page.URL)
	}
	slices.Sort(cell.Telemetry)
	now := machineSense{proc: "/nonexistent"}.ask(t.Context(), &cell)
	if now.Celsius == nil || *now.Celsius != 58 || *now.MemFreeBytes != 41 {
		t.Errorf("%+v", now)
	}
}

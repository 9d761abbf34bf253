package demo

import (
	"context"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/umascope/umascope/exporter"
)

// shownProcesses is how many GPU processes of a simulated machine have series of their own.
const shownProcesses = 20

// machine is a simulated Spark whose pages are served on free ports of the loopback.
type machine struct {
	name  string
	stage *stage
	at    addresses
}

// openMachine starts a machine and serves it.
func openMachine(ctx context.Context, name string, seed uint64, speed float64, s *servers) (*machine, error) {
	m := &machine{name: name}
	var open []net.Listener
	defer func() {
		for _, l := range open {
			l.Close()
		}
	}()
	for _, at := range []*string{&m.at.exporter, &m.at.engine, &m.at.kvbm} {
		listener, address, err := listenHere()
		if err != nil {
			return nil, err
		}
		open, *at = append(open, listener), address
	}
	var err error
	m.stage, err = openStage(stageSettings{
		seed: seed, speed: speed, enginePage: "http://" + m.at.engine + pagePath, kvbmPage: "http://" + m.at.kvbm + pagePath,
	})
	if err != nil {
		return nil, err
	}
	if err := m.stage.lively(ctx, seed); err != nil {
		m.stage.close()
		return nil, err
	}
	for i, handler := range []http.Handler{m.stage.exporterHandler(), m.stage.engineHandler(), m.stage.kvbmHandler()} {
		s.serve(open[i], handler)
	}
	open = nil // owned by the servers now
	return m, nil
}

func (m *machine) exporterURL() string {
	return "http://" + m.at.exporter + exporter.DefaultTelemetryPath
}

func (m *machine) engineURL() string { return "http://" + m.at.engine }

// looks is the number of pages that are requested to measure how long they take.
const looks = 5

// slowestPage returns how long the slowest of some pages of the exporter took.
func (m *machine) slowestPage(ctx context.Context) (slowest time.Duration, err error) {
	client := &http.Client{Transport: &http.Transport{Proxy: nil}}
	defer client.CloseIdleConnections()
	for range looks {
		began := time.Now()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.exporterURL(), http.NoBody)
		if err != nil {
			return 0, err
		}
		response, err := client.Do(request)
		if err != nil {
			return 0, err
		}
		_, err = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		if err != nil {
			return 0, err
		}
		slowest = max(slowest, time.Since(began))
	}
	return slowest, nil
}

// armUp returns the arm of the current engine, or of the last one.
func (m *machine) armUp() string {
	if m.stage.inference.current.Load() == nil {
		return "none"
	}
	all := m.stage.accounts()
	if len(all) == 0 {
		return "starts"
	}
	return all[len(all)-1].arm
}

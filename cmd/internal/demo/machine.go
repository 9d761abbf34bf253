package demo

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/umascope/umascope/exporter"
)

// shownProcesses is how many GPU processes of a simulated machine have series of their own.
const shownProcesses = 20

// machine is a simulated Spark with the addresses of its pages.
type machine struct {
	name  string
	stage *stage
	pages [3]listener // of exporter, engine and KVBM
}

// The pages of a machine.
const (
	exporterPage = iota
	enginePage
	kvbmPage
)

// openMachine starts a machine whose pages have the addresses that listen opens.
func openMachine(name string, seed uint64, speed float64, listen func(page int) (listener, error)) (*machine, error) {
	m := &machine{name: name}
	for page := range m.pages {
		var err error
		if m.pages[page], err = listen(page); err != nil {
			m.closePages()
			return nil, err
		}
	}
	var err error
	if m.stage, err = openStage(stageSettings{seed: seed, speed: speed, enginePage: m.engineURL() + pagePath, kvbmPage: m.kvbmURL()}); err != nil {
		m.closePages()
		return nil, err
	}
	return m, nil
}

// openMachineHere starts a machine that people use, and serves it on free ports of the loopback until ctx ends.
func openMachineHere(ctx context.Context, name string, seed uint64, speed float64, s *servers) (*machine, error) {
	m, err := openMachine(name, seed, speed, func(int) (listener, error) { return listenHere() })
	if err != nil {
		return nil, err
	}
	if err := m.stage.lively(ctx, seed); err != nil {
		m.closePages()
		m.stage.close()
		return nil, err
	}
	m.serve(s, m.stage.exporterHandler())
	return m, nil
}

// serve serves the pages of the machine.
func (m *machine) serve(s *servers, exporter http.Handler) {
	for page, handler := range []http.Handler{exporter, m.stage.engineHandler(), m.stage.kvbmHandler()} {
		s.serve(m.pages[page], handler)
	}
}

// closePages closes the addresses that were opened.
func (m *machine) closePages() {
	for _, page := range m.pages {
		if page.Listener != nil {
			page.Close()
		}
	}
}

func (m *machine) exporterURL() string {
	return "http://" + m.pages[exporterPage].at + exporter.DefaultTelemetryPath
}
func (m *machine) engineURL() string { return "http://" + m.pages[enginePage].at }
func (m *machine) kvbmURL() string   { return "http://" + m.pages[kvbmPage].at + pagePath }

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

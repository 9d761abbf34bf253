package demo

import (
	"context"
	"net/http"

	"github.com/umascope/umascope/exporter"
)

// shownProcesses is how many GPU processes of a simulated machine have series of their own.
const shownProcesses = 20

// machine is a simulated Spark with the addresses of its pages.
type machine struct {
	name  string
	stage *stage
	pages [3]listener // of exporter, engine and KVBM
	// loadAt is the address of the live metrics of its runs, which uma-load opens for each.
	loadAt string
}

// The pages of a machine.
const (
	exporterPage = iota
	enginePage
	kvbmPage
)

// openMachine starts a machine whose pages have the addresses that listen opens; the settings lack them.
func openMachine(name string, settings stageSettings, listen func(page int) (listener, error)) (*machine, error) {
	m := &machine{name: name}
	for page := range m.pages {
		var err error
		if m.pages[page], err = listen(page); err != nil {
			m.closePages()
			return nil, err
		}
	}
	settings.enginePage, settings.kvbmPage = m.engineURL()+pagePath, m.kvbmURL()
	var err error
	if m.stage, err = openStage(settings); err != nil {
		m.closePages()
		return nil, err
	}
	return m, nil
}

// openMachineHere starts a machine that people use, and serves it on free ports of the loopback until ctx ends.
func openMachineHere(ctx context.Context, name string, settings stageSettings, s *servers) (*machine, error) {
	m, err := openMachine(name, settings, func(int) (listener, error) { return listenHere() })
	if err != nil {
		return nil, err
	}
	if err := m.stage.lively(ctx, settings.seed); err != nil {
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

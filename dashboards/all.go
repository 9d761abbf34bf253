package dashboards

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/umascope/umascope/exporter/metric/expr"
)

// pages lists the dashboards: the table of contents.
func pages() []page {
	return slices.Concat([]page{fleetPage()}, machinePages(), []page{runPage(), comparePage()})
}

// machinePages are those about a machine as it is now.
func machinePages() []page {
	return []page{overviewPage(), memoryPage(), containersPage(), thermalPage(), storagePage(), inferencePage()}
}

// File is a file to be written into this package's folder.
type File struct {
	Name    string
	Content []byte
}

// Files renders the dashboards as they are provisioned.
func Files() ([]File, error) { return FilesFor(Settings{}) }

// Settings are what is different in the dashboards of another Prometheus or Grafana.
type Settings struct {
	Names expr.Names
	// Shared gives them the form that grafana.com takes, which cannot be provisioned.
	Shared bool
}

// FilesFor renders the dashboards with other settings.
func FilesFor(s Settings) ([]File, error) {
	var files []File
	for _, p := range pages() {
		content, err := p.render(s)
		if err != nil {
			return nil, fmt.Errorf("dashboard %s: %w", p.name, err)
		}
		files = append(files, File{Name: p.name + ".json", Content: content})
	}
	return files, nil
}

// render writes one dashboard.
func (p page) render(s Settings) ([]byte, error) {
	built, err := p.build()
	if err != nil {
		return nil, err
	}
	var written any = built
	if s.Shared {
		if written, err = share(built); err != nil {
			return nil, err
		}
	}
	content, err := json.MarshalIndent(written, "", "  ")
	if err != nil {
		return nil, err
	}
	return []byte(filled(string(content), s.Names) + "\n"), nil
}

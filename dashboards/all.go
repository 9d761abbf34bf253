package dashboards

import (
	"encoding/json"
	"fmt"
	"slices"
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

// Files renders the dashboards.
func Files() ([]File, error) {
	var files []File
	for _, p := range pages() {
		built, err := p.build()
		if err != nil {
			return nil, fmt.Errorf("dashboard %s: %w", p.name, err)
		}
		content, err := json.MarshalIndent(built, "", "  ")
		if err != nil {
			return nil, fmt.Errorf("dashboard %s: %w", p.name, err)
		}
		files = append(files, File{Name: p.name + ".json", Content: append(content, '\n')})
	}
	return files, nil
}

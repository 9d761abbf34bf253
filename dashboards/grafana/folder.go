package grafana

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// dashboardLimit is the maximum size of a dashboard file, in bytes.
const dashboardLimit = 8 << 20

// readDashboards reads every dashboard of a folder, sorted by title. The files are read again for every page, so that a
// reload shows newly generated files.
func readDashboards(folder fs.FS) ([]Dashboard, error) {
	paths, err := fs.Glob(folder, "*.json")
	if err != nil {
		return nil, err
	}
	var all []Dashboard
	var problems []error
	owners := map[string]string{}
	for _, path := range paths {
		d, err := readDashboard(folder, path)
		if owner, taken := owners[d.UID]; err == nil && taken {
			err = fmt.Errorf("its uid is that of %s", owner)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", path, err))
			continue
		}
		owners[d.UID] = path
		all = append(all, d)
	}
	if len(paths) == 0 {
		problems = append(problems, errors.New("there are no dashboards"))
	}
	slices.SortFunc(all, func(a, b Dashboard) int { return strings.Compare(a.Title, b.Title) })
	return all, errors.Join(problems...)
}

func readDashboard(folder fs.FS, path string) (Dashboard, error) {
	if info, err := fs.Stat(folder, path); err != nil {
		return Dashboard{}, err
	} else if !info.Mode().IsRegular() {
		return Dashboard{}, errors.New("it is no plain file")
	} else if info.Size() > dashboardLimit {
		return Dashboard{}, fmt.Errorf("it is longer than %d MiB", dashboardLimit>>20)
	}
	content, err := fs.ReadFile(folder, path)
	if err != nil {
		return Dashboard{}, err
	}
	return Read(content)
}

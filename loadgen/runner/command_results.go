package runner

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/loadgen/enginelog"
)

// mostResults is the most result files that are read.
const mostResults = 1000

// commandResults reads figures from the files that the command was expected to write. From a folder it reads only
// files written since the command began. A file that cannot be read is a warning.
func commandResults(c Command, since time.Time) (values []spec.Reported, warnings []string) {
	for _, path := range c.Results {
		found, err := resultsBelow(path, c.Tool, since)
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("%s: the command wrote no file there that %s is known to write", path, c.Tool)
		}
		if err != nil {
			warnings = append(warnings, "--result: "+printable(err.Error()))
		}
		values = append(values, found...)
	}
	return values, warnings
}

func resultsBelow(path string, tool enginelog.Tool, since time.Time) ([]spec.Reported, error) {
	var values []spec.Reported
	files := 0
	since = since.Truncate(time.Second) // timestamps of some file systems have whole seconds only
	err := filepath.WalkDir(path, func(at string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || at != path && filepath.Ext(at) != ".json" {
			return err
		}
		info, err := entry.Info()
		if err != nil || info.ModTime().Before(since) {
			return err
		}
		if files++; files > mostResults {
			return fmt.Errorf("%s: more than %d files", path, mostResults)
		}
		found, err := resultsOf(at, tool)
		if err != nil && at == path {
			return err
		}
		values = append(values, found...) // a folder may contain files that are no results
		return nil
	})
	return values, err
}

func resultsOf(path string, tool enginelog.Tool) ([]spec.Reported, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	values, err := tool.Results(file)
	for i := range values {
		values[i].From = printable(filepath.Base(path))
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return values, err
}

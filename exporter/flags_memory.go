package exporter

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/alecthomas/kingpin/v2"
)

// maxCachePaths is the maximum number of page cache lookups at a time.
const maxCachePaths = 20

// defineMemory adds the flags of the memory collector.
func (l *commandLine) defineMemory(c *kingpin.CmdClause) {
	c.Flag("memory.cache-path", "Show how much of this file, or of the files below this directory, is in the page cache, by paths as this program sees them; looked up twice a minute at most; links and other file systems below it are left out; may repeat.").
		PlaceHolder("PATH").SetValue(repeated{"--memory.cache-path", false, addCachePath(&l.options.CachePaths)})
}

func addCachePath(paths *[]string) func(string) error {
	return func(text string) error {
		switch {
		case !filepath.IsAbs(text):
			return errors.New("must be an absolute path")
		case slices.Contains(*paths, text):
			return errors.New("stands twice")
		case len(*paths) == maxCachePaths:
			return fmt.Errorf("more than %d paths", maxCachePaths)
		}
		*paths = append(*paths, text)
		return nil
	}
}

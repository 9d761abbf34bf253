// Package runindex knows finished runs by their folders: where they lie, what their manifest and their
// summary say, and what of it a comparison looks at.
//
// Of a run only these two files are read, so that a thousand runs are read in no time. What a folder
// says was written by somebody else, maybe on another machine: files are bounded, links below a folder
// that is searched are not followed, and a form that is not known is refused by its name.
package runindex

import (
	"github.com/umascope/umascope/loadgen/summary"
)

// Run is a finished run, by its folder.
type Run struct{ summary.Run }

// Open reads a run. Its errors begin with the folder.
func Open(path string) (Run, error) {
	r, err := summary.Open(path)
	return Run{r}, err
}

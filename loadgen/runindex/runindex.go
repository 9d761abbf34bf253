// Package runindex finds finished runs in folders, and reads from their manifest and summary the input of a comparison.
//
// It reads only these two files of a run, so that a thousand runs take little time. The contents of a folder are
// untrusted, and may come from another machine: the size of files is limited, links below a searched folder are not
// followed, and an unknown form is refused by its name.
package runindex

import (
	"github.com/umascope/umascope/loadgen/summary"
)

// Run is a finished run, read from its folder.
type Run struct{ summary.Run }

// Open reads a run. Its errors begin with the folder.
func Open(path string) (Run, error) {
	r, err := summary.Open(path)
	return Run{r}, err
}

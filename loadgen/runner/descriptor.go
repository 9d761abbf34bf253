package runner

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// ownDescriptors are kept for the run itself: its files, the pages that it reads, and those who
// read its own. Connections to the server under test get the others.
const ownDescriptors = 200

// descriptorLimit is how many files and connections this process may have open (getrlimit(2),
// RLIMIT_NOFILE). The Go runtime has raised the soft limit to the hard one by now.
func descriptorLimit() (uint64, error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("limit of open files: %w", err)
	}
	return limit.Cur, nil
}

// mostConnections is how many connections a run may have open at once under a limit of
// descriptors. An error says that those in flight at once need more; 0 stands for a number that
// only shows while they run.
func mostConnections(limit uint64, inFlight int) (int, error) {
	// Linux has no more than this for a process unless root says so (fs.nr_open).
	const plenty = 1 << 20
	most := int(min(limit, plenty)) - ownDescriptors
	if most < max(inFlight, 1) {
		return 0, fmt.Errorf("%d requests in flight need as many connections, and %d files beside them; at most %d may be open: raise the limit with ulimit -n", max(inFlight, 1), ownDescriptors, limit)
	}
	return most, nil
}

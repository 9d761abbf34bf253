package runner

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// ownDescriptors is the number of file descriptors reserved for the run itself: its files, the pages that it reads,
// and readers of its own page. Connections to the server under test get the rest.
const ownDescriptors = 200

// descriptorLimit returns how many files and connections this process may have open (getrlimit(2), RLIMIT_NOFILE). The
// Go runtime has already raised the soft limit to the hard one.
func descriptorLimit() (uint64, error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("limit of open files: %w", err)
	}
	return limit.Cur, nil
}

// mostConnections returns how many connections a run may have open at once under a limit of descriptors. It fails if
// inFlight needs more. An inFlight of 0 means that the number is known only during the run.
func mostConnections(limit uint64, inFlight int) (int, error) {
	// Linux allows a process at most this many, unless root raises fs.nr_open.
	const plenty = 1 << 20
	most := int(min(limit, plenty)) - ownDescriptors
	if most < max(inFlight, 1) {
		return 0, fmt.Errorf("%d requests in flight need as many connections, and %d more files; at most %d may be open: raise the limit with ulimit -n", max(inFlight, 1), ownDescriptors, limit)
	}
	return most, nil
}

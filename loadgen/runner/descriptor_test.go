package runner

import (
	"math"
	"strings"
	"testing"
)

func TestConnectionsGetTheDescriptorsThatTheRunDoesNotNeed(t *testing.T) {
	for _, c := range []struct {
		limit    uint64
		inFlight int
		most     int
		refused  string
	}{
		{1024, 0, 1024 - ownDescriptors, ""},
		{1024, 1024 - ownDescriptors, 1024 - ownDescriptors, ""},
		{1024, 1025 - ownDescriptors, 0, "at most 1024 may be open"},
		{ownDescriptors, 0, 0, "1 requests in flight"},
		{0, 1, 0, "ulimit -n"},
		{math.MaxUint64, 1 << 16, 1<<20 - ownDescriptors, ""}, // unlimited
	} {
		most, err := mostConnections(c.limit, c.inFlight)
		if most != c.most || (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%d of %d: %d, %v", c.inFlight, c.limit, most, err)
		}
	}
}

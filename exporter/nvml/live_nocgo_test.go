//go:build !cgo

package nvml

import (
	"errors"
	"strings"
	"testing"
)

func TestBuildWithoutCgoIsReported(t *testing.T) {
	s, err := NewReader(Live(), ReaderOptions{}).Read(t.Context()).Snapshot(t.Context())
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "without cgo") || s.Return != NotBuilt {
		t.Errorf("%v, %d", err, s.Return)
	}
}

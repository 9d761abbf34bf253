package rundir

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// longestArm bounds the part of a run's name that comes from its arm.
const longestArm = 40

// NewID names a run by UTC time, arm and a random part: names sort by time, and two runs that start in the same second
// have different names.
func NewID(now time.Time, arm string) string {
	return id(now, arm, strings.ToLower(rand.Text()[:6]))
}

// SharedID names a run that several processes share without communicating the name: by its start, its arm and a hash of
// these and of further values that distinguish runs.
func SharedID(start time.Time, arm string, more ...string) string {
	sum := sha256.New()
	for _, text := range append([]string{start.UTC().Format(time.RFC3339Nano), arm}, more...) {
		fmt.Fprintf(sum, "%q", text)
	}
	return id(start, arm, hex.EncodeToString(sum.Sum(nil)[:3]))
}

func id(at time.Time, arm, last string) string {
	arm = regexp.MustCompile(`[^A-Za-z0-9._-]+`).ReplaceAllString(arm, "-")
	arm = strings.Trim(arm[:min(len(arm), longestArm)], ".-")
	return strings.Join([]string{at.UTC().Format("20060102T150405Z"), arm, last}, "-")
}

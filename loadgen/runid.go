package loadgen

import (
	"crypto/rand"
	"regexp"
	"strings"
	"time"
)

// longestArm bounds the part of a run's name that its arm gives.
const longestArm = 40

// newRunID names a run by UTC time, arm and a random part: sorted by name, runs are sorted by
// time, and two that start in the same second are still two.
func newRunID(now time.Time, arm string) string {
	arm = regexp.MustCompile(`[^A-Za-z0-9._-]+`).ReplaceAllString(arm, "-")
	arm = strings.Trim(arm[:min(len(arm), longestArm)], ".-")
	return strings.Join([]string{now.UTC().Format("20060102T150405Z"), arm, strings.ToLower(rand.Text()[:6])}, "-")
}

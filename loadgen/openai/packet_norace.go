//go:build !race

package openai

// acquire does nothing: there is no race detector in this build.
func acquire(uintptr) {}

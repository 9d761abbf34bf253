package vllm

import (
	"strings"
	"testing"
	"unicode"
)

func FuzzValueBytes(f *testing.F) {
	f.Add("auto")
	f.Add("fp8_e5m2")
	f.Fuzz(func(t *testing.T, kind string) {
		if bytes := valueBytes(kind); bytes != 0 && bytes != 1 && bytes != 2 {
			t.Errorf("%q: %v", kind, bytes)
		}
	})
}

// FuzzFingerprint holds that a version is part of the fingerprint that it is read from, behind the name.
func FuzzFingerprint(f *testing.F) {
	for _, text := range []string{"vllm-0.32.0-30e88cc7", "vllm-0.32.1.dev12+gabc", "fp_44709d6fcb", "vllm-", "vllm-1-\x1b[2J", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		version, is := fingerprint(text)
		if is && (version == "" || !strings.HasPrefix(text, "vllm-"+version) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })) {
			t.Errorf("%q: version %q", text, version)
		}
	})
}

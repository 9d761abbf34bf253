package view

import "testing"

func TestReleaseOfPrometheus(t *testing.T) {
	for module, want := range map[string]string{"v0.315.0": "3.15.0", "v0.301.12": "3.1.12", "v3.0.0": "v3.0.0", "(devel)": "(devel)", "": ""} {
		if got := releaseOf(module); got != want {
			t.Errorf("%s: %s, want %s", module, got, want)
		}
	}
}

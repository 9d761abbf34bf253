package summary

import (
	"slices"
	"testing"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary/testrun"
)

func TestWhatAnsweredIsJudgedOnlyAsFarAsItWasSeen(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*inputs)
		code   Code // "": valid
		check  string
		listed bool
	}{
		"not compared":            {func(*inputs) {}, "", "fingerprint", false},
		"the same at both ends":   {func(in *inputs) { in.Judging.Model.Compared = true }, "", "fingerprint", true},
		"another at the end":      {func(in *inputs) { in.Judging.Model.Compared, in.Judging.Model.Changed = true, "other tokens" }, CodeModelChanged, "fingerprint", true},
		"not guarded":             {func(*inputs) {}, "", "serving", false},
		"served to the end":       {func(in *inputs) { in.Judging.Model.Guarded = true }, "", "serving", true},
		"dropped":                 {func(in *inputs) { in.Judging.Model.Guarded, in.Judging.Model.Dropped = true, "gone" }, CodeModelDropped, "serving", true},
		"prompt too long":         {func(in *inputs) { in.Judging.Model.Guarded, in.Judging.Model.PromptLimit = true, "8193 tokens" }, CodePromptLimit, "serving", true},
		"tiers nobody asked for":  {func(*inputs) {}, "", "kv_mode", false},
		"tiers as expected":       {func(in *inputs) { in.KVMode.Checked = true }, "", "kv_mode", true},
		"other tiers":             {func(in *inputs) { in.KVMode = rundir.KVFindings{Checked: true, Mismatch: "cpu_only"} }, CodeKVModeMismatch, "kv_mode", true},
		"tiers that are not seen": {func(in *inputs) { in.KVMode = rundir.KVFindings{Checked: false, Mismatch: ""} }, "", "kv_mode", false},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(t)
			c.change(&in)
			s := summarize(t, in, testrun.Steady(3)...)
			if s.Valid != (c.code == "") || slices.Contains(s.Checked, c.check) != c.listed {
				t.Errorf("valid %v, checked %v", s.Valid, s.Checked)
			}
			if c.code != "" && (len(s.InvalidReasons) != 1 || s.InvalidReasons[0].Code != c.code) {
				t.Errorf("reasons %v", s.InvalidReasons)
			}
		})
	}
}

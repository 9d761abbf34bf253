package main

import (
	"fmt"
	"slices"
	"testing"
)

func TestPlacesAreOffsetsInTheFileOfTheCheckout(t *testing.T) {
	slotted := map[string]any{
		"\uE000": 0,
		"expr":   []any{"no name", "é \uE000 up{\uE001} \uE000"},
		"deep":   map[string]any{"of": "\uE000"},
	}
	want := map[string]any{"": []string{"host"}, "expr": map[string]any{"1": []int{2, 10, 30}}, "deep": map[string]any{"of": []int{0}}}
	if got := fmt.Sprint(places(slotted)); got != fmt.Sprint(want) {
		t.Errorf("got %s, want %s", got, fmt.Sprint(want))
	}
	text := []rune(`é host up{job="uma-exporter"} host`)
	for i, own := range []string{ownHost, ownExporters, ownHost} {
		at := []int{2, 10, 30}[i]
		if got := string(text[at : at+len(own)]); got != own {
			t.Errorf("at %d is %s, want %s", at, got, own)
		}
	}
	if places(map[string]any{"a": []any{"b", 1, nil}}) != nil {
		t.Error("there are places without a slot")
	}
}

func TestMixinsAreGeneratedWithTheirFiles(t *testing.T) {
	for subject, path := range map[string]string{"dashboards": "dashboards/mixin.libsonnet", "alerts": "alerts/mixin.libsonnet"} {
		files, err := generate(subject)
		if err != nil || !slices.ContainsFunc(files, func(f file) bool { return f.path == path && len(f.content) > 0 }) {
			t.Errorf("%s without %s: %v", subject, path, err)
		}
	}
}

package demo

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"
)

func TestPlansDifferInOrderAndCachesAloneAndNeverTouchTheRealPageCache(t *testing.T) {
	m := &machine{name: "m", pages: [3]listener{exporterPage: {at: "127.0.0.1:1"}, enginePage: {at: "127.0.0.1:2"}}}
	var texts []string
	for _, c := range campaignsOf(showOptions{seed: 7}) {
		text, err := planOf(c, m, "http://127.0.0.1:3/secret/m", 250*time.Millisecond, showOptions{seed: 7})
		if err != nil {
			t.Fatal(err)
		}
		var plan struct {
			Order     string
			PageCache struct{ Policy string } `yaml:"page_cache"`
			Gates     struct{ Off []string }
			Arms      []struct{ Processes []struct{ Argv []string } }
		}
		if err := yaml.Unmarshal(text, &plan); err != nil {
			t.Fatalf("%s: %v\n%s", c.name, err, text)
		}
		drops := strings.Contains(strings.Join(plan.Arms[0].Processes[0].Argv, " "), "--drop-caches")
		if plan.Order != c.order || plan.PageCache.Policy != "keep" || drops != c.dropsCaches || len(plan.Gates.Off) != 4 {
			t.Errorf("%s: %+v", c.name, plan)
		}
		_, works, _ := strings.Cut(string(text), "schema:")
		works = regexp.MustCompile(`(?m)^(name|order): .*\n|^# .*\n|, --drop-caches`).ReplaceAllString(works, "")
		texts = append(texts, works)
	}
	if texts[0] != texts[1] || texts[1] != texts[2] {
		t.Errorf("the plans differ in more:\n%s\n%s\n%s", texts[0], texts[1], texts[2])
	}
}

package cmd_test

import (
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"
)

// TestTheCitationIsOneThatGitHubReads holds CITATION.cff to what the Citation File Format 1.2.0 requires. Version and date are
// those of a release, so both are there or neither.
func TestTheCitationIsOneThatGitHubReads(t *testing.T) {
	text, err := os.ReadFile("../CITATION.cff")
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Format   string `yaml:"cff-version"`
		Message  string
		Title    string
		Abstract string
		Type     string
		Authors  []struct{ Name string }
		Code     string `yaml:"repository-code"`
		License  string
		Keywords []string
		Version  string
		Released string `yaml:"date-released"`
	}
	if err := yaml.Load(text, &c, yaml.WithKnownFields()); err != nil {
		t.Fatalf("CITATION.cff: %v", err)
	}
	if c.Format != "1.2.0" || c.Message == "" || c.Title != "umascope" || len(c.Authors) == 0 || c.Authors[0].Name == "" {
		t.Errorf("a required key is missing: %+v", c)
	}
	if c.Code+"/" != "https://"+module || c.License != "Apache-2.0" || !slices.Contains([]string{"software", "dataset"}, c.Type) {
		t.Errorf("%+v", c)
	}
	if (c.Version == "") != (c.Released == "") {
		t.Errorf("version %q was released on %q", c.Version, c.Released)
	}
	if c.Version != "" && !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(c.Version) {
		t.Errorf("version %s", c.Version)
	}
	if c.Released != "" {
		if _, err := time.Parse(time.DateOnly, c.Released); err != nil {
			t.Errorf("date-released: %v", err)
		}
	}
}

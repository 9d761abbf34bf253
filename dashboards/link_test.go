package dashboards

import (
	"encoding/json"
	"strings"
	"testing"
)

// renderedLinks are the addresses that cells of a page lead to.
func renderedLinks(t *testing.T, content []byte) []string {
	t.Helper()
	var d struct {
		Panels []struct {
			FieldConfig struct {
				Overrides []struct {
					Properties []struct {
						ID    string
						Value json.RawMessage
					}
				}
			}
		}
	}
	if err := json.Unmarshal(content, &d); err != nil {
		t.Fatal(err)
	}
	var addresses []string
	for _, p := range d.Panels {
		for _, o := range p.FieldConfig.Overrides {
			for _, property := range o.Properties {
				if property.ID != "links" {
					continue
				}
				var links []struct{ Title, URL string }
				if err := json.Unmarshal(property.Value, &links); err != nil || len(links) == 0 || links[0].Title == "" {
					t.Errorf("links %s: %v", property.Value, err)
				}
				for _, l := range links {
					addresses = append(addresses, l.URL)
				}
			}
		}
	}
	return addresses
}

// A cell that leads to another page takes the time and what was chosen along.
func TestCellsLeadToOtherPagesWithTimeAndVariables(t *testing.T) {
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	uids := map[string]bool{}
	for _, d := range renderAll(t) {
		uids[d.UID] = true
	}
	for _, f := range files {
		for _, address := range renderedLinks(t, f.Content) {
			if address == runbook {
				continue
			}
			uid, _, _ := strings.Cut(strings.TrimPrefix(address, "/d/"), "?")
			if !uids[uid] {
				t.Errorf("%s leads to %s, which is no page", f.Name, address)
			}
			time := strings.Contains(address, "${__url_time_range}") || (strings.Contains(address, "from=$") && strings.Contains(address, "to=$"))
			if !time || !strings.Contains(address, "${datasource:queryparam}") || !strings.Contains(address, "${host:queryparam}") {
				t.Errorf("%s: %s forgets the time or a variable", f.Name, address)
			}
		}
	}
}

func TestALinkToARunTakesItsTimeFromTheColumnsOfTheTable(t *testing.T) {
	links, ok := toRun("Started", "Ended")[0].Value.([]map[string]any)
	if !ok || len(links) != 1 {
		t.Fatalf("%v", links)
	}
	const want = `/d/umascope-run-detail?from=${__data.fields["Started"].numeric}&to=${__data.fields["Ended"].numeric}` +
		`&var-run=${__value.raw:percentencode}&${datasource:queryparam}&${host:queryparam}`
	if links[0]["url"] != want {
		t.Errorf("%s, want %s", links[0]["url"], want)
	}
}

package dashboards

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// renderedLinks are the addresses that cells of a page lead to.
func renderedLinks(t *testing.T, d rendered) []string {
	t.Helper()
	var addresses []string
	for _, p := range d.Panels {
		for _, o := range p.FieldConfig.Overrides {
			var properties []struct {
				ID    string
				Value json.RawMessage
			}
			if err := json.Unmarshal(o.Properties, &properties); err != nil && len(o.Properties) > 0 {
				t.Fatal(err)
			}
			for _, property := range properties {
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
	all := renderAll(t)
	uids := map[string]bool{}
	for _, d := range all {
		uids[d.UID] = true
	}
	for name, d := range all {
		for _, address := range renderedLinks(t, d) {
			if address == runbook || address == jobLabels {
				continue
			}
			uid, _, _ := strings.Cut(strings.TrimPrefix(address, "/d/"), "?")
			if !uids[uid] {
				t.Errorf("%s leads to %s, which is no page", name, address)
			}
			time := strings.Contains(address, "${__url_time_range}") || (strings.Contains(address, "from=$") && strings.Contains(address, "to=$"))
			host := strings.Contains(address, "${host:queryparam}") || strings.Contains(address, "var-host=") || uid == tag+"-"+fleetPageName
			if !time || !host || !strings.Contains(address, "${datasource:queryparam}") {
				t.Errorf("%s: %s forgets the time or a variable", name, address)
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

func TestEveryOtherPageLeadsToTheFleetAndTheFleetToEveryPageOfAHost(t *testing.T) {
	all := renderAll(t)
	for name, d := range all {
		addresses := renderedLinks(t, d)
		if fleet := slices.Contains(addresses, addressOfFleet); fleet == (name == fleetPageName+".json") {
			t.Errorf("%s leads to the fleet: %v", name, fleet)
		}
	}
	from := strings.Join(renderedLinks(t, all[fleetPageName+".json"]), "\n")
	for _, p := range machinePages() {
		if !strings.Contains(from, "/d/"+tag+"-"+p.name+"?${__url_time_range}&var-host=${__value.raw:percentencode}") {
			t.Errorf("no host of the fleet leads to its %s", p.name)
		}
	}
}

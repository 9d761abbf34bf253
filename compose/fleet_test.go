package compose

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

const fleetFile = "fleet/fleet.yaml"

func yamlIn(t *testing.T, path string) object {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	var v map[string]any
	if err := yaml.Unmarshal(text, &v); err != nil {
		t.Fatal(path, err)
	}
	return v
}

// TestAFleetsHubIsAHubWithMimir: what is laid over the stack adds two services and changes two.
func TestAFleetsHubIsAHubWithMimir(t *testing.T) {
	before, hub := load(t, []string{"hub"}, nil, stackFile), load(t, []string{"hub"}, nil, stackFile, fleetFile)
	for name, s := range hub.Services {
		old, was := before.Services[name]
		switch {
		case name == "mimir" || name == "mimir-owner":
			if s.ReadOnly != true || !slices.Equal(s.CapDrop, []string{"ALL"}) || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") || s.MemLimit == 0 || s.PidsLimit == 0 || s.User != "65534:65534" {
				t.Errorf("%s is not held as the others are", name)
			}
			for _, port := range s.Ports {
				if port.HostIP != "127.0.0.1" {
					t.Errorf("%s listens on %s", name, port.HostIP)
				}
			}
			if !regexp.MustCompile(`:v?\d+\.\d+\.\d+$`).MatchString(s.Image) {
				t.Errorf("%s is not pinned: %s", name, s.Image)
			}
		case !was:
			t.Errorf("%s is new", name)
		default:
			if alike := marshalled(t, s) == marshalled(t, old); alike != (name != "prometheus" && name != "grafana") {
				t.Errorf("%s is as before: %v", name, alike)
			}
		}
	}
	if len(hub.Services) != len(before.Services)+2 {
		t.Errorf("services %v", hub.ServiceNames())
	}
	for _, s := range hub.Services {
		for _, mount := range s.Volumes {
			if _, err := os.Stat(mount.Source); mount.Type == "bind" && strings.Contains(mount.Source, "fleet") && err != nil {
				t.Error(err)
			}
		}
	}
}

// TestPrometheusOfAFleetIsThatOfTheStackButForWhatIsMarked, so that neither is changed without the other.
func TestPrometheusOfAFleetIsThatOfTheStackButForWhatIsMarked(t *testing.T) {
	text, err := os.ReadFile("fleet/prometheus.yml")
	must(t, err)
	want := readText(t, "prometheus/prometheus.yml")
	marked := regexp.MustCompile(`(?ms)^ *# >>> fleet\n.*?^ *# <<< fleet\n\n?`)
	if n := len(marked.FindAll(text, -1)); n != 2 {
		t.Errorf("%d blocks are marked", n)
	}
	_, rest, _ := strings.Cut(marked.ReplaceAllString(string(text), ""), "marks.\n")
	if rest != want {
		t.Error("fleet/prometheus.yml is not prometheus/prometheus.yml with the marked blocks: change both")
	}
}

// TestWhatIsSentToMimirIsWhatIsAskedOfIt: address, tenant and the form of histograms.
func TestWhatIsSentToMimirIsWhatIsAskedOfIt(t *testing.T) {
	prometheus, mimir := yamlIn(t, "fleet/prometheus.yml"), yamlIn(t, "fleet/mimir.yaml")
	writes, _ := prometheus.in("remote_write").([]any)
	if len(writes) != 1 {
		t.Fatalf("remote_write %v", writes)
	}
	write := object(writes[0].(map[string]any))
	sources, _ := yamlIn(t, "fleet/datasources.yaml").in("datasources").([]any)
	source := object(sources[0].(map[string]any))
	at := "http://mimir:" + portText(mimir.in("server", "http_listen_port"))
	if write["url"] != at+"/api/v1/push" || source["url"] != at+"/prometheus" {
		t.Errorf("written to %v, asked at %v, listens at %s", write["url"], source["url"], at)
	}
	if tenant := write.in("headers", "X-Scope-OrgID"); tenant == nil || source.in("jsonData", "httpHeaderName1") != "X-Scope-OrgID" || source.in("secureJsonData", "httpHeaderValue1") != tenant || mimir.in("multitenancy_enabled") != true {
		t.Errorf("tenant %v is asked as %v", tenant, source.in("secureJsonData", "httpHeaderValue1"))
	}
	if write["send_native_histograms"] != true || mimir.in("limits", "native_histograms_ingestion_enabled") != true {
		t.Error("latencies lose their buckets on the way")
	}
	stacks, _ := yamlIn(t, "grafana/provisioning/datasources/prometheus.yaml").in("datasources").([]any)
	if len(sources) != 1 || source["uid"] != object(stacks[0].(map[string]any))["uid"] {
		t.Errorf("dashboards ask another one than %v", source["uid"])
	}
	if hub := load(t, []string{"hub"}, nil, stackFile, fleetFile).Services["prometheus"].Environment["UMASCOPE_HUB"]; hub == nil || *hub == "" {
		t.Error("the hub has no name")
	}
}

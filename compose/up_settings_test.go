package compose

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen"
)

func TestUpTakesAddressesOnce(t *testing.T) {
	for setting, secret := range map[string]string{"UMA_ALERT_URL": "alert-receiver", "UMA_HEARTBEAT_URL": "alert-heartbeat"} {
		c := prepared(t)
		c.set(t, setting, "https://one.example/hook?token=a%2Fb&c")
		if _, stderr, code := c.up(t, nil); code != 0 || c.read(t, "secrets/"+secret) != "https://one.example/hook?token=a%2Fb&c" {
			t.Fatalf("exit %d, %s: %s", code, stderr, c.read(t, "secrets/"+secret))
		}
		c.set(t, setting, "https://two.example/hook")
		stdout, stderr, code := c.up(t, nil)
		if code != 0 || !strings.Contains(stderr, secret+" is not "+setting) || !strings.HasPrefix(c.read(t, "secrets/"+secret), "https://one.example") {
			t.Errorf("exit %d, %s", code, stderr)
		}
		if strings.Contains(stdout+stderr, "example") {
			t.Errorf("an address, which may have a key in it, is printed: %s%s", stdout, stderr)
		}
		// What it says to do: a container that runs has the file mounted, and would keep the old one if it were replaced.
		empty := ": >secrets/" + secret
		if !strings.Contains(stderr, empty) {
			t.Errorf("it does not say %q: %s", empty, stderr)
		}
		path := filepath.Join(c.compose, "secrets/"+secret)
		mounted, err := os.Open(path)
		must(t, err)
		defer mounted.Close()
		must(t, os.Truncate(path, 0))
		_, stderr, code = c.up(t, nil)
		if text, err := io.ReadAll(mounted); err != nil || code != 0 || string(text) != "https://two.example/hook" {
			t.Errorf("exit %d, %s: whoever has the file open reads %q, %v", code, stderr, text, err)
		}
	}
}

// TestTheProfileAskedForIsThatOfDockerCompose: else its down, ps and logs would mean the one of the first time.
func TestTheProfileAskedForIsThatOfDockerCompose(t *testing.T) {
	c := newCheckout(t)
	for _, profile := range []string{"sim", "default", "hub"} {
		if _, stderr, code := c.up(t, nil, profile); code != 0 || !strings.Contains(c.read(t, ".env"), "\nCOMPOSE_PROFILES="+profile+"\n") {
			t.Errorf("%s: exit %d, %s\n%s", profile, code, stderr, c.read(t, ".env"))
		}
	}
	if _, stderr, code := c.up(t, []string{"RUNNING=grafana\n"}, "sim"); code != 1 || !strings.Contains(c.read(t, ".env"), "COMPOSE_PROFILES=hub\n") {
		t.Errorf("a profile that is not started is in .env: exit %d, %s", code, stderr)
	}
	c.set(t, "COMPOSE_PROFILES", "hub,load")
	if _, stderr, code := c.up(t, nil, "hub"); code != 0 || !strings.Contains(stderr, "COMPOSE_PROFILES=hub,load in .env stays") || !strings.Contains(c.read(t, ".env"), "COMPOSE_PROFILES=hub,load\n") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}

// TestUpReadsSettingsAsComposeDoes: an address with quotes in it would reach nobody, and nobody would know.
func TestUpReadsSettingsAsComposeDoes(t *testing.T) {
	for line, want := range map[string]string{
		`"https://one.example/hook?a=b"`: "https://one.example/hook?a=b", `'https://one.example/'`: "https://one.example/",
		`https://one.example/  # ntfy`: "https://one.example/", `"https://one.example/" # ntfy`: "https://one.example/",
		`https://one.example/#part`: "https://one.example/#part", "https://one.example/\r": "https://one.example/",
	} {
		c := prepared(t)
		c.set(t, "UMA_ALERT_URL", line)
		if _, stderr, code := c.up(t, nil); code != 0 || c.read(t, "secrets/alert-receiver") != want {
			t.Errorf("%s: exit %d, %s: %q", line, code, stderr, c.read(t, "secrets/alert-receiver"))
		}
	}
}

// TestUpLetsAlertmanagerReadAnUpdate: nothing in compose.yaml has changed then, so that compose leaves it running.
func TestUpLetsAlertmanagerReadAnUpdate(t *testing.T) {
	for profile, service := range map[string]string{"default": "alertmanager", "hub": "alertmanager", "sim": "sim-alertmanager"} {
		c := prepared(t)
		if _, stderr, code := c.up(t, nil, profile); code != 0 {
			t.Fatalf("exit %d, %s", code, stderr)
		}
		asked, err := os.ReadFile(c.asked)
		if want := "compose --profile " + profile + " kill --signal HUP " + service + "\n"; err != nil || !strings.HasSuffix(string(asked), want) {
			t.Errorf("%v, asked last: %s", err, asked)
		}
	}
}

// TestARunIsFoundWhereTheExporterIs: a machine that only has the exporter has no network of the stack.
func TestARunIsFoundWhereTheExporterIs(t *testing.T) {
	c := prepared(t)
	address := []string{"UMASCOPE_EXPORTER_ADDRESS=192.168.100.10"}
	if _, stderr, code := c.up(t, address); code != 0 {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	for name, port := range map[string]string{"exporter.yml": "10420", "load.yml": "10421"} {
		if groups := parseTargets(t, []byte(c.read(t, "prometheus/targets/"+name))); groups[0].Targets[0] != "192.168.100.10:"+port {
			t.Errorf("%s: %v", name, groups)
		}
	}
	listens := load(t, []string{"load"}, address, stackFile).Services["load"].Environment[loadgen.AddressVariable]
	if listens == nil || *listens != "192.168.100.10:10421" {
		t.Errorf("a run listens at %v", listens)
	}
}

// TestThePasswordOfAnotherMachineMayBePrometheusAlone: TLS.md has it lie among what is mounted.
func TestThePasswordOfAnotherMachineMayBePrometheusAlone(t *testing.T) {
	c := prepared(t)
	must(t, os.Mkdir(filepath.Join(c.compose, "prometheus/tls"), 0o700))
	c.write(t, "prometheus/tls/password", "secret", 0o600)
	if _, stderr, code := c.up(t, nil); code != 0 {
		t.Errorf("exit %d, %s", code, stderr)
	}
}

// TestRunsCanBeMadeWhereOnlyTheExporterIs: measured machines are where most are made.
func TestRunsCanBeMadeWhereOnlyTheExporterIs(t *testing.T) {
	c := prepared(t)
	_, stderr, code := c.up(t, []string{"UMASCOPE_EXPORTER_ADDRESS=192.168.100.10", "UMASCOPE_RUNS=./more/runs"}, "exporter")
	if info, err := os.Stat(filepath.Join(c.compose, "more/runs")); code != 0 || err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("exit %d, %s: %v", code, stderr, err)
	}
}

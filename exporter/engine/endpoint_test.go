package engine

import (
	"strings"
	"testing"
)

func TestSourceIsTheAddressWithoutUserAndQuery(t *testing.T) {
	for raw, want := range map[string]struct{ source, url string }{
		"http://127.0.0.1:6880":                {"127.0.0.1:6880/metrics", "http://127.0.0.1:6880/metrics"},
		"http://127.0.0.1:6880/":               {"127.0.0.1:6880/metrics", "http://127.0.0.1:6880/metrics"},
		"HTTP://Spark-1:08080/a/b":             {"spark-1:8080/a/b", "http://spark-1:8080/a/b"},
		"http://bob:hunter2@spark/m?model=q#x": {"spark:80/m", "http://bob:hunter2@spark:80/m?model=q"},
		"https://spark":                        {"spark:443/metrics", "https://spark:443/metrics"},
		"http://[::1]:9090/metrics":            {"[::1]:9090/metrics", "http://[::1]:9090/metrics"},
		"http://h/prometheus%2Fmetrics":        {"h:80/prometheus%2Fmetrics", "http://h:80/prometheus%2Fmetrics"},
	} {
		e, err := ParseEndpoint(raw)
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		if e.Source != want.source || e.URL.String() != want.url {
			t.Errorf("%s: source %s, URL %s", raw, e.Source, e.URL)
		}
	}
}

func TestWhatIsNoAddressIsRefusedWithoutRepeatingIt(t *testing.T) {
	for _, raw := range []string{
		"", "127.0.0.1:6880", "spark/metrics", "/var/run/engine.sock", "ftp://bob:hunter2@spark", "http://",
		"http://bob:hunter2@spark:0", "http://bob:hunter2@spark:65536", "http://bob:hunter2@", "http://bob:hun/ter2@spark",
		"http://bob:hunter2@sp ark", "http://bob:hunter2@spark:9x", "http://bob:hunter2@[::1",
	} {
		e, err := ParseEndpoint(raw)
		if err == nil {
			t.Errorf("%q is %+v", raw, e)
			continue
		}
		for _, secret := range []string{"hunter2", "ter2", "hun/", "bob"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%q: %v", raw, err)
			}
		}
	}
}

func FuzzParseEndpoint(f *testing.F) {
	for _, raw := range []string{"http://127.0.0.1:6880", "https://bob:hunter2@Spark:8443/x?y=z#w", "http://[fe80::1%25eth0]/m", "http://h/%2e%2e"} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		e, err := ParseEndpoint(raw)
		if err != nil {
			if strings.Contains(err.Error(), "@") {
				t.Fatalf("error %q", err)
			}
			return
		}
		again, err := ParseEndpoint(e.URL.String())
		if err != nil || again.Source != e.Source || again.URL.String() != e.URL.String() {
			t.Fatalf("%q is %s, and that is %+v, %v", raw, e.URL, again, err)
		}
		if strings.ContainsAny(e.Source, "?#") || e.URL.User != nil && e.URL.User.String() != "" && strings.Contains(e.Source, e.URL.User.String()+"@") {
			t.Fatalf("%q gives away %q", raw, e.Source)
		}
	})
}

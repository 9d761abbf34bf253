package exporter

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// doctorBeside is what doctor prints of this machine where the default exporter is at this address.
func doctorBeside(t *testing.T, address string) string {
	t.Helper()
	line, err := parse([]string{"doctor"}, &bytes.Buffer{}, &bytes.Buffer{})
	must(t, err)
	line.exporterURL = address
	var out bytes.Buffer
	must(t, line.doctor(t.Context(), &out))
	return out.String()
}

// TestDoctorShowsWhatTheRunningExporterCannotRead: a service has rights that the shell lacks, and the other way round.
func TestDoctorShowsWhatTheRunningExporterCannotRead(t *testing.T) {
	e := openHostNamed(t, "no-gpu")
	address := servedAt(t, e.Handler())
	x, err := e.explanation(t.Context())
	must(t, err)
	var list strings.Builder
	for _, sentence := range x.Unknown {
		list.WriteString("  " + sentence + "\n")
	}
	text := doctorBeside(t, address)
	wantIn(t, text, "\nThis is about your shell; what the running exporter cannot read is at the end.\n\n", "\nmemory   ")
	if want := "\n\nThe exporter at " + address + "/explain.json\n" + list.String(); list.Len() == 0 || !strings.HasSuffix(text, want) {
		t.Errorf("doctor does not end with %s:\n%s", want, text)
	}
	wantIn(t, runHere(t, "doctor", "--url="+address), list.String())
}

func TestDoctorOfTheShellAlone(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	text := doctorBeside(t, server.URL)
	wantIn(t, text, "\nThis is about your shell: an exporter that starts otherwise, such as a service, has other rights.\n")
	wantNotIn(t, text, "The exporter at")

	foreign := servedAt(t, answered(http.StatusOK, "text/html", "<h1>Grafana</h1>"))
	wantIn(t, doctorBeside(t, foreign), "\nThis is about your shell; a running exporter could not be asked: "+foreign+"/explain.json: the answer is not JSON: another program listens there\n")
}

func TestDoctorFailsIfTheExporterThatIsNamedDoesNotAnswer(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"doctor", "--url=" + server.URL}, exitFailed, "--url " + server.URL + "/explain.json: no exporter runs there"},
		{[]string{"doctor", "--url=" + server.URL, "--replay=hosts/no-gpu.txtar"}, exitInput, "--url: a running exporter is not compared with a recording"},
	} {
		var stdout, stderr bytes.Buffer
		if code := Run(t.Context(), c.args, &stdout, &stderr); code != c.code || stdout.Len() > 0 || stderr.String() != "uma-exporter: "+c.says+"\n" {
			t.Errorf("%q: exit %d: %s%s", c.args, code, stdout.String(), stderr.String())
		}
	}
}

// TestDoctorOfARecordingIsAboutNoShell: a recording is neither of this user nor of the exporter that runs here.
func TestDoctorOfARecordingIsAboutNoShell(t *testing.T) {
	wantNotIn(t, runHere(t, "doctor", "--replay=hosts/no-gpu.txtar"), "your shell", "The exporter at")
}

func TestDoctorRefusesALinkThatItCannotMeasure(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--link=:7"}, `--link ":7": not HOST or HOST:PORT`},
		{[]string{"--link=127.0.0.1:70000"}, `--link "127.0.0.1:70000": not HOST or HOST:PORT`},
		{[]string{"--link=spark-2.invalid"}, `--link "spark-2.invalid": no address is found for spark-2.invalid`},
		{[]string{"--link=127.0.0.1", "--link-listen=127.0.0.1:0"}, "--link and --link-listen: give one here, the other on the other machine"},
		{[]string{"--link=127.0.0.1", "--replay=hosts/no-gpu.txtar"}, "--link: a path is measured on a machine, not in a recording"},
		{[]string{"--link-listen=here"}, "--link-listen: listen tcp: address here: missing port in address"},
	} {
		var stdout, stderr bytes.Buffer
		code := Run(t.Context(), append([]string{"doctor"}, c.args...), &stdout, &stderr)
		if code != exitInput || stdout.Len() > 0 || stderr.String() != "uma-exporter: "+c.says+"\n" {
			t.Errorf("%q: exit %d: %s%s", c.args, code, stdout.String(), stderr.String())
		}
	}
}

func TestDoctorShowsWhatCanBeSeenWithoutAListener(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	address := server.Listener.Addr().String()
	server.Close()
	var stdout, stderr bytes.Buffer
	code := Run(t.Context(), []string{"doctor", "--link=" + address}, &stdout, &stderr)
	if code != exitFailed || !strings.Contains(stderr.String(), "start there first: uma-exporter doctor --link-listen=") {
		t.Errorf("exit %d: %s", code, stderr.String())
	}
	wantIn(t, stdout.String(), "\n  leaves by   lo, MTU ", "\nVerdict: not measured; the path shows no cause of slowness\n")
}

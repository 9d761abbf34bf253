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

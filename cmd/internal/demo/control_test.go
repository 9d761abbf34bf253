//go:build proof

package demo

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/metric"
)

// controlled is a machine whose arms are begun at an address.
func controlled(t *testing.T) (s *stage, server *httptest.Server, address string) {
	t.Helper()
	s = play(t, timeFactor)
	c := newControl(1, []*machine{{name: "m", stage: s}})
	server = httptest.NewServer(c.handler())
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return s, server, server.URL + c.path("m")
}

// held starts the process of an arm and returns once the arm is up.
func held(t *testing.T, ctx context.Context, s *stage, o armOptions) (code chan int, message *bytes.Buffer) {
	t.Helper()
	message, code = &bytes.Buffer{}, make(chan int, 1)
	before := len(s.accounts())
	go func() { code <- program(&bytes.Buffer{}, message).holdArm(ctx, o) }()
	for len(s.accounts()) == before {
		if err := pause(t.Context(), 10*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	return code, message
}

func TestAnArmIsUpForAsLongAsItsProcessRuns(t *testing.T) {
	s, _, address := controlled(t)
	ctx, end := context.WithCancel(t.Context())
	code, message := held(t, ctx, s, armOptions{name: metric.ArmContainer, stage: address})
	if a := s.accounts()[0]; a.arm != metric.ArmContainer || a.cachedBytes[imageFile] == 0 {
		t.Errorf("%+v", a)
	}
	end()
	if got := <-code; got != exitDone {
		t.Errorf("exit code %d: %s", got, message)
	}
	if s.inference.current.Load() != nil {
		t.Error("the process has ended and the engine is there still")
	}
}

func TestTheProcessOfAnArmEndsWithTheDemo(t *testing.T) {
	s, server, address := controlled(t)
	code, message := held(t, t.Context(), s, armOptions{name: metric.ArmNative, stage: address})
	server.CloseClientConnections() // as the kernel does for a demo that was killed
	if got := <-code; got != exitFailed || strings.Count(message.String(), "\n") != 1 {
		t.Errorf("exit code %d: %s", got, message)
	}
}

func TestCachesAreDroppedOnTheSimulatedMachineIfThatIsAsked(t *testing.T) {
	s, _, address := controlled(t)
	for _, o := range []armOptions{{name: metric.ArmNative, stage: address}, {name: metric.ArmContainer, stage: address, dropCaches: true}} {
		ctx, end := context.WithCancel(t.Context())
		code, _ := held(t, ctx, s, o)
		end()
		<-code
	}
	if left := s.accounts()[1].cachedBytes[weightsFile]; left > gib {
		t.Errorf("%.1f GiB of what the arm before has read are there", float64(left)/gib)
	}
}

func TestWhoDoesNotKnowTheSecretBeginsNothing(t *testing.T) {
	s, server, address := controlled(t)
	for _, at := range []string{server.URL + "/m/native", server.URL + "/guess/m/native", address + "/other"} {
		response, err := http.Post(at, "", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", at, response.Status)
		}
	}
	if len(s.accounts()) > 0 {
		t.Error("an engine was started")
	}
}

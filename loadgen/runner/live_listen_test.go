package runner

import (
	"bytes"
	"log/slog"
	"net"
	"strings"
	"testing"
)

func TestADefaultAddressInUseMovesToTheNextFreePort(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	var output bytes.Buffer
	log := slog.New(slog.NewTextHandler(&output, nil))
	listener, err := listen(ListenAddress{HostPort: taken.Addr().String()}, Network{}, log)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if view := "\"uma-view --load " + listener.Addr().String() + "\""; !strings.Contains(output.String(), view) {
		t.Errorf("%s, which shows the run, is not in the warning %q", view, output.String())
	}
	if _, err := listen(ListenAddress{HostPort: taken.Addr().String(), Explicit: true}, Network{}, log); err == nil || !strings.Contains(err.Error(), "--web.listen-address") {
		t.Errorf("an address asked for and in use: %v", err)
	}
}

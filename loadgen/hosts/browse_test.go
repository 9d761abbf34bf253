package hosts

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// loopback returns the link lo, and a port without multicast DNS.
func loopback(t *testing.T) (Link, int) {
	t.Helper()
	interfaces, err := System()
	if err != nil {
		t.Fatal(err)
	}
	// What is multicast on loopback comes from any address of this machine. IPv4 alone is everywhere.
	prefixes := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/8")}
	for _, i := range interfaces {
		prefixes = append(prefixes, slices.DeleteFunc(i.Prefixes, func(p netip.Prefix) bool { return p.Addr().Is6() })...)
	}
	for _, i := range interfaces {
		if i.Flags&net.FlagLoopback == 0 {
			continue
		}
		i.Prefixes = prefixes
		conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return Link{Interface: i}, conn.LocalAddr().(*net.UDPAddr).Port
	}
	t.Fatal("this machine has no loopback")
	return Link{}, 0
}

// responder answers questions on a link as a machine does: the first not at all, as if it had been lost,
// and addresses only when they are asked for.
func responder(t *testing.T, link Link, port int) (asked *[]string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	sockets, err := open(ctx, link, port)
	if err != nil {
		t.Skipf("no multicast on loopback: %v", err)
	}
	asked = new([]string)
	packets := make(chan []byte)
	done := make(chan struct{})
	for _, s := range sockets {
		go s.read(ctx, link, packets)
	}
	go func() {
		defer close(done)
		questions := 0
		for {
			select {
			case <-ctx.Done():
				return
			case packet := <-packets:
				var m dnsmessage.Message
				if m.Unpack(packet) != nil || m.Response {
					continue // its own answer
				}
				if questions++; questions == 1 {
					continue
				}
				reply := answer{instance: "spark-1", host: "spark-1.local.", ttl: 120}
				for _, q := range m.Questions {
					*asked = append(*asked, q.Name.String())
					if q.Name.String() == "spark-1.local." {
						reply.addrs = []string{"127.0.0.9"}
					}
				}
				for _, s := range sockets {
					_ = s.send([]byte("\x00\x00\x84no answer at all"))
					_ = s.send(reply.packet(t))
				}
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		for _, s := range sockets {
			s.conn.Close()
		}
		<-done
	})
	return asked
}

// TestAHostIsFoundThoughTheFirstQuestionIsLost is an exchange over real sockets: asked again, and asked for
// the addresses that the answer lacks.
func TestAHostIsFoundThoughTheFirstQuestionIsLost(t *testing.T) {
	link, port := loopback(t)
	asked := responder(t, link, port)
	ctx, cancel := context.WithTimeout(t.Context(), pauses[0]+pauses[1]+time.Second)
	defer cancel()
	heard, err := browse(ctx, link, port)
	if err != nil {
		t.Fatal(err)
	}
	if len(heard) != 1 || heard[0].Name != "spark-1.local." || len(heard[0].Addrs) != 1 || heard[0].Addrs[0].String() != "127.0.0.9" {
		t.Errorf("heard %+v after questions for %q", heard, *asked)
	}
}

func TestALinkThatIsGoneCannotBeAsked(t *testing.T) {
	link := Link{Interface: up("gone0", 1<<20, "10.99.0.1/24")}
	if _, err := Browse(t.Context(), link); err == nil || !strings.Contains(err.Error(), "gone0") {
		t.Errorf("err = %v", err)
	}
}

// TestLinksAreAskedTogetherAndAnswersKeepTheirOrder: one that fails does not hide the others.
func TestLinksAreAskedTogetherAndAnswersKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		links := []Link{{Interface: up("a", 1)}, {Interface: up("b", 2)}, {Interface: up("c", 3)}}
		begun := time.Now()
		answers := askOn(t.Context(), links, 300*time.Millisecond, func(ctx context.Context, l Link) ([]Heard, error) {
			if l.Name == "b" {
				return nil, errors.New("down")
			}
			<-ctx.Done()
			return []Heard{{Link: l, Name: l.Name}}, nil
		})
		if took := time.Since(begun); took != 300*time.Millisecond {
			t.Errorf("three links took %s", took)
		}
		if len(answers) != 3 || answers[0].Heard[0].Name != "a" || answers[1].Err == nil || answers[2].Heard[0].Name != "c" {
			t.Errorf("answers are %+v", answers)
		}
	})
}

func TestAnswersFromElsewhereAreNotHeard(t *testing.T) {
	link := Link{Interface: up("eth0", 2, "10.0.0.1/24")}
	for text, want := range map[string]bool{"10.0.0.9": true, "10.0.1.9": false, "8.8.8.8": false, "fe80::1": true} {
		if got := local(link, &net.UDPAddr{IP: net.ParseIP(text)}); got != want {
			t.Errorf("from %s: %v", text, got)
		}
	}
	if local(link, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 9)}) {
		t.Error("an address that is none is heard")
	}
}

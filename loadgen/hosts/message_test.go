package hosts

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// answer is a machine's announcement, in the order of its records.
type answer struct {
	instance, host string
	addrs          []string
	ttl            uint32
	addressesFirst bool
	question       bool // it only asks
}

func (a answer) packet(t testing.TB) []byte {
	t.Helper()
	header := func(name string, flush bool) dnsmessage.ResourceHeader {
		class := dnsmessage.ClassINET
		if flush {
			class |= cacheFlush
		}
		return dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName(name), Class: class, TTL: a.ttl}
	}
	b := dnsmessage.NewBuilder(nil, dnsmessage.Header{Response: !a.question, Authoritative: true})
	b.EnableCompression()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(b.StartAnswers())
	addresses := func() {
		for _, text := range a.addrs {
			if addr := netip.MustParseAddr(text); addr.Is4() {
				must(b.AResource(header(a.host, true), dnsmessage.AResource{A: addr.As4()}))
			} else {
				must(b.AAAAResource(header(a.host, true), dnsmessage.AAAAResource{AAAA: addr.As16()}))
			}
		}
	}
	if a.addressesFirst {
		addresses()
	}
	if a.instance != "" {
		must(b.PTRResource(header(service, false), dnsmessage.PTRResource{PTR: dnsmessage.MustNewName(a.instance + "." + service)}))
		if a.host != "" {
			must(b.SRVResource(header(a.instance+"."+service, true), dnsmessage.SRVResource{Port: 22, Target: dnsmessage.MustNewName(a.host)}))
			must(b.TXTResource(header(a.instance+"."+service, true), dnsmessage.TXTResource{TXT: []string{"a=b"}}))
		}
	}
	if !a.addressesFirst {
		addresses()
	}
	packet, err := b.Finish()
	must(err)
	return packet
}

// recordsText returns the records as text.
func recordsText(r *records) string {
	var lines []string
	for _, h := range r.heard(Link{}) {
		lines = append(lines, fmt.Sprint(h.Name, " ", h.Addrs))
	}
	return strings.Join(lines, "; ")
}

func TestHostsHaveAllTheirAddressesInAnyOrderOfRecords(t *testing.T) {
	for name, test := range map[string]struct {
		answers []answer
		want    string
	}{
		"in one packet":             {[]answer{{instance: "spark-1", host: "spark-1.local.", addrs: []string{"10.0.0.1", "fe80::1"}, ttl: 120}}, "spark-1.local. [10.0.0.1 fe80::1]"},
		"addresses before the rest": {[]answer{{instance: "spark-1", host: "spark-1.local.", addrs: []string{"10.0.0.1"}, ttl: 120, addressesFirst: true}}, "spark-1.local. [10.0.0.1]"},
		"IPv6 first, IPv4 in another packet": {[]answer{
			{instance: "spark-1", host: "spark-1.local.", addrs: []string{"fe80::1"}, ttl: 120},
			{instance: "spark-1", host: "spark-1.local.", addrs: []string{"10.0.0.1", "fe80::1"}, ttl: 120},
		}, "spark-1.local. [fe80::1 10.0.0.1]"},
		"the address when it was asked for": {[]answer{
			{instance: "spark-1", host: "Spark-1.local.", ttl: 120},
			{host: "spark-1.LOCAL.", addrs: []string{"10.0.0.1"}, ttl: 120},
		}, "Spark-1.local. [10.0.0.1]"},
		"two instances of one host":    {[]answer{{instance: "a", host: "spark-1.local.", addrs: []string{"10.0.0.1"}, ttl: 120}, {instance: "b", host: "spark-1.local.", ttl: 120}}, "spark-1.local. [10.0.0.1]"},
		"no host yet":                  {[]answer{{instance: "spark-1", ttl: 120}}, ""},
		"one that goes away":           {[]answer{{instance: "spark-1", host: "spark-1.local.", addrs: []string{"10.0.0.1"}}}, ""},
		"a question holds no answer":   {[]answer{{instance: "spark-1", host: "spark-1.local.", addrs: []string{"10.0.0.1"}, ttl: 120, question: true}}, ""},
		"addresses alone are no host":  {[]answer{{host: "printer.local.", addrs: []string{"10.0.0.9"}, ttl: 120}}, ""},
		"IPv4 that is dressed as IPv6": {[]answer{{instance: "a", host: "a.local.", addrs: []string{"::ffff:10.0.0.1"}, ttl: 120}}, "a.local. [10.0.0.1]"},
	} {
		r := newRecords()
		for _, a := range test.answers {
			if err := r.take(a.packet(t)); err != nil && !a.question {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got := recordsText(r); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestOtherServicesAreNotHosts(t *testing.T) {
	b := dnsmessage.NewBuilder(nil, dnsmessage.Header{Response: true})
	_ = b.StartAnswers()
	h := func(name string) dnsmessage.ResourceHeader {
		return dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName(name), Class: dnsmessage.ClassINET, TTL: 120}
	}
	_ = b.PTRResource(h("_ipp._tcp.local."), dnsmessage.PTRResource{PTR: dnsmessage.MustNewName("p._ipp._tcp.local.")})
	_ = b.PTRResource(h(service), dnsmessage.PTRResource{PTR: dnsmessage.MustNewName("p._ipp._tcp.local.")})
	_ = b.SRVResource(h("p._ipp._tcp.local."), dnsmessage.SRVResource{Target: dnsmessage.MustNewName("p.local.")})
	packet, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	r := newRecords()
	if err := r.take(packet); err != nil || recordsText(r) != "" {
		t.Errorf("%v, %q", err, recordsText(r))
	}
}

// TestQuestionsAskForMissingRecords: the service always, then the host of an instance, then the addresses of a host.
func TestQuestionsAskForMissingRecords(t *testing.T) {
	r := newRecords()
	for _, a := range []answer{
		{instance: "bare", ttl: 120},
		{instance: "named", host: "named.local.", ttl: 120},
		{instance: "whole", host: "whole.local.", addrs: []string{"10.0.0.1"}, ttl: 120},
	} {
		if err := r.take(a.packet(t)); err != nil {
			t.Fatal(err)
		}
	}
	packet, err := r.questions()
	if err != nil {
		t.Fatal(err)
	}
	var m dnsmessage.Message
	if err := m.Unpack(packet); err != nil || m.Response {
		t.Fatal(m, err)
	}
	var got []string
	for _, q := range m.Questions {
		got = append(got, q.Name.String()+" "+q.Type.String())
	}
	want := []string{"_ssh._tcp.local. TypePTR", "bare._ssh._tcp.local. TypeSRV", "named.local. TypeA", "named.local. TypeAAAA"}
	if !slices.Equal(got, want) {
		t.Errorf("questions are %q, want %q", got, want)
	}
}

// TestAFloodIsBounded: more names and addresses than a network can have cost no more than the bound.
func TestAFloodIsBounded(t *testing.T) {
	r := newRecords()
	for i := range 3 * mostInstances {
		addrs := make([]string, 2*mostAddresses)
		for n := range addrs {
			addrs[n] = fmt.Sprintf("10.%d.%d.%d", i/256, i%256, n)
		}
		if err := r.take(answer{instance: fmt.Sprint("i", i), host: fmt.Sprint("h", i, ".local."), addrs: addrs, ttl: 1}.packet(t)); err != nil {
			t.Fatal(err)
		}
		if err := r.take(answer{instance: fmt.Sprint("bare", i), ttl: 1}.packet(t)); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.instances) > mostInstances || len(r.hosts) > mostInstances || len(r.addresses) > mostInstances || len(r.addresses["h1.local."]) != mostAddresses {
		t.Errorf("%d instances, %d hosts, %d with addresses, %d addresses of one", len(r.instances), len(r.hosts), len(r.addresses), len(r.addresses["h1.local."]))
	}
	if packet, err := r.questions(); err != nil || len(packet) > largestPacket {
		t.Errorf("%d bytes of questions, %v", len(packet), err)
	}
}

// FuzzPacketsStayWithinTheLimits: for any packet, the records are bounded and of the service, questions can be made
// of them, and a truncated packet gives no more records than the whole one.
func FuzzPacketsStayWithinTheLimits(f *testing.F) {
	f.Add(answer{instance: "spark-1", host: "spark-1.local.", addrs: []string{"10.0.0.1", "fe80::1"}, ttl: 120}.packet(f), 20)
	f.Add(answer{instance: "x", host: "\x1b[31m;rm -rf.local.", addrs: []string{"8.8.8.8"}, ttl: 1}.packet(f), 60)
	f.Add([]byte{}, 0)
	f.Fuzz(func(t *testing.T, packet []byte, cut int) {
		whole, part := newRecords(), newRecords()
		_ = whole.take(packet)
		_ = part.take(packet[:max(0, min(cut, len(packet)))])
		for _, r := range []*records{whole, part} {
			if len(r.instances) > mostInstances || len(r.addresses) > mostInstances {
				t.Fatalf("%d instances, %d with addresses", len(r.instances), len(r.addresses))
			}
			for key := range r.hosts {
				if !strings.HasSuffix(key, "."+service) {
					t.Errorf("%q is not of the service", key)
				}
			}
			if _, err := r.questions(); err != nil {
				t.Errorf("questions: %v", err)
			}
		}
		for key := range part.instances {
			if _, is := whole.instances[key]; !is {
				t.Errorf("%q is announced by a part alone", key)
			}
		}
		hosts, refused := gather(whole.heard(Link{Interface: up("eth0", 2, "10.0.0.1/24")}), nil, []Pattern{all(t)})
		for _, h := range hosts {
			if !plainName.MatchString(h.Name) || len(h.Addresses) == 0 {
				t.Errorf("host %+q with %v", h.Name, h.Addresses)
			}
		}
		for _, r := range refused {
			for _, c := range r.Name + r.Why {
				if c < ' ' || c > '~' {
					t.Errorf("%q has a character that a terminal may obey", r.Name+r.Why)
				}
			}
		}
	})
}

func all(t testing.TB) Pattern {
	t.Helper()
	p, err := ParsePattern("*")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

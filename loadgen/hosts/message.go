package hosts

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

// service is the service that Sparks announce.
const service = "_ssh._tcp.local."

// Limits of the answers from one network in one search, so that a hostile network costs neither memory nor time.
const (
	mostInstances = 512
	mostAddresses = 16
	mostQuestions = 32 // of announced names that are not resolved
	largestPacket = 9000
)

// cacheFlush is the bit of a record's class by which responders mark it as a replacement of older ones.
const cacheFlush = 1 << 15

// records holds the answers: instances of the service, the host of each, the addresses of a host. Names are compared in
// lower case, as multicast DNS requires, and kept as received.
type records struct {
	instances map[string]string       // as received, by its lower case
	hosts     map[string]place        // of an instance
	addresses map[string][]netip.Addr // of a host
}

// place is the host and port of an instance of the service, as received.
type place struct {
	host string
	port uint16
}

func newRecords() *records {
	return &records{map[string]string{}, map[string]place{}, map[string][]netip.Addr{}}
}

// errQuestion means that a packet is a question, without answers.
var errQuestion = errors.New("a question")

// take reads a packet. It keeps the records before a fault: responders put the requested ones first.
func (r *records) take(packet []byte) error {
	var p dnsmessage.Parser
	header, err := p.Start(packet)
	if err != nil {
		return err
	}
	if !header.Response {
		return errQuestion
	}
	if err := p.SkipAllQuestions(); err != nil {
		return err
	}
	for _, section := range []struct {
		header func() (dnsmessage.ResourceHeader, error)
		skip   func() error
	}{{p.AnswerHeader, p.SkipAnswer}, {p.AuthorityHeader, p.SkipAuthority}, {p.AdditionalHeader, p.SkipAdditional}} {
		for {
			h, err := section.header()
			if errors.Is(err, dnsmessage.ErrSectionDone) {
				break
			}
			if err == nil {
				err = r.takeRecord(&p, h, section.skip)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// takeRecord reads one record, whose header has been read.
func (r *records) takeRecord(p *dnsmessage.Parser, h dnsmessage.ResourceHeader, skip func() error) error {
	if h.Class&^cacheFlush != dnsmessage.ClassINET || h.TTL == 0 { // 0: it is going away
		return skip()
	}
	name := strings.ToLower(h.Name.String())
	switch h.Type {
	case dnsmessage.TypePTR:
		body, err := p.PTRResource()
		if err == nil && name == service {
			r.addInstance(body.PTR.String())
		}
		return err
	case dnsmessage.TypeSRV:
		body, err := p.SRVResource()
		if err == nil && strings.HasSuffix(name, "."+service) {
			r.addInstance(h.Name.String())
			if _, known := r.instances[name]; known {
				r.hosts[name] = place{body.Target.String(), body.Port}
			}
		}
		return err
	case dnsmessage.TypeA:
		body, err := p.AResource()
		if err == nil {
			r.addAddress(name, netip.AddrFrom4(body.A))
		}
		return err
	case dnsmessage.TypeAAAA:
		body, err := p.AAAAResource()
		if err == nil {
			r.addAddress(name, netip.AddrFrom16(body.AAAA).Unmap())
		}
		return err
	}
	return skip()
}

func (r *records) addInstance(name string) {
	key := strings.ToLower(name)
	if _, known := r.instances[key]; !known && len(r.instances) < mostInstances && strings.HasSuffix(key, "."+service) {
		r.instances[key] = name
	}
}

func (r *records) addAddress(host string, addr netip.Addr) {
	known, is := r.addresses[host]
	if !is && len(r.addresses) >= mostInstances || len(known) >= mostAddresses || slices.Contains(known, addr) {
		return
	}
	r.addresses[host] = append(known, addr)
}

// questions returns the packet that asks for the service, and for the unresolved parts of announced instances.
func (r *records) questions() ([]byte, error) {
	b := dnsmessage.NewBuilder(nil, dnsmessage.Header{})
	b.EnableCompression()
	if err := b.StartQuestions(); err != nil {
		return nil, err
	}
	asked := 0
	ask := func(name string, kind dnsmessage.Type) error {
		n, err := dnsmessage.NewName(name)
		if err != nil || asked > mostQuestions {
			return nil // a name that cannot be asked for stays unresolved
		}
		asked++
		return b.Question(dnsmessage.Question{Name: n, Type: kind, Class: dnsmessage.ClassINET})
	}
	err := ask(service, dnsmessage.TypePTR)
	for _, key := range sortedKeys(r.instances) {
		at, resolved := r.hosts[key]
		switch {
		case !resolved:
			err = errors.Join(err, ask(r.instances[key], dnsmessage.TypeSRV))
		case len(r.addresses[strings.ToLower(at.host)]) == 0:
			err = errors.Join(err, ask(at.host, dnsmessage.TypeA), ask(at.host, dnsmessage.TypeAAAA))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("question: %w", err)
	}
	return b.Finish()
}

// Heard is one host as one link announced it.
type Heard struct {
	Link Link
	// Name is as received, not yet checked.
	Name  string
	Addrs []netip.Addr
	Port  uint16 // of ssh
}

// heard returns the hosts in the records, each once, sorted by name.
func (r *records) heard(link Link) []Heard {
	byHost := map[string]Heard{}
	for _, key := range sortedKeys(r.hosts) {
		at := r.hosts[key]
		lower := strings.ToLower(at.host)
		if _, known := byHost[lower]; !known {
			byHost[lower] = Heard{link, at.host, r.addresses[lower], at.port}
		}
	}
	all := make([]Heard, 0, len(byHost))
	for _, key := range sortedKeys(byHost) {
		all = append(all, byHost[key])
	}
	return all
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
